"""Searches on a policy: legal, reproducible, blind to hidden cards, in time, and stronger than the policy."""

import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from noms_env._threads import ONE_THREAD
from noms_env.belief.determinize import sampled_tables
from noms_env.engine.row_kernels import kernel_view
from noms_env.envs.batch import make_batch
from noms_env.players import NOBODY, draw_seeds, load_player, load_players
from noms_env.search.candidates import policy_candidates
from noms_env.search.endgame.position import units
from noms_env.search.endgame.solver import KINDS, choose_kind, is_solvable, solve
from noms_env.search.opponent_models import draw_worlds
from noms_env.search.policy_search import TOGETHER, SearchPlayer
from noms_env.search.rollouts import ROLLOUT_MARGIN, play_tasks, seed_of_draw
from noms_env.table import Table
from noms_env.variants import VARIANTS, Rules, game, make_rules
from noms_training.agents.registry import agent_spec, file_sha256
from tests.begin import begin
from tests.players.positions import relative_points, some_rows
from tests.policy.test_player import SMALL, make_small_player, rules_of, save_small


def small_player(*rule_sets: Rules, **options: Any) -> SearchPlayer:
    """Return a search on a policy with the smallest network."""
    return SearchPlayer(make_small_player(rule_sets, SMALL)[1], **options)


CASES: list[tuple[str, int | None, dict[str, Any]]] = [
    *((name, None, {}) for name in VARIANTS),
    ("small_ships", 3, {"indication": True}),
    ("small_ships", 6, {"stock_nomination": "redraw", "misere_nominates": False, "misere_trump": "none"}),
    ("noms", 4, {"implicit_announcements": True, "min_bid": 7}),
    ("nonesuch", 3, {"half": "exact"}),
]


@pytest.mark.parametrize(("name", "seats", "options"), CASES, ids=str)
def test_every_answer_is_legal(name: str, seats: int | None, options: dict[str, Any]) -> None:
    """The same player at every seat of a deal."""
    rules = make_rules(game(name), seats, options)
    player = small_player(rules, worlds=1)
    batch, rng = begin(make_batch(name, 2, seats=seats, seed=3, **options)), np.random.default_rng(0)
    for _ in range(80):
        rows = np.flatnonzero(~batch.over)
        if len(rows) == 0:
            break
        batch.observe()
        actions = np.zeros(2, np.int64)
        tables = sampled_tables(batch.tables, rows, rng)
        actions[rows] = player.act(batch.observation[rows], batch.mask[rows], rng, tables=tables)
        batch.step(actions)  # refuses what is not legal


@pytest.mark.uncompiled
def test_a_small_deal_without_the_compiler() -> None:
    test_every_answer_is_legal("up_down", 2, {"ranks": 3, "suits": 2})


RULES = rules_of("small_ships", "nonesuch", "down_up")


@pytest.mark.parametrize("heat", [0.0, 1.0])
@pytest.mark.parametrize("moment", [0, 9, 25])
def test_a_row_has_the_same_answer_alone_and_in_a_batch(heat: float, moment: int) -> None:
    """Even if the rollouts of a row do not all run together."""
    policy = make_small_player(RULES, SMALL)[1]
    policy.temperature = heat
    worlds = 130 if moment == 0 else 20
    player = SearchPlayer(policy, worlds=worlds)
    observation, legal, true = some_rows(RULES, 9, moment)
    tables = sampled_tables(true, None, np.random.default_rng(5))
    together = player.act(observation, legal, np.random.default_rng(1), tables=tables)
    rng = np.random.default_rng(1)
    alone: list[Any] = [player.act(observation[row], legal[row], rng, tables=tables[row]) for row in range(9)]
    assert all(type(action) is int for action in alone)
    assert together.tolist() == alone
    assert (np.take_along_axis(legal, together[:, np.newaxis], axis=1) == 1).all()
    threaded = SearchPlayer(policy, worlds=worlds, threads=2).act(observation, legal, np.random.default_rng(1), tables=tables)
    assert threaded.tolist() == alone
    if moment == 0:
        assert worlds * np.count_nonzero(legal, axis=1).max() > TOGETHER


