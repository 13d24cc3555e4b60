"""A player that takes the lowest legal action: low calls and low cards."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from noms_env.players.protocol import as_batch


class LowestPlayer:
    """Takes the lowest legal action."""

    wants_tables: ClassVar[bool] = False

    @as_batch
    def act(self, observation: np.ndarray, mask: np.ndarray, seeds: np.ndarray, *, tables: np.recarray | None = None) -> Any:
        """See `Player.act`."""
        return mask.argmax(axis=1)
