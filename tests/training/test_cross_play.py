"""Cross-play: points by hand, and losses against equal and other players."""

import json
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from noms_training.agents.registry import agent_spec
from noms_training.agents.spec import AgentSpec
from noms_training.evaluation.cross_play import CrossPlay, cross_play
from noms_training.evaluation.duplicate import ALONE, MIXED
from noms_training.options import rules_of
from tests.commands import Run, assert_refused

NOMS = rules_of("noms", None, ())


def with_small_blocks(name: str, as_name: str | None = None) -> AgentSpec:
    """A player with small blocks, so that a few deals make several."""
    return AgentSpec(as_name or name, agent_spec(name).make, None, 16)


def test_losses_by_hand() -> None:
    points = np.zeros((2, 2, 2))
    points[0] = [[2.0, 4.0], [1.0, 1.0]]  # A makes 3 at home, 1 with B
    points[1] = [[5.0, 7.0], [4.0, 6.0]]  # B makes 6 with A, 5 at home
    result = CrossPlay(("a", "b"), NOMS, {ALONE: points}, "dev", "all")
    assert result.deals == 2
    assert (result.loss(ALONE, 0, 1).mean, result.loss(ALONE, 1, 0).mean) == (2.0, -1.0)
    assert result.mean_loss(ALONE).mean == 0.5
    assert result.mean_loss(ALONE).standard_error == pytest.approx(0.5)  # of 0 and 1: half their difference


def test_a_player_under_two_names_loses_nothing() -> None:
    result = cross_play(NOMS, [with_small_blocks("thumb"), with_small_blocks("thumb", "the same")], 40)
    for kind in (ALONE, MIXED):
        points = result.points[kind]
        assert (points[0, 0] == points[1, 1]).all()
        assert points[0, 0].std() > 0
        assert result.mean_loss(kind).mean == pytest.approx(0)


def test_another_player_changes_the_points() -> None:
    players = [with_small_blocks("thumb"), with_small_blocks("greedy"), with_small_blocks("random")]
    result = cross_play(NOMS, players, 40)
    for kind, (a, b) in ((kind, pair) for kind in (ALONE, MIXED) for pair in permutations(range(3), 2)):
        assert result.loss(kind, a, b).mean != 0
    assert (result.points[ALONE][0, 0] == result.points[MIXED][0, 0]).all()
    losses = [result.loss(MIXED, a, b).mean for a, b in permutations(range(3), 2)]
    assert result.mean_loss(MIXED).mean == pytest.approx(np.mean(losses))


def test_results_do_not_depend_on_threads_or_blocks() -> None:
    rules = rules_of("nonesuch", 3, ())
    one = cross_play(rules, [with_small_blocks("thumb"), with_small_blocks("greedy")], 40)
    two = cross_play(rules, [agent_spec("thumb"), agent_spec("greedy")], 40, threads=3)
    assert list(one.points) == [ALONE], "three seats have no mixed tables"
    np.testing.assert_array_equal(one.points[ALONE], two.points[ALONE])


def test_the_command_prints_the_figures_of_its_file(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "cross.json"
    status, out, _ = run("crossplay", "thumb", "greedy", "--variant", "noms", "--deals", 8, "--json", file)
    assert status == 0
    document = json.loads(file.read_text())
    loss = document["tables"]["mixed"]["loss"]["mean"]
    assert f"mean loss against self-play: {loss:+.3f} ±" in out
    assert document["players"] == ["thumb", "greedy"]
    assert document["tables"]["alone"]["points"]["greedy"]["thumb"]["deals"] == document["deals"] == 8


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["thumb"], "two or more different policies, not thumb"),
        (["thumb", "greedy", "--deals", "1"], "the number of deals must be from 2 to 1,000,000, not 1"),
    ],
)
def test_wrong_requests_are_refused(run: Run, words: list[str], sentence: str) -> None:
    assert_refused(run("crossplay", *words, "--variant", "noms"), sentence)
