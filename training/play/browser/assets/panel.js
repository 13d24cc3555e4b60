/* The side panel: score, bids, tricks, hint, people and rules. */

import { ask, send } from "./connection.js";
import { html, store, update } from "./store.js";
import { CardWord } from "./head.js";
import { ArrowKey } from "./icons.js";
import { CopyLink, guestLink, momentLink, watchLink } from "./links.js";
import { Elsewhere } from "./lobby.js";
import { Options } from "./choices.js";
import { auction, nameOf, points, signed } from "./words.js";

/** A collapsible part. */
export function Part({ name, title, children, cls = "" }) {
  const open = store.open.includes(name);
  return html`<section class=${`part ${cls}`} id=${`part-${name}`}>
    <h2><button type="button" aria-expanded=${open} aria-controls=${`in-${name}`} onClick=${() => update({ open: open ? store.open.filter((part) => part !== name) : [...store.open, name] })}>${title}</button></h2>
    <div id=${`in-${name}`} class="part-in" hidden=${!open}>${children}</div>
  </section>`;
}

/** Whether the headings of a sheet are vertical, so that long names fit. */
const isUpright = (table) => table.names.length > 4 || table.names.some((name) => name.length > 9);

function Score({ table }) {
  const { sheet, view } = table;
  const seats = view.places.map((place) => place.seat);
  const upright = isUpright(table);
  return html`<div id="sheet" class="scroll"><table class=${`sheet ${upright ? "upright" : ""}`}>
      <thead><tr><th scope="col"><span>Deal</span></th>${seats.map((seat) => html`<th scope="col" class=${seat === table.yours ? "mine" : ""}><span>${nameOf(table, seat)}</span></th>`)}</tr></thead>
      <tbody>${sheet.map((deal, number) => html`<tr title=${deal.lines.join("\n")}><th scope="row">${table.yours === null ? number + 1 : html`<button type="button" class="link" aria-label=${`Replay deal ${number + 1}`} onClick=${() => ask("watch", { do: "film", deal: number + 1, analyse: false })}>${number + 1}</button>`}</th>${deal.points.map((score, seat) => html`<td class=${seat === table.yours ? "mine" : ""}>${signed(score)}</td>`)}</tr>`)}${!table.scored && html`<tr class="to-come faint" aria-hidden="true"><th>${view.deal}</th></tr>`}</tbody>
      <tfoot><tr><th scope="row">Total</th>${view.places.map((place) => html`<td class=${place.seat === table.yours ? "mine" : ""}>${points(place.total)}</td>`)}</tr></tfoot>
    </table></div>`;
}

export function Bids({ table }) {
  const { order, rows } = auction(table.view);
  if (!rows.length) return html`<p class="faint">No bids yet.</p>`;
  return html`<div class="scroll"><table class=${`sheet bids ${isUpright(table) ? "upright" : ""}`}>
    <thead><tr>${order.map((seat) => html`<th scope="col" class=${seat === table.yours ? "mine" : ""}><span>${nameOf(table, seat)}</span></th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr>${row.map((call) => html`<td class=${call === "pass" ? "faint" : ""}>${call ?? ""}</td>`)}</tr>`)}</tbody>
  </table></div>`;
}

export function Tricks({ table }) {
  const { view } = table;
  if (!view.tricks.length) return html`<p class="faint">No trick is complete yet.</p>`;
  return html`<ol class=${`tricks ${view.deck === 1 ? "decktet" : ""}`} reversed tabindex="0" aria-label="Tricks, the last one first">${[...view.tricks.keys()].reverse().map((number) => html`<li value=${number + 1}>
    <span class="trick-cards">${view.tricks[number].map(([seat, word]) => html`<span class=${seat === view.winners[number] ? "took" : ""} title=${nameOf(table, seat)}><${CardWord} deck=${view.deck} word=${word} /></span>`)}</span>
    <span class="trick-winner">${nameOf(table, view.winners[number])}</span>
  </li>`)}</ol>`;
}

function Hint({ table }) {
  const { hint } = table;
  return html`<p class="faint">${hint.options.some((option) => "v" in option) ? "Expected points above the others' mean" : "Probability of each action"} (player: ${hint.name}).</p>
    <${Options} id="advice-list" options=${hint.options} taken=${hint.taken} view=${table.view} />`;
}

