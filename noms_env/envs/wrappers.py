"""The AEC environments in PettingZoo's usual wrappers; copies and states include the wrappers."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
from pettingzoo import AECEnv
from pettingzoo.utils import wrappers
from pettingzoo.utils.env import AECIterable

from noms_env.core.actions import NUM_ACTIONS, brief, is_integer
from noms_env.envs.aec import TrickTakingEnv, describe
from noms_env.envs.common import ILLEGAL_REWARD, Observation, notebook
from noms_env.variants import RulesError


def wrapped_env(variant: str, **arguments: Any) -> AECEnv:
    """Return the environment in PettingZoo's usual wrappers.

    An illegal action ends the episode with a reward of -1 for its agent.

    Args:
        variant: name of the game.
        **arguments: those of `TrickTakingEnv` except `illegal_action`.

    Raises:
        ValueError: an argument is not allowed; the message lists the allowed values.
    """
    if "illegal_action" in arguments:
        raise RulesError("illegal_action is an argument of raw_env; env ends the episode with a reward of -1")
    env: Any = TrickTakingEnv(variant, **arguments)
    env._may_forfeit = True
    env = wrappers.TerminateIllegalWrapper(env, illegal_reward=ILLEGAL_REWARD)
    env = wrappers.AssertOutOfBoundsWrapper(env)
    return CopyableWrapper(env)


FLAGS = {"_has_reset", "_has_updated", "_has_rendered", "_terminated"}
"""Attributes of wrappers with flags on the episode."""
SEEN = {"_prev_obs", "_prev_info"}
"""Attributes of a wrapper with the last observation; it observes again if they are None."""


class CopyableWrapper(wrappers.OrderEnforcingWrapper):
    """PettingZoo's outermost wrapper, with copies and states that include the wrappers' own state."""

    def __str__(self) -> str:
        return str(self.unwrapped)

    def __repr__(self) -> str:
        return describe(self.unwrapped, "env")

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return notebook(self, self.unwrapped.render_seat, self.unwrapped.render_full)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        memory = self._memory()
        try:
            super().reset(seed=seed, options=options)
        except ValueError:
            self._remember(memory)
            raise

    def observe(self, agent: str) -> Observation:
        """Return the observation of an agent in new arrays, since the wrappers check actions against their own mask."""
        seen: Observation = copy.deepcopy(super().observe(agent))
        return seen

    def step(self, action: int | np.integer | None) -> None:
        if action is not None and not (is_integer(action) and 0 <= action < NUM_ACTIONS):
            raise AssertionError(f"action must be an integer from 0 to {NUM_ACTIONS - 1}, not {brief(action)}")
        super().step(action)

    def agent_iter(self, max_iter: int = 2**63) -> AECIterable:
        """Iterate over the agents in turn. A loop may begin in mid-episode, as with a copy made within another loop."""
        agents = super().agent_iter(max_iter)
        self._has_updated = True
        return agents

    def get_state(self) -> dict[str, Any]:
        """Return a copy of the whole state of the episode, for `set_state` of an environment with the same arguments.

        Raises:
            ValueError: `reset` was not called yet.
        """
        return {"environment": self.unwrapped.get_state(), "wrappers": copy.deepcopy(self._memory())}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore a state from `get_state`.

        Raises:
            ValueError: the state is not from `get_state` of an environment with these rules; the environment is unchanged.
        """
        names = [set(memory) for memory in self._memory()]
        wrappers = state.get("wrappers") if isinstance(state, Mapping) and "environment" in state else None
        if not isinstance(wrappers, list) or [isinstance(memory, Mapping) and set(memory) for memory in wrappers] != names:
            raise ValueError("the state must come from get_state of an environment with the same wrappers")
        flags = [{name: value for name, value in memory.items() if isinstance(value, bool)} for memory in wrappers]
        if [set(memory) for memory in flags] != [{name for name in memory if name in FLAGS} for memory in wrappers]:
            raise ValueError("the state must come from get_state: the flags of its wrappers make no sense")
        self.unwrapped.set_state(state["environment"])
        self._remember([memory | dict.fromkeys(SEEN & set(own)) for memory, own in zip(flags, wrappers, strict=True)])

    def clone(self) -> CopyableWrapper:
        """Return an independent environment in the same state, with its own wrappers."""
        return copy.deepcopy(self)

    def _memory(self) -> list[dict[str, Any]]:
        """Return the attributes of each wrapper, in the order of `_layers`."""
        return [{name: value for name, value in vars(layer).items() if name != "env"} for layer in self._layers()]

    def _remember(self, memory: list[dict[str, Any]]) -> None:
        for layer, attributes in zip(self._layers(), memory, strict=True):
            vars(layer).update(attributes)

    def _layers(self) -> list[Any]:
        """Return the wrappers, outermost first."""
        layers: list[Any] = [self]
        while isinstance(layers[-1].env, wrappers.BaseWrapper):
            layers.append(layers[-1].env)
        return layers
