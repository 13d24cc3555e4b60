"""Lines of text for a `View`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby

from noms_env.core.cards import CARD_WORDS, EXCUSE, FRENCH, NO_TRUMP, RANK_LETTERS
from noms_env.show.view import Place, View, card_name, main_suit, say_call, sorted_hand, suit_name, suits_of

BOLD, DIM, BRIGHT = "1", "2", "1;33"
SUIT_COLOURS = (("32", "34", "31", "1"), ("38;5;245", "38;5;208", "34", "32", "35", "33"))
"""ANSI colours per deck and suit: four for the French deck, six for the Decktet."""
ROLE_TEXTS = {
    "declarer": "you are the declarer",
    "declarer_alone": "you are the declarer, alone",
    "partner": "you are the partner",
    "opponent": "you are an opponent",
}
TASKS = {"call": "to call", "trump": "to name trump", "nominate": "to nominate a card", "suit": "to name the suit led"}
LABEL_WIDTH = 10
LEFT = ("seat", "", "calls")
"""Headings of the left-aligned columns."""
ALL_RANKS = tuple(RANK_LETTERS[FRENCH])


def lines_of(view: View, colour: bool = False) -> list[str]:
    """Describe a view in lines of text, without newlines."""
    blocks = [
        [paint(headline(view), BOLD, colour), paint(status(view), BRIGHT, colour)],
        [*contract_lines(view, colour), *trick_lines(view, colour)],
        seat_lines(view, colour),
        hand_lines(view, colour),
    ]
    return [line for block in blocks if block for line in ("", *block)][1:]


def paint(text: str, code: str, colour: bool) -> str:
    """Wrap text in an ANSI code if `colour`."""
    return f"\x1b[{code}m{text}\x1b[0m" if colour and code else text


def add_label(label: str, content: str, colour: bool) -> str:
    """Return a line with a label in its margin."""
    return paint(f"{label:<{LABEL_WIDTH}}", DIM, colour) + content


def card_text(card: int, deck_kind: int, colour: bool = False) -> str:
    """Return a card as text, optionally in the colours of its suits: `Q♠`, `2MK`."""
    name = card_name(card, deck_kind)
    suits = suits_of(card, deck_kind)
    if not colour or not suits:
        return name
    if len(suits) == 1:
        return paint(name, SUIT_COLOURS[deck_kind][suits[0]], True)
    return name[0] + "".join(suit_text(suit, deck_kind, True) for suit in suits)


def suit_text(suit: int, deck_kind: int, colour: bool = False) -> str:
    """Return a suit or no trump as text: `♠`, `M`, `NT`."""
    name = suit_name(suit, deck_kind)
    return name if suit == NO_TRUMP else paint(name, SUIT_COLOURS[deck_kind][suit], colour)


def hand_text(cards: Iterable[int], deck_kind: int, colour: bool = False) -> str:
    """Return cards sorted by suit, high to low: `♣ AK2  ♥ 5`. Decktet cards stand singly, by first suit."""
    hand = sorted_hand(sum(1 << card for card in set(cards)), deck_kind)
    groups = [(suit, list(group)) for suit, group in groupby(hand, lambda card: main_suit(card, deck_kind))]
    if deck_kind != FRENCH:
        return "  ".join(" ".join(card_text(card, deck_kind, colour) for card in group) for _, group in groups)
    ranks = [(suit, "".join(CARD_WORDS[FRENCH][card][0] for card in group)) for suit, group in groups]
    return "  ".join(paint(f"{suit_name(suit, FRENCH)} {text}", SUIT_COLOURS[FRENCH][suit], colour) for suit, text in ranks)


def trick_text(cards: Iterable[tuple[int, int]], deck_kind: int, colour: bool = False) -> str:
    """Return the cards of a trick with their seats: `seat 1 Q♠ · seat 2 3♠`."""
    return " · ".join(f"seat {seat} {card_text(card, deck_kind, colour)}" for seat, card in cards)


def points_text(points: float) -> str:
    """Format points without trailing zeros: `12`, `-4.5`, `0.33`."""
    text = f"{points:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def rank_text(rank: int) -> str:
    """Return a nominated bare rank in words."""
    return f"{RANK_LETTERS[FRENCH][rank]} of trumps"


def headline(view: View) -> str:
    """Return the game, the deal and its size."""
    deal = f"deal {view.deal}" + (f" of {view.deals}" if view.deals else "")
    cards = "1 card each" if view.deal_size == 1 else f"{view.deal_size} cards each"
    parts = [view.title, deal, cards, f"dealer seat {view.dealer}"]
    if view.multiplier > 1:
        parts.append(f"points ×{view.multiplier}")
    if view.target is not None:
        parts.append(f"to {view.target} points")
    if view.full:
        parts.append("all cards open")
    return " · ".join(parts)


def status(view: View, name: Callable[[int], str] = "Seat {}".format) -> str:
    """Say who is to act and how, or how the deal or match ended; `name` maps a seat to its name."""
    if view.over:
        winners = [place.seat for place in view.places if "winner" in place.marks]
        cut_off = ", cut off before its end" if view.truncated else ""
        return f"The match is over{cut_off}: {' and '.join(map(name, winners))} {'wins' if len(winners) == 1 else 'win'}"
    if view.phase is None:
        return "All passed: no play" if view.passed_out else "The deal is over"
    task = TASKS.get(view.phase) or ("to play" if view.trick else "to lead")
    you = " (you)" if view.to_act == view.viewer else ""
    return f"{name(view.to_act or 0)}{you} {task}"


def contract_lines(view: View, colour: bool) -> list[str]:
    """Describe trump, and in a game with a declarer the contract and the viewer's side."""
    lines = [add_label("Trump", " · ".join(trump_parts(view, colour)), colour)]
    if view.declarer is not None:
        lines.append(add_label("Bid", " · ".join(bid_parts(view, colour)), colour))
    return lines


