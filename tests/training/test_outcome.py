"""What a run came to, as its folder tells it; and the command that starts the same run again."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import tyro

from noms_env.policy.encoding import make_encoding
from noms_env.policy.file import PolicyFileError, PolicyInfo, save_policy
from tests.policy.test_player import make_actor, tensors_of
from training.agents.table_pool import make_rule_sets
from training.commands.train import command
from training.config import PRESETS, CurriculumConfig, LeagueConfig, NetworkConfig, TrainConfig
from training.learn.log import Log
from training.learn.network import Actor
from training.options import parse_options
from training.publish import run_summary
from training.publish.plots import SMOOTHED
from training.publish.run_summary import (
    BEGUN,
    OutcomeError,
    chained,
    learns_from,
    machine_paths,
    nearest_preset,
    policies_at_tables,
    read_outcome,
    train_command,
    with_policies_at,
)

CHECKPOINTS = Path(__file__).parents[2] / "checkpoints"
NETWORK = {"width": 5, "blocks": 1, "card_width": 2}
CONFIG = TrainConfig(
    ("nonesuch", "down_up"), seats=(3, 4), decisions=4000, evaluation_deals=64, network=NetworkConfig(**NETWORK), seed=3
)
KEPT, DONE = 2000, 3000
"""Decisions after which the policy was kept, and those of the run so far."""
POINTS = {  # against random and thumb, in evaluations after KEPT decisions: mean, low, high
    "nonesuch_3": ((1.5, 1.0, 2.0), (0.5, 0.25, 0.75)),
    "nonesuch_4": ((2.0, 1.5, 2.5), (0.1, -0.2, 0.4)),
    "down_up_3": ((3.0, 2.5, 3.5), (-1.0, -1.5, -0.5)),
    "down_up_4": ((4.0, 3.5, 4.5), (0.0, -0.5, 0.5)),
}


def evaluation(shift: float = 0.0) -> dict[str, float]:
    """The figures of an evaluation of a run."""
    found = {"score/policy": 0.5 + shift, "score/average": 0.25}
    for kind, estimates in POINTS.items():
        for opponent, (mean, low, high) in zip(("random", "thumb"), estimates, strict=True):
            figure = f"points/{kind}/{opponent}"
            found |= {figure: mean + shift, f"{figure}/low": low + shift, f"{figure}/high": high + shift}
            found |= {f"average/{figure}": mean + 0.125, f"greedy/{figure}": mean - 0.125}
    for kind, probe in (("nonesuch_3", "call/none"), ("nonesuch_4", "call/none"), ("down_up_3", "bid/hit")):
        found[f"probe/{kind}/{probe}"] = 0.375 + shift
    return found


def actor_of(info: PolicyInfo) -> Actor:
    """A network that fits."""
    return make_actor(info.rule_sets, info.network, 0, make_encoding(info.rule_sets, info.card_features, info.rule_based_prior))


def make_run(folder: Path, config: TrainConfig = CONFIG, **changes: Any) -> Path:
    """The folder of a run, without what only training needs."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config.as_dict()))
    rule_sets = tuple(make_rule_sets(config.variants, config.seats, parse_options(config.option)))
    usual = {
        "training": json.loads(json.dumps(config.as_dict())),
        "seed": config.seed,
        "decisions": KEPT,
        "score": 0.5,
        "packages": {"noms-env": "1.2", "numpy": "3.4"},
        "revision": "v1-2-gabc",
    }
    sees = {"card_features": config.counts, "rule_based_prior": config.hints}
    info = PolicyInfo(rule_sets, dataclasses.asdict(config.network), **usual | sees | changes)
    save_policy(folder / "policy.safetensors", tensors_of(actor_of(info)), info)
    with Log(folder, events=False) as log:
        log.started(0, config.decisions)
        for decisions in range(10, DONE + 1, 10):
            log.iteration(decisions, {"entropy/play": 1 / decisions, "epochs": 3.0, "kl": 0.01, "played/x/y": 0.5})
            if decisions % 1000 == 0:
                log.evaluation(decisions, evaluation((decisions - KEPT) / 1000))
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("outcome") / "run")


# ------------------------------------------------------------------------------------------------------------- reading


