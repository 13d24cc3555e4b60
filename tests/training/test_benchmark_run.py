"""Runs of algorithms in the benchmark: budget, curve, going on, workers, and the report on what came of them."""

import csv
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from noms_env._files import lock
from noms_env.players import load_player
from noms_training.agents.registry import agent_spec
from noms_training.benchmark import running, task
from noms_training.benchmark.checking import complaints
from noms_training.benchmark.entry import Entry, EntryError, read_entry, write_entry
from noms_training.benchmark.protocol import CURVE_AT, V1, Budget, budget_of
from noms_training.benchmark.running import algorithm_file, baselines, begin, runs_left, train_all
from noms_training.benchmark.task import Task, load_algorithm, train_run
from tests.commands import Run, assert_refused

ALGORITHM = '''
"""Highest cards: learns a number.

More on it.
"""

import json
import numpy as np


def train(task):
    learnt = 0
    while task.log(learnt, lambda: Highest(learnt)) < 1:
        learnt += 40
    (task.folder / "weights.json").write_text(json.dumps(learnt + task.seed))


class Highest:
    wants_tables = False

    def __init__(self, learnt):
        self.learnt = learnt

    def act(self, observation, mask, seeds, *, tables=None):
        return (mask * np.arange(1, 151)).argmax(axis=-1) if self.learnt % 2 else mask.argmax(axis=-1)


def player(folder):
    return Highest(json.loads((folder / "weights.json").read_text()))
'''


@pytest.fixture(autouse=True)
def short_curves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task, "CURVE_DEALS", 2)


@pytest.fixture
def algorithm(tmp_path: Path) -> Path:
    file = tmp_path / "highest.py"
    file.write_text(ALGORITHM)
    return file


def trained(run: Run, algorithm: Path, out: Path, *words: object) -> Path:
    status, said, err = run(
        *("benchmark", "run", algorithm, "--games", "down_up", "nonesuch", "--tracks", "single_game"),
        *("--budget", 400, "--out", out, *words),
    )
    assert status == 0, err
    assert f"noms benchmark score {out}" in said
    return out


def test_a_run_leaves_a_policy_a_curve_and_what_it_took(run: Run, algorithm: Path, tmp_path: Path) -> None:
    folder = trained(run, algorithm, tmp_path / "entry", "--seeds", 2)
    entry = read_entry(folder)
    assert (entry.name, entry.division, entry.budget, entry.seeds) == ("highest", "self-play", "400", (1, 2))
    assert entry.description == "Highest cards: learns a number."
    for game in ("down_up", "nonesuch"):
        for seed in (1, 2):
            made = folder / "trained" / game / str(seed)
            document = json.loads((made / "run.json").read_text())
            assert (document["decisions"], document["files"]) == (400, ["weights.json"])
            assert json.loads((made / "weights.json").read_text()) == 400 + seed
            with (made / "curve.csv").open() as file:
                rows = [(int(row["decisions"]), float(row["points"])) for row in csv.DictReader(file)]
            assert [decisions for decisions, _ in rows] == [0, *range(40, 401, 40)]
            assert len({points for _, points in rows}) == 1
    player = agent_spec(f"{folder / 'trained' / 'down_up' / '1' / 'player.py'}:player").make()
    assert getattr(player, "wants_tables", None) is False
    assert list(complaints_of_runs(folder)) == []


def complaints_of_runs(folder: Path) -> list[str]:
    from noms_training.benchmark.checking import _of_run

    return [sentence for run in (folder / "trained").glob("*/*") for sentence in _of_run(read_entry(folder), run)]


def test_runs_that_are_done_are_not_done_again_and_more_can_come(run: Run, algorithm: Path, tmp_path: Path) -> None:
    folder = trained(run, algorithm, tmp_path / "entry", "--seeds", 1)
    first = folder / "trained" / "down_up" / "1" / "run.json"
    before = first.read_bytes()
    (folder / "trained" / "nonesuch" / "1" / "run.json").unlink()  # as if it had been stopped
    (folder / "trained" / "nonesuch" / "1" / "rest").touch()
    assert runs_left(read_entry(folder), folder) == [("nonesuch", 1)]
    trained(run, algorithm, folder, "--seeds", 2)
    assert first.read_bytes() == before
    assert not (folder / "trained" / "nonesuch" / "1" / "rest").exists()
    assert (folder / "trained" / "nonesuch" / "2" / "run.json").exists()
    assert_refused(
        run("benchmark", "run", algorithm, "--games", "down_up", "--budget", 500, "--out", folder),
        "another budget: 400, not 500",
    )
    algorithm.write_text(ALGORITHM.replace("40", "50"))
    assert_refused(run("benchmark", "run", algorithm, "--budget", 400, "--out", folder), "with another algorithm")


