"""The kernels of `noms_env.cuda` as PTX and as machine code of GPUs, on a machine without a GPU: `make ptx`.

numba-cuda compiles each kernel for the types with which a batch launches it, and the `ptxas` of NVIDIA's wheels the PTX for
architectures. The registers of a thread, the bytes that it spills and those of constants are printed, and bounded: with more of
them, or where a kernel does not compile, the status is 1. Then kernels are compiled in copies of the package with the game, or
the option, that the tutorials add. With names of kernels only those are compiled, of the package in this folder.
"""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import nvidia.cuda_nvcc
from numba import cuda
from numba.cuda import dispatcher
from numba.cuda.cudadrv.devicearray import DeviceNDArray

import noms_env
from benchmarks.cuda import kernels as benchmark_kernels
from benchmarks.cuda import layout
from benchmarks.cuda.speed import Gpu
from noms_env import BatchEnv, load_player, make_batch
from noms_env.core.actions import NUM_ACTIONS
from noms_env.core.state import MAX_SEATS
from noms_env.cuda import kernels, streams
from noms_env.cuda.announcing import kernel_settings
from noms_env.cuda.arrays import GpuArray
from noms_env.cuda.canonical_suits import GpuCanonicalSuits
from noms_env.cuda.players import encoding_kernels, flat_mc_kernels, pimc_kernels, search_kernels, world_kernels
from noms_env.cuda.players import kernels as player_kernels
from noms_env.cuda.players.encoding import GpuEncoding, LearnerRows, PolicyRows
from noms_env.cuda.players.seats import SeatedPlayers
from noms_env.cuda.rows import launch
from noms_env.envs.validation import ObservationKind
from noms_env.policy.player import load_policy
from tests.cuda.ptx_search import launch_search
from tests.tutorials import ROOT, changed_copy

ARCHITECTURES = ("sm_80", "sm_90")
CAPABILITY = (8, 0)
"""What the PTX is for: the lowest of them."""
MOST_REGISTERS = {
    **{"step_features": 96, "observe_features": 96, "play_randomly": 112, "ask_thumb": 144},
    **{"find_candidates": 144, "play_worlds_out": 160, "play_to_endings": 192, "solve_worlds": 104},
    **{"draw_actions": 96, "write_chances": 104, "write_chances_of": 104},
    **{"advance_replays": 168, "advance_rollouts": 152, "value_lanes": 96},
}
OF_OTHERS = 72
MOST_CONSTANTS = 8192
"""Bytes; an architecture allows 65,536. Kernels' arguments are among them; tables of constants lie in global memory."""
MODULES = (
    kernels,
    player_kernels,
    world_kernels,
    flat_mc_kernels,
    pimc_kernels,
    encoding_kernels,
    search_kernels,
    benchmark_kernels,
)
"""Each with `ALL` of its kernels."""
ALL = tuple(kernel for module in MODULES for kernel in module.ALL)
PTXAS = Path(nvidia.cuda_nvcc.__path__[0]) / "bin" / "ptxas"
PROCESSES = 2
SLOWEST = (
    "advance_replays",
    "advance_rollouts",
    "play_to_endings",
    "solve_worlds",
    "play_worlds_out",
    "find_candidates",
    "ask_thumb",
    "step_features",
    "step",
    "play_randomly",
    "start_some",
    "start_next_where",
    "observe_features",
    "observe",
)
TUTORIALS = ("variant", "option")
OF_TUTORIALS = ("step", "observe")
"""The kernels that a game or an option changes, of those that a batch needs."""
Signatures = set[tuple[Any, tuple[Any, ...]]]


class Device(NamedTuple):
    """What stands in for a GPU, so that the functions that kernels call compile where there is no driver."""

    compute_capability: tuple[int, int] = CAPABILITY


class Memory:
    """What stands in for memory of a GPU."""

    device_ctypes_pointer = ctypes.c_void_p(0)


def device_array(shape: Any, dtype: Any) -> DeviceNDArray:
    """An array of numba-cuda without memory."""
    host = np.empty(shape, dtype)
    array = DeviceNDArray(host.shape, host.strides, host.dtype, gpu_data=Memory())
    array.copy_to_device = lambda *_args, **_named: None
    return array


def row_of(array: DeviceNDArray, _place: int) -> DeviceNDArray:
    """A row of such an array."""
    return device_array(array.shape[1:], array.dtype)


