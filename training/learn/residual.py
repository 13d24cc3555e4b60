"""What lies between two layers of a residual block: the sum and its norm, in one pass over the memory each way.

    x + relu(y), and the same with each row brought to mean 0 and variance 1

With matrix units in the processor the products of 256 units are no more than a third of an update; torch's separate passes for
ReLU, sum, norm and their gradients were another third, and take half as long as one. The pass is compiled for bf16 on the
processor; anything else is left to torch's own operations.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from noms_env._jit import COMPILED, jit_sums, narrowed, widened

EPSILON = 1e-5
"""Added to the variance, as torch's LayerNorm does."""


def add_and_normalise(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """`x + relu(y)`, and its rows brought to mean 0 and variance 1.

    Args:
        x: shape (n, width), of any floating type.
        y: the same.

    Returns:
        Two like them.
    """
    if COMPILED and x.dtype == torch.bfloat16 and x.device.type == "cpu":
        added, normal = _AddAndNormalise.apply(x, y)
        return added, normal
    added = x + functional.relu(y)
    return added, functional.layer_norm(added, added.shape[-1:])


class _AddAndNormalise(torch.autograd.Function):
    """The compiled pass and its gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """The two results."""
        x, y = x.contiguous(), y.contiguous()
        added, normal, inverse = torch.empty_like(x), torch.empty_like(x), torch.empty(len(x))
        write_normalised(_bits(x), _bits(y), _bits(added), _bits(normal), inverse.numpy())
        ctx.save_for_backward(y, normal, inverse)
        return added, normal

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        """The gradients of `x` and `y`."""
        y, normal, inverse = ctx.saved_tensors
        of_added, of_normal = (gradient.contiguous() for gradient in gradients)
        of_x, of_y = torch.empty_like(y), torch.empty_like(y)
        given = (_bits(of_added), _bits(of_normal), _bits(normal), _bits(y))
        write_gradients(*given, _bits(of_x), _bits(of_y), inverse.numpy())
        return of_x, of_y


def _bits(numbers: Tensor) -> np.ndarray:
    """The memory of bfloat16 numbers as uint16."""
    return numbers.view(torch.int16).numpy().view(np.uint16)


@jit_sums
def write_normalised(x, y, added, normal, inverse):
    """Write `x + relu(y)`, and its rows brought to mean 0 and variance 1.

    Args:
        x: uint16, the bits of bfloat16, shape (n, width).
        y: the same.
        added: the same; is written with the sum.
        normal: the same; is written with its rows.
        inverse: float32, shape (n,): one over the standard deviations; is written.
    """
    zero, width = np.float32(0), np.float32(x.shape[1])
    for i in range(len(x)):
        total = zero
        squares = zero
        for k in range(x.shape[1]):
            bits = narrowed(widened(x[i, k]) + max(widened(y[i, k]), zero))
            added[i, k] = bits
            number = widened(bits)
            total += number
            squares += number * number
        mean = total / width
        scale = np.float32(1) / np.sqrt(max(squares / width - mean * mean, zero) + np.float32(EPSILON))
        inverse[i] = scale
        for k in range(x.shape[1]):
            normal[i, k] = narrowed((widened(added[i, k]) - mean) * scale)


@jit_sums
def write_gradients(of_added, of_normal, normal, y, of_x, of_y, inverse):
    """Write the gradients of what `write_normalised` does (Ba et al., arXiv 1607.06450).

    Args:
        of_added: uint16, the bits of bfloat16, shape (n, width): gradient of the sum.
        of_normal: the same: gradient of its rows.
        normal: the same, from the way there.
        y: the same.
        of_x: the same; is written.
        of_y: the same; is written.
        inverse: float32, shape (n,): from the way there.
    """
    zero, width = np.float32(0), np.float32(y.shape[1])
    for i in range(len(y)):
        total = zero
        along = zero
        for k in range(y.shape[1]):
            gradient = widened(of_normal[i, k])
            total += gradient
            along += gradient * widened(normal[i, k])
        total /= width
        along /= width
        scale = inverse[i]
        for k in range(y.shape[1]):
            through_norm = (widened(of_normal[i, k]) - total - widened(normal[i, k]) * along) * scale
            bits = narrowed(widened(of_added[i, k]) + through_norm)
            of_x[i, k] = bits
            of_y[i, k] = bits if widened(y[i, k]) > zero else np.uint16(0)
