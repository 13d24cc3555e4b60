"""`SeatVectorEnv`: each row plays as `SeatEnv`, under Gymnasium's contract of vector environments."""

import copy
import re
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from noms_env import IllegalActionError, SeatEnv, SeatVectorEnv, show
from noms_env.variants import VARIANTS
from tests.begin import begin
from tests.cases import some
from tests.envs.play import WAYS, choose_in_rows
from tests.policy.test_player import SMALL, make_small_player, rules_of
from tests.training.fakes import First

ROWS = 4


def play(envs: SeatVectorEnv, steps: int, seed: int = 3, rows: slice = slice(None)) -> list[Any]:
    """Play; return the results of `reset` and each `step` in some rows, in a form that compares."""
    observations, infos = envs.reset(seed=seed)
    results = [[part[rows] for part in arrays_of(observations, infos)]]
    for step in range(steps):
        observations, *arrays, infos = envs.step(choose_in_rows(envs.action_masks(), step))
        results.append([part[rows] for part in (*arrays, *arrays_of(observations, infos))])
    return results


def arrays_of(observations: Any, infos: dict[str, Any]) -> list[np.ndarray]:
    return [observations["observation"], observations["action_mask"], infos["seat"]]


class Case(NamedTuple):
    """Arguments of rows and of the single environments that they are compared with, and how they play.

    Attributes:
        illegal: with n > 0, two actions are illegal at every n-th step.
    """

    variant: str
    arguments: dict[str, Any]
    steps: int = 30
    illegal: int = 0


MASKS = dict(zip(WAYS, ("observation", "both", "observation", "info"), strict=True))
PLAIN = {
    f"{variant}, {name}": Case(variant, {**WAYS[name], "mask_in": MASKS[name]}, 60 if name == "a match" else 30)
    for name in WAYS
    for variant in VARIANTS
}
MORE = {
    "noms, matches to the end": Case("noms", {"episode": "match"}, 400),
    "nonesuch, matches to the end": Case("nonesuch", {"episode": "match"}, 400),
    "big_ships, matches to the end": Case("big_ships", {"episode": "match"}, 400),
    "a policy and a search": Case("small_ships", {}, 25),
    "illegal actions": Case("nonesuch", {"illegal_action": "terminate", "mask_in": "both"}, illegal=5),
}


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("name", [*some(PLAIN, 2), *MORE])
def test_row_i_plays_as_the_single_environment_with_seed_plus_i(name: str, mode: AutoresetMode) -> None:
    variant, arguments, steps, illegal = {**PLAIN, **MORE}[name]
    if mode is not AutoresetMode.NEXT_STEP and (steps == 400 or name == "a policy and a search"):
        return  # these take long, and end as the others do
    if name == "a policy and a search":
        policy = make_small_player(rules_of(variant), SMALL)[1]
        arguments = {"opponents": (policy, "pimc:2", policy)}
    singles = SyncVectorEnv([lambda: SeatEnv(variant, **arguments)] * ROWS, autoreset_mode=mode)
    envs = SeatVectorEnv(ROWS, variant, autoreset_mode=mode, **arguments)
    for part in ("observation_space", "action_space", "single_observation_space", "single_action_space", "num_envs"):
        assert getattr(singles, part) == getattr(envs, part)
    assert envs.metadata["autoreset_mode"] is envs.autoreset_mode is mode
    expected: Any = singles.reset(seed=3)
    assert data_equivalence(expected, envs.reset(seed=3), exact=True)
    n_ended = 0
    for step in range(steps):
        actions = choose_in_rows(envs.action_masks(), step)
        if illegal and step % illegal == 2:
            actions[[0, 3]] = 149, -7
        expected, results = singles.step(actions), envs.step(actions)
        assert data_equivalence(expected, results, exact=True), step
        if illegal and step in (2, 12):
            assert (results[1] == [-1, 0, 0, -1]).all()
        over = results[2] | results[3]
        n_ended += over.sum()
        if mode is AutoresetMode.DISABLED and over.any():
            expected = singles.reset(options={"reset_mask": over.copy()})
            assert data_equivalence(expected, envs.reset(options={"reset_mask": over}), exact=True)
    assert n_ended > 0 or arguments.get("episode") == "match" or steps == 25


