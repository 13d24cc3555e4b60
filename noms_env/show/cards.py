"""Cards as pictures: faces, backs, and the marks of suits on them."""

from __future__ import annotations

from functools import lru_cache

from PIL import Image, ImageDraw

from noms_env.core.cards import CARD_WORDS, EXCUSE, FRENCH, SUIT_LETTERS
from noms_env.show.drawing import GOLD, INK, PAPER, SCALE, Colour, font
from noms_env.show.marks import MARK_COLOURS, MARK_NAMES, mark
from noms_env.show.view import suits_of

ROUNDNESS = 1.42
"""Height of a card for a width of 1."""
BACK: Colour = (44, 62, 120)
BACK_LINES: Colour = (92, 112, 176)
HAND_CARD, TRICK_CARD, SMALL_CARD, BACK_CARD = 76, 60, 36, 26
"""Widths of cards: at the bottom, in the trick, in other open hands and the last trick, and of the backs of the others."""


def blank(width: int, fill: Colour, rim: Colour, thick: int = 1) -> Image.Image:
    """A card without a face, at the scale of the sheet."""
    size = (SCALE * width, round(SCALE * width * ROUNDNESS))
    card = Image.new("RGBA", size, (0, 0, 0, 0))
    ImageDraw.Draw(card).rounded_rectangle([0, 0, size[0] - 1, size[1] - 1], size[0] // 9, fill, rim, thick)
    return card


@lru_cache(maxsize=512)
def face(kind: int, card: int, width: int, lit: bool = False, dim: bool = False) -> Image.Image:
    """A card face up; `lit` with a golden rim, `dim` greyed."""
    image = blank(width, (206, 204, 198) if dim else PAPER, GOLD if lit else (120, 116, 108), 3 * SCALE if lit else 2)
    suits = suits_of(card, kind)
    draw_corner(image, kind, card, suits, width)
    height = width * ROUNDNESS
    if card == EXCUSE and kind != FRENCH:
        ImageDraw.Draw(image).text((SCALE * width * 0.5, SCALE * height * 0.62), "Excuse", INK, font(width // 5), "mm")
    elif width > SMALL_CARD:
        centres = [(0.6, 0.62)] if len(suits) == 1 else [(0.64, 0.38), (0.52, 0.76)]
        size = round(width * (0.52 if len(suits) == 1 else 0.4))
        for suit, (x, y) in zip(suits, centres, strict=True):
            stamp(image, kind, suit, width * x, height * y, size)
    else:
        for place, suit in enumerate(reversed(suits)):
            stamp(image, kind, suit, width * 0.72, height * (0.8 - 0.32 * place), round(width * 0.36))
    return image


def draw_corner(image: Image.Image, kind: int, card: int, suits: list[int], width: int) -> None:
    """Rank and suits in the upper left corner, which stays visible in a fan: marks, or in the Decktet letters."""
    pen, size = ImageDraw.Draw(image), round(width * (0.3 if width > SMALL_CARD else 0.42))
    word = CARD_WORDS[kind][card]
    rank = "10" if word[0] == "T" else word[0]
    x, y = SCALE * size * 0.62, SCALE * size * 0.68
    colours = [MARK_COLOURS[MARK_NAMES[kind][suit]] for suit in suits]
    rank_colour = colours[0] if len(colours) == 1 else INK
    pen.text((x, y), rank, rank_colour, font(size if rank != "10" else round(0.85 * size)), "mm", stroke_width=1)
    for place, suit in enumerate(suits):
        below = y + SCALE * size * (0.85 + 0.8 * place)
        if kind == FRENCH:
            stamp(image, kind, suit, x / SCALE, below / SCALE + size * 0.06, round(0.78 * size))
        else:
            pen.text((x, below), SUIT_LETTERS[kind][suit], colours[place], font(round(0.8 * size)), "mm", stroke_width=1)


def stamp(image: Image.Image, kind: int, suit: int, x: float, y: float, size: int) -> None:
    """The mark of a suit onto a card, centred at (x, y)."""
    drawn = mark(MARK_NAMES[kind][suit], SCALE * size)
    image.paste(drawn, (round(SCALE * (x - size / 2)), round(SCALE * (y - size / 2))), drawn)


@lru_cache(maxsize=4)
def back(width: int) -> Image.Image:
    """A card face down."""
    card = blank(width, PAPER, (120, 116, 108), 2)
    inner = SCALE * max(2, width // 14)
    pattern = Image.new("RGB", card.size, BACK)
    pen, step = ImageDraw.Draw(pattern), SCALE * max(4, width // 9)
    for start in range(-card.height, card.width + card.height, step):
        pen.line([start, 0, start + card.height, card.height], BACK_LINES, 2)
        pen.line([start, 0, start - card.height, card.height], BACK_LINES, 2)
    mask = Image.new("L", card.size, 0)
    ImageDraw.Draw(mask).rounded_rectangle(
        [inner, inner, card.width - 1 - inner, card.height - 1 - inner], card.width // 12, 255
    )
    card.paste(pattern, (0, 0), mask)
    return card
