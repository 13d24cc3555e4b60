"""A trained policy as the folders of its runs tell it, and the commands that start those runs again."""

import dataclasses
import json
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import tyro

from noms_env.policy.encoding import make_encoding
from noms_env.policy.file import PolicyFileError, PolicyInfo, read_policy, save_policy
from noms_training.agents.table_pool import make_rule_sets
from noms_training.commands.train import command
from noms_training.learn.config import PRESETS, ActorConfig, CurriculumConfig, OpponentsConfig, TrainConfig
from noms_training.learn.data.decisions import empty_rows
from noms_training.learn.data.shards import write_shards
from noms_training.learn.log import SECONDS, Log
from noms_training.learn.network import Actor
from noms_training.options import parse_options
from noms_training.publish import runs as module
from noms_training.publish.plots import SMOOTHED
from noms_training.publish.reproduce import WIDTH, Run, chained, read_run, run_of, train_command
from noms_training.publish.runs import BEGUN, CURVE, RunError, Trained, read_trained
from tests.policy.test_player import make_actor, tensors_of

NETWORK = {"width": 5, "blocks": 1, "card_width": 2, "scorer_width": 3}
CONFIG = TrainConfig(
    ("nonesuch", "down_up"),
    seats=(3, 4),
    decisions=4000,
    evaluation_deals=64,
    network=ActorConfig(**NETWORK),
    seed=3,
    thumb_version=1,
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
    found = {"eval/score": 0.5 + shift}
    for kind, estimates in POINTS.items():
        for opponent, (mean, low, high) in zip(("random", "thumb"), estimates, strict=True):
            figure = f"points/{kind}/{opponent}"
            points = {figure: mean + shift, f"{figure}/low": low + shift, f"{figure}/high": high + shift}
            found |= {f"eval/{name}": value for name, value in points.items()} | {f"eval/greedy/{figure}": mean - 0.125}
    for kind, probe in (("nonesuch_3", "call/none"), ("nonesuch_4", "call/none"), ("down_up_3", "bid/hit")):
        found[f"eval/probe/{kind}/{probe}"] = 0.375 + shift
    return found


def actor_of(info: PolicyInfo) -> Actor:
    return make_actor(info.rule_sets, info.network, 0, make_encoding(info.rule_sets, info.card_features))


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
    sees = {"card_features": config.card_features}
    info = PolicyInfo(rule_sets, dataclasses.asdict(config.network), **usual | sees | changes)
    save_policy(folder / "policy.safetensors", tensors_of(actor_of(info)), info)
    with Log(folder, events=False) as log:
        log.started(0, config.decisions)
        for decisions in range(10, DONE + 1, 10):
            figures = {"losses/entropy/play": 1 / decisions, "losses/approx_kl": 0.01}
            log.iteration(decisions, figures | {"losses/minibatches": 3.0, "rollout/x/y": 0.5})
            if decisions % 1000 == 0:
                log.evaluation(decisions, evaluation((decisions - KEPT) / 1000))
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("outcome") / "run")


def test_what_a_folder_tells(folder: Path) -> None:
    found = read_trained(folder)
    (run,) = found.runs
    assert (parsed(run.command), run.kept, run.made, run.budget) == (CONFIG, KEPT, DONE, 4000)
    assert (run.training, run.revision, run.source, run.needs) == (CONFIG.as_dict(), "v1-2-gabc", "", ())
    assert found.content == (folder / "policy.safetensors").read_bytes()
    assert found.parameters == sum(tensor.size for tensor in tensors_of(actor_of(found.info)).values())
    assert 0 < found.seconds(KEPT) < found.seconds(DONE)


def test_the_evaluation_is_that_in_which_the_policy_was_kept(folder: Path) -> None:
    found = read_trained(folder)
    assert found.evaluation() == pytest.approx(evaluation())
    assert kept_at(found, 10).evaluation() == {}
    assert kept_at(found, 1000).evaluation()["eval/score"] == -0.5


