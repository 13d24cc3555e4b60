/* The lobby before the first deal: who is here and who is missing, links for free seats, and the guest's name. */

import { connect, send } from "./connection.js";
import { html, loadObject, saveText, store } from "./store.js";
import { Level } from "./icons.js";
import { CopyLink, guestLink, watchLink } from "./links.js";
import { count, joinWords, nameOf } from "./words.js";

/** The form for the person's name; a late guest takes the seat with it. */
function NameForm({ sits }) {
  const last = loadObject("noms-last") || {};
  const give = (event) => {
    event.preventDefault();
    const name = new FormData(event.target).get("name").trim();
    if (!name) return;
    saveText("noms-last", JSON.stringify({ ...last, name }), true);
    send({ do: "name", name });
    if (!sits) send({ do: "sit" });
  };
  return html`<form class="name-form" onSubmit=${give}>
    <label for="own-name">Your name</label>
    <input id="own-name" name="name" maxlength="40" required autocomplete="nickname" defaultValue=${last.name === "You" ? "" : last.name || ""} ref=${(field) => field && !field.dataset.met && ((field.dataset.met = "1"), field.focus())} />
    <button type="submit" class="primary">Join</button>
  </form>`;
}

/** The notice for a guest who joins after the deal has started. */
export function Late({ table }) {
  const own = table.people.find((person) => person.seat === table.yours);
  return own && !own.name && html`<div class="notice" id="late"><p>The deal has started, and a player has your seat.</p><${NameForm} sits=${own.sits} /></div>`;
}

/** The notice that the seat is open in another window. */
export const Elsewhere = ({ table }) => table.elsewhere && html`<div class="part failed"><p>${table.elsewhere}</p><button type="button" id="rejoin" class="primary" onClick=${connect}>Play in this window</button></div>`;

/** A person's presence in one word. */
function Presence({ person }) {
  const state = person.invited ? "free" : !person.here ? "away" : person.name ? "here" : "joining";
  return html`<span class=${`presence ${state}`}>${state}</span>`;
}

function Seat({ table, seat }) {
  const person = table.people.find((other) => other.seat === seat && other.sits);
  const invitation = person && person.invited && table.invitations[seat];
  const name = person && person.invited && !person.name ? "A guest" : nameOf(table, seat);
  return html`<li class=${person && !person.name ? "free" : ""} data-seat=${seat}>
    <span class="seat-number" aria-hidden="true">${seat + 1}</span>
    <span class="seat-holder"><b>${name}</b>
      ${person && person.host && html`<span class="tag">host</span>`}
      ${person ? html`<${Presence} person=${person} />` : html`<${Level} level=${table.levels[seat]} />`}</span>
    ${person && !person.here && table.leads && html`<button type="button" class="quiet" onClick=${() => send({ do: "replace", seat, player: table.substitute.name })}>Seat a player instead</button>`}
    ${invitation && html`<${CopyLink} url=${guestLink(table, invitation)} label=${`Link for seat ${seat + 1}`} />`}
  </li>`;
}

/** Whether only this machine can reach the server. */
const isHere = () => /^(localhost|127\.|\[::1\])/.test(location.hostname);

/** Who is missing, as a sentence. */
function waitText(table) {
  const free = table.people.filter((person) => person.invited && person.sits).length;
  const nameless = table.people.filter((person) => !person.invited && !person.name && person.seat !== table.yours).length;
  const own = table.people.find((person) => person.seat === table.yours);
  if (own && !own.name) return "Enter your name to join. The deal starts when everybody is here.";
  const missing = [free && count(free, "guest"), nameless && `${count(nameless, "name")}`].filter(Boolean);
  return `${joinWords(missing)} ${free + nameless === 1 ? "is" : "are"} missing. The deal starts when everybody is here.`;
}

export function Lobby({ table }) {
  const own = table.people.find((person) => person.seat === table.yours);
  const invites = table.people.some((person) => person.invited && table.invitations[person.seat]);
  const watchers = table.watching - (table.yours === null ? 1 : 0);
  return html`<main class="lobby" id="lobby">
    <${Elsewhere} table=${table} />
    ${store.notice && html`<p id="notice" class="notice" role="alert">${store.notice}</p>`}
    <section class="part" aria-labelledby="lobby-title">
      <h2 id="lobby-title">Waiting for players</h2>
      <p id="lobby-status" role="status">${table.lost ? "Connection lost; trying again." : waitText(table)}</p>
      ${own && !own.name && html`<${NameForm} sits=${true} />`}
      ${invites && html`<p class="faint">Send each guest their own link; each works once.${isHere() && " These links only work on this machine. For guests elsewhere, start the server with --host and an address of this machine."}</p>`}
      <ol class="seats">${table.names.map((_, seat) => html`<${Seat} key=${seat} table=${table} seat=${seat} />`)}</ol>
      ${table.leads && own && own.name && html`<div class="actions">
        <button type="button" id="begin" class="primary" onClick=${() => send({ do: "begin" })}>Start without them</button>
        <span class="faint">Players (${table.substitute.level}) take the free seats. Late guests can still have theirs.</span></div>`}
    </section>
    <section class="part" aria-labelledby="watch-title">
      <h2 id="watch-title">Spectators</h2>
      <p>${table.yours === null ? "You watch" : "This link shows no hands"}${watchers > 0 ? html`; <b>${watchers}</b> ${table.yours === null ? (watchers === 1 ? "other does" : "others do") : watchers === 1 ? "watches" : "watch"}` : ""}.</p>
      <${CopyLink} url=${watchLink(table)} label="Link to watch" />
    </section>
    <details class="part"><summary>Rules</summary>${table.rules.map((line) => html`<p>${line}</p>`)}</details>
  </main>`;
}
