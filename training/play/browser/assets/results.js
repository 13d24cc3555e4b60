/* The results of this browser: statistics by game, and past games to replay. */

import { allGames, exportRecords, forget, forgetAll, statistics } from "./archive.js";
import { link, saveRecords } from "./connection.js";
import { toGames, TopBar } from "./head.js";
import { showRecords } from "./start.js";
import { html, store, update } from "./store.js";
import { comparedText, count, points, pointsWords } from "./words.js";

const KEPT_DAYS = 3; // after this time the server deletes a table
const SHOWN_DEALS = 30; // the server's limit of deals per file

/** Open the page. */
export async function openResults() {
  const games = await allGames();
  const old = Date.now() - KEPT_DAYS * 86400000;
  const empty = games.filter((game) => !game.deals.length && game.began < old);
  await Promise.all(empty.map((game) => forget(game.id)));
  document.title = "Your results · Noms";
  update({ page: "results", results: games.filter((game) => !empty.includes(game)) });
}

const opponents = ({ against }) => (against === "several" ? "several levels" : against);

const mean = (sum, number) => (number ? points(sum / number) : "–");

function Row({ row }) {
  const cell = (name, value, more = "") => html`<td data-name=${name}><b>${value}</b>${more && html` <span class="faint">${more}</span>`}</td>`;
  return html`<tr><th scope="row">${row.title} <span class="faint">against ${opponents(row)}</span></th>
    ${cell("Deals", row.deals)}
    ${cell("Matches", row.matches, row.matches ? `${row.won} won` : "")}
    ${cell("Points per deal", mean(row.points, row.deals), `others ${mean(row.others, row.deals)}`)}
    ${cell("Bids made", row.bids ? `${row.made} of ${row.bids}` : "–", row.bids ? `${Math.round((100 * row.made) / row.bids)} %` : "")}
    ${cell("Loss per decision", mean(row.lost, row.decisions), row.decisions ? `in ${count(row.decisions, "decision")}` : "")}</tr>`;
}

function Statistics({ games }) {
  const rows = statistics(games);
  if (!rows.length) return html`<p>No finished deals yet. <a href="/">Play one</a>, and it counts here.</p>`;
  return html`<table class="statistics"><thead><tr><th scope="col">Game</th><th scope="col">Deals</th><th scope="col">Matches</th><th scope="col">Points per deal</th><th scope="col">Bids made</th><th scope="col">Loss per decision</th></tr></thead>
      <tbody>${rows.map((row) => html`<${Row} key=${row.variant + row.against} row=${row} />`)}</tbody></table>
    <p class="faint">The loss per decision comes from the deals that you analysed; small random errors are part of it. The first score of a deal counts, practice does not.</p>`;
}

const day = (time) => new Date(time).toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" });

/** The result of a game, or its progress. */
export function resultText(game) {
  if (game.compared) return comparedText(game.compared);
  const sum = game.deals.reduce((all, deal) => all + deal.points, 0);
  const total = pointsWords(sum);
  if (game.over) return game.whole ? `${game.won ? "Won" : "Lost"} with ${total}` : `Ended with ${total} after ${count(game.deals.length, "deal")}`;
  if (!game.deals.length) return "Started";
  return `${total} after ${game.of ? `${game.deals.length} of ${count(game.of, "deal")}` : count(game.deals.length, "deal")}`;
}

/** Split the records of a game into pieces of at most SHOWN_DEALS. */
function pieces(game) {
  const lines = game.records.trim().split("\n");
  const starts = Array.from({ length: Math.ceil(lines.length / SHOWN_DEALS) }, (_, piece) => SHOWN_DEALS * piece);
  return starts.map((from) => ({ from, text: lines.slice(from, from + SHOWN_DEALS).join("\n"), to: Math.min(lines.length, from + SHOWN_DEALS) }));
}

async function drop(game) {
  await forget(game.id);
  await openResults();
}

function Game({ game }) {
  const sure = store.setup === game.id; // a second click deletes the game
  const open = !game.over && game.key && Date.now() - game.began < 86400000 * 30;
  return html`<li class="past" data-id=${game.id}>
    <div><b>${game.title}</b> <span class="faint when">${day(game.began)} · against ${opponents(game)}</span>${game.day && html` <span class="tag">Deal of the day</span>`}
      <p>${resultText(game)}</p></div>
    <div class="row">
      ${game.records && pieces(game).map(({ from, to, text }, _, all) => html`<button type="button" class="replay-game" onClick=${() => showRecords(new File([text], "records.jsonl"), (place) => ({ title: `Deal ${from + place + 1}`, names: game.names, seat: game.seat }))}>${all.length > 1 ? `Replay deals ${from + 1} to ${to}` : "Replay"}</button>`)}
      ${open && html`<a class="button go-on" href=${`#${link(game.id, { key: game.key })}`}>Continue</a>`}
      <button type="button" class="quiet" aria-label=${`${sure ? "Really delete?" : "Delete"} ${game.title} of ${day(game.began)}`} onClick=${() => (sure ? drop(game) : update({ setup: game.id }))}>${sure ? "Really delete?" : "Delete"}</button>
    </div>
  </li>`;
}

function DeleteAll() {
  if (store.setup !== "delete") return html`<button type="button" id="delete-all" onClick=${() => update({ setup: "delete" })}>Delete all</button>`;
  return html`<span class="row" role="alert">Delete all results? <button type="button" id="delete-sure" class="primary" onClick=${async () => {
    await forgetAll();
    update({ setup: null });
    await openResults();
  }}>Delete</button> <button type="button" onClick=${() => update({ setup: null })}>Keep</button></span>`;
}

export function ResultsPage() {
  const games = store.results;
  return html`<${TopBar} title="Your results" back=${toGames} />
    <main class="results">
      ${store.notice && html`<p id="notice" class="notice" role="alert">${store.notice}</p>`}
      <section aria-labelledby="by-game"><h2 id="by-game">By game</h2><${Statistics} games=${games} /></section>
      ${games.length > 0 && html`<section aria-labelledby="past-games"><h2 id="past-games">Past games</h2>
        <ul class="past-games">${games.map((game) => html`<${Game} key=${game.id} game=${game} />`)}</ul></section>
      <div class="row"><button type="button" id="export" disabled=${!games.some((game) => game.records)} onClick=${() => saveRecords(exportRecords(games))}>Save all records</button><${DeleteAll} /></div>`}
      <p class="faint">Your results are stored in this browser only. A match has records once it is over.</p>
    </main>`;
}
