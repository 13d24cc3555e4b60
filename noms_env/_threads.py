"""Work on rows in several threads: compiled code releases the interpreter's lock, so plain threads use all cores."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import wraps
from itertools import pairwise
from typing import Any, TypeVar, cast

Method = TypeVar("Method", bound=Callable[..., Any])


def one_thread(method: Method) -> Method:
    """Decorate a method to raise RuntimeError while another thread is in a decorated method of the same object.

    The object has a lock in `_lock`. Compiled code that two threads run on the same tables could write out of bounds.
    """

    @wraps(method)
    def alone(self: Any, *arguments: Any, **options: Any) -> Any:
        if not self._lock.acquire(blocking=False):
            raise RuntimeError(f"another thread is in a method of this {type(self).__name__}: give each thread its own")
        try:
            return method(self, *arguments, **options)
        finally:
            self._lock.release()

    return cast(Method, alone)


class RowThreads:
    """Runs a function over ranges of rows in several threads. The threads start at the first call that needs them.

    Attributes:
        threads: maximal number of threads.
    """

    def __init__(self, threads: int, min_rows: int = 1) -> None:
        """Set the numbers; no thread starts yet.

        Args:
            threads: maximal number of threads, including the calling one.
            min_rows: minimal number of rows per thread.
        """
        self.threads = threads
        self._min_rows = min_rows
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0

    def run(self, rows: int, function: Callable[[int, int, int], object]) -> None:
        """Call `function(first row, end row, index of the range)` for ranges that partition `range(rows)`.

        Raises:
            Exception: an exception of the function, after all threads have left it.
        """
        parts = max(1, min(self.threads, rows // self._min_rows))
        if parts == 1:
            function(0, rows, 0)
            return
        if self._pool is None or self._process != os.getpid():  # a forked process has none of the threads
            self._pool, self._process = ThreadPoolExecutor(self.threads - 1, thread_name_prefix="noms-rows"), os.getpid()
        ranges = list(pairwise(rows * part // parts for part in range(parts + 1)))
        running = [self._pool.submit(function, *ranges[part], part) for part in range(1, parts)]
        try:
            function(*ranges[0], 0)
        finally:
            wait(running)
        for future in running:
            future.result()

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle the arguments; a copy starts its own threads."""
        return RowThreads, (self.threads, self._min_rows)


ONE_THREAD = RowThreads(1)
"""The calling thread alone."""
