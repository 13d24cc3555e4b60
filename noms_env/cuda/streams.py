"""The CUDA stream of all launches, and copies on it."""

from __future__ import annotations

import sys
import warnings
from functools import lru_cache
from typing import Any

import numpy as np
from numba import config, cuda

_DEFAULT = (0, 1)
"""Both handles of the default stream."""


def current() -> Any:
    """Return torch's current stream if torch uses the GPU, so that its CUDA graphs can capture launches; else the default."""
    torch = sys.modules.get("torch")
    if config.ENABLE_CUDASIM or torch is None or not torch.cuda.is_initialized():
        return 0
    return _stream(int(torch.cuda.current_stream().cuda_stream))


@lru_cache
def _stream(address: int) -> Any:
    return 0 if address in _DEFAULT else cuda.external_stream(address)


def configure(kernel: Any, blocks: int, threads: int) -> Any:
    """Return a kernel with its launch configuration."""
    if config.ENABLE_CUDASIM:
        return kernel[blocks, threads]
    return _configure(kernel, blocks, threads, current())


@lru_cache(1024)
def _configure(kernel: Any, blocks: int, threads: int, stream: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numba warns of low occupancy with few tables
        return kernel[blocks, threads, stream]


def let_wait(reader: int | None) -> None:
    """Make a reader's stream (its address; None and 1 for the default) wait for all launches so far."""
    if config.ENABLE_CUDASIM:
        return
    own, other = current(), _stream(1 if reader is None else reader)
    if own is not other:
        _after(own, other)


def wait_for(writer: int | None) -> None:
    """Make all later launches wait for a writer's stream; None for no wait."""
    if writer is None or config.ENABLE_CUDASIM:
        return
    own, other = current(), _stream(writer)
    if own is not other:
        _after(other, own)


def _after(first: Any, second: Any) -> None:
    done = cuda.event(timing=False)
    done.record(first)
    done.wait(second)


def to_host(array: Any) -> np.ndarray:
    """Copy a numba array to the host, after all launches that write it."""
    stream = current()
    host: np.ndarray = array.copy_to_host(stream=stream)
    if stream:
        stream.synchronize()
    return host


def to_device(array: np.ndarray) -> Any:
    """Copy an array to the GPU, as a numba array."""
    native = cuda.device_array(array.shape, array.dtype)
    if array.size > 0:
        native.copy_to_device(np.ascontiguousarray(array), stream=current())
    return native
