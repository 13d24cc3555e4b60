"""Wrappers that put the suits of observations, masks and actions into canonical order (`observation.suit_order`).

With the French deck all side suits are equivalent under the rules, so a learner need not learn each of them separately. The
suits of the Decktet have different cards and keep their names.
"""

from __future__ import annotations

import copy
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorWrapper
from pettingzoo import AECEnv
from pettingzoo.utils.wrappers import BaseWrapper

from noms_env.core.actions import NUM_ACTIONS, brief, is_integer, plain_array
from noms_env.envs.batch import BatchEnv
from noms_env.envs.common import Observation
from noms_env.envs.gym.seat_vector import SeatVectorEnv
from noms_env.observation.feature_layout import FeatureLayout
from noms_env.observation.features import IDENTITY
from noms_env.observation.suit_order import orders_of_features


def canonical_suits(env: Any) -> Any:
    """Return an environment of features with its suits in canonical order, as a wrapper of the same kind.

    Features, masks and actions are renamed alike. Positions, pictures and the rest of the infos keep the suits of the table.
    Trump becomes suit 0, the others follow by length and cards of the hand dealt to the seat. With the Decktet nothing changes.

    Args:
        env: an AEC environment, `SeatEnv` (also in wrappers of Gymnasium) or `SeatVectorEnv`, with `observation="features"`.

    Raises:
        ValueError: `env` is a batch, has observations of bytes, or is an AEC environment with masks in its infos.
    """
    if isinstance(env, BatchEnv):
        on_gpu = "noms_env.cuda.canonical_suits.GpuCanonicalSuits(batch)"
        renamer = "CanonicalSuits(batch.feature_layout)" if env.device == "cpu" else on_gpu
        raise ValueError(f"a batch cannot be wrapped: rename its rows with {renamer}")
    layout = getattr(getattr(env, "unwrapped", None), "feature_layout", None)
    if layout is None:
        raise ValueError(f"canonical suits need an environment with observation='features', not {brief(env)}")
    if isinstance(env, AECEnv):
        if env.unwrapped._mask_in != "observation":
            raise ValueError("canonical suits of an AEC environment need mask_in='observation'")
        return CanonicalAEC(env, layout)
    return CanonicalVector(env, layout) if isinstance(env.unwrapped, SeatVectorEnv) else CanonicalSeat(env)


class CanonicalSuits:
    """Permutations of the suits of features, masks and actions, for one observation or many.

    Attributes:
        features: int64, shape (orders, n_features): `FeatureLayout.suit_orders`.
        actions: int64, shape (orders, NUM_ACTIONS): for each suit order, the table's action for each canonical action.
    """

    def __init__(self, layout: FeatureLayout) -> None:
        self.features, self.actions, self._places = layout.suit_orders(), layout.action_orders(), layout.suit_places()
        self._decktet = layout.decktet

    def orders(self, features: np.ndarray) -> np.ndarray:
        """Return the suit order of each row: int64, shape (n,), from features, scaled or not, shape (n, n_features)."""
        orders = np.empty(len(features), np.int64)
        orders_of_features(features, self._places, orders)
        if len(self._decktet):
            orders[(features[:, self._decktet] > 0).any(axis=1)] = IDENTITY
        return orders

    def rename(self, seen: Observation, info: dict[str, Any] | None = None) -> tuple[Observation, np.ndarray]:
        """Rename the suits of one observation, or of a batch of them; the `action_mask` in `info`, if any, is replaced.

        `seen` are features, uint8 or float32, shape (..., n_features), or a dictionary with them and the mask.

        Returns:
            The observation in new arrays, and the suit order of each row, int64, shape (n,): `actions[order]` maps canonical
            actions back to those of the table.
        """
        features = seen["observation"] if isinstance(seen, dict) else seen
        orders = self.orders(np.atleast_2d(features))
        renamed = _permute(features, self.features[orders])
        if info and "action_mask" in info:
            info["action_mask"] = _permute(info["action_mask"], self.actions[orders])
        if not isinstance(seen, dict):
            return renamed, orders
        return {"observation": renamed, "action_mask": _permute(seen["action_mask"], self.actions[orders])}, orders

    def meant(self, actions: Any, orders: np.ndarray) -> Any:
        """Return the tables' actions for canonical actions, shape (n,); anything that is no action is returned unchanged."""
        numbers = plain_array(actions)
        if numbers.shape != orders.shape or numbers.dtype.kind not in "iu":
            return actions
        known = (numbers >= 0) & (numbers < NUM_ACTIONS)
        return np.where(known, self.actions[orders, np.where(known, numbers, 0)], numbers)


