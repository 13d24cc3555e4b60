"""Building blocks of the rules of thumb, for both decks.

1. Unseen cards: all cards but the own hand and those played. They are in the other hands, or in the stock; a seat that did not
   follow a suit has none of it. All other layouts count as equally likely (`find_unseen`, `chance_of_none`, `room_for`).
2. Who takes this trick: a seat that is still to play beats the best card if it can and is eager to, or if it must. It can with
   a higher card of the suit, or, void of the suit, with a trump. It must when all its cards of the suit are higher
   (`beat_chance`). A family sets how eager each seat is in `eager`.
3. Value of the trick: the payoff of each seat times its chance to take the trick (`trick_value`). A family sets the player's
   payoff for each seat in `payoff`; it may prefer a few cards.
4. Later tricks of a card: its chance, computed from a few counts (`weights.COUNTS`) with fitted weights. Most plays change the
   other cards' chances alike, so each kind of change is computed once (`later_chance`), and terms that no play changes once for
   all (`write_card_terms`).
5. Later tricks of a hand: the chance of each number, as if its cards took their tricks independently (`spread_odds`), or only
   the expected number (`expected_tricks`).
6. Cards with no unseen card between them are equal; only the lowest is considered. To win, or to lead, the player takes the
   lowest of them; to throw a loser away, the highest (`highest_equal`).
7. A lead of trumps draws one trump from each other hand that has any (`trumps_drawn`).
8. Sure tricks: the trumps of the own hand that no card can beat (`sure_tricks`).

The functions read only the own hand, public fields of the table, and the sizes of the other hands. `t` is a table
(`table_record.TABLE`), `m` the player's working memory (`WORKSPACE`); sets of cards are int64.
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
from noms_env.players.rule_based.later_tricks import NO_CARD, expected_tricks, spread_odds, write_terms
from noms_env.players.rule_based.weights import DUCKING, TAKING
from noms_env.variants.dispatch import cards_out_of_play

ENDING = 3  # maximum number of cards in hand with which the player looks ahead (`endings`)
MIN_GAIN = 1e-9  # minimum advantage of a better choice, so that rounding does not decide

CHANGES = 6
"""Effects of a card that leaves the hand on another's chance: of another suit, above it or below it, and a trump or not."""

WORKSPACE = np.dtype(
    [
        ("version", np.int64),  # of the rules, from `FIRST` to `NEWEST`
        ("unseen", np.int64),  # cards that the seat has not seen
        ("n_held", np.int64),  # number of them in other hands, not in the stock
        ("share", np.float64),  # that number divided by the number of unseen cards
        ("pressure", np.float64),  # tricks that the others want, per trick left (exact-bid games; else 0)
        ("payoff", np.float64, MAX_SEATS),  # of the player, by the seat that takes the present trick
        ("eager", np.float64, MAX_SEATS),  # chance that a seat takes a trick that it could duck
        ("bonus_cards", np.int64),  # cards with a bonus
        ("bonus", np.float64),  # value added for each of them
        ("win_chance", np.float64),  # own chance to take the trick, from the last `trick_value`
        ("chances", np.float64, (CHANGES, CARD_BYTES)),  # of later tricks (`later_chance`, `endings.next_chance`)
        ("cached", np.int64, CHANGES),  # the cards with a cached chance
        ("peers", np.int64, CARD_BYTES),  # of each card after `write_card_terms`: the suit in which it ranks best
        ("kinds", np.int64, CARD_BYTES),  # its kind (`weights`)
        ("partial_sum", np.float64, CARD_BYTES),  # the first three terms of its sum (`weights.COUNTS`)
        ("suit_term", np.float64, CARD_BYTES),  # the term of the cards of its suit that the others hold
        ("other_trumps", np.float64, CARD_BYTES),  # expected trumps of another suit in the other hands
        ("worth", np.float64, ENDING + 1),  # value of each number of further tricks in an ending (`endings`)
        ("odds", np.float64, MAX_TRICKS + 2),  # chance of each number of tricks, from `spread_odds`
    ],
    align=True,
)
"""Working memory of the player; only the version outlasts a decision."""
_RECORD = np.dtype((np.record, WORKSPACE))  # one dtype object: numba inspects all fields of any other, 4 µs


