"""Bounds that OpenSpiel wants to know of a deal: its points, and how many decisions it has."""

from __future__ import annotations

from noms_env.core.state import MAX_CALLS
from noms_env.interop.open_spiel.deal_setup import DealSetup


def point_range(setup: DealSetup) -> tuple[float, float]:
    """Bounds of the points that a seat can get in a deal (the scoring of each game in the rulebook)."""
    options, tricks = setup.rules.options, float(setup.table.row.hand_size)
    match setup.rules.variant.name:
        case "sniped_whist":
            if options["scoring"] == "place":
                return -1.0, 1.0
            return (0.0 if options["objective"] == "most" else -tricks) - options["snip_penalty"], tricks
        case "small_ships":
            value = options["misere_value"]
            price = 2 * max(tricks, value) if options["indication"] else 0
            return -(value + tricks) - price, max(tricks, 2 * value)
        case "noms":
            return (0.0 if options["mis_value"] == tricks else -(options["mis_value"] + tricks)), 2 * tricks
        case "nonesuch":
            return -tricks, 2 * tricks
        case _:
            return 0.0, tricks + 10


def most_decisions(setup: DealSetup) -> int:
    """A bound of the decisions in a deal: calls (rules 0.3), announcements, cards."""
    seats, tricks, options = setup.rules.seats, int(setup.table.row.hand_size), setup.rules.options
    cards = seats * tricks
    match setup.rules.variant.name:
        case "sniped_whist":
            return cards + 1
        case "small_ships" | "noms":
            bids = tricks - options["min_bid"] + 1 + (1 if setup.rules.variant.name == "small_ships" else 2)
            calls = min(max(bids * (seats - 1) + 1, seats), MAX_CALLS)
            refused = setup.capacities[-1] if options.get("stock_nomination") == "redraw" else 0
            return int(calls + 2 + refused + (1 if options.get("indication") else 0) + cards)
        case "nonesuch":
            return seats + 1 + tricks + cards
        case _:
            return seats + cards
