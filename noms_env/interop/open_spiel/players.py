"""Players of this package as OpenSpiel bots and policies."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python.policy import Policy

from noms_env.core.actions import brief, is_integer
from noms_env.envs.gym.seat_players import is_random
from noms_env.interop.open_spiel.game import DealGame, DealState
from noms_env.players import Player, draw_seeds, load_players


class PlayerBot(pyspiel.Bot):
    """A player of this package as a bot, with only the information in `noms_env.players.Player`.

    Args:
        game: the game.
        player_id: the seat.
        player: a name (`thumb`, `pimc:20`), the name, file or folder of a policy, or a player.
        seed: of the random choices, 0 or more.

    Raises:
        ValueError: the player or the seat is unknown, or the player cannot sit at this table.
    """

    def __init__(self, game: DealGame, player_id: int, player: str | Path | Player, seed: int = 0) -> None:
        super().__init__()
        if not is_integer(player_id) or player_id not in range(game.num_players()):
            raise ValueError(f"player_id must be a seat from 0 to {game.num_players() - 1}, not {brief(player_id)}")
        self._player = _load_player(game, player)
        self._player_id = player_id
        self._rng = np.random.default_rng(seed)

    def player_id(self) -> int:
        return self._player_id

    def restart_at(self, state: DealState) -> None:
        """Do nothing: the bot is stateless."""

    def step(self, state: DealState) -> int:
        return _choose(self._player, state, self._rng)

    def provides_policy(self) -> bool:
        return has_probabilities(self._player)

    def get_policy(self, state: DealState) -> list[tuple[int, float]]:
        """Return the legal actions with their probabilities.

        Raises:
            ValueError: the player has no action probabilities.
        """
        return list(_probabilities(self._player, state).items())

    def step_with_policy(self, state: DealState) -> tuple[list[tuple[int, float]], int]:
        """Return the legal actions with their probabilities, and an action drawn from them.

        Raises:
            ValueError: the player has no action probabilities.
        """
        policy = self.get_policy(state)
        weights = np.array([weight for _, weight in policy])
        return policy, int(self._rng.choice([action for action, _ in policy], p=weights / weights.sum()))


class PlayerPolicy(Policy):
    """A player of this package as a policy, for example to measure its exploitability.

    A randomized player without action probabilities becomes one of the pure strategies that it mixes: its random choices are a
    function of the seed and the information state.

    Args:
        game: the game.
        player: see `PlayerBot`.
        seed: 0 or more.

    Raises:
        ValueError: see `PlayerBot`.
    """

    def __init__(self, game: DealGame, player: str | Path | Player, seed: int = 0) -> None:
        super().__init__(game, list(range(game.num_players())))
        self._player = _load_player(game, player)
        self._seed = seed

    def action_probabilities(self, state: DealState, player_id: int | None = None) -> dict[int, float]:
        """Return the legal actions of the seat to act with their probabilities."""
        if has_probabilities(self._player):
            return _probabilities(self._player, state)
        digest = blake2b(state.information_state_string().encode(), digest_size=8).digest()
        rng = np.random.default_rng([self._seed, int.from_bytes(digest)])
        return {_choose(self._player, state, rng): 1.0}


def has_probabilities(player: Player) -> bool:
    """Return whether a player has action probabilities."""
    return is_random(player) or hasattr(player, "probabilities")


def _load_player(game: DealGame, player: str | Path | Player) -> Player:
    return load_players([player], 1, game.setup.rules)[0]


def _choose(player: Player, state: DealState, rng: np.random.Generator) -> int:
    table = state.deal.dealt_table
    tables = table.determinize(rng) if player.wants_tables else None
    return int(player.act(*table.view(state.deal.actor), draw_seeds(rng, 1)[0], tables=tables))


def _probabilities(player: Any, state: DealState) -> dict[int, float]:
    legal = state.deal.dealt_table.legal_actions()
    if is_random(player):
        return dict.fromkeys(legal, 1 / len(legal))
    if not has_probabilities(player):
        raise ValueError(f"{type(player).__name__} does not know the probabilities of its actions; use step")
    weights = player.probabilities(*state.deal.dealt_table.view(state.deal.actor))[legal].astype(float)
    return dict(zip(legal, (weights / weights.sum()).tolist(), strict=True))
