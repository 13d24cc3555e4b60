"""Every command of the README and the documentation runs, and prints the same figures in ASCII at 80 columns.

Sizes are reduced. Commands that train, draw, publish or search are soak tests.
"""

import io
import re
import shlex
import shutil
import sys
from collections import Counter
from pathlib import Path

import pytest

from noms_training.cli import main
from noms_training.learn.progress import Lines
from tests.cases import some
from tests.commands import SMALL_NETWORKS, TINY
from tests.policy.test_player import rules_of, save_small
from tests.test_docs_site import PAGES, ROOT, blocks_of, noms_lines
from tests.test_readme import commands

RUN_ELSEWHERE = {"table", "train", "improve", "plot", "publish", "demo", "solve", "exploit", "benchmark", "compile"}
SMALL = {
    "evaluate": ["--deals", "4", "--matches", "2"],
    "tournament": ["--deals", "2"],
    "crossplay": ["--deals", "2"],
    "watch": ["--deals", "1", "--seed", "1"],
    "play": ["--deals", "1", "--seed", "1"],
    "record": ["--matches", "1"],
    "export": ["--matches", "1"],
}
"""Sizes that replace those of a documented command."""
SUBSTITUTES = {
    "pimc:20": "pimc:1",
    **{f"search:{name}": f"search:{name},worlds=1" for name in ("nonesuch@0", "runs/small_ships-fast")},
    **{"auctions": "noms", "runs/first@0": "runs/small_ships-fast@0"},
    **{f"runs/seed-{seed}@0": name for seed, name in enumerate(("runs/small_ships-fast@0", "thumb", "greedy"))},
}
"""Replacements for slow players, and for players that a reader has made."""
CLOCK = r"in\s+[\d.,]+\s+s\b|[\d.,]+/s|[\d:]+\s+left"
"""Output that depends on the clock."""


def shorten(words: list[str]) -> list[str]:
    """Return the words of a command with sizes that take about a second."""
    if words[0] not in SMALL or "games.jsonl" in words:
        return words
    line = " ".join(map(shlex.quote, [SUBSTITUTES.get(word, word) for word in words]))
    line = re.sub(r" --(deals|matches|minutes|set|json) \S+", "", line)
    is_slow = words[0] == "evaluate" and any(kind in line for kind in ("cmd:", "search:"))  # in whole matches
    return [*shlex.split(line), *SMALL[words[0]], *(["--matches", "0"] if is_slow else [])]


def sessions() -> list[list[list[str]]]:
    """Return lists of commands that run one after another in a folder; most lists have one command."""
    alone = [shlex.split(line, comments=True)[1:] for line in noms_lines()]
    in_consoles = [
        [words[1:] for kind, block in blocks_of(page) if kind == "console" for words, _ in commands(block)] for page in PAGES
    ]
    cheap = [["list"], ["list", "noms"], ["--help"], ["evaluate", "--help"]]
    distinct = {tuple(shorten(words)): None for words in [*alone, *cheap] if words[0] not in RUN_ELSEWHERE}
    return [*([[*words]] for words in distinct), *filter(None, in_consoles)]


def trainings() -> list[list[str]]:
    """Return the shortened commands that train, each after those whose runs it continues, and one that plots the curves."""
    lines = sorted({shlex.join(shlex.split(line, comments=True)[1:]) for line in noms_lines()})
    lines = [line for line in lines if line.startswith("train ")]
    lines.sort(key=lambda line: ("--resume" in line, "runs/small_ships-fast" in line))
    shortened = []
    for number, line in enumerate(lines):
        words = shlex.split(re.sub(r" --(decisions|preset) \S+", "", line))
        if "--resume" in words:
            shortened.append([*words, *(["--decisions", "600"] if "--decisions" in line else [])])
            continue
        is_sized = "--network" in line or "--initial-policy" in line
        out = [] if "--out" in words or words == ["train", "small_ships"] else ["--out", f"runs/{number}"]
        shortened.append([*words, *TINY, *([] if is_sized else SMALL_NETWORKS), *out])
    return [*shortened, ["plot", "runs/first"]]


