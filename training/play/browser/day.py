"""The deal of the day: on a date all who play a game have the same cards, and the strong player has their seat afterwards.

The seed is that of the set of deals `day DATE GAME` (`noms_training.evaluation.duplicate.deal_seed`), so everybody with this
program has the same deal, whatever the server. The opponents are of the medium level, and their random choices follow from the
same seed. Who is compared sits where the person sat, with the same opponents: the line-up `alone` of duplicate deals.
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
"""Of a hand, where the hands of a match differ."""


def day_seed(variant: str, day: date) -> int:
    """The seed of the deal of the day of a game."""
    return deal_seed(f"day {day.isoformat()} {variant}")


def day_table(variant: Variant, day: date, name: str, practice: bool = False) -> LiveTable:
    """A table with the deal of the day, at which a person plays with players of the medium level.

    Where all pass, the deals that follow are played until one is scored.

    Args:
        variant: the game, with its usual seats and options.
        day: the date.
        name: of the person.
        practice: it does not count, since it is not the first try.
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
    """The points of the strong player on the seat of the person, on the cards of a deal of the day, with the same others."""
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
