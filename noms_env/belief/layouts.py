"""Count the layouts for each distribution of card classes over groups, and draw a layout uniformly."""

from __future__ import annotations

import math

import numpy as np

from noms_env._jit import jit, lowest, size
from noms_env.belief.workspace import PLACES
from noms_env.core.cards import bit, has
from noms_env.core.chance import DRAW_REDEAL, philox

CHOOSE = np.array([[math.comb(n, k) for k in range(53)] for n in range(53)], np.float64)
"""[n, k]: number of subsets of k cards among n, exact (all are below 2**53)."""
_FRACTION_BITS = 56
_MAX_RANGE_PRODUCT = 1 << 24
"""A fraction of 56 bits serves draws until the product of their ranges exceeds this."""


@jit
def count_ways(p, d, ways):
    """Write the number of layouts for each layer and state; that of layer 0 is `p.n_layouts`.

    In layer g the open group g gets its share. A state is the number of undealt cards of each class. `p` is a plan
    (`workspace.PLAN`), `d` a layout (`workspace.LAYOUT`) as scratch. `ways`, float64, shape (MAX_WAYS,), is written for the
    layers from 1 on that need a search (`count_ways_to_end`).
    """
    if p.n_open <= 2:
        return
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
    for layer in range(p.n_open - 3, 0, -1):
        for state in range(p.n_states):
            if find_state(p, d, layer, state):
                ways[(layer - 1) * p.n_states + state] = sum_shares(p, d, ways, layer, np.inf)
    for k in range(p.n_classes):
        d.remaining[k] = p.class_size[k]
    p.n_layouts = sum_shares(p, d, ways, 0, np.inf)


@jit
def find_state(p, d, layer, state):
    """Set `remaining` to the state with a number; False if the layer has no such state."""
    missing = 0
    for g in range(layer, p.n_open):
        missing += p.group_room[p.open[g]]
    for k in range(p.n_classes):
        if k != p.largest:
            d.remaining[k] = state // p.stride[k] % (p.class_size[k] + 1)
            missing -= d.remaining[k]
    d.remaining[p.largest] = missing
    return 0 <= missing <= p.class_size[p.largest]


@jit
def sum_shares(p, d, ways, layer, target):
    """Enumerate the possible shares of a group until their weights add up to more than a target; return the sum.

    The weight of a share is the number of layouts in which the group gets that many cards of each class. The state before it is
    `remaining`. `share` and `next_remaining` become the last share and the state after it.
    """
    group = p.open[layer]
    for k in range(p.n_classes):
        d.max_share[k] = d.remaining[k] if has(p.class_groups[k], group) else 0
    total = 0.0
    has_share = fill_share(p, d, 0, p.group_room[group])
    while has_share:
        weight = 1.0
        for k in range(p.n_classes):
            d.next_remaining[k] = d.remaining[k] - d.share[k]
            weight *= CHOOSE[d.remaining[k], d.share[k]]
        total += weight * count_ways_to_end(p, d, ways, layer + 1)
        has_share = total <= target and next_share(p, d)
    return total


@jit
def fill_share(p, d, first, count):
    """Fill the share with `count` cards from the classes `first` and later, in order; False if there are too few."""
    for k in range(first, p.n_classes):
        d.share[k] = min(d.max_share[k], count)
        count -= d.share[k]
    return count == 0


@jit
def next_share(p, d):
    """Turn to the next share with the same number of cards; False after the last one."""
    tail_count = 0
    tail_room = 0
    for k in range(p.n_classes - 1, -1, -1):
        if d.share[k] > 0 and tail_room > 0:
            d.share[k] -= 1
            return fill_share(p, d, k + 1, tail_count + 1)
        tail_count += d.share[k]
        tail_room += d.max_share[k] - d.share[k]
    return False


@jit
def count_ways_to_end(p, d, ways, layer):
    """Return the number of layouts for the state `next_remaining` and the groups from a layer on."""
    if layer < p.n_open - 2:
        state = 0
        for k in range(p.n_classes):
            state += d.next_remaining[k] * p.stride[k]
        return ways[(layer - 1) * p.n_states + state]
    first, second = p.open[layer], p.open[layer + 1]
    common = 0
    room = p.group_room[first]
    for k in range(p.n_classes):
        in_first, in_second = has(p.class_groups[k], first), has(p.class_groups[k], second)
        if in_first and in_second:
            common += d.next_remaining[k]
        elif in_first:
            room -= d.next_remaining[k]
        elif not in_second and d.next_remaining[k] > 0:
            return 0.0
    return CHOOSE[common, room] if 0 <= room <= common else 0.0


