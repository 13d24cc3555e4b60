"""Anybody's players at the tables: functions and classes of other modules, names that packages register, and programs.

| name | who plays |
|---|---|
| `my_agent:make`, `path/my_agent.py:make` | what the function returns, or a function `act(observation, mask, rng)` itself |
| `alice` | the function that an installed package has registered as `alice` in the entry points `noms_env.players` |
| `cmd:./my_bot --level 3` | a program that is told of decisions in lines of JSON (`program`) |

A player fails where it raises or answers what is not legal. `ExternalPlayer` says so with a `ForfeitError`; in blocks of
deals `guarded` lets the player lose that table. A function or class that does not come back within its limit and some
seconds of patience is interrupted (`interrupt` says what cannot be), and after some such decisions in a row not asked again.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import shlex
import shutil
import sys
import traceback
from collections.abc import Callable
from functools import cache
from importlib.metadata import entry_points
from operator import attrgetter
from pathlib import Path
from threading import current_thread, main_thread
from types import ModuleType
from typing import Any

import numpy as np

from noms_env._jit import PACKAGE
from noms_env.core.actions import NUM_ACTIONS, is_integer
from noms_env.players import Player
from noms_env.players.protocol import checked_player

from ..text import printable
from .foreign_code import ForfeitError, may_run
from .interrupt import TooLateError, within
from .program import LIMIT, MOST_FAILURES, ProgramError, ProgramPlayer
from .spec import EXTERNAL_BLOCK, AgentSpec, RowByRow

GROUP = "noms_env.players"
"""The group of entry points."""
COMMAND = "cmd:"
WANTED = (
    "a player is a function without arguments that returns one (noms_env.players.Player), "
    "or act(observation, mask, rng), which returns the number of a legal action"
)
_NAME = re.compile(r"(?P<module>.+\.py|[^\W\d]\w*(?:\.[^\W\d]\w*)*):(?P<function>[^\W\d]\w*(?:\.[^\W\d]\w*)*)")
PATIENCE = 5.0
"""Seconds behind its limit after which a player in this process is interrupted."""
_NOT_THEIRS = (str(Path(__file__).parents[1]), str(PACKAGE), str(Path(importlib.__file__).parent), "<frozen")
"""How the names of files begin that are not of a player of somebody else's."""

Act = Callable[[np.ndarray, np.ndarray, np.random.Generator], int]
"""One decision: observation (uint8, shape (OBSERVATION_SIZE,)), mask (int8, shape (NUM_ACTIONS,)), and chance."""


def external_player(name: str, limit: float | None = None) -> AgentSpec | None:
    """The player of somebody else's that a name stands for; None if it can stand for none.

    Args:
        name: see the table above.
        limit: seconds for a decision; when None, `program.LIMIT` for programs, and no limit for others.

    Raises:
        ValueError: what it stands for cannot be loaded, started, or is no player; or a file names it, and not the command
            line (`foreign_code`).
    """
    if not may_run(name) and runs_code(name):
        only = "it is run with --allow-programs only, or where the command line names it too"
        raise ValueError(f"a file names the program {name!r}: {only}")
    if name.startswith(COMMAND):
        return _program(name, LIMIT if limit is None else limit)
    entry = next(iter(entry_points(group=GROUP, name=name)), None)
    if entry is not None:
        return _function(name, lambda: entry.load(), limit)
    parts = _NAME.fullmatch(name)
    if parts is None:
        return None
    return _function(name, lambda: _attribute(_module(parts["module"]), parts["function"]), limit)


def entry_names() -> list[str]:
    """The names that installed packages have registered."""
    return sorted({entry.name for entry in entry_points(group=GROUP)})


def runs_code(name: str) -> bool:
    """Whether a name can only be that of somebody else's player, whose code runs when the player is made."""
    return name.startswith(COMMAND) or name in entry_names() or _NAME.fullmatch(name) is not None


def _program(name: str, limit: float) -> AgentSpec:
    try:
        words = shlex.split(name.removeprefix(COMMAND))
    except ValueError as error:
        raise ValueError(f"{name}: the words of the command cannot be told apart: {error}") from error
    if not words:
        raise ValueError(f"a program follows {COMMAND}, such as {COMMAND}./my_bot; here there is none")
    if shutil.which(words[0]) is None:
        raise ValueError(f"{name}: there is no program {words[0]!r}")
    player = ProgramPlayer(name, words, limit)
    try:
        player.start()
    except ProgramError as error:
        raise ValueError(f"{name} {error}") from error
    finally:
        player.close()
    return AgentSpec(name, lambda: ProgramPlayer(name, words, limit), block=EXTERNAL_BLOCK, at_once=1, keeps_limit=True)


def _function(name: str, load: Callable[[], Any], limit: float | None) -> AgentSpec:
    interrupted: list[None] = []

    def made() -> Player:
        try:
            return ExternalPlayer(made_player(make()), name, limit, interrupted)
        except BaseException as error:
            raise ForfeitError(name, what_failed(error)) from error

    try:
        make, at_once = _maker_of(load())
        made()
    except BaseException as error:
        raise ValueError(f"{name} {what_failed(error)}") from error
    return AgentSpec(name, made, block=EXTERNAL_BLOCK, at_once=at_once)


