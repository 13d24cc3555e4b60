"""Searches by rules of thumb: legal, reproducible, blind to hidden cards, and stronger than players without search."""

import random
from typing import Any

import numpy as np
import pytest

from noms_env.core.actions import SCORED
from noms_env.players import NOBODY, load_player
from noms_env.search.endgame.position import units
from noms_env.search.endgame.solver import solve
from noms_env.search.pimc import PIMC, FlatMC, add_up, choose_best, new_work
from noms_env.table import Table
from noms_env.variants import VARIANTS
from tests.begin import begin
from tests.players import positions
from tests.policy.test_player import rules_of
from tests.search.test_candidates import candidates
from tests.variants.table_help import play

CASES: list[tuple[str, int | None, dict[str, Any]]] = [
    ("sniped_whist", None, {}),
    ("sniped_whist", 6, {"tie": "cut", "n_hands": 2, "accumulate": True}),
    ("sniped_whist", 3, {"trump_mode": "dealer", "scoring": "tricks"}),
    ("big_ships", 7, {"start_cards": 4}),
    ("big_ships", 3, {"start_cards": 3, "hook": True}),
    ("small_ships", None, {}),
    ("small_ships", 3, {"indication": True}),
    ("small_ships", 5, {"stock_nomination": "illegal", "first_trick_restriction": "card"}),
    ("small_ships", 6, {"stock_nomination": "redraw", "misere_nominates": False, "misere_trump": "none"}),
    ("small_ships", 2, {"ranks": 13, "suits": 3, "hand_size": 17, "min_bid": 4}),
    ("noms", None, {"early_stop": True, "max_deals": 3}),
    ("noms", None, {"implicit_announcements": True, "min_bid": 7}),
    ("noms", None, {"mis_value": 10, "first_lead": "left_of_dealer", "unbid_slam_loses": True, "dealer_forced": True}),
    ("nonesuch", None, {}),
    ("nonesuch", 3, {"half": "exact"}),
    ("down_up", 6, {}),
    ("down_up", 4, {"hook": False}),
    ("up_down", None, {}),
]


def ask(player: Any, table: Table, seed: int = 1) -> int:
    """Return the action of a player that does not see the hidden cards."""
    view, rng = table.view(int(table.row.seat)), np.random.default_rng(seed)
    action: int = player.act(*view, rng, tables=table.determinize(np.random.default_rng(99)))
    return action


def in_the_middle(name: str, seats: int | None, options: dict[str, Any], seed: int, decisions: int) -> Table:
    """Return a table in a deal, after some random decisions."""
    rng = random.Random(seed)
    table = begin(Table(name, seats, options, seed=seed))
    for _ in range(decisions):
        table.step(rng.choice(table.legal_actions()))
        while table.is_scored:
            if table.is_over:
                table.start()
            else:
                table.next_deal()
    return table


@pytest.mark.parametrize("kind", ["pimc:2", "flat_mc:2"])
@pytest.mark.parametrize(("name", "seats", "options"), CASES, ids=str)
def test_answers_are_legal_and_do_not_depend_on_hidden_cards(
    kind: str, name: str, seats: int | None, options: dict[str, Any]
) -> None:
    """The same player at every seat of one deal, with the true cards and with a redeal."""
    player, table = load_player(kind), begin(Table(name, seats, options, seed=3))
    decisions = different = 0
    while not table.is_scored:
        seat = int(table.row.seat)
        other = table.sample_hidden(seat, np.random.default_rng(decisions))
        different += table.row.hands.tolist() != other.row.hands.tolist()
        answers = [player.act(*table.view(seat), np.random.default_rng(5), tables=t._rows) for t in (table, other)]
        assert answers[0] == answers[1]
        table.step(answers[0])  # refuses what is not legal
        decisions += 1
    assert different > decisions / 3


@pytest.mark.parametrize("name", VARIANTS)
def test_an_answer_depends_on_its_row_and_seed_only(name: str) -> None:
    """Neither on the order of rows nor on threads nor on earlier calls. After a deal nobody acts."""
    observation, legal, tables = positions.some_rows(rules_of(name), 9, 11)
    tables.phase[4] = SCORED
    before, seeds = tables.tobytes(), np.arange(9) * 1_000_003

    def answers(player: Any, rows: np.ndarray) -> list[int]:
        actions: list[int] = player.act(observation[rows], legal[rows], seeds[rows], tables=tables[rows]).tolist()
        return actions

    forward, backward = np.arange(9), np.arange(9)[::-1]
    player = PIMC(3)
    expected = answers(player, forward)
    assert expected[4] == NOBODY
    assert answers(player, forward) == expected
    assert answers(player, backward) == expected[::-1]
    assert answers(PIMC(3, threads=2), forward) == expected
    assert answers(PIMC(3, threads=4), forward[:2]) == expected[:2]
    assert tables.tobytes() == before, "the tables are left alone"


def test_the_seed_has_an_influence() -> None:
    table = in_the_middle("down_up", None, {}, 0, 20)
    assert len({ask(load_player("flat_mc:2"), table, seed) for seed in range(20)}) > 1


@pytest.mark.parametrize(("worlds", "threads"), [(0, 1), (10_001, 1), (2.5, 1), (5, 0)])
def test_a_parameter_out_of_range_is_refused(worlds: Any, threads: Any) -> None:
    with pytest.raises(ValueError, match="must be a whole number from 1 to"):
        FlatMC(worlds, threads)


