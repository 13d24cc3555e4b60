/* The undo request in the viewer's bar: who asks, who has yet to agree, and the answers. */

import { send } from "./connection.js";
import { html } from "./store.js";
import { Icon } from "./icons.js";
import { count, joinWords, nameOf } from "./words.js";

/** The request as a sentence. */
export function undoText(table) {
  const { seat, later, missing } = table.undo;
  const asks = `${nameOf(table, seat)} ${seat === table.yours ? "ask" : "asks"} to take back a decision${later ? ` and ${count(later, "later one")}` : ""}`;
  return missing.includes(table.yours) ? asks : `${asks}; ${joinWords(missing.map((other) => table.people.find((person) => person.seat === other).name))} ${missing.length > 1 ? "have" : "has"} to agree`;
}

/** The buttons to answer the request. */
export function UndoAnswers({ table }) {
  const { seat, missing } = table.undo;
  const answer = (agrees) => () => send({ do: "answer", seat, moment: table.moment, agrees });
  return html`
    ${missing.includes(table.yours) && html`<button type="button" id="agree" class="tool primary" title="Agree" onClick=${answer(true)}><${Icon} name="check" /><span>Agree</span></button>
      <button type="button" id="refuse" class="tool" title="Do not agree" onClick=${answer(false)}><${Icon} name="close" /><span>No</span></button>`}
    ${seat === table.yours && html`<button type="button" id="withdraw" class="tool" title="Withdraw" onClick=${answer(false)}><${Icon} name="close" /><span>Withdraw</span></button>`}`;
}
