"""Comparison of players on a GPU with the same players on the CPU: equal actions, and speed."""

from __future__ import annotations

import itertools
import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from benchmarks.cuda.speed import OUT_OF_STEP, Gpu, seconds_of
from noms_env import BatchEnv, load_player, make_batch
from noms_env.cuda.arrays import to_gpu
from noms_env.cuda.rows import BLOCK
from noms_env.players import draw_seeds
from noms_env.players.registry import PLAYERS
from noms_env.variants import VARIANTS

PARAMETERS = {"pimc": ":100", "search": ":{game},worlds=24"}
"""Parameters of players that need some or have a target; `{game}` is the game's policy."""
POLICY = "{game}"
SAME = ("random", "greedy", "thumb", "flat_mc")
"""Players whose actions must equal those on the CPU; for all others the share of differences is reported."""
FEWEST = 8
"""Minimum number of rows per call on the CPU."""
CALL_SECONDS = 0.02
"""Target duration of a call on the CPU."""
GAIN = 1.05
"""Minimum gain from more tables to try still more."""


class Amount(NamedTuple):
    """Sizes and times of the measurements per player.

    Attributes:
        names: names of the players, with `{game}`; None for all GPU players of the registry and a policy.
        tables: maximum number of tables to compare.
        compare: seconds of comparison on all CPU cores.
        core: seconds of measurement on one core.
        measure: seconds of each measurement on the GPU.
        sizes: numbers of tables to try.
        longest: maximum seconds of a turn; larger sizes are not tried.
        games: games to play.
    """

    names: tuple[str, ...] | None = None
    tables: int = 4096
    compare: float = 0.7
    core: float = 0.3
    measure: float = 0.2
    sizes: tuple[int, ...] = (1024, 8192, 65_536, 524_288, 2_097_152)
    longest: float = 2.0
    games: tuple[str, ...] = tuple(VARIANTS)


TINY = Amount(
    ("random", "thumb", "solved", POLICY), tables=5, compare=0.0, core=0.0, measure=0.0, sizes=(2, 6), games=("noms",)
)


def names_of(amount: Amount) -> tuple[str, ...]:
    """Return the names of the players, with `{game}` for a policy of the game."""
    if amount.names is not None:
        return amount.names
    return (*(word + PARAMETERS.get(word, "") for word, entry in PLAYERS.items() if entry.gpu), POLICY)


def positions(variant: str, tables: int) -> BatchEnv:
    """Return tables on the CPU in the middle of their deals, with neighbours in different phases."""
    batch = make_batch(variant, tables, seed=2)
    batch.reset()
    streams, actions = np.random.default_rng(3).integers(1, 2**32, tables), np.zeros(tables, np.int64)
    saved = batch.save()
    for step in range(OUT_OF_STEP):
        rows = np.arange(step, tables, OUT_OF_STEP)
        saved[rows] = batch.save(rows)
        batch.random_actions(streams, actions)
        batch.step(actions)
        batch.reset(batch.over)
    batch.restore(None, saved)
    batch.observe()
    return batch


