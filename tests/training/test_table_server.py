"""`noms table`: what browsers are sent and what not, what they may do, what is refused, and tables after a restart."""

import asyncio
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from starlette.testclient import TestClient, WebSocketTestSession
from starlette.websockets import WebSocketDisconnect
from websockets.typing import Origin

from noms_env.core.cards import CARD_WORDS, cards_in
from noms_env.record import check_records, record_matches
from noms_env.show.picture import parts
from noms_env.show.view import look
from noms_env.table import Table
from noms_env.variants import VARIANTS, game, make_rules
from tests.commands import Run, assert_refused, disk_full
from tests.served import served
from training.browser.hall import Hall
from training.browser.live import LiveTable, RefusedError, new_table, table_from
from training.browser.lobby import Lobby
from training.browser.messages import Allowance, Limits, parsed
from training.browser.room import Looker
from training.browser.server import HEADERS, application
from training.commands.browser.table import kept_token
from training.commands.common import CommandError

FAST = Limits(rate=1e9)
ROOT = Path(__file__).parent.parent.parent


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
    told: dict[str, Any] = answer.json()
    return told


class Browser:
    """A browser at a table: keeps every text that it is sent, and the drawing."""

    def __init__(self, socket: WebSocketTestSession, table: str, key: str | None, token: str | None = None) -> None:
        self.socket, self.texts = socket, list[str]()
        self.parts: dict[str, str] = {}
        self.state: dict[str, Any] = {}
        self.send(do="hello", table=table, key=key, token=token)
        self.until("table")

    def send(self, **message: Any) -> None:
        self.socket.send_text(json.dumps(message))

    def next(self) -> dict[str, Any]:
        self.texts.append(self.socket.receive_text())
        message: dict[str, Any] = json.loads(self.texts[-1])
        if "parts" in message:
            self.state |= {name: message[name] for name in ("moment", "order") if name in message}
            self.parts = {name: message["parts"].get(name, self.parts.get(name, "")) for name in self.state["order"]}
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
        return re.findall(r'data-word="([^"]+)"', "".join(self.parts.values()))

    def play_a_deal(self, choose: random.Random) -> None:
        """Click what is legal until the deal is scored."""
        while not self.state["scored"]:
            if self.state["turn"] == self.state["yours"]:
                self.send(do="act", word=choose.choice(self.words), moment=self.state["moment"])
            self.until("table")


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_deal_of_every_game_is_played_to_its_score_and_is_by_the_rules(variant: str, tmp_path: Path) -> None:
    with server(tmp_path) as client:
        seats = make_rules(game(variant)).seats
        told = opened(client, variant=variant, seats=seats)
        with connected(client) as socket:
            browser = Browser(socket, told["table"], told["keys"]["0"])
            browser.send(do="speed", seconds=0)
            browser.until("table")
            browser.play_a_deal(random.Random(variant))
            assert browser.state["sheet"][0]["lines"]
            room = client.hall.rooms[told["table"]]  # type: ignore[attr-defined]
            records = room.table.session.records()
            assert not list(check_records(enumerate(records, 1)))
            assert browser.state["sheet"][0]["points"] == pytest.approx(records[0]["points"], abs=5e-4)


