"""Observations as features of a network: columns that can vary, numbers as one-hot where that helps, suits in one order.

1. *Columns.* Of the 1,024 bytes of an observation only those are kept that can differ at the tables in question: seats that
   are there, cards that exist, options on which the tables differ. Scores and places in a match are left out, since a
   network learns to play for the points of the deal.
2. *Numbers.* A byte is copied; `scale` and `shift` bring it to about -1 to 1 (they can be folded into the first layer, so
   features stay bytes). Some numbers also stand as one-hot: tricks still wanted, own place, the nominated card.
3. *Suits.* With the French deck no rule tells one side suit from another, so the suits of each table are renamed: trump (if
   there is one) becomes suit 0, and the others follow by the hand dealt to the seat, longest suit first (equal lengths: higher
   cards first). Masks and actions are renamed likewise; `Encoding.actions` leads back. What a suit was called is lost, which
   matters to nothing but the order of the piles in noms. The Decktet, whose cards bear two suits, keeps its names.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from noms_env._jit import jit, jit_allocating
from noms_env.actions import (
    INDICATE,
    MIS,
    MIS_A_VIS,
    MOST,
    NO_TRUMP_ACTION,
    NOMINATE,
    NONE,
    NUM_ACTIONS,
    NUMBER,
    PASS,
    RANK,
    SOME,
    SUIT,
    UNSAID_ACTION,
)
from noms_env.cards import DECKTET, FRENCH, MAX_SUITS
from noms_env.engine.layout import CARD_BYTES, HIDDEN, OBSERVATION
from noms_env.rules import Rules, write_rules
from noms_env.state import NONESUCH, new_tables

SUITS, RANKS = 4, 13
ORDERS = tuple(itertools.permutations(range(SUITS)))
"""The orders that suits may be put in: `ORDERS[order][new suit]` is the old one. The first leaves all as they are."""
IDENTITY = 0

ORDER_NUMBER = np.zeros(4**SUITS, np.int64)
"""The number of an order by the sum of old suit * 4 ** new suit."""
for _number, _order in enumerate(ORDERS):
    ORDER_NUMBER[sum(suit * 4**place for place, suit in enumerate(_order))] = _number

_SECTIONS = {section.name: section for section in OBSERVATION}
_HIDDEN_SECTIONS = {section.name: section for section in HIDDEN}
_HAND, _PLAYED = _SECTIONS["hand"].start, _SECTIONS["played"].start
_TRUMP = _SECTIONS["trump"].start
_VARIANT = _SECTIONS["variant"].start
COPY = -1


@dataclass(frozen=True)
class Feature:
    """One input of the network.

    Attributes:
        column: byte of the observation, as it lies there when the suits keep their names.
        value: 0..255: the feature is 1 where the byte has this value; `COPY`: it is the byte itself.
        scale: factor that brings the feature (less `shift`) to about -1..1.
        shift: subtracted from the feature before.
        suits: how the column moves with the suits: "" not at all, "cards" (a section of cards), "suits" (six bytes of suits),
            "card" (a byte that holds 1 + number of a card: its value moves).
    """

    column: int
    value: int = COPY
    scale: float = 1.0
    shift: float = 0.0
    suits: str = ""

    def moved(self, order: Sequence[int], start: int) -> tuple[int, int]:
        """Column and value once the suits are in another order; `start` is where the section (or its row) begins."""
        if self.suits == "cards":
            return start + moved_card(self.column - start, order), self.value
        if self.suits == "suits" and self.column - start < SUITS:
            return start + order[self.column - start], self.value
        if self.suits == "card":
            return self.column, 1 + moved_card(self.value - 1, order)
        return self.column, self.value


def moved_card(card: int, order: Sequence[int]) -> int:
    """The card of the deck that stands at a card's place once the suits are in another order."""
    suit, rank = divmod(card, RANKS)
    return RANKS * order[suit] + rank if suit < SUITS else card


