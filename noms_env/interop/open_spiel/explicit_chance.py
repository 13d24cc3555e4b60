"""One deal whose chance events are chosen from outside, one at a time, as trees of games want it.

| stage | who acts | actions |
|---|---|---|
| `DEALING` | chance | of the next card of the deck (`Rules.deck`): the seat that gets it; the number of seats is the stock |
| `TURNING_UP` | chance | the card turned up for trump, by its place in the deck |
| `DRAWING_TRUMP` | chance | the trump suit (`trump_mode="random"`) |
| `PLAYING` | a seat | as everywhere (`noms_env.core.actions`) |
| `DRAWING_LOT` | chance | which of the seats with the most tricks is sniped (`tie="cut"`) |
| `OVER` | nobody | |

Chance takes the cards in the order of the deck and draws where each goes, with the probability that a place has among the
places left. So all layouts are equally likely, and each comes about in one way only: six cards, two for each of two seats, make
90 deals, where cards drawn one by one would make 6! = 720. An event that can only come out one way, whatever was dealt, is
skipped: so the last card. The number of events before the first decision thus tells nothing of the cards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from noms_env.belief.record import dealt_hand, order_deck
from noms_env.core.actions import NOMINATE, NUM_ACTIONS, PASS, RANK, SUIT, action_word
from noms_env.core.cards import cards_in
from noms_env.core.state import NONESUCH
from noms_env.core.tricks import name_trump
from noms_env.engine.deal import hand_out
from noms_env.engine.legal import find_legal
from noms_env.engine.row_kernels import IS_SCORED
from noms_env.record.replaying import score_again
from noms_env.table import Table
from noms_env.variants import RulesError

DEALING, TURNING_UP, DRAWING_TRUMP, PLAYING, DRAWING_LOT, OVER = range(6)

CHANCE, NOBODY = -1, -4
"""Who acts where no seat does; OpenSpiel's numbers (`pyspiel.PlayerId`)."""


