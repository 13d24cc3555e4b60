"""Features in place of bytes, with the suits as they are or in one order: the same in every environment."""

import itertools
import random
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from pettingzoo.test import api_test, seed_test

import noms_env
from noms_env import CanonicalSuits, SeatEnv, SeatVectorEnv, TableGroup, canonical_suits, feature_layout, make_batch
from noms_env.core.cards import CARD_WORDS, FRENCH
from noms_env.observation.feature_layout import FeatureLayout
from noms_env.policy.encoding import make_encoding
from tests.begun import begun
from tests.envs.play import EVERY_TABLE, KINDS, Kind, choose, choose_in_rows, make, module_of
from tests.policy.test_encoding import few, permuted, permuted_action, permuted_options, rules_of, tied_suits

WRAPS: dict[str, Callable[[Any], Any]] = {"plain": lambda env: env, "canonical": canonical_suits}
FOUR = [kind for kind in EVERY_TABLE if kind.seats == 4]


@pytest.mark.parametrize("kind", FOUR, ids=str)
def test_every_agent_sees_the_features_of_its_bytes(kind: Kind) -> None:
    env, twin = (begun(make(kind, observation=word), seed=1) for word in ("bytes", "features"))
    layout = twin.feature_layout
    assert layout is not None
    assert (env.feature_layout, twin.observation_layout()) == (None, layout.sections)
    rng = random.Random(1)
    for _ in range(60):
        if env.phase is None:
            break
        for agent in env.possible_agents:
            seen, features = env.observe(agent), twin.observe(agent)
            assert np.array_equal(layout.encode(seen["observation"]), features["observation"])
            assert np.array_equal(seen["action_mask"], features["action_mask"])
            assert twin.observation_space(agent).contains(features)
        action = choose(env, rng)
        env.step(action)
        twin.step(action)


@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version")
@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize("kind", FOUR, ids=str)
def test_the_contracts_of_the_libraries_hold(kind: Kind, wrap: str) -> None:
    def build() -> Any:
        return WRAPS[wrap](module_of(kind.variant).env(seats=kind.seats, observation="features"))

    api_test(build(), num_cycles=60)
    seed_test(build, num_cycles=40)
    ways: list[dict[str, Any]] = [{}, {"mask_in": "info", "opponents": "thumb"}, {"mask_in": "both", "episode": "match"}]
    for arguments in ways:
        env: Any = gymnasium.make(f"noms/{kind.variant}-v0", observation="features", **arguments)
        check_env(WRAPS[wrap](env.unwrapped), skip_render_check=True)


@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize(("variant", "mask_in"), [("down_up", "observation"), ("noms", "info"), ("nonesuch", "both")])
def test_a_row_of_many_sees_what_a_single_environment_does(variant: str, mask_in: str, wrap: str) -> None:
    arguments: dict[str, Any] = {"observation": "features", "mask_in": mask_in, "episode": "match"}
    envs: Any = SeatVectorEnv(3, variant, autoreset_mode=AutoresetMode.SAME_STEP, **arguments)
    envs, singles = WRAPS[wrap](envs), [WRAPS[wrap](SeatEnv(variant, **arguments)) for _ in range(3)]
    seen, infos = envs.reset(seed=3)
    alone = [single.reset(seed=3 + row) for row, single in enumerate(singles)]
    compare_rows(seen, infos, alone)
    for step in range(80):
        actions = choose_in_rows(envs.action_masks(), step)
        seen, _, terminated, truncated, infos = envs.step(actions)
        for row, single in enumerate(singles):
            last, _, *ends, info = single.step(actions[row])
            assert ends == [terminated[row], truncated[row]]
            if any(ends):
                compare(infos["final_obs"][row], last)
                last, info = single.reset()
            alone[row] = (last, info)
        compare_rows(seen, infos, alone)
        for row, single in enumerate(singles):
            assert np.array_equal(envs.action_masks()[row], single.action_masks())


