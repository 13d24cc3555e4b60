"""Records to look at: of random play, of one whole deal, and with other values; and what the check says of them."""

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

from noms_env.record import (
    Disagreement,
    Record,
    Recorder,
    check_records,
    record_matches,
)
from noms_env.table import Table
from tests import referee

SIXTEEN = {"ranks": 4}  # J Q K A of four suits
RECORD_KEYS = tuple(referee.random_match("up_down", 4, {"ranks": 2}, random.Random(0))[0])


def check(records: list[Any]) -> list[Disagreement]:
    """The disagreements, after a way through JSON and back."""
    return list(check_records(enumerate(json.loads(json.dumps(records)), 1)))


def named(records: list[Any]) -> list[str]:
    """What each disagreement is about."""
    return [disagreement.what for disagreement in check(records)]


def play(table: Table, seed: int = 0, *, passing: bool = False) -> Record:
    """The record of the deal on a table, played at random; passed out where that can be."""
    rng, recorder = random.Random(seed), Recorder(legal=True)
    while not table.is_scored:
        legal = table.legal_words()
        action = table.number("pass" if passing and "pass" in legal else rng.choice(legal))
        recorder.note(table, action)
        table.step(action)
    return recorder.finish(table)


def deals(table: Table, number: int = 100) -> Iterator[Record]:
    """The records of the match that begins on a table."""
    table.start()
    for deal in range(number):
        yield play(table, deal)
        if table.is_over:
            return
        table.next_deal()


WHOLE = next(record_matches("small_ships", options=SIXTEEN, legal=True))


def changed(record: Record, **values: Any) -> Record:
    """A copy with other values; `steps__0__seat` is what lies deeper."""
    record = copy.deepcopy(record)
    for path, value in values.items():
        *way, last = [int(word) if word.isdigit() else word for word in path.split("__")]
        place: Any = record
        for key in way:
            place = place[key]
        place[last] = value
    return record
