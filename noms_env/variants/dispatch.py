"""The only module that branches on the variant: each hook of the rules, and the variants that implement it.

Each hook takes the table `t`. Its code names the variants, or the families of variants (`families`), that implement it. The
last column lists the others: they use the default, or never call the hook.

| hooks | effect | not implemented by |
|---|---|---|
| `gathers`, `gather` | whether the deck is gathered from this deal's cards; gather it | plain, exact_bid, small_ships, shares |
| `after_shuffle` | after a shuffle: cut the deck if later decks are gathered | plain, exact_bid, small_ships, shares |
| `deals_packets` | whether cards are dealt in packets, not one by one | plain, exact_bid, small_ships, shares |
| `open_deal` | after the cards are dealt: set trump if it is known, the first phase and the first seat | |
| `close_deal` | before the next deal of the match | exact_bid, small_ships, shares |
| `next_multiplier` | the multiplier of the next deal's points | plain, exact_bid, small_ships, shares |
| `legal_calls`, `make_call` | legal calls of the seat to act, as a set of calls; apply its call | plain |
| `legal_trumps`, `make_trump` | legal trumps, as a set of words; apply the choice of the seat to act | exact_bid |
| `legal_nominations`, `make_nomination` | the cards that may be nominated; apply a nomination | plain, exact_bid, shares |
| `legal_ranks`, `make_rank_nomination` | the same for bare ranks, as a set of words | plain, exact_bid, small_ships, shares |
| `legal_leads` | the cards of a hand that may be led | plain, exact_bid, noms |
| `may_indicate`, `indicate` | whether the seat to act may show the nominated card; show it | plain, exact_bid, noms, shares |
| `after_card` | after a card is played and `tricks` has applied the common rules | plain, exact_bid, shares |
| `after_trick` | after a trick is complete | plain, exact_bid, small_ships, shares |
| `is_decided` | whether the deal ends before the hands are empty | plain, exact_bid, small_ships, shares |
| `settle` | write the points of the deal into `points` | |
| `has_ended` | whether the match ends with the scored deal; default: after a fixed number of deals | plain, exact_bid |
| `has_run_out` | whether a match that has not ended is truncated | plain, exact_bid, small_ships |
| `find_winners` | the winners of a match, as a bit set; default: the highest totals | exact_bid, auction, shares |
| `standing` | a seat's result so far, for observations; default: its total | exact_bid, auction, shares |
| `excuse_is_shown` | whether all seats know who was dealt the Excuse | plain, exact_bid, auction |
| `note_open_cards` | add to `known` the unplayed cards whose place a seat knows by the rules, except open hands | |
| `knows_stock` | whether a seat knows which cards are undealt | plain, exact_bid, noms, shares |
| `rule_out` | remove from `allowed` the cards that a place cannot hold; the field `partner` is scratch | plain, exact_bid |
| `cards_out_of_play` | the cards of the deck that no seat can hold now | plain, exact_bid, auction |
| `find_holders` | after the hands have changed: find again who was dealt the cards that matter | plain, exact_bid |
| `dealt_hand` | the hand that a seat was dealt; default: the cards that it holds or has played | plain, exact_bid, auction |
| `misere_points` | the points of Misere made alone | plain, exact_bid, shares |
| `misere_costs_tricks` | whether failed Misere costs points and tricks; else opponents score | plain, exact_bid, shares |
| `indication_price` | the points that indicating costs | plain, exact_bid, noms, shares |
| `common_sides` | whether the members of a side share all points: 2 fully, 1 nearly, 0 not | plain, exact_bid, shares |

`known` and `allowed` are int64, shape (STOCK + 1,): sets of cards at each seat and in the stock.
"""

from __future__ import annotations

import numpy as np

from noms_env._jit import jit
from noms_env.core.bids import exact_calls
from noms_env.core.partners import reveal
from noms_env.variants import big_ships, down_up, noms, noms_deck, nonesuch, small_ships, sniped_whist, trumps, up_down
from noms_env.variants.families import AUCTION, EXACT_BID, auction, exact_bid
from noms_env.variants.match import highest_totals, reaches_target

