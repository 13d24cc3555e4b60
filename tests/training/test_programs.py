"""Foreign players that are programs: their input, and that their failures harm no other player."""

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
from noms_env.players.programs.lines import ProgramError, decision, find_action, hello, wants_observation
from noms_env.players.programs.player import ProgramPlayer
from noms_env.record import record_matches, replay
from noms_env.show import look
from noms_training.agents.guarded import guard_players
from noms_training.agents.registry import agent_spec
from noms_training.agents.table_pool import TablePool, play
from noms_training.thread_pool import Stopped
from tests.begin import begin
from tests.cases import some
from tests.commands import Run
from tests.envs.play import KINDS, make, walk
from tests.observation.test_leaks import mix_hidden
from tests.training.test_own_players import EXAMPLES, SMALL, SMALL_WORDS, compare_with_random

PYTHON = f"{sys.executable} -IS"
BOT = f"cmd:{PYTHON} {EXAMPLES / 'jsonl_bot.py'}"


def line_of(table: Table, seed: int = 0, **changes: Any) -> dict[str, Any]:
    """The line that a program gets for a decision."""
    _, mask = table.view(int(table.row.seat))
    document: dict[str, Any] = json.loads(decision(table.row, mask, seed, **changes))
    return document


def script(folder: Path, body: str, name: str = "bot.py") -> str:
    """Write a program with `body` in its loop over `line` and `number`; return its name as a player."""
    indented = "\n".join(f"    {line}" for line in body.splitlines())
    start = "import json, os, sys, time\nfor number, line in enumerate(iter(sys.stdin.readline, '')):\n"
    greeting = "    if number == 0:\n        print(line, flush=True, end='')\n        continue\n"
    tail = "\n    print(json.dumps(json.loads(line)['actions'][0]), flush=True)\n"
    (folder / name).write_text(start + greeting + indented + tail)
    return f"cmd:{PYTHON} {folder / name}"


def is_gone(process: int) -> bool:
    """Whether a process ends within 2 seconds; a zombie has not."""
    for _ in range(100):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("name", KINDS)
def test_a_line_has_no_hidden_information(name: str) -> None:
    env, rng, chance = make(KINDS[name]), random.Random(name), np.random.default_rng(0)
    env.reset(seed=3)
    for number in walk(env, rng, 75):
        if number % 4:
            continue
        table, seat = env.table, int(env.table.row.seat)
        expected = line_of(table)
        assert line_of(mix_hidden(table, seat, rng)) == expected
        row = sampled_tables(table._rows, None, chance)[0]  # as `AtTables` and `ask` do
        assert json.loads(decision(row, table.view(seat)[1], 0)) == expected


@pytest.mark.parametrize("name", KINDS)
def test_a_line_agrees_with_the_record(name: str) -> None:
    variant, seats, options = KINDS[name]
    for record in record_matches(variant, seats, 1, 8, {**options}, legal=True):
        steps = record["steps"]
        calls = [{"seat": step["seat"], "call": step["action"]} for step in steps if step["phase"] == "call"]
        for place, table in enumerate(replay(record)):
            if table.is_scored:
                break
            line, step = line_of(table, seed=place), steps[place]
            for key in ("variant", "seats", "options", "deal", "dealer", "hand_size", "multiplier", "turn_up", "before"):
                assert line[key] == record[key], key
            assert (line["seat"], line["phase"], line["legal"]) == (step["seat"], step["phase"], step["legal"])
            assert [table.word(action) for action in line["actions"]] == line["legal"]
            assert sorted(line["cards"]) == sorted(record["deck"])
            assert line["seed"] == place
            assert line["calls"] == calls[: len(line["calls"])]
            assert len(line["calls"]) == sum(each["phase"] == "call" for each in steps[:place])
            _check_play(line, record, place)
            _check_view(line, table)
        if record["deal"] == 1:
            return


