"""Fixtures of the tests of the benchmark."""

import pytest

from noms_training.benchmark import scores
from tests.training.entries import DEALS, make_small


@pytest.fixture
def few_deals(monkeypatch: pytest.MonkeyPatch) -> None:
    """A protocol with few deals and without the fields that search."""
    make_small(monkeypatch, DEALS)
    monkeypatch.setattr(scores, "REPLICATES", 50)
    monkeypatch.setattr(scores.summary, "__defaults__", (50,))
