"""`noms record`: play matches and write their records."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated

import tyro

from noms_env.record import Record, record_matches, write_records
from noms_env.variants import game, make_rules

from ..agents.registry import compile_players
from ..options import parse_options
from ..play.session import seat_players
from ..progress_bar import progress_bar
from ..text import count
from .arguments import Flag, Game, Option, Players, ProgramLimit, Seats, check_limit, names_of
from .common import OK, file_errors, interruptible, wrong_arguments
from .files import check_not_read


def record(
    variant: Game,
    out: Annotated[str, tyro.conf.arg(metavar="FILE")],
    seats: Seats = None,
    matches: Annotated[int, tyro.conf.arg(metavar="K")] = 1,
    seed: Annotated[int, tyro.conf.arg(metavar="S")] = 0,
    player: Players = (),
    option: Option = (),
    legal: Flag = False,
    limit: ProgramLimit = None,
) -> int:
    """Play matches and write their records (noms-record/1), one deal per line.

    The same arguments give the same file on every machine. An existing file is replaced once all records are written.

    For example:
      noms record small_ships --matches 100 --seed 7 --out games.jsonl
      noms record noms --option min_bid=7 --option target=null --out games.jsonl
      noms record small_ships --player runs/small_ships-fast --out games.jsonl
      noms record up_down --player thumb thumb my_agent:act 'cmd:./my_bot' --out games.jsonl
      noms record big_ships --seats 5 --option 'trump_rotation=["S","NT"]' --legal --out games.jsonl

    Args:
        out: The file to write; `-` prints the records.
        matches: Number of matches.
        seed: 0 to 2**63 - 1, for cards and random players.
        legal: Store the legal actions with every decision.
    """
    check_limit(limit)
    names = names_of(player)
    check_not_read(out, *names)

    with wrong_arguments():
        options = parse_options(option)
        rules = make_rules(game(variant), seats, options)
        players = [seated.player for seated in seat_players(names, rules.seats, rules, limit)]
        compile_players(names, batches=False)
        records = record_matches(variant, seats, matches, seed, options, players, legal)
    deals = ended = 0

    def counted() -> Iterator[Record]:
        nonlocal deals, ended
        for played in records:
            deals += 1
            ended += played["over"]
            advance(played["over"])
            yield played

    stopped = interruptible(f"{out} is not written")
    with stopped, progress_bar("record", "matches", matches) as advance, file_errors(f"cannot write {out}"):
        write_records(sys.stdout if out == "-" else out, counted())
    print(f"{count(deals, 'deal')} of {count(ended, 'match', 'matches')} written to {out}", file=sys.stderr)
    return OK
