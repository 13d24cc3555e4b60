"""`noms table`: people at one table: the lobby, an undo by agreement, and links to moments."""

import json
import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from noms_env.record import check_records
from noms_env.show.data import view_data
from noms_env.show.view import look
from noms_env.variants import VARIANTS, game, make_rules
from noms_training.play.browser.live import RefusedError, new_table, table_from
from noms_training.play.browser.messages import Limits
from noms_training.play.browser.moment import moment_data
from noms_training.play.browser.room import Room
from tests.training.table_browsers import Browser, connected, opened, request, server
from tests.training.test_table_server import cards_shown, hidden_from

QUICK = Limits(rate=1e9, pace=0, undo_seconds=0)
KEYS = {seat: f"the_key_of_seat_{seat}".ljust(22, "_") for seat in range(7)}


def claim(client: TestClient, told: dict[str, Any], seat: int, key: str = "") -> Any:
    wish = {"table": told["table"], "invitation": told["invitations"][str(seat)], "key": key or KEYS[seat]}
    return client.post("/api/seat", json=wish)


@contextmanager
def lobby(
    folder: Path, guests: int = 2, seats: int = 4, limits: Limits = QUICK
) -> Iterator[tuple[Any, dict[str, Any], Any, Room]]:
    """A table whose host has come: the client, what was told of it, a function that opens browsers, and its room."""
    with server(folder, limits) as client, ExitStack() as stack:
        people = {str(seat): "" if seat else "Ann" for seat in range(guests + 1)}
        wish = request("up_down", seats, guests + 1) | {"people": people, "host": 0, "substitute": "greedy"}
        told = client.post("/api/tables", json=wish).json()
        claim(client, told, 0)

        def browser(seat: int | None) -> Browser:
            return Browser(stack.enter_context(connected(client)), told["table"], None if seat is None else KEYS[seat])

        yield client, told, browser, client.hall.rooms[told["table"]]  # type: ignore[attr-defined]


def until(browser: Browser, **wanted: Any) -> None:
    """Read what a browser is sent until it knows this of the table."""
    while any(browser.state.get(name) != value for name, value in wanted.items()):
        browser.next()


def settle(*browsers: Browser) -> None:
    """Wait until the server has done what these browsers asked for, the first of them first, and they know what came of it."""
    for browser in browsers:
        browser.send(do="nothing")
        while browser.until("refused")["text"] != "there is no such message":
            pass


def test_the_first_deal_waits_until_every_guest_has_a_name(tmp_path: Path) -> None:
    with lobby(tmp_path) as (client, told, browser, room):
        host = browser(0)
        assert (host.state["waits"], host.state["leads"]) == (True, True)
        jobs: list[dict[str, Any]] = [{"do": "act", "word": "0", "moment": "1.0"}, {"do": "hint"}, {"do": "back"}]
        for job in jobs:
            host.send(**job)
            assert host.until("refused")["text"] == "the first deal waits until everybody is here"
        claim(client, told, 1)
        first = browser(1)
        assert [(one["invited"], one["name"], one["host"]) for one in first.state["people"]] == [
            (False, "Ann", True),
            (False, "", False),
            (True, "", False),
        ]
        assert first.state["leads"] is False
        jobs = [{"do": "begin"}, {"do": "replace", "seat": 2, "player": "thumb"}]
        for job in jobs:
            first.send(**job)
            assert first.until("refused")["text"] == "only the host can do that"
        for wrong in ("", " \t", "x" * 41, "‮"):
            first.send(do="name", name=wrong)
            assert "40 letters" in first.until("refused")["text"]
        first.send(do="name", name="  Bo\n<b>")
        until(first, names=["Ann", "Bo <b>", "Guest 3", "Dan"])
        claim(client, told, 2)
        second = browser(2)
        assert second.state["waits"]
        second.send(do="name", name="Cy")
        until(second, waits=False)
        room.table.speed = 0.0
        while room.table.session.table.row.seat == 3:
            second.next()  # the player acts by itself
        with pytest.raises(RefusedError):
            room.table.begin(room.table.hints)


def test_the_host_begins_without_those_who_are_missing_and_they_may_come_later(tmp_path: Path) -> None:
    with lobby(tmp_path) as (client, told, browser, room):
        host = browser(0)
        claim(client, told, 1)
        nameless = browser(1)
        host.send(do="begin")
        until(host, waits=False)
        assert [player and player.name for player in room.table.session.players] == [None, None, "greedy", "random"]
        assert host.state["names"][:3] == ["Ann", "Guest 2", "Cleo"]
        host.send(do="begin")
        assert host.until("refused")["text"] == "the deal has started already"
        assert claim(client, told, 2).json() == {"seat": 2}
        late = browser(2)
        late.send(do="name", name="Cy")
        late.send(do="sit")
        until(late, names=["Ann", "Guest 2", "Cy", "Dan"])
        until(nameless, names=["Ann", "Guest 2", "Cy", "Dan"])


