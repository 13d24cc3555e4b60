"""The fields of a table's record: the whole state of a match.

`variants.table_record` adds a field for each option and builds the numpy dtype. Fields used in arithmetic are int16 or wider
(narrower ones wrap differently with the compiler off); cards in int8 fields are read through `int(...)`. Sets of cards and of
words are int64 (`cards`, `actions`). Seats are numbered 0..n_seats-1; fields of seats have `MAX_SEATS` entries. -1 stands for
"none", "not yet" or "no limit".
"""

from __future__ import annotations

import numpy as np

from noms_env._jit import jit
from noms_env.core.actions import PHASES

MAX_SEATS = 7
STOCK = MAX_SEATS
"""The place of the undealt cards, after the places of the seats."""
MAX_TRICKS = 17
MAX_CALLS = 48
MAX_ROTATION = 10
MAX_DEALS = 36
MAX_MULTIPLIER = 2.0**999
"""Upper bound of a deal's multiplier: each of 999 earlier deals can double it."""
MAX_POINTS = 1e306
"""Bound of the totals of a match, in absolute value."""
NUM_CHOICES = 96
"""Bytes of an observation for the options; 38 are free (see `Option.byte`)."""

MAX_VARIANTS = 16
"""Bytes of an observation for the variants."""

TRAIT_FIELDS = ("family", "total_scale", "total_offset", "simple_rollout", "opponents_score_tricks", "breaks_trumps")
"""Traits of the variant (`rulebook.Variant`) that compiled code reads."""

HELD = 101
"""In `previous`, `HELD + seat` marks a card that was dealt but not played."""

MATCH, SINGLE_DEAL = 0, 1
EPISODES = ("match", "deal")

_I2, _I8, _F8 = np.int16, np.int64, np.float64

