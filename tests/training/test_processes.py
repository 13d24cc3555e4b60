"""One run on two processes (gloo): the same parameters on both, and the same update as in one."""

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from noms_env.variants import RulesError
from noms_training.learn.distributed import precision_of
from noms_training.learn.loop import prepared
from tests.training.test_self_play import tiny

UNUSED = ("head.nominate", "head.words")
"""The actor of the test has outputs for cards to play only."""
WORKER = Path(__file__).with_name("two_processes.py")


def on_two_processes(what: str, folder: Path) -> list[dict[str, np.ndarray]]:
    """What `two_processes.py` finds on each rank."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    root = Path(__file__).parents[2]
    settings = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2", "PYTHONPATH": str(root)}
    running = [
        subprocess.Popen(
            [sys.executable, str(WORKER), what, str(folder / f"{rank}.npz")],
            env=os.environ | settings | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    for process in running:
        _, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
    return [dict(np.load(folder / f"{rank}.npz")) for rank in range(2)]


@pytest.fixture(scope="module")
def update(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, np.ndarray]]:
    return on_two_processes("update", tmp_path_factory.mktemp("update"))


def test_the_update_of_two_processes_is_that_of_one_with_all_the_data(update: list[dict[str, np.ndarray]]) -> None:
    names = [name for name in update[0] if name.startswith("together/")]
    assert len(names) > 10
    for name in names:
        alone = update[0][name.replace("together/", "alone/")]
        start = update[0][name.replace("together/", "start/")]
        moved = np.abs(alone - start).max()
        assert moved > 0 or any(part in name for part in UNUSED), name
        assert np.abs(update[0][name] - alone).max() < 0.01 * moved + 1e-7, name


def test_both_ranks_end_with_equal_parameters(update: list[dict[str, np.ndarray]]) -> None:
    for name, values in update[0].items():
        if name.startswith("together/"):
            assert (values == update[1][name]).all(), name


def test_a_run_on_two_processes_plays_different_deals_and_ends_with_equal_parameters(tmp_path: Path) -> None:
    one, other = on_two_processes("run", tmp_path)
    assert one["decisions"] == other["decisions"]
    assert one["own"] != other["own"]
    assert one["own"] + other["own"] == one["decisions"]
    assert (one["hands"] != other["hands"]).any()
    names = [name for name in one if name.startswith("parameters/")]
    assert len(names) > 25
    for name in names:
        assert (one[name] == other[name]).all(), name
        assert np.isfinite(one[name]).all()


@pytest.mark.parametrize(
    ("cpu", "fast"),
    [
        ({"cpu_name": "Intel Xeon", "avx512_bf16": True, "amx_bf16": True}, True),
        ({"cpu_name": "Intel Xeon", "avx512_bf16": True, "amx_bf16": False}, False),
        ({"cpu_name": "AMD EPYC", "avx512_bf16": True, "amx_bf16": False}, True),
        ({"cpu_name": "AMD EPYC", "avx512_bf16": False}, False),
        ({}, False),
    ],
)
def test_bf16_is_used_where_its_products_are_faster(cpu: dict[str, Any], fast: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cpu.get_capabilities", lambda: cpu)
    assert precision_of("auto", "cpu") == (torch.bfloat16 if fast else torch.float32)
    assert [precision_of(name, "cpu") for name in ("bf16", "fp32")] == [torch.bfloat16, torch.float32]


def test_the_processes_part_where_a_run_cannot_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = list[str]()
    for name, value in {"init_process_group": None, "new_group": None, "get_rank": 0, "get_world_size": 2}.items():
        monkeypatch.setattr(f"torch.distributed.{name}", lambda *_, value=value: value)
    monkeypatch.setattr("torch.distributed.destroy_process_group", lambda: calls.append("parted"))
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(RulesError, match="bridge"), prepared(tiny("bridge")):
        pass
    assert calls == ["parted"]
