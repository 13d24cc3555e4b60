"""Trained policies on a GPU, with torch.

player = load_policy("noms")                       # or load_player("noms@0", device="cuda")
batch.step(player.act(batch, seeds))
chances = player.probabilities(batch)              # float32, shape (n, NUM_ACTIONS)
player.draw(tables, count, seeds, actions)         # of tables that are no batch
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
from noms_env.cuda.players.player import Batch, GpuPlayer
from noms_env.cuda.rows import GpuRows, launch
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
"""Rows that go through the network together, at most; their working memory takes about 10 kB for each."""
NUMBERS = {"bfloat16": torch.bfloat16, "float32": torch.float32}
KEPT_GRAPHS = 16
STEPS = 8
"""So many different numbers of rows of a batch go through the network."""


class GpuPolicy(GpuPlayer):
    """A trained policy on a GPU: `PolicyPlayer` says what it answers.

    It draws from the same numbers as on the processor. Its logits are as exact as the numbers that it reckons with: where two
    actions are nearly as probable, or a draw falls between them, it may take the other one. In 90,000 decisions of published
    policies, on a processor, probabilities with bfloat16 were at most 0.035 from those of `PolicyPlayer` (0.0013 on average),
    and 99.7 % of the actions the same; with float32 at most 0.000004, and all of them.

    A table must have rules that it was trained for. A batch is looked at when it is first seen; rows of a mixed batch that have
    others may be there as long as they are not asked, and get `NOBODY` if they are.

    Attributes:
        player: the same policy on the processor.
        temperature: the logits are divided by it; 0 takes the most probable action, the lowest of equals.
        numbers: what the network reckons with, `bfloat16` or `float32`.
        captured: whether the way from tables to logits is captured as a CUDA graph, and replayed when it is gone again.
        waits: whether `act` waits for how many rows are asked where there is `where`, and the network sees few more than those.
    """

    def __init__(
        self, player: PolicyPlayer, tensors: Mapping[str, np.ndarray], numbers: str = "bfloat16", captured: bool = False
    ) -> None:
        """Bring a policy to the GPU.

        Args:
            player: it.
            tensors: its parameters, as `file.read_policy` returns them.
            numbers: see above.
            captured: see above. It is one launch then instead of thirty, which pays for few rows; the capture waits for the GPU
                once for each batch.

        Raises:
            ValueError: `numbers` is another word.
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
        """The rules of the tables that it can sit at."""
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
        """The probabilities of all actions in each row; nothing waits for the GPU.

        Args:
            batch: see `act`.
            temperature: see `PolicyPlayer.act`; the player's own when None.

        Returns:
            float32, shape (n, NUM_ACTIONS): 0 for actions that are not legal. The next call writes it again.

        Raises:
            ValueError: the batch is not on a GPU, or was not what the policy was trained for.
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
        """Write actions for tables that need be no batch; nothing waits for the GPU, and nothing is checked.

        All arrays are numba's, on the GPU.

        Args:
            tables: `table_record.TABLE`, shape (m,), of rules that the policy was trained for.
            count: how many are asked; all of them go through the network.
            seeds: int64, shape (m,), 0 to 2**63 - 1; not looked at when the temperature is 0, and may be None then.
            actions: int64, shape (m,): is written for these tables; `NOBODY` where nobody is to act.
            rows: int64, shape (at least count,): the numbers of the tables, below 0 for none; None for the first ones.
            temperature: see `PolicyPlayer.act`; the player's own when None.
        """
        heat = self.temperature if temperature is None else temperature
        for room, first, part in self._logits(tables, count, rows):
            room.draw(rows, first, part, heat, actions if seeds is None else seeds, actions)

    def tell(self, tables: Any, count: int, chances: Any, *, rows: Any = None, temperature: float | None = None) -> None:
        """Write probabilities, float32, shape (m, NUM_ACTIONS), for tables that need be no batch; see `draw`."""
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
        """The working memory for so many rows: other memory than before if there was not enough."""
        if self._room is None or self._room.capacity < min(count, TOGETHER):
            self._graphs.clear()
            self._room = PolicyRows(self.player.forward, self.player.encoding, min(count, TOGETHER), self.numbers)
        return self._room

    def fits(self, rows: GpuRows) -> Any:
        """Which rows of a batch that it sits at have rules that it knows, bool, shape (n,), on the GPU; None for all."""
        return self._fits[rows][0]

    def _logits(self, tables: Any, count: int, rows: Any) -> Iterator[tuple[PolicyRows, int, int]]:
        """Let the network look at some tables, so many at a time; where its logits are, the first row, and how many."""
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
        """`_look` as a CUDA graph, captured the first time."""
        key = (id(tables), id(rows), first, count)
        if key not in self._graphs:
            while len(self._graphs) >= KEPT_GRAPHS:
                del self._graphs[next(iter(self._graphs))]
            graph = captured(lambda: self._look(room, tables, rows, first, count))
            self._graphs[key] = (graph, tables, rows)  # as long as these live nothing else has their ids
        self._graphs[key][0].replay()

    def _asked(self, rows: GpuRows, where: Any, actions: Any) -> Any:
        """The numbers of the rows that are asked and can be, in order, then -1; int64, shape (n,)."""
        n, fits = len(actions), self.fits(rows)
        if n not in self._lists:
            self._lists[n] = RowList(n)
        return self._lists[n].of(where, where if fits is None else fits, actions)


class RowList:
    """Working memory for the numbers of the rows that are asked."""

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
        """How many there are, or some more: one of few numbers. Waits for the GPU."""
        rows, step = int(self.counted[-1]), -(-len(self.counted) // STEPS)
        return min(-(-rows // step) * step, len(self.counted))


class Network:
    """The layers of a policy in torch, from `PolicyRows.inputs` to its `logits`."""

    def __init__(self, layers: Layers, dtype: torch.dtype) -> None:
        """Bring the layers to the GPU, as numbers of a type."""

        def on_device(array: np.ndarray) -> Tensor:
            return torch.from_numpy(array).to(device=device(), dtype=dtype)

        self.dtype = dtype
        self.first, self.first_bias, self.head = (on_device(part) for part in (layers.first, layers.first_bias, layers.head))
        self.blocks = [(on_device(weight), on_device(bias)) for weight, bias in layers.blocks]
        self._views: tuple[PolicyRows | None, Tensor, Tensor] = (None, self.head, self.head)

    @torch.inference_mode()
    def __call__(self, room: PolicyRows, count: int) -> None:
        """Write the logits of the first so many rows, without the bias of the last layer."""
        inputs, logits = self._of(room)
        width = self.first.shape[:1]
        x = functional.linear(inputs[:count], self.first, self.first_bias).relu_()
        for weight, bias in self.blocks:
            x += functional.linear(functional.layer_norm(x, width), weight, bias).relu_()
        logits[:count] = functional.linear(functional.layer_norm(x, width), self.head)

    def _of(self, room: PolicyRows) -> tuple[Tensor, Tensor]:
        """The arrays of the rows as torch's."""
        if self._views[0] is not room:
            inputs, logits = from_dlpack(room.inputs), from_dlpack(room.logits)
            self._views = (room, inputs.view(self.dtype), logits)
        return self._views[1:]


