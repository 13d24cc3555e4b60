"""`noms table`: what is refused, and what ends a connection or a table."""

import asyncio
import json
import os
import random
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from starlette.websockets import WebSocketDisconnect

from noms_training.commands.common import CommandError
from noms_training.commands.table import kept_token
from noms_training.play.browser.hall import Hall
from noms_training.play.browser.live import RefusedError, table_from
from noms_training.play.browser.looker import Looker
from noms_training.play.browser.messages import Allowance, Limits, parse_message
from noms_training.play.browser.server import HEADERS
from tests.commands import disk_full
from tests.training.table_browsers import Browser, connected, is_closed, opened, request, seated, server


def strange_texts(count: int, rng: random.Random) -> Iterator[str]:
    """Texts that are no message, or not one that fits."""
    jobs = ["act", "back", "hint", "next", "hello", "speed", "replace", "sit", "records", "x", "__class__", ""]
    jobs += ["name", "begin", "answer", "moment"]
    values: list[Any] = [
        None,
        True,
        -1,
        0,
        3,
        1e308,
        float("nan"),
        "",
        "QS",
        "../../etc/passwd",
        "\ud800",
        "x" * 300,
        [],
        {},
        [[[]]],
    ]
    names = ["word", "moment", "seat", "player", "seconds", "table", "key", "token", "do", "__proto__"]
    names += ["name", "agrees", "deal", "decision"]
    for _ in range(count):
        kind = rng.randrange(5)
        if kind == 0:
            yield "".join(
                chr(rng.choice((rng.randrange(32, 127), rng.randrange(0x20, 0xD7FF)))) for _ in range(rng.randrange(80))
            )
        elif kind == 1:
            yield "[" * rng.randrange(1, 4000)
        elif kind == 2:
            yield json.dumps(rng.choice(values))
        else:
            fields = {rng.choice(names): rng.choice(values) for _ in range(rng.randrange(4))}
            yield json.dumps({**fields, "do": rng.choice([*jobs, *values])})


@pytest.mark.parametrize("count", [600, pytest.param(10_000, marks=pytest.mark.soak)])
def test_malformed_messages_change_no_table_and_end_nothing(count: int, tmp_path: Path) -> None:
    rng = random.Random(5)
    with server(tmp_path) as client:
        told = opened(client, people=2)
        room = client.hall.rooms[told["table"]]  # type: ignore[attr-defined]
        room.table.speed = 5.0
        with connected(client) as one:
            browser = Browser(one, told["table"], told["keys"]["0"])
            state = {**json.loads(room.table.to_json()), "touched": 0}
            legal = {"back", "hint", "next", "sit", "records", "speed", "name", "begin"}
            for text in strange_texts(count, rng):
                try:
                    if parse_message(text)["do"] in legal:
                        continue  # that is a message
                except RefusedError:
                    pass
                one.send_text(text)
                assert browser.next()["is"] == "refused", text
            assert {**json.loads(room.table.to_json()), "touched": 0} == state
        with connected(client) as two:
            Browser(two, told["table"], told["keys"]["0"])


def test_what_is_too_much_closes_the_socket(tmp_path: Path) -> None:
    with server(tmp_path, Limits(rate=3, message_bytes=1000)) as client:
        told = opened(client)
        with connected(client) as socket:
            Browser(socket, told["table"], told["keys"]["0"])
            socket.send_text("x" * 1001)
            assert is_closed(socket)
        with connected(client) as socket:
            browser = Browser(socket, told["table"], told["keys"]["0"])
            for _ in range(20):
                browser.send(do="x")
            assert is_closed(socket)


def test_an_allowance_fills_with_time() -> None:
    now = [0.0]
    allowance = Allowance(2, lambda: now[0])
    assert [allowance.take() for _ in range(5)] == [True] * 4 + [False]
    now[0] += 0.5
    assert [allowance.take() for _ in range(2)] == [True, False]


def test_a_socket_that_says_no_hello_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noms_training.play.browser.server.HELLO_SECONDS", 0.05)
    with server(tmp_path) as client, connected(client) as socket:
        assert is_closed(socket)


def test_a_browser_that_takes_nothing_is_left_behind() -> None:
    async def refusing(text: str) -> None:
        raise ConnectionError

    async def told() -> None:
        looker = Looker(refusing, 100)
        looker.post({"is": "table"})
        await looker.write()
        assert looker.is_gone

    asyncio.run(told())


def test_what_waits_for_a_browser_has_a_limit() -> None:
    got = list[str]()

    async def send(text: str) -> None:
        got.append(text)

    async def told() -> None:
        looker = Looker(send, 100)
        for _ in range(1000):
            looker.post({"is": "table"})
        assert looker.is_gone
        await looker.write()
        assert 100 < sum(map(len, got)) < 100 + 2 * len(got[0])

    asyncio.run(told())