def test_what_a_folder_tells(folder: Path) -> None:
    found = read_outcome(folder)
    assert (found.config, found.budget, found.decisions) == (CONFIG, 4000, DONE)
    assert found.content == (folder / "policy.safetensors").read_bytes()
    assert found.parameters == sum(tensor.size for tensor in tensors_of(actor_of(found.info)).values())
    assert found.iterations == KEPT / 10
    until, whole = found.seconds(KEPT), found.seconds(DONE)
    assert until is not None
    assert whole is not None
    assert 0 < until < whole


def test_the_evaluation_is_that_in_which_the_policy_was_kept(folder: Path) -> None:
    found = read_outcome(folder)
    assert found.evaluation() == pytest.approx(evaluation())
    assert not found.is_average
    assert dataclasses.replace(found, info=dataclasses.replace(found.info, decisions=10)).evaluation() == {}
    earlier = dataclasses.replace(found, info=dataclasses.replace(found.info, decisions=1000))
    assert earlier.evaluation()["score/policy"] == -0.5
    assert earlier.is_average


def test_the_curve_is_all_of_the_evaluations_and_little_of_the_iterations(folder: Path) -> None:
    curve = read_outcome(folder).curve()
    assert list(curve) == sorted(curve)
    assert set(curve) == {*evaluation(), "entropy/play", "kl", "seconds"}
    assert curve["points/down_up_4/thumb"][0].tolist() == [1000, 2000, 3000]
    at, values = curve["entropy/play"]
    assert len(at) == len(values) == SMOOTHED
    assert np.issubdtype(at.dtype, np.integer)


