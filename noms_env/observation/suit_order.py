"""The order that the suits of a hand are put in: trump first, then by the hand that the seat was dealt."""

from __future__ import annotations

import numpy as np

from noms_env._jit import jit, jit_inline
from noms_env.core.actions import NUM_ACTIONS
from noms_env.observation.features import IDENTITY, ORDER_NUMBER


@jit_inline
def order_by_weight(first, second, third, fourth):
    """The number of the order that puts four suits by descending weight, equal ones by number."""
    second_place = int(first >= second) + int(third > second) + int(fourth > second)
    third_place = int(first >= third) + int(second >= third) + int(fourth > third)
    fourth_place = int(first >= fourth) + int(second >= fourth) + int(third >= fourth)
    return ORDER_NUMBER[(1 << 2 * second_place) + (2 << 2 * third_place) + (3 << 2 * fourth_place)]


@jit
def orders_of_features(features, places, orders):
    """Write the number of the order of each row's suits.

    Args:
        features: uint8 or float32, scaled or not, shape (n, n_features).
        places: `FeatureLayout.suit_places`.
        orders: int64, shape (n,): is written.
    """
    for i in range(len(features)):
        orders[i] = order_of_features(features[i], places)


@jit_inline
def order_of_features(row, places):
    """The same for one row."""
    if places[0] < 0:
        return IDENTITY
    return order_by_weight(
        weight_in_features(row, places, 0),
        weight_in_features(row, places, 1),
        weight_in_features(row, places, 2),
        weight_in_features(row, places, 3),
    )


@jit
def weight_in_features(row, places, suit):
    """`policy.encoding.suit_weight` of features: trump before all others, then by length and cards of the hand dealt."""
    hand, played, trump, ranks = places
    length, cards = np.int64(0), np.int64(0)
    for rank in range(ranks):
        held = np.int64(row[hand + ranks * suit + rank] > 0 or row[played + ranks * suit + rank] > 0)
        length += held
        cards += held << rank
    return (np.int64(row[trump + suit] > 0) << 20) + (length << 14) + cards


@jit_inline
def meant(names, action):
    """The action of the table that an action stands for by the names of an order; what is no action stays as it is."""
    return np.int64(names[action]) if 0 <= action < NUM_ACTIONS else action
