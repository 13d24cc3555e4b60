"""Players: who may sit at a table. They see only what their seat may see, and need no torch.

A player is called with an observation and its action mask, and answers with the number of a legal action.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from noms_env.players.random_player import RandomPlayer


class Player(Protocol):
    """What sits at a table."""

    def act(self, observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> int:
        """Choose an action.

        Args:
            observation: what the seat sees, uint8, shape (observation size,).
            mask: 1 for each legal action, int8, shape (NUM_ACTIONS,).
            rng: the player's own stream of random numbers.
        """
        ...


PLAYERS: dict[str, Callable[[], Player]] = {"random": RandomPlayer}
"""The players by name."""


def make_player(name: str) -> Player:
    """The player of that name.

    Raises:
        ValueError: there is none.
    """
    if name not in PLAYERS:
        raise ValueError(f"there is no player {name!r}; the players are {', '.join(PLAYERS)}")
    return PLAYERS[name]()


__all__ = ["PLAYERS", "Player", "RandomPlayer", "make_player"]
