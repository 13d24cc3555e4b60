"""The same play by the processor and by a GPU (or numba's simulator of one), compared byte by byte."""

from __future__ import annotations

import random
from collections.abc import Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from noms_env import BatchEnv, TableGroup, make_batch
from noms_env.variants import VARIANTS
from tests.agreement import random_table

SMALL = ("seat", "over", "scored", "points")
SEEN = ("observation", "mask", "hidden_state")


class Plan(NamedTuple):
    """What is played: the groups of tables, and the other arguments of a batch."""

    groups: list[TableGroup]
    arguments: dict[str, Any]


def draw_plan(rng: random.Random, variants: Sequence[str] = tuple(VARIANTS)) -> Plan:
    """A group of each game with options drawn at random, and arguments of the batch, too."""
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
        decisions: how many were taken at each side by tables whose deal went on.
    """

    def __init__(self, plan: Plan, tables: int, threads: int | None = 1) -> None:
        """Set up both, and deal."""
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
        """One random decision at each table, drawn by each side."""
        self.cpu.random_actions(self.states, self.actions)
        self.gpu.random_actions(self.gpu_states, self.gpu_actions)
        same("actions", self.actions, self.gpu_actions, self.plan)
        goes_on = ~self.cpu.over & ~(self.cpu.scored & self.cpu.pause_after_deal)
        self.decisions += int(goes_on.sum())
        self.cpu.step(self.actions, observe=observe)
        self.gpu.step(self.gpu_actions, observe=observe)

    def go_on(self) -> None:
        """The next deals of paused tables, and the next matches of those that are over."""
        if self.cpu.pause_after_deal:
            self.cpu.next_deal()
            self.gpu.next_deal()
        over = self.cpu.over.copy()
        if over.any():
            self.cpu.reset(over)
            self.gpu.reset(self.gpu.over)

    def compare(self, names: Sequence[str] = (*SMALL, *SEEN)) -> None:
        """Hold the arrays of both sides against each other.

        Raises:
            AssertionError: they differ.
        """
        for name in names:
            expected, array = getattr(self.cpu, name), getattr(self.gpu, name)
            if expected is not None:
                same(name, expected, array, self.plan)

    def compare_tables(self) -> None:
        """Hold the records of all tables against each other."""
        expected, got = (
            batch.save().view(np.ndarray).view(np.uint8).reshape(len(self.cpu), -1) for batch in (self.cpu, self.gpu)
        )
        assert_same("tables", expected, got, self.plan)


def to_gpu(array: np.ndarray) -> Any:
    """A copy on the GPU."""
    from noms_env.cuda.arrays import to_gpu  # here, since the module needs a GPU or the simulator

    return to_gpu(array)


def same(name: str, expected: np.ndarray, array: Any, plan: Plan) -> None:
    """See that an array on the GPU has the bytes of another."""
    assert_same(name, expected, array.to_numpy(), plan)


def assert_same(name: str, expected: np.ndarray, got: np.ndarray, plan: Plan) -> None:
    """See that two arrays are the same, type and shape included."""
    assert (expected.dtype, expected.shape) == (got.dtype, got.shape), name
    if not np.array_equal(expected, got):
        row, *place = (int(number) for number in np.argwhere(expected != got)[0])
        which = (row, *place)
        raise AssertionError(f"{name}{list(which)}: {expected[which]} on the processor, {got[which]} on the GPU; {plan}")


def play_both(plan: Plan, tables: int, steps: int, seconds: float = np.inf, threads: int | None = 1, every: int = 1) -> int:
    """Play at random, and compare what is small at every step, and all there is at every so many; the number of decisions.

    Raises:
        AssertionError: something differs.
    """
    both, start = Both(plan, tables, threads), perf_counter()
    both.compare()
    both.compare_tables()
    for step in range(steps):
        all_of_it = step % every == 0 or step == steps - 1
        both.step(observe=all_of_it)
        both.compare((*SMALL, *SEEN) if all_of_it else SMALL)
        both.go_on()
        both.compare(SMALL)
        if all_of_it:
            both.compare_tables()
        if perf_counter() - start > seconds:
            break
    return both.decisions
