"""The AEC environments in PettingZoo's usual wrappers, with copies and states of the whole stack."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from pettingzoo import AECEnv
from pettingzoo.utils import wrappers

from noms_env.envs.aec import ILLEGAL_REWARD, TrickTakingEnv
from noms_env.variants import RulesError


def wrapped(variant: str, **arguments: Any) -> AECEnv:
    """The environment in PettingZoo's usual wrappers: an illegal action ends the episode with -1 for its agent.

    Args:
        variant: name of the game.
        **arguments: those of `TrickTakingEnv`, but for `illegal_action`.

    Raises:
        ValueError: an argument is not allowed; the message says what is.
    """
    if "illegal_action" in arguments:
        raise RulesError("illegal_action is an argument of raw_env; env ends the episode with a reward of -1")
    env: Any = TrickTakingEnv(variant, **arguments)
    env = wrappers.TerminateIllegalWrapper(env, illegal_reward=ILLEGAL_REWARD)
    env = wrappers.AssertOutOfBoundsWrapper(env)
    return RewindingWrapper(env)


class RewindingWrapper(wrappers.OrderEnforcingWrapper):
    """PettingZoo's outermost wrapper, with copies and states of the whole stack: its wrappers remember things too."""

    def __str__(self) -> str:
        """The name of the environment."""
        return str(self.unwrapped)

    def get_state(self) -> dict[str, Any]:
        """The whole state of the episode, for `set_state` of an environment with the same arguments.

        Raises:
            ValueError: there was no reset yet.
        """
        kept = [
            copy.deepcopy({name: value for name, value in vars(layer).items() if name != "env"}) for layer in self._layers()
        ]
        return {"environment": self.unwrapped.get_state(), "wrappers": kept}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore what `get_state` gave.

        Raises:
            ValueError: the state is of another kind of table; the environment is unharmed.
        """
        if not isinstance(state, Mapping) or set(state) != {"environment", "wrappers"}:
            raise ValueError("the state must come from get_state of an environment with the same wrappers")
        self.unwrapped.set_state(state["environment"])
        for layer, kept in zip(self._layers(), copy.deepcopy(state["wrappers"]), strict=True):
            vars(layer).update(kept)

    def clone(self) -> RewindingWrapper:
        """An independent environment in the same state, in the same wrappers."""
        return copy.deepcopy(self)

    def _layers(self) -> list[Any]:
        """The wrappers from the outermost to the innermost."""
        layers: list[Any] = [self]
        while isinstance(layers[-1].env, wrappers.BaseWrapper):
            layers.append(layers[-1].env)
        return layers
