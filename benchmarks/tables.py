"""How soon `noms table` answers a click, with many tables at once: `python -m benchmarks.tables OUT`.

A server runs in a process of its own. At each of its tables a person plays whole deals over a websocket, with policies on the
other seats. OUT/tables.csv has a row for each number of tables and pace:

| column | |
|---|---|
| tables | tables at once |
| pace | seconds before a decision of a player, as the page offers them |
| think | mean seconds that a person thinks before a click |
| clicks | how many were measured |
| median, p95, p99 | milliseconds from a click to the message that shows it |
| rate | decisions in a second, of people and players |

All are by the wall clock: leave the machine alone. The persons' clicks compete with the server for the same cores.
"""

from __future__ import annotations

import asyncio
import csv
import json
import random
import secrets
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any
from urllib.request import Request, urlopen

import numpy as np
import tyro
from websockets.asyncio.client import ClientConnection, connect

from noms_training.text import markdown_table

COLUMNS = ("tables", "pace", "think", "clicks", "median", "p95", "p99", "rate")
SERVER = """
import sys
from pathlib import Path
from noms_training.browser.messages import Limits
from noms_training.commands.browser.table import serve
serve("127.0.0.1", int(sys.argv[1]), Path(sys.argv[2]), (), Limits(rate=1e9, pace=0))
"""
"""`noms table`, but for the limit of messages, which people do not reach, and the least pause."""


@dataclass
class Args:
    """The settings; `--help` prints them."""

    out: Annotated[Path, tyro.conf.Positional]
    """folder of the results"""
    tables: tuple[int, ...] = (1, 50)
    """tables at once"""
    paces: tuple[float, ...] = (0.0, 0.7)
    """seconds before a decision of a player"""
    think: float = 1.0
    """mean seconds before a click"""
    seconds: float = 30.0
    """how long each number of tables is measured, once all are open"""
    variant: str = "small_ships"
    """game"""
    player: str = "small_ships"
    """who has the other seats"""


@dataclass
class Person:
    """Somebody who plays at a table of a server.

    Attributes:
        args: the settings.
        pace: seconds before a decision of a player.
        seed: of what the person does.
        everybody: waits until all tables are open.
        waits: seconds from each click to the message that shows it.
        decisions: that were seen, of everybody.
        state: what the person has been told of the table.
    """

    args: Args
    pace: float
    seed: int
    everybody: asyncio.Barrier
    waits: list[float] = field(default_factory=list)
    decisions: int = 0
    state: dict[str, Any] = field(default_factory=dict)

    async def play(self, address: str) -> None:
        """Open a table, and play deal after deal."""
        rng = random.Random(self.seed)
        told = await asyncio.to_thread(opened, address, self.args)
        async with connect(f"ws{address.removeprefix('http')}socket") as line:
            await send(line, do="hello", table=told["table"], key=told["key"], token=None)
            await self.next_table(line)
            await send(line, do="speed", seconds=self.pace)
            await self.next_table(line)
            await self.everybody.wait()
            self.decisions, end = 0, time.perf_counter() + self.args.seconds
            while time.perf_counter() < end or not self.waits:
                if self.state["scored"]:
                    await send(line, do="back" if self.state["over"] else "next")
                elif self.state["turn"] == 0:
                    await asyncio.sleep(rng.expovariate(1 / self.args.think) if self.args.think else 0)
                    view = self.state["view"]
                    words = [*view["legal"], *(choice["word"] for choice in view["choices"])]
                    clicked, before = time.perf_counter(), self.state["moment"]
                    await send(line, do="act", word=rng.choice(words), moment=before)
                    while self.state["moment"] == before:
                        await self.next_table(line)
                    self.waits.append(time.perf_counter() - clicked)
                    continue
                await self.next_table(line)

    async def next_table(self, line: ClientConnection) -> None:
        """Take note of the next message that shows the table."""
        while True:
            message: dict[str, Any] = json.loads(await line.recv())
            if message["is"] == "refused":
                raise RuntimeError(message["text"])
            if message["is"] == "table":
                self.state |= message
                self.decisions += 1
                return


async def send(line: ClientConnection, **message: Any) -> None:
    """Send a message."""
    await line.send(json.dumps(message))


def opened(address: str, args: Args) -> dict[str, Any]:
    """A new table with a person on seat 0."""
    wish = {"variant": args.variant, "seats": 4, "players": [None, *[args.player] * 3], "people": {"0": "Ann"}}
    body = json.dumps({**wish, "hints": "thumb", "options": {}}).encode()
    with urlopen(Request(f"{address}api/tables", body), timeout=600) as answer:
        told: dict[str, Any] = json.load(answer)
    key = secrets.token_urlsafe(16)
    wish = {"table": told["table"], "invitation": told["invitations"]["0"], "key": key}
    with urlopen(Request(f"{address}api/seat", json.dumps(wish).encode())):
        return {**told, "key": key}


async def measured(address: str, args: Args, tables: int, pace: float) -> tuple[Any, ...]:
    """A row of the table."""
    everybody = asyncio.Barrier(tables)
    people = [Person(args, pace, seed, everybody) for seed in range(tables)]
    await asyncio.gather(*(person.play(address) for person in people))
    waits = 1000 * np.concatenate([person.waits for person in people])
    figures = (*np.percentile(waits, (50, 95, 99)), sum(person.decisions for person in people) / args.seconds)
    return (tables, pace, args.think, len(waits), *(float(f"{figure:.3g}") for figure in figures))


def free_port() -> int:
    """A port at which nobody listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def wait_for(address: str) -> None:
    """Wait until a server answers."""
    for _ in range(600):
        try:
            with urlopen(address, timeout=60):
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"nothing answers at {address}")


def main(args: Args) -> None:
    """Measure, and write the tables."""
    args.out.mkdir(parents=True, exist_ok=True)
    port, found = free_port(), list[tuple[Any, ...]]()
    address = f"http://127.0.0.1:{port}/"
    with TemporaryDirectory() as folder:
        server = subprocess.Popen([sys.executable, "-c", SERVER, str(port), folder], stdout=subprocess.DEVNULL)
        try:
            wait_for(address)
            warm = Args(args.out, seconds=3, think=0, variant=args.variant, player=args.player)
            asyncio.run(measured(address, warm, 1, 0))  # compiles and loads what is needed
            for pace in args.paces:
                for tables in args.tables:
                    found.append(asyncio.run(measured(address, args, tables, pace)))
                    print(*found[-1], flush=True)
        finally:
            server.terminate()
            server.wait()
    with (args.out / "tables.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *found])
    (args.out / "tables.md").write_text(markdown_table([[*map(str, row)] for row in found], *COLUMNS), encoding="utf-8")


if __name__ == "__main__":
    main(tyro.cli(Args))
