"""Noms, rules 4 without the deck's way from deal to deal (with the auction of 0.3 and the short decks of 8b)."""

import random
from typing import Any

import numpy as np
import pytest

from noms_env.observation.layout import START
from noms_env.table import IllegalActionError, Table
from tests.agreement import play_together
from tests.variants.table_help import (
    dealt,
    legal,
    members,
    play,
    play_out,
    points,
    roles,
    set_tricks_and_settle,
    sides_seen_by,
    table_with,
    totals,
    tricks,
)
from tests.variants.table_help import started as started_game

pytestmark = pytest.mark.uncompiled

GAME = "noms"

# The golden deal with 52 cards. Dealer 0, so seat 1 is eldest.
GOLDEN_HANDS = [
    "JC TC 9C JD TD 9D 8D JH 6H 5H QS JS TS",
    "5C 4C 3C 2C AD KD QD 9H 8H 9S 8S 7S 6S",
    "8C 7C 6C 7D 6D 5D 4H 3H 2H 5S 4S 3S 2S",
    "AC KC QC 4D 3D 2D AH KH QH TH 7H AS KS",
]
# Seats 3 and 0 overbid one another. Seat 3 declares 12 with hearts, nominates AD, which seat 1 holds, and leads.
GOLDEN_AUCTION = "pass pass 10 11  pass pass 12 pass  pass pass"
#  1 2D: the partner takes it with QD over JD and keeps his ace.        1 wins
#  2 9S: AS.                                                            3 wins
#  3, 4 AH, KH.                                                         3 wins
#  5 7H is too small: JH of seat 0. Seat 1 has no more hearts.          0 wins
#  6 QS: KS.                                                            3 wins
#  7 3D: AD, and all see who the partner is.                            1 wins
#  8 KD holds.                                                          1 wins
#  9 8S: seat 3 is void and ruffs with TH.                              3 wins
# 10-13 AC, KC, QC, and QH as the last trump.                           3 wins
GOLDEN_TRICKS = [
    "2D JD QD 5D",
    "9S 2S AS TS",
    "AH 5H 8H 2H",
    "KH 6H 9H 3H",
    "7H JH 2C 4H",
    "QS 6S 3S KS",
    "3D 8D AD 6D",
    "KD 7D 4D 9D",
    "8S 4S TH JS",
    "AC 9C 3C 6C",
    "KC TC 4C 7C",
    "QC JC 5C 8C",
    "QH TD 7S 5S",
]
GOLDEN_WINNERS = [1, 3, 3, 3, 0, 3, 1, 1, 3, 3, 3, 3, 3]
# 9 tricks and 3 make the 12: both score 12, the others nothing.
GOLDEN_POINTS = [0, 12, 0, 12]
GOLDEN_PLAY = " ".join(GOLDEN_TRICKS)
ANNOUNCED = "H AD"

# The golden Mis a Vis: J Q K A of four suits, four cards each, a double hand. Dealer 3. Mis counts 4, Mis a Vis 8, doubled 16.
SHORT: dict[str, Any] = {"ranks": 4}
MIS_HANDS = ["QC KD QH AS", "KC AD KH KS", "AC JD QD JH", "JC AH QS JS"]
# Seat 2 leads QD; seat 3 is void and throws AH; AD wins. From now on AC JD JH lie open.
# KS: the bidder throws AC away; AS wins. QC: he has no club left, KC wins. KH: JH is under it. No trick: 16 for him.
MIS_MADE = "QD AH KD AD  KS AC JS AS  QC KC JD JC  KH JH QS QH"
# He throws JH instead, and QC forces AC out, which wins; then JD is the only diamond left. Two tricks: 16 for each other.
MIS_FAILED = "QD AH KD AD  KS JH JS AS  QC KC AC JC  JD QS QH KH"


def golden(words: str = "", before: Any = None, **options: Any) -> Table:
    return play(table_with(GAME, GOLDEN_HANDS, dealer=0, options=options, totals=before), words)


def mis(words: str = "", multiplier: int = 2, **options: Any) -> Table:
    return play(table_with(GAME, MIS_HANDS, dealer=3, options={**SHORT, **options}, multiplier=multiplier), words)


def started(seats: int = 4, calls: str = "", **start: Any) -> Table:
    return started_game(GAME, seats, calls, **start)