def test_only_pages_of_this_server_may_use_it(tmp_path: Path) -> None:
    with server(tmp_path) as client:
        assert client.get("/").status_code == 200
        assert client.get("/", headers={"host": "TestServer:80"}).status_code == 200
        assert client.get("/", headers={"host": "evil.example"}).status_code == 403
        assert client.get("/api/games", headers={"origin": "http://evil.example"}).status_code == 403
        assert client.get("/api/games", headers={"origin": "http://testserver"}).status_code == 200
        for headers in ({"origin": "http://evil.example"}, {"host": "evil.example"}):
            with pytest.raises(WebSocketDisconnect), client.websocket_connect("/socket", headers=headers):
                pass
        for path in ("/", "/board.js", "/nothing", "/api/games", "/drawing.css", "/fonts/inter-400.ttf"):
            answer = client.get(path)
            assert all(answer.headers[name] == value for name, value in HEADERS.items())
        for path in ("/..%2fserver.py", "/server.py", "/table.html", "/fonts/..%2fpicture.py", "/fonts/LICENSE.txt"):
            assert client.get(path).status_code == 404
    assert "unsafe" not in HEADERS["content-security-policy"]


def test_with_a_token_nothing_goes_without_it(tmp_path: Path) -> None:
    with server(tmp_path, token="secret") as client:
        assert client.get("/api/games").status_code == 401
        assert client.post("/api/tables", json=request()).status_code == 401
        assert client.get("/api/games", headers={"authorization": "Bearer wrong"}).status_code == 401
        answer = client.post("/api/tables", json=request(), headers={"authorization": "Bearer secret"})
        assert client.post("/api/seat", json={}).status_code == 401
        told = seated(client, answer.json(), authorization="Bearer secret")
        with connected(client) as socket:
            socket.send_text(json.dumps({"do": "hello", "table": told["table"], "key": told["keys"]["0"], "token": None}))
            assert json.loads(socket.receive_text())["is"] == "refused"
            Browser(socket, told["table"], told["keys"]["0"], "secret")


def test_a_folder_keeps_its_token(tmp_path: Path) -> None:
    token = kept_token(tmp_path)
    assert len(token) == 22
    assert kept_token(tmp_path) == token
    if os.name == "posix":
        assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600
    (tmp_path / "token").write_text("")
    with pytest.raises(CommandError, match="token holds no token; remove it"):
        kept_token(tmp_path)


def test_a_full_disk_leaves_no_empty_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as full:
        full.setattr("noms_training.commands.table.write_atomically", disk_full)
        with pytest.raises(CommandError, match="No space left on device"):
            kept_token(tmp_path)
    assert not list(tmp_path.iterdir())
    with monkeypatch.context() as full:
        full.setattr("noms_env._files.os.fsync", disk_full)
        with pytest.raises(CommandError, match="No space left on device"):
            kept_token(tmp_path)
    assert not list(tmp_path.iterdir())
    assert kept_token(tmp_path) == kept_token(tmp_path)


@pytest.mark.skipif(os.name != "posix", reason="elsewhere files have no such modes")
def test_tables_are_for_this_user_alone(tmp_path: Path) -> None:
    with server(tmp_path) as client:
        told = opened(client)
        path = tmp_path / f"{told['table']}.json"
        assert path.stat().st_mode & 0o777 == 0o600
        path.chmod(0o644)
        with connected(client) as socket:
            browser = Browser(socket, told["table"], told["keys"]["0"])
            browser.send(do="speed", seconds=5)
            browser.until("table")
            assert path.stat().st_mode & 0o777 == 0o600, "also one of before"
        path.chmod(0o644)
        client.hall.tidy()  # type: ignore[attr-defined]
        assert path.stat().st_mode & 0o777 == 0o600


def test_what_an_ended_process_left_half_written_goes(tmp_path: Path) -> None:
    names = (".abcdefgh1234.json.12-34.part", ".token.12-34.part", ".mine.part", ".other.json.x.part")
    for name in names:
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (0, 0))
    (tmp_path / ".abcdefgh1234.json.56-78.part").write_text("is being written")
    with server(tmp_path) as client:
        client.get("/")
        left = {path.name for path in tmp_path.iterdir()}
    assert left == {".mine.part", ".other.json.x.part", ".abcdefgh1234.json.56-78.part"}


