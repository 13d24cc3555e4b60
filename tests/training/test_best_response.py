"""`noms exploit --variant`: a best response is learnt, measured on all deals, and not taken for another one."""

import json
from pathlib import Path

import pytest

from noms_env.variants import game, make_rules
from noms_training.agents.registry import agent_spec
from noms_training.learn.best_response import gain_alone
from noms_training.learn.checkpoint import RunFolder
from tests.commands import Run, assert_refused


def test_a_best_response_on_a_full_game_goes_on_and_is_measured(run: Run, tmp_path: Path) -> None:
    """A small one; the figures are those of the file."""
    words = ["exploit", "random", "--variant", "down_up", "--seats", "2", "--option", "ranks=2", "--option", "suits=2"]
    words += ["--budget", "60000", "--deals", "100", "--threads", "1", "--out", str(tmp_path / "run"), "--json"]
    status, out, _ = run(*words, tmp_path / "found.json")
    assert status == 0
    made = RunFolder(tmp_path / "run").decisions
    assert 60_000 <= made < 70_000, "an iteration is small beside the budget"
    assert f"a best response to random, learnt in {made:,} decisions, gains +" in out
    document = json.loads((tmp_path / "found.json").read_text())
    assert (document["format"], document["player"], document["policies"]) == ("noms-exploit/1", "random", {})
    (found,) = document["games"]
    assert (found["options"], found["budget"], found["decisions"]) == ({"ranks": 2, "suits": 2}, 60_000, made)
    assert found["gain"]["low"] > 0, "against random there is much to gain"
    assert (found["gain"]["deals"], found["set"], found["initial_gain"]) == (100, "test", None)
    assert found["curve"][0][0] == 0
    assert found["curve"][-1][0] >= 60_000
    assert all(low < mean < high for _, mean, low, high in found["curve"][1:])
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["opponents"]["alone"]
    assert config["opponents"]["players"] == config["panel"] == ["random"]
    before = (tmp_path / "run" / "policy.safetensors").read_bytes()
    assert run(*words, tmp_path / "again.json", "--threads", "2")[0] == 0
    assert json.loads((tmp_path / "run" / "config.json").read_text()) == config, "it goes on with the threads that it had"
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "found.json").read_bytes()
    for more, what in ((("--seed", 7), "seed 0, not 7"), (("--budget", 200), "decisions 60000, not 200")):
        assert_refused(run(*words, tmp_path / "again.json", *more), f"was begun with {what}: take another --out, or remove it")
    assert (tmp_path / "run" / "policy.safetensors").read_bytes() == before


def test_a_best_response_may_start_from_a_policy(run: Run, tmp_path: Path) -> None:
    table = ["--seats", "2", "--option", "ranks=2", "--option", "suits=2", "--threads", "1"]
    first = ["--preset", "smoke", "--trick-features", "--decisions", "20000", "--out", tmp_path / "first"]
    assert run("train", "down_up", *first, *table)[0] == 0
    words = ["exploit", "random", "--variant", "down_up", *table, "--budget", "20000", "--deals", "20"]
    where = ["--initial-policy", tmp_path / "first", "--out", tmp_path / "run", "--json", tmp_path / "found.json"]
    status, out, _ = run(*words, *where)
    assert status == 0
    assert f"from {tmp_path / 'first'}" in out
    (found,) = json.loads((tmp_path / "found.json").read_text())["games"]
    hero = f"{tmp_path / 'first'}@0"
    alone = ["--line-ups", "alone", "--deals", "20", "--set", "test", "--matches", "0", "--json", tmp_path / "alone.json"]
    assert run("evaluate", hero, "random", "--variant", "down_up", *table, *alone)[0] == 0
    (measured,) = json.loads((tmp_path / "alone.json").read_text())["games"]
    assert found["initial_gain"] == pytest.approx(measured["points"]["alone"])
    assert f"{tmp_path / 'first'}, with which it began, gains {found['initial_gain']['mean']:+.3f} points a deal" in out
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["initial_policy"] == str(tmp_path / "first")
    first_config = json.loads((tmp_path / "first" / "config.json").read_text())
    assert (config["network"], config["trick_features"]) == (first_config["network"], True)


def test_a_best_response_to_a_policy_by_its_file_has_a_curve(run: Run, tmp_path: Path) -> None:
    """The log writes the slashes of its name as colons."""
    table = ["--seats", "2", "--option", "ranks=2", "--option", "suits=2", "--threads", "1"]
    assert run("train", "down_up", "--preset", "smoke", "--decisions", "5000", *table, "--out", tmp_path / "first")[0] == 0
    words = ["exploit", f"{tmp_path / 'first' / 'policy.safetensors'}@0", "--variant", "down_up", *table]
    words += ["--budget", "5000", "--deals", "10"]
    assert run(*words, "--out", tmp_path / "run", "--json", tmp_path / "found.json")[0] == 0
    (found,) = json.loads((tmp_path / "found.json").read_text())["games"]
    assert found["curve"][0][0] == 0
    assert len(found["curve"]) > 1


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("--seed", -1), "--seed must be from 0"),
        (("--threads", -2), "--threads must be from 1"),
        (("--json", "nowhere/found.json"), "cannot write nowhere/found.json: there is no such folder"),
    ],
)
def test_wrong_words_are_refused_before_anything_is_learnt(
    run: Run, more: tuple[str | int, ...], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert_refused(run("exploit", "thumb", "--variant", "down_up", *more), sentence)
    assert list(tmp_path.iterdir()) == []


def test_figures_of_some_deals_are_not_taken_for_those_of_all() -> None:
    rules, blocks = make_rules(game("down_up"), 2, {"ranks": 3}), list[int]()

    def tick(deals: int) -> None:
        blocks.append(deals)
        if len(blocks) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"stopped by Ctrl-C after \d+ of 6,000 deals"):
        gain_alone(rules, agent_spec("thumb"), agent_spec("random"), 6000, tick=tick)