class Launches:
    """Stands in for a kernel, and notes the types of the arguments with which it is launched."""

    def __init__(self, kernel: Any, found: Signatures) -> None:
        """Nothing yet."""
        self.kernel, self.found = kernel, found

    def __getitem__(self, _config: object) -> Any:
        return lambda *arguments: self.found.add((self.kernel, tuple(map(self.kernel.typeof_pyval, arguments))))


def launched() -> Signatures:
    """Every kernel, and the types of its arguments, as a batch launches them; without a GPU, so that nothing happens."""
    found: Signatures = set()
    with ExitStack() as patches:
        for module in MODULES:
            for kernel in module.ALL:
                patches.enter_context(patch.object(module, kernel.py_func.__name__, Launches(kernel, found)))
        patches.enter_context(patch.object(cuda, "device_array", device_array))
        patches.enter_context(patch.object(DeviceNDArray, "__getitem__", row_of))
        patches.enter_context(patch.object(cuda, "is_available", lambda: True))
        patches.enter_context(patch.object(streams, "to_host", lambda array: np.zeros(array.shape, array.dtype)))
        patches.enter_context(patch.object(layout, "seconds_of", lambda work, _seconds: work() or 1.0))
        for observation in ("bytes", "features"):
            launch_all(observation)
        launch_benchmarks()
    return found


def launch_all(observation: ObservationKind) -> None:
    """Launch everything that a batch can launch."""
    batch = make_batch("noms", 3, device="cuda", observation=observation, hidden_state=True)
    numbers: Any = GpuArray(device_array(3, np.int64))
    batch.reset()
    batch.reset(batch.over)
    batch.observe()
    batch.observe([1])
    batch._rows.first_illegal(numbers.native)
    batch.check_actions = False
    kinds: list[Any] = [numbers, np.zeros(3, np.int64), GpuArray(device_array(3, np.int32))]
    for actions in kinds:
        batch.step(actions, observe=True)
    batch.random_actions(numbers, numbers)
    gaps: Any = GpuArray(DeviceNDArray((3,), (2,), np.dtype(np.bool_), gpu_data=Memory()))
    batch.reset(gaps)
    batch.next_deal()
    batch.clone(0, [1])
    batch._rows.sample_hidden(0, np.arange(2), 1, 1, False)
    players = [load_player(player, device="cuda") for player in ("random", "greedy", "thumb", "flat_mc:2", "pimc:2")]
    for player in players:
        player.act(batch, numbers, where=batch.over)
    SeatedPlayers(batch, players, np.zeros((3, MAX_SEATS), np.int64), seed=1).act()
    launch_policy(batch, numbers.native)
    launch_search(batch)
    if observation == "features":
        suits = GpuCanonicalSuits(batch)
        suits.rename()
        suits.meant(numbers)


def launch_benchmarks() -> None:
    """Launch what only `benchmarks.cuda` does."""
    Gpu("noms", 3).play(1)
    with patch.object(layout, "real_traces", lambda _variant, _count: (np.zeros((1, 1), np.int16), np.ones(1, np.int64))):
        layout.measure_layouts("noms", 32, 1, 0.0)
    layout.measure_stores(32, 0.0)


def launch_policy(batch: BatchEnv, numbers: Any) -> None:
    """Launch all that a policy launches, but for its network, which is torch's."""
    policy, rows = load_policy("noms"), batch.gpu
    for kind in ("bfloat16", "float32"):
        room = PolicyRows(policy.forward, policy.encoding, 3, kind)
        room.see(rows.native, numbers, 0, 3)
        room.draw(numbers, 0, 3, 1.0, numbers, numbers)
        chances = device_array((3, NUM_ACTIONS), np.float32)
        launch(3, encoding_kernels.clear_chances, chances)
        room.tell(numbers, 0, 3, 1.0, chances)
        room.tell_of(numbers, 0, 3, 1.0, numbers, device_array(3, np.float32))
    launch(3, encoding_kernels.mark_asked, batch.over.native, batch.over.native, numbers, numbers, numbers)  # type: ignore[attr-defined]
    launch(3, encoding_kernels.list_rows, numbers, numbers)
    learner = LearnerRows(policy.encoding, 3, hidden=True)
    learner.see(rows.native, numbers, 0, 3)
    learner.draw(rows.native, numbers, 0, 3, numbers, False, numbers)
    seen = GpuEncoding(policy.encoding, 3)
    seen.encode(rows.seen[0], 3)
    seen.encode_mask(rows.seen[1], 3)
    seen.encode_hidden(rows.seen[2], 3)


