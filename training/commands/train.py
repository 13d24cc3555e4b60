"""`noms train`: start a run, or continue one."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import tyro

from noms_env.players import foreign_code

from ..agents.registry import compile_players
from ..console import print_lines
from ..extras import require
from ..learn import progress
from ..learn.config import PRESETS, TrainConfig, differences, fitting
from ..learn.log import Log, LogError, Several, Watcher, saved_rows
from ..options import by_default
from .arguments import Flag
from .common import OK, CommandError, file_errors, interruptible, wrong_arguments

if TYPE_CHECKING:
    from ..learn.checkpoint import RunFolder

Preset = Literal["smoke", "fast", "standard", "long"]
USUAL: Preset = "fast"
RUNS = Path("runs")
NO_GAME = "name at least one game to train on; `noms list` shows them"
MAIN = {
    "variants": "The games.",
    "seats": "Numbers of seats.",
    "option": "An option of the games.",
    "initial_policy": "Policy to start from.",
    "seed": "Random seed.",
    "decisions": "Budget; forced moves do not count.",
    "threads": "Threads.",
    "device": "cpu, cuda, or auto.",
    "evaluate_every": "Decisions between evaluations.",
}
"""Settings in the help of `--help`, with shorter texts; `--help-all` shows all settings."""
NOTHING = ("",)
"""Stands for games that the command line or the folder of a run names."""
HELP = """\
Train a policy by self-play.

The folder of the run holds policy.safetensors (the best policy so far), log.csv, checkpoints, and the configuration.
Ctrl-C writes a checkpoint and stops the run. --resume continues it. Only --decisions may change then; the learning rate and
the other schedules follow the new budget. With --minutes a run is done in pieces: the same command starts and continues it,
even if its folder has moved.

The presets set the defaults of all options:
{presets}

For example:
  noms train small_ships
  noms train down_up --preset standard --seed 1 --out runs/first
  noms train --resume --out runs/first
  noms train --resume --out runs/first --decisions 120000000
  noms train small_ships --minutes 10 --out runs/pieces
  noms train big_ships down_up up_down --seats 3 4 5 --ppo.clip-coef 0.1
  torchrun --nproc_per_node=2 -m noms_training train small_ships

Args:
    config: The run.
    preset: Source of the defaults.
    out: Folder of the run.
    resume: Continue the run in the folder.
    minutes: Stop after about this many minutes, with a checkpoint. The same command continues the run.
    allow_programs: Let --resume run the programs and functions that the folder names as players. The folder of a run is data:
        without this option nothing that it names is run, unless the command line names it too."""

SHORT_HELP = """\
Train a policy by self-play.

The folder of the run holds policy.safetensors (the best policy so far), log.csv and checkpoints. Ctrl-C stops the run.

`noms train --help-all` shows all options.

For example:
  noms train small_ships
  noms train down_up --preset standard --seed 1 --out runs/first
  noms train --resume --out runs/first
  noms train small_ships --minutes 10 --out runs/pieces

