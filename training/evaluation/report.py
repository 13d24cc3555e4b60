"""Results of a comparison of two players: on the terminal, and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from noms_env.players.registry import NEWEST
from noms_env.version import ENV_VERSION, __version__

from ..agents.spec import describe_device
from ..console import colour, fitted, new_table, say
from ..text import short_names
from .behaviour_stats import MAIN, as_read
from .comparison import Comparison
from .deal_sets import describe_tables
from .duplicate import AGAINST, ALONE, MIXED
from .matches import Matches
from .statistics import FEW, LEAST, Estimate, percent, plus_minus, too_few

FORMAT = "noms-evaluate/1"
EXPLOIT = "noms-exploit/1"
"""Format of `noms exploit --json`."""
GOAL = 0.8
"""Power of the tests, for the text."""


def print_result(console: Console, comparison: Comparison, effect: float) -> None:
    """Print the difference, its interval, the `verdict` and warnings."""
    estimate, (a, b) = comparison.estimate(), short_names(comparison.names)
    rules, points = comparison.rules, Text(f"{estimate.mean:+z.3f}", f"bold {colour(*_printed_interval(estimate))}".strip())
    say(console, Text.assemble(f"{rules.variant.name}, {rules.seats} seats: {a} v {b}: ", points, " points a deal"))
    of = f"{comparison.deals:,} duplicate deals of the set {comparison.deal_set}"
    for sentence in (f"95 % interval: {_interval(estimate)}, from {of}", verdict(comparison, effect), *warnings(comparison)):
        say(console, Text(f"  {sentence}"))


def verdict(comparison: Comparison, effect: float) -> str:
    """Return who is better by the interval, or how many deals would show a difference of `effect`."""
    estimate, (a, b) = comparison.estimate(), short_names(comparison.names)
    low, high = _printed_interval(estimate)
    if low > 0 or high < 0:
        better, worse = (a, b) if low > 0 else (b, a)
        return f"{better} is better than {worse}: the interval lies {'above' if low > 0 else 'below'} 0."
    if estimate.standard_error == 0:
        return "All deals end alike for both."
    if (needed := comparison.needed(effect)) > comparison.deals:
        return f"No difference is shown: one of {effect:g} points takes {needed:,} deals to find."
    return f"No difference is shown; one of {effect:g} points would usually be found."


def warnings(comparison: Comparison) -> Iterator[str]:
    """Yield reasons to doubt the figures: few deals, an early end, lost tables."""
    if comparison.deals < FEW:
        yield too_few(comparison.deals)
    if comparison.ending != "all":
        yield f"Stopped {'by Ctrl-C' if comparison.ending == 'ctrl-c' else 'when the time was over'}."
    for name, lost in zip(comparison.names, comparison.played.lost, strict=True):
        yield from lost.sentences(name)


def print_details(
    console: Console, comparison: Comparison, matches: Matches | None, seconds: float, effect: float, more: Sequence[str] = ()
) -> None:
    """Print all other figures of a game, which took `seconds`; the sentences in `more` come first below the tables."""
    say(console, Text(speed(comparison, seconds)))
    for table in (points_table(comparison, matches), group_table(comparison), probe_table(comparison)):
        if table.row_count:
            console.print(fitted(table, console.width))
    for sentence in (*more, *sentences(comparison, matches, effect)):
        say(console, Text(sentence))
    console.print()


def speed(comparison: Comparison, seconds: float) -> str:
    """Return the number of games, the time, and the device unless it is the CPU."""
    games = comparison.deals * comparison.games
    played = f"{games:,} games, {comparison.games} seatings of each deal"
    played += f", in {seconds:.1f} s" if seconds > 0 else ""
    return played + (" on a GPU" if comparison.device == "cuda" else "")


def points_table(comparison: Comparison, matches: Matches | None) -> Table:
    """Return the table of points by line-up and matches won; each row names its player."""
    a, b = short_names(comparison.names)
    heads = [] if matches is None else ["matches won"]
    table = new_table("points per deal above the others", "", "95 %", *heads)
    rows = {ALONE: f"{a} alone", AGAINST: f"{b} alone", MIXED: f"{a}, half of the seats each"}
    for line_up in comparison.line_ups:
        points = comparison.estimate(line_up.name)
        wins = [percent(matches.estimate(line_up.name))] if matches is not None and line_up.name != MIXED else []
        _add_row(table, rows[line_up.name], -points if line_up.name == AGAINST else points, *wins)
    _add_row(table, f"{a}, all together", comparison.estimate(), style="bold")
    if comparison.rules.variant.passes_out:
        _add_row(table, f"{a}, first deals only", comparison.estimate(first=True))
    if comparison.controlled is not None:
        _add_row(table, f"{a}, with control variate", comparison.controlled)
    return table


def _add_row(table: Table, name: str, estimate: Estimate, *wins: str, style: str = "") -> None:
    """Add a row, green if the printed interval lies above 0, red if below."""
    points = Text(plus_minus(estimate), f"{style} {colour(*_printed_interval(estimate))}".strip())
    table.add_row(Text(name, style), points, _interval(estimate), *wins)


def _interval(estimate: Estimate) -> str:
    return "{:+z.3f} to {:+z.3f}".format(*_printed_interval(estimate))


def _printed_interval(estimate: Estimate) -> tuple[float, float]:
    """Return the ends of an interval as printed."""
    return round(estimate.low, 3), round(estimate.high, 3)


def group_table(comparison: Comparison) -> Table:
    """Return the table of roles: how often each player has each role when alone, and its points there."""
    a, b = short_names(comparison.names)
    table = new_table("by role, alone", f"{a}: games", "points", f"{b}: games", "points")
    groups = comparison.played.groups
    for grouping, names in (groups[0] + groups[1]).names().items():
        for name in names:
            estimates = [side.estimate(grouping, name) for side in groups]
            cells = ["" if estimate is None else plus_minus(estimate, 2) for estimate in estimates]
            games = [f"{side.games(grouping, name):,}" for side in groups]
            table.add_row(Text(f"{grouping}: {name}"), games[0], cells[0], games[1], cells[1])
    return table


def probe_table(comparison: Comparison) -> Table:
    """Return the table of the main probes of each player when alone."""
    table = new_table("behaviour, alone", *short_names(comparison.names))
    means = [tally.means() for tally in comparison.played.probes]
    for probe, text in MAIN.items():
        if any(probe in side for side in means):
            table.add_row(Text(text), *(as_read(probe, side[probe]) if probe in side else "" for side in means))
    return table


def sentences(comparison: Comparison, matches: Matches | None, effect: float) -> Iterator[str]:
    """Yield the remaining facts as sentences."""
    points = comparison.estimate()
    if points.standard_error > 0:
        yield (
            f"{comparison.deals:,} deals find a difference of {comparison.detectable:.3f} points in {GOAL:.0%} of cases; "
            f"for one of {effect:g} it takes {comparison.needed(effect):,} deals."
        )
        yield (
            f"The variance is {comparison.variance_ratio:.3f} of that of {comparison.deals:,} deals, each played once, and "
            f"{comparison.game_ratio:.2f} of that of {comparison.deals * comparison.games:,} games, each on a deal of its own."
        )
    if comparison.controlled is not None and comparison.controlled.standard_error > 0:
        gain = (points.standard_error / comparison.controlled.standard_error) ** 2
        yield f"The control variate is worth {gain:.2f} times as many deals."
    if comparison.rules.variant.passes_out:
        yield "If all pass, play continues until a deal is scored; in first deals only, a pass-out counts 0."
    if matches is not None:
        yield f"Among equals, a lone player wins {matches.fair:.1%} of the matches."
        yield f"Matches: {len(matches.shares):,}, each in {matches.shares.shape[1]} seatings, {matches.deals:,} deals in all."
        if len(matches.shares) < FEW:
            rough = "their intervals are rough" if len(matches.shares) >= LEAST else f"an interval takes {LEAST} or more"
            yield f"{len(matches.shares)} matches are few: {rough}."


def as_json(
    names: tuple[str, str], compared: Iterable[tuple[Comparison, Matches | None]], effect: float, policies: Mapping[str, str]
) -> dict[str, Any]:
    """Return all figures of each game as JSON values; they do not depend on the clock or the machine."""
    return {
        "format": FORMAT,
        "noms_env": __version__,
        "environment": ENV_VERSION,
        "a": names[0],
        "b": names[1],
        "thumb_version": NEWEST,
        "policies": dict(policies),
        "games": [game_json(comparison, matches, effect) for comparison, matches in compared],
    }


def game_json(comparison: Comparison, matches: Matches | None, effect: float) -> dict[str, Any]:
    """Return the figures of one game; points are A's above B's, but groups and probes are each player's own.

    If a deal can be passed out, `unit` says that points are of scored deals. Then `first_deals` has the points of first deals
    alone, 0 if passed out.
    """
    rules, controlled = comparison.rules, comparison.controlled
    names = [line_up.name for line_up in comparison.line_ups]
    first = {name: asdict(comparison.estimate(name, first=True)) for name in names}
    return {
        **describe_tables(rules, comparison.deal_set),
        "seed": comparison.seed,
        **describe_device(comparison.device),
        "deals": comparison.deals,
        "seatings": comparison.games,
        "ending": comparison.ending,
        "points": {
            **{name: asdict(comparison.estimate(name)) for name in names},
            "all": asdict(comparison.estimate()),
            "all_with_control_variate": None if controlled is None else asdict(controlled),
        },
        **({"first_deals": first | {"all": asdict(comparison.estimate(first=True))}} if rules.variant.passes_out else {}),
        "p_value": comparison.estimate().p_value,
        "found_difference": comparison.detectable,
        "deals_needed": {"difference": effect, "deals": comparison.needed(effect)},
        "variance_ratio": {"deals": comparison.variance_ratio, "games": comparison.game_ratio},
        "matches": None if matches is None else matches_json(matches),
        "groups": {
            side: {
                grouping: {name: asdict(points) for name in names if (points := groups.estimate(grouping, name)) is not None}
                for grouping, names in groups.names().items()
            }
            for side, groups in zip("ab", comparison.played.groups, strict=True)
        },
        "probes": {side: tally.means() for side, tally in zip("ab", comparison.played.probes, strict=True)},
        "lost": {side: asdict(lost) for side, lost in zip("ab", comparison.played.lost, strict=True)},
    }


def matches_json(matches: Matches) -> dict[str, Any]:
    """Return the figures of the matches."""
    return {
        "matches": len(matches.shares),
        "seatings": matches.shares.shape[1],
        "deals": matches.deals,
        "fair": matches.fair,
        "a_alone": asdict(matches.estimate(ALONE)),
        "b_alone": asdict(matches.estimate(AGAINST)),
        "advantage": asdict(matches.advantage()),
    }
