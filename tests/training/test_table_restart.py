"""`noms table`: tables after a restart, damaged files, and the command itself."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.typing import Origin

from noms_env.variants import VARIANTS
from noms_training.commands.common import CommandError
from noms_training.commands.table import kept_token
from noms_training.play.browser.live import table_from
from tests.commands import Run, assert_refused, disk_full
from tests.training.table_browsers import Browser, connected, opened, request, server, some_table

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_table_is_the_same_after_a_restart(variant: str) -> None:
    for actions in (0, 5, 70, 200):
        table = some_table(min(actions, 30) if variant == "sniped_whist" else actions, variant)
        again = table_from(table.to_json())
        assert again.to_json() == table.to_json()
        assert again.session.table.get_state() == table.session.table.get_state()
        assert (again.sheet, again.moment, again.names) == (table.sheet, table.moment, table.names)
        assert again.view(0) == table.view(0)


@pytest.mark.parametrize(
    "change",
    [
        {"format": "noms-table/2"},
        {"variant": "chess"},
        {"seats": 99},
        {"players": []},
        {"players": [None] * 4},
        {"people": {"0": ["Ann"]}},
        {"deals": [[149]]},
        {"deals": 5},
        {"seed": -1},
        {"hints": None},
    ],
)
def test_a_damaged_file_is_no_table(change: dict[str, Any]) -> None:
    state = json.loads(some_table(3).to_json())
    if change == {"players": [None] * 4}:
        change = {"players": ["nobody"] * 4}
    with pytest.raises(ValueError, match=r"."):
        table_from(json.dumps(state | change))
    for text in ("", "[]", "null", "{", json.dumps({})):
        with pytest.raises(ValueError, match=r"."):
            table_from(text)


@pytest.mark.parametrize(
    "player", ["cmd:touch ran", "evil.py:make", "evil:make", "greedy@0", "solved:/dev/zero", "../there/policy.safetensors", 7]
)
@pytest.mark.parametrize("place", ["players", "hints"])
def test_a_file_seats_nobody_whom_the_command_line_does_not_name(
    player: Any, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("evil.py").write_text("from pathlib import Path\nPath('ran').touch()\n")
    state = json.loads(some_table(3).to_json())
    state[place] = player if place == "hints" else [None, *[player] * 3]
    Path("stranger.json").write_text(json.dumps(state, separators=(",", ":")))
    with server(tmp_path) as client, connected(client) as socket:
        socket.send_text(json.dumps({"do": "hello", "table": "stranger", "key": state["people"]["0"][1], "token": None}))
        told = json.loads(socket.receive_text())
        assert told == {"is": "refused", "text": f"this server has no such player, {player!r}; start it with --player NAME"}
    assert not Path("ran").exists()


def test_a_file_seats_whom_the_command_line_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text("def act(observation, mask, rng):\n    return int(mask.argmax())\n")
    with server(tmp_path, players=("own.py:act",)) as client:
        told = opened(client, player="own.py:act")
    with server(tmp_path, players=("own.py:act",)) as client, connected(client) as socket:
        assert Browser(socket, told["table"], told["keys"]["0"]).state["levels"][1] == "own.py:act"


def test_a_table_that_cannot_be_saved_says_so_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with server(tmp_path) as client:
        told = opened(client, people=2)
        with connected(client) as one:
            browser = Browser(one, told["table"], told["keys"]["0"])
            monkeypatch.setattr("noms_training.play.browser.live.write_atomically", disk_full)
            browser.send(do="speed", seconds=0)
            assert browser.until("table")["speed"] == 0
            assert "could not be saved" in browser.until("refused")["text"], "last, so that it is seen"
        answer = client.post("/api/tables", json=request())
        assert (answer.status_code, answer.json()["error"]) == (500, "the server cannot save it: No space left on device")


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@contextmanager
def process(folder: Path, port: int) -> Iterator[subprocess.Popen[str]]:
    """The command in a process of its own, once it says where it is."""
    words = [sys.executable, "-m", "noms_training", "table", "--port", str(port), "--folder", str(folder)]
    started = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert started.stdout is not None
        assert started.stdout.readline() == f"open http://127.0.0.1:{port}/; Ctrl-C ends the server, the tables stay\n"
        yield started
    finally:
        started.kill()
        started.communicate()


def test_after_kill_9_the_tables_go_on_from_the_last_decision_or_request(tmp_path: Path) -> None:
    import httpx2 as httpx
    from websockets.sync.client import connect

    port, url = free_port(), ""
    told: dict[str, Any] = {}
    state: dict[str, Any] = {}

    def hello(socket: Any, table: dict[str, Any]) -> dict[str, Any]:
        socket.send(json.dumps({"do": "hello", "table": table["table"], "key": table["keys"]["0"], "token": None}))
        return until(socket, "table")

    def until(socket: Any, kind: str) -> dict[str, Any]:
        while (message := json.loads(socket.recv(30)))["is"] != kind:
            pass
        found: dict[str, Any] = message
        return found

    with process(tmp_path, port) as running:
        url = f"http://127.0.0.1:{port}"
        for _ in range(100):
            try:
                told = httpx.post(f"{url}/api/tables", json=request(people=3), timeout=60).json()
                lobby = httpx.post(f"{url}/api/tables", json=request(people=3), timeout=60).json() | {"keys": {"0": "k" * 22}}
                told["keys"] = {seat: f"the key of seat {seat}".replace(" ", "_").ljust(22, "_") for seat in "012"}
                for table, seat in [(told, "0"), (told, "1"), (told, "2"), (lobby, "0")]:
                    wish = {"table": table["table"], "invitation": table["invitations"][seat], "key": table["keys"][seat]}
                    assert httpx.post(f"{url}/api/seat", json=wish).json() == {"seat": int(seat)}
                break
            except httpx.ConnectError:
                time.sleep(0.1)
        with connect(f"ws://127.0.0.1:{port}/socket", origin=Origin(f"http://127.0.0.1:{port}")) as socket:
            state = hello(socket, told)
            live = table_from((tmp_path / f"{told['table']}.json").read_text())
            acting = int(live.session.table.row.seat)
        with connect(f"ws://127.0.0.1:{port}/socket") as socket:
            told["keys"]["0"] = told["keys"][str(acting)]
            state = hello(socket, told)
            word = live.session.table.legal_words()[0]
            socket.send(json.dumps({"do": "act", "word": word, "moment": state["moment"]}))
            state = until(socket, "table")
            socket.send(json.dumps({"do": "back"}))
            asked = until(socket, "table")["undo"]
            running.send_signal(signal.SIGKILL)
            running.wait()
    with process(tmp_path, port):
        for _ in range(100):
            try:
                httpx.get(url)
                break
            except httpx.ConnectError:
                time.sleep(0.1)
        with connect(f"ws://127.0.0.1:{port}/socket") as socket:
            again = hello(socket, told)
        with connect(f"ws://127.0.0.1:{port}/socket") as socket:
            assert hello(socket, lobby)["waits"]
    assert again["undo"] == asked == {"seat": acting, "later": 0, "missing": [seat for seat in range(3) if seat != acting]}
    assert again["moment"] == state["moment"] == "1.1"
    assert again["turn"] == again["view"]["turn"] == state["turn"]


def test_the_command_refuses_what_it_cannot_do(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert_refused(run("table", "--port", "0"), "--port must be from 1 to 65535, not 0")
    assert_refused(run("table", "--most-tables", "0"), "--most-tables must be 1 or more")
    assert_refused(run("table", "--idle-hours", "0"), "--idle-hours must be above 0")
    assert_refused(run("table", "--player", "nobody"), "nobody")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert_refused(run("table", "--port", str(port)), f"cannot listen at 127.0.0.1:{port}: Address already in use")
    assert_refused(run("table", "--host", "no such host"), "cannot listen at no such host:8000: ")
    shutil.rmtree(tmp_path / "tables")
    (tmp_path / "tables").write_text("a file")
    assert_refused(run("table"), "cannot use the folder tables")


def test_a_file_of_any_size_and_a_pipe_for_a_token_hold_up_nobody(tmp_path: Path) -> None:
    state = some_table(3).to_json()
    (tmp_path / "endless_table.json").write_text(state)
    os.truncate(tmp_path / "endless_table.json", 1 << 40)
    with server(tmp_path) as client, connected(client) as socket:
        socket.send_text(json.dumps({"do": "hello", "table": "endless_table", "key": None, "token": None}))
        assert json.loads(socket.receive_text()) == {"is": "refused", "text": "there is no such table"}
    os.mkfifo(tmp_path / "token")
    with pytest.raises(CommandError, match="cannot keep the token"):
        kept_token(tmp_path)
