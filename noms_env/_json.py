"""Parsing of untrusted JSON; anything but plain JSON values is refused."""

from __future__ import annotations

import json
import sys
from collections import Counter
from functools import partial
from typing import Any, NoReturn

MAX_DIGITS = sys.float_info.max_10_exp
"""Digits of an integer; more do not fit into a float."""
MAX_DEPTH = 100
"""Maximal nesting of containers."""


def parse_json(content: bytes | str, what: str = "it", bits: int | None = None) -> Any:
    """Parse JSON: null, booleans, numbers that fit into a float, strings without lone surrogates, and containers.

    Args:
        content: the text, or its bytes in UTF-8; a byte order mark at the start is ignored.
        what: name of the content in messages.
        bits: integers must fit into signed integers of this width; None for no limit.

    Raises:
        ValueError: the content is not such a value, is nested too deeply, has a key twice in an object, or has a NaN or an
            infinity. The message is one sentence.
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
    for _ in range(MAX_DEPTH):
        parts = [part.values() if isinstance(part, dict) else part for part in level if isinstance(part, dict | list)]
        level = [inner for part in parts for inner in part]
        if not level:
            return
    raise RecursionError


def _whole(bits: int | None, digits: str) -> int:
    if len(digits) > MAX_DIGITS + (digits[0] == "-") or (bits and not -(1 << bits - 1) <= int(digits) < 1 << bits - 1):
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
