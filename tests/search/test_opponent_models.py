"""Worlds by what the others did: replays that arrive, likelihoods by hand, and draws."""

import math
from typing import Any

import numpy as np
import pytest

from noms_env._threads import RowThreads
from noms_env.belief import new_sampling_workspace
from noms_env.core.state import MAX_SEATS
from noms_env.engine.row_kernels import kernel_view
from noms_env.observation.layout import OBSERVATION_SIZE, PADDED_MASK_SIZE
from noms_env.players import make_player
from noms_env.search import opponent_models
from noms_env.search.opponent_models import EXPONENT, draw_worlds, log_likelihoods, pick_worlds, write_styles, write_weights
from noms_env.search.replays import ARRIVED, begin_replays, compare_with_worlds, next_row, step_replays, write_observations
from noms_env.search.rollouts import run_rollouts
from noms_env.search.worlds import deal_worlds
from noms_env.table import Table
from noms_env.variants import VARIANTS
from noms_env.variants.table_record import new_tables
from tests.begun import begun
from tests.players import positions
from tests.policy.test_player import SMALL, made_player, rules_of

WORLDS = 6


def worlds_of(table: Table, count: int = WORLDS) -> np.ndarray:
    """Worlds of the seat to act."""
    worlds = kernel_view(new_tables(count))
    deal_worlds(kernel_view(table._rows), 0, 5, worlds, np.arange(count), new_sampling_workspace())
    return worlds


def replayed(worlds: np.ndarray) -> tuple[list[int], np.ndarray, np.ndarray]:
    """The actions of a replay, which worlds are arrived at, and the replays."""
    replays, fine, actions = kernel_view(new_tables(len(worlds))), np.ones(len(worlds), np.bool_), list[int]()
    begin_replays(worlds, replays)
    while fine.any():
        action = next_row(worlds, replays, int(fine.argmax()))[1]
        if action == ARRIVED:
            break
        actions.append(int(action))
        step_replays(replays, action, fine)
    compare_with_worlds(worlds, replays, fine)
    return actions, fine, replays


@pytest.mark.parametrize("variant", VARIANTS)
def test_deals_are_replayed_as_they_came(variant: str) -> None:
    """In all worlds, with every option: at each decision the actions taken so far, and what the seat to act sees."""
    compared = unlike = given_up = 0
    for seed, (seats, options) in enumerate(positions.tables_of(variant, 4, seed=6)):
        taken, before = list[int](), None
        for number, table in enumerate(positions.decisions(variant, seats, options, seed, make_player("random"), deals=1)):
            if before is not None:
                taken.append(next(action for action in before.legal_actions() if after(before, action) == table.get_state()))
            if number % 4 == 0:
                worlds = worlds_of(table)
                actions, fine, replays = replayed(worlds)
                compared, given_up = compared + WORLDS, given_up + int((~fine).sum())
                unlike += actions != taken
                if actions == taken:
                    seen = [both[fine] for shown in map(seen_in, (worlds, replays)) for both in shown]
                    assert all(np.array_equal(*pair) for pair in zip(seen[:2], seen[2:], strict=True))
            before = table.copy()
    assert compared > 100
    # a suit named for a lead that does not matter, and a partner who indicated late
    assert unlike == 0 or variant in ("nonesuch", "small_ships")
    assert given_up <= compared / 50


@pytest.mark.parametrize("multiplier", [1, 2, 8])
def test_a_world_and_its_replay_show_the_seat_what_it_sees(multiplier: int) -> None:
    table = Table("noms", seed=3, options={"double_repeat": "quadruple"})
    table.start(multiplier=multiplier)
    for _ in range(14):
        table.step(table.legal_actions()[-1])
    worlds = worlds_of(table)
    observation, mask = table.view(int(table.row.seat))
    for tables in (worlds, replayed(worlds)[2]):
        shown = seen_in(tables)
        assert (shown[0].view(np.uint8)[:, :OBSERVATION_SIZE] == observation).all()
        assert (shown[1].view(np.int8)[:, : len(mask)] == mask).all()