def test_anybody_who_sits_begins_where_the_host_is_not_here(tmp_path: Path) -> None:
    with lobby(tmp_path, guests=1) as (client, told, browser, _):
        claim(client, told, 1)
        guest = browser(1)
        assert guest.state["leads"]
        watcher = browser(None)
        assert (watcher.state["leads"], watcher.state["watching"]) == (False, 1)
        for do in ("begin", "answer"):
            watcher.send(do=do, **({"seat": 0, "moment": "1.0", "agrees": True} if do == "answer" else {}))
            assert watcher.until("refused")["text"] == "you are a spectator"
        guest.send(do="begin")
        until(guest, waits=False)


def test_a_lobby_survives_a_restart_and_a_reload_keeps_the_seat(tmp_path: Path) -> None:
    with lobby(tmp_path) as (client, told, browser, _):
        claim(client, told, 1)
        browser(1).send(do="name", name="Bo")
        until(browser(0), names=["Ann", "Bo", "Guest 3", "Dan"])
    with server(tmp_path, QUICK) as client, connected(client) as one, connected(client) as two:
        host, guest = Browser(one, told["table"], KEYS[0]), Browser(two, told["table"], KEYS[1])
        assert guest.state["yours"] == 1
        assert (host.state["waits"], host.state["leads"], guest.state["leads"]) == (True, True, False)
        assert host.state["substitute"] == {"name": "greedy", "level": "greedy"}
        assert claim(client, told, 1, "x" * 22).status_code == 400, "the link was used"
        assert claim(client, told, 2).json() == {"seat": 2}


def both_decide(room: Room, browsers: list[Browser]) -> None:
    """Let people and players decide until each of the people has."""
    session = room.table.session
    while any(room.table.later_decisions(seat) is None for seat in range(len(browsers))):
        seat = int(session.table.row.seat)
        if seat < len(browsers):
            word, before = session.table.legal_words()[0], room.table.moment
            until(browsers[seat], moment=before)
            browsers[seat].send(do="act", word=word, moment=before)
            while browsers[seat].state["moment"] == before:
                browsers[seat].next()
        else:
            browsers[0].next()


def three(told: dict[str, Any], stack: ExitStack, client: TestClient) -> list[Browser]:
    return [Browser(stack.enter_context(connected(client)), told["table"], told["keys"][str(seat)]) for seat in range(3)]


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_decision_is_taken_back_when_all_others_agree_and_the_record_stays_exact(variant: str, tmp_path: Path) -> None:
    with server(tmp_path, QUICK) as client, ExitStack() as stack:
        seats = make_rules(game(variant)).seats
        told = opened(client, variant=variant, seats=seats, people=3)
        room: Room = client.hall.rooms[told["table"]]  # type: ignore[attr-defined]
        room.table.speed = 0.0
        people = three(told, stack, client)
        both_decide(room, people)
        while room.table.session.table.row.seat >= 3 and not room.table.session.table.is_scored:
            people[0].next()
        moment, deal = room.table.moment, room.table.session.deals[-1]
        last = deal.last_decision(0)
        assert last is not None
        later, kept = len(deal.actions) - last - 1, deal.actions[:last]
        people[0].send(do="back")
        for browser in people:
            until(browser, undo={"seat": 0, "later": later, "missing": [1, 2]})
        people[1].send(do="answer", seat=0, moment=moment, agrees=True)
        until(people[2], undo={"seat": 0, "later": later, "missing": [2]})
        assert room.table.moment == moment, "one has still to agree"
        people[2].send(do="answer", seat=0, moment=moment, agrees=True)
        until(people[0], undo=None, turn=0)
        assert room.table.session.deals[-1].actions[: len(kept)] == kept
        people[0].send(do="act", word=people[0].words[-1], moment=people[0].state["moment"])
        rng, session = random.Random(1), room.table.session
        while not session.table.is_scored:
            room.table.take(rng.choice(session.table.legal_actions()))
        assert not list(check_records(enumerate(session.records(), 1)))
        assert table_from(room.table.to_json()).session.records() == session.records()


