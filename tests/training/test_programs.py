"""Players of other people that are programs: what they are told, and that whatever they do harms nobody else."""

import copy
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from base64 import b64decode
from pathlib import Path
from threading import Event, Timer
from typing import Any

import numpy as np
import pytest

from noms_env import Table
from noms_env.belief.determinize import sampled_tables
from noms_env.core.partners import ROLES
from noms_env.players import ask
from noms_env.players.programs.lines import AnswerError, decision, find_action, hello, wants_observation
from noms_env.players.programs.player import ProgramPlayer
from noms_env.record import record_matches, replay
from noms_env.show import look
from noms_training.agents.guarded import guard_players
from noms_training.agents.registry import agent_spec
from noms_training.agents.table_pool import TablePool, play
from noms_training.thread_pool import Stopped
from tests.begun import begun
from tests.cases import some
from tests.commands import Run
from tests.envs.play import KINDS, make, walk
from tests.observation.test_leaks import mix_hidden
from tests.training.test_own_players import EXAMPLES, SMALL, SMALL_WORDS, compared

PYTHON = f"{sys.executable} -IS"
BOT = f"cmd:{PYTHON} {EXAMPLES / 'jsonl_bot.py'}"


def told(table: Table, seed: int = 0, **changes: Any) -> dict[str, Any]:
    """What a program is told of a decision."""
    _, mask = table.view(int(table.row.seat))
    document: dict[str, Any] = json.loads(decision(table.row, mask, seed, **changes))
    return document


def script(folder: Path, body: str, name: str = "bot.py") -> str:
    """The name of a player that is a program of these lines, in a loop over `line`, with `number` from 0."""
    indented = "\n".join(f"    {line}" for line in body.splitlines())
    start = "import json, os, sys, time\nfor number, line in enumerate(iter(sys.stdin.readline, '')):\n"
    greeting = "    if number == 0:\n        print(line, flush=True, end='')\n        continue\n"
    tail = "\n    print(json.dumps(json.loads(line)['actions'][0]), flush=True)\n"
    (folder / name).write_text(start + greeting + indented + tail)
    return f"cmd:{PYTHON} {folder / name}"


def is_gone(process: int) -> bool:
    """Whether a process is no more; a zombie still is."""
    for _ in range(100):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("name", KINDS)
def test_a_line_does_not_depend_on_what_the_seat_cannot_see(name: str) -> None:
    env, rng, chance = make(KINDS[name]), random.Random(name), np.random.default_rng(0)
    env.reset(seed=3)
    for number in walk(env, rng, 75):
        if number % 4:
            continue
        table, seat = env.table, int(env.table.row.seat)
        expected = told(table)
        assert told(mix_hidden(table, seat, rng)) == expected
        row = sampled_tables(table._rows, None, chance)[0]  # what `AtTables` and `ask` give a player
        assert json.loads(decision(row, table.view(seat)[1], 0)) == expected


@pytest.mark.parametrize("name", KINDS)
def test_a_line_says_what_the_record_says(name: str) -> None:
    variant, seats, options = KINDS[name]
    for record in record_matches(variant, seats, 1, 8, {**options}, legal=True):
        steps = record["steps"]
        calls = [{"seat": step["seat"], "call": step["action"]} for step in steps if step["phase"] == "call"]
        for place, table in enumerate(replay(record)):
            if table.is_scored:
                break
            line, step = told(table, seed=place), steps[place]
            for key in ("variant", "seats", "options", "deal", "dealer", "hand_size", "multiplier", "turn_up", "before"):
                assert line[key] == record[key], key
            assert (line["seat"], line["phase"], line["legal"]) == (step["seat"], step["phase"], step["legal"])
            assert [table.word(action) for action in line["actions"]] == line["legal"]
            assert sorted(line["cards"]) == sorted(record["deck"])
            assert line["seed"] == place
            assert line["calls"] == calls[: len(line["calls"])]
            assert len(line["calls"]) == sum(one["phase"] == "call" for one in steps[:place])
            _check_play(line, record, place)
            _check_view(line, table)
        if record["deal"] == 1:
            return


