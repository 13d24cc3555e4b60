"""An environment that is copied, pickled, or saved and restored in mid-deal goes on exactly as the original."""

import contextlib
import copy
import itertools
import pickle
import random
from collections.abc import Callable, Iterable
from typing import Any

import cloudpickle
import pytest

from noms_env.envs.aec import TrickTakingEnv
from noms_env.envs.saved import PER_AGENT
from tests import referee
from tests.begun import begun
from tests.cases import some
from tests.envs.play import KINDS, choose, everything, make, module_of, play_out, walk

Env = TrickTakingEnv


def restored(env: Env, save: Callable[[Any], Any] = lambda state: state) -> Env:
    """A new environment with the same arguments and the state of this one."""
    table = env.table
    twin = module_of(table.rules.variant.name).raw_env(seats=table.seats, **table.rules.options, record=True)
    twin.reset(seed=99)
    for _ in walk(twin, random.Random(0), 9):
        pass
    twin.set_state(save(env.get_state()))
    return twin


COPIES: dict[str, Callable[[Any], Any]] = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda env: pickle.loads(pickle.dumps(env)),
    "cloudpickle": lambda env: pickle.loads(cloudpickle.dumps(env)),
    "clone": lambda env: env.clone(),
    "get_state": restored,
    "pickled state": lambda env: restored(env, lambda state: pickle.loads(pickle.dumps(state))),
}


def play_both(one: Any, other: Any, rng: random.Random, decisions: int) -> None:
    """The same actions in both; they must tell the same at every decision."""
    for _ in range(decisions):
        assert everything(one.unwrapped) == everything(other.unwrapped)
        if one.unwrapped.phase is None:
            return
        action = choose(one.unwrapped, rng)
        one.step(action)
        other.step(action)


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("name", KINDS)
def test_a_copy_goes_on_identically(name: str, way: str) -> None:
    env = begun(make(KINDS[name], record=True), seed=3)
    rng = random.Random(f"{name} {way}")
    for _ in walk(env, rng, rng.randrange(5, 70)):
        pass
    before = everything(env)
    twin = COPIES[way](env)
    apart = COPIES[way](env)
    for _ in walk(apart, random.Random(1), 10):
        pass
    assert everything(env) == before, "the original does not notice its copies"
    assert type(twin) is type(env)
    play_both(env, twin, rng, 45)
    assert env.records == twin.records
    env.reset()
    twin.reset()
    play_both(env, twin, rng, 3)


@pytest.mark.parametrize("way", ["deepcopy", "pickle", "cloudpickle"])
@pytest.mark.parametrize("variant", ["noms", "nonesuch"])
def test_a_wrapped_environment_too(variant: str, way: str) -> None:
    env: Any = module_of(variant).env()
    env.reset(seed=3)
    rng = random.Random(way)
    for _ in range(30):
        env.step(choose(env.unwrapped, rng))
    twin = COPIES[way](env)
    assert twin.unwrapped is not env.unwrapped
    play_both(env, twin, rng, 40)
    for _ in range(3):
        assert env.last()[1:] == twin.last()[1:]


def test_a_wrapped_environment_goes_back_to_a_state_with_its_wrappers() -> None:
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
    for one in (env, twin):
        one.step(bid)
        assert not any(one.terminations.values()), "the bid is legal again"
        assert one.last()[0]["observation"].tobytes() == after
    with pytest.raises(ValueError, match="same wrappers"):
        env.set_state(env.unwrapped.get_state())


def rounds(env: Any, rng: random.Random, agents: Iterable[str]) -> list[tuple[str, float]]:
    """Play the agents' turns at random, to the end of the episode; who acted, and what it had got."""
    played = []
    for agent in agents:
        _, reward, termination, truncation, _ = env.last()
        played.append((agent, reward))
        env.step(None if termination or truncation else choose(env.unwrapped, rng))
    return played


