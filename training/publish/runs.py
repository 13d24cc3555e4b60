"""A trained policy and its runs, read from their folders without torch."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from noms_env._files import read_file
from noms_env._json import parse_json
from noms_env.players import PLAYERS
from noms_env.policy.file import PolicyInfo, read_info, read_policy
from noms_env.policy.player import POLICY_NAME

from ..learn.config import TrainConfig
from ..learn.data.shards import read_shards, shard_folders
from ..learn.log import HEADER, SECONDS, Series, as_csv, read_log
from ..text import printable
from .plots import smooth

CONFIG, COMMAND = "config.json", "command.txt"
"""Files in the folder of a run; `RunFolder` writes both."""
RUNS, CURVE = "runs.json", "curve.csv"
"""Files in the folder of a published policy: its runs in order, and `Trained.curve`."""
MAX_BYTES = 20_000_000
"""Largest size of a published policy: it is part of the repository and of every wheel."""
EVALUATED, ENTROPY = "eval/", "losses/entropy/"
"""Prefixes of the metrics of evaluations, and of the entropies."""
COURSE = ("losses/approx_kl", "losses/clipfrac", "losses/explained_variance", SECONDS)
"""Metrics of iterations that the curve includes, besides the entropies."""
BEGUN = "run/begun"
"""Metric in the curve of several runs: the number of each run, from 1, at its first decision."""


class RunError(ValueError):
    """A folder has no run that can be published; the message says why."""


@dataclass(frozen=True)
class Run:
    """A run of a policy.

    Attributes:
        command: the command line that started it; "" if the run has no `COMMAND` file (started from Python, or old).
        folder: of the run, when it was published.
        source: the initial or imitated policy; "" if there is none.
        kept: decisions of the run up to the published policy.
        made: decisions of the run so far.
        budget: decisions of the whole run.
        training: its configuration.
        revision: of the code, as `git describe` names it; None if unknown.
        recorded: folder and origin of the recorded decisions that it learnt from.
    """

    command: str
    folder: str
    source: str
    kept: int
    made: int
    budget: int
    training: Mapping[str, Any]
    revision: str | None = None
    recorded: tuple[str, ...] = ()


@dataclass(frozen=True)
class Trained:
    """A policy and its training.

    Attributes:
        info: header of its file.
        content: bytes of its file.
        parameters: number of its parameters.
        runs: in order; each after the first learnt from the policy of the previous one.
        curve: metrics of all runs by decisions, with six digits: all evaluations, and of the iterations `COURSE` and the
            entropies.
    """

    info: PolicyInfo
    content: bytes
    parameters: int
    runs: tuple[Run, ...]
    curve: Series

    @property
    def seen(self) -> int:
        """Decisions that the policy has seen in all runs."""
        return sum(run.kept for run in self.runs)

    @functools.cached_property
    def sha256(self) -> str:
        """SHA-256 of its file."""
        return hashlib.sha256(self.content).hexdigest()

    def seconds(self, decisions: int) -> float:
        """Return the seconds of training up to a number of decisions; 0 if the log has no times."""
        at, values = self.curve.get(SECONDS, ((), ()))
        return max((float(value) for done, value in zip(at, values, strict=True) if done <= decisions), default=0.0)

    def evaluation(self) -> dict[str, float]:
        """Return the evaluation that selected the policy, by metric; empty if it was saved before the first evaluation."""
        return {
            name: float(values[at == self.seen][0])
            for name, (at, values) in self.curve.items()
            if name.startswith(EVALUATED) and self.seen in at
        }

    def files(self) -> dict[str, bytes]:
        """Return the files of a published policy that do not depend on results: content by name."""
        begins = np.array(_find_starts(self.runs))
        starts = {BEGUN: (begins, np.arange(1.0, len(begins) + 1))} if len(begins) > 1 else {}
        rows = [
            (int(decisions), name, float(value))
            for name, (at, values) in sorted({**self.curve, **starts}.items())
            for decisions, value in zip(at, values, strict=True)
        ]
        return {
            POLICY_NAME: self.content,
            CURVE: as_csv([HEADER, *rows]),
            RUNS: (json.dumps([dataclasses.asdict(run) for run in self.runs], indent=1) + "\n").encode(),
        }


def _find_starts(runs: Sequence[Run]) -> list[int]:
    """Return the cumulative decisions at the start of each run."""
    return [0, *itertools.accumulate(run.kept for run in runs)][:-1]


def read_trained(folder: Path | str, before: Sequence[Path | str] = ()) -> Trained:
    """Read the policy of a run, which may still be training, or a published policy.

    Args:
        folder: of the run, or of the published policy.
        before: folders of earlier runs, in order; each run learnt from the policy of the previous one. A published policy
            stands for all its runs.

    Raises:
        OSError: a file is missing or cannot be read.
        RunError: there is no run, or its policy is too large or of another run; or the runs do not follow one another.
        PolicyFileError: the policy is damaged.
        ValueError: the log, or recorded decisions, are damaged.
    """
    folders = [Path(path) for path in (*before, folder)]
    parts = [_read_published(path) if (path / RUNS).exists() else _read_run(path) for path in folders]
    whole = parts[0]
    for part, path in zip(parts[1:], folders[1:], strict=True):
        whole = _join_runs(whole, part, path)
    return whole


def _read_run(path: Path) -> Trained:
    config, file = _read_config(path), path / POLICY_NAME
    size = file.stat().st_size if file.exists() else 0
    if size > MAX_BYTES:
        raise RunError(f"{file} has {size / 1e6:.1f} MB; a published policy has {MAX_BYTES / 1e6:.0f} MB at most")
    content, info, tensors = _read_whole(file)
    try:
        own = TrainConfig.from_dict(info.training)
    except ValueError as error:
        raise RunError(f"{file} does not say how its policy was trained: {error}") from error
    if dataclasses.replace(own, decisions=config.decisions) not in (config, config.sized(False), config.sized(True)):
        raise RunError(f"{file} is not of the run in {path}: it was trained with another configuration than {CONFIG}")
    log = read_log(path)
    run = Run(
        command=printable(read_file(path / COMMAND).decode(errors="replace").strip()) if (path / COMMAND).exists() else "",
        folder=str(path),
        source=_source(own),
        kept=info.decisions,
        made=max((int(at[-1]) for at, _ in log.values()), default=0),
        budget=config.decisions,
        training=own.as_dict(),
        revision=info.revision,
        recorded=tuple(
            f"{shard}: {json.dumps(next(read_shards(shard, ()))[0]['source'], sort_keys=True)}"
            for shards in own.curriculum.shards
            for shard in shard_folders(Path(shards))
        ),
    )
    return Trained(info, content, sum(tensor.size for tensor in tensors.values()), (run,), dict(_short(log)))


def _read_whole(file: Path) -> tuple[bytes, PolicyInfo, dict[str, np.ndarray]]:
    """Read a policy file consistently, although a running training may replace it."""
    while True:
        info, _, tensors = read_policy(file)
        content = read_file(file)
        if read_info(file) == info:
            return content, info, tensors


def _read_config(path: Path) -> TrainConfig:
    file = path / CONFIG
    try:
        return TrainConfig.from_dict(parse_json(read_file(file)))
    except OSError as error:
        raise RunError(f"there is no run in {path}: {CONFIG} cannot be read: {error.strerror}") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise RunError(f"{file} is damaged: {error}") from error


def _source(config: TrainConfig) -> str:
    """Return the policy that a run learns from; "" if the name may not be a policy's, or there are several."""
    experts = config.curriculum.expert if config.curriculum.imitation > 0 else ()
    policy = re.split("[@,]", experts[0].removeprefix("search:"))[0] if len(experts) == 1 else ""
    return config.initial_policy or ("" if ":" in policy or policy in PLAYERS else policy)