def compare_rows(seen: Any, infos: dict[str, Any], alone: list[tuple[Any, dict[str, Any]]]) -> None:
    for row, (single, info) in enumerate(alone):
        compare({key: part[row] for key, part in seen.items()} if isinstance(seen, dict) else seen[row], single)
        assert ("action_mask" in infos) == ("action_mask" in info)
        if "action_mask" in info:
            assert np.array_equal(infos["action_mask"][row], info["action_mask"])


def compare(one: Any, other: Any) -> None:
    assert isinstance(one, dict) == isinstance(other, dict)
    for left, right in zip(one.values(), other.values(), strict=True) if isinstance(one, dict) else [(one, other)]:
        assert left.dtype == right.dtype
        assert np.array_equal(left, right)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("groups", [[TableGroup("noms")], [TableGroup("down_up", 3), TableGroup("small_ships", 5)]], ids=str)
def test_a_batch_writes_the_features_of_its_bytes(groups: list[TableGroup], threads: int) -> None:
    plain, batch = (begun(make_batch(groups, 2100, observation=word, threads=threads)) for word in ("bytes", "features"))
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
    kept = batch.observation.copy()
    batch.step(choose_in_rows(plain.mask, 0))
    assert np.array_equal(batch.observation, kept)
    batch.observe(np.array([7, 2000]))
    differ = (batch.observation != kept).any(axis=1)
    assert set(np.flatnonzero(differ)) == {7, 2000}


def test_the_totals_are_features_of_a_match_only() -> None:
    for episode in ("match", "deal"):
        sections = feature_layout("noms", episode=episode).sections
        assert module_of("noms").raw_env(observation="features", episode=episode).observation_layout() == sections
        assert any(part.name == "seats.total" for part in sections) == (episode == "match")
    single = SeatEnv("noms", observation="features").feature_layout
    assert single is not None
    assert single.sections == feature_layout("noms", episode="deal").sections


@pytest.mark.parametrize("name", KINDS)
def test_canonical_features_are_those_that_policies_read(name: str) -> None:
    rules, (seen, legal, _) = rules_of(KINDS[name]), few(name)
    layout, encoding = FeatureLayout([rules], "deal"), make_encoding([rules])
    suits = CanonicalSuits(layout)
    pairs = list(zip(layout.column.tolist(), layout.value.tolist(), strict=True))
    places = [pairs.index(pair) for pair in zip(encoding.index[0].tolist(), encoding.value[0].tolist(), strict=True)]
    renamed, orders = suits.rename({"observation": layout.encode(seen), "action_mask": legal})
    features, mask, order = encoding.encode(seen, legal)
    assert isinstance(renamed, dict)
    assert np.array_equal(renamed["observation"][:, places], features * encoding.scale)
    assert np.array_equal(renamed["action_mask"][:, encoding.choices], mask)
    assert np.array_equal(suits.actions[orders][:, encoding.choices], encoding.actions[order])
    assert np.array_equal(suits.rename((layout.encode(seen) / layout.scale).round().astype(np.uint8))[1], orders)


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.variant != "nonesuch" and "lots" not in name])
def test_a_deal_with_renamed_suits_looks_the_same_in_canonical_order(name: str) -> None:
    kind, rules, rng, compared = KINDS[name], rules_of(KINDS[name]), random.Random(name), 0
    for suits in rng.sample(list(itertools.permutations(range(rules.options["suits"]))), 3):
        names = (*suits, *range(len(suits), 4))
        both = (kind, kind._replace(options=permuted_options(rules, names)))
        one, other = (make(each, observation="features") for each in both)
        one.reset(
            seed=rng.randrange(2**32), options={"deal": rules.schedule.index(max(rules.schedule)) if rules.schedule else 0}
        )
        row = one.table.row
        deck = [CARD_WORDS[FRENCH][card] for card in row.deck[: len(rules.deck)]]
        other.reset(seed=3, options={"deal": int(row.deal), "dealer": int(row.dealer), "deck": permuted(deck, names)})
        wrapped, renamed = canonical_suits(one), canonical_suits(other)
        deal = int(row.deal)
        while one.phase is not None and row.deal == deal:
            if not tied_suits(one.table.view(int(row.seat))[0]):
                compare(wrapped.last()[0], renamed.last()[0])
                compared += 1
            action = choose(one, rng)
            one.step(action)
            other.step(permuted_action(action, names))
    assert compared > 10


