"""Tables on a GPU, in numba's simulator of one; `test_gpu_rows` runs these tests in a process of its own."""

import random
import re
import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from numba import config
from torch.utils.dlpack import from_dlpack

import noms_env
from noms_env import IllegalActionError, TableGroup, load_player, make_batch
from noms_env.cuda import announcing, kernels
from noms_env.cuda.arrays import GpuArray, to_gpu
from noms_env.players import draw_seeds
from noms_env.variants import VARIANTS
from tests.begin import begin
from tests.cuda.agreement import STATUS, Both, Plan, draw_plan, play_both

TABLES = 9
"""More than two blocks of the simulator; the last is not full."""


def pair(tables: int = 3, **arguments: Any) -> list[Any]:
    """Deal the same tables on both sides."""
    return [begin(make_batch("small_ships", tables, seed=4, device=device, **arguments)) for device in ("cpu", "cuda")]


def assert_refused_alike(match: str, *calls: Callable[[], object]) -> str:
    """Check that all calls are refused with the same sentence; return it."""
    sentences = set()
    for call in calls:
        with pytest.raises(ValueError, match=match) as refusal:
            call()
        sentences.add(str(refusal.value))
    (sentence,) = sentences
    return sentence


def test_the_simulator_is_on() -> None:
    assert config.ENABLE_CUDASIM
    assert type(kernels.step).__name__ == "FakeCUDAKernel"


@pytest.mark.parametrize("seed", range(3))
def test_all_games_with_random_options_give_the_bytes_of_the_processor(seed: int) -> None:
    assert play_both(draw_plan(random.Random(seed)), TABLES, steps=8) > 40


@pytest.mark.parametrize("variant", VARIANTS)
def test_whole_deals_and_the_next_ones_give_the_bytes_of_the_processor(variant: str) -> None:
    both = Both(draw_plan(random.Random(variant), [variant]), tables=2)
    deals = 0
    for _ in range(90):
        both.step(observe=False)
        if both.cpu.scored.any():
            deals += 1
            both.compare(STATUS)
            both.advance()
            both.compare_tables()
        if deals == 3:
            break
    for batch in (both.cpu, both.gpu):
        batch.observe([1])
    both.compare()
    assert deals > 0


def test_reset_takes_and_refuses_the_same_as_on_the_processor() -> None:
    cpu, gpu = pair(4)
    calls: list[dict[str, Any]] = [
        {"rows": [1, 3], "seed": 7},
        {"rows": [True, False, False, True], "match": 9, "table": [5, 6], "dealer": [2, -1]},
        {"rows": 2},
        {"match": 2**32 - 1},
        {"rows": []},
    ]
    for call in calls:
        for batch in (cpu, gpu):
            batch.reset(**call)
        assert cpu.save().tobytes() == gpu.save().tobytes(), call
    wrong: list[dict[str, Any]] = [{}, {"rows": [4]}, {"rows": 0, "seed": -1}, {"rows": 1, "match": 0, "dealer": 4}]
    for call in wrong:
        assert_refused_alike(r"\w", partial(cpu.reset, **call), partial(gpu.reset, **call))
    assert cpu.save().tobytes() == gpu.save().tobytes()


def test_booleans_on_the_gpu_start_the_next_matches() -> None:
    cpu, gpu = pair(5)
    where = np.array([True, False, True, True, False])
    for batch in (cpu, gpu):
        batch.reset([3], match=2**32 - 1)
    cpu.reset(np.array([0, 2]))
    cpu.reset([3], match=0)
    gpu.reset(to_gpu(where))
    assert cpu.save().tobytes() == gpu.save().tobytes()
    with pytest.raises(ValueError, match="match, seed, table and dealer need rows on the CPU"):
        gpu.reset(to_gpu(where), seed=1)
    with pytest.raises(ValueError, match="must be 5 booleans, not bool of shape \\(3,\\)"):
        gpu.reset(to_gpu(where[:3]))


def test_booleans_with_gaps_are_copied() -> None:
    """Kernels are compiled for arrays without gaps."""
    gpu = pair()[1]
    wide = np.array([[True, False], [False, True], [True, True]])
    flags = gpu.gpu.flags("where", GpuArray(to_gpu(wide).native[:, 0]))
    assert flags.strides == (1,)
    assert list(gpu.gpu.to_numpy(flags)) == [True, False, True]
    player, seeds = load_player("thumb", device="cuda"), to_gpu(np.arange(3))
    answers = [player.act(gpu, seeds, where=where).to_numpy() for where in (to_gpu(wide[:, 0].copy()), GpuArray(flags))]
    assert answers[0].tolist() == answers[1].tolist()


