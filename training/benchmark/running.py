"""Training the runs of an entry. A finished run is never repeated; an interrupted one starts again."""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from multiprocessing import active_children, get_context
from pathlib import Path

from noms_env._files import lock, read_file, write_atomically
from noms_env._json import parse_json

from ..learn.data.workers import end_with_parent
from ..text import count
from .entry import (
    ALGORITHM,
    BASELINES,
    ENTRY,
    OF_A_RUN,
    PLAYER,
    RUN,
    Entry,
    EntryError,
    check_tracks,
    read_entry,
    run_folder,
    sha256_of,
    write_entry,
)
from .protocol import PROTOCOLS, V2, Budget, budget_of
from .task import division_of, load_algorithm, progress_writer, read_progress, train_run

LOOK = 1.0
"""Seconds between two checks on runs in other processes."""

Runs = Sequence[tuple[str, int]]
"""Runs as (game or `GENERALIST`, seed)."""


def algorithm_file(name: str) -> Path:
    """Return the file of an algorithm from its path or the name of a baseline; EntryError if the file does not exist."""
    is_file = name.endswith(".py")
    path = Path(name) if is_file else BASELINES / f"{name}.py"
    if path.is_file() and (is_file or not name.startswith("_")):
        return path
    if is_file:
        raise EntryError(f"there is no file {name}")
    known = baselines()
    where = f"the baselines are {', '.join(known)}" if known else "the baselines are only in a clone of the repository"
    raise EntryError(f"there is no algorithm {name!r}: name a Python file, or a baseline; {where}")


def baselines() -> list[str]:
    """Return the names of the available baselines."""
    return sorted(path.stem for path in BASELINES.glob("*.py") if not path.stem.startswith("_"))


def begin(
    folder: Path, algorithm: Path, games: tuple[str, ...], seeds: tuple[int, ...], budget: str, tracks: tuple[str, ...] = ()
) -> Entry:
    """Create the folder of an entry, or add games, seeds and tracks to an existing one.

    Raises:
        EntryError: The folder has an entry of another algorithm, budget or protocol, the algorithm cannot be loaded, or the
            tracks have none of the games.
        ValueError: The budget is invalid.
        OSError: A file cannot be written.
    """
    module, text = load_algorithm(algorithm), str(budget_of(budget))
    sha256 = sha256_of(algorithm)
    description = (module.__doc__ or "").strip().split("\n\n")[0].replace("\n", " ")
    other_player = OF_A_RUN.replace(f"{PLAYER}:player", f"{PLAYER}:other_player") if hasattr(module, "other_player") else ""
    plays = getattr(module, "PLAYS", "greedy" if other_player else "")
    values = algorithm.stem, division_of(module), OF_A_RUN, games, seeds, text, sha256, description
    entry = Entry(*values, protocol=V2, tracks=tracks, other_player=other_player, plays=plays)
    if (folder / ENTRY).exists():
        before = read_entry(folder)
        fixed = ("algorithm", before.algorithm, sha256), ("budget", before.budget, text), ("protocol", before.protocol, V2)
        for what, was, now in fixed:
            if was != now:
                raise EntryError(f"the entry in {folder} was made with another {what}: {was}, not {now}; choose another --out")
        games = tuple(name for name in PROTOCOLS[V2].games if name in (*before.games, *games))
        tracks = tuple(track for track in PROTOCOLS[V2].tracks if track in (*before.tracks, *entry.tracks))
        seeds = tuple(sorted({*before.seeds, *seeds}))
        entry = replace(entry, name=before.name, games=games, seeds=seeds, tracks=tracks)
    check_tracks(entry)
    folder.mkdir(parents=True, exist_ok=True)
    copy = folder / ALGORITHM
    if not copy.exists():
        write_atomically(copy, algorithm.read_bytes())
    elif sha256_of(copy) != sha256:
        raise EntryError(f"{copy} is another algorithm than {algorithm}: choose another --out, or remove that file")
    write_entry(folder, entry)
    return entry


def runs_left(entry: Entry, folder: Path) -> Runs:
    """Return the unfinished runs, ordered by seed."""
    return [run for run in sorted(entry.runs, key=lambda run: run[1]) if not (run_folder(folder, *run) / RUN).exists()]


def budget_of_run(entry: Entry, run: str) -> Budget:
    """Return the budget of a run of a game or of `GENERALIST`."""
    return PROTOCOLS[entry.protocol].budget_of_run(entry.budget, run)


def train_all(entry: Entry, folder: Path, *, workers: int = 1, tick: Callable[[int], None] = lambda decisions: None) -> None:
    """Train the unfinished runs of an entry from `begin`, one after another in each of the worker processes.

    One worker is this process. `tick` receives the number of new decisions.

    Raises:
        EntryError: An algorithm left no policy, a worker died, or another process trains in the folder.
        KeyboardInterrupt: Ctrl-C; finished runs remain.
        Exception: An error of the algorithm, after the current runs of the other workers have finished.
    """
    algorithm = folder / ALGORITHM
    with (folder / "lock").open("a") as file:
        if not lock(file):
            raise EntryError(f"another process trains in {folder}; wait for it, or name another folder by --out")
        left = runs_left(entry, folder)
        if workers == 1:
            for run in left:
                train_run(algorithm, *run, budget_of_run(entry, run[0]), run_folder(folder, *run), tick)
            return
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=end_with_parent) as pool:
            try:
                _train_in(pool, entry, folder, left, workers, tick)
            except KeyboardInterrupt:
                for child in active_children():
                    child.terminate()
                raise
            except BrokenProcessPool as error:
                text = "a process that trained has ended itself or was killed; run the same command to continue"
                raise EntryError(text) from error


def _train_in(
    pool: ProcessPoolExecutor, entry: Entry, folder: Path, left: Runs, workers: int, tick: Callable[[int], None]
) -> None:
    """Train runs in other processes and report progress. After a failure no run starts, and the current ones finish."""
    algorithm, waiting, running = folder / ALGORITHM, deque(left), dict[Future[int], tuple[str, int]]()
    reported, failed = Counter[Future[int]](), list[Future[int]]()
    while running or (waiting and not failed):
        while waiting and not failed and len(running) < workers:
            run = waiting.popleft()
            running[pool.submit(_in_worker, algorithm, *run, budget_of_run(entry, run[0]), run_folder(folder, *run))] = run
        ended = [(future, running.pop(future)) for future in wait(running, LOOK, FIRST_COMPLETED).done]
        for future, (game, seed) in ended:
            if future.exception() is None:
                tick(future.result() - reported[future])
                continue
            failed.append(future)
            if running:
                others = count(len(running), "other run")
                print(f"the run of {game} with seed {seed} failed; {others} at work will be done", file=sys.stderr, flush=True)
        for future, run in running.items():
            now = read_progress(run_folder(folder, *run))
            if now > reported[future]:
                tick(now - reported[future])
                reported[future] = now
    for future in failed:
        future.result()


def _in_worker(algorithm: Path, game: str, seed: int, budget: Budget, folder: Path) -> int:
    """Train a run in a worker process, and return its number of decisions."""
    train_run(algorithm, game, seed, budget, folder, progress_writer(folder))
    return int(parse_json(read_file(folder / RUN))["decisions"])
