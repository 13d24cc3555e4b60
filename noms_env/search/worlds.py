"""Worlds: tables in which the cards that the seat to act has not seen are sampled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noms_env._jit import jit, jit_allocating
from noms_env.belief import sample_hidden_rows
from noms_env.core.chance import philox
from noms_env.search.endgame.position import count_deal_as_last
from noms_env.variants import dispatch


class Worlds(NamedTuple):
    """Worlds of one row, and who plays them out."""

    tables: np.ndarray  # shape (n,), as `kernel_view` makes them
    draws: np.ndarray  # source of each rollout's random numbers, int64, shape (n,)
    styles: np.ndarray  # model of each seat, int64, shape (n, MAX_SEATS): 0 for the own policy, else 1 + the index of a model

    def part(self, first: int, end: int | None) -> Worlds:
        """Return the worlds from `first` up to `end`."""
        return Worlds(*(array[first:end] for array in self))


@jit
def deal_worlds(tables, row, seed, worlds, numbers, sampling):
    """Deal worlds of the seat to act in a row into the first `len(numbers)` rows of `worlds`; `numbers` are int64: 0, 1, ...

    World k depends only on k and the seed, 0 to 2**63 - 1. `sampling` comes from `belief.new_sampling_workspace`.
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
    """Return the random number of a world, below 2**61: the source of its rollouts' random numbers."""
    words = philox(world, 1, 0, 0, int(seed) & 0xFFFFFFFF, int(seed) >> 32)
    return (words[0] << 29) | (words[1] >> 3)


@jit
def fraction_of(seed, world, seat):
    """Return a random number from 0 to 1 for a seat in a world."""
    return philox(world, 3, seat, 0, int(seed) & 0xFFFFFFFF, int(seed) >> 32)[0] / 4294967296.0


@jit
def copy_rows(source, rows, target, places):
    """Copy rows of tables to the rows `places` of `target`."""
    for i in range(len(rows)):
        target[places[i]] = source[rows[i]]


@jit_allocating
def are_sorted(tables):
    """Return whether each table (`kernel_view`) has a sorted deck (`is_sorted`), bool, shape (n,)."""
    answers = np.empty(len(tables), np.bool_)
    for row in range(len(tables)):
        answers[row] = is_sorted(tables[row])
    return answers


@jit
def is_sorted(t):
    """Return whether the deck was gathered from sorted hands after a pass-out (rules of Noms, 4.3).

    Such a deck deals far from uniformly, but worlds are uniform. The multiplier shows the pass-out, except a second one in a
    row with `double_repeat='single'`.
    """
    return dispatch.gathers(t) and t.multiplier != 1
