"""The setup of a game with explicit chance, which all its deals share, and the layout of the cards of one deal."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from noms_env.core.actions import NOMINATE, NUM_ACTIONS, PASS, RANK, SUIT, action_word, brief, span
from noms_env.core.cards import DECKTET, cards_in
from noms_env.table import Table
from noms_env.variants import RulesError
from noms_env.variants.dispatch import dealt_hand


class DealSetup:
    """The properties that all deals of a game share.

    Attributes:
        rules: the variant with every option set.
        dealer: seat.
        table: a table with a deal of this setup; deals are made in copies of it.
        deck: card numbers, ascending.
        capacities: number of cards of each seat, then of the stock (with the Decktet the card turned up).
        turn_up_from: the place whose card is turned up: a seat, or the number of seats for the stock; None if chance turns
            up no card.
        random_trumps: number of suits from which trump is drawn; 0 if it is not drawn.
        has_excuse: True if the Excuse can be shown.
        has_open_cards: True if all seats can learn the place of unplayed cards (an open hand, refused nominations).
        has_open_stock: True if the declarer can learn the stock (`stock_nomination="illegal"`).
        has_open_partner: True if all seats learn the place of the nominated card (`open_partner`).
        action_texts: the word of each action, length NUM_ACTIONS; actions that share a word also name the phase.
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
        """Set up the rules; an argument that is not allowed raises `RulesError` or `PositionError`.

        Args:
            variant: name of the game.
            seats: None for the variant's default.
            options: options of the variant that differ from their defaults.
            dealer: None for the last seat, so that seat 0 is eldest.
            hand_size: exact-bid games: a hand size of the schedule; None for the largest.
            deal: exact-bid games: index of the deal in the schedule, which fixes hand size and trump; None for the first deal
                with `hand_size`.
        """
        self._arguments = (variant, seats, options, dealer, hand_size, deal)
        self.table = Table(variant, seats, options, episode="deal")
        self.rules = self.table.rules
        self.dealer = self.rules.seats - 1 if dealer is None else dealer
        self.table.start(0, dealer=self.dealer, deal=self._place_in_schedule(hand_size, deal))
        self.deck = tuple(self.rules.deck)
        in_hand = int(self.table.row.deal_size)
        self.capacities = (*[in_hand] * self.rules.seats, len(self.deck) - in_hand * self.rules.seats)
        mode = self.rules.options.get("trump_mode")
        self.turn_up_from = self._place_turned_up_from() if mode == "turnup" else None
        self.random_trumps = int(self.rules.options["suits"]) if mode == "random" else 0
        refusal = self.rules.options.get("stock_nomination")
        self.has_excuse = self.rules.variant.deck_kind == DECKTET
        self.has_open_cards = self.rules.variant.opens_hand or refusal == "redraw"
        self.has_open_stock = refusal == "illegal"
        self.has_open_partner = bool(self.rules.options.get("open_partner"))
        self.action_texts = tuple(_action_text(action, self.table.deck_kind) for action in range(NUM_ACTIONS))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the arguments."""
        return DealSetup, self._arguments

    def max_decisions(self) -> int:
        """Return an upper bound on the decisions in a deal."""
        rules = self.rules
        return rules.variant.max_decisions(rules.options, rules.seats, self.capacities[0], self.capacities[-1])

    def _place_in_schedule(self, hand_size: int | None, deal: int | None) -> int | None:
        schedule = self.rules.schedule
        if not schedule or deal is not None:
            return deal
        wanted = max(schedule) if hand_size is None else hand_size
        if wanted not in schedule:
            sizes = span(min(schedule), max(schedule))
            raise RulesError(f"hand_size must be one of the schedule's, {sizes}, not {brief(hand_size)}")
        return schedule.index(wanted)

    def _place_turned_up_from(self) -> int | None:
        """Return `turn_up_from`, as in `variants.trumps.turn_up`."""
        if self.capacities[-1] > 0:
            return self.rules.seats
        dealer_last = self.rules.options.get("turnup_full_deal", "dealer_last") == "dealer_last"
        return self.dealer if dealer_last else None


def _action_text(action: int, deck_kind: int) -> str:
    """Return an entry of `DealSetup.action_texts`; "" for an action that does not exist with this deck."""
    try:
        word = action_word(action, deck_kind)
    except ValueError:
        return ""
    if SUIT <= action < RANK:
        return f"suit {word}"
    return f"nominate {word}" if RANK <= action < PASS or action >= NOMINATE else word


class Layout(NamedTuple):
    """The layout of the cards of a deal.

    Attributes:
        places: the place of each card of the deck: a seat, or the number of seats for the stock.
        turn_up: index in the deck of the card turned up, -1 for none.
        trump: `trump` in the table's record.
    """

    places: tuple[int, ...]
    turn_up: int
    trump: int

    @classmethod
    def of(cls, setup: DealSetup, row: np.record) -> Layout:
        """Return the layout of a table (a `table_record.TABLE` record) with a deal of this setup."""
        place_of = dict.fromkeys(setup.deck, setup.rules.seats)
        for seat in range(setup.rules.seats):
            place_of.update(dict.fromkeys(cards_in(dealt_hand(row, seat)), seat))
        turn_up = setup.deck.index(int(row.turn_up)) if row.turn_up >= 0 else -1
        return cls(tuple(place_of[card] for card in setup.deck), turn_up, int(row.trump))

    def outcomes(self, setup: DealSetup) -> list[int]:
        """Return the chance outcomes before the first decision that produce this layout, in order."""
        places = list(self.places[:-1])
        if setup.turn_up_from is not None and setup.capacities[setup.turn_up_from] > 1:
            places.append(self.turn_up)
        return [*places, self.trump] if setup.random_trumps > 1 else places
