"""Odd values of every type, and that what is called with them ends as documented."""

import inspect
import traceback
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as numpy_st

LARGE = st.sampled_from([31, 32, 63, 64, 100, 20_000]).map(lambda bits: 1 << bits)
"""Made when they are drawn: those of more than 4,300 digits have no `repr`."""
SMALL = st.integers(-3, 160) | st.none() | st.booleans() | st.floats() | st.text(max_size=2) | LARGE | LARGE.map(lambda n: -n)
ARRAYS = numpy_st.arrays(
    numpy_st.scalar_dtypes() | st.just(np.dtype(object)), numpy_st.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
)
THINGS = [object(), int, len, Fraction(1, 2), Decimal(1), range(3), slice(None), slice(1, -9), ..., set(), {1}, np.nan, 1j, {}]
ODD: st.SearchStrategy[Any] = st.one_of(
    SMALL,
    SMALL.map(lambda value: np.array(value)[()] if not isinstance(value, int) or abs(value) < 2**60 else value),
    st.sampled_from(THINGS),
    st.text(st.characters(), max_size=4),
    st.binary(max_size=4),
    ARRAYS,
    st.lists(SMALL, max_size=5),
    st.tuples(SMALL, SMALL),
    st.dictionaries(st.text(max_size=2) | st.integers(), SMALL, max_size=2),
    st.builds(lambda values: iter(values), st.lists(SMALL, max_size=2)),
)
"""Values of every type."""


def fuzzed(quick: int, long: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A test of so many cases, drawn from `data`, and of many more as a long test."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        fixtures = [name for name in inspect.signature(function).parameters if name != "data"]

        def test(request: pytest.FixtureRequest, cases: int) -> None:
            fixed = {name: request.getfixturevalue(name) for name in fixtures}
            health = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

            @settings(max_examples=cases, deadline=None, suppress_health_check=health, derandomize=cases == quick)
            @given(st.data())
            def case(data: st.DataObject) -> None:
                function(**fixed, data=data)

            case()

        test.__name__ = function.__name__
        return pytest.mark.parametrize("cases", [quick, pytest.param(long, marks=pytest.mark.soak)])(test)

    return decorate


def is_refused(call: Callable[[], object], *kinds: type[Exception]) -> bool:
    """Whether a call is refused, which it must be with one sentence, raised on purpose, of one of these kinds."""
    refusal = None
    try:
        call()
    except kinds as error:
        refusal = error
    if refusal is not None:
        where = traceback.extract_tb(refusal.__traceback__)[-1]
        assert (where.line or "").startswith("raise "), f"{where}: {refusal!r}"
        assert "\n" not in str(refusal), refusal
        assert str(refusal)
    return refusal is not None
