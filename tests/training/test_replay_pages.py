"""`noms replay --html` and `--picture`: what is in the page and the pictures, what is not, and what is refused."""

import base64
import io
import json
import re
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from PIL import Image

from noms_env.players import TellsProbabilities, load_player
from noms_env.record import Record, record_matches, replay, write_records
from noms_env.record.replaying import pair_with_previous
from noms_env.show import picture
from noms_env.show.notes import Notes
from noms_env.show.view import look
from noms_training.play.browser.film import Shown, film_of, moments
from noms_training.play.browser.page import page_of
from noms_training.play.browser.pictures import drawings
from tests.commands import Run, assert_refused
from tests.envs.play import KINDS, Kind

MOST_WITHOUT_RECORDS = 400_000
EVIL = '</script><script>alert(1)</script>"><img src=x onerror=alert(2)>'


def deals(kind: Kind, count: int, seed: int = 3) -> list[Record]:
    records = record_matches(kind.variant, kind.seats, 3, seed, kind.options)
    return [record for _, record in zip(range(count), records, strict=False)]


def film_in(page: str) -> dict[str, Any]:
    """The film that a page holds."""
    packed = re.search(r'<script type="text/plain" id="film">([A-Za-z0-9+/=]+)</script>', page)
    assert packed
    film: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(packed[1])))
    return film


def texts_of(film: dict[str, Any], deal: int, view: str) -> list[str]:
    """The drawing of every moment of a view, as one text each."""
    frames = film["deals"][deal]["views"][view]["frames"]
    return ["".join(film["texts"][number] for number in frame) for frame in frames]


@pytest.mark.parametrize("kind", [*KINDS.values()][::4], ids=str)
def test_a_film_shows_every_moment_as_it_is_drawn_from_every_seat(kind: Kind) -> None:
    (record,) = deals(kind, 1)
    film = film_of([record], Shown())
    data = film.data()
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
    """Cards that a seat has not seen before a step of a deal without an open hand."""
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
    assert used == set(range(len(data["texts"]))), "nor are there texts of other views"


def test_the_partner_is_not_told_to_who_cannot_know() -> None:
    found = (one for one in deals(KINDS["small ships"], 8) if one["partner"] not in (None, one["declarer"]))
    record = next(found)
    opponent = next(seat for seat in range(4) if seat not in (record["declarer"], record["partner"]))
    plays = [step["action"] if step["phase"] == "play" else None for step in record["steps"]]
    shown = texts_of(film_of([record], Shown(seat=opponent)).data(), 0, str(opponent))
    assert all(">partner<" not in text for text in shown[: plays.index(record["nominated"]) + 1])
    assert ">partner<" in shown[-1]


def test_probabilities_are_those_of_the_player_that_is_asked() -> None:
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
        assert {word: one["p"] for word, one in moment.options.items()} == pytest.approx(words, abs=1e-4)
    film = film_of([record], shown).data()
    assert all(("options" in moment) == ("taken" in moment) for moment in film["deals"][0]["moments"])
    one = film_of([record], Shown(seat=0, players=[policy])).data()
    assert all(("options" in moment) == (moment.get("seat") == 0) for moment in one["deals"][0]["moments"])


def test_values_of_a_search_come_with_their_errors() -> None:
    record = deals(Kind("down_up", 3, {}), 1)[0]
    shown = Shown(players=[load_player("search:down_up,worlds=2")])
    told = [one for moment in moments(record, shown) for one in moment.options.values()]
    assert any("v" in one for one in told)
    assert all("e" in one for one in told if "v" in one)


