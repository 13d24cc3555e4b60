"""Checks of records against the rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

from noms_env.core.state import SINGLE_DEAL
from noms_env.record.decks import is_possible_deck
from noms_env.record.form import SAME, SHAPES, STEP_SHAPES, Record, brief, find_damage, is_number
from noms_env.record.recorder import end_of, head_of, plain, result_of
from noms_env.record.replaying import draw_sniped, draw_trump, judge_again, score_again
from noms_env.table import PositionError, Table
from noms_env.variants import Rules, RulesError, game, make_rules


@dataclass(frozen=True)
class Disagreement:
    """A disagreement between a file of records and the rules.

    Attributes:
        line: number of the line, from 1.
        match: number of the match; None for a damaged line.
        deal: index of the deal in the match; None for a damaged line.
        step: index of the step, from 0; None if the whole deal is meant.
        what: the wrong key; `line` for a damaged line.
        expected: the value by the rules, if there is one.
        found: the value in the record; for a damaged line a description of the damage.
        says: an explanation, if an expected value is not enough.
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
        if self.match is None:
            return f"line {self.line}: {self.found}"
        step = "" if self.step is None else f", step {self.step}"
        where = f"line {self.line}, match {self.match}, deal {self.deal}{step}"
        if self.says:
            what = self.what if self.what.isidentifier() else brief(self.what)
            return f"{where}: {what}: {self.says}"
        return f"{where}: {self.what} is {brief(self.found)}, but should be {brief(self.expected)}"


