"""Compare the observations as inputs of a plain network: `python -m benchmarks.observations OUT`.

Baselines of the benchmark train by self-play on `bytes` (each divided by its maximum in random play), on `features`, and on
features with `canonical` suits, as in the benchmark. Everything else is equal. The learning curves are those of the benchmark:
points alone among `thumb`, on deals of the set dev.

OUT/ALGORITHM/OBSERVATION/SEED has the policy and the curve of a run; a run with a policy is not repeated. OUT also gets
observations.csv, observations.png and observations.md. Needs `pip install '.[plot,train]'`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro

import noms_env
from noms_env._files import write_atomically
from noms_env.players import Player
from noms_training.benchmark.entry import CURVE, write_csv
from noms_training.benchmark.figures import POINTS, read_curve
from noms_training.benchmark.learning import POLICY, NetworkPlayer
from noms_training.benchmark.protocol import GAMES, Budget
from noms_training.benchmark.running import algorithm_file
from noms_training.benchmark.task import COLUMNS, CURVE_FIELD, Task, load_algorithm
from noms_training.pictures import COLOURS, GREY, panels, plain, png
from noms_training.text import markdown_table

OBSERVATIONS = ("bytes", "features", "canonical")


@dataclass
class Args:
    """Command-line arguments."""

    out: Annotated[Path, tyro.conf.Positional]
    """output folder"""
    algorithms: tuple[str, ...] = ("ppo", "dqn")
    """baselines"""
    game: str = "down_up"
    """game"""
    decisions: int = 300_000
    """training decisions of a run"""
    seeds: int = 3
    """runs of each algorithm with each observation"""


class Bytes:
    """Byte observations with the interface of a feature layout: size, scale and `encode`."""

    n_features = noms_env.OBSERVATION_SIZE

    def __init__(self, game: str) -> None:
        """Set the scale from the maximum of each byte in random play."""
        batch, rng = noms_env.make_batch(game, 64, seats=GAMES[game], seed=0, episode="deal"), np.random.default_rng(0)
        largest = np.ones(self.n_features, np.uint8)
        for _ in range(300):
            if batch.over.all():
                batch.reset()
            batch.observe()
            largest = np.maximum(largest, batch.observation.max(axis=0))
            batch.step((rng.random(batch.mask.shape) * batch.mask).argmax(axis=1))
        self.scale = (1 / largest).astype(np.float32)

    def encode(self, observation: np.ndarray) -> np.ndarray:
        """Scale observations: float32, with the shape of `observation`."""
        return np.asarray(observation * self.scale)


class NoSuits:
    """Identity with the interface of `noms_env.CanonicalSuits`."""

    def rename(self, seen: dict[str, np.ndarray]) -> tuple[dict[str, np.ndarray], np.ndarray]:
        return seen, np.zeros(len(seen["observation"]), np.int64)

    def meant(self, actions: Any, orders: np.ndarray) -> Any:
        return actions


class ObservedTask(Task):
    """Task with one of `OBSERVATIONS`."""

    observation = "canonical"

    def make_batch(self, tables: int, **arguments: Any) -> noms_env.BatchEnv:
        kind = "bytes" if self.observation == "bytes" else "features"
        return super().make_batch(tables, observation=kind, **arguments)

    @property
    def layout(self) -> Any:
        return Bytes(self.game) if self.observation == "bytes" else super().layout

    @property
    def suits(self) -> Any:
        return super().suits if self.observation == "canonical" else NoSuits()

    def log(self, decisions: int, player: Callable[[], Player]) -> float:
        """See `Task.log`; the player gets the same observation as the learner."""

        def make() -> Player:
            network = player()
            assert isinstance(network, NetworkPlayer)
            network.layout, network.suits = self.layout, self.suits
            return network

        return super().log(decisions, make)


def report(args: Args) -> None:
    """Write measurements, picture and table of all finished runs."""
    points, table = [["algorithm", "observation", "seed", *COLUMNS]], list[tuple[str, ...]]()
    picture, grid = panels(len(args.algorithms), "python -m benchmarks.observations")
    for axes, algorithm in zip(grid, args.algorithms, strict=False):
        axes.axhline(0, color=GREY, linewidth=0.8)
        plain(axes, algorithm)
        for colour, observation in zip(COLOURS, OBSERVATIONS, strict=False):
            ends = list[float]()
            for path in sorted((args.out / algorithm / observation).glob(f"*/{POLICY}")):
                curve = read_curve(path.with_name(CURVE))
                points += ([algorithm, observation, path.parent.name, *row] for row in curve.tolist())
                label = None if ends else observation
                axes.plot(curve[:, 0] / 1000, curve[:, POINTS], color=colour, linewidth=1.2, alpha=0.8, label=label)
                ends.append(float(curve[-1, POINTS]))
            each = ", ".join(f"{end:+.2f}" for end in ends)
            table.append((algorithm, observation, f"{np.mean(ends):+.2f}" if ends else "", each))
    grid[0].legend(fontsize=8, frameon=False)
    picture.supxlabel("thousand decisions", fontsize=9)
    picture.supylabel(f"points a deal against {CURVE_FIELD}", fontsize=9)
    write_csv(args.out / "observations.csv", points)
    write_atomically(args.out / "observations.png", png(picture))
    markdown = markdown_table(table, "Algorithm", "Observation", "Mean", "Each seed")
    write_atomically(args.out / "observations.md", markdown.encode() + b"\n")


def main(args: Args) -> None:
    """Do the missing runs and write the report."""
    for seed, name, observation in product(range(1, args.seeds + 1), args.algorithms, OBSERVATIONS):
        folder = args.out / name / observation / str(seed)
        if (folder / POLICY).exists():
            continue
        folder.mkdir(parents=True, exist_ok=True)
        task = ObservedTask(args.game, seed, Budget(args.decisions), folder)
        task.observation = observation
        load_algorithm(algorithm_file(name)).train(task)
        print(f"{name}, {observation}, seed {seed}: {task.rows[-1][3]:+.2f} after {task.rows[-1][1]:.0f} s", flush=True)
    report(args)


if __name__ == "__main__":
    main(tyro.cli(Args, description=__doc__))