def _check_play(line: dict[str, Any], record: dict[str, Any], place: int) -> None:
    """Check the cards played so far, and the rest of the hand."""
    steps = [step for step in record["steps"][:place] if step["phase"] == "play" and step["action"] != "indicate"]
    plays = [(step["seat"], step["action"]) for step in steps]
    tricks = [*line["played"], line["trick"] or {"leader": 0, "cards": []}]
    cards = [((trick["leader"] + turn) % line["seats"], card) for trick in tricks for turn, card in enumerate(trick["cards"])]
    assert cards == plays
    assert [sum(trick["winner"] == seat for trick in line["played"]) for seat in range(line["seats"])] == line["tricks"]
    if line["variant"] != "nonesuch":  # the Excuse and the up card change places
        own = [card for seat, card in plays if seat == line["seat"]]
        assert sorted(line["hand"] + own) == sorted(record["hands"][line["seat"]])


def _check_view(line: dict[str, Any], table: Table) -> None:
    """Check the facts that `look` shows the same seat."""
    view, words = look(table, int(table.row.seat)), table.card_words
    assert line["hand"] == words(int(table.row.hands[table.row.seat]))
    assert [line[key] == getattr(view, key) for key in ("declarer", "revealed", "indicated")] == [True] * 3
    assert line["role"] == (view.role or "none")
    assert line["role"] in ROLES
    assert line["trump"] == ("unsaid" if view.trump_unsaid else table.trump_word())
    assert line["excuse"] == view.excuse_shown_by
    exposed = [place for place in view.places if place.seat == table.row.exposed]
    hands = [{"seat": place.seat, "hand": words(sum(1 << card for card in place.hand or ()))} for place in exposed]
    assert line["open"] == (hands[0] if hands else None)
    assert line["nominated"] == (words(1 << view.nominated)[0] if view.nominated is not None else line["nominated"])
    if line["trick"] is not None and view.led_suit is not None:
        assert line["trick"]["suit"] == "CDHSMSWLYK"[view.led_suit + 4 * table.deck_kind]


def test_a_line_has_the_previous_deal_if_the_rules_show_it() -> None:
    env, rng = make(KINDS["noms, previous deal shown"]), random.Random(0)
    env.reset(seed=1)
    cards: dict[str, tuple[int, int]] = {}
    while env.table.row.deal == 0:
        assert line_of(env.table)["previous"] == {"played": [], "held": []}
        env.step(rng.choice([action for action in env.legal_actions() if action != 74] or env.legal_actions()))
        if env.table.row.deal == 0:
            line = line_of(env.table)
            for number, trick in enumerate([*line["played"], line["trick"] or {"leader": 0, "cards": []}]):
                cards |= {card: (number, (trick["leader"] + turn) % 4) for turn, card in enumerate(trick["cards"])}
    previous = line_of(env.table)["previous"]
    assert previous["held"] == []
    plays = {card["card"]: (card["trick"], card["seat"]) for card in previous["played"]}
    assert len(plays) == 52
    assert cards.items() <= plays.items()
    assert len(cards) >= 48


def test_a_program_can_ask_for_the_observation() -> None:
    table = begin(Table("down_up", seed=1))
    observation, _ = table.view(int(table.row.seat))
    assert b64decode(line_of(table, observation=observation)["observation"]) == observation.tobytes()
    assert "observation" not in line_of(table)
    assert json.loads(hello(2.5)) == {"type": "hello", "protocol": "noms-bot/1", "environment": 0, "limit": 2.5}
    assert wants_observation(b'{"protocol": "noms-bot/1", "observation": true}')
    assert not wants_observation(b'{"protocol": "noms-bot/1"}')
    for answer in (b"hello", b"[]", b'{"protocol": "noms-bot/2"}', b'{"protocol": "noms-bot/1", "observation": 1}'):
        with pytest.raises(ProgramError, match="answered"):
            wants_observation(answer)