def made_player(player: Any) -> Player:
    """What a function has returned.

    Raises:
        NoPlayerError: it is no player.
    """
    try:
        return checked_player(player)
    except TypeError as error:
        raise NoPlayerError(f"returned no player: {error}") from None


class NoPlayerError(TypeError):
    """What was named is no player; the message says what it is instead, as half a sentence."""


def _maker_of(thing: Any) -> tuple[Callable[[], Any], int | None]:
    """What makes the player of a function, and how many rows it is to be asked for at once."""
    if not callable(thing):
        raise NoPlayerError(f"is {type(thing).__name__}: {WANTED}")
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        raise NoPlayerError(f"does not say what arguments it takes: {WANTED}") from None
    if _takes(signature, 0):
        return thing, None
    if _takes(signature, 3):
        return lambda: FunctionPlayer(thing), 1
    raise NoPlayerError(f"takes the arguments {signature}: {WANTED}")


def _takes(signature: inspect.Signature, count: int) -> bool:
    try:
        signature.bind(*range(count))
    except TypeError:
        return False
    return True


def _module(name: str) -> ModuleType:
    """A module by its name, also from the present folder, or by its file."""
    if name.endswith(".py"):
        return _module_of(Path(name).resolve())
    present = str(Path.cwd())
    if present not in sys.path and "" not in sys.path:
        sys.path.append(present)
    return importlib.import_module(name)


@cache
def _module_of(file: Path) -> ModuleType:
    """The module of a file, which may import others from its folder."""
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


def _attribute(module: ModuleType, path: str) -> Any:
    try:
        return attrgetter(path)(module)
    except AttributeError:
        raise NoPlayerError(f"cannot be loaded: there is no {path} in {module.__file__ or module.__name__}") from None


class FunctionPlayer(RowByRow):
    """The player of a function that makes one decision."""

    def __init__(self, function: Act) -> None:
        self._function = function

    def decide(self, observation: np.ndarray, mask: np.ndarray, row: Any, seed: int) -> int:
        """See `RowByRow`; TypeError if the function has returned no integer."""
        action = self._function(observation, mask, np.random.default_rng(seed))
        if not is_integer(action):
            raise TypeError(f"the answer must be the number of an action, not {action!r}")
        return int(action)


class ExternalPlayer:
    """A player whose failures are `ForfeitError`s. Answers for one row are checked, those for several are left to `guarded`.

    Args:
        player: gets copies of what it sees, which it may write into.
        name: as the user wrote it.
        limit: seconds for a decision, on the mean of those that are asked for at once; None for no limit.
        interrupted: has an item for each decision since its last answer at which it had to be interrupted, at any table.
    """

    def __init__(self, player: Player, name: str, limit: float | None, interrupted: list[None]) -> None:
        self.player, self.name, self.wants_tables = player, name, player.wants_tables
        self._limit, self._interrupted = limit, interrupted

    def act(self, observation: np.ndarray, mask: np.ndarray, seeds: np.ndarray, *, tables: np.recarray | None = None) -> Any:
        """See `noms_env.players.Player.act`.

        Raises:
            ForfeitError: the player raised, or its only answer is not legal.
        """
        if len(self._interrupted) >= MOST_FAILURES:
            raise ForfeitError(self.name, f"had to be interrupted {MOST_FAILURES} times in a row and was not asked again")
        seconds = None if self._limit is None else self._limit * (1 if np.ndim(mask) == 1 else len(mask)) + PATIENCE
        try:
            actions = within(seconds, lambda: self.player.act(observation.copy(), mask.copy(), seeds, tables=tables))
        except TooLateError:
            self._interrupted.append(None)
            raise ForfeitError(self.name, f"took more than {seconds:g} seconds and was interrupted") from None
        except BaseException as error:
            raise ForfeitError(self.name, what_failed(error)) from error
        self._interrupted.clear()
        if np.ndim(mask) == 1 and not (is_integer(actions) and 0 <= actions < NUM_ACTIONS and mask[actions]):
            raise ForfeitError(self.name, f"chose action {actions!r}, which was not legal")
        return actions


def what_failed(error: BaseException) -> str:
    """What a player did, as half a sentence: what was raised, also to end the process, and where in somebody else's code.

    Raises:
        KeyboardInterrupt: that is the error, and it is the user's: Python has it come in the main thread.
    """
    if isinstance(error, KeyboardInterrupt) and current_thread() is main_thread():
        raise error
    if isinstance(error, ForfeitError):
        return error.why
    if isinstance(error, NoPlayerError):
        return str(error)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(_NOT_THEIRS)]
    lines = [frame.lineno for frame in frames if frame.filename == frames[0].filename]
    where = f" ({Path(frames[0].filename).name}, line {lines[-1]})" if frames else ""
    return printable(f"raised {type(error).__name__}: {error}".rstrip(": ").replace("\n", " ")) + where