def settled(
    taken: list[int], contract: str, declarer: int, partner: int = -1, multiplier: int = 1, **options: Any
) -> list[float]:
    table = started(len(taken), **options)
    return set_tricks_and_settle(table, taken, contract=contract, declarer=declarer, partner=partner, multiplier=multiplier)


def test_4_1_golden_deal_a_bid_made_with_a_hidden_partner() -> None:
    table = golden(GOLDEN_AUCTION)
    assert (table.row.declarer, table.row.seat, table.phase) == (3, 3, "trump")
    play(table, ANNOUNCED)
    assert (table.trump_word(), table.row.partner, table.row.revealed) == ("H", 1, -1)
    assert (table.phase, table.row.seat) == ("play", 3)
    for trick in GOLDEN_TRICKS[:6]:
        play(table, trick)
    assert table.row.revealed == -1
    play(table, "3D 8D AD")
    assert table.row.revealed == 1, "in the middle of the trick"
    play(table, "6D " + " ".join(GOLDEN_TRICKS[7:]))
    assert [int(seat) for seat in table.row.trick_winners[:13]] == GOLDEN_WINNERS
    assert tricks(table) == [1, 3, 0, 9]
    assert points(table) == totals(table) == GOLDEN_POINTS


@pytest.mark.parametrize(
    ("cards", "taken", "expected"), [(MIS_MADE, [1, 3, 0, 0], [0, 0, 16, 0]), (MIS_FAILED, [1, 1, 2, 0], [16, 16, 0, 16])]
)
def test_4_1_golden_deal_a_mis_a_vis_in_a_double_hand(cards: str, taken: list[int], expected: list[float]) -> None:
    table = mis("pass pass mis_a_vis")
    assert (table.phase, table.row.seat, table.trump_word()) == ("play", 2, "NT")
    play(table, cards)
    assert tricks(table) == taken
    assert points(table) == expected


def test_4_1_four_opening_passes_end_the_deal_without_points() -> None:
    table = started(calls="pass pass pass pass")
    assert table.is_scored
    assert (table.row.n_calls, table.row.trick_number, table.row.declarer) == (4, 0, -1)
    assert points(table) == totals(table) == [0, 0, 0, 0]
    assert not table.is_over


def test_4_1_bidder_names_trump_then_any_card_then_leads_any_card() -> None:
    table = golden(GOLDEN_AUCTION)
    assert legal(table) == {"C", "D", "H", "S", "NT"}
    play(table, "NT")
    assert (table.phase, table.row.seat, table.trump_word()) == ("nominate", 3, "NT")
    assert len(legal(table)) == 52, "cards of his own too"
    play(table, "AD")
    assert (table.phase, table.row.seat) == ("play", 3)
    assert legal(table) == dealt(table)[3], "the suit of the nominated card too"


def test_4_5_roles() -> None:
    table = golden(GOLDEN_AUCTION)
    assert roles(table) == ["none", "none", "none", "declarer"]
    assert roles(play(table, ANNOUNCED)) == ["opponent", "partner", "opponent", "declarer"]


def test_4_1_own_card_nominated_means_alone_in_secret() -> None:
    table = golden(f"{GOLDEN_AUCTION} H TH")
    assert roles(table) == ["opponent", "opponent", "opponent", "declarer_alone"]
    assert (table.row.partner, table.row.revealed, table.row.alone) == (-1, -1, 0)
    before, after = GOLDEN_PLAY.split("TH")
    play(table, before)
    assert table.row.revealed == -1
    play(table, "TH")
    assert table.row.revealed == 3
    play(table, after)
    # 9 tricks of his own do not make 12: each of the three opponents scores 12.
    assert points(table) == [12, 12, 12, 0]


@pytest.mark.parametrize("bid", ["mis", "mis_a_vis"])
def test_4_1_mis_is_played_alone_without_trumps_and_everybody_knows(bid: str) -> None:
    table = mis(f"pass pass {bid}" + (" pass pass pass" if bid == "mis" else ""))
    assert (table.phase, table.row.seat, table.trump_word(), table.row.nominated) == ("play", 2, "NT", -1)
    assert roles(table) == ["opponent", "opponent", "declarer_alone", "opponent"]
    assert table.row.alone == 1


