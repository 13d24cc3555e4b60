"""An environment that is copied, pickled, or saved and restored in mid-deal plays on exactly as the original."""

import contextlib
import copy
import itertools
import pickle
import random
from collections.abc import Callable, Iterable
from typing import Any

import cloudpickle
import numpy as np
import pytest

from noms_env.core.actions import NUM_ACTIONS
from noms_env.envs.aec import TrickTakingEnv
from noms_env.envs.saved import PER_AGENT
from noms_env.table import Table
from noms_env.variants.table_record import TABLE
from tests import referee
from tests.begin import begin
from tests.cases import some
from tests.envs.play import EPISODES, KINDS, choose, make, module_of, play_out, snapshot, walk, walk_on


def restore_elsewhere(env: TrickTakingEnv, change: Callable[[Any], Any] = lambda state: state) -> TrickTakingEnv:
    """Make a new environment with the same arguments, and set it to the state of this one."""
    table = env.table
    twin = module_of(table.rules.variant.name).raw_env(seats=table.seats, **table.rules.options, record=True)
    twin.reset(seed=99)
    walk_on(twin, random.Random(0), 9)
    twin.set_state(change(env.get_state()))
    return twin


COPIES: dict[str, Callable[[Any], Any]] = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda env: pickle.loads(pickle.dumps(env)),
    "cloudpickle": lambda env: pickle.loads(cloudpickle.dumps(env)),
    "clone": lambda env: env.clone(),
    "get_state": restore_elsewhere,
    "pickled state": lambda env: restore_elsewhere(env, lambda state: pickle.loads(pickle.dumps(state))),
}


def play_both(env: Any, twin: Any, rng: random.Random, decisions: int) -> None:
    """Play the same actions in both; they must show the same at every decision."""
    for _ in range(decisions):
        assert snapshot(env.unwrapped) == snapshot(twin.unwrapped)
        if env.unwrapped.phase is None:
            return
        action = choose(env.unwrapped, rng)
        env.step(action)
        twin.step(action)


@pytest.mark.parametrize("method", COPIES)
@pytest.mark.parametrize("name", KINDS)
def test_a_copy_plays_on_as_the_original(name: str, method: str) -> None:
    env = begin(make(KINDS[name], record=True), seed=3)
    rng = random.Random(f"{name} {method}")
    walk_on(env, rng, rng.randrange(5, 70))
    before = snapshot(env)
    twin, other = COPIES[method](env), COPIES[method](env)
    walk_on(other, random.Random(1), 10)
    assert snapshot(env) == before, "the original does not notice its copies"
    assert type(twin) is type(env)
    play_both(env, twin, rng, 45)
    assert env.records == twin.records
    env.reset()
    twin.reset()
    play_both(env, twin, rng, 3)


def test_set_state_restores_the_wrappers_too() -> None:
    env: Any = module_of("small_ships").env()
    with pytest.raises(ValueError, match="call reset first"):
        env.get_state()
    env.reset(seed=3)
    bid = env.unwrapped.str_to_action("7")
    before = env.get_state()
    env.step(bid)
    after = env.last()[0]["observation"].tobytes()
    env.set_state(before)
    twin = env.clone()
    assert type(twin) is type(env)
    assert str(twin) == "small_ships_v0"
    for each in (env, twin):
        each.step(bid)
        assert not any(each.terminations.values()), "the bid is legal again"
        assert each.last()[0]["observation"].tobytes() == after
    with pytest.raises(ValueError, match="same wrappers"):
        env.set_state(env.unwrapped.get_state())


def play_turns(env: Any, rng: random.Random, agents: Iterable[str]) -> list[tuple[str, float]]:
    """Play the agents' turns at random, at most to the end of the episode; return agents and rewards."""
    turns = []
    for agent in agents:
        _, reward, termination, truncation, _ = env.last()
        turns.append((agent, reward))
        env.step(None if termination or truncation else choose(env.unwrapped, rng))
    return turns


