"""One seat at thousands of tables: each row plays as `SeatEnv` does, under Gymnasium's contract of vector environments."""

import random
import re
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import noms_env
from noms_env import IllegalActionError, SeatEnv, SeatVectorEnv, show
from noms_env.table import Table
from noms_env.variants import VARIANTS
from tests.begun import begun
from tests.cases import some
from tests.envs.play import KINDS, WAYS, choose_in_rows
from tests.envs.seats import Picker
from tests.observation.test_leaks import mix_hidden, single_deals
from tests.policy.test_player import SMALL, made_player, rules_of
from tests.training.fakes import First

ROWS = 4


def play(envs: SeatVectorEnv, steps: int, seed: int = 3, rows: slice = slice(None)) -> list[Any]:
    """Everything that some rows were given in so many steps, in a form that compares."""
    seen, infos = envs.reset(seed=seed)
    given = [[part[rows] for part in flat(seen, infos)]]
    for step in range(steps):
        seen, rewards, terminated, truncated, infos = envs.step(choose_in_rows(envs.action_masks(), step))
        given.append([part[rows] for part in (rewards, terminated, truncated, *flat(seen, infos))])
    return given


def flat(seen: Any, infos: dict[str, Any]) -> list[np.ndarray]:
    """Observations, masks, and the infos that are always there."""
    return [seen["observation"], seen["action_mask"], infos["seat"]]


class Case(NamedTuple):
    """Environments of one seat that are compared with as many rows, how many steps, and at every which one two are illegal."""

    variant: str
    arguments: dict[str, Any]
    steps: int = 30
    illegal: int = 0


MASKS = dict(zip(WAYS, ("observation", "both", "observation", "info"), strict=True))
"""Where the mask is given."""
PLAIN = {
    f"{variant}, {way}": Case(variant, {**WAYS[way], "mask_in": MASKS[way]}, 60 if way == "a match" else 30)
    for way in WAYS
    for variant in VARIANTS
}
MORE = {
    "noms, matches to the end": Case("noms", {"episode": "match"}, 400),
    "nonesuch, matches to the end": Case("nonesuch", {"episode": "match"}, 400),
    "big_ships, matches to the end": Case("big_ships", {"episode": "match"}, 400),
    "a policy and a search": Case("small_ships", {"opponents": ("policy", "pimc:2", "policy")}, 25),
    "illegal actions": Case("nonesuch", {"illegal_action": "terminate", "mask_in": "both"}, illegal=5),
}


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("name", [*some(PLAIN, 2), *MORE])
def test_row_i_is_the_environment_of_one_seat_with_seed_plus_i(name: str, mode: AutoresetMode) -> None:
    variant, arguments, steps, illegal = {**PLAIN, **MORE}[name]
    if mode is not AutoresetMode.NEXT_STEP and (steps == 400 or name == "a policy and a search"):
        return  # these take long, and end as others do
    if name == "a policy and a search":
        policy = made_player(rules_of(variant), SMALL)[1]
        arguments = {"opponents": tuple(policy if word == "policy" else word for word in arguments["opponents"])}
    one = SyncVectorEnv([lambda: SeatEnv(variant, **arguments)] * ROWS, autoreset_mode=mode)
    two = SeatVectorEnv(ROWS, variant, autoreset_mode=mode, **arguments)
    for part in ("observation_space", "action_space", "single_observation_space", "single_action_space", "num_envs"):
        assert getattr(one, part) == getattr(two, part)
    assert two.metadata["autoreset_mode"] is two.autoreset_mode is mode
    first: Any = one.reset(seed=3)
    assert data_equivalence(first, two.reset(seed=3), exact=True)
    ended = 0
    for step in range(steps):
        actions = choose_in_rows(two.action_masks(), step)
        if illegal and step % illegal == 2:
            actions[[0, 3]] = 149, -7
        first, second = one.step(actions), two.step(actions)
        assert data_equivalence(first, second, exact=True), step
        if illegal and step in (2, 12):
            assert (second[1] == [-1, 0, 0, -1]).all()
        over = second[2] | second[3]
        ended += over.sum()
        if mode is AutoresetMode.DISABLED and over.any():
            first = one.reset(options={"reset_mask": over.copy()})
            assert data_equivalence(first, two.reset(options={"reset_mask": over}), exact=True)
    assert ended > 0 or arguments.get("episode") == "match" or steps == 25


