"""Tables with people, and their file format.

A `LiveTable` is a `Session` with the names and keys of people; it knows nothing of sockets and HTML.
"""

from __future__ import annotations

import json
import math
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from noms_env._files import write_atomically
from noms_env._json import parse_json
from noms_env.core.messages import clean_name
from noms_env.show.data import view_data
from noms_env.show.results import outcomes
from noms_env.show.view import look
from noms_env.variants import Rules, game, make_rules

from ..session import Advice, Seated, Session, seat_player
from .again import Trial, is_known, trial_of
from .analysis import moment_of
from .film import describe_action, evaluation_of, results

FORMAT = "noms-table/1"
KEY_BYTES = 16
KEY = re.compile("[A-Za-z0-9_-]{22,64}")
"""Format of a key, which a browser generates."""
DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
SPEEDS = (0.0, 5.0)
"""Range of the delay before a player's decision, in seconds."""
USUAL_SPEED = 0.7
SUBSTITUTE = "thumb"
"""Default substitute, which can play every game."""
PLAYERS_NAMES = ("Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gita", "Hugo", "Iris", "Jon", "Kim", "Leo", "Mia", "Nils")
"""Names of players by seat: twice as many as seats, since people may bear some of them."""


class RefusedError(ValueError):
    """A person's request is invalid or not possible now; the message is shown to that person."""


@dataclass
class Person:
    """A person at a table.

    Attributes:
        name: any text, cleaned by `clean_name`; empty until a guest enters it.
        key: secret of this person's browser for authentication; empty until the invitation is accepted.
        sits: whether the person plays; False while a player has the seat.
        invitation: one-time secret, which the opener of the table sends to this person.
    """

    name: str
    key: str = ""
    sits: bool = True
    invitation: str = field(default_factory=lambda: secrets.token_urlsafe(KEY_BYTES))

    def __post_init__(self) -> None:
        self.name = clean_name(self.name)

    @property
    def is_ready(self) -> bool:
        """Whether the deal need not wait for this person."""
        return not self.sits or bool(self.key and self.name)


@dataclass
class Undo:
    """A person's request to undo a decision, to which the other people have to agree.

    Attributes:
        seat: seat of that person.
        agreed: seats of the people who have agreed.
    """

    seat: int
    agreed: set[int] = field(default_factory=set)


