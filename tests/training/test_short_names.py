"""Short names for tables and pictures."""

import pytest

from noms_training.text import LONGEST, short_names


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["thumb", "pimc:100"], ["thumb", "pimc:100"]),
        (["checkpoints/noms/policy.safetensors", "thumb"], ["policy.safetensors", "thumb"]),
        (["runs/a/policy.safetensors@0", "runs/b/policy.safetensors@0"], ["a/policy.safetensors@0", "b/policy.safetensors@0"]),
        (["cmd:/usr/bin/python -IS /x/bot.py", "/x/own.py:make"], ["cmd:python -IS bot.py", "own.py:make"]),
        (["a" * 30 + "x" + "a" * 30, "a" * 30 + "y" + "a" * 30], [f"{'a' * 7}…{'a' * 16} ({number})" for number in (1, 2)]),
        (["/a/b", "/a//b"], ["a/b", "/b"]),
    ],
)
def test_names_are_short_and_different(names: list[str], short: list[str]) -> None:
    assert short_names(names) == short
    assert len(set(short)) == len(names)
    assert all(len(name) <= LONGEST + 4 for name in short)
