"""Games by what the hero was in them: its role, its seat after the dealer, its cards."""

from __future__ import annotations

import numpy as np

from noms_env.core.actions import CALL_WORDS
from noms_env.variants import Rules
from noms_env.variants.families import AUCTION, EXACT_BID, PLAIN, SHARES

PLACES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh")


def roles(rules: Rules, tables: np.recarray, hero: np.ndarray) -> list[tuple[str, list[str], np.ndarray]]:
    """Groupings of games: what each is called, the names of its groups, and the number of each game's group, shape (n,)."""
    family = rules.variant.family
    place = (hero - tables.dealer - 1) % rules.seats
    found = [("caller" if family != PLAIN else "seat after the dealer", list(PLACES[: rules.seats]), place)]
    if family == AUCTION:
        role = np.where(tables.declarer == hero, 0, np.where(tables.partner == hero, 1, 2))
        role = np.where(tables.declarer < 0, 3, role)
        found.insert(0, ("role", ["declarer", "partner", "defender", "passed out"], role))
    if rules.variant.passes_out:
        found.append(("deal", ["first", "after pass-out"], (tables.deal > 0).astype(np.int64)))
    if family == EXACT_BID:
        sizes = sorted(set(rules.schedule))
        found.append(("cards", [str(size) for size in sizes], np.searchsorted(sizes, tables.deal_size)))
    if family == SHARES:
        call = tables.call[np.arange(len(tables)), hero]
        calls = np.unique(call)
        found.insert(0, ("call", [CALL_WORDS[number] for number in calls], np.searchsorted(calls, call)))
    return found
