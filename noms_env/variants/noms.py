"""Noms (rules 4; source text 001).

1. Four players, 13 cards each, dealt in packets from a deck that is cut but not shuffled (`noms_deck`).
2. The auction begins at the dealer's left. Pass, or bid above the high bid: 10, 11, 12, 13, Mis, Mis a Vis. A player who
   has passed may bid again. It ends when all others have passed in a row. If all four pass, nobody plays, and the next deal
   is a double hand, which counts double.
3. The high bidder of a number names trump or none, then any card: whoever holds it is the partner, and nobody else knows.
   Mis and Mis a Vis are bids to win no trick, played alone and without trump. In Mis a Vis the bidder's hand lies open
   after the first trick.
4. The bidder leads, any card. Follow suit if you can; otherwise play any card. The highest trump wins the trick, or the
   highest card of the suit led if there is no trump in it. The winner leads next. Aces are high.
5. Made: the bid for bidder and partner each, 13 for Mis, 26 for Mis a Vis. Failed: the same for each opponent. Twice that
   in a double hand.
6. The match ends when a player has 101 points.
7. If a double hand is passed out, the next deal is a double hand again. The source text's optional rules are options of the
   table (4.2, 4.4).

Deviations and decisions: how a pile is gathered and where the deck is cut (4.3). Ties are joint wins. Implicit
announcements belong to the source text's base game. Here they are an option, since they make no new contract possible.
Players do not choose their seats in the order of a cut; the first dealer is drawn uniformly. With Mis at 10 there is no
Mis a Vis, which the source text says is usual; an option keeps it. With `double_repeat="quadruple"`, totals above 2**53 are
rounded to float64 before they are compared.

>>> from noms_env import Table
>>> table = Table("noms", seed=1)
>>> table.start()
>>> for word in ("10", "pass", "pass", "pass", "H", "AH"):  # a contract of 10, hearts, and the ace as the partner's card
...     table.act(word)
>>> table
<Table noms: 4 seats; match 0, deal 0, phase play, seat 0 to act>
"""

from __future__ import annotations

from functools import partial
from math import ceil

from noms_env._jit import jit
from noms_env.core.actions import (
    CALL_MIS,
    CALL_MIS_A_VIS,
    CALL_PASS,
    CALLING,
    INDICATE,
    NAMING_TRUMP,
    NOMINATING,
    RANK,
    SCORED,
    UNSAID,
    UNSAID_ACTION,
    brief,
)
from noms_env.core.bids import auction_is_over, higher_bids, is_forced_dealer, record_auction_call
from noms_env.core.cards import NO_TRUMP, bit, suit_of
from noms_env.core.partners import is_on_side, nominate, reveal, side_tricks
from noms_env.core.state import STOCK, eldest
from noms_env.core.tricks import name_trump, open_play
from noms_env.variants.families import AUCTION
from noms_env.variants.families.auction import OPEN_PARTNER, bid_number, declare, is_misere, max_decisions
from noms_env.variants.match import has_several, leaders, reaches_target
from noms_env.variants.noms_deck import DECK_DETAILS, DECK_NEEDS, DECK_OPTIONS
from noms_env.variants.rulebook import (
    HAND_SIZE,
    SHORT_DECK,
    Need,
    Option,
    RulesError,
    Values,
    Variant,
    check_range,
    complete_hand_size,
    deck_size,
)
from noms_env.variants.trumps import all_trumps

FIRST_LEADS = ("bidder", "left_of_dealer")
BIDDER_LEADS, LEFT_OF_DEALER_LEADS = range(2)
TIES = ("joint", "play_on")
JOINT, PLAY_ON = range(2)
DOUBLE_REPEATS = ("double", "quadruple", "single")
STAY_DOUBLE, QUADRUPLE, BACK_TO_SINGLE = range(3)
CHEAP_MIS = 10


def complete(values: Values, seats: int) -> None:
    """Fill in the defaults that depend on the table, and refuse options that cannot be dealt or bid."""
    complete_hand_size(values, seats)
    hand_size = values["hand_size"]
    usual = 10 if hand_size == 13 else min(10, ceil(10 * hand_size / 13))
    if values["min_bid"] is None:
        values["min_bid"] = usual
    low, high = (7, 10) if hand_size == 13 else (1, hand_size)
    check_range(values, "min_bid", low, high, f"with {hand_size} cards")
    if values["dealer_forced"] is None:
        values["dealer_forced"] = values["min_bid"] < usual
    _complete_mis_value(values)
    _complete_deal_mode(values, seats)