def test_4_1_mis_a_vis_lies_open_from_the_end_of_trick_1_to_the_end_of_the_hand() -> None:
    table = mis("pass pass mis_a_vis")
    seen = []
    for card in MIS_MADE.split():
        seen.append(int(table.row.exposed))
        play(table, card)
    assert seen == [-1] * 4 + [2] * 12
    table.next_deal()
    assert table.row.exposed == -1


def test_4_1_mis_is_never_laid_open() -> None:
    assert mis(f"pass pass mis pass pass pass {MIS_MADE[:12]}").row.exposed == -1


def test_4_card_in_the_stock_leaves_the_bidder_alone_without_knowing() -> None:
    # 8b: a hand size below what the deck has makes a stock; rules 3.3 say what a card in it means.
    hands = [hand.split()[:3] for hand in MIS_HANDS]
    table = play(table_with(GAME, hands, dealer=3, stock="JS", options={**SHORT, "hand_size": 3}), "3 pass pass pass C JS")
    assert roles(table) == ["declarer", "opponent", "opponent", "opponent"]
    assert (table.row.partner, table.row.revealed) == (-1, -1)


RANKS = set("23456789TJQKA")
IMPLICIT: dict[str, Any] = {"implicit_announcements": True}


@pytest.mark.parametrize(
    ("options", "unsaid"), [({}, False), (IMPLICIT, True), ({**IMPLICIT, "first_lead": "left_of_dealer"}, False)]
)
def test_4_2_trump_may_be_left_unsaid_by_a_bidder_who_leads(options: dict[str, Any], unsaid: bool) -> None:
    assert ("unsaid" in legal(golden(GOLDEN_AUCTION, **options))) == unsaid


@pytest.mark.parametrize(
    ("trump", "options", "ranks"),
    [
        ("H", {}, set()),
        ("H", IMPLICIT, RANKS),
        ("unsaid", IMPLICIT, RANKS),
        ("NT", IMPLICIT, set()),
        ("H", {**IMPLICIT, "first_lead": "left_of_dealer"}, RANKS),
    ],
)
def test_4_2_bare_ranks_may_be_nominated_unless_there_is_no_trump(trump: str, options: dict[str, Any], ranks: set[str]) -> None:
    table = golden(f"{GOLDEN_AUCTION} {trump}", **options)
    assert {word for word in legal(table) if len(word) == 1} == ranks
    assert len({word for word in legal(table) if len(word) == 2}) == 52, "every card too"


def test_4_2_bare_ranks_of_a_short_deck() -> None:
    table = mis("4 pass pass pass", **IMPLICIT)
    assert legal(table) == {"C", "D", "H", "S", "NT", "unsaid"}
    play(table, "S")
    assert {word for word in legal(table) if len(word) == 1} == {"J", "Q", "K", "A"}
    assert started(3, "6 pass pass unsaid", ranks=7, suits=3, **IMPLICIT).phase == "nominate"


@pytest.mark.parametrize(
    ("words", "nominated", "declarer", "partner"),
    [("D A", "AD", "declarer", 1), ("C J", "JC", "declarer", 0), ("H K", "KH", "declarer_alone", -1)],
)
def test_4_2_a_bare_rank_is_of_the_trump_suit(words: str, nominated: str, declarer: str, partner: int) -> None:
    table = golden(f"{GOLDEN_AUCTION} {words}", **IMPLICIT)
    assert (table.phase, table.word(table.row.nominated), table.row.partner) == ("play", nominated, partner)
    assert roles(table)[3] == declarer
    assert table.row.revealed == -1


@pytest.mark.parametrize(
    ("rank", "lead", "nominated", "partner", "revealed", "declarer"),
    [
        ("A", "2D", "AD", 1, -1, "declarer"),
        ("J", "QC", "JC", 0, -1, "declarer"),
        ("4", "2D", "4D", -1, -1, "declarer_alone"),  # another card of his own
        ("2", "2D", "2D", -1, 3, "declarer_alone"),  # the card just led: public at once
    ],
)
def test_4_2_unsaid_trump_and_bare_rank_are_fixed_by_the_lead(
    rank: str, lead: str, nominated: str, partner: int, revealed: int, declarer: str
) -> None:
    table = golden(f"{GOLDEN_AUCTION} unsaid {rank}", **IMPLICIT)
    assert (table.phase, table.row.seat, table.trump_word()) == ("play", 3, None)
    assert (table.row.nominated, table.row.partner) == (-1, -1)
    assert roles(table) == ["none", "none", "none", "declarer"], "nobody knows yet"
    assert legal(table) == dealt(table)[3]
    play(table, lead)
    assert (table.trump_word(), table.word(table.row.nominated)) == (lead[1], nominated)
    assert (table.row.partner, table.row.revealed) == (partner, revealed)
    expected = ["opponent", "opponent", "opponent", declarer]
    if partner >= 0:
        expected[partner] = "partner"
    assert roles(table) == expected


