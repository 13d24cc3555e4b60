"""`noms improve`: expert iteration. A search on the policy plays, the policy learns from it, and both policies are compared."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import tyro

from ..config import ActorConfig, CurriculumConfig, PPOConfig, TrainConfig
from ..console import print_lines
from ..extras import require
from ..options import by_default
from .arguments import Flag, check_run
from .common import OK, STOPPED, CommandError, file_errors, gain_alone, wrong_arguments

if TYPE_CHECKING:
    from noms_env.policy.file import PolicyInfo
    from noms_env.variants import Rules

FINE_TUNING = PPOConfig(learning_rate=3e-4, ent_coef_call=0.01, ent_coef_play=0.003, uniform_kl_coef=0.0)
"""Of a policy that has found its way: the entropy that a run from nothing needs would flatten it again."""
SETTINGS, RESULT = "improve.json", "result.json"
TABLES = {"variants": str, "seats": int, "option": str}
"""Of a policy's training: lists that say at which tables it was."""
COMPARING = b"for the comparison of two rounds"
"""Makes deals of its own: those of the set `dev` itself have chosen the best policy of each run."""


@dataclass(frozen=True)
class Settings:
    """What a series of rounds is made with; it stays the same when the series goes on."""

    policy: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="POLICY")]
    """The policy to begin with, by file, folder or name; it must name the tables that it was trained at."""
    matches: Annotated[int, tyro.conf.arg(metavar="N")] = 256
    """Matches of each round that the search plays, at each kind of table of the policy."""
    worlds: Annotated[int, tyro.conf.arg(metavar="N")] = 24
    """Worlds of the search."""
    decisions: Annotated[int, tyro.conf.arg(metavar="N")] = 4_000_000
    """Decisions of self-play in each round, beside which the policy learns from the search's."""
    deals: Annotated[int, tyro.conf.arg(metavar="N")] = 2000
    """Duplicate deals of each kind of table on which two rounds are compared; a run chooses its best policy by others."""
    seed: Annotated[int, tyro.conf.arg(metavar="S")] = 0
    """0 to 2**63 - 1, of all that is random."""

    def check(self) -> None:
        """Raise CommandError for numbers out of range, before anything is kept of them."""
        check_run(self.seed, None, None)
        if min(self.matches, self.worlds, self.decisions) < 1 or self.deals < 2:
            raise CommandError("--matches, --worlds and --decisions must be 1 or more, and --deals 2 or more")


class Workers(NamedTuple):
    """Who plays: so many processes, or a Ray cluster."""

    number: int
    on_ray: bool


def improve(
    series: Annotated[Settings, tyro.conf.arg(name="")],
    rounds: Annotated[int, tyro.conf.arg(metavar="N")] = 1,
    workers: Annotated[int | None, by_default("one for each core", "N")] = None,
    ray: Flag = False,
    out: Annotated[str | None, by_default("runs/improved", "FOLDER")] = None,
) -> int:
    """Improve a policy by expert iteration: rounds of search, learning, and comparison.

    In each round a search on the policy plays at tables of itself. What it finds is recorded (`noms export --targets`), and
    the policy learns from it, beside PPO self-play (`noms train --curriculum.shards`). Then the new policy plays the one
    before, alone at its tables on duplicate deals; both take their most probable actions, and so the same time. The next round
    begins with the better one.

    Each round has a folder: decisions, run, and result.json. The same command goes on where it was stopped, also with more
    rounds.

    For example:
      noms improve small_ships
      noms improve runs/nonesuch-fast --rounds 5 --matches 1000 --worlds 50 --out runs/nonesuch-improved

    Args:
        rounds: Rounds in all, those that are done included.
        workers: Processes that play. They change no result.
        ray: Play on the Ray cluster at RAY_ADDRESS, or on all cores of this machine where there is none.
        out: The folder of all rounds.
    """
    require("torch", "train", "noms improve")
    folder, spread = Path(out or "runs/improved"), Workers(workers or os.cpu_count() or 1, ray)
    if rounds < 1 or (workers is not None and workers < 1):
        raise CommandError("rounds and workers must be 1 or more")
    if ray and workers is not None:
        raise CommandError("give --workers or --ray, and not both")
    series.check()
    trained_at(series.policy)
    with file_errors(f"cannot write {folder}"):
        keep_settings(series, folder)
    policy = series.policy
    for number in range(1, rounds + 1):
        with file_errors(f"cannot write {folder}"):
            result = one_round(series, policy, folder / f"{number:02}", number, spread)
        policy = result["kept"]
        print_lines([f"round {number}: {summary(result)}"])
    return OK