def _complete_mis_value(values: Values) -> None:
    """Fill in the value of Mis (rules 4.4): the hand size, or 10, which usually removes Mis a Vis."""
    hand_size = values["hand_size"]
    if values["mis_value"] is None:
        values["mis_value"] = hand_size
    cheap_possible = hand_size > CHEAP_MIS >= values["min_bid"]
    if values["mis_value"] != hand_size and not (values["mis_value"] == CHEAP_MIS and cheap_possible):
        allowed = f"{hand_size} or {CHEAP_MIS}" if cheap_possible else str(hand_size)
        raise RulesError(f"mis_value must be {allowed} with {hand_size} cards, not {brief(values['mis_value'])}")


def _complete_deal_mode(values: Values, seats: int) -> None:
    """Fill in `deal_mode` (rules 4.3): packets need the whole deck and four seats; a shortened game is dealt singly."""
    is_whole = deck_size(values) == 52 and seats == 4 and values["hand_size"] == 13
    if values["deal_mode"] is None:
        values["deal_mode"] = "packets" if is_whole else "single_shuffled"
    if values["deal_mode"] != "single_shuffled" and not is_whole:
        raise RulesError(
            f"deal_mode must be 'single_shuffled' unless 52 cards are dealt to 4 seats, not {values['deal_mode']!r}"
        )


def point_range(values: Values, tricks: int) -> tuple[float, float]:
    """Return bounds of a seat's points before the multiplier (rules 5, 7)."""
    return (0.0 if values["mis_value"] == tricks else -(values["mis_value"] + tricks)), 2.0 * tricks


def most_doublings(values: Values) -> int:
    """Return how often pass-outs can double the points (rule 2): once, or with "quadruple" in every deal but the last."""
    return int(values["max_deals"] - 1) if values["double_repeat"] == "quadruple" else 1


NUMBER = 3

GAME = Variant(
    name="noms",
    number=NUMBER,
    title="Noms",
    intro="You bid to win at least ten of thirteen tricks with a hidden partner, or no trick at all alone. The deck is cut but "
    "never shuffled during a match: suits are split unevenly, and the tricks of one deal tell something about the next.",
    source="catsatcards.com/Games/Noms.html",
    family=AUCTION,
    seats=(4, 4),
    complete=complete,
    misere="Mis",
    deals_depend=True,
    passes_out=True,
    point_range=point_range,
    max_decisions=partial(max_decisions, highest_bids=2),
    opens_hand=True,
    most_doublings=most_doublings,
    needs=(
        *DECK_NEEDS,
        Need("cut_min", "without a fixed cut", lambda values: values["cut"] is None),
        Need("tie", "with a target", lambda values: values["target"] is not None),
        Need("double_repeat", "if the dealer is not forced to bid", lambda values: not values["dealer_forced"]),
        Need("forced_bid_closes", "if the dealer is forced to bid", lambda values: bool(values["dealer_forced"])),
        Need("keep_mis_a_vis", "with mis_value=10", lambda values: bool(values["mis_value"] != values["hand_size"])),
    ),
    options=(
        Option(
            "min_bid",
            None,
            "lowest number to bid",
            range="from 7 to 10 with 13 cards per seat, otherwise from 1 to the hand size",
            byte=17,
        ),
        Option(
            "dealer_forced",
            None,
            "the dealer must bid after passes of all others; by default if min_bid is below its default",
            flag=True,
            byte=30,
        ),
        Option("forced_bid_closes", False, "a forced bid ends the auction", flag=True, late=True, byte=26),
        Option("unbid_slam_loses", False, "taking all tricks on a lower bid loses, 26 to each opponent", flag=True, byte=31),
        Option(
            "mis_value",
            None,
            "13: Mis above 13; 10: Mis between 10 and 11, usually without Mis a Vis",
            range="equal to the hand size, or 10 with a min_bid up to 10",
            byte=32,
        ),
        Option("keep_mis_a_vis", False, "keep Mis a Vis although Mis is worth 10", flag=True, late=True, byte=56),
        Option("first_lead", "bidder", "leader of the first trick", words=FIRST_LEADS, byte=33),
        Option("implicit_announcements", False, "trump may be left unsaid, a bare rank nominated", flag=True, byte=34),
        OPEN_PARTNER,
        Option("tie", "joint", "equal leaders at the end win together, or play on", words=TIES, byte=7),
        *DECK_OPTIONS,
        Option("double_repeat", "double", "multiplier after a pass-out in a double hand", words=DOUBLE_REPEATS, byte=42),
        Option("max_deals", 200, "deals after which the match is truncated", numbers=(1, 1000), byte=43),
        Option("early_stop", False, "end the deal when its points are decided", flag=True, byte=35),
        Option("target", 101, "points that end the match", numbers=(1, 10000), none=True, byte=18),
        Option("observe_previous_hand", False, "show each seat its view of the previous deal", flag=True, byte=None),
        HAND_SIZE,
        *SHORT_DECK,
    ),
    details=DECK_DETAILS
    | {
        "min_bid": "If hands do not have 13 cards: any number up to the hand size, by default about ten thirteenths of it",
        "mis_value": "If hands do not have 13 cards, the hand size replaces 13",
        "first_lead": "`bidder`: the bidder; `left_of_dealer`: eldest",
        "open_partner": "A card in the stock leaves the bidder alone for all to see; a bare rank waits for the trump suit",
        "tie": "`joint`: they win together; `play_on`: the match continues until one seat leads alone",
        "double_repeat": "`double`: the next deal counts double; `quadruple`: twice as much as this one, without a limit; "
        "`single`: once",
        "early_stop": "The cards still held are gathered like a last trick of each seat",
        "target": "None: only `max_deals` ends the match",
        "observe_previous_hand": "It fills the section `previous_deal` of the observation",
    },
)