def test_answers_are_words_or_numbers() -> None:
    table = begin(Table("up_down", seed=1), deal=9)
    row, (_, mask) = table.row, table.view(int(table.row.seat))
    assert mask[75 + 3] == 1
    for answer in (b'{"action": "3"}', b'{"action": 78, "why": "a guess"}', b'"3"', b"78"):
        assert find_action(answer, row, mask) == 78
    for answer, sentence in {
        b"3C": "answered '3C', which is no JSON",
        b'{"action": "17"}': "which was not legal: legal were 0 1 2 3 4 5 6 7 ...",
        b'{"action": 5}': "chose action 5, which was not legal",
        b'{"action": true}': "which names no action",
        b"[" * 100_000: "which is no JSON",
    }.items():
        with pytest.raises(ProgramError, match=re.escape(sentence)) as refusal:
            find_action(answer, row, mask)
        assert len(str(refusal.value)) < 200


def test_a_line_says_that_an_open_nomination_found_no_partner() -> None:
    table = begin(Table("small_ships", 5, {"open_partner": True}, seed=3))
    for word in ("10", "S"):
        table.act(word)
    assert [line_of(table)[key] for key in ("revealed", "alone")] == [None, False]
    table.act(table.card_words(table.row.stock)[0])
    assert [line_of(table)[key] for key in ("revealed", "alone")] == [None, True]
    assert "alone" not in line_of(begin(Table("small_ships", 5, seed=3)))


def test_the_documentation_lists_every_key() -> None:
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    (example,) = (json.loads(block) for block in re.findall(r"(?s)```json\n(.*?)```", page) if '"decision"' in block)
    table = begin(Table("small_ships", seed=1))
    keys = line_of(table, observation=table.view(0)[0]).keys()
    assert example.keys() == keys - {"observation"}
    listed = re.findall(r"(?m)^\| (`\w+`(?:, `\w+`)*) \|", page.partition("| key | value |")[2])
    assert {key for cell in listed for key in re.findall(r"\w+", cell)} == keys - {"type"}


