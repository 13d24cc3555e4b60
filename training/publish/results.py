"""Content of a folder of published policies: the policies, and results of them and of other players.

FOLDER/NAME/              a policy, as `noms publish` makes it
FOLDER/panel/*.json       `noms evaluate --json` and results.json of `noms tournament`: strength of players
FOLDER/behaviour/*.json   `noms evaluate NAME NAME --json`: behaviour of a player in self-play
FOLDER/exploit/*.json     `noms exploit NAME --variant GAME --json`: gain of a best response against a player
FOLDER/crossplay/*.json   `noms crossplay --json`: loss of policies of independent runs at one table
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from noms_env._files import read_file
from noms_env._json import parse_json
from noms_env.players import PLAYERS
from noms_env.players.registry import FIRST, add_thumb_version
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
"""The player that others are compared with."""
PREVIOUS = "previous"
"""Folder of the policies published before, as results name it: `previous/noms@0`."""
RESERVED = (PANEL, BEHAVIOUR, BEST_RESPONSES, CROSSED, PREVIOUS)
"""Names that no policy may have."""


class ResultsError(ValueError):
    """A folder's results cannot be used; the message says why."""


@dataclass(frozen=True)
class Duel:
    """A policy against another player on duplicate deals.

    Attributes:
        policy: its name; `@` and a temperature may follow.
        opponent: the other player; `PREVIOUS` for a policy that was published before.
        points: points per deal by which the policy is better, over all line-ups.
        alone: points per deal of the policy alone above the opponent on all other seats; None if not played.
        first: as `alone`, in first deals only, if a deal can be passed out.
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
    """A player's behaviour in self-play: statistics by name (`noms_training.evaluation.behaviour_stats`)."""

    player: str
    rules: Rules
    deals: int
    stats: Mapping[str, float]


@dataclass(frozen=True)
class BestResponse:
    """Gain of a best response trained with PPO against a player, alone among copies of it.

    `initial_policy` is "" if training started from an imitation of the player. `budget` counts decisions. `gain` and
    `initial_gain` are points per deal above the player on held-out deals, lower bounds; `initial_gain` is None if not measured.
    `curve` has the decisions, mean, low and high of each evaluation of the run, on other deals; empty if it was not saved.
    """

    player: str
    rules: Rules
    initial_policy: str
    budget: int
    gain: Estimate
    initial_gain: Estimate | None
    curve: tuple[tuple[float, float, float, float], ...] = ()


@dataclass(frozen=True)
class CrossPlay:
    """Cross-play losses of policies of independent runs, by kind of table (`alone`, `mixed`).

    A loss is the points per deal that a seat loses against tables of one policy alone, the mean over all pairs.
    """

    players: tuple[str, ...]
    rules: Rules
    losses: Mapping[str, Estimate]


@dataclass(frozen=True)
class Results:
    """Content of a folder: policies and duels by policy; lists by game and seats, then policies first.

    `tournaments` are documents of the panel, the ones with most players first.
    """

    policies: dict[str, Trained]
    duels: dict[str, list[Duel]]
    tournaments: list[dict[str, Any]]
    behaviour: list[Behaviour]
    best_responses: list[BestResponse]
    crossed: list[CrossPlay]


def rules_of(entry: Mapping[str, Any]) -> Rules:
    """Return the rules of a game in a document."""
    return make_rules(game(entry["variant"]), entry["seats"], entry["options"])


def place_of(rules: Rules) -> tuple[int, int]:
    """Return the sort key of rules in tables: game, then seats."""
    return VARIANTS.index(rules.variant.name), rules.seats


