"""Runs of algorithms in the benchmark: budgets, curves, resuming, workers, and the report."""

import csv
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from noms_env._files import lock
from noms_env.players import load_player
from noms_training.agents.registry import agent_spec
from noms_training.benchmark import running, task
from noms_training.benchmark.checking import _of_run, complaints
from noms_training.benchmark.entry import Entry, EntryError, read_entry, write_entry
from noms_training.benchmark.protocol import CURVE_AT, V1, Budget, budget_of
from noms_training.benchmark.running import algorithm_file, baselines, begin, runs_left, train_all
from noms_training.benchmark.task import Task, load_algorithm, train_run
from tests.commands import Run, assert_refused

ALGORITHM = '''
"""Highest cards: learns a number.

More text.
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


WORDS = ("--games", "down_up", "nonesuch", "--tracks", "single_game", "--budget", 400)


def train_entry(run: Run, algorithm: Path, folder: Path, *words: object) -> Path:
    status, out, err = run("benchmark", "run", algorithm, *WORDS, "--out", folder, *words)
    assert status == 0, err
    assert f"noms benchmark score {folder}" in out
    return folder


def test_a_run_leaves_a_policy_a_curve_and_its_costs(run: Run, algorithm: Path, tmp_path: Path) -> None:
    folder = train_entry(run, algorithm, tmp_path / "entry", "--seeds", 2)
    entry = read_entry(folder)
    assert (entry.name, entry.division, entry.budget, entry.seeds) == ("highest", "self-play", "400", (1, 2))
    assert entry.description == "Highest cards: learns a number."
    for game in ("down_up", "nonesuch"):
        for seed in (1, 2):
            run_folder = folder / "trained" / game / str(seed)
            document = json.loads((run_folder / "run.json").read_text())
            assert (document["decisions"], document["files"]) == (400, ["weights.json"])
            assert json.loads((run_folder / "weights.json").read_text()) == 400 + seed
            with (run_folder / "curve.csv").open() as file:
                rows = [(int(row["decisions"]), float(row["points"])) for row in csv.DictReader(file)]
            assert [decisions for decisions, _ in rows] == [0, *range(40, 401, 40)]
            assert len({points for _, points in rows}) == 1
    player = agent_spec(f"{folder / 'trained' / 'down_up' / '1' / 'player.py'}:player").make()
    assert getattr(player, "wants_tables", None) is False
    assert [sentence for run in (folder / "trained").glob("*/*") for sentence in _of_run(entry, run)] == []


def test_finished_runs_are_skipped_and_seeds_can_be_added(run: Run, algorithm: Path, tmp_path: Path) -> None:
    folder = train_entry(run, algorithm, tmp_path / "entry", "--seeds", 1)
    finished, stopped = (folder / "trained" / game for game in ("down_up", "nonesuch"))
    before = (finished / "1/run.json").read_bytes()
    (stopped / "1/run.json").unlink()
    (stopped / "1/rest").touch()
    assert runs_left(read_entry(folder), folder) == [("nonesuch", 1)]
    train_entry(run, algorithm, folder, "--seeds", 2)
    assert (finished / "1/run.json").read_bytes() == before
    assert not (stopped / "1/rest").exists()
    assert (stopped / "2/run.json").exists()
    with (folder / "lock").open("a") as file:
        assert lock(file)
        assert_refused(run("benchmark", "run", algorithm, *WORDS, "--out", folder), "another process trains in")
    words = ("benchmark", "run", algorithm, "--out", folder, "--games", "down_up", "--budget")
    assert_refused(run(*words, 500), "another budget: 400, not 500")
    algorithm.write_text(ALGORITHM.replace("40", "50"))
    assert_refused(run(*words, 400), "with another algorithm")
    (folder / "entry.json").unlink()
    with pytest.raises(EntryError, match="is another algorithm than"):
        begin(folder, algorithm, ("down_up",), (1,), "400")


def test_workers_train_the_runs_of_one_process(algorithm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "LOOK", 0.05)
    ticks = list[int]()
    entry = begin(tmp_path / "entry", algorithm, ("down_up",), (1, 2), "400", ("single_game",))
    train_all(entry, tmp_path / "entry", workers=2, tick=ticks.append)
    assert sum(ticks) == 800
    for seed in (1, 2):
        run_folder = tmp_path / "entry" / "trained" / "down_up" / str(seed)
        assert json.loads((run_folder / "weights.json").read_text()) == 400 + seed
        assert not (run_folder / task.PROGRESS).exists()


def test_child_processes_use_up_the_budget(tmp_path: Path) -> None:
    busy = "import time\nwhile time.process_time() < 0.5: pass"
    run = Task("down_up", 1, Budget(None, 1.0), tmp_path)
    subprocess.run([sys.executable, "-c", busy], check=True)
    assert run.seconds[1] > 0.4
    assert run.count(0) > 0.4 / 3600


def test_a_run_that_fails_does_not_stop_the_runs_at_work(
    algorithm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = """def train(task):
    import time
    message, other = task.folder.parents[2] / "message", task.folder.parent / "2"
    while not (message if task.seed == 2 else other).exists():
        time.sleep(0.02)
    if task.seed == 1:
        raise OSError("no more")
"""
    algorithm.write_text(algorithm.read_text().replace("def train(task):\n", failing))
    entry = begin(tmp_path / "mine", algorithm, ("down_up",), (1, 2, 3), "400", ("single_game",))
    message = tmp_path / "mine" / "message"
    monkeypatch.setattr(running, "print", lambda text, **_: message.write_text(text), raising=False)
    with pytest.raises(OSError, match="no more"):
        train_all(entry, tmp_path / "mine", workers=2)
    assert runs_left(entry, tmp_path / "mine") == [("down_up", 1), ("down_up", 3)]
    assert message.read_text() == "the run of down_up with seed 1 failed; 1 other run at work will be done"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("def train(task): pass\n", "lacks the function player"),
        ("import nothing_of_this_name\n", "cannot be loaded: ModuleNotFoundError"),
        (ALGORITHM + 'DIVISION = "anything"\n', "DIVISION in .* must be one of self-play"),
    ],
)
def test_a_file_without_an_algorithm_is_refused(text: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(text)
    with pytest.raises(EntryError, match=sentence):
        load_algorithm(tmp_path / "bad.py")


@pytest.mark.parametrize("text", ["pass", "task.log(1, lambda: None)"])
def test_an_algorithm_that_leaves_nothing_is_refused(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Task, "log", lambda self, decisions, player: self.note(decisions, (0.0, 0.0, 0.0)))
    (tmp_path / "bad.py").write_text(f"def train(task):\n    {text}\n\n\ndef player(folder): ...\n")
    with pytest.raises(EntryError, match=r"bad.py left no policy in .*noms"):
        train_run(tmp_path / "bad.py", "noms", 1, Budget(10), tmp_path / "noms", lambda _: None)


def test_a_budget_in_hours_ends_a_run_and_excludes_evaluations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]

    def evaluate_slowly(*_: object, **__: object) -> object:
        clock[0] += 1000
        return SimpleNamespace(mean=1.0, low=0.5, high=1.5)

    monkeypatch.setattr(task, "alone_in_field", evaluate_slowly)
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(os, "times", lambda: os.times_result((clock[0] / 2, 0.0, clock[0] / 2, 0.0, 0.0)))
    run = Task("noms", 1, budget_of("10M,0.1h"), tmp_path)
    shares = list[float]()
    for _ in range(11):
        shares.append(run.log(len(shares), lambda: load_player("random")))
        clock[0] += 37
    assert shares == pytest.approx([37 * number / 360 for number in range(11)])
    assert len(run.rows) == len(CURVE_AT) - 3, "no point between two iterations"


def test_an_algorithm_is_a_baseline_or_a_file() -> None:
    values = {"dqn", "nfsp", "deep_monte_carlo"}
    policies = {"ppo", "mmd", "r_nad", "maskable_ppo", "recurrent_ppo", "ppo_self_play"}
    assert set(baselines()) == values | policies | {"clone_pimc", "expert_iteration"}
    assert algorithm_file("ppo").name == "ppo.py"
    with pytest.raises(EntryError, match="the baselines are clone_pimc, "):
        algorithm_file("__init__")


# ------------------------------------------------------------------------------------------------------- the report


def test_a_report_has_tables_curves_and_details(run: Run, algorithm: Path, tmp_path: Path) -> None:
    folder = train_entry(run, algorithm, tmp_path / "entry", "--seeds", 2)
    write_entry(folder, replace(read_entry(folder), protocol=V1, tracks=("core",)))
    other = tmp_path / "thumb"
    write_entry(other, Entry("<thumb>", "fixed", "thumb", ("down_up",), protocol=V1))
    for each in (folder, other):
        status, out, err = run("benchmark", "score", each, "--deals", 2, "--threads", 1, "--allow-programs")
        assert status == 0, err
        (each / "trial" / "scores.json").rename(each / "scores.json")
    status, out, err = run("benchmark", "report", folder, other, "--out", tmp_path / "report")
    assert status == 0, err
    assert "report.html" in out
    report = tmp_path / "report"
    pictures = {path.name.removeprefix("noms-benchmark_1-"): path.read_bytes()[:4] for path in report.glob("*.png")}
    assert pictures == dict.fromkeys(("nonesuch.png", "down_up.png", "profiles.png"), b"\x89PNG")
    page, text = (report / "report.html").read_text(), (report / "report.md").read_text()
    assert page.count("<img alt=") == page.count("src='data:image/png;base64,") == 3
    assert not re.search(r"(src|href)='(?!data:)", page), "the page loads no file"
    assert "&lt;thumb&gt;" in page
    rows = [line for line in text.splitlines() if line.startswith(("| &#60;thumb&#62;", "| highest"))]
    assert rows[:2] == [
        "| &#60;thumb&#62;<br><small>fixed · 1 seed</small> | some games |",
        "| highest<br><small>self-play · 400 · 2 seeds</small> | some games |",
    ], "the best is first, and some games are not all games"
    assert_refused(run("benchmark", "report", folder, folder, "--out", report), "two entries have the name 'highest'")
    assert any("trial" in sentence for sentence in complaints(folder))