def test_4_2_unsaid_trump_with_a_whole_card() -> None:
    table = golden(f"{GOLDEN_AUCTION} unsaid AD", **IMPLICIT)
    assert roles(table) == ["opponent", "partner", "opponent", "declarer"]
    assert table.trump_word() is None
    play(table, "AS")
    assert (table.trump_word(), table.row.partner, table.row.revealed) == ("S", 1, -1)


def test_4_2_unsaid_trump_and_the_whole_card_just_led() -> None:
    table = golden(f"{GOLDEN_AUCTION} unsaid AS AS", **IMPLICIT)
    assert (table.trump_word(), table.row.partner, table.row.revealed) == ("S", -1, 3)


def test_4_2_the_trump_that_was_left_unsaid_wins_tricks() -> None:
    # With AH led unsaid the golden deal goes on with hearts: TH ruffs 8S.
    order = [GOLDEN_TRICKS[2], "2D JD QD 5D", "9S 2S AS TS", *GOLDEN_TRICKS[3:]]
    table = golden(f"{GOLDEN_AUCTION} unsaid AD {' '.join(order)}", **IMPLICIT)
    assert table.row.trick_winners[8] == 3
    assert points(table) == GOLDEN_POINTS


OPEN: dict[str, Any] = {"open_partner": True}


def test_open_partner_shows_all_seats_the_holder_at_the_nomination() -> None:
    table = golden(f"{GOLDEN_AUCTION} H", **OPEN)
    assert [sides_seen_by(table, seat) for seat in range(4)] == [
        (role, False, [], {3: 12}) for role in ("none", "none", "none", "declarer")
    ]
    play(table, "AD")
    assert (table.row.partner, table.row.revealed, table.row.alone) == (1, 1, 0)
    assert [sides_seen_by(table, seat) for seat in range(4)] == [
        (role, False, [1], {1: 12, 3: 12}) for role in ("opponent", "partner", "opponent", "declarer")
    ]
    play(table, GOLDEN_TRICKS[0])
    assert [sides_seen_by(table, seat)[1:] for seat in range(4)] == [(False, [1], {1: 11, 3: 11})] * 4
    play(table, " ".join(GOLDEN_TRICKS[1:]))
    assert points(table) == GOLDEN_POINTS


def test_open_partner_a_card_of_the_bidder() -> None:
    table = golden(f"{GOLDEN_AUCTION} H TH", **OPEN)
    assert (table.row.partner, table.row.revealed, table.row.alone) == (-1, 3, 0), "as when he plays it"
    assert [sides_seen_by(table, seat) for seat in range(4)] == [
        (role, True, [3], {3: 12}) for role in ("opponent", "opponent", "opponent", "declarer_alone")
    ]
    assert points(play(table, GOLDEN_PLAY)) == [12, 12, 12, 0]


def test_open_partner_a_card_in_the_stock() -> None:
    hands, options = [hand.split()[:3] for hand in MIS_HANDS], {**SHORT, "hand_size": 3, **OPEN}
    table = play(table_with(GAME, hands, dealer=3, stock="JS", options=options), "3 pass pass pass C JS")
    assert (table.row.partner, table.row.revealed, table.row.alone) == (-1, -1, 1)
    assert [sides_seen_by(table, seat) for seat in range(4)] == [
        (role, True, [], {0: 3}) for role in ("declarer_alone", "opponent", "opponent", "opponent")
    ]


