/* Choices other than cards in hand, and the result of a deal, both in the middle of the table. */

import { act, ask, backToAnalysis, saveRecords, send, tryAgain } from "./connection.js";
import { DECKS } from "./decks.js";
import { box } from "./layout.js";
import { html, update } from "./store.js";
import { CardWord, Suit } from "./head.js";
import { comparedText, count, GRADES, headline, nameOf, outcomeText, points, pointsWords, signed, winnersText } from "./words.js";

const TITLES = { call: "How many tricks?", trump: "Name the trump suit", nominate: "Nominate a card" };

/** A choice, with its hint if any. */
function Choice({ table, choice, cls = "", children }) {
  const hint = table.hint && table.hint.options.find((option) => option.word === choice.word);
  const taken = table.hint && table.hint.taken === choice.word;
  const mark = table.marks && table.marks[choice.word];
  return html`<button type="button" class=${`choice ${cls} ${taken ? "hinted" : ""} ${mark ? `marked ${mark.grade}` : ""}`} data-word=${choice.word} aria-label=${choice.said + markText(mark)} disabled=${table.still} onClick=${() => act(choice.word)}>
    ${children}<${Mark} mark=${mark} />${hint && html`<span class="hint-of">${hintText(hint)}</span>`}
  </button>`;
}

/** The sign of an analysis on an action: its grade. */
export function Mark({ mark }) {
  if (!mark) return null;
  return html`<span class=${`mark ${mark.grade}`} aria-hidden="true">${GRADES[mark.grade]?.sign ?? (mark.grade === "better" ? "★" : "")}</span>`;
}

/** The grade in words, for labels. */
export const markText = (mark) => (mark ? `, ${mark.grade === "better" ? "would have been better" : ["taken", GRADES[mark.grade]?.said].filter(Boolean).join(", ")}` : "");

/** The hint of an action: its probability in per cent, or its expected points. */
export function hintText(option) {
  if ("p" in option) return `${Math.round(100 * option.p)} %`;
  return "v" in option ? signed(option.v) : "";
}

/** An action in short: a card, or its words. */
export function Action({ view, word }) {
  if (DECKS[view.deck].cards[word] && view.phase !== "call") return html`<${CardWord} deck=${view.deck} word=${word} />`;
  return html`<span>${view.choices.find((choice) => choice.word === word)?.said ?? word}</span>`;
}

/** Actions with bars: probabilities, or expected points with their standard error. */
export function Options({ options, taken, view, id }) {
  const values = options.filter((option) => "v" in option).map((option) => option.v);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return html`<ul id=${id} class="options">${options.map((option) => {
    const share = "v" in option ? (high > low ? (option.v - low) / (high - low) : 1) : option.p ?? 1;
    return html`<li class=${option.word === taken ? "taken" : ""}><${Action} view=${view} word=${option.word} /><div class="track"><div class="fill" style=${{ width: `${100 * Math.max(0, Math.min(1, share))}%` }}></div></div>
      <span class="number" title=${option.e ? `give or take ${option.e.toFixed(2)}` : ""}>${hintText(option)}</span></li>`;
  })}</ul>`;
}

function Word({ view, choice }) {
  if (view.phase !== "call" && DECKS[view.deck].suits[choice.word]) {
    return html`<${Suit} deck=${view.deck} letter=${choice.word} label=${false} /><span>${choice.said}</span>`;
  }
  return html`<span>${choice.said}</span>`;
}

/** The cards to nominate, one row per suit; the viewer's own are marked. */
function Nominations({ table, grid }) {
  const { view } = table;
  const own = new Set(view.places[view.viewer]?.hand || []);
  const rows = new Map();
  for (const letter of Object.keys(DECKS[view.deck].suits)) rows.set(letter, []);
  rows.set("", []);
  const ranks = [...Object.keys(DECKS[view.deck].cards)].map((word) => word[0]);
  for (const choice of view.choices) rows.get(choice.word.slice(1)).push(choice);
  return [...rows.entries()].filter(([, row]) => row.length).map(([letter, row]) => html`<div class="nomination-row">
    ${row.sort((a, b) => ranks.indexOf(a.word[0]) - ranks.indexOf(b.word[0])).map((choice) => html`<${Choice} key=${choice.word} table=${table} choice=${choice} cls=${`card-choice ${own.has(choice.word) ? "own" : ""}`}>
      ${letter ? html`<${CardWord} deck=${view.deck} word=${choice.word} />` : html`<b>${DECKS[view.deck].cards[`${choice.word}C`].rank}</b>`}
    </${Choice}>`)}
  </div>`);
}

/** The choices of a call, a trump or a nomination: for each phase a new element, so that none moves. */
export function Choices({ table, lay }) {
  const { view } = table;
  const { centre, choices } = lay;
  const style = { ...box(centre), "--columns": choices.columns, "--cell-width": `${choices.width}px`, "--cell-height": `${choices.height}px` };
  const nominates = view.phase === "nominate";
  return html`<div class="middle" style=${style}>
    <div key=${view.phase} class=${`choices ${nominates ? "nominations" : ""}`} role="group" aria-label=${TITLES[view.phase]}>
      <p class="choices-title">${nominates ? html`Nominate a card: its holder is your partner.${" "}<span class="own-legend">Yours</span>` : TITLES[view.phase]}</p>
      ${nominates
        ? html`<${Nominations} table=${table} />`
        : html`<div class="choice-grid">${view.choices.map((choice) => html`<${Choice} key=${choice.word} table=${table} choice=${choice} cls=${/^\d+$/.test(choice.word) || DECKS[view.deck].suits[choice.word] ? "" : "word-choice"}><${Word} view=${view} choice=${choice} /></${Choice}>`)}</div>`}
    </div>
  </div>`;
}

