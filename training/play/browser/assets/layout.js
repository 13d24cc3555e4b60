/* Layout of seats, cards and choices for a table of any size; no drawing. Only the cards of a hand overlap. */

const ASPECT = 0.7;
const RAISE = 12;
const MIN_STEP = 34;
/** Smallest height of a card in the viewer's hand. */
const LOWEST = 78;

/** Number of other seats at the left, the top and the right, by number of seats. */
const SIDES = { 2: [0, 1, 0], 3: [1, 0, 1], 4: [1, 1, 1], 5: [1, 2, 1], 6: [2, 1, 2], 7: [2, 2, 2] };

/**
 * Positions of the cards of a trick by number of seats, the viewer's first, then clockwise, in widths and heights of a card.
 * Some have two arrangements, for wide and for high tables.
 */
const TRICKS = {
  2: [[[0, 0.53], [0, -0.53]]],
  3: [[[0, 0.53], [-0.8, -0.53], [0.8, -0.53]], [[0, 0], [-1.06, 0], [1.06, 0]]],
  4: [[[0, 0.53], [-1.06, 0], [0, -0.53], [1.06, 0]]],
  5: [[[0, 0.53], [-1.1, 0.3], [-0.53, -0.78], [0.53, -0.78], [1.1, 0.3]]],
  6: [[[0, 0.53], [-1.06, 0.53], [-1.06, -0.53], [0, -0.53], [1.06, -0.53], [1.06, 0.53]]],
  7: [
    [[0, 0.53], [-1.06, 0.53], [-1.6, -0.53], [-0.53, -0.53], [0.53, -0.53], [1.6, -0.53], [1.06, 0.53]],
    [[0, 1.06], [-1.06, 1.06], [-1.06, 0], [-0.53, -1.06], [0.53, -1.06], [1.06, 0], [1.06, 1.06]],
  ],
};

/** The possible numbers of columns for the choices of a phase, and the size of a cell. */
export function cells(view, compact) {
  const number = view.choices.length;
  if (view.phase === "nominate") {
    const suits = new Map();
    for (const { word } of view.choices) suits.set(word.slice(1), (suits.get(word.slice(1)) || 0) + 1);
    const columns = Math.max(...suits.values());
    return { columns: [columns], rows: suits.size, width: compact ? 27 : 42, height: compact ? 34 : 44 };
  }
  const [width, height] = view.phase === "trump" ? [compact ? 92 : 112, compact ? 46 : 60] : [compact ? 56 : 68, compact ? 46 : 56];
  return { columns: Array.from({ length: number }, (_, place) => number - place), number, width, height };
}

/** The grid of choices in a room: columns, rows and cell size; null if it does not fit. */
export function grid(want, { width, height }, most) {
  const title = 40;
  const room = { width: width - 14, height };
  for (const wide of want.columns) {
    if (wide > most && want.number) continue;
    const rows = want.rows || Math.ceil(want.number / wide);
    const columns = want.number ? Math.ceil(want.number / rows) : wide; // rows of similar length
    if (columns * want.width <= room.width && rows * want.height + title <= room.height) {
      return { columns, rows, width: Math.min(want.width * 1.25, room.width / columns), height: Math.min(want.height * 1.1, (room.height - title) / rows) };
    }
  }
  return null;
}

/** A position as `transform`, so that elements glide without a new layout by the browser. */
export const box = ({ x, y, width, height }) => ({ transform: `translate(${Math.round(x)}px, ${Math.round(y)}px)`, width: `${width}px`, height: `${height}px` });

/** The size of the result of a deal. */
const resultRoom = (view, compact, more) => ({ width: compact ? 300 : 400, height: (compact ? 124 : 168) + (view.over ? 24 : 0) + more + (compact ? 25 : 30) * view.places.length });

/**
 * @param {object} view view of a seat, as sent by the server
 * @param {{width: number, height: number, top: number}} room size of the table in pixels; the facts cover its `top`
 * @param {{more: number, whole: Set<string>}} needs extra height of the result, and cards of the hand that must stay uncovered
 */