class Checked(HTMLParser):
    """What a page would load, run and say."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_a_page_loads_nothing_and_lets_nothing_foreign_run() -> None:
    page = page_of(film_of(deals(KINDS["noms"], 1), Shown(names=[EVIL] * 4)), EVIL)
    parser = Checked()
    parser.feed(page)
    for tag, attributes in parser.tags:
        assert not {"src", "onclick", "onload", "style"} & set(attributes), tag
        assert tag not in ("link", "iframe", "object", "img", "base")
    assert sum(tag == "script" for tag, _ in parser.tags) == 2
    policy = next(attributes["content"] for tag, attributes in parser.tags if attributes.get("http-equiv"))
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
    status, said, _ = run("replay", games, "--html", out, "--name", "Ann", "Bo", "Cy", "<Di>")
    assert status == 0
    assert re.fullmatch(rf"{out}: \d+ kB\n", said)
    film = film_in(out.read_text())
    assert [deal["title"] for deal in film["deals"]] == ["Match 0, deal 0", "Match 0, deal 1"]
    assert film["deals"][0]["names"] == ["Ann", "Bo", "Cy", "<Di>"]


def test_the_command_writes_pictures(run: Run, games: Path) -> None:
    record = deals(KINDS["small ships"], 1)[0]
    for name in ("one.svg", "one.png", "one.gif"):
        out = games.with_name(name)
        assert run("replay", games, "--match", "0", "--deal", "0", "--picture", out)[0] == 0
    drawn = drawings(record, Shown(), "light")
    assert games.with_name("one.svg").read_text() == drawn[-1]
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
def test_what_cannot_be_drawn_is_refused_and_nothing_is_written(
    run: Run, games: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], sentence: str
) -> None:
    monkeypatch.chdir(games.parent)
    assert_refused(run("replay", games, *words), sentence)
    assert [path.name for path in games.parent.iterdir()] == ["games.jsonl"]


def test_a_deal_by_itself_is_shown_with_what_the_deals_before_it_left(run: Run, tmp_path: Path) -> None:
    """Sniped Whist may count the tricks of the deals before, which decide who wins the match."""
    options = {"accumulate": True, "n_hands": 3}
    records = [*record_matches("sniped_whist", seats=4, options=options, seed=1)]
    path, out = tmp_path / "games.jsonl", tmp_path / "last.html"
    write_records(path, records)
    assert run("replay", path, "--deal", str(records[-1]["deal"]), "--html", out)[0] == 0
    (alone,) = film_in(out.read_text())["deals"]
    assert texts_of(film_in(out.read_text()), 0, "all") == texts_of(film_of(records, Shown()).data(), len(records) - 1, "all")
    assert run("replay", path, "--deal", str(records[-1]["deal"]), "--picture", tmp_path / "last.svg")[0] == 0
    *_, (record, before) = pair_with_previous(records)
    assert (tmp_path / "last.svg").read_text() == drawings(record, Shown(), "light", before)[-1]
    assert before is not None
    write_records(path, [*records, {**records[0], "match": 1}])  # a match without a deal of that number
    assert run("replay", path, "--deal", str(records[-1]["deal"]), "--picture", tmp_path / "again.svg")[0] == 0
    assert (tmp_path / "again.svg").read_text() == (tmp_path / "last.svg").read_text()
    assert alone["title"] == f"Match 0, deal {records[-1]['deal']}"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"action": "pass"}, "step 5: 'pass' means nothing in the phase play"),
        ({"action": "indicate"}, "step 5: seat "),
        ({"seat": 9}, "line 1: step 5: seat must be a seat, not 9"),
        ({"phase": "call"}, "step 5 is by seat "),
    ],
)
@pytest.mark.parametrize("out", ["a.html", "a.svg"])
def test_a_step_that_is_not_one_of_the_table_is_not_drawn(
    run: Run, games: Path, changes: dict[str, Any], sentence: str, out: str
) -> None:
    record = json.loads(games.read_text().splitlines()[0])
    record["steps"][5].update(changes)
    games.write_text(json.dumps(record))
    option = "--html" if out == "a.html" else "--picture"
    assert_refused(run("replay", games, "--player", "thumb", option, games.with_name(out)), sentence)
    assert [path.name for path in games.parent.iterdir()] == ["games.jsonl"]
    assert run("replay", games)[0] == 1, "nor shown as text"


def test_names_on_a_page_turn_no_text_and_no_terminal() -> None:
    page = page_of(film_of(deals(KINDS["noms"], 1), Shown(names=["\u202eAnn\x1b[2J\n", "Bo", "Cy", "Di"])), "\u202eone\x1b")
    shown = page + json.dumps(film_in(page), ensure_ascii=False)
    assert "Ann[2J" in shown
    assert not {"\u202e", "\x1b"} & set(shown)


def test_a_damaged_line_is_named(run: Run, games: Path) -> None:
    games.write_text(games.read_text() + "{}\n")
    assert_refused(run("replay", games, "--html", games.with_name("a.html")), "line 3: ")
