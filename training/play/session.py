"""Deals at one table, with people or none: decisions, undo, advice and records.

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
"""Legal actions with their probabilities, the most probable first."""

DECIDING, ADVISING = 1, 2
"""Streams of random numbers, in word 2 of the counter; 0 is that of `noms_env.record.record_matches`."""
STEPS = 1 << 16
"""More than a deal has decisions."""


def random_seed() -> int:
    """A random seed, short enough to type again."""
    return secrets.randbits(31)


def rank_actions(probabilities: np.ndarray, mask: np.ndarray) -> RankedActions:
    """The legal actions with their probabilities, the most probable first, the lowest number first among equals.

    Args:
        probabilities: of all actions, shape (NUM_ACTIONS,).
        mask: 1 for each legal action, shape (NUM_ACTIONS,).
    """
    legal = np.flatnonzero(mask)
    order = legal[np.argsort(-probabilities[legal], kind="stable")]
    return [(int(action), float(probabilities[action])) for action in order]


def action_probabilities(player: Player, table: Table) -> RankedActions | None:
    """A player's probabilities for the seat to act; None if it gives none."""
    if not isinstance(player, TellsProbabilities):
        return None
    observation, mask = table.view(int(table.row.seat))
    return rank_actions(player.probabilities(observation, mask), mask)


def action_values(player: Player, table: Table, rng: np.random.Generator) -> list[ActionValue]:
    """A player's action values for the seat to act, the best first, with the random stream of its decision; or none."""
    if not isinstance(player, TellsValues):
        return []
    sampled = table.determinize(rng)
    return player.values(*table.view(int(table.row.seat)), int(draw_seeds(rng, 1)[0]), tables=sampled)


class Seated(NamedTuple):
    """A player at the table, with the name that the user wrote."""

    name: str
    player: Player


def seat_players(names: Sequence[str], places: int, rules: Rules, limit: float | None = None) -> list[Seated]:
    """The players of some seats.

    Args:
        names: one for all, or one for each, as for `noms_training.agents.registry.agent_spec`.
        places: number of seats.
        rules: of the table.
        limit: seconds that a program has for a decision; see `agent_specs`.

    Raises:
        ValueError: not as many names, no such player, or it cannot sit there.
    """
    if len(names) not in (1, places):
        raise ValueError(f"name one player for all {places} seats, or {places} of them, not {len(names)}")
    specs = dict(zip(names, agent_specs(names, limit), strict=True))
    for spec in specs.values():
        spec.check(rules)
    known = {name: Seated(name, spec.make()) for name, spec in specs.items()}
    return [known[name] for name in (names if len(names) == places else [*names] * places)]


class Deal:
    """A deal under way, recorded so that it can be replayed up to any decision.

    Attributes:
        start: the table before the first decision (`Table.get_state`).
        actions: taken so far.
        finished: the record, once the deal is scored.
        scored: the scored table (`Table.row`).
        kept: number of the first actions, which are never taken back.
        memories: players and their memories of the match after this deal, by `id`; holding the player keeps its `id` unique.
    """

    def __init__(self, table: Table) -> None:
        self.start = table.get_state()
        self.actions: list[int] = []
        self.finished: Record | None = None
        self.scored: np.record | None = None
        self.kept = 0
        self.memories: dict[int, tuple[Player, np.ndarray | None]] = {}
        self._head = head_of(table)
        self._steps: list[Record] = []

    def take(self, table: Table, action: int) -> None:
        """Take an action of the seat to act, and record it.

        Raises:
            IllegalActionError: it is not legal; nothing has changed.
        """
        step = {"seat": int(table.row.seat), "phase": table.phase}
        table.step(action)
        self._steps.append({**step, "action": table.word(action)})
        self.actions.append(action)
        if table.is_scored:
            self.finished, self.scored = self.record(table), table.row.copy()

    def last_decision(self, seat: int) -> int | None:
        """Number of a seat's last action in this deal that can be taken back, from 0; None if there is none."""
        places = range(self.kept, len(self._steps))
        return next((place for place in reversed(places) if self._steps[place]["seat"] == seat), None)

    def copy(self) -> Deal:
        """A copy of the deal. Both share the players' memories, until an action is taken back."""
        twin = copy.copy(self)
        twin.actions, twin._steps = list(self.actions), list(self._steps)
        return twin

    def record(self, table: Table) -> Record:
        """The record (`noms-record/1`); of a deal under way one that ends where the deal stands."""
        return {**self._head, "steps": list(self._steps), **result_of(table)}

    def go_back(self, table: Table, seat: int) -> bool:
        """Put the table back before the last action of a seat; False if there is none that can be taken back."""
        last = self.last_decision(seat)
        if last is None:
            return False
        kept = self.actions[:last]
        table.set_state(self.start)
        self.actions, self._steps, self.finished, self.scored, self.memories = [], [], None, None, {}
        for action in kept:
            self.take(table, action)
        return True


@dataclass(frozen=True)
class Advice:
    """A player's advice for the seat to act: its action, and the probabilities or values of the legal actions."""

    name: str
    action: int
    probabilities: RankedActions | None
    values: Sequence[ActionValue] = ()


