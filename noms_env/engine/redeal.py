"""Deals that a seat cannot tell from the true one: what a search plays on instead of cards that it may not see.

`redeal_rows` gives the cards that a seat has not seen new places, uniformly among all layouts with which the deal would
have come to where it is: the same calls, announcements and plays were legal, the deal did not stop before, and all that the
seat was shown is the same. Calls and announcements are taken as they came; that a seat would hardly have called so on
other cards is no constraint. Nothing of the true layout has an influence, nor has an earlier deal of the match.

1. What the seat knows comes as, for each place (the other seats, the stock): cards that lie there, the number of unseen
   cards there, and the cards that it may hold (`survey`, which lists the rules that tell something).
2. Places with the same constraints make a group; cards that fit the same groups make a class. Cards that fit only one group
   belong to it. Usually this leaves one group, and no question.
3. Else the number of cards of each class in each group is drawn, group by group, weighted with the number of layouts that
   each choice leaves; then the cards of each class, and of each place in a group, are drawn. The last two groups need no
   weights: what fits both is dealt out to them.

Every layout has the same probability, up to rounding: numbers of layouts are float64, which adds a relative error below
1e-13, and random numbers below n are taken from 56 bits, which adds less than 1e-9 in a draw.
"""

from __future__ import annotations

import math

import numpy as np

from noms_env._jit import COMPILED, jit, jit_allocating, lowest, size
from noms_env.actions import NOMINATING
from noms_env.cards import EXCUSE, NO_TRUMP, SUIT_CARDS, bit, has, suit_of
from noms_env.chance import DRAW_REDEAL, philox
from noms_env.engine.deal import HELD
from noms_env.engine.legal import find_legal
from noms_env.partners import nominate
from noms_env.rules.noms import is_decided
from noms_env.rules.noms_deck import PACKET_SEATS, SINGLE_SHUFFLED
from noms_env.rules.nonesuch import excuse_is_shown
from noms_env.rules.small_ships import BAN_SUIT, STOCK_ALONE, STOCK_ILLEGAL
from noms_env.state import MAX_SEATS, NOMS, NONESUCH, SMALL_SHIPS, eldest, get_byte

STOCK = MAX_SEATS
PLACES = MAX_SEATS + 1
"""Places are numbered as the seats; the stock comes behind them."""

MOST_CARDS = 64
_FRACTION_BITS = 56
_FRACTION = (1 << _FRACTION_BITS) - 1
_MOST_USED = 1 << 24
"""A fraction of 56 bits serves draws until the product of their ranges is above this."""

CHOOSE = np.array([[math.comb(n, k) for k in range(53)] for n in range(53)], np.float64)
"""[n, k]: number of sets of k among n cards, exact (all are below 2**53)."""

PACKET_PLACES = np.array([np.flatnonzero(turn == PACKET_SEATS) for turn in range(4)])
"""[seat from eldest, n]: place in the deck of the n-th card that the seat is dealt in packets."""

_I8, _F8 = np.int64, np.float64

PLAN = np.dtype(
    [
        # --- what the seat knows
        ("unseen", _I8),  # the cards to deal
        ("known", _I8, PLACES),  # unplayed cards that lie at each place
        ("room", _I8, PLACES),  # number of unseen cards there
        ("allowed", _I8, PLACES),  # unseen cards that may be there
        # --- groups of places with the same constraints
        ("n_groups", _I8),
        ("group_of", _I8, PLACES),  # per place with room
        ("group_allowed", _I8, PLACES),
        ("group_room", _I8, PLACES),  # but for the cards that fit no other group
        ("forced", _I8, PLACES),  # those cards
        ("n_open", _I8),
        ("open", _I8, PLACES),  # groups that have room left, the smallest first
        # --- classes of cards that fit the same groups
        ("n_classes", _I8),
        ("class_cards", _I8, MOST_CARDS),
        ("class_groups", _I8, MOST_CARDS),  # bit set
        ("class_size", _I8, MOST_CARDS),
        ("largest", _I8),  # class; its size follows from the others and the room left
        ("stride", _I8, MOST_CARDS),  # a state of the classes is the sum of sizes times strides
        ("n_states", _I8),
        ("n_layouts", _F8),  # ways to share the classes out to the open groups
        # --- one layout in the making
        ("pool", _I8, PLACES),  # cards of each group
        ("left_cards", _I8, MOST_CARDS),  # cards of each class that are not in a pool yet
        ("left", _I8, MOST_CARDS),  # their number
        ("share", _I8, MOST_CARDS),  # what of them the next group gets
        ("most", _I8, MOST_CARDS),  # what it can get
        ("rest", _I8, MOST_CARDS),  # what it leaves
        ("dealt", _I8, PLACES),  # cards of each place
        ("list", _I8, MOST_CARDS),
        # --- the stream of chance
        ("seed", _I8),
        ("stream", _I8),
        ("block", _I8),
        ("spare", _I8),  # a fraction not used yet, or -1
        ("fraction", _I8),
        ("used", _I8),
    ],
    align=True,
)
"""The working memory of a redeal."""