@pytest.mark.parametrize(
    ("multiplier", "options", "searches"),
    [(1, {}, True), (2, {}, False), (2, {"deal_mode": "packets_shuffled"}, True)],
)
def test_the_policy_plays_if_the_cards_were_sorted(multiplier: int, options: dict[str, Any], searches: bool) -> None:
    player, rng = small_player(make_rules(game("noms"), 4, options), worlds=4), np.random.default_rng(0)
    table = Table("noms", 4, options)
    table.start(multiplier=multiplier)
    observation, legal = table.view(int(table.row.seat))
    tables = sampled_tables(table._rows, None, rng)
    assert bool(player.values(observation, legal, rng, tables=tables)) == searches
    player.policy.temperature = 0
    favourite = int(player.policy.probabilities(observation, legal, temperature=1).argmax())
    assert searches or player.act(observation, legal, rng, tables=tables) == favourite


@pytest.mark.parametrize("opponents", ["uniform", "policy", "thumb", "mixture"])
def test_hidden_cards_have_no_influence(opponents: str) -> None:
    """All outputs are the same at the true table and at two redeals."""
    rule_sets = rules_of(*VARIANTS)
    player, different = small_player(*rule_sets, worlds=3, opponents=opponents), 0
    for moment in (1, 7, 20, 33):
        observation, legal, true = some_rows(rule_sets, 14, moment)
        outputs = []
        for world in range(3):
            tables = true.copy() if world == 0 else sampled_tables(true, None, np.random.default_rng(world))
            before = tables.tobytes()
            different += int((tables.hands != true.hands).any(axis=1).sum())
            targets = player.targets(observation, legal, np.random.default_rng(5), tables=tables)
            outputs.append((targets[0].tolist(), targets[1].tolist()))
            assert tables.tobytes() == before, "the tables are left alone"
        assert outputs[0] == outputs[1] == outputs[2]
    assert different > 70


@pytest.mark.parametrize("heat", [0.0, 1.0])
def test_targets_are_the_updated_policy_and_its_value(heat: float) -> None:
    player = small_player(*RULES, worlds=6)
    player.policy.temperature = heat
    observation, legal, tables = some_rows(RULES, 9, 20)
    legal[0] = 0
    targets = player.targets(observation, legal, np.random.default_rng(4), tables=tables)
    assert targets.action[0] == NOBODY
    assert targets.action.tolist() == player.act(observation, legal, np.random.default_rng(4), tables=tables).tolist()
    assert targets.action_weights.dtype == targets.value.dtype == np.float32
    np.testing.assert_allclose(targets.action_weights.sum(axis=1), [0, *[1] * 8], rtol=1e-6)
    roots = player.search(observation, legal, draw_seeds(np.random.default_rng(4), 9), tables)
    assert np.flatnonzero(~np.isnan(targets.value)).tolist() == [root.row for root in roots]
    for root in roots:
        updated = np.exp(root.logits()) / np.exp(root.logits()).sum()
        np.testing.assert_allclose(targets.action_weights[root.row, root.members], updated, rtol=1e-5)
        assert targets.value[root.row] == pytest.approx(float((updated * root.means).sum()), rel=1e-5)
        if heat == 0:
            assert targets.action_weights[root.row].argmax() == targets.action[root.row]


def test_the_policy_plays_the_worlds_out() -> None:
    """Each rollout again, decision by decision."""
    rule_sets = rules_of("small_ships")
    policy = make_small_player(rule_sets, SMALL)[1]
    table = begin(Table("small_ships", seed=5))
    for _ in range(10):
        table.step(table.legal_actions()[0])
    view, seat = kernel_view(table._rows), int(table.row.seat)
    actions = policy_candidates(view, 0, policy.probabilities(*table.view(seat)))[0]
    worlds = draw_worlds(view, 0, 77, [], 4)
    values = play_tasks([(worlds, actions)], [policy], math.inf, ONE_THREAD)
    assert values is not None
    assert values[0].shape == (4, len(actions))
    decisions: list[int] = []
    for world in range(4):
        for action, value in zip(actions, values[0][world], strict=True):
            twin = table.copy()
            twin.set_row(worlds.tables.view(np.recarray)[world])
            twin.step(int(action))
            decision, draw = 0, int(worlds.draws[world])
            while not is_solvable(twin.row, ROLLOUT_MARGIN):
                observation, mask = twin.view(int(twin.row.seat))
                groups = policy_candidates(kernel_view(twin._rows), 0, policy.probabilities(observation, mask))[0]
                chosen = int(groups[0])
                if len(groups) > 1 or (mask.sum() > 1 and twin.phase != "play"):
                    chosen = int(policy.drawn(observation[None], mask[None], np.array([seed_of_draw(draw, decision)]), 1.0)[0])
                    decision += 1
                twin.step(chosen)
            ends = solve(twin, KINDS[choose_kind(twin.row, 0)]).values()
            end = max(ends, key=lambda end: end[int(twin.row.seat)])
            assert value / units(4) == pytest.approx(end[seat] / twin.row.multiplier)
            decisions.append(decision)
    assert max(decisions) > 10


