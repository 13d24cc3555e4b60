"""Exhaustive counts of every history of small deals, in the engine and at the referee.

All legal actions are tried at every decision. The numbers of decisions in each phase and of ends, and the sums of points must
be the same on both sides, and never change. The numbers of suits, ranks, seats and cards differ, so that none can stand for
another.
"""

import copy
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from noms_env.core.actions import NUM_ACTIONS, PHASES, SCORED
from noms_env.engine.row_kernels import kernel_view, legal_row, step_row
from noms_env.table import Table
from noms_env.variants.table_record import new_tables
from tests import referee
from tests.agreement import referee_at

MAX_DECISIONS = 64
Counts = Counter[str | int]
"""Decisions by phase, "ends", the sum of points by seat, and "unfinished" histories, cut off at the depth of the case."""


@dataclass(frozen=True)
class Case:
    """A fixed deal, and the part of it to enumerate."""

    variant: str
    seats: int
    options: dict[str, Any]
    deck_seed: int = 0
    dealer: int = 1
    deal: int = 0
    multiplier: int = 1
    tricks_left: int | None = None  # only the last tricks, after random play
    depth: int = 1000

    def deck(self) -> list[str]:
        """Return the deck in dealing order, shuffled without the engine."""
        deck = referee.deck_of(self.variant, referee.complete_options(self.variant, self.seats, self.options))
        random.Random(self.deck_seed).shuffle(deck)
        return deck

    def both(self) -> tuple[Table, referee.Deal]:
        table = Table(self.variant, self.seats, self.options)
        table.start(deck=self.deck(), dealer=self.dealer, deal=self.deal, multiplier=self.multiplier)
        arbiter = referee_at(table, self.deck())
        rng = random.Random(self.deck_seed)
        while self.tricks_left is not None and arbiter.hand_size - len(arbiter.trick_history) > self.tricks_left:
            word = rng.choice(sorted(arbiter.legal()))
            arbiter.act(word)
            table.act(word)
        return table, arbiter


def cases(text: str) -> list[tuple[Case, Counts]]:
    """Parse lines: variant, seats, options and fields of the case: decisions by phase; ends; points by seat; unfinished.

    A line that begins with a space continues the one before.
    """
    out = []
    for line in text.replace("\n ", " ").strip().splitlines():
        table, _, result = line.partition(":")
        variant, seats, *words = table.split()
        values = {name: value_of(value) for name, value in (word.split("=") for word in words)}
        fields = {name: values.pop(name) for name in list(values) if name in Case.__dataclass_fields__}
        phases, (ends, _), points, *rest = (part.split() for part in result.split(";"))
        names, numbers = [*phases[::2], "ends", *range(int(seats))], [*phases[1::2], ends, *points]
        expected = Counts(dict(zip(names, map(int, numbers), strict=True)))
        expected["unfinished"] = int(rest[0][0]) if rest else 0
        out.append((Case(variant, int(seats), values, **fields), expected))
    return out


def value_of(word: str) -> Any:
    return int(word) if word.isdigit() else {"True": True, "False": False}.get(word, word)


def add_end(counts: Counts, points: Any, seats: int) -> None:
    counts["ends"] += 1
    for seat in range(seats):
        counts[seat] += points[seat]


def walk_engine(table: Table, deepest: int, counts: Counts) -> None:
    """Search the engine depth first; the position at each depth is a row of one array of tables."""
    stack, actions = new_tables(MAX_DECISIONS), np.empty((MAX_DECISIONS, NUM_ACTIONS), np.int64)
    stack[0] = table.row
    tables, fields = kernel_view(stack), stack.view(np.ndarray)
    phases, points = fields["phase"], fields["points"]

    def walk(depth: int) -> None:
        phase = int(phases[depth])
        if phase == SCORED:
            add_end(counts, points[depth], table.seats)
        elif depth == deepest:
            counts["unfinished"] += 1
        else:
            counts[PHASES[phase]] += 1
            for action in actions[depth, : legal_row(tables, depth, actions[depth])]:
                tables[depth + 1] = tables[depth]
                assert step_row(tables, depth + 1, action) >= 0
                walk(depth + 1)

    walk(0)


def walk_referee(deal: referee.Deal, depth: int, counts: Counts) -> None:
    if deal.phase is None:
        add_end(counts, deal.points, deal.seats)
    elif depth == 0:
        counts["unfinished"] += 1
    else:
        counts[deal.phase] += 1
        for word in deal.legal():
            after = twin(deal)
            after.act(word)
            walk_referee(after, depth - 1, counts)


