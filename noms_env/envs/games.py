"""The modules of the games by name, such as `small_ships_v0`; `games.pyi` has the signatures of their functions."""

from __future__ import annotations

from noms_env.envs.modules import MODULES
from noms_env.version import ENV_VERSION

globals().update({f"{variant}_v{ENV_VERSION}": module for variant, module in MODULES.items()})