@pytest.mark.parametrize("opponents", ["random", "thumb", ("random", "flat_mc:1", "random")])
def test_rows_do_not_depend_on_their_number_nor_on_threads(opponents: Any) -> None:
    arguments: dict[str, Any] = {"opponents": opponents, "seat": "rotate"}
    many = 2100 if opponents != ("random", "flat_mc:1", "random") else 40
    few = play(SeatVectorEnv(3, "up_down", **arguments), 30)
    for threads in (1, 2):
        rows = play(SeatVectorEnv(many, "up_down", threads=threads, **arguments), 30, rows=slice(3))
        assert data_equivalence(few, rows, exact=True)


def test_seeds_of_rows() -> None:
    envs = begun(SeatVectorEnv(3, "up_down"), seed=7)
    assert envs._runner.batch.tables.seed.tolist() == [7, 8, 9]
    envs.reset(seed=[5, None, 5])
    assert envs._runner.batch.tables.seed.tolist() == [5, 8, 5]
    assert envs._runner.batch.tables.match.tolist() == [0, 1, 0]
    seen, infos = envs.reset(seed=[5, 5, 5], options={"seat": [0, 1, 2]})
    assert isinstance(seen, dict)
    assert infos["seat"].tolist() == [0, 1, 2]
    hands = envs._runner.batch.tables.hands
    assert (hands[0] == hands[1]).all()
    envs.reset(options={"reset_mask": np.array([False, True, False]), "seat": 3})
    assert envs._runner.learner.tolist() == [0, 3, 2]
    assert envs._runner.batch.tables.match.tolist() == [0, 1, 0]
    drawn = [SeatVectorEnv(3, "up_down") for _ in range(2)]
    for fresh in drawn:
        fresh.reset()
    assert len({seed for fresh in drawn for seed in fresh._runner.batch.tables.seed.tolist()}) == 6


@pytest.mark.parametrize("name", KINDS)
def test_what_a_learner_is_shown_does_not_depend_on_what_it_cannot_see(name: str) -> None:
    kind, rng = single_deals(KINDS[name]), random.Random(name)
    arguments: Any = {"observation": "bytes", "seat": "rotate", "mask_in": "both"}
    envs = SeatVectorEnv(2, kind.variant, seats=kind.seats, **arguments, **kind.options)
    table = Table(kind.variant, kind.seats, kind.options)
    batch = envs._runner.batch
    seen, infos = envs.reset(seed=1)
    for step in range(30):
        assert isinstance(seen, dict)
        kept = batch.save()
        for row in np.flatnonzero(~envs._runner.is_over):
            table.set_row(batch.tables[row])
            batch.tables[row] = mix_hidden(table, int(envs._runner.learner[row]), rng).row
        batch.observe()
        assert np.array_equal(batch.observation, seen["observation"])
        for mask in (seen["action_mask"], infos["action_mask"]):
            assert np.array_equal(batch.mask, mask)
        batch.restore(None, kept)
        seen, rewards, terminated, truncated, infos = envs.step(choose_in_rows(envs.action_masks(), step))
        over = terminated | truncated
        assert not rewards[~over].any()
        assert ("points" in infos) == over.any()


