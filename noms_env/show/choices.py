"""Legal actions other than cards in hand: bids, trumps and words as chips, nominations as a grid."""

from __future__ import annotations

from noms_env.core.cards import CARD_NUMBERS, CARD_RANK, RANK_LETTERS, SUIT_LETTERS
from noms_env.show.cards import card_title, mark, printed_rank
from noms_env.show.elements import box, group, text
from noms_env.show.lines import ALL_RANKS, rank_text
from noms_env.show.rules import SUIT_NAMES
from noms_env.show.view import SUIT_ORDER, Notes, View, say_call, suits_of

MIDDLE = 360
CHIP, GAP = (64, 52), 6
IN_ROW = 5
CHIPS_MIDDLE, CHIPS_LOW = 436, 626
"""Vertical centres of the chips: in the middle of the empty table, and below a trick."""
GRID_TOP, GRID_HEIGHT, CELL = 268, 320, 48
SAID = {"indicate": "Indicate", "unsaid": "Unsaid", "NT": "NT"}


def chips(view: View, notes: Notes) -> str:
    """Draw the legal words of the seat to act as chips; suits as marks."""
    words = [word for word in view.legal if view.phase != "play" or word == "indicate"]
    if not words:
        return ""
    rows: list[list[tuple[str, str, int]]] = [[]]
    for word in words:
        caption = SAID.get(word, say_call(word, view.misere)) if view.phase != "suit" else word
        cells = 2 if len(caption) > 5 else 1
        if sum(cell for _, _, cell in rows[-1]) + cells > IN_ROW:
            rows.append([])
        rows[-1].append((word, caption, cells))
    middle = CHIPS_LOW if view.phase in ("play", "suit") else CHIPS_MIDDLE
    width, height = CHIP
    top = middle - (len(rows) * (height + GAP) - GAP) / 2
    drawn = text(MIDDLE, top - 22, TITLES.get(view.phase or "", ""), 20, "faint", anchor="middle") if len(rows) < 5 else ""
    for row in rows:
        x = MIDDLE - (sum(cells for _, _, cells in row) * (width + GAP) - GAP) / 2
        for word, caption, cells in row:
            long = cells * (width + GAP) - GAP
            drawn += chip(view, notes, word, caption, (x, top, long, height))
            x += long + GAP
        top += height + GAP
    return drawn


TITLES = {"call": "Your call", "trump": "Trump", "suit": "", "play": ""}


def chip(view: View, notes: Notes, word: str, caption: str, where: tuple[float, float, float, float]) -> str:
    """Draw a word on a chip, with its probability or value if any."""
    x, y, width, height = where
    letters = SUIT_LETTERS[view.deck_kind]
    drawn, label = box(x, y, width, height, "chip", 12), caption
    noted = notes.probabilities or notes.values
    centre = y + height / 2 - (9 if noted else 0)
    if view.phase in ("trump", "suit") and word in letters:
        label = SUIT_NAMES[view.deck_kind][letters.index(word)]
        drawn += mark(letters.index(word), view.deck_kind, x + width / 2, centre, 30 if not noted else 26)
    else:
        drawn += text(x + width / 2, centre, caption, 24, "print", bold=True, anchor="middle", room=width - 8)
    return group(drawn + draw_bar(notes, word, where), data_word=word, aria_label=label)


def draw_bar(notes: Notes, word: str, where: tuple[float, float, float, float]) -> str:
    """Draw the probability (a bar) or value at the bottom of a chip, and a frame if the action is taken."""
    x, y, width, height = where
    drawn = ""
    chance = notes.probabilities.get(word)
    if chance is not None:
        drawn += box(x + 5, y + height - 6, max(1.0, (width - 10) * chance), 4, "bar", 2, 0)
        words = f"{100 * chance:.0f}%"
        drawn += text(x + width / 2, y + height - 15, words, 18, "print", anchor="middle", room=width - 6)
    elif word in notes.values:
        drawn += text(
            x + width / 2, y + height - 14, f"{notes.values[word]:+.1f}", 18, "print", anchor="middle", room=width - 6
        )
    if word == notes.taken:
        drawn += box(x, y, width, height, "taken", 12, 5)
    return drawn


def nominations(view: View, notes: Notes) -> str:
    """Draw a grid of the cards that may be nominated, one or two rows per suit, then the bare ranks."""
    if not view.legal:
        return ""
    kind = view.deck_kind
    cards = [CARD_NUMBERS[kind][word] for word in view.legal if word in CARD_NUMBERS[kind]]
    ranks = [word for word in view.legal if word in ALL_RANKS]
    lines: list[list[str]] = []
    for suit in SUIT_ORDER[kind]:
        of_suit = sorted((card for card in cards if suit in suits_of(card, kind)), key=lambda card: -CARD_RANK[kind, card])
        words = [word for card in of_suit for word in view.legal if CARD_NUMBERS[kind].get(word) == card]
        half = 7 if len(words) > 7 else len(words)
        lines += [line for line in (words[:half], words[half:]) if line]
    ranks = sorted(ranks, key=RANK_LETTERS[kind].index, reverse=True)
    lines += [line for line in (ranks[:7], ranks[7:]) if line]
    height = min(44.0, GRID_HEIGHT / len(lines))
    drawn = box(MIDDLE - 174, GRID_TOP - 34, 348, height * len(lines) + 42, "panel", 14)
    drawn += text(MIDDLE, GRID_TOP - 16, "Nominate", 20, "faint", anchor="middle")
    for number, line in enumerate(lines):
        for place, word in enumerate(line):
            x, y = MIDDLE - 3.5 * CELL + CELL * place, GRID_TOP + height * number
            drawn += cell(view, notes, word, (x + 1, y + 1, CELL - 2, height - 2))
    return drawn


def cell(view: View, notes: Notes, word: str, where: tuple[float, float, float, float]) -> str:
    """Draw a card or a bare rank in the grid of nominations."""
    x, y, width, height = where
    kind, card = view.deck_kind, CARD_NUMBERS[view.deck_kind].get(word)
    rank = printed_rank(word[0])
    drawn = box(x, y, width, height, "chip", 6)
    chance = notes.probabilities.get(word, 0)
    if chance * height >= 1:
        drawn += box(x + width - 8, y + height * (1 - chance), 6, height * chance, "bar", 1, 0.5)
    if card is None:
        drawn += text(x + width / 2, y + height / 2, rank, 20, "print", bold=True, anchor="middle")
    else:
        drawn += text(x + 15, y + height / 2, rank, 20, "print", bold=True, anchor="middle", room=24)
        drawn += mark(suits_of(card, kind)[0], kind, x + 32, y + height / 2, 18)
    if word == notes.taken:
        drawn += box(x, y, width, height, "taken", 6, 5)
    label = rank_text(RANK_LETTERS[kind].index(word)) if card is None else card_title(card, kind)
    return group(drawn, data_word=word, aria_label=label)
