"""Suits in one order: wrappers that rename the suits of each observation, the mask and the actions with it.

With the French deck no rule tells one side suit from another, so a learner need not learn each four (or six) times. Trump (if
there is one) becomes suit 0, and the others follow by the hand dealt to the seat: longest suit first, equal lengths by higher
cards. Card players call such names canonical. The suits of the Decktet differ in their cards and keep their names.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    Wrapper = VectorWrapper[Any, Any, Any, Any, Any]
else:
    Wrapper = VectorWrapper  # takes no parameters before Gymnasium 1.3


def canonical_suits(env: Any) -> Any:
    """An environment of features with its suits in canonical order, as a wrapper of the same kind.

    Trump becomes suit 0, the others follow by length and cards of the hand dealt to the seat. Features, masks and actions are
    renamed alike; positions, pictures and infos but the mask keep the names of the table. With the Decktet nothing is renamed.

    Args:
        env: an AEC environment, `SeatEnv` (also in wrappers of Gymnasium) or `SeatVectorEnv`, with `observation="features"`.

    Raises:
        ValueError: it has observations of bytes, or is an AEC environment whose masks are in its infos.
    """
    if isinstance(env, BatchEnv):
        on_gpu = "noms_env.cuda.canonical_suits.GpuCanonicalSuits(batch)"
        renamer = "CanonicalSuits(batch.feature_layout)" if env.device == "cpu" else on_gpu
        raise ValueError(f"a batch is no environment to wrap: rename its rows with {renamer}")
    layout = getattr(getattr(env, "unwrapped", None), "feature_layout", None)
    if layout is None:
        raise ValueError(f"canonical suits need an environment with observation='features', not {brief(env)}")
    if isinstance(env, AECEnv):
        if env.unwrapped._mask_in != "observation":
            raise ValueError("canonical suits of an AEC environment need mask_in='observation'")
        return CanonicalAEC(env, layout)
    return CanonicalVector(env, layout) if isinstance(env.unwrapped, SeatVectorEnv) else CanonicalSeat(env)


class CanonicalSuits:
    """Renames the suits of features, masks and actions, of one observation or of many.

    Attributes:
        features: int64, shape (orders, n_features): per order of the suits, which old feature stands at each place.
        actions: int64, shape (orders, NUM_ACTIONS): per order, the action of the table that each action stands for.
    """

    def __init__(self, layout: FeatureLayout) -> None:
        """Prepare the orders of the suits of some features: 24, or with the Decktet alone one."""
        self.features, self.actions, self._places = layout.suit_orders(), layout.action_orders(), layout.suit_places()
        self._decktet = layout.decktet

    def orders(self, features: np.ndarray) -> np.ndarray:
        """The number of the order of each row: int64, shape (n,), from features, scaled or not, shape (n, n_features)."""
        orders = np.empty(len(features), np.int64)
        orders_of_features(features, self._places, orders)
        if len(self._decktet):
            orders[(features[:, self._decktet] > 0).any(axis=1)] = IDENTITY
        return orders

    def rename(self, seen: Observation, info: dict[str, Any] | None = None) -> tuple[Observation, np.ndarray]:
        """Rename the suits of an observation, or of many in arrays with one row for each.

        Args:
            seen: features, uint8 or float32, shape (..., n_features), or a dictionary with them and the mask.
            info: a mask in it, `action_mask`, is replaced.

        Returns:
            The same in new arrays; and the number of each row's order, int64, shape (n,): `actions[order]` leads back.
        """
        features = seen["observation"] if isinstance(seen, dict) else seen
        orders = self.orders(np.atleast_2d(features))
        renamed = _taken(features, self.features[orders])
        if info and "action_mask" in info:
            info["action_mask"] = _taken(info["action_mask"], self.actions[orders])
        if not isinstance(seen, dict):
            return renamed, orders
        return {"observation": renamed, "action_mask": _taken(seen["action_mask"], self.actions[orders])}, orders

    def meant(self, actions: Any, orders: np.ndarray) -> Any:
        """The actions of the tables that actions, shape (n,), stand for; what is no action stays as it is."""
        numbers = plain_array(actions)
        if numbers.shape != orders.shape or numbers.dtype.kind not in "iu":
            return actions
        known = (numbers >= 0) & (numbers < NUM_ACTIONS)
        return np.where(known, self.actions[orders, np.where(known, numbers, 0)], numbers)


def _taken(values: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The values of each row in another order; of one row alone where `values` is one."""
    return np.take_along_axis(np.atleast_2d(values), places, 1).reshape(values.shape)


