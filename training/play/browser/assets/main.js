/* Entry point of the page: start, table, lesson, results and analysis. */

import { AnalysisPage, handleAnalysisKey, handleBack } from "./analysis.js";
import { openTable } from "./connection.js";
import { DECKS } from "./decks.js";
import { Waiting } from "./head.js";
import { startSound } from "./sound.js";
import { LessonPage, openLesson } from "./lesson.js";
import { handleMomentKey } from "./moment.js";
import { openResults, ResultsPage } from "./results.js";
import { openStart, showRecords, StartPage } from "./start.js";
import { html, start, store, update } from "./store.js";
import { handleKey } from "./table.js";
import { TablePage } from "./table_page.js";

function Page() {
  if (store.page === "analysis") return html`<${AnalysisPage} />`;
  if (store.page === "table") return html`<${TablePage} />`;
  if (store.page === "lesson") return html`<${LessonPage} />`;
  if (store.results) return html`<${ResultsPage} />`;
  if (store.games) return html`<${StartPage} />`;
  return html`<${Waiting} />`;
}

globalThis.noms = store;
document.getElementById("symbols").innerHTML = DECKS.map((deck) => deck.symbols).join("");
globalThis.startTheme();
startSound();
update({ theme: document.documentElement.dataset.theme });
start(Page, document.getElementById("app"));
const KEYS = { table: (event) => (store.table.wanted ? handleMomentKey : handleKey)(event), lesson: handleKey, analysis: handleAnalysisKey };
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  KEYS[store.page]?.(event);
});
addEventListener("click", (event) => { // ignore double clicks, which would hit the next choice
  if (event.detail > 1 && event.target.closest?.("[data-word]")) event.stopPropagation();
}, true);
addEventListener("popstate", handleBack);
addEventListener("hashchange", () => location.reload());
addEventListener("dragover", (event) => event.preventDefault());
addEventListener("drop", (event) => {
  event.preventDefault();
  if (event.dataTransfer.files.length && store.page === "start") showRecords(event.dataTransfer.files[0]);
});

const address = new URLSearchParams(location.hash.slice(1));
const lesson = address.get("lesson");
(address.get("table") ? openTable() : lesson ? openLesson(lesson) : address.get("page") === "results" ? openResults() : openStart()).catch((error) => update({ notice: error.message }));
