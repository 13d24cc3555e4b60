"""The documents of the published policies agree with each other, and everything that they cite exists."""

import csv
import json
import re
import subprocess
from pathlib import Path

import pytest

from noms_env.variants import VARIANTS

ROOT = Path(__file__).parent.parent
CHECKPOINTS = ROOT / "checkpoints"
FIELDS = ("commit", "question", "command", "change", "seeds", "figures", "decision")


def notebook_entries() -> list[dict[str, str]]:
    text = (CHECKPOINTS / "LAB.md").read_text(encoding="utf-8")
    entries = []
    for number, title, body in re.findall(r"(?ms)^### (L\d+) (.+?)\n\n(.*?)(?=\n\n|\Z)", text):
        fields = re.findall(r"(?m)^- (\w+): (.+)$", body.strip())
        assert tuple(name.lower() for name, _ in fields) == FIELDS, number
        entries.append({"id": number, "title": title} | {name.lower(): value for name, value in fields})
    assert len(entries) == text.count("\n### ")
    return entries


def test_the_notebook_agrees_with_its_csv_file() -> None:
    with (CHECKPOINTS / "experiments.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert rows == [{name: value.replace("`", "") for name, value in entry.items()} for entry in notebook_entries()]
    assert [row["id"] for row in rows] == [f"L{number:02d}" for number in range(1, len(rows) + 1)]


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def test_entries_runs_and_commits_of_the_notebook_exist() -> None:
    entries = notebook_entries()
    text = (CHECKPOINTS / "LAB.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\bL\d\d+\b", text)) == {entry["id"] for entry in entries}
    if not (ROOT / ".git").exists() or git("rev-parse", "--is-shallow-repository") != "false":
        return  # an archive or a shallow clone has no history
    (commit,) = re.findall(r"`git show (\w+):checkpoints/NAME/runs\.json`", text)
    cited = re.findall(r"\bruns? ([\d and]+) of `(\w+)/runs\.json`", text)
    assert {name for _, name in cited} == set(re.findall(r"of `(\w+)/runs\.json`", text))
    for runs, name in cited:
        last = len(json.loads(git("show", f"{commit}:checkpoints/{name}/runs.json")))
        assert all(1 <= int(run) <= last for run in re.findall(r"\d+", runs)), (runs, name)
    for commit in {commit for entry in entries for commit in re.findall(r"[0-9a-f]{7}", entry["commit"])}:
        assert git("cat-file", "-t", commit) == "commit", commit


def test_the_readme_is_short_and_names_every_policy() -> None:
    text = (CHECKPOINTS / "README.md").read_text(encoding="utf-8")
    assert len(text.encode()) <= 3000
    for variant in VARIANTS:
        assert f"`{variant}`" in text
    for folder in CHECKPOINTS.glob("*/policy.safetensors"):
        assert f"({folder.parent.name}/README.md)" in text


@pytest.mark.parametrize("name", ["README.md", "RESULTS.md", "LAB.md"])
def test_cited_files_exist(name: str) -> None:
    text = (CHECKPOINTS / name).read_text(encoding="utf-8")
    for link in re.findall(r"\]\((?!\w+:|#)([^)#]+)[^)]*\)", text):
        assert (CHECKPOINTS / link).exists(), link
    for path in re.findall(r"`((?:noms_env|training|benchmarks|checkpoints|tests)/[\w/.]+)`", text):
        assert (ROOT / path).exists(), path
    for path in re.findall(r"`([\w.]+/(?:[\w.]+)?)`", text):
        if path != "milestones/":
            assert (CHECKPOINTS / path).exists() or (ROOT / path).exists(), path
