"""The game tree of one deal: every layout of the cards, and every way to play it by the package's engine.

A *node* is a decision with more than one legal action, or an end; forced actions are skipped. Nodes are stored layout by
layout, each after its parent, and the children of a node are contiguous. The nodes at which a seat has the same observation
form an *information set*. Perfect recall of the seats is checked.

A *slot* is an action in an information set. The slots of a set are contiguous; a strategy is a number for each slot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import factorial, prod

import numpy as np

from noms_env.core.actions import NUM_ACTIONS
from noms_env.engine.row_kernels import kernel_view
from noms_env.micro.deal_setup import DealSetup
from noms_env.micro.explicit_chance import CHANCE, ExplicitChanceDeal
from noms_env.micro.tree_kernels import FULL, MAX_DEPTH, NODE, explore, find_new_infosets, write_previous_slots, write_views
from noms_env.observation.layout import OBSERVATION_SIZE, PADDED_MASK_SIZE
from noms_env.variants.table_record import new_tables

MAX_LAYOUTS = 2_000_000
"""Maximal number of layouts of a tree; each has hundreds of nodes."""
Tick = Callable[[int, int], None]
"""Progress callback: called with the layouts done and all layouts."""


@dataclass(frozen=True)
class Tree:
    """The game tree of one deal.

    Attributes:
        setup: the rules and the dealer.
        layouts: tables before the first decision, shape (layouts,).
        chance: probability of each layout, float64, shape (layouts,).
        starts: first node (the root) of each layout, then the number of nodes, int64, shape (layouts + 1,).
        seat: seat to act at each node, int8, shape (nodes,); `END` at an end.
        first: first child of each node, or the row of an end in `points`, int64, shape (nodes,).
        infoset: information set of each node, int64, shape (nodes,); -1 for an end.
        points: points of each seat at each end, float64, shape (ends, seats); the mean if a lot decides.
        offset: first slot of each information set, then the number of slots, int64, shape (infosets + 1,).
        action: action of each slot, int16, shape (slots,).
        owner: seat of each information set, int8, shape (infosets,).
        level: number of earlier decisions of the seat, int64, shape (infosets,).
        key: hash of the observation of each information set, int64, shape (infosets,).
    """

    setup: DealSetup
    layouts: np.recarray
    chance: np.ndarray
    starts: np.ndarray
    seat: np.ndarray
    first: np.ndarray
    infoset: np.ndarray
    points: np.ndarray
    offset: np.ndarray
    action: np.ndarray
    owner: np.ndarray
    level: np.ndarray
    key: np.ndarray

    @property
    def seats(self) -> int:
        """Number of seats."""
        return int(self.points.shape[1])

    def relative(self) -> np.ndarray:
        """Return points less the mean of the other seats' points, float64, shape (ends, seats); each row sums to 0."""
        others = (self.points.sum(axis=1, keepdims=True) - self.points) / (self.seats - 1)
        return np.asarray(self.points - others)

    def uniform(self) -> np.ndarray:
        """Return the uniform random policy, float64, shape (slots,)."""
        counts = np.diff(self.offset)
        return np.repeat(1 / counts, counts)

    def decisions(self, rows: int = 4096) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.recarray]]:
        """Iterate over the information sets in batches of up to `rows`, each set with one of its tables.

        Yields:
            Numbers, int64, (n,); observations, uint8, (n, OBSERVATION_SIZE); masks, int8, (n, NUM_ACTIONS); tables, (n,).
        """
        stack, frames = kernel_view(new_tables(MAX_DEPTH)), np.zeros((MAX_DEPTH, 2), np.int64)
        met, examples, at = np.zeros(len(self.owner), np.bool_), new_tables(rows), np.empty(rows, np.int64)
        state = np.zeros(2, np.int64)  # current layout, frames in use
        while True:
            count = find_new_infosets(
                kernel_view(self.layouts), self.starts, self.seat, self.first, self.infoset, self.offset, self.action,
                stack, frames, state, met, kernel_view(examples), at,
            )  # fmt: skip
            if count == 0:
                return
            observation = np.empty((count, OBSERVATION_SIZE // 8), np.int64)
            mask = np.zeros((count, PADDED_MASK_SIZE // 8), np.int64)
            write_views(kernel_view(examples), observation, mask)
            masks = np.ascontiguousarray(mask.view(np.int8)[:, :NUM_ACTIONS])
            yield at[:count].copy(), observation.view(np.uint8), masks, examples[:count].copy().view(np.recarray)


def layouts_of(setup: DealSetup) -> tuple[np.recarray, np.ndarray]:
    """Return the tables before the first decision, one per layout, and their probabilities; raises ValueError for too many."""
    deals = factorial(sum(setup.capacities)) // prod(map(factorial, setup.capacities))
    if deals > MAX_LAYOUTS:
        raise ValueError(
            f"the cards can be dealt in {deals:.1e} ways, but at most {MAX_LAYOUTS:,} can be explored: "
            "make the deck or the hands smaller with ranks, suits and hand_size"
        )
    rows, chances = list[bytes](), list[float]()

    def follow(deal: ExplicitChanceDeal, chance: float) -> None:
        if deal.actor != CHANCE:
            rows.append(deal.dealt_table.get_state())
            chances.append(chance)
            return
        for outcome, probability in deal.outcomes():
            twin = deal.copy()
            twin.apply_outcome(outcome)
            follow(twin, chance * probability)

    follow(ExplicitChanceDeal(setup), 1.0)
    tables = np.frombuffer(bytearray(b"".join(rows)), new_tables(0).dtype).view(np.recarray)
    return tables, np.array(chances)


def build_tree(setup: DealSetup, tick: Tick = lambda done, total: None) -> Tree:
    """Build the game tree of a deal; `tick` is called now and then with the layouts done and all layouts.

    Raises:
        ValueError: there are too many layouts, or the observations do not give a seat perfect recall.
        MemoryError: the nodes do not fit into memory.
    """
    layouts, chance = layouts_of(setup)
    tables, is_lot = kernel_view(layouts), setup.rules.options.get("tie") == "cut"
    nodes, points = np.zeros(1 << 12, NODE), np.zeros((1 << 12, setup.rules.seats))
    stack, frames = kernel_view(new_tables(MAX_DEPTH)), np.zeros((MAX_DEPTH, 2), np.int64)
    observation = np.empty(OBSERVATION_SIZE // 8, np.int64)
    starts, ends = np.zeros(len(layouts) + 1, np.int64), 0
    for row in range(len(layouts)):
        used = np.array([starts[row], ends], np.int64)
        while explore(tables, row, is_lot, stack, frames, observation, used, nodes, points) == FULL:
            nodes, points = (np.concatenate([array, np.zeros_like(array)]) for array in (nodes, points))
            used[:] = starts[row], ends
        starts[row + 1], ends = used
        if row % 256 == 0:
            tick(row, len(layouts))
    tick(len(layouts), len(layouts))
    return _number_infosets(setup, (layouts, chance), starts, nodes[: starts[-1]], points[:ends].copy())


def _number_infosets(
    setup: DealSetup, dealt: tuple[np.recarray, np.ndarray], starts: np.ndarray, nodes: np.ndarray, points: np.ndarray
) -> Tree:
    """Return the tree of the explored nodes, with information sets numbered in order of appearance."""
    deciding = np.flatnonzero(nodes["seat"] >= 0)
    _, at, inverse = np.unique(nodes["key"][deciding], return_index=True, return_inverse=True)
    order = np.argsort(at)
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    infoset = np.full(len(nodes), -1, np.int64)
    infoset[deciding] = number[inverse]
    example = deciding[at[order]]
    seat, first = nodes["seat"].copy(), nodes["first"].copy()
    counts = nodes["count"][example].astype(np.int64)
    offset = np.concatenate([[0], np.cumsum(counts)])
    slots = np.repeat(first[example] - offset[:-1], counts) + np.arange(offset[-1])
    action, owner = nodes["via"][slots].copy(), seat[example].copy()
    before, last = np.full(len(example), -2, np.int64), np.full((len(nodes), points.shape[1]), -1, np.int32)
    if not write_previous_slots(starts, seat, first, infoset, offset, action, nodes["via"], before, last):
        raise ValueError(
            f"with these rules of {setup.rules.variant.name} a seat forgets earlier observations, so it has no perfect recall"
        )
    level, set_of_slot = np.zeros(len(example), np.int64), np.repeat(np.arange(len(example)), counts)
    for i in np.argsort(example):  # earlier decisions have smaller examples
        level[i] = 0 if before[i] < 0 else level[set_of_slot[before[i]]] + 1
    return Tree(
        setup=setup,
        layouts=dealt[0],
        chance=dealt[1],
        starts=starts,
        seat=seat,
        first=first,
        infoset=infoset,
        points=points,
        offset=offset,
        action=action,
        owner=owner,
        level=level,
        key=nodes["key"][example],
    )