@pytest.mark.parametrize(
    ("words", "revealed"), [("D A", 1), ("C J", 0), ("H K", 3), ("unsaid AD", 1), ("unsaid 2D", 3), ("NT JD", 0)]
)
def test_open_partner_with_implicit_announcements(words: str, revealed: int) -> None:
    table = golden(f"{GOLDEN_AUCTION} {words}", **IMPLICIT, **OPEN)
    assert (table.phase, table.row.n_table, table.row.revealed) == ("play", 0, revealed)
    for seat in range(4):
        assert sides_seen_by(table, seat).shown == [revealed]
        assert sides_seen_by(table, seat).alone == (revealed == 3)


@pytest.mark.parametrize(("rank", "lead", "revealed"), [("A", "2D", 1), ("J", "QC", 0), ("4", "2D", 3), ("2", "2D", 3)])
def test_open_partner_a_rank_without_a_suit_shows_its_holder_at_the_first_lead(rank: str, lead: str, revealed: int) -> None:
    table = golden(f"{GOLDEN_AUCTION} unsaid {rank}", **IMPLICIT, **OPEN)
    assert (table.row.nominated, table.row.revealed, table.row.alone) == (-1, -1, 0)
    assert [sides_seen_by(table, seat) for seat in range(4)] == [
        (role, False, [], {3: 12}) for role in ("none", "none", "none", "declarer")
    ]
    play(table, lead)
    assert (table.row.n_table, table.row.revealed) == (1, revealed)
    for seat in range(4):
        assert sides_seen_by(table, seat).shown == [revealed]
        assert sides_seen_by(table, seat).wanted == dict.fromkeys({3, revealed}, 12)


def test_open_partner_a_rank_without_a_suit_whose_card_is_in_the_stock() -> None:
    hands, options = [hand.split()[:3] for hand in MIS_HANDS], {**SHORT, "hand_size": 3, **IMPLICIT, **OPEN}
    table = play(table_with(GAME, hands, dealer=3, stock="JH", options=options), "3 pass pass pass unsaid J")
    assert table.row.alone == 0
    play(table, "QH")
    assert (table.word(table.row.nominated), table.row.revealed, table.row.alone) == ("JH", -1, 1)
    assert sides_seen_by(table, 0) == ("declarer_alone", True, [], {0: 3})


@pytest.mark.parametrize("bid", ["mis", "mis_a_vis"])
def test_open_partner_changes_nothing_in_mis(bid: str) -> None:
    calls = f"pass pass {bid}" + (" pass pass pass" if bid == "mis" else "")
    tables = [mis(calls, **given) for given in ({}, OPEN)]
    for seat in range(4):
        seen, open_seen = (table.view(seat)[0].astype(int) for table in tables)
        assert np.flatnonzero(seen != open_seen).tolist() == [START["choices"] + 57], "the byte of the option"


@pytest.mark.parametrize("given", [{}, IMPLICIT, {"early_stop": True}, {"first_lead": "left_of_dealer"}])
def test_the_referee_agrees_with_open_partner(given: dict[str, Any]) -> None:
    for seats in (2, 3, 4):
        options = {"ranks": 5, "hand_size": 3, "min_bid": 1, "target": None, "max_deals": 12, **given, **OPEN}
        assert play_together(GAME, seats, options, seed=seats) == 12


def test_4_2_numbers_only() -> None:
    assert mis("mis pass pass pass", **IMPLICIT).phase == "play"


