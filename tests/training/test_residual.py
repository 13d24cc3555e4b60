"""The sum and the norm between two layers, against torch's own operations."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from training.learn.network import add_and_normalise


def plain(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    added = x + functional.relu(y)
    return added, functional.layer_norm(added, added.shape[-1:])


def some(*shape: int, dtype: torch.dtype = torch.bfloat16) -> Tensor:
    return torch.randn(*shape).to(dtype)


@pytest.mark.parametrize("shape", [(0, 16), (1, 4), (37, 48), (5, 250)])
def test_the_compiled_pass_gives_what_torch_gives(shape: tuple[int, int]) -> None:
    torch.manual_seed(1)
    x, y = some(*shape), some(*shape)
    added, normal = add_and_normalise(x, y)
    wanted, of_it = plain(x, y)
    assert torch.equal(added, wanted)
    assert normal.dtype == torch.bfloat16
    exact = functional.layer_norm(wanted.double(), wanted.shape[-1:])
    torch.testing.assert_close(normal.double(), exact, rtol=2**-8, atol=1e-5)
    torch.testing.assert_close(normal, of_it, rtol=2**-7, atol=1e-4)


def test_its_gradients_are_those_of_the_exact_operations() -> None:
    torch.manual_seed(2)
    x, y, of_added, of_normal = (some(40, 48) for _ in range(4))
    given = [part.clone().requires_grad_() for part in (x, y)]
    found = torch.autograd.grad(add_and_normalise(*given), given, [of_added, of_normal])
    exact = [part.double().requires_grad_() for part in (x, y)]
    wanted = torch.autograd.grad(plain(*exact), exact, [of_added.double(), of_normal.double()])
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == torch.bfloat16
        torch.testing.assert_close(one.double(), other, rtol=2**-6, atol=0.03)
        assert (one.double() - other).abs().mean() < 0.005
    assert torch.equal(found[1] == 0, (y <= 0) | (found[0] == 0)), "no gradient where the ReLU is 0"


def test_other_types_are_left_to_torch() -> None:
    torch.manual_seed(4)
    x, y = some(3, 8, dtype=torch.float32), some(3, 8, dtype=torch.float32)
    for one, other in zip(add_and_normalise(x, y), plain(x, y), strict=True):
        assert one.dtype == torch.float32
        assert torch.equal(one, other)
