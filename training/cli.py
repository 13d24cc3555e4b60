"""The console command `noms`: finds the subcommand, and turns errors into sentences and exit statuses.

The subcommands are in `training.commands`. A wrong request ends with one sentence on standard error and exit status 2.
"""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from training.commands.common import STOPPED, CommandError
from training.extras import MissingExtraError

DESCRIPTION = """Seven games of the nomination whist family: play, record, check and show deals.

For example:

  noms list                                              the games and their options

  noms record small_ships --matches 10 --out ten.jsonl   ten matches of random players

  noms replay ten.jsonl --match 0 --deal 0               the first deal, trick by trick

  noms check ten.jsonl                                   hold every deal against the rules

Each subcommand has its own --help. `noms --version` prints the version."""


def main(args: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        args: the words of the command line, those of the process when None.

    Returns:
        The exit status.
    """
    words = list(sys.argv[1:] if args is None else args) or ["--help"]
    if words == ["--version"]:
        print(f"noms {version()}")
        return 0
    try:
        return run(words)
    except SystemExit as end:  # how the parser ends, after its help or its complaint
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except CommandError as error:
        return _complain(str(error), error.status)
    except MissingExtraError as error:
        return _complain(str(error), 2)
    except KeyboardInterrupt:
        return _complain("stopped by Ctrl-C", STOPPED)
    except BrokenPipeError:
        # Whoever read the output has had enough; without this, Python would complain when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def run(words: list[str]) -> int:
    """Parse the command line and call the subcommand."""
    import tyro

    from training.commands.check import check
    from training.commands.demo import demo
    from training.commands.listing import listing
    from training.commands.record import record
    from training.commands.replay import replay

    commands = {"record": record, "replay": replay, "check": check, "list": listing, "demo": demo}
    status: int = tyro.extras.subcommand_cli_from_dict(commands, prog="noms", description=DESCRIPTION, args=words)
    return status


def version() -> str:
    """Version of the package, without the import of the package, which takes a second."""
    package = find_spec("noms_env")
    if package is None or package.origin is None:
        raise CommandError("the package noms_env is not installed")
    return str(runpy.run_path(str(Path(package.origin).with_name("version.py")))["__version__"])


def _complain(sentence: str, status: int) -> int:
    """One sentence on standard error."""
    print(f"noms: {sentence}", file=sys.stderr)
    return status
