"""Check of the unshuffled deck of noms between two records (rules 4.3)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

from noms_env.core.cards import CARD_WORDS, FRENCH, cards_in
from noms_env.table import Table
from noms_env.variants.dispatch import gathers
from noms_env.variants.noms_deck import AS_PLAYED, LEFT_FIRST, RANDOM_PILES, RIGHT_FIRST, SHUFFLED_TRICK, UNDERNEATH


def is_possible_deck(previous: Table, deck: Sequence[str]) -> bool:
    """Return whether a deck can follow the previous deal (rules 4.3).

    A shuffled deck can be any. A gathered deck must be a cut of the gathered cards, with the piles in a possible order. If
    tricks are shuffled (`trick_order="random"`), only their cards must be together.

    Args:
        previous: the table with the previous deal, scored.
        deck: all cards in dealing order, after the cut.
    """
    row = previous.row
    if not gathers(row):
        return True
    piles = _gather_deck(previous)
    orders = permutations(piles) if row.pile_order == RANDOM_PILES and not row.passed_out else [tuple(piles)]
    exact = row.trick_order != SHUFFLED_TRICK or row.passed_out
    fewest, most = (row.cut, row.cut) if row.cut >= 0 else (row.cut_min, 52 - row.cut_min)
    uncut = [[*deck[-cut:], *deck[:-cut]] if cut else list(deck) for cut in range(int(fewest), int(most) + 1)]
    for order in orders:
        packets = [packet for pile in order for packet in pile]
        if any(_contains_packets(packets, cards, exact) for cards in uncut):
            return True
    return False


def _gather_deck(previous: Table) -> list[list[list[str]]]:
    """Return the gathered deck before the cut: piles of packets, without the random orders of tricks and piles."""
    table = previous.copy()
    row = table.row
    row.cut = 0
    if row.trick_order == SHUFFLED_TRICK:
        row.trick_order = AS_PLAYED
    if row.pile_order == RANDOM_PILES:
        row.pile_order = LEFT_FIRST
    table.next_deal()
    deck = [CARD_WORDS[FRENCH][card] for card in row.deck]
    if previous.row.passed_out:
        return [[deck]]
    piles, place = [], 0
    turns = (3, 2, 1, 4) if row.pile_order == RIGHT_FIRST else (1, 2, 3, 4)
    for seat in [(int(row.dealer) + turn) % 4 for turn in turns]:
        pile = []
        for size in _packet_sizes(previous, seat):
            pile.append(deck[place : place + size])
            place += size
        piles.append(pile)
    return piles


def _packet_sizes(previous: Table, seat: int) -> list[int]:
    """Return the size of each packet in a seat's pile from the top: its tricks, and the cards it held (`early_stop`)."""
    row = previous.row
    tricks, held = [4] * int(row.tricks[seat]), [len(cards_in(row.hands[seat]))]
    return [*tricks, *held] if row.trick_stack == UNDERNEATH else [*held, *tricks]


def _contains_packets(packets: list[list[str]], cards: list[str], exact: bool) -> bool:
    """Return whether the deck is these packets in order, each with its cards in the same order (`exact`) or in any."""
    place = 0
    for packet in packets:
        part = cards[place : place + len(packet)]
        if part != packet if exact else sorted(part) != sorted(packet):
            return False
        place += len(packet)
    return True
