"""Somebody else's code in this process may fail, but not end it: a command that ends says what it came to.

Imports nothing of the package, so that the command `noms` can know of it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

ENDS = ("_exit", "execv", "execve")
"""The functions of `os` that end the Python code of a process at once; the others of their kind call them."""


@contextmanager
def no_sudden_end() -> Iterator[None]:
    """In this process `os._exit` and `os.exec*` raise SystemExit, as `sys.exit` does, and what is done to end goes on.

    In processes that are forked from it they do what they always do. Compiled code that ends the process is not held up.
    """
    process = os.getpid()
    real = {(module, name): getattr(module, name) for module in (os, sys.modules[os.name]) for name in ENDS}

    def raising(name: str, end: Callable[..., Any]) -> Callable[..., Any]:
        def refuse(*given: Any) -> Any:
            if os.getpid() != process:
                return end(*given)
            raise SystemExit(f"os.{name} was called")

        return refuse

    for (module, name), end in real.items():
        setattr(module, name, raising(name, end))
    try:
        yield
    finally:
        for (module, name), end in real.items():
            setattr(module, name, end)
