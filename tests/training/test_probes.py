"""Behaviour statistics, on tables made by hand and on played deals."""

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from noms_env import BatchEnv
from noms_env.core.actions import CALL_MIS, CALL_MIS_A_VIS, CALL_MOST, CALL_NONE, CALL_SOME, CALL_ZERO, MAX_NUMBER, PLAYING
from noms_env.core.cards import CARD_NUMBERS, FRENCH, cards_in
from noms_env.core.state import MAX_SEATS, SINGLE_DEAL, put_byte
from noms_env.core.tricks import beats
from noms_env.players import Player, load_player
from noms_env.record import Record, record_matches, replay
from noms_env.variants import Rules
from noms_env.variants.table_record import new_tables, write_rules
from noms_training.agents.table_pool import AtTables, TablePool, play
from noms_training.evaluation.behaviour_stats import (
    COULD,
    DEFENDER,
    DID,
    PARTNER,
    Tally,
    count_deals,
    overtakes,
    possible_contracts,
)
from tests.training.fakes import rules

BIDS = ("mis", "mis_a_vis", *map(str, range(7, MAX_NUMBER + 1)))
ACE, TWO, KING = (CARD_NUMBERS[FRENCH][word] for word in ("AS", "2S", "KH"))


def table(kind: Rules, **fields: Any) -> np.recarray:
    """One table with fields set by hand; lists are padded."""
    tables = new_tables(1)
    write_rules(tables[0], kind)
    start: dict[str, Any] = {"declarer": -1, "partner": -1, "nominated": -1, "indicated": -1, "contract": -1}
    for name, value in {**start, **fields}.items():
        if isinstance(value, list):
            tables[name][0, : len(value)] = value
        else:
            tables[name] = value
    return tables


def joined(*tables: np.recarray) -> np.recarray:
    return np.concatenate(tables).view(np.recarray)


def bids(*numbers: int) -> list[int]:
    return [CALL_ZERO + number for number in numbers]


class Counting:
    """A player that counts its chances to overtake the declarer as they arise."""

    def __init__(self, player: Player, rng: np.random.Generator, seats: np.ndarray) -> None:
        self.choose, self.seats, self.counts = AtTables(player, rng), seats, np.zeros((2, 2), int)

    def __call__(self, batch: BatchEnv, rows: np.ndarray) -> np.ndarray:
        actions = self.choose(batch, rows)
        for row, action in zip(rows, actions, strict=True):
            t = batch.tables[row]
            is_number = t.contract not in (CALL_MIS, CALL_MIS_A_VIS)
            is_hidden = t.partner >= 0 and t.phase == PLAYING and not t.cards_played >> int(t.nominated) & 1
            if not (is_number and is_hidden and t.n_table > 0 and t.best_seat == t.declarer and self.seats[row, t.seat]):
                continue
            higher = {card for card in cards_in(t.legal_cards) if beats(card, t.best_card, t.led_cards, t.trump_cards)}
            if 0 < len(higher) < len(cards_in(t.legal_cards)):
                role = PARTNER if t.seat == t.partner else DEFENDER
                self.counts[role] += (1, action in higher)
        return actions


@pytest.mark.parametrize(("variant", "seats"), [("small_ships", 4), ("small_ships", 5), ("noms", 4)])
@pytest.mark.parametrize("name", ["thumb", "random"])
def test_overtakes_are_counted_after_the_deal(variant: str, seats: int, name: str) -> None:
    kind, rng = rules(variant, seats), np.random.default_rng(0)
    pool = TablePool([kind], [0], 300, seed=4)
    chosen = rng.random((300, MAX_SEATS)) < 0.7
    player = Counting(load_player(name), rng, chosen)
    pool.deal(0)
    play(pool, [player], np.zeros((300, MAX_SEATS), np.int64))
    counts = overtakes(pool.batch.tables, chosen)
    assert (counts == player.counts).all()
    assert (counts[:, COULD] > 0).all()
    rates = count_deals(pool.batch.tables, kind, chosen).means()
    assert rates["partner/overtakes"] == counts[PARTNER, DID] / counts[PARTNER, COULD]
    assert rates["defender/overtakes"] == counts[DEFENDER, DID] / counts[DEFENDER, COULD]
    if name == "thumb":
        assert rates["partner/overtakes"] < rates["defender/overtakes"] / 2


@pytest.mark.parametrize("variant", ["small_ships", "noms"])
def test_an_open_partner_has_no_statistics_of_the_search_for_him(variant: str) -> None:
    probes = {}
    for is_open in (False, True):
        kind = rules(variant, open_partner=is_open)
        pool = TablePool([kind], [0], 50, seed=4)
        pool.deal(0)
        play(pool, [AtTables(load_player("thumb"), np.random.default_rng(0))], np.zeros((50, MAX_SEATS), np.int64))
        probes[is_open] = set(count_deals(pool.batch.tables, kind).means())
    assert probes[False] - probes[True] == {"partner/trick", "partner/overtakes", "defender/overtakes"}


