"""Trained policies on a GPU, with torch.

player = load_policy("noms")                       # or load_player("noms@0", device="cuda")
batch.step(player.act(batch, seeds))
chances = player.probabilities(batch)              # float32, shape (n, NUM_ACTIONS)
player.draw(tables, count, seeds, actions)         # for tables outside a batch
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numba import cuda

from noms_env.core.actions import NUM_ACTIONS, brief
from noms_env.cuda.arrays import SIMULATED, GpuArray, to_gpu
from noms_env.cuda.players import encoding_kernels as kernels
from noms_env.cuda.players.encoding import PolicyRows
from noms_env.cuda.players.player import GpuPlayer
from noms_env.cuda.rows import Batch, GpuRows, launch
from noms_env.players.registry import check_rules
from noms_env.policy.encoding import Encoding
from noms_env.policy.file import kind_of, read_policy
from noms_env.policy.inference import Layers, behind_norm, folded_layers, layer_of_head
from noms_env.policy.player import PolicyPlayer, policy_file_of
from noms_env.policy.tokens import Tokens
from noms_env.variants import Rules
from noms_env.version import install_command

try:
    import torch
    from torch import Tensor
    from torch.nn import functional
    from torch.utils.dlpack import from_dlpack
except ModuleNotFoundError:
    needs = "policies on a GPU need torch, which is not installed"
    raise ModuleNotFoundError(f"{needs}: {install_command('train')}", name="torch") from None

from noms_env.policy.attention_torch import Attention  # it needs torch, too

TOGETHER = 3 if SIMULATED else 1 << 16
"""Maximum of rows in one forward pass; each needs about 10 kB of working memory."""
NUMBERS = {"bfloat16": torch.bfloat16, "float32": torch.float32}
KEPT_GRAPHS = 16
STEPS = 8
"""Number of sizes to which `RowList.count` rounds the rows of a batch."""


class GpuPolicy(GpuPlayer):
    """A trained policy on a GPU; see `PolicyPlayer`.

    It draws with the same random numbers as on the CPU, but its logits have the precision of `numbers`. So it may choose
    another action if two are nearly equally probable or a draw falls on their boundary. In 90,000 decisions of published
    policies, computed on a CPU, bfloat16 probabilities differed from `PolicyPlayer`'s by at most 0.035 (0.0013 on average), and
    99.7 % of the actions were equal. With float32 they differed by at most 0.000004, and all actions were equal.

    The tables must have rules that the policy was trained for. A batch is checked on its first use. With `where`, a mixed batch
    may also have rows with other rules; such a row in `where` gets `NOBODY`.

    Attributes:
        player: the same policy on the CPU.
        temperature: divisor of the logits; 0 takes the most probable action, the lowest of equals.
        numbers: precision of the network, `bfloat16` or `float32`.
        captured: whether the launches from tables to logits are captured as a CUDA graph and replayed.
        waits: whether `act` with `where` waits for the number of rows, so that the network runs for few more than these.
    """

    def __init__(
        self, player: PolicyPlayer, tensors: Mapping[str, np.ndarray], numbers: str = "bfloat16", captured: bool = False
    ) -> None:
        """Copy a policy to the GPU.

        Args:
            player: the policy on the CPU.
            tensors: its parameters, from `file.read_policy`.
            numbers: see the class.
            captured: see the class. One launch replaces thirty, which is faster for few rows; the capture synchronizes once per
                batch.

        Raises:
            ValueError: `numbers` is not allowed.
            ModuleNotFoundError: numba-cuda is not installed.
            RuntimeError: there is no GPU.
        """
        if numbers not in NUMBERS:
            raise ValueError(f"numbers must be {' or '.join(NUMBERS)}, not {brief(numbers)}")
        super().__init__()
        self.player, self.numbers, self.captured, self.temperature = player, numbers, captured, player.temperature
        self.waits, self.draws = False, self.temperature > 0
        exact = {name: np.asarray(tensor, np.float64) for name, tensor in tensors.items()}
        self._network: Callable[[PolicyRows, int], None]
        if kind_of(player.info.network) == "attention":
            self._network = AttentionNetwork(player.encoding, exact, player.info.network["heads"], NUMBERS[numbers])
        else:
            self._network = Network(folded_layers(player.encoding, exact), NUMBERS[numbers])
        self._room: PolicyRows | None = None
        self._fits: WeakKeyDictionary[GpuRows, Any] = WeakKeyDictionary()
        self._lists: dict[int, RowList] = {}
        self._chances: dict[int, GpuArray] = {}
        self._graphs: dict[Any, tuple[Any, ...]] = {}

    def __repr__(self) -> str:
        return f"<GpuPolicy: {self.player!r}; numbers={self.numbers}>"

    @property
    def rule_sets(self) -> tuple[Rules, ...]:
        """The rules that it can play."""
        return self.player.rule_sets

    def sit(self, batch: Batch, some: bool) -> None:
        if batch.gpu not in self._fits:
            fits = np.zeros(len(batch), np.bool_)
            for group in batch.groups:
                fits[group.rows] = group.rules in self.rule_sets
            self._fits[batch.gpu] = (None if fits.all() else to_gpu(fits).native, bool(fits.any()))
        unlike, any_fits = self._fits[batch.gpu]
        if unlike is not None and not (some and any_fits):
            for group in batch.groups:
                check_rules("this policy", self.rule_sets, group.rules)

    def write(self, rows: GpuRows, where: Any, some: bool, seeds: Any, actions: Any) -> None:
        numbers = self._asked(rows, where, actions) if some else None
        count = self._lists[len(actions)].count() if some and self.waits else len(actions)
        self.draw(rows.native, count, seeds, actions, rows=numbers)

    def probabilities(self, batch: Batch, *, temperature: float | None = None) -> GpuArray:
        """Return the probabilities of all actions in each row, without a synchronization.

        Args:
            batch: see `act`.
            temperature: see `PolicyPlayer.act`; None for the player's own.

        Returns:
            float32, shape (n, NUM_ACTIONS): 0 for illegal actions. The next call overwrites it.

        Raises:
            ValueError: the batch is not on a GPU, or has rules that the policy was not trained for.
        """
        n = len(batch)
        self.sit(batch, some=False)
        if n not in self._chances:
            self._chances[n] = GpuArray(cuda.device_array((n, NUM_ACTIONS), np.float32))
        self.tell(batch.gpu.native, n, self._chances[n].native, temperature=temperature)
        return self._chances[n]

    def draw(
        self, tables: Any, count: int, seeds: Any, actions: Any, *, rows: Any = None, temperature: float | None = None
    ) -> None:
        """Write actions for any tables on the GPU, without checks and without a synchronization.

        All arrays are numba arrays on the GPU.

        Args:
            tables: `table_record.TABLE`, shape (m,), with rules that the policy was trained for.
            count: number of rows in the forward pass.
            seeds: int64, shape (m,), 0 to 2**63 - 1; ignored with temperature 0, and may be None then.
            actions: int64, shape (m,): output for these tables; `NOBODY` if no seat is to act.
            rows: int64, shape (at least count,): the numbers of the tables, below 0 for none; None for the first `count`.
            temperature: see `PolicyPlayer.act`; None for the player's own.
        """
        heat = self.temperature if temperature is None else temperature
        for room, first, part in self._logits(tables, count, rows):
            room.draw(rows, first, part, heat, actions if seeds is None else seeds, actions)

    def tell(self, tables: Any, count: int, chances: Any, *, rows: Any = None, temperature: float | None = None) -> None:
        """Write action probabilities, float32, shape (m, NUM_ACTIONS), for any tables on the GPU; see `draw`."""
        heat = self.temperature if temperature is None else temperature
        launch(len(tables), kernels.clear_chances, chances)
        for room, first, part in self._logits(tables, count, rows):
            room.tell(rows, first, part, heat, chances)

    def tell_of(
        self, tables: Any, count: int, actions: Any, chances: Any, *, rows: Any = None, temperature: float | None = None
    ) -> None:
        """Write the probability of one action, int64, shape (m,), of each table: `chances`, float32, shape (m,); see `draw`."""
        heat = self.temperature if temperature is None else temperature
        for room, first, part in self._logits(tables, count, rows):
            room.tell_of(rows, first, part, heat, actions, chances)

    def room(self, count: int) -> PolicyRows:
        """Return working memory for `count` rows (at most `TOGETHER`); reallocate it if it is too small."""
        if self._room is None or self._room.capacity < min(count, TOGETHER):
            self._graphs.clear()
            self._room = PolicyRows(self.player.forward, self.player.encoding, min(count, TOGETHER), self.numbers)
        return self._room

    def fits(self, rows: GpuRows) -> Any:
        """Return the rows with rules that it can play, of a batch passed to `sit`: bool, (n,), on the GPU; None for all."""
        return self._fits[rows][0]

    def _logits(self, tables: Any, count: int, rows: Any) -> Iterator[tuple[PolicyRows, int, int]]:
        """Run the network on some tables, at most `TOGETHER` at a time; yield working memory, first row and count."""
        room = self.room(count)
        for first in range(0, count, TOGETHER):
            part = min(TOGETHER, count - first)
            if self.captured and can_capture():
                self._replay(room, tables, rows, first, part)
            else:
                self._look(room, tables, rows, first, part)
            yield room, first, part

    def _look(self, room: PolicyRows, tables: Any, rows: Any, first: int, count: int) -> None:
        room.see(tables, rows, first, count)
        self._network(room, count)

    def _replay(self, room: PolicyRows, tables: Any, rows: Any, first: int, count: int) -> None:
        """Call `_look` as a CUDA graph, captured on first use."""
        key = (id(tables), id(rows), first, count)
        if key not in self._graphs:
            while len(self._graphs) >= KEPT_GRAPHS:
                del self._graphs[next(iter(self._graphs))]
            graph = captured(lambda: self._look(room, tables, rows, first, count))
            self._graphs[key] = (graph, tables, rows)  # references keep the ids in the key unique
        self._graphs[key][0].replay()

    def _asked(self, rows: GpuRows, where: Any, actions: Any) -> Any:
        """Return the numbers of the rows of `where` with rules that it can play, in order, then -1; int64, shape (n,)."""
        n, fits = len(actions), self.fits(rows)
        if n not in self._lists:
            self._lists[n] = RowList(n)
        return self._lists[n].of(where, where if fits is None else fits, actions)


class RowList:
    """Working memory for the numbers of selected rows."""

    def __init__(self, rows: int) -> None:
        self.places, self.rows = (to_gpu(np.zeros(rows, np.int64)) for _ in range(2))
        self.counted = from_dlpack(self.places)

    def of(self, where: Any, fits: Any, actions: Any) -> Any:
        places, rows = self.places.native, self.rows.native
        launch(len(actions), kernels.mark_asked, where, fits, places, rows, actions)
        self.counted.cumsum_(0)
        launch(len(actions), kernels.list_rows, places, rows)
        return rows

    def count(self) -> int:
        """Return the number of rows, rounded up to one of `STEPS` sizes. Synchronizes with the GPU."""
        rows, step = int(self.counted[-1]), -(-len(self.counted) // STEPS)
        return min(-(-rows // step) * step, len(self.counted))


class Network:
    """The layers of a policy in torch, from `PolicyRows.inputs` to `PolicyRows.logits`."""

    def __init__(self, layers: Layers, dtype: torch.dtype) -> None:
        """Copy the layers to the GPU as `dtype`."""

        def on_device(array: np.ndarray) -> Tensor:
            return torch.from_numpy(array).to(device=device(), dtype=dtype)

        self.dtype = dtype
        self.first, self.first_bias, self.head = (on_device(part) for part in (layers.first, layers.first_bias, layers.head))
        self.blocks = [(on_device(weight), on_device(bias)) for weight, bias in layers.blocks]
        self._views: tuple[PolicyRows | None, Tensor, Tensor] = (None, self.head, self.head)

    @torch.inference_mode()
    def __call__(self, room: PolicyRows, count: int) -> None:
        """Write the logits of the first `count` rows, without the bias of the last layer."""
        inputs, logits = self._of(room)
        width = self.first.shape[:1]
        x = functional.linear(inputs[:count], self.first, self.first_bias).relu_()
        for weight, bias in self.blocks:
            x += functional.linear(functional.layer_norm(x, width), weight, bias).relu_()
        logits[:count] = functional.linear(functional.layer_norm(x, width), self.head)

    def _of(self, room: PolicyRows) -> tuple[Tensor, Tensor]:
        """Return inputs and logits of the rows as torch tensors."""
        if self._views[0] is not room:
            inputs, logits = from_dlpack(room.inputs), from_dlpack(room.logits)
            self._views = (room, inputs.view(self.dtype), logits)
        return self._views[1:]


class AttentionNetwork(Network):
    """A network with attention in torch."""

    def __init__(self, encoding: Encoding, exact: Mapping[str, np.ndarray], heads: int, dtype: torch.dtype) -> None:
        """Copy parameters, float64, to the GPU as `dtype`."""
        tokens = Tokens.of(encoding)
        head, _ = behind_norm(exact, "trunk.norm", *layer_of_head(encoding, exact))
        places, numbers = (
            {name: torch.from_numpy(array).to(device()) for name, array in arrays.items()} for arrays in (tokens.places, exact)
        )
        self.dtype, self.score = dtype, numbers["score"].to(dtype)
        self.head = torch.from_numpy(head).to(device(), dtype)
        self.network = Attention(tokens, numbers, torch.from_numpy(encoding.scale).to(device()), places, heads, dtype)
        self._views = (None, self.head, self.head)

    @torch.inference_mode()
    def __call__(self, room: PolicyRows, count: int) -> None:
        inputs, logits = self._of(room)
        deal, scores = self.network(inputs[:count], None, self.score)
        logits[:count] = functional.linear(deal, self.head)
        logits[:count, : scores.shape[1]] += scores


def device() -> torch.device:
    """Return the GPU, or the CPU in the simulator."""
    return torch.device("cpu") if SIMULATED else torch.device("cuda", int(cuda.get_current_device().id))


def can_capture() -> bool:
    """Return whether a CUDA graph can be captured now: on a GPU, and with no other capture in progress."""
    return not SIMULATED and not torch.cuda.is_current_stream_capturing()


def captured(work: Callable[[], None], pool: Any = None) -> Any:
    """Capture launches as a CUDA graph. They run once before, so that all kernels are compiled and loaded.

    Graphs that never run at the same time may share memory through `pool`, a `torch.cuda.graph_pool_handle()`.
    """
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool, stream=side):
        work()
    return graph


def load_policy(
    path_or_name: Path | str, temperature: float = 1.0, *, numbers: str = "bfloat16", captured: bool = False
) -> GpuPolicy:
    """Return the GPU player of a policy file; see `noms_env.policy.player.load_policy` and `GpuPolicy`.

    Raises:
        PolicyFileError: the file or name is unknown, or the file contains no usable policy.
        ValueError: the temperature is below 0, or `numbers` is not allowed.
        ModuleNotFoundError: numba-cuda is not installed.
        RuntimeError: there is no GPU.
    """
    info, encoding, tensors = read_policy(policy_file_of(path_or_name))
    return GpuPolicy(PolicyPlayer(info, encoding, tensors, temperature), tensors, numbers, captured)
