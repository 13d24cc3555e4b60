"""For RLlib (new API stack): a torch module with action masks, past selves for a league, and players from checkpoints.

    NOMS_RLLIB_CHECKPOINT=runs/rllib noms evaluate noms_training.interop.rllib:player random --variant down_up --seats 3

The environment is `noms_env.interop.rllib.RLlibEnv`; `examples/rllib_self_play.py` uses both.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from ray.rllib.core import COMPONENT_LEARNER, COMPONENT_LEARNER_GROUP, COMPONENT_RL_MODULE
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis import InferenceOnlyAPI, ValueFunctionAPI
from ray.rllib.core.rl_module.rl_module import RLModule
from ray.rllib.core.rl_module.torch import TorchRLModule
from torch import Tensor, nn

from noms_env.core.actions import NUM_ACTIONS
from noms_env.observation.layout import OBSERVATION_SIZE
from noms_env.players import NOBODY, as_batch, unit_draws

from ..learn.network import HEAD_GAIN, masked

CHECKPOINT = "NOMS_RLLIB_CHECKPOINT"
"""Environment variable with the default checkpoint of `player`."""
LEARNER = "main"
"""The module that plays for a checkpoint with several modules."""
HIDDEN = (256, 256)
"""Default widths of the hidden layers."""
MODULES = Path(COMPONENT_LEARNER_GROUP, COMPONENT_LEARNER, COMPONENT_RL_MODULE)
"""Folder of the modules in an algorithm's checkpoint, with one subfolder per module."""
CLASS_FILE = "class_and_ctor_args.pkl"
"""RLlib's file in the folder of each component that can be restored from a checkpoint."""


class MaskedModule(TorchRLModule, ValueFunctionAPI, InferenceOnlyAPI):  # type: ignore[misc]  # RLlib's classes have no types
    """Policy and value of the seat to act: two separate MLPs, for PPO and other algorithms that need values.

    Illegal actions have probability 0, in sampling and in the loss. It reads the observations of `RLlibEnv`. `model_config` may
    have `hidden`, the widths of the hidden layers (default `HIDDEN`).
    """

    def setup(self) -> None:
        hidden = self.model_config.get("hidden", HIDDEN)
        self.policy = _mlp(hidden, NUM_ACTIONS)
        self.value = _mlp(hidden, 1)

    def get_non_inference_attributes(self) -> list[str]:
        return ["value"]

    def _forward(self, batch: dict[str, Any], **_: Any) -> dict[str, Tensor]:
        """Return masked logits, float32, shape (n, NUM_ACTIONS), for a batch of observations."""
        seen = batch[Columns.OBS]
        return {Columns.ACTION_DIST_INPUTS: masked(self.policy(_inputs(seen)), seen["action_mask"])}

    def compute_values(self, batch: dict[str, Any], embeddings: Tensor | None = None) -> Tensor:
        """Return values, float32, shape (n,)."""
        values: Tensor = self.value(_inputs(batch[Columns.OBS]))
        return values.squeeze(-1)


def _inputs(seen: dict[str, Tensor]) -> Tensor:
    """Return square roots of the bytes, float32, shape (n, OBSERVATION_SIZE): flags stay 0 and 1, large numbers shrink."""
    return seen["observations"].float().sqrt()


def _mlp(hidden: Sequence[int], outputs: int) -> nn.Sequential:
    """Return a ReLU network with small initial outputs."""
    sizes = (OBSERVATION_SIZE, *hidden)
    layers = [layer for pair in pairwise(sizes) for layer in (nn.Linear(*pair), nn.ReLU())]
    last = nn.Linear(sizes[-1], outputs)
    with torch.no_grad():
        last.weight *= HEAD_GAIN
    return nn.Sequential(*layers, last)


def add_past_self(algorithm: Any, name: str, spec: Any, mapping: Callable[..., str]) -> None:
    """Add a frozen copy of the current learner to an algorithm, as another module that is not trained.

    `Algorithm.add_module` makes a new network. It and `Algorithm.set_state` send weights to the runners with the number of the
    learner's last update. The runners ignore weights with a number that they already have (ray 2.60), so this function sets
    them there as well.

    Args:
        algorithm: a `ray.rllib.algorithms.Algorithm` whose learner is the module `main`.
        name: of the new module.
        spec: the `RLModuleSpec` of the learner, with spaces.
        mapping: the new `policy_mapping_fn` (`AlgorithmConfig.multi_agent`).
    """
    learner = algorithm.learner_group.get_state(components=f"{COMPONENT_LEARNER}/{COMPONENT_RL_MODULE}/{LEARNER}")
    weights = learner[COMPONENT_LEARNER][COMPONENT_RL_MODULE][LEARNER]
    algorithm.add_module(
        name, replace(spec, inference_only=True), new_agent_to_module_mapping_fn=mapping, new_should_module_be_updated=[LEARNER]
    )
    modules = {COMPONENT_RL_MODULE: {name: weights}}
    algorithm.set_state({COMPONENT_LEARNER_GROUP: {COMPONENT_LEARNER: modules}})
    algorithm.env_runner_group.foreach_env_runner(partial(_set_weights, name=name, weights=weights))


