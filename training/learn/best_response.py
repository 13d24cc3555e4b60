"""Approximate best response to a fixed player on a full game, by PPO: its gain is a lower bound of the player's exploitability.

The learner has one seat, and copies of the player all others. It imitates the player first, or starts from a policy.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from noms_env.variants import Rules

from ..agents.registry import agent_spec
from ..agents.spec import AgentSpec
from ..evaluation.block_store import NothingPlayedError
from ..evaluation.comparison import compare, points_figure
from ..evaluation.duplicate import ALONE
from ..evaluation.statistics import Estimate
from ..progress_bar import progress_bar
from .config import SIZES, CurriculumConfig, OpponentsConfig, PPOConfig, TrainConfig, differences, fitting
from .log import read_log

Train = Callable[[TrainConfig, Path], None]  # trains a run in a folder, or resumes it
IMITATION = 0.15  # share of the budget in which the learner imitates the player
UPDATE = PPOConfig(learning_rate=1e-3, ent_coef_call=0.05, ent_coef_play=0.01, uniform_kl_coef=0.02)
"""Less entropy than self-play from scratch: some best response to fixed players is a pure strategy."""
SHORT, FEWER_DEALS, MIN_SPACING = 1_000_000, 128, 50_000
"""Below a budget of SHORT, evaluations have FEWER_DEALS, at least MIN_SPACING decisions apart: else they outlast the run."""
DEALS = "test"  # set of deals of the final evaluation


class RefusedError(ValueError):
    """Arguments or files are invalid; the message is for the user."""


@contextmanager
def refusals() -> Iterator[None]:
    """Turn a ValueError into a RefusedError; only for calls that validate the user's arguments."""
    try:
        yield
    except ValueError as error:
        raise RefusedError(str(error)) from error


class Target(NamedTuple):
    """The player to exploit, the table, and the learner's initial policy (empty: it imitates the player first)."""

    player: str
    variant: str
    seats: int
    option: tuple[str, ...]
    initial_policy: str = ""


class BestResponse(NamedTuple):
    """Gains of a learner alone among copies of a player, in points per deal above them."""

    gain: Estimate  # of the greedy learner, on held-out deals
    initial_gain: Estimate | None  # of the initial policy, on the same deals
    curve: list[tuple[int, float, float, float]]  # (decisions, mean, low, high): evaluations on other deals, actions sampled
    threads: int | None  # of the training, whose result depends on them
    decisions: int  # of the training


def find_best_response(
    target: Target, rules: Rules, budget: int, deals: int, seed: int, threads: int | None, folder: Path, train: Train
) -> BestResponse:
    """Train a best response in a folder, or resume, and evaluate it on `deals` duplicate deals.

    RefusedError if the arguments are invalid, or the folder has another run; KeyboardInterrupt on Ctrl-C.
    """
    from .checkpoint import RunFolder, read_config

    with refusals():
        config, learner = config_of(target, budget, seed, threads), f"{folder / 'policy.safetensors'}@0"
    if RunFolder(folder).has_run():
        saved = read_config(folder)
        same = dataclasses.replace(saved, threads=config.threads, batch_size=config.batch_size)  # these may differ
        for name, before, now in differences(same.as_dict(), config.as_dict()):
            raise RefusedError(
                f"the best response in {folder} was begun with {name} {before!r}, not {now!r}: take another --out, or remove it"
            )
        config = saved
    train(config, folder)
    heroes = [learner, f"{target.initial_policy}@0"] if target.initial_policy else [learner]
    field, count = agent_spec(target.player), threads or os.cpu_count() or 1
    with progress_bar("measure", "deals", deals * len(heroes)) as tick:
        options = {"seed": seed, "deal_set": DEALS, "threads": count, "tick": tick}
        gains = [gain_alone(rules, agent_spec(hero), field, deals, **options) for hero in heroes]
    log, figure = read_log(folder), f"eval/{points_figure(rules, field)}"
    columns = log[figure][0], *(log[f"{figure}{end}"][1] for end in ("", "/low", "/high"))
    curve = [*zip(*(column.tolist() for column in columns), strict=True)]
    initial_gain = gains[1] if target.initial_policy else None
    return BestResponse(gains[0], initial_gain, curve, read_config(folder).threads, RunFolder(folder).decisions)


def config_of(target: Target, budget: int, seed: int, threads: int | None) -> TrainConfig:
    """Return the configuration of the training run."""
    usual = TrainConfig((target.variant,))
    config = TrainConfig(
        (target.variant,),
        seats=(target.seats,),
        option=target.option,
        initial_policy=target.initial_policy,
        seed=seed,
        decisions=budget,
        # Counts all seats: only one learns, but during imitation all do.
        batch_size=min(SIZES[0] * target.seats, budget if target.initial_policy else max(1, round(IMITATION * budget))),
        threads=threads,
        ppo=UPDATE,
        opponents=OpponentsConfig(share=1.0, start=0.0, past=0, players=(target.player,), alone=True),
        curriculum=CurriculumConfig(expert=(target.player,), imitation=IMITATION),
        panel=(target.player,),
        evaluate_every=max(MIN_SPACING if budget < SHORT else 1, budget // 10),
        evaluation_deals=FEWER_DEALS if budget < SHORT else usual.evaluation_deals,
    )
    return fitting(config, target.initial_policy)


def gain_alone(rules: Rules, player: AgentSpec, field: AgentSpec, deals: int, **options: Any) -> Estimate:
    """Estimate the gain of a player alone among others, with options and errors of `compare`; KeyboardInterrupt on Ctrl-C."""
    try:
        played = compare(rules, player, field, deals, names=(ALONE,), **options)
    except NothingPlayedError as nothing:
        raise KeyboardInterrupt from nothing
    if played.ending != "all":
        raise KeyboardInterrupt(f"stopped by Ctrl-C after {played.deals:,} of {deals:,} deals")
    return played.estimate(ALONE)