@dataclass(frozen=True)
class Encoding:
    """The features of the tables of some rules.

    Attributes:
        kinds: the rules.
        index: int16, shape (24, n_features): per order of the suits, the byte that each feature looks at.
        value: int16, shape (24, n_features): the value that it is compared with, or `COPY`.
        scale, shift: float32, shape (n_features,): what a network sees is `(feature - shift) * scale`.
        hidden_index: int16, shape (24, n_hidden): the same for the hidden state; all its features are bytes of 0 and 1.
        choices: int16, shape (n_choices,): the actions that can be legal at such tables, ascending: the outputs of a network.
        actions: int16, shape (24, n_choices): per order, the action that each of them stands for.
        holders: places where a hidden card may be: the other seats, and undealt where that can be.
        cards: cards of the deck; the hidden features begin with `holders` times so many.
        partners: seats, 0 where nobody has a partner: so many hidden features follow.
        digest: SHA-256 of all of this: networks with equal digests read the same features.
    """

    kinds: tuple[Rules, ...]
    index: np.ndarray = field(repr=False, compare=False)
    value: np.ndarray = field(repr=False, compare=False)
    scale: np.ndarray = field(repr=False, compare=False)
    shift: np.ndarray = field(repr=False, compare=False)
    hidden_index: np.ndarray = field(repr=False, compare=False)
    choices: np.ndarray = field(repr=False, compare=False)
    actions: np.ndarray = field(repr=False, compare=False)
    holders: int
    cards: int
    partners: int
    digest: str

    @property
    def n_features(self) -> int:
        """Inputs of a network that sees what a seat sees."""
        return int(self.index.shape[1])

    @property
    def n_hidden(self) -> int:
        """Inputs that a network which sees everything has besides."""
        return int(self.hidden_index.shape[1])

    @property
    def n_choices(self) -> int:
        """Outputs of a policy network."""
        return len(self.choices)

    def encode(self, observation: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Features and masks of some observations.

        Args:
            observation: uint8, shape (n, OBSERVATION_SIZE).
            mask: int8, shape (n, NUM_ACTIONS).

        Returns:
            features uint8, shape (n, n_features); mask int8, shape (n, n_choices); order int64, shape (n,):
            `actions[order[i], k]` is the action that the network's output k stands for in row i.
        """
        rows = np.arange(len(observation))
        return self.encode_rows(observation, mask, rows)

    def encode_rows(
        self, observation: np.ndarray, mask: np.ndarray, rows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same for some rows of larger arrays; `rows` int64, shape (n,)."""
        order = np.empty(len(rows), np.int64)
        features = np.empty((len(rows), self.n_features), np.uint8)
        moved_mask = np.empty((len(rows), self.n_choices), np.int8)
        suit_orders(observation, rows, order)
        write_features(observation, rows, order, self.index, self.value, features)
        gather_rows(mask, rows, order, self.actions, moved_mask)
        return features, moved_mask, order

    def encode_hidden(self, hidden: np.ndarray, rows: np.ndarray, order: np.ndarray) -> np.ndarray:
        """The hidden state of some rows, uint8, shape (n, n_hidden), with the suits as in their observations.

        Args:
            hidden: uint8, shape (tables, HIDDEN_SIZE).
            rows: int64, shape (n,).
            order: int64, shape (n,): from `encode_rows`.
        """
        out = np.empty((len(rows), self.n_hidden), np.uint8)
        gather_rows(hidden, rows, order, self.hidden_index, out)
        return out


# ------------------------------------------------------------------------------------------------------ compiled


@jit_allocating
def suit_orders(observation, rows, order):
    """Write the number of the order into which each row's suits are put.

    Args:
        observation: uint8, shape (tables, OBSERVATION_SIZE).
        rows: int64, shape (n,).
        order: int64, shape (n,): is written.
    """
    weight = np.empty(SUITS, np.int64)
    for i in range(len(rows)):
        row = observation[rows[i]]
        if row[_VARIANT + NONESUCH] != 0:
            order[i] = IDENTITY
            continue
        for suit in range(SUITS):
            weight[suit] = suit_weight(row, suit)
        order[i] = ORDER_NUMBER[packed_order(weight)]


@jit
def suit_weight(row, suit):
    """What a suit is sorted by: trump before all others, then by length and cards of the hand that the seat was dealt."""
    length = np.int64(0)
    cards = np.int64(0)
    for rank in range(RANKS):
        held = np.int64(row[_HAND + RANKS * suit + rank] | row[_PLAYED + RANKS * suit + rank])
        length += held
        cards += held << rank
    return (np.int64(row[_TRUMP + suit]) << 20) + (length << 14) + cards


@jit
def packed_order(weight):
    """The suits by descending weight (equal ones by number), as a sum of suit * 4 ** place; `weight` is used up."""
    packed = 0
    for place in range(SUITS):
        best = 0
        for suit in range(1, SUITS):
            if weight[suit] > weight[best]:
                best = suit
        weight[best] = -1
        packed += best << (2 * place)
    return packed


@jit
def write_features(observation, rows, order, index, value, features):
    """Write features: bytes, or whether bytes have certain values.

    Args:
        observation: uint8, shape (tables, OBSERVATION_SIZE).
        rows: int64, shape (n,).
        order: int64, shape (n,): from `suit_orders`.
        index: int16, shape (24, n_features).
        value: int16, shape (24, n_features).
        features: uint8, shape (n, n_features): is written.
    """
    for i in range(len(rows)):
        row = observation[rows[i]]
        columns, values = index[order[i]], value[order[i]]
        for k in range(len(columns)):
            byte = row[columns[k]]
            features[i, k] = byte if values[k] < 0 else byte == values[k]


@jit
def gather_rows(source, rows, order, index, out):
    """Write `out[i, k] = source[rows[i], index[order[i], k]]`."""
    for i in range(len(rows)):
        row, columns = source[rows[i]], index[order[i]]
        for k in range(len(columns)):
            out[i, k] = row[columns[k]]


# -------------------------------------------------------------------------------------------------- which features


def make_encoding(kinds: Sequence[Rules]) -> Encoding:
    """The features for tables of some rules.

    Raises:
        ValueError: there are none.
    """
    if not kinds:
        raise ValueError("an encoding needs the rules of at least one table")
    parts = list(_features(kinds))
    index, value = _by_order(parts)
    hidden = list(_hidden_features(kinds))
    hidden_index, _ = _by_order(hidden)
    features = [feature for feature, _ in parts]
    choices = np.array(sorted(set().union(*map(_possible_actions, kinds))), np.int16)
    arrays = {
        "index": index,
        "value": value,
        "scale": np.array([feature.scale for feature in features], np.float32),
        "shift": np.array([feature.shift for feature in features], np.float32),
        "hidden_index": hidden_index,
        "choices": choices,
        "actions": np.ascontiguousarray(_moved_actions()[:, choices]),
    }
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        digest.update(name.encode() + str(array.dtype).encode() + str(array.shape).encode() + array.tobytes())
    tables = _Tables(kinds)
    return Encoding(
        tuple(kinds),
        **arrays,
        holders=tables.seats - 1 + _has_stock(kinds),
        cards=len(tables.cards),
        partners=tables.seats if tables.plays(*AUCTION) else 0,
        digest=digest.hexdigest(),
    )


Placed = tuple[Feature, int]
"""A feature, and where its section (or the row of it) starts."""


def _by_order(parts: Sequence[Placed]) -> tuple[np.ndarray, np.ndarray]:
    """Columns and values of features, for each order of the suits."""
    moved = np.array([[feature.moved(order, start) for feature, start in parts] for order in ORDERS], np.int16)
    return np.ascontiguousarray(moved[:, :, 0]), np.ascontiguousarray(moved[:, :, 1])


def _moved_actions() -> np.ndarray:
    """Per order of the suits, the action that each action of the network stands for."""
    actions = np.tile(np.arange(NUM_ACTIONS, dtype=np.int16), (len(ORDERS), 1))
    for number, order in enumerate(ORDERS):
        for card in range(SUITS * RANKS):
            actions[number, card] = moved_card(card, order)
            actions[number, NOMINATE + card] = NOMINATE + moved_card(card, order)
        for suit in range(SUITS):
            actions[number, SUIT + suit] = SUIT + order[suit]
    return actions


def _possible_actions(kind: Rules) -> set[int]:
    """The actions that can be legal at a table, whatever its suits are called."""
    variant, options = kind.variant.name, kind.options
    tables = _Tables([kind])
    actions = set(tables.cards)
    trumps = {*range(SUIT, SUIT + tables.suits), NO_TRUMP_ACTION}
    numbers = set(range(NUMBER, NUMBER + _most_cards(kind) + 1))
    if variant in EXACT:
        actions |= numbers
    if variant in AUCTION:
        actions |= {PASS, MIS, *numbers, *trumps, *(NOMINATE + card for card in tables.cards)}
    if variant == "noms":
        actions.add(MIS_A_VIS)
    if variant == "nonesuch":
        actions |= {PASS, NONE, SOME, MOST, *trumps}
    if options.get("trump_mode") == "dealer":
        actions |= trumps
    if options.get("implicit_announcements"):
        actions |= {UNSAID_ACTION, *range(RANK, RANK + RANKS)}
    if options.get("indication"):
        actions.add(INDICATE)
    return actions


class _Tables:
    """What the features depend on: the union over the rules."""

    def __init__(self, kinds: Sequence[Rules]) -> None:
        """Look at all the rules."""
        self.variants = {kind.variant.name for kind in kinds}
        self.seats = max(kind.seats for kind in kinds)
        self.decks = {kind.variant.deck_kind for kind in kinds}
        self.cards = sorted({card for kind in kinds for card in kind.deck})
        self.suits = max(MAX_SUITS if deck == DECKTET else SUITS for deck in self.decks)
        self.ranks = 10 if self.decks == {DECKTET} else RANKS
        self.options = [kind.options for kind in kinds]
        if FRENCH in self.decks:  # any suit may come to stand in any place
            ranks = {card % RANKS for kind in kinds if kind.variant.deck_kind == FRENCH for card in kind.deck}
            french = {RANKS * suit + rank for suit in range(SUITS) for rank in ranks}
            self.cards = sorted({*self.cards, *french})

    def plays(self, *variants: str) -> bool:
        """Whether one of these is among the variants."""
        return not self.variants.isdisjoint(variants)

    def has(self, option: str, *values: object) -> bool:
        """Whether an option has one of these values at some table."""
        return any(options.get(option) in values for options in self.options)


EXACT = ("big_ships", "down_up", "up_down")
AUCTION = ("small_ships", "noms")


def _features(kinds: Sequence[Rules]) -> Iterator[Placed]:
    """All features, section by section."""
    tables = _Tables(kinds)
    yield from _card_features(tables)
    for seat in range(tables.seats):
        yield from _seat_features(tables, seat)
    yield from _call_features(tables)
    yield from _deal_features(tables)
    yield from _rule_features(kinds)


def _row(name: str, row: int = 0) -> int:
    """Where a row of a section starts."""
    section = _SECTIONS[name]
    return section.start + row * (section.shape[-1] if len(section.shape) == 2 else 0)


def _cards(tables: _Tables, start: int, scale: float = 1.0) -> Iterator[Placed]:
    """A byte for each card."""
    for card in tables.cards:
        yield Feature(start + card, scale=scale, suits="cards"), start


def _suits(tables: _Tables, start: int) -> Iterator[Placed]:
    """A byte for each suit."""
    for suit in range(tables.suits):
        yield Feature(start + suit, suits="suits"), start


def _copies(start: int, *places: int, scale: float = 1.0, shift: float = 0.0) -> Iterator[Placed]:
    """Bytes as they are."""
    for place in places:
        yield Feature(start + place, scale=scale, shift=shift), start


def _one_hot(column: int, low: int, high: int) -> Iterator[Placed]:
    """A feature for each value of a byte from low to high."""
    for value in range(low, high + 1):
        yield Feature(column, value), column


def _card_features(tables: _Tables) -> Iterator[Placed]:
    """Hand, cards played by each seat, when, and cards whose place all know."""
    yield from _cards(tables, _row("hand"))
    for seat in range(tables.seats):
        yield from _cards(tables, _row("played", seat))
    yield from _cards(tables, _row("trick_of"), 1 / 8)
    if tables.plays("noms") or tables.has("stock_nomination", "redraw"):
        yield from _cards(tables, _row("exposed"))
    if tables.has("observe_previous_hand", True):
        yield from _cards(tables, _row("previous_deal"), 1 / 32)


def _seat_features(tables: _Tables, seat: int) -> Iterator[Placed]:
    """Card on the table, call, voids, tricks and marks of a seat.

    When a seat acts, its own card lies on the table only if it names the suit of a two-suited lead (nonesuch).
    """
    may_lie = seat > 0 or tables.plays("nonesuch")
    if may_lie:
        yield from _suits(tables, _row("on_table", seat))
        yield from _one_hot(_row("on_table", seat) + MAX_SUITS, 1, tables.ranks)
    if seat > 0:
        yield from _suits(tables, _row("tricks", seat))
        yield from _copies(_row("seats", seat), 2)
    tricks = _row("tricks", seat) + MAX_SUITS
    yield from _copies(tricks, 0, scale=1 / 4)
    yield from _copies(_row("seats", seat), 3, 4)
    if may_lie:
        yield from _copies(_row("seats", seat), 7)
    if tables.plays(*EXACT, *AUCTION, "nonesuch"):
        yield from _one_hot(tricks + 1, WANTED - 3, WANTED + RANKS)
    if tables.plays(*EXACT, *AUCTION):
        yield from _copies(_row("call_of", seat), 2, scale=1 / 4)
    if tables.plays(*EXACT):
        yield from _copies(_row("call_of", seat), 0)
    if tables.plays(*AUCTION, "nonesuch"):
        yield from _copies(_row("seats", seat), 5, 6)
        yield from _copies(_row("call_of", seat), 1, 3, 4, 5, 6, 7)


WANTED = 64
"""Offset of the bytes that hold the tricks still wanted, and how far the calls are from the tricks. They are shown as one-hot
only: the byte is 0 where there is no such number, which as a number would be -64."""
AUCTION_CALLS = 24
"""Calls of an auction that are shown in order; there are hardly ever more."""


def _call_features(tables: _Tables) -> Iterator[Placed]:
    """The auction in order, its high bid, and the contract; what the hook forbids."""
    numbers = _row("numbers")
    if tables.plays(*AUCTION):
        yield from _copies(_row("calls"), *range(AUCTION_CALLS), scale=1 / 8)
        yield from _copies(_row("contract"), 1, 2, 3, 5, 6, 7)
        yield from _copies(_row("contract"), 0, 4, scale=1 / 4)
        yield from _one_hot(_row("contract"), 1, RANKS + 1)
        yield from _one_hot(_row("contract") + 4, 1, RANKS + 1)
        yield from _suits(tables, _row("nominated"))
        yield from _copies(_row("nominated"), MAX_SUITS, scale=1 / 8)
        for card in tables.cards:
            yield Feature(_row("nominated") + 7, 1 + card, suits="card"), _row("nominated")
    if tables.plays(*EXACT):
        yield from _copies(numbers, 8, scale=1 / 4)
        yield from _copies(numbers, 9, scale=1 / 8)
        yield from _one_hot(numbers + 8, 1, 9)
        yield from _one_hot(numbers + 10, WANTED - 8, WANTED + 8)


def _deal_features(tables: _Tables) -> Iterator[Placed]:
    """Phase, trump, suit led, own role, and the numbers of the deal."""
    numbers = _row("numbers")
    yield from _copies(_row("phase"), 0, 1, 2, 3, 4, 6, 7)
    yield from _suits(tables, _row("trump"))
    yield from _copies(_row("trump"), 6, 7)
    yield from _suits(tables, _row("led_suit"))
    yield from _suits(tables, _row("turn_up"))
    yield from _copies(_row("turn_up"), MAX_SUITS, scale=1 / 8)
    yield from _copies(_row("role"), 0, 1, 2, 3, 4, 5, 6)
    yield from _copies(numbers, 0, 1, 2, 3, 6, 7, scale=1 / 4)
    yield from _copies(numbers, 11, 12, scale=1 / 16)
    if tables.plays("nonesuch"):
        yield from _copies(numbers, 13, scale=1 / 2)
    yield from _one_hot(numbers + 1, 1, RANKS)
    yield from _one_hot(numbers + 7, 0, tables.seats - 1)


def _rule_features(kinds: Sequence[Rules]) -> Iterator[Placed]:
    """Variant and options, as far as the tables differ in them."""
    numbers = np.array([kind.variant.number for kind in kinds])
    for variant in sorted(set(numbers)) if (numbers != numbers[0]).any() else ():
        yield from _copies(_row("variant"), int(variant))
    choices = np.stack([_choices(kind) for kind in kinds])
    for place in np.flatnonzero((choices != choices[0]).any(axis=0)):
        yield from _copies(_row("choices"), int(place), scale=1 / max(1, int(choices[:, place].max())))


def _choices(kind: Rules) -> np.ndarray:
    """The bytes of the options in an observation, uint8, shape (NUM_CHOICES,)."""
    tables = new_tables(1)
    write_rules(tables[0], kind)
    return np.asarray(tables.choices[0]).view(np.uint8)


def _hidden_features(kinds: Sequence[Rules]) -> Iterator[Placed]:
    """The hands of the other seats, the undealt cards, the partner, who was dealt the Excuse."""
    tables = _Tables(kinds)
    hands, stock = _HIDDEN_SECTIONS["hands"], _HIDDEN_SECTIONS["stock"]
    for seat in range(1, tables.seats):
        yield from _cards(tables, hands.start + seat * CARD_BYTES)
    if _has_stock(kinds):
        yield from _cards(tables, stock.start)
    if tables.plays(*AUCTION):
        yield from _copies(_HIDDEN_SECTIONS["partner"].start, *range(tables.seats))
    if tables.plays("nonesuch"):
        yield from _copies(_HIDDEN_SECTIONS["excuse"].start, *range(tables.seats))


def _has_stock(kinds: Sequence[Rules]) -> bool:
    """Whether cards of the French deck may be left over: not in nonesuch, whose up card and Excuse are known or asked for."""
    return any(kind.seats * _fewest_cards(kind) < len(kind.deck) for kind in kinds if kind.variant.deck_kind == FRENCH)


def _fewest_cards(kind: Rules) -> int:
    """Cards in the smallest hands."""
    return int(min(kind.schedule, default=0) or kind.options.get("hand_size") or 0)


def _most_cards(kind: Rules) -> int:
    """Cards in the largest hands."""
    return int(max(kind.schedule, default=0) or kind.options.get("hand_size") or 0)
