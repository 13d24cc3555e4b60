"""CFR+ and its measures: against brute force, against known properties, and with any number of threads."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

from noms_env._threads import RowThreads
from noms_env.core.actions import NUM_ACTIONS
from noms_env.micro.cfr import Passes, Solver, normalise, rewards_of
from noms_env.micro.deal_setup import DealSetup
from noms_env.micro.measures import exploitability, pair_gain, strategy_of
from noms_env.micro.settings import micro_game
from noms_env.micro.tree import Tree, build_tree
from noms_env.players import load_player


@pytest.fixture(scope="module")
def tiny() -> Tree:
    """One card each for three seats: at most seven information sets per seat."""
    return build_tree(DealSetup("down_up", 3, {"ranks": 4, "suits": 1}, hand_size=1))


@pytest.fixture(scope="module")
def tree() -> Tree:
    return build_tree(micro_game("down-up-1").setup())


def random_strategy(tree: Tree, seed: int) -> np.ndarray:
    return normalise(tree, np.random.default_rng(seed).exponential(size=len(tree.action)))


def pure_strategies(tree: Tree, seats: tuple[int, ...]) -> list[np.ndarray]:
    """Return every choice of one action in each information set of some seats, as slots."""
    sets = [i for i in range(len(tree.owner)) if tree.owner[i] in seats]
    return [np.array(slots) for slots in product(*(range(tree.offset[i], tree.offset[i + 1]) for i in sets))]


def with_choices(tree: Tree, strategy: np.ndarray, seats: tuple[int, ...], slots: np.ndarray) -> np.ndarray:
    owner = np.repeat(tree.owner, np.diff(tree.offset))
    changed = np.where(np.isin(owner, seats), 0.0, strategy)
    changed[slots] = 1
    return changed


@pytest.mark.parametrize("reward", ["points", "relative"])
def test_a_best_response_is_the_best_pure_strategy(tiny: Tree, reward: str) -> None:
    passes, strategy = Passes(tiny, rewards_of(tiny, reward)), random_strategy(tiny, 1)
    measures = exploitability(passes, strategy)
    for seat in range(tiny.seats):
        strategies = pure_strategies(tiny, (seat,))
        assert 8 <= len(strategies) <= 256
        best = max(passes.values(with_choices(tiny, strategy, (seat,), slots))[seat] for slots in strategies)
        assert measures.best_responses[seat] == pytest.approx(best)
        value, chosen = passes.best_response(strategy, seat)
        response = with_choices(tiny, strategy, (seat,), np.flatnonzero(chosen))
        assert passes.values(response)[seat] == pytest.approx(value)
    assert (measures.gains > 0).all()
    assert measures.nash_conv == pytest.approx(measures.gains.sum())
    if reward == "relative":
        assert measures.values.sum() == pytest.approx(0)


def test_a_pair_gains_no_more_than_with_its_best_pure_strategies(tiny: Tree) -> None:
    passes = Passes(tiny, tiny.points)
    strategy = random_strategy(tiny, 2)
    separate = exploitability(passes, strategy)
    pair = pair_gain(passes, strategy, (0, 2), separate)
    before = separate.values[[0, 2]].sum()
    strategies = pure_strategies(tiny, (0, 2))
    assert len(strategies) == 256
    best = max(passes.values(with_choices(tiny, strategy, (0, 2), slots))[[0, 2]].sum() for slots in strategies)
    assert 0.9 * (best - before) <= pair.together <= best - before + 1e-9
    assert pair.together > 0.1
    assert pair.apart == pytest.approx(separate.gains[[0, 2]].sum())


def test_two_seats_with_zero_sum_rewards_converge_to_an_equilibrium(tree: Tree) -> None:
    """Also where the reach of the others is 0: an average that leaves those sets out does not converge."""
    solver = Solver(tree, "relative")
    uniform = exploitability(solver.passes, tree.uniform())
    for iterations, bound in ((16, 0.02), (64, 0.002), (256, 0.0002)):
        while solver.iterations < iterations:
            solver.iterate()
        measures = exploitability(solver.passes, solver.average())
        assert 0 < measures.nash_conv < bound * uniform.nash_conv
    assert measures.values.sum() == pytest.approx(0)


def test_three_seats_approach_an_equilibrium(tiny: Tree) -> None:
    solver = Solver(tiny)
    for _ in range(100):
        solver.iterate()
    uniform = exploitability(solver.passes, tiny.uniform())
    assert exploitability(solver.passes, solver.average()).nash_conv < 0.005 * uniform.nash_conv


def test_threads_change_nothing(tree: Tree) -> None:
    solvers = [Solver(tree, row_threads=RowThreads(threads)) for threads in (1, 2, 3)]
    for solver in solvers:
        for _ in range(5):
            solver.iterate()
    assert len({solver.average().tobytes() + solver.regrets.tobytes() for solver in solvers}) == 1
    assert len({exploitability(solver.passes, solver.average()).nash_conv for solver in solvers}) == 1


def test_strategy_of_asks_a_player(tree: Tree) -> None:
    """`thumb` chooses one action, whatever the hidden cards are; a player that draws comes near its probabilities."""
    thumb = load_player("thumb")
    strategy = strategy_of(thumb, tree, samples=1)
    assert set(strategy.tolist()) == {0.0, 1.0}
    assert (strategy_of(thumb, tree, samples=3, seed=5) == strategy).all()
    uniform = strategy_of(load_player("random"), tree, samples=200)
    assert np.abs(uniform - tree.uniform()).max() < 0.2
    assert exploitability(Passes(tree, tree.points), strategy).nash_conv > 0.1


def test_a_player_with_illegal_answers_is_refused(tree: Tree) -> None:
    @dataclass
    class Wrong:
        answer: Callable[[np.ndarray], Any]
        wants_tables = False

        def act(self, observation: np.ndarray, mask: np.ndarray, seeds: np.ndarray, *, tables: Any = None) -> Any:
            return self.answer(mask)

    first: Any = partial(np.argmax, axis=1)
    for answer in (
        lambda mask: first(mask == 0),
        lambda mask: first(mask) - NUM_ACTIONS,
        lambda mask: first(mask) + NUM_ACTIONS,
        lambda mask: first(mask)[:1],
        lambda mask: first(mask) + 0.5,
    ):
        with pytest.raises(ValueError, match="not legal"):
            strategy_of(Wrong(answer), tree)


def test_an_unknown_reward_is_refused(tree: Tree) -> None:
    with pytest.raises(ValueError, match="reward must be points or relative, not 'tricks'"):
        Solver(tree, "tricks")
