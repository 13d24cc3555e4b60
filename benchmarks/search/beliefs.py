"""How well a seat knows who holds which card: `python -m benchmarks.search.beliefs OUT`.

Players of one kind (the *field*) play deals against each other. In each trick, when one seat of the table is to act, worlds
are dealt from what it knows, and weighted by what the others did, as `search` does it with `opponents=`. The probability that
a seat holds a card is the weight of the worlds in which it does. The loss of a card is minus the natural logarithm of the
probability of its true holder. Cards whose holder is certain do not count.

OUT/beliefs.csv has a row for each game, field, model, exponent of the likelihoods, and trick. OUT/beliefs.md and
OUT/beliefs.png are written from it. Rows that are there are not measured again. Needs `pip install '.[plot]'`.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro

from benchmarks.search.csv_rows import read_rows, write_rows
from benchmarks.search.strength import FIELDS, policy_of
from noms_env import load_player, make_batch
from noms_env.belief import new_sampling_workspace
from noms_env.belief.determinize import sampled_tables
from noms_env.core.actions import PLAYING
from noms_env.engine.row_kernels import kernel_view
from noms_env.policy.player import PolicyPlayer
from noms_env.search.opponent_models import EXPONENT, Model, log_likelihoods, weights_of
from noms_env.search.worlds import deal_worlds
from noms_env.variants import VARIANTS
from noms_env.variants.table_record import new_tables
from noms_training.pictures import COLOURS, panels, plain, png
from noms_training.text import markdown_table

UNIFORM = "uniform"
COLUMNS = ("game", "field", "model", "exponent", "trick", "cards", "loss")
PRIOR = 1.0
"""Worlds of equal chances that are added, so that no holder is impossible."""


@dataclass
class Args:
    """The settings; `--help` prints them."""

    out: Annotated[Path, tyro.conf.Positional]
    """folder of the results"""
    games: tuple[str, ...] = tuple(VARIANTS)
    """games that are played"""
    fields: tuple[str, ...] = FIELDS
    """who plays: policy, thumb, pimc:100"""
    exponents: tuple[float, ...] = (0.25, 0.5, 1.0)
    """of the likelihoods of worlds"""
    deals: int = 24
    """deals of each game in each field"""
    worlds: int = 400
    """worlds that are weighted"""
    minutes: float = 600.0
    """no further game is begun after so long"""


def decisions(name: str, among: str, deals: int) -> Iterator[np.ndarray]:
    """The table, once in each trick of each deal, when a seat is to act that is drawn for the deal: shape (1,)."""
    batch, rng = make_batch(name, deals, seed=11, episode="deal"), np.random.default_rng(3)
    batch.reset()
    batch.observe()
    player, chosen, seen = load_player(among), rng.integers(0, batch.tables.n_seats), set[tuple[int, int]]()
    while not batch.over.all():
        tables, rows = batch.tables, np.flatnonzero(~batch.over)
        for row in rows[(tables.phase[rows] == PLAYING) & (tables.seat[rows] == chosen[rows])].tolist():
            moment = row, int(tables.trick_number[row])
            if moment not in seen:
                seen.add(moment)
                yield kernel_view(tables[row : row + 1].copy().view(np.recarray))
        hidden = sampled_tables(tables, rows, rng) if player.wants_tables else None
        actions = np.zeros(deals, np.int64)
        actions[rows] = player.act(batch.observation[rows], batch.mask[rows], rng, tables=hidden)
        batch.step(actions, observe=True)


def losses(true: Any, worlds: Any, weights: np.ndarray) -> list[float]:
    """Minus the logarithm of the probability of the true holder of each card whose holder is not certain.

    Args:
        true: the table.
        worlds: as the seat to act may imagine it, shape (n,).
        weights: float64, shape (weightings, n): probabilities of the worlds.

    Returns:
        A mean for each weighting, and the number of cards at the end.
    """
    total, cards = np.zeros(len(weights)), 0
    places = [worlds.hands[:, seat] for seat in range(true.n_seats)] + [worlds.stock]
    truth = [*true.hands[: true.n_seats], true.stock]
    for card in range(52):
        held = np.array([place >> card & 1 for place in places], float)
        possible = held.any(axis=1)
        if possible.sum() < 2:
            continue
        holder = next(place for place, hand in enumerate(truth) if int(hand) >> card & 1)
        counts = weights @ held.T * len(worlds.hands) + PRIOR * possible / possible.sum()
        total -= np.log(counts[:, holder] / counts.sum(axis=1))
        cards += 1
    return [*(total / max(cards, 1)), cards]


def measure(name: str, among: str, models: dict[str, list[Model]], args: Args) -> Iterator[dict[str, Any]]:
    """The rows of a game in a field."""
    found, workspace = defaultdict[tuple[str, float, int], list[float]](lambda: [0.0, 0.0]), new_sampling_workspace()
    keys = [(UNIFORM, 0.0), *((model, exponent) for model in models for exponent in args.exponents)]
    for number, table in enumerate(decisions(name, among, args.deals)):
        worlds, numbers = kernel_view(new_tables(args.worlds)), np.arange(args.worlds)
        deal_worlds(table, 0, number, worlds, numbers, workspace)
        true = table.view(np.recarray)[0]
        logs = [log_likelihoods(worlds, int(true.seat), own) for own in models.values()]
        weights = [weights_of(log, exponent) for log in logs for exponent in args.exponents]
        *means, cards = losses(true, worlds.view(np.recarray), np.array([np.full(args.worlds, 1 / args.worlds), *weights]))
        for key, mean in zip(keys, means, strict=True):
            entry = found[*key, int(true.trick_number)]
            entry[0] += mean * cards
            entry[1] += cards
    for (model, exponent, trick), (loss, cards) in sorted(found.items()):
        if cards:
            figures = (name, among, model, exponent, 1 + trick, int(cards), round(loss / cards, 5))
            yield dict(zip(COLUMNS, figures, strict=True))


def mean_loss(rows: Sequence[dict[str, Any]], model: str, exponent: float) -> float:
    """Over all tricks, of one model; `rows` are of one game in one field."""
    own = [row for row in rows if row["model"] == model and float(row["exponent"]) == exponent]
    return float(np.average([float(row["loss"]) for row in own], weights=[int(row["cards"]) for row in own]))


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The mean loss over all tricks, of each model with each exponent, as Markdown."""
    groups = defaultdict[tuple[str, str], list[dict[str, Any]]](list)
    for row in rows:
        groups[row["game"], row["field"]].append(row)
    exponents = sorted({float(row["exponent"]) for row in rows} - {0.0})
    models = list(dict.fromkeys(row["model"] for row in rows if row["model"] != UNIFORM))
    keys = [(UNIFORM, 0.0), *((model, exponent) for model in models for exponent in exponents)]
    heads = [UNIFORM, *(f"`{model}`, {exponent:g}" for model, exponent in keys[1:])]
    lines = [[*key, *(f"{mean_loss(group, *of):.3f}" for of in keys)] for key, group in groups.items()]
    return markdown_table(lines, "game", "who plays", *heads)


