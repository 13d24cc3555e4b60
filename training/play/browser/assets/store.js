/* The one store of the page, and how a change of it is drawn. */

import { h, render } from "./vendor/preact.js";
import htm from "./vendor/htm.js";

export const html = htm.bind(h);

/**
 * What the page shows.
 * @type {{page: string, notice: string, busy: string, ready: boolean, theme: string, sound: boolean, games: object[]|null,
 *   setup: object|null, errors: object, table: object|null, size: {width: number, height: number, top: number}|null, open: string[]}}
 */
export const store = {
  page: "", // "start", "table", "results", "lesson" or "analysis"
  notice: "", // what went wrong
  busy: "", // what is waited for
  ready: true, // nothing is compiled for the first use
  theme: "light",
  sound: false,
  games: null,
  setup: null, // the game whose table is set up
  errors: {}, // by field of the set-up
  table: null,
  lesson: null,
  takes: null, // what takes an action instead of the server
  results: null, // the games of this browser, where they are shown
  size: null, // of the table, in pixels; `top` is taken by what stands above it
  copied: "", // the link that was copied just now
  open: matchMedia("(min-width: 861px)").matches ? ["score", "bids", "tricks"] : ["score"], // parts beside the table
};

let draw = () => {};
let waits = false;

/** Change the store; the page is drawn once for all changes of now. */
export function update(changes) {
  Object.assign(store, changes);
  if (waits) return;
  waits = true;
  queueMicrotask(() => {
    waits = false;
    draw();
  });
}

/** Change what is known of the table. */
export const updateTable = (changes) => update({ table: { ...store.table, ...changes } });

/** Draw a page into an element, now and after each change. */
export function start(Page, element) {
  draw = () => render(h(Page), element);
  draw();
}

/** A text that the browser keeps, for this window or (`lasting`) for ever; null where it keeps none. */
export function kept(name, value, lasting = false) {
  try {
    const storage = lasting ? localStorage : sessionStorage;
    if (value !== undefined) storage.setItem(name, value);
    return storage.getItem(name);
  } catch (error) {
    return null;
  }
}

/** What the browser keeps for ever, as an object. */
export function keptObject(name) {
  try {
    return JSON.parse(kept(name, undefined, true) || "null");
  } catch (error) {
    return null;
  }
}
