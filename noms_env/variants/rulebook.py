"""Rules as data: the options of a variant, their checks, and their values at a table.

The module of a variant declares a `Variant`: its seats, its deck and its `Option`s. `make_rules` checks the user's options and
fills in the others. The result is a `Rules`: a small value that can be printed, compared, written into a record and copied
into a table.
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
    """An option, value or combination that the rules do not allow; the message says what is allowed."""


@dataclass(frozen=True)
class Option:
    """One option of a variant: its name, default, allowed values and a one-line description (`doc`).

    Exactly one of `flag`, `words`, `numbers`, `range` and `rotation` defines the allowed values; `none` also allows None.
    Without `none`, a default of None means that the default depends on the table.
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
    """The allowed integers in words, if they depend on the table; the variant's `complete` checks them."""
    byte: int | None = field(kw_only=True)
    """The option's byte in the section `choices` of an observation; for a rotation the first of `MAX_ROTATION` bytes. None if
    the option only affects what is shown, or is elsewhere in an observation. The byte is the same in all variants with the
    option and never changes, since trained policies read it there."""
    late: bool = False
    """True if the variant got the option after policies were published. At the default, its byte and its field in a table's
    record are then 0, as they were before."""
    record_field: str = ""
    """The field of a table's record that holds the option, if it does not have the option's name."""

    def __post_init__(self) -> None:
        """Check that `choices` has the byte, and that a record can hold the values; raises ValueError."""
        if self.byte is not None and not 0 <= self.byte <= NUM_CHOICES - self.width:
            raise ValueError(
                f"there is no room for the option {self.name} at byte {self.byte} of the section `choices` of an observation, "
                f"which has {NUM_CHOICES} bytes, 0 to {NUM_CHOICES - 1}; it takes {self.width}"
            )
        if self.numbers and max(map(abs, self.numbers)) > MAX_NUMBER:
            raise ValueError(f"the option {self.name} allows {self.numbers[1]}, but a record holds numbers up to {MAX_NUMBER}")
        has_zero = not self.numbers or self.numbers[0] <= 0
        if self.late and has_zero and self.code(self.default) != 0:
            raise ValueError(f"the option {self.name} is late, so 0 in a record must be its default, but 0 is another value")

    @property
    def width(self) -> int:
        """Number of bytes in `choices`."""
        return MAX_ROTATION if self.rotation else 1

    def allowed(self) -> str:
        """Return the allowed values in words."""
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
        """Return a value as a plain Python type; raises RulesError if it is not allowed."""
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
        """Return the number that stands for a value in the table's field."""
        if value is None:
            return -1
        return self.words.index(value) if self.words else int(value)

    def is_as_before(self, value: Any) -> bool:
        """Return whether a value keeps the rules as they were before the option existed."""
        return self.late and bool(value == self.default)


MAX_NUMBER = 2**15 - 1
"""The largest value of an option that a table's record can hold."""
ROTATION_WORDS = (*SUIT_LETTERS[FRENCH], "NT")


@dataclass(frozen=True)
class Need:
    """A condition under which an option has an effect; otherwise the option must have its default.

    Attributes:
        option: name of the option.
        where: the condition in words.
        holds: the condition.
    """

    option: str
    where: str
    holds: Callable[[Values], bool]


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One game of the family: its seats, deck, options and traits."""

    name: str
    number: int
    """Number of the variant in tables' records and in observations; it never changes."""
    title: str
    intro: str = field(repr=False)
    """The game in two or three sentences."""
    source: str = field(repr=False)
    """Where the source text of the rules is published."""
    family: int
    """Index into `families.FAMILIES`."""
    seats: tuple[int, int]
    default_seats: int = 4
    deck_kind: int = FRENCH
    options: tuple[Option, ...] = field(repr=False)
    complete: Callable[[Values, int], None] = field(default=lambda _values, _seats: None, repr=False)
    """Called with the options and the seats. Fills in the defaults that depend on the table, in place, and refuses impossible
    combinations with a RulesError."""
    point_range: Callable[[Values, int], tuple[float, float]] = field(repr=False)
    """Returns bounds of a seat's points in a deal, from the options and the cards dealt to each seat."""
    max_decisions: Callable[[Values, int, int, int], int] = field(repr=False)
    """Returns an upper bound on the decisions in a deal, from the options, the seats, the cards dealt to each seat and the
    undealt cards."""
    schedule: Callable[[Values, int], list[int]] | None = field(default=None, repr=False)
    """Returns the hand size of each deal of a match (exact-bid games), from the options and the seats."""
    deal_size: Callable[[Values, int], int] = field(default=lambda values, _seats: values.get("hand_size", -1), repr=False)
    """Returns the cards dealt to each seat if all deals have the same number, else -1."""
    details: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    """Details of options by name, for the page of the game: the meaning of each word, or the interplay with other options."""
    needs: tuple[Need, ...] = field(default=(), repr=False)
    """The options that have an effect only under a condition."""
    deals_depend: bool = False
    """The cards of a deal can depend on the previous deal."""
    passes_out: bool = False
    """All seats can pass, and then the deal is not played."""
    opens_hand: bool = False
    """In some contract the declarer's hand lies open."""
    breaks_trumps: bool = False
    """No trump may be led until one has been played."""
    opponents_score_tricks: bool = False
    """Auction games: opponents score their own tricks, whether or not the contract is made."""
    misere: str = "Misere"
    """Auction games: name of the bid to take no trick."""
    simple_rollout: bool = False
    """Searches play deals out by the simple rules in `search.rollouts`."""
    total_scale: Callable[[Values], tuple[int, int]] = field(default=lambda _values: (1, 64), repr=False)
    """Returns scale and offset of the byte that shows a total in observations."""
    most_doublings: Callable[[Values], int] = field(default=lambda _values: 0, repr=False)
    """Returns how often the points of a deal can be doubled."""

    def __post_init__(self) -> None:
        """Check that observations have room for the number; raises ValueError."""
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
        """Return the option of a name.

        Args:
            name: name of the option.
            arguments: other names that the message may suggest.

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
    """The rules of one table: a variant, the number of seats, and a value for every option."""

    variant: Variant
    seats: int
    options: Values = field(hash=False)

    def __repr__(self) -> str:
        return f"<Rules {self.variant.name}: {self.summary}>"

    @property
    def summary(self) -> str:
        """The seats, and the options that differ from their defaults: `4 seats, target=50`."""
        chosen = (f"{name}={literal(value)}" for name, value in given_options(self).items())
        return ", ".join([f"{self.seats} seats", *chosen])

    @property
    def schedule(self) -> list[int]:
        """Hand size of each deal of the match; empty if the variant has no schedule."""
        return self.variant.schedule(self.options, self.seats) if self.variant.schedule else []

    @property
    def deck(self) -> list[int]:
        """Numbers of the cards in use, ascending."""
        deck = french_deck if self.variant.deck_kind == FRENCH else decktet_deck
        return deck(self.options["ranks"], self.options["suits"])


def make_rules(variant: Variant, seats: int | None = None, options: Mapping[str, Any] | None = None) -> Rules:
    """Check seats and options, and fill in the defaults.

    Args:
        variant: the game.
        seats: number of seats; None for the variant's default.
        options: the options that differ from their defaults.

    Raises:
        RulesError: an unknown option, a value out of range, or a combination that cannot be dealt, bid or ended.
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
                raise RulesError(f"{need.option} has an effect only {need.where}; otherwise leave it at {usual[need.option]!r}")
    return Rules(variant, seats, values)