class LiveTable:
    """A table with people.

    Attributes:
        session: the session.
        people: people by seat.
        hints: player that gives hints, a separate object, which may think while the others do.
        speed: delay before a player's decision, in seconds.
        host: seat of the person who opened the table; None without a seat.
        substitute: name of the player that replaces an absent person.
        undo: open request to undo a decision; it closes when all agree, somebody refuses, or the table moves on.
        sheet: scored deals: points, totals, whether each seat made its bid (None without a bid), whether all passed, and
            results in words.
        touched: time of the last activity, in seconds; set by the owner of the table.
        practice: whether the table does not count in a person's results.
        trial: the decision tried again at this table, or None.
        day: date of the deal of the day, or "". Unless it is practice, it has no hints and no undo.
        has_ended: whether the person ended the match early.
    """

    def __init__(
        self,
        session: Session,
        people: Mapping[int, Person],
        hints: Seated,
        speed: float = USUAL_SPEED,
        *,
        host: int | None = None,
        substitute: str = SUBSTITUTE,
    ) -> None:
        self.session, self.people, self.hints, self.speed = session, dict(people), hints, speed
        self.host, self.substitute = host, substitute
        self.undo: Undo | None = None
        self.sheet: list[dict[str, Any]] = []
        self.touched = 0.0
        self.practice, self.day, self.has_ended = False, "", False
        self.trial: Trial | None = None
        self._note_score()

    @property
    def rules(self) -> Rules:
        """The rules of the table."""
        return self.session.table.rules

    @property
    def is_first_try(self) -> bool:
        """Whether this is a deal of the day that counts."""
        return bool(self.day) and not self.practice

    @property
    def is_open(self) -> bool:
        """Whether all hands may be shown because the match is over; never in a trial."""
        return self.session.is_over and self.trial is None

    @property
    def moment(self) -> str:
        """The position in the match, `DEAL.DECISIONS`."""
        return f"{len(self.session.deals)}.{len(self.session.deals[-1].actions)}"

    @property
    def names(self) -> list[str]:
        """Display names by seat. Equal names of people get the seat number; players get names that nobody else has."""
        called = {seat: person.name or f"Guest {seat + 1}" for seat, person in self.people.items()}
        people = [*called.values()]
        taken = {name.casefold() for name in people}
        free = [name for name in PLAYERS_NAMES if name.casefold() not in taken]
        names = []
        for seat, player in enumerate(self.session.players):
            if player is not None or seat not in self.people:
                names.append(free[seat])
            else:
                name = called[seat]
                names.append(f"{name} {seat + 1}" if people.count(name) > 1 else name)
        return names

    @property
    def waits(self) -> bool:
        """Whether the first deal waits for people to join or to enter their names."""
        return self.moment == "1.0" and not all(person.is_ready for person in self.people.values())

    def seat_of(self, key: str) -> int | None:
        """Return the seat of the person with this key; None for an unknown key."""
        seats = [seat for seat, person in self.people.items() if person.key and same_secret(person.key, key)]
        return seats[0] if seats else None

    def claim(self, invitation: str, key: str) -> int:
        """Accept an invitation with a key; return the seat. Repeating it with the same key has no effect.

        Raises:
            RefusedError: no such invitation, it was accepted with another key, or the key is invalid.
        """
        if not KEY.fullmatch(key) or any(key == person.invitation for person in self.people.values()):
            raise RefusedError("a key must have 22 to 64 letters, digits, - or _")
        for seat, person in self.people.items():
            if person.invitation and same_secret(person.invitation, invitation):
                if self.seat_of(key) not in (None, seat) or (person.key and not same_secret(person.key, key)):
                    raise RefusedError("somebody has used this link already; if it was not you, the table is not safe")
                person.key = key
                return seat
        raise RefusedError("this link belongs to no seat at this table")

    def act(self, seat: int, word: str, moment: str) -> None:
        """Take an action for a person, given its word as in a record.

        Raises:
            RefusedError: the table has left `moment`, it is another turn, or the action is illegal; nothing changes.
        """
        table = self.session.table
        if moment != self.moment:
            raise RefusedError("the table has moved on since then")
        if table.is_scored or int(table.row.seat) != seat or self.session.players[seat] is not None:
            raise RefusedError("it is not your turn")
        if word not in table.legal_words():
            raise RefusedError(f"{word[:20]} is not legal now")
        self.take(table.number(word))

    def take(self, action: int) -> None:
        """Take an action for the seat to act."""
        self.session.take(action)
        self.undo = None
        self._note_score()

    def next_deal(self) -> None:
        """Start the next deal; raise `RefusedError` if the current one is not over, or no deal is left."""
        if not self.session.table.is_scored or self.session.is_over:
            raise RefusedError("the next deal starts when a deal is over and the match is not")
        self.session.next_deal()
        self.undo = None

    def later_decisions(self, seat: int) -> int | None:
        """Return the number of decisions of all seats after a seat's last one; None if the seat has none to undo."""
        later = 0
        for deal in reversed(self.session.deals):
            last = deal.last_decision(seat)
            if last is not None:
                return later + len(deal.actions) - last - 1
            later += len(deal.actions)
        return None

    def may_take_back(self, seat: int | None) -> bool:
        """Return whether a person may ask to undo a decision now."""
        if seat is None or self.session.players[seat] is not None or self.undo is not None:
            return False
        return not (self.is_first_try or self.has_ended) and self.later_decisions(seat) is not None

    def others(self, seat: int | None) -> list[int]:
        """Return the seats of the other people who have joined, whether or not they play at the moment."""
        return [other for other, person in self.people.items() if other != seat and person.key and person.name]

    def take_back(self, seat: int) -> None:
        """Undo a person's last decision, or ask the other people for it if there are any.

        Raises:
            RefusedError: undo is disabled, the person does not play or has nothing to undo, or a request is open.
        """
        if self.is_first_try or self.has_ended:
            raise RefusedError("there is no undo in the deal of the day, or after you end a match")
        if self.undo is not None:
            raise RefusedError("there is a request to take back already")
        if self.session.players[seat] is not None:
            raise RefusedError("a player has your seat")
        if self.later_decisions(seat) is None:
            raise RefusedError("you have decided nothing yet")
        self.undo = Undo(seat)
        self._go_back_if_agreed()

    def answer(self, seat: int, asker: int, moment: str, agrees: bool) -> None:
        """Agree to an undo request, or close it; raise `RefusedError` if it is not open. The asker can only close it."""
        if self.undo is None or (self.undo.seat, self.moment) != (asker, moment):
            raise RefusedError("this request is closed")
        if not agrees:
            self.undo = None
            return
        self.undo.agreed.add(seat)
        self._go_back_if_agreed()

    def _go_back_if_agreed(self) -> None:
        if self.undo is not None and self.undo.agreed.issuperset(self.others(self.undo.seat)):
            self.session.take_back(self.undo.seat)
            self.undo = None
            del self.sheet[len(self.session.records()) :]

    def end(self, seat: int) -> None:
        """End the match early; raise `RefusedError` with other people, before a deal is over, or after the match."""
        if [*self.people] != [seat] or not self.session.table.is_scored or self.session.is_over:
            raise RefusedError("the match can be ended after a deal, by a person who plays alone")
        self.session.end()
        self.has_ended = True

    def hint_session(self, seat: int) -> Session:
        """Return a copy of the session for a person's adviser; raise `RefusedError` if no hint is allowed now."""
        if not self.session.is_persons_turn or int(self.session.table.row.seat) != seat:
            raise RefusedError("ask for a hint when it is your turn")
        if self.is_first_try:
            raise RefusedError("there are no hints in the deal of the day")
        return self.session.copy()

    def replace(self, seat: int, player: Seated, *, has_failed: bool = False) -> None:
        """Replace a person by a player, or with `has_failed` a player; raise `RefusedError` if no person sits there."""
        if not has_failed:
            if seat not in self.people or self.session.players[seat] is not None:
                raise RefusedError("no person has this seat, so nobody can be replaced")
            self.people[seat].sits = False
        self.session.players[seat] = player

    def begin(self, player: Seated) -> None:
        """Start the first deal with a player in the seats of missing people; raise `RefusedError` if it has started."""
        if not self.waits:
            raise RefusedError("the deal has started already")
        for seat, person in self.people.items():
            if not person.key and person.sits:
                self.replace(seat, player)
            person.name = person.name or (f"Guest {seat + 1}" if person.key else "")

    def sit(self, seat: int) -> None:
        """Give a person the seat back."""
        self.session.players[seat] = None
        self.people[seat].sits = True

    def view(self, seat: int | None) -> dict[str, Any]:
        """Return the view of a seat or a spectator, for JSON."""
        return view_data(look(self.session.table, seat))

    def moment_data(self, number: int, decision: int) -> dict[str, Any]:
        """Return a moment of a deal for JSON, as a spectator saw it, or with all hands once they are public.

        The hands of a passed-out deal stay secret, since the next deal may use the same cards.

        Args:
            number: number of the deal, from 1.
            decision: number of decisions before that moment.

        Raises:
            RefusedError: no such moment.
        """
        deals = self.session.deals
        if not 1 <= number <= len(deals) or decision > len(deals[number - 1].actions):
            raise RefusedError("there is no such moment: the deal has not got that far, or decisions were taken back")
        deal = deals[number - 1]
        table = deal.table_at(self.session.table, decision)
        shows_all = self.is_open or (deal.finished is not None and is_known(deal.finished))
        view = view_data(look(table, None, full=shows_all)) | {"legal": [], "choices": [], "barred": []}
        counts = {"deals": len(deals), "decisions": len(deal.actions)}
        return {"deal": number, "decision": decision, **counts, "all": shows_all, "view": view}

    def options_of(self, advice: Advice) -> list[dict[str, Any]]:
        """Return advice as a list of actions, best first: `word`, `said`, and the values of `evaluation_of`."""
        table = self.session.table
        options = evaluation_of(table, advice.probabilities, advice.values)
        options.setdefault(table.word(advice.action), {})
        return [{"word": word, "said": describe_action(table, word), **option} for word, option in options.items()]

    def _note_score(self) -> None:
        """Add the deal to the score sheet if it has just been scored."""
        table = self.session.table
        if not table.is_scored or len(self.sheet) == len(self.session.deals):
            return
        points, totals = ([round(float(x), 3) for x in row[: table.seats]] for row in (table.row.points, table.row.totals))
        view = look(table, None)
        success = {outcome.seats[0]: outcome.made for outcome in outcomes(view)}
        self.sheet.append(
            {
                "points": points,
                "totals": totals,
                "made": [success.get(seat) for seat in range(table.seats)],
                "passed_out": view.passed_out,
                "lines": results(table, self.names),
            }
        )

    def to_json(self) -> str:
        """Return the table as JSON; `table_from` restores it."""
        session = self.session
        state = {
            "format": FORMAT,
            "variant": self.rules.variant.name,
            "seats": self.rules.seats,
            "options": dict(self.rules.options),
            "seed": session.seed,
            "players": session.names,
            "people": {str(seat): [*vars(person).values()] for seat, person in self.people.items()},
            "hints": self.hints.name,
            "speed": self.speed,
            "host": self.host,
            "substitute": self.substitute,
            "undo": None if self.undo is None else [self.undo.seat, *sorted(self.undo.agreed)],
            "touched": self.touched,
            "deals": [deal.actions for deal in session.deals],
        }
        optional = {"practice": self.practice, "day": self.day, "hand_size": self._hand_size, "ended": self.has_ended}
        optional |= {"trial": self.trial and self.trial.state()}
        state |= {name: value for name, value in optional.items() if value}
        return json.dumps(state, separators=(",", ":"))

    @property
    def _hand_size(self) -> int | None:
        """Hand size in a deal of the day of a game with varying hand sizes; None otherwise."""
        return int(self.session.table.row.deal_size) if self.day and self.rules.schedule else None

    def trial_json(self, name: str, seat: int, moment: str) -> str:
        """Return a trial of the decision of a person after `moment`, as JSON for `table_from`.

        The substitute replaces other people. `name` is the name of this table.

        Raises:
            ValueError: no such decision of that seat, its deal is not over, or its hands are still secret.
        """
        place = moment_of(moment)
        if place is None:
            raise ValueError("a moment was expected, such as 3.17: deal 3 after 17 decisions")
        (deal, decisions), records = place, self.session.records()
        if deal not in range(len(records)):
            raise ValueError("wait until the deal is over")
        steps = records[deal]["steps"]
        if decisions >= len(steps) or steps[decisions]["seat"] != seat:
            raise ValueError("you can try only your own decisions again")
        if not self.is_open and not is_known(records[deal]):
            raise ValueError("some cards of this deal are still secret; try again when the match is over")
        state, person, trial = json.loads(self.to_json()), self.people[seat], self.trial
        actions = state["deals"][deal]
        is_repeated = trial is not None and moment == trial.view(len(self.session.deals))["moment"]
        state |= {"practice": True, "ended": False, "host": seat, "undo": None}
        state["deals"] = [*state["deals"][:deal], actions[:decisions]]
        state["trial"] = {
            "table": name if trial is None else trial.table,
            "decisions": decisions,
            "actions": trial.actions if trial is not None and is_repeated else actions[decisions:],  # keep the first actions
        }
        state["people"] = {str(seat): [person.name, person.key, True, ""]}
        players = [player or self.substitute for player in state["players"]]
        state["players"] = [*players[:seat], None, *players[seat + 1 :]]
        return json.dumps(state)

    def save(self, path: Path) -> None:
        """Write the table to a file atomically; after a scored deal, sync it to disk.

        Only this user can read the file, since it holds all cards and keys.

        Raises:
            OSError: the file cannot be written; the old one remains.
        """
        write_atomically(path, self.to_json().encode(), sync=self.session.table.is_scored, mode=0o600)


