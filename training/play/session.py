"""Deals at one table, with or without people: decisions, undo, advice and records.

The seed, the players and the person's actions determine everything. Each decision of a player has its own random stream, so
an undo does not change the players' later actions.
"""

from __future__ import annotations

import copy
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from noms_env.core.chance import check_seed
from noms_env.players import ActionValue, Player, TellsProbabilities, TellsValues, ask, draw_seeds, recalled, with_memory
from noms_env.record import Record
from noms_env.record.recorder import head_of, player_key, result_of
from noms_env.table import Table
from noms_env.variants import Rules

from ..agents.registry import agent_specs

RankedActions = list[tuple[int, float]]
"""Legal actions with their probabilities, most probable first."""

DECIDING, ADVISING = 1, 2
"""Random streams: word 2 of the Philox counter. `noms_env.record.record_matches` uses 0."""
STEPS = 1 << 16
"""Stride of the counter between deals, above the number of decisions of any deal."""


def random_seed() -> int:
    """Return a random seed that is short enough to type again."""
    return secrets.randbits(31)


def rank_actions(probabilities: np.ndarray, mask: np.ndarray) -> RankedActions:
    """Rank the legal actions by probability, ties by action number; both arrays have the shape (NUM_ACTIONS,)."""
    legal = np.flatnonzero(mask)
    order = legal[np.argsort(-probabilities[legal], kind="stable")]
    return [(int(action), float(probabilities[action])) for action in order]


def action_probabilities(player: Player, table: Table) -> RankedActions | None:
    """Return a player's probabilities for the seat to act; None if it has none."""
    if not isinstance(player, TellsProbabilities):
        return None
    observation, mask = table.view(int(table.row.seat))
    return rank_actions(player.probabilities(observation, mask), mask)


def action_values(player: Player, table: Table, rng: np.random.Generator) -> list[ActionValue]:
    """Return a player's action values for the seat to act, best first; empty if it has none."""
    if not isinstance(player, TellsValues):
        return []
    sampled = table.determinize(rng)
    return player.values(*table.view(int(table.row.seat)), int(draw_seeds(rng, 1)[0]), tables=sampled)


class Seated(NamedTuple):
    """A player at the table and the name that the user typed."""

    name: str
    player: Player


def seat_players(names: Sequence[str], places: int, rules: Rules, limit: float | None = None) -> list[Seated]:
    """Load the players for some seats.

    Args:
        names: one name for all seats, or one per seat; see `noms_training.agents.registry.agent_spec`.
        places: number of seats.
        rules: rules of the table.
        limit: seconds per decision of an external program; see `agent_specs`.

    Raises:
        ValueError: wrong number of names, unknown player, or a player that cannot play these rules.
    """
    if len(names) not in (1, places):
        raise ValueError(f"name one player for all {places} seats or one for each, not {len(names)}")
    specs = dict(zip(names, agent_specs(names, limit), strict=True))
    for spec in specs.values():
        spec.check(rules)
    by_name = {name: Seated(name, spec.make()) for name, spec in specs.items()}
    return [by_name[name] for name in (names if len(names) == places else [*names] * places)]


def seat_player(name: str, rules: Rules) -> Seated:
    """Load one player; see `seat_players`."""
    return seat_players([name], 1, rules)[0]