def test_another_algorithm_in_the_folder_is_not_trained_in_its_place(algorithm: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "algorithm.py").write_text("# mine\n")
    with pytest.raises(EntryError, match="is another algorithm than"):
        begin(folder, algorithm, ("down_up",), (1,), "400")


def test_workers_do_the_same_as_one_process(run: Run, algorithm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "LOOK", 0.05)
    told = list[int]()
    entry = begin(tmp_path / "two", algorithm, ("down_up",), (1, 2), "400", ("single_game",))
    train_all(entry, tmp_path / "two", workers=2, tick=told.append)
    trained(run, algorithm, tmp_path / "one", "--seeds", 2)
    assert sum(told) == 800
    for seed in (1, 2):
        one, two = (tmp_path / name / "trained" / "down_up" / str(seed) for name in ("one", "two"))
        assert (one / "weights.json").read_text() == (two / "weights.json").read_text()
        assert not (two / task.PROGRESS).exists()


def test_processes_that_an_algorithm_starts_use_up_its_budget(tmp_path: Path) -> None:
    busy = "import time\nwhile time.process_time() < 0.5: pass"
    run = Task("down_up", 1, Budget(None, 1.0), tmp_path)
    subprocess.run([sys.executable, "-c", busy], check=True)
    assert run.seconds[1] > 0.4
    assert run.count(0) > 0.4 / 3600


def test_two_processes_do_not_share_the_folder_of_an_entry(run: Run, algorithm: Path, tmp_path: Path) -> None:
    folder = trained(run, algorithm, tmp_path / "entry", "--seeds", 1)
    with (folder / "lock").open("a") as file:
        assert lock(file)
        words = ("--games", "down_up", "nonesuch", "--tracks", "single_game", "--budget", 400, "--out", folder)
        assert_refused(run("benchmark", "run", algorithm, *words), "another process trains in")
    assert run("benchmark", "run", algorithm, *words)[0] == 0


def test_a_run_that_fails_does_not_stop_another(algorithm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = """def train(task):
    import time
    said, other = task.folder.parents[2] / "said", task.folder.parent / "2"
    while not (said if task.seed == 2 else other).exists():
        time.sleep(0.02)
    if task.seed == 1:
        raise OSError("no more")
"""
    algorithm.write_text(algorithm.read_text().replace("def train(task):\n", failing))
    entry = begin(tmp_path / "mine", algorithm, ("down_up",), (1, 2, 3), "400", ("single_game",))
    monkeypatch.setattr(running, "print", lambda text, **_: (tmp_path / "mine" / "said").write_text(text), raising=False)
    with pytest.raises(OSError, match="no more"):
        train_all(entry, tmp_path / "mine", workers=2)
    assert runs_left(entry, tmp_path / "mine") == [("down_up", 1), ("down_up", 3)]
    said = (tmp_path / "mine" / "said").read_text()
    assert said == "the run of down_up with seed 1 failed; 1 other run at work will be done"


def test_what_a_run_has_changed_or_overspent_is_found(run: Run, algorithm: Path, tmp_path: Path) -> None:
    folder = trained(run, algorithm, tmp_path / "entry", "--seeds", 1)
    made = folder / "trained" / "down_up" / "1"
    (made / "weights.json").write_text("7")
    assert any("not those that the run has made" in sentence for sentence in complaints_of_runs(folder))
    (made / "weights.json").unlink()
    assert complaints_of_runs(folder) == [], "a published entry may lack the policies"
    document = json.loads((made / "run.json").read_text()) | {"decisions": 500}
    (made / "run.json").write_text(json.dumps(document))
    (made / "curve.csv").unlink()
    said = " ".join(complaints_of_runs(folder))
    assert "1.25 times the budget 400" in said
    assert "no learning curve" in said


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("def train(task): pass\n", "lacks the function player"),
        ("import nothing_of_this_name\n", "cannot be loaded: ModuleNotFoundError"),
        (ALGORITHM + 'DIVISION = "anything"\n', "DIVISION in .* must be one of self-play"),
    ],
)
def test_what_is_no_algorithm_is_refused(text: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(text)
    with pytest.raises(EntryError, match=sentence):
        load_algorithm(tmp_path / "bad.py")


@pytest.mark.parametrize("text", ["pass", "task.log(1, lambda: None)"])
def test_an_algorithm_that_leaves_nothing_is_refused(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Task, "log", lambda self, decisions, player: self.note(decisions, (0.0, 0.0, 0.0)))
    (tmp_path / "bad.py").write_text(f"def train(task):\n    {text}\n\n\ndef player(folder): ...\n")
    with pytest.raises(EntryError, match=r"bad.py left no policy in .*noms"):
        train_run(tmp_path / "bad.py", "noms", 1, Budget(10), tmp_path / "noms", lambda _: None)


def test_a_budget_in_hours_ends_a_run_and_the_measure_of_the_curve_is_not_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]

    def slowly(*_: object, **__: object) -> object:
        clock[0] += 1000
        return type("Found", (), {"mean": 1.0, "low": 0.5, "high": 1.5})

    monkeypatch.setattr(task, "alone_in_field", slowly)
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(os, "times", lambda: os.times_result((clock[0] / 2, 0.0, clock[0] / 2, 0.0, 0.0)))
    one = Task("noms", 1, budget_of("10M,0.1h"), tmp_path)
    shares = list[float]()
    for _ in range(11):
        shares.append(one.log(len(shares), lambda: load_player("random")))
        clock[0] += 37
    assert shares == pytest.approx([37 * number / 360 for number in range(11)])
    assert len(one.rows) == len(CURVE_AT) - 3, "no point at shares between two iterations"


