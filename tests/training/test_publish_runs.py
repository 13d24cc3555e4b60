"""A trained policy, read from the folders of its runs."""

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from noms_env.policy.encoding import make_encoding
from noms_env.policy.file import PolicyFileError, PolicyInfo, read_policy, save_policy
from noms_training.agents.table_pool import make_rule_sets
from noms_training.learn.config import ActorConfig, CurriculumConfig, TrainConfig
from noms_training.learn.data.decisions import empty_rows
from noms_training.learn.data.shards import write_shards
from noms_training.learn.log import SECONDS, Log
from noms_training.learn.network import Actor
from noms_training.options import parse_options
from noms_training.publish import runs as module
from noms_training.publish.plots import SMOOTHED
from noms_training.publish.runs import BEGUN, CURVE, RunError, read_trained
from tests.policy.test_player import make_actor, tensors_of

NETWORK: dict[str, Any] = {"width": 5, "blocks": 1, "card_width": 2, "scorer_width": 3}
CONFIG = TrainConfig(
    ("nonesuch", "down_up"),
    seats=(3, 4),
    decisions=4000,
    evaluation_deals=64,
    network=ActorConfig(**NETWORK),
    seed=3,
    thumb_version=1,
)
COMMAND = "noms train nonesuch down_up --seats 3 4"
KEPT, DONE = 2000, 3000
"""Decisions at which the policy was kept, and those of the run so far."""
POINTS = {  # mean, low and high against random and thumb, after KEPT decisions
    "nonesuch_3": ((1.5, 1.0, 2.0), (0.5, 0.25, 0.75)),
    "nonesuch_4": ((2.0, 1.5, 2.5), (0.1, -0.2, 0.4)),
    "down_up_3": ((3.0, 2.5, 3.5), (-1.0, -1.5, -0.5)),
    "down_up_4": ((4.0, 3.5, 4.5), (0.0, -0.5, 0.5)),
}


def evaluation(shift: float = 0.0) -> dict[str, float]:
    figures = {"eval/score": 0.5 + shift}
    for kind, estimates in POINTS.items():
        for opponent, (mean, low, high) in zip(("random", "thumb"), estimates, strict=True):
            name = f"points/{kind}/{opponent}"
            for suffix, value in (("", mean), ("/low", low), ("/high", high)):
                figures[f"eval/{name}{suffix}"] = value + shift
            figures[f"eval/greedy/{name}"] = mean - 0.125
    for probe in ("nonesuch_3/call/none", "nonesuch_4/call/none", "down_up_3/bid/hit"):
        figures[f"eval/probe/{probe}"] = 0.375 + shift
    return figures


def actor_of(info: PolicyInfo) -> Actor:
    return make_actor(info.rule_sets, info.network, 0, make_encoding(info.rule_sets, info.card_features))