def seen_in(worlds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Observation and mask of the seat to act in each world."""
    rows, sizes = len(worlds), (OBSERVATION_SIZE // 8, PADDED_MASK_SIZE // 8)
    observation, mask = (np.zeros((rows, size), np.int64) for size in sizes)
    write_observations(worlds, np.arange(rows), observation, mask)
    return observation, mask


def after(table: Table, action: int) -> bytes:
    twin = table.copy()
    twin.step(action)
    return bytes(twin.get_state())


def test_likelihoods_are_those_of_the_models() -> None:
    """The product over what the others did in each world, with slips; one's own actions do not count."""
    policy = made_player(rules_of("small_ships"), SMALL)[1]
    table = begun(Table("small_ships", seed=4))
    for _ in range(15):
        table.step(table.legal_actions()[0])
    seat, worlds = int(table.row.seat), worlds_of(table)
    actions = replayed(worlds)[0]
    assert len(actions) == 15
    replays = new_tables(WORLDS)
    begin_replays(worlds, kernel_view(replays))
    expected, thumb = np.zeros((2, MAX_SEATS, WORLDS)), make_player("thumb:1")
    for world in range(WORLDS):
        twin = table.copy()
        twin.set_row(replays[world])
        for action in actions:
            seen, legal = twin.view(int(twin.row.seat))
            if int(twin.row.seat) != seat and legal.sum() > 1:
                chance = float(policy.probabilities(seen, legal)[action])
                agrees = positions.answer(thumb, twin, np.random.default_rng(0)) == action
                expected[0, twin.row.seat, world] += np.log(0.98 * chance + 0.02 / legal.sum())
                expected[1, twin.row.seat, world] += np.log(0.7 * agrees + 0.3 / legal.sum())
            twin.step(action)
    found = log_likelihoods(worlds, seat, [policy, None])
    assert found == pytest.approx(expected)
    assert (log_likelihoods(worlds, seat, [policy, None], RowThreads(2)) == found).all()
    assert log_likelihoods(worlds, seat, [policy])[0] == pytest.approx(expected[0])
    assert np.std(expected[0].sum(axis=0)) > 0.1


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_seat_that_holds_the_same_in_several_worlds_is_asked_once(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Late in the deal: all worlds together, and one at a time."""
    rule_sets, asked = rules_of(variant), list[int]()
    policy = made_player(rule_sets, SMALL)[1]
    own = policy.probabilities

    def probabilities(seen: np.ndarray, *rest: Any, **options: Any) -> np.ndarray:
        asked.append(len(seen))
        return own(seen, *rest, **options)

    monkeypatch.setattr(policy, "probabilities", probabilities)
    tables = positions.decisions(variant, rule_sets[0].seats, {}, 3, make_player("random"), deals=1)
    late = [table.copy() for table in tables if len(table.legal_actions()) > 1][-2]
    n, seat, models = 30, int(late.row.seat), [policy, None]
    worlds = worlds_of(late, n)
    together = log_likelihoods(worlds, seat, models)
    assert min(asked) < n
    alone = [log_likelihoods(worlds[row : row + 1], seat, models) for row in range(n)]
    assert (together == np.concatenate(alone, axis=2)).all()


def test_weights_and_draws() -> None:
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
    """One model and one seat that has done something."""
    found = np.zeros((1, MAX_SEATS, len(logs)))
    found[0, 2] = logs
    return found


def test_seats_go_on_like_the_model_that_explains_what_they_did() -> None:
    logs = np.zeros((3, MAX_SEATS, 1000))
    logs[:, 1] = np.log([[0.8], [0.15], [0.05]]) - 700
    logs[:, 2] = [[0], [0], [-2000]]
    logs[:, :, 7] = -np.inf
    styles = np.empty((1000, MAX_SEATS), np.int64)
    write_styles(logs, np.arange(1000), 5, 3, styles)
    shares = [np.bincount(styles[:, seat], minlength=4) / 1000 for seat in range(4)]
    expected = [[0, 1 / 3, 1 / 3, 1 / 3], [0, 0.8, 0.15, 0.05], [0, 0.5, 0.5, 0], [1, 0, 0, 0]]
    assert np.array(shares) == pytest.approx(np.array(expected), abs=0.05)


def test_the_others_play_the_worlds_out_like_the_models() -> None:
    """Where `thumb` is the model, nobody but the seat itself asks the policy."""
    rule_sets = rules_of("small_ships")
    policy, asked = made_player(rule_sets, SMALL)[1], set[int]()
    table = begun(Table("small_ships", seed=5))
    while table.phase != "play":
        table.step(table.legal_actions()[0])
    view, seat = kernel_view(table._rows), int(table.row.seat)
    worlds, draws, styles = draw_worlds(view, 0, 3, [None], 9)
    assert (styles == np.where(np.arange(MAX_SEATS) == seat, 0, 1)).all()

    class Listening:
        def drawn(self, seen: np.ndarray, legal: np.ndarray, seeds: np.ndarray, temperature: float) -> np.ndarray:
            asked.update(seeds.tolist())
            return policy.drawn(seen, legal, seeds, temperature)

    values: Any = {}
    for name, models in (("thumb", [None]), ("policy", [Listening()])):
        rollouts = kernel_view(new_tables(10))
        rollouts[:9] = worlds
        values[name] = np.empty(9, np.int64)
        run_rollouts(rollouts, np.full(9, table.legal_actions()[0]), draws, styles, [policy, *models], math.inf, values[name])
        assert bool(asked) == (name == "policy")
    assert (values["thumb"] != values["policy"]).any()


def holds_ace(worlds: np.ndarray) -> np.ndarray:
    """Whether seat 1 holds the ace of clubs."""
    held: np.ndarray = (worlds.view(np.recarray).hands[:, 1] >> 12 & 1) == 1
    return held


def test_likely_worlds_come_more_often_and_few_of_them_make_the_pool_larger(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that knows where the ace of clubs is, and one that knows everything."""
    table = next(
        table
        for seed in range(99)
        if not (table := begun(Table("down_up", seed=seed), deal=0)).row.hands[table.row.seat] >> 12 & 1
        and table.row.seat != 1
        and table.row.turn_up != 12
    )
    view, asked = kernel_view(table._rows), list[int]()
    uniform = draw_worlds(view, 0, 3, [], 40)
    assert not uniform.styles.any()
    assert 0 < holds_ace(uniform.tables).sum() < 30

    def ace(pool: np.ndarray, seat: int, models: Any, threads: Any) -> np.ndarray:
        asked.append(len(pool))
        return of_one_seat(np.where(holds_ace(pool), 0.0, -50.0))

    def everything(pool: np.ndarray, seat: int, models: Any, threads: Any) -> np.ndarray:
        asked.append(len(pool))
        return of_one_seat(-50.0 * np.arange(len(pool)))

    model = made_player(rules_of("down_up"), SMALL)[1]
    monkeypatch.setattr(opponent_models, "POOL", 6)
    monkeypatch.setattr(opponent_models, "log_likelihoods", ace)
    assert holds_ace(draw_worlds(view, 0, 3, [model], 40).tables).all()
    assert asked == [40 * opponent_models.POOL]
    monkeypatch.setattr(opponent_models, "log_likelihoods", everything)
    worlds = draw_worlds(view, 0, 3, [model], 40)
    assert asked[1:] == [40 * opponent_models.POOL] * opponent_models.MAX_POOLS
    assert len(set(worlds.draws.tolist())) == 40
