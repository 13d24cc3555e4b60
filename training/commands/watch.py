"""`noms watch`: show players at the table, decision by decision."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Annotated

import tyro
from rich.text import Text

from ..agents.registry import compile_players
from ..console import print_lines, say, terminal
from ..options import by_default, rules_of
from ..play.narrate import Narrator
from ..play.session import Session, action_probabilities, random_seed, seat_players
from ..play.terminal import legend_lines
from .arguments import Game, Option, RandomSeed, Seats
from .common import OK, CommandError, wrong_arguments

MAX_DELAY = 86_400


def watch(
    variant: Game,
    player: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="PLAYER ...", help_behavior_hint="")],
    seats: Seats = None,
    option: Option = (),
    deals: Annotated[int | None, by_default("one match", "N")] = None,
    seed: RandomSeed = None,
    delay: Annotated[float | None, by_default("wait for Enter", "SECONDS")] = None,
    from_seat: Annotated[int | None, by_default("show everything", "S")] = None,
) -> int:
    """Watch players or policies play, decision by decision, with the action probabilities of policies.

    For a search on a policy, the expected points of its best actions are shown, less the mean of the others' points.

    Enter shows the next decision, and Ctrl-D quits. With --delay, or without a terminal, it continues by itself.

    For example:
      noms watch small_ships thumb
      noms watch down_up runs/down_up-fast thumb thumb --seats 3 --delay 1
      noms watch noms pimc:20 --from-seat 1 --deals 3

    Args:
        player: The players, as for `noms evaluate`: one for all seats, or one for each from seat 0.
        deals: Deals to show, match after match.
        delay: Seconds between two decisions.
        from_seat: Show only what this seat sees, and its own probabilities; numbered from 0.
    """
    if delay is not None and not 0 <= delay <= MAX_DELAY:
        raise CommandError(f"--delay must be from 0 to {MAX_DELAY}, not {delay}")

    with wrong_arguments():
        rules = rules_of(variant, seats, option)
        if from_seat is not None and not 0 <= from_seat < rules.seats:
            raise ValueError(f"--from-seat must be a seat from 0 to {rules.seats - 1}, not {from_seat}")
        seed = random_seed() if seed is None else seed
        players = seat_players(player, rules.seats, rules)
        compile_players(player, batches=False)
        session = Session(rules, players, seed=seed, deals=deals)
    names = [f"seat {number} {seated.name}" for number, seated in enumerate(session.players) if seated is not None]
    print_lines([f"{' · '.join(names)} · --seed {seed}", *legend_lines(rules)])
    if delay is None and sys.stdin.isatty():
        print_lines(["Enter shows the next decision, Ctrl-D quits; --delay SECONDS goes on by itself."])
    show(narrate_session(session, from_seat), delay)
    return OK


def narrate_session(session: Session, seat: int | None) -> Iterator[list[str]]:
    """Play a session without a person, and yield each decision and the start and end of each deal as lines with ANSI colours.

    The lines show what `seat` sees; everything if it is None.
    """
    while True:
        narrator = Narrator(session.deals[-1], session.table, seat, hands=True)
        yield list(narrator.opening())
        while not session.table.is_scored:
            action = session.choose()
            probabilities = action_probabilities(session.acting.player, session.table)
            lines = list(narrator.decision(action, probabilities, session.values()))
            session.take(action)
            yield [*lines, *narrator.trick_end()]
        yield list(narrator.ending())
        if session.is_over:
            return
        session.next_deal()


def show(blocks: Iterable[list[str]], delay: float | None) -> None:
    """Print blocks of lines, and wait after each."""
    waits = delay is None and sys.stdin.isatty()
    for *lines, last in blocks:
        print_lines(lines)
        say(terminal(), Text.from_ansi(last), "" if waits else "\n")  # the user's Enter ends the line
        if waits:
            try:
                input()
            except EOFError:
                print()
                return
        elif delay:
            time.sleep(delay)
