"""Nomination whist, ten down and up (rules 6; source text 003).

1. Three to six seats. Hands of 10, 9, ..., 1, ..., 9, 10 cards; with six seats from 8.
2. Trumps in turn: spades, hearts, clubs, diamonds, none.
3. One round of calls, from the lead player (eldest); the last caller may not make the calls add up to the tricks.
4. One point for each trick, ten more for an exact call.

Deviations and decisions: none that the source text speaks of; the lead passes clockwise, the first one is drawn.

>>> from noms_env import Table
>>> table = Table("down_up", seats=3, seed=1)
>>> table.start()
>>> for word in ("4", "3"):
...     table.act(word)
>>> table.legal_words()  # the hook: not 3, since 4 + 3 + 3 are the ten tricks
['0', '1', '2', '4', '5', '6', '7', '8', '9', '10']
"""

from __future__ import annotations

from noms_env.variants.families.exact_bid import HOOK_NEED, TRAITS, down, hook_options, largest_hand, up
from noms_env.variants.rulebook import SHORT_DECK, TRUMP_ROTATION, Values, Variant, complete_rotation


def complete(values: Values, seats: int) -> None:
    """Work out the defaults that depend on the table."""
    top(values, seats)
    complete_rotation(values, ("S", "H", "C", "D", "NT"))


def top(values: Values, seats: int) -> int:
    """1. The largest hand."""
    return largest_hand(values, seats, 8 if seats >= 6 else 10)


def schedule(values: Values, seats: int) -> list[int]:
    """1. The hand sizes of a match."""
    return down(top(values, seats)) + up(top(values, seats))[1:]


NUMBER = 5

GAME = Variant(
    name="down_up",
    number=NUMBER,
    title="Nomination whist, ten down and up",
    intro="You call how many tricks you will win, and get a bonus for winning exactly that many. Hands go from ten "
    "cards down to one and up again. The calls may not add up to the number of tricks, so somebody always fails.",
    source="nommy.co.uk/nommyrules.htm",
    seats=(3, 6),
    complete=complete,
    schedule=schedule,
    needs=(HOOK_NEED,),
    options=(
        *hook_options(True, min_cards=1),
        TRUMP_ROTATION,
        *SHORT_DECK,
    ),
    **TRAITS,
)
