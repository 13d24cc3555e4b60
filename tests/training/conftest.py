"""Fixture: a server of `noms table`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Any]:
    """Yield a `TableServer`, whose module needs the libraries of the extra `table`."""
    from tests.training.table_browsers import run_server

    with run_server(tmp_path) as server:
        yield server
