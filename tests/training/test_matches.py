"""Whole matches with duplicate starts."""

from threading import Event
from typing import Any

import numpy as np
import pytest

from noms_env.table import Table
from noms_env.variants import Rules
from noms_training.agents.registry import agent_spec
from noms_training.agents.spec import AgentSpec
from noms_training.evaluation.duplicate import deal_seed, line_ups
from noms_training.evaluation.matches import Matches, compare_matches, play_matches
from noms_training.evaluation.statistics import estimate, percent
from tests.training.fakes import FIRST, First, rules


class Illegal(First):
    def act(self, observation: np.ndarray, mask: np.ndarray, seeds: np.ndarray, *, tables: Any = None) -> Any:
        return np.full(len(mask), -1)


BAD = AgentSpec("bad", Illegal)
SEATINGS = np.concatenate([line_up.seatings for line_up in line_ups(4, names=("alone", "against"))])


@pytest.mark.parametrize(
    ("name", "options"), [("big_ships", {"start_cards": 2}), ("noms", {"target": 20}), ("nonesuch", {"max_hands": 3})]
)
def test_batched_matches_equal_those_of_one_table(name: str, options: dict[str, Any]) -> None:
    kind = rules(name, **options)
    shares, deals = play_matches(kind, (FIRST, FIRST), SEATINGS, range(3, 6), 0, "dev", Event())
    count = 0
    for row, number in enumerate(range(3, 6)):
        winners, dealt = play_match(kind, number)
        count += 8 * dealt
        expected = [(seat in winners) / len(winners) for seat in range(4)]
        assert shares[row] == pytest.approx(expected * 2)
    assert deals == count


def play_match(kind: Rules, number: int) -> tuple[list[int], int]:
    """Play the first legal action throughout a match; return its winners and number of deals."""
    table = Table(kind.variant.name, kind.seats, kind.options, seed=deal_seed("dev"), table=number, episode="match")
    table.start(match=0)
    deals = 0
    while not table.row.over:
        table.step(int(np.flatnonzero(table.view(int(table.row.seat))[1])[0]))
        if table.is_scored:
            deals += 1
            table.next_deal()
    return [seat for seat in range(kind.seats) if table.row.winners >> seat & 1], deals


def test_the_interval_of_no_or_all_wins_is_exact() -> None:
    matches = Matches(np.tile([0.0] * 4 + [1.0] * 4, (5, 1)), 40, "all")
    none, every = matches.estimate("alone"), matches.estimate("against")
    assert (none.low, none.mean, none.high) == pytest.approx((0, 0, 1 - 0.025**0.2))
    assert (every.low, every.mean, every.high) == pytest.approx((0.025**0.2, 1, 1))
    assert (none.method, every.method) == ("exact", "exact")
    assert (percent(none), percent(every)) == ("0.0 % (0.0 to 52.2)", "100.0 % (47.8 to 100.0)")
    assert percent(estimate(np.array([0.0, 0.5, 1.0]))) == "50.0 %"
    assert percent(estimate(np.array([0.0, 0.5, 1.0] * 4))) == "50.0 % ±27.1"


def test_win_shares_by_hand() -> None:
    shares = np.array([[1.0, 0, 0.5, 0.5, 0, 0, 0, 0], [1, 1, 1, 1, 0, 1, 0, 0]])
    matches = Matches(shares, 40, "all")
    assert matches.fair == 0.25
    assert (matches.estimate("alone").mean, matches.estimate("against").mean) == (0.75, 0.125)
    assert matches.advantage().mean == pytest.approx(0.3125)


def test_a_player_that_loses_a_table_has_no_share_of_the_win() -> None:
    for players, share in (((BAD, FIRST), 0), ((FIRST, BAD), 1)):
        shares, _ = play_matches(rules("big_ships", start_cards=2), players, SEATINGS, range(2), 0, "dev", Event())
        assert (shares[:, :4] == share).all()
        assert (shares[:, 4:] == 1 - share).all()


def test_matches_do_not_depend_on_threads() -> None:
    a, b = agent_spec("random"), agent_spec("greedy")
    first, second = (compare_matches(rules("noms", target=15), a, b, 40, seed=2, threads=threads) for threads in (1, 3))
    assert np.array_equal(first.shares, second.shares)
    assert first.deals == second.deals
    assert not np.array_equal(first.shares, compare_matches(rules("noms", target=15), a, b, 40, seed=3).shares)


def test_too_few_matches_are_refused() -> None:
    with pytest.raises(ValueError, match="the number of matches must be 2 or more, not 1"):
        compare_matches(rules("noms"), FIRST, FIRST, 1)
