"""Worlds: tables with the hidden cards of the seat to act sampled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noms_env._jit import jit, jit_allocating
from noms_env.belief import sample_hidden_rows
from noms_env.core.chance import philox
from noms_env.search.endgame.position import count_deal_as_last
from noms_env.variants import dispatch


class Worlds(NamedTuple):
    """Worlds of one row, and how they are played out.

    Attributes:
        tables: shape (n,), as `kernel_view` makes them.
        draws: int64, shape (n,): the random numbers of a rollout follow from them.
        styles: int64, shape (n, MAX_SEATS): how each seat plays: 0 like the own policy, else 1 + the number of a model.
    """

    tables: np.ndarray
    draws: np.ndarray
    styles: np.ndarray

    def part(self, first: int, end: int | None) -> Worlds:
        """Some of them."""
        return Worlds(*(array[first:end] for array in self))


@jit
def deal_worlds(tables, row, seed, worlds, numbers, sampling):
    """Deal the worlds of the seat to act in a row.

    Args:
        tables: as `kernel_view` makes them; stay as they are.
        row: where a seat is to act.
        seed: 0 to 2**63 - 1; world k follows from it and from k.
        worlds: as `kernel_view` makes them; the first of them are written.
        numbers: int64, shape (n,): 0, 1, ...
        sampling: `belief.new_sampling_workspace`.
    """
    for world in range(len(numbers)):
        worlds[world] = tables[row]
    sample_hidden_rows(worlds, numbers, tables[row].seat, seed, sampling)
    for world in range(len(numbers)):
        count_deal_as_last(worlds[world])


@jit
def write_draws(seed, draws):
    """Write the random number of each world."""
    for world in range(len(draws)):
        draws[world] = draw_of(seed, world)


@jit
def draw_of(seed, world):
    """The random number of a world, below 2**61, from which those of its rollouts follow."""
    words = philox(world, 1, 0, 0, int(seed) & 0xFFFFFFFF, int(seed) >> 32)
    return (words[0] << 29) | (words[1] >> 3)


@jit
def fraction_of(seed, world, seat):
    """A random number from 0 to 1 for a seat in a world."""
    return philox(world, 3, seat, 0, int(seed) & 0xFFFFFFFF, int(seed) >> 32)[0] / 4294967296.0


@jit
def copy_rows(source, rows, target, places):
    """Copy some rows of tables to some places of others."""
    for i in range(len(rows)):
        target[places[i]] = source[rows[i]]


@jit_allocating
def are_sorted(tables):
    """Whether each table (`kernel_view`) has a sorted deck (`is_sorted`), bool, shape (n,)."""
    answers = np.empty(len(tables), np.bool_)
    for row in range(len(tables)):
        answers[row] = is_sorted(tables[row])
    return answers


@jit
def is_sorted(t):
    """Whether the deck was gathered from sorted hands after a pass-out (rules of Noms, 4.3).

    Such a deck deals far from uniformly, but worlds are uniform. The multiplier shows the pass-out, except a second one in a
    row with `double_repeat='single'`.
    """
    return dispatch.gathers(t) and t.multiplier != 1
