"""The compiled layers, against torch's own operations."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from noms_training.learn.layers import add_and_normalise, first_layer
from tests.training.test_network import some_bytes

DTYPES = (torch.bfloat16, torch.float32)
STEP = {torch.bfloat16: 2**-8, torch.float32: 2**-20}
"""How much two roundings may differ, as a share."""


def plain(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    added = x + functional.relu(y)
    return added, functional.layer_norm(added, added.shape[-1:])


def some(*shape: int, dtype: torch.dtype) -> Tensor:
    return torch.randn(*shape).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(0, 16), (1, 4), (37, 48), (5, 250)])
def test_the_compiled_pass_gives_what_torch_gives(shape: tuple[int, int], dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    x, y = some(*shape, dtype=dtype), some(*shape, dtype=dtype)
    added, normal = add_and_normalise(x, y)
    wanted, of_it = plain(x, y)
    assert torch.equal(added, wanted)
    assert normal.dtype == dtype
    exact = functional.layer_norm(wanted.double(), wanted.shape[-1:])
    torch.testing.assert_close(normal.double(), exact, rtol=STEP[dtype], atol=1e-5)
    torch.testing.assert_close(normal, of_it, rtol=2 * STEP[dtype], atol=1e-4)


@pytest.mark.parametrize("dtype", DTYPES)
def test_its_gradients_are_those_of_the_exact_operations(dtype: torch.dtype) -> None:
    torch.manual_seed(2)
    x, y, of_added, of_normal = (some(40, 48, dtype=dtype) for _ in range(4))
    given = [part.clone().requires_grad_() for part in (x, y)]
    found = torch.autograd.grad(add_and_normalise(*given), given, [of_added, of_normal])
    exact = [part.double().requires_grad_() for part in (x, y)]
    wanted = torch.autograd.grad(plain(*exact), exact, [of_added.double(), of_normal.double()])
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == dtype
        torch.testing.assert_close(one.double(), other, rtol=4 * STEP[dtype], atol=8 * STEP[dtype])
        assert (one.double() - other).abs().mean() < 1.3 * STEP[dtype]
    assert torch.equal(found[1] == 0, (y <= 0) | (found[0] == 0)), "no gradient where the ReLU is 0"


def test_other_types_are_left_to_torch() -> None:
    torch.manual_seed(4)
    x, y = some(3, 8, dtype=torch.float64), some(3, 8, dtype=torch.float64)
    for one, other in zip(add_and_normalise(x, y), plain(x, y), strict=True):
        assert one.dtype == torch.float64
        assert torch.equal(one, other)


@pytest.mark.parametrize(("rows", "inputs", "outputs"), [(500, 300, 40), (500, 300, 64), (7, 57, 16), (0, 57, 16), (9, 20, 16)])
def test_the_first_layer_leaves_out_what_is_zero(rows: int, inputs: int, outputs: int) -> None:
    torch.manual_seed(3)
    features = some_bytes(rows, inputs)
    features[:1] = 0
    weight, bias = torch.randn(outputs, inputs, requires_grad=True), torch.randn(outputs, requires_grad=True)
    found, expected = first_layer(weight, bias, torch.float32)(features), functional.linear(features.float(), weight, bias)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    of_each = [torch.autograd.grad((result * result.detach()).sum(), [weight, bias]) for result in (found, expected)]
    for one, other in zip(*of_each, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3 * float(other.abs().max()))


def test_in_half_precision_torch_does_it() -> None:
    torch.manual_seed(4)
    features, weight, bias = some_bytes(20, 60), torch.randn(8, 60), torch.randn(8)
    found = first_layer(weight, bias, torch.bfloat16)(features)
    assert torch.equal(found, functional.linear(features.bfloat16(), weight.bfloat16(), bias.bfloat16()))