def test_fifty_tables_at_once_get_every_answer_and_reach_their_scores(tmp_path: Path) -> None:
    import httpx2 as httpx
    from websockets.asyncio.client import ClientConnection, connect

    hall = Hall(tmp_path, Lobby(), Limits(rate=1e9))

    async def told_by(line: ClientConnection, state: dict[str, Any], drawn: dict[str, str]) -> None:
        message = json.loads(await asyncio.wait_for(line.recv(), 300))
        assert message["is"] in ("symbols", "rules", "table"), message
        state |= message
        drawn |= message.get("parts", {})

    async def plays_a_deal(client: httpx.AsyncClient, address: str, seed: int) -> tuple[str, list[str], dict[str, str]]:
        """The table's name, the moments that were told, and the drawing at the end."""
        wish = request("big_ships", 4, options={"start_cards": "3"})
        told = (await client.post(f"{address}api/tables", json=wish)).json()
        rng, state, drawn, moments = random.Random(seed), dict[str, Any](), dict[str, str](), list[str]()
        async with connect(f"ws{address.removeprefix('http')}socket") as line:
            hello = {"do": "hello", "table": told["table"], "key": told["keys"]["0"], "token": None}
            for message in (hello, {"do": "speed", "seconds": 0}):
                await line.send(json.dumps(message))
            while not state.get("scored"):
                await told_by(line, state, drawn)
                if "moment" not in state or state["moment"] in moments:
                    continue
                moments.append(state["moment"])
                if state["turn"] == 0:
                    words = re.findall(r'data-word="([^"]+)"', "".join(drawn[name] for name in state["order"]))
                    await line.send(json.dumps({"do": "act", "word": rng.choice(words), "moment": state["moment"]}))
        return told["table"], moments, {name: drawn[name] for name in state["order"]}

    async def all_play(address: str) -> list[tuple[str, list[str], dict[str, str]]]:
        async with httpx.AsyncClient(timeout=300) as client:
            return await asyncio.gather(*(plays_a_deal(client, address, seed) for seed in range(50)))

    with served(hall) as address:
        ends = asyncio.run(all_play(address))
    assert len({name for name, _, _ in ends}) == 50
    for name, moments, drawn in ends:
        table = hall.rooms[name].table
        actions = len(table.session.deals[0].actions)
        assert moments == [f"1.{number}" for number in range(actions + 1)], "each decision is told once, and none is left out"
        assert not list(check_records(enumerate(table.session.records(), 1)))
        assert drawn == table.drawing(0)
        assert table_from((tmp_path / f"{name}.json").read_text()).sheet == table.sheet


def over(client: TestClient, socket: WebSocketTestSession, **wanted: Any) -> tuple[Browser, dict[str, Any]]:
    """A person at a table whose first deal is over."""
    told = opened(client, **wanted)
    browser = Browser(socket, told["table"], told["keys"]["0"])
    browser.send(do="film", analyse=True)
    assert browser.until("refused")["text"] == "wait until the deal is over"
    browser.send(do="speed", seconds=0)
    browser.until("table")
    browser.play_a_deal(random.Random(1))
    return browser, told


def test_a_deal_that_is_over_is_analysed_while_the_table_goes_on(tmp_path: Path) -> None:
    with server(tmp_path) as client, connected(client) as socket:
        browser, _ = over(client, socket, variant="up_down", seats=4)
        browser.send(do="film", analyse=True)
        browser.send(do="film", analyse=True)
        browser.send(do="next")
        kinds = [browser.next() for _ in range(3)]
        while not any(message["is"] == "film" for message in kinds):
            kinds.append(browser.next())
        assert [message["text"] for message in kinds if message["is"] == "refused"] == ["wait for the one that is under way"]
        assert browser.state["moment"].startswith("2.")
        (film,) = (message["film"] for message in kinds if message["is"] == "film")
        (deal,) = film["deals"]
        assert list(deal["views"]) == ["0"], "the match goes on: a seat's own view"
        assert all(deal["moments"][loss["moment"]]["seat"] == 0 for loss in deal["losses"])
        assert [loss["points"] for loss in deal["losses"]] == sorted((loss["points"] for loss in deal["losses"]), reverse=True)
        assert all(loss["error"] >= 0 for loss in deal["losses"])


def test_analyses_are_not_too_often_and_a_film_of_a_match_that_is_over_has_all_views(tmp_path: Path) -> None:
    with server(tmp_path, Limits(rate=1e9, analysis_seconds=1000)) as client, connected(client) as socket:
        browser, _ = over(client, socket, variant="sniped_whist")
        browser.send(do="film", analyse=True)
        deal = browser.until("film")["film"]["deals"][0]
        assert list(deal["views"]) == ["all", "0", "1", "2"]
        assert "losses" in deal
        browser.send(do="film", analyse=True)
        assert re.search("the next analysis can be in [0-9]+ seconds", browser.until("refused")["text"])
        browser.send(do="film", analyse=False)
        assert "losses" not in browser.until("film")["film"]["deals"][0]


def frames_of(gif: bytes) -> int:
    with Image.open(BytesIO(gif)) as image:
        return int(image.n_frames)  # type: ignore[attr-defined]  # of a GIF


