"""Markdown pages of a folder of policies: a card for each policy, and RESULTS.md with all tables.

Pages depend on the files in the folder alone, so the same files give the same bytes. The prose is in `templates/`.
"""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from noms_env.players.registry import FIRST, add_thumb_version
from noms_env.variants import Rules, game, given_options, make_rules

from ..agents.registry import label
from ..evaluation.behaviour_stats import MAIN, as_read
from ..evaluation.duplicate import ALONE, MIXED
from ..evaluation.statistics import NORMAL_95, Estimate, percent, plus_minus
from ..evaluation.tournament import crosstable
from ..extras import require
from ..text import count, duration, markdown_table, rules_text
from .results import PREVIOUS, REFERENCE, Behaviour, Duel, Results, place_of, rules_of
from .runs import Trained

CARD, RESULTS = "README.md", "RESULTS.md"
NOTES_BEGIN = "<!-- Written by hand from here on; kept when the card is made again. -->"
NOTES_END = "<!-- Written by hand to here. -->"
OPPONENTS = ("random", REFERENCE, add_thumb_version("thumb"), "pimc:100", "pimc:400", PREVIOUS)
"""Columns of the table of policies."""
SEARCH, SEARCHERS = "pimc:100", ("pimc:100", "pimc:20", "flat_mc:20")
DUELS_HEAD = ("game", "policy", "against", "deals", "alone", "matches won alone", "all line-ups", "alone, first deals only")
OF_A_SIZE = {"bid/hit/10": "bids of ten cards hit"}
"""Behaviour shown besides the main statistics: bids are harder to hit with more cards."""

Row = tuple[str | None, ...]


class CardError(ValueError):
    """Rewriting a card would lose text; the message says why."""


def pages(results: Results, cards: Mapping[str, str]) -> dict[Path, str]:
    """Return the text of every page by its path in the folder; hand-written notes of existing cards, by policy, are preserved.

    Raises:
        CardError: see `notes_of`.
        MissingExtraError: Jinja2 is not installed.
    """
    jinja2 = require("jinja2", "publish", "noms publish")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "table": markdown_table,
        "number": "{:,}".format,
        "pm": plus_minus,
        "games": games_text,
        "place": lambda rules: rules_text(label(rules)),
        "count": count,
        "shell": shell_lines,
    }
    card, page = (environment.get_template(f"{name}.md.jinja") for name in ("card", "results"))
    texts = {
        Path(name) / CARD: str(card.render(card_facts(name, policy, results), notes=notes_of(cards.get(name), name)))
        for name, policy in results.policies.items()
    }
    return texts | {Path(RESULTS): str(page.render(results_facts(results)))}


