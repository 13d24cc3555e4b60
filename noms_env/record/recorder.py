"""Recording of deals while they are played."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any

import numpy as np

from noms_env.core.actions import brief, is_integer
from noms_env.core.cards import CARD_WORDS, cards_in
from noms_env.players import Player, Players, ask, load_players, recalled
from noms_env.record.form import FORMAT, Record
from noms_env.table import Table


class Recorder:
    """Collects the decisions of a deal and builds its record.

    A recorder serves one table, from the first decision of a deal. After `finish` it is ready for the next deal.
    """

    def __init__(self, *, legal: bool = False) -> None:
        """Start without a deal.

        Args:
            legal: record the legal actions with each decision.
        """
        self._legal = legal
        self._head: Record | None = None
        self._steps: list[Record] = []

    def note(self, table: Table, action: int) -> None:
        """Record a decision, just before `table.step(action)`.

        Args:
            table: the table, before the step.
            action: the legal action that the seat to act takes.

        Raises:
            IllegalActionError: the action is not legal; nothing is recorded.
        """
        action = table.check_action(action)
        if self._head is None:
            self._head = head_of(table)
        step: Record = {"seat": int(table.row.seat), "phase": table.phase, "action": table.word(action)}
        if self._legal:
            step["legal"] = table.legal_words()
        self._steps.append(step)

    def finish(self, table: Table) -> Record:
        """Return the record of the deal just scored. Call this before `table.next_deal()`.

        Raises:
            ValueError: the deal is not scored yet, or none of its decisions was recorded.
        """
        if not table.is_scored or self._head is None:
            raise ValueError("a record needs a scored deal with every decision noted")
        record = {**self._head, "steps": self._steps, **result_of(table)}
        self._head, self._steps = None, []
        return record


def head_of(table: Table) -> Record:
    """Return the part of the record that is known before the first decision."""
    row, seats = table.row, range(table.seats)
    deck = [CARD_WORDS[table.deck_kind][card] for card in row.deck[: len(table.rules.deck)]]
    return {
        "format": FORMAT,
        "variant": table.rules.variant.name,
        "seats": table.seats,
        "options": copy.deepcopy(table.rules.options),
        "match": int(row.match),
        "deal": int(row.deal),
        "dealer": int(row.dealer),
        "hand_size": int(row.deal_size),
        "deck": deck,
        "hands": [table.card_words(row.hands[seat]) for seat in seats],
        "stock": deck[table.seats * row.deal_size :],
        "turn_up": CARD_WORDS[table.deck_kind][row.turn_up] if row.turn_up >= 0 else None,
        "multiplier": int(row.multiplier),
        "before": [plain(row.totals[seat]) for seat in seats],
    }


def result_of(table: Table) -> Record:
    """Return the part of the record that is known when the deal is scored."""
    row, seats = table.row, range(table.seats)
    return {
        "trump": table.trump_word(),
        "declarer": int(row.declarer) if row.declarer >= 0 else None,
        "nominated": CARD_WORDS[table.deck_kind][row.nominated] if row.nominated >= 0 else None,
        "partner": int(row.partner) if row.partner >= 0 else None,
        "tricks": [int(row.tricks[seat]) for seat in seats],
        "points": [plain(row.points[seat]) for seat in seats],
        "after": [plain(row.totals[seat]) for seat in seats],
        **end_of(row),
    }


def end_of(row: np.record) -> Record:
    """Return the part of the record about the end of the match: whether it is over, and who won."""
    return {"over": bool(row.over), "truncated": bool(row.truncated), "winners": cards_in(row.winners)}


def plain(points: float) -> int | float:
    """Return points as an int if they are a whole number, else as a float."""
    return int(points) if float(points).is_integer() else float(points)


def record_matches(
    variant: str,
    seats: int | None = None,
    matches: int = 1,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
    players: Players = "random",
    legal: bool = False,
) -> Iterator[Record]:
    """Play matches lazily and yield the records of their deals.

    Match m is match m of table 0 of the seed, so its cards do not depend on the number of matches. In every match, each seat's
    player has its own random generator: `numpy.random.Philox(key=player_key(seed, match), counter=[0, 0, 0, seat])`.

    Args:
        variant: name of the game.
        seats: number of seats; None for the variant's default.
        matches: number of matches.
        seed: 0 to 2**63 - 1.
        options: options of the variant that differ from their defaults.
        players: one for all seats, or one per seat: names (`noms_env.load_player`) or players.
        legal: record the legal actions with each decision.

    Raises:
        ValueError: an argument is not allowed.
    """
    if not is_integer(matches) or matches < 1:
        raise ValueError(f"matches must be an integer from 1, not {brief(matches)}")
    table = Table(variant, seats, dict(options or {}), seed=seed)
    seated = load_players(players, table.seats, table.rules)
    return _play_deals(table, seated, seed, int(matches), Recorder(legal=legal))


def player_key(seed: int, match: int) -> np.ndarray:
    """Return the key of the players' random generators in a match: uint64, shape (2,).

    The key is a hash (BLAKE2b, RFC 7693), so that players cannot compute the seed or the cards from it.
    """
    numbers = np.array([seed, match], "<i8").tobytes()
    return np.frombuffer(blake2b(numbers, digest_size=16, person=b"a seat's player").digest(), "<u8")


def _play_deals(table: Table, seated: list[Player], seed: int, matches: int, recorder: Recorder) -> Iterator[Record]:
    for match in range(matches):
        keys = [np.random.Philox(key=player_key(seed, match), counter=[0, 0, 0, seat]) for seat in range(table.seats)]
        streams = [np.random.Generator(key) for key in keys]
        table.start(match)
        memories: list[np.ndarray | None] = [None] * table.seats
        while not table.is_over:
            table.next_deal()  # does nothing before the first deal
            while not table.is_scored:
                seat = int(table.row.seat)
                action = ask(seated[seat], table, streams[seat], memories[seat])
                recorder.note(table, action)
                table.step(action)
            yield recorder.finish(table)
            memories = [recalled(player, table.row, memory) for player, memory in zip(seated, memories, strict=True)]
