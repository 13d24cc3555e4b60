"""One seat as an environment: what it cannot see has no influence, and all that is random follows from the seed."""

import copy
import random
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence

from noms_env import SeatEnv
from noms_env.envs.aec import TrickTakingEnv
from noms_env.envs.gym.seat_players import PlayerStreams, engine_streams
from noms_env.players import make_player
from tests.envs.play import KINDS, deck_in_words
from tests.envs.seats import Picker, choose, play_episode, seat_env
from tests.observation.test_leaks import exchanged, hidden_from, mix_hidden, single_deals

ROW = np.zeros(1, np.int64)


class Peeker(Picker):
    """A player that lets all hands at the table that it is given decide what it does."""

    def answers(self, mask: np.ndarray, seeds: np.ndarray, tables: np.recarray) -> list[int]:
        return [choose(legal, crc32(hands.tobytes())) for legal, hands in zip(mask, tables.hands, strict=True)]


class Noting(Picker):
    """`random`, asked as any other player is."""

    def answers(self, mask: np.ndarray, seeds: np.ndarray, tables: np.recarray) -> list[int]:
        return [int(action) for action in make_player("random").act(mask, mask, seeds)]


@pytest.mark.parametrize("name", KINDS)
def test_what_the_learner_is_shown_does_not_depend_on_what_it_cannot_see(name: str) -> None:
    env, rng = seat_env(single_deals(KINDS[name]), seat="rotate", render_mode="ansi"), random.Random(name)
    for episode in range(3):
        env.reset(seed=5 if episode == 0 else None)
        for step in range(40):
            twin = copy.deepcopy(env)
            twin.table.set_row(mix_hidden(env.table, env.seat, rng).row)
            assert data_equivalence(twin._seen({}), env._seen({}), exact=True)
            assert np.array_equal(twin.action_masks(), env.action_masks())
            assert twin.render() == env.render()
            if env.step(choose(env.action_masks(), step))[2]:
                break


@pytest.mark.parametrize("name", ["small ships", "noms", "nonesuch", "down up", "sniped whist"])
@pytest.mark.parametrize("player", [Noting, Peeker])
def test_what_the_others_do_does_not_depend_on_what_they_cannot_see(name: str, player: type[Picker]) -> None:
    """Cards are exchanged that neither the learner knows nor those who acted before it: it must find the same."""
    rng, noting, worlds = random.Random(name), player(), 0
    env = seat_env(KINDS[name], opponents=noting)
    for seed in range(24):
        noting.seats = []
        first = env.reset(seed=seed)
        row = env.table.row
        hidden = hidden_from(env.table, env.seat)
        for seat in set(noting.seats):
            hidden &= ~int(row.hands[seat])
        if hidden == 0:
            continue
        deck = exchanged(deck_in_words(env), env.table.card_words(hidden), rng)  # type: ignore[arg-type]  # it has a table
        hands = row.hands.tolist()
        second = env.reset(seed=seed, options={"dealer": int(row.dealer), "deal": int(row.deal), "deck": deck})
        assert data_equivalence(first, second, exact=True)
        worlds += row.hands.tolist() != hands
    assert worlds >= 4


@pytest.mark.parametrize("opponents", ["random", "pimc:2", ["random", "thumb", "flat_mc:2"], [Picker(), "random", Picker()]])
def test_the_same_seed_gives_the_same_bytes(opponents: Any) -> None:
    for episode in ("deal", "match"):
        if episode == "match" and "2" in str(opponents):
            continue  # a match of searchers takes long
        env, twin = (SeatEnv("small_ships", opponents=opponents, episode=episode, seat="random") for _ in range(2))
        first = [play_episode(env, seed=9), play_episode(env), play_episode(env)]
        play_episode(twin, seed=8)
        again = [play_episode(twin, seed=9), play_episode(twin), play_episode(twin)]
        assert data_equivalence(first, again, exact=True)
        assert not data_equivalence(first[0], play_episode(env, seed=8), exact=True)
        assert not data_equivalence(first[0][1:], first[1][1:], exact=True)


def test_another_seed_is_another_way_to_play() -> None:
    """The same cards, dealt by hand: what `random` does still follows from the seed."""
    aec = TrickTakingEnv("up_down", episode="deal", hand_size=5)
    aec.reset(seed=0)
    position = {"deck": deck_in_words(aec), "dealer": 0, "deal": int(aec.table.row.deal)}
    env = SeatEnv("up_down", hand_size=5)
    shown = {env.reset(seed=seed, options=position)[0]["observation"].tobytes() for seed in range(60)}
    calls = 6**3
    assert 30 < len(shown) <= calls, "three others have called, each one of six numbers"


def test_without_a_seed_chance_decides_and_the_next_episode_is_another() -> None:
    one, other = SeatEnv("up_down"), SeatEnv("up_down")
    one.reset()
    other.reset()
    assert one.table.row.seed != other.table.row.seed
    one.reset(seed=4)
    one.reset()
    assert (one.table.row.seed, one.table.row.match) == (4, 1)
    for env in (one := SeatEnv("up_down"), other := SeatEnv("up_down")):
        env.np_random = np.random.default_rng(3)
        env.reset()
    assert one.table.row.seed == other.table.row.seed


def unmixed(word: int) -> int:
    """The word that SplitMix64 makes this one of."""
    for shift, factor in ((31, 0x94D049BB133111EB), (27, 0xBF58476D1CE4E5B9), (30, 1)):
        found = word
        for _ in range(64 // shift):
            found = word ^ found >> shift
        word = found * pow(factor, -1, 2**64) % 2**64
    return word


def test_no_draw_of_a_player_gives_the_seed_away() -> None:
    """A player runs the generator backwards from its first integer of an episode, or from the state of the stream."""
    golden, seed = 0x9E3779B97F4A7C15, 1234567
    streams = PlayerStreams(1)
    streams.begin(ROW, np.array([seed]), np.zeros(1, np.int64))
    state = int(streams._states[0])
    drawn = int(streams.draw(ROW)[0])
    states = [state, *(unmixed(2 * drawn + bit) - golden for bit in (0, 1))]
    assert state not in states[1:]
    assert vars(streams).keys() == {"_states"}, "the states of the engine's own choices can be inverted"
    for word in states:
        assert (unmixed(unmixed(unmixed(word % 2**64))) - golden) % 2**64 != seed


def test_the_streams_of_rows() -> None:
    seeds, matches = np.array([5, 6, 5, 5]), np.array([0, 0, 1, 0])
    streams = PlayerStreams(4)
    streams.begin(np.arange(4), seeds, matches)
    numbers = np.stack([streams.draw(np.arange(4)) for _ in range(3)])
    assert np.array_equal(numbers[:, 0], numbers[:, 3])
    assert len(np.unique(numbers[:, :3])) == 9
    assert numbers.min() >= 0
    one = PlayerStreams(1)
    one.begin(ROW, seeds[1:2], matches[1:2])
    assert [int(one.draw(ROW)[0]) for _ in range(3)] == numbers[:, 1].tolist()
    many, rows = PlayerStreams(20_000), np.arange(20_000)
    many.begin(rows, rows, np.zeros(20_000, np.int64))
    assert (many.draw(rows) / 2**63).mean() == pytest.approx(0.5, abs=5 * 20_000**-0.5 / 12**0.5)
    own = engine_streams(np.arange(20_000), np.zeros(20_000, np.int64))
    assert (own >= 1).all()
    assert (own < 2**32).all()
    assert len(np.unique(own)) > 19_900
