"""OpenSpiel bots as players, by the name of a function in this or another module.

    noms evaluate noms_training.agents.open_spiel_players:ismcts random --variant up_down --deals 50
    noms evaluate my_bots:make thumb --variant up_down  # def make(): return OpenSpielPlayer(my_bot)

A bot gets a state of the game `noms_<variant>` (`noms_env.interop.open_spiel`): the deal at the table so far, with the
hidden cards sampled.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, ClassVar

import numpy as np
import pyspiel
from open_spiel.python.algorithms.ismcts import ISMCTSBot
from open_spiel.python.algorithms.mcts import RandomRolloutEvaluator
from open_spiel.python.bots.uniform_random import UniformRandomBot

from noms_env.core.cards import NO_TRUMP
from noms_env.interop.open_spiel import DealGame, game_name, parameters_of, state_of
from noms_env.players.programs.lines import rules_of
from noms_env.players.protocol import RowByRow
from noms_env.variants.rulebook import ROTATION_WORDS
from noms_env.variants.trumps import ROTATION

SIMULATIONS = 50  # simulations of `ismcts` per decision

MakeBot = Callable[[DealGame, int, int], Any]
"""Makes a bot (`pyspiel.Bot`) from the game, its seat and a seed (0 to 2**63 - 1)."""


class OpenSpielPlayer(RowByRow):
    """An OpenSpiel bot as a player. It is stateless: each decision makes a new bot."""

    wants_tables: ClassVar[bool] = True

    def __init__(self, make_bot: MakeBot) -> None:
        self._make_bot = make_bot

    def decide(self, observation: np.ndarray, mask: np.ndarray, row: Any, seed: int) -> int:
        game = game_of(row)
        return int(self._make_bot(game, int(row.seat), seed).step(state_of(game, row)))


def game_of(row: np.record) -> DealGame:
    """Return the OpenSpiel game for the deal at a table (`table_record.TABLE`).

    It ignores the rest of the match: totals, a double hand of noms, tricks that add up over deals.
    """
    rules = rules_of(row)
    parameters = parameters_of(rules, dealer=int(row.dealer))
    if rules.schedule:
        parameters["deal"] = int(row.deal)
    elif "trump_rotation" in parameters and row.trump_mode == ROTATION:
        parameters["trump_rotation"] = ROTATION_WORDS[-1 if row.trump == NO_TRUMP else int(row.trump)]
    return _load_game(game_name(rules.variant.name), tuple(parameters.items()))


@lru_cache(maxsize=128)
def _load_game(name: str, parameters: tuple[tuple[str, Any], ...]) -> DealGame:
    game: DealGame = pyspiel.load_game(name, dict(parameters))
    return game


def ismcts() -> OpenSpielPlayer:
    """Make an information-set Monte Carlo tree search with random playouts (Cowling, Powley, Whitehouse, 2012)."""
    return OpenSpielPlayer(partial(ismcts_bot, simulations=SIMULATIONS))


def uniform_random() -> OpenSpielPlayer:
    """Make a player of uniformly random legal actions."""
    return OpenSpielPlayer(lambda game, seat, seed: UniformRandomBot(seat, np.random.default_rng(seed)))


def ismcts_bot(game: DealGame, seat: int, seed: int, *, simulations: int) -> Any:
    """Make OpenSpiel's search, with an exploration constant of a quarter of the range of the points."""
    chance = np.random.RandomState(seed % 2**32)
    evaluator = RandomRolloutEvaluator(1, chance)
    explore = (game.max_utility() - game.min_utility()) / 4
    bot = ISMCTSBot(game, evaluator, explore, simulations, random_state=chance)
    bot.set_resampler(
        lambda state, player: state.resample_from_infostate(player, chance.random_sample)
    )  # the default resampler is seeded by the clock
    return bot
