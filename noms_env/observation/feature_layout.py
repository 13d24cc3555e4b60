"""Features for a plain network: copied bytes and one-hot numbers of an observation, with scales, in named sections.

The features are those of this package's policies (`features`), in the order of the bytes of an observation: first the copied
bytes, then the one-hot numbers. Suits keep their names. Two kinds of features are added: information that only a seat not to
act can have, and in a match the totals and the number of the deal.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from noms_env._jit import MOVE_SIZE, jit, jit_inline, move, put_one_hot, put_word, transpose
from noms_env.core.cards import DECKTET, FRENCH
from noms_env.core.state import MAX_SEATS
from noms_env.observation.features import (
    COPY,
    ORDERS,
    SUITS,
    Feature,
    Placed,
    Tables,
    copies,
    differing_options,
    features_of,
    moved_actions,
    row_start,
)
from noms_env.observation.layout import FIELDS, OBSERVATION, OBSERVATION_SIZE, SEAT_BYTES, START, Section
from noms_env.variants import Rules

LAST_MOVE_START = OBSERVATION_SIZE - MOVE_SIZE
"""The last byte of an observation at which `move` may begin."""
SEAT_SECTIONS = ("call_of", "tricks", "seats")
"""Contiguous sections with a row of eight bytes for each seat. Their features are ordered by field, then by seat. So
`write_features` writes the columns of each section as eight words, and copies one word for each one-byte field."""
SEAT_SECTIONS_START, SEAT_SECTION_SIZE = START[SEAT_SECTIONS[0]], MAX_SEATS * SEAT_BYTES
COLUMNS = SEAT_BYTES * len(SEAT_SECTIONS)
"""Words at the end of a row of features that hold these columns as scratch; later writes overwrite them."""


OMITTED_FIELDS = {
    "on_table.number": "implied by suit and rank",
    "turn_up.number": "implied by suit and rank",
    "call_of.called": "implied by the other bytes of the row, except for calls of numbers, which have the feature",
    "tricks.wanted": "outside the one-hot range: the call less the tricks taken",
    "numbers.gap": "outside the one-hot range: the sum of the calls less the cards dealt",
    "calls": "with a single round of calls, in `call_of`; in an auction, only the calls after the first 24 are left out",
    "seats.total": "in single deals, whose points do not depend on it",
    "seats.total_quarter": "in single deals, whose points do not depend on it",
    "numbers.deal": "in single deals, whose points do not depend on it",
    "numbers.deals_left": "in single deals, whose points do not depend on it",
}
"""Fields that can vary at a table but have no feature, with the reason."""


@dataclass(frozen=True)
class FeatureSection(Section):
    """A named part of a vector of features; its name is the section of the bytes, a dot, and the field.

    Attributes:
        scale: factor that scales the features to about 0 to 1.
        high: the largest scaled value; the smallest is 0.
    """

    scale: float
    high: float


def _fields_by_byte() -> Iterator[tuple[int, int]]:
    """Yield the numbers of section and field of each byte of an observation."""
    for number, section in enumerate(OBSERVATION):
        row = [field for field, part in enumerate(FIELDS[section.name]) for _ in range(part.size)]
        for field in row * (math.prod(section.shape) // len(row)):
            yield number, field


_FIELD_OF = list(_fields_by_byte())


def _place(feature: Feature) -> tuple[bool, int, int, int, int]:
    """Return the sort key of a feature in a vector: one-hot or not, section, field, column and value."""
    return (feature.value != COPY, *_FIELD_OF[feature.column], feature.column, feature.value)


def _sections(in_order: Iterable[Feature]) -> Iterator[FeatureSection]:
    start = 0
    for (one_hot, number, field_number), group in groupby(in_order, lambda feature: _place(feature)[:3]):
        features = list(group)
        section = OBSERVATION[number]
        field = FIELDS[section.name][field_number]
        rows = len({(feature.column - section.start) // section.shape[-1] for feature in features})
        is_grid = len(section.shape) == 2
        shape = (*([rows] if is_grid else []), *([] if is_grid and len(features) == rows else [len(features) // rows]))
        meaning = f"{'per seat, ' if is_grid else ''}{field.meaning}"
        if one_hot:
            meaning += f", one-hot: {features[0].value} to {features[-1].value}"
        name = ".".join(filter(None, (section.name, field.name, "one_hot" if one_hot else "")))
        scale = features[0].scale
        yield FeatureSection(name, start, shape, meaning, scale, 1.0 if one_hot else field.most * scale)
        start += len(features)


def _match_features(seats: int) -> Iterator[Placed]:
    """Yield the totals and the features on the deal's position in the match."""
    for seat in range(seats):
        yield from copies(row_start("seats", seat), 0, 1, scale=1 / 64)
    yield from copies(row_start("numbers"), 4, 5, scale=1 / 16)


