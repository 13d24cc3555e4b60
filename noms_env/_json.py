"""JSON that somebody else may have written. Nothing in it is trusted: what is no plain value of JSON is refused."""

from __future__ import annotations

import json
import sys
from collections import Counter
from functools import partial
from typing import Any, NoReturn

MOST_DIGITS = sys.float_info.max_10_exp
"""Of a whole number: longer ones do not fit into a float."""
MOST_DEPTH = 100
"""Containers within one another."""


def parse_json(content: bytes | str, what: str = "it", bits: int | None = None) -> Any:
    """A value from JSON: null, booleans, numbers that fit into a float, texts without halves of surrogate pairs, containers.

    Args:
        content: the text, or its bytes in UTF-8; a byte order mark before it is no part of it.
        what: the content is called in messages.
        bits: whole numbers must fit into signed integers of so many.

    Raises:
        ValueError: it is no such value; the message is one sentence. Also if it is nested too deeply, if an object has a key
            twice, and for NaN and infinities, which only some readers of JSON know.
    """
    try:
        text = content.decode() if isinstance(content, bytes) else content
        hooks: dict[str, Any] = {"parse_int": partial(_whole, bits), "parse_float": _finite, "parse_constant": _refuse_constant}
        value = json.loads(text.removeprefix("\ufeff"), object_pairs_hook=_with_different_keys, **hooks)
        _check_depth(value)
        if "\\u" in text or not text.isascii():
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{what} is not UTF-8 text") from error
    except UnicodeEncodeError as error:
        raise ValueError(f"{what} has half of a surrogate pair, which is no character") from error
    except RecursionError as error:
        raise ValueError(f"{what} is nested too deeply") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"{what} is not JSON: {error.msg} at character {error.pos + 1}") from error
    except ValueError as error:
        raise ValueError(f"{what} is not JSON: {error}") from error
    return value


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MOST_DEPTH):
        parts = [part.values() if isinstance(part, dict) else part for part in level if isinstance(part, dict | list)]
        level = [inner for part in parts for inner in part]
        if not level:
            return
    raise RecursionError


def _whole(bits: int | None, digits: str) -> int:
    if len(digits) > MOST_DIGITS + (digits[0] == "-") or (bits and not -(1 << bits - 1) <= int(digits) < 1 << bits - 1):
        raise ValueError(f"{digits[:20]}{'...' * (len(digits) > 20)} is too large a number")
    return int(digits)


def _finite(digits: str) -> float:
    number = float(digits)
    if abs(number) == float("inf"):
        raise ValueError(f"{digits[:20]} is too large a number")
    return number


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")


def _with_different_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise ValueError(f"an object has the key {twice[:40]!a} twice")
    return values
