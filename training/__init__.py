"""Self-play training for the environments of `noms_env`, and the `noms` command."""

from __future__ import annotations

from typing import Any

__all__ = ["load_player"]

if __name__ == "training":  # a second name would load each module twice
    raise ImportError("the package in the folder `training` is imported as `noms_training`")


def __getattr__(name: str) -> Any:
    """Import `load_player` from `noms_env` on first use, so that the command `noms` starts without `noms_env`."""
    if name != "load_player":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from noms_env import load_player

    return load_player
