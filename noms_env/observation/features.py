"""Features of an observation and possible actions: every byte and action that can vary at a set of tables."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from noms_env.core import actions as acts
from noms_env.core.cards import DECKTET, FRENCH, MAX_SUITS
from noms_env.observation.layout import HIDDEN, OBSERVATION
from noms_env.variants import Rules
from noms_env.variants.families import AUCTION, EXACT_BID, SHARES
from noms_env.variants.table_record import choice_bytes, choice_names

SUITS, RANKS = 4, 13
ORDERS = tuple(itertools.permutations(range(SUITS)))
"""All orders of the suits: `ORDERS[order][new suit]` is the old suit. The first is the identity."""
IDENTITY = 0
ORDER_NUMBER = np.zeros(4**SUITS, np.int64)
"""The number of an order, indexed by the sum of old suit * 4 ** new suit."""
for _number, _order in enumerate(ORDERS):
    ORDER_NUMBER[sum(suit * 4**place for place, suit in enumerate(_order))] = _number

SECTIONS = {section.name: section for section in (*OBSERVATION, *HIDDEN)}
COPY = -1


@dataclass(frozen=True)
class Feature:
    """One input of the network.

    Attributes:
        column: byte of the observation, with the suits in their original order.
        value: 0..255: the feature is 1 if the byte has this value; `COPY`: it is the byte itself.
        scale: factor that scales the feature to about 0..1.
        suits: effect of a suit order: "" none, "cards" (a section over cards) and "suits" (six bytes of suits) move the column,
            "card" (a byte with 1 + number of a card) changes the value.
    """

    column: int
    value: int = COPY
    scale: float = 1.0
    suits: str = ""

    def moved(self, order: Sequence[int], start: int) -> tuple[int, int]:
        """Return column and value under another suit order; `start` is the first byte of the section (or of its row)."""
        if self.suits == "cards":
            return start + moved_card(self.column - start, order), self.value
        if self.suits == "suits" and self.column - start < SUITS:
            return start + order[self.column - start], self.value
        if self.suits == "card":
            return self.column, 1 + moved_card(self.value - 1, order)
        return self.column, self.value


def moved_card(card: int, order: Sequence[int]) -> int:
    """Return the card of the deck at a card's place under another suit order."""
    suit, rank = divmod(card, RANKS)
    return RANKS * order[suit] + rank if suit < SUITS else card


Placed = tuple[Feature, int]
"""A feature, and the first byte of its section (or of its row)."""


class Tables:
    """Properties of a set of rules that determine the features: the union over the rules."""

    def __init__(self, rule_sets: Sequence[Rules]) -> None:
        self.families = {rules.variant.family for rules in rule_sets}
        self.opens_hand = any(rules.variant.opens_hand for rules in rule_sets)
        self.seats = max(rules.seats for rules in rule_sets)
        self.decks = {rules.variant.deck_kind for rules in rule_sets}
        self.cards = sorted({card for rules in rule_sets for card in rules.deck})
        suits = [rules.options["suits"] if rules.variant.deck_kind == DECKTET else SUITS for rules in rule_sets]
        self.suits = max(suits)
        self.ranks = 10 if self.decks == {DECKTET} else RANKS
        self.options = [rules.options for rules in rule_sets]
        if FRENCH in self.decks:  # a suit order can put any suit at any place
            ranks = {card % RANKS for rules in rule_sets if rules.variant.deck_kind == FRENCH for card in rules.deck}
            french = {RANKS * suit + rank for suit in range(SUITS) for rank in ranks}
            self.cards = sorted({*self.cards, *french})

    def plays(self, *families: int) -> bool:
        """Return whether any variant is of one of these families."""
        return not self.families.isdisjoint(families)

    def has(self, option: str, *values: object) -> bool:
        """Return whether an option has one of these values at any table."""
        return any(options.get(option) in values for options in self.options)


def features_of(rule_sets: Sequence[Rules], options: Collection[str], any_seat: bool = False) -> Iterator[Placed]:
    """Yield the features of the observation of the seat to act, section by section; with `any_seat`, of any seat.

    `options` is a subset of `differing_options`.
    """
    tables = Tables(rule_sets)
    yield from _card_features(tables)
    for seat in range(tables.seats):
        yield from _seat_features(tables, seat, any_seat)
    yield from _call_features(tables)
    yield from _deal_features(tables, any_seat)
    yield from _rule_features(rule_sets, options)


def row_start(name: str, row: int = 0) -> int:
    """Return the first byte of a section, or of one of its rows."""
    section = SECTIONS[name]
    return section.start + row * (section.shape[-1] if len(section.shape) == 2 else 0)