@jit
def draw_layout(p, d, ways):
    """Draw a layout into `d.dealt`."""
    for group in range(p.n_groups):
        d.pool[group] = p.forced[group]
    for k in range(p.n_classes):
        d.remaining_cards[k] = p.class_cards[k]
        d.remaining[k] = p.class_size[k]
    n_layouts = p.n_layouts
    for layer in range(p.n_open - 2):
        sum_shares(p, d, ways, layer, (next_fraction(d) >> 3) * 2.0**-53 * n_layouts)
        group = p.open[layer]
        for k in range(p.n_classes):
            cards = draw_subset(d, d.remaining_cards[k], d.share[k])
            d.pool[group] |= cards
            d.remaining_cards[k] &= ~cards
            d.remaining[k] -= d.share[k]
        n_layouts = count_ways_to_end(p, d, ways, layer + 1)
    if p.n_open >= 2:
        deal_last_groups(p, d, p.open[p.n_open - 2], p.open[p.n_open - 1])
    for place in range(PLACES):
        d.dealt[place] = 0
        if p.room[place] > 0:
            group = p.group_of[place]
            d.dealt[place] = draw_subset(d, d.pool[group], p.room[place])
            d.pool[group] &= ~d.dealt[place]


@jit
def deal_last_groups(p, d, first, second):
    """Deal the remaining cards to two groups: each gets the cards that fit only it; cards that fit both are dealt at random."""
    common = np.int64(0)
    room = p.group_room[first]
    for k in range(p.n_classes):
        in_first, in_second = has(p.class_groups[k], first), has(p.class_groups[k], second)
        if in_first and in_second:
            common |= d.remaining_cards[k]
        elif in_first:
            d.pool[first] |= d.remaining_cards[k]
            room -= size(d.remaining_cards[k])
        else:
            d.pool[second] |= d.remaining_cards[k]
    cards = draw_subset(d, common, room)
    d.pool[first] |= cards
    d.pool[second] |= common & ~cards


@jit
def draw_subset(d, cards, count):
    """Return a random subset of `count` cards."""
    n = size(cards)
    n_draws = min(count, n - count)
    if n_draws > 0:
        remaining = cards
        for k in range(n):
            d.cards[k] = lowest(remaining)
            remaining &= remaining - 1
    subset = np.int64(0)
    for k in range(n_draws):
        place = k + draw_below(d, n - k)
        subset |= bit(d.cards[place])
        d.cards[place] = d.cards[k]
    return subset if n_draws == count else cards & ~subset


@jit
def open_stream(d, stream):
    """Start the random stream of a row."""
    d.stream = stream
    d.block = 0
    d.spare_bits = -1
    d.range_product = _MAX_RANGE_PRODUCT


@jit
def next_words(d):
    """Return four random 32-bit words."""
    words = philox(int(d.block) | (DRAW_REDEAL << 24), int(d.stream), 0, 0, int(d.seed) & 0xFFFFFFFF, int(d.seed) >> 32)
    d.block += 1
    return words


@jit
def next_fraction(d):
    """Return 56 random bits."""
    bits = d.spare_bits
    if bits >= 0:
        d.spare_bits = -1
        return bits
    words = next_words(d)
    d.spare_bits = (words[2] << 24) | (words[3] >> 8)
    return np.int64((words[0] << 24) | (words[1] >> 8))


@jit
def draw_below(d, n):
    """Return a random number from 0 to n - 1: the integer part of n times a fraction. The next draw uses the remainder."""
    if d.range_product * n > _MAX_RANGE_PRODUCT:
        d.fraction = next_fraction(d)
        d.range_product = 1
    d.range_product *= n
    product = d.fraction * n
    d.fraction = product & ((1 << _FRACTION_BITS) - 1)
    return product >> _FRACTION_BITS