@pytest.mark.parametrize(
    ("contract", "declarer", "partner", "taken", "multiplier", "options", "expected"),
    [
        # The examples of 4.1, in its order.
        ("10", 0, 2, [6, 1, 5, 1], 1, {}, [10, 0, 10, 0]),
        ("10", 0, 2, [5, 2, 4, 2], 1, {}, [0, 10, 0, 10]),
        ("12", 1, -1, [0, 12, 1, 0], 1, {}, [0, 12, 0, 0]),
        ("12", 1, -1, [1, 11, 1, 0], 1, {}, [12, 0, 12, 12]),
        ("13", 3, 0, [5, 0, 0, 8], 1, {}, [13, 0, 0, 13]),
        ("mis", 2, -1, [4, 5, 0, 4], 1, {}, [0, 0, 13, 0]),
        ("mis", 2, -1, [4, 5, 1, 3], 1, {}, [13, 13, 0, 13]),
        ("mis_a_vis", 2, -1, [4, 5, 0, 4], 1, {}, [0, 0, 26, 0]),
        ("mis_a_vis", 2, -1, [4, 4, 3, 2], 1, {}, [26, 26, 0, 26]),
        # Overtricks are worth nothing, a slam that was not bid neither.
        ("10", 0, 2, [7, 0, 6, 0], 1, {}, [10, 0, 10, 0]),
        ("10", 0, 2, [7, 1, 5, 0], 1, {}, [10, 0, 10, 0]),
        # The examples of 4.1 for a double hand, and of 4.4.
        ("11", 0, 3, [7, 1, 0, 5], 2, {}, [22, 0, 0, 22]),
        ("mis_a_vis", 0, -1, [1, 4, 4, 4], 2, {}, [0, 52, 52, 52]),
        ("10", 0, 2, [7, 0, 6, 0], 1, {"unbid_slam_loses": True}, [0, 26, 0, 26]),
        ("11", 0, -1, [13, 0, 0, 0], 2, {"unbid_slam_loses": True}, [0, 52, 52, 52]),
        ("13", 0, 2, [7, 0, 6, 0], 1, {"unbid_slam_loses": True}, [13, 0, 13, 0]),
        ("7", 0, 2, [7, 0, 6, 0], 1, {"unbid_slam_loses": True, "min_bid": 7}, [0, 26, 0, 26]),
        # Lost in the usual way, and made with one trick lost: the option changes nothing.
        ("10", 0, 2, [5, 2, 4, 2], 1, {"unbid_slam_loses": True}, [0, 10, 0, 10]),
        ("12", 0, 2, [7, 1, 5, 0], 1, {"unbid_slam_loses": True}, [12, 0, 12, 0]),
        ("mis", 1, -1, [13, 0, 0, 0], 1, {"unbid_slam_loses": True}, [0, 13, 0, 0]),
        ("mis", 1, -1, [0, 13, 0, 0], 1, {"unbid_slam_loses": True}, [13, 0, 13, 13]),
        ("mis", 1, -1, [5, 0, 4, 4], 1, {"mis_value": 10}, [0, 10, 0, 0]),
        ("mis", 1, -1, [4, 3, 3, 3], 1, {"mis_value": 10}, [0, -13, 0, 0]),
        ("mis", 1, -1, [4, 3, 3, 3], 2, {"mis_value": 10}, [0, -26, 0, 0]),
        ("mis", 1, -1, [5, 0, 4, 4], 2, {"mis_value": 10}, [0, 20, 0, 0]),
        ("11", 1, 0, [5, 5, 0, 3], 1, {"mis_value": 10}, [0, 0, 11, 11]),
        ("mis", 1, -1, [4, 3, 3, 3], 1, {"mis_value": 10, "keep_mis_a_vis": True}, [0, -13, 0, 0]),
        ("mis_a_vis", 1, -1, [5, 0, 4, 4], 1, {"mis_value": 10, "keep_mis_a_vis": True}, [0, 26, 0, 0]),
        ("mis_a_vis", 1, -1, [4, 1, 4, 4], 1, {"mis_value": 10, "keep_mis_a_vis": True}, [26, 0, 26, 26]),
        ("7", 0, 2, [4, 3, 3, 3], 1, {"min_bid": 7}, [7, 0, 7, 0]),
        ("10", 0, 2, [6, 1, 5, 1], 64, {"double_repeat": "quadruple"}, [640, 0, 640, 0]),
        ("mis", 1, -1, [4, 3, 3, 3], 2**199, {"double_repeat": "quadruple", "mis_value": 10}, [0, -13 * 2**199, 0, 0]),
        # Short decks (8b): Mis is worth the hand size, Mis a Vis and the unbid slam twice that.
        ("mis", 1, -1, [2, 0, 1, 1], 1, SHORT, [0, 4, 0, 0]),
        ("mis_a_vis", 1, -1, [1, 1, 1, 1], 1, SHORT, [8, 0, 8, 8]),
        ("3", 1, 2, [0, 3, 1, 0], 1, {**SHORT, "unbid_slam_loses": True, "min_bid": 3}, [8, 0, 0, 8]),
        ("4", 1, 2, [0, 3, 1, 0], 1, {**SHORT, "unbid_slam_loses": True}, [0, 4, 4, 0]),
        ("mis", 0, -1, [5, 6], 1, {"ranks": 11, "suits": 2, "mis_value": 10}, [-15, 0]),
    ],
)
def test_4_1_4_4_scoring_examples(
    contract: str,
    declarer: int,
    partner: int,
    taken: list[int],
    multiplier: int,
    options: dict[str, Any],
    expected: list[float],
) -> None:
    assert settled(taken, contract, declarer, partner, multiplier, **options) == expected
    if multiplier == 1:
        assert settled(taken, contract, declarer, partner, 2, **options) == [2 * number for number in expected]


