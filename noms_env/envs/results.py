"""Rewards and public information after a scored deal."""

from __future__ import annotations

from typing import Any

import numpy as np

from noms_env.core.actions import CALL_WORDS
from noms_env.core.cards import CARD_WORDS
from noms_env.table import Table
from noms_env.variants.families import PLAIN


def deal_rewards(reward: str, points: np.ndarray, over: np.ndarray, winners: np.ndarray) -> np.ndarray:
    """Return the rewards of all seats for deals just scored: float64, shape (m, seats).

    Args:
        reward: `points`, `relative` or `outcome`.
        points: float64, shape (m, seats).
        over: whether the deal ends the episode, bool, shape (m,).
        winners: of the episode, bit sets of seats, shape (m,).
    """
    if reward == "points":
        return points
    if reward == "relative":
        others = points.sum(axis=1, keepdims=True) - points
        return np.asarray(points - others / (points.shape[1] - 1))
    flags = members(winners, points.shape[1])
    return np.where(over[:, np.newaxis], flags / np.maximum(flags.sum(axis=1, keepdims=True), 1), 0.0)


def members(sets: np.ndarray, seats: int) -> np.ndarray:
    """Convert bit sets of seats, shape (m,), to bool, shape (m, seats)."""
    flags: np.ndarray = (sets[:, np.newaxis] >> np.arange(seats)) & 1 != 0
    return flags


def public_result(table: Table) -> dict[str, Any]:
    """Return the public information on the deal just scored.

    An entry has the same type in all deals of a game, since learners store infos in arrays.
    """
    row, n = table.row, table.seats
    words = CARD_WORDS[table.deck_kind]
    first = max(int(row.trick_number) - 1, 0) * n
    result = {
        "deal": int(row.deal),
        "dealer": int(row.dealer),
        "hand_size": int(row.deal_size),
        "multiplier": int(row.multiplier),
        "contract": CALL_WORDS[row.contract] if row.contract >= 0 else None,
        "declarer": int(row.declarer),
        "trump": table.trump_word(),
        "nominated": words[row.nominated] if row.nominated >= 0 else None,
        "partner": int(row.partner),
        "calls": [CALL_WORDS[call] if call >= 0 else None for call in row.call[:n]],
        "last_trick": [words[card] if card >= 0 else None for card in row.order[first : first + n]],
        "tricks": row.tricks[:n].tolist(),
        "points": row.points[:n].tolist(),
        "totals": row.totals[:n].tolist(),
    }
    if row.reveal_stock_at_end:
        result["stock"] = table.card_words(row.stock)
    return result


def public_end(table: Table) -> dict[str, np.ndarray]:
    """Return the public information at the end of an episode: `winners`, in sniped whist also `sniped`; bool, (seats,)."""
    names = ["winners", "sniped"] if table.rules.variant.family == PLAIN else ["winners"]
    return {name: members(table._kernel_rows[name], table.seats)[0] for name in names}


def copy_result(result: dict[str, Any]) -> dict[str, Any]:
    """Return an independent copy of a public result."""
    return {key: value.copy() if type(value) is list else value for key, value in result.items()}
