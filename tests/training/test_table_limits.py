"""`noms table`: refusals, and what ends a connection or a table."""

import asyncio
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest
from starlette.websockets import WebSocketDisconnect

from noms_training.commands.common import CommandError
from noms_training.commands.table import kept_token
from noms_training.play.browser.live import RefusedError, table_from
from noms_training.play.browser.messages import Allowance, Limits, parse_message
from noms_training.play.browser.room import Looker
from noms_training.play.browser.server import HEADERS
from tests.commands import disk_full
from tests.training.table_browsers import TableServer, is_closed, request, run_server

JOBS = ["act", "back", "hint", "next", "hello", "speed", "replace", "sit", "records", "name", "begin", "answer", "moment"]
JOBS += ["x", "__class__", ""]
FIELDS = ["word", "moment", "seat", "player", "seconds", "table", "key", "token", "do", "name", "agrees", "deal", "decision"]
FIELDS += ["__proto__"]
VALUES: list[Any] = [None, True, -1, 0, 3, 1e308, float("nan"), "", "QS", "../../etc/passwd", "\ud800", "x" * 300]
VALUES += [[], {}, [[[]]]]
WITHOUT_FIELDS = {"back", "hint", "next", "sit", "records", "speed", "name", "begin"}
"""Jobs that random fields may make a valid message."""


def strange_texts(count: int, rng: random.Random) -> Iterator[str]:
    """Yield texts that are not JSON, no message, or an invalid one."""
    for _ in range(count):
        match rng.randrange(5):
            case 0:
                ranges = (rng.choice(((32, 127), (0x20, 0xD7FF))) for _ in range(rng.randrange(80)))
                yield "".join(chr(rng.randrange(*bounds)) for bounds in ranges)
            case 1:
                yield "[" * rng.randrange(1, 4000)
            case 2:
                yield json.dumps(rng.choice(VALUES))
            case _:
                fields = {rng.choice(FIELDS): rng.choice(VALUES) for _ in range(rng.randrange(4))}
                yield json.dumps({**fields, "do": rng.choice([*JOBS, *VALUES])})


def is_message(text: str) -> bool:
    try:
        return parse_message(text)["do"] in WITHOUT_FIELDS
    except RefusedError:
        return False


@pytest.mark.parametrize("count", [600, pytest.param(10_000, marks=pytest.mark.soak)])
def test_malformed_messages_change_no_table_and_end_no_connection(count: int, server: TableServer) -> None:
    table = server.open(speed=5, people=2)
    browser = table.browser()
    state = json.loads(table.live.to_json()) | {"touched": 0}
    for text in strange_texts(count, random.Random(5)):
        if not is_message(text):
            browser.socket.send_text(text)
            assert browser.next()["is"] == "refused", text
    assert json.loads(table.live.to_json()) | {"touched": 0} == state
    table.browser()


def test_too_long_and_too_many_messages_close_the_socket(tmp_path: Path) -> None:
    with run_server(tmp_path, Limits(rate=3, message_bytes=1000)) as server:
        table = server.open()
        for texts in (["x" * 1001], ["x"] * 20):
            socket = table.browser().socket
            for text in texts:
                socket.send_text(text)
            assert is_closed(socket)


def test_an_allowance_fills_with_time() -> None:
    now = [0.0]
    allowance = Allowance(2, lambda: now[0])
    assert [allowance.take() for _ in range(5)] == [True] * 4 + [False]
    now[0] += 0.5
    assert [allowance.take() for _ in range(2)] == [True, False]


