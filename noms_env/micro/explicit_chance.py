"""One deal with explicit chance: the caller chooses the outcome of each chance event, as game trees need it.

| stage | actor | action |
|---|---|---|
| `DEALING` | chance | the seat that gets the next card of the deck (`Rules.deck`); the number of seats for the stock |
| `TURNING_UP` | chance | the card turned up for trump, by its index in the deck |
| `DRAWING_TRUMP` | chance | the trump suit (`trump_mode="random"`) |
| `PLAYING` | a seat | see `noms_env.core.actions` |
| `DRAWING_LOT` | chance | the seat that is sniped, of those with the most tricks (`tie="cut"`) |
| `OVER` | none | |

Chance goes through the deck in order and draws the place of each card, with probability proportional to the cards that the
place still needs. So all layouts are equally likely, and each has exactly one history. Six cards, two for each of two seats,
make 90 deals; drawing card by card would make 6! = 720. An event with a single outcome in every layout is skipped, for example
the place of the last card. So the number of chance events before the first decision reveals nothing about the cards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from noms_env.belief.sampling import order_deck
from noms_env.core.actions import brief
from noms_env.core.cards import cards_in
from noms_env.core.tricks import name_trump
from noms_env.engine.deal import hand_out
from noms_env.engine.legal import find_legal
from noms_env.engine.row_kernels import IS_SCORED
from noms_env.micro.deal_setup import DealSetup
from noms_env.record.replaying import move_lot
from noms_env.table import Table

DEALING, TURNING_UP, DRAWING_TRUMP, PLAYING, DRAWING_LOT, OVER = range(6)

CHANCE, NOBODY = -1, -4
"""Values of `actor` if no seat acts: OpenSpiel's numbers (`pyspiel.PlayerId`)."""


