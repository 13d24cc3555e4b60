"""The engine agrees with the referee, which was written from the rulebook alone: legal actions, turns, tricks, points, ends."""

import random
from typing import Any

import pytest

from noms_env.variants import GAMES, VARIANTS, make_rules
from tests.agreement import play_together, random_table
from tests.envs.play import EVERY_TABLE


@pytest.mark.parametrize(("variant", "seats", "options"), EVERY_TABLE)
def test_a_match_follows_the_rulebook(variant: str, seats: int, options: dict[str, Any]) -> None:
    deals = play_together(variant, seats, options, seed=1, most_deals=30)
    schedule = make_rules(GAMES[variant], seats).schedule
    assert deals == len(schedule) if schedule else deals > 0


@pytest.mark.parametrize(
    ("episode", "matches", "deals"),
    [("match", 40, 4), ("deal", 25, 20), pytest.param("match", 3, 1, marks=pytest.mark.uncompiled)],
)
@pytest.mark.parametrize("variant", VARIANTS)
def test_tables_with_random_options_follow_the_rulebook(variant: str, episode: str, matches: int, deals: int) -> None:
    rng = random.Random(f"{variant}: {episode}, {matches}")
    for seed in range(matches):
        number = play_together(variant, *random_table(variant, rng), seed, episode=episode, most_deals=deals)
        assert number == 1 or (episode, deals) == ("match", 4) or variant == "noms", "only noms passes single deals out"


@pytest.mark.soak
@pytest.mark.parametrize("variant", VARIANTS)
def test_ten_thousand_deals_follow_the_rulebook(variant: str) -> None:
    rng = random.Random(f"{variant}: soak")
    deals = seed = 0
    while deals < 10_000:
        seats, options = random_table(variant, rng)
        deals += play_together(variant, seats, options, seed, most_deals=8)
        deals += play_together(variant, seats, options, seed, episode="deal", most_deals=8)
        seed += 1
