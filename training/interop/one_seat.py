"""For learners of other libraries, which sit on one seat: what a network can read, and how its play is measured."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from noms_env.observation.features import COPY
from noms_env.policy.encoding import make_encoding
from noms_env.variants import Rules, game, make_rules

from ..agents.registry import agent_spec
from ..agents.spec import AgentSpec
from ..evaluation.comparison import alone_in_field

Choose = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""From observations, uint8 (n, OBSERVATION_SIZE), and masks, int8 (n, NUM_ACTIONS), to actions, integers (n,)."""


class Features(nn.Module):
    """The first layer of a network for observations as they are: from bytes to what the package's own policies read.

    Of the bytes those are kept that can differ at such tables, each from 0 to about 1, and some numbers come as one-hot too
    (`noms_env.policy.encoding`). The suits keep their names.

    Attributes:
        n_features: what comes out.
    """

    index: Tensor
    value: Tensor
    scale: Tensor

    def __init__(self, rules: Rules) -> None:
        super().__init__()
        encoding = make_encoding([rules])
        self.n_features = encoding.n_features
        self.register_buffer("index", torch.from_numpy(encoding.index[0].astype(np.int64)))
        self.register_buffer("value", torch.from_numpy(encoding.value[0].astype(np.float32)))
        self.register_buffer("scale", torch.from_numpy(encoding.scale))

    def forward(self, observation: Tensor) -> Tensor:
        """From shape (..., OBSERVATION_SIZE), bytes of any type, to float32, shape (..., n_features)."""
        seen = observation[..., self.index].float()
        return torch.where(self.value == COPY, seen, (seen == self.value).float()) * self.scale


def two_layers(rules: Rules, outputs: int, width: int = 128) -> nn.Sequential:
    """A network of two hidden layers behind `Features`."""
    features = Features(rules)
    hidden = (nn.Linear(features.n_features, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
    return nn.Sequential(features, *hidden, nn.Linear(width, outputs))


class _ChosenPlayer:
    wants_tables: ClassVar[bool] = False

    def __init__(self, choose: Choose) -> None:
        self._choose = choose

    def act(
        self, observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator, *, tables: np.recarray | None = None
    ) -> np.ndarray:
        return np.asarray(self._choose(observation, mask))


def duplicate_points(
    choose: Choose,
    variant: str,
    *,
    deals: int = 500,
    seed: int = 0,
    opponent: str = "random",
    seats: int | None = None,
    **options: Any,
) -> tuple[float, float]:
    """Points per deal less the mean of the other seats', of whoever chooses on one seat; 0 is as good as they are.

    The deals are those of the set `dev`, each played from every seat with the same cards, as in `noms evaluate`.

    Args:
        choose: what is measured; it is asked for many tables at once.
        variant: name of the game.
        deals: how many.
        seed: of what is random in the opponent.
        opponent: name of the player on the other seats, as for `noms evaluate`.
        seats: number of seats, the variant's default when None.
        **options: options of the variant.

    Returns:
        The mean, and the margin of its 95 % interval.

    Raises:
        ValueError: an argument is not allowed, there are fewer than two deals, or an answer is not legal.
    """
    if deals < 2:
        raise ValueError(f"an interval takes at least 2 deals, not {deals}")
    rules = make_rules(game(variant), seats, options)
    hero = AgentSpec("learner", lambda: _ChosenPlayer(choose))
    found = alone_in_field(rules, hero, agent_spec(opponent), deals, seed=seed)
    return found.mean, (found.high - found.low) / 2


def before_and_after(choose: Choose, learn: Callable[[], None], variant: str, *, decisions: int, deals: int) -> None:
    """Measure `choose` against random players on so many deals, learn from so many decisions, measure again, and print both."""
    print(f"{variant}, points per deal against random players, 95 % interval over {deals} deals from all seats")
    print("before  {:+.2f} ± {:.2f}".format(*duplicate_points(choose, variant, deals=deals)), flush=True)
    started = time.perf_counter()
    learn()
    seconds = time.perf_counter() - started
    mean, margin = duplicate_points(choose, variant, deals=deals)
    print(
        f"after   {mean:+.2f} ± {margin:.2f}, {decisions:,} decisions in {seconds:.0f} s: {decisions / seconds:,.0f} a second"
    )
    print("It beats random players." if mean > margin else "It does not beat random players: learn for longer.")
