"""The settings of the track `new_rules`: 50 rule sets, each with an option value that is held out from training.

`python -m benchmarks.draw_new_rules` drew them once; `new_rules.json` has them.
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
"""Option values that are held out from training on random rules, unless usual in a game. The policy `generalist` saw none."""


def held_out_in(name: str) -> list[tuple[str, Any]]:
    """Return the held-out values of a game's options as (option, value); `down_up` has none."""
    return [(option.name, value) for option in game(name).options for value in HELD_OUT.get(option.name, ())]


@cache
def new_rules(name: str) -> tuple[Rules, ...]:
    """Return the frozen settings of a game; empty for a game without held-out values."""
    settings = json.loads(FILE.read_text(encoding="utf-8")).get(name, [])
    return tuple(make_rules(game(name), setting["seats"], setting["options"]) for setting in settings)
