"""Checks of arguments that several environments take."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Literal, get_args

import numpy as np
from gymnasium.error import DependencyNotInstalled

from noms_env.core.actions import brief, is_integer, plain_array, suggest_names
from noms_env.core.messages import PICTURE_LIBRARIES, pictures_need
from noms_env.variants import RulesError, game

Episode = Literal["match", "deal"]
Reward = Literal["points", "relative", "outcome"]
IllegalAction = Literal["raise", "terminate"]
MaskPlace = Literal["observation", "info", "both"]
ObservationKind = Literal["bytes", "features"]
Device = Literal["cpu", "cuda"]
RenderMode = Literal["ansi", "human", "rgb_array"]

LACKING_FOR_PICTURES = [module for module in PICTURE_LIBRARIES if find_spec(module) is None]
RENDER_MODES: tuple[str, ...] = tuple(mode for mode in get_args(RenderMode) if mode != "rgb_array" or not LACKING_FOR_PICTURES)
"""The available modes: `rgb_array` needs the extra `render`."""


class UnknownArgumentError(RulesError, TypeError):
    """An unknown keyword, which is neither an argument nor an option: both a TypeError and a RulesError."""


def checked_names(variant: str, names: Iterable[str], *callers: Callable[..., Any]) -> None:
    """Refuse a name that is neither an option of a variant, nor an argument of a caller, nor `hand_size`.

    Raises:
        UnknownArgumentError: a name is unknown; the message has the nearest option or argument.
        RulesError: the game is unknown.
    """
    chosen = game(variant)
    for name in names:
        arguments = [name for caller in callers for name in inspect.signature(caller).parameters if name != "self"]
        if name not in arguments and name != "hand_size":
            try:
                chosen.option(name, arguments)
            except RulesError as error:  # other libraries search the message for the words in parentheses
                raise UnknownArgumentError(f"{error} (unexpected keyword argument {brief(name)})") from None


def checked_flag(name: str, value: bool) -> bool:
    """Return a boolean argument; raise RulesError if it is none."""
    if not isinstance(value, bool | np.bool_):
        raise RulesError(f"{name} must be True or False, not {brief(value)}")
    return bool(value)


def checked_count(name: str, value: int, most: int, otherwise: str = "") -> int:
    """Return an integer argument from 1 to `most`; raise ValueError for others, with further allowed values in `otherwise`."""
    if not is_integer(value) or not 1 <= value <= most:
        raise ValueError(f"{name} must be an integer from 1 to {most}{otherwise}, not {brief(value)}")
    return int(value)


def checked_array(name: str, array: np.ndarray, rows: int) -> np.ndarray:
    """Return an array for compiled code; raise ValueError unless it is int64, shape (rows,), C-contiguous and writable."""
    is_array = isinstance(array, np.ndarray) and array.dtype == np.int64 and array.shape == (rows,)
    if not is_array or not (array.flags.c_contiguous and array.flags.writeable):
        raise ValueError(f"{name} must be a writable array of int64 of shape ({rows},) without gaps, not {brief(array)}")
    return array


def checked_for_rows(name: str, value: Any, default: np.ndarray, low: int, high: int) -> np.ndarray:
    """Return a value for each row: int64, with the shape of `default`, which replaces None.

    Raises:
        ValueError: the value is neither an integer from `low` to `high` nor one such integer per row.
    """
    if value is None:
        return default.astype(np.int64)
    values = plain_array(value)
    if values.dtype.kind not in "iu" or values.shape not in ((), default.shape):
        raise ValueError(f"{name} must be an integer, or {len(default)} of them, not {brief(value)}")
    if (values < low).any() or (values > high).any():
        raise ValueError(f"{name} must be from {low} to {high}, not {brief(value)}")
    return np.broadcast_to(values, default.shape).astype(np.int64)


def checked_choice(name: str, value: str, allowed: Any) -> str:
    """Return an argument; raise RulesError unless it is one of `allowed`, words in a tuple or a `Literal`."""
    allowed = allowed if isinstance(allowed, tuple) else get_args(allowed)
    if not isinstance(value, str) or value not in allowed:
        raise RulesError(f"{name} must be {' or '.join(map(repr, allowed))}, not {brief(value)}")
    return value


def checked_actions(actions: Any, rows: int) -> np.ndarray:
    """Return an action for each row as int64, shape (rows,); raise ValueError unless they are `rows` integers."""
    numbers = plain_array(actions)
    if numbers.shape != (rows,) or numbers.dtype.kind not in "iu":
        raise ValueError(f"actions must be {rows} integers, not {numbers.dtype} of shape {numbers.shape}")
    return np.require(numbers, np.int64, ["C", "W"])  # compiled functions are recompiled for other array types


def checked_render_mode(value: str | None, allowed: tuple[str, ...]) -> str | None:
    """Return a render mode, or None for none.

    Raises:
        RulesError: the mode is unknown.
        gymnasium.error.DependencyNotInstalled: a library for pictures is missing; the message says how to install it.
    """
    if isinstance(value, str) and value == "rgb_array" and LACKING_FOR_PICTURES:
        raise DependencyNotInstalled(pictures_need(LACKING_FOR_PICTURES[0]))
    return None if value is None else checked_choice("render_mode", value, allowed)


def checked_options(options: Any, keys: Sequence[str]) -> dict[str, Any]:
    """Return a copy of the options of a `reset`, which may have these keys; empty for None.

    Raises:
        ValueError: `options` is neither a dictionary nor None, or has another key; the message has the nearest key.
    """
    if options is not None and not isinstance(options, Mapping):
        raise ValueError(f"options must be a dictionary or None, not {brief(options)}")
    for key in options or {}:
        if not isinstance(key, str) or key not in keys:
            raise ValueError(f"reset has no option {brief(key)}; {suggest_names(key, keys)} options are {', '.join(keys)}")
    return dict(options or {})
