"""Write table and picture of best responses in the full games for the documentation: `python -m benchmarks.best_responses`.

The data are the files of `noms exploit PLAYER --variant GAME --json` in `checkpoints/exploit`. Needs `pip install '.[plot]'`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tyro

from noms_training.benchmark.protocol import GAMES
from noms_training.evaluation.statistics import plus_minus
from noms_training.pictures import COLOURS, GREY, band, panels, plain, png, shared_legend
from noms_training.publish.results import BestResponse, read_results
from noms_training.text import markdown_table

ROOT = Path(__file__).parents[1]
PLAYERS = ("thumb:1", "pimc:20")
ITSELF = "the published policy"
NAME = "best_responses"


@dataclass
class Args:
    """Command-line arguments."""

    checkpoints: Path = ROOT / "checkpoints"
    """folder of published policies and their results"""
    out: Path = ROOT / "docs" / "exploitability"
    """output folder"""


Responses = Mapping[str, Mapping[str, BestResponse]]
"""Best responses by game, then by player: one of PLAYERS, or ITSELF."""


def found_in(checkpoints: Path) -> Responses:
    """Read the best responses for tables of the benchmark."""
    responses: dict[str, dict[str, BestResponse]] = {name: {} for name in GAMES}
    results = read_results(checkpoints)
    for response in results.best_responses:
        name, player = response.rules.variant.name, response.player
        if player.partition("@")[0] in results.policies:
            player = ITSELF
        if response.rules.seats == GAMES.get(name) and player in (*PLAYERS, ITSELF):
            responses[name][player] = response
    return responses


def table(responses: Responses) -> str:
    """Return the gains of the initial policy and of the learner as Markdown."""
    rows = list[list[str | None]]()
    for name, by_player in responses.items():
        row: list[str | None] = [name]
        for player in PLAYERS:
            response = by_player.get(player)
            gains = (response.initial_gain, response.gain) if response else (None, None)
            row += [plus_minus(gain) if gain else None for gain in gains]
        rows.append([*row, plus_minus(by_player[ITSELF].gain) if ITSELF in by_player else None])
    heads = [head for player in PLAYERS for head in (f"`{player}`: before", "learnt")]
    return markdown_table(rows, "game", *heads, f"{ITSELF}: learnt")


def draw(responses: Responses) -> bytes:
    """Draw the learning curves, gain over fraction of the budget with intervals, as PNG."""
    shown = {name: curves for name, players in responses.items() if (curves := {k: v for k, v in players.items() if v.curve})}
    picture, grid = panels(len(shown) + 1, "python -m benchmarks.best_responses")
    for axes, (name, curves) in zip(grid, shown.items(), strict=False):
        for colour, player in zip(COLOURS, (*PLAYERS, ITSELF), strict=False):
            if player in curves:
                response = curves[player]
                at, mean, low, high = np.array(response.curve).T
                axes.plot(at / response.budget, mean, color=colour, label=player, linewidth=1.4, marker="o", markersize=2.5)
                band(axes, at / response.budget, low, high, colour)
        axes.axhline(0.0, color=GREY, linewidth=0.8, zorder=0)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        plain(axes, name)
    picture.supxlabel("share of the decisions", fontsize=9)
    picture.supylabel("points a deal above the player", fontsize=9)
    shared_legend(grid[: len(shown)], grid[len(shown)])
    return png(picture)


def main(args: Args) -> None:
    """Write the table and the picture."""
    responses = found_in(args.checkpoints)
    (args.out / f"{NAME}.txt").write_text(table(responses) + "\n", encoding="utf-8")
    (args.out / f"{NAME}.png").write_bytes(draw(responses))


if __name__ == "__main__":
    main(tyro.cli(Args, description=__doc__))
