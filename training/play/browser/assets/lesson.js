/* A first lesson: prepared deals, decision by decision. The server sends all views; the learner follows them. */

import { request, trickName } from "./connection.js";
import { toGames, TopBar } from "./head.js";
import { Icon } from "./icons.js";
import { playUsual } from "./start.js";
import { html, loadText, saveText, store, update, updateTable } from "./store.js";
import { Board } from "./table.js";

const LEARNER = 0;
const PAUSE = 450; // milliseconds between decisions of the others
const TRICK = 1100; // milliseconds for which a complete trick stays on the table

const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

const wait = (milliseconds) => new Promise((done) => setTimeout(done, isStill() ? 0 : milliseconds));

/** Open the lesson of a game at the last step of this window. */
export async function openLesson(variant) {
  const lesson = await request(`/api/lesson?game=${encodeURIComponent(variant)}`);
  document.title = `A first lesson: ${lesson.title} · Noms`;
  store.takes = take;
  update({ lesson });
  const step = Number(loadText(`noms-lesson-${variant}`)) || 0;
  await go(step < lesson.steps.length ? step : 0);
}

/** The table state around a view. */
function tableOf(step, view, place) {
  const people = [{ seat: LEARNER, name: "You", here: true, sits: true, invited: false }];
  const nobody = step.names.map(() => null);
  return { name: "lesson", lesson: true, key: "", invitations: {}, others: [], undo: null, waits: false, names: step.names, levels: nobody, people, yours: LEARNER, view, turn: view.turn, scored: view.phase === null, over: false, sheet: [], players: [], speed: 0, failed: null, hints: null, hint: null, back: false, why: "", swept: trickName(view), lost: false, elsewhere: "", rules: [], asks: "", moment: `${place}.${view.tricks.length}.${view.trick.length}.${view.phase}.${view.turn}` };
}

/** Show a step: first the others' decisions, then its text. */
async function go(number) {
  const { lesson } = store;
  const step = lesson.steps[number];
  const run = Symbol(number);
  saveText(`noms-lesson-${lesson.variant}`, String(number));
  update({ page: "lesson", run, step: number, ready: false, wrong: "", misses: 0 });
  const fresh = !store.table || lesson.steps[number - 1]?.deal !== step.deal;
  for (const [place, view] of (fresh ? step.views.slice(-1) : step.views).entries()) {
    const before = store.table;
    const table = tableOf(step, view, `${number}.${place}`);
    const ends = !fresh && before.view && trickName(before.view) !== trickName(view) && view.tricks.length;
    if (ends) table.swept = trickName(before.view);
    update({ table });
    const speed = step.views.length > 12 ? 0.4 : 1; // fast-forward to the end of a deal
    await wait(ends ? TRICK * speed : place < step.views.length - 1 ? PAUSE * speed : 0);
    if (store.run !== run) return;
    if (ends) updateTable({ swept: trickName(view) });
  }
  update({ ready: true });
  document.getElementById("lesson-next")?.focus({ preventScroll: true });
}

/** Handle an action of the learner. */
function take(word) {
  const step = store.lesson.steps[store.step];
  if (!store.ready) return;
  if (word === step.wants) {
    go(store.step + 1);
    return;
  }
  const misses = store.misses + 1;
  const said = step.wants === null ? "Read on first: press Next." : `${step.otherwise || "That is legal, but the lesson takes another way."} ${misses > 1 ? `Choose: ${step.said}.` : ""}`;
  const option = { word: step.wants, said: step.said };
  update({ wrong: said, misses });
  if (misses > 1 && step.wants !== null) updateTable({ hint: { name: "", options: [option], taken: step.wants, moment: store.table.moment } });
}

/** A paragraph with its last sentence, the instruction, in bold. */
function stressed(part) {
  const before = Math.max(...[". ", "? "].map((sign) => part.lastIndexOf(sign)));
  const end = before < 0 ? 0 : before + 2;
  return html`${part.slice(0, end)}<b>${part.slice(end)}</b>`;
}

function Text() {
  const { lesson, step: number, ready, wrong } = store;
  const step = lesson.steps[number];
  const last = number === lesson.steps.length - 1;
  const next = step.wants === null;
  const parts = step.text.split("\n\n");
  return html`<section class="lesson-card" aria-label="Lesson">
    <progress max=${lesson.steps.length} value=${number + 1} aria-label="Progress"></progress>
    <div class="lesson-text" aria-live="polite">
      ${!ready ? html`<p class="faint">${next ? "The deal continues." : "The others play."}</p>` : html`
      ${parts.map((part, place) => html`<p>${!next && place === parts.length - 1 ? stressed(part) : part}</p>`)}
      ${wrong ? html`<p class="bad" id="lesson-wrong" ref=${(element) => element?.scrollIntoView({ block: "nearest" })}>${wrong}</p>` : step.rules.map((rule) => html`<blockquote><span class="label">Rule</span> ${rule}</blockquote>`)}`}
    </div>
    <div class="row">
      ${number > 0 && html`<button type="button" id="lesson-back" class="quiet" onClick=${() => go(number - 1)}>Back</button>`}
      ${next && !last && html`<button type="button" id="lesson-next" class="primary" disabled=${!ready} onClick=${() => go(number + 1)}>Next</button>`}
      ${last && html`<button type="button" id="lesson-play" class="primary" disabled=${store.busy !== ""} onClick=${() => playUsual(lesson.variant, "easy").catch((error) => update({ wrong: error.message }))}>Play a match</button>
        <button type="button" class="quiet" onClick=${() => go(0)}>Start again</button>`}
      ${!next && ready && html`<span class="faint"><${Icon} name="cards" /> Your turn at the table</span>`}
    </div>
  </section>`;
}

export function LessonPage() {
  const { lesson, step, table } = store;
  return html`<div class="table-page lesson-page">
    <${TopBar} title=${lesson.title} facts=${`A first lesson, step ${step + 1} of ${lesson.steps.length}`} back=${toGames} />
    <main class="play-area" id="play-panel">
      <${Text} />
      <div class="board"><${Board} table=${table} /></div>
    </main>
  </div>`;
}