def keep_settings(series: Settings, folder: Path) -> None:
    """Note the settings in the folder; CommandError if others are there."""
    from noms_env._files import read_file, write_atomically
    from noms_env._json import parse_json

    path = folder / SETTINGS
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(asdict(series), indent=1).encode())
        return
    try:
        before = Settings(**parse_json(read_file(path)))
    except (ValueError, TypeError) as error:
        raise CommandError(f"{path} is damaged: {error}") from error
    for name, value in asdict(series).items():
        if value != getattr(before, name):
            raise CommandError(f"the rounds in {folder} were begun with {name} {getattr(before, name)!r}, not {value!r}")


def trained_at(policy: str) -> PolicyInfo:
    """What a policy says of its training; CommandError if it does not say at which tables that was."""
    from noms_env.core.actions import brief
    from noms_env.policy.file import PolicyFileError, read_info
    from noms_env.policy.player import policy_file_of

    try:
        info = read_info(policy_file_of(policy))
    except (PolicyFileError, OSError) as error:
        raise CommandError(str(error)) from error
    if not TABLES.keys() <= set(info.training):
        raise CommandError(f"{policy} does not say with which options it was trained, which a round needs")
    for name, kind in TABLES.items():
        values = info.training[name]
        if not isinstance(values, list) or not all(type(value) is kind for value in values):
            raise CommandError(f"{policy} says {brief(values)} for {name} of its training, which makes no sense")
    with wrong_arguments():
        tables = tables_of(info)
    if not tables or not all(rules in info.rule_sets for rules in tables):
        raise CommandError(f"{policy} says that it was trained at tables for which it is not")
    return info


def tables_of(info: PolicyInfo) -> list[Rules]:
    """The tables of the run that made a policy; what the policy before it could play besides is kept, and not improved."""
    from ..agents.table_pool import make_rule_sets
    from ..options import parse_options

    of = info.training
    return make_rule_sets(of["variants"], of["seats"], parse_options(of["option"]))


def one_round(series: Settings, policy: str, folder: Path, number: int, workers: Workers) -> dict[str, Any]:
    """Play, learn and compare, as far as that is not done yet; the result says which policy is kept."""
    from noms_env._files import write_atomically

    if (folder / RESULT).exists():
        return done_before(folder, policy)
    info = trained_at(policy)
    seed, rule_sets = round_seed(series.seed, number), tables_of(info)
    played(series, policy, rule_sets, folder / "decisions", seed, workers)
    learnt(series, policy, info, folder / "run", seed, folder / "decisions")
    gains = compared(series, str(folder / "run"), policy, rule_sets)
    better = sum(gain["mean"] for gain in gains.values()) > 0
    result = {
        "policy": str(folder / "run"),
        "before": policy,
        "gains": gains,
        "kept": str(folder / "run") if better else policy,
    }
    write_atomically(folder / RESULT, json.dumps(result, indent=1).encode())
    return result


def done_before(folder: Path, policy: str) -> dict[str, Any]:
    """The result of a round that is done: its figures, and which of two policies it kept; CommandError if it is damaged."""
    from noms_env._files import read_file
    from noms_env._json import parse_json

    path = folder / RESULT
    try:
        found = parse_json(read_file(path))
        gains, own = found["gains"], {found["before"]: policy, found["policy"]: str(folder / "run")}
        figures = [type(gain[name]) for gain in gains.values() for name in ("mean", "low", "high")]
        if not all(map(str.isidentifier, gains)) or not set(figures) <= {int, float}:
            raise ValueError("it has no figures of tables")
        return {"policy": str(folder / "run"), "before": policy, "gains": gains, "kept": own[found["kept"]]}
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise CommandError(f"{path} is damaged ({error}): remove it, and the round is compared again") from error


