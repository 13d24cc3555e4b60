"""Groups of tables with the same rules: a mixed batch has several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from noms_env.envs.common import make_table
from noms_env.variants import Rules
from noms_env.variants.table_record import new_tables


class TableGroup(NamedTuple):
    """Tables of a mixed batch that play by the same rules.

    Attributes:
        variant: name of the game.
        seats: number of seats; None for the variant's default.
        options: options of the variant that differ from their defaults, and `hand_size` as in `BatchEnv`; None for none.
        share: of the tables, above 0, relative to the shares of the other groups.
    """

    variant: str
    seats: int | None = None
    options: Mapping[str, Any] | None = None
    share: float = 1.0


@dataclass(frozen=True)
class RowGroup:
    """Rows of a batch that play by the same rules."""

    rules: Rules
    rows: slice

    def __str__(self) -> str:
        return f"{self.rows.stop - self.rows.start} tables of {self.rules.variant.name} ({self.rules.summary})"


def row_groups(tables: int, groups: Sequence[TableGroup], seed: int, episode: str) -> tuple[list[RowGroup], np.recarray]:
    """Return the rows of each group, in order, and one table record per group, marked as over.

    Raises:
        ValueError: a share is not above 0, or a group gets no table.
    """
    shares = np.array([group.share if isinstance(group.share, int | float | np.number) else 0 for group in groups], float)
    if len(shares) == 0 or not np.isfinite(shares).all() or (shares <= 0).any():
        raise ValueError("every group of tables needs a share above 0")
    ends = np.round(np.cumsum(shares) / shares.sum() * tables).astype(int).tolist()
    filled, models = [], new_tables(len(groups))
    for i, (group, start, end) in enumerate(zip(groups, [0, *ends], ends, strict=False)):
        if start == end:
            raise ValueError(f"{tables} tables are too few for {len(groups)} groups: {group.variant} gets none")
        model = make_table(group.variant, group.seats, group.options or {}, episode, seed)
        models[i] = model.row
        filled.append(RowGroup(model.rules, slice(start, end)))
    models.over = 1
    return filled, models
