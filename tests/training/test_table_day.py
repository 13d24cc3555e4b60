"""`noms table`: the deal of the day, and a match that a person ends."""

from datetime import date

import pytest

from noms_env.variants import VARIANTS, game
from noms_training.play.browser.live import LiveTable, RefusedError, new_table, table_from
from noms_training.play.browser.lobby import MIN_CARDS, PERSON, day_table, strong_points
from noms_training.play.session import seat_players
from tests.training.fakes import rules
from tests.training.table_browsers import TableServer

DAY = date(2026, 11, 28)


def play_match(live: LiveTable) -> None:
    """Play to the end; the person takes the first legal action, and passes where that is legal."""
    while not live.session.is_over:
        if live.session.table.is_scored:
            live.next_deal()
        words = live.session.table.legal_words()
        word = "pass" if "pass" in words else words[0]
        live.take(live.session.table.number(word) if live.session.is_persons_turn else live.session.choose())


def test_the_seed_follows_from_the_date_and_the_game() -> None:
    assert day_table(game("small_ships"), DAY, "Ann").session.seed == 2061670883313904653
    assert len({day_table(game(name), day, "Ann").session.seed for name in VARIANTS for day in (DAY, date(2026, 11, 29))}) == 14


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_deal_of_the_day_is_the_same_for_everybody(variant: str) -> None:
    live, other = (day_table(game(variant), DAY, name) for name in ("Ann", "Bo"))
    assert (live.session.table.row.hands == other.session.table.row.hands).all()
    assert live.session.table.row.deal_size >= MIN_CARDS
    assert live.session.names == [None, *[variant] * (live.rules.seats - 1)]
    play_match(live)
    play_match(other)
    assert [deal | {"lines": ()} for deal in live.sheet] == [deal | {"lines": ()} for deal in other.sheet]
    assert [deal["passed_out"] for deal in live.sheet] == [True] * (len(live.sheet) - 1) + [False], "one scored deal"
    restored = table_from(live.to_json())
    assert (restored.day, restored.sheet, restored.session.is_over) == ("2026-11-28", live.sheet, True)


@pytest.mark.parametrize("variant", ["small_ships", "up_down"])
def test_the_strong_player_has_the_same_seat_and_opponents(variant: str) -> None:
    live = day_table(game(variant), DAY, "Ann")
    play_match(live)
    strong = day_table(game(variant), DAY, "Bo")
    strong.session.players[PERSON] = seat_players([f"search:{variant}@0"], 1, strong.rules)[0]
    play_match(strong)
    assert strong_points(live.session) == strong.sheet[-1]["points"][PERSON]


@pytest.mark.parametrize("practice", [False, True])
def test_the_first_try_has_no_hints_and_no_undo(practice: bool) -> None:
    live = day_table(game("up_down"), DAY, "Ann", practice)
    live.session.let_others_act()
    live.act(0, live.session.table.legal_words()[0], live.moment)
    live.session.let_others_act()
    assert live.may_take_back(0) is practice
    restored = table_from(live.to_json())
    assert (restored.practice, restored.may_take_back(0), restored.moment) == (practice, practice, live.moment)
    if practice:
        assert restored.hint_session(0).is_persons_turn
        restored.take_back(0)
    else:
        for job in (restored.hint_session, restored.take_back):
            with pytest.raises(RefusedError, match="deal of the day"):
                job(0)


def test_a_server_opens_the_deal_of_today_and_compares_it_at_the_end(server: TableServer) -> None:
    today = f"{date.today()}"
    assert server.client.get("/api/day").json() == {"day": today}
    server.refusal("day", {"variant": "x", "name": "Ann", "practice": False})
    table = server.seat_people(server.post("day", {"variant": "down_up", "name": "Ann", "practice": False}))
    table.live.speed = 0
    browser = table.browser()
    assert (browser.state["day"], browser.state["practice"]) == (today, False)
    assert "is over" in browser.refusal(do="compare")
    browser.play_a_deal()
    assert browser.state["over"]
    points = {"own": browser.state["sheet"][-1]["points"][0], "strong": strong_points(table.live.session)}
    for asker in (browser, table.browser(None)):
        asker.send(do="compare")
        assert asker.until("compared") == {"is": "compared", **points}


def test_a_person_who_plays_alone_ends_the_match_after_a_deal(server: TableServer) -> None:
    table = server.open(variant="up_down", seats=4)
    browser = table.browser()
    assert "after a deal" in browser.refusal(do="end")
    browser.play_a_deal()
    browser.send(do="end")
    browser.wait(over=True)
    assert not browser.state["back"]
    browser.send(do="records")
    assert browser.until("records")["text"].count("\n") == 1
    assert "the match is not" in browser.refusal(do="next")
    restored = table_from(table.path.read_text())
    assert (restored.session.is_over, restored.may_take_back(0)) == (True, False)
    live = new_table(rules("up_down"), [None, None, "thumb", "thumb"], {0: "Ann", 1: "Bo"}, "thumb", seed=1)
    with pytest.raises(RefusedError, match="plays alone"):
        live.end(0)
