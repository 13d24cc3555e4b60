"""Features instead of bytes, with the suits as they are or in canonical order: the same in every environment."""

import itertools
import random
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AutoresetMode
from pettingzoo.test import api_test, seed_test

import noms_env
from noms_env import CanonicalSuits, SeatEnv, SeatVectorEnv, TableGroup, canonical_suits, feature_layout, make_batch
from noms_env.observation.feature_layout import FeatureLayout
from noms_env.policy.encoding import make_encoding
from tests.agreement import deck_words
from tests.begin import begin
from tests.envs.play import EVERY_TABLE, KINDS, Kind, choose, choose_in_rows, make, module_of
from tests.policy.test_encoding import few, permuted, permuted_action, permuted_options, rules_of, tied_suits

WRAPPERS: dict[str, Callable[[Any], Any]] = {"plain": lambda env: env, "canonical": canonical_suits}
FOUR = [kind for kind in EVERY_TABLE if kind.seats == 4]


@pytest.mark.parametrize("kind", FOUR, ids=str)
def test_every_agent_sees_the_features_of_its_bytes(kind: Kind) -> None:
    env, twin = (begin(make(kind, observation=form), seed=1) for form in ("bytes", "features"))
    layout = twin.feature_layout
    assert layout is not None
    assert (env.feature_layout, twin.observation_layout()) == (None, layout.sections)
    rng = random.Random(1)
    for _ in range(60):
        if env.phase is None:
            break
        for agent in env.possible_agents:
            view, features = env.observe(agent), twin.observe(agent)
            assert np.array_equal(layout.encode(view["observation"]), features["observation"])
            assert np.array_equal(view["action_mask"], features["action_mask"])
            assert twin.observation_space(agent).contains(features)
        action = choose(env, rng)
        env.step(action)
        twin.step(action)


@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version")
@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("kind", FOUR, ids=str)
def test_the_checks_of_pettingzoo_and_gymnasium_pass(kind: Kind, wrapper: str) -> None:
    def build() -> Any:
        return WRAPPERS[wrapper](module_of(kind.variant).env(seats=kind.seats, observation="features"))

    api_test(build(), num_cycles=60)
    seed_test(build, num_cycles=40)
    cases: list[dict[str, Any]] = [{}, {"mask_in": "info", "opponents": "thumb"}, {"mask_in": "both", "episode": "match"}]
    for arguments in cases:
        env: Any = gymnasium.make(f"noms/{kind.variant}-v0", observation="features", **arguments)
        check_env(WRAPPERS[wrapper](env.unwrapped), skip_render_check=True)


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize(("variant", "mask_in"), [("down_up", "observation"), ("noms", "info"), ("nonesuch", "both")])
def test_a_row_of_many_sees_the_same_as_a_single_environment(variant: str, mask_in: str, wrapper: str) -> None:
    arguments: dict[str, Any] = {"observation": "features", "mask_in": mask_in, "episode": "match"}
    wrap = WRAPPERS[wrapper]
    envs = wrap(SeatVectorEnv(3, variant, autoreset_mode=AutoresetMode.SAME_STEP, **arguments))
    singles = [wrap(SeatEnv(variant, **arguments)) for _ in range(3)]
    observations, infos = envs.reset(seed=3)
    expected = [single.reset(seed=3 + row) for row, single in enumerate(singles)]
    assert_rows(observations, infos, expected)
    for step in range(80):
        actions = choose_in_rows(envs.action_masks(), step)
        observations, _, terminated, truncated, infos = envs.step(actions)
        for row, single in enumerate(singles):
            observation, _, *ends, info = single.step(actions[row])
            assert ends == [terminated[row], truncated[row]]
            if any(ends):
                assert data_equivalence(infos["final_obs"][row], observation, exact=True)
                observation, info = single.reset()
            expected[row] = (observation, info)
        assert_rows(observations, infos, expected)
        for row, single in enumerate(singles):
            assert np.array_equal(envs.action_masks()[row], single.action_masks())


