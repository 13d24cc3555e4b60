"""Network inputs of tables on a GPU, and actions from network logits. This module does not need torch.

seen, rows = GpuEncoding(encoding, len(batch)), batch.gpu
batch.observe()
seen.encode(rows.seen[0], len(batch))
features = torch.from_dlpack(seen.features)  # the bytes of `Encoding.encode` for these observations
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numba import cuda

from noms_env.cuda import kernels as copying
from noms_env.cuda import streams
from noms_env.cuda.arrays import GpuArray, to_gpu
from noms_env.cuda.players import encoding_kernels as kernels
from noms_env.cuda.rows import BLOCK, KEPT_VIEWS, launch, zeros
from noms_env.engine.batch_kernels import WRITE_HIDDEN, WRITE_MASK, WRITE_OBSERVATION
from noms_env.observation.layout import HIDDEN_SIZE, OBSERVATION_SIZE, PADDED_MASK_SIZE
from noms_env.policy.attention import AttentionForward
from noms_env.policy.encoding import Encoding
from noms_env.policy.inference import Forward

BITS = {"uint8": np.uint8, "float32": np.float32, "bfloat16": np.int16}
"""Storage dtypes. numpy has no bfloat16; `torch.from_dlpack(features).view(torch.bfloat16)` is the array in torch."""


class GpuEncoding:
    """The features of rows on a GPU. Memory is allocated once. The other methods require a previous `encode`.

    Attributes:
        encoding: the encoding of the features.
        features: shape (rows, n_features): bytes, or the same numbers as float32 or bfloat16 (`BITS`), before scaling.
        order: int64, shape (rows,): the suit order of each row.
        actions: int16, shape (24, n_choices): `actions[order[i], k]` is the action for the network's output k in row i.
    """

    def __init__(self, encoding: Encoding, rows: int, numbers: str = "uint8") -> None:
        """Allocate memory for `rows` rows, with features stored as `uint8`, `float32` or `bfloat16`."""
        self.encoding, self._rows, self._numbers = encoding, rows, numbers
        self.features = GpuArray(cuda.device_array((rows, encoding.n_features), BITS[numbers]))
        self.order = GpuArray(streams.to_device(np.zeros(rows, np.int64)))
        self.actions = to_gpu(np.ascontiguousarray(encoding.actions))
        self.extra = cuda.device_array((rows, max(encoding.extended_size - OBSERVATION_SIZE, 1)), np.uint8)
        self._index, self._value = to_gpu(encoding.index).native, to_gpu(encoding.value).native
        self._bytes: dict[int, tuple[Any, Any]] = {}

    def encode(self, observation: Any, count: int) -> None:
        """Write the first `count` rows of `features` and `order`.

        Args:
            observation: of at least `count` rows: int64, with eight bytes per word (`GpuRows.seen[0]`).
            count: 1 to `rows`.
        """
        seen, order = self.as_bytes(observation), self.order.native
        launch(count, kernels.order_suits, seen, count, order, self.extra, self.encoding.extended_size > 0)
        kernel = kernels.write_bytes if self._numbers == "uint8" else kernels.write_numbers
        launch(BLOCK * count, kernel, seen, self.extra, order, self._index, self._value, self.features.native)

    def encode_mask(self, mask: Any, count: int) -> GpuArray:
        """Write and return the legal choices of the first `count` rows, int8, shape (rows, n_choices), from masks as words."""
        self._gather(mask, self.legal, self.actions.native, count)
        return self.legal

    def encode_hidden(self, hidden: Any, count: int) -> GpuArray:
        """Write and return the hidden state of the first `count` rows in the same suit order, uint8, shape (rows, n_hidden)."""
        self._gather(hidden, self.hidden, self._hidden_index, count)
        return self.hidden

    def as_bytes(self, words: Any) -> Any:
        """Return an array of words as bytes, shape (n, bytes). Views are cached, since they are slow to make."""
        source, view = self._bytes.get(id(words), (None, None))
        if source is not words:
            while len(self._bytes) >= KEPT_VIEWS:
                del self._bytes[next(iter(self._bytes))]
            view = words.view(np.uint8)
            self._bytes[id(words)] = (words, view)
        return view

    @cached_property
    def legal(self) -> GpuArray:
        """Output of `encode_mask`."""
        return GpuArray(cuda.device_array((self._rows, self.encoding.n_choices), np.int8))

    @cached_property
    def hidden(self) -> GpuArray:
        """Output of `encode_hidden`."""
        return GpuArray(cuda.device_array((self._rows, self.encoding.n_hidden), np.uint8))

    @cached_property
    def _hidden_index(self) -> Any:
        return to_gpu(self.encoding.hidden_index).native

    def _gather(self, words: Any, out: GpuArray, index: Any, count: int) -> None:
        launch(BLOCK * count, copying.gather, self.as_bytes(words), self.order.native, index, out.native)


class PolicyRows:
    """Working memory of a policy on a GPU: `see` tables, run the network, then `draw` actions or `tell` probabilities.

    Attributes:
        capacity: maximum number of rows.
        inputs: inputs of the network, shape (capacity, n_features).
        logits: outputs of the network without the bias of the last layer, float32, shape (capacity, outputs).
    """

    def __init__(self, forward: Forward | AttentionForward, encoding: Encoding, capacity: int, numbers: str) -> None:
        """Allocate memory for `capacity` rows, with inputs stored as `float32` or `bfloat16`."""
        units, cards = len(forward.out), len(forward.own)
        outputs, sections = encoding.n_choices + units, max(len(forward.section_starts), 1)
        self.capacity = capacity
        self._encoding = GpuEncoding(encoding, capacity, numbers)
        self._observation, self._mask = zeros(capacity, OBSERVATION_SIZE // 8), zeros(capacity, PADDED_MASK_SIZE // 8)
        self.inputs = self._encoding.features
        self.logits = GpuArray(cuda.device_array((capacity, outputs), np.float32))
        if units == 0:  # no array is empty
            section_starts, card, own, out = (np.zeros(shape, np.float32) for shape in (1, (1, 1), (cards, 1), 1))
            section_starts = section_starts.astype(np.int64)
        else:
            section_starts, card, own, out = forward.section_starts - OBSERVATION_SIZE, forward.card, forward.own, forward.out
        scorer = (*(to_gpu(part).native for part in (section_starts, card, own, out)), units)
        kinds: tuple[tuple[int, Any], ...] = ((encoding.n_choices, np.int16), (encoding.n_choices, np.float64))
        room = [cuda.device_array((capacity, length), kind) for length, kind in (*kinds, (max(units, 1), np.float32))]
        room.append(cuda.device_array((capacity, cards, sections), np.uint8))
        bias = to_gpu(forward.head_bias[: encoding.n_choices]).native
        mask, names = self._mask.view(np.int8), self._encoding.actions.native
        arrays = (self._encoding.extra, mask, self._encoding.order.native, names, self.logits.native, bias)
        self._arguments = (*arrays, *scorer, *room)

    def see(self, tables: Any, rows: Any, first: int, count: int) -> None:
        """Write the network inputs of some tables.

        Args:
            tables: structured, shape (m,).
            rows: int64, shape (at least first + count,): the numbers of the tables, below 0 for none; None for 0, 1, 2, ...
            first: the first index in `rows`.
            count: number of rows, 1 to `capacity`.
        """
        wanted = WRITE_OBSERVATION + WRITE_MASK
        chosen = self._chosen(rows, first, count)
        launch(count, kernels.see_tables, tables, *chosen, self._observation, self._mask, self._mask, wanted)
        self._encoding.encode(self._observation, count)

    def draw(self, rows: Any, first: int, count: int, temperature: float, seeds: Any, actions: Any) -> None:
        """Draw actions for the tables of the last `see`; `seeds` and `actions`, int64, have one number per table."""
        chosen = self._chosen(rows, first, count)
        launch(count, kernels.draw_actions, *chosen, *self._arguments, temperature, seeds, actions)

    def tell(self, rows: Any, first: int, count: int, temperature: float, chances: Any) -> None:
        """Write action probabilities for the tables of the last `see` into zeros, float32, shape (m, NUM_ACTIONS)."""
        chosen = self._chosen(rows, first, count)
        launch(count, kernels.write_chances, *chosen, *self._arguments, temperature, chances)

    def tell_of(self, rows: Any, first: int, count: int, temperature: float, actions: Any, chances: Any) -> None:
        """Write the probability of one action, int64, of each table of the last `see`: `chances`, float32, shape (m,)."""
        chosen = self._chosen(rows, first, count)
        launch(count, kernels.write_chances_of, *chosen, *self._arguments, temperature, actions, chances)

    def _chosen(self, rows: Any, first: int, count: int) -> tuple[Any, ...]:
        return (self._encoding.order.native if rows is None else rows, rows is not None, first, count)


class LearnerRows:
    """Working memory of a network in training: `see` tables, run the network, then `draw` its choices.

    Arrays have one row per table, in the order of `rows` in `see`.

    Attributes:
        capacity: maximum number of rows.
        logits: outputs of the network, float32, shape (capacity, n_choices).
        columns: training data of each decision, by name: `features`, uint8, shape (capacity, n_features); `mask`, int8, shape
            (capacity, n_choices); `choice`, `seat` and `phase`, int64, and `log_prob`, float32, shape (capacity,); with hidden
            states also `hidden`, uint8, shape (capacity, n_hidden).
    """

    def __init__(self, encoding: Encoding, capacity: int, hidden: bool) -> None:
        """Allocate memory for `capacity` rows, with or without the hidden state."""
        self.capacity, self._sees_hidden = capacity, hidden
        self._encoding = GpuEncoding(encoding, capacity)
        self._seen = zeros(capacity, OBSERVATION_SIZE // 8), zeros(capacity, PADDED_MASK_SIZE // 8)
        self._hidden = zeros(capacity if hidden else 1, HIDDEN_SIZE // 8)
        self.logits = GpuArray(cuda.device_array((capacity, encoding.n_choices), np.float32))
        self._drawn = {
            name: GpuArray(streams.to_device(np.zeros(capacity, kind)))
            for name, kind in (("choice", np.int64), ("log_prob", np.float32), ("seat", np.int64), ("phase", np.int64))
        }
        self.columns = {"features": self._encoding.features, "mask": self._encoding.legal, **self._drawn}
        if hidden:
            self.columns["hidden"] = self._encoding.hidden

    def see(self, tables: Any, rows: Any, first: int, count: int) -> None:
        """Write `features`, `mask` and `hidden` for some tables; arguments as in `PolicyRows.see`."""
        wanted = WRITE_OBSERVATION + WRITE_MASK + (WRITE_HIDDEN if self._sees_hidden else 0)
        launch(count, kernels.see_tables, tables, *self._chosen(rows, first, count), *self._seen, self._hidden, wanted)
        self._encoding.encode(self._seen[0], count)
        self._encoding.encode_mask(self._seen[1], count)
        if self._sees_hidden:
            self._encoding.encode_hidden(self._hidden, count)

    def draw(self, tables: Any, rows: Any, first: int, count: int, seeds: Any, greedy: bool, actions: Any) -> None:
        """Draw choices for the tables of the last `see`; write the other columns and `actions`. `seeds` too is int64, (m,)."""
        order, names = self._encoding.order.native, self._encoding.actions.native
        outputs = (array.native for array in self._drawn.values())
        inputs = (self.logits.native, self._encoding.legal.native, order, names, seeds, greedy)
        launch(count, kernels.draw_choices, tables, *self._chosen(rows, first, count), *inputs, *outputs, actions)

    def _chosen(self, rows: Any, first: int, count: int) -> tuple[Any, ...]:
        return (self._encoding.order.native if rows is None else rows, rows is not None, first, count)
