"""Films of recorded deals: the drawing of every moment, from the view of a seat or with all hands open.

A drawing consists of parts (`noms_env.show.picture`), most of which do not change between moments. A film stores each part's
text once, and for each moment the indices of its texts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
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
from ..session import RankedActions, action_probabilities, action_values

ALL_HANDS = "all"
"""Name of the view with all hands open; the name of any other view is its seat."""
Evaluation = dict[str, dict[str, Any]]
"""See `evaluation_of`."""


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

    def views(self, seats: int) -> list[int | None]:
        """Return the seats whose views are shown; None stands for all hands."""
        return [None, *range(seats)] if self.seat is None else [self.seat]


@dataclass(frozen=True)
class Moment:
    """A table before a decision, or after the last one, with a player's evaluation of the decision.

    Attributes:
        table: the table at this moment; the next moment changes it in place.
        taken: word of the next action; None after the last one.
        options: evaluation of each legal action, by word; empty without a player.
    """

    table: Table
    taken: str | None
    options: Evaluation

    def notes(self, names: Sequence[str], sees_options: bool) -> Notes:
        """Return the notes of the drawing."""
        shown = self.options if sees_options else {}
        chances = {word: option["p"] for word, option in shown.items() if "p" in option}
        values = {word: option["v"] for word, option in shown.items() if "v" in option}
        return Notes(names, chances, values, self.taken if sees_options else None)

    def view(self, seat: int | None) -> View:
        """Return the view of a seat; with None the full view."""
        return look(self.table, seat, full=seat is None)


def moments(record: Record, shown: Shown, before: Table | None = None) -> Iterator[Moment]:
    """Yield the moments of a deal, evaluated by the players of `shown`; see `noms_env.record.replay` for `before`.

    Raises:
        RecordError: the record cannot be replayed, or not to its end.
    """
    rng = np.random.default_rng([shown.seed, record["match"], record["deal"]])
    steps = [step["action"] for step in record["steps"]]
    for number, table in enumerate(replay(record, before)):
        taken = steps[number] if number < len(steps) else None
        options: Evaluation = {}
        if taken is not None and shown.players:
            player = shown.players[int(table.row.seat) if len(shown.players) > 1 else 0]
            options = evaluation_of(table, action_probabilities(player, table), action_values(player, table, rng))
        yield Moment(table, taken, options)


def evaluation_of(table: Table, probabilities: RankedActions | None, values: Sequence[ActionValue]) -> Evaluation:
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


@dataclass
class Film:
    """Drawings of recorded deals, for a page.

    Attributes:
        texts: distinct texts of the parts.
        deals: data of the deals; see `add`.
        decks: kinds of the decks in use.
    """

    texts: list[str] = field(default_factory=list)
    deals: list[dict[str, Any]] = field(default_factory=list)
    decks: set[int] = field(default_factory=set)
    _numbers: dict[str, int] = field(default_factory=dict)

    def number(self, text: str) -> int:
        """Return the index of a text, adding it if it is new."""
        if text not in self._numbers:
            self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return self._numbers[text]

    def add(self, record: Record, shown: Shown, before: Table | None = None) -> None:
        """Add a deal; after a `RecordError` the film holds unused texts, but no such deal."""
        views = {ALL_HANDS if seat is None else str(seat): seat for seat in shown.views(record["seats"])}
        drawn: dict[str, dict[str, Any]] = {name: {"parts": [], "frames": []} for name in views}
        words, table = [], before
        for moment in moments(record, shown, before):
            table = moment.table
            words.append(describe_moment(moment, shown, describe_action))
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
                "moments": words,
                "views": drawn,
                "result": results(table, shown.names),
            }
        )

    def data(self) -> dict[str, Any]:
        """Return the data of the page, for JSON."""
        drawn = "".join(symbol for deck in sorted(self.decks) for symbol in symbols(deck).values())
        return {"texts": self.texts, "deals": self.deals, "symbols": drawn}


MAX_LOSSES = 12
"""Number of mistakes shown per deal."""


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


def lost_by(seat: int | None, losses: Iterable[Loss]) -> dict[str, float]:
    """Return the points that a seat lost by its decisions in a deal, and the number of judged decisions."""
    own = [loss.points for loss in losses if loss.seat == seat]
    return {"points": round(sum(own), 3), "decisions": len(own)}


def results(table: Table, names: Sequence[str]) -> list[str]:
    """Describe the results of a scored deal, one line each."""
    by_seat = [names[seat] if seat < len(names) else "" for seat in range(table.seats)]
    return [" ".join(line.split()) for line in result_lines(look(table, None), by_seat)]


def film_of(records: Sequence[Record], shown: Shown, chosen: Sequence[bool] | None = None) -> Film:
    """Make the film of the chosen records (default: all), which are in order of play.

    Raises:
        RecordError: a record cannot be replayed.
    """
    film = Film()
    for (record, before), is_shown in zip(pair_with_previous(records), chosen or [True] * len(records), strict=True):
        if is_shown:
            film.add(record, shown, before)
    return film
