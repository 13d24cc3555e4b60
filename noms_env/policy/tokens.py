"""The tokens of a network with attention: which features say what of a card, of a seat, of a call.

A token stands for each of these, as far as an observation shows it; what is not there has none.

1. *The deal*: all features; what the network says of the decision as a whole is read here.
2. *Cards* in the own hand, in the trick and played before, lying open or nominated: who played it, in which trick, what is
   counted at it. A critic that sees hidden cards has a token for each card that a seat holds.
3. *The other seats*: card on the table, latest call, tricks taken and wanted, voids, marks.
4. *Calls* of an auction in their order (games with one round of calls have none: the seats say it).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noms_env.core.actions import NUM_CALLS
from noms_env.observation.features import AUCTION_CALLS, COPY, IDENTITY
from noms_env.observation.layout import CARD_BYTES, SEAT_BYTES, START
from noms_env.policy.encoding import CARDS, Encoding
from noms_env.policy.extra_features import SECTIONS, section_start

AGES = 20
"""Ages of a card: 0 not played, 1 in the trick, 2 in the trick before, and so on."""
CALL_KINDS = NUM_CALLS + 1
NOMINATED = -1
"""The key of the feature which says that a card is nominated."""
OF_SEAT = ("on_table", "call_of", "tricks", "seats")


@dataclass(frozen=True)
class Tokens:
    """Where the features of each token stand.

    Attributes:
        numbers: int64, shape (cards,): which cards they are.
        card_keys: where the section of each feature of a card begins in an extended observation, or `NOMINATED`.
        cards: int64, shape (cards, k): the features of each card.
        shown: int64: which of the k say that a card has a token if they are not 0; the first is the own hand.
        trick_of: which of the k is 1 + the number of the trick.
        seat_keys: what each feature of a seat looks at: section, byte of its row, value.
        seats: int64, shape (other seats, m): the features of each other seat, from the left neighbour on.
        there: int64, shape (other seats,): the feature that is 0 where there is no such seat.
        calls: int64, shape (n,): the calls in their order; n is 0 where there is no auction.
        place: int64, shape (seats,): own place from eldest, one-hot.
        n_seats, tricks: the features that hold the number of seats, and of complete tricks.
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
        """The arrays, by name."""
        return {name: getattr(self, name) for name in ("numbers", "cards", "shown", "seats", "there", "calls", "place")}

    @property
    def tables(self) -> tuple[str, ...]:
        """Those of `attention.TABLES` that there are."""
        return ("own", "age", "who", *(("call", "position") if len(self.calls) else ()))

    @classmethod
    def of(cls, encoding: Encoding, privileged: bool = False) -> Tokens:
        """The tokens of what an encoding gives; a privileged network sees the hidden features behind it."""
        pairs = zip(encoding.index[IDENTITY].tolist(), encoding.value[IDENTITY].tolist(), strict=True)
        place_of = {pair: k for k, pair in enumerate(pairs)}
        cards = [int(choice) for choice in encoding.choices if choice < CARDS]
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
