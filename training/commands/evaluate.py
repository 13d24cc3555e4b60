"""`noms evaluate`: measure how much better one player is than another."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import tyro

from noms_env.players.registry import add_thumb_version
from noms_env.variants import VARIANTS, Rules, game

from ..agents.registry import compile_players, hashes
from ..agents.spec import AgentSpec, device_of
from ..agents.table_pool import make_rule_sets
from ..benchmark.protocol import DEAL_SET, PROTOCOLS, V2
from ..console import print_lines, terminal
from ..evaluation.block_store import NothingPlayedError
from ..evaluation.comparison import Comparison, compare
from ..evaluation.duplicate import ALONE, LINE_UPS, line_ups
from ..evaluation.matches import Matches, compare_matches
from ..evaluation.report import as_json, print_details, print_result
from ..options import by_default, parse_options
from ..progress_bar import progress_bar
from ..text import short_names
from ..thread_pool import Ending
from .arguments import DealSet, Flag, MoveLimit, Option, PlayedOn, PlayerSeed, Salt, Threads, check_run, deals_of, players_on
from .common import OK, STOPPED, CommandError, wrong_arguments
from .files import check_folder_of, write_json

USUAL_DEALS, MAX_DEALS = 2000, 10_000_000
DEALS_A_MATCH = 20
"""Deals per match, if the user does not set the number of matches."""
DEALS_SHARE = 0.8
"""Share of a game's time limit for deals; the rest is for matches."""
LEAST_DIFFERENCE = 1e-9
"""The smallest difference for `--tell`, in points."""
LineUpName = Literal["alone", "against", "mixed"]


@dataclass(frozen=True)
class Arguments:
    """Arguments of `noms evaluate`."""

    a: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="A")]
    """The player to measure."""
    b: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="B")]
    """The opponent."""
    variant: Annotated[tuple[str, ...], by_default("all games of both players", "VARIANT ...")] = ()
    """The games."""
    seats: Annotated[tuple[int, ...], by_default("each game's usual number, or that of the policies", "N ...")] = ()
    """Numbers of seats."""
    option: Option = ()
    deals: Annotated[int | None, by_default(f"{USUAL_DEALS}, or with --minutes no limit", "N")] = None
    """Deals of each game."""
    matches: Annotated[int | None, by_default(f"one for {DEALS_A_MATCH} deals with --details or --json, else 0", "N")] = None
    """Whole matches of each game, with A and with B alone on each seat; shown with --details."""
    deal_set: DealSet = "dev"
    salt: Salt = None
    line_ups: Annotated[tuple[LineUpName, ...], by_default("all", "NAME ...")] = ()
    """The line-ups to play: alone, against, mixed."""
    minutes: Annotated[float | None, by_default("no limit", "M")] = None
    """Time for all games together."""
    tell: Annotated[float, tyro.conf.arg(metavar="POINTS")] = 0.1
    """Report how many deals it takes to find this difference."""
    seed: PlayerSeed = 0
    threads: Threads = None
    limit: MoveLimit = None
    device: PlayedOn = "cpu"
    details: Flag = False
    """Print all figures: by line-up and role, matches won, behaviour, variance."""
    json: Annotated[str | None, by_default("none", "FILE")] = None
    """Write all figures to this file."""

    def check(self) -> None:
        """Raise CommandError for a value that is not allowed."""
        needs = {
            f"--deals must be from 2 to {MAX_DEALS}, not {self.deals}": self.deals is None or 2 <= self.deals <= MAX_DEALS,
            f"--matches must be 0, or from 2 to {MAX_DEALS}, not {self.matches}": not self.matches
            or 2 <= self.matches <= MAX_DEALS,
            "--matches: matches are won alone or against, and --line-ups names neither": not self.matches or self.has_matches,
            f"--minutes must be above 0, not {self.minutes}": self.minutes is None or 0 < self.minutes < float("inf"),
            f"--tell must be {LEAST_DIFFERENCE:g} or more, not {self.tell}": LEAST_DIFFERENCE <= self.tell < float("inf"),
        }
        for sentence, is_met in needs.items():
            if not is_met:
                raise CommandError(sentence)
        check_run(self.seed, self.threads, self.limit)
        check_folder_of(self.json, self.a, self.b, self.salt or "")

    @property
    def has_matches(self) -> bool:
        """Whether one player sits alone in some line-up, as matches need."""
        return self.line_ups != ("mixed",)

    def number_of_matches(self, deals: int) -> int:
        """Return how many whole matches to play after a number of deals; 0 if no output shows them."""
        if self.matches is None:
            return deals // DEALS_A_MATCH if (self.details or self.json) and self.has_matches else 0
        return self.matches

    @property
    def most_deals(self) -> int:
        """Deals of each game, if time allows."""
        return self.deals or (USUAL_DEALS if self.minutes is None else MAX_DEALS)


