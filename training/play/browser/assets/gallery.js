/* Every component in every state: all at once, or with #NAME one as the page of a table shows it. */

import { asked } from "./connection.js";
import { DECKS } from "./decks.js";
import { TopBar } from "./head.js";
import { Level } from "./icons.js";
import { layout } from "./layout.js";
import { Lobby } from "./lobby.js";
import { stillTable } from "./moment.js";
import { html, start, store, update } from "./store.js";
import { Laid } from "./table.js";
import { TablePage } from "./table_page.js";
import { trickName } from "./connection.js";

const SIZE = { width: 720, height: 560 };
const told = (table) => ({ name: "gallery", key: "", invitations: {}, hint: null, why: "", swept: table.view.phase === null ? trickName(table.view) : "", lost: false, elsewhere: "", rules: ["The rules."], asks: "", ...table });

/** Show a state by its name; "" for all. `hinted` adds a hint for its legal actions. */
export function show(name, hinted = false) {
  const state = store.states.find((one) => one.name === name);
  if (!state) return update({ page: "gallery", table: null });
  const table = told(state.table);
  const words = [...table.view.legal, ...table.view.choices.map((choice) => choice.word)];
  const options = words.map((word, number) => ({ word, said: word, p: number ? 0.1 : 0.62 }));
  return update({ page: "table", table: { ...table, hint: hinted && words.length ? { name: "strong", options, taken: words[0], moment: table.moment } : null } });
}

const Controls = () => html`<section><h2>Controls</h2><p class="row">
  <button type="button">A button</button> <button type="button" class="primary">The main button</button> <button type="button" disabled>Not now</button>
  <button type="button" class="primary" disabled><span class="spinner"></span> Waiting</button> <button type="button" class="quiet">A quiet one</button>
  <input aria-label="A field" value="A field" /> <label class="check"><input type="checkbox" checked /> A choice</label></p>
  <p class="row">${["easy", "medium", "strong", "pimc:20"].map((level) => html`<${Level} level=${level} /> `)}
  ${["declarer", "partner", "winner", "sniped", "exposed"].map((role) => html`<span class=${`tag ${role}`}>${role}</span> `)}<span class="call">Most</span> <span class="coin">D</span></p>
  <p class="notice">What went wrong.</p><p class="notice waiting"><span class="spinner"></span> What is waited for.</p></section>`;

function Shown({ table }) {
  if (table.waits) return html`<${Lobby} table=${table} />`;
  const drawn = table.past ? stillTable(table) : table;
  return html`<div class="stage" style=${{ width: `${SIZE.width}px`, height: `${SIZE.height}px` }}><${Laid} table=${drawn} lay=${layout(drawn.view, SIZE)} /></div>`;
}

function Gallery() {
  if (store.page === "table") return html`<${TablePage} />`;
  return html`<${TopBar} title="Every component in every state" /><main class="gallery"><${Controls} />
    ${(store.states || []).map((state) => html`<section key=${state.name}><h2><a href=${`#${state.name}`}>${state.name}</a></h2>
      <${Shown} table=${told(state.table)} /></section>`)}</main>`;
}

globalThis.noms = store;
globalThis.gallery = { show };
document.getElementById("symbols").innerHTML = DECKS.map((deck) => deck.symbols).join("");
globalThis.startTheme();
start(Gallery, document.getElementById("app"));
const follow = () => show(decodeURIComponent(location.hash.slice(1)));
addEventListener("hashchange", follow);
asked("/api/gallery").then((states) => {
  update({ page: "gallery", states });
  follow();
});
