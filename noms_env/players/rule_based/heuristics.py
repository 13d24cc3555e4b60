"""What the rules of thumb are made of, once for both decks.

1. Cards not seen: all cards but the own hand and those played. They lie in the other hands, or in the stock; a seat that
   did not follow a suit has none of it. Beyond that every layout counts as equally likely (`look`, `none_of`, `room_for`).
2. Who takes this trick: a seat that is still to play beats the best card if it can and wants to, or if it must. It can
   with a higher card of the suit, or, void of the suit, with a trump; it must when all its cards of the suit are higher
   (`take_chance`). How much each seat wants to is what a family says in `eager`.
3. What the trick is worth: the payoff of each seat times its chance to take the trick (`trick_value`). What it is worth to
   the player that a seat takes the trick is what a family says in `payoff`; a few cards it may like for themselves.
4. What a card may take later: its chance, reckoned from a few counts (`weights.COUNTS`) with measured weights. Most cards that
   might be played leave the others' chances alike, so a chance is reckoned once for all that change it alike (`kept_chance`),
   and what no card changes once for all (`note_card`).
5. How many tricks a hand may take: the chance of each number, as if its cards took their tricks independently
   (`spread_odds`), or only how many are expected (`kept_tricks`).
6. Cards between which no card is missing are as good as one another; of those the lowest is considered. To win, or to lead,
   it plays the lowest of them; to throw a loser away, the highest (`top_of_run`).
7. A lead of trumps draws one trump from each other hand that has any (`trumps_drawn`).
8. Sure tricks: the trumps of the own hand that no card can beat (`sure_tricks`).
The functions look at the own hand and at public fields of the table, and at the sizes of the other hands only, not at
their cards. `t` is a table (`table_record.TABLE`), `m` the player's working memory (`WORKSPACE`); sets of cards are int64.
"""

from __future__ import annotations

import numpy as np

from noms_env._jit import highest, jit, lowest, size
from noms_env.core.cards import CARD_RANK, CARD_SUITS, FRENCH, NO_TRUMP, SUIT_CARDS, above, bit, has, suit_of
from noms_env.core.state import MAX_SEATS, MAX_TRICKS, left_of
from noms_env.core.tricks import beaters, beats, name_trump
from noms_env.engine.row_kernels import kernel_view
from noms_env.observation.layout import CARD_BYTES
from noms_env.players.registry import FIRST
from noms_env.players.rule_based.later_tricks import NO_CARD, kept_tricks, note_cards, spread_odds
from noms_env.players.rule_based.weights import DUCKING, TAKING
from noms_env.variants.dispatch import out_of_play

ENDING = 3
"""With so many cards in hand, and fewer, the player looks ahead (`endings`)."""
LEAST_GAIN = 1e-9
"""By less than this no choice is better than another: rounding must not decide."""

CHANGES = 6
"""How a card that leaves the hand may bear on another's chance: it is not of its suit, above it or below it, and a trump or
not."""

WORKSPACE = np.dtype(
    [
        ("version", np.int64),  # of the rules, from `FIRST` to `NEWEST`
        ("unseen", np.int64),  # cards that the seat has not seen
        ("held", np.int64),  # how many of them are in other hands, not in the stock
        ("share", np.float64),  # that number divided by that of all
        ("pressure", np.float64),  # tricks that the others want, per trick left (exact-bid games; else 0)
        ("payoff", np.float64, MAX_SEATS),  # to the player, by the seat that takes the present trick
        ("eager", np.float64, MAX_SEATS),  # chance that a seat which can take the trick, but need not, does
        ("liked", np.int64),  # cards that are worth a little more than reckoned
        ("liking", np.float64),  # how much
        ("wins", np.float64),  # chance of the seat itself in the last `trick_value`
        ("chances", np.float64, (CHANGES, CARD_BYTES)),  # of cards to take a trick later (`kept_chance`, `endings.next_chance`)
        ("known", np.int64, CHANGES),  # the cards whose chance has been reckoned
        ("peers", np.int64, CARD_BYTES),  # of each card of which `note_card` was called: the suit in which it stands best
        ("kinds", np.int64, CARD_BYTES),  # its kind (`weights`)
        ("begun", np.float64, CARD_BYTES),  # the first three terms of its sum (`weights.COUNTS`)
        ("suited", np.float64, CARD_BYTES),  # the term of the cards of its suit that the others hold
        ("trumps", np.float64, CARD_BYTES),  # how many trumps of another suit the others are expected to hold
        ("worth", np.float64, ENDING + 1),  # of each number of tricks to come in an ending (`endings`)
        ("odds", np.float64, MAX_TRICKS + 2),  # chance of each number of tricks, from `spread_odds`
    ],
    align=True,
)
"""The working memory of the player; nothing in it but the version outlasts a decision."""
_RECORD = np.dtype((np.record, WORKSPACE))  # one object: numba looks at all fields of another for 4 µs