def evaluate(measurement: Annotated[Arguments, tyro.conf.arg(name="")]) -> int:
    """Measure how many points per deal A is better than B, with a 95 % interval.

    A player is random, greedy, thumb, flat_mc:WORLDS, pimc:WORLDS, search:POLICY; a policy by file, folder of a run, or name;
    or a game, for the policy that comes with the package. NAME@0 always takes the most probable action of a policy. A policy
    plays only the games that it was trained for, and so does a search on it.

    Your own player is MODULE:FUNCTION or FILE.py:FUNCTION, for act(observation, mask, rng) or a function that makes a player;
    or 'cmd:PROGRAM ...', which reads each decision as a line of JSON (examples/README.md). A crash, a timeout or an illegal
    answer forfeits only that table.

    Both play the same deals: A alone on each seat against B, B alone against A, and with 4 seats or more half of the seats
    each. If all pass, play continues until a deal is scored. The deals are frozen, so figures of different days compare. Ctrl-C
    prints the figures so far.

    For example:
      noms evaluate thumb random
      noms evaluate runs/small_ships-fast thumb --deals 10000
      noms evaluate pimc:20 thumb --variant down_up up_down --minutes 10 --json result.json
      noms evaluate my_agent:act thumb --variant noms
      noms evaluate 'cmd:./my_bot --level 3' random --variant up_down --deals 200 --limit 2
    """
    measurement.check()
    with wrong_arguments():
        a, b = players_on(measurement.device, [measurement.a, measurement.b], measurement.limit)
        rule_sets = rule_sets_for(a, b, measurement.variant, measurement.seats, measurement.option)
        for rules in rule_sets:
            line_ups(rules.seats, measurement.line_ups or LINE_UPS)
        deal_set = deals_of(measurement.deal_set, measurement.salt)
    if device_of((a, b)) == "cpu":
        compile_players((a.name, b.name))
    results = list[Result]()
    try:
        for result in play_all(a, b, rule_sets, measurement, deal_set):
            results.append(result)
    finally:  # also writes the results so far after Ctrl-C
        if measurement.json and results:
            document = as_json((measurement.a, measurement.b), results, measurement.tell, hashes((a, b)))
            for of_game, (comparison, _) in zip(document["games"], results, strict=True):
                of_game["benchmark"] = benchmark_score(comparison, b)
            write_json(measurement.json, document)
    return OK


def rule_sets_for(
    a: AgentSpec, b: AgentSpec, variants: Sequence[str], seats: Sequence[int], option: Sequence[str]
) -> list[Rules]:
    """Return the rules of the tables; ValueError if none fits the arguments, or a player cannot play there."""
    is_named = bool(variants)
    limited = [player for player in (a, b) if player.rule_sets is not None]
    if not variants and limited:
        shared = [rules for rules in limited[0].rule_sets or () if all(rules in (player.rule_sets or ()) for player in limited)]
        if not shared:
            raise ValueError(f"{a.name} and {b.name} were trained for different games: there is none that both can play")
        if not option and set(seats) <= {rules.seats for rules in shared}:
            return [rules for rules in shared if not seats or rules.seats in seats]
        variants = list(dict.fromkeys(rules.variant.name for rules in shared))
    if not is_named and seats:
        low_high = {name: game(name).seats for name in variants or VARIANTS}
        fitting = [name for name, (low, high) in low_high.items() if any(low <= number <= high for number in seats)]
        variants = fitting or variants
    rule_sets = make_rule_sets(variants or VARIANTS, seats, parse_options(option))
    for player in limited:
        for rules in rule_sets:
            player.check(rules)
    return rule_sets


Result = tuple[Comparison, Matches | None]
"""Result of one game: duplicate deals, and whole matches if any were played."""


