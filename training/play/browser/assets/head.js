/* The top bar of every page, and the facts of the deal above the table. */

import { DECKS } from "./decks.js";
import { html, store, update } from "./store.js";
import { Icon, IconButton } from "./icons.js";
import { toggleSound } from "./sound.js";
import { count, nameOf, roleText, sideText } from "./words.js";

function toggleTheme() {
  const theme = store.theme === "dark" ? "light" : "dark";
  globalThis.setTheme(theme);
  update({ theme });
}

export const toGames = () => (location.hash = "");

/** The top bar: link back, title, and switches. */
export function TopBar({ title, facts = "", back = null, to = "Games", children }) {
  const dark = store.theme === "dark";
  const leave = (event) => {
    event.preventDefault();
    back();
  };
  return html`<header class="top">
    ${back && html`<a class="way-back" href="/" aria-label=${to} onClick=${leave}><${Icon} name="back" /><span>${to}</span></a>`}
    <div class="title"><h1>${title}</h1>${facts && html`<p class="facts">${facts}</p>`}</div>
    <div class="switches">
      ${children}
      <${IconButton} name=${store.sound ? "loud" : "mute"} label=${store.sound ? "Sounds are on" : "Sounds are off"} aria-pressed=${store.sound} onClick=${toggleSound} />
      <${IconButton} id="theme" name=${dark ? "sun" : "moon"} label=${dark ? "Light colours" : "Dark colours"} onClick=${toggleTheme} />
    </div>
  </header>`;
}

/** An empty page that waits, or shows what went wrong. */
export const Waiting = ({ text = "" }) => html`<main class="waits"><h1 class="unseen">Noms</h1>${store.notice ? html`<p id="notice" class="notice" role="alert">${store.notice}</p><p><a href="/">All games</a></p>` : html`<p role="status"><span class="spinner"></span> ${text}</p>`}</main>`;

/** The mark of a suit. */
export function Suit({ deck, letter, label = true }) {
  const suit = DECKS[deck].suits[letter];
  if (!suit) return null;
  return html`<svg class="suit" viewBox="0 0 100 100" role=${label ? "img" : null} aria-label=${label ? suit.name : null} aria-hidden=${label ? null : "true"}>
    <use href=${`#noms-${suit.mark}`} />
  </svg>`;
}

/** A card in a line of text: rank and suits. */
export function CardWord({ deck, word }) {
  const card = DECKS[deck].cards[word];
  return html`<span class="card-word" role="img" aria-label=${card.title}><b>${card.rank}</b>${card.suits.map((letter) => html`<${Suit} deck=${deck} letter=${letter} label=${false} />`)}</span>`;
}

function Trump({ view }) {
  const { deck, trump, candidates, broken } = view;
  const suits = DECKS[deck].suits;
  let said = "not named yet";
  if (trump === "NT") said = "No trump";
  else if (trump) said = html`<${Suit} deck=${deck} letter=${trump} /> <b>${suits[trump].name}</b>`;
  else if (candidates.length) said = candidates.map((letter, place) => html`${place ? " or " : ""}<${Suit} deck=${deck} letter=${letter} /> <b>${suits[letter].name}</b>`);
  else if (view.trump_unsaid) said = "the suit of the first lead";
  return html`<div class=${`fact trump ${trump || candidates.length ? "" : "labelled"}`}>
    ${view.turn_up && html`<span class="faint">turned up <${CardWord} deck=${deck} word=${view.turn_up} /></span>`}
    <span><span class="label">Trump</span> ${said}</span>
    ${broken === false && html`<span class="faint">not to be led yet</span>`}
  </div>`;
}

function Contract({ table }) {
  const { view } = table;
  if (view.declarer === null) {
    const called = view.places.filter((place) => place.called !== null);
    if (!called.length) return null;
    const sum = called.reduce((all, place) => all + place.called, 0);
    return html`<div class="fact contract"><span class="label">Called</span> <span><b>${sum}</b> of ${count(view.size, "trick")}${
      called.length < view.places.length ? "" : sum > view.size ? `, ${sum - view.size} too many` : sum < view.size ? `, ${view.size - sum} too few` : ""
    }</span></div>`;
  }
  const role = roleText(table);
  return html`<div class="fact contract"><span class="label">${view.side ? "Contract" : "High bid"}</span> <span><b>${sideText(table)}</b></span>
      ${role && html`<span class="faint">${role}</span>`}
    </div>
    ${(view.nominated || view.nominated_rank) && html`<div class="fact nominated"><span class="label">Nominated</span>
      ${view.nominated ? html`<${CardWord} deck=${view.deck} word=${view.nominated} />` : html`<b>${view.nominated_rank} of trumps</b>`}
      ${view.refused.length > 0 && html`<span class="faint">refused ${view.refused.map((word) => html`<${CardWord} deck=${view.deck} word=${word} /> `)}</span>`}
    </div>`}`;
}

/** The facts of the deal: trump, contract, and trick number. */
export function Facts({ table }) {
  const { view } = table;
  const led = view.led && view.deck === 1 ? view.led : null;
  return html`<div class=${`facts-strip ${view.deck === 1 ? "decktet" : ""}`}>
    <${Trump} view=${view} />
    <${Contract} table=${table} />
    ${view.excuse_shown_by !== null && html`<div class="fact contract labelled"><span class="label">Excuse</span> <span>${nameOf(table, view.excuse_shown_by)}</span></div>`}
    ${["play", "suit"].includes(view.phase) && html`<div class="fact trick-number">${led && html`<span class="faint">led <${Suit} deck=${view.deck} letter=${led} /></span>`}
      <span><span class="label">Trick</span> ${Math.min(view.tricks.length + 1, view.size)} of ${view.size}</span></div>`}
  </div>`;
}

/** A date in words. */
export const dateText = (day) => new Date(`${day}T12:00`).toLocaleDateString("en-GB", { day: "numeric", month: "long" });

/** The deal of the day in a few words. */
export const dayText = (table) => `Deal of the day, ${dateText(table.day)}${table.practice ? ", for practice" : ""}`;

/** The deal in a few words, for the top bar. */
export function dealText(view) {
  const facts = [`Deal ${view.deal}${view.deals ? ` of ${view.deals}` : ""}`];
  if (view.target !== null) facts.push(`to ${view.target} points`);
  if (view.multiplier > 1) facts.push(`points ×${view.multiplier}`);
  return facts.join(" · ");
}
