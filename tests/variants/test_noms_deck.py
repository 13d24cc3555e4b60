"""The deck of noms from deal to deal (rules 4.3)."""

import random
from itertools import product
from typing import Any

import pytest

from noms_env.core.actions import SCORED
from noms_env.core.state import HELD, get_byte
from tests.agreement import play_together
from tests.begin import begin
from tests.variants.table_help import WatchedTable, hands_of, play_out, table_with
from tests.variants.test_noms import GOLDEN_HANDS, GOLDEN_PLAY, golden_end

pytestmark = pytest.mark.uncompiled

PASSED = "pass pass pass pass"

# The golden deal gathered by seat 1, the next dealer: the piles of seats 2 (empty), 3, 0 and 1, newest trick on top.
GATHERED = """
QH TD 7S 5S  QC JC 5C 8C  KC TC 4C 7C  AC 9C 3C 6C  8S 4S TH JS  QS 6S 3S KS  KH 6H 9H 3H  AH 5H 8H 2H  9S 2S AS TS
7H JH 2C 4H
KD 7D 4D 9D  3D 8D AD 6D  2D JD QD 5D
"""
# Dealt without a cut from seat 2 on, by the places above.
NEXT_HANDS = [
    "8C KC TC QS 6S 3S 9S 2S AS TS 8D AD 6D",
    "4C 7C AC KS KH 6H 7H JH 2C 2D JD QD 5D",
    "QH TD 7S 5S 9C 3C 6C 9H 3H AH 4H KD 7D",
    "QC JC 5C 8S 4S TH JS 5H 8H 2H 4D 9D 3D",
]

# The fixture of 4.3 for four passes: sorted hands, dealer 3, cut 5; the hands of the double hand, by seat.
SORTED = [
    "QH 8H 4H AC TC 6C 2C JD 7D 3D KS 9S 5S",
    "JH 7H 3H KC 9C 5C AD TD 6D 2D QS 8S 4S",
    "AH TH 6H 2H QC 8C 4C KD 9D 5D JS 7S 3S",
    "KH 9H 5H JC 7C 3C QD 8D 4D AS TS 6S 2S",
]
DOUBLE_HAND = [
    "8H 6H 5H 4H 3H 2H AC KC QC JC TC 9C 7C",
    "8C 6C 5C 4C 3C 2C AD KD QD JD TD 8D 7D",
    "9D 6D 5D 4D 3D 2D AS KS QS JS TS 9S 8S",
    "AH KH QH JH TH 9H 7H 7S 6S 5S 4S 3S 2S",
]


def deck_of(table: WatchedTable) -> list[str]:
    """Return the deck after the cut."""
    return [table.word(card) for card in table.row.deck]


def test_4_3_fixture_of_cut_and_deal() -> None:
    # Deck 0..51 from the top, cut 17, dealer 3. All tricks are seat 0's with the oldest on top, so that the deck before the
    # cut is the order of play.
    table = begin(WatchedTable("noms", 4, {"trick_stack": "underneath", "cut": 17}), dealer=2)
    row = table.row
    row.order[:], row.trick_winners[:13], row.trick_number = range(52), 0, 13
    row.hands[:], row.phase = 0, SCORED
    table.next_deal()
    assert [int(card) for card in table.row.deck] == [*range(17, 52), *range(17)]
    hands = [
        [*range(17, 21), *range(30, 33), *range(43, 46), *range(4, 7)],
        [*range(21, 24), *range(33, 37), *range(46, 49), *range(7, 10)],
        [*range(24, 27), *range(37, 40), *range(49, 52), 0, *range(10, 13)],
        [*range(27, 30), *range(40, 43), *range(1, 4), *range(13, 17)],
    ]
    assert [int(hand) for hand in table.row.hands[:4]] == [sum(1 << card for card in hand) for hand in hands]


def test_4_3_fixture_of_four_passes() -> None:
    table = table_with("noms", SORTED, dealer=3, options={"cut": 5})
    assert hands_of(table) == [set(hand.split()) for hand in SORTED]
    table.play(PASSED).next_deal()
    deck = " ".join(SORTED).split()
    assert deck_of(table) == deck[5:] + deck[:5]
    assert (table.row.dealer, table.row.multiplier) == (0, 2)
    assert hands_of(table) == [set(hand.split()) for hand in DOUBLE_HAND]


def test_4_3_golden_deal_gathered_by_hand() -> None:
    table = after_golden(0)
    assert deck_of(table) == GATHERED.split()
    assert hands_of(table) == [set(hand.split()) for hand in NEXT_HANDS]


ORDERS = [*product(("play", "reverse"), ("on_top", "underneath"), ("left_first", "right_first"), (False, True))]


@pytest.mark.parametrize(("order", "stack", "piles", "early_stop"), ORDERS)
def test_4_3_the_referee_gathers_the_same_deck_in_every_order(order: str, stack: str, piles: str, early_stop: bool) -> None:
    options = {"trick_order": order, "trick_stack": stack, "pile_order": piles, "early_stop": early_stop, "cut": 0}
    assert play_together("noms", 4, {**options, "target": None}, seed=11, most_deals=6) == 6