def draw(rows: Sequence[dict[str, Any]]) -> bytes:
    """Loss over tricks, a panel for each game and field; with the exponent that the search uses."""
    places = list(product(dict.fromkeys(row["game"] for row in rows), FIELDS))
    picture, grid = panels(len(places), "python -m benchmarks.search.beliefs", columns=len(FIELDS))
    for axes, (name, among) in zip(grid, places, strict=True):
        here = [row for row in rows if (row["game"], row["field"]) == (name, among)]
        for colour, model in zip(COLOURS, dict.fromkeys(row["model"] for row in here), strict=False):
            own = [row for row in here if row["model"] == model and float(row["exponent"]) in (0.0, EXPONENT)]
            own.sort(key=lambda row: int(row["trick"]))
            tricks, losses = [int(row["trick"]) for row in own], [float(row["loss"]) for row in own]
            axes.plot(tricks, losses, color=colour, marker=".", linewidth=1.4, label=model)
        axes.set_ylim(bottom=0)
        plain(axes, f"{name}, {among} plays")
    grid[0].legend(fontsize=8, frameon=False)
    picture.supxlabel("trick", fontsize=9)
    picture.supylabel("log loss, nats a card", fontsize=9)
    return png(picture)


def main(args: Args) -> None:
    """Measure what is missing, and write the pages."""
    args.out.mkdir(parents=True, exist_ok=True)
    path, until = args.out / "beliefs.csv", time.monotonic() + 60 * args.minutes
    done = read_rows(path)
    for among in args.fields:
        for name in args.games:
            is_there = any((row["game"], row["field"]) == (name, among) for row in done)
            if is_there or time.monotonic() > until:
                continue
            own = load_player(policy_of(name))
            assert isinstance(own, PolicyPlayer)
            models: dict[str, list[Model]] = {
                "policy": [own],
                "thumb": [None],
                "mixture": [own, None],
            }
            done += measure(name, policy_of(name) if among == "policy" else among, models, args)
            for row in done:
                row["field"] = "policy" if row["field"] == policy_of(row["game"]) else row["field"]
            write_rows(path, COLUMNS, done)
            print(name, among, flush=True)
    (args.out / "beliefs.md").write_text(table(done), encoding="utf-8")
    (args.out / "beliefs.png").write_bytes(draw(done))


if __name__ == "__main__":
    main(tyro.cli(Args))
