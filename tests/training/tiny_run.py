"""Tiny training runs; as a script, one in a process of its own, for `test_train.py`."""

import sys
from pathlib import Path
from typing import Any

import torch

from noms_training.learn.checkpoint import RunFolder, write_policy
from noms_training.learn.config import ActorConfig, OpponentsConfig, PPOConfig, TrainConfig
from noms_training.learn.loop import train
from noms_training.learn.train import Trainer

TINY = ActorConfig(width=32, blocks=1, card_width=8, scorer_width=8)


def make_config(*variants: str, **changes: Any) -> TrainConfig:
    """A configuration whose iterations take a moment."""
    usual: dict[str, Any] = {
        "tables": 32,
        "threads": 2,
        "precision": "fp32",
        "network": TINY,
        "critic": TINY,
        "decisions": 20_000,
        "ppo": PPOConfig(minibatch_size=256),
    }
    return TrainConfig(variants=variants, **usual | changes)


def run_iterations(
    config: TrainConfig, iterations: int = 1, state: dict[str, Any] | None = None
) -> tuple[Trainer, dict[str, float]]:
    """A run, from a state if there is one, that is closed after some iterations, and the figures of the last."""
    run = Trainer(config)
    if state is not None:
        run.restore(state)
    for _ in range(iterations):
        figures = run.iterate()
    run.close()
    return run, figures


def save_policy_of(config: TrainConfig, folder: Path) -> Path:
    """Save the policy of a run of one iteration; return the folder."""
    run, _ = run_iterations(config)
    write_policy(folder / "policy.safetensors", run.actor, run, None)
    return folder


def same_parameters(run: Trainer, other: Trainer, *networks: str) -> bool:
    """Whether these networks (default: actor and critic) are equal in two runs."""
    pairs = ((getattr(run, name).parameters(), getattr(other, name).parameters()) for name in networks or ("actor", "critic"))
    return all(torch.equal(*tensors) for pair in pairs for tensors in zip(*pair, strict=True))


def same_state(state: Any, other: Any) -> bool:
    """Whether two states of runs have equal values of equal types."""
    if type(state) is not type(other):
        return False
    if isinstance(state, torch.Tensor):
        return state.dtype == other.dtype and torch.equal(state, other)
    if isinstance(state, dict):
        return state.keys() == other.keys() and all(same_state(state[name], other[name]) for name in state)
    if isinstance(state, list | tuple):
        return len(state) == len(other) and all(map(same_state, state, other))
    return bool(state == other)


CONFIG = make_config(
    "noms",
    "down_up",
    decisions=9_000,
    evaluate_every=2_500,
    evaluation_deals=8,
    save_every=0.0,
    opponents=OpponentsConfig(share=0.3, start=0.2, past=2),
)
"""With evaluations, past selves, and a checkpoint after every iteration."""


if __name__ == "__main__":
    with RunFolder.create(sys.argv[1], CONFIG.as_dict()) as folder:
        train(CONFIG, folder)