def twin(deal: referee.Deal) -> referee.Deal:
    """Return a copy, as deep as actions change it."""
    other = copy.copy(deal)
    other.hands = [list(hand) for hand in deal.hands]
    other.calls, other.refused, other.steps = list(deal.calls), list(deal.refused), []
    other.trick_history, other.table = list(deal.trick_history), list(deal.table)
    return other


QUICK = cases("""
sniped_whist 2 ranks=2 suits=3 trump_mode=dealer: trump 1 play 292; 96 ends; -40 40
sniped_whist 3 ranks=5 suits=2: play 108; 22 ends; 16 -12 -4
sniped_whist 3 ranks=3 suits=4 objective=most tie=none deck_seed=1 dealer=2: play 5810; 1356 ends; 462 -846 768
sniped_whist 2 ranks=5 suits=2 scoring=tricks snip_penalty=3 deck_seed=2 dealer=0: play 5076; 1584 ends; -9504 -3168
big_ships 3 ranks=5 suits=2 dealer=2: call 21 play 6912; 1408 ends; 3776 4288 6720
big_ships 2 ranks=3 suits=3 hook=True bonus=at_least deck_seed=1 deal=1: call 5 play 348; 96 ends; 702 786
big_ships 4 ranks=4 suits=3 hook=True hook_min_cards=2 deck_seed=2 dealer=3 deal=1:
    call 40 play 1704; 284 ends; 941 941 1244 1042
down_up 2 ranks=3 suits=3 deal=1: call 5 play 600; 168 ends; 624 720
down_up 3 ranks=5 suits=2 deck_seed=1 dealer=0 deal=1: call 13 play 399; 84 ends; 364 302 302
down_up 5 ranks=2 suits=4 deck_seed=2 dealer=3: call 31 play 135; 27 ends; 120 120 120 120 177
up_down 3 ranks=3 suits=3 trump_mode=turnup turnup_full_deal=dealer_last dealer=2 deal=2:
    call 21 play 17216; 3840 ends; 11392 16256 12672
up_down 2 ranks=3 suits=3 hook_min_cards=3 trump_mode=random deck_seed=1 dealer=0 deal=2: call 5 play 348; 96 ends; 300 468
up_down 4 ranks=3 suits=3 deck_seed=2 deal=1: call 40 play 2025; 324 ends; 1242 1485 1080 1161
small_ships 2 ranks=2 suits=3 min_bid=2: call 6 trump 10 nominate 40 play 14640; 4800 ends; 9392 6472
small_ships 2 ranks=2 suits=3 min_bid=2 first_trick_restriction=card forced_bid_numeric_only=False misere_above=2 deck_seed=1:
    call 8 trump 14 nominate 56 play 22512; 7392 ends; 6564 5416
small_ships 3 ranks=4 suits=2 stock_nomination=redraw indication=True deck_seed=2 dealer=2:
    call 7 trump 9 nominate 135 play 38010; 10800 ends; -3930 1930 2480
small_ships 3 ranks=4 suits=2 stock_nomination=illegal misere_trump=none
    misere_penalty=own forced_bid_closes=True misere_opponents_score=False deck_seed=3 dealer=0:
    call 7 trump 7 nominate 23 play 2346; 552 ends; 476 432 268
small_ships 3 ranks=4 suits=2 misere_nominates=False min_bid=1 misere_value=4 first_trick_restriction=off deck_seed=4:
    call 21 trump 30 nominate 84 play 12882; 2712 ends; 3660 516 1560
noms 2 ranks=2 suits=3: call 8 trump 2 nominate 8 play 4380; 1441 ends; 3516 3108
noms 2 ranks=2 suits=3 min_bid=2 unbid_slam_loses=True early_stop=True dealer_forced=False deck_seed=1 dealer=0 multiplier=2:
    call 16 trump 6 nominate 24 play 9060; 3421 ends; 12936 12720
noms 3 ranks=4 suits=2 implicit_announcements=True deck_seed=2 dealer=2:
    call 27 trump 3 nominate 12 play 3752; 897 ends; 1040 1184 1160
noms 3 ranks=4 suits=2 first_lead=left_of_dealer min_bid=1 deck_seed=3 dealer=0:
    call 81 trump 12 nominate 36 play 6732; 1584 ends; 1988 1988 1652
noms 4 ranks=5 suits=1 min_bid=1 deck_seed=4 dealer=3: call 64 trump 4 nominate 8 play 480; 121 ends; 88 40 88 88
nonesuch 3 tricks_left=3: play 2141 suit 304; 664 ends; -5976 -3320 -1328
nonesuch 3 deck_seed=4 dealer=2 tricks_left=3: play 650 suit 90; 184 ends; 596 -1028 -904
nonesuch 3 deck_seed=6 dealer=2 tricks_left=3: play 1759 suit 330; 565 ends; 1753 -1489 -3150
nonesuch 4 half=exact deck_seed=1 dealer=3 tricks_left=3: play 6219 suit 641; 1400 ends; 17744 1424 -4616 6400
nonesuch 4 half=floor deck_seed=2 dealer=0 tricks_left=2: play 114 suit 5; 23 ends; -52 -78 -43 0
nonesuch 3 deck_seed=3 depth=7: call 13 trump 27 play 1296 suit 243; 0 ends; 0 0 0; 3591 unfinished
nonesuch 4 deck_seed=1 dealer=2 depth=6: call 40 play 162 suit 243; 0 ends; 0 0 0 0; 729 unfinished
nonesuch 3 deck_seed=10 depth=6: call 13 play 972 suit 216; 0 ends; 0 0 0; 2511 unfinished
""")

