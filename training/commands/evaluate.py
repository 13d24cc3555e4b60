"""`noms evaluate`: how much better one player is than another."""

from __future__ import annotations

import json as json_format
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from training.commands.common import OK, STOPPED, CommandError, check_limit, file_errors, wrong_arguments
from training.console import terminal
from training.options import parse_options

if TYPE_CHECKING:
    from noms_env.variants import Rules
    from training.agents.spec import AgentSpec
    from training.evaluation.comparison import Comparison
    from training.evaluation.matches import Matches

USUAL_DEALS, MOST_DEALS = 2000, 10_000_000
DEALS_A_MATCH = 20
"""As many deals are played for each match, if the user does not say how many matches."""
DEALS_SHARE = 0.8
"""Of the time for a game: the deals; the rest is for matches."""
File = Annotated[str | None, tyro.conf.arg(metavar="FILE")]
Number = Annotated[int | None, tyro.conf.arg(metavar="N")]
Set = Literal["dev", "test"]
LineUpName = Literal["alone", "against", "mixed"]


@dataclass(frozen=True)
class Wanted:
    """How much is played.

    Attributes:
        deals: for each game.
        matches: likewise; None for as many as suit the deals.
        minutes: for all games together; None for as long as it takes.
        deal_set: `dev` or `test`.
        seed: of the players.
        threads: that share the work.
        limit: seconds for a decision; None for no limit.
        line_ups: that are played.
    """

    deals: int
    matches: int | None
    minutes: float | None
    deal_set: Set
    seed: int
    threads: int
    limit: float | None
    line_ups: tuple[str, ...]


@dataclass(frozen=True)
class Found:
    """What came of one game.

    Attributes:
        comparison: on duplicate deals.
        matches: whole matches; None if there were none.
        seconds: that the deals took.
        is_stopped: Ctrl-C.
    """

    comparison: Comparison
    matches: Matches | None
    seconds: float
    is_stopped: bool