def trump_parts(view: View, colour: bool = False) -> list[str]:
    """Describe trump: suit or candidates, turn-up, the Excuse, and whether trumps may be led."""
    kind = view.deck_kind
    if view.trump is not None:
        parts = ["none" if view.trump == NO_TRUMP else suit_text(view.trump, kind, colour)]
    elif view.candidates:
        parts = [" or ".join(suit_text(suit, kind, colour) for suit in view.candidates)]
    else:
        parts = ["the suit of the first lead" if view.trump_unsaid else "not named yet"]
    if view.turn_up is not None:
        parts.append(f"turned up {card_text(view.turn_up, kind, colour)}")
    if view.excuse_shown_by is not None:
        parts.append(f"{CARD_WORDS[kind][EXCUSE]} shown by seat {view.excuse_shown_by}")
    if view.broken is not None:
        parts.append("may be led" if view.broken else "may not be led yet")
    return parts


def bid_parts(view: View, colour: bool = False) -> list[str]:
    """Describe contract, declarer, nominated card, partner and the viewer's role."""
    kind = view.deck_kind
    parts = [f"{view.contract} by seat {view.declarer}"]
    if view.nominated is not None:
        parts.append(f"nominated {card_text(view.nominated, kind, colour)}")
    elif view.nominated_rank is not None:
        parts.append(f"nominated {rank_text(view.nominated_rank)}")
    if view.refused:
        parts.append("refused " + " ".join(card_text(card, kind, colour) for card in view.refused))
    parts.append(partner_text(view))
    if view.indicated:
        parts.append("indicated")
    if view.role is not None:
        parts.append(ROLE_TEXTS[view.role])
    return [part for part in parts if part]


def partner_text(view: View, name: Callable[[int], str] = "seat {}".format) -> str:
    """Say what the viewer knows of the partner; `name` maps a seat to its name."""
    if view.alone or (view.revealed is not None and view.revealed == view.declarer):
        return "alone"
    if view.revealed is not None:
        return f"partner {name(view.revealed)}"
    if view.nominated is None and view.nominated_rank is None:
        return ""
    if view.full and view.nominated is not None:
        return "alone, hidden" if view.partner is None else f"partner {name(view.partner)}, hidden"
    return "partner not shown"


