"""SVG symbols: whole cards, narrow cards (tiles) for the hands of others, a back, and suit marks."""

from __future__ import annotations

import re
from functools import cache, partial

from noms_env.core.cards import CARD_WORDS, EXCUSE, FRENCH, SUIT_LETTERS
from noms_env.show.elements import box, group, text, use
from noms_env.show.marks import MARK_NAMES, MARKS
from noms_env.show.rules import SUIT_NAMES
from noms_env.show.view import suits_of

CARD = (70, 100)
TILE = (26, 46)
"""Width and height of whole and narrow cards."""
RANK_NAMES = {"T": "10", "J": "Jack", "Q": "Queen", "K": "King", "A": "Ace"}
_LATTICE = "".join(f"M{x} 6L{x + 88} 94M{x + 88} 6L{x} 94" for x in range(-81, 70, 15))


def card_title(card: int, deck_kind: int) -> str:
    """Return a card in words: `Queen of Spades`, `2 of Moons and Knots`."""
    word = CARD_WORDS[deck_kind][card]
    if deck_kind != FRENCH and card == EXCUSE:
        return "Excuse"
    rank = "Crown" if deck_kind != FRENCH and word[0] == "C" else RANK_NAMES.get(word[0], word[0])
    return f"{rank} of {' and '.join(SUIT_NAMES[deck_kind][suit] for suit in suits_of(card, deck_kind))}"


def mark(suit: int, deck_kind: int, x: float, y: float, size: float) -> str:
    """Draw the mark of a suit, centred at (x, y)."""
    return use(MARK_NAMES[deck_kind][suit], x - size / 2, y - size / 2, size, size)


def card_symbol(card: int, deck_kind: int, kind: str) -> str:
    """Return the symbol name of a card, `kind` `c` for a whole card, `t` for a narrow one."""
    return f"{kind}-{CARD_WORDS[deck_kind][card]}{'f' if deck_kind == FRENCH else 'd'}"


def whole_card(
    card: int, deck_kind: int, x: float, y: float, width: float, height: float, by: str = "", kind: str = "c"
) -> str:
    """Draw a card, labelled for screen readers with its title and, with `by`, its player."""
    label = card_title(card, deck_kind) + (f" by {by}" if by else "")
    return group(use(card_symbol(card, deck_kind, kind), x, y, width, height), role="img", aria_label=label)


narrow_card = partial(whole_card, kind="t")


def printed_rank(letter: str) -> str:
    """Return a rank as drawings show it: `10` for `T`, which records and the terminal use."""
    return "10" if letter == "T" else letter


def _colour_text(words: str, suits: list[int], deck_kind: int) -> str:
    """Colour the text if the card has exactly one suit."""
    if len(suits) != 1:
        return words
    name = MARK_NAMES[deck_kind][suits[0]]
    return f'<g class="noms-{name}" fill="currentColor">{words.replace(" noms-print", "")}</g>'


def _face(card: int, deck_kind: int) -> str:
    suits, rank = suits_of(card, deck_kind), printed_rank(CARD_WORDS[deck_kind][card][0])
    drawn = box(1, 1, 68, 98, "paper", 8)
    if deck_kind != FRENCH and card == EXCUSE:
        return (
            drawn
            + text(17, 20, "EX", 24, "print", bold=True, anchor="middle", room=29)
            + text(35, 60, "Excuse", 18, "print", anchor="middle", room=60)
        )
    index = text(17, 20, rank, 30, "print", bold=True, anchor="middle", room=29)
    drawn += _colour_text(index, suits, deck_kind)
    drawn += "".join(mark(suit, deck_kind, 17, 46 + 22 * place, 20) for place, suit in enumerate(suits))
    if len(suits) == 1:
        return drawn + mark(suits[0], deck_kind, 46, 70, 42)
    return drawn + mark(suits[0], deck_kind, 48, 40, 30) + mark(suits[1], deck_kind, 48, 78, 30)


def _tile(card: int, deck_kind: int) -> str:
    suits, rank = suits_of(card, deck_kind), printed_rank(CARD_WORDS[deck_kind][card][0])
    drawn = box(0.75, 0.75, 24.5, 44.5, "paper", 4)
    if deck_kind != FRENCH and card == EXCUSE:
        return drawn + text(13, 22, "EX", 18, "print", bold=True, anchor="middle", room=22)
    index = text(13, 14, rank, 20, "print", bold=True, anchor="middle", room=22)
    drawn += _colour_text(index, suits, deck_kind)
    if len(suits) == 1:
        return drawn + mark(suits[0], deck_kind, 13, 34, 17)
    return drawn + mark(suits[0], deck_kind, 7.5, 34, 11.5) + mark(suits[1], deck_kind, 18.5, 34, 11.5)


def _symbol(name: str, size: tuple[int, int], content: str) -> str:
    return f'<symbol id="noms-{name}" viewBox="0 0 {size[0]} {size[1]}">{content}</symbol>'


@cache
def symbols(deck_kind: int) -> dict[str, str]:
    """Return all symbols of a deck, `<symbol>` elements by name."""
    drawn = {
        name: _symbol(name, (100, 100), f'<g class="noms-{name}">{MARKS[name]}</g>')
        for name in MARK_NAMES[deck_kind][: len(SUIT_LETTERS[deck_kind])]
    }
    for card in range(len(CARD_WORDS[deck_kind])):
        whole, narrow = (card_symbol(card, deck_kind, kind) for kind in "ct")
        drawn[whole] = _symbol(whole, CARD, _face(card, deck_kind))
        drawn[narrow] = _symbol(narrow, TILE, _tile(card, deck_kind))
    pattern = f'<svg x="5" y="5" width="60" height="90" viewBox="5 5 60 90"><path d="{_LATTICE}" class="noms-lattice"/></svg>'
    drawn["back"] = _symbol("back", CARD, box(2, 2, 66, 96, "back", 8, 4) + pattern)
    return drawn


def symbols_for(drawing: str, deck_kind: int) -> str:
    """Return a `<defs>` of the symbols that a drawing uses, directly or through other symbols."""
    every, used = symbols(deck_kind), set[str]()
    fresh = set(re.findall(r'href="#noms-([^"]+)"', drawing))
    while fresh:
        used |= fresh
        fresh = {name for symbol in fresh for name in re.findall(r'href="#noms-([^"]+)"', every[symbol])} - used
    return f"<defs>{''.join(symbol for name, symbol in every.items() if name in used)}</defs>"