class FeatureLayout:
    """Layout of the feature vector for a set of rules; tables with different rules share one vector.

    Attributes:
        sections: the sections of the features, in order.
        n_features: number of features.
        scale: float32, shape (n_features,): a network reads each feature times its scale.
        high: float32, shape (n_features,): the largest scaled value of each feature.
        column: int16, shape (n_features,): the byte of the observation for each feature.
        value: int16, shape (n_features,): the value of the byte that makes the feature 1, or `features.COPY` for the byte
            itself.
        options: names (`choice_names`) of the bytes of the section `choices` that are features.
        decktet: int64: the features that mark a game with the Decktet, if the rules use both decks; else empty.
        words: number of 64-bit words in a row of features of `write_features`.
        parts: the arguments `moves` and `words` of `write_features`, int16, shapes (moves, 2) and (words, 3).
    """

    def __init__(self, rule_sets: Sequence[Rules], episode: str = "match", options: Sequence[str] | None = None) -> None:
        """Lay out the features for some rules, and for `match` or `deal`; `options`: None for all options that differ."""
        tables = Tables(rule_sets)
        self.options = differing_options(rule_sets) if options is None else tuple(options)
        placed_features = [*features_of(rule_sets, self.options, any_seat=True)]
        placed_features += _match_features(tables.seats) if episode == "match" else []
        self._features = sorted(placed_features, key=lambda placed: _place(placed[0]))
        self._decks = tables.decks
        self.sections = tuple(_sections(feature for feature, _ in self._features))
        self.n_features = len(self._features)
        pairs = [(feature.column, feature.value) for feature, _ in self._features]
        self.column, self.value = np.array(pairs, np.int16).T.copy()
        marks = [START["variant"] + rules.variant.number for rules in rule_sets if rules.variant.deck_kind == DECKTET]
        self.decktet = np.flatnonzero(np.isin(self.column, marks)) if len(self._decks) > 1 else np.empty(0, np.int64)
        self.scale = np.array([feature.scale for feature, _ in self._features], np.float32)
        sizes = [math.prod(part.shape) for part in self.sections]
        self.high = np.repeat(np.array([part.high for part in self.sections], np.float32), sizes)
        moves = np.array([*self._moves()], np.int16)
        written = int(moves[moves[:, 0] >= OBSERVATION_SIZE, 1].max()) + MOVE_SIZE  # before the last column is copied
        self.words = max(self.n_features // 8 + MOVE_SIZE // 8 + 1, written // 8 + 1 + COLUMNS)
        self.parts = (moves, np.array([*self._bytes(), *self._one_hots()], np.int16))

    def _runs(self, one_hot: bool) -> Iterator[tuple[int, int]]:
        """Yield first and last feature of each run: adjacent bytes of the observation, or successive values of one byte."""
        columns = np.flatnonzero((self.value != COPY) == one_hot)
        follows = (np.diff(self.column[columns]) == (not one_hot)) & (np.diff(self.value[columns]) == one_hot)
        cuts = np.flatnonzero(~follows)
        yield from zip(columns[[0, *(cuts + 1)]].tolist(), columns[[*cuts, -1]].tolist(), strict=True)

    def _moves(self) -> Iterator[tuple[int, int]]:
        """Yield source and target of each copy: a byte of the observation, or `OBSERVATION_SIZE` + a word with a column.

        A copy may write past its run; the next one overwrites the excess.
        """
        for first, last in self._runs(one_hot=False):
            section, place = divmod(int(self.column[first]) - SEAT_SECTIONS_START, SEAT_SECTION_SIZE)
            if first == last and 0 <= section < len(SEAT_SECTIONS):
                if place < SEAT_BYTES:  # only for the first seat: its word contains all seats
                    yield OBSERVATION_SIZE + SEAT_BYTES * section + place, first
                continue
            for target in range(first, last + 1, MOVE_SIZE):
                if self.column[target] <= LAST_MOVE_START:
                    yield int(self.column[target]), target

    def _bytes(self) -> Iterator[tuple[int, int, int]]:
        """Yield byte, `COPY` and target of the last options, which a `move` cannot copy without reading past the end."""
        for first, last in self._runs(one_hot=False):
            for target in range(first, last + 1):
                if self.column[target - (target - first) % MOVE_SIZE] > LAST_MOVE_START:
                    yield int(self.column[target]), COPY, target

    def _one_hots(self) -> Iterator[tuple[int, int, int]]:
        """Yield byte, first value and target of each `put_one_hot`. The next one overwrites any excess."""
        for first, last in self._runs(one_hot=True):
            for step in range(0, last - first + 1, MOVE_SIZE):
                yield int(self.column[first]), int(self.value[first]) + step, first + step

    def encode(self, observation: np.ndarray) -> np.ndarray:
        """Return the scaled features, float32, shape (..., n_features), of observations, uint8, (..., OBSERVATION_SIZE).

        Raises:
            ValueError: `observation` has another dtype or shape.
        """
        if observation.dtype != np.uint8 or observation.shape[-1:] != (OBSERVATION_SIZE,):
            shown = f"{observation.dtype} of shape {observation.shape}"
            raise ValueError(f"observation must be uint8 of shape (..., {OBSERVATION_SIZE}), not {shown}")
        words = np.ascontiguousarray(observation).reshape(-1, OBSERVATION_SIZE).view(np.int64)
        out = np.empty((len(words), self.n_features), np.float32)
        row = np.empty(self.words, np.int64)
        write_scaled(words, *self.parts, self.scale, row, row.view(np.uint8), out)
        return out.reshape(*observation.shape[:-1], self.n_features)

    def __deepcopy__(self, memo: object) -> FeatureLayout:
        """Return the layout itself: it is immutable, so copies of an environment share it."""
        return self

    def suit_orders(self) -> np.ndarray:
        """Return the original feature at each index, for each order of the suits: int64, shape (24, n_features).

        With the Decktet alone the shape is (1, n_features): its suits keep their names.
        """
        place_of = {pair: place for place, pair in enumerate(zip(self.column.tolist(), self.value.tolist(), strict=True))}
        orders = ORDERS if FRENCH in self._decks else ORDERS[:1]
        return np.array([[place_of[feature.moved(order, start)] for feature, start in self._features] for order in orders])

    def action_orders(self) -> np.ndarray:
        """Return the table's action for each action, for each order of the suits: int64, shape (orders, NUM_ACTIONS)."""
        return moved_actions()[: len(self.suit_orders())].astype(np.int64)

    def suit_places(self) -> tuple[int, int, int, int]:
        """Return the argument `places` of `suit_order`: first features of `hand`, `played` and `trump`, and ranks per suit.

        With the Decktet alone, whose suits keep their names, the first number is -1. With both decks, `decktet` marks its rows.
        """
        start = {part.name: part.start for part in self.sections}
        ranks = start["played"] - start["hand"]
        first = start["hand"] if FRENCH in self._decks else -1
        return first, start["played"], start["trump"], ranks // SUITS


@jit_inline
def write_features(observation, moves, words, out):
    """Write the features of one observation, one byte per feature.

    Args:
        observation: int64, shape (OBSERVATION_SIZE // 8,).
        moves: `FeatureLayout.parts[0]`.
        words: `FeatureLayout.parts[1]`.
        out: int64, shape (FeatureLayout.words,): output; bytes after the features are undefined.
    """
    columns = len(out) - COLUMNS
    for k in range(len(SEAT_SECTIONS)):
        transpose(out, 8 * (columns + SEAT_BYTES * k), observation, SEAT_SECTIONS_START + SEAT_SECTION_SIZE * k)
    for k in range(len(moves)):
        if moves[k, 0] < OBSERVATION_SIZE:
            move(out, moves[k, 1], observation, moves[k, 0])
        else:
            put_word(out, moves[k, 1], out[columns + moves[k, 0] - OBSERVATION_SIZE])
    for k in range(len(words)):
        place = np.int64(words[k, 0])
        byte = (observation[place >> 3] >> (8 * (place & 7))) & 255
        if words[k, 1] == COPY:
            put_word(out, words[k, 2], byte)
        else:
            put_one_hot(out, words[k, 2], byte - words[k, 1])


@jit
def write_scaled(observations, moves, words, scale, row, row_bytes, out):
    """Write the scaled features of many observations into `out`, float32, shape (n, n_features).

    `row` is scratch for one observation, as in `write_features`; `row_bytes` is the same memory as bytes.
    """
    for i in range(len(observations)):
        write_features(observations[i], moves, words, row)
        for k in range(len(scale)):
            out[i, k] = row_bytes[k] * scale[k]
