"""`noms replay --html` and `--picture`: the content of pages and pictures, and refusals."""

import base64
import io
import json
import re
import zlib
from html.parser import HTMLParser
from itertools import islice
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from PIL import Image

from noms_env.players import TellsProbabilities, load_player
from noms_env.record import Record, record_matches, replay, write_records
from noms_env.record.replaying import pair_with_previous
from noms_env.show import picture
from noms_env.show.view import Notes, look
from noms_training.play.browser.film import Shown, drawings, film_of, moments, page_of
from tests.commands import Run, assert_refused
from tests.envs.play import KINDS, Kind

EVIL = '</script><script>alert(1)</script>"><img src=x onerror=alert(2)>'


def deals(kind: Kind, count: int, seed: int = 3) -> list[Record]:
    return [*islice(record_matches(kind.variant, kind.seats, 3, seed, kind.options), count)]


def film_in(page: str) -> dict[str, Any]:
    """Return the film that a page holds."""
    packed = re.search(r'<script type="text/plain" id="film">([A-Za-z0-9+/=]+)</script>', page)
    assert packed
    film: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(packed[1])))
    return film


def texts_of(film: dict[str, Any], deal: int, view: str) -> list[str]:
    """Return the drawing of every moment of a view, each as one text."""
    frames = film["deals"][deal]["views"][view]["frames"]
    return ["".join(film["texts"][number] for number in frame) for frame in frames]


@pytest.mark.parametrize("kind", [*KINDS.values()][::4], ids=str)
def test_a_film_shows_every_moment_from_every_seat(kind: Kind) -> None:
    (record,) = deals(kind, 1)
    data = film_of([record], Shown())
    assert set(data["deals"][0]["views"]) == {"all", *map(str, range(kind.seats))}
    for number, table in enumerate(replay(record)):
        for seat in (None, *range(kind.seats)):
            taken = record["steps"][number]["action"] if number < len(record["steps"]) else None
            sees = not table.is_scored and seat in (None, int(table.row.seat))
            drawn = picture.parts(look(table, seat, seat is None), Notes(taken=taken if sees else None))
            assert texts_of(data, 0, "all" if seat is None else str(seat))[number] == "".join(drawn.values())
    assert len(data["deals"][0]["moments"]) == len(record["steps"]) + 1
    assert data["deals"][0]["result"]


def hidden_cards(record: Record, number: int, seat: int) -> set[str]:
    """Return the cards that a seat has not seen before a step of a deal without an open hand."""
    steps = record["steps"][:number]
    seen = {step["action"] for step in steps if step["phase"] in ("play", "nominate")} | {record["turn_up"]}
    return {card for other, hand in enumerate(record["hands"]) if other != seat for card in hand} - seen


@pytest.mark.parametrize("kind", [KINDS["small ships"], KINDS["nonesuch"], KINDS["down up"]], ids=str)
def test_a_page_for_one_seat_holds_no_hand_of_the_others(kind: Kind) -> None:
    record = deals(kind, 1)[0]
    data = film_in(page_of(film_of([record], Shown(seat=1)), "one"))
    assert set(data["deals"][0]["views"]) == {"1"}
    for number, shown in enumerate(texts_of(data, 0, "1")):
        assert not set(re.findall(r"#noms-[ct]-([A-Z0-9]+)[fd]\"", shown)) & hidden_cards(record, number, 1) - {"EX"}
    used = {number for frame in data["deals"][0]["views"]["1"]["frames"] for number in frame}
    assert used == set(range(len(data["texts"]))), "no texts of other views"


def test_an_opponent_does_not_see_the_partner_before_the_nominated_card() -> None:
    records = deals(KINDS["small ships"], 8)
    record = next(record for record in records if record["partner"] not in (None, record["declarer"]))
    opponent = next(seat for seat in range(4) if seat not in (record["declarer"], record["partner"]))
    plays = [step["action"] if step["phase"] == "play" else None for step in record["steps"]]
    shown = texts_of(film_of([record], Shown(seat=opponent)), 0, str(opponent))
    assert all(">partner<" not in text for text in shown[: plays.index(record["nominated"]) + 1])
    assert ">partner<" in shown[-1]


