"""`noms solve`: a micro-game solved exactly."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from ...console import print_lines
from ...options import by_default, rules_of
from ...text import duration
from ..arguments import Option, Seats, Threads
from ..common import OK, STOPPED, CommandError, file_errors, wrong_arguments
from .exploring import explored

if TYPE_CHECKING:
    from noms_env.micro.deal_setup import DealSetup
    from noms_env.micro.solution import SolutionInfo
    from noms_env.micro.tree import Tree

MICRO, MARGIN = "micro", 0.005


def solve(
    game: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="GAME")],
    seats: Seats = None,
    option: Option = (),
    hand_size: Annotated[int | None, by_default("the largest of the schedule", "N")] = None,
    out: Annotated[str | None, by_default("micro/GAME.safetensors", "FILE")] = None,
    reward: Literal["points", "relative"] = "points",
    percent: Annotated[float, tyro.conf.arg(metavar="P")] = 100 * MARGIN,
    iterations: Annotated[int, tyro.conf.arg(metavar="N")] = 100_000,
    threads: Threads = None,
) -> int:
    """Solve a small game: a strategy from which no seat gains much by deviating, found by CFR+.

    The game is one deal on a short deck: one of the suite of micro-games (`noms list micro`), or any game with options that
    make it small. All layouts of the cards and all ways to play them are explored, so each further card multiplies time and
    memory. The strategy is near enough to an equilibrium when NashConv, the sum of what the seats can gain by deviating alone,
    is a small part of that of a strategy that takes all actions alike.

    The solution is a player, solved:FILE, for single deals. A run that was stopped goes on with the same command.

    For example:
      noms solve down-up-1
      noms solve noms-1 --percent 0.1 --out noms-1.safetensors
      noms solve noms --seats 3 --option ranks=3 --option suits=2 --option hand_size=2 --option min_bid=1

    Args:
        game: A micro-game by name, or a variant.
        seats: With a variant: number of seats.
        hand_size: With a variant of the exact-bid family: cards for each seat.
        out: The file of the solution.
        reward: What the seats play for: points, or points less the mean of the others'.
        percent: NashConv at which it ends, in percent of that of the strategy that takes all actions alike.
        iterations: Ends after so many at the latest.
    """
    if percent < 0 or iterations < 1:
        raise CommandError("--percent must be 0 or more, and --iterations 1 or more")
    with wrong_arguments():
        setup = setup_of(game, seats, option, hand_size)
    began = time.monotonic()
    try:
        with wrong_arguments():
            tree = explored(game, setup)
        print_lines(
            [
                f"{game}: {len(tree.chance):,} layouts, {len(tree.seat):,} nodes, {len(tree.owner):,} information sets with a "
                f"choice, explored in {duration(time.monotonic() - began)}"
            ]
        )
        path = Path(out or f"{MICRO}/{game}.safetensors")
        info = solved(tree, path, percent / 100, iterations, reward, threads or os.cpu_count() or 1)
    except KeyboardInterrupt as error:
        raise CommandError("stopped by Ctrl-C; the same command goes on", STOPPED) from error
    except MemoryError as error:
        raise CommandError(f"{game} does not fit into the memory: make its deck or its hands smaller") from error
    print_lines(told(game, path, info, time.monotonic() - began))
    return OK


def solved(tree: Tree, path: Path, share: float, iterations: int, reward: str, threads: int) -> SolutionInfo:
    """Solve a deal with a progress bar, and write the solution."""
    from noms_env._threads import RowThreads
    from noms_env.micro.solving import solve

    from ...progress_bar import progress_bar

    with wrong_arguments(), file_errors(f"cannot write {path}"), progress_bar("solve", "iterations", None) as tick:
        return solve(tree, path, share, iterations, reward, RowThreads(threads), lambda _progress: tick(1))


def told(name: str, path: Path, info: SolutionInfo, seconds: float) -> list[str]:
    """What is printed of a solution."""
    share = info.nash_conv / info.uniform_nash_conv if info.uniform_nash_conv > 0 else 0.0
    return [
        f"NashConv {info.nash_conv:.5f} points after {info.iterations:,} iterations, {share:.2%} of the "
        f"{info.uniform_nash_conv:.4f} of all actions alike; in {duration(seconds)}, {memory_text()}",
        f"values by seat, from eldest: {', '.join(f'{value:+.4f}' for value in info.values)}",
        f"written to {path}; noms exploit PLAYER --micro {name} measures a player by the same tree",
    ]


def setup_of(name: str, seats: int | None, option: tuple[str, ...], hand_size: int | None) -> DealSetup:
    """The deal that a name and options mean; ValueError if there is none."""
    from noms_env.micro.deal_setup import DealSetup
    from noms_env.micro.settings import SUITE, micro_game
    from noms_env.variants import VARIANTS

    if name not in VARIANTS:
        if seats is not None or option or hand_size is not None:
            known = ", ".join(one.name for one in SUITE)
            raise ValueError(f"--seats, --option and --hand-size go with a variant; the micro-games are {known}")
        return micro_game(name).setup()
    rules = rules_of(name, seats, option)
    given = {} if hand_size is None else {"hand_size": hand_size}
    return DealSetup(name, rules.seats, rules.options, **given)


def memory_text() -> str:
    """`2.1 GB of memory at most`; empty where the system does not tell."""
    try:
        import resource
        import sys
    except ImportError:
        return "memory not known"
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return f"{most / 1e9:.1f} GB of memory at most"