def test_a_run_that_was_extended(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    longer = dataclasses.replace(CONFIG, decisions=9000)
    (folder / "config.json").write_text(json.dumps(longer.as_dict()))
    found = read_outcome(folder)
    assert (found.config.decisions, found.budget) == (4000, 9000)


def test_runs_one_after_the_other(tmp_path: Path) -> None:
    first, other = make_run(tmp_path / "first"), make_run(tmp_path / "other", dataclasses.replace(CONFIG, seats=(3,)))
    second = make_run(tmp_path / "second", dataclasses.replace(CONFIG, initial="runs/first"))
    found = read_outcome(second, [first])
    assert [run.info.decisions for run in found.runs] == [KEPT, KEPT]
    assert (found.seen, read_outcome(second).seen) == (2 * KEPT, KEPT)
    curve = found.curve()
    assert list(curve) == sorted(curve)
    assert set(curve) == {*read_outcome(first).curve(), BEGUN}
    assert [part.tolist() for part in curve[BEGUN]] == [[0, KEPT], [1, 2]]
    at, points = curve["points/down_up_4/thumb"]
    assert at.tolist() == [1000, KEPT, KEPT + 1000, KEPT + KEPT, KEPT + DONE]
    assert points.tolist() == [-1, 0, -1, 0, 1]
    assert all((np.diff(part) > 0).all() for part in curve["seconds"])
    for place, before, sentence in (
        (first, [second], "the run in .*first began with an untrained policy, and had no lessons of one"),
        (second, [first, first], "the run in .*first began with an untrained policy"),
        (second, [other], "the run in .*second cannot have begun with the one before it"),
    ):
        with pytest.raises(OutcomeError, match=sentence):
            read_outcome(place, before)


@pytest.mark.parametrize(
    ("changes", "policy"),
    [
        ({"initial": "runs/x"}, "runs/x"),
        ({"initial": "runs/x", "curriculum": CurriculumConfig(teacher="runs/y")}, "runs/x"),
        ({"curriculum": CurriculumConfig(teacher="runs/y@0.5")}, "runs/y"),
        ({"curriculum": CurriculumConfig(teacher="runs/y", lessons=0.0)}, ""),
        ({"curriculum": CurriculumConfig(teacher="thumb")}, ""),
        ({"curriculum": CurriculumConfig(teacher="pimc:4")}, ""),
        ({"curriculum": CurriculumConfig(teacher="my_agent:make")}, ""),
        ({}, ""),
    ],
)
def test_what_a_run_learns_from(changes: dict[str, Any], policy: str) -> None:
    config = dataclasses.replace(CONFIG, **changes)
    assert learns_from(config) == policy
    if policy:
        assert learns_from(with_policies_at(config, {policy: "runs/z"})) == "runs/z"
        assert with_policies_at(with_policies_at(config, {policy: "runs/z"}), {"runs/z": policy}) == config


def test_what_runs_call_the_policies_of_others_means_those_of_the_runs_before_them() -> None:
    def run(initial: str, *opponents: str, teacher: str = "thumb") -> TrainConfig:
        league, curriculum = LeagueConfig(opponents=opponents), CurriculumConfig(teacher=teacher)
        return dataclasses.replace(CONFIG, initial=initial, league=league, curriculum=curriculum)

    runs = [
        run("", "thumb", "runs/friend"),
        run("", "thumb", "old@0.5", teacher="old@0"),
        run("mine", "thumb", "mine", "old", "runs/friend@0"),
        run("mine", "mine@0", "pimc:4", "my_agent:act"),
    ]
    moved = chained(runs, ["runs/1", "runs/2", "runs/3"])
    assert moved[0] == runs[0]
    assert (moved[1].curriculum.teacher, moved[1].league.opponents) == ("runs/1@0", ("thumb", "runs/1@0.5"))
    assert (moved[2].initial, moved[2].curriculum.teacher) == ("runs/2", "thumb")
    assert moved[2].league.opponents == ("thumb", "runs/2", "runs/1", "runs/friend@0")
    assert (moved[3].initial, moved[3].league.opponents) == ("runs/3", ("runs/3@0", "pimc:4", "my_agent:act"))
    assert [policies_at_tables(config) for config in moved] == [
        ["runs/friend"],
        ["runs/1"],
        ["runs/2", "runs/1", "runs/friend"],
        ["runs/3"],
    ]


def test_a_teacher_may_be_of_another_size_but_not_for_other_tables(tmp_path: Path) -> None:
    first, other = make_run(tmp_path / "first"), make_run(tmp_path / "other", dataclasses.replace(CONFIG, seats=(3,)))
    taught = dataclasses.replace(
        CONFIG, network=NetworkConfig(8, 0, 2), counts=False, curriculum=CurriculumConfig(teacher="runs/first")
    )
    second = make_run(tmp_path / "second", taught)
    found = read_outcome(second, [first])
    assert [run.info.network["width"] for run in found.runs] == [CONFIG.network.width, 8]
    assert [run.info.card_features for run in found.runs] == [True, False]
    with pytest.raises(OutcomeError, match="second cannot have begun with the one before it, which is for other tables"):
        read_outcome(second, [other])


def test_what_is_no_run_is_refused_with_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OutcomeError, match=r"there is no run in .*config\.json cannot be read: No such file"):
        read_outcome(tmp_path / "nowhere")
    folder = make_run(tmp_path / "run")
    config = (folder / "config.json").read_text()
    for damaged, sentence in (("{", "is damaged"), ("[]", "is damaged"), ('{"variants": ["noms"], "x": 1}', "unknown key x")):
        (folder / "config.json").write_text(damaged)
        with pytest.raises(OutcomeError, match=sentence):
            read_outcome(folder)
    (folder / "config.json").write_text(config.replace('"seed": 3', '"seed": 4'))
    with pytest.raises(OutcomeError, match=r"policy\.safetensors is not of the run in .*another configuration"):
        read_outcome(folder)
    (folder / "config.json").write_text(config)
    monkeypatch.setattr(run_summary, "MOST_BYTES", 1000)
    with pytest.raises(OutcomeError, match=r"has 0\.0 MB; a policy that is published has 0 MB at most"):
        read_outcome(folder)
    monkeypatch.undo()
    (folder / "log.csv").unlink()
    with pytest.raises(FileNotFoundError):
        read_outcome(folder)
    (folder / "policy.safetensors").unlink()
    with pytest.raises(PolicyFileError, match="there is no file"):
        read_outcome(folder)