def given_options(rules: Rules) -> Values:
    """Return the fewest options with which `make_rules` returns these rules."""
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
    """Return all options of a table, including the defaults that depend on it."""
    values = _fill_defaults(variant, chosen)
    variant.complete(values, seats)
    return values


def _check_seats(variant: Variant, seats: int | None, values: Values) -> int:
    """Check and return the number of seats: in the rulebook's range, or with a shortened deck from two up."""
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
    """Return the number of cards of the French deck in use."""
    return int(values["ranks"] * values["suits"])


SHORT_DECK = (
    Option("ranks", 13, "the top ranks of each suit that are in the deck (not in the source texts)", numbers=(2, 13), byte=0),
    Option("suits", 4, "the first suits, of C D H S, that are in the deck (not in the source texts)", numbers=(1, 4), byte=1),
    Option("reveal_stock_at_end", False, "show the undealt cards in the result of a deal", flag=True, byte=None),
)
"""The options that all games with the French deck share."""

HAND_SIZE = Option(
    "hand_size",
    None,
    "cards per seat; by default all cards that can be dealt evenly",
    range=f"from 1 to the deck's cards per seat, at most {MAX_TRICKS}",
    byte=None,
    record_field="usual_deal_size",
)

TRUMP_ROTATION = Option("trump_rotation", None, "trumps in turn, deal by deal", rotation=True, byte=46)


def complete_hand_size(values: Values, seats: int) -> None:
    """Fill in or check `hand_size`, for games with the same size in all deals; raises RulesError if it does not fit."""
    most = largest_hand(values, seats, MAX_TRICKS)
    if values["hand_size"] is None:
        if deck_size(values) // seats > MAX_TRICKS:
            raise RulesError(f"hand_size must be given with this deck and {seats} seats: an integer from 1 to {MAX_TRICKS}")
        values["hand_size"] = most
    check_range(values, "hand_size", 1, most, f"with {deck_size(values)} cards and {seats} seats")


def largest_hand(values: Values, seats: int, cap: int) -> int:
    """Return the largest hand that the deck allows, at most `cap`; raises RulesError if a seat would have no card."""
    if deck_size(values) < seats:
        raise RulesError(f"a deck of {deck_size(values)} cards is too small for {seats} seats")
    return min(cap, deck_size(values) // seats)


def check_range(values: Values, name: str, low: int, high: int, where: str) -> None:
    """Check an option with a `range` (`Option.range`); raises RulesError if it is not from `low` to `high`."""
    if not low <= values[name] <= high:
        raise RulesError(f"{name} must be an integer from {low} to {high} {where}, not {brief(values[name])}")


def complete_rotation(values: Values, default: tuple[str, ...]) -> None:
    """Fill in or check `trump_rotation`; raises RulesError if it names a suit that is not in the deck."""
    present = (*SUIT_LETTERS[FRENCH][: values["suits"]], "NT")
    if values["trump_rotation"] is None:
        values["trump_rotation"] = [word for word in default if word in present]
    strange = [word for word in values["trump_rotation"] if word not in present]
    if strange:
        raise RulesError(
            f"trump_rotation names {strange[0]}, which is not in a deck of {values['suits']} suits; "
            f"allowed are {', '.join(present)}"
        )
