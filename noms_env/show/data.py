"""Data of a `View` and of a deck for a page that draws them itself.

`view_data` reads only a `View`, so hidden information cannot leak.
"""

from __future__ import annotations

from typing import Any

from noms_env.core.cards import CARD_NUMBERS, CARD_SUITS, CARD_WORDS, EXCUSE, FRENCH, NO_TRUMP, RANK_LETTERS, SUIT_LETTERS
from noms_env.show.cards import RANK_NAMES, card_title, printed_rank, symbols
from noms_env.show.lines import ALL_RANKS
from noms_env.show.marks import MARK_NAMES
from noms_env.show.results import outcomes, wanted_tricks
from noms_env.show.rules import SUIT_NAMES
from noms_env.show.view import SUIT_ORDER, Place, View, main_suit, say_call, sorted_hand, suits_of

COPIED = (
    *("viewer", "title", "deal", "deals", "target", "multiplier", "over", "truncated", "phase", "passed_out", "dealer"),
    *("trump_unsaid", "excuse_shown_by", "broken", "contract", "declarer", "revealed", "indicated", "alone", "partner", "role"),
)
"""Fields of a `View` that a page gets as they are."""


def view_data(view: View) -> dict[str, Any]:
    """Return a view as JSON data: cards and actions as words of a record, suits as letters, seats as numbers.

    On the viewer's turn `why` explains each illegal card in hand. `choices` holds the legal actions other than cards in hand.
    `side` holds the seats of the declarer's side that the viewer knows, and their tricks. `results` are the outcomes of a
    scored deal.
    """
    words = CARD_WORDS[view.deck_kind]
    own = next((place for place in view.places if place.seat == view.viewer), None)
    return {name: getattr(view, name) for name in COPIED} | {
        "deck": view.deck_kind,
        "size": view.deal_size,
        "turn": view.to_act,
        "trump": _suit(view.trump, view.deck_kind),
        "candidates": [_suit(suit, view.deck_kind) for suit in view.candidates],
        "turn_up": _card(view.turn_up, view.deck_kind),
        "nominated": _card(view.nominated, view.deck_kind),
        "nominated_rank": None if view.nominated_rank is None else RANK_LETTERS[FRENCH][view.nominated_rank],
        "refused": [words[card] for card in view.refused],
        "trick": [[seat, words[card]] for seat, card in view.trick],
        "led": _suit(view.led_suit, view.deck_kind),
        "best": view.best_seat,
        "tricks": [[[seat, words[card]] for seat, card in trick] for trick in view.past_tricks],
        "winners": [*view.winners],
        "stock": [words[card] for card in view.stock],
        "legal": [words[card] for card in sorted(view.legal_cards)],
        "choices": _choices(view),
        "barred": [words[card] for card in view.barred],
        "why": _why(view, own),
        "side": _side(view),
        "results": [vars(outcome) for outcome in outcomes(view)] if view.phase is None else [],
        "places": [_place(place, view) for place in view.places],
    }


def _card(card: int | None, deck_kind: int) -> str | None:
    return None if card is None else CARD_WORDS[deck_kind][card]


def _suit(suit: int | None, deck_kind: int) -> str | None:
    """Return the letter of a suit; `NT` for no trump."""
    if suit is None:
        return None
    return "NT" if suit == NO_TRUMP else SUIT_LETTERS[deck_kind][suit]


def _place(place: Place, view: View) -> dict[str, Any]:
    hand = None if place.hand is None else [CARD_WORDS[view.deck_kind][card] for card in place.hand]
    return {**vars(place), "hand": hand, "marks": [*place.marks], "calls": [*place.calls]}