@pytest.mark.parametrize(
    ("opponents", "rows"), [("random", 2100), ("thumb", 2100), (("random", "flat_mc:1", "random"), 40)], ids=str
)
def test_rows_do_not_depend_on_their_number_or_on_threads(opponents: Any, rows: int) -> None:
    arguments: dict[str, Any] = {"opponents": opponents, "seat": "rotate"}
    few = play(SeatVectorEnv(3, "up_down", **arguments), 30)
    for threads in (1, 2):
        many = play(SeatVectorEnv(rows, "up_down", threads=threads, **arguments), 30, rows=slice(3))
        assert data_equivalence(few, many, exact=True)


def test_reset_takes_a_seed_a_seat_and_a_mask_for_rows() -> None:
    envs = begin(SeatVectorEnv(3, "up_down"), seed=7)
    tables = envs._runner.batch.tables
    assert tables.seed.tolist() == [7, 8, 9]
    envs.reset(seed=[5, None, 5])
    assert tables.seed.tolist() == [5, 8, 5]
    assert tables.match.tolist() == [0, 1, 0]
    infos = envs.reset(seed=[5, 5, 5], options={"seat": [0, 1, 2]})[1]
    assert infos["seat"].tolist() == [0, 1, 2]
    assert (tables.hands[0] == tables.hands[1]).all()
    envs.reset(options={"reset_mask": np.array([False, True, False]), "seat": 3})
    assert envs._runner.learner.tolist() == [0, 3, 2]
    assert tables.match.tolist() == [0, 1, 0]
    unseeded = [begin(SeatVectorEnv(3, "up_down")) for _ in range(2)]
    assert len({seed for each in unseeded for seed in each._runner.batch.tables.seed.tolist()}) == 6


@pytest.mark.parametrize("variant", VARIANTS)
def test_gymnasium_makes_it_from_its_id(variant: str) -> None:
    for mode in (None, "vector_entry_point"):
        envs = gymnasium.make_vec(
            f"noms_env:noms/{variant}-v0", num_envs=6, vectorization_mode=mode, opponents="thumb", autoreset_mode="SameStep"
        )
        assert isinstance(envs, SeatVectorEnv)
        assert (envs.num_envs, envs.metadata["autoreset_mode"]) == (6, AutoresetMode.SAME_STEP)
        recording = RecordEpisodeStatistics(envs)
        assert recording.reset(seed=2)[0] in envs.observation_space
        n_episodes = 0
        for step in range(60):
            observations, *arrays, infos = recording.step(choose_in_rows(envs.action_masks(), step))
            assert observations in envs.observation_space
            assert [str(array.dtype) for array in arrays] == ["float64", "bool", "bool"]
            if "episode" in infos:
                assert np.array_equal(infos["_episode"], infos["_final_info"])
                n_episodes += infos["_episode"].sum()
        assert n_episodes >= 6
        envs.close()
        envs.close()
    assert isinstance(gymnasium.make_vec(f"noms/{variant}-v0", 2, vectorization_mode="sync"), SyncVectorEnv)


def test_results_are_new_arrays_unless_copy_is_false() -> None:
    envs, shared = (
        SeatVectorEnv(3, "down_up", observation="bytes", **arguments) for arguments in ({"mask_in": "both"}, {"copy": False})
    )
    results: list[Any] = [envs.reset(seed=0), *(envs.step(choose_in_rows(envs.action_masks(), step)) for step in range(6))]
    arrays = [array for views, *rest in results for array in [*views.values(), *rest[:-1], *rest[-1].values()]]
    for place, array in enumerate(arrays):
        assert not any(np.shares_memory(array, other) for other in arrays[place + 1 :] if array.dtype != object)
    first: Any = shared.reset(seed=0)[0]
    assert data_equivalence(first, results[0][0], exact=True)
    second: Any = shared.step(choose_in_rows(shared.action_masks(), 0))[0]
    assert np.shares_memory(first["observation"], second["observation"])


def test_disabled_autoreset_refuses_a_step_while_rows_are_over() -> None:
    envs = begin(SeatVectorEnv(4, "up_down", hand_size=2, autoreset_mode=AutoresetMode.DISABLED), seed=0)
    over = np.zeros(4, np.bool_)
    while not over.any():
        observations, _, over, _, _ = envs.step(choose_in_rows(envs.action_masks(), 0))
    assert np.array_equal(observations["action_mask"].any(axis=1), ~over)
    assert np.array_equal(envs.action_masks(), observations["action_mask"] != 0)
    with pytest.raises(ResetNeeded, match=r"the episodes of rows 0.* are over"):
        envs.step(np.zeros(4, int))