SOAK = cases("""
sniped_whist 4 ranks=5 suits=4 trump_mode=dealer hand_size=4 deck_seed=5 dealer=2:
    trump 1 play 1674471; 316360 ends; 12192 44264 88736 -145192
big_ships 3 ranks=6 suits=2 deck_seed=3: call 31 play 311125; 72000 ends; 216000 264000 240000
down_up 4 ranks=4 suits=3 deck_seed=3 dealer=0: call 85 play 375004; 67968 ends; 159936 159936 281824 256288
up_down 3 ranks=5 suits=3 hook_min_cards=2 trump_mode=none deck_seed=4 deal=3:
    call 31 play 364760; 87120 ends; 236160 227520 391680
small_ships 2 ranks=4 suits=2 min_bid=3 indication=True deck_seed=5 dealer=0:
    call 6 trump 10 nominate 30 play 209670; 72840 ends; 82752 11772
small_ships 3 ranks=5 suits=2 indication=True stock_nomination=redraw deck_seed=6 dealer=0:
    call 7 trump 9 nominate 54 play 267408; 61920 ends; -46944 -36768 -33696
noms 3 ranks=5 suits=2 implicit_announcements=True early_stop=True min_bid=2 deck_seed=5:
    call 81 trump 12 nominate 48 play 44770; 13650 ends; 24283 23069 18115
noms 3 ranks=3 suits=3 unbid_slam_loses=True min_bid=1 deck_seed=6 dealer=2 multiplier=2:
    call 243 trump 39 nominate 156 play 552744; 132624 ends; 452928 452928 452928
nonesuch 3 deck_seed=7 dealer=0 tricks_left=5: play 1267769 suit 135857; 353496 ends; -1116542 -1284146 1365662
nonesuch 4 deck_seed=8 dealer=0 tricks_left=4: play 97162 suit 4919; 19786 ends; -98890 99674 -64316 -25054
nonesuch 4 deck_seed=3 depth=9: call 40 trump 81 play 9396 suit 810; 0 ends; 0 0 0 0; 11583 unfinished
""")


def parameters() -> Iterator[Any]:
    """Yield all cases; those of fewer than 1000 decisions also run with the compiler off."""
    for number, (case, expected) in enumerate([*QUICK, *SOAK]):
        small = pytest.mark.uncompiled if sum(expected[phase] for phase in PHASES) < 1000 else ()
        marks = small if number < len(QUICK) else pytest.mark.soak
        yield pytest.param(case, expected, id=f"{case.variant}-{number}", marks=marks)


@pytest.mark.parametrize(("case", "expected"), [*parameters()])
def test_counts_of_histories_never_change(case: Case, expected: Counts) -> None:
    table, arbiter = case.both()
    by_engine, by_referee = Counts(), Counts()
    walk_engine(table, case.depth, by_engine)
    walk_referee(arbiter, case.depth, by_referee)
    for counts in (by_engine, by_referee):
        assert Counter({name: round(float(number), 6) for name, number in counts.items()}) == expected


def test_the_counts_cover_every_variant_and_phase() -> None:
    assert {case.variant for case, _ in QUICK} == {case.variant for case, _ in SOAK} == set(referee.VARIANTS)
    assert all(any(counts[phase] for _, counts in QUICK) for phase in PHASES)