class Session:
    """Deal after deal at one table.

    Attributes:
        table: where it is played; it knows all cards.
        players: by seat; None where a person sits. They may change between two decisions.
        deals: the deals so far, the last of them under way or just scored.
        seed: of the cards and of the players' random choices.
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
            rules: of the table.
            players: one for each seat; None for a person.
            seed: 0 to 2**63 - 1: of the cards and of the players' random choices.
            deals: deals to play, in as many matches as it takes; None for one match, or one episode.
            episode: `match`, or `deal` for one scored deal, as for `Table`.
            deal_size: cards of a hand in the episode `deal` of an exact-bid game, as for `Table`.

        Raises:
            ValueError: not as many players, or a number out of range.
        """
        if len(players) != rules.seats:
            raise ValueError(f"players must be {rules.seats}, one for each seat, not {len(players)}")
        if deals is not None and deals < 1:
            raise ValueError(f"deals must be 1 or more, not {deals}")
        more: dict[str, Any] = {"seed": check_seed(seed), "episode": episode, "deal_size": deal_size}
        self.table = Table(rules.variant.name, rules.seats, rules.options, **more)
        self.players = list(players)
        self.seed, self._most = seed, deals
        self.table.start()
        self.deals = [Deal(self.table)]

    def copy(self) -> Session:
        """A copy of the session with the same players, for use in another thread."""
        twin = copy.copy(self)
        twin.table, twin.players, twin.deals = self.table.copy(), list(self.players), [deal.copy() for deal in self.deals]
        return twin

    @property
    def person(self) -> int | None:
        """The first seat on which a person sits; None if there is no person."""
        return next((seat for seat, player in enumerate(self.players) if player is None), None)

    @property
    def is_persons_turn(self) -> bool:
        """Whether a person is to act."""
        return not self.table.is_scored and self.players[int(self.table.row.seat)] is None

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to play: the last deal is scored."""
        return self.table.is_scored and (self.table.is_over if self._most is None else len(self.deals) >= self._most)

    @property
    def acting(self) -> Seated:
        """The player to act.

        Raises:
            ValueError: that is nobody, or a person.
        """
        player = None if self.table.is_scored else self.players[int(self.table.row.seat)]
        if player is None:
            why = "the deal is over" if self.table.is_scored else "it is a person's turn"
            raise ValueError(f"no player is to act: {why}")
        return player

    def choose(self) -> int:
        """The choice of the player to act, without taking it; repeated calls agree.

        Raises:
            ValueError: see `acting`.
        """
        player = self.acting.player
        return ask(player, self.table, self._stream(DECIDING), self._memory(player))

    def values(self) -> list[ActionValue]:
        """The action values of the player to act (`action_values`), as in `choose`."""
        player = self.acting.player
        return action_values(with_memory(player, self._memory(player)), self.table, self._stream(DECIDING))

    def take(self, action: int) -> None:
        """Take an action for the seat to act.

        Raises:
            IllegalActionError: it is not legal; nothing has changed.
        """
        self.deals[-1].take(self.table, action)

    def let_others_act(self) -> None:
        """Let the players act until a person is to act, or the deal is over."""
        while not self.table.is_scored and not self.is_persons_turn:
            self.take(self.choose())

    def next_deal(self) -> None:
        """Deal the next hand, of the next match if this one is over.

        Raises:
            ValueError: the deal is not over yet, or nothing is left to play.
        """
        if not self.table.is_scored or self.is_over:
            raise ValueError("the next hand is dealt when a deal is over and deals are left")
        if self.table.is_over:
            self.table.start()
        else:
            self.table.next_deal()
        self.deals.append(Deal(self.table))

    def end(self) -> None:
        """End the match with the present deal."""
        self._most = len(self.deals)

    def take_back(self, seat: int | None = None) -> bool:
        """Go back to the last decision of a seat, in this or an earlier deal.

        Args:
            seat: that of the person when None, of the first if there are several.

        Returns:
            False if there is none; then nothing has changed.
        """
        person = self.person if seat is None else seat
        for number in reversed(range(len(self.deals))):
            if person is not None and self.deals[number].go_back(self.table, person):
                del self.deals[number + 1 :]
                return True
        return False

    def advice(self, advisers: Sequence[Seated] | None = None) -> list[Advice]:
        """The players' advice for the person to act, from what that person sees.

        Args:
            advisers: the players; those at the table when None.

        Raises:
            ValueError: it is not a person's turn.
        """
        if not self.is_persons_turn:
            raise ValueError("the players give advice when it is a person's turn")
        others = dict(pair for pair in (self.players if advisers is None else advisers) if pair is not None)
        table = self.table
        knowing = {name: with_memory(player, self._memory(player)) for name, player in others.items()}
        return [
            Advice(
                name,
                ask(player, table, self._stream(ADVISING)),
                action_probabilities(player, table),
                action_values(player, table, self._stream(ADVISING)),
            )
            for name, player in knowing.items()
        ]

    def records(self) -> list[Record]:
        """The records of the deals that are scored."""
        return [deal.finished for deal in self.deals if deal.finished is not None]

    def _memory(self, player: Player) -> np.ndarray | None:
        """A player's memory of the earlier deals of this match (`noms_env.players.Remembers`)."""
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
