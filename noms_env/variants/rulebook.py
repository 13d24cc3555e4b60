"""Rules as data: the options of a variant, their checks, and the values in force at a table.

A variant's file declares a `Variant`: its seats, its deck and its `Option`s. `make_rules` checks what a user gives and
fills in the rest; the result, a `Rules`, is one small value that can be printed, compared, written into a record and
copied into a table.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from noms_env.core.actions import brief, is_integer, span, suggest_names
from noms_env.core.cards import FRENCH, SUIT_LETTERS, decktet_deck, french_deck
from noms_env.core.messages import literal
from noms_env.core.state import MAX_ROTATION, MAX_TRICKS, MAX_VARIANTS, NUM_CHOICES

Values = dict[str, Any]


class RulesError(ValueError):
    """An option, a value or a combination that the rules do not allow; the message says what is allowed."""


@dataclass(frozen=True)
class Option:
    """One choice of a variant: its name and default, what it may be, and a line that says what it does.

    Exactly one of `flag`, `words`, `numbers`, `range` and `rotation` says what values it takes; `none` also allows None. A
    default of None without `none` is worked out from the table.
    """

    name: str
    default: Any
    doc: str
    flag: bool = False
    words: tuple[str, ...] = ()
    numbers: tuple[int, int] | None = None
    rotation: bool = False
    none: bool = False
    range: str = ""
    """What integers are allowed, where that depends on the table; the variant's `complete` checks it."""
    byte: int | None = field(kw_only=True)
    """Its byte in the section `choices` of an observation, the first of `MAX_ROTATION` for a rotation; None for an option
    that says what is shown, not how it is played, or that stands elsewhere in an observation. It is the same in every
    variant that has the option, and never changes, since trained policies look for it there."""
    late: bool = False
    """The variant got it after policies were published: its byte is 0 at the default, and so is its field in a table's record,
    as they were before."""
    record_field: str = ""
    """The field of a table's record that holds it, where that is not the option's name."""

    def __post_init__(self) -> None:
        """Refuse, with a ValueError, a byte that `choices` does not have, and values for which a record has no room."""
        if self.byte is not None and not 0 <= self.byte <= NUM_CHOICES - self.width:
            raise ValueError(
                f"there is no room for the option {self.name} at byte {self.byte} of the section `choices` of an observation, "
                f"which has {NUM_CHOICES} bytes, 0 to {NUM_CHOICES - 1}; it takes {self.width}"
            )
        if self.numbers and max(map(abs, self.numbers)) > MAX_NUMBER:
            raise ValueError(f"the option {self.name} allows {self.numbers[1]}, but a record holds numbers up to {MAX_NUMBER}")
        has_zero = not self.numbers or self.numbers[0] <= 0
        if self.late and has_zero and self.code(self.default) != 0:
            raise ValueError(f"the option {self.name} is late, so 0 in a record is its default, but it is another value too")

    @property
    def width(self) -> int:
        """Bytes of `choices` that it takes."""
        return MAX_ROTATION if self.rotation else 1

    def allowed(self) -> str:
        """What the option may be, in words."""
        if self.flag:
            text = "True or False"
        elif self.words:
            text = " or ".join(repr(word) for word in self.words)
        elif self.rotation:
            text = f"a list of 1 to {MAX_ROTATION} of C, D, H, S and NT, suits of the deck only"
        elif self.range:
            text = f"an integer {self.range}"
        else:
            low, high = self.numbers or (0, 0)
            text = f"an integer from {low} to {high}"
        return text + (" or None" if self.none else "")

    def checked(self, value: Any) -> Any:
        """The value in its plain Python type.

        Raises:
            RulesError: the value is not allowed.
        """
        if value is None and (self.none or self.default is None):
            return None
        if self.flag and isinstance(value, bool | np.bool_):
            return bool(value)
        if self.words and isinstance(value, str) and value in self.words:
            return str(value)
        if is_integer(value) and (self.range or (self.numbers and self.numbers[0] <= value <= self.numbers[1])):
            return int(value)
        if self.rotation and isinstance(value, list | tuple):
            entries = [str(entry) for entry in value]
            if 1 <= len(entries) <= MAX_ROTATION and all(entry in ROTATION_WORDS for entry in entries):
                return entries
        raise RulesError(f"{self.name} must be {self.allowed()}, not {brief(value)}")

    def code(self, value: Any) -> int:
        """The value as the table's field holds it."""
        if value is None:
            return -1
        return self.words.index(value) if self.words else int(value)

    def is_as_before(self, value: Any) -> bool:
        """Whether the value keeps the rules from before the option existed."""
        return self.late and bool(value == self.default)


MAX_NUMBER = 2**15 - 1
"""The largest value of an option that a field of a table's record holds."""
ROTATION_WORDS = (*SUIT_LETTERS[FRENCH], "NT")


