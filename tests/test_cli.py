"""The console command `noms`: what it prints, its exit statuses, and that every error is one sentence."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from noms_env import record as records
from noms_env import version
from noms_env.record import Recorder, read_records, record_matches, write_records
from noms_env.table import Table
from noms_env.variants import GAMES, VARIANTS
from noms_env.version import __version__
from tests.begun import begun
from tests.commands import Run
from training import extras
from training.cli import COMMANDS
from training.options import parse_options
from training.terminal.deal_text import deal_lines


@pytest.fixture
def games(tmp_path: Path) -> Path:
    """A file with two matches of three deals each."""
    path = tmp_path / "games.jsonl"
    write_records(path, record_matches("big_ships", matches=2, seed=1, options={"start_cards": 2}))
    return path


def test_version_and_help_are_printed_without_the_engine() -> None:
    code = (
        "import sys; from training.cli import main; status = main(['--version']) + main([]) + main(['record', '--help']);"
        "sys.exit(status + 10 * ('numba' in sys.modules or 'noms_env' in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"noms {__version__}\n")


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"]])
def test_help_names_every_command_with_an_example(run: Run, words: list[str]) -> None:
    status, out, _ = run(*words)
    assert status == 0
    lines = " ".join(out.replace("│", "").split())
    assert all(f" {name} {summary}" in lines for name, (_, summary) in COMMANDS.items())
    assert "noms record small_ships --matches 10" in out


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help(run: Run, name: str) -> None:
    status, out, _ = run(name, "--help")
    assert status == 0
    assert f"usage: noms {name}" in out
    examples = " ".join(out.split()).partition("For example:")[2]  # the help may be broken into lines anywhere
    assert f" noms {name} " in examples


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("width", [60, 80])
def test_help_fits_the_terminal_and_speaks_no_python(run: Run, name: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    _, out, _ = run(name, "--help")
    lines = [line for line in out.splitlines() if not re.match("  (noms|torchrun) ", line)]  # examples are to be copied
    assert max(map(len, lines)) <= width
    assert not re.search(r"\bNone\b|\bFalse\b|default: \)|''|NoneType", " ".join(out.replace("│", "").split()))


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_the_completion_for_a_shell_knows_commands_and_options(run: Run, shell: str) -> None:
    status, out, err = run("--print-completion", shell)
    assert (status, err) == (0, "")
    assert all(word in out for word in (*COMMANDS, "line-ups", "ppo.clip-coef"))


COMPLETED = {
    "ev": ["evaluate"],
    "evaluate --line": ["--line-ups"],
    "evaluate --set t": ["test"],
    "play sm": ["small_ships"],
    "play small_ships --de": ["--deals"],
    "play --against pi": ["pimc"],
    "evaluate noms th": ["thumb"],
    "tournament --variant no": ["noms", "nonesuch"],
    "check ": ["a file.jsonl", "b.jsonl"],
    "evaluate b": ["big_ships"],
    "evaluate b.": ["b.jsonl"],
}
"""Words behind `noms`, of which the last is not complete, and what it may become."""


@pytest.fixture
def two_files(tmp_path: Path) -> Path:
    for name in ("a file.jsonl", "b.jsonl"):
        (tmp_path / name).touch()
    return tmp_path


def test_the_completion_completes_in_bash(run: Run, two_files: Path) -> None:
    lines = [run("--print-completion", "bash")[1]]
    for words in COMPLETED:
        typed = " ".join(map(repr, ["noms", *words.split(" ")]))
        lines += [f"COMP_WORDS=({typed}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _tyro_noms"]
        lines += ["printf '%s|' \"${COMPREPLY[@]}\"; echo"]
    done = subprocess.run(["bash", "-s"], input="\n".join(lines), cwd=two_files, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    found = dict(zip(COMPLETED, done.stdout.splitlines(), strict=True))
    assert {words: sorted(line.split("|")[:-1]) for words, line in found.items()} == COMPLETED


@pytest.mark.soak  # as there, too, a test that is skipped fails under CI, and zsh is on few machines
@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_the_completion_completes_in_zsh(run: Run, two_files: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The function stands in for zsh's own that show words and files, since those need a terminal."""
    functions = tmp_path_factory.mktemp("functions")
    (functions / "_noms").write_text(run("--print-completion", "zsh")[1], encoding="utf-8")
    lines = [
        f"fpath=({functions}); autoload -Uz _noms",
        '_describe() { print -l -- "${(@)${(P)2}%%:*}" }',
        "_files() { print -l -- $words[CURRENT]*(N) }",
    ]
    for words in COMPLETED:
        typed = " ".join(map(repr, ["noms", *words.split(" ")]))
        lines.append(f"words=({typed}); CURRENT=$#words; _noms | tr '\\n' '|'; print")
    done = subprocess.run(["zsh", "-f"], input="\n".join(lines), cwd=two_files, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    found = dict(zip(COMPLETED, done.stdout.splitlines(), strict=True))
    assert {words: sorted(line.split("|")[:-1]) for words, line in found.items()} == COMPLETED


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_an_error(run: Run) -> None:
    status, _, err = run("record", "noms", "--out", "/dev/full")
    assert status == 2
    assert err == "noms: cannot write /dev/full: No space left on device\n"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "training", "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (2, "noms: cannot print the output: No space left on device\n")


def test_a_reader_that_has_had_enough_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, "-m", "training", "--help"], stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (1, b"")


