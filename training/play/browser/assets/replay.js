"use strict";

/* Player of a film of recorded deals, from the view of a seat or with all hands. */
class Replay {
  constructor(board) {
    this.board = board;
    this.film = { deals: [], texts: [], symbols: "" };
    this.deal = 0;
    this.moment = 0;
    this.view = "all";
    this.timer = null;
    byId("slider").addEventListener("input", () => this.go(this.deal, Number(byId("slider").value)));
    byId("deal").addEventListener("change", () => this.go(Number(byId("deal").value), 0));
    byId("view").addEventListener("change", () => this.look(byId("view").value));
    byId("first").addEventListener("click", () => this.go(this.deal, 0));
    byId("back").addEventListener("click", () => this.step(-1));
    byId("next").addEventListener("click", () => this.step(1));
    byId("last").addEventListener("click", () => this.go(this.deal, Infinity));
    byId("play").addEventListener("click", () => this.toggle());
    byId("svg").addEventListener("click", () => saveSvg(this.board, this.title()));
    byId("png").addEventListener("click", () => savePng(this.board, this.title()));
    document.addEventListener("keydown", (event) => this.key(event));
    addEventListener("hashchange", () => this.follow());
  }

  load(film) {
    this.film = film;
    this.board.symbols(film.symbols);
    byId("deal").replaceChildren(...film.deals.map((deal, number) => new Option(deal.title, String(number))));
    byId("replay").hidden = false;
    this.follow();
  }

  /* Follow a link to a moment: #deal,moment,view */
  follow() {
    const [deal, moment, view] = decodeURIComponent(location.hash.slice(1)).split(",");
    if (view) this.view = view;
    this.go(Number.parseInt(deal, 10) || 0, Number.parseInt(moment, 10) || 0);
  }

  title() {
    const deal = this.film.deals[this.deal];
    return `${deal.title}: ${deal.moments[this.moment].status}`;
  }

  step(by) {
    const count = this.film.deals[this.deal].moments.length;
    const moment = this.moment + by;
    if (moment >= count && this.deal + 1 < this.film.deals.length) this.go(this.deal + 1, 0);
    else if (moment < 0 && this.deal > 0) this.go(this.deal - 1, Infinity);
    else this.go(this.deal, moment);
    return moment < count || this.deal + 1 < this.film.deals.length;
  }

  look(view) {
    this.view = view;
    this.go(this.deal, this.moment);
  }

  go(number, moment) {
    const deals = this.film.deals;
    if (!deals.length) return;
    this.deal = Math.max(0, Math.min(deals.length - 1, number));
    const deal = deals[this.deal];
    this.moment = Math.max(0, Math.min(deal.moments.length - 1, moment));
    const views = Object.keys(deal.views);
    if (!deal.views[this.view]) this.view = views.includes("all") ? "all" : views[0];
    const film = deal.views[this.view];
    const frame = film.frames[this.moment];
    this.board.show(film.parts.map((name, place) => [name, this.film.texts[frame[place]]]));
    this.describe(deal, views);
    history.replaceState(null, "", `#${this.deal},${this.moment},${this.view}`);
  }

  describe(deal, views) {
    const moment = deal.moments[this.moment];
    this.board.svg.setAttribute("aria-label", this.title());
    byId("slider").max = String(deal.moments.length - 1);
    byId("slider").value = String(this.moment);
    byId("slider").setAttribute("aria-valuetext", `decision ${this.moment} of ${deal.moments.length - 1}`);
    byId("deal").value = String(this.deal);
    byId("deal").disabled = this.film.deals.length < 2;
    const named = views.map((view) => new Option(view === "all" ? "all hands" : `seen by ${deal.names[view]}`, view));
    byId("view").replaceChildren(...named.sort((a, b) => (b.value === "all") - (a.value === "all")));
    byId("view").value = this.view;
    byId("view").disabled = views.length < 2;
    byId("status").textContent = moment.status;
    byId("taken").textContent = "said" in moment ? `${deal.names[moment.seat]}: ${moment.said}` : "";
    const sees = this.view === "all" || this.view === String(moment.seat);
    showOptions(byId("options"), (sees && moment.options) || [], moment.taken);
    byId("thoughts").hidden = !(sees && moment.options);
    const ended = this.moment === deal.moments.length - 1;
    byId("result").hidden = !ended;
    byId("result-lines").replaceChildren(...deal.result.map((line) => element("li", line)));
    this.mistakes(deal);
    byId("back").disabled = byId("first").disabled = this.moment === 0 && this.deal === 0;
    byId("next").disabled = ended && this.deal === this.film.deals.length - 1;
    byId("last").disabled = ended;
  }

  /* List the biggest mistakes of an analysed deal, with links to their moments. */
  mistakes(deal) {
    byId("analysis").hidden = !deal.losses;
    const lines = (deal.losses || []).map((loss) => {
      const text = `${loss.points.toFixed(2)} ±${loss.error.toFixed(2)}  ${loss.text}${loss.sure ? "" : " (may be chance)"}`;
      const link = element("button", text);
      link.type = "button";
      link.className = loss.moment === this.moment ? "link here" : "link";
      link.addEventListener("click", () => this.go(this.deal, loss.moment));
      return element("li", "", link);
    });
    byId("losses").replaceChildren(...(lines.length ? lines : [element("li", deal.not_judged || "No mistake was found")]));
  }

  toggle() {
    const playing = this.timer !== null;
    clearInterval(this.timer);
    this.timer = playing ? null : setInterval(() => this.step(1) || this.toggle(), Number(byId("speed").value));
    byId("play").textContent = playing ? "Play" : "Stop";
  }

  key(event) {
    if (byId("replay").hidden || event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target.id !== "slider") return;
    const deal = this.film.deals[this.deal];
    const jobs = {
      ArrowRight: () => this.step(1),
      ArrowLeft: () => this.step(-1),
      ArrowDown: () => this.go(this.deal + 1, 0),
      ArrowUp: () => this.go(this.deal - 1, 0),
      Home: () => this.go(this.deal, 0),
      End: () => this.go(this.deal, Infinity),
      a: () => this.look("all"),
      p: () => this.toggle(),
    };
    if (/^[0-9]$/.test(event.key) && deal && deal.views[event.key]) this.look(event.key);
    else if (jobs[event.key]) jobs[event.key]();
    else return;
    event.preventDefault();
  }
}

startTheme(byId("theme"));
const replay = new Replay(new Board(byId("board")));
inflated(byId("film").textContent.trim())
  .then((text) => replay.load(JSON.parse(text)))
  .catch((error) => { byId("status").textContent = `This browser cannot open the deals (${error}).`; });
