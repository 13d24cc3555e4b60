/* The start page: a card for each game, the set-up of other tables, and recorded deals. */

import { allGames } from "./archive.js";
import { request, link } from "./connection.js";
import { html, loadObject, saveText, store, update } from "./store.js";
import { capital, points } from "./words.js";
import { TopBar } from "./head.js";
import { GamePicture } from "./pictures.js";

const LEVELS = ["easy", "medium", "strong"];

/** The last choices in this browser. */
const last = () => loadObject("noms-last") || {};

/** Load the games, and poll until the first compilation is complete. */
export async function openStart() {
  const [games, tries] = await Promise.all([request("/api/games"), firstTries()]);
  const unfinished = (await allGames().catch(() => [])).find((game) => !game.over && !game.day && game.key && game.deals.length && Date.now() - game.began < 3 * 86400000);
  const chosen = last();
  update({ page: "start", games, tries, unfinished, chosen: { name: chosen.name || "You", level: LEVELS.includes(chosen.level) ? chosen.level : "medium" } });
  while (!(await request("/api/ready")).ready) {
    update({ ready: false });
    await new Promise((done) => setTimeout(done, 700));
  }
  update({ ready: true });
}

const choose = (changes) => update({ chosen: { ...store.chosen, ...changes } });

/** The default set-up: the person in the first seat, players of the chosen level in the others. */
function usualSetup(game, seats = game.usual) {
  const others = Array.from({ length: seats - 1 }, () => game.levels[store.chosen.level]);
  return { game, seats, places: ["-me", ...others], options: {}, hints: game.levels.strong };
}

async function open({ game, places, options, hints }) {
  update({ busy: game.name, errors: {}, notice: "" });
  try {
    const mine = places.indexOf("-me");
    if (places.filter((who) => who === "-me").length > 1) throw Object.assign(new Error("You can take only one seat."), { field: "places" });
    const people = {};
    places.forEach((who, seat) => {
      const own = store.chosen.name.trim().replace(/^You$/, "");
      if (who === "-me") people[seat] = own || (places.includes("-person") ? "" : "You");
      if (who === "-person") people[seat] = ""; // people enter their names in the lobby
    });
    const wish = { variant: game.name, seats: places.length, options, players: places.map((who) => (who.startsWith("-") ? null : who)), people, hints, host: mine < 0 ? null : mine, substitute: game.levels[store.chosen.level] };
    const opened = await request("/api/tables", JSON.stringify(wish));
    if (places.includes("-person")) saveText(`noms-invitations-${opened.table}`, JSON.stringify(opened.invitations), true);
    saveText("noms-last", JSON.stringify({ ...store.chosen, game: game.name, places, options, hints }), true);
    location.hash = link(opened.table, mine < 0 ? {} : { invitation: opened.invitations[mine] });
  } catch (error) {
    const field = store.setup && error.field ? error.field : "";
    update({ busy: "", errors: field ? { [field]: error.message } : {}, notice: field ? "" : error.message });
    if (field) document.getElementById(`field-${field}`)?.scrollIntoView({ block: "center" });
  }
}

function Levels() {
  const { chosen } = store;
  return html`<fieldset class="segments" id="level"><legend>Opponents</legend>
    ${LEVELS.map((level) => html`<label class=${chosen.level === level ? "on" : ""}><input type="radio" name="level" value=${level} checked=${chosen.level === level} onChange=${() => choose({ level })} />${level}</label>`)}
  </fieldset>`;
}

function Seats({ game }) {
  const [low, high] = [game.seats[0], game.seats.at(-1)];
  return html`<span class="faint">${low === high ? `${low} seats` : `${low} to ${high} seats`}</span>`;
}

/** Open a default table of a game against a level. */
export async function playUsual(variant, level) {
  await openStart();
  choose({ level });
  await open(usualSetup(store.games.find((game) => game.name === variant)));
}

/** The first tries of today's deals in this browser, reloaded since another window may have started one. */
async function firstTries() {
  const [{ day }, past] = await Promise.all([request("/api/day"), allGames().catch(() => [])]);
  return past.filter((game) => game.day === day);
}

/** Open the deal of the day, or continue it; a second try is practice. */
async function openDay(game) {
  update({ busy: game.name, notice: "" });
  try {
    const first = (await firstTries()).find(({ variant }) => variant === game.name);
    if (first && !first.over) return void (location.hash = link(first.id, { key: first.key }));
    const opened = await request("/api/day", JSON.stringify({ variant: game.name, name: store.chosen.name.trim(), practice: Boolean(first) }));
    location.hash = link(opened.table, { invitation: opened.invitations[0] });
  } catch (error) {
    update({ busy: "", notice: error.message });
  }
}