def trick_lines(view: View, colour: bool) -> list[str]:
    """Describe the current trick and the previous one."""
    lines = []
    if view.trick:
        parts = [trick_text(view.trick, view.deck_kind, colour)]
        if view.led_suit is not None and len(suits_of(view.trick[0][1], view.deck_kind)) > 1:
            parts.append(f"led as {suit_text(view.led_suit, view.deck_kind, colour)}")
        lines.append(add_label(f"Trick {view.tricks_done + 1}", " · ".join(parts), colour))
    if view.last_trick:
        taken = f"{trick_text(view.last_trick, view.deck_kind, colour)} · taken by seat {view.last_winner}"
        lines.append(add_label("Last", taken, colour))
    return lines


def seat_lines(view: View, colour: bool) -> list[str]:
    """Return a table with one line per seat."""
    places = view.places
    columns = {
        "seat": [str(place.seat) for place in places],
        "": [", ".join([*(["you"] if place.seat == view.viewer else []), *place.marks]) for place in places],
        "calls": [" ".join(place.calls) for place in places],
        "cards": [str(place.size) for place in places],
        "tricks": [tricks_text(place) for place in places],
        "points": [points_text(place.points or 0) for place in places],
        "total": [points_text(place.total) for place in places],
    }
    absent = {"calls": not any(columns["calls"]), "points": view.phase is not None}
    shown = [[head, *cells] for head, cells in columns.items() if not absent.get(head)]
    widths = [max(map(len, column)) for column in shown]
    rows = list(zip(*shown, strict=True))
    lines = []
    for number, row in enumerate(rows):
        sized = zip(rows[0], row, widths, strict=True)
        cells = [cell.ljust(width) if head in LEFT else cell.rjust(width) for head, cell, width in sized]
        arrow = "> " if number and view.places[number - 1].seat == view.to_act else "  "
        code = DIM if not number else (BRIGHT if arrow == "> " else "")
        lines.append(paint((arrow + "  ".join(cells)).rstrip(), code, colour))
    return lines


def tricks_text(place: Place) -> str:
    """Return the tricks of a seat, with its call, or with the carried tricks of earlier deals."""
    if place.called is not None:
        return f"{place.tricks} of {place.called}"
    return str(place.tricks) if place.carried_tricks is None else f"{place.tricks} + {place.carried_tricks}"


def hand_lines(view: View, colour: bool) -> list[str]:
    """List the visible hands (the viewer's first), the stock if visible, and the legal actions."""
    kind = view.deck_kind
    places = sorted(view.places, key=lambda place: place.seat != view.viewer)
    labels = {place.seat: "Hand" if place.seat == view.viewer else f"Seat {place.seat}" for place in places}
    hands = [(labels[place.seat], place.hand) for place in places if place.hand is not None]
    lines = [add_label(label, hand_text(hand, kind, colour) or "-", colour) for label, hand in hands]
    if view.stock:
        lines.append(add_label("Stock", hand_text(view.stock, kind, colour), colour))
    if view.legal:
        lines.append(add_label("Legal", legal_text(view), colour))
    return lines


def legal_text(view: View) -> str:
    """List the legal actions, calls in spoken words. A nomination lists the illegal cards instead."""
    if view.phase == "call":
        return ", ".join(say_call(word, view.misere) for word in view.legal)
    if view.phase != "nominate":
        return " ".join(view.legal)
    ranks = [word for word in view.legal if word in ALL_RANKS]
    barred = " ".join(CARD_WORDS[view.deck_kind][card] for card in view.barred)
    text = "any card" + (f" but {barred}" if barred else "")
    return text + (f", or a rank of the trump suit: {' '.join(ranks)}" if ranks else "")
