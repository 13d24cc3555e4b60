"""The engine against the referee, which was written from the rulebook alone: legal actions, turns, tricks, points, ends."""

from __future__ import annotations

import random

import pytest

from noms_env.variants import GAMES, VARIANTS, make_rules
from tests.agreement import play_together, random_table

EVERY_TABLE = [(game.name, seats) for game in GAMES.values() for seats in range(game.seats[0], game.seats[1] + 1)]


@pytest.mark.parametrize(("variant", "seats"), EVERY_TABLE)
def test_a_whole_match_by_the_rulebook(variant: str, seats: int) -> None:
    deals = play_together(variant, seats, {}, seed=1, most_deals=30)
    schedule = make_rules(GAMES[variant], seats).schedule
    assert deals == len(schedule) if schedule else deals > 0


@pytest.mark.parametrize("variant", VARIANTS)
def test_random_options(variant: str) -> None:
    rng = random.Random(f"{variant}: quick")
    for seed in range(40):
        seats, given = random_table(variant, rng)
        play_together(variant, seats, given, seed, most_deals=4)


@pytest.mark.parametrize("variant", VARIANTS)
def test_single_deals(variant: str) -> None:
    rng = random.Random(f"{variant}: deals")
    for seed in range(25):
        seats, given = random_table(variant, rng)
        deals = play_together(variant, seats, given, seed, episode="deal", most_deals=20)
        assert deals == 1 or variant == "noms", "only noms passes deals out"


@pytest.mark.uncompiled
@pytest.mark.parametrize("variant", VARIANTS)
def test_without_the_compiler_too(variant: str) -> None:
    rng = random.Random(f"{variant}: uncompiled")
    for seed in range(3):
        seats, given = random_table(variant, rng)
        assert play_together(variant, seats, given, seed, most_deals=1) == 1


@pytest.mark.soak
@pytest.mark.parametrize("variant", VARIANTS)
def test_ten_thousand_deals(variant: str) -> None:
    rng = random.Random(f"{variant}: soak")
    deals = seed = 0
    while deals < 10_000:
        seats, given = random_table(variant, rng)
        deals += play_together(variant, seats, given, seed, most_deals=8)
        deals += play_together(variant, seats, given, seed, episode="deal", most_deals=8)
        seed += 1
