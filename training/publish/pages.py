"""The written pages of a folder of policies, as Markdown: a card for each policy, and RESULTS.md with all tables.

Pages follow from the files in the folder alone, so the same files give the same bytes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from noms_env.players.registry import FIRST, versioned
from noms_env.variants import Rules, game, given_options, make_rules

from ..agents.registry import label
from ..evaluation.behaviour_stats import MAIN, as_read
from ..evaluation.statistics import NORMAL_95, Estimate, percent, plus_minus
from ..evaluation.tournament import crosstable
from ..extras import require
from ..text import count, duration, markdown_table, rules_text
from .exploitability import best_response_rows, crossed_rows, exploited
from .results import PREVIOUS, REFERENCE, Behaviour, Duel, Results, place_of, rules_of
from .runs import Trained

CARD, RESULTS = "README.md", "RESULTS.md"
NOTES_BEGIN = "<!-- Written by hand from here on; kept when the card is made again. -->"
NOTES_END = "<!-- Written by hand to here. -->"
OPPONENTS = ("random", REFERENCE, versioned("thumb"), "pimc:100", "pimc:400", PREVIOUS)
"""Of the table of policies."""
SEARCH, SEARCHERS = "pimc:100", ("pimc:100", "pimc:20", "flat_mc:20")
DUELS_HEAD = ("game", "policy", "against", "deals", "alone", "matches won alone", "all line-ups", "alone, first deals only")
OF_A_SIZE = {"bid/hit/10": "bids of ten cards hit"}
"""Shown besides the main statistics of behaviour: bids are harder to hit with more cards."""
MINUTE = 60.0

Row = tuple[str | None, ...]


class CardError(ValueError):
    """A card that cannot be made again without loss; the message says why."""


def pages(results: Results, cards: dict[str, str]) -> dict[Path, str]:
    """The text of every page, by its path in the folder.

    Args:
        results: of the folder.
        cards: the cards that are there, by policy: what people wrote in them is kept.

    Raises:
        CardError: see `notes_of`.
        MissingExtraError: Jinja2 is not installed.
    """
    found = {
        Path(name) / CARD: _rendered("card", **card_facts(name, policy, results), notes=notes_of(cards.get(name), name))
        for name, policy in results.policies.items()
    }
    return found | {Path(RESULTS): _rendered("results", **results_facts(results))}


def _rendered(template: str, **facts: Any) -> str:
    jinja2 = require("jinja2", "publish", "noms publish")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["table"] = markdown_table
    text: str = environment.get_template(f"{template}.md.jinja").render(facts)
    return text


def notes_of(card: str | None, name: str) -> str:
    """What people wrote into a card between its two comments, with the ends of the lines around it.

    Args:
        card: the text of the card that is there; None if there is none.
        name: of the policy, for the message.

    Raises:
        CardError: a comment is missing or there twice, so it is not known what is to be kept.
    """
    if card is None:
        return "\n"
    if (card.count(NOTES_BEGIN), card.count(NOTES_END)) == (1, 1):
        notes, sign, _ = card.partition(NOTES_BEGIN)[2].partition(NOTES_END)
        if sign:
            return notes
    raise CardError(
        f"{name}/{CARD} does not have the comments {NOTES_BEGIN} and {NOTES_END} once each, so it is not known what to keep: "
        "put them back, or move the file away"
    )


# ---------------------------------------------------------------------------------------------------------- words


def games_text(rule_sets: Sequence[Rules]) -> str:
    """The games with their seats and options: `small_ships` with 3 to 6 seats."""
    groups = groupby(rule_sets, key=lambda rules: (rules.variant.name, options_text(rules)))
    return ", ".join(
        f"`{variant}` with {seats_text([rules.seats for rules in group])}{f' ({options})' if options else ''}"
        for (variant, options), group in groups
    )


def seats_text(seats: Sequence[int]) -> str:
    """Numbers of seats in words: 3 to 6 seats."""
    found = sorted(set(seats))
    if len(found) > 2 and found == list(range(found[0], found[-1] + 1)):
        return f"{found[0]} to {found[-1]} seats"
    *others, last = map(str, found)
    return f"{', '.join(others)} and {last} seats" if others else f"{last} seats"


def options_text(rules: Rules) -> str:
    """The options that are not as usual: `hook=true`."""
    return ", ".join(f"`{name}={json.dumps(value)}`" for name, value in given_options(rules).items())


def name_of(rules: Rules) -> str:
    """The game in a table."""
    return f"`{rules.variant.name}`"


def is_usual(rules: Rules) -> bool:
    """Whether a game has its usual seats and options."""
    return rules == make_rules(rules.variant)


def above(one: Estimate | None, wins: str | None = None) -> str | None:
    """Points of a player alone above the others, with the number of deals, and matches won."""
    text = (
        [] if one is None else [f"{plus_minus(one)}, {one.deals:,} deals", *([] if wins is None else [f"matches won {wins}"])]
    )
    return "; ".join(text) or None


def wins_text(duel: Duel) -> str | None:
    """Matches won alone."""
    return None if duel.wins is None else f"{percent(duel.wins)} (equals: {100 * duel.fair:.1f} %)"


def stat_text(stat: str, one: Behaviour) -> str | None:
    """A statistic of behaviour, with a 95 % interval for deals passed out, of which each counts once."""
    if stat not in one.stats:
        return None
    value = one.stats[stat]
    text = as_read(stat, value)
    return f"{text} ±{100 * NORMAL_95 * math.sqrt(value * (1 - value) / one.deals):.1f}" if stat == "passed_out" else text


def behaviour_tables(found: Iterable[Behaviour]) -> Iterator[str]:
    """A table for each game, with a row for each player."""
    for rules, group in groupby(found, key=lambda one: one.rules):
        players = list(group)
        stats = {name: text for name, text in (MAIN | OF_A_SIZE).items() if any(name in one.stats for one in players)}
        rows = [(f"`{one.player}`", f"{one.deals:,}", *(stat_text(name, one) for name in stats)) for one in players]
        yield markdown_table(rows, f"{name_of(rules)}, {rules.seats} seats", "deals", *stats.values())


# ----------------------------------------------------------------------------------------------------------- the card


def card_facts(name: str, policy: Trained, results: Results) -> dict[str, Any]:
    """What the template of the card needs."""
    rule_sets = policy.info.rule_sets
    duels = sorted(results.duels[name], key=lambda duel: rule_sets.index(duel.rules))
    known = {(duel.rules, duel.opponent) for duel in duels}
    in_training = [duel for duel in training_duels(name, policy) if (duel.rules, duel.opponent) not in known]
    own = [one for one in results.behaviour if one.player.partition("@")[0] == name]
    first, rows = rule_sets[0], [duel_row(duel) for duel in duels]
    kept = [place for place, cells in enumerate(zip(*rows, strict=True)) if any(cells)]
    return {
        "name": name,
        "policy": policy,
        "games": games_text(rule_sets),
        "facts": list(fact_rows(policy)),
        "rules": first,
        "options": given_options(first),
        "words": "".join(f" --option '{key}={json.dumps(value)}'" for key, value in given_options(first).items()),
        "duels": [[row[place] for place in kept] for row in rows],
        "duels_head": [DUELS_HEAD[place] for place in kept],
        "has_first": any(duel.first for duel in duels),
        "in_training": [(*duel_row(duel)[:3], plus_minus(duel.points)) for duel in in_training],
        "behaviour": list(behaviour_tables(own or training_behaviour(name, policy))),
        "is_measured": bool(own),
        "weaknesses": [*weaknesses(name, policy, duels, in_training), *exploited(name, results)],
        "begin": NOTES_BEGIN,
        "end": NOTES_END,
        "needs": sorted({other for run in policy.runs for other in run.needs}),
        "stopped": [run for run in policy.runs[:-1] if run.made < run.budget],
    }


def fact_rows(policy: Trained) -> Iterator[Row]:
    """Figures of the policy itself."""
    info, network, last = policy.info, policy.info.network, policy.runs[-1]
    size = f"{network['width']} units, {count(network['blocks'], 'residual block')}, card embeddings of {network['card_width']}"
    scorer = f", a scorer of cards with {count(units, 'unit')}" if (units := network.get("scorer_width", 0)) else ""
    yield "network", f"{size}{scorer}; {policy.parameters:,} parameters"
    more = [words for has, words in ((info.card_features, "card features"), (info.trick_features, "trick features")) if has]
    yield "input", ", ".join(["the observation", *more])
    runs = f" in {len(policy.runs)} runs" if len(policy.runs) > 1 else ""
    made = "" if last.kept == last.made else f"; the last run made {last.made:,}"
    yield "decisions seen", f"{policy.seen:,}{runs}{made} (moves without alternative not counted)"
    seconds = policy.seconds(policy.seen)
    if seconds:
        speed = f"{policy.seen / seconds:,.0f} decisions/s"
        yield "training time", f"{duration(seconds)} with evaluations, on the machine that trained it ({speed})"
    yield "file", f"`policy.safetensors`, {len(policy.content) / 1e6:.2f} MB, SHA-256 `{policy.sha256}`"
    yield "made with", ", ".join(f"{package} {version}" for package, version in sorted(info.packages.items()))


def training_duels(name: str, policy: Trained) -> Iterator[Duel]:
    """What the evaluation in which the policy was kept says of it, on deals of the set `dev`."""
    found, training = policy.evaluation(), policy.runs[-1].training
    deals, version = training["evaluation_deals"], training.get("thumb_version", FIRST)
    for rules in policy.info.rule_sets:
        start = f"eval/points/{label(rules)}/"
        for figure in [figure for figure in found if figure.startswith(start) and figure.count("/") == 3]:
            low, high = found[f"{figure}/low"], found[f"{figure}/high"]
            points = Estimate(found[figure], (high - low) / (2 * NORMAL_95), low, high, deals)
            yield Duel(rules, "dev", name, versioned(figure.removeprefix(start), version), points)


def training_behaviour(name: str, policy: Trained) -> Iterator[Behaviour]:
    """What the policy did at tables with nobody else in that evaluation."""
    found = policy.evaluation()
    for rules in policy.info.rule_sets:
        start = f"eval/probe/{label(rules)}/"
        stats = {stat.removeprefix(start): value for stat, value in found.items() if stat.startswith(start)}
        if stats:
            yield Behaviour(name, rules, policy.runs[-1].training["evaluation_deals"], stats)


def duel_row(duel: Duel) -> Row:
    """A row of the table of comparisons."""
    alone, first = (None if one is None else plus_minus(one) for one in (duel.alone, duel.first))
    where = rules_text(label(duel.rules)), f"`{duel.policy}`", f"`{duel.opponent}`"
    return *where, f"{duel.points.deals:,} of `{duel.deal_set}`", alone, wins_text(duel), plus_minus(duel.points), first


def weaknesses(name: str, policy: Trained, duels: Sequence[Duel], in_training: Sequence[Duel]) -> Iterator[str]:
    """Whom the policy does not beat, and what is not known: sentences."""
    others = [duel for duel in duels if duel.opponent.partition("@")[0] != name]
    compared = [*others, *in_training]
    behind = [duel for duel in compared if duel.points.high < 0]
    unclear = [duel for duel in compared if duel.points.low <= 0 <= duel.points.high]
    for verdict, found in (("It is behind", behind), ("It is not clearly better than", unclear)):
        for duel in found:
            where = f"{rules_text(label(duel.rules))}, `{duel.policy}`, {duel.points.deals:,} deals of `{duel.deal_set}`"
            yield f"{verdict} `{duel.opponent}`: {plus_minus(duel.points)} points per deal ({where})."
    missing = [rules for rules in policy.info.rule_sets if all(duel.rules != rules for duel in others)]
    if missing:
        yield f"It was not measured in {games_text(missing)}, but in training."
    last = policy.runs[-1]
    if last.made < last.budget:
        yield f"Its last run has not come to its end: {last.made:,} of {last.budget:,} decisions."
    yield "It plays with no other options or numbers of seats than those above."


# ------------------------------------------------------------------------------------------------------------ results


def results_facts(results: Results) -> dict[str, Any]:
    """What the template of RESULTS.md needs."""
    seats = [(name, rules) for name, rules in _tables(results) if not is_usual(rules)]
    met = {duel.opponent for duels in results.duels.values() for duel in duels}
    opponents = [opponent for opponent in OPPONENTS if opponent in met]
    return {
        "opponents": [f"above `{opponent}`" for opponent in opponents],
        "has_previous": PREVIOUS in opponents,
        "policies": list(policy_rows(results, opponents)),
        "first": list(first_rows(results)),
        "seats": [
            (name_of(rules), str(rules.seats), f"`{duel.policy}`", above(duel.alone))
            for name, rules in seats
            for duel in _forms(results, name, rules, REFERENCE)
        ],
        "time": [time_row(results, name, rules) for name, rules in _tables(results) if is_usual(rules)],
        "names": list(results.policies),
        "search": list(search_rows(results)),
        "panel": list(panel_parts(results)),
        "behaviour": list(behaviour_tables(results.behaviour)),
        "best_responses": list(best_response_rows(results)),
        "crossed": list(crossed_rows(results)),
    }


def _tables(results: Results) -> list[tuple[str, Rules]]:
    """Each policy with each of its tables with the usual options, by game and seats."""
    found = [
        (name, rules) for name, one in results.policies.items() for rules in one.info.rule_sets if not given_options(rules)
    ]
    return sorted(found, key=lambda one: (*place_of(one[1]), one[0]))


def _forms(results: Results, name: str, rules: Rules, opponent: str) -> list[Duel]:
    """The comparisons of a policy with a player on the set `test`, that of most deals for each of its temperatures."""
    asked = rules, opponent, "test"
    found = [one for one in results.duels[name] if (one.rules, one.opponent, one.deal_set) == asked and one.alone]
    best = {duel.policy: duel for duel in sorted(found, key=lambda duel: duel.points.deals)}
    return [best[form] for form in sorted(best)]


def policy_rows(results: Results, opponents: Sequence[str]) -> Iterator[Row]:
    """Each policy at the usual table, in each of its temperatures, against each of the opponents."""
    for name, rules in _tables(results):
        if is_usual(rules):
            found = {opponent: {duel.policy: duel for duel in _forms(results, name, rules, opponent)} for opponent in opponents}
            for form in sorted({form for duels in found.values() for form in duels}):
                duels = [found[opponent].get(form) for opponent in opponents]
                yield (
                    name_of(rules),
                    f"`{form}`",
                    *(None if duel is None else above(duel.alone, wins_text(duel)) for duel in duels),
                )


def first_rows(results: Results) -> Iterator[Row]:
    """Where a deal can be passed out: points in scored deals and in first deals only, and matches won."""
    for name, rules in _tables(results):
        for duel in (duel for opponent in OPPONENTS for duel in _forms(results, name, rules, opponent)):
            if duel.first is not None:
                figures = above(duel.alone), plus_minus(duel.first), wins_text(duel)
                yield name_of(rules), f"`{duel.policy}`", f"`{duel.opponent}`", *figures


def time_row(results: Results, name: str, rules: Rules) -> Row:
    """When the intervals of a policy in training were clear of zero."""
    policy = results.policies[name]
    at, low = policy.curve.get(f"eval/points/{label(rules)}/thumb/low", ((), ()))
    first = next((int(decisions) for decisions, value in zip(at, low, strict=True) if value > 0), None)
    searched = [duel.alone for duel in _forms(results, name, rules, SEARCH) if duel.alone is not None]
    last = policy.seen if searched and max(searched, key=lambda one: one.deals).low > 0 else None
    cells = [
        "not shown" if decisions is None else f"{decisions:,} decisions, {policy.seconds(decisions) / MINUTE:.0f} min"
        for decisions in (first, last)
    ]
    return name_of(rules), f"`{name}`", *cells


def search_rows(results: Results) -> Iterator[Row]:
    """How much better search is than rules of thumb, and those than chance."""
    usual = [one for one in results.tournaments if is_usual(rules_of(one))]
    for variant, group in groupby(usual, key=lambda one: one["variant"]):
        tournaments = list(group)
        searched = next((one for one in tournaments if SEARCH in one["players"]), None)
        if searched is not None:
            cells = [searched["table"].get(name, {}).get(REFERENCE) for name in SEARCHERS]
            both = [one for one in tournaments if {REFERENCE, "random"} <= {*one["players"]}]
            most = max(both, key=lambda one: one["deals"], default=None)
            chance = None if most is None else above(Estimate(**most["table"][REFERENCE]["random"]))
            texts = [None if cell is None else plus_minus(Estimate(**cell)) for cell in cells]
            yield name_of(make_rules(game(variant))), f"{searched['deals']:,}", *texts, chance


def panel_parts(results: Results) -> Iterator[tuple[str, list[tuple[int, str]]]]:
    """Heading, and deals and table of each tournament, by game."""
    for rules, group in groupby(results.tournaments, key=rules_of):
        heading = f"{rules.variant.title} ({name_of(rules)}), {rules.seats} seats"
        yield heading, [(one["deals"], crosstable(one).strip()) for one in group]
