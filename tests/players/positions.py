"""Decisions of many tables and options, reached by random play or by the players themselves."""

import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from noms_env.belief.determinize import sampled_tables
from noms_env.envs.batch import TableGroup, make_batch
from noms_env.players import Player, load_player
from noms_env.table import Table
from noms_env.variants import GAMES, Rules
from tests.agreement import random_table
from tests.begin import begin

SPECIAL: dict[str, list[tuple[int, dict[str, Any]]]] = {
    "sniped_whist": [(7, {}), (3, {"objective": "most"}), (2, {"ranks": 5, "suits": 3}), (4, {"trump_mode": "dealer"})],
    "big_ships": [(7, {}), (3, {"bonus": "at_least"}), (2, {"ranks": 4, "suits": 2}), (5, {"hook": True})],
    "small_ships": [
        (6, {"indication": True}),
        (3, {"stock_nomination": "redraw"}),
        (5, {"open_partner": True}),
        (4, {"misere_trump": "none", "misere_nominates": False}),
        (2, {"ranks": 4, "suits": 2, "min_bid": 3}),
        (5, {"forced_bid_numeric_only": False, "min_bid": 1}),
    ],
    "noms": [
        (4, {"min_bid": 7}),
        (4, {"implicit_announcements": True}),
        (4, {"ranks": 6, "suits": 3}),
        (4, {"mis_value": 10}),
        (4, {"ranks": 6, "hand_size": 5, "open_partner": True}),
    ],
    "nonesuch": [(3, {}), (4, {"half": "floor"}), (3, {"ranks": 5, "suits": 3}), (4, {"ranks": 7, "suits": 3})],
    "down_up": [(6, {}), (3, {}), (2, {"ranks": 4, "suits": 2})],
    "up_down": [(4, {"trump_mode": "turnup"}), (4, {"ranks": 3, "suits": 2})],
}
"""Tables with rare decisions: seats and options."""


def tables_of(variant: str, number: int, seed: int = 0) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield seats and options: the usual ones, the special ones, and `number` random ones."""
    rng = random.Random(f"{variant} {seed}")
    yield GAMES[variant].default_seats, {}
    yield from SPECIAL[variant]
    for _ in range(number):
        yield random_table(variant, rng)


def decisions(
    variant: str, seats: int, options: dict[str, Any], seed: int, player: Player | None = None, deals: int = 2
) -> Iterator[Table]:
    """Yield the table at every decision of a few deals, played by a player (default: at random)."""
    rng, stream = random.Random(f"{variant} {seats} {seed}"), np.random.default_rng(seed)
    table = Table(variant, seats, options, seed=seed)
    places = len(table.rules.schedule)
    table.start(deal=rng.randrange(places) if places else None)
    for _ in range(deals):
        while not table.is_scored:
            yield table
            table.step(rng.choice(table.legal_actions()) if player is None else answer(player, table, stream))
        if table.is_over:
            return
        table.next_deal()


def some_rows(rule_sets: Sequence[Rules], tables: int, moment: int) -> tuple[np.ndarray, np.ndarray, np.recarray]:
    """Return observations, masks and tables after `moment` random decisions."""
    groups = [TableGroup(rules.variant.name, rules.seats, rules.options) for rules in rule_sets]
    batch = begin(make_batch(groups, tables, seed=moment))
    streams, actions = np.arange(1, tables + 1) * 77, np.zeros(tables, np.int64)
    for _ in range(moment):
        batch.random_actions(streams, actions)
        batch.step(actions)
    batch.observe()
    return batch.observation.copy(), batch.mask.copy(), batch.tables.copy()


def answer(player: Player, table: Table, rng: np.random.Generator) -> int:
    action: int = player.act(*table.view(int(table.row.seat)), rng, tables=table.determinize(rng))
    return action


def answer_word(player: Player, table: Table) -> str:
    """Return the word of a player's action, which must not depend on chance or on the cards imagined elsewhere."""
    words = {table.word(answer(player, table, np.random.default_rng(seed))) for seed in range(3)}
    assert len(words) == 1
    return words.pop()


def relative_points(name: str, others: str, variant: str, deals: int, **options: Any) -> np.ndarray:
    """Return a player's points minus the mean of the others', per deal, averaged over the player at every seat."""
    seats = int(make_batch(variant, 1, **options).tables[0].n_seats)
    batch = make_batch(variant, deals * seats, seed=1, episode="deal", **options)
    batch.reset(table=np.repeat(np.arange(deals), seats))
    own = np.tile(np.arange(seats), deals)
    points, rng = np.zeros((len(batch), seats)), np.random.default_rng(1)
    players = [load_player(name), load_player(others)]
    while not batch.over.all():
        batch.observe()
        actions = np.zeros(len(batch), np.int64)
        for player, at_his_seat in zip(players, (batch.seat == own, batch.seat != own), strict=True):
            rows = np.flatnonzero(at_his_seat & ~batch.over)
            if len(rows) > 0:
                tables = sampled_tables(batch.tables, rows, rng)
                actions[rows] = player.act(batch.observation[rows], batch.mask[rows], rng, tables=tables)
        batch.step(actions)
        points += batch.points[:, :seats]
        batch.points[:] = 0
    own_points = points[np.arange(len(batch)), own]
    relative: np.ndarray = (own_points - (points.sum(axis=1) - own_points) / (seats - 1)).reshape(deals, seats).mean(axis=1)
    return relative
