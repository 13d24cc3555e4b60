"""Every command of the README and the documentation runs, and what it prints in ASCII at 80 columns holds the same figures.

Sizes are cut down. Those that train, draw, publish and search are soaked.
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
"""In place of the sizes that a command names."""
OWN = {
    "pimc:20": "pimc:1",
    **{f"search:{name}": f"search:{name},worlds=1" for name in ("nonesuch@0", "runs/small_ships-fast")},
    **{"auctions": "noms", "runs/first@0": "runs/small_ships-fast@0"},
    **{f"runs/seed-{seed}@0": name for seed, name in enumerate(("runs/small_ships-fast@0", "thumb", "greedy"))},
}
"""Players in place of slow ones, and of those that a reader has made."""
CLOCK = r"in\s+[\d.,]+\s+s\b|[\d.,]+/s|[\d:]+\s+left"
"""What depends on the clock."""


def cut_down(words: list[str]) -> list[str]:
    """The words of a command, so that it is done in a second."""
    if words[0] not in SMALL or "games.jsonl" in words:
        return words
    kept = " ".join(map(shlex.quote, [OWN.get(word, word) for word in words]))
    kept = re.sub(r" --(deals|matches|minutes|set|json) \S+", "", kept)
    is_slow = words[0] == "evaluate" and any(kind in kept for kind in ("cmd:", "search:"))  # in whole matches
    return [*shlex.split(kept), *SMALL[words[0]], *(["--matches", "0"] if is_slow else [])]


def sessions() -> list[list[list[str]]]:
    """The commands that are run one after another in a folder; most are run alone."""
    alone = [shlex.split(line, comments=True)[1:] for line in noms_lines()]
    shown = [
        [words[1:] for kind, block in blocks_of(page) if kind == "console" for words, _ in commands(block)] for page in PAGES
    ]
    cheap = [["list"], ["list", "noms"], ["--help"], ["evaluate", "--help"]]
    unlike = {tuple(cut_down(words)): words for words in [*alone, *cheap] if words[0] not in RUN_ELSEWHERE}
    return [*([cut_down(words)] for words in unlike.values()), *filter(None, shown)]


def trainings() -> list[list[str]]:
    """The commands that train, cut down, each after those whose runs it goes on with, and one that draws the curves."""
    lines = sorted({shlex.join(shlex.split(line, comments=True)[1:]) for line in noms_lines()})
    lines = [line for line in lines if line.startswith("train ")]
    lines.sort(key=lambda line: ("--resume" in line, "runs/small_ships-fast" in line))
    found = []
    for number, line in enumerate(lines):
        words = shlex.split(re.sub(r" --(decisions|preset) \S+", "", line))
        if "--resume" in words:
            found.append([*words, *(["--decisions", "600"] if "--decisions" in line else [])])
            continue
        is_sized = "--network" in line or "--initial-policy" in line
        own = [] if "--out" in words or words == ["train", "small_ships"] else ["--out", f"runs/{number}"]
        found.append([*words, *TINY, *([] if is_sized else SMALL_NETWORKS), *own])
    return [*found, ["plot", "runs/first"]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a reader of the documentation has made."""
    made = tmp_path_factory.mktemp("made")
    for name, variant in (("first", "down_up"), ("mine", "small_ships"), ("small_ships-fast", "small_ships")):
        (made / "runs" / name).mkdir(parents=True)
        save_small(made / "runs" / name / "policy.safetensors", rules_of(variant))
    shutil.copytree(ROOT / "examples", made / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    own = (ROOT / "docs" / "how_to" / "own_players.md").read_text(encoding="utf-8")
    function = re.search(r"(?s)import numpy as np\n.*?\n\n\n(def highest.*?)\n\n\n", own)
    assert function is not None
    (made / "my_agent.py").write_text(f"import numpy as np\n{function[1]}\n", encoding="utf-8")
    return made


class Printed:
    """What commands print, to a file in an encoding."""

    def __init__(self, encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.encoding, self.files = encoding, [io.TextIOWrapper(io.BytesIO(), encoding) for _ in range(2)]
        for name, file in zip(("stdout", "stderr"), self.files, strict=True):
            monkeypatch.setattr(sys, name, file)
        monkeypatch.setattr(sys, "stdin", io.StringIO("help\nrules\nscore\n?\n"))

    def text(self) -> str:
        written = []
        for file in self.files:
            file.flush()
            assert isinstance(file.buffer, io.BytesIO)
            written.append(file.buffer.getvalue().decode(self.encoding))
        return "".join(written)


def printed(
    session: list[list[str]], made: Path, folder: Path, encoding: str, columns: str | None, monkeypatch: pytest.MonkeyPatch
) -> str:
    shutil.copytree(made, folder)
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr("noms_training.progress_bar.LINE_SECONDS", float("inf"))  # however slow the machine is
    monkeypatch.setattr(Lines.__init__, "__defaults__", (float("inf"),))
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns:
        monkeypatch.setenv("COLUMNS", columns)
    with monkeypatch.context() as streams:
        out = Printed(encoding, streams)
        statuses = [main(words) for words in session]
        text = out.text()
    assert not any(statuses), text
    return re.sub(CLOCK, "", text)


def figures(text: str) -> Counter[str]:
    return Counter(re.findall(r"\d[\d,.]*", text))


def searches(session: list[list[str]]) -> bool:
    return any(word.startswith("search:") for words in session for word in words)


SEARCHES, OTHERS = ([each for each in sessions() if searches(each) == wanted] for wanted in (True, False))


@pytest.mark.parametrize(
    "session",
    [*some(OTHERS, 2), *(pytest.param(each, marks=pytest.mark.soak) for each in SEARCHES)],
    ids=lambda session: " ".join(session[0]),
)
def test_a_documented_command_prints_the_same_figures_at_80_columns_in_ascii(
    session: list[list[str]], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = printed(session, folder, tmp_path / "wide", "utf-8", None, monkeypatch)
    narrow = printed(session, folder, tmp_path / "narrow", "ascii", "80", monkeypatch)
    assert wide.strip()
    assert figures(narrow) == figures(wide)
    assert narrow.count("?") == wide.count("?")
    assert_fits(narrow)


def assert_fits(text: str) -> None:
    """No line is wider than 80 columns, but for commands and JSON."""
    assert "Traceback" not in text
    assert [line for line in text.splitlines() if len(line) > 80 and not line.startswith(("  noms ", "noms ", "{"))] == []


@pytest.mark.soak
def test_documented_trainings_print_the_same_figures_at_80_columns_in_ascii(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "made").mkdir()
    both = [
        printed(trainings(), tmp_path / "made", tmp_path / encoding, encoding, columns, monkeypatch)
        for encoding, columns in (("utf-8", None), ("ascii", "80"))
    ]
    wide, narrow = both
    assert wide.count("policy: runs/") == len(trainings()) - 1
    assert figures(narrow) == figures(wide)
    assert_fits(narrow)
    assert (tmp_path / "ascii" / "runs" / "first" / "curves.png").stat().st_size > 10_000
