/* The analysis of a scored deal, moment by moment: the table, the expected points, and better actions. */

import { ask, request, link, trickName, tryAgain } from "./connection.js";
import { Action, Options } from "./choices.js";
import { TopBar } from "./head.js";
import { ArrowKey, Icon } from "./icons.js";
import { CopyLink, momentLink } from "./links.js";
import { html, store, update } from "./store.js";
import { Board } from "./table.js";
import { capital, GRADES, inside, nameOf, points, pointsWords, signed } from "./words.js";

const MISTAKES = ["slip", "mistake", "blunder"];

export const Sign = ({ grade }) => html`<span class=${`sign ${grade}`} role="img" aria-label=${GRADES[grade].said} title=${GRADES[grade].said}>${GRADES[grade].sign}</span>`;

/** Restore the full views of a deal by name; each moment holds only the changes from the previous decision. */
function wholeViews(deal) {
  const names = Object.keys(deal.moments[0].views);
  return Object.fromEntries(names.map((name) => {
    let view = {};
    return [name, deal.moments.map((moment) => (view = { ...view, ...moment.views[name] }))];
  }));
}

/** Open a film from the server at the requested moment, or else at the worst mistake. */
function begin(film) {
  const deals = film.deals.map((deal) => ({ ...deal, views: wholeViews(deal) }));
  if (!history.state?.film) history.pushState({ film: true }, "");
  const at = film.at ?? deals[0].worst ?? (deals[0].final ? deals[0].moments.length - 1 : 0);
  const views = Object.keys(deals[0].views);
  Object.assign(store, { analysis: { film, deals, deal: 0, at: Math.min(at, deals[0].moments.length - 1), look: views[0], seat: deals[0].seat ?? deals[0].moments[at]?.seat ?? 0, error: "", address: location.hash } });
}

const change = (changes) => update({ analysis: { ...store.analysis, ...changes } });

const dealNow = () => store.analysis.deals[store.analysis.deal];

/** Go to a moment of the deal. */
export function go(at) {
  const last = dealNow().moments.length - 1;
  const place = Math.max(0, Math.min(last, at));
  if (place !== store.analysis.at) change({ at: place, error: "", explains: false });
}

const follow = (deal) => change({ deal, at: store.analysis.deals[deal].worst ?? 0, look: Object.keys(store.analysis.deals[deal].views)[0] });

/** The judged decisions of a seat, with their indices. */
const decisionsOf = (deal, seat) => [...deal.moments.entries()].filter(([, moment]) => moment.judged && moment.seat === seat).map(([at, moment]) => ({ at, ...moment, ...moment.judged }));

const mistakesOf = (deal, seat) => decisionsOf(deal, seat).filter((decision) => MISTAKES.includes(decision.grade));

/** The points that a seat lost by mistakes. */
const lossOf = (deal, seat) => mistakesOf(deal, seat).reduce((sum, mistake) => sum + mistake.points, 0);

/** Go to the next mistake, or with by < 0 to the previous decision. */
function goToMistake(by) {
  const { at, seat } = store.analysis;
  const places = mistakesOf(dealNow(), seat).map((mistake) => mistake.at);
  const next = by > 0 ? places.find((place) => place > at) : places.findLast((place) => place < at);
  if (next !== undefined) go(next);
}

/** Show the page from which the analysis was opened. */
function leave() {
  if (store.table) history.replaceState(null, "", `#${link(store.table.name, { key: store.table.key })}`); // drop the moment
  update({ page: store.table ? "table" : store.results ? "results" : "start", film: null, analysis: null });
}

const goBack = () => (history.state?.film ? history.back() : leave());

/** Leave the analysis on the browser's Back button, unless it changes the address. */
export function handleBack() {
  if (store.page === "analysis" && !history.state?.film && location.hash === store.analysis.address) leave();
}

/** The marks on the actions of a moment: the action taken and the better decision. */
function marksOf(moment) {
  const marks = {};
  if (!moment.taken) return marks;
  const judged = moment.judged;
  marks[moment.taken] = { grade: judged ? judged.grade : "taken", text: judged && judged.points > 0 && judged.best !== moment.taken ? points(-judged.points) : "" };
  if (judged && judged.best !== moment.taken) marks[judged.best] = { grade: "better", text: "better" };
  return marks;
}

/** The table state of a moment for `Stage`, without any controls. */
function stillTable() {
  const { deals, deal, at, look, seat } = store.analysis;
  const { moments, names, views, seat: own } = deals[deal];
  const view = views[look][at];
  const base = store.table || { people: [], levels: names.map(() => null) };
  return {
    ...base, view: { ...view, viewer: view.viewer ?? seat }, yours: own, names, people: [], levels: base.levels.map(() => null), hint: null, why: "", asks: "", lost: false, back: false,
    swept: view.phase === null ? trickName(view) : "", still: true, marks: marksOf(moments[at]), over: view.over, sheet: [],
  };
}

