"""A server of tables in a thread of its own, for clients that need a real one."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from training.browser.hall import Hall
from training.browser.server import application


@contextmanager
def served(hall: Hall) -> Iterator[str]:
    """The address of the server, `http://127.0.0.1:PORT/`."""
    import uvicorn

    server = uvicorn.Server(uvicorn.Config(application(hall), "127.0.0.1", 0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server does not start"
        time.sleep(0.05)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"
    finally:
        server.should_exit = True
        thread.join(20)
