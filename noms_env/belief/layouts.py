"""How many layouts there are for each way to share the classes of cards out to the groups; and one of them, drawn uniformly."""

from __future__ import annotations

import math

import numpy as np

from noms_env._jit import jit, jit_allocating, lowest, size
from noms_env.belief.workspace import PLACES
from noms_env.core.cards import bit, has
from noms_env.core.chance import DRAW_REDEAL, philox

CHOOSE = np.array([[math.comb(n, k) for k in range(53)] for n in range(53)], np.float64)
"""[n, k]: number of sets of k among n cards, exact (all are below 2**53)."""
_FRACTION_BITS = 56
_MOST_USED = 1 << 24
"""A fraction of 56 bits serves draws until the product of their ranges is above this."""


@jit_allocating
def count_ways(p):
    """The number of layouts for each layer and state; that of layer 0 is `p.n_layouts`.

    Layer g is the moment at which the open group g is to get its share. A state is the number of cards left of each class.

    Returns:
        float64, shape (layers, states): filled for the layers from 1 on that need more than one look (`ways_to_end`).
    """
    p.left = p.class_size
    if p.n_open <= 2:
        return np.zeros((1, 1))
    p.largest = np.argmax(p.class_size[: p.n_classes])
    p.n_states = 1
    for k in range(p.n_classes):
        p.stride[k] = 0
        if k != p.largest:
            p.stride[k] = p.n_states
            p.n_states *= p.class_size[k] + 1
    ways = np.zeros((p.n_open - 2, p.n_states if p.n_open > 3 else 1))
    for layer in range(p.n_open - 3, 0, -1):
        for state in range(p.n_states):
            if find_state(p, layer, state):
                ways[layer, state] = go_through_shares(p, ways, layer, np.inf)
    p.left = p.class_size
    p.n_layouts = go_through_shares(p, ways, 0, np.inf)
    return ways


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


@jit
def draw_layout(p, ways):
    """Draw a layout into `dealt`."""
    p.pool = p.forced
    for k in range(p.n_classes):
        p.left_cards[k] = p.class_cards[k]
        p.left[k] = p.class_size[k]
    n_layouts = p.n_layouts
    for layer in range(p.n_open - 2):
        go_through_shares(p, ways, layer, (next_fraction(p) >> 3) * 2.0**-53 * n_layouts)
        group = p.open[layer]
        for k in range(p.n_classes):
            cards = some_of(p, p.left_cards[k], p.share[k])
            p.pool[group] |= cards
            p.left_cards[k] &= ~cards
            p.left[k] -= p.share[k]
        n_layouts = ways_to_end(p, ways, layer + 1)
    if p.n_open >= 2:
        give_rest(p, p.open[p.n_open - 2], p.open[p.n_open - 1])
    for place in range(PLACES):
        p.dealt[place] = 0
        if p.room[place] > 0:
            group = p.group_of[place]
            p.dealt[place] = some_of(p, p.pool[group], p.room[place])
            p.pool[group] &= ~p.dealt[place]


@jit
def give_rest(p, first, second):
    """Put what is left into the pools of two groups: each gets what fits only it, and what fits both is dealt out."""
    both = np.int64(0)
    room = p.group_room[first]
    for k in range(p.n_classes):
        in_first, in_second = has(p.class_groups[k], first), has(p.class_groups[k], second)
        if in_first and in_second:
            both |= p.left_cards[k]
        elif in_first:
            p.pool[first] |= p.left_cards[k]
            room -= size(p.left_cards[k])
        else:
            p.pool[second] |= p.left_cards[k]
    cards = some_of(p, both, room)
    p.pool[first] |= cards
    p.pool[second] |= both & ~cards


@jit
def some_of(p, cards, count):
    """A random subset of a set of cards, of a given number of members."""
    n = size(cards)
    drawn = min(count, n - count)
    if drawn > 0:
        left = cards
        for k in range(n):
            p.list[k] = lowest(left)
            left &= left - 1
    chosen = np.int64(0)
    for k in range(drawn):
        place = k + draw_below(p, n - k)
        chosen |= bit(p.list[place])
        p.list[place] = p.list[k]
    return chosen if drawn == count else cards & ~chosen


@jit
def open_stream(p, stream):
    """Begin the stream of a row."""
    p.stream = stream
    p.block = 0
    p.spare = -1
    p.used = _MOST_USED


@jit
def next_words(p):
    """Four random 32-bit words."""
    words = philox(int(p.block) | (DRAW_REDEAL << 24), int(p.stream), 0, 0, int(p.seed) & 0xFFFFFFFF, int(p.seed) >> 32)
    p.block += 1
    return words


@jit
def next_fraction(p):
    """56 random bits."""
    bits = p.spare
    if bits >= 0:
        p.spare = -1
        return bits
    words = next_words(p)
    p.spare = (words[2] << 24) | (words[3] >> 8)
    return np.int64((words[0] << 24) | (words[1] >> 8))


@jit
def draw_below(p, n):
    """A random number from 0 to n - 1: the whole part of n times a fraction, whose rest serves the next draw."""
    if p.used * n > _MOST_USED:
        p.fraction = next_fraction(p)
        p.used = 1
    p.used *= n
    product = p.fraction * n
    p.fraction = product & ((1 << _FRACTION_BITS) - 1)
    return product >> _FRACTION_BITS
