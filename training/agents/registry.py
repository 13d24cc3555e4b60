"""Players by name, for Python and the command line: those of `noms_env.players.registry`, and anybody's own (`external`)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Literal

from noms_env._files import read_file
from noms_env._jit import COMPILED, PROGRESS
from noms_env.envs.first_use import parts
from noms_env.envs.validation import Device
from noms_env.players import load_player
from noms_env.players.registry import is_player_name, policy_file, processor_only, unknown_player
from noms_env.variants import Rules

from .external import entry_names, external_player, runs_code
from .spec import BLOCK, NO_LIMIT, SEARCH_BLOCK, AgentSpec

DeviceChoice = Literal["auto", "cpu", "cuda"]


def label(rules: Rules) -> str:
    """Rules in the names of figures: `small_ships_4`."""
    return f"{rules.variant.name}_{rules.seats}"


def agent_spec(name: str, limit: float | None = None, device: Device = "cpu") -> AgentSpec:
    """A player by its name.

    Args:
        name: such as `thumb`, `pimc:100`, `noms@0`, `runs/first/policy.safetensors` (`noms_env.load_player`), or
            `my_agent:make`, `cmd:./my_bot` (`external`).
        limit: seconds for a decision of somebody else's player (`external`); of no effect on others.
        device: `cuda` for a player of a GPU, which plays with others of the same device only.

    Raises:
        ValueError: there is none of that name, the file holds no policy that can be used here, somebody else's player
            cannot be loaded or started, or it does not play on the device.
        ModuleNotFoundError: with `device="cuda"`: the libraries of the extra `cuda` are not installed.
        RuntimeError: with `device="cuda"`: there is no GPU.
    """
    if is_player_name(name):
        player = load_player(name, device)
        sha256, block = file_sha256(name), SEARCH_BLOCK if hasattr(player, "worlds") else BLOCK
        rule_sets, only = getattr(player, "rule_sets", None), getattr(player, "hand_size", None)
        if hasattr(player, "waits"):  # a policy on a GPU: of many tables its network is to see those that are asked
            player.waits = True
        if sha256 is not None or device == "cuda":
            # One serves all blocks: a policy remembers nothing, nor does a search on it, and memory on a GPU is taken once.
            return AgentSpec(name, lambda: player, rule_sets, block, sha256, device=device)
        return AgentSpec(name, lambda: load_player(name), rule_sets, block, hand_size=only)
    if device == "cuda" and runs_code(name):
        raise processor_only(name)
    external = external_player(name, limit)
    if external is None:
        otherwise = "a policy by file or folder, or your own player as MODULE:FUNCTION or cmd:PROGRAM"
        raise unknown_player(name, entry_names(), otherwise)
    return external


def agent_specs(names: Sequence[str], limit: float | None = None, device: DeviceChoice = "cpu") -> list[AgentSpec]:
    """Players that sit at the same tables, by their names.

    Args:
        names: as for `agent_spec`.
        limit: seconds for a decision.
        device: `cpu`, `cuda`, or `auto`: a GPU if there is one, all of them play there, and there is no limit.

    Raises:
        ValueError: as from `agent_spec`; or there is a limit on a GPU.
        ModuleNotFoundError, RuntimeError: likewise.
    """
    if device != "cpu":
        try:
            if limit is not None:
                raise ValueError(NO_LIMIT)
            return [agent_spec(name, None, "cuda") for name in names]
        except (ValueError, ImportError, RuntimeError):
            if device == "cuda":
                raise
    return [agent_spec(name, limit) for name in names]


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
