"""`SeatEnv`: the same game as the AEC environment, for one seat."""

import copy
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, get_args

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env, data_equivalence

import noms_env
from noms_env import IllegalActionError, SeatEnv, show
from noms_env.envs.aec import TrickTakingEnv
from noms_env.envs.gym.seat_config import learner_seats
from noms_env.envs.gym.seat_vector import SeatVectorEnv
from noms_env.envs.validation import Episode, Reward
from noms_env.players import Player, load_player
from noms_env.variants import VARIANTS
from tests.agreement import deck_words
from tests.begin import begin
from tests.envs.play import KINDS
from tests.envs.seats import NumpyPlayer, choose, play_episode, seat_env
from tests.policy.test_player import rules_of, save_small

TWO_ROWS = partial(SeatVectorEnv, 2)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_checks_of_gymnasium_pass(variant: str, capsys: pytest.CaptureFixture[str]) -> None:
    check_env(gymnasium.make(f"noms/{variant}-v0").unwrapped)
    assert capsys.readouterr().out


def test_importing_the_package_registers_the_ids() -> None:
    lines = (
        "import gymnasium",
        "assert not [name for name in gymnasium.registry if name.startswith('noms/')]",
        "env = gymnasium.make('noms_env:noms/up_down-v0', opponents='thumb', seat=2, hand_size=3)",
        "print(env.reset(seed=1)[1], env.spec.id, sorted(name for name in gymnasium.registry if name.startswith('noms/')))",
    )
    command = [sys.executable, "-W", "error", "-c", "\n".join(lines)]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    names = sorted(f"noms/{variant}-v{noms_env.ENV_VERSION}" for variant in VARIANTS)
    assert process.stdout == f"{{'seat': 2}} noms/up_down-v0 {names}\n"
    before = dict(gymnasium.registry)
    noms_env.register_seats()
    assert dict(gymnasium.registry) == before, "a second time changes nothing"


@pytest.mark.parametrize("mask_in", ["observation", "info", "both"])
def test_mask_in_places_the_mask(mask_in: Any) -> None:
    env = SeatEnv("nonesuch", mask_in=mask_in)
    results = play_episode(env, seed=1)
    for observation, *_, info in results:
        masks = [observation["action_mask"]] if mask_in != "info" else []
        masks += [info["action_mask"]] if mask_in != "observation" else []
        assert isinstance(observation, dict) == (mask_in != "info")
        assert ("action_mask" in info) == (mask_in != "observation")
        assert all(mask.dtype == np.int8 and mask.any() != (info is results[-1][-1]) for mask in masks)
    assert not env.action_masks().any()
    assert env.action_masks().dtype == np.bool_


def replay_in_aec(env: SeatEnv, aec: TrickTakingEnv, results: list[Any], others: Player, seed: int) -> None:
    """Play the episode again in the AEC environment with the same players; the learner must get the same."""
    agent, rng = f"player_{env.seat}", np.random.default_rng(0)
    aec.reset(seed=seed)
    step = 0
    for acting in aec.agent_iter(max_iter=20_000):
        if acting != agent and not aec.terminations[agent] and not aec.truncations[agent]:
            sampled_tables = aec.table.determinize(rng) if others.wants_tables else None
            aec.step(int(others.act(*aec.table.view(int(aec.table.row.seat)), rng, tables=sampled_tables)))
            continue
        observation, reward, *ends, info = results[step] if step else (results[0][0], 0.0, False, False, results[0][1])
        if any(ends):
            break
        expected = aec.last()
        assert data_equivalence(observation, expected[0], exact=True)
        assert reward == expected[1]
        aec.step(choose(observation["action_mask"], step))
        step += 1
    observation, reward, *ends, info = results[-1]
    assert step == len(results) - 1
    assert data_equivalence(observation, aec.observe(agent), exact=True)
    assert ends == [aec.terminations[agent], aec.truncations[agent]]
    assert reward == aec._cumulative_rewards[agent]
    expected_info = aec.infos[agent]
    assert info["points"].tolist() == expected_info["last_deal"]["points"]
    assert info["totals"].tolist() == expected_info["last_deal"]["totals"]
    np.testing.assert_array_equal(info["winners"], expected_info["winners"], strict=True)


