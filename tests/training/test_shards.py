"""Shards from elsewhere: a wrong file is refused by name."""

import json
import os
import pickle
import resource
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from noms_env.core.actions import NUM_ACTIONS
from noms_env.observation.layout import START
from noms_env.policy.encoding import make_encoding
from noms_training.learn.data.decisions import COLUMNS, TARGETS, Decisions
from noms_training.learn.data.shards import MAX_ROWS, _arrow_type, read_shards, write_shards
from noms_training.learn.imitation import RecordedDecisions
from tests.training.fakes import Touches
from tests.training.test_distillation import RULES, SOURCE, policy_decisions

ALL = tuple(column.name for column in COLUMNS + TARGETS)
LEARNT = "observation", "action_mask", "policy"
Shard = tuple[dict[str, Any], Decisions]
FORMATS = pytest.mark.parametrize("file_format", ["npz", "parquet"])


@pytest.fixture(scope="module")
def shard(tmp_path_factory: pytest.TempPathFactory) -> Shard:
    """The metadata and the rows of a good shard."""
    folder = tmp_path_factory.mktemp("shard")
    write_shards(policy_decisions(folder), folder / "set", SOURCE, "npz", 60, COLUMNS + TARGETS)
    return next(read_shards(folder / "set", ALL))


def write_shard(path: Path, about: Any, rows: Decisions) -> None:
    """Write a shard without checks."""
    text = about if isinstance(about, str) else json.dumps(about)
    if path.suffix == ".npz":
        np.savez_compressed(path, about=np.array(text), **rows)  # type: ignore[arg-type]
        return
    columns = {}
    for name, values in rows.items():
        if values.ndim == 2:
            flat = pyarrow.array(values.reshape(-1))
            columns[name] = pyarrow.FixedSizeListArray.from_arrays(flat, values.shape[1])
        else:
            columns[name] = pyarrow.array(values)
    parquet.write_table(pyarrow.table(columns).replace_schema_metadata({"noms-export": text}), path)


def refusal(folder: Path, columns: tuple[str, ...] = ALL) -> str:
    with pytest.raises(ValueError, match=r"^[^\n]+$") as refused:
        list(read_shards(folder, columns))
    assert str(refused.value).isprintable()
    return str(refused.value)


@FORMATS
def test_a_good_shard_is_read_as_it_was_written(tmp_path: Path, shard: Shard, file_format: str) -> None:
    write_shard(tmp_path / f"decisions-0.{file_format}", *shard)
    ((about, rows),) = read_shards(tmp_path, ALL)
    assert about == shard[0]
    for name, values in shard[1].items():
        np.testing.assert_array_equal(rows[name], values)
        assert rows[name].dtype == values.dtype
        assert rows[name].flags.carray


def with_value(name: str, value: Any, *place: int | slice) -> Callable[[Decisions], Decisions]:
    def change(rows: Decisions) -> Decisions:
        changed = rows[name].copy()
        changed[place or (3,)] = value
        return rows | {name: changed}

    return change


def illegal(rows: Decisions) -> int:
    return int(np.flatnonzero(rows["action_mask"][3] == 0)[0])


ROWS: dict[str, tuple[Callable[[Decisions], Decisions], str]] = {
    "no rows": (lambda rows: {name: values[:0] for name, values in rows.items()}, "has 0 rows, where 1 to 1,048,576 "),
    "narrow": (lambda rows: rows | {"action_mask": rows["action_mask"][:, :-1]}, f"has no {NUM_ACTIONS} int8 in each row"),
    "list": (lambda rows: rows | {"seat": rows["policy"].astype(np.int8)}, "has no int8 in each row of its column 'seat'"),
    "lacks": (lambda rows: {name: values for name, values in rows.items() if name != "value"}, "has no column 'value'"),
    "flag": (with_value("observation", 2, 3, START["hand"] + 5), "has a value of observation in row 3 that it cannot have"),
    "nothing legal": (with_value("action_mask", 0), "has no legal action in row 3"),
    "no action": (with_value("action", NUM_ACTIONS), "has a value of action in row 3"),
    "illegal": (lambda rows: with_value("action", illegal(rows))(rows), "has an action that is not legal in row 3"),
    "nan": (with_value("policy", np.nan, 3, 9), "has a value of policy in row 3"),
    "tiny": (lambda rows: rows | {"policy": rows["policy"] * np.float32(1e-6)}, "has probabilities that are not 1 together"),
    "unlikely": (lambda rows: with_value("policy", 0.5, 3, illegal(rows))(rows), "has a probability of an action that is "),
    "variant": (with_value("variant", "bridge"), "has a value of variant in row 3"),
}


@FORMATS
@pytest.mark.parametrize("name", ROWS)
def test_wrong_rows_are_refused(tmp_path: Path, shard: Shard, name: str, file_format: str) -> None:
    about, rows = shard
    change, sentence = ROWS[name]
    file = tmp_path / f"decisions-0.{file_format}"
    write_shard(file, about, change(rows))
    message = refusal(tmp_path)
    assert sentence in message
    assert message.startswith(f"{file} ")


