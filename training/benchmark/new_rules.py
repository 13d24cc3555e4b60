"""The settings of the track `new_rules`: 50 sets of rules, each with a value that training must not contain.

They were drawn once, by `python -m benchmarks.draw_new_rules`, and stand in `new_rules.json` beside this module.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from noms_env.variants import Rules, game, make_rules

FILE = Path(__file__).parent / "new_rules.json"
HELD_OUT: dict[str, Sequence[Any]] = {
    "half": ("floor",),
    "first_trick_restriction": ("card",),
    "hand_size": (6, 9),
    "snip_penalty": (3,),
    "schedule": ("up_up",),
    "direction": ("up_down",),
}
"""Values by option that no training on drawn rules may contain, where they are not usual; the policy `generalist` saw none."""


def held_out_in(name: str) -> list[tuple[str, Any]]:
    """The held-out values of the options that a game has, each with the name of its option; none in `down_up`."""
    return [(option.name, value) for option in game(name).options for value in HELD_OUT.get(option.name, ())]


@cache
def new_rules(name: str) -> tuple[Rules, ...]:
    """The frozen settings of a game; none of a game without held-out values."""
    settings = json.loads(FILE.read_text(encoding="utf-8")).get(name, [])
    return tuple(make_rules(game(name), setting["seats"], setting["options"]) for setting in settings)