export function layout(view, room, { more = 0, whole = new Set() } = {}) {
  const { top = 0 } = room;
  const size = { width: room.width, height: room.height - top };
  const compact = size.width < 620 || size.height < 460;
  const gap = compact ? 4 : 10;
  const seats = view.places.length;
  const first = view.viewer ?? 0;
  const own = view.places[first];
  const sees = view.viewer !== null;
  const hand = handLayout(view, size, compact && view.phase === null, sees || own.hand !== null, whole);
  const barHeight = compact ? 44 : 56;
  const rowHeight = view.choices.length && ["play", "suit"].includes(view.phase) ? (compact ? 48 : 60) : 0;
  const felt = { x: 0, y: 0, width: size.width, height: size.height - hand.height - barHeight - rowHeight - gap };
  const plate = compact ? { width: Math.min(118, (size.width - 4 * gap) / 3), height: 52 } : { width: 178, height: 66 };
  const row = { x: gap, y: felt.height, width: size.width - 2 * gap, height: rowHeight };
  const bar = { x: 0, y: felt.height + rowHeight + gap / 2, width: size.width, height: barHeight };

  const ring = around(view, first, felt, plate, gap);
  let { plates, hands, centre } = ring;
  let choices = null;
  let result = null;
  if (["call", "trump", "nominate"].includes(view.phase) && view.choices.length) {
    const want = cells(view, compact);
    choices = grid(want, centre, view.phase === "trump" ? 3 : 7);
    if (!choices) {
      ({ plates, hands, centre } = aside(view, first, felt, plate, gap));
      choices = grid(want, centre, 7) || { columns: want.columns[0], rows: want.rows || 1, width: centre.width / want.columns[0], height: want.height };
    }
  } else if (view.phase === null) {
    const needed = resultRoom(view, compact, more);
    if (needed.width > centre.width || needed.height > centre.height) {
      plates = new Map();
      hands = new Map();
      centre = { x: gap, y: gap, width: felt.width - 2 * gap, height: felt.height - 2 * gap };
    }
    result = centre;
  }

  const middle = { x: ring.centre.x + ring.centre.width / 2, y: ring.centre.y + ring.centre.height / 2 };
  const [slots, height] = bestTrick(seats, ring.centre, compact ? 108 : 150);
  const trick = new Map();
  for (let turn = 0; turn < seats; turn += 1) {
    const [x, y] = slots[turn];
    trick.set((first + turn) % seats, {
      x: middle.x + x * height * ASPECT - (height * ASPECT) / 2,
      y: middle.y + y * height - height / 2,
      width: height * ASPECT,
      height,
    });
  }
  /* The point of a seat from which its cards come and to which its tricks go. */
  const home = new Map();
  for (let turn = 0; turn < seats; turn += 1) {
    const seat = (first + turn) % seats;
    const at = ring.plates.get(seat) || bar;
    home.set(seat, { x: at.x + at.width / 2, y: at.y + at.height / 2 });
  }
  const down = (place) => place && { ...place, y: place.y + top };
  const allDown = (places) => new Map([...places].map(([seat, place]) => [seat, Array.isArray(place) ? place.map(down) : down(place)]));
  const cards = hand.cards.map((card) => down({ ...card, y: card.y + bar.y + bar.height }));
  return {
    compact, first, choices, felt: down(felt), bar: down(bar), row: down(row), centre: down(centre), result: down(result), middle: down(middle), hand: cards,
    plates: allDown(plates), hands: allDown(hands), home: allDown(home), trick: allDown(trick),
  };
}

/** Place the other seats around the felt; return also the free room in the middle. */
function around(view, first, felt, plate, gap) {
  const [left, top, right] = SIDES[view.places.length];
  const seat = (turn) => (first + turn) % view.places.length;
  const tall = (turn) => plate.height + openHeight(view.places[seat(turn)], plate);
  const tops = Array.from({ length: top }, (_, place) => left + 1 + place);
  const topHeight = top ? Math.max(...tops.map(tall)) + 2 * gap : gap;
  const topWidth = top * (plate.width + 3 * gap);
  const narrow = topWidth / 2 + plate.width + 3 * gap > felt.width / 2;
  const arch = felt.width < 520 && left > 0; // side plates just below the top ones, so that the middle has the full width
  const plates = new Map();
  const hands = new Map();
  const put = (turn, x, y) => {
    const place = view.places[seat(turn)];
    plates.set(seat(turn), { x, y, ...plate });
    if (place.hand) hands.set(seat(turn), openHand(place, x, y + plate.height + 2, plate));
  };
  tops.forEach((turn, place) => put(turn, felt.width / 2 - topWidth / 2 + (place + 0.5) * (topWidth / top) - plate.width / 2, gap));
  const from = narrow && top ? (arch && top === 1 && 3 * (plate.width + gap) <= felt.width ? gap + plate.height / 2 : topHeight) : gap;
  let sides = 0;
  const room = felt.height - from - gap;
  const column = (turns, x) => {
    const heights = turns.map(tall);
    const free = arch ? gap : Math.max(0, room - heights.reduce((sum, height) => sum + height, 0)) / (turns.length + 1);
    let y = from - (arch ? gap : 0);
    turns.forEach((turn, place) => {
      y += free;
      put(turn, x, y);
      y += heights[place];
    });
    sides = Math.max(sides, y);
  };
  column(Array.from({ length: left }, (_, place) => left - place), gap);
  column(Array.from({ length: right }, (_, place) => left + top + 1 + place), felt.width - gap - plate.width);
  if (arch) {
    const y = Math.max(sides, topHeight) + gap;
    return { plates, hands, centre: { x: gap, y, width: felt.width - 2 * gap, height: felt.height - y - gap } };
  }
  const side = left ? plate.width + 3 * gap : gap;
  return { plates, hands, centre: { x: side, y: topHeight, width: felt.width - 2 * side, height: felt.height - topHeight - gap } };
}

