"""What a training run came to, read from its folder without torch: its policy, its configuration, its figures."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from noms_env.players import PLAYERS
from noms_env.policy.file import PolicyInfo, read_policy
from noms_env.policy.player import POLICY_NAME
from training.config import PRESETS, TrainConfig, differences
from training.learn.log import SECONDS, Series, read_log, read_series
from training.publish.plots import smoothed

CONFIG_NAME = "config.json"
RUNS = "runs.json"
"""In the folder of a published policy: the runs that made it, in their order."""
CURVE = "curve.csv"
"""In the same folder: `Outcome.curve` of them."""
MOST_BYTES = 20_000_000
"""Of a policy that is published: it lies in the repository and in every wheel."""
EVALUATED = ("points", "average", "greedy", "score", "probe")
"""First parts of the names of figures that come from evaluations."""
COURSE = ("kl", "clip_fraction", "magnet_kl", "explained_variance", SECONDS)
"""Figures of the iterations that are kept, besides the entropies."""
BEGUN = "run/begun"
"""In the curve of several runs: the decisions at which each began, and its number from 1."""
LINE = 100
"""Columns of a command that is broken into lines."""


class OutcomeError(ValueError):
    """A folder with no run whose policy can be published; the message says why."""


@dataclass(frozen=True)
class Outcome:
    """What a run came to.

    Attributes:
        info: what the policy's file says.
        config: of the run when it made the policy.
        budget: decisions of the whole run, as it was given last.
        decisions: of the run so far, of which the policy has seen those until it was kept.
        content: of the policy's file.
        parameters: numbers in it.
        series: the log.
        earlier: the runs before it, in their order, where it learnt from the policy of another run (`learns_from`).
    """

    info: PolicyInfo
    config: TrainConfig
    budget: int
    decisions: int
    content: bytes
    parameters: int
    series: Series
    earlier: tuple[Outcome, ...] = ()

    @property
    def runs(self) -> tuple[Outcome, ...]:
        """The runs before it, and itself."""
        return *self.earlier, self

    @property
    def seen(self) -> int:
        """Decisions that the policy has seen in all runs."""
        return sum(run.info.decisions for run in self.runs)

    @property
    def sha256(self) -> str:
        """Of the policy's file."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def iterations(self) -> int:
        """Iterations until the policy was kept."""
        at, _ = self.series.get(SECONDS, ((), ()))
        return sum(1 for decisions in at if decisions <= self.info.decisions)

    def seconds(self, decisions: int) -> float | None:
        """Time that the training took until then; None where the log does not say."""
        at, values = self.series.get(SECONDS, ((), ()))
        return max((float(value) for done, value in zip(at, values, strict=True) if done <= decisions), default=None)

    def evaluation(self) -> dict[str, float]:
        """The figures of the evaluation in which the policy was kept, by name; empty if it was kept before the first."""
        return {
            name: float(values[at == self.info.decisions][0])
            for name, (at, values) in self.series.items()
            if name.partition("/")[0] in EVALUATED and self.info.decisions in at
        }

    @property
    def is_average(self) -> bool:
        """Whether the policy is the slow average of the run's policy, which was the better of the two then."""
        scores = self.evaluation()
        return scores.get("score/average", 0.0) > scores.get("score/policy", 0.0)

    def curve(self) -> Series:
        """The course in few figures: all evaluations, and of the iterations what matters, as means of neighbours.

        Of the runs before it has what led to the policy that the next began with; decisions and seconds are counted on.
        """
        if not self.earlier:
            return self._own_curve()
        parts: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
        done, seconds = 0, 0.0
        for number, run in enumerate(self.runs, 1):
            last = run.decisions if run is self else run.info.decisions
            for name, (at, values) in run._own_curve().items():
                led = at <= last
                parts.setdefault(name, []).append((at[led] + done, values[led] + (seconds if name == SECONDS else 0)))
            parts.setdefault(BEGUN, []).append((np.array([done]), np.array([float(number)])))
            done, seconds = done + last, seconds + (run.seconds(last) or 0.0)
        return {
            name: (np.concatenate([at for at, _ in parts[name]]), np.concatenate([values for _, values in parts[name]]))
            for name in sorted(parts)
        }

    def _own_curve(self) -> Series:
        """The curve of this run alone."""
        kept: Series = {}
        for name in sorted(self.series):
            first = name.partition("/")[0]
            if first in EVALUATED:
                kept[name] = self.series[name]
            elif first == "entropy" or name in COURSE:
                at, values = smoothed(*self.series[name])
                kept[name] = at.round().astype(int), values
        return kept


# ------------------------------------------------------------------------------------------------------------- reading