class CanonicalAEC(BaseWrapper):
    """An AEC environment with its suits in canonical order."""

    def __init__(self, env: AECEnv, layout: FeatureLayout) -> None:
        super().__init__(env)
        self._suits = CanonicalSuits(layout)

    def observe(self, agent: str) -> Observation:
        return self._suits.rename(self.env.observe(agent))[0]

    def step(self, action: Any) -> None:
        self.env.step(self._meant(action))

    def legal_actions(self) -> list[int]:
        """The legal actions of the seat to act, by their canonical names, in ascending order."""
        legal: list[int] = self.unwrapped.legal_actions()
        return sorted(np.flatnonzero(np.isin(self._own_names(), legal)).tolist())

    def action_to_str(self, action: int) -> str:
        """The word of a canonical action of the seat to act."""
        return str(self.unwrapped.action_to_str(self._meant(action)))

    def str_to_action(self, word: str, phase: str | None = None) -> int:
        """The canonical action of the seat to act that a word names; `phase` as in `TrickTakingEnv.str_to_action`."""
        return int(np.flatnonzero(self._own_names() == self.unwrapped.str_to_action(word, phase))[0])

    def _own_names(self) -> np.ndarray:
        """The actions of the table, by their canonical names for the seat to act: int64, shape (NUM_ACTIONS,)."""
        if not self.agents:
            return np.arange(NUM_ACTIONS)
        _, orders = self._suits.rename(self.env.observe(self.env.agent_selection))
        return np.asarray(self._suits.actions[orders[0]])

    def _meant(self, action: Any) -> Any:
        if not is_integer(action) or not self.agents or not 0 <= action < NUM_ACTIONS:
            return action
        return int(self._own_names()[action])

    def clone(self) -> CanonicalAEC:
        """An independent environment in the same state, with its own wrappers."""
        return copy.deepcopy(self)


class CanonicalSeat(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """An environment for one learner with its suits in canonical order."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)  # so that `gymnasium.make(wrapped.spec)` makes another
        gymnasium.Wrapper.__init__(self, env)
        unwrapped: Any = env.unwrapped
        self._suits = CanonicalSuits(unwrapped.feature_layout)
        self._orders = np.zeros(1, np.int64)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        seen, info = self.env.reset(seed=seed, options=options)
        return self._renamed(seen, info), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        meant = int(self._suits.meant([int(action)], self._orders)[0]) if is_integer(action) else action
        seen, *rest, info = self.env.step(meant)
        return (self._renamed(seen, info), *rest, info)

    def action_masks(self) -> np.ndarray:
        """The legal actions of the learner after the last `reset` or `step`: bool, shape (NUM_ACTIONS,)."""
        unwrapped: Any = self.env.unwrapped
        return _taken(unwrapped.action_masks(), self._suits.actions[self._orders])

    def _renamed(self, seen: Any, info: dict[str, Any]) -> Any:
        renamed, self._orders = self._suits.rename(seen, info)
        return renamed


class CanonicalVector(Wrapper):
    """Environments for one learner each with their suits in canonical order."""

    def __init__(self, env: SeatVectorEnv, layout: FeatureLayout) -> None:
        super().__init__(env)
        self._suits = CanonicalSuits(layout)
        self._orders = np.zeros(self.num_envs, np.int64)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        seen, infos = self.env.reset(seed=seed, options=options)
        return self._renamed(seen, infos), infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        seen, *rest, infos = self.env.step(self._suits.meant(actions, self._orders))
        for row in np.flatnonzero(infos.get("_final_obs", [])):
            infos["final_obs"][row], _ = self._suits.rename(infos["final_obs"][row])  # its mask is all zeros
        return (self._renamed(seen, infos), *rest, infos)

    def action_masks(self) -> np.ndarray:
        """The legal actions of the learners after the last `reset` or `step`: bool, shape (num_envs, NUM_ACTIONS)."""
        unwrapped: Any = self.env.unwrapped
        return _taken(unwrapped.action_masks(), self._suits.actions[self._orders])

    def _renamed(self, seen: Any, infos: dict[str, Any]) -> Any:
        renamed, self._orders = self._suits.rename(seen, infos)
        return renamed