class Deal:
    """A recorded deal that can be replayed up to any decision.

    Attributes:
        start: state of the table before the first decision (`Table.get_state`).
        actions: actions so far.
        finished: the record, once the deal is scored.
        scored: the scored table (`Table.row`).
        undo_floor: number of initial actions that cannot be undone.
        memories: each player and its memory of the match after this deal, by `id`. The reference keeps the `id` unique.
    """

    def __init__(self, table: Table) -> None:
        self.start = table.get_state()
        self.actions: list[int] = []
        self.finished: Record | None = None
        self.scored: np.record | None = None
        self.undo_floor = 0
        self.memories: dict[int, tuple[Player, np.ndarray | None]] = {}
        self._head = head_of(table)
        self._steps: list[Record] = []

    def take(self, table: Table, action: int) -> None:
        """Take an action for the seat to act, and record it; after an `IllegalActionError` nothing has changed."""
        step = {"seat": int(table.row.seat), "phase": table.phase}
        table.step(action)
        self._steps.append({**step, "action": table.word(action)})
        self.actions.append(action)
        if table.is_scored:
            self.finished, self.scored = self.record(table), table.row.copy()

    def last_decision(self, seat: int) -> int | None:
        """Return the index of a seat's last action in this deal that can be undone; None if there is none."""
        places = range(self.undo_floor, len(self._steps))
        return next((place for place in reversed(places) if self._steps[place]["seat"] == seat), None)

    def copy(self) -> Deal:
        """Return a copy of the deal. Both share the players' memories until an undo."""
        twin = copy.copy(self)
        twin.actions, twin._steps = list(self.actions), list(self._steps)
        return twin

    def record(self, table: Table) -> Record:
        """Return the record (`noms-record/1`). It is incomplete while the deal is in progress."""
        return {**self._head, "steps": list(self._steps), **result_of(table)}

    def table_at(self, table: Table, decisions: int) -> Table:
        """Return a copy of the table of this deal as it was after some decisions."""
        table = table.copy()
        table.set_state(self.start)
        for action in self.actions[:decisions]:
            table.step(action)
        return table

    def go_back(self, table: Table, seat: int) -> bool:
        """Restore the table to before a seat's last action; return False if no action can be undone."""
        last = self.last_decision(seat)
        if last is None:
            return False
        actions = self.actions[:last]
        table.set_state(self.start)
        self.actions, self._steps, self.finished, self.scored, self.memories = [], [], None, None, {}
        for action in actions:
            self.take(table, action)
        return True


@dataclass(frozen=True)
class Advice:
    """A player's advice for the seat to act: an action, and probabilities or values of the legal actions."""

    name: str
    action: int
    probabilities: RankedActions | None
    values: Sequence[ActionValue] = ()


