"""`noms table`: what the page is made of, and how the server waits for nobody and says what went wrong."""

import asyncio
import json
import logging
import re
import threading
from pathlib import Path
from typing import Any

import pytest

from noms_env.core.cards import CARD_WORDS
from noms_env.show.theme import LIGHT
from noms_training.play.browser.gallery import states
from noms_training.play.browser.hall import Hall
from noms_training.play.browser.live import LiveTable
from noms_training.play.browser.lobby import Lobby
from noms_training.play.browser.page import ASSETS
from noms_training.play.browser.room import Room
from tests.training.table_browsers import FAST, Browser, connected, opened, request, server, some_table


def test_every_file_that_the_page_asks_for_is_served(tmp_path: Path) -> None:
    with server(tmp_path) as client:
        page = client.get("/").text + client.get("/gallery.html").text
        wanted, seen = set(re.findall(r'(?:src|href)="/([^"]+)"', page)), set[str]()
        while wanted - seen:
            name = min(wanted - seen)
            seen.add(name)
            answer = client.get(f"/{name}")
            assert answer.status_code == 200, name
            if name.endswith(".js"):
                folder = name.rpartition("/")[0]
                wanted |= {f"{folder}/{one}".strip("/") for one in re.findall(r'from ?"\./([^"]+)"', answer.text)}
    assert {"vendor/preact.js", "vendor/htm.js", "decks.js", "layout.js"} <= seen
    assert not [name for name in seen if "http" in name], "nothing comes from elsewhere"


def test_cards_and_colours_come_from_the_drawing(tmp_path: Path) -> None:
    with server(tmp_path) as client:
        decks = json.loads(client.get("/decks.js").text.removeprefix("export const DECKS = ").removesuffix(";\n"))
        for told, words in zip(decks, CARD_WORDS, strict=True):
            assert {*told["cards"]} == {*words}
            for word in words:
                assert f'id="noms-c-{word}{told["letter"]}"' in told["symbols"]
        assert all(f"--{name}:{colour};" in client.get("/drawing.css").text for name, colour in LIGHT.items())
    own_colours = re.findall(r"#[0-9a-f]{3,6}\b", (ASSETS / "tokens.css").read_text())
    assert own_colours == []


def test_the_vendored_files_have_their_licences() -> None:
    vendor = ASSETS / "vendor"
    assert "MIT License" in (vendor / "LICENSE-preact.txt").read_text()
    assert "Apache License" in (vendor / "LICENSE-htm.txt").read_text()


def test_a_wrong_option_is_named(tmp_path: Path) -> None:
    with server(tmp_path) as client:
        told = client.post("/api/tables", json=request("small_ships", 4, options={"target": "0"})).json()
        assert told["field"] == "target"
        assert told["error"].startswith("target must be an integer from 1 to 10000")
        assert client.post("/api/tables", json=request("small_ships", 9)).json()["field"] is None


def test_every_option_has_a_control_and_every_level_a_player(tmp_path: Path) -> None:
    for game in Lobby().games():
        assert [*game["levels"]] == ["easy", "medium", "strong"]
        assert {*game["levels"].values()} <= {player["name"] for player in game["players"]}
        assert game["sentence"] != game["intro"], "a sentence of its own"
        for option in game["options"]:
            kinds = [option["flag"], option["words"], option["numbers"], option["allowed"].startswith(("an integer", "a list"))]
            assert any(kinds), option["name"]


def test_the_gallery_has_every_phase_and_number_of_seats() -> None:
    made = {state["name"]: state["table"]["view"] for state in states()}
    assert {view["phase"] for view in made.values()} == {"call", "trump", "nominate", "suit", "play", None}
    assert {len(view["places"]) for view in made.values()} == set(range(2, 8))


def test_a_table_that_is_restored_holds_up_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a_slow_table", "a_fast_table"):
        some_table(3).save(tmp_path / f"{name}.json")
    hall, free = Hall(tmp_path, Lobby(), FAST), threading.Event()
    restored = Hall._read_table

    def slowly(hall: Hall, path: Path) -> LiveTable:
        if path.stem == "a_slow_table":
            assert free.wait(30)
        return restored(hall, path)

    monkeypatch.setattr(Hall, "_read_table", slowly)

    async def both() -> None:
        slow = [asyncio.create_task(hall.room("a_slow_table")) for _ in range(2)]
        await asyncio.wait_for(hall.room("a_fast_table"), 20)
        await asyncio.wait_for(hall.open(json.dumps(request())), 20)
        assert not any(task.done() for task in slow)
        free.set()
        first, second = await asyncio.gather(*slow)
        assert first is second, "it is restored once"

    asyncio.run(both())


def test_what_goes_wrong_while_the_players_act_is_told_and_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(room: Room, *_: Any) -> bool:
        raise RuntimeError("a bug")

    with server(tmp_path) as client:
        told = opened(client, people=0, player="thumb")
        monkeypatch.setattr(Room, "_still_acts", broken)
        client.hall.rooms[told["table"]]._failed_seat = lambda: None  # type: ignore[attr-defined]
        with caplog.at_level(logging.ERROR, "uvicorn.error"), connected(client) as socket:
            browser = Browser(socket, told["table"], None)
            assert browser.until("refused")["text"] == "the table has failed: a bug"
    assert any("has failed" in record.message and record.exc_info for record in caplog.records)


def test_the_page_is_told_when_all_is_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, free = threading.Event(), threading.Event()
    announced = list[str]()

    def use(parts: dict[str, Any]) -> None:
        announced.extend(parts)
        begun.set()
        assert free.wait(30)

    monkeypatch.setattr("noms_training.play.browser.lobby.PROGRESS.use", use)
    with server(tmp_path) as client:
        assert client.get("/api/ready").json() == {"ready": True}
        client.hall.lobby.compile()  # type: ignore[attr-defined]
        assert begun.wait(30)
        assert client.get("/api/ready").json() == {"ready": False}
        free.set()
        while not client.get("/api/ready").json()["ready"]:
            pass
    assert announced == ["tables and players"], "no player is named whom nobody chose"
