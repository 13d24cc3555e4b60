"""Worlds: tables as the seat to act may imagine them, for the compiled part of the search."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noms_env._jit import jit
from noms_env.belief import sample_hidden_rows
from noms_env.core.chance import philox
from noms_env.core.state import MAX_SEATS
from noms_env.search.endgame.position import count_deal_as_last
from noms_env.variants import dispatch


class Worlds(NamedTuple):
    """Worlds of one row, and how they are played out.

    Attributes:
        tables: shape (n,), as `kernel_view` makes them.
        draws: int64, shape (n,): what is drawn in a rollout follows from them.
        styles: int64, shape (n, MAX_SEATS): how each seat plays: 0 like the own policy, else 1 + the number of a model.
    """

    tables: np.ndarray
    draws: np.ndarray
    styles: np.ndarray

    def part(self, first: int, end: int | None) -> Worlds:
        """Some of them."""
        return Worlds(*(array[first:end] for array in self))


@jit
def find_sorted(tables, found):
    """Write where the deck came from hands that were sorted after a pass-out (rules of Noms, 4.3): bool, shape (n,).

    Worlds have the unseen cards in any hand, which is far from what such a deck deals. It is told by the points that are
    multiplied: of a second pass-out in a row with `double_repeat='single'` nothing is seen.
    """
    for row in range(len(found)):
        found[row] = is_sorted(tables[row])


@jit
def is_sorted(t):
    """Whether the deck came so at one table."""
    return dispatch.gathers(t) and t.multiplier != 1


def are_sorted(tables: np.ndarray) -> np.ndarray:
    """What `find_sorted` writes of some tables (`kernel_view`): bool, shape (n,)."""
    found = np.empty(len(tables), np.bool_)
    find_sorted(tables, found)
    return found


@jit
def deal_worlds(tables, row, seed, worlds, rows, draws, sampling):
    """Fill some rows of `worlds` with what the seat to act of a table may imagine, and draw a number below 2**61 for each."""
    for i in range(len(rows)):
        worlds[rows[i]] = tables[row]
        draws[rows[i]] = draw_of(seed, i)
    sample_hidden_rows(worlds, rows, tables[row].seat, seed, sampling)
    for i in range(len(rows)):
        count_deal_as_last(worlds[rows[i]])


@jit
def draw_of(seed, world):
    """The number below 2**61 of a world, from which what is drawn in its rollouts follows."""
    words = philox(world, 1, 0, 0, int(seed) & 0xFFFFFFFF, int(seed) >> 32)
    return (words[0] << 29) | (words[1] >> 3)


@jit
def copy_rows(source, rows, target, places):
    """Copy some rows of tables to some places of others."""
    for i in range(len(rows)):
        target[places[i]] = source[rows[i]]


@jit
def draw_fractions(seed, drawn):
    """Fill `drawn`, float64, shape (n, MAX_SEATS), with random numbers from 0 to 1, other ones than those of `deal_worlds`."""
    for i in range(len(drawn)):
        for seat in range(MAX_SEATS):
            drawn[i, seat] = fraction_of(seed, i, seat)


@jit
def fraction_of(seed, world, seat):
    """The number of a seat in a world."""
    return philox(world, 3, seat, 0, int(seed) & 0xFFFFFFFF, int(seed) >> 32)[0] / 4294967296.0
