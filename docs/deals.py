"""A deal of each game as a picture that steps. `python docs/deals.py` plays the deals anew and writes `docs/deals.jsonl`.

The pages with the pictures are made from these records when the site is built, and are what `noms replay --html` writes.
"""

from __future__ import annotations

import json
from pathlib import Path

from noms_env.record import Record, record_matches, write_records
from noms_env.variants import GAMES, make_rules
from noms_training.play.browser.film import Shown, film_of, page_of

RECORDS = Path(__file__).parent / "deals.jsonl"
FOLDER = "deals"
"""The folder of the pages on the site."""
NAMES = ("Ann", "Bo", "Cy", "Di")
PLAYER = "thumb:1"
CARDS = 5
"""The size of hands where it changes from deal to deal."""
SEED = 5


def main() -> None:
    """Write the records."""
    write_records(RECORDS, map(play, GAMES))
    print(RECORDS, RECORDS.stat().st_size, "bytes")


def records() -> list[Record]:
    """The records that are kept, one for each game."""
    return [json.loads(line) for line in RECORDS.read_text(encoding="utf-8").splitlines()]


def play(game: str) -> Record:
    """Play a match until a deal is not passed out and, where hands have several sizes, has `CARDS` cards each."""
    has_sizes = bool(make_rules(GAMES[game]).schedule)
    deals = record_matches(game, seed=SEED, players=PLAYER)
    return next(deal for deal in deals if deal["trump"] and deal["hand_size"] == (CARDS if has_sizes else deal["hand_size"]))


def write_pages(folder: Path) -> None:
    """Write the page of each deal into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for record in records():
        game = GAMES[record["variant"]]
        page = page_of(film_of([record], Shown(None, NAMES)), f"A deal of {game.title}")
        (folder / f"{game.name}.html").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