def test_an_invitation_is_good_once_and_whoever_opened_the_table_has_no_key(tmp_path: Path) -> None:
    with server(tmp_path) as client:
        told = client.post("/api/tables", json=request(people=2)).json()
        assert set(told) == {"table", "invitations"}

        def claimed(seat: str, key: str) -> Any:
            return client.post("/api/seat", json={"table": told["table"], "invitation": told["invitations"][seat], "key": key})

        first, other = "a" * 22, "b" * 22
        with connected(client) as socket:
            for key in (told["invitations"]["1"], ""):
                socket.send_text(json.dumps({"do": "hello", "table": told["table"], "key": key or first, "token": None}))
                assert "no seat" in json.loads(socket.receive_text())["text"]
        assert claimed("1", first).json() == {"seat": 1}
        assert claimed("1", first).json() == {"seat": 1}, "the answer may have been lost"
        path = tmp_path / f"{told['table']}.json"
        table = table_from(path.read_text())
        assert table.seat_of(first) == 1
        assert table.seat_of(told["invitations"]["1"]) is table.seat_of("") is None
        for seat, key, sentence in (
            ("1", other, "somebody has used this link already"),
            ("0", first, "somebody has used this link already"),
            ("0", "short", "22 to 64 letters"),
            ("0", told["invitations"]["0"], "22 to 64 letters"),
        ):
            answer = claimed(seat, key)
            assert (answer.status_code, sentence in answer.json()["error"]) == (400, True)
        wrong = client.post("/api/seat", json={"table": told["table"], "invitation": "", "key": other})
        assert "no seat" in wrong.json()["error"]
        assert client.post("/api/seat", json={"table": told["table"]}).status_code == 400
        with connected(client) as socket:
            browser = Browser(socket, told["table"], first)
            assert [person["invited"] for person in browser.state["people"]] == [True, False]
            assert claimed("0", other).status_code == 200
            assert [person["invited"] for person in browser.until("table")["people"]] == [False, False]


def test_a_seat_is_open_in_one_window_and_both_are_told(tmp_path: Path) -> None:
    with server(tmp_path) as client:
        told = opened(client, people=2)
        with connected(client) as one, connected(client) as two:
            older = Browser(one, told["table"], told["keys"]["0"])
            newer = Browser(two, told["table"], told["keys"]["0"])
            assert "another window" in older.until("elsewhere")["text"]
            assert is_closed(one)
            assert "another window" in newer.until("refused")["text"]
            assert [person["here"] for person in newer.state["people"]] == [True, False]
            newer.send(do="speed", seconds=5)
            newer.until("table")


def test_people_are_let_in_where_too_many_look_on(tmp_path: Path) -> None:
    with server(tmp_path, Limits(sockets=1)) as client, ExitStack() as sockets:
        told = opened(client)
        Browser(sockets.enter_context(connected(client)), told["table"], None)
        with connected(client) as third:
            third.send_text(json.dumps({"do": "hello", "table": told["table"], "key": None, "token": None}))
            assert json.loads(third.receive_text())["text"] == "this table has too many spectators"
        Browser(sockets.enter_context(connected(client)), told["table"], told["keys"]["0"])


def test_there_is_a_limit_of_tables_and_idle_ones_go(tmp_path: Path) -> None:
    with server(tmp_path, Limits(tables=1, idle_hours=1)) as client:
        told = opened(client)
        assert "no room for more" in client.post("/api/tables", json=request()).json()["error"]
        hall: Hall = client.hall  # type: ignore[attr-defined]
        asyncio.run(hall.sweep())
        assert list(hall.rooms) == [told["table"]]
        hall.rooms[told["table"]].table.touched -= 3700
        asyncio.run(hall.sweep())
        assert not hall.rooms
        assert not list(tmp_path.iterdir())
        with connected(client) as socket:
            socket.send_text(json.dumps({"do": "hello", "table": told["table"], "key": None, "token": None}))
            assert json.loads(socket.receive_text()) == {"is": "refused", "text": "there is no such table"}


def test_files_of_others_in_the_folder_stay_and_are_not_counted(tmp_path: Path) -> None:
    (tmp_path / "my thesis data.json").write_text('{"format":"noms-table/1",')
    (tmp_path / "evaluation.json").write_text("{}")
    (tmp_path / "olddirectory.json").mkdir()
    names = {path.name for path in tmp_path.iterdir()}
    for path in tmp_path.iterdir():
        os.utime(path, (0, 0))
    with server(tmp_path, Limits(tables=1, idle_hours=1)) as client:
        told = opened(client)
        hall: Hall = client.hall  # type: ignore[attr-defined]
        asyncio.run(hall.sweep())
        assert {path.name for path in tmp_path.iterdir()} == {*names, f"{told['table']}.json"}
