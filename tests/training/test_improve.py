"""`noms improve`: rounds of search, learning and comparison, which resume where they were stopped."""

import json
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from noms_env.policy.file import read_policy, save_policy
from noms_training.cli import main
from noms_training.evaluation.statistics import Estimate
from noms_training.learn import expert_iteration
from noms_training.learn.best_response import RefusedError, Train
from noms_training.learn.data import workers
from noms_training.learn.data.shards import read_shards, shard_folders
from noms_training.learn.log import read_log
from tests.commands import Run, assert_refused
from tests.policy.test_player import save_small
from tests.training.fakes import rules
from tests.training.tiny_run import make_config, save_policy_of

SMALL = ["--matches", "66", "--worlds", "2", "--decisions", "40000", "--deals", "20", "--workers", "2"]


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The policy of a run of one iteration."""
    return save_policy_of(make_config("down_up", seats=(3,), option=("ranks=3",)), tmp_path_factory.mktemp("first"))


@pytest.fixture
def run(run: Run, first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    return partial(run, "improve", first, *SMALL, "--out", "rounds")


def read_columns(folder: Path) -> list[np.ndarray]:
    """The columns of a folder of shards that a policy learns from."""
    names = "observation", "action_mask", "policy"
    shards = [rows for _, rows in read_shards(folder, names)]
    return [np.concatenate([rows[name] for rows in shards]) for name in names]


def read_round(number: int, file: str = "result.json") -> Any:
    return json.loads(Path(f"rounds/{number:02}/{file}").read_text(encoding="utf-8"))


def test_rounds_resume_where_they_were_stopped(run: Run, first: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, out, err = run()
    assert status == 0, err
    assert f"round 1: points per deal above {first}: down_up_3 " in out
    lots = shard_folders(Path("rounds/01/decisions"))
    assert [path.name for path in lots] == ["down_up_3-000000", "down_up_3-000064"]
    config = read_round(1, "run/config.json")
    assert config["initial_policy"] == str(first)
    sizes = {"kind": "mlp", "width": 32, "blocks": 1, "card_width": 8, "scorer_width": 8}
    assert config["network"].items() >= sizes.items()
    assert config["curriculum"]["shards"] == ["rounds/01/decisions"]
    assert "losses/distillation_kl" in read_log("rounds/01/run")
    assert read_round(1)["gains"]["down_up_3"]["deals"] == 20
    assert Path("rounds/01/run/command.txt").read_text(encoding="utf-8").startswith("noms improve ")
    source = next(read_shards(lots[0], ()))[0]["source"]
    game = ["--variant", "down_up", "--seats", "3", "--option", "ranks=3", "--player", *source["players"]]
    words = ["--targets", "--matches", "66", "--format", "npz", "--seed", str(source["seed"])]
    assert main(["export", *game, *words, "--out", "again"]) == 0
    for column, parts in zip(read_columns(Path("again")), zip(*map(read_columns, lots), strict=True), strict=True):
        np.testing.assert_array_equal(column, np.concatenate(parts))
    results = read_round(1), Path("rounds/01/run/policy.safetensors").read_bytes()
    shutil.rmtree(lots[1])  # as if it had been stopped before this lot
    shutil.rmtree("rounds/01/run")
    Path("rounds/01/result.json").unlink()
    play_lots = Mock(wraps=workers.play_lots)
    monkeypatch.setattr(workers, "play_lots", play_lots)
    assert run("--rounds", 2)[0] == 0
    assert [start for call in play_lots.call_args_list for _, start in call.args[0]] == [64, 0, 64]
    assert results == (read_round(1), Path("rounds/01/run/policy.safetensors").read_bytes())
    assert read_round(2)["before"] == read_round(1)["kept"]
    shards = {Path(f"rounds/{number}/decisions/down_up_3-000000/decisions-00000.npz").read_bytes() for number in ("01", "02")}
    assert len(shards) == 2, "each round has its own deals"


def train_round(policy: str, folder: Path, train: Train) -> dict[str, Any]:
    series, one_worker = expert_iteration.Series(policy, decisions=5_000), expert_iteration.Workers(1, on_ray=False)
    return expert_iteration.train_round(series, policy, folder, 1, one_worker, train)


@pytest.mark.parametrize("mean", [0.1, -0.1])
def test_the_better_policy_is_kept(mean: float, tmp_path: Path, first: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gains, train = {"down_up_3": {"mean": mean, "low": mean - 1, "high": mean + 1, "deals": 7}}, Mock()
    monkeypatch.setattr(expert_iteration, "record_search", Mock())
    monkeypatch.setattr(expert_iteration, "compare_rounds", Mock(return_value=gains))
    (tmp_path / "01").mkdir()
    result = train_round(str(first), tmp_path / "01", train)
    config, folder = train.call_args.args
    assert (config.initial_policy, folder) == (str(first), tmp_path / "01" / "run")
    assert config.batch_size == 5_000, "an iteration is no larger than the budget"
    assert result["kept"] == str(folder if mean > 0 else first)


def test_policies_are_compared_on_deals_that_chose_neither(first: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gain_alone = Mock(return_value=Estimate(0.1, 0.1, -0.1, 0.3, 4))
    monkeypatch.setattr(expert_iteration, "gain_alone", gain_alone)
    info = expert_iteration.read_training(str(first))
    series = expert_iteration.Series(str(first), deals=4)
    gains = expert_iteration.compare_rounds(series, str(first), str(first), expert_iteration.tables_of(info))
    assert gains == {"down_up_3": {"mean": 0.1, "low": -0.1, "high": 0.3, "deals": 4}}
    assert [call.kwargs["deal_set"] for call in gain_alone.call_args_list] == ["dev, salted"]


def test_a_round_is_played_at_the_tables_of_the_last_training(first: Path) -> None:
    """A policy that started from another policy can also play at the tables of that one."""
    info = expert_iteration.read_training(str(first))
    wider = replace(info, rule_sets=(*info.rule_sets, rules("up_down")))
    assert expert_iteration.tables_of(wider) == list(info.rule_sets)


def test_wrong_arguments_and_another_series_are_refused(run: Run, first: Path) -> None:
    for option, value in (("--matches", 0), ("--worlds", 0), ("--decisions", 0), ("--deals", 1)):
        assert_refused(run(option, value), "--matches, --worlds and --decisions must be 1 or more, and --deals 2 or more")
    assert_refused(run("--seed", -1), "--seed must be from 0")
    assert_refused(run("--rounds", 0), "rounds and workers must be 1 or more")
    assert_refused(run("--ray"), "give --workers or --ray, and not both")
    assert not Path("rounds").exists()
    Path("rounds").mkdir()
    Path("rounds/improve.json").write_text(json.dumps({"policy": str(first), "matches": 5}), encoding="utf-8")
    assert_refused(run(), "matches 5, not 66")
    Path("rounds/improve.json").write_text("[", encoding="utf-8")
    assert_refused(run(), "improve.json is damaged")


DONE = {"policy": "elsewhere/01/run", "before": "small_ships", "gains": {}, "kept": "elsewhere/01/run"}
GAIN = {"mean": 0.5, "low": 0.25, "high": 0.75, "deals": 20}
RESULTS: list[Any] = [
    *("", "[" * 5000, "{}", json.dumps(DONE | {"gains": []})),
    *(json.dumps(DONE | {"kept": wrong}) for wrong in (None, "cmd:touch ran")),
    *(json.dumps(DONE | {"gains": {"noms_4": wrong}}) for wrong in (None, GAIN | {"mean": "0.5"}, GAIN | {"mean": True})),
    json.dumps(DONE | {"gains": {"\x1b[2J": GAIN}}),
    json.dumps(DONE | {"gains": {"noms_4": GAIN}}).replace("0.5", "1e999"),
]
TRAINED: list[dict[str, Any]] = [
    *({name: wrong} for name in ("variants", "seats", "option") for wrong in (None, [None])),
    *({"variants": []}, {"variants": ["bridge"]}, {"variants": ["noms"]}, {"seats": [10**30]}, {"seats": [True]}),
    *({"option": ["ranks"]}, {"option": ["ranks=9"]}, {"option": ["\x1b=1"]}),
]


@pytest.mark.parametrize("content", RESULTS)
def test_a_damaged_result_of_a_round_is_refused(run: Run, content: str) -> None:
    Path("rounds/01").mkdir(parents=True)
    Path("rounds/01/result.json").write_text(content, encoding="utf-8")
    assert_refused(run(), "result.json is damaged (")
    assert not Path("ran").exists()


def test_the_run_of_a_result_is_the_one_beside_it(first: Path, tmp_path: Path) -> None:
    for kept, expected in (("elsewhere/01/run", str(tmp_path / "run")), ("small_ships", "mine")):
        (tmp_path / "result.json").write_text(json.dumps(DONE | {"gains": {"noms_4": GAIN}, "kept": kept}), encoding="utf-8")
        result = train_round("mine", tmp_path, Mock())
        assert result == {"policy": str(tmp_path / "run"), "before": "mine", "gains": {"noms_4": GAIN}, "kept": expected}


@pytest.mark.parametrize("changes", TRAINED, ids=str)
def test_a_policy_with_impossible_training_options_is_refused(changes: dict[str, Any], first: Path, tmp_path: Path) -> None:
    info, _, tensors = read_policy(first / "policy.safetensors")
    foreign = replace(info, training=info.training | changes)
    save_policy(tmp_path / "foreign.safetensors", tensors, foreign)
    with pytest.raises(RefusedError, match=r"^.+$"):
        expert_iteration.read_training(str(tmp_path / "foreign.safetensors"))


def test_a_policy_without_training_options_is_refused(tmp_path: Path) -> None:
    save_small(tmp_path / "small.safetensors", (rules("down_up"),))
    for policy, sentence in ((str(tmp_path / "small.safetensors"), "does not say with which options"), ("nowhere", "nowhere")):
        with pytest.raises(RefusedError, match=sentence):
            expert_iteration.read_training(policy)
