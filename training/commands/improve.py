"""`noms improve`: expert iteration. A search on the policy plays, the policy learns from it, and both policies are compared."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import tyro

from ..console import print_lines
from ..extras import require
from ..learn import expert_iteration
from ..learn.best_response import RefusedError
from ..learn.data.workers import WorkerError
from ..learn.expert_iteration import Series
from ..options import by_default
from . import train
from .arguments import Flag, check_run
from .common import OK, CommandError, file_errors, interruptible, wrong_arguments


def improve(
    series: Annotated[Series, tyro.conf.arg(name="")],
    rounds: Annotated[int, tyro.conf.arg(metavar="N")] = 1,
    workers: Annotated[int | None, by_default("one for each core", "N")] = None,
    ray: Flag = False,
    out: Annotated[str | None, by_default("runs/improved", "FOLDER")] = None,
) -> int:
    """Improve a policy by expert iteration: rounds of search, learning, and comparison.

    In each round a search on the policy plays at tables of its own copies. Its decisions are recorded (`noms export
    --targets`). The policy learns from them together with PPO self-play (`noms train --curriculum.shards`). Then the new policy
    plays duplicate deals alone at tables of the old one. Both take their most probable actions, and so take the same time. The
    better one starts the next round.

    Each round has a folder: decisions, run, and result.json. The same command continues a stopped series, also with more
    rounds.

    For example:
      noms improve small_ships
      noms improve runs/nonesuch-fast --rounds 5 --matches 1000 --worlds 50 --out runs/nonesuch-improved

    Args:
        rounds: Rounds in all, including finished ones.
        workers: Worker processes. They change no result.
        ray: Play on the Ray cluster at RAY_ADDRESS, or else on all cores of this machine.
        out: The folder of all rounds.
    """
    require("torch", "train", "noms improve")
    folder, spread = Path(out or "runs/improved"), expert_iteration.Workers(workers or os.cpu_count() or 1, ray)
    if rounds < 1 or (workers is not None and workers < 1):
        raise CommandError("rounds and workers must be 1 or more")
    if ray and workers is not None:
        raise CommandError("give --workers or --ray, and not both")
    check_run(series.seed)
    if min(series.matches, series.worlds, series.decisions) < 1 or series.deals < 2:
        raise CommandError("--matches, --worlds and --decisions must be 1 or more, and --deals 2 or more")

    policy = series.policy
    with wrong_arguments(RefusedError), interruptible("the same command continues", WorkerError):
        expert_iteration.read_training(policy)
        with file_errors(f"cannot write {folder}"):
            expert_iteration.keep_settings(series, folder)
        for number in range(1, rounds + 1):
            with file_errors(f"cannot write {folder}"):
                result = expert_iteration.train_round(
                    series, policy, folder / f"{number:02}", number, spread, train.start_or_continue
                )
            policy = result["kept"]
            print_lines([f"round {number}: {summary(result)}"])
    return OK


def summary(result: dict[str, Any]) -> str:
    """Return one line on a round."""
    gains = [
        f"{table} {gain['mean']:+.3f} ({gain['low']:+.3f} to {gain['high']:+.3f})" for table, gain in result["gains"].items()
    ]
    return f"points per deal above {result['before']}: {', '.join(gains)}; kept: {result['kept']}"
