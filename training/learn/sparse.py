"""The first layer on a processor: nine in ten of the features of an observation are 0, and are left out.

In float32 training takes half as long again without this. In bfloat16 the dense product is as fast, so torch does it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from noms_env._jit import COMPILED, jit_allocating
from noms_env.policy.inference_kernels import BLOCK, CHUNK, fill_up, find_active
from noms_env.policy.matmul import (
    SIDE_BY_SIDE,
    add_products_sparse,
    as_panels,
    from_panels,
    multiply_sparse,
    padded,
    padded_columns,
)


def first_layer(weight: Tensor, bias: Tensor, dtype: torch.dtype) -> Callable[[Tensor], Tensor]:
    """The layer on bytes, uint8, shape (n, inputs), with outputs of a type, shape (n, outputs).

    Args:
        weight: float32, shape (outputs, inputs).
        bias: float32, shape (outputs,).
        dtype: of the outputs.
    """
    if COMPILED and dtype == torch.float32 and weight.device.type == "cpu" and weight.shape[1] >= CHUNK:
        panels, added = as_panels(weight.detach().numpy()), bias.clone()
        return lambda features: _SparseProduct.apply(features, weight, panels) + added
    narrow, added = weight.to(dtype), bias.to(dtype, copy=True)
    return lambda features: functional.linear(features.to(dtype), narrow, added)


class SparseRows(NamedTuple):
    """Rows of which most numbers are 0, as `multiply_sparse` takes them."""

    places: np.ndarray
    amounts: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray) -> SparseRows:
        """Of uint8, shape (n, at least CHUNK)."""
        room = np.count_nonzero(rows) + SIDE_BY_SIDE * len(rows)
        sparse = cls(np.empty(room, np.uint16), np.empty(room, np.float32), np.zeros(len(rows) + 1, np.int64))
        write_sparse(rows, np.arange(rows.shape[1]), *sparse)
        return sparse


class _SparseProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, features: Tensor, weight: Tensor, panels: np.ndarray) -> Tensor:
        """`features @ weight.T`, where `panels` holds the weight as `as_panels` gives it."""
        rows = SparseRows.of(features.contiguous().numpy())
        ctx.rows, ctx.shape = rows, weight.shape
        product = np.empty((len(features), padded(len(weight))), np.float32)
        multiply_blocks(*rows, panels, product)
        return torch.from_numpy(product)[:, : len(weight)]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """The gradient of the weight."""
        outputs, inputs = ctx.shape
        of_product = padded_columns(gradients[0].numpy())
        panels = as_panels(np.zeros((outputs, inputs), np.float32))
        add_products_of_blocks(ctx.rows.places, ctx.rows.amounts, ctx.rows.starts, of_product, panels)
        return None, torch.from_numpy(from_panels(panels, outputs)), None


@jit_allocating
def write_sparse(rows, names, places, amounts, starts):
    """Write which numbers of some rows are not 0, as `multiply_sparse` takes them; `names` counts the columns."""
    for i in range(len(rows)):
        end = find_active(rows[i], names, places, amounts, starts[i])
        starts[i + 1] = fill_up(places, amounts, starts[i], end)


@jit_allocating
def multiply_blocks(places, amounts, starts, panels, y):
    """`multiply_sparse` for all rows of `y`, so many at a time that they stay in the L2 cache."""
    for first in range(0, len(y), BLOCK):
        rows = min(BLOCK, len(y) - first)
        multiply_sparse(places, amounts, starts[first:], rows, panels, y[first:])


@jit_allocating
def add_products_of_blocks(places, amounts, starts, y, panels):
    """`add_products_sparse` in the same way."""
    for first in range(0, len(y), BLOCK):
        rows = min(BLOCK, len(y) - first)
        add_products_sparse(places, amounts, starts[first:], rows, y[first:], panels)
