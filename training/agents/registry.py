"""Players by name (`noms_env.load_player`), for play at many tables."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Literal

from noms_env._files import read_file
from noms_env._jit import COMPILED, PROGRESS
from noms_env.envs.first_use import parts
from noms_env.envs.validation import Device
from noms_env.players import PlayerName, load_player, parse_player
from noms_env.players.registry import COMMAND
from noms_env.variants import Rules

from .spec import BLOCK, EXTERNAL_BLOCK, SEARCH_BLOCK, AgentSpec

DeviceChoice = Literal["auto", "cpu", "cuda"]


def label(rules: Rules) -> str:
    """Return the label of rules in names of figures: `small_ships_4`."""
    return f"{rules.variant.name}_{rules.seats}"


def agent_spec(name: str, limit: float | None = None, device: Device = "cpu") -> AgentSpec:
    """Load a player by name; names and errors are those of `noms_env.load_player`.

    `limit` is in seconds per decision of a program, and ignored for other players. Players on `cuda` play only with each other.
    """
    parsed = parse_player(name)
    player = load_player(parsed, device, limit)
    if parsed.kind == "function":
        return AgentSpec(name, player.fresh, block=EXTERNAL_BLOCK, at_once=1 if player.is_function else None)
    if parsed.kind == "program":
        player.close()
        return AgentSpec(name, player.fresh, block=EXTERNAL_BLOCK, at_once=1)
    sha256, block = _sha256(parsed), SEARCH_BLOCK if hasattr(player, "worlds") else BLOCK
    rule_sets, only = getattr(player, "rule_sets", None), getattr(player, "hand_size", None)
    if hasattr(player, "waits"):  # a policy on a GPU: its network computes only the requested rows
        player.waits = True
    if sha256 is not None or device == "cuda":
        # All blocks share one player: policies and searches are stateless, and take GPU memory once.
        return AgentSpec(name, lambda: player, rule_sets, block, sha256, device=device)
    return AgentSpec(name, lambda: load_player(parsed), rule_sets, block, hand_size=only)


def agent_specs(names: Sequence[str], limit: float | None = None, device: DeviceChoice = "cpu") -> list[AgentSpec]:
    """Load players for the same tables, as `agent_spec`; ValueError for a limit without a program.

    `device` is `cpu`, `cuda`, or `auto`: a GPU if there is one and all players support it.
    """
    if limit is not None and not any(name.startswith(COMMAND) for name in names):
        raise ValueError(f"only programs ({COMMAND}PROGRAM) have a time limit for decisions, and {', '.join(names)} is none")
    if device != "cpu":
        try:
            return [agent_spec(name, None, "cuda") for name in names]
        except (ValueError, ImportError, RuntimeError):
            if device == "cuda":
                raise
    return [agent_spec(name, limit) for name in names]


def is_program(name: str) -> bool:
    """Return whether `agent_spec` would run third-party code for a name; check names from files before loading them."""
    try:
        return parse_player(name).is_foreign
    except ValueError:
        return False


def file_sha256(name: str) -> str | None:
    """Return the SHA-256 of the policy file of a policy or a search on one, None for others; ValueError for no player."""
    return _sha256(parse_player(name))


def _sha256(player: PlayerName) -> str | None:
    file = player.policy_file
    return None if file is None else hashlib.sha256(read_file(file)).hexdigest()


def compile_players(names: Iterable[str], batches: bool = True) -> None:
    """Compile the code of some players before play, unless cached or third-party; `batches` for many tables at once."""
    if COMPILED:
        PROGRESS.use(parts(["random", *sorted({name for name in names if not is_program(name)})], batches))


def hashes(agent_specs: Iterable[AgentSpec]) -> dict[str, str]:
    """Return the SHA-256 of policy files by player name, to tell figures of different weights apart."""
    return {spec.name: spec.sha256 for spec in agent_specs if spec.sha256 is not None}
