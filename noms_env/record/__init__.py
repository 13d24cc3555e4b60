"""Game records `noms-record/1`: one deal as one line of JSON.

Records are not trusted. Only chance is taken from them: the deck, the first dealer, a drawn trump (`trump_mode="random"`), the
seat sniped by lot (`tie="cut"`), and for the first deal of a match in the file its number, multiplier and totals.
"""

from __future__ import annotations

from noms_env.record.checking import Disagreement, check_records
from noms_env.record.decks import is_possible_deck
from noms_env.record.files import read_records, write_records
from noms_env.record.form import FORMAT, Record, RecordError, find_damage
from noms_env.record.recorder import Recorder, record_matches
from noms_env.record.replaying import replay

__all__ = [
    "FORMAT",
    "Disagreement",
    "Record",
    "RecordError",
    "Recorder",
    "check_records",
    "find_damage",
    "is_possible_deck",
    "read_records",
    "record_matches",
    "replay",
    "write_records",
]
