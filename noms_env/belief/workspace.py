"""The working memory of sampling."""

from __future__ import annotations

import numpy as np

from noms_env.core.state import STOCK
from noms_env.engine.row_kernels import kernel_view

PLACES = STOCK + 1
"""Number of places: the seats, then the stock."""

MAX_CLASSES = 8
"""Maximum number of classes. A suit of the French deck is a class, or two if one of its cards is excluded at a place: 5 at
most. The Decktet has no stock, so there are at most three groups, with a class for each set of them."""
MAX_WAYS = 3 * 14 * 14 * 13 * 2
"""Maximum number of layout counts: one for each state of all classes but the largest, in all layers but the first and the last
two. Six groups with a card excluded at a place need the most; seven groups elsewhere have 4 * 14 ** 3."""
_I8 = np.int64

PLAN = np.dtype(
    [
        # --- knowledge of the seat
        ("unseen", _I8),  # the cards to deal
        ("known", _I8, PLACES),  # unplayed cards that lie at each place
        ("room", _I8, PLACES),  # number of unseen cards there
        ("allowed", _I8, PLACES),  # unseen cards that may be there
        # --- groups of places with the same constraints
        ("n_groups", _I8),
        ("group_of", _I8, PLACES),  # per place with room
        ("group_allowed", _I8, PLACES),
        ("group_room", _I8, PLACES),  # without the cards that fit no other group
        ("forced", _I8, PLACES),  # the cards that fit no other group
        ("n_open", _I8),
        ("open", _I8, PLACES),  # groups that have room left, the smallest first
        # --- classes of cards that fit the same groups
        ("n_classes", _I8),
        ("class_cards", _I8, MAX_CLASSES),
        ("class_groups", _I8, MAX_CLASSES),  # bit set
        ("class_size", _I8, MAX_CLASSES),
        ("largest", _I8),  # class; its size follows from the others and the room left
        ("stride", _I8, MAX_CLASSES),  # a state of the classes is the sum of sizes times strides
        ("n_states", _I8),
        ("n_layouts", np.float64),  # ways to share the classes out to the open groups
    ],
    align=True,
)
"""Properties of all layouts that a seat cannot rule out; `ways` belongs to it (`layouts.count_ways`)."""

LAYOUT = np.dtype(
    [
        ("pool", _I8, PLACES),  # cards of each group
        ("remaining_cards", _I8, MAX_CLASSES),  # cards of each class that are not in a pool yet
        ("remaining", _I8, MAX_CLASSES),  # their number
        ("share", _I8, MAX_CLASSES),  # how many of them the next group gets
        ("max_share", _I8, MAX_CLASSES),  # how many it can get
        ("next_remaining", _I8, MAX_CLASSES),  # how many remain after that
        ("dealt", _I8, PLACES),  # cards of each place
        ("cards", _I8, 64),  # list from which `draw_subset` draws
        # --- the stream of chance
        ("seed", _I8),
        ("stream", _I8),
        ("block", _I8),
        ("spare_bits", _I8),  # a fraction not used yet, or -1
        ("fraction", _I8),
        ("range_product", _I8),  # product of the ranges of all draws from `fraction`
    ],
    align=True,
)
"""A layout under construction."""

WORKSPACE = np.dtype([*PLAN.descr, *LAYOUT.descr, ("ways", np.float64, MAX_WAYS)])
_RECORD = np.dtype((np.record, WORKSPACE))  # one dtype object: numba inspects all fields of any other, 4 µs


def new_sampling_workspace() -> np.ndarray:
    """Return uninitialised working memory for `sample_hidden_rows`, shape (1,), as `row_kernels.kernel_view` makes it."""
    return kernel_view(np.empty(1, _RECORD).view(np.recarray))
