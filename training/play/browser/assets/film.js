/* The bridge to the replay, which is drawn by board.js and replay.js as in a page that stands alone. */

import { asked } from "./connection.js";
import { store, update } from "./store.js";

let replay = null;
let shown = null;
const byId = (id) => document.getElementById(id);

/** Show the film of the store, or hide the one that was shown. */
export function showFilm() {
  const film = store.page === "film" ? store.film : null;
  if (film === shown) return;
  shown = film;
  byId("film").hidden = !film;
  byId("app").hidden = Boolean(film);
  byId("replay").hidden = !film;
  if (!film) {
    replay.stop();
    return;
  }
  replay = replay || new Replay(new Board(byId("board")), false);
  globalThis.replay = replay;
  replay.load(film);
  const [worst] = film.deals[0].losses || [];
  if (worst) replay.go(0, worst.moment); // an analysis opens at the biggest mistake
  byId("return").textContent = store.table ? "Back to the table" : store.results ? "Back to your results" : "Back to the games";
  const body = film.source === undefined ? JSON.stringify({ table: store.table.name, key: store.table.key, deal: film.deal }) : film.source;
  offerGif(film.source === undefined ? "/api/table-gif" : "/api/gif", film.source === undefined ? {} : { player: film.thinker }, body);
}

/* A GIF of the deal that is shown, which the server draws. */
function offerGif(path, parameters, body) {
  const button = byId("gif");
  button.hidden = false;
  button.onclick = async () => {
    const { deal, view } = replay;
    const query = new URLSearchParams({ ...parameters, deal, view, theme: document.documentElement.dataset.theme });
    button.disabled = true;
    button.textContent = "Drawing the deal";
    try {
      globalThis.save("deal.gif", await asked(`${path}?${query}`, body, "blob"));
    } catch (error) {
      byId("film-notice").textContent = error.message;
    }
    button.disabled = false;
    button.textContent = "Save as GIF";
  };
}

export const endFilm = () => update({ page: store.table ? "table" : store.results ? "results" : "start", film: null });
