"""Recorded deals as a film: the drawing of every moment, from the view of a seat or with all hands open.

A drawing consists of parts (`noms_env.show.picture`), most of which do not change between moments. A film stores each part's
text once, and for each moment the indices of its texts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from noms_env.core.cards import CARD_NUMBERS
from noms_env.core.messages import clean_name
from noms_env.players import ActionValue, Player
from noms_env.record import Record, replay
from noms_env.record.replaying import pair_with_previous
from noms_env.show.cards import printed_rank, symbols
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
    """What to show of recorded deals.

    Attributes:
        seat: the only view; None for the views of all seats and the one with all hands.
        names: of the players, seat by seat, cleaned by `clean_name`; `Seat 0` and so on by default.
        players: players whose probabilities or values are shown: none, one for all seats, or one for each.
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
    """A table before a decision, or after the last one, with a player's evaluation of the decision.

    Attributes:
        table: the table then; the next moment changes it.
        taken: word of the next action; None after the last one.
        options: evaluation of each legal action, by word; empty without a player.
    """

    table: Table
    taken: str | None
    options: dict[str, dict[str, Any]]

    def notes(self, names: Sequence[str], sees_options: bool) -> Notes:
        """The notes of the drawing."""
        shown = self.options if sees_options else {}
        chances = {word: option["p"] for word, option in shown.items() if "p" in option}
        values = {word: option["v"] for word, option in shown.items() if "v" in option}
        return Notes(names, chances, values, self.taken if sees_options else None)

    def view(self, seat: int | None) -> View:
        """What a seat sees; everything where it is None."""
        return look(self.table, seat, full=seat is None)


def moments(record: Record, shown: Shown, before: Table | None = None) -> Iterator[Moment]:
    """The moments of a deal.

    Args:
        record: of the deal.
        shown: the players to ask.
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
    """A player's evaluation of the legal actions, by word: `p`, a probability, or the values of `points_of`."""
    seat = int(table.row.seat)
    player = shown.players[seat if len(shown.players) > 1 else 0]
    options: dict[str, dict[str, Any]] = {}
    for action, chance in action_probabilities(player, table) or ():
        options[table.word(action)] = {"p": round(chance, 4)}
    for value in action_values(player, table, rng):
        options.setdefault(table.word(value.action), {}).update(points_of(value))
    return options


def points_of(value: ActionValue) -> dict[str, float | None]:
    """The value of an action by a search, for JSON: `v`, points, and `e`, their standard error, None if unknown."""
    return {"v": round(value.mean, 3), "e": None if math.isnan(value.error) else round(value.error, 3)}


def describe_action(table: Table, word: str) -> str:
    """An action of the present phase in words, with the ranks of cards as they are printed."""
    text = action_text(table, table.number(word), False)
    return printed_rank(text[0]) + text[1:] if word in CARD_NUMBERS[table.deck_kind] else text


@dataclass
class Film:
    """The drawings of recorded deals, for a page.

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
            told.append(self._describe_moment(moment, shown))
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

    def _describe_moment(self, moment: Moment, shown: Shown) -> dict[str, Any]:
        """A moment in words: the seat, its action, and the evaluation."""
        table = moment.table
        told: dict[str, Any] = {"status": status(look(table, None), Notes(shown.names).name)}
        if moment.taken is None:
            return told
        seat = int(table.row.seat)
        told |= {"seat": seat, "taken": moment.taken, "said": describe_action(table, moment.taken)}
        if moment.options and shown.seat in (None, seat):
            told["options"] = [
                {"word": word, "said": describe_action(table, word), **option} for word, option in moment.options.items()
            ]
        return told

    def data(self) -> dict[str, Any]:
        """All that the page needs, for JSON."""
        return {"texts": self.texts, "deals": self.deals, "symbols": "".join(map(symbols_of, sorted(self.decks)))}


MOST_LOSSES = 12
"""Mistakes of a deal that are shown."""


def tell_losses(deal: dict[str, Any], losses: Iterable[Loss] | None) -> None:
    """Add the biggest mistakes to a deal of a film: their moments and costs, or the reason why it was not judged."""
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
        for loss in biggest(losses or (), MOST_LOSSES)
    ]


def lost_by(seat: int | None, losses: Iterable[Loss]) -> dict[str, float]:
    """What a seat lost in a deal, in points, and the number of its decisions that were judged."""
    own = [loss.points for loss in losses if loss.seat == seat]
    return {"points": round(sum(own), 3), "decisions": len(own)}


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
    for (record, before), is_shown in zip(pair_with_previous(records), chosen or [True] * len(records), strict=True):
        if is_shown:
            film.add(record, shown, before)
    return film