def cards_from(tables: Tables, start: int, scale: float = 1.0) -> Iterator[Placed]:
    """Yield the bytes of the cards in the deck, for a section over cards."""
    for card in tables.cards:
        yield Feature(start + card, scale=scale, suits="cards"), start


def _suits(tables: Tables, start: int) -> Iterator[Placed]:
    for suit in range(tables.suits):
        yield Feature(start + suit, suits="suits"), start


def copies(start: int, *places: int, scale: float = 1.0) -> Iterator[Placed]:
    """Yield bytes at some offsets from `start`."""
    for place in places:
        yield Feature(start + place, scale=scale), start


def _one_hot(column: int, low: int, high: int) -> Iterator[Placed]:
    for value in range(low, high + 1):
        yield Feature(column, value), column


def _card_features(tables: Tables) -> Iterator[Placed]:
    """Yield the hand, the cards played by each seat, their tricks, and the public unplayed cards."""
    yield from cards_from(tables, row_start("hand"))
    for seat in range(tables.seats):
        yield from cards_from(tables, row_start("played", seat))
    yield from cards_from(tables, row_start("trick_of"), 1 / 8)
    if tables.opens_hand or tables.has("stock_nomination", "redraw"):
        yield from cards_from(tables, row_start("exposed"))
    if tables.has("observe_previous_hand", True):
        yield from cards_from(tables, row_start("previous_deal"), 1 / 32)


def _seat_features(tables: Tables, seat: int, any_seat: bool) -> Iterator[Placed]:
    """Yield card on the table, call, voids, tricks and marks of a seat.

    The seat to act has a card on the table only when it names the suit of a two-suited lead.
    """
    others = seat > 0 or any_seat
    may_lie = others or DECKTET in tables.decks
    if may_lie:
        yield from _suits(tables, row_start("on_table", seat))
        yield from _one_hot(row_start("on_table", seat) + MAX_SUITS, 1, tables.ranks)
    if others:
        yield from _suits(tables, row_start("tricks", seat))
        yield from copies(row_start("seats", seat), 2)
    tricks = row_start("tricks", seat) + MAX_SUITS
    yield from copies(tricks, 0, scale=1 / 4)
    yield from copies(row_start("seats", seat), 3, 4)
    if may_lie:
        yield from copies(row_start("seats", seat), 7)
    if tables.plays(EXACT_BID, AUCTION, SHARES):
        yield from _one_hot(tricks + 1, WANTED - 3, WANTED + RANKS)
    if tables.plays(EXACT_BID, AUCTION):
        yield from copies(row_start("call_of", seat), 2, scale=1 / 4)
    if tables.plays(EXACT_BID):
        yield from copies(row_start("call_of", seat), 0)
    if tables.plays(AUCTION, SHARES):
        yield from copies(row_start("seats", seat), 5, 6)
        yield from copies(row_start("call_of", seat), 1, 3, 4, 5, 6, 7)


WANTED = 64
"""Offset of the bytes for the tricks still wanted, and for the calls less the tricks. Their features are one-hot only: a byte
of 0 means that there is no number, but as a number it would be -64."""
AUCTION_CALLS = 24
"""Number of calls of an auction, in order, with features; longer auctions are very rare."""


def _call_features(tables: Tables) -> Iterator[Placed]:
    """Yield the auction in order, its high bid, the contract, and the number that the hook forbids."""
    numbers = row_start("numbers")
    if tables.plays(AUCTION):
        yield from copies(row_start("calls"), *range(AUCTION_CALLS), scale=1 / 8)
        yield from copies(row_start("contract"), 1, 2, 3, 5, 6, 7)
        yield from copies(row_start("contract"), 0, 4, scale=1 / 4)
        yield from _one_hot(row_start("contract"), 1, RANKS + 1)
        yield from _one_hot(row_start("contract") + 4, 1, RANKS + 1)
        yield from _suits(tables, row_start("nominated"))
        yield from copies(row_start("nominated"), MAX_SUITS, scale=1 / 8)
        for card in tables.cards:
            yield Feature(row_start("nominated") + 7, 1 + card, suits="card"), row_start("nominated")
    if tables.plays(EXACT_BID):
        yield from copies(numbers, 8, scale=1 / 4)
        yield from copies(numbers, 9, scale=1 / 8)
        yield from _one_hot(numbers + 8, 1, 9)
        yield from _one_hot(numbers + 10, WANTED - 8, WANTED + 8)