@dataclass(frozen=True)
class Need:
    """An option that has an effect only under a condition; elsewhere it may only have its default.

    Attributes:
        option: its name.
        where: the condition in words.
        holds: the condition.
    """

    option: str
    where: str
    holds: Callable[[Values], bool]


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One game of the family: who can play it, with which deck, and under which options."""

    name: str
    number: int
    """The variant's number in the table's record and in observations, which never changes."""
    title: str
    intro: str = field(repr=False)
    """What the game is about, in two or three sentences."""
    source: str = field(repr=False)
    """Where the source text of the rules was published."""
    family: int
    """One of `families.FAMILIES`, by its place there."""
    seats: tuple[int, int]
    default_seats: int = 4
    deck_kind: int = FRENCH
    options: tuple[Option, ...] = field(repr=False)
    complete: Callable[[Values, int], None] = field(default=lambda _values, _seats: None, repr=False)
    """Fills in the defaults that depend on the table and refuses combinations that make no sense."""
    point_range: Callable[[Values, int], tuple[float, float]] = field(repr=False)
    """Bounds of a seat's points in a deal, given the options and the cards dealt to each seat."""
    max_decisions: Callable[[Values, int, int, int], int] = field(repr=False)
    """A bound of the decisions in a deal, given the options, the seats, the cards dealt to each seat and those undealt."""
    schedule: Callable[[Values, int], list[int]] | None = field(default=None, repr=False)
    """Hand sizes of a match, deal by deal, where the rulebook lists them (the exact-bid games)."""
    deal_size: Callable[[Values, int], int] = field(default=lambda values, _seats: values.get("hand_size", -1), repr=False)
    """Cards dealt to each seat, where it is the same in every deal; -1 where there is a schedule."""
    details: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    """By option, for the page of the game: what each of its words means, or how it works with other options."""
    needs: tuple[Need, ...] = field(default=(), repr=False)
    """Options that have an effect only where others have certain values."""
    deals_depend: bool = False
    """The cards of a deal may follow from the deal before."""
    passes_out: bool = False
    """All seats may pass, and the deal is not played."""
    opens_hand: bool = False
    """There is a contract in which the declarer's hand lies open."""
    breaks_trumps: bool = False
    """No trump may be led until one has been played."""
    opponents_score_tricks: bool = False
    """Of an auction game: opponents score their own tricks, whatever becomes of the contract."""
    misere: str = "Misere"
    """What players of an auction game call the bid to take no trick."""
    simple_rollout: bool = False
    """Searches play deals out by the simple rules of `search.rollouts`."""
    total_scale: Callable[[Values], tuple[int, int]] = field(default=lambda _values: (1, 64), repr=False)
    """Scale and offset of the byte in which an observation shows a total."""
    most_doublings: Callable[[Values], int] = field(default=lambda _values: 0, repr=False)
    """How often the points of a deal can be doubled."""

    def __post_init__(self) -> None:
        """Refuse, with a ValueError, a number for which an observation has no place."""
        if not 0 <= self.number < MAX_VARIANTS:
            raise ValueError(
                f"the variant {self.name} has the number {self.number}, but an observation has room for "
                f"{MAX_VARIANTS} variants, 0 to {MAX_VARIANTS - 1}"
            )

    def __deepcopy__(self, memo: Any) -> Variant:
        """Return the variant itself: there is one instance of each."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the name; unpickling finds the installed variant."""
        return _find_variant, (self.name,)

    def option(self, name: str, arguments: Iterable[str] = ()) -> Option:
        """The option of that name.

        Args:
            name: of the option.
            arguments: other names that may be meant, for the message.

        Raises:
            RulesError: the variant has no such option.
        """
        for option in self.options:
            if option.name == name:
                return option
        names = [option.name for option in self.options]
        hint = suggest_names(name, [*names, *arguments])
        raise RulesError(f"{self.name} has no option {brief(name)}; {hint} options are {', '.join(names)}")


def _find_variant(name: str) -> Variant:
    variant: Variant = sys.modules[__package__].game(name)
    return variant


@dataclass(frozen=True, repr=False)
class Rules:
    """A variant with every choice made: the rules of one table."""

    variant: Variant
    seats: int
    options: Values = field(hash=False)

    def __repr__(self) -> str:
        return f"<Rules {self.variant.name}: {self.summary}>"

    @property
    def summary(self) -> str:
        """The seats, and the options that were chosen: `4 seats, target=50`."""
        chosen = (f"{name}={literal(value)}" for name, value in given_options(self).items())
        return ", ".join([f"{self.seats} seats", *chosen])

    @property
    def schedule(self) -> list[int]:
        """Hand sizes of the match, deal by deal; empty where there is no such list."""
        return self.variant.schedule(self.options, self.seats) if self.variant.schedule else []

    @property
    def deck(self) -> list[int]:
        """Numbers of the cards in use, ascending."""
        deck = french_deck if self.variant.deck_kind == FRENCH else decktet_deck
        return deck(self.options["ranks"], self.options["suits"])