def test_the_examples_play_a_tournament_without_losses(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "all"
    players = (BOT, f"{EXAMPLES / 'own_player.py'}:make", f"{EXAMPLES / 'own_player.py'}:lowest")
    words = (*SMALL_WORDS, "--deals", "34", "--threads", "2")
    status, out, err = run("tournament", *players, "--variant", "up_down", *words, "--out", folder)
    assert (status, " lost " in out) == (0, False), out + err
    assert json.loads((folder / "results.json").read_text())["lost"][BOT] == {"tables": 0, "why": []}


@pytest.mark.parametrize("name", KINDS)
def test_the_choice_of_the_example_is_legal_in_every_game(name: str) -> None:
    spec = {"__name__": "jsonl_bot"}
    exec(compile((EXAMPLES / "jsonl_bot.py").read_text(), "jsonl_bot.py", "exec"), spec)
    choose: Any = spec["choose"]
    env = begin(make(KINDS[name]), seed=5)
    for number in range(100):
        if env.phase is None:
            break
        line = line_of(env.table)
        word = choose(line)
        assert word in line["legal"]
        # Two of three calls are the highest, so that not all auctions are passes.
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


@pytest.mark.parametrize("failure", FAILURES)
def test_a_program_that_fails_once_loses_that_table_only(failure: str, tmp_path: Path) -> None:
    body, why = FAILURES[failure]
    mark = tmp_path / "failed"
    pids = f"open({str(tmp_path / 'pids')!r}, 'a').write(f'{{os.getpid()}}\\n')"
    guard = f"if number == 2 and not os.path.exists({str(mark)!r}):\n    open({str(mark)!r}, 'w').close()\n"
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    name = script(tmp_path, f"if number == 1:\n    {pids}\n{guard}{lines}")
    legal = compare_with_random(script(tmp_path, "", "legal.py"), 4).played
    block = compare_with_random(name, 4, limit=1.0 if failure == "hangs" else 20.0).played
    lost, other = block.lost
    assert (lost.tables, other.tables) == (1, 0)
    assert why in lost.why[0]
    assert (block.values != legal.values).sum() <= 1, "all other games are unchanged"
    processes = [int(line) for line in (tmp_path / "pids").read_text().split()]
    assert len(processes) == 2, "the program is restarted"
    assert all(map(is_gone, processes))


def test_a_program_that_always_fails_is_given_up(tmp_path: Path) -> None:
    name = script(tmp_path, "open('" + str(tmp_path / "count") + "', 'a').write('s')\nif number: time.sleep(60)")
    start = time.monotonic()
    comparison = compare_with_random(name, 2, limit=0.1)
    assert time.monotonic() - start < 20
    assert (tmp_path / "count").read_text() == "sss", "three starts"
    lost = comparison.played.lost[0]
    assert lost.tables == comparison.games * 2
    assert ["0.1 seconds" in lost.why[0], "3 times in a row" in lost.why[1]] == [True, True]
    assert comparison.estimate().mean < 0


def test_a_stopped_block_ends_its_program(tmp_path: Path) -> None:
    slow = agent_spec(script(tmp_path, f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(0.05)"))
    pool, stop = TablePool([SMALL], [0], 200, seed=1), Event()
    pool.deal(0)
    Timer(0.5, stop.set).start()
    start = time.monotonic()
    with guard_players([slow], (0,), stop) as guards, pytest.raises(Stopped):
        play(pool, guards, np.zeros((200, 7), np.int64))
    assert time.monotonic() - start < 20
    assert is_gone(int((tmp_path / "pid").read_text()))


def test_a_program_ends_with_its_player(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    player = agent_spec(script(tmp_path, f"open({str(note)!r}, 'w').write(str(os.getpid()))")).make()
    table = begin(Table("up_down", 3, {"ranks": 3}))
    assert ask(player, table, np.random.default_rng(0)) in table.legal_actions()
    process = int(note.read_text())
    os.kill(process, 0)
    assert isinstance(player, ProgramPlayer)
    twin = copy.deepcopy(player)  # with a process of its own
    del player
    assert is_gone(process)
    assert ask(twin, table, np.random.default_rng(0)) in table.legal_actions()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_has_a_program_of_its_own_and_delays_nobody(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    name = script(tmp_path, f"open({str(note)!r}, 'w').write(str(os.getpid()))")
    body = f"""
import os, sys, time
import numpy as np
from noms_env import Table, load_player
from noms_env.players import ask
player, table, rng = load_player({name!r}), Table("up_down"), np.random.default_rng(0)
table.start()
ask(player, table, rng)
first = open({str(note)!r}).read()
child = os.fork()
if child == 0:
    action = ask(player, table, rng)
    player.close()
    answer = f"{{action in table.legal_actions()}} {{open({str(note)!r}).read() != first}}"
    open({str(tmp_path / "child")!r}, "w").write(answer)
    time.sleep(20)
    os._exit(0)
while not os.path.exists({str(tmp_path / "child")!r}):
    time.sleep(0.05)
ask(player, table, rng)
start = time.monotonic()
player.close(at_once=True)
print(time.monotonic() - start < 10, flush=True)
os.kill(child, 9)
"""
    environment = os.environ | {"PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, "-c", body], capture_output=True, text=True, timeout=120, env=environment, check=False
    )
    assert (done.stdout, done.stderr) == ("True\n", "")
    assert (tmp_path / "child").read_text() == "True True"


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
"""A program that ignores signals, with a detached child."""
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
@pytest.mark.parametrize("signal_number", some([signal.SIGKILL, signal.SIGTERM, signal.SIGHUP], 3))
def test_a_program_and_its_children_end_with_a_killed_command(signal_number: int, tmp_path: Path) -> None:
    note = tmp_path / "pids"
    (tmp_path / "bot.py").write_text(BUSY.format(note=str(note)))
    owner = [sys.executable, "-c", OWNER, f"cmd:{PYTHON} {tmp_path / 'bot.py'}"]
    with subprocess.Popen(owner, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"\n"
        processes = [int(line) for line in note.read_text().split()]
        assert list(map(is_gone, processes)) == [True, True, False, False], (
            "the check of the name has ended, and the player runs"
        )
        process.send_signal(signal_number)
    assert all(map(is_gone, processes))
