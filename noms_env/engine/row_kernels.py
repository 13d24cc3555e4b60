"""The engine for callers in Python: functions on one row of an array of tables.

Passing a plain structured array to a compiled function takes 0.2 µs, but a record or a record array takes 1.5 to 9 µs. So
these functions take an array and a row number. Without the compiler they need a record array, whose rows have attributes;
`kernel_view` returns the right kind.
"""

from __future__ import annotations

import numpy as np

from noms_env._jit import COMPILED, jit, jit_inline, lowest
from noms_env.core.actions import INDICATE, NOMINATE, NOMINATING, SCORED
from noms_env.engine.legal import is_legal
from noms_env.engine.step import continue_match, step
from noms_env.observation.writer import write_hidden, write_mask, write_observation

IS_SCORED = 1 << 8
"""Flag in the status of a table: the deal is scored, and no seat is to act. Otherwise `status & 255` is the seat to act."""
ILLEGAL = -1


def kernel_view(tables: np.recarray) -> np.ndarray:
    """Return a view of tables for the functions of this module."""
    return tables.view(np.ndarray) if COMPILED else tables


@jit
def status_of(t):
    """Return the status of a table: the seat to act, plus `IS_SCORED` if the deal is scored."""
    return np.int64(t.seat) | (IS_SCORED if t.phase == SCORED else 0)


@jit
def legal_row(tables, row, actions):
    """Write the legal actions of the seat to act, ascending, into int64 (NUM_ACTIONS,); return their number."""
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
    """Append the members of a set, each plus `first`, after the first `count` actions; return the new count."""
    while members != 0:
        actions[count] = first + lowest(members)
        count += 1
        members &= members - 1
    return count


@jit
def step_row(tables, row, action):
    """Take an action if it is legal, and return the new status; else return ILLEGAL and leave the table unchanged."""
    t = tables[row]
    if not is_legal(t, action):
        return np.int64(ILLEGAL)
    step(t, action)
    return status_of(t)


@jit
def continue_row(tables, row):
    """Deal the next hand after a scored deal, unless the match is over; return the new status."""
    continue_match(tables[row])
    return status_of(tables[row])


@jit
def view_row(tables, row, seat, observation, mask):
    """Write a seat's observation and mask (int64 arrays, eight bytes per word)."""
    write_observation(tables[row], seat, observation)
    write_mask(tables[row], seat, mask)


@jit
def state_row(tables, row, seat, observation, hidden):
    """Write a seat's observation and the hidden state (int64 arrays, eight bytes per word)."""
    write_observation(tables[row], seat, observation)
    write_hidden(tables[row], seat, hidden)
