"""Players whose answers are checked: who raises, answers illegally or too late loses the table, and the others play on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from noms_env import BatchEnv
from noms_env.core.actions import NUM_ACTIONS
from training.agents.external import OwnGuest
from training.agents.forfeit import ForfeitError
from training.agents.table_pool import Agent
from training.workers import Stopped

if TYPE_CHECKING:
    from training.agents.registry import AgentSpec


class Guarded:
    """A player in a block of deals.

    At a table that it has lost the first legal actions are taken for it, so that the deal comes to an end.

    Attributes:
        lost: why, by row of the batch.
    """

    def __init__(self, player: Agent, stop: Event, limit: float | None = None) -> None:
        """Watch a player.

        Args:
            player: who is asked.
            stop: once it is set, the block is given up.
            limit: seconds for each decision, on the mean of those that are asked for at once; None for no limit, and of no
                effect on a player that keeps one by itself.
        """
        self.player, self.stop = player, stop
        self.limit = None if isinstance(player, OwnGuest) and player.keeps_limit else limit
        self.at_once = player.at_once if isinstance(player, OwnGuest) else None
        self.lost: dict[int, str] = {}

    def choose(self, batch: BatchEnv, rows: np.ndarray) -> np.ndarray:
        """See `Agent`.

        Raises:
            Stopped: the block is given up.
        """
        if self.stop.is_set():
            raise Stopped
        if not self.lost:
            return self._asked_in_turns(batch, rows)
        actions = first_legal(batch, rows)
        alive = np.array([int(row) not in self.lost for row in rows])
        if alive.any():
            actions[alive] = self._asked_in_turns(batch, rows[alive])
        return actions

    def close(self) -> None:
        """The block is over."""
        if isinstance(self.player, OwnGuest):
            self.player.close()

    def _asked_in_turns(self, batch: BatchEnv, rows: np.ndarray) -> np.ndarray:
        """The answers, asked for as many rows at once as the player likes."""
        if self.at_once is None or len(rows) <= self.at_once:
            return self._asked(batch, rows)
        parts = []
        for start in range(0, len(rows), self.at_once):
            if self.stop.is_set():
                raise Stopped
            parts.append(self._asked(batch, rows[start : start + self.at_once]))
        return np.concatenate(parts)

    def _asked(self, batch: BatchEnv, rows: np.ndarray) -> np.ndarray:
        """The answers, with the first legal action in place of those that lose the table."""
        started = perf_counter()
        try:
            actions = checked_shape(self.player.choose(batch, rows), len(rows))
        except Exception as error:
            if len(rows) > 1:  # ask for each row, so that only those that it fails at are lost
                return np.concatenate([self._asked(batch, rows[place : place + 1]) for place in range(len(rows))])
            why = error.why if isinstance(error, ForfeitError) else f"raised {type(error).__name__}: {error}".rstrip(": ")
            self._lose(rows, why)
            return first_legal(batch, rows)
        if self.limit is not None and perf_counter() - started > self.limit * len(rows):
            self._lose(rows, f"took more than {self.limit:g} seconds for a decision")
        legal = batch.mask[rows, np.clip(actions, 0, NUM_ACTIONS - 1)] != 0
        legal &= (actions >= 0) & (actions < NUM_ACTIONS)
        if not legal.all():
            for row, action in zip(rows[~legal], actions[~legal], strict=True):
                self._lose(row[np.newaxis], f"chose action {action}, which was not legal")
            actions = np.where(legal, actions, first_legal(batch, rows))
        return actions

    def _lose(self, rows: np.ndarray, why: str) -> None:
        """Note why tables are lost."""
        for row in rows:
            self.lost.setdefault(int(row), why)


@contextmanager
def guarded(
    players: Sequence[AgentSpec], stream: Sequence[int], stop: Event, limit: float | None = None
) -> Iterator[list[Guarded]]:
    """The players of a block of deals, from its beginning to its end.

    Args:
        players: who plays.
        stream: whole numbers from 0; the player's place is set behind them, and its random numbers follow from that.
        stop: see `Guarded`.
        limit: see `Guarded`.
    """
    guards: list[Guarded] = []
    try:
        for place, player in enumerate(players):
            guards.append(Guarded(player.make(np.random.default_rng([*stream, place])), stop, limit))
        yield guards
    finally:
        for guard in guards:
            guard.close()


def first_legal(batch: BatchEnv, rows: np.ndarray) -> np.ndarray:
    """The lowest legal action of each row, int64, shape (n,)."""
    actions: np.ndarray = batch.mask[rows].argmax(axis=1)
    return actions


def checked_shape(actions: object, rows: int) -> np.ndarray:
    """Answers as int64, shape (rows,).

    Raises:
        TypeError: they are no such array.
    """
    given = np.asarray(actions)
    if given.shape != (rows,) or given.dtype.kind not in "iu":
        raise TypeError(f"the answer must be {rows} integers, not {given.dtype} of shape {given.shape}")
    return given.astype(np.int64)