@pytest.mark.parametrize(
    ("error", "reset", "sentence"),
    [
        (TypeError, {"options": {"reset_mask": np.ones(3)}}, "options['reset_mask'] must be an array of booleans"),
        (ValueError, {"options": {"reset_mask": np.zeros(3, bool)}}, "must have shape (3,) and select a row, not shape (3,)"),
        (ValueError, {"options": {"seat": [0, 1]}}, "seat must be one seat or 3 of them, not [0, 1]"),
        (ValueError, {"seed": [1, 2]}, "seed must be one seed or 3 of them, not 2"),
        (ValueError, {"seed": 2**63 - 2}, "seed must be an integer from 0 to 2**63 - 1"),
    ],
)
def test_an_impossible_reset_is_refused_and_changes_nothing(error: type[Exception], reset: Any, sentence: str) -> None:
    envs = begin(SeatVectorEnv(3, "up_down"), seed=1)
    before = envs._runner.batch.tables.tobytes()
    with pytest.raises(error, match=re.escape(sentence)):
        envs.reset(**reset)
    assert envs._runner.batch.tables.tobytes() == before


class Interrupted(First):
    """Takes the lowest legal action, and is interrupted at one call."""

    def __init__(self, call: int) -> None:
        self.calls = call

    def act(self, observation: np.ndarray, mask: np.ndarray, seeds: np.ndarray, *, tables: Any = None) -> Any:
        self.calls -= 1
        if self.calls == 0:
            raise KeyboardInterrupt
        return super().act(observation, mask, seeds, tables=tables)


@pytest.mark.parametrize("calls", [2, 7])
def test_an_interrupted_step_must_be_followed_by_a_reset(calls: int) -> None:
    """The tables stand at the decisions of others, whose cards the learner would play."""
    many = SeatVectorEnv(3, "down_up", opponents=Interrupted(calls))
    single = SeatEnv("down_up", opponents=Interrupted(calls))
    for env, step in ((many, lambda: many.step(np.zeros(3, np.int64))), (single, lambda: single.step(0))):
        with pytest.raises(KeyboardInterrupt):
            play_lowest(env, 100)
        with pytest.raises(ResetNeeded, match="was interrupted"):
            step()
        play_lowest(env, 100)
    many = SeatVectorEnv(3, "down_up", opponents=Interrupted(calls))
    with pytest.raises(KeyboardInterrupt):
        play_lowest(many, 100)
    with pytest.raises(ResetNeeded, match="call reset for all rows first"):
        many.reset(options={"reset_mask": np.array([True, False, False])})


def play_lowest(env: Any, steps: int) -> None:
    """Play the lowest legal actions, one episode after another."""
    observation, _ = env.reset(seed=1)
    for _ in range(steps):
        observation, _, terminated, *_ = env.step(observation["action_mask"].argmax(axis=-1))
        if terminated is True:
            observation, _ = env.reset()


@pytest.mark.parametrize(
    ("actions", "sentence"),
    [
        ([76.0] * 3, "actions must be 3 integers, not float64 of shape (3,)"),
        ([76, 76, 3], "table 2: seat 0 may not take action 3 (5C): the phase is call"),
        ([150, 76, 76], "table 0: seat 0 may not take action 150: it is not the number of an action"),
    ],
)
def test_refused_actions_change_nothing(actions: list[float], sentence: str) -> None:
    envs = begin(SeatVectorEnv(3, "big_ships"), seed=1)
    before, masks = envs._runner.batch.tables.tobytes(), envs.action_masks()
    assert masks[:, 76].all()
    with pytest.raises(ValueError, match=re.escape(sentence)) as refusal:
        envs.step(np.array(actions))
    assert isinstance(refusal.value, IllegalActionError) == ("seat" in sentence)
    assert envs._runner.batch.tables.tobytes() == before
    assert np.array_equal(envs.action_masks(), masks)


def test_frames_show_the_views_of_the_learners() -> None:
    frames: Any = begin(SeatVectorEnv(2, "noms", render_mode="ansi", seat="rotate"), seed=0).render()
    for seed, frame in enumerate(frames):
        env = begin(SeatEnv("noms", seat="rotate"), seed=seed)
        assert frame == show.text(env.table, env.seat)
    assert SeatVectorEnv(2, "noms").render() is None
    (image,) = begin(SeatVectorEnv(1, "noms", render_mode="rgb_array"), seed=0).render() or ()
    assert (image.dtype, image.ndim, image.shape[2]) == (np.uint8, 3, 3)


def test_a_vector_of_seats_cannot_be_copied() -> None:
    with pytest.raises(TypeError, match="make another with the same arguments, and reset it with the same seed"):
        copy.deepcopy(SeatVectorEnv(2, "noms"))
