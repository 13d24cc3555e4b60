"""The tables of a batch on a GPU, and the launches over them.

`envs.processor_rows.ProcessorRows` has the same methods for tables in host memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
from numba import cuda

from noms_env.belief.workspace import LAYOUT, MAX_WAYS, PLAN
from noms_env.core.actions import NUM_ACTIONS, brief
from noms_env.core.chance import check_streams
from noms_env.cuda import kernels, streams
from noms_env.cuda.announcing import announced
from noms_env.cuda.arrays import SIMULATED, GpuArray
from noms_env.engine.batch_kernels import WRITE_HIDDEN, WRITE_MASK, WRITE_OBSERVATION
from noms_env.observation.feature_layout import FeatureLayout
from noms_env.observation.layout import HIDDEN_SIZE, OBSERVATION_SIZE, PADDED_MASK_SIZE
from noms_env.variants.table_record import TABLE, new_tables
from noms_env.version import install_command

BLOCK = 4 if SIMULATED else 128
"""Threads in a block."""
MAX_THREADS = 3 * BLOCK if SIMULATED else 1 << 17
"""Maximum of threads that need working memory; each loops over several tables."""
WORDS = TABLE.itemsize // 8
KEPT_VIEWS = 8
"""Size of the cache of other libraries' arrays."""


def check_gpu() -> None:
    """Check that a GPU can be used.

    Raises:
        ModuleNotFoundError: numba-cuda is not installed; the message says how to install it.
        RuntimeError: there is no GPU or no driver, or numba-cuda does not work with the installed numpy.
    """
    if SIMULATED:
        return
    if find_spec("numba_cuda") is None:
        needs = "device='cuda' needs numba-cuda, which is not installed"
        raise ModuleNotFoundError(f"{needs}: {install_command('cuda')}, or cuda12 for a driver of CUDA 12", name="numba_cuda")
    try:
        import_module("numba.cuda.cudaimpl")
    except (AttributeError, ImportError) as error:
        raise RuntimeError(
            f"numba-cuda does not work with numpy {np.__version__} ({error}): {install_command('cuda')}"
        ) from None
    if not cuda.is_available():
        raise RuntimeError("device='cuda' needs an NVIDIA GPU and its driver, and none was found: device='cpu' needs none")


