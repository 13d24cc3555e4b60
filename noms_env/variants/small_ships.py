"""Small Ships, also called Misere (rules 3; source text 000, "Small Ships Rules").

1. Three to six players; four is usual. All cards are dealt, as far as they go round.
2. The auction begins at the dealer's left. Pass, or bid above the high bid: 7, 8, 9, 10, Misere (no trick), 11, 12, 13 with
   four players. A player who has passed may bid again. The auction ends when all others have passed in a row. If everybody
   else passes, the dealer must bid a number.
3. The high bidder is the declarer, and names trump or none, then any card. Whoever holds that card is the partner, and
   nobody else knows. A declarer who names a card of their own is alone.
4. The player at the dealer's left leads. Follow suit if you can; otherwise play any card. The highest trump wins the trick,
   or the highest card of the suit led if there is no trump in it. The winner leads next. Aces are high. A declarer who
   leads to the first trick may not lead the suit of the card named, except with no other in hand.
5. A bid is made if declarer and partner together win that many tricks or more: each scores the bid. If not, they score
   nothing. Misere made: +10 alone, +20 each with a partner. Misere failed: each loses 10, and a point for each trick of
   both. All others score a point for each trick of their own.
6. The match ends at 100 points or after 20 deals.
7. With the option of indication, the partner may show who they are. It costs the partner twice the bid, in Misere twice its
   value.

Deviations and decisions: the rules for three, five and six seats, with their bids and values of Misere, are decisions of
this project (3.3). "Any number of players can play" heads Big Ships and Small Ships together. The rules of Small Ships name 3,
4, 5 and 6 players, and these are the limits here. "May not lead to the nominated card" is read as its suit.
Indication costs "twice the contract bid". Misere is a bid of no trick, which would make it free, so it costs twice the value
of Misere (3.4). In the source text players may also agree to end a match after a time, say an hour; here they cannot.

>>> from noms_env import Table
>>> table = Table("small_ships", seed=2)
>>> table.start()
>>> table.act("7")
>>> table.legal_words()  # pass, or a bid above 7
['pass', '8', '9', '10', '11', '12', '13', 'mis']
"""

from __future__ import annotations

from functools import partial

from noms_env._jit import jit
from noms_env.core.actions import CALL_PASS, CALLING, NAMING_TRUMP, NOMINATING
from noms_env.core.bids import auction_is_over, calls_between, higher_bids, is_forced_dealer, record_auction_call
from noms_env.core.cards import NO_TRUMP, SUIT_CARDS, bit, has, suit_of
from noms_env.core.partners import is_on_side, nominate, side_tricks
from noms_env.core.state import STOCK, eldest
from noms_env.core.tricks import name_trump, open_play
from noms_env.variants.families import AUCTION
from noms_env.variants.families.auction import OPEN_PARTNER, bid_number, declare, is_misere, max_decisions, note_open_partner
from noms_env.variants.match import reaches_target
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
)

MISERE_TRUMPS = ("choice", "none")
MISERE_WITHOUT_TRUMP = 1
PENALTIES = ("team", "own")
OWN_TRICKS = 1
RESTRICTIONS = ("suit", "card", "off")
BAN_SUIT, BAN_CARD, BAN_OFF = range(3)
STOCK_NOMINATIONS = ("alone", "illegal", "redraw")
STOCK_ALONE, STOCK_ILLEGAL, STOCK_REDRAW = range(3)


def complete(values: Values, seats: int) -> None:
    """Fill in the bids (rules 3.3), and refuse options with which no bid or no end is possible."""
    complete_hand_size(values, seats)
    hand_size = values["hand_size"]
    if values["min_bid"] is None:
        values["min_bid"] = 2 * hand_size // seats + 1
        if values["min_bid"] > hand_size:
            raise RulesError(
                f"with {hand_size} cards and {seats} seats the lowest bid would be {values['min_bid']}, more than there are "
                f"tricks; give min_bid, an integer from 1 to {hand_size}"
            )
    check_range(values, "min_bid", 1, hand_size, f"with {hand_size} cards")
    lowest = values["min_bid"] - 1
    if values["misere_above"] is None:
        values["misere_above"] = max(lowest, hand_size - 3)
    check_range(values, "misere_above", lowest, hand_size, f"with {hand_size} cards and min_bid={values['min_bid']}")
    if values["misere_value"] is None:
        values["misere_value"] = max(1, hand_size - 3)
    if values["target"] is None and values["max_hands"] is None:
        raise RulesError("target and max_hands are both None, so the match would never end; give one of them")


def point_range(values: Values, tricks: int) -> tuple[float, float]:
    """Return bounds of a seat's points (rules 5, 7)."""
    value = values["misere_value"]
    price = 2 * max(tricks, value) if values["indication"] else 0
    return -(value + tricks) - price, max(tricks, 2 * value)


NUMBER = 2

