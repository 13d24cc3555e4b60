"""Small Ships, also called Misere (rules 3; source text 000, "Small Ships Rules").

1. Three to six players; four is usual. All cards are dealt, as far as they go round.
2. The auction begins at the dealer's left. Pass, or bid above the high bid: 7, 8, 9, 10, Misere (no trick), 11, 12, 13 with
   four players. Who has passed may bid again. It ends when all others have passed in a row. If everybody else passes, the
   dealer must bid a number.
3. The high bidder is the declarer, and names trump or none, then any card. Whoever holds that card is the partner, and
   nobody else knows. A declarer who names a card of their own is alone.
4. The player at the dealer's left leads. Follow suit if you can; otherwise play any card. The highest trump wins the trick,
   or the highest card of the suit led if there is no trump in it. The winner leads next. Aces are high. A declarer who
   leads to the first trick may not lead the suit of the card named, except with no other in hand.
5. A bid is made if declarer and partner together win that many tricks or more: each scores the bid. If not, they score
   nothing. Misere made: +10 alone, +20 each with a partner. Misere failed: each loses 10, and a point for each trick of
   both. All others score a point for each trick of their own.
6. The match ends at 100 points or after 20 deals.
7. An option is indication: the partner may show who they are, for twice the bid off their points; in Misere for twice its
   value.

Deviations and decisions: three, five and six seats, the ladder there and the value of Misere are decisions of this
project (3.3). "Any number of players can play", which heads Big Ships and Small Ships together, is not taken for Small
Ships, whose own rules name 3, 4, 5 and 6 players. "May not lead to the nominated card" is read as its suit. Indication
costs "twice the contract bid": of Misere, a bid of no trick, that would be 0, and twice its value is taken (3.4). The
source text also lets players agree to end a match after a time, say an hour, which is no end here.

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
from noms_env.core.actions import CALL_PASS, CALLING, NAMING_TRUMP, NOMINATING, brief
from noms_env.core.bids import auction_is_over, higher_bids, is_forced_dealer, numbers, record_auction_call
from noms_env.core.cards import NO_TRUMP, SUIT_CARDS, bit, has, suit_of
from noms_env.core.partners import is_on_side, nominate, reveal, side_tricks
from noms_env.core.state import STOCK, eldest
from noms_env.core.tricks import name_trump, open_play
from noms_env.variants.families import AUCTION
from noms_env.variants.families.auction import OPEN_PARTNER, bid_number, declare, is_misere, max_decisions, note_open_partner
from noms_env.variants.match import reaches_target
from noms_env.variants.rulebook import HAND_SIZE, SHORT_DECK, Need, Option, RulesError, Values, Variant, complete_hand_size

MISERE_TRUMPS = ("choice", "none")
MISERE_WITHOUT_TRUMP = 1
PENALTIES = ("team", "own")
OWN_TRICKS = 1
RESTRICTIONS = ("suit", "card", "off")
BAN_SUIT, BAN_CARD, BAN_OFF = range(3)
STOCK_NOMINATIONS = ("alone", "illegal", "redraw")
STOCK_ALONE, STOCK_ILLEGAL, STOCK_REDRAW = range(3)


def complete(values: Values, seats: int) -> None:
    """Work out the ladder (3.3) and refuse what cannot be bid or ended."""
    complete_hand_size(values, seats)
    hand_size = values["hand_size"]
    if values["min_bid"] is None:
        values["min_bid"] = 2 * hand_size // seats + 1
        if values["min_bid"] > hand_size:
            raise RulesError(
                f"with {hand_size} cards and {seats} seats the lowest bid would be {values['min_bid']}, more than there are "
                f"tricks; give min_bid, an integer from 1 to {hand_size}"
            )
    if not 1 <= values["min_bid"] <= hand_size:
        raise RulesError(
            f"min_bid must be an integer from 1 to {hand_size} with {hand_size} cards, not {brief(values['min_bid'])}"
        )
    lowest = values["min_bid"] - 1
    if values["misere_above"] is None:
        values["misere_above"] = max(lowest, hand_size - 3)
    if not lowest <= values["misere_above"] <= hand_size:
        raise RulesError(
            f"misere_above must be an integer from {lowest} (Misere is the lowest bid) to {hand_size}, "
            f"not {brief(values['misere_above'])}"
        )
    if values["misere_value"] is None:
        values["misere_value"] = max(1, hand_size - 3)
    if values["target"] is None and values["max_hands"] is None:
        raise RulesError("target and max_hands are both None, so the match would never end; give one of them")


def point_range(values: Values, tricks: int) -> tuple[float, float]:
    """5, 7. Bounds of a seat's points."""
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
            "the number directly below Misere; by default the same",
            range="from min_bid - 1 to the hand size",
            byte=20,
        ),
        Option(
            "misere_trump", "choice", "Misere with a trump of the declarer's choice, or without", words=MISERE_TRUMPS, byte=21
        ),
        Option("misere_nominates", True, "the declarer of Misere nominates a card; if not he is alone", flag=True, byte=22),
        Option(
            "misere_penalty", "team", "failed Misere: the side's tricks count for each, or own tricks", words=PENALTIES, byte=23
        ),
        Option("misere_opponents_score", True, "opponents score their tricks in Misere too", flag=True, byte=24),
        Option("forced_bid_numeric_only", True, "a dealer forced to bid must name a number", flag=True, byte=25),
        Option("forced_bid_closes", False, "a forced bid ends the auction", flag=True, byte=26),
        Option(
            "first_trick_restriction", "suit", "what a declarer on lead may not lead to trick 1", words=RESTRICTIONS, byte=27
        ),
        Option("stock_nomination", "alone", "a nominated card in the stock", words=STOCK_NOMINATIONS, byte=28),
        Option("target", 100, "points that end the match", numbers=(1, 10000), none=True, byte=18),
        Option("max_hands", 20, "deals that end the match", numbers=(1, 1000), none=True, byte=44),
        Option("indication", False, "the holder of the nominated card may show himself, at a price", flag=True, byte=29),
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
        "indication": "It costs twice the bid, in Misere twice `misere_value`, and only the one who shows himself",
        "open_partner": "A card in the stock leaves the declarer alone for all to see",
    },
)


