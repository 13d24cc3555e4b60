"""Version of the package (`__version__`) and of what the environments do (`ENV_VERSION`).

`ENV_VERSION` goes up with any change that can change learning results: a rule, an observation byte, an action's number,
a reward, a random draw. The ids of the environments carry it (`noms/small_ships-v0`).
"""

from pathlib import Path

__version__ = "0.1.0"
ENV_VERSION = 0
INSTALLABLE = "." if (Path(__file__).parent.parent / "pyproject.toml").is_file() else "noms-env"
"""What pip is to install with an extra: the clone in which the package lies, or the package by its name."""
