"""The policy of this folder, for `noms evaluate`: player.py:player."""

from pathlib import Path

from noms_training.benchmark.task import player_of_run


def player():
    """The policy at the tables."""
    return player_of_run(Path(__file__).parent)


def other_player():
    """The same policy by the other convention, where the algorithm has it: drawn actions, or the most probable ones."""
    return player_of_run(Path(__file__).parent, "other_player")
