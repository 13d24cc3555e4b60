"""One seat as a Gymnasium environment: the same game as the AEC environment, and fair to the learner."""

import copy
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env, data_equivalence

import noms_env
from noms_env import IllegalActionError, SeatEnv, show
from noms_env.envs.aec import TrickTakingEnv
from noms_env.envs.gym.seat_players import learner_seats
from noms_env.envs.gym.seat_vector import SeatVectorEnv
from noms_env.envs.validation import REWARDS, Episode, Reward
from noms_env.players import Player, make_player
from noms_env.variants import VARIANTS
from tests.begun import begun
from tests.envs.play import KINDS, deck_in_words
from tests.envs.seats import Picker, choose, play_episode, seat_env
from tests.policy.test_player import rules_of, save_small


@pytest.mark.parametrize("variant", VARIANTS)
def test_gymnasium_finds_nothing_to_say(variant: str, capsys: pytest.CaptureFixture[str]) -> None:
    check_env(gymnasium.make(f"noms_env:noms/{variant}-v0").unwrapped)
    assert capsys.readouterr().out
    for arguments in ({"mask_in": "info", "opponents": "thumb"}, {"mask_in": "both", "episode": "match", "seat": "rotate"}):
        env = gymnasium.make(f"noms/{variant}-v0", **arguments)  # type: ignore[arg-type]  # of different types
        check_env(env.unwrapped, skip_render_check=True)


