"use strict";

/* The page of a server: a lobby, a table at which people play, and recorded deals. */

const address = new URLSearchParams(location.hash.slice(1));
const board = new Board(byId("board"));
let token = address.get("token") || stored("noms-token") || "";
let replay = null;

function stored(name, value) {
  try {
    if (value !== undefined) sessionStorage.setItem(name, value);
    return sessionStorage.getItem(name);
  } catch (error) {
    return null;
  }
}

function notice(text) {
  byId("notice").textContent = text;
  byId("notice").hidden = !text;
}

async function asked(path, body, kind = "json") {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const answer = await fetch(path, body === undefined ? { headers } : { method: "POST", headers, body });
  if (!answer.ok) throw new Error((await answer.json()).error);
  return answer[kind]();
}

/* A GIF of the deal that is shown, which the server draws. */
function offerGif(path, parameters, body) {
  byId("gif").hidden = false;
  byId("gif").onclick = async () => {
    const { deal, view } = replay;
    const query = new URLSearchParams({ ...parameters, deal, view, theme: document.documentElement.dataset.theme });
    byId("gif").disabled = true;
    notice("Drawing the deal");
    try {
      save("deal.gif", await asked(`${path}?${query}`, body, "blob"));
      notice("");
    } catch (error) {
      notice(error.message);
    }
    byId("gif").disabled = false;
  };
}

function choices(select, words, chosen) {
  select.replaceChildren(...words.map(([value, text]) => new Option(text, value, false, value === chosen)));
}

/* ---- the lobby */

class Lobby {
  constructor(games) {
    this.games = new Map(games.map((game) => [game.name, game]));
    choices(byId("game"), games.map((game) => [game.name, game.title]), "small_ships");
    byId("game").addEventListener("change", () => this.choose());
    byId("seats").addEventListener("change", () => this.places());
    byId("lobby").addEventListener("submit", (event) => {
      event.preventDefault();
      this.open().catch((error) => notice(error.message));
    });
    byId("file").addEventListener("change", () => this.show(byId("file").files[0]));
    addEventListener("dragover", (event) => event.preventDefault());
    addEventListener("drop", (event) => {
      event.preventDefault();
      if (event.dataTransfer.files.length && !byId("lobby").hidden) this.show(event.dataTransfer.files[0]);
    });
    byId("lobby").hidden = false;
    this.choose();
  }

  get game() {
    return this.games.get(byId("game").value);
  }

  choose() {
    const game = this.game;
    choices(byId("seats"), game.seats.map((seats) => [String(seats), String(seats)]), String(game.usual));
    const players = game.players.map((name) => [name, name]);
    choices(byId("hints"), players, game.players[0]);
    choices(byId("thinker"), [["", "nobody"], ...players], "");
    const lines = game.options.map((option) => {
      const input = element("input");
      input.name = option.name;
      input.maxLength = 200;
      input.placeholder = option.usual;
      return element("label", `${option.name}: ${option.doc}; ${option.allowed} `, input);
    });
    byId("options-of-game").replaceChildren(...lines);
    this.places();
  }

  places() {
    const players = this.game.players.map((name) => [name, name]);
    const lines = [element("legend", "Who sits where")];
    for (let seat = 0; seat < Number(byId("seats").value); seat += 1) {
      const select = element("select");
      select.dataset.seat = String(seat);
      choices(select, [["-me", "me"], ["-person", "somebody with a link"], ...players], seat === 0 ? "-me" : this.game.players[0]);
      lines.push(element("label", `Seat ${seat} `, select));
    }
    byId("places").replaceChildren(...lines);
  }

  async open() {
    const chosen = [...byId("places").querySelectorAll("select")].map((select) => select.value);
    if (chosen.filter((word) => word === "-me").length > 1) throw new Error("you can have one seat");
    const people = {};
    chosen.forEach((word, seat) => {
      if (word === "-me") people[seat] = byId("name").value;
      if (word === "-person") people[seat] = `Guest ${seat}`;
    });
    const options = {};
    for (const input of byId("options-of-game").querySelectorAll("input")) if (input.value.trim()) options[input.name] = input.value.trim();
    const players = chosen.map((word) => (word.startsWith("-") ? null : word));
    const wish = { variant: this.game.name, seats: chosen.length, options, players, people, hints: byId("hints").value };
    const opened = await asked("/api/tables", JSON.stringify(wish));
    stored(`noms-invitations-${opened.table}`, JSON.stringify(opened.invitations));
    const mine = chosen.indexOf("-me");
    location.hash = link(opened.table, mine < 0 ? {} : { invitation: opened.invitations[mine] });
  }

  async show(file) {
    if (!file) return;
    try {
      const player = byId("thinker").value;
      const analyse = byId("analyse").checked ? 1 : 0;
      notice(analyse ? "Searching for mistakes" : "");
      const text = await file.text();
      const film = await asked(`/api/film?player=${encodeURIComponent(player)}&analyse=${analyse}`, text);
      notice("");
      byId("lobby").hidden = true;
      replay = replay || new Replay(board, false);
      replay.load(film);
      offerGif("/api/gif", { player }, text);
    } catch (error) {
      notice(error.message);
    }
  }
}

