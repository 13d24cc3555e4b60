"""Players that may fail: one that raises or answers illegally forfeits that table, and the others play on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from threading import Event

import numpy as np

from noms_env import BatchEnv
from noms_env.core.actions import NUM_ACTIONS
from noms_env.players.foreign_code import IllegalAnswerError
from noms_env.players.functions import FAILURES, describe_failure

from ..thread_pool import Stopped
from .spec import AgentSpec, device_of
from .table_pool import AtTables, Choose, OnGpu


class Guarded:
    """A player in a block of deals, with the interface of `table_pool.Choose`; a call has at most `at_once` rows.

    At a forfeited table it takes the first legal actions, so that the deal ends. `stop` aborts the block. With `strict` the
    player's errors propagate, and an illegal answer raises `IllegalAnswerError`, a ValueError.

    Attributes:
        lost: reasons of the forfeits, by row of the batch.
    """

    def __init__(self, choose: Choose, stop: Event, at_once: int | None = None, strict: bool = False) -> None:
        self._choose, self._stop, self._at_once, self._strict = choose, stop, at_once, strict
        self.lost: dict[int, str] = {}

    def __call__(self, batch: BatchEnv, rows: np.ndarray) -> np.ndarray:
        """See `table_pool.Choose`; raises Stopped if the block is aborted."""
        if self._stop.is_set():
            raise Stopped
        if not self.lost:
            return self._ask_in_turns(batch, rows)
        actions = first_legal(batch, rows)
        alive = np.array([int(row) not in self.lost for row in rows])
        if alive.any():
            actions[alive] = self._ask_in_turns(batch, rows[alive])
        return actions

    def deal_over(self, batch: BatchEnv, rows: np.ndarray) -> None:
        """See `AtTables.deal_over`; an error of the player forfeits the table."""
        if not hasattr(self._choose, "deal_over"):
            return
        try:
            self._choose.deal_over(batch, rows)
        except FAILURES as error:
            if self._strict:
                raise
            why = describe_failure(error)
            if len(rows) == 1:
                self._lose(rows, why)
            else:
                for row in rows[:, np.newaxis]:
                    self.deal_over(batch, row)

    def _ask_in_turns(self, batch: BatchEnv, rows: np.ndarray) -> np.ndarray:
        parts, at_once = [], self._at_once or len(rows)
        for start in range(0, len(rows), at_once):
            if self._stop.is_set():
                raise Stopped
            parts.append(self._ask(batch, rows[start : start + at_once]))
        return np.concatenate(parts)

    def _ask(self, batch: BatchEnv, rows: np.ndarray) -> np.ndarray:
        """Return the answers, with the first legal action in place of a failure."""
        try:
            actions = np.asarray(self._choose(batch, rows))
            if actions.shape != (len(rows),) or actions.dtype.kind not in "iu":
                raise TypeError(f"the answer must be {len(rows)} integers, not {actions.dtype} of shape {actions.shape}")
            actions = actions.astype(np.int64)
        except FAILURES as error:
            if self._strict:
                raise
            why = describe_failure(error)
            if len(rows) > 1:  # retry row by row, so that only the failing rows are forfeited
                return np.concatenate([self._ask(batch, rows[place : place + 1]) for place in range(len(rows))])
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
def guard_players(
    players: Sequence[AgentSpec], stream: Sequence[int], stop: Event, strict: bool = False
) -> Iterator[list[Guarded]]:
    """Yield the guarded players of a block of deals, and close them at its end; calls of one that cannot be made fail.

    A player's random numbers depend on `stream`, nonnegative integers, and its place. For other arguments see `Guarded`.
    """
    with ExitStack() as stack:
        guards = []
        for place, spec in enumerate(players):
            try:
                player = spec.make()
            except Exception as error:
                choose: Choose = partial(_fail, error)
            else:
                stack.callback(getattr(player, "close", lambda: None))
                choose = AtTables(player, np.random.default_rng([*stream, place]))
            guards.append(Guarded(choose, stop, spec.at_once, strict))
        yield guards


def _fail(error: Exception, batch: BatchEnv, rows: np.ndarray) -> np.ndarray:
    raise error


@contextmanager
def seated(
    players: Sequence[AgentSpec], stream: Sequence[int], stop: Event, strict: bool = False
) -> Iterator[Sequence[Guarded | OnGpu]]:
    """Yield guarded players; on a GPU `OnGpu` players, seeded with the first number of `stream`."""
    if device_of(players) == "cuda":
        yield [OnGpu(spec.make(), stream[0], stop) for spec in players]
        return
    with guard_players(players, stream, stop, strict) as guards:
        yield guards


def first_legal(batch: BatchEnv, rows: np.ndarray) -> np.ndarray:
    """Return the lowest legal action of each row, int64, shape (n,)."""
    return np.asarray(batch.mask[rows].argmax(axis=1))
