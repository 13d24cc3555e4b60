"""`noms table`: the files and data of the page, and a server that stays responsive and reports errors."""

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
from noms_training.play.browser.film import ASSETS
from noms_training.play.browser.gallery import states
from noms_training.play.browser.hall import Hall
from noms_training.play.browser.live import LiveTable
from noms_training.play.browser.lobby import Lobby
from noms_training.play.browser.room import Room
from tests.training.table_browsers import FAST, TableServer, request, some_table


def test_every_file_that_the_page_loads_is_served(server: TableServer) -> None:
    page = server.client.get("/").text + server.client.get("/gallery.html").text
    names, checked = set(re.findall(r'(?:src|href)="/([^"]+)"', page)), set[str]()
    while names - checked:
        name = min(names - checked)
        checked.add(name)
        answer = server.client.get(f"/{name}")
        assert answer.status_code == 200, name
        if name.endswith(".js"):
            folder = name.rpartition("/")[0]
            names |= {f"{folder}/{file}".strip("/") for file in re.findall(r'from ?"\./([^"]+)"', answer.text)}
    assert {"vendor/preact.js", "vendor/htm.js", "decks.js", "layout.js"} <= checked
    assert not [name for name in checked if "http" in name], "nothing comes from elsewhere"


def test_cards_and_colours_come_from_the_drawing(server: TableServer) -> None:
    script = server.client.get("/decks.js").text
    decks = json.loads(script.removeprefix("export const DECKS = ").removesuffix(";\n"))
    for deck, words in zip(decks, CARD_WORDS, strict=True):
        assert {*deck["cards"]} == {*words}
        assert all(f'id="noms-c-{word}{deck["letter"]}"' in deck["symbols"] for word in words)
    style = server.client.get("/drawing.css").text
    assert all(f"--{name}:{colour};" in style for name, colour in LIGHT.items())
    assert not re.search(r"#[0-9a-f]{3,6}\b", (ASSETS / "tokens.css").read_text()), "the page has no colours of its own"


def test_the_vendored_files_have_their_licences() -> None:
    vendor = ASSETS / "vendor"
    assert "MIT License" in (vendor / "LICENSE-preact.txt").read_text()
    assert "Apache License" in (vendor / "LICENSE-htm.txt").read_text()


def test_every_option_has_a_control_and_every_level_a_player() -> None:
    for game in Lobby().games():
        assert [*game["levels"]] == ["easy", "medium", "strong"]
        assert {*game["levels"].values()} <= {player["name"] for player in game["players"]}
        assert game["sentence"] != game["intro"], "a sentence of its own"
        for option in game["options"]:
            kinds = [option["flag"], option["words"], option["numbers"], option["allowed"].startswith(("an integer", "a list"))]
            assert any(kinds), option["name"]


def test_the_gallery_has_every_phase_and_number_of_seats() -> None:
    views = [state["table"]["view"] for state in states()]
    assert {view["phase"] for view in views} == {"call", "trump", "nominate", "suit", "play", None}
    assert {len(view["places"]) for view in views} == set(range(2, 8))


def test_restoring_a_table_delays_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a_slow_table", "a_fast_table"):
        some_table(3).save(tmp_path / f"{name}.json")
    hall, may_end = Hall(tmp_path, Lobby(), FAST), threading.Event()
    read_table = Hall._read_table

    def read_slowly(hall: Hall, path: Path) -> LiveTable:
        assert path.stem != "a_slow_table" or may_end.wait(30)
        return read_table(hall, path)

    monkeypatch.setattr(Hall, "_read_table", read_slowly)

    async def restore() -> None:
        slow = [asyncio.create_task(hall.room("a_slow_table")) for _ in range(2)]
        await asyncio.wait_for(hall.room("a_fast_table"), 20)
        await asyncio.wait_for(hall.open(json.dumps(request())), 20)
        assert not any(task.done() for task in slow)
        may_end.set()
        first, second = await asyncio.gather(*slow)
        assert first is second, "it is restored once"

    asyncio.run(restore())


def test_an_error_while_the_players_act_is_shown_and_logged(
    server: TableServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(room: Room, *_: Any) -> bool:
        raise RuntimeError("a bug")

    table = server.open(people=0, player="thumb")
    monkeypatch.setattr(Room, "_still_acts", fail)
    monkeypatch.setattr(table.room, "_failed_seat", lambda: None)
    with caplog.at_level(logging.ERROR, "uvicorn.error"):
        assert table.browser(None).until("refused")["text"] == "the table has failed: a bug"
    assert any("has failed" in record.message and record.exc_info for record in caplog.records)


def test_the_page_knows_when_all_is_compiled(server: TableServer, monkeypatch: pytest.MonkeyPatch) -> None:
    started, may_end, names = threading.Event(), threading.Event(), list[str]()

    def use(parts: dict[str, Any]) -> None:
        names.extend(parts)
        started.set()
        assert may_end.wait(30)

    monkeypatch.setattr("noms_training.play.browser.lobby.PROGRESS.use", use)

    def is_ready() -> bool:
        return bool(server.client.get("/api/ready").json()["ready"])

    assert is_ready()
    server.hall.lobby.compile()
    assert started.wait(30)
    assert not is_ready()
    may_end.set()
    while not is_ready():
        pass
    assert names == ["tables and players"], "no player is named that nobody chose"
