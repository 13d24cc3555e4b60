"""Third-party players in Python: functions and classes of other modules, and names that packages register.

| name | player |
|---|---|
| `my_agent:make`, `path/my_agent.py:make` | the result of the function, or a function `act(observation, mask, rng)` itself |
| `alice` | the entry point `alice` in the group `noms_env.players` of an installed package |

They run in this process without a time limit: a player that may be late should be a program (`programs`).
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.metadata import entry_points
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy as np

from noms_env.core.actions import NUM_ACTIONS, is_integer
from noms_env.core.messages import printable
from noms_env.players.foreign_code import ForfeitError
from noms_env.players.protocol import RowByRow, check_player

GROUP = "noms_env.players"  # the group of entry points
WANTED = (
    "a player is a function without arguments that returns one (noms_env.players.Player), "
    "or act(observation, mask, rng), which returns the number of a legal action"
)
_NAME = re.compile(r"(?P<module>.+\.py|[^\W\d]\w*(?:\.[^\W\d]\w*)*):(?P<function>[^\W\d]\w*(?:\.[^\W\d]\w*)*)")
_NOT_THEIRS = {"noms_env", "noms_training", "importlib", "_frozen_importlib", "_frozen_importlib_external"}
"""Packages whose lines do not belong to a third-party player."""
FAILURES = (Exception, SystemExit)  # exceptions that forfeit the table; Ctrl-C is the user's

Act = Callable[[np.ndarray, np.ndarray, np.random.Generator], int]
"""One decision: observation (uint8, shape (OBSERVATION_SIZE,)), mask (int8, shape (NUM_ACTIONS,)), and random generator."""


def is_function(name: str) -> bool:
    """Return whether a name has the form `MODULE:FUNCTION` or `FILE.py:FUNCTION`."""
    return _NAME.fullmatch(name) is not None


def entry_names() -> list[str]:
    """Return the names that installed packages have registered."""
    return sorted({entry.name for entry in entry_points(group=GROUP)})


def load_function(name: str) -> FunctionsPlayer:
    """Load the player of a function or a registered name; ValueError if it cannot be loaded, or is not a player."""
    try:
        entry = next(iter(entry_points(group=GROUP, name=name)), None)
        parts = _NAME.fullmatch(name)
        if entry is not None:
            target = entry.load()
        else:
            assert parts is not None, "the name is that of a function"
            module = _import_module(parts["module"])
            try:
                target = attrgetter(parts["function"])(module)
            except AttributeError:
                place = module.__file__ or module.__name__
                raise NoPlayerError(f"cannot be loaded: there is no {parts['function']} in {place}") from None
        return FunctionsPlayer(name, _find_maker(target))
    except FAILURES as error:
        raise ValueError(f"{name} {describe_failure(error)}") from error


class NoPlayerError(TypeError):
    """The named object is not a player; the message completes a sentence."""


class FunctionsPlayer:
    """A third-party player in this process; its failures raise `ForfeitError`.

    `name` is as the user wrote it; `is_function` tells whether it is a function that makes one decision.
    """

    def __init__(self, name: str, make: Callable[[], Any]) -> None:
        """Make the player by `make`; NoPlayerError if the result is not a player."""
        self.name, self._make, player = name, make, make()
        self.is_function = isinstance(player, FunctionPlayer)
        try:
            self._player = check_player(player)
        except TypeError as error:
            raise NoPlayerError(f"returned no player: {error}") from None
        self.wants_tables = self._player.wants_tables

    def __reduce__(self) -> tuple[Any, ...]:
        return load_function, (self.name,)

    def fresh(self) -> FunctionsPlayer:
        """Make the player anew; ForfeitError if that fails."""
        try:
            return FunctionsPlayer(self.name, self._make)
        except FAILURES as error:
            raise ForfeitError(self.name, describe_failure(error)) from error

    def act(self, observation: np.ndarray, mask: np.ndarray, seeds: Any, *, tables: np.recarray | None = None) -> Any:
        """See `Player.act`. The player gets copies of its inputs, and may write into them.

        ForfeitError if it raised, or its answer to a single row is not legal. Answers to several rows are not checked.
        """
        try:
            actions = self._player.act(observation.copy(), mask.copy(), seeds, tables=tables)
        except FAILURES as error:
            raise ForfeitError(self.name, describe_failure(error)) from error
        if np.ndim(mask) == 1 and not (is_integer(actions) and 0 <= actions < NUM_ACTIONS and mask[actions]):
            raise ForfeitError(self.name, f"chose action {actions!r}, which was not legal")
        return actions


class FunctionPlayer(RowByRow):
    """The player of a function that makes one decision."""

    def __init__(self, function: Act) -> None:
        self._function = function

    def decide(self, observation: np.ndarray, mask: np.ndarray, row: Any, seed: int) -> int:
        action = self._function(observation, mask, np.random.default_rng(seed))
        if not is_integer(action):
            raise TypeError(f"the answer must be the number of an action, not {action!r}")
        return int(action)


def describe_failure(error: BaseException) -> str:
    """Describe a player's failure as the end of a sentence: the exception (SystemExit too), and the line that raised it.

    A MemoryError is raised again, since it may not be the player's fault.
    """
    if isinstance(error, MemoryError):
        raise error
    if isinstance(error, ForfeitError):
        return error.why
    if isinstance(error, NoPlayerError):
        return str(error)
    walk = traceback.walk_tb(error.__traceback__)
    frames = [(frame, line) for frame, line in walk if frame.f_globals.get("__name__", "").partition(".")[0] not in _NOT_THEIRS]
    files = [frame.f_code.co_filename for frame, _ in frames]
    lines = [line for (_, line), file in zip(frames, files, strict=True) if file == files[0]]
    where = f" ({Path(files[0]).name}, line {lines[-1]})" if files else ""
    return printable(f"raised {type(error).__name__}: {error}".rstrip(": ").replace("\n", " ")) + where


def _find_maker(target: Any) -> Callable[[], Any]:
    """Return a function that makes the player of an object."""
    if not callable(target):
        raise NoPlayerError(f"is {type(target).__name__}: {WANTED}")
    try:
        signature = inspect.signature(target)
    except (TypeError, ValueError):
        raise NoPlayerError(f"does not say what arguments it takes: {WANTED}") from None
    for count, make in ((0, target), (3, lambda: FunctionPlayer(target))):
        with suppress(TypeError):
            signature.bind(*range(count))
            return cast(Callable[[], Any], make)
    raise NoPlayerError(f"takes the arguments {signature}: {WANTED}")


def _import_module(name: str) -> ModuleType:
    """Import a module by its name, also from the present folder, or by its file."""
    if name.endswith(".py"):
        return _import_file(Path(name).resolve())
    present = str(Path.cwd())
    if present not in sys.path and "" not in sys.path:
        sys.path.append(present)
    return importlib.import_module(name)


@cache
def _import_file(file: Path) -> ModuleType:
    """Import the module of a file, which may import others from its folder."""
    spec = importlib.util.spec_from_file_location(f"{file.stem}@{file.parent}", file)
    if spec is None or spec.loader is None or not file.is_file():
        raise NoPlayerError(f"cannot be loaded: there is no file {file}")
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[spec.name]
        raise
    return module
