"""The same play on the processor and on a GPU (or in numba's simulator of one), compared byte by byte."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, ClassVar, NamedTuple

import numpy as np

from noms_env import BatchEnv, TableGroup, make_batch
from noms_env.variants import VARIANTS
from tests.agreement import random_table

STATUS = ("seat", "over", "scored", "points")
OUTPUTS = (*STATUS, "observation", "mask", "hidden_state")


class Plan(NamedTuple):
    """Groups of tables, and the other arguments of a batch."""

    groups: list[TableGroup]
    arguments: dict[str, Any]


def draw_plan(rng: random.Random, variants: Sequence[str] = tuple(VARIANTS)) -> Plan:
    """Draw the options of one group per game, and the arguments of the batch."""
    arguments = {
        "episode": rng.choice(["match", "deal"]),
        "observation": rng.choice(["bytes", "features"]),
        "skip_forced": rng.random() < 0.3,
        "pause_after_deal": rng.random() < 0.3,
        "hidden_state": rng.random() < 0.7,
        "seed": rng.randrange(2**63),
    }
    groups = []
    for variant in variants:
        seats, options = random_table(variant, rng)
        if arguments["episode"] == "deal" and "accumulate" in options:
            options["accumulate"] = False
        groups.append(TableGroup(variant, seats, options))
    return Plan(groups, arguments)


class Both:
    """Two batches of one plan that do the same: one on the processor, one on the GPU.

    Attributes:
        decisions: number of decisions on each side in deals that were not over.
    """

    def __init__(self, plan: Plan, tables: int, threads: int | None = 1) -> None:
        self.plan = plan
        self.cpu: BatchEnv = make_batch(plan.groups, tables, threads=threads, **plan.arguments)
        self.gpu: BatchEnv = make_batch(plan.groups, tables, device="cuda", **plan.arguments)
        states = np.random.default_rng(plan.arguments["seed"]).integers(1, 2**32, tables)
        self.states, self.actions = states.copy(), np.zeros(tables, np.int64)
        self.gpu_states, self.gpu_actions = to_gpu(states), to_gpu(self.actions)
        self.decisions = 0
        for batch in (self.cpu, self.gpu):
            batch.reset()
            batch.observe()

    def step(self, observe: bool = True) -> None:
        """Take one random decision at each table; each side draws its own."""
        self.cpu.random_actions(self.states, self.actions)
        self.gpu.random_actions(self.gpu_states, self.gpu_actions)
        assert_same("actions", self.actions, self.gpu_actions.to_numpy(), self.plan)
        active = ~self.cpu.over & ~(self.cpu.scored & self.cpu.pause_after_deal)
        self.decisions += int(active.sum())
        self.cpu.step(self.actions, observe=observe)
        self.gpu.step(self.gpu_actions, observe=observe)

    def advance(self) -> None:
        """Deal the next hand at paused tables, and start the next match at those that are over."""
        if self.cpu.pause_after_deal:
            self.cpu.next_deal()
            self.gpu.next_deal()
        over = self.cpu.over.copy()
        if over.any():
            self.cpu.reset(over)
            self.gpu.reset(self.gpu.over)

    def compare(self, names: Sequence[str] = OUTPUTS) -> None:
        """Compare the arrays of both sides; an AssertionError says where they differ."""
        for name in names:
            expected, array = getattr(self.cpu, name), getattr(self.gpu, name)
            if expected is not None:
                assert_same(name, expected, array.to_numpy(), self.plan)

    def compare_tables(self) -> None:
        """Compare the records of all tables."""
        expected, array = (
            batch.save().view(np.ndarray).view(np.uint8).reshape(len(self.cpu), -1) for batch in (self.cpu, self.gpu)
        )
        assert_same("tables", expected, array, self.plan)


class Graph:
    """Stands in for a captured CUDA graph: a replay repeats the launches."""

    log: ClassVar[list[str]] = []

    def __init__(self, work: Callable[[], None], _pool: object = None) -> None:
        """Launch once, as `captured` does."""
        self.work = work
        work()
        self.log.append("capture")

    def replay(self) -> None:
        self.work()
        self.log.append("replay")


def to_gpu(array: np.ndarray) -> Any:
    from noms_env.cuda.arrays import to_gpu  # here, since the module needs a GPU or the simulator

    return to_gpu(array)


def assert_same(name: str, expected: np.ndarray, array: np.ndarray, plan: Plan) -> None:
    assert (expected.dtype, expected.shape) == (array.dtype, array.shape), name
    if not np.array_equal(expected, array):
        place = tuple(int(number) for number in np.argwhere(expected != array)[0])
        raise AssertionError(f"{name}{list(place)}: {expected[place]} on the processor, {array[place]} on the GPU; {plan}")


def play_both(plan: Plan, tables: int, steps: int, seconds: float = np.inf, threads: int | None = 1, every: int = 1) -> int:
    """Play at random; compare the status at every step, everything at every `every`-th; return the number of decisions.

    Raises:
        AssertionError: something differs.
    """
    both, start = Both(plan, tables, threads), perf_counter()
    both.compare()
    both.compare_tables()
    for step in range(steps):
        is_full = step % every == 0 or step == steps - 1
        both.step(observe=is_full)
        both.compare(OUTPUTS if is_full else STATUS)
        both.advance()
        both.compare(STATUS)
        if is_full:
            both.compare_tables()
        if perf_counter() - start > seconds:
            break
    return both.decisions
