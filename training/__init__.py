"""Self-play training for the environments of `noms_env`, and the `noms` command."""

from __future__ import annotations

from typing import TYPE_CHECKING

if __name__ == "training":  # a second copy of each module, whose classes are not those of the first
    raise ImportError("the package in the folder `training` is imported as `noms_training`")

if TYPE_CHECKING:
    from noms_env.players import Player


def load_player(name: str, limit: float | None = None) -> Player:
    """Any player that `noms evaluate` knows: also your own, as `MODULE:FUNCTION`, a registered name or `cmd:PROGRAM`.

    Args:
        name: see `noms_env.load_player` for the players of the package and policies.
        limit: seconds that a program has for a decision; 10 when None.

    Raises:
        ValueError: there is no such player, or it cannot be loaded or started.
    """
    from .agents.registry import agent_spec

    return agent_spec(name, limit).make()


__all__ = ["load_player"]
