"""`noms table`: what browsers are sent and what not, and what they may do."""

import asyncio
import json
import random
import re
import secrets
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
from noms_env.variants import VARIANTS, game, make_rules
from noms_training.play.browser.hall import Hall
from noms_training.play.browser.live import new_table, table_from
from noms_training.play.browser.lobby import Lobby
from tests.served import served
from tests.training.table_browsers import FAST, Browser, connected, opened, request, server, some_table, words_of


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

    hall = Hall(tmp_path, Lobby(), FAST)

    async def told_by(line: ClientConnection, state: dict[str, Any]) -> None:
        message = json.loads(await asyncio.wait_for(line.recv(), 300))
        assert message["is"] in ("rules", "table"), message
        state |= message

    async def plays_a_deal(client: httpx.AsyncClient, address: str, seed: int) -> tuple[str, list[str], dict[str, Any]]:
        """The table's name, the moments that were told, and the view at the end."""
        wish = request("big_ships", 4, options={"start_cards": "3"})
        told = (await client.post(f"{address}api/tables", json=wish)).json()
        key = secrets.token_urlsafe(16)
        await client.post(
            f"{address}api/seat", json={"table": told["table"], "invitation": told["invitations"]["0"], "key": key}
        )
        rng, state, moments = random.Random(seed), dict[str, Any](), list[str]()
        async with connect(f"ws{address.removeprefix('http')}socket") as line:
            hello = {"do": "hello", "table": told["table"], "key": key, "token": None}
            for message in (hello, {"do": "speed", "seconds": 0}):
                await line.send(json.dumps(message))
            while not state.get("scored"):
                await told_by(line, state)
                if "moment" not in state or state["moment"] in moments:
                    continue
                moments.append(state["moment"])
                if state["turn"] == 0:
                    word = rng.choice(words_of(state["view"]))
                    await line.send(json.dumps({"do": "act", "word": word, "moment": state["moment"]}))
        return told["table"], moments, state["view"]

    async def all_play(address: str) -> list[tuple[str, list[str], dict[str, Any]]]:
        async with httpx.AsyncClient(timeout=300) as client:
            return await asyncio.gather(*(plays_a_deal(client, address, seed) for seed in range(50)))

    with served(hall) as address:
        ends = asyncio.run(all_play(address))
    assert len({name for name, _, _ in ends}) == 50
    for name, moments, view in ends:
        table = hall.rooms[name].table
        actions = len(table.session.deals[0].actions)
        assert moments == [f"1.{number}" for number in range(actions + 1)], "each decision is told once, and none is left out"
        assert not list(check_records(enumerate(table.session.records(), 1)))
        assert view == json.loads(json.dumps(table.view(0)))
        assert table_from((tmp_path / f"{name}.json").read_text()).sheet == table.sheet


def cards_shown(text: str) -> set[str]:
    """All words of cards within a message, wherever they stand in it."""
    return set(re.findall(r"(?<![A-Za-z0-9])[2-9TJQKAC][A-Z]{1,2}(?![A-Za-z0-9])|(?<![A-Za-z0-9])EX(?![A-Za-z0-9])", text))


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
    told = json.dumps(view_data(look(table, 0, full=True)))
    assert hidden_from(table, 0) <= cards_shown(told)
    assert not hidden_from(table, 0) & cards_shown(json.dumps(view_data(look(table, 0))))


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_is_told_is_the_same_whatever_the_others_hold(variant: str) -> None:
    """The hidden cards are dealt anew, and the bytes for a page stay."""
    rng, choose, differ = np.random.default_rng(3), random.Random(variant), 0
    table = Table(variant)
    table.start(seed=4)
    while not table.is_scored:
        for seat in range(table.seats):
            other = table.sample_hidden(seat, rng)
            differ += any(table.row.hands[one] != other.row.hands[one] for one in range(table.seats))
            assert view_data(look(other, seat)) == view_data(look(table, seat))
            assert view_data(look(other, None)) == view_data(look(table, None))
        table.step(choose.choice(table.legal_actions()))
    assert differ


def test_a_card_that_may_not_be_played_says_why() -> None:
    suits, seen = "|".join(name for names in SUIT_NAMES for name in names), set[str]()
    for variant, seed in product(("small_ships", "nonesuch", "down_up"), range(12)):
        table, choose = Table(variant, episode="deal"), random.Random(seed)
        table.start(seed=seed)
        while not table.is_scored:
            seat = int(table.row.seat)
            told = view_data(look(table, seat))
            held = set(told["places"][seat]["hand"])
            if table.phase == "play":
                assert {*told["why"]} == held - {*told["legal"]}
            assert all(not view_data(look(table, other))["why"] for other in range(table.seats) if other != seat)
            seen |= {re.sub(suits, "SUIT", sentence) for sentence in told["why"].values()}
            table.step(choose.choice(table.legal_actions()))
    assert seen == {
        "You must follow SUIT.",
        "You may not lead SUIT, the trump suit, before a trump has been played.",
        "You may not lead SUIT, the suit of the card that you nominated, to the first trick.",
    }


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
            before = browser.state["view"]
            browser.send(do="hint")
            hint = browser.until("hint")
            assert hint["taken"] in browser.words
            assert hint["moment"] == browser.state["moment"]
            assert [option["word"] for option in hint["options"]] == [hint["taken"]]
            before_back = browser.state["back"]
            browser.send(do="act", word=browser.words[0], moment=browser.state["moment"])
            browser.until("table")
            browser.send(do="back")
            while browser.until("table").get("turn") != 0 or browser.state["view"] != before:
                pass
            assert browser.state["back"] is before_back


