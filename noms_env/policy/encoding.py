"""Observations as features of a network: columns that can vary, numbers as one-hot if that helps, suits in a canonical order.

1. *Columns.* Only bytes of an observation that can differ at the tables are features: existing seats, cards of the deck,
   options on which the tables differ. Scores and places in a match are left out, since a network learns to play for the points
   of the deal.
2. *Numbers.* A byte is copied; `scale` brings it to about 0 to 1. The scale can be folded into the first layer, so features
   stay bytes. Some numbers are also one-hot: tricks still needed, own place, the nominated card.
3. *Suits.* With the French deck no rule distinguishes the side suits, so the suits of each table are renamed. Trump (if any)
   becomes suit 0. The others follow by the hand dealt to the seat, longest suit first (equal lengths: higher cards first).
   Masks and actions are renamed too; `Encoding.actions` maps back to the original actions. The original names are lost, which
   affects only the order of the piles if the deck is not shuffled. The Decktet keeps its names, since its cards bear two suits.
4. *Card features* and *trick features* (`extra_features`), if requested, come last.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from noms_env._jit import jit, jit_inline
from noms_env.observation import features as inputs
from noms_env.observation.suit_order import suit_order
from noms_env.policy.extra_features import SECTIONS, card_features_of, extend, extended_size, section_start, trick_features_of
from noms_env.policy.rules_lookup import rules_rows
from noms_env.variants import Rules
from noms_env.variants.families import AUCTION

CARDS = 52
"""Number of actions that play a card; they come first."""


@dataclass(frozen=True)
class Encoding:
    """The features of tables with some rules.

    Attributes:
        rule_sets: the rules.
        drawn: further rules, see `make_encoding`.
        index: int16, shape (24, n_features): per order of the suits, the byte that each feature reads.
        value: int16, shape (24, n_features): the value that it is compared with, or `COPY`.
        scale: float32, shape (n_features,): a network's input is `feature * scale`.
        hidden_index: int16, shape (24, n_hidden): like `index`, for the hidden state; all its features are bytes of 0 and 1.
        choices: int16, shape (n_choices,): the actions that can be legal at such tables, ascending: a network's outputs.
        actions: int16, shape (24, n_choices): per order, the action of each choice.
        holders: number of places for a hidden card: the other seats, and the undealt cards if there can be any.
        cards: number of cards in the deck; `holders * cards` hidden features come first.
        partners: number of seats, 0 without partners; as many hidden features follow.
        options: names of the bytes of the section `choices` that are features.
        card_features: whether card features are included. If so, `index` reaches beyond the observation.
        trick_features: whether trick features are included.
        rules: `rules_lookup.rules_rows`; empty if the tables may have any options.
        digest: SHA-256 of the arrays from `index` to `actions`: networks with equal digests read the same features.
    """

    rule_sets: tuple[Rules, ...]
    drawn: tuple[Rules, ...]
    index: np.ndarray = field(repr=False, compare=False)
    value: np.ndarray = field(repr=False, compare=False)
    scale: np.ndarray = field(repr=False, compare=False)
    hidden_index: np.ndarray = field(repr=False, compare=False)
    choices: np.ndarray = field(repr=False, compare=False)
    actions: np.ndarray = field(repr=False, compare=False)
    holders: int
    cards: int
    partners: int
    options: tuple[str, ...]
    card_features: bool
    trick_features: bool
    rules: np.ndarray = field(repr=False, compare=False)
    digest: str

    @property
    def n_features(self) -> int:
        """Number of inputs of a network that sees what a seat sees."""
        return int(self.index.shape[1])

    @property
    def n_hidden(self) -> int:
        """Number of further inputs of a network that sees everything."""
        return int(self.hidden_index.shape[1])

    @property
    def n_choices(self) -> int:
        """Number of outputs of a policy network."""
        return len(self.choices)

    @property
    def extended_size(self) -> int:
        """Bytes of the extended observation that `index` reads, 0 if the observation is enough; see `extra_features`."""
        return extended_size(self.card_features, self.trick_features)

    @property
    def column_of(self) -> dict[tuple[int, int], int]:
        """The column of each feature, in order, by byte and value, with the suits in their original order."""
        pairs = zip(self.index[inputs.IDENTITY].tolist(), self.value[inputs.IDENTITY].tolist(), strict=True)
        return {pair: column for column, pair in enumerate(pairs)}

    @property
    def cards_to_play(self) -> list[int]:
        """The cards to play, the first of `choices`."""
        return [choice for choice in self.choices.tolist() if choice < CARDS]

    @property
    def card_sections(self) -> tuple[int, ...]:
        """The sections of card and trick features in use, ascending: each has a feature for every card to play."""
        columns, card = self.column_of, self.cards_to_play[0]
        return tuple(section for section in range(SECTIONS) if (section_start(section) + card, inputs.COPY) in columns)

    @property
    def card_columns(self) -> np.ndarray:
        """Columns of the features of each card to play, int64, shape (cards to play, card_sections)."""
        columns, cards, starts = self.column_of, self.cards_to_play, [section_start(section) for section in self.card_sections]
        features = [[columns[start + card, inputs.COPY] for start in starts] for card in cards]
        return np.array(features, np.int64).reshape(len(cards), -1)

    def places_of(self, other: Encoding) -> np.ndarray:
        """Return the columns here of another's features, int64, shape (other.n_features,); ValueError if one is missing."""
        columns = self.column_of
        try:
            return np.array([columns[pair] for pair in other.column_of])
        except KeyError:
            missing = [name for name in ("card_features", "trick_features") if getattr(other, name) > getattr(self, name)]
            missing += sorted(set(other.options) - set(self.options))
            raise ValueError(f"these features are missing: {', '.join(missing)}") from None

    def encode(
        self, observation: np.ndarray, mask: np.ndarray, rows: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Encode observations, uint8, (tables, OBSERVATION_SIZE), and masks, int8, (tables, NUM_ACTIONS), or some rows of them.

        Returns:
            features uint8, shape (n, n_features); mask int8, shape (n, n_choices); order int64, shape (n,): `actions[order[i],
            k]` is the action of the network's output k in row i.
        """
        rows = np.arange(len(observation)) if rows is None else rows
        order = np.empty(len(rows), np.int64)
        features = np.empty((len(rows), self.n_features), np.uint8)
        moved_mask = np.empty((len(rows), self.n_choices), np.int8)
        extended = np.empty(self.extended_size, np.uint8)
        encode_rows(observation, rows, self.index, self.value, extended, order, features)
        gather_rows(mask, rows, order, self.actions, moved_mask)
        return features, moved_mask, order

    def encode_hidden(self, hidden: np.ndarray, rows: np.ndarray, order: np.ndarray) -> np.ndarray:
        """Return the hidden state of some rows, uint8, shape (n, n_hidden), with the suits in the `order` from `encode`.

        `hidden` is uint8, shape (tables, HIDDEN_SIZE).
        """
        out = np.empty((len(rows), self.n_hidden), np.uint8)
        gather_rows(hidden, rows, order, self.hidden_index, out)
        return out


@jit
def encode_rows(observation, rows, index, value, extended, order, features):
    """Write the orders of the suits, int64, shape (n,), and the features, uint8, shape (n, n_features), of some rows.

    `rows` is int64, shape (n,); `index` and `value` are those of `Encoding`. `extended` is scratch for `extend`, empty if the
    observation is enough.
    """
    for i in range(len(rows)):
        row_bytes = observation[rows[i]]
        order[i] = suit_order(row_bytes)
        if len(extended) > 0:
            extend(row_bytes, extended)
            row_bytes = extended
        columns, values = index[order[i]], value[order[i]]
        for k in range(len(columns)):
            features[i, k] = feature_of(row_bytes[columns[k]], values[k])


@jit_inline
def feature_of(byte, value):
    """Return a feature: the byte that it reads, or whether that equals a value."""
    return byte if value < 0 else byte == value


@jit
def gather_rows(source, rows, order, index, out):
    """Write `out[i, k] = source[rows[i], index[order[i], k]]`."""
    for i in range(len(rows)):
        row, columns = source[rows[i]], index[order[i]]
        for k in range(len(columns)):
            out[i, k] = row[columns[k]]


def make_encoding(
    rule_sets: Sequence[Rules],
    card_features: bool = False,
    options: Sequence[str] | None = None,
    trick_features: bool = False,
    drawn: Sequence[Rules] = (),
) -> Encoding:
    """Return the encoding for tables with some rules; ValueError if there are none.

    Args:
        rule_sets: the rules.
        card_features: whether to include the card features (`extra_features`).
        options: bytes of the section `choices` to include (names as in `choice_names`). A policy passes the options that it was
            trained with, so that an option declared later changes nothing. Defaults to all in which the tables differ.
        trick_features: whether to include the trick features.
        drawn: further rules, sampled for training. With some, a table may have any options: no feature counts as constant, and
            no table is refused.
    """
    if not rule_sets:
        raise ValueError("an encoding needs the rules of at least one table")
    base_rules, drawn = tuple(rule_sets), tuple(drawn)
    rule_sets = base_rules + drawn
    options = inputs.differing_options(rule_sets) if options is None else tuple(options)
    tables, parts = inputs.Tables(rule_sets), list(inputs.features_of(rule_sets, options))
    parts += card_features_of(tables) if card_features else ()
    parts += trick_features_of(tables) if trick_features else ()
    index, value = _by_order(parts)
    choices = np.array(sorted(set().union(*map(inputs.possible_actions, rule_sets))), np.int16)
    arrays = {
        "index": index,
        "value": value,
        "scale": np.array([feature.scale for feature, _ in parts], np.float32),
        "hidden_index": _by_order(list(inputs.hidden_features_of(rule_sets)))[0],
        "choices": choices,
        "actions": np.ascontiguousarray(inputs.moved_actions()[:, choices]),
    }
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        digest.update(f"{name}{array.dtype}{array.shape}".encode() + array.tobytes())
    return Encoding(
        base_rules,
        drawn,
        **arrays,
        holders=tables.seats - 1 + inputs.has_stock(rule_sets),
        cards=len(tables.cards),
        partners=tables.seats if tables.plays(AUCTION) else 0,
        options=options,
        card_features=card_features,
        trick_features=trick_features,
        rules=rules_rows(() if drawn else base_rules),
        digest=digest.hexdigest(),
    )


def _by_order(parts: Sequence[inputs.Placed]) -> tuple[np.ndarray, np.ndarray]:
    """Return columns and values of features, for each order of the suits."""
    pairs = np.array([[feature.moved(order, start) for feature, start in parts] for order in inputs.ORDERS], np.int16)
    return np.ascontiguousarray(pairs[:, :, 0]), np.ascontiguousarray(pairs[:, :, 1])