/** Choices next to the hand: the suit of a lead, or to indicate. */
export function RowChoices({ table, lay }) {
  const { view } = table;
  return html`<div class="row-choices" role="group" aria-label="Choices" style=${box(lay.row)}>
    ${view.choices.map((choice) => html`<${Choice} key=${choice.word} table=${table} choice=${choice}><${Word} view=${view} choice=${choice} /></${Choice}>`)}
  </div>`;
}

function OutcomeRow({ table, place }) {
  const { view } = table;
  const outcome = view.results.find(({ seats }) => seats.includes(place.seat));
  const roles = ["declarer", "partner", "sniped", "winner"].filter((mark) => place.marks.includes(mark));
  const of = outcome && outcome.seats.length > 1 ? count(place.tricks, "trick") : outcome ? outcomeText(outcome).replace(/, (made|failed)$/, "") : "";
  return html`<tr class=${place.seat === table.yours ? "mine" : ""}>
    <th scope="row">${nameOf(table, place.seat)}${roles.map((role) => html` <span class=${`tag ${role}`}>${role}</span>`)}</th>
    <td class="of">${of}${outcome && outcome.made !== null && outcome.seats.length === 1 ? html` <span class=${outcome.made ? "good" : "bad"}>${outcome.made ? "made" : "failed"}</span>` : ""}</td>
    <td class="number">${place.points === null ? "" : signed(place.points)}</td>
    <td class="number total">${points(place.total)}</td>
  </tr>`;
}

/** The points of a second try compared with the first. */
function Compared({ table }) {
  const { view, yours, trial } = table;
  if (!trial || yours === null) return null;
  const [before, now] = [trial.first, view].map(({ places }) => places[yours].points ?? 0);
  const more = now - before;
  const said = more === 0 ? "The same points as the first time" : `${pointsWords(Math.abs(more))} ${more > 0 ? "more" : "fewer"} than the first time`;
  return html`<p class="compared"><b class=${more > 0 ? "good" : more < 0 ? "bad" : ""}>${said}</b> <span class="faint">(${headline({ ...table, view: trial.first })}; ${signed(before)})</span></p>`;
}

/** The result of a deal, and the next actions. */
export function Result({ table, lay }) {
  const { view } = table;
  const leads = table.yours !== null || !table.people.length;
  const own = view.results.find((outcome) => outcome.seats.includes(table.yours)) || (view.declarer !== null && view.results[0]);
  const waits = table.asks;
  return html`<div class="middle" style=${box(lay.result)}>
    <section class=${`result ${own && own.made === false ? "lost" : ""}`} aria-label="Result of the deal">
      <h2 id="result-headline">${headline(table)}</h2>
      ${table.day && !table.trial ? html`<p class="winners" id="compared" role="status">${table.compared ? comparedText(table.compared) : html`<span class="spinner"></span> The strong player is playing the same cards`}</p>` : view.over && html`<p class="winners">${winnersText(table)}</p>`}
      <table><thead><tr><th scope="col">Player</th><th scope="col">Tricks</th><th scope="col" class="number">Deal</th><th scope="col" class="number">Total</th></tr></thead>
        <tbody>${view.places.map((place) => html`<${OutcomeRow} table=${table} place=${place} />`)}</tbody></table>
      ${view.stock.length > 0 && html`<p class="stock"><span class="label">Undealt</span> ${view.stock.map((word) => html`<${CardWord} deck=${view.deck} word=${word} /> `)}</p>`}
      <${Compared} table=${table} />
      ${table.trial && !table.still && html`<div class="actions">
        <button type="button" id="back-to-analysis" class="primary" onClick=${backToAnalysis}>Back to the analysis</button>
        <button type="button" id="once-more" onClick=${() => tryAgain(table.name, table.trial.moment).catch((error) => update({ notice: error.message }))}>Once more</button>
        ${table.yours !== null && html`<button type="button" id="judge" disabled=${waits !== ""} onClick=${() => ask("judge", { do: "film", deal: view.deal, analyse: true })}>${waits === "judge" && html`<span class="spinner"></span> `}Analyse</button>`}
      </div>`}
      ${!table.trial && !table.still && html`<div class="actions" hidden=${table.lesson}>
        ${!table.over && leads && html`<button type="button" id="deal-next" class="primary" onClick=${() => send({ do: "next" })}>Next deal</button>`}
        ${!table.over && table.yours !== null && table.people.length === 1 && html`<button type="button" id="end-match" onClick=${() => send({ do: "end" })}>End the match</button>`}
        ${table.over && leads && html`<a id="again" class="button primary" href="/">Another game</a>`}
        ${table.yours !== null && html`
          <button type="button" id="judge" disabled=${waits !== ""} onClick=${() => ask("judge", { do: "film", deal: view.deal, analyse: true })}>${waits === "judge" ? html`<span class="spinner"></span> Looking for mistakes` : "Analyse"}</button>
          <button type="button" id="watch" disabled=${waits !== ""} onClick=${() => ask("watch", { do: "film", deal: view.deal, analyse: false })}>Replay</button>`}
        ${table.over && html`<button type="button" id="records" onClick=${() => (table.records ? saveRecords(table.records) : ask("records", { do: "records" }))}>Save records</button>`}
      </div>`}
    </section>
  </div>`;
}
