"""The record of one table: the fields of `core.state`, and a field for each option of a variant.

A batch of tables is a record array of `TABLE`. A row can be copied, compared, hashed or saved in one call.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from noms_env.core.cards import FRENCH, NO_TRUMP, SUIT_LETTERS, set_of
from noms_env.core.state import FIELDS, NUM_CHOICES, TRAIT_FIELDS
from noms_env.variants import GAMES
from noms_env.variants.dispatch import IMPLEMENTED
from noms_env.variants.rulebook import ROTATION_WORDS, Option, Rules, RulesError, Variant

_STATE_FIELDS = [name for name, *_ in FIELDS]


def collect_options(games: Iterable[Variant]) -> dict[str, Option]:
    """Collect the options of variants by name.

    Raises:
        ValueError: two options share a byte, an option has two bytes, or it has the name of another field of the record.
    """
    options: dict[str, Option] = {}
    owner: dict[int, str] = {}
    for variant, option in ((game, option) for game in games for option in game.options):
        known = options.setdefault(option.name, option)
        if (known.byte, known.width, known.record_field) != (option.byte, option.width, option.record_field):
            raise ValueError(
                f"{variant.name} declares the option {option.name} with byte {option.byte}, another variant with byte "
                f"{known.byte}: an option must have the same byte in all variants"
            )
        if not option.record_field and not option.rotation and option.name in _STATE_FIELDS:
            raise ValueError(f"{variant.name} cannot call an option {option.name}: the record has another field of that name")
        for byte in range(option.byte, option.byte + option.width) if option.byte is not None else ():
            if owner.setdefault(byte, option.name) != option.name:
                free = 1 + max(owner)
                room = f"the next free one is {free}" if free < NUM_CHOICES else f"all {NUM_CHOICES} are taken"
                raise ValueError(f"the option {option.name} of {variant.name} has byte {byte}, which {owner[byte]} has; {room}")
    return options


OPTIONS = collect_options(GAMES.values())
"""The options of all variants by name."""

OPTION_FIELDS = tuple(name for name, option in OPTIONS.items() if not option.record_field and not option.rotation)
"""The options with a field of their own name. It holds 0 or 1 for a flag, the index of a word, a number, or -1 for None. It is
0 if the variant does not have the option, or has a late one (`Option.late`) at its default."""


def _table_dtype() -> np.dtype[Any]:
    """Build the dtype of a record. Spare bytes fill its last word, since copies may skip padding."""
    at = _STATE_FIELDS.index("episode") + 1
    fields: list[Any] = [*FIELDS[:at], *((name, np.int16) for name in OPTION_FIELDS), *FIELDS[at:]]
    spare = -sum(np.dtype([field]).itemsize for field in fields) % 8
    return np.dtype([*fields, *([("spare", np.int8, spare)] if spare else [])], align=True)


TABLE = _table_dtype()
"""The dtype of a table's record."""

RULE_FIELDS = (
    *("variant", *TRAIT_FIELDS, "deck_kind", "n_seats", "cards", "episode", "wanted_deal_size", "n_deals", "sizes"),
    *("usual_deal_size", "trump_rotation", "rotation_length", "choices", *OPTION_FIELDS),
)
"""The fields that never change at a table: its rules, and its kind of episode."""

RECORD = np.dtype((np.record, TABLE))
"""`TABLE` as the dtype of record arrays. All arrays share this object: numba recognises it by its identity, and otherwise
compares all fields, which takes 4 µs."""


def new_tables(rows: int) -> np.recarray:
    """Return an array of zeroed tables, shape (rows,)."""
    return np.zeros(rows, RECORD).view(np.recarray)


def write_rules(t: Any, rules: Rules) -> None:
    """Write rules into a table (a row of `TABLE`); raises RulesError if the dispatch does not implement the variant."""
    values, variant = rules.options, rules.variant
    if variant.number not in IMPLEMENTED:
        raise RulesError(f"{variant.name} cannot be played: noms_env/variants/dispatch.py does not name it in its hooks")
    t.variant, t.n_seats = variant.number, rules.seats
    for name in ("family", "deck_kind", "simple_rollout", "opponents_score_tricks", "breaks_trumps"):
        setattr(t, name, getattr(variant, name))
    t.total_scale, t.total_offset = variant.total_scale(values)
    t.cards = set_of(rules.deck)
    for name in OPTION_FIELDS:
        setattr(t, name, 0)
    for option in variant.options:
        if option.name in OPTION_FIELDS and not option.is_as_before(values[option.name]):
            setattr(t, option.name, option.code(values[option.name]))
    t.usual_deal_size = variant.deal_size(values, rules.seats)
    schedule = rules.schedule
    t.n_deals = len(schedule) if schedule else values.get("n_hands", -1)
    t.sizes[: len(schedule)] = schedule
    rotation = [NO_TRUMP if word == "NT" else SUIT_LETTERS[FRENCH].index(word) for word in values.get("trump_rotation", [])]
    t.rotation_length = len(rotation)
    t.trump_rotation[: len(rotation)] = rotation
    t.choices[:] = choice_bytes(rules).view(np.int64)


def choice_names() -> list[str]:
    """Return the option in each byte of the section `choices` of an observation; "" for a free byte."""
    names = [""] * NUM_CHOICES
    for option in OPTIONS.values():
        if option.byte is not None:
            for place in range(option.width):
                names[option.byte + place] = f"{option.name}[{place}]" if option.rotation else option.name
    return names


def choice_bytes(rules: Rules) -> np.ndarray:
    """Return the section `choices` of observations, uint8, shape (NUM_CHOICES,).

    A byte is 1 + `Option.code`, at most 254; 255 for None; 0 if the variant lacks the option, or has a late one at its default.
    """
    section = np.zeros(NUM_CHOICES, np.uint8)
    for option in rules.variant.options:
        value = rules.options[option.name]
        if option.byte is None or option.is_as_before(value):
            continue
        if option.rotation:
            section[option.byte : option.byte + len(value)] = [1 + ROTATION_WORDS.index(word) for word in value]
        else:
            section[option.byte] = 255 if value is None else min(option.code(value) + 1, 254)
    return section
