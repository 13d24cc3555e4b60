"""Arguments that the environments have in common: what they may be, and how others are refused."""

from __future__ import annotations

import numpy as np

from noms_env.variants import RulesError

REWARDS = ("points", "relative", "outcome")
ILLEGAL_ACTIONS = ("raise", "terminate")
MASK_PLACES = ("observation", "info", "both")
RENDER_MODES = ("ansi", "human", "rgb_array")


def checked_flag(name: str, value: bool) -> bool:
    """The value of an argument, if it is True or False.

    Raises:
        RulesError: it is not.
    """
    if not isinstance(value, bool | np.bool_):
        raise RulesError(f"{name} must be True or False, not {value!r}")
    return bool(value)


def checked_choice(name: str, value: str, allowed: tuple[str, ...]) -> str:
    """The value of an argument, if it is one of those that are allowed.

    Raises:
        RulesError: it is not.
    """
    if not isinstance(value, str) or value not in allowed:
        raise RulesError(f"{name} must be {' or '.join(map(repr, allowed))}, not {value!r}")
    return value
