"""Data sets of decisions: their columns, the same bytes every time, and refusals."""

import json
import multiprocessing
import os
import random
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow.parquet as parquet
import pytest

from noms_env import Table
from noms_env.observation.layout import OBSERVATION_SIZE
from noms_env.players import load_player
from noms_env.players.foreign_code import ForfeitError
from noms_env.policy.player import PolicyPlayer
from noms_env.record import Record, Recorder, record_matches, write_records
from noms_env.search.policy_search import SearchPlayer
from noms_training.agents.registry import agent_spec
from noms_training.learn.data.decisions import COLUMNS, Decisions, ExportError, empty_rows, from_play, from_records
from noms_training.learn.data.shards import write_shards
from noms_training.learn.data.workers import Play, from_workers
from tests.commands import Run, assert_refused
from tests.envs.play import KINDS
from tests.policy.test_player import save_small
from tests.training.fakes import rules

NAMES = [column.name for column in COLUMNS]


def join(parts: Iterable[Decisions]) -> Decisions:
    copies = [{name: values.copy() for name, values in part.items()} for part in parts]
    return {name: np.concatenate([part[name] for part in copies]) for name in NAMES}


def play_matches(variant: str, seats: int, options: dict[str, Any], matches: int, seed: int) -> tuple[list[Record], Decisions]:
    """Random matches: their records, and their decisions as noted during play."""
    table, rng = Table(variant, seats, {**options}, seed=seed), random.Random(seed)
    recorder, records, parts = Recorder(), list[Record](), list[Decisions]()
    for match in range(matches):
        table.start(match)
        while not table.is_over:
            table.next_deal()
            start = len(parts)
            while not table.is_scored:
                row, seat = empty_rows(1), int(table.row.seat)
                row["observation"][0], row["action_mask"][0] = table.view(seat)
                action = rng.choice(table.legal_actions())
                row["action"][0], row["seat"][0], row["phase"][0] = action, seat, table.phase
                row["record"][0], row["match"][0], row["deal"][0] = len(records), match, table.row.deal
                row["step"][0] = len(parts) - start
                row["variant"][0], row["seats"][0] = variant, table.seats
                parts.append(row)
                recorder.note(table, action)
                table.step(action)
            records.append(recorder.finish(table))
            points = records[-1]["points"]
            for row in parts[start:]:
                own = points[row["seat"][0]]
                row["points"][0], row["relative_points"][0] = own, own - (sum(points) - own) / (len(points) - 1)
    return records, join(parts)


def assert_same(decisions: Decisions, expected: Decisions) -> None:
    assert list(decisions) == list(expected) == NAMES
    for name in NAMES:
        assert decisions[name].dtype == expected[name].dtype, name
        if name == "relative_points":
            np.testing.assert_allclose(decisions[name], expected[name], rtol=1e-6, atol=1e-6)
        else:
            assert np.array_equal(decisions[name], expected[name]), name


def test_points_beyond_float32_become_its_largest_number() -> None:
    table, rng, recorder = Table("noms", 4, {"double_repeat": "quadruple"}), random.Random(1), Recorder()
    table.start(seed=1, deal=200 - 1, multiplier=2**199)
    while not table.is_scored:
        action = rng.choice(table.legal_actions())
        recorder.note(table, action)
        table.step(action)
    decisions = join(from_records([(1, recorder.finish(table))]))
    largest = np.finfo(np.float32).max
    assert np.abs(decisions["points"]).max() == largest
    assert np.abs(decisions["relative_points"]).max() == largest


@pytest.fixture(scope="module")
def records() -> list[Record]:
    return list(record_matches("up_down", 3, 2, 4, {"ranks": 3}))


@pytest.fixture
def games(tmp_path: Path, records: list[Record]) -> Path:
    path = tmp_path / "games.jsonl"
    write_records(path, records)
    return path


@pytest.mark.parametrize("name", KINDS)
def test_records_give_the_decisions_of_their_play(name: str) -> None:
    records, noted = play_matches(*KINDS[name], matches=1, seed=3)
    records = records[:6]
    decisions = join(from_records(enumerate(records, 1)))
    rows = len(decisions["action"])
    assert rows == sum(len(record["steps"]) for record in records)
    assert_same(decisions, {name: values[:rows] for name, values in noted.items()})


