"""How a deal is played out in a search: by rules of thumb, which see what the seat to act may see and no more.

Calls, announcements, and the play of most games are left to the player `thumb:1`. In variants with the trait `simple_rollout`
the cards are played by simpler rules, ten times as fast and there about as good for the purpose: a search gains more from
trying more worlds.

1. A seat that wants tricks leads a card that no unseen card beats, else its lowest. It wins with its lowest card in the last
   place, or by a ruff, and else with its highest; where it cannot win it plays its lowest, a trump last of all.
2. A seat that does not want them leads its lowest card, and plays the highest one that loses; where all of its cards win, the
   highest in the last place, and else the lowest.
3. A seat wants tricks while it has not as many as it called, or has more, or where more do no harm; without calls where the
   most win.
"""

from __future__ import annotations

from noms_env._jit import highest, jit, lowest
from noms_env.core.actions import CALL_ZERO, PLAYING
from noms_env.core.cards import FRENCH, SUIT_CARDS, above, bit, suit_of
from noms_env.core.tricks import beaters
from noms_env.players.rule_based.heuristics import by_rank
from noms_env.players.rule_based.player import thumb_action
from noms_env.variants.families import PLAIN
from noms_env.variants.families.exact_bid import AT_LEAST
from noms_env.variants.families.plain import LEAST


@jit
def next_action(t, m):
    """The action of the seat to act; `m` is a row of `heuristics.new_workspaces`."""
    if t.phase != PLAYING or t.simple_rollout == 0:
        return thumb_action(t, m)
    return card_to_lead(t) if t.n_table == 0 else card_to_follow(t)


@jit
def wants_trick(t):
    """3. True if the seat to act rather takes tricks."""
    if t.family == PLAIN:
        return t.objective != LEAST
    return t.bonus == AT_LEAST or t.tricks[t.seat] != t.call[t.seat] - CALL_ZERO


@jit
def card_to_lead(t):
    """1, 2. A lead."""
    if wants_trick(t):
        unseen = t.cards & ~t.cards_played & ~t.hands[t.seat]
        left = t.legal_cards
        while left != 0:
            card = highest(left)
            left &= ~bit(card)
            if above(unseen & SUIT_CARDS[FRENCH, suit_of(card)], card) == 0:
                return card
    return by_rank(t.legal_cards, -1)


@jit
def card_to_follow(t):
    """1, 2. A card to a trick."""
    cards = t.legal_cards
    if (cards & (cards - 1)) == 0:
        return lowest(cards)
    winners = cards & beaters(t.best_card, t.led_cards, t.trump_cards)
    is_last = t.n_table == t.n_seats - 1
    if not wants_trick(t):
        if winners != cards:
            return by_rank(cards & ~winners, 1)
        return by_rank(winners, 1 if is_last else -1)
    plain = cards & ~t.trump_cards
    if winners == 0:
        return by_rank(plain if plain != 0 else cards, -1)
    plain &= winners
    if plain == 0 or is_last:
        return by_rank(plain if plain != 0 else winners, -1)
    return by_rank(plain, 1)
