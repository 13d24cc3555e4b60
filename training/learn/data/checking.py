"""Whether the rows of a shard are decisions: a shard may come from anybody, and what learns from it trusts it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from noms_env.core.actions import NUM_ACTIONS, PHASES
from noms_env.core.state import MAX_SEATS
from noms_env.observation.layout import OBSERVATION, OBSERVATION_SIZE, layout_digest
from noms_env.variants import VARIANTS

from .decisions import Decisions

FORMAT = "noms-export/1"
MOST_ROWS = 1 << 20
"""Of a shard: it is read as a whole, and takes 1.9 GiB then."""
MOST_IN_ALL = 1 << 22
"""Rows of all shards that one run learns from: it holds them all in memory."""
MOST_BYTES = 16
"""Of a value in a shard of Parquet before it is compressed; four times as much where a row has only one, such as a text."""
ROUNDING = 1e-3
"""How far the sum of probabilities may be from 1: they are rounded."""
SOURCE: dict[str, type | tuple[type, ...]] = {
    **{"variant": str, "seats": int, "options": dict, "players": list, "matches": int, "seed": int, "first": int},
    "limit": (int, float, type(None)),
}
"""What a shard may say of where its decisions come from, and the types of that."""


class ShardError(ValueError):
    """A shard is refused; the message goes on after the name of the file."""


def check_about(about: Any) -> None:
    """Refuse what a shard says of itself, unless it has the form that an export of this version gives it; ShardError."""
    if not isinstance(about, dict) or about.get("format") != FORMAT or not isinstance(about.get("source"), dict):
        raise ShardError("is damaged: it does not say where its decisions come from")
    if about.get("layout") != layout_digest():
        raise ShardError(f"holds observations of another version ({about.get('environment')!r:.40}): export it anew")
    source = about["source"]
    wrong = [name for name, kind in SOURCE.items() if name in source and not isinstance(source[name], kind)]
    words = [] if wrong else [source.get("variant", ""), *source.get("players", []), *source.get("options", {})]
    if wrong or not all(isinstance(word, str) and word.isprintable() for word in words):
        raise ShardError(f"is damaged: what it says of {wrong[0] if wrong else 'its players'} makes no sense")


def _most_bytes() -> np.ndarray:
    """The highest value of each byte of an observation, as far as it is a flag or a card; uint8, shape (OBSERVATION_SIZE,)."""
    most = np.full(OBSERVATION_SIZE, 255, np.uint8)
    flags = "hand", "played", "exposed", "phase", "trump", "led_suit", "role", "variant"
    for section in OBSERVATION:
        part = most[section.slice].reshape(section.shape)
        if section.name in flags:
            part[...] = 1
        if section.name in ("hand", "played", "exposed", "trick_of", "previous_deal"):
            part[..., 52:] = 0
        if section.name == "on_table":
            part[:, :6], part[:, 7] = 1, 52
    return most


_MOST = _most_bytes()


def _between(low: float, high: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda values: (values >= low) & (values <= high)


_NUMBER = _between(0, np.inf)
ALLOWED: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "observation": lambda values: values <= _MOST,
    "action_mask": _between(0, 1),
    "action": _between(0, NUM_ACTIONS - 1),
    "points": np.isfinite,
    "relative_points": np.isfinite,
    "variant": lambda values: np.isin(values, VARIANTS),
    "seats": _between(2, MAX_SEATS),
    "seat": _between(0, MAX_SEATS - 1),
    "phase": lambda values: np.isin(values, PHASES),
    **dict.fromkeys(("record", "match", "deal", "step"), _NUMBER),
    "policy": _between(0, 1 + ROUNDING),
    "value": lambda values: ~np.isinf(values),
}
"""For each column, which of its values are allowed."""


def check_rows(rows: Decisions) -> None:
    """Refuse rows that are no decisions.

    Args:
        rows: some columns, of the types and widths of `COLUMNS` and `TARGETS`, and of one length (`read_shards` sees to it).

    Raises:
        ShardError: a value is not allowed, a row has no legal action, or an action or probability is of one that is not legal.
    """
    for name, values in rows.items():
        fits = ALLOWED[name](values).reshape(len(values), -1).all(axis=1)
        if not fits.all():
            raise ShardError(f"has a value of {name} in row {int(np.argmin(fits))} that it cannot have")
    if "action_mask" not in rows:
        return
    legal = rows["action_mask"] != 0
    faults = {"no legal action": ~legal.any(axis=1)}
    if "action" in rows:
        faults["an action that is not legal"] = ~legal[np.arange(len(legal)), rows["action"]]
    if "policy" in rows:
        policy = rows["policy"]
        faults["a probability of an action that is not legal"] = (policy * ~legal != 0).any(axis=1)
        total = policy.sum(axis=1, dtype=np.float64)
        faults["probabilities that are not 1 together"] = (total != 0) & (abs(total - 1) > ROUNDING)
    for fault, rows_with_it in faults.items():
        if rows_with_it.any():
            raise ShardError(f"has {fault} in row {int(np.argmax(rows_with_it))}")