def round_seed(seed: int, number: int) -> int:
    """The seed of a round, 0 to 2**63 - 1."""
    import numpy as np

    return int(np.random.SeedSequence([seed, number]).generate_state(1, np.uint64)[0] >> np.uint64(1))


def played(series: Settings, policy: str, rule_sets: Sequence[Rules], folder: Path, seed: int, workers: Workers) -> None:
    """Record what the search decides, in a folder for each lot of matches; those that are missing are played."""
    from noms_env.variants import given_options

    from ..agents.registry import compile_players, label
    from ..learn.data.decisions import columns_of
    from ..learn.data.shards import write_shards
    from ..learn.data.workers import Play, WorkerError, played_lots
    from ..progress_bar import progress_bar

    lots = list[tuple[Play, int, str]]()
    for rules in rule_sets:
        player = (f"search:{policy},worlds={series.worlds}",)
        play = Play(rules.variant.name, rules.seats, given_options(rules), player, series.matches, seed, targets=True)
        lots += [(play, first, str(folder / f"{label(rules)}-{first:06}")) for first in play.lots]
    missing = [lot for lot in lots if not Path(lot[2]).exists()]
    with wrong_arguments():
        for play in {lot[0].variant: lot[0] for lot in missing}.values():
            play.lot(0)
    compile_players({name for play, *_ in missing for name in play.players})
    try:
        with progress_bar("search", "lots of matches", len(lots)) as tick:
            tick(len(lots) - len(missing))
            made = played_lots([lot[:2] for lot in missing], workers.number, workers.on_ray)
            for (play, first, name), lot in zip(missing, made, strict=True):
                source = play.source | {"first": first}
                write_shards((part for part, _ in lot), Path(name), source, "npz", columns=columns_of(True))
                tick(1)
    except WorkerError as error:
        raise CommandError(f"{error}; the same command goes on") from error
    except KeyboardInterrupt as error:
        raise CommandError("stopped by Ctrl-C; the same command goes on", STOPPED) from error


def learnt(series: Settings, policy: str, info: PolicyInfo, folder: Path, seed: int, decisions: Path) -> None:
    """Train the policy on the search's decisions, from the last checkpoint if there is one."""
    from ..learn.checkpoint import RunFolder
    from . import train

    of = info.training
    with wrong_arguments():
        config = TrainConfig(
            tuple(of["variants"]),
            seats=tuple(of["seats"]),
            option=tuple(of["option"]),
            initial_policy=policy,
            seed=seed,
            decisions=series.decisions,
            card_features=info.card_features,
            trick_features=info.trick_features,
            network=ActorConfig(**info.network),
            ppo=FINE_TUNING,
            curriculum=CurriculumConfig(shards=(str(decisions),)),
            panel=(policy,),
        )
    train.run(config, folder, RunFolder(folder).has_run())


def compared(series: Settings, policy: str, before: str, rule_sets: Sequence[Rules]) -> dict[str, dict[str, float]]:
    """What a policy gains over the one before at each kind of table: points per deal with their 95 % interval."""
    from ..agents.registry import agent_spec, label
    from ..evaluation.duplicate import SaltedSet
    from ..progress_bar import progress_bar

    gains = {}
    how: dict[str, Any] = {"deal_set": SaltedSet("dev", COMPARING), "seed": series.seed, "threads": os.cpu_count() or 1}
    with wrong_arguments(), progress_bar("compare", "deals", series.deals * len(rule_sets)) as tick:
        for rules in rule_sets:
            players = agent_spec(f"{policy}@0"), agent_spec(f"{before}@0")
            found = gain_alone(rules, *players, series.deals, tick=tick, **how)
            gains[label(rules)] = {"mean": found.mean, "low": found.low, "high": found.high, "deals": found.deals}
    return gains


def summary(result: dict[str, Any]) -> str:
    """One line on a round."""
    gains = [
        f"{table} {gain['mean']:+.3f} ({gain['low']:+.3f} to {gain['high']:+.3f})" for table, gain in result["gains"].items()
    ]
    return f"points per deal above {result['before']}: {', '.join(gains)}; kept: {result['kept']}"