def _short(log: Series) -> Iterator[tuple[str, tuple[np.ndarray, np.ndarray]]]:
    """Shorten a log: all evaluations, and the main metrics of iterations, averaged over neighbours."""
    for name in sorted(log):
        at, values = log[name]
        if name.startswith(ENTROPY) or name in COURSE:
            at, values = smooth(at, values)
        elif not name.startswith(EVALUATED):
            continue
        yield name, (at.round().astype(int), np.array([float(f"{value:.6g}") for value in values]))


def _read_published(path: Path) -> Trained:
    file = path / POLICY_NAME
    info, _, tensors = read_policy(file)
    try:
        runs = tuple(map(_run_of, parse_json(read_file(path / RUNS))))
        curve = read_log(path, CURVE)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise RunError(f"{RUNS} or {CURVE} in {path} is damaged: {error}") from error
    starts, _ = curve.pop(BEGUN, ([0], []))
    if not runs or runs[-1].kept != info.decisions or list(starts) != _find_starts(runs):
        raise RunError(f"{RUNS}, {CURVE} and {POLICY_NAME} in {path} are not of the same runs")
    return Trained(info, read_file(file), sum(tensor.size for tensor in tensors.values()), runs, curve)


def _run_of(entry: dict[str, Any]) -> Run:
    if "out" in entry:  # older files separate the command from its folder
        old = {name: value for name, value in entry.items() if name not in ("out", "needs")}
        entry = old | {"folder": entry["out"], "command": f"{entry['command']} --out {entry['out']}"}
    return Run(**entry | {"recorded": tuple(entry.get("recorded", ()))})


def _join_runs(first: Trained, second: Trained, place: Path) -> Trained:
    run = second.runs[0]
    if not run.source:
        raise RunError(f"the run in {place} learnt from no other policy, so there is no run before it")
    continued = bool(run.training["initial_policy"])
    is_larger = first.info.network != second.info.network and len(second.runs) == 1 and continued
    known, wanted = first.info.rule_sets, second.info.rule_sets
    is_for_others = any(rules not in wanted for rules in known) if continued else known != wanted
    if is_for_others or is_larger:
        raise RunError(
            f"the run in {place} cannot have learnt from the one before it, which is for other tables or of another size"
        )
    seconds = first.seconds(first.seen)
    curve: Series = {}
    for name in sorted({*first.curve, *second.curve}):
        empty = np.zeros(0, int), np.zeros(0)
        (early_at, early), (late_at, late) = first.curve.get(name, empty), second.curve.get(name, empty)
        used = early_at <= first.seen  # the earlier run's later decisions were not used
        late = late + seconds if name == SECONDS else late
        curve[name] = np.concatenate([early_at[used], late_at + first.seen]), np.concatenate([early[used], late])
    return dataclasses.replace(second, runs=first.runs + second.runs, curve=curve)