def _check_play(line: dict[str, Any], record: dict[str, Any], place: int) -> None:
    """The cards played so far, and what is left of the hand."""
    played = [(one["seat"], one["action"]) for one in record["steps"][:place] if one["phase"] == "play"]
    played = [(seat, card) for seat, card in played if card != "indicate"]
    tricks = [*line["played"], line["trick"] or {"leader": 0, "cards": []}]
    cards = [((trick["leader"] + turn) % line["seats"], card) for trick in tricks for turn, card in enumerate(trick["cards"])]
    assert cards == played
    assert [sum(trick["winner"] == seat for trick in line["played"]) for seat in range(line["seats"])] == line["tricks"]
    if line["variant"] != "nonesuch":  # where the Excuse and the up card change places
        own = [card for seat, card in played if seat == line["seat"]]
        assert sorted(line["hand"] + own) == sorted(record["hands"][line["seat"]])


def _check_view(line: dict[str, Any], table: Table) -> None:
    """What `look` shows the same seat."""
    view, words = look(table, int(table.row.seat)), table.card_words
    assert line["hand"] == words(int(table.row.hands[table.row.seat]))
    assert line["declarer"] == view.declarer
    assert line["revealed"] == view.revealed
    assert line["indicated"] == view.indicated
    assert line["role"] == (view.role or "none")
    assert line["role"] in ROLES
    assert line["trump"] == ("unsaid" if view.trump_unsaid else table.trump_word())
    assert line["excuse"] == view.excuse_shown_by
    exposed = [one for one in view.places if one.seat == table.row.exposed]
    hands = [{"seat": one.seat, "hand": words(sum(1 << card for card in one.hand or ()))} for one in exposed]
    assert line["open"] == (hands[0] if hands else None)
    assert line["nominated"] == (words(1 << view.nominated)[0] if view.nominated is not None else line["nominated"])
    if line["trick"] is not None and view.led_suit is not None:
        assert line["trick"]["suit"] == "CDHSMSWLYK"[view.led_suit + 4 * table.deck_kind]


def test_the_deal_before_is_told_where_the_seat_may_remember_it() -> None:
    env, rng = make(KINDS["noms, previous deal shown"]), random.Random(0)
    env.reset(seed=1)
    cards: dict[str, tuple[int, int]] = {}
    while env.table.row.deal == 0:
        assert told(env.table)["previous"] == {"played": [], "held": []}
        env.step(rng.choice([action for action in env.legal_actions() if action != 74] or env.legal_actions()))
        if env.table.row.deal == 0:
            line = told(env.table)
            for number, trick in enumerate([*line["played"], line["trick"] or {"leader": 0, "cards": []}]):
                cards |= {card: (number, (trick["leader"] + turn) % 4) for turn, card in enumerate(trick["cards"])}
    previous = told(env.table)["previous"]
    assert previous["held"] == []
    found = {one["card"]: (one["trick"], one["seat"]) for one in previous["played"]}
    assert len(found) == 52
    assert cards.items() <= found.items()
    assert len(cards) >= 48


def test_the_observation_is_told_to_those_who_ask() -> None:
    table = begun(Table("down_up", seed=1))
    seen, _ = table.view(int(table.row.seat))
    assert b64decode(told(table, observation=seen)["observation"]) == seen.tobytes()
    assert "observation" not in told(table)
    assert json.loads(hello(2.5)) == {"type": "hello", "protocol": "noms-bot/1", "environment": 0, "limit": 2.5}
    assert wants_observation(b'{"protocol": "noms-bot/1", "observation": true}')
    assert not wants_observation(b'{"protocol": "noms-bot/1"}')
    for answer in (b"hello", b"[]", b'{"protocol": "noms-bot/2"}', b'{"protocol": "noms-bot/1", "observation": 1}'):
        with pytest.raises(AnswerError, match="answered"):
            wants_observation(answer)


def test_answers_are_words_or_numbers() -> None:
    table = begun(Table("up_down", seed=1), deal=9)
    row, (_, mask) = table.row, table.view(int(table.row.seat))
    assert mask[75 + 3] == 1
    for answer in (b'{"action": "3"}', b'{"action": 78, "why": "a guess"}', b'"3"', b"78"):
        assert find_action(answer, row, mask) == 78
    for answer, why in {
        b"3C": "answered '3C', which is no JSON",
        b'{"action": "17"}': "which was not legal: legal were 0 1 2 3 4 5 6 7 ...",
        b'{"action": 5}': "chose action 5, which was not legal",
        b'{"action": true}': "which names no action",
        b"[" * 100_000: "which is no JSON",
    }.items():
        with pytest.raises(AnswerError, match=re.escape(why)) as refusal:
            find_action(answer, row, mask)
        assert len(str(refusal.value)) < 200


