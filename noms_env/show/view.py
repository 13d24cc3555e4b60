"""What a seat may see of a table, gathered in one place: `look` is the only function of `show` that reads a table.

Texts and pictures are made from a `View` alone, so what is not in it cannot be shown (rules 0.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from noms_env.core.actions import CALL_WORDS, CALL_ZERO, INDICATE, SCORED, UNSAID, action_word, brief, is_integer
from noms_env.core.bids import height
from noms_env.core.cards import CARD_SUITS, CARD_WORDS, FRENCH, NO_TRUMP, SUIT_LETTERS, cards_in
from noms_env.core.partners import ROLES, role_known_to
from noms_env.core.state import EPISODES, get_byte, phase_word
from noms_env.table import Table
from noms_env.variants import Variant
from noms_env.variants.dispatch import excuse_is_shown
from noms_env.variants.families import EXACT_BID

SUIT_ORDER = ((0, 1, 3, 2), (0, 1, 2, 3, 4, 5))
"""Per deck, the order of the suits in a sorted hand; in the French deck black and red take turns."""


@dataclass(frozen=True)
class Place:
    """One seat at the table, as the viewer sees it."""

    seat: int
    size: int  # number of cards in hand
    hand: tuple[int, ...] | None  # sorted; None while the cards are face down for the viewer
    marks: tuple[str, ...]  # what the seat is known to be: dealer, declarer, partner, exposed, sniped, winner
    calls: tuple[str, ...]
    tricks: int
    called: int | None  # tricks called, in the exact-bid games
    carried_tricks: int | None  # tricks of the earlier deals, where they add up
    total: float
    points: float | None  # in this deal, once it is scored


@dataclass(frozen=True)
class View:
    """A table as one seat sees it, as a spectator does (`viewer` None), or with all cards open (`full`)."""

    viewer: int | None
    full: bool
    # --- the match
    title: str
    misere: str  # what the bid to take no trick is called
    deck_kind: int
    deal: int  # its number, from 1
    deals: int | None  # deals of the match where their number is fixed
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
    candidates: tuple[int, ...]  # suits of which one will be trump
    turn_up: int | None
    excuse_shown_by: int | None
    broken: bool | None  # whether a trump has been played, where the lead of trumps waits for that
    contract: str | None
    declarer: int | None
    nominated: int | None
    nominated_rank: int | None
    refused: tuple[int, ...]
    revealed: int | None  # seat known to all to have held the nominated card, or the partner of a scored deal
    indicated: bool
    alone: bool  # all know that nobody was dealt a nominated card
    partner: int | None  # the hidden partner, only in the full view
    role: str | None  # the viewer's role, as far as the viewer knows it
    # --- the cards
    trick: tuple[tuple[int, int], ...]  # seat and card, in the order of play
    led_suit: int | None
    best_seat: int | None
    past_tricks: tuple[tuple[tuple[int, int], ...], ...]  # the complete ones, likewise
    winners: tuple[int, ...]  # of each complete trick
    tricks_done: int
    stock: tuple[int, ...]  # undealt cards, where they may be seen
    legal: tuple[str, ...]  # words of the legal actions, calls from low to high, only for the own turn or in the full view
    legal_cards: frozenset[int]  # the cards among the legal actions
    barred: tuple[int, ...]  # cards that may not be nominated, while the viewer nominates
    places: tuple[Place, ...]

    @property
    def last_trick(self) -> tuple[tuple[int, int], ...]:
        """The last complete trick; empty before there is one."""
        return self.past_tricks[-1] if self.past_tricks else ()

    @property
    def last_winner(self) -> int | None:
        """Who took the last complete trick."""
        return self.winners[-1] if self.winners else None


def look(table: Table, seat: int | None, full: bool = False) -> View:
    """What a seat (or with None a spectator) may see of a table; with `full` everything.

    Raises:
        ValueError: there is no such seat, or nothing has been dealt yet.
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
    """The fields of a row as attributes that are numbers and arrays: those of a record take microseconds to read, each."""
    return SimpleNamespace(**dict(zip(row.dtype.names or (), row.item(), strict=True)))