def evaluate(
    a: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="A")],
    b: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="B")],
    variant: Annotated[tuple[str, ...], tyro.conf.arg(metavar="VARIANT ...")] = (),
    seats: Annotated[tuple[int, ...], tyro.conf.arg(metavar="N ...")] = (),
    option: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="NAME=VALUE")] = (),
    deals: Number = None,
    matches: Number = None,
    deal_set: Annotated[Set, tyro.conf.arg(name="set")] = "dev",
    line_ups: Annotated[tuple[LineUpName, ...], tyro.conf.arg(metavar="NAME ...")] = (),
    minutes: Annotated[float | None, tyro.conf.arg(metavar="M")] = None,
    tell: Annotated[float, tyro.conf.arg(metavar="POINTS")] = 0.1,
    seed: Annotated[int, tyro.conf.arg(metavar="S")] = 0,
    threads: Annotated[int | None, tyro.conf.arg(metavar="T")] = None,
    limit: Annotated[float | None, tyro.conf.arg(metavar="SECONDS")] = None,
    json: File = None,
) -> int:
    """Tell how much better A is than B: points per deal with 95 % intervals, on duplicate deals.

    A player is random, greedy, thumb, flat_mc:WORLDS, pimc:WORLDS, a policy file, the folder of a run, or the name of a
    policy that comes with the package, or of a game that one was trained for. Behind a policy @ and a temperature may stand:
    FILE@0 always takes the most probable action. A policy can be measured in the games that it was trained for.

    Or it is one of your own: MODULE:FUNCTION or FILE.py:FUNCTION, where the function is act(observation, mask, rng), which
    returns the number of a legal action, or has no arguments and returns a player (noms_env.players.Player); a name that an
    installed package registers in the entry points noms_env.players; or 'cmd:PROGRAM ...', a program in any language that is
    told of each decision in a line of JSON (examples/README.md). A player that fails, is late, or answers what is not legal
    loses that table.

    Each deal is played with A alone on each seat against B, with B alone on each seat against A, and with 4 seats or more
    with half of the seats for each. Deals come from a frozen set, so figures of different days compare: dev to choose
    among players, test for what is published. Ctrl-C prints what there is so far.

    For example:
      noms evaluate thumb random
      noms evaluate runs/small_ships-fast thumb --deals 10000
      noms evaluate pimc:20 thumb --variant down_up up_down --minutes 10 --json result.json
      noms evaluate my_agent:act thumb --variant noms
      noms evaluate 'cmd:./my_bot --level 3' random --variant up_down --deals 200 --limit 2

    Args:
        a: The player in question.
        b: Whom it is measured against.
        variant: The games; if not given those that both players can play.
        seats: Numbers of seats; the usual number of each game if not given, or without games those of the policies.
        option: An option of the games; may be given several times. The value is JSON, or else a word.
        deals: Deals of each game; 2000, or with --minutes as many as there is time for.
        matches: Whole matches of each game, with A and with B alone on each seat; one for 20 deals if not given, 0 for none.
        deal_set: The set of deals.
        line_ups: Which of alone, against and mixed are played; all if not given. With a slow B, A alone costs less than half.
        minutes: Time for all games together. How far it gets depends on the machine, but not what a deal ends with.
        tell: The difference, in points per deal, for which the number of deals is told that it takes to find it.
        seed: 0 to 2**63 - 1; it decides what is random in the players.
        threads: Threads; one for each core if not given. They change no result.
        limit: Seconds that a player has for a decision, on the mean of those that it is asked for at once; it loses the
            tables at which it takes longer. Results depend on the machine then. A program (cmd:...) always has a limit, for
            each decision by itself: 10 if not given.
        json: Write all figures to this file.
    """
    from training.agents.registry import agent_spec
    from training.evaluation.duplicate import LINE_UPS
    from training.evaluation.duplicate import line_ups as line_ups_of

    wanted = checked(deals, matches, minutes, tell, deal_set, seed, threads, limit, json, line_ups or LINE_UPS)
    with wrong_arguments():
        first, second = agent_spec(a, limit), agent_spec(b, limit)
        rule_sets = kinds_for(first, second, variant, seats, option)
        for kind in rule_sets:
            line_ups_of(kind.seats, wanted.line_ups)
    found = play_all(first, second, rule_sets, wanted, tell)
    if json:
        from training.agents.registry import hashes
        from training.evaluation.report import as_json

        document = as_json((a, b), [(one.comparison, one.matches) for one in found], tell, hashes((first, second)))
        with file_errors(f"cannot write {json}"):
            Path(json).write_text(json_format.dumps(document, indent=1) + "\n")
    if found[-1].is_stopped:
        raise CommandError("stopped by Ctrl-C; the figures are those of the deals until then", STOPPED)
    return OK


def checked(
    deals: int | None,
    matches: int | None,
    minutes: float | None,
    tell: float,
    deal_set: Set,
    seed: int,
    threads: int | None,
    limit: float | None,
    json: str | None,
    line_ups: tuple[str, ...],
) -> Wanted:
    """What is on the command line, once it is known that the numbers are allowed.

    Raises:
        CommandError: one is not.
    """
    cores = os.cpu_count() or 1
    needs = {
        f"--deals must be from 2 to {MOST_DEALS}, not {deals}": deals is None or 2 <= deals <= MOST_DEALS,
        f"--matches must be 0, or 2 or more, not {matches}": matches is None or matches == 0 or matches >= 2,
        f"--minutes must be above 0, not {minutes}": minutes is None or 0 < minutes < float("inf"),
        f"--tell must be above 0, not {tell}": 0 < tell < float("inf"),
        f"--seed must be from 0 to 2**63 - 1, not {seed}": 0 <= seed < 2**63,
        f"--threads must be from 1 to 1024, not {threads}": threads is None or 1 <= threads <= 1024,
        f"cannot write {json}: there is no such folder": json is None or Path(json).absolute().parent.is_dir(),
    }
    for sentence, is_met in needs.items():
        if not is_met:
            raise CommandError(sentence)
    check_limit(limit)
    if deals is None:
        deals = USUAL_DEALS if minutes is None else MOST_DEALS
    return Wanted(deals, matches, minutes, deal_set, seed, threads or cores, limit, line_ups)


