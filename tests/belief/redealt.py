"""Helpers for tests of redeals: deals on a table and at the referee, and replays with other cards."""

import math
import random
from collections.abc import Iterator
from typing import Any

import numpy as np

from noms_env.envs.batch import BatchEnv, make_batch
from noms_env.table import Table
from tests import referee
from tests.agreement import deck_words, referee_at

Moment = tuple[Table, referee.Deal]


def choose(table: Table, rng: random.Random, temper: str) -> str:
    """Return a random action, one that leads to rare rules more often."""
    legal = table.legal_words()
    if table.phase == "call":
        if temper in legal and rng.random() < 0.5:
            return temper
        return "pass" if "pass" in legal and rng.random() < 0.6 else rng.choice(legal)
    if table.phase == "nominate":
        own = [word for word in table.card_words(int(table.row.hands[table.row.seat])) if word in legal]
        return rng.choice(own if own and rng.random() < 0.3 else legal)
    return "indicate" if "indicate" in legal and rng.random() < 0.3 else rng.choice(legal)


def play(variant: str, seats: int, options: dict[str, Any], seed: int, deals: int = 1) -> Iterator[Moment]:
    """Yield the table and the referee at every decision of a few deals."""
    rng = random.Random(f"{variant} {seats} {seed}")
    table = Table(variant, seats, options, seed=seed)
    places = len(table.rules.schedule)
    table.start(deal=rng.randrange(places) if places else None)
    for _ in range(deals):
        temper = rng.choice(["", "", "mis", "mis_a_vis"])
        deal = referee_at(table, deck_words(table))
        while not table.is_scored:
            yield table, deal
            word = choose(table, rng, temper)
            table.act(word)
            deal.act(word)
        if table.is_over:
            return
        table.next_deal()


def open_hand(deal: referee.Deal) -> list[str]:
    """Return the exposed hand (rules 4.1)."""
    exposed = deal.contract == "mis_a_vis" and deal.trick_history
    return sorted(deal.hands[deal.declarer or 0]) if exposed else []


def replay(table: Table, deal: referee.Deal, deck: list[str], seat: int) -> referee.Deal | None:
    """Replay a deal with another deck; return None if the rules or the seat's knowledge rule it out."""
    other = referee_at(table, deck)
    if sorted(other.initial_hands[seat]) != sorted(deal.initial_hands[seat]) or other.turn_up != deal.turn_up:
        return None
    for step in deal.steps:
        legal = other.legal()
        if (other.seat, other.phase) != (step["seat"], step["phase"]) or step["action"] not in legal:
            return None
        if step["seat"] == seat and sorted(legal) != sorted(step["legal"]):
            return None
        other.act(step["action"])
    if (other.seat, other.phase) != (deal.seat, deal.phase) or open_hand(other) != open_hand(deal):
        return None
    if other.public_place() != deal.public_place():
        return None
    return other if seat != deal.seat or sorted(other.legal()) == sorted(deal.legal()) else None


def batch_with(table: Table, count: int) -> BatchEnv:
    batch = make_batch(table.rules.variant.name, count, seats=table.seats, **table.rules.options)
    batch.restore(0, np.array([table.row]))
    return batch


def surprise(counts: list[int]) -> float:
    """Return by how many standard deviations counts are too uneven to be uniform (chi-square, Wilson and Hilferty)."""
    mean, free = sum(counts) / len(counts), len(counts) - 1
    if free == 0:
        return 0.0
    chi_square = sum((count - mean) ** 2 for count in counts) / mean
    return float(((chi_square / free) ** (1 / 3) - (1 - 2 / (9 * free))) / math.sqrt(2 / (9 * free)))
