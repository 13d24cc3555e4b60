"""`python -m benchmarks.cuda` if a part ends its process or hangs, and how it reads the output of other programs."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.cuda import __main__ as program
from benchmarks.cuda import peers, plot, report, speed
from benchmarks.cuda.__main__ import PARTS, Results, Settings, steps_of
from noms_env.observation.layout import HIDDEN_SIZE, OBSERVATION_SIZE, PADDED_MASK_SIZE
from noms_env.players.registry import NEWEST, PLAYERS
from noms_env.players.rule_based.heuristics import new_workspaces
from noms_env.variants.table_record import TABLE

ROOT = Path(__file__).parents[2]


GPU_PLAYERS = [word for word, player in PLAYERS.items() if player.gpu]
CHILD = """
import json, os, sys, time
file, *steps = sys.argv[1:]
results = json.load(open(file))
for step in steps:
    results["under way"] = {"part": step, "since": time.time()}
    json.dump(results, open(file + ".new", "w")); os.replace(file + ".new", file)
    if step == "ends":
        os._exit(7)
    if step == "hangs":
        time.sleep(60)
    del results["under way"]
    results[step] = {"failed": "no context"} if step == "breaks" else {"done": True}
    json.dump(results, open(file + ".new", "w")); os.replace(file + ".new", file)
    if step == "breaks":
        os._exit(3)