def test_a_search_stops_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """More time means more worlds; without time the policy decides."""
    monkeypatch.setattr(time, "perf_counter", time.process_time)  # other processes do not count
    player: Any = load_player("search:small_ships@0,time=40")
    observation, legal, tables = some_rows(rules_of("small_ships"), 6, 5)
    seeds, worlds = np.arange(6), list[int]()
    for limit in (40, 400):
        player.time = limit
        player.search(observation, legal, seeds, tables)
        started = time.process_time()
        roots = player.search(observation, legal, seeds, tables)
        assert time.process_time() - started < 1.5 * len(roots) * limit / 1000
        worlds.append(sum(root.worlds for root in roots))
    assert 0 < worlds[0] < worlds[1]
    player.time = 1e-6
    assert [root.worlds for root in player.search(observation, legal, seeds, tables)] == [0] * len(roots)
    probabilities = player.policy.probabilities(observation, legal, temperature=1)
    groups = [policy_candidates(kernel_view(tables), row, probabilities[row]) for row in range(6)]
    expected = [int(members[shares.argmax()]) for _, shares, members in groups]
    assert player.act(observation, legal, np.random.default_rng(0), tables=tables).tolist() == expected


def test_a_name_sets_the_policy_and_the_options(tmp_path: Path) -> None:
    save_small(tmp_path / "policy.safetensors", rules_of("down_up"))
    usual: Any = load_player("search:noms@0")
    assert (usual.worlds, usual.time, usual.policy.temperature) == (24, None, 0)
    other: Any = load_player(f"search:{tmp_path},worlds=7,time=2.5,temperature=0")
    assert (other.worlds, other.time, other.temperature, other.policy.temperature) == (7, 2.5, 0, 1)
    assert load_player("search:noms,time=5").worlds == 10_000  # type: ignore[attr-defined]
    assert other.rule_sets == rules_of("down_up")
    assert agent_spec("search:noms,worlds=3").rule_sets == usual.rule_sets
    assert file_sha256("search:noms@0,worlds=3") == file_sha256("noms")
    assert repr(usual).startswith("<SearchPlayer: 24 worlds, on <PolicyPlayer: noms with 4 seats; temperature=0")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("search", "search:POLICY"),
        ("search:thumb", "thumb is none"),
        ("search:nomms@0,worlds=3", "^search:nomms@0 .*did you mean noms"),
        ("search:noms,worlds=0", "worlds .* from 1 to 10000, not 0"),
        ("search:noms,worlds=two", "worlds .* whole number, not 'two'"),
        ("search:noms,time=nan", "time .* above 0, not nan"),
        ("search:noms,world=5", r"no option 'world'; did you mean worlds\?"),
        ("search:noms,worlds=5,worlds=6", "worlds twice"),
        ("search:noms,opponents=thum", "opponents must be uniform, policy, thumb, mixture, or a policy.*'thum'"),
        ("search:noms,opponents=down_up", "for the same games, which down_up is not"),
    ],
)
def test_a_wrong_name_is_refused(name: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        load_player(name)


def test_a_table_with_other_rules_is_refused() -> None:
    with pytest.raises(ValueError, match=r"search:noms .* noms with 4 seats, not for small_ships with 4 seats"):
        load_players("search:noms", 3, Table("small_ships").rules)
    observation, legal, tables = some_rows(rules_of("down_up"), 1, 3)
    with pytest.raises(ValueError, match="trained for noms"):
        load_player("search:noms").act(observation[0], legal[0], np.random.default_rng(0), tables=tables)


@pytest.mark.soak
def test_a_search_is_stronger_than_its_policy() -> None:
    gains = relative_points("search:nonesuch@0,worlds=40", "nonesuch@0", "nonesuch", 100)
    assert gains.mean() > 1.6 * gains.std(ddof=1) / np.sqrt(len(gains))
