"""What the rules of thumb are made of, once for both decks.

1. Cards not seen: all cards but the own hand and those played. They lie in the other hands, or in the stock; a seat that
   did not follow a suit has none of it. Beyond that every layout counts as equally likely (`look`, `none_of`, `room_for`).
2. Who takes this trick: a seat that is still to play beats the best card if it can and wants to, or if it must. It can
   with a higher card of the suit, or, void of the suit, with a trump; it must when all its cards of the suit are higher
   (`take_chance`). How much each seat wants to is what a family says in `eager`.
3. What the trick is worth: the worth of each seat times its chance to take the trick (`trick_value`). What it is worth to
   the player that a seat takes the trick is what a family says in `worth`; a few cards it may like for themselves.
4. What a card may take later: its chance, reckoned from a few counts (`count_features`) with measured weights. Most cards that
   might be played leave the others' chances alike, so a chance is reckoned once for all that change it alike (`kept_chance`).
5. How many tricks a hand may take: the chance of each number, as if its cards took their tricks independently
   (`spread_odds`).
6. Cards between which no card is missing are as good as one another; of those the lowest is considered. To win, or to lead,
   it plays the lowest of them; to throw a loser away, the highest (`top_of_run`).
7. A lead of trumps draws one trump from each other hand that has any (`trumps_drawn`).
8. Sure tricks: the trumps of the own hand that no card can beat (`sure_tricks`).

The functions look at the own hand and at public fields of the table, and at the sizes of the other hands only, not at
their cards. `t` is a table (`table_record.TABLE`), `m` the player's working memory (`MIND`); sets of cards are int64.
"""

from __future__ import annotations

import math

import numpy as np

from noms_env._jit import COMPILED, jit, lowest, size
from noms_env.core.cards import CARD_SUITS, FRENCH, NO_TRUMP, SUIT_CARDS, above, below, bit, has, suit_of
from noms_env.core.state import MAX_SEATS, MAX_TRICKS, left_of
from noms_env.core.tricks import beats, name_trump
from noms_env.observation.layout import CARD_BYTES
from noms_env.players.rule_based.weights import FEATURES, PLAIN, SIDE, TRUMP, WEIGHTS
from noms_env.variants.dispatch import out_of_play

LEAST_GAIN = 1e-9
"""By less than this no choice is better than another: rounding must not decide."""

CHANGES = 6
"""How a card that leaves the hand may bear on another's chance: it is not of its suit, above it or below it, and a trump or
not."""

MIND = np.dtype(
    [
        ("unseen", np.int64),  # cards that the seat has not seen
        ("held", np.int64),  # how many of them are in other hands, not in the stock
        ("share", np.float64),  # that number divided by that of all
        ("pressure", np.float64),  # tricks that the others want, per trick left (exact-bid games; else 0)
        ("worth", np.float64, MAX_SEATS),  # of the present trick, by the seat that takes it
        ("eager", np.float64, MAX_SEATS),  # chance that a seat which can take the trick, but need not, does
        ("liked", np.int64),  # cards that are worth a little more than reckoned
        ("liking", np.float64),  # how much
        ("wins", np.float64),  # chance of the seat itself in the last `trick_value`
        ("features", np.float64, FEATURES),
        ("chances", np.float64, (CHANGES, CARD_BYTES)),  # of cards to take a trick later (`kept_chance`)
        ("known", np.int64, CHANGES),  # the cards whose chance has been reckoned
        ("peers", np.int64, CARD_BYTES),  # of each own card, the suit in which it stands best, once `note_peers` was asked
        ("odds", np.float64, MAX_TRICKS + 2),  # chance of each number of tricks, from `spread_odds`
    ],
    align=True,
)
"""The working memory of the player; nothing in it outlasts a decision."""


def new_workspaces() -> np.ndarray:
    """Working memory, shape (1,), in the form that the compiled functions want (see `rows.kernel_view`)."""
    workspaces = np.zeros(1, MIND)
    return workspaces if COMPILED else workspaces.view(np.recarray)


# ------------------------------------------------------------------------------------------------ cards not seen


@jit
def look(t, seat, m):
    """1. Note what a seat has not seen."""
    m.unseen = t.cards & ~t.cards_played & ~t.hands[seat] & ~out_of_play(t) & ~t.refused
    m.held = 0
    for other in range(t.n_seats):
        if other != seat:
            m.held += size(t.hands[other])
    m.share = min(1.0, m.held / size(m.unseen)) if m.unseen != 0 else 0.0
    m.pressure = 0.0
    m.liked = 0
    for change in range(CHANGES):
        m.known[change] = 0


@jit
def none_of(k, cards, room):
    """1. Chance that none of k cards is among so many places of a room, in which each of them may lie anywhere."""
    chance = 1.0
    for i in range(k):
        if room - cards - i <= 0:
            return 0.0
        chance *= (room - cards - i) / (room - i)
    return chance