def notes_of(card: str | None, name: str) -> str:
    """Return the hand-written notes of a policy's card, between its two comments, with the surrounding newlines.

    Raises:
        CardError: a comment is missing or occurs twice.
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
    """Return the games with their seats and non-default options: ``small_ships` with 3 to 6 seats (`hook=true`)``."""
    texts = []
    for (variant, options), group in groupby(rule_sets, key=lambda rules: (rules.variant.name, given_options(rules))):
        changed = ", ".join(f"`{name}={json.dumps(value)}`" for name, value in options.items())
        texts.append(f"`{variant}` with {seats_text([rules.seats for rules in group])}{f' ({changed})' if changed else ''}")
    return ", ".join(texts)


def seats_text(seats: Sequence[int]) -> str:
    """Return numbers of seats in words: 3 to 6 seats."""
    *others, last = numbers = sorted(set(seats))
    if len(numbers) > 2 and last - numbers[0] == len(others):
        return f"{numbers[0]} to {last} seats"
    return f"{', '.join(map(str, others))} and {last} seats" if others else f"{last} seats"


def shell_lines(command: str) -> str:
    """Break a shell command into lines before options; a command with quotes stays on one line."""
    if "'" in command:
        return command
    lines = textwrap.wrap(
        re.sub(" (?!--)", "\0", command), 100, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
    return " \\\n".join(lines).replace("\0", " ")


def is_usual(rules: Rules) -> bool:
    """Return whether seats and options are the defaults."""
    return rules == make_rules(rules.variant)


def above(points: Estimate | None, wins: str | None = None) -> str | None:
    """Return a lone player's points above the field, with the number of deals, and matches won."""
    matches = f"; matches won {wins}" if wins else ""
    return None if points is None else f"{plus_minus(points)}, {points.deals:,} deals{matches}"


def wins_text(duel: Duel) -> str | None:
    """Return the share of matches won alone, and the share among equals."""
    return None if duel.wins is None else f"{percent(duel.wins)} (equals: {100 * duel.fair:.1f} %)"


def behaviour_tables(behaviour: Iterable[Behaviour]) -> Iterator[str]:
    """Yield a table for each game, with a row per player; the share of deals passed out has an interval."""

    def cell(player: Behaviour, stat: str) -> str | None:
        if stat not in player.stats:
            return None
        value = player.stats[stat]
        margin = 100 * NORMAL_95 * math.sqrt(value * (1 - value) / player.deals) if stat == "passed_out" else None
        return as_read(stat, value) + ("" if margin is None else f" ±{margin:.1f}")

    for rules, group in groupby(behaviour, key=lambda player: player.rules):
        players = list(group)
        stats = {name: text for name, text in (MAIN | OF_A_SIZE).items() if any(name in player.stats for player in players)}
        rows = [(f"`{player.player}`", f"{player.deals:,}", *(cell(player, name) for name in stats)) for player in players]
        yield markdown_table(rows, f"`{rules.variant.name}`, {rules.seats} seats", "deals", *stats.values())


# ----------------------------------------------------------------------------------------------------------- the card


def card_facts(name: str, policy: Trained, results: Results) -> dict[str, Any]:
    """Return the variables of the card's template."""
    rule_sets, last = policy.info.rule_sets, policy.runs[-1]
    options = given_options(rule_sets[0])
    order = {rules: number for number, rules in enumerate(rule_sets)}
    duels = sorted(results.duels[name], key=lambda duel: (order.get(duel.rules, len(order)), place_of(duel.rules)))
    measured = {(duel.rules, duel.opponent) for duel in duels}
    in_training = [duel for duel in training_duels(name, policy) if (duel.rules, duel.opponent) not in measured]
    own = [player for player in results.behaviour if player.player.partition("@")[0] == name]
    rows = [duel_row(duel) for duel in duels]
    columns = [column for column, cells in enumerate(zip(*rows, strict=True)) if any(cells)]
    others = [duel for duel in duels if duel.opponent.partition("@")[0] != name]
    seconds = policy.seconds(policy.seen)
    return {
        "name": name,
        "policy": policy,
        "last": last,
        "methods": training_methods(policy),
        "time": f"{duration(seconds)}|{policy.seen / seconds:,.0f}".split("|") if seconds else None,
        "rules": rule_sets[0],
        "options": options,
        "words": "".join(f" --option '{key}={json.dumps(value)}'" for key, value in options.items()),
        "duels": [[row[column] for column in columns] for row in rows],
        "duels_head": [DUELS_HEAD[column] for column in columns],
        "has_first": any(duel.first for duel in duels),
        "in_training": [(*duel_row(duel)[:3], plus_minus(duel.points)) for duel in in_training],
        "behaviour": list(behaviour_tables(own or training_behaviour(name, policy))),
        "is_measured": bool(own),
        "compared": [*others, *in_training],
        "unmeasured": [rules for rules in rule_sets if all(duel.rules != rules for duel in others)],
        "exploited": [response for response in results.best_responses if response.player.partition("@")[0] == name],
        "begin": NOTES_BEGIN,
        "end": NOTES_END,
        "commands": list(dict.fromkeys(run.command for run in policy.runs if run.command)),
    }


def training_methods(policy: Trained) -> str:
    """Return what the policy has learnt from, in words."""
    curricula = [run.training["curriculum"] for run in policy.runs]
    others = {"imitation of other players": "expert", "recorded decisions": "shards"}
    methods = ["self-play", *(method for method, key in others.items() if any(each[key] for each in curricula))]
    return " and ".join(filter(None, [", ".join(methods[:-1]), methods[-1]]))


def training_duels(name: str, policy: Trained) -> Iterator[Duel]:
    """Yield the duels of the evaluation that selected the policy, on `dev` deals."""
    figures, training = policy.evaluation(), policy.runs[-1].training
    deals, version = training["evaluation_deals"], training.get("thumb_version", FIRST)
    for rules in policy.info.rule_sets:
        start = f"eval/points/{label(rules)}/"
        for figure, mean in figures.items():
            if figure.startswith(start) and figure.count("/") == 3:
                low, high = figures[f"{figure}/low"], figures[f"{figure}/high"]
                points = Estimate(mean, (high - low) / (2 * NORMAL_95), low, high, deals)
                yield Duel(rules, "dev", name, add_thumb_version(figure.removeprefix(start), version), points)


def training_behaviour(name: str, policy: Trained) -> Iterator[Behaviour]:
    """Yield the behaviour of the policy in self-play in that evaluation."""
    figures = policy.evaluation()
    for rules in policy.info.rule_sets:
        start = f"eval/probe/{label(rules)}/"
        stats = {stat.removeprefix(start): value for stat, value in figures.items() if stat.startswith(start)}
        if stats:
            yield Behaviour(name, rules, policy.runs[-1].training["evaluation_deals"], stats)


def duel_row(duel: Duel) -> Row:
    """Return a row of the table of comparisons."""
    alone, first = (None if points is None else plus_minus(points) for points in (duel.alone, duel.first))
    where = rules_text(label(duel.rules)), f"`{duel.policy}`", f"`{duel.opponent}`"
    return *where, f"{duel.points.deals:,} of `{duel.deal_set}`", alone, wins_text(duel), plus_minus(duel.points), first


# ------------------------------------------------------------------------------------------------------------ results


def results_facts(results: Results) -> dict[str, Any]:
    """Return the variables of the template of RESULTS.md."""
    tables = [(name, rules) for name, policy in results.policies.items() for rules in policy.info.rule_sets]
    tables = [(name, rules) for name, rules in tables if not given_options(rules)]
    tables.sort(key=lambda table: (*place_of(table[1]), table[0]))
    usual = [(name, rules) for name, rules in tables if is_usual(rules)]
    met = {duel.opponent for duels in results.duels.values() for duel in duels}
    opponents = [opponent for opponent in OPPONENTS if opponent in met]
    return {
        "opponents": [f"above `{opponent}`" for opponent in opponents],
        "has_previous": PREVIOUS in opponents,
        "policies": [row for name, rules in usual for row in policy_rows(results, name, rules, opponents)],
        "first": [
            (
                *(f"`{name}`" for name in (duel.rules.variant.name, duel.policy, duel.opponent)),
                *(above(duel.alone), plus_minus(duel.first), wins_text(duel)),
            )
            for name, rules in tables
            for opponent in OPPONENTS
            for duel in _forms(results, name, rules, opponent)
            if duel.first is not None
        ],
        "seats": [
            (f"`{rules.variant.name}`", str(rules.seats), f"`{duel.policy}`", above(duel.alone))
            for name, rules in tables
            if not is_usual(rules)
            for duel in _forms(results, name, rules, REFERENCE)
        ],
        "time": [time_row(results, name, rules) for name, rules in usual],
        "names": list(results.policies),
        "search": list(search_rows(results)),
        "panel": [
            (rules, [(document["deals"], crosstable(document).strip()) for document in group])
            for rules, group in groupby(results.tournaments, key=rules_of)
        ],
        "behaviour": list(behaviour_tables(results.behaviour)),
        "best_responses": [
            (
                *(f"`{response.rules.variant.name}`", str(response.rules.seats), f"`{response.player}`"),
                f"`{response.initial_policy}`" if response.initial_policy else "an imitation of the player",
                response.initial_gain and plus_minus(response.initial_gain),
                *(f"{response.budget:,}", plus_minus(response.gain), f"{response.gain.deals:,}"),
            )
            for response in results.best_responses
        ],
        "crossed": [
            (
                *(f"`{cross.rules.variant.name}`", str(cross.rules.seats), ", ".join(f"`{name}`" for name in cross.players)),
                *(plus_minus(cross.losses[kind]) if kind in cross.losses else None for kind in (ALONE, MIXED)),
                f"{cross.losses[ALONE].deals:,}",
            )
            for cross in results.crossed
        ],
    }


def _forms(results: Results, name: str, rules: Rules, opponent: str) -> list[Duel]:
    """Return the duels of a policy with a player on `test` deals: for each temperature the one with most deals."""
    key = rules, opponent, "test"
    duels = [duel for duel in results.duels[name] if (duel.rules, duel.opponent, duel.deal_set) == key and duel.alone]
    best = {duel.policy: duel for duel in sorted(duels, key=lambda duel: duel.points.deals)}
    return [best[form] for form in sorted(best)]


def policy_rows(results: Results, name: str, rules: Rules, opponents: Sequence[str]) -> Iterator[Row]:
    """Yield rows of a policy at a table against each opponent, one row per temperature."""
    duels = {(duel.policy, opponent): duel for opponent in opponents for duel in _forms(results, name, rules, opponent)}
    for form in sorted({form for form, _ in duels}):
        cells = (duels.get((form, opponent)) for opponent in opponents)
        texts = (None if duel is None else above(duel.alone, wins_text(duel)) for duel in cells)
        yield f"`{rules.variant.name}`", f"`{form}`", *texts


def time_row(results: Results, name: str, rules: Rules) -> Row:
    """Return a row of the times at which a policy's intervals were first clear of zero in training."""
    policy = results.policies[name]
    at, low = policy.curve.get(f"eval/points/{label(rules)}/thumb/low", ((), ()))
    first = next((int(decisions) for decisions, value in zip(at, low, strict=True) if value > 0), None)
    searched = [duel.alone for duel in _forms(results, name, rules, SEARCH) if duel.alone is not None]
    last = policy.seen if searched and max(searched, key=lambda points: points.deals).low > 0 else None
    cells = [
        "not shown" if decisions is None else f"{decisions:,} decisions, {policy.seconds(decisions) / 60:.0f} min"
        for decisions in (first, last)
    ]
    return f"`{rules.variant.name}`", f"`{name}`", *cells


def search_rows(results: Results) -> Iterator[Row]:
    """Yield rows that compare search with rules of thumb, and rules of thumb with random play."""
    usual = [document for document in results.tournaments if is_usual(rules_of(document))]
    for variant, group in groupby(usual, key=lambda document: str(document["variant"])):
        tournaments = list(group)
        searched = next((document for document in tournaments if SEARCH in document["players"]), None)
        if searched is not None:
            cells = [searched["table"].get(name, {}).get(REFERENCE) for name in SEARCHERS]
            with_random = [document for document in tournaments if {REFERENCE, "random"} <= {*document["players"]}]
            largest = max(with_random, key=lambda document: document["deals"], default=None)
            chance = None if largest is None else above(Estimate(**largest["table"][REFERENCE]["random"]))
            texts = [None if cell is None else plus_minus(Estimate(**cell)) for cell in cells]
            yield f"`{game(variant).name}`", f"{searched['deals']:,}", *texts, chance
