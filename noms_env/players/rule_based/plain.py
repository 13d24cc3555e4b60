"""Rules of thumb for plain trick-taking without bids.

1. If the fewest tricks win, the best card minimises the expected tricks, this one and later ones. So the player leads low and
   throws its highest losers under the trick. It takes an unavoidable trick with its highest card when it plays last, and gives
   the highest cards away when it cannot follow.
2. The others duck too: they take a trick if they must, and seldom (5 %) if they only can.
3. If the most tricks win (`objective`), the signs are turned, and all seats take what they can.
4. A dealer who names trump takes the trump with the fewest expected tricks, or the most.
"""

from __future__ import annotations

from noms_env._jit import jit
from noms_env.players.rule_based.heuristics import best_card, highest_equal, prefer_loser
from noms_env.players.rule_based.weights import DUCKING, TAKING
from noms_env.variants.families.plain import LEAST

SHY = 0.05


@jit
def play(t, m):
    """1, 2, 3. Return the card."""
    ducks = t.objective == LEAST
    m.payoff[:] = 0.0
    m.eager[:] = SHY if ducks else 1.0
    m.payoff[t.seat] = -1.0 if ducks else 1.0
    card = best_card(t, t.legal_cards, DUCKING if ducks else TAKING, m.payoff[t.seat], m)
    if ducks and t.n_table == t.n_seats - 1:
        return highest_equal(t, card, m)
    return prefer_loser(t, card, m) if ducks else card
