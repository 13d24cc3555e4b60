"""Films of recorded deals: the drawing of every moment, as one HTML file, as pictures, or as data for a page.

A drawing consists of parts (`noms_env.show.picture`), most of which do not change between moments. A film stores each part's
text once, and for each moment the indices of its texts.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from noms_env.core.cards import CARD_NUMBERS
from noms_env.core.messages import clean_name
from noms_env.players import ActionValue, Player
from noms_env.record import Record, replay
from noms_env.record.replaying import pair_with_previous
from noms_env.show.cards import printed_rank, symbols
from noms_env.show.elements import escape_text
from noms_env.show.lines import status
from noms_env.show.picture import drawing, parts
from noms_env.show.pixels import FONTS, import_renderer, png
from noms_env.show.theme import Theme, page_style_sheet
from noms_env.show.view import Notes, View, look
from noms_env.table import Table

from ...evaluation.mistakes import NOT_JUDGED, Loss, biggest
from ..narrate import action_text
from ..score_sheet import result_lines
from ..session import RankedActions, action_probabilities, action_values

ALL_HANDS = "all"
"""Name of the view with all hands open; the name of any other view is its seat."""
MAX_LOSSES = 12
"""Number of mistakes shown per deal."""
ASSETS = Path(__file__).parent / "assets"
SCRIPTS = ("board.js", "replay.js")
SUFFIXES = (".svg", ".png", ".gif")
PNG_ZOOM, GIF_ZOOM = 1.5, 0.5
"""Pixels per unit of the drawing (720 by 920 units)."""
GIF_MILLISECONDS, GIF_END = 900, 4000
"""Duration of each frame, and of the last one."""
GIF_COLOURS = 48


@dataclass(frozen=True)
class Shown:
    """Settings of a film.

    Attributes:
        seat: the only view; None for the views of all seats and the one with all hands.
        names: names by seat, cleaned by `clean_name`; default `Seat 0`, `Seat 1` and so on.
        players: players whose probabilities or values are shown: none, one for all seats, or one per seat.
        seed: seed of the players' searches.
    """

    seat: int | None = None
    names: Sequence[str] = ()
    players: Sequence[Player] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(map(clean_name, self.names)))


@dataclass(frozen=True)
class Moment:
    """A table before a decision, or after the last one, with a player's evaluation of the decision.

    Attributes:
        table: the table at this moment; the next moment changes it in place.
        taken: word of the next action; None after the last one.
        options: evaluation of each legal action, by word (`evaluation_of`); empty without a player.
    """

    table: Table
    taken: str | None
    options: dict[str, dict[str, Any]]

    def seen_by(self, seat: int | None, names: Sequence[str]) -> tuple[View, Notes]:
        """Return the view of a seat (None: with all hands), and the notes that it gets; only on its turn an evaluation."""
        sees_options = self.taken is not None and seat in (None, int(self.table.row.seat))
        shown = self.options if sees_options else {}
        chances = {word: option["p"] for word, option in shown.items() if "p" in option}
        values = {word: option["v"] for word, option in shown.items() if "v" in option}
        notes = Notes(names, chances, values, self.taken if sees_options else None)
        return look(self.table, seat, full=seat is None), notes


def moments(record: Record, shown: Shown, before: Table | None = None) -> Iterator[Moment]:
    """Yield the moments of a deal, evaluated by the players of `shown`; see `noms_env.record.replay` for `before`.

    Raises:
        RecordError: the record cannot be replayed, or not to its end.
    """
    rng = np.random.default_rng([shown.seed, record["match"], record["deal"]])
    steps = [step["action"] for step in record["steps"]]
    for table, taken in zip(replay(record, before), [*steps, None], strict=True):
        options = {}
        if taken is not None and shown.players:
            player = shown.players[int(table.row.seat) if len(shown.players) > 1 else 0]
            options = evaluation_of(table, action_probabilities(player, table), action_values(player, table, rng))
        yield Moment(table, taken, options)


def evaluation_of(
    table: Table, probabilities: RankedActions | None, values: Sequence[ActionValue]
) -> dict[str, dict[str, Any]]:
    """Return an evaluation of legal actions for JSON, by word.

    Each action has `p`, its probability, or `v` and `e`, its points and their standard error (None if unknown), or both.
    """
    options = {table.word(action): dict[str, Any](p=round(chance, 4)) for action, chance in probabilities or ()}
    for value in values:
        points = {"v": round(value.mean, 3), "e": None if math.isnan(value.error) else round(value.error, 3)}
        options.setdefault(table.word(value.action), {}).update(points)
    return options


def describe_action(table: Table, word: str) -> str:
    """Return an action of the current phase in words, with ranks as in drawings."""
    text = action_text(table, table.number(word), False)
    return printed_rank(text[0]) + text[1:] if word in CARD_NUMBERS[table.deck_kind] else text


def describe_moment(moment: Moment, shown: Shown, say: Callable[[Table, str], str]) -> dict[str, Any]:
    """Describe a moment for JSON: status, seat, action and evaluation; `say` puts an action into words."""
    table = moment.table
    words: dict[str, Any] = {"status": status(look(table, None), Notes(shown.names).name)}
    if moment.taken is None:
        return words
    seat = int(table.row.seat)
    words |= {"seat": seat, "taken": moment.taken, "said": say(table, moment.taken)}
    if moment.options and shown.seat in (None, seat):
        words["options"] = [{"word": word, "said": say(table, word), **option} for word, option in moment.options.items()]
    return words


def describe_deal(record: Record, table: Table, shown: Shown, described: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a scored deal for JSON: title, names of the seats, described moments, and result in lines."""
    return {
        "title": f"Match {record['match']}, deal {record['deal']}",
        "names": [Notes(shown.names).name(seat) for seat in range(table.seats)],
        "moments": described,
        "result": results(table, shown.names),
    }


