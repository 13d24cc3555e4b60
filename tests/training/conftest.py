"""What the tests of the benchmark share: a short protocol."""

import pytest

from noms_training.benchmark import scores
from tests.training.entries import DEALS, make_small


@pytest.fixture
def few_deals(monkeypatch: pytest.MonkeyPatch) -> None:
    """A protocol with few deals and without the fields that search, in which all else is as it is."""
    make_small(monkeypatch, DEALS)
    monkeypatch.setattr(scores, "REPLICATES", 50)
    monkeypatch.setattr(scores.summary, "__defaults__", (50,))
