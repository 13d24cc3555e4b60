"""How a player is asked: many rows at once, or one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import wraps
from inspect import signature
from itertools import repeat
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeVar, cast, runtime_checkable

import numpy as np

from noms_env._jit import jit
from noms_env.belief.determinize import is_played_out, shown_tables
from noms_env.core.chance import MAX_SEED, MAX_TABLE, Seeds, draw_seeds, philox
from noms_env.engine.row_kernels import kernel_view
from noms_env.variants.table_record import new_tables

if TYPE_CHECKING:
    from noms_env.table import Table

BASE = 509
"""Players of whom `decision_seed` tells all seatings apart: 509 to the power of 7 is below 2**63."""
NOBODY = -1
"""The answer for a row in which nobody is to act: its mask is all zeros."""


class Player(Protocol):
    """What sits at a table, or at thousands of them."""

    @property
    def wants_tables(self) -> bool:
        """Whether `act` must be given `tables`; False where observation and mask are enough."""
        ...

    def act(self, observation: np.ndarray, mask: np.ndarray, seeds: Any, *, tables: np.recarray | None = None) -> Any:
        """Choose an action in each row.

        Args:
            observation: what each seat to act sees, uint8, shape (n, OBSERVATION_SIZE).
            mask: 1 for each legal action, int8, shape (n, NUM_ACTIONS).
            seeds: int64, shape (n,), from 0 to 2**63 - 1: all that is random in a row follows from its number.
            tables: the tables, with the cards that the seat to act has not seen sampled
                (`belief.determinize.sampled_tables`), shape (n,).

        Returns:
            Numbers of legal actions, int64, shape (n,). For one row, with arrays that lack the leading axis, one seed and
            one table (`Table.determinize`), an int.

        Raises:
            ValueError: `tables` are wanted and missing, or there are not as many rows of each.
        """
        ...


@runtime_checkable
class TellsProbabilities(Protocol):
    """A player that tells how probable it finds each action, as policies do (`PolicyPlayer.probabilities`)."""

    def probabilities(self, observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Float32, shape (n, NUM_ACTIONS), for rows as `Player.act` has them; draws nothing."""
        ...


class ActionValue(NamedTuple):
    """What a search expects of an action: points of the seat less the mean of the others' points, in this deal.

    `error` is the standard error of the difference to the action that it would have preferred without a search: 0 for that one,
    NaN where the action was tried in one world, from which no error can be told.
    """

    action: int
    mean: float
    error: float


@runtime_checkable
class TellsValues(Protocol):
    """A player that tells what it expects of each action, as the search on a policy does."""

    def values(self, observation: np.ndarray, mask: np.ndarray, seed: int, *, tables: np.recarray) -> list[ActionValue]:
        """Of one row and one table, the best first: what `Player.act` with the same arguments finds; empty without a choice.

        Of actions that come to the same one stands for all.
        """
        ...


class SearchOutput(NamedTuple):
    """What a search returns for B rows, and a network can learn from; A = NUM_ACTIONS.

    Attributes:
        action: int64, shape (B,): the actions that it takes, as from `Player.act`.
        action_weights: float32, shape (B, A): its probability of each action; rows without legal actions have zeros.
        value: float32, shape (B,): points of the seat less the mean of the others' points that it expects of this deal, not
            multiplied; NaN where it has not searched.
    """

    action: np.ndarray
    action_weights: np.ndarray
    value: np.ndarray


@runtime_checkable
class TellsTargets(Protocol):
    """A player that tells what it found before it took an action, as the search on a policy does."""

    def targets(self, observation: np.ndarray, mask: np.ndarray, seeds: np.ndarray, *, tables: np.recarray) -> SearchOutput:
        """Of n rows; the actions are those that `Player.act` with the same arguments takes."""
        ...


