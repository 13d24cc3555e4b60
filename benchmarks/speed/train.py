"""Speed of the trainer: whole iterations of `noms train` without evaluations.

Only unforced decisions of learning seats count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

from benchmarks.speed.clock import PERCENT, Case
from benchmarks.speed.ours import GAME
from noms_training.learn.config import PRESETS, ActorConfig, NetworkConfig, PPOConfig, TrainConfig
from noms_training.learn.train import Trainer as Run

FAST = TrainConfig((GAME,), **PRESETS["fast"][1])
"""The preset `fast`: only self-play, 128 x 3, a privileged critic, one epoch."""
SMALL = TrainConfig(
    (GAME,),
    batch_size=65_536,
    privileged_critic=False,
    card_features=False,
    network=ActorConfig(16, 1, 16, scorer_width=0),
    critic=NetworkConfig(16, 1, 16),
    ppo=PPOConfig(minibatch_size=8192, target_kl=0.0),
)
"""Like PufferLib 3.0's trainer at its fastest: 1,024 seats x 64 decisions, minibatches of 8,192, one epoch, no LSTM."""
TINY: dict[str, Any] = {"network": ActorConfig(16, 1, 8, scorer_width=8), "critic": NetworkConfig(16, 1, 8), "batch_size": 400}
"""Tiny sizes, which show only that everything runs."""
PARTS = {"play": "play, but for the network", "network": "the policy's passes in play", "learn": "learning"}


class Trainer:
    """A training run for measurement."""

    def __init__(self, config: TrainConfig) -> None:
        self.run = Run(config)
        self.percent: dict[str, float] = {}
        """Percentage of the wall time of the last measurement, by part."""

    def rate(self, seconds: float) -> float:
        """Measure decisions per second of wall time, in whole iterations."""
        done, taken, parts = 0, 0.0, dict.fromkeys(PARTS, 0.0)
        while taken < seconds or done == 0:
            self.run.decisions = 0
            started = perf_counter()
            figures = self.run.iterate()
            taken += perf_counter() - started
            done += self.run.decisions
            parts = {name: total + figures[f"charts/seconds/{name}"] for name, total in parts.items()}
        self.percent = {name: 100 * total / taken for name, total in parts.items()}
        return done / taken

    def percent_of(self, part: str, _seconds: float) -> float:
        """Return the percentage of a part in the last measurement."""
        return self.percent[part]


def train_cases(quick: bool = False) -> Iterator[Case]:
    """Yield the cases of our trainer, with tiny networks if `quick`; each rate precedes its percentages."""
    for name, config in {"fast": FAST, "small": SMALL}.items():
        trainer = Trainer(replace(config, **TINY) if quick else config)
        networks = trainer.run.actor, trainer.run.critic
        parameters = sum(part.numel() for network in networks for part in network.parameters())
        size = f"{parameters:,} parameters, {config.ppo.update_epochs} epoch(s)"
        yield Case(f"train/{name}", f"self-play; {size}", trainer.rate)
        for part, what in PARTS.items():
            yield Case(f"train/{name}/{part}", f"of the wall time: {what}", partial(trainer.percent_of, part), PERCENT)
