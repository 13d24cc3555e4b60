"""A limit on the time of Python code in this process: code that takes longer gets an exception in its thread.

The exception comes between two steps of Python. So it ends an endless loop in Python, but no call that does not come back: a
sleep, a wait for a lock, or a long computation in compiled code. Players of that kind should be programs, which are
processes of their own. While a module is imported or numba compiles, nothing is interrupted: both would be left half done.
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from threading import Event, Thread, get_ident
from typing import TypeVar

Result = TypeVar("Result")
LOOK = 0.05
"""Seconds between two looks at the clock."""
AGAIN = 1.0
"""Seconds after which code that has passed over the exception gets another."""
NOT_WHILE = ("importlib.", "llvmlite.", "numba.")
"""Beginnings of the names of modules in which a thread is left alone."""


class TooLateError(BaseException):
    """Comes to code that takes too long; not an `Exception`, which the code might pass over."""


@dataclass(eq=False)
class _Watched:
    """Code under way.

    Attributes:
        thread: in which it runs.
        deadline: on the clock of `time.monotonic`.
        claim: has one item, for whoever is first: the code that ends, or the watchdog, which may raise from then on.
        is_raised: the watchdog was first.
        is_over: the code has ended.
        is_released: the watchdog knows of that, and raises no more.
    """

    thread: int
    deadline: float
    claim: list[None] = field(default_factory=lambda: [None])
    is_raised: bool = False
    is_over: bool = False
    is_released: bool = False


_WATCHED: set[_Watched] = set()


def within(seconds: float | None, function: Callable[[], Result]) -> Result:
    """The result of a function that may take so long; None for any time.

    Raises:
        TooLateError: it took longer.
    """
    if seconds is None:
        return function()
    _start_watchdog()
    watched = _Watched(get_ident(), time.monotonic() + seconds)
    _WATCHED.add(watched)
    try:
        try:
            return function()
        finally:
            if _leave(watched):
                raise TooLateError
    except TooLateError:  # it may have come just before or behind the line that waits for it
        _leave(watched)
        raise


def _leave(watched: _Watched) -> bool:
    """End the watch: no exception is on its way any more. Whether one was raised."""
    is_late = False
    while True:
        try:
            if not is_late and watched.claim:
                watched.claim.pop()
                _WATCHED.discard(watched)
                return False
            is_late = watched.is_over = True
            while not watched.is_released:
                time.sleep(LOOK / 50)
            for _ in range(100):
                pass  # what was raised before comes here
            return True
        except (IndexError, TooLateError):
            is_late = True


@cache
def _start_watchdog() -> None:
    Thread(target=_watch, daemon=True, name="noms-watchdog").start()


def _watch() -> None:
    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    never = Event()
    while not never.wait(LOOK):
        for one in list(_WATCHED):
            if one.is_over:
                _WATCHED.discard(one)
                one.is_released = True
            elif time.monotonic() > one.deadline and not _is_fragile(one.thread):
                if not one.is_raised:
                    try:
                        one.claim.pop()
                    except IndexError:  # it has just ended in time
                        continue
                    one.is_raised = True
                one.deadline = time.monotonic() + AGAIN
                raise_in(ctypes.c_ulong(one.thread), ctypes.py_object(TooLateError))


def _is_fragile(thread: int) -> bool:
    frame = sys._current_frames().get(thread)
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith(NOT_WHILE):
            return True
        frame = frame.f_back
    return False
