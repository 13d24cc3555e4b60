"""Nomination whist, ten down and up (rules 6; source text 003).

1. Three to six players; four is usual. Hands of 10, 9, ..., 1, ..., 9, 10 cards; with six players from 8.
2. Trump changes from deal to deal: spades, hearts, clubs, diamonds, none.
3. The player at the dealer's left calls first. Each player calls once: how many tricks they will win, from none to all. The
   last caller may not make the calls add up to the number of tricks, which is the hook.
4. The player at the dealer's left leads. Follow suit if you can; otherwise play any card. The highest trump wins the trick,
   or the highest card of the suit led if there is no trump in it. The winner leads next. Aces are high.
5. Each trick is a point. Winning exactly as many as you called is ten more: call 3 and win 3 for 13 points, call 1 and win
   2 for 2.
6. The highest total after the last deal wins.

Deviations and decisions: no deviations. The lead passes clockwise, and the first leader is drawn.

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
    """Fill in the defaults that depend on the table."""
    top(values, seats)
    complete_rotation(values, ("S", "H", "C", "D", "NT"))


def top(values: Values, seats: int) -> int:
    """Return the largest hand (rule 1)."""
    return largest_hand(values, seats, 8 if seats >= 6 else 10)


def schedule(values: Values, seats: int) -> list[int]:
    """Return the hand sizes of a match (rule 1)."""
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