@pytest.mark.parametrize("kind", FOUR, ids=str)
def test_canonical_actions_stand_for_the_legal_ones_and_others_are_refused(kind: Kind) -> None:
    env = begun(make(kind, observation="features"), seed=1)
    assert env.feature_layout is not None
    wrapped, suits, rng = canonical_suits(env), CanonicalSuits(env.feature_layout), random.Random(1)
    for _ in range(40):
        if env.phase is None:
            break
        seen, orders = suits.rename(env.observe(env.agent_selection))
        legal = np.flatnonzero(wrapped.last()[0]["action_mask"])
        assert isinstance(seen, dict)
        assert np.array_equal(legal, np.flatnonzero(seen["action_mask"]))
        meant = suits.actions[orders[0], legal]
        assert sorted(meant) == env.legal_actions()
        assert wrapped.legal_actions() == legal.tolist()
        words = [wrapped.action_to_str(int(action)) for action in legal]
        assert words == [env.action_to_str(int(action)) for action in meant]
        assert [wrapped.str_to_action(word) for word in words] == legal.tolist()
        assert [wrapped.str_to_action(word, wrapped.unwrapped.phase) for word in words] == legal.tolist()
        for action in (-1, 150, 1.5, next(action for action in range(150) if action not in legal)):
            with pytest.raises(noms_env.IllegalActionError):
                wrapped.step(action)
        place = rng.randrange(len(legal))
        expected, twin = env.clone(), wrapped.clone()
        expected.step(int(meant[place]))
        wrapped.step(legal[place])
        twin.step(legal[place])
        assert env.table.get_state() == expected.table.get_state() == twin.unwrapped.table.get_state()


def test_suits_are_put_in_order_where_there_are_features() -> None:
    alone, many = SeatEnv("down_up", observation="bytes"), SeatVectorEnv(2, "down_up", observation="bytes")
    for env in (noms_env.down_up_v0.env(), alone, many, "down_up"):
        with pytest.raises(ValueError, match="canonical suits need an environment with observation='features', not "):
            canonical_suits(env)
    with pytest.raises(ValueError, match="canonical suits of an AEC environment need mask_in='observation'"):
        canonical_suits(noms_env.down_up_v0.env(observation="features", mask_in="both"))


def test_tables_of_both_decks_share_a_layout_in_which_the_decktet_keeps_its_names() -> None:
    """And a batch of some of them has the features of all."""
    groups = [TableGroup("down_up", 3), TableGroup("nonesuch", 4), TableGroup("noms", 4)]
    mixed = make_batch(groups, 9, observation="features", seed=2)
    layout = mixed.feature_layout
    assert layout is not None
    seen = make_batch(groups, 9, seed=2)
    for batch in (mixed, seen):
        batch.reset()
        batch.observe()
    renamed, orders = CanonicalSuits(layout).rename(mixed.observation)
    assert isinstance(renamed, np.ndarray)
    assert (orders[3:6] == 0).all()
    assert (renamed[3:6] == mixed.observation[3:6]).all()
    own = noms_env.feature_layout("down_up", 3)
    assert (orders[:3] == CanonicalSuits(own).orders(own.encode(seen.observation[:3]))).all()
    assert orders[:3].any()
    alone = make_batch("nonesuch", 3, observation=layout, seed=2, seats=4)
    alone.reset(table=np.arange(3, 6))
    alone.observe()
    assert (alone.observation == mixed.observation[3:6]).all()
