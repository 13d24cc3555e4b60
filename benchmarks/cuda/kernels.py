"""Kernels with the engine's patterns of memory access, for `benchmarks.cuda.layout`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda

from noms_env.cuda.arrays import SIMULATED
from noms_env.cuda.kernels import kernel

if SIMULATED:

    def store_two(out, row, word, first, second):
        """Write two words of a row."""
        out[row, word], out[row, word + 1] = first, second

else:
    from llvmlite import ir
    from numba.core import types
    from numba.extending import intrinsic

    @intrinsic
    def store_two(_context: Any, out: Any, _row: Any, _word: Any, _first: Any, _second: Any) -> Any:
        """Write two words of a row with one store of 16 bytes; their address must be a multiple of 16."""
        word = ir.IntType(64)

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            made, row, place, first, second = arguments
            array = context.make_array(signature.args[0])(context, builder, made)
            start = builder.add(builder.mul(row, builder.extract_value(array.shape, 1)), place)
            address = builder.ptrtoint(builder.gep(array.data, [start]), word)
            kind = ir.FunctionType(ir.VoidType(), [word] * 3)
            store = ir.InlineAsm(kind, "st.global.v2.u64 [$0], {$1, $2};", "l,l,l,~{memory}", side_effect=True)
            builder.call(store, [address, first, second])
            return context.get_dummy_value()

        return types.void(out, types.int64, types.int64, types.int64, types.int64), codegen


@kernel
def touch(words, traces, lengths, lane_stride, word_stride, block_words, count):
    """Read and write words of `count` tables in the order of one trace per table.

    Word w of table i is `words[(i // 32) * block_words + (i % 32) * lane_stride + w * word_stride]`. `traces` is int16, shape
    (longest, n): 2 * word for a read, 2 * word + 1 for a write.
    """
    row = np.int64(cuda.grid(1))
    if row < count:
        trace = row % traces.shape[1]
        start = (row >> 5) * block_words + (row & 31) * lane_stride
        seen = row
        for k in range(lengths[trace]):
            code = np.int64(traces[k, trace])
            place = start + (code >> 1) * word_stride
            if code & 1:
                words[place] = seen
            else:
                seen ^= words[place]
        words[start] = seen


@kernel
def store_words(out, first):
    """Write one row of words per thread, with stores of eight bytes."""
    row = np.int64(cuda.grid(1))
    if row < len(out):
        for word in range(out.shape[1]):
            out[row, word] = first + word


@kernel
def store_pairs(out, first):
    """Write one row of words per thread, with stores of sixteen bytes; a row must have an even number of words."""
    row = np.int64(cuda.grid(1))
    if row < len(out):
        for word in range(0, out.shape[1], 2):
            store_two(out, row, np.int64(word), first + word, first + word + 1)


@kernel
def store_together(out, first):
    """Write neighbouring words with neighbouring threads: coalesced stores, the upper bound of the rate."""
    k = np.int64(cuda.grid(1))
    words = np.int64(out.shape[1])
    if k < len(out) * words:
        out[k // words, k % words] = first + k % words


ALL = (touch, store_words, store_pairs, store_together)
"""All kernels."""
