"""Helpers for the tests of learning libraries: run their pages and examples, compare observations and learners."""

import importlib.util
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

PAGE = Path(__file__).parents[2] / "docs" / "how_to" / "other_libraries.md"
LINE = re.compile(r"(before|after) +([-+]\d+\.\d\d) ± (\d+\.\d\d)")


def load_script(path: Path) -> Any:
    """Load a script of the examples as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


def blocks_of_page(title: str) -> list[str]:
    """Return the blocks of code in a section of the page."""
    section = PAGE.read_text(encoding="utf-8").partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return re.findall(r"(?ms)^```\{code-block\} python\n(.*?)^```", section)


def run_page(title: str) -> None:
    """Run each block of code in a section of the page by itself."""
    blocks = blocks_of_page(title)
    assert blocks
    for number, block in enumerate(blocks, 1):
        exec(compile(block, f"{title}, block {number}", "exec"), {"__name__": "__page__"})


def assert_it_learns(capsys: pytest.CaptureFixture[str], main: Callable[..., Any], *args: Any, **sizes: Any) -> list[str]:
    """Run an example, check that the interval after training lies above the one before, and return the lines."""
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


def assert_seen(actual: Any, expected: Any) -> None:
    """Check that observation and mask are equal, byte for byte."""
    for name in ("observation", "action_mask"):
        array = np.asarray(actual[name])
        assert array.dtype == expected[name].dtype, name
        assert np.array_equal(array.reshape(expected[name].shape), expected[name]), name
