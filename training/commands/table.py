"""`noms table`: serve tables at which people play in the browser."""

from __future__ import annotations

import re
import secrets
import socket
import sys
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import tyro

from noms_env._files import read_file, write_atomically

from ..agents.registry import agent_spec
from ..extras import require
from ..options import by_default
from ..play.browser.hall import Hall
from ..play.browser.lobby import Lobby
from ..play.browser.messages import LOOPBACK, Limits
from .arguments import Flag
from .common import OK, CommandError, file_errors, wrong_arguments

HOME = "127.0.0.1"
ANY_HOST = ("0.0.0.0", "::")
"""Addresses of all interfaces; with them the server accepts any host name."""
PORTS = (1, 65535)


def table(
    host: Annotated[str, tyro.conf.arg(metavar="ADDRESS")] = HOME,
    port: Annotated[int, tyro.conf.arg(metavar="N")] = 8000,
    folder: Annotated[str, tyro.conf.arg(metavar="FOLDER")] = "tables",
    player: Annotated[tuple[str, ...], by_default("none", "NAME ...")] = (),
    most_tables: Annotated[int, tyro.conf.arg(metavar="N")] = 200,
    idle_hours: Annotated[float, tyro.conf.arg(metavar="HOURS")] = 72,
    no_open: Flag = False,
) -> int:
    """Play in the browser: choose a game on the page that opens, and play.

    Players or policies take the other seats, or people to whom you send a link. Tables are saved to a folder after every
    decision, and continue after a restart. A browser receives what its seat may see, and nothing else.

    By default only this machine can connect. With another --host everybody needs the token in the printed address; it stays the
    same for the same folder. The connection is not encrypted, so use it in a network that you trust, or behind a proxy with
    HTTPS and with --host 0.0.0.0.

    For example:
      noms table
      noms table --port 8080 --player runs/small_ships-fast search:small_ships@0
      noms table --host 192.168.1.20

    Args:
        host: The address to listen on.
        port: The port to listen on.
        folder: The folder of the tables; created if missing.
        player: Additional players to choose from, as for `noms evaluate`.
        most_tables: Largest number of tables.
        idle_hours: Hours after which an abandoned table is removed.
        no_open: Do not open the page in a browser; from a script none is opened anyway.
    """
    if not PORTS[0] <= port <= PORTS[1]:
        raise CommandError(f"--port must be from {PORTS[0]} to {PORTS[1]}, not {port}")
    if most_tables < 1:
        raise CommandError(f"--most-tables must be 1 or more, not {most_tables}")
    if not 0 < idle_hours < 1e6:
        raise CommandError(f"--idle-hours must be above 0 and below a million, not {idle_hours}")
    for module in ("uvicorn", "starlette", "websockets"):
        require(module, "table")

    with wrong_arguments():
        for name in player:
            agent_spec(name)
    with file_errors(f"cannot use the folder {folder}"):
        Path(folder).mkdir(0o700, parents=True, exist_ok=True)
    limits = Limits(tables=most_tables, idle_hours=idle_hours)
    return serve(host, port, Path(folder), player, limits, opens=not no_open and sys.stdout.isatty())


TOKEN = re.compile("[A-Za-z0-9_-]{22}")


def kept_token(folder: Path) -> str:
    """Return the token of a folder, drawn on first use and saved, so that links stay valid; CommandError for a bad file."""
    path = folder / "token"
    with file_errors(f"cannot keep the token in {path}"):
        if not path.exists():
            write_atomically(path, secrets.token_urlsafe(16).encode(), mode=0o600)
        token = read_file(path, 1024).decode(errors="replace").strip()
    if not TOKEN.fullmatch(token):
        raise CommandError(f"{path} holds no token; remove it, and a new one is drawn")
    return token


def serve(host: str, port: int, folder: Path, players: tuple[str, ...], limits: Limits, opens: bool = False) -> int:
    """Serve the tables of a folder until Ctrl-C, and open the page if `opens`; CommandError if the address cannot be used."""
    from ..play.browser.connections import server_of  # both here, since the server's libraries are an extra
    from ..play.browser.server import application

    is_local = host in LOOPBACK
    token = None if is_local else kept_token(folder)
    name = f"[{host}]" if ":" in host else host
    hosts = LOOPBACK if is_local else () if host in ANY_HOST else (name.lower(), *LOOPBACK)
    lobby = Lobby(players)
    app = application(Hall(folder, lobby, limits, token), hosts)
    with file_errors(f"cannot listen at {name}:{port}"):
        both = host == "::" and socket.has_dualstack_ipv6()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family, dualstack_ipv6=both)
    address = f"http://{name}:{port}/" + (f"#token={token}" if token else "")
    print(f"open {address}; Ctrl-C ends the server, the tables stay", flush=True)
    lobby.compile()
    if opens:
        home = "[::1]" if family == socket.AF_INET6 and not both else HOME
        open_page(address.replace(f"//{name}:", f"//{home}:") if host in ANY_HOST else address)
    server_of(app, limits.message_bytes).run(sockets=[listening])
    return OK


def open_page(address: str) -> None:
    """Open a page in a graphical browser, if there is one."""
    with suppress(webbrowser.Error):
        browser = webbrowser.get()
        if not isinstance(browser, webbrowser.GenericBrowser) or isinstance(browser, webbrowser.BackgroundBrowser):
            browser.open(address)
