"""`noms demo`: one deal of each game."""

from __future__ import annotations

from training.commands.common import OK, print_lines
from training.commands.replay import deal_lines

FIRST_TRICKS = 2
CARDS = 5
"""Deals of fewer cards are passed over: the first deals of some games have one."""


def demo(seed: int = 0) -> int:
    """Play one deal of each of the seven games with random players, and show it.

    Args:
        seed: 0 to 2**63 - 1.
    """
    from noms_env.record import record_matches
    from noms_env.state import VARIANTS

    for variant in VARIANTS:
        records = record_matches(variant, seed=seed)
        print_lines(deal_lines(next(record for record in records if record["hand_size"] >= CARDS), most_tricks=FIRST_TRICKS))
    return OK
