"""A network and an evaluation for learners of other libraries, which play one seat."""

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
"""A policy: from features, float32 (n, n_features), and masks, int8 (n, NUM_ACTIONS), to actions, integers (n,)."""


def two_layers(inputs: int, outputs: int, width: int = 128) -> nn.Sequential:
    """Return a ReLU network of two hidden layers with `width` units."""
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
    """Return the points per deal of a policy on one seat, less the mean of the other seats; 0 is as good as the opponent.

    The deals are from the set `dev`, each played from every seat with the same cards, as in `noms evaluate`.

    Args:
        choose: called for many tables at once, with the features of single deals (`feature_layout` with `episode="deal"`).
        variant: name of the game.
        deals: number of deals.
        seed: of the opponent's random choices.
        opponent: name of the player on the other seats, as for `noms evaluate`.
        seats: the variant's usual number if None.
        **options: options of the variant.

    Returns:
        The mean, and half the width of its 95 % interval.

    Raises:
        ValueError: an argument is not allowed, there are fewer than two deals, or an answer is not legal.
    """
    if deals < 2:
        raise ValueError(f"deals must be at least 2, for an interval, not {deals}")
    rules = make_rules(game(variant), seats, options)
    layout = feature_layout(variant, seats, episode="deal", **options)
    hero = AgentSpec("learner", lambda: _ChosenPlayer(choose, layout))
    gain = alone_in_field(rules, hero, agent_spec(opponent), deals, seed=seed)
    return gain.mean, (gain.high - gain.low) / 2


def before_and_after(
    choose: Choose, learn: Callable[[], object], variant: str, *, decisions: int, deals: int, **arguments: Any
) -> None:
    """Evaluate a policy by `duplicate_points`, let it learn from a number of decisions, evaluate it again, and print both."""
    print(f"{variant}, points per deal against random players, 95 % interval over {deals} deals from all seats")
    print("before  {:+.2f} ± {:.2f}".format(*duplicate_points(choose, variant, deals=deals, **arguments)), flush=True)
    started = time.perf_counter()
    learn()
    seconds = time.perf_counter() - started
    mean, margin = duplicate_points(choose, variant, deals=deals, **arguments)
    print(
        f"after   {mean:+.2f} ± {margin:.2f}, {decisions:,} decisions in {seconds:.0f} s: {decisions / seconds:,.0f} a second"
    )
    print("It beats random players." if mean > margin else "It does not beat random players: learn for longer.")
