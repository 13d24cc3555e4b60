"""Files of a run: checkpoints, policies and the folder.

    RUN/config.json                      the configuration
    RUN/state/000001234567.pt            a checkpoint, by decisions; the last `keep` remain; above 16 MB it continues in
                                         000001234567.pt.1 and so on
    RUN/past/000001000000.safetensors    past policies that are opponents
    RUN/policy.safetensors               the best policy so far
    RUN/log.csv                          the figures of the training (written by `log`)
    RUN/lock                             held by the training process

All writes are atomic: after a kill, a full disk or a power cut the previous file is intact. No file can run code: policies are
safetensors, and torch reads states with `weights_only`.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from noms_env._files import lock, open_file, read_file, write_atomically
from noms_env._jit import PACKAGE
from noms_env._json import parse_json
from noms_env.policy.file import PolicyFileError, PolicyInfo, read_policy, save_policy
from noms_env.policy.player import POLICY_NAME

from ..console import COMMAND_LINE
from .config import TrainConfig

if TYPE_CHECKING:
    from .train import Trainer

FORMAT = "noms-state/"
MAGIC = f"{FORMAT}6"
FIRST_LINE = len(MAGIC) + 1 + 64 + 1  # bytes of the first line of a state file: the format, and the SHA-256 of the rest
MAX_BYTES = 16_000_000 - FIRST_LINE  # maximum bytes of a state per file; a larger state has several files


class CheckpointError(Exception):
    """A file or folder of a run cannot be written or used."""


class OtherVersionError(CheckpointError):
    """A state is intact, but from another version, which can continue from it."""


def save_state(path: Path, state: Mapping[str, Any]) -> None:
    """Write tensors and plain values into files of at most 16 MB, the first one last; CheckpointError if that fails."""
    file = io.BytesIO()
    torch.save(state, file)
    content = file.getvalue()
    parts = [content[start : start + MAX_BYTES] for start in range(0, len(content), MAX_BYTES)]
    for number, part in enumerate(parts[1:], 1):
        write_file(part_of(path, number), part)
    part_of(path, len(parts)).unlink(missing_ok=True)
    write_file(path, f"{MAGIC} {hashlib.sha256(content).hexdigest()}\n".encode() + parts[0])


def part_of(path: Path, number: int) -> Path:
    """Return the path of a further file of a state, numbered from 1."""
    return path.with_name(f"{path.name}.{number}")


def load_state(path: Path) -> dict[str, Any]:
    """Read a state, with tensors on the CPU; OtherVersionError if another version wrote it, else CheckpointError."""
    try:
        with open_file(path) as opened:
            line = opened.read(FIRST_LINE)
            if not line.startswith(f"{MAGIC} ".encode()):
                if re.match(rf"{FORMAT}\d+ [0-9a-f]{{60}}".encode(), line):
                    raise OtherVersionError(f"{path} was written by another version of noms, which can continue the run")
                raise CheckpointError(f"{path} is not the state of a training run")
            content = opened.read()
        for number in itertools.takewhile(lambda number: part_of(path, number).exists(), itertools.count(1)):
            content += read_file(part_of(path, number))
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror}") from error
    if line != f"{MAGIC} {hashlib.sha256(content).hexdigest()}\n".encode():
        raise CheckpointError(f"{path} is damaged: its content does not have the SHA-256 that it was written with")
    try:
        state: dict[str, Any] = torch.load(io.BytesIO(content), "cpu", weights_only=True)
        return {**state}
    except Exception as error:  # torch raises many types for other files
        raise CheckpointError(f"{path} is not the state of a training run") from error


def write_file(path: Path, content: bytes) -> None:
    """Write a file atomically; CheckpointError if that fails."""
    with write_errors(path):
        write_atomically(path, content)


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Turn an OSError into a CheckpointError."""
    try:
        yield
    except OSError as error:
        raise CheckpointError(f"{path} cannot be written: {error.strerror or error}; the previous file is intact") from error


@cache
def code_revision() -> str | None:
    """Return the revision of the code by `git describe`; None outside a checkout."""
    if not (PACKAGE.parent / ".git").exists():
        return None
    command = ["git", "-C", str(PACKAGE.parent), "describe", "--always", "--dirty", "--tags"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=10).stdout.strip() or None
    except (OSError, subprocess.TimeoutExpired):
        return None


