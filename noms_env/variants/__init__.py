"""The seven variants: one file each, and what they share.

`rulebook` options as data · `exact` the exact-bid games · `announce` trump and nomination · `trumps` trump that nobody
chooses · `noms_deck` the unshuffled deck · `match` the end of a match · `dispatch` which variant answers a hook ·
`table_record` the record of a table.
"""

from __future__ import annotations

from noms_env.core.state import VARIANTS
from noms_env.variants.big_ships import BIG_SHIPS_GAME
from noms_env.variants.down_up import DOWN_UP_GAME
from noms_env.variants.noms import NOMS_GAME
from noms_env.variants.nonesuch import NONESUCH_GAME
from noms_env.variants.rulebook import Option, Rules, RulesError, Variant, make_rules
from noms_env.variants.small_ships import SMALL_SHIPS_GAME
from noms_env.variants.sniped_whist import SNIPED_WHIST_GAME
from noms_env.variants.up_down import UP_DOWN_GAME

_GAMES = (SNIPED_WHIST_GAME, BIG_SHIPS_GAME, SMALL_SHIPS_GAME, NOMS_GAME, NONESUCH_GAME, DOWN_UP_GAME, UP_DOWN_GAME)
GAMES = {game.name: game for game in sorted(_GAMES, key=lambda game: game.number)}
"""The variants by name, in the order of their numbers."""


def game(name: str) -> Variant:
    """The variant of that name.

    Raises:
        RulesError: there is none.
    """
    if not isinstance(name, str) or name not in GAMES:
        raise RulesError(f"there is no variant {name!r}; the variants are {', '.join(VARIANTS)}")
    return GAMES[name]


__all__ = ["GAMES", "Option", "Rules", "RulesError", "Variant", "game", "make_rules"]
