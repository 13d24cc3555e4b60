"""Fakes for tests: players, their specs, rules of tables, and a pickle."""

from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from noms_env.variants import Rules, game, make_rules
from noms_training.agents.spec import AgentSpec


def rules(name: str, seats: int | None = None, **options: Any) -> Rules:
    return make_rules(game(name), seats, options)


class Touches:
    """A pickle that makes a file when it is loaded."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> Any:
        return Path.touch, (self.file,)


class First:
    """The lowest legal action."""

    wants_tables: ClassVar[bool] = False

    def act(self, observation: np.ndarray, mask: np.ndarray, seeds: np.ndarray, *, tables: Any = None) -> Any:
        return mask.argmax(axis=-1)


class LowestCard(First):
    """The legal card of the lowest rank; the lowest action before the play."""

    def act(self, observation: np.ndarray, mask: np.ndarray, seeds: np.ndarray, *, tables: Any = None) -> Any:
        rank = np.where(np.arange(mask.shape[1]) < 52, np.arange(mask.shape[1]) % 13, 0)
        return np.argmin(np.where(mask == 1, rank, 99), axis=1)


class Stubborn(First):
    """The lowest legal action; where seat 0 deals, an illegal action or an error."""

    wants_tables: ClassVar[bool] = True

    def __init__(self, raises: bool = False) -> None:
        self.raises = raises

    def act(self, observation: np.ndarray, mask: np.ndarray, seeds: np.ndarray, *, tables: Any = None) -> Any:
        if self.raises and (tables.dealer == 0).any():
            raise RuntimeError("no idea")
        return np.where(tables.dealer == 0, -1, mask.argmax(axis=1))


FIRST = AgentSpec("first", First)
LOWEST = AgentSpec("lowest", LowestCard)
STUBBORN = AgentSpec("stubborn", Stubborn)