def new_plan() -> np.ndarray:
    """Working memory for `redeal_rows`, shape (1,), in the form that it wants (see `rows.kernel_view`)."""
    plans = np.zeros(1, PLAN)
    return plans if COMPILED else plans.view(np.recarray)


@jit_allocating
def redeal_rows(tables, rows, seat, seed, plans):
    """Deal the cards that a seat has not seen anew, in rows that all hold copies of one table in the middle of a deal.

    What becomes of row i depends on the seat's knowledge, the seed and i alone.

    Args:
        tables: structured array, shape (tables,).
        rows: int64, shape (n,), n at least 1: which.
        seat: who looks.
        seed: 0 to 2**63 - 1.
        plans: `new_plan`.
    """
    p = plans[0]
    survey(tables[rows[0]], seat, p)
    form_groups(p)
    form_classes(p)
    settle_forced(p)
    join_classes(p)
    order_groups(p)
    ways = count_ways(p)
    p.seed = seed
    for i in range(len(rows)):
        t = tables[rows[i]]
        open_stream(p, i)
        t.seed = new_seed(p)
        t.table = 0
        t.match = 0
        draw_layout(p, ways)
        lay_out(t, seat, p)


# ------------------------------------------------------------------------------------------------ what the seat knows


@jit
def survey(t, seat, p):
    """Find out what a seat knows about the unplayed cards.

    The field `partner` is used as scratch.
    """
    for place in range(PLACES):
        p.known[place] = 0
        p.room[place] = 0
        p.allowed[place] = 0
    note_open_cards(t, seat, p)
    seen = t.gone
    for place in range(PLACES):
        seen |= p.known[place]
    p.unseen = t.cards & ~seen & ~out_of_play(t)
    for place in range(t.n_seats):
        p.room[place] = size(t.hands[place]) - size(p.known[place])
        p.allowed[place] = p.unseen & fitting_cards(t, place)
    p.room[STOCK] = size(t.stock) - size(p.known[STOCK])
    p.allowed[STOCK] = p.unseen
    if t.nominated >= 0 and has(p.unseen, t.nominated):
        for place in range(PLACES):
            if not may_hold_nominated(t, place):
                p.allowed[place] &= ~bit(t.nominated)


@jit
def note_open_cards(t, seat, p):
    """Unplayed cards whose place the seat knows."""
    p.known[seat] = t.hands[seat]
    if t.exposed >= 0:
        p.known[t.exposed] = t.hands[t.exposed]
    p.known[STOCK] = t.stock if has_seen_stock(t, seat) else t.refused
    if t.turn_up >= 0 and not has(t.gone, t.turn_up):
        place = place_of_turn_up(t)
        if place >= 0:
            p.known[place] |= bit(t.turn_up)
    if excuse_is_shown(t) and t.leader < 0:
        p.known[t.excuse] |= bit(EXCUSE)
    if t.indicated >= 0:
        p.known[t.indicated] |= bit(t.nominated) & ~t.gone


@jit
def has_seen_stock(t, seat):
    """Rules 3.3, `stock_nomination="illegal"`: the declarer saw the cards of the stock missing among his nominations."""
    if t.stock_nomination != STOCK_ILLEGAL or t.declarer != seat:
        return False
    return t.phase == NOMINATING or t.nominated >= 0


@jit
def place_of_turn_up(t):
    """Where the card turned up lies while it is not played; -1 for beside the table (nonesuch)."""
    if t.variant == NONESUCH:
        return t.excuse if t.leader >= 0 else -1
    return STOCK if t.stock != 0 else t.dealer


@jit
def out_of_play(t):
    """Rules 5.2: the up card before the swap and the Excuse after it (nonesuch)."""
    if t.variant != NONESUCH:
        return np.int64(0)
    return bit(EXCUSE) if t.leader >= 0 else bit(t.turn_up)


