"""`noms evaluate` and `noms tournament`: their output, files and refusals."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from noms_env.variants import Rules
from noms_training.agents.registry import agent_spec
from noms_training.agents.spec import AgentSpec
from noms_training.benchmark.protocol import PROTOCOLS, PUBLISHED, V1, V2, Place, rules_of_game
from noms_training.evaluation import comparison
from noms_training.evaluation.block_store import NothingPlayedError
from noms_training.thread_pool import Done, run_jobs
from tests.commands import Run, assert_refused, is_one_sentence
from tests.policy.test_player import save_small
from tests.training.fakes import rules

Evaluate = Callable[..., tuple[list[dict[str, Any]], str]]


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy for noms and three-handed nonesuch."""
    path = tmp_path_factory.mktemp("run") / "policy.safetensors"
    save_small(path, (rules("noms"), rules("nonesuch", 3)))
    return path


@pytest.fixture
def evaluate(run: Run, tmp_path: Path) -> Evaluate:
    """Runs `noms evaluate`: the games of its JSON file, and its output."""

    def run_evaluate(*words: object, status: int = 0) -> tuple[list[dict[str, Any]], str]:
        actual, out, err = run("evaluate", *words, "--json", tmp_path / "result.json")
        assert actual == status, err
        assert status == 0 or is_one_sentence(err)
        games: list[dict[str, Any]] = json.loads((tmp_path / "result.json").read_text())["games"]
        return games, out

    return run_evaluate


def tables(games: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(game["variant"], game["seats"]) for game in games]