/** The ± sign of an estimate, which shows its standard error when clicked. */
function ErrorSign({ judged }) {
  const text = `give or take ${points(judged.error)}, from ${judged.worlds} random layouts of the hidden cards`;
  return html` <button type="button" class="error-sign" aria-expanded=${Boolean(store.analysis.explains)} aria-label=${text} title=${text} onClick=${() => change({ explains: !store.analysis.explains })}>±</button>${store.analysis.explains && html` <span class="faint">${capital(text)}.</span>`}`;
}

/** The action of a moment, and the verdict of the analysis. */
function Verdict({ table, deal, moment }) {
  const { judged } = moment;
  if (!moment.taken) {
    const lost = deal.final ? lossOf(deal, store.analysis.seat) : 0;
    const said = deal.not_judged ? `${capital(deal.not_judged)}.` : lost > 0 ? `${nameOf(table, store.analysis.seat)} lost ${pointsWords(lost)} by mistakes.` : deal.final ? "No mistake was found." : "";
    return html`<div class="verdict"><p><b>The end of the deal.</b> ${said}</p></div>`;
  }
  return html`<div class=${`verdict ${judged ? judged.grade : ""}`} aria-live="polite">
    <p>${judged && html`<${Sign} grade=${judged.grade} /> `}<b>${nameOf(table, moment.seat)}: ${moment.said}.</b>${judged && html` ${judged.text}`}${judged && judged.best !== moment.taken && html`<${ErrorSign} judged=${judged} />`}</p>
  </div>`;
}

/** The expected points of the selected seat over the deal; dots are its decisions, with links to their moments. */
function Graph({ table, deal }) {
  const { at, seat } = store.analysis;
  const decisions = decisionsOf(deal, seat);
  const last = deal.moments.length - 1;
  const ends = [...decisions.flatMap((decision) => [decision.expected, decision.expected + Math.max(0, decision.points)]), deal.final[seat], 0];
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  const x = (place) => (100 * place) / Math.max(1, last);
  const y = (value) => (high === low ? 50 : 8 + (84 * (high - value)) / (high - low));
  const line = [...decisions.map((decision) => [decision.at, decision.expected]), [last, deal.final[seat]]];
  const here = deal.moments[at].judged && deal.moments[at].seat === seat ? deal.moments[at] : null;
  const said = here ? `${here.said}, ${signed(here.judged.expected)} expected, ${GRADES[here.judged.grade].said}` : at === last ? `the end, ${signed(deal.final[seat])}` : `decision ${at} of ${last}`;
  const pick = (event) => {
    if (event.type === "pointermove" && !event.buttons) return;
    const { left, width } = event.currentTarget.getBoundingClientRect();
    const wanted = (100 * (event.clientX - left)) / width;
    const places = [...decisions.map((decision) => decision.at), last];
    go(places.reduce((best, place) => (Math.abs(x(place) - wanted) < Math.abs(x(best) - wanted) ? place : best)));
  };
  return html`<figure class="graph-figure">
    <figcaption>Points that ${inside(table, seat)} could expect<span class="faint"> above the others' mean</span></figcaption>
    <div class="graph">
      <span class="axis" style=${{ top: `${y(high)}%` }}>${signed(high)}</span>
      ${Math.abs(y(low) - y(high)) > 20 && html`<span class="axis" style=${{ top: `${y(low)}%` }}>${signed(low)}</span>`}
      ${y(0) - y(high) > 22 && y(low) - y(0) > 22 && html`<span class="axis" style=${{ top: `${y(0)}%` }}>0</span>`}
      <div class="plot" id="graph" role="slider" tabIndex="0" aria-label="Decision" aria-valuemin="0" aria-valuemax=${last} aria-valuenow=${at} aria-valuetext=${said} onPointerDown=${pick} onPointerMove=${pick}>
        <svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">
          <path class="zero" d=${`M0 ${y(0)}H100`} /><path class="here" d=${`M${x(at)} 0V100`} />
          ${mistakesOf(deal, seat).map((mistake) => html`<path class=${`stem ${mistake.grade}`} d=${`M${x(mistake.at)} ${y(mistake.expected)}V${y(mistake.expected + mistake.points)}`} />`)}
          <path class="line" d=${line.map(([place, value], number) => `${number ? "L" : "M"}${x(place)} ${y(value)}`).join("")} />
        </svg>
        ${decisions.map((decision) => html`<span key=${decision.at} class=${`dot ${decision.grade} ${decision.at === at ? "at" : ""}`} aria-hidden="true" style=${{ left: `${x(decision.at)}%`, top: `${y(decision.expected)}%` }}>${MISTAKES.includes(decision.grade) ? GRADES[decision.grade].sign : ""}</span>`)}
        <span class=${`dot end ${at === last ? "at" : ""}`} aria-hidden="true" style=${{ left: "100%", top: `${y(deal.final[seat])}%` }}></span>
      </div>
    </div>
  </figure>`;
}

