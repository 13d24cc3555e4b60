"""`noms evaluate` and `noms tournament`: what they print and write, and that every error is one sentence."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from noms_env.variants import Rules, game, make_rules
from noms_training.agents.registry import agent_spec
from noms_training.agents.spec import AgentSpec
from noms_training.benchmark.protocol import (
    PROTOCOLS,
    PUBLISHED,
    V1,
    V2,
    Place,
    rules_of_game,
)
from noms_training.evaluation import comparison
from noms_training.evaluation.block_store import NothingPlayedError
from noms_training.thread_pool import Done, run_jobs
from tests.commands import Run, assert_refused, is_one_sentence
from tests.policy.test_player import save_small


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy for noms and three-handed nonesuch."""
    rule_sets = (make_rules(game("noms")), make_rules(game("nonesuch"), 3))
    path = tmp_path_factory.mktemp("run") / "policy.safetensors"
    save_small(path, rule_sets)
    return path


def test_two_players_without_torch(tmp_path: Path) -> None:
    """The learning library is an extra, and takes seconds to import."""
    code = (
        "import sys; from noms_training.cli import main;"
        "status = main(['evaluate', 'thumb', 'random', '--variant', 'noms', '--deals', '4', '--matches', '2']);"
        "sys.exit(status + 10 * ('torch' in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_is_printed_and_written(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    words = ["evaluate", "thumb", "random", "--variant", "down_up", "noms", "--seats", "4", "--option", "target=20"]
    status, out, _ = run(*words, "--deals", 60, "--matches", 2, "--tell", 0.5, "--json", file, "--set", "test", "--details")
    assert status == 0
    document = json.loads(file.read_text())
    assert [one["variant"] for one in document["games"]] == ["down_up", "noms"]
    for one in document["games"]:
        assert (one["deals"], one["seatings"], one["set"], one["ending"]) == (60, 14, "test", "all")
        points = one["points"]["all"]
        assert f"thumb, all together {points['mean']:+.3f}" in " ".join(out.split())
        assert f"{points['low']:+.3f} to {points['high']:+.3f}" in out
        assert f"for one of 0.5 it takes {one['deals_needed']['deals']:,} deals." in out
        against = one["points"]["against"]
        assert f"random alone {-against['mean']:+.3f}" in " ".join(out.split())
        assert one["matches"]["matches"] == 2
        assert set(one["groups"]["a"]) == set(one["groups"]["b"])
    assert document["games"][1]["options"]["target"] == 20
    assert [one.get("unit") for one in document["games"]] == [None, "scored deal"]
    first = document["games"][1]["first_deals"]["all"]
    assert f"thumb, first deals only {first['mean']:+.3f}" in " ".join(out.split())
    assert all(text in out for text in ("role: declarer", "cards: 10", "bids hit exactly", "contracts made"))


def test_three_lines_say_the_difference_its_interval_and_who_is_better(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    words = ["--variant", "small_ships", "--deals", 60, "--json", file]
    for a, b, verdict in (
        ("thumb", "random", "thumb is better than random: the interval lies above 0."),
        ("random", "thumb", "thumb is better than random: the interval lies below 0."),
        ("thumb:2", "thumb:1", "No difference is shown: one of 0.001 points takes {needed:,} deals to find."),
    ):
        status, out, _ = run("evaluate", a, b, *words, "--tell", 0.001)
        (game,) = json.loads(file.read_text())["games"]
        points, needed = game["points"]["all"], game["deals_needed"]["deals"]
        first, second, third = out.splitlines()
        assert status == 0
        assert first == f"small_ships, 4 seats: {a} v {b}: {points['mean']:+z.3f} points a deal"
        assert second.split(": ")[1].startswith(f"{points['low']:+z.3f} to {points['high']:+z.3f}, from 60 duplicate deals")
        assert third.strip() == verdict.format(needed=needed)
        assert game["matches"]["matches"] == 3


def test_the_score_of_the_benchmark_stands_where_it_has_such_a_field(run: Run, tmp_path: Path) -> None:
    file, part = tmp_path / "result.json", PROTOCOLS[V2].parts["single_game"]
    words = ["evaluate", "greedy", "thumb", *("--deals", 8, "--details", "--json", file, "--matches", 0)]
    words += ["--variant", "nonesuch"]
    status, out, _ = run(*words, "down_up", "--seats", 4, "--line-ups", "alone")
    assert status == 0
    text = " ".join(out.split())
    for of_game in json.loads(file.read_text())["games"]:
        scale = part.references[of_game["variant"]]["thumb"]
        score, points = of_game["benchmark"], of_game["points"]["alone"]
        assert score["value"] == pytest.approx(100 * (points["mean"] - scale.zero) / (scale.one - scale.zero))
        names = (V2, "single_game", "thumb", 2048)
        assert (score["protocol"], score["part"], score["field"], score["protocol_deals"]) == names
        interval = f"{score['value']:z.1f} ({score['low']:z.1f} to {score['high']:z.1f})"
        assert f"Score of greedy alone in the field thumb of the benchmark: {interval}, " in text
        assert f"In points: {points['mean']:z.3f} " in text
    for other in (["--seats", 3, "--option", "target=20"], ["--seats", 4, "--line-ups", "mixed"]):
        status, out, _ = run(*words, *other)
        assert (status, "benchmark" in out) == (0, False), other
        assert json.loads(file.read_text())["games"][0]["benchmark"] is None, other


def test_a_field_of_the_benchmark_is_known_by_its_player() -> None:
    rules, protocol = rules_of_game("noms"), PROTOCOLS[V1]
    policy, sha256 = protocol.policies["noms"]
    for part in (protocol.parts[name] for name in ("core", "search")):
        for field in part.fields:
            (player,) = protocol.players_of(Place(part, "noms", 0, field))
            assert protocol.field_of(rules, player, sha256 if field.name == PUBLISHED else None) == (part, field)
    assert protocol.field_of(rules, "runs/copy@0", sha256) == protocol.field_of(rules, policy, sha256)
    for name, of_file in (
        (policy, "0" * 64),
        ("noms", sha256),
        (f"search:{policy}", sha256),
        ("flat_mc:20", None),
        (PUBLISHED, None),
    ):
        assert protocol.field_of(rules, name, of_file) is None, name


def test_a_judge_has_deals_of_its_own(run: Run, tmp_path: Path) -> None:
    (tmp_path / "salt").write_bytes(b"sixteen letters.")
    (tmp_path / "short").write_bytes(b"a")
    words = ["evaluate", "thumb", "random", "--variant", "nonesuch", "--deals", 4, "--matches", 2, "--json", tmp_path / "found"]
    found = []
    for salt in ([], ["--salt", tmp_path / "salt"], ["--salt", tmp_path / "salt"]):
        assert run(*words, *salt)[0] == 0
        found.append(json.loads((tmp_path / "found").read_text())["games"][0])
    assert found[1] == found[2]
    assert (found[0]["set"], found[1]["set"]) == ("dev", "dev, salted")
    assert found[0]["set_sha256"] != found[1]["set_sha256"]
    assert found[0]["points"] != found[1]["points"]
    assert_refused(run(*words, "--salt", tmp_path / "none"), f"cannot read {tmp_path / 'none'}: No such file or directory")
    assert_refused(run(*words, "--salt", tmp_path / "short"), "--salt must be a file of 16 bytes or more")
    tournament = ["tournament", "thumb", "random", "--variant", "nonesuch", "--deals", 4, "--out", tmp_path / "t"]
    assert run(*tournament, "--salt", tmp_path / "salt")[0] == 0
    assert_refused(run(*tournament, "--resume"), "was begun with set 'dev, salted', not 'dev'")


def test_too_few_deals_are_said_to_be_too_few(run: Run, tmp_path: Path) -> None:
    words = ["evaluate", "thumb", "greedy", "--variant", "down_up", "--matches", 2, "--details", "--deals"]
    few, enough = run(*words, 29)[1], run(*words, 30)[1]
    assert "29 deals are few: the interval may be too narrow." in few
    assert "2 matches are few: an interval takes 10 or more." in few
    assert "deals are few" not in enough
    words = ["tournament", "thumb", "greedy", "--variant", "down_up", "--deals", 4, "--out", tmp_path / "few"]
    assert "4 deals are few" in run(*words)[1]


def test_one_line_up_by_itself(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    words = ["evaluate", "thumb", "greedy", "--variant", "down_up", "--deals", 20, "--matches", 0, "--details", "--json", file]
    assert run(*words)[0] == 0
    alone = json.loads(file.read_text())["games"][0]["points"]["alone"]
    status, out, _ = run(*words, "--line-ups", "alone")
    assert status == 0
    (one,) = json.loads(file.read_text())["games"]
    assert one["seatings"] == 4
    assert one["points"]["alone"] == one["points"]["all"] == alone
    assert "against" not in one["points"]
    assert one["groups"]["b"] == one["probes"]["b"] == {}
    assert "greedy alone" not in out


def test_games_without_the_wanted_number_of_seats_are_left_out(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    assert run("evaluate", "thumb", "random", "--seats", 7, "--deals", 2, "--matches", 0, "--json", file)[0] == 0
    found = [(one["variant"], one["seats"]) for one in json.loads(file.read_text())["games"]]
    assert found == [("sniped_whist", 7), ("big_ships", 7)]
    assert_refused(run("evaluate", "thumb", "random", "--seats", 9), "is played with 9 seats")


def test_policies_are_measured_in_the_games_that_they_know(run: Run, policy: Path, tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    status, _, _ = run("evaluate", policy.parent, "thumb", "--deals", 4, "--matches", 0, "--json", file)
    assert status == 0
    games = json.loads(file.read_text())["games"]
    assert [(one["variant"], one["seats"], one["matches"]) for one in games] == [("noms", 4, None), ("nonesuch", 3, None)]
    assert run("evaluate", "thumb", policy, "--seats", 3, "--deals", 4, "--matches", 0, "--json", file)[0] == 0
    assert [(one["variant"], one["seats"]) for one in json.loads(file.read_text())["games"]] == [("nonesuch", 3)]
    for words in (["--variant", "down_up"], ["--option", "target=20"], ["--variant", "noms", "--option", "target=20"]):
        sentence = "was trained for noms with 4 seats, nonesuch with 3 seats, not for"
        assert_refused(run("evaluate", "thumb", policy, *words), sentence)


def test_a_temperature_behind_a_policy(policy: Path) -> None:
    made = {text: agent_spec(f"{policy}{text}").make for text in ("", "@0", "@0.5")}
    heats = {text: make().temperature for text, make in made.items()}  # type: ignore[attr-defined]
    assert heats == {"": 1.0, "@0": 0.0, "@0.5": 0.5}
    odd = policy.parent / "run@0"
    odd.mkdir()
    (odd / policy.name).write_bytes(policy.read_bytes())
    assert agent_spec(str(odd)).make().temperature == 1.0  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="the temperature behind @ must be a number from 0 on, not '-1'"):
        agent_spec(f"{policy}@-1")


def test_a_limited_time_gives_the_first_deals(run: Run, tmp_path: Path) -> None:
    words = ["evaluate", "thumb", "greedy", "--variant", "big_ships", "--option", "start_cards=2", "--matches", 0]
    timed, counted = tmp_path / "timed.json", tmp_path / "counted.json"
    status, out, _ = run(*words, "--minutes", 0.02, "--json", timed)
    one = json.loads(timed.read_text())["games"][0]
    assert (status, one["ending"]) == (0, "time")
    assert "Stopped when the time was over." in out
    assert run(*words, "--deals", one["deals"], "--json", counted)[0] == 0
    assert json.loads(counted.read_text())["games"][0]["points"]["alone"] == one["points"]["alone"]


def test_games_share_the_time_and_leave_some_for_matches(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    until: list[float] = []

    def note(*arguments, **others):  # type: ignore[no-untyped-def]
        until.append(others["until"] - time.monotonic())
        raise NothingPlayedError("time")

    monkeypatch.setattr("noms_training.commands.evaluate.compare", note)
    status, _, err = run("evaluate", "thumb", "random", "--variant", "noms", "nonesuch", "--minutes", 10, "--details")
    assert (status, is_one_sentence(err)) == (2, True)
    assert until == [pytest.approx(0.8 * 300, abs=5)]


def test_a_game_for_which_the_time_is_too_short_is_left_out(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compare = comparison.compare

    def too_slow_in_noms(rules: Rules, a: AgentSpec, b: AgentSpec, deals: int, **others: Any) -> Any:
        if rules.variant.name == "noms":
            raise NothingPlayedError("time")
        return compare(rules, a, b, 10, **{**others, "until": None})  # however slow the machine is

    monkeypatch.setattr("noms_training.commands.evaluate.compare", too_slow_in_noms)
    words = ["evaluate", "thumb", "random", "--variant", "up_down", "noms", "--minutes", 1, "--matches", 0]
    status, out, _ = run(*words, "--json", tmp_path / "found.json")
    assert (status, "noms, 4 seats: not even two deals were done in time" in out) == (0, True)
    assert [one["variant"] for one in json.loads((tmp_path / "found.json").read_text())["games"]] == ["up_down"]


def test_ctrl_c_prints_what_there_is(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments, tick, **others):  # type: ignore[no-untyped-def]
        def tell(number: int, result: object) -> None:
            tick(number, result)
            if number == 1:
                raise KeyboardInterrupt

        done: Done[object] = run_jobs(*arguments, tick=tell, **others)
        return done

    monkeypatch.setattr("noms_training.evaluation.block_store.run_jobs", interrupted)
    file = tmp_path / "result.json"
    words = ["evaluate", "thumb", "random", "--variant", "noms", "nonesuch", "--deals", 1000, "--threads", 1]
    status, out, err = run(*words, "--json", file)
    assert status == 130
    assert is_one_sentence(err)
    assert "Stopped by Ctrl-C." in out
    games = json.loads(file.read_text())["games"]
    assert [(one["variant"], one["deals"], one["ending"]) for one in games] == [("noms", 256, "ctrl-c")]


def test_a_tournament_and_its_files(run: Run, tmp_path: Path) -> None:
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
    first = {name: (folder / name).read_bytes() for name in ("results.json", "table.md")}
    assert_refused(run(*words), "there is a tournament in")
    assert run(*words, "--resume")[0] == 0
    assert {name: (folder / name).read_bytes() for name in first} == first
