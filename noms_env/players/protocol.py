"""The protocol of players: many rows at once, or one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import wraps
from inspect import signature
from itertools import repeat
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeVar, cast, runtime_checkable

import numpy as np

from noms_env._jit import jit
from noms_env.belief.determinize import copy_shown_tables, is_played_out
from noms_env.core.chance import MAX_SEED, MAX_TABLE, Seeds, draw_seeds, philox
from noms_env.engine.row_kernels import kernel_view
from noms_env.variants.table_record import new_tables

if TYPE_CHECKING:
    from noms_env.table import Table

BASE = 509
"""Maximum number of players for which `decision_seed` distinguishes all seatings: 509 to the power of 7 is below 2**63."""
NOBODY = -1  # the answer for a row in which nobody is to act: its mask is all zeros


class Player(Protocol):
    """A player, at one table or at thousands."""

    @property
    def wants_tables(self) -> bool:
        """Whether `act` needs `tables`; False if observation and mask are enough."""

    def act(self, observation: np.ndarray, mask: np.ndarray, seeds: Any, *, tables: np.recarray | None = None) -> Any:
        """Choose an action in each row.

        Args:
            observation: views of the seats to act, uint8, shape (n, OBSERVATION_SIZE).
            mask: 1 for each legal action, int8, shape (n, NUM_ACTIONS).
            seeds: source of all randomness in each row, int64, shape (n,), from 0 to 2**63 - 1.
            tables: the tables, with the cards that the seat to act has not seen sampled (`belief.determinize.sampled_tables`),
                shape (n,).

        Returns:
            Numbers of legal actions, int64, shape (n,). For one row, with arrays that lack the leading axis, one seed and one
            table (`Table.determinize`), an int.

        Raises:
            ValueError: `tables` are needed and missing, or the numbers of rows differ.
        """


@runtime_checkable
class TellsProbabilities(Protocol):
    """A player that returns the probabilities of its actions, as policies do (`PolicyPlayer.probabilities`)."""

    def probabilities(self, observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Return float32, shape (n, NUM_ACTIONS), for rows as in `Player.act`; draws nothing."""


class ActionValue(NamedTuple):
    """Expected value of an action by a search: points of the seat less the mean of the others' points, in this deal.

    `error` is the standard error of the difference from the prior's favourite action: 0 for that action, NaN for an action
    tried in a single world.
    """

    action: int
    mean: float
    error: float


@runtime_checkable
class TellsValues(Protocol):
    """A player that returns the values of its actions, as the search on a policy does."""

    def values(self, observation: np.ndarray, mask: np.ndarray, seed: int, *, tables: np.recarray) -> list[ActionValue]:
        """Return the values of one row and table, best first, one per class of equivalent actions; empty without a choice."""


class SearchOutput(NamedTuple):
    """Output of a search for B rows, as targets for a network; A = NUM_ACTIONS.

    Attributes:
        action: int64, shape (B,): the actions taken, as from `Player.act`.
        action_weights: float32, shape (B, A): probability of each action; rows without legal actions have zeros.
        value: float32, shape (B,): expected points of the seat less the mean of the others' points in this deal, without the
            multiplier; NaN without a search.
    """

    action: np.ndarray
    action_weights: np.ndarray
    value: np.ndarray


@runtime_checkable
class TellsTargets(Protocol):
    """A player that returns its search results, as the search on a policy does."""

    def targets(self, observation: np.ndarray, mask: np.ndarray, seeds: np.ndarray, *, tables: np.recarray) -> SearchOutput:
        """Return the search output of n rows; its actions are those of `Player.act` with the same arguments."""


@runtime_checkable
class Remembers(Protocol):
    """A player that learns from earlier deals of the match, as the search on a policy does.

    The player is stateless. The caller stores its memory (`recalled`), and asks the player that `with_memory` returns;
    `record_matches` and `noms evaluate`, `export`, `play` and `watch` do so.
    """

    def recall(self, tables: np.recarray) -> np.ndarray:
        """Return the memory of finished deals, float64, shape (n, ...); memories of a match's deals add up.

        `tables`, shape (n,), are with all public cards (`belief.determinize.copy_shown_tables`).
        """

    def with_memory(self, memory: np.ndarray) -> Player:
        """Return the player with a memory, shape (n, ...), for the n rows of its next call."""


def recalled(player: Player, tables: np.recarray | np.record, before: np.ndarray | None = None) -> np.ndarray | None:
    """Return a player's memory of a match after finished deals; None for a player without memory.

    `tables` are of shape (n,), or one; deals that are not over, or ended with cards unplayed, add nothing to `before`.
    """
    if not isinstance(player, Remembers):
        return None
    batch = as_rows(tables)
    rows = np.flatnonzero(is_played_out(batch))
    new_memory = player.recall(copy_shown_tables(batch, rows))
    memory = np.zeros((len(batch), *new_memory.shape[1:])) if before is None else before.copy()
    memory[rows] += new_memory
    return memory


def ask(player: Player, table: Table, rng: np.random.Generator, memory: np.ndarray | None = None) -> int:
    """Return a player's action for the seat to act at one table, which is not changed.

    `rng` is the player's random generator, `memory` one row, its memory of this match from `recalled`.
    """
    player = with_memory(player, memory)
    sampled = table.determinize(rng) if player.wants_tables else None
    return int(player.act(*table.view(int(table.row.seat)), draw_seeds(rng, 1)[0], tables=sampled))


