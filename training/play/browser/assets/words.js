/* Texts of the page about a table. */

/** @param {object} table state of the table, as sent by the server */
export const nameOf = (table, seat) => (seat === table.yours ? "You" : table.names[seat]);

/** The name of a seat inside a sentence. */
export const inside = (table, seat) => (seat === table.yours ? "you" : table.names[seat]);

export const joinWords = (words) => (words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`);

export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

export const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

export const points = (number) => String(Math.round(100 * number) / 100).replace("-", "−");

export const pointsWords = (number) => `${points(number)} point${points(Math.abs(number)) === "1" ? "" : "s"}`;

export const signed = (number) => (number > 0 ? `+${points(number)}` : points(number));

/** The points of the person and of the strong player in the deal of the day. */
export const comparedText = ({ own, strong }) => `You ${points(own)}, the strong player ${points(strong)} on the same cards (${signed(own - strong)})`;

const MINE = { call: "Your bid", trump: "Name the trump suit", nominate: "Nominate a card", suit: "Which suit do you lead?" };
const THEIRS = { call: "is to bid", trump: "names trump", nominate: "nominates a card", suit: "names the suit led" };

/** Whose turn it is and for what, or how the deal ended; the page says it in one place only. */
export function status(table) {
  const view = table.view;
  if (view.over && table.day) return "The deal of the day is over";
  if (view.over) return `The match is over${view.truncated ? ", cut off before its end" : ""}`;
  if (view.phase === null) return view.passed_out ? "All passed: nothing is played" : "The deal is over";
  if (view.turn === table.yours) return MINE[view.phase] || (view.trick.length ? "Your turn" : "Your lead");
  return `${table.names[view.turn]} ${THEIRS[view.phase] || (view.trick.length ? "is to play" : "leads")}`;
}

/** The tricks of the declarer's side and its bid: "You and Bo: 3 of 12". */
export function sideText(table) {
  const { side, contract, declarer } = table.view;
  if (!side) return `${nameOf(table, declarer)}: ${contract}`;
  const who = joinWords(side.seats.map((seat, place) => (place ? inside : nameOf)(table, seat)));
  return `${who}: ${side.wanted === null ? `${contract}, ${count(side.taken, "trick")}` : `${side.taken} of ${side.wanted}`}`;
}

const ROLES = {
  declarer: "you are the declarer",
  declarer_alone: "you are the declarer, alone",
  partner: "you are the partner",
  opponent: "you are an opponent",
};

/** What the viewer knows of the sides besides the contract. */
export function roleText(table) {
  const view = table.view;
  const partner =
    view.alone || (view.revealed !== null && view.revealed === view.declarer)
      ? "plays alone"
      : view.revealed !== null || view.nominated === null
        ? ""
        : view.role === "partner"
          ? ""
          : "partner not shown yet";
  const role = view.side && view.side.seats.length > 1 ? "" : ROLES[view.role]; // otherwise the contract says it
  return [role, partner, view.indicated ? "the partner has shown himself" : ""].filter(Boolean).join(" · ");
}

/** The tricks of an outcome: "7 of 12, failed". */
export function outcomeText(outcome) {
  const verdict = outcome.made === null ? "" : outcome.made ? ", made" : ", failed";
  if (outcome.wanted !== null) return `${outcome.tricks} of ${outcome.wanted}${verdict}`;
  return `${outcome.bid === null ? "" : `${outcome.bid}, `}${count(outcome.tricks, "trick")}${verdict}`;
}

/** The headline of a scored deal: the declarer's side, else the viewer, else the best seat. */
export function headline(table) {
  const view = table.view;
  if (view.passed_out) return "All passed: nothing is played";
  const declared = view.declarer !== null;
  const own = view.results.find((outcome) => outcome.seats.includes(table.yours));
  const outcome = declared ? view.results[0] : own || view.results.reduce((best, outcome) => (outcome.points[0] > best.points[0] ? outcome : best));
  return `${joinWords(outcome.seats.map((seat, place) => (place ? inside : nameOf)(table, seat)))}: ${outcomeText(outcome)}`;
}

/** The winners of a finished match. */
export function winnersText(table) {
  const winners = table.view.places.filter((place) => place.marks.includes("winner")).map((place) => place.seat);
  const win = winners.length > 1 || winners[0] === table.yours ? "win" : "wins";
  return `${joinWords(winners.map((seat, place) => (place ? inside : nameOf)(table, seat)))} ${win} the match`;
}

/** All calls in rounds, with the seats from the eldest on; null if a seat has not called. */
export function auction(view) {
  const seats = view.places.length;
  const eldest = (view.dealer + 1) % seats;
  const order = view.places.map((_, turn) => (eldest + turn) % seats);
  const rounds = Math.max(0, ...view.places.map((place) => place.calls.length));
  return { order, rows: Array.from({ length: rounds }, (_, round) => order.map((seat) => view.places[seat].calls[round] ?? null)) };
}

/** Grades of decisions, as signs and in words. */
export const GRADES = {
  best: { sign: "✓", said: "nothing better was found" },
  even: { sign: "≈", said: "may be as good" },
  slip: { sign: "?!", said: "a small loss" },
  mistake: { sign: "?", said: "a mistake" },
  blunder: { sign: "??", said: "a big mistake" },
};