def check_records(lines: Iterable[tuple[int, Record | str]]) -> Iterator[Disagreement]:
    """Replay records, and yield every disagreement with the rules.

    Records of different matches may be mixed; those of one match must be in order. A match that is over after one scored deal,
    although the rules do not end it, is an episode of one deal (`episode="deal"`). It may start from any totals.

    Args:
        lines: numbered records as from `read_records`; for records in memory, `enumerate(records, 1)`.
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


_STANDING_KEYS = ("variant", "seats", "options", "deal", "dealer", "after")


@dataclass
class _Standing:
    record: Record  # `_STANDING_KEYS` of the deal's record
    damaged: int  # damaged lines so far; each later one may be a missing deal of the match
    over: bool
    all_passed: bool  # True if every deal so far was passed out
    table: Table | None  # with the deal scored; None if the match is over or the deal could not be played
    are_tricks_known: bool  # True if the tricks of earlier deals are known (sniped whist, `accumulate`)


class _Stop(Exception):
    """The rest of the deal cannot be checked; the reason is recorded."""


class _DealCheck:
    """The check of one deal."""

    def __init__(self, line: int, record: Record, before: _Standing | None, damaged: int) -> None:
        self.line, self.record, self.damaged = line, record, damaged
        self.is_first = before is None
        """True if the file has no earlier deal of the match."""
        self.before = before
        """The previous deal of the match; None if this deal is taken as recorded."""
        self.disagreements: list[Disagreement] = []
        self.table: Table | None = None
        self.complete = False

    def run(self) -> list[Disagreement]:
        """Check the deal and return its disagreements."""
        try:
            self._check_keys()
            rules = self._check_rules()
            self._check_sequence()
            self.table = Table(rules.variant.name, rules.seats, rules.options)
            self._start(self.table)
            self._check_head(self.table)
            self._play(self.table)
            self._check_result(self.table)
            self.complete = True
        except _Stop:
            pass
        return self.disagreements

    def standing(self) -> _Standing:
        """Return the state of the match after this deal."""
        table = self.table if self.complete else None
        over = bool(table.is_over) if table else self.record["over"]
        all_passed = self._may_be_single() and self.record["trump"] is None
        record = {key: self.record[key] for key in _STANDING_KEYS}
        return _Standing(record, self.damaged, over, all_passed, None if over else table, self._are_tricks_known())

    def _say(self, what: str, expected: Any, recorded: Any, *, says: str = "", step: int | None = None) -> None:
        self.disagreements.append(
            Disagreement(self.line, self.record["match"], self.record["deal"], step, what, expected, recorded, says)
        )

    def _stop(self, what: str, expected: Any, recorded: Any, *, says: str = "", step: int | None = None) -> NoReturn:
        self._say(what, expected, recorded, says=says, step=step)
        raise _Stop

    def _compare(self, what: str, expected: Any, *, step: int | None = None, within: Record | None = None) -> None:
        recorded = (self.record if within is None else within)[what]
        if not _same(expected, recorded):
            self._say(what, expected, recorded, step=step)

    def _check_keys(self) -> None:
        for key in self.record:
            if key not in SHAPES:
                self._say(key, None, self.record[key], says="the format has no such key")
        for place, step in enumerate(self.record["steps"]):
            for key in step:
                if key not in STEP_SHAPES and key != "legal":
                    self._say(key, None, step[key], says="the format has no such key", step=place)

    def _check_rules(self) -> Rules:
        """Check and return the rules: every option must be recorded, with the value in force."""
        variant, options = game(self.record["variant"]), self.record["options"]
        names = [option.name for option in variant.options]
        known = {name: value for name, value in options.items() if name in names}
        try:
            rules = make_rules(variant, self.record["seats"], known)
        except RulesError as error:
            self._stop("options", None, options, says=str(error))
        for name in options:
            if name not in names:
                self._say("options", None, options[name], says=f"{variant.name} has no option {brief(name)}")
        for name, value in rules.options.items():
            if name not in options:
                self._say("options", value, None, says=f"{name} is missing; here it is {brief(value)}")
            elif not _same(value, options[name]):
                says = f"{name} is {brief(options[name])}, but {brief(value)} in force"
                self._say("options", value, options[name], says=says)
        return rules

    def _check_sequence(self) -> None:
        """Check that the deal follows the previous one of its match; otherwise take it as recorded."""
        before = self.before
        if before is None:
            return
        expected, recorded = before.record["deal"] + 1, self.record["deal"]
        changed = [key for key in ("variant", "seats", "options") if not _same(before.record[key], self.record[key])]
        if before.over:
            self._say("deal", None, recorded, says=f"the match was over with deal {expected - 1}")
        elif recorded != expected:
            if before.damaged == self.damaged or recorded < expected:
                self._say("deal", expected, recorded)
        elif not changed:
            return
        for key in changed:
            self._say(key, before.record[key], self.record[key], says="it changes within the match")
        self.before = None

    def _start(self, table: Table) -> None:
        for key in ("deal", "deck"):
            if not self._is_possible(table, key, key):
                raise _Stop
        if self.before is not None and self.before.table is not None:
            self._follow(table, self.before.table)
        else:
            self._take_as_recorded(table)
        if not draw_trump(table, self.record["trump"]):
            self._stop("trump", None, self.record["trump"], says=f"{brief(self.record['trump'])} cannot have been drawn")

    def _is_possible(self, table: Table, key: str, name: str) -> bool:
        """Return whether a deal can start with a recorded value; if not, add a disagreement."""
        try:
            table.start(0, **{name: self.record[key]})
        except PositionError as error:
            self._say(key, None, self.record[key], says=str(error))
            return False
        return True

    def _follow(self, table: Table, previous: Table) -> None:
        """Check that dealer, multiplier, totals and deck can follow from the previous deal."""
        after = previous.copy()
        after.next_deal()
        self._compare("dealer", int(after.row.dealer))
        self._compare("multiplier", int(after.row.multiplier))
        self._compare("before", [plain(total) for total in after.row.totals[: after.seats]])
        if not is_possible_deck(previous, self.record["deck"]):
            self._say("deck", None, self.record["deck"], says="it is not a cut of the deck after the previous deal")
        table.start(0, **{key: self.record[key] for key in ("deck", "dealer", "deal")})
        table.row.multiplier = after.row.multiplier
        table.row.totals[:] = after.row.totals
        table.row.carried_tricks[:] = after.row.carried_tricks

    def _take_as_recorded(self, table: Table) -> None:
        """Take multiplier and totals as recorded, if they are possible."""
        record = self.record
        if self.before is not None:
            self._compare("dealer", (self.before.record["dealer"] + 1) % table.seats)
            self._compare("before", self.before.record["after"])
        self._is_possible(table, "before", "totals")
        multiplier = record["multiplier"] if self._is_possible(table, "multiplier", "multiplier") else 1
        table.start(0, **{key: self.record[key] for key in ("deck", "dealer", "deal")})
        table.row.multiplier = multiplier
        table.row.totals[: table.seats] = record["before"]

    def _check_head(self, table: Table) -> None:
        expected = head_of(table)
        for key in ("hand_size", "stock", "turn_up"):
            self._compare(key, expected[key])
        hands = [sorted(hand) for hand in self.record["hands"]]
        if hands != [sorted(hand) for hand in expected["hands"]]:
            self._say("hands", expected["hands"], self.record["hands"])

    def _play(self, table: Table) -> None:
        """Check that every step is legal, and that the last one ends the deal."""
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
        try:
            table.act(word)
        except ValueError:
            legal = table.legal_words()
            says = f"{brief(word)} is not legal for seat {table.row.seat}; legal in the phase {table.phase}: {' '.join(legal)}"
            self._stop("action", legal, word, says=says, step=place)

    def _check_result(self, table: Table) -> None:
        options = table.rules.options
        if options.get("accumulate") and not self._are_tricks_known() and self.record["deal"] == options["n_hands"] - 1:
            score_again(table, self.record["points"])  # tricks of deals outside the file count
        else:
            draw_sniped(table, self.record["points"])
        self._recognise_single_deal(table)
        for key, value in result_of(table).items():
            if key != "winners" or sorted(self.record[key]) != value:
                self._compare(key, value)

    def _recognise_single_deal(self, table: Table) -> None:
        """Accept an episode of a single deal: it is over although the rules would continue, and its points decide."""
        row, recorded = table.row, {key: self.record[key] for key in ("over", "truncated", "winners")}
        if end_of(row) == recorded or not recorded["over"] or not self._may_be_single():
            return
        match_end = (row.over, row.truncated, row.winners)
        row.episode = SINGLE_DEAL
        judge_again(row)
        if end_of(row) != recorded and match_end[0]:
            row.over, row.truncated, row.winners = match_end

    def _may_be_single(self) -> bool:
        """Return whether the file has no earlier scored deal of the match, so that this can be its only one."""
        return self.is_first or (self.before is not None and self.before.all_passed)

    def _are_tricks_known(self) -> bool:
        """Return whether all tricks that count are in the file."""
        if self.record["deal"] == 0 or not self.record["options"].get("accumulate"):
            return True
        return self.before is not None and self.before.are_tricks_known and self.before.table is not None


def _same(expected: Any, recorded: Any) -> bool:
    """Return whether values of the same kind are equal; numbers may differ by rounding errors, and 1 equals 1.0."""
    if isinstance(expected, list) and isinstance(recorded, list):
        return len(expected) == len(recorded) and all(map(_same, expected, recorded))
    if isinstance(expected, dict) and isinstance(recorded, dict):
        return expected.keys() == recorded.keys() and all(_same(expected[key], recorded[key]) for key in expected)
    if is_number(expected) and is_number(recorded):
        return bool(abs(expected - recorded) < SAME)
    return type(expected) is type(recorded) and bool(expected == recorded)
