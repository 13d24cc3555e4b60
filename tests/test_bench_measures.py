"""The measures of exploitability and of search write their results and skip those that exist."""

import csv
import json
from pathlib import Path

import pytest

from benchmarks import best_responses, exploitability, micro_self_play
from benchmarks import search_strength as strength


def test_players_are_measured_once(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def args(*players: str) -> exploitability.Args:
        return exploitability.Args(tmp_path, games=("down-up-1",), players=players, samples=2, threads=1)

    exploitability.main(args("thumb", "noms@0"))
    lines = [line.split()[:2] for line in capsys.readouterr().out.splitlines()]
    assert lines == [["down-up-1", "CFR+"], ["down-up-1", "thumb"]], "a policy plays only the games that it was trained for"
    with (tmp_path / "exploitability.csv").open() as file:
        rows = {row["player"]: float(row["share"]) for row in csv.DictReader(file)}
    assert list(rows) == ["uniform random", "CFR+", "thumb"]
    assert rows["CFR+"] < 0.005 < rows["thumb"] < rows["uniform random"] == 1
    assert "| down-up-1 | 420 | " in (tmp_path / "solutions.txt").read_text()
    assert "| micro-game | thumb (points) |" in (tmp_path / "players.txt").read_text()
    assert (tmp_path / "exploitability.png").stat().st_size > 10_000
    exploitability.main(args("thumb", "random=at random"))
    assert [line.split()[1:3] for line in capsys.readouterr().out.splitlines()] == [["at", "random"]]
    monkeypatch.setattr(exploitability, "build_tree", lambda *_: pytest.fail("measured again"))
    exploitability.main(args("thumb", "random=at random"))


def test_self_play_is_measured_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    args = micro_self_play.Args(tmp_path, ("down-up-1", "noms-2"), ("all-actions", "usual"), decisions=500, batch=500)
    micro_self_play.main(args)
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [
        f"{game}-{recipe}-500-0" for game in args.games for recipe in args.recipes
    ]
    with (tmp_path / "self_play.csv").open() as file:
        rows = {(row["game"], row["recipe"]): row for row in csv.DictReader(file)}
    assert len(rows) == 4
    assert all(0.5 < float(row["relative"]) < 1.2 for row in rows.values()), "so short a training changes little"
    own = rows["noms-2", "all-actions"]
    assert f"| {float(own['relative']):.2%} | {float(own['relative_greedy']):.2%} |" in (tmp_path / "self_play.txt").read_text()
    monkeypatch.setattr(micro_self_play, "train", lambda *_: pytest.fail("trained again"))
    micro_self_play.main(args)


def test_the_table_of_best_responses_is_up_to_date() -> None:
    results = best_responses.found_in(best_responses.ROOT / "checkpoints")
    assert (best_responses.Args().out / "best_responses.txt").read_text() == best_responses.table(results) + "\n"


@pytest.mark.soak
def test_strength_is_measured_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def args(worlds: tuple[int, ...]) -> strength.Args:
        return strength.Args(tmp_path, games=("nonesuch",), fields=("policy", "thumb"), worlds=worlds, deals=2)

    strength.main(args((1,)))
    first = capsys.readouterr().out.splitlines()
    heroes = ["pimc:1", "search:nonesuch@0,worlds=1"]
    assert [line.split()[:3] for line in first] == [
        *(["nonesuch", "policy", hero] for hero in heroes),
        *(["nonesuch", "thumb", hero] for hero in ["nonesuch@0", *heroes]),
    ]
    sha256 = json.loads((tmp_path / "nonesuch-thumb.json").read_text())["policy_sha256"]
    with (tmp_path / "search.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["field"], row["player"]) for row in rows].count(("thumb", "nonesuch@0")) == 1
    assert (tmp_path / "search.png").stat().st_size > 10_000
    strength.main(args((1, 2)))
    again = [line.split()[2] for line in capsys.readouterr().out.splitlines()]
    assert again == 2 * ["pimc:2", "search:nonesuch@0,worlds=2"]
    text = (tmp_path / "nonesuch-thumb.json").read_text()
    (tmp_path / "nonesuch-thumb.json").write_text(text.replace(sha256, "0" * 64))
    with pytest.raises(ValueError, match="is of another policy nonesuch@0"):
        strength.main(args((1, 2)))
