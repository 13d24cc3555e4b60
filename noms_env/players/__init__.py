"""Players. They see only what their seat may see, and need no torch.

    player = load_player("thumb")  # or "pimc:100", "noms@0", "runs/first", "my_agent:make", "cmd:./my_bot"
    actions = player.act(observation, mask, seeds, tables=sampled_tables(batch.tables, rows, rng))

A player takes many rows at once (`Player`), or one row, for which it returns one number. All randomness in a row comes from its
seed (`draw_seeds`). Players whose `wants_tables` is True also get tables with sampled hidden cards:
`noms_env.belief.determinize`.
"""

from __future__ import annotations

from noms_env.core.chance import draw_seeds, unit_draws
from noms_env.players.protocol import (
    NOBODY,
    ActionValue,
    Player,
    Remembers,
    SearchOutput,
    TellsProbabilities,
    TellsTargets,
    TellsValues,
    as_batch,
    ask,
    recalled,
    with_memory,
)
from noms_env.players.registry import PLAYERS, Entry, PlayerName, Players, load_player, load_players, parse_player

__all__ = [
    "NOBODY",
    "PLAYERS",
    "ActionValue",
    "Entry",
    "Player",
    "PlayerName",
    "Players",
    "Remembers",
    "SearchOutput",
    "TellsProbabilities",
    "TellsTargets",
    "TellsValues",
    "as_batch",
    "ask",
    "draw_seeds",
    "load_player",
    "load_players",
    "parse_player",
    "recalled",
    "unit_draws",
    "with_memory",
]
