/* What the page says of a table. */

/** @param {object} table what the server told of the table */
export const nameOf = (table, seat) => (seat === table.yours ? "You" : table.names[seat]);

/** The same within a sentence. */
export const inside = (table, seat) => (seat === table.yours ? "you" : table.names[seat]);

export const joined = (words) => (words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`);

export const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

export const points = (number) => String(Math.round(100 * number) / 100).replace("-", "−");

export const signed = (number) => (number > 0 ? `+${points(number)}` : points(number));

/** How a person and the strong player did on the same cards of the deal of the day. */
export const comparedText = ({ own, strong }) => `You ${points(own)}, the strong player ${points(strong)} on the same cards (${signed(own - strong)})`;

const MINE = { call: "Your bid", trump: "Name the trump suit", nominate: "Nominate a card", suit: "Which suit do you lead?" };
const THEIRS = { call: "is to bid", trump: "names trump", nominate: "nominates a card", suit: "names the suit led" };

/** Whose turn it is and what for, or how it ended: the one place where the page says so. */
export function status(table) {
  const view = table.view;
  if (view.over && table.day) return "The deal of the day is over";
  if (view.over) return `The match is over${view.truncated ? ", cut off before its end" : ""}`;
  if (view.phase === null) return view.passed_out ? "All passed: nothing is played" : "The deal is over";
  if (view.turn === table.yours) return MINE[view.phase] || (view.trick.length ? "Your turn" : "Your lead");
  return `${table.names[view.turn]} ${THEIRS[view.phase] || (view.trick.length ? "is to play" : "leads")}`;
}

/** What the declarer's side has of what it wants: "You and Bo: 3 of 12". */
export function sideText(table) {
  const { side, contract, declarer } = table.view;
  if (!side) return `${nameOf(table, declarer)}: ${contract}`;
  const who = joined(side.seats.map((seat, place) => (place ? inside : nameOf)(table, seat)));
  return `${who}: ${side.wanted === null ? `${contract}, ${count(side.taken, "trick")}` : `${side.taken} of ${side.wanted}`}`;
}

const ROLES = {
  declarer: "you are the declarer",
  declarer_alone: "you are the declarer, alone",
  partner: "you are the partner",
  opponent: "you are an opponent",
};

/** What is known of the sides beside the contract. */
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
  const role = view.side && view.side.seats.length > 1 ? "" : ROLES[view.role]; // the contract says it then
  return [role, partner, view.indicated ? "the partner has shown himself" : ""].filter(Boolean).join(" · ");
}

/** What an outcome says of the tricks: "7 of 12, failed". */
export function outcomeText(outcome) {
  const verdict = outcome.made === null ? "" : outcome.made ? ", made" : ", failed";
  if (outcome.wanted !== null) return `${outcome.tricks} of ${outcome.wanted}${verdict}`;
  return `${outcome.bid === null ? "" : `${outcome.bid}, `}${count(outcome.tricks, "trick")}${verdict}`;
}

/** The headline of a deal that is over: the declarer's side, or else the viewer, or who did best. */
export function headline(table) {
  const view = table.view;
  if (view.passed_out) return "All passed: nothing is played";
  const declared = view.declarer !== null;
  const own = view.results.find((outcome) => outcome.seats.includes(table.yours));
  const outcome = declared ? view.results[0] : own || view.results.reduce((best, one) => (one.points[0] > best.points[0] ? one : best));
  return `${joined(outcome.seats.map((seat, place) => (place ? inside : nameOf)(table, seat)))}: ${outcomeText(outcome)}`;
}

/** Who won a match that is over. */
export function winnersText(table) {
  const winners = table.view.places.filter((place) => place.marks.includes("winner")).map((place) => place.seat);
  const win = winners.length > 1 || winners[0] === table.yours ? "win" : "wins";
  return `${joined(winners.map((seat, place) => (place ? inside : nameOf)(table, seat)))} ${win} the match`;
}

/** All calls in their order, as rows of the seats from the eldest on; null before a seat's first call. */
export function auction(view) {
  const seats = view.places.length;
  const eldest = (view.dealer + 1) % seats;
  const order = view.places.map((_, turn) => (eldest + turn) % seats);
  const rounds = Math.max(0, ...view.places.map((place) => place.calls.length));
  return { order, rows: Array.from({ length: rounds }, (_, round) => order.map((seat) => view.places[seat].calls[round] ?? null)) };
}