@jit
def open_deal(t):
    """2. Eldest calls first."""
    t.misere_height = 2 * t.misere_above + 1
    t.phase = CALLING
    t.seat = eldest(t)


@jit
def legal_calls(t):
    """2. Pass, or any bid above the high bid; a dealer behind passes only must bid."""
    if not is_forced_dealer(t):
        return higher_bids(t) | bit(CALL_PASS)
    if t.forced_bid_numeric_only != 0:
        return numbers(int(t.min_bid), int(t.deal_size))
    return higher_bids(t)


@jit
def make_call(t, call):
    """2, 3. A call; the last one makes the high bidder the declarer."""
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
    """3. The declarer names trump."""
    name_trump(t, trump)
    after_trump(t)


@jit
def after_trump(t):
    """3. The nomination, where the contract has one."""
    if t.alone != 0:
        open_play(t, eldest(t))
    else:
        t.phase = NOMINATING


@jit
def legal_nominations(t):
    """3, 3.3. Any card; by option not one of the stock, or not one that was refused."""
    barred = t.stock if t.stock_nomination == STOCK_ILLEGAL else t.refused
    return t.cards & ~barred


@jit
def make_nomination(t, card):
    """3, 4. The nomination, and eldest leads; under "redraw" a card of the stock is refused."""
    if t.stock_nomination == STOCK_REDRAW and (t.stock & bit(card)) != 0:
        t.refused |= bit(card)
        return
    nominate(t, card)
    open_play(t, eldest(t))


@jit
def may_lead(t, hand):
    """4. The declarer on lead to trick 1 may not lead the suit (or by option the card) nominated, if he has another."""
    if t.trick_number > 0 or t.seat != t.declarer or t.nominated < 0 or t.first_trick_restriction == BAN_OFF:
        return hand
    nominated = int(t.nominated)
    banned = bit(nominated) if t.first_trick_restriction == BAN_CARD else SUIT_CARDS[t.deck_kind, suit_of(nominated)]
    return hand & ~banned if (hand & ~banned) != 0 else hand


@jit
def card_played(t, seat, card):
    """3. The nominated card shows its holder."""
    reveal(t, seat, card)


@jit
def may_indicate(t):
    """7. The partner, once, while he holds the nominated card."""
    return t.indication != 0 and t.seat == t.partner and t.indicated < 0 and has(t.hands[t.seat], t.nominated)


@jit
def indicate(t):
    """7. The partner shows himself; the same seat then plays."""
    t.indicated = t.seat
    t.revealed = t.seat


@jit
def settle(t):
    """5, 7."""
    for seat in range(t.n_seats):
        if not is_on_side(t, seat):
            t.points[seat] = opponent_points(t, seat)
        elif is_misere(t.contract):
            t.points[seat] = misere_points(t, seat)
        else:
            t.points[seat] = bid_number(t) if side_tricks(t) >= bid_number(t) else 0  # no credit for more
    if t.indicated >= 0:
        t.points[t.indicated] -= 2 * contract_value(t)


@jit
def misere_points(t, seat):
    """5. Misere made, once for a lone declarer and twice for each of a pair; or the penalty."""
    value = int(t.misere_value)
    if side_tricks(t) == 0:
        return value if t.partner < 0 else 2 * value
    return -(value + int(t.tricks[seat] if t.misere_penalty == OWN_TRICKS else side_tricks(t)))


@jit
def opponent_points(t, seat):
    """5. One point for each own trick, whatever became of the contract."""
    if is_misere(t.contract) and t.misere_opponents_score == 0:
        return 0
    return int(t.tricks[seat])


@jit
def contract_value(t):
    """7. The bid; Misere counts as its value."""
    return int(t.misere_value) if is_misere(t.contract) else bid_number(t)


@jit
def has_ended(t):
    """6."""
    return t.deal == t.max_hands - 1 or reaches_target(t)


@jit
def has_common_sides(t):
    """5. In a number bid a side wins and loses together, but for the price of indication; opponents nearly do."""
    return not is_misere(t.contract) and t.indication == 0


@jit
def knows_stock(t, seat):
    """3.3, `stock_nomination="illegal"`: the declarer saw the stock missing among his nominations."""
    return t.stock_nomination == STOCK_ILLEGAL and t.declarer == seat and (t.phase == NOMINATING or t.nominated >= 0)


@jit
def note_open_cards(t, seat, known):
    """3.3. The stock, to a declarer who knows it. 7. The nominated card, once its holder has shown himself."""
    if knows_stock(t, seat):
        known[STOCK] = t.stock
    if t.indicated >= 0:
        known[t.indicated] |= bit(t.nominated) & ~t.cards_played
    note_open_partner(t, known)


@jit
def rule_out(t, allowed):
    """4. A declarer who led the banned suit had nothing else. 3.3. The card is not in the stock if that is refused."""
    if t.nominated < 0:
        return
    suit = SUIT_CARDS[t.deck_kind, suit_of(int(t.nominated))]
    if t.first_trick_restriction == BAN_SUIT and t.declarer == eldest(t) and t.order[0] >= 0 and has(suit, t.order[0]):
        allowed[t.declarer] &= suit
    if t.stock_nomination != STOCK_ALONE:
        allowed[STOCK] &= ~bit(t.nominated)