class AttentionNetwork(Network):
    """The same of a network with attention."""

    def __init__(self, encoding: Encoding, exact: Mapping[str, np.ndarray], heads: int, dtype: torch.dtype) -> None:
        """Bring parameters, in float64, to the GPU, as numbers of a type."""
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
        """See `Network`."""
        inputs, logits = self._of(room)
        deal, scores = self.network(inputs[:count], None, self.score)
        logits[:count] = functional.linear(deal, self.head)
        logits[:count, : scores.shape[1]] += scores


def device() -> torch.device:
    """The GPU, or the processor where it is simulated."""
    return torch.device("cpu") if SIMULATED else torch.device("cuda", int(cuda.get_current_device().id))


def can_capture() -> bool:
    """Whether a CUDA graph can be captured now: on a GPU, and not while another one is."""
    return not SIMULATED and not torch.cuda.is_current_stream_capturing()


def captured(work: Callable[[], None], pool: Any = None) -> Any:
    """Some launches as a CUDA graph; they are made once before, so that all is compiled and loaded.

    Graphs that never run at the same time may share torch's memory by a `pool`, `torch.cuda.graph_pool_handle()`.
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
    """The player of a policy file on a GPU; see `noms_env.policy.player.load_policy` and `GpuPolicy`.

    Raises:
        PolicyFileError: there is no such file or name, or it holds no policy that can be used here.
        ValueError: the temperature is below 0, or `numbers` is no such word.
        ModuleNotFoundError: numba-cuda is not installed.
        RuntimeError: there is no GPU.
    """
    info, encoding, tensors = read_policy(policy_file_of(path_or_name))
    return GpuPolicy(PolicyPlayer(info, encoding, tensors, temperature), tensors, numbers, captured)