@runtime_checkable
class Remembers(Protocol):
    """A player that plays better for the deals before in the match, as the search on a policy does.

    It keeps nothing by itself. Who runs the tables keeps what it has learnt (`recalled`), and asks the player that
    `with_memory` returns; `record_matches` and `noms evaluate`, `export`, `play` and `watch` do.
    """

    def recall(self, tables: np.recarray) -> np.ndarray:
        """What deals that are over tell: float64, shape (n, ...); that of several deals of a match adds up.

        Args:
            tables: with all that has been shown (`belief.determinize.shown_tables`), shape (n,).
        """
        ...

    def with_memory(self, memory: np.ndarray) -> Player:
        """The player with what it has learnt, shape (n, ...), about the n rows of the next call."""
        ...


def recalled(player: Player, tables: np.recarray | np.record, before: np.ndarray | None = None) -> np.ndarray | None:
    """What a player has learnt of a match once deals are over; None for a player that remembers nothing.

    Args:
        player: who sits there.
        tables: shape (n,), or one; those whose deals are not over, or ended with cards unplayed, teach nothing.
        before: what it had learnt before these deals; None for nothing.
    """
    if not isinstance(player, Remembers):
        return None
    batch = as_rows(tables)
    rows = np.flatnonzero(is_played_out(batch))
    told = player.recall(shown_tables(batch, rows))
    memory = np.zeros((len(batch), *told.shape[1:])) if before is None else before.copy()
    memory[rows] += told
    return memory


def ask(player: Player, table: Table, rng: np.random.Generator, memory: np.ndarray | None = None) -> int:
    """What a player does for the seat to act at one table.

    Args:
        player: who is asked.
        table: stays as it is.
        rng: the player's stream of random numbers.
        memory: what it has learnt in this match, from `recalled`, one row; None for nothing.
    """
    player = with_memory(player, memory)
    sampled = table.determinize(rng) if player.wants_tables else None
    return int(player.act(*table.view(int(table.row.seat)), draw_seeds(rng, 1)[0], tables=sampled))


def with_memory(player: Player, memory: np.ndarray | None) -> Player:
    """The player with what it has learnt, if that is anything."""
    return player if memory is None or not isinstance(player, Remembers) else player.with_memory(memory)


def as_rows(tables: np.recarray | np.record) -> np.recarray:
    """Tables, shape (n,), or one of them as an array of one."""
    if isinstance(tables, np.ndarray) and tables.ndim == 1:
        return tables.view(np.recarray)
    rows = new_tables(1)
    rows[0] = tables
    return rows


ActT = TypeVar("ActT", bound=Callable[..., Any])


def as_batch(act: ActT) -> ActT:
    """Let an `act` that is written for batches take one row as well, and check what it is given.

    The method that is wrapped gets arrays of n rows only, and `tables` whenever it wants them. A generator in place of the
    seeds is asked for them (`draw_seeds`). For one row its answer becomes an int, so its result is `Any` to type checkers.
    """

    @wraps(act)
    def checked(
        self: Player, observation: np.ndarray, mask: np.ndarray, seeds: Seeds, *, tables: np.recarray | np.record | None = None
    ) -> Any:
        if self.wants_tables and tables is None:
            raise ValueError(
                f"{type(self).__name__} looks at tables: give act(..., tables=sampled_tables(tables, rows, rng)) for a batch, "
                "or tables=table.determinize(rng) for one Table (noms_env.belief.determinize)"
            )
        seen, legal = np.asarray(observation), np.asarray(mask)
        rows = None if tables is None else as_rows(tables)
        is_one = legal.ndim == 1
        if is_one:
            seen, legal = seen[np.newaxis], legal[np.newaxis]
        if len(seen) != len(legal) or (rows is not None and len(rows) != len(legal)):
            given = "" if rows is None else f" and {len(rows)} tables"
            raise ValueError(f"observation, mask and tables must have as many rows, not {len(seen)}, {len(legal)}{given}")
        actions = act(self, seen, legal, draw_seeds(seeds, len(legal)), tables=rows)
        return int(actions[0]) if is_one else actions

    return cast(ActT, checked)


