"""The fields of the record of one table: everything that a match is at one moment.

`variants.table_record` adds a field for each option and makes a numpy type of them. Fields that hold numbers to reckon
with are int16 or wider (narrower ones wrap differently with the compiler off); cards in int8 fields are read through
`int(...)`. Sets of cards and of words are int64 (`cards`, `actions`). Seats are numbered 0..n_seats-1; seat fields are
`MAX_SEATS` wide. -1 stands for "none", "not yet" or "no limit".
"""

from __future__ import annotations

import numpy as np

from noms_env._jit import jit
from noms_env.core.actions import PHASES

MAX_SEATS = 7
STOCK = MAX_SEATS
"""The place of the undealt cards, behind those of the seats."""
MAX_TRICKS = 17
MAX_CALLS = 48
MAX_ROTATION = 10
MAX_DEALS = 36
MOST_MULTIPLIER = 2.0**999
"""Of the points of a deal, which each of 999 deals before it may have doubled."""
MOST_POINTS = 1e306
"""No total of a match is higher, nor lower than minus this."""
NUM_CHOICES = 96
"""Bytes of an observation for the options, 38 of them free; see `Option.byte`."""

MAX_VARIANTS = 16
"""Bytes of an observation for the variants."""

TRAIT_FIELDS = ("family", "total_scale", "total_offset", "simple_rollout", "opponents_score_tricks", "breaks_trumps")
"""Traits of the variant (`rulebook.Variant`) that compiled code asks for."""

HELD = 101
"""In `previous`: this and the seat stand for a card that was dealt but not played."""

MATCH, SINGLE_DEAL = 0, 1
EPISODES = ("match", "deal")

_I2, _I8, _F8 = np.int16, np.int64, np.float64

