"""`noms table` with real connections: silent ones, those that read nothing, and more of them than descriptors."""

import asyncio
import logging
import os
import random
import socket
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from noms_training.play.browser.connections import Sparing
from noms_training.play.browser.hall import Hall
from noms_training.play.browser.lobby import Lobby
from noms_training.play.browser.messages import Limits
from tests.served import served
from tests.training.table_browsers import FAST, browser_at, fetch, finish_deal, open_table_at, table_process

REQUEST = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"
HALF = f"{REQUEST}X-Long: "
UPLOAD = "POST /api/tables HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n{"
FONTS = "GET /fonts/inter-400.ttf HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 40
UPGRADE = (
    "GET /socket HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


def connect_silently(address: str, text: str = "", buffer: int = 0) -> socket.socket:
    """Connect and send a text, without reading the answer."""
    connection = socket.socket()
    if buffer:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    host, _, port = address.removeprefix("http://").rstrip("/").partition(":")
    connection.settimeout(30)
    connection.connect((host, int(port)))
    connection.sendall(text.encode())
    return connection


def is_ended(connection: socket.socket) -> bool:
    """Return whether the server ends a connection."""
    try:
        while connection.recv(1 << 16):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


def test_connections_that_send_or_read_too_little_are_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HEADER_SECONDS", "BODY_SECONDS", "STALL_SECONDS"):
        monkeypatch.setattr(f"noms_training.play.browser.connections.{name}", 0.5)
    texts = {
        "nothing": "",
        "half a head": HALF,
        "half a second head": f"{REQUEST}\r\n{HALF}",
        "half a body": UPLOAD,
        "does not read": FONTS,
        "a head in drips": HALF,
    }
    with served(Hall(tmp_path, Lobby(), FAST)) as address, ExitStack() as stack:
        connections = {
            name: stack.enter_context(connect_silently(address, text, 2048 if text == FONTS else 0))
            for name, text in texts.items()
        }
        start, dripping = time.monotonic(), connections["a head in drips"]
        dripping.settimeout(0.1)
        while not is_ended(dripping):
            assert time.monotonic() - start < 10, "it is still there"
            with suppress(OSError):
                dripping.sendall(b"x")
        time.sleep(max(0.0, 4 - (time.monotonic() - start)))
        for name, connection in connections.items():
            connection.settimeout(1)
            assert is_ended(connection), name
        assert fetch(address)


def processor_seconds(process: int) -> float:
    """Return the processor time of a process."""
    times = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")


def busy_share(address: str, process: int) -> float:
    """Return the processor time of a server over wall time, while it answers five requests within half a second."""
    start, used = time.monotonic(), processor_seconds(process)
    for _ in range(5):
        assert b"<title>Noms" in fetch(address, seconds=5)
        time.sleep(0.1)
    return (processor_seconds(process) - used) / (time.monotonic() - start)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and ulimit")
def test_more_connections_than_descriptors_keep_nobody_out(tmp_path: Path) -> None:
    with table_process(tmp_path, 120) as (address, process), ExitStack() as connections:
        name, keys = open_table_at(address, people=2)
        browser = connections.enter_context(browser_at(address, name, keys[0]))
        for text in ("", HALF, UPLOAD, UPGRADE):
            for _ in range(150):
                connections.enter_context(connect_silently(address, text))
            assert any(busy_share(address, process.pid) < 0.5 for _ in range(4))
        browser.send(do="speed", seconds=4)
        browser.wait(speed=4)
    assert (tmp_path / "errors").read_text() == ""


def test_a_browser_that_reads_no_films_delays_nobody_and_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noms_training.play.browser.room.SEND_SECONDS", 1)
    hall = Hall(tmp_path, Lobby(), Limits(rate=1e9, pace=0, film_seconds=0, queued_bytes=200_000))
    with served(hall) as address:
        name, keys = open_table_at(address, people=2, variant="sniped_whist")
        finish_deal(hall.rooms[name].table)
        silent = connect_silently(address, buffer=2048)
        with (
            silent,
            browser_at(address, name, keys[0], sock=silent, max_queue=1, close_timeout=0.1) as reads_nothing,
            browser_at(address, name, keys[1]) as browser,
        ):
            rng, longest = random.Random(1), 0.0
            for _ in range(200):
                reads_nothing.send(do="film", deal=1, analyse=False)
                time.sleep(0.05)
                start = time.monotonic()
                browser.send(do="speed", seconds=rng.uniform(0, 5))
                browser.until("table")
                longest = max(longest, time.monotonic() - start)
                if not browser.state["people"][0]["here"]:
                    break
            else:
                pytest.fail("it is still there")
            assert longest < 1.5, "seconds"


def test_films_and_records_at_a_table_have_a_rate(tmp_path: Path) -> None:
    hall = Hall(tmp_path, Lobby(), Limits(rate=1e9, pace=0, film_seconds=1000))
    with served(hall) as address:
        name, keys = open_table_at(address, variant="sniped_whist")
        finish_deal(hall.rooms[name].table)
        with browser_at(address, name, keys[0]) as browser:
            jobs: tuple[dict[str, Any], ...] = ({"do": "film", "deal": 1, "analyse": False}, {"do": "records"})
            for kind, job in zip(("film", "records"), jobs, strict=True):
                browser.send(**job)
                browser.until(kind)
                assert browser.refusal(**job).endswith(f"for the next {kind}")


def test_too_many_films_do_not_queue_up() -> None:
    async def all_at_once() -> list[Any]:
        lobby = Lobby()
        return await asyncio.gather(*(lobby.work(lambda: time.sleep(0.01)) for _ in range(30)), return_exceptions=True)

    answers = asyncio.run(all_at_once())
    assert answers[:16] == [None] * 16
    assert [str(answer) for answer in answers[16:]] == ["the server is busy; try again in a minute"] * 14


def test_a_minute_has_at_most_20_lines_of_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = Sparing()
    monkeypatch.setattr(time, "monotonic", lambda: 6000.0)
    error = OSError(24, "Too many open files")
    records = [logging.LogRecord("asyncio", 40, "", 1, "accept %s", ("x",), (OSError, error, None)) for _ in range(50)]
    assert [lines.filter(record) for record in records] == [True] * 20 + [False] * 30
    assert {(record.getMessage(), record.exc_info) for record in records} == {("Too many open files", None)}
    monkeypatch.setattr(time, "monotonic", lambda: 6060.0)
    assert lines.filter(records[0])