def assert_rows(observations: Any, infos: dict[str, Any], expected: list[tuple[Any, dict[str, Any]]]) -> None:
    """Check that each row has the observation and the mask of a single environment."""
    for row, (single, info) in enumerate(expected):
        is_dict = isinstance(observations, dict)
        observation = {key: part[row] for key, part in observations.items()} if is_dict else observations[row]
        assert data_equivalence(observation, single, exact=True)
        assert ("action_mask" in infos) == ("action_mask" in info)
        if "action_mask" in info:
            assert np.array_equal(infos["action_mask"][row], info["action_mask"])


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("groups", [[TableGroup("noms")], [TableGroup("down_up", 3), TableGroup("small_ships", 5)]], ids=str)
def test_a_batch_writes_the_features_of_its_bytes(groups: list[TableGroup], threads: int) -> None:
    plain, batch = (begin(make_batch(groups, 2100, observation=form, threads=threads)) for form in ("bytes", "features"))
    layout = batch.feature_layout
    assert plain.feature_layout is None
    assert layout is not None
    assert batch.observation.shape == (2100, layout.n_features)
    assert batch.observation.dtype == np.uint8
    for each in (plain, batch):
        each.observe()
    for step in range(40):
        assert np.array_equal(layout.encode(plain.observation), batch.observation * layout.scale)
        actions = choose_in_rows(plain.mask, step)
        plain.step(actions, observe=True)
        batch.step(actions, observe=True)
    before = batch.observation.copy()
    batch.step(choose_in_rows(plain.mask, 0))
    assert np.array_equal(batch.observation, before)
    batch.observe(np.array([7, 2000]))
    assert np.flatnonzero((batch.observation != before).any(axis=1)).tolist() == [7, 2000]


def test_totals_are_features_of_matches_only() -> None:
    for episode in ("match", "deal"):
        sections = feature_layout("noms", episode=episode).sections
        assert module_of("noms").raw_env(observation="features", episode=episode).observation_layout() == sections
        assert any(part.name == "seats.total" for part in sections) == (episode == "match")
    single = SeatEnv("noms", observation="features").feature_layout
    assert single is not None
    assert single.sections == feature_layout("noms", episode="deal").sections


@pytest.mark.parametrize("name", KINDS)
def test_policies_read_canonical_features(name: str) -> None:
    rules, (observations, legal, _) = rules_of(KINDS[name]), few(name)
    layout, encoding = FeatureLayout([rules], "deal"), make_encoding([rules])
    suits = CanonicalSuits(layout)
    pairs = list(zip(layout.column.tolist(), layout.value.tolist(), strict=True))
    assert len(set(pairs)) == len(pairs)
    places = [pairs.index(pair) for pair in zip(encoding.index[0].tolist(), encoding.value[0].tolist(), strict=True)]
    renamed, orders = suits.rename({"observation": layout.encode(observations), "action_mask": legal})
    features, mask, order = encoding.encode(observations, legal)
    assert isinstance(renamed, dict)
    assert np.array_equal(renamed["observation"][:, places], features * encoding.scale)
    assert np.array_equal(renamed["action_mask"][:, encoding.choices], mask)
    assert np.array_equal(suits.actions[orders][:, encoding.choices], encoding.actions[order])
    assert np.array_equal(suits.rename((layout.encode(observations) / layout.scale).round().astype(np.uint8))[1], orders)


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.variant != "nonesuch" and "lots" not in name])
def test_a_deal_with_renamed_suits_looks_the_same_in_canonical_order(name: str) -> None:
    kind, rules, rng, n_compared = KINDS[name], rules_of(KINDS[name]), random.Random(name), 0
    schedule = rules.schedule
    for suits in rng.sample(list(itertools.permutations(range(rules.options["suits"]))), 3):
        names = (*suits, *range(len(suits), 4))
        env = make(kind, observation="features")
        twin = make(kind._replace(options=permuted_options(rules, names)), observation="features")
        env.reset(seed=rng.randrange(2**32), options={"deal": schedule.index(max(schedule)) if schedule else 0})
        row, deal = env.table.row, int(env.table.row.deal)
        deck = permuted(deck_words(env.table), names)
        twin.reset(seed=3, options={"deal": deal, "dealer": int(row.dealer), "deck": deck})
        canonical, renamed = canonical_suits(env), canonical_suits(twin)
        while env.phase is not None and row.deal == deal:
            if not tied_suits(env.table.view(int(row.seat))[0]):
                assert data_equivalence(canonical.last()[0], renamed.last()[0], exact=True)
                n_compared += 1
            action = choose(env, rng)
            env.step(action)
            twin.step(permuted_action(action, names))
    assert n_compared > 10


