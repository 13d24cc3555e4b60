"""Two players written in Python: `noms evaluate examples/own_player.py:lowest examples/own_player.py:make`.

`lowest` is the shortest form: a function for one decision. `make` returns a player that answers many tables in one call, which
is faster. Both use only the observation; `docs/environments/common.md` explains its bytes.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from noms_env.core.actions import MIS, NUMBER
from noms_env.players import as_batch


def lowest(observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> int:
    """Return the lowest legal action; observation, uint8 (1072,), and mask, int8 (150,), are those of the seat to act."""
    return int(mask.argmax())


class Modest:
    """A player that makes the lowest legal bid, and plays a uniformly random legal card."""

    wants_tables: ClassVar[bool] = False

    @as_batch
    def act(self, observation: np.ndarray, mask: np.ndarray, seeds: np.ndarray, *, tables: np.recarray | None = None) -> Any:
        """Return one action for each row; see `noms_env.players.Player.act` for the arguments."""
        legal, numbers = mask != 0, mask[:, NUMBER:MIS] != 0
        choices = np.maximum(legal.sum(axis=1), 1)  # a row in which no seat is to act has no legal action
        drawn = seeds % choices  # the row's seed decides all random choices in it
        any_legal = (legal.cumsum(axis=1) > drawn[:, np.newaxis]).argmax(axis=1)
        return np.where(numbers.any(axis=1), NUMBER + numbers.argmax(axis=1), any_legal)


def make() -> Modest:
    """Return a player for one block of deals; each block gets a new one."""
    return Modest()
