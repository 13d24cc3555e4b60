"""Records of random play, of one whole deal, or with changed values, and the faults that the check finds in them."""

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

from noms_env.record import Disagreement, Record, Recorder, check_records, record_matches
from noms_env.table import Table
from tests import referee

SIXTEEN = {"ranks": 4}  # J Q K A of four suits
RECORD_KEYS = tuple(referee.random_match("up_down", 4, {"ranks": 2}, random.Random(0))[0])


def check(records: list[Any]) -> list[Disagreement]:
    """Check records that went through JSON and back."""
    return list(check_records(enumerate(json.loads(json.dumps(records)), 1)))


def wrong_keys(records: list[Any]) -> list[str]:
    return [disagreement.what for disagreement in check(records)]


def play(table: Table, seed: int = 0, *, words: str = "", passing: bool = False) -> Record:
    """Play the table's deal and return its record: first these words, then at random, with every pass if `passing`."""
    rng, recorder, script = random.Random(seed), Recorder(legal=True), words.split()
    while not table.is_scored:
        legal = table.legal_words()
        action = table.number(script.pop(0) if script else "pass" if passing and "pass" in legal else rng.choice(legal))
        recorder.note(table, action)
        table.step(action)
    return recorder.finish(table)


def play_match(table: Table) -> Iterator[Record]:
    """Play the table's match at random and yield the record of each deal."""
    table.start()
    for seed in range(100):
        yield play(table, seed)
        if table.is_over:
            return
        table.next_deal()


WHOLE = next(record_matches("small_ships", options=SIXTEEN, legal=True))


def changed(record: Record, **values: Any) -> Record:
    """Return a copy with other values; the key `steps__0__seat` names a nested place."""
    record = copy.deepcopy(record)
    for path, value in values.items():
        *parents, last = [int(word) if word.isdigit() else word for word in path.split("__")]
        place: Any = record
        for key in parents:
            place = place[key]
        place[last] = value
    return record
