"""Descriptions of a table: the state of its match, and why an action is illegal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from noms_env.core.actions import INDICATE, NOMINATE, action_word, brief, is_integer
from noms_env.core.cards import SUIT_LETTERS
from noms_env.core.state import EPISODES

if TYPE_CHECKING:
    from noms_env.table import Table


def about(table: Table) -> str:
    """Return the state of the match in words, as a spectator sees it."""
    row = table.row
    if row.match < 0:
        return f"{EPISODES[row.episode]}, not dealt yet"
    where = f"{EPISODES[row.episode]} {row.match}, deal {row.deal}"
    if table.phase is None:
        return f"{where}, over" if table.is_over else f"{where}, scored"
    return f"{where}, phase {table.phase}, seat {row.seat} to act"


NOTHING_DEALT = "nothing has been dealt yet: start a match first"


def why_illegal(table: Table, action: Any) -> str:
    """Return why the seat to act may not take an action, and which actions are legal."""
    phase = table.phase
    if phase is not None and table.is_over:
        return NOTHING_DEALT
    if phase is None:
        return f"action {brief(action)} comes after the {'match' if table.is_over else 'deal'} is over; nobody is to act"
    legal = ", ".join(table.legal_words())
    start = f"seat {table.row.seat} may not take action {brief(action)}"
    try:
        word = action_word(int(action), table.deck_kind) if is_integer(action) else None
    except ValueError:
        word = None
    if word is None:
        return f"{start}: it is not the number of an action. Legal in the phase {phase} are {legal}"
    return f"{start} ({word}): {_reason(table, phase, int(action), word)}. Legal in the phase {phase} are {legal}"


def _reason(table: Table, phase: str, action: int, word: str) -> str:
    row = table.row
    if phase == "play" and action < INDICATE:
        if not row.hands[row.seat] >> action & 1:
            return f"it does not hold {word}"
        if row.n_table > 0:
            return f"it must follow {SUIT_LETTERS[table.deck_kind][row.led_suit]}"
        return f"{word} may not be led now"
    words = {"call": range(74, 98), "trump": range(53, 61), "suit": range(53, 59)}
    known = words.get(phase, range(INDICATE, INDICATE + 1) if phase == "play" else range(61, 150))
    if action not in known or (phase == "nominate" and 74 <= action < NOMINATE):
        return f"the phase is {phase}, which has no such action"
    return "the rules do not allow it now"
