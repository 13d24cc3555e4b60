"""`noms table`: what browsers are sent and what not, and what they may do."""

import json
import random
import re
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from noms_env.core.cards import CARD_WORDS, cards_in
from noms_env.record import check_records
from noms_env.show.data import view_data
from noms_env.show.rules import SUIT_NAMES
from noms_env.show.view import look
from noms_env.table import Table
from noms_env.variants import VARIANTS
from noms_training.play.browser.hall import Hall
from noms_training.play.browser.live import new_table, table_from
from noms_training.play.browser.lobby import Lobby
from tests.served import served
from tests.training.fakes import rules
from tests.training.table_browsers import FAST, Browser, TableServer, browser_at, open_table_at, request, run_server, some_table


def test_fifty_tables_at_once_get_every_answer_and_reach_their_scores(tmp_path: Path) -> None:
    def play_a_deal(seed: int) -> tuple[str, Browser]:
        name, keys = open_table_at(address, variant="big_ships", seats=4, options={"start_cards": "3"})
        hall.rooms[name].table.speed = 0
        with browser_at(address, name, keys[0]) as browser:
            browser.play_a_deal(seed)
        return name, browser

    hall = Hall(tmp_path, Lobby(), FAST)
    with served(hall) as address, ThreadPoolExecutor(50) as pool:
        browsers = dict(pool.map(play_a_deal, range(50)))
    assert len(browsers) == 50
    for name, browser in browsers.items():
        live = hall.rooms[name].table
        messages = [json.loads(text) for text in browser.texts]
        assert {message["is"] for message in messages} == {"rules", "table"}
        moments = dict.fromkeys(message["moment"] for message in messages if message["is"] == "table")
        assert [*moments] == [f"1.{number}" for number in range(len(live.session.deals[0].actions) + 1)], (
            "no decision is left out"
        )
        assert not list(check_records(enumerate(live.session.records(), 1)))
        assert browser.state["view"] == json.loads(json.dumps(live.view(0)))
        assert table_from((tmp_path / f"{name}.json").read_text()).sheet == live.sheet


def cards_shown(text: str) -> set[str]:
    """Return all words of cards anywhere in a message."""
    return set(re.findall(r"(?<![A-Za-z0-9])(?:[2-9TJQKAC][A-Z]{1,2}|EX)(?![A-Za-z0-9])", text))


def hidden_from(table: Table, seat: int | None) -> set[str]:
    """Return the cards that a seat has not seen: in hands that are not open, and in the stock."""
    row, words = table.row, CARD_WORDS[table.deck_kind]
    hands = [int(row.hands[other]) for other in range(table.seats) if other not in (seat, int(row.exposed))]
    shown = {int(row.turn_up), int(row.nominated)}
    return {words[card] for cards in [*hands, int(row.stock)] for card in cards_in(cards) if card not in shown}


@pytest.mark.parametrize(
    ("variant", "deals"),
    [(variant, 2) for variant in VARIANTS] + [pytest.param(variant, 200, marks=pytest.mark.soak) for variant in VARIANTS],
)
def test_no_message_holds_a_card_that_its_seat_may_not_see(variant: str, deals: int, server: TableServer) -> None:
    """Every message to two people and a spectator is searched for the cards that are hidden at that moment."""
    rng, shown = random.Random(variant), 0
    for _ in range(deals):
        opened = server.open(speed=3600, variant=variant, seats=rules(variant).seats, people=2)
        live, table = opened.live, opened.table
        browsers = {seat: opened.browser(seat) for seat in (0, 1, None)}
        while not table.is_scored:
            marks = {seat: len(browser.texts) for seat, browser in browsers.items()}
            seat = int(table.row.seat)
            if seat < 2:
                browsers[seat].act(rng.choice(table.legal_words()))
            else:
                live.take(live.session.choose())
                browsers[0].send(do="speed", seconds=5)
            for looker, browser in browsers.items():
                while browser.state["moment"] != live.moment or len(browser.texts) == marks[looker]:
                    browser.next()
                cards = cards_shown("".join(browser.texts[marks[looker] :]))
                picks = table.phase == "nominate" and looker == table.row.seat
                assert picks or not cards & hidden_from(table, looker), looker
                shown += len(cards)
        records = live.session.records()
        assert not list(check_records(enumerate(records, 1)))
        (sheet,) = browsers[0].state["sheet"]
        assert sheet["points"] == pytest.approx(records[0]["points"], abs=5e-4)
        assert sheet["lines"] or sheet["passed_out"]
        for browser in browsers.values():
            browser.close()
    assert shown > 20


