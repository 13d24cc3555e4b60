"""What the tests of learning libraries share.

The page about them runs, what is shown is what the tables show, and learners learn by their seed alone.
"""

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
    """A script of the examples as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


def blocks_of_page(title: str) -> list[str]:
    """The code in the section of the page that has this title."""
    section = PAGE.read_text(encoding="utf-8").partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return re.findall(r"(?ms)^```\{code-block\} python\n(.*?)^```", section)


def run_page(title: str) -> None:
    """Run the code in a section of the page, each block by itself."""
    blocks = blocks_of_page(title)
    assert blocks
    for number, block in enumerate(blocks, 1):
        exec(compile(block, f"{title}, block {number}", "exec"), {"__name__": "__page__"})


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