@pytest.mark.parametrize("method", ["deepcopy", "pickle", "cloudpickle", "clone", "get_state"])
def test_a_copy_of_a_wrapped_environment_plays_on_in_a_loop_of_its_own(method: str) -> None:
    env: Any = begin(module_of("down_up").env(episode="deal", hand_size=3), seed=3)
    agents = iter(env.agent_iter())
    play_turns(env, random.Random(1), itertools.islice(agents, 3))
    next(agents)  # an agent is to act, as in the body of a loop
    before = snapshot(env.unwrapped)
    if method == "get_state":
        twin = begin(module_of("down_up").env(episode="deal", hand_size=3), seed=4)
        twin.set_state(env.get_state())
    else:
        twin = COPIES[method](env)
    turns = play_turns(twin, random.Random(2), twin.agent_iter())
    assert len(turns) == 4 + 12 - 3 + 4, "calls, cards and the ends of four agents, without the first three"
    assert snapshot(env.unwrapped) == before
    env.step(choose(env.unwrapped, rng := random.Random(2)))
    assert play_turns(env, rng, agents) == turns[1:]
    assert snapshot(env.unwrapped) == snapshot(twin.unwrapped)
    with pytest.raises(AssertionError, match="need to call step"):
        for _ in begin(module_of("down_up").env(), seed=1).agent_iter():
            pass


@pytest.mark.parametrize(
    ("variant", "arguments", "others"),
    [
        ("small_ships", {}, {"hand_size": 5}),
        ("small_ships", {}, {"episode": "deal"}),
        ("noms", {}, {"max_deals": 5}),
        ("down_up", {"episode": "deal"}, {"episode": "deal", "hand_size": 3}),
    ],
)
def test_a_state_of_other_rules_or_a_damaged_one_is_refused(variant: str, arguments: Any, others: Any) -> None:
    env, other = (begin(module_of(variant).raw_env(**each), seed=0) for each in (arguments, others))
    before = env.table.get_state()
    with pytest.raises(ValueError, match="other rules"):
        env.set_state(other.get_state())
    state: Any = env.get_state()
    damaged: Any
    for damaged in (None, {name: state[name] for name in state if name != "rewards"}, {**state, "table": state["table"][:-1]}):
        with pytest.raises(ValueError, match=r"must come from get_state|the state must be the"):
            env.set_state(damaged)
    assert env.table.get_state() == before


@pytest.mark.parametrize(
    ("phase", "field", "number"),
    [
        ("play", "trick_number", -1),
        ("play", "n_table", -1),
        (None, "dealer", 4),
        (None, "seat", -1),
        (None, "phase", -1),
        (None, "phase", 6),
    ],
)
def test_a_table_with_a_number_out_of_range_is_refused(phase: str | None, field: str, number: int) -> None:
    table = Table("nonesuch", seats=4, seed=1, episode="deal")
    table.start()
    while table.phase != phase:
        table.step(table.legal_actions()[0])
    rows = np.frombuffer(table.get_state(), TABLE).copy()
    table.set_state(rows.tobytes())
    rows[field] = number
    with pytest.raises(ValueError, match="the state is damaged"):
        table.set_state(rows.tobytes())


@pytest.mark.parametrize("method", ["deepcopy", "pickle", "clone"])
def test_copies_before_the_first_reset_and_after_the_end(method: str) -> None:
    env = make(KINDS["sniped whist"])
    twin = COPIES[method](env)
    env.reset(seed=1)
    twin.reset(seed=1)
    assert snapshot(env) == snapshot(twin)
    play_out(env, random.Random(1))
    over = COPIES[method](env)
    assert over.phase is None
    assert over.table.row.over
    over.reset()
    env.reset()
    assert snapshot(env) == snapshot(over)


ALL = [f"player_{seat}" for seat in range(4)]
MASKS: tuple[Any, ...] = (np.zeros(NUM_ACTIONS), np.zeros(1, np.int8), 0)
DAMAGED: dict[str, list[Any]] = {
    "agents": [[], ["player_0"], ["player_0"] * 4, [*ALL[1::-1], *ALL[2:]], "player_0", [[]]],
    "agent_selection": ["player_9", None],
    "rewards": [{}, None, {"player_0": 0.0}, dict.fromkeys(ALL, "1")],
    "_cumulative_rewards": [dict.fromkeys(ALL, float("nan"))],
    "terminations": [[], *(dict.fromkeys(ALL, value) for value in (1, True)), dict.fromkeys(ALL, False) | {"player_2": True}],
    "truncations": [{"player_0": False}, dict.fromkeys(ALL, True)],
    "infos": [
        dict.fromkeys(ALL),
        {seat: {} for seat in range(4)},
        *({seat: {"action_mask": mask} for seat in ALL} for mask in MASKS),
    ],
    "_rewarded": [None, 1],
    "_is_seeded": [False, 1],
    "_recorder": [1],
    "records": [None, [1], [{}], [{"x": 1}]],
}


