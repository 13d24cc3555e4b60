"""Noms (rules 4 and 8b), except its deck."""

import random
from typing import Any

import pytest

from noms_env.observation.layout import START
from tests.variants.table_help import WatchedTable, new_deal, play_out, set_tricks_and_settle, table_with

pytestmark = pytest.mark.uncompiled

GAME = "noms"
Options = dict[str, Any]

# The golden deal with 52 cards. Dealer 0, so seat 1 is eldest.
GOLDEN_HANDS = [
    "JC TC 9C JD TD 9D 8D JH 6H 5H QS JS TS",
    "5C 4C 3C 2C AD KD QD 9H 8H 9S 8S 7S 6S",
    "8C 7C 6C 7D 6D 5D 4H 3H 2H 5S 4S 3S 2S",
    "AC KC QC 4D 3D 2D AH KH QH TH 7H AS KS",
]
# Seats 3 and 0 overbid one another. Seat 3 declares 12 with hearts, nominates AD, which seat 1 holds, and leads.
GOLDEN_AUCTION = "pass pass 10 11  pass pass 12 pass  pass pass"
#  1 2D: the partner takes it with QD over JD and saves his ace.        1 wins
#  2 9S: AS.                                                            3 wins
#  3, 4 AH, KH.                                                         3 wins
#  5 7H is too small: JH of seat 0. Seat 1 has no more hearts.          0 wins
#  6 QS: KS.                                                            3 wins
#  7 3D: AD, and all see who the partner is.                            1 wins
#  8 KD holds.                                                          1 wins
#  9 8S: seat 3 is void and ruffs with TH.                              3 wins
# 10-13 AC, KC, QC, and QH as the last trump.                           3 wins
GOLDEN_PLAY = """
2D JD QD 5D  9S 2S AS TS  AH 5H 8H 2H  KH 6H 9H 3H  7H JH 2C 4H  QS 6S 3S KS  3D 8D AD 6D
KD 7D 4D 9D  8S 4S TH JS  AC 9C 3C 6C  KC TC 4C 7C  QC JC 5C 8C  QH TD 7S 5S
"""
GOLDEN_WINNERS = [1, 3, 3, 3, 0, 3, 1, 1, 3, 3, 3, 3, 3]
# 9 tricks and 3 make the 12: both score 12, the others nothing.
GOLDEN_POINTS = [0, 12, 0, 12]
ANNOUNCED = "H AD"

# The golden Mis a Vis: J Q K A of four suits, four cards each, a double hand. Dealer 3. Mis counts 4, Mis a Vis 8, doubled 16.
SHORT: Options = {"ranks": 4}
MIS_HANDS = ["QC KD QH AS", "KC AD KH KS", "AC JD QD JH", "JC AH QS JS"]
# Seat 2 leads QD; seat 3 is void and throws AH; AD wins. From now on AC JD JH lie open.
# KS: the bidder throws AC away; AS wins. QC: he has no club left, KC wins. KH: JH is under it. No trick: 16 for him.
MIS_MADE = "QD AH KD AD  KS AC JS AS  QC KC JD JC  KH JH QS QH"
# He throws JH instead, and QC forces AC out, which wins; then JD is the only diamond left. Two tricks: 16 for each other.
MIS_FAILED = "QD AH KD AD  KS JH JS AS  QC KC AC JC  JD QS QH KH"


def golden(words: str = "", **options: Any) -> WatchedTable:
    return table_with(GAME, GOLDEN_HANDS, dealer=0, options=options).play(words)


def golden_end(before: list[float] | None = None, deal: int = 0, options: Options | None = None) -> WatchedTable:
    """Return the end of the golden deal, after these totals."""
    table = table_with(GAME, GOLDEN_HANDS, dealer=0, options=options, totals=before, deal=deal)
    return table.play(f"{GOLDEN_AUCTION} {ANNOUNCED} {GOLDEN_PLAY}")


def mis(words: str = "", multiplier: int = 2, **options: Any) -> WatchedTable:
    return table_with(GAME, MIS_HANDS, dealer=3, options={**SHORT, **options}, multiplier=multiplier).play(words)


def points_of(
    taken: list[int], contract: str, declarer: int, partner: int = -1, multiplier: int = 1, **options: Any
) -> list[float]:
    table = new_deal(GAME, len(taken), **options)
    return set_tricks_and_settle(table, taken, contract=contract, declarer=declarer, partner=partner, multiplier=multiplier)


def test_4_1_golden_deal_with_a_hidden_partner() -> None:
    table = golden(GOLDEN_AUCTION)
    assert (table.row.declarer, table.row.seat, table.phase) == (3, 3, "trump")
    table.play(ANNOUNCED)
    assert (table.trump_word(), table.row.partner, table.row.revealed) == ("H", 1, -1)
    assert (table.phase, table.row.seat) == ("play", 3)
    before, after = GOLDEN_PLAY.split(" AD 6D")
    table.play(before)
    assert table.row.revealed == -1
    table.play("AD")
    assert table.row.revealed == 1, "in the middle of the trick"
    table.play(f"6D {after}")
    assert [int(seat) for seat in table.row.trick_winners[:13]] == GOLDEN_WINNERS
    assert table.tricks == [1, 3, 0, 9]
    assert table.points == table.totals == GOLDEN_POINTS


