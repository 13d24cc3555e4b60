/* Icons, drawn as lines in the colour of the text. */

import { html } from "./store.js";

const PATHS = {
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8ZM12 2v2.5M12 19.5V22M2 12h2.5M19.5 12H22M4.9 4.9l1.8 1.8M17.3 17.3l1.8 1.8M4.9 19.1l1.8-1.8M17.3 6.7l1.8-1.8",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5Z",
  loud: "M4 9.5v5h3.5L12 18.5v-13L7.5 9.5H4ZM15.5 9a4 4 0 0 1 0 6M18 6.5a8 8 0 0 1 0 11",
  mute: "M4 9.5v5h3.5L12 18.5v-13L7.5 9.5H4ZM16 9.5l5 5M21 9.5l-5 5",
  cards: "M4 5.5h9v13H4ZM13 8l6.5 1.8-3 10.5-5-1.4",
  bulb: "M9 17.5h6M10 20.5h4M12 3a6 6 0 0 0-3.5 10.9c.6.5.9 1.2.9 2h5.2c0-.8.3-1.5.9-2A6 6 0 0 0 12 3Z",
  undo: "M8.5 5 4 9.5 8.5 14M4.5 9.5H14a5.5 5.5 0 0 1 0 11h-3",
  first: "M18 5.5 9.5 12l8.5 6.5ZM6.5 5.5v13",
  before: "M16 5.5 7.5 12l8.5 6.5Z",
  after: "M8 5.5 16.5 12 8 18.5Z",
  last: "M6 5.5 14.5 12 6 18.5ZM17.5 5.5v13",
  back: "M14.5 5 7.5 12l7 7",
  check: "M4.5 12.5l5 5 10-11",
  copy: "M8.5 8.5h11v11h-11ZM15.5 8.5v-4h-11v11h4",
  keys: "M3 6.5h18v11H3ZM6.5 10h1M10 10h1M13.5 10h1M17 10h1M8 14h8",
  dots: "M6 12h.01M12 12h.01M18 12h.01",
  close: "M6 6l12 12M18 6 6 18",
  left: "M20 12H4M10 6l-6 6 6 6",
  right: "M4 12h16M14 6l6 6-6 6",
  up: "M12 20V4M6 10l6-6 6 6",
  down: "M12 4v16M6 14l6 6 6-6",
};

export const Icon = ({ name }) =>
  html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${PATHS[name]} /></svg>`;

/** An arrow key, drawn, since few fonts have its sign. */
export const ArrowKey = ({ to }) => html`<kbd role="img" aria-label=${`${to} arrow`}><${Icon} name=${to} /></kbd>`;

/** A button with an icon only; its label is read out, and shown as a tooltip. */
export const IconButton = ({ name, label, ...more }) =>
  html`<button type="button" class="icon-button" aria-label=${label} title=${label} ...${more}><${Icon} name=${name} /></button>`;

/** The level of a player as one to three full bars; other names as text. */
export function Level({ level }) {
  const height = ["easy", "medium", "strong"].indexOf(level) + 1;
  if (!height) return html`<span class="level">${level}</span>`;
  const bars = [1, 2, 3].map((bar) => html`<rect x=${5 * bar - 5} y=${12 - 4 * bar} width="4" height=${4 * bar} rx="1" class=${bar <= height ? "full" : ""} />`);
  return html`<span class="level"><svg viewBox="0 0 14 12" role="img" aria-label=${level}>${bars}</svg><span class="wide" aria-hidden="true">${level}</span></span>`;
}
