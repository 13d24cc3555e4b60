"""JSON from elsewhere is parsed to plain values or refused with one sentence."""

import json
import re
from typing import Any

import pytest

from noms_env._json import parse_json


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"\xff", "not UTF-8 text"),
        (b"[1, 2", "not JSON: Expecting ',' delimiter at character 6"),
        (b"NaN", "not JSON: NaN is no number"),
        (b"[-1e999]", "not JSON: -1e999 is too large a number"),
        (b"-" + b"9" * 5000, "not JSON: -9999999999999999999... is too large a number"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 120 + b"1" + b"}" * 120, "nested too deeply"),
        (b'{"a": 1, "b": 2, "a": 3}', "not JSON: an object has the key 'a' twice"),
        (b'["\\ud800"]', "half of a surrogate pair"),
        (b"\xef\xbb\xbf\xef\xbb\xbf1", "at character 1"),
    ],
)
def test_other_content_is_refused_with_one_sentence(content: bytes | str, sentence: str) -> None:
    with pytest.raises(ValueError, match=rf"^it [^\n]*{re.escape(sentence)}[^\n]*$"):
        parse_json(content)


@pytest.mark.parametrize(
    "value", [None, True, -0.5, 1e308, -(10**307), "♣ \U0001f0a1", [], {"a": [{"b": "\n"}]}, json.loads("[" * 90 + "]" * 90)]
)
def test_plain_values_are_parsed(value: Any) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
        for content in (text, text.encode(), text.encode("utf-8-sig")):
            assert parse_json(content) == value
