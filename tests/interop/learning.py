"""What the examples print of a policy before and after training, and that it has become better."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

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