@jit
def room_for(t, seat, suit, m):
    """1. Places where an unseen card of a suit may lie: the other hands that are not void of it, and the stock."""
    room = size(m.unseen) - m.held
    for other in range(t.n_seats):
        if other != seat and not has(t.voids[other], suit):
            room += size(t.hands[other])
    return room


@jit
def sure_tricks(t, hand, m):
    """8. Trumps above all that are not seen."""
    trumps = hand & t.trump_cards
    missing = m.unseen & t.trump_cards
    sure = 0
    while trumps != 0:
        if above(missing, lowest(trumps)) == 0:
            sure += 1
        trumps &= trumps - 1
    return sure


# ------------------------------------------------------------------------------------------------ this trick


@jit
def beating(t, card, led_cards):
    """The cards that beat a card which bears the led suit or the trump."""
    if has(t.trump_cards, card):
        return above(t.trump_cards, card)
    return above(led_cards, card) | t.trump_cards


@jit
def take_chance(t, seat, other, card, suit, m):
    """2. Chance that a seat which is still to play beats the best card of a trick."""
    cards = size(t.hands[other])
    suited = m.unseen & SUIT_CARDS[t.deck_kind, suit]
    beaters = m.unseen & beating(t, card, SUIT_CARDS[t.deck_kind, suit])
    void, can, must = 1.0, 0.0, 0.0
    if not has(t.voids[other], suit):
        room = room_for(t, seat, suit, m)
        void = none_of(size(suited), cards, room)
        can = 1.0 - none_of(size(beaters & suited), cards, room)
        must = can * none_of(size(suited & ~beaters), cards, room)
    ruffs = size(beaters & ~suited)
    if ruffs > 0 and not has(t.voids[other], t.trump):
        can += void * (1.0 - none_of(ruffs, cards, room_for(t, seat, t.trump, m)))
    return must + m.eager[other] * (can - must)


@jit
def trick_value(t, seat, card, suit, m):
    """3. What the trick is worth if a seat plays a card to it (or leads it under a suit); notes its chance in `wins`."""
    best, winner = card, seat
    if t.n_table > 0 and t.leader != seat and not beats(card, t.best_card, t.led_cards, t.trump_cards):
        best, winner = int(t.best_card), int(t.best_seat)
    holds = 1.0
    value = 0.0
    other = left_of(t, seat)
    while other != t.leader:
        takes = holds * take_chance(t, seat, other, best, suit, m)
        value += takes * m.worth[other]
        holds -= takes
        other = left_of(t, other)
    m.wins = holds if winner == seat else 0.0
    return value + holds * m.worth[winner]


@jit
def best_suit(t, seat, card, m):
    """The suit under which a card is best played to the trick: the led suit, or for a lead one of the card's own."""
    if t.n_table > 0 and t.leader != seat:
        return int(t.led_suit)
    suits = CARD_SUITS[t.deck_kind, card]
    choice = lowest(suits)
    if suits & (suits - 1) == 0:
        return choice
    best = -np.inf
    while suits != 0:
        value = trick_value(t, seat, card, lowest(suits), m)
        if value > best + LEAST_GAIN:
            best, choice = value, lowest(suits)
        suits &= suits - 1
    return choice


# ------------------------------------------------------------------------------------------------ tricks to come


@jit
def count_features(t, hand, card, drawn, m):
    """4. The counts from which a card's chance is reckoned, in the order of `weights`.

    Args:
        t: the table.
        hand: the cards that will be left when the present trick is over; the card is one of them.
        card: which.
        drawn: trumps that will have been drawn from the other hands till then.
        m: its `features` are written.
    """
    peers, higher = rivals(t, card, m)
    others = t.n_seats - 1
    m.features[0] = 1.0
    m.features[1] = size(higher) * m.share
    m.features[2] = 1.0
    for _ in range(size(higher)):
        m.features[2] *= 1.0 - m.share
    m.features[3] = size(above(hand & peers, card))
    m.features[4] = size(below(hand & peers, card))
    m.features[5] = size(m.unseen & peers) * m.share / others
    m.features[6] = max(0.0, size(m.unseen & t.trump_cards & ~peers) * m.share - drawn) / others
    m.features[7] = size(hand & t.trump_cards)
    m.features[8] = m.pressure
    m.features[9] = size(hand)


@jit
def rivals(t, card, m):
    """The suit in which a card stands best, and the unseen cards of that suit which beat it (two sets)."""
    if has(t.trump_cards, card):
        return t.trump_cards, m.unseen & above(t.trump_cards, card)
    suits = CARD_SUITS[t.deck_kind, card]
    peers = SUIT_CARDS[t.deck_kind, lowest(suits)] & t.cards
    higher = m.unseen & peers & beating(t, card, peers)
    suits &= suits - 1
    if suits != 0:
        others = SUIT_CARDS[t.deck_kind, lowest(suits)] & t.cards
        beaters = m.unseen & others & beating(t, card, others)
        if size(beaters) < size(higher):
            return others, beaters
    return peers, higher


