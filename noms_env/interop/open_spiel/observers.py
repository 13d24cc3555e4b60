"""What a seat knows of a state, as arrays and as text: information states and observations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noms_env.belief.knowledge import has_seen_stock
from noms_env.core.actions import NUM_ACTIONS, PHASES
from noms_env.core.cards import CARD_WORDS, NO_TRUMP, cards_in
from noms_env.interop.open_spiel.bounds import most_decisions
from noms_env.interop.open_spiel.explicit_chance import PLAYING, DealKind, ExplicitChanceDeal
from noms_env.observation.layout import OBSERVATION_SIZE
from noms_env.observation.writer import exposed_cards
from noms_env.show.lines import lines_of
from noms_env.show.view import look
from noms_env.variants.nonesuch import excuse_is_shown

if TYPE_CHECKING:
    from noms_env.interop.open_spiel.game import DealState


class Observer:
    """What writes a state as a seat sees it, in OpenSpiel's form.

    Attributes:
        tensor: float32, flat: all sections one behind the other.
        dict: the sections by name, views of the tensor in their own shapes.
    """

    def __init__(self, sections: dict[str, tuple[int, ...]]) -> None:
        """Make the tensor for sections of these shapes."""
        sizes = [int(np.prod(shape)) for shape in sections.values()]
        self.tensor = np.zeros(sum(sizes), np.float32)
        parts = np.split(self.tensor, np.cumsum(sizes)[:-1])
        self.dict = {name: part.reshape(shape) for (name, shape), part in zip(sections.items(), parts, strict=True)}

    def set_from(self, state: DealState, player: int) -> None:
        """Fill the tensor."""
        raise NotImplementedError

    def string_from(self, state: DealState, player: int) -> str:
        """The same as text."""
        raise NotImplementedError


class InformationStateObserver(Observer):
    """What a seat knows, with all that it has seen on the way.

    | section | shape | 1 for |
    |---|---|---|
    | `seat` | (seats,) | the seat itself |
    | `hand` | (cards,) | each card that it was dealt, by its place in the deck |
    | `turn_up` | (cards,) | the card turned up |
    | `trump` | (8,) | the trump: six suits, no trump, unsaid |
    | `to_act` | (seats,) | the seat to act |
    | `phase` | (5,) | the phase (`actions.PHASES`) |
    | `open` | (cards,) | each unplayed card whose place all know: an open hand, refused nominations |
    | `stock` | (cards,) | each undealt card, for a declarer who has seen them (`stock_nomination="illegal"`) |
    | `excuse` | (seats,) | the seat that has shown the Excuse |
    | `decisions` | (most decisions, seats + 150) | per decision, in order: who has done what |
    """

    def __init__(self, kind: DealKind) -> None:
        """Lay out the sections."""
        seats, cards = kind.rules.seats, len(kind.deck)
        self._place_of = {card: place for place, card in enumerate(kind.deck)}
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
                "decisions": (most_decisions(kind), seats + NUM_ACTIONS),
            }
        )

    def set_from(self, state: DealState, player: int) -> None:
        """Fill the tensor; but for the seat it is 0 while the cards are dealt."""
        self.tensor.fill(0)
        self.dict["seat"][player] = 1
        deal = state.deal
        if deal.table is None:
            return
        row, kind = deal.table.row, deal.kind
        seats, turn_up, trump = kind.rules.seats, int(row["turn_up"]), int(row["trump"])
        self._mark("hand", deal.dealt[player])
        if turn_up >= 0:
            self._mark("turn_up", 1 << turn_up)
        if trump >= 0:
            self.dict["trump"][trump] = 1
        if deal.stage == PLAYING:
            self.dict["to_act"][deal.actor] = 1
            self.dict["phase"][row["phase"]] = 1
        if kind.has_open_cards:
            self._mark("open", exposed_cards(row))
        if kind.has_open_stock and has_seen_stock(row, player):
            self._mark("stock", row["stock"])
        if kind.has_excuse and excuse_is_shown(row):
            self.dict["excuse"][row["excuse"]] = 1
        decisions = self.dict["decisions"]
        for place, (seat, action) in enumerate(deal.decisions):
            decisions[place, seat] = decisions[place, seats + action] = 1

    def _mark(self, section: str, cards: int) -> None:
        """Set the cards of a set to 1."""
        self.dict[section][[self._place_of[card] for card in cards_in(cards)]] = 1

    def string_from(self, state: DealState, player: int) -> str:
        """The same in words: two states have the same string where they have the same tensor, and only there."""
        deal = state.deal
        if deal.table is None:
            return f"seat {player}"
        table, kind = deal.table, deal.table.deck_kind
        known = [f"seat {player}", f"hand {words_of(deal.dealt[player], kind)}", *public_words(deal)]
        if deal.kind.has_open_stock and has_seen_stock(table.row, player):
            known.append(f"stock {words_of(table.row.stock, kind)}")
        return " ".join(known)


class ObservationObserver(Observer):
    """What a seat sees at this moment: the bytes of `noms_env.observation.layout` as they are, float32, shape (1024,).

    All zeros while the cards are dealt.
    """

    def __init__(self) -> None:
        """One section."""
        super().__init__({"observation": (OBSERVATION_SIZE,)})

    def set_from(self, state: DealState, player: int) -> None:
        """Fill the tensor."""
        table = state.deal.table
        self.tensor[:] = 0 if table is None else table.view(player)[0]

    def string_from(self, state: DealState, player: int) -> str:
        """The table in words, as `noms watch` shows it to the seat."""
        table = state.deal.table
        return f"seat {player}" if table is None else "\n".join(lines_of(look(table, player)))


def public_words(deal: ExplicitChanceDeal) -> list[str]:
    """What all seats have seen since the cards were dealt."""
    table = deal.table
    assert table is not None
    row, kind, deck_kind = table.row, deal.kind, deal.kind.table.deck_kind
    words = [f"{seat}:{kind.texts[action]}" for seat, action in deal.decisions]
    if kind.drawn_trumps:
        words.insert(0, f"trump {table.trump_word()}")
    if kind.turn_up_from is not None or kind.has_excuse:
        words.insert(0, f"up {CARD_WORDS[deck_kind][row['turn_up']]}")
    if kind.has_excuse and excuse_is_shown(row):
        words.append(f"excuse {row['excuse']}")
    if kind.has_open_cards and row["exposed"] >= 0:
        words.append(f"open {words_of(row['hands'][row['exposed']], deck_kind)}")
    return [*words, f"{PHASES[row['phase']]} {deal.actor}" if deal.stage == PLAYING else "over"]


def words_of(cards: int, deck_kind: int) -> str:
    """The words of a set of cards."""
    return ",".join(CARD_WORDS[deck_kind][card] for card in cards_in(cards))
