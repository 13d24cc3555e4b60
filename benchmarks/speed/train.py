"""How fast the trainer learns: whole iterations, and the networks' update beside the matrix products that it consists of.

A decision is one that had an alternative, of a seat that learns. An iteration is all that `noms train` does between two
evaluations: deals, play, values, advantages, and the update of both networks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.speed.clock import GFLOPS, PERCENT, Case, Goal, Measured
from benchmarks.speed.ours import GAME
from training.config import PRESETS, CurriculumConfig, LeagueConfig, NetworkConfig, PPOConfig, TrainConfig
from training.learn.network import Actor, Trunk
from training.learn.ppo import Sample
from training.learn.self_play import SelfPlay
from training.thread_pool import ThreadPool

FAST = TrainConfig((GAME,), **PRESETS["fast"][1] | {"curriculum": replace(PRESETS["fast"][1]["curriculum"], tryouts=0.0)})
"""The preset without its tryouts, whose speed is that of the search: 256 x 3, a critic that sees everything, 3 epochs."""
SMALL = TrainConfig(
    (GAME,),
    batch=65_536,
    oracle=False,
    counts=False,
    hints=False,
    network=NetworkConfig(16, 1, 16),
    critic=NetworkConfig(16, 1, 16),
    ppo=PPOConfig(epochs=1, minibatch=8192, microbatch=8192, target_kl=0.0, magnet=0.0),
    league=LeagueConfig(share=0.0),
    curriculum=CurriculumConfig(random_contracts=0.0),
)
"""As PufferLib 3.0's trainer at its fastest: 1,024 seats x 64 decisions, minibatches of 8,192, one epoch, no LSTM."""
SMALL_PARAMETERS = (13_000, 33_000)
"""Of PufferLib's networks for its small games."""
TINY: dict[str, Any] = {"network": NetworkConfig(16, 1, 8), "critic": NetworkConfig(16, 1, 8), "batch": 400}
"""Sizes that show that everything runs."""
PAST_SELVES = 2
"""In the league: as many as play in one iteration."""


@dataclass(frozen=True)
class Stage:
    """A part of a run, in which the same things are done.

    Attributes:
        start: share of the budget at which it begins.
        length: share of the budget that it takes.
        text: what is done.
    """

    start: float
    length: float
    text: str


def stages(config: TrainConfig) -> dict[str, Stage]:
    """The stages of a run without tryouts, by name: at first neither magnet nor league, then one of them or both."""
    begins = {"magnet": config.ppo.magnet_from, "league": config.league.start}
    wanted = {"magnet": config.ppo.magnet > 0, "league": config.league.share > 0}
    later = sorted((begins[name], name) for name in begins if wanted[name])
    names = ["start", *(name for _, name in later)]
    starts = [0.0, *(start for start, _ in later), 1.0]
    found = {}
    for place, name in enumerate(names):
        present = [name for _, name in later[:place]] or ["neither magnet nor league"]
        found[name] = Stage(starts[place], starts[place + 1] - starts[place], " and ".join(present))
    return found


# ------------------------------------------------------------------------------------------------------- our trainer


@dataclass
class Spent:
    """What some iterations took.

    Attributes:
        decisions: learnt from.
        seconds: of wall time: all, the tables, play (the tables included), learning, and of that the update of the networks.
        flops: operations in the matrix products of the update.
    """

    decisions: int = 0
    seconds: float = 0.0
    engine: float = 0.0
    rollout: float = 0.0
    learn: float = 0.0
    update: float = 0.0
    flops: float = 0.0


class TimedSelfPlay(SelfPlay):
    """Self-play that times the update of its networks."""

    update_seconds = 0.0

    def _update(self, sample: Sample) -> tuple[dict[str, float], dict[str, float]]:
        started = perf_counter()
        figures = super()._update(sample)
        self.update_seconds += perf_counter() - started
        return figures


