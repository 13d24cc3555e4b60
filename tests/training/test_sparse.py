"""The first layer, compiled, against torch's own operations."""

import pytest
import torch
from torch.nn import functional

from noms_training.learn.sparse import first_layer
from tests.training.test_network import some_bytes


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
