"""`noms analyse`: the points that decisions of recorded deals lost, by search."""

from __future__ import annotations

from itertools import compress
from pathlib import Path
from typing import Annotated

import tyro

from noms_env.policy.player import policy_name_for
from noms_env.record import Record
from noms_env.search.policy_search import SearchPlayer
from noms_env.variants import game, make_rules

from ..agents.registry import compile_players
from ..console import new_table, print_lines, table_lines
from ..evaluation.mistakes import MIN_WORLDS, NOT_JUDGED, Loss, biggest, by_seat_and_phase, find_losses, search_of
from ..evaluation.statistics import FEW, Estimate, plus_minus, too_few
from ..options import by_default
from ..play.browser.film import Shown
from ..play.session import seat_players
from ..progress_bar import progress_bar
from ..text import count
from .arguments import check_run
from .common import OK, CommandError, wrong_arguments
from .files import check_folder_of, is_chosen, records_until
from .replay import page, write

MAX_WORLDS = 10_000


def analyse(
    file: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="FILE")],
    player: Annotated[str | None, by_default("search on the policy of the game", "NAME")] = None,
    worlds: Annotated[int, tyro.conf.arg(metavar="N")] = 100,
    match: Annotated[int | None, by_default("all", "M")] = None,
    deal: Annotated[int | None, by_default("all", "D")] = None,
    seat: Annotated[int | None, by_default("all", "S")] = None,
    most: Annotated[int, tyro.conf.arg(metavar="K")] = 5,
    html: Annotated[str | None, by_default("none", "FILE")] = None,
    seed: Annotated[int, tyro.conf.arg(metavar="S")] = 0,
) -> int:
    """Judge each decision of recorded deals by search, and list the biggest mistakes first.

    For each decision, worlds are dealt from what the seat knew. A policy plays out every promising action in each world. The
    loss is in points above the mean of the others' points, with its standard error. A loss below two standard errors may be
    chance. The search does not know how the others really play. In Noms the deal after a pass-out is not judged, since its deck
    is hardly shuffled.

    For example:
      noms analyse games.jsonl --match 0 --deal 3
      noms analyse evening.jsonl --seat 0 --worlds 400
      noms analyse games.jsonl --player search:runs/first@0 --html games.html

    Args:
        file: A file of records (noms-record/1), all of one game.
        player: The search that judges: search:POLICY.
        worlds: Worlds per decision; the error falls with their square root.
        match: Analyse only this match; numbered from 0.
        deal: Analyse only this deal of each match; numbered from 0.
        seat: Analyse only the decisions of this seat; numbered from 0.
        most: Mistakes to show for each deal.
        html: Write a page with the deals, in which each mistake links to its moment.
        seed: 0 to 2**63 - 1, for the worlds.
    """
    if not MIN_WORLDS <= worlds <= MAX_WORLDS:
        raise CommandError(f"--worlds must be from {MIN_WORLDS} to {MAX_WORLDS}, not {worlds}")
    if most < 0:
        raise CommandError(f"--most must be 0 or more, not {most}")
    check_run(seed)
    check_folder_of(html, file, player or "")
    records = records_of(file, match, deal, seat)
    chosen = [is_chosen(record, match, deal, seat) for record in records]
    judge = judge_of(player, records[chosen.index(True)])
    losses: list[list[Loss] | None] = []
    with progress_bar("analyse", "deals", sum(chosen)) as advance, wrong_arguments():
        for _, of_deal in find_losses(records, judge, worlds, seed, lambda record: is_chosen(record, match, deal, seat), seat):
            losses.append(of_deal)
            advance(1)
    for record, of_deal in zip(compress(records, chosen), losses, strict=True):
        print_lines(deal_lines(record, of_deal, most))
    judged = [of_deal for of_deal in losses if of_deal is not None]
    if len(judged) > 1:
        print_lines(["", *summary_lines(by_seat_and_phase(judged, records[0]["seats"]), seat)])
    if html is not None:
        write(html, page(records, Shown(seed=seed), Path(file).name, chosen, losses))
    return OK


def records_of(file: str, match: int | None, deal: int | None, seat: int | None) -> list[Record]:
    """Return the records of `records_until`; CommandError if they are of several games or numbers of seats."""
    records = records_until(file, match, deal, seat)
    if len({(record["variant"], record["seats"]) for record in records}) > 1:
        raise CommandError(f"{file} has deals of several games or numbers of seats; an analysis takes one")
    return records


def judge_of(name: str | None, record: Record) -> SearchPlayer:
    """Return the search that judges; CommandError if the game has no policy and no search is named."""
    with wrong_arguments():
        rules = make_rules(game(record["variant"]), record["seats"], record["options"])
        policy = policy_name_for(rules)
        if name is None and policy is None:
            raise CommandError("no policy for this table comes with the package; name a search by --player search:POLICY")
        judge = name or f"search:{policy}@0"
        player = search_of(seat_players([judge], 1, rules)[0].player)
        compile_players([judge], batches=False)
        return player


def deal_lines(record: Record, losses: list[Loss] | None, most: int) -> list[str]:
    """Return the biggest mistakes of a deal."""
    number = f"Match {record['match']}, deal {record['deal']}"
    if losses is None:
        return ["", f"{number}: {NOT_JUDGED}"]
    total = sum(loss.points for loss in losses)
    return [
        "",
        f"{number}: {count(len(losses), 'decision')} with a choice, {total:.2f} points lost",
        *(
            f"  {loss.points:6.2f} ±{loss.error:.2f}  step {loss.step:<3} seat {loss.seat} {loss.phase} {loss.taken}, "
            f"better {loss.best}" + ("" if loss.is_sure else "  (may be chance)")
            for loss in biggest(losses, most)
        ),
    ]


def summary_lines(summed: dict[tuple[int, str], Estimate], seat: int | None) -> list[str]:
    """Return a table of the mean loss per deal, by seat and phase."""
    phases = list(dict.fromkeys(phase for _, phase in summed))
    table = new_table("points lost in a deal", *(phase or "all" for phase in phases))
    for loss in sorted({loss for loss, _ in summed}):
        if seat in (None, loss):
            table.add_row(f"seat {loss}", *(plus_minus(summed[loss, phase], 2) for phase in phases))
    deals = next(iter(summed.values())).deals
    return [*table_lines(table), *([too_few(deals)] if deals < FEW else [])]