def sorted_hand(cards: int, deck_kind: int) -> tuple[int, ...]:
    """The cards of a set by suit (of two suits the first), each suit from high to low; the Excuse last."""
    order = SUIT_ORDER[deck_kind]
    by_suit = {suit: place for place, suit in enumerate(order)}
    return tuple(sorted(cards_in(cards), key=lambda card: (by_suit.get(main_suit(card, deck_kind), len(order)), -card)))


def suits_of(card: int, deck_kind: int) -> list[int]:
    """The suits of a card."""
    return cards_in(CARD_SUITS[deck_kind, card])


def main_suit(card: int, deck_kind: int) -> int:
    """The suit under which a card is sorted; -1 for the Excuse."""
    return min(suits_of(card, deck_kind), default=-1)


def call_text(call: int, variant: Variant) -> str:
    """A call (`action - PASS`) as people say it."""
    return say_call(CALL_WORDS[call], variant.misere)


def say_call(word: str, misere: str) -> str:
    """A call's word as people say it; `misere` is the game's own word for the bid to take no trick."""
    names = {"mis": misere, "mis_a_vis": "Mis a Vis", "none": "None", "some": "Some", "most": "Most"}
    return names.get(word, word)


def _legal_words(table: Table, actions: list[int], phase: str | None) -> list[str]:
    """The words of the legal actions; in an auction Misere stands where it ranks."""
    words = [action_word(action, table.deck_kind) for action in actions]
    return sorted(words, key=lambda word: height(table.row, CALL_WORDS.index(word))) if phase == "call" else words


def _or_none(number: int) -> int | None:
    return None if number < 0 else number


def _place(table: Table, row: Any, seat: int, face_up: bool) -> Place:
    """One seat, with its hand open or not. How many cards it holds follows from those that it has played."""
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
    role = ROLES[role_known_to(table.row, seat)]
    return None if role == "none" else role


def _find_revealed(row: Any) -> int | None:
    """The seat that is known to all to have held the nominated card: once it is played, or the deal is scored."""
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
    """Whether trumps may be led, during the play with a trump suit that must be broken."""
    if not row.breaks_trumps or row.trump == NO_TRUMP or phase not in ("play", "suit"):
        return None
    return bool(row.broken)


def _present_trick(row: Any) -> tuple[tuple[int, int], ...]:
    seats = [(row.leader + turn) % row.n_seats for turn in range(row.n_table)]
    return tuple((seat, int(row.on_table[seat])) for seat in seats)


def _past_tricks(row: Any) -> tuple[tuple[tuple[int, int], ...], ...]:
    """The complete tricks; the first was led by whoever played its first card, each other by the winner of the one before."""
    count, tricks = row.n_seats, []
    leader = next((seat for seat in range(count) if row.trick_number and int(row.played[seat]) >> int(row.order[0]) & 1), 0)
    for number in range(row.trick_number):
        cards = row.order[number * count : (number + 1) * count]
        tricks.append(tuple(((leader + turn) % count, int(card)) for turn, card in enumerate(cards)))
        leader = int(row.trick_winners[number])
    return tuple(tricks)


def card_name(card: int, deck_kind: int) -> str:
    """A card as text: `Q♠` in the French deck, `2MK` in the Decktet."""
    word = CARD_WORDS[deck_kind][card]
    return word[0] + suit_name(main_suit(card, deck_kind), deck_kind) if deck_kind == FRENCH else word


def suit_name(suit: int, deck_kind: int) -> str:
    """A suit (or `NO_TRUMP`) as text: ♣♦♥♠ in the French deck, its letter in the Decktet."""
    if suit == NO_TRUMP:
        return "NT"
    return "♣♦♥♠"[suit] if deck_kind == FRENCH else SUIT_LETTERS[deck_kind][suit]
