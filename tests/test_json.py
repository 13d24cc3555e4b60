"""JSON that somebody else may have written."""

import json
from typing import Any

import pytest

from noms_env._json import parse_json


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"\xff", "it is not UTF-8 text"),
        (b"[1, 2", "it is not JSON: Expecting ',' delimiter at character 6"),
        (b"NaN", "it is not JSON: NaN is no number"),
        (b"[-1e999]", "it is not JSON: -1e999 is too large a number"),
        (b"-" + b"9" * 5000, "it is not JSON: -9999999999999999999... is too large a number"),
        (b"[" * 100_000, "it is nested too deeply"),
        (b'{"a":' * 120 + b"1" + b"}" * 120, "it is nested too deeply"),
        (b'{"a": 1, "b": 2, "a": 3}', "it is not JSON: an object has the key 'a' twice"),
        (b'["\\ud800"]', "it has half of a surrogate pair, which is no character"),
        (b"\xef\xbb\xbf\xef\xbb\xbf1", "it is not JSON: Unexpected UTF-8 BOM (decode using utf-8-sig) at character 1"),
    ],
)
def test_what_is_no_plain_value_is_refused_with_a_sentence(content: bytes | str, sentence: str) -> None:
    with pytest.raises(ValueError, match=r"^[^\n]+$") as refused:
        parse_json(content)
    assert str(refused.value) == sentence


@pytest.mark.parametrize(
    "value", [None, True, -0.5, 1e308, -(10**307), "♣ \U0001f0a1", [], {"a": [{"b": "\n"}]}, json.loads("[" * 90 + "]" * 90)]
)
def test_plain_values_are_taken(value: Any) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
        for content in (text, text.encode(), text.encode("utf-8-sig")):
            assert parse_json(content) == value