def test_4_3_unplayed_cards_are_gathered_in_the_order_of_the_hand() -> None:
    # Seat 0 fails in a Mis with the first trick.
    table = table_with("noms", SORTED, dealer=3, options={"cut": 0, "early_stop": True}).play("mis pass pass pass  QH 3H 2H 5H")
    assert table.is_scored
    table.next_deal()
    deck = " ".join(deck_of(table))
    # The new dealer is seat 0: his pile comes last, with his unplayed cards above his trick.
    assert deck.startswith("5C 9C KC 2D 6D TD AD 7H JH 4S 8S QS ")
    assert deck.endswith(" 2C 6C TC AC 3D 7D JD 4H 8H 5S 9S KS QH 3H 2H 5H")


def packets_of(table: WatchedTable) -> list[list[str]]:
    deck = deck_of(table)
    return [deck[place : place + 4] for place in range(0, 52, 4)]


def after_golden(seed: int, **options: Any) -> WatchedTable:
    """Return the deal after the golden deal, without a cut."""
    table = golden_end(options={"cut": 0, **options})
    table.row.seed = seed
    table.next_deal()
    return table


def test_4_3_random_trick_order_shuffles_inside_the_packets() -> None:
    expected = packets_of(after_golden(0))
    decks = [packets_of(after_golden(seed, trick_order="random")) for seed in range(60)]
    for packets in decks:
        assert [set(packet) for packet in packets] == [set(packet) for packet in expected]
    places = [
        tuple(packet.index(card) for card in whole)
        for packets in decks
        for packet, whole in zip(packets, expected, strict=True)
    ]
    assert len(set(places)) == 24, "every order of four cards"
    assert len(set(places[:13])) > 6, "each packet has its own"


def test_4_3_random_pile_order_keeps_the_piles_whole() -> None:
    # In the golden deal seat 0 has trick 5, seat 1 tricks 8, 7, 1, seat 3 the rest, and seat 2 none.
    expected = packets_of(after_golden(0))
    piles = {"3": expected[:9], "0": expected[9:10], "1": expected[10:]}
    orders = set()
    for seed in range(60):
        packets = packets_of(after_golden(seed, pile_order="random"))
        order = sorted(piles, key=lambda pile: packets.index(piles[pile][0]))
        assert packets == [packet for pile in order for packet in piles[pile]]
        orders.add("".join(order))
    assert orders == {"013", "031", "103", "130", "301", "310"}


@pytest.mark.parametrize(("mode", "shuffled"), [("packets", False), ("packets_shuffled", True), ("single_shuffled", True)])
def test_4_3_a_shuffled_deck_does_not_depend_on_the_last_deal(mode: str, shuffled: bool) -> None:
    decks = []
    for words in (PASSED, "mis_a_vis", "pass mis_a_vis"):
        table = begin(WatchedTable("noms", 4, {"deal_mode": mode}, seed=8), dealer=0)
        table.play(words)
        play_out(table, random.Random(2))
        table.next_deal()
        decks.append(deck_of(table))
        assert table.row.multiplier == (2 if words == PASSED else 1), "a pass-out still doubles"
    assert (decks[0] == decks[1] == decks[2]) == shuffled


def previous_deal(table: WatchedTable) -> dict[str, int]:
    return {table.word(card): int(get_byte(table.row.previous, card)) for card in range(52)}


def test_8b_the_previous_deal_is_recorded_card_by_card() -> None:
    table = golden_end(options={"observe_previous_hand": True})
    assert not table.row.previous.any(), "not before the next deal"
    table.next_deal()
    by_seat = {card: seat for seat, hand in enumerate(GOLDEN_HANDS) for card in hand.split()}
    trick_of = {card: place // 4 for place, card in enumerate(GOLDEN_PLAY.split())}
    assert previous_deal(table) == {card: 1 + 4 * trick_of[card] + by_seat[card] for card in by_seat}
    table.play(PASSED).next_deal()
    assert set(previous_deal(table).values()) == {HELD, HELD + 1, HELD + 2, HELD + 3}


def test_8b_the_previous_deal_with_unplayed_and_undealt_cards() -> None:
    options = {"observe_previous_hand": True, "early_stop": True, "ranks": 4, "hand_size": 3}
    table = table_with("noms", ["AC KC AD", "QC JC QD", "AH KH QH", "AS KS QS"], dealer=3, stock="JD", options=options)
    table.play("mis pass pass pass  AC JC QH QS").next_deal()
    previous = previous_deal(table)
    assert [previous[card] for card in ("AC", "JC", "QH", "QS")] == [1, 2, 3, 4]
    assert [previous[card] for card in ("KC", "QC", "KH", "KS")] == [HELD, HELD + 1, HELD + 2, HELD + 3]
    assert [previous[card] for card in ("JD", "KD", "JH", "JS", "2C")] == [0, 0, 0, 0, 0]
