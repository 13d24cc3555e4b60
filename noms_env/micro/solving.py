"""Solving a deal: CFR+ up to a given exploitability; a stopped run resumes."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

import numpy as np

from noms_env._files import open_file, whole_file
from noms_env._npz import array_of, head_of
from noms_env._threads import ONE_THREAD, RowThreads
from noms_env.core.actions import brief
from noms_env.micro.cfr import Solver
from noms_env.micro.measures import exploitability
from noms_env.micro.solution import SolutionInfo, describe_deal, save_solution
from noms_env.micro.tree import Tree

FIRST_LOOK, GROWTH = 16, 1.5
"""NashConv is measured after `FIRST_LOOK` iterations, then each time their number has grown by `GROWTH`: it costs several
iterations."""
SUMS = ("regrets", "totals", "strategy")
"""Arrays of a `Solver` in the file of a stopped run."""
SAVE_SECONDS = 60.0
MAX_ITERATIONS = 1 << 53


class Progress(NamedTuple):
    """Progress of a solver."""

    iterations: int
    nash_conv: float
    share: float
    """`nash_conv` as a share of the NashConv of the uniform random policy."""


class StateError(ValueError):
    """The file of a stopped run is damaged or belongs to another run; the message says which."""


def solve(
    tree: Tree,
    path: Path,
    share: float = 0.005,
    iterations: int = 100_000,
    reward: str = "points",
    row_threads: RowThreads = ONE_THREAD,
    tick: Callable[[Progress], None] = lambda progress: None,
) -> SolutionInfo:
    """Solve a deal, and write the solution.

    A stopped run resumes from the file `path` + `.state.npz`, with the same result. Writing the solution removes that file.

    Args:
        tree: the deal.
        path: file of the solution.
        share: stop at this NashConv, as a share of the NashConv of the uniform random policy.
        iterations: maximal number of iterations.
        reward: one of `REWARDS`.
        row_threads: threads; the solution does not depend on them.
        tick: called after each iteration with the progress; its NashConv is the latest measured.

    Raises:
        ValueError: the reward is unknown.
        StateError: the file of the stopped run is damaged, or belongs to another deal.
        OSError: a file cannot be read or written.
    """
    solver, state = Solver(tree, reward, row_threads), path.with_name(path.name + ".state.npz")
    uniform = exploitability(solver.passes, tree.uniform())
    look, nash_conv = _restore(solver, state, reward) if state.exists() else (FIRST_LOOK, uniform.nash_conv)
    saved = time.monotonic()
    while True:
        if solver.iterations >= min(look, iterations):
            measured = exploitability(solver.passes, solver.average())
            look, nash_conv = int(look * GROWTH), measured.nash_conv
            if nash_conv <= share * uniform.nash_conv or solver.iterations >= iterations:
                break
        solver.iterate()
        tick(Progress(solver.iterations, nash_conv, nash_conv / uniform.nash_conv if uniform.nash_conv > 0 else 0.0))
        if time.monotonic() - saved > SAVE_SECONDS:
            _save(solver, state, reward, look, nash_conv)
            saved = time.monotonic()
    info = SolutionInfo(
        **describe_deal(tree.setup),
        reward=reward,
        iterations=solver.iterations,
        nash_conv=nash_conv,
        uniform_nash_conv=uniform.nash_conv,
        values=measured.values.tolist(),
    )
    save_solution(path, tree, solver.average(), info)
    state.unlink(missing_ok=True)
    return info


def _digest(tree: Tree, reward: str) -> str:
    return hashlib.sha256(tree.key.tobytes() + tree.points.tobytes() + reward.encode()).hexdigest()


def _save(solver: Solver, path: Path, reward: str, look: int, nash_conv: float) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as file:
        arrays: dict[str, Any] = {name: getattr(solver, name) for name in SUMS}
        arrays |= {"digest": _digest(solver.tree, reward), "numbers": [solver.iterations, look], "nash_conv": nash_conv}
        np.savez(file, **arrays)


def _restore(solver: Solver, path: Path, reward: str) -> tuple[int, float]:
    expected: dict[str, tuple[tuple[int, ...], np.dtype[Any]]] = {
        **{"digest": ((), np.dtype("U64")), "numbers": ((2,), np.dtype(np.int64)), "nash_conv": ((), np.dtype(np.float64))},
        **dict.fromkeys(SUMS, (solver.regrets.shape, np.dtype(np.float64))),
    }
    again = "remove it to start the run again"
    path.open("rb").close()  # an error after this is damage, even an OSError
    try:
        with open_file(path) as opened, ZipFile(opened) as file:
            if head_of(file, "digest") == expected["digest"] and str(array_of(file, "digest")) != _digest(solver.tree, reward):
                raise StateError(f"{path} belongs to another deal or reward: remove it, or write the solution to another file")
            for name, head in expected.items():
                if head_of(file, name) != head:
                    raise StateError(f"{path} is damaged (its {name} is missing or has another type): {again}")
            saved = {name: array_of(file, name) for name in expected}
    except StateError:
        raise
    except Exception as error:  # zipfile and NumPy raise many kinds
        raise StateError(f"{path} is damaged ({brief(str(error))[1:-1]}): {again}") from error
    iterations, look = saved["numbers"].tolist()
    totals = np.add.reduceat(saved["strategy"], solver.tree.offset[:-1])
    are_finite = all(np.isfinite(saved[name]).all() and (saved[name] >= 0).all() for name in ("nash_conv", *SUMS))
    if not are_finite or not np.allclose(totals, 1) or not 0 <= iterations < MAX_ITERATIONS or not 1 <= look < MAX_ITERATIONS:
        raise StateError(f"{path} is damaged (its numbers are impossible): {again}")
    for name in SUMS:
        getattr(solver, name)[:] = saved[name]
    solver.iterations = iterations
    return look, float(saved["nash_conv"])
