"""Programs as players: each runs in its own process and answers one line per decision (`lines`).

A program that ends, is late or gives an invalid answer fails at that decision (`ForfeitError`). It is killed with all its
children, and restarted for the next decision. After several failures in a row it is not asked again. When this process ends, a
`keeper` kills the program (not on Windows).
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import weakref
from collections.abc import Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import IO, Any, ClassVar

import numpy as np

from noms_env.core.messages import printable
from noms_env.players.foreign_code import ForfeitError
from noms_env.players.programs import keeper
from noms_env.players.programs.lines import LONGEST, ProgramError, decision, find_action, hello, wants_observation
from noms_env.players.protocol import RowByRow
from noms_env.players.registry import COMMAND

LIMIT = 10.0  # default seconds for a decision
START_LIMIT = 30.0  # seconds for the answer to the first line, so that a program has time to load its data
GRACE = 1.0  # seconds for a program to end once its input is closed
MAX_FAILURES = 3  # failures in a row after which a program is not asked again
COMPLAINT = 200  # characters that errors quote of the last line on standard error
SEED_BITS = 32  # bits of a program's seed: exact as a floating-point number in any language

Lines = SimpleQueue[bytes | None]


class ProgramPlayer(RowByRow):
    """A program as a player, under the name that the user wrote; rows are asked one after another."""

    wants_tables: ClassVar[bool] = True

    def __init__(self, name: str, words: Sequence[str], limit: float = LIMIT) -> None:
        """Set up the player: the program and its arguments, which start when first asked, and the seconds for a decision."""
        self.name = name
        self._words, self._limit = list(words), limit
        self._program: Program | None = None
        self._wants_observation = False
        self._failures = 0

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, self._words, self._limit)

    def fresh(self) -> ProgramPlayer:
        """Return the same player with its own process, not started yet."""
        return ProgramPlayer(self.name, self._words, self._limit)

    def start(self) -> None:
        """Start the program if it is not running, and exchange the first lines; ProgramError if that fails."""
        self._leave_to_parent()
        if self._program is not None:
            return
        self._program = Program(self._words)
        try:
            answer = self._program.ask(hello(self._limit), max(START_LIMIT, self._limit), "to answer the first line")
            self._wants_observation = wants_observation(answer)
        except ProgramError:
            self.close(at_once=True)
            raise

    def close(self, at_once: bool = False) -> None:
        """End the program if it is running; with `at_once` kill it."""
        self._leave_to_parent()
        if self._program is not None:
            self._program.end(at_once)
            self._program = None

    def _leave_to_parent(self) -> None:
        """After a fork, leave the program to the process that started it: this one has none of the threads that talk to it."""
        if self._program is not None and self._program.started_by != os.getpid():
            self._program.detach()
            self._program = None

    def decide(self, observation: np.ndarray, mask: np.ndarray, row: Any, seed: int) -> int:
        """See `RowByRow`; ForfeitError if the program fails."""
        if self._failures >= MAX_FAILURES:
            raise ForfeitError(self.name, f"failed {MAX_FAILURES} times in a row and was not asked again")
        try:
            self.start()
            assert self._program is not None
            line = decision(row, mask, seed & ((1 << SEED_BITS) - 1), observation if self._wants_observation else None)
            action = find_action(self._program.ask(line, self._limit, "for a decision"), row, mask)
        except ProgramError as error:
            self._failures += 1
            self.close(at_once=True)  # a late answer would be read as the next one
            raise ForfeitError(self.name, str(error)) from error
        self._failures = 0
        return action


def load_program(name: str, limit: float | None = None) -> ProgramPlayer:
    """Load the player of `cmd:PROGRAM`, and start it; ValueError if that fails, or it does not speak the protocol."""
    try:
        words = command_words(name)
    except ValueError as error:
        raise ValueError(f"{name}: the words of the command cannot be told apart: {error}") from error
    if not words:
        raise ValueError(f"a program follows {COMMAND}, such as {COMMAND}./my_bot, and there is none")
    if shutil.which(words[0]) is None:
        raise ValueError(f"{name}: there is no program {words[0]!r}")
    player = ProgramPlayer(name, words, LIMIT if limit is None else limit)
    try:
        player.start()
    except ProgramError as error:
        raise ValueError(f"{name} {error}") from error
    return player


def command_words(name: str) -> list[str]:
    """Return the program and its arguments in `cmd:PROGRAM`; ValueError for an unclosed quotation."""
    return shlex.split(name.removeprefix(COMMAND))


class Program:
    """A process that answers line by line. It ends with this object at the latest."""

    def __init__(self, words: Sequence[str]) -> None:
        """Start the process; ProgramError if it cannot be started."""
        try:
            self._process, self._control = _start_program(words)
        except (OSError, ValueError) as error:
            raise ProgramError(f"could not be started: {getattr(error, 'strerror', None) or error}") from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self.started_by = os.getpid()
        self._questions, self._answers = Lines(), Lines()
        self._complaints: list[bytes] = []
        pipes = (self._process.stdin, self._process.stdout, self._questions, self._answers)
        talker = Thread(target=_talk, args=pipes, daemon=True, name="noms-program")
        errors = (self._process.stderr, self._complaints)
        self._listener = Thread(target=_listen, args=errors, daemon=True, name="noms-program-errors")
        threads = (talker, self._listener)
        for thread in threads:
            thread.start()
        self._end = weakref.finalize(self, _end, self._process, self._control, self._questions, threads)

    def ask(self, line: bytes, limit: float, what: str) -> bytes:
        """Send a line and wait up to `limit` seconds for an answer; `what` ends the error message: `for a decision`.

        ProgramError if the process has ended, is late, or its line is too long. It must not be asked again.
        """
        self._questions.put(line)
        try:
            answer = self._answers.get(timeout=limit)
        except Empty:
            raise ProgramError(f"took more than {limit:g} seconds {what}") from None
        if answer and answer.endswith(b"\n"):
            return answer
        if answer and len(answer) >= LONGEST:
            raise ProgramError(f"answered with a line of more than {LONGEST:,} bytes")
        raise ProgramError(self._describe_end())

    def detach(self) -> None:
        """Do not end the process with this object."""
        self._end.detach()

    def end(self, at_once: bool = False) -> None:
        """Close its input and wait for it to end; kill it if it does not, or with `at_once`."""
        if at_once:
            _kill(self._process, self._control)
        self._end()

    def _describe_end(self) -> str:
        try:
            status = self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            return "closed its output"
        self._listener.join(GRACE)
        ending = f"ended with exit status {status}" if status >= 0 else f"was ended by signal {-status}"
        lines = b"".join(self._complaints).decode(errors="replace").split("\n")
        messages = [line.strip() for line in lines if line.strip()]
        return f"{ending} ({printable(messages[-1][:COMPLAINT])})" if messages else ending


def _start_program(words: Sequence[str]) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
    """Start a program in its own session, out of reach of Ctrl-C. Return it, and the pipe whose byte or end kills it."""
    reading, writing = os.pipe()
    control = open(writing, "wb", buffering=0)  # noqa: PTH123, SIM115
    command = [sys.executable, "-I", "-S", keeper.__file__, str(reading)] if os.name == "posix" else []
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(
            [*command, *words],
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            pass_fds=(reading,) if command else (),
            start_new_session=True,
        )
    except BaseException:
        control.close()
        raise
    finally:
        os.close(reading)
    return process, control


def _talk(questions_to: IO[bytes], answers_from: IO[bytes], questions: Lines, answers: Lines) -> None:
    """Pass on lines until there are no more; an empty answer marks the end of the program."""
    while (line := questions.get()) is not None:
        try:
            questions_to.write(line)
            questions_to.flush()
            answers.put(answers_from.readline(LONGEST))
        except OSError:
            answers.put(b"")
    with suppress(OSError):  # the pipe may be broken
        questions_to.close()
    answers_from.close()


def _listen(errors: IO[bytes], complaints: list[bytes]) -> None:
    with errors:
        while line := errors.readline(LONGEST):
            complaints.append(line)
            del complaints[:-8]


def _end(process: subprocess.Popen[bytes], control: IO[bytes], questions: Lines, threads: Sequence[Thread]) -> None:
    """End a process and the threads that serve it, and reap it."""
    questions.put(None)
    with suppress(subprocess.TimeoutExpired):
        process.wait(GRACE)
    _kill(process, control)
    process.wait()
    for thread in threads:
        thread.join(GRACE)


def _kill(process: subprocess.Popen[bytes], control: IO[bytes]) -> None:
    with suppress(OSError, ValueError):  # the keeper may have ended, or the pipe may be closed
        control.write(b"x")  # forked processes may hold the pipe open
    control.close()
    if os.name != "posix":
        process.kill()
