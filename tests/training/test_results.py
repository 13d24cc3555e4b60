"""Result files of `noms evaluate` and `noms tournament`, read back as figures of one policy."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from noms_env.policy import player as policies
from noms_env.variants import Rules, game, make_rules
from noms_env.version import ENV_VERSION
from training.evaluation.report import FORMAT as EVALUATION
from training.evaluation.tournament import FORMAT as TOURNAMENT
from training.publish.result_files import Names, ResultsError, read_results

KINDS = (make_rules(game("noms")), make_rules(game("nonesuch"), 3))
NOTHING_LOST = {"tables": 0, "why": []}


def estimate(mean: float, margin: float = 0.25) -> dict[str, Any]:
    """An estimate as the files have it."""
    ends = {"low": mean - margin, "high": mean + margin}
    return {"mean": mean, "standard_error": margin / 2, **ends, "deals": 400, "method": "bootstrap"}


def entry(mean: float, kind: Rules = KINDS[0], margin: float = 0.25, **changes: Any) -> dict[str, Any]:
    """A game of `noms evaluate`: what matters of it."""
    return {
        "variant": kind.variant.name,
        "seats": kind.seats,
        "options": {},
        "set": "test",
        "points": {"all": estimate(mean, margin), "alone": estimate(9), "against": estimate(-8)},
        "matches": None,
        "lost": {"a": NOTHING_LOST, "b": NOTHING_LOST},
    } | changes


def evaluation(a: str, b: str, *games: dict[str, Any]) -> dict[str, Any]:
    return {"format": EVALUATION, "environment": ENV_VERSION, "a": a, "b": b, "games": list(games)}


def tournament(ratings: dict[str, float], pairs: dict[tuple[str, str], float], kind: Rules = KINDS[0]) -> dict[str, Any]:
    return {
        "format": TOURNAMENT,
        "environment": ENV_VERSION,
        "players": list(ratings),
        "variant": kind.variant.name,
        "seats": kind.seats,
        "options": {},
        "deals": 400,
        "set": "test",
        "table": {
            one: {other: estimate(ratings[one] - ratings[other]) for other in ratings if other != one} for one in ratings
        },
        "pairs": [{"a": a, "b": b, **estimate(mean), "p_value": 0.5, "p_value_holm": 1.0} for (a, b), mean in pairs.items()],
        "ratings": {name: estimate(mean) for name, mean in ratings.items()},
        "lost": dict.fromkeys(ratings, NOTHING_LOST),
    }


def saved(folder: Path, document: Any, name: str = "result.json") -> Path:
    file = folder / name
    file.write_text(json.dumps(document))
    return file


NAMES = Names("mine", ["runs/first"])

# ------------------------------------------------------------------------------------------------------------- reading


def test_an_evaluation_is_read_from_the_side_of_the_policy(tmp_path: Path) -> None:
    matches = {"fair": 0.25, "a_alone": estimate(0.3), "b_alone": estimate(0.2)}
    lost = {"a": {"tables": 2, "why": ["was slow"]}, "b": NOTHING_LOST}
    games = [entry(1.0, matches=matches), entry(-2.0, KINDS[1], lost=lost)]
    first, second = read_results(saved(tmp_path, evaluation("mine@0", "thumb", *games)), NAMES, KINDS).duels
    assert (first.kind, first.deal_set, first.policy, first.opponent) == (KINDS[0], "test", "mine@0", "thumb")
    assert (first.points.mean, first.points.low, first.points.high, first.points.deals) == (1.0, 0.75, 1.25, 400)
    assert first.wins is not None
    assert (first.wins.mean, first.fair, first.lost.tables) == (0.3, 0.25, 0)
    assert first.alone is not None
    assert first.alone.mean == 9
    assert (second.kind, second.points.mean, second.wins, second.lost.why) == (KINDS[1], -2.0, None, ["was slow"])
    first, second = read_results(saved(tmp_path, evaluation("thumb", "runs/first", *games)), NAMES, KINDS).duels
    assert (first.policy, first.opponent) == ("mine", "thumb")
    assert (first.points.mean, first.points.low, first.points.high) == (-1.0, -1.25, -0.75)
    assert first.wins is not None
    assert (first.wins.mean, second.points.mean, second.lost.tables) == (0.2, 2.0, 0)
    assert first.alone is not None
    assert (first.alone.mean, first.alone.low, first.alone.high) == (8, 7.75, 8.25)


def test_an_evaluation_without_a_line_up_says_nothing_of_it(tmp_path: Path) -> None:
    of_alone = entry(1.0, points={"all": estimate(1), "alone": estimate(1)})
    for a, b, known in (("mine", "thumb", True), ("thumb", "mine", False)):
        (duel,) = read_results(saved(tmp_path, evaluation(a, b, of_alone)), NAMES, KINDS).duels
        assert (duel.alone is not None) == known


def test_a_tournament_is_read_from_the_side_of_the_policy(tmp_path: Path) -> None:
    pairs = {("thumb", "runs/first"): -1.0, ("runs/first", "mine@0"): 0.5, ("thumb", "mine@0"): -0.25}
    document = tournament({"thumb": -2.0, "runs/first": 3.0, "mine@0": 1.0}, pairs)
    document["lost"]["mine@0"] = {"tables": 1, "why": ["failed"]}
    found = read_results(saved(tmp_path, document), NAMES, KINDS)
    (standings,) = found.standings
    assert (standings.kind, standings.deal_set, standings.deals) == (KINDS[0], "test", 400)
    assert [(name, one.mean) for name, one in standings.ratings.items()] == [("mine", 3.0), ("mine@0", 1.0), ("thumb", -2.0)]
    assert [(duel.policy, duel.opponent, duel.points.mean, duel.lost.tables) for duel in standings.duels] == [
        ("mine", "thumb", 1.0, 0),
        ("mine", "mine@0", 0.5, 0),
        ("mine@0", "mine", -0.5, 1),
        ("mine@0", "thumb", 0.25, 1),
    ]
    assert [duel.alone and duel.alone.mean for duel in standings.duels] == [5.0, 2.0, -2.0, 3.0]
    assert [duel.is_against_itself for duel in found.all_duels] == [False, True, True, False]
    assert (found + found).all_duels == found.all_duels * 2


def without(key: str) -> Callable[[dict[str, Any]], object]:
    return lambda document: document.pop(key)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda document: document.update(format="noms-record/1"), "is neither what `noms evaluate --json` writes nor the"),
        (lambda document: document.update(environment=99), "is of version 99 of the environments, not 0"),
        (lambda document: document.update(a="greedy"), "has no figures of mine: its players are greedy, thumb"),
        (
            lambda document: document["games"][0].update(seats=3, variant="down_up"),
            "is of down_up with 3 seats and options for",
        ),
        (lambda document: document["games"][0].update(options={"target": 20}), "for which mine was not trained"),
        (lambda document: document["games"][0].update(seats=9), "is damaged: .*noms is played with 4 seats"),
        (lambda document: document["games"][0]["points"].pop("all"), "is damaged: KeyError"),
        (without("games"), "is damaged: KeyError"),
        (lambda document: document.update(policies=[1]), "is damaged: AttributeError"),
        (without("environment"), "is damaged: KeyError"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, change: Callable[[dict[str, Any]], object], sentence: str) -> None:
    document = evaluation("mine", "thumb", entry(1.0))
    change(document)
    with pytest.raises(ResultsError, match=sentence):
        read_results(saved(tmp_path, document), NAMES, KINDS)


@pytest.mark.parametrize(("text", "sentence"), [("{", "is no JSON"), ("[]", "is neither"), ('"x"', "is neither")])
def test_other_json_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(ResultsError, match=sentence):
        read_results(tmp_path / "x.json", NAMES, KINDS)


def test_two_players_of_one_name_are_refused(tmp_path: Path) -> None:
    document = tournament({"mine": 1.0, "runs/first": -1.0}, {("mine", "runs/first"): 1.0})
    with pytest.raises(ResultsError, match="two players would have the same name"):
        read_results(saved(tmp_path, document), NAMES, KINDS)


# --------------------------------------------------------------------------------------------------------------- names


def test_who_the_policy_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = tmp_path / "runs" / "first"
    for folder in (run, tmp_path / "copy", tmp_path / "other"):
        folder.mkdir(parents=True)
        (folder / "policy.safetensors").write_bytes(b"other" if folder.name == "other" else b"policy")
    names = Names("mine", [run], b"policy")
    own = ["mine", "mine@0", "runs/first", f"{run}@0.5", "runs/first/policy.safetensors", "./copy", "copy/policy.safetensors@0"]
    others = ["thumb", "pimc:20", "other", "runs", "mine@home", "nowhere/policy.safetensors", "noms"]
    assert [name for name in own + others if names.is_own(name)] == own
    assert [names.shown(name) for name in own] == ["mine", "mine@0", "mine", "mine@0.5", "mine", "mine", "mine@0"]
    assert [names.shown(name) for name in others] == others
    assert names.shown(f"{tmp_path}/other") == "other"
    assert names.shown(f"{tmp_path}/other/policy.safetensors@0") == "other@0"
    assert not [name for name in own + others if names.is_outdated(name)]


def test_the_policy_by_the_name_of_its_game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mine" / "policy.safetensors"
    monkeypatch.setattr(policies, "shipped_policies", dict)  # of those that come with the package none has that name
    monkeypatch.setattr(policies, "policy_of_game", lambda variant: file if variant == "noms" else None)
    names = Names("mine", [tmp_path / "mine"])
    assert names.is_own("noms@0")
    assert names.shown("noms@0") == "mine@0"
    assert not names.is_own("nonesuch")


def test_figures_of_an_older_policy_in_the_same_place_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "policy.safetensors").write_bytes(b"old")
    names = Names("mine", [folder], b"new")
    file = saved(tmp_path, evaluation("thumb", str(folder), entry(1.0)))
    with pytest.raises(ResultsError, match=r"has figures of .*mine, but the policy there is another one than that of the run"):
        read_results(file, names, KINDS)
    (folder / "policy.safetensors").write_bytes(b"new")
    assert len(read_results(file, names, KINDS).duels) == 1
