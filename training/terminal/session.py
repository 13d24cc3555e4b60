"""Deals at one table, with a person on one seat or with none: decisions, taking back, advice, records. No terminal here.

Everything follows from the seed, from who sits where, and from what the person does. Each decision of a player has a stream
of random numbers of its own, so that after a decision was taken back the others go on as they did, as long as the person does.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from noms_env.core.chance import checked_seed
from noms_env.players import Player, TellsProbabilities, ask
from noms_env.record import Record
from noms_env.record.recorder import head_of, result_of
from noms_env.table import Table
from noms_env.variants import Rules
from training.agents.registry import agent_spec

RankedActions = list[tuple[int, float]]
"""Legal actions with their probabilities, the most probable first."""

DECIDING, ADVISING = 1, 2
"""Streams of random numbers, in word 2 of the counter; 0 is that of `noms_env.record.record_matches`."""
STEPS = 1 << 16
"""More than a deal has decisions."""


def random_seed() -> int:
    """A seed by chance, short enough to be typed again."""
    return secrets.randbits(31)


def ranked(probabilities: np.ndarray, mask: np.ndarray) -> RankedActions:
    """The legal actions and their probabilities, the most probable first, of equals the lowest.

    Args:
        probabilities: of all actions, shape (NUM_ACTIONS,).
        mask: 1 for each legal action, shape (NUM_ACTIONS,).
    """
    legal = np.flatnonzero(mask)
    order = legal[np.argsort(-probabilities[legal], kind="stable")]
    return [(int(action), float(probabilities[action])) for action in order]


# ------------------------------------------------------------------------------------------------------ who plays along


@dataclass(frozen=True)
class Companion:
    """A player at the table.

    Attributes:
        name: as the user wrote it.
        player: who decides.
    """

    name: str
    player: Player

    def act(self, table: Table, rng: np.random.Generator) -> int:
        """Its action for the seat to act; `rng` is used up by it."""
        return ask(self.player, table, rng)

    def chances(self, table: Table) -> RankedActions | None:
        """How probable each action of the seat to act would be; None for a player that is no policy."""
        if not isinstance(self.player, TellsProbabilities):
            return None
        observation, mask = table.view(int(table.row.seat))
        return ranked(self.player.probabilities(observation, mask), mask)


def companion(name: str, kind: Rules, limit: float | None = None) -> Companion:
    """The player of that name, for a table.

    Args:
        name: as for `training.agents.registry.agent_spec`: `thumb`, `pimc:20`, a policy by file, folder or name, `FILE@0`.
        kind: the rules of the table.
        limit: seconds that a program has for a decision; see `agent_spec`.

    Raises:
        ValueError: there is no such player, or it cannot sit there.
    """
    one = agent_spec(name, limit)
    one.check(kind)
    return Companion(name, one.make())


def companions(names: Sequence[str], places: int, kind: Rules, limit: float | None = None) -> list[Companion]:
    """The players of some seats.

    Args:
        names: one for all, or one for each.
        places: number of seats.
        kind: the rules of the table.
        limit: seconds that a program has for a decision; see `agent_spec`.

    Raises:
        ValueError: not as many names, or see `companion`.
    """
    if len(names) not in (1, places):
        raise ValueError(f"name one player for all {places} seats, or {places} of them, not {len(names)}")
    known = {name: companion(name, kind, limit) for name in dict.fromkeys(names)}
    return [known[name] for name in (names if len(names) == places else [names[0]] * places)]


# --------------------------------------------------------------------------------------------------------------- a deal


class Deal:
    """A deal under way, noted so that it can be played again up to any decision.

    Attributes:
        start: the table before the first decision (`Table.get_state`).
        actions: taken so far.
        finished: the record, once the deal is scored.
    """

    def __init__(self, table: Table) -> None:
        """Begin with a deal that has just been dealt."""
        self.start = table.get_state()
        self.actions: list[int] = []
        self.finished: Record | None = None
        self._head = head_of(table)
        self._steps: list[Record] = []

    def take(self, table: Table, action: int) -> None:
        """Note an action of the seat to act, and take it.

        Raises:
            IllegalActionError: it is not legal; nothing has changed.
        """
        step = {"seat": int(table.row.seat), "phase": table.phase}
        table.step(action)
        self._steps.append({**step, "action": table.word(action)})
        self.actions.append(action)
        if table.is_scored:
            self.finished = self.record(table)

    def record(self, table: Table) -> Record:
        """The record (`noms-record/1`); of a deal under way one that ends where the deal stands."""
        return {**self._head, "steps": list(self._steps), **result_of(table)}

    def last_decision_of(self, seat: int) -> int | None:
        """The place of a seat's last decision among the actions; None if it has made none."""
        places = [place for place, step in enumerate(self._steps) if step["seat"] == seat]
        return places[-1] if places else None

    def go_back(self, table: Table, place: int) -> None:
        """Put the table back to where the action of that place was to be chosen."""
        kept = self.actions[:place]
        table.set_state(self.start)
        self.actions, self._steps, self.finished = [], [], None
        for action in kept:
            self.take(table, action)