def read_outcome(folder: Path | str, before: Sequence[Path | str] = ()) -> Outcome:
    """Read the folder of a run; the run may be under way.

    Args:
        folder: of the run.
        before: folders of the runs before it, in their order, each of which learnt from the policy of the one before
            (`learns_from`); one of a published policy stands for all the runs that made it.

    Raises:
        OSError: a file is missing or cannot be read.
        OutcomeError: there is no run, or its policy is too large, or of another run; or the runs cannot have come one after
            the other.
        PolicyFileError: the policy is damaged.
        ValueError: the log is damaged.
    """
    path = Path(folder)
    config = _config(path)
    file = path / POLICY_NAME
    size = file.stat().st_size if file.exists() else 0
    if size > MOST_BYTES:
        raise OutcomeError(f"{file} has {size / 1e6:.1f} MB; a policy that is published has {MOST_BYTES / 1e6:.0f} MB at most")
    info, _, tensors = read_policy(file)
    try:
        own = TrainConfig.from_dict(info.training)
    except ValueError as error:
        raise OutcomeError(f"{file} does not say how its policy was trained: {error}") from error
    if dataclasses.replace(own, decisions=config.decisions) != config:
        raise OutcomeError(f"{file} is not of the run in {path}: it was trained with another configuration than {CONFIG_NAME}")
    parameters = sum(tensor.size for tensor in tensors.values())
    told = [(one, place) for place in before for one in _runs_of(place)]
    series = read_log(path)
    made = max((int(at[-1]) for at, _ in series.values()), default=0)
    earlier = tuple(one for one, _ in told)
    outcome = Outcome(info, own, config.decisions, made, file.read_bytes(), parameters, series, earlier)
    for one, following, place in zip(earlier, outcome.runs[1:], [*(place for _, place in told), folder][1:], strict=True):
        if not learns_from(following.config):
            raise OutcomeError(
                f"the run in {place} began with an untrained policy, and had no lessons of one, so there is none before it"
            )
        same_size = one.info.network == following.info.network or not following.config.initial
        if one.info.rule_sets != following.info.rule_sets or not same_size:
            raise OutcomeError(
                f"the run in {place} cannot have begun with the one before it, which is for other tables or of another size"
            )
    return outcome


def learns_from(config: TrainConfig) -> str:
    """The policy of another run that a run needs: the one it begins with, or else the one that teaches it; or none, ""."""
    return config.initial or (_policy(config.curriculum.teacher) if config.curriculum.lessons_end > 0 else "")


def policies_at_tables(config: TrainConfig) -> list[str]:
    """The policies of other runs against which a run learns."""
    return list(dict.fromkeys(name for name in map(_policy, config.league.opponents) if name))


def with_policies_at(config: TrainConfig, places: Mapping[str, str]) -> TrainConfig:
    """The same run with policies of other runs at other places.

    Args:
        config: of the run.
        places: where a policy is, by what the run calls it.
    """

    def moved(player: str) -> str:
        name, at, temperature = player.partition("@")
        return places.get(name, name) + at + temperature

    return dataclasses.replace(
        config,
        initial=moved(config.initial),
        league=dataclasses.replace(config.league, opponents=tuple(map(moved, config.league.opponents))),
        curriculum=dataclasses.replace(config.curriculum, teacher=moved(config.curriculum.teacher)),
    )


def chained(configs: Sequence[TrainConfig], places: Sequence[str]) -> list[TrainConfig]:
    """Runs, each of which learns from the policy of the one before, with these policies at the places of their runs.

    What a run calls the policy of the one before means that policy also among those at its tables, and in the runs behind it
    until one of them learns from another policy of that name.
    """
    found, known = [configs[0]], dict[str, str]()
    for config, place in zip(configs[1:], places, strict=False):
        known |= {learns_from(config): place}
        found.append(with_policies_at(config, known))
    return found


def _policy(player: str) -> str:
    """What a player's name says without its temperature, if it can only be that of a policy; else nothing."""
    name = player.partition("@")[0]
    return "" if ":" in name or name in PLAYERS else name


def _runs_of(folder: Path | str) -> tuple[Outcome, ...]:
    """The run in a folder, or the runs that made the published policy in it."""
    return _published(Path(folder)) if (Path(folder) / RUNS).exists() else (read_outcome(folder),)