def _set_weights(runner: Any, name: str, weights: dict[str, Any]) -> None:
    runner.module[name].set_state(weights)


class ModulePlayer:
    """An RLlib module as a player (`noms_env.players.Player`): it samples actions from the softmax of the logits.

    Any module trained on `RLlibEnv` works, also without masks of its own: the player applies them.
    """

    wants_tables: ClassVar[bool] = False

    def __init__(self, module: Any) -> None:
        self.module = module.eval()

    @as_batch
    def act(self, observation: np.ndarray, mask: np.ndarray, seeds: Any, *, tables: np.recarray | None = None) -> Any:
        """See `noms_env.players.Player.act`.

        Raises:
            ValueError: the module does not return logits of all actions.
        """
        legal = mask != 0
        logits = np.where(legal, self._logits(observation, mask), -np.inf)
        weights = np.exp(logits - np.max(logits, axis=1, keepdims=True, where=legal, initial=-1e30)) * legal
        drawn = unit_draws(seeds)
        sums = weights.cumsum(axis=1)
        actions = (sums > (drawn * sums[:, -1])[:, np.newaxis]).argmax(axis=1)
        return np.where(legal.any(axis=1), actions, NOBODY)

    def _logits(self, observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Return logits, float64, shape (n, NUM_ACTIONS)."""
        seen = {"observations": _tensor(observation, np.uint8), "action_mask": _tensor(mask, np.int8)}
        with torch.inference_mode():
            out = self.module.forward_inference({Columns.OBS: seen}).get(Columns.ACTION_DIST_INPUTS)
        if out is None or out.shape != mask.shape:
            raise ValueError(f"the module must give logits of all {NUM_ACTIONS} actions as {Columns.ACTION_DIST_INPUTS!r}")
        logits: np.ndarray = out.double().numpy()
        return logits


def _tensor(array: np.ndarray, dtype: type[np.generic]) -> Tensor:
    return torch.from_numpy(np.require(array, dtype, ("C", "W")))


def player(checkpoint: Path | str | None = None) -> ModulePlayer:
    """Return the player of a checkpoint, as in `noms evaluate noms_training.interop.rllib:player ...`.

    For two checkpoints at one table, write one function for each in a file of your own:
    `second = partial(player, "runs/second")`. RLlib's checkpoints are pickles, which can run any program when they are loaded:
    load only checkpoints that you trust.

    Args:
        checkpoint: the folder of an algorithm's checkpoint, whose module `main` (or only module) plays, or the folder of one of
            its modules (`.../learner_group/learner/rl_module/past_1`). None for the environment variable NOMS_RLLIB_CHECKPOINT.

    Raises:
        ValueError: the folder is no checkpoint, or it has several modules and no `main`.
    """
    named = os.environ.get(CHECKPOINT, "") if checkpoint is None else checkpoint
    if not str(named):
        raise ValueError(f"{CHECKPOINT} must name the folder of an RLlib checkpoint")
    folder = module_folder(Path(named).resolve())
    return ModulePlayer(_module(folder, max(file.stat().st_mtime_ns for file in folder.iterdir())))


def module_folder(checkpoint: Path) -> Path:
    """Return the folder of the module that plays for a checkpoint; errors as in `player`."""
    modules = checkpoint / MODULES
    if not modules.is_dir():
        if (checkpoint / CLASS_FILE).is_file():
            return checkpoint
        raise ValueError(f"{checkpoint} is not a checkpoint of RLlib: there is neither {MODULES} nor {CLASS_FILE} in it")
    names = sorted(folder.name for folder in modules.iterdir() if (folder / CLASS_FILE).is_file())
    name = names[0] if len(names) == 1 else LEARNER
    if name not in names:
        raise ValueError(f"{checkpoint} holds the modules {', '.join(names)}, and no {LEARNER}: name the folder of one of them")
    return modules / name


@lru_cache(16)
def _module(folder: Path, _changed: int) -> Any:
    """Load the module in a folder; `_changed` is part of the cache key, so that a changed file is loaded again."""
    return RLModule.from_checkpoint(folder)
