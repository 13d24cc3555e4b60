"""The only place that asks which variant is played: each hook of the rules, and who answers it.

Every hook names every variant, or the family of variants (`families`): in its code those that answer, in its docstring those
that have no such rule or are never asked.

| hooks | asked |
|---|---|
| `gathers`, `gather`, `deck_is_shuffled`, `deck_place`, `open_deal`, `close_deal`, `next_multiplier` | around a deal |
| `legal_calls`, `make_call` | in the phase `call` |
| `legal_trumps`, `make_trump` | in the phase `trump` |
| `legal_nominations`, `legal_ranks`, `make_nomination`, `make_rank_nomination` | in the phase `nominate` |
| `may_lead`, `may_indicate`, `indicate`, `card_played`, `trick_taken`, `is_decided` | during the play |
| `settle`, `has_ended`, `has_run_out`, `find_winners` | when a deal is over |
| `standing`, `excuse_is_shown` | for an observation |
| `note_open_cards`, `knows_stock`, `rule_out`, `out_of_play`, `find_holders`, `dealt_hand` | to sample hidden cards |
| `misere_points`, `misere_costs_tricks`, `indication_price`, `common_sides` | by players |
"""

from __future__ import annotations

import numpy as np

from noms_env._jit import jit
from noms_env.core.bids import exact_calls
from noms_env.variants import big_ships, down_up, noms, noms_deck, nonesuch, small_ships, sniped_whist, trumps, up_down
from noms_env.variants.families import AUCTION, EXACT_BID, auction, exact_bid
from noms_env.variants.match import highest_totals, is_last_deal, reaches_target

ANSWERED = (
    *(sniped_whist.NUMBER, big_ships.NUMBER, small_ships.NUMBER, noms.NUMBER),
    *(nonesuch.NUMBER, down_up.NUMBER, up_down.NUMBER),
)
"""Numbers of the variants that this module knows; no table is set up for another."""

NOTHING = np.int64(0)
"""The empty set; also what a hook returns for a variant that does not exist."""


# ------------------------------------------------------------------------------------------------------ around a deal


@jit
def gathers(t):
    """True if the next deck is gathered from the cards of this deal.

    Shuffled for every deal: plain, exact_bid, small_ships, shares.
    """
    return t.variant == noms.NUMBER and noms_deck.is_gathered(t)


@jit
def gather(t):
    """Gather the next deck. Not asked: plain, exact_bid, small_ships, shares."""
    noms_deck.gather(t)


@jit
def deck_is_shuffled(t):
    """The deck has been shuffled. No such rule: plain, exact_bid, small_ships, shares."""
    if t.variant == noms.NUMBER:
        noms_deck.cut_if_gathered(t)


@jit
def deck_place(t, turn, k):
    """The place in the deck of a seat's k-th card; the seat is so many turns from eldest.

    One card at a time: plain, exact_bid, small_ships, shares.
    """
    if t.variant == noms.NUMBER and noms_deck.is_in_packets(t):
        return noms_deck.PACKET_PLACES[turn, k]
    return turn + t.n_seats * k


@jit
def open_deal(t):
    """The cards are dealt: trump if it is known, the first phase, the first seat."""
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
    """Another deal of the match follows. No such rule: exact_bid, small_ships, shares."""
    if t.variant == sniped_whist.NUMBER:
        sniped_whist.carry_tricks(t)
    elif t.variant == noms.NUMBER:
        noms_deck.remember(t)


@jit
def next_multiplier(t):
    """What the points of the next deal are multiplied by. No such rule: plain, exact_bid, small_ships, shares."""
    return noms.next_multiplier(t) if t.variant == noms.NUMBER else 1


# ------------------------------------------------------------------------------------------- calls and announcements


@jit
def legal_calls(t):
    """The calls of the seat to act, as a set of calls. Not asked: plain."""
    if t.family == EXACT_BID:
        return exact_calls(t)
    if t.variant == small_ships.NUMBER:
        return small_ships.legal_calls(t)
    if t.variant == noms.NUMBER:
        return noms.legal_calls(t)
    return nonesuch.legal_calls(t) if t.variant == nonesuch.NUMBER else NOTHING


