"""One seat at each of thousands of tables as a vector environment of Stable-Baselines3 and sb3-contrib.

    tables = SeatVecEnv(256, "down_up", opponents="random", seat="rotate", reward="relative")
    MaskablePPO("MlpPolicy", tables).learn(100_000)

A `DummyVecEnv` of 256 `SeatEnv` returns the same, but is slower, since it steps one table at a time. This module needs
`pip install '.[sb3]'`; nothing else in the package imports it.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.vec_env import VecEnv

from noms_env.core.actions import brief
from noms_env.envs.gym.seat_vector import SeatVectorEnv


class SeatVecEnv(VecEnv):
    """One seat at each of many tables as a `VecEnv`.

    Row i plays as `SeatEnv` does with seed + i. The step that ends an episode begins the next one and returns its first
    observation; `infos[i]["terminal_observation"]` is the last observation of the old episode, `reset_infos[i]` the info of the
    new one. `VecMonitor` around it adds returns and lengths of episodes as `infos[i]["episode"]`.

    Observations are bare arrays for `MlpPolicy`, float32 (num_envs, n_features), or with `observation="bytes"` uint8 (num_envs,
    OBSERVATION_SIZE); with `mask_in="observation"` they are dictionaries for `MultiInputPolicy`.
    `env_method("action_masks")` returns the masks, bool (NUM_ACTIONS,) for each row; MaskablePPO calls it. Rewards are float32
    (num_envs,), dones bool (num_envs,). The infos of `SeatEnv` come without masks.

    Args:
        num_envs: number of tables.
        variant: name of the game.
        mask_in: `info` for observations as bare arrays, `observation` for dictionaries with the mask.
        **arguments: of `SeatVectorEnv`, except `autoreset_mode` and `copy`.

    Attributes:
        envs: the `SeatVectorEnv` inside.

    Raises:
        ValueError: an argument is not allowed; the message lists the allowed values.
    """

    def __init__(self, num_envs: int, variant: str, *, mask_in: str = "info", **arguments: Any) -> None:
        for name in ("autoreset_mode", "copy"):
            if name in arguments:
                raise ValueError(f"{name} is fixed: Stable-Baselines3 needs new arrays, and a reset in the same step")
        if mask_in not in ("info", "observation"):
            raise ValueError(f"mask_in must be 'info' or 'observation', not {brief(mask_in)}")
        self._is_dict = mask_in == "observation"
        # Masks in the observations cost nothing; in the infos they would need one array for each row.
        self.envs = SeatVectorEnv(num_envs, variant, autoreset_mode=AutoresetMode.SAME_STEP, **arguments)
        space: Any = self.envs.single_observation_space
        super().__init__(num_envs, space if self._is_dict else space["observation"], self.envs.single_action_space)
        self._actions = np.zeros(num_envs, np.int64)

    def reset(self) -> Any:
        """Begin an episode in each row; the seeds of `seed` and the options of `set_options` apply once.

        Raises:
            ValueError: a seed or an option is not possible. The only option is `seat`, in all rows or none.
        """
        seed = None if all(row_seed is None for row_seed in self._seeds) else self._seeds
        observations, infos = self.envs.reset(seed=seed, options=self._merge_options())
        self._reset_seeds()
        self._reset_options()
        self.reset_infos = rows_of(infos, self.num_envs)
        return self._strip_mask(observations)

    def step_async(self, actions: np.ndarray) -> None:
        """Store the actions, integers, shape (num_envs,), for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Take the actions and those of the other players, and begin the next episode in rows that are over.

        Raises:
            IllegalActionError: an action is not legal, with `illegal_action="raise"`; no table has changed.
        """
        observations, rewards, terminated, truncated, infos = self.envs.step(self._actions)
        final_obs, final_info = infos.pop("final_obs", None), infos.pop("final_info", {})
        row_infos = rows_of(infos, self.num_envs)
        dones = terminated | truncated
        ended = rows_of(final_info, self.num_envs) if dones.any() else []
        for row in np.flatnonzero(dones).tolist():
            self.reset_infos[row], row_infos[row] = row_infos[row], ended[row]
            row_infos[row]["terminal_observation"] = self._strip_mask(final_obs[row])
        for info, is_cut in zip(row_infos, (truncated & ~terminated).tolist(), strict=True):
            info["TimeLimit.truncated"] = is_cut
        return self._strip_mask(observations), rewards.astype(np.float32), dones, row_infos

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """Return the result of `action_masks` or `render` for each row; AttributeError for any other method."""
        if method_name not in ("action_masks", "render"):
            raise AttributeError(
                f"rows have the methods action_masks and render, not {method_name!r}; all others are methods of envs"
            )
        results = getattr(self.envs, method_name)(*method_args, **method_kwargs)
        return [None if results is None else results[row] for row in self._get_indices(indices)]

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of `envs`, once for each row."""
        return [getattr(self.envs, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refuse to set anything, with an AttributeError: the rows share one environment with fixed settings."""
        raise AttributeError(f"{attr_name} cannot be set: the rows share one environment; make another SeatVecEnv")

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """Return False for each row: there are no single environments to wrap."""
        return [False for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[np.ndarray | None]:
        """Return each learner's view of its table, uint8 (height, width, 3), with `render_mode="rgb_array"`; else None."""
        if self.render_mode != "rgb_array":
            warnings.warn(f"pictures need render_mode='rgb_array', not {self.render_mode!r}", stacklevel=2)
            return [None] * self.num_envs
        return self.env_method("render")

    def close(self) -> None:
        self.envs.close()

    def _merge_options(self) -> dict[str, Any]:
        """Convert the options of all rows to options of `SeatVectorEnv.reset`."""
        strange = {key for options in self._options for key in options} - {"seat"}
        if strange:
            raise ValueError(f"the only option is 'seat', not {', '.join(map(repr, sorted(strange)))}; SeatEnv takes more")
        seats = [options["seat"] for options in self._options if "seat" in options]
        if not seats:
            return {}
        if len(seats) != self.num_envs:
            raise ValueError(f"options must have a seat in every row or in none, not in {len(seats)} of {self.num_envs}")
        return {"seat": seats[0] if len(set(seats)) == 1 else np.array(seats)}

    def _strip_mask(self, observation: Any) -> Any:
        return observation if self._is_dict else observation["observation"]


def rows_of(infos: Mapping[str, Any], rows: int) -> list[dict[str, Any]]:
    """Convert the infos of a Gymnasium vector environment to one dictionary per row.

    `infos` has for each key an array with one entry per row, and for the key with `_` before it a bool mask, shape (rows,), of
    the rows with an entry.
    """
    row_infos: list[dict[str, Any]] = [{} for _ in range(rows)]
    for key, values in infos.items():
        if key.startswith("_"):
            continue
        entries = values.tolist() if values.ndim == 1 else values
        for row in np.flatnonzero(infos[f"_{key}"]).tolist():
            row_infos[row][key] = entries[row]
    return row_infos