def test_the_search_for_hidden_cards_finds_them() -> None:
    table = some_table(9).session.table
    assert hidden_from(table, 0) <= cards_shown(json.dumps(view_data(look(table, 0, full=True))))
    assert not hidden_from(table, 0) & cards_shown(json.dumps(view_data(look(table, 0))))


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_view_does_not_depend_on_hidden_cards(variant: str) -> None:
    rng, choose, differ = np.random.default_rng(3), random.Random(variant), 0
    table = Table(variant)
    table.start(seed=4)
    while not table.is_scored:
        for seat in range(table.seats):
            other = table.sample_hidden(seat, rng)
            differ += bool((table.row.hands != other.row.hands).any())
            for looker in (seat, None):
                assert view_data(look(other, looker)) == view_data(look(table, looker))
        table.step(choose.choice(table.legal_actions()))
    assert differ


def test_a_view_says_why_a_card_may_not_be_played() -> None:
    suits, sentences = "|".join(name for names in SUIT_NAMES for name in names), set[str]()
    for variant, seed in product(("small_ships", "nonesuch", "down_up"), range(12)):
        table, choose = Table(variant, episode="deal"), random.Random(seed)
        table.start(seed=seed)
        while not table.is_scored:
            seat = int(table.row.seat)
            views = [view_data(look(table, looker)) for looker in range(table.seats)]
            own = views[seat]
            if table.phase == "play":
                assert {*own["why"]} == {*own["places"][seat]["hand"]} - {*own["legal"]}
            assert not any(view["why"] for looker, view in enumerate(views) if looker != seat)
            sentences |= {re.sub(suits, "SUIT", sentence) for sentence in own["why"].values()}
            table.step(choose.choice(table.legal_actions()))
    assert sentences == {
        "You must follow SUIT.",
        "You may not lead SUIT, the trump suit, before a trump has been played.",
        "You may not lead SUIT, the suit of the card that you nominated, to the first trick.",
    }


def test_a_refused_message_changes_nothing(server: TableServer) -> None:
    opened = server.open(speed=5, people=2)
    browser, spectator = opened.browser(), opened.browser(None)
    before = json.loads(opened.live.to_json()) | {"touched": 0}
    moment, word = opened.live.moment, opened.table.legal_words()[0]
    messages: list[dict[str, Any]] = [
        {"do": "act", "word": word, "moment": "1.99"},
        *({"do": job} for job in ("next", "back", "records")),
        {"do": "replace", "seat": 0, "player": "thumb"},
        {"do": "replace", "seat": 1, "player": "cmd:rm"},
        {"do": "replace", "seat": 2, "player": "thumb"},
        {"do": "speed", "seconds": 1e9},
        {"do": "hello", "table": "x", "key": None, "token": None},
    ]
    if opened.table.row.seat == 0:
        messages.append({"do": "act", "word": "99", "moment": moment})
    else:
        messages += [{"do": "act", "word": word, "moment": moment}, {"do": "hint"}]
    for message in messages:
        assert browser.refusal(**message)
    for job in ("back", "next", "hint", "sit"):
        assert spectator.refusal(do=job) == "you are a spectator"
    assert json.loads(opened.live.to_json()) | {"touched": 0} == before


def test_a_person_gets_a_hint_and_undoes_a_decision(server: TableServer) -> None:
    browser = server.open(hints="thumb").browser()
    browser.wait(turn=0)
    before = {name: browser.state[name] for name in ("view", "back", "turn", "moment")}
    browser.send(do="hint")
    hint = browser.until("hint")
    assert hint["taken"] in browser.words
    assert hint["moment"] == browser.state["moment"]
    assert [option["word"] for option in hint["options"]] == [hint["taken"]]
    browser.act(browser.words[0])
    browser.send(do="back")
    browser.wait(**before)


