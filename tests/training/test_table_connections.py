"""`noms table` with real connections: those that say nothing, those that take nothing, and more of them than descriptors."""

import asyncio
import json
import logging
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from websockets.sync.client import ClientConnection, connect

from noms_training.play.browser.connections import Sparing
from noms_training.play.browser.hall import Hall
from noms_training.play.browser.lobby import Lobby
from noms_training.play.browser.messages import Limits
from tests.served import served
from tests.training.table_browsers import FAST, request
from tests.training.test_table_restart import ROOT, free_port


def asked(address: str, path: str = "", body: Any = None, seconds: float = 30) -> Any:
    """What a request is answered."""
    sent = None if body is None else json.dumps(body).encode()
    with urlopen(Request(f"{address}{path}", sent), timeout=seconds) as answer:
        return answer.read() if body is None else json.load(answer)


def opened(address: str, **wanted: Any) -> dict[str, Any]:
    """A table with the keys of its people."""
    told: dict[str, Any] = asked(address, "api/tables", request(**wanted))
    told["keys"] = {seat: f"key-of-seat-{seat}".ljust(22, "x") for seat in told["invitations"]}
    for seat, key in told["keys"].items():
        asked(address, "api/seat", {"table": told["table"], "invitation": told["invitations"][seat], "key": key})
    return told


def plain(address: str, text: str = "", buffer: int = 0) -> socket.socket:
    """A connection on which a text was sent, and nothing is read."""
    made = socket.socket()
    if buffer:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    host, _, port = address.removeprefix("http://").rstrip("/").partition(":")
    made.settimeout(30)
    made.connect((host, int(port)))
    made.sendall(text.encode())
    return made


def is_ended(line: socket.socket) -> bool:
    """Whether the server ends a connection."""
    try:
        while line.recv(1 << 16):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


HALF = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: "
UPLOAD = "POST /api/tables HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n{"
FONT = "GET /fonts/inter-400.ttf HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 40


