"""A server of `noms table` for tests, its tables, and browsers at them."""

import json
import random
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from starlette.testclient import TestClient, WebSocketTestSession
from starlette.websockets import WebSocketDisconnect
from websockets.sync.client import ClientConnection, connect

from noms_env.variants import game, make_rules
from noms_training.play.browser.hall import Hall
from noms_training.play.browser.live import LiveTable, new_table
from noms_training.play.browser.lobby import Lobby
from noms_training.play.browser.messages import Limits
from noms_training.play.browser.server import application

ROOT = Path(__file__).parent.parent.parent
FAST = Limits(rate=1e9, pace=0, undo_seconds=0)


def request(variant: str = "down_up", seats: int = 3, people: int = 1, player: str = "random", **more: Any) -> dict[str, Any]:
    """Return what a page sends to open a table; people sit on the first seats."""
    players = [None] * people + [player] * (seats - people)
    names = {str(seat): f"Person {seat}" for seat in range(people)}
    return {"variant": variant, "seats": seats, "players": players, "people": names, "hints": "thumb", "options": {}} | more


def legal_words(view: dict[str, Any]) -> list[str]:
    """Return the legal actions in a view as a page gets it."""
    return [*view["legal"], *(choice["word"] for choice in view["choices"])]


class Browser:
    """A browser at a table.

    Attributes:
        texts: the messages from the server.
        state: the table as these messages describe it.
    """

    def __init__(self, socket: Any, table: str, key: str | None, token: str | None = None) -> None:
        self.socket, self.texts = socket, list[str]()
        self.state: dict[str, Any] = {}
        self.send(do="hello", table=table, key=key, token=token)
        self.until("table")

    def send(self, **message: Any) -> None:
        self.socket.send_text(json.dumps(message))

    def next(self) -> dict[str, Any]:
        self.texts.append(self.socket.receive_text())
        message: dict[str, Any] = json.loads(self.texts[-1])
        if message["is"] == "table":
            self.state |= message
        return message

    def until(self, kind: str) -> dict[str, Any]:
        """Read messages until one of a kind; return it."""
        while (message := self.next())["is"] != kind:
            pass
        return message

    def wait(self, **facts: Any) -> None:
        """Read messages until the table has these facts."""
        while any(self.state.get(name) != value for name, value in facts.items()):
            self.next()

    def refusal(self, **message: Any) -> str:
        """Send a message; return the sentence of its refusal."""
        self.send(**message)
        return str(self.until("refused")["text"])

    def film(self, deal: int = 1, analyse: bool = False) -> dict[str, Any]:
        self.send(do="film", deal=deal, analyse=analyse)
        return dict(self.until("film")["film"])

    def close(self) -> None:
        self.socket.close()

    @property
    def words(self) -> list[str]:
        """The legal actions."""
        return legal_words(self.state["view"])

    def send_action(self, word: str) -> None:
        self.send(do="act", word=word, moment=self.state["moment"])

    def act(self, word: str) -> None:
        """Take an action, and wait until the table has moved on."""
        before = self.state["moment"]
        self.send_action(word)
        while self.state["moment"] == before:
            self.next()

    def play_a_deal(self, seed: int = 1) -> None:
        """Take random actions until the deal is scored."""
        rng = random.Random(seed)
        while not self.state["scored"]:
            if self.state["turn"] == self.state["yours"]:
                self.send_action(rng.choice(self.words))
            self.until("table")


class OpenTable:
    """A table of a server with the keys of its people by seat."""

    def __init__(self, server: "TableServer", name: str, keys: dict[int, str]) -> None:
        self.server, self.name, self.keys = server, name, keys
        self.path, self.room = server.hall.path(name), server.hall.rooms[name]
        self.live = self.room.table
        self.table = self.live.session.table

    def browser(self, seat: int | None = 0) -> Browser:
        """Open a browser in a seat, or with None a spectator's."""
        return self.server.browser(self.name, None if seat is None else self.keys[seat])


