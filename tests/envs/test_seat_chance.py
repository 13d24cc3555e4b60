"""One seat as an environment: hidden cards have no influence, and all chance follows from the seed."""

import random
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence

from noms_env import SeatEnv
from noms_env.envs.aec import TrickTakingEnv
from noms_env.envs.gym.seat_config import PlayerStreams, engine_streams
from noms_env.players import load_player
from tests.agreement import deck_words
from tests.begin import begin
from tests.envs.play import KINDS
from tests.envs.seats import NumpyPlayer, choose, play_episode, seat_env
from tests.observation.test_leaks import exchange, hidden_from

ROW = np.zeros(1, np.int64)


class Peeker(NumpyPlayer):
    """Chooses by all hands at the table that it gets."""

    def choose_actions(self, mask: np.ndarray, seeds: np.ndarray, tables: np.recarray) -> list[int]:
        return [choose(legal, crc32(hands.tobytes())) for legal, hands in zip(mask, tables.hands, strict=True)]


class SlowRandom(NumpyPlayer):
    """`random`, but called as any other player is."""

    def choose_actions(self, mask: np.ndarray, seeds: np.ndarray, tables: np.recarray) -> list[int]:
        return [int(action) for action in load_player("random").act(mask, mask, seeds)]


@pytest.mark.parametrize("name", ["small ships", "noms", "nonesuch", "down up", "sniped whist"])
@pytest.mark.parametrize("player", [SlowRandom, Peeker])
def test_hidden_cards_do_not_change_what_the_others_do(name: str, player: type[NumpyPlayer]) -> None:
    """Exchange cards that neither the learner nor those who acted before it know: the learner must see the same."""
    rng, others, n_worlds = random.Random(name), player(), 0
    env = seat_env(KINDS[name], opponents=others)
    for seed in range(24):
        others.seats = []
        first = env.reset(seed=seed)
        row = env.table.row
        hidden = hidden_from(env.table, env.seat)
        for seat in set(others.seats):
            hidden &= ~int(row.hands[seat])
        if hidden == 0:
            continue
        deck = exchange(deck_words(env.table), env.table.card_words(hidden), rng)
        hands = row.hands.tolist()
        second = env.reset(seed=seed, options={"dealer": int(row.dealer), "deal": int(row.deal), "deck": deck})
        assert data_equivalence(first, second, exact=True)
        n_worlds += row.hands.tolist() != hands
    assert n_worlds >= 4


PLAYERS: list[Any] = ["random", "pimc:2", ["random", "thumb", "flat_mc:2"], [NumpyPlayer(), "random", NumpyPlayer()]]


@pytest.mark.parametrize("opponents", PLAYERS)
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


def test_opponents_play_by_the_seed_with_the_same_cards_too() -> None:
    table = begin(TrickTakingEnv("up_down", episode="deal", hand_size=5), seed=0).table
    position = {"deck": deck_words(table), "dealer": 0, "deal": int(table.row.deal)}
    env = SeatEnv("up_down", hand_size=5)
    observations = {env.reset(seed=seed, options=position)[0]["observation"].tobytes() for seed in range(60)}
    assert 30 < len(observations) <= 6**3, "three others have called, each one of six numbers"


def test_without_a_seed_chance_decides_and_the_next_match_follows() -> None:
    env, twin = SeatEnv("up_down"), SeatEnv("up_down")
    env.reset()
    twin.reset()
    assert env.table.row.seed != twin.table.row.seed
    env.reset(seed=4)
    env.reset()
    assert (env.table.row.seed, env.table.row.match) == (4, 1)
    env, twin = SeatEnv("up_down"), SeatEnv("up_down")
    for each in (env, twin):
        each.np_random = np.random.default_rng(3)
        each.reset()
    assert env.table.row.seed == twin.table.row.seed


def invert_splitmix(word: int) -> int:
    """Return the word that SplitMix64 mixes into this one."""
    for shift, factor in ((31, 0x94D049BB133111EB), (27, 0xBF58476D1CE4E5B9), (30, 1)):
        mixed = word
        for _ in range(64 // shift):
            mixed = word ^ mixed >> shift
        word = mixed * pow(factor, -1, 2**64) % 2**64
    return word


def test_no_draw_of_a_player_reveals_the_seed() -> None:
    """A player may run the generator backwards from its first draw of an episode, or from the state of the stream."""
    golden, seed = 0x9E3779B97F4A7C15, 1234567
    streams = PlayerStreams(1)
    streams.begin(ROW, np.array([seed]), np.zeros(1, np.int64))
    state = int(streams._states[0])
    draw = int(streams.draw(ROW)[0])
    states = [state, *(invert_splitmix(2 * draw + bit) - golden for bit in (0, 1))]
    assert state not in states[1:]
    assert vars(streams).keys() == {"_states"}, "the states of the engine's own choices can be inverted"
    for word in states:
        assert (invert_splitmix(invert_splitmix(invert_splitmix(word % 2**64))) - golden) % 2**64 != seed


def test_the_stream_of_a_row_follows_from_its_seed_and_match() -> None:
    seeds, matches = np.array([5, 6, 5, 5]), np.array([0, 0, 1, 0])
    streams = PlayerStreams(4)
    streams.begin(np.arange(4), seeds, matches)
    numbers = np.stack([streams.draw(np.arange(4)) for _ in range(3)])
    assert np.array_equal(numbers[:, 0], numbers[:, 3])
    assert len(np.unique(numbers[:, :3])) == 9
    assert numbers.min() >= 0
    single = PlayerStreams(1)
    single.begin(ROW, seeds[1:2], matches[1:2])
    assert [int(single.draw(ROW)[0]) for _ in range(3)] == numbers[:, 1].tolist()
    many, rows = PlayerStreams(20_000), np.arange(20_000)
    many.begin(rows, rows, np.zeros(20_000, np.int64))
    assert (many.draw(rows) / 2**63).mean() == pytest.approx(0.5, abs=5 * 20_000**-0.5 / 12**0.5)
    engine = engine_streams(rows, np.zeros(20_000, np.int64))
    assert (engine >= 1).all()
    assert (engine < 2**32).all()
    assert len(np.unique(engine)) > 19_900
