"""`noms table`: tables after a restart, damaged files, and the command itself."""

import json
import os
import shutil
import signal
import socket
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from noms_env.variants import VARIANTS
from noms_training.commands import table
from noms_training.commands.common import CommandError
from noms_training.commands.table import kept_token
from noms_training.play.browser import connections
from noms_training.play.browser.live import table_from
from noms_training.play.browser.lobby import Lobby
from noms_training.play.browser.messages import Limits
from tests.commands import Run, assert_refused, disk_full
from tests.training.table_browsers import (
    TableServer,
    browser_at,
    fetch,
    open_table_at,
    request,
    run_server,
    some_table,
    table_process,
)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_table_is_the_same_after_a_restart(variant: str) -> None:
    for actions in (0, 5, 30) if variant == "sniped_whist" else (0, 5, 70, 200):
        live = some_table(actions, variant)
        restored = table_from(live.to_json())
        assert restored.to_json() == live.to_json()
        assert restored.session.table.get_state() == live.session.table.get_state()
        assert (restored.sheet, restored.moment, restored.names) == (live.sheet, live.moment, live.names)
        assert restored.view(0) == live.view(0)


@pytest.mark.parametrize(
    "change",
    [
        {"format": "noms-table/2"},
        {"variant": "chess"},
        {"seats": 99},
        {"players": []},
        {"players": ["nobody"] * 4},
        {"people": {"0": ["Ann"]}},
        {"deals": [[149]]},
        {"deals": 5},
        {"seed": -1},
        {"hints": None},
        {"day": "someday"},
        *({"host": host} for host in (9, "0", True)),
        {"substitute": None},
        {"substitute": []},
        *({"undo": undo} for undo in (5, [], [0, [1]])),
    ],
    ids=str,
)
def test_a_damaged_table_is_refused(change: dict[str, Any]) -> None:
    state = json.loads(some_table(3).to_json())
    with pytest.raises(ValueError, match="not a table"):
        table_from(json.dumps(state | change))


@pytest.mark.parametrize("text", ["", "[]", "null", "{", "{}"])
def test_a_text_that_is_no_table_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a table"):
        table_from(text)


@pytest.mark.parametrize(
    "player", ["cmd:touch ran", "evil.py:make", "evil:make", "greedy@0", "solved:/dev/zero", "../there/policy.safetensors", 7]
)
@pytest.mark.parametrize("place", ["players", "hints"])
def test_a_file_seats_no_player_that_the_command_line_does_not_name(
    player: Any, place: str, server: TableServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("evil.py").write_text("from pathlib import Path\nPath('ran').touch()\n")
    state = json.loads(some_table(3).to_json())
    state[place] = player if place == "hints" else [None, *[player] * 3]
    Path("stranger.json").write_text(json.dumps(state, separators=(",", ":")))
    refusal = server.refused_hello("stranger", state["people"]["0"][1])
    assert refusal == f"this server has no such player, {player!r}; start it with --player NAME"
    assert not Path("ran").exists()


def test_a_file_seats_a_player_that_the_command_line_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text("def act(observation, mask, rng):\n    return int(mask.argmax())\n")
    with run_server(tmp_path, players=("own.py:act",)) as server:
        table = server.open(player="own.py:act")
    with run_server(tmp_path, players=("own.py:act",)) as server:
        assert server.browser(table.name, table.keys[0]).state["levels"][1] == "own.py:act"


def test_a_table_that_cannot_be_saved_continues_with_a_notice(server: TableServer, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = server.open(speed=5, people=2).browser()
    monkeypatch.setattr("noms_training.play.browser.live.write_atomically", disk_full)
    browser.send(do="speed", seconds=3)
    assert browser.until("table")["speed"] == 3
    assert "could not be saved" in browser.until("refused")["text"], "last, so that it is seen"
    assert server.refusal("tables", request(), 500) == "the server cannot save it: No space left on device"


def test_after_kill_9_the_tables_are_as_after_the_last_request(tmp_path: Path) -> None:
    with table_process(tmp_path) as (address, process):
        name, keys = open_table_at(address, people=3)
        lobby = fetch(address, "api/tables", request(people=3))["table"]
        with browser_at(address, name, keys[0]) as browser:
            seat = browser.state["turn"]
        with browser_at(address, name, keys[seat]) as browser:
            browser.act(browser.words[0])
            browser.send(do="back")
            browser.until("table")
            process.send_signal(signal.SIGKILL)
            process.wait()
    state = browser.state
    assert state["undo"] == {"seat": seat, "later": 0, "missing": [other for other in range(3) if other != seat]}
    with table_process(tmp_path) as (address, _), browser_at(address, name, keys[seat]) as browser:
        assert [browser.state[fact] for fact in ("moment", "turn", "undo", "view")] == [
            state[fact] for fact in ("moment", "turn", "undo", "view")
        ]
        with browser_at(address, lobby, None) as spectator:
            assert spectator.state["waits"]


def test_the_command_refuses_what_it_cannot_do(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for words, sentence in (
            (["--port", "0"], "--port must be from 1 to 65535, not 0"),
            (["--most-tables", "0"], "--most-tables must be 1 or more"),
            (["--idle-hours", "0"], "--idle-hours must be above 0"),
            (["--player", "nobody"], "nobody"),
            (["--port", port], f"cannot listen at 127.0.0.1:{port}: Address already in use"),
            (["--host", "no such host"], "cannot listen at no such host:8000: "),
        ):
            assert_refused(run("table", *words), sentence)
    shutil.rmtree(tmp_path / "tables")
    (tmp_path / "tables").write_text("a file")
    assert_refused(run("table"), "cannot use the folder tables")


@pytest.mark.parametrize("has_both", [True, False])
def test_all_interfaces_are_those_of_ipv4_too(has_both: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, server = list[str](), Mock()
    monkeypatch.setattr(socket, "create_server", server)
    monkeypatch.setattr(socket, "has_dualstack_ipv6", lambda: has_both)
    monkeypatch.setattr(table, "open_page", opened.append)
    monkeypatch.setattr(Lobby, "compile", lambda self: None)
    monkeypatch.setattr(connections, "server_of", Mock())
    assert table.serve("::", 8000, tmp_path, (), Limits(), opens=True) == 0
    server.assert_called_once_with(("::", 8000), family=socket.AF_INET6, dualstack_ipv6=has_both)
    assert opened[0].startswith("http://127.0.0.1:8000/" if has_both else "http://[::1]:8000/")


def test_a_huge_file_and_a_pipe_for_a_token_are_refused_at_once(server: TableServer, tmp_path: Path) -> None:
    (tmp_path / "endless_table.json").write_text(some_table(3).to_json())
    os.truncate(tmp_path / "endless_table.json", 1 << 40)
    assert server.refused_hello("endless_table") == "there is no such table"
    os.mkfifo(tmp_path / "token")
    with pytest.raises(CommandError, match="cannot keep the token"):
        kept_token(tmp_path)
