"""The files of `noms evaluate --json` and `noms tournament`, read back as figures of one policy.

found = read_results("result.json", Names("auctions", ["runs/auctions"]), rule_sets)
[(duel.opponent, duel.points.low) for duel in found.duels]
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from noms_env.players import PLAYERS
from noms_env.policy.file import PolicyFileError
from noms_env.policy.player import POLICY_NAME, policy_file_of
from noms_env.variants import Rules, game, make_rules
from noms_env.version import ENV_VERSION
from training.evaluation.comparison import AGAINST, ALONE, Lost
from training.evaluation.report import FORMAT as EVALUATION
from training.evaluation.report import negative
from training.evaluation.statistics import Estimate
from training.evaluation.tournament import FORMAT as TOURNAMENT


class ResultsError(ValueError):
    """A file that holds no figures of the policy; the message says why."""


@dataclass(frozen=True)
class Duel:
    """What a policy was found to be better than another player, on duplicate deals.

    Attributes:
        kind: the rules.
        deal_set: whose deals.
        policy: its name; it may be followed by `@` and a temperature.
        opponent: whom it was measured against.
        points: per deal that the policy is better.
        wins: its part of the matches won, alone against the opponent on all other seats; None where no matches were played.
        fair: the part among equals.
        lost: tables that the policy lost because it failed.
        alone: points per deal of the policy alone above the others, all of them the opponent; None where it is not known.
    """

    kind: Rules
    deal_set: str
    policy: str
    opponent: str
    points: Estimate
    wins: Estimate | None = None
    fair: float = 0.0
    lost: Lost = dataclasses.field(default_factory=Lost)
    alone: Estimate | None = None

    @property
    def is_against_itself(self) -> bool:
        """Whether the opponent is the policy too, at another temperature."""
        return self.policy.partition("@")[0] == self.opponent.partition("@")[0]


@dataclass(frozen=True)
class Standings:
    """The ratings of a tournament.

    Attributes:
        kind: the rules.
        deal_set: whose deals.
        deals: of each pair.
        ratings: points per deal by player, the best first; they sum to zero.
        duels: of the policy, in each of its forms, against all others.
    """

    kind: Rules
    deal_set: str
    deals: int
    ratings: dict[str, Estimate]
    duels: tuple[Duel, ...]


@dataclass(frozen=True)
class Results:
    """What a file holds of a policy.

    Attributes:
        duels: from `noms evaluate`.
        standings: from `noms tournament`.
    """

    duels: tuple[Duel, ...] = ()
    standings: tuple[Standings, ...] = ()

    @property
    def all_duels(self) -> tuple[Duel, ...]:
        """Those of tournaments too."""
        return (*self.duels, *(duel for one in self.standings for duel in one.duels))

    def __add__(self, other: Results) -> Results:
        """Both together."""
        return Results(self.duels + other.duels, self.standings + other.standings)


# --------------------------------------------------------------------------------------------------------------- names


class Names:
    """Tells which players of a file are the policy, and what the players are called."""

    def __init__(self, name: str, places: Iterable[Path | str], content: bytes | None = None) -> None:
        """Know a policy.

        Args:
            name: what it is called.
            places: files and folders where it lies, or lay when it was measured.
            content: of its file: the same content anywhere is the policy too.
        """
        self.name, self._content = name, content
        self._places = {path.resolve() for place in places for path in (Path(place), Path(place) / POLICY_NAME)}

    def is_own(self, player: str) -> bool:
        """Whether a player, as the user wrote it, is the policy."""
        written, _ = _split_temperature(player)
        return self._is_meant(written) or (not _is_player(written) and self._is_copy(_file_of(written)))

    def has(self, sha256: str) -> bool:
        """Whether the policy's file has this SHA-256, as far as its content is known."""
        return self._content is None or hashlib.sha256(self._content).hexdigest() == sha256

    def is_outdated(self, player: str) -> bool:
        """Whether a player goes by the name or the place of the policy, but another policy is there now."""
        written, _ = _split_temperature(player)
        file = _file_of(written)
        return self._is_meant(written) and self._content is not None and file.is_file() and not self._is_copy(file)

    def shown(self, player: str) -> str:
        """What a player is called: the policy by its name, others as they were written, without folders of one machine."""
        written, heat = _split_temperature(player)
        if self.is_own(player):
            return self.name + heat
        file = Path(written)
        if not file.is_absolute():
            return player
        return (file.parent.name if file.name == POLICY_NAME else file.name) + heat

    def _is_meant(self, written: str) -> bool:
        """Whether a player goes by the name or the place of the policy."""
        return written == self.name or (not _is_player(written) and _file_of(written).resolve() in self._places)

    def _is_copy(self, file: Path) -> bool:
        """Whether a file has the content of the policy."""
        if self._content is None:
            return False
        try:
            return file.stat().st_size == len(self._content) and file.read_bytes() == self._content
        except OSError:
            return False


def _split_temperature(player: str) -> tuple[str, str]:
    """`file@0.5` as `file` and `@0.5`."""
    file, sign, text = player.rpartition("@")
    try:
        float(text)
    except ValueError:
        return player, ""
    return (file, sign + text) if sign else (player, "")


