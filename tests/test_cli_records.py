"""The commands `noms record`, `noms check` and `noms replay`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from noms_env.record import Record, read_records, record_matches, write_records
from noms_env.table import Table
from noms_training.play.deal_text import deal_lines
from tests.begin import begin
from tests.commands import Run, assert_refused
from tests.records import play


@pytest.fixture
def games(tmp_path: Path) -> Path:
    """A file with two matches of three deals each."""
    path = tmp_path / "games.jsonl"
    write_records(path, record_matches("big_ships", matches=2, seed=1, options={"start_cards": 2}))
    return path


def test_record_passes_its_arguments_on(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    words = ["noms", "--matches", "2", "--seed", "3", "--legal", "--option", "target=20", "--option", "min_bid=7"]
    status, out, err = run("record", *words, "--option", "tie=play_on", "--out", path)
    expected = list(record_matches("noms", None, 2, 3, {"target": 20, "min_bid": 7, "tie": "play_on"}, legal=True))
    assert (status, out) == (0, "")
    assert [record for _, record in read_records(path)] == expected
    assert err == f"{len(expected)} deals of 2 matches written to {path}\n"


def test_players_follow_one_option_or_several(run: Run, tmp_path: Path) -> None:
    path, names = tmp_path / "games.jsonl", ["thumb", "random", "greedy", "random"]
    write_records(path, record_matches("noms", players=names))
    expected = path.read_bytes()
    for words in (["--player", *names], [word for name in names for word in ("--player", name)]):
        assert run("record", "noms", "--out", path, *words)[0] == 0
        assert path.read_bytes() == expected


FILE = "policy.safetensors"


@pytest.mark.parametrize(
    "words",
    [
        ["record", "noms", "--player", FILE, "--out", f"./{FILE}"],
        ["record", "noms", "--player", "thumb", f"search:{FILE}@0,worlds=3", "--out", FILE],
        ["record", "noms", "--player", ".", "--out", FILE],
        ["record", "noms", "--player", "log:act", "--out", "log.py"],
        ["record", "noms", "--player", "m/log.py:act", "--out", "m/log.py"],
        ["record", "noms", "--player", "cmd:python3 'log.py'", "--out", "log.py"],
        ["evaluate", "m.log:act", "random", "--json", "m/log.py"],
        ["evaluate", "m:act", "random", "--json", "m/__init__.py"],
        ["evaluate", "thumb", "random", "--salt", FILE, "--json", FILE],
        ["crossplay", "thumb", f"search:{FILE}", "--variant", "noms", "--json", FILE],
        ["exploit", f"solved:{FILE}", "--json", "link"],
        ["exploit", "thumb", "--variant", "noms", "--initial-policy", ".", "--json", FILE],
        ["analyse", FILE, "--html", FILE],
        ["replay", FILE, "--picture", "link"],
        ["plot", ".", "--out", "./log.csv"],
    ],
    ids=" ".join,
)
def test_no_command_overwrites_its_input(run: Run, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m").mkdir()
    for name in (FILE, "log.csv", "log.py", "m/log.py", "m/__init__.py"):
        Path(name).write_text("input")
    Path("link").symlink_to(FILE)
    assert_refused(run(*words), f"cannot write {words[-1]}: this command reads it")
    assert {path.read_text() for path in tmp_path.rglob("*") if path.is_file()} == {"input"}


def test_a_file_of_records_may_begin_with_a_byte_order_mark(run: Run, games: Path) -> None:
    games.write_bytes(b"\xef\xbb\xbf" + games.read_bytes())
    assert run("check", games) == (0, f"{games}: 6 deals of 2 matches, 0 disagreements, 0 damaged lines\n", "")


def test_control_characters_of_a_record_are_escaped(run: Run, games: Path) -> None:
    record = json.loads(games.read_text().splitlines()[0])
    evil = "\x1b[2J\u202e"
    for step in record["steps"][3:]:  # the deal is shown up to the first illegal step
        step.update(phase="call", action=evil)
    record["options"][evil] = evil
    record["turn_up"] = record["trump"] = record["nominated"] = evil
    games.write_text(json.dumps(record) + "\n" + json.dumps(evil) + "\n" + json.dumps({evil: evil}))
    for command in ("replay", "check"):
        status, out, err = run(command, games)
        assert status == 1
        assert (out + err).replace("\n", "").isprintable(), command


def test_ctrl_c_leaves_nothing_behind(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop_after_a_deal(*arguments: Any) -> Iterator[Record]:
        yield next(record_matches("noms"))
        raise KeyboardInterrupt

    monkeypatch.setattr("noms_training.commands.record.record_matches", stop_after_a_deal)
    path = tmp_path / "games.jsonl"
    assert run("record", "noms", "--out", path) == (130, "", f"noms: stopped by Ctrl-C; {path} is not written\n")
    assert list(tmp_path.iterdir()) == []


def test_check_prints_every_fault_and_goes_on(run: Run, games: Path) -> None:
    lines = games.read_text().splitlines()
    wrong = {**json.loads(lines[4]), "tricks": [9, 9, 9, 9]}
    games.write_text("\n".join([lines[0], "{", *lines[2:4], json.dumps(wrong), lines[5]]))
    status, out, err = run("check", games)
    damage, disagreement, summary = out.splitlines()
    assert (status, err) == (1, "")
    assert damage.startswith("line 2: the line is not JSON: ")
    assert disagreement.startswith("line 5, match 1, deal 1: tricks is [9, 9, 9, 9], but should be [")
    assert summary == f"{games}: 5 deals of 2 matches, 1 disagreement, 1 damaged line"


def test_check_refuses_an_empty_file(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    path.write_text("nonsense")
    assert run("check", path)[0] == 1
    path.write_text("")
    assert_refused(run("check", path), f"{path} is empty")


def test_replay_shows_a_deal_trick_by_trick(run: Run, games: Path) -> None:
    status, out, err = run("replay", games, "--match", "1", "--deal", "2")
    (record,) = [
        record for record in map(json.loads, games.read_text().splitlines()) if (record["match"], record["deal"]) == (1, 2)
    ]
    assert (status, err) == (0, "")
    assert out.splitlines()[0].startswith("Big Ships, match 1, deal 2 · 2 cards each · dealer seat ")
    assert [line.split()[:2] for line in out.splitlines()[1:5]] == [["seat", str(seat)] for seat in range(4)]
    calls = " · ".join(f"seat {step['seat']} {step['action']}" for step in record["steps"][:4])
    assert f"  calls    {calls}\n" in out
    plays = record["steps"][4:]
    cards = " ".join(step["action"][0] + step["action"][1].translate(str.maketrans("CDHS", "♣♦♥♠")) for step in plays[:4])
    assert f"  trick 1  seat {plays[0]['seat']} leads {cards} · seat {plays[4]['seat']} wins · tricks " in out
    assert f"  points   {' '.join(map(str, record['points']))}\n" in out
    assert f"  totals   {' '.join(map(str, record['after']))}\n" in out


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


def test_replay_shows_passes_announcements_and_the_excuse() -> None:
    def deal_text(table: Table, words: str) -> str:
        return "\n".join(deal_lines(play(table, words=words)))

    table = begin(Table("noms", options={"implicit_announcements": True}))
    assert "  contract all passed, no play" in deal_text(table, "pass pass pass pass").splitlines()
    table.next_deal()
    text = deal_text(table, "13 pass pass pass unsaid A")
    assert "points ×2" in text
    assert "announced as unsaid, A" in text
    table.next_deal()
    text = deal_text(table, "pass mis_a_vis")
    assert "Mis a Vis\n" in text
    assert " declares Mis a Vis" in text
    table = begin(Table("nonesuch"), dealer=0)
    text = deal_text(table, "most none some none")
    assert "seat 1 Most · seat 2 None" in text
    assert f"the Excuse with seat {table.row.excuse}" in text


def test_replay_names_missing_deals_and_damage(run: Run, games: Path) -> None:
    assert_refused(run("replay", games, "--match", "5"), f"{games} has no deal in match 5")
    assert_refused(run("replay", games, "--deal", "9"), f"{games} has no deal 9")
    assert_refused(run("replay", games, "--seat", "4"), "--seat must be a seat from 0 to 3, not 4")
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