def make_rules(variant: Variant, seats: int | None = None, options: Mapping[str, Any] | None = None) -> Rules:
    """Check the seats and the options given, and complete them.

    Args:
        variant: the game.
        seats: number of seats; the variant's default when None.
        options: the options that differ from their defaults.

    Raises:
        RulesError: unknown option, value out of range, or a combination that cannot be dealt, bid or ended.
    """
    if options is not None and not isinstance(options, Mapping):
        raise RulesError(f"options must be a dictionary or None, not {brief(options)}")
    chosen = {name: variant.option(name).checked(value) for name, value in (options or {}).items()}
    seats = _check_seats(variant, seats, _fill_defaults(variant, chosen))
    values = _complete_options(variant, seats, chosen)
    for need in variant.needs:
        if need.option in chosen and not need.holds(values):
            usual = _complete_options(variant, seats, {name: value for name, value in chosen.items() if name != need.option})
            if values[need.option] != usual[need.option]:
                raise RulesError(f"{need.option} has an effect only {need.where}; elsewhere leave it at {usual[need.option]!r}")
    return Rules(variant, seats, values)


def given_options(rules: Rules) -> Values:
    """The fewest options that give these rules (`make_rules`)."""
    chosen = dict(rules.options)
    for name in rules.options:
        fewer = {other: value for other, value in chosen.items() if other != name}
        try:
            if make_rules(rules.variant, rules.seats, fewer) == rules:
                chosen = fewer
        except RulesError:
            continue
    return chosen


def _fill_defaults(variant: Variant, chosen: Values) -> Values:
    return {option.name: option.default for option in variant.options} | chosen


def _complete_options(variant: Variant, seats: int, chosen: Values) -> Values:
    """All options of a table, with the defaults that depend on it worked out."""
    values = _fill_defaults(variant, chosen)
    variant.complete(values, seats)
    return values


def _check_seats(variant: Variant, seats: int | None, values: Values) -> int:
    """The number of seats: the rulebook's range with the whole deck, from two up with a shortened one."""
    low, high = variant.seats
    if variant.deck_kind == FRENCH and deck_size(values) < 52:
        low = 2
    if seats is None:
        return variant.default_seats
    if not is_integer(seats) or not low <= seats <= high:
        shorter = "" if low == 2 or variant.deck_kind != FRENCH else " (fewer only with a deck shortened by ranks or suits)"
        raise RulesError(f"{variant.name} is played with {span(low, high)} seats{shorter}, not {brief(seats)}")
    return int(seats)


def deck_size(values: Values) -> int:
    """Cards of the French deck in use."""
    return int(values["ranks"] * values["suits"])


SHORT_DECK = (
    Option("ranks", 13, "the top ranks of each suit that are in the deck (not in the source texts)", numbers=(2, 13), byte=0),
    Option("suits", 4, "the first suits, of C D H S, that are in the deck (not in the source texts)", numbers=(1, 4), byte=1),
    Option("reveal_stock_at_end", False, "show the undealt cards in the result of a deal", flag=True, byte=None),
)
"""Options of every game with the French deck."""

HAND_SIZE = Option(
    "hand_size",
    None,
    "cards for each seat; by default as many as the deck has for all",
    range=f"from 1 to what the deck has for each seat, {MAX_TRICKS} at most",
    byte=None,
    record_field="usual_deal_size",
)

TRUMP_ROTATION = Option("trump_rotation", None, "trumps in turn, deal by deal", rotation=True, byte=46)


def complete_hand_size(values: Values, seats: int) -> None:
    """Work out or check `hand_size` for games in which it is the same in every deal.

    Raises:
        RulesError: the deck has not enough cards, or the hand would be larger than a table can hold.
    """
    most = min(deck_size(values) // seats, MAX_TRICKS)
    refuse_too_small_deck(values, seats)
    if values["hand_size"] is None:
        if deck_size(values) // seats > MAX_TRICKS:
            raise RulesError(f"hand_size must be given with this deck and {seats} seats: an integer from 1 to {MAX_TRICKS}")
        values["hand_size"] = most
    if not 1 <= values["hand_size"] <= most:
        raise RulesError(
            f"hand_size must be an integer from 1 to {most} with {deck_size(values)} cards and {seats} seats, "
            f"not {brief(values['hand_size'])}"
        )


def refuse_too_small_deck(values: Values, seats: int) -> None:
    """Refuse a table at which not every seat would have a card.

    Raises:
        RulesError: the deck has less than one card a seat.
    """
    if deck_size(values) < seats:
        raise RulesError(f"a deck of {deck_size(values)} cards is too small for {seats} seats")


def complete_rotation(values: Values, default: tuple[str, ...]) -> None:
    """Work out or check `trump_rotation`: it may name only suits of the deck.

    Raises:
        RulesError: it names another suit.
    """
    present = (*SUIT_LETTERS[FRENCH][: values["suits"]], "NT")
    if values["trump_rotation"] is None:
        values["trump_rotation"] = [word for word in default if word in present]
    strange = [word for word in values["trump_rotation"] if word not in present]
    if strange:
        raise RulesError(
            f"trump_rotation names {strange[0]}, which is not in a deck of {values['suits']} suits; "
            f"allowed are {', '.join(present)}"
        )
