"""A real server of tables in a thread."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from noms_training.play.browser.connections import server_of
from noms_training.play.browser.hall import Hall
from noms_training.play.browser.server import application


@contextmanager
def served(hall: Hall) -> Iterator[str]:
    """Start a server and yield its address, `http://127.0.0.1:PORT/`."""
    server = server_of(application(hall), hall.limits.message_bytes)
    listening = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{listening.getsockname()[1]}/"
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server does not start"
        time.sleep(0.05)
    try:
        yield address
    finally:
        server.should_exit = True
        thread.join(20)
