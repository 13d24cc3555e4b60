"""The console command `noms`, with one subcommand for each module of `noms_training.commands`.

Bad input ends with one sentence on standard error and exit status 2.
"""

from __future__ import annotations

import functools
import os
import runpy
import shlex
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .commands.common import STOPPED, CommandError, wrong_arguments
from .console import COMMAND_LINE, never_fail_on_signs, no_sudden_end
from .extras import MissingExtraError
from .text import printable

COMMANDS = {
    "list": ("listing", "Show the games, and the options of one."),
    "play": ("play", "Play a game yourself."),
    "watch": ("watch", "Watch players play, decision by decision."),
    "table": ("table", "Play in the browser, alone or with others."),
    "record": ("record", "Play matches and write them to a file."),
    "replay": ("replay", "Show the deals of a file, trick by trick."),
    "check": ("replay", "Check the deals of a file against the rules."),
    "analyse": ("analyse", "Judge recorded decisions by search."),
    "export": ("export", "Make a dataset of decisions."),
    "train": ("train", "Train a policy by self-play."),
    "improve": ("improve", "Improve a policy by rounds of search and learning."),
    "plot": ("plot", "Draw the learning curves of training runs."),
    "evaluate": ("evaluate", "Measure how much better one player is than another."),
    "tournament": ("tournament", "Rank players: everybody plays everybody."),
    "crossplay": ("crossplay", "Measure how well independent policies play together."),
    "benchmark": ("benchmark", "Compare algorithms on the seven games."),
    "solve": ("solve", "Solve a micro-game exactly."),
    "exploit": ("exploit", "Measure how much can be gained against a player."),
    "publish": ("publish", "Publish a trained policy, and the results of all policies."),
    "demo": ("demo", "Train a policy for a few minutes and show what it has learnt."),
    "compile": ("compile", "Compile everything in advance."),
}
"""Subcommands: the module in `noms_training.commands`, and one line for the help."""

SHELLS = ("bash", "zsh")

HELP = """\
usage: noms COMMAND ...

Seven card games of the nomination whist family: play them, record and check
games, train policies, measure players. `noms COMMAND --help` describes a
command, `noms --version` prints the version, and `noms --print-completion bash`
prints a completion script for a shell (bash or zsh).

{commands}

For example:
  noms play small_ships
  noms record small_ships --matches 10 --out ten.jsonl
  noms replay ten.jsonl --match 0 --deal 0
  noms train small_ships
  noms evaluate thumb random"""


def main(args: Sequence[str] | None = None) -> int:
    """Run the command with these arguments, by default those of the process, and return its exit status."""
    words = list(sys.argv[1:] if args is None else args)
    token = COMMAND_LINE.set(shlex.join(["noms", *words]))
    try:
        with no_sudden_end(), warnings.catch_warnings():
            warnings.simplefilter("once", UserWarning)
            warnings.showwarning = _show_warning
            return exit_status("noms", lambda: run(words))
    finally:
        COMMAND_LINE.reset(token)


def _show_warning(message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: Any, **__: Any) -> None:
    """Print a warning: a UserWarning as a plain sentence, any other with its source location."""
    is_for_user = category is UserWarning
    sys.stderr.write(f"noms: {message}\n" if is_for_user else warnings.formatwarning(message, category, filename, lineno))


def exit_status(program: str, command: Callable[[], int]) -> int:
    """Run a command and return its exit status.

    An error for the user becomes one sentence on standard error. It begins with the name of the program.
    """
    never_fail_on_signs()
    try:
        status = command()
        sys.stdout.flush()
        return status
    except SystemExit as end:  # raised by the parser after it prints help or an error
        if isinstance(end.code, str):
            return _complain(program, end.code, 1)
        return end.code or 0
    except CommandError as error:
        return _complain(program, str(error), error.status)
    except MissingExtraError as error:
        return _complain(program, str(error), 2)
    except KeyboardInterrupt as stop:
        return _complain(program, str(stop) or "stopped by Ctrl-C", STOPPED)
    except BrokenPipeError:
        _drop_output()
        return 1  # the reader closed the pipe
    except OSError as error:
        if error.filename is not None:
            return _complain(program, f"cannot use {error.filename}: {error.strerror}", 2)
        _drop_output()
        return _complain(program, f"cannot print the output: {error.strerror or error}", 2)