@pytest.mark.parametrize("name", ["small ships", "nonesuch", "noms, previous deal shown", "sniped whist, lots"])
def test_play_gives_the_decisions_of_its_records(name: str) -> None:
    variant, seats, options = KINDS[name]
    players = [agent_spec("thumb"), *[agent_spec("random")] * (seats - 1)]
    parts = list(from_play(rules(variant, seats, **options), players, 3, seed=6))
    assert sum(finished for _, finished in parts) == 3
    decisions = join(part for part, _ in parts)
    assert set(np.diff(decisions["record"])) == {0, 1}, "the decisions of a deal lie together"
    for match in range(3):
        own = {name: values[decisions["match"] == match] for name, values in decisions.items()}
        table, recorder, records = Table(variant, seats, {**options}, seed=6), Recorder(), list[Record]()
        table.start(match)  # the cards of `record_matches`
        for action in own["action"].tolist():
            table.next_deal()
            recorder.note(table, action)
            table.step(action)
            if table.is_scored:
                records.append(recorder.finish(table))
        assert table.is_over
        expected = join(from_records(enumerate(records, 1)))
        assert np.array_equal(np.diff(own["record"]) > 0, np.diff(expected["record"]) > 0)
        assert_same({**own, "record": expected["record"]}, expected)


def test_parquet_has_all_columns(tmp_path: Path, records: list[Record]) -> None:
    expected = join(from_records(enumerate(records, 1)))
    counts = write_shards(from_records(enumerate(records, 1)), tmp_path / "set", {"files": ["few"]}, shard=50)
    rows = len(expected["action"])
    assert (counts.decisions, counts.deals, counts.shards) == (rows, len(records), -(-rows // 50))
    files = sorted((tmp_path / "set").glob("*.parquet"))
    assert [file.name for file in files] == [f"decisions-{number:05}.parquet" for number in range(counts.shards)]
    tables = [parquet.read_table(file) for file in files]
    assert [len(table) for table in tables[:-1]] == [50] * (len(files) - 1)
    for name in NAMES:
        assert np.array_equal([value for table in tables for value in table.column(name).to_pylist()], expected[name]), name
    about = json.loads(tables[0].schema.metadata[b"noms-export"])
    assert (about["format"], about["source"]) == ("noms-export/1", {"files": ["few"]})
    card = (tmp_path / "set" / "README.md").read_text(encoding="utf-8")
    assert f"{rows:,} decisions of {len(records)} deals" in card
    assert all(f"| `{name}` |" in card for name in NAMES)


def test_npz_has_all_columns(tmp_path: Path, records: list[Record]) -> None:
    write_shards(from_records(enumerate(records, 1)), tmp_path / "set", {}, "npz", shard=64)
    files = sorted((tmp_path / "set").glob("*.npz"))
    with np.load(files[0]) as first:
        assert json.loads(str(first["about"]))["format"] == "noms-export/1"
    shards = [{name: np.load(file)[name] for name in NAMES} for file in files]
    assert [len(shard["action"]) for shard in shards[:-1]] == [64] * (len(files) - 1)
    assert_same(join(shards), join(from_records(enumerate(records, 1))))
    assert shards[0]["observation"].shape == (64, OBSERVATION_SIZE)


def test_the_same_arguments_give_the_same_bytes(tmp_path: Path, run: Run) -> None:
    words = ["export", "--variant", "up_down", "--seats", 3, "--option", "ranks=3", "--matches", 70, "--player", "greedy"]
    contents = []
    for folder in ("one", "two"):
        status, out, err = run(*words, "--format", "npz", "--shard", 4000, "--out", tmp_path / folder)
        assert status == 0, err
        assert "decisions of" in out
        contents.append({path.name: path.read_bytes() for path in (tmp_path / folder).iterdir()})
    assert len(contents[0]) > 2
    assert contents[0] == contents[1]
    assert sorted(tmp_path.iterdir()) == [tmp_path / "one", tmp_path / "two"]


def test_a_link_to_an_empty_folder_is_followed(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "scratch").mkdir()
    (tmp_path / "link").symlink_to("scratch")
    words = ("export", "--variant", "up_down", "--matches", 1, "--format", "npz", "--out")
    assert run(*words, tmp_path / "link")[0] == 0
    assert (tmp_path / "link").is_symlink()
    assert [*(tmp_path / "scratch").glob("*.npz")]
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert_refused(run(*words, "."), "an export cannot be written into the current folder: name a new one in it")


def test_an_export_is_not_blocked_by_the_remains_of_a_killed_one(tmp_path: Path, run: Run) -> None:
    words = ("export", "--variant", "up_down", "--matches", 1, "--format", "npz", "--out", tmp_path / "data")
    (tmp_path / f".data.{os.getpid()}.part").mkdir()
    assert run(*words)[0] == 0
    with patch.object(Path, "is_mount", return_value=True):
        (tmp_path / "disk").mkdir()
        assert_refused(run(*words[:-1], tmp_path / "disk"), "where a file system is mounted: name a new one in it")


def test_wrong_records_are_refused(records: list[Record]) -> None:
    first = records[0]
    steps = first["steps"]
    cases: dict[str, Any] = {
        "line 1: the line is empty": "the line is empty",
        "the points are [999, 0, 0], but by the rules": {**first, "points": [999, 0, 0]},
        "the steps end while seat": {**first, "steps": steps[:-1]},
        f"step {len(steps)}: ": {**first, "steps": [*steps, steps[-1]]},
    }
    for sentence, record in cases.items():
        with pytest.raises(ExportError) as refusal:
            list(from_records([(1, record)]))
        assert sentence in str(refusal.value), sentence
        assert "\n" not in str(refusal.value)


def test_deals_that_show_the_previous_deal_need_it() -> None:
    variant, seats, options = KINDS["noms, previous deal shown"]
    records = list(record_matches(variant, seats, 1, 1, {**options}))
    with pytest.raises(ExportError, match=r"line 1: observe_previous_hand .* deal 0 "):
        list(from_records([(1, records[1])]))
    assert len(list(from_records(enumerate(records[:3], 1)))) == 3
    with pytest.raises(ExportError, match="line 2: observe_previous_hand"):
        list(from_records(enumerate([records[0], records[2]], 1)))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "give files of records, or a game to be played (--variant), and not both"),
        (["--variant", "down_up", "--targets"], "only policies and searches on them have targets"),
        (["--variant", "down_up", "--workers", 2, "--ray"], "give --workers or --ray, and not both"),
        (["games.jsonl", "--seed", 3], "--seed goes with --variant"),
        (["absent.jsonl"], "cannot read absent.jsonl: No such file or directory"),
        (["damaged.jsonl"], "damaged.jsonl, line 2: the line is not JSON"),
        (["--variant", "noms", "--matches", -1], "matches must be from 1 to 4294967296, not -1"),
        (["games.jsonl", "--shard", 0], "the rows of a shard must be from 1 to 1048576, not 0"),
        (["games.jsonl", "--out", "games.jsonl"], "games.jsonl is a file"),
        (["games.jsonl", "--out", "."], ". is not empty: take a new folder"),
        (["games.jsonl", "--out", "games.jsonl/set"], "cannot write games.jsonl/set: Not a directory"),
        (["empty.jsonl", "--out", "new/sets/set"], "empty.jsonl is empty"),
    ],
)
def test_wrong_arguments_are_refused(
    words: list[Any], sentence: str, run: Run, games: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = games.read_text().splitlines()
    (tmp_path / "damaged.jsonl").write_text("\n".join([lines[0], lines[1][:-9]]))
    (tmp_path / "empty.jsonl").write_text("")
    before = sorted(tmp_path.iterdir())
    out = () if "--out" in words else ("--out", "set")
    assert_refused(run("export", *words, *out), f"noms: {sentence}")
    assert sorted(tmp_path.iterdir()) == before


def test_a_stopped_export_leaves_nothing(run: Run, games: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> Iterator[Decisions]:
        yield empty_rows(100)
        raise KeyboardInterrupt

    monkeypatch.setattr("noms_training.commands.export.from_records", interrupted)
    for name in ("set", "sets/new/set"):
        status, _, err = run("export", games, "--shard", 10, "--out", tmp_path / name)
        assert (status, err) == (130, f"noms: stopped by Ctrl-C; {tmp_path / name} is not written\n")
    assert list(tmp_path.iterdir()) == [games]


def test_a_player_that_fails_ends_the_export(tmp_path: Path, run: Run) -> None:
    code = "def act(observation, mask, rng):\n    return int(mask[:52].any()) or int(mask.argmax())\n"
    (tmp_path / "agent.py").write_text(code)
    name = f"{tmp_path / 'agent.py'}:act"
    done = run("export", "--variant", "up_down", "--player", name, "--out", tmp_path / "set")
    assert_refused(done, f"noms: {name} chose action 1, which was not legal (match 0, deal ")
    assert not (tmp_path / "set").exists()


def test_missing_extras_are_named(games: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "pyarrow.parquet", raising=False)
    sentence = "an export as Parquet needs pyarrow, which is not installed: pip install '.[export]'"
    assert_refused(run("export", games, "--out", tmp_path / "set"), sentence)
    assert run("export", games, "--format", "npz", "--out", tmp_path / "set")[0] == 0
    monkeypatch.setitem(sys.modules, "ray", None)
    words = ("export", "--variant", "down_up", "--format", "npz", "--ray", "--out", tmp_path / "ray")
    assert_refused(run(*words), "--ray needs ray, which is not installed")


# --------------------------------------------------------------------------------------------------- targets and workers

SHORT = rules("down_up", 3, ranks=4)


@pytest.fixture
def policy(tmp_path: Path) -> str:
    path = tmp_path / "policy.safetensors"
    save_small(path, (SHORT,))
    return str(path)


def test_policies_and_searches_have_targets(policy: str) -> None:
    players = [agent_spec(policy), agent_spec(f"search:{policy},worlds=3"), agent_spec("random")]
    parts = list(from_play(SHORT, players, 3, seed=5, targets=True))
    rows = {name: np.concatenate([part[name] for part, _ in parts]) for name in [*NAMES, "policy", "value"]}
    assert np.allclose(rows["policy"].sum(axis=1), np.where(rows["seat"] == 2, 0, 1), atol=1e-5)
    assert not (rows["policy"] * (rows["action_mask"] == 0)).any()
    has_choice = np.count_nonzero(rows["action_mask"], axis=1) > 1
    has_value = ~np.isnan(rows["value"])
    assert not has_value[(rows["seat"] != 1) | ~has_choice].any()
    assert has_value.sum() > 0.8 * ((rows["seat"] == 1) & has_choice).sum(), "all but those with equivalent actions only"
    own = rows["seat"] == 0
    player = load_player(policy)
    assert isinstance(player, PolicyPlayer)
    assert np.array_equal(rows["policy"][own], player.probabilities(rows["observation"][own], rows["action_mask"][own]))
    plain = join(part for part, _ in from_play(SHORT, players, 3, seed=5))
    assert_same({name: rows[name] for name in NAMES}, plain)


@pytest.mark.parametrize("targets", [False, True])
def test_a_search_recalls_all_deals_of_a_match(policy: str, targets: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    counts, recall = list[int](), SearchPlayer.recall

    def note_tables(self: SearchPlayer, tables: np.recarray) -> np.ndarray:
        counts.append(len(tables))
        return recall(self, tables)

    monkeypatch.setattr(SearchPlayer, "recall", note_tables)
    players = [agent_spec(f"search:{policy},worlds=2"), agent_spec(policy), agent_spec("random")]
    deals = sum(len(np.unique(part["record"])) for part, _ in from_play(SHORT, players, 2, targets=targets))
    assert sum(counts) == deals - 2, "all but the last of each match"


def test_workers_change_no_file(policy: str, tmp_path: Path, run: Run) -> None:
    words = ["export", "--variant", "down_up", "--seats", 3, "--option", "ranks=4"]
    words += ["--player", policy, "--targets", "--matches", 150]
    contents = []
    for workers in ("1", "2"):
        status, _, err = run(*words, "--workers", workers, "--out", tmp_path / workers)
        assert status == 0, err
        contents.append({path.name: path.read_bytes() for path in (tmp_path / workers).iterdir()})
    assert contents[0] == contents[1]
    columns = parquet.read_schema(tmp_path / "1" / "decisions-00000.parquet").names
    assert columns == [*NAMES, "policy", "value"]
    assert "| `policy` |" in (tmp_path / "1" / "README.md").read_text(encoding="utf-8")


def test_an_error_in_a_worker_is_raised(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text("def act(observation, mask, rng):\n    return 149\n", encoding="utf-8")
    play = Play("down_up", 3, {"ranks": 4}, (f"{tmp_path / 'wrong.py'}:act",), 65)
    with pytest.raises(ForfeitError, match="chose action 149"):
        list(from_workers(play, 2))
    assert multiprocessing.active_children() == []