/** The judged decisions of the seat as a table, the text form of the graph. */
function Decisions({ deal }) {
  const { at, seat, look } = store.analysis;
  const decisions = decisionsOf(deal, seat);
  const lost = lossOf(deal, seat);
  const wheres = (view) => (["play", "suit"].includes(view.phase) ? view.tricks.length + 1 : view.phase === "call" ? "Bid" : view.phase === "trump" ? "Trump" : "Card");
  return html`<section class="part decisions" aria-label="Decisions">
    <h2>${lost > 0 ? `${pointsWords(lost)} lost by mistakes` : "No mistake was found"}</h2>
    <table id="decisions"><thead><tr><th scope="col"><span class="unseen">How good</span></th><th scope="col">Trick</th><th scope="col">Chosen</th><th scope="col">Better</th><th scope="col" class="number">Lost</th><th scope="col" class="number">Expected</th></tr></thead>
      <tbody>${decisions.map((decision) => {
        const view = deal.views[look][decision.at];
        const better = decision.best === decision.taken ? "" : html`<${Action} view=${view} word=${decision.best} />`;
        return html`<tr key=${decision.at} class=${decision.at === at ? "here" : ""} onClick=${() => go(decision.at)}>
          <td><${Sign} grade=${decision.grade} /></td><td><button type="button" class="link" aria-label=${`Go to decision ${decision.at + 1}`} aria-current=${decision.at === at ? "true" : null}>${wheres(view)}</button></td>
          <td><${Action} view=${view} word=${decision.taken} /></td><td>${better}</td>
          <td class="number">${MISTAKES.includes(decision.grade) ? points(decision.points) : ""}</td><td class="number">${signed(decision.expected)}</td></tr>`;
      })}</tbody></table>
  </section>`;
}

/** The name of the moment: number of the deal, from 1, and number of decisions before it. */
const momentName = () => `${store.analysis.film.deal + 1}.${store.analysis.at}`;

async function again() {
  change({ busy: "again", error: "" });
  try {
    await tryAgain(store.table.name, momentName());
  } catch (error) {
    change({ busy: "", error: error.message });
  }
}

async function savePicture(kind) {
  const { film, deal, look, seat, at } = store.analysis;
  const { name, key } = store.table || {};
  const query = new URLSearchParams({ kind, view: look === "all" ? "all" : seat, deal, moment: at, player: film.thinker || "", theme: document.documentElement.dataset.theme });
  const body = film.source ?? JSON.stringify({ table: name, key, deal: film.deal });
  change({ busy: kind, error: "" });
  try {
    globalThis.save(`deal.${kind}`, await request(`${film.source === undefined ? "/api/table-picture" : "/api/picture"}?${query}`, body, "blob"));
    change({ busy: "" });
  } catch (error) {
    change({ busy: "", error: error.message });
  }
}

const STEPS = [["first", "To the first decision", () => go(0)], ["before", "One decision back", () => go(store.analysis.at - 1)], ["after", "One decision forward", () => go(store.analysis.at + 1)], ["last", "To the end of the deal", () => go(Infinity)]];

function Steps({ deal, moment }) {
  const { at, seat, busy, film } = store.analysis;
  const last = deal.moments.length - 1;
  const mistakes = mistakesOf(deal, seat);
  const may = film.again && moment.taken && moment.seat === deal.seat;
  return html`<div class="steps">
    ${STEPS.map(([name, label, does]) => html`<button type="button" id=${`to-${name}`} class="step" aria-label=${label} title=${label} disabled=${["first", "before"].includes(name) ? at === 0 : at === last} onClick=${does}><${Icon} name=${name} /></button>`)}
    ${mistakes.length > 0 && html`<button type="button" id="next-mistake" disabled=${!mistakes.some((mistake) => mistake.at > at)} onClick=${() => goToMistake(1)}>Next mistake</button>`}
    ${may && html`<button type="button" id="try-again" class="primary" disabled=${busy === "again"} onClick=${again}>${busy === "again" && html`<span class="spinner"></span> `}Try again<span class="from-here"> from here</span></button>`}
  </div>`;
}

