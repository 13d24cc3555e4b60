"""The engine for Python: functions on one row of an array of tables.

A compiled function takes a plain structured array in 0.2 µs, but a record or a record array in 1.5 to 9 µs, so that
these take the array and a row number. Without the compiler the same functions need a record array, whose rows have
attributes: `kernel_view` gives the right one.
"""

from __future__ import annotations

import numpy as np

from noms_env._jit import COMPILED, jit, jit_inline, lowest
from noms_env.core.actions import INDICATE, NOMINATE, NOMINATING, SCORED
from noms_env.engine.legal import is_legal
from noms_env.engine.step import go_on, step
from noms_env.observation.writer import write_hidden, write_mask, write_observation

IS_SCORED = 1 << 8
"""In the status of a table: a deal has been scored, and nobody is to act. The seat to act is `status & 255`."""
ILLEGAL = -1


def kernel_view(tables: np.recarray) -> np.ndarray:
    """The same memory, as the functions of this module want it."""
    return tables.view(np.ndarray) if COMPILED else tables


@jit
def status_of(t):
    """Seat to act, and `IS_SCORED`."""
    return np.int64(t.seat) | (IS_SCORED if t.phase == SCORED else 0)


@jit
def legal_row(tables, row, actions):
    """Write the legal actions of the seat to act, ascending, int64, shape (NUM_ACTIONS,), and return their number."""
    t = tables[row]
    count = 0
    if t.phase != NOMINATING:
        count = write_members(t.legal_cards, 0, actions, count)
    count = write_members(t.legal_words, INDICATE, actions, count)
    if t.phase == NOMINATING:
        count = write_members(t.legal_cards, NOMINATE, actions, count)
    return count


@jit_inline
def write_members(members, first, actions, count):
    """Append the members of a set, each plus `first`, to the `count` actions that are there; the new count."""
    while members != 0:
        actions[count] = first + lowest(members)
        count += 1
        members &= members - 1
    return count


@jit
def step_row(tables, row, action):
    """Take an action if it is legal: the status after it, or ILLEGAL with the table unharmed."""
    t = tables[row]
    if not is_legal(t, action):
        return np.int64(ILLEGAL)
    step(t, action)
    return status_of(t)


@jit
def go_on_row(tables, row):
    """Deal the next hand after a scored deal, unless the match is over: the status after it."""
    go_on(tables[row])
    return status_of(tables[row])


@jit
def view_row(tables, row, seat, observation, mask):
    """Write what a seat sees and what it may do (int64 arrays of eight bytes a word)."""
    write_observation(tables[row], seat, observation)
    write_mask(tables[row], seat, mask)


@jit
def state_row(tables, row, seat, observation, hidden):
    """Write what a seat sees and what is hidden (int64 arrays of eight bytes a word)."""
    write_observation(tables[row], seat, observation)
    write_hidden(tables[row], seat, hidden)