@pytest.mark.parametrize("variant", VARIANTS)
def test_made_by_its_id(variant: str) -> None:
    for mode in (None, "vector_entry_point"):
        envs = gymnasium.make_vec(
            f"noms_env:noms/{variant}-v0", num_envs=6, vectorization_mode=mode, opponents="thumb", autoreset_mode="SameStep"
        )
        assert isinstance(envs, SeatVectorEnv)
        assert (envs.num_envs, envs.metadata["autoreset_mode"]) == (6, AutoresetMode.SAME_STEP)
        recording = RecordEpisodeStatistics(envs)
        seen, _ = recording.reset(seed=2)
        assert seen in envs.observation_space
        returns: list[float] = []
        for step in range(60):
            seen, rewards, terminated, truncated, infos = recording.step(choose_in_rows(envs.action_masks(), step))
            assert seen in envs.observation_space
            assert [str(array.dtype) for array in (rewards, terminated, truncated)] == ["float64", "bool", "bool"]
            if "episode" in infos:
                assert np.array_equal(infos["_episode"], infos["_final_info"])
                returns += infos["episode"]["r"][infos["_episode"]].tolist()
        assert len(returns) >= 6
        envs.close()
        envs.close()
    assert isinstance(gymnasium.make_vec(f"noms/{variant}-v0", 2, vectorization_mode="sync"), SyncVectorEnv)


def test_what_is_given_is_new_unless_asked_otherwise() -> None:
    envs, shared = (
        SeatVectorEnv(3, "down_up", observation="bytes", **arguments) for arguments in ({"mask_in": "both"}, {"copy": False})
    )
    kept: list[Any] = [envs.reset(seed=0), *(envs.step(choose_in_rows(envs.action_masks(), step)) for step in range(6))]
    arrays = [array for seen, *rest in kept for array in [*seen.values(), *rest[:-1], *rest[-1].values()]]
    for place, array in enumerate(arrays):
        assert not any(np.shares_memory(array, other) for other in arrays[place + 1 :] if array.dtype != object)
    first = shared.reset(seed=0)[0]
    assert isinstance(first, dict)
    assert data_equivalence(first, kept[0][0], exact=True)
    second = shared.step(choose_in_rows(shared.action_masks(), 0))[0]
    assert isinstance(second, dict)
    assert np.shares_memory(first["observation"], second["observation"])


def test_disabled_waits_for_a_reset_of_the_rows_that_are_over() -> None:
    envs = begun(SeatVectorEnv(4, "up_down", hand_size=2, autoreset_mode=AutoresetMode.DISABLED), seed=0)
    over = np.zeros(4, np.bool_)
    for step in range(20):
        seen, _, over, _, _ = envs.step(choose_in_rows(envs.action_masks(), step))
        if over.any():
            break
    assert isinstance(seen, dict)
    assert np.array_equal(seen["action_mask"].any(axis=1), ~over)
    assert np.array_equal(envs.action_masks(), seen["action_mask"] != 0)
    with pytest.raises(ResetNeeded, match=r"the episodes of rows 0.* are over"):
        envs.step(np.zeros(4, int))
    again, infos = envs.reset(options={"reset_mask": over})
    assert isinstance(again, dict)
    assert np.array_equal(infos["_seat"], over)
    assert np.array_equal(again["observation"][~over], seen["observation"][~over])
    assert again["action_mask"].any(axis=1).all()


@pytest.mark.parametrize(
    ("error", "reset", "says"),
    [
        (TypeError, {"options": {"reset_mask": np.ones(3)}}, "options['reset_mask'] must be an array of booleans"),
        (ValueError, {"options": {"reset_mask": np.zeros(3, bool)}}, "must have shape (3,) and select a row, not shape (3,)"),
        (ValueError, {"options": {"seat": [0, 1]}}, "seat must be one seat or 3 of them, not [0, 1]"),
        (ValueError, {"options": 3}, "options must be a dictionary or None, not 3"),
        (ValueError, {"seed": [1, 2]}, "seed must be one seed or 3 of them, not 2"),
        (ValueError, {"seed": 2**63 - 2}, "seed must be an integer from 0 to 2**63 - 1"),
    ],
)
def test_resets_that_are_not_possible_change_nothing(error: type[Exception], reset: dict[str, Any], says: str) -> None:
    envs = begun(SeatVectorEnv(3, "up_down"), seed=1)
    before = envs._runner.batch.tables.tobytes()
    with pytest.raises(error, match=re.escape(says)):
        envs.reset(**reset)
    assert envs._runner.batch.tables.tobytes() == before


