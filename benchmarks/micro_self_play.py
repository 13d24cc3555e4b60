"""Measure the exploitability of self-play policies in the micro-games: `python -m benchmarks.micro_self_play OUT`.

Each run trains one recipe on one micro-game with one seed, on one thread. Its policy is measured as by `noms exploit`, with
sampled and with greedy actions. NashConv is a fraction of the uniform random policy's, in relative points (own points minus the
mean of the others'), which the policy is trained for, and in points. OUT/GAME-RECIPE-DECISIONS-SEED.json has the figures of
a run, which is then not repeated. OUT also gets self_play.csv, and self_play.txt with the table of the first recipe.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import torch
import tyro

from noms_env._files import write_atomically
from noms_env._threads import ONE_THREAD
from noms_env.micro.cfr import REWARDS, Passes, rewards_of
from noms_env.micro.measures import exploitability, strategy_of
from noms_env.micro.settings import SUITE, MicroGame, micro_game
from noms_env.micro.tree import Tree, build_tree
from noms_env.policy.player import load_policy
from noms_training.benchmark.entry import write_csv
from noms_training.learn.checkpoint import write_policy
from noms_training.learn.config import PPOConfig, TrainConfig
from noms_training.learn.train import Trainer
from noms_training.text import markdown_table

RECIPES = {
    "all-actions": PPOConfig(
        played_out=0.5,
        exploration=0.1,
        coefs_left=0.02,
        ent_coef_call=0.5,
        ent_coef_play=0.25,
        uniform_kl_coef=0.0,
        update_epochs=2,
        minibatch_size=512,
        learning_rate=1e-3,
        target_kl=0.0,
    ),
    "usual": PPOConfig(),
    "low-entropy": PPOConfig(coefs_left=0.02),
}
"""Settings of the PPO update by recipe."""
PLAY = {"": 1.0, "_greedy": 0.0}
"""Temperature of a policy, by the suffix of its figures."""


@dataclass
class Args:
    """Command-line arguments."""

    out: Annotated[Path, tyro.conf.Positional]
    """output folder"""
    games: tuple[str, ...] = tuple(game.name for game in SUITE)
    """micro-games"""
    recipes: tuple[str, ...] = ("all-actions",)
    """recipes: all-actions, usual or low-entropy"""
    decisions: int = 4_000_000
    """decisions of a run"""
    batch: int | None = None
    """decisions of an iteration; the trainer's default if None"""
    seeds: tuple[int, ...] = (0,)
    """seeds, one run for each"""


def config_of(game: MicroGame, recipe: str, args: Args, seed: int) -> TrainConfig:
    """Return the configuration of a run in a micro-game; exact-bid games are trained on hands of every size."""
    values = {name: value if isinstance(value, str) else json.dumps(value) for name, value in game.options.items()}
    return TrainConfig(
        (game.variant,),
        seats=(game.seats,),
        option=tuple(f"{name}={value}" for name, value in values.items()),
        seed=seed,
        decisions=args.decisions,
        batch_size=args.batch,
        threads=1,
        device="cpu",
        ppo=RECIPES[recipe],
    )


def train(config: TrainConfig, policy: Path) -> dict[str, Any]:
    """Train and write the policy; return decisions and processor seconds."""
    run, began = Trainer(config), time.process_time()
    while run.decisions < config.decisions:
        run.iterate()
    seconds = time.process_time() - began
    write_policy(policy, run.actor, run, None)
    run.close()
    return {"decisions": run.decisions, "seconds": round(seconds, 1)}


def measure(policy: Path, tree: Tree) -> dict[str, float]:
    """Return NashConv of a policy in each reward, as a fraction of uniform random play's."""
    figures = {}
    for reward in REWARDS:
        passes = Passes(tree, rewards_of(tree, reward), ONE_THREAD)
        uniform = exploitability(passes, tree.uniform()).nash_conv
        for ending, temperature in PLAY.items():
            strategy = strategy_of(load_policy(policy, temperature), tree)
            figures[reward + ending] = round(exploitability(passes, strategy).nash_conv / uniform, 6)
    return figures


def table(results: list[dict[str, Any]], recipe: str) -> str:
    """Return the means over the seeds of a recipe as Markdown."""
    names, lines = [reward + ending for reward in ("relative", "points") for ending in PLAY], list[list[str]]()
    for game in SUITE:
        if runs := [result for result in results if (result["game"], result["recipe"]) == (game.name, recipe)]:
            means = {name: fmean(run[name] for run in runs) for name in (*names, "decisions", "seconds")}
            counts = [f"{means['decisions']:,.0f}", f"{means['seconds']:.0f}", str(len(runs))]
            lines.append([game.name, *counts, *(f"{means[name]:.2%}" for name in names)])
    greedy = "most probable actions"
    heads = "decisions", "processor seconds", "seeds", "NashConv", greedy, "in points", greedy
    return markdown_table(lines, "micro-game", *heads)


def main(args: Args) -> None:
    """Do the missing runs and write the table."""
    torch.set_num_threads(1)
    args.out.mkdir(parents=True, exist_ok=True)
    for name in args.games:
        game, tree = micro_game(name), None
        for recipe, seed in product(args.recipes, args.seeds):
            path = args.out / f"{name}-{recipe}-{args.decisions}-{seed}.json"
            if path.exists():
                continue
            with TemporaryDirectory() as folder:
                policy = Path(folder) / "policy.safetensors"
                figures = train(config_of(game, recipe, args, seed), policy)
                tree = tree or build_tree(game.setup())
                figures |= measure(policy, tree)
            result = {"game": name, "recipe": recipe, "budget": args.decisions, "seed": seed} | figures
            write_atomically(path, json.dumps(result).encode() + b"\n")
            print(path.stem, f"{figures['relative']:.2%}, {figures['seconds']:.0f} s", flush=True)
    results = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(args.out.glob("*.json"))]
    heads = list(results[0]) if results else []
    write_csv(args.out / "self_play.csv", [heads, *([result.get(head, "") for head in heads] for result in results)])
    (args.out / "self_play.txt").write_text(table(results, args.recipes[0]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(tyro.cli(Args, description=__doc__))
