"""Data sets of decisions: they hold what was seen, done and earned; the same bytes every time; what is wrong is refused."""

import json
import multiprocessing
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
from noms_env.variants import game, make_rules
from noms_training.agents.registry import agent_spec
from noms_training.learn.data.decisions import COLUMNS, Decisions, ExportError, empty_rows, from_play, from_records
from noms_training.learn.data.shards import write_shards
from noms_training.learn.data.workers import Play, from_workers
from tests.commands import Run, assert_refused
from tests.envs.play import KINDS
from tests.policy.test_player import save_small

NAMES = [column.name for column in COLUMNS]


def joined(parts: Iterator[Decisions] | list[Decisions]) -> Decisions:
    kept = [{name: values.copy() for name, values in part.items()} for part in parts]
    return {name: np.concatenate([part[name] for part in kept]) for name in NAMES}


def played(variant: str, seats: int, options: dict[str, Any], matches: int, seed: int) -> tuple[list[Record], Decisions]:
    """Random matches: their records, and what was seen when they were played."""
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
    return records, joined(parts)


def assert_same(one: Decisions, other: Decisions) -> None:
    assert list(one) == list(other) == NAMES
    for name in NAMES:
        assert one[name].dtype == other[name].dtype, name
        assert np.array_equal(one[name], other[name]), name


@pytest.fixture(scope="module")
def few() -> list[Record]:
    return list(record_matches("up_down", 3, 2, 4, {"ranks": 3}))


@pytest.fixture
def games(tmp_path: Path, few: list[Record]) -> Path:
    path = tmp_path / "games.jsonl"
    write_records(path, few)
    return path


@pytest.mark.parametrize("name", KINDS)
def test_records_give_what_was_seen_in_play(name: str) -> None:
    records, seen = played(*KINDS[name], matches=1, seed=3)
    records = records[:6]
    found = joined(list(from_records(enumerate(records, 1))))
    rows = len(found["action"])
    assert rows == sum(len(record["steps"]) for record in records)
    expected = {values: seen[values][:rows] for values in NAMES}
    np.testing.assert_allclose(found["relative_points"], expected["relative_points"], rtol=1e-6, atol=1e-6)
    assert_same({**found, "relative_points": expected["relative_points"]}, expected)


@pytest.mark.parametrize("name", ["small ships", "nonesuch", "noms, previous deal shown", "sniped whist, lots"])
def test_play_gives_what_its_actions_lead_to(name: str) -> None:
    variant, seats, options = KINDS[name]
    kind = make_rules(game(variant), seats, options)
    parts = list(from_play(kind, [agent_spec("thumb"), *[agent_spec("random")] * (seats - 1)], 3, seed=6))
    assert sum(ended for _, ended in parts) == 3
    found = joined([part for part, _ in parts])
    assert len(np.unique(found["record"])) == found["record"][-1] + 1
    assert (np.diff(found["record"]) >= 0).all(), "the decisions of a deal lie together"
    for match in range(3):
        table = Table(variant, seats, {**options}, seed=6)
        table.start(match)  # the cards of `record_matches`
        for row in np.flatnonzero(found["match"] == match):
            table.next_deal()
            seat = int(table.row.seat)
            observation, mask = table.view(seat)
            assert np.array_equal(found["observation"][row], observation)
            assert np.array_equal(found["action_mask"][row], mask)
            assert (found["seat"][row], found["phase"][row], found["deal"][row]) == (seat, table.phase, table.row.deal)
            table.step(int(found["action"][row]))
            if table.is_scored:
                deal = (found["match"] == match) & (found["deal"] == table.row.deal)
                assert found["step"][deal].tolist() == list(range(deal.sum()))
                np.testing.assert_allclose(found["points"][deal], table.row.points[found["seat"][deal]], rtol=1e-6)
                for seat in range(seats):
                    others = np.delete(table.row.points[:seats], seat).mean()
                    own = found["relative_points"][deal & (found["seat"] == seat)]
                    np.testing.assert_allclose(own, table.row.points[seat] - others, rtol=1e-5, atol=1e-6)
        assert table.is_over


