"""What `thumb` loses in endings, by kind of position: `python -m benchmarks.endings OUT`.

In each game four of it play. Where a seat with two or three cards left has a choice, every card is tried in many worlds that
the seat cannot rule out (`deal_worlds`), and played out by the same player. What the best of them would gain over the
player's own card is taken from the true cards, of which the worlds know nothing: so it is neither luck nor knowledge that the
seat has not.

OUT/endings.csv has a row for each game and kind: positions, those in which another card is clearly better, points that it
gains there with half of the 95 % interval, and points lost in 1,000 deals. OUT/endings.md ranks the kinds by what they lose.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro

from benchmarks.search.csv_rows import write_rows
from noms_env._jit import jit
from noms_env.belief import new_sampling_workspace
from noms_env.core.actions import CALL_MOST, CALL_NONE, CALL_ZERO, NUM_ACTIONS, PLAYING, SCORED
from noms_env.engine.row_kernels import kernel_view
from noms_env.engine.step import step
from noms_env.envs.batch import make_batch
from noms_env.players.registry import NEWEST
from noms_env.players.rule_based.auction import is_on_side
from noms_env.players.rule_based.heuristics import new_workspaces
from noms_env.players.rule_based.player import thumb_action
from noms_env.search.candidates import place_among, write_candidates
from noms_env.search.endgame.position import count_deal_as_last, units, value_to
from noms_env.search.worlds import deal_worlds
from noms_env.variants import VARIANTS
from noms_env.variants.families import AUCTION, PLAIN, SHARES
from noms_env.variants.families.auction import is_misere
from noms_env.variants.table_record import new_tables
from noms_training.evaluation.statistics import estimate
from noms_training.text import markdown_table

COLUMNS = ("game", "kind", "positions", "better", "gain", "spread", "lost")
ENDINGS = (2, 3)
"""Cards in the hand of the seat to act."""


@dataclass
class Args:
    """The settings; `--help` prints them."""

    out: Annotated[Path, tyro.conf.Positional]
    """folder of the results"""
    games: tuple[str, ...] = tuple(VARIANTS)
    """games that are played"""
    deals: int = 1000
    """deals of each game"""
    worlds: int = 40
    """worlds in which cards are tried"""
    version: int = NEWEST
    """of the rules of thumb"""
    seed: int = 1
    """of the deals"""


@jit
def try_cards(
    tables: Any, row: int, seed: int, worlds: Any, numbers: Any, sampling: Any, m: Any, candidates: Any, values: Any
) -> tuple[int, int]:
    """Write what each card comes to in each world, and last in the true one; returns their number, and the player's place.

    Args:
        tables: structured array; row `row` is the one in question, and stays as it is.
        row: where somebody is to act.
        seed: of the worlds.
        worlds: structured array, shape (n + 2,): working memory.
        numbers: int64, shape (n,): 0, 1, ...
        sampling: `belief.new_sampling_workspace`.
        m: a row of `heuristics.new_workspaces`.
        candidates: int64, shape (NUM_ACTIONS,): the cards, written.
        values: int64, shape (n + 1, NUM_ACTIONS): written, in `position.units`.
    """
    count = write_candidates(tables[row], np.int64(0), candidates)
    if count == 1:
        return 1, 0
    n = len(numbers)
    deal_worlds(tables, row, seed, worlds, numbers, sampling)
    worlds[n] = tables[row]
    count_deal_as_last(worlds[n])
    seat = tables[row].seat
    place = place_among(candidates, count, thumb_action(tables[row], m))
    t = worlds[n + 1]
    for world in range(n + 1):
        for k in range(count):
            worlds[n + 1] = worlds[world]
            step(t, candidates[k])
            while t.phase != SCORED:
                step(t, thumb_action(t, m))
            values[world, k] = value_to(t, seat)
    return count, place


def aim_of(t: Any) -> str:
    """What the seat to act is after, in a few words."""
    seat, left = int(t.seat), int(t.deal_size - t.trick_number)
    if t.family == PLAIN:
        return "ducks"
    if t.family == SHARES:
        some = {CALL_NONE: "none, clean" if t.tricks[seat] == 0 else "none, broken", CALL_MOST: "most"}
        return some.get(int(t.call[seat]), "some")
    if t.family == AUCTION:
        side = "declarer" if seat == t.declarer else "partner" if is_on_side(t, seat) else "opponent"
        return f"{'misere' if is_misere(t.contract) else 'number'}, {side}"
    missing = int(t.call[seat]) - CALL_ZERO - int(t.tricks[seat])
    return "exceeded" if missing < 0 else "out of reach" if missing > left else f"needs {missing}"


def kind_of(t: Any) -> str:
    """The kind of a position: cards left, place in the trick, aim."""
    if t.n_table == 0:
        place = "lead"
    else:
        place = ("last" if t.n_table == t.n_seats - 1 else "middle") + (
            "" if int(t.hands[t.seat]) & int(t.led_cards) else ", void"
        )
    return f"{int(t.deal_size - t.trick_number)} left, {place}, {aim_of(t)}"


def gains_of(name: str, args: Args) -> dict[str, list[tuple[bool, float]]]:
    """By kind, for each position: whether another card is clearly better, and what it gains in the true layout."""
    batch = make_batch(name, args.deals, seed=args.seed, episode="deal")
    batch.reset(table=np.arange(args.deals))
    tables, worlds, m = kernel_view(batch.tables), kernel_view(new_tables(args.worlds + 2)), new_workspaces(args.version)[0]
    numbers, sampling = np.arange(args.worlds), new_sampling_workspace()
    candidates, values = np.empty(NUM_ACTIONS, np.int64), np.empty((args.worlds + 1, NUM_ACTIONS), np.int64)
    found = defaultdict[str, list[tuple[bool, float]]](list)
    point, moment = units(int(batch.tables[0].n_seats)), 0
    while not batch.over.all():
        batch.observe()
        actions = np.zeros(args.deals, np.int64)
        for row in np.flatnonzero(~batch.over).tolist():
            t = batch.tables[row]
            actions[row] = thumb_action(tables[row], m)
            if t.phase == PLAYING and int(t.deal_size - t.trick_number) in ENDINGS:
                seed = (args.seed << 40) + (row << 8) + moment
                count, place = try_cards(tables, row, seed, worlds, numbers, sampling, m, candidates, values)
                if count > 1:
                    found[kind_of(t)].append(clear_gain(values[:, :count], place, point))
        batch.step(actions)
        moment += 1
    return found


def clear_gain(values: np.ndarray, place: int, point: int) -> tuple[bool, float]:
    """Whether another card gains more than two standard errors over the worlds, and what the best of these gains in truth."""
    gains = (values - values[:, place : place + 1]) / point
    means, errors = gains[:-1].mean(axis=0), gains[:-1].std(axis=0) / np.sqrt(len(gains) - 2)
    best = int(np.where(means > 2 * errors, means, 0).argmax())
    better = bool(means[best] > 2 * errors[best])
    return better, float(gains[-1, best]) if better else 0.0


def rows_of(name: str, args: Args) -> list[dict[str, Any]]:
    """The rows of a game."""
    rows = []
    for kind, found in gains_of(name, args).items():
        gains = np.array([gain for better, gain in found if better])
        lost = gains.sum() * 1000 / args.deals
        own = estimate(gains) if len(gains) > 1 else None
        figures = (f"{own.mean:.3f}", f"{own.high - own.mean:.3f}") if own else ("", "")
        rows.append(dict(zip(COLUMNS, (name, kind, len(found), len(gains), *figures, f"{lost:.1f}"), strict=True)))
    return rows


def main(args: Args) -> None:
    """Measure, and write the tables."""
    args.out.mkdir(parents=True, exist_ok=True)
    rows = [row for name in args.games for row in rows_of(name, args)]
    rows.sort(key=lambda row: -float(row["lost"]))
    write_rows(args.out / "endings.csv", COLUMNS, rows)
    table = markdown_table([[str(row[column]) for column in COLUMNS] for row in rows], *COLUMNS)
    (args.out / "endings.md").write_text(table, encoding="utf-8")
    print(table)


if __name__ == "__main__":
    main(tyro.cli(Args))