class Trainer:
    """A run that can be set to any stage of its budget; what its iterations took is kept by stage."""

    def __init__(self, config: TrainConfig) -> None:
        """Set up the run; past selves are there from the beginning, though they play in the league only."""
        self.run = TimedSelfPlay(config)
        self.run.past = {str(number): self.run.new_actor() for number in range(PAST_SELVES)}
        self.stages = stages(config)
        self.spent: dict[str, Spent] = {}

    @property
    def parameters(self) -> dict[str, int]:
        """Of the networks: how many."""
        networks = {"actor": self.run.actor, "critic": self.run.critic}
        return {name: sum(int(part.numel()) for part in network.parameters()) for name, network in networks.items()}

    def measure(self, name: str, seconds: float) -> float:
        """Decisions per second of wall time in a stage."""
        spent = self.spent[name] = Spent()
        while spent.seconds < seconds or spent.decisions == 0:
            self._iterate(self.stages[name].start, spent)
        return spent.decisions / spent.seconds

    def _iterate(self, progress: float, spent: Spent) -> None:
        """An iteration, added to what is spent."""
        run = self.run
        before = run.decisions = round(progress * run.config.decisions)
        updated, started = run.update_seconds, perf_counter()
        figures = run.iterate()
        spent.seconds += perf_counter() - started
        decisions = run.decisions - before
        spent.decisions += decisions
        spent.engine += figures["engine_seconds"]
        spent.rollout += figures["rollout_seconds"]
        spent.learn += figures["learn_seconds"]
        spent.update += run.update_seconds - updated
        spent.flops += decisions * self._flops(figures["epochs"])

    def _flops(self, actor_epochs: float) -> float:
        """What the update needs for a decision: each epoch forward and backward."""
        actor, critic = actor_sizes(self.run.actor), critic_sizes(self.run.critic.trunk)
        return actor_epochs * learning_flops(actor) + self.run.config.ppo.epochs * learning_flops(critic)

    def whole(self) -> float:
        """Decisions per second of a whole run."""
        return 1 / self._of_a_decision("seconds")

    def share(self, part: str) -> float:
        """What a part took of the wall time of the whole run, in percent."""
        return 100 * self._of_a_decision(part) / self._of_a_decision("seconds")

    def _of_a_decision(self, part: str) -> float:
        """What a part takes of a decision, in seconds, in a whole run: of its stages, each as long as in a run."""
        spent = [self.spent[name] for name in self.stages]
        means: list[float] = [getattr(one, part) / one.decisions for one in spent]
        return sum(stage.length * mean for stage, mean in zip(self.stages.values(), means, strict=True))

    def update_rate(self) -> float:
        """Operations of the update at the start of the run, in GFLOP/s."""
        spent = self.spent["start"]
        return spent.flops / spent.update / 1e9


# ------------------------------------------------------------------------------------------------ the plain products

Sizes = list[tuple[int, int]]
"""Inputs and outputs of the layers of a network, the first one first."""


def trunk_sizes(trunk: Trunk) -> Sizes:
    """Of the first layer and the blocks."""
    return [(layer.in_features, layer.out_features) for layer in (trunk.first, *trunk.layers) if isinstance(layer, nn.Linear)]


def actor_sizes(actor: Actor) -> Sizes:
    """Of the actor: the head is one layer from the last block to all choices."""
    return [*trunk_sizes(actor.trunk), (actor.trunk.first.out_features, len(actor.head.choices))]


def critic_sizes(trunk: Trunk) -> Sizes:
    """Of the critic."""
    return [*trunk_sizes(trunk), (trunk.first.out_features, 1)]


def forward_flops(sizes: Sizes) -> int:
    """Operations of the forward pass of one row: 2 for each weight."""
    return sum(2 * inputs * outputs for inputs, outputs in sizes)


def learning_flops(sizes: Sizes) -> int:
    """Operations of forward pass, gradients of weights, and gradients of inputs, which nobody needs of the first layer."""
    return 3 * forward_flops(sizes) - forward_flops(sizes[:1])


class Products:
    """The matrix products of an update and nothing else."""

    def __init__(self, sizes: Sizes, rows: int, dtype: torch.dtype) -> None:
        """Draw matrices.

        Args:
            sizes: of the network.
            rows: that go through it at once.
            dtype: precision.
        """
        self.flops = rows * learning_flops(sizes)
        self._layers = [_matrices(rows, inputs, outputs, dtype) for inputs, outputs in sizes]

    @torch.inference_mode()
    def multiply(self, times: int) -> None:
        """All of them, so many times."""
        for _ in range(times):
            for place, (x, weight, gradient) in enumerate(self._layers):
                torch.mm(x, weight.T)
                torch.mm(gradient.T, x)
                if place > 0:
                    torch.mm(gradient, weight)


