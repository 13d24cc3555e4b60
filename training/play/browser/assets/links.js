/* Links to a table for guests and spectators, and to a moment of a deal. Only a guest's link gives a seat, and only once. */

import { link } from "./connection.js";
import { html, store, update } from "./store.js";
import { Icon } from "./icons.js";

const address = (name, more) => `${location.origin}/#${link(name, more)}`;
export const guestLink = (table, invitation) => address(table.name, { invitation });
export const watchLink = (table) => address(table.name, {});
export const momentLink = (name, moment) => address(name, { moment });

/** Copy the text of the field before a button. Without HTTPS there is no clipboard API, only the browser's command. */
async function copy(event) {
  const field = event.currentTarget.previousElementSibling;
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
  } catch (error) {
    if (!document.execCommand("copy")) return; // the text stays selected
  }
  update({ copied: field.value });
  setTimeout(() => store.copied === field.value && update({ copied: "" }), 3000);
}

/** A link with a button that copies it. */
export const CopyLink = ({ url, label }) => html`<div class="copy-link">
  <input readonly value=${url} aria-label=${label} onFocus=${(event) => event.target.select()} />
  <button type="button" aria-label=${`Copy: ${label}`} onClick=${copy}><${Icon} name="copy" /> <span aria-live="polite">${store.copied === url ? "Copied" : "Copy"}</span></button>
</div>`;
