/* The state of the page, and its rendering. */

import { h, render } from "./vendor/preact.js";
import htm from "./vendor/htm.js";

export const html = htm.bind(h);

/** State of the page. */
export const store = {
  page: "", // "start", "table", "results", "lesson" or "analysis"
  notice: "", // error message
  busy: "", // the pending request
  ready: true, // the first compilation is complete
  theme: "light",
  sound: false,
  games: null,
  setup: null, // the table being set up
  errors: {}, // error messages of the set-up, by field
  table: null,
  lesson: null,
  takes: null, // handler of actions instead of the server
  results: null, // past games of this browser, on the results page
  size: null, // size of the table in pixels; `top` is covered by the facts above it
  copied: "", // the last copied link
  open: matchMedia("(min-width: 861px)").matches ? ["score", "bids", "tricks"] : ["score"], // open parts of the side panel
};

let draw = () => {};
let waits = false;

/** Change the store; all changes of one task are rendered at once. */
export function update(changes) {
  Object.assign(store, changes);
  if (waits) return;
  waits = true;
  queueMicrotask(() => {
    waits = false;
    draw();
  });
}

/** Change the table in the store. */
export const updateTable = (changes) => update({ table: { ...store.table, ...changes } });

/** Render a page into an element, now and after each change. */
export function start(Page, element) {
  draw = () => render(h(Page), element);
  draw();
}

/** Load a text that was saved for this window or (`lasting`) in this browser; null if there is none. */
export function loadText(name, lasting = false) {
  try {
    return (lasting ? localStorage : sessionStorage).getItem(name);
  } catch (error) {
    return null;
  }
}

/** Save a text for this window or (`lasting`) in this browser, if it has storage. */
export function saveText(name, value, lasting = false) {
  try {
    (lasting ? localStorage : sessionStorage).setItem(name, value);
  } catch (error) {
    /* no storage: the text is lost with the page */
  }
}

/** Load an object that was saved in this browser; null if there is none. */
export function loadObject(name) {
  try {
    return JSON.parse(loadText(name, true) || "null");
  } catch (error) {
    return null;
  }
}