def test_a_kernel_is_compiled_with_its_settings_for_each_type_of_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Mock(side_effect=nullcontext)
    monkeypatch.setattr(announcing, "kernel_settings", settings)
    kernel = object()
    for number in (1, 2, 1.0, 2.0, np.int32(1)):
        with announcing.announced(kernel, number):
            pass
    assert settings.call_count == 3


def test_save_restore_clone_and_sample_hidden() -> None:
    both = Both(Plan([TableGroup("small_ships")], {"seed": 4, "pause_after_deal": True}), 4)
    cpu, gpu = both.cpu, both.gpu
    for _ in range(30):
        both.step()
    records = cpu.save([1, 2])
    assert gpu.save([1, 2]).tobytes() == records.tobytes()
    for batch in (cpu, gpu):
        batch.restore([3, 0], records)
        batch.clone(2, [1, 3])
        batch.clone(0, [])
    both.compare_tables()
    for batch in (cpu, gpu):
        batch.reset(1)
        batch.sample_hidden(1, 2, np.random.default_rng(3), rows=[0, 3])
    both.compare_tables()
    both.compare(STATUS)
    assert str(cpu.table(3)) == str(gpu.table(3))
    records.n_seats = 3
    with pytest.raises(ValueError, match="other rules"):
        gpu.restore([0, 1], records)


@pytest.mark.parametrize("form", ["numpy", "int32", "gaps", "GpuArray", "torch", "list"])
def test_step_takes_actions_of_every_form(form: str) -> None:
    cpu, gpu = pair()
    for batch in (cpu, gpu):
        batch.observe()
    actions = cpu.mask.argmax(axis=1)
    forms: dict[str, Any] = {
        "numpy": actions,
        "int32": to_gpu(actions.astype(np.int32)),
        "gaps": GpuArray(to_gpu(np.repeat(actions, 2)).native[::2]),
        "GpuArray": to_gpu(actions),
        "torch": torch.from_numpy(actions),
        "list": actions.tolist(),
    }
    cpu.step(actions)
    gpu.step(forms[form])
    assert cpu.save().tobytes() == gpu.save().tobytes()


@pytest.mark.parametrize("actions", [[0, 0], [0.0, 1.0, 2.0], [[1, 2, 3]], None], ids=str)
def test_other_things_than_actions_are_refused_as_on_the_processor(actions: Any) -> None:
    cpu, gpu = pair()
    assert_refused_alike("actions must be 3 integers", partial(cpu.step, actions), partial(gpu.step, actions))
    with pytest.raises(ValueError, match="actions must be 3 integers, not float32 of shape"):
        gpu.step(to_gpu(np.zeros(3, np.float32)))


def test_illegal_actions_are_refused_as_on_the_processor_and_change_nothing() -> None:
    cpu, gpu = pair(6)
    cpu.observe()
    actions = cpu.mask.argmax(axis=1)
    actions[[2, 5]] = 149
    before = gpu.save().tobytes()
    assert_refused_alike("^table 2: ", partial(cpu.step, actions), partial(gpu.step, actions))
    with pytest.raises(IllegalActionError):
        gpu.step(actions)
    assert gpu.save().tobytes() == before
    actions[[2, 5]] = cpu.mask[[2, 5]].argmax(axis=1)
    gpu.step(actions)  # the mark of the refusal is gone
    with pytest.raises(RuntimeError, match="call reset first"):
        make_batch("noms", 2, device="cuda").step(np.zeros(2, np.int64))


@pytest.mark.parametrize("name", ["random", "greedy", "thumb", "thumb:1"])
def test_players_answer_as_on_the_processor(name: str) -> None:
    both = Both(draw_plan(random.Random(name)), tables=14)
    cpu_player, gpu_player = load_player(name), load_player(name, device="cuda")
    seeds = draw_seeds(np.random.default_rng(1), 14)
    selected = np.arange(14) % 3 > 0
    for step in range(8):
        both.step()
        expected = cpu_player.act(both.cpu.mask, both.cpu.mask, np.random.default_rng(1), tables=both.cpu.tables)
        actions = to_gpu(np.full(14, 77))
        where = to_gpu(selected) if step % 2 else None
        assert gpu_player.act(both.gpu, to_gpu(seeds), where=where, actions=actions) is actions
        assert actions.to_numpy().tolist() == np.where(selected | (step % 2 == 0), expected, 77).tolist()
        both.advance()


def test_players_refuse_what_is_not_on_the_gpu() -> None:
    cpu, gpu = pair(3)
    player = load_player("random", device="cuda")
    with pytest.raises(ValueError, match="not on a GPU: make it with device='cuda'"):
        player.act(cpu, to_gpu(np.ones(3, np.int64)))
    with pytest.raises(ValueError, match="GpuRandom needs seeds"):
        player.act(gpu)
    with pytest.raises(ValueError, match="seeds must be an array of int64 of shape"):
        player.act(gpu, np.ones(3, np.int64))
    with pytest.raises(ValueError, match="where must be 3 booleans on the GPU"):
        load_player("greedy", device="cuda").act(gpu, where=np.ones(3, np.bool_))
    with pytest.raises(ValueError, match="solved plays on the processor only"):
        load_player("solved:file", device="cuda")


