/* Requests to the server, and the WebSocket of a table. */

import { noteLost, noteTable } from "./archive.js";
import { loadObject, loadText, saveText, store, update, updateTable } from "./store.js";
import { playSound } from "./sound.js";
import { capital } from "./words.js";

const address = new URLSearchParams(location.hash.slice(1));
export const token = address.get("token") || loadText("noms-token") || "";
if (address.get("token")) saveText("noms-token", token);

/** Send a request; throw an error if the server refuses it, with the `field` that it concerns. */
export async function request(path, body, kind = "json") {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const answer = await fetch(path, body === undefined ? { headers } : { method: "POST", headers, body }).catch(() => {
    throw new Error("The server does not answer; try again");
  });
  if (!answer.ok) {
    const refusal = await answer.json().catch(() => ({ error: "the server refused this" }));
    throw Object.assign(new Error(capital(refusal.error)), { field: refusal.field });
  }
  return answer[kind]();
}

/** Open a trial of a decision, given the table of the match and the moment (`3.17`). */
export async function tryAgain(table, moment) {
  const { key } = store.table;
  const opened = await request("/api/again", JSON.stringify({ table, key, moment }));
  const to = `#${link(opened.table, { key })}`;
  if (location.hash === to) location.reload();
  else location.hash = to;
}

/** Return from a trial to the analysis of the match, at the same moment. */
export function backToAnalysis() {
  const { trial, key } = store.table;
  location.hash = link(trial.table, { key, moment: trial.moment });
}

/** The fragment of a link to a table. */
export function link(table, secret) {
  const words = new URLSearchParams({ table, ...secret });
  if (token) words.set("token", token);
  return words.toString();
}

/** Return this browser's key at the table of the address. With an invitation, claim the seat with a new random key. */
async function ownKey() {
  const [table, invitation] = [address.get("table"), address.get("invitation")];
  if (!invitation) return address.get("key");
  const drawn = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(18)))).replace(/\+/g, "-").replace(/\//g, "_");
  const key = loadText(`noms-key-${invitation}`) || drawn;
  saveText(`noms-key-${invitation}`, key);
  await request("/api/seat", JSON.stringify({ table, invitation, key }));
  history.replaceState(null, "", `#${link(table, { key })}`);
  return key;
}

let socket = null;
let wait = 500;
let retry = 0;
let sweeping = 0;

/** Open the table of the address. */
export async function openTable() {
  const wanted = address.get("key") ? null : address.get("moment"); // a link to a moment is for spectators
  const key = wanted ? null : await ownKey();
  const name = address.get("table");
  const invitations = loadObject(`noms-invitations-${name}`) || {};
  update({ page: "table", table: { name, key, invitations, wanted, past: null, moment: "", view: null, hint: null, why: "", swept: "", lost: false, elsewhere: "", rules: [], asks: "", opens: wanted ? "" : address.get("moment") || "" } });
  connect();
}