def play_all(a: AgentSpec, b: AgentSpec, rule_sets: Sequence[Rules], args: Arguments, deal_set: str) -> Iterator[Result]:
    """Play, print and yield each game; CommandError after Ctrl-C, or if there was no time for the first figures."""
    start, has_figures = time.monotonic(), False
    for number, rules in enumerate(rule_sets):
        until = None if args.minutes is None else start + 60 * args.minutes * (number + 1) / len(rule_sets)
        result, ending = play_game(a, b, rules, args, deal_set, until)
        if result is not None:
            has_figures = True
            yield result
        elif ending == "time" and not has_figures:
            raise CommandError("--minutes is too short: not even two deals were done")
        elif ending == "time":
            print_lines([f"{rules.variant.name}, {rules.seats} seats: not even two deals were done in time"])
        if ending == "ctrl-c":
            scope = "; the figures cover the deals played so far" if has_figures else " before there were any figures"
            raise CommandError(f"stopped by Ctrl-C{scope}", STOPPED)


def play_game(
    a: AgentSpec, b: AgentSpec, rules: Rules, args: Arguments, deal_set: str, until: float | None
) -> tuple[Result | None, Ending]:
    """Play and print one game; return its result, None for fewer than two deals, and what ended it."""
    title, start = f"{rules.variant.name}, {rules.seats} seats", time.monotonic()
    share = DEALS_SHARE if args.number_of_matches(MAX_DEALS) else 1.0
    for_deals = None if until is None else start + share * (until - start)
    threads, names = args.threads or os.cpu_count() or 1, args.line_ups or LINE_UPS
    settings: dict[str, Any] = {"seed": args.seed, "deal_set": deal_set, "threads": threads}
    try:
        with progress_bar(title, "deals", args.most_deals if args.minutes is None else None) as tick:
            comparison = compare(rules, a, b, args.most_deals, until=for_deals, names=names, tick=tick, **settings)
    except NothingPlayedError as nothing:
        return None, nothing.ending
    seconds, matches, ending = time.monotonic() - start, None, comparison.ending
    number = args.number_of_matches(comparison.deals)
    if ending != "ctrl-c" and number >= 2:
        try:
            with progress_bar(title, "matches", number) as tick:
                matches = compare_matches(rules, a, b, number, until=until, tick=tick, **settings)
            ending = matches.ending
        except NothingPlayedError as nothing:
            ending = nothing.ending
    print_result(terminal(), comparison, args.tell)
    if args.details:
        notes = score_sentences(comparison, benchmark_score(comparison, b))
        print_details(terminal(), comparison, matches, seconds, args.tell, notes)
    return (comparison, matches), ending


def benchmark_score(comparison: Comparison, b: AgentSpec) -> dict[str, Any] | None:
    """Return the score of A in the field of B, with its 95 % interval; None if the benchmark has no such field."""
    place = PROTOCOLS[V2].field_of(comparison.rules, add_thumb_version(b.name), b.sha256)
    if place is None or ALONE not in [result.name for result in comparison.line_ups]:
        return None
    part, field = place
    scale, points = part.references[comparison.rules.variant.name][field.name], comparison.estimate(ALONE)
    scores = {name: scale.score(value) for name, value in (("value", points.mean), ("low", points.low), ("high", points.high))}
    return {"protocol": V2, "part": part.name, "field": field.name, "protocol_deals": field.deals, **scores}


def score_sentences(comparison: Comparison, score: Mapping[str, Any] | None) -> list[str]:
    """Return a sentence with the benchmark score and the points, if there is a score."""
    if score is None:
        return []
    protocol, points = PROTOCOLS[V2], comparison.estimate(ALONE)
    part, player = protocol.parts[score["part"]], short_names(comparison.names)[0]
    best = protocol.player_name(protocol.one, part.run_of(comparison.rules.variant.name))
    return [
        f"Score of {player} alone in the field {score['field']} of the benchmark: {score['value']:z.1f} "
        f"({score['low']:z.1f} to {score['high']:z.1f}), where {protocol.zero} has 0 and {best} has {protocol.unit}. "
        f"In points: {points.mean:z.3f} ({points.low:z.3f} to {points.high:z.3f}). "
        f"The protocol plays {score['protocol_deals']:,} deals of the set {DEAL_SET}."
    ]
