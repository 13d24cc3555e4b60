"""`noms crossplay`: the points that policies of independent runs lose at one table."""

from __future__ import annotations

import os
from typing import Annotated

import tyro
from rich.table import Table
from rich.text import Text

from ..agents.registry import compile_players
from ..agents.spec import device_of
from ..console import colour, fitted, new_table, say, terminal
from ..evaluation.block_store import NothingPlayedError
from ..evaluation.cross_play import CrossPlay, cross_play
from ..evaluation.statistics import estimate, plus_minus
from ..options import by_default, rules_of
from ..progress_bar import progress_bar
from ..text import short_names
from .arguments import DealSet, Option, PlayedOn, PlayerSeed, Seats, Threads, check_run, players_on
from .common import OK, STOPPED, CommandError, wrong_arguments
from .files import check_folder_of, write_json

TITLES = {"alone": "one seat of the policy of the row, the others of that of the column", "mixed": "half of the seats each"}


def crossplay(
    player: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="POLICY ...", help_behavior_hint="")],
    variant: Annotated[str, tyro.conf.arg(metavar="VARIANT")],
    seats: Seats = None,
    option: Option = (),
    deals: Annotated[int, tyro.conf.arg(metavar="N")] = 2000,
    deal_set: DealSet = "dev",
    seed: PlayerSeed = 0,
    threads: Threads = None,
    device: PlayedOn = "cpu",
    json_file: Annotated[str | None, tyro.conf.arg(name="json"), by_default("none", "FILE")] = None,
) -> int:
    """Seat policies of independent runs at one table, and print their loss against tables of one policy alone.

    Policies trained by self-play may agree on conventions that only their own copies understand. Then a policy scores fewer
    points with a policy of another seed than with its copies. The table shows the points per deal of the policy's own seats: on
    the diagonal among its copies, elsewhere with the other policy. The stronger of two gains what the weaker loses, so the mean
    loss over all pairs measures conventions.

    For example:
      noms crossplay runs/seed-0@0 runs/seed-1@0 runs/seed-2@0 --variant small_ships
      noms crossplay thumb pimc:4 --variant noms --deals 200 --json crossplay.json

    Args:
        player: Two or more policies, or other players, as for `noms evaluate`.
        variant: The game; `noms list` shows all.
        deals: Deals of each table.
        json_file: Also write the figures to this file.
    """
    check_run(seed, threads)
    check_folder_of(json_file, *player)

    with wrong_arguments():
        rules = rules_of(variant, seats, option)
        players = players_on(device, player)
        if device_of(players) == "cpu":
            compile_players(spec.name for spec in players)
        with progress_bar(f"{rules.variant.name}, {rules.seats} seats", "deals", deals) as tick:
            try:
                results = cross_play(
                    rules, players, deals, seed=seed, deal_set=deal_set, threads=threads or os.cpu_count() or 1, tick=tick
                )
            except NothingPlayedError as nothing:
                raise CommandError("stopped by Ctrl-C before there were any figures", STOPPED) from nothing
    show(results)
    if json_file:
        write_json(json_file, results.as_json(players))
    if results.ending != "all":
        raise CommandError("stopped by Ctrl-C; the figures cover the deals played so far", STOPPED)
    return OK


def show(results: CrossPlay) -> None:
    """Print the points and the mean loss of each kind of table."""
    console = terminal()
    for kind in results.points:
        rules, deals = results.rules, f"{results.deals:,} deals"
        head = f"{rules.variant.name}, {rules.seats} seats, {TITLES[kind]}: points per deal, {deals}"
        say(console, Text(head, style="bold"))
        console.print(fitted(points_table(results, kind), console.width))
        say(console, Text(f"mean loss against self-play: {plus_minus(results.mean_loss(kind))} points per deal"))


def points_table(results: CrossPlay, kind: str) -> Table:
    """Return the points of the row's seats with the column's policy; columns are headed by row numbers, to stay narrow."""
    names = short_names(results.names)
    table = new_table("seats of \\ with", *(str(column) for column in range(1, len(names) + 1)))
    for a, name in enumerate(names):
        row = [Text(f"{a + 1} {name}")]
        for b in range(len(names)):
            loss = results.loss(kind, a, b)
            row.append(
                Text(plus_minus(estimate(results.points[kind][a, b])), "bold" if a == b else colour(-loss.high, -loss.low))
            )
        table.add_row(*row)
    return table
