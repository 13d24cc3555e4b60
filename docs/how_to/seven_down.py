"""Seven down and up, all or nothing (an example, of no source text).

1. Three to seven players. Hands of 7, 6, ..., 1, ..., 6, 7 cards.
2. Trump changes from deal to deal: hearts, clubs, diamonds, spades, none.
3. The player at the dealer's left calls first. Each player calls once: how many tricks they will win, from none to all. The
   last caller may not make the calls add up to the number of tricks. Then the player at the dealer's left leads. Follow suit
   if you can; otherwise play any card. The highest trump wins the trick, or the highest card of the suit led.
4. Ten points and one for each trick for an exact call, nothing for any other.

Deviations and decisions: none; the lead passes clockwise, the first one is drawn.
"""

from __future__ import annotations

from noms_env._jit import jit
from noms_env.core.actions import CALL_ZERO
from noms_env.variants.families.exact_bid import BONUS_POINTS, HOOK_NEED, TRAITS, down, hook_options, largest_hand, up
from noms_env.variants.rulebook import SHORT_DECK, TRUMP_ROTATION, Values, Variant, complete_rotation


def complete(values: Values, seats: int) -> None:
    """Work out the defaults that depend on the table."""
    largest_hand(values, seats, 7)
    complete_rotation(values, ("H", "C", "D", "S", "NT"))


def schedule(values: Values, seats: int) -> list[int]:
    """1. The hand sizes of a match."""
    top = largest_hand(values, seats, 7)
    return down(top) + up(top)[1:]


NUMBER = 7

GAME = Variant(
    name="seven_down",
    number=NUMBER,
    title="Seven down and up",
    intro="You call how many tricks you will win. Hands go from seven cards down to one and up again. A call missed scores 0.",
    source="none: an example",
    seats=(3, 7),
    complete=complete,
    schedule=schedule,
    needs=(HOOK_NEED,),
    options=(*hook_options(True, min_cards=1), TRUMP_ROTATION, *SHORT_DECK),
    **TRAITS,
)


@jit
def settle(t):
    """4."""
    for seat in range(t.n_seats):
        called = t.call[seat] - CALL_ZERO
        t.points[seat] = BONUS_POINTS + called if t.tricks[seat] == called else 0
