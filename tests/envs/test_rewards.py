"""Rewards, ends and public results: rewards add up to the score, and nothing is public before a deal is scored."""

import math
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any, get_args

import numpy as np
import pytest

import noms_env
from noms_env.core.actions import CALL_WORDS, PASS
from noms_env.core.cards import CARD_WORDS
from noms_env.envs.aec import TrickTakingEnv
from noms_env.envs.validation import Reward
from tests.begin import begin
from tests.envs.play import EPISODES, KINDS, Kind, choose, make, play_out, walk_on
from tests.variants.table_help import members


def play_deals(env: TrickTakingEnv, rng: random.Random, most: int = 400) -> Iterator[dict[str, Any]]:
    """Play to the ends of deals; yield the scored table of each, with the rewards of that step.

    Asserts at every step that rewards come only when a deal is scored.
    """
    for _ in range(most):
        while True:
            action = choose(env, rng)
            table = env.table.copy()
            table.step(action)
            env.step(action)
            if table.is_scored:
                break
            assert not any(env.rewards.values()), "a reward before the deal is over tells the sides"
        yield {"table": table, "rewards": dict(env.rewards)}
        if env.phase is None:
            return


def expected_rewards(reward: str, points: list[float], winners: list[int]) -> list[float]:
    if reward == "relative":
        return [own - (sum(points) - own) / (len(points) - 1) for own in points]
    if reward == "outcome":
        return [1 / len(winners) if seat in winners else 0.0 for seat in range(len(points))]
    return points


@pytest.mark.parametrize("reward", get_args(Reward))
@pytest.mark.parametrize(("name", "episode"), EPISODES)
def test_the_rewards_from_last_add_up_to_the_score(name: str, episode: str, reward: str) -> None:
    env = make(KINDS[name], episode=episode, reward=reward)
    for match in range(6 if episode == "deal" else 1):
        env.reset(seed=8 if match == 0 else None)
        assert list(env.table.row.totals) == [0] * 7
        returns = play_out(env, random.Random(match))
        row, seats = env.table.row, env.table.seats
        assert members(row.winners)
        scores = [float(number) for number in (row.points if episode == "deal" else row.totals)[:seats]]
        assert list(returns.values()) == pytest.approx(expected_rewards(reward, scores, members(row.winners)))
        if episode == "deal":
            assert not row.passed_out
            assert not row.truncated
            ranks = [-int(tricks) for tricks in row.tricks[:seats]] if KINDS[name].variant == "sniped_whist" else scores
            assert members(row.winners) == [seat for seat in range(seats) if ranks[seat] == max(ranks)]


def test_a_single_deal_cannot_add_up_the_tricks_of_a_match() -> None:
    with pytest.raises(ValueError, match="accumulate adds up the deals of a match"):
        make(Kind("sniped_whist", 5, {"n_hands": 3, "accumulate": True}), episode="deal")


def test_each_agent_reads_a_reward_once() -> None:
    env = begin(make(KINDS["up down"]), seed=0)
    deal = next(play_deals(env, random.Random(0)))
    first = env.agent_selection
    assert env.last()[1] == env.last()[1] == deal["rewards"][first]
    env.step(env.legal_actions()[0])
    assert env._cumulative_rewards[first] == 0
    assert env.last()[1] == deal["rewards"][env.agent_selection], "the others still have theirs to read"


@pytest.mark.parametrize("name", KINDS)
def test_infos_have_the_result_of_each_deal_and_the_end_of_the_match(name: str) -> None:
    env = begin(make(KINDS[name]), seed=5)
    assert all(info == {} for info in env.infos.values())
    for deal in play_deals(env, random.Random(name)):
        table = deal["table"]
        row, seats, words = table.row, table.seats, CARD_WORDS[table.deck_kind]
        assert list(deal["rewards"].values()) == [float(points) for points in row.points[:seats]]
        stock = {"stock": table.card_words(row.stock)} if KINDS[name].options.get("reveal_stock_at_end") else {}
        expected = {
            "deal": row.deal,
            "dealer": row.dealer,
            "hand_size": row.deal_size,
            "multiplier": row.multiplier,
            "contract": CALL_WORDS[row.contract] if row.contract >= 0 else None,
            "declarer": row.declarer,
            "trump": table.trump_word(),
            "nominated": words[row.nominated] if row.nominated >= 0 else None,
            "partner": row.partner,
            "calls": [CALL_WORDS[call] if call >= 0 else None for call in row.call[:seats]],
            "last_trick": [words[card] for card in row.order if card >= 0][-seats:] or [None] * seats,
            "tricks": list(row.tricks[:seats]),
            "points": list(row.points[:seats]),
            "totals": list(row.totals[:seats]),
            **stock,
        }
        assert [info["last_deal"] for info in env.infos.values()] == [expected] * seats
        is_over = env.phase is None
        assert any((*env.terminations.values(), *env.truncations.values())) == is_over
        assert all(("winners" in info) == is_over for info in env.infos.values())
    row, seats = env.table.row, env.table.seats
    assert (env.phase, env.legal_actions()) == (None, [])
    assert set(env.truncations.values()) == {bool(row.truncated)}
    assert set(env.terminations.values()) == {not row.truncated}
    for agent, info in env.infos.items():
        assert ("sniped" in info) == (KINDS[name].variant == "sniped_whist")
        for key in {"winners", "sniped"} & info.keys():
            assert (info[key].shape, info[key].dtype) == ((seats,), bool), "one shape for any number of winners"
            assert np.flatnonzero(info[key]).tolist() == members(row[key])
        observation: Any = env.observe(agent)
        assert not observation["action_mask"].any()
    best = max(row.totals[:seats])
    if KINDS[name] != KINDS["sniped whist"]:
        assert members(row.winners) == [seat for seat in range(seats) if row.totals[seat] > best - 1e-9]


