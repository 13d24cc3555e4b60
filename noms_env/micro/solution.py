"""Solutions: a strategy for each information set of a deal, as a file and as a player.

A file is safetensors with `key` (int64), `offset` (int64), `action` (int16) and `strategy` (float64), see `tree.Tree`. A JSON
document in its metadata describes the deal and the run (`SolutionInfo`).
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, get_origin, get_type_hints

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from noms_env._files import open_file, write_atomically
from noms_env._json import parse_json
from noms_env.core.actions import NUM_ACTIONS, brief
from noms_env.core.chance import MAX_SEED
from noms_env.micro.deal_setup import DealSetup
from noms_env.micro.tree import Tree
from noms_env.micro.tree_kernels import write_keys
from noms_env.observation.layout import layout_digest
from noms_env.players import NOBODY, as_batch
from noms_env.variants import Rules, RulesError, game, given_options, make_rules

FORMAT = "noms-solution/1"
KEY = "noms-solution"
"""Key of the document in the metadata."""
ARRAYS = {"key": np.int64, "offset": np.int64, "action": np.int16, "strategy": np.float64}


class SolutionFileError(ValueError):
    """A file without a usable solution; the message says why."""


@dataclass(frozen=True)
class SolutionInfo:
    """Metadata of a solution.

    Attributes:
        options: options that differ from their defaults.
        deal: index of the deal in the schedule, for exact-bid games.
        reward: `points` or `relative`.
        nash_conv: NashConv of the strategy, in points.
        uniform_nash_conv: NashConv of the uniform random policy, in points.
        values: expected reward of each seat.
        layout: digest of the observation layout.
    """

    variant: str
    seats: int
    options: dict[str, Any]
    dealer: int
    hand_size: int
    deal: int
    reward: str
    iterations: int
    nash_conv: float
    uniform_nash_conv: float
    values: list[float]
    layout: str

    @property
    def rules(self) -> Rules:
        """The rules of the table; raises RulesError if they are invalid."""
        return make_rules(game(self.variant), self.seats, self.options)


def describe_deal(setup: DealSetup) -> dict[str, Any]:
    """Return the fields of `SolutionInfo` that a deal determines."""
    row, rules = setup.table.row, setup.rules
    deal = {"dealer": setup.dealer, "hand_size": int(row.deal_size), "deal": int(row.deal), "layout": layout_digest()}
    return {"variant": rules.variant.name, "seats": rules.seats, "options": given_options(rules), **deal}


def save_solution(path: Path, tree: Tree, strategy: np.ndarray, info: SolutionInfo) -> None:
    """Write a solution; the file appears only when it is complete."""
    order = np.argsort(tree.key)
    counts = np.diff(tree.offset)[order]
    offset = np.concatenate([[0], np.cumsum(counts)])
    slots = np.repeat(tree.offset[:-1][order] - offset[:-1], counts) + np.arange(offset[-1])
    arrays = {"key": tree.key[order], "offset": offset, "action": tree.action[slots], "strategy": strategy[slots]}
    document = json.dumps({"format": FORMAT, **asdict(info)})
    content = save({name: np.ascontiguousarray(arrays[name], kind) for name, kind in ARRAYS.items()}, {KEY: document})
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content)


def read_solution(path: Path) -> tuple[SolutionInfo, dict[str, np.ndarray]]:
    """Read the metadata and the arrays of a file; `SolutionFileError` if it has no solution that can be used."""
    try:
        open_file(path).close()
        with safe_open(str(path), framework="numpy") as opened:
            document = parse_json((opened.metadata() or {}).get(KEY, "null"))
            arrays = {name: opened.get_tensor(name) for name in ARRAYS}
        if not isinstance(document, dict) or document.pop("format", None) != FORMAT:
            raise ValueError(f"its format is not {FORMAT}")
        wrong = document.keys() ^ {field.name for field in fields(SolutionInfo)}
        if wrong:
            raise ValueError(f"its metadata lacks the key {brief(min(wrong))} or must not have it")
        info = SolutionInfo(**document)
        _check_info(info)
        if info.layout != layout_digest():
            raise ValueError("it was made for other observations: solve the game again")
        _ = info.rules
        _check(arrays)
    except (OSError, SafetensorError, ValueError, TypeError, RulesError) as error:
        raise SolutionFileError(f"{path} holds no solution that can be used here: {' '.join(str(error).split())}") from error
    return info, arrays


def _check_info(info: SolutionInfo) -> None:
    for name, kind in get_type_hints(SolutionInfo).items():
        value = getattr(info, name)
        if not isinstance(value, (int, float) if kind is float else get_origin(kind) or kind) or isinstance(value, bool):
            raise ValueError(f"its {name} is {brief(value)}")
    if not all(isinstance(value, int | float) for value in info.values):
        raise ValueError(f"its values are {brief(info.values)}")


def _check(arrays: dict[str, np.ndarray]) -> None:
    key, offset, action, strategy = (arrays[name] for name in ARRAYS)
    if any(arrays[name].dtype != kind or arrays[name].ndim != 1 for name, kind in ARRAYS.items()):
        raise ValueError("its arrays have other types")
    if (
        not 0 < len(key) == len(offset) - 1
        or (offset < 0).any()
        or (key[1:] <= key[:-1]).any()
        or (np.diff(offset) < 2).any()
        or offset[0] != 0
    ):
        raise ValueError("its information sets are not in order")
    if len(action) != offset[-1] or len(strategy) != offset[-1] or ((action < 0) | (action >= NUM_ACTIONS)).any():
        raise ValueError("its actions are missing or unknown")
    if not (strategy >= 0).all() or not np.allclose(np.add.reduceat(strategy, offset[:-1]), 1):
        raise ValueError("its probabilities do not sum to 1")


class SolvedPlayer:
    """Player of a solution, for single deals with its rules and hand size, and any dealer; `info` is its metadata."""

    wants_tables = False

    def __init__(self, file: str | None = None) -> None:
        """Read a solution; errors as in `read_solution`, also if `file` is missing."""
        if not file:
            raise SolutionFileError("the player solved needs a solution: give solved:FILE")
        self.info, arrays = read_solution(Path(file))
        self._key, self._offset, self._action, self._strategy = (arrays[name] for name in ARRAYS)

    def __repr__(self) -> str:
        return f"<SolvedPlayer: {self.info.variant} with {self.info.seats} seats, {len(self._key)} information sets>"

    @property
    def rule_sets(self) -> tuple[Rules, ...]:
        """The rules that the player supports."""
        return (self.info.rules,)

    @property
    def reward(self) -> str:
        """The reward of the solution: `points` or `relative`."""
        return self.info.reward

    @property
    def hand_size(self) -> int:
        """Cards per seat in the deals that the player supports."""
        return self.info.hand_size

    def probabilities(self, observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """See `noms_env.players.TellsProbabilities`.

        Raises:
            ValueError: an observation is not from the solved deal.
        """
        seen, legal = np.atleast_2d(observation), np.atleast_2d(mask)
        counts = np.count_nonzero(legal, axis=1)
        chances = np.where(counts[:, None] == 1, legal, 0).astype(np.float32)
        rows = np.flatnonzero(counts > 1)
        keys = np.empty(len(rows), np.int64)
        write_keys(np.ascontiguousarray(seen[rows]).view(np.int64), keys)
        places = np.minimum(np.searchsorted(self._key, keys), len(self._key) - 1)
        if (self._key[places] != keys).any():
            raise ValueError(
                f"the solution is for single deals of {self.info.variant} with {self.info.hand_size} cards per seat, "
                "but this observation is from another deal"
            )
        for row, place in zip(rows, places, strict=True):
            slots = slice(self._offset[place], self._offset[place + 1])
            if not legal[row, self._action[slots]].all():
                raise ValueError(f"the solution has actions that are not legal: {brief(self._action[slots].tolist())}")
            chances[row, self._action[slots]] = self._strategy[slots]
        return chances[0] if np.ndim(mask) == 1 else chances

    @as_batch
    def act(self, observation: np.ndarray, mask: np.ndarray, seeds: Any, *, tables: Any = None) -> np.ndarray:
        """See `noms_env.players.Player`; raises ValueError as `probabilities` does."""
        drawn = seeds / MAX_SEED
        below = np.cumsum(self.probabilities(observation, mask), axis=1, dtype=np.float64)
        actions = (below <= (drawn * below[:, -1])[:, None]).sum(axis=1)
        last = NUM_ACTIONS - 1 - (mask[:, ::-1] != 0).argmax(axis=1)
        return np.where(mask.any(axis=1), np.minimum(actions, last), NOBODY)