@jit
def fitting_cards(t, seat):
    """The cards that the plays of a seat do not rule out in its hand.

    It has none of a suit that it did not follow. It had nothing else when it led a card against a ban: the suit nominated,
    to the first trick of small ships (rules 3.1; a banned card that was led was the only one), or a trump before any was
    played, in nonesuch (rules 5.2).
    """
    cards = t.cards
    for suit in range(NO_TRUMP):
        if has(t.voids[seat], suit):
            cards &= ~SUIT_CARDS[t.deck_kind, suit]
    if t.variant == SMALL_SHIPS and seat == t.declarer and led_nominated_suit(t):
        cards &= SUIT_CARDS[t.deck_kind, suit_of(int(t.nominated))]
    if t.variant == NONESUCH and t.broken != 0 and led_first_trump(t, seat):
        cards &= t.trump_cards
    return cards


@jit
def led_nominated_suit(t):
    """True if the declarer had to lead the suit that he nominated to the first trick, where that is banned."""
    if t.first_trick_restriction != BAN_SUIT or t.nominated < 0 or t.declarer != eldest(t) or t.order[0] < 0:
        return False
    return suit_of(int(t.order[0])) == suit_of(int(t.nominated))


@jit
def led_first_trump(t, seat):
    """True if the first trump of the deal was led, and by this seat (nonesuch, once a trump was played)."""
    place = 0
    while not has(t.trump_cards, t.order[place]):
        place += 1
    trick = place // t.n_seats
    leader = t.trick_winners[trick - 1] if trick > 0 else eldest(t)
    return place % t.n_seats == 0 and leader == seat


@jit
def may_hold_nominated(t, place):
    """False where the nominated card cannot be.

    It is not in the stock if the rules refuse that (3.3); and with `early_stop` nobody holds it with whom the deal would
    be over (8b).
    """
    if place == STOCK and t.stock_nomination != STOCK_ALONE:
        return False
    if t.early_stop == 0:
        return True
    t.partner = -1 if place == STOCK or place == t.declarer else place
    return not is_decided(t)


# ------------------------------------------------------------------------------------------------ groups and classes


@jit
def form_groups(p):
    """Put places that may hold the same cards into one group."""
    p.n_groups = 0
    for place in range(PLACES):
        if p.room[place] == 0:
            continue
        group = 0
        while group < p.n_groups and p.group_allowed[group] != p.allowed[place]:
            group += 1
        if group == p.n_groups:
            p.n_groups += 1
            p.group_allowed[group] = p.allowed[place]
            p.group_room[group] = 0
            p.forced[group] = 0
        p.group_room[group] += p.room[place]
        p.group_of[place] = group


@jit
def form_classes(p):
    """Put unseen cards that fit the same groups into one class."""
    p.class_cards[0] = p.unseen
    p.class_groups[0] = 0
    p.n_classes = 1 if p.unseen != 0 else 0
    for group in range(p.n_groups):
        for k in range(p.n_classes):
            fitting = p.class_cards[k] & p.group_allowed[group]
            others = p.class_cards[k] & ~p.group_allowed[group]
            if fitting == 0:
                continue
            if others != 0:
                p.class_cards[p.n_classes] = others
                p.class_groups[p.n_classes] = p.class_groups[k]
                p.n_classes += 1
            p.class_cards[k] = fitting
            p.class_groups[k] |= bit(group)


@jit
def settle_forced(p):
    """Give the cards that fit only one group to it; a group that they fill is closed to the others."""
    again = True
    while again:
        again = False
        for k in range(p.n_classes):
            groups = p.class_groups[k]
            if p.class_cards[k] == 0 or (groups & (groups - 1)) != 0:
                continue
            group = lowest(groups)
            p.forced[group] |= p.class_cards[k]
            p.group_room[group] -= size(p.class_cards[k])
            p.class_cards[k] = 0
            if p.group_room[group] == 0:
                close_group(p, group)
                again = True


@jit
def close_group(p, group):
    """A group has no room left."""
    for k in range(p.n_classes):
        p.class_groups[k] &= ~bit(group)


@jit
def join_classes(p):
    """Drop classes without cards, and make one of those that now fit the same groups."""
    kept = 0
    for k in range(p.n_classes):
        if p.class_cards[k] == 0:
            continue
        same = 0
        while same < kept and p.class_groups[same] != p.class_groups[k]:
            same += 1
        if same == kept:
            kept += 1
            p.class_groups[same] = p.class_groups[k]
            p.class_cards[same] = p.class_cards[k]
        else:
            p.class_cards[same] |= p.class_cards[k]
    p.n_classes = kept
    for k in range(kept):
        p.class_size[k] = size(p.class_cards[k])