def test_a_single_deal_of_noms_lasts_until_a_deal_is_played() -> None:
    env = begin(make(Kind("noms", 4, {"max_deals": 10}), episode="deal"), seed=3)
    for deal in range(3):
        for _ in range(4):
            assert env.table.row.deal == deal
            env.step(PASS)
        assert not any(env.terminations.values())
        assert env.infos["player_0"]["last_deal"]["points"] == [0.0] * 4
        assert env.table.row.multiplier == 2
    returns = play_out(env, random.Random(0))
    assert all(number % 2 == 0 for number in returns.values()), "a double hand"
    assert env.table.row.deal >= 3


def test_totals_before_a_single_deal_do_not_decide_its_outcome() -> None:
    env = make(Kind("down_up", 3, {}), episode="deal", hand_size=1, reward="outcome")
    env.reset(seed=1, options={"totals": [0, 500, 0]})
    returns = play_out(env, random.Random(0))
    points = list(env.table.row.points[:3])
    best = [seat for seat in range(3) if points[seat] == max(points)]
    assert list(returns.values()) == pytest.approx(expected_rewards("outcome", points, best))


def assert_uniform(counts: Counter[int], cells: int) -> None:
    """Pearson's test: true draws fail it about once in 5,000 times; these draws are always the same."""
    assert set(counts) == set(range(cells))
    expected = counts.total() / cells
    distance = sum((count - expected) ** 2 / expected for count in counts.values())
    assert distance < cells + 5.5 * math.sqrt(2 * cells)


@pytest.mark.parametrize(("variant", "deals"), [("big_ships", 25), ("down_up", 19), ("up_down", 25)])
def test_a_single_deal_is_drawn_uniformly_from_the_schedule(variant: str, deals: int) -> None:
    env = make(Kind(variant, 4, {}), episode="deal")
    schedule, rotation = env.table.rules.schedule, env.table.rules.options["trump_rotation"]
    counts: Counter[int] = Counter()
    for match in range(100 * deals):
        env.reset(seed=1 if match == 0 else None)
        deal = int(env.table.row.deal)
        counts[deal] += 1
        assert (env.table.row.deal_size, env.table.trump_word()) == (schedule[deal], rotation[deal % 5])
    assert_uniform(counts, deals)


def test_hand_size_picks_uniformly_among_the_deals_of_that_size() -> None:
    env = make(Kind("down_up", 4, {}), episode="deal", hand_size=7)
    counts: Counter[int] = Counter()
    for match in range(1000):
        env.reset(seed=1 if match == 0 else None)
        assert env.table.row.deal_size == 7
        counts[{3: 0, 15: 1}[int(env.table.row.deal)]] += 1
    assert_uniform(counts, 2)
    alone = begin(make(Kind("down_up", 4, {}), episode="deal", hand_size=1), seed=1)
    assert alone.table.row.deal == 9


@pytest.mark.parametrize("variant", noms_env.VARIANTS)
def test_reset_deals_the_next_match_of_the_seed(variant: str) -> None:
    env, twin = (make(Kind(variant, 4, {})) for _ in range(2))
    states = []
    for match in range(4):
        env.reset(seed=9 if match == 0 else None)
        states.append(env.state().tobytes())
    assert len(set(states)) == 4
    for match in range(4):
        twin.reset(seed=9 if match == 0 else None)
        assert twin.state().tobytes() == states[match], "the deals do not depend on what was played"
        walk_on(twin, random.Random(match), 10)
    env.reset(seed=9)
    assert env.state().tobytes() == states[0]
    env.reset(seed=10)
    assert env.state().tobytes() != states[0]
