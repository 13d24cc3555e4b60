"""Compiled CPU kernels of the networks.

*Sparse first layer.* 90 % of the features are 0, and skipped. In float32 training takes 50 % longer without this; in bfloat16
torch's dense product is as fast, and used instead.

*Fused residual and norm.* `x + relu(y)` and its norm in one pass over the memory, forward and backward. Torch takes several
passes, which makes training 8 % slower.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from noms_env._jit import COMPILED, jit_allocating, jit_sums, narrow, widen
from noms_env.policy.inference_kernels import BLOCK, CHUNK, find_active, pad_terms
from noms_env.policy.matmul import (
    UNROLL,
    add_products_sparse,
    as_panels,
    from_panels,
    multiply_sparse,
    pad_columns,
    pad_width,
)

EPSILON = 1e-5  # added to the variance, as torch's LayerNorm does
KEPT = (torch.bfloat16, torch.float32)  # dtypes of the compiled norm


def first_layer(weight: Tensor, bias: Tensor, dtype: torch.dtype) -> Callable[[Tensor], Tensor]:
    """Return the layer on bytes, from uint8, shape (n, inputs), to `dtype`, shape (n, outputs).

    `weight` is float32, shape (outputs, inputs), and `bias` float32, shape (outputs,).
    """
    if COMPILED and dtype == torch.float32 and weight.device.type == "cpu" and weight.shape[1] >= CHUNK:
        panels, added = as_panels(weight.detach().numpy()), bias.clone()
        return lambda features: _SparseProduct.apply(features, weight, panels) + added
    narrow, added = weight.to(dtype), bias.to(dtype, copy=True)
    return lambda features: functional.linear(features.to(dtype), narrow, added)


class _SparseProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, features: Tensor, weight: Tensor, panels: np.ndarray) -> Tensor:
        """Return `features @ weight.T`; `panels` is the weight in the layout of `as_panels`."""
        rows = features.contiguous().numpy()
        room = np.count_nonzero(rows) + UNROLL * len(rows)
        sparse = np.empty(room, np.uint16), np.empty(room, np.float32), np.zeros(len(rows) + 1, np.int64)
        write_sparse(rows, np.arange(rows.shape[1]), *sparse)
        ctx.sparse, ctx.shape = sparse, weight.shape
        product = np.empty((len(features), pad_width(len(weight))), np.float32)
        multiply_blocks(*sparse, panels, product)
        return torch.from_numpy(product)[:, : len(weight)]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        outputs, inputs = ctx.shape
        of_product = pad_columns(gradients[0].numpy())
        panels = as_panels(np.zeros((outputs, inputs), np.float32))
        places, amounts, starts = ctx.sparse
        add_products_of_blocks(places, amounts, starts, of_product, panels)
        return None, torch.from_numpy(from_panels(panels, outputs)), None


@jit_allocating
def write_sparse(rows, names, places, amounts, starts):
    """Write the nonzero numbers of some rows, in the format of `multiply_sparse`; `names` are the column numbers."""
    for i in range(len(rows)):
        end = find_active(rows[i], names, places, amounts, starts[i])
        starts[i + 1] = pad_terms(places, amounts, starts[i], end)


@jit_allocating
def multiply_blocks(places, amounts, starts, panels, y):
    """Apply `multiply_sparse` to all rows of `y`, in blocks that fit the L2 cache."""
    for first in range(0, len(y), BLOCK):
        rows = min(BLOCK, len(y) - first)
        multiply_sparse(places, amounts, starts[first:], rows, panels, y[first:])


@jit_allocating
def add_products_of_blocks(places, amounts, starts, y, panels):
    """Apply `add_products_sparse` to all rows of `y`, in the same blocks."""
    for first in range(0, len(y), BLOCK):
        rows = min(BLOCK, len(y) - first)
        add_products_sparse(places, amounts, starts[first:], rows, y[first:], panels)


def add_and_normalise(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return `x + relu(y)`, and its rows normalised to mean 0 and variance 1; all of shape (n, width) and one dtype."""
    if COMPILED and x.dtype in KEPT and x.device.type == "cpu":
        added, normal = _AddAndNormalise.apply(x, y)
        return added, normal
    added = x + functional.relu(y)
    return added, functional.layer_norm(added, added.shape[-1:])


class _AddAndNormalise(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        x, y = x.contiguous(), y.contiguous()
        added, normal, inverse = torch.empty_like(x), torch.empty_like(x), torch.empty(len(x))
        write_normalised(_kept(x), _kept(y), _kept(added), _kept(normal), inverse.numpy())
        ctx.save_for_backward(y, normal, inverse)
        return added, normal

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        y, normal, inverse = ctx.saved_tensors
        of_added, of_normal = (gradient.contiguous() for gradient in gradients)
        of_x, of_y = torch.empty_like(y), torch.empty_like(y)
        kept = (_kept(of_added), _kept(of_normal), _kept(normal), _kept(y))
        write_gradients(*kept, _kept(of_x), _kept(of_y), inverse.numpy())
        return of_x, of_y


def _kept(numbers: Tensor) -> np.ndarray:
    """Return a NumPy view: bfloat16 as uint16, float32 unchanged."""
    return numbers.detach().numpy() if numbers.dtype == torch.float32 else numbers.view(torch.int16).numpy().view(np.uint16)


@jit_sums
def write_normalised(x, y, added, normal, inverse):
    """Write `x + relu(y)` into `added`, its rows normalised to mean 0 and variance 1 into `normal`, and 1 / std into `inverse`.

    All arrays are uint16 (the bits of bfloat16) or float32, shape (n, width), except `inverse`: float32, shape (n,).
    """
    zero, width = np.float32(0), np.float32(x.shape[1])
    for i in range(len(x)):
        total = zero
        squares = zero
        for k in range(x.shape[1]):
            kept = narrow(widen(x[i, k]) + max(widen(y[i, k]), zero), x[i, k])
            added[i, k] = kept
            number = widen(kept)
            total += number
            squares += number * number
        mean = total / width
        scale = np.float32(1) / np.sqrt(max(squares / width - mean * mean, zero) + np.float32(EPSILON))
        inverse[i] = scale
        for k in range(x.shape[1]):
            normal[i, k] = narrow((widen(added[i, k]) - mean) * scale, x[i, k])


@jit_sums
def write_gradients(of_added, of_normal, normal, y, of_x, of_y, inverse):
    """Write the gradients of `x` and `y` in `write_normalised` (Ba et al., arXiv 1607.06450).

    `of_added` and `of_normal` are the gradients of its two results; for the other arrays see there.
    """
    zero, width = np.float32(0), np.float32(y.shape[1])
    for i in range(len(y)):
        total = zero
        along = zero
        for k in range(y.shape[1]):
            gradient = widen(of_normal[i, k])
            total += gradient
            along += gradient * widen(normal[i, k])
        total /= width
        along /= width
        scale = inverse[i]
        for k in range(y.shape[1]):
            through_norm = (widen(of_normal[i, k]) - total - widen(normal[i, k]) * along) * scale
            sum_of_both = widen(of_added[i, k]) + through_norm
            of_x[i, k] = narrow(sum_of_both, y[i, k])
            of_y[i, k] = narrow(sum_of_both if widen(y[i, k]) > zero else zero, y[i, k])
