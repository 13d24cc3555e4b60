"""Players: who may sit at a table. They see only what their seat may see, and need no torch.

    player = make_player("thumb")
    actions = player.act(observation, mask, rng, tables=sampled_tables(batch.tables, rows, rng))

A player is asked for many rows at once (`Player`); for one row it answers with one number. Players whose `wants_tables` is
True are given the tables too, as the seat to act may imagine them: `noms_env.belief.determinize`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noms_env.players.protocol import NOBODY, Player, as_batch, row_seeds

if TYPE_CHECKING:
    from noms_env.policy.player import PolicyPlayer


@dataclass(frozen=True)
class Entry:
    """One player of the registry.

    Attributes:
        where: `module:class`; the module is imported when the player is made.
        says: what the player does, in a line.
        parameters: the class's arguments that the name may give, in order, and what makes each of its text.
    """

    where: str
    says: str
    parameters: Mapping[str, Callable[[str], Any]] = field(default_factory=dict)


PLAYERS: dict[str, Entry] = {
    "random": Entry("noms_env.players.random_player:RandomPlayer", "takes every legal action with the same probability"),
    "greedy": Entry(
        "noms_env.players.greedy:GreedyPlayer", "takes the tricks that it wants as cheaply as it can, and ducks the others"
    ),
    "thumb": Entry("noms_env.players.rule_based.player:ThumbPlayer", "plays by rules of thumb"),
    "flat_mc": Entry(
        "noms_env.players.search.player:FlatMC",
        "tries its actions on sampled cards, played out by thumb",
        {"worlds": int},
    ),
    "pimc": Entry("noms_env.players.search.player:PIMC", "the same, but solves the endings exactly", {"worlds": int}),
}
"""The players by name."""


def make_player(name: str) -> Player:
    """The player of that name.

    Args:
        name: a name of `PLAYERS`, with parameters if it takes any: `pimc`, `pimc:100`; several are set apart by commas.

    Raises:
        ValueError: there is no such player, or it does not take such parameters.
    """
    word, colon, text = name.partition(":")
    entry = PLAYERS.get(word)
    if entry is None:
        raise ValueError(f"there is no player {word!r}; the players are {', '.join(PLAYERS)}")
    values = _values_of(word, entry, text.split(",") if colon else [])
    module, _, kind = entry.where.partition(":")
    player: Player = getattr(import_module(module), kind)(*values)
    return player


def _values_of(word: str, entry: Entry, texts: list[str]) -> list[Any]:
    """The parameters of a name as the class wants them."""
    if len(texts) > len(entry.parameters):
        known = f"{word}:{','.join(entry.parameters).upper()}" if entry.parameters else "none"
        raise ValueError(f"the player {word} takes {len(entry.parameters)} parameters ({known}), not {','.join(texts)!r}")
    values = []
    for (parameter, make), text in zip(entry.parameters.items(), texts, strict=False):
        try:
            values.append(make(text))
        except ValueError as error:
            raise ValueError(f"{parameter} of the player {word} cannot be {text!r}: {error}") from error
    return values


def load_player(path_or_name: Path | str) -> PolicyPlayer:
    """The player of a policy file; see `player.load_player`."""
    from noms_env.policy import player

    return player.load_player(path_or_name)


__all__ = ["NOBODY", "PLAYERS", "Entry", "Player", "as_batch", "load_player", "make_player", "row_seeds"]