@pytest.mark.parametrize(
    ("text", "buffer"),
    [("", 0), (HALF, 0), ("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" + HALF, 0), (UPLOAD, 0), (FONT, 2048)],
    ids=["nothing", "half a head", "half a second head", "half a body", "does not read"],
)
def test_who_says_or_takes_nothing_is_put_out(text: str, buffer: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HEADER_SECONDS", "BODY_SECONDS", "STALL_SECONDS"):
        monkeypatch.setattr(f"noms_training.play.browser.connections.{name}", 0.5)
    with served(Hall(tmp_path, Lobby(), FAST)) as address, plain(address, text, buffer) as line:
        if buffer:
            time.sleep(4)
            line.settimeout(1)
        began = time.monotonic()
        assert is_ended(line)
        assert time.monotonic() - began < 15
        assert asked(address)


def test_who_drips_a_head_is_put_out_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noms_training.play.browser.connections.HEADER_SECONDS", 0.5)
    with served(Hall(tmp_path, Lobby(), FAST)) as address, plain(address, HALF) as line:
        line.settimeout(0.1)
        for _ in range(50):
            if is_ended(line):
                return
            with suppress(OSError):
                line.sendall(b"x")
    pytest.fail("it is still there")


@contextmanager
def poor_process(folder: Path, descriptors: int) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The command in a process with few descriptors; its standard error is in `folder / "errors"`."""
    port = free_port()
    words = [sys.executable, "-m", "noms_training", "table", "--port", str(port), "--folder", str(folder / "tables")]
    with (folder / "errors").open("w") as errors:
        started = subprocess.Popen(
            ["sh", "-c", f'ulimit -n {descriptors}; exec "$@"', "sh", *words],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        try:
            assert started.stdout is not None
            assert "Ctrl-C" in started.stdout.readline()
            address = f"http://127.0.0.1:{port}/"
            for _ in range(100):
                try:
                    asked(address)
                    break
                except OSError:
                    time.sleep(0.1)
            yield address, started
        finally:
            started.kill()
            started.communicate()


def processor_seconds(process: int) -> float:
    """Time that a process has had of the processor."""
    times = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")


def hello(line: ClientConnection, told: dict[str, Any], seat: int | None) -> None:
    key = None if seat is None else told["keys"][str(seat)]
    line.send(json.dumps({"do": "hello", "table": told["table"], "key": key, "token": None}))
    until(line, "table")


def until(line: ClientConnection, kind: str) -> dict[str, Any]:
    while (message := json.loads(line.recv(30)))["is"] != kind:
        pass
    told: dict[str, Any] = message
    return told


UPGRADE = (
    "GET /socket HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and ulimit")
def test_more_connections_than_descriptors_keep_nobody_out(tmp_path: Path) -> None:
    with poor_process(tmp_path, 120) as (address, process), ExitStack() as lines:
        told = opened(address, people=2)
        sits = lines.enter_context(connect(f"ws{address.removeprefix('http')}socket"))
        hello(sits, told, 0)
        for text in ("", HALF, UPLOAD, UPGRADE):
            for _ in range(150):
                lines.enter_context(plain(address, text))
            began, busy = time.monotonic(), processor_seconds(process.pid)
            for _ in range(5):
                assert b"<title>Noms" in asked(address, seconds=5)
                time.sleep(0.1)
            assert processor_seconds(process.pid) - busy < 0.5 * (time.monotonic() - began)
        sits.send(json.dumps({"do": "speed", "seconds": 4}))
        while until(sits, "table").get("speed") != 4:  # who waits in vain is told by a TimeoutError
            pass
    assert (tmp_path / "errors").read_text() == ""


def test_who_does_not_read_films_keeps_nobody_waiting_and_is_put_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noms_training.play.browser.looker.SEND_SECONDS", 1)
    limits = Limits(rate=1e9, pace=0, film_seconds=0, queued_bytes=200_000)
    hall = Hall(tmp_path, Lobby(), limits)
    with served(hall) as address:
        told = opened(address, people=2, variant="sniped_whist")
        room = hall.rooms[told["table"]]
        rng = random.Random(1)
        while not room.table.session.table.is_scored:
            room.table.take(rng.choice(room.table.session.table.legal_actions()))
        where = f"ws{address.removeprefix('http')}socket"
        silent = plain(address, buffer=2048)
        with silent, connect(where, sock=silent, max_queue=1, close_timeout=0.1) as reads_nothing, connect(where) as reads:
            hello(reads, told, 1)
            hello(reads_nothing, told, 0)
            longest = 0.0
            for _ in range(200):
                reads_nothing.send(json.dumps({"do": "film", "deal": 1, "analyse": False}))
                time.sleep(0.05)
                began = time.monotonic()
                reads.send(json.dumps({"do": "speed", "seconds": rng.uniform(0, 5)}))
                state = until(reads, "table")
                longest = max(longest, time.monotonic() - began)
                if not state.get("people", [{"here": True}])[0]["here"]:
                    break
            else:
                pytest.fail("it is still there")
            assert longest < 1.5, "seconds"


def test_films_at_a_table_have_a_rate(tmp_path: Path) -> None:
    hall = Hall(tmp_path, Lobby(), Limits(rate=1e9, pace=0, film_seconds=1000))
    with served(hall) as address:
        told = opened(address, variant="sniped_whist")
        table = hall.rooms[told["table"]].table
        while not table.session.table.is_scored:
            table.take(table.session.table.legal_actions()[0])
        with connect(f"ws{address.removeprefix('http')}socket") as line:
            hello(line, told, 0)
            for job, kind in (({"do": "film", "deal": 1, "analyse": False}, "film"), ({"do": "records"}, "records")):
                line.send(json.dumps(job))
                until(line, kind)
                line.send(json.dumps(job))
                assert until(line, "refused")["text"].endswith(f"for the next {kind}")


def test_too_many_films_do_not_queue_up() -> None:
    async def all_at_once() -> list[Any]:
        lobby = Lobby()
        return await asyncio.gather(*(lobby.work(lambda: time.sleep(0.01)) for _ in range(30)), return_exceptions=True)

    told = asyncio.run(all_at_once())
    assert [str(answer) for answer in told[16:]] == ["the server is busy; try again in a minute"] * 14
    assert told[:16] == [None] * 16


def test_standard_error_stays_short(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = Sparing()
    monkeypatch.setattr(time, "monotonic", lambda: 6000.0)
    lacking = OSError(24, "Too many open files")
    records = [logging.LogRecord("asyncio", 40, "", 1, "accept %s", ("x",), (OSError, lacking, None)) for _ in range(50)]
    assert [lines.filter(record) for record in records] == [True] * 20 + [False] * 30
    assert {(record.getMessage(), record.exc_info) for record in records} == {("Too many open files", None)}
    monkeypatch.setattr(time, "monotonic", lambda: 6060.0)
    assert lines.filter(records[0])