def with_memory(player: Player, memory: np.ndarray | None) -> Player:
    """Return the player with its memory, if there is one."""
    return player if memory is None or not isinstance(player, Remembers) else player.with_memory(memory)


def as_rows(tables: np.recarray | np.record) -> np.recarray:
    """Return tables, shape (n,), unchanged, or one table as an array of one."""
    if isinstance(tables, np.ndarray) and tables.ndim == 1:
        return tables.view(np.recarray)
    rows = new_tables(1)
    rows[0] = tables
    return rows


ActT = TypeVar("ActT", bound=Callable[..., Any])


def as_batch(act: ActT) -> ActT:
    """Decorate a batched `act`: check its arguments, and accept a single row too.

    The wrapped method gets arrays of n rows, and `tables` if it needs them. A generator passed as `seeds` draws them
    (`draw_seeds`). For one row the result is an int, so type checkers see `Any`.
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
        observations, masks = np.asarray(observation), np.asarray(mask)
        rows = None if tables is None else as_rows(tables)
        is_single = masks.ndim == 1
        if is_single:
            observations, masks = observations[np.newaxis], masks[np.newaxis]
        if len(observations) != len(masks) or (rows is not None and len(rows) != len(masks)):
            with_tables = "" if rows is None else f" and {len(rows)} tables"
            raise ValueError(
                f"observation, mask and tables must have equal lengths, not {len(observations)}, {len(masks)}{with_tables}"
            )
        actions = act(self, observations, masks, draw_seeds(seeds, len(masks)), tables=rows)
        return int(actions[0]) if is_single else actions

    return cast(ActT, checked)


class GeneratorPlayer:
    """Adapter for the older `act(observation, mask, rng, *, tables)`: makes the random generator from the seeds."""

    def __init__(self, player: Any) -> None:
        self.player, self.wants_tables, self.rule_sets = player, player.wants_tables, getattr(player, "rule_sets", None)

    def close(self) -> None:
        """Close the player, if it can be closed."""
        getattr(self.player, "close", lambda: None)()

    def act(self, observation: np.ndarray, mask: np.ndarray, seeds: np.ndarray, *, tables: np.recarray | None = None) -> Any:
        return self.player.act(observation, mask, np.random.default_rng(seeds), tables=tables)


def check_player(player: Any) -> Player:
    """Adapt a third-party player to the protocol with seeds; TypeError if it is no player, with what it lacks."""
    missing = [] if callable(getattr(player, "act", None)) else ["act(observation, mask, seeds, *, tables)"]
    if not isinstance(getattr(player, "wants_tables", None), bool):
        missing.append("wants_tables, True or False")
    if missing:
        raise TypeError(f"{type(player).__name__} lacks {' and '.join(missing)}")
    try:
        third_parameter = list(signature(player.act).parameters)[2:3]
    except (TypeError, ValueError):  # compiled code has no signature
        third_parameter = []
    checked: Player = GeneratorPlayer(player) if third_parameter == ["rng"] else player
    return checked


class RowsPlayer:
    """Base class of players with a compiled loop over rows; subclasses define `write_actions`.

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
        """Write an action for each row into `actions`, int64, shape (n,), `NOBODY` if nobody is to act.

        `mask` is int8, shape (n, NUM_ACTIONS), `seeds` int64, shape (n,), and `tables`, shape (n,), as
        `row_kernels.kernel_view` makes them, for players that need them.
        """
        raise NotImplementedError


class RowByRow(ABC):
    """Base class of players that decide row by row; subclasses define `decide`."""

    wants_tables: ClassVar[bool] = False

    @as_batch
    def act(self, observation: np.ndarray, mask: np.ndarray, seeds: Any, *, tables: np.recarray | None = None) -> np.ndarray:
        """See `Player.act`; errors of `decide` are not caught."""
        rows = zip(observation, mask, repeat(None) if tables is None else tables, seeds.tolist(), strict=False)
        return np.array([self.decide(*row) if row[1].any() else NOBODY for row in rows], np.int64)

    @abstractmethod
    def decide(self, observation: np.ndarray, mask: np.ndarray, row: Any, seed: int) -> int:
        """Return the action in a row; `row` is its table (`np.record`) if the class needs tables."""


@jit
def decision_seed(t, seating, decision, seed):
    """Return a counter-based seed of a decision, 0 to 2**63 - 1, for callers without a random generator.

    It depends on all arguments: of the table on seed, table, match and deal; `seating` is the number of each seat's player.
    """
    seed, deal_seed, seating_key = int(seed), int(t.seed), 0
    for seat in range(t.n_seats):
        seating_key = (seating_key * BASE + int(seating[seat])) & MAX_SEED
    words = (seating_key & MAX_TABLE, seating_key >> 32, deal_seed & MAX_TABLE, deal_seed >> 32)
    key = philox(*words, seed & MAX_TABLE, seed >> 32)
    block = philox(int(decision), int(t.deal), int(t.match) & MAX_TABLE, int(t.table) & MAX_TABLE, key[0], key[1])
    return (block[0] << 31) | (block[1] >> 1)