def test_the_ids_are_there_once_the_package_is_imported() -> None:
    lines = (
        "import gymnasium",
        "assert not [name for name in gymnasium.registry if name.startswith('noms/')]",
        "env = gymnasium.make('noms_env:noms/up_down-v0', opponents='thumb', seat=2, hand_size=3)",
        "print(env.reset(seed=1)[1], env.spec.id, sorted(name for name in gymnasium.registry if name.startswith('noms/')))",
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", "\n".join(lines)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    names = sorted(f"noms/{variant}-v{noms_env.ENV_VERSION}" for variant in VARIANTS)
    assert done.stdout == f"{{'seat': 2}} noms/up_down-v0 {names}\n"
    before = dict(gymnasium.registry)
    noms_env.register_seats()
    assert dict(gymnasium.registry) == before, "a second time is harmless"


def test_the_mask_is_where_it_is_wanted() -> None:
    for mask_in in ("observation", "info", "both"):
        env = SeatEnv("nonesuch", mask_in=mask_in)
        given = play_episode(env, seed=1)
        for (seen, *_, info), is_last in zip(given, [False] * (len(given) - 1) + [True], strict=True):
            masks = [seen["action_mask"]] if mask_in != "info" else []
            masks += [info["action_mask"]] if mask_in != "observation" else []
            assert isinstance(seen, dict) == (mask_in != "info")
            assert ("action_mask" in info) == (mask_in != "observation")
            assert all(mask.dtype == np.int8 and mask.any() != is_last for mask in masks)
        assert not env.action_masks().any()
        assert env.action_masks().dtype == np.bool_


def replay_in_aec(env: SeatEnv, aec: TrickTakingEnv, given: list[Any], others: Player, seed: int) -> None:
    """Play the episode again at the AEC environment, with the same players; the learner must have been given the same."""
    agent, rng = f"player_{env.seat}", np.random.default_rng(0)
    aec.reset(seed=seed)
    step = 0
    for acting in aec.agent_iter(max_iter=20_000):
        if acting != agent and not aec.terminations[agent] and not aec.truncations[agent]:
            sampled_tables = aec.table.determinize(rng) if others.wants_tables else None
            aec.step(int(others.act(*aec.table.view(int(aec.table.row.seat)), rng, tables=sampled_tables)))
            continue
        seen, reward, terminated, truncated, info = given[step] if step else (given[0][0], 0.0, False, False, given[0][1])
        if terminated or truncated:
            break
        expected = aec.last()
        assert data_equivalence(seen, expected[0], exact=True)
        assert reward == expected[1]
        aec.step(choose(seen["action_mask"], step))
        step += 1
    seen, reward, terminated, truncated, info = given[-1]
    assert step == len(given) - 1
    assert data_equivalence(seen, aec.observe(agent), exact=True)
    assert (terminated, truncated) == (aec.terminations[agent], aec.truncations[agent])
    assert reward == aec._cumulative_rewards[agent]
    result = aec.infos[agent]
    assert info["points"].tolist() == result["last_deal"]["points"]
    assert info["totals"].tolist() == result["last_deal"]["totals"]
    np.testing.assert_array_equal(info["winners"], result["winners"], strict=True)


@pytest.mark.parametrize("reward", REWARDS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_learner_is_given_what_its_seat_is_given_in_the_aec_environment(variant: str, reward: Reward) -> None:
    played: list[tuple[Episode, str, int]] = [("deal", "thumb", 1), ("deal", "greedy", 0), ("match", "thumb", 2)]
    for episode, opponents, seat in played:
        env = SeatEnv(variant, opponents=opponents, seat=seat, episode=episode, observation="bytes", reward=reward)
        aec = TrickTakingEnv(variant, episode=episode, reward=reward)
        for seed in (3, 4) if episode == "deal" else (3,):
            replay_in_aec(env, aec, play_episode(env, seed=seed), make_player(opponents), seed)


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_table_and_nothing_is_told_before_a_deal_is_scored(name: str) -> None:
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


def test_where_the_learner_sits() -> None:
    env = SeatEnv("big_ships", seats=5, seat="rotate")
    assert [env.reset(seed=7 if episode == 0 else None)[1]["seat"] for episode in range(6)] == [2, 3, 4, 0, 1, 2]
    assert env.reset(options={"seat": 4})[1] == {"seat": 4}
    assert env.reset()[1] == {"seat": 4}
    env = SeatEnv("big_ships", seats=5, seat="random")
    drawn = [env.reset(seed=seed)[1]["seat"] for seed in range(60)]
    assert set(drawn) == set(range(5))
    assert drawn == [env.reset(seed=seed)[1]["seat"] for seed in range(60)]
    seats = learner_seats("random", 7, np.arange(70_000), np.zeros(70_000, np.int64))
    assert np.bincount(seats) == pytest.approx([10_000] * 7, abs=5 * 10_000**0.5)
    assert SeatEnv("big_ships", seats=5, seat=3).reset(seed=0)[1] == {"seat": 3}


def test_opponents_sit_clockwise_from_the_learner() -> None:
    players = [Picker() for _ in range(3)]
    env = SeatEnv("up_down", opponents=players, seat=2)
    play_episode(env, seed=1)
    assert [set(player.seats) for player in players] == [{3}, {0}, {1}]
    alone = Picker()
    play_episode(SeatEnv("up_down", opponents=alone, seat=2), seed=1)
    assert set(alone.seats) == {3, 0, 1}


def test_a_position_is_set_up() -> None:
    deck = [rank + suit for rank in "23456789TJQKA" for suit in "CDHS"]
    env = SeatEnv("small_ships", episode="match")
    env.reset(seed=3, options={"deck": deck, "dealer": 3, "totals": [91, 40, 77, 63]})
    assert env.table.row.dealer == 3
    assert env.table.row.totals[:4].tolist() == [91, 40, 77, 63]
    assert env.table.card_words(int(env.table.row.hands[0]))[0] == "2C"
    before = env.table.get_state()
    for wrong in ({"dealer": 9}, {"seat": 4}, [1]):
        with pytest.raises(ValueError, match="must be"):
            env.reset(seed=1, options=wrong)  # type: ignore[arg-type]  # one is of a wrong type
    with pytest.raises(ValueError, match="seed must be an integer from 0"):
        env.reset(seed=-1)
    assert env.table.get_state() == before


def test_a_policy_plays_by_its_file_and_only_where_it_was_trained_for(tmp_path: Path) -> None:
    rule_sets = rules_of("small_ships")
    path = tmp_path / "policy.safetensors"
    save_small(path, rule_sets)
    given = play_episode(SeatEnv("small_ships", opponents=path), seed=2)
    player = noms_env.load_player(tmp_path)
    ways: list[Any] = [tmp_path, str(path), player, [player, str(tmp_path), path]]
    for opponents in ways:
        assert data_equivalence(play_episode(SeatEnv("small_ships", opponents=opponents), seed=2), given, exact=True)
    assert not data_equivalence(play_episode(SeatEnv("small_ships"), seed=2), given, exact=True)
    with pytest.raises(ValueError, match="was trained for small_ships with 4 seats, not for small_ships with 5 seats"):
        SeatEnv("small_ships", seats=5, opponents=path)


def test_an_illegal_action_is_refused_and_harms_nothing() -> None:
    env = begun(SeatEnv("down_up"), seed=1)
    before = env.table.get_state()
    for action in (0, 149, 150, -1, None, 1.5):
        with pytest.raises(IllegalActionError, match=re.escape(f"seat 0 may not take action {action!r}")) as refusal:
            env.step(action)  # type: ignore[arg-type]  # some are of a wrong type
        assert str(refusal.value).endswith('or set illegal_action="terminate"')
    assert env.table.get_state() == before
    assert env.action_masks().any()


def test_an_illegal_action_ends_the_episode_where_that_is_wanted() -> None:
    env = gymnasium.make("noms/down_up-v0").unwrapped
    assert isinstance(env, SeatEnv)
    first, _ = env.reset(seed=1)
    seen, reward, terminated, truncated, info = env.step(0)
    assert (reward, terminated, truncated) == (-1.0, True, False)
    assert info["seat"] == 0
    assert info["illegal_action"].startswith("seat 0 may not take action 0 (2C): the phase is call")
    assert isinstance(first, dict)
    assert isinstance(seen, dict)
    assert np.array_equal(seen["observation"], first["observation"])
    assert not seen["action_mask"].any()
    with pytest.raises(ResetNeeded, match="call reset first"):
        env.step(74)
    assert env.reset()[0]["action_mask"].any()


def test_nothing_goes_on_before_the_first_reset() -> None:
    env = SeatEnv("down_up", render_mode="ansi")
    for call in (lambda: env.step(74), env.render):
        with pytest.raises(ResetNeeded, match="call reset first"):
            call()


@pytest.mark.parametrize(
    ("answer", "error", "said"),
    [
        (76.7, TypeError, r"a player must answer with the number of an action, not 76\.7"),
        (3, IllegalActionError, r"seat [123] may not take action 3"),
    ],
)
def test_answers_of_players_are_checked(answer: Any, error: type[Exception], said: str) -> None:
    class Wrong(Picker):
        def act(self, observation: Any, mask: Any, seeds: Any, *, tables: Any = None) -> Any:
            return answer

    with pytest.raises(error, match=said):
        play_episode(SeatEnv("down_up", opponents=Wrong(), illegal_action="terminate"), seed=0)


@pytest.mark.parametrize("variant", VARIANTS)
def test_forced_actions_are_skipped(variant: str) -> None:
    env = SeatEnv(variant, opponents="thumb", skip_forced=True)
    plain = SeatEnv(variant, opponents="thumb")
    shorter = 0
    for seed in range(6):
        env.reset(seed=seed)
        plain.reset(seed=seed)
        if env.table.row.match != plain.table.row.match:
            continue
        step, over, reward = 0, False, 0.0
        while not over:
            mask = env.action_masks()
            assert step == 0 or mask.sum() > 1
            while step and plain.action_masks().sum() == 1:
                shorter += 1
                plain.step(int(plain.action_masks().argmax()))
            assert np.array_equal(mask, plain.action_masks())
            action = choose(mask, step)
            _, reward, over, _, _ = env.step(action)
            last = plain.step(action)
            step += 1
        while not last[2]:
            shorter += 1
            last = plain.step(int(plain.action_masks().argmax()))
        assert last[1] == reward
    assert shorter > 0


def test_a_deal_without_a_choice_is_passed_over() -> None:
    """With one card each and the hook, the dealer's call may be forced, and the only card is."""
    env = SeatEnv("down_up", hand_size=1, skip_forced=True)
    matches = set()
    for seed in range(40):
        _, info = env.reset(seed=seed)
        assert info == {"seat": 0}
        assert env.action_masks().sum() >= 1
        matches.add(int(env.table.row.match))
    assert matches >= {0, 1}
    forced = next(seed for seed in range(40) if env.reset(seed=seed) and env.table.row.match == 1)
    aec = TrickTakingEnv("down_up", episode="deal", hand_size=1)
    aec.reset(seed=forced)
    position = {"deck": deck_in_words(aec), "dealer": int(aec.table.row.dealer), "deal": int(aec.table.row.deal)}
    env.reset(seed=0)
    before = env.seat, env.table.get_state(), env.action_masks().tolist()
    with pytest.raises(ValueError, match="leaves the learner no choice"):
        env.reset(seed=forced, options=position)
    assert (env.seat, env.table.get_state(), env.action_masks().tolist()) == before
    env.step(int(np.flatnonzero(env.action_masks())[0]))


def many(variant: str, **arguments: Any) -> SeatVectorEnv:
    return SeatVectorEnv(1, variant, **arguments)


@pytest.mark.parametrize("make", [SeatEnv, many])
def test_the_points_of_all_deals_that_end_in_a_step_are_told(make: Callable[..., Any]) -> None:
    """With one card each whole deals may be forced, so that two end in one step."""
    env = make("down_up", episode="match", skip_forced=True, seats=5)
    env.reset(seed=0)
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
    human = begun(SeatEnv("noms", seat=1, render_mode="human"), seed=2)
    assert capsys.readouterr().out == show.text(human.table, 1, colour=True) + "\n"
    assert human.render() is None


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_goes_on_in_the_same_way(copied: Callable[[SeatEnv], SeatEnv]) -> None:
    env = begun(SeatEnv("small_ships", opponents=["random", "pimc:2", Picker()], episode="match", seat="random"), seed=6)
    for step in range(9):
        env.step(choose(env.action_masks(), step))
    twin = copied(env)
    for step in range(20):
        action = choose(env.action_masks(), step)
        assert data_equivalence(env.step(action), twin.step(action), exact=True)
