"""`noms table`: neither what the server answers nor when a player acts tells whether the player had a choice."""

import statistics
import time
from contextlib import ExitStack
from pathlib import Path

from noms_training.play.browser.messages import Limits
from noms_training.play.browser.room import Room, rest_of_pause
from tests.training.table_browsers import Browser, connected, opened, server

THINKS = 0.1
"""Seconds that the player below needs for a choice; for a forced decision nearly none."""
PACE = 0.2


def slow_player(folder: Path, seconds: float = THINKS) -> str:
    (folder / "slow.py").write_text(
        "import time\nimport numpy as np\n\n"
        "def act(observation, mask, rng):\n"
        "    legal = np.flatnonzero(mask)\n"
        f"    time.sleep({seconds} if len(legal) > 1 else 0)\n"
        "    return int(legal[-1])\n"
    )
    return f"{folder / 'slow.py'}:act"


def arrived(browser: Browser, kind: str) -> float:
    """When the next message of a kind comes."""
    browser.until(kind)
    return time.monotonic()


def test_neither_answers_nor_actions_tell_a_choice_from_a_forced_decision(tmp_path: Path) -> None:
    slow, answers, actions = slow_player(tmp_path), dict[bool, list[float]](), dict[bool, list[float]]()
    with server(tmp_path, Limits(rate=1e9, pace=PACE), players=(slow,)) as client:
        told = opened(client, player=slow, variant="up_down", seats=4)
        table = client.hall.rooms[told["table"]].table  # type: ignore[attr-defined]
        table.speed = 0
        with connected(client) as socket:
            browser = Browser(socket, told["table"], told["keys"]["0"])
            while min(len(answers.get(free, ())) for free in (True, False)) < 5:
                if table.session.table.is_scored:
                    browser.send(do="next")
                elif browser.state["turn"] == 0:
                    browser.send(do="act", word=browser.words[-1], moment=browser.state["moment"])
                else:
                    free, began = len(table.session.table.legal_actions()) > 1, time.monotonic()
                    browser.send(do="film", deal=999, analyse=False)  # which is refused: the deal goes on
                    answers.setdefault(free, []).append(arrived(browser, "refused") - began)
                    actions.setdefault(free, []).append(arrived(browser, "table") - began)
                    continue
                before = browser.state["moment"]
                while browser.state["moment"] == before:
                    browser.until("table")
    for times, least in ((answers, 0.0), (actions, PACE / 2)):
        of_forced, of_free = (statistics.median(times[choice]) for choice in (False, True))
        assert least <= min(of_forced, of_free), times
        assert abs(of_forced - of_free) < THINKS / 2, times
    assert statistics.median(answers[True]) < THINKS / 2
    assert statistics.median(actions[True]) < PACE + THINKS / 2


def test_who_thinks_for_longer_than_a_pause_acts_at_the_end_of_another() -> None:
    assert rest_of_pause(0.5, 0.0) == 0.5
    assert rest_of_pause(0.5, 0.125) == 0.375
    assert rest_of_pause(0.5, 0.5) == 0
    assert rest_of_pause(0.5, 0.625) == 0.375
    assert rest_of_pause(0.5, 7.25) == 0.25
    assert rest_of_pause(0, 3.0) == 0


def until_it_thinks(browser: Browser, room: Room) -> None:
    """Play until a player has a choice after a decision of the person."""
    session, acted = room.table.session, False
    while not acted or session.is_persons_turn or len(session.table.legal_actions()) < 2:
        assert not session.table.is_scored
        if browser.state["turn"] == browser.state["yours"]:
            before, acted = browser.state["moment"], True
            browser.send(do="act", word=browser.words[-1], moment=before)
            while browser.state["moment"] == before:
                browser.until("table")
        else:
            browser.until("table")


def test_a_decision_that_comes_after_an_undo_is_dropped_and_nobody_waits_for_it(tmp_path: Path) -> None:
    slow = slow_player(tmp_path, 0.6)
    with server(tmp_path, Limits(rate=1e9, pace=0), players=(slow,)) as client:
        told = opened(client, player=slow)
        room: Room = client.hall.rooms[told["table"]]  # type: ignore[attr-defined]
        room.table.speed = 0
        with connected(client) as socket:
            browser = Browser(socket, told["table"], told["keys"]["0"])
            until_it_thinks(browser, room)
            began = time.monotonic()
            browser.send(do="back")
            while browser.until("table").get("turn") != 0:
                pass
            assert time.monotonic() - began < 0.3
            back = room.table.session.table.get_state()
            time.sleep(0.8)
            assert room.table.session.table.get_state() == back


def test_a_decision_at_a_table_where_nobody_is_any_more_is_dropped(tmp_path: Path) -> None:
    slow = slow_player(tmp_path, 0.6)
    with server(tmp_path, Limits(rate=1e9, pace=0), players=(slow,)) as client:
        told = opened(client, player=slow)
        room: Room = client.hall.rooms[told["table"]]  # type: ignore[attr-defined]
        room.table.speed = 0
        with connected(client) as socket:
            browser = Browser(socket, told["table"], told["keys"]["0"])
            until_it_thinks(browser, room)
            before = room.table.session.table.get_state()
        time.sleep(0.8)
        assert room.table.session.table.get_state() == before


def test_a_hint_keeps_nobody_else_waiting(tmp_path: Path) -> None:
    slow = slow_player(tmp_path, 0.6)
    with server(tmp_path, Limits(rate=1e9, pace=0), players=(slow,)) as client:
        told = opened(client, people=3, hints=slow)
        room: Room = client.hall.rooms[told["table"]]  # type: ignore[attr-defined]
        with ExitStack() as sockets:
            browsers = [
                Browser(sockets.enter_context(connected(client)), told["table"], told["keys"][str(seat)]) for seat in range(3)
            ]
            first = int(room.table.session.table.row.seat)
            browsers[first].send(do="hint")
            began = time.monotonic()
            browsers[first - 1].send(do="speed", seconds=5)
            while browsers[first - 1].until("table").get("speed") != 5:
                pass
            assert time.monotonic() - began < 0.3
            assert browsers[first].until("hint")["name"] == slow
            assert time.monotonic() - began > 0.5


def test_a_player_that_thinks_for_ever_has_failed_and_is_replaced(tmp_path: Path) -> None:
    endless = slow_player(tmp_path, 10**6)
    with server(tmp_path, Limits(rate=1e9, pace=0, thought_seconds=0.2), players=(endless,)) as client:
        told = opened(client, player=endless, variant="small_ships", seats=4)
        with connected(client) as socket:
            browser = Browser(socket, told["table"], told["keys"]["0"])
            while browser.state["failed"] is None:
                if browser.state["turn"] == 0:
                    browser.send(do="act", word=browser.words[-1], moment=browser.state["moment"])
                browser.until("table")
            seat = browser.state["failed"]
            browser.send(do="replace", seat=seat, player="random")
            while browser.state["failed"] == seat:
                browser.until("table")
