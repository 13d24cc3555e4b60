"""Output fits the terminal and its encoding: no figure is cut, no sign is lost, no line is broken in a pipe."""

import io
import re
import sys
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

from noms_training.console import broken, fitted, never_fail_on_signs, new_table, terminal

ROOT = Path(__file__).parent.parent
SIGNS = sorted({sign for room in ("noms_env", "training") for file in (ROOT / room).rglob("*.py") for sign in file.read_text()})
"""Every sign in the sources, so every sign that they can print."""


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_signs_outside_the_encoding_are_spelled(encoding: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding)
    monkeypatch.setattr(sys, name, stream)
    never_fail_on_signs()
    text = "".join(sign for sign in SIGNS if sign.isprintable() and sign != "?") + "╭─│╰ ├┼ ━╸ – \udcff"
    print(text, file=stream, flush=True)
    printed = stream.buffer.getvalue().decode(encoding)
    assert "♣" in text
    assert "?" not in printed
    assert set(printed) - set(text) <= {*"\n\\0123456789abcdefu+-x#|.CDHS"}


@pytest.mark.parametrize(
    ("text", "letters"),
    [
        ("Q♣ J♦ T♥ 9♠", "QC JD TH 9S"),
        ("+2.783 ±0.105 · ×2", "+2.783 +-0.105 | x2"),
        ("first…last", "first...last"),
        ("╭─ è ─╮ │", "+- e -+ |"),
        ("\udcff", "\\udcff"),
    ],
)
def test_signs_have_a_usual_spelling(text: str, letters: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), "ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    never_fail_on_signs()
    terminal().print(Text(text))
    stream.flush()
    assert stream.buffer.getvalue().decode() == letters + "\n"


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_signs_can_be_typed_in_ascii_too(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("♥q \xff".encode() + b"\xff"), encoding))
    never_fail_on_signs()
    assert sys.stdin.read() == "♥q ÿ\ufffd"


FIGURES = [
    ("policy.safetensors alone", "+10.271 ±2.243", "+8.027 to +12.514", "75.0 % ±317.7"),
    ("thumb, half of the seats each", "-13.146 ±5.638", "-18.783 to -7.508", ""),
]


@pytest.mark.parametrize("width", [10, 40, 60, 80, 200])
def test_no_width_cuts_a_figure(width: int) -> None:
    table, file = new_table("points per deal above the others", "", "95 %", "matches won"), io.StringIO()
    for row in FIGURES:
        table.add_row(*row)
    Console(file=file, width=width, soft_wrap=True).print(fitted(table, width))
    text = file.getvalue()
    assert "…" not in text
    assert sorted(re.findall(r"\d[\d.]*", text)) == sorted(re.findall(r"\d[\d.]*", "95 " + str(FIGURES)))
    assert width < 60 or max(map(len, text.splitlines())) <= width


def test_no_line_is_broken_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.delenv("COLUMNS", raising=False)
    table = new_table("a " * 500, "b")
    table.add_row("name " * 100, "1 " * 100)
    terminal().print(fitted(table, terminal().width))
    assert len(stream.getvalue().splitlines()) == 2
    monkeypatch.setenv("COLUMNS", "60")
    assert terminal().width == 60


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("Bid       8 by seat 2 · alone · yes", ["Bid       8 by seat 2 ·", "          alone · yes"]),
        ("seat 0 pass · seat 1 pass · seat 2 8", ["seat 0 pass · seat 1 pass ·", "seat 2 8"]),
        ("  a sentence of more than thirty letters", ["  a sentence of more than", "  thirty letters"]),
        ("x" * 40, ["x" * 40]),
        ("short", ["short"]),
    ],
)
def test_long_lines_are_broken_at_dots_or_gaps_and_indented(line: str, parts: list[str]) -> None:
    assert [part.plain for part in broken(Text(line), 30)] == parts
