"""Version of the package (`__version__`) and of the environments' behaviour (`ENV_VERSION`).

`ENV_VERSION` increases with any change that can affect learning results: a rule, an observation byte, an action's number,
a reward, a random draw. It is part of the environments' ids (`noms/small_ships-v0`).
"""

import shlex
from pathlib import Path

__version__ = "0.1.0"
ENV_VERSION = 0


def install_command(extra: str) -> str:
    """Return the command that installs the libraries of an extra, from the current folder.

    In a clone it names the clone. For an installed package its name is enough: pip finds the extra in the installed metadata
    and asks an index for the libraries alone.
    """
    clone = Path(__file__).resolve().parent.parent
    source = "noms-env"
    if (clone / "pyproject.toml").is_file():
        source = "." if clone == Path.cwd() else str(clone)
    return f"pip install {shlex.quote(f'{source}[{extra}]')}"