@pytest.mark.parametrize(
    "changes",
    [
        *([{part: value} for value in (*values, iter([]))] for part, values in DAMAGED.items()),
        [{"agents": [], **{name: {} for name in PER_AGENT}}],
        [{name: dict.fromkeys(ALL, True) for name in ("terminations", "truncations")}],
    ],
    ids=lambda changes: " ".join(changes[0]),
)
def test_a_damaged_state_is_refused(changes: list[dict[str, Any]]) -> None:
    env = begin(make(KINDS["noms"], record=True), seed=1)
    walk_on(env, random.Random(1), 8)
    before = snapshot(env)
    for change in changes:
        with pytest.raises(ValueError, match=r"^the state must come from get_state: [^\n]+$"):
            env.set_state({**env.get_state(), **change})
        assert snapshot(env) == before


def test_states_after_an_illegal_action_are_restored() -> None:
    env = begin(make(KINDS["noms"], record=True, illegal_action="terminate"), seed=1)
    env.step(149)
    env.set_state(env.get_state())
    while env.agents:
        env.step(None)
        env.set_state(env.get_state())


@pytest.mark.parametrize(("name", "value"), [("_head", {}), ("_steps", []), ("_steps", [1]), ("_legal", False)])
def test_a_recorder_that_contradicts_the_table_is_refused(name: str, value: Any) -> None:
    env = begin(make(KINDS["noms"], record=True), seed=1)
    walk_on(env, random.Random(1), 8)
    for is_missing in (False, True):
        state = env.get_state()
        fields = vars(state["_recorder"])
        del fields[name]
        if not is_missing:
            fields[name] = value
        with pytest.raises(ValueError, match=r"^the state must come from get_state: its recorder "):
            env.set_state(state)


@pytest.mark.parametrize("name", some(KINDS, 3))
def test_every_state_of_an_episode_with_records_is_restored(name: str) -> None:
    env = begin(make(KINDS[name], record=True), seed=5)
    for _ in walk(env, random.Random(2), 120):
        env.set_state(env.get_state())


def test_the_turn_and_the_masks_come_from_the_table() -> None:
    env: Any = begin(module_of("noms").raw_env(mask_in="both"), seed=1)
    before = env.get_state()
    env.step(env.legal_actions()[0])
    after = env.get_state()
    with pytest.raises(ValueError, match="it is not the turn of its agent at its table"):
        env.set_state({**after, "table": before["table"]})
    for info in after["infos"].values():
        info["action_mask"][:] = 1
    expected = snapshot(env)
    env.set_state(after)
    assert snapshot(env) == expected


@pytest.mark.parametrize(
    ("place", "name", "value"),
    [
        (0, "_has_reset", 3),
        (0, "_has_updated", None),
        (2, "_terminated", "no"),
        (2, "_prev_obs", {"odd": 1}),
        (2, "_illegal_value", []),
    ],
)
def test_a_damaged_state_of_a_wrapper_allows_no_illegal_action(place: int, name: str, value: Any) -> None:
    env: Any = begin(module_of("noms").env(), seed=1)
    env.last()
    state = env.get_state()
    state["wrappers"][place][name] = value
    with contextlib.suppress(ValueError):
        env.set_state(state)
    illegal = int((env.last()[0]["action_mask"] == 0).argmax())
    env.step(illegal)
    assert env.rewards[env.agent_selection] == -1


def test_an_observation_does_not_change_later() -> None:
    env = begin(make(KINDS["up down"]), seed=2)
    views: list[Any] = [env.observe(agent) for agent in env.possible_agents]
    copies = copy.deepcopy(views)
    walk_on(env, random.Random(1), 30)
    for view, expected in zip(views, copies, strict=True):
        assert all((view[key] == expected[key]).all() for key in expected)


@pytest.mark.parametrize(("name", "episode"), EPISODES)
def test_the_referee_accepts_the_records(name: str, episode: str) -> None:
    env = make(KINDS[name], record=True, episode=episode)
    rng = random.Random(name)
    for seed in (1, 3):
        env.reset(seed=seed)
        assert env.records == []
        while env.phase is not None and len(env.records) < 6:
            with pytest.raises(ValueError, match="may not take action"):
                env.step(149 if env.phase != "nominate" else 0)
            env.step(choose(env, rng))
        assert env.records
        assert referee.check_match(env.records, single_deal=episode == "deal") == []
        if episode == "deal":
            assert env.phase is None
            assert env.records[-1]["over"]
