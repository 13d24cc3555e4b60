"""The README: its code runs, each block by itself; its commands print what it says; what it names is there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from noms_env.variants import GAMES
from training import cli

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"(?s)```{language}\n(.*?)```", TEXT)


@pytest.mark.parametrize("block", blocks("python"), ids=lambda block: re.findall(r"noms_env\.(\w+)", block)[0])
def test_a_block_of_python_runs_by_itself(block: str) -> None:
    exec(compile(block, "README.md", "exec"), {})


def commands(block: str) -> list[tuple[list[str], str]]:
    """The commands of a console block, with what they are said to print."""
    parts = re.split(r"(?m)^\$ ", block)
    assert not parts[0]
    return [(shlex.split(first), said) for first, _, said in (part.partition("\n") for part in parts[1:])]


@pytest.mark.parametrize("block", blocks("console"))
def test_commands_print_what_is_shown(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for (name, *arguments), said in commands(block):
        assert name == "noms"
        assert cli.main(arguments) == 0
        assert capsys.readouterr().out.strip() == said.strip(), arguments


def test_the_blocks_of_each_kind_are_found() -> None:
    assert (len(blocks("python")), len(blocks("console"))) == (9, 1)
    assert TEXT.count("```") == 2 * sum(len(blocks(language)) for language in ("python", "console", "sh", "text"))


def test_the_table_of_variants_is_right() -> None:
    rows = re.findall(r"(?m)^\| \[`(\w+)`\]\(([\w/.]+)\) \| ([\w ]+) \|", TEXT)
    assert [name for name, _, _ in rows] == list(GAMES)
    for name, link, seats in rows:
        low, high = GAMES[name].seats
        assert (ROOT / link).name == f"{name}.md"
        assert seats == (str(low) if low == high else f"{low} to {high}")


def test_what_it_names_is_there() -> None:
    targets = re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"))
    named = re.findall(r"\bmake ([a-z]+) +#", TEXT)
    assert named
    assert set(named) <= set(targets)
    sections = {"#" + re.sub(r"[^a-z ]", "", title.lower()).replace(" ", "-") for title in re.findall(r"(?m)^#+ (.+)$", TEXT)}
    for link in re.findall(r"\]\(([^)]+)\)", TEXT):
        assert link.startswith("https://") or link in sections or (ROOT / link).exists(), link
    (floors,) = blocks("text")
    for path, holds in re.findall(r"(?m)^([\w/.]+) +(.+)$", floors):
        assert (ROOT / path).exists(), path
        for module in re.findall(r"\w+\.py", holds):
            assert (ROOT / path / module).exists(), module
    for command in re.findall(r"`noms ([a-z]+)`", TEXT):
        assert command in cli.COMMANDS, command
