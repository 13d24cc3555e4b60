"""A server of `noms table` for tests, and browsers at its tables."""

import json
import random
import secrets
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient, WebSocketTestSession
from starlette.websockets import WebSocketDisconnect

from noms_env.variants import game, make_rules
from noms_training.play.browser.hall import Hall
from noms_training.play.browser.live import LiveTable, new_table
from noms_training.play.browser.lobby import Lobby
from noms_training.play.browser.messages import Limits
from noms_training.play.browser.server import application

FAST = Limits(rate=1e9, pace=0)


def request(variant: str = "down_up", seats: int = 3, people: int = 1, player: str = "random", **more: Any) -> dict[str, Any]:
    """What a page sends to open a table; people sit on the first seats."""
    players = [None] * people + [player] * (seats - people)
    names = {str(seat): f"Person {seat}" for seat in range(people)}
    return {"variant": variant, "seats": seats, "players": players, "people": names, "hints": "thumb", "options": {}} | more


@contextmanager
def server(
    folder: Path, limits: Limits = FAST, token: str | None = None, players: tuple[str, ...] = ()
) -> Iterator[TestClient]:
    hall = Hall(folder, Lobby(players), limits, token)
    with TestClient(application(hall, ("testserver",))) as client:
        client.hall = hall  # type: ignore[attr-defined]  # for the tests
        yield client


@contextmanager
def connected(client: TestClient) -> Iterator[WebSocketTestSession]:
    """A connection. The test client ends it amid whatever the server does, and may say so by a cancelled future."""
    with client.websocket_connect("/socket") as made:
        made.exit_stack, cut_off = ExitStack(), made.exit_stack
        try:
            yield made
        finally:
            with suppress(CancelledError):
                cut_off.close()


def opened(client: TestClient, **wanted: Any) -> dict[str, Any]:
    answer = client.post("/api/tables", json=request(**wanted))
    assert answer.status_code == 200, answer.text
    return seated(client, answer.json())


def seated(client: TestClient, told: dict[str, Any], **headers: str) -> dict[str, Any]:
    """What was told of a table, with the keys of its people, who accept their invitations."""
    keys = {seat: secrets.token_urlsafe(16) for seat in told["invitations"]}
    for seat, key in keys.items():
        wish = {"table": told["table"], "invitation": told["invitations"][seat], "key": key}
        answer = client.post("/api/seat", json=wish, headers=headers)
        assert answer.json() == {"seat": int(seat)}
    return {**told, "keys": keys}


class Browser:
    """A browser at a table: keeps every text that it is sent, and what it knows of the table."""

    def __init__(self, socket: WebSocketTestSession, table: str, key: str | None, token: str | None = None) -> None:
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
        while (message := self.next())["is"] != kind:
            pass
        return message

    @property
    def words(self) -> list[str]:
        """The actions that can be clicked."""
        return words_of(self.state["view"])

    def play_a_deal(self, choose: random.Random) -> None:
        """Click what is legal until the deal is scored."""
        while not self.state["scored"]:
            if self.state["turn"] == self.state["yours"]:
                self.send(do="act", word=choose.choice(self.words), moment=self.state["moment"])
            self.until("table")


def words_of(view: dict[str, Any]) -> list[str]:
    """The legal actions of a view as a page is told it."""
    return [*view["legal"], *(choice["word"] for choice in view["choices"])]


def is_closed(socket: WebSocketTestSession) -> bool:
    """Whether the server closes a socket, after what it still has to say."""
    try:
        while True:
            socket.receive_text()
    except WebSocketDisconnect:
        return True


def some_table(actions: int, variant: str = "small_ships") -> LiveTable:
    rules = make_rules(game(variant))
    table = new_table(rules, [None, *["random"] * (rules.seats - 1)], {0: "Ann"}, "thumb", seed=3)
    rng = random.Random(1)
    for _ in range(actions):
        if table.session.table.is_scored:
            table.next_deal()
        else:
            table.take(rng.choice(table.session.table.legal_actions()))
    return table
