"""What a command did, as the fixture `run` tells it, and that it was refused as it should be."""

from __future__ import annotations

from collections.abc import Callable

Run = Callable[..., tuple[int, str, str]]
"""Runs a command with these words: exit status, standard output, standard error."""


def is_one_sentence(text: str) -> bool:
    return text.startswith("noms: ") and text.count("\n") == 1 and "Traceback" not in text


def assert_refused(done: tuple[int, str, str], sentence: str) -> None:
    """Status 2, nothing printed, and one sentence with these words in it."""
    status, out, err = done
    assert (status, out) == (2, "")
    assert is_one_sentence(err), err
    assert sentence in err
