"""Views of a table from one seat: `look` is the only function of `show` that reads a table.

Texts and pictures are made from a `View` alone, so hidden information cannot leak (rules 0.1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from noms_env.core.actions import CALL_WORDS, CALL_ZERO, INDICATE, SCORED, UNSAID, action_word, brief, is_integer
from noms_env.core.bids import height
from noms_env.core.cards import CARD_SUITS, CARD_WORDS, FRENCH, NO_TRUMP, SUIT_LETTERS, cards_in
from noms_env.core.messages import clean_name
from noms_env.core.partners import ROLES, known_role
from noms_env.core.state import EPISODES, get_byte, phase_word
from noms_env.table import Table
from noms_env.variants import Variant
from noms_env.variants.dispatch import excuse_is_shown
from noms_env.variants.families import EXACT_BID

SUIT_ORDER = ((0, 1, 3, 2), (0, 1, 2, 3, 4, 5))
"""Order of the suits in a sorted hand, per deck; in the French deck black and red alternate."""


@dataclass(frozen=True)
class Place:
    """A seat at the table, as the viewer sees it."""

    seat: int
    size: int  # number of cards in hand
    hand: tuple[int, ...] | None  # sorted; None if hidden from the viewer
    marks: tuple[str, ...]  # public marks: dealer, declarer, partner, exposed, sniped, winner
    calls: tuple[str, ...]
    tricks: int
    called: int | None  # tricks called, in the exact-bid games
    carried_tricks: int | None  # tricks of earlier deals, if they accumulate
    total: float
    points: float | None  # in this deal, once it is scored


@dataclass(frozen=True)
class View:
    """A table as seen by one seat, by a spectator (`viewer` None), or with all cards open (`full`)."""

    viewer: int | None
    full: bool
    # --- the match
    title: str
    misere: str  # name of the bid to take no trick
    deck_kind: int
    deal: int  # number of the deal, from 1
    deals: int | None  # deals of the match, if their number is fixed
    target: int | None
    multiplier: int
    over: bool
    truncated: bool
    # --- the deal
    deal_size: int
    phase: str | None  # None when the deal is scored
    to_act: int | None
    passed_out: bool
    dealer: int
    trump: int | None
    trump_unsaid: bool
    candidates: tuple[int, ...]  # suits from which the trump will be named
    turn_up: int | None
    excuse_shown_by: int | None
    broken: bool | None  # whether trumps may be led; None if there is no such restriction
    contract: str | None
    declarer: int | None
    nominated: int | None
    nominated_rank: int | None
    refused: tuple[int, ...]
    revealed: int | None  # seat that held the nominated card, once public; the partner of a scored deal
    indicated: bool
    alone: bool  # publicly known: there is no partner
    partner: int | None  # the hidden partner, only in the full view
    role: str | None  # the viewer's role, as far as the viewer knows it
    # --- the cards
    trick: tuple[tuple[int, int], ...]  # (seat, card) in order of play
    led_suit: int | None
    best_seat: int | None
    past_tricks: tuple[tuple[tuple[int, int], ...], ...]  # complete tricks, as in `trick`
    winners: tuple[int, ...]  # of each complete trick
    tricks_done: int
    stock: tuple[int, ...]  # undealt cards, if visible
    legal: tuple[str, ...]  # words of the legal actions, calls ascending; only on the viewer's turn or if `full`
    legal_cards: frozenset[int]  # cards among the legal actions
    barred: tuple[int, ...]  # cards that may not be nominated, while the viewer nominates
    places: tuple[Place, ...]

    @property
    def last_trick(self) -> tuple[tuple[int, int], ...]:
        """The last complete trick; empty if there is none."""
        return self.past_tricks[-1] if self.past_tricks else ()

    @property
    def last_winner(self) -> int | None:
        """The winner of the last complete trick; None if there is none."""
        return self.winners[-1] if self.winners else None


@dataclass(frozen=True)
class Notes:
    """Annotations of a drawing.

    Attributes:
        names: names by seat, cleaned by `clean_name`; default `Seat 0`, `Seat 1` and so on.
        probabilities: a policy's probabilities of the legal actions, by word.
        values: a search's values of the legal actions, by word, in points.
        taken: word of the next action, which gets a dashed frame.
    """

    names: Sequence[str] = ()
    probabilities: Mapping[str, float] = field(default_factory=dict)
    values: Mapping[str, float] = field(default_factory=dict)
    taken: str | None = None

    def name(self, seat: int) -> str:
        """Return the name of a seat."""
        return clean_name(self.names[seat]) if seat < len(self.names) else f"Seat {seat}"


def look(table: Table, seat: int | None, full: bool = False) -> View:
    """Return everything that a seat (None: a spectator) may see of a table; with `full`, all cards.

    Raises:
        ValueError: no such seat, or nothing has been dealt yet.
    """
    if seat is not None and (not is_integer(seat) or seat not in range(table.seats)):
        raise ValueError(f"seat must be None or an integer from 0 to {table.seats - 1}, not {brief(seat)}")
    row = plain(table.row)
    if row.deal_size == 0:
        raise ValueError("nothing has been dealt at this table yet; start it first")
    variant, kind, phase = table.rules.variant, table.deck_kind, phase_word(row.phase)
    scored = row.phase == SCORED
    own_turn = not scored and (full or seat == row.seat)
    actions = table.legal_actions() if own_turn else []
    return View(
        viewer=seat,
        full=full,
        title=variant.title,
        misere=variant.misere,
        deck_kind=kind,
        deal=row.deal + 1,
        deals=_or_none(row.n_deals),
        target=table.rules.options.get("target") if row.episode == EPISODES.index("match") else None,
        multiplier=int(row.multiplier),
        over=bool(row.over),
        truncated=bool(row.truncated),
        deal_size=row.deal_size,
        phase=phase,
        to_act=None if scored else row.seat,
        passed_out=bool(row.passed_out),
        dealer=row.dealer,
        trump=row.trump if 0 <= row.trump <= NO_TRUMP else None,
        trump_unsaid=row.trump == UNSAID,
        candidates=tuple(suits_of(row.turn_up, kind)) if row.turn_up >= 0 > row.trump else (),
        turn_up=_or_none(row.turn_up),
        excuse_shown_by=_or_none(row.excuse) if row.excuse >= 0 and excuse_is_shown(table.row) else None,
        broken=_find_broken(row, phase),
        contract=None if row.contract < 0 else call_text(row.contract, variant),
        declarer=_or_none(row.declarer),
        nominated=_or_none(row.nominated),
        nominated_rank=_or_none(row.nominated_rank),
        refused=tuple(cards_in(row.refused)),
        revealed=_find_revealed(row),
        indicated=row.indicated >= 0,
        alone=bool(row.alone) or (scored and row.declarer >= 0 and row.partner < 0),
        partner=_or_none(row.partner) if full and row.revealed < 0 else None,
        role=None if seat is None or row.declarer < 0 else _role(table, seat),
        trick=_present_trick(row),
        led_suit=_or_none(row.led_suit),
        best_seat=_or_none(row.best_seat) if row.led_suit >= 0 else None,
        past_tricks=_past_tricks(row),
        winners=tuple(int(seat) for seat in row.trick_winners[: row.trick_number]),
        tricks_done=row.trick_number,
        stock=tuple(cards_in(row.stock)) if full or (scored and row.reveal_stock_at_end) else (),
        legal=tuple(_legal_words(table, actions, phase)),
        legal_cards=frozenset(action for action in actions if action < INDICATE),
        barred=tuple(cards_in(row.cards & ~row.legal_cards)) if own_turn and phase == "nominate" else (),
        places=tuple(_place(table, row, other, full or other in (seat, row.exposed)) for other in range(row.n_seats)),
    )


def plain(row: np.record) -> Any:
    """Return the fields of a row as plain attributes, which are much faster to read than fields of a record."""
    return SimpleNamespace(**dict(zip(row.dtype.names or (), row.item(), strict=True)))


def sorted_hand(cards: int, deck_kind: int) -> tuple[int, ...]:
    """Return the cards of a bit set sorted by main suit, each suit high to low; the Excuse last."""
    order = SUIT_ORDER[deck_kind]
    by_suit = {suit: place for place, suit in enumerate(order)}
    return tuple(sorted(cards_in(cards), key=lambda card: (by_suit.get(main_suit(card, deck_kind), len(order)), -card)))


def suits_of(card: int, deck_kind: int) -> list[int]:
    """Return the suits of a card."""
    return cards_in(CARD_SUITS[deck_kind, card])


def main_suit(card: int, deck_kind: int) -> int:
    """Return the suit by which a card is sorted; -1 for the Excuse."""
    return min(suits_of(card, deck_kind), default=-1)


def call_text(call: int, variant: Variant) -> str:
    """Return a call (`action - PASS`) in spoken words."""
    return say_call(CALL_WORDS[call], variant.misere)


def say_call(word: str, misere: str) -> str:
    """Return a call's word in spoken words; `misere` is the game's name of the bid to take no trick."""
    names = {"mis": misere, "mis_a_vis": "Mis a Vis", "none": "None", "some": "Some", "most": "Most"}
    return names.get(word, word)


def _legal_words(table: Table, actions: list[int], phase: str | None) -> list[str]:
    """Return the words of the legal actions; calls by rank, Misere included."""
    words = [action_word(action, table.deck_kind) for action in actions]
    return sorted(words, key=lambda word: height(table.row, CALL_WORDS.index(word))) if phase == "call" else words


def _or_none(number: int) -> int | None:
    return None if number < 0 else number


def _place(table: Table, row: Any, seat: int, face_up: bool) -> Place:
    """Return one seat. The hand size follows from the cards played, so it reveals nothing."""
    first, options = row.dealer + 1, table.rules.options
    calls = [int(get_byte(row.calls, turn)) - 1 for turn in range(row.n_calls) if (first + turn) % row.n_seats == seat]
    exact = row.family == EXACT_BID and row.call[seat] >= CALL_ZERO
    return Place(
        seat=seat,
        size=row.deal_size - int(row.played[seat]).bit_count(),
        hand=sorted_hand(row.hands[seat], table.deck_kind) if face_up else None,
        marks=tuple(_marks(row, seat)),
        calls=tuple(call_text(call, table.rules.variant) for call in calls),
        tricks=int(row.tricks[seat]),
        called=int(row.call[seat]) - CALL_ZERO if exact else None,
        carried_tricks=int(row.carried_tricks[seat]) if options.get("accumulate") else None,
        total=float(row.totals[seat]),
        points=float(row.points[seat]) if row.phase == SCORED else None,
    )


def _role(table: Table, seat: int) -> str | None:
    role = ROLES[known_role(table.row, seat)]
    return None if role == "none" else role


def _find_revealed(row: Any) -> int | None:
    """Return the seat that held the nominated card, once it was played or the deal is scored; None before."""
    return _or_none(row.partner if row.phase == SCORED and row.revealed < 0 else row.revealed)


def _marks(row: Any, seat: int) -> list[str]:
    marks = {
        "dealer": seat == row.dealer,
        "declarer": seat == row.declarer,
        "partner": seat == _find_revealed(row) and seat != row.declarer,
        "exposed": seat == row.exposed,
        "sniped": row.phase == SCORED and row.sniped >> seat & 1,
        "winner": row.over and row.winners >> seat & 1,
    }
    return [mark for mark, holds in marks.items() if holds]


def _find_broken(row: Any, phase: str | None) -> bool | None:
    """Return whether trumps may be led; None outside of play or if trumps need not be broken."""
    if not row.breaks_trumps or row.trump == NO_TRUMP or phase not in ("play", "suit"):
        return None
    return bool(row.broken)


def _present_trick(row: Any) -> tuple[tuple[int, int], ...]:
    seats = [(row.leader + turn) % row.n_seats for turn in range(row.n_table)]
    return tuple((seat, int(row.on_table[seat])) for seat in seats)


def _past_tricks(row: Any) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Return the complete tricks. The winner of each trick leads the next."""
    count, tricks = row.n_seats, []
    leader = next((seat for seat in range(count) if row.trick_number and int(row.played[seat]) >> int(row.order[0]) & 1), 0)
    for number in range(row.trick_number):
        cards = row.order[number * count : (number + 1) * count]
        tricks.append(tuple(((leader + turn) % count, int(card)) for turn, card in enumerate(cards)))
        leader = int(row.trick_winners[number])
    return tuple(tricks)


def card_name(card: int, deck_kind: int) -> str:
    """Return a card as text: `Q♠` in the French deck, `2MK` in the Decktet."""
    word = CARD_WORDS[deck_kind][card]
    return word[0] + suit_name(main_suit(card, deck_kind), deck_kind) if deck_kind == FRENCH else word


def suit_name(suit: int, deck_kind: int) -> str:
    """Return a suit or `NO_TRUMP` as text: ♣♦♥♠ in the French deck, a letter in the Decktet."""
    if suit == NO_TRUMP:
        return "NT"
    return "♣♦♥♠"[suit] if deck_kind == FRENCH else SUIT_LETTERS[deck_kind][suit]
