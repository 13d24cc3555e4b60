"""Arrays in untrusted NumPy `.npz` files: shape and type are checked before reading, and no pickle is loaded."""

from __future__ import annotations

from typing import Any
from zipfile import ZipFile

import numpy as np
from numpy.lib import format as npy


def head_of(file: ZipFile, name: str) -> tuple[tuple[int, ...], np.dtype[Any]] | None:
    """Read only shape and dtype of an array, None if there is no such array; a damaged file can raise any Exception."""
    if f"{name}.npy" not in file.NameToInfo:
        return None
    with file.open(f"{name}.npy") as member:
        version = npy.read_magic(member)
        shape, _, dtype = (npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0)(member)
    return shape, dtype


def array_of(file: ZipFile, name: str) -> np.ndarray:
    """Read an array, in C order; a damaged file can raise any Exception."""
    with file.open(f"{name}.npy") as member:
        return np.asarray(npy.read_array(member, allow_pickle=False), order="C")
