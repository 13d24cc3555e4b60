"""The modules of the games by their names, such as `small_ships_v0`; `games.pyi` says what their functions take."""

from __future__ import annotations

from noms_env.envs.modules import MODULES
from noms_env.version import ENV_VERSION

globals().update({f"{variant}_v{ENV_VERSION}": module for variant, module in MODULES.items()})