def test_a_gif_shows_a_deal_from_a_file_or_the_one_that_is_over_at_a_table(tmp_path: Path) -> None:
    record = next(record_matches("up_down", 4, seed=1))
    with server(tmp_path) as client, connected(client) as socket:
        body = json.dumps(record)
        answer = client.post("/api/gif?deal=0&view=all&theme=dark", content=body)
        assert answer.headers["content-type"] == "image/gif"
        assert frames_of(answer.content) <= len(record["steps"]) + 1
        seen = client.post("/api/gif?deal=0&view=1&theme=dark", content=body)
        assert frames_of(seen.content) > 1
        assert seen.content != answer.content
        for wrong, sentence in (("deal=1&view=all", "deals 0 to 0"), ("deal=0&view=4", "no such view"), ("", "deals 0 to 0")):
            assert sentence in client.post(f"/api/gif?{wrong}", content=body).json()["error"]
        told = opened(client, variant="up_down", seats=4)
        key = {"table": told["table"], "key": told["keys"]["0"]}
        assert client.post("/api/table-gif", json={**key, "deal": 0}).json()["error"] == "wait until the deal is over"
        assert "no seat" in client.post("/api/table-gif", json={**key, "deal": 0, "key": "x"}).json()["error"]
        for lacking in ({}, key, {**key, "deal": "0"}):
            assert "a table, a key and the number" in client.post("/api/table-gif", json=lacking).json()["error"]
        browser, told = over(client, socket, variant="up_down", seats=4)
        browser.send(do="film", analyse=False)
        film = browser.until("film")["film"]
        assert (film["deal"], film["deals"][0]["title"]) == (0, "Deal 1")
        key = {"table": told["table"], "key": told["keys"]["0"], "deal": film["deal"]}
        own, all_hands = (client.post(f"/api/table-gif?view={view}", json=key).content for view in ("0", "all"))
        assert frames_of(own) > 1
        assert own == all_hands, "the match goes on: a seat's own view"
        browser.send(do="next")
        browser.until("table")
        assert client.post("/api/table-gif?view=0", json=key).content == own, "the deal of the film, not the present one"


def cards_shown(text: str) -> set[str]:
    """All words of cards within a message, however they are said."""
    return {re.sub("[fd]$", "", name) for name in re.findall(r"noms-[ct]-([A-Z0-9]+[fd])", text)} | set(
        re.findall(r'data-word=\\"([A-Z0-9]+)\\"', text)
    )


def hidden_from(table: Table, seat: int | None) -> set[str]:
    """The cards that a seat has not seen: in hands that are not open, and in the stock."""
    row, words = table.row, CARD_WORDS[table.deck_kind]
    hands = [int(row.hands[other]) for other in range(table.seats) if other not in (seat, int(row.exposed))]
    shown = {int(row.turn_up), int(row.nominated)}
    return {words[card] for cards in [*hands, int(row.stock)] for card in cards_in(cards) if card not in shown}


@pytest.mark.parametrize(
    ("variant", "deals"),
    [(variant, 2) for variant in VARIANTS] + [pytest.param(variant, 200, marks=pytest.mark.soak) for variant in VARIANTS],
)
def test_no_message_holds_a_card_that_its_seat_may_not_see(variant: str, deals: int, tmp_path: Path) -> None:
    """Every text to the person, to another person and to a spectator is searched, against the true hands at that moment."""
    rng, found = random.Random(variant), 0
    with server(tmp_path) as client:
        seats = make_rules(game(variant)).seats
        for _ in range(deals):
            told = opened(client, variant=variant, seats=seats, people=2)
            room = client.hall.rooms[told["table"]]  # type: ignore[attr-defined]
            table = room.table.session.table
            with (
                connected(client) as one,
                connected(client) as two,
                connected(client) as three,
            ):
                browsers = [Browser(one, told["table"], told["keys"]["0"]), Browser(two, told["table"], told["keys"]["1"])]
                browsers.append(Browser(three, told["table"], None))
                room.table.speed = 3600.0  # the players act when this test lets them
                while not table.is_scored:
                    seat = int(table.row.seat)
                    if seat < 2:
                        word = rng.choice(table.legal_words())
                        browsers[seat].send(do="act", word=word, moment=room.table.moment)
                    else:
                        room.table.take(room.table.session.choose())
                        browsers[0].send(do="speed", seconds=5)
                    marks = [len(browser.texts) for browser in browsers]
                    for browser in browsers:
                        while (
                            browser.state["moment"] != room.table.moment or len(browser.texts) == marks[browsers.index(browser)]
                        ):
                            browser.next()
                    for browser, looks, mark in zip(browsers, (0, 1, None), marks, strict=True):
                        text = "".join(browser.texts[mark:])
                        seen = cards_shown(text)
                        picks = table.phase == "nominate" and looks == table.row.seat
                        assert picks or not seen & hidden_from(table, looks), (looks, seen & hidden_from(table, looks))
                        found += len(seen)
    assert found > 20


