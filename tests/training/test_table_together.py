"""`noms table`: people at one table: the lobby, undo by agreement, and links to moments."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from noms_env.record import check_records
from noms_env.show.data import view_data
from noms_env.show.view import look
from noms_env.variants import VARIANTS, game
from noms_training.play.browser.live import RefusedError, new_table, table_from
from noms_training.play.browser.messages import Limits
from tests.training.fakes import rules
from tests.training.table_browsers import Browser, OpenTable, TableServer, finish_deal, pass_out, request, run_server
from tests.training.test_table_server import cards_shown, hidden_from

KEYS = {seat: f"the_key_of_seat_{seat}".ljust(22, "_") for seat in range(7)}


class LobbyTable(OpenTable):
    """A table of four whose host has come, with open invitations to guests."""

    def __init__(self, server: TableServer, guests: int = 2) -> None:
        people = {str(seat): "" if seat else "Ann" for seat in range(guests + 1)}
        wish = request("up_down", 4, guests + 1, host=0, substitute="greedy") | {"people": people}
        self.answer = server.post("tables", wish)
        super().__init__(server, self.answer["table"], KEYS)
        self.accept(0)

    def invitation(self, seat: int, key: str = "") -> dict[str, str]:
        return {"table": self.name, "invitation": self.answer["invitations"][str(seat)], "key": key or KEYS[seat]}

    def accept(self, seat: int) -> None:
        assert self.server.post("seat", self.invitation(seat)) == {"seat": seat}

    def join(self, seat: int) -> Browser:
        """Accept an invitation, and open a browser."""
        self.accept(seat)
        return self.browser(seat)


def settle(*browsers: Browser) -> None:
    """Wait until the server has done what these browsers asked for, and they know the result."""
    for browser in browsers:
        while browser.refusal(do="nothing") != "there is no such message":
            pass


def test_the_first_deal_waits_until_every_guest_has_a_name(server: TableServer) -> None:
    lobby = LobbyTable(server)
    host = lobby.browser(0)
    assert (host.state["waits"], host.state["leads"]) == (True, True)
    jobs: list[dict[str, Any]] = [{"do": "act", "word": "0", "moment": "1.0"}, {"do": "hint"}, {"do": "back"}]
    for job in jobs:
        assert host.refusal(**job) == "the first deal waits until everybody is here"
    first = lobby.join(1)
    assert [(person["invited"], person["name"], person["host"]) for person in first.state["people"]] == [
        (False, "Ann", True),
        (False, "", False),
        (True, "", False),
    ]
    assert first.state["leads"] is False
    jobs = [{"do": "begin"}, {"do": "replace", "seat": 2, "player": "thumb"}]
    for job in jobs:
        assert first.refusal(**job) == "only the host can do that"
    for name in ("", " \t", "x" * 41, "‮"):
        assert "40 letters" in first.refusal(do="name", name=name)
    first.send(do="name", name="  Bo\n<b>")
    first.wait(names=["Ann", "Bo <b>", "Guest 3", "Dan"])
    second = lobby.join(2)
    assert second.state["waits"]
    second.send(do="name", name="Cy")
    second.wait(waits=False)
    lobby.live.speed = 0.0
    while lobby.table.row.seat == 3:
        second.next()  # the player acts by itself
    with pytest.raises(RefusedError):
        lobby.live.begin(lobby.live.hints)


def test_the_host_begins_without_missing_guests_who_may_come_later(server: TableServer) -> None:
    lobby = LobbyTable(server)
    host, nameless = lobby.browser(0), lobby.join(1)
    host.send(do="begin")
    host.wait(waits=False)
    assert [player and player.name for player in lobby.live.session.players] == [None, None, "greedy", "random"]
    assert host.state["names"][:3] == ["Ann", "Guest 2", "Cleo"]
    assert host.refusal(do="begin") == "the deal has started already"
    late = lobby.join(2)
    late.send(do="name", name="Cy")
    late.send(do="sit")
    for browser in (late, nameless):
        browser.wait(names=["Ann", "Guest 2", "Cy", "Dan"])


def test_a_guest_begins_if_the_host_is_absent(server: TableServer) -> None:
    lobby = LobbyTable(server, guests=1)
    guest, spectator = lobby.join(1), lobby.browser(None)
    assert guest.state["leads"]
    assert (spectator.state["leads"], spectator.state["watching"]) == (False, 1)
    for job in ({"do": "begin"}, {"do": "answer", "seat": 0, "moment": "1.0", "agrees": True}):
        assert spectator.refusal(**job) == "you are a spectator"
    guest.send(do="begin")
    guest.wait(waits=False)


def test_a_lobby_survives_a_restart(server: TableServer, tmp_path: Path) -> None:
    with run_server(tmp_path) as earlier:
        lobby = LobbyTable(earlier)
        lobby.join(1).send(do="name", name="Bo")
        lobby.browser(0).wait(names=["Ann", "Bo", "Guest 3", "Dan"])
    lobby.server = server
    host, guest = lobby.browser(0), lobby.browser(1)
    assert guest.state["yours"] == 1
    assert (host.state["waits"], host.state["leads"], guest.state["leads"]) == (True, True, False)
    assert host.state["substitute"] == {"name": "greedy", "level": "greedy"}
    assert "used this link" in server.refusal("seat", lobby.invitation(1, "x" * 22))
    lobby.join(2)


def let_all_decide(table: OpenTable) -> list[Browser]:
    """Play until each of the people has decided; return their browsers."""
    browsers = [table.browser(seat) for seat in table.keys]
    while any(table.live.later_decisions(seat) is None for seat in table.keys):
        seat = int(table.table.row.seat)
        if seat < len(browsers):
            browsers[seat].wait(moment=table.live.moment)
            browsers[seat].act(table.table.legal_words()[0])
        else:
            browsers[0].next()
    return browsers


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_decision_is_undone_when_all_others_agree_and_the_record_stays_exact(variant: str, server: TableServer) -> None:
    table = server.open(variant=variant, seats=rules(variant).seats, people=3)
    people = let_all_decide(table)
    while table.table.row.seat >= 3 and not table.table.is_scored:
        people[0].next()
    moment, deal = table.live.moment, table.live.session.deals[-1]
    last = deal.last_decision(0)
    assert last is not None
    later, before = len(deal.actions) - last - 1, deal.actions[:last]
    people[0].send(do="back")
    for browser in people:
        browser.wait(undo={"seat": 0, "later": later, "missing": [1, 2]})
    people[1].send(do="answer", seat=0, moment=moment, agrees=True)
    people[2].wait(undo={"seat": 0, "later": later, "missing": [2]})
    assert table.live.moment == moment, "one has still to agree"
    people[2].send(do="answer", seat=0, moment=moment, agrees=True)
    people[0].wait(undo=None, turn=0)
    assert table.live.session.deals[-1].actions[: len(before)] == before
    table.live.speed = 5  # the players wait, since this test acts for them
    people[0].act(people[0].words[-1])
    finish_deal(table.live)
    records = table.live.session.records()
    assert not list(check_records(enumerate(records, 1)))
    assert table_from(table.live.to_json()).session.records() == records


def test_a_refusal_or_a_decision_ends_an_undo_request(server: TableServer) -> None:
    table = server.open(people=3)
    people = let_all_decide(table)
    before, moment = table.table.get_state(), table.live.moment
    answer = {"do": "answer", "seat": 0, "moment": moment}

    def ask() -> None:
        people[0].send(do="back")
        settle(people[0], *people)
        assert [browser.state["undo"]["seat"] for browser in people] == [0] * 3

    ask()
    assert people[1].refusal(do="back") == "there is a request to take back already"
    assert people[2].refusal(**answer | {"seat": 1}, agrees=True) == "this request is closed"
    people[1].send(**answer, agrees=False)
    people[0].wait(undo=None)
    assert people[0].until("refused")["text"] == "Person 1 does not agree"
    ask()
    people[0].send(**answer, agrees=True)
    people[0].send(**answer, agrees=False)
    settle(people[0], people[1])
    assert people[1].state["undo"] is None
    assert people[1].refusal(**answer, agrees=True) == "this request is closed", "it was withdrawn"
    assert table.table.get_state() == before
    ask()
    seat = int(table.table.row.seat)
    people[seat].send(do="act", word=table.table.legal_words()[0], moment=moment)
    settle(people[seat], people[0])
    assert people[0].state["undo"] is None, "a decision ends it"
    assert people[0].state["moment"] == table.live.moment != moment


def test_an_undo_request_survives_a_restart_and_players_wait_for_its_answer(tmp_path: Path) -> None:
    with run_server(tmp_path) as server:
        table = server.open(people=2)
        people = let_all_decide(table)
        people[0].send(do="back")
        while not people[1].state["undo"]:
            people[1].next()
        moment = table.live.moment
    saved = json.loads(table.path.read_text())
    assert saved["undo"] == [0]
    for impossible in ([2], [0, 0], ["0"], [0, 7], [0, 1]):
        assert table_from(json.dumps(saved | {"undo": impossible})).undo is None
    with run_server(tmp_path) as table.server:
        other, asker = table.browser(1), table.browser(0)
        assert (asker.state["undo"]["missing"], asker.state["moment"]) == ([1], moment)
        other.send(do="answer", seat=0, moment=moment, agrees=True)
        asker.wait(undo=None, turn=0)


def test_a_person_who_has_joined_must_agree_even_while_a_player_has_the_seat() -> None:
    live = new_table(rules("up_down", 4), [None, None, None, "random"], {0: "Ann", 1: "Bo", 2: ""}, "thumb", host=0)
    for seat in (0, 1):
        live.claim(live.people[seat].invitation, KEYS[seat])
    assert live.waits
    live.begin(live.hints)
    live.replace(1, live.hints)
    while live.later_decisions(0) is None:
        live.take(live.session.table.legal_actions()[0])
    live.take_back(0)
    assert live.undo is not None
    live.claim(live.people[2].invitation, KEYS[2])
    assert live.others(0) == [1], "a player has Bo's seat; the third has not joined"
    live.people[2].name = "Cy"
    assert live.others(0) == [1, 2]
    del live.people[2], live.people[1]
    live.undo = None
    live.take_back(0)
    assert live.undo is None
    assert live.later_decisions(0) is None
    with pytest.raises(RefusedError, match="nothing yet"):
        live.take_back(0)


def test_undo_requests_have_a_rate(tmp_path: Path) -> None:
    with run_server(tmp_path, Limits(rate=1e9, pace=0, undo_seconds=1000)) as server:
        table = server.open(people=3)
        people = let_all_decide(table)
        people[0].send(do="back")
        people[0].send(do="answer", seat=0, moment=table.live.moment, agrees=False)
        assert people[0].refusal(do="back").startswith("wait 1000 seconds for the next request to take back")


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_moment_shows_what_a_spectator_saw_and_at_the_end_all_hands(variant: str) -> None:
    for seats in range(game(variant).seats[0], game(variant).seats[1] + 1):
        table = new_table(rules(variant, seats), ["random"] * seats, {}, "thumb", seed=seats)
        session = table.session
        rng, views, hands = random.Random(seats), [], []
        while not session.table.is_scored:
            views.append(view_data(look(session.table, None)))
            hands.append([len(place.hand or ()) for place in look(session.table, None, full=True).places])
            for decision in {0, rng.randrange(len(views)), len(views) - 1}:
                moment = table.moment_data(1, decision)
                assert (moment["view"], moment["all"]) == (views[decision], False)
                assert not cards_shown(json.dumps(moment)) & hidden_from(session.table, None)
            session.take(rng.choice(session.table.legal_actions()))
        moment = table.moment_data(1, 0)
        if session.table.row.passed_out and not session.is_over:
            assert (moment["all"], moment["view"]) == (False, views[0])
        else:
            assert [len(place["hand"]) for place in moment["view"]["places"]] == hands[0]
            assert (moment["all"], moment["view"]["legal"], moment["view"]["choices"]) == (True, [], [])
        for deal, decision in ((0, 0), (2, 0), (1, len(views) + 1)):
            with pytest.raises(RefusedError, match="no such moment"):
                table.moment_data(deal, decision)


def test_a_link_to_a_moment_takes_no_seat_and_reveals_no_secret(server: TableServer) -> None:
    lobby = LobbyTable(server, guests=1)
    host, spectator = lobby.browser(0), lobby.browser(None)
    spectator.send(do="moment", deal=1, decision=0)
    moment = spectator.until("moment")
    assert (moment["deal"], moment["decision"], moment["decisions"], moment["all"]) == (1, 0, 0, False)
    for deal, decision in ((1, 1), (2, 0), (-1, 0), (1, "0"), (1, True), (1, 1 << 16)):
        assert spectator.refusal(do="moment", deal=deal, decision=decision)
    assert [person["here"] for person in host.state["people"]] == [True, False]
    texts = "".join([*host.texts, *spectator.texts])
    for person in lobby.live.people.values():
        assert person.invitation not in texts
        assert not person.key or person.key not in texts


def test_hands_that_all_passed_stay_hidden_in_a_trial_of_a_later_deal(server: TableServer, tmp_path: Path) -> None:
    """A trial ends with its deal, but the match continues."""
    live = new_table(rules("noms"), [None, *["random"] * 3], {0: "Ann"}, "thumb", seed=1)
    pass_out(live)
    live.claim(live.people[0].invitation, KEYS[0])
    live.next_deal()
    live.take(live.session.table.legal_actions()[-1])
    finish_deal(live, 1)
    first = next(number for number, step in enumerate(live.session.records()[1]["steps"]) if step["seat"] == 0)
    trial = table_from(live.trial_json("a_match_of_noms", 0, f"2.{first}"))
    finish_deal(trial)
    trial.save(tmp_path / "a_trial_of_noms.json")
    spectator = server.browser("a_trial_of_noms", None)
    for deal, is_shown in ((1, False), (2, True)):
        spectator.send(do="moment", deal=deal, decision=0)
        moment = spectator.until("moment")
        assert moment["all"] is bool(cards_shown(json.dumps(moment["view"]))) is is_shown