@jit
def order_groups(p):
    """List the groups that have room, the smallest first: the last two cost nothing."""
    p.n_open = 0
    for group in range(p.n_groups):
        if p.group_room[group] == 0:
            continue
        place = p.n_open
        while place > 0 and p.group_room[p.open[place - 1]] > p.group_room[group]:
            p.open[place] = p.open[place - 1]
            place -= 1
        p.open[place] = group
        p.n_open += 1


# ------------------------------------------------------------------------------------------------ counting


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

    The weight of a share is the number of layouts in which the group gets that many cards of each class.

    Args:
        p: the plan; `left` is the state before, `share` and `rest` are set to the share arrived at and what it leaves.
        ways: the counts of the layers behind this one.
        layer: whose turn it is.
        target: infinity for all shares.

    Returns:
        the sum of the weights.
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


# ------------------------------------------------------------------------------------------------ one layout


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
        give_share(p, p.open[layer])
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
def give_share(p, group):
    """Put the share drawn into the pool of a group."""
    for k in range(p.n_classes):
        cards = some_of(p, p.left_cards[k], p.share[k])
        p.pool[group] |= cards
        p.left_cards[k] &= ~cards
        p.left[k] -= p.share[k]


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


# ------------------------------------------------------------------------------------------------ chance


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
def new_seed(p):
    """A seed for the chance to come."""
    words = next_words(p)
    return ((words[0] & 0x7FFFFFFF) << 32) | words[1]


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


# ------------------------------------------------------------------------------------------------ into the record


@jit
def lay_out(t, seat, p):
    """Write a layout into a table, with all that follows from it."""
    for place in range(t.n_seats):
        t.hands[place] = p.known[place] | p.dealt[place]
    t.stock = p.known[STOCK] | p.dealt[STOCK]
    t.partner = -1
    if t.nominated >= 0:
        nominate(t, t.nominated)
    if t.variant == NONESUCH and not excuse_is_shown(t):
        t.excuse = holder_of_excuse(t)
    order_deck(t)
    if t.observe_previous_hand != 0:
        forget_unseen(t, seat)
    find_legal(t)


@jit
def holder_of_excuse(t):
    """The seat that holds the Excuse before it is shown, -1 if it was turned up."""
    for seat in range(t.n_seats):
        if has(t.hands[seat], EXCUSE):
            return seat
    return -1


@jit
def order_deck(t):
    """Write a dealing order that gives these hands and this turn-up; else every hand comes in ascending order."""
    in_packets = t.variant == NOMS and t.deal_mode != SINGLE_SHUFFLED
    for turn in range(t.n_seats):
        seat = (eldest(t) + turn) % t.n_seats
        cards = dealt_hand(t, seat)
        if t.turn_up >= 0 and has(cards, t.turn_up):
            cards &= ~bit(t.turn_up)
            t.deck[t.n_seats * t.hand_size - 1] = t.turn_up
        k = 0
        while cards != 0:
            t.deck[PACKET_PLACES[turn, k] if in_packets else turn + t.n_seats * k] = lowest(cards)
            cards &= cards - 1
            k += 1
    order_stock(t)


@jit
def dealt_hand(t, seat):
    """The hand that a seat was dealt (nonesuch: with the Excuse, before the swap)."""
    cards = t.hands[seat] | t.played[seat]
    if t.variant == NONESUCH and seat == t.excuse and t.leader >= 0:
        cards = (cards & ~bit(t.turn_up)) | bit(EXCUSE)
    return cards


@jit
def order_stock(t):
    """The undealt cards at the end of the deck, the turn-up first."""
    place = t.n_seats * t.hand_size
    cards = t.stock
    if t.turn_up >= 0 and (t.variant == NONESUCH or has(cards, t.turn_up)):
        t.deck[place] = t.turn_up
        cards &= ~bit(t.turn_up)
        place += 1
    while cards != 0:
        t.deck[place] = lowest(cards)
        cards &= cards - 1
        place += 1


@jit
def forget_unseen(t, seat):
    """Blank in `previous` what other seats held to the end of the deal before."""
    for card in range(52):
        seen = get_byte(t.previous, card)
        if seen >= HELD and seen != HELD + seat:
            t.previous[card >> 3] ^= seen << np.int64(8 * (card & 7))