def test_the_search_for_hidden_cards_finds_them() -> None:
    table = some_table(9).session.table
    told = json.dumps(parts(look(table, 0, full=True)))
    assert hidden_from(table, 0) <= cards_shown(told)
    assert not hidden_from(table, 0) & cards_shown(json.dumps(parts(look(table, 0))))


def test_what_a_person_may_not_do_changes_nothing(tmp_path: Path) -> None:
    with server(tmp_path) as client:
        told = opened(client, people=2)
        room = client.hall.rooms[told["table"]]  # type: ignore[attr-defined]
        room.table.speed = 5.0
        with connected(client) as one, connected(client) as two:
            first = Browser(one, told["table"], told["keys"]["0"])
            watcher = Browser(two, told["table"], None)
            state = room.table.to_json()
            table = room.table.session.table
            if int(table.row.seat) == 0:
                wrongs: list[dict[str, Any]] = [
                    {"do": "act", "word": "99", "moment": room.table.moment},
                    {"do": "act", "word": table.legal_words()[0], "moment": "1.99"},
                ]
            else:
                wrongs = [{"do": "act", "word": table.legal_words()[0], "moment": room.table.moment}, {"do": "hint"}]
            wrongs += [{"do": "next"}, {"do": "back"}, {"do": "records"}, {"do": "replace", "seat": 0, "player": "thumb"}]
            wrongs += [{"do": "replace", "seat": 1, "player": "cmd:rm"}, {"do": "replace", "seat": 2, "player": "thumb"}]
            wrongs += [{"do": "speed", "seconds": 1e9}, {"do": "hello", "table": "x", "key": None, "token": None}]
            for wrong in wrongs:
                first.send(**wrong)
                assert first.until("refused")["text"]
            for do in ("back", "next", "hint", "sit"):
                watcher.send(do=do)
                assert watcher.until("refused")["text"] == "you are a spectator"
            after = json.loads(room.table.to_json())
            assert {**after, "touched": 0} == {**json.loads(state), "touched": 0}


def test_a_decision_is_taken_back_and_a_hint_is_given(tmp_path: Path) -> None:
    with server(tmp_path) as client:
        told = opened(client, hints="thumb")
        with connected(client) as socket:
            browser = Browser(socket, told["table"], told["keys"]["0"])
            browser.send(do="speed", seconds=0)
            browser.until("table")
            while browser.state["turn"] != 0:
                browser.until("table")
            before = dict(browser.parts)
            browser.send(do="hint")
            hint = browser.until("hint")
            assert hint["taken"] in browser.words
            assert "noms-taken" in "".join(browser.parts.values())
            browser.send(do="act", word=browser.words[0], moment=browser.state["moment"])
            browser.until("table")
            browser.send(do="back")
            while browser.until("table")["turn"] != 0 or browser.parts != before:
                pass


def test_a_player_takes_the_seat_of_who_left_and_gives_it_back(tmp_path: Path) -> None:
    with server(tmp_path) as client:
        told = opened(client, people=2)
        with connected(client) as one:
            first = Browser(one, told["table"], told["keys"]["0"])
            assert [person["here"] for person in first.state["people"]] == [True, False]
            first.send(do="replace", seat=1, player="thumb")
            assert first.until("table")["people"][1]["sits"] is False
            assert first.state["names"][1] == "thumb"
            with connected(client) as two:
                second = Browser(two, told["table"], told["keys"]["1"])
                second.send(do="sit")
                while second.state["names"][1] != "Person 1":
                    second.until("table")
                first.send(do="replace", seat=1, player="thumb")
                assert first.until("refused")["text"] == "whoever sits there is here"


