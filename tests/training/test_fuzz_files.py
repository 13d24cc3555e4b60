"""Damage to records and files of runs: flipped bits, cuts and odd values end in the errors that are documented."""

import hashlib
import json
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import torch
from hypothesis import strategies as st

from noms_env.policy.encoding import make_encoding
from noms_env.policy.file import PolicyFileError
from noms_env.policy.player import load_policy
from noms_env.record import Record, RecordError, check_records, read_records, record_matches, replay
from noms_env.variants import VARIANTS
from tests.fuzz import fuzzed, is_refused
from tests.training.test_publish_runs import make_run
from training.data.decisions import ExportError, from_records
from training.learn.checkpoint import CheckpointError, RunFolder, load_state
from training.learn.log import read_log
from training.publish.runs import RunError, read_trained
from training.terminal.deal_text import deal_lines

JSON_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(), max_size=3)
    | st.sampled_from([2**31, 2**63, -(2**63), 10**30, 10**400, 1e308, -1, "NT", "pass", "EX", "\ud800", "2C", "\n"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)
TOKENS = [b"9" * 5000, b"1e999", b"-0", b'"\\ud800"', b"NaN", b"\xff", b"[" * 3000, b"\0", b"\n", b'"', b"{}", b"1.5e-400"]


def spoilt(draw: Callable[[Any], Any], value: Any) -> None:
    """Change, remove or exchange something somewhere inside a list or an object."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    if not keys:
        return
    key, how = draw(st.sampled_from(keys)), draw(st.integers(0, 9))
    if isinstance(value[key], dict | list) and how < 7:
        spoilt(draw, value[key])
    elif how == 7:
        del value[key]
    elif how == 8:
        other = draw(st.sampled_from(keys))
        value[key], value[other] = value[other], value[key]
    else:
        value[key] = draw(JSON_VALUES)


def damaged(draw: Callable[[Any], Any], content: bytes) -> bytes:
    """A content with a bit flipped, a part cut out, or something put in."""
    place = draw(st.integers(0, len(content) - 1))
    match draw(st.integers(0, 3)):
        case 0:
            flipped = bytearray(content)
            flipped[place] ^= 1 << draw(st.integers(0, 7))
            return bytes(flipped)
        case 1:
            return content[:place]
        case 2:
            return content[:place] + content[place + draw(st.integers(1, 400)) :]
    token: bytes = draw(st.sampled_from(TOKENS) | st.binary(max_size=60))
    return content[:place] + token + content[place + draw(st.sampled_from([0, 1, 4, len(token)])) :]


def put(path: Path, content: bytes) -> None:
    """Write a new file: for one that is cut off and written again ext4 waits for the disk."""
    path.unlink(missing_ok=True)
    path.write_bytes(content)


def records_of(variant: str) -> list[Record]:
    short = {"ranks": 4 if variant != "nonesuch" else 3}
    return list(islice(record_matches(variant, legal=True, seed=1, options=short), 2))


RECORDS = {variant: json.dumps(records_of(variant)) for variant in VARIANTS}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@fuzzed(150, 20_000)
def test_records(folder: Path, data: st.DataObject) -> None:
    draw = data.draw
    records: list[Any] = json.loads(RECORDS[draw(st.sampled_from(VARIANTS))])
    for _ in range(draw(st.integers(0, 2))):
        spoilt(draw, records)
    content = "\n".join(map(json.dumps, records)).encode()
    if content and draw(st.booleans()):
        content = damaged(draw, content)
    path = folder / "games.jsonl"
    put(path, content)
    lines = list(read_records(path))
    for disagreement in check_records(lines):
        assert "\n" not in str(disagreement)
    for _, record in lines:
        if isinstance(record, dict):
            is_refused(partial(all_of, replay, record), RecordError)
            is_refused(partial(all_of, deal_lines, record), RecordError)
    is_refused(partial(all_of, from_records, lines), ExportError)


def all_of(function: Callable[[Any], Iterator[Any]], argument: Any) -> None:
    for _ in function(argument):
        pass


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A run, while the features of its tables, which take longer than all else, are made once."""
    with patch("noms_env.policy.file.make_encoding", cache(make_encoding)):
        made = make_run(tmp_path_factory.mktemp("fuzz") / "run")
        log = made / "log.csv"
        log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:100]))
        yield made


READERS: dict[str, tuple[Callable[[Path], object], type[Exception]]] = {
    "config.json": (lambda run: RunFolder(run).config(), CheckpointError),
    "log.csv": (read_log, ValueError),
    "policy.safetensors": (load_policy, PolicyFileError),
}


@fuzzed(150, 10_000)
def test_files_of_a_run(run: Path, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(READERS)))
    file = run / name
    whole = file.read_bytes()
    changed = damaged(data.draw, whole)
    put(file, changed)
    read, kind = READERS[name]
    try:
        assert is_refused(partial(read, run), kind) or name != "policy.safetensors" or changed == whole
        is_refused(partial(read_trained, run), RunError, PolicyFileError, ValueError)
    finally:
        put(file, whole)


@pytest.fixture(scope="module")
def state(folder: Path) -> Path:
    """A state that is not in use."""
    with RunFolder.create(folder / "states", {}) as made:
        made.write_state(1, {"weights": torch.arange(6.0), "standing": {"best": None, "past": ["000012"], 7: (1, 2.5, True)}})
        return next((made.path / "state").iterdir())


@fuzzed(150, 15_000)
def test_states_of_a_run(state: Path, data: st.DataObject) -> None:
    whole = state.read_bytes()
    line, _, content = whole.partition(b"\n")
    fits = data.draw(st.booleans())
    changed = damaged(data.draw, content if fits else whole)
    if fits:
        changed = b"%s %s\n%s" % (line.split()[0], hashlib.sha256(changed).hexdigest().encode(), changed)
    put(state, changed)
    try:
        assert is_refused(partial(load_state, state), CheckpointError) or fits or changed == whole
        is_refused(RunFolder(state.parent.parent, warn=lambda line: None).latest_state, CheckpointError)
    finally:
        put(state, whole)
