"""Mark test cases that run only in soak tests, or also with the compiler off."""

from collections.abc import Iterable
from typing import Any

import pytest


def some(cases: Iterable[Any], every: int) -> list[Any]:
    """Mark all cases but each `every`-th one, from the first, as `soak`. A tuple holds the values of several arguments."""
    return [pytest.param(*_values(case), marks=pytest.mark.soak if at % every else ()) for at, case in enumerate(cases)]


def some_uncompiled(cases: Iterable[Any], every: int) -> list[Any]:
    """Mark each `every`-th case, from the first, as `uncompiled`. A tuple holds the values of several arguments."""
    return [pytest.param(*_values(case), marks=() if at % every else pytest.mark.uncompiled) for at, case in enumerate(cases)]


def _values(case: Any) -> tuple[Any, ...]:
    return case if isinstance(case, tuple) else (case,)