@pytest.mark.parametrize("way", ["deepcopy", "pickle", "cloudpickle", "clone", "get_state"])
def test_a_copy_made_within_a_loop_has_a_loop_of_its_own(way: str) -> None:
    env: Any = module_of("down_up").env(episode="deal", hand_size=3)
    env.reset(seed=3)
    agents = iter(env.agent_iter())
    rounds(env, random.Random(1), itertools.islice(agents, 3))
    next(agents)  # an agent is to act, as in the body of a loop
    before = everything(env.unwrapped)
    if way == "get_state":
        twin = module_of("down_up").env(episode="deal", hand_size=3)
        twin.reset(seed=4)
        twin.set_state(env.get_state())
    else:
        twin = COPIES[way](env)
    ahead = rounds(twin, random.Random(2), twin.agent_iter())
    assert len(ahead) == 4 + 12 - 3 + 4, "calls, cards and the ends of four agents, without what had been played"
    assert everything(env.unwrapped) == before
    env.step(choose(env.unwrapped, rng := random.Random(2)))
    assert rounds(env, rng, agents) == ahead[1:]
    with pytest.raises(AssertionError, match="need to call step"):
        for _ in begun(module_of("down_up").env(), seed=1).agent_iter():
            pass


OTHER_RULES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("small_ships", {}, {"hand_size": 5}),
    ("small_ships", {}, {"episode": "deal"}),
    ("noms", {}, {"max_deals": 5}),
    ("down_up", {"episode": "deal"}, {"episode": "deal", "hand_size": 3}),
]


@pytest.mark.parametrize(("variant", "here", "there"), OTHER_RULES)
def test_a_state_of_other_rules_is_refused(variant: str, here: dict[str, Any], there: dict[str, Any]) -> None:
    env: Any = module_of(variant).raw_env(**here)
    other: Any = module_of(variant).raw_env(**there)
    env.reset(seed=0)
    other.reset(seed=0)
    before = env.table.get_state()
    with pytest.raises(ValueError, match="other rules"):
        env.set_state(other.get_state())
    assert env.table.get_state() == before
    whole = env.get_state()
    for damaged in (None, {name: whole[name] for name in whole if name != "rewards"}, {**whole, "table": whole["table"][:-1]}):
        with pytest.raises(ValueError, match=r"must come from get_state|the state must be the"):
            env.set_state(damaged)
    assert env.table.get_state() == before


@pytest.mark.parametrize("way", ["deepcopy", "pickle", "clone"])
def test_copies_before_the_first_reset_and_after_the_end(way: str) -> None:
    env = make(KINDS["sniped whist"])
    twin = COPIES[way](env)
    env.reset(seed=1)
    twin.reset(seed=1)
    assert everything(env) == everything(twin)
    play_out(env, random.Random(1))
    over = COPIES[way](env)
    assert over.phase is None
    assert over.table.row.over
    over.reset()
    env.reset()
    assert everything(env) == everything(over)


ALL = [f"player_{seat}" for seat in range(4)]
DAMAGED: dict[str, list[Any]] = {
    "agents": [[], ["player_0"], ["player_0"] * 4, [*ALL[1::-1], *ALL[2:]], "player_0", [[]]],
    "agent_selection": ["player_9", None],
    "rewards": [{}, None, {"player_0": 0.0}, dict.fromkeys(ALL, "1")],
    "_cumulative_rewards": [dict.fromkeys(ALL, float("nan"))],
    "terminations": [[], dict.fromkeys(ALL, 1)],
    "truncations": [{"player_0": False}],
    "infos": [dict.fromkeys(ALL), {seat: {} for seat in range(4)}],
    "_rewarded": [None, 1],
    "_is_seeded": [False, 1],
    "_recorder": [1],
    "records": [None, [1], [{}]],
}


@pytest.mark.parametrize("part", DAMAGED)
def test_damage_beside_the_table_is_refused(part: str) -> None:
    env = begun(make(KINDS["noms"]), seed=1)
    whole = env.get_state()
    for value in (*DAMAGED[part], iter([])):
        with pytest.raises(ValueError, match=r"^the state must come from get_state: [^\n]+$"):
            env.set_state({**whole, part: value})
        assert repr(env.get_state()) == repr(whole)


NOBODY: dict[str, Any] = {"agents": [], **{name: {} for name in PER_AGENT}}
BOTH = {name: dict.fromkeys(ALL, True) for name in ("terminations", "truncations")}


