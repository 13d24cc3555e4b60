"""Settings and notice for the first launch of a kernel, which compiles it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from threading import Timer
from typing import Any

from numba import config

from noms_env import _jit

PATIENCE = 2.0
"""Seconds until the notice during a first launch."""

_launched: set[tuple[Any, ...]] = set()
_said: list[str] = []


@contextmanager
def announced(kernel: Any, *arguments: Any) -> Iterator[None]:
    """Context of a launch. If it compiles for long, print one notice on standard error."""
    key = (id(kernel), *map(type, arguments))
    if key in _launched:
        yield
        return
    timer = Timer(PATIENCE, _say)
    timer.daemon = True
    timer.start()
    try:
        with kernel_settings():
            yield
    finally:
        timer.cancel()
    _launched.add(key)


@contextmanager
def kernel_settings() -> Iterator[None]:
    """Compile kernels with constants in global memory and without fused multiply-add.

    numba-cuda puts constants into constant memory, which has only 64 kB and serializes the threads of a warp that read
    different addresses. A fused multiply-add rounds once, but the CPU rounds the product and the sum.
    """
    if config.ENABLE_CUDASIM:
        yield
        return
    from numba.cuda.cudadrv import nvvm

    before = nvvm.ADDRSPACE_CONSTANT, nvvm.compile_ir
    nvvm.ADDRSPACE_CONSTANT, nvvm.compile_ir = nvvm.ADDRSPACE_GLOBAL, partial(nvvm.compile_ir, fma=False)
    try:
        yield
    finally:
        nvvm.ADDRSPACE_CONSTANT, nvvm.compile_ir = before


def _say() -> None:
    if not _said:
        _said.append(f"noms_env: compiling kernels for the GPU; {_jit.PROGRESS.cache_notice}")
        print(_said[0], file=sys.stderr, flush=True)
