"""Files of a run survive kills and full disks; damaged ones are refused."""

import errno
import hashlib
import io
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
import torch

from noms_env.policy.encoding import make_encoding
from noms_env.policy.player import load_policy
from noms_training.learn import checkpoint
from noms_training.learn.checkpoint import CheckpointError, RunFolder, code_revision, load_state, save_state, write_policy
from noms_training.learn.config import ActorConfig, TrainConfig
from noms_training.learn.network import Actor
from tests.training.fakes import Touches, rules
from tests.training.tiny_run import same_state

STATE: dict[str, Any] = {
    "weights": torch.arange(6.0).reshape(2, 3),
    "halves": torch.tensor([1.5, -2.0], dtype=torch.bfloat16),
    "standing": {"best": None, "past": ["000012", "000034"], 7: (1, 2.5, True)},
}


def test_a_saved_state_is_loaded(tmp_path: Path) -> None:
    save_state(tmp_path / "state", STATE)
    assert same_state(load_state(tmp_path / "state"), STATE)
    assert [file.name for file in tmp_path.iterdir()] == ["state"]


def with_digest(content: bytes) -> bytes:
    return f"{checkpoint.MAGIC} {hashlib.sha256(content).hexdigest()}\n".encode() + content


def test_a_state_cannot_run_code(tmp_path: Path) -> None:
    state, buffer = {"a": Touches(tmp_path / "ran")}, io.BytesIO()
    torch.save(state, buffer)
    for content in (buffer.getvalue(), pickle.dumps(state, protocol=2), b"", b"PK\x03\x04"):
        for file in (content, with_digest(content)):
            (tmp_path / "state").write_bytes(file)
            with pytest.raises(CheckpointError, match="is not the state of a training run"):
                load_state(tmp_path / "state")
    assert not (tmp_path / "ran").exists()


def failing(number: int) -> Mock:
    """A system call that fails with this error number."""
    return Mock(side_effect=OSError(number, os.strerror(number)))


@pytest.mark.parametrize(("call", "number"), [("fsync", errno.ENOSPC), ("replace", errno.EIO)])
def test_a_disk_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int) -> None:
    path = tmp_path / "state"
    save_state(path, STATE)
    with monkeypatch.context() as patch:
        patch.setattr(os, call, failing(number))
        with pytest.raises(CheckpointError, match=f"state cannot be written: {os.strerror(number)}"):
            save_state(path, {"new": 1})
    assert same_state(load_state(path), STATE)
    assert list(tmp_path.iterdir()) == [path]


def test_an_unwritable_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", Path(os.devnull), tmp_path / "file" / "run"):
        with pytest.raises(CheckpointError, match=f"{path} cannot be written: "):
            RunFolder.create(path, {})
    monkeypatch.setattr(os, "fsync", failing(errno.EROFS))
    with pytest.raises(CheckpointError, match=r"config\.json cannot be written: Read-only file system"):
        RunFolder.create(tmp_path / "other", {})


def test_create_overwrites_no_run_and_open_needs_one(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "run"):
        with pytest.raises(CheckpointError, match="holds no run to continue"):
            RunFolder.open(path)
    assert list(tmp_path.iterdir()) == []
    with RunFolder.create(tmp_path / "run", {"seed": 3}) as folder:
        assert (folder.config(), folder.latest_state()) == ({"seed": 3}, None)
        assert sorted(file.name for file in folder.path.iterdir()) == ["config.json", "lock", "past", "state"]
        folder.write_state(1, {})
    for _ in ("the configuration", "states without it"):
        with pytest.raises(CheckpointError, match="already holds a run"):
            RunFolder.create(tmp_path / "run", {})
        (tmp_path / "run" / "config.json").unlink(missing_ok=True)


def test_a_large_state_lies_in_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state: dict[str, Any] = {"actor": torch.arange(5_000, dtype=torch.float32), "decisions": 7}
    path, limit = tmp_path / "1.pt", 6_000
    save_state(path, state)
    total = path.stat().st_size - checkpoint.FIRST_LINE
    monkeypatch.setattr(checkpoint, "MAX_BYTES", limit)
    for _ in range(2):
        save_state(path, state)
        sizes = [file.stat().st_size for file in sorted(tmp_path.iterdir())]
        assert sizes == [limit + checkpoint.FIRST_LINE, limit, limit, total - 3 * limit]
        assert same_state(load_state(path), state)
    (tmp_path / "1.pt.2").unlink()
    with pytest.raises(CheckpointError, match="is damaged"):
        load_state(path)


def test_files_of_an_incomplete_state_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "MAX_BYTES", 600)
    with RunFolder.create(tmp_path / "run", {}) as folder:
        folder.write_state(1, {"decisions": 1, "actor": torch.zeros(500)})
    states = folder.path / "state"
    names = sorted(file.name for file in states.iterdir())
    assert len(names) > 3
    for name in ("000000000009.pt.1", "000000000009.pt.2", ".000000000009.pt.part"):
        (states / name).write_bytes(b"of a process that was killed")
    RunFolder.open(folder.path).close()
    assert sorted(file.name for file in states.iterdir()) == names


def test_the_last_states_are_kept_even_if_the_next_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with RunFolder.create(tmp_path / "run", {}, keep=3) as folder:
        for decisions in (5, 70, 800, 9000, 10000):
            folder.write_state(decisions, {"decisions": decisions})
        monkeypatch.setattr(os, "fsync", failing(errno.ENOSPC))
        with pytest.raises(CheckpointError):
            folder.write_state(20000, {"decisions": 20000})
        names = sorted(file.name for file in (folder.path / "state").iterdir())
        assert names == ["000000000800.pt", "000000009000.pt", "000000010000.pt"]
        assert folder.latest_state() == {"decisions": 10000}


