"""Tokens of an attention network: which features describe each card, seat and call.

Each card, seat and call that an observation shows has a token; absent ones have none.

1. *The deal*: all features. Outputs for the decision as a whole are read from this token.
2. *Cards* in the own hand, in the trick, played before, exposed or nominated. Their features: who played it, in which trick,
   and its card features. A critic that sees hidden cards has a token for each card that a seat holds.
3. *The other seats*: card on the table, latest call, tricks taken and called, voids, marks.
4. *Calls* of an auction in order. Games with one round of calls have none, since the seats' tokens show the calls.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noms_env.core.actions import NUM_CALLS
from noms_env.observation.features import AUCTION_CALLS, COPY
from noms_env.observation.layout import CARD_BYTES, SEAT_BYTES, START
from noms_env.policy.encoding import Encoding
from noms_env.policy.extra_features import SECTIONS, section_start

AGES = 20
"""Ages of a card: 0 not played, 1 in the trick, 2 in the trick before, and so on."""
CALL_KINDS = NUM_CALLS + 1
NOMINATED = -1
"""Key of the feature that marks the nominated card."""
OF_SEAT = ("on_table", "call_of", "tricks", "seats")


@dataclass(frozen=True)
class Tokens:
    """Feature columns of each token.

    Attributes:
        numbers: the cards, int64, shape (cards,).
        card_keys: start of each card feature's section in an extended observation, or `NOMINATED`.
        cards: columns of each card's features, int64, shape (cards, k).
        shown: indices into k, int64: a card has a token if one of these features is not 0. The first is the own hand.
        trick_of: index into k of the feature 1 + number of the trick.
        seat_keys: section, byte of its row and value of each seat feature.
        seats: columns of each other seat's features, from the left neighbour on, int64, shape (other seats, m).
        there: column that is 0 if the seat does not exist, int64, shape (other seats,).
        calls: columns of the calls in order, int64, shape (n,); n is 0 without an auction.
        place: columns of the own place from eldest, one-hot, int64, shape (seats,).
        n_seats, tricks: columns of the number of seats, and of complete tricks.
    """

    numbers: np.ndarray
    card_keys: tuple[int, ...]
    cards: np.ndarray
    shown: np.ndarray
    trick_of: int
    seat_keys: tuple[tuple[str, int, int], ...]
    seats: np.ndarray
    there: np.ndarray
    calls: np.ndarray
    place: np.ndarray
    n_seats: int
    tricks: int

    @property
    def places(self) -> dict[str, np.ndarray]:
        """The index arrays by name."""
        return {name: getattr(self, name) for name in ("numbers", "cards", "shown", "seats", "there", "calls", "place")}

    @property
    def tables(self) -> tuple[str, ...]:
        """The names in `attention.TABLES` that these tokens use."""
        return ("own", "age", "who", *(("call", "position") if len(self.calls) else ()))

    @classmethod
    def of(cls, encoding: Encoding, privileged: bool = False) -> Tokens:
        """Return the tokens of an encoding. A privileged network sees the hidden features after the encoding's own."""
        place_of, cards = encoding.column_of, encoding.cards_to_play
        seats = max(rules.seats for rules in encoding.rule_sets + encoding.drawn)
        starts = [START["hand"], *(START["played"] + CARD_BYTES * seat for seat in range(seats))]
        starts += [START[name] for name in ("trick_of", "exposed", "previous_deal")] + [*map(section_start, range(SECTIONS))]
        keys = [start for start in starts if (start + cards[0], COPY) in place_of]
        columns = [[place_of[start + card, COPY] for start in keys] for card in cards]
        nominated = START["nominated"] + SEAT_BYTES - 1
        if (nominated, 1 + cards[0]) in place_of:
            keys.append(NOMINATED)
            for row, card in zip(columns, cards, strict=True):
                row.append(place_of[nominated, 1 + card])
        shown = [keys.index(key) for key in (START["hand"], START["trick_of"], START["exposed"], NOMINATED) if key in keys]
        if privileged:
            shown += [len(keys) + holder for holder in range(seats - 1)]
            for at, row in enumerate(columns):
                row += [encoding.n_features + holder * encoding.cards + at for holder in range(seats - 1)]
        rows = {name: range(START[name] + SEAT_BYTES, START[name] + 2 * SEAT_BYTES) for name in OF_SEAT}
        of_seat = [(name, byte - row.start, value) for name, row in rows.items() for byte, value in place_of if byte in row]
        of_seat.sort()
        by_seat = [
            [place_of[START[name] + SEAT_BYTES * seat + byte, value] for name, byte, value in of_seat]
            for seat in range(1, seats)
        ]
        numbers, calls = START["numbers"], [(START["calls"] + k, COPY) for k in range(AUCTION_CALLS)]
        return cls(
            np.array(cards, np.int64),
            tuple(keys),
            np.array(columns, np.int64),
            np.array(shown, np.int64),
            keys.index(START["trick_of"]),
            tuple(of_seat),
            np.array(by_seat, np.int64),
            np.array([place_of[START["seats"] + SEAT_BYTES * seat + 2, COPY] for seat in range(1, seats)], np.int64),
            np.array([place_of[call] for call in calls if call in place_of], np.int64),
            np.array([place_of[numbers + 7, place] for place in range(seats)], np.int64),
            place_of[numbers + 6, COPY],
            place_of[numbers + 2, COPY],
        )