def test_a_film_has_the_probabilities_of_its_player() -> None:
    record = deals(KINDS["down up"], 1)[0]
    policy = load_player("down_up")
    assert isinstance(policy, TellsProbabilities)
    shown = Shown(players=[policy])
    for moment in moments(record, shown):
        if moment.taken is None:
            assert moment.options == {}
            continue
        observation, mask = moment.table.view(int(moment.table.row.seat))
        expected = policy.probabilities(observation, mask)
        words = {word: float(expected[moment.table.number(word)]) for word in moment.table.legal_words()}
        assert {word: option["p"] for word, option in moment.options.items()} == pytest.approx(words, abs=1e-4)
    film = film_of([record], shown)
    assert all(("options" in moment) == ("taken" in moment) for moment in film["deals"][0]["moments"])
    film = film_of([record], Shown(seat=0, players=[policy]))
    assert all(("options" in moment) == (moment.get("seat") == 0) for moment in film["deals"][0]["moments"])


def test_values_of_a_search_come_with_their_errors() -> None:
    record = deals(Kind("down_up", 3, {}), 1)[0]
    shown = Shown(players=[load_player("search:down_up,worlds=2")])
    options = [option for moment in moments(record, shown) for option in moment.options.values()]
    assert any("v" in option for option in options)
    assert all("e" in option for option in options if "v" in option)


def test_a_page_loads_nothing_and_runs_nothing_foreign(monkeypatch: pytest.MonkeyPatch) -> None:
    page = page_of(film_of(deals(KINDS["noms"], 1), Shown(names=[EVIL] * 4)), EVIL)
    parser, tags = HTMLParser(), list[tuple[str, dict[str, str | None]]]()
    monkeypatch.setattr(parser, "handle_starttag", lambda tag, attributes: tags.append((tag, dict(attributes))))
    parser.feed(page)
    for tag, attributes in tags:
        assert not {"src", "onclick", "onload", "style"} & set(attributes), tag
        assert tag not in ("link", "iframe", "object", "img", "base")
    assert sum(tag == "script" for tag, _ in tags) == 2
    policy = next(attributes["content"] for _, attributes in tags if attributes.get("http-equiv"))
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert not re.search(r"(?<![\w/])https?://(?!www\.w3\.org/2000/svg)", page)
    for script in ("eval(", "new Function", "document.write", "insertAdjacentHTML", "outerHTML"):
        assert script not in page
    for text in film_in(page)["texts"]:
        assert "<script" not in text
        ElementTree.fromstring(f"<g>{text}</g>")


@pytest.fixture
def games(tmp_path: Path) -> Path:
    write_records(tmp_path / "games.jsonl", deals(KINDS["small ships"], 2))
    return tmp_path / "games.jsonl"


def test_the_command_writes_a_page(run: Run, games: Path) -> None:
    out = games.with_name("games.html")
    status, text, _ = run("replay", games, "--html", out, "--name", "Ann", "Bo", "Cy", "<Di>")
    assert status == 0
    assert re.fullmatch(rf"{out}: \d+ kB\n", text)
    film = film_in(out.read_text())
    assert [deal["title"] for deal in film["deals"]] == ["Match 0, deal 0", "Match 0, deal 1"]
    assert film["deals"][0]["names"] == ["Ann", "Bo", "Cy", "<Di>"]