@pytest.mark.parametrize(
    "parts",
    [
        NOBODY,
        BOTH,
        {"terminations": dict.fromkeys(ALL, False) | {"player_2": True}},
        {"terminations": dict.fromkeys(ALL, True)},
        {"truncations": dict.fromkeys(ALL, True)},
        {"records": [{"x": 1}]},
    ],
    ids=repr,
)
def test_no_episode_ends_before_its_match(parts: dict[str, Any]) -> None:
    env = begun(make(KINDS["noms"], record=True), seed=1)
    for _ in walk(env, random.Random(1), 8):
        pass
    whole = env.get_state()
    with pytest.raises(ValueError, match=r"^the state must come from get_state: "):
        env.set_state({**whole, **parts})
    assert repr(env.get_state().keys()) == repr(whole.keys())
    over = make(KINDS["noms"], record=True, illegal_action="terminate")
    over.reset(seed=1)
    over.step(149)
    while True:
        over.set_state(over.get_state())
        if not over.agents:
            break
        over.step(None)


@pytest.mark.parametrize(
    ("name", "value"),
    [("_head", {}), ("_steps", []), ("_steps", [1]), ("_legal", False)],
)
def test_a_recorder_is_held_against_the_table(name: str, value: Any) -> None:
    env = begun(make(KINDS["noms"], record=True), seed=1)
    for _ in walk(env, random.Random(1), 8):
        pass
    for is_there in (True, False):
        state = env.get_state()
        fields = vars(state["_recorder"])
        del fields[name]
        if is_there:
            fields[name] = value
        with pytest.raises(ValueError, match=r"^the state must come from get_state: its recorder "):
            env.set_state(state)


@pytest.mark.parametrize("name", some(KINDS, 3))
def test_every_state_of_an_episode_with_records_is_taken_back(name: str) -> None:
    env = begun(make(KINDS[name], record=True), seed=5)
    for _ in walk(env, random.Random(2), 120):
        env.set_state(env.get_state())


def test_the_turn_and_the_masks_are_those_of_the_table() -> None:
    env: Any = module_of("noms").raw_env(mask_in="both")
    env.reset(seed=1)
    before = env.get_state()
    env.step(env.legal_actions()[0])
    after = env.get_state()
    with pytest.raises(ValueError, match="it is not the turn of its agent at its table"):
        env.set_state({**after, "table": before["table"]})
    for info in after["infos"].values():
        info["action_mask"][:] = 1
    expected = everything(env)
    env.set_state(after)
    assert everything(env) == expected


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
def test_what_wrappers_remember_is_not_trusted(place: int, name: str, value: Any) -> None:
    env: Any = module_of("noms").env()
    env.reset(seed=1)
    env.last()
    state = env.get_state()
    state["wrappers"][place][name] = value
    with contextlib.suppress(ValueError):
        env.set_state(state)
    illegal = int((env.last()[0]["action_mask"] == 0).argmax())
    env.step(illegal)
    assert env.rewards[env.agent_selection] == -1


def test_what_an_environment_showed_stays_what_it_was() -> None:
    env = begun(make(KINDS["up down"]), seed=2)
    views = [(env.observe(agent), copy.deepcopy(env.observe(agent))) for agent in env.possible_agents]
    rewards = copy.deepcopy(env.infos)
    for _ in walk(env, random.Random(1), 30):
        pass
    for kept, copied in views:
        assert isinstance(kept, dict)
        assert isinstance(copied, dict)
        assert all((kept[key] == copied[key]).all() for key in kept)
    assert rewards == {agent: {} for agent in env.possible_agents}


@pytest.mark.parametrize("episode", ["match", "deal"])
@pytest.mark.parametrize("name", KINDS)
def test_the_referee_accepts_the_records(name: str, episode: str) -> None:
    kind = KINDS[name]
    if episode == "deal" and kind.options.get("accumulate"):
        return
    env = make(kind, record=True, episode=episode)
    rng = random.Random(name)
    for seed in (1, 3):
        env.reset(seed=seed)
        assert env.records == []
        deals = 0
        while env.phase is not None and deals < 6:
            with pytest.raises(ValueError, match="may not take action"):
                env.step(149 if env.phase != "nominate" else 0)
            env.step(choose(env, rng))
            deals = len(env.records)
        assert deals > 0
        assert referee.check_match(env.records, single_deal=episode == "deal") == []
        if episode == "deal":
            assert env.phase is None
            assert env.records[-1]["over"]
