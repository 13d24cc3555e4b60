"""Parts of the networks in one pass over the memory each way, compiled; with torch's own operations they take several.

Compiled passes run on a CPU, on numbers kept as float32 or bfloat16, and reckon in float32. Elsewhere torch does the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from noms_env._jit import COMPILED, jit_allocating, jit_inline, jit_sums, narrowed, widened
from noms_env.policy.inference_kernels import BLOCK, CHUNK, along_positive, fill_up, find_active, write_hidden
from noms_env.policy.matmul import (
    SIDE_BY_SIDE,
    add_products_sparse,
    as_panels,
    from_panels,
    multiply_sparse,
    padded,
    padded_columns,
)

# ------------------------------------------------------------------------------------------------ the first layer


def first_layer(weight: Tensor, bias: Tensor, dtype: torch.dtype) -> Callable[[Tensor], Tensor]:
    """The layer on bytes, uint8, shape (n, inputs), with outputs of a type, shape (n, outputs).

    Nine in ten of the features of an observation are 0. The compiled layer leaves them out.

    Args:
        weight: float32, shape (outputs, inputs).
        bias: float32, shape (outputs,).
        dtype: of the outputs.
    """
    if COMPILED and weight.device.type == "cpu" and weight.shape[1] >= CHUNK:
        panels, added = as_panels(weight.detach().numpy()), bias.clone()
        return lambda features: (_SparseProduct.apply(features, weight, panels) + added).to(dtype)
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
        found = find_active(rows[i], names, places, amounts, starts[i])
        starts[i + 1] = fill_up(places, amounts, starts[i], found)


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


# --------------------------------------------------------------------------------------------- between two layers

EPSILON = 1e-5
"""Added to the variance, as torch's LayerNorm does."""


KEPT = (torch.bfloat16, torch.float32)
"""How numbers may be kept that the compiled passes work on."""


