"""The README: its code runs, each block by itself; what it names is there; its figures are those of the full tables."""

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
DOCS = ROOT / "docs"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def blocks(language: str) -> list[str]:
    return re.findall(rf"(?s)```{language}\n(.*?)```", TEXT)


def section(title: str) -> str:
    return TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def files_of_links(text: str) -> list[str]:
    """The files of the project that a text links to."""
    found: list[str] = sources.LINK.findall(text)
    return found


@pytest.mark.parametrize("block", blocks("python"), ids=lambda block: re.findall(r"noms_env\.(\w+)", block)[0])
def test_a_block_of_python_runs_by_itself_and_always_prints_the_same(block: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(block, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    exec(compile(block, "README.md", "exec"), {})
    assert capsys.readouterr().out == printed != ""


def commands(block: str) -> list[tuple[list[str], str]]:
    """The commands of a console block, with what they are said to print."""
    parts = re.split(r"(?m)^\$ ", block)
    assert not parts[0]
    return [(shlex.split(first), said) for first, _, said in (part.partition("\n") for part in parts[1:])]


SHOWN = [each for block in blocks("console") for each in commands(block)]


def test_the_deal_is_what_its_code_prints(capsys: pytest.CaptureFixture[str]) -> None:
    (said,) = blocks("text")
    exec(compile(blocks("python")[0], "README.md", "exec"), {})
    assert capsys.readouterr().out == said


def prints(said: str) -> re.Pattern[str]:
    """What matches the output that a page shows: `...` stands for any lines, and times differ."""
    exact = re.escape(said).replace(re.escape("\n...\n"), r"\n(?s:.*)\n")
    return re.compile(re.sub(r"\d+:\d\d(?= (?:wall|processor))", r"\\d+:\\d\\d", exact.replace("\\ ", " ")))


@pytest.mark.parametrize(("words", "said"), SHOWN, ids=[words[1] for words, _ in SHOWN])
def test_a_command_prints_what_it_says(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{typed}\n" for typed in re.findall(r"\]: (.*)", said))))
    more = [*TINY, *SMALL_NETWORKS] if words[1] == "train" else []
    assert words[0] == "noms"
    assert cli.main([*words[1:], *more]) == 0
    printed = "\n" + capsys.readouterr().out
    assert prints("\n" + said.rstrip("\n") + "\n").fullmatch(printed.rstrip("\n") + "\n"), printed


def test_links_lead_to_files_also_on_a_package_index() -> None:
    files = files_of_links(TEXT)
    assert len(files) > 15
    for file in files:
        assert (ROOT / file).is_file(), file
    text = TEXT
    for one in PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(one["pattern"], one["replacement"], text)
    source = PROJECT["project"]["urls"]["Source"]
    raw = source.replace("github", "raw.githubusercontent")
    for file in files:
        addresses = (f"]({source}/blob/main/{file}", f"]({raw}/main/{file}")
        assert any(address + end in text for address in addresses for end in ")#"), file
    for link in [*re.findall(r"\]\(([^)]+)\)", text), *PROJECT["project"]["urls"].values()]:
        assert link.startswith("https://"), link


def test_what_it_names_is_there() -> None:
    targets = re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"))
    named = re.findall(r"\bmake ([a-z]+) +#", TEXT)
    assert named
    assert set(named) <= set(targets)
    for command in re.findall(r"`noms ([a-z]+)`", TEXT):
        assert command in cli.COMMANDS, command


def test_its_figures_are_those_of_the_full_tables() -> None:
    results = (ROOT / "checkpoints" / "RESULTS.md").read_text(encoding="utf-8").partition("\n## The policies\n")[2]
    rows = re.findall(r"(?m)/(\w+)\.md\) \| (`\w+@0`) \| (\S+ ±\S+) \| (\S+ ±\S+) \|$", section("How strong"))
    assert len(rows) == 4
    for game, policy, above_thumb, above_search in rows:
        pattern = rf"\| `{game}` \| {policy} \| [^|]*\| {re.escape(above_thumb)}, [^|]*\| {re.escape(above_search)}, "
        assert re.search(pattern, results), (game, pattern)
    speed = (DOCS / "speed.md").read_text(encoding="utf-8")
    figures = re.findall(r"\d[\d.]* [Mk]\b", section("How fast"))
    assert len(figures) >= 8
    for figure in figures:
        assert figure in speed, figure


def test_the_citation_is_that_of_the_package() -> None:
    citation = dict(re.findall(r"(?m)^([\w-]+): (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8")))
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == noms_env.__version__
    assert citation["repository-code"] == PROJECT["project"]["urls"]["Source"]