Args:
    config: The run.
    preset: smoke takes a minute, fast half an hour, standard hours, long a day.
    out: Folder of the run.
    resume: Continue the run in the folder.
    minutes: Stop after this many minutes; the same command continues."""


def command(words: Sequence[str]) -> Callable[..., int]:
    """Return the function of `noms train`, with the help for `--help` or `--help-all`."""
    default = preset_config(USUAL)

    def train(
        config: Annotated[TrainConfig, tyro.conf.arg(name="")] = default,
        preset: Preset = USUAL,
        out: Annotated[str | None, by_default("runs/VARIANT-PRESET", "RUN")] = None,
        resume: Flag = False,
        minutes: Annotated[float | None, by_default("as long as it takes", "M")] = None,
        allow_programs: Flag = False,
    ) -> int:
        if allow_programs:
            foreign_code.allow_programs()
        if minutes is not None and not minutes > 0:
            raise CommandError(f"--minutes must be above 0, not {minutes:g}")
        return start(config, find_named_options(words), preset, out, resume, minutes)

    is_short = bool({"-h", "--help"} & set(words)) and "--help-all" not in words
    presets = "\n".join(f"  {name}: {text}" for name, (text, _) in PRESETS.items())
    train.__doc__ = SHORT_HELP if is_short else HELP.format(presets=presets)
    vars(train)["full_help"] = "--help-all"
    if is_short:  # the parser then only prints the help
        hints = get_type_hints(TrainConfig, include_extras=True)
        fields = [
            (name, Annotated[hints[name], tyro.conf.arg(help=text)], dataclasses.field(default=getattr(default, name)))
            for name, text in MAIN.items()
        ]
        short: Any = dataclasses.make_dataclass("ShortConfig", fields)
        train.__defaults__ = (short(), *(train.__defaults__ or ())[1:])
        train.__annotations__ |= {
            "config": Annotated[short, tyro.conf.arg(name="")],
            "preset": Annotated[Preset, tyro.conf.arg(metavar="NAME")],
            "allow_programs": tyro.conf.Suppress[bool],
        }
    return train


def find_named_options(words: Sequence[str]) -> set[str]:
    """Return the options on a command line, such as `ppo.clip_coef`; a flag in both its forms."""
    names = (word.partition("=")[0][2:].replace("-", "_") for word in words if word.startswith("--"))
    return {form for name in names for form in (name, name.replace(".no_", ".").removeprefix("no_"))}


def start(
    parsed: TrainConfig, named: set[str], preset: str, out: str | None, resume: bool, minutes: float | None = None
) -> int:
    """Start or continue a run; with `minutes`, an existing run continues also without `resume`; CommandError for bad arguments.

    `parsed` has the settings `named` on the command line (`find_named_options`), and otherwise defaults of the usual preset.
    `preset` is the source of all other settings, and `out` the folder; None for the default of the games and the preset.
    """
    require("torch", "train", "noms train")
    from ..learn.checkpoint import RunFolder

    if parsed.variants == NOTHING and out is None:
        raise CommandError("--resume needs the folder of the run: --out RUN" if resume else NO_GAME)
    folder = Path(out) if out else RUNS / f"{'+'.join(parsed.variants)}-{preset}"
    continues = resume or (minutes is not None and RunFolder(folder).has_run())
    if not continues and parsed.variants == NOTHING:
        raise CommandError(NO_GAME)
    saved = saved_config(folder) if continues else None
    base = preset_config(preset, parsed.variants if saved is None else saved.variants)
    base = fitting(base, parsed.initial_policy) if saved is None or "preset" in named else saved
    with wrong_arguments():
        config = merge_config(base, parsed, named)
    if saved is not None:
        config = resume_config(config, saved, "decisions" in named)
        done = RunFolder(folder).decisions
        if done >= config.decisions != saved.decisions:
            budget = f"--decisions must be above that, not {config.decisions:,}"
            raise CommandError(f"the run in {folder} has made {done:,} decisions: {budget}")
        if done >= config.decisions and leads():
            print_lines([f"the run is finished: {done:,} of {config.decisions:,} decisions; a larger --decisions continues it"])
    elif preset != "smoke":
        config = drop_batch_sizes(config, named)
    return run(config, folder, continues, minutes)


def merge_config(base: TrainConfig, parsed: TrainConfig, named: set[str]) -> TrainConfig:
    """Return `base` with the settings of `parsed` that the command line names, and its games if any."""

    def changes(base: Any, parsed: Any, where: str) -> Any:
        values = {}
        for field in dataclasses.fields(base):
            value, name = getattr(parsed, field.name), f"{where}{field.name}"
            if dataclasses.is_dataclass(value):
                values[field.name] = changes(getattr(base, field.name), value, f"{name}.")
            elif name in named or (name == "variants" and value != NOTHING):
                values[field.name] = value
        return dataclasses.replace(base, **values)

    config: TrainConfig = changes(base, parsed, "")
    return config


def drop_batch_sizes(config: TrainConfig, named: set[str]) -> TrainConfig:
    """Drop a preset's batch sizes if there is a GPU, since they suit CPUs."""
    import torch

    if config.device == "cpu" or not torch.cuda.is_available():
        return config
    if "batch_size" not in named:
        config = dataclasses.replace(config, batch_size=None)
    if "ppo.minibatch_size" not in named:
        config = dataclasses.replace(config, ppo=dataclasses.replace(config.ppo, minibatch_size=None))
    return config