def strange_texts(count: int, rng: random.Random) -> Iterator[str]:
    """Texts that are no message, or not one that fits."""
    jobs = ["act", "back", "hint", "next", "hello", "speed", "replace", "sit", "records", "x", "__class__", ""]
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
            legal = {"back", "hint", "next", "sit", "records", "speed"}
            for text in strange_texts(count, rng):
                try:
                    if parsed(text)["do"] in legal:
                        continue  # that is a message
                except RefusedError:
                    pass
                one.send_text(text)
                assert browser.next()["is"] == "refused", text
            assert {**json.loads(room.table.to_json()), "touched": 0} == state
        with connected(client) as two:
            Browser(two, told["table"], told["keys"]["0"])


def is_closed(socket: WebSocketTestSession) -> bool:
    """Whether the server closes a socket, after what it still has to say."""
    try:
        while True:
            socket.receive_text()
    except WebSocketDisconnect:
        return True


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
        told = answer.json()
        with connected(client) as socket:
            socket.send_text(json.dumps({"do": "hello", "table": told["table"], "key": told["keys"]["0"], "token": None}))
            assert json.loads(socket.receive_text())["is"] == "refused"
            Browser(socket, told["table"], told["keys"]["0"], "secret")


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        ({"variant": "chess"}, "chess"),
        ({"seats": 9}, "seats"),
        ({"player": "cmd:./bot"}, "no such player"),
        ({"player": "/etc/passwd"}, "no such player"),
        ({"hints": "my_agent:act"}, "no such player"),
        ({"options": {"bonus": "12"}}, "bonus"),
        ({"people": 4}, "player or a person"),
        ({"players": "thumb"}, "a table wants"),
        ({"variant": 7}, "text"),
    ],
)
def test_a_table_that_cannot_be_is_refused_with_a_sentence(wanted: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    plain = {name: value for name, value in wanted.items() if name not in ("players", "variant") or isinstance(value, str)}
    with server(tmp_path) as client:
        body = request(**{name: value for name, value in plain.items() if name != "players"}) | {
            name: value for name, value in wanted.items() if name in ("players", "variant")
        }
        answer = client.post("/api/tables", json=body)
        assert answer.status_code == 400
        assert sentence in answer.json()["error"]
        assert not list(tmp_path.iterdir())


def test_a_player_of_the_command_line_may_be_chosen(tmp_path: Path) -> None:
    with server(tmp_path, players=("pimc:3",)) as client:
        assert "pimc:3" in client.get("/api/games").json()[0]["players"]
        assert opened(client, player="pimc:3")


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


def test_who_only_looked_has_been_there_too(tmp_path: Path) -> None:
    with server(tmp_path, Limits(idle_hours=1)) as client:
        told = opened(client)
        hall: Hall = client.hall  # type: ignore[attr-defined]
        hall.rooms[told["table"]].table.touched = 0
        with connected(client) as socket:
            Browser(socket, told["table"], told["keys"]["0"])
            assert time.time() - hall.rooms[told["table"]].table.touched < 60


def test_a_player_that_fails_is_told_of_and_ends_nothing(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("def act(observation, mask, rng):\n    return -1\n")
    bad = f"{tmp_path / 'bad.py'}:act"
    with server(tmp_path, players=(bad,)) as client:
        told = opened(client, player=bad)
        with connected(client) as socket:
            browser = Browser(socket, told["table"], told["keys"]["0"])
            browser.send(do="speed", seconds=0)
            browser.until("table")
            if browser.state["turn"] == 0:
                browser.send(do="act", word=browser.words[0], moment=browser.state["moment"])
            assert re.search(r"has failed: .*-1", browser.until("refused")["text"])
            browser.send(do="records")
            assert "when the match is over" in browser.until("refused")["text"]


def test_thinking_is_part_of_the_pause_before_a_decision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slow.py").write_text(
        "import time\nimport numpy as np\n\n"
        "def act(observation, mask, rng):\n"
        "    legal = np.flatnonzero(mask)\n"
        "    time.sleep(0.2 if len(legal) > 1 else 0)\n"
        "    return int(legal[0])\n"
    )
    pauses, sleep = list[float](), asyncio.sleep

    async def paused(seconds: float) -> None:
        if seconds > 5:
            await sleep(seconds)
        pauses.append(seconds)
        await sleep(0)

    monkeypatch.setattr("training.browser.room.asyncio.sleep", paused)
    slow = f"{tmp_path / 'slow.py'}:act"
    with server(tmp_path, players=(slow,)) as client:
        told = opened(client, player=slow)
        client.hall.rooms[told["table"]].table.speed = 4.0  # type: ignore[attr-defined]
        with connected(client) as socket:
            browser = Browser(socket, told["table"], told["keys"]["0"])
            browser.play_a_deal(random.Random(1))
    pauses = [pause for pause in pauses if 1 < pause <= 4]
    assert sum(pause <= 3.8 for pause in pauses) >= 3, "what is left of the pause after a thought"
    assert any(pause > 3.8 for pause in pauses), "nearly all of it where the card was forced"


def test_a_table_of_players_alone_is_led_by_whoever_looks(tmp_path: Path) -> None:
    with server(tmp_path) as client:
        told = opened(client, people=0, player="thumb")
        with connected(client) as socket:
            browser = Browser(socket, told["table"], None)
            browser.send(do="speed", seconds=0)
            while not browser.state["scored"]:
                browser.until("table")
            browser.send(do="next")
            while not browser.state["moment"].startswith("2."):
                browser.until("table")
            for job in ("back", "hint", "sit"):
                browser.send(do=job)
                assert browser.until("refused")["text"] == "you are a spectator"


def test_players_of_one_name_are_told_apart(tmp_path: Path) -> None:
    with server(tmp_path) as client:
        told = opened(client, seats=4, player="thumb")
        with connected(client) as socket:
            browser = Browser(socket, told["table"], told["keys"]["0"])
            assert browser.state["names"] == ["Person 0", "thumb 1", "thumb 2", "thumb 3"]


def test_a_socket_that_says_no_hello_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training.browser.server.HELLO_SECONDS", 0.05)
    with server(tmp_path) as client, connected(client) as socket:
        assert is_closed(socket)


def test_a_speed_of_any_length_is_refused_with_a_sentence() -> None:
    for number in ("1" * 400, "-1", "1e999", "NaN", "true", '"1"'):
        with pytest.raises(RefusedError, match=r"the speed must be from 0\.0 to 5\.0 seconds"):
            parsed(f'{{"do":"speed","seconds":{number}}}')


def test_a_folder_keeps_its_token(tmp_path: Path) -> None:
    token = kept_token(tmp_path)
    assert len(token) == 22
    assert kept_token(tmp_path) == token
    if os.name == "posix":
        assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600
    (tmp_path / "token").write_text("")
    with pytest.raises(CommandError, match="token holds no token; remove it"):
        kept_token(tmp_path)


def test_a_browser_that_takes_nothing_loses_its_connection() -> None:
    dropped = list[bool]()

    async def send(text: str) -> None:
        raise ConnectionError

    async def drop() -> None:
        dropped.append(True)

    looker = Looker(send, None, drop)
    asyncio.run(looker.tell({"is": "table"}))
    assert (looker.is_gone, dropped) == (True, [True])


def test_decisions_of_others_are_not_taken_back(tmp_path: Path) -> None:
    """Nor those of a person whose seat a player has taken for a while."""
    with server(tmp_path) as client:
        told = opened(client, people=2)
        with connected(client) as one:
            browser = Browser(one, told["table"], told["keys"]["0"])
            browser.send(do="replace", seat=1, player="random")
            browser.send(do="back")
            assert browser.until("refused")["text"] == "a decision is taken back only where one person plays"


def test_all_seeds_may_be_drawn() -> None:
    """From fewer of them the cards of the others could be found by trying all."""
    rules = make_rules(game("down_up"))
    assert max(new_table(rules, ["random"] * rules.seats, {}, "thumb").session.seed for _ in range(20)) > 2**32


def test_records_are_given_when_the_match_is_over(tmp_path: Path) -> None:
    with server(tmp_path) as client:
        told = opened(client, variant="sniped_whist")
        with connected(client) as socket:
            browser = Browser(socket, told["table"], told["keys"]["0"])
            browser.send(do="records")
            browser.until("refused")
            browser.send(do="speed", seconds=0)
            browser.play_a_deal(random.Random(1))
            assert browser.state["over"]
            browser.send(do="records")
            lines = browser.until("records")["text"].splitlines()
    assert not list(check_records(enumerate(map(json.loads, lines), 1)))


def test_recorded_deals_are_shown(tmp_path: Path) -> None:
    records = [record for _, record in zip(range(2), record_matches("noms", seed=1), strict=False)]
    text = "".join(f"{json.dumps(record)}\n" for record in records)
    with server(tmp_path, Limits(film_deals=2)) as client:
        film = client.post("/api/film?player=thumb", content=text).json()
        assert [deal["title"] for deal in film["deals"]] == ["Match 0, deal 0", "Match 0, deal 1"]
        for body, sentence in (
            (text * 2, "1 to 2 deals"),
            ("{}", "line 1"),
            ("", "1 to 2 deals"),
            (text.replace('"noms"', '"chess"'), "line 1"),
        ):
            answer = client.post("/api/film", content=body)
            assert (answer.status_code, sentence in answer.json()["error"]) == (400, True)
        assert client.post("/api/film", content=b"\xff").status_code == 400
        assert client.post("/api/film?player=cmd:x", content=text).status_code == 400
        assert client.post("/api/film", content=b"x" * 2_000_001).status_code == 400


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


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_table_is_the_same_after_a_restart(variant: str) -> None:
    for actions in (0, 5, 70, 200):
        table = some_table(min(actions, 30) if variant == "sniped_whist" else actions, variant)
        again = table_from(table.to_json())
        assert again.to_json() == table.to_json()
        assert again.session.table.get_state() == table.session.table.get_state()
        assert (again.sheet, again.moment, again.names) == (table.sheet, table.moment, table.names)
        assert again.drawing(0) == table.drawing(0)


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


def test_a_table_that_cannot_be_saved_says_so_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with server(tmp_path) as client:
        told = opened(client, people=2)
        with connected(client) as one:
            browser = Browser(one, told["table"], told["keys"]["0"])
            monkeypatch.setattr("training.browser.live.write_atomically", disk_full)
            browser.send(do="speed", seconds=0)
            assert browser.until("table")["speed"] == 0
            assert "not saved" in browser.until("refused")["text"], "last, so that it is seen"
        answer = client.post("/api/tables", json=request())
        assert (answer.status_code, answer.json()["error"]) == (500, "the server cannot keep it: No space left on device")


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@contextmanager
def process(folder: Path, port: int) -> Iterator[subprocess.Popen[str]]:
    """The command in a process of its own, once it says where it is."""
    words = [sys.executable, "-m", "training", "table", "--port", str(port), "--folder", str(folder)]
    started = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert started.stdout is not None
        assert started.stdout.readline() == f"open http://127.0.0.1:{port}/; Ctrl-C ends the server, the tables stay\n"
        yield started
    finally:
        started.kill()
        started.communicate()


def test_after_kill_9_the_tables_go_on_from_the_last_decision(tmp_path: Path) -> None:
    import httpx2 as httpx
    from websockets.sync.client import connect

    port, url = free_port(), ""
    told: dict[str, Any] = {}
    state: dict[str, Any] = {}

    def hello(socket: Any) -> dict[str, Any]:
        socket.send(json.dumps({"do": "hello", "table": told["table"], "key": told["keys"]["0"], "token": None}))
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
                break
            except httpx.ConnectError:
                time.sleep(0.1)
        with connect(f"ws://127.0.0.1:{port}/socket", origin=Origin(f"http://127.0.0.1:{port}")) as socket:
            state = hello(socket)
            table = table_from((tmp_path / f"{told['table']}.json").read_text())
            seat = int(table.session.table.row.seat)
        with connect(f"ws://127.0.0.1:{port}/socket") as socket:
            told["keys"]["0"] = told["keys"][str(seat)]
            state = hello(socket)
            word = table.session.table.legal_words()[0]
            socket.send(json.dumps({"do": "act", "word": word, "moment": state["moment"]}))
            state = until(socket, "table")
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
            again = hello(socket)
    assert again["moment"] == state["moment"] == "1.1"
    assert (again["turn"], again["status"]) == (state["turn"], state["status"])


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