export function connect() {
  updateTable({ elsewhere: "" });
  update({ notice: "" });
  clearTimeout(retry);
  const opened = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/socket`);
  socket?.close();
  socket = opened;
  opened.addEventListener("open", () => {
    wait = 500;
    updateTable({ lost: false, swept: null, asks: "" });
    send({ do: "hello", table: store.table.name, key: store.table.key || null, token: token || null });
  });
  opened.addEventListener("message", (event) => socket === opened && handle(JSON.parse(event.data)));
  opened.addEventListener("close", () => {
    if (socket !== opened || store.table.elsewhere) return;
    updateTable({ lost: true });
    retry = setTimeout(connect, wait);
    wait = Math.min(2 * wait, 10000);
  });
}

export function send(message) {
  if (socket && socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
}

let seeking = 0;

/** Request the wanted moment, at most as often as the server allows. */
export function seek() {
  if (seeking) return;
  seeking = setTimeout(() => {
    seeking = 0;
    const [deal, decision] = store.table.wanted.split(".").map(Number);
    if (Number.isInteger(deal) && Number.isInteger(decision)) send({ do: "moment", deal, decision });
    else update({ notice: "There is no such moment" });
  }, 60);
}

/** Take an action; the server ignores a late one. In a lesson, the lesson handles it. */
export const act = (word) => (store.takes ? store.takes(word) : send({ do: "act", word, moment: store.table.moment }));

export function ask(what, message) {
  updateTable({ asks: what });
  send(message);
}

/** Name of the last complete trick of a view. */
export const trickName = (view) => `${view.deal}.${view.tricks.length}`;

function handle(message) {
  const jobs = {
    rules: () => {
      updateTable({ rules: message.lines }); // the server sends it once the browser has entered
      if (store.table.wanted) seek();
    },
    refused: () => {
      update({ notice: capital(message.text) });
      const { past } = store.table;
      updateTable({ asks: "", ...(past ? { wanted: `${past.deal}.${past.decision}` } : {}) });
    },
    elsewhere: () => {
      update({ notice: "" }); // an older notice may contradict it
      updateTable({ elsewhere: message.text });
    },
    records: () => {
      if (store.table.asks === "records") saveRecords(message.text);
      updateTable({ asks: "", records: message.text });
      noteTable(store.table);
    },
    table: () => showTable(message),
    compared: () => {
      updateTable({ compared: { own: message.own, strong: message.strong } });
      noteTable(store.table);
    },
    moment: () => `${message.deal}.${message.decision}` === store.table.wanted && updateTable({ past: message }),
    hint: () => {
      updateTable({ asks: "", ...(message.moment === store.table.moment ? { hint: message } : {}) });
      update({ open: [...store.open.filter((part) => part !== "hint"), "hint"] });
    },
    film: () => {
      const [, at] = store.table.opens.split(".").map(Number);
      updateTable({ asks: "", opens: "" });
      const [{ lost }] = message.film.deals;
      if (lost) noteLost(store.table, message.film.deal, lost);
      update({ page: "analysis", film: { ...message.film, at } });
    },
  };
  jobs[message.is]();
}

/** Save a file of records. */
export const saveRecords = (text) => globalThis.save("records.jsonl", new Blob([text], { type: "application/jsonl" }));

/** Merge changes of the table into the store, with their sounds and requests. */
function showTable(fresh) {
  const before = store.table;
  const moved = before.moment !== fresh.moment;
  const table = { ...before, ...fresh, ...(moved ? { hint: null, why: "", asks: "" } : {}) };
  if (!table.over) table.records = "";
  const called = (name, seat) => (name === "You" && seat !== table.yours ? "Host" : name); // the host gave no name
  table.names = table.names.map(called);
  table.people = table.people.map((person) => ({ ...person, name: called(person.name, person.seat) }));
  const { view } = table;
  const trick = trickName(view);
  if (before.swept === null) table.swept = trick; // do not show a trick that was complete before the page loaded
  if (moved) update({ notice: "" });
  update({ table });
  if (before.view && moved) playSound(before, table);
  noteTable(table);
  if (table.opens && !before.view) ask("judge", { do: "film", deal: Number.parseInt(table.opens, 10) || 0, analyse: true });
  if (table.over && !before.over && table.day && !table.trial) send({ do: "compare" });
  if (table.over && !before.over && table.yours !== null && !table.practice) setTimeout(send, before.view ? 0 : 1100, { do: "records" }); // for the archive; delayed, in case of a reload
  if (table.swept !== trick && !view.trick.length) {
    clearTimeout(sweeping);
    sweeping = setTimeout(() => updateTable({ swept: trick }), 1100);
  }
  document.title = table.waits ? `Waiting for players · ${view.title}` : view.turn !== null && view.turn === table.yours ? "Your turn · Noms" : `${view.title} · Noms`;
}
