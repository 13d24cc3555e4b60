"""Libraries that come with an extra of the package (`pip install '.[train]'` in a clone), imported when they are needed."""

from __future__ import annotations

import importlib
from types import ModuleType

LIBRARIES = {"PIL": "Pillow"}
"""Libraries whose name is not that of the module."""


class MissingExtraError(ModuleNotFoundError):
    """A library that is not installed; the message says what needs it and how it is installed."""


def require(module: str, extra: str, wanted_by: str = "this command") -> ModuleType:
    """Import a module that an extra of the package brings.

    Args:
        module: its name, such as `torch`.
        extra: the extra, such as `train`.
        wanted_by: what needs it, for the message.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        top = module.partition(".")[0]
        if (error.name or "").partition(".")[0] != top:
            raise
        from noms_env.version import install_command  # here, since the import of the package takes a second

        library = LIBRARIES.get(top, top)
        message = f"{wanted_by} needs {library}, which is not installed: {install_command(extra)}"
        raise MissingExtraError(message, name=error.name) from error
