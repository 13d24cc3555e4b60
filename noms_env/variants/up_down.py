"""Nomination whist, one to thirteen to one (rules 7; source text 004).

1. Four players. Hands of 1, 2, ..., 12, 13, 12, ..., 2, 1 cards.
2. Trump changes from deal to deal: spades, hearts, diamonds, clubs, none.
3. The player at the dealer's left calls first. Each player calls once: how many tricks they will win, from none to all. In
   hands of four cards and more the last caller may not make the calls add up to the number of tricks, which is the hook.
4. The player at the dealer's left leads. Follow suit if you can; otherwise play any card. The highest trump wins the trick,
   or the highest card of the suit led if there is no trump in it. The winner leads next. Aces are high.
5. Each trick is a point. Winning exactly as many as you called is ten more: call 3 and win 3 for 13 points, call 4 and win
   5 for 5.
6. The highest total after the last deal wins.

Deviations and decisions: the source text says that a suit "may be designated" as trumps, but not how; here the suits take
turns. "After thirteen, the cards dealt moves back to one" is read as counting down. An option (`up_up`) has the other
reading, that the next hand has one card; its end after the second climb is a decision of this project. The first dealer is
drawn at random, which is equivalent to cutting for it.

>>> from noms_env import Table
>>> table = Table("up_down", seed=1)
>>> table.start()
>>> table.rules.schedule[:4], table.legal_words()  # the first hand has one card
([1, 2, 3, 4], ['0', '1'])
>>> table
<Table up_down: 4 seats; match 0, deal 0, phase call, seat 0 to act>
"""

from __future__ import annotations

from noms_env.variants.families.exact_bid import FULL_DEAL_TURN_UPS, HOOK_NEED, TRAITS, down, hook_options, largest_hand, up
from noms_env.variants.rulebook import SHORT_DECK, TRUMP_ROTATION, Need, Option, Values, Variant, complete_rotation
from noms_env.variants.trumps import DEALER_CHOOSES, TRUMP_MODES

SCHEDULES = ("up_down", "up", "up_down_repeat_top", "up_up")


def complete(values: Values, seats: int) -> None:
    """Fill in the defaults that depend on the table."""
    largest_hand(values, seats, 13)
    complete_rotation(values, ("S", "H", "D", "C", "NT"))


def schedule(values: Values, seats: int) -> list[int]:
    """Return the hand sizes of a match (rule 1)."""
    top = largest_hand(values, seats, 13)
    if values["schedule"] == "up":
        return up(top)
    if values["schedule"] == "up_up":
        return 2 * up(top)
    return up(top) + (down(top) if values["schedule"] == "up_down_repeat_top" else down(top)[1:])


NUMBER = 6

GAME = Variant(
    name="up_down",
    number=NUMBER,
    title="Nomination whist, one to thirteen to one",
    intro="You call how many tricks you will win, and get a bonus for winning exactly that many. Hands go from one card"
    " up to thirteen and down again. From four cards on, the calls may not add up to the number of tricks.",
    source="willwybrow.com/pages/nomwhist",
    seats=(4, 4),
    complete=complete,
    schedule=schedule,
    needs=(
        HOOK_NEED,
        Need("trump_rotation", "with trump_mode='rotation'", lambda values: bool(values["trump_mode"] == "rotation")),
        Need("turnup_full_deal", "with trump_mode='turnup'", lambda values: bool(values["trump_mode"] == "turnup")),
    ),
    options=(
        Option("schedule", "up_down", "order of the hand sizes", words=SCHEDULES, byte=16),
        Option("trump_mode", "rotation", "how trump is chosen", words=TRUMP_MODES[:DEALER_CHOOSES], byte=2),
        Option("turnup_full_deal", "none", "trump turned up when all cards are dealt", words=FULL_DEAL_TURN_UPS, byte=3),
        *hook_options(True, min_cards=4),
        TRUMP_ROTATION,
        *SHORT_DECK,
    ),
    details={
        "trump_mode": "`rotation`: `trump_rotation`, deal by deal; `turnup`: the next undealt card is turned up, see "
        "`turnup_full_deal` if all are dealt; `random`: a suit by lot, known to all; `none`: no trump",
        "turnup_full_deal": "`none`: no trump; `dealer_last`: the dealer's last card is turned up",
        "schedule": "`up_down`: up to the largest hand and down again; `up`: up to the largest hand; `up_down_repeat_top`: up"
        " and down again, the largest hand twice; `up_up`: up to the largest hand, and once more from one card on",
    },
    **TRAITS,
)