def test_exact_bids_by_hand() -> None:
    kind = rules("down_up")
    deal = table(kind, deal_size=5, call=bids(2, 0, 0, 3), tricks=[2, 0, 2, 1])
    hits = {"bid/hit": 0.5, "bid/over": 0.25, "bid/under": 0.25, "bid/zero": 0.5, "bid/zero/hit": 0.5, "bid/hit/5": 0.5}
    assert count_deals(deal, kind).means() == hits | {"bid/excess": 0.0}


def test_hits_are_counted_by_hand_size_and_by_seat() -> None:
    kind = rules("big_ships", 3)
    deals = joined(
        table(kind, deal_size=2, call=bids(1, 1, 0), tricks=[1, 1, 0]),
        table(kind, deal_size=13, call=bids(4, 5, 6), tricks=[4, 4, 5]),
    )
    means = count_deals(deals, kind).means()
    assert {name: means[name] for name in means if "/hit/" in name and "zero" not in name} == {
        **{"bid/hit/2": 1.0, "bid/hit/13": pytest.approx(1 / 3)}
    }
    seats = np.zeros((2, MAX_SEATS), bool)
    seats[:, 1] = seats[:, 5] = True  # there is no seat 5
    tally = count_deals(deals, kind, seats)
    means = tally.means()
    assert (means["bid/hit/2"], means["bid/hit/13"], means["bid/excess"]) == (1.0, 0.0, 0.5)
    assert tally.counts["bid/hit"] == 2


def test_contracts_by_hand() -> None:
    kind = rules("small_ships")
    holds_ace, holds_two = [0, 1 << ACE, 0, 0], [1 << TWO, 0, 0, 0]
    fields: dict[str, Any] = {"contract": CALL_ZERO + 8, "declarer": 0, "nominated": ACE, "partner": 1, "points": [8, 8, 1, 2]}
    deals = [
        table(kind, **fields, played=holds_ace),
        table(kind, contract=CALL_ZERO + 8, declarer=0, nominated=TWO, played=holds_two, points=[0, 3, 2, 1]),
        table(kind, contract=CALL_MIS, declarer=2, nominated=ACE, partner=1, played=holds_ace, points=[4, -12, -12, 5]),
        table(kind, contract=CALL_MIS, declarer=0, nominated=TWO, played=holds_two, points=[10, 5, 4, 4]),
    ]
    put_byte(deals[0].trick_of[0], ACE, 3)
    put_byte(deals[2].trick_of[0], ACE, 6)
    put_byte(deals[1].trick_of[0], TWO, 9)
    tables = joined(*deals)
    probes = count_deals(tables, kind).means()
    half = ("contract/8/made", "contract/mis/made", "numbers/made", "misere/made", "solo", "solo/made")
    eighth = ("contract/8", "contract/mis", "misere")
    never = (f"contract/{number}" for number in (7, 9, 10, 11, 12, 13))
    assert probes == {
        **dict.fromkeys(half, 0.5),
        **dict.fromkeys(eighth, 1 / 8),
        **dict.fromkeys(never, 0.0),
        "partner/trick": 4.5,
    }
    second = np.zeros((4, MAX_SEATS), bool)
    second[:, 2] = True
    probes = count_deals(tables, kind, second).means()
    assert (probes["contract/mis"], probes["contract/mis/made"], probes["contract/8"], probes["solo"]) == (0.25, 0, 0, 0)
    assert probes["partner/trick"] == 6
    assert "solo/made" not in probes


def test_shares_of_contracts_include_deals_passed_out() -> None:
    kind = rules("noms")
    deals = joined(
        table(kind, deal=1, episode=SINGLE_DEAL),  # dealt again after all had passed
        table(kind, contract=CALL_MIS_A_VIS, declarer=3, points=[0, 0, 0, 26]),
        table(kind, contract=CALL_MIS, declarer=3, points=[13, 13, 13, 0]),
        table(kind, contract=CALL_ZERO + 10, declarer=1, nominated=KING, partner=2, played=[0, 0, 0, 0], points=[0, 10, 10, 0]),
    )
    probes = count_deals(deals, kind).means()
    assert probes["passed_out"] == 0.25
    assert (probes["contract/mis_a_vis"], probes["contract/mis_a_vis/made"]) == (1 / 16, 1)
    assert (probes["misere"], probes["misere/made"], probes["contract/10"]) == (1 / 8, 0.5, 1 / 16)
    assert "partner/trick" not in probes
    assert "stock" not in probes