def new_workspaces(version: int) -> np.ndarray:
    """Return working memory for a version of the rules, shape (1,), in the form of `row_kernels.kernel_view`."""
    workspaces = np.zeros(1, _RECORD).view(np.recarray)
    workspaces.version = version
    return kernel_view(workspaces)


@jit
def find_unseen(t, m):
    """1. Write the cards that the seat to act has not seen."""
    seat = t.seat
    m.unseen = t.cards & ~t.cards_played & ~t.hands[seat] & ~cards_out_of_play(t) & ~t.refused
    m.n_held = 0
    for other in range(t.n_seats):
        if other != seat:
            m.n_held += size(t.hands[other])
    m.share = min(1.0, m.n_held / size(m.unseen)) if m.unseen != 0 else 0.0
    m.pressure = 0.0
    m.bonus_cards = 0
    m.cached[:] = 0


def _chances_of_none() -> np.ndarray:
    max_suit = max(int(cards).bit_count() for cards in SUIT_CARDS.flat)
    cards, room = np.arange(MAX_TRICKS + 1)[:, np.newaxis], np.arange(CARD_BYTES + 1)
    chances = np.ones((MAX_TRICKS + 1, CARD_BYTES + 1, max_suit + 1))
    for k in range(max_suit):
        chances[..., k + 1] = chances[..., k] * (np.maximum(room - cards - k, 0) / np.maximum(room - k, 1))
    return chances


_CHANCE_OF_NONE = _chances_of_none()
"""[cards, room, k]: see `chance_of_none`. Without the table it would take a fifth of the player's time."""


@jit
def chance_of_none(k, cards, room):
    """1. Return the chance that none of k cards of a suit is in a hand of `cards` cards, if each may lie in `room` places."""
    return _CHANCE_OF_NONE[cards, max(room, 0), k]


@jit
def room_for(t, suit, m):
    """1. Return the number of places for an unseen card of a suit: the other hands that are not void of it, and the stock."""
    room = size(m.unseen) - m.n_held
    for other in range(t.n_seats):
        if other != t.seat and not has(t.voids[other], suit):
            room += size(t.hands[other])
    return room


@jit
def sure_tricks(t, hand, m):
    """8. Return the number of trumps above all unseen ones."""
    missing = m.unseen & t.trump_cards
    trumps = hand & t.trump_cards
    return size(above(trumps, highest(missing)) if missing != 0 else trumps)


@jit
def beat_chance(t, other, cards, card, suit, m):
    """2. Return the chance that a seat still to play, with `cards` cards, beats the best card of a trick."""
    suited = m.unseen & SUIT_CARDS[t.deck_kind, suit]
    stronger = m.unseen & beaters(card, SUIT_CARDS[t.deck_kind, suit], t.trump_cards)
    void, can, must = 1.0, 0.0, 0.0
    if not has(t.voids[other], suit):
        room = room_for(t, suit, m)
        void = chance_of_none(size(suited), cards, room)
        can = 1.0 - chance_of_none(size(stronger & suited), cards, room)
        must = can * chance_of_none(size(suited & ~stronger), cards, room)
    ruffs = size(stronger & ~suited)
    if ruffs > 0 and not has(t.voids[other], t.trump):
        can += void * (1.0 - chance_of_none(ruffs, cards, room_for(t, t.trump, m)))
    return can if cards == 1 and m.version > FIRST else must + m.eager[other] * (can - must)


@jit
def trick_value(t, card, suit, m):
    """3. Return the value of the trick if a card is played to it (or led under a suit); write the own chance to win it."""
    seat = t.seat
    best, winner = card, seat
    if t.n_table > 0 and t.leader != seat and not beats(card, t.best_card, t.led_cards, t.trump_cards):
        best, winner = int(t.best_card), int(t.best_seat)
    hold_chance = 1.0
    value = 0.0
    other = left_of(t, seat)
    while other != t.leader:
        take_chance = hold_chance * beat_chance(t, other, size(t.hands[other]), best, suit, m)
        value += take_chance * m.payoff[other]
        hold_chance -= take_chance
        other = left_of(t, other)
    m.win_chance = hold_chance if winner == seat else 0.0
    return value + hold_chance * m.payoff[winner]


