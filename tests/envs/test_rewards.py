"""Rewards, ends and public results: what `last` gives adds up to the score, and nothing is told before a deal is over."""

import math
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import noms_env
from noms_env.core.actions import CALL_WORDS, PASS
from noms_env.core.cards import CARD_WORDS
from noms_env.envs.aec import TrickTakingEnv
from tests.begun import begun
from tests.envs.play import KINDS, Kind, choose, make, play_out
from tests.variants.table_help import members


def deals_of(env: TrickTakingEnv, rng: random.Random, most: int = 400) -> Iterator[dict[str, Any]]:
    """Play on to the ends of deals; what the table said of each as it was scored, with the rewards of that step.

    Asserts at every step that rewards come only as a deal is scored.
    """
    table = env.table
    for _ in range(most):
        truth: dict[str, Any] = {}
        while not truth:
            action = choose(env, rng)
            twin = table.copy()
            twin.step(action)
            env.step(action)
            if twin.is_scored:
                truth = {"table": twin, "rewards": dict(env.rewards)}
            else:
                assert not any(env.rewards.values()), "a reward before the deal is over tells the sides"
        yield truth
        if env.phase is None:
            return


def expected_rewards(reward: str, points: list[float], winners: list[int]) -> list[float]:
    if reward == "relative":
        return [own - (sum(points) - own) / (len(points) - 1) for own in points]
    if reward == "outcome":
        return [1 / len(winners) if seat in winners else 0.0 for seat in range(len(points))]
    return points


@pytest.mark.parametrize("reward", ["points", "relative", "outcome"])
@pytest.mark.parametrize("name", KINDS)
def test_what_last_gives_adds_up_to_the_score(name: str, reward: str) -> None:
    env = begun(make(KINDS[name], reward=reward), seed=11)
    returns = play_out(env, random.Random(1))
    row, seats = env.table.row, env.table.seats
    totals = [float(total) for total in row.totals[:seats]]
    assert list(returns.values()) == pytest.approx(expected_rewards(reward, totals, members(row.winners)))
    assert any(returns.values()) or reward != "outcome"


def test_the_mover_reads_a_reward_once() -> None:
    env = begun(make(KINDS["up down"]), seed=0)
    deal = next(deals_of(env, random.Random(0)))
    first = env.agent_selection
    assert env.last()[1] == env.last()[1] == deal["rewards"][first]
    env.step(env.legal_actions()[0])
    assert env._cumulative_rewards[first] == 0
    assert env.last()[1] == deal["rewards"][env.agent_selection], "the others still have theirs to read"


