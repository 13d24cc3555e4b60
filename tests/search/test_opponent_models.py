"""Worlds weighted by the actions of the others: replays, likelihoods and draws."""

import math
import random
from typing import Any

import numpy as np
import pytest

from noms_env._threads import RowThreads
from noms_env.belief import new_sampling_workspace
from noms_env.core.state import MAX_SEATS
from noms_env.engine.row_kernels import kernel_view
from noms_env.observation.layout import OBSERVATION_SIZE, PADDED_MASK_SIZE
from noms_env.players import load_player
from noms_env.search import opponent_models
from noms_env.search.opponent_models import EXPONENT, draw_worlds, log_likelihoods, pick_worlds, write_styles, write_weights
from noms_env.search.replays import ARRIVED, begin_replays, compare_with_worlds, next_row, step_replays, write_observations
from noms_env.search.rollouts import run_rollouts
from noms_env.search.worlds import deal_worlds
from noms_env.table import Table
from noms_env.variants import VARIANTS
from noms_env.variants.table_record import new_tables
from tests.begin import begin
from tests.players import positions
from tests.policy.test_player import SMALL, make_small_player, rules_of

WORLDS = 6


def worlds_of(table: Table, count: int = WORLDS) -> np.ndarray:
    """Return worlds of the seat to act."""
    worlds = kernel_view(new_tables(count))
    deal_worlds(kernel_view(table._rows), 0, 5, worlds, np.arange(count), new_sampling_workspace())
    return worlds


def replay(worlds: np.ndarray) -> tuple[list[int], np.ndarray, np.ndarray]:
    """Replay worlds; return the actions, which replays reach their worlds, and the replays."""
    replays, reached, actions = kernel_view(new_tables(len(worlds))), np.ones(len(worlds), np.bool_), list[int]()
    begin_replays(worlds, replays)
    while reached.any():
        action = next_row(worlds, replays, int(reached.argmax()))[1]
        if action == ARRIVED:
            break
        actions.append(int(action))
        step_replays(replays, action, reached)
    compare_with_worlds(worlds, replays, reached)
    return actions, reached, replays


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_replay_takes_the_actions_of_the_deal_and_shows_the_same(variant: str) -> None:
    compared = different = failed = 0
    for seed, (seats, options) in enumerate(positions.tables_of(variant, 4, seed=6)):
        table, rng, taken = Table(variant, seats, options, seed=seed), random.Random(seed), list[int]()
        places = len(table.rules.schedule)
        table.start(deal=rng.randrange(places) if places else None)
        while not table.is_scored:
            if len(taken) % 4 == 0:
                worlds = worlds_of(table)
                actions, reached, replays = replay(worlds)
                compared, failed = compared + WORLDS, failed + int((~reached).sum())
                different += actions != taken
                if actions == taken:
                    for part, same in zip(views_in(worlds), views_in(replays), strict=True):
                        assert np.array_equal(part[reached], same[reached])
            taken.append(rng.choice(table.legal_actions()))
            table.step(taken[-1])
    assert compared > 100
    # suits named without a consequence, and late indications
    assert different == 0 or variant in ("nonesuch", "small_ships")
    assert failed <= compared / 50


@pytest.mark.parametrize("multiplier", [1, 2, 8])
def test_worlds_and_replays_show_the_observation_of_the_seat(multiplier: int) -> None:
    table = Table("noms", seed=3, options={"double_repeat": "quadruple"})
    table.start(multiplier=multiplier)
    for _ in range(14):
        table.step(table.legal_actions()[-1])
    worlds = worlds_of(table)
    observation, mask = table.view(int(table.row.seat))
    for tables in (worlds, replay(worlds)[2]):
        observations, masks = views_in(tables)
        assert (observations.view(np.uint8)[:, :OBSERVATION_SIZE] == observation).all()
        assert (masks.view(np.int8)[:, : len(mask)] == mask).all()


