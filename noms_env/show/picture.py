"""A `View` as a picture: a card table seen from above, the viewer at the bottom."""

from __future__ import annotations

from math import cos, pi, sin

import numpy as np
from numpy.typing import NDArray

from noms_env.core.cards import CARD_WORDS, NO_TRUMP, SUIT_LETTERS
from noms_env.show.cards import BACK_CARD, HAND_CARD, ROUNDNESS, SMALL_CARD, TRICK_CARD, back, face
from noms_env.show.drawing import CENTRE, CREAM, FAINT, GOLD, INK, PANEL, RIM, WIDTH, Picture, text_width
from noms_env.show.lines import ASKED, ROLE_TEXTS, legal_text, partner_text, points_text, rank_text, status, tricks_text
from noms_env.show.view import Place, View, call_said

TRICK_RADII = (160, 98)
PLATE = (166, 66)
OWN_PLATE = (98, 654)
HAND_CENTRE, HAND_TOP, HAND_SPAN = 478, 598, 556
RAISED = 14
"""Pixels by which legal cards stand out."""
PROMPT_TOP = 516
OTHERS: dict[int, tuple[tuple[int, int], ...]] = {
    2: ((480, 90),),
    3: ((190, 300), (770, 300)),
    4: ((104, 330), (480, 90), (856, 330)),
    5: ((104, 400), (330, 94), (630, 94), (856, 400)),
    6: ((104, 420), (292, 150), (480, 90), (668, 150), (856, 420)),
    7: ((104, 470), (104, 300), (366, 92), (594, 92), (856, 300), (856, 470)),
}
"""Per number of seats, the centres of the plates of the others, clockwise from the viewer's left."""


def draw(view: View) -> NDArray[np.uint8]:
    """The picture of a view, uint8 (720, 960, 3)."""
    picture = Picture()
    first = view.viewer or 0
    seats = [view.places[(first + turn) % len(view.places)] for turn in range(len(view.places))]
    draw_header(picture, view)
    draw_trump(picture, view)
    draw_contract(picture, view)
    draw_stock(picture, view)
    for place, centre in zip(seats[1:], OTHERS[len(seats)], strict=True):
        draw_other(picture, view, place, centre)
    draw_bottom(picture, view, seats[0])
    if view.phase is None:
        draw_result(picture, view)
    else:
        draw_trick(picture, view, first)
        draw_prompt(picture, view)
    draw_last_trick(picture, view)
    return picture.pixels()


def draw_header(picture: Picture, view: View) -> None:
    """The game and the deal, and who is to do what."""
    deal = f"deal {view.deal}" + (f" of {view.deals}" if view.deals else "")
    target = f" · to {view.target} points" if view.target is not None else ""
    picture.bold(16, 19, view.title, 17, CREAM, "lm")
    x = 16 + text_width(view.title, 17) + 16
    cards = f"{view.deal_size} card{'s' if view.deal_size > 1 else ''}"
    picture.text(x, 20, f"{deal} · {cards}{target}{' · all cards open' if view.full else ''}", 14, FAINT, "lm")
    if view.phase is not None:
        picture.bold(WIDTH - 16, 19, status(view), 15, GOLD, "rm")


def draw_trump(picture: Picture, view: View) -> None:
    """The badge with the trump, the card turned up, and the multiplier."""
    kind = view.deck_kind
    picture.box(16, 50, 150, 96, PANEL, RIM)
    picture.text(28, 58, "Trump", 13, FAINT)
    suits = view.candidates if view.trump is None else () if view.trump == NO_TRUMP else (view.trump,)
    if len(suits) == 1:
        picture.coin(54, 106, 22)
        picture.mark(54, 106, kind, suits[0], 28)
    for place, suit in enumerate(suits if len(suits) > 1 else ()):
        picture.coin(44 + 53 * place, 98, 17)
        picture.mark(44 + 53 * place, 98, kind, suit, 22)
        picture.text(70, 98, "or", 12, CREAM, "mm")
    if not suits:
        words = "none" if view.trump == NO_TRUMP else "of the lead" if view.trump_unsaid else "not named"
        picture.bold(28, 106, words, 17, CREAM, "lm")
    if view.turn_up is not None:
        picture.paste(124, 58, face(kind, view.turn_up, SMALL_CARD))
        if view.excuse_shown_by is not None:
            picture.text(158, 135, f"Excuse: seat {view.excuse_shown_by}", 12, FAINT, "rm")
    if view.multiplier > 1:
        picture.coin(178, 66, 16, f"x{view.multiplier}", GOLD)


