"""Duplicate deals: who sits where, which cards are dealt, and what the figures mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from noms_env import BatchEnv
from noms_env.core.state import VARIANTS
from noms_env.variants import Rules, game, make_rules
from training.agents.registry import BLOCK, MakePlayer, guest, label
from training.evaluation import duplicate as duplicate_module
from training.evaluation.behaviour_stats import Tally
from training.evaluation.duplicate import Block, Result, bootstrap_interval, deal_seed, duplicate, figures, self_play


def rules(name: str, seats: int | None = None, **options: Any) -> Rules:
    return make_rules(game(name), seats, options)


class Lowest:
    """Plays the legal card of the lowest rank; the lowest action before the play."""

    def choose(self, batch: BatchEnv, rows: np.ndarray) -> np.ndarray:
        rank = np.where(np.arange(batch.mask.shape[1]) < 52, np.arange(batch.mask.shape[1]) % 13, 0)
        actions: np.ndarray = np.argmin(np.where(batch.mask[rows] == 1, rank, 99), axis=1)
        return actions


class Spy:
    """Notes at which table, on which seat and with which hands it is asked, and plays the first legal action."""

    def __init__(self) -> None:
        self.seen: set[tuple[int, int, int]] = set()
        self.hands: dict[tuple[int, int], set[bytes]] = {}
        self.sizes: dict[int, int] = {}

    def choose(self, batch: BatchEnv, rows: np.ndarray) -> np.ndarray:
        for row in rows:
            table = batch.tables[row]
            self.seen.add((int(table.table), int(row), int(table.seat)))
            self.sizes[int(table.table)] = int(table.hand_size)
            deal = (table.hands | table.played).tobytes() + table.dealer.tobytes() + table.hand_size.tobytes()
            self.hands.setdefault((int(table.seed), int(table.table)), set()).add(deal)
        actions: np.ndarray = np.argmax(batch.mask[rows], axis=1)
        return actions


def in_threads(jobs: Sequence[Callable[[], Block]]) -> Sequence[Block]:
    with ThreadPoolExecutor(3) as pool:
        return list(pool.map(lambda job: job(), jobs))


def backwards(jobs: Sequence[Callable[[], Block]]) -> Sequence[Block]:
    return [job() for job in reversed(jobs)][::-1]


def lowest(_rng: np.random.Generator) -> Lowest:
    return Lowest()


# ------------------------------------------------------------------------------------------------------------- seating


@pytest.mark.parametrize(("name", "seats"), [("sniped_whist", 5), ("down_up", 3), ("noms", 4)])
def test_the_hero_sits_on_every_seat_of_every_deal_once(name: str, seats: int) -> None:
    hero, other = Spy(), Spy()
    duplicate(rules(name, seats), lambda _: hero, lambda _: other, 6)
    assert {(table, seat) for table, _, seat in hero.seen} == {(table, seat) for table in range(6) for seat in range(seats)}
    assert len({row for _, row, _ in hero.seen}) == len(hero.seen) == 6 * seats
    mine = {(row, seat) for _, row, seat in hero.seen}
    assert not mine & {(row, seat) for _, row, seat in other.seen}


@pytest.mark.parametrize("name", ["sniped_whist", "down_up", "noms"])
def test_the_games_of_a_deal_have_the_same_cards_and_dealer(name: str) -> None:
    spy = Spy()
    duplicate(rules(name), lambda _: spy, lambda _: spy, 8)
    assert sorted(spy.hands) == [(deal_seed("dev"), table) for table in range(8)]
    deals = [hands for at_table in spy.hands.values() for hands in at_table]
    assert len(deals) == len(set(deals)) == 8


def test_a_field_of_several_sits_clockwise_from_the_hero() -> None:
    spies = [Spy() for _ in range(4)]
    made: list[MakePlayer] = [lambda _, spy=spy: spy for spy in spies]  # type: ignore[misc]
    duplicate(rules("sniped_whist"), made[0], made[1:], 2)
    seats = [{row: seat for _, row, seat in spy.seen} for spy in spies]
    for place, spy in enumerate(seats):
        assert {row: (seat + place) % 4 for row, seat in seats[0].items()} == spy


def test_deals_follow_from_their_number_alone() -> None:
    few, many = Spy(), Spy()
    duplicate(rules("sniped_whist"), lambda _: few, lambda _: few, 3, seed=1)
    duplicate(rules("sniped_whist"), lambda _: many, lambda _: many, BLOCK + 2, seed=2)
    assert few.hands.items() <= many.hands.items()
    assert len(many.hands) == BLOCK + 2
    other = Spy()
    duplicate(rules("sniped_whist"), lambda _: other, lambda _: other, 3, deal_set="test")
    assert not set().union(*other.hands.values()) & set().union(*many.hands.values())


def test_the_sets_of_deals_are_frozen() -> None:
    assert (deal_seed("dev"), deal_seed("test")) == (DEV, TEST)


DEV, TEST = 4599415396842745778, 7019096227700608629


# ------------------------------------------------------------------------------------------------------------- figures


@pytest.mark.parametrize("name", VARIANTS)
def test_random_players_are_as_good_as_one_another(name: str) -> None:
    result = duplicate(rules(name), guest("random"), guest("random"), 150, seed=4)
    low, high = result.interval()
    assert low < 0 < high
    assert result.differences.shape == (150, 4)
    assert result.differences.any()


def test_a_stronger_player_is_told_apart() -> None:
    kind = rules("sniped_whist")
    result = duplicate(kind, lowest, guest("random"), 200)
    assert result.interval()[0] > 0.05
    worse = duplicate(kind, guest("random"), lowest, 200)
    assert worse.interval()[1] < -0.05
    assert result.probes.means()["sniped"] < worse.probes.means()["sniped"] - 0.03


def test_points_are_those_of_the_hero_less_the_mean_of_the_others() -> None:
    kind = rules("sniped_whist", 3, scoring="tricks")
    result = duplicate(kind, lowest, guest("random"), 2)
    assert (result.differences <= 17 / 2).all()
    for points in result.differences.ravel():  # -t less the mean of the others, who took 17 - t: (17 - 3 t) / 2
        assert (17 - 2 * points) % 3 == pytest.approx(0)


def test_results_do_not_depend_on_threads_or_order() -> None:
    kind = rules("up_down")
    one = duplicate(kind, guest("random"), lowest, 2 * BLOCK + 5, seed=3)
    for runner in (in_threads, backwards):
        other = duplicate(kind, guest("random"), lowest, 2 * BLOCK + 5, seed=3, runner=runner)
        assert np.array_equal(one.differences, other.differences)
        assert np.array_equal(one.sizes, other.sizes)
        assert one.probes == other.probes
        assert one.interval() == other.interval()
    different = duplicate(kind, guest("random"), lowest, 2 * BLOCK + 5, seed=4)
    assert not np.array_equal(one.differences, different.differences)


def test_blocks_and_players_have_streams_of_their_own() -> None:
    drawn: list[float] = []

    def note(rng: np.random.Generator) -> Lowest:
        drawn.append(rng.random())
        return Lowest()

    duplicate(rules("big_ships", 3), note, note, BLOCK + 2, seed=1)
    duplicate(rules("big_ships", 3), note, note, 2, seed=2)
    assert len(drawn) == len(set(drawn)) == 6


def test_hand_sizes_are_those_of_the_match_or_the_one_asked_for() -> None:
    kind = rules("down_up")
    sizes = duplicate(kind, lowest, lowest, 400).sizes
    counts = np.bincount(sizes, minlength=11)[1:]
    assert counts.sum() == 400
    assert counts[0] < counts[1:].min()  # one card is dealt once in a match, all other sizes twice
    assert counts[0] == pytest.approx(400 / 19, abs=15)
    spy = Spy()
    assert list(duplicate(kind, lambda _: spy, lowest, 9).sizes) == list(sizes[:9]) == [spy.sizes[deal] for deal in range(9)]
    result = duplicate(kind, lowest, guest("random"), 20, hand_size=10)
    assert set(result.sizes) == {10}
    assert result.probes.counts["bid/hit/10"] == 80
    assert self_play(kind, lowest, 20, hand_size=3).counts["bid/hit/3"] == 80


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"deals": 1}, "deals must be 2 or more, not 1"),
        ({"hand_size": 11}, "hand_size must be one of 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 in down_up with 4 seats, not 11"),
        ({"field": [lowest]}, "the field must be one player, or 3"),
    ],
)
def test_what_cannot_be_played_is_refused(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        duplicate(**{"kind": rules("down_up"), "hero": lowest, "field": lowest, "deals": 4, **change})
    with pytest.raises(ValueError, match="hand_size must be left out in noms"):
        duplicate(rules("noms"), lowest, lowest, 4, hand_size=13)
    with pytest.raises(ValueError, match="there is no player 'chess'"):
        guest("chess")


def test_a_file_that_is_no_policy_is_no_player(tmp_path: Path) -> None:
    (tmp_path / "policy.safetensors").write_bytes(b"nonsense")
    with pytest.raises(ValueError, match=r"policy\.safetensors"):
        guest(str(tmp_path / "policy.safetensors"))


# ---------------------------------------------------------------------------------------------------------- statistics


def result_of(differences: np.ndarray) -> Result:
    return Result(differences, np.zeros(len(differences), np.int16), Tally())


def test_figures_by_hand() -> None:
    result = result_of(np.array([[1.0, 3.0], [2.0, 2.0], [5.0, 5.0]]))
    assert result.mean == 3
    assert result.standard_error == pytest.approx(1.0)  # of 2, 2, 5: deviation sqrt(3), over sqrt(3)
    assert result.variance_ratio == pytest.approx(3 * 2 / 2.8)  # of 1, 3, 2, 2, 5, 5: 14 / 5
    assert result.method == "bootstrap"


def test_the_interval_of_many_deals_is_normal_and_that_of_few_agrees() -> None:
    values = np.random.default_rng(0).normal(0.5, 2, (duplicate_module.MOST_RESAMPLED + 1, 1))
    many, fewer = result_of(values), result_of(values[:-1])
    assert (many.method, fewer.method) == ("normal", "bootstrap")
    margin = 1.959964 * many.standard_error
    assert many.interval() == pytest.approx((many.mean - margin, many.mean + margin))
    assert fewer.interval() == pytest.approx(many.interval(), abs=0.08 * margin)


def test_the_bootstrap_interval_holds_the_mean_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    held = 0
    for trial in range(200):
        low, high = bootstrap_interval(rng.exponential(1.0, 60), trial)
        held += low < 1 < high
    assert 0.87 < held / 200 < 0.985


def test_duplicates_take_out_the_luck_of_the_cards() -> None:
    result = duplicate(rules("sniped_whist", scoring="tricks"), lowest, lowest, 100)
    assert result.variance_ratio == pytest.approx(0, abs=1e-9)  # equal players: each deal comes out even
    assert result.mean == pytest.approx(0, abs=1e-6)


def test_the_figures_of_a_run() -> None:
    rule_sets = [rules("down_up"), rules("sniped_whist", 3)]
    panel = {"random": guest("random"), "a/file": lowest}
    found = figures(rule_sets, lowest, panel, 30, seed=2)
    expected = duplicate(rule_sets[1], lowest, panel["random"], 30, seed=2)
    assert found["points/sniped_whist_3/random"] == expected.mean
    assert (found["points/sniped_whist_3/random/low"], found["points/sniped_whist_3/random/high"]) == expected.interval()
    assert found["points/down_up_4/a:file"] == duplicate(rule_sets[0], lowest, lowest, 30, seed=2).mean
    alone = self_play(rule_sets[0], lowest, 30, seed=2).means()
    assert {name: value for name, value in found.items() if name.startswith("probe/down_up_4/")} == {
        f"probe/down_up_4/{name}": value for name, value in alone.items()
    }
    without = figures(rule_sets, lowest, panel, 30, seed=2, probes=False)
    assert without == {name: value for name, value in found.items() if not name.startswith("probe/")}
    assert {name.split("/")[1] for name in found} == {label(kind) for kind in rule_sets} == {"down_up_4", "sniped_whist_3"}