def add_and_normalise(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """`x + relu(y)`, and its rows brought to mean 0 and variance 1.

    Args:
        x: shape (n, width), of any floating type.
        y: the same.

    Returns:
        Two like them.
    """
    if COMPILED and x.dtype in KEPT and x.device.type == "cpu":
        added, normal = _AddAndNormalise.apply(x, y)
        return added, normal
    added = x + functional.relu(y)
    return added, functional.layer_norm(added, added.shape[-1:])


class _AddAndNormalise(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """The two results."""
        x, y = x.contiguous(), y.contiguous()
        added, normal, inverse = torch.empty_like(x), torch.empty_like(x), torch.empty(len(x))
        write_normalised(_kept(x), _kept(y), _kept(added), _kept(normal), inverse.numpy())
        ctx.save_for_backward(y, normal, inverse)
        return added, normal

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        """The gradients of `x` and `y`."""
        y, normal, inverse = ctx.saved_tensors
        of_added, of_normal = (gradient.contiguous() for gradient in gradients)
        of_x, of_y = torch.empty_like(y), torch.empty_like(y)
        given = (_kept(of_added), _kept(of_normal), _kept(normal), _kept(y))
        write_gradients(*given, _kept(of_x), _kept(of_y), inverse.numpy())
        return of_x, of_y


def _kept(numbers: Tensor) -> np.ndarray:
    """The memory of numbers: bfloat16 as uint16, float32 as such."""
    return numbers.detach().numpy() if numbers.dtype == torch.float32 else numbers.view(torch.int16).numpy().view(np.uint16)


@jit_sums
def write_normalised(x, y, added, normal, inverse):
    """Write `x + relu(y)`, and its rows brought to mean 0 and variance 1.

    Args:
        x: uint16, the bits of bfloat16, or float32, shape (n, width).
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
            kept = narrowed(widened(x[i, k]) + max(widened(y[i, k]), zero), x[i, k])
            added[i, k] = kept
            number = widened(kept)
            total += number
            squares += number * number
        mean = total / width
        scale = np.float32(1) / np.sqrt(max(squares / width - mean * mean, zero) + np.float32(EPSILON))
        inverse[i] = scale
        for k in range(x.shape[1]):
            normal[i, k] = narrowed((widened(added[i, k]) - mean) * scale, x[i, k])


@jit_sums
def write_gradients(of_added, of_normal, normal, y, of_x, of_y, inverse):
    """Write the gradients of what `write_normalised` does (Ba et al., arXiv 1607.06450).

    Args:
        of_added: uint16, the bits of bfloat16, or float32, shape (n, width): gradient of the sum.
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
            sum_of_both = widened(of_added[i, k]) + through_norm
            of_x[i, k] = narrowed(sum_of_both, y[i, k])
            of_y[i, k] = narrowed(sum_of_both if widened(y[i, k]) > zero else zero, y[i, k])


# ------------------------------------------------------------------------------------------------ the card scorer


def add_scores(outputs: Tensor, features: Tensor, mask: Tensor, columns: Tensor, weights: Sequence[Tensor]) -> Tensor:
    """Logits to which the scores of the legal cards to play are added: out . ReLU(card @ what is counted + own + context).

    Args:
        outputs: float32, shape (n, n_choices + units): logits, then the context.
        features: uint8, shape (n, n_features).
        mask: int8, shape (n, n_choices), in which the cards to play come first.
        columns: int64, shape (cards to play, k): where the features of each card stand.
        weights: `card`, float32, shape (k, units), `own`, shape (cards to play, units), and `out`, shape (units,).

    Returns:
        float32, shape (n, n_choices).
    """
    if COMPILED and outputs.device.type == "cpu":
        logits: Tensor = _AddScores.apply(outputs, features, mask, columns, *(weight.contiguous() for weight in weights))
        return logits
    card, own, out = weights
    choices = mask.shape[1]
    row, place = mask[:, : len(columns)].nonzero(as_tuple=True)
    counted = features[row[:, None], columns[place]].float()
    hidden = functional.relu(counted @ card + own[place] + outputs[row, choices:])
    return outputs[:, :choices].index_put((row, place), hidden @ out, accumulate=True)


class _AddScores(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, outputs: Tensor, features: Tensor, mask: Tensor, columns: Tensor, *weights: Tensor) -> Tensor:
        """The logits."""
        outputs, features, mask = outputs.contiguous(), features.contiguous(), mask.contiguous()
        ctx.save_for_backward(outputs, features, mask, columns, *weights)
        logits = outputs[:, : mask.shape[1]].clone(memory_format=torch.contiguous_format)
        write_scores(*_arrays(outputs, features, mask, columns, *weights, logits))
        return logits

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of the outputs and the weights."""
        outputs, features, mask, columns, *weights = ctx.saved_tensors
        of_logits = gradients[0].contiguous()
        of_outputs = functional.pad(of_logits, (0, outputs.shape[1] - of_logits.shape[1]))
        of_weights = [torch.zeros_like(weight) for weight in weights]
        given = _arrays(outputs, features, mask, columns, *weights, of_logits)
        write_score_gradients(*given, *_arrays(of_outputs, *of_weights))
        return of_outputs, None, None, None, *of_weights


def _arrays(*tensors: Tensor) -> list[np.ndarray]:
    """The memory of contiguous tensors."""
    return [tensor.detach().numpy() for tensor in tensors]


@jit_allocating
def write_scores(outputs, features, mask, columns, card, own, out, logits):
    """Add the scores to logits, float32, shape (n, n_choices); the other arguments are those of `add_scores`."""
    counted, hidden = np.empty(len(card), np.uint8), np.empty(len(out), np.float32)
    for i in range(len(outputs)):
        for place in range(len(columns)):
            if mask[i, place] != 0:
                note_counted(features[i], columns[place], counted)
                write_hidden(outputs[i, mask.shape[1] :], counted, card, own[place], hidden)
                logits[i, place] += along_positive(hidden, out)


@jit_inline
def note_counted(features, columns, counted):
    """Write what is counted at a card."""
    for section in range(len(columns)):
        counted[section] = features[columns[section]]


@jit_allocating
def write_score_gradients(outputs, features, mask, columns, card, own, out, of_logits, of_outputs, of_card, of_own, of_out):
    """Add the gradients of what `write_scores` does to those of the outputs (behind the choices) and of the weights."""
    zero = np.float32(0)
    counted, hidden, positive = np.empty(len(card), np.uint8), np.empty(len(out), np.float32), np.empty(len(out), np.float32)
    for i in range(len(outputs)):
        for place in range(len(columns)):
            if mask[i, place] != 0:
                note_counted(features[i], columns[place], counted)
                write_hidden(outputs[i, mask.shape[1] :], counted, card, own[place], hidden)
                gradient = of_logits[i, place]
                for unit in range(len(out)):
                    positive[unit] = max(hidden[unit], zero)
                    hidden[unit] = gradient * out[unit] if hidden[unit] > zero else zero
                add(of_out, gradient, positive)
                add(of_own[place], np.float32(1), hidden)
                add(of_outputs[i, mask.shape[1] :], np.float32(1), hidden)
                for section in range(len(counted)):
                    if counted[section] != 0:
                        add(of_card[section], np.float32(counted[section]), hidden)


@jit_inline
def add(to, factor, row):
    """Add a row times a factor to another."""
    for unit in range(len(row)):
        to[unit] += factor * row[unit]