FIELDS = (
    # --- which stream of chance: see `chance`
    ("seed", _I8),
    ("table", _I8),
    ("match", _I8),
    # --- sets of cards
    ("cards", _I8),  # the deck in use
    ("hands", _I8, MAX_SEATS),  # what each seat holds now
    ("played", _I8, MAX_SEATS),  # what each seat has played in this deal
    ("cards_played", _I8),  # the union of `played`
    ("stock", _I8),  # undealt cards (Decktet: none; the up card and the Excuse are in fields of their own)
    ("refused", _I8),  # nominations refused under stock_nomination="redraw"
    ("trump_cards", _I8),  # the cards that bear the trump suit
    ("led_cards", _I8),  # the cards that bear the suit to follow
    ("legal_cards", _I8),  # legal cards to play, or to nominate in that phase
    ("legal_words", _I8),  # legal words: bit i is action FIRST_WORD + i
    # --- points
    ("totals", _F8, MAX_SEATS),  # of the match, this deal included once it is scored
    ("points", _F8, MAX_SEATS),  # of this deal, once it is scored
    ("multiplier", _F8),  # of the points of this deal: a power of 2, up to 2 ** 999
    # --- bytes packed into words, byte k in bits 8 * (k % 8) of word k // 8, as the observation shows them
    ("calls", _I8, MAX_CALLS // 8),  # 1 + call, in order from eldest
    ("trick_of", _I8, 7),  # per card: 1 + number of the trick it was played in, 0 unplayed
    ("previous", _I8, 7),  # per card: see `deal.remember`
    ("choices", _I8, NUM_CHOICES // 8),  # the variant's choices
    ("standings", _I8, MAX_SEATS),  # per seat, the first three bytes of the observation's section `seats`
    ("deal", np.int32),  # running number in the match, from 0
    # --- the variant and its choices
    ("variant", _I2),
    *((name, _I2) for name in TRAIT_FIELDS),
    ("deck_kind", _I2),
    ("n_seats", _I2),
    ("episode", _I2),  # the fields of the options follow
    ("trump_rotation", _I2, MAX_ROTATION),
    ("rotation_length", _I2),
    ("n_deals", _I2),  # deals of a match, -1 where it has no fixed length
    ("wanted_deal_size", _I2),  # episode "deal": only deals of this size, -1 for any
    ("usual_deal_size", _I2),  # where it is the same in every deal, else -1
    # --- the match
    ("dealer", _I2),
    ("passed_out", _I2),  # the last deal was passed out, so its cards are gathered sorted
    ("over", _I2),
    ("truncated", _I2),
    ("winners", _I2),  # bit set of seats, once the match is over
    ("carried_tricks", _I2, MAX_SEATS),  # tricks of the earlier deals (`accumulate`)
    # --- the deal
    ("deal_size", _I2),  # cards dealt to each seat
    ("turn_up", _I2),  # card
    ("phase", _I2),
    ("seat", _I2),  # to act
    ("n_calls", _I2),
    ("called", _I2),  # sum of the numbers called
    ("call", _I2, MAX_SEATS),  # latest call of each seat
    ("high_call", _I2),
    ("high_bidder", _I2),
    ("passes", _I2),  # in a row, up to now
    ("misere_height", _I2),  # where Misere stands between the numbers: 2 * number below it + 1, or -1
    ("open_misere", _I2),  # 1 where Mis a Vis exists
    ("contract", _I2),  # call
    ("declarer", _I2),
    ("alone", _I2),  # 1 if all know that there is no partner: nothing is nominated, or (`open_partner`) an undealt card
    ("trump", _I2),  # suit, NO_TRUMP or UNSAID
    ("nominated", _I2),  # card
    ("nominated_rank", _I2),  # bare rank
    ("partner", _I2),  # seat that was dealt the nominated card, the declarer excepted (hidden)
    ("revealed", _I2),  # seat known to all to have held the nominated card (the declarer too)
    ("indicated", _I2),  # seat
    ("excuse", _I2),  # seat that was dealt the Excuse (hidden until the bids are made)
    ("broken", _I2),  # a trump has been played
    ("exposed", _I2),  # seat whose hand lies open
    # --- the trick
    ("trick_number", _I2),  # tricks complete
    ("tricks", _I2, MAX_SEATS),
    ("leader", _I2),
    ("n_table", _I2),  # cards on the table
    ("on_table", _I2, MAX_SEATS),  # card of each seat in the present trick
    ("led_suit", _I2),  # -1 while it is not named
    ("best_card", _I2),
    ("best_seat", _I2),
    ("voids", _I2, MAX_SEATS),  # bit set of the suits that each seat has shown not to hold
    ("sniped", _I2),  # bit set of seats, once the match is scored
    # --- bytes
    ("sizes", np.int8, MAX_DEALS),  # hand size of each deal of the schedule (the exact-bid games)
    ("deck", np.int8, 52),  # in dealing order
    ("order", np.int8, 52),  # cards in the order in which they were played
    ("trick_winners", np.int8, MAX_TRICKS + 1),
)
"""The fields but for those of the options: name, type, length. `phase` is numbered as in `actions.PHASES`; `call` fields
count as `action - PASS`."""


@jit
def put_byte(words, place, value):
    """Set a byte that is 0 in an array of packed words (value 0..127)."""
    words[place >> 3] |= np.int64(value) << np.int64(8 * (place & 7))


@jit
def get_byte(words, place):
    """A byte of an array of packed words."""
    return (words[place >> 3] >> np.int64(8 * (place & 7))) & 255


@jit
def left_of(t, seat):
    """The next seat clockwise."""
    return seat + 1 if seat + 1 < t.n_seats else 0


@jit
def steps_to(t, seat, other):
    """Steps clockwise from a seat to another, 0 to n_seats - 1."""
    return other - seat if other >= seat else other - seat + t.n_seats


@jit
def eldest(t):
    """The seat that is dealt to first and calls first."""
    return left_of(t, t.dealer)


@jit
def all_hands(t):
    """The cards that the seats hold now."""
    cards = np.int64(0)
    for seat in range(t.n_seats):
        cards |= t.hands[seat]
    return cards


def phase_word(phase: int) -> str | None:
    """The name of a table's phase (`actions.PHASES`); None when nobody is to act."""
    return PHASES[phase] if phase < len(PHASES) else None
