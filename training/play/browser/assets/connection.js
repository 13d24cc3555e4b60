/* Requests to the server, and the socket of a table. */

import { noteLost, noteTable } from "./archive.js";
import { kept, keptObject, store, update, updateTable } from "./store.js";
import { heard } from "./sound.js";

const address = new URLSearchParams(location.hash.slice(1));
export const token = address.get("token") || kept("noms-token") || "";
if (address.get("token")) kept("noms-token", token);

/** The answer to a request; what the server refuses is an error whose `field` names what it is about. */
export async function asked(path, body, kind = "json") {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const answer = await fetch(path, body === undefined ? { headers } : { method: "POST", headers, body }).catch(() => {
    throw new Error("The server does not answer; try again");
  });
  if (!answer.ok) {
    const told = await answer.json().catch(() => ({ error: "the server refuses that" }));
    throw Object.assign(new Error(capital(told.error)), { field: told.field });
  }
  return answer[kind]();
}

/** Try a decision again, at a table of its own: the table of the match, and the moment as `3.17`. */
export async function tryAgain(table, moment) {
  const { key } = store.table;
  const opened = await asked("/api/again", JSON.stringify({ table, key, moment }));
  const to = `#${link(opened.table, { key })}`;
  if (location.hash === to) location.reload();
  else location.hash = to;
}

/** From a trial back to the analysis of the match, at the same moment. */
export function backToAnalysis() {
  const { trial, key } = store.table;
  location.hash = link(trial.table, { key, moment: trial.moment });
}

/** The part of an address behind # that leads to a table. */
export function link(table, secret) {
  const words = new URLSearchParams({ table, ...secret });
  if (token) words.set("token", token);
  return words.toString();
}

/** The key of this browser at the table of the address. An invitation is good once, and for a key that nobody else knows. */
async function ownKey() {
  const [table, invitation] = [address.get("table"), address.get("invitation")];
  if (!invitation) return address.get("key");
  const drawn = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(18)))).replace(/\+/g, "-").replace(/\//g, "_");
  const key = kept(`noms-key-${invitation}`) || drawn;
  kept(`noms-key-${invitation}`, key);
  await asked("/api/seat", JSON.stringify({ table, invitation, key }));
  history.replaceState(null, "", `#${link(table, { key })}`);
  return key;
}

let socket = null;
let wait = 500;
let retry = 0;
let sweeping = 0;

/** Open the table of the address. */
export async function openTable() {
  const wanted = address.get("key") ? null : address.get("moment"); // who has a link to a moment is a spectator
  const key = wanted ? null : await ownKey();
  const name = address.get("table");
  const invitations = keptObject(`noms-invitations-${name}`) || {};
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
  opened.addEventListener("message", (event) => socket === opened && told(JSON.parse(event.data)));
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

/** Ask for the moment that is wanted, at most as often as the server allows. */
export function seek() {
  if (seeking) return;
  seeking = setTimeout(() => {
    seeking = 0;
    const [deal, decision] = store.table.wanted.split(".").map(Number);
    if (Number.isInteger(deal) && Number.isInteger(decision)) send({ do: "moment", deal, decision });
    else update({ notice: "There is no such moment" });
  }, 60);
}

/** Take an action; one that comes late does nothing. In a lesson it goes to the lesson. */
export const act = (word) => (store.takes ? store.takes(word) : send({ do: "act", word, moment: store.table.moment }));

export function ask(what, message) {
  updateTable({ asks: what });
  send(message);
}

/** Name of the last complete trick of a view. */
export const trickName = (view) => `${view.deal}.${view.tricks.length}`;

function told(message) {
  const jobs = {
    rules: () => {
      updateTable({ rules: message.lines }); // the server's answer to who has come
      if (store.table.wanted) seek();
    },
    refused: () => {
      update({ notice: capital(message.text) });
      const { past } = store.table;
      updateTable({ asks: "", ...(past ? { wanted: `${past.deal}.${past.decision}` } : {}) });
    },
    elsewhere: () => {
      update({ notice: "" }); // it may say that this window has the seat
      updateTable({ elsewhere: message.text });
    },
    records: () => {
      if (store.table.asks === "records") saveRecords(message.text);
      updateTable({ asks: "", records: message.text });
      noteTable(store.table);
    },
    table: () => shown(message),
    compared: () => {
      updateTable({ compared: { own: message.own, strong: message.strong } });
      noteTable(store.table);
    },
    moment: () => `${message.deal}.${message.decision}` === store.table.wanted && updateTable({ past: message }),
    hint: () => {
      updateTable({ asks: "", ...(message.moment === store.table.moment ? { hint: message } : {}) });
      update({ open: [...store.open.filter((one) => one !== "hint"), "hint"] });
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

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** Take note of what has changed at the table. */
function shown(fresh) {
  const before = store.table;
  const moved = before.moment !== fresh.moment;
  const table = { ...before, ...fresh, ...(moved ? { hint: null, why: "", asks: "" } : {}) };
  if (!table.over) table.records = "";
  const called = (name, seat) => (name === "You" && seat !== table.yours ? "Host" : name); // who gave no name
  table.names = table.names.map(called);
  table.people = table.people.map((person) => ({ ...person, name: called(person.name, person.seat) }));
  const { view } = table;
  const trick = trickName(view);
  if (before.swept === null) table.swept = trick; // what was over before this page came is not shown again
  if (moved) update({ notice: "" });
  update({ table });
  if (before.view && moved) heard(before, table);
  noteTable(table);
  if (table.opens && !before.view) ask("judge", { do: "film", deal: Number.parseInt(table.opens, 10) || 0, analyse: true });
  if (table.over && !before.over && table.day && !table.trial) send({ do: "compare" });
  if (table.over && !before.over && table.yours !== null && !table.practice) setTimeout(send, before.view ? 0 : 1100, { do: "records" }); // for the archive, not too soon after a reload
  if (table.swept !== trick && !view.trick.length) {
    clearTimeout(sweeping);
    sweeping = setTimeout(() => updateTable({ swept: trick }), 1100);
  }
  document.title = table.waits ? `Waiting for players · ${view.title}` : view.turn !== null && view.turn === table.yours ? "Your turn · Noms" : `${view.title} · Noms`;
}