class RunFolder:
    """The folder of a run. `create` and `open` lock it against other processes until `close`.

    The constructor does not lock: for reading, as the further processes of a run do. `keep` is the number of states to keep,
    `warn` is called with a line about each damaged state, and `policy` is the file of the best policy.
    """

    def __init__(self, path: Path | str, *, keep: int = 2, warn: Callable[[str], None] | None = None) -> None:
        self.path, self.keep = Path(path), keep
        self.warn = warn or (lambda line: print(f"noms: {line}", file=sys.stderr, flush=True))
        self.policy = self.path / POLICY_NAME
        self._config, self._states, self._past = self.path / "config.json", self.path / "state", self.path / "past"
        self._lock: IO[str] | None = None

    @classmethod
    def create(cls, path: Path | str, config: Mapping[str, Any], **arguments: Any) -> RunFolder:
        """Create or reuse a folder for a new run, and write the configuration; `arguments`: `keep` and `warn`.

        CheckpointError if the folder has a run, another process trains there, or it is not writable.
        """
        folder = cls(path, **arguments)
        if folder.has_run():
            raise CheckpointError(f"{folder.path} already holds a run: continue it with --resume, or name another by --out")
        folder._lock_and_clear()
        try:
            folder.write_config(config)
            if COMMAND_LINE.get():
                write_file(folder.path / "command.txt", f"{COMMAND_LINE.get()}\n".encode())
        except BaseException:
            folder.close()
            raise
        return folder

    @classmethod
    def open(cls, path: Path | str, **arguments: Any) -> RunFolder:
        """Open the folder of a run to continue; arguments and errors as in `create`."""
        folder = cls(path, **arguments)
        if not folder.has_run():
            raise CheckpointError(f"{folder.path} holds no run to continue; without --resume a new one is started there")
        folder._lock_and_clear()
        return folder

    def _lock_and_clear(self) -> None:
        """Make and lock the folder, and delete the temporary files of killed processes."""
        if self.path.exists() and not self.path.is_dir():
            raise CheckpointError(f"{self.path} cannot be written: it is no folder")
        with write_errors(self.path):
            for folder in (self.path, self._states, self._past):
                folder.mkdir(parents=True, exist_ok=True)
            self._lock = (self.path / "lock").open("a+")
            if not lock(self._lock):
                self.close()
                raise CheckpointError(f"another process trains in {self.path}; wait for it, stop it, or name another by --out")
            for folder in (self.path, self._states, self._past):
                orphans = (part for part in folder.glob("*.pt.[0-9]*") if not part.with_suffix("").exists())
                for left in [*folder.glob(".*.part"), *orphans]:  # orphans: parts of a state without its first file
                    left.unlink(missing_ok=True)

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def has_run(self) -> bool:
        return self._config.exists() or any(self._states.glob("*.pt"))

    def config(self) -> dict[str, Any]:
        """Read the configuration; CheckpointError if the file is missing or damaged."""
        try:
            config = parse_json(read_file(self._config))
        except OSError as error:
            raise CheckpointError(f"{self._config} cannot be read: {error.strerror}") from error
        except ValueError as error:
            raise CheckpointError(f"{self._config} is damaged: {error}") from error
        if not isinstance(config, dict):
            raise CheckpointError(f"{self._config} is damaged: it is no JSON object")
        return config

    def write_config(self, config: Mapping[str, Any]) -> None:
        """Write the configuration; CheckpointError if that fails."""
        write_file(self._config, json.dumps(config, indent=2).encode() + b"\n")

    def write_state(self, decisions: int, state: Mapping[str, Any]) -> None:
        """Write a state (CheckpointError if that fails); delete all but the last `keep`, and past policies without a state."""
        save_state(self._states / f"{decisions:012d}.pt", state)
        for old in self._state_files()[: -self.keep]:
            for file in [old, *old.parent.glob(f"{old.name}.*")]:
                file.unlink(missing_ok=True)
        past, named = self.past(), set[str]()
        for file in self._state_files() if past else ():
            with suppress(CheckpointError):  # `latest_state` will skip a damaged one
                named |= set(load_state(file).get("standing", {}).get("past", ()))
        for name in set(past) - named:
            self._past_file(name).unlink(missing_ok=True)

    def latest_state(self) -> dict[str, Any] | None:
        """Load the newest intact state; None without any. A damaged one is skipped with a warning, and renamed to `.damaged`.

        OtherVersionError if the newest state is from another version, CheckpointError if all are damaged.
        """
        files = self._state_files()
        for file in reversed(files):
            try:
                return load_state(file)
            except OtherVersionError:
                raise
            except CheckpointError as error:
                self.warn(f"{error}; the state before it is taken")
                if self._lock is not None:
                    file.replace(file.with_name(file.name + ".damaged"))
        if files or any(self._states.glob("*.damaged")):
            raise CheckpointError(f"all states in {self._states} are damaged; there is nothing to go on from")
        return None

    @property
    def decisions(self) -> int:
        """Decisions of the newest state; 0 without a state."""
        return max((int(file.stem) for file in self._state_files()), default=0)

    def _state_files(self) -> list[Path]:
        return sorted(file for file in self._states.glob("*.pt") if file.stem.isdigit())

    def write_past(self, name: str, actor: nn.Module, run: Trainer) -> None:
        write_policy(self._past_file(name), actor, run, None)

    def read_past(self, name: str) -> dict[str, Tensor]:
        """Read the parameters of a past policy; CheckpointError if it is missing or damaged."""
        try:
            _, _, tensors = read_policy(self._past_file(name))
        except PolicyFileError as error:
            raise CheckpointError(str(error)) from error
        return {name: torch.from_numpy(tensor) for name, tensor in tensors.items()}

    def past(self) -> list[str]:
        """Return the names of the past policies, ascending."""
        return sorted(file.stem for file in self._past.glob("*.safetensors"))

    def _past_file(self, name: str) -> Path:
        return self._past / f"{name}.safetensors"


def read_config(folder: Path) -> TrainConfig:
    """Read the configuration of the run in a folder; CheckpointError if it is missing, damaged or invalid."""
    try:
        return TrainConfig.from_dict(RunFolder(folder).config())
    except (CheckpointError, ValueError) as error:
        raise CheckpointError(f"there is no run to continue in {folder}: {error}") from error


def write_policy(path: Path, actor: nn.Module, run: Trainer, score: float | None) -> None:
    """Write the policy file of an actor, with its score; CheckpointError if that fails, or a parameter is not finite."""
    config = run.config
    info = PolicyInfo(
        rule_sets=run.encoding.rule_sets,
        drawn=run.encoding.drawn,
        options=run.encoding.options,
        network=config.network.sizes(),
        training=json.loads(json.dumps(config.as_dict())),
        seed=config.seed,
        decisions=run.decisions,
        score=None if score is None else float(score),
        revision=code_revision(),
        card_features=config.card_features,
        trick_features=config.trick_features,
    )
    tensors = {name: tensor.detach().cpu().float().numpy() for name, tensor in actor.state_dict().items()}
    try:
        with write_errors(path):
            save_policy(path, tensors, info)
    except PolicyFileError as error:
        raise CheckpointError(f"{path} is not written: {error}") from error
