"""The trees of micro-games and the measures on them, against OpenSpiel's."""

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


class OfTree(Policy):  # type: ignore[misc]
    """A strategy on one of the package's own game trees, as a policy of OpenSpiel's."""

    def __init__(self, game: DealGame, tree: Tree, strategy: np.ndarray) -> None:
        super().__init__(game, list(range(game.num_players())))
        self._tree, self._strategy, self._places = tree, strategy, {key: i for i, key in enumerate(tree.key.tolist())}

    def action_probabilities(self, state: DealState, player_id: int | None = None) -> dict[int, float]:
        legal = state.legal_actions()
        if len(legal) == 1:
            return {legal[0]: 1.0}
        seen, key = state.deal.dealt_table.view(state.current_player())[0], np.empty(1, np.int64)
        write_keys(seen[np.newaxis].view(np.int64), key)
        offset = self._tree.offset
        slots = slice(offset[self._places[int(key[0])]], offset[self._places[int(key[0])] + 1])
        return dict(zip(self._tree.action[slots].tolist(), self._strategy[slots].tolist(), strict=True))


@pytest.mark.parametrize("name", some(TREES, 3))
def test_the_solver_and_its_measures_agree_with_those_here(name: str) -> None:
    """NashConv and the values of a strategy that is neither uniform nor solved, to 1e-9."""
    game: DealGame = pyspiel.load_game(name)
    tree = build_tree(game.setup)
    solver = Solver(tree, game.reward)
    for _ in range(3):
        solver.iterate()
    policy = OfTree(game, tree, solver.average())
    found, theirs = exploitability(solver.passes, solver.average()), nash_conv(game, policy, return_only_nash_conv=False)
    assert found.nash_conv == pytest.approx(theirs.nash_conv, abs=1e-9)
    assert found.gains == pytest.approx(np.array(theirs.player_improvements), abs=1e-9)
    assert found.values == pytest.approx(
        expected_game_score.policy_value(game.new_initial_state(), [policy] * game.num_players()), abs=1e-9
    )
    assert found.nash_conv > 1e-4 or "sniped" in name, "there nothing is to be gained"