/** The deal of the day: a button, a link to continue, or the result. */
function Day({ game }) {
  const first = store.tries.find(({ variant }) => variant === game.name);
  const off = store.busy !== "";
  if (!first) return html`<button type="button" class="quiet day" disabled=${off} onClick=${() => openDay(game)}>Deal of the day</button>`;
  if (!first.over) return html`<a class="day" href=${`#${link(first.id, { key: first.key })}`}>Continue the deal of the day</a>`;
  const { own, strong } = first.compared || {};
  return html`<span class="day-result">${first.compared ? `Today: you ${points(own)}, strong ${points(strong)}` : "Played today"} <button type="button" class="quiet day" disabled=${off} title="It does not count" onClick=${() => openDay(game)}>Again</button></span>`;
}

function GameCard({ game }) {
  const busy = store.busy === game.name && !store.setup;
  return html`<li class="game" data-game=${game.name}>
    <${GamePicture} game=${game} />
    <div class="game-words">
      <h2>${game.title}</h2>
      <p>${game.sentence}</p>
      <div class="game-actions">
        <button type="button" class="primary play" disabled=${store.busy !== ""} onClick=${() => open(usualSetup(game))}>${busy ? html`<span class="spinner"></span><span class="unseen">Dealing</span>` : "Play"}</button>
        <button type="button" class="quiet set-up" onClick=${() => update({ setup: usualSetup(game), errors: {} })}>Set up</button>
        <${Seats} game=${game} />
      </div>
      <div class="game-more"><a class="lesson" href=${`#lesson=${game.name}`}>Learn it</a><${Day} game=${game} /></div>
    </div>
  </li>`;
}

/** The last game with its seats and options, and the last unfinished match. */
function Again() {
  const [chosen, { unfinished }] = [last(), store];
  const game = store.games.find(({ name }) => name === chosen.game);
  const fits = game && Array.isArray(chosen.places) && game.seats.includes(chosen.places.length);
  const known = fits && chosen.places.every((who) => who.startsWith("-") || game.players.some((player) => player.name === who));
  if (!known) return null;
  const changed = Object.keys(chosen.options || {}).length;
  return html`<section class="again" aria-label="Your last game"><p><b>${game.title}</b> with ${chosen.places.length} seats${changed ? ` and ${changed} changed option${changed > 1 ? "s" : ""}` : ""}</p>
    <button type="button" class="primary" id="again" disabled=${store.busy !== ""} onClick=${() => open({ game, places: chosen.places, options: chosen.options || {}, hints: chosen.hints })}>Play again</button>
    ${unfinished && html`<a class="button go-on" href=${`#${link(unfinished.id, { key: unfinished.key })}`}>Continue${unfinished.variant === game.name ? "" : ` ${unfinished.title}`}</a>`}</section>`;
}

/* ---- the set-up of a table */

const setUp = (changes) => update({ setup: { ...store.setup, ...changes } });

function setOption(name, value) {
  const options = { ...store.setup.options };
  if (value === "") delete options[name];
  else options[name] = value;
  setUp({ options });
}

function control(option, value) {
  const id = `option-${option.name}`;
  const change = (event) => setOption(option.name, event.target.value.trim());
  const described = `${store.errors[option.name] ? `error-${option.name} ` : ""}${option.help || option.allowed ? `help-${option.name}` : ""}`;
  const more = { id, name: option.name, "aria-describedby": described, "aria-invalid": store.errors[option.name] ? "true" : null };
  if (option.flag) {
    const on = (value ?? option.usual) === "True";
    return html`<input type="checkbox" ...${more} checked=${on} onChange=${(event) => setOption(option.name, event.target.checked === (option.usual === "True") ? "" : event.target.checked ? "True" : "False")} />`;
  }
  if (option.words.length) {
    return html`<select ...${more} onChange=${change}>${option.words.map(({ word, said }) => html`<option value=${word === option.usual ? "" : word} selected=${word === (value ?? option.usual)}>${capital(said)}${word === option.usual ? " (usual)" : ""}</option>`)}</select>`;
  }
  const [least, most] = option.numbers || [];
  const number = (option.numbers || option.allowed.startsWith("an integer")) && !option.none;
  return html`<input type=${number ? "number" : "text"} inputmode=${number ? "numeric" : null} ...${more} min=${least} max=${most} maxlength="200" value=${value ?? ""} placeholder=${option.usual} onChange=${change} />${option.unit && html`<span class="unit">${option.unit}</span>`}`;
}

function OptionField({ option, value }) {
  const error = store.errors[option.name];
  const [label, ...rest] = option.doc.split("; ");
  return html`<div class=${`field ${option.flag ? "flag" : ""} ${error ? "wrong" : ""}`} id=${`field-${option.name}`}>
    <label for=${`option-${option.name}`}>${capital(label)}</label>
    <span class="control">${control(option, value)}</span>
    ${error && html`<p class="error" id=${`error-${option.name}`} role="alert">${capital(error)}</p>`}
    ${!option.flag && !option.words.length && html`<details id=${`help-${option.name}`}><summary>Help</summary><p>${[...rest, option.allowed, option.help].filter(Boolean).map((text) => `${capital(text)}.`).join(" ")} Name in records: <code>${option.name}</code>.</p></details>`}
  </div>`;
}

function Setup() {
  const { setup, busy, errors } = store;
  const { game, seats, places } = setup;
  const close = () => update({ setup: null, errors: {} });
  const words = [["-me", "Me"], ["-person", "A guest with a link"], ...game.players.map((player) => [player.name, player.said])];
  const resize = (number) => setUp({ seats: number, places: Array.from({ length: number }, (_, seat) => places[seat] ?? game.levels[store.chosen.level]) });
  return html`<dialog id="setup" aria-labelledby="setup-title" onCancel=${close} onClose=${close} ref=${(element) => element && !element.open && element.showModal()}>
    <form onSubmit=${(event) => { event.preventDefault(); open(store.setup); }}>
      <header><h2 id="setup-title">${game.title}</h2><button type="button" class="icon-button" aria-label="Close" onClick=${close}>×</button></header>
      <p>${game.intro}</p>
      <fieldset class="segments"><legend>Seats</legend>${game.seats.map((number) => html`<label class=${seats === number ? "on" : ""}><input type="radio" name="seats" value=${number} checked=${seats === number} onChange=${() => resize(number)} />${number}</label>`)}</fieldset>
      <fieldset class="who" id="field-places"><legend>Who sits where</legend>
        ${places.map((who, seat) => html`<label><span>Seat ${seat + 1}</span><select data-seat=${seat} aria-label=${`Seat ${seat + 1}`} onChange=${(event) => setUp({ places: places.map((other, place) => (place === seat ? event.target.value : other)) })}>
          ${words.map(([value, said]) => html`<option value=${value} selected=${value === who}>${said}</option>`)}</select></label>`)}
        ${places.includes("-person") && html`<p class="faint">Play starts when your guests are here. You get a link for each of them.</p>`}
        ${errors.places && html`<p class="error" role="alert">${errors.places}</p>`}
      </fieldset>
      <label class="field"><span>Hints from</span><select id="hints" onChange=${(event) => setUp({ hints: event.target.value })}>${game.players.map((player) => html`<option value=${player.name} selected=${player.name === setup.hints}>${player.said}</option>`)}</select></label>
      <details class="options-of-game" open=${Object.keys(errors).length > 0 || Object.keys(setup.options).length > 0 ? true : null}><summary>Rules of this table</summary>
        ${game.options.map((option) => html`<${OptionField} key=${option.name} option=${option} value=${setup.options[option.name]} />`)}</details>
      ${store.notice && html`<p class="error" role="alert">${store.notice}</p>`}
      <footer><button type="submit" id="start" class="primary" disabled=${busy !== ""}>${busy ? html`<span class="spinner"></span> Dealing` : "Deal"}</button><button type="button" onClick=${close}>Cancel</button></footer>
    </form>
  </dialog>`;
}

/* ---- recorded deals */

/** Show a file of records; `more` returns additional data of a deal. */
export async function showRecords(file, more = () => ({})) {
  if (!file) return;
  const { thinker = "", analyse = false } = store.chosen || {};
  update({ busy: "records", notice: "" });
  try {
    const text = await file.text();
    const film = await request(`/api/film?player=${encodeURIComponent(thinker)}&analyse=${analyse ? 1 : 0}`, text);
    update({ page: "analysis", film: { ...film, deals: film.deals.map((deal, place) => ({ ...deal, ...more(place) })), source: text, thinker }, busy: "" });
  } catch (error) {
    update({ busy: "", notice: error.message });
  }
}

function Records() {
  return html`<section aria-labelledby="records-title">
    <h2 id="records-title">Recorded deals</h2>
    <label class="drop" for="file"><span>Drop a file of records here, or <u>choose one</u>.</span>
      <input id="file" type="file" accept=".jsonl,application/jsonl" onChange=${(event) => showRecords(event.target.files[0])} />
      ${store.busy === "records" && html`<span class="spinner"></span>`}</label>
    <label class="check"><input id="thinker" type="checkbox" onChange=${(event) => choose({ thinker: event.target.checked ? "trained" : "" })} /> Show what a trained player thinks</label>
      <label class="check"><input id="analyse" type="checkbox" onChange=${(event) => choose({ analyse: event.target.checked })} /> Find mistakes (takes a while)</label>
  </section>`;
}

export function StartPage() {
  return html`<${TopBar} title="Noms" facts="Trick-taking games: say what you will win, then win it"><a class="to-results" href="#page=results">Your results</a></${TopBar}>
    <main class="start">
      ${store.notice && !store.setup && html`<p id="notice" class="notice" role="alert">${store.notice}</p>`}
      ${!store.ready && html`<p class="notice waiting" role="status"><span class="spinner"></span> First use: the players are being compiled, which takes a minute or two. Look around; the first deal waits.</p>`}
      <div class="choices-of-all">
        <${Levels} />
        <label class="name">Your name <input id="name" maxlength="40" autocomplete="nickname" value=${store.chosen.name} onInput=${(event) => choose({ name: event.target.value })} /></label>
        <${Again} />
      </div>
      <ul class="games">${store.games.map((game) => html`<${GameCard} key=${game.name} game=${game} />`)}
        <li class="records"><${Records} /></li></ul>
      ${store.setup && html`<${Setup} />`}
    </main>`;
}
