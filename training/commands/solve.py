"""`noms solve`: solve a micro-game exactly."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Annotated, Literal

import tyro

from noms_env._threads import RowThreads
from noms_env.micro import solving
from noms_env.micro.deal_setup import DealSetup
from noms_env.micro.settings import SUITE, micro_game
from noms_env.micro.solution import SolutionInfo
from noms_env.micro.tree import Tree, build_tree
from noms_env.variants import VARIANTS

from ..console import print_lines
from ..options import by_default, rules_of
from ..progress_bar import progress_bar
from ..text import as_file_name, duration
from .arguments import Option, Seats, Threads, check_run
from .common import OK, CommandError, file_errors, interruptible, wrong_arguments

MICRO, MARGIN = "micro", 0.005


def solve(
    game: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="GAME")],
    seats: Seats = None,
    option: Option = (),
    hand_size: Annotated[int | None, by_default("the largest of the schedule", "N")] = None,
    out: Annotated[str | None, by_default("micro/GAME.safetensors, with the settings of a variant", "FILE")] = None,
    reward: Literal["points", "relative"] = "points",
    percent: Annotated[float, tyro.conf.arg(metavar="P")] = 100 * MARGIN,
    iterations: Annotated[int, tyro.conf.arg(metavar="N")] = 100_000,
    threads: Threads = None,
) -> int:
    """Solve a small game by CFR+: find a strategy from which no seat gains much by deviating.

    The game is one deal on a short deck: a micro-game (`noms list micro`), or any game with options that make it small. The
    solver explores all layouts of the cards and all ways to play them, so each further card multiplies time and memory.
    NashConv is the sum of what the seats can gain by deviating alone. The solver stops when NashConv is a small share of that
    of the uniform random policy.

    The solution is a player, solved:FILE, for single deals. The same command continues a stopped run from a state that is saved
    every minute.

    For example:
      noms solve down-up-1
      noms solve noms-1 --percent 0.1 --out noms-1.safetensors
      noms solve noms --seats 3 --option ranks=3 --option suits=2 --option hand_size=2 --option min_bid=1

    Args:
        game: A micro-game by name, or a variant.
        seats: With a variant: number of seats.
        hand_size: With a variant of the exact-bid family: cards for each seat.
        out: The file of the solution.
        reward: The reward of the seats: points, or points less the mean of the others'.
        percent: Stop at this NashConv, in percent of that of the uniform random policy.
        iterations: Largest number of iterations.
    """
    check_run(0, threads)
    if out is not None and Path(out).is_dir():
        raise CommandError(f"{out} is a folder, and no file for a solution")
    if not percent >= 0 or iterations < 1:
        raise CommandError("--percent must be 0 or more, and --iterations 1 or more")
    with wrong_arguments():
        setup = setup_of(game, seats, option, hand_size)
    start, path = time.monotonic(), Path(out) if out else file_of(game, seats, option, hand_size, reward)
    try:
        with interruptible("the same command continues from the state saved every minute"):
            with wrong_arguments():
                tree = explore(game, setup)
            size = f"{len(tree.chance):,} layouts, {len(tree.seat):,} nodes, {len(tree.owner):,} information sets with a choice"
            print_lines([f"{game}: {size}, explored in {duration(time.monotonic() - start)}"])
            info = solve_with_bar(tree, path, percent / 100, iterations, reward, threads or os.cpu_count() or 1)
    except MemoryError as error:
        raise CommandError(f"{game} does not fit into the memory: make its deck or its hands smaller") from error
    print_lines(solution_lines(game, path, info, time.monotonic() - start))
    return OK


def explore(name: str, setup: DealSetup) -> Tree:
    """Build the tree of a deal with a progress bar; see `noms_env.micro.tree.build_tree` for the errors."""
    before = 0
    with progress_bar(f"{name}: explore", "layouts", None) as tick:

        def note_progress(done: int, total: int) -> None:
            nonlocal before
            tick(done - before)
            before = done

        return build_tree(setup, note_progress)


def solve_with_bar(tree: Tree, path: Path, share: float, iterations: int, reward: str, threads: int) -> SolutionInfo:
    """Solve a deal with a progress bar, and write the solution."""
    before = -1.0
    with wrong_arguments(), file_errors(f"cannot write {path}"), progress_bar("solve", "iterations", None) as tick:

        def report(progress: solving.Progress) -> None:
            nonlocal before
            tick(1)
            if before not in (-1.0, progress.share):
                done = f"after {progress.iterations - 1:,} iterations"
                print(f"NashConv {progress.share:.2%} of that of uniform random play {done}", file=sys.stderr)
            before = progress.share

        return solving.solve(tree, path, share, iterations, reward, RowThreads(threads), report)


def file_of(game: str, seats: int | None, option: tuple[str, ...], hand_size: int | None, reward: str) -> Path:
    """Return the default file of a solution, a different one for each table and reward."""
    settings_by_name = {"seats": seats, "hand_size": hand_size, "reward": None if reward == "points" else reward}
    settings = [f"{name}={value}" for name, value in settings_by_name.items() if value is not None]
    return Path(MICRO) / f"{as_file_name('-'.join([game, *settings, *sorted(option)]))}.safetensors"


def solution_lines(name: str, path: Path, info: SolutionInfo, seconds: float) -> list[str]:
    """Return the printed result."""
    share = info.nash_conv / info.uniform_nash_conv if info.uniform_nash_conv > 0 else 0.0
    unit = "points" if info.reward == "points" else "relative points"
    return [
        f"NashConv {info.nash_conv:.5f} {unit} after {info.iterations:,} iterations, {share:.2%} of the "
        f"{info.uniform_nash_conv:.4f} of the uniform random policy; in {duration(seconds)}, {memory_text()}",
        f"values by seat, from eldest: {', '.join(f'{value:+.4f}' for value in info.values)}",
        f"written to {path}",
        *([] if name in VARIANTS else [f"noms exploit PLAYER --micro {name} measures a player by the same tree"]),
    ]


def setup_of(name: str, seats: int | None, option: tuple[str, ...], hand_size: int | None) -> DealSetup:
    """Return the deal of a micro-game, or of a variant with options; ValueError if there is no such deal."""
    if name not in VARIANTS:
        if seats is not None or option or hand_size is not None:
            known = ", ".join(micro.name for micro in SUITE)
            raise ValueError(f"--seats, --option and --hand-size go with a variant; the micro-games are {known}")
        return micro_game(name).setup()
    rules = rules_of(name, seats, option)
    if hand_size is not None and not rules.schedule:
        raise ValueError(f"--hand-size goes with exact-bid games; in {name} give --option hand_size={hand_size}")
    size = {} if hand_size is None else {"hand_size": hand_size}
    return DealSetup(name, rules.seats, rules.options, **size)


def memory_text() -> str:
    """Return the peak memory, such as `2.1 GB of memory at most`, if the system reports it."""
    try:
        import resource
    except ImportError:
        return "memory not known"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return f"{peak / 1e9:.1f} GB of memory at most"