def test_a_player_takes_the_seat_of_an_absent_person_and_returns_it(server: TableServer) -> None:
    opened = server.open(speed=5, people=2)
    first = opened.browser(0)
    assert [person["here"] for person in first.state["people"]] == [True, False]
    first.send(do="replace", seat=1, player="thumb")
    assert first.until("table")["people"][1]["sits"] is False
    assert (first.state["names"][1], first.state["levels"][1]) == ("Ben", "easy")
    second = opened.browser(1)
    second.send(do="sit")
    while second.state["names"][1] != "Person 1":
        second.until("table")
    assert first.refusal(do="replace", seat=1, player="thumb") == "the person in this seat is here"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"variant": "chess"}, "chess"),
        ({"variant": 7}, "text"),
        ({"seats": 9}, "seats"),
        ({"players": [None, "cmd:./bot", "thumb"]}, "no such player"),
        ({"players": [None, "/etc/passwd", "thumb"]}, "no such player"),
        ({"players": "thumb"}, "a table must have"),
        ({"people": {}}, "player or a person"),
        ({"hints": "my_agent:act"}, "no such player"),
        ({"options": {"bonus": "12"}}, "bonus"),
    ],
    ids=str,
)
def test_an_impossible_table_is_refused(change: dict[str, Any], sentence: str, server: TableServer, tmp_path: Path) -> None:
    assert sentence in server.refusal("tables", request() | change)
    assert not list(tmp_path.iterdir())


def test_the_largest_number_of_seats_is_accepted(server: TableServer) -> None:
    assert "error" not in server.client.post("/api/tables", json=request("sniped_whist", 7)).json()


def test_a_refusal_names_the_wrong_option(server: TableServer) -> None:
    for seats, options, field in ((4, {"target": "0"}, "target"), (9, {}, None)):
        answer = server.client.post("/api/tables", json=request("small_ships", seats, options=options)).json()
        assert answer["field"] == field
        assert field is None or answer["error"].startswith("target must be an integer from 1 to 10000")


def test_a_player_of_the_command_line_can_be_chosen(tmp_path: Path) -> None:
    with run_server(tmp_path, players=("pimc:3",)) as server:
        players = server.client.get("/api/games").json()[0]["players"]
        assert {"name": "pimc:3", "said": "Looks ahead in sampled hands (pimc:3)"} in players
        server.open(player="pimc:3")


@pytest.fixture
def failing_player(tmp_path: Path) -> str:
    (tmp_path / "bad.py").write_text("def act(observation, mask, rng):\n    raise RuntimeError('tired')\n")
    return f"{tmp_path / 'bad.py'}:act"


def test_a_player_that_fails_is_replaced(failing_player: str, tmp_path: Path) -> None:
    with run_server(tmp_path, players=(failing_player,)) as server:
        opened = server.open(player=failing_player)
        browser = opened.browser()
        for _ in range(2):
            while (seat := browser.state["failed"]) is None:
                if browser.state["turn"] == 0:
                    browser.send_action(browser.words[0])
                browser.next()
            assert "tired" in browser.until("refused")["text"]
            refusal = browser.refusal(do="replace", seat=3 - seat, player="thumb")
            assert refusal == "no person has this seat, so nobody can be replaced"
            browser.send(do="replace", seat=seat, player="thumb")
            browser.wait(failed=None)
        browser.play_a_deal()
        restored = table_from(opened.path.read_text())
        assert [player and player.name for player in restored.session.players] == [None, "thumb", "thumb"]


def test_a_spectator_leads_a_table_without_people(failing_player: str, tmp_path: Path) -> None:
    with run_server(tmp_path, players=(failing_player,)) as server:
        browser = server.open(people=0, players=[failing_player, "thumb", "thumb"]).browser(None)
        browser.wait(failed=0)
        browser.send(do="replace", seat=1, player="random")
        while "can be replaced" not in browser.until("refused")["text"]:
            pass
        browser.send(do="replace", seat=0, player="thumb")
        browser.wait(scored=True)
        browser.send(do="next")
        browser.wait(scored=False)
        for job in ("back", "hint", "sit"):
            assert browser.refusal(do=job) == "you are a spectator"


def test_players_have_names_of_people_and_levels(server: TableServer) -> None:
    browser = server.open(seats=4, players=[None, "thumb", "down_up", "pimc:20"]).browser()
    assert browser.state["names"] == ["Person 0", "Ben", "Cleo", "Dan"]
    assert browser.state["levels"] == [None, "easy", "medium", "pimc:20"]


def test_no_two_names_at_a_table_are_equal() -> None:
    for people, names in (
        (("ben", "Cleo"), ["ben", "Cleo", "Eva", "Finn"]),
        (("Ann", "Ann"), ["Ann 1", "Ann 2", "Cleo", "Dan"]),
    ):
        players = [None, None, *["thumb"] * 5]
        assert new_table(rules("sniped_whist", 7), players, dict(enumerate(people)), "thumb").names[:4] == names


def test_seeds_have_63_bits() -> None:
    """Fewer could be tried out to find the cards of the others."""
    players = ["random"] * rules("down_up").seats
    assert max(new_table(rules("down_up"), players, {}, "thumb").session.seed for _ in range(20)) > 2**32
