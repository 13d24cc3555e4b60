"""The two players that search (`kernel`)."""

from __future__ import annotations

from collections import deque
from typing import Any, ClassVar

import numpy as np

from noms_env._threads import RowThreads
from noms_env.core.actions import is_integer
from noms_env.players.protocol import RowsPlayer, row_seeds
from noms_env.search.pimc import LONG, NOTHING, new_work, search_rows

MOST_WORLDS = 10_000


class FlatMC(RowsPlayer):
    """Tries every action in some worlds, played out by rule of thumb; takes that of `thumb`, or one that is clearly better."""

    endings: ClassVar[int] = NOTHING
    """Which endings it solves."""
    reward: ClassVar[str] = "relative"
    """What it plays for: points less the mean of the others'."""

    def __init__(self, worlds: int = 20, threads: int = 1) -> None:
        """Set up the player.

        Args:
            worlds: layouts of the unseen cards that each action is tried in; with only one, cards are played by `thumb`.
            threads: that share the rows of a batch; what is chosen does not depend on it.

        Raises:
            ValueError: one of them is not a whole number from 1 to 10000 (threads: 64).
        """
        self.worlds = checked_number("worlds", worlds, MOST_WORLDS)
        self.threads = checked_number("threads", threads, 64)
        self._spare = deque[Any]()  # working memory that no search is using; several threads may ask the player at once
        self._row_threads = RowThreads(self.threads)

    def write_actions(self, mask: np.ndarray, rng: np.random.Generator, tables: Any, actions: np.ndarray) -> None:
        self._search(tables, row_seeds(rng, len(tables)), actions)

    def _search(self, tables: np.ndarray, seeds: np.ndarray, actions: np.ndarray) -> None:
        def search(first: int, end: int, _part: int) -> None:
            try:
                work = self._spare.pop()
            except IndexError:
                work = new_work(self.worlds)
            search_rows(tables, first, end, seeds, self.endings, work, actions)
            self._spare.append(work)

        self._row_threads.run(len(tables), search)


class PIMC(FlatMC):
    """The same, but solves the worlds exactly once few cards are left."""

    endings: ClassVar[int] = LONG


def checked_number(name: str, number: Any, most: int) -> int:
    """A parameter from 1 to `most`; ValueError if it is none."""
    if not is_integer(number) or not 1 <= number <= most:
        raise ValueError(f"{name} must be a whole number from 1 to {most}, not {number!r}")
    return int(number)