def test_who_does_not_agree_or_goes_on_ends_the_request(tmp_path: Path) -> None:
    with server(tmp_path, QUICK) as client, ExitStack() as stack:
        told = opened(client, people=3)
        room: Room = client.hall.rooms[told["table"]]  # type: ignore[attr-defined]
        people = three(told, stack, client)
        both_decide(room, people)
        before = room.table.session.table.get_state()
        moment = room.table.moment

        def ask(seat: int = 0) -> None:
            people[seat].send(do="back")
            settle(people[seat], *people)
            assert [browser.state["undo"]["seat"] for browser in people] == [seat] * 3

        ask()
        people[1].send(do="back")
        assert people[1].until("refused")["text"] == "there is a request to take back already"
        people[2].send(do="answer", seat=1, moment=moment, agrees=True)
        assert people[2].until("refused")["text"] == "this request is closed"
        people[1].send(do="answer", seat=0, moment=moment, agrees=False)
        until(people[0], undo=None)
        assert people[0].until("refused")["text"] == "Person 1 does not agree"
        ask()
        people[0].send(do="answer", seat=0, moment=moment, agrees=True)
        people[0].send(do="answer", seat=0, moment=moment, agrees=False)
        settle(people[0], people[1])
        assert people[1].state["undo"] is None
        people[1].send(do="answer", seat=0, moment=moment, agrees=True)
        assert people[1].until("refused")["text"] == "this request is closed", "it was withdrawn"
        assert room.table.session.table.get_state() == before
        ask()
        seat = int(room.table.session.table.row.seat)
        people[seat].send(do="act", word=room.table.session.table.legal_words()[0], moment=moment)
        settle(people[seat], people[0])
        assert people[0].state["undo"] is None, "a decision ends it"
        assert people[0].state["moment"] == room.table.moment != moment


def test_a_request_survives_a_restart_and_players_wait_for_its_answer(tmp_path: Path) -> None:
    with server(tmp_path, QUICK) as client, ExitStack() as stack:
        told = opened(client, people=2)
        room: Room = client.hall.rooms[told["table"]]  # type: ignore[attr-defined]
        room.table.speed = 0.0
        people = [Browser(stack.enter_context(connected(client)), told["table"], told["keys"][seat]) for seat in "01"]
        both_decide(room, people)
        people[0].send(do="back")
        while not people[1].state["undo"]:
            people[1].next()
        moment = room.table.moment
    path = tmp_path / f"{told['table']}.json"
    saved = json.loads(path.read_text())
    assert saved["undo"] == [0]
    for wrong in (5, [], [0, [1]]):
        with pytest.raises(ValueError, match="not a table"):
            table_from(json.dumps(saved | {"undo": wrong}))
    for impossible in ([2], [0, 0], ["0"], [0, 7], [0, 1]):
        assert table_from(json.dumps(saved | {"undo": impossible})).undo is None
    for field, value in (("host", 9), ("host", "0"), ("host", True), ("substitute", None), ("substitute", [])):
        with pytest.raises(ValueError, match="not a table"):
            table_from(json.dumps(saved | {field: value}))
    with server(tmp_path, QUICK) as client, connected(client) as one, connected(client) as two:
        other, asker = Browser(one, told["table"], told["keys"]["1"]), Browser(two, told["table"], told["keys"]["0"])
        assert (asker.state["undo"]["missing"], asker.state["moment"]) == ([1], moment)
        other.send(do="answer", seat=0, moment=moment, agrees=True)
        until(asker, undo=None, turn=0)


def test_who_has_joined_must_agree_also_while_a_player_has_the_seat(tmp_path: Path) -> None:
    rules = make_rules(game("up_down"), 4)
    table = new_table(rules, [None, None, None, "random"], {0: "Ann", 1: "Bo", 2: ""}, "thumb", host=0)
    for seat in (0, 1):
        table.claim(table.people[seat].invitation, KEYS[seat])
    assert table.waits
    table.begin(table.hints)
    table.replace(1, table.hints)
    while table.later_decisions(0) is None:
        table.take(table.session.table.legal_actions()[0])
    table.take_back(0)
    assert table.undo is not None
    table.claim(table.people[2].invitation, KEYS[2])
    assert table.others(0) == [1], "a player has Bo's seat for a while; the third has not joined"
    table.people[2].name = "Cy"
    assert table.others(0) == [1, 2]
    del table.people[2]
    del table.people[1]
    table.undo = None
    table.take_back(0)
    assert table.undo is None
    assert table.later_decisions(0) is None
    with pytest.raises(RefusedError, match="nothing yet"):
        table.take_back(0)


