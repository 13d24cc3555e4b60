"""Malicious benchmark entries: their texts are data, and each fault is refused with one sentence."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from noms_training.text import markdown_text
from tests.commands import Run, assert_refused
from tests.training.entries import edit_json, update_json

ENTRIES = Path(__file__).parent.parent.parent / "benchmarks" / "entries" / "1"


@pytest.fixture
def entry(tmp_path: Path) -> Path:
    """A copy of a published entry with runs, without policies and deals."""
    return shutil.copytree(ENTRIES / "ppo", tmp_path / "entry")


def run_commands(run: Run, entry: Path) -> list[tuple[int, str, str]]:
    """Run the commands on an entry that play nothing: check, report and score."""
    check, report = ("check", entry, "--cells", 0), ("report", entry, "--out", entry.parent / "report")
    return [run("benchmark", *words) for words in (check, report, ("score", entry))]


NUMBERS = ["1e999", "NaN", "1" + "0" * 400, "-9223372036854775809", '"x"', "null", "[" * 900 + "]" * 900, "[" * 100_000]
KEYS = ("error", "deals", "value", "low", "gap", "player_sha256")


@pytest.mark.parametrize(("key", "number"), [*(("points", number) for number in NUMBERS), *((key, "true") for key in KEYS)])
def test_a_wrong_number_in_the_scores_is_refused(run: Run, entry: Path, key: str, number: str) -> None:
    file = entry / "scores.json"
    text, count = re.subn(rf'"{key}": [^,{{\[\n]+', f'"{key}": {number}', file.read_text(), count=1)
    assert count
    file.write_text(text)
    for result in run_commands(run, entry)[:2]:
        assert_refused(result, f"{entry} is not scored: scores.json is damaged")


@pytest.mark.parametrize(
    "change",
    [
        lambda scores: scores.update(parts=["core", "core"]),
        lambda scores: scores.update(core=[]),
        lambda scores: scores["core"]["games"].update(bridge=scores["core"]["games"]["noms"]),
        lambda scores: scores["core"]["games"].update(nonesuch=True),
        lambda scores: scores["core"]["games"]["noms"]["fields"].update({"<b>": 1.0}),
        lambda scores: scores["core"]["games"]["noms"]["seeds"].append(1.0),
        lambda scores: scores["core"]["all"].pop("median"),
        lambda scores: scores["cross_play"]["noms"]["points"].pop(),
        lambda scores: scores["cross_play"]["noms"]["points"][0].pop(),
        lambda scores: scores["cells"].update(noms=[]),
        lambda scores: scores.pop("versions"),
    ],
)
def test_scores_of_another_form_are_refused(run: Run, entry: Path, change: Callable[[dict[str, Any]], object]) -> None:
    edit_json(entry / "scores.json", change)
    for result in run_commands(run, entry)[:2]:
        assert_refused(result, f"{entry} is not scored: scores.json is damaged")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        *(({"name": name}, "signs that a terminal acts on") for name in ("\x1b]0;mine\x07", "a\u202eb")),
        *(({key: "one\n# two"}, "signs that a terminal acts on") for key in ("description", "budget")),
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
def test_a_damaged_entry_is_refused_without_control_characters(
    run: Run, entry: Path, change: dict[str, Any], sentence: str
) -> None:
    update_json(entry / "entry.json", **change)
    for status, out, err in run_commands(run, entry):
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
def test_a_damaged_file_of_a_run_is_refused(run: Run, entry: Path, name: str, content: str) -> None:
    is_curve = name.endswith(".csv")
    (entry / name).write_text((entry / name).read_text() + f"1800000,{content},1,1,1,1,1\n" if is_curve else content)
    check, report, _ = run_commands(run, entry)
    for status, out, err in (check, report):
        assert status in (0, 1, 2)
        assert "Traceback" not in out + err
        assert err.count("\n") <= 1
    if is_curve:
        assert_refused(report, f"{entry / name} is no learning curve")
    if name.endswith("run.json"):
        assert (check[0], "is not complete: run.json is damaged" in check[1]) == (1, True)


@pytest.mark.parametrize(
    "name", ["entry.json", "scores.json", "algorithm.py", "trained/noms/1/run.json", "trained/noms/1/curve.csv"]
)
def test_a_pipe_in_the_place_of_a_file_does_not_block(run: Run, entry: Path, name: str) -> None:
    (entry / name).unlink(missing_ok=True)
    os.mkfifo(entry / name)
    assert [status in (0, 1, 2) for status, _, _ in run_commands(run, entry)] == [True] * 3


def test_a_report_escapes_the_texts_of_an_entry(run: Run, entry: Path) -> None:
    name, description = "<script>alert(1)</script> $\\frac$", "# [press](javascript:alert(1)) ![](http://x) <img src=x>"
    for file in ("entry.json", "scores.json"):
        update_json(entry / file, name=name)
    update_json(entry / "entry.json", description=description)
    edit_json(entry / "trained/noms/1/run.json", lambda document: document["machine"].update(processor="| <b>\x1b[31m"))
    status, _, err = run("benchmark", "report", entry, "--out", entry.parent / "report")
    assert status == 0, err
    text = (entry.parent / "report" / "report.md").read_text()
    ours = r"</?(details|summary|small)>|<br>|<img src=\"noms-benchmark_1-\w+.png\" alt=\"\w+\" width=\"340\">"
    assert not re.search(r"<|\]\(|^# (?!noms-benchmark/1$)|\x1b", re.sub(ours, "", text), re.MULTILINE), text
    page = (entry.parent / "report" / "report.html").read_text()
    assert not [markup for markup in ("<script", "<img src=x", "\x1b") if markup in page]


@pytest.mark.parametrize("text", ["`thumb` and_more", "+0.12", "-0.5 (-1.0 to 2.0)", "1.00", "PPO, 10M", "a|b", "a - b # c"])
def test_plain_texts_need_no_escape_in_markdown(text: str) -> None:
    assert markdown_text(text) == text


@pytest.mark.parametrize("text", ["# a", "- a", "* a", "1. a", "2) a", "---", "===", "~~~", "```sh", "> a", "    a", "a\\<b"])
def test_a_foreign_text_begins_no_markdown_block(text: str) -> None:
    assert re.match(r"&#\d+;|a", markdown_text(text))
