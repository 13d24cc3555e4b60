"""Tables of results that grow: rows of CSV by their columns, read and written whole."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from noms_env._files import write_atomically


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file; none if there is no file."""
    return [*csv.DictReader(path.read_text(encoding="utf-8").splitlines())] if path.exists() else []


def write_rows(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Write a file; whoever stops it leaves the one that was there."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(path, text.getvalue().encode())
