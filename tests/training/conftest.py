"""What the tests of the benchmark share: a short protocol."""

import pytest

from noms_training.benchmark import protocol, scores
from noms_training.benchmark.protocol import Field
from tests.training.entries import DEALS


@pytest.fixture
def few_deals(monkeypatch: pytest.MonkeyPatch) -> None:
    """A protocol with few deals and without the fields that search, in which all else is as it is."""
    fields = tuple(Field(field.name, DEALS, field.part) for field in protocol.FIELDS if field.part == "core")
    monkeypatch.setattr(protocol, "FIELDS", fields)
    monkeypatch.setattr(protocol, "CROSS_DEALS", DEALS)
    monkeypatch.setattr(scores, "REPLICATES", 50)
    monkeypatch.setattr(scores.summary, "__defaults__", (50,))