@jit
def has_cheap_mis(t):
    """Return whether Mis counts 10 and stands between 10 and 11 (rules 4.4)."""
    return t.mis_value != t.deal_size


@jit
def open_deal(t):
    """Open the auction (rule 2): eldest calls first, and Mis stands above its value."""
    t.misere_height = 2 * t.mis_value + 1
    t.open_misere = t.keep_mis_a_vis if has_cheap_mis(t) else 1
    t.phase = CALLING
    t.seat = eldest(t)


@jit
def legal_calls(t):
    """Return the legal calls (rule 2): pass, or any bid above the high bid; a forced dealer may not pass."""
    if t.dealer_forced != 0 and is_forced_dealer(t):
        return higher_bids(t)
    return higher_bids(t) | bit(CALL_PASS)


@jit
def make_call(t, call):
    """Record a call (rules 2, 3); the last one makes the high bidder the declarer, or ends a passed-out deal."""
    closes = t.forced_bid_closes != 0 and is_forced_dealer(t)
    record_auction_call(t, call)
    if not closes and not auction_is_over(t):
        return
    if t.high_call < 0:
        t.passed_out = 1
        t.phase = SCORED
        return
    declare(t)
    if is_misere(t.contract):
        t.alone = 1
        name_trump(t, NO_TRUMP)
        open_play(t, first_leader(t))
    else:
        t.phase = NAMING_TRUMP


@jit
def first_leader(t):
    """Return the first leader (rule 4): the bidder, or by option eldest."""
    return t.declarer if t.first_lead == BIDDER_LEADS else eldest(t)


@jit
def legal_trumps(t):
    """Return the legal trumps: a suit or no trump (rule 3), and by option "unsaid" for a bidder who leads (rules 4.2)."""
    if t.implicit_announcements != 0 and t.first_lead == BIDDER_LEADS:
        return all_trumps(t) | bit(UNSAID_ACTION - INDICATE)
    return all_trumps(t)


@jit
def make_trump(t, trump):
    """Announce trump (rule 3); the nomination follows."""
    if trump == UNSAID:
        t.trump = UNSAID
    else:
        name_trump(t, trump)
    t.phase = NOMINATING


@jit
def legal_ranks(t):
    """Return the legal bare ranks (rules 4.2): those of the trump suit, none with no trump."""
    if t.implicit_announcements == 0 or t.trump == NO_TRUMP:
        return bit(0) - 1
    return ((bit(13) - 1) & ~(bit(13 - t.ranks) - 1)) << (RANK - INDICATE)


@jit
def make_nomination(t, card):
    """Nominate a card (rules 3, 4); the first lead follows."""
    nominate(t, card)
    open_play(t, first_leader(t))