def draw_contract(picture: Picture, view: View) -> None:
    """The badge with the contract, the nominated card, and what the viewer knows of the sides."""
    if view.declarer is None:
        return
    lines = contract_lines(view)
    picture.box(754, 50, 190, max(70, 46 + 24 * len(lines)), PANEL, RIM)
    picture.bold(766, 58, f"{view.contract} by seat {view.declarer}", 15)
    for row, line in enumerate(lines):
        picture.text(766, 87 + 25 * row, line, 12, GOLD if line.startswith("you") else CREAM)
    if view.nominated is not None:
        picture.paste(899, 59, face(view.deck_kind, view.nominated, SMALL_CARD))


def contract_lines(view: View) -> list[str]:
    """The text in the badge below the contract."""
    rank = rank_text(view.nominated_rank) if view.nominated is None and view.nominated_rank is not None else ""
    refused = " ".join(CARD_WORDS[view.deck_kind][card] for card in view.refused[-4:])
    lines = [rank, partner_text(view), ROLE_TEXTS.get(view.role or "", ""), f"refused {refused}" if refused else ""]
    return [line for line in lines if line]


def draw_stock(picture: Picture, view: View) -> None:
    """The undealt cards where they may be seen, in words."""
    words = [CARD_WORDS[view.deck_kind][card] for card in view.stock]
    if words:
        picture.text(16, 152, "Undealt", 12, FAINT)
    for place, word in enumerate(words):
        picture.text(16 + 22 * (place % 8), 167 + 13 * (place // 8), word, 11, CREAM)


def draw_last_trick(picture: Picture, view: View) -> None:
    """The last complete trick, small, in the lower right corner."""
    if not view.last_trick:
        return
    picture.text(770, 618, f"Last trick: seat {view.last_winner}", 13, FAINT)
    step = min(40, 134 // max(1, len(view.last_trick) - 1))
    for place, (seat, card) in enumerate(view.last_trick):
        won = seat == view.last_winner
        picture.paste(770 + step * place, 640, face(view.deck_kind, card, SMALL_CARD, won))


def draw_plate(picture: Picture, view: View, place: Place, centre: tuple[int, int]) -> None:
    """The plate of a seat: who it is, its tricks, calls and points."""
    width, height = PLATE
    x, y = centre[0] - width / 2, centre[1] - height / 2
    acts = place.seat == view.to_act
    picture.box(x, y, width, height, PANEL, GOLD if acts else RIM, 2 if acts else 1)
    name = f"Seat {place.seat}" + (" (you)" if place.seat == view.viewer else "")
    picture.bold(x + 10, y + 15, name, 15, GOLD if acts else CREAM, "lm")
    if "dealer" in place.marks:
        picture.coin(x + 22 + text_width(name, 15), y + 15, 8, "D")
    shown = [name for name in ("winner", "sniped", "declarer", "partner") if name in place.marks]
    picture.text(x + width - 10, y + 15, shown[0] if shown else "", 11, GOLD, "rm")
    tricks = tricks_text(place)
    picture.text(x + 10, y + 35, f"{tricks} trick{'' if tricks == '1' else 's'}", 13, CREAM, "lm")
    total = points_text(place.total)
    picture.bold(x + width - 10, y + 35, total, 15, CREAM, "rm")
    if place.points is not None:
        change = points_text(place.points) if place.points < 0 else f"+{points_text(place.points)}"
        picture.text(x + width - 18 - text_width(total, 15), y + 35, change, 13, GOLD, "rm")
    if place.calls:
        picture.text(x + 10, y + 54, shortened("called " + ", ".join(place.calls), place.calls), 12, FAINT, "lm")


def shortened(text: str, calls: tuple[str, ...]) -> str:
    """The calls of a seat, only the last ones where all are too long for the plate."""
    while text_width(text, 12) > PLATE[0] - 20:
        calls = calls[1:]
        text = "called .. " + ", ".join(calls)
    return text


def draw_other(picture: Picture, view: View, place: Place, centre: tuple[int, int]) -> None:
    """A seat that is not the viewer's: plate, and below it the backs of its cards or its open hand."""
    bottom = centre[1] + PLATE[1] // 2
    if place.hand is None:
        draw_backs(picture, place.size, centre[0], bottom - 10)
    else:
        draw_small_hand(picture, view.deck_kind, place.hand, centre[0], bottom + 4)
    draw_plate(picture, view, place, centre)


def draw_backs(picture: Picture, count: int, middle: int, top: int) -> None:
    """Cards face down, half hidden by a plate."""
    step = min(12.0, 104 / max(1, count - 1))
    left = middle - 10 - ((count - 1) * step + BACK_CARD) / 2
    for place in range(count):
        picture.paste(left + place * step, top, back(BACK_CARD))
    if count:
        picture.text(left + (count - 1) * step + BACK_CARD + 6, top + 26, str(count), 13, CREAM, "lm")


def draw_small_hand(picture: Picture, kind: int, hand: tuple[int, ...], middle: int, top: int) -> None:
    """An open hand, in one or two rows."""
    rows = [hand] if len(hand) <= 9 else [hand[: (len(hand) + 1) // 2], hand[(len(hand) + 1) // 2 :]]
    for row, cards in enumerate(rows):
        left = middle - ((len(cards) - 1) * 17 + SMALL_CARD) / 2
        for place, card in enumerate(cards):
            picture.paste(left + 17 * place, top + 29 * row, face(kind, card, SMALL_CARD))


def draw_bottom(picture: Picture, view: View, place: Place) -> None:
    """The seat at the bottom: its plate and its hand, with the legal cards standing out in its turn."""
    draw_plate(picture, view, place, OWN_PLATE)
    step = min(46.0, (HAND_SPAN - HAND_CARD) / max(1, place.size - 1))
    left = HAND_CENTRE - ((place.size - 1) * step + HAND_CARD) / 2
    choosing = bool(view.legal_cards) and place.seat == view.to_act
    for turn in range(place.size):
        if place.hand is None:
            picture.paste(left + turn * step, HAND_TOP, back(HAND_CARD))
            continue
        card = place.hand[turn]
        legal = choosing and card in view.legal_cards
        image = face(view.deck_kind, card, HAND_CARD, dim=choosing and not legal)
        picture.paste(left + turn * step, HAND_TOP - (RAISED if legal else 0), image)


def draw_trick(picture: Picture, view: View, first: int) -> None:
    """The cards on the table, each on the side of the seat that played it; the best one has a golden rim."""
    for seat, card in view.trick:
        angle = pi / 2 + 2 * pi * ((seat - first) % len(view.places)) / len(view.places)
        x = CENTRE[0] + TRICK_RADII[0] * cos(angle)
        y = CENTRE[1] + TRICK_RADII[1] * sin(angle)
        image = face(view.deck_kind, card, TRICK_CARD, seat == view.best_seat)
        picture.paste(x - TRICK_CARD / 2, y - TRICK_CARD * ROUNDNESS / 2, image)
        picture.coin(x + TRICK_CARD / 2 - 3, y - TRICK_CARD * ROUNDNESS / 2 + 3, 9, str(seat))
    if view.led_suit is not None:
        picture.coin(CENTRE[0], CENTRE[1], 17)
        picture.mark(CENTRE[0], CENTRE[1], view.deck_kind, view.led_suit, 22)
    elif not view.trick and view.phase is not None:
        waiting = ASKED.get(view.phase, "to lead")
        picture.text(CENTRE[0], CENTRE[1], f"Seat {view.to_act} {waiting}", 19, FAINT, "mm")


def draw_result(picture: Picture, view: View) -> None:
    """How the deal or the match ended."""
    words = status(view)
    width = text_width(words, 18) + 48
    picture.box(CENTRE[0] - width / 2, CENTRE[1] - 28, width, 56, PANEL, GOLD, 2)
    picture.bold(CENTRE[0], CENTRE[1], words, 18, GOLD, "mm")


def draw_prompt(picture: Picture, view: View) -> None:
    """The words that the seat to act may choose from, above the hand at the bottom."""
    if view.phase == "nominate" and view.legal:
        words = legal_text(view)
        picture.text(HAND_CENTRE, PROMPT_TOP + 30, f"nominate {words}", 14 if len(words) < 60 else 11, GOLD, "mm")
        return
    words_only = [call_said(word, view.misere) for word in view.legal if view.phase != "play" or word == "indicate"]
    half = len(words_only) if len(words_only) <= 12 else (len(words_only) + 1) // 2
    rows = [words_only[:half], words_only[half:]]
    for row, words_of_row in enumerate(row for row in rows if row):
        draw_chips(picture, view, words_of_row, PROMPT_TOP + (30 if len(words_only) <= 12 else 34 * row))


def draw_chips(picture: Picture, view: View, words: list[str], top: float) -> None:
    """Words side by side, each on a chip; suits as marks."""
    widths = [max(34.0, text_width(word, 15) + 18) for word in words]
    left = HAND_CENTRE - (sum(widths) + 6 * (len(words) - 1)) / 2
    letters = SUIT_LETTERS[view.deck_kind]
    for word, width in zip(words, widths, strict=True):
        picture.box(left, top, width, 28, CREAM, INK)
        if view.phase in ("trump", "suit") and word in letters:
            picture.mark(left + width / 2, top + 14, view.deck_kind, letters.index(word), 20)
        else:
            picture.bold(left + width / 2, top + 14, word, 15, INK, "mm")
        left += width + 6
