/* The page of a linked moment of a deal: the table at that moment, and steps to other moments. */

import { link, seek, trickName } from "./connection.js";
import { dealText, toGames, TopBar } from "./head.js";
import { html, store, updateTable } from "./store.js";
import { IconButton } from "./icons.js";
import { CopyLink, momentLink, watchLink } from "./links.js";
import { Bids, Part, Tricks } from "./panel.js";
import { Board } from "./table.js";

/** Go to a moment of this or another deal. */
function go(decision, deal = store.table.past.deal) {
  const { name, past } = store.table;
  const wanted = Math.max(0, Math.min(past.decisions, decision));
  const moment = `${deal}.${wanted}`;
  if (moment === store.table.wanted) return;
  updateTable({ wanted: moment });
  seek();
  history.replaceState(null, "", `#${link(name, { moment })}`);
}

const step = (by) => go(Number(store.table.wanted.split(".")[1]) + by);

/** Handle a key on the page of a moment. */
export function handleMomentKey(event) {
  const jobs = { ArrowLeft: () => step(-1), ArrowRight: () => step(1), Home: () => go(0), End: () => go(Infinity) };
  if (!jobs[event.key] || !store.table.past) return;
  jobs[event.key]();
  event.preventDefault();
}

/** The table state of a moment, without any controls. */
export const stillTable = (table) => ({
  ...table,
  view: table.past.view, moment: table.wanted, yours: null, still: true, waits: false, back: false, undo: null, hint: null, why: "", lost: false,
  swept: table.past.view.phase === null ? trickName(table.past.view) : "",
});

function Steps({ past }) {
  const { decision, decisions } = past;
  return html`<div class="stepper" role="group" aria-label="Decisions of the deal">
    <${IconButton} name="first" label="First decision" disabled=${decision === 0} onClick=${() => go(0)} />
    <${IconButton} name="before" label="One decision back" id="step-back" disabled=${decision === 0} onClick=${() => step(-1)} />
    <input type="range" min="0" max=${decisions} value=${decision} aria-label="Decision" onInput=${(event) => go(Number(event.target.value))} />
    <span class="number">${decision} of ${decisions}</span>
    <${IconButton} name="after" label="One decision forward" id="step-on" disabled=${decision === decisions} onClick=${() => step(1)} />
    <${IconButton} name="last" label="Last decision" disabled=${decision === decisions} onClick=${() => go(Infinity)} />
  </div>`;
}

export function MomentPage() {
  const { table, notice } = store;
  const { past } = table;
  const still = stillTable(table);
  return html`<div class="table-page moment-page">
    <${TopBar} title=${past.view.title} facts=${dealText(past.view)} back=${toGames} />
    <main class="play-area" id="moment">
      <div class="board">
        <${Board} table=${still}>${notice && html`<p id="notice" class="notice" role="alert">${notice}</p>`}</${Board}>
        <${Steps} past=${past} />
      </div>
      <aside class="panel" aria-label="Beside the table">
        <section class="part shared"><h2>A moment of a deal</h2>
          ${past.deals > 1 && html`<p><label>Deal <select id="past-deal" onChange=${(event) => go(0, Number(event.target.value))}>
            ${Array.from({ length: past.deals }, (_, number) => html`<option value=${number + 1} selected=${number + 1 === past.deal}>${number + 1}</option>`)}</select></label></p>`}
          <p>${past.all ? "All hands are shown, since everybody knows them by now." : "You see it as a spectator did: all hands are hidden."}</p>
          <${CopyLink} url=${momentLink(table.name, `${past.deal}.${past.decision}`)} label="Link to this moment" />
          <p><a class="button primary" href=${watchLink(table)}>Watch the table</a></p></section>
        ${past.view.places.some((place) => place.calls.length) && html`<${Part} name="bids" title="Bids"><${Bids} table=${still} /></${Part}>`}
        ${past.view.phase !== "call" && html`<${Part} name="tricks" title="Tricks"><${Tricks} table=${still} /></${Part}>`}
      </aside>
    </main>
  </div>`;
}
