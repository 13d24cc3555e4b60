"""Bounds that OpenSpiel wants to know of a deal: its points, and how many decisions it has."""

from __future__ import annotations

from noms_env.interop.open_spiel.deal_setup import DealSetup


def point_range(setup: DealSetup) -> tuple[float, float]:
    """Bounds of the points that a seat can get in a deal."""
    low, high = setup.rules.variant.point_range(setup.rules.options, int(setup.table.row.hand_size))
    return float(low), float(high)


def most_decisions(setup: DealSetup) -> int:
    """A bound of the decisions in a deal."""
    rules, tricks = setup.rules, int(setup.table.row.hand_size)
    return rules.variant.max_decisions(rules.options, rules.seats, tricks, setup.capacities[-1])
