"""The figures of a training run, its streams of chance, and the sanity of duplicate deals in every game."""

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


def in_threads(jobs: Sequence[Callable[[], Job]]) -> Sequence[Job]:
    with ThreadPoolExecutor(3) as pool:
        return list(pool.map(lambda job: job(), jobs))


def backwards(jobs: Sequence[Callable[[], Job]]) -> Sequence[Job]:
    return [job() for job in reversed(jobs)][::-1]


def test_points_are_those_of_the_hero_less_the_mean_of_the_others() -> None:
    found = compare(rules("sniped_whist", 3, scoring="tricks"), LOWEST, agent_spec("random"), 2, names=("alone",))
    assert (found.played.values <= 17 / 2).all()
    for points in found.played.values.ravel():  # -t less the mean of the others, who took 17 - t: (17 - 3 t) / 2
        assert (17 - 2 * points) % 3 == pytest.approx(0)


def test_blocks_and_players_have_streams_of_their_own() -> None:
    drawn: list[int] = []

    class Notes(LowestCard):
        def act(self, observation: np.ndarray, mask: np.ndarray, seeds: np.ndarray, *, tables: Any = None) -> Any:
            if not self.has_drawn:
                drawn.append(int(seeds[0]))
            self.has_drawn = True
            return super().act(observation, mask, seeds)

        has_drawn = False

    notes = AgentSpec("notes", Notes)
    for deals, seed in ((BLOCK + 2, 1), (2, 2)):
        figures([rules("big_ships", 3)], notes, [notes], deals, seed=seed, probes=False)
    assert len(drawn) == len(set(drawn)) == 6


def test_hand_sizes_are_as_frequent_as_in_a_match() -> None:
    sizes = compare(rules("down_up"), LOWEST, LOWEST, 400, names=("alone",)).played.sizes
    counts = np.bincount(sizes, minlength=11)[1:]
    assert counts.sum() == 400
    assert counts[0] < counts[1:].min()  # one card is dealt once in a match, all other sizes twice
    assert counts[0] == pytest.approx(400 / 19, abs=15)


def test_the_figures_of_a_run() -> None:
    rule_sets = [rules("down_up"), rules("sniped_whist", 3)]
    panel = [agent_spec("random"), AgentSpec("a/file", LowestCard)]
    found = figures(rule_sets, LOWEST, panel, 30, seed=2)
    for kind, opponent, name in ((rule_sets[1], panel[0], "random"), (rule_sets[0], panel[1], "a:file")):
        one = compare(kind, LOWEST, opponent, 30, seed=2, names=("alone",)).estimate()
        key = f"points/{label(kind)}/{name}"
        assert (found[key], found[f"{key}/low"], found[f"{key}/high"]) == pytest.approx((one.mean, one.low, one.high))
    alone = self_play(rule_sets[0], LOWEST, 30, seed=2).means()
    assert {name: value for name, value in found.items() if name.startswith("probe/down_up_4/")} == {
        f"probe/down_up_4/{name}": value for name, value in alone.items()
    }
    without = figures(rule_sets, LOWEST, panel, 30, seed=2, probes=False)
    assert without == {name: value for name, value in found.items() if not name.startswith("probe/")}
    assert {name.split("/")[1] for name in found} == {label(kind) for kind in rule_sets} == {"down_up_4", "sniped_whist_3"}


def test_figures_do_not_depend_on_threads_or_order() -> None:
    def found(seed: int = 3, **arguments: Any) -> dict[str, float]:
        return figures([rules("up_down")], agent_spec("random"), [LOWEST], 2 * BLOCK + 5, seed=seed, **arguments)

    assert found() == found(runner=in_threads) == found(runner=backwards) != found(seed=4)


def test_failures_of_a_run_are_raised() -> None:
    class Fails(LowestCard):
        def act(self, observation: np.ndarray, mask: np.ndarray, seeds: np.ndarray, *, tables: Any = None) -> Any:
            raise RuntimeError("out of memory")

    for hero, opponent in ((AgentSpec("fails", Fails), LOWEST), (LOWEST, AgentSpec("fails", Fails))):
        with pytest.raises(RuntimeError, match="out of memory"):
            figures([rules("noms")], hero, [opponent], 4, probes=False)
    with pytest.raises(RuntimeError, match="out of memory"):
        self_play(rules("noms"), AgentSpec("fails", Fails), 4)