def _matrices(rows: int, inputs: int, outputs: int, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    """Inputs, weights, and gradients of the outputs of a layer."""
    shapes = ((rows, inputs), (outputs, inputs), (rows, outputs))
    x, weight, gradient = (torch.randn(shape).to(dtype) for shape in shapes)
    return x, weight, gradient


def products_rate(run: SelfPlay) -> Callable[[float], float]:
    """GFLOP/s of the products of actor and critic in two threads side by side, one thread of torch in each."""
    both = [actor_sizes(run.actor), critic_sizes(run.critic.trunk)]
    rows = min(run.config.ppo.microbatch, run.config.ppo.minibatch)
    products = [Products(sizes, rows, run.dtype) for sizes in both]
    thread_pool = ThreadPool(2)
    times = max(1, run.config.ppo.epochs * run.config.batch // rows)

    def measure(seconds: float) -> float:
        done, started = 0, perf_counter()
        while perf_counter() - started < seconds or done == 0:
            thread_pool.all([partial(one.multiply, times) for one in products])
            done += times * sum(one.flops for one in products)
        return done / (perf_counter() - started) / 1e9

    return measure


# ---------------------------------------------------------------------------------------------------------- the cases

SHARES = {
    "engine": "the tables",
    "rollout": "play, the tables included",
    "learn": "learning",
    "update": "the update of the networks",
}


def train_cases(quick: bool = False) -> list[Case]:
    """All cases of our trainer, in an order in which shares come after what they are shares of.

    Args:
        quick: tiny networks and few decisions.
    """
    configs = {"fast": FAST, "small": SMALL}
    if quick:
        configs = {name: replace(config, **TINY) for name, config in configs.items()}
    trainers = {name: Trainer(config) for name, config in configs.items()}
    cases = [case for name, trainer in trainers.items() for case in trainer_cases(f"train/{name}", trainer)]
    fast = trainers["fast"]
    precision = str(fast.run.dtype).removeprefix("torch.")
    plain = f"the same products alone, {precision}, two threads side by side"
    text = "matrix products of the update of actor and critic, over its time"
    return [
        *cases,
        Case("products/plain", plain, products_rate(fast.run), GFLOPS),
        Case("products/update", text, lambda _: fast.update_rate(), GFLOPS, ("products/plain",)),
    ]


def trainer_cases(key: str, trainer: Trainer) -> Iterator[Case]:
    """The stages of a run, the whole of it, and the shares of its parts."""
    config = trainer.run.config
    sizes = trainer.parameters
    parameters = f"{sum(sizes.values()):,} parameters (actor {sizes['actor']:,}, critic {sizes['critic']:,})"
    for name, stage in trainer.stages.items():
        yield Case(f"{key}/{name}", f"from {stage.start:.0%} of the budget: {stage.text}", partial(trainer.measure, name))
    critic = "oracle critic" if config.oracle else "no oracle critic"
    epochs = "1 epoch" if config.ppo.epochs == 1 else f"{config.ppo.epochs} epochs"
    text = f"a whole run: {critic}, {epochs}, {parameters}"
    yield Case(key, text, lambda _: trainer.whole())
    for part, what in SHARES.items():
        yield Case(f"{key}/{part}", f"of the wall time: {what}", partial(_share, trainer, part), PERCENT)


def _share(trainer: Trainer, part: str, seconds: float) -> float:
    """A share of what was measured just before."""
    del seconds
    return trainer.share(part)


# ---------------------------------------------------------------------------------------------------------- the goals

DEFAULTS, BEST = 20.0, 1.0
"""How many times as fast as MaskablePPO at its defaults, and at its best setting."""


def train_goals(measured: Mapping[str, Measured]) -> Iterator[Goal]:
    """What the trainer is to reach, as far as it was measured."""
    median = {key: one.median for key, one in measured.items()}
    if "train/fast" in median:
        yield Goal("preset fast without tryouts, a whole run: decisions/s", 20_000, median["train/fast"])
        yield Goal("preset fast: the tables' share of the wall time in %", 10, median["train/fast/engine"], at_most=True)
        ratio = median["products/update"] / median["products/plain"]
        yield Goal("the update's rate over that of the plain products", 0.5, ratio)
    if "train/small" in median:
        yield Goal("at the settings of PufferLib's trainer: decisions/s", 100_000, median["train/small"])
    peers = {key: value for key, value in median.items() if measured[key].case.of_a_peer}
    defaults = [value for key, value in peers.items() if "/defaults/" in key]
    if "train/fast" in median and defaults:
        yield Goal("preset fast over MaskablePPO's defaults", DEFAULTS, median["train/fast"] / max(defaults))
        yield Goal("preset fast over MaskablePPO's best setting", BEST, median["train/fast"] / max(peers.values()))