# ------------------------------------------------------------------------------------------------------------ a session


@dataclass(frozen=True)
class Advice:
    """What a player thinks of the position of the seat to act.

    Attributes:
        name: of the player.
        action: what it would do.
        chances: how probable each action would be; None for a player that is no policy.
    """

    name: str
    action: int
    chances: RankedActions | None


class Session:
    """Deal after deal at one table.

    Attributes:
        table: where it is played; it knows all cards.
        players: who sits on each seat; None where the person does.
        person: the person's seat; None if there is no person.
        deals: the deals so far, the last of them under way or just scored.
    """

    def __init__(self, rules: Rules, players: Sequence[Companion | None], *, seed: int = 0, deals: int | None = None) -> None:
        """Deal the first hand.

        Args:
            rules: of the table.
            players: one for each seat; None for the person, on one seat at most.
            seed: 0 to 2**63 - 1: of the cards, and of what is random in the players.
            deals: deals to play, where one match ends the next begins; None for one match.

        Raises:
            ValueError: not as many players, two persons, or a number out of range.
        """
        persons = [seat for seat, player in enumerate(players) if player is None]
        if len(players) != rules.seats or len(persons) > 1:
            raise ValueError(f"players must be {rules.seats}, with one person at most; not {len(players)} with {len(persons)}")
        if deals is not None and deals < 1:
            raise ValueError(f"deals must be 1 or more, not {deals}")
        self.table = Table(rules.variant.name, rules.seats, rules.options, seed=checked_seed(seed))
        self.players = list(players)
        self.person = persons[0] if persons else None
        self._seed, self._most = seed, deals
        self.table.start()
        self.deals = [Deal(self.table)]

    @property
    def is_persons_turn(self) -> bool:
        """Whether the person is to act."""
        return not self.table.is_scored and self.table.row.seat == self.person

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to play: the last deal is scored."""
        return self.table.is_scored and (self.table.is_over if self._most is None else len(self.deals) >= self._most)

    @property
    def acting(self) -> Companion:
        """The player to act.

        Raises:
            ValueError: that is nobody, or the person.
        """
        player = None if self.table.is_scored else self.players[int(self.table.row.seat)]
        if player is None:
            why = "the deal is over" if self.table.is_scored else "it is the person's turn"
            raise ValueError(f"no player is to act: {why}")
        return player

    def choose(self) -> int:
        """What the player to act does; nothing changes, and the answer is the same every time.

        Raises:
            ValueError: see `acting`.
        """
        return self.acting.act(self.table, self._stream(DECIDING))

    def take(self, action: int) -> None:
        """Take an action for the seat to act.

        Raises:
            IllegalActionError: it is not legal; nothing has changed.
        """
        self.deals[-1].take(self.table, action)

    def let_others_act(self) -> None:
        """Let the players act until the person is to act, or the deal is over."""
        while not self.table.is_scored and not self.is_persons_turn:
            self.take(self.choose())

    def next_deal(self) -> None:
        """Deal the next hand: of the match, or where it is over of the next one.

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

    def take_back(self) -> bool:
        """Go back to where the person made the last decision, in this deal or the ones before.

        Returns:
            False if the person has made none; nothing has changed then.
        """
        if self.person is None:
            return False
        for number in reversed(range(len(self.deals))):
            place = self.deals[number].last_decision_of(self.person)
            if place is not None:
                del self.deals[number + 1 :]
                self.deals[-1].go_back(self.table, place)
                return True
        return False

    def advice(self) -> list[Advice]:
        """What each of the players, asked once, would do in the place of the person: from what the person sees alone.

        Raises:
            ValueError: it is not the person's turn.
        """
        if not self.is_persons_turn:
            raise ValueError("the players give advice when it is the person's turn")
        others = {player.name: player for player in self.players if player is not None}
        return [
            Advice(name, player.act(self.table, self._stream(ADVISING)), player.chances(self.table))
            for name, player in others.items()
        ]

    def records(self) -> list[Record]:
        """The records of the deals that are scored."""
        return [deal.finished for deal in self.deals if deal.finished is not None]

    def _stream(self, purpose: int) -> np.random.Generator:
        """The random numbers of one decision."""
        row = self.table.row
        moment = int(row.deal) * STEPS + len(self.deals[-1].actions)
        key, counter = [self._seed, int(row.match)], [0, moment, purpose, int(row.seat)]
        return np.random.Generator(np.random.Philox(key=key, counter=counter))
