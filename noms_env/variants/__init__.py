"""The seven variants, one module each, and the modules they share.

`rulebook` options and traits as data · `families` rules of several variants · `trumps` how trump is chosen ·
`noms_deck` the unshuffled deck · `match` the end of a match · `dispatch` calls the variant's rule for each hook ·
`table_record` the record of a table.
"""

from __future__ import annotations

from noms_env.core.actions import brief, suggest_names
from noms_env.variants import big_ships, down_up, noms, nonesuch, small_ships, sniped_whist, up_down
from noms_env.variants.rulebook import Option, Rules, RulesError, Variant, given_options, make_rules

_FILES = (sniped_whist, big_ships, small_ships, noms, nonesuch, down_up, up_down)
GAMES: dict[str, Variant] = {file.GAME.name: file.GAME for file in _FILES}
"""The variants by name, in the order of their numbers."""
VARIANTS = tuple(GAMES)
"""The names of the variants."""


def game(name: str) -> Variant:
    """Return the variant of a name; raises RulesError if there is none."""
    if not isinstance(name, str) or name not in GAMES:
        raise RulesError(f"there is no variant {brief(name)}; {suggest_names(name, GAMES)} variants are {', '.join(GAMES)}")
    return GAMES[name]


__all__ = ["GAMES", "VARIANTS", "Option", "Rules", "RulesError", "Variant", "game", "given_options", "make_rules"]
