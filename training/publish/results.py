"""What a folder of published policies holds: the policies, and the results of measuring them and other players.

FOLDER/NAME/              a policy, as `noms publish` makes it
FOLDER/panel/*.json       `noms evaluate --json` and results.json of `noms tournament`: how strong players are
FOLDER/behaviour/*.json   `noms evaluate NAME NAME --json`: what a player does at tables with itself alone
FOLDER/exploit/*.json     `noms exploit NAME --variant GAME --json`: what a best response gains against a player
FOLDER/crossplay/*.json   `noms crossplay --json`: what policies of independent runs lose at one table
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from noms_env._files import read_file
from noms_env._json import parse_json
from noms_env.players import PLAYERS
from noms_env.players.registry import FIRST, versioned
from noms_env.policy.file import PolicyFileError
from noms_env.policy.player import POLICY_NAME
from noms_env.variants import VARIANTS, Rules, game, make_rules
from noms_env.version import ENV_VERSION

from ..evaluation.cross_play import FORMAT as CROSS_PLAY
from ..evaluation.duplicate import AGAINST, ALONE, unit_of
from ..evaluation.report import EXPLOIT
from ..evaluation.report import FORMAT as EVALUATION
from ..evaluation.statistics import Estimate
from ..evaluation.tournament import FORMAT as TOURNAMENT
from .runs import Trained, read_trained

PANEL, BEHAVIOUR, BEST_RESPONSES, CROSSED = "panel", "behaviour", "exploit", "crossplay"
REFERENCE = "thumb:1"
"""What the policies are measured by; results that do not say a version are of this one."""
"""The player with which the others are compared."""
PREVIOUS = "previous"
"""A folder with the policies that were published before, as results name it: `previous/noms@0`."""
RESERVED = (PANEL, BEHAVIOUR, BEST_RESPONSES, CROSSED, PREVIOUS)
"""What no policy can be called."""


class ResultsError(ValueError):
    """A folder with results that cannot be used; the message says why."""


@dataclass(frozen=True)
class Duel:
    """A policy against another player on duplicate deals.

    Attributes:
        rules: of the tables.
        deal_set: the set of deals.
        policy: its name; `@` and a temperature may follow.
        opponent: the other player; `PREVIOUS` for a policy that was published before.
        points: points per deal that the policy is better, over all line-ups.
        alone: points per deal of the policy alone above the opponent on all other seats; None if not played.
        first: as `alone`, in first deals only, where a deal can be passed out.
        wins: share of matches that the policy wins alone; None if none were played.
        fair: the share among equals.
    """

    rules: Rules
    deal_set: str
    policy: str
    opponent: str
    points: Estimate
    alone: Estimate | None = None
    first: Estimate | None = None
    wins: Estimate | None = None
    fair: float = 0.0


@dataclass(frozen=True)
class Behaviour:
    """What a player does at tables with nobody else: statistics by name (`noms_training.evaluation.behaviour_stats`)."""

    player: str
    rules: Rules
    deals: int
    stats: Mapping[str, float]


@dataclass(frozen=True)
class BestResponse:
    """What PPO has learnt to gain against a player, alone among copies of it.

    Attributes:
        player: against whom.
        rules: of the tables.
        initial_policy: from which it began; empty for an imitation of the player.
        budget: decisions.
        gain: points per deal above the player, on deals that it never saw: a lower bound.
        initial_gain: the same of the policy from which it began; None for an imitation of the player, and where not measured.
        curve: (decisions, mean, low, high) of each evaluation of the run, on other deals; empty where it was not kept.
    """

    player: str
    rules: Rules
    initial_policy: str
    budget: int
    gain: Estimate
    initial_gain: Estimate | None
    curve: tuple[tuple[float, float, float, float], ...] = ()


@dataclass(frozen=True)
class Crossed:
    """What policies of independent runs lose at one table.

    Attributes:
        players: the policies.
        rules: of the tables.
        losses: by kind of table (`alone`, `mixed`): points per deal that a seat loses against tables of one policy alone, the
            mean over all pairs.
    """

    players: tuple[str, ...]
    rules: Rules
    losses: Mapping[str, Estimate]


@dataclass(frozen=True)
class Results:
    """What a folder holds.

    Attributes:
        policies: by name.
        duels: of each policy.
        tournaments: documents of the panel, by game and seats, most players first.
        behaviour: by game and seats, policies first.
        best_responses: by game and seats, policies first.
        crossed: by game and seats.
    """

    policies: dict[str, Trained]
    duels: dict[str, list[Duel]]
    tournaments: list[dict[str, Any]]
    behaviour: list[Behaviour]
    best_responses: list[BestResponse]
    crossed: list[Crossed]


def rules_of(entry: Mapping[str, Any]) -> Rules:
    """The rules of a game in a document."""
    return make_rules(game(entry["variant"]), entry["seats"], entry["options"])


def read_results(folder: Path, new: Mapping[str, Trained] | None = None) -> Results:
    """Read a folder.

    Args:
        folder: of published policies.
        new: policies about to be written there, by name.

    Raises:
        OSError: a file cannot be read.
        ResultsError: a file is damaged, of another kind or version, or of an older policy of the same name.
    """
    try:
        old = {path.parent.name: path.parent for path in sorted(folder.glob(f"*/{POLICY_NAME}"))}
        policies = {name: read_trained(place) for name, place in old.items() if name not in (new or {})} | dict(new or {})
    except (PolicyFileError, ValueError) as error:
        raise ResultsError(str(error)) from error
    policies = dict(sorted(policies.items()))
    duels: dict[str, list[Duel]] = {name: [] for name in policies}
    tournaments, behaviour = list[dict[str, Any]](), list[Behaviour]()
    for path, document in _documents(folder / PANEL):
        if document["format"] == TOURNAMENT:
            tournaments.append(document)
        with _damage(path):
            for name, duel in _duels(path, document, policies):
                duels[name].append(duel)
    for path, document in _documents(folder / BEHAVIOUR):
        with _damage(path):
            behaviour += _behaviour(path, document, policies)
    best_responses = list[BestResponse]()
    for path, document in _documents(folder / BEST_RESPONSES, (EXPLOIT,), "from `noms exploit --variant --json`"):
        with _damage(path):
            best_responses += _best_responses(path, document, policies)
    crossed = list[Crossed]()
    for path, document in _documents(folder / CROSSED, (CROSS_PLAY,), "from `noms crossplay --json`"):
        with _damage(path):
            crossed.append(_crossed(path, document, policies))
    tournaments.sort(key=lambda one: (*place_of(rules_of(one)), str(one["options"]), -len(one["players"]), one["deals"]))
    for found in (behaviour, best_responses):
        found.sort(key=lambda one: (*place_of(one.rules), one.player.partition(":")[0] in PLAYERS))
    crossed.sort(key=lambda one: (*place_of(one.rules), one.players))
    return Results(policies, duels, tournaments, behaviour, best_responses, crossed)


def place_of(rules: Rules) -> tuple[int, int]:
    """The place of rules in a table: by game, then seats."""
    return VARIANTS.index(rules.variant.name), rules.seats


def _documents(
    folder: Path,
    formats: tuple[str, ...] = (EVALUATION, TOURNAMENT),
    source: str = "from `noms evaluate --json` or results.json of `noms tournament`",
) -> Iterator[tuple[Path, dict[str, Any]]]:
    for path in sorted(folder.glob("*.json")):
        try:
            found = parse_json(read_file(path))
        except ValueError as error:
            raise ResultsError(f"{path} is damaged: {error}") from error
        if not isinstance(found, dict) or found.get("format") not in formats:
            raise ResultsError(f"{path} is not {source}")
        if found.get("environment") != ENV_VERSION:
            raise ResultsError(f"{path} is of version {found.get('environment')!r} of the environments, not {ENV_VERSION}")
        with _damage(path):
            for entry in found.get("games", [found]):
                if {"unit": entry.get("unit")} != {"unit": None} | unit_of(rules_of(entry)):
                    raise ResultsError(f"{path} counts a deal of {entry['variant']} that is passed out as 0: measure it again")
        yield path, _with_versions(found, found.get("thumb_version", FIRST))


def _with_versions(found: Any, version: int) -> Any:
    """A document in which `thumb` has the number of its rules, wherever it stands."""
    if isinstance(found, dict):
        return {versioned(name, version): _with_versions(value, version) for name, value in found.items()}
    if isinstance(found, list):
        return [_with_versions(value, version) for value in found]
    return versioned(found, version) if isinstance(found, str) else found


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    """Say which file lacks something."""
    try:
        yield
    except ResultsError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise ResultsError(f"{path} is damaged: {error!r}") from error


def _policy_of(player: str, path: Path, document: Mapping[str, Any], policies: Mapping[str, Trained]) -> str | None:
    """The policy that a player of a document is; None if it is another player."""
    sha256, written = document.get("policies", {}).get(player), player.partition("@")[0]
    for name, policy in policies.items():
        if sha256 == policy.sha256:
            return name
        if written in (name, str(path.parent.parent / name)):
            raise ResultsError(f"{path} has figures of another policy than the one that is called {name} now: measure it again")
    return None


def _shown(player: str, name: str | None) -> str:
    """A player as the pages name it: a policy by its name there, with its temperature."""
    return player if name is None else name + player[len(player.partition("@")[0]) :]


def _duels(path: Path, document: Mapping[str, Any], policies: Mapping[str, Trained]) -> Iterator[tuple[str, Duel]]:
    """The comparisons in a document, from the side of each policy in it."""
    players = [document["a"], document["b"]] if document["format"] == EVALUATION else document["players"]
    names = {player: _policy_of(player, path, document, policies) for player in players}
    shown = {player: _shown(player, name) for player, name in names.items()}
    shown |= {player: PREVIOUS for player in players if Path(player).parts[0] == PREVIOUS}
    read = _of_evaluation if document["format"] == EVALUATION else _of_tournament
    for policy, opponent, entry, figures in read(document):
        name = names[policy]
        if name is not None:
            rules = rules_of(entry)
            if rules not in policies[name].info.rule_sets:
                where = f"{rules.variant.name} with {rules.seats} seats and options"
                raise ResultsError(f"{path} is of {where} for which {name} was not trained")
            yield name, Duel(rules, entry["set"], shown[policy], shown[opponent], **figures)


Figures = Iterator[tuple[str, str, Mapping[str, Any], dict[str, Any]]]
"""Player, opponent, the entry with the rules, and the other attributes of `Duel`."""


def _of_evaluation(document: Mapping[str, Any]) -> Figures:
    for entry in document["games"]:
        estimates = {name: Estimate(**entry["points"][name]) for name in ("all", ALONE, AGAINST) if name in entry["points"]}
        mirrored = {name: -one for name, one in estimates.items()}
        for side, points, alone in (("a", estimates, ALONE), ("b", mirrored, AGAINST)):
            first = entry.get("first_deals", {}).get(alone)
            figures: dict[str, Any] = {"points": points["all"], "alone": points.get(alone)}
            if first is not None:
                figures["first"] = Estimate(**first) if side == "a" else -Estimate(**first)
            if entry["matches"] is not None:
                figures |= {"wins": Estimate(**entry["matches"][f"{side}_alone"]), "fair": float(entry["matches"]["fair"])}
            yield document[side], document["b" if side == "a" else "a"], entry, figures


def _of_tournament(document: Mapping[str, Any]) -> Figures:
    for pair in document["pairs"]:
        one = Estimate(**{name: pair[name] for name in Estimate.__dataclass_fields__})
        for player, opponent, points in ((pair["a"], pair["b"], one), (pair["b"], pair["a"], -one)):
            yield player, opponent, document, {"points": points, "alone": Estimate(**document["table"][player][opponent])}


def _best_responses(path: Path, document: Mapping[str, Any], policies: Mapping[str, Trained]) -> Iterator[BestResponse]:
    """What was gained against a player, in each game."""
    player = document["player"]
    shown = _shown(player, _policy_of(player, path, document, policies))
    for entry in document["games"]:
        initial = Estimate(**entry["initial_gain"]) if entry.get("initial_gain") else None
        gain, start = Estimate(**entry["gain"]), entry["initial_policy"]
        curve = tuple((at, mean, low, high) for at, mean, low, high in entry.get("curve", ()))
        yield BestResponse(shown, rules_of(entry), start, int(entry["budget"]), gain, initial, curve)


def _crossed(path: Path, document: Mapping[str, Any], policies: Mapping[str, Trained]) -> Crossed:
    """What the players of a document lose at one table."""
    players = tuple(_shown(player, _policy_of(player, path, document, policies)) for player in document["players"])
    losses = {kind: Estimate(**found["loss"]) for kind, found in document["tables"].items()}
    return Crossed(players, rules_of(document), losses)


def _behaviour(path: Path, document: Mapping[str, Any], policies: Mapping[str, Trained]) -> Iterator[Behaviour]:
    """What a player did at tables with itself alone, in each game."""
    player = document["a"]
    if player != document["b"]:
        raise ResultsError(f"{path} must be of a player against itself, not of {player} against {document['b']}")
    shown = _shown(player, _policy_of(player, path, document, policies))
    for entry in document["games"]:
        yield Behaviour(shown, rules_of(entry), int(entry["deals"]), dict(entry["probes"]["a"]))
