/* The table: plates of the others, cards, the viewer's bar, and choices. Cards keep their elements, so that they can glide. */

import { Component, createRef } from "./vendor/preact.js";
import { act, ask, send, trickName } from "./connection.js";
import { DECKS } from "./decks.js";
import { html, store, update, updateTable } from "./store.js";
import { Icon, Level } from "./icons.js";
import { Facts } from "./head.js";
import { box, layout } from "./layout.js";
import { Choices, hintText, Mark, markText, Result, RowChoices } from "./choices.js";
import { count, joinWords, nameOf, points, status } from "./words.js";

const PILLS = ["winner", "sniped", "declarer", "partner", "exposed"];

const Dealer = ({ place }) => place.marks.includes("dealer") && html`<span class="coin" role="img" aria-label="dealer" title="Dealer">D</span>`;

/** The most important mark of a seat. */
function Role({ place }) {
  const role = PILLS.find((mark) => place.marks.includes(mark));
  return role && html`<span class=${`tag ${role}`}>${role}</span>`;
}

/** The last call of a seat during bidding, later its tricks and its bid. */
export function tally(view, place) {
  if (view.phase === "call" && place.called === null) return html`<span class="call">${place.calls.at(-1) ?? ""}</span>`;
  if (place.called !== null) return view.phase === "call" ? html`<span class="call">${place.called}</span>` : html`<b>${place.tricks}</b> of <b>${place.called}</b>`;
  if (view.declarer === null && place.calls.length) return html`<span class="call">${place.calls.at(-1)}</span>${view.phase !== "trump" && html` <b title="Tricks">${place.tricks}</b>`}`;
  const before = place.carried_tricks ? ` + ${place.carried_tricks}` : "";
  return ["play", "suit", null].includes(view.phase) ? html`<b>${place.tricks}</b>${before} ${place.tricks === 1 && !before ? "trick" : "tricks"}` : "";
}

/** The font-size class of a name. */
function nameSize(name, compact) {
  const longest = Math.max(...name.split(/[ -]/).map((word) => word.length));
  return name.length > 22 || (compact && longest > 8) ? "tiny" : name.length > (compact ? 9 : 14) ? "small" : "";
}

function Plate({ table, place, where, compact }) {
  const { view } = table;
  const person = table.people.find((other) => other.seat === place.seat && other.sits);
  const away = person && !person.here;
  const name = nameOf(table, place.seat);
  return html`<div class=${`plate ${place.seat === view.turn ? "turn" : ""} ${away ? "away" : ""}`} style=${box(where)} data-seat=${place.seat}>
    <div class=${`plate-name ${name.length > 14 ? "long" : ""}`}><b class=${nameSize(name, compact)}>${name}</b><${Dealer} place=${place} />${table.levels[place.seat] && html`<${Level} level=${table.levels[place.seat]} />`}${away && html`<span class="faint">${person.invited ? "invited" : "away"}</span>`}</div>
    <div class="plate-facts"><span class="tally">${tally(view, place)}</span><${Role} place=${place} />${!compact && html`<span class="total">${points(place.total)}</span>`}</div>
  </div>`;
}

/** The request as a sentence. */
function undoText(table) {
  const { seat, later, missing } = table.undo;
  const asks = `${nameOf(table, seat)} ${seat === table.yours ? "ask" : "asks"} to take back a decision${later ? ` and ${count(later, "later one")}` : ""}`;
  return missing.includes(table.yours) ? asks : `${asks}; ${joinWords(missing.map((other) => table.people.find((person) => person.seat === other).name))} ${missing.length > 1 ? "have" : "has"} to agree`;
}

/** The buttons to answer the request. */
function UndoAnswers({ table }) {
  const { seat, missing } = table.undo;
  const answer = (agrees) => () => send({ do: "answer", seat, moment: table.moment, agrees });
  return html`
    ${missing.includes(table.yours) && html`<button type="button" id="agree" class="tool primary" title="Agree" onClick=${answer(true)}><${Icon} name="check" /><span>Agree</span></button>
      <button type="button" id="refuse" class="tool" title="Do not agree" onClick=${answer(false)}><${Icon} name="close" /><span>No</span></button>`}
    ${seat === table.yours && html`<button type="button" id="withdraw" class="tool" title="Withdraw" onClick=${answer(false)}><${Icon} name="close" /><span>Withdraw</span></button>`}`;
}