def kept_at(policy: Trained, decisions: int) -> Trained:
    """As if the run had kept its policy then."""
    return dataclasses.replace(policy, runs=(dataclasses.replace(policy.runs[0], kept=decisions),))


def test_the_curve_is_all_of_the_evaluations_and_little_of_the_iterations(folder: Path) -> None:
    curve = read_trained(folder).curve
    assert list(curve) == sorted(curve)
    assert set(curve) == {*evaluation(), "losses/entropy/play", "losses/approx_kl", SECONDS}
    assert curve["eval/points/down_up_4/thumb"][0].tolist() == [1000, 2000, 3000]
    at, values = curve["losses/entropy/play"]
    assert len(at) == len(values) == SMOOTHED
    assert np.issubdtype(at.dtype, np.integer)


def test_a_run_that_was_extended(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    longer = dataclasses.replace(CONFIG, decisions=9000)
    (folder / "config.json").write_text(json.dumps(longer.as_dict()))
    (run,) = read_trained(folder).runs
    assert (parsed(run.command).decisions, run.budget) == (4000, 9000)


def test_runs_one_after_the_other(tmp_path: Path) -> None:
    first = make_run(tmp_path / "first")
    other = make_run(tmp_path / "other", dataclasses.replace(CONFIG, variants=("down_up",), seats=(3, 4, 5)))
    second = make_run(tmp_path / "second", dataclasses.replace(CONFIG, initial_policy="runs/first"))
    larger = make_run(
        tmp_path / "larger", dataclasses.replace(CONFIG, initial_policy="runs/first", network=ActorConfig(8, 0, 2))
    )
    found = read_trained(second, [first])
    assert [run.kept for run in found.runs] == [KEPT, KEPT]
    assert (found.seen, read_trained(second).seen) == (2 * KEPT, KEPT)
    assert list(found.curve) == sorted(read_trained(first).curve)
    at, points = found.curve["eval/points/down_up_4/thumb"]
    assert at.tolist() == [1000, KEPT, KEPT + 1000, KEPT + KEPT, KEPT + DONE]
    assert points.tolist() == [-1, 0, -1, 0, 1]
    assert (np.diff(found.curve[SECONDS][0]) > 0).all()
    assert (np.diff(found.curve[SECONDS][1]) > 0).all()
    for place, before, sentence in (
        (first, [second], "the run in .*first learnt from no other policy"),
        (second, [first, first], "the run in .*first learnt from no other policy"),
        (second, [other], "the run in .*second cannot have learnt from the one before it"),
        (larger, [first], "larger cannot have learnt from the one before it, which is for other tables or of another size"),
    ):
        with pytest.raises(RunError, match=sentence):
            read_trained(place, before)


def test_a_run_may_begin_with_a_policy_for_fewer_tables(tmp_path: Path) -> None:
    first = make_run(tmp_path / "first", dataclasses.replace(CONFIG, seats=(3,)))
    second = make_run(tmp_path / "second", dataclasses.replace(CONFIG, initial_policy="runs/first"))
    found = read_trained(second, [first])
    assert [run.kept for run in found.runs] == [KEPT, KEPT]
    assert {rules.seats for rules in found.info.rule_sets} == {3, 4}


def test_an_expert_may_be_of_another_size_but_not_for_other_tables(tmp_path: Path) -> None:
    first, other = make_run(tmp_path / "first"), make_run(tmp_path / "other", dataclasses.replace(CONFIG, seats=(3,)))
    taught = dataclasses.replace(CONFIG, network=ActorConfig(8, 0, 2), curriculum=CurriculumConfig(expert="runs/first"))
    second = make_run(tmp_path / "second", taught)
    assert len(read_trained(second, [first]).runs) == 2
    with pytest.raises(RunError, match="second cannot have learnt from the one before it, which is for other tables"):
        read_trained(second, [other])


def published(folder: Path, *runs: Path) -> Path:
    """The folder of a published policy that these runs have made."""
    folder.mkdir(parents=True, exist_ok=True)
    *before, last = runs
    for name, content in read_trained(last, before).named("mine").files().items():
        (folder / name).write_bytes(content)
    return folder


def test_a_published_policy_stands_for_the_runs_that_made_it(tmp_path: Path) -> None:
    first = make_run(tmp_path / "first")
    again = [make_run(tmp_path / name, dataclasses.replace(CONFIG, initial_policy="checkpoints/mine")) for name in ("2", "3")]
    stepwise = published(tmp_path / "stepwise", first)
    for number, run in enumerate(again, 1):
        published(stepwise, stepwise, run)
        expected = read_trained(published(tmp_path / f"at_once_{number}", first, *again[:number]))
        found = read_trained(stepwise)
        assert (found.seen, found.runs, found.content) == ((number + 1) * KEPT, expected.runs, expected.content)
        assert (stepwise / CURVE).read_text().count(BEGUN) == number + 1
        assert list(found.curve) == list(expected.curve)
        for name, (at, values) in found.curve.items():
            assert at.tolist() == expected.curve[name][0].tolist()
            assert values == pytest.approx(expected.curve[name][1], rel=1e-4), name  # numbers have six digits in the file


@pytest.mark.parametrize(
    ("file", "old", "new", "sentence"),
    [
        ("runs.json", "]", "", "runs.json or curve.csv in .*mine is damaged"),
        ("runs.json", f'"kept": {KEPT}', '"kept": 7', "curve.csv and policy.safetensors in .*mine are not of the same runs"),
        ("runs.json", '"source"', '"sources"', "is damaged: .*sources"),
        ("curve.csv", "decisions", "deals", "is damaged: .*is not the log of a run"),
    ],
)
def test_a_damaged_published_policy_is_refused(tmp_path: Path, file: str, old: str, new: str, sentence: str) -> None:
    place = published(tmp_path / "mine", make_run(tmp_path / "first")) / file
    place.write_text(place.read_text().replace(old, new))
    with pytest.raises(RunError, match=sentence):
        read_trained(tmp_path / "mine")


def test_what_is_no_run_is_refused_with_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RunError, match=r"there is no run in .*config\.json cannot be read: No such file"):
        read_trained(tmp_path / "nowhere")
    folder = make_run(tmp_path / "run")
    config = (folder / "config.json").read_text()
    for damaged, sentence in (("{", "is damaged"), ("[]", "is damaged"), ('{"variants": ["noms"], "x": 1}', "unknown key x")):
        (folder / "config.json").write_text(damaged)
        with pytest.raises(RunError, match=sentence):
            read_trained(folder)
    (folder / "config.json").write_text(config.replace('"seed": 3', '"seed": 4'))
    with pytest.raises(RunError, match=r"policy\.safetensors is not of the run in .*another configuration"):
        read_trained(folder)
    (folder / "config.json").write_text(config)
    assert module.MOST_BYTES == 20_000_000
    monkeypatch.setattr(module, "MOST_BYTES", 1000)
    with pytest.raises(RunError, match=r"has 0\.0 MB; a published policy has 0 MB at most"):
        read_trained(folder)
    monkeypatch.undo()
    (folder / "log.csv").unlink()
    with pytest.raises(FileNotFoundError):
        read_trained(folder)
    (folder / "policy.safetensors").unlink()
    with pytest.raises(PolicyFileError, match="there is no file"):
        read_trained(folder)


