"""Made-up tables in every state that the page can show, for `gallery.html` and the tests."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from typing import Any

from noms_env.show.data import view_data
from noms_env.show.view import look
from noms_env.table import Table
from noms_env.variants import GAMES, Variant

SEEDS = range(12)
"""Seeds of the deals that are tried until each phase has occurred."""
NAMES = ("You", "Ben", "Cleo Montgomery", "Maximiliane von und zu Liechtenstein-Auer", "Eva", "Finn", "Gita")
LEVELS = (None, "easy", "medium", "strong", "easy", "medium", "strong")


@cache
def states() -> tuple[dict[str, Any], ...]:
    """Return the states: the person's turn in each phase, all hands, the spectator's view and the end.

    There is one set per game and number of seats; one game per number of seats also has the states of several people.
    """
    return tuple(_states())


def _states() -> Iterator[dict[str, Any]]:
    shown = set[int]()
    for variant in GAMES.values():
        for seats in range(variant.seats[0], variant.seats[1] + 1):
            views = _views(variant, seats)
            view = views["all"] | {"viewer": None, "role": None}
            moment = {"deal": 1, "decision": 7, "deals": 3, "decisions": 52, "all": True, "view": view}
            linked = {"wanted": "1.7", "past": moment}
            yield {"name": f"{variant.name}-{seats}-moment", "table": table_around(variant, views["all"]) | linked}
            for what, view in sorted(views.items()):
                yield {"name": f"{variant.name}-{seats}-{what}", "table": table_around(variant, view)}
            if seats not in shown:
                shown.add(seats)
                for what, state in _together(views).items():
                    yield {"name": f"{seats}-{what}", "table": table_around(variant, views["play"]) | state}


def _views(variant: Variant, seats: int) -> dict[str, dict[str, Any]]:
    """Return the views of a game by name, from enough deals to reach each phase."""
    views: dict[str, dict[str, Any]] = {}
    for seed in SEEDS:
        table, rng = Table(variant.name, seats, episode="deal"), random.Random(seed)
        table.start(seed=seed)
        while not table.is_scored:
            row, phase = table.row, str(table.phase)
            if int(row.seat) == 0 and (phase != "play" or int(row.n_table) == seats - 1):
                views.setdefault(phase, view_data(look(table, 0)))
            if phase == "play" and int(row.n_table) == seats - 1:
                views.setdefault("all", view_data(look(table, 0, full=True)))
                views.setdefault("spectator", view_data(look(table, None)))
            table.step(rng.choice(table.legal_actions()))
        views.setdefault("over", view_data(look(table, 0)))
        if len(views) > 5:
            break
    return views


def _together(views: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the states of several people: the lobby with a guest missing, and undo requests."""
    seats = len(views["play"]["places"])
    people = [_person(0, "You", host=True), _person(seats - 1, NAMES[seats - 1])]
    lobby = {"people": [people[0], _person(seats - 1, "", here=False, invited=True)], "waits": True}
    guest = {"people": [people[0], _person(seats - 1, "")], "waits": True, "yours": seats - 1, "leads": False}
    asks = {"people": people, "others": [seats - 1], "back": False}
    return {
        "lobby": lobby | {"invitations": {str(seats - 1): "AnInvitationToTheTable"}},
        "lobby-guest": guest,
        "undo-asked": asks | {"undo": {"seat": seats - 1, "later": 3, "missing": [0]}},
        "undo-asks": asks | {"undo": {"seat": 0, "later": 0, "missing": [seats - 1]}},
    }


def _person(seat: int, name: str, *, here: bool = True, invited: bool = False, host: bool = False) -> dict[str, Any]:
    return {"seat": seat, "name": name, "here": here, "sits": True, "invited": invited, "host": host}


def table_around(variant: Variant, view: dict[str, Any]) -> dict[str, Any]:
    """Return the full state of a table around a view of `view_data`."""
    seats, over = len(view["places"]), view["phase"] is None
    totals = [place["total"] for place in view["places"]]
    return {
        "variant": variant.name,
        "view": view,
        "yours": view["viewer"],
        "names": NAMES[:seats],
        "levels": LEVELS[:seats],
        "people": [_person(0, "You", host=True)],
        "turn": view["turn"],
        "scored": over,
        "over": over,
        "sheet": [{"points": totals, "totals": totals, "lines": []}] if over else [],
        "speed": 0.7,
        "failed": None,
        "players": [],
        "hints": "strong",
        "back": True,
        "others": [],
        "undo": None,
        "waits": False,
        "leads": True,
        "substitute": {"name": "thumb", "level": "easy"},
        "watching": 0,
        "moment": "1.1",
    }
