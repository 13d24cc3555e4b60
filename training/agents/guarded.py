"""Players that may fail: whoever raises or answers illegally loses that table, and the others play on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from threading import Event

import numpy as np

from noms_env import BatchEnv
from noms_env.core.actions import NUM_ACTIONS
from noms_env.players.foreign_code import IllegalAnswerError
from noms_env.players.functions import FAILURES, what_failed

from ..thread_pool import Stopped
from .spec import AgentSpec, device_of
from .table_pool import AtTables, Choose, LearnsFromDeals, OnGpu


class Guarded:
    """A player in a block of deals, as `play` asks it.

    At a table that it has lost the first legal actions are taken for it, so that the deal comes to an end.

    Attributes:
        lost: why, by row of the batch.
    """

    def __init__(self, choose: Choose, stop: Event, at_once: int | None = None, strict: bool = False) -> None:
        """Watch a player.

        Args:
            choose: the player.
            stop: once it is set, the block is given up.
            at_once: rows that it is asked for at once; None for all.
            strict: no table is lost: what the player raises is raised on, and an illegal answer is an
                `IllegalAnswerError`, which is a ValueError.
        """
        self._choose, self._stop, self._at_once, self._strict = choose, stop, at_once, strict
        self.lost: dict[int, str] = {}

    def __call__(self, batch: BatchEnv, rows: np.ndarray) -> np.ndarray:
        """See `table_pool.Choose`.

        Raises:
            Stopped: the block is given up.
        """
        if self._stop.is_set():
            raise Stopped
        if not self.lost:
            return self._asked_in_turns(batch, rows)
        actions = first_legal(batch, rows)
        alive = np.array([int(row) not in self.lost for row in rows])
        if alive.any():
            actions[alive] = self._asked_in_turns(batch, rows[alive])
        return actions

    def deal_over(self, batch: BatchEnv, rows: np.ndarray) -> None:
        """See `table_pool.LearnsFromDeals`; a table whose deal the player fails to look at is lost."""
        if not isinstance(self._choose, LearnsFromDeals):
            return
        try:
            self._choose.deal_over(batch, rows)
        except FAILURES as error:
            if self._strict:
                raise
            why = what_failed(error)
            if len(rows) == 1:
                self._lose(rows, why)
            else:
                for row in rows[:, np.newaxis]:
                    self.deal_over(batch, row)

    def _asked_in_turns(self, batch: BatchEnv, rows: np.ndarray) -> np.ndarray:
        parts, at_once = [], self._at_once or len(rows)
        for start in range(0, len(rows), at_once):
            if self._stop.is_set():
                raise Stopped
            parts.append(self._asked(batch, rows[start : start + at_once]))
        return np.concatenate(parts)

    def _asked(self, batch: BatchEnv, rows: np.ndarray) -> np.ndarray:
        """The answers, with the first legal action in place of those that lose the table."""
        try:
            actions = checked_shape(self._choose(batch, rows), len(rows))
        except FAILURES as error:
            if self._strict:
                raise
            why = what_failed(error)
            if len(rows) > 1:  # ask for each row, so that only those that it fails at are lost
                return np.concatenate([self._asked(batch, rows[place : place + 1]) for place in range(len(rows))])
            self._lose(rows, why)
            return first_legal(batch, rows)
        legal = batch.mask[rows, np.clip(actions, 0, NUM_ACTIONS - 1)] != 0
        legal &= (actions >= 0) & (actions < NUM_ACTIONS)
        if not legal.all():
            for row, action in zip(rows[~legal], actions[~legal], strict=True):
                self._lose(row[np.newaxis], f"chose action {action}, which was not legal")
            actions = np.where(legal, actions, first_legal(batch, rows))
        return actions

    def _lose(self, rows: np.ndarray, why: str) -> None:
        if self._strict:
            raise IllegalAnswerError("the player", why)
        for row in rows:
            self.lost.setdefault(int(row), why)


@contextmanager
def guarded(players: Sequence[AgentSpec], stream: Sequence[int], stop: Event, strict: bool = False) -> Iterator[list[Guarded]]:
    """The players of a block of deals, from its beginning to its end; those that have a `close` are closed then.

    The random numbers of a player follow from `stream`, whole numbers from 0, and its place. For the rest see
    `Guarded`.
    """
    with ExitStack() as stack:
        guards = []
        for place, spec in enumerate(players):
            choose = _made(spec, np.random.default_rng([*stream, place]), stack)
            guards.append(Guarded(choose, stop, spec.at_once, strict))
        yield guards


@contextmanager
def seated(
    players: Sequence[AgentSpec], stream: Sequence[int], stop: Event, strict: bool = False
) -> Iterator[Sequence[Guarded | OnGpu]]:
    """`guarded`, or the same on a GPU, where random numbers follow from the first number of `stream` (`SeatedPlayers`)."""
    if device_of(players) == "cuda":
        yield [OnGpu(spec.make(), stream[0], stop) for spec in players]
        return
    with guarded(players, stream, stop, strict) as guards:
        yield guards


def _made(spec: AgentSpec, rng: np.random.Generator, stack: ExitStack) -> Choose:
    """A player at the tables; one that cannot be made fails at all of them."""
    try:
        player = spec.make()
    except Exception as error:
        failure = error

        def fail(batch: BatchEnv, rows: np.ndarray) -> np.ndarray:
            raise failure

        return fail
    if hasattr(player, "close"):
        stack.callback(player.close)
    return AtTables(player, rng)


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