def _choices(view: View) -> list[dict[str, str]]:
    """Return the legal actions except cards in hand, with spoken words."""
    kind, letters = view.deck_kind, SUIT_LETTERS[view.deck_kind]
    words = [word for word in view.legal if view.phase != "play" or word not in CARD_NUMBERS[kind]]
    labels = {"indicate": "Show yourself as the partner", "unsaid": "Leave trump unsaid", "NT": "No trump", "pass": "Pass"}
    if view.phase == "call":
        return [{"word": word, "said": labels.get(word) or say_call(word, view.misere)} for word in words]
    if view.phase in ("trump", "suit"):
        labels |= {letter: SUIT_NAMES[kind][number] for number, letter in enumerate(letters)}
    if view.phase == "nominate":
        labels |= {word: card_title(CARD_NUMBERS[kind][word], kind) for word in words if word in CARD_NUMBERS[kind]}
        labels |= {rank: f"{RANK_NAMES.get(rank, rank)} of trumps" for rank in ALL_RANKS}
    return [{"word": word, "said": labels.get(word, word)} for word in words]


def _side(view: View) -> dict[str, Any] | None:
    """Return the declarer's side as the viewer knows it, and its tricks; None without a declarer."""
    if view.declarer is None or view.phase not in ("play", "suit", None):
        return None
    known = {view.declarer, view.revealed, view.viewer if view.role == "partner" else None, view.partner} - {None}
    seats = sorted(seat for seat in known if seat is not None)
    taken = sum(view.places[seat].tricks for seat in seats)
    return {"seats": seats, "taken": taken, "wanted": wanted_tricks(view.contract), "known": len(seats) > 1 or view.alone}


def _why(view: View, own: Place | None) -> dict[str, str]:
    """Explain for each illegal card of the viewer's hand why it may not be played."""
    if own is None or view.phase != "play" or view.to_act != view.viewer or not view.legal_cards:
        return {}
    illegal = [card for card in own.hand or () if card not in view.legal_cards]
    return {CARD_WORDS[view.deck_kind][card]: why_illegal(view, card) for card in illegal}


def why_illegal(view: View, card: int) -> str:
    """Explain why a card of the viewer's hand may not be played."""
    kind, names = view.deck_kind, SUIT_NAMES[view.deck_kind]
    if view.trick and view.led_suit is not None:
        return f"You must follow {names[view.led_suit]}."
    if view.broken is False and view.trump is not None and CARD_SUITS[kind, card] >> view.trump & 1:
        return f"You may not lead {names[view.trump]}, the trump suit, before a trump has been played."
    if view.declarer == view.viewer and view.nominated is not None and not view.tricks_done:
        suit = main_suit(view.nominated, kind)
        if all(main_suit(other, kind) != suit for other in view.legal_cards):
            return f"You may not lead {names[suit]}, the suit of the card that you nominated, to the first trick."
        return "You may not lead the card that you nominated to the first trick."
    return f"{card_title(card, kind)} may not be led now."


def deck_data(deck_kind: int) -> dict[str, Any]:
    """Return a deck for a page: cards in the order of a sorted hand, suits, and the symbols of both.

    Each card has `title`, `rank` and `suits` (letters). Its symbol is `noms-c-` (narrow: `noms-t-`), its word and the deck's
    `letter`; that of a suit is `noms-` and its mark. See `noms_env.show.cards`.
    """
    words, letters = CARD_WORDS[deck_kind], SUIT_LETTERS[deck_kind]
    cards = {
        words[card]: {
            "title": card_title(card, deck_kind),
            "rank": "EX" if deck_kind != FRENCH and card == EXCUSE else printed_rank(words[card][0]),
            "suits": [letters[suit] for suit in suits_of(card, deck_kind)],
        }
        for card in sorted_hand((1 << len(words)) - 1, deck_kind)
    }
    suits = {
        letters[suit]: {"name": SUIT_NAMES[deck_kind][suit], "mark": MARK_NAMES[deck_kind][suit]}
        for suit in SUIT_ORDER[deck_kind]
    }
    drawn = "".join(symbols(deck_kind).values())
    return {"letter": "f" if deck_kind == FRENCH else "d", "cards": cards, "suits": suits, "symbols": drawn}
