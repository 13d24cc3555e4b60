"""`noms demo`: train a policy in minutes, measure it, draw its curves, and show a deal."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro

from noms_env import Table
from noms_env.core.chance import MAX_SEED, check_seed
from noms_env.policy.player import load_policy
from noms_env.record import record_matches
from noms_env.variants import VARIANTS

from ..agents.registry import agent_spec
from ..agents.table_pool import make_rule_sets
from ..console import print_lines
from ..evaluation.statistics import Estimate
from ..extras import require
from ..learn.best_response import gain_alone
from ..learn.config import ActorConfig, NetworkConfig, PPOConfig, TrainConfig
from ..learn.log import read_log
from ..options import by_default
from ..play.deal_text import deal_lines
from ..play.narrate import narrate_deal
from ..publish.plots import draw
from . import train
from .arguments import Flag
from .common import OK, file_errors, wrong_arguments

DECISIONS = 450_000
"""A few minutes on two cores, including evaluations."""
EVALUATIONS = 10
"""Points of the learning curve after the first. Each takes as long as training on 20,000 decisions."""
DEALS = 2000
FIRST_TRICKS = 2
CARDS = 5
"""Cards per seat that a shown deal has at least: the first deals of some games have one."""


def demo(
    variant: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="VARIANT")] = "small_ships",
    decisions: Annotated[int, tyro.conf.arg(metavar="N")] = DECISIONS,
    out: Annotated[str | None, by_default("a new folder in runs", "RUN")] = None,
    seed: Annotated[int, tyro.conf.arg(metavar="S")] = 0,
    quick: Flag = False,
    games: Flag = False,
) -> int:
    """Train a policy for a few minutes, and show what it has learnt.

    Training starts from random weights, by self-play alone, and shows its progress. Then the policy plays duplicate deals
    against random players. The command draws the learning curves, and shows one deal of self-play with the probabilities of
    each decision.

    For example:
      noms demo
      noms demo down_up --decisions 5000000
      noms demo --games

    Args:
        variant: The game to learn.
        decisions: Decisions to learn from.
        out: The folder of the run.
        seed: 0 to 2**63 - 1.
        quick: Use tiny sizes, to check that everything runs. The policy learns nothing.
        games: Show one deal of each game with random players. Nothing is trained.
    """
    with wrong_arguments():
        check_seed(seed)
    if games:
        return show_games(seed)
    require("torch", "train", "noms demo")
    require("matplotlib", "plot", "noms demo")
    with wrong_arguments():
        config = quick_config(variant, seed) if quick else demo_config(variant, decisions, seed)
    return show_training(config, Path(out) if out else free_folder(Path("runs/demo")), 8 if quick else DEALS)


def demo_config(variant: str, decisions: int, seed: int) -> TrainConfig:
    """Return the configuration of a short PPO run from random weights; ValueError if a value is not allowed."""
    return TrainConfig(
        (variant,),
        seed=seed,
        decisions=decisions,
        batch_size=8192,
        evaluate_every=max(1, decisions // EVALUATIONS),
        ppo=PPOConfig(minibatch_size=1024),
    )


def quick_config(variant: str, seed: int) -> TrainConfig:
    """Return the configuration of a minimal run."""
    tiny: dict[str, Any] = {"width": 8, "blocks": 0, "card_width": 4}
    ppo = PPOConfig(minibatch_size=64)
    usual = TrainConfig((variant,), seed=seed, decisions=200, tables=8, threads=1, evaluation_deals=4)
    return dataclasses.replace(usual, network=ActorConfig(**tiny, scorer_width=4), critic=NetworkConfig(**tiny), ppo=ppo)


def free_folder(path: Path) -> Path:
    """Return the path, or the first numbered variant of it that does not exist."""
    numbered = (path.with_name(f"{path.name}-{number}") for number in itertools.count(2))
    return next(free for free in itertools.chain([path], numbered) if not free.exists())


def show_training(config: TrainConfig, folder: Path, deals: int) -> int:
    """Train, evaluate, draw the curves, and show a deal."""
    train.run(config, folder, False)
    (rules,) = make_rule_sets(config.variants)
    hero = agent_spec(str(folder / "policy.safetensors"))
    gain = gain_alone(rules, hero, agent_spec("random"), deals, seed=config.seed, deal_set="test")
    print_lines([result_text(gain, config.variants[0])])
    picture = folder / "curves.png"
    with file_errors(f"cannot write {picture}"):
        draw({str(folder): read_log(folder)}, picture)
    print(f"learning curves: {picture}")
    print()
    table = Table(config.variants[0], seed=config.seed, episode="deal")
    table.start()
    print_lines(narrate_deal(load_policy(folder), table, np.random.default_rng(config.seed), FIRST_TRICKS))
    return OK


def result_text(gain: Estimate, variant: str) -> str:
    """Return the result on the duplicate deals as a sentence."""
    verdict = "better than" if gain.low > 0 else "worse than" if gain.high < 0 else "indistinguishable from"
    return (
        f"{variant}, {gain.deals:,} duplicate deals against random players: {gain.mean:+.2f} points per deal "
        f"(95 %: {gain.low:+.2f} to {gain.high:+.2f}), {verdict} random play"
    )


def show_games(seed: int) -> int:
    """Play one deal of each of the seven games with random players, and show it."""
    for number, variant in enumerate(VARIANTS):
        # With one seed, games with the same deck would be dealt the same hands.
        records = record_matches(variant, seed=(seed + number) % (MAX_SEED + 1))
        print_lines(deal_lines(next(record for record in records if record["hand_size"] >= CARDS), most_tricks=FIRST_TRICKS))
    return OK
