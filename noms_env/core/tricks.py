"""Following suit and winning tricks, for both decks (rules 0 and 5.2).

A suit is the set of cards that bear it. A two-suited card is in two such sets; otherwise both decks work alike.
"""

from __future__ import annotations

from noms_env._jit import jit
from noms_env.core.actions import PLAYING
from noms_env.core.cards import NO_TRUMP, SUIT_CARDS, above, has
from noms_env.core.state import put_byte


@jit
def follow(hand, led_cards):
    """Return the cards of a hand that may be played to a trick: those of the led suit, or else all."""
    suited = hand & led_cards
    return suited if suited != 0 else hand


@jit
def beats(card, best, led_cards, trump_cards):
    """Return whether a card played to a trick beats the best card so far (which bears the led suit or the trump)."""
    if has(trump_cards, card):
        return not has(trump_cards, best) or card > best
    return not has(trump_cards, best) and has(led_cards, card) and card > best


@jit
def beaters(card, led_cards, trump_cards):
    """Return all cards of the deck that beat a card of the led suit or the trump."""
    if has(trump_cards, card):
        return above(trump_cards, card)
    return above(led_cards, card) | trump_cards


@jit
def name_trump(t, trump):
    """Set the trump of the deal: a suit, or NO_TRUMP."""
    t.trump = trump
    t.trump_cards = SUIT_CARDS[t.deck_kind, trump] & t.cards if trump < NO_TRUMP else 0


@jit
def name_led_suit(t, suit):
    """Set the suit to follow in this trick."""
    t.led_suit = suit
    t.led_cards = SUIT_CARDS[t.deck_kind, suit] & t.cards


@jit
def lay(t, seat, card):
    """Move a card from a hand to the table; update the best card and the shown voids."""
    bit = 1 << int(card)
    t.hands[seat] &= ~bit
    t.played[seat] |= bit
    t.cards_played |= bit
    t.order[t.trick_number * t.n_seats + t.n_table] = card
    put_byte(t.trick_of, card, t.trick_number + 1)
    t.on_table[seat] = card
    t.n_table += 1
    if t.n_table == 1:
        t.best_card = card
        t.best_seat = seat
        return
    if not has(t.led_cards, card):
        t.voids[seat] |= 1 << int(t.led_suit)
    if beats(card, t.best_card, t.led_cards, t.trump_cards):
        t.best_card = card
        t.best_seat = seat


@jit
def take(t):
    """Give the complete trick to its winner, who leads the next trick."""
    winner = t.best_seat
    t.tricks[winner] += 1
    t.trick_winners[t.trick_number] = winner
    t.trick_number += 1
    open_trick(t, winner)


@jit
def open_play(t, leader):
    """Start the play of the cards."""
    t.phase = PLAYING
    t.seat = leader
    open_trick(t, leader)


@jit
def open_trick(t, leader):
    """Clear the table for the next trick."""
    t.leader = leader
    t.n_table = 0
    t.led_suit = -1
    t.led_cards = 0
    t.best_card = -1
    t.best_seat = -1
    for seat in range(t.n_seats):
        t.on_table[seat] = -1
