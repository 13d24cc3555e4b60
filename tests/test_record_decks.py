"""Game records: the decks that can follow from the deal before, gathered and cut."""

from itertools import permutations
from typing import Any

import pytest

from noms_env.core.cards import CARD_WORDS, FRENCH
from noms_env.record import (
    is_possible_deck,
)
from noms_env.table import Table
from tests.begun import begun
from tests.records import check, deals, named, play


def scored(passing: bool = False, **options: Any) -> Table:
    """A table of noms with the first deal scored."""
    table = begun(Table("noms", options=options))
    play(table, passing=passing)
    return table


def gathered(table: Table) -> list[str]:
    """The deck that the engine gathers, before the cut."""
    after = table.copy()
    after.row.cut = 0
    after.next_deal()
    return [CARD_WORDS[FRENCH][card] for card in after.row.deck]


def rotated(deck: list[str], number: int) -> list[str]:
    return deck[number:] + deck[:number]


DECK_OPTIONS = [
    {},
    {"trick_order": "reverse"},
    {"trick_stack": "underneath"},
    {"pile_order": "right_first"},
    {"early_stop": True},
    {"early_stop": True, "trick_stack": "underneath", "trick_order": "reverse", "pile_order": "right_first"},
]


@pytest.mark.parametrize("options", DECK_OPTIONS)
def test_a_gathered_deck_may_be_any_cut_of_itself_and_nothing_else(options: dict[str, Any]) -> None:
    table = scored(**options)
    deck = gathered(table)

    def possible() -> list[int]:
        return [number for number in range(52) if is_possible_deck(table, rotated(deck, number))]

    assert possible() == list(range(1, 52))
    assert not is_possible_deck(table, [deck[2], deck[1], *deck[3:], deck[0]])
    assert not is_possible_deck(table, rotated(deck, 5)[::-1])
    table.row.cut_min = 20
    assert possible() == list(range(20, 33))
    table.row.cut = 7
    assert possible() == [7]


@pytest.mark.parametrize("pile_order", ["left_first", "random"])
def test_of_a_shuffled_trick_the_cards_lie_together(pile_order: str) -> None:
    table = scored(trick_order="random", pile_order=pile_order, cut=0)
    deck = gathered(table)
    assert is_possible_deck(table, deck)
    assert is_possible_deck(table, [deck[1], deck[0], deck[3], deck[2], *deck[4:]])
    assert not is_possible_deck(table, [*deck[:3], deck[4], deck[3], *deck[5:]])


def test_piles_may_lie_in_any_order_where_chance_stacks_them() -> None:
    table, by_chance = scored(), scored(pile_order="random")
    table.row.cut = by_chance.row.cut = 0
    deck, piles = gathered(table), []
    for turn in (2, 3, 4, 1):  # the new dealer sits left of the old one, and his pile is the last
        size = 4 * int(table.row.tricks[(table.row.dealer + turn) % 4])
        piles.append(deck[:size])
        deck = deck[size:]
    for order in permutations(piles):
        stacked = [card for pile in order for card in pile]
        assert is_possible_deck(by_chance, stacked)
        assert is_possible_deck(table, stacked) == (list(order) == piles)


def test_a_deck_that_was_not_gathered_is_found_in_the_record() -> None:
    table = Table("noms")
    first = next(deals(table))
    after = table.copy()
    after.next_deal()
    good = play(after)
    table.start(deal=1, dealer=good["dealer"], totals=first["after"])
    bad = {**play(table), "match": 0}
    assert check([first, good]) == []
    assert named([first, bad]) == ["deck"]


@pytest.mark.parametrize("mode", ["packets_shuffled", "single_shuffled"])
def test_a_shuffled_deck_may_be_anything(mode: str) -> None:
    assert is_possible_deck(scored(deal_mode=mode), gathered(scored()))
