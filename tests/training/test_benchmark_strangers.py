"""Entries of the benchmark from elsewhere, made to do harm: what they say is data, and whatever is wrong is one sentence."""

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from noms_training.text import markdown_text
from tests.commands import Run, assert_refused

ENTRIES = Path(__file__).parent.parent.parent / "benchmarks" / "entries" / "1"
Change = Callable[[dict[str, Any]], object]


@pytest.fixture
def entry(tmp_path: Path) -> Path:
    """A copy of a published entry that learnt, without policies and deals."""
    return shutil.copytree(ENTRIES / "ppo", tmp_path / "entry")


def changed(file: Path, change: Change) -> None:
    document = json.loads(file.read_text())
    change(document)
    file.write_text(json.dumps(document))


def every_command(run: Run, folder: Path) -> list[tuple[int, str, str]]:
    """What the commands say that take the folder of an entry, where nothing has to be played."""
    check, report = ("check", folder, "--cells", 0), ("report", folder, "--out", folder.parent / "report")
    return [run("benchmark", *words) for words in (check, report, ("score", folder))]


NUMBERS = ["1e999", "NaN", "1" + "0" * 400, "-9223372036854775809", '"x"', "null", "[" * 900 + "]" * 900, "[" * 100_000]


@pytest.mark.parametrize(
    ("place", "number"),
    [
        *(("points", number) for number in NUMBERS),
        *((place, "true") for place in ("error", "deals", "value", "low", "gap", "nonesuch", "player_sha256")),
    ],
)
def test_damaged_scores_are_a_sentence(run: Run, entry: Path, place: str, number: str) -> None:
    file = entry / "scores.json"
    text, made = re.subn(rf'"{place}": (?:[^,{{\[\n]+|(?=[{{\[]))', f'"{place}": {number}, "rest": ', file.read_text(), count=1)
    assert made
    file.write_text(text if place == "nonesuch" else text.replace(', "rest": ', "", 1))
    for words in (("check", entry, "--cells", 0), ("report", entry, "--out", entry.parent / "report")):
        assert_refused(run("benchmark", *words), f"{entry} is not scored: scores.json is damaged")


@pytest.mark.parametrize(
    "change",
    [
        lambda scores: scores.update(parts=["core", "core"]),
        lambda scores: scores.update(parts=["core", "other"]),
        lambda scores: scores.update(parts=5),
        lambda scores: scores.update(core=[]),
        lambda scores: scores["core"]["games"].update(bridge=scores["core"]["games"]["noms"]),
        lambda scores: scores["core"]["games"]["noms"]["fields"].update({"<b>": 1.0}),
        lambda scores: scores["core"]["games"]["noms"]["seeds"].append(1.0),
        lambda scores: scores["core"]["all"].pop("median"),
        lambda scores: scores["cross_play"]["noms"]["points"].pop(),
        lambda scores: scores["cross_play"]["noms"]["points"][0].pop(),
        lambda scores: scores["cells"].update(noms=[]),
        lambda scores: scores.update(deals={}),
        lambda scores: scores.update(machine=None),
        lambda scores: scores.pop("versions"),
    ],
)
def test_scores_of_another_form_are_a_sentence(run: Run, entry: Path, change: Change) -> None:
    changed(entry / "scores.json", change)
    for words in (("check", entry, "--cells", 0), ("report", entry, "--out", entry.parent / "report")):
        assert_refused(run("benchmark", *words), f"{entry} is not scored: scores.json is damaged")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"name": "\x1b]0;mine\x07"}, "without signs that a terminal acts on"),
        ({"name": "a\u202eb"}, "without signs that a terminal acts on"),
        ({"description": "one\n# two"}, "without signs that a terminal acts on"),
        ({"budget": "\x1b[2J"}, "without signs that a terminal acts on"),
        ({"name": "x" * 101}, "a name, of 100 letters at most"),
        ({"seeds": [*range(20_000)]}, "100 at most"),
        ({"seeds": []}, "one seed or more"),
        ({"seeds": [1.5]}, "its seeds, which must be whole numbers"),
        ({"games": ["noms"] * 20_000}, "each of its games once"),
        ({"games": ["\x1b[31m"]}, "the games must be of"),
        ({"games": [["noms"]]}, "entry.json is damaged"),
        ({"\x1b[31m": 1}, "entry.json is damaged"),
        ({"track": {}}, "must be text"),
        ({"budget": "9" * 400 + "M"}, "a budget is such as"),
    ],
)
def test_a_damaged_entry_is_a_sentence_without_signs_of_its_own(
    run: Run, entry: Path, change: dict[str, Any], sentence: str
) -> None:
    changed(entry / "entry.json", lambda document: document.update(change))
    for status, out, err in every_command(run, entry):
        assert (out + err).replace("\n", "").isprintable()
        assert_refused((status, out, err), sentence)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *(("trained/noms/1/curve.csv", row) for row in ("", "a", "nan", "1e999", '"' + "x" * 200_000)),
        *(("trained/noms/1/run.json", text) for text in ("{}", f'{{"game": {"[" * 900}{"]" * 900}}}')),
        ("times.json", '{"core": {"deals": "x"}}'),
        ("algorithm.py", "raise SystemExit"),
    ],
)
def test_a_damaged_file_of_a_run_is_a_sentence(run: Run, entry: Path, name: str, content: str) -> None:
    is_curve = name.endswith(".csv")
    (entry / name).write_text((entry / name).read_text() + f"1800000,{content},1,1,1,1,1\n" if is_curve else content)
    checked, reported, _ = every_command(run, entry)
    for status, out, err in (checked, reported):
        assert status in (0, 1, 2)
        assert "Traceback" not in out + err
        assert err.count("\n") <= 1
    if is_curve:
        assert_refused(reported, f"{entry / name} is no learning curve")
    if name.endswith("run.json"):
        assert (checked[0], "is not complete: run.json is damaged" in checked[1]) == (1, True)