@pytest.mark.parametrize("reward", get_args(Reward))
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_learner_gets_the_same_as_in_the_aec_environment(variant: str, reward: Reward) -> None:
    cases: list[tuple[Episode, str, int]] = [("deal", "thumb", 1), ("deal", "greedy", 0), ("match", "thumb", 2)]
    for episode, opponents, seat in cases:
        env = SeatEnv(variant, opponents=opponents, seat=seat, episode=episode, observation="bytes", reward=reward)
        aec = TrickTakingEnv(variant, episode=episode, reward=reward)
        for seed in (3, 4) if episode == "deal" else (3,):
            replay_in_aec(env, aec, play_episode(env, seed=seed), load_player(opponents), seed)


@pytest.mark.parametrize("name", KINDS)
def test_rewards_and_points_come_only_when_a_deal_is_scored(name: str) -> None:
    env = seat_env(KINDS[name], episode="match", seat="random")
    for seed in range(2):
        total = np.zeros(env.table.seats)
        reset, *steps = play_episode(env, seed=seed)
        assert reset[1] == {"seat": env.seat}
        for _, reward, terminated, truncated, info in steps:
            if "points" not in info:
                assert (reward, terminated, truncated, info) == (0.0, False, False, {"seat": env.seat})
                continue
            assert reward == info["points"][env.seat]
            total += info["points"]
            assert info["totals"] == pytest.approx(total)
            assert ("winners" in info) == (terminated or truncated)


def test_seat_places_the_learner() -> None:
    env = SeatEnv("big_ships", seats=5, seat="rotate")
    assert [env.reset(seed=7 if episode == 0 else None)[1]["seat"] for episode in range(6)] == [2, 3, 4, 0, 1, 2]
    assert env.reset(options={"seat": 4})[1] == {"seat": 4}
    assert env.reset()[1] == {"seat": 4}
    env = SeatEnv("big_ships", seats=5, seat="random")
    seats = [env.reset(seed=seed)[1]["seat"] for seed in range(60)]
    assert set(seats) == set(range(5))
    assert seats == [env.reset(seed=seed)[1]["seat"] for seed in range(60)]
    counts = np.bincount(learner_seats("random", 7, np.arange(70_000), np.zeros(70_000, np.int64)))
    assert counts == pytest.approx([10_000] * 7, abs=5 * 10_000**0.5)
    assert SeatEnv("big_ships", seats=5, seat=3).reset(seed=0)[1] == {"seat": 3}


def test_opponents_sit_clockwise_from_the_learner() -> None:
    players = [NumpyPlayer() for _ in range(4)]
    play_episode(SeatEnv("up_down", opponents=players[:3], seat=2), seed=1)
    play_episode(SeatEnv("up_down", opponents=players[3], seat=2), seed=1)
    assert [set(player.seats) for player in players] == [{3}, {0}, {1}, {3, 0, 1}]


def test_reset_sets_up_a_position_or_changes_nothing() -> None:
    deck = [rank + suit for rank in "23456789TJQKA" for suit in "CDHS"]
    env = SeatEnv("small_ships", episode="match")
    env.reset(seed=3, options={"deck": deck, "dealer": 3, "totals": [91, 40, 77, 63]})
    assert env.table.row.dealer == 3
    assert env.table.row.totals[:4].tolist() == [91, 40, 77, 63]
    assert env.table.card_words(int(env.table.row.hands[0]))[0] == "2C"
    before = env.table.get_state()
    wrong: list[dict[str, Any]] = [{"options": {"dealer": 9}}, {"options": {"seat": 4}}, {"seed": -1}]
    for arguments in wrong:
        with pytest.raises(ValueError, match="must be"):
            env.reset(**{"seed": 1} | arguments)
    assert env.table.get_state() == before