def new_table(
    rules: Rules,
    names: Sequence[str | None],
    people: Mapping[int, str],
    hints: str,
    *,
    seed: int | None = None,
    host: int | None = None,
    substitute: str = SUBSTITUTE,
) -> LiveTable:
    """Make a table with the first hand dealt; see `messages.TableRequest` for the arguments.

    The default seed is an unguessable one of 63 bits.

    Raises:
        ValueError: no such player, a player that cannot play this game, or seats that do not match.
    """
    if len(names) != rules.seats or set(people) != {seat for seat, name in enumerate(names) if name is None}:
        raise ValueError(f"each of the {rules.seats} seats must have a player or a person")
    if host is not None and host not in people:
        raise ValueError(f"the host must be a person's seat, not seat {host}")
    seat_player(substitute, rules)
    session = Session(rules, players_of(names, rules), seed=secrets.randbits(63) if seed is None else seed)
    sitting = {seat: Person(name) for seat, name in people.items()}
    return LiveTable(session, sitting, seat_player(hints, rules), host=host, substitute=substitute)


def players_of(names: Sequence[str | None], rules: Rules) -> list[Seated | None]:
    """Load the players of the seats, one object per name; None for a person."""
    by_name = {name: seat_player(name, rules) for name in {*names} if name is not None}
    return [None if name is None else by_name[name] for name in names]