def kinds_for(a: AgentSpec, b: AgentSpec, variants: Sequence[str], seats: Sequence[int], option: Sequence[str]) -> list[Rules]:
    """The rules of the tables.

    Raises:
        ValueError: there are no such, or one of the players cannot sit there.
    """
    from noms_env.variants import VARIANTS
    from training.agents.table_pool import make_rule_sets

    limited = [player for player in (a, b) if player.rule_sets is not None]
    if not variants and limited:
        shared = [kind for kind in limited[0].rule_sets or () if all(kind in (player.rule_sets or ()) for player in limited)]
        if not shared:
            raise ValueError(f"{a.name} and {b.name} were trained for different games: there is none that both can play")
        if not option and set(seats) <= {kind.seats for kind in shared}:
            return [kind for kind in shared if not seats or kind.seats in seats]
        variants = list(dict.fromkeys(kind.variant.name for kind in shared))
    rule_sets = make_rule_sets(variants or VARIANTS, seats, parse_options(option))
    for player in limited:
        for kind in rule_sets:
            player.check(kind)
    return rule_sets


# ------------------------------------------------------------------------------------------------------------- playing


def play_all(a: AgentSpec, b: AgentSpec, rule_sets: Sequence[Rules], wanted: Wanted, tell: float) -> list[Found]:
    """Play game after game, and print each when it is done.

    Raises:
        CommandError: stopped before there was anything to print.
    """
    from training.evaluation.comparison import NothingPlayedError
    from training.evaluation.report import print_comparison

    began, found = time.monotonic(), list[Found]()
    for number, kind in enumerate(rule_sets):
        until = None if wanted.minutes is None else began + 60 * wanted.minutes * (number + 1) / len(rule_sets)
        try:
            one = play_one(a, b, kind, wanted, until)
        except NothingPlayedError as nothing:
            if found and nothing.ending == "ctrl-c":
                found[-1] = Found(found[-1].comparison, found[-1].matches, found[-1].seconds, True)
                return found
            if nothing.ending == "time":
                raise CommandError("--minutes is too short: not even two deals were done") from nothing
            raise CommandError("stopped by Ctrl-C before there were any figures", STOPPED) from nothing
        found.append(one)
        print_comparison(terminal(), one.comparison, one.matches, one.seconds, tell)
        if one.is_stopped:
            break
    return found


def play_one(a: AgentSpec, b: AgentSpec, kind: Rules, wanted: Wanted, until: float | None) -> Found:
    """One game."""
    from training.evaluation.comparison import NothingPlayedError, compare
    from training.evaluation.matches import compare_matches
    from training.progress_bar import progress_bar

    title, began = f"{kind.variant.name}, {kind.seats} seats", time.monotonic()
    share = 1.0 if wanted.matches == 0 else DEALS_SHARE
    for_deals = None if until is None else began + share * (until - began)
    with progress_bar(title, "deals", wanted.deals if wanted.minutes is None else None) as tick:
        comparison = compare(
            kind,
            a,
            b,
            wanted.deals,
            seed=wanted.seed,
            deal_set=wanted.deal_set,
            threads=wanted.threads,
            until=for_deals,
            names=wanted.line_ups,
            limit=wanted.limit,
            tick=tick,
        )
    seconds = time.monotonic() - began
    number = comparison.deals // DEALS_A_MATCH if wanted.matches is None else wanted.matches
    if comparison.ending == "ctrl-c" or number < 2:
        return Found(comparison, None, seconds, comparison.ending == "ctrl-c")
    try:
        with progress_bar(title, "matches", number) as tick:
            matches = compare_matches(
                kind,
                a,
                b,
                number,
                seed=wanted.seed,
                deal_set=wanted.deal_set,
                threads=wanted.threads,
                until=until,
                limit=wanted.limit,
                tick=tick,
            )
    except NothingPlayedError as nothing:
        return Found(comparison, None, seconds, nothing.ending == "ctrl-c")
    return Found(comparison, matches, seconds, matches.ending == "ctrl-c")
