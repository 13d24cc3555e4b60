"""Players that search by rules of thumb: legal, repeatable, blind to what is hidden, and stronger than those that do not."""

import random
from typing import Any

import numpy as np
import pytest

from noms_env.core.actions import SCORED
from noms_env.players import NOBODY, make_player
from noms_env.search.endgame.position import units
from noms_env.search.endgame.solver import solve
from noms_env.search.pimc import PIMC, FlatMC, add_up, choose_best, new_work
from noms_env.table import Table
from noms_env.variants import VARIANTS
from tests.begun import begun
from tests.players import positions
from tests.policy.test_player import rules_of
from tests.search.test_candidates import candidates
from tests.search.test_policy_search import some_rows
from tests.variants.table_help import play

OPTIONS: dict[str, list[tuple[int | None, dict[str, Any]]]] = {
    "sniped_whist": [
        (None, {}),
        (6, {"tie": "cut", "n_hands": 2, "accumulate": True}),
        (3, {"trump_mode": "dealer", "scoring": "tricks"}),
    ],
    "big_ships": [(7, {"start_cards": 4}), (3, {"start_cards": 3, "hook": True})],
    "small_ships": [
        (None, {}),
        (3, {"indication": True}),
        (5, {"stock_nomination": "illegal", "first_trick_restriction": "card"}),
        (6, {"stock_nomination": "redraw", "misere_nominates": False, "misere_trump": "none"}),
        (2, {"ranks": 13, "suits": 3, "hand_size": 17, "min_bid": 4}),
    ],
    "noms": [
        (None, {"early_stop": True, "max_deals": 3}),
        (None, {"implicit_announcements": True, "min_bid": 7}),
        (None, {"mis_value": 10, "first_lead": "left_of_dealer", "unbid_slam_loses": True, "dealer_forced": True}),
    ],
    "nonesuch": [(None, {}), (3, {"half": "exact"})],
    "down_up": [(6, {}), (4, {"hook": False})],
    "up_down": [(None, {})],
}
CASES = [(name, seats, options) for name, cases in OPTIONS.items() for seats, options in cases]


def ask(player: Any, table: Table, seed: int = 1) -> int:
    """The action of the player at one table, whose hidden cards it does not get to see."""
    seat = int(table.row.seat)
    rng = np.random.default_rng(seed)
    action: int = player.act(*table.view(seat), rng, tables=table.determinize(np.random.default_rng(99)))
    return action


def in_the_middle(name: str, seats: int | None, options: dict[str, Any], seed: int, decisions: int) -> Table:
    """A table after so many random decisions; at a deal that goes on."""
    rng = random.Random(seed)
    table = begun(Table(name, seats, options, seed=seed))
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
def test_answers_are_legal_and_what_lies_hidden_has_no_influence(
    kind: str, name: str, seats: int | None, options: dict[str, Any]
) -> None:
    """One deal, every seat the same player: given the true cards, and others that the seat cannot tell from them."""
    player, table = make_player(kind), begun(Table(name, seats, options, seed=3))
    decisions = told_apart = 0
    while not table.is_scored:
        seat = int(table.row.seat)
        other = table.sample_hidden(seat, np.random.default_rng(decisions))
        told_apart += table.row.hands.tolist() != other.row.hands.tolist()
        answers = [player.act(*table.view(seat), np.random.default_rng(5), tables=t._rows) for t in (table, other)]
        assert answers[0] == answers[1]
        table.step(answers[0])  # refuses what is not legal
        decisions += 1
    assert told_apart > decisions / 3


@pytest.mark.parametrize("name", VARIANTS)
def test_an_answer_depends_on_its_own_row_and_seed_only(name: str) -> None:
    """Rows in another order and in threads give the same, and so does a second time; where a deal is over nobody acts."""
    seen, legal, tables = some_rows(rules_of(name), 9, 11)
    tables.phase[4] = SCORED
    before, seeds = tables.tobytes(), np.arange(9) * 1_000_003

    def answers(player: Any, rows: np.ndarray) -> list[int]:
        actions: list[int] = player.act(seen[rows], legal[rows], seeds[rows], tables=tables[rows]).tolist()
        return actions

    forward, backward = np.arange(9), np.arange(9)[::-1]
    once = answers(PIMC(3), forward)
    assert once[4] == NOBODY
    assert answers(PIMC(3), forward) == once
    assert answers(PIMC(3), backward) == once[::-1]
    assert answers(PIMC(3, threads=2), forward) == once
    assert answers(PIMC(3, threads=4), forward[:2]) == once[:2]
    assert tables.tobytes() == before, "the tables are left as they are"


def test_chance_has_an_influence() -> None:
    table = in_the_middle("down_up", None, {}, 0, 20)
    assert len({ask(make_player("flat_mc:2"), table, seed) for seed in range(20)}) > 1


@pytest.mark.parametrize(("worlds", "threads"), [(0, 1), (10_001, 1), (2.5, 1), (5, 0)])
def test_parameters_out_of_range_are_refused(worlds: Any, threads: Any) -> None:
    with pytest.raises(ValueError, match="must be a whole number from 1 to"):
        FlatMC(worlds, threads)


