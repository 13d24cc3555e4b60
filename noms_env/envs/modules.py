"""Each variant's environment under its name and version, in PettingZoo's form (`small_ships_v0.env()`), and its registry."""

from __future__ import annotations

import sys
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

import pettingzoo
from pettingzoo import AECEnv

from noms_env.core.state import VARIANTS
from noms_env.envs.aec import TrickTakingEnv
from noms_env.envs.wrappers import wrapped
from noms_env.version import ENV_VERSION


class EnvironmentModule(ModuleType):
    """A module as PettingZoo users expect it, `noms_env.<variant>_v0`, with `env` and `raw_env`.

    Seven files that differ in a name would say no more, so that the modules are made here.

    Attributes:
        variant: name of the game.
    """

    def __init__(self, variant: str) -> None:
        """Make the module and enter it among the imported ones."""
        super().__init__(f"noms_env.{variant}_v{ENV_VERSION}", f"The environments of {variant}.")
        self.variant = variant
        sys.modules[self.__name__] = self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by name, so that `env` and `raw_env` can be handed to other processes."""
        return import_module, (self.__name__,)

    def env(self, **arguments: Any) -> AECEnv:
        """The environment in PettingZoo's usual wrappers.

        Args:
            **arguments: see `noms_env.envs.aec.TrickTakingEnv`; options of the variant by their names.
        """
        return wrapped(self.variant, **arguments)

    def raw_env(self, **arguments: Any) -> TrickTakingEnv:
        """The bare environment: an illegal action raises a sentence and harms nothing.

        Args:
            **arguments: see `noms_env.envs.aec.TrickTakingEnv`; options of the variant by their names.
        """
        return TrickTakingEnv(self.variant, **arguments)


sniped_whist_v0 = EnvironmentModule("sniped_whist")
big_ships_v0 = EnvironmentModule("big_ships")
small_ships_v0 = EnvironmentModule("small_ships")
noms_v0 = EnvironmentModule("noms")
nonesuch_v0 = EnvironmentModule("nonesuch")
down_up_v0 = EnvironmentModule("down_up")
up_down_v0 = EnvironmentModule("up_down")


def environment_id(variant: str) -> str:
    """The id of a variant in PettingZoo's registry."""
    return f"noms/{variant}-v{ENV_VERSION}"


def register_environments() -> None:
    """Enter the variants into PettingZoo's registry, where it has one (from 1.27 on); doing it twice is harmless."""
    registry = getattr(pettingzoo, "aec_registry", None)
    if registry is None:
        return
    for variant in VARIANTS:
        name = environment_id(variant)
        if name not in registry:
            pettingzoo.register("aec", name, entry_point=partial(wrapped, variant))