def _permute(values: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Permute the values of each row, or of the only row if `values` has one dimension."""
    return np.take_along_axis(np.atleast_2d(values), places, 1).reshape(values.shape)


class CanonicalAEC(BaseWrapper):
    """An AEC environment with its suits in canonical order."""

    def __init__(self, env: AECEnv, layout: FeatureLayout) -> None:
        super().__init__(env)
        self._suits = CanonicalSuits(layout)

    def observe(self, agent: str) -> Observation:
        return self._suits.rename(self.env.observe(agent))[0]

    def step(self, action: Any) -> None:
        self.env.step(self._table_action(action))

    def legal_actions(self) -> list[int]:
        """Return the legal canonical actions of the seat to act, ascending."""
        legal: list[int] = self.unwrapped.legal_actions()
        return sorted(np.flatnonzero(np.isin(self._own_names(), legal)).tolist())

    def action_to_str(self, action: int) -> str:
        """Return the word of a canonical action of the seat to act."""
        return str(self.unwrapped.action_to_str(self._table_action(action)))

    def str_to_action(self, word: str, phase: str | None = None) -> int:
        """Return the canonical action of a word for the seat to act; `phase` as in `TrickTakingEnv.str_to_action`."""
        return int(np.flatnonzero(self._own_names() == self.unwrapped.str_to_action(word, phase))[0])

    def _own_names(self) -> np.ndarray:
        """Return the table's action for each canonical action of the seat to act: int64, shape (NUM_ACTIONS,)."""
        if not self.agents:
            return np.arange(NUM_ACTIONS)
        _, orders = self._suits.rename(self.env.observe(self.env.agent_selection))
        return np.asarray(self._suits.actions[orders[0]])

    def _table_action(self, action: Any) -> Any:
        if not is_integer(action) or not self.agents or not 0 <= action < NUM_ACTIONS:
            return action
        return int(self._own_names()[action])

    def clone(self) -> CanonicalAEC:
        """Return an independent environment in the same state, with its own wrappers."""
        return copy.deepcopy(self)


class _LearnerMethods:
    """Methods of both wrappers for learners; `_orders` are the suit orders of the last observations."""

    env: Any
    _suits: CanonicalSuits
    _orders: np.ndarray

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        seen, info = self.env.reset(seed=seed, options=options)
        return self._renamed(seen, info), info

    def action_masks(self) -> np.ndarray:
        """Return the legal actions after the last `reset` or `step`: bool, shape ([num_envs,] NUM_ACTIONS)."""
        return _permute(self.env.unwrapped.action_masks(), self._suits.actions[self._orders])

    def _renamed(self, seen: Any, info: dict[str, Any]) -> Any:
        renamed, self._orders = self._suits.rename(seen, info)
        return renamed


class CanonicalSeat(_LearnerMethods, gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """An environment for one learner with its suits in canonical order."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)  # so that `gymnasium.make(wrapped.spec)` includes this wrapper
        gymnasium.Wrapper.__init__(self, env)
        unwrapped: Any = env.unwrapped
        self._suits = CanonicalSuits(unwrapped.feature_layout)
        self._orders = np.zeros(1, np.int64)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        if is_integer(action):
            action = int(self._suits.meant([int(action)], self._orders)[0])
        seen, *rest, info = self.env.step(action)
        return (self._renamed(seen, info), *rest, info)


class CanonicalVector(_LearnerMethods, VectorWrapper):
    """A vector environment with its suits in canonical order."""

    def __init__(self, env: SeatVectorEnv, layout: FeatureLayout) -> None:
        super().__init__(env)
        self._suits = CanonicalSuits(layout)
        self._orders = np.zeros(self.num_envs, np.int64)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        seen, *rest, infos = self.env.step(self._suits.meant(actions, self._orders))
        for row in np.flatnonzero(infos.get("_final_obs", [])):
            infos["final_obs"][row], _ = self._suits.rename(infos["final_obs"][row])  # its mask is all zeros
        return (self._renamed(seen, infos), *rest, infos)