/** The bar of the seat at the bottom: name, status, and buttons. */
function OwnBar({ table, lay }) {
  const { view } = table;
  const place = view.places[lay.first];
  const mine = view.turn !== null && view.turn === table.yours;
  const forced = view.legal.length + view.choices.length === 1;
  const asked = table.undo && !table.still;
  const said = table.lost ? "Connection lost; trying again" : asked ? undoText(table) : status(table);
  const asks = table.others?.length ? "Ask to take back" : "Take back";
  return html`<div class=${`own-bar ${view.turn === place.seat ? "turn" : ""} ${asked ? "asked" : ""}`} style=${box(lay.bar)}>
    <div class="own-name"><b class=${nameSize(table.names[lay.first], lay.compact)}>${table.yours === lay.first ? "You" : table.names[lay.first]}</b>
      ${table.levels[lay.first] && html`<${Level} level=${table.levels[lay.first]} />`}<${Dealer} place=${place} /><span class="tally">${tally(view, place)}</span><${Role} place=${place} />${!lay.compact && html`<span class="total">${points(place.total)}</span>`}</div>
    <p id="table-status" class=${table.why ? (table.why.length > 44 ? "why long" : "why") : ""} aria-live="polite"><span key=${table.why || said}>${table.why || said}</span></p>
    <div class="own-actions">
      ${mine && !table.undo && !forced && !table.still && table.hints && html`<button type="button" id="hint" class="tool" title="Hint" disabled=${table.asks !== ""} onClick=${() => ask("hint", { do: "hint" })}>${table.asks === "hint" ? html`<span class="spinner"></span>` : html`<${Icon} name="bulb" />`}<span>Hint</span></button>`}
      ${table.back && html`<button type="button" id="undo" class="tool" title=${asks} onClick=${() => send({ do: "back" })}><${Icon} name="undo" /><span>${asks}</span></button>`}
      ${asked && html`<${UndoAnswers} table=${table} />`}
    </div>
  </div>`;
}

/**
 * Position and kind of every visible card, by word.
 * @returns {Map<string, {x: number, y: number, width: number, height: number, kind: string, z: number}>}
 */
export function cardPlaces(table, lay) {
  const { view } = table;
  const places = new Map();
  const put = (word, where, kind, z, more = {}) => places.set(word, { ...where, kind, z, ...more });
  const last = view.tricks.at(-1);
  if (last) {
    const gone = view.trick.length > 0 || table.swept === trickName(view) || !["play", null].includes(view.phase);
    const winner = view.winners.at(-1);
    for (const [seat, word] of last) {
      const lies = lay.trick.get(seat);
      const home = lay.home.get(winner);
      const where = gone ? { x: home.x - lies.width / 2, y: home.y - lies.height / 2, width: lies.width, height: lies.height } : lies;
      put(word, where, gone ? "gone" : "trick", gone ? 1 : 90 + seat, { seat, best: seat === winner && !gone });
    }
  }
  view.trick.forEach(([seat, word], number) => put(word, lay.trick.get(seat), "trick", 90 + number, { seat, best: seat === view.best && view.trick.length > 1 }));
  for (const [seat, cards] of lay.hands) for (const card of cards) put(card.word, card, "open", 20, { seat, narrow: true });
  const raises = view.turn === view.viewer && view.phase === "play" && view.legal.length > 0;
  const legal = new Set(view.legal);
  lay.hand.forEach((card, number) => {
    const isLegal = raises && legal.has(card.word);
    const acts = isLegal && !table.still;
    put(card.word ?? `back${number}`, { ...card, y: card.y - (isLegal ? 8 : 0) }, card.word ? "hand" : "back", 60 + number, { acts, dim: raises && !isLegal, seat: lay.first });
  });
  return places;
}

/** Cards of the hand that must stay uncovered: those of a hint or an analysis. */
const wholeCards = (table) => new Set([table.hint?.taken, ...Object.keys(table.marks || {})]);

function tellWhy(word) {
  updateTable({ why: store.table.view.why[word] || "" });
  const { moment } = store.table;
  setTimeout(() => store.table.moment === moment && updateTable({ why: "" }), 4000);
}

function Card({ table, word, at, home }) {
  const { view } = table;
  const { title } = DECKS[view.deck].cards[word] || { title: "A card face down" };
  const { letter } = DECKS[view.deck];
  const hint = table.hint && at.kind === "hand" && table.hint.options.find((option) => option.word === word);
  const hinted = table.hint && at.kind === "hand" && table.hint.taken === word;
  const mark = table.marks && ["hand", "open"].includes(at.kind) && table.marks[word];
  const by = at.kind === "trick" ? ` by ${nameOf(table, at.seat)}` : "";
  const style = {
    "--x": `${at.x}px`, "--y": `${at.y - (hinted ? 4 : 0)}px`, "--from-x": `${home.x - at.width / 2}px`, "--from-y": `${home.y - at.height / 2}px`,
    width: `${at.width}px`, height: `${at.height}px`, zIndex: at.z, "--strip": `${Math.min(at.step || at.width, at.width)}px`,
  };
  const more = at.acts
    ? { role: "button", tabIndex: 0, "data-word": word, onClick: () => act(word) }
    : at.dim && !table.still
      ? { role: "img", "data-why": word, onClick: () => tellWhy(word) }
      : { role: "img" };
  const symbol = at.kind === "back" ? "#noms-back" : `#noms-${at.narrow ? "t" : "c"}-${word}${letter}`;
  return html`<div class=${`playing-card ${at.kind} ${at.acts ? "acts" : ""} ${at.dim ? "dim" : ""} ${at.best ? "best" : ""} ${hinted ? "hinted" : ""} ${mark ? `marked ${mark.grade}` : ""}`} aria-label=${title + by + markText(mark)}
      aria-hidden=${at.kind === "gone" ? "true" : null} data-card=${word} style=${style} ...${more}>
    <svg viewBox=${at.narrow ? "0 0 26 46" : "0 0 70 100"} aria-hidden="true"><use href=${symbol} /></svg>
    ${hint && html`<span class="hint-of">${hintText(hint)}</span>`}<${Mark} mark=${mark} />
  </div>`;
}