IMPLEMENTED = (
    *(sniped_whist.NUMBER, big_ships.NUMBER, small_ships.NUMBER, noms.NUMBER),
    *(nonesuch.NUMBER, down_up.NUMBER, up_down.NUMBER),
)
"""Numbers of the variants that this module implements; no table can be set up for another variant."""

EMPTY = np.int64(0)
"""The empty set. Hooks also return it for an unknown variant."""


@jit
def gathers(t):
    return t.variant == noms.NUMBER and t.deal_mode == noms_deck.PACKETS


@jit
def gather(t):
    noms_deck.gather(t)


@jit
def after_shuffle(t):
    if gathers(t):
        noms_deck.cut(t)


@jit
def deals_packets(t):
    return t.variant == noms.NUMBER and t.deal_mode != noms_deck.SINGLE_SHUFFLED


@jit
def deck_place(packets, seats, turn, k):
    """Return the place in the deck of the k-th card of the seat `turn` steps from eldest; `packets`: see `deals_packets`."""
    return noms_deck.PACKET_PLACES[turn, k] if packets else turn + seats * k


@jit
def open_deal(t):
    if t.family == EXACT_BID:
        exact_bid.open_deal(t)
    elif t.variant == sniped_whist.NUMBER:
        sniped_whist.open_deal(t)
    elif t.variant == small_ships.NUMBER:
        small_ships.open_deal(t)
    elif t.variant == noms.NUMBER:
        noms.open_deal(t)
    elif t.variant == nonesuch.NUMBER:
        nonesuch.open_deal(t)


@jit
def close_deal(t):
    if t.variant == sniped_whist.NUMBER:
        sniped_whist.carry_tricks(t)
    elif t.variant == noms.NUMBER:
        noms_deck.store_previous_deal(t)


@jit
def next_multiplier(t):
    return noms.next_multiplier(t) if t.variant == noms.NUMBER else 1


@jit
def legal_calls(t):
    if t.family == EXACT_BID:
        return exact_calls(t)
    if t.variant == small_ships.NUMBER:
        return small_ships.legal_calls(t)
    if t.variant == noms.NUMBER:
        return noms.legal_calls(t)
    return nonesuch.legal_calls(t) if t.variant == nonesuch.NUMBER else EMPTY


@jit
def make_call(t, call):
    if t.family == EXACT_BID:
        exact_bid.make_call(t, call)
    elif t.variant == small_ships.NUMBER:
        small_ships.make_call(t, call)
    elif t.variant == noms.NUMBER:
        noms.make_call(t, call)
    elif t.variant == nonesuch.NUMBER:
        nonesuch.make_call(t, call)


@jit
def legal_trumps(t):
    if t.variant == noms.NUMBER:
        return noms.legal_trumps(t)
    if t.variant == nonesuch.NUMBER:
        return nonesuch.legal_trumps(t)
    return trumps.all_trumps(t) if t.variant == small_ships.NUMBER or t.variant == sniped_whist.NUMBER else EMPTY


@jit
def make_trump(t, trump):
    if t.variant == sniped_whist.NUMBER:
        sniped_whist.make_trump(t, trump)
    elif t.variant == small_ships.NUMBER:
        small_ships.make_trump(t, trump)
    elif t.variant == noms.NUMBER:
        noms.make_trump(t, trump)
    elif t.variant == nonesuch.NUMBER:
        nonesuch.make_trump(t, trump)


@jit
def legal_nominations(t):
    if t.variant == small_ships.NUMBER:
        return small_ships.legal_nominations(t)
    return t.cards if t.variant == noms.NUMBER else EMPTY


@jit
def legal_ranks(t):
    return noms.legal_ranks(t) if t.variant == noms.NUMBER else EMPTY


@jit
def make_nomination(t, card):
    if t.variant == small_ships.NUMBER:
        small_ships.make_nomination(t, card)
    elif t.variant == noms.NUMBER:
        noms.make_nomination(t, card)


@jit
def make_rank_nomination(t, rank):
    noms.make_rank_nomination(t, rank)


@jit
def legal_leads(t, hand):
    if t.variant == small_ships.NUMBER:
        return small_ships.legal_leads(t, hand)
    return nonesuch.legal_leads(t, hand) if t.variant == nonesuch.NUMBER else hand