@pytest.mark.parametrize(
    ("cards", "taken", "expected"), [(MIS_MADE, [1, 3, 0, 0], [0, 0, 16, 0]), (MIS_FAILED, [1, 1, 2, 0], [16, 16, 0, 16])]
)
def test_4_1_golden_mis_a_vis_in_a_double_hand(cards: str, taken: list[int], expected: list[float]) -> None:
    table = mis("pass pass mis_a_vis")
    assert (table.phase, table.row.seat, table.trump_word()) == ("play", 2, "NT")
    table.play(cards)
    assert table.tricks == taken
    assert table.points == expected


IMPLICIT: Options = {"implicit_announcements": True}
OPEN: Options = {"open_partner": True}


@pytest.mark.parametrize(
    ("words", "options", "nominated", "partner", "revealed"),
    [
        ("H AD", {}, "AD", 1, -1),
        ("H TH", {}, "TH", -1, -1),  # a card of his own: alone in secret
        ("H AD", OPEN, "AD", 1, 1),
        ("H TH", OPEN, "TH", -1, 3),
        # 4.2: a bare rank means the trump suit, and unsaid trump is the suit of the first lead.
        ("D A", IMPLICIT, "AD", 1, -1),
        ("H K", IMPLICIT, "KH", -1, -1),
        ("unsaid A 2D", IMPLICIT, "AD", 1, -1),
        ("unsaid J QC", IMPLICIT, "JC", 0, -1),
        ("unsaid 2 2D", IMPLICIT, "2D", -1, 3),  # the card just led
        ("unsaid AS AS", IMPLICIT, "AS", -1, 3),
        ("unsaid 4 2D", {**IMPLICIT, **OPEN}, "4D", -1, 3),
        ("H A", {**IMPLICIT, "first_lead": "left_of_dealer"}, "AH", -1, -1),
    ],
)
def test_4_1_4_2_announcements(words: str, options: Options, nominated: str, partner: int, revealed: int) -> None:
    table = golden(f"{GOLDEN_AUCTION} {words}", **options)
    assert (table.phase, table.word(table.row.nominated)) == ("play", nominated)
    assert (table.row.partner, table.row.revealed) == (partner, revealed)
    play_out(table, random.Random(1))


@pytest.mark.parametrize("options", [{}, OPEN])
@pytest.mark.parametrize("words", ["C JS", "unsaid J"])
def test_4_a_nominated_card_in_the_stock_leaves_the_bidder_alone(words: str, options: Options) -> None:
    """With `open_partner` all know it at once."""
    hands = [hand.split()[:3] for hand in MIS_HANDS]
    options = {**SHORT, **IMPLICIT, "hand_size": 3, **options}
    table = table_with(GAME, hands, dealer=3, stock="JS JH", options=options).play(f"3 pass pass pass {words} QH")
    assert table.row.partner == -1
    assert table.row.alone == (options.get("open_partner", False))
    play_out(table, random.Random(1))


def test_4_2_unsaid_trump_wins_tricks() -> None:
    # With AH led unsaid the golden deal continues with hearts: TH ruffs 8S.
    first = "AH 5H 8H 2H"
    table = golden(f"{GOLDEN_AUCTION} unsaid AD {first} {GOLDEN_PLAY.replace(first, '')}", **IMPLICIT)
    assert table.row.trick_winners[8] == 3
    assert table.points == GOLDEN_POINTS


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
        # The examples of 4.1 for a double hand, and of 4.4.
        ("11", 0, 3, [7, 1, 0, 5], 2, {}, [22, 0, 0, 22]),
        ("mis_a_vis", 0, -1, [1, 4, 4, 4], 2, {}, [0, 52, 52, 52]),
        ("10", 0, 2, [7, 0, 6, 0], 1, {"unbid_slam_loses": True}, [0, 26, 0, 26]),
        ("13", 0, 2, [7, 0, 6, 0], 1, {"unbid_slam_loses": True}, [13, 0, 13, 0]),
        ("7", 0, 2, [7, 0, 6, 0], 1, {"unbid_slam_loses": True, "min_bid": 7}, [0, 26, 0, 26]),
        # Made with one trick lost: the option changes nothing.
        ("12", 0, 2, [7, 1, 5, 0], 1, {"unbid_slam_loses": True}, [12, 0, 12, 0]),
        ("mis", 1, -1, [13, 0, 0, 0], 1, {"unbid_slam_loses": True}, [0, 13, 0, 0]),
        ("mis", 1, -1, [5, 0, 4, 4], 1, {"mis_value": 10}, [0, 10, 0, 0]),
        ("mis", 1, -1, [4, 3, 3, 3], 1, {"mis_value": 10}, [0, -13, 0, 0]),
        ("mis_a_vis", 1, -1, [5, 0, 4, 4], 1, {"mis_value": 10, "keep_mis_a_vis": True}, [0, 26, 0, 0]),
        ("mis", 1, -1, [4, 3, 3, 3], 2**199, {"double_repeat": "quadruple", "mis_value": 10}, [0, -13 * 2**199, 0, 0]),
        # Short decks (8b): Mis is worth the hand size, Mis a Vis and the unbid slam twice that.
        ("mis", 1, -1, [2, 0, 1, 1], 1, SHORT, [0, 4, 0, 0]),
        ("mis_a_vis", 1, -1, [1, 1, 1, 1], 1, SHORT, [8, 0, 8, 8]),
        ("3", 1, 2, [0, 3, 1, 0], 1, {**SHORT, "unbid_slam_loses": True, "min_bid": 3}, [8, 0, 0, 8]),
        ("mis", 0, -1, [5, 6], 1, {"ranks": 11, "suits": 2, "mis_value": 10}, [-15, 0]),
    ],
)
def test_4_1_4_4_scoring_examples(
    contract: str, declarer: int, partner: int, taken: list[int], multiplier: int, options: Options, expected: list[float]
) -> None:
    assert points_of(taken, contract, declarer, partner, multiplier, **options) == expected
    if multiplier == 1:
        assert points_of(taken, contract, declarer, partner, 2, **options) == [2 * number for number in expected]


