/* A small picture for each game, made of its cards. */

import { DECKS } from "./decks.js";
import { html } from "./store.js";

/** Cards on a felt of 200 by 112: word (null for a back), centre, and rotation in degrees. */
const PICTURES = {
  sniped_whist: [["2C", 62, 62, -14], ["3D", 88, 57, -5], ["2H", 114, 57, 5], ["4S", 140, 62, 14]],
  big_ships: [["KS", 46, 62, -10], ["QH", 72, 58, -4], ["9S", 98, 57, 0]],
  small_ships: [["AS", 62, 58, -8], ["KS", 88, 56, 0], [null, 140, 58, 8]],
  noms: [["AH", 50, 60, -12], ["KH", 72, 57, -6], ["QH", 94, 56, 0], [null, 148, 58, 8]],
  nonesuch: [["2MK", 58, 60, -10], ["CS", 86, 56, -2], ["5SY", 114, 56, 4], ["AL", 142, 60, 11]],
};
const BADGES = { big_ships: ["2", 150, 56], small_ships: ["?", 140, 56], noms: ["10", 148, 56], sniped_whist: null };
/** Hand sizes of a match, drawn as bars. */
const SIZES = { down_up: [10, 8, 6, 4, 2, 1, 2, 4, 6, 8, 10], up_down: [1, 3, 5, 7, 9, 11, 13, 11, 9, 7, 5, 3, 1] };

function Piece({ deck, piece: [word, x, y, turn] }) {
  const symbol = word === null ? "#noms-back" : `#noms-c-${word}${DECKS[deck].letter}`;
  return html`<g transform=${`rotate(${turn} ${x} ${y})`}><use href=${symbol} x=${x - 24.5} y=${y - 35} width="49" height="70" /></g>`;
}

export function GamePicture({ game }) {
  const pieces = PICTURES[game.name] || [];
  const badge = BADGES[game.name];
  const sizes = SIZES[game.name];
  const suits = ["spades", "hearts", "diamonds", "clubs"];
  return html`<svg class="game-picture" viewBox="0 0 200 112" aria-hidden="true">
    ${pieces.map((piece) => html`<${Piece} deck=${game.deck} piece=${piece} />`)}
    ${sizes && sizes.map((size, place) => {
      const step = 168 / sizes.length;
      const x = 16 + step * place;
      return html`<rect class="noms-paper" x=${x} y=${92 - 5.6 * size} width=${step - 3} height=${5.6 * size} rx="2" /><use href=${`#noms-${suits[place % 4]}`} x=${x} y=${95} width=${step - 3} height=${step - 3} />`;
    })}
    ${badge && html`<circle class="noms-coin" cx=${badge[1]} cy=${badge[2]} r="18" /><text class="noms-bold noms-print" x=${badge[1]} y=${badge[2] + 7.5} font-size="21" text-anchor="middle">${badge[0]}</text>`}
  </svg>`;
}