ABOUT: list[Any] = [
    *("{", "[" * 5000, {"format": "other"}, {"layout": "another", "environment": "\x1b"}),
    *({"source": SOURCE | {"players": [name]}} for name in (1, "\x1b[2J")),
]


@FORMATS
@pytest.mark.parametrize("changed", ABOUT, ids=["no JSON", "deep", "format", "layout", "player", "a terminal"])
def test_wrong_metadata_is_refused(tmp_path: Path, shard: Shard, changed: Any, file_format: str) -> None:
    write_shard(tmp_path / f"decisions-0.{file_format}", shard[0] | changed if isinstance(changed, dict) else changed, shard[1])
    assert f"decisions-0.{file_format} " in refusal(tmp_path, ())


@pytest.mark.parametrize("changes", [{"options": {"\u202e": 1}}, {"seats": 10**30}, {"variant": "noms"}], ids=str)
def test_decisions_of_other_tables_are_refused(tmp_path: Path, shard: Shard, changes: dict[str, Any]) -> None:
    write_shard(tmp_path / "decisions-0.npz", shard[0] | {"source": SOURCE | changes}, shard[1])
    with pytest.raises(ValueError, match=r"^[^\n]+$"):
        RecordedDecisions([str(tmp_path)], make_encoding((RULES,)), [RULES])


def test_observations_and_masks_of_other_tables_are_refused(tmp_path: Path, shard: Shard) -> None:
    """Compiled code reads the number of cards from the bytes of the options."""
    about, rows = shard
    for change, sentence in (
        (with_value("observation", 200, 3, START["choices"]), "are of other tables than it says"),
        (with_value("observation", 1, 3, START["variant"] + 1), "are of other tables than it says"),
        (with_value("observation", 5, 3, START["numbers"] + 6), "are of other tables than it says"),
        (with_value("action_mask", 1, slice(None), NUM_ACTIONS - 1), "actions are legal that never are at its tables"),
    ):
        write_shard(tmp_path / "decisions-0.npz", about, change(rows))
        with pytest.raises(ValueError, match=sentence):
            RecordedDecisions([str(tmp_path)], make_encoding((RULES,), card_features=True), [RULES])


@pytest.mark.parametrize("name", ["policy", "about"])
def test_a_pickle_in_a_shard_is_not_loaded(tmp_path: Path, shard: Shard, name: str) -> None:
    ran = tmp_path / "ran"
    pickled = np.array([Touches(ran)] * len(shard[1]["seat"]), object)
    assert pickle.dumps(pickled)
    arrays: dict[str, Any] = {"about": np.array(json.dumps(shard[0])), **shard[1]} | {name: pickled}
    np.savez(tmp_path / "decisions-0.npz", **arrays)
    assert "decisions-0.npz " in refusal(tmp_path, LEARNT)
    assert not ran.exists()


@pytest.fixture
def little_memory() -> Iterator[None]:
    """Limit the memory to 256 MiB more than is used now."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + (256 << 20), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is counted on Linux")
@FORMATS
def test_a_small_file_of_many_rows_takes_no_memory(tmp_path: Path, shard: Shard, file_format: str, little_memory: None) -> None:
    file, rows = tmp_path / f"decisions-0.{file_format}", 3_000_000
    if file_format == "npz":
        write_shard(file, shard[0], {})
        with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive:
            for column in COLUMNS + TARGETS:
                shape = (rows, column.width) if column.width else (rows,)
                head = {"descr": np.dtype(column.dtype).str, "fortran_order": False, "shape": shape}
                with archive.open(f"{column.name}.npy", "w") as member:
                    np.lib.format.write_array_header_1_0(member, head)
                    member.write(bytes(1 << 20))
    else:
        columns = [column for column in COLUMNS if column.name in ("action", "seat")]
        arrays = {column.name: pyarrow.nulls(rows, _arrow_type(column)).fill_null(1) for column in columns}
        parquet.write_table(pyarrow.table(arrays).replace_schema_metadata({"noms-export": json.dumps(shard[0])}), file)
    assert file.stat().st_size < 200_000
    assert f"has {rows:,} rows, where 1 to {MAX_ROWS:,} can be read" in refusal(tmp_path, ("action", "seat"))


def test_a_pipe_is_no_shard(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "decisions-0.npz")
    assert "has no decisions" in refusal(tmp_path)


def test_a_long_text_is_refused_before_it_is_read(tmp_path: Path, shard: Shard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet.ParquetFile, "read", lambda *_: pytest.fail("it is read"))
    write_shard(tmp_path / "decisions-0.parquet", shard[0], {"variant": np.array(["a" * (4 << 20)] * 3)})
    assert "bytes in its column 'variant', where 1,048,768 can be read" in refusal(tmp_path, ("variant",))
