"""Big Ships (rules 2; source text 000, "Big Ships Rules").

1. Two to seven players; four is usual. Each deal has one card less, down to one, then one more: with four players 13, 12,
   ..., 1, ..., 12, 13.
2. Trump changes from deal to deal: hearts, clubs, diamonds, spades, none.
3. The player at the dealer's left calls first. Each player calls once: how many tricks they will win, from none to all. The
   calls may add up to anything, unless the table plays the hook.
4. The player at the dealer's left leads. Follow suit if you can; otherwise play any card. The highest trump wins the trick,
   or the highest card of the suit led if there is no trump in it. The winner leads next. Aces are high.
5. Each trick is a point. Winning exactly as many as you called is ten more: call 3 and win 3 for 13 points, call 3 and win
   4 for 4.
6. The highest total after the last deal wins.

Deviations and decisions: the source text does not give the first hand's size; here it is min(13, 52 // seats).
"Make your call" is read as exactly. "Any number of players can play", but "generally no more than six or seven": here seven
is the maximum. Each further seat would add 88 bytes (8 %) to the observations of all games, and the published policies could
not read them.

>>> from noms_env import Table
>>> table = Table("big_ships", seats=7, seed=1)
>>> table.start()
>>> table.rules.schedule
[7, 6, 5, 4, 3, 2, 1, 2, 3, 4, 5, 6, 7]
>>> table.legal_words(), table.trump_word()
(['0', '1', '2', '3', '4', '5', '6', '7'], 'H')
"""

from __future__ import annotations

from noms_env.core.state import MAX_TRICKS
from noms_env.variants.families.exact_bid import BONUSES, HOOK_NEED, TRAITS, down, hook_options, largest_hand, up
from noms_env.variants.rulebook import (
    SHORT_DECK,
    TRUMP_ROTATION,
    Option,
    Values,
    Variant,
    check_range,
    complete_rotation,
    deck_size,
)

DIRECTIONS = ("down_up", "down", "up_down")


def complete(values: Values, seats: int) -> None:
    """Fill in the defaults that depend on the table."""
    most = largest_hand(values, seats, MAX_TRICKS)
    if values["start_cards"] is None:
        values["start_cards"] = min(13, most)
    check_range(values, "start_cards", 1, most, f"with {deck_size(values)} cards and {seats} seats")
    complete_rotation(values, ("H", "C", "D", "S", "NT"))


def schedule(values: Values, _seats: int) -> list[int]:
    """Return the hand sizes of a match (rule 1)."""
    start = values["start_cards"]
    if values["direction"] == "down":
        return down(start)
    if values["direction"] == "up_down":
        return up(start) + down(start)[1:]
    return down(start) + (up(start) if values["repeat_one"] else up(start)[1:])


NUMBER = 1

GAME = Variant(
    name="big_ships",
    number=NUMBER,
    title="Big Ships",
    intro="You call how many tricks you will win, and get a bonus for winning exactly that many. Hands shrink from deal"
    " to deal down to one card, then grow again. This is Oh Hell without a rule that binds the last caller.",
    source="myweb.tiscali.co.uk/navysong, Big Ships Rules",
    seats=(2, 7),
    complete=complete,
    schedule=schedule,
    needs=(HOOK_NEED,),
    options=(
        Option(
            "start_cards",
            None,
            "cards in the first hand, or in the largest with direction='up_down'",
            range="from 1 to the deck's cards per seat, at most 17",
            byte=10,
        ),
        *hook_options(False, min_cards=1),
        Option("bonus", "exact", "ten points for winning exactly, or at least, the tricks called", words=BONUSES, byte=13),
        Option("repeat_one", False, "play the one-card hand twice if the sizes turn there", flag=True, byte=14),
        Option("direction", "down_up", "order of the hand sizes", words=DIRECTIONS, byte=15),
        TRUMP_ROTATION,
        *SHORT_DECK,
    ),
    details={
        "bonus": "`exact`: for exactly the tricks called; `at_least`: for at least the tricks called",
        "direction": "`down_up`: from the first hand down to one card and up again; `down`: down to one card; `up_down`: from"
        " one card up to `start_cards` and down again",
    },
    **TRAITS,
)