class CpuPlayer:
    """A player on the CPU, called for chunks of rows of a batch; the actions are a function of `seeds`."""

    def __init__(self, name: str, batch: BatchEnv) -> None:
        """Load the player, and choose a chunk that takes about `CALL_SECONDS`."""
        self.player, self.batch = load_player(name), batch
        self.chunk = min(FEWEST, len(batch))
        self.answers(0)  # compiles
        elapsed = min(self._seconds() for _ in range(3))
        rows = int(CALL_SECONDS / elapsed) * self.chunk
        self.chunk = max(self.chunk, min(len(batch), rows))

    def _seconds(self) -> float:
        start = perf_counter()
        self.answers(0)
        return max(perf_counter() - start, 1e-6)

    def rows(self, number: int) -> slice:
        """Return the rows of a chunk."""
        return slice(number * self.chunk, min((number + 1) * self.chunk, len(self.batch)))

    def answers(self, number: int) -> np.ndarray:
        """Return the actions in the rows of a chunk."""
        rows, batch = self.rows(number), self.batch
        rng = np.random.default_rng([4, number])
        tables: Any = batch.tables[rows]
        return np.asarray(self.player.act(batch.observation[rows], batch.mask[rows], rng, tables=tables))

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return -(-len(self.batch) // self.chunk)

    def seeds(self) -> np.ndarray:
        """Return the seeds of all rows, for a player on a GPU, int64, shape (n,)."""
        lengths = [len(range(*self.rows(number).indices(len(self.batch)))) for number in range(self.chunks)]
        return np.concatenate([draw_seeds(np.random.default_rng([4, k]), rows) for k, rows in enumerate(lengths)])

    def rate(self, seconds: float) -> float:
        """Return the decisions per second of one core."""
        decisions, start = 0, perf_counter()
        for number in itertools.cycle(range(self.chunks)):
            decisions += len(self.answers(number))
            if perf_counter() - start >= seconds:
                break
        return decisions / (perf_counter() - start)

    def all_answers(self, seconds: float) -> np.ndarray:
        """Return the actions of the first rows: as many chunks as all cores finish in `seconds`, but at least one."""
        cores, start = os.cpu_count() or 1, perf_counter()
        answers: list[np.ndarray] = []
        with ThreadPoolExecutor(cores) as pool:
            for first in range(0, self.chunks, cores):
                answers += pool.map(self.answers, range(first, min(first + cores, self.chunks)))
                if perf_counter() - start >= seconds:
                    break
        return np.concatenate(answers)


def compare(name: str, variant: str, player: Any, batch: BatchEnv, amount: Amount) -> dict[str, Any]:
    """Compare a player on the GPU with the same player on the CPU; return the rate of one core and the differences.

    Raises:
        ValueError: the CPU player is unknown.
    """
    cpu = CpuPlayer(name.format(game=variant), batch)
    gpu = make_batch(variant, len(batch), seed=2, device="cuda")
    gpu.restore(None, batch.save())
    answers = player.act(gpu, to_gpu(cpu.seeds())).to_numpy()
    expected = cpu.all_answers(amount.compare)
    differs = np.flatnonzero(answers[: len(expected)] != expected)
    report: dict[str, Any] = {"core": cpu.rate(amount.core), "compared": len(expected), "mismatches": len(differs)}
    if len(differs) > 0:
        row = int(differs[0])
        report["first"] = f"row {row} of {variant}: {expected[row]} on the processor, {answers[row]} on the GPU"
    return report


def turn(gpu: Gpu, player: Any) -> None:
    """Take a player's action at each table, and start the next match at tables that are over."""
    player.act(gpu.batch, gpu.streams, actions=gpu.actions)
    gpu.batch.step(gpu.actions)  # type: ignore[arg-type]
    gpu.batch.reset(gpu.batch.over)


def best_rate(player: Any, variant: str, sizes: tuple[int, ...], amount: Amount) -> dict[str, Any]:
    """Return the decisions per second of turns at the best number of tables; try more tables as long as they pay."""
    best: dict[str, Any] = {"rate": 0.0, "tables": 0}
    for tables in sizes:
        try:
            elapsed = seconds_of(partial(turn, Gpu(variant, tables), player), amount.measure)
        except Exception as error:  # running out of memory raises many types
            if not best["tables"]:
                raise
            best["stopped"] = f"with {tables:,} tables: {type(error).__name__}: {error}"
            break
        is_better = tables / elapsed > GAIN * best["rate"]
        if tables / elapsed > best["rate"]:
            best |= {"rate": tables / elapsed, "tables": tables}
        if not is_better or elapsed * 8 > amount.longest:
            break
    return best


def warm(name: str, variant: str) -> None:
    """Compile a player for CPU and GPU; `measure` reports one that cannot be loaded."""
    try:
        player = load_player(name.format(game=variant), device="cuda")
    except Exception:
        return
    compare(name, variant, player, positions(variant, 2 * BLOCK), Amount(compare=0.0, core=0.0))


def measure(name: str, variant: str, amount: Amount, tables: int | None) -> dict[str, Any]:
    """Compare and measure a player in a game, at `tables` tables or at the best number."""
    try:
        player = load_player(name.format(game=variant), device="cuda")
    except Exception as error:  # report it, and measure the other players
        return {"not made": f"{type(error).__name__}: {error}"}
    try:
        report = compare(name, variant, player, positions(variant, amount.tables), amount)
        return report | best_rate(player, variant, (tables,) if tables else amount.sizes, amount)
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}"}


def must_agree(name: str) -> bool:
    """Return whether all actions must equal those of the CPU."""
    return name.partition(":")[0] in SAME