def test_streams_are_refused_as_on_the_processor() -> None:
    cpu, gpu = pair()
    states, actions = np.array([1, 0, 3]), np.zeros(3, np.int64)
    assert_refused_alike(
        "streams must be from 1 to 4294967295",
        lambda: cpu.random_actions(states, actions),
        lambda: gpu.random_actions(to_gpu(states), to_gpu(actions)),
    )
    for wrong in (states, to_gpu(states[:2]), to_gpu(states.astype(np.int32)), None):
        with pytest.raises(ValueError, match="actions must be an array of int64 of shape \\(3,\\) without gaps on the GPU"):
            gpu.random_actions(to_gpu(states), wrong)


def test_device_and_threads_are_checked() -> None:
    with pytest.raises(noms_env.RulesError, match="device must be 'cpu' or 'cuda', not 'gpu'"):
        make_batch("noms", 2, device="gpu")  # type: ignore[arg-type]
    with pytest.raises(noms_env.RulesError, match="threads are CPU threads"):
        make_batch("noms", 2, device="cuda", threads=2)
    cpu, gpu = (repr(make_batch("noms", 2, device=device)).partition(", episode=") for device in ("cpu", "cuda"))
    assert gpu[0] == cpu[0]
    assert gpu[2].startswith('"match"')
    assert len(make_batch("noms", 2, device="cuda")) == 2


def test_other_libraries_share_the_memory() -> None:
    _, gpu = pair(3, hidden_state=True, observation="features")
    gpu.observe()
    for name in ("observation", "mask", "hidden_state", "seat", "over", "scored", "points", "tables"):
        array: Any = getattr(gpu, name)
        for view in (np.from_dlpack(array), from_dlpack(array).numpy()):
            assert (view.dtype, view.shape) == (array.dtype, array.shape)
            assert np.array_equal(view, array.to_numpy())
            assert np.shares_memory(view, np.from_dlpack(array))
    assert gpu.mask.padded.shape == (3, 152)
    before = from_dlpack(gpu.seat)
    gpu.step(from_dlpack(gpu.mask).argmax(dim=1), observe=True)
    assert before.tolist() == gpu.seat.to_numpy().tolist()
    with pytest.raises(BufferError, match="without a copy"):
        gpu.seat.__dlpack__(copy=True)


class JaxArray(np.ndarray):
    """Stands in for an array of JAX."""

    def block_until_ready(self) -> "JaxArray":
        return self


def stand_ins() -> dict[str, Any]:
    """The functions of CuPy and JAX that the examples use, by numpy: neither library is installed."""
    jax_random = SimpleNamespace(
        key=int, split=lambda key: (key + 1, key), uniform=lambda key, shape: np.random.default_rng(key).random(shape)
    )
    dlpack = SimpleNamespace(from_dlpack=lambda array: np.from_dlpack(array).copy().view(JaxArray))
    return {
        "cupy": SimpleNamespace(asarray=np.from_dlpack, random=np.random),
        "jax": SimpleNamespace(jit=lambda function: function, random=jax_random, dlpack=dlpack),
    }


@pytest.mark.parametrize("library", ["cupy", "jax"])
def test_the_examples_for_cupy_and_jax_call_this_package_correctly(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-ins show nothing about the libraries."""
    text = (Path(__file__).parents[2] / "docs" / "gpu.md").read_text(encoding="utf-8")
    (block,) = (block for block in re.findall(r"(?s)```\{code-block\} python\n(.*?)```", text) if f"import {library}" in block)
    for name, module in stand_ins().items():
        monkeypatch.setitem(sys.modules, name, module)
    assert "tables=65_536" in block
    assert "range(50)" in block
    names: dict[str, Any] = {}
    exec(compile(block.replace("65_536", "6").replace("range(50)", "range(9)"), "docs/gpu.md", "exec"), names)
    assert (np.asarray(names["mask"]).sum(axis=1) > 0).all()
    assert names["batch"].tables.to_numpy().any()


def test_shared_memory_lives_as_long_as_its_reader() -> None:
    from noms_env.cuda.arrays import _lent

    before = len(_lent)
    capsule = to_gpu(np.arange(5)).__dlpack__()
    assert len(_lent) == before + 1
    del capsule  # no library has taken it
    assert len(_lent) == before
    tensor = from_dlpack(to_gpu(np.arange(5)))
    assert len(_lent) == before + 1
    assert tensor.tolist() == [0, 1, 2, 3, 4]
    del tensor
    assert len(_lent) == before