def same_secret(secret: str, other: str) -> bool:
    """Compare two secrets in constant time."""
    return secrets.compare_digest(secret.encode(), other.encode())


def is_table(path: Path) -> bool:
    """Return whether a file begins like one of `to_json`; raise `OSError` if it cannot be read."""
    if not path.is_file():  # opening a pipe would block
        return False
    begin = f'{{"format":"{FORMAT}",'.encode()
    with path.open("rb") as file:
        return file.read(len(begin)) == begin


def person_from(name: str, key: str, sits: bool, invitation: str = "") -> Person:
    """Parse a person; raise `ValueError` for invalid data. Older files have no invitation."""
    if not all(isinstance(text, str) for text in (name, key, invitation)) or type(sits) is not bool:
        raise ValueError("a person must have a name, a key and an invitation")
    (name + key + invitation).encode()  # refuses lone surrogates
    return Person(name, key, sits, invitation)


def _people(state: dict[str, Any]) -> dict[int, Person]:
    """Parse the people of a table by seat; raise `ValueError` if one is invalid or sits on a player's seat."""
    people = {int(seat): person_from(*fields) for seat, fields in state["people"].items()}
    here = {seat for seat, person in people.items() if person.sits}
    seats = dict(enumerate(state["players"]))
    if {*map(str, people)} != {*state["people"]} or not people.keys() <= seats.keys():
        raise ValueError("people must have seats of the table")
    if here != {seat for seat, player in seats.items() if player is None}:
        raise ValueError("each seat must have a player or a person")
    return people


