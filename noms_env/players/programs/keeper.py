"""Runs a program for another process, and kills it with all its children when that process ends for any reason.

    python -I -S keeper.py FD PROGRAM ARGUMENT ...

FD is the reading end of a pipe. The other process holds the writing end, and writes to it or closes it to kill the program.
The program inherits the keeper's standard streams, and the keeper ends with the program's status. On Linux orphans are
reparented to the keeper, so it also finds processes that have left the program's process group; elsewhere it kills the group.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
NOT_STARTED = 125  # exit status if the program cannot be started
ROUNDS = 500
"""Rounds of killing, a hundredth of a second each. A process that starts others may take several."""


def keep(control: int, words: list[str]) -> None:
    """Run the program until it ends or the pipe is closed, and end with its status."""
    os.set_inheritable(control, False)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    try:
        program = os.posix_spawnp(words[0], words, os.environ, setpgroup=0, setsigdef=[signal.SIGPIPE, signal.SIGXFSZ])
    except OSError as error:
        print(f"could not be started: {error.strerror}", file=sys.stderr)
        sys.exit(NOT_STARTED)
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):  # so that a stream is closed once the program closes it
        os.dup2(null, stream)
    statuses = dict[int, int]()
    while program not in statuses:
        ready, _, _ = select.select([control, woken], [], [])
        if control in ready or {*os.read(woken, 4096)} - {signal.SIGCHLD}:
            break
        reap(statuses)
    end_all(program, statuses)
    status = os.waitstatus_to_exitcode(statuses.get(program, signal.SIGKILL))
    if status < 0 and -status != signal.SIGKILL:
        signal.signal(-status, signal.SIG_DFL)
    if status < 0:
        os.kill(os.getpid(), -status)
    os._exit(status)


def reap(statuses: dict[int, int]) -> bool:
    """Note the status of ended children. Return whether others are running."""
    try:
        while (ended := os.waitpid(-1, os.WNOHANG))[0] != 0:
            statuses[ended[0]] = ended[1]
    except ChildProcessError:
        return False
    return True


def end_all(program: int, statuses: dict[int, int]) -> None:
    """Kill children until there are none; orphans of a killed child are reparented to this process."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(program, signal.SIGKILL)
    for _ in range(ROUNDS):
        if not reap(statuses):
            return
        for child in children() if sys.platform == "linux" else []:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(child, signal.SIGKILL)
        time.sleep(0.01)


def children() -> list[int]:
    """Return the process ids of this process's children."""
    pids = []
    for folder in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            process = int(folder.name)
            parent = (folder / "stat").read_bytes().rpartition(b")")[2].split()[1]
            if int(parent) == os.getpid():
                pids.append(process)
    return pids


if __name__ == "__main__":
    keep(int(sys.argv[1]), sys.argv[2:])
