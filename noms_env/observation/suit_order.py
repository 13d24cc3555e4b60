"""The order that the suits of a hand are put in: trump first, then by the hand that the seat was dealt."""

from __future__ import annotations

from noms_env._jit import jit_inline
from noms_env.observation.features import ORDER_NUMBER


@jit_inline
def order_by_weight(first, second, third, fourth):
    """The number of the order that puts four suits by descending weight, equal ones by number."""
    second_place = int(first >= second) + int(third > second) + int(fourth > second)
    third_place = int(first >= third) + int(second >= third) + int(fourth > third)
    fourth_place = int(first >= fourth) + int(second >= fourth) + int(third >= fourth)
    return ORDER_NUMBER[(1 << 2 * second_place) + (2 << 2 * third_place) + (3 << 2 * fourth_place)]