GAME = Variant(
    name="small_ships",
    number=NUMBER,
    title="Small Ships",
    intro="An auction with a hidden partner. The declarer names trump, then any card of the deck, and whoever holds "
    "that card is the partner. Nobody else knows who it is until the card is played, not even the declarer.",
    source="myweb.tiscali.co.uk/navysong, Small Ships Rules",
    family=AUCTION,
    seats=(3, 6),
    complete=complete,
    opponents_score_tricks=True,
    point_range=point_range,
    max_decisions=partial(max_decisions, highest_bids=1),
    needs=(Need("indication", "with open_partner=False", lambda values: not values["open_partner"]),),
    options=(
        Option(
            "min_bid",
            None,
            "lowest number to bid; by default just above the share of two seats",
            range="from 1 to the hand size",
            byte=17,
        ),
        Option(
            "misere_value", None, "points of Misere made alone; by default three below the hand size", numbers=(1, 100), byte=19
        ),
        Option(
            "misere_above",
            None,
            "the number directly below Misere; by default three below the hand size",
            range="from min_bid - 1 to the hand size",
            byte=20,
        ),
        Option(
            "misere_trump", "choice", "Misere with a trump of the declarer's choice, or without", words=MISERE_TRUMPS, byte=21
        ),
        Option("misere_nominates", True, "a declarer of Misere nominates a card; otherwise he plays alone", flag=True, byte=22),
        Option("misere_penalty", "team", "failed Misere: each loses the side's tricks, or its own", words=PENALTIES, byte=23),
        Option("misere_opponents_score", True, "opponents score their tricks in Misere too", flag=True, byte=24),
        Option("forced_bid_numeric_only", True, "a dealer forced to bid must name a number", flag=True, byte=25),
        Option("forced_bid_closes", False, "a forced bid ends the auction", flag=True, byte=26),
        Option(
            "first_trick_restriction", "suit", "cards that the declarer may not lead to trick 1", words=RESTRICTIONS, byte=27
        ),
        Option("stock_nomination", "alone", "effect of nominating a card in the stock", words=STOCK_NOMINATIONS, byte=28),
        Option("target", 100, "points that end the match", numbers=(1, 10000), none=True, byte=18),
        Option("max_hands", 20, "deals that end the match", numbers=(1, 1000), none=True, byte=44),
        Option("indication", False, "the holder of the nominated card may reveal himself, at a price", flag=True, byte=29),
        OPEN_PARTNER,
        HAND_SIZE,
        *SHORT_DECK,
    ),
    details={
        "min_bid": "That is `floor(2 * hand_size / seats) + 1`",
        "misere_value": "Each of a pair scores twice that",
        "misere_above": "`min_bid - 1` makes Misere the lowest bid, the hand size the highest",
        "misere_trump": "`choice`: the declarer names trump as for any bid; `none`: Misere is played without trumps",
        "misere_penalty": "`team`: the tricks of both are taken off each; `own`: only the own tricks are taken off",
        "first_trick_restriction": "`suit`: no card of the nominated card's suit, unless there is nothing else; `card`: not "
        "the nominated card itself; `off`: no restriction",
        "stock_nomination": "`alone`: the declarer is alone without knowing it; `illegal`: such a card may not be nominated; "
        "`redraw`: it is refused, and the declarer nominates another. `illegal` and `redraw` reveal "
        "something about the stock",
        "target": "None: only `max_hands` ends the match",
        "max_hands": "None: only `target` ends the match",
        "indication": "It costs the holder alone twice the bid, or in Misere twice `misere_value`",
        "open_partner": "A card in the stock leaves the declarer alone for all to see",
    },
)


@jit
def open_deal(t):
    """Open the auction (rule 2): eldest calls first."""
    t.misere_height = 2 * t.misere_above + 1
    t.phase = CALLING
    t.seat = eldest(t)


@jit
def legal_calls(t):
    """Return the legal calls (rule 2): pass, or any bid above the high bid; a dealer after passes only must bid."""
    if not is_forced_dealer(t):
        return higher_bids(t) | bit(CALL_PASS)
    if t.forced_bid_numeric_only != 0:
        return calls_between(int(t.min_bid), int(t.deal_size))
    return higher_bids(t)


@jit
def make_call(t, call):
    """Record a call (rules 2, 3); the last one makes the high bidder the declarer."""
    closes = t.forced_bid_closes != 0 and is_forced_dealer(t)
    record_auction_call(t, call)
    if not closes and not auction_is_over(t):
        return
    declare(t)
    if is_misere(t.contract) and t.misere_nominates == 0:
        t.alone = 1
    if is_misere(t.contract) and t.misere_trump == MISERE_WITHOUT_TRUMP:
        name_trump(t, NO_TRUMP)
        after_trump(t)
    else:
        t.phase = NAMING_TRUMP