def test_a_policy_that_is_replaced_while_it_is_read_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, read, reads = make_run(tmp_path / "run"), read_policy, list[Path]()
    later = make_run(tmp_path / "later", decisions=KEPT + 1) / "policy.safetensors"

    def replaced_behind(file: Path) -> object:
        found = read(file)
        if not reads:
            shutil.copyfile(later, file)
        reads.append(file)
        return found

    monkeypatch.setattr(module, "read_policy", replaced_behind)
    found = read_trained(folder)
    assert (len(reads), found.info.decisions, found.content) == (2, KEPT + 1, later.read_bytes())


def test_a_policy_of_another_origin_is_refused(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", training={})
    with pytest.raises(RunError, match="does not say how its policy was trained: the configuration is not complete"):
        read_trained(folder)


@pytest.mark.parametrize(
    ("changes", "policy"),
    [
        ({"initial_policy": "runs/x"}, "runs/x"),
        ({"initial_policy": "runs/x", "curriculum": CurriculumConfig(expert="runs/y")}, "runs/x"),
        ({"curriculum": CurriculumConfig(expert="runs/y@0.5")}, "runs/y"),
        ({"curriculum": CurriculumConfig(expert="runs/y", imitation=0.0)}, ""),
        ({"curriculum": CurriculumConfig(expert="thumb")}, ""),
        ({"curriculum": CurriculumConfig(expert="pimc:4")}, ""),
        ({"curriculum": CurriculumConfig(expert="my_agent:make")}, ""),
        ({}, ""),
    ],
)
def test_what_a_run_learns_from(changes: dict[str, Any], policy: str) -> None:
    assert told(dataclasses.replace(CONFIG, **changes)).source == policy


def told(config: TrainConfig) -> Run:
    return run_of(config, KEPT, DONE, DONE, None)


def test_what_runs_call_the_policies_of_others_means_those_of_the_runs_before_them() -> None:
    def run(initial: str, *players: str, expert: str = "thumb") -> Run:
        opponents, curriculum = OpponentsConfig(players=players), CurriculumConfig(expert=expert)
        return told(dataclasses.replace(CONFIG, initial_policy=initial, opponents=opponents, curriculum=curriculum))

    runs = [
        run("", "thumb", "runs/friend"),
        run("", "thumb", "old@0.5", expert="old@0"),
        run("nonesuch", "thumb", "nonesuch", "old", "runs/friend@0"),
        run("nonesuch", "nonesuch@0", "pimc:4", "my_agent:act"),
    ]
    moved = chained(runs, "x")
    configs = [parsed(one.command) for one in moved]
    assert [one.out for one in moved] == ["runs/x-1", "runs/x-2", "runs/x-3", "runs/x"]
    assert moved[0].command == runs[0].command
    assert {config.variants for config in configs} == {CONFIG.variants}
    assert (configs[1].curriculum.expert, configs[1].opponents.players) == ("runs/x-1@0", ("thumb", "runs/x-1@0.5"))
    assert (configs[2].initial_policy, configs[2].curriculum.expert) == ("runs/x-2", "thumb")
    assert configs[2].opponents.players == ("thumb", "runs/x-2", "runs/x-1", "runs/friend@0")
    assert (configs[3].initial_policy, configs[3].opponents.players) == ("runs/x-3", ("runs/x-3@0", "pimc:4", "my_agent:act"))
    assert [one.needs for one in moved] == [("runs/friend",), (), ("runs/friend",), ()]
    assert chained([*chained(runs[:3], "x"), runs[3]], "x") == moved
    assert chained(chained(runs, "y"), "x") == moved


def record(folder: Path, seed: int, *players: str) -> None:
    """A folder as `noms export --targets` writes it, of one row."""
    source: dict[str, Any] = {"variant": "nonesuch", "seats": 4, "options": {"ranks": 9}, "limit": None}
    source |= {"players": players, "matches": 8, "seed": seed}
    folder.parent.mkdir(exist_ok=True)
    write_shards([empty_rows(1)], folder, source, "npz")


def test_how_decisions_that_a_run_learnt_from_were_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for seed in (8, 9, 10):
        record(tmp_path / f"own/{seed}", seed, "search:nonesuch@0,worlds=4")
    record(tmp_path / "own/9b", 9, "thumb")
    record(tmp_path / "other", 3, "search:runs/friend,worlds=24", "pimc:20")
    for seed in range(10, 90, 3):
        record(tmp_path / f"more/{seed}", seed, "thumb")
    curriculum = CurriculumConfig(shards=("own", str(tmp_path / "other"), "more"))
    taught = dataclasses.replace(CONFIG, initial_policy="nonesuch", curriculum=curriculum)
    made = read_trained(make_run(tmp_path / "taught", taught), [make_run(tmp_path / "old")])
    named = made.named("x")
    assert named.named("y").runs == made.named("y").runs
    run = read_run(json.loads(json.dumps(named.runs[1].as_dict())))
    assert (run.recorded, run.needs) == (named.runs[1].recorded, ("runs/friend",))
    assert parsed(run.command).curriculum.shards == ("runs/x-decisions-1", "runs/x-decisions-2", "runs/x-decisions-3")
    assert max(map(len, run.text().splitlines())) <= WIDTH + len(" \\")
    export = "noms export --variant nonesuch --seats 4 --option ranks=9"
    how = "--targets --matches 8 --format npz --seed"
    assert run.text().replace(" \\\n ", "").split("\nnoms train")[0].splitlines() == [
        "for seed in $(seq 8 10); do",
        f"{export} --player search:runs/x-1@0,worlds=4 {how} $seed --out runs/x-decisions-1/$seed",
        "done",
        f"{export} --player thumb:1 {how} 9 --out runs/x-decisions-1/9b",
        f"{export} --player search:runs/friend,worlds=24 --player pimc:20 {how} 3 --out runs/x-decisions-2",
        f"for seed in {' '.join(map(str, range(10, 90, 3)))}; do",
        f"{export} --player thumb:1 {how} $seed --out runs/x-decisions-3/$seed",
        "done",
    ]


def test_a_run_whose_decisions_cannot_be_recorded_again_is_refused(tmp_path: Path) -> None:
    write_shards([empty_rows(1)], tmp_path / "replayed", {"files": ["games.jsonl"]}, "npz")
    for name, why in {"gone": "gone has no decisions", "replayed": "replayed were taken from records"}.items():
        taught = dataclasses.replace(CONFIG, curriculum=CurriculumConfig(shards=(str(tmp_path / name),)))
        with pytest.raises(RunError, match=rf"policy\.safetensors again cannot be told: .*{why}"):
            read_trained(make_run(tmp_path / f"run-{name}", taught))


OTHER: dict[str, Any] = {
    "seats": (3, 4),
    "option": ("hook=true", 'trump_rotation=["S", "NT"]'),
    "initial_policy": "a policy",
    "device": "cpu",
    "precision": "fp32",
    "expert": "greedy",
    "players": ("random", "pimc:20"),
    "shards": ("runs/searched", "runs/more"),
    "panel": ("greedy",),
    "thumb_version": 1,
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


def parsed(given: Sequence[str]) -> TrainConfig:
    """The configuration that a command starts a run with."""
    name, train, *words = given
    assert (name, train) == ("noms", "train")
    with patch("noms_training.commands.train.start", lambda config, *_: config):
        found: Any = tyro.cli(command(words), args=words)
    assert isinstance(found, TrainConfig)
    return found


@pytest.mark.parametrize("preset", PRESETS)
def test_the_command_of_a_preset(preset: str) -> None:
    config = TrainConfig(("noms", "small_ships"), **PRESETS[preset][1])
    assert train_command(config) == ("noms", "train", "noms", "small_ships", "--preset", preset)
    assert parsed(train_command(config)) == config


def test_the_command_of_a_run_with_every_field_changed() -> None:
    config = otherwise(TrainConfig(("big_ships", "down_up"), **PRESETS["long"][1]))
    text = dataclasses.replace(told(config), out="runs/x").text()
    *words, out, place = shlex.split(text.replace("\\\n", ""))
    assert (parsed(words), out, place) == (config, "--out", "runs/x")
    assert all(len(line) <= WIDTH + 2 for line in text.splitlines())
    assert text.count("\n") > 5


@pytest.mark.parametrize(
    "changes",
    [{"evaluate_every": None}, {"panel": ("greedy",)}, {"privileged_critic": False}, {"evaluation_deals": 512, "seats": (7,)}],
)
def test_the_command_of_a_run_with_a_change(changes: dict[str, Any]) -> None:
    config = dataclasses.replace(TrainConfig(("sniped_whist",), **PRESETS["smoke"][1]), **changes)
    assert parsed(train_command(config)) == config
    assert train_command(config)[3:5] == ("--preset", "smoke")