@jit
def may_indicate(t):
    return t.variant == small_ships.NUMBER and small_ships.may_indicate(t)


@jit
def indicate(t):
    small_ships.indicate(t)


@jit
def after_card(t, seat, card):
    if t.variant == noms.NUMBER:
        noms.after_card(t, seat, card)
    elif t.variant == small_ships.NUMBER:
        reveal(t, seat, card)


@jit
def after_trick(t):
    if t.variant == noms.NUMBER:
        noms.after_trick(t)


@jit
def is_decided(t):
    return t.variant == noms.NUMBER and t.early_stop != 0 and noms.is_decided(t)


@jit
def settle(t):
    if t.family == EXACT_BID:
        exact_bid.settle(t)
    elif t.variant == sniped_whist.NUMBER:
        sniped_whist.settle(t)
    elif t.variant == small_ships.NUMBER:
        small_ships.settle(t)
    elif t.variant == noms.NUMBER:
        noms.settle(t)
    elif t.variant == nonesuch.NUMBER:
        nonesuch.settle(t)


@jit
def has_ended(t):
    if t.variant == small_ships.NUMBER:
        return small_ships.has_ended(t)
    if t.variant == noms.NUMBER:
        return noms.has_ended(t)
    return reaches_target(t) if t.variant == nonesuch.NUMBER else t.deal == t.n_deals - 1


@jit
def has_run_out(t):
    if t.variant == noms.NUMBER:
        return noms.has_run_out(t)
    return t.variant == nonesuch.NUMBER and nonesuch.has_run_out(t)


@jit
def find_winners(t):
    return sniped_whist.find_winners(t) if t.variant == sniped_whist.NUMBER else highest_totals(t)


@jit
def standing(t, seat):
    return sniped_whist.standing(t, seat) if t.variant == sniped_whist.NUMBER else t.totals[seat]


@jit
def excuse_is_shown(t):
    return t.variant == nonesuch.NUMBER and nonesuch.excuse_is_shown(t)


@jit
def note_open_cards(t, seat, known):
    if t.variant == nonesuch.NUMBER:
        nonesuch.note_open_cards(t, known)
    elif t.variant == small_ships.NUMBER:
        small_ships.note_open_cards(t, seat, known)
    elif t.variant == noms.NUMBER:
        auction.note_open_partner(t, known)
    elif t.family == EXACT_BID or t.variant == sniped_whist.NUMBER:
        trumps.note_turn_up(t, known)


@jit
def knows_stock(t, seat):
    return t.variant == small_ships.NUMBER and small_ships.knows_stock(t, seat)


@jit
def rule_out(t, allowed):
    if t.variant == small_ships.NUMBER:
        small_ships.rule_out(t, allowed)
    elif t.variant == noms.NUMBER:
        noms.rule_out(t, allowed)
    elif t.variant == nonesuch.NUMBER:
        nonesuch.rule_out(t, allowed)


@jit
def cards_out_of_play(t):
    return nonesuch.cards_out_of_play(t) if t.variant == nonesuch.NUMBER else EMPTY


@jit
def find_holders(t):
    if t.family == AUCTION:
        auction.find_holders(t)
    elif t.variant == nonesuch.NUMBER:
        nonesuch.find_holders(t)


@jit
def dealt_hand(t, seat):
    return nonesuch.dealt_hand(t, seat) if t.variant == nonesuch.NUMBER else t.hands[seat] | t.played[seat]


@jit
def misere_points(t):
    if t.variant == small_ships.NUMBER:
        return int(t.misere_value)
    return int(t.mis_value) if t.variant == noms.NUMBER else 0


@jit
def misere_costs_tricks(t):
    return t.variant == small_ships.NUMBER or (t.variant == noms.NUMBER and noms.has_cheap_mis(t))


@jit
def indication_price(t):
    return 2 * int(small_ships.contract_value(t))


@jit
def common_sides(t):
    if t.variant == noms.NUMBER:
        return 2
    return 1 if t.variant == small_ships.NUMBER and small_ships.has_common_sides(t) else 0