def test_an_action_must_beat_the_favourite_by_a_standard_error() -> None:
    """Computed by numpy, for gains of all sizes; the best of several such actions is taken."""
    rng = np.random.default_rng(4)
    favourites = not_best = 0
    for _ in range(300):
        worlds, count = int(rng.integers(2, 30)), int(rng.integers(2, 8))
        values = rng.normal(rng.normal(0, 3000, count), rng.uniform(1000, 20_000, count), (worlds, count)).astype(np.int64)
        favourite = int(rng.integers(count))
        gains = values - values[:, [favourite]]
        clear = gains.mean(axis=0) > gains.std(axis=0, ddof=1) / np.sqrt(worlds)
        means = np.where(clear, gains.mean(axis=0), 0.0)
        means[favourite] = 0.0
        expected = int(means.argmax()) if means.max() > 0 else favourite
        assert best_in_worlds(values, favourite) == expected
        favourites += expected == favourite
        not_best += expected != gains.mean(axis=0).argmax()
    assert 30 < favourites < 270
    assert not_best > 30
    large_gain_in_one_world = np.array([[10_000, 0], [0, 0], [0, 0]])
    assert best_in_worlds(large_gain_in_one_world, 1) == 1
    large_gain_in_one_world[1, 0] = 1
    assert best_in_worlds(large_gain_in_one_world, 1) == 0


def best_in_worlds(values: np.ndarray, favourite: int) -> int:
    """Return the action that the search takes, from its values by world and action."""
    work, count = new_work(1), values.shape[1]
    work.sums[:], work.squares[:] = 0, 0
    for row in values:
        work.values[:count] = row
        add_up(work.values, work.sums, work.squares, count, favourite)
    return int(choose_best(work.sums, work.squares, count, favourite))


def test_a_search_in_one_world_plays_like_thumb() -> None:
    several = 0
    for name in VARIANTS:
        table = in_the_middle(name, None, {}, 4, 30)
        assert table.phase == "play"
        assert ask(load_player("pimc:1"), table) == ask(load_player("thumb"), table)
        several += len(candidates(table)) > 1
    assert several > len(VARIANTS) / 2


def test_pimc_plays_best_if_all_cards_are_known_and_rollouts_do_not() -> None:
    """Two seats and no stock: all worlds are the true one."""
    options = {"ranks": 5, "suits": 2, "direction": "down"}
    exact, rollouts = load_player("pimc:2"), load_player("flat_mc:30")
    worse = 0
    for seed in range(12):
        table = begin(Table("big_ships", 2, options, seed=seed))
        play(table, ["2", "2"] if seed % 2 else ["1", "3"])
        rng = random.Random(seed)
        while not table.is_scored:
            seat = int(table.row.seat)
            values = {action: value[seat] for action, value in solve(table).items()}
            best = max(values.values())
            assert values[ask(exact, table)] == best
            worse += values[ask(rollouts, table)] < best
            table.step(rng.choice(table.legal_actions()))
    assert worse > 0


@pytest.mark.uncompiled
@pytest.mark.parametrize(
    ("name", "options", "decisions", "sums"),
    [
        ("down_up", {}, 30, {"3C": 8 / 3, "2S": 4.0, "QS": 4 / 3, "AS": 4 / 3}),
        ("nonesuch", {}, 33, {"8WL": -8.0, "CS": -22 / 3, "CY": -22 / 3}),
        ("noms", {"min_bid": 7}, 47, {"3C": 52 / 3, "2D": 52 / 3}),
    ],
)
def test_the_compiler_changes_no_sum(name: str, options: dict[str, Any], decisions: int, sums: dict[str, float]) -> None:
    """Points of each candidate in two solved worlds: the same numbers with the compiler and without."""
    table = in_the_middle(name, None, options, 3, decisions)
    player = PIMC(2)
    ask(player, table)
    work = player._spare[0]
    points = {table.word(int(work.candidates[k])): work.sums[k] / units(table.seats) for k in range(len(sums))}
    assert points == pytest.approx(sums)


@pytest.mark.uncompiled
@pytest.mark.parametrize("name", ["flat_mc:1", "pimc:1"])
def test_the_multiplier_of_points_changes_no_choice(name: str) -> None:
    """Nor does a multiplier overflow that fits no integer."""
    options = {"ranks": 4, "suits": 3, "double_repeat": "quadruple"}
    choices = []
    for multiplier in (1, 2, 2**199):
        table, player = Table("noms", 4, options, seed=3), load_player(name)
        table.start(dealer=0, multiplier=multiplier)
        while not table.is_scored:
            table.step(ask(player, table))
        choices.append((table.row.order.tolist(), table.row.call.tolist()))
    assert choices[0] == choices[1] == choices[2]


@pytest.mark.parametrize(
    ("kind", "others", "name", "better"),
    [("pimc:20", "random", "up_down", 1.5), ("flat_mc:20", "greedy", "nonesuch", 0.5)],
)
def test_search_is_clearly_better(kind: str, others: str, name: str, better: float) -> None:
    """By three standard errors."""
    points = positions.relative_points(kind, others, name, 24)
    error = points.std(ddof=1) / np.sqrt(len(points))
    assert points.mean() - 3 * error > better