@pytest.mark.parametrize(("first_lead", "leader"), [("bidder", 2), ("left_of_dealer", 0)])
@pytest.mark.parametrize("calls", ["pass pass 4 pass pass pass D AD", "pass pass mis pass pass pass", "pass pass mis_a_vis"])
def test_4_4_first_lead(calls: str, first_lead: str, leader: int) -> None:
    table = mis(calls, first_lead=first_lead)
    assert (table.phase, table.row.seat, table.row.leader) == ("play", leader, leader)
    assert legal(table) == dealt(table)[leader]


def test_4_4_mis_a_vis_lies_open_after_trick_1_whoever_leads() -> None:
    table = mis("pass pass mis_a_vis  QC KC AC", first_lead="left_of_dealer")
    assert table.row.exposed == -1
    assert play(table, "JC").row.exposed == 2


CONTRACTS = [
    *[(bid, {}) for bid in ("10", "13", "mis", "mis_a_vis")],
    *[(bid, {"min_bid": 7}) for bid in ("7", "8", "9")],
    *[(bid, {"min_bid": 7, "unbid_slam_loses": True}) for bid in ("7", "12", "13", "mis")],
    *[(bid, {"mis_value": 10}) for bid in ("mis", "13")],
    ("mis_a_vis", {"mis_value": 10, "keep_mis_a_vis": True}),
    *[(bid, {**SHORT, "min_bid": 1}) for bid in ("1", "3", "4", "mis", "mis_a_vis")],
    *[(bid, {**SHORT, "min_bid": 1, "unbid_slam_loses": True}) for bid in ("1", "2", "3")],
    ("2", {"ranks": 5, "suits": 3, "hand_size": 3, "min_bid": 1, "unbid_slam_loses": True}),
]


@pytest.mark.parametrize(("contract", "options"), CONTRACTS)
def test_8b_early_stop_ends_the_deal_when_its_points_are_decided(contract: str, options: dict[str, Any]) -> None:
    """The referee, who watches, stops when no later trick can change the points; played on, the deal has the same points."""
    for seed in range(4):
        table = started(calls=contract, seed=seed, early_stop=True, **options)
        whole = started(calls=contract, seed=seed, **options)
        rng = random.Random(seed)
        while not table.is_scored:
            action = table.number("pass") if table.phase == "call" else rng.choice(table.legal_actions())
            table.step(action)
            whole.step(action)
        play_out(whole, rng)
        assert whole.row.trick_number == table.row.deal_size
        assert points(table) == points(whole)


@pytest.mark.parametrize(
    ("contract", "options", "tricks_played"),
    [
        ("10", {}, 10),
        ("13", {}, 13),
        ("10", {"unbid_slam_loses": True}, 13),  # the slam threatens to the end
        ("mis", {}, 1),
        ("mis_a_vis", {}, 1),
        ("mis", {"mis_value": 10}, 13),  # the number of tricks counts
    ],
)
def test_8b_early_stop_with_a_hand_that_takes_every_trick(contract: str, options: dict[str, Any], tricks_played: int) -> None:
    hearts = [rank + "H" for rank in "AKQJT98765432"]
    table = table_with(GAME, [hearts], seats=4, dealer=3, options={"early_stop": True, **options})
    play(table, contract)
    while not table.is_scored:
        table.step(table.number("AH") if table.phase == "nominate" else choice_of(table))
    assert (table.row.trick_number, tricks(table)[0]) == (tricks_played, tricks_played)


def choice_of(table: Table) -> int:
    """Pass in the auction, hearts as trumps, and any card."""
    words = {"call": "pass", "trump": "H"}
    return table.number(words[table.phase]) if table.phase in words else table.legal_actions()[0]