/** The selection of deal, seat and visible cards. */
function Looks({ table, deal }) {
  const { deals, deal: number, look, seat, film } = store.analysis;
  const views = Object.keys(deal.views);
  const some = views.includes("all");
  return html`<div class="looks row">
    ${deals.length > 1 && html`<select id="deal" aria-label="Deal" onChange=${(event) => follow(Number(event.target.value))}>${deals.map(({ title }, place) => html`<option value=${place} selected=${place === number}>${title}</option>`)}</select>`}
    ${some && html`<select id="seat" aria-label="Player" onChange=${(event) => change({ seat: Number(event.target.value), look: Number(event.target.value) === deal.seat ? look : "all" })}>${deal.names.map((_, place) => html`<option value=${place} selected=${place === seat}>${nameOf(table, place)}</option>`)}</select>`}
    ${views.length > 1 && seat === deal.seat && html`<label class="check"><input id="all-hands" type="checkbox" checked=${look === "all"} onChange=${(event) => change({ look: event.target.checked ? "all" : "own" })} /> All hands</label>`}
    ${!deal.final && film.source === undefined && html`<button type="button" id="judge" disabled=${table.asks !== ""} onClick=${() => ask("judge", { do: "film", deal: film.deal + 1, analyse: true })}>${store.table.asks === "judge" && html`<span class="spinner"></span> `}Find mistakes</button>`}
  </div>`;
}

export function AnalysisPage() {
  if (store.analysis?.film !== store.film) begin(store.film);
  const { at, busy, error } = store.analysis;
  const deal = dealNow();
  const moment = deal.moments[at];
  const table = stillTable();
  const turn = store.table && store.table.turn !== null && store.table.turn === store.table.yours;
  return html`<div class="table-page analysis-page">
    <${TopBar} title=${deal.final ? "Analysis" : "Replay"} facts=${`${deal.title} · ${moment.taken ? `decision ${at + 1} of ${deal.moments.length - 1}` : "the end"}`} back=${goBack} to=${store.table ? (turn ? "Your turn" : "Table") : store.results ? "Results" : "Games"} />
    <main class="play-area" id="film">
      <div class="board"><${Board} table=${table} /></div>
      <aside class="panel" aria-label="Analysis">
        ${(error || store.notice) && html`<p id="notice" class="notice" role="alert">${error || store.notice}</p>`}
        <${Verdict} table=${table} deal=${deal} moment=${moment} />
        <${Steps} deal=${deal} moment=${moment} />
        ${deal.final && decisionsOf(deal, store.analysis.seat).length > 0 && html`<${Graph} table=${table} deal=${deal} />`}
        <${Looks} table=${table} deal=${deal} />
        ${deal.final && !deal.not_judged && html`<${Decisions} deal=${deal} />`}
        ${moment.options && html`<section class="part thoughts"><h2>What the player thinks</h2><${Options} options=${moment.options} taken=${moment.taken} view=${table.view} /></section>`}
        <div class="row pictures"><span class="faint">Save</span>${[["gif", "deal as GIF"], ["png", "moment as PNG"], ["svg", "as SVG"]].map(([kind, said]) => html`<button type="button" id=${kind} disabled=${busy === kind} onClick=${() => savePicture(kind)}>${busy === kind && html`<span class="spinner"></span> `}${said}</button>`)}</div>
        ${store.table && html`<div class="part shared"><p>This link shows this moment, without hands that are still secret:</p><${CopyLink} url=${momentLink(store.table.name, momentName())} label="Link to this moment" /></div>`}
        ${matchMedia("(hover: hover)").matches && html`<p class="keys faint">Keys: <${ArrowKey} to="left" /> <${ArrowKey} to="right" /> a decision, <${ArrowKey} to="up" /> <${ArrowKey} to="down" /> a mistake, <kbd>Home</kbd> <kbd>End</kbd>, <kbd>a</kbd> all hands, <kbd>t</kbd> try again, <kbd>Esc</kbd> back</p>`}
      </aside>
    </main>
  </div>`;
}

/** Handle a key in an analysis. */
export function handleAnalysisKey(event) {
  const { at } = store.analysis;
  const jobs = {
    ArrowRight: () => go(at + 1),
    ArrowLeft: () => go(at - 1),
    ArrowDown: () => goToMistake(1),
    ArrowUp: () => goToMistake(-1),
    Home: () => go(0),
    End: () => go(Infinity),
    a: () => document.getElementById("all-hands")?.click(),
    t: () => document.getElementById("try-again")?.click(),
    Escape: goBack,
  };
  if (!jobs[event.key]) return;
  jobs[event.key]();
  event.preventDefault();
}