class Interrupted(First):
    """Takes the first legal action, but is interrupted at one call."""

    def __init__(self, call: int) -> None:
        self.calls = call

    def act(self, observation: np.ndarray, mask: np.ndarray, seeds: np.ndarray, *, tables: Any = None) -> Any:
        self.calls -= 1
        if self.calls == 0:
            raise KeyboardInterrupt
        return super().act(observation, mask, seeds, tables=tables)


@pytest.mark.parametrize("calls", [2, 7])
def test_after_a_step_that_was_interrupted_nothing_goes_on_before_a_reset(calls: int) -> None:
    """The tables stand at the decisions of others, whose cards the learner would play."""
    many = SeatVectorEnv(3, "down_up", opponents=Interrupted(calls))
    one = SeatEnv("down_up", opponents=Interrupted(calls))
    for env, step in ((many, lambda: many.step(np.zeros(3, np.int64))), (one, lambda: one.step(0))):
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
    """The lowest legal actions; an episode that is over is followed by the next."""
    observation, _ = env.reset(seed=1)
    for _ in range(steps):
        observation, _, terminated, *_ = env.step(observation["action_mask"].argmax(axis=-1))
        if terminated is True:
            observation, _ = env.reset()


def test_nothing_goes_on_before_the_first_reset() -> None:
    envs = SeatVectorEnv(2, "up_down", render_mode="ansi")
    calls = (
        lambda: envs.step(np.zeros(2, int)),
        envs.render,
        lambda: envs.reset(options={"reset_mask": np.array([True, False])}),
    )
    for call in calls:
        with pytest.raises(ResetNeeded, match=r"no episodes yet|nothing has been dealt yet"):
            call()
    assert envs.reset(seed=0, options={"reset_mask": np.ones(2, bool)})[1]["_seat"].all()


@pytest.mark.parametrize(
    ("actions", "says"),
    [
        ([74.0] * 3, "actions must be 3 integers, not float64 of shape (3,)"),
        ([74, 74, 3], "table 2: seat 0 may not take action 3 (5C): the phase is call"),
        ([150, 74, 74], "table 0: seat 0 may not take action 150: it is not the number of an action"),
    ],
)
def test_actions_that_are_refused_change_nothing(actions: list[float], says: str) -> None:
    envs = begun(SeatVectorEnv(3, "big_ships"), seed=1)
    before, masks = envs._runner.batch.tables.tobytes(), envs.action_masks()
    assert masks[:, 76].all()
    with pytest.raises(ValueError, match=re.escape(says)) as refusal:
        envs.step(np.where(np.array(actions) == 74, 76, np.array(actions)))
    assert isinstance(refusal.value, IllegalActionError) == ("seat" in says)
    assert envs._runner.batch.tables.tobytes() == before
    assert np.array_equal(envs.action_masks(), masks)


@pytest.mark.parametrize(
    ("answer", "error", "says"),
    [
        (lambda mask: np.full(len(mask), 3), IllegalActionError, "table [01]: seat [123] may not take action 3"),
        (lambda mask: np.zeros(len(mask)), TypeError, "must answer with . integers, not float64"),
    ],
)
def test_answers_of_players_are_checked(answer: Any, error: type[Exception], says: str) -> None:
    class Wrong(Picker):
        def act(self, observation: Any, mask: Any, seeds: Any, *, tables: Any = None) -> Any:
            return answer(mask)

    envs = SeatVectorEnv(2, "big_ships", opponents=Wrong(), seat=0)
    with pytest.raises(error, match=says):
        play(envs, 5)


def test_frames_show_the_views_of_the_learners() -> None:
    envs = begun(SeatVectorEnv(2, "noms", render_mode="ansi", seat="rotate"), seed=0)
    frames = envs.render()
    assert frames is not None
    for seed, frame in enumerate(frames):
        env = begun(SeatEnv("noms", seat="rotate"), seed=seed)
        assert frame == show.text(env.table, env.seat)
    assert SeatVectorEnv(2, "noms").render() is None
    picture = noms_env.SeatVectorEnv(1, "noms", render_mode="rgb_array")
    picture.reset(seed=0)
    (image,) = picture.render() or ()
    assert (image.dtype, image.ndim, image.shape[2]) == (np.uint8, 3, 3)
