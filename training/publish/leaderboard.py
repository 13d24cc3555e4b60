"""How strong the policies and players of a folder are, as tables for the page that stands there.

    FOLDER/README.md          the page; people write it, but for the blocks below
    FOLDER/NAME/              a policy, as `noms publish` makes it
    FOLDER/panel/*.json       results of `noms tournament` and `noms evaluate`: who is how strong
    FOLDER/milestones/*.json  of `noms evaluate`: what a run had on its way (NAME-....json), against others
    FOLDER/ablations/*.json   of `noms tournament`: the policies of runs with different recipes, and `base`; and of
                              `noms evaluate` NAME-RECIPE.json: one tried after NAME.json, against `thumb` on the same deals
    FOLDER/behaviour/*.json   of `noms evaluate` NAME NAME: what a player does at tables with nobody else

The same files give the same bytes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from noms_env.core.state import VARIANTS
from noms_env.players import PLAYERS
from noms_env.policy.file import PolicyFileError, PolicyInfo, given_options, read_policy
from noms_env.policy.player import POLICY_NAME
from noms_env.variants import Rules, game, make_rules
from noms_env.version import ENV_VERSION
from training.agents.registry import label
from training.evaluation.behaviour_stats import MAIN, as_read
from training.evaluation.duplicate import NORMAL_95
from training.evaluation.report import FORMAT as EVALUATION
from training.evaluation.statistics import Estimate
from training.evaluation.tournament import FORMAT as TOURNAMENT
from training.evaluation.tournament import crosstable
from training.learn.log import SECONDS, Series, read_series
from training.publish.markdown import Cell, table
from training.publish.result_files import Duel, Names, ResultsError, read_results
from training.publish.run_summary import BEGUN, CURVE

OWNER = "noms ladder"
"""Whose the blocks of the page are."""
PAGE, PANEL, MILESTONES, ABLATIONS, BEHAVIOUR = "README.md", "panel", "milestones", "ablations", "behaviour"
OPPONENTS = ("random", "thumb", "pimc:100")
"""Of the sum: from the weakest to the strongest."""
SEARCHERS = ("pimc:100", "pimc:20", "flat_mc:20")
BASE, RULES, SEARCH = "base", "thumb", "pimc:100"
MINUTE = 60.0
OF_A_SIZE = {"bid/hit/10": "bids of ten cards hit"}
"""What is shown of the exact-bid games besides the main probes: they are harder to hit with more cards."""


class LadderError(ValueError):
    """A folder of which no page can be made; the message says why."""


@dataclass(frozen=True)
class Published:
    """A policy that is handed on.

    Attributes:
        name: of its folder.
        info: what its file says.
        curve: the course of its training.
        duels: what it was found to be worth.
        milestones: what its run had on its way, and in the end: decisions, and what it was worth.
    """

    name: str
    info: PolicyInfo
    curve: Series
    duels: tuple[Duel, ...]
    milestones: tuple[tuple[int, Duel], ...]

    def best_known(self, kind: Rules, opponent: str, policy: str) -> Duel | None:
        """The comparison of most deals with a player; None if there is none."""
        found = [one for one in self.duels if (one.kind, one.opponent, one.policy) == (kind, opponent, policy)]
        return max(found, key=lambda one: one.points.deals, default=None)

    @property
    def forms(self) -> list[str]:
        """The policy with its temperatures, as far as they were measured."""
        return sorted({one.policy for one in self.duels})

    def minutes(self, decisions: int) -> float | None:
        """Of training until then, evaluations included; None where the curve does not say."""
        at, values = self.curve.get(SECONDS, (np.zeros(0), np.zeros(0)))
        return float(np.interp(decisions, at, values)) / MINUTE if len(at) else None


@dataclass(frozen=True)
class Alone:
    """What a player does at tables with nobody else.

    Attributes:
        player: its name.
        kind: the rules.
        deals: how many.
        probes: see `probes`.
    """

    player: str
    kind: Rules
    deals: int
    probes: Mapping[str, float]


@dataclass(frozen=True)
class Standing:
    """What a folder holds.

    Attributes:
        policies: by name.
        tournaments: of the panel: `results.json` of `noms tournament`, in the order of the games, most players first.
        ablations: likewise, by the name of the file.
        later: of `noms evaluate`, by the name of the file.
        alone: of players among themselves, policies first.
    """

    policies: tuple[Published, ...]
    tournaments: tuple[dict[str, Any], ...]
    ablations: dict[str, dict[str, Any]]
    later: dict[str, dict[str, Any]]
    alone: tuple[Alone, ...]


# ------------------------------------------------------------------------------------------------------------- reading


def read_standing(folder: Path) -> Standing:
    """Read a folder.

    Raises:
        OSError: a file cannot be read.
        LadderError: a file is damaged, or is none of those that belong there.
    """
    panel = {path: document(path, EVALUATION, TOURNAMENT) for path in sorted((folder / PANEL).glob("*.json"))}
    tournaments = [one for one in panel.values() if one["format"] == TOURNAMENT]
    tournaments.sort(key=lambda one: (VARIANTS.index(one["variant"]), -len(one["players"]), one["seats"], one["deals"]))
    recipes = {path.stem: document(path, EVALUATION, TOURNAMENT) for path in sorted((folder / ABLATIONS).glob("*.json"))}
    ablations = {name: one for name, one in recipes.items() if one["format"] == TOURNAMENT}
    later = {name: one for name, one in recipes.items() if name not in ablations}
    for name, one in ablations.items():
        if BASE not in one["players"]:
            raise LadderError(f"{folder / ABLATIONS / name}.json has no player {BASE!r} with which the others are compared")
    for name, one in later.items():
        before = ablations.get(name.partition("-")[0])
        if before is None or not is_on_the_deals_of(one, before):
            raise LadderError(
                f"{folder / ABLATIONS / name}.json is not of a recipe against {RULES} on the deals of other recipes"
            )
    found = [published(path.parent, panel) for path in sorted(folder.glob(f"*/{POLICY_NAME}"))]
    alone = [one for path in sorted((folder / BEHAVIOUR).glob("*.json")) for one in read_alone(path, found, folder)]
    alone.sort(key=lambda one: (VARIANTS.index(one.kind.variant.name), one.kind.seats, one.player.partition(":")[0] in PLAYERS))
    return Standing(tuple(found), tuple(tournaments), ablations, later, tuple(alone))


def is_on_the_deals_of(one: Mapping[str, Any], tournament: Mapping[str, Any]) -> bool:
    """Whether a comparison with the rules of thumb has the deals of a tournament."""
    same = ("variant", "seats", "options", "deals", "set", "set_sha256")
    deals = [tuple(each.get(key) for key in same) for each in (*one["games"], tournament)]
    return one["b"] == RULES and len(deals) == 2 and deals[0] == deals[1]


def document(path: Path, *formats: str) -> dict[str, Any]:
    """A file of results.

    Raises:
        OSError: it cannot be read.
        LadderError: it is none of these formats.
    """
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise LadderError(f"{path} is no JSON: {error}") from error
    if not isinstance(found, dict) or found.get("format") not in formats:
        raise LadderError(f"{path} is not of the format {' or '.join(formats)}")
    if found.get("environment") != ENV_VERSION:
        raise LadderError(f"{path} is of version {found.get('environment')!r} of the environments, not {ENV_VERSION}")
    return found


def published(folder: Path, panel: Mapping[Path, dict[str, Any]]) -> Published:
    """A policy, and what is known of it.

    Raises:
        OSError: a file cannot be read.
        LadderError: one is damaged.
    """
    file = folder / POLICY_NAME
    try:
        info, _, _ = read_policy(file)
        curve = read_series(folder / CURVE)
        names = Names(folder.name, [folder], file.read_bytes())
        duels = [
            duel
            for path, one in panel.items()
            if any(map(names.is_own, players_of(one)))
            for duel in read_results(path, names, info.rule_sets).all_duels
        ]
        begun = max((int(at) for at in curve.get(BEGUN, ((), ()))[0]), default=0)
        milestones = [
            (begun + at, duel)
            for path in sorted((folder.parent / MILESTONES).glob(f"{folder.name}-*.json"))
            for at, duel in milestones_of(path, info.rule_sets)
        ] + [(begun + info.decisions, duel) for duel in duels]
    except (PolicyFileError, ResultsError, ValueError) as error:
        raise LadderError(str(error)) from error
    return Published(folder.name, info, curve, tuple(duels), tuple(sorted(milestones, key=lambda one: one[0])))


def read_alone(path: Path, policies: Sequence[Published], folder: Path) -> Iterator[Alone]:
    """What a player did among its own kind, in each game.

    Raises:
        OSError: a file cannot be read.
        LadderError: it is damaged, of two players, or of a policy that is not the one in the folder now.
    """
    one = document(path, EVALUATION)
    player = one["a"]
    if player != one["b"]:
        raise LadderError(f"{path} must be of a player against itself, not of {player} against {one['b']}")
    for policy in policies:
        place = folder / policy.name
        names = Names(policy.name, [place], (place / POLICY_NAME).read_bytes())
        if names.is_own(player):
            if not names.has(one.get("policies", {}).get(player, "")):
                raise LadderError(f"{path} has figures of another policy than the one that is called {policy.name} now")
            player = names.shown(player)
    try:
        for entry in one["games"]:
            kind = make_rules(game(entry["variant"]), entry["seats"], entry["options"])
            yield Alone(player, kind, int(entry["deals"]), dict(entry["probes"]["a"]))
    except (LookupError, TypeError, ValueError) as error:
        raise LadderError(f"{path} is damaged: {error!r}") from error


def players_of(one: Mapping[str, Any]) -> Sequence[str]:
    """The players of a file of results."""
    return [one["a"], one["b"]] if one["format"] == EVALUATION else one["players"]


def milestones_of(path: Path, rule_sets: Sequence[Rules]) -> Iterator[tuple[int, Duel]]:
    """What a policy that a run had on its way was worth: decisions of that run that it had seen, and the comparison.

    Raises:
        LadderError: the name of its file does not end with the decisions, as those in `RUN/past` do.
    """
    player = document(path, EVALUATION)["a"]
    number = re.search(r"(\d+)\.safetensors(@[\d.]+)?$", player)
    if number is None:
        raise LadderError(f"{path} is not of a policy from RUN/past, whose names end with decisions, but of {player}")
    name = player.partition("@")[0]
    for duel in read_results(path, Names(name, [name]), rule_sets).duels:
        yield int(number[1]), duel


# -------------------------------------------------------------------------------------------------------------- blocks


def blocks(standing: Standing) -> dict[str, str]:
    """The blocks of the page by name."""
    return {
        "policies": policies(standing),
        "seats": other_seats(standing),
        "search": search(standing),
        "panel": panel_tables(standing),
        "time": time_to_strength(standing),
        "curves": "\n".join(f"![{one.name}: points per deal by decisions]({one.name}/curve.png)" for one in standing.policies),
        "behaviour": behaviour_tables(standing),
        "ablations": ablation_tables(standing),
    }


def interval(one: Estimate) -> str:
    """`+0.325 (+0.245 to +0.402)`."""
    return f"{one.mean:+.3f} ({one.low:+.3f} to {one.high:+.3f})"


def usual_rules(variant: str) -> Rules:
    """The game as it is usually played."""
    return make_rules(game(variant))


def name_of(kind: Rules) -> str:
    """The game in a table."""
    return f"`{kind.variant.name}`"


def in_panel_order(standing: Standing) -> Iterator[tuple[Published, Rules]]:
    """Each policy with each of its tables, by game and seats."""
    found = [(one, kind) for one in standing.policies for kind in one.info.rule_sets if not given_options(kind)]
    yield from sorted(found, key=lambda pair: (VARIANTS.index(pair[1].variant.name), pair[1].seats, pair[0].name))


def policies(standing: Standing) -> str:
    """What the policies are worth at the usual tables, alone against three (or as many as there are seats)."""
    rows: list[tuple[Cell, ...]] = []
    for one, kind in in_panel_order(standing):
        if kind == usual_rules(kind.variant.name):
            for form in one.forms:
                duels = [one.best_known(kind, opponent, form) for opponent in OPPONENTS]
                if any(duels):
                    rows.append((name_of(kind), f"`{form}`", *map(alone_text, duels)))
    if not rows:
        return "No policy has been measured yet."
    return table(("game", "policy", *(f"above `{opponent}`" for opponent in OPPONENTS)), rows)


def alone_text(duel: Duel | None) -> Cell:
    """Points of the policy alone, with the deals."""
    return None if duel is None or duel.alone is None else f"{interval(duel.alone)}, {duel.alone.deals:,} deals"


def other_seats(standing: Standing) -> str:
    """What the policies are worth at tables of other sizes."""
    rows: list[tuple[Cell, ...]] = []
    for one, kind in in_panel_order(standing):
        if kind != usual_rules(kind.variant.name):
            duels = [(form, one.best_known(kind, RULES, form)) for form in one.forms]
            rows += [
                (name_of(kind), str(kind.seats), f"`{form}`", alone_text(duel)) for form, duel in duels if duel is not None
            ]
    if not rows:
        return "Not measured yet."
    return table(("game", "seats", "policy", f"above `{RULES}`"), rows)


def search(standing: Standing) -> str:
    """How much better search is than rules of thumb, and those than chance."""
    rows: list[tuple[Cell, ...]] = []
    for variant in VARIANTS:
        of_game = [one for one in standing.tournaments if (one["variant"], one["options"]) == (variant, {})]
        searched = next((one for one in of_game if SEARCH in one["players"]), None)
        if searched is None:
            continue
        found = [searched["table"].get(name, {}).get(RULES) for name in SEARCHERS]
        most = max((one for one in of_game if {RULES, "random"} <= set(one["players"])), key=lambda one: one["deals"])
        chance = Estimate(**most["table"][RULES]["random"])
        texts = [None if one is None else interval(Estimate(**one)) for one in found]
        rows.append(
            (name_of(usual_rules(variant)), f"{searched['deals']:,}", *texts, f"{interval(chance)}, {chance.deals:,} deals")
        )
    return table(
        ("game", "deals", f"`{SEARCH}` above `{RULES}`", "`pimc:20`", "`flat_mc:20`", f"`{RULES}` above `random`"), rows
    )


def panel_tables(standing: Standing) -> str:
    """Everybody against everybody, by game."""
    parts: list[str] = []
    before = None
    for one in standing.tournaments:
        kind = make_rules(game(one["variant"]), one["seats"], one["options"])
        if kind != before:
            parts.append(f"### {kind.variant.title} ({name_of(kind)}), {kind.seats} seats")
            before = kind
        parts.append(f"{one['deals']:,} deals for each pair:\n\n{crosstable(one)}")
    return "\n\n".join(part.strip() for part in parts)


def time_to_strength(standing: Standing) -> str:
    """Minutes of training until a policy was better than the rules of thumb, and than search."""
    rows: list[tuple[Cell, ...]] = []
    for one, kind in in_panel_order(standing):
        if kind == usual_rules(kind.variant.name):
            rows.append(
                (
                    name_of(kind),
                    f"`{one.name}`",
                    *(reached(one, at) for at in (rules_reached(one, kind), search_reached(one, kind))),
                )
            )
    if not rows:
        return "Not measured yet."
    return table(("game", "policy", f"better than `{RULES}`", f"than `{SEARCH}`"), rows)


def reached(one: Published, decisions: int | None) -> Cell:
    """When a policy was so strong."""
    if decisions is None:
        return "not shown"
    minutes = one.minutes(decisions)
    return f"{decisions:,} decisions" + ("" if minutes is None else f", {minutes:.0f} min")


def rules_reached(one: Published, kind: Rules) -> int | None:
    """The first evaluation of the training whose interval above the rules of thumb is clear of zero."""
    at, low = one.curve.get(f"points/{label(kind)}/{RULES}/low", ((), ()))
    return next((int(decisions) for decisions, value in zip(at, low, strict=True) if value > 0), None)


def search_reached(one: Published, kind: Rules) -> int | None:
    """The first milestone whose interval above search is clear of zero, alone against the others, on the most deals."""
    known: dict[int, Estimate] = {}
    for at, duel in one.milestones:
        alone = duel.alone if (duel.kind, duel.opponent) == (kind, SEARCH) else None
        if alone is not None and (at not in known or alone.deals > known[at].deals):
            known[at] = alone
    return next((at for at, alone in known.items() if alone.low > 0), None)


def behaviour_tables(standing: Standing) -> str:
    """What players do among themselves, a table for each game."""
    parts = []
    for kind in dict.fromkeys(one.kind for one in standing.alone):
        of_kind = [one for one in standing.alone if one.kind == kind]
        probes = {name: text for name, text in (MAIN | OF_A_SIZE).items() if any(name in one.probes for one in of_kind)}
        rows = [(f"`{one.player}`", f"{one.deals:,}", *(probe_text(name, one) for name in probes)) for one in of_kind]
        head = (f"{name_of(kind)}, {kind.seats} seats", "deals", *probes.values())
        parts.append(table(head, rows))
    return "\n\n".join(parts) or "Not measured yet."


def probe_text(probe: str, one: Alone) -> Cell:
    """A probe; with a 95 % interval where a deal counts once, and as if each had been played once, so it is wide enough."""
    if probe not in one.probes:
        return None
    value = one.probes[probe]
    text = as_read(probe, value)
    return f"{text} ±{100 * NORMAL_95 * math.sqrt(value * (1 - value) / one.deals):.1f}" if probe == "passed_out" else text


def ablation_tables(standing: Standing) -> str:
    """What each recipe is worth, alone against the base and against the rules of thumb."""
    parts = []
    for file, one in standing.ablations.items():
        kind = make_rules(game(one["variant"]), one["seats"], one["options"])
        rows = []
        for name in one["players"]:
            if name != RULES:
                against = [one["table"][name].get(other) for other in (BASE, RULES)]
                rows.append((f"`{name}`", *(None if cell is None else interval(Estimate(**cell)) for cell in against)))
        for name, other in standing.later.items():
            table_of, _, recipe = name.partition("-")
            if table_of == file:
                rows.append((f"`{recipe}`", None, interval(Estimate(**other["games"][0]["points"]["alone"]))))
        head = (f"{name_of(kind)}, {kind.seats} seats", f"above `{BASE}`", f"above `{RULES}`")
        parts.append(f"{table(head, rows)}\n\n{one['deals']:,} deals of the set `{one['set']}`.")
    return "\n\n".join(parts) or "Not measured yet."
