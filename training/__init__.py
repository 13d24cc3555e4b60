"""Self-play training for the environments of `noms_env`, and the `noms` command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noms_env.policy.player import PolicyPlayer


def load_player(path_or_name: Path | str) -> PolicyPlayer:
    """The player of a policy file; see `noms_env.policy.player.load_player`."""
    import noms_env

    return noms_env.load_player(path_or_name)


__all__ = ["load_player"]
