"""PettingZoo modules of the variants (`small_ships_v0.env()`), and their entries in PettingZoo's registry."""

from __future__ import annotations

import sys
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

import pettingzoo
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils.conversions import turn_based_aec_to_parallel

from noms_env.envs.aec import TrickTakingEnv, wrapped_env
from noms_env.variants import GAMES
from noms_env.version import ENV_VERSION


class EnvironmentModule(ModuleType):
    """A module `noms_env.<variant>_v0` with PettingZoo's functions; their arguments are those of `TrickTakingEnv`."""

    def __init__(self, variant: str) -> None:
        super().__init__(f"noms_env.{variant}_v{ENV_VERSION}", f"The environments of {variant}.")
        self.variant = variant
        sys.modules[self.__name__] = self

    def __repr__(self) -> str:
        return f"<module {self.__name__}: env, parallel_env and raw_env of {GAMES[self.variant].title}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the module by its name, so that `env` and `raw_env` can be sent to other processes."""
        return import_module, (self.__name__,)

    def env(self, **arguments: Any) -> AECEnv:
        """Return the environment in PettingZoo's usual wrappers: an illegal action ends the episode with a reward of -1."""
        return wrapped_env(self.variant, **arguments)

    def parallel_env(self, **arguments: Any) -> ParallelEnv:
        """Return the environment in PettingZoo's parallel form, for libraries that require it.

        It stays turn-based: a step takes an action of every agent and ignores all but that of the agent to act. The masks of
        all other agents are zeros. An illegal action of the agent to act ends the episode with a reward of -1.
        """
        return turn_based_aec_to_parallel(self.env(**arguments))

    def raw_env(self, **arguments: Any) -> TrickTakingEnv:
        """Return the bare environment: an illegal action raises an error and leaves the table unchanged."""
        return TrickTakingEnv(self.variant, **arguments)


MODULES = {variant: EnvironmentModule(variant) for variant in GAMES}


def environment_id(variant: str) -> str:
    """Return the id of a variant in the registries of PettingZoo and Gymnasium."""
    return f"noms/{variant}-v{ENV_VERSION}"


def register_environments() -> None:
    """Add the variants to PettingZoo's registry if it has one (from 1.27 on). A second call does nothing."""
    registry = getattr(pettingzoo, "aec_registry", None)
    if registry is None:
        return
    for variant in GAMES:
        name = environment_id(variant)
        if name not in registry:
            pettingzoo.register("aec", name, entry_point=partial(wrapped_env, variant))
