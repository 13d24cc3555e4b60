"""What tests of commands share: what a refusal looks like, and what may be missing: libraries, and space on a disk."""

import errno
import os
import re
from collections.abc import Callable, Iterable
from typing import Any

from noms_training.extras import MissingExtraError

Run = Callable[..., tuple[int, str, str]]
"""Runs a command with these words: exit status, standard output, standard error."""
TINY = ["--decisions", "200", "--tables", "8", "--threads", "1", "--evaluation-deals", "4", "--ppo.update-epochs", "1"]
"""A training that takes a second, with `SMALL_NETWORKS`."""
SMALL_NETWORKS = [
    f"--{network}.{size}" for network in ("network", "critic") for size in ("width=8", "blocks=0", "card-width=4")
]


def is_one_sentence(text: str) -> bool:
    return text.startswith("noms: ") and text[-1:] == "\n" and text[:-1].isprintable() and "Traceback" not in text


def assert_refused(done: tuple[int, str, str], sentence: str) -> None:
    """Status 2, nothing printed, and one sentence with these words in it."""
    status, out, err = done
    assert (status, out) == (2, "")
    assert is_one_sentence(err), err
    assert sentence in err


def lacking(library: str) -> Callable[..., None]:
    """In place of `require`: as if a library were not installed."""

    def require(module: str, extra: str, wanted_by: str = "") -> None:
        if module == library:
            raise MissingExtraError(f"{wanted_by} needs {module}: {extra}")

    return require


def disk_full(*_: Any, **__: Any) -> Any:
    """In place of a function that writes."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def plain(lines: Iterable[str]) -> list[str]:
    """Lines without their colours."""
    return [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in lines]