def test_a_program_is_told_that_an_open_nomination_found_nobody() -> None:
    table = begun(Table("small_ships", 5, {"open_partner": True}, seed=3))
    for word in ("10", "S"):
        table.act(word)
    assert [told(table)[key] for key in ("revealed", "alone")] == [None, False]
    table.act(table.card_words(table.row.stock)[0])
    assert [told(table)[key] for key in ("revealed", "alone")] == [None, True]
    assert "alone" not in told(begun(Table("small_ships", 5, seed=3)))


def test_the_page_lists_every_key() -> None:
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    (shown,) = (json.loads(block) for block in re.findall(r"(?s)```json\n(.*?)```", page) if '"decision"' in block)
    table = begun(Table("small_ships", seed=1))
    keys = told(table, observation=table.view(0)[0]).keys()
    assert shown.keys() == keys - {"observation"}
    listed = re.findall(r"(?m)^\| (`\w+`(?:, `\w+`)*) \|", page.partition("| key | value |")[2])
    assert {key for cell in listed for key in re.findall(r"\w+", cell)} == keys - {"type"}


def test_the_examples_measure_themselves(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "all"
    players = (BOT, f"{EXAMPLES / 'own_player.py'}:make", f"{EXAMPLES / 'own_player.py'}:lowest")
    words = (*SMALL_WORDS, "--deals", "34", "--threads", "2")
    status, out, err = run("tournament", *players, "--variant", "up_down", *words, "--out", folder)
    assert (status, " lost " in out) == (0, False), out + err
    assert json.loads((folder / "results.json").read_text())["lost"][BOT] == {"tables": 0, "why": []}


@pytest.mark.parametrize("name", KINDS)
def test_the_programs_choice_is_legal_in_every_game(name: str) -> None:
    spec = {"__name__": "jsonl_bot"}
    exec(compile((EXAMPLES / "jsonl_bot.py").read_text(), "jsonl_bot.py", "exec"), spec)
    choose: Any = spec["choose"]
    env = begun(make(KINDS[name]), seed=5)
    for number in range(100):
        if env.phase is None:
            break
        line = told(env.table)
        word = choose(line)
        assert word in line["legal"]
        # Some other actions in between, so that there are auctions and not only passes.
        env.step(line["actions"][-1] if env.phase == "call" and number % 3 else line["actions"][line["legal"].index(word)])


FAILURES = {
    "dies": ("sys.stderr.write('no idea\\n'); sys.exit(3)", "ended with exit status 3 (no idea)"),
    "is killed": ("os.kill(os.getpid(), 9)", "was ended by signal 9"),
    "hangs": ("time.sleep(60)", "took more than 1 seconds for a decision"),
    "talks nonsense": ("print('let me think', flush=True); continue", "answered 'let me think', which is no JSON"),
    "cheats": ("print('\"EX\"', flush=True); continue", "answered '\"EX\"', which was not legal"),
    "closes its output": ("os.close(1); time.sleep(60)", "closed its output"),
    "never ends a line": ("\nwhile True: sys.stdout.write('x' * 65536)", "answered with a line of more than 1,048,576 bytes"),
}


@pytest.mark.parametrize("how", FAILURES)
def test_a_program_that_fails_once_loses_that_table_only(how: str, tmp_path: Path) -> None:
    body, why = FAILURES[how]
    mark = tmp_path / "failed"
    pids = f"open({str(tmp_path / 'pids')!r}, 'a').write(f'{{os.getpid()}}\\n')"
    guard = f"if number == 2 and not os.path.exists({str(mark)!r}):\n    open({str(mark)!r}, 'w').close()\n"
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    name = script(tmp_path, f"if number == 1:\n    {pids}\n{guard}{lines}")
    fine = compared(script(tmp_path, "", "fine.py"))
    found = compared(name, limit=1.0 if how == "hangs" else 20.0)
    lost, other = found.played.lost
    assert (lost.tables, other.tables) == (1, 0)
    assert why in lost.why[0]
    assert (found.played.values != fine.played.values).sum() <= 1, "all other games are as if nothing had happened"
    processes = [int(line) for line in (tmp_path / "pids").read_text().split()]
    assert len(processes) == 2, "it is started again"
    assert all(map(is_gone, processes))


def test_a_program_that_always_fails_is_given_up(tmp_path: Path) -> None:
    name = script(tmp_path, "open('" + str(tmp_path / "count") + "', 'a').write('s')\nif number: time.sleep(60)")
    began = time.monotonic()
    found = compared(name, deals=2, limit=0.1)
    assert time.monotonic() - began < 20
    assert (tmp_path / "count").read_text() == "sss", "three starts"
    lost = found.played.lost[0]
    assert lost.tables == found.games * 2
    late = "took more than 0.1 seconds for a decision"
    assert lost.why == [late, "failed 3 times in a row and was not asked again"]
    assert found.estimate().mean < 0


def test_what_a_program_has_started_ends_with_it(tmp_path: Path) -> None:
    note = tmp_path / "child"
    child = f"if number == 1:\n    open({str(note)!r}, 'w').write(str(os.spawnvp(os.P_NOWAIT, 'sleep', ['sleep', '60'])))"
    compared(script(tmp_path, child), deals=2)
    process = int(note.read_text())
    for _ in range(100):
        if not Path(f"/proc/{process}").exists() or "\nState:\tZ" in Path(f"/proc/{process}/status").read_text():
            return  # whoever takes over orphans may take its time
        time.sleep(0.02)
    pytest.fail("the child of the program still runs")


def test_a_block_that_is_stopped_ends_its_program(tmp_path: Path) -> None:
    slow = agent_spec(script(tmp_path, f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(0.05)"))
    pool, stop = TablePool([SMALL], [0], 200, seed=1), Event()
    pool.deal(0)
    Timer(0.5, stop.set).start()
    began = time.monotonic()
    with guard_players([slow], (0,), stop) as guards, pytest.raises(Stopped):
        play(pool, guards, np.zeros((200, 7), np.int64))
    assert time.monotonic() - began < 20
    assert is_gone(int((tmp_path / "pid").read_text()))


def test_a_program_ends_with_its_player(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    player = agent_spec(script(tmp_path, f"open({str(note)!r}, 'w').write(str(os.getpid()))")).make()
    table = begun(Table("up_down", 3, {"ranks": 3}))
    assert ask(player, table, np.random.default_rng(0)) in table.legal_actions()
    process = int(note.read_text())
    os.kill(process, 0)
    assert isinstance(player, ProgramPlayer)
    twin = copy.deepcopy(player)  # with a process of its own
    del player
    assert is_gone(process)
    assert ask(twin, table, np.random.default_rng(0)) in table.legal_actions()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("cmd:", "a program follows cmd:"),
        ("cmd:no-such-program --fast", "there is no program 'no-such-program'"),
        ("cmd:'unclosed", "the words of the command cannot be told apart"),
        ("cmd:{}", "ended with exit status 125 (could not be started: "),
        (f"cmd:{PYTHON} -c 1/0", "ended with exit status 1 (ZeroDivisionError: division by zero)"),
        ("cmd:sh -c 'read line; echo 7'", "answered the first line with '7', not with"),
    ],
)
def test_a_program_that_does_not_start_is_refused(name: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "empty").touch(0o755)
    with pytest.raises(ValueError, match=re.escape(why)):
        agent_spec(name.format(tmp_path / "empty") if "{}" in name else name)


BUSY = """
import os, signal, sys

def note(process):
    with open({note!r}, "a") as file:
        file.write(f"{{process}}\\n")

for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
note(os.getpid())
if os.fork() == 0:
    os.setsid()
    process = os.fork()
    if process:
        note(process)
        os._exit(0)
    while True:
        pass
os.wait()
for line in sys.stdin:
    print(line, end="", flush=True)
while True:
    pass
"""
"""A program that nobody can ask to end, and its child, which has left it."""
OWNER = """
import signal, sys, time
from noms_training.agents.registry import agent_spec
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it would be ignored
player = agent_spec(sys.argv[1]).make()
player.start()
print(flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a keeper finds what is in the program's group only")
@pytest.mark.parametrize("what", some([signal.SIGKILL, signal.SIGTERM, signal.SIGHUP], 3))
def test_a_program_and_its_children_end_with_the_command_however_it_ends(what: int, tmp_path: Path) -> None:
    note = tmp_path / "pids"
    (tmp_path / "bot.py").write_text(BUSY.format(note=str(note)))
    owner = [sys.executable, "-c", OWNER, f"cmd:{PYTHON} {tmp_path / 'bot.py'}"]
    with subprocess.Popen(owner, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"\n"
        processes = [int(line) for line in note.read_text().split()]
        assert list(map(is_gone, processes)) == [True, True, False, False], "those of the check of its name, and the player"
        process.send_signal(what)
    assert all(map(is_gone, processes))
