"""Expert iteration (T. Anthony et al., arXiv 1705.08439): in each round a search on the policy plays, and the policy learns.

Each round has a folder with the search's decisions, the training run, and `result.json` with a comparison of the new and the
old policy. The next round starts from the better one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import tyro

from noms_env._files import read_file, write_atomically
from noms_env._json import parse_json
from noms_env.core.actions import brief
from noms_env.policy.file import PolicyFileError, PolicyInfo, read_info
from noms_env.policy.player import policy_file_of
from noms_env.variants import Rules, given_options

from ..agents.registry import agent_spec, compile_players, label
from ..agents.table_pool import make_rule_sets
from ..evaluation.duplicate import SaltedSet
from ..options import parse_options
from ..progress_bar import progress_bar
from .best_response import RefusedError, Train, gain_alone, refusals
from .config import SIZES, ActorConfig, CurriculumConfig, PPOConfig, TrainConfig, differences
from .data import workers
from .data.decisions import columns_of
from .data.shards import write_shards

FINE_TUNING = PPOConfig(learning_rate=3e-4, ent_coef_call=0.01, ent_coef_play=0.003, uniform_kl_coef=0.0)
"""The entropy bonus of a run from scratch would flatten a trained policy again."""
SETTINGS, RESULT = "improve.json", "result.json"
TABLES = {"variants": str, "seats": int, "option": str}
"""Lists in the training section of a policy file that determine its tables, and the types of their values."""
COMPARING = b"for the comparison of two rounds"
"""Salt of the deals of comparisons: the plain set `dev` has already selected the best policy of each run."""


@dataclass(frozen=True)
class Series:
    """Settings of a series of rounds; they cannot change when a series resumes."""

    policy: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="POLICY")]
    """Initial policy, by file, folder or name; it must name the tables of its training."""
    matches: Annotated[int, tyro.conf.arg(metavar="N")] = 256
    """Matches that the search plays per round and kind of table of the policy."""
    worlds: Annotated[int, tyro.conf.arg(metavar="N")] = 24
    """Worlds of the search."""
    decisions: Annotated[int, tyro.conf.arg(metavar="N")] = 4_000_000
    """Decisions of self-play per round, in addition to those of the search."""
    deals: Annotated[int, tyro.conf.arg(metavar="N")] = 2000
    """Duplicate deals per kind of table for the comparison of two rounds; a run selects its best policy on other deals."""
    seed: Annotated[int, tyro.conf.arg(metavar="S")] = 0
    """Random seed, 0 to 2**63 - 1."""


class Workers(NamedTuple):
    """Workers that play: a number of processes, or a Ray cluster."""

    number: int
    on_ray: bool


def keep_settings(series: Series, folder: Path) -> None:
    """Save the settings in the folder; RefusedError if it has other settings."""
    path = folder / SETTINGS
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(asdict(series), indent=1).encode())
        return
    try:
        before = Series(**parse_json(read_file(path)))
    except (ValueError, TypeError) as error:
        raise RefusedError(f"{path} is damaged: {error}") from error
    for name, old, new in differences(asdict(before), asdict(series)):
        raise RefusedError(f"the rounds in {folder} were begun with {name} {old!r}, not {new!r}")


def read_training(policy: str) -> PolicyInfo:
    """Read the training section of a policy file; RefusedError if it does not determine the tables."""
    try:
        info = read_info(policy_file_of(policy))
    except (PolicyFileError, OSError) as error:
        raise RefusedError(str(error)) from error
    if not TABLES.keys() <= set(info.training):
        raise RefusedError(f"{policy} does not say with which options it was trained, which a round needs")
    for name, kind in TABLES.items():
        values = info.training[name]
        if not isinstance(values, list) or not all(type(value) is kind for value in values):
            raise RefusedError(f"{policy} has an invalid {name} in its training section: {brief(values)}")
    with refusals():
        tables = tables_of(info)
    if not tables or not all(rules in info.rule_sets for rules in tables):
        raise RefusedError(f"{policy} names tables in its training section that it does not play")
    return info


def tables_of(info: PolicyInfo) -> list[Rules]:
    """Return the rules of the run that trained a policy; further rules of its initial policy are not trained."""
    of = info.training
    return make_rule_sets(of["variants"], of["seats"], parse_options(of["option"]))


def train_round(series: Series, policy: str, folder: Path, number: int, spread: Workers, train: Train) -> dict[str, Any]:
    """Run or resume a round (numbered from 1) from a policy: record the search, train, compare.

    Returns the content of `result.json`: `policy`, `before`, `gains` by the label of the rules, and `kept`, the better policy.
    RefusedError for invalid arguments or a damaged file, WorkerError for a killed worker, KeyboardInterrupt on Ctrl-C.
    """
    if (folder / RESULT).exists():
        return read_result(folder, policy)
    info = read_training(policy)
    seed = int(np.random.SeedSequence([series.seed, number]).generate_state(1, np.uint64)[0] >> np.uint64(1))
    rule_sets, trained = tables_of(info), str(folder / "run")
    record_search(series, policy, rule_sets, folder / "decisions", seed, spread)
    with refusals():  # self-play, and the decisions of the search
        config = TrainConfig(
            **{name: tuple(info.training[name]) for name in TABLES},  # type: ignore[arg-type]
            initial_policy=policy,
            seed=seed,
            decisions=series.decisions,
            batch_size=min(SIZES[0], series.decisions),
            card_features=info.card_features,
            trick_features=info.trick_features,
            network=ActorConfig(**info.network),
            ppo=FINE_TUNING,
            curriculum=CurriculumConfig(shards=(str(folder / "decisions"),)),
            panel=(policy,),
        )
    train(config, folder / "run")
    gains = compare_rounds(series, trained, policy, rule_sets)
    is_better = sum(gain["mean"] for gain in gains.values()) > 0
    result = {"policy": trained, "before": policy, "gains": gains, "kept": trained if is_better else policy}
    write_atomically(folder / RESULT, json.dumps(result, indent=1).encode())
    return result


def read_result(folder: Path, policy: str) -> dict[str, Any]:
    """Read the result of a completed round; RefusedError if it is damaged."""
    path = folder / RESULT
    try:
        result = parse_json(read_file(path))
        gains, own = result["gains"], {result["before"]: policy, result["policy"]: str(folder / "run")}
        figures = [type(gain[name]) for gain in gains.values() for name in ("mean", "low", "high")]
        if not all(map(str.isidentifier, gains)) or not set(figures) <= {int, float}:
            raise ValueError("it has no figures of tables")
        return {"policy": str(folder / "run"), "before": policy, "gains": gains, "kept": own[result["kept"]]}
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise RefusedError(f"{path} is damaged ({error}): remove it to compare the round again") from error


def record_search(series: Series, policy: str, rule_sets: Sequence[Rules], folder: Path, seed: int, spread: Workers) -> None:
    """Record the decisions of the search, in one folder per lot of matches; existing lots are skipped."""
    lots = list[tuple[workers.Play, int, Path]]()
    player = (f"search:{policy},worlds={series.worlds}",)
    for rules in rule_sets:
        play = workers.Play(rules.variant.name, rules.seats, given_options(rules), player, series.matches, seed, targets=True)
        lots += [(play, first, folder / f"{label(rules)}-{first:06}") for first in play.lots]
    missing = [lot for lot in lots if not lot[2].exists()]
    with refusals():
        for play in {lot[0].variant: lot[0] for lot in missing}.values():
            play.lot(0)
    compile_players({name for play, *_ in missing for name in play.players})
    with progress_bar("search", "lots of matches", len(lots)) as tick:
        tick(len(lots) - len(missing))
        results = workers.play_lots([lot[:2] for lot in missing], spread.number, spread.on_ray)
        for (play, first, place), lot in zip(missing, results, strict=True):
            write_shards((part for part, _ in lot), place, play.source | {"first": first}, "npz", columns=columns_of(True))
            tick(1)


def compare_rounds(series: Series, policy: str, before: str, rule_sets: Sequence[Rules]) -> dict[str, dict[str, float]]:
    """Compare a policy with the one before at each kind of table: gain in points per deal with 95 % interval."""
    gains, deal_set, threads = {}, SaltedSet("dev", COMPARING), os.cpu_count() or 1
    with refusals(), progress_bar("compare", "deals", series.deals * len(rule_sets)) as tick:
        for rules in rule_sets:
            players = agent_spec(f"{policy}@0"), agent_spec(f"{before}@0")
            gain = gain_alone(rules, *players, series.deals, seed=series.seed, deal_set=deal_set, threads=threads, tick=tick)
            gains[label(rules)] = {"mean": gain.mean, "low": gain.low, "high": gain.high, "deals": gain.deals}
    return gains
