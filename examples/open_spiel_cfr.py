"""Counterfactual regret minimization on a small deck with OpenSpiel: `python examples/open_spiel_cfr.py`.

Needs `pip install '.[interop]'` and takes a minute. The first game is `down_up` with two seats, six cards (A, K, Q of two
suits) and two cards in each hand. Its tree has 6,607 nodes, so all results are exact. Points are `relative` (own less the
opponent's), which makes the game zero-sum. The exploitability of a policy is the value of the best responses to it, in points
per deal and as a mean over both seats. It is 0 in an equilibrium.

The second game has a hidden partner: `small_ships` with three seats and one card each. CFR has no convergence guarantee with
three seats. NashConv measures the distance from an equilibrium: the sum of each seat's gain from a best response.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pyspiel
from open_spiel.python.policy import python_policy_to_pyspiel_policy

from noms_env.interop.open_spiel import PlayerPolicy  # this import also registers the games

TWO_SEATS = "noms_down_up(seats=2,ranks=3,suits=2,hand_size=2,reward=relative)"
HIDDEN_PARTNER = "noms_small_ships(seats=3,ranks=2,suits=2,hand_size=1,min_bid=1,reward=relative)"
ITERATIONS = (5, 20, 100)
ITERATIONS_OF_THREE = (5, 20, 50)


def solve(tree: pyspiel.Game, iterations: tuple[int, ...]) -> Iterator[tuple[int, pyspiel.Policy]]:
    """Yield the average policy of CFR+ after each number of iterations."""
    solver = pyspiel.CFRPlusSolver(tree)
    for iteration in range(1, iterations[-1] + 1):
        solver.evaluate_and_update_policy()
        if iteration in iterations:
            yield iteration, solver.average_policy()


def value(tree: pyspiel.Game, policy: pyspiel.Policy, opponent: pyspiel.Policy) -> float:
    """Return the exact points per deal of a policy against another, as a mean over both seats."""
    first = pyspiel.expected_returns(tree.new_initial_state(), [policy, opponent], -1, True)[0]
    second = pyspiel.expected_returns(tree.new_initial_state(), [opponent, policy], -1, True)[1]
    return float(first + second) / 2


def two_seats(name: str = TWO_SEATS, iterations: tuple[int, ...] = ITERATIONS) -> None:
    """Print the exploitability of each policy, and its points against `random` and `thumb`."""
    game = pyspiel.load_game(name)
    tree = pyspiel.convert_to_cached_tree(game)  # builds each node only once, which is many times faster
    uniform = pyspiel.UniformRandomPolicy(tree)
    thumb = python_policy_to_pyspiel_policy(PlayerPolicy(game, "thumb").to_tabular())
    print(f"{name}\n{'policy':12} exploitability  against random  against thumb")

    def report(policy_name: str, policy: pyspiel.Policy) -> None:
        exploitable = pyspiel.exploitability(tree, policy)
        wins = [value(tree, policy, opponent) for opponent in (uniform, thumb)]
        print(f"{policy_name:12} {exploitable:14.4f}  {wins[0]:+14.4f}  {wins[1]:+13.4f}", flush=True)

    report("random", uniform)
    report("thumb", thumb)
    for iteration, policy in solve(tree, iterations):
        report(f"CFR+ {iteration}", policy)


def hidden_partner(name: str = HIDDEN_PARTNER, iterations: tuple[int, ...] = ITERATIONS_OF_THREE) -> None:
    """Print the NashConv of each policy."""
    tree = pyspiel.convert_to_cached_tree(pyspiel.load_game(name))
    print(f"\n{name}\n{'policy':12} {'NashConv':>14}")
    print(f"{'random':12} {pyspiel.nash_conv(tree, pyspiel.UniformRandomPolicy(tree)):14.4f}", flush=True)
    for iteration, policy in solve(tree, iterations):
        print(f"{f'CFR+ {iteration}':12} {pyspiel.nash_conv(tree, policy):14.4f}", flush=True)


def main() -> None:
    """Solve both games."""
    started = time.perf_counter()
    two_seats()
    hidden_partner()
    print(f"\n{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
