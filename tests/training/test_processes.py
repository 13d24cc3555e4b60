"""One run on two processes (gloo)."""

import os
import socket
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from noms_env.variants import RulesError
from noms_training.learn.distributed import precision_of
from noms_training.learn.loop import prepared
from tests.training import two_processes
from tests.training.tiny_run import make_config

UNUSED = ("head.nominate", "head.words")
"""The actor of the test has outputs for cards to play only."""
Arrays = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> list[Arrays]:
    """The results of `two_processes.py` on each rank."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    files = [tmp_path_factory.mktemp("ranks") / f"{rank}.npz" for rank in range(2)]
    root = str(Path(__file__).parents[2])
    settings = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2", "PYTHONPATH": root}
    running = [
        subprocess.Popen(
            [sys.executable, two_processes.__file__, str(file)],
            env=os.environ | settings | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank, file in enumerate(files)
    ]
    for process in running:
        _, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
    return [dict(np.load(file)) for file in files]


def test_two_processes_update_alike_and_like_one_with_all_the_data(ranks: list[Arrays]) -> None:
    first, second = ranks
    names = [name for name in first if name.startswith("together/")]
    assert len(names) > 10
    for name in names:
        alone, start = (first[name.replace("together/", prefix)] for prefix in ("alone/", "start/"))
        step = np.abs(alone - start).max()
        assert step > 0 or any(part in name for part in UNUSED), name
        assert np.abs(first[name] - alone).max() < 0.01 * step + 1e-7, name
        assert (first[name] == second[name]).all(), name


def test_two_processes_play_different_deals_and_end_with_equal_parameters(ranks: list[Arrays]) -> None:
    first, second = ranks
    assert first["own"] != second["own"]
    assert first["own"] + second["own"] == first["decisions"] == second["decisions"]
    assert (first["hands"] != second["hands"]).any()
    names = [name for name in first if name.startswith("parameters/")]
    assert len(names) > 25
    for name in names:
        assert (first[name] == second[name]).all(), name
        assert np.isfinite(first[name]).all()


@pytest.mark.parametrize(
    ("cpu", "bf16", "amx", "fast"),
    [("Intel", True, True, True), ("Intel", True, False, False), ("AMD", True, False, True), ("AMD", False, False, False)],
)
def test_bf16_is_used_where_it_is_faster(cpu: str, bf16: bool, amx: bool, fast: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    capabilities = {"cpu_name": cpu, "avx512_bf16": bf16, "amx_bf16": amx}
    monkeypatch.setattr("torch.cpu.get_capabilities", lambda: capabilities)
    assert precision_of("auto", "cpu") == (torch.bfloat16 if fast else torch.float32)
    assert [precision_of(name, "cpu") for name in ("bf16", "fp32")] == [torch.bfloat16, torch.float32]
    capabilities.clear()
    assert precision_of("auto", "cpu") == torch.float32


def test_a_run_that_is_refused_leaves_the_process_group(monkeypatch: pytest.MonkeyPatch) -> None:
    leave = Mock()
    for name, value in {"init_process_group": None, "new_group": None, "get_rank": 0, "get_world_size": 2}.items():
        monkeypatch.setattr(f"torch.distributed.{name}", Mock(return_value=value))
    monkeypatch.setattr("torch.distributed.destroy_process_group", leave)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(RulesError, match="bridge"), prepared(make_config("bridge")):
        pass
    leave.assert_called_once_with()