class TableServer:
    """A running server. All its sockets close when it does."""

    def __init__(self, hall: Hall, client: TestClient, sockets: ExitStack) -> None:
        self.hall, self.client, self._sockets = hall, client, sockets

    def post(self, path: str, body: Any, **headers: str) -> Any:
        """Return the answer to a request that succeeds."""
        answer = self.client.post(f"/api/{path}", json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def refusal(self, path: str, body: Any, status: int = 400) -> str:
        """Return the sentence with which a request is refused; bytes and texts are sent as they are."""
        content = {"content": body} if isinstance(body, str | bytes) else {"json": body}
        answer = self.client.post(f"/api/{path}", **content)
        assert answer.status_code == status, answer.text
        return str(answer.json()["error"])

    def open(self, speed: float = 0, **wishes: Any) -> OpenTable:
        """Open a table; `speed` is the delay of its players in seconds."""
        table = self.seat_people(self.post("tables", request(**wishes)))
        table.live.speed = speed
        return table

    def seat_people(self, answer: dict[str, Any], **headers: str) -> OpenTable:
        """Accept the invitations to a new table."""
        keys = {int(seat): secrets.token_urlsafe(16) for seat in answer["invitations"]}
        for seat, key in keys.items():
            body = {"table": answer["table"], "invitation": answer["invitations"][str(seat)], "key": key}
            assert self.post("seat", body, **headers) == {"seat": seat}
        return OpenTable(self, answer["table"], keys)

    def socket(self) -> WebSocketTestSession:
        return self._sockets.enter_context(_connected(self.client))

    def browser(self, table: str, key: str | None, token: str | None = None) -> Browser:
        return Browser(self.socket(), table, key, token)

    def refused_hello(self, table: str, key: str | None = None) -> str:
        """Say hello on a new socket; return the sentence of the refusal."""
        socket = self.socket()
        socket.send_text(json.dumps({"do": "hello", "table": table, "key": key, "token": None}))
        message = json.loads(socket.receive_text())
        assert message["is"] == "refused"
        return str(message["text"])


@contextmanager
def run_server(
    folder: Path, limits: Limits = FAST, token: str | None = None, players: tuple[str, ...] = ()
) -> Iterator[TableServer]:
    hall = Hall(folder, Lobby(players), limits, token)
    with TestClient(application(hall, ("testserver",))) as client, ExitStack() as sockets:
        yield TableServer(hall, client, sockets)


@contextmanager
def _connected(client: TestClient) -> Iterator[WebSocketTestSession]:
    """Connect. The test client disconnects while the server still works, which may raise `CancelledError`."""
    with client.websocket_connect("/socket") as socket:
        socket.exit_stack, cut_off = ExitStack(), socket.exit_stack
        try:
            yield socket
        finally:
            with suppress(CancelledError):
                cut_off.close()


class RealSocket:
    """A WebSocket over the network."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    def send_text(self, data: str) -> None:
        self.connection.send(data)

    def receive_text(self) -> str:
        return str(self.connection.recv(120))


@contextmanager
def browser_at(address: str, table: str, key: str | None, **settings: Any) -> Iterator[Browser]:
    """Open a browser at a table of a server at `http://HOST:PORT/`."""
    with connect(f"ws{address.removeprefix('http')}socket", **settings) as connection:
        yield Browser(RealSocket(connection), table, key)


def fetch(address: str, path: str = "", body: Any = None, seconds: float = 120) -> Any:
    """Return a page, or the answer to a request with a body."""
    content = None if body is None else json.dumps(body).encode()
    with urlopen(Request(f"{address}{path}", content), timeout=seconds) as answer:
        return answer.read() if body is None else json.load(answer)


def open_table_at(address: str, **wishes: Any) -> tuple[str, dict[int, str]]:
    """Open a table over the network and accept its invitations; return its name and the keys."""
    answer = fetch(address, "api/tables", request(**wishes))
    keys = {int(seat): f"key-of-seat-{seat}".ljust(22, "x") for seat in answer["invitations"]}
    for seat, key in keys.items():
        fetch(address, "api/seat", {"table": answer["table"], "invitation": answer["invitations"][str(seat)], "key": key})
    return answer["table"], keys


@contextmanager
def table_process(folder: Path, descriptors: int = 1024) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run the command in a process; its tables are in `folder / "tables"`, its standard error in `folder / "errors"`."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = [sys.executable, "-m", "noms_training", "table", "--port", str(port), "--folder", str(folder / "tables")]
    shell = ["sh", "-c", f'ulimit -n {descriptors}; exec "$@"', "sh", *words]
    with (
        (folder / "errors").open("w") as errors,
        subprocess.Popen(shell, cwd=ROOT, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            address = f"http://127.0.0.1:{port}/"
            assert process.stdout.readline().startswith(f"open {address}; Ctrl-C ")
            for _ in range(100):
                with suppress(OSError):
                    fetch(address)
                    break
                time.sleep(0.1)
            yield address, process
        finally:
            process.kill()


def is_closed(socket: Any) -> bool:
    """Read messages until the server closes a socket."""
    try:
        while True:
            socket.receive_text()
    except WebSocketDisconnect:
        return True


def some_table(actions: int, variant: str = "small_ships") -> LiveTable:
    """Make a table of a person and random players, after random actions."""
    rules = make_rules(game(variant))
    live = new_table(rules, [None, *["random"] * (rules.seats - 1)], {0: "Ann"}, "thumb", seed=3)
    rng = random.Random(1)
    for _ in range(actions):
        if live.session.table.is_scored:
            live.next_deal()
        else:
            live.take(rng.choice(live.session.table.legal_actions()))
    return live


def finish_deal(live: LiveTable, seed: int = 4) -> None:
    """Take random actions until the deal is scored."""
    rng = random.Random(seed)
    while not live.session.table.is_scored:
        live.take(rng.choice(live.session.table.legal_actions()))


def pass_out(live: LiveTable) -> None:
    """Let everybody pass."""
    while not live.session.table.is_scored:
        live.take(live.session.table.number("pass"))
