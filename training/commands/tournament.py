"""`noms tournament`: everybody against everybody."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import tyro
from rich.table import Table
from rich.text import Text

from noms_env._files import write_atomically

from ..agents.registry import compile_players, hashes
from ..agents.spec import AgentSpec, device_of
from ..console import colour, fitted, new_table, say, terminal
from ..evaluation.statistics import plus_minus
from ..evaluation.tournament import (
    PICTURE,
    RESULTS,
    TABLE,
    Folder,
    Plan,
    Results,
    dump,
    markdown,
    play_tournament,
    results_of,
    sentences,
)
from ..extras import MissingExtraError
from ..options import by_default, rules_of
from ..progress_bar import progress_bar
from ..publish.plots import draw_heatmap
from ..text import short_names
from .arguments import (
    DealSet,
    Flag,
    MoveLimit,
    Option,
    PlayedOn,
    PlayerSeed,
    Salt,
    Seats,
    Threads,
    check_run,
    deals_of,
    players_on,
)
from .common import OK, STOPPED, CommandError, file_errors, wrong_arguments

TOURNAMENTS = Path("tournaments")


def tournament(
    player: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="PLAYER ...", help_behavior_hint="")],
    variant: Annotated[str, tyro.conf.arg(metavar="VARIANT")],
    seats: Seats = None,
    option: Option = (),
    deals: Annotated[int, tyro.conf.arg(metavar="N")] = 2000,
    deal_set: DealSet = "dev",
    salt: Salt = None,
    limit: MoveLimit = None,
    seed: PlayerSeed = 0,
    threads: Threads = None,
    device: PlayedOn = "cpu",
    out: Annotated[str | None, by_default("tournaments/VARIANT_SEATS", "FOLDER")] = None,
    resume: Flag = False,
) -> int:
    """Let every player play every other on the same duplicate deals, and print the payoff table and ratings.

    In each pair, each player sits alone on each seat against the other on all other seats. Ratings are in points per deal: the
    least-squares fit of all pairs. The folder gets results.json, table.md (Markdown), heat.png (if Matplotlib is installed) and
    the blocks of deals. Ctrl-C stops the tournament. The same command with --resume continues it, also with more deals, or with
    more players after the first ones. A crash, a timeout or an illegal answer of your own player (see noms evaluate) forfeits
    only that table.

    For example:
      noms tournament random greedy thumb --variant down_up
      noms tournament random thumb pimc:20 runs/noms-fast@0 --variant noms --deals 500 --out noms-panel
      noms tournament random thumb pimc:20 runs/noms-fast@0 --variant noms --deals 500 --out noms-panel --resume

    Args:
        player: Two or more players, as for `noms evaluate`.
        variant: The game; `noms list` shows all.
        deals: Deals of each pair.
        out: The folder.
        resume: Continue the tournament in the folder.
    """
    check_run(seed, threads, limit)

    with wrong_arguments():
        rules = rules_of(variant, seats, option)
        players = players_on(device, player, limit)
        plan = Plan(player, rules, deals, seed, deals_of(deal_set, salt), limit, hashes(players), device_of(players))
        for spec in players:
            spec.check(rules)
    folder = Folder(Path(out) if out else TOURNAMENTS / f"{variant}_{rules.seats}")
    with wrong_arguments(), file_errors(f"cannot use the folder {folder.path}"):
        folder.go_on(plan) if resume else folder.begin(plan)
    if device_of(players) == "cpu":
        compile_players(spec.name for spec in players)
    return run(plan, players, folder, threads or os.cpu_count() or 1)


def run(plan: Plan, players: Sequence[AgentSpec], folder: Folder, threads: int) -> int:
    """Play, print, and write the results; CommandError if a file cannot be written, or after Ctrl-C."""
    title = f"{plan.rules.variant.name}, {len(plan.pairs)} pairs"
    with file_errors(f"cannot write in {folder.path}"):
        with progress_bar(title, "deals", plan.deals * len(plan.pairs)) as tick:
            ending = play_tournament(plan, players, folder, threads=threads, tick=tick)
        results = results_of(plan, players, folder)
        if results is not None:
            document = results.as_json()
            show(results)
            write_atomically(folder.path / RESULTS, dump(document))
            write_atomically(folder.path / TABLE, markdown(document).encode())
            try:
                draw_heatmap(results, folder.path / PICTURE)
            except MissingExtraError as missing:
                print(f"no picture: {missing}")
    if ending != "all":
        raise CommandError(f"stopped by Ctrl-C; the same command with --resume continues (--out {folder.path})", STOPPED)
    print(f"written to {folder.path}")
    return OK


def show(results: Results) -> None:
    """Print the payoff table."""
    console, rules = terminal(), results.plan.rules
    head = f"{rules.variant.name}, {rules.seats} seats: points per deal, {results.deals:,} deals for each pair"
    say(console, Text(head, style="bold"))
    console.print(fitted(payoff_table(results), console.width))
    for sentence in sentences(results.as_json()):
        say(console, Text(sentence.replace("`", "")))


def payoff_table(results: Results) -> Table:
    """Return the payoffs of the row's player alone in the column's field; columns are headed by row numbers, to stay narrow."""
    names, order, ratings = short_names(results.plan.players), results.order(), results.ratings()
    table = new_table("alone \\ field", *(str(column) for column in range(1, len(order) + 1)), "rating")
    for number, player in enumerate(order, 1):
        estimates = [results.alone(player, other) if other != player else None for other in order]
        cells = [Text() if value is None else Text(plus_minus(value), colour(value.low, value.high)) for value in estimates]
        rating = f"{ratings[player].mean:+.3f} ({ratings[player].standard_error:.3f})"
        table.add_row(Text(f"{number} {names[player]}"), *cells, Text(rating, "bold"))
    return table
