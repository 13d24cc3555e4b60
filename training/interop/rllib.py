"""For RLlib (new API stack): a module of torch that obeys the masks, past selves for a league, and players out of checkpoints.

    NOMS_RLLIB_CHECKPOINT=runs/rllib noms evaluate noms_training.interop.rllib:player random --variant down_up --seats 3

The environment is `noms_env.interop.rllib.RLlibEnv`; `examples/rllib_self_play.py` trains with both.
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
"""The environment variable that names the checkpoint of `player`."""
LEARNER = "main"
"""The module that plays for a checkpoint which holds several."""
HIDDEN = (256, 256)
"""Widths of the hidden layers, if nothing is said."""
MODULES = Path(COMPONENT_LEARNER_GROUP, COMPONENT_LEARNER, COMPONENT_RL_MODULE)
"""Where the modules lie in the checkpoint of an algorithm, each in a folder of its name."""
CLASS_FILE = "class_and_ctor_args.pkl"
"""What RLlib writes into the folder of whatever can be made anew from it."""


class MaskedModule(TorchRLModule, ValueFunctionAPI, InferenceOnlyAPI):  # type: ignore[misc]  # RLlib's classes have no types
    """Policy and value of the seat to act, two MLPs that share nothing; for PPO, and whatever else wants values.

    Actions that are not legal get no probability, in sampling and in the loss alike. Observations are those of `RLlibEnv`.
    `model_config` may have `hidden`, the widths of the hidden layers (`HIDDEN` if not given).
    """

    def setup(self) -> None:
        hidden = self.model_config.get("hidden", HIDDEN)
        self.policy = _mlp(hidden, NUM_ACTIONS)
        self.value = _mlp(hidden, 1)

    def get_non_inference_attributes(self) -> list[str]:
        return ["value"]

    def _forward(self, batch: dict[str, Any], **_: Any) -> dict[str, Tensor]:
        """Masked logits, float32, shape (n, NUM_ACTIONS), from a batch of observations."""
        seen = batch[Columns.OBS]
        return {Columns.ACTION_DIST_INPUTS: masked(self.policy(_inputs(seen)), seen["action_mask"])}

    def compute_values(self, batch: dict[str, Any], embeddings: Tensor | None = None) -> Tensor:
        """Values, float32, shape (n,)."""
        values: Tensor = self.value(_inputs(batch[Columns.OBS]))
        return values.squeeze(-1)


def _inputs(seen: dict[str, Tensor]) -> Tensor:
    """The roots of bytes, float32, shape (n, OBSERVATION_SIZE): marks stay 0 and 1, and numbers do not outweigh them."""
    return seen["observations"].float().sqrt()


def _mlp(hidden: Sequence[int], outputs: int) -> nn.Sequential:
    """A network with ReLU in between, whose outputs are small at first."""
    sizes = (OBSERVATION_SIZE, *hidden)
    layers = [layer for pair in pairwise(sizes) for layer in (nn.Linear(*pair), nn.ReLU())]
    last = nn.Linear(sizes[-1], outputs)
    with torch.no_grad():
        last.weight *= HEAD_GAIN
    return nn.Sequential(*layers, last)


def add_past_self(algorithm: Any, name: str, spec: Any, mapping: Callable[..., str]) -> None:
    """Let a copy of the learner as it is now join an algorithm as another module, which is not trained.

    `Algorithm.add_module` makes a new network. It and `Algorithm.set_state` send weights to the runners with the number of the
    learner's last update, and the runners, which have had that number (ray 2.60), leave them: so they are set there as well.

    Args:
        algorithm: a `ray.rllib.algorithms.Algorithm` whose learner is the module `main`.
        name: of the new module.
        spec: the `RLModuleSpec` of the learner, with spaces.
        mapping: which module plays for an agent from now on; see `AlgorithmConfig.multi_agent(policy_mapping_fn=...)`.
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
    """An RLlib module as a player (`noms_env.players.Player`): draws actions with the probabilities of its logits.

    Any module will do that was trained on `RLlibEnv`, also one that leaves the masks to others: they are applied here.
    """

    wants_tables: ClassVar[bool] = False

    def __init__(self, module: Any) -> None:
        self.module = module.eval()

    @as_batch
    def act(self, observation: np.ndarray, mask: np.ndarray, seeds: Any, *, tables: np.recarray | None = None) -> Any:
        """See `noms_env.players.Player.act`.

        Raises:
            ValueError: the module gives no logits of all actions.
        """
        legal = mask != 0
        logits = np.where(legal, self._logits(observation, mask), -np.inf)
        weights = np.exp(logits - np.max(logits, axis=1, keepdims=True, where=legal, initial=-1e30)) * legal
        drawn = unit_draws(seeds)
        sums = weights.cumsum(axis=1)
        actions = (sums > (drawn * sums[:, -1])[:, np.newaxis]).argmax(axis=1)
        return np.where(legal.any(axis=1), actions, NOBODY)

    def _logits(self, observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Logits, float64, shape (n, NUM_ACTIONS)."""
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
    """The player of a checkpoint, as `noms evaluate noms_training.interop.rllib:player ...` asks for it.

    Two checkpoints sit at one table by a function for each, `second = partial(player, "runs/second")` in a file of your own.
    RLlib's checkpoints are pickles, which can run any program when they are read: take them from nobody whom you do not trust.

    Args:
        checkpoint: the folder of an algorithm's checkpoint, whose module `main` plays, or its only one; or that of one of its
            modules (`.../learner_group/learner/rl_module/past_1`). What NOMS_RLLIB_CHECKPOINT names when None.

    Raises:
        ValueError: there is no such checkpoint, or it does not say which module is meant.
    """
    named = os.environ.get(CHECKPOINT, "") if checkpoint is None else checkpoint
    if not str(named):
        raise ValueError(f"{CHECKPOINT} must name the folder of an RLlib checkpoint")
    folder = module_folder(Path(named).resolve())
    return ModulePlayer(_module(folder, max(file.stat().st_mtime_ns for file in folder.iterdir())))


def module_folder(checkpoint: Path) -> Path:
    """The folder of the module that plays for a checkpoint; see `player`.

    Raises:
        ValueError: there is no such checkpoint, or it does not say which module is meant.
    """
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
    """The module in a folder; it is read again when a file of it has changed."""
    return RLModule.from_checkpoint(folder)
