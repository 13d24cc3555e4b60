"""Odd values of every type, and checks that a call with them works or raises as documented."""

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
"""Computed when drawn, since numbers of more than 4,300 digits have no `repr`."""
SMALL = st.integers(-3, 160) | st.none() | st.booleans() | st.floats() | st.text(max_size=2) | LARGE | LARGE.map(lambda n: -n)
SHAPES = [(), (0,), (1,), (3,), (4,), (1, 3), (3, 1), (0, 4), (2, 2, 2)]
DTYPES: list[Any] = ["?", "i1", "u1", ">i2", "i4", "i8", "u8", "f2", "f4", ">f8", "c8", "M8[D]", "m8[ns]", "S2", "U2", object]
ARRAYS = st.sampled_from(
    [numpy_st.arrays(dtype, shape, elements=SMALL if dtype is object else None) for dtype in DTYPES for shape in SHAPES]
).flatmap(lambda arrays: arrays)
THINGS: list[Any] = [
    *(object(), int, len, Fraction(1, 2), Decimal(1), range(3), slice(None), slice(1, -9)),
    *(..., set(), {1}, np.nan, 1j, {}, np.ma.masked),
]
ODD: st.SearchStrategy[Any] = st.one_of(
    SMALL,
    SMALL.map(lambda value: np.array(value)[()] if not isinstance(value, int) or abs(value) < 2**60 else value),
    st.sampled_from(THINGS),
    st.text(st.characters(), max_size=4),
    st.binary(max_size=4),
    ARRAYS,
    st.lists(SMALL, max_size=5),
    st.lists(st.integers(-3, 160), max_size=4).map(
        lambda numbers: np.ma.array(np.array(numbers), mask=np.array(numbers) % 2 != 0)
    ),
    st.lists(st.just(np.ma.masked) | st.integers(0, 9), max_size=4),
    st.tuples(SMALL, SMALL),
    st.dictionaries(st.text(max_size=2) | st.integers(), SMALL, max_size=2),
    st.builds(lambda values: iter(values), st.lists(SMALL, max_size=2)),
)
"""Values of every type; a constant, since hypothesis inspects each new strategy, which takes longer than a draw."""

_GOOD = object()
_ODD_OR_GOOD = ODD | st.just(_GOOD)


def near(*values: Any) -> st.SearchStrategy[Any]:
    """Draw odd values, and sometimes one of these good ones or None."""
    good = [*values, None]
    pairs = st.tuples(_ODD_OR_GOOD, st.integers(0, len(good) - 1))
    return pairs.map(lambda pair: good[pair[1]] if pair[0] is _GOOD else pair[0])


def fuzzed(quick: int, long: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Turn a function of `data` into a test of `quick` cases, and a soak test of `long` cases."""

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
    """Return whether a call raises one of these errors; it must be raised on purpose, with a printable sentence."""
    refusal = None
    try:
        call()
    except kinds as error:
        refusal = error
    if refusal is not None:
        where = traceback.extract_tb(refusal.__traceback__)[-1]
        assert (where.line or "").startswith("raise "), f"{where}: {refusal!r}"
        assert str(refusal).isprintable(), refusal
        assert str(refusal)
    return refusal is not None
