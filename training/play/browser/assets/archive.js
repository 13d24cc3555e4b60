/* The archive of this browser: a database with an entry for each table at which it had a seat. */

const opened = new Promise((done, fail) => {
  const request = globalThis.indexedDB?.open("noms", 1);
  if (!request) return fail(new Error("this browser keeps nothing"));
  request.onupgradeneeded = () => request.result.createObjectStore("games", { keyPath: "id" });
  request.onsuccess = () => done(request.result);
  request.onerror = () => fail(request.error);
});
opened.catch(() => {}); // the results page reports it

async function inGames(mode, job) {
  const games = (await opened).transaction("games", mode).objectStore("games");
  return new Promise((done, fail) => {
    const request = job(games);
    request.onsuccess = () => done(request.result);
    request.onerror = () => fail(request.error);
  });
}

/** Return all games, latest first. */
export async function allGames() {
  const games = await inGames("readonly", (store) => store.getAll());
  return games.sort((a, b) => b.began - a.began);
}

export const forget = (id) => inGames("readwrite", (store) => store.delete(id));

export const forgetAll = () => inGames("readwrite", (store) => store.clear());

/** Change an entry in one transaction, so that two windows do not overwrite each other. */
async function change(id, changed) {
  const games = (await opened).transaction("games", "readwrite").objectStore("games");
  const request = games.get(id);
  request.onsuccess = () => {
    const entry = changed(request.result);
    if (entry) games.put(entry);
  };
}

/** The opponents of a table: a level, a player, "several", or "people". */
function against(table) {
  if (table.people.some((person) => person.seat !== table.yours)) return "people";
  const levels = new Set(table.levels.filter((level, seat) => seat !== table.yours));
  return levels.size === 1 ? [...levels][0] : "several";
}

/** A deal of the score sheet from the viewer's side. */
function dealOf({ points, made, passed_out: passedOut }, yours) {
  const others = points.filter((_, seat) => seat !== yours);
  return { points: points[yours], others: others.reduce((sum, score) => sum + score, 0) / others.length, made: made[yours], passedOut };
}

const counted = new Map();

/**
 * Archive a table at which this browser has a seat. The first score of a deal counts, whatever is undone later. Practice does
 * not count.
 */
export function noteTable(table) {
  if (table.yours === null || table.practice) return;
  const mark = `${table.sheet.length} ${table.over} ${Boolean(table.records)} ${JSON.stringify(table.compared)}`;
  if (counted.get(table.name) === mark) return;
  counted.set(table.name, mark);
  change(table.name, (before) => {
    if (before && before.key !== table.key) return null; // another seat of the same browser
    const entry = before || { id: table.name, began: Date.now(), deals: [], lost: {}, over: false, whole: false, won: false, records: "" };
    const fresh = table.sheet.slice(entry.deals.length).map((deal) => dealOf(deal, table.yours));
    return {
      ...entry,
      key: table.key,
      variant: table.variant,
      title: table.view.title,
      seat: table.yours,
      names: table.names,
      against: entry.over ? entry.against : against(table),
      deals: [...entry.deals, ...fresh],
      of: table.view.deals,
      over: entry.over || table.over,
      whole: entry.whole || table.view.over, // and not ended early
      won: entry.over ? entry.won : table.over && table.view.places[table.yours].marks.includes("winner"),
      records: table.records || entry.records,
      day: table.day || "",
      compared: entry.compared || table.compared || null,
    };
  }).catch(() => {});
}

/** Archive the loss of the viewer's decisions in a deal: `points`, and the number of `decisions`. */
export function noteLost(table, deal, lost) {
  if (table.yours === null || table.practice || !lost.decisions) return;
  change(table.name, (entry) => entry && { ...entry, lost: { ...entry.lost, [deal]: lost } }).catch(() => {});
}

/** Sum up the results by game and opponents, over the deals that were played. */
export function statistics(games) {
  const rows = new Map();
  for (const game of games) {
    const name = `${game.variant} ${game.against}`;
    const row = rows.get(name) || { variant: game.variant, title: game.title, against: game.against, deals: 0, matches: 0, won: 0, points: 0, others: 0, bids: 0, made: 0, lost: 0, decisions: 0 };
    for (const deal of game.deals.filter(({ passedOut }) => !passedOut)) {
      row.deals += 1;
      row.points += deal.points;
      row.others += deal.others;
      row.bids += deal.made === null ? 0 : 1;
      row.made += deal.made ? 1 : 0;
    }
    row.matches += game.whole && !game.day ? 1 : 0;
    row.won += game.won && !game.day ? 1 : 0;
    for (const lost of Object.values(game.lost)) {
      row.lost += lost.points;
      row.decisions += lost.decisions;
    }
    if (row.deals) rows.set(name, row);
  }
  return [...rows.values()].sort((a, b) => a.title.localeCompare(b.title) || a.against.localeCompare(b.against));
}

/** Return all records as one file, each game as a separate match. */
export function exportRecords(games) {
  const matches = games.filter((game) => game.records).reverse();
  return matches.flatMap((game, match) => game.records.trim().split("\n").map((line) => `${JSON.stringify({ ...JSON.parse(line), match })}\n`)).join("");
}