@pytest.mark.parametrize("name", KINDS)
def test_infos_tell_the_result_of_the_last_deal(name: str) -> None:
    env = begun(make(KINDS[name]), seed=7)
    assert all(info == {} for info in env.infos.values())
    for deal in deals_of(env, random.Random(name), most=8):
        table = deal["table"]
        row, seats, words = table.row, table.seats, CARD_WORDS[table.deck_kind]
        found = {agent: info["last_deal"] for agent, info in env.infos.items()}
        assert len(found) == seats
        result = found["player_0"]
        assert all(other == result for other in found.values())
        assert list(deal["rewards"].values()) == [float(points) for points in row.points[:seats]]
        stock = {"stock": table.card_words(row.stock)} if KINDS[name].options.get("reveal_stock_at_end") else {}
        assert result == {
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


@pytest.mark.parametrize("name", KINDS)
def test_the_end_of_a_match_is_told_to_all(name: str) -> None:
    env = begun(make(KINDS[name]), seed=5)
    for _ in deals_of(env, random.Random(name)):
        ended = env.phase is None
        assert any((*env.terminations.values(), *env.truncations.values())) == ended
        assert all(("winners" in info) == ended for info in env.infos.values())
    row, seats = env.table.row, env.table.seats
    assert env.phase is None
    assert env.legal_actions() == []
    assert all(env.truncations.values()) == bool(row.truncated)
    assert all(env.terminations.values()) == (not row.truncated)
    assert any(env.truncations.values()) != any(env.terminations.values())
    for agent, info in env.infos.items():
        flags = {key: info[key] for key in ("winners", "sniped") if key in info}
        assert ("sniped" in flags) == (KINDS[name].variant == "sniped_whist")
        for key, seats_of_it in flags.items():
            assert (seats_of_it.shape, seats_of_it.dtype) == ((seats,), bool), "one shape, however many seats it is"
            assert np.flatnonzero(seats_of_it).tolist() == members(row[key])
        observation = env.observe(agent)
        assert isinstance(observation, dict)
        assert not observation["action_mask"].any()
    best = max(row.totals[:seats])
    if KINDS[name] != KINDS["sniped whist"]:
        assert members(row.winners) == [seat for seat in range(seats) if row.totals[seat] > best - 1e-9]


@pytest.mark.parametrize("reward", ["points", "relative", "outcome"])
@pytest.mark.parametrize("name", KINDS)
def test_a_single_deal_is_one_scored_deal(name: str, reward: str) -> None:
    kind = KINDS[name]
    if kind.options.get("accumulate"):
        with pytest.raises(ValueError, match="accumulate adds up the deals of a match"):
            make(kind, episode="deal")
        return
    env = make(kind, episode="deal", reward=reward)
    for match in range(6):
        env.reset(seed=8 if match == 0 else None)
        assert list(env.table.row.totals) == [0] * 7
        returns = play_out(env, random.Random(match))
        row, seats = env.table.row, env.table.seats
        points = [float(number) for number in row.points[:seats]]
        assert list(returns.values()) == pytest.approx(expected_rewards(reward, points, members(row.winners)))
        assert not row.passed_out
        assert not row.truncated
        if kind.variant == "sniped_whist":
            tricks = list(row.tricks[:seats])
            assert members(row.winners) == [seat for seat in range(seats) if tricks[seat] == min(tricks)]
        else:
            assert members(row.winners) == [seat for seat in range(seats) if points[seat] == max(points)]


def test_noms_goes_on_through_passed_out_deals_to_the_first_that_is_played() -> None:
    env = begun(make(Kind("noms", 4, {"max_deals": 10}), episode="deal"), seed=3)
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
    """Pearson's test: true draws fail it about once in 5,000 times; these are always the same."""
    assert set(counts) == set(range(cells))
    expected = counts.total() / cells
    distance = sum((count - expected) ** 2 / expected for count in counts.values())
    assert distance < cells + 5.5 * math.sqrt(2 * cells)


@pytest.mark.parametrize(("variant", "deals"), [("big_ships", 25), ("down_up", 19), ("up_down", 25)])
def test_the_place_of_a_single_deal_is_drawn_uniformly(variant: str, deals: int) -> None:
    env = make(Kind(variant, 4, {}), episode="deal")
    schedule = env.table.rules.schedule
    assert len(schedule) == deals
    counts: Counter[int] = Counter()
    trumps = set()
    for match in range(100 * deals):
        env.reset(seed=1 if match == 0 else None)
        row = env.table.row
        counts[int(row.deal)] += 1
        trumps.add((int(row.deal), env.table.trump_word()))
        assert row.deal_size == schedule[row.deal]
    assert_uniform(counts, deals)
    rotation = env.table.rules.options["trump_rotation"]
    assert trumps == {(deal, rotation[deal % 5]) for deal in range(deals)}


def test_hand_size_picks_uniformly_among_the_deals_of_that_size() -> None:
    env = make(Kind("down_up", 4, {}), episode="deal", hand_size=7)
    counts: Counter[int] = Counter()
    for match in range(1000):
        env.reset(seed=1 if match == 0 else None)
        assert env.table.row.deal_size == 7
        counts[int(env.table.row.deal)] += 1
    assert set(counts) == {3, 15}
    assert_uniform(Counter({0: counts[3], 1: counts[15]}), 2)
    alone = begun(make(Kind("down_up", 4, {}), episode="deal", hand_size=1), seed=1)
    assert alone.table.row.deal == 9


@pytest.mark.parametrize("variant", noms_env.VARIANTS)
def test_reset_goes_on_to_the_next_match_of_the_seed(variant: str) -> None:
    one, other = (make(Kind(variant, 4, {})) for _ in range(2))
    states = []
    for match in range(4):
        one.reset(seed=9 if match == 0 else None)
        states.append(one.state().tobytes())
    assert len(set(states)) == 4
    for match in range(4):
        other.reset(seed=9 if match == 0 else None)
        play = random.Random(match)
        assert other.state().tobytes() == states[match], "the deals do not depend on what was played"
        for _ in range(10):
            other.step(choose(other, play))
    one.reset(seed=9)
    assert one.state().tobytes() == states[0]
    one.reset(seed=10)
    assert one.state().tobytes() != states[0]