/** The cards, always in deck order, so that no element moves in the document, which would stop its animation. */
function Cards({ table, lay }) {
  const places = cardPlaces(table, lay);
  const order = [...Object.keys(DECKS[table.view.deck].cards), ...[...places.keys()].filter((word) => word.startsWith("back"))];
  const dealer = lay.home.get(table.view.dealer) || lay.middle;
  return order.filter((word) => places.has(word)).map((word) => {
    const at = places.get(word);
    const home = ["trick", "gone"].includes(at.kind) ? lay.home.get(at.seat) : at.kind === "hand" && !table.view.tricks.length ? dealer : at.kind === "open" ? at : lay.home.get(at.seat);
    return html`<${Card} key=${`${table.view.deal}${word}`} table=${table} word=${word} at=${at} home=${home} />`;
  });
}

/** The facts of the deal, messages (`children`), and the table in the remaining room. */
export const Board = ({ table, children }) => html`<div class="above"><${Facts} table=${table} />${children}</div><${Stage} table=${table} />`;

class Stage extends Component {
  ref = createRef();

  componentDidMount() {
    const stage = this.ref.current;
    const above = stage.previousElementSibling;
    const measure = () => {
      const { clientWidth: width, clientHeight: height } = stage;
      const top = Math.max(0, Math.ceil(above.getBoundingClientRect().bottom - stage.getBoundingClientRect().top));
      const { size } = store;
      if (!size || size.width !== width || size.height !== height || size.top !== top) update({ size: { width, height, top } });
    };
    this.observer = new ResizeObserver(measure);
    for (const element of [stage, above]) this.observer.observe(element);
    measure();
  }

  componentWillUnmount() {
    this.observer.disconnect();
  }

  render({ table }) {
    return html`<div class="stage" id="stage" role="group" aria-label="Table" data-moment=${table.moment} ref=${this.ref}>
      ${store.size && table.view && html`<${Laid} table=${table} lay=${layout(table.view, store.size, { more: table.trial ? 48 : 0, whole: wholeCards(table) })} />`}
    </div>`;
  }
}

export function Laid({ table, lay }) {
  const { view } = table;
  const others = view.places.filter((place) => lay.plates.has(place.seat));
  const over = view.phase === null && (table.swept === trickName(view) || !view.tricks.length);
  return html`
    <div class="felt" style=${box(lay.felt)}></div>
    ${others.map((place) => html`<${Plate} key=${`seat${place.seat}`} table=${table} place=${place} where=${lay.plates.get(place.seat)} compact=${lay.compact} />`)}
    <${OwnBar} table=${table} lay=${lay} />
    <${Cards} table=${table} lay=${lay} />
    ${lay.choices && html`<${Choices} table=${table} lay=${lay} />`}
    ${lay.row.height > 0 && html`<${RowChoices} table=${table} lay=${lay} />`}
    ${over && html`<${Result} table=${table} lay=${lay} />`}`;
}

/** Handle a key at the table. */
export function handleKey(event) {
  if (event.repeat && !event.key.startsWith("Arrow")) {
    if (event.key === " " && event.target.dataset?.word) event.preventDefault();
    return;
  }
  const words = [...document.querySelectorAll("#stage [data-word]")];
  const at = words.indexOf(document.activeElement);
  const click = (id) => () => document.getElementById(id)?.click();
  const jobs = {
    ArrowRight: () => words.length && words[(at + 1) % words.length].focus(),
    ArrowLeft: () => words.length && words[(at + words.length - (at < 0 ? 0 : 1)) % words.length].focus(),
    h: click("hint"),
    u: click("undo"),
    n: click("deal-next"),
  };
  if ((event.key === "Enter" || event.key === " ") && at >= 0) act(words[at].dataset.word);
  else if (jobs[event.key]) jobs[event.key]();
  else return;
  event.preventDefault();
}