/** Place the other seats in rows at the top, or in columns at the left of a wide table; the rest is for the choices. */
function aside(view, first, felt, plate, gap) {
  const others = view.places.length - 1;
  const plates = new Map();
  const wide = felt.width > 1.8 * felt.height;
  const rows = wide ? Math.max(1, Math.min(others, Math.floor(felt.height / (plate.height + gap)))) : Math.ceil(others / 3);
  const columns = Math.ceil(others / rows);
  for (let turn = 1; turn <= others; turn += 1) {
    const [column, row] = wide ? [Math.floor((turn - 1) / rows), (turn - 1) % rows] : [(turn - 1) % columns, Math.floor((turn - 1) / columns)];
    const left = wide ? gap : (felt.width - columns * (plate.width + gap) + gap) / 2;
    plates.set((first + turn) % view.places.length, { x: left + column * (plate.width + gap), y: gap + row * (plate.height + gap), ...plate });
  }
  const [x, y] = wide ? [columns * (plate.width + gap) + 2 * gap, gap] : [gap, rows * (plate.height + gap) + gap];
  return { plates, hands: new Map(), centre: { x, y, width: felt.width - x - gap, height: felt.height - y - gap } };
}

const TILES = 7;

/** The height of an open hand below a plate. */
function openHeight(place, plate) {
  if (!place.hand || !place.hand.length) return 0;
  return 2 + Math.ceil(place.hand.length / TILES) * Math.floor(plate.width / TILES) * 1.77;
}

function openHand(place, x, y, plate) {
  const width = Math.floor(plate.width / TILES);
  return place.hand.map((word, number) => ({ word, x: x + width * (number % TILES), y: y + width * 1.77 * Math.floor(number / TILES), width, height: width * 1.77 }));
}

/** The arrangement of a trick with the largest cards. */
function bestTrick(seats, room, most) {
  let best = [TRICKS[seats][0], 0];
  for (const slots of TRICKS[seats]) {
    const wide = 2 * Math.max(...slots.map(([x]) => Math.abs(x))) + 1;
    const high = 2 * Math.max(...slots.map(([, y]) => Math.abs(y))) + 1;
    const height = Math.min(most, room.height / high, room.width / wide / ASPECT);
    if (height > best[1]) best = [slots, height];
  }
  return best;
}

/** The hand at the bottom, in two rows if one would show too little of each card. Its height is constant during a deal. */
function handLayout(view, size, folded, shown, whole) {
  if (folded || !shown) return { height: 0, cards: [] };
  const own = view.places[view.viewer ?? 0];
  const words = own.hand || Array.from({ length: own.size }, () => null);
  const margin = 8;
  const room = size.width - 2 * margin;
  const step = (width, number) => (number < 2 ? 0 : Math.min(width + 5, (room - width) / (number - 1)));
  let height = Math.min(136, Math.max(LOWEST, 0.19 * size.height));
  if (size.height < 520 && step(height * ASPECT, view.size) < MIN_STEP && step(LOWEST * ASPECT, view.size) >= MIN_STEP) height = LOWEST;
  const two = size.height >= 480 && step(height * ASPECT, view.size) < MIN_STEP;
  if (two) height = Math.min(92, height);
  const rows = two && step(height * ASPECT, words.length) < MIN_STEP ? [words.slice(0, Math.ceil(words.length / 2)), words.slice(Math.ceil(words.length / 2))] : [words];
  const width = height * ASPECT;
  const cards = [];
  const above = RAISE + 4 + (two && rows.length < 2 ? (height + 4) / 2 : 0);
  rows.forEach((held, row) => {
    const wide = step(width, held.length);
    const apart = held.slice(0, -1).filter((word) => whole.has(word) && wide < width).length;
    const by = apart ? (room - width * (apart + 1)) / Math.max(1, held.length - 1 - apart) : wide; // the other cards move together
    let x = apart ? margin : (size.width - by * (held.length - 1) - width) / 2;
    for (const word of held) {
      const strip = apart && whole.has(word) ? width : by || width;
      cards.push({ word, x, y: above + row * (height + RAISE), width, height, step: strip });
      x += strip;
    }
  });
  return { height: RAISE + 8 + height + (two ? height + RAISE : 0), cards };
}