CONTRACTS = [
    *[(bid, {}) for bid in ("10", "13", "mis", "mis_a_vis")],
    *[(bid, {"min_bid": 7}) for bid in ("7", "8", "9")],
    *[(bid, {"min_bid": 7, "unbid_slam_loses": True}) for bid in ("7", "12", "13", "mis")],
    *[(bid, {"mis_value": 10}) for bid in ("mis", "13")],
    ("mis_a_vis", {"mis_value": 10, "keep_mis_a_vis": True}),
    *[(bid, {**SHORT, "min_bid": 1}) for bid in ("1", "3", "4", "mis", "mis_a_vis")],
    *[(bid, {**SHORT, "min_bid": 1, "unbid_slam_loses": True}) for bid in ("1", "2", "3")],
    ("2", {"ranks": 5, "suits": 3, "hand_size": 3, "min_bid": 1, "unbid_slam_loses": True}),
    ("4", {**SHORT, **IMPLICIT}),
    *[(bid, {**SHORT, "first_lead": "left_of_dealer"}) for bid in ("4", "mis", "mis_a_vis")],
]


@pytest.mark.parametrize(("contract", "options"), CONTRACTS)
def test_8b_early_stop_changes_no_points(contract: str, options: Options) -> None:
    """The referee checks when a deal stops: as soon as no trick can change the points."""
    for seed in range(4):
        table = new_deal(GAME, calls=contract, seed=seed, early_stop=True, **options)
        whole = new_deal(GAME, calls=contract, seed=seed, **options)
        rng = random.Random(seed)
        while not table.is_scored:
            action = table.number("pass") if table.phase == "call" else rng.choice(table.legal_actions())
            table.step(action)
            whole.step(action)
        play_out(whole, rng)
        assert whole.row.trick_number == table.row.deal_size
        assert table.points == whole.points


def test_8b_early_stop_of_a_lost_bid() -> None:
    # Seat 3 plays alone and may lose one trick of 13; QD and KD of seat 1 are two.
    table = golden("pass pass 12 pass pass pass C KS  KS QS 9S 2S  2D JD QD 5D  KD 6D 3D", early_stop=True)
    assert not table.is_scored
    table.play("8D")
    assert (table.is_scored, table.row.trick_number, table.points) == (True, 3, [12, 12, 12, 0])


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
def test_4_3_double_hands_after_pass_outs(options: Options, multipliers: list[int]) -> None:
    table = new_deal(GAME, target=None, **options)
    for deal, multiplier in enumerate(multipliers):
        assert (table.row.multiplier, table.row.dealer, table.row.deal) == (multiplier, (3 + deal) % 4, deal)
        table.play("pass pass pass pass")
        table.next_deal()
    # A deal with play scores by its multiplier, and the next has none.
    factor = int(table.row.multiplier)
    table.play("mis_a_vis")
    bidder = int(table.row.declarer)
    play_out(table, random.Random(1))
    value = 2 * int(table.row.deal_size) * factor
    made = table.tricks[bidder] == 0
    assert table.points == [value if (seat == bidder) == made else 0 for seat in range(4)]
    table.next_deal()
    assert table.row.multiplier == 1


def test_8b_the_observation_after_many_pass_outs() -> None:
    """The multiplier up to 64, then 58 + its doublings; a total that fits no byte is the highest."""
    table = new_deal(GAME, double_repeat="quadruple", target=None)
    for doublings in range(200):
        seen = int(table.view(0)[0][START["contract"] + 3])
        assert seen == (2**doublings if doublings <= 6 else min(58 + doublings, 255))
        table.play("pass pass pass pass")
        table.next_deal()
    assert table.is_over, "after max_deals"
    table.start(multiplier=2**199)
    table.play("mis_a_vis")
    play_out(table, random.Random(1))
    totals_seen = table.view(0)[0][START["seats"] :].reshape(-1, 8)[:4, :2]
    assert sorted(set(map(tuple, totals_seen.tolist()))) == [(64, 64), (255, 255)]