def test_a_socket_without_hello_is_closed(server: TableServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noms_training.play.browser.server.HELLO_SECONDS", 0.05)
    assert is_closed(server.socket())


def test_a_browser_that_cannot_be_sent_to_is_dropped() -> None:
    looker = Looker(AsyncMock(side_effect=ConnectionError), 100)
    looker.post({"is": "table"})
    asyncio.run(looker.write())
    assert looker.is_gone


def test_the_queue_of_a_browser_has_a_limit() -> None:
    send = AsyncMock()
    looker = Looker(send, 100)
    for _ in range(1000):
        looker.post({"is": "table"})
    assert looker.is_gone
    asyncio.run(looker.write())
    texts = [call.args[0] for call in send.call_args_list]
    assert 100 < sum(map(len, texts)) < 100 + 2 * len(texts[0])


def test_only_pages_of_this_server_may_use_it(server: TableServer) -> None:
    own = {"host": "TestServer:80"}, {"origin": "http://testserver"}
    for headers in own:
        assert server.client.get("/api/games", headers=headers).status_code == 200
    with server.client.websocket_connect("/socket", headers=own[1]):
        pass
    for headers in ({"host": "evil.example"}, {"origin": "http://evil.example"}):
        assert server.client.get("/", headers=headers).status_code == 403
        with pytest.raises(WebSocketDisconnect), server.client.websocket_connect("/socket", headers=headers):
            pass
    for path in ("/", "/board.js", "/nothing", "/api/games", "/drawing.css", "/fonts/inter-400.ttf"):
        assert server.client.get(path).headers.items() >= HEADERS.items()
    for path in ("/..%2fserver.py", "/server.py", "/table.html", "/fonts/..%2fpicture.py", "/fonts/LICENSE.txt"):
        assert server.client.get(path).status_code == 404
    assert "unsafe" not in HEADERS["content-security-policy"]


def test_every_request_needs_the_token(tmp_path: Path) -> None:
    with run_server(tmp_path, token="secret") as server:
        assert server.client.get("/api/games").status_code == 401
        assert server.client.get("/api/games", headers={"authorization": "Bearer wrong"}).status_code == 401
        for path in ("tables", "seat"):
            assert "token" in server.refusal(path, request(), 401)
        own = {"authorization": "Bearer secret"}
        table = server.seat_people(server.post("tables", request(), **own), **own)
        assert "token" in server.refused_hello(table.name, table.keys[0])
        server.browser(table.name, table.keys[0], "secret")


def test_a_folder_keeps_its_token(tmp_path: Path) -> None:
    token = kept_token(tmp_path)
    assert len(token) == 22
    assert kept_token(tmp_path) == token
    if os.name == "posix":
        assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600
    (tmp_path / "token").write_text("")
    with pytest.raises(CommandError, match="token holds no token; remove it"):
        kept_token(tmp_path)


@pytest.mark.parametrize("function", ["noms_training.commands.table.write_atomically", "noms_env._files.os.fsync"])
def test_a_full_disk_leaves_no_empty_token(function: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(function, disk_full)
    with pytest.raises(CommandError, match="No space left on device"):
        kept_token(tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.name != "posix", reason="elsewhere files have no such modes")
def test_only_this_user_can_read_tables(server: TableServer) -> None:
    def mode(path: Path) -> int:
        return path.stat().st_mode & 0o777

    table = server.open(speed=5)
    assert mode(table.path) == 0o600
    table.path.chmod(0o644)
    browser = table.browser()
    browser.send(do="speed", seconds=4)
    browser.wait(speed=4)
    assert mode(table.path) == 0o600, "also that of an older file"
    table.path.chmod(0o644)
    server.hall.tidy()
    assert mode(table.path) == 0o600


def test_a_file_that_an_ended_process_left_half_written_is_removed(tmp_path: Path) -> None:
    for name in (".abcdefgh1234.json.12-34.part", ".token.12-34.part", ".mine.part", ".other.json.x.part"):
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (0, 0))
    (tmp_path / ".abcdefgh1234.json.56-78.part").write_text("is being written")
    with run_server(tmp_path) as server:
        server.client.get("/")
        names = {path.name for path in tmp_path.iterdir()}
    assert names == {".mine.part", ".other.json.x.part", ".abcdefgh1234.json.56-78.part"}


def test_an_invitation_is_good_once_and_is_no_key(server: TableServer, tmp_path: Path) -> None:
    answer = server.post("tables", request(people=2))
    assert set(answer) == {"table", "invitations"}
    name, invitations = answer["table"], answer["invitations"]
    bodies = {seat: {"table": name, "invitation": invitation} for seat, invitation in invitations.items()}
    first, second = "a" * 22, "b" * 22
    for key in (invitations["1"], first):
        assert "no seat" in server.refused_hello(name, key)
    for _ in range(2):  # the answer may have been lost
        assert server.post("seat", bodies["1"] | {"key": first}) == {"seat": 1}
    live = table_from((tmp_path / f"{name}.json").read_text())
    assert live.seat_of(first) == 1
    assert live.seat_of(invitations["1"]) is live.seat_of("") is None
    for seat, key, sentence in (
        ("1", second, "somebody has used this link already"),
        ("0", first, "somebody has used this link already"),
        ("0", "short", "22 to 64 letters"),
        ("0", invitations["0"], "22 to 64 letters"),
    ):
        assert sentence in server.refusal("seat", bodies[seat] | {"key": key})
    assert "no seat" in server.refusal("seat", bodies["1"] | {"invitation": "", "key": second})
    assert server.refusal("seat", {"table": name})
    browser = server.browser(name, first)
    assert [person["invited"] for person in browser.state["people"]] == [True, False]
    server.post("seat", bodies["0"] | {"key": second})
    assert [person["invited"] for person in browser.until("table")["people"]] == [False, False]


def test_a_seat_is_open_in_one_window(server: TableServer) -> None:
    table = server.open(people=2)
    older, newer = table.browser(), table.browser()
    assert "another window" in older.until("elsewhere")["text"]
    assert is_closed(older.socket)
    assert "another window" in newer.until("refused")["text"]
    assert [person["here"] for person in newer.state["people"]] == [True, False]
    newer.send(do="speed", seconds=5)
    newer.wait(speed=5)


def test_the_limit_of_spectators_keeps_out_no_person(tmp_path: Path) -> None:
    with run_server(tmp_path, Limits(sockets=1)) as server:
        table = server.open()
        table.browser(None)
        assert server.refused_hello(table.name) == "this table has too many spectators"
        table.browser(0)


def test_a_server_has_a_limit_of_tables_and_removes_idle_ones_alone(tmp_path: Path) -> None:
    (tmp_path / "my thesis data.json").write_text('{"format":"noms-table/1",')
    (tmp_path / "evaluation.json").write_text("{}")
    (tmp_path / "olddirectory.json").mkdir()
    foreign = {*tmp_path.iterdir()}
    for path in foreign:
        os.utime(path, (0, 0))
    with run_server(tmp_path, Limits(tables=1, idle_hours=1)) as server:
        table = server.open()
        assert "no room for more" in server.refusal("tables", request())
        asyncio.run(server.hall.sweep())
        assert {*tmp_path.iterdir()} == {*foreign, table.path}
        assert list(server.hall.rooms) == [table.name]
        table.live.touched -= 3700
        asyncio.run(server.hall.sweep())
        assert not server.hall.rooms
        assert {*tmp_path.iterdir()} == foreign
        assert server.refused_hello(table.name) == "there is no such table"