@jit
def make_rank_nomination(t, rank):
    """Nominate a bare rank of the trump suit (rules 4.2), now or when the first lead fixes the suit."""
    if t.trump == UNSAID:
        t.nominated_rank = rank
        open_play(t, first_leader(t))
    else:
        make_nomination(t, 13 * t.trump + rank)


@jit
def after_card(t, seat, card):
    """Fix an unsaid trump and the card of a bare rank at the first lead (rules 4.2); reveal the partner (rule 3)."""
    if t.trump == UNSAID:
        name_trump(t, suit_of(card))
        if t.nominated_rank >= 0:
            nominate(t, 13 * suit_of(card) + t.nominated_rank)
    reveal(t, seat, card)


@jit
def after_trick(t):
    """Open the bidder's hand at the end of trick 1 of Mis a Vis (rule 3)."""
    if t.contract == CALL_MIS_A_VIS and t.trick_number == 1:
        t.exposed = t.declarer


@jit
def is_decided(t):
    """Return whether no later trick can change the points (`early_stop`, rules 8b)."""
    side = side_tricks(t)
    if is_misere(t.contract):
        return side > 0 and not (t.contract == CALL_MIS and has_cheap_mis(t))
    others = t.trick_number - side
    if others > t.deal_size - bid_number(t):
        return True
    return side >= bid_number(t) and (others > 0 or not may_slam_lose(t))


@jit
def may_slam_lose(t):
    """Return whether an unbid slam loses (rules 4.4): the option is on, and the bid is below the hand size."""
    return t.unbid_slam_loses != 0 and bid_number(t) < t.deal_size


@jit
def settle(t):
    """Score the deal (rules 5, 7)."""
    if t.passed_out != 0:
        return
    if t.contract == CALL_MIS and has_cheap_mis(t):  # rules 4.4: +10, or -(10 + own tricks); the others get nothing
        tricks = int(t.tricks[t.declarer])
        t.points[t.declarer] = t.multiplier * (CHEAP_MIS if tricks == 0 else -(CHEAP_MIS + tricks))
        return
    made = is_made(t)
    value = t.multiplier * (made_value(t) if made else failed_value(t))
    for seat in range(t.n_seats):
        if is_on_side(t, seat) == made:
            t.points[seat] = value


@jit
def is_made(t):
    """Return whether the contract is made (rule 5): enough tricks, but not an unbid slam that loses; for Mis no trick."""
    if is_misere(t.contract):
        return side_tricks(t) == 0
    if may_slam_lose(t) and side_tricks(t) == t.deal_size:
        return False
    return side_tricks(t) >= bid_number(t)


@jit
def made_value(t):
    """Return the value of a made contract (rule 5): the bid; the value of Mis; twice the hand size for Mis a Vis."""
    if t.contract == CALL_MIS_A_VIS:
        return 2 * int(t.deal_size)
    return int(t.mis_value) if is_misere(t.contract) else int(bid_number(t))


@jit
def failed_value(t):
    """Return the points of each opponent if the contract fails (rules 5, 7): its value, or 26 for an unbid slam."""
    if not is_misere(t.contract) and side_tricks(t) >= bid_number(t):
        return 2 * int(t.deal_size)
    return made_value(t)


@jit
def next_multiplier(t):
    """Return the multiplier of the next deal: 2 after a pass-out (rule 2); `double_repeat` rules the ones after it."""
    if t.passed_out == 0:
        return 1
    if t.multiplier == 1 or t.double_repeat == QUADRUPLE:
        return 2 * t.multiplier
    return 1 if t.double_repeat == BACK_TO_SINGLE else t.multiplier


@jit
def has_ended(t):
    """Return whether the match has ended: a seat has reached the target, and `tie` does not play on (rule 6)."""
    return reaches_target(t) and not (t.tie == PLAY_ON and has_several(leaders(t, t.totals)))


@jit
def has_run_out(t):
    """Return whether `max_deals` truncates the match."""
    return t.deal == t.max_deals - 1


@jit
def rule_out(t, allowed):
    """With `early_stop` (rules 8b), rule out each holder of the nominated card with whom the deal would be over."""
    if t.early_stop == 0 or t.nominated < 0:
        return
    for place in range(STOCK + 1):
        t.partner = -1 if place == STOCK or place == t.declarer else place
        if is_decided(t):
            allowed[place] &= ~bit(t.nominated)
