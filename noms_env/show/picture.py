"""SVG drawing of a `View`: a card table seen from above, the viewer at the bottom.

The drawing consists of named parts: a browser page shows the next moment by replacing the parts that differ. Elements that
represent an action carry its word as `data-word`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import cos, pi, sin

from noms_env.core.cards import CARD_WORDS, DECKTET, NO_TRUMP
from noms_env.show.cards import mark, narrow_card, printed_rank, symbols_for, whole_card
from noms_env.show.choices import chips, nominations
from noms_env.show.elements import box, coin, disc, escape_text, group, text, text_width
from noms_env.show.lines import ROLE_TEXTS, TASKS, headline, partner_text, rank_text, status
from noms_env.show.marks import MARK_NAMES
from noms_env.show.places import other_seat, own_seat, tiles
from noms_env.show.rules import SUIT_NAMES
from noms_env.show.theme import Theme, style_sheet
from noms_env.show.view import Notes, View

WIDTH, HEIGHT = 720, 920
CENTRE = (360, 436)
RADII = (122, 98)
TRICK_CARD = (62, 89)
MAX_STOCK = 39
"""Number of undealt cards that fit in the middle of the table."""


def drawing(view: View, notes: Notes, theme: Theme = "auto") -> str:
    """Draw a view as a standalone document; see `parts`."""
    content = "".join(group(content, data_part=part) for part, content in parts(view, notes).items())
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="group">'
        f"<title>{escape_text(f'{headline(view)}. {status(view, notes.name)}')}</title><style>{style_sheet(theme)}</style>"
        f"{symbols_for(content, view.deck_kind)}{content}</svg>"
    )


def parts(view: View, notes: Notes) -> dict[str, str]:
    """Draw the parts of a view, by name, from back to front; nothing else of the table is drawn."""
    first, count = view.viewer or 0, len(view.places)
    drawn = {
        "board": box(0, 0, WIDTH, HEIGHT, "page", 0, 0) + box(6, 122, 708, 542, "felt", 26, 3),
        "head": head(view),
        "trump": trump(view, notes),
        "contract": contract(view, notes),
    }
    for turn in range(1, count):
        seat = (first + turn) % count
        drawn[f"seat{seat}"] = other_seat(view, notes, view.places[seat], turn)
    drawn["centre"] = result(view, notes) if view.phase is None else trick(view, notes, first)
    drawn["last"] = last_trick(view, notes)
    drawn["stock"] = stock(view)
    drawn["choices"] = nominations(view, notes) if view.phase == "nominate" else chips(view, notes)
    drawn[f"seat{first}"] = own_seat(view, notes, view.places[first])
    drawn["legend"] = legend(view)
    return drawn


def head(view: View) -> str:
    """Draw the heading: the game and the deal."""
    deal = f"deal {view.deal}" + (f" of {view.deals}" if view.deals else "")
    facts = [deal, f"{view.deal_size} card{'s' if view.deal_size > 1 else ''}"]
    facts += [f"to {view.target}"] if view.target is not None else []
    facts += [f"points ×{view.multiplier}"] if view.multiplier > 1 else []
    facts += ["all hands"] if view.full else []
    title_room = min(360.0, text_width(view.title, 26) + 4)
    return text(14, 25, view.title, 26, bold=True, room=title_room) + text(
        706, 26, " · ".join(facts), 20, "faint", anchor="end", room=676 - title_room
    )


def trump(view: View, notes: Notes) -> str:
    """Draw the trump, the turn-up, and whether trumps may be led."""
    kind = view.deck_kind
    drawn = box(6, 46, 214, 70, "panel", 12) + text(18, 62, "Trump", 18, "faint")
    suits = view.candidates if view.trump is None else () if view.trump == NO_TRUMP else (view.trump,)
    for place, suit in enumerate(suits):
        drawn += disc(37 + 62 * place, 92, 19, "coin") + mark(suit, kind, 37 + 62 * place, 92, 25)
    if len(suits) > 1:
        drawn += text(68, 92, "or", 18, anchor="middle")
    if not suits:
        words = "none" if view.trump == NO_TRUMP else "first lead" if view.trump_unsaid else "not named"
        drawn += text(18, 92, words, 21, bold=True, room=150)
    elif len(suits) == 1:
        words = SUIT_NAMES[kind][suits[0]] if view.broken is None else "may be led" if view.broken else "not broken"
        drawn += text(64, 92, words, 19, room=118 if view.turn_up is None else 116)
    if view.turn_up is not None:
        drawn += narrow_card(view.turn_up, kind, 184, 54, 31, 55)
    if view.excuse_shown_by is not None:
        drawn += text(178, 62, f"EX {notes.name(view.excuse_shown_by)}", 18, "faint", anchor="end", room=96)
    return drawn


def contract(view: View, notes: Notes) -> str:
    """Draw contract, nominated card and the sides as the viewer knows them; without a declarer, the sum of calls."""
    drawn = box(226, 46, 488, 70, "panel", 12)
    if view.declarer is None:
        called = [place.called for place in view.places if place.called is not None]
        if called:
            words = f"{sum(called)} called, {view.deal_size} to take"
            drawn += text(240, 64, words, 22, bold=True, room=462)
            waiting = len(view.places) - len(called)
            left = f"{waiting} still to call" if waiting else f"trick {min(view.tricks_done + 1, view.deal_size)}"
            return drawn + text(240, 93, left, 19, "faint")
        return (
            drawn
            + text(240, 64, prompt(view, notes), 22, bold=True, room=462)
            + text(240, 93, f"trick {min(view.tricks_done + 1, view.deal_size)} of {view.deal_size}", 19, "faint")
        )
    right = 702
    if view.nominated is not None:
        drawn += narrow_card(view.nominated, view.deck_kind, 675, 54, 31, 55)
        drawn += text(668, 64, "nominated", 18, "faint", anchor="end")
        right = 570
    drawn += text(240, 64, f"{view.contract} by {notes.name(view.declarer)}", 22, bold=True, room=right - 246)
    cards = [CARD_WORDS[view.deck_kind][card] for card in view.refused[-4:]]
    refused = " ".join(printed_rank(word[0]) + word[1:] for word in cards)
    rank = rank_text(view.nominated_rank) if view.nominated is None and view.nominated_rank is not None else ""
    facts = [
        rank,
        "" if view.role == "partner" and view.revealed is not None else partner_text(view, notes.name),
        "indicated" if view.indicated else "",
        f"refused {refused}" if refused else "",
        ROLE_TEXTS.get(view.role or "", ""),
    ]
    return drawn + text(240, 93, " · ".join(part for part in facts if part), 19, "accent", room=424)


def prompt(view: View, notes: Notes) -> str:
    """Say who is to act, and how."""
    return status(replace(view, viewer=None) if notes.names else view, notes.name)


def trick(view: View, notes: Notes, first: int) -> str:
    """Draw the current trick; before its first card the previous one, faded."""
    drawn = cards_on_table(view, notes, view.trick, view.best_seat, first)
    if view.led_suit is not None:
        return drawn + disc(*CENTRE, 20, "coin") + mark(view.led_suit, view.deck_kind, *CENTRE, 26)
    if not view.trick and view.last_trick and view.phase == "play":
        return group(cards_on_table(view, notes, view.last_trick, view.last_winner, first), class_="noms-past")
    if not view.trick and not view.legal:
        words = f"{notes.name(view.to_act or 0)} {TASKS.get(view.phase or '', 'to lead')}"
        return drawn + text(*CENTRE, words, 24, "faint", anchor="middle", room=340)
    return drawn


def cards_on_table(view: View, notes: Notes, cards: Sequence[tuple[int, int]], best: int | None, first: int) -> str:
    """Draw played cards in front of their seats, numbered in order of play, with a frame around the best."""
    width, height = TRICK_CARD
    drawn = ""
    for number, (seat, card) in enumerate(cards, 1):
        angle = pi / 2 + 2 * pi * ((seat - first) % len(view.places)) / len(view.places)
        x, y = CENTRE[0] + RADII[0] * cos(angle) - width / 2, CENTRE[1] + RADII[1] * sin(angle) - height / 2
        drawn += whole_card(card, view.deck_kind, x, y, width, height, notes.name(seat))
        if seat == best:
            drawn += box(x, y, width, height, "lit", 8, 5)
        drawn += coin(x + width - 3, y + 4, str(number))
    return drawn


def last_trick(view: View, notes: Notes) -> str:
    """Draw the last complete trick, small, at the lower left, with a frame around the winning card."""
    if not view.last_trick:
        return ""
    words = f"Trick {view.tricks_done}: {notes.name(view.last_winner or 0)}"
    drawn = text(20, 596, words, 18, "faint", room=200)
    for place, (seat, card) in enumerate(view.last_trick):
        drawn += narrow_card(card, view.deck_kind, 20 + 28 * place, 608, 26, 46, notes.name(seat))
        if seat == view.last_winner:
            drawn += box(20 + 28 * place, 608, 26, 46, "lit", 4, 4)
    return drawn


def stock(view: View) -> str:
    """Draw the visible stock: in the middle after the deal, at the lower right during the deal."""
    if not view.stock:
        return ""
    if view.phase is None:
        shown, per_row, width, right, top = view.stock[:MAX_STOCK], 13, 26, 529, 500
    else:
        shown, per_row, width, right, top = view.stock[:10], 10, 20, 706, 614
    left = right - width * min(per_row, len(shown))
    more = f" ({len(view.stock)})" if len(view.stock) > len(shown) else ""
    label = text(right, top - 13, f"Undealt{more}", 18, "faint", anchor="end")
    return label + tiles(shown, view.deck_kind, left, top, per_row, width)


def result(view: View, notes: Notes) -> str:
    """Draw how the deal or the match ended."""
    words = status(view, notes.name)
    width = min(430.0, text_width(words, 24) + 44)
    x, y = CENTRE[0], 430 if view.stock else CENTRE[1]
    return box(x - width / 2, y - 30, width, 60, "turn", 14, 4) + text(
        x, y, words, 24, bold=True, anchor="middle", room=width - 30
    )


def legend(view: View) -> str:
    """Draw the names of the Decktet's suit marks."""
    if view.deck_kind != DECKTET:
        return ""
    drawn = ""
    for suit in range(len(MARK_NAMES[DECKTET])):
        x = 22 + 117 * suit
        drawn += disc(x + 12, 903, 14, "coin") + mark(suit, DECKTET, x + 12, 903, 19)
        drawn += text(x + 31, 903, SUIT_NAMES[DECKTET][suit], 19)
    return drawn
