"""`noms list`: the games, and the options of one."""

from __future__ import annotations

import json
from typing import Annotated

import tyro
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from noms_env.core.actions import span
from noms_env.micro.settings import SUITE
from noms_env.variants import GAMES, Option, Variant, game, make_rules

from ..console import say, terminal
from ..options import by_default
from .arguments import Flag
from .common import OK, wrong_arguments

MICRO = "micro"
"""Lists the micro-games, in place of a variant."""


def listing(
    variant: Annotated[tyro.conf.Positional[str | None], by_default("only their names", "VARIANT")] = None,
    details: Flag = False,
) -> int:
    """Show the games and their numbers of seats; for one game also its options and their defaults.

    For example:
      noms list
      noms list noms
      noms list noms --details
      noms list micro

    Args:
        variant: The game whose options are shown; micro for the micro-games, which can be solved (`noms solve`).
        details: Also show the allowed values of each option, and the options of the micro-games.
    """
    if variant == MICRO:
        terminal().print(micro_table(details), soft_wrap=False)
        return OK
    with wrong_arguments():
        games = list(GAMES.values()) if variant is None else [game(variant)]
    console = terminal()
    for item in games:
        usual = "" if len(set(item.seats)) == 1 else f", usually {item.default_seats}"
        console.print(f"[bold]{item.name}[/bold]: {item.title}, {span(*item.seats)} seats{usual}")
    if variant is None:
        console.print("The options of one: noms list VARIANT")
        return OK
    (item,) = games
    say(console, Text(item.intro))
    console.print(option_table(item, details), soft_wrap=False)
    if any(map(is_computed, item.options)):
        console.print("* worked out from the number of seats and the deck; shown for the usual ones.")
    return OK


def micro_table(details: bool) -> Table:
    """Return the table of micro-games, with their options if `details`."""
    table = Table(box=None, pad_edge=False)
    for head in ("micro-game", "seats", *(["options"] if details else []), "what is left of the game"):
        table.add_column(head, overflow="fold")
    for micro in SUITE:
        words = [f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in micro.options.items()]
        words += [] if micro.hand_size is None else [f"--hand-size {micro.hand_size}"]
        table.add_row(micro.name, str(micro.seats), *([" ".join(words)] if details else []), micro.alive)
    return table


def is_computed(option: Option) -> bool:
    """Return whether the default depends on the table."""
    return option.default is None and not option.none


def option_table(variant: Variant, details: bool) -> Table:
    """Return the table of a game's options, their defaults and effects, with allowed values if `details`."""
    values = make_rules(variant).options
    table = Table(box=None, padding=(0, 0, 0, 2), header_style="dim")
    table.add_column("option=default", max_width=28, overflow="fold")
    table.add_column("what it does, and what it may be" if details else "what it does", overflow="fold")
    for option in variant.options:
        value = json.dumps(values[option.name], separators=(",", ":")) + "*" * is_computed(option)
        table.add_row(escape(f"{option.name}={value}"), option.doc + f" [dim]({allowed(option)})[/dim]" * details)
    return table


def allowed(option: Option) -> str:
    """Return the allowed values of an option, as `--option` takes them."""
    low, high = option.numbers or (0, 0)
    numbers = option.range.removeprefix("from ") if option.range else f"{low} to {high}"
    words = ("true", "false") if option.flag else ("a list of C, D, H, S, NT",) if option.rotation else option.words
    return (", ".join(words) or numbers) + (", null" if option.none else "")
