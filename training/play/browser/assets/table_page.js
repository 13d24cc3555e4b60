/* The page of a table: top bar, table and side panel. */

import { backToAnalysis } from "./connection.js";
import { dayText, dealText, toGames, TopBar, Waiting } from "./head.js";
import { Late, Lobby } from "./lobby.js";
import { MomentPage } from "./moment.js";
import { Panel } from "./panel.js";
import { html, store, update } from "./store.js";
import { Board } from "./table.js";
import { count } from "./words.js";

export function TablePage() {
  const { table, notice } = store;
  if (table.wanted && table.past) return html`<${MomentPage} />`;
  if (!table.view || (table.wanted && !notice)) return html`<${Waiting} text="Opening the table" />`;
  if (table.waits) return html`<div><${TopBar} title=${table.view.title} facts=${count(table.names.length, "seat")} back=${toGames} /><${Lobby} table=${table} /></div>`;
  return html`<div class="table-page">
    <${TopBar} title=${table.view.title} facts=${table.trial ? `Second try of deal ${table.view.deal} · it does not count` : table.day ? dayText(table) : dealText(table.view)} back=${table.trial ? backToAnalysis : toGames} to=${table.trial ? "Analysis" : "Games"} />
    <main class="play-area" id="play-panel">
      <div class="board">
        <${Board} table=${table}>
        ${notice && html`<p id="notice" class="notice" role="alert">${notice} <button type="button" class="link" onClick=${() => update({ notice: "" })}>OK</button></p>`}
        <${Late} table=${table} /></${Board}>
      </div>
      <${Panel} table=${table} />
    </main>
  </div>`;
}