def _deal_features(tables: Tables, any_seat: bool) -> Iterator[Placed]:
    """Yield phase, trump, suit led, own role, and the numbers of the deal."""
    numbers = row_start("numbers")
    yield from copies(row_start("phase"), 0, 1, 2, 3, 4, *([5] if any_seat else []), 6, 7)
    yield from _suits(tables, row_start("trump"))
    yield from copies(row_start("trump"), 6, 7)
    yield from _suits(tables, row_start("led_suit"))
    yield from _suits(tables, row_start("turn_up"))
    yield from copies(row_start("turn_up"), MAX_SUITS, scale=1 / 8)
    yield from copies(row_start("role"), 0, 1, 2, 3, 4, 5, 6)
    yield from copies(numbers, 0, 1, 2, 3, 6, 7, scale=1 / 4)
    yield from copies(numbers, 11, 12, scale=1 / 16)
    if DECKTET in tables.decks:
        yield from copies(numbers, 13, scale=1 / 2)
    yield from _one_hot(numbers + 1, 1, RANKS)
    yield from _one_hot(numbers + 7, 0, tables.seats - 1)


def differing_options(rule_sets: Sequence[Rules]) -> tuple[str, ...]:
    """Return the names (`choice_names`) of the bytes of the section `choices` in which the tables differ."""
    choices = np.stack([choice_bytes(rules) for rules in rule_sets])
    names = choice_names()
    return tuple(names[place] for place in np.flatnonzero((choices != choices[0]).any(axis=0)))


def _rule_features(rule_sets: Sequence[Rules], options: Collection[str]) -> Iterator[Placed]:
    """Yield the variant, if the tables differ in it, and some options."""
    numbers = np.array([rules.variant.number for rules in rule_sets])
    for variant in sorted(set(numbers)) if (numbers != numbers[0]).any() else ():
        yield from copies(row_start("variant"), int(variant))
    largest = np.stack([choice_bytes(rules) for rules in rule_sets]).max(axis=0)
    for place, name in enumerate(choice_names()):
        if name in options:
            yield from copies(row_start("choices"), place, scale=1 / max(1, int(largest[place])))


def hidden_features_of(rule_sets: Sequence[Rules]) -> Iterator[Placed]:
    """Yield the hands of the other seats, the undealt cards, the partner, and the seat dealt the Excuse."""
    tables = Tables(rule_sets)
    for seat in range(1, tables.seats):
        yield from cards_from(tables, row_start("hands", seat))
    if has_stock(rule_sets):
        yield from cards_from(tables, row_start("stock"))
    if tables.plays(AUCTION):
        yield from copies(row_start("partner"), *range(tables.seats))
    if DECKTET in tables.decks:
        yield from copies(row_start("excuse"), *range(tables.seats))


def has_stock(rule_sets: Sequence[Rules]) -> bool:
    """Return whether cards of the French deck may stay undealt; of the Decktet only the card turned up does."""
    return any(
        rules.seats * min(hand_sizes(rules)) < len(rules.deck) for rules in rule_sets if rules.variant.deck_kind == FRENCH
    )


def hand_sizes(rules: Rules) -> set[int]:
    """Return the possible numbers of cards dealt to a seat."""
    return set(rules.schedule) or {rules.variant.deal_size(rules.options, rules.seats)}


def possible_actions(rules: Rules) -> set[int]:
    """Return the actions that can be legal at a table, under any suit order."""
    variant, options = rules.variant, rules.options
    tables = Tables([rules])
    actions = set(tables.cards)
    trumps = {*range(acts.SUIT, acts.SUIT + tables.suits), acts.NO_TRUMP_ACTION}
    numbers = set(range(acts.NUMBER, acts.NUMBER + max(hand_sizes(rules)) + 1))
    if variant.family == EXACT_BID:
        actions |= numbers
    if variant.family == AUCTION:
        actions |= {acts.PASS, acts.MIS, *numbers, *trumps, *(acts.NOMINATE + card for card in tables.cards)}
    if variant.opens_hand:
        actions.add(acts.MIS_A_VIS)
    if variant.family == SHARES:
        actions |= {acts.PASS, acts.NONE, acts.SOME, acts.MOST, *trumps}
    if options.get("trump_mode") == "dealer":
        actions |= trumps
    if options.get("implicit_announcements"):
        actions |= {acts.UNSAID_ACTION, *range(acts.RANK, acts.RANK + RANKS)}
    if options.get("indication"):
        actions.add(acts.INDICATE)
    return actions


def moved_actions() -> np.ndarray:
    """Return the table's action for each action of the network, for each order of the suits: int16, (24, NUM_ACTIONS)."""
    actions = np.tile(np.arange(acts.NUM_ACTIONS, dtype=np.int16), (len(ORDERS), 1))
    for number, order in enumerate(ORDERS):
        cards = np.array([moved_card(card, order) for card in range(SUITS * RANKS)])
        actions[number, : len(cards)] = cards
        actions[number, acts.NOMINATE : acts.NOMINATE + len(cards)] = acts.NOMINATE + cards
        actions[number, acts.SUIT : acts.SUIT + SUITS] = acts.SUIT + np.array(order)
    return actions