def test_another_action_is_taken_only_if_it_gains_a_standard_error() -> None:
    """Gains of all sizes over the favourite, judged by numpy; the best of several clear ones is taken, not the clearest."""
    rng = np.random.default_rng(4)
    work = new_work(1)
    kept = other_than_best = 0
    for _ in range(300):
        worlds, count = int(rng.integers(2, 30)), int(rng.integers(2, 8))
        worths = rng.normal(rng.normal(0, 3000, count), rng.uniform(1000, 20_000, count), (worlds, count)).astype(np.int64)
        favourite = int(rng.integers(count))
        work.sums[:], work.squares[:] = 0, 0
        for row in worths:
            work.values[:count] = row
            add_up(work.values, work.sums, work.squares, count, favourite)
        gains = worths - worths[:, [favourite]]
        clear = gains.mean(axis=0) > gains.std(axis=0, ddof=1) / np.sqrt(worlds)
        means = np.where(clear, gains.mean(axis=0), 0.0)
        means[favourite] = 0.0
        expected = int(means.argmax()) if means.max() > 0 else favourite
        assert choose_best(work.sums, work.squares, count, favourite) == expected
        kept += expected == favourite
        other_than_best += expected != gains.mean(axis=0).argmax()
    assert 30 < kept < 270
    assert other_than_best > 30


def test_a_gain_in_one_world_is_none() -> None:
    """However large it is, and though it is the only difference; with another one it is."""
    work = new_work(1)
    answers = []
    for gains in ((10_000, 0, 0), (10_000, 1, 0)):
        work.sums[:], work.squares[:] = 0, 0
        for gain in gains:
            work.values[:2] = gain, 0
            add_up(work.values, work.sums, work.squares, 2, 1)
        answers.append(choose_best(work.sums, work.squares, 2, 1))
    assert answers == [1, 0]


def test_with_one_world_thumb_decides_what_is_played() -> None:
    """A single round of calls is tried in more."""
    several = 0
    for name in VARIANTS:
        table = in_the_middle(name, None, {}, 4, 30)
        assert table.phase == "play"
        assert ask(make_player("pimc:1"), table) == ask(make_player("thumb"), table)
        several += len(candidates(table)) > 1
    assert several > len(VARIANTS) / 2


def test_with_open_cards_pimc_plays_best_and_rollouts_do_not_always() -> None:
    """Two seats and no stock: each knows the other's cards, so that all worlds are the true one."""
    options = {"ranks": 5, "suits": 2, "direction": "down"}
    exact, rollouts = make_player("pimc:2"), make_player("flat_mc:30")
    worse = 0
    for seed in range(12):
        table = begun(Table("big_ships", 2, options, seed=seed))
        play(table, ["2", "2"] if seed % 2 else ["1", "3"])
        rng = random.Random(seed)
        while not table.is_scored:
            seat = int(table.row.seat)
            worths = {action: found[seat] for action, found in solve(table).items()}
            best = max(worths.values())
            assert worths[ask(exact, table)] == best
            worse += worths[ask(rollouts, table)] < best
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
def test_the_same_sums_with_the_compiler_and_without(
    name: str, options: dict[str, Any], decisions: int, sums: dict[str, float]
) -> None:
    """What each candidate comes to in two worlds that are solved, in points: written down once, compared in both ways."""
    table = in_the_middle(name, None, options, 3, decisions)
    player = PIMC(2)
    ask(player, table)
    work = player._spare[0]
    found = {table.word(int(work.candidates[k])): work.sums[k] / units(table.seats) for k in range(len(sums))}
    assert found == pytest.approx(sums)


@pytest.mark.uncompiled
@pytest.mark.parametrize("name", ["flat_mc:1", "pimc:1"])
def test_what_the_points_are_multiplied_by_changes_no_choice(name: str) -> None:
    """Nor does a multiplier overflow that no whole number holds."""
    options = {"ranks": 4, "suits": 3, "double_repeat": "quadruple"}
    chosen = {}
    for multiplier in (1, 2, 2**199):
        table, player = Table("noms", 4, options, seed=3), make_player(name)
        table.start(dealer=0, multiplier=multiplier)
        while not table.is_scored:
            table.step(ask(player, table))
        chosen[multiplier] = table.row.order.tolist(), table.row.call.tolist()
    assert chosen[1] == chosen[2] == chosen[2**199]


@pytest.mark.parametrize(
    ("kind", "others", "name", "better"),
    [("pimc:20", "random", "up_down", 1.5), ("flat_mc:20", "greedy", "nonesuch", 0.5)],
)
def test_search_is_clearly_better(kind: str, others: str, name: str, better: float) -> None:
    """The same deals, with the searcher at each seat; three standard errors above what is asked."""
    points = positions.relative_points(kind, others, name, 24)
    error = points.std(ddof=1) / np.sqrt(len(points))
    assert points.mean() - 3 * error > better