class Session:
    """Consecutive deals at one table.

    Attributes:
        table: the table, with all hidden cards.
        players: players by seat, None for a person. They may change between two decisions.
        deals: the deals so far; the last one is in progress or just scored.
        seed: seed of the cards and of the players' random choices.
    """

    def __init__(
        self,
        rules: Rules,
        players: Sequence[Seated | None],
        *,
        seed: int = 0,
        deals: int | None = None,
        episode: str = "match",
        deal_size: int | None = None,
    ) -> None:
        """Deal the first hand.

        Args:
            rules: rules of the table.
            players: see the attribute.
            seed: see the attribute; 0 to 2**63 - 1.
            deals: number of deals, over several matches if need be; None for one episode.
            episode: `match`, or `deal` for one scored deal; see `Table`.
            deal_size: cards per hand, for the episode `deal` of an exact-bid game; see `Table`.

        Raises:
            ValueError: wrong number of players, or a number out of range.
        """
        if len(players) != rules.seats:
            raise ValueError(f"players must be {rules.seats}, one for each seat, not {len(players)}")
        if deals is not None and deals < 1:
            raise ValueError(f"deals must be 1 or more, not {deals}")
        settings: dict[str, Any] = {"seed": check_seed(seed), "episode": episode, "deal_size": deal_size}
        self.table = Table(rules.variant.name, rules.seats, rules.options, **settings)
        self.players = list(players)
        self.seed, self._most = seed, deals
        self.table.start()
        self.deals = [Deal(self.table)]

    def copy(self) -> Session:
        """Return a copy of the session with the same players, for use in another thread."""
        twin = copy.copy(self)
        twin.table, twin.players, twin.deals = self.table.copy(), list(self.players), [deal.copy() for deal in self.deals]
        return twin

    @property
    def person(self) -> int | None:
        """The first seat of a person; None if there is no person."""
        return next((seat for seat, player in enumerate(self.players) if player is None), None)

    @property
    def names(self) -> list[str | None]:
        """Names of the players by seat, as on the command line; None for a person."""
        return [None if player is None else player.name for player in self.players]

    @property
    def is_persons_turn(self) -> bool:
        """Whether a person is to act."""
        return not self.table.is_scored and self.players[int(self.table.row.seat)] is None

    @property
    def is_over(self) -> bool:
        """Whether the last deal is scored and no deal is left."""
        return self.table.is_scored and (self.table.is_over if self._most is None else len(self.deals) >= self._most)

    @property
    def acting(self) -> Seated:
        """The player to act; raises `ValueError` if the deal is over, or a person is to act."""
        player = None if self.table.is_scored else self.players[int(self.table.row.seat)]
        if player is None:
            why = "the deal is over" if self.table.is_scored else "it is a person's turn"
            raise ValueError(f"no player is to act: {why}")
        return player

    def choose(self) -> int:
        """Return the action of the player to act (see `acting`) without taking it; repeated calls agree."""
        player = self.acting.player
        return ask(player, self.table, self._stream(DECIDING), self._memory(player))

    def values(self) -> list[ActionValue]:
        """Return the action values (see `action_values`) from which `choose` picks."""
        player = self.acting.player
        return action_values(with_memory(player, self._memory(player)), self.table, self._stream(DECIDING))

    def take(self, action: int) -> None:
        """Take an action for the seat to act; after an `IllegalActionError` nothing has changed."""
        self.deals[-1].take(self.table, action)

    def let_others_act(self) -> None:
        """Take the players' actions until a person is to act, or the deal is over."""
        while not self.table.is_scored and not self.is_persons_turn:
            self.take(self.choose())

    def next_deal(self) -> None:
        """Start the next deal, and the next match if this one is over; raise `ValueError` if it is too early or too late."""
        if not self.table.is_scored or self.is_over:
            raise ValueError("the next deal starts when a deal is over and deals are left")
        if self.table.is_over:
            self.table.start()
        else:
            self.table.next_deal()
        self.deals.append(Deal(self.table))

    def end(self) -> None:
        """End the session with the current deal."""
        self._most = len(self.deals)

    def take_back(self, seat: int | None = None) -> bool:
        """Undo back to the last decision of a seat (default: the first person's), in this or an earlier deal.

        Return whether there was a decision to undo; if not, nothing changes.
        """
        person = self.person if seat is None else seat
        for number in reversed(range(len(self.deals))):
            if person is not None and self.deals[number].go_back(self.table, person):
                del self.deals[number + 1 :]
                return True
        return False

    def advice(self, advisers: Sequence[Seated] | None = None) -> list[Advice]:
        """Return advice for the person to act, from that person's observation; raise `ValueError` on another turn.

        The default advisers are the players at the table.
        """
        if not self.is_persons_turn:
            raise ValueError("players give advice when it is a person's turn")
        players = dict(pair for pair in (self.players if advisers is None else advisers) if pair is not None)
        table = self.table
        players = {name: with_memory(player, self._memory(player)) for name, player in players.items()}
        return [
            Advice(
                name,
                ask(player, table, self._stream(ADVISING)),
                action_probabilities(player, table),
                action_values(player, table, self._stream(ADVISING)),
            )
            for name, player in players.items()
        ]

    def records(self) -> list[Record]:
        """Return the records of the scored deals."""
        return [deal.finished for deal in self.deals if deal.finished is not None]

    def _memory(self, player: Player) -> np.ndarray | None:
        """Return a player's memory of the earlier deals of this match (`noms_env.players.Remembers`)."""
        memory = None
        for deal in self.deals[:-1]:
            if deal.scored is not None and deal.scored.match == self.table.row.match:
                if id(player) not in deal.memories:
                    deal.memories[id(player)] = player, recalled(player, deal.scored, memory)
                _, memory = deal.memories[id(player)]
        return memory

    def _stream(self, purpose: int) -> np.random.Generator:
        row = self.table.row
        moment = int(row.deal) * STEPS + len(self.deals[-1].actions)
        key, counter = player_key(self.seed, int(row.match)), [0, moment, purpose, int(row.seat)]
        return np.random.Generator(np.random.Philox(key=key, counter=counter))
