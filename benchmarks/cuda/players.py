"""Players on a GPU beside the same players on the processor: whether they answer the same, and how fast."""

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
"""What is measured of players that need parameters, or that the reach of a GPU is said for; `{game}` is the game's policy."""
POLICY = "{game}"
SAME = ("random", "greedy", "thumb", "flat_mc")
"""Players that must answer as on the processor; of the others the share is told."""
FEWEST = 8
"""Rows that the processor is asked for at once, at least."""
ASKED_SECONDS = 0.02
"""For so long the processor is asked at once."""
GAIN = 1.05
"""More tables are tried as long as they make it so much faster."""


class Amount(NamedTuple):
    """How much of each player is compared and measured.

    Attributes:
        names: of the players, with `{game}`; None for all that the registry has for a GPU, and a policy.
        tables: that are compared, at most.
        compare: seconds for which the processor's cores answer.
        core: seconds for which one core does.
        measure: seconds of each rate on the GPU.
        sizes: numbers of tables that are tried.
        longest: no larger size is tried where a turn is to take longer, seconds.
        games: that are played.
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
    """The players, with `{game}` for a policy of the game."""
    if amount.names is not None:
        return amount.names
    return (*(word + PARAMETERS.get(word, "") for word, entry in PLAYERS.items() if entry.gpu), POLICY)


def positions(variant: str, tables: int) -> BatchEnv:
    """Tables on the processor, in the middle of their deals, neighbours in different phases."""
    batch = make_batch(variant, tables, seed=2)
    batch.reset()
    streams, actions = np.random.default_rng(3).integers(1, 2**32, tables), np.zeros(tables, np.int64)
    kept = batch.save()
    for step in range(OUT_OF_STEP):
        rows = np.arange(step, tables, OUT_OF_STEP)
        kept[rows] = batch.save(rows)
        batch.random_actions(streams, actions)
        batch.step(actions)
        batch.reset(batch.over)
    batch.restore(None, kept)
    batch.observe()
    return batch


class Asked:
    """A player of the processor, asked for chunks of rows of a batch: row by row the answers follow from `seeds`."""

    def __init__(self, name: str, batch: BatchEnv) -> None:
        """Make the player, and find out how many rows it answers in a moment."""
        self.player, self.batch = load_player(name), batch
        self.chunk = min(FEWEST, len(batch))
        self.answers(0)  # compiles
        taken = min(self._seconds() for _ in range(3))
        many = int(ASKED_SECONDS / taken) * self.chunk
        self.chunk = max(self.chunk, min(len(batch), many))

    def _seconds(self) -> float:
        start = perf_counter()
        self.answers(0)
        return max(perf_counter() - start, 1e-6)

    def rows(self, number: int) -> slice:
        """The rows of a chunk."""
        return slice(number * self.chunk, min((number + 1) * self.chunk, len(self.batch)))

    def answers(self, number: int) -> np.ndarray:
        """The actions in the rows of a chunk."""
        rows, batch = self.rows(number), self.batch
        rng = np.random.default_rng([4, number])
        tables: Any = batch.tables[rows]
        return np.asarray(self.player.act(batch.observation[rows], batch.mask[rows], rng, tables=tables))

    @property
    def chunks(self) -> int:
        """How many there are."""
        return -(-len(self.batch) // self.chunk)

    def seeds(self) -> np.ndarray:
        """Those of all rows, for a player on a GPU, int64, shape (n,)."""
        lengths = [len(range(*self.rows(number).indices(len(self.batch)))) for number in range(self.chunks)]
        return np.concatenate([draw_seeds(np.random.default_rng([4, k]), rows) for k, rows in enumerate(lengths)])

    def rate(self, seconds: float) -> float:
        """Decisions a second of one core."""
        done, start = 0, perf_counter()
        for number in itertools.cycle(range(self.chunks)):
            done += len(self.answers(number))
            if perf_counter() - start >= seconds:
                break
        return done / (perf_counter() - start)

    def all_answers(self, seconds: float) -> np.ndarray:
        """The actions of the first rows, as many as all cores answer in some seconds, and those of a chunk at least."""
        cores, start = os.cpu_count() or 1, perf_counter()
        answers: list[np.ndarray] = []
        with ThreadPoolExecutor(cores) as pool:
            for first in range(0, self.chunks, cores):
                answers += pool.map(self.answers, range(first, min(first + cores, self.chunks)))
                if perf_counter() - start >= seconds:
                    break
        return np.concatenate(answers)


def compare(name: str, variant: str, player: Any, batch: BatchEnv, amount: Amount) -> dict[str, Any]:
    """Ask a player on the GPU and the same on the processor; the rate of one core, and what differs.

    Raises:
        ValueError: the processor has no such player.
    """
    asked = Asked(name.format(game=variant), batch)
    gpu = make_batch(variant, len(batch), seed=2, device="cuda")
    gpu.restore(None, batch.save())
    answers = player.act(gpu, to_gpu(asked.seeds())).to_numpy()
    expected = asked.all_answers(amount.compare)
    differs = np.flatnonzero(answers[: len(expected)] != expected)
    report: dict[str, Any] = {"core": asked.rate(amount.core), "compared": len(expected), "mismatches": len(differs)}
    if len(differs) > 0:
        row = int(differs[0])
        report["first"] = f"row {row} of {variant}: {expected[row]} on the processor, {answers[row]} on the GPU"
    return report


def turn(gpu: Gpu, player: Any) -> None:
    """An action of a player at each table, and the next match where one is over."""
    player.act(gpu.batch, gpu.streams, actions=gpu.actions)
    gpu.batch.step(gpu.actions)  # type: ignore[arg-type]
    gpu.batch.reset(gpu.batch.over)


def best_rate(player: Any, variant: str, sizes: tuple[int, ...], amount: Amount) -> dict[str, Any]:
    """Decisions a second by turns at the best of some numbers of tables; more are tried as long as they pay."""
    best: dict[str, Any] = {"rate": 0.0, "tables": 0}
    for tables in sizes:
        try:
            taken = seconds_of(partial(turn, Gpu(variant, tables), player), amount.measure)
        except Exception as error:  # memory that does not suffice has many names
            if not best["tables"]:
                raise
            best["stopped"] = f"with {tables:,} tables: {type(error).__name__}: {error}"
            break
        is_better = tables / taken > GAIN * best["rate"]
        if tables / taken > best["rate"]:
            best |= {"rate": tables / taken, "tables": tables}
        if not is_better or taken * 8 > amount.longest:
            break
    return best


def warm(name: str, variant: str) -> None:
    """Compile what a player itself needs on either side; one that cannot be made is told by `measured`."""
    try:
        player = load_player(name.format(game=variant), device="cuda")
    except Exception:
        return
    compare(name, variant, player, positions(variant, 2 * BLOCK), Amount(compare=0.0, core=0.0))


def measured(name: str, variant: str, amount: Amount, tables: int | None) -> dict[str, Any]:
    """What is found of a player in a game, at a known best number of tables or at the best of all."""
    try:
        player = load_player(name.format(game=variant), device="cuda")
    except Exception as error:  # one that cannot be made is told, and the others are measured
        return {"not made": f"{type(error).__name__}: {error}"}
    try:
        report = compare(name, variant, player, positions(variant, amount.tables), amount)
        return report | best_rate(player, variant, (tables,) if tables else amount.sizes, amount)
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}"}


def must_be_the_same(name: str) -> bool:
    """Whether every answer is to be that of the processor."""
    return name.partition(":")[0] in SAME
