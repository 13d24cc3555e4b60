"""Deals as text and back: the game record `noms-record/1`, one deal as one line of JSON.

Writing:

* `Recorder` notes the decisions at a `Table` and makes the record of each deal.
* `record_matches` plays matches and yields their records.
* `write_records` writes a file of them; a file is there whole or not at all.

Reading:

* `read_records` yields each line's number with its record, or with a sentence that says how the line is damaged.
* `replay` plays a record again, decision by decision.
* `check_records` plays every record again and yields each `Disagreement` with the rules.

Nothing in a record is trusted. Only chance is taken from it: the deck, the first dealer, a trump that was drawn
(`trump_mode="random"`), which of the tied seats was sniped by lot (`tie="cut"`), and for the first deal of a match in the
file its number, multiplier and totals.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np

from noms_env.cards import CARD_WORDS, FRENCH, SUIT_LETTERS, cards_in
from noms_env.engine.legal import find_legal
from noms_env.engine.table import PositionError, Table
from noms_env.players import Player, make_player
from noms_env.rules import Rules, RulesError, game, make_rules
from noms_env.rules.match import judge
from noms_env.rules.noms_deck import AS_PLAYED, LEFT_FIRST, PACKETS, RANDOM_PILES, RIGHT_FIRST, SHUFFLED_TRICK, UNDERNEATH
from noms_env.rules.sniped_whist import counted_tricks
from noms_env.state import MAX_SEATS, NOMS, SINGLE_DEAL, VARIANTS
from noms_env.tricks import name_trump

FORMAT = "noms-record/1"
SAME = 1e-9
"""Points that differ by less are equal: fractions of a point add up with rounding errors."""

Record = dict[str, Any]


class RecordError(ValueError):
    """A record that cannot be played again; the message is one sentence."""


# ------------------------------------------------------------------------------------------------------------ writing


class Recorder:
    """Notes the decisions of a deal, and makes its record.

    A recorder serves one table, from the first decision of a deal on; after `finish` it is ready for the next deal.
    """

    def __init__(self, *, legal: bool = False) -> None:
        """Begin with no deal.

        Args:
            legal: store the legal actions with each decision.
        """
        self._legal = legal
        self._head: Record | None = None
        self._steps: list[Record] = []

    def note(self, table: Table, action: int) -> None:
        """Note a decision, just before `table.step(action)`.

        Args:
            table: the table, before the step.
            action: number of the legal action that the seat to act takes.
        """
        if self._head is None:
            self._head = _head(table)
        step: Record = {"seat": int(table.row.seat), "phase": table.phase, "action": table.word(action)}
        if self._legal:
            step["legal"] = table.legal_words()
        self._steps.append(step)

    def finish(self, table: Table) -> Record:
        """The record of the deal just scored; to be called before `table.go_on()`.

        Raises:
            ValueError: the deal is not scored yet, or none of its decisions was noted.
        """
        if not table.is_scored or self._head is None:
            raise ValueError("a record can be made of a deal that was noted from its first decision and is scored")
        record = {**self._head, "steps": self._steps, **_result(table)}
        self._head, self._steps = None, []
        return record


def _head(table: Table) -> Record:
    """What the record says of a deal before its first decision."""
    row, seats = table.row, range(table.seats)
    deck = [CARD_WORDS[table.deck_kind][card] for card in row.deck[: len(table.rules.deck)]]
    return {
        "format": FORMAT,
        "variant": table.rules.variant.name,
        "seats": table.seats,
        "options": dict(table.rules.options),
        "match": int(row.match),
        "deal": int(row.deal),
        "dealer": int(row.dealer),
        "hand_size": int(row.hand_size),
        "deck": deck,
        "hands": [table.card_words(row.hands[seat]) for seat in seats],
        "stock": deck[table.seats * row.hand_size :],
        "turn_up": _card_or_none(table, row.turn_up),
        "multiplier": int(row.multiplier),
        "before": [_plain(row.totals[seat]) for seat in seats],
    }


def _result(table: Table) -> Record:
    """What the record says of a deal that is scored."""
    row, seats = table.row, range(table.seats)
    return {
        "trump": table.trump_word(),
        "declarer": _seat_or_none(row.declarer),
        "nominated": _card_or_none(table, row.nominated),
        "partner": _seat_or_none(row.partner),
        "tricks": [int(row.tricks[seat]) for seat in seats],
        "points": [_plain(row.points[seat]) for seat in seats],
        "after": [_plain(row.totals[seat]) for seat in seats],
        **_end(row),
    }


def _end(row: np.record) -> Record:
    """Whether the match is over, and who has won it."""
    return {"over": bool(row.over), "truncated": bool(row.truncated), "winners": cards_in(row.winners)}


def _card_or_none(table: Table, card: int) -> str | None:
    return CARD_WORDS[table.deck_kind][card] if card >= 0 else None


def _seat_or_none(seat: int) -> int | None:
    return int(seat) if seat >= 0 else None


def _plain(points: float) -> int | float:
    """A whole number of points as an int."""
    return int(points) if float(points).is_integer() else float(points)


def record_matches(
    variant: str,
    seats: int | None = None,
    matches: int = 1,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
    players: str | Sequence[str] = "random",
    legal: bool = False,
) -> Iterator[Record]:
    """Play matches: an iterator over the records of their deals, which are played as it goes on.

    Match m is match m of table 0 of the seed, so its cards do not depend on how many matches are played. Each seat's
    player has a stream of random numbers of its own in every match:
    `numpy.random.Philox(key=[seed, match], counter=[0, 0, 0, seat])`.

    Args:
        variant: name of the game.
        seats: number of seats, the variant's default when None.
        matches: how many.
        seed: 0 to 2**63 - 1.
        options: options of the variant that differ from their defaults.
        players: names of the players, one for all seats or one for each.
        legal: store the legal actions with each decision.

    Raises:
        ValueError: one of these is not allowed.
    """
    if matches < 1:
        raise ValueError(f"matches must be 1 or more, not {matches}")
    table = Table(variant, seats, dict(options or {}), seed=seed)
    names = [players] * table.seats if isinstance(players, str) else list(players)
    if len(names) != table.seats:
        raise ValueError(f"players must be one name, or one for each of the {table.seats} seats, not {len(names)}")
    seated = [make_player(name) for name in names]
    return _played(table, seated, seed, matches, Recorder(legal=legal))


def _played(table: Table, seated: list[Player], seed: int, matches: int, recorder: Recorder) -> Iterator[Record]:
    """The records of the matches, deal by deal."""
    for match in range(matches):
        streams = [_stream(seed, match, seat) for seat in range(table.seats)]
        table.start(match)
        while not table.is_over:
            table.go_on()  # does nothing before the first deal
            while not table.is_scored:
                seat = int(table.row.seat)
                action = seated[seat].act(*table.view(seat), streams[seat])
                recorder.note(table, action)
                table.step(action)
            yield recorder.finish(table)


def _stream(seed: int, match: int, seat: int) -> np.random.Generator:
    """The random numbers of a player; the counter's highest word tells the seats' streams apart."""
    return np.random.Generator(np.random.Philox(key=[seed, match], counter=[0, 0, 0, seat]))


def write_records(target: str | os.PathLike[str] | IO[str], records: Iterable[Record]) -> int:
    """Write records, one to a line, and return their number.

    A file appears under its name only when it is complete: it is written beside its place and moved there at the end.
    What is not a regular file (a pipe, a device) or is open already is written to line by line.

    Args:
        target: where to, a path or a text file that is open.
        records: the records.

    Raises:
        OSError: it cannot be written; nothing is left behind, and a file that was there stays.
    """
    if not isinstance(target, str | os.PathLike):
        return _write_lines(target, records)
    path = Path(target).resolve()
    if path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8") as file:
            return _write_lines(file, records)
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with beside.open("w", encoding="utf-8") as file:
            count = _write_lines(file, records)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise
    return count


def _write_lines(file: IO[str], records: Iterable[Record]) -> int:
    """One line for each record."""
    count = 0
    for record in records:
        file.write(json.dumps(record, separators=(",", ":"), allow_nan=False) + "\n")
        count += 1
    return count


# ------------------------------------------------------------------------------------------------------------ reading


def read_records(path: str | os.PathLike[str]) -> Iterator[tuple[int, Record | str]]:
    """Each line's number, from 1, with its record, or with a sentence that says how the line is damaged.

    A record that comes from here has all its keys, with values of the right types (`find_damage`); whether they agree
    with the rules is for `check_records` to say.

    Raises:
        OSError: the file cannot be read.
    """
    with Path(path).open("rb") as file:
        for number, line in enumerate(file, 1):
            yield number, _parsed(line)


def _parsed(line: bytes) -> Record | str:
    """A line's record, or how it is damaged."""
    try:
        record = json.loads(line.decode(), parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        return "the line is not UTF-8 text"
    except RecursionError:
        return "the line is not a record but something nested too deeply"
    except ValueError as error:
        return f"the line is not JSON: {error}" if line.strip() else "the line is empty"
    return find_damage(record) or record


def _refuse_constant(word: str) -> NoReturn:
    """JSON has no NaN and no infinities."""
    raise ValueError(f"{word} is no number")


def _is_whole(value: Any, low: int = 0, high: float = math.inf) -> bool:
    """True for an integer of JSON within limits; true and false are none."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _is_number(value: Any) -> bool:
    """True for a number of JSON that points can be."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MOST_POINTS


def _are_words(value: Any) -> bool:
    """True for a list of strings."""
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def _is_option_value(value: Any) -> bool:
    """True for what an option of some variant could be."""
    return value is None or isinstance(value, str | int | float) or _are_words(value)


MOST_POINTS = 1e9

_Shape = tuple[str, Callable[[Any, int], bool]]
_WHOLE: _Shape = ("a whole number from 0", lambda value, _seats: _is_whole(value))
_SEAT: _Shape = ("a seat", lambda value, seats: _is_whole(value, 0, seats - 1))
_SEAT_OR_NULL: _Shape = ("a seat or null", lambda value, seats: value is None or _is_whole(value, 0, seats - 1))
_WORD_OR_NULL: _Shape = ("a word or null", lambda value, _seats: value is None or isinstance(value, str))
_WORDS: _Shape = ("a list of cards", lambda value, _seats: _are_words(value))
_BOOL: _Shape = ("true or false", lambda value, _seats: isinstance(value, bool))
_POINTS: _Shape = (
    "a list of numbers, one for each seat",
    lambda value, seats: isinstance(value, list) and len(value) == seats and all(map(_is_number, value)),
)

_SHAPES: dict[str, _Shape] = {
    "format": (repr(FORMAT), lambda value, _seats: bool(value == FORMAT)),
    "variant": ("a variant", lambda value, _seats: isinstance(value, str) and value in VARIANTS),
    "seats": (f"a number from 2 to {MAX_SEATS}", lambda value, _seats: _is_whole(value, 2, MAX_SEATS)),
    "options": (
        "an object of words, numbers, true, false, null and lists of words",
        lambda value, _seats: isinstance(value, dict) and all(map(_is_option_value, value.values())),
    ),
    "match": _WHOLE,
    "deal": _WHOLE,
    "dealer": _SEAT,
    "hand_size": _WHOLE,
    "deck": _WORDS,
    "hands": (
        "a list of lists of cards, one for each seat",
        lambda value, seats: isinstance(value, list) and len(value) == seats and all(map(_are_words, value)),
    ),
    "stock": _WORDS,
    "turn_up": _WORD_OR_NULL,
    "multiplier": _WHOLE,
    "before": _POINTS,
    "steps": ("a list of objects", lambda value, _seats: isinstance(value, list)),
    "trump": _WORD_OR_NULL,
    "declarer": _SEAT_OR_NULL,
    "nominated": _WORD_OR_NULL,
    "partner": _SEAT_OR_NULL,
    "tricks": (
        "a list of whole numbers, one for each seat",
        lambda value, seats: isinstance(value, list) and len(value) == seats and all(map(_is_whole, value)),
    ),
    "points": _POINTS,
    "after": _POINTS,
    "over": _BOOL,
    "truncated": _BOOL,
    "winners": (
        "a list of seats",
        lambda value, seats: isinstance(value, list) and all(_is_whole(seat, 0, seats - 1) for seat in value),
    ),
}
"""The keys of a record in their order: what each must be, in words and as a test of (value, seats)."""

_STEP_SHAPES: dict[str, _Shape] = {
    "seat": _SEAT,
    "phase": ("a word", lambda value, _seats: isinstance(value, str)),
    "action": ("a word", lambda value, _seats: isinstance(value, str)),
}


def find_damage(record: Any) -> str | None:
    """What keeps a value read from JSON from being a record, as a sentence; None if it has the form of one."""
    if not isinstance(record, dict):
        return f"the line is not an object but {_brief(record)}"
    damage = _misshapen(record, _SHAPES, 0)
    if damage:
        return damage
    for place, step in enumerate(record["steps"]):
        if not isinstance(step, dict):
            return f"step {place} is not an object but {_brief(step)}"
        damage = _misshapen(step, _STEP_SHAPES, record["seats"])
        if damage is None and not _are_words(step.get("legal", [])):
            damage = f"legal must be a list of words, not {_brief(step['legal'])}"
        if damage:
            return f"step {place}: {damage}"
    return None


def _misshapen(values: dict[str, Any], shapes: Mapping[str, _Shape], seats: int) -> str | None:
    """The first key that is missing or has a value of the wrong kind; `seats` from the values, once it is known good."""
    missing = [key for key in shapes if key not in values]
    if missing:
        return f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
    for key, (words, test) in shapes.items():
        if not test(values[key], seats):
            return f"{key} must be {words}, not {_brief(values[key])}"
        if key == "seats":
            seats = values[key]
    return None


def _brief(value: Any) -> str:
    """A value as JSON, cut short if it is long."""
    try:
        text = json.dumps(value)
    except RecursionError:
        return "something nested too deeply"
    return text if len(text) <= 120 else f"{text[:120]}..."


# ---------------------------------------------------------------------------------------------------------- replaying


def replay(record: Record) -> Iterator[Table]:
    """Play a record again: the table before each of its steps, and once more when the deal is scored.

    It is the same table each time, and it goes on with the next value that is asked for. What came by lot after the last
    trick (`tie="cut"`) is as recorded.

    Raises:
        RecordError: the record cannot be played (any further).
    """
    damage = find_damage(record)
    if damage:
        raise RecordError(damage)
    try:
        table = Table(record["variant"], record["seats"], record["options"])
        table.start(0, deck=record["deck"], dealer=record["dealer"], deal=record["deal"], multiplier=record["multiplier"])
    except ValueError as error:
        raise RecordError(str(error)) from error
    table.row.totals[: table.seats] = record["before"]
    if not draw_trump(table, record["trump"]):
        raise RecordError(f"the trump {_brief(record['trump'])} cannot have been drawn")
    for place, step in enumerate(record["steps"]):
        yield table
        try:
            table.act(step["action"])
        except ValueError as error:
            raise RecordError(f"step {place}: {error}") from error
    if not table.is_scored:
        raise RecordError(f"the steps end while seat {table.row.seat} is to act")
    draw_sniped(table, record["points"])
    yield table


def draw_trump(table: Table, trump: str | None) -> bool:
    """Give a deal with `trump_mode="random"`, just dealt, the trump that was drawn; False if it cannot have been.

    Other deals are left alone.
    """
    if table.rules.options.get("trump_mode") != "random":
        return True
    suits = SUIT_LETTERS[FRENCH][: table.rules.options["suits"]]
    if trump is None or len(trump) != 1 or trump not in suits:
        return False
    name_trump(table.row, suits.index(trump))
    find_legal(table.row)
    return True


def draw_sniped(table: Table, points: Sequence[float]) -> None:
    """Give a deal with `tie="cut"`, just scored, the lot that the points speak of.

    The seats among which the lot fell have the same number of tricks, so the one that was sniped and the one that the
    engine's lot fell on change places. Points that speak of no possible lot leave the table alone.
    """
    row = table.row
    drawn = cards_in(row.sniped)
    if table.rules.options.get("tie") != "cut" or len(drawn) != 1:
        return
    for seat in range(table.seats):
        if counted_tricks(row, seat) != counted_tricks(row, drawn[0]):
            continue
        changed = row.points[: table.seats].copy()
        changed[[seat, drawn[0]]] = changed[[drawn[0], seat]]
        if _same_points(changed, points):
            row.sniped = 1 << seat
            _score_again(table, changed)
            return


def _score_again(table: Table, points: Sequence[float]) -> None:
    """Exchange the points of a deal that is scored, and judge its match again."""
    row, n = table.row, table.seats
    row.totals[:n] += np.asarray(points, float) - row.points[:n]
    row.points[:n] = points
    _judge_again(row)


def _judge_again(row: np.record) -> None:
    """Decide anew whether the match is over."""
    row.over, row.truncated, row.winners = 0, 0, 0
    judge(row)


def _same_points(one: Iterable[float], other: Iterable[float]) -> bool:
    """True for the same numbers but for rounding errors."""
    return all(abs(a - b) < SAME for a, b in zip(one, other, strict=True))


# ----------------------------------------------------------------------------------------------------------- checking


@dataclass(frozen=True)
class Disagreement:
    """Something in a file of records that is not as the rules have it.

    Attributes:
        line: number of the line, from 1.
        match: number of the match; None, like the two below, for a damaged line.
        deal: number of the deal.
        step: number of the step, from 0; None for what concerns the deal.
        what: the key that is wrong; `line` for a damaged line.
        expected: what the rules say: a value, or words in `says`.
        found: what the record says; for a damaged line the sentence that names the damage.
        says: what is wrong, where a value to expect would not say it.
    """

    line: int
    match: int | None
    deal: int | None
    step: int | None
    what: str
    expected: Any
    found: Any
    says: str = field(default="", compare=False)

    def __str__(self) -> str:
        """One sentence."""
        if self.match is None:
            return f"line {self.line}: {self.found}"
        step = "" if self.step is None else f", step {self.step}"
        where = f"line {self.line}, match {self.match}, deal {self.deal}{step}"
        if self.says:
            return f"{where}: {self.what}: {self.says}"
        return f"{where}: {self.what} is {_brief(self.found)}, but should be {_brief(self.expected)}"


def check_records(lines: Iterable[tuple[int, Record | str]]) -> Iterator[Disagreement]:
    """Play records again and yield everything in them that is not as the rules have it.

    The records of different matches may be mixed; those of one match must be in order. A match whose every deal before
    the last was passed out, and which is over although the rules do not end it there, is a match of one scored deal
    (`episode="deal"`).

    Args:
        lines: what `read_records` yields; for records in memory, `enumerate(records, 1)`.
    """
    matches: dict[int, _Standing] = {}
    damaged = 0
    for line, record in lines:
        damage = record if isinstance(record, str) else find_damage(record)
        if damage is not None or isinstance(record, str):
            damaged += 1
            yield Disagreement(line, None, None, None, "line", "a record", damage)
            continue
        check = _DealCheck(line, record, matches.get(record["match"]), damaged)
        yield from check.run()
        matches[record["match"]] = check.standing()


_KEPT = ("variant", "seats", "options", "deal", "dealer", "after")


@dataclass
class _Standing:
    """Where a match stands after one of its deals."""

    record: Record
    """What is needed of the deal's record."""
    damaged: int
    """Damaged lines so far: a deal of the match may be missing where there are more of them."""
    over: bool
    idle: bool
    """Every deal so far was passed out, from totals of zero on."""
    table: Table | None
    """The table with the deal scored; None where the match is over, or the deal could not be played."""
    piled_known: bool
    """The tricks of the earlier deals are known (sniped whist, `accumulate`)."""


class _Stop(Exception):
    """The rest of this deal cannot be checked; the reason is noted."""


class _DealCheck:
    """The check of one deal."""

    def __init__(self, line: int, record: Record, before: _Standing | None, damaged: int) -> None:
        self.line, self.record, self.damaged = line, record, damaged
        self.before = before
        """The deal before of the same match; None where this one is taken as it is given."""
        self.found: list[Disagreement] = []
        self.table: Table | None = None
        self.complete = False

    def run(self) -> list[Disagreement]:
        """All disagreements of the deal."""
        try:
            self._check_keys()
            rules = self._checked_rules()
            self._check_sequence()
            self.table = Table(rules.variant.name, rules.seats, rules.options)
            self._start(self.table)
            self._check_head(self.table)
            self._play(self.table)
            self._check_result(self.table)
            self.complete = True
        except _Stop:
            pass
        return self.found

    def standing(self) -> _Standing:
        """Where the match stands after this deal."""
        table = self.table if self.complete else None
        over = bool(table.is_over) if table else self.record["over"]
        idle = self._may_be_single() and self.record["trump"] is None
        kept = {key: self.record[key] for key in _KEPT}
        return _Standing(kept, self.damaged, over, idle, None if over else table, self._piled_is_known())

    # ------------------------------------------------------------------------------------------------- what is noted

    def _say(self, what: str, expected: Any, found: Any, *, says: str = "", step: int | None = None) -> None:
        """Note a disagreement."""
        self.found.append(Disagreement(self.line, self.record["match"], self.record["deal"], step, what, expected, found, says))

    def _stop(self, what: str, expected: Any, found: Any, *, says: str = "", step: int | None = None) -> NoReturn:
        """Note a disagreement after which nothing more can be said of this deal."""
        self._say(what, expected, found, says=says, step=step)
        raise _Stop

    def _compare(self, what: str, expected: Any, *, step: int | None = None, within: Record | None = None) -> None:
        """Note a value that is not the expected one."""
        found = (self.record if within is None else within)[what]
        if not _same(expected, found):
            self._say(what, expected, found, step=step)

    # ------------------------------------------------------------------------------------------- before the first step

    def _check_keys(self) -> None:
        """No keys but those of the format."""
        for key in self.record:
            if key not in _SHAPES:
                self._say(key, None, self.record[key], says="the format has no such key")
        for place, step in enumerate(self.record["steps"]):
            for key in step:
                if key not in _STEP_SHAPES and key != "legal":
                    self._say(key, None, step[key], says="the format has no such key", step=place)

    def _checked_rules(self) -> Rules:
        """The rules of the table: every option must be there, with the value that is in force."""
        variant, given = game(self.record["variant"]), self.record["options"]
        names = [option.name for option in variant.options]
        known = {name: value for name, value in given.items() if name in names}
        try:
            rules = make_rules(variant, self.record["seats"], known)
        except RulesError as error:
            self._stop("options", None, given, says=str(error))
        for name in given:
            if name not in names:
                self._say("options", None, given[name], says=f"{variant.name} has no option {_brief(name)}")
        for name, value in rules.options.items():
            if name not in given:
                self._say("options", value, None, says=f"{name} is missing, which is {_brief(value)} here")
            elif not _same(value, given[name]):
                self._say("options", value, given[name], says=f"{name} is {_brief(given[name])}, but {_brief(value)} in force")
        return rules

    def _check_sequence(self) -> None:
        """The deal must follow on the one before in its match; where it does not, it is taken as it is given."""
        before = self.before
        if before is None:
            return
        expected, found = before.record["deal"] + 1, self.record["deal"]
        changed = [key for key in ("variant", "seats", "options") if not _same(before.record[key], self.record[key])]
        if before.over:
            self._say("deal", None, found, says=f"the match was over with deal {expected - 1}")
        elif found != expected:
            if before.damaged == self.damaged or found < expected:
                self._say("deal", expected, found)
        elif not changed:
            return
        for key in changed:
            self._say(key, before.record[key], self.record[key], says="it changes within the match")
        self.before = None

    def _start(self, table: Table) -> None:
        """Deal the recorded deck, as the deal before leads on to it."""
        for key in ("deal", "deck"):
            if not self._is_possible(table, key, key):
                raise _Stop
        if self.before is not None and self.before.table is not None:
            self._follow(table, self.before.table)
        else:
            self._take_as_given(table)
        if not draw_trump(table, self.record["trump"]):
            self._stop("trump", None, self.record["trump"], says=f"{_brief(self.record['trump'])} cannot have been drawn")

    def _is_possible(self, table: Table, key: str, name: str) -> bool:
        """Whether a deal can start with what the record says; if not, that is noted."""
        try:
            table.start(0, **{name: self.record[key]})
        except PositionError as error:
            self._say(key, None, self.record[key], says=str(error))
            return False
        return True

    def _deal(self, table: Table) -> None:
        """Deal the recorded deck."""
        table.start(0, **{key: self.record[key] for key in ("deck", "dealer", "deal")})

    def _follow(self, table: Table, previous: Table) -> None:
        """Dealer, multiplier and totals must be what the deal before makes them, and the deck one that it can lead to."""
        after = previous.copy()
        after.go_on()
        self._compare("dealer", int(after.row.dealer))
        self._compare("multiplier", int(after.row.multiplier))
        self._compare("before", _points_of(after, after.row.totals))
        if not is_possible_deck(previous, self.record["deck"]):
            self._say("deck", None, self.record["deck"], says="it is not a cut of the deck that the deal before leaves")
        self._deal(table)
        table.row.multiplier = after.row.multiplier
        table.row.totals[:] = after.row.totals
        table.row.piled[:] = after.row.piled

    def _take_as_given(self, table: Table) -> None:
        """Multiplier and totals as recorded, if they are possible; for a deal before that could not be played."""
        record = self.record
        if self.before is not None:
            self._compare("dealer", (self.before.record["dealer"] + 1) % table.seats)
            self._compare("before", self.before.record["after"])
        self._is_possible(table, "before", "totals")
        multiplier = record["multiplier"] if self._is_possible(table, "multiplier", "multiplier") else 1
        self._deal(table)
        table.row.multiplier = multiplier
        table.row.totals[: table.seats] = record["before"]

    def _check_head(self, table: Table) -> None:
        """What follows from the deck."""
        expected = _head(table)
        for key in ("hand_size", "stock", "turn_up"):
            self._compare(key, expected[key])
        hands = [sorted(hand) for hand in self.record["hands"]]
        if hands != [sorted(hand) for hand in expected["hands"]]:
            self._say("hands", expected["hands"], self.record["hands"])

    # ------------------------------------------------------------------------------------------------- from step to step

    def _play(self, table: Table) -> None:
        """Every step must be legal, and they must end with the deal."""
        steps = self.record["steps"]
        for place, step in enumerate(steps):
            phase = table.phase
            if phase is None:
                self._stop("steps", place, len(steps), says=f"the deal is over after {place} steps, but there are {len(steps)}")
            self._compare("seat", int(table.row.seat), step=place, within=step)
            self._compare("phase", phase, step=place, within=step)
            legal = step.get("legal")
            if legal is not None and sorted(legal) != sorted(table.legal_words()):
                self._say("legal", table.legal_words(), legal, step=place)
            self._act(table, place, step["action"])
        if table.phase is not None:
            says = f"they end while seat {table.row.seat} is to act in the phase {table.phase}"
            self._stop("steps", None, len(steps), says=says)

    def _act(self, table: Table, place: int, word: str) -> None:
        """One action, if it is legal."""
        try:
            table.act(word)
        except ValueError:
            legal = table.legal_words()
            says = f"{_brief(word)} is not legal for seat {table.row.seat}; legal in the phase {table.phase}: {' '.join(legal)}"
            self._stop("action", legal, word, says=says, step=place)

    # ---------------------------------------------------------------------------------------------- after the last step

    def _check_result(self, table: Table) -> None:
        """Contract, tricks, points, and the end of the match."""
        self._draw_lots(table)
        self._recognise_single_deal(table)
        expected = _result(table)
        for key, value in expected.items():
            if key == "winners" and sorted(self.record[key]) == value:
                continue
            self._compare(key, value)

    def _draw_lots(self, table: Table) -> None:
        """What came by chance after the last trick, or depends on deals that are not in the file, is as recorded."""
        if not self._piled_is_known() and self.record["deal"] == table.rules.options["n_hands"] - 1:
            _score_again(table, self.record["points"])
        else:
            draw_sniped(table, self.record["points"])

    def _recognise_single_deal(self, table: Table) -> None:
        """A match of one scored deal is over where the rules do not end a match; the points of the deal decide it."""
        row, found = table.row, {key: self.record[key] for key in ("over", "truncated", "winners")}
        if _end(row) == found or not found["over"] or not self._may_be_single():
            return
        by_the_match = row.copy()
        row.episode = SINGLE_DEAL
        _judge_again(row)
        if _end(row) != found and by_the_match.over:
            table.row.over, row.truncated, row.winners = by_the_match.over, by_the_match.truncated, by_the_match.winners

    def _may_be_single(self) -> bool:
        """True if nothing was scored before this deal: it can be the one deal of its match."""
        return not any(self.record["before"]) and (self.before is None or self.before.idle)

    def _piled_is_known(self) -> bool:
        """True unless tricks of earlier deals count that are not in the file."""
        if self.record["deal"] == 0 or not self.record["options"].get("accumulate"):
            return True
        return self.before is not None and self.before.piled_known and self.before.table is not None


def _same(expected: Any, found: Any) -> bool:
    """True for equal values of the same kind; numbers may differ by rounding errors, and 1 may be 1.0."""
    if isinstance(expected, list) and isinstance(found, list):
        return len(expected) == len(found) and all(map(_same, expected, found))
    if isinstance(expected, dict) and isinstance(found, dict):
        return expected.keys() == found.keys() and all(_same(expected[key], found[key]) for key in expected)
    if _is_number(expected) and _is_number(found):
        return bool(abs(expected - found) < SAME)
    return type(expected) is type(found) and bool(expected == found)


def _points_of(table: Table, values: Sequence[float]) -> list[int | float]:
    """Points of all seats as JSON has them."""
    return [_plain(value) for value in values[: table.seats]]


def is_possible_deck(previous: Table, deck: Sequence[str]) -> bool:
    """Whether a deal can be dealt from this deck after another one (rules 4.3).

    A deck that was shuffled can be anything. One that was gathered must be a cut of it, in one of the possible orders of
    the piles; of a trick that was shuffled (`trick_order="random"`) all that can be said is that its cards lie together.

    Args:
        previous: the table with the deal before, scored.
        deck: all cards in dealing order, after the cut.
    """
    row = previous.row
    if row.variant != NOMS or row.deal_mode != PACKETS:
        return True
    piles = _gathered(previous)
    orders = permutations(piles) if row.pile_order == RANDOM_PILES and not row.passed_out else [tuple(piles)]
    exact = row.trick_order != SHUFFLED_TRICK or row.passed_out
    uncut = [[*deck[-cut:], *deck[:-cut]] if cut else list(deck) for cut in _possible_cuts(previous)]
    for order in orders:
        packets = [packet for pile in order for packet in pile]
        if any(_lies_in(packets, cards, exact) for cards in uncut):
            return True
    return False


def _possible_cuts(table: Table) -> Sequence[int]:
    """How many cards a cut may take off the top."""
    if table.row.cut >= 0:
        return [int(table.row.cut)]
    return range(int(table.row.cut_min), 52 - int(table.row.cut_min) + 1)


def _gathered(previous: Table) -> list[list[list[str]]]:
    """The gathered deck before the cut: piles of packets, each in the order of play if chance would shuffle them."""
    table = previous.copy()
    row = table.row
    row.cut = 0
    if row.trick_order == SHUFFLED_TRICK:
        row.trick_order = AS_PLAYED
    if row.pile_order == RANDOM_PILES:
        row.pile_order = LEFT_FIRST
    table.go_on()
    deck = [CARD_WORDS[FRENCH][card] for card in row.deck]
    if previous.row.passed_out:
        return [[deck]]
    piles, place = [], 0
    turns = (3, 2, 1, 4) if row.pile_order == RIGHT_FIRST else (1, 2, 3, 4)
    for seat in [(int(row.dealer) + turn) % 4 for turn in turns]:
        pile = []
        for size in _packet_sizes(previous, seat):
            pile.append(deck[place : place + size])
            place += size
        piles.append(pile)
    return piles


def _packet_sizes(previous: Table, seat: int) -> list[int]:
    """Cards of each packet in a seat's pile from the top: its tricks, and what it still held after `early_stop`."""
    row = previous.row
    tricks, held = [4] * int(row.tricks[seat]), [len(cards_in(row.hands[seat]))]
    return [*tricks, *held] if row.trick_stack == UNDERNEATH else [*held, *tricks]


def _lies_in(packets: list[list[str]], cards: list[str], exact: bool) -> bool:
    """True if the packets lie in the deck one after another, each as it is or (not `exact`) in any order of its cards."""
    place = 0
    for packet in packets:
        part = cards[place : place + len(packet)]
        if part != packet if exact else sorted(part) != sorted(packet):
            return False
        place += len(packet)
    return True