"""
"""Stands in for the process of the steps."""


def test_a_step_that_ends_its_process_or_hangs_harms_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    processes, start = [], subprocess.Popen

    def popen(command: list[str]) -> Any:
        steps = command[command.index("--here") + 1 :]
        file = command[command.index("--json") + 1]
        processes.append(steps)
        return start([sys.executable, "-c", CHILD if steps[0] != "dead" else "raise SystemExit(9)", file, *steps])

    monkeypatch.setattr(subprocess, "Popen", popen)
    monkeypatch.setattr(program, "STUCK", 1.0)
    monkeypatch.setattr(speed, "device_names", lambda: {"gpu": "none"})
    results = Results(tmp_path / "cuda.json", Settings())
    assert program.run_all(results, ["first", "ends", "breaks", "hangs", "dead", "last"], in_processes=True) == 1
    assert [len(steps) for steps in processes] == [6, 4, 3, 2, 1]
    assert results.figures["first"] == results.figures["last"] == {"done": True}
    assert results.failed() == [
        "ends: the process ended with status 7",
        "breaks: no context",
        "hangs: was not done after 1 s, and was ended",
        "dead: the process ended with status 9",
    ]
    assert json.loads(results.file.read_text()) == results.figures


def test_no_step_begins_when_the_time_is_up(tmp_path: Path) -> None:
    results = Results(tmp_path / "cuda.json", Settings(seconds=0.0))
    assert results.part("speed", lambda: {"ran": True})
    assert results.figures == {"speed": {"not run": "no time was left"}}


def test_every_player_with_a_form_for_a_gpu_and_a_policy_are_steps() -> None:
    steps = steps_of(["players"])
    names = [step.split("/")[1] for step in steps if not step.endswith("/games")]
    assert [name.partition(":")[0] for name in names] == [*GPU_PLAYERS, "{game}"]
    assert len(steps) == 2 * len(names)


def test_the_page_names_the_players_the_parts_and_the_bytes_of_a_table() -> None:
    page = (ROOT / "docs" / "gpu.md").read_text(encoding="utf-8")
    rows = re.findall(r"(?m)^\| (.*?) \|", page.partition("## Players\n")[2].partition("\n## ")[0])
    names = re.findall(r"`(\w+)", " ".join(rows))
    assert set(GPU_PLAYERS) <= set(names) <= {*PLAYERS, "noms", "runs"}
    sizes = {"the table": TABLE.itemsize, "observation": OBSERVATION_SIZE, "mask": PADDED_MASK_SIZE}
    for name, size in {**sizes, "hidden state, if kept": HIDDEN_SIZE}.items():
        assert f"\n| {name} | {size:,} |\n" in page
    assert f"{new_workspaces(NEWEST).itemsize:,} bytes for each of up to" in page
    assert ", ".join(f"`{part}`" for part in PARTS) in page
    speed_page = (ROOT / "docs" / "speed.md").read_text(encoding="utf-8")
    assert f"| a table, without observation and mask | {TABLE.itemsize:,} bytes |" in speed_page


def test_figures_are_compared_with_their_targets() -> None:
    comparison = {"tables": 8, "rate": 6e7, "core": 1e6, "compared": 200, "mismatches": 1}
    assert report.player_row("thumb", "noms", comparison).endswith("60.0         200       0.50% 50,000,000: yes")
    assert report.player_row("pimc:100", "noms", {**comparison, "rate": 9e3}).endswith(" 10,000: NO")
    assert report.reached("seconds", 61.0, 60.0, most=True) == "seconds: 61.0, target at most 60: NOT reached"


def test_counters_of_ncu_are_read() -> None:
    from benchmarks.cuda.profile import counted

    stalls = [f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio" for reason in ("wait", "long_scoreboard")]
    known = ("dram__throughput.avg.pct_of_peak_sustained_elapsed", "gpu__time_duration.sum")
    heads = ("ID", "Kernel Name", *known, *stalls, "lts__t_sector_hit_rate.pct")
    lines = [
        ",".join(f'"{head}"' for head in heads),
        '"","","%","us","inst","inst",""',
        '"0","play_randomly","41.5","1,234.5","1.5","9.25",""',
    ]
    (line,) = counted(lines)
    assert line == "play_randomly: time 1,234.5 us; memory, % of peak 41.5; waits for long_scoreboard 9.2, wait 1.5"


def test_traces_have_the_words_that_change(monkeypatch: pytest.MonkeyPatch) -> None:
    script = (
        "import numpy as np\nfrom benchmarks.cuda.traces import *\ntraces = traces_of('noms', 2)\n"
        "print(traces)\nassert (packed(traces)[1] == [len(trace) for trace in traces]).all()"
    )
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    trace = json.loads(process.stdout)[0]
    assert len(set(trace)) == len(trace) < 2 * TABLE.itemsize // 8
    fields: Any = TABLE.fields
    words = {name: fields[name][1] // 8 for name in ("seat", "legal_words", "hands", "cards")}
    assert 2 * words["seat"] + 1 in trace
    assert 2 * words["legal_words"] + 1 in trace
    assert {2 * (words["hands"] + seat) for seat in range(7)} & set(trace)
    assert 2 * words["cards"] + 1 not in trace, "the deck is the same"


def test_peers_are_measured_at_their_best_number_of_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = {1: 10.0, 2: 30.0, 4: 20.0, 8: 40.0}
    monkeypatch.setattr(peers, "pgx_programs", lambda _env, tables: (tables, None))
    monkeypatch.setattr(peers, "rate_of", lambda tables, _seconds: rates[tables])
    assert peers.best_rate(None, (1, 2, 4, 8), 0.1, float("inf")) == {"tables": 2, "rate": 30.0}
    with pytest.raises(TimeoutError):
        peers.best_rate(None, (1,), 0.1, 0.0)
    monkeypatch.undo()
    assert peers.rate_of(lambda: 5, 0.0) > 0


FIGURES: dict[str, Any] = {
    "gpu": "a made-up GPU",
    "speed": {
        "game": "small_ships",
        "bytes a decision": 3400,
        "bandwidth": 4e12,
        "core": {"small_ships": 1e7},
        "by tables": {
            "4096": {"launch": 5e7, "calls": 2e7, "graph": None},
            "65536": {"launch": 3e8, "calls": 1.5e8, "graph": None},
        },
    },
}


def test_the_plot_shows_both_machines_and_the_share_of_the_bandwidth(tmp_path: Path) -> None:
    file = tmp_path / "cuda.json"
    file.write_text(json.dumps(FIGURES))
    assert plot.main([str(file), str(tmp_path / "gpu.svg")]) == 0
    text = (tmp_path / "gpu.svg").read_text()
    for words in ("a made-up GPU", "one core of the same", "GPU, calls of BatchEnv", "of the memory's bandwidth", "65,536"):
        assert words in text
    assert "CUDA graph" not in text, "there are no figures of it"
    assert plot.main([str(file), str(tmp_path / "gpu.png")]) == 0


@pytest.mark.parametrize("damage", ["not run", "text", "no tables", "negative", "list", "missing", "no folder", "format"])
def test_damaged_figures_are_refused_in_one_sentence(damage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, picture = tmp_path / "cuda.json", tmp_path / "gpu.svg"
    speed = FIGURES["speed"]
    texts: dict[str, Any] = {
        "not run": json.dumps({"run": False}),
        "text": "{",
        "no tables": json.dumps({"speed": {**speed, "by tables": {}}}),
        "negative": json.dumps({"speed": {**speed, "bandwidth": -1}}),
        "list": "[]",
    }
    if damage != "missing":
        file.write_text(texts.get(damage, json.dumps(FIGURES)))
    target = {"no folder": tmp_path / "nowhere" / "gpu.svg", "format": tmp_path / "gpu.noms"}.get(damage, picture)
    assert plot.main([str(file), str(target)]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert not picture.exists()
