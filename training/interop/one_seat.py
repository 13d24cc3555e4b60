"""For learners of other libraries, which sit on one seat: a network, and how its play is measured."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from torch import nn

from noms_env import FeatureLayout, feature_layout
from noms_env.variants import game, make_rules

from ..agents.registry import agent_spec
from ..agents.spec import AgentSpec
from ..evaluation.comparison import alone_in_field

Choose = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""From features, float32 (n, n_features), and masks, int8 (n, NUM_ACTIONS), to actions, integers (n,)."""


def two_layers(inputs: int, outputs: int, width: int = 128) -> nn.Sequential:
    """A network of two hidden layers."""
    hidden = (nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
    return nn.Sequential(*hidden, nn.Linear(width, outputs))


class _ChosenPlayer:
    wants_tables: ClassVar[bool] = False

    def __init__(self, choose: Choose, layout: FeatureLayout) -> None:
        self._choose, self._layout = choose, layout

    def act(
        self, observation: np.ndarray, mask: np.ndarray, seeds: np.ndarray, *, tables: np.recarray | None = None
    ) -> np.ndarray:
        return np.asarray(self._choose(self._layout.encode(observation), mask))


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
        choose: what is measured; it is asked for many tables at once, with the features of single deals
            (`noms_env.feature_layout` with `episode="deal"`).
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
    layout = feature_layout(variant, seats, episode="deal", **options)
    hero = AgentSpec("learner", lambda: _ChosenPlayer(choose, layout))
    gain = alone_in_field(rules, hero, agent_spec(opponent), deals, seed=seed)
    return gain.mean, (gain.high - gain.low) / 2


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
