"""The solver of micro-games and its measures agree with OpenSpiel."""

import numpy as np
import pytest

pyspiel = pytest.importorskip("pyspiel", reason="OpenSpiel is not installed")

from open_spiel.python.algorithms import expected_game_score  # noqa: E402
from open_spiel.python.algorithms.exploitability import nash_conv  # noqa: E402
from open_spiel.python.policy import Policy  # noqa: E402

from noms_env.interop.open_spiel import DealGame, DealState  # noqa: E402
from noms_env.micro.cfr import Solver  # noqa: E402
from noms_env.micro.measures import exploitability  # noqa: E402
from noms_env.micro.tree import Tree, build_tree  # noqa: E402
from noms_env.micro.tree_kernels import write_keys  # noqa: E402
from tests.cases import some  # noqa: E402

pytestmark = pytest.mark.interop

TREES = [
    "noms_down_up(seats=2,ranks=2,suits=2,reward=relative)",
    "noms_down_up(seats=3,ranks=4,suits=1,hand_size=1)",
    "noms_sniped_whist(seats=3,ranks=2,suits=2,tie=cut,scoring=tricks)",
    "noms_small_ships(seats=3,ranks=3,suits=1,min_bid=1)",
    "noms_small_ships(seats=2,ranks=3,suits=1,hand_size=1,min_bid=1,misere_trump=none,stock_nomination=redraw,indication=True)",
    "noms_noms(seats=2,ranks=3,suits=1,hand_size=1,min_bid=1)",
]


class TreePolicy(Policy):  # type: ignore[misc]
    """A strategy on one of our game trees, as a policy of OpenSpiel."""

    def __init__(self, game: DealGame, tree: Tree, strategy: np.ndarray) -> None:
        super().__init__(game, list(range(game.num_players())))
        self._tree, self._strategy, self._index = tree, strategy, {key: i for i, key in enumerate(tree.key.tolist())}

    def action_probabilities(self, state: DealState, player_id: int | None = None) -> dict[int, float]:
        legal = state.legal_actions()
        if len(legal) == 1:
            return {legal[0]: 1.0}
        observation, key = state.deal.dealt_table.view(state.current_player())[0], np.empty(1, np.int64)
        write_keys(observation[np.newaxis].view(np.int64), key)
        index = self._index[int(key[0])]
        slots = slice(*self._tree.offset[index : index + 2])
        return dict(zip(self._tree.action[slots].tolist(), self._strategy[slots].tolist(), strict=True))


@pytest.mark.parametrize("name", some(TREES, 3))
def test_exploitability_agrees_with_openspiel(name: str) -> None:
    game: DealGame = pyspiel.load_game(name)
    tree = build_tree(game.setup)
    solver = Solver(tree, game.reward)
    for _ in range(3):  # a strategy that is neither uniform nor solved
        solver.iterate()
    policy = TreePolicy(game, tree, solver.average())
    ours, theirs = exploitability(solver.passes, solver.average()), nash_conv(game, policy, return_only_nash_conv=False)
    assert ours.nash_conv == pytest.approx(theirs.nash_conv, abs=1e-9)
    assert ours.gains == pytest.approx(np.array(theirs.player_improvements), abs=1e-9)
    values = expected_game_score.policy_value(game.new_initial_state(), [policy] * game.num_players())
    assert ours.values == pytest.approx(values, abs=1e-9)
    assert ours.nash_conv > 1e-4 or "sniped" in name, "every strategy of that game is an equilibrium"