def run(words: Sequence[str]) -> int:
    """Run the subcommand that the first word names, or print the help; CommandError for an error of the user."""
    first = words[0] if words else "--help"
    if first == "--version":
        print(f"noms {version()}")
        return 0
    if first in ("-h", "--help"):  # printed here, since importing tyro is slow
        print(HELP.format(commands="\n".join(f"  {name:<10} {summary}" for name, (_, summary) in COMMANDS.items())))
        return 0
    if first == "--print-completion":
        return print_completion(words[1] if len(words) > 1 else "")
    if first not in COMMANDS:
        from noms_env.core.actions import suggest_names

        hint = suggest_names(first, [*COMMANDS, "--help", "--version", "--print-completion"])
        raise CommandError(f"there is no command {first!r}; {hint} commands are {', '.join(COMMANDS)}")
    from .command_words import parse

    with wrong_arguments():
        function = defer_call(load(first, words[1:]))
        others = ["--help" if word == "--help-all" else word for word in words[1:]]  # `load` has chosen which
        command: Callable[[], int] = parse(function, f"noms {first}", others)
    from noms_env.players.foreign_code import ForfeitError, by_command_line

    try:
        with wrong_arguments(ForfeitError), by_command_line(words):
            return command()
    except SystemExit as end:  # raised by a benchmarked algorithm; a player that exits only forfeits a table
        status = end.code if isinstance(end.code, int) and end.code else 1
        raise CommandError(
            f"somebody else's code ended the command before it was done (SystemExit: {end.code})", status
        ) from end


def print_completion(shell: str) -> int:
    """Print a shell's completion script for commands and options; CommandError if the shell is not supported."""
    import tyro

    if shell not in SHELLS:
        raise CommandError(f"--print-completion wants one of {', '.join(SHELLS)}, not {shell!r}")
    app = tyro.extras.SubcommandApp()
    for name in COMMANDS:
        app.command(name=name)(load(name, []))
    with suppress(SystemExit):
        app.cli(prog="noms", args=["--tyro-print-completion", shell])
    return 0


def load(name: str, words: Sequence[str]) -> Callable[..., int]:
    """Return the function of a subcommand.

    It is named after the subcommand, or else after its module. If its defaults depend on the other words, the module builds it
    with `command(words)`.
    """
    module = import_module(f".commands.{COMMANDS[name][0]}", __package__)
    function: Callable[..., int]
    if hasattr(module, "command"):
        function = module.command(words)
    else:
        function = getattr(module, name if hasattr(module, name) else COMMANDS[name][0])
    return function


def defer_call(function: Callable[..., int]) -> Callable[..., Callable[[], int]]:
    """Wrap a function so that parsing returns a call to make later; this separates parsing errors from running errors."""

    @functools.wraps(function)
    def defer(*arguments: Any, **named: Any) -> Callable[[], int]:
        return functools.partial(function, *arguments, **named)

    return defer


def version() -> str:
    """Return the package version without importing the package, which takes a second."""
    package = find_spec("noms_env")
    if package is None or package.origin is None:
        raise CommandError("the package noms_env is not installed")
    return str(runpy.run_path(str(Path(package.origin).with_name("version.py")))["__version__"])


def _drop_output() -> None:
    """Redirect the rest of standard output to the null device; otherwise Python fails again when it closes the stream."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(program: str, sentence: str, status: int) -> int:
    line = printable(" ".join(sentence.splitlines()))  # file names may hold line breaks and control characters
    print(f"{program}: {line}", file=sys.stderr)
    return status
