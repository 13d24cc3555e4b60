"""Helpers for tests of commands: refusals, missing libraries, and full disks."""

import errno
import os
import re
from collections.abc import Callable, Iterable
from typing import Any

from noms_training.extras import MissingExtraError

Run = Callable[..., tuple[int, str, str]]
"""Runs a command and returns its exit status, standard output and standard error."""
TINY = ["--decisions", "200", "--tables", "8", "--threads", "1", "--evaluation-deals", "4", "--ppo.update-epochs", "1"]
"""A training that takes a second, with `SMALL_NETWORKS`."""
SMALL_NETWORKS = [
    f"--{network}.{size}" for network in ("network", "critic") for size in ("width=8", "blocks=0", "card-width=4")
]


def is_one_sentence(text: str) -> bool:
    return text.startswith("noms: ") and text[-1:] == "\n" and text[:-1].isprintable() and "Traceback" not in text


def assert_refused(result: tuple[int, str, str], sentence: str) -> None:
    """Check for exit status 2, no output, and one sentence with these words."""
    status, out, err = result
    assert (status, out) == (2, "")
    assert is_one_sentence(err), err
    assert sentence in err


def lacking(library: str) -> Callable[..., None]:
    """Return a replacement for `require` that misses a library."""

    def require(module: str, extra: str, wanted_by: str = "") -> None:
        if module == library:
            raise MissingExtraError(f"{wanted_by} needs {module}: {extra}")

    return require


def disk_full(*_: Any, **__: Any) -> Any:
    """Replace a function that writes."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def plain(lines: Iterable[str]) -> list[str]:
    """Return lines without colours."""
    return [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in lines]