def read_results(folder: Path, new: Mapping[str, Trained] | None = None) -> Results:
    """Read a folder of published policies and results.

    Args:
        folder: of published policies.
        new: policies to be written there, by name.

    Raises:
        OSError: a file cannot be read.
        ResultsError: a file is damaged, of another kind or version, or of an older policy of the same name.
    """
    try:
        policies = {
            path.parent.name: read_trained(path.parent)
            for path in folder.glob(f"*/{POLICY_NAME}")
            if path.parent.name not in (new or {})
        }
    except ValueError as error:
        raise ResultsError(str(error)) from error
    policies = dict(sorted((policies | dict(new or {})).items()))
    parts: dict[str, list[Any]] = {part: [] for part in READERS}
    for part, (formats, source, read) in READERS.items():
        for path in sorted((folder / part).glob("*.json")):
            try:
                parts[part] += read(Document(path, formats, source, policies))
            except ResultsError:
                raise
            except (LookupError, TypeError, ValueError, AttributeError) as error:
                raise ResultsError(f"{path} is damaged: {error!r}") from error
    tournaments = [document for document in parts[PANEL] if isinstance(document, dict)]
    tournaments.sort(key=lambda text: (*place_of(rules_of(text)), str(text["options"]), -len(text["players"]), text["deals"]))
    for part in (BEHAVIOUR, BEST_RESPONSES):
        parts[part].sort(key=lambda document: (*place_of(document.rules), document.player.partition(":")[0] in PLAYERS))
    parts[CROSSED].sort(key=lambda document: (*place_of(document.rules), document.players))
    duels = {
        name: [document[1] for document in parts[PANEL] if isinstance(document, tuple) and document[0] == name]
        for name in policies
    }
    return Results(policies, duels, tournaments, parts[BEHAVIOUR], parts[BEST_RESPONSES], parts[CROSSED])


class Document:
    """A file of results.

    Attributes:
        values: its content; every `thumb` has its version.
        policies: of the folder, by name.
    """

    def __init__(self, path: Path, formats: tuple[str, ...], source: str, policies: Mapping[str, Trained]) -> None:
        self._path, self.policies = path, policies
        try:
            values = parse_json(read_file(path))
        except ValueError as error:
            raise ResultsError(f"{path} is damaged: {error}") from error
        if not isinstance(values, dict) or values.get("format") not in formats:
            raise ResultsError(f"{path} is not {source}")
        if values.get("environment") != ENV_VERSION:
            raise ResultsError(f"{path} is of version {values.get('environment')!r} of the environments, not {ENV_VERSION}")
        for entry in values.get("games", [values]):
            if "variant" not in entry:
                raise ResultsError(f"{path} is not {source}")
            if {"unit": entry.get("unit")} != {"unit": None} | unit_of(rules_of(entry)):
                raise self.error(f"counts a deal of {entry['variant']} that is passed out as 0: measure it again")
        self.values: dict[str, Any] = _add_versions(values, values.get("thumb_version", FIRST))

    def error(self, sentence: str) -> ResultsError:
        """Return an error that begins with the path."""
        return ResultsError(f"{self._path} {sentence}")

    def policy_of(self, player: str) -> str | None:
        """Return the policy name of a player, None for other players; ResultsError for an older policy of that name."""
        sha256, stem = self.values.get("policies", {}).get(player), player.partition("@")[0]
        for name, policy in self.policies.items():
            if sha256 == policy.sha256:
                return name
            if stem in (name, str(self._path.parent.parent / name)):
                raise self.error(f"has figures of another policy than the one that is called {name} now: measure it again")
        return None

    def shown(self, player: str) -> str:
        """Return a player's name on the pages: a policy under its name there, with its temperature."""
        name = self.policy_of(player)
        return player if name is None else name + player[len(player.partition("@")[0]) :]


def _add_versions(value: Any, version: int) -> Any:
    """Return a copy of a document in which every `thumb` has its version."""
    if isinstance(value, dict):
        return {add_thumb_version(name, version): _add_versions(part, version) for name, part in value.items()}
    if isinstance(value, list):
        return [_add_versions(part, version) for part in value]
    return add_thumb_version(value, version) if isinstance(value, str) else value


