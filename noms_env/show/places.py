"""Seats of the drawing: plates, hands, calls, and probabilities of the cards."""

from __future__ import annotations

from collections.abc import Sequence

from noms_env.core.cards import CARD_WORDS
from noms_env.show.cards import card_title, narrow_card, whole_card
from noms_env.show.elements import box, coin, group, text, text_width, use
from noms_env.show.lines import points_text, tricks_text
from noms_env.show.view import Notes, Place, View

PLATE = (176, 62)
OTHERS: dict[int, tuple[tuple[int, int], ...]] = {
    2: ((360, 180),),
    3: ((96, 290), (624, 290)),
    4: ((96, 330), (360, 180), (624, 330)),
    5: ((96, 390), (214, 180), (506, 180), (624, 390)),
    6: ((96, 440), (96, 250), (360, 180), (624, 250), (624, 440)),
    7: ((96, 470), (96, 300), (214, 180), (506, 180), (624, 300), (624, 470)),
}
"""Centres of the other seats' plates per number of seats, clockwise from the viewer's left."""
TILES_IN_ROW = 7
OWN_TOP, HAND_TOP = 672, 764
CARD = (84, 120)
RAISED = 10
"""Offset by which legal cards are raised."""
BAR_ROOM = 28
"""Height of the bar of probability 1, with its number."""
PILLS = ("winner", "sniped", "declarer", "partner", "exposed")
"""Marks shown on a plate in order of priority; each seat shows one."""
NEARLY_NONE = 0.005


def other_seat(view: View, notes: Notes, place: Place, turn: int) -> str:
    """Draw another seat than the viewer's: plate, last call, and the hand below if it is open."""
    width, height = PLATE
    middle, centre = OTHERS[len(view.places)][turn - 1]
    left, top = middle - width / 2, centre - height / 2
    drawn = ""
    if place.hand is not None:
        drawn += open_hand(view, notes, place, middle, top + height + 2)
    acts = place.seat == view.to_act
    drawn += box(left, top, width, height, "turn" if acts else "panel", 10, 4 if acts else 1.5)
    right = left + width - 10
    if place.hand is None and place.size:
        drawn += use("back", right - 15, top + 7, 15, 21) + text(
            right - 20, top + 18, str(place.size), 18, "faint", anchor="end"
        )
        right -= 46
    if "dealer" in place.marks:
        drawn += coin(right - 12, top + 18, "D", 12)
        right -= 30
    drawn += draw_name(notes, place, left + 10, top + 18, right - left - 12, acts)
    drawn += text(left + 10, top + 45, score_line(place), 18, room=100)
    drawn += total(place, left + width - 10, top + 45, 92 if place.points is not None else 60)
    return drawn + tags(view, place, left, top)


def draw_name(notes: Notes, place: Place, x: float, y: float, room: float, acts: bool) -> str:
    """Draw the name of a seat, after an arrow if it is to act."""
    arrow = f'<path d="M{x:g} {y - 8:g}l12 8l-12 8z" class="noms-accent"/>' if acts else ""
    indent = 16 if acts else 0
    return arrow + text(x + indent, y, notes.name(place.seat), 20, bold=True, room=room - indent)


def score_line(place: Place) -> str:
    """Return the tricks of a seat in words."""
    tricks = tricks_text(place)
    return f"{tricks} trick{'' if tricks == '1' else 's'}" if place.called is None else tricks


def total(place: Place, right: float, y: float, room: float) -> str:
    """Draw the total of a seat, and its points in a scored deal."""
    words = points_text(place.total)
    drawn = text(right, y, words, 20, bold=True, anchor="end", room=room)
    if place.points is not None:
        change = points_text(place.points) if place.points < 0 else f"+{points_text(place.points)}"
        left = right - min(room, text_width(words, 20)) - 10
        drawn += text(left, y, change, 18, "accent", anchor="end", room=max(24.0, room - text_width(words, 20) - 10))
    return drawn


def tags(view: View, place: Place, left: float, top: float) -> str:
    """Draw the tags on the upper edge of a plate: the first mark of `PILLS`, and while bidding the last call."""
    drawn, width = pill(place, left + 8, top - 8, 24)
    x = left + 8 + (width + 4 if width else 0)
    if place.calls and view.phase == "call":
        call = place.calls[-1]
        width = min(text_width(call, 20) + 18, left + PLATE[0] - x)
        drawn += box(x, top - 22, width, 27, "chip", 10) + text(
            x + width / 2, top - 8, call, 20, "print", bold=True, anchor="middle", room=width - 8
        )
    return drawn


def pill(place: Place, x: float, middle: float, height: float) -> tuple[str, float]:
    """Draw the first mark of `PILLS` of a seat; return also its width, 0 without a mark."""
    shown = next((mark for mark in PILLS if mark in place.marks), None)
    if shown is None:
        return "", 0
    width = text_width(shown, 18) + height - 8
    drawn = box(x, middle - height / 2, width, height, "pill", 8, 0) + text(x + height / 2 - 4, middle, shown, 18, "onpill")
    return drawn, width


