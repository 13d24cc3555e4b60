"""Version of the package (`__version__`) and of what the environments do (`ENV_VERSION`).

`ENV_VERSION` goes up with any change that can change learning results: a rule, an observation byte, an action's number,
a reward, a random draw. The ids of the environments carry it (`noms/small_ships-v0`).
"""

import shlex
from pathlib import Path

__version__ = "0.1.0"
ENV_VERSION = 0


def install_command(extra: str) -> str:
    """What to type, in the current folder, to install the libraries of an extra.

    In a clone it names the clone. Of an installed package the name is enough: pip finds the extra in what is installed and asks
    an index for the libraries alone.
    """
    clone = Path(__file__).resolve().parent.parent
    source = "noms-env"
    if (clone / "pyproject.toml").is_file():
        source = "." if clone == Path.cwd() else str(clone)
    return f"pip install {shlex.quote(f'{source}[{extra}]')}"
