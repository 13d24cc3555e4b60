"""`noms play`: a person at the table."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import tyro

from noms_env.record import Record, write_records
from noms_env.show import look
from noms_env.show.view import View

from ..agents.registry import compile_players
from ..console import print_lines, table_lines, terminal
from ..options import by_default, rules_of
from ..play.score_sheet import score_sheet
from ..play.session import Session, random_seed, seat_players
from ..play.terminal import (
    UnclearError,
    advice_lines,
    help_lines,
    legend_lines,
    parse_action,
    prompt,
    rules_lines,
    screen_lines,
    tricks_lines,
)
from ..text import count
from .arguments import Game, Option, RandomSeed, Seats
from .common import OK, STOPPED, CommandError, file_errors, wrong_arguments
from .files import check_folder_of

PLAYED = Path("played")
QUIT, UNDO, ADVICE, TRICKS, SCORE = ("q", "quit"), ("u", "undo"), ("?",), ("t", "tricks"), ("score",)
HELP, RULES = ("help",), ("rules",)

Ask = Callable[[str], str]
"""Prompts the person and returns the typed text; raises EOFError at the end of input."""
Tell = Callable[[Iterable[str]], None]
"""Shows lines with ANSI colours."""


def play(
    variant: Game,
    seat: Annotated[int, tyro.conf.arg(metavar="S")] = 0,
    against: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME ...")] = ("thumb",),
    seats: Seats = None,
    option: Option = (),
    deals: Annotated[int | None, by_default("one match", "N")] = None,
    seed: RandomSeed = None,
    record: Annotated[str | None, by_default("a new file in the folder played", "FILE")] = None,
) -> int:
    """Play a game yourself, against players or trained policies.

    You see what your seat may see. Type a card (QH, 10s), a number, pass, misere or a suit (H, hearts, nt). Enter takes the
    only legal action, and ? gives advice. Type help for all commands, and rules for the rules of the table. Finished deals are
    saved as records for noms replay and noms check, also after Ctrl-C.

    For example:
      noms play small_ships
      noms play noms --seat 2 --against runs/noms-fast
      noms play down_up --seats 3 --against thumb pimc:20 --deals 5 --record evening.jsonl

    Args:
        seat: Your seat; numbered from 0.
        against: The players, as for `noms evaluate`: one for all other seats, or one for each, clockwise from your left.
        deals: Deals to play, match after match.
        record: The file for the records.
    """
    if record and (Path(record).is_file() or Path(record).is_dir()):
        raise CommandError(f"{record} is there already; give --record a new name")
    check_folder_of(record or None)
    file = RecordFile(variant, Path(record) if record else None)
    with wrong_arguments():
        rules = rules_of(variant, seats, option)
        if not 0 <= seat < rules.seats:
            raise ValueError(f"--seat must be a seat from 0 to {rules.seats - 1}, not {seat}")
        others = seat_players(against, rules.seats - 1, rules)
        compile_players(against, batches=False)
        seed = random_seed() if seed is None else seed
        players = [None if other == seat else others[(other - seat - 1) % rules.seats] for other in range(rules.seats)]
        session = Session(rules, players, seed=seed, deals=deals)
    print(f"{rules.variant.title}, --seed {seed}: you are seat {seat}")
    print_lines(["Type help for what you can type, and rules for the rules.", *legend_lines(rules)])
    try:
        converse(session, ask_at_terminal, print_lines, file.write)
    except KeyboardInterrupt as stop:
        print()
        raise CommandError(f"stopped by Ctrl-C; {file.sentence(session)}", STOPPED) from stop
    finally:
        file.write(session.records())
    print(file.sentence(session))
    return OK


def converse(session: Session, ask: Ask, tell: Tell, save: Callable[[list[Record]], None]) -> None:
    """Play until the session ends or the person quits; the end of input quits, and `save` gets the records after each deal."""
    with suppress(EOFError):
        goes_on = True
        while goes_on:
            session.let_others_act()
            if session.table.is_scored:
                save(session.records())
            view = look(session.table, session.person)
            tell(screen_lines(view, session.names, terminal().width))
            if view.over:
                tell(["", *score_lines(session)])
            goes_on = answer(session, view, ask, tell)


def answer(session: Session, view: View, ask: Ask, tell: Tell) -> bool:
    """Prompt the person until the session changes; return False if it ends."""
    pages: dict[tuple[str, ...], Callable[[], Iterable[str]]] = {
        TRICKS: lambda: tricks_lines(session.deals[-1].record(session.table), session.table),
        SCORE: lambda: score_lines(session),
        HELP: lambda: help_lines(session.table.rules),
        RULES: lambda: rules_lines(session.table.rules),
    }
    while True:
        text = ask(prompt(view, session.is_over)).strip()
        command = "" if {text, text.upper()} & {*view.legal} else text.lower()
        page = next((page for words, page in pages.items() if command in words), None)
        if command in QUIT:
            return False
        if command in UNDO:
            if session.take_back():
                return True
            tell(["You have decided nothing yet that could be taken back."])
        elif page is not None:
            tell(page())
        elif view.phase is None:
            if not text:
                if not session.is_over:
                    session.next_deal()
                    return True
                return False
            tell(["The deal is over: press Enter, or type one of help, rules, score, t, u, q."])
        elif command in ADVICE:
            tell(advice_lines(session.table, session.advice()))
        else:
            try:
                session.take(parse_action(view, text or (view.legal[0] if len(view.legal) == 1 else "")))
                return True
            except UnclearError as unclear:
                tell([str(unclear)])


def score_lines(session: Session) -> Iterable[str]:
    """Return the score sheet of the finished deals."""
    records = session.records()
    if not records:
        return ["No deal is finished yet."]
    return table_lines(score_sheet(records, session.table.rules.variant, session.names))


def ask_at_terminal(prompt: str) -> str:
    """Prompt at the terminal, with line editing; EOFError for Ctrl-D or the end of a file."""
    if sys.stdin.isatty():
        with suppress(ImportError):
            import readline  # noqa: F401  # enables line editing, if available
    try:
        text = input(prompt)
    except EOFError:
        print()
        raise
    if not sys.stdin.isatty():
        print(text)  # echoes the input, like a terminal
    return text


class RecordFile:
    """File of the finished deals, created after the first deal; `path` is None until it has a name."""

    def __init__(self, variant: str, path: Path | None = None) -> None:
        """Write to the path, or if None to a new file of the game in the default folder."""
        self.path = path
        self._variant, self._is_named = variant, path is not None
        self._written: list[Record] = []

    def write(self, records: list[Record]) -> None:
        """Replace the file's deals by these; CommandError if it cannot be written."""
        if records == self._written:
            return
        with file_errors(f"cannot write {self.path or PLAYED}"):
            if records:
                self.path = self.path or new_file(self._variant)
                write_records(self.path, records)
            elif self.path is not None and self.path.is_file():
                self.path.unlink()  # the person took back all deals
                self.path = self.path if self._is_named else None  # another game may use the name
        self._written = records

    def sentence(self, session: Session) -> str:
        """Return a sentence on what is saved."""
        number = len(session.records())
        if not number:
            return "no deal was finished, so nothing is written"
        under_way = "" if session.table.is_scored else "; the deal under way is not, as records are of whole deals"
        return f"{count(number, 'deal')} written to {self.path}{under_way}"


def new_file(variant: str) -> Path:
    """Create an empty file with the first free number in the default folder, so that simultaneous games get different files."""
    PLAYED.mkdir(exist_ok=True)
    for number in itertools.count(1):
        path = PLAYED / f"{variant}-{number}.jsonl"
        with suppress(FileExistsError):
            path.touch(exist_ok=False)
            return path
    raise AssertionError("numbers do not end")