def test_a_policy_of_another_origin_is_refused(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", training={})
    with pytest.raises(OutcomeError, match="does not say how its policy was trained: the configuration is not complete"):
        read_outcome(folder)


def test_twenty_megabytes_are_the_most() -> None:
    assert run_summary.MOST_BYTES == 20_000_000


# ----------------------------------------------------------------------------------------------------- the command line

OTHER: dict[str, Any] = {
    "seats": (3, 4),
    "option": ("hook=true", 'trump_rotation=["S", "NT"]'),
    "initial": "a policy",
    "device": "cpu",
    "precision": "fp32",
    "teacher": "greedy",
    "opponents": ("random", "pimc:20"),
    "panel": (),
}
"""Other values of fields that are no numbers."""


def otherwise(part: Any) -> Any:
    """A configuration with another value in every field."""
    changes = {}
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        if dataclasses.is_dataclass(value):
            changes[field.name] = otherwise(value)
        elif field.name in OTHER:
            changes[field.name] = OTHER[field.name]
        elif isinstance(value, bool):
            changes[field.name] = not value
        elif isinstance(value, float):
            changes[field.name] = value * 0.7 if value else 1e-7
        elif field.name != "variants":
            changes[field.name] = 7 if value is None else value + 1
        if field.name != "variants":
            assert changes[field.name] != value, field.name
    return dataclasses.replace(part, **changes)


def parsed(text: str) -> TrainConfig:
    """The configuration that a command starts a run with."""
    name, train, *words = shlex.split(text.replace("\\\n", ""))
    assert (name, train) == ("noms", "train")
    with patch("training.commands.train.start", lambda config, *_: config):
        found: Any = tyro.cli(command(words), args=words)
    assert isinstance(found, TrainConfig)
    return found


@pytest.mark.parametrize("preset", PRESETS)
def test_the_command_of_a_preset(preset: str) -> None:
    config = TrainConfig(("noms", "small_ships"), **PRESETS[preset][1])
    assert nearest_preset(config) == preset
    assert train_command(config, "runs/x") == f"noms train noms small_ships --preset {preset} --out runs/x"
    assert parsed(train_command(config, "runs/x")) == config


def test_the_command_of_a_run_with_every_field_changed() -> None:
    config = otherwise(TrainConfig(("big_ships", "down_up"), **PRESETS["long"][1]))
    text = train_command(config, "runs/x")
    assert parsed(text) == config
    assert all(len(line) <= run_summary.LINE + 2 for line in text.splitlines())
    assert text.count("\n") > 5


@pytest.mark.parametrize(
    "changes", [{"evaluate_every": None}, {"panel": ()}, {"oracle": False}, {"evaluation_deals": 512, "seats": (7,)}]
)
def test_the_command_of_a_run_with_a_change(changes: dict[str, Any]) -> None:
    config = dataclasses.replace(TrainConfig(("sniped_whist",), **PRESETS["smoke"][1]), **changes)
    assert parsed(train_command(config, "runs/x")) == config
    assert "--preset smoke" in train_command(config, "runs/x")


@pytest.mark.parametrize("folder", sorted(CHECKPOINTS.glob("*/runs.json")), ids=lambda file: file.parent.name)
def test_the_commands_on_a_card_start_the_runs_that_made_the_policy(folder: Path) -> None:
    card = (folder.parent / "README.md").read_text().partition("## How to make it again")[2]
    commands = [parsed(text) for text in re.findall(r"^noms train(?:.*\\\n)*.*", card, re.MULTILINE)]
    runs = [TrainConfig.from_dict(run["training"]) for run in json.loads(folder.read_text())]
    assert len(runs) > 1
    assert commands == chained(runs, [f"runs/{folder.parent.name}-{number}" for number in range(1, len(runs))])


@pytest.mark.parametrize("name", ["counts", "hints"])
def test_a_configuration_of_before_there_was_a_choice_has_none_of_it(name: str) -> None:
    values = CONFIG.as_dict()
    assert getattr(TrainConfig.from_dict(values), name)
    del values[name]
    assert not getattr(TrainConfig.from_dict(values), name)


def test_paths_of_this_machine_are_found() -> None:
    config = dataclasses.replace(CONFIG, initial="/a/b", panel=("random", "/c"), league=dataclasses.replace(CONFIG.league))
    assert machine_paths(config.as_dict()) == ["/a/b", "/c"]
    assert machine_paths({"league": {"opponents": ["runs/x", "/d"]}, "seed": 1}) == ["/d"]