function link(table, secret) {
  const words = new URLSearchParams({ table, ...secret });
  if (token) words.set("token", token);
  return words.toString();
}

/* The key of this browser at the table of the address. An invitation is good once, and for a key that nobody else knows. */
async function ownKey() {
  const [table, invitation] = [address.get("table"), address.get("invitation")];
  if (!invitation) return address.get("key");
  const drawn = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(18)))).replace(/\+/g, "-").replace(/\//g, "_");
  const key = stored(`noms-key-${invitation}`) || drawn;
  stored(`noms-key-${invitation}`, key);
  await asked("/api/seat", JSON.stringify({ table, invitation, key }));
  history.replaceState(null, "", `#${link(table, { key })}`);
  return key;
}

/* ---- a table */

class Table {
  constructor(name, key) {
    this.name = name;
    this.key = key;
    this.state = null;
    this.parts = new Map();
    this.order = [];
    this.moment = "";
    this.wait = 500;
    byId("play-panel").hidden = false;
    byId("hint").addEventListener("click", () => this.send({ do: "hint" }));
    byId("undo").addEventListener("click", () => this.send({ do: "back" }));
    byId("deal-next").addEventListener("click", () => this.send({ do: "next" }));
    byId("records").addEventListener("click", () => this.send({ do: "records" }));
    byId("pace").addEventListener("change", () => this.send({ do: "speed", seconds: Number(byId("pace").value) }));
    byId("watch").addEventListener("click", () => this.send({ do: "film", analyse: false }));
    byId("judge").addEventListener("click", () => {
      notice("Searching for mistakes");
      this.send({ do: "film", analyse: true });
    });
    byId("return").addEventListener("click", () => this.turnTo(false));
    byId("rejoin").addEventListener("click", () => this.connect());
    board.svg.addEventListener("click", (event) => this.choose(event.target.closest("[data-word]")));
    document.addEventListener("keydown", (event) => this.pressed(event));
    this.connect();
  }