def results(table: Table, names: Sequence[str]) -> list[str]:
    """Describe the results of a scored deal, one line each."""
    by_seat = [names[seat] if seat < len(names) else "" for seat in range(table.seats)]
    return [" ".join(line.split()) for line in result_lines(look(table, None), by_seat)]


def lost_by(seat: int | None, losses: Iterable[Loss]) -> dict[str, float]:
    """Return the points that a seat lost by its decisions in a deal, and the number of judged decisions."""
    own = [loss.points for loss in losses if loss.seat == seat]
    return {"points": round(sum(own), 3), "decisions": len(own)}


# ------------------------------------------------------------------------------------------------------ the page


def film_of(records: Sequence[Record], shown: Shown, chosen: Sequence[bool] | None = None) -> dict[str, Any]:
    """Make the film of the chosen records (default: all), which are in order of play.

    Returns:
        JSON data: `texts` (distinct texts of the parts), `deals` (`describe_deal`, and in `views` by name the `parts` and
        the `frames`, indices of their texts at each moment), and `symbols`.

    Raises:
        RecordError: a record cannot be replayed.
    """
    numbers = dict[str, int]()
    deals, decks = [], set[int]()
    for (record, before), is_shown in zip(pair_with_previous(records), chosen or [True] * len(records), strict=True):
        if not is_shown:
            continue
        seats = [None, *range(record["seats"])] if shown.seat is None else [shown.seat]
        views: dict[str, dict[str, Any]] = {ALL_HANDS if seat is None else str(seat): {"frames": []} for seat in seats}
        described, table = [], before
        for moment in moments(record, shown, before):
            table = moment.table
            described.append(describe_moment(moment, shown, describe_action))
            for seat, view in zip(seats, views.values(), strict=True):
                drawn = parts(*moment.seen_by(seat, shown.names))
                view["parts"] = [*drawn]
                view["frames"].append([numbers.setdefault(text, len(numbers)) for text in drawn.values()])
        assert table is not None, "a record has a moment at least"
        decks.add(table.deck_kind)
        deals.append({**describe_deal(record, table, shown, described), "views": views})
    drawn_symbols = "".join(symbol for deck in sorted(decks) for symbol in symbols(deck).values())
    return {"texts": [*numbers], "deals": deals, "symbols": drawn_symbols}