def make_run(folder: Path, config: TrainConfig = CONFIG, **changes: Any) -> Path:
    """Write the folder of a run, without the files that only training needs."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config.as_dict()))
    (folder / "command.txt").write_text(f"{COMMAND}\n")
    rule_sets = tuple(make_rule_sets(config.variants, config.seats, parse_options(config.option)))
    usual = {
        **{"training": json.loads(json.dumps(config.as_dict())), "seed": config.seed, "card_features": config.card_features},
        **{"decisions": KEPT, "score": 0.5, "packages": {"noms-env": "1.2", "numpy": "3.4"}, "revision": "v1-2-gabc"},
    }
    info = PolicyInfo(rule_sets, config.network.sizes(), **usual | changes)
    save_policy(folder / "policy.safetensors", tensors_of(actor_of(info)), info)
    with Log(folder, events=False) as log:
        log.started(0, config.decisions)
        for decisions in range(10, DONE + 1, 10):
            figures = {"losses/entropy/play": 1 / decisions, "losses/approx_kl": 0.01}
            log.iteration(decisions, figures | {"losses/minibatches": 3.0, "rollout/x/y": 0.5})
            if decisions % 1000 == 0:
                log.evaluation(decisions, evaluation((decisions - KEPT) / 1000))
    return folder


def test_the_facts_of_a_run_folder(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    trained = read_trained(folder)
    (run,) = trained.runs
    assert (run.command, run.folder, run.source) == (COMMAND, str(folder), "")
    assert (run.kept, run.made, run.budget, run.training, run.revision) == (KEPT, DONE, 4000, CONFIG.as_dict(), "v1-2-gabc")
    assert trained.content == (folder / "policy.safetensors").read_bytes()
    assert trained.parameters == sum(tensor.size for tensor in tensors_of(actor_of(trained.info)).values())
    assert 0 < trained.seconds(KEPT) < trained.seconds(DONE)
    assert trained.evaluation() == pytest.approx(evaluation())
    assert set(trained.curve) == {*evaluation(), "losses/entropy/play", "losses/approx_kl", SECONDS}
    assert trained.curve["eval/points/down_up_4/thumb"][0].tolist() == [1000, 2000, 3000]
    decisions, values = trained.curve["losses/entropy/play"]
    assert len(decisions) == len(values) == SMOOTHED
    assert np.issubdtype(decisions.dtype, np.integer)


def test_a_run_names_its_recorded_decisions(tmp_path: Path) -> None:
    source = {"variant": "nonesuch", "seats": 4, "options": {}, "limit": None, "players": ["thumb"], "matches": 8, "seed": 5}
    write_shards([empty_rows(1)], tmp_path / "own", source, "npz")
    config = dataclasses.replace(CONFIG, curriculum=CurriculumConfig(shards=(str(tmp_path / "own"),)))
    (recorded,) = read_trained(make_run(tmp_path / "taught", config)).runs[0].recorded
    path, _, text = recorded.partition(": ")
    assert (path, json.loads(text)) == (str(tmp_path / "own"), source)


@pytest.mark.parametrize(
    ("changes", "policy"),
    [
        ({"initial_policy": "runs/x", "curriculum": CurriculumConfig(expert=("runs/y",))}, "runs/x"),
        ({"curriculum": CurriculumConfig(expert=("search:runs/y@0.5,worlds=4",))}, "runs/y"),
        ({"curriculum": CurriculumConfig(expert=("runs/y",), imitation=0.0)}, ""),
        ({"curriculum": CurriculumConfig(expert=("thumb",))}, ""),
        ({"curriculum": CurriculumConfig(expert=("my_agent:make",))}, ""),
    ],
)
def test_a_run_names_the_policy_that_it_learns_from(tmp_path: Path, changes: dict[str, Any], policy: str) -> None:
    assert read_trained(make_run(tmp_path / "run", dataclasses.replace(CONFIG, **changes))).runs[0].source == policy


def test_successive_runs_are_joined(tmp_path: Path) -> None:
    def successor(name: str, **changes: Any) -> Path:
        return make_run(tmp_path / name, dataclasses.replace(CONFIG, **changes))

    small, from_first = ActorConfig(8, 0, 2), {"initial_policy": "runs/first"}
    first, second = successor("first"), successor("second", **from_first)
    other, fewer = successor("other", variants=("down_up",), seats=(3, 4, 5)), successor("fewer", seats=(3,))
    larger = successor("larger", network=small, **from_first)
    pupil = successor("pupil", network=small, curriculum=CurriculumConfig(expert=("runs/first",)))
    assert len(read_trained(pupil, [first]).runs) == 2, "an expert may be of another size"
    trained = read_trained(second, [first])
    assert [run.kept for run in trained.runs] == [KEPT, KEPT]
    assert (trained.seen, read_trained(second).seen) == (2 * KEPT, KEPT)
    assert list(trained.curve) == sorted(read_trained(first).curve)
    decisions, points = trained.curve["eval/points/down_up_4/thumb"]
    assert decisions.tolist() == [1000, KEPT, KEPT + 1000, KEPT + KEPT, KEPT + DONE]
    assert points.tolist() == [-1, 0, -1, 0, 1]
    assert all((np.diff(values) > 0).all() for values in trained.curve[SECONDS])
    for last, before, sentence in (
        (first, second, "the run in .*first learnt from no other policy"),
        (second, other, "second cannot have learnt from the one before it"),
        (larger, first, "larger cannot have learnt from the one before it, which is for other tables or of another size"),
        (pupil, fewer, "pupil cannot have learnt from the one before it, which is for other tables"),
    ):
        with pytest.raises(RunError, match=sentence):
            read_trained(last, [before])


def publish(folder: Path, *runs: Path) -> Path:
    """Write the folder of the policy that these runs have trained."""
    folder.mkdir(parents=True, exist_ok=True)
    *before, last = runs
    for name, content in read_trained(last, before).files().items():
        (folder / name).write_bytes(content)
    return folder


def test_a_published_policy_replaces_its_runs(tmp_path: Path) -> None:
    first = make_run(tmp_path / "first")
    later = [make_run(tmp_path / name, dataclasses.replace(CONFIG, initial_policy="checkpoints/mine")) for name in ("2", "3")]
    stepwise = publish(tmp_path / "stepwise", first)
    for number, run in enumerate(later, 1):
        publish(stepwise, stepwise, run)
        expected = read_trained(publish(tmp_path / f"at_once_{number}", first, *later[:number]))
        trained = read_trained(stepwise)
        assert (trained.seen, trained.runs, trained.content) == ((number + 1) * KEPT, expected.runs, expected.content)
        assert (stepwise / CURVE).read_text().count(BEGUN) == number + 1
        assert list(trained.curve) == list(expected.curve)
        for name, (decisions, values) in trained.curve.items():
            assert decisions.tolist() == expected.curve[name][0].tolist()
            assert values == pytest.approx(expected.curve[name][1], rel=1e-4), name  # numbers have six digits in the file


@pytest.mark.parametrize(
    ("file", "old", "new", "sentence"),
    [
        ("runs.json", "]", "", "runs.json or curve.csv in .*mine is damaged"),
        ("runs.json", f'"kept": {KEPT}', '"kept": 7', "curve.csv and policy.safetensors in .*mine are not of the same runs"),
        ("runs.json", '"source"', '"sources"', "is damaged: .*source"),
        ("curve.csv", "decisions", "deals", "is damaged: .*is not the log of a run"),
    ],
)
def test_a_damaged_published_policy_is_refused(tmp_path: Path, file: str, old: str, new: str, sentence: str) -> None:
    path = publish(tmp_path / "mine", make_run(tmp_path / "first")) / file
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(RunError, match=sentence):
        read_trained(tmp_path / "mine")


def test_a_damaged_run_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RunError, match=r"there is no run in .*config\.json cannot be read: No such file"):
        read_trained(tmp_path / "nowhere")
    folder = make_run(tmp_path / "run")
    config = (folder / "config.json").read_text()
    for damaged, sentence in (("{", "is damaged"), ('{"variants": ["noms"], "x": 1}', "unknown key x")):
        (folder / "config.json").write_text(damaged)
        with pytest.raises(RunError, match=sentence):
            read_trained(folder)
    (folder / "config.json").write_text(config.replace('"seed": 3', '"seed": 4'))
    with pytest.raises(RunError, match=r"policy\.safetensors is not of the run in .*another configuration"):
        read_trained(folder)
    (folder / "config.json").write_text(config)
    monkeypatch.setattr(module, "MAX_BYTES", 1000)
    with pytest.raises(RunError, match=r"has 0\.0 MB; a published policy has 0 MB at most"):
        read_trained(folder)
    monkeypatch.undo()
    (folder / "log.csv").unlink()
    with pytest.raises(FileNotFoundError):
        read_trained(folder)
    (folder / "policy.safetensors").unlink()
    with pytest.raises(PolicyFileError, match="there is no file"):
        read_trained(folder)


def test_a_policy_that_changes_while_it_is_read_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, read, reads = make_run(tmp_path / "run"), read_policy, list[Path]()
    later = make_run(tmp_path / "later", decisions=KEPT + 1) / "policy.safetensors"

    def read_and_replace(file: Path) -> object:
        policy = read(file)
        if not reads:
            shutil.copyfile(later, file)
        reads.append(file)
        return policy

    monkeypatch.setattr(module, "read_policy", read_and_replace)
    trained = read_trained(folder)
    assert (len(reads), trained.info.decisions, trained.content) == (2, KEPT + 1, later.read_bytes())
