"""A seat's knowledge of the cards that it has not seen, as groups of places and classes of cards."""

from __future__ import annotations

from noms_env._jit import jit, lowest, size
from noms_env.belief.workspace import PLACES
from noms_env.core.cards import NO_TRUMP, SUIT_CARDS, bit, has
from noms_env.core.state import STOCK
from noms_env.variants import dispatch


@jit
def survey(t, seat, p):
    """Write a seat's knowledge of the unplayed cards; the field `partner` is scratch.

    A seat has no cards of a suit that it did not follow. The rules exclude further cards (`dispatch.rule_out`).
    """
    for place in range(PLACES):
        p.known[place] = 0
        p.room[place] = 0
        p.allowed[place] = 0
    p.known[seat] = t.hands[seat]
    if t.exposed >= 0:
        p.known[t.exposed] = t.hands[t.exposed]
    p.known[STOCK] = t.refused
    dispatch.note_open_cards(t, seat, p.known)
    seen = t.cards_played
    for place in range(PLACES):
        seen |= p.known[place]
    p.unseen = t.cards & ~seen & ~dispatch.cards_out_of_play(t)
    for place in range(t.n_seats):
        p.room[place] = size(t.hands[place]) - size(p.known[place])
        p.allowed[place] = p.unseen
        for suit in range(NO_TRUMP):
            if has(t.voids[place], suit):
                p.allowed[place] &= ~SUIT_CARDS[t.deck_kind, suit]
    p.room[STOCK] = size(t.stock) - size(p.known[STOCK])
    p.allowed[STOCK] = p.unseen
    dispatch.rule_out(t, p.allowed)


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
    """Assign the cards that fit only one group to it; a group that they fill is closed to the others."""
    is_changed = True
    while is_changed:
        is_changed = False
        for k in range(p.n_classes):
            groups = p.class_groups[k]
            if p.class_cards[k] == 0 or (groups & (groups - 1)) != 0:
                continue
            group = lowest(groups)
            p.forced[group] |= p.class_cards[k]
            p.group_room[group] -= size(p.class_cards[k])
            p.class_cards[k] = 0
            if p.group_room[group] == 0:
                is_changed = True
                for other in range(p.n_classes):
                    p.class_groups[other] &= ~bit(group)


@jit
def join_classes(p):
    """Drop classes without cards, and join classes that now fit the same groups."""
    n_classes = 0
    for k in range(p.n_classes):
        if p.class_cards[k] == 0:
            continue
        slot = 0
        while slot < n_classes and p.class_groups[slot] != p.class_groups[k]:
            slot += 1
        if slot == n_classes:
            n_classes += 1
            p.class_groups[slot] = p.class_groups[k]
            p.class_cards[slot] = p.class_cards[k]
        else:
            p.class_cards[slot] |= p.class_cards[k]
    p.n_classes = n_classes
    for k in range(n_classes):
        p.class_size[k] = size(p.class_cards[k])


@jit
def order_groups(p):
    """List the groups with room, the smallest first: the layouts of the last two are counted without a search."""
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
