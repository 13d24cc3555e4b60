"""The only place that asks which variant is played: each hook of the rules, and who answers it.

| hook | asked | answered by |
|---|---|---|
| `hand_size` | before a deal | the schedule, or the hand size of the variant |
| `open_deal` | the cards are dealt | all |
| `legal_calls`, `make_call` | in the phase `call` | all but sniped whist |
| `legal_trumps`, `make_trump` | in the phase `trump` | the auction games, nonesuch, sniped whist |
| `legal_nominations`, `legal_ranks`, `make_nomination`, `make_rank_nomination` | in the phase `nominate` | the auction games |
| `may_lead` | a seat leads to a trick | small ships, nonesuch |
| `first_lead`, `first_trick_taken`, `is_decided` | during the play | noms |
| `settle` | the deal is over | all |
| `next_multiplier`, `gathers` | before the next deal | noms |

When a match ends is in `match`.
"""

from __future__ import annotations

from noms_env._jit import jit
from noms_env.core.bids import exact_calls
from noms_env.core.state import NOMS, NONESUCH, SMALL_SHIPS, SNIPED_WHIST, eldest
from noms_env.core.tricks import name_trump, open_play
from noms_env.variants import noms, noms_deck, nonesuch, small_ships, sniped_whist
from noms_env.variants.families import exact_bid
from noms_env.variants.families.auction import all_trumps


@jit
def hand_size(t):
    """Cards for each seat in the present deal."""
    if t.sizes[0] > 0:
        return int(t.sizes[t.deal])
    if t.variant == NONESUCH:
        return 36 // t.n_seats
    return int(t.option_hand_size)


@jit
def open_deal(t):
    """The cards are dealt: trump if it is known, the first phase, the first seat."""
    if t.variant == SNIPED_WHIST:
        sniped_whist.open_deal(t)
    elif t.variant == SMALL_SHIPS:
        small_ships.open_deal(t)
    elif t.variant == NOMS:
        noms.open_deal(t)
    elif t.variant == NONESUCH:
        nonesuch.open_deal(t)
    else:
        exact_bid.open_deal(t)


@jit
def legal_calls(t):
    """The calls of the seat to act, as a set of calls."""
    if t.variant == SMALL_SHIPS:
        return small_ships.legal_calls(t)
    if t.variant == NOMS:
        return noms.legal_calls(t)
    if t.variant == NONESUCH:
        return nonesuch.legal_calls(t)
    return exact_calls(t)


@jit
def make_call(t, call):
    """The seat to act calls."""
    if t.variant == SMALL_SHIPS:
        small_ships.make_call(t, call)
    elif t.variant == NOMS:
        noms.make_call(t, call)
    elif t.variant == NONESUCH:
        nonesuch.make_call(t, call)
    else:
        exact_bid.make_call(t, call)


@jit
def legal_trumps(t):
    """The trumps to name, as a set of words."""
    if t.variant == NOMS:
        return noms.legal_trumps(t)
    if t.variant == NONESUCH:
        return nonesuch.legal_trumps(t)
    return all_trumps(t)


@jit
def make_trump(t, trump):
    """The seat to act names trump."""
    if t.variant == NOMS:
        noms.make_trump(t, trump)
    elif t.variant == NONESUCH:
        nonesuch.make_trump(t, trump)
    else:
        name_trump(t, trump)
        if t.variant == SMALL_SHIPS:
            small_ships.after_trump(t)
        else:
            open_play(t, eldest(t))


@jit
def legal_nominations(t):
    """The cards to nominate."""
    return small_ships.legal_nominations(t) if t.variant == SMALL_SHIPS else t.cards


@jit
def legal_ranks(t):
    """The bare ranks to nominate, as a set of words."""
    return noms.legal_ranks(t) if t.variant == NOMS else t.stock & 0


@jit
def make_nomination(t, card):
    """The declarer nominates a card."""
    if t.variant == SMALL_SHIPS:
        small_ships.make_nomination(t, card)
    else:
        noms.make_nomination(t, card)


@jit
def make_rank_nomination(t, rank):
    """The declarer nominates a bare rank."""
    noms.make_rank_nomination(t, rank)


@jit
def may_lead(t, hand):
    """The cards of a hand that its seat may lead."""
    if t.variant == SMALL_SHIPS:
        return small_ships.may_lead(t, hand)
    if t.variant == NONESUCH:
        return nonesuch.may_lead(t, hand)
    return hand


@jit
def first_lead(t, card):
    """The first card of a deal is led while trump is unsaid."""
    noms.resolve_first_lead(t, card)


@jit
def first_trick_taken(t):
    """The first trick is complete."""
    if t.variant == NOMS:
        noms.expose(t)


@jit
def is_decided(t):
    """True if the deal ends with the trick just taken, before the hands are empty."""
    return t.early_stop != 0 and noms.is_decided(t)


@jit
def settle(t):
    """Points of the deal, into `points`."""
    if t.variant == SNIPED_WHIST:
        sniped_whist.settle(t)
    elif t.variant == SMALL_SHIPS:
        small_ships.settle(t)
    elif t.variant == NOMS:
        noms.settle(t)
    elif t.variant == NONESUCH:
        nonesuch.settle(t)
    else:
        exact_bid.settle(t)


@jit
def next_multiplier(t):
    """What the points of the next deal are multiplied by."""
    return noms.next_multiplier(t) if t.variant == NOMS else 1


@jit
def gathers(t):
    """True if the next deck is gathered from the cards of this deal, not shuffled."""
    return t.variant == NOMS and t.deal_mode == noms_deck.PACKETS
