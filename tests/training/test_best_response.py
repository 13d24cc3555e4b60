"""`noms exploit --variant`: a best response is learnt, measured and resumed."""

import json
from pathlib import Path
from typing import Any

import pytest

from noms_training.agents.registry import agent_spec
from noms_training.learn.best_response import gain_alone
from noms_training.learn.checkpoint import RunFolder
from tests.commands import Run, assert_refused
from tests.training.fakes import rules

TABLE = ["--variant", "down_up", "--seats", "2", "--option", "ranks=2", "--option", "suits=2", "--threads", "1"]


def read_json(path: Path) -> Any:
    return json.loads(path.read_text())


def test_a_best_response_is_learnt_measured_and_resumed(run: Run, tmp_path: Path) -> None:
    words = ["exploit", "random", *TABLE, "--budget", "60000", "--deals", "100", "--out", str(tmp_path / "run"), "--json"]
    status, out, _ = run(*words, tmp_path / "result.json")
    assert status == 0
    decisions = RunFolder(tmp_path / "run").decisions
    assert 60_000 <= decisions < 70_000, "an iteration is small beside the budget"
    assert f"a best response to random, learnt in {decisions:,} decisions, gains +" in out
    document = read_json(tmp_path / "result.json")
    assert (document["format"], document["player"], document["policies"]) == ("noms-exploit/1", "random", {})
    (result,) = document["games"]
    assert (result["options"], result["budget"], result["decisions"]) == ({"ranks": 2, "suits": 2}, 60_000, decisions)
    assert result["gain"]["low"] > 0, "against random there is much to gain"
    assert (result["gain"]["deals"], result["set"], result["initial_gain"]) == (100, "test", None)
    assert result["curve"][0][0] == 0
    assert result["curve"][-1][0] >= 60_000
    assert all(low < mean < high for _, mean, low, high in result["curve"][1:])
    config = read_json(tmp_path / "run" / "config.json")
    assert config["opponents"]["alone"]
    assert config["opponents"]["players"] == config["panel"] == ["random"]
    before = (tmp_path / "run" / "policy.safetensors").read_bytes()
    assert run(*words, tmp_path / "again.json", "--threads", "2")[0] == 0
    assert read_json(tmp_path / "run" / "config.json") == config, "a resumed run keeps its number of threads"
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "result.json").read_bytes()
    for more, difference in ((("--seed", 7), "seed 0, not 7"), (("--budget", 200), "decisions 60000, not 200")):
        assert_refused(run(*words, tmp_path / "again.json", *more), f"{difference}: take another --out, or remove it")
    assert (tmp_path / "run" / "policy.safetensors").read_bytes() == before


def test_a_best_response_to_a_policy_may_start_from_a_policy(run: Run, tmp_path: Path) -> None:
    first = tmp_path / "first"
    words = ["--preset", "smoke", "--trick-features", "--decisions", "20000", "--out", first]
    assert run("train", "down_up", *words, *TABLE[2:])[0] == 0
    opponent = first / "policy.safetensors"  # the log writes the slashes of this name as colons
    words = ["--budget", "20000", "--deals", "20", "--initial-policy", first, "--out", tmp_path / "run"]
    status, out, _ = run("exploit", opponent, *TABLE, *words, "--json", tmp_path / "result.json")
    assert status == 0
    (result,) = read_json(tmp_path / "result.json")["games"]
    assert result["curve"][0][0] == 0
    assert len(result["curve"]) > 1
    words = ["--line-ups", "alone", "--deals", "20", "--set", "test", "--matches", "0", "--json", tmp_path / "alone.json"]
    assert run("evaluate", f"{first}@0", opponent, *TABLE, *words)[0] == 0
    (measured,) = read_json(tmp_path / "alone.json")["games"]
    assert result["initial_gain"] == pytest.approx(measured["points"]["alone"])
    assert f"{first}, with which it began, gains {result['initial_gain']['mean']:+.3f} points a deal" in out
    config, first_config = (read_json(folder / "config.json") for folder in (tmp_path / "run", first))
    assert config["initial_policy"] == str(first)
    assert (config["network"], config["trick_features"]) == (first_config["network"], True)


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("--seed", -1), "--seed must be from 0"),
        (("--threads", -2), "--threads must be from 1"),
        (("--json", "nowhere/result.json"), "cannot write nowhere/result.json"),
    ],
)
def test_wrong_arguments_are_refused_before_training(
    run: Run, more: tuple[str | int, ...], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert_refused(run("exploit", "thumb", "--variant", "down_up", *more), sentence)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_measurement_has_no_result() -> None:
    blocks = list[int]()

    def tick(deals: int) -> None:
        blocks.append(deals)
        if len(blocks) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"stopped by Ctrl-C after \d+ of 6,000 deals"):
        gain_alone(rules("down_up", 2, ranks=3), agent_spec("thumb"), agent_spec("random"), 6000, tick=tick)
