"""`noms record`, `noms check` and `noms replay`: what they write, find and show."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from noms_env import record as records
from noms_env.record import Recorder, read_records, record_matches, write_records
from noms_env.table import Table
from noms_training.play.deal_text import deal_lines
from tests.begun import begun
from tests.commands import Run


@pytest.fixture
def games(tmp_path: Path) -> Path:
    """A file with two matches of three deals each."""
    path = tmp_path / "games.jsonl"
    write_records(path, record_matches("big_ships", matches=2, seed=1, options={"start_cards": 2}))
    return path


def test_record_writes_what_was_asked_for(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    words = ["noms", "--matches", "2", "--seed", "3", "--legal", "--option", "target=20", "--option", "min_bid=7"]
    status, out, err = run("record", *words, "--option", "tie=play_on", "--out", path)
    expected = list(record_matches("noms", None, 2, 3, {"target": 20, "min_bid": 7, "tie": "play_on"}, legal=True))
    assert (status, out) == (0, "")
    assert [record for _, record in read_records(path)] == expected
    assert err == f"{len(expected)} deals of 2 matches written to {path}\n"


def test_players_are_named_one_after_another(run: Run, tmp_path: Path) -> None:
    names, content = ["thumb", "random", "greedy", "random"], set[bytes]()
    for words in (["--player", *names], [word for name in names for word in ("--player", name)]):
        assert run("record", "noms", "--out", tmp_path / "games.jsonl", *words)[0] == 0
        content.add((tmp_path / "games.jsonl").read_bytes())
    assert len(content) == 1
    write_records(tmp_path / "games.jsonl", record_matches("noms", players=names))
    assert content == {(tmp_path / "games.jsonl").read_bytes()}


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
def test_no_command_writes_over_what_it_reads(
    run: Run, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m").mkdir()
    for name in (FILE, "log.csv", "log.py", "m/log.py", "m/__init__.py"):
        Path(name).write_text("what is read")
    Path("link").symlink_to(FILE)
    status, out, err = run(*words)
    assert (status, out) == (2, "")
    assert err == f"noms: cannot write {words[-1]}: this command reads it; give it another name\n"
    assert {path.read_text() for path in tmp_path.rglob("*") if path.is_file()} == {"what is read"}


def test_a_file_of_records_may_begin_with_a_byte_order_mark(run: Run, games: Path) -> None:
    games.write_bytes(b"\xef\xbb\xbf" + games.read_bytes())
    assert run("check", games) == (0, f"{games}: 6 deals of 2 matches, 0 disagreements, 0 damaged lines\n", "")


def test_nothing_in_a_record_reaches_the_terminal_as_it_is(run: Run, games: Path) -> None:
    """A deal is shown up to a step that is not legal; what is behind it is never played."""
    record = json.loads(games.read_text().splitlines()[0])
    evil = "\x1b[2J\u202e"
    for step in record["steps"][3:]:
        step.update(phase="call", action=evil)
    record["options"][evil] = evil
    record["turn_up"] = record["trump"] = record["nominated"] = evil
    games.write_text(json.dumps(record) + "\n" + json.dumps(evil) + "\n" + json.dumps({evil: evil}))
    for command in ("replay", "check"):
        status, out, err = run(command, games)
        assert status == 1
        assert (out + err).replace("\n", "").isprintable(), command


def test_ctrl_c_leaves_nothing_behind(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*arguments: Any) -> Iterator[records.Record]:
        yield next(record_matches("noms"))
        raise KeyboardInterrupt

    monkeypatch.setattr("noms_training.commands.record.record_matches", stopped)
    path = tmp_path / "games.jsonl"
    status, out, err = run("record", "noms", "--out", path)
    assert (status, out, err) == (130, "", f"noms: stopped by Ctrl-C; {path} is not written\n")
    assert list(tmp_path.iterdir()) == []


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
    assert [line.split()[:2] for line in out.splitlines()[1:5]] == [["seat", str(seat)] for seat in range(4)]
    calls = " · ".join(f"seat {step['seat']} {step['action']}" for step in record["steps"][:4])
    assert f"  calls    {calls}\n" in out
    plays = [(step["seat"], "".join(step["action"])) for step in record["steps"][4:]]
    symbols = str.maketrans("CDHS", "♣♦♥♠")
    first = " ".join(card[0] + card[1].translate(symbols) for _, card in plays[:4])
    assert f"  trick 1  seat {plays[0][0]} leads {first} · seat {plays[4][0]} wins · tricks " in out
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
    table.next_deal()
    text = "\n".join(deal_lines(recorded(table, "pass mis_a_vis")))
    assert "Mis a Vis\n" in text
    assert " declares Mis a Vis" in text
    holder = begun(Table("nonesuch"), dealer=0)
    record = recorded(holder, "most none some none")
    assert "seat 1 Most · seat 2 None" in "\n".join(deal_lines(record))
    assert f"the Excuse with seat {holder.row.excuse}" in "\n".join(deal_lines(record))


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
