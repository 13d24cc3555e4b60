"""`noms table`: neither answers nor actions reveal whether a player has a choice, and thinking delays nobody."""

import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from noms_training.play.browser.messages import Limits
from noms_training.play.browser.room import rest_of_pause
from tests.training.table_browsers import Browser, OpenTable, TableServer, run_server

THINKS = 0.1
"""Seconds that the player below needs for a choice; for a forced decision nearly none."""
PACE = 0.2


def slow_player(folder: Path, seconds: float) -> str:
    (folder / "slow.py").write_text(
        "import time\nimport numpy as np\n\n"
        "def act(observation, mask, rng):\n"
        "    legal = np.flatnonzero(mask)\n"
        f"    time.sleep({seconds} if len(legal) > 1 else 0)\n"
        "    return int(legal[-1])\n"
    )
    return f"{folder / 'slow.py'}:act"


def seconds_until(browser: Browser, kind: str, start: float) -> float:
    browser.until(kind)
    return time.monotonic() - start


def test_neither_answers_nor_actions_tell_a_choice_from_a_forced_decision(tmp_path: Path) -> None:
    slow = slow_player(tmp_path, THINKS)
    answers, actions = dict[bool, list[float]](), dict[bool, list[float]]()
    with run_server(tmp_path, Limits(rate=1e9, pace=PACE), players=(slow,)) as server:
        table = server.open(player=slow, variant="up_down", seats=4)
        browser = table.browser()
        while min(len(answers.get(is_free, ())) for is_free in (True, False)) < 5:
            if table.table.is_scored:
                before = browser.state["moment"]
                browser.send(do="next")
                while browser.state["moment"] == before:
                    browser.next()
            elif browser.state["turn"] == 0:
                browser.act(browser.words[-1])
            else:
                is_free, start = len(table.table.legal_actions()) > 1, time.monotonic()
                browser.send(do="film", deal=999, analyse=False)  # refused: the deal is not over
                answers.setdefault(is_free, []).append(seconds_until(browser, "refused", start))
                actions.setdefault(is_free, []).append(seconds_until(browser, "table", start))
    for times, least in ((answers, 0.0), (actions, PACE / 2)):
        forced, free = (statistics.median(times[is_free]) for is_free in (False, True))
        assert least <= min(forced, free), times
        assert abs(forced - free) < THINKS / 2, times
    assert statistics.median(answers[True]) < THINKS / 2
    assert statistics.median(actions[True]) < PACE + THINKS / 2


@pytest.mark.parametrize(
    ("pause", "used", "rest"),
    [(0.5, 0.0, 0.5), (0.5, 0.125, 0.375), (0.5, 0.5, 0), (0.5, 0.625, 0.375), (0.5, 7.25, 0.25), (0, 3.0, 0)],
)
def test_a_decision_is_shown_after_a_whole_number_of_pauses(pause: float, used: float, rest: float) -> None:
    assert rest_of_pause(pause, used) == rest


THOUGHT = 0.6
"""Seconds that a choice takes in the tests below."""


@pytest.fixture
def slow_server(tmp_path: Path) -> Iterator[tuple[TableServer, str]]:
    """A server without pauses, and its slow player."""
    player = slow_player(tmp_path, THOUGHT)
    with run_server(tmp_path, players=(player,)) as server:
        yield server, player


def play_until_it_thinks(table: OpenTable) -> Browser:
    """Play until a player has a choice after a decision of the person; return the person's browser."""
    browser, has_acted = table.browser(), False
    while not has_acted or table.live.session.is_persons_turn or len(table.table.legal_actions()) < 2:
        assert not table.table.is_scored
        if browser.state["turn"] == 0:
            browser.act(browser.words[-1])
            has_acted = True
        else:
            browser.until("table")
    return browser


def test_an_undo_does_not_wait_for_a_thinking_player_whose_decision_is_dropped(slow_server: tuple[TableServer, str]) -> None:
    server, player = slow_server
    table = server.open(player=player)
    browser = play_until_it_thinks(table)
    start = time.monotonic()
    browser.send(do="back")
    browser.wait(turn=0)
    assert time.monotonic() - start < 0.3
    state = table.table.get_state()
    time.sleep(THOUGHT + 0.2)
    assert table.table.get_state() == state


def test_a_decision_at_a_table_that_everybody_has_left_is_dropped(slow_server: tuple[TableServer, str]) -> None:
    server, player = slow_server
    table = server.open(player=player)
    browser = play_until_it_thinks(table)
    state = table.table.get_state()
    browser.close()
    time.sleep(THOUGHT + 0.2)
    assert table.table.get_state() == state


def test_a_hint_delays_nobody_else(slow_server: tuple[TableServer, str]) -> None:
    server, player = slow_server
    table = server.open(people=3, hints=player)
    browsers = [table.browser(seat) for seat in range(3)]
    seat = int(table.table.row.seat)
    start = time.monotonic()
    browsers[seat].send(do="hint")
    browsers[seat - 1].send(do="speed", seconds=5)
    browsers[seat - 1].wait(speed=5)
    assert time.monotonic() - start < 0.3
    assert browsers[seat].until("hint")["name"] == player
    assert time.monotonic() - start > 0.5


def test_a_player_that_never_decides_has_failed(tmp_path: Path) -> None:
    endless = slow_player(tmp_path, 10**6)
    with run_server(tmp_path, Limits(rate=1e9, pace=0, thought_seconds=0.2), players=(endless,)) as server:
        browser = server.open(player=endless, variant="small_ships", seats=4).browser()
        while browser.state["failed"] is None:
            if browser.state["turn"] == 0:
                browser.send_action(browser.words[-1])
            browser.until("table")
