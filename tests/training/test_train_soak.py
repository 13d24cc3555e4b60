"""A run that survives kills and full disks ends with the same bytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands import SMALL_NETWORKS

WORDS = (
    *("train", "noms", "down_up", "--preset", "smoke", "--seed", "5", "--decisions", "60000", "--evaluate-every", "1500"),
    *("--evaluation-deals", "4", "--panel", "random", "--opponents.past", "2", "--opponents.start", "0.1", "--save-every", "0"),
    *(*SMALL_NETWORKS, "--tables", "8", "--threads", "1"),
)
KILLS, FULL = 50, 20
SIZE = 64 << 20
"""Bytes of the disk."""

SETTINGS = {"OMP_NUM_THREADS": "1", "MKL_DISABLE_FAST_MM": "1"}
"""A process that has run threads of OpenMP or of MKL must not fork."""

SESSIONS = """
import json, os, random, shutil, signal, sys, time
from pathlib import Path
from noms_training import cli

folder, kills, full, mounted, words = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "1", sys.argv[5:]
run, errors, filler = folder / "run", folder.parent / "errors", folder / "filler"
fsync = os.fsync

def sync(handle):  # fakes a full disk where none can be mounted
    if filler.exists():
        raise OSError(28, "No space left on device")
    fsync(handle)

def session():
    process = os.fork()
    if process == 0:
        sys.stderr.flush()
        os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if not mounted:
            os.fsync = sync
        status = 99
        try:
            status = cli.main([*words, "--out", str(run), *(["--resume"] if (run / "config.json").exists() else [])])
        finally:
            sys.stderr.flush()
            os._exit(status)
    return process

def newest():
    return max((run / "state").glob("*.pt"), default=None)

def wait(process, states, seconds):
    last = newest()
    while states and os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        time.sleep(0.002)
        if newest() != last:
            last, states = newest(), states - 1
    time.sleep(seconds)

def fill(left):
    if not mounted:
        filler.touch()
        return
    with filler.open("wb") as file:
        try:
            while (free := shutil.disk_usage(folder).free) > left:
                file.write(bytes(min(1 << 20, free - left)))
                file.flush()
        except OSError:
            pass

cli.main([*words, "--decisions", "300", "--out", str(folder.parent / "first")])  # loads what the sessions need
rng = random.Random(3)
plan = ["kill"] * kills + ["full"] * full
rng.shuffle(plan)
for event in [*plan, "end"]:
    process = session()
    if event != "end":
        wait(process, rng.randrange(5), rng.uniform(0.05, 0.5))
    if event == "kill":
        os.kill(process, signal.SIGKILL)
    if event == "full":
        fill(rng.choice((0, rng.randrange(1 << 12), rng.randrange(1 << 14))))
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    filler.unlink(missing_ok=True)
    print(json.dumps([event, status, int(newest().stem) if newest() else 0, errors.read_text()]), flush=True)
"""
"""Forks a session for each interruption; prints a line of JSON each: event, exit status, decisions and errors."""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[tuple[Path, bool]]:
    """A folder, and whether it is a small disk of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    yield folder, mounted
    if mounted:
        subprocess.run(["umount", str(folder)], check=True)


def run_sessions(folder: Path, kills: int, full: int, mounted: bool) -> list[tuple[str, int, int, str]]:
    words = [sys.executable, "-c", SESSIONS, str(folder), str(kills), str(full), str(int(mounted)), *WORDS]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=os.environ | SETTINGS)
    assert done.returncode == 0, done.stderr
    return [(*json.loads(line),) for line in done.stdout.splitlines() if line.startswith("[")]


def read_content(run: Path) -> dict[str, bytes]:
    """Read what does not depend on time of the files of a run and of the lines of its log."""
    lines = (run / "log.csv").read_text().splitlines()
    log = [line for line in lines if "second" not in line and "charts/SPS" not in line]
    files = [*run.glob("state/*"), *run.glob("past/*"), run / "policy.safetensors", run / "config.json"]
    return {str(file.relative_to(run)): file.read_bytes() for file in files} | {"log.csv": "\n".join(log).encode()}


@pytest.mark.soak
@pytest.mark.skipif(sys.platform == "win32", reason="Windows kills otherwise")
def test_a_run_that_survives_kills_and_full_disks_ends_with_the_same_bytes(disk: tuple[Path, bool], tmp_path: Path) -> None:
    folder, mounted = disk
    whole = tmp_path / "whole" / "disk"
    whole.mkdir(parents=True)
    assert [status for _, status, _, _ in run_sessions(whole, 0, 0, True)] == [0]
    sessions = run_sessions(folder, KILLS, FULL, mounted)
    before = 0
    for event, status, decisions, errors in sessions:
        assert decisions >= before, "no state is lost"
        before = decisions
        assert "Traceback" not in errors
        assert "damaged" not in errors
        if status not in (0, -9):
            assert (event, status) == ("full", 2), errors
            assert "cannot write" in errors or "cannot be written" in errors
    assert sessions[-1][1] == 0
    cuts = {kind: sum(status != 0 for event, status, _, _ in sessions if event == kind) for kind in ("kill", "full")}
    print(f"mounted: {mounted}, sessions that were cut: {cuts}")
    assert cuts["kill"] >= KILLS * 0.8
    assert cuts["full"] >= FULL * 0.8
    assert read_content(folder / "run") == read_content(whole / "run")
