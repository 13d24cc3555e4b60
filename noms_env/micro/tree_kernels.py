"""Compiled functions for game trees: exploring layouts, hashing observations, and finding each information set."""

from __future__ import annotations

import numpy as np

from noms_env._jit import jit, size
from noms_env.core.actions import SCORED
from noms_env.core.state import MAX_SEATS
from noms_env.engine.batch_kernels import count_legal, nth_legal
from noms_env.engine.step import step
from noms_env.observation.layout import OBSERVATION_SIZE, SEAT_BYTES, START
from noms_env.observation.writer import write_mask, write_observation

END = -1
"""The seat of a node at which the deal is over."""
MAX_DEPTH = 256
"""Size of stacks: above the number of decisions in a deal."""
FULL = -1


def _build_deal_mask() -> np.ndarray:
    """Return a bit mask of observations without the fields of the match: int64, shape (OBSERVATION_SIZE // 8,)."""
    bits = np.full(OBSERVATION_SIZE, 255, np.uint8)
    seats, numbers = START["seats"], START["numbers"]
    for row in range(MAX_SEATS):
        bits[seats + SEAT_BYTES * row : seats + SEAT_BYTES * row + 2] = 0  # totals
    bits[[numbers + 4, numbers + 5, numbers + 14]] = 0  # deal, deals left, single deal
    return bits.view(np.int64)


DEAL_MASK = _build_deal_mask()
NODE = np.dtype([("first", np.int64), ("key", np.int64), ("count", np.int16), ("via", np.int16), ("seat", np.int8)], align=True)
"""A node during the construction, see `Tree`; `count` is the number of its children, `via` the action that leads to it."""


@jit
def explore(tables, row, is_lot, stack, frames, observation, counts, nodes, points):
    """Add the nodes of a layout; return `FULL` if there is no room for them, else 0.

    `counts`: int64, shape (2,), the numbers of nodes and ends, updated in place. `frames`: node and next action at each depth.
    """
    stack[0] = tables[row]
    frames[0, 0], frames[0, 1] = counts[0], 0
    counts[0] += 1
    if counts[0] >= len(nodes) or not enter(stack, 0, frames[0, 0], is_lot, observation, counts, nodes, points):
        return FULL
    depth = 0
    while depth >= 0:
        node, k = frames[depth, 0], frames[depth, 1]
        if k == nodes[node].count:
            depth -= 1
            continue
        frames[depth, 1] += 1
        child = nodes[node].first + k
        action = nth_legal(stack[depth], k)
        stack[depth + 1] = stack[depth]
        step(stack[depth + 1], action)
        nodes[child].via = action
        depth += 1
        frames[depth, 0], frames[depth, 1] = child, 0
        if not enter(stack, depth, child, is_lot, observation, counts, nodes, points):
            return FULL
    return 0


@jit
def enter(stack, depth, node, is_lot, observation, counts, nodes, points):
    """Take the forced actions and write a node; return False if there is no room."""
    t, x = stack[depth], nodes[node]
    take_forced(t)
    if t.phase == SCORED:
        if counts[1] >= len(points):
            return False
        x.seat, x.count, x.first, x.key = END, 0, counts[1], 0
        write_points(t, is_lot, points[counts[1]])
        counts[1] += 1
        return True
    x.seat, x.count, x.first, x.key = t.seat, count_legal(t), counts[0], key_of(t, observation)
    counts[0] += x.count
    return counts[0] < len(nodes)


@jit
def take_forced(t):
    """Take actions while only one is legal."""
    while t.phase != SCORED and count_legal(t) == 1:
        step(t, nth_legal(t, 0))


@jit
def write_points(t, is_lot, points):
    """Write the points of a scored deal; if a lot decides which seat is sniped, tied seats get their mean."""
    for seat in range(t.n_seats):
        points[seat] = t.points[seat]
    if not is_lot or size(np.int64(t.sniped)) != 1:
        return
    max_tricks, total, tied = 0, 0.0, 0
    for seat in range(t.n_seats):
        if (t.sniped >> seat) & 1:
            max_tricks = t.tricks[seat]
    for seat in range(t.n_seats):
        if t.tricks[seat] == max_tricks:
            total += t.points[seat]
            tied += 1
    for seat in range(t.n_seats):
        if t.tricks[seat] == max_tricks:
            points[seat] = total / tied


@jit
def key_of(t, observation):
    """Return the hash of the observation of the seat to act."""
    write_observation(t, t.seat, observation)
    return hash_words(observation)


@jit
def write_keys(observations, keys):
    """Write the hash of each observation; `observations`: int64, shape (n, OBSERVATION_SIZE // 8)."""
    for i in range(len(keys)):
        keys[i] = hash_words(observations[i])


@jit
def hash_words(words):
    """Hash the words of an observation without the fields of the match, by the finaliser of MurmurHash3 (A. Appleby)."""
    h = np.uint64(0x9E3779B97F4A7C15)
    for k in range(len(words)):
        h = (h ^ np.uint64(words[k] & DEAL_MASK[k])) + np.uint64(k)
        h = (h ^ (h >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
        h = (h ^ (h >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
        h ^= h >> np.uint64(33)
    return np.int64(h)


@jit
def write_previous_slots(starts, seat, first, infoset, offset, action, via, previous, last):
    """Write the previous slot of each information set's owner into `previous`, -1 for none; return False if nodes disagree.

    `last`: scratch, int32, shape (nodes, seats), -1 at the roots.
    """
    for node in range(len(seat)):
        if seat[node] < 0:
            continue
        own, i = seat[node], infoset[node]
        if previous[i] == -2:
            previous[i] = last[node, own]
        elif previous[i] != last[node, own]:
            return False
        for a in range(offset[i + 1] - offset[i]):
            child = first[node] + a
            if via[child] != action[offset[i] + a]:
                return False
            for other in range(last.shape[1]):
                last[child, other] = last[node, other]
            last[child, own] = offset[i] + a
    return True


@jit
def find_new_infosets(tables, starts, seat, first, infoset, offset, action, stack, frames, state, visited, examples, infosets):
    """Continue the walk through the tree, and copy a table for each new information set; return the number of copies.

    `state`: int64, shape (2,), the current layout and the frames in use, preserved between calls.
    """
    count = 0
    while count < len(infosets):
        if state[1] == 0:
            if state[0] == len(tables):
                return count
            stack[0] = tables[state[0]]
            take_forced(stack[0])
            frames[0, 0], frames[0, 1] = starts[state[0]], 0
            state[0] += 1
            state[1] = 1
        depth = state[1] - 1
        node, k = frames[depth, 0], frames[depth, 1]
        if seat[node] < 0:
            state[1] -= 1
            continue
        i = infoset[node]
        if k == 0 and not visited[i]:
            visited[i] = True
            infosets[count] = i
            examples[count] = stack[depth]
            count += 1
        if k == offset[i + 1] - offset[i]:
            state[1] -= 1
            continue
        frames[depth, 1] += 1
        stack[depth + 1] = stack[depth]
        step(stack[depth + 1], action[offset[i] + k])
        take_forced(stack[depth + 1])
        frames[depth + 1, 0], frames[depth + 1, 1] = first[node] + k, 0
        state[1] += 1
    return count


@jit
def write_views(tables, observation, mask):
    """Write observation and mask of the seat to act at each table."""
    for i in range(len(observation)):
        write_observation(tables[i], tables[i].seat, observation[i])
        write_mask(tables[i], tables[i].seat, mask[i])