def _panel(document: Document) -> Iterator[tuple[str, Duel] | dict[str, Any]]:
    """Yield the duels of a document, from the side of each policy; yield a tournament itself first."""
    values = document.values
    if values["format"] == TOURNAMENT:
        yield values
    for policy, opponent, entry, figures in (_of_tournament if values["format"] == TOURNAMENT else _of_evaluation)(values):
        name, rules = document.policy_of(policy), rules_of(entry)
        against = PREVIOUS if Path(opponent).parts[0] == PREVIOUS else document.shown(opponent)
        if name is not None:
            if rules not in document.policies[name].info.playable:
                where = f"{rules.variant.name} with {rules.seats} seats and options"
                raise document.error(f"is of {where} for which {name} was not trained")
            yield name, Duel(rules, entry["set"], document.shown(policy), against, **figures)


Figures = Iterator[tuple[str, str, Mapping[str, Any], dict[str, Any]]]
"""Player, opponent, the entry with the rules, and the other attributes of `Duel`."""


def _of_evaluation(values: Mapping[str, Any]) -> Figures:
    for entry in values["games"]:
        for side, other, alone, sign in (("a", "b", ALONE, 1), ("b", "a", AGAINST, -1)):
            figures: dict[str, Any] = {
                "points": _estimate(entry["points"].get("all"), sign),
                "alone": _estimate(entry["points"].get(alone), sign),
                "first": _estimate(entry.get("first_deals", {}).get(alone), sign),
            }
            if entry["matches"] is not None:
                figures |= {"wins": Estimate(**entry["matches"][f"{side}_alone"]), "fair": float(entry["matches"]["fair"])}
            yield values[side], values[other], entry, figures


def _of_tournament(values: Mapping[str, Any]) -> Figures:
    for pair in values["pairs"]:
        figures = {name: pair[name] for name in Estimate.__dataclass_fields__}
        for player, opponent, sign in ((pair["a"], pair["b"], 1), (pair["b"], pair["a"], -1)):
            alone = Estimate(**values["table"][player][opponent])
            yield player, opponent, values, {"points": _estimate(figures, sign), "alone": alone}


def _estimate(figures: Mapping[str, Any] | None, sign: int = 1) -> Estimate | None:
    """Return an estimate from JSON, negated if `sign` is -1; None stays None."""
    return None if figures is None else Estimate(**figures) if sign == 1 else -Estimate(**figures)


def _best_responses(document: Document) -> Iterator[BestResponse]:
    player = document.shown(document.values["player"])
    for entry in document.values["games"]:
        curve = tuple((at, mean, low, high) for at, mean, low, high in entry.get("curve", ()))
        gains = Estimate(**entry["gain"]), _estimate(entry.get("initial_gain"))
        yield BestResponse(player, rules_of(entry), entry["initial_policy"], int(entry["budget"]), *gains, curve)


def _read_cross_play(document: Document) -> Iterator[CrossPlay]:
    values = document.values
    losses = {kind: Estimate(**tables["loss"]) for kind, tables in values["tables"].items()}
    yield CrossPlay(tuple(map(document.shown, values["players"])), rules_of(values), losses)


def _behaviour(document: Document) -> Iterator[Behaviour]:
    player, other = document.values["a"], document.values["b"]
    if player != other:
        raise document.error(f"must be of a player against itself, not of {player} against {other}")
    for entry in document.values["games"]:
        yield Behaviour(document.shown(player), rules_of(entry), int(entry["deals"]), dict(entry["probes"]["a"]))


READERS: dict[str, tuple[tuple[str, ...], str, Callable[[Document], Iterator[Any]]]] = {
    PANEL: (
        (EVALUATION, TOURNAMENT),
        "from `noms evaluate --json` or results.json of `noms tournament`",
        _panel,
    ),
    BEHAVIOUR: ((EVALUATION,), "from `noms evaluate --json`", _behaviour),
    BEST_RESPONSES: ((EXPLOIT,), "from `noms exploit --variant --json`", _best_responses),
    CROSSED: ((CROSS_PLAY,), "from `noms crossplay --json`", _read_cross_play),
}
"""By folder: file formats, their source in words, and the reader."""