def test_a_nominated_card_in_the_stock_is_counted_apart() -> None:
    kind = rules("small_ships", 5)
    deals = joined(
        table(kind, contract=CALL_ZERO + 5, declarer=0, nominated=KING, points=[5, 1, 1, 1, 2]),
        table(kind, contract=CALL_ZERO + 5, declarer=0, nominated=KING, hands=[1 << KING], points=[5, 1, 1, 1, 2]),
    )
    probes = count_deals(deals, kind).means()
    assert (probes["stock"], probes["solo"]) == (0.5, 0.5)


def test_a_partner_who_indicated_has_no_trick_of_the_card() -> None:
    kind = rules("small_ships", indication=True)
    holder = {"contract": CALL_ZERO + 7, "declarer": 0, "nominated": ACE, "partner": 1, "points": [7, -7, 3, 3]}
    deals = [table(kind, **holder, indicated=1), table(kind, **holder)]
    put_byte(deals[0].trick_of[0], ACE, 13)
    put_byte(deals[1].trick_of[0], ACE, 2)
    probes = count_deals(joined(*deals), kind).means()
    assert (probes["partner/indicated"], probes["partner/trick"]) == (0.5, 2)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (rules("small_ships"), [*range(7, 14), "mis"]),
        (rules("noms"), [10, 11, 12, 13, "mis", "mis_a_vis"]),
        (rules("noms", mis_value=10), [10, 11, 12, 13, "mis"]),
    ],
)
def test_the_possible_contracts_follow_from_the_rules(kind: Rules, words: list[Any]) -> None:
    calls = {"mis": CALL_MIS, "mis_a_vis": CALL_MIS_A_VIS} | {number: CALL_ZERO + number for number in range(7, 14)}
    assert list(possible_contracts(kind)) == [calls[word] for word in words]


def test_nonesuch_by_hand() -> None:
    kind = rules("nonesuch")
    calls = [CALL_NONE, CALL_MOST, CALL_SOME, CALL_NONE]
    deal = table(kind, deal_size=9, call=calls, tricks=[0, 4, 4, 1])
    shares = {"call/none": 0.5, "call/some": 0.25, "call/most": 0.25}
    assert count_deals(deal, kind).means() == shares | {"none/made": 0.5, "most/made": 0.0}
    assert count_deals(table(kind, deal_size=9, call=calls, tricks=[0, 5, 3, 1]), kind).means()["most/made"] == 1
    three = rules("nonesuch", 3)
    half = table(three, deal_size=12, call=[CALL_MOST, CALL_SOME, CALL_MOST], tricks=[6, 1, 5])
    assert count_deals(half, three).means()["most/made"] == 0.5


def test_sniped_whist_by_hand() -> None:
    kind = rules("sniped_whist")
    deals = joined(table(kind, sniped=0b0110, tricks=[0, 6, 6, 1]), table(kind, sniped=0b1000, tricks=[2, 3, 3, 5]))
    assert count_deals(deals, kind).means() == {"sniped": 3 / 8, "sniped/shared": 0.5, "tricks/spread": 4.5}
    last = np.zeros((2, MAX_SEATS), bool)
    last[:, 3] = True
    assert count_deals(deals, kind, last).means()["sniped"] == 0.5


def statistics_of_records(records: list[Record]) -> Mapping[str, float]:
    """Compute some of the statistics of an auction game from its records."""
    declared = [record for record in records if record["declarer"] is not None]
    contracts = [[step["action"] for step in record["steps"] if step["action"] in BIDS][-1] for record in declared]
    won = [record["points"][record["declarer"]] > 0 for record in declared]
    nominated = [record for record in declared if record["nominated"] is not None]
    tricks = []
    for record in nominated:
        plays = [step["action"] for step in record["steps"] if step["phase"] == "play"]
        if record["partner"] is not None:
            tricks.append(1 + plays.index(record["nominated"]) // record["seats"])
    return {
        "numbers/made": float(np.mean([is_won for is_won, word in zip(won, contracts, strict=True) if word.isdigit()])),
        "solo": float(np.mean([record["nominated"] in record["hands"][record["declarer"]] for record in nominated])),
        "misere": sum(not word.isdigit() for word in contracts) / sum(record["seats"] for record in records),
        "partner/trick": float(np.mean(tricks)),
    }


@pytest.mark.parametrize("name", ["small_ships", "noms"])
def test_statistics_of_played_deals_are_those_of_their_records(name: str) -> None:
    records = list(itertools.islice(record_matches(name, matches=200, seed=5), 200))
    tally = Tally()
    for record in records:
        *_, end = replay(record)
        tables = new_tables(1)
        tables[0] = end.row
        tally += count_deals(tables, rules(name))
    expected = statistics_of_records(records)
    assert {key: tally.means()[key] for key in expected} == pytest.approx(expected)
