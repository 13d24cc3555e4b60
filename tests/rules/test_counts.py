"""Exhaustive counts: every history of a small deal, in the engine and in the referee.

From a fixed deal all legal actions are tried at every decision. The number of decisions in each phase, of deals played to
the end and of points made must be the same on both sides, and the same as ever. Sizes are unequal on purpose (suits,
ranks, seats, cards a seat), so that no two of them can be mistaken for one another.
"""

from __future__ import annotations

import copy
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest

from noms_env.actions import FIRST_WORD, NOMINATE, PHASES, PLAYING, SCORED
from noms_env.cards import cards_in
from noms_env.engine.rows import kernel_view, step_row
from noms_env.engine.table import Table
from noms_env.state import new_tables
from tests import referee


MOST_DECISIONS = 64


class Counts(NamedTuple):
    """What an enumeration finds."""

    decisions: dict[str, int]  # by phase
    ends: int  # deals played to the end
    points: list[float]  # by seat, summed over the ends
    unfinished: int = 0  # histories cut off at the depth of the case


@dataclass(frozen=True)
class Case:
    """A fixed deal: its table, the seed of its deck, and how much of it is enumerated."""

    variant: str
    seats: int
    options: dict[str, Any] = field(default_factory=dict)
    deck_seed: int = 0
    dealer: int = 1
    deal: int = 0
    multiplier: int = 1
    tricks_left: int | None = None  # enumerate the last tricks only, after a random play
    depth: int = 1000  # enumerate so many decisions deep

    def deck(self) -> list[str]:
        """The deck in dealing order: a shuffle that has nothing to do with the engine's."""
        deck = referee.deck_of(self.variant, referee.complete_options(self.variant, self.seats, self.options))
        random.Random(self.deck_seed).shuffle(deck)
        return deck

    def both(self) -> tuple[Table, referee.Deal]:
        """The position on both sides."""
        table = Table(self.variant, self.seats, self.options)
        table.start(deck=self.deck(), dealer=self.dealer, deal=self.deal, multiplier=self.multiplier)
        arbiter = referee.Deal(
            self.variant,
            self.seats,
            referee.complete_options(self.variant, self.seats, self.options),
            deal=self.deal,
            dealer=self.dealer,
            deck=self.deck(),
            multiplier=self.multiplier,
            random_trump=table.trump_word(),
        )
        self.play_down(table, arbiter)
        return table, arbiter

    def play_down(self, table: Table, arbiter: referee.Deal) -> None:
        """A random play, chosen by the referee, down to the tricks that are enumerated."""
        if self.tricks_left is None:
            return
        rng = random.Random(self.deck_seed)
        while arbiter.hand_size - len(arbiter.trick_history) > self.tricks_left:
            word = rng.choice(sorted(arbiter.legal()))
            arbiter.act(word)
            table.act(word)


class Sums:
    """Counts in the making."""

    def __init__(self, seats: int) -> None:
        self.decisions: Counter[str] = Counter()
        self.ends = 0
        self.points = [0.0] * seats
        self.unfinished = 0

    def add_end(self, points: Any) -> None:
        self.ends += 1
        for seat in range(len(self.points)):
            self.points[seat] += float(points[seat])

    def result(self) -> Counts:
        return Counts(dict(self.decisions), self.ends, [round(number, 6) for number in self.points], self.unfinished)


class EngineWalk:
    """Depth first through the engine: the position at each depth is a row of one array of tables."""

    def __init__(self, table: Table, deepest: int, sums: Sums) -> None:
        self.stack = new_tables(MOST_DECISIONS)
        self.stack[0] = table.row
        self.tables = kernel_view(self.stack)
        self.deepest = deepest
        self.sums = sums
        fields = self.stack.view(np.ndarray)
        self.phase, self.points = fields["phase"], fields["points"]
        self.cards, self.words = fields["legal_cards"], fields["legal_words"]

    def walk(self, depth: int = 0) -> None:
        phase = int(self.phase[depth])
        if phase == SCORED:
            self.sums.add_end(self.points[depth])
        elif depth == self.deepest:
            self.sums.unfinished += 1
        else:
            self.sums.decisions[PHASES[phase]] += 1
            for action in self.legal(depth, phase):
                self.tables[depth + 1] = self.tables[depth]
                assert step_row(self.tables, depth + 1, action) >= 0
                self.walk(depth + 1)

    def legal(self, depth: int, phase: int) -> list[int]:
        first = 0 if phase == PLAYING else NOMINATE
        cards = [first + card for card in cards_in(self.cards[depth])]
        return cards + [FIRST_WORD + word for word in cards_in(self.words[depth])]


def walk_referee(deal: referee.Deal, depth: int, sums: Sums) -> None:
    if deal.phase is None:
        sums.add_end(deal.points)
    elif depth == 0:
        sums.unfinished += 1
    else:
        sums.decisions[deal.phase] += 1
        for word in deal.legal():
            after = twin(deal)
            after.act(word)
            walk_referee(after, depth - 1, sums)


def twin(deal: referee.Deal) -> referee.Deal:
    """A copy as deep as the referee's actions reach."""
    other = copy.copy(deal)
    other.hands = [list(hand) for hand in deal.hands]
    other.calls, other.refused, other.steps = list(deal.calls), list(deal.refused), []
    other.trick_history, other.table = list(deal.trick_history), list(deal.table)
    return other


def check(case: Case, expected: Counts) -> None:
    table, arbiter = case.both()
    engine, slow = Sums(case.seats), Sums(case.seats)
    EngineWalk(table, case.depth, engine).walk()
    walk_referee(arbiter, case.depth, slow)
    assert engine.result() == slow.result()
    assert engine.result() == expected


QUICK: list[tuple[Case, Counts]] = []  # CASES
SOAK: list[tuple[Case, Counts]] = []


@pytest.mark.parametrize(("case", "expected"), QUICK)
def test_counts(case: Case, expected: Counts) -> None:
    check(case, expected)


@pytest.mark.soak
@pytest.mark.parametrize(("case", "expected"), SOAK)
def test_larger_counts(case: Case, expected: Counts) -> None:
    check(case, expected)


def test_every_variant_and_phase_is_counted() -> None:
    assert {case.variant for case, _ in QUICK} == set(referee.VARIANTS)
    assert {phase for _, counts in QUICK for phase in counts.decisions} == {"call", "trump", "nominate", "play", "suit"}
