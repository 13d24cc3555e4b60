"""How many layouts there are for each way to share the classes of cards out to the groups of places."""

from __future__ import annotations

import math

import numpy as np

from noms_env._jit import jit, jit_allocating
from noms_env.core.cards import has

CHOOSE = np.array([[math.comb(n, k) for k in range(53)] for n in range(53)], np.float64)
"""[n, k]: number of sets of k among n cards, exact (all are below 2**53)."""


@jit_allocating
def count_ways(p):
    """The number of layouts for each layer and state; that of layer 0 is `p.n_layouts`.

    Layer g is the moment at which the open group g is to get its share. A state is the number of cards left of each class.

    Returns:
        float64, shape (layers, states): filled for the layers from 1 on that need more than one look (`ways_to_end`).
    """
    for k in range(p.n_classes):
        p.left[k] = p.class_size[k]
    if p.n_open <= 2:
        return np.zeros((1, 1))
    number_states(p)
    ways = np.zeros((p.n_open - 2, p.n_states if p.n_open > 3 else 1))
    for layer in range(p.n_open - 3, 0, -1):
        for state in range(p.n_states):
            if find_state(p, layer, state):
                ways[layer, state] = go_through_shares(p, ways, layer, np.inf)
    for k in range(p.n_classes):
        p.left[k] = p.class_size[k]
    p.n_layouts = go_through_shares(p, ways, 0, np.inf)
    return ways


@jit
def number_states(p):
    """Give the classes strides, all but the largest."""
    p.largest = 0
    for k in range(1, p.n_classes):
        if p.class_size[k] > p.class_size[p.largest]:
            p.largest = k
    p.n_states = 1
    for k in range(p.n_classes):
        p.stride[k] = 0
        if k != p.largest:
            p.stride[k] = p.n_states
            p.n_states *= p.class_size[k] + 1


@jit
def find_state(p, layer, state):
    """Set `left` to the state of that number; False if there is no such state in the layer."""
    missing = 0
    for g in range(layer, p.n_open):
        missing += p.group_room[p.open[g]]
    for k in range(p.n_classes):
        if k != p.largest:
            p.left[k] = state // p.stride[k] % (p.class_size[k] + 1)
            missing -= p.left[k]
    p.left[p.largest] = missing
    return 0 <= missing <= p.class_size[p.largest]


@jit
def go_through_shares(p, ways, layer, target):
    """Go through the shares that a group may get of each class, until their weights add up to more than a target.

    The weight of a share is the number of layouts in which the group gets that many cards of each class. `left` is the state
    before; `share` and `rest` are set to the share arrived at and what it leaves. Returns the sum of the weights.
    """
    group = p.open[layer]
    for k in range(p.n_classes):
        p.most[k] = p.left[k] if has(p.class_groups[k], group) else 0
    total = 0.0
    going = fill_share(p, 0, p.group_room[group])
    while going:
        weight = 1.0
        for k in range(p.n_classes):
            p.rest[k] = p.left[k] - p.share[k]
            weight *= CHOOSE[p.left[k], p.share[k]]
        total += weight * ways_to_end(p, ways, layer + 1)
        going = total <= target and next_share(p)
    return total


@jit
def fill_share(p, first, count):
    """Let the share have a number of cards of the classes from `first` on, the first ones above all; False if it cannot."""
    for k in range(first, p.n_classes):
        p.share[k] = min(p.most[k], count)
        count -= p.share[k]
    return count == 0


@jit
def next_share(p):
    """The next share of the same number of cards; False behind the last one."""
    moved = 0
    spare = 0
    for k in range(p.n_classes - 1, -1, -1):
        if p.share[k] > 0 and spare > 0:
            p.share[k] -= 1
            return fill_share(p, k + 1, moved + 1)
        moved += p.share[k]
        spare += p.most[k] - p.share[k]
    return False


@jit
def ways_to_end(p, ways, layer):
    """The number of layouts for the state `rest` and the groups from a layer on."""
    if layer < p.n_open - 2:
        state = 0
        for k in range(p.n_classes):
            state += p.rest[k] * p.stride[k]
        return ways[layer, state]
    first, second = p.open[layer], p.open[layer + 1]
    both = 0
    room = p.group_room[first]
    for k in range(p.n_classes):
        in_first, in_second = has(p.class_groups[k], first), has(p.class_groups[k], second)
        if in_first and in_second:
            both += p.rest[k]
        elif in_first:
            room -= p.rest[k]
        elif not in_second and p.rest[k] > 0:
            return 0.0
    return CHOOSE[both, room] if 0 <= room <= both else 0.0
