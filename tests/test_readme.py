"""The README: each block of code runs by itself, names and links are right, and figures agree with the full tables."""

import io
import re
import shlex
import sys
import tomllib
from pathlib import Path

import pytest

import noms_env
from docs import sources
from noms_training import cli
from tests.commands import SMALL_NETWORKS, TINY

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def blocks(language: str) -> list[str]:
    return re.findall(rf"(?s)```{language}\n(.*?)```", TEXT)


def section(title: str) -> str:
    return TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize("number", range(len(blocks("python"))))
def test_a_block_of_python_runs_by_itself_with_the_same_output(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = []
    for _ in range(2):
        exec(compile(blocks("python")[number], "README.md", "exec"), {})
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1] != ""
    if number == 0:
        assert outputs[:1] == blocks("text"), "the deal that the README shows"


def commands(block: str) -> list[tuple[list[str], str]]:
    """Return the commands of a console block, each with the output below it."""
    parts = re.split(r"(?m)^\$ ", block)
    assert not parts[0]
    return [(shlex.split(line), output) for line, _, output in (part.partition("\n") for part in parts[1:])]


COMMANDS = [command for block in blocks("console") for command in commands(block)]


def pattern_of(output: str) -> re.Pattern[str]:
    """Return a pattern for the output that a page shows: `...` stands for any lines, and times differ."""
    exact = re.escape(output).replace(re.escape("\n...\n"), r"\n(?s:.*)\n")
    return re.compile(re.sub(r"\d+:\d\d(?= (?:wall|processor))", r"\\d+:\\d\\d", exact.replace("\\ ", " ")))


@pytest.mark.parametrize(("words", "expected"), COMMANDS, ids=[words[1] for words, _ in COMMANDS])
def test_a_command_prints_the_output_below_it(
    words: list[str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in re.findall(r"\]: (.*)", expected))))
    sizes = [*TINY, *SMALL_NETWORKS] if words[1] == "train" else []
    assert words[0] == "noms"
    assert cli.main([*words[1:], *sizes]) == 0
    output = "\n" + capsys.readouterr().out
    assert pattern_of("\n" + expected.rstrip("\n") + "\n").fullmatch(output.rstrip("\n") + "\n"), output


def test_links_lead_to_files_also_on_a_package_index() -> None:
    files = sources.LINK.findall(TEXT)
    assert len(files) > 15
    for file in files:
        assert (ROOT / file).is_file(), file
    text = TEXT
    for substitution in PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(substitution["pattern"], substitution["replacement"], text)
    source = PROJECT["project"]["urls"]["Source"]
    raw = source.replace("github", "raw.githubusercontent")
    for file in files:
        addresses = (f"]({source}/blob/main/{file}", f"]({raw}/main/{file}")
        assert any(address + end in text for address in addresses for end in ")#"), file
    for link in [*re.findall(r"\]\(([^)]+)\)", text), *PROJECT["project"]["urls"].values()]:
        assert link.startswith("https://"), link


def test_make_targets_and_commands_exist() -> None:
    targets = re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert set() < set(re.findall(r"\bmake ([a-z]+) +#", TEXT)) <= set(targets)
    assert set(re.findall(r"`noms ([a-z]+)`", TEXT)) <= set(cli.COMMANDS)


def test_figures_agree_with_the_full_tables() -> None:
    results = (ROOT / "checkpoints" / "RESULTS.md").read_text(encoding="utf-8").partition("\n## The policies\n")[2]
    rows = re.findall(r"(?m)/(\w+)\.md\) \| (`\w+@0`) \| (\S+ ±\S+) \| (\S+ ±\S+) \|$", section("How strong"))
    assert len(rows) == 4
    for game, policy, above_thumb, above_search in rows:
        pattern = rf"\| `{game}` \| {policy} \| [^|]*\| {re.escape(above_thumb)}, [^|]*\| {re.escape(above_search)}, "
        assert re.search(pattern, results), (game, pattern)
    speed = (ROOT / "docs" / "speed.md").read_text(encoding="utf-8")
    figures = re.findall(r"\d[\d.]* [Mk]\b", section("How fast"))
    assert len(figures) >= 8
    for figure in figures:
        assert figure in speed, figure


def test_the_citation_names_version_and_source() -> None:
    citation = dict(re.findall(r"(?m)^([\w-]+): (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8")))
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == noms_env.__version__
    assert citation["repository-code"] == PROJECT["project"]["urls"]["Source"]
