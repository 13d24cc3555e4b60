"""A check of records knows the decks that can follow from the deal before, gathered and cut."""

from itertools import permutations
from typing import Any

import pytest

from noms_env.core.cards import CARD_WORDS, FRENCH
from noms_env.record import is_possible_deck
from noms_env.table import Table
from tests.begin import begin
from tests.records import check, play, play_match, wrong_keys


def play_first_deal(**options: Any) -> Table:
    """Return a table of noms with the first deal scored."""
    table = begin(Table("noms", options=options))
    play(table)
    return table


def gather_deck(table: Table) -> list[str]:
    """Return the deck that the engine gathers, before the cut."""
    after = table.copy()
    after.row.cut = 0
    after.next_deal()
    return [CARD_WORDS[FRENCH][card] for card in after.row.deck]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"trick_order": "reverse"},
        {"trick_stack": "underneath"},
        {"pile_order": "right_first"},
        {"early_stop": True},
        {"early_stop": True, "trick_stack": "underneath", "trick_order": "reverse", "pile_order": "right_first"},
    ],
)
def test_only_the_cuts_of_the_gathered_deck_are_possible(options: dict[str, Any]) -> None:
    table = play_first_deal(**options)
    deck = gather_deck(table)

    def possible_cuts() -> list[int]:
        return [cut for cut in range(52) if is_possible_deck(table, deck[cut:] + deck[:cut])]

    assert possible_cuts() == list(range(1, 52))
    assert not is_possible_deck(table, [deck[2], deck[1], *deck[3:], deck[0]])
    assert not is_possible_deck(table, (deck[5:] + deck[:5])[::-1])
    table.row.cut_min = 20
    assert possible_cuts() == list(range(20, 33))
    table.row.cut = 7
    assert possible_cuts() == [7]


@pytest.mark.parametrize("pile_order", ["left_first", "random"])
def test_the_cards_of_a_shuffled_trick_stay_together(pile_order: str) -> None:
    table = play_first_deal(trick_order="random", pile_order=pile_order, cut=0)
    deck = gather_deck(table)
    assert is_possible_deck(table, deck)
    assert is_possible_deck(table, [deck[1], deck[0], deck[3], deck[2], *deck[4:]])
    assert not is_possible_deck(table, [*deck[:3], deck[4], deck[3], *deck[5:]])


def test_a_random_pile_order_permits_every_order() -> None:
    ordered, by_chance = play_first_deal(), play_first_deal(pile_order="random")
    ordered.row.cut = by_chance.row.cut = 0
    deck, piles = gather_deck(ordered), []
    for turn in (2, 3, 4, 1):  # the new dealer sits left of the old one, and his pile is the last
        size = 4 * int(ordered.row.tricks[(ordered.row.dealer + turn) % 4])
        piles.append(deck[:size])
        deck = deck[size:]
    for order in permutations(piles):
        stacked = [card for pile in order for card in pile]
        assert is_possible_deck(by_chance, stacked)
        assert is_possible_deck(ordered, stacked) == (list(order) == piles)


def test_a_check_finds_a_deck_that_was_not_gathered() -> None:
    table = Table("noms")
    first = next(play_match(table))
    after = table.copy()
    after.next_deal()
    good = play(after)
    table.start(deal=1, dealer=good["dealer"], totals=first["after"])
    bad = {**play(table), "match": 0}
    assert check([first, good]) == []
    assert wrong_keys([first, bad]) == ["deck"]


@pytest.mark.parametrize("mode", ["packets_shuffled", "single_shuffled"])
def test_every_shuffled_deck_is_possible(mode: str) -> None:
    assert is_possible_deck(play_first_deal(deal_mode=mode), gather_deck(play_first_deal()))
