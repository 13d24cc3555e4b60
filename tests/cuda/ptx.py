"""`make ptx`: compile the kernels of `noms_env.cuda` to PTX and to machine code on a machine without a GPU.

numba-cuda compiles each kernel for the argument types with which a batch launches it, and the `ptxas` of NVIDIA's wheels
compiles the PTX for each architecture. The program prints registers per thread, spilled bytes and bytes of constants. If a
limit is exceeded, or a kernel fails to compile, the exit status is 1. It then compiles kernels in copies of the package with
the game and the option of the tutorials. With names of kernels, it compiles only these, of the package in this folder.
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
from noms_env.belief.workspace import LAYOUT, MAX_WAYS, PLAN
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
from noms_env.players.registry import FIRST
from noms_env.players.rule_based.heuristics import new_workspaces
from noms_env.policy.player import load_policy
from noms_env.search.endgame.moves import FRAME
from noms_env.search.endgame.position import position_type
from noms_env.search.rollouts import ENDING_COUNTS, ENDING_FRAMES, ENDING_WORDS
from noms_env.search.seq_halving import ROOT_STATS
from noms_env.variants.table_record import TABLE
from tests.tutorials import ROOT, changed_copy

ARCHITECTURES = ("sm_80", "sm_90")
CAPABILITY = (8, 0)
"""Target of the PTX: the lowest architecture."""
MAX_REGISTERS = {
    **{"step_features": 96, "observe_features": 96, "play_randomly": 112, "ask_thumb": 144},
    **{"find_candidates": 144, "play_worlds_out": 160, "play_to_endings": 192, "solve_worlds": 104},
    **{"draw_actions": 96, "write_chances": 104, "write_chances_of": 104},
    **{"advance_replays": 168, "advance_rollouts": 152, "value_lanes": 96},
}
OTHER_REGISTERS = 72
MAX_CONSTANTS = 8192
"""Bytes, arguments of kernels included; an architecture allows 65,536. Tables of constants are in global memory."""
MODULES = (
    *(kernels, player_kernels, world_kernels, flat_mc_kernels),
    *(pimc_kernels, encoding_kernels, search_kernels, benchmark_kernels),
)
ALL = tuple(kernel for module in MODULES for kernel in module.ALL)
PTXAS = Path(nvidia.cuda_nvcc.__path__[0]) / "bin" / "ptxas"
PROCESSES = 2
SLOWEST = (
    *("advance_replays", "advance_rollouts", "play_to_endings", "solve_worlds", "play_worlds_out", "find_candidates"),
    *("ask_thumb", "step_features", "step", "play_randomly", "start_some", "start_next_where", "observe_features", "observe"),
)
TUTORIALS = ("variant", "option")
TUTORIAL_KERNELS = ("step", "observe")
"""The kernels of a batch that a game or an option changes."""
Signatures = set[tuple[Any, tuple[Any, ...]]]


class Device(NamedTuple):
    """Stands in for a GPU: the functions of kernels compile without a driver."""

    compute_capability: tuple[int, int] = CAPABILITY


class Memory:
    """Stands in for the memory of a GPU."""

    device_ctypes_pointer = ctypes.c_void_p(0)


def device_array(shape: Any, dtype: Any) -> DeviceNDArray:
    """Make an array of numba-cuda without memory."""
    host = np.empty(shape, dtype)
    array = DeviceNDArray(host.shape, host.strides, host.dtype, gpu_data=Memory())
    array.copy_to_device = lambda *_args, **_named: None
    return array


def row_of(array: DeviceNDArray, _place: int) -> DeviceNDArray:
    return device_array(array.shape[1:], array.dtype)


class Launches:
    """Stands in for a kernel; adds the argument types of each launch to `signatures`."""

    def __init__(self, kernel: Any, signatures: Signatures) -> None:
        self.kernel, self.signatures = kernel, signatures

    def __getitem__(self, _config: object) -> Any:
        return lambda *arguments: self.signatures.add((self.kernel, tuple(map(self.kernel.typeof_pyval, arguments))))


def find_signatures() -> Signatures:
    """Return every kernel with the argument types of its launches; nothing runs, since there is no GPU."""
    signatures: Signatures = set()
    with ExitStack() as patches:
        for module in MODULES:
            for kernel in module.ALL:
                patches.enter_context(patch.object(module, kernel.py_func.__name__, Launches(kernel, signatures)))
        patches.enter_context(patch.object(cuda, "device_array", device_array))
        patches.enter_context(patch.object(DeviceNDArray, "__getitem__", row_of))
        patches.enter_context(patch.object(cuda, "is_available", lambda: True))
        patches.enter_context(patch.object(streams, "to_host", lambda array: np.zeros(array.shape, array.dtype)))
        patches.enter_context(patch.object(layout, "seconds_of", lambda work, _seconds: work() or 1.0))
        for observation in ("bytes", "features"):
            launch_all(observation)
        launch_benchmarks()
    return signatures


def launch_all(observation: ObservationKind) -> None:
    """Launch every kernel of a batch and of its players."""
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
    """Launch the kernels that only `benchmarks.cuda` uses."""
    Gpu("noms", 3).play(1)
    with patch.object(layout, "real_traces", lambda _variant, _count: (np.zeros((1, 1), np.int16), np.ones(1, np.int64))):
        layout.measure_layouts("noms", 32, 1, 0.0)
    layout.measure_stores(32, 0.0)


def launch_policy(batch: BatchEnv, numbers: Any) -> None:
    """Launch every kernel of a policy; its network is run by torch."""
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
    encoder = GpuEncoding(policy.encoding, 3)
    encoder.encode(rows.seen[0], 3)
    encoder.encode_mask(rows.seen[1], 3)
    encoder.encode_hidden(rows.seen[2], 3)


def launch_search(batch: BatchEnv) -> None:
    """Launch every kernel of a search on a policy, with arrays of the same types, since the search itself needs torch."""
    tables, over = batch.gpu.native, batch.gpu.over.native
    numbers, flags = cuda.device_array(3, np.int64), cuda.device_array(2, np.bool_)
    lanes, pool = (cuda.device_array(3, TABLE) for _ in range(2))
    tasks, turns = (cuda.device_array((len(names), 3), np.int64) for names in (search_kernels.TASK, search_kernels.TURN))
    stats, chances = cuda.device_array(3, ROOT_STATS), cuda.device_array((3, NUM_ACTIONS), np.float32)
    lane_values, weights = cuda.device_array(3, np.float32), cuda.device_array(3, np.float64)
    logs, styles = cuda.device_array((2, MAX_SEATS, 3), np.float64), cuda.device_array((3, MAX_SEATS), np.int8)
    sampling = (cuda.device_array(3, PLAN), cuda.device_array(3, LAYOUT), cuda.device_array((3, MAX_WAYS), np.float64))
    workspaces = cuda.device_array(3, new_workspaces(FIRST).dtype)
    outputs = (chances, lane_values, chances, chances, cuda.device_array((3, NUM_ACTIONS), np.int32))
    solving = (cuda.device_array(3, position_type(ENDING_COUNTS, ENDING_WORDS)), cuda.device_array((3, ENDING_FRAMES), FRAME))
    launches: dict[Any, tuple[Any, ...]] = {
        search_kernels.mark_choices: (tables, over, True, over, True, numbers, numbers, numbers),
        search_kernels.list_marked: (3, numbers, numbers, numbers),
        search_kernels.list_candidates: (tables, numbers, 0, 3, chances, 24, stats, numbers),
        search_kernels.list_slots: (tasks, 3, numbers, numbers),
        search_kernels.plan_pools: (pool, tasks, 0, 3, *sampling),
        search_kernels.deal_pools: (pool, tasks, 0, 0, 3, numbers, 0, *sampling),
        search_kernels.open_replays: (3, lanes, numbers, logs, numbers, numbers, numbers, numbers),
        search_kernels.advance_replays: (
            *(3, 3, numbers, numbers, lanes, numbers, pool, logs, 0, 1),
            *(workspaces, numbers, lane_values, numbers),
        ),
        search_kernels.take_active: (3, numbers, numbers, numbers, numbers, numbers, numbers, numbers, numbers, True),
        search_kernels.count_moment: (numbers,),
        search_kernels.weigh_pools: (tasks, logs, weights, numbers),
        search_kernels.add_weights: (tasks, weights),
        search_kernels.draw_numbers: (tasks, 3, numbers, numbers, numbers, styles),
        search_kernels.pick_worlds: (tasks, 3, numbers, weights, numbers),
        search_kernels.draw_styles: (tasks, 3, numbers, pool, logs, numbers, styles),
        search_kernels.open_rollouts: (turns, 3, stats, numbers, numbers, numbers, numbers, numbers, numbers, numbers),
        search_kernels.advance_rollouts: (3, 3, numbers, numbers, lanes, numbers, styles, flags, workspaces, numbers, numbers),
        search_kernels.value_lanes: (3, lanes, numbers, numbers, pool, *solving, numbers),
        search_kernels.add_round: (turns, stats, numbers, 24, 0.25),
        search_kernels.choose_actions: (numbers, 0, 3, stats, numbers, 0.25, 1.0, numbers),
        search_kernels.clear_output: (tables, over, True, *outputs),
        search_kernels.write_output: (numbers, 0, 3, stats, *outputs),
    }
    for kernel, arguments in launches.items():
        launch(3, kernel, *arguments)


def cost(launch: tuple[Any, Any]) -> tuple[int, str]:
    """Sort key: the kernels that take longest to compile come first."""
    name = launch[0].py_func.__name__
    return (SLOWEST.index(name) if name in SLOWEST else len(SLOWEST)), name


def check_machine_code(name: str, ptx: Path) -> list[str]:
    """Compile PTX to machine code, and print its size; return what is wrong."""
    failures = []
    for architecture in ARCHITECTURES:
        command = [str(PTXAS), f"-arch={architecture}", "-v", "-O3", str(ptx), "-o", str(ptx.with_suffix(".cubin"))]
        process = subprocess.run(command, capture_output=True, text=True, check=False)
        output = process.stdout + process.stderr
        if process.returncode != 0:
            failures.append(f"{name}: ptxas refuses it for {architecture}: {output.strip()}")
            continue
        registers = max(map(int, re.findall(r"Used (\d+) registers", output)))
        spilled = sum(map(int, re.findall(r"(\d+) bytes spill", output)))
        constants = sum(map(int, re.findall(r"(\d+) bytes cmem", output)))
        sizes = f"{registers:4} registers {spilled:5} bytes spilled {constants:6} of constants"
        print(f"{name:17} {architecture}  {sizes}", flush=True)
        most = MAX_REGISTERS.get(name, OTHER_REGISTERS)
        if registers > most or spilled > 0 or constants > MAX_CONSTANTS:
            limits = f"{most} registers, spill nothing, {MAX_CONSTANTS} bytes of constants"
            failures.append(f"{name} for {architecture} may have {limits}")
    return failures


def compile_kernel(place: int) -> list[str]:
    """Compile a kernel, by its place among the sorted launches; return what is wrong."""
    dispatcher.get_current_device = Device
    kernel, signature = sorted(find_signatures(), key=cost)[place]
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
        failures = check_machine_code(name, ptx)
    print(f"{name:17} {len(text):,} bytes of PTX, {perf_counter() - start:.0f} s", flush=True)
    return failures


def compile_tutorial(name: str) -> list[str]:
    """Compile kernels in a copy of the package with the changes of a tutorial; return what is wrong."""
    with TemporaryDirectory() as folder:
        root = Path(folder)
        failures = [f"{file} is changed for a GPU" for file in changed_copy(root, name) if file.startswith("noms_env/cuda")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([folder, str(ROOT)])}
        command = [sys.executable, "-m", "tests.cuda.ptx", *TUTORIAL_KERNELS]
        process = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    print(f"with the {name} of the tutorial:\n{process.stdout}", end="", flush=True)
    return failures if process.returncode == 0 else [*failures, f"with the {name} of the tutorial: {process.stderr.strip()}"]


def main(names: Sequence[str] = ()) -> int:
    """Compile kernels; return 1 if something is wrong."""
    used = Path(noms_env.__file__).resolve().parents[1]
    if names and used != Path.cwd().resolve():
        print(f"the package in {used} is not that of this folder", file=sys.stderr)
        return 1
    launches = sorted(find_signatures(), key=cost)
    launched = {kernel.py_func.__name__ for kernel, _ in launches}
    failures = [f"{name} is launched nowhere" for name in sorted({kernel.py_func.__name__ for kernel in ALL} - launched)]
    places = [place for place, (kernel, _) in enumerate(launches) if not names or kernel.py_func.__name__ in names]
    with get_context("spawn").Pool(PROCESSES) as pool:
        for failure in pool.imap_unordered(compile_kernel, places):
            failures += failure
    if not names:
        with ThreadPoolExecutor(len(TUTORIALS)) as copies:
            for failure in copies.map(compile_tutorial, TUTORIALS):
                failures += failure
    print(*failures, sep="\n", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
