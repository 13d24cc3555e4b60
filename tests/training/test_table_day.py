"""`noms table`: the deal of the day, and a match that a person ends."""

import random
from datetime import date
from pathlib import Path

import pytest

from noms_env.variants import VARIANTS, game
from noms_training.play.browser.day import LEAST_CARDS, PERSON, day_seed, day_table, strong_points
from noms_training.play.browser.live import LiveTable, RefusedError, new_table, table_from
from noms_training.play.session import seat_players
from tests.training.fakes import rules
from tests.training.table_browsers import Browser, connected, opened, seated, server

DAY = date(2026, 11, 28)


def play_out(table: LiveTable) -> None:
    """Play to the end; the person takes the first legal action, and passes where that is possible."""
    while not table.session.is_over:
        if table.session.table.is_scored:
            table.next_deal()
        words = table.session.table.legal_words()
        word = "pass" if "pass" in words else words[0]
        table.take(table.session.table.number(word) if table.session.is_persons_turn else table.session.choose())


def test_the_seed_follows_from_the_date_and_the_game() -> None:
    assert day_seed("small_ships", DAY) == 2061670883313904653
    assert len({day_seed(name, day) for name in VARIANTS for day in (DAY, date(2026, 11, 29))}) == 14


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_deal_of_the_day_is_the_same_for_all_and_one_scored_deal(variant: str) -> None:
    one, other = (day_table(game(variant), DAY, name) for name in ("Ann", "Bo"))
    assert (one.session.table.row.hands == other.session.table.row.hands).all()
    assert one.session.table.row.deal_size >= LEAST_CARDS
    assert one.seated == [None, *[variant] * (one.rules.seats - 1)]
    play_out(one)
    play_out(other)
    assert one.sheet == [{**deal, "lines": own["lines"]} for deal, own in zip(other.sheet, one.sheet, strict=True)], (
        "the others act alike"
    )
    assert [deal["passed_out"] for deal in one.sheet] == [True] * (len(one.sheet) - 1) + [False]
    again = table_from(one.to_json())
    assert (again.day, again.sheet, again.session.is_over) == ("2026-11-28", one.sheet, True)


@pytest.mark.parametrize("variant", ["small_ships", "up_down"])
def test_the_strong_player_has_the_seat_of_the_person_and_the_same_others(variant: str) -> None:
    table = day_table(game(variant), DAY, "Ann")
    play_out(table)
    strong = day_table(game(variant), DAY, "Bo")
    strong.session.players[PERSON] = seat_players([f"search:{variant}@0"], 1, strong.rules)[0]
    play_out(strong)
    assert strong_points(table.session) == strong.sheet[-1]["points"][PERSON]


def test_the_first_try_has_no_hints_and_nothing_is_taken_back() -> None:
    for practice in (False, True):
        table = day_table(game("up_down"), DAY, "Ann", practice)
        table.session.let_others_act()
        table.act(0, table.session.table.legal_words()[0], table.moment)
        table.session.let_others_act()
        assert table.may_take_back(0) is practice
        again = table_from(table.to_json())
        assert (again.practice, again.may_take_back(0), again.moment) == (practice, practice, table.moment)
        if practice:
            assert again.hint_session(0).is_persons_turn
            again.take_back(0)
        else:
            for job in (again.hint_session, again.take_back):
                with pytest.raises(RefusedError, match="deal of the day"):
                    job(0)
    with pytest.raises(ValueError, match="day"):
        table_from(table.to_json().replace("2026-11-28", "someday"))


def test_a_server_opens_the_deal_of_its_date_and_compares_it_when_it_is_over(tmp_path: Path) -> None:
    with server(tmp_path) as client, connected(client) as socket:
        assert client.get("/api/day").json() == {"day": f"{date.today()}"}
        assert client.post("/api/day", json={"variant": "x", "name": "Ann", "practice": False}).status_code == 400
        told = seated(client, client.post("/api/day", json={"variant": "down_up", "name": "Ann", "practice": False}).json())
        browser = Browser(socket, told["table"], told["keys"]["0"])
        assert (browser.state["day"], browser.state["practice"]) == (f"{date.today()}", False)
        browser.send(do="compare")
        assert "is over" in browser.until("refused")["text"]
        browser.send(do="speed", seconds=0)
        browser.until("table")
        browser.play_a_deal(random.Random(1))
        assert browser.state["over"]
        browser.send(do="compare")
        session = client.hall.rooms[told["table"]].table.session  # type: ignore[attr-defined]
        points = {"own": browser.state["sheet"][-1]["points"][0], "strong": strong_points(session)}
        assert browser.until("compared") == {"is": "compared", **points}
        with connected(client) as other:
            watcher = Browser(other, told["table"], None)
            watcher.send(do="compare")
            assert watcher.until("compared") == {"is": "compared", **points}


def test_a_person_alone_ends_a_match_after_a_deal_and_has_its_records(tmp_path: Path) -> None:
    with server(tmp_path) as client, connected(client) as socket:
        told = opened(client, variant="up_down", seats=4)
        browser = Browser(socket, told["table"], told["keys"]["0"])
        browser.send(do="end")
        assert "after a deal" in browser.until("refused")["text"]
        browser.send(do="speed", seconds=0)
        browser.until("table")
        browser.play_a_deal(random.Random(1))
        browser.send(do="end")
        browser.until("table")
        assert browser.state["over"]
        assert not browser.state["back"]
        browser.send(do="records")
        assert browser.until("records")["text"].count("\n") == 1
        browser.send(do="next")
        assert "the match is not" in browser.until("refused")["text"]
        kept = table_from((tmp_path / f"{told['table']}.json").read_text())
        assert (kept.session.is_over, kept.may_take_back(0)) == (True, False)
    table = new_table(rules("up_down"), [None, None, "thumb", "thumb"], {0: "Ann", 1: "Bo"}, "thumb", seed=1)
    with pytest.raises(RefusedError, match="plays alone"):
        table.end(0)
