"""One layout, drawn uniformly; and the chance that it takes, a stream for each row."""

from __future__ import annotations

import numpy as np

from noms_env._jit import jit, lowest, size
from noms_env.belief.counting import go_through_shares, ways_to_end
from noms_env.belief.plan import PLACES
from noms_env.core.cards import bit, has
from noms_env.core.chance import DRAW_REDEAL, philox

_FRACTION_BITS = 56
_FRACTION = (1 << _FRACTION_BITS) - 1
_MOST_USED = 1 << 24
"""A fraction of 56 bits serves draws until the product of their ranges is above this."""


@jit
def draw_layout(p, ways):
    """Draw a layout into `dealt`."""
    for group in range(p.n_groups):
        p.pool[group] = p.forced[group]
    for k in range(p.n_classes):
        p.left_cards[k] = p.class_cards[k]
        p.left[k] = p.class_size[k]
    n_layouts = p.n_layouts
    for layer in range(p.n_open - 2):
        go_through_shares(p, ways, layer, uniform(p) * n_layouts)
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
def uniform(p):
    """A random number from 0 to below 1, of 53 bits."""
    return (next_fraction(p) >> 3) * 2.0**-53


@jit
def draw_below(p, n):
    """A random number from 0 to n - 1: the whole part of n times a fraction, whose rest serves the next draw."""
    if p.used * n > _MOST_USED:
        p.fraction = next_fraction(p)
        p.used = 1
    p.used *= n
    product = p.fraction * n
    p.fraction = product & _FRACTION
    return product >> _FRACTION_BITS