@pytest.fixture(scope="module")
def reader_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the runs and the player that a reader of the documentation makes."""
    folder = tmp_path_factory.mktemp("reader")
    for name, variant in (("first", "down_up"), ("mine", "small_ships"), ("small_ships-fast", "small_ships")):
        (folder / "runs" / name).mkdir(parents=True)
        save_small(folder / "runs" / name / "policy.safetensors", rules_of(variant))
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    page = (ROOT / "docs" / "how_to" / "own_players.md").read_text(encoding="utf-8")
    function = re.search(r"(?s)import numpy as np\n.*?\n\n\n(def highest.*?)\n\n\n", page)
    assert function is not None
    (folder / "my_agent.py").write_text(f"import numpy as np\n{function[1]}\n", encoding="utf-8")
    return folder


def run_session(
    session: list[list[str]], files: Path, folder: Path, encoding: str, columns: str | None, monkeypatch: pytest.MonkeyPatch
) -> str:
    """Run commands in a copy of a folder and return their output, without what depends on the clock."""
    shutil.copytree(files, folder)
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr("noms_training.progress_bar.LINE_SECONDS", float("inf"))  # even on a slow machine
    monkeypatch.setattr(Lines.__init__, "__defaults__", (float("inf"),))
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns:
        monkeypatch.setenv("COLUMNS", columns)
    buffers = {name: io.BytesIO() for name in ("stdout", "stderr")}
    with monkeypatch.context() as streams:
        for name, buffer in buffers.items():
            streams.setattr(sys, name, io.TextIOWrapper(buffer, encoding, write_through=True))
        streams.setattr(sys, "stdin", io.StringIO("help\nrules\nscore\n?\n"))
        statuses = [main(words) for words in session]
        text = "".join(buffer.getvalue().decode(encoding) for buffer in buffers.values())
    assert not any(statuses), text
    return re.sub(CLOCK, "", text)


def figures(text: str) -> Counter[str]:
    return Counter(re.findall(r"\d[\d,.]*", text))


def searches(session: list[list[str]]) -> bool:
    return any(word.startswith("search:") for words in session for word in words)


SEARCHES, OTHERS = ([session for session in sessions() if searches(session) == is_search] for is_search in (True, False))


@pytest.mark.parametrize(
    "session",
    [*some(OTHERS, 2), *(pytest.param(session, marks=pytest.mark.soak) for session in SEARCHES)],
    ids=lambda session: " ".join(session[0]),
)
def test_a_documented_command_prints_the_same_figures_in_narrow_ascii(
    session: list[list[str]], reader_files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = run_session(session, reader_files, tmp_path / "wide", "utf-8", None, monkeypatch)
    narrow = run_session(session, reader_files, tmp_path / "narrow", "ascii", "80", monkeypatch)
    assert wide.strip()
    assert figures(narrow) == figures(wide)
    assert narrow.count("?") == wide.count("?")
    assert_fits(narrow)


def assert_fits(text: str) -> None:
    """Check that only commands and JSON are wider than 80 columns."""
    assert "Traceback" not in text
    assert [line for line in text.splitlines() if len(line) > 80 and not line.startswith(("  noms ", "noms ", "{"))] == []


@pytest.mark.soak
def test_documented_trainings_print_the_same_figures_in_narrow_ascii(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    wide, narrow = (
        run_session(trainings(), tmp_path / "empty", tmp_path / encoding, encoding, columns, monkeypatch)
        for encoding, columns in (("utf-8", None), ("ascii", "80"))
    )
    assert wide.count("policy: runs/") == len(trainings()) - 1
    assert figures(narrow) == figures(wide)
    assert_fits(narrow)
    assert (tmp_path / "ascii" / "runs" / "first" / "curves.png").stat().st_size > 10_000
