"""`noms table`: finished deals as films with an analysis, as pictures and as records."""

import json
import re
import time
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

from PIL import Image

from noms_env.record import check_records, record_matches
from noms_training.play.browser.messages import Limits
from tests.training.table_browsers import FAST, TableServer, run_server


def test_a_deal_is_analysed_while_the_match_continues(server: TableServer) -> None:
    browser = server.open(variant="up_down", seats=4).browser()
    assert browser.refusal(do="film", deal=1, analyse=True) == "wait until the deal is over"
    browser.play_a_deal()
    browser.send(do="film", deal=1, analyse=True)
    assert browser.refusal(do="film", deal=1, analyse=True) == "wait for the current analysis"
    browser.send(do="next")
    film = browser.until("film")["film"]
    assert browser.state["moment"].startswith("2.")
    (deal,) = film["deals"]
    assert (film["deal"], deal["title"]) == (0, "Deal 1")
    assert {*deal["moments"][0]["views"]} == {"own"}, "the match continues: a seat's own view"
    losses = {number: moment["judged"]["points"] for number, moment in enumerate(deal["moments"]) if "judged" in moment}
    assert {deal["moments"][number]["seat"] for number in losses} == {0}
    assert deal["worst"] is None or losses[deal["worst"]] > 0
    assert browser.film(analyse=True) == film, "at once: it is cached"


def test_analyses_have_a_rate(tmp_path: Path) -> None:
    with run_server(tmp_path, Limits(rate=1e9, pace=0, analysis_seconds=1000)) as server:
        browser = server.open().browser()
        browser.play_a_deal()
        browser.film(analyse=True)
        browser.send(do="next")
        browser.wait(scored=False)
        browser.play_a_deal()
        assert re.search("wait [0-9]+ seconds for the next analysis", browser.refusal(do="film", deal=2, analyse=True))


def test_after_a_match_films_have_all_views_and_records_are_sent(server: TableServer) -> None:
    browser = server.open(variant="sniped_whist").browser()
    assert "until the match is over" in browser.refusal(do="records")
    browser.play_a_deal()
    assert browser.state["over"]
    deal = browser.film(analyse=True)["deals"][0]
    assert {*deal["moments"][0]["views"]} == {"own", "all"}
    assert {moment["seat"] for moment in deal["moments"] if "judged" in moment} == {0, 1, 2}
    assert browser.refusal(do="film", deal=2, analyse=True) == "wait until the deal is over"
    browser.send(do="records")
    lines = browser.until("records")["text"].splitlines()
    assert not list(check_records(enumerate(map(json.loads, lines), 1)))
    time.sleep(FAST.film_seconds)
    assert not {"worst", "final"} & browser.film()["deals"][0].keys()


def frames_of(gif: bytes) -> int:
    with Image.open(BytesIO(gif)) as image:
        return int(image.n_frames)  # type: ignore[attr-defined]  # of a GIF


def test_a_picture_shows_a_recorded_deal(server: TableServer) -> None:
    record = next(record_matches("up_down", 4, seed=1))
    body = json.dumps(record)
    pictures = [server.client.post(f"/api/picture?deal=0&view={view}&theme=dark", content=body) for view in ("all", "1")]
    assert pictures[0].headers["content-type"] == "image/gif"
    assert 1 < frames_of(pictures[0].content) <= len(record["steps"]) + 1
    assert pictures[0].content != pictures[1].content
    moment = server.client.post("/api/picture?deal=0&view=all&kind=svg&moment=3", content=body)
    assert moment.headers["content-type"] == "image/svg+xml"
    assert moment.content.startswith(b"<svg")
    for query, sentence in (
        ("", "from 0 to 0"),
        ("deal=1&view=all", "from 0 to 0"),
        ("deal=0&view=4", "no such view"),
        ("deal=0&view=all&kind=bmp", "gif, png, svg"),
        ("deal=0&view=all&kind=svg&moment=999", "moment must be from 0"),
    ):
        assert sentence in server.refusal(f"picture?{query}", body)


def test_a_picture_shows_a_finished_deal_of_a_table(server: TableServer) -> None:
    table = server.open(variant="up_down", seats=4)
    body: dict[str, Any] = {"table": table.name, "key": table.keys[0], "deal": 0}
    for change, sentence in (({}, "until the deal is over"), ({"key": "x"}, "no seat"), ({"deal": "0"}, "was expected")):
        assert sentence in server.refusal("table-picture", body | change)
    assert "was expected" in server.refusal("table-picture", {})
    browser = table.browser()
    browser.play_a_deal()
    own, everything = (server.client.post(f"/api/table-picture?view={view}", json=body).content for view in ("0", "all"))
    assert frames_of(own) > 1
    assert own == everything, "the match continues: a seat's own view"
    browser.send(do="next")
    browser.until("table")
    assert server.client.post("/api/table-picture?view=0", json=body).content == own, "not the present deal"


def test_recorded_deals_are_shown(tmp_path: Path) -> None:
    text = "".join(f"{json.dumps(record)}\n" for record in islice(record_matches("noms", seed=1), 2))
    with run_server(tmp_path, Limits(film_deals=2)) as server:
        film = server.client.post("/api/film?player=thumb", content=text).json()
        assert [deal["title"] for deal in film["deals"]] == ["Match 0, deal 0", "Match 0, deal 1"]
        bodies: list[tuple[str | bytes, str]] = [
            (text * 2, "1 to 2 deals"),
            ("", "1 to 2 deals"),
            ("{}", "line 1"),
            (text.replace('"noms"', '"chess"'), "line 1"),
            (b"\xff", "UTF-8"),
            (b"x" * 2_000_001, "2000000 bytes"),
        ]
        for body, sentence in bodies:
            assert sentence in server.refusal("film", body)
        assert "no such player" in server.refusal("film?player=cmd:x", text)