class DealKind:
    """What is the same in all deals of a game.

    Attributes:
        rules: the variant with every choice made.
        dealer: seat.
        table: a table in the midst of some such deal; deals are dealt into copies of it.
        deck: numbers of the cards, ascending.
        rooms: cards that go to each seat, and to the stock behind them (nonesuch: the card turned up).
        turn_up_from: the place of which a card is drawn to be turned up; None for no such draw.
        drawn_trumps: number of suits of which the trump is drawn, 0 for no such draw.
        has_excuse: the Excuse may be shown (nonesuch).
        has_open_cards: the places of some unplayed cards may become known to all: an open hand, refused nominations.
        has_open_stock: a declarer may come to know the stock (`stock_nomination="illegal"`).
        texts: per action, its word; with its phase, where the word alone could mean something else.
    """

    def __init__(
        self,
        variant: str,
        seats: int | None = None,
        options: dict[str, Any] | None = None,
        dealer: int | None = None,
        hand_size: int | None = None,
        deal: int | None = None,
    ) -> None:
        """Take the rules.

        Args:
            variant: name of the game.
            seats: number of seats, the variant's default when None.
            options: options of the variant that differ from their defaults.
            dealer: seat; the last one when None, so that seat 0 is eldest.
            hand_size: of the exact-bid games, a hand size of the schedule; the largest when None.
            deal: of the exact-bid games, the number of the deal in the schedule, which fixes hand size and trump; the first
                one with that hand size when None.

        Raises:
            ValueError: one of these is not allowed (`RulesError`, `PositionError`).
        """
        self._made_of = (variant, seats, options, dealer, hand_size, deal)
        self.table = Table(variant, seats, options, episode="deal")
        self.rules = self.table.rules
        self.dealer = self.rules.seats - 1 if dealer is None else dealer
        self.table.start(0, dealer=self.dealer, deal=self._place_in_schedule(hand_size, deal))
        self.deck = tuple(self.rules.deck)
        in_hand = int(self.table.row.hand_size)
        self.rooms = (*[in_hand] * self.rules.seats, len(self.deck) - in_hand * self.rules.seats)
        mode = self.rules.options.get("trump_mode")
        self.turn_up_from = self._place_turned_up_from() if mode == "turnup" else None
        self.drawn_trumps = int(self.rules.options["suits"]) if mode == "random" else 0
        refusal = self.rules.options.get("stock_nomination")
        self.has_excuse = variant == "nonesuch"
        self.has_open_cards = variant == "noms" or refusal == "redraw"
        self.has_open_stock = refusal == "illegal"
        self.texts = tuple(_action_text(action, self.table.deck_kind) for action in range(NUM_ACTIONS))

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle: made again."""
        return DealKind, self._made_of

    def _place_in_schedule(self, hand_size: int | None, deal: int | None) -> int | None:
        """The number of the deal; None where the variant has no schedule."""
        schedule = self.rules.schedule
        if not schedule or deal is not None:
            return deal
        wanted = max(schedule) if hand_size is None else hand_size
        if wanted not in schedule:
            raise RulesError(f"hand_size must be one of the schedule's, {min(schedule)} to {max(schedule)}, not {hand_size!r}")
        return schedule.index(wanted)

    def outcomes_of(self, layout: Layout) -> list[int]:
        """The outcomes of the chance events before the first decision, in order, that make a layout."""
        places = list(layout.places[:-1])
        if self.turn_up_from is not None and self.rooms[self.turn_up_from] > 1:
            places.append(layout.turn_up)
        return [*places, layout.trump] if self.drawn_trumps > 1 else places

    def _place_turned_up_from(self) -> int | None:
        """See `rules.trumps.turn_up`."""
        if self.rooms[-1] > 0:
            return self.rules.seats
        dealer_last = self.rules.options.get("turnup_full_deal", "dealer_last") == "dealer_last"
        return self.dealer if dealer_last else None


def _action_text(action: int, deck_kind: int) -> str:
    """See `DealKind.texts`; empty for an action that stands for nothing with this deck."""
    try:
        word = action_word(action, deck_kind)
    except ValueError:
        return ""
    if SUIT <= action < RANK:
        return f"suit {word}"
    return f"nominate {word}" if RANK <= action < PASS or action >= NOMINATE else word


class Layout(NamedTuple):
    """How the cards of a deal lie.

    Attributes:
        places: where each card of the deck went: a seat, or the number of seats for the stock.
        turn_up: place in the deck of the card turned up, -1 for none.
        trump: as the table holds it.
    """

    places: tuple[int, ...]
    turn_up: int
    trump: int

    @classmethod
    def of(cls, kind: DealKind, row: np.record) -> Layout:
        """The layout of a table (`state.TABLE`) with a deal of this kind."""
        place_of = dict.fromkeys(kind.deck, kind.rules.seats)
        for seat in range(kind.rules.seats):
            place_of.update(dict.fromkeys(cards_in(dealt_hand(row, seat)), seat))
        turn_up = kind.deck.index(int(row.turn_up)) if row.turn_up >= 0 else -1
        return cls(tuple(place_of[card] for card in kind.deck), turn_up, int(row.trump))


class ExplicitChanceDeal:
    """A deal on its way from the first card dealt to its points.

    Attributes:
        kind: of the deal.
        stage: see the module.
        actor: seat to act, `CHANCE` or `NOBODY`.
        table: the table once the cards are dealt; None before. To be looked at only.
        dealt: the set of cards that each seat was dealt; empty before.
        happened: outcomes of the chance events, in order.
        decisions: seat and action of each decision, in order.
    """

    def __init__(self, kind: DealKind) -> None:
        """Begin with an undealt deck."""
        self.kind = kind
        self.stage, self.actor = DEALING, CHANCE
        self.table: Table | None = None
        self.dealt: tuple[int, ...] = ()
        self.happened: list[int] = []
        self.decisions: list[tuple[int, int]] = []
        self._places: list[int] = []
        self._rooms = list(kind.rooms)
        self._turn_up, self._trump = -1, -1
        self._skip_certain()

    def copy(self) -> ExplicitChanceDeal:
        """An independent copy."""
        twin = object.__new__(ExplicitChanceDeal)
        twin.kind, twin.stage, twin.actor = self.kind, self.stage, self.actor
        twin.table = None if self.table is None else self.table.copy()
        twin.dealt = self.dealt
        twin.happened, twin.decisions = self.happened.copy(), self.decisions.copy()
        twin._places, twin._rooms = self._places.copy(), self._rooms.copy()
        twin._turn_up, twin._trump = self._turn_up, self._trump
        return twin

    def __deepcopy__(self, _memo: dict[int, Any]) -> ExplicitChanceDeal:
        """The same as `copy`."""
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle: played again."""
        return played, (self.kind, tuple(self.happened), tuple(action for _, action in self.decisions))

    # ------------------------------------------------------------------------------------------------------- chance

    @property
    def next_card(self) -> int:
        """The card that chance deals next, in the stage `DEALING`."""
        return self.kind.deck[len(self._places)]

    def outcomes(self) -> list[tuple[int, float]]:
        """The outcomes of the present chance event with their probabilities, ascending."""
        weights = self._weights()
        total = sum(weights.values())
        return [(outcome, weight / total) for outcome, weight in weights.items()]

    def apply_outcome(self, outcome: int) -> None:
        """Let the present chance event come out so.

        Raises:
            ValueError: it has no such outcome.
        """
        weights = self._weights()
        if outcome not in weights:
            raise ValueError(f"the chance event has the outcomes {list(weights)}, not {outcome!r}")
        self.happened.append(outcome)
        self._come_out(outcome)
        self._skip_certain()

    def _weights(self) -> dict[int, int]:
        """The outcomes of the present chance event with weights; none where a seat acts or nobody."""
        if self.stage == DEALING:
            return {place: room for place, room in enumerate(self._rooms) if room > 0}
        if self.stage == TURNING_UP:
            return {k: 1 for k, place in enumerate(self._places) if place == self.kind.turn_up_from}
        if self.stage == DRAWING_TRUMP:
            return dict.fromkeys(range(self.kind.drawn_trumps), 1)
        return dict.fromkeys(self._seats_tied(), 1) if self.stage == DRAWING_LOT else {}

    def _skip_certain(self) -> None:
        """Let events happen that have only one outcome, whatever the layout."""
        while self.stage not in (PLAYING, OVER):
            weights = self._weights()
            if len(weights) > 1 or (self.stage == DEALING and len(self._places) < len(self.kind.deck) - 1):
                return
            self._come_out(next(iter(weights)))

    def _come_out(self, outcome: int) -> None:
        """A chance event has this outcome; the next stage, if it was the last one of its stage."""
        if self.stage == DEALING:
            self._places.append(outcome)
            self._rooms[outcome] -= 1
            if len(self._places) < len(self.kind.deck):
                return
        elif self.stage == TURNING_UP:
            self._turn_up = self.kind.deck[outcome]
        elif self.stage == DRAWING_TRUMP:
            self._trump = outcome
        else:
            self._draw_lot(outcome)
            self.stage, self.actor = OVER, NOBODY
            return
        if self.stage < TURNING_UP and self.kind.turn_up_from is not None:
            self.stage = TURNING_UP
        elif self.stage < DRAWING_TRUMP and self.kind.drawn_trumps > 0:
            self.stage = DRAWING_TRUMP
        else:
            self._open()

    def _open(self) -> None:
        """The cards are dealt: set up the table."""
        kind = self.kind
        table = kind.table.copy()
        row = table.row
        hands = [0] * len(kind.rooms)
        for card, place in zip(kind.deck, self._places, strict=True):
            hands[place] |= 1 << card
        self.dealt = tuple(hands[:-1])
        row.hands[: table.seats] = self.dealt
        row.stock, row.turn_up = hands[-1], self._turn_up
        if row.variant == NONESUCH:
            row.stock, row.turn_up = 0, cards_in(hands[-1])[0]
        order_deck(row)
        hand_out(row)
        if self._trump >= 0:
            name_trump(row, self._trump)
            find_legal(row)
        self.table, self.stage, self.actor = table, PLAYING, int(row.seat)

    def _seats_tied(self) -> list[int]:
        """The seats among which the lot falls: those with as many tricks as the one that the engine sniped."""
        tricks, drawn = self.begun.row.tricks, self._sniped()
        return [seat for seat in range(self.kind.rules.seats) if tricks[seat] == tricks[drawn]]

    def _sniped(self) -> int:
        """The seat that the engine sniped."""
        return cards_in(self.begun.row.sniped)[0]

    def _draw_lot(self, seat: int) -> None:
        """The lot falls on a seat: it changes places with the one that the engine sniped."""
        row, drawn = self.begun.row, self._sniped()
        points = row.points[: self.kind.rules.seats].copy()
        points[[seat, drawn]] = points[[drawn, seat]]
        row.sniped = 1 << seat
        score_again(self.begun, points)

    # ----------------------------------------------------------------------------------------------------- decisions

    @property
    def begun(self) -> Table:
        """The table once the cards are dealt.

        Raises:
            ValueError: they are not.
        """
        if self.table is None:
            raise ValueError("the cards are not dealt yet")
        return self.table

    def decide(self, action: int) -> None:
        """The seat to act takes an action.

        Raises:
            IllegalActionError: it is not legal; the deal is unharmed.
            ValueError: no seat is to act.
        """
        table = self.begun
        status = table.step(action)
        self.decisions.append((self.actor, action))
        if not status & IS_SCORED:
            self.actor = status & 255
        elif self.kind.rules.options.get("tie") == "cut" and len(cards_in(table.row.sniped)) == 1:
            self.stage, self.actor = DRAWING_LOT, CHANCE
            self._skip_certain()
        else:
            self.stage, self.actor = OVER, NOBODY

    def points(self) -> list[float]:
        """The points of each seat; zeros before the end."""
        if self.stage != OVER:
            return [0.0] * self.kind.rules.seats
        points: list[float] = self.begun.row.points[: self.kind.rules.seats].tolist()
        return points


def played(kind: DealKind, happened: Sequence[int], actions: Sequence[int]) -> ExplicitChanceDeal:
    """A deal that has come out so, and in which the seats have acted so."""
    deal = ExplicitChanceDeal(kind)
    events = iter(happened)
    while deal.actor == CHANCE and (outcome := next(events, None)) is not None:
        deal.apply_outcome(outcome)
    for action in actions:
        deal.decide(action)
    if deal.actor == CHANCE and (outcome := next(events, None)) is not None:
        deal.apply_outcome(outcome)
    return deal
