"""Players by name, for Python and the command line: those of the package, policies, and anybody's own."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from noms_env.players import PLAYERS, make_player
from noms_env.policy.player import PolicyPlayer, is_policy_name, load_player, policy_file_of
from noms_env.variants import Rules
from training.agents.external import BLOCK as OWN_BLOCK
from training.agents.external import entry_names, own_player
from training.agents.table_pool import Agent, Guest

BLOCK, SEARCH_BLOCK = 128, 8
"""Deals that are played side by side, fewer with players that search; results depend on it."""


MakePlayer = Callable[[np.random.Generator], Agent]
"""A player for a block of deals, given its stream of random numbers."""


def label(kind: Rules) -> str:
    """Rules in the names of figures: `small_ships_4`."""
    return f"{kind.variant.name}_{kind.seats}"


@dataclass(frozen=True)
class AgentSpec:
    """Who is measured.

    Attributes:
        name: as the user wrote it.
        make: the player for a block of deals.
        rule_sets: the rules of the tables that it can sit at; None for all.
        block: deals that it should be asked to play side by side.
        sha256: of a policy's file; None for other players.
    """

    name: str
    make: MakePlayer
    rule_sets: tuple[Rules, ...] | None = None
    block: int = BLOCK
    sha256: str | None = None

    def check(self, kind: Rules) -> None:
        """Make sure that it can sit at a table.

        Raises:
            ValueError: it was trained for others.
        """
        if self.rule_sets is not None and kind not in self.rule_sets:
            trained = ", ".join(dict.fromkeys(f"{own.variant.name} with {own.seats} seats" for own in self.rule_sets))
            same = any((own.variant.name, own.seats) == (kind.variant.name, kind.seats) for own in self.rule_sets)
            unlike = " and other options" if same else ""
            raise ValueError(
                f"{self.name} was trained for {trained}, not for {kind.variant.name} with {kind.seats} seats{unlike}"
            )


def agent_spec(name: str, limit: float | None = None) -> AgentSpec:
    """A player by its name: of the registry, a policy, or somebody else's (`own_players`).

    Args:
        name: such as `thumb`, `pimc:100`, `runs/first/policy.safetensors`, `my_agent:make`, `cmd:./my_bot`; behind a policy
            `@` and a temperature may stand: `runs/first@0` takes the most probable action everywhere, and without it actions
            are drawn as in training.
        limit: seconds that a program has for a decision (`bot.LIMIT` when None); of no effect on other players.

    Raises:
        ValueError: there is none of that name, the file holds no policy that can be used here, or somebody else's player
            cannot be loaded or started.
    """
    if name.partition(":")[0] in PLAYERS:
        player = make_player(name)
        block = SEARCH_BLOCK if hasattr(player, "worlds") else BLOCK
        return AgentSpec(name, lambda rng: Guest(make_player(name), rng), None, block)
    file, temperature = _split_temperature(name)
    if _is_policy(file):
        policy = load_player(file)
        return AgentSpec(
            name, lambda rng: Guest(Tempered(policy, temperature), rng), policy.rule_sets, sha256=file_sha256(name)
        )
    own = own_player(name, limit)
    if own is None:
        names = ", ".join([*PLAYERS, *entry_names()])
        raise ValueError(
            f"there is no player {name!r}; the players are {names}, policies by file, folder or name, "
            "and your own as MODULE:FUNCTION or cmd:PROGRAM"
        )
    return AgentSpec(name, own.guest, None, OWN_BLOCK)


def file_sha256(name: str) -> str | None:
    """SHA-256 of a policy's file; None if a name is that of another player.

    Args:
        name: see `agent_spec`.

    Raises:
        ValueError: there is no such policy.
        OSError: its file cannot be read.
    """
    if name.partition(":")[0] in PLAYERS:
        return None
    file, _ = _split_temperature(name)
    return hashlib.sha256(policy_file_of(file).read_bytes()).hexdigest() if _is_policy(file) else None


def hashes(agent_specs: Iterable[AgentSpec]) -> dict[str, str]:
    """SHA-256 of the files of those that are policies, by name, so that figures can be told from those of other weights."""
    return {one.name: one.sha256 for one in agent_specs if one.sha256 is not None}


def guest(name: str) -> MakePlayer:
    """How an `agent_spec` is made.

    Raises:
        ValueError: see `agent_spec`.
    """
    return agent_spec(name).make


class Tempered:
    """A policy at a fixed temperature."""

    wants_tables: ClassVar[bool] = False

    def __init__(self, policy: PolicyPlayer, temperature: float) -> None:
        """Take a policy; see `PolicyPlayer.act` for the temperature."""
        self.policy, self.temperature = policy, temperature

    def act(
        self,
        observation: np.ndarray,
        mask: np.ndarray,
        rng: np.random.Generator,
        *,
        tables: np.recarray | None = None,
    ) -> Any:
        """See `PolicyPlayer.act`."""
        return self.policy.act(observation, mask, rng, temperature=self.temperature)

    def probabilities(self, observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """See `PolicyPlayer.probabilities`."""
        return self.policy.probabilities(observation, mask, temperature=self.temperature)


def _split_temperature(name: str) -> tuple[str, float]:
    """The file and the temperature of `file@temperature`; 1 where none is given."""
    file, sign, text = name.rpartition("@")
    if not sign or _is_policy(name):
        return name, 1.0
    try:
        temperature = float(text)
    except ValueError:
        return name, 1.0
    if not 0 <= temperature < math.inf:
        raise ValueError(f"the temperature behind @ must be a number from 0 on, not {text!r}")
    return file, temperature


def _is_policy(name: str) -> bool:
    """Whether a name can only be meant as a policy's."""
    return is_policy_name(name) or Path(name).exists() or name.endswith(".safetensors")