def views_in(worlds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return observation and mask of the seat to act in each world."""
    rows, sizes = len(worlds), (OBSERVATION_SIZE // 8, PADDED_MASK_SIZE // 8)
    observation, mask = (np.zeros((rows, size), np.int64) for size in sizes)
    write_observations(worlds, np.arange(rows), observation, mask)
    return observation, mask


def test_a_likelihood_is_the_product_of_the_chances_of_actions() -> None:
    """Of the others, with slips."""
    policy = make_small_player(rules_of("small_ships"), SMALL)[1]
    table = begin(Table("small_ships", seed=4))
    for _ in range(15):
        table.step(table.legal_actions()[0])
    seat, worlds = int(table.row.seat), worlds_of(table)
    actions = replay(worlds)[0]
    assert len(actions) == 15
    replays = new_tables(WORLDS)
    begin_replays(worlds, kernel_view(replays))
    expected, thumb = np.zeros((2, MAX_SEATS, WORLDS)), load_player("thumb:1")
    for world in range(WORLDS):
        twin = table.copy()
        twin.set_row(replays[world])
        for action in actions:
            observation, legal = twin.view(int(twin.row.seat))
            if int(twin.row.seat) != seat and legal.sum() > 1:
                chance = float(policy.probabilities(observation, legal)[action])
                agrees = positions.answer(thumb, twin, np.random.default_rng(0)) == action
                expected[0, twin.row.seat, world] += np.log(0.98 * chance + 0.02 / legal.sum())
                expected[1, twin.row.seat, world] += np.log(0.7 * agrees + 0.3 / legal.sum())
            twin.step(action)
    logs = log_likelihoods(worlds, seat, [policy, None])
    assert logs == pytest.approx(expected)
    assert (log_likelihoods(worlds, seat, [policy, None], RowThreads(2)) == logs).all()
    assert log_likelihoods(worlds, seat, [policy])[0] == pytest.approx(expected[0])
    assert np.std(expected[0].sum(axis=0)) > 0.1


@pytest.mark.parametrize("variant", VARIANTS)
def test_worlds_with_the_same_hand_share_an_answer_of_the_policy(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rule_sets, batches = rules_of(variant), list[int]()
    policy = make_small_player(rule_sets, SMALL)[1]
    original = policy.probabilities

    def probabilities(observation: np.ndarray, *rest: Any, **options: Any) -> np.ndarray:
        batches.append(len(observation))
        return original(observation, *rest, **options)

    monkeypatch.setattr(policy, "probabilities", probabilities)
    tables = positions.decisions(variant, rule_sets[0].seats, {}, 3, load_player("random"), deals=1)
    late = [table.copy() for table in tables if len(table.legal_actions()) > 1][-2]
    n, seat, models = 30, int(late.row.seat), [policy, None]
    worlds = worlds_of(late, n)
    together = log_likelihoods(worlds, seat, models)
    assert min(batches) < n
    alone = [log_likelihoods(worlds[row : row + 1], seat, models) for row in range(n)]
    assert (together == np.concatenate(alone, axis=2)).all()


def test_worlds_are_drawn_by_tempered_likelihoods() -> None:
    tempered = np.array([1.0, 3.0, 4.0]) ** EXPONENT
    assert weights_of(of_one_seat(np.log([1.0, 3.0, 4.0]) - 900)) == pytest.approx(tempered / tempered.sum())
    assert weights_of(of_one_seat(np.array([-np.inf, 0.0]))).tolist() == [0, 1]
    assert weights_of(of_one_seat(np.full(4, -np.inf))).tolist() == [0.25] * 4
    for weights, start, expected in (([0.125, 0.375, 0.5], 0.5, [0, 1, 1, 1, 2, 2, 2, 2]), ([0.0, 1.0], 0.99, [1, 1, 1])):
        picks = np.empty(len(expected), np.int64)
        pick_worlds(np.array(weights), start, picks)
        assert picks.tolist() == expected
    mixed = np.zeros((2, MAX_SEATS, 2))
    mixed[0, 1], mixed[1, 2] = np.log([0.5, 0.25]), np.log([0.5, 0.125])
    sums = np.array([1.5 * 1.5, 1.25 * 1.125]) ** EXPONENT
    assert weights_of(mixed) == pytest.approx(sums / sums.sum())


def weights_of(logs: np.ndarray) -> np.ndarray:
    weights = np.empty(logs.shape[2])
    write_weights(logs, 0, len(weights), EXPONENT, weights)
    return weights


def of_one_seat(logs: np.ndarray) -> np.ndarray:
    """Return likelihoods with one model and one seat that has acted."""
    out = np.zeros((1, MAX_SEATS, len(logs)))
    out[0, 2] = logs
    return out


def test_seats_continue_like_the_models_that_explain_their_actions() -> None:
    logs = np.zeros((3, MAX_SEATS, 1000))
    logs[:, 1] = np.log([[0.8], [0.15], [0.05]]) - 700
    logs[:, 2] = [[0], [0], [-2000]]
    logs[:, :, 7] = -np.inf
    styles = np.empty((1000, MAX_SEATS), np.int64)
    write_styles(logs, np.arange(1000), 5, 3, styles)
    shares = [np.bincount(styles[:, seat], minlength=4) / 1000 for seat in range(4)]
    expected = [[0, 1 / 3, 1 / 3, 1 / 3], [0, 0.8, 0.15, 0.05], [0, 0.5, 0.5, 0], [1, 0, 0, 0]]
    assert np.array(shares) == pytest.approx(np.array(expected), abs=0.05)


def test_the_others_play_worlds_out_like_the_models() -> None:
    """If `thumb` is the model, only the seat itself asks the policy."""
    rule_sets = rules_of("small_ships")
    policy, asked = make_small_player(rule_sets, SMALL)[1], set[int]()
    table = begin(Table("small_ships", seed=5))
    while table.phase != "play":
        table.step(table.legal_actions()[0])
    view, seat = kernel_view(table._rows), int(table.row.seat)
    worlds, draws, styles = draw_worlds(view, 0, 3, [None], 9)
    assert (styles == np.where(np.arange(MAX_SEATS) == seat, 0, 1)).all()

    class Listening:
        def drawn(self, observation: np.ndarray, legal: np.ndarray, seeds: np.ndarray, temperature: float) -> np.ndarray:
            asked.update(seeds.tolist())
            return policy.drawn(observation, legal, seeds, temperature)

    values: Any = {}
    for name, models in (("thumb", [None]), ("policy", [Listening()])):
        rollouts = kernel_view(new_tables(10))
        rollouts[:9] = worlds
        values[name] = np.empty(9, np.int64)
        run_rollouts(rollouts, np.full(9, table.legal_actions()[0]), draws, styles, [policy, *models], math.inf, values[name])
        assert bool(asked) == (name == "policy")
    assert (values["thumb"] != values["policy"]).any()


def holds_ace(worlds: np.ndarray) -> np.ndarray:
    """Return in which worlds seat 1 holds the ace of clubs."""
    held: np.ndarray = (worlds.view(np.recarray).hands[:, 1] >> 12 & 1) == 1
    return held


def test_few_likely_worlds_make_the_pool_larger(monkeypatch: pytest.MonkeyPatch) -> None:
    """One model knows where the ace of clubs is, one knows everything."""
    table = next(
        table
        for seed in range(99)
        if not (table := begin(Table("down_up", seed=seed), deal=0)).row.hands[table.row.seat] >> 12 & 1
        and table.row.seat != 1
        and table.row.turn_up != 12
    )
    view, pools = kernel_view(table._rows), list[int]()
    uniform = draw_worlds(view, 0, 3, [], 40)
    assert not uniform.styles.any()
    assert 0 < holds_ace(uniform.tables).sum() < 30

    def ace(pool: np.ndarray, seat: int, models: Any, threads: Any) -> np.ndarray:
        pools.append(len(pool))
        return of_one_seat(np.where(holds_ace(pool), 0.0, -50.0))

    def everything(pool: np.ndarray, seat: int, models: Any, threads: Any) -> np.ndarray:
        pools.append(len(pool))
        return of_one_seat(-50.0 * np.arange(len(pool)))

    model = make_small_player(rules_of("down_up"), SMALL)[1]
    monkeypatch.setattr(opponent_models, "POOL", 6)
    monkeypatch.setattr(opponent_models, "log_likelihoods", ace)
    assert holds_ace(draw_worlds(view, 0, 3, [model], 40).tables).all()
    assert pools == [40 * opponent_models.POOL]
    monkeypatch.setattr(opponent_models, "log_likelihoods", everything)
    worlds = draw_worlds(view, 0, 3, [model], 40)
    assert pools[1:] == [40 * opponent_models.POOL] * opponent_models.MAX_POOLS
    assert len(set(worlds.draws.tolist())) == 40