FIELDS = (
    # --- the stream of random numbers: see `chance`
    ("seed", _I8),
    ("table", _I8),
    ("match", _I8),
    # --- sets of cards
    ("cards", _I8),  # the deck in use
    ("hands", _I8, MAX_SEATS),  # held by each seat now
    ("played", _I8, MAX_SEATS),  # played by each seat in this deal
    ("cards_played", _I8),  # the union of `played`
    ("stock", _I8),  # undealt cards (Decktet: none; the up card and the Excuse are in fields of their own)
    ("refused", _I8),  # nominations refused under stock_nomination="redraw"
    ("trump_cards", _I8),  # the cards that bear the trump suit
    ("led_cards", _I8),  # the cards that bear the suit to follow
    ("legal_cards", _I8),  # legal cards to play, or to nominate
    ("legal_words", _I8),  # legal words: bit i is action FIRST_WORD + i
    # --- points
    ("totals", _F8, MAX_SEATS),  # of the match, including this deal once it is scored
    ("points", _F8, MAX_SEATS),  # of this deal, once it is scored
    ("multiplier", _F8),  # of this deal's points: a power of 2, up to 2 ** 999
    # --- bytes packed into words as in observations: byte k is in bits 8 * (k % 8) of word k // 8
    ("calls", _I8, MAX_CALLS // 8),  # 1 + call, in order from eldest
    ("trick_of", _I8, 7),  # per card: 1 + number of the trick it was played in, 0 unplayed
    ("previous", _I8, 7),  # per card: see `noms_deck.store_previous_deal`
    ("choices", _I8, NUM_CHOICES // 8),  # the variant's options, see `table_record.choice_bytes`
    ("standings", _I8, MAX_SEATS),  # per seat, the first three bytes of the observation's section `seats`
    ("deal", np.int32),  # index in the match, from 0
    # --- the variant and its options
    ("variant", _I2),
    *((name, _I2) for name in TRAIT_FIELDS),
    ("deck_kind", _I2),
    ("n_seats", _I2),
    ("episode", _I2),  # the fields of the options follow
    ("trump_rotation", _I2, MAX_ROTATION),
    ("rotation_length", _I2),
    ("n_deals", _I2),  # deals of a match, -1 if it has no fixed length
    ("wanted_deal_size", _I2),  # episode "deal": only deals of this size, -1 for any
    ("usual_deal_size", _I2),  # if it is the same in every deal, else -1
    # --- the match
    ("dealer", _I2),
    ("passed_out", _I2),  # 1 if all seats passed in this deal, so its cards are gathered sorted
    ("over", _I2),
    ("truncated", _I2),
    ("winners", _I2),  # bit set of seats, once the match is over
    ("carried_tricks", _I2, MAX_SEATS),  # tricks in the earlier deals (`accumulate`)
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
    ("passes", _I2),  # consecutive passes up to now
    ("misere_height", _I2),  # 2 * the number below Misere + 1, or -1 without Misere
    ("open_misere", _I2),  # 1 if Mis a Vis can be bid
    ("contract", _I2),  # call
    ("declarer", _I2),
    ("alone", _I2),  # 1 if it is public that there is no partner: no nomination, or (`open_partner`) of an undealt card
    ("trump", _I2),  # suit, NO_TRUMP or UNSAID
    ("nominated", _I2),  # card
    ("nominated_rank", _I2),  # bare rank
    ("partner", _I2),  # seat that was dealt the nominated card, unless the declarer (hidden)
    ("revealed", _I2),  # seat publicly known to have held the nominated card (perhaps the declarer)
    ("indicated", _I2),  # seat
    ("excuse", _I2),  # seat that was dealt the Excuse (hidden until the bids are made)
    ("broken", _I2),  # a trump has been played
    ("exposed", _I2),  # seat with an open hand
    # --- the trick
    ("trick_number", _I2),  # tricks complete
    ("tricks", _I2, MAX_SEATS),
    ("leader", _I2),
    ("n_table", _I2),  # cards on the table
    ("on_table", _I2, MAX_SEATS),  # card of each seat in the current trick
    ("led_suit", _I2),  # -1 until it is named
    ("best_card", _I2),
    ("best_seat", _I2),
    ("voids", _I2, MAX_SEATS),  # bit set of the suits in which each seat has shown a void
    ("sniped", _I2),  # bit set of seats, once the match is scored
    # --- bytes
    ("sizes", np.int8, MAX_DEALS),  # hand size of each deal of the schedule (the exact-bid games)
    ("deck", np.int8, 52),  # in dealing order
    ("order", np.int8, 52),  # cards in playing order
    ("trick_winners", np.int8, MAX_TRICKS + 1),
)
"""The fields without those of the options: name, type, length. `phase` is an index into `actions.PHASES`; fields of calls hold
`action - PASS`."""


@jit
def put_byte(words, place, value):
    """Set a byte in an array of packed words (value 0..127); it must be 0 before."""
    words[place >> 3] |= np.int64(value) << np.int64(8 * (place & 7))


@jit
def get_byte(words, place):
    """Return a byte of an array of packed words."""
    return (words[place >> 3] >> np.int64(8 * (place & 7))) & 255


@jit
def left_of(t, seat):
    """Return the next seat clockwise."""
    return seat + 1 if seat + 1 < t.n_seats else 0


@jit
def steps_to(t, seat, other):
    """Return the clockwise steps from one seat to another, 0 to n_seats - 1."""
    return other - seat if other >= seat else other - seat + t.n_seats


@jit
def eldest(t):
    """Return the seat on the dealer's left, which is dealt to first and calls first."""
    return left_of(t, t.dealer)


@jit
def all_hands(t):
    """Return the cards that the seats hold now."""
    cards = np.int64(0)
    for seat in range(t.n_seats):
        cards |= t.hands[seat]
    return cards


def phase_word(phase: int) -> str | None:
    """Return the name of a phase (`actions.PHASES`); None if no seat is to act."""
    return PHASES[phase] if phase < len(PHASES) else None