def test_baselines_have_names_and_files_are_taken_by_their_path(tmp_path: Path) -> None:
    values = {"dqn", "nfsp", "deep_monte_carlo"}
    policies = {"ppo", "mmd", "r_nad", "maskable_ppo", "recurrent_ppo", "ppo_self_play"}
    assert set(baselines()) == values | policies | {"clone_pimc", "expert_iteration"}
    assert algorithm_file("ppo").name == "ppo.py"
    with pytest.raises(EntryError, match="the baselines are clone_pimc, "):
        algorithm_file("__init__")


# ------------------------------------------------------------------------------------------------------- the report


def test_a_report_has_tables_curves_and_details(run: Run, algorithm: Path, tmp_path: Path) -> None:
    folder = trained(run, algorithm, tmp_path / "entry", "--seeds", 2)
    write_entry(folder, replace(read_entry(folder), protocol=V1, tracks=("core",)))  # which has references
    other = tmp_path / "thumb"
    write_entry(other, Entry("<thumb>", "fixed", "thumb", ("down_up",), protocol=V1))
    for one in (folder, other):
        status, out, err = run("benchmark", "score", one, "--deals", 2, "--threads", 1, "--allow-programs")
        assert status == 0, err
        (one / "trial" / "scores.json").rename(one / "scores.json")
    status, out, err = run("benchmark", "report", folder, other, "--out", tmp_path / "report")
    assert status == 0, err
    assert "report.html" in out
    report = tmp_path / "report"
    pictures = {path.name.removeprefix("noms-benchmark_1-"): path.read_bytes()[:4] for path in report.glob("*.png")}
    assert pictures == dict.fromkeys(("nonesuch.png", "down_up.png", "profiles.png"), b"\x89PNG")
    page, text = (report / "report.html").read_text(), (report / "report.md").read_text()
    assert page.count("<img alt=") == page.count("src='data:image/png;base64,") == 3
    assert not re.search(r"(src|href)='(?!data:)", page), "the page needs no other file"
    assert "&lt;thumb&gt;" in page
    rows = [line for line in text.splitlines() if line.startswith(("| &#60;thumb&#62;", "| highest"))]
    assert rows[:2] == [
        "| &#60;thumb&#62;<br><small>fixed · 1 seed</small> | some games |",
        "| highest<br><small>self-play · 400 · 2 seeds</small> | some games |",
    ], "the best first, and some games are not all games"
    assert "| highest | 400 decisions<br>" in text
    assert "| entry | nonesuch | down_up | least field |" in text
    assert text.count("<summary>") == text.count("</details>") == page.count("<details>") == 5
    assert_refused(run("benchmark", "report", folder, folder, "--out", report), "two entries have the name 'highest'")
    assert any("trial" in sentence for sentence in complaints(folder))
