"""Exploitability: the distance of a strategy from an equilibrium.

    NashConv = sum over the seats: value of a best response to the others' strategies - value of the own strategy

(M. Lanctot et al., arXiv 1711.00832). It is 0 exactly at the Nash equilibria.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from noms_env.belief.determinize import sampled_tables
from noms_env.core.actions import NUM_ACTIONS
from noms_env.micro.cfr import REWARDS, Passes, normalise
from noms_env.micro.tree import Tree
from noms_env.players import Player, TellsProbabilities, draw_seeds


class Exploitability(NamedTuple):
    """Exploitability of a strategy that all seats play.

    Attributes:
        values: expected reward of each seat, float64, shape (seats,).
        best_responses: expected reward of each seat with a best response to the others, float64, shape (seats,).
    """

    values: np.ndarray
    best_responses: np.ndarray

    @property
    def gains(self) -> np.ndarray:
        """Gain of each seat from a best response."""
        return np.asarray(self.best_responses - self.values)

    @property
    def nash_conv(self) -> float:
        """The sum of the gains."""
        return float(self.gains.sum())


def exploitability(passes: Passes, strategy: np.ndarray) -> Exploitability:
    """Compute the exploitability of a strategy, float64, shape (slots,)."""
    values = passes.values(strategy)
    best = np.array([passes.best_response(strategy, seat)[0] for seat in range(passes.tree.seats)])
    return Exploitability(values, best)


def reward_of(player: Player) -> str | None:
    """Return the objective of a player from its attribute `reward`: an entry of `REWARDS`, or None."""
    reward = getattr(player, "reward", None)
    return reward if isinstance(reward, str) and reward in REWARDS else None


class PairGain(NamedTuple):
    """Gain of two seats that deviate together, without knowing each other's cards.

    Attributes:
        seats: the two seats.
        together: gain of their summed points: a lower bound, from alternating best responses.
        apart: sum of their gains if each deviates alone.
    """

    seats: tuple[int, int]
    together: float
    apart: float


def pair_gain(passes: Passes, strategy: np.ndarray, seats: tuple[int, int], separate: Exploitability) -> PairGain:
    """Compute the gain of two seats that share their points, by alternating best responses, starting from either seat."""
    tree = passes.tree
    both = passes.rewards[:, seats].sum(axis=1, keepdims=True)
    team = Passes(tree, np.broadcast_to(both, passes.rewards.shape), passes.row_threads)
    before, best = float(separate.values[list(seats)].sum()), -np.inf
    of_slot = np.repeat(tree.owner, np.diff(tree.offset))
    for order in (seats, seats[::-1]):
        played, value, turn = strategy.copy(), before, 0
        while True:
            seat = order[turn % 2]
            best_value, chosen = team.best_response(played, seat)
            if turn >= 2 and best_value <= value + LEAST:
                break
            value, turn = max(value, best_value), turn + 1
            played = np.where(of_slot == seat, chosen, played)
        best = max(best, value)
    return PairGain(seats, best - before, float(separate.gains[list(seats)].sum()))


LEAST = 1e-9
"""Smallest gain in points that counts as one; smaller ones are rounding errors."""


def strategy_of(
    player: Player, tree: Tree, samples: int = 32, seed: int = 0, tick: Callable[[int], None] = lambda sets: None
) -> np.ndarray:
    """Return the strategy of a player, float64, shape (slots,); ValueError if it answers with an illegal action.

    The strategy of a player without probabilities is estimated by the frequencies of `samples` answers per information set,
    from a seed. `tick` is called with the number of sets just processed.
    """
    rng, strategy = np.random.default_rng(seed), np.zeros(len(tree.action))
    for numbers, observation, mask, tables in tree.decisions():
        if isinstance(player, TellsProbabilities):
            chances = player.probabilities(observation, mask).astype(np.float64)
        else:
            chances = np.zeros(mask.shape)
            for _ in range(samples):
                sampled = sampled_tables(tables, None, rng) if player.wants_tables else None
                actions = np.asarray(player.act(observation, mask, draw_seeds(rng, len(mask)), tables=sampled))
                each = np.arange(len(mask))
                is_index = (
                    actions.shape == each.shape
                    and actions.dtype.kind in "iu"
                    and ((actions >= 0) & (actions < NUM_ACTIONS)).all()
                )
                if not is_index or not mask[each, actions].all():
                    raise ValueError("the player answered with an action that is not legal")
                chances[each, actions] += 1 / samples
        for row, i in enumerate(numbers):
            slots = slice(tree.offset[i], tree.offset[i + 1])
            strategy[slots] = chances[row, tree.action[slots]]
        tick(len(numbers))
    return normalise(tree, strategy)
