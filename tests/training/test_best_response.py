"""`noms exploit --variant`: a best response is learnt, measured on all deals, and not taken for another one."""

import json
from functools import partial
from pathlib import Path

import pytest

from noms_env.variants import game, make_rules
from tests.commands import Run, assert_refused
from training.agents.registry import agent_spec
from training.commands.common import STOPPED, CommandError, gain_alone

WORDS = ("exploit", "thumb", "--variant", "down_up", "--seats", 2, "--option", "ranks=3", "--budget", 300, "--deals", 6)


@pytest.fixture
def exploit(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    return partial(run, *WORDS)


def test_a_best_response_is_that_of_the_words(exploit: Run) -> None:
    status, out, err = exploit("--threads", 1, "--json", "found.json")
    assert status == 0, err
    assert "a best response to thumb, learnt in 300 decisions, gains " in out
    first = json.loads(Path("found.json").read_text())["games"][0]
    assert (first["budget"], first["gain"]["deals"], first["initial_gain"]) == (300, 6, None)
    assert first["curve"][0][0] == 0
    status, _, _ = exploit("--threads", 2, "--json", "again.json")  # goes on, which is to measure again
    assert status == 0
    assert json.loads(Path("again.json").read_text())["games"][0] == first
    for more, what in ((("--seed", 7), "seed 0, not 7"), (("--budget", 200), "decisions 300, not 200")):
        assert_refused(exploit(*more), f"was begun with {what}: take another --out, or remove it")
    assert json.loads(Path("runs/exploit-thumb-down_up-2/config.json").read_text())["decisions"] == 300


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("--seed", -1), "--seed must be from 0"),
        (("--threads", -2), "--threads must be from 1"),
        (("--json", "nowhere/found.json"), "cannot write nowhere/found.json: there is no such folder"),
    ],
)
def test_wrong_words_are_refused_before_anything_is_learnt(exploit: Run, more: tuple[str | int, ...], sentence: str) -> None:
    assert_refused(exploit(*more), sentence)
    assert list(Path().iterdir()) == []


def test_figures_of_some_deals_are_not_taken_for_those_of_all() -> None:
    rules, blocks = make_rules(game("down_up"), 2, {"ranks": 3}), list[int]()

    def tick(deals: int) -> None:
        blocks.append(deals)
        if len(blocks) == 2:
            raise KeyboardInterrupt

    with pytest.raises(CommandError, match=r"stopped by Ctrl-C after \d+ of 6,000 deals") as stopped:
        gain_alone(rules, agent_spec("thumb"), agent_spec("random"), 6000, tick=tick)
    assert stopped.value.status == STOPPED