@jit
def best_suit(t, card, m):
    """Return the best suit under which to play a card: the led suit, or for a lead one of the card's own."""
    if t.n_table > 0 and t.leader != t.seat:
        return int(t.led_suit)
    suits = CARD_SUITS[t.deck_kind, card]
    choice = lowest(suits)
    if suits & (suits - 1) == 0:
        return choice
    best = -np.inf
    while suits != 0:
        value = trick_value(t, card, lowest(suits), m)
        if value > best + MIN_GAIN:
            best, choice = value, lowest(suits)
        suits &= suits - 1
    return choice


@jit
def drop_equal_cards(t, cards, m):
    """6. Return the cards without those that equal a lower one among them (French deck)."""
    if t.deck_kind != FRENCH:
        return cards
    distinct = np.int64(0)
    previous = -1
    remaining = cards
    while remaining != 0:
        card = lowest(remaining)
        if previous < 0 or not is_equal(t, previous, card, m):
            distinct |= bit(card)
        previous = card
        remaining &= remaining - 1
    return distinct


@jit
def is_equal(t, low, high, m):
    """6. Return whether no unseen card, nor the best card of the trick, lies between two cards of one suit."""
    if suit_of(low) != suit_of(high):
        return False
    between = bit(high) - (bit(low) << 1)
    if t.n_table > 0 and has(between, t.best_card):
        return False
    return m.unseen & between == 0


@jit
def highest_equal(t, card, m):
    """6. Return the highest legal card that equals a card."""
    if t.deck_kind == FRENCH:
        remaining = above(t.legal_cards, card)
        while remaining != 0 and is_equal(t, card, lowest(remaining), m):
            card = lowest(remaining)
            remaining &= remaining - 1
    return card


@jit
def best_card(t, cards, mood, gain, m):
    """Return the card that maximises the value of this trick and of the cards kept.

    `mood` is that of later tricks, `gain` the payoff of an own later trick; `payoff` and `eager` are set.
    """
    remaining = drop_equal_cards(t, cards, m)
    choice = lowest(remaining)
    if remaining & (remaining - 1) == 0:
        return choice
    write_terms(t, mood, m)
    best = -np.inf
    while remaining != 0:
        card = lowest(remaining)
        remaining &= remaining - 1
        value = trick_value(t, card, best_suit(t, card, m), m)
        if has(m.bonus_cards, card):
            value += m.bonus
        value += gain * expected_tricks(t, card, mood, m)
        if value > best + MIN_GAIN:
            best, choice = value, card
    return choice


@jit
def prefer_loser(t, card, m):
    """6. Return the highest card that equals a card, if it will not win the trick; else the card."""
    if t.n_table == 0 or beats(card, t.best_card, t.led_cards, t.trump_cards):
        return card
    return highest_equal(t, card, m)


@jit
def assume_trump(t, trump):
    """Assume that a suit (or NO_TRUMP) is trump; -1 resets it."""
    if trump >= 0:
        name_trump(t, trump)
    else:
        t.trump = -1
        t.trump_cards = 0


@jit
def best_trump(t, ducks, m):
    """Return the trump under which the own hand takes most tricks, or fewest; and that number, negative if fewest."""
    mood, sign = (DUCKING, -1.0) if ducks else (TAKING, 1.0)
    best, choice = -np.inf, NO_TRUMP
    for trump in range(NO_TRUMP + 1):
        if trump < t.suits or trump == NO_TRUMP:
            assume_trump(t, trump)
            value = sign * spread_odds(t, t.hands[t.seat], NO_CARD, 0, mood, m)
            if value > best + MIN_GAIN:
                best, choice = value, trump
    assume_trump(t, -1)
    return choice, best


@jit
def by_rank(cards, sign):
    """Return the card of the highest rank (French deck), or of the lowest with `sign` -1; of equals the lowest number."""
    choice = lowest(cards)
    while cards != 0:
        if sign * CARD_RANK[FRENCH, lowest(cards)] > sign * CARD_RANK[FRENCH, choice]:
            choice = lowest(cards)
        cards &= cards - 1
    return choice
