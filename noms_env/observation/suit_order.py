"""The order that the suits of a hand are put in: trump first, then by the hand that the seat was dealt.

`places` say where a row has what the order depends on: the first own card, the first own card played, the first trump, and
the ranks of a suit. The first is -1 where all suits keep their names.
"""

from __future__ import annotations

import numpy as np

from noms_env._jit import jit, jit_inline
from noms_env.core.actions import NUM_ACTIONS
from noms_env.core.cards import DECKTET
from noms_env.observation.features import IDENTITY, ORDER_NUMBER, RANKS
from noms_env.observation.layout import START
from noms_env.variants import GAMES

IN_BYTES = (START["hand"], START["played"], START["trump"], RANKS)
"""The places of an observation of bytes."""
_DECKTET_GAMES = np.array([START["variant"] + game.number for game in GAMES.values() if game.deck_kind == DECKTET])


@jit
def orders_of_features(features, places, orders):
    """Write the number of the order of each row's suits.

    Args:
        features: uint8 or float32, scaled or not, shape (n, n_features).
        places: `FeatureLayout.suit_places`.
        orders: int64, shape (n,): is written.
    """
    for i in range(len(features)):
        orders[i] = order_of(features[i], places)


@jit
def suit_orders(observation, rows, orders):
    """The same for some rows of observations of bytes: `rows`, int64, shape (n,)."""
    for i in range(len(rows)):
        orders[i] = suit_order(observation[rows[i]])


@jit_inline
def suit_order(seen):
    """The number of the order of the suits of an observation of bytes."""
    return IDENTITY if has_decktet(seen) else order_of(seen, IN_BYTES)


@jit_inline
def has_decktet(seen):
    """Whether an observation of bytes is of a game with the Decktet."""
    found = False
    for number in range(len(_DECKTET_GAMES)):
        found |= seen[_DECKTET_GAMES[number]] != 0
    return found


@jit_inline
def order_of(row, places):
    """The number of the order of the suits of a row: by descending weight, equal ones by number."""
    if places[0] < 0:
        return IDENTITY
    first, second = weight(row, places, 0), weight(row, places, 1)
    third, fourth = weight(row, places, 2), weight(row, places, 3)
    second_place = int(first >= second) + int(third > second) + int(fourth > second)
    third_place = int(first >= third) + int(second >= third) + int(fourth > third)
    fourth_place = int(first >= fourth) + int(second >= fourth) + int(third >= fourth)
    return ORDER_NUMBER[(1 << 2 * second_place) + (2 << 2 * third_place) + (3 << 2 * fourth_place)]


@jit_inline
def weight(row, places, suit):
    """What a suit is sorted by: trump before all others, then by length and cards of the hand that the seat was dealt."""
    hand, played, trump, ranks = places
    length, cards = np.int64(0), np.int64(0)
    for rank in range(ranks):
        held = np.int64(row[hand + ranks * suit + rank] > 0) | np.int64(row[played + ranks * suit + rank] > 0)
        length += held
        cards += held << rank
    return (np.int64(row[trump + suit] > 0) << 20) + (length << 14) + cards


@jit_inline
def meant(names, action):
    """The action of the table that an action stands for by the names of an order; what is no action stays as it is."""
    return np.int64(names[action]) if 0 <= action < NUM_ACTIONS else action
