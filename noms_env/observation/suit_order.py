"""The canonical order of suits: trump first, then by the hand dealt to the seat.

`places` are the parts of a row that determine the order: first byte (or feature) of `hand`, of the own row of `played` and of
`trump`, and the number of ranks per suit. The first number is -1 if all suits keep their names.
"""

from __future__ import annotations

import numpy as np

from noms_env._jit import jit, jit_inline
from noms_env.core.actions import NUM_ACTIONS
from noms_env.core.cards import DECKTET
from noms_env.observation.features import IDENTITY, ORDER_NUMBER, RANKS
from noms_env.observation.layout import START
from noms_env.variants import GAMES

BYTE_PLACES = (START["hand"], START["played"], START["trump"], RANKS)
"""`places` of an observation of bytes."""
_DECKTET_GAMES = np.array([START["variant"] + game.number for game in GAMES.values() if game.deck_kind == DECKTET])


@jit
def orders_of_features(features, places, orders):
    """Write the suit order of each row of features.

    Args:
        features: uint8 or float32, scaled or not, shape (n, n_features).
        places: `FeatureLayout.suit_places`.
        orders: int64, shape (n,): output.
    """
    for i in range(len(features)):
        orders[i] = order_of(features[i], places)


@jit
def suit_orders(observation, rows, orders):
    """Write the suit order of some rows of observations of bytes: `rows`, int64, shape (n,)."""
    for i in range(len(rows)):
        orders[i] = suit_order(observation[rows[i]])


@jit_inline
def suit_order(observation):
    """Return the suit order of an observation of bytes."""
    return IDENTITY if has_decktet(observation) else order_of(observation, BYTE_PLACES)


@jit_inline
def has_decktet(observation):
    """Return whether an observation of bytes is of a game with the Decktet."""
    is_decktet = False
    for number in range(len(_DECKTET_GAMES)):
        is_decktet |= observation[_DECKTET_GAMES[number]] != 0
    return is_decktet


@jit_inline
def order_of(row, places):
    """Return the suit order of a row: by descending weight, equal weights by suit number."""
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
    """Return the sort key of a suit: trump before all others, then length and cards in the hand dealt to the seat."""
    hand, played, trump, ranks = places
    length, cards = np.int64(0), np.int64(0)
    for rank in range(ranks):
        is_held = np.int64(row[hand + ranks * suit + rank] > 0) | np.int64(row[played + ranks * suit + rank] > 0)
        length += is_held
        cards += is_held << rank
    return (np.int64(row[trump + suit] > 0) << 20) + (length << 14) + cards


@jit_inline
def translate_action(names, action):
    """Return the table's action for an action under a suit order; a number that is no action is returned unchanged."""
    return np.int64(names[action]) if 0 <= action < NUM_ACTIONS else action