def cost(launch: tuple[Any, Any]) -> tuple[int, str]:
    """By which kernels are sorted: those that take long to compile first."""
    name = launch[0].py_func.__name__
    return (SLOWEST.index(name) if name in SLOWEST else len(SLOWEST)), name


def machine_code(name: str, ptx: Path) -> list[str]:
    """What is wrong with a kernel's machine code; prints what it takes."""
    wrong = []
    for architecture in ARCHITECTURES:
        command = [str(PTXAS), f"-arch={architecture}", "-v", "-O3", str(ptx), "-o", str(ptx.with_suffix(".cubin"))]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        said = done.stdout + done.stderr
        if done.returncode != 0:
            wrong.append(f"{name}: ptxas refuses it for {architecture}: {said.strip()}")
            continue
        registers = max(map(int, re.findall(r"Used (\d+) registers", said)))
        spilled = sum(map(int, re.findall(r"(\d+) bytes spill", said)))
        constants = sum(map(int, re.findall(r"(\d+) bytes cmem", said)))
        print(
            f"{name:17} {architecture}  {registers:4} registers {spilled:5} bytes spilled {constants:6} of constants",
            flush=True,
        )
        most = MOST_REGISTERS.get(name, OF_OTHERS)
        if registers > most or spilled > 0 or constants > MOST_CONSTANTS:
            wrong.append(
                f"{name} for {architecture} may have {most} registers, spill nothing, {MOST_CONSTANTS} bytes of constants"
            )
    return wrong


def compiled(place: int) -> list[str]:
    """What is wrong with a kernel, by its place among those that are launched."""
    dispatcher.get_current_device = Device
    kernel, signature = sorted(launched(), key=cost)[place]
    name = kernel.py_func.__name__
    start = perf_counter()
    try:
        with kernel_settings():
            text, _ = cuda.compile_ptx(kernel.py_func, signature, cc=CAPABILITY)
    except Exception as error:  # numba has many kinds, each of many lines
        return [f"{name}: numba-cuda does not compile it: {error}"]
    with TemporaryDirectory() as folder:
        ptx = Path(folder) / f"{name}.ptx"
        ptx.write_text(text, encoding="utf-8")
        wrong = machine_code(name, ptx)
    print(f"{name:17} {len(text):,} bytes of PTX, {perf_counter() - start:.0f} s", flush=True)
    return wrong


def of_tutorial(name: str) -> list[str]:
    """What is wrong with the kernels of a copy of the package that has the changes of a tutorial."""
    with TemporaryDirectory() as folder:
        root = Path(folder)
        wrong = [f"{file} is changed for a GPU" for file in changed_copy(root, name) if file.startswith("noms_env/cuda")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([folder, str(ROOT)])}
        command = [sys.executable, "-m", "tests.cuda.ptx", *OF_TUTORIALS]
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    print(f"with the {name} of the tutorial:\n{done.stdout}", end="", flush=True)
    return wrong if done.returncode == 0 else [*wrong, f"with the {name} of the tutorial: {done.stderr.strip()}"]


def main(names: Sequence[str] = ()) -> int:
    """Compile kernels; 1 if something is wrong."""
    used = Path(noms_env.__file__).resolve().parents[1]
    if names and used != Path.cwd().resolve():
        print(f"the package in {used} is not that of this folder", file=sys.stderr)
        return 1
    launches = sorted(launched(), key=cost)
    there = {kernel.py_func.__name__ for kernel, _ in launches}
    wrong = [f"{name} is launched nowhere" for name in sorted({kernel.py_func.__name__ for kernel in ALL} - there)]
    places = [place for place, (kernel, _) in enumerate(launches) if not names or kernel.py_func.__name__ in names]
    with get_context("spawn").Pool(PROCESSES) as pool:
        for found in pool.imap_unordered(compiled, places):
            wrong += found
    if not names:
        with ThreadPoolExecutor(len(TUTORIALS)) as copies:
            for found in copies.map(of_tutorial, TUTORIALS):
                wrong += found
    print(*wrong, sep="\n", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
