"""Sampled tables, for players that read tables.

A sampled table shows all that the seat to act has seen. The cards that it has not seen are dealt anew, uniformly among the
layouts that it cannot rule out (`sample_hidden`), so the table reveals nothing about the true hidden cards. It may be played
on, and sampled again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from noms_env._jit import jit
from noms_env.belief import new_sampling_workspace, sample_hidden_rows
from noms_env.belief.sampling import order_deck
from noms_env.core.actions import SCORED, brief, plain_array
from noms_env.core.chance import Seeds, draw_seeds
from noms_env.engine.row_kernels import kernel_view
from noms_env.variants.table_record import RECORD, TABLE

Rows = np.ndarray | Sequence[int] | slice | int | None
"""Selection of tables: numbers, one boolean per table, or a slice; None for all."""


def sampled_tables(tables: np.recarray, rows: Rows, seeds: Seeds) -> np.recarray:
    """Copy tables, and sample the cards that the seat to act has not seen.

    Args:
        tables: records (`table_record.TABLE`), shape (tables,), such as `BatchEnv.tables`; not changed.
        rows: the tables to copy, in order: integers of shape (n,), booleans of shape (tables,), a slice or one integer; all if
            None.
        seeds: a generator, or an integer for each row (`players.draw_seeds`). A sample depends only on the row's integer and
            the knowledge of its seat.

    Returns:
        Records, shape (n,). The i-th equals `Table.sample_hidden(seat to act, ...)` with the i-th integer.

    Raises:
        ValueError: `rows` or `seeds` are invalid, or a deal is over and nobody is to act.
    """
    numbers = row_numbers(rows, len(tables))
    words = np.ascontiguousarray(tables).view(np.ndarray).view(np.int64).reshape(len(tables), TABLE.itemsize // 8)
    # as words, since numpy copies records field by field
    copies: np.recarray = words.take(numbers, axis=0).view(RECORD).reshape(len(numbers)).view(np.recarray)
    idle = np.flatnonzero((copies.phase == SCORED) | (copies.over != 0))
    if len(idle) > 0:
        state = "is over" if copies.phase[idle[0]] == SCORED else "has not begun"
        raise ValueError(f"the deal of row {idle[0]} of {len(copies)} {state}: nobody is to act there, so leave it out")
    determinize_rows(kernel_view(copies), np.arange(len(copies)), draw_seeds(seeds, len(copies)), new_sampling_workspace())
    return copies


def copy_shown_tables(tables: np.recarray, rows: np.ndarray) -> np.recarray:
    """Copy the tables `rows`, int64, shape (n,), without the facts that no seat has seen: undealt cards and future chance.

    `is_played_out` must hold for these rows of the records `tables`, shape (tables,), which are not changed.
    """
    copies: np.recarray = tables[rows].copy().view(np.recarray)
    for name in ("seed", "table", "match"):
        copies[name] = 0
    order_decks(kernel_view(copies))
    return copies


def is_played_out(tables: np.recarray) -> np.ndarray:
    """Return whether a deal is over with all its cards played, so that all know who held which card: bool, shape (tables,)."""
    return np.asarray((tables.phase == SCORED) & (tables.cards_played != 0) & (tables.hands == 0).all(axis=1))


@jit
def order_decks(tables):
    """Write the decks in a canonical order, which shows only who held which cards."""
    for i in range(len(tables)):
        order_deck(tables[i])


def row_numbers(rows: Rows, tables: int) -> np.ndarray:
    """Return a selection of rows as numbers, int64, shape (n,); ValueError if a row does not exist."""
    numbers = np.arange(tables)
    try:
        selection = slice(None) if rows is None else rows
        if isinstance(selection, slice):
            return numbers[selection]
        selection = plain_array(selection)
        if selection.dtype == np.bool_ and selection.shape == numbers.shape:
            return np.flatnonzero(selection)
        if selection.shape == (0,):
            return numbers[:0]
        if selection.ndim <= 1 and selection.dtype.kind in "iu":
            if selection.dtype == np.uint64:
                selection = np.minimum(selection, tables)  # from 2**63 on it would be read as a negative number
            return np.atleast_1d(numbers[selection])  # negative numbers count from the end, as in numpy
    except (IndexError, TypeError, ValueError):
        pass
    raise ValueError(f"rows must be numbers from 0 to {tables - 1}, or {tables} booleans, not {brief(rows)}")


@jit
def determinize_rows(tables, rows, seeds, workspace):
    """Sample the cards unseen by the seat to act, in tables of shape (n,); rows: int64, 0 to n - 1; seeds: int64, (n,)."""
    for i in range(len(rows)):
        sample_hidden_rows(tables, rows[i : i + 1], tables[i].seat, seeds[i], workspace)