@pytest.mark.parametrize(
    "name", ["entry.json", "scores.json", "algorithm.py", "trained/noms/1/run.json", "trained/noms/1/curve.csv"]
)
def test_nobody_waits_for_a_pipe(run: Run, entry: Path, name: str) -> None:
    (entry / name).unlink(missing_ok=True)
    os.mkfifo(entry / name)
    assert [status in (0, 1, 2) for status, _, _ in every_command(run, entry)] == [True] * 3


def test_a_report_takes_the_texts_of_an_entry_as_texts(run: Run, entry: Path) -> None:
    name, says = "<script>alert(1)</script> $\\frac$", "# [press](javascript:alert(1)) ![](http://x) <img src=x>"
    for file in ("entry.json", "scores.json"):
        changed(entry / file, lambda document: document.update(name=name))
    changed(entry / "entry.json", lambda document: document.update(description=says))
    run_file = entry / "trained" / "noms" / "1" / "run.json"
    changed(run_file, lambda document: document["machine"].update(processor="| <b>\x1b[31m"))
    status, _, err = run("benchmark", "report", entry, "--out", entry.parent / "report")
    assert status == 0, err
    text = (entry.parent / "report" / "report.md").read_text()
    ours = r"</?(details|summary|small)>|<br>|<img src=\"noms-benchmark_1-\w+.png\" alt=\"\w+\" width=\"340\">"
    assert not re.search(r"<|\]\(|^# (?!noms-benchmark/1$)|\x1b", re.sub(ours, "", text), re.MULTILINE), text
    page = (entry.parent / "report" / "report.html").read_text()
    assert "<script" not in page
    assert "<img src=x" not in page
    assert "\x1b" not in page


@pytest.mark.parametrize("text", ["`thumb` and_more", "+0.12", "-0.5 (-1.0 to 2.0)", "1.00", "PPO, 10M", "a|b", "a - b # c"])
def test_plain_texts_stay_as_they_are_in_markdown(text: str) -> None:
    assert markdown_text(text) == text


@pytest.mark.parametrize("text", ["# a", "- a", "* a", "1. a", "2) a", "---", "===", "~~~", "```sh", "> a", "    a", "a\\<b"])
def test_no_block_begins_with_the_text_of_somebody_else(text: str) -> None:
    assert re.match(r"&#\d+;|a", markdown_text(text))
