"""The compiled layers, against torch's own operations."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from noms_training.learn.layers import add_and_normalise, first_layer
from tests.training.test_network import draw_bytes

DTYPES = (torch.bfloat16, torch.float32)
STEP = {torch.bfloat16: 2**-8, torch.float32: 2**-20}
"""Relative difference of two roundings."""


def compute_plainly(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    added = x + functional.relu(y)
    return added, functional.layer_norm(added, added.shape[-1:])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(0, 16), (1, 4), (37, 48), (5, 250)])
def test_the_compiled_layer_equals_torch(shape: tuple[int, int], dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    x, y = torch.randn(2, *shape).to(dtype)
    added, normal = add_and_normalise(x, y)
    expected, plain_normal = compute_plainly(x, y)
    assert torch.equal(added, expected)
    assert normal.dtype == dtype
    exact = functional.layer_norm(added.double(), added.shape[-1:])
    torch.testing.assert_close(normal.double(), exact, rtol=STEP[dtype], atol=1e-5)
    torch.testing.assert_close(normal, plain_normal, rtol=2 * STEP[dtype], atol=1e-4)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_gradients_are_close_to_the_exact_ones(dtype: torch.dtype) -> None:
    torch.manual_seed(2)
    x, y, of_added, of_normal = torch.randn(4, 40, 48).to(dtype)
    inputs = [part.clone().requires_grad_() for part in (x, y)]
    gradients = torch.autograd.grad(add_and_normalise(*inputs), inputs, [of_added, of_normal])
    exact = [part.double().requires_grad_() for part in (x, y)]
    expected = torch.autograd.grad(compute_plainly(*exact), exact, [of_added.double(), of_normal.double()])
    for gradient, other in zip(gradients, expected, strict=True):
        assert gradient.dtype == dtype
        torch.testing.assert_close(gradient.double(), other, rtol=4 * STEP[dtype], atol=8 * STEP[dtype])
        assert (gradient.double() - other).abs().mean() < 1.3 * STEP[dtype]
    assert torch.equal(gradients[1] == 0, (y <= 0) | (gradients[0] == 0)), "no gradient where the ReLU is 0"


def test_other_dtypes_are_left_to_torch() -> None:
    torch.manual_seed(4)
    x, y = torch.randn(2, 3, 8, dtype=torch.float64)
    for part, expected in zip(add_and_normalise(x, y), compute_plainly(x, y), strict=True):
        assert part.dtype == torch.float64
        assert torch.equal(part, expected)


@pytest.mark.parametrize(("rows", "inputs", "outputs"), [(500, 300, 40), (500, 300, 64), (7, 57, 16), (0, 57, 16), (9, 20, 16)])
def test_the_first_layer_skips_zeros(rows: int, inputs: int, outputs: int) -> None:
    torch.manual_seed(3)
    features = draw_bytes(rows, inputs)
    features[:1] = 0
    weight, bias = torch.randn(outputs, inputs, requires_grad=True), torch.randn(outputs, requires_grad=True)
    results = first_layer(weight, bias, torch.float32)(features), functional.linear(features.float(), weight, bias)
    torch.testing.assert_close(*results, rtol=1e-4, atol=1e-4)
    gradients = [torch.autograd.grad((result * result.detach()).sum(), [weight, bias]) for result in results]
    for gradient, expected in zip(*gradients, strict=True):
        torch.testing.assert_close(gradient, expected, rtol=1e-3, atol=1e-3 * float(expected.abs().max()))


def test_the_first_layer_in_half_precision_is_torchs() -> None:
    torch.manual_seed(4)
    features, weight, bias = draw_bytes(20, 60), torch.randn(8, 60), torch.randn(8)
    result = first_layer(weight, bias, torch.bfloat16)(features)
    assert torch.equal(result, functional.linear(features.bfloat16(), weight.bfloat16(), bias.bfloat16()))
