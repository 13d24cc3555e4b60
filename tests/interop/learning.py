"""What the tests of learning libraries share: what is shown is what the tables show, and learners learn by their seed alone."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

LINE = re.compile(r"(before|after) +([-+]\d+\.\d\d) ± (\d+\.\d\d)")


def assert_it_learns(capsys: pytest.CaptureFixture[str], main: Callable[..., Any], *args: Any, **sizes: Any) -> list[str]:
    """Run an example and return its lines; the interval after training lies above the one before."""
    threads = torch.get_num_threads()
    try:
        main(*args, **sizes)
    finally:
        torch.set_num_threads(threads)
    lines = capsys.readouterr().out.splitlines()
    figures = {match[1]: (float(match[2]), float(match[3])) for match in map(LINE.match, lines) if match}
    (before, before_margin), (after, after_margin) = figures["before"], figures["after"]
    assert after - after_margin > before + before_margin
    return lines


def assert_seen(shown: Any, seen: Any) -> None:
    """What is shown has the observations and masks of the tables, byte for byte."""
    for name in ("observation", "action_mask"):
        found = np.asarray(shown[name])
        assert found.dtype == seen[name].dtype, name
        assert np.array_equal(found.reshape(seen[name].shape), seen[name]), name


def assert_the_seed_decides(weights: Callable[[int], torch.Tensor]) -> None:
    """The weights after training are finite, the same with the same seed and others with another."""
    one = weights(1)
    assert torch.isfinite(one).all()
    assert torch.equal(one, weights(1))
    assert not torch.equal(one, weights(2))