@jit
def make_trump(t, trump):
    """Name the declarer's trump (rule 3)."""
    name_trump(t, trump)
    after_trump(t)


@jit
def after_trump(t):
    """Ask for the nomination (rule 3), or open the play if the contract has none."""
    if t.alone != 0:
        open_play(t, eldest(t))
    else:
        t.phase = NOMINATING


@jit
def legal_nominations(t):
    """Return the cards that may be nominated (rules 3.3): any card; by option none of the stock, or none refused before."""
    barred = t.stock if t.stock_nomination == STOCK_ILLEGAL else t.refused
    return t.cards & ~barred


@jit
def make_nomination(t, card):
    """Nominate a card, and let eldest lead (rules 3, 4); with "redraw" a card in the stock is refused."""
    if t.stock_nomination == STOCK_REDRAW and (t.stock & bit(card)) != 0:
        t.refused |= bit(card)
        return
    nominate(t, card)
    open_play(t, eldest(t))


@jit
def legal_leads(t, hand):
    """Return the cards that may be led (rule 4): a declarer leading to trick 1 must avoid the nominated suit if possible.

    By option only the nominated card is barred, or nothing.
    """
    if t.trick_number > 0 or t.seat != t.declarer or t.nominated < 0 or t.first_trick_restriction == BAN_OFF:
        return hand
    nominated = int(t.nominated)
    banned = bit(nominated) if t.first_trick_restriction == BAN_CARD else SUIT_CARDS[t.deck_kind, suit_of(nominated)]
    return hand & ~banned if (hand & ~banned) != 0 else hand


@jit
def may_indicate(t):
    """Return whether the seat to act may indicate (rule 7): the partner, once, while it holds the nominated card."""
    return t.indication != 0 and t.seat == t.partner and t.indicated < 0 and has(t.hands[t.seat], t.nominated)


@jit
def indicate(t):
    """Reveal the partner (rule 7); the same seat then plays."""
    t.indicated = t.seat
    t.revealed = t.seat


@jit
def settle(t):
    """Score the deal (rules 5, 7)."""
    for seat in range(t.n_seats):
        if not is_on_side(t, seat):
            t.points[seat] = opponent_points(t, seat)
        elif is_misere(t.contract):
            t.points[seat] = misere_points(t, seat)
        else:
            t.points[seat] = bid_number(t) if side_tricks(t) >= bid_number(t) else 0  # no credit for overtricks
    if t.indicated >= 0:
        t.points[t.indicated] -= 2 * contract_value(t)


@jit
def misere_points(t, seat):
    """Return a seat's points for Misere (rule 5): its value, twice that for each of a pair, or the penalty if it failed."""
    value = int(t.misere_value)
    if side_tricks(t) == 0:
        return value if t.partner < 0 else 2 * value
    return -(value + int(t.tricks[seat] if t.misere_penalty == OWN_TRICKS else side_tricks(t)))


@jit
def opponent_points(t, seat):
    """Return an opponent's points (rule 5): one for each own trick, whether or not the contract was made."""
    if is_misere(t.contract) and t.misere_opponents_score == 0:
        return 0
    return int(t.tricks[seat])


@jit
def contract_value(t):
    """Return the number of the bid, or the value of Misere (rule 7)."""
    return int(t.misere_value) if is_misere(t.contract) else bid_number(t)


@jit
def has_ended(t):
    """Return whether the match has ended (rule 6)."""
    return t.deal == t.max_hands - 1 or reaches_target(t)


@jit
def has_common_sides(t):
    """Return whether the members of a side win and lose together (rule 5): in a number bid without indication."""
    return not is_misere(t.contract) and t.indication == 0


@jit
def knows_stock(t, seat):
    """Return whether a seat knows the stock: with `stock_nomination="illegal"` (rules 3.3) the declarer cannot nominate it."""
    return t.stock_nomination == STOCK_ILLEGAL and t.declarer == seat and (t.phase == NOMINATING or t.nominated >= 0)


@jit
def note_open_cards(t, seat, known):
    """Add to `known` the stock, if the seat knows it (rules 3.3), and the nominated card after an indication (rule 7)."""
    if knows_stock(t, seat):
        known[STOCK] = t.stock
    if t.indicated >= 0:
        known[t.indicated] |= bit(t.nominated) & ~t.cards_played
    note_open_partner(t, known)


@jit
def rule_out(t, allowed):
    """Rule out other suits for a declarer who led the banned suit (rule 4), and the nominated card in the stock (rules 3.3)."""
    if t.nominated < 0:
        return
    suit = SUIT_CARDS[t.deck_kind, suit_of(int(t.nominated))]
    if t.first_trick_restriction == BAN_SUIT and t.declarer == eldest(t) and t.order[0] >= 0 and has(suit, t.order[0]):
        allowed[t.declarer] &= suit
    if t.stock_nomination != STOCK_ALONE:
        allowed[STOCK] &= ~bit(t.nominated)