def new_workspaces(version: int) -> np.ndarray:
    """Working memory for a version of the rules, shape (1,), as the compiled functions want it (`row_kernels.kernel_view`)."""
    workspaces = np.zeros(1, _RECORD).view(np.recarray)
    workspaces.version = version
    return kernel_view(workspaces)


@jit
def look(t, m):
    """1. Note what the seat to act has not seen."""
    seat = t.seat
    m.unseen = t.cards & ~t.cards_played & ~t.hands[seat] & ~out_of_play(t) & ~t.refused
    m.held = 0
    for other in range(t.n_seats):
        if other != seat:
            m.held += size(t.hands[other])
    m.share = min(1.0, m.held / size(m.unseen)) if m.unseen != 0 else 0.0
    m.pressure = 0.0
    m.liked = 0
    m.known[:] = 0


def _chances_of_none() -> np.ndarray:
    most = max(int(cards).bit_count() for cards in SUIT_CARDS.flat)
    cards, room = np.arange(MAX_TRICKS + 1)[:, np.newaxis], np.arange(CARD_BYTES + 1)
    chances = np.ones((MAX_TRICKS + 1, CARD_BYTES + 1, most + 1))
    for k in range(most):
        chances[..., k + 1] = chances[..., k] * (np.maximum(room - cards - k, 0) / np.maximum(room - k, 1))
    return chances


_NONE_OF = _chances_of_none()
"""[cards, room, k]: see `none_of`. Worked out anew each time it took a fifth of the player's time."""


@jit
def none_of(k, cards, room):
    """1. Chance that none of k cards of a suit is among so many places of a room, in which each of them may lie anywhere."""
    return _NONE_OF[cards, max(room, 0), k]


@jit
def room_for(t, suit, m):
    """1. Places where an unseen card of a suit may lie: the other hands that are not void of it, and the stock."""
    room = size(m.unseen) - m.held
    for other in range(t.n_seats):
        if other != t.seat and not has(t.voids[other], suit):
            room += size(t.hands[other])
    return room


@jit
def sure_tricks(t, hand, m):
    """8. Trumps above all that are not seen."""
    missing = m.unseen & t.trump_cards
    trumps = hand & t.trump_cards
    return size(above(trumps, highest(missing)) if missing != 0 else trumps)


@jit
def take_chance(t, other, card, suit, m):
    """2. Chance that a seat which is still to play beats the best card of a trick."""
    return beat_chance(t, other, size(t.hands[other]), card, suit, m)


@jit
def beat_chance(t, other, cards, card, suit, m):
    """2. The same of a seat that holds so many cards."""
    suited = m.unseen & SUIT_CARDS[t.deck_kind, suit]
    stronger = m.unseen & beaters(card, SUIT_CARDS[t.deck_kind, suit], t.trump_cards)
    void, can, must = 1.0, 0.0, 0.0
    if not has(t.voids[other], suit):
        room = room_for(t, suit, m)
        void = none_of(size(suited), cards, room)
        can = 1.0 - none_of(size(stronger & suited), cards, room)
        must = can * none_of(size(suited & ~stronger), cards, room)
    ruffs = size(stronger & ~suited)
    if ruffs > 0 and not has(t.voids[other], t.trump):
        can += void * (1.0 - none_of(ruffs, cards, room_for(t, t.trump, m)))
    return can if cards == 1 and m.version > FIRST else must + m.eager[other] * (can - must)


