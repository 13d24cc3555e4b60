"""Training rate on a GPU, its share of matrix products, and the time until a policy beats `thumb`."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from types import MappingProxyType
from typing import Any, NamedTuple

import torch

from benchmarks.cuda.speed import torch_on_gpu
from noms_training.evaluation.comparison import figures, points_figure
from noms_training.learn.config import ActorConfig, NetworkConfig, TrainConfig
from noms_training.learn.train import COMPILED_FROM, Trainer

PRODUCTS = ("gemm", "nvjet", "cutlass", "xmma")
"""Parts of the names of matrix product kernels."""
PANEL = "thumb"


class Amount(NamedTuple):
    """Sizes and times of the measurements.

    Attributes:
        games: games to train; the last one is also trained until the policy beats `thumb`.
        seconds: time per rate.
        above: time limit for beating `thumb`.
        every: iterations between two evaluations.
        changes: changed settings of the runs.
    """

    games: tuple[str, ...] = ("nonesuch", "small_ships")
    seconds: float = 5.0
    above: float = 25.0
    every: int = 10
    changes: Mapping[str, Any] = MappingProxyType({})


TINY = Amount(
    ("big_ships",),
    seconds=0.0,
    above=0.0,
    every=1,
    changes={
        **{"seats": (3,), "option": ("ranks=6", "suits=2", "start_cards=2"), "tables": 3, "evaluation_deals": 2},
        **{"network": ActorConfig(width=8, blocks=1), "critic": NetworkConfig(width=8, blocks=1)},
    },
)


def settings_of(game: str, decisions: int, amount: Amount) -> TrainConfig:
    """Return the settings of a run with 256 units and three blocks, and a critic that sees the hidden cards."""
    sizes = {"network": ActorConfig(width=256), "critic": NetworkConfig(width=256)}
    defaults: dict[str, Any] = {"device": "cuda", "decisions": decisions, "panel": (PANEL,), **sizes}
    return TrainConfig((game,), **{**defaults, **amount.changes})


def measure(game: str, amount: Amount, is_compiled: bool) -> dict[str, Any]:
    """Return a game's training rate and the share of matrix products in GPU time, with or without torch's compiler."""
    run = Trainer(settings_of(game, COMPILED_FROM if is_compiled else COMPILED_FROM - 1, amount))
    start = perf_counter()
    run.iterate()  # captures the graphs
    measurement: dict[str, Any] = {"first": perf_counter() - start, "tables": len(run.rule_set), "on": run.tables_on}
    parts, before, start = [run.iterate()], run.decisions, perf_counter()
    while perf_counter() - start < amount.seconds:
        parts.append(run.iterate())
    elapsed = perf_counter() - start
    measurement["rate"] = (run.decisions - before) / elapsed if len(parts) > 1 else parts[0]["charts/SPS"]
    measurement["play"] = sum(part["charts/seconds/play"] for part in parts) / sum(
        part["charts/seconds/play"] + part["charts/seconds/learn"] for part in parts
    )
    measurement["products"] = share_of_products(run) if torch_on_gpu() is not None else None
    measurement["notes"] = run.notes
    return measurement


def share_of_products(run: Trainer) -> float:
    """Return the share of matrix products in the GPU time of one iteration."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        run.iterate()
    products = everything = 0.0
    for event in profile.key_averages():
        time = float(event.self_device_time_total)
        everything += time
        products += time if any(word in event.key for word in PRODUCTS) else 0.0
    return products / everything if everything > 0 else 0.0


def time_above(game: str, amount: Amount) -> dict[str, Any]:
    """Return the seconds, with evaluations, until a policy's 95 % interval lies above `thumb`; None if it never does."""
    run, start = Trainer(settings_of(game, 200_000_000, amount)), perf_counter()
    panel, deals = run.panel(), run.config.evaluation_deals
    name, points = points_figure(run.rule_sets[0], panel[0]), list[tuple[float, int, float]]()
    above: float | None = None
    while above is None and (not points or perf_counter() - start < amount.above):
        for _ in range(amount.every):
            run.iterate()
        points_now = figures(run.rule_sets, run.hero(panel[0].device, False), panel, deals, probes=False)
        points.append((round(perf_counter() - start, 2), run.decisions, round(points_now[name], 3)))
        if points_now[f"{name}/low"] > 0:
            above = points[-1][0]
    return {"seconds": above, "curve": points}