def test_requests_to_take_back_are_not_too_often(tmp_path: Path) -> None:
    with server(tmp_path, Limits(rate=1e9, pace=0, undo_seconds=1000)) as client, ExitStack() as stack:
        told = opened(client, people=3)
        room: Room = client.hall.rooms[told["table"]]  # type: ignore[attr-defined]
        people = three(told, stack, client)
        both_decide(room, people)
        people[0].send(do="back")
        while not people[0].state["undo"]:
            people[0].next()
        people[0].send(do="answer", seat=0, moment=room.table.moment, agrees=False)
        people[0].send(do="back")
        assert people[0].until("refused")["text"].startswith("wait 1000 seconds for the next request to take back")


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_moment_shows_what_a_spectator_saw_and_all_hands_when_everybody_knows_them(variant: str) -> None:
    for seats in range(game(variant).seats[0], game(variant).seats[1] + 1):
        table = new_table(make_rules(game(variant), seats), ["random"] * seats, {}, "thumb", seed=seats)
        session, rng, seen, hands = table.session, random.Random(seats), [], []
        while not session.table.is_scored:
            seen.append(view_data(look(session.table, None)))
            hands.append([place.hand or () for place in look(session.table, None, full=True).places])
            for decision, view in enumerate(seen):
                told = moment_data(session, 1, decision, is_open=session.is_over)
                assert (told["view"], told["all"]) == (view, False)
                assert not cards_shown(json.dumps(told)) & hidden_from(session.table, None)
            table.take(rng.choice(session.table.legal_actions()))
        told = moment_data(session, 1, 0, is_open=session.is_over)
        if session.table.row.passed_out and not session.is_over:
            assert (told["all"], told["view"]) == (False, seen[0])
        else:
            assert [len(place["hand"]) for place in told["view"]["places"]] == [len(hand) for hand in hands[0]]
            assert (told["all"], told["view"]["legal"], told["view"]["choices"]) == (True, [], [])
        for deal, decision in ((0, 0), (2, 0), (1, len(seen) + 1)):
            with pytest.raises(RefusedError, match="no such moment"):
                moment_data(session, deal, decision, is_open=True)


def test_hands_of_a_deal_that_all_passed_stay_hidden() -> None:
    table = new_table(make_rules(game("noms")), ["random"] * 4, {}, "thumb", seed=1)
    while not table.session.table.is_scored:
        table.take(table.session.table.number("pass"))
    assert not table.session.is_over
    told = moment_data(table.session, 1, 2, is_open=False)
    assert told["all"] is False
    assert not cards_shown(json.dumps(told["view"]))


def test_a_link_to_a_moment_takes_no_seat_and_tells_no_secret(tmp_path: Path) -> None:
    with lobby(tmp_path, guests=1) as (_, _, browser, room):
        host, watcher = browser(0), browser(None)
        watcher.send(do="moment", deal=1, decision=0)
        answer = watcher.until("moment")
        assert (answer["deal"], answer["decision"], answer["decisions"], answer["all"]) == (1, 0, 0, False)
        for deal, decision in ((1, 1), (2, 0), (-1, 0), (1, "0"), (1, True), (1, 1 << 16)):
            watcher.send(do="moment", deal=deal, decision=decision)
            assert watcher.until("refused")["text"]
        assert [person["here"] for person in host.state["people"]] == [True, False]
        secrets = [room.table.people[0].key, *(person.invitation for person in room.table.people.values())]
        sent = "".join([*host.texts, *watcher.texts])
        assert not [secret for secret in secrets if secret in sent]


def test_hands_that_all_passed_stay_hidden_where_a_later_deal_is_tried_again(tmp_path: Path) -> None:
    """A trial ends with its deal, and the match goes on."""
    table, rng = new_table(make_rules(game("noms")), [None, *["random"] * 3], {0: "Ann"}, "thumb", seed=1), random.Random(1)
    table.claim(table.people[0].invitation, KEYS[0])
    session = table.session
    while not session.table.is_scored:
        table.take(session.table.number("pass"))
    table.next_deal()
    while not session.table.is_scored:
        legal = session.table.legal_actions()
        table.take(legal[-1] if not session.deals[-1].actions else rng.choice(legal))
    first = next(number for number, step in enumerate(session.records()[1]["steps"]) if step["seat"] == 0)
    trial = table_from(table.trial_json("a_match_of_noms", 0, f"2.{first}"))
    while not trial.session.table.is_scored:
        trial.take(rng.choice(trial.session.table.legal_actions()))
    trial.save(tmp_path / "a_trial_of_noms.json")
    with server(tmp_path, QUICK) as client, connected(client) as socket:
        watcher = Browser(socket, "a_trial_of_noms", None)
        for deal, is_shown in ((1, False), (2, True)):
            watcher.send(do="moment", deal=deal, decision=0)
            assert watcher.until("moment")["all"] is is_shown