def test_a_player_takes_the_seat_of_who_left_and_gives_it_back(tmp_path: Path) -> None:
    with server(tmp_path) as client:
        told = opened(client, people=2)
        with connected(client) as one:
            first = Browser(one, told["table"], told["keys"]["0"])
            assert [person["here"] for person in first.state["people"]] == [True, False]
            first.send(do="replace", seat=1, player="thumb")
            assert first.until("table")["people"][1]["sits"] is False
            assert (first.state["names"][1], first.state["levels"][1]) == ("Ben", "easy")
            with connected(client) as two:
                second = Browser(two, told["table"], told["keys"]["1"])
                second.send(do="sit")
                while second.state["names"][1] != "Person 1":
                    second.until("table")
                first.send(do="replace", seat=1, player="thumb")
                assert first.until("refused")["text"] == "the person in this seat is here"


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
        ({"players": "thumb"}, "a table must have"),
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
        assert {"name": "pimc:3", "said": "Looks ahead in sampled hands (pimc:3)"} in client.get("/api/games").json()[0][
            "players"
        ]
        assert opened(client, player="pimc:3")


def test_a_player_that_fails_is_replaced_by_another(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("def act(observation, mask, rng):\n    raise RuntimeError('tired')\n")
    bad = f"{tmp_path / 'bad.py'}:act"
    with server(tmp_path, players=(bad,)) as client:
        told = opened(client, player=bad)
        table = client.hall.rooms[told["table"]].table  # type: ignore[attr-defined]
        table.speed = 0
        with connected(client) as socket:
            browser = Browser(socket, told["table"], told["keys"]["0"])
            for _ in range(2):
                while browser.state["failed"] is None:
                    if browser.state["turn"] == 0:
                        browser.send(do="act", word=browser.words[0], moment=browser.state["moment"])
                    browser.next()
                seat = browser.state["failed"]
                assert "tired" in browser.until("refused")["text"]
                browser.send(do="replace", seat=3 - seat, player="thumb")
                assert browser.until("refused")["text"] == "no person has this seat, so nobody can be replaced"
                browser.send(do="replace", seat=seat, player="thumb")
                while browser.state["failed"] is not None:
                    browser.until("table")
            browser.play_a_deal(random.Random(1))
        again = table_from((tmp_path / f"{told['table']}.json").read_text())
        assert [player and player.name for player in again.session.players] == [None, "thumb", "thumb"]


def test_a_player_that_fails_at_a_table_of_players_alone_is_replaced_by_whoever_looks(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("def act(observation, mask, rng):\n    raise RuntimeError('tired')\n")
    bad = f"{tmp_path / 'bad.py'}:act"
    with server(tmp_path, players=(bad,)) as client:
        told = opened(client, people=0, players=[bad, "thumb", "thumb"])
        client.hall.rooms[told["table"]].table.speed = 0  # type: ignore[attr-defined]
        with connected(client) as socket:
            browser = Browser(socket, told["table"], None)
            while browser.state.get("failed") != 0:
                browser.next()
            browser.send(do="replace", seat=1, player="random")
            while "can be replaced" not in browser.until("refused")["text"]:
                pass
            browser.send(do="replace", seat=0, player="thumb")
            while not browser.state["scored"]:
                browser.until("table")


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


def test_players_have_names_of_people_and_their_level_beside_them(tmp_path: Path) -> None:
    with server(tmp_path) as client:
        told = opened(client, seats=4, players=[None, "thumb", "down_up", "pimc:20"], people=1)
        with connected(client) as socket:
            browser = Browser(socket, told["table"], told["keys"]["0"])
            assert browser.state["names"] == ["Person 0", "Ben", "Cleo", "Dan"]
            assert browser.state["levels"] == [None, "easy", "medium", "pimc:20"]


def test_nobody_at_a_table_has_the_name_of_another() -> None:
    rules = make_rules(game("sniped_whist"), 7)
    table = new_table(rules, [None, None, *["thumb"] * 5], {0: "ben", 1: "Cleo"}, "thumb")
    assert table.names == ["ben", "Cleo", "Eva", "Finn", "Gita", "Hugo", "Iris"]
    twins = new_table(rules, [None, None, *["thumb"] * 5], {0: "Ann", 1: "Ann"}, "thumb")
    assert twins.names[:2] == ["Ann 1", "Ann 2"]


def test_all_seeds_may_be_drawn() -> None:
    """From fewer of them the cards of the others could be found by trying all."""
    rules = make_rules(game("down_up"))
    assert max(new_table(rules, ["random"] * rules.seats, {}, "thumb").session.seed for _ in range(20)) > 2**32