def test_the_command_writes_pictures(run: Run, games: Path) -> None:
    record = deals(KINDS["small ships"], 1)[0]
    for name in ("one.svg", "one.png", "one.gif"):
        out = games.with_name(name)
        assert run("replay", games, "--match", "0", "--deal", "0", "--picture", out)[0] == 0
    assert games.with_name("one.svg").read_text() == drawings(record, Shown(), "light")[-1]
    with Image.open(games.with_name("one.png")) as image:
        assert image.size == (1080, 1380)
    with Image.open(io.BytesIO(games.with_name("one.gif").read_bytes())) as image:
        assert image.size == (360, 460)
        assert image.n_frames > len(record["steps"]) // 2  # type: ignore[attr-defined]  # of animated files
    assert games.with_name("one.gif").stat().st_size <= 1_000_000
    out = games.with_name("two.svg")
    assert run("replay", games, "--deal", "0", "--seat", "1", "--moment", "2", "--dark", "--picture", out)[0] == 0
    assert out.read_text() == drawings(record, Shown(seat=1), "dark")[2]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--picture", "a.svg"], "a picture shows one deal, not 2: choose it by --match and --deal"),
        (["--deal", "0", "--picture", "a.bmp"], "a picture must be a file that ends with .svg, .png, .gif, not .bmp"),
        (["--deal", "0", "--picture", "a.png", "--moment", "999"], "the moment must be from 0 to"),
        (["--deal", "0", "--picture", "a.gif", "--moment", "1"], "a GIF shows all moments of a deal; leave the moment out"),
        (["--html", "nowhere/a.html"], "cannot write nowhere/a.html: there is no such folder"),
        (["--html", "a.html", "--seat", "4"], "--seat must be a seat from 0 to 3, not 4"),
        (["--html", "a.html", "--name", "Ann"], "--name wants 4 names, one for each seat, not 1"),
        (["--html", "a.html", "--name", *["x" * 201] * 4], "--name wants names of 200 letters at most"),
        (["--moment", "3"], "give --html or --picture too"),
        (["--html", "a.svg", "--deal", "0", "--picture", "./a.svg"], "--html and --picture want two files"),
    ],
)
def test_an_impossible_picture_or_page_is_refused_and_nothing_is_written(
    run: Run, games: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], sentence: str
) -> None:
    monkeypatch.chdir(games.parent)
    assert_refused(run("replay", games, *words), sentence)
    assert [path.name for path in games.parent.iterdir()] == ["games.jsonl"]


def test_a_single_deal_is_shown_with_the_points_of_those_before_it(run: Run, tmp_path: Path) -> None:
    """Sniped Whist may count the tricks of the deals before, which decide who wins the match."""
    records = [*record_matches("sniped_whist", seats=4, options={"accumulate": True, "n_hands": 3}, seed=1)]
    path, page, drawing = (tmp_path / f"last.{end}" for end in ("jsonl", "html", "svg"))
    deal = records[-1]["deal"]
    write_records(path, [*records, {**records[0], "match": 1}])  # a match without a deal of that number
    for option, file in (("--html", page), ("--picture", drawing)):
        assert run("replay", path, "--deal", deal, option, file)[0] == 0
    film = film_in(page.read_text())
    assert [shown["title"] for shown in film["deals"]] == [f"Match 0, deal {deal}"]
    assert texts_of(film, 0, "all") == texts_of(film_of(records, Shown()), len(records) - 1, "all")
    *_, (record, before) = pair_with_previous(records)
    assert before is not None
    assert drawing.read_text() == drawings(record, Shown(), "light", before)[-1]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"action": "pass"}, "step 5: 'pass' means nothing in the phase play"),
        ({"action": "indicate"}, "step 5: seat "),
        ({"seat": 9}, "line 1: step 5: seat must be a seat, not 9"),
        ({"phase": "call"}, "step 5 is by seat "),
    ],
)
@pytest.mark.parametrize("option", ["--html", "--picture"])
def test_an_impossible_step_is_not_drawn(run: Run, games: Path, changes: dict[str, Any], sentence: str, option: str) -> None:
    record = json.loads(games.read_text().splitlines()[0])
    record["steps"][5].update(changes)
    games.write_text(json.dumps(record))
    assert_refused(run("replay", games, "--player", "thumb", option, games.with_name("a.svg")), sentence)
    assert [path.name for path in games.parent.iterdir()] == ["games.jsonl"]
    assert run("replay", games)[0] == 1, "nor shown as text"


def test_names_on_a_page_have_no_control_characters() -> None:
    page = page_of(film_of(deals(KINDS["noms"], 1), Shown(names=["\u202eAnn\x1b[2J\n", "Bo", "Cy", "Di"])), "\u202eone\x1b")
    text = page + json.dumps(film_in(page), ensure_ascii=False)
    assert "Ann[2J" in text
    assert not {"\u202e", "\x1b"} & set(text)


def test_a_damaged_line_is_named(run: Run, games: Path) -> None:
    games.write_text(games.read_text() + "{}\n")
    assert_refused(run("replay", games, "--html", games.with_name("a.html")), "line 3: ")