def preset_config(preset: str, variants: tuple[str, ...] = NOTHING) -> TrainConfig:
    """Return the defaults of a preset."""
    return TrainConfig(variants=variants, **PRESETS[preset][1])


def saved_config(folder: Path) -> TrainConfig:
    """Return the configuration of the run in a folder; CommandError if it is missing or damaged."""
    from ..learn.checkpoint import CheckpointError, read_config

    with wrong_arguments(CheckpointError):
        return read_config(folder)


def resume_config(config: TrainConfig, saved: TrainConfig, rebudgeted: bool) -> TrainConfig:
    """Return the configuration to continue with, with a new budget if `rebudgeted`; CommandError for any other change."""
    decisions = config.decisions if rebudgeted else saved.decisions
    ppo = dataclasses.replace(config.ppo, minibatch_size=config.ppo.minibatch_size or saved.ppo.minibatch_size)
    batch_size, threads = config.batch_size or saved.batch_size, config.threads or saved.threads
    config = dataclasses.replace(config, decisions=decisions, threads=threads, batch_size=batch_size, ppo=ppo)
    for name, before, now in differences(saved.as_dict(), config.as_dict()):
        if name != "decisions":
            settings = f"with {name} {before!r}, not {now!r}; only --decisions may change"
            raise CommandError(f"--resume continues the run as it was started, {settings}")
    return config


def start_or_continue(config: TrainConfig, folder: Path) -> None:
    """Start the run in a folder, or continue it if it exists."""
    from ..learn.checkpoint import RunFolder

    run(config, folder, RunFolder(folder).has_run())


def run(config: TrainConfig, path: Path, resume: bool, minutes: float | None = None) -> int:
    """Train with progress and log; CommandError for a bad configuration, a file that cannot be written, or Ctrl-C.

    A run keeps its number of threads, since its result depends on them. It stops after `minutes`.
    """
    from ..learn import loop
    from ..learn.checkpoint import CheckpointError

    before = saved_config(path).threads if resume else None
    config = dataclasses.replace(config, threads=config.threads or before or os.cpu_count() or 1)
    stopped = interruptible(f"to continue: noms train --resume --out {path}")
    with stopped, wrong_arguments(CheckpointError, LogError), ExitStack() as stack:
        with wrong_arguments():  # before anything is written
            trainer = stack.enter_context(loop.prepared(config))
        compile_players([*config.panel, *config.opponents.players])
        folder = stack.enter_context(open_run(config, path, resume))
        is_finished = loop.train_prepared(trainer, folder, stack.enter_context(watch_run(config, folder)), minutes)
    if leads():
        lines = [f"policy: {path / 'policy.safetensors'} · learning curves: noms plot {path}"]
        if not is_finished:
            lines.append(f"the time is over; the same command goes on, or noms train --resume --out {path}")
        print_lines(lines)
    return OK


def leads() -> bool:
    """Return whether this process prints and writes files; torchrun may start several."""
    return os.environ.get("RANK", "0") == "0"


@contextmanager
def open_run(config: TrainConfig, path: Path, resume: bool) -> Iterator[RunFolder]:
    """Open the folder of a run, which the leading process locks; CheckpointError if it cannot be used."""
    from ..learn.checkpoint import RunFolder

    if not leads():
        yield RunFolder(path, keep=config.keep)
        return
    opening = RunFolder.open(path, keep=config.keep) if resume else RunFolder.create(path, config.as_dict(), keep=config.keep)
    with opening as folder:
        if resume and folder.config() != json.loads(json.dumps(config.as_dict())):
            folder.latest_state()  # this and the log raise before the new budget is saved, if the run cannot continue
            saved_rows(folder.path)
            folder.write_config(config.as_dict())
        yield folder


@contextmanager
def watch_run(config: TrainConfig, folder: RunFolder) -> Iterator[Watcher]:
    """Return the callbacks that show and log the run; CommandError if the log cannot be written."""
    if not leads():
        yield Watcher()
        return
    title = " ".join(config.variants)
    with file_errors(f"cannot write the log in {folder.path}"), Log(folder.path) as log, progress.watching(title) as display:
        yield Several([log, display])
