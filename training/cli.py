"""The console command `noms`: finds the subcommand, and turns errors into sentences and exit statuses.

The subcommands are in `training.commands`. A wrong request ends with one sentence on standard error and exit status 2.
"""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from training.agents.forfeit import ForfeitError
from training.commands.common import STOPPED, CommandError
from training.extras import MissingExtraError

COMMANDS = {
    "list": ("listing", "the games and their options"),
    "record": ("record", "play matches and write them to a file"),
    "replay": ("replay", "show the deals of a file, trick by trick"),
    "check": ("check", "hold the deals of a file against the rules"),
    "export": ("export", "make a data set of decisions, to learn from"),
    "train": ("train", "train a policy by self-play"),
    "plot": ("plot", "draw the learning curves of training runs"),
    "evaluate": ("evaluate", "tell how much better one player is than another"),
    "tournament": ("tournament", "let players play everybody against everybody"),
    "publish": ("publish", "make the folder of a policy that is handed on, with its card"),
    "ladder": ("ladder", "write the tables of the page on how strong the policies are"),
    "play": ("play", "sit down at the table yourself"),
    "watch": ("watch", "watch players play, decision by decision"),
    "demo": ("demo", "train a policy for a few minutes, and show what it has learnt"),
}
"""The subcommands: module (and function in it) of `training.commands`, and what it does. A module whose defaults depend on
the words of the command line parses them itself, in its function `parse_and_run`."""

HELP = """\
usage: noms COMMAND ...

Seven games of the nomination whist family: play them yourself, record, check and show deals, train policies to play
them, and measure players against each other.

{commands}

For example:
  noms record small_ships --matches 10 --out ten.jsonl
  noms replay ten.jsonl --match 0 --deal 0
  noms check ten.jsonl
  noms export ten.jsonl --out ten
  noms play small_ships
  noms train small_ships
  noms evaluate thumb random

`noms COMMAND --help` tells more of a command, `noms --version` prints the version."""


def main(args: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        args: the words of the command line, those of the process when None.

    Returns:
        The exit status.
    """
    return exit_status("noms", lambda: run(list(sys.argv[1:] if args is None else args)))


def exit_status(program: str, command: Callable[[], int]) -> int:
    """Run a command and return its exit status; an error for the user is one sentence on standard error.

    Args:
        program: what the sentence begins with.
        command: returns the exit status.
    """
    try:
        status = command()
        sys.stdout.flush()
        return status
    except SystemExit as end:  # how the parser ends, after its help or its complaint
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except CommandError as error:
        return _complain(program, str(error), error.status)
    except (MissingExtraError, ForfeitError) as error:
        return _complain(program, str(error), 2)
    except KeyboardInterrupt:
        return _complain(program, "stopped by Ctrl-C", STOPPED)
    except BrokenPipeError:
        _drop_output()
        return 1  # whoever read the output has had enough
    except OSError as error:
        _drop_output()
        return _complain(program, f"cannot print the output: {error.strerror or error}", 2)


def run(words: list[str]) -> int:
    """Find the subcommand and call it with what is on the command line.

    Raises:
        CommandError: there is no such subcommand, or it ends with an error for the user.
    """
    name, *rest = words or ["--help"]
    if name in ("-h", "--help"):
        print(HELP.format(commands="\n".join(f"  {name:<10} {summary}" for name, (_, summary) in COMMANDS.items())))
        return 0
    if name == "--version":
        print(f"noms {version()}")
        return 0
    if name not in COMMANDS:
        raise CommandError(f"there is no command {name!r}; the commands are {', '.join(COMMANDS)}")
    import tyro

    module = COMMANDS[name][0]
    commands = import_module(f"training.commands.{module}")
    if hasattr(commands, "parse_and_run"):
        return int(commands.parse_and_run(rest, f"noms {name}"))
    function: Callable[..., int] = getattr(commands, module)
    return tyro.cli(function, prog=f"noms {name}", args=rest)


def version() -> str:
    """Version of the package, without the import of the package, which takes a second."""
    package = find_spec("noms_env")
    if package is None or package.origin is None:
        raise CommandError("the package noms_env is not installed")
    return str(runpy.run_path(str(Path(package.origin).with_name("version.py")))["__version__"])


def _drop_output() -> None:
    """Send what is still to be printed nowhere; Python would fail again when it closes the stream."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(program: str, sentence: str, status: int) -> int:
    """Print one sentence on standard error."""
    print(f"{program}: {sentence}", file=sys.stderr)
    return status