  connect() {
    this.elsewhere = "";
    byId("rejoin").hidden = true;
    this.socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/socket`);
    this.socket.addEventListener("open", () => {
      this.wait = 500;
      this.parts.clear();
      this.send({ do: "hello", table: this.name, key: this.key || null, token: token || null });
    });
    this.socket.addEventListener("message", (event) => this.told(JSON.parse(event.data)));
    this.socket.addEventListener("close", () => {
      byId("rejoin").hidden = !this.elsewhere;
      notice(this.elsewhere);
      if (this.elsewhere) return;
      byId("table-status").textContent = "The connection is lost; trying again.";
      setTimeout(() => this.connect(), this.wait);
      this.wait = Math.min(2 * this.wait, 10000);
    });
  }

  send(message) {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  choose(card) {
    if (card && !this.watches) this.send({ do: "act", word: card.dataset.word, moment: this.moment });
  }

  told(message) {
    const jobs = {
      symbols: () => board.symbols(message.text),
      rules: () => byId("rules").replaceChildren(...message.lines.map((line) => element("p", line))),
      refused: () => notice(message.text),
      elsewhere: () => (this.elsewhere = message.text),
      records: () => save("records.jsonl", new Blob([message.text], { type: "application/jsonl" })),
      table: () => this.shown(message),
      hint: () => this.hinted(message),
      film: () => this.watch(message.film),
    };
    jobs[message.is]();
  }

  get watches() {
    return !byId("replay").hidden;
  }

  /* The deal that is over, move by move, with its mistakes if it was analysed. */
  watch(film) {
    notice("");
    this.turnTo(true);
    replay = replay || new Replay(board, false);
    replay.load(film);
    offerGif("/api/table-gif", {}, JSON.stringify({ table: this.name, key: this.key, deal: film.deal }));
  }

  turnTo(film) {
    byId("play-panel").hidden = film;
    byId("replay").hidden = byId("return").hidden = !film;
    if (film) return;
    replay.stop();
    board.svg.setAttribute("aria-label", "The table");
    this.draw({ parts: {}, moment: this.moment });
  }

  draw(message) {
    for (const [name, text] of Object.entries(message.parts)) this.parts.set(name, text);
    this.order = message.order || this.order;
    this.moment = message.moment;
    if (this.watches) return;
    const focused = document.activeElement;
    board.show(this.order.map((name) => [name, this.parts.get(name)]));
    const words = [...board.svg.querySelectorAll("[data-word]")];
    for (const word of words) {
      word.setAttribute("role", "button");
      word.setAttribute("tabindex", "0");
    }
    if (!focused.isConnected) words.find((word) => word.dataset.word === focused.dataset.word)?.focus();
  }

  /* Only what has changed is sent. */
  shown(fresh) {
    const message = { ...this.state, ...fresh };
    this.state = message;
    if (this.moment !== fresh.moment) {
      notice("");
      byId("advice").hidden = true;
    }
    this.draw(fresh);
    const mine = message.yours !== null && message.turn === message.yours;
    byId("table-status").textContent = mine ? `Your turn. ${message.status}` : message.status;
    document.title = mine ? "Your turn · Noms" : "Noms";
    byId("deal-next").disabled = (message.yours === null && message.people.length > 0) || !message.scored || message.over;
    byId("hint").disabled = !mine;
    byId("undo").disabled = message.yours === null || message.people.length > 1;
    byId("records").hidden = !message.over;
    byId("over").hidden = !message.scored || message.yours === null;
    if (document.activeElement !== byId("pace")) byId("pace").value = String(message.speed);
    this.people(message);
    this.sheet(message);
  }

  hinted(message) {
    this.draw(message);
    byId("advice").hidden = false;
    byId("advice").querySelector("h2").textContent = `Hint by ${message.name}`;
    showOptions(byId("advice-list"), message.options, message.taken);
  }

  people(message) {
    const invitations = JSON.parse(stored(`noms-invitations-${this.name}`) || "{}");
    const mayReplace = message.yours !== null || !message.people.length;
    const lines = message.people.map((person) => {
      const state = !person.sits ? " (a player plays)" : person.here ? "" : person.invited ? " (invited)" : " (away)";
      const line = element("div", `Seat ${person.seat}: ${person.name}${state} `);
      if (message.yours === person.seat && !person.sits) line.append(this.button("Take my seat back", () => this.send({ do: "sit" })));
      if (mayReplace && person.sits && !person.here) line.append(this.replacing(person.seat, message.players[0]));
      if (message.yours !== person.seat && person.invited && invitations[person.seat]) {
        const invitation = element("input");
        invitation.readOnly = true;
        invitation.value = `${location.origin}/#${link(this.name, { invitation: invitations[person.seat] })}`;
        invitation.setAttribute("aria-label", `Link for seat ${person.seat}`);
        line.append(invitation);
      }
      return line;
    });
    const failed = message.names[message.failed];
    if (failed) {
      const line = element("div", `Seat ${message.failed}: ${failed} has failed `);
      const others = message.players.filter((name) => failed !== name && failed !== `${name} ${message.failed}`);
      if (mayReplace) line.append(this.replacing(message.failed, others[0]));
      lines.push(line);
    }
    byId("people").replaceChildren(...lines);
    byId("people").hidden = message.people.length < 2 && !failed;
  }

  replacing(seat, player) {
    return this.button(`Let ${player} play`, () => this.send({ do: "replace", seat, player }));
  }

  button(text, job) {
    const made = element("button", text);
    made.type = "button";
    made.addEventListener("click", job);
    return made;
  }

  sheet(message) {
    byId("sheet").hidden = !message.sheet.length;
    const heads = ["Deal", ...message.names].map((name) => {
      const head = element("th", name);
      head.scope = "col";
      return head;
    });
    byId("sheet").querySelector("thead").replaceChildren(element("tr", "", ...heads));
    const rows = message.sheet.map((deal, number) => {
      const cells = deal.points.map((points, seat) => element("td", `${points >= 0 ? "+" : ""}${points} → ${deal.totals[seat]}`));
      const row = element("tr", "", element("td", String(number + 1)), ...cells);
      row.title = deal.lines.join("\n");
      return row;
    });
    byId("sheet").querySelector("tbody").replaceChildren(...rows);
    const last = message.sheet.at(-1);
    byId("last-result").replaceChildren(...(last ? last.lines.map((line) => element("li", line)) : []));
  }

  pressed(event) {
    if (event.repeat && !event.key.startsWith("Arrow")) {
      if (event.key === " " && event.target.dataset?.word) event.preventDefault();
      return;
    }
    if (this.watches || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    const words = [...board.svg.querySelectorAll("[data-word]")];
    const at = words.indexOf(document.activeElement);
    const jobs = {
      ArrowRight: () => words.length && words[(at + 1) % words.length].focus(),
      ArrowLeft: () => words.length && words[(at + words.length - (at < 0 ? 0 : 1)) % words.length].focus(),
      h: () => byId("hint").click(),
      u: () => byId("undo").click(),
      n: () => byId("deal-next").click(),
    };
    if ((event.key === "Enter" || event.key === " ") && at >= 0) this.choose(words[at]);
    else if (jobs[event.key]) jobs[event.key]();
    else return;
    event.preventDefault();
  }
}

startTheme(byId("theme"));
if (address.get("token")) stored("noms-token", token);
byId("leave").addEventListener("click", (event) => {
  event.preventDefault();
  location.hash = "";
});
addEventListener("hashchange", () => location.reload());
let table = null;
const opening = address.get("table")
  ? ownKey().then((key) => (table = new Table(address.get("table"), key)))
  : asked("/api/games").then((games) => new Lobby(games));
opening.catch((error) => notice(error.message));