@jit
def make_call(t, call):
    """The seat to act calls. Not asked: plain."""
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
    """The trumps to name, as a set of words. Not asked: exact_bid."""
    if t.variant == noms.NUMBER:
        return noms.legal_trumps(t)
    if t.variant == nonesuch.NUMBER:
        return nonesuch.legal_trumps(t)
    return trumps.all_trumps(t) if t.variant == small_ships.NUMBER or t.variant == sniped_whist.NUMBER else NOTHING


@jit
def make_trump(t, trump):
    """The seat to act names trump. Not asked: exact_bid."""
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
    """The cards to nominate. Not asked: plain, exact_bid, shares."""
    if t.variant == small_ships.NUMBER:
        return small_ships.legal_nominations(t)
    return t.cards if t.variant == noms.NUMBER else NOTHING


@jit
def legal_ranks(t):
    """The bare ranks to nominate, as a set of words. No such rule: small_ships. Not asked: plain, exact_bid, shares."""
    return noms.legal_ranks(t) if t.variant == noms.NUMBER else NOTHING


@jit
def make_nomination(t, card):
    """The declarer nominates a card. Not asked: plain, exact_bid, shares."""
    if t.variant == small_ships.NUMBER:
        small_ships.make_nomination(t, card)
    elif t.variant == noms.NUMBER:
        noms.make_nomination(t, card)


@jit
def make_rank_nomination(t, rank):
    """The declarer nominates a bare rank. Not asked: plain, exact_bid, small_ships, shares."""
    noms.make_rank_nomination(t, rank)


# -------------------------------------------------------------------------------------------------------- the play


@jit
def may_lead(t, hand):
    """The cards of a hand that its seat may lead. No such rule: plain, exact_bid, noms."""
    if t.variant == small_ships.NUMBER:
        return small_ships.may_lead(t, hand)
    return nonesuch.may_lead(t, hand) if t.variant == nonesuch.NUMBER else hand


@jit
def may_indicate(t):
    """True if the seat to act may show that it holds the nominated card. No such rule: plain, exact_bid, noms, shares."""
    return t.variant == small_ships.NUMBER and small_ships.may_indicate(t)


@jit
def indicate(t):
    """The seat to act shows that it holds the nominated card. Not asked: plain, exact_bid, noms, shares."""
    small_ships.indicate(t)


@jit
def card_played(t, seat, card):
    """A seat has played a card; `tricks` has done what all games have in common. No such rule: plain, exact_bid, shares."""
    if t.variant == noms.NUMBER:
        noms.card_played(t, seat, card)
    elif t.variant == small_ships.NUMBER:
        small_ships.card_played(t, seat, card)


@jit
def trick_taken(t):
    """A trick is complete. No such rule: plain, exact_bid, small_ships, shares."""
    if t.variant == noms.NUMBER:
        noms.trick_taken(t)


@jit
def is_decided(t):
    """True if the deal ends before the hands are empty. No such rule: plain, exact_bid, small_ships, shares."""
    return t.variant == noms.NUMBER and noms.stops_early(t)


# ------------------------------------------------------------------------------------------------- the end of a deal


@jit
def settle(t):
    """Points of the deal, into `points`."""
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
    """True if the match ends with the deal that was scored. Of fixed length: plain, exact_bid."""
    if t.variant == small_ships.NUMBER:
        return small_ships.has_ended(t)
    if t.variant == noms.NUMBER:
        return noms.has_ended(t)
    return reaches_target(t) if t.variant == nonesuch.NUMBER else is_last_deal(t)


@jit
def has_run_out(t):
    """True if a match that has not ended is truncated. No such rule: plain, exact_bid, small_ships."""
    if t.variant == noms.NUMBER:
        return noms.has_run_out(t)
    return t.variant == nonesuch.NUMBER and nonesuch.has_run_out(t)


@jit
def find_winners(t):
    """The winners of a match that is over, as a bit set. The highest total: exact_bid, auction, shares."""
    return sniped_whist.find_winners(t) if t.variant == sniped_whist.NUMBER else highest_totals(t)