def launch(threads: int, kernel: Any, *arguments: Any) -> None:
    """Launch a kernel with at least `threads` threads, on the common stream."""
    if threads > 0:
        with announced(kernel, *arguments):
            streams.configure(kernel, (threads + BLOCK - 1) // BLOCK, BLOCK)(*arguments)


def zeros(rows: int, words: int) -> Any:
    """Return an array of zeros on the GPU, int64, shape (rows, words)."""
    made = cuda.device_array((rows, words), np.int64)
    launch(min(rows * words, MAX_THREADS), kernels.clear, made)
    return made


def copy_threads(rows: int) -> int:
    """Return the number of threads for a copy of table rows."""
    return min(rows * WORDS, MAX_THREADS)


class GpuRows:
    """Arrays with one row per table; `BatchEnv` documents the public ones.

    `native` is the numba array of the tables, structured, shape (n,), and `words` the same memory, int64, shape (n, WORDS).
    `seen` are the words of observations, masks and hidden states, int64, shape (n, bytes / 8); without `hidden_state` the last
    has only one row.

    Only the methods that copy to the host synchronize with the GPU: `first_illegal`, `field`, `save`, `to_numpy`, and
    `random_actions` with a check.
    """

    def __init__(self, models: np.recarray, ends: Sequence[int], layout: FeatureLayout | None, hidden_state: bool) -> None:
        """Make the tables: group i fills the rows up to `ends[i]` with copies of `models[i]`; `layout` is None for bytes.

        Raises:
            ModuleNotFoundError: numba-cuda is not installed.
            RuntimeError: there is no GPU.
        """
        check_gpu()
        rows = self._rows = ends[-1]
        self.native = cuda.device_array(rows, TABLE)
        self.words = self.native.view(np.int64).reshape(rows, WORDS)
        number = TABLE.fields["table"][1] // 8  # type: ignore[index]
        group_ends = streams.to_device(np.array(ends, np.int64))
        self.launch(copy_threads(rows), kernels.fill_groups, self.words, _words(models), group_ends, number)
        observation, mask = zeros(rows, OBSERVATION_SIZE // 8), zeros(rows, PADDED_MASK_SIZE // 8)
        hidden = zeros(rows if hidden_state else 1, HIDDEN_SIZE // 8)
        self.seen = (observation, mask, hidden)
        self._features: tuple[Any, ...] = ()
        self.observation = GpuArray(observation, np.uint8)
        if layout is not None:
            features = zeros(rows, layout.words)
            self._features = (features, *(streams.to_device(part) for part in layout.parts))
            self.observation = GpuArray(features, np.uint8, layout.n_features)
        self._wanted = WRITE_OBSERVATION + WRITE_MASK + (WRITE_HIDDEN if hidden_state else 0)
        self.tables = GpuArray(self.words)
        self.mask = GpuArray(mask, np.int8, NUM_ACTIONS)
        self.hidden_state = GpuArray(hidden, np.uint8) if hidden_state else None
        self.seat = GpuArray(streams.to_device(np.zeros(rows, np.int16)))
        self.over = GpuArray(streams.to_device(np.ones(rows, np.bool_)))
        self.scored = GpuArray(streams.to_device(np.zeros(rows, np.bool_)))
        self.points = GpuArray(streams.to_device(np.zeros((rows, int(max(models.n_seats))), np.float32)))
        self._results = tuple(array.native for array in (self.points, self.scored, self.seat, self.over))
        self._actions = streams.to_device(np.zeros(rows, np.int64))
        self._flags = streams.to_device(np.zeros(rows, np.bool_))
        self._first = streams.to_device(np.array([rows]))
        self._known: dict[Any, Any] = {}

    launch = staticmethod(launch)

    def holds(self, array: Any) -> bool:
        """Return whether an array is on a GPU."""
        return isinstance(array, GpuArray) or hasattr(array, "__cuda_array_interface__")

    def actions(self, actions: Any) -> Any:
        """Return actions as int64, shape (n,), on the GPU; copy them there if necessary.

        Raises:
            ValueError: `actions` are not n integers.
        """
        numbers = self._native(actions) if self.holds(actions) else np.asarray(actions)
        if numbers.shape != (self._rows,) or numbers.dtype.kind not in "iu":
            raise ValueError(f"actions must be {self._rows} integers, not {numbers.dtype} of shape {numbers.shape}")
        if isinstance(numbers, np.ndarray):
            numbers = streams.to_device(numbers.astype(np.int64))
        if numbers.dtype == np.int64 and numbers.strides == (8,):
            return numbers
        self.launch(self._rows, kernels.widen, numbers, self._actions)
        return self._actions

    def _native(self, array: Any) -> Any:
        """Return the numba view of an array on a GPU. Views are cached, since none can be made during a CUDA graph capture."""
        if isinstance(array, GpuArray):
            return array.native
        interface = array.__cuda_array_interface__
        streams.wait_for(interface.get("stream"))
        key = tuple(interface.get(name) for name in ("data", "shape", "strides", "typestr"))
        if key not in self._known:
            while len(self._known) >= KEPT_VIEWS:
                del self._known[next(iter(self._known))]
            self._known[key] = cuda.as_cuda_array(array, sync=False)
        return self._known[key]

    def observe(self, rows: np.ndarray | None) -> None:
        """Write the observations of some rows; None for all."""
        if rows is not None and len(rows) == 0:
            return
        kernel = kernels.observe_features if self._features else kernels.observe
        chosen = (self._actions, -1) if rows is None else (streams.to_device(rows), len(rows))
        threads = self._rows if rows is None else len(rows)
        self.launch(threads, kernel, self.native, *chosen, *self.seen, self._wanted, *self._features)

    def first_illegal(self, actions: Any) -> int:
        """Return the first row with an illegal action; -1 if there is none. Synchronizes with the GPU."""
        self.launch(self._rows, kernels.find_refused, self.native, actions, self._first)
        row = int(streams.to_host(self._first)[0])
        if row == self._rows:
            return -1
        self._first = streams.to_device(np.array([self._rows]))
        return row

    def step(self, actions: Any, skip_forced: bool, pause: bool, observe: bool) -> None:
        """Take an action in each row (`batch_kernels.step_rows`)."""
        kernel = kernels.step_features if self._features else kernels.step
        wanted = self._wanted if observe else 0
        rest = (*self._results, *self.seen, wanted, *self._features)
        self.launch(self._rows, kernel, self.native, actions, skip_forced, pause, *rest)

    def next_deal(self) -> None:
        """Deal the next hand in paused rows."""
        self.launch(self._rows, kernels.next_deal, self.native, *self._results)

    def start(self, rows: np.ndarray, dealers: np.ndarray, pause: bool) -> None:
        """Start a match in some rows, by the `seed`, `table` and `match` in their records."""
        if len(rows) == 0:
            return
        numbers = (streams.to_device(rows), streams.to_device(dealers))
        self.launch(len(rows), kernels.start_some, self.native, *numbers, pause, *self._results)

    def start_next(self, rows: Any, pause: bool) -> None:
        """Start the next match in the rows selected by an array on the GPU, bool, shape (n,).

        Raises:
            ValueError: `rows` has another dtype or shape.
        """
        where = self.flags("rows", rows)
        self.launch(self._rows, kernels.start_next_where, self.native, where, pause, *self._results)

    def flags(self, name: str, array: Any) -> Any:
        """Return the numba view of a bool array on the GPU, shape (n,); a copy if it is not contiguous.

        Raises:
            ValueError: the array is on the CPU, or has another dtype or shape.
        """
        if not self.holds(array):
            raise ValueError(f"{name} must be {self._rows} booleans on the GPU, not {brief(array)}")
        flags = self._native(array)
        if flags.shape != (self._rows,) or flags.dtype != np.bool_:
            raise ValueError(f"{name} on the GPU must be {self._rows} booleans, not {flags.dtype} of shape {flags.shape}")
        if flags.strides == (1,):
            return flags
        self.launch(self._rows, kernels.widen, flags, self._flags)  # kernels are compiled for contiguous arrays
        return self._flags

    def random_actions(self, states: Any, actions: Any, check: bool) -> None:
        """Write a random legal action for each row; arguments and errors as in `BatchEnv.random_actions`.

        `check` also checks the values of `states`, which synchronizes with the GPU.
        """
        chosen, numbers = self.checked_array("actions", actions), self.checked_array("streams", states)
        if check:
            check_streams(streams.to_host(numbers))
        self.launch(self._rows, kernels.choose_randomly, self.native, numbers, chosen)

    def checked_array(self, name: str, array: Any) -> Any:
        """Return the numba view of an array on the GPU that is read or written in place, int64, shape (n,).

        Raises:
            ValueError: the array is on the CPU, is not contiguous, or has another dtype or shape.
        """
        native = self._native(array) if self.holds(array) else None
        if native is None or native.dtype != np.int64 or native.shape != (self._rows,) or native.strides != (8,):
            wanted = f"an array of int64 of shape ({self._rows},) without gaps on the GPU"
            raise ValueError(f"{name} must be {wanted}, not {brief(array)}")
        return native

    def to_numpy(self, array: Any) -> np.ndarray:
        """Return a copy in host memory. Synchronizes with the GPU."""
        return streams.to_host(array)

    def field(self, name: str, rows: np.ndarray) -> np.ndarray:
        """Return a field of some tables. Synchronizes with the GPU."""
        dtype, start = TABLE.fields[name][:2]  # type: ignore[index]
        if len(rows) == 0:
            return np.zeros(0, dtype)
        out = cuda.device_array(len(rows), np.int64)
        self.launch(len(rows), kernels.get_word, self.words, streams.to_device(rows), start // 8, out)
        words = streams.to_host(out).reshape(-1, 1).view(np.uint8)
        return np.ascontiguousarray(words[:, start % 8 : start % 8 + dtype.itemsize]).view(dtype)[:, 0]

    def set_field(self, name: str, rows: np.ndarray, values: np.ndarray) -> None:
        """Write a field of some tables, int64."""
        if len(rows) == 0:
            return
        place = TABLE.fields[name][1] // 8  # type: ignore[index]
        self.launch(len(rows), kernels.set_word, self.words, streams.to_device(rows), place, streams.to_device(values))

    def save(self, rows: np.ndarray) -> np.recarray:
        """Return copies of some tables in host memory. Synchronizes with the GPU."""
        saved = new_tables(len(rows))
        if len(rows) > 0:
            out = cuda.device_array((len(rows), WORDS), np.int64)
            self._copy(self.words, rows, out, np.arange(len(rows)))
            saved.view(np.ndarray).view(np.int64).reshape(len(rows), WORDS)[:] = streams.to_host(out)
        return saved

    def put(self, rows: np.ndarray, records: np.ndarray, pause: bool) -> None:
        """Write records into rows: one per row, or one for all."""
        if len(rows) > 0:
            self._copy(_words(records), np.arange(len(records)), self.words, rows)
            self._settle(rows, pause)

    def clone(self, source: int, rows: np.ndarray, pause: bool) -> None:
        """Copy a row into others."""
        if len(rows) > 0:
            self._copy(self.words, np.array([source]), self.words, rows)
            self._settle(rows, pause)

    def sample_hidden(self, source: int, rows: np.ndarray, seat: int, seed: int, pause: bool) -> None:
        """Fill at least one row with copies of a table, with the hidden cards dealt anew."""
        self._copy(self.words, np.array([source]), self.words, rows)
        numbers = streams.to_device(rows)
        plans, ways = cuda.device_array(1, PLAN), cuda.device_array(MAX_WAYS, np.float64)
        layouts = cuda.device_array(min(len(rows), MAX_THREADS), LAYOUT)
        self.launch(1, kernels.plan_hidden, self.native, numbers, seat, plans, layouts, ways)
        self.launch(len(layouts), kernels.deal_hidden_rows, self.native, numbers, seat, seed, plans, layouts, ways)
        self._settle(rows, pause)

    def _copy(self, source: Any, sources: np.ndarray, target: Any, targets: np.ndarray) -> None:
        numbers = (streams.to_device(sources), streams.to_device(targets))
        self.launch(copy_threads(len(targets)), kernels.copy_rows, source, numbers[0], target, numbers[1])

    def _settle(self, rows: np.ndarray, pause: bool) -> None:
        """Write `scored`, `points`, `seat` and `over` after rows were overwritten."""
        self.launch(len(rows), kernels.settle_some, self.native, streams.to_device(rows), pause, *self._results)


class Batch(Protocol):
    """The attributes of a `BatchEnv` that this package uses."""

    @property
    def groups(self) -> Sequence[Any]:
        """The `rows` and `rules` of each group."""
        ...

    @property
    def gpu(self) -> GpuRows:
        """The tables on the GPU; raises ValueError if they are on the CPU."""
        ...

    @property
    def feature_layout(self) -> FeatureLayout | None:
        """Layout of the features; None with bytes."""
        ...

    def __len__(self) -> int: ...


def _words(records: np.ndarray) -> Any:
    """Copy records to the GPU as words, int64, shape (n, WORDS)."""
    return streams.to_device(np.ascontiguousarray(records).view(np.ndarray).view(np.int64).reshape(-1, WORDS))
