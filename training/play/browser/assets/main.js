/* Entry point of the page: start, table, lesson, results and analysis. */

import { AnalysisPage, pressedInAnalysis, wentBack } from "./analysis.js";
import { openTable } from "./connection.js";
import { DECKS } from "./decks.js";
import { startSound } from "./sound.js";
import { LessonPage, openLesson } from "./lesson.js";
import { momentPressed } from "./moment.js";
import { openResults, ResultsPage } from "./results.js";
import { openStart, showRecords, StartPage } from "./start.js";
import { html, start, store, update } from "./store.js";
import { pressed } from "./table.js";
import { TablePage } from "./table_page.js";

function Page() {
  if (store.page === "analysis") return html`<${AnalysisPage} />`;
  if (store.page === "table") return html`<${TablePage} />`;
  if (store.page === "lesson") return html`<${LessonPage} />`;
  if (store.results) return html`<${ResultsPage} />`;
  if (store.games) return html`<${StartPage} />`;
  return html`<main class="waits"><h1 class="unseen">Noms</h1>${store.notice ? html`<p id="notice" class="notice" role="alert">${store.notice}</p><p><a href="/">All games</a></p>` : html`<p role="status"><span class="spinner"></span></p>`}</main>`;
}

globalThis.noms = store;
document.getElementById("symbols").innerHTML = DECKS.map((deck) => deck.symbols).join("");
globalThis.startTheme();
startSound();
update({ theme: document.documentElement.dataset.theme });
start(Page, document.getElementById("app"));
const KEYS = { table: (event) => (store.table.wanted ? momentPressed : pressed)(event), lesson: pressed, analysis: pressedInAnalysis };
document.addEventListener("keydown", (event) => KEYS[store.page]?.(event));
addEventListener("click", (event) => { // ignore double clicks, which would hit the next choice
  if (event.detail > 1 && event.target.closest?.("[data-word]")) event.stopPropagation();
}, true);
addEventListener("popstate", wentBack);
addEventListener("hashchange", () => location.reload());
addEventListener("dragover", (event) => event.preventDefault());
addEventListener("drop", (event) => {
  event.preventDefault();
  if (event.dataTransfer.files.length && store.page === "start") showRecords(event.dataTransfer.files[0]);
});

const address = new URLSearchParams(location.hash.slice(1));
const lesson = address.get("lesson");
(address.get("table") ? openTable() : lesson ? openLesson(lesson) : address.get("page") === "results" ? openResults() : openStart()).catch((error) => update({ notice: error.message }));
