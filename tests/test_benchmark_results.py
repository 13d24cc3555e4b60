"""The results of the benchmark in the repository: pages that agree with the entries, and how an entry is published."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import publish
from noms_training.benchmark import report, task
from noms_training.benchmark.checking import complaints, unchecked
from noms_training.benchmark.entry import algorithm_of, sha256_of
from noms_training.benchmark.protocol import PROTOCOLS, V2, References
from tests.commands import Run
from tests.training.entries import FIRST, make_small, set_references, update_json

ROOT = Path(__file__).parent.parent
GAMES = ("nonesuch", "down_up")
ALGORITHM = f'''"""Takes the first action: learns nothing | at all."""


def train(task):
    task.log(100, lambda: First())
    (task.folder / "weights.txt").write_text(str(task.seed))
{FIRST}'''


def test_the_pages_agree_with_the_entries() -> None:
    text, curves = publish.pages(ROOT)
    again = "run `python -m benchmarks.publish`"
    for path, page in text.items():
        assert (ROOT / path).read_text(encoding="utf-8") == page, again
    assert {path.stem for path in (ROOT / publish.CURVES).iterdir()} == {*curves}, again


def published_entries() -> Iterator[report.Scored]:
    for of_protocol in publish.published(ROOT).values():
        yield from of_protocol


def test_the_published_entries_are_complete_and_name_their_algorithms() -> None:
    for each in published_entries():
        assert complaints(each.folder) == []
        if each.entry.algorithm:
            path, _, revision = each.entry.source.partition("@")
            assert (ROOT / path).is_file()
            assert re.fullmatch(r"[0-9a-f]{7,40}", revision)
            is_missing = f"algorithm.py is not here: it is {path}@{revision}" in "\n".join(unchecked(each.folder))
            assert is_missing != algorithm_of(each.folder).is_file()


def test_a_missing_algorithm_without_a_source_is_refused(tmp_path: Path) -> None:
    folder = shutil.copytree(ROOT / publish.ENTRIES / "1/ppo", tmp_path / "ppo")
    algorithm = folder / "algorithm.py"
    shutil.copyfile(ROOT / "benchmarks/algorithms/dqn.py", algorithm)
    assert complaints(folder) == [f"{algorithm} is not the file that the runs were made with"]
    algorithm.unlink()
    update_json(folder / "entry.json", source="")
    assert complaints(folder) == [f"{algorithm} is not the file that the runs were made with"]


def test_an_entry_without_a_copy_has_the_baseline_if_its_hash_agrees(tmp_path: Path) -> None:
    folder, dqn = shutil.copytree(ROOT / publish.ENTRIES / "1/ppo", tmp_path / "ppo"), ROOT / "benchmarks/algorithms/dqn.py"
    for sha256, file in ((sha256_of(dqn), dqn), ("0" * 64, folder / "algorithm.py")):
        update_json(folder / "entry.json", source="benchmarks/algorithms/dqn.py@0000000", algorithm=sha256)
        assert algorithm_of(folder) == file
    (folder / "algorithm.py").touch()
    assert algorithm_of(folder) == folder / "algorithm.py"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout without results."""
    root = tmp_path / "checkout"
    (root / "docs").mkdir(parents=True)
    return root


@pytest.fixture
def entries(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """An algorithm and a player that does not learn, in a protocol with two games and few deals."""
    make_small(monkeypatch, 2, GAMES, ("single_game",), V2)
    fields = PROTOCOLS[V2].parts["single_game"].fields
    references = {game: {field.name: References(-1.0, 1.0, 100) for field in fields} for game in GAMES}
    set_references(monkeypatch, {(V2, "single_game"): references})
    monkeypatch.setattr(task, "CURVE_DEALS", 2)
    (tmp_path / "first.py").write_text(ALGORITHM)
    folders = [tmp_path / "learnt", tmp_path / "fixed"]
    for words in (
        ["run", tmp_path / "first.py", "--budget", "1M", "--seeds", 3, "--games", *GAMES, "--out", folders[0]],
        ["score", folders[0], "--allow-programs", "--threads", 1],
        ["score", folders[1], "--player", "thumb", "--name", "rules of thumb", "--games", *GAMES, "--threads", 1],
    ):
        status, out, err = run("benchmark", *words)
        assert status == 0, (out, err)
    return folders


def test_without_entries_there_is_no_table(checkout: Path) -> None:
    publish.main(publish.Args(root=checkout))
    for path in publish.PAGES.values():
        assert "No entries" in (checkout / path).read_text()


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_entries_are_published_with_the_policies_of_one_seed_and_without_deals(
    run: Run, checkout: Path, entries: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    publish.main(publish.Args(tuple(entries), checkout))
    folder = checkout / publish.ENTRIES / "2/first"
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    runs = {f"trained/{game}/{seed}/{name}" for game in GAMES for seed in (1, 2, 3) for name in ("curve.csv", "run.json")}
    policies = {f"trained/{game}/1/{name}" for game in GAMES for name in ("player.py", "weights.txt")}
    assert files == {"algorithm.py", "entry.json", "scores.json", "times.json", *runs, *policies}
    page = (checkout / publish.PAGES[V2]).read_text()
    rows = [line for line in page.splitlines() if line.startswith(("| rules of thumb<br>", "| first<br>"))]
    assert rows[0].startswith("| rules of thumb<br><small>fixed · 1 seed</small> | ")
    assert rows[1].startswith("| first<br><small>self-play · 1M · 3 seeds</small> | ")
    assert "| first | 100 decisions<br>" in page
    assert sorted(path.stem for path in (checkout / publish.CURVES).iterdir()) == sorted([*GAMES, "profiles"])
    before = contents(checkout)
    publish.main(publish.Args(tuple(entries[:1]), checkout))
    assert contents(checkout) == before
    status, out, _ = run("benchmark", "check", folder, "--all", "--threads", 1, "--allow-programs")
    assert (status, "accepted as far as can be checked here, 12 cells played again" in out) == (0, True), out
    assert "the policies of 4 of 6 runs are not here: none of their cells can be played again" in out
    monkeypatch.setattr(publish, "MAX_BYTES", 1)
    with pytest.raises(SystemExit, match="policies of all entries would have 2 bytes, and 1 are allowed"):
        publish.main(publish.Args(tuple(entries[:1]), checkout))
    assert contents(checkout) == before


def test_a_wrong_entry_is_not_published(checkout: Path, entries: list[Path]) -> None:
    run_file = entries[0] / "trained" / "down_up" / "3" / "run.json"
    update_json(run_file, files_sha256="0" * 64)
    shutil.rmtree(run_file.with_name("__pycache__"), ignore_errors=True)
    run_file.with_name("weights.txt").unlink()
    with pytest.raises(SystemExit, match="down_up, seed 3, are of another policy than the run has made"):
        publish.main(publish.Args((entries[0],), checkout))
    assert not (checkout / publish.ENTRIES).exists()
