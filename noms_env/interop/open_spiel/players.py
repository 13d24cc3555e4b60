"""Players of this package in OpenSpiel: as bots, and as policies that its algorithms can measure."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python.policy import Policy

from noms_env.envs.gym.seat_players import is_random
from noms_env.interop.open_spiel.game import DealGame, DealState
from noms_env.players import Player, load_players


class PlayerBot(pyspiel.Bot):
    """A player of this package as a bot: it sees what `noms_env.players.Player` describes, and so cannot cheat."""

    def __init__(self, game: DealGame, player_id: int, player: str | Path | Player, seed: int = 0) -> None:
        """Take a seat.

        Args:
            game: that is played.
            player_id: the seat.
            player: a name (`thumb`, `pimc:20`), the name, file or folder of a policy, or a player.
            seed: 0 or more: what its random choices follow from.

        Raises:
            ValueError: there is no such player, or it cannot sit at this table.
        """
        super().__init__()
        self._player = _seated(game, player)
        self._player_id = player_id
        self._rng = np.random.default_rng(seed)

    def player_id(self) -> int:
        """The seat."""
        return self._player_id

    def restart_at(self, state: DealState) -> None:
        """Nothing: it remembers nothing."""

    def step(self, state: DealState) -> int:
        """The action that it takes."""
        return _chosen(self._player, state, self._rng)

    def provides_policy(self) -> bool:
        """Whether it knows with which probability it takes each action."""
        return has_probabilities(self._player)

    def get_policy(self, state: DealState) -> list[tuple[int, float]]:
        """The legal actions with their probabilities.

        Raises:
            ValueError: it does not know them.
        """
        return list(_probabilities(self._player, state).items())

    def step_with_policy(self, state: DealState) -> tuple[list[tuple[int, float]], int]:
        """The probabilities, and an action that is drawn by them.

        Raises:
            ValueError: it does not know them.
        """
        policy = self.get_policy(state)
        weights = np.array([weight for _, weight in policy])
        return policy, int(self._rng.choice([action for action, _ in policy], p=weights / weights.sum()))


class PlayerPolicy(Policy):
    """A player of this package as a policy, for instance to measure how exploitable it is.

    For a player that leaves choices to chance, and knows no probabilities, it is one of the pure strategies that the player may
    be said to draw: what is random follows from the seed and the information state.
    """

    def __init__(self, game: DealGame, player: str | Path | Player, seed: int = 0) -> None:
        """Take all seats.

        Args:
            game: that is played.
            player: see `PlayerBot`.
            seed: 0 or more.

        Raises:
            ValueError: see `PlayerBot`.
        """
        super().__init__(game, list(range(game.num_players())))
        self._player = _seated(game, player)
        self._seed = seed

    def action_probabilities(self, state: DealState, player_id: int | None = None) -> dict[int, float]:
        """The legal actions of the seat to act with their probabilities."""
        if has_probabilities(self._player):
            return _probabilities(self._player, state)
        digest = blake2b(state.information_state_string().encode(), digest_size=8).digest()
        rng = np.random.default_rng([self._seed, int.from_bytes(digest)])
        return {_chosen(self._player, state, rng): 1.0}


def _seated(game: DealGame, player: str | Path | Player) -> Player:
    """A player at the game's table."""
    return load_players([player], 1, game.setup.rules)[0]


def has_probabilities(player: Player) -> bool:
    """Whether a player can say with which probability it takes each action."""
    return is_random(player) or hasattr(player, "probabilities")


def _chosen(player: Player, state: DealState, rng: np.random.Generator) -> int:
    """The action that a player takes for the seat to act."""
    table = state.deal.dealt_table
    tables = table.determinize(rng) if player.wants_tables else None
    return int(player.act(*table.view(state.deal.actor), rng, tables=tables))


def _probabilities(player: Any, state: DealState) -> dict[int, float]:
    """The probabilities of the legal actions."""
    legal = state.deal.dealt_table.legal_actions()
    if is_random(player):
        return dict.fromkeys(legal, 1 / len(legal))
    if not has_probabilities(player):
        raise ValueError(f"{type(player).__name__} does not say with which probability it takes an action; use step")
    weights = player.probabilities(*state.deal.dealt_table.view(state.deal.actor))[legal].astype(float)
    return dict(zip(legal, (weights / weights.sum()).tolist(), strict=True))
