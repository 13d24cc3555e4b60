"""Cases of a test, of which some are played in long runs only, or with the compiler off, too."""

from collections.abc import Iterable
from typing import Any

import pytest


def some(cases: Iterable[Any], every: int) -> list[Any]:
    """Cases of which one among so many neighbours is played in each run of the tests, the others in the long ones only.

    Args:
        cases: as for `pytest.mark.parametrize`; a tuple is the values of several arguments.
        every: how many neighbours; the first of them is played.
    """
    return [pytest.param(*_values(case), marks=pytest.mark.soak if at % every else ()) for at, case in enumerate(cases)]


def some_uncompiled(cases: Iterable[Any], every: int) -> list[Any]:
    """Cases of which one among so many neighbours is played with the compiler off, too; the arguments are those of `some`."""
    return [pytest.param(*_values(case), marks=() if at % every else pytest.mark.uncompiled) for at, case in enumerate(cases)]


def _values(case: Any) -> tuple[Any, ...]:
    return case if isinstance(case, tuple) else (case,)