class GeneratorPlayer:
    """A player with the older `act(observation, mask, rng, *, tables)`: it gets a generator that follows from the seeds."""

    def __init__(self, player: Any) -> None:
        self.player, self.wants_tables, self.rule_sets = player, player.wants_tables, getattr(player, "rule_sets", None)

    def act(self, observation: np.ndarray, mask: np.ndarray, seeds: np.ndarray, *, tables: np.recarray | None = None) -> Any:
        """See `Player.act`."""
        return self.player.act(observation, mask, np.random.default_rng(seeds), tables=tables)

    def close(self) -> None:
        """Close the player, if it can be."""
        getattr(self.player, "close", lambda: None)()


def checked_player(player: Any) -> Player:
    """A player that somebody has made, fit to be asked with seeds.

    Raises:
        TypeError: it is none; the message says what it lacks.
    """
    lacks = [
        *(["act(observation, mask, seeds, *, tables)"] if not callable(getattr(player, "act", None)) else []),
        *(["wants_tables, True or False"] if not isinstance(getattr(player, "wants_tables", None), bool) else []),
    ]
    if lacks:
        raise TypeError(f"{type(player).__name__} lacks {' and '.join(lacks)}")
    try:
        third = list(signature(player.act).parameters)[2:3]
    except (TypeError, ValueError):  # compiled code does not tell
        third = []
    checked: Player = GeneratorPlayer(player) if third == ["rng"] else player
    return checked


class RowsPlayer:
    """A player whose answers a compiled loop writes, row by row: what is left to the class is `write_actions`.

    Attributes:
        wants_tables: see `Player`.
    """

    wants_tables: ClassVar[bool] = True

    @as_batch
    def act(self, observation: np.ndarray, mask: np.ndarray, seeds: Any, *, tables: np.recarray | None = None) -> np.ndarray:
        actions = np.empty(len(mask), np.int64)
        self.write_actions(mask, seeds, None if tables is None else kernel_view(tables), actions)
        return actions

    def write_actions(self, mask: np.ndarray, seeds: np.ndarray, tables: Any, actions: np.ndarray) -> None:
        """Write an action for each row, `NOBODY` where nobody is to act.

        Args:
            mask: int8, shape (n, NUM_ACTIONS).
            seeds: int64, shape (n,).
            tables: for players that want them: a structured array, shape (n,), in the form of `row_kernels.kernel_view`.
            actions: int64, shape (n,): is written.
        """
        raise NotImplementedError


class RowByRow(ABC):
    """A player that is asked for one row after another: what is left to the class is `decide`."""

    wants_tables: ClassVar[bool] = False

    @as_batch
    def act(self, observation: np.ndarray, mask: np.ndarray, seeds: Any, *, tables: np.recarray | None = None) -> np.ndarray:
        """See `Player.act`; raises what `decide` raises, and the rows behind are not decided then."""
        rows = zip(observation, mask, repeat(None) if tables is None else tables, seeds.tolist(), strict=False)
        return np.array([self.decide(*row) if row[1].any() else NOBODY for row in rows], np.int64)

    @abstractmethod
    def decide(self, observation: np.ndarray, mask: np.ndarray, row: Any, seed: int) -> int:
        """The number of an action in a row; `row` is its table (`np.record`) if the class wants tables."""


@jit
def decision_seed(t, seating, decision, seed):
    """The number, 0 to 2**63 - 1, from which all that is random in a decision follows, where nobody keeps a generator.

    It is a function of a seed, of the seed, table, match and deal of the table, of who sits on each seat (`seating`, integers),
    and of the number of the decision.
    """
    seed, of_deal, who = int(seed), int(t.seed), 0
    for seat in range(t.n_seats):
        who = (who * BASE + int(seating[seat])) & MAX_SEED
    words = (who & MAX_TABLE, who >> 32, of_deal & MAX_TABLE, of_deal >> 32)
    key = philox(*words, seed & MAX_TABLE, seed >> 32)
    drawn = philox(int(decision), int(t.deal), int(t.match) & MAX_TABLE, int(t.table) & MAX_TABLE, key[0], key[1])
    return (drawn[0] << 31) | (drawn[1] >> 1)