def tiles(cards: Sequence[int], kind: int, left: float, top: float, per_row: int, width: float) -> str:
    """Draw narrow cards in rows."""
    height = width * 46 / 26
    return "".join(
        narrow_card(card, kind, left + width * (place % per_row), top + height * (place // per_row), width, height)
        for place, card in enumerate(cards)
    )


def open_hand(view: View, notes: Notes, place: Place, middle: float, top: float) -> str:
    """Draw the open hand of a seat in rows of narrow cards, with probability bars on its turn."""
    hand = place.hand or ()
    rows = -(-len(hand) // TILES_IN_ROW) or 1
    per_row = -(-len(hand) // rows) or 1
    width, height = 25, 44
    left = middle - width * per_row / 2
    chooses = bool(view.legal_cards) and view.phase == "play" and place.seat == view.to_act
    drawn = ""
    for number, card in enumerate(hand):
        x, y = left + width * (number % per_row), top + height * (number // per_row)
        drawn_card = narrow_card(card, view.deck_kind, x, y, width, height)
        if chooses:
            drawn_card = draw_choosable(view, notes, card, drawn_card, (x, y, width, height))
        drawn += drawn_card
    return drawn


def draw_choosable(view: View, notes: Notes, card: int, drawn: str, where: tuple[float, float, float, float]) -> str:
    """Draw a card on its seat's turn: dimmed if illegal, else with its word and probability."""
    x, y, width, height = where
    if card not in view.legal_cards:
        return drawn + box(x, y, width, height, "dim", 0.1 * width, 0)
    word = CARD_WORDS[view.deck_kind][card]
    if word in notes.probabilities and width < CARD[0]:
        long = (height - 4) * notes.probabilities[word]
        drawn += box(x + width - 7, y + height - 2 - long, 6, long, "bar", 1, 0.5) if long >= 1 else ""
    if word == notes.taken:
        drawn += box(x, y, width, height, "taken", 0.1 * width, 5)
    return group(drawn, data_word=word, aria_label=card_title(card, view.deck_kind))


def own_seat(view: View, notes: Notes, place: Place) -> str:
    """Draw the seat at the bottom: a plate of full width and the hand, with legal cards raised on its turn."""
    acts = place.seat == view.to_act
    drawn = box(6, OWN_TOP, 708, 52, "turn" if acts else "panel", 12, 4 if acts else 1.5)
    drawn += draw_name(notes, place, 20, OWN_TOP + 26, 208, acts)
    x = 240.0
    if "dealer" in place.marks:
        drawn += coin(x + 13, OWN_TOP + 26, "D")
        x += 36
    role, width = pill(place, x, OWN_TOP + 26, 26)
    drawn += role
    x += width + 10 if width else 0
    if place.calls and view.phase == "call":
        drawn += text(x, OWN_TOP + 26, f"called {', '.join(place.calls[-3:])}", 18, "faint", room=470 - x)
    drawn += text(480, OWN_TOP + 26, score_line(place), 20, room=100) + total(place, 700, OWN_TOP + 26, 110)
    return drawn + own_hand(view, notes, place)


def own_hand(view: View, notes: Notes, place: Place) -> str:
    """Draw the hand at the bottom, in two rows if it has more than 13 cards."""
    width, height = CARD
    cards: list[int | None] = [*place.hand] if place.hand is not None else [None] * place.size
    rows = [cards] if len(cards) <= 13 else [cards[: -(-len(cards) // 2)], cards[-(-len(cards) // 2) :]]
    chooses = bool(view.legal_cards) and view.phase == "play" and place.seat == view.to_act
    drawn = ""
    for row, held in enumerate(rows):
        step = min(92.0, (692 - width) / max(1, len(held) - 1))
        left = 360 - (step * (len(held) - 1) + width) / 2
        top = HAND_TOP - (22 if len(rows) > 1 else 0) + 50 * row
        for number, card in enumerate(held):
            x = left + step * number
            if card is None:
                drawn += use("back", x, top, width, height)
                continue
            y = top - (RAISED if chooses and card in view.legal_cards else 0)
            drawn_card = whole_card(card, view.deck_kind, x, y, width, height)
            if chooses:
                drawn_card += bar(notes, CARD_WORDS[view.deck_kind][card], x + 3, y - 3, min(step, width) - 6, len(rows) == 1)
                drawn_card = draw_choosable(view, notes, card, drawn_card, (x, y, width, height))
            drawn += drawn_card
    return drawn


def bar(notes: Notes, word: str, x: float, bottom: float, width: float, room_above: bool) -> str:
    """Draw a bar above an action with its probability in per cent, or its value in points."""
    if word in notes.values:
        words = f"{notes.values[word]:+.1f}"
    elif notes.probabilities.get(word, 0) >= NEARLY_NONE:
        words = f"{100 * notes.probabilities[word]:.0f}"
    else:
        return ""
    if not room_above:
        return box(x, bottom + 3, width, 20, "bar", 4, 1) + text(
            x + width / 2, bottom + 13, words, 18, "onbar", anchor="middle", room=width - 2
        )
    high = max(3.0, (BAR_ROOM - 20) * notes.probabilities.get(word, 0))
    return box(x, bottom - high, width, high, "bar", 2, 0.5) + text(
        x + width / 2, bottom - high - 10, words, 18, bold=True, anchor="middle", room=width + 4
    )
