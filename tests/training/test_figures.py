"""Evaluation figures of a training run, and its random streams."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import pytest

from noms_training.agents.registry import agent_spec, label
from noms_training.agents.spec import BLOCK, AgentSpec
from noms_training.evaluation.comparison import compare, figures, self_play
from tests.training.fakes import LOWEST, LowestCard, rules

Job = TypeVar("Job")


def run_in_threads(jobs: Sequence[Callable[[], Job]]) -> Sequence[Job]:
    with ThreadPoolExecutor(3) as pool:
        return list(pool.map(lambda job: job(), jobs))


def run_backwards(jobs: Sequence[Callable[[], Job]]) -> Sequence[Job]:
    return [job() for job in reversed(jobs)][::-1]


def test_each_block_and_player_has_its_own_random_stream() -> None:
    first_seeds: list[int] = []

    class Notes(LowestCard):
        has_played = False

        def act(self, observation: np.ndarray, mask: np.ndarray, seeds: np.ndarray, *, tables: Any = None) -> Any:
            if not self.has_played:
                first_seeds.append(int(seeds[0]))
            self.has_played = True
            return super().act(observation, mask, seeds)

    notes = AgentSpec("notes", Notes)
    for deals, seed in ((BLOCK + 2, 1), (2, 2)):
        figures([rules("big_ships", 3)], notes, [notes], deals, seed=seed, probes=False)
    assert len(first_seeds) == len(set(first_seeds)) == 6


def test_hand_sizes_are_as_frequent_as_in_a_match() -> None:
    sizes = compare(rules("down_up"), LOWEST, LOWEST, 400, names=("alone",)).played.sizes
    counts = np.bincount(sizes, minlength=11)[1:]
    assert counts.sum() == 400
    assert counts[0] < counts[1:].min()  # one card is dealt once in a match, all other sizes twice
    assert counts[0] == pytest.approx(400 / 19, abs=15)


def test_the_figures_of_a_run_are_those_of_its_comparisons() -> None:
    rule_sets = [rules("down_up"), rules("sniped_whist", 3)]
    panel = [agent_spec("random"), AgentSpec("a/file", LowestCard)]
    document = figures(rule_sets, LOWEST, panel, 30, seed=2)
    for kind, opponent, name in ((rule_sets[1], panel[0], "random"), (rule_sets[0], panel[1], "a:file")):
        estimate = compare(kind, LOWEST, opponent, 30, seed=2, names=("alone",)).estimate()
        key = f"points/{label(kind)}/{name}"
        assert (document[key], document[f"{key}/low"], document[f"{key}/high"]) == pytest.approx(
            (estimate.mean, estimate.low, estimate.high)
        )
    alone = self_play(rule_sets[0], LOWEST, 30, seed=2).means()
    assert {name: value for name, value in document.items() if name.startswith("probe/down_up_4/")} == {
        f"probe/down_up_4/{name}": value for name, value in alone.items()
    }
    without = figures(rule_sets, LOWEST, panel, 30, seed=2, probes=False)
    assert without == {name: value for name, value in document.items() if not name.startswith("probe/")}
    assert {name.split("/")[1] for name in document} == {label(kind) for kind in rule_sets} == {"down_up_4", "sniped_whist_3"}


def test_figures_do_not_depend_on_threads_or_order() -> None:
    def evaluate(seed: int = 3, **arguments: Any) -> dict[str, float]:
        return figures([rules("up_down")], agent_spec("random"), [LOWEST], 2 * BLOCK + 5, seed=seed, **arguments)

    assert evaluate() == evaluate(runner=run_in_threads) == evaluate(runner=run_backwards) != evaluate(seed=4)


def test_the_error_of_a_player_is_raised() -> None:
    class Fails(LowestCard):
        def act(self, observation: np.ndarray, mask: np.ndarray, seeds: np.ndarray, *, tables: Any = None) -> Any:
            raise RuntimeError("out of memory")

    failing = AgentSpec("fails", Fails)
    for hero, opponent in ((failing, LOWEST), (LOWEST, failing)):
        with pytest.raises(RuntimeError, match="out of memory"):
            figures([rules("noms")], hero, [opponent], 4, probes=False)
    with pytest.raises(RuntimeError, match="out of memory"):
        self_play(rules("noms"), failing, 4)
