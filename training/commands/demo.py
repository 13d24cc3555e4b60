"""`noms demo`: one deal of each game."""

from __future__ import annotations

from training.commands.common import OK, print_lines, wrong_arguments
from training.commands.replay import deal_lines

FIRST_TRICKS = 2
CARDS = 5
"""Deals of fewer cards are passed over: the first deals of some games have one."""


def demo(seed: int = 0) -> int:
    """Play one deal of each of the seven games with random players, and show it.

    Args:
        seed: 0 to 2**63 - 1.
    """
    from noms_env.chance import MAX_SEED, checked_seed
    from noms_env.record import record_matches
    from noms_env.state import VARIANTS

    with wrong_arguments():
        checked_seed(seed)
    for place, variant in enumerate(VARIANTS):
        # Games with the same deck would be dealt the same hands by the same seed.
        records = record_matches(variant, seed=(seed + place) % (MAX_SEED + 1))
        print_lines(deal_lines(next(record for record in records if record["hand_size"] >= CARDS), most_tricks=FIRST_TRICKS))
    return OK
