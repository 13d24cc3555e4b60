"""Game trees: every layout and every line of play, counted by hand and by brute force."""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from noms_env.core.actions import NUM_ACTIONS
from noms_env.micro import tree as module
from noms_env.micro.cfr import Passes
from noms_env.micro.deal_setup import DealSetup
from noms_env.micro.explicit_chance import CHANCE, OVER, ExplicitChanceDeal
from noms_env.micro.measures import exploitability
from noms_env.micro.settings import SUITE, micro_game
from noms_env.micro.tree import Tree, build_tree
from noms_env.variants import VARIANTS

TINY: list[tuple[str, int, dict[str, Any]]] = [
    ("down_up", 2, {"ranks": 2, "suits": 2}),
    ("up_down", 2, {"ranks": 2, "suits": 2, "trump_mode": "turnup", "hook_min_cards": 1}),
    ("sniped_whist", 3, {"ranks": 2, "suits": 2, "tie": "cut", "scoring": "tricks"}),
    ("sniped_whist", 2, {"ranks": 2, "suits": 2, "trump_mode": "random"}),
    ("small_ships", 3, {"ranks": 3, "suits": 1, "min_bid": 1}),
    ("small_ships", 2, {"ranks": 3, "suits": 1, "hand_size": 1, "min_bid": 1, "stock_nomination": "redraw"}),
    ("noms", 3, {"ranks": 3, "suits": 1, "min_bid": 1, "early_stop": True}),
    ("nonesuch", 3, {"ranks": 2, "suits": 2}),
]
"""Deals small enough for recursion in Python."""


def play_all(deal: ExplicitChanceDeal, weight: Fraction, views: Counter[bytes]) -> Iterator[tuple[Fraction, list[float]]]:
    """Yield probability (all seats choose uniformly) and points of each end; count the observations with a choice."""
    if deal.stage == OVER:
        yield weight, deal.points()
        return
    if deal.actor == CHANCE:
        outcomes = [(outcome, Fraction(chance).limit_denominator(10**6)) for outcome, chance in deal.outcomes()]
    else:
        legal = deal.dealt_table.legal_actions()
        outcomes = [(action, Fraction(1, len(legal))) for action in legal]
        if len(legal) > 1:
            views[deal.dealt_table.view(deal.actor)[0].tobytes() + bytes([deal.actor])] += 1
    for outcome, chance in outcomes:
        twin = deal.copy()
        twin.apply(outcome)
        yield from play_all(twin, weight * chance, views)


@pytest.mark.parametrize("game", TINY, ids=str)
def test_a_tree_has_every_line_of_play(game: tuple[str, int, dict[str, Any]]) -> None:
    """Information sets, their nodes, and the values of uniform play, against recursion in Python."""
    views: Counter[bytes] = Counter()
    ends = list(play_all(ExplicitChanceDeal(DealSetup(*game)), Fraction(1), views))
    assert sum(weight for weight, _ in ends) == 1
    expected = [float(sum(weight * Fraction(points[seat]) for weight, points in ends)) for seat in range(game[1])]
    tree = build_tree(DealSetup(*game))
    counts = np.bincount(tree.infoset[tree.seat >= 0], minlength=len(tree.owner))
    assert sorted(counts) == sorted(views.values())
    assert len(tree.points) == len(ends) or game[2].get("tie") == "cut"
    assert uniform_values(tree) == pytest.approx(expected)
    assert tree.chance.sum() == pytest.approx(1)


def uniform_values(tree: Tree) -> np.ndarray:
    """Return the expected points of uniform play, computed from the root down."""
    chance = np.zeros(len(tree.seat))
    chance[tree.starts[:-1]] = tree.chance
    total = np.zeros(tree.seats)
    for node in range(len(tree.seat)):
        if tree.seat[node] < 0:
            total += chance[node] * tree.points[tree.first[node]]
        else:
            i = tree.infoset[node]
            n = tree.offset[i + 1] - tree.offset[i]
            chance[tree.first[node] : tree.first[node] + n] = chance[node] / n
    return total


def test_decisions_yield_each_information_set_once() -> None:
    tree = build_tree(micro_game("down-up-1").setup())
    observations: dict[int, bytes] = {}
    for numbers, observation, mask, tables in tree.decisions(rows=100):
        assert len(numbers) <= 100
        assert mask.shape[1] == NUM_ACTIONS
        for row, number in enumerate(numbers.tolist()):
            assert number not in observations
            observations[number] = observation[row].tobytes()
            assert np.flatnonzero(mask[row]).tolist() == sorted(tree.action[tree.offset[number] : tree.offset[number + 1]])
            assert tables.seat[row] == tree.owner[number]
    assert sorted(observations) == list(range(len(tree.owner)))
    assert len(set(observations.values())) == len(observations)


def test_levels_count_a_seats_own_decisions() -> None:
    """In down_up a call and then a card: of two cards the second is forced."""
    tree = build_tree(micro_game("down-up-1").setup())
    for level in (0, 1):
        actions = [tree.action[tree.offset[i] : tree.offset[i + 1]] for i in np.flatnonzero(tree.level == level)]
        assert set((np.concatenate(actions) < 52).tolist()) == {level == 1}


def test_a_seat_that_forgets_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two information sets of one seat that differ in its call get the same key."""
    number_infosets = module._number_infosets

    def forget(*arguments: Any) -> Tree:
        nodes = arguments[3]
        tree = number_infosets(*arguments)
        late = np.flatnonzero((tree.seat == 0) & (tree.level[tree.infoset] == 1) & (nodes["count"] == 2))
        nodes["key"][late] = 7
        return number_infosets(*arguments)

    monkeypatch.setattr(module, "_number_infosets", forget)
    with pytest.raises(ValueError, match="forgets earlier observations"):
        build_tree(micro_game("down-up-1").setup())


SIZES = {
    "down-up-1": (420, 13_560, 712),
    "down-up-2": (7_560, 1_481_760, 22_392),
    "big-ships-2": (2_520, 524_592, 12_784),
    "sniped-whist-2": (5_040, 54_864, 4_560),
    "noms-2": (90, 215_730, 32_067),
    "nonesuch-1": (630, 312_048, 91_653),
}
"""Layouts, nodes and information sets with a choice."""
NASH_CONV = {"down-up-1": 6.001, "down-up-2": 12.275}
"""Of uniform random play, from a program in C++ with its own rules."""


@pytest.mark.parametrize("name", SIZES)
def test_the_micro_games_never_change(name: str) -> None:
    tree = build_tree(micro_game(name).setup())
    assert (len(tree.chance), len(tree.seat), len(tree.owner)) == SIZES[name]
    if name in NASH_CONV:
        nash_conv = exploitability(Passes(tree, tree.points), tree.uniform()).nash_conv
        assert nash_conv == pytest.approx(NASH_CONV[name], abs=0.0005)


def test_the_suite_has_every_variant_and_no_name_twice() -> None:
    names = [game.name for game in SUITE]
    assert len(set(names)) == len(names) >= 10
    assert list(dict.fromkeys(game.variant for game in SUITE)) == list(VARIANTS)