def test_rule_based_players_need_no_torch() -> None:
    code = (
        "import sys; from noms_training.cli import main;"
        "status = main(['evaluate', 'thumb', 'random', '--variant', 'noms', '--deals', '4', '--matches', '2']);"
        "sys.exit(status + 10 * ('torch' in sys.modules))"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr


def test_the_output_has_the_figures_of_the_file(evaluate: Evaluate) -> None:
    words = ("thumb", "random", "--variant", "down_up", "noms", "--seats", "4", "--option", "target=20")
    games, out = evaluate(*words, "--deals", 60, "--matches", 2, "--tell", 0.5, "--set", "test", "--details")
    text = " ".join(out.split())
    assert [game["variant"] for game in games] == ["down_up", "noms"]
    for game in games:
        assert (game["deals"], game["seatings"], game["set"], game["ending"]) == (60, 14, "test", "all")
        points = game["points"]["all"]
        assert f"thumb, all together {points['mean']:+.3f}" in text
        assert f"{points['low']:+.3f} to {points['high']:+.3f}" in out
        assert f"for one of 0.5 it takes {game['deals_needed']['deals']:,} deals." in out
        assert f"random alone {-game['points']['against']['mean']:+.3f}" in text
        assert game["matches"]["matches"] == 2
        assert set(game["groups"]["a"]) == set(game["groups"]["b"])
    assert games[1]["options"]["target"] == 20
    assert [game.get("unit") for game in games] == [None, "scored deal"]
    assert f"thumb, first deals only {games[1]['first_deals']['all']['mean']:+.3f}" in text
    assert all(title in out for title in ("role: declarer", "cards: 10", "bids hit exactly", "contracts made"))


def test_three_lines_have_the_difference_its_interval_and_a_verdict(evaluate: Evaluate) -> None:
    for a, b, verdict in (
        ("thumb", "random", "thumb is better than random: the interval lies above 0."),
        ("random", "thumb", "thumb is better than random: the interval lies below 0."),
        ("thumb:2", "thumb:1", "No difference is shown: one of 0.001 points takes {needed:,} deals to find."),
    ):
        (game,), out = evaluate(a, b, "--variant", "small_ships", "--deals", 60, "--tell", 0.001)
        points, needed = game["points"]["all"], game["deals_needed"]["deals"]
        first, second, third = out.splitlines()
        assert first == f"small_ships, 4 seats: {a} v {b}: {points['mean']:+z.3f} points a deal"
        assert second.split(": ")[1].startswith(f"{points['low']:+z.3f} to {points['high']:+z.3f}, from 60 duplicate deals")
        assert third.strip() == verdict.format(needed=needed)
        assert game["matches"]["matches"] == 3


def test_a_field_of_the_benchmark_has_its_score(evaluate: Evaluate) -> None:
    words = ("greedy", "thumb", "--deals", 8, "--details", "--matches", 0, "--variant", "nonesuch")
    games, out = evaluate(*words, "down_up", "--seats", 4, "--line-ups", "alone")
    text = " ".join(out.split())
    for game in games:
        scale = PROTOCOLS[V2].parts["single_game"].references[game["variant"]]["thumb"]
        score, points = game["benchmark"], game["points"]["alone"]
        assert score["value"] == pytest.approx(100 * (points["mean"] - scale.zero) / (scale.one - scale.zero))
        names = (V2, "single_game", "thumb", 2048)
        assert (score["protocol"], score["part"], score["field"], score["protocol_deals"]) == names
        interval = f"{score['value']:z.1f} ({score['low']:z.1f} to {score['high']:z.1f})"
        assert f"Score of greedy alone in the field thumb of the benchmark: {interval}, " in text
        assert f"In points: {points['mean']:z.3f} " in text
    for others in (["--seats", 3, "--option", "target=20"], ["--seats", 4, "--line-ups", "mixed"]):
        (game,), out = evaluate(*words, *others)
        assert ("benchmark" in out, game["benchmark"]) == (False, None), others


def test_a_field_of_the_benchmark_is_known_by_its_player() -> None:
    kind, protocol = rules_of_game("noms"), PROTOCOLS[V1]
    policy, sha256 = protocol.policies["noms"]
    for part in (protocol.parts[name] for name in ("core", "search")):
        for field in part.fields:
            (player,) = protocol.players_of(Place(part, "noms", 0, field))
            assert protocol.field_of(kind, player, sha256 if field.name == PUBLISHED else None) == (part, field)
    assert protocol.field_of(kind, "runs/copy@0", sha256) == protocol.field_of(kind, policy, sha256)
    unknown = ((policy, "0" * 64), ("noms", sha256), (f"search:{policy}", sha256), ("flat_mc:20", None), (PUBLISHED, None))
    assert [protocol.field_of(kind, *player) for player in unknown] == [None] * 5


def test_a_secret_salt_changes_the_deals(run: Run, evaluate: Evaluate, tmp_path: Path) -> None:
    (tmp_path / "salt").write_bytes(b"sixteen letters.")
    (tmp_path / "short").write_bytes(b"a")
    words = ("thumb", "random", "--variant", "nonesuch", "--deals", 4, "--matches", 2)
    salt = ("--salt", tmp_path / "salt")
    usual, salted, again = (evaluate(*words, *more)[0][0] for more in ((), salt, salt))
    assert salted == again
    assert (usual["set"], salted["set"]) == ("dev", "dev, salted")
    assert usual["set_sha256"] != salted["set_sha256"]
    assert usual["points"] != salted["points"]
    assert_refused(run("evaluate", *words, "--salt", tmp_path / "none"), f"cannot read {tmp_path / 'none'}")
    assert_refused(run("evaluate", *words, "--salt", tmp_path / "short"), "--salt must be a file of 16 bytes or more")
    tournament = ("tournament", "thumb", "random", "--variant", "nonesuch", "--deals", 4, "--out", tmp_path / "t")
    assert run(*tournament, *salt)[0] == 0
    assert_refused(run(*tournament, "--resume"), "was begun with set 'dev, salted', not 'dev'")


def test_a_salt_from_a_pipe_is_for_all_games_and_a_game_named_twice_is_played_once(evaluate: Evaluate) -> None:
    read, write = os.pipe()
    os.write(write, b"sixteen letters.")
    os.close(write)
    games = ("--variant", "nonesuch", "down_up", "down_up")
    results, _ = evaluate("thumb", "random", *games, "--deals", 2, "--matches", 0, "--salt", f"/dev/fd/{read}")
    os.close(read)
    assert [(game["variant"], game["set"]) for game in results] == [(name, "dev, salted") for name in ("nonesuch", "down_up")]


def test_few_deals_and_matches_have_a_warning(run: Run, tmp_path: Path) -> None:
    words = ("thumb", "greedy", "--variant", "down_up")
    few, enough = (run("evaluate", *words, "--matches", 2, "--details", "--deals", deals)[1] for deals in (29, 30))
    assert "29 deals are few" in few
    assert "2 matches are few" in few
    assert "deals are few" not in enough
    assert "4 deals are few" in run("tournament", *words, "--deals", 4, "--out", tmp_path / "few")[1]


def test_a_line_up_can_be_evaluated_by_itself(evaluate: Evaluate) -> None:
    words = ("thumb", "greedy", "--variant", "down_up", "--deals", 20, "--matches", 0, "--details")
    alone = evaluate(*words)[0][0]["points"]["alone"]
    (game,), out = evaluate(*words, "--line-ups", "alone")
    assert game["seatings"] == 4
    assert game["points"]["alone"] == game["points"]["all"] == alone
    assert "against" not in game["points"]
    assert game["groups"]["b"] == game["probes"]["b"] == {}
    assert "greedy alone" not in out


def test_games_that_lack_the_number_of_seats_are_left_out(run: Run, evaluate: Evaluate) -> None:
    games, _ = evaluate("thumb", "random", "--seats", 7, "--deals", 2, "--matches", 0)
    assert tables(games) == [("sniped_whist", 7), ("big_ships", 7)]
    assert_refused(run("evaluate", "thumb", "random", "--seats", 9), "is played with 9 seats")


def test_policies_are_evaluated_in_the_games_of_their_training(run: Run, evaluate: Evaluate, policy: Path) -> None:
    games, _ = evaluate(policy.parent, "thumb", "--deals", 4, "--matches", 0)
    assert tables(games) == [("noms", 4), ("nonesuch", 3)]
    assert [game["matches"] for game in games] == [None, None]
    assert tables(evaluate("thumb", policy, "--seats", 3, "--deals", 4, "--matches", 0)[0]) == [("nonesuch", 3)]
    for words in (["--variant", "down_up"], ["--option", "target=20"], ["--variant", "noms", "--option", "target=20"]):
        sentence = "was trained for noms with 4 seats, nonesuch with 3 seats, not for"
        assert_refused(run("evaluate", "thumb", policy, *words), sentence)


def test_a_number_after_at_is_the_temperature_of_a_policy(policy: Path) -> None:
    def temperature(name: str) -> float:
        return agent_spec(name).make().temperature  # type: ignore[attr-defined, no-any-return]

    assert [temperature(f"{policy}{suffix}") for suffix in ("", "@0", "@0.5")] == [1.0, 0.0, 0.5]
    folder = policy.parent / "run@0"
    folder.mkdir()
    (folder / policy.name).write_bytes(policy.read_bytes())
    assert temperature(str(folder)) == 1.0
    with pytest.raises(ValueError, match="the temperature behind @ must be a number from 0 on, not '-1'"):
        agent_spec(f"{policy}@-1")


def test_a_time_limit_plays_the_first_deals(evaluate: Evaluate) -> None:
    words = ("thumb", "greedy", "--variant", "big_ships", "--option", "start_cards=2", "--matches", 0)
    (timed,), out = evaluate(*words, "--minutes", 0.02)
    assert timed["ending"] == "time"
    assert "Stopped when the time was over." in out
    (counted,), _ = evaluate(*words, "--deals", timed["deals"])
    assert counted["points"]["alone"] == timed["points"]["alone"]


def test_games_and_matches_share_the_time(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds: list[float] = []

    def note_time(*arguments: Any, until: float, **others: Any) -> None:
        seconds.append(until - time.monotonic())
        raise NothingPlayedError("time")

    monkeypatch.setattr("noms_training.commands.evaluate.compare", note_time)
    status, _, err = run("evaluate", "thumb", "random", "--variant", "noms", "nonesuch", "--minutes", 10, "--details")
    assert (status, is_one_sentence(err)) == (2, True)
    assert seconds == [pytest.approx(0.8 * 300, abs=5)]


def test_a_game_that_needs_more_time_is_left_out(evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch) -> None:
    compare = comparison.compare

    def compare_slowly_in_noms(kind: Rules, a: AgentSpec, b: AgentSpec, deals: int, **others: Any) -> Any:
        if kind.variant.name == "noms":
            raise NothingPlayedError("time")
        return compare(kind, a, b, 10, **{**others, "until": None})

    monkeypatch.setattr("noms_training.commands.evaluate.compare", compare_slowly_in_noms)
    games, out = evaluate("thumb", "random", "--variant", "up_down", "noms", "--minutes", 1, "--matches", 0)
    assert "noms, 4 seats: not even two deals were done in time" in out
    assert [game["variant"] for game in games] == ["up_down"]


def test_ctrl_c_prints_and_writes_the_finished_deals(evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch) -> None:
    def run_interrupted(*arguments: Any, tick: Any, **others: Any) -> Done[object]:
        def interrupt(number: int, result: object) -> None:
            tick(number, result)
            if number == 1:
                raise KeyboardInterrupt

        return run_jobs(*arguments, tick=interrupt, **others)

    monkeypatch.setattr("noms_training.evaluation.block_store.run_jobs", run_interrupted)
    words = ("thumb", "random", "--variant", "noms", "nonesuch", "--deals", 1000, "--threads", 1)
    games, out = evaluate(*words, status=130)
    assert "Stopped by Ctrl-C." in out
    assert [(game["variant"], game["deals"], game["ending"]) for game in games] == [("noms", 256, "ctrl-c")]


def test_a_tournament_writes_its_files_and_can_be_resumed(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "cup"
    words = ["tournament", "random", "thumb", "--variant", "nonesuch", "--deals", 40, "--out", folder]
    status, out, _ = run(*words)
    assert status == 0
    document = json.loads((folder / "results.json").read_text())
    assert document["players"] == ["random", "thumb"]
    assert (folder / "heat.png").read_bytes().startswith(b"\x89PNG")
    assert "| `thumb` |" in (folder / "table.md").read_text()
    assert f"{document['table']['thumb']['random']['mean']:+.3f} ±" in out
    assert out.index("\n1 thumb") < out.index("\n2 random")
    files = {name: (folder / name).read_bytes() for name in ("results.json", "table.md")}
    assert_refused(run(*words), "there is a tournament in")
    assert run(*words, "--resume")[0] == 0
    assert {name: (folder / name).read_bytes() for name in files} == files
