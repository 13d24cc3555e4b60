"""The deal of the day: each date has one deal per game, the same for everybody.

The seed is that of the deal set `day DATE GAME` (`noms_training.evaluation.duplicate.deal_seed`), so every server has the same
deal. The opponents are of the medium level; the seed also determines their random choices. Afterwards the strong player plays
the same deal in the person's seat, for comparison.
"""

from __future__ import annotations

from datetime import date

from noms_env.variants import Variant, make_rules

from ...evaluation.duplicate import deal_seed
from ..session import Session
from .live import LiveTable, Person, adviser, players_of
from .lobby import levels_of

PERSON = 0
"""Seat of the person."""
LEAST_CARDS = 5
"""Smallest hand size, for games whose hand sizes vary."""


def day_seed(variant: str, day: date) -> int:
    """Return the seed of a game's deal of the day."""
    return deal_seed(f"day {day.isoformat()} {variant}")


def day_table(variant: Variant, day: date, name: str, practice: bool = False) -> LiveTable:
    """Make a table with the deal of the day, for a person and players of the medium level.

    If all pass, further deals follow until one is scored.

    Args:
        variant: the game, with its default seats and options.
        day: the date.
        name: name of the person.
        practice: whether the deal does not count, because it is not the first try.
    """
    rules, levels, seed = make_rules(variant), levels_of(variant.name), day_seed(variant.name, day)
    sizes = sorted({size for size in rules.schedule if size >= LEAST_CARDS})
    names = [None if seat == PERSON else levels["medium"] for seat in range(rules.seats)]
    size = sizes[seed % len(sizes)] if sizes else None
    session = Session(rules, players_of(names, rules), seed=seed, episode="deal", deal_size=size)
    table = LiveTable(session, {PERSON: Person(name)}, adviser(levels["strong"], rules))
    table.day, table.practice = day.isoformat(), practice
    return table


def strong_points(played: Session) -> float:
    """Return the strong player's points in a deal of the day, in the person's seat against the same opponents."""
    rules, size = played.table.rules, int(played.table.row.wanted_deal_size)
    levels = levels_of(rules.variant.name)
    names = [levels["strong" if seat == PERSON else "medium"] for seat in range(rules.seats)]
    deal_size = None if size < 0 else size
    session = Session(rules, players_of(names, rules), seed=played.seed, episode="deal", deal_size=deal_size)
    session.let_others_act()
    while not session.is_over:
        session.next_deal()
        session.let_others_act()
    return float(session.table.row.points[PERSON])