class ExplicitChanceDeal:
    """A deal with explicit chance, from the first card dealt to the points.

    Attributes:
        setup: the setup of the game.
        stage: the stage, see the module.
        actor: the seat to act, `CHANCE` or `NOBODY`.
        table: the table, read-only; None until the cards are dealt.
        dealt: the cards that each seat was dealt, as sets; empty until the cards are dealt.
        chance_history: outcomes of the chance events, in order.
        decisions: seat and action of each decision, in order.
    """

    def __init__(self, setup: DealSetup) -> None:
        self.setup = setup
        self.stage, self.actor = DEALING, CHANCE
        self.table: Table | None = None
        self.dealt: tuple[int, ...] = ()
        self.chance_history: list[int] = []
        self.decisions: list[tuple[int, int]] = []
        self._places: list[int] = []
        self._missing = list(setup.capacities)
        self._turn_up, self._trump = -1, -1
        self._skip_certain()

    def copy(self) -> ExplicitChanceDeal:
        """Return an independent copy."""
        twin = object.__new__(ExplicitChanceDeal)
        vars(twin).update(vars(self))
        twin.table = None if self.table is None else self.table.copy()
        twin.chance_history, twin.decisions = self.chance_history.copy(), self.decisions.copy()
        twin._places, twin._missing = self._places.copy(), self._missing.copy()
        return twin

    def __deepcopy__(self, _memo: dict[int, Any]) -> ExplicitChanceDeal:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the history; unpickling replays it."""
        return replay_history, (self.setup, tuple(self.chance_history), tuple(action for _, action in self.decisions))

    @property
    def next_card(self) -> int:
        """The card that chance deals next, in the stage `DEALING`."""
        return self.setup.deck[len(self._places)]

    def outcomes(self) -> list[tuple[int, float]]:
        """Return the outcomes of the current chance event, ascending, with their probabilities."""
        weights = self._weights()
        total = sum(weights.values())
        return [(outcome, weight / total) for outcome, weight in weights.items()]

    def apply(self, choice: int) -> None:
        """Apply an outcome of the current chance event, or an action of the seat to act."""
        if self.actor == CHANCE:
            self.apply_outcome(choice)
        else:
            self.apply_action(choice)

    def apply_outcome(self, outcome: int) -> None:
        """Apply an outcome of the current chance event.

        Raises:
            ValueError: the event does not have this outcome.
        """
        weights = self._weights()
        if outcome not in weights:
            raise ValueError(f"the chance event has the outcomes {list(weights)}, not {brief(outcome)}")
        self.chance_history.append(outcome)
        self._apply(outcome)
        self._skip_certain()

    def _weights(self) -> dict[int, int]:
        """Return the outcomes of the current chance event with their weights; empty if chance does not act."""
        if self.stage == DEALING:
            return {place: missing for place, missing in enumerate(self._missing) if missing > 0}
        if self.stage == TURNING_UP:
            return {k: 1 for k, place in enumerate(self._places) if place == self.setup.turn_up_from}
        if self.stage == DRAWING_TRUMP:
            return dict.fromkeys(range(self.setup.random_trumps), 1)
        return dict.fromkeys(self._tied_seats(), 1) if self.stage == DRAWING_LOT else {}

    def _skip_certain(self) -> None:
        """Apply events until one has several outcomes in some layout."""
        while self.stage not in (PLAYING, OVER):
            weights = self._weights()
            if len(weights) > 1 or (self.stage == DEALING and len(self._places) < len(self.setup.deck) - 1):
                return
            self._apply(next(iter(weights)))

    def _apply(self, outcome: int) -> None:
        """Apply an outcome; after the last event of a stage, enter the next stage."""
        if self.stage == DEALING:
            self._places.append(outcome)
            self._missing[outcome] -= 1
            if len(self._places) < len(self.setup.deck):
                return
        elif self.stage == TURNING_UP:
            self._turn_up = self.setup.deck[outcome]
        elif self.stage == DRAWING_TRUMP:
            self._trump = outcome
        else:
            move_lot(self.dealt_table, outcome)
            self.stage, self.actor = OVER, NOBODY
            return
        if self.stage < TURNING_UP and self.setup.turn_up_from is not None:
            self.stage = TURNING_UP
        elif self.stage < DRAWING_TRUMP and self.setup.random_trumps > 0:
            self.stage = DRAWING_TRUMP
        else:
            self._set_up_table()

    def _set_up_table(self) -> None:
        table = self.setup.table.copy()
        row = table.row
        hands = [0] * len(self.setup.capacities)
        for card, place in zip(self.setup.deck, self._places, strict=True):
            hands[place] |= 1 << card
        self.dealt = tuple(hands[:-1])
        row.hands[: table.seats] = self.dealt
        row.stock, row.turn_up = hands[-1], self._turn_up
        if self.setup.has_excuse:
            row.stock, row.turn_up = 0, cards_in(hands[-1])[0]
        order_deck(row)
        hand_out(row)
        if self._trump >= 0:
            name_trump(row, self._trump)
            find_legal(row)
        self.table, self.stage, self.actor = table, PLAYING, int(row.seat)

    def _tied_seats(self) -> list[int]:
        """Return the seats that draw lots: those with the same number of tricks as the seat that the engine sniped."""
        row = self.dealt_table.row
        [drawn] = cards_in(row.sniped)
        return [seat for seat in range(self.setup.rules.seats) if row.tricks[seat] == row.tricks[drawn]]

    @property
    def dealt_table(self) -> Table:
        """The table after the deal; raises ValueError before it."""
        if self.table is None:
            raise ValueError("the cards are not dealt yet")
        return self.table

    def apply_action(self, action: int) -> None:
        """Apply an action of the seat to act.

        Raises:
            IllegalActionError: the action is illegal; the deal is unchanged.
            ValueError: no seat is to act.
        """
        table = self.dealt_table
        status = table.step(action)
        self.decisions.append((self.actor, action))
        if not status & IS_SCORED:
            self.actor = status & 255
        elif self.setup.rules.options.get("tie") == "cut" and len(cards_in(table.row.sniped)) == 1:
            self.stage, self.actor = DRAWING_LOT, CHANCE
            self._skip_certain()
        else:
            self.stage, self.actor = OVER, NOBODY

    def points(self) -> list[float]:
        """Return the points of each seat; zeros until the deal is over."""
        if self.stage != OVER:
            return [0.0] * self.setup.rules.seats
        points: list[float] = self.dealt_table.row.points[: self.setup.rules.seats].tolist()
        return points


def replay_history(setup: DealSetup, chance_history: Sequence[int], actions: Sequence[int]) -> ExplicitChanceDeal:
    """Return the deal after some chance outcomes and actions."""
    deal = ExplicitChanceDeal(setup)
    outcomes, decisions = iter(chance_history), iter(actions)
    while (choice := next(outcomes if deal.actor == CHANCE else decisions, None)) is not None:
        deal.apply(choice)
    return deal
