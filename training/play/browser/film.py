"""Recorded deals as a film: the drawing of every moment, from the view of a seat or with all hands open.

A drawing consists of parts (`noms_env.show.picture`), and most parts of a moment are those of the moment before. A film holds
each text of a part once, and for each moment the numbers of its texts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from noms_env.core.messages import clean_name
from noms_env.players import ActionValue, Player
from noms_env.record import Record, replay
from noms_env.record.replaying import replayed
from noms_env.show.cards import symbols
from noms_env.show.lines import status
from noms_env.show.notes import Notes
from noms_env.show.picture import parts
from noms_env.show.view import View, look
from noms_env.table import Table

from ...evaluation.mistakes import NOT_JUDGED, Loss, biggest
from ..narrate import action_text
from ..score_sheet import result_lines
from ..session import action_probabilities, action_values

ALL_HANDS = "all"
"""The view with all hands open; the others are named by their seats."""


@dataclass(frozen=True)
class Shown:
    """What is shown of recorded deals.

    Attributes:
        seat: only what this seat sees; every seat's view and that with all hands where it is None.
        names: of the players, seat by seat, kept as `clean_name` makes them; `Seat 0` and so on where there are none.
        players: those whose probabilities, or values, are shown: none, one for all seats, or one for each.
        seed: of the players' searches.
    """

    seat: int | None = None
    names: Sequence[str] = ()
    players: Sequence[Player] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(map(clean_name, self.names)))

    def views(self, seats: int) -> list[int | None]:
        """The seats whose views are shown; None stands for all hands."""
        return [None, *range(seats)] if self.seat is None else [self.seat]


@dataclass(frozen=True)
class Moment:
    """A table before a decision, or after the last one; with what a player thinks of the decision.

    Attributes:
        table: as it is then; the next moment changes it.
        taken: word of the action that is taken next; None after the last one.
        options: per word of a legal action what is shown of it; none where there is no player.
    """

    table: Table
    taken: str | None
    options: dict[str, dict[str, Any]]

    def notes(self, names: Sequence[str], sees_options: bool) -> Notes:
        """The notes of the drawing."""
        shown = self.options if sees_options else {}
        chances = {word: one["p"] for word, one in shown.items() if "p" in one}
        values = {word: one["v"] for word, one in shown.items() if "v" in one}
        return Notes(names, chances, values, self.taken if sees_options else None)

    def view(self, seat: int | None) -> View:
        """What a seat sees; everything where it is None."""
        return look(self.table, seat, full=seat is None)


def moments(record: Record, shown: Shown, before: Table | None = None) -> Iterator[Moment]:
    """The moments of a deal.

    Args:
        record: of the deal.
        shown: what is asked of the players.
        before: see `noms_env.record.replay`.

    Raises:
        RecordError: the record cannot be played (any further).
    """
    rng = np.random.default_rng([shown.seed, record["match"], record["deal"]])
    steps = [step["action"] for step in record["steps"]]
    for number, table in enumerate(replay(record, before)):
        taken = steps[number] if number < len(steps) else None
        yield Moment(table, taken, {} if taken is None or not shown.players else options_of(table, shown, rng))


def options_of(table: Table, shown: Shown, rng: np.random.Generator) -> dict[str, dict[str, Any]]:
    """What the player of the seat to act thinks of its legal actions, by word: `p`, a probability, or see `points_of`."""
    seat = int(table.row.seat)
    player = shown.players[seat if len(shown.players) > 1 else 0]
    options: dict[str, dict[str, Any]] = {}
    for action, chance in action_probabilities(player, table) or ():
        options[table.word(action)] = {"p": round(chance, 4)}
    for value in action_values(player, table, rng):
        options.setdefault(table.word(value.action), {}).update(points_of(value))
    return options


def points_of(value: ActionValue) -> dict[str, float | None]:
    """What a search expects of an action, for JSON: `v`, points, and `e`, their error, None where that is unknown."""
    return {"v": round(value.mean, 3), "e": None if math.isnan(value.error) else round(value.error, 3)}


def said(table: Table, word: str) -> str:
    """An action of the present phase in words, without colours."""
    return action_text(table, table.number(word), False)


@dataclass
class Film:
    """The drawings of recorded deals, as a page wants them.

    Attributes:
        texts: of the parts, each once.
        deals: see `add`.
        decks: kinds of the decks that occur.
    """

    texts: list[str] = field(default_factory=list)
    deals: list[dict[str, Any]] = field(default_factory=list)
    decks: set[int] = field(default_factory=set)
    _numbers: dict[str, int] = field(default_factory=dict)

    def number(self, text: str) -> int:
        """The number of a text."""
        if text not in self._numbers:
            self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return self._numbers[text]

    def add(self, record: Record, shown: Shown, before: Table | None = None) -> None:
        """Add a deal.

        Raises:
            RecordError: the record cannot be played; the film is unchanged but for texts that nothing uses.
        """
        views = {ALL_HANDS if seat is None else str(seat): seat for seat in shown.views(record["seats"])}
        drawn: dict[str, dict[str, Any]] = {name: {"parts": [], "frames": []} for name in views}
        told, table = [], before
        for moment in moments(record, shown, before):
            table = moment.table
            told.append(self._told(moment, shown))
            for name, seat in views.items():
                sees_options = moment.taken is not None and seat in (None, int(table.row.seat))
                content = parts(moment.view(seat), moment.notes(shown.names, sees_options))
                drawn[name]["parts"] = [*content]
                drawn[name]["frames"].append([self.number(text) for text in content.values()])
        assert table is not None, "a record has a moment at least"
        self.decks.add(table.deck_kind)
        self.deals.append(
            {
                "title": f"Match {record['match']}, deal {record['deal']}",
                "names": [Notes(shown.names).name(seat) for seat in range(table.seats)],
                "moments": told,
                "views": drawn,
                "result": results(table, shown.names),
            }
        )

    def _told(self, moment: Moment, shown: Shown) -> dict[str, Any]:
        """A moment in words: who acts, what is done, and what is thought of it."""
        table = moment.table
        told: dict[str, Any] = {"status": status(look(table, None), Notes(shown.names).name)}
        if moment.taken is None:
            return told
        seat = int(table.row.seat)
        told |= {"seat": seat, "taken": moment.taken, "said": said(table, moment.taken)}
        if moment.options and shown.seat in (None, seat):
            told["options"] = [{"word": word, "said": said(table, word), **one} for word, one in moment.options.items()]
        return told

    def data(self) -> dict[str, Any]:
        """All that the page needs, for JSON."""
        return {"texts": self.texts, "deals": self.deals, "symbols": "".join(map(symbols_of, sorted(self.decks)))}


MOST_LOSSES = 12
"""Mistakes of a deal that are shown."""


def tell_losses(deal: dict[str, Any], found: Iterable[Loss] | None) -> None:
    """Put the biggest mistakes into a deal of a film: where they are, and what they cost; or why it was not judged."""
    if found is None:
        deal["not_judged"] = NOT_JUDGED
    deal["losses"] = [
        {
            "moment": one.step,
            "text": f"{deal['names'][one.seat]}: {deal['moments'][one.step]['said']}, better {one.best}",
            "points": round(one.points, 2),
            "error": round(one.error, 2),
            "sure": one.is_sure,
        }
        for one in biggest(found or (), MOST_LOSSES)
    ]


def results(table: Table, names: Sequence[str]) -> list[str]:
    """What a scored deal brought, in words."""
    known = [names[seat] if seat < len(names) else "" for seat in range(table.seats)]
    return [" ".join(line.split()) for line in result_lines(look(table, None), known)]


def symbols_of(deck_kind: int) -> str:
    """All symbols of a deck."""
    return "".join(symbols(deck_kind).values())


def film_of(records: Sequence[Record], shown: Shown, chosen: Sequence[bool] | None = None) -> Film:
    """The film of records; each deal remembers the one before it of the same match.

    Args:
        records: in the order in which they were played.
        shown: what is shown of them.
        chosen: which of them are in the film; all when None.

    Raises:
        RecordError: a record cannot be played.
    """
    film = Film()
    for (record, before), is_shown in zip(replayed(records), chosen or [True] * len(records), strict=True):
        if is_shown:
            film.add(record, shown, before)
    return film