def test_a_damaged_state_is_skipped_with_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with RunFolder.create(tmp_path / "run", {}) as folder:
        folder.write_state(1, {"decisions": 1})
        folder.write_state(9, {"decisions": 9})
        newest = folder.path / "state" / "000000000009.pt"
        newest.write_bytes(newest.read_bytes()[:-5])
        assert RunFolder(folder.path).latest_state() == {"decisions": 1}
        assert newest.exists(), "a reader moves nothing"
        assert folder.latest_state() == {"decisions": 1}
        warnings = capsys.readouterr().err.splitlines()
        assert [bool(re.match("noms: .*damaged: .*SHA-256 .*; the state before it", line)) for line in warnings] == [True] * 2
        folder.write_state(2, {"decisions": 2})
        folder.write_state(3, {"decisions": 3})
        assert folder.latest_state() == {"decisions": 3}, "the damaged state does not count"
        assert not capsys.readouterr().err
        for file in (folder.path / "state").glob("*.pt"):
            file.write_bytes(b"")
        for _ in range(2):  # the run never starts again over them
            with pytest.raises(CheckpointError, match=r"all states in .* are damaged"):
                folder.latest_state()


def test_a_state_of_another_version_is_refused_unchanged(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", {}, warn=lambda line: pytest.fail(line)) as folder:
        folder.write_state(9, {"decisions": 9})
        (file,) = (folder.path / "state").iterdir()
        content = file.read_bytes().replace(checkpoint.MAGIC.encode(), b"noms-state/5")
        file.write_bytes(content)
        for _ in range(2):
            with pytest.raises(CheckpointError, match="was written by another version of noms"):
                folder.latest_state()
        assert file.read_bytes() == content


def test_two_processes_do_not_share_a_folder(tmp_path: Path) -> None:
    path = tmp_path / "run"
    folder = RunFolder.create(path, {})
    code = f"from noms_training.learn.checkpoint import RunFolder; RunFolder.open({str(path)!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "CheckpointError: another process trains in" in done.stderr
    with pytest.raises(CheckpointError, match="another process trains in"):
        RunFolder.open(path)
    assert folder.latest_state() is None
    folder.close()
    RunFolder.open(path).close()


def make_run(decisions: int = 50) -> tuple[Actor, Any]:
    """A network, and the attributes of its run that a file records."""
    config = TrainConfig(("down_up",), seed=9, network=ActorConfig(width=6, blocks=1, card_width=2))
    rule_sets = [rules("down_up", 4), rules("down_up", 3, hook=False)]
    encoding = make_encoding(rule_sets, config.card_features)
    torch.manual_seed(decisions)
    actor = Actor.of(encoding, config.network)
    run: Any = SimpleNamespace(config=config, encoding=encoding, decisions=decisions)
    return actor, run


def test_the_policy_of_a_run_is_saved_if_it_is_finite(tmp_path: Path) -> None:
    actor, run = make_run()
    with RunFolder.create(tmp_path / "run", {}) as folder:
        write_policy(folder.policy, actor, run, 1.5)
        player = load_policy(folder.path)
        before = folder.policy.read_bytes()
        with torch.no_grad():
            actor.head.bias[3] = torch.nan
        with pytest.raises(CheckpointError, match=r"policy.safetensors is not written: .* not finite"):
            write_policy(folder.policy, actor, run, None)
        assert folder.policy.read_bytes() == before
    info = player.info
    assert (info.rule_sets, info.decisions, info.seed, info.score) == (run.encoding.rule_sets, 50, 9, 1.5)
    assert info.network == {"width": 6, "blocks": 1, "card_width": 2, "scorer_width": 32}
    assert info.revision == code_revision()
    assert TrainConfig.from_dict(info.training) == run.config


def test_past_selves_stay_while_a_kept_state_names_them(tmp_path: Path) -> None:
    actor, run = make_run()
    past = [f"{decisions:012d}" for decisions in (10, 20, 30, 40)]
    with RunFolder.create(tmp_path / "run", {}) as folder:
        for name in past[:3]:
            folder.write_past(name, actor, run)
        folder.write_state(20, {"standing": {"past": past[:2]}})
        assert folder.past() == past[:2], "no state names the third yet; it will be written again"
    with RunFolder.open(tmp_path / "run") as folder:
        folder.write_past(past[2], actor, run)
        folder.write_state(30, {"standing": {"past": past[1:3]}})
        assert folder.past() == past[:3], "the state before, of another process, names the first"
        folder.write_past(past[3], actor, run)
        folder.write_state(40, {"standing": {"past": past[2:]}})
        assert folder.past() == past[1:]
        loaded, _ = make_run(1)
        loaded.load_state_dict(folder.read_past(past[3]))
        assert same_state(actor.state_dict(), loaded.state_dict())
        with pytest.raises(CheckpointError, match=f"there is no file .*{past[0]}"):
            folder.read_past(past[0])


def test_the_revision_describes_the_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    find, outputs = code_revision.__wrapped__, [SimpleNamespace(stdout="v3-1-gabc\n"), SimpleNamespace(stdout="")]
    run = Mock(side_effect=[*outputs, FileNotFoundError()])
    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(checkpoint, "PACKAGE", tmp_path / "noms_env")
    assert find() is None
    (tmp_path / ".git").mkdir()
    assert [find() for _ in range(3)] == ["v3-1-gabc", None, None]
    assert run.call_args.args[0][:4] == ["git", "-C", str(tmp_path), "describe"]
