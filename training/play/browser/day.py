"""The deal of the day: each date has one deal per game, the same for everybody.

The seed is that of the deal set `day DATE GAME` (`noms_training.evaluation.duplicate.deal_seed`), so every server has the same
deal. The opponents are of the medium level; the seed also determines their random choices. Afterwards the strong player plays
the same deal in the person's seat, for comparison.
"""

from __future__ import annotations

from datetime import date

from noms_env.variants import Rules, Variant, make_rules

from ...evaluation.duplicate import deal_seed
from ..session import Session, seat_player
from .live import LiveTable, Person, players_of
from .lobby import levels_of

PERSON = 0
"""Seat of the person."""
MIN_CARDS = 5
"""Smallest hand size, for games whose hand sizes vary."""


def day_seed(variant: str, day: date) -> int:
    """Return the seed of a game's deal of the day."""
    return deal_seed(f"day {day.isoformat()} {variant}")


def day_table(variant: Variant, day: date, name: str, practice: bool = False) -> LiveTable:
    """Make a table with the deal of the day, for a person and players of the medium level.

    If all pass, further deals follow until one is scored. A deal for practice does not count, because it is not the first try.
    """
    rules, seed = make_rules(variant), day_seed(variant.name, day)
    sizes = sorted({size for size in rules.schedule if size >= MIN_CARDS})
    session = _session(rules, None, seed, sizes[seed % len(sizes)] if sizes else None)
    table = LiveTable(session, {PERSON: Person(name)}, seat_player(levels_of(variant.name)["strong"], rules))
    table.day, table.practice = day.isoformat(), practice
    return table


def _session(rules: Rules, name: str | None, seed: int, deal_size: int | None) -> Session:
    """Deal a hand to a player (None: the person) and opponents of the medium level."""
    names = [name if seat == PERSON else levels_of(rules.variant.name)["medium"] for seat in range(rules.seats)]
    return Session(rules, players_of(names, rules), seed=seed, episode="deal", deal_size=deal_size)


def strong_points(played: Session) -> float:
    """Return the strong player's points in a deal of the day, in the person's seat against the same opponents."""
    rules, size = played.table.rules, int(played.table.row.wanted_deal_size)
    session = _session(rules, levels_of(rules.variant.name)["strong"], played.seed, None if size < 0 else size)
    session.let_others_act()
    while not session.is_over:
        session.next_deal()
        session.let_others_act()
    return float(session.table.row.points[PERSON])