def test_8b_early_stop_of_a_lost_bid() -> None:
    # Seat 3 plays alone and may lose one trick of 13; QD and KD of seat 1 are two.
    table = golden("pass pass 12 pass pass pass C KS  KS QS 9S 2S  2D JD QD 5D  KD 6D 3D", early_stop=True)
    assert not table.is_scored
    play(table, "8D")
    assert (table.is_scored, table.row.trick_number, points(table)) == (True, 3, [12, 12, 12, 0])


def finished(before: list[float], **options: Any) -> Table:
    """The golden deal, 12 points for seats 1 and 3, in a match that stands so."""
    return golden(f"{GOLDEN_AUCTION} {ANNOUNCED} {GOLDEN_PLAY}", before, **options)


def test_8b_passed_out_deals_count_towards_max_deals() -> None:
    table = started(max_deals=3)
    for deal in range(3):
        assert (table.row.deal, table.is_over) == (deal, False)
        play(table, "pass pass pass pass")
        table.next_deal()
    assert (table.row.deal, table.is_over, bool(table.row.truncated)) == (2, True, True)
    assert members(table.row.winners) == [0, 1, 2, 3]


def test_4_1_the_dealer_moves_left_after_a_played_deal() -> None:
    table = finished([1, 2, 3, 4])
    table.next_deal()
    assert (table.row.deal, table.row.dealer, table.row.seat, table.phase) == (1, 1, 2, "call")
    assert totals(table) == [1, 14, 3, 16]
    assert (table.row.multiplier, points(table), tricks(table)) == (1, [0, 0, 0, 0], [0, 0, 0, 0])


@pytest.mark.parametrize(
    ("options", "multipliers"),
    [
        ({}, [1, 2, 2, 2]),
        ({"double_repeat": "single"}, [1, 2, 1, 2]),
        ({"double_repeat": "quadruple"}, [2**deal for deal in range(100)]),
        ({**SHORT, "double_repeat": "quadruple"}, [1, 2, 4]),
        ({"deal_mode": "packets_shuffled"}, [1, 2, 2]),
        ({"min_bid": 7, "dealer_forced": False}, [1, 2, 2]),
    ],
)
def test_4_3_double_hands_after_pass_outs(options: dict[str, Any], multipliers: list[int]) -> None:
    table = started(target=None, **options)
    for deal, multiplier in enumerate(multipliers):
        assert (table.row.multiplier, table.row.dealer, table.row.deal) == (multiplier, (3 + deal) % 4, deal)
        play(table, "pass pass pass pass")
        table.next_deal()
    # A deal that is played scores by its multiplier, and the next is a usual one.
    factor = int(table.row.multiplier)
    play(table, "mis_a_vis")
    bidder = int(table.row.declarer)
    play_out(table, random.Random(1))
    value = 2 * int(table.row.deal_size) * factor
    made = tricks(table)[bidder] == 0
    assert points(table) == [value if (seat == bidder) == made else 0 for seat in range(4)]
    table.next_deal()
    assert table.row.multiplier == 1


def test_8b_what_a_seat_sees_of_a_deal_behind_many_pass_outs() -> None:
    """The multiplier up to 64, above that 58 + its doublings; a total that no byte holds stays the highest of all."""
    table = started(double_repeat="quadruple", target=None)
    for doublings in range(200):
        seen = int(table.view(0)[0][START["contract"] + 3])
        assert seen == (2**doublings if doublings <= 6 else min(58 + doublings, 255))
        play(table, "pass pass pass pass")
        table.next_deal()
    assert table.is_over, "after max_deals"
    table.start(multiplier=2**199)
    play(table, "mis_a_vis")
    play_out(table, random.Random(1))
    totals_seen = table.view(0)[0][START["seats"] :].reshape(-1, 8)[:4, :2]
    assert sorted(set(map(tuple, totals_seen.tolist()))) == [(64, 64), (255, 255)]


def test_4_1_follow_suit() -> None:
    table = golden(f"{GOLDEN_AUCTION} {ANNOUNCED} 2D")
    assert legal(table) == {"JD", "TD", "9D", "8D"}
    with pytest.raises(IllegalActionError, match=r"\(JH\): it must follow D\. Legal in the phase play are 8D, 9D, TD, JD"):
        table.act("JH")