# -------------------------------------------------------------------------------------------------- for observations


@jit
def standing(t, seat):
    """What a seat has of the match so far, as an observation shows it. The total: exact_bid, auction, shares."""
    return sniped_whist.standing(t, seat) if t.variant == sniped_whist.NUMBER else t.totals[seat]


@jit
def excuse_is_shown(t):
    """True once all know who was dealt the Excuse. No such rule: plain, exact_bid, auction."""
    return t.variant == nonesuch.NUMBER and nonesuch.excuse_is_shown(t)


# ------------------------------------------------------------------------------------- for samples of the hidden cards


@jit
def note_open_cards(t, seat, known):
    """Add the unplayed cards whose place the rules let a seat know, besides open hands. No such rule: noms.

    Args:
        t: the table.
        seat: who looks.
        known: int64, shape (STOCK + 1,): cards at each seat and in the stock.
    """
    if t.variant == nonesuch.NUMBER:
        nonesuch.note_open_cards(t, known)
    elif t.variant == small_ships.NUMBER:
        small_ships.note_open_cards(t, seat, known)
    elif t.family == EXACT_BID or t.variant == sniped_whist.NUMBER:
        trumps.note_turn_up(t, known)


@jit
def knows_stock(t, seat):
    """True if a seat has found out which cards are undealt. No such rule: plain, exact_bid, noms, shares."""
    return t.variant == small_ships.NUMBER and small_ships.knows_stock(t, seat)


@jit
def rule_out(t, allowed):
    """Take away the cards that cannot lie at a place, by what was led, nominated or not decided yet.

    No such rule: plain, exact_bid.

    Args:
        t: the table; its field `partner` is used as scratch.
        allowed: int64, shape (STOCK + 1,): cards that may lie at each seat and in the stock.
    """
    if t.variant == small_ships.NUMBER:
        small_ships.rule_out(t, allowed)
    elif t.variant == noms.NUMBER:
        noms.rule_out(t, allowed)
    elif t.variant == nonesuch.NUMBER:
        nonesuch.rule_out(t, allowed)


@jit
def out_of_play(t):
    """The cards of the deck that nobody can hold now. No such rule: plain, exact_bid, auction."""
    return nonesuch.out_of_play(t) if t.variant == nonesuch.NUMBER else NOTHING


@jit
def find_holders(t):
    """Find anew who was dealt the cards that matter, once the hands have changed. No such rule: plain, exact_bid."""
    if t.family == AUCTION:
        auction.find_holders(t)
    elif t.variant == nonesuch.NUMBER:
        nonesuch.find_holders(t)


@jit
def dealt_hand(t, seat):
    """The hand that a seat was dealt. What it holds and has played: plain, exact_bid, auction."""
    return nonesuch.dealt_hand(t, seat) if t.variant == nonesuch.NUMBER else t.hands[seat] | t.played[seat]


# -------------------------------------------------------------------------------------------------------- for players


@jit
def misere_points(t):
    """The points of Misere made alone. Not asked: plain, exact_bid, shares."""
    if t.variant == small_ships.NUMBER:
        return int(t.misere_value)
    return int(t.mis_value) if t.variant == noms.NUMBER else 0


@jit
def misere_costs_tricks(t):
    """True if a failed Misere costs its value and the tricks taken, False if its value goes to the opponents.

    Not asked: plain, exact_bid, shares.
    """
    return t.variant == small_ships.NUMBER or (t.variant == noms.NUMBER and noms.has_cheap_mis(t))


@jit
def indication_price(t):
    """The points that it costs to indicate. Not asked: plain, exact_bid, noms, shares."""
    return 2 * int(small_ships.contract_value(t))


@jit
def common_sides(t):
    """How far the members of a side share all points: 2 fully, 1 nearly, 0 not. Not: plain, exact_bid, shares."""
    if t.variant == noms.NUMBER:
        return 2
    return 1 if t.variant == small_ships.NUMBER and small_ships.has_common_sides(t) else 0
