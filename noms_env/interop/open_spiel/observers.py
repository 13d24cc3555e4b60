"""Information states and observations of a seat, as tensors and as text."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from noms_env.core.actions import NUM_ACTIONS, PHASES
from noms_env.core.cards import CARD_WORDS, NO_TRUMP, cards_in
from noms_env.micro.deal_setup import DealSetup
from noms_env.micro.explicit_chance import PLAYING, ExplicitChanceDeal
from noms_env.observation.layout import OBSERVATION_SIZE
from noms_env.observation.writer import exposed_cards
from noms_env.show.lines import lines_of
from noms_env.show.view import look
from noms_env.variants.dispatch import excuse_is_shown, knows_stock


class StateWithDeal(Protocol):
    """The part of a `DealState` that observers read."""

    deal: ExplicitChanceDeal


class Observer:
    """Base class of observers, in OpenSpiel's form: the tensor of one seat's view of a state.

    Attributes:
        tensor: float32, flat: all sections in order.
        dict: the sections by name, as views of the tensor in their own shapes.
    """

    def __init__(self, sections: dict[str, tuple[int, ...]]) -> None:
        sizes = [int(np.prod(shape)) for shape in sections.values()]
        self.tensor = np.zeros(sum(sizes), np.float32)
        parts = np.split(self.tensor, np.cumsum(sizes)[:-1])
        self.dict = {name: part.reshape(shape) for (name, shape), part in zip(sections.items(), parts, strict=True)}


class InformationStateObserver(Observer):
    """Observer of the information state: all information that a seat has received in the deal.

    | section | shape | 1 for |
    |---|---|---|
    | `seat` | (seats,) | the seat itself |
    | `hand` | (cards,) | each card dealt to it, by position in the deck |
    | `turn_up` | (cards,) | the card turned up |
    | `trump` | (8,) | the trump: six suits, no trump, unsaid |
    | `to_act` | (seats,) | the seat to act |
    | `phase` | (5,) | the phase (`actions.PHASES`) |
    | `open` | (cards,) | each unplayed card whose holder is public: an open hand, refused nominations |
    | `stock` | (cards,) | each undealt card, for a declarer who has seen them (`stock_nomination="illegal"`) |
    | `excuse` | (seats,) | the seat that has shown the Excuse |
    | `holder` | (seats + 1,) | the seat that was dealt the nominated card, last the stock; only with `open_partner` |
    | `decisions` | (maximum of decisions, seats + 150) | the seat and the action of each decision, in order |
    """

    def __init__(self, setup: DealSetup) -> None:
        seats, cards = setup.rules.seats, len(setup.deck)
        self._position_of = {card: position for position, card in enumerate(setup.deck)}
        super().__init__(
            {
                "seat": (seats,),
                "hand": (cards,),
                "turn_up": (cards,),
                "trump": (NO_TRUMP + 2,),
                "to_act": (seats,),
                "phase": (len(PHASES),),
                "open": (cards,),
                "stock": (cards,),
                "excuse": (seats,),
                **({"holder": (seats + 1,)} if setup.has_open_partner else {}),
                "decisions": (setup.max_decisions(), seats + NUM_ACTIONS),
            }
        )

    def set_from(self, state: StateWithDeal, player: int) -> None:
        """Write the tensor; until the cards are dealt, all except `seat` is 0."""
        self.tensor.fill(0)
        self.dict["seat"][player] = 1
        deal = state.deal
        if deal.table is None:
            return
        row, setup = deal.table.row, deal.setup
        seats, turn_up, trump = setup.rules.seats, int(row["turn_up"]), int(row["trump"])
        self._mark("hand", deal.dealt[player])
        if turn_up >= 0:
            self._mark("turn_up", 1 << turn_up)
        if trump >= 0:
            self.dict["trump"][trump] = 1
        if deal.stage == PLAYING:
            self.dict["to_act"][deal.actor] = 1
            self.dict["phase"][row["phase"]] = 1
        if setup.has_open_cards:
            self._mark("open", exposed_cards(row))
        if setup.has_open_stock and knows_stock(row, player):
            self._mark("stock", row["stock"])
        if setup.has_excuse and excuse_is_shown(row):
            self.dict["excuse"][row["excuse"]] = 1
        if setup.has_open_partner and row["nominated"] >= 0:
            self.dict["holder"][row["revealed"]] = 1  # -1, the last place, if the card is in the stock
        decisions = self.dict["decisions"]
        for number, (seat, action) in enumerate(deal.decisions):
            decisions[number, seat] = decisions[number, seats + action] = 1

    def _mark(self, section: str, cards: int) -> None:
        self.dict[section][[self._position_of[card] for card in cards_in(cards)]] = 1

    def string_from(self, state: StateWithDeal, player: int) -> str:
        """Return the information state as text: two states have equal texts if and only if they have equal tensors."""
        deal = state.deal
        if deal.table is None:
            return f"seat {player}"
        table, deck_kind = deal.table, deal.table.deck_kind
        known = [f"seat {player}", f"hand {words_of(deal.dealt[player], deck_kind)}", *public_words(deal)]
        if deal.setup.has_open_stock and knows_stock(table.row, player):
            known.append(f"stock {words_of(table.row.stock, deck_kind)}")
        return " ".join(known)


class ObservationObserver(Observer):
    """Observer of the other environments' observation: the bytes of `observation.layout` as float32 (OBSERVATION_SIZE,).

    All zeros until the cards are dealt.
    """

    def __init__(self) -> None:
        super().__init__({"observation": (OBSERVATION_SIZE,)})

    def set_from(self, state: StateWithDeal, player: int) -> None:
        """Write the tensor."""
        table = state.deal.table
        self.tensor[:] = 0 if table is None else table.view(player)[0]

    def string_from(self, state: StateWithDeal, player: int) -> str:
        """Return the seat's view of the table as text, as in `noms watch`."""
        table = state.deal.table
        return f"seat {player}" if table is None else "\n".join(lines_of(look(table, player)))


def public_words(deal: ExplicitChanceDeal) -> list[str]:
    """Return the public events since the cards were dealt, as words."""
    table, setup = deal.dealt_table, deal.setup
    row, deck_kind = table.row, table.deck_kind
    words = [f"{seat}:{setup.action_texts[action]}" for seat, action in deal.decisions]
    if setup.random_trumps:
        words.insert(0, f"trump {table.trump_word()}")
    if setup.turn_up_from is not None or setup.has_excuse:
        words.insert(0, f"up {CARD_WORDS[deck_kind][row['turn_up']]}")
    if setup.has_excuse and excuse_is_shown(row):
        words.append(f"excuse {row['excuse']}")
    if setup.has_open_partner and row["nominated"] >= 0:
        words.append(f"holder {row['revealed'] if row['revealed'] >= 0 else 'stock'}")
    if setup.has_open_cards and row["exposed"] >= 0:
        words.append(f"open {words_of(row['hands'][row['exposed']], deck_kind)}")
    return [*words, f"{PHASES[row['phase']]} {deal.actor}" if deal.stage == PLAYING else "over"]


def words_of(cards: int, deck_kind: int) -> str:
    """Return the words of a set of cards, joined by commas."""
    return ",".join(CARD_WORDS[deck_kind][card] for card in cards_in(cards))