def test_a_policy_plays_from_its_file_only_at_tables_that_it_was_trained_for(tmp_path: Path) -> None:
    path = tmp_path / "policy.safetensors"
    save_small(path, rules_of("small_ships"))
    expected = play_episode(SeatEnv("small_ships", opponents=path), seed=2)
    player = noms_env.load_player(tmp_path)
    forms: list[Any] = [tmp_path, str(path), player, [player, str(tmp_path), path]]
    for opponents in forms:
        assert data_equivalence(play_episode(SeatEnv("small_ships", opponents=opponents), seed=2), expected, exact=True)
    assert not data_equivalence(play_episode(SeatEnv("small_ships"), seed=2), expected, exact=True)
    with pytest.raises(ValueError, match="was trained for small_ships with 4 seats, not for small_ships with 5 seats"):
        SeatEnv("small_ships", seats=5, opponents=path)


def test_an_illegal_action_is_refused_and_changes_nothing() -> None:
    env = begin(SeatEnv("down_up"), seed=1)
    before = env.table.get_state()
    for action in (0, 149, 150, -1, None, 1.5):
        with pytest.raises(IllegalActionError, match=re.escape(f"seat 0 may not take action {action!r}")) as refusal:
            env.step(action)  # type: ignore[arg-type]  # some are of a wrong type
        assert str(refusal.value).endswith('or set illegal_action="terminate"')
    assert env.table.get_state() == before
    assert env.action_masks().any()


def test_an_illegal_action_may_end_the_episode() -> None:
    env = gymnasium.make("noms/down_up-v0").unwrapped
    assert isinstance(env, SeatEnv)
    first: Any = env.reset(seed=1)[0]
    last: Any
    last, reward, terminated, truncated, info = env.step(0)
    assert (reward, terminated, truncated, info["seat"]) == (-1.0, True, False, 0)
    assert info["illegal_action"].startswith("seat 0 may not take action 0 (2C): the phase is call")
    assert np.array_equal(last["observation"], first["observation"])
    assert not last["action_mask"].any()
    with pytest.raises(ResetNeeded, match="call reset first"):
        env.step(74)
    assert env.reset()[0]["action_mask"].any()


@pytest.mark.parametrize(
    ("make", "answer", "error", "sentence"),
    [
        (SeatEnv, lambda mask: 76.7, TypeError, r"a player must answer with the number of an action, not 76\.7"),
        (SeatEnv, lambda mask: 3, IllegalActionError, r"seat [123] may not take action 3"),
        (TWO_ROWS, lambda mask: np.full(len(mask), 3), IllegalActionError, "table [01]: seat [123] may not take action 3"),
        (TWO_ROWS, lambda mask: np.zeros(len(mask)), TypeError, "must answer with . integers, not float64"),
    ],
)
def test_answers_of_players_are_checked(make: Any, answer: Any, error: type[Exception], sentence: str) -> None:
    class Wrong(NumpyPlayer):
        def act(self, observation: Any, mask: Any, seeds: Any, *, tables: Any = None) -> Any:
            return answer(mask)

    env = make("down_up", opponents=Wrong(), illegal_action="terminate")

    def play() -> None:
        env.reset(seed=0)
        env.step(env.action_masks().argmax(axis=-1))

    with pytest.raises(error, match=sentence):
        play()