@pytest.mark.parametrize("kind", FOUR, ids=str)
def test_canonical_actions_map_to_the_legal_ones_and_others_are_refused(kind: Kind) -> None:
    env = begin(make(kind, observation="features"), seed=1)
    assert env.feature_layout is not None
    wrapped, suits, rng = canonical_suits(env), CanonicalSuits(env.feature_layout), random.Random(1)
    for _ in range(40):
        if env.phase is None:
            break
        view, orders = suits.rename(env.observe(env.agent_selection))
        legal = np.flatnonzero(wrapped.last()[0]["action_mask"])
        assert isinstance(view, dict)
        assert np.array_equal(legal, np.flatnonzero(view["action_mask"]))
        plain = suits.actions[orders[0], legal]
        assert sorted(plain) == env.legal_actions()
        assert wrapped.legal_actions() == legal.tolist()
        words = [wrapped.action_to_str(int(action)) for action in legal]
        assert words == [env.action_to_str(int(action)) for action in plain]
        assert [wrapped.str_to_action(word) for word in words] == legal.tolist()
        assert [wrapped.str_to_action(word, wrapped.unwrapped.phase) for word in words] == legal.tolist()
        for action in (-1, 150, 1.5, next(action for action in range(150) if action not in legal)):
            with pytest.raises(noms_env.IllegalActionError):
                wrapped.step(action)
        place = rng.randrange(len(legal))
        expected, twin = env.clone(), wrapped.clone()
        expected.step(int(plain[place]))
        wrapped.step(legal[place])
        twin.step(legal[place])
        assert env.table.get_state() == expected.table.get_state() == twin.unwrapped.table.get_state()


def test_canonical_suits_need_features_and_the_mask_in_the_observation() -> None:
    alone, many = SeatEnv("down_up", observation="bytes"), SeatVectorEnv(2, "down_up", observation="bytes")
    for env in (noms_env.down_up_v0.env(), alone, many, "down_up"):
        with pytest.raises(ValueError, match="canonical suits need an environment with observation='features', not "):
            canonical_suits(env)
    with pytest.raises(ValueError, match="canonical suits of an AEC environment need mask_in='observation'"):
        canonical_suits(noms_env.down_up_v0.env(observation="features", mask_in="both"))


def test_both_decks_share_a_layout_in_which_the_decktet_keeps_its_suits() -> None:
    groups = [TableGroup("down_up", 3), TableGroup("nonesuch", 4), TableGroup("noms", 4)]
    mixed, plain = (begin(make_batch(groups, 9, observation=form, seed=2)) for form in ("features", "bytes"))
    layout = mixed.feature_layout
    assert layout is not None
    for batch in (mixed, plain):
        batch.observe()
    renamed, orders = CanonicalSuits(layout).rename(mixed.observation)
    assert isinstance(renamed, np.ndarray)
    assert (orders[3:6] == 0).all()
    assert (renamed[3:6] == mixed.observation[3:6]).all()
    own = noms_env.feature_layout("down_up", 3)
    assert (orders[:3] == CanonicalSuits(own).orders(own.encode(plain.observation[:3]))).all()
    assert orders[:3].any()
    alone = begin(make_batch("nonesuch", 3, observation=layout, seed=2, seats=4), table=np.arange(3, 6))
    alone.observe()
    assert (alone.observation == mixed.observation[3:6]).all(), "a batch of some tables may have the features of all"