@jit
def trick_value(t, card, suit, m):
    """3. What the trick is worth if a card is played to it (or led under a suit); notes the own chance in `wins`."""
    seat = t.seat
    best, winner = card, seat
    if t.n_table > 0 and t.leader != seat and not beats(card, t.best_card, t.led_cards, t.trump_cards):
        best, winner = int(t.best_card), int(t.best_seat)
    holds = 1.0
    value = 0.0
    other = left_of(t, seat)
    while other != t.leader:
        takes = holds * take_chance(t, other, best, suit, m)
        value += takes * m.payoff[other]
        holds -= takes
        other = left_of(t, other)
    m.wins = holds if winner == seat else 0.0
    return value + holds * m.payoff[winner]


@jit
def best_suit(t, card, m):
    """The suit under which a card is best played to the trick: the led suit, or for a lead one of the card's own."""
    if t.n_table > 0 and t.leader != t.seat:
        return int(t.led_suit)
    suits = CARD_SUITS[t.deck_kind, card]
    choice = lowest(suits)
    if suits & (suits - 1) == 0:
        return choice
    best = -np.inf
    while suits != 0:
        value = trick_value(t, card, lowest(suits), m)
        if value > best + LEAST_GAIN:
            best, choice = value, lowest(suits)
        suits &= suits - 1
    return choice


@jit
def drop_equal_cards(t, cards, m):
    """6. Legal cards without those that are as good as a lower one among them (French deck)."""
    if t.deck_kind != FRENCH:
        return cards
    kept = np.int64(0)
    last = -1
    left = cards
    while left != 0:
        card = lowest(left)
        if last < 0 or not is_equal(t, last, card, m):
            kept |= bit(card)
        last = card
        left &= left - 1
    return kept


@jit
def is_equal(t, low, high, m):
    """6. True if no card that is not seen, and not the best card of the trick, lies between two cards of one suit."""
    if suit_of(low) != suit_of(high):
        return False
    between = bit(high) - (bit(low) << 1)
    if t.n_table > 0 and has(between, t.best_card):
        return False
    return m.unseen & between == 0


@jit
def top_of_run(t, card, m):
    """6. The highest legal card that is as good as a card."""
    if t.deck_kind == FRENCH:
        left = above(t.legal_cards, card)
        while left != 0 and is_equal(t, card, lowest(left), m):
            card = lowest(left)
            left &= left - 1
    return card


@jit
def best_card(t, cards, mood, gain, m):
    """The card with which this trick and the cards kept are worth most.

    `mood` is that of later tricks, `gain` the worth of an own later trick; `payoff` and `eager` are set.
    """
    left = drop_equal_cards(t, cards, m)
    choice = lowest(left)
    if left & (left - 1) == 0:
        return choice
    note_cards(t, mood, m)
    best = -np.inf
    while left != 0:
        card = lowest(left)
        left &= left - 1
        value = trick_value(t, card, best_suit(t, card, m), m)
        if has(m.liked, card):
            value += m.liking
        value += gain * kept_tricks(t, card, mood, m)
        if value > best + LEAST_GAIN:
            best, choice = value, card
    return choice


@jit
def prefer_loser(t, card, m):
    """6. The highest card as good as a card, if that will not win the trick; else the card."""
    if t.n_table == 0 or beats(card, t.best_card, t.led_cards, t.trump_cards):
        return card
    return top_of_run(t, card, m)


@jit
def suppose_trump(t, trump):
    """Let a suit (or NO_TRUMP) be trump; -1 takes it back."""
    if trump >= 0:
        name_trump(t, trump)
    else:
        t.trump = -1
        t.trump_cards = 0


@jit
def best_trump(t, ducks, m):
    """The trump under which the own hand takes most tricks, or fewest; and that number, negative if fewest."""
    mood, sign = (DUCKING, -1.0) if ducks else (TAKING, 1.0)
    best, choice = -np.inf, NO_TRUMP
    for trump in range(NO_TRUMP + 1):
        if trump < t.suits or trump == NO_TRUMP:
            suppose_trump(t, trump)
            value = sign * spread_odds(t, t.hands[t.seat], NO_CARD, 0, mood, m)
            if value > best + LEAST_GAIN:
                best, choice = value, trump
    suppose_trump(t, -1)
    return choice, best


@jit
def by_rank(cards, sign):
    """The card of the highest rank in a set (French deck), or of the lowest with `sign` -1; of equals the lowest number."""
    choice = lowest(cards)
    while cards != 0:
        if sign * CARD_RANK[FRENCH, lowest(cards)] > sign * CARD_RANK[FRENCH, choice]:
            choice = lowest(cards)
        cards &= cards - 1
    return choice
