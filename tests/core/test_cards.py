"""Sets of cards as bits."""

import pytest

from noms_env.core.cards import above, below, bit, cards_in, has, set_of


@pytest.mark.uncompiled
@pytest.mark.parametrize("suit", range(4))
def test_sets_of_cards_have_members_and_those_above_and_below_a_card(suit: int) -> None:
    cards = [13 * suit + rank for rank in (0, 1, 2, 5, 11, 12)]
    members = set_of(cards)
    assert cards_in(members) == cards
    for card in range(13 * suit, 13 * suit + 13):
        assert cards_in(above(members, card)) == [other for other in cards if other > card]
        assert cards_in(below(members, card)) == [other for other in cards if other < card]
        assert (has(members, card), bit(card)) == (card in cards, 1 << card)
