"""One deal of a policy against itself, with its probabilities beside each decision; `noms demo` shows one.

No subcommand, so it may import the engine at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from noms_env.actions import NOMINATE, PASS, SUIT
from noms_env.engine.table import Table
from noms_env.record import Record, Recorder, replay
from noms_env.show import call_text, card_text, suit_text
from training.commands.replay import contract_parts, head_lines, result_lines

SHOWN = 4
"""The most probable actions that are shown."""
LEAST = 0.005
"""Less probable ones are not shown."""
BOLD, DIM, PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"
WIDTH = 16
"""Of the column of the actions taken."""

Chances = list[tuple[int, float]]
"""Actions with their probabilities."""


class Policy(Protocol):
    """What can be explained, such as `noms_env.players.policy.PolicyPlayer`."""

    def probabilities(self, observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """The probabilities of all actions, float32, shape (NUM_ACTIONS,), for one row."""
        ...


def explained_deal(policy: Policy, table: Table, rng: np.random.Generator) -> Iterator[str]:
    """Play a deal and show it, as lines with ANSI colours.

    Args:
        policy: sits on all seats.
        table: where the deal has just begun.
        rng: of the draws.
    """
    recorder = Recorder()
    chances: list[Chances] = []
    while not table.is_scored:
        action, known = decide(policy, table, rng)
        recorder.note(table, action)
        chances.append(known)
        table.step(action)
    yield from lines_of(recorder.finish(table), chances)


def decide(policy: Policy, table: Table, rng: np.random.Generator) -> tuple[int, Chances]:
    """An action drawn for the seat to act, and the probabilities of the legal ones, the most probable first."""
    observation, mask = table.view(int(table.row.seat))
    legal = np.flatnonzero(mask)
    probability = policy.probabilities(observation, mask)[legal].astype(np.float64)
    action = int(rng.choice(legal, p=probability / probability.sum()))
    order = np.argsort(-probability, kind="stable")
    return action, [(int(legal[place]), float(probability[place])) for place in order]


def lines_of(record: Record, chances: list[Chances]) -> Iterator[str]:
    """A recorded deal, step by step, with the probabilities of each step."""
    tables = replay(record)
    trick = -1
    for step, known, table in zip(record["steps"], chances, tables, strict=False):
        if table.row.n_calls == 0 and step is record["steps"][0]:
            yield from head_lines(record, table, None)
        if step["phase"] == "play" and int(table.row.trick_number) != trick:
            if trick < 0:
                yield f"  contract {' · '.join(contract_parts(record, table, None))}"
            trick = int(table.row.trick_number)
            yield f"{DIM}  trick {trick + 1}{PLAIN}"
        yield f"  seat {step['seat']} {taken_text(table, step)}{chances_text(table, known, step['action'])}".rstrip()
    yield from result_lines(record)


def taken_text(table: Table, step: Record) -> str:
    """What was done, in a column of its own."""
    action = table.number(step["action"])
    verb = {"call": "calls ", "trump": "names ", "nominate": "nominates ", "play": "", "suit": "names "}[step["phase"]]
    padding = " " * max(1, WIDTH - len(verb + action_text(table, action, False)))
    return f"{verb}{BOLD}{action_text(table, action)}{PLAIN}{padding}"


def chances_text(table: Table, known: Chances, taken: str) -> str:
    """The most probable actions; the one taken in any case. Nothing where there was no choice."""
    if len(known) == 1:
        return f"{DIM}no choice{PLAIN}"
    chosen = table.number(taken)
    shown = [one for place, one in enumerate(known) if (place < SHOWN and one[1] >= LEAST) or one[0] == chosen]
    parts = [f"{action_text(table, action)} {probability:.0%}" for action, probability in shown]
    left = len(known) - len(shown)
    return "  ".join(parts) + (f"  {DIM}and {left} more{PLAIN}" if left else "")


def action_text(table: Table, action: int, colour: bool = True) -> str:
    """An action of the present phase as people say it."""
    kind, phase = table.deck_kind, table.phase
    if phase == "call":
        return call_text(action - PASS, int(table.row.variant))
    if phase == "play" and action < SUIT - 1:
        return card_text(action, kind, colour)
    if phase == "nominate" and action >= NOMINATE:
        return card_text(action - NOMINATE, kind, colour)
    if phase in ("trump", "suit") and table.word(action) != "unsaid":
        return suit_text(action - SUIT, kind, colour)
    return table.word(action)