def _is_player(written: str) -> bool:
    """Whether it is a player of the registry, such as `pimc:100`."""
    return written.partition(":")[0] in PLAYERS


def _file_of(written: str) -> Path:
    """The file of a policy, which need not be there any more."""
    try:
        return policy_file_of(written)
    except PolicyFileError:
        return Path(written)


# ------------------------------------------------------------------------------------------------------------- reading


def read_results(path: Path | str, names: Names, rule_sets: Sequence[Rules]) -> Results:
    """Read a file.

    Args:
        path: what `noms evaluate --json` or `noms tournament` (`results.json`) has written.
        names: tells who the policy is.
        rule_sets: the rules that it was trained for.

    Raises:
        OSError: the file cannot be read.
        ResultsError: it holds no figures of the policy, or damaged ones.
    """
    try:
        document = json.loads(Path(path).read_bytes())
    except (ValueError, RecursionError) as error:
        raise ResultsError(f"{path} is no JSON: {error}") from error
    format_ = document.get("format") if isinstance(document, dict) else None
    if format_ not in (EVALUATION, TOURNAMENT):
        raise ResultsError(f"{path} is neither what `noms evaluate --json` writes nor the results.json of `noms tournament`")
    try:
        if document["environment"] != ENV_VERSION:
            raise ResultsError(f"{path} is of version {document['environment']!r} of the environments, not {ENV_VERSION}")
        players = [document["a"], document["b"]] if format_ == EVALUATION else document["players"]
        if not any(names.is_own(player) for player in players):
            raise ResultsError(f"{path} has no figures of {names.name}: its players are {', '.join(players)}")
        for player, sha256 in document.get("policies", {}).items():
            if names.is_own(player) and not names.has(sha256):
                raise ResultsError(
                    f"{path} has figures of {player}, but of another policy than this one: its file had SHA-256 {sha256}"
                )
        for player in filter(names.is_outdated, players):
            raise ResultsError(f"{path} has figures of {player}, but the policy there is another one than that of the run")
        found = _evaluation(document, names) if format_ == EVALUATION else _tournament(document, names)
    except ResultsError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise ResultsError(f"{path} is damaged: {error!r}") from error
    for duel in found.all_duels:
        if duel.kind not in rule_sets:
            raise ResultsError(
                f"{path} is of {duel.kind.variant.name} with {duel.kind.seats} seats and options for which {names.name} was "
                "not trained"
            )
    return found


def _evaluation(document: Mapping[str, Any], names: Names) -> Results:
    """The figures of `noms evaluate`, from the policy's point of view, also where it was B."""
    players = (document["a"], document["b"])
    side = 0 if names.is_own(players[0]) else 1
    policy, opponent = names.shown(players[side]), names.shown(players[1 - side])
    duels = []
    for entry in document["games"]:
        points = _estimate(entry["points"]["all"])
        of_alone = entry["points"].get(AGAINST if side else ALONE)
        alone = None if of_alone is None else _estimate(of_alone)
        matches = entry["matches"]
        wins = None if matches is None else _estimate(matches[("a_alone", "b_alone")[side]])
        duels.append(
            Duel(
                _kind(entry),
                entry["set"],
                policy,
                opponent,
                negative(points) if side else points,
                wins,
                0.0 if matches is None else float(matches["fair"]),
                Lost(**entry["lost"]["ab"[side]]),
                negative(alone) if side and alone is not None else alone,
            )
        )
    return Results(duels=tuple(duels))


def _tournament(document: Mapping[str, Any], names: Names) -> Results:
    """The figures of `noms tournament`."""
    ratings = {names.shown(player): _estimate(one) for player, one in document["ratings"].items()}
    if len(ratings) < len(document["players"]):
        raise ValueError("two players would have the same name")
    order = sorted(ratings, key=lambda player: (-ratings[player].mean, player))
    standings = Standings(
        _kind(document),
        document["set"],
        int(document["deals"]),
        {player: ratings[player] for player in order},
        tuple(_tournament_duels(document, names)),
    )
    return Results(standings=(standings,))


def _tournament_duels(document: Mapping[str, Any], names: Names) -> Iterator[Duel]:
    """Each pair in which the policy is, from its point of view; from both where it plays itself at another temperature."""
    kind = _kind(document)
    for pair in document["pairs"]:
        for policy, opponent, points in (
            (pair["a"], pair["b"], _estimate(pair)),
            (pair["b"], pair["a"], negative(_estimate(pair))),
        ):
            if names.is_own(policy):
                lost, alone = Lost(**document["lost"][policy]), _estimate(document["table"][policy][opponent])
                shown = names.shown(policy), names.shown(opponent)
                yield Duel(kind, document["set"], *shown, points, lost=lost, alone=alone)


def _kind(entry: Mapping[str, Any]) -> Rules:
    """The rules of an entry."""
    return make_rules(game(entry["variant"]), entry["seats"], entry["options"])


def _estimate(values: Mapping[str, Any]) -> Estimate:
    """An estimate from plain values."""
    return Estimate(**{field.name: values[field.name] for field in dataclasses.fields(Estimate)})
