/* The gallery of every component in every state; #NAME shows one state as a page. */

import { AnalysisPage, Sign } from "./analysis.js";
import { request, trickName } from "./connection.js";
import { DECKS } from "./decks.js";
import { TopBar } from "./head.js";
import { Level } from "./icons.js";
import { layout } from "./layout.js";
import { Lobby } from "./lobby.js";
import { stillTable } from "./moment.js";
import { html, start, store, update } from "./store.js";
import { Laid } from "./table.js";
import { TablePage } from "./table_page.js";
import { GRADES } from "./words.js";

const SIZE = { width: 720, height: 560 };
const tableOf = (table) => ({ name: "gallery", key: "", invitations: {}, hint: null, why: "", swept: table.view.phase === null ? trickName(table.view) : "", lost: false, elsewhere: "", rules: ["The rules."], asks: "", ...table });

/** Show a state by name, or all with ""; `hinted` adds a hint for its legal actions. */
export function show(name, hinted = false) {
  const state = store.states.find((state) => state.name === name);
  if (!state) return update({ page: "gallery", table: null });
  const table = tableOf(state.table);
  const words = [...table.view.legal, ...table.view.choices.map((choice) => choice.word)];
  const options = words.map((word, number) => ({ word, said: word, p: number ? 0.1 : 0.62 }));
  return update({ page: "table", table: { ...table, hint: hinted && words.length ? { name: "strong", options, taken: words[0], moment: table.moment } : null } });
}

/** Show the analysis of a state in which the viewer is to act, with decisions of several grades. */
function analyse(name) {
  const { view, names } = store.states.find((state) => state.name === name).table;
  const words = [...view.legal, ...view.choices.map((choice) => choice.word)];
  const judged = { best: words.at(-1), points: 1.25, error: 0.3, expected: -2, worlds: 100, grade: "blunder", text: "Something else would have brought 1.25 points more on average: more in 71 of 100 layouts, less in 12." };
  const moment = { seat: view.viewer, taken: words[0], said: "what was taken", views: { own: view } };
  const moments = [{ ...moment, judged }, { ...moment, judged: { ...judged, grade: "mistake" } }, { ...moment, judged: { ...judged, grade: "slip", points: 0.2, expected: 1.5 } }, { ...moment, judged: { ...judged, grade: "best", best: words[0], points: 0, expected: 2 } }, { views: { own: {} } }];
  const deal = { title: "Deal 1", names, seat: view.viewer, moments, result: [], scale: 4, worst: 0, final: names.map(() => 3) };
  update({ page: "analysis", table: tableOf(store.states.find((state) => state.name === name).table), film: { deals: [deal], deal: 0, again: true } });
}

const Controls = () => html`<section><h2>Controls</h2><p class="row">
  <button type="button">A button</button> <button type="button" class="primary">The main button</button> <button type="button" disabled>Not now</button>
  <button type="button" class="primary" disabled><span class="spinner"></span> Waiting</button> <button type="button" class="quiet">A quiet one</button>
  <input aria-label="A field" value="A field" /> <label class="check"><input type="checkbox" checked /> A choice</label></p>
  <p class="row">${["easy", "medium", "strong", "pimc:20"].map((level) => html`<${Level} level=${level} /> `)}
  ${["declarer", "partner", "winner", "sniped", "exposed"].map((role) => html`<span class=${`tag ${role}`}>${role}</span> `)}<span class="call">Most</span> <span class="coin">D</span></p>
  <p class="row">${Object.keys(GRADES).map((grade) => html`<${Sign} grade=${grade} /> <span>${GRADES[grade].said}</span> `)}</p>
  <p class="notice">What went wrong.</p><p class="notice waiting"><span class="spinner"></span> What is waited for.</p></section>`;

function Shown({ table }) {
  if (table.waits) return html`<${Lobby} table=${table} />`;
  const drawn = table.past ? stillTable(table) : table;
  return html`<div class="stage" style=${{ width: `${SIZE.width}px`, height: `${SIZE.height}px` }}><${Laid} table=${drawn} lay=${layout(drawn.view, SIZE)} /></div>`;
}

function Gallery() {
  if (store.page === "table") return html`<${TablePage} />`;
  if (store.page === "analysis") return html`<${AnalysisPage} />`;
  return html`<${TopBar} title="Every component in every state" /><main class="gallery"><${Controls} />
    ${(store.states || []).map((state) => html`<section key=${state.name}><h2><a href=${`#${state.name}`}>${state.name}</a></h2>
      <${Shown} table=${tableOf(state.table)} /></section>`)}</main>`;
}

globalThis.noms = store;
globalThis.gallery = { show, analyse };
document.getElementById("symbols").innerHTML = DECKS.map((deck) => deck.symbols).join("");
globalThis.startTheme();
start(Gallery, document.getElementById("app"));
const follow = () => show(decodeURIComponent(location.hash.slice(1)));
addEventListener("hashchange", follow);
request("/api/gallery").then((states) => {
  update({ page: "gallery", states });
  follow();
});