def _undo_from(state: Any, table: LiveTable) -> Undo | None:
    """Parse an undo request; return None if nobody can answer it any more."""
    if state is None:
        return None
    seat, *agreed = state
    is_open = seat in table.people and table.may_take_back(seat) and {*agreed} < {*table.others(seat)}
    return Undo(seat, {*agreed}) if is_open else None


def table_from(text: str, check: Callable[[str, Sequence[str | None]], None] = lambda variant, names: None) -> LiveTable:
    """Restore a table from `to_json`, with the same cards, decisions and people.

    Before any player is loaded, `check` gets the game and the names of the players; it raises if one is not allowed.

    Raises:
        ValueError: the text does not describe a table, or a player cannot be loaded.
    """
    try:
        state = parse_json(text)
        if state["format"] != FORMAT:
            raise ValueError(f"its format is {state['format']!r}, not {FORMAT!r}")
        rules = make_rules(game(state["variant"]), state["seats"], state["options"])
        people, speed, touched = _people(state), state["speed"], state["touched"]
        if type(speed) not in (int, float) or type(touched) not in (int, float):
            raise ValueError("its speed and its time must be numbers")
        if not SPEEDS[0] <= speed <= SPEEDS[1] or not math.isfinite(touched):
            raise ValueError(f"its speed must be from {SPEEDS[0]} to {SPEEDS[1]}, and its time finite")
        host, substitute = state.get("host"), state.get("substitute", SUBSTITUTE)
        if not isinstance(substitute, str) or (host is not None and (type(host) is not int or host not in range(rules.seats))):
            raise ValueError("its host must be a seat, and its substitute a player")
        check(rules.variant.name, [*state["players"], state["hints"], substitute])
        players = players_of(state["players"], rules)
        day, hand_size = state.get("day", ""), state.get("hand_size")
        if not isinstance(day, str) or (day and not DAY.fullmatch(day)):
            raise ValueError("its day must be a date")
        session = Session(rules, players, seed=state["seed"], episode="deal" if day else "match", deal_size=hand_size)
        table = LiveTable(session, people, seat_player(state["hints"], rules), speed, host=host, substitute=substitute)
        table.day, table.practice = day, state.get("practice") is True
        for number, actions in enumerate(state["deals"]):
            if number:
                table.next_deal()
            for action in actions:
                table.take(action)
        table.undo = _undo_from(state.get("undo"), table)
        table.touched = float(touched)
        if "trial" in state:
            table.trial = trial_of(session, state["trial"])
        if state.get("ended") is True:
            session.end()
            table.has_ended = True
    except RefusedError:
        raise
    except (KeyError, TypeError, AttributeError, OverflowError, ValueError) as error:
        raise ValueError(f"this is not a table: {error}") from error
    return table
