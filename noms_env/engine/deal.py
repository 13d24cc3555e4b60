"""Starting a match, and shuffling and dealing its hands."""

from __future__ import annotations

import numpy as np

from noms_env._jit import jit, lowest
from noms_env.core.cards import bit
from noms_env.core.chance import DRAW_DEALER, DRAW_PLACE, DRAW_SHUFFLE, draw_below, shuffle
from noms_env.core.state import MAX_SEATS, SINGLE_DEAL, all_hands, eldest, left_of
from noms_env.engine.legal import find_legal
from noms_env.variants import dispatch


@jit
def start_match(t):
    """Start the match of (seed, table, match): first dealer, place in the schedule, first deal."""
    begin_match(t)
    shuffle_deck(t)
    hand_out(t)


@jit
def begin_match(t):
    """Reset the fields of the match, and draw the first dealer and the place in the schedule."""
    t.deal = t.over = t.truncated = t.winners = t.passed_out = 0
    t.multiplier = 1
    t.totals[:] = 0
    t.carried_tricks[:] = 0
    t.previous[:] = 0
    t.dealer = draw_below(t, DRAW_DEALER, int(t.n_seats))
    if t.episode == SINGLE_DEAL and t.sizes[0] > 0:
        t.deal = draw_place(t)


@jit
def draw_place(t):
    """Draw a place in the schedule, uniformly among those with the wanted hand size (all if none is wanted)."""
    n_places = 0
    for place in range(t.n_deals):
        if t.wanted_deal_size < 0 or t.sizes[place] == t.wanted_deal_size:
            n_places += 1
    skips = draw_below(t, DRAW_PLACE, n_places)
    for place in range(t.n_deals):
        if t.wanted_deal_size < 0 or t.sizes[place] == t.wanted_deal_size:
            if skips == 0:
                return place
            skips -= 1
    return 0


@jit
def next_deal(t):
    """Start the next deal of the match, with deck, dealer and multiplier from the scored deal."""
    dispatch.close_deal(t)
    t.deal += 1
    if dispatch.gathers(t):
        dispatch.gather(t)
    else:
        shuffle_deck(t)
    t.multiplier = dispatch.next_multiplier(t)
    t.dealer = left_of(t, t.dealer)
    t.passed_out = 0
    hand_out(t)


@jit
def shuffle_deck(t):
    """Shuffle the deck in use uniformly."""
    count = 0
    cards = t.cards
    while cards != 0:
        card = lowest(cards)
        cards &= ~bit(card)
        t.deck[count] = card
        count += 1
    shuffle(t, DRAW_SHUFFLE, t.deck, count)
    dispatch.after_shuffle(t)


@jit
def hand_out(t):
    """Deal `deck`, and open the deal."""
    clear_deal(t)
    t.deal_size = t.sizes[t.deal] if t.sizes[0] > 0 else t.usual_deal_size
    seat, packets = eldest(t), dispatch.deals_packets(t)
    for turn in range(t.n_seats):
        for k in range(t.deal_size):
            t.hands[seat] |= bit(int(t.deck[dispatch.deck_place(packets, t.n_seats, turn, k)]))
        seat = left_of(t, seat)
    t.stock = t.cards & ~all_hands(t)
    write_standings(t)
    dispatch.open_deal(t)
    find_legal(t)


@jit
def write_standings(t):
    """Store the results of the seats so far, as observations show them: two bytes, then 1 for a seat in use.

    The first byte is the total at the variant's scale. The second is a quarter of the total, for totals beyond that range.
    """
    for seat in range(t.n_seats):
        total = dispatch.standing(t, seat)
        fine = np.int64(min(max(t.total_scale * total + t.total_offset + 0.5, 0.0), 255.0))
        coarse = np.int64(min(max(total / 4 + 64.5, 0.0), 255.0))
        t.standings[seat] = fine | (coarse << 8) | (1 << 16)


@jit
def clear_deal(t):
    """Reset the fields of the deal."""
    for seat in range(MAX_SEATS):
        t.hands[seat] = 0
        t.played[seat] = 0
        t.points[seat] = 0
        t.call[seat] = -1
        t.tricks[seat] = 0
        t.on_table[seat] = -1
        t.voids[seat] = 0
    t.calls[:] = 0
    t.order[:] = -1
    t.trick_winners[:] = -1
    t.trick_of[:] = 0
    t.cards_played = t.refused = t.trump_cards = t.led_cards = np.int64(0)
    t.n_calls = t.called = t.passes = t.open_misere = t.alone = t.broken = t.trick_number = t.n_table = t.sniped = 0
    t.turn_up = t.high_call = t.high_bidder = t.misere_height = t.contract = t.declarer = -1
    t.trump = t.nominated = t.nominated_rank = t.partner = t.revealed = t.indicated = t.excuse = t.exposed = -1
    t.leader = t.led_suit = t.best_card = t.best_seat = -1
