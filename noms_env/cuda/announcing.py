"""A word to whoever waits while kernels are compiled."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Any

from noms_env import _jit

PATIENCE = 2.0
"""Seconds after which a first launch is announced."""

_launched: set[int] = set()
_said: list[str] = []


@contextmanager
def announced(kernel: Any) -> Iterator[None]:
    """Around a launch: where it is the kernel's first and takes long, one sentence on standard error says why."""
    if id(kernel) in _launched:
        yield
        return
    timer = Timer(PATIENCE, _say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
    _launched.add(id(kernel))


def _say() -> None:
    if not _said:
        _said.append(f"noms_env: compiling kernels for the GPU; {_jit.PROGRESS.kept}")
        print(_said[0], file=sys.stderr, flush=True)