def test_parquet_holds_the_decisions(tmp_path: Path, few: list[Record]) -> None:
    expected = joined(list(from_records(enumerate(few, 1))))
    written = write_shards(from_records(enumerate(few, 1)), tmp_path / "set", {"files": ["few"]}, shard=50)
    rows = len(expected["action"])
    assert (written.decisions, written.deals, written.shards) == (rows, len(few), -(-rows // 50))
    files = sorted((tmp_path / "set").glob("*.parquet"))
    assert [file.name for file in files] == [f"decisions-{number:05}.parquet" for number in range(written.shards)]
    tables = [parquet.read_table(file) for file in files]
    assert [len(table) for table in tables[:-1]] == [50] * (len(files) - 1)
    for name, column in zip(NAMES, COLUMNS, strict=True):
        values = np.concatenate([_values(table.column(name), column.width) for table in tables])
        assert np.array_equal(values, expected[name]), name
        if not column.dtype.startswith("U"):
            assert values.dtype == expected[name].dtype
    kept = json.loads(tables[0].schema.metadata[b"noms-export"])
    assert (kept["format"], kept["source"]) == ("noms-export/1", {"files": ["few"]})
    card = (tmp_path / "set" / "README.md").read_text(encoding="utf-8")
    assert f"{rows:,} decisions of {len(few)} deals" in card
    assert all(f"| `{name}` |" in card for name in NAMES)


def _values(column: Any, width: int) -> np.ndarray:
    """A column of Parquet as NumPy has it."""
    chunk = column.combine_chunks()
    if width:
        flat: np.ndarray = chunk.flatten().to_numpy()
        return flat.reshape(-1, width)
    return np.array(chunk.to_pylist()) if str(column.type) == "string" else np.asarray(chunk.to_numpy())


def test_npz_holds_the_decisions(tmp_path: Path, few: list[Record]) -> None:
    expected = joined(list(from_records(enumerate(few, 1))))
    write_shards(from_records(enumerate(few, 1)), tmp_path / "set", {}, "npz", shard=64)
    files = sorted((tmp_path / "set").glob("*.npz"))
    with np.load(files[0]) as first:
        assert json.loads(str(first["about"]))["format"] == "noms-export/1"
    loaded = [{name: np.load(file)[name] for name in NAMES} for file in files]
    assert [len(one["action"]) for one in loaded[:-1]] == [64] * (len(files) - 1)
    assert_same(joined(loaded), expected)
    assert loaded[0]["observation"].shape == (64, OBSERVATION_SIZE)


@pytest.mark.parametrize("file_format", ["parquet", "npz"])
def test_the_same_arguments_give_the_same_bytes(file_format: Any, tmp_path: Path, run: Run) -> None:
    words = ("export", "--variant", "up_down", "--seats", 3, "--option", "ranks=3", "--matches", 70, "--player", "greedy")
    for folder in ("one", "two"):
        status, out, err = run(*words, "--format", file_format, "--shard", 4000, "--out", tmp_path / folder)
        assert status == 0, err
        assert "decisions of" in out
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert len(files) > 2
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name
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


def changed(record: Record, **changes: Any) -> Record:
    return {**json.loads(json.dumps(record)), **changes}


def test_bad_records_are_refused_with_a_sentence(few: list[Record]) -> None:
    first = few[0]
    steps = first["steps"]
    cases: dict[str, Record | str] = {
        "line 1: the line is empty": "the line is empty",
        "the points are [999, 0, 0], but by the rules": changed(first, points=[999, 0, 0]),
        "the steps end while seat": changed(first, steps=steps[:-1]),
        f"step {len(steps)}: ": changed(first, steps=[*steps, steps[-1]]),
    }
    for sentence, record in cases.items():
        with pytest.raises(ExportError) as refusal:
            list(from_records([(1, record)]))
        assert sentence in str(refusal.value), sentence
        assert "\n" not in str(refusal.value)


def test_deals_that_show_the_deal_before_need_it() -> None:
    variant, seats, options = KINDS["noms, previous deal shown"]
    records = list(record_matches(variant, seats, 1, 1, {**options}))
    with pytest.raises(
        ExportError, match="line 1: observe_previous_hand shows the deals before, but deal 0 is not on the line"
    ):
        list(from_records([(1, records[1])]))
    assert len(list(from_records(enumerate(records[:3], 1)))) == 3
    with pytest.raises(ExportError, match="line 2: observe_previous_hand"):
        list(from_records(enumerate([records[0], records[2]], 1)))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "give files of records, or a game to be played (--variant), and not both"),
        (["games.jsonl", "--seed", 3], "--seed goes with --variant"),
        (["absent.jsonl"], "cannot read absent.jsonl: No such file or directory"),
        (["damaged.jsonl"], "damaged.jsonl, line 2: the line is not JSON"),
        (["--variant", "noms", "--matches", -1], "matches must be from 1 to 4294967296, not -1"),
        (["games.jsonl", "--shard", 0], "the rows of a shard must be from 1 to 1048576, not 0"),
        (["games.jsonl", "--out", "games.jsonl"], "games.jsonl is a file: a folder is wanted"),
        (["games.jsonl", "--out", "."], ". is not empty: take a new folder"),
        (["games.jsonl", "--out", "games.jsonl/set"], "cannot write games.jsonl/set: Not a directory"),
        (["empty.jsonl", "--out", "new/sets/set"], "empty.jsonl is empty"),
    ],
)
def test_wrong_requests_are_one_sentence(
    words: list[Any], sentence: str, run: Run, games: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = games.read_text().splitlines()
    (tmp_path / "damaged.jsonl").write_text("\n".join([lines[0], lines[1][:-9]]))
    (tmp_path / "empty.jsonl").write_text("")
    before = sorted(tmp_path.iterdir())
    out = () if "--out" in words else ("--out", "set")
    assert_refused(run("export", *words, *out), f"noms: {sentence}")
    assert sorted(tmp_path.iterdir()) == before, "nothing is left behind"


def test_what_is_stopped_leaves_nothing(run: Run, games: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> Iterator[Decisions]:
        yield empty_rows(100)
        raise KeyboardInterrupt

    monkeypatch.setattr("noms_training.commands.export.from_records", interrupted)
    for name in ("set", "sets/new/set"):
        status, _, err = run("export", games, "--shard", 10, "--out", tmp_path / name)
        assert (status, err) == (130, f"noms: stopped by Ctrl-C; {tmp_path / name} is not written\n")
    assert list(tmp_path.iterdir()) == [games]


def test_a_player_that_fails_ends_the_export(tmp_path: Path, run: Run) -> None:
    (tmp_path / "agent.py").write_text(
        "def act(observation, mask, rng):\n    return int(mask[:52].any()) or int(mask.argmax())\n"
    )
    name = f"{tmp_path / 'agent.py'}:act"
    done = run("export", "--variant", "up_down", "--player", name, "--out", tmp_path / "set")
    assert_refused(done, f"noms: {name} chose action 1, which was not legal (match 0, deal ")
    assert not (tmp_path / "set").exists()


def test_arrow_is_needed_for_parquet_only(games: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "pyarrow.parquet", raising=False)
    sentence = "noms: an export as Parquet needs pyarrow, which is not installed: pip install '.[export]'\n"
    assert run("export", games, "--out", tmp_path / "set") == (2, "", sentence)
    assert run("export", games, "--format", "npz", "--out", tmp_path / "set")[0] == 0


# --------------------------------------------------------------------------------------------------- targets and workers

SHORT = make_rules(game("down_up"), 3, {"ranks": 4})


@pytest.fixture
def policy(tmp_path: Path) -> str:
    path = tmp_path / "policy.safetensors"
    save_small(path, (SHORT,))
    return str(path)


def test_policies_and_searches_tell_their_targets(policy: str) -> None:
    search = agent_spec(f"search:{policy},worlds=3")
    parts = list(from_play(SHORT, [agent_spec(policy), search, agent_spec("random")], 3, seed=5, targets=True))
    found = {name: np.concatenate([part[name] for part, _ in parts]) for name in [*NAMES, "policy", "value"]}
    told = found["policy"].sum(axis=1)
    assert np.allclose(told, np.where(found["seat"] == 2, 0, 1), atol=1e-5)
    assert not (found["policy"] * (found["action_mask"] == 0)).any()
    has_choice = np.count_nonzero(found["action_mask"], axis=1) > 1
    searched = ~np.isnan(found["value"])
    assert not searched[(found["seat"] != 1) | ~has_choice].any()
    assert searched.sum() > 0.8 * ((found["seat"] == 1) & has_choice).sum(), "all but those whose actions come to the same"
    own = found["seat"] == 0
    alone = load_player(policy)
    assert isinstance(alone, PolicyPlayer)
    expected = alone.probabilities(found["observation"][own], found["action_mask"][own])
    assert np.array_equal(found["policy"][own], expected)
    plain = joined([part for part, _ in from_play(SHORT, [agent_spec(policy), search, agent_spec("random")], 3, seed=5)])
    assert_same({name: found[name] for name in NAMES}, plain)


@pytest.mark.parametrize("targets", [False, True])
def test_a_search_remembers_the_match_as_it_does_elsewhere(policy: str, targets: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    told, recall = list[int](), SearchPlayer.recall

    def noted(self: SearchPlayer, tables: np.recarray) -> np.ndarray:
        told.append(len(tables))
        return recall(self, tables)

    monkeypatch.setattr(SearchPlayer, "recall", noted)
    players = [agent_spec(f"search:{policy},worlds=2"), agent_spec(policy), agent_spec("random")]
    deals = sum(len(np.unique(part["record"])) for part, _ in from_play(SHORT, players, 2, targets=targets))
    assert sum(told) == deals - 2, "all deals but the last of each match"


def test_workers_change_no_file(policy: str, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["export", "--variant", "down_up", "--seats", 3, "--option", "ranks=4"]
    words += ["--player", policy, "--targets", "--matches", 150]
    for workers in (1, 2):
        status, _, err = run(*words, "--workers", workers, "--out", tmp_path / str(workers))
        assert status == 0, err
    for path in (tmp_path / "1").iterdir():
        assert path.read_bytes() == (tmp_path / "2" / path.name).read_bytes()
    columns = parquet.read_schema(tmp_path / "1" / "decisions-00000.parquet").names
    assert columns == [*NAMES, "policy", "value"]
    assert "| `policy` |" in (tmp_path / "1" / "README.md").read_text(encoding="utf-8")


def test_what_fails_in_a_worker_is_told(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text("def act(observation, mask, rng):\n    return 149\n", encoding="utf-8")
    play = Play("down_up", 3, {"ranks": 4}, (f"{tmp_path / 'wrong.py'}:act",), 65)
    with pytest.raises(ForfeitError, match="chose action 149"):
        list(from_workers(play, 2))
    assert multiprocessing.active_children() == []


def test_wrong_numbers_of_workers_and_targets(run: Run, tmp_path: Path, games: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("export", "--variant", "down_up", "--out", tmp_path / "set")
    assert_refused(run(*words, "--targets"), "only policies and searches on them have targets")
    assert_refused(run("export", games, "--targets", "--out", tmp_path / "set"), "--targets goes with --variant")
    assert_refused(run(*words, "--workers", 2, "--ray"), "give --workers or --ray, and not both")
    monkeypatch.setitem(sys.modules, "ray", None)
    assert_refused(run(*words, "--ray"), "--ray needs ray, which is not installed")
    assert_refused(run("export", games, "--workers", 2, "--out", tmp_path / "set"), "--workers goes with --variant")