def tell_losses(deal: dict[str, Any], losses: Iterable[Loss] | None) -> None:
    """Add the biggest mistakes of a deal to its film data, or the reason why it was not judged."""
    if losses is None:
        deal["not_judged"] = NOT_JUDGED
    deal["losses"] = [
        {
            "moment": loss.step,
            "text": f"{deal['names'][loss.seat]}: {deal['moments'][loss.step]['said']}, better "
            f"{printed_rank(loss.best[0])}{loss.best[1:]}",
            "points": round(loss.points, 2),
            "error": round(loss.error, 2),
            "sure": loss.is_sure,
        }
        for loss in biggest(losses or (), MAX_LOSSES)
    ]


def page_of(film: dict[str, Any], title: str) -> str:
    """Return one HTML file with a film of at least one deal, and any text as title. It needs no server and no network.

    Its Content-Security-Policy allows only the embedded scripts and loads nothing.
    """
    packed = base64.b64encode(zlib.compress(json.dumps(film, separators=(",", ":")).encode(), 9)).decode()
    sheets = {"fonts": font_faces(), "drawing": page_style_sheet(), "tokens": _asset("tokens.css"), "page": _asset("page.css")}
    script = "\n".join(_asset(name).replace('"use strict";', "") for name in SCRIPTS)
    policy = (
        f"default-src 'none'; script-src {_digest(script)}; style-src {' '.join(map(_digest, sheets.values()))}; "
        "img-src blob:; font-src data:; base-uri 'none'; form-action 'none'"
    )
    fills = {"policy": policy, "title": escape_text(title), "script": script, "film": packed, **sheets}
    return re.sub(r"\{\{(\w+)\}\}", lambda mark: fills[mark[1]], _asset("replay.html"))


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


def font_faces(address: str | None = None) -> str:
    """Return the font faces of a style sheet, loaded from `address`, or embedded if it is None."""
    faces = []
    for file in map(Path, FONTS):
        source = f"{address}{file.name}" if address else f"data:font/ttf;base64,{base64.b64encode(file.read_bytes()).decode()}"
        weight = re.sub(r"\D", "", file.stem)
        faces.append(f'@font-face{{font-family:Inter;font-weight:{weight};src:url("{source}")}}')
    return "".join(faces)


def _digest(text: str) -> str:
    """Return the hash of a text for a Content-Security-Policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


# ------------------------------------------------------------------------------------------------------ pictures


def drawings(record: Record, shown: Shown, theme: Theme, before: Table | None = None) -> list[str]:
    """Draw all moments of a deal from the view of `shown.seat`; with None, all hands are open.

    Raises:
        RecordError: the record cannot be replayed.
    """
    return [drawing(*moment.seen_by(shown.seat, shown.names), theme) for moment in moments(record, shown, before)]


def picture(drawn: Sequence[str], suffix: str, moment: int | None = None) -> bytes:
    """Return the content of a picture file, from the result of `drawings`.

    `moment` is a number of decisions; None means the end of the deal. A GIF shows all moments.

    Raises:
        ValueError: no such suffix, or no such moment.
        ModuleNotFoundError: a library of the extra `render` is not installed.
    """
    if suffix not in SUFFIXES:
        raise ValueError(f"a picture must be a file that ends with {', '.join(SUFFIXES)}, not {suffix or 'without an ending'}")
    if suffix == ".gif":
        if moment is not None:
            raise ValueError("a GIF shows all moments of a deal; leave the moment out")
        return _animation(drawn)
    if moment is not None and not 0 <= moment < len(drawn):
        raise ValueError(f"the moment must be from 0 to {len(drawn) - 1} in this deal, not {moment}")
    chosen = drawn[-1 if moment is None else moment]
    return chosen.encode() if suffix == ".svg" else png(chosen, PNG_ZOOM)


def _animation(drawn: Sequence[str]) -> bytes:
    """Make an animated GIF of drawings, with the palette of the middle one."""
    image = import_renderer("PIL.Image")
    frames = [image.open(BytesIO(png(frame, GIF_ZOOM))).convert("RGB") for frame in drawn]
    palette = frames[len(frames) // 2].quantize(GIF_COLOURS)
    flat = [frame.quantize(palette=palette, dither=image.Dither.NONE) for frame in frames]
    file, times = BytesIO(), [*[GIF_MILLISECONDS] * (len(flat) - 1), GIF_END]
    flat[0].save(file, "GIF", save_all=True, append_images=flat[1:], duration=times, loop=0, optimize=True)
    return file.getvalue()