@pytest.mark.parametrize("variant", VARIANTS)
def test_forced_actions_are_skipped(variant: str) -> None:
    def play(env: SeatEnv) -> tuple[list[np.ndarray], float]:
        masks, reward, over = [], 0.0, False
        while not over:
            masks.append(env.action_masks())
            _, reward, over, *_ = env.step(choose(masks[-1], int(masks[-1].sum())))
        return masks, reward

    n_skipped = 0
    for seed in range(6):
        env, plain = (begin(SeatEnv(variant, opponents="thumb", skip_forced=skip), seed=seed) for skip in (True, False))
        if env.table.row.match == plain.table.row.match:
            masks, reward = play(env)
            all_masks, expected_reward = play(plain)
            expected = [mask for decision, mask in enumerate(all_masks) if decision == 0 or mask.sum() > 1]
            assert np.array_equal(masks, expected)
            assert reward == expected_reward
            n_skipped += len(all_masks) - len(masks)
    assert n_skipped > 0


def test_a_deal_without_a_choice_is_skipped() -> None:
    """With one card each and the hook, the dealer's call may be forced, and the only card is."""
    env = SeatEnv("down_up", hand_size=1, skip_forced=True)
    matches = []
    for seed in range(40):
        assert env.reset(seed=seed)[1] == {"seat": 0}
        assert env.action_masks().sum() >= 1
        matches.append(int(env.table.row.match))
    assert {0, 1} <= set(matches)
    seed = matches.index(1)
    table = begin(TrickTakingEnv("down_up", episode="deal", hand_size=1), seed=seed).table
    position = {"deck": deck_words(table), "dealer": int(table.row.dealer), "deal": int(table.row.deal)}
    env.reset(seed=0)
    before = env.seat, env.table.get_state(), env.action_masks().tolist()
    with pytest.raises(ValueError, match="leaves the learner no choice"):
        env.reset(seed=seed, options=position)
    assert (env.seat, env.table.get_state(), env.action_masks().tolist()) == before
    env.step(int(np.flatnonzero(env.action_masks())[0]))


@pytest.mark.parametrize("make", [SeatEnv, partial(SeatVectorEnv, 1)])
def test_the_infos_have_the_points_of_all_deals_that_end_in_a_step(make: Callable[..., Any]) -> None:
    """With one card each whole deals may be forced, so that two end in one step."""
    env = begin(make("down_up", episode="match", skip_forced=True, seats=5), seed=0)
    before, deal, together = np.zeros(5), 0, 0
    for step in range(2000):
        mask = env.action_masks()
        _, reward, terminated, _, info = env.step(choose(mask, step) if mask.ndim == 1 else np.array([choose(mask[0], step)]))
        if "points" in info:
            points, totals = info["points"].reshape(5), info["totals"].reshape(5)
            assert np.ravel(reward)[0] == points[info["seat"]]
            assert (before + points == totals).all()
            before = totals
        row = env.table.row if isinstance(env, SeatEnv) else env._runner.batch.tables[0]
        together += int(row.deal) > deal + 1
        deal = int(row.deal)
        if np.ravel(terminated)[0]:
            env.reset()
            before, deal = np.zeros(5), 0
    assert together > 0


def test_render_shows_the_view_of_the_learner(capsys: pytest.CaptureFixture[str]) -> None:
    env = SeatEnv("noms", seat="rotate", render_mode="ansi")
    for episode in range(3):
        env.reset(seed=2 if episode == 0 else None)
        assert env.render() == show.text(env.table, env.seat)
    assert SeatEnv("noms").render() is None
    assert capsys.readouterr().out == ""
    human = begin(SeatEnv("noms", seat=1, render_mode="human"), seed=2)
    assert capsys.readouterr().out == show.text(human.table, 1, colour=True) + "\n"
    assert human.render() is None


@pytest.mark.parametrize("make_copy", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_plays_on_as_the_original(make_copy: Callable[[SeatEnv], SeatEnv]) -> None:
    env = begin(SeatEnv("small_ships", opponents=["random", "pimc:2", NumpyPlayer()], episode="match", seat="random"), seed=6)
    for step in range(9):
        env.step(choose(env.action_masks(), step))
    twin = make_copy(env)
    for step in range(20):
        action = choose(env.action_masks(), step)
        assert data_equivalence(env.step(action), twin.step(action), exact=True)
