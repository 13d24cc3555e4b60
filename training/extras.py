"""Optional libraries, which come with extras of the package (`pip install '.[train]'` in a clone), imported on demand."""

from __future__ import annotations

import importlib
from types import ModuleType

LIBRARIES = {"PIL": "Pillow"}
"""Names of libraries that differ from their module names."""


class MissingExtraError(ModuleNotFoundError):
    """A library is not installed; the message says what needs it and how to install it."""


def require(module: str, extra: str, wanted_by: str = "this command") -> ModuleType:
    """Import a module, such as `torch`, that belongs to an extra of the package, such as `train`.

    Raises:
        MissingExtraError: it is not installed; the message says that `wanted_by` needs it.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        top = module.partition(".")[0]
        if (error.name or "").partition(".")[0] != top:
            raise
        from noms_env.version import install_command  # here, since importing the package takes a second

        library = LIBRARIES.get(top, top)
        message = f"{wanted_by} needs {library}, which is not installed: {install_command(extra)}"
        raise MissingExtraError(message, name=error.name) from error