def _published(path: Path) -> tuple[Outcome, ...]:
    """The runs that made a published policy, from `RUNS` and `CURVE` in its folder.

    Raises:
        OSError: a file is missing or cannot be read.
        OutcomeError: the two do not belong together, or are damaged.
        PolicyFileError: the policy is damaged.
    """
    file = path / POLICY_NAME
    info, _, tensors = read_policy(file)
    try:
        told = [_told(run) for run in _json(path / RUNS)]
        curve = read_series(path / CURVE)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise OutcomeError(f"what {path} tells of the runs of its policy is damaged: {error}") from error
    begins = [0, *itertools.accumulate(kept for _, kept, _, _ in told)]
    if not told or told[-1][1] != info.decisions or list(curve.pop(BEGUN, ([0], []))[0]) != begins[:-1]:
        raise OutcomeError(f"{RUNS}, {CURVE} and {POLICY_NAME} in {path} are not of the same runs")
    parameters, content = sum(tensor.size for tensor in tensors.values()), file.read_bytes()
    runs: list[Outcome] = []
    for (config, kept, made, budget), begun in zip(told, begins, strict=False):
        size = dataclasses.asdict(config.network)
        own: dict[str, Any] = {"network": size, "card_features": config.counts, "rule_based_prior": config.hints}
        of_run = dataclasses.replace(info, training=config.as_dict(), seed=config.seed, decisions=kept, **own)
        is_last = len(runs) == len(told) - 1
        series = _part(curve, begun, made if is_last else kept, sum(run.seconds(run.info.decisions) or 0.0 for run in runs))
        runs.append(Outcome(of_run, config, budget, made, content, parameters, series))
    return tuple(runs)


def _told(run: Mapping[str, Any]) -> tuple[TrainConfig, int, int, int]:
    """What `RUNS` says of a run: configuration, and decisions until the policy was kept, all, and those wanted."""
    return TrainConfig.from_dict(run["training"]), int(run["decisions"]), int(run["made"]), int(run["budget"])


def as_runs(outcome: Outcome) -> bytes:
    """The content of `RUNS`."""
    runs = [
        {"training": run.config.as_dict(), "decisions": run.info.decisions, "made": run.decisions, "budget": run.budget}
        for run in outcome.runs
    ]
    return (json.dumps(runs, indent=1) + "\n").encode()


def _json(file: Path) -> Any:
    """The content of a JSON file."""
    return json.loads(file.read_bytes())


def _part(curve: Series, begun: int, decisions: int, seconds: float) -> Series:
    """What a curve of several runs says of one of them.

    Args:
        curve: of all.
        begun: decisions of the runs before it.
        decisions: that it has in the curve.
        seconds: of the runs before it.
    """
    found: Series = {}
    for name, (at, values) in curve.items():
        own = (at > begun) & (at <= begun + decisions)
        if own.any():
            found[name] = at[own] - begun, values[own] - (seconds if name == SECONDS else 0)
    return found


def _config(path: Path) -> TrainConfig:
    """The configuration of a run.

    Raises:
        OutcomeError: there is none, or it is damaged.
    """
    file = path / CONFIG_NAME
    try:
        return TrainConfig.from_dict(_json(file))
    except OSError as error:
        raise OutcomeError(f"there is no run in {path}: {CONFIG_NAME} cannot be read: {error.strerror}") from error
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise OutcomeError(f"{file} is damaged: {error}") from error


# ----------------------------------------------------------------------------------------------------- the command line


def nearest_preset(config: TrainConfig) -> str:
    """The preset from which the configuration differs in the fewest places."""
    return min(PRESETS, key=lambda preset: len(preset_differences(config, preset)))


def preset_differences(config: TrainConfig, preset: str) -> list[tuple[str, Any, Any]]:
    """Where a configuration differs from a preset: name, value of the preset, own value."""
    usual = TrainConfig(config.variants, **PRESETS[preset][1])
    return list(differences(usual.as_dict(), config.as_dict()))


def train_command(config: TrainConfig, out: str) -> str:
    """The command that starts the same run, as lines for a shell."""
    preset = nearest_preset(config)
    flags = [["noms", "train", *config.variants], ["--preset", preset]]
    for name, _, value in preset_differences(config, preset):
        flags += _flags(name, value)
    lines = [""]
    for flag in [*flags, ["--out", out]]:
        text = shlex.join(flag)
        if lines[-1] and len(lines[-1]) + 1 + len(text) > LINE:
            lines.append(f"  {text}")
        else:
            lines[-1] = f"{lines[-1]} {text}" if lines[-1] else text
    return " \\\n".join(lines)


def _flags(name: str, value: Any) -> Iterator[list[str]]:
    """An option of `noms train` with its value, or several."""
    part, dot, last = name.replace("_", "-").rpartition(".")
    option = f"--{part}{dot}{last}"
    if name == "option":
        yield from ([option, text] for text in value)
    elif isinstance(value, bool):
        yield [option if value else f"--{part}{dot}no-{last}"]
    elif isinstance(value, tuple | list):
        yield [option, *map(str, value)]
    else:
        yield [option, str(value)]


def machine_paths(config: Mapping[str, Any]) -> list[str]:
    """Absolute paths in a configuration, which nobody else has."""
    found: list[str] = []
    for value in config.values():
        if isinstance(value, Mapping):
            found += machine_paths(value)
        else:
            texts = value if isinstance(value, list | tuple) else [value]
            found += [text for text in texts if isinstance(text, str) and Path(text).is_absolute()]
    return found
