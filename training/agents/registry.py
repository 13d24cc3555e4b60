"""Players by name, for Python and the command line: those of `noms_env.players.registry`, and anybody's own (`external`)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from noms_env._files import read_file
from noms_env._jit import COMPILED, PROGRESS
from noms_env.envs.first_use import parts
from noms_env.players import load_player
from noms_env.players.registry import is_player_name, policy_file, unknown_player
from noms_env.variants import Rules

from .external import entry_names, external_player, runs_code
from .spec import BLOCK, SEARCH_BLOCK, AgentSpec


def label(rules: Rules) -> str:
    """Rules in the names of figures: `small_ships_4`."""
    return f"{rules.variant.name}_{rules.seats}"


def agent_spec(name: str, limit: float | None = None) -> AgentSpec:
    """A player by its name.

    Args:
        name: such as `thumb`, `pimc:100`, `noms@0`, `runs/first/policy.safetensors` (`noms_env.load_player`), or
            `my_agent:make`, `cmd:./my_bot` (`external`).
        limit: seconds for a decision of somebody else's player (`external`); of no effect on others.

    Raises:
        ValueError: there is none of that name, the file holds no policy that can be used here, or somebody else's player
            cannot be loaded or started.
    """
    if is_player_name(name):
        player = load_player(name)
        sha256, block = file_sha256(name), SEARCH_BLOCK if hasattr(player, "worlds") else BLOCK
        if sha256 is not None:  # a policy remembers nothing, nor does a search on it: one serves all blocks
            return AgentSpec(name, lambda: player, getattr(player, "rule_sets", None), block, sha256)
        only = getattr(player, "hand_size", None)
        return AgentSpec(name, lambda: load_player(name), getattr(player, "rule_sets", None), block, hand_size=only)
    external = external_player(name, limit)
    if external is None:
        otherwise = "a policy by file or folder, or your own player as MODULE:FUNCTION or cmd:PROGRAM"
        raise unknown_player(name, entry_names(), otherwise)
    return external


def is_program(name: str) -> bool:
    """Whether `agent_spec` would run somebody else's code for a name: a name out of a file is to be asked for this first."""
    return not is_player_name(name) and runs_code(name)


def file_sha256(name: str) -> str | None:
    """SHA-256 of the file of a policy, or of that on which a player searches; None if the name is that of another player.

    Raises:
        ValueError: there is no such policy.
        OSError: its file cannot be read.
    """
    file = policy_file(name)
    return None if file is None else hashlib.sha256(read_file(file)).hexdigest()


def compile_players(names: Iterable[str], batches: bool = True) -> None:
    """Compile at once what is needed for playing, before anything is played; nothing is said where that was done before.

    Args:
        names: the players; somebody else's are left out.
        batches: whether many tables are played side by side.
    """
    if COMPILED:
        PROGRESS.use(parts(["random", *sorted({name for name in names if is_player_name(name)})], batches))


def hashes(agent_specs: Iterable[AgentSpec]) -> dict[str, str]:
    """SHA-256 of the files of those that are policies, by name, so that figures can be told from those of other weights."""
    return {one.name: one.sha256 for one in agent_specs if one.sha256 is not None}
