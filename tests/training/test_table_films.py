"""`noms table`: deals that are over, as films with what an analysis found, as moving pictures and as records."""

import json
import random
import re
import time
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from starlette.testclient import TestClient, WebSocketTestSession

from noms_env.record import check_records, record_matches
from noms_training.play.browser.messages import Limits
from tests.training.table_browsers import FAST, Browser, connected, opened, server


def over(client: TestClient, socket: WebSocketTestSession, **wanted: Any) -> tuple[Browser, dict[str, Any]]:
    """A person at a table whose first deal is over."""
    told = opened(client, **wanted)
    browser = Browser(socket, told["table"], told["keys"]["0"])
    browser.send(do="film", deal=1, analyse=True)
    assert browser.until("refused")["text"] == "wait until the deal is over"
    browser.send(do="speed", seconds=0)
    browser.until("table")
    browser.play_a_deal(random.Random(1))
    return browser, told


def test_a_deal_that_is_over_is_analysed_while_the_table_goes_on(tmp_path: Path) -> None:
    with server(tmp_path) as client, connected(client) as socket:
        browser, _ = over(client, socket, variant="up_down", seats=4)
        browser.send(do="film", deal=1, analyse=True)
        browser.send(do="film", deal=1, analyse=True)
        browser.send(do="next")
        kinds = [browser.next() for _ in range(3)]
        while not any(message["is"] == "film" for message in kinds):
            kinds.append(browser.next())
        assert [message["text"] for message in kinds if message["is"] == "refused"] == ["wait for the current analysis"]
        assert browser.state["moment"].startswith("2.")
        (film,) = (message["film"] for message in kinds if message["is"] == "film")
        (deal,) = film["deals"]
        assert {*deal["moments"][0]["views"]} == {"own"}, "the match goes on: a seat's own view"
        judged = {number: moment for number, moment in enumerate(deal["moments"]) if "judged" in moment}
        assert {moment["seat"] for moment in judged.values()} == {0}
        losses = {number: moment["judged"]["points"] for number, moment in judged.items()}
        assert deal["worst"] is None or losses[deal["worst"]] > 0
        browser.send(do="film", deal=1, analyse=True)
        assert browser.until("film")["film"] == film, "at once: it is remembered"


def test_analyses_are_not_too_often(tmp_path: Path) -> None:
    with server(tmp_path, Limits(rate=1e9, analysis_seconds=1000)) as client, connected(client) as socket:
        browser, _ = over(client, socket, variant="down_up")
        browser.send(do="film", deal=1, analyse=True)
        browser.until("film")
        browser.send(do="next")
        browser.until("table")
        browser.play_a_deal(random.Random(1))
        browser.send(do="film", deal=2, analyse=True)
        assert re.search("wait [0-9]+ seconds for the next analysis", browser.until("refused")["text"])


def test_a_film_of_a_match_that_is_over_has_all_views(tmp_path: Path) -> None:
    with server(tmp_path) as client, connected(client) as socket:
        browser, _ = over(client, socket, variant="sniped_whist")
        browser.send(do="film", deal=1, analyse=True)
        deal = browser.until("film")["film"]["deals"][0]
        assert {*deal["moments"][0]["views"]} == {"own", "all"}
        assert {moment["seat"] for moment in deal["moments"] if "judged" in moment} == {0, 1, 2}
        browser.send(do="film", deal=2, analyse=True)
        assert browser.until("refused")["text"] == "wait until the deal is over"
        time.sleep(FAST.film_seconds)
        browser.send(do="film", deal=1, analyse=False)
        assert not {"worst", "final"} & browser.until("film")["film"]["deals"][0].keys()


def frames_of(gif: bytes) -> int:
    with Image.open(BytesIO(gif)) as image:
        return int(image.n_frames)  # type: ignore[attr-defined]  # of a GIF


def test_a_picture_shows_a_deal_from_a_file_or_the_one_that_is_over_at_a_table(tmp_path: Path) -> None:
    record = next(record_matches("up_down", 4, seed=1))
    with server(tmp_path) as client, connected(client) as socket:
        body = json.dumps(record)
        answer = client.post("/api/picture?deal=0&view=all&theme=dark", content=body)
        assert answer.headers["content-type"] == "image/gif"
        assert frames_of(answer.content) <= len(record["steps"]) + 1
        seen = client.post("/api/picture?deal=0&view=1&theme=dark", content=body)
        assert frames_of(seen.content) > 1
        assert seen.content != answer.content
        for wrong, sentence in (("deal=1&view=all", "from 0 to 0"), ("deal=0&view=4", "no such view"), ("", "from 0 to 0")):
            assert sentence in client.post(f"/api/picture?{wrong}", content=body).json()["error"]
        moment = client.post("/api/picture?deal=0&view=all&kind=svg&moment=3", content=body)
        assert moment.headers["content-type"] == "image/svg+xml"
        assert moment.content.startswith(b"<svg")
        for wrong, sentence in (("kind=bmp", "gif, png, svg"), ("kind=svg&moment=999", "moment must be from 0")):
            assert sentence in client.post(f"/api/picture?deal=0&view=all&{wrong}", content=body).json()["error"]
        told = opened(client, variant="up_down", seats=4)
        key = {"table": told["table"], "key": told["keys"]["0"]}
        assert client.post("/api/table-picture", json={**key, "deal": 0}).json()["error"] == "wait until the deal is over"
        assert "no seat" in client.post("/api/table-picture", json={**key, "deal": 0, "key": "x"}).json()["error"]
        for lacking in ({}, key, {**key, "deal": "0"}):
            assert "was expected" in client.post("/api/table-picture", json=lacking).json()["error"]
        browser, told = over(client, socket, variant="up_down", seats=4)
        browser.send(do="film", deal=1, analyse=False)
        film = browser.until("film")["film"]
        assert (film["deal"], film["deals"][0]["title"]) == (0, "Deal 1")
        key = {"table": told["table"], "key": told["keys"]["0"], "deal": film["deal"]}
        own, all_hands = (client.post(f"/api/table-picture?view={view}", json=key).content for view in ("0", "all"))
        assert frames_of(own) > 1
        assert own == all_hands, "the match goes on: a seat's own view"
        browser.send(do="next")
        browser.until("table")
        assert client.post("/api/table-picture?view=0", json=key).content == own, "the deal of the film, not the present one"


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