function Person({ table, person }) {
  const mayReplace = table.yours !== null || !table.people.length;
  const invitation = table.yours !== person.seat && person.invited && table.invitations[person.seat];
  const state = !person.sits ? "a player has the seat" : person.here ? "here" : person.invited ? "invited" : "away";
  const name = person.name || `Guest ${person.seat + 1}`;
  return html`<li><b>${name}</b> <span class="faint">${state}</span>
    ${invitation && html`<${CopyLink} url=${guestLink(table, invitation)} label=${`Link for ${name}`} />`}
    ${table.yours === person.seat && person.name && !person.sits && html`<button type="button" onClick=${() => send({ do: "sit" })}>Take my seat back</button>`}
    ${mayReplace && person.sits && !person.here && html`<button type="button" onClick=${() => send({ do: "replace", seat: person.seat, player: table.substitute.name })}>Let a player take the seat</button>`}
  </li>`;
}

function People({ table }) {
  return html`<ul class="people" id="people">${table.people.map((person) => html`<${Person} table=${table} person=${person} />`)}</ul>
    <p class="faint">This link is for spectators, who see no hands${table.watching ? ` (${table.watching} now)` : ""}:</p>
    <${CopyLink} url=${watchLink(table)} label="Link to watch" />
    <p class="faint">This link shows the deal as it is now, without hands:</p>
    <${CopyLink} url=${momentLink(table.name, table.moment)} label="Link to this moment" />`;
}

/** The notice of a failed player, with its replacement. */
function Failed({ table }) {
  if (table.failed === null || table.failed === undefined) return null;
  const mayReplace = table.yours !== null || !table.people.length;
  const others = table.players.filter((player) => player.name !== table.levels[table.failed] && !player.said.toLowerCase().startsWith(`${table.levels[table.failed]}:`));
  return html`<div class="part failed" id="failed"><p>${table.names[table.failed]} has failed.</p>
    ${mayReplace && html`<button type="button" onClick=${() => send({ do: "replace", seat: table.failed, player: others[0].name })}>Let another player take the seat</button>`}</div>`;
}

/** Whether the device has a mouse, and so probably a keyboard. */
const hasKeys = () => matchMedia("(hover: hover)").matches;

const PACES = [[0, "fastest"], [0.3, "fast"], [0.7, "normal"], [2, "slow"]];

/** Parts that grow during a deal come last in their column, so that nothing below them moves. */
export function Panel({ table }) {
  const { view } = table;
  const hasBids = view.places.some((place) => place.calls.length) || view.phase === "call";
  return html`<aside class="panel" aria-label="Beside the table">
    <div class="of-deal">
      <${Elsewhere} table=${table} />
      <${Failed} table=${table} />
      <${Part} name="score" title="Score"><${Score} table=${table} /></${Part}>
      ${hasBids && html`<${Part} name="bids" title="Bids"><${Bids} table=${table} /></${Part}>`}
      ${view.phase !== "call" && html`<${Part} name="tricks" title="Tricks"><${Tricks} table=${table} /></${Part}>`}
    </div>
    <div class="of-table">
      ${table.hint && html`<${Part} name="hint" title="Hint"><${Hint} table=${table} /></${Part}>`}
      <${Part} name="people" title="Who is here"><${People} table=${table} /></${Part}>
      <${Part} name="rules" title="Rules" cls="rules">${table.rules.map((line) => html`<p>${line}</p>`)}</${Part}>
      <div class="part row"><label>Pace <select id="pace" value=${String(PACES.map(([seconds]) => seconds).includes(table.speed) ? table.speed : "")} onChange=${(event) => send({ do: "speed", seconds: Number(event.target.value) })}>
        ${PACES.map(([seconds, said]) => html`<option value=${String(seconds)} selected=${seconds === table.speed}>${said}</option>`)}</select></label></div>
      ${hasKeys() && html`<p class="keys faint">Keys: <${ArrowKey} to="left" /> <${ArrowKey} to="right" /> choose, <kbd>Enter</kbd> plays, <kbd>h</kbd> hint, <kbd>u</kbd> take back, <kbd>n</kbd> next deal</p>`}
    </div>
  </aside>`;
}