def test_the_command_that_installs_an_extra_names_the_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clone = Path(version.__file__).parents[1]
    monkeypatch.chdir(clone)
    assert version.install_command("plot") == "pip install '.[plot]'"
    monkeypatch.chdir(tmp_path)
    assert shlex.split(version.install_command("plot")) == ["pip", "install", f"{clone}[plot]"]
    monkeypatch.setattr(version, "__file__", str(tmp_path / "noms_env" / "version.py"))
    assert version.install_command("plot") == "pip install 'noms-env[plot]'"


def test_a_library_of_an_extra_that_is_missing_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def wants(module: str, extra: str) -> Callable[..., Any]:
        return lambda _words: extras.require(module, extra)

    assert extras.require("json", "train") is json
    monkeypatch.setattr("training.cli.run", wants("no_such_library", "train"))
    status, _, err = run("demo")
    assert status == 2
    assert err == "noms: this command needs no_such_library, which is not installed: pip install '.[train]'\n"
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(extras.MissingExtraError, match="needs Pillow"):
        extras.require("PIL", "render")


def test_record_writes_what_was_asked_for(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    words = ["noms", "--matches", "2", "--seed", "3", "--legal", "--option", "target=20", "--option", "min_bid=7"]
    status, out, err = run("record", *words, "--option", "tie=play_on", "--out", path)
    expected = list(record_matches("noms", None, 2, 3, {"target": 20, "min_bid": 7, "tie": "play_on"}, legal=True))
    assert (status, out) == (0, "")
    assert [record for _, record in read_records(path)] == expected
    assert err == f"{len(expected)} deals of 2 matches written to {path}\n"


def test_record_prints_to_standard_output(run: Run) -> None:
    status, out, err = run("record", "sniped_whist", "--seats", "5", "--player", "random", "--out", "-")
    assert status == 0
    assert json.loads(out)["seats"] == 5
    assert err == "1 deal of 1 match written to -\n"


def test_ctrl_c_leaves_nothing_behind(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*arguments: Any) -> Iterator[records.Record]:
        yield next(record_matches("noms"))
        raise KeyboardInterrupt

    monkeypatch.setattr(records, "record_matches", stopped)
    path = tmp_path / "games.jsonl"
    status, out, err = run("record", "noms", "--out", path)
    assert (status, out, err) == (130, "", f"noms: stopped by Ctrl-C; {path} is not written\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("given", "options"),
    [
        ([], {}),
        (["target=50"], {"target": 50}),
        (["target=null", "hook=true"], {"target": None, "hook": True}),
        (["target=None", "hook=False"], {"target": None, "hook": False}),
        (["tie=play_on"], {"tie": "play_on"}),
        (['tie="play_on"'], {"tie": "play_on"}),
        (['trump_rotation=["S","NT"]'], {"trump_rotation": ["S", "NT"]}),
        (["tie=a=b"], {"tie": "a=b"}),
        (["tie="], {"tie": ""}),
    ],
)
def test_options_are_json_or_words(given: list[str], options: dict[str, Any]) -> None:
    assert parse_options(given) == options


@pytest.mark.parametrize("given", [["tie"], ["=3"], ["tie=none", "tie=share"]])
def test_options_of_another_form_are_refused(given: list[str]) -> None:
    with pytest.raises(ValueError, match="--option"):
        parse_options(given)


def test_check_of_good_records(run: Run, games: Path) -> None:
    assert run("check", games) == (0, f"{games}: 6 deals of 2 matches, 0 disagreements, 0 damaged lines\n", "")


def test_check_prints_every_disagreement_and_goes_on(run: Run, games: Path) -> None:
    lines = games.read_text().splitlines()
    wrong = {**json.loads(lines[4]), "tricks": [9, 9, 9, 9]}
    games.write_text("\n".join([lines[0], "{", *lines[2:4], json.dumps(wrong), lines[5]]))
    status, out, err = run("check", games)
    damage, disagreement, summary = out.splitlines()
    assert (status, err) == (1, "")
    assert damage.startswith("line 2: the line is not JSON: ")
    assert disagreement.startswith("line 5, match 1, deal 1: tricks is [9, 9, 9, 9], but should be [")
    assert summary == f"{games}: 5 deals of 2 matches, 1 disagreement, 1 damaged line"


def test_damage_alone_is_status_1_and_an_empty_file_an_error(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    path.write_text("nonsense")
    assert run("check", path)[0] == 1
    path.write_text("")
    assert run("check", path) == (2, "", f"noms: {path} is empty\n")


def test_replay_shows_a_deal_trick_by_trick(run: Run, games: Path) -> None:
    status, out, err = run("replay", games, "--match", "1", "--deal", "2")
    (record,) = [one for _, one in read_records(games) if isinstance(one, dict) and (one["match"], one["deal"]) == (1, 2)]
    assert (status, err) == (0, "")
    assert out.splitlines()[0].startswith("Big Ships, match 1, deal 2 · 2 cards each · dealer seat ")
    assert "\x1b" not in out
    assert [line.split()[:2] for line in out.splitlines()[1:5]] == [["seat", str(seat)] for seat in range(4)]
    assert "  stock " in out
    calls = " · ".join(f"seat {step['seat']} {step['action']}" for step in record["steps"][:4])
    assert f"  calls    {calls}\n" in out
    assert "  contract trump ♦" in out
    plays = [(step["seat"], "".join(step["action"])) for step in record["steps"][4:]]
    symbols = str.maketrans("CDHS", "♣♦♥♠")
    first = " ".join(card[0] + card[1].translate(symbols) for _, card in plays[:4])
    assert f"  trick 1  seat {plays[0][0]} leads {first} · seat {plays[4][0]} wins · tricks " in out
    assert f"  points   {' '.join(map(str, record['points']))}\n" in out
    assert f"  totals   {' '.join(map(str, record['after']))}\n" in out
    assert "The match is over: seat" in out


def test_replay_from_a_seat_shows_no_other_hand(run: Run, games: Path) -> None:
    _, out, _ = run("replay", games, "--match", "0", "--deal", "0", "--seat", "2")
    heads = [line.split()[:2] for line in out.splitlines() if line.startswith("  seat ")]
    assert heads == [["seat", "2"]]
    assert "stock" not in out


def test_replay_from_a_seat_does_not_name_the_partner() -> None:
    for record in record_matches("small_ships", options={"max_hands": 5}):
        if record["partner"] is not None:
            assert f"partner seat {record['partner']}" in "\n".join(deal_lines(record))
            assert "partner" not in "\n".join(deal_lines(record, seat=0))


def test_replay_shows_what_is_not_cards(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    write_records(path, record_matches("nonesuch", seed=2))
    _, out, _ = run("replay", path)
    assert "  turn-up  " in out
    assert "the Excuse with seat" in out
    assert " leads as " in out


def recorded(table: Table, words: str) -> records.Record:
    """The record of a deal that begins with these words; then the first legal actions."""
    recorder, left = Recorder(), words.split()
    while not table.is_scored:
        action = table.number(left.pop(0)) if left else table.legal_actions()[0]
        recorder.note(table, action)
        table.step(action)
    return recorder.finish(table)


def test_replay_of_a_passed_out_deal_and_of_implicit_announcements() -> None:
    table = begun(Table("noms", options={"implicit_announcements": True}))
    assert "  contract all passed, no play" in list(deal_lines(recorded(table, "pass pass pass pass")))
    table.next_deal()
    text = "\n".join(deal_lines(recorded(table, "13 pass pass pass unsaid A")))
    assert "points ×2" in text
    assert "announced as unsaid, A" in text


@pytest.mark.parametrize(
    ("variant", "words", "calls", "contract"),
    [
        ("small_ships", "pass 7 mis pass pass", "seat 1 pass · seat 2 7 · seat 3 Misere · seat 0 pass · ", "Misere"),
        ("noms", "pass mis_a_vis", "seat 1 pass · seat 2 Mis a Vis\n", "Mis a Vis"),
        ("nonesuch", "most none some none", "seat 1 Most · seat 2 None · seat 3 Some · seat 0 None\n", None),
    ],
)
def test_replay_has_calls_as_people_say_them(variant: str, words: str, calls: str, contract: str | None) -> None:
    table = begun(Table(variant), dealer=0)
    text = "\n".join(deal_lines(recorded(table, words)))
    assert f"  calls    {calls}" in text
    assert contract is None or f" declares {contract}" in text


def test_replay_says_what_it_cannot_show(run: Run, games: Path) -> None:
    assert run("replay", games, "--match", "5") == (2, "", f"noms: {games} has no deal in match 5\n")
    assert run("replay", games, "--deal", "9")[2] == f"noms: {games} has no deal 9\n"
    assert run("replay", games, "--seat", "4")[2] == "noms: --seat must be a seat from 0 to 3, not 4\n"
    first, *rest = games.read_text().splitlines()
    broken = json.loads(first)
    broken["steps"][6]["action"] = "nonsense"
    games.write_text("\n".join([json.dumps(broken), "{", *rest]))
    status, out, err = run("replay", games)
    torn, damaged = err.splitlines()
    assert status == 1
    assert torn.startswith("noms: line 1: step 6: 'nonsense' means nothing")
    assert damaged.startswith("noms: line 2: the line is not JSON")
    assert out.count("Big Ships, match") == 6
    assert out.count("  points  ") == 5


def test_list_shows_the_games_and_of_one_every_option(run: Run) -> None:
    status, names, _ = run("list")
    assert (status, len(names.splitlines())) == (0, len(GAMES) + 1)
    for game in GAMES.values():
        assert f"{game.name}: {game.title}, " in names
        status, out, _ = run("list", game.name)
        assert status == 0
        assert " ".join(game.intro.split()) in " ".join(out.split())
        assert all(f"  {option.name} " in out for option in game.options)
        assert (" *  " in out) is ("* worked out" in out)


def test_list_of_one_game_shows_defaults_and_allowed_values(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    status, out, _ = run("list", "noms")
    lines = {line.split()[0]: line for line in out.splitlines() if line.strip()}
    assert status == 0
    assert "sniped_whist" not in out
    assert "101" in lines["target"]
    assert "10 *" in lines["min_bid"]
    assert "1 to 10000, null" in lines["target"]
    assert '"joint"' in lines["tie"]


def test_demo_shows_one_deal_of_each_game_if_asked(run: Run) -> None:
    status, out, err = run("demo", "--games")
    assert (status, err) == (0, "")
    assert out.count(", match 0, deal ") == len(VARIANTS)
    assert all(f"{game.title}, match 0" in out for game in GAMES.values())
    assert out.count("  points ") == len(VARIANTS)
    hands = [line for line in out.splitlines() if line.startswith("  seat ")]
    assert len(set(hands)) == len(hands)


def test_demo_takes_the_last_seed_too(run: Run) -> None:
    status, out, _ = run("demo", "--games", "--seed", 2**63 - 1)
    assert (status, out.count("  points ")) == (0, len(VARIANTS))


@pytest.mark.parametrize(
    "words",
    [
        ["list"],
        ["play", "down_up", "--seats", "3", "--deals", "1"],
        ["watch", "nonesuch", "thumb", "--deals", "1"],
        ["demo", "--games"],
        ["evaluate", "thumb", "random", "--variant", "noms", "--deals", "4", "--matches", "2"],
        ["check", "\udcff"],
    ],
    ids=lambda words: words[0],
)
def test_where_signs_cannot_be_shown_there_are_letters(words: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "training", *words],
        capture_output=True,
        input=b"\xe2\x99\xa5q\nq\n",  # a heart, which cannot be read either
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    assert done.returncode == (2 if words[0] == "check" else 0), done.stderr
    assert b"Traceback" not in done.stderr
    assert done.stdout.isascii()
    assert done.stderr.isascii()
    if words[0] == "demo":
        assert re.search(rb"seat 0   C [2-9TJQKA]+  D ", done.stdout), "letters instead of the symbols of the suits"