@jit
def later_chance(t, hand, card, drawn, mood, m):
    """4. Chance that a card takes a trick later on; `mood` is that of `weights`, the others are as for `count_features`."""
    count_features(t, hand, card, drawn, m)
    kind = PLAIN if t.trump_cards == 0 else TRUMP if has(t.trump_cards, card) else SIDE
    total = 0.0
    for i in range(FEATURES):
        total += WEIGHTS[mood, kind, i] * m.features[i]
    return 1.0 / (1.0 + math.exp(-total))


@jit
def note_peers(t, m):
    """4. Write `peers`, for `kept_chance`."""
    left = t.hands[t.seat]
    while left != 0:
        m.peers[lowest(left)], _ = rivals(t, lowest(left), m)
        left &= left - 1


@jit
def kept_chance(t, card, played, drawn, mood, m):
    """4. `later_chance` of an own card once another one has been played.

    Args:
        t: the table.
        card: which.
        played: the other card.
        drawn: trumps that it will have drawn: the same for all trumps that may be played, and none for others.
        mood: the same for all cards of a decision.
        m: its `known` and `peers` are of this decision (`look`, `note_peers`).
    """
    change = 0
    if has(m.peers[card], played):
        change = 1 if played > card else 2
    if has(t.trump_cards, played):
        change += 3
    if not has(m.known[change], card):
        m.known[change] |= bit(card)
        m.chances[change, card] = later_chance(t, t.hands[t.seat] & ~bit(played), card, drawn, mood, m)
    return m.chances[change, card]


@jit
def no_odds(most, m):
    """5. The chances of each number of tricks of a hand without cards."""
    m.odds[0] = 1.0
    for k in range(1, most + 1):
        m.odds[k] = 0.0


@jit
def add_to_odds(chance, most, m):
    """5. The same with one card more, which takes a trick with a chance."""
    for k in range(most, 0, -1):
        m.odds[k] += chance * (m.odds[k - 1] - m.odds[k])
    m.odds[0] *= 1.0 - chance


@jit
def spread_odds(t, hand, most, mood, m):
    """5. Write the chance of each number of tricks, from 0 to `most`, into `odds`; returns the expected number."""
    no_odds(most, m)
    expected = 0.0
    left = hand
    while left != 0:
        chance = later_chance(t, hand, lowest(left), 0.0, mood, m)
        expected += chance
        add_to_odds(chance, most, m)
        left &= left - 1
    return expected


@jit
def spread_kept_odds(t, played, most, mood, m):
    """5. The same for the own hand once a card has been played."""
    no_odds(most, m)
    drawn = trumps_drawn(t, played, m)
    expected = 0.0
    left = t.hands[t.seat] & ~bit(played)
    while left != 0:
        chance = kept_chance(t, lowest(left), played, drawn, mood, m)
        expected += chance
        add_to_odds(chance, most, m)
        left &= left - 1
    return expected


@jit
def trumps_drawn(t, card, m):
    """7. Trumps that the other hands will have lost when the trick is over, because this card was led."""
    if t.n_table > 0 or not has(t.trump_cards, card):
        return 0.0
    return min(t.n_seats - 1.0, size(m.unseen & t.trump_cards) * m.share)


# ------------------------------------------------------------------------------------------------ choosing


@jit
def different(t, cards, m):
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

    Args:
        t: the table.
        cards: the cards to choose from.
        mood: of the tricks to come.
        gain: what an own trick later on is worth.
        m: `worth` and `eager` are set.
    """
    seat = t.seat
    left = different(t, cards, m)
    choice = lowest(left)
    if left & (left - 1) == 0:
        return choice
    note_peers(t, m)
    best = -np.inf
    while left != 0:
        card = lowest(left)
        left &= left - 1
        value = trick_value(t, seat, card, best_suit(t, seat, card, m), m)
        if has(m.liked, card):
            value += m.liking
        value += gain * spread_kept_odds(t, card, 0, mood, m)
        if value > best + LEAST_GAIN:
            best, choice = value, card
    return choice


@jit
def loser_or(t, card, m):
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
def best_trump(t, mood, sign, m):
    """The trump under which the own hand takes most tricks, or fewest with `sign` -1; and that number, times the sign."""
    best, choice = -np.inf, NO_TRUMP
    for trump in range(NO_TRUMP + 1):
        if trump < t.suits or trump == NO_TRUMP:
            suppose_trump(t, trump)
            value = sign * spread_odds(t, t.hands[t.seat], 0, mood, m)
            if value > best + LEAST_GAIN:
                best, choice = value, trump
    suppose_trump(t, -1)
    return choice, best
