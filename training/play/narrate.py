"""Narration of deals, decision by decision, with action probabilities."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from noms_env.core.actions import NOMINATE, PASS, SUIT
from noms_env.core.state import MAX_TRICKS
from noms_env.players import ActionValue, TellsProbabilities
from noms_env.show import call_text, card_text, hand_text, look, suit_text
from noms_env.table import Table

from .deal_text import contract_parts, head_lines, numbers, result_lines
from .session import Deal, RankedActions, rank_actions

SHOWN = 4
"""Number of actions shown per decision, apart from the one taken."""
LEAST = 0.005
"""Actions below this probability are not shown."""
BOLD, DIM, PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"
WIDTH = 16
"""Width of the column of actions."""
VERBS = {"call": "calls ", "trump": "names ", "nominate": "nominates ", "play": "", "suit": "names "}


def narrate_deal(
    policy: TellsProbabilities, table: Table, rng: np.random.Generator, most_tricks: int = MAX_TRICKS
) -> Iterator[str]:
    """Play a deal and narrate it, as lines with ANSI colours.

    Args:
        policy: the policy of all seats.
        table: a table before the first decision of a deal.
        rng: random generator for sampling actions.
        most_tricks: number of tricks to narrate; the rest are only counted.
    """
    deal = Deal(table)
    narrator = Narrator(deal, table)
    yield from narrator.opening()
    while not table.is_scored:
        action, ranked = decide(policy, table, rng)
        is_narrated = int(table.row.trick_number) < most_tricks
        if is_narrated:
            yield from narrator.decision(action, ranked)
        deal.take(table, action)
        if is_narrated:
            yield from narrator.trick_end()
    left = int(table.row.trick_number) - most_tricks
    if left > 0:
        yield f"  {DIM}... {left} more{PLAIN}"
    yield from narrator.ending()


def decide(policy: TellsProbabilities, table: Table, rng: np.random.Generator) -> tuple[int, RankedActions]:
    """Sample an action for the seat to act; return it and the ranked legal actions."""
    observation, mask = table.view(int(table.row.seat))
    probabilities = policy.probabilities(observation, mask)
    legal = np.flatnonzero(mask)
    weights = probabilities[legal].astype(np.float64)
    return int(rng.choice(legal, p=weights / weights.sum())), rank_actions(probabilities, mask)


class Narrator:
    """Narrator of a deal in progress, as lines with ANSI colours."""

    def __init__(self, deal: Deal, table: Table, seat: int | None = None, *, hands: bool = False) -> None:
        """Set up the narration.

        Args:
            deal: the recorded deal; the caller takes the actions.
            table: the table of the deal.
            seat: seat whose view and probabilities are shown; everything when None.
            hands: repeat the visible hands before each trick except the first.
        """
        self._deal, self._table, self._seat, self._hands = deal, table, seat, hands
        self._trick = -1

    def opening(self) -> Iterator[str]:
        """Describe the deal and the hands. Call it before the first decision."""
        yield from head_lines(self._deal.record(self._table), self._table, self._seat)

    def decision(self, action: int, ranked: RankedActions | None, values: Sequence[ActionValue] = ()) -> Iterator[str]:
        """Describe a decision, with the player's probabilities or values if any. Call it before the action is taken."""
        table = self._table
        seat = int(table.row.seat)
        if table.phase == "play" and int(table.row.trick_number) != self._trick:
            yield from self._new_trick()
        evaluation = ""
        if self._seat in (None, seat):
            evaluation = probabilities_text(table, ranked, table.word(action)) if ranked else values_text(table, values)
        yield f"  seat {seat} {action_column(table, action)}{evaluation}".rstrip()

    def trick_end(self) -> Iterator[str]:
        """Name the winner of the trick if the last action ended one."""
        row = self._table.row
        number = int(row.trick_number)
        if self._trick < 0 or number == self._trick:
            return
        seats, winner = self._table.seats, int(row.trick_winners[number - 1])
        cards = row.order[seats * (number - 1) : seats * number]
        (card,) = (int(card) for card in cards if int(row.played[winner]) >> int(card) & 1)
        won = f"won by seat {winner} with {card_text(card, self._table.deck_kind, True)}"
        yield f"  {won} · tricks so far {numbers(list(row.tricks[:seats]))}"

    def ending(self) -> Iterator[str]:
        """Describe the result of the scored deal."""
        if self._trick < 0:
            yield self._contract()
        yield from result_lines(self._deal.record(self._table))

    def _new_trick(self) -> Iterator[str]:
        """Head a trick: before the first one with the contract, before the others with the hands."""
        is_first, self._trick = self._trick < 0, int(self._table.row.trick_number)
        if is_first:
            yield self._contract()
        yield f"{DIM}  trick {self._trick + 1}{PLAIN}"
        if self._hands and not is_first:
            for place in look(self._table, self._seat, full=self._seat is None).places:
                if place.hand is not None:
                    yield f"    {DIM}seat {place.seat}   {PLAIN}{hand_text(place.hand, self._table.deck_kind, True)}"

    def _contract(self) -> str:
        parts = contract_parts(self._deal.record(self._table), self._table, self._seat)
        return f"  contract {' · '.join(parts)}"


def action_column(table: Table, action: int) -> str:
    """Return the action, padded to the width of the column."""
    verb = VERBS[table.phase or ""]
    padding = " " * max(1, WIDTH - len(verb + action_text(table, action, False)))
    return f"{verb}{BOLD}{action_text(table, action)}{PLAIN}{padding}"


def probabilities_text(table: Table, ranked: RankedActions, taken: str) -> str:
    """Return the most probable actions and the one taken; `no choice` for a forced action."""
    if len(ranked) == 1:
        return f"{DIM}no choice{PLAIN}"
    chosen = table.number(taken)
    shown = [pair for place, pair in enumerate(ranked) if (place < SHOWN and pair[1] >= LEAST) or pair[0] == chosen]
    parts = [f"{action_text(table, action)} {probability:.0%}" for action, probability in shown]
    left = len(ranked) - len(shown)
    return "  ".join(parts) + (f"  {DIM}and {left} more{PLAIN}" if left else "")


def values_text(table: Table, values: Sequence[ActionValue]) -> str:
    """Return the actions with the highest values."""
    parts = [f"{action_text(table, value.action)} {value_text(value)}" for value in values[:SHOWN]]
    left = len(values) - len(parts)
    return "  ".join(parts) + (f"  {DIM}and {left} more{PLAIN}" if left else "")


def value_text(value: ActionValue) -> str:
    """Return the value, and the standard error of its difference to the prior's top action (? if unknown)."""
    error = " ±?" if math.isnan(value.error) else f" ±{value.error:.2f}" if value.error else ""
    return f"{value.mean:+.2f}{error}"


def action_text(table: Table, action: int, colour: bool = True) -> str:
    """Return an action of the current phase in spoken words."""
    kind, phase = table.deck_kind, table.phase
    if phase == "call":
        return call_text(action - PASS, table.rules.variant)
    if phase == "play" and action < SUIT - 1:
        return card_text(action, kind, colour)
    if phase == "nominate" and action >= NOMINATE:
        return card_text(action - NOMINATE, kind, colour)
    if phase in ("trump", "suit") and table.word(action) != "unsaid":
        return suit_text(action - SUIT, kind, colour)
    return table.word(action)
