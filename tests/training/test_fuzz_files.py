"""Damage to records and files of runs: flipped bits, cuts and odd values raise the documented errors."""

import contextlib
import hashlib
import io
import json
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow
import pytest
import torch
from hypothesis import strategies as st

from noms_env.micro.cfr import Solver
from noms_env.micro.settings import micro_game
from noms_env.micro.solving import StateError, _restore, _save, solve
from noms_env.micro.tree import Tree, build_tree
from noms_env.policy.encoding import make_encoding
from noms_env.policy.file import PolicyFileError
from noms_env.policy.player import load_policy
from noms_env.record import Record, RecordError, check_records, read_records, record_matches, replay
from noms_env.variants import VARIANTS, game, make_rules
from noms_training.agents.registry import agent_spec
from noms_training.commands.improve import summary
from noms_training.evaluation.block_store import Blocks
from noms_training.evaluation.tournament import Folder, Plan, Saved, TournamentError
from noms_training.learn.best_response import RefusedError
from noms_training.learn.checkpoint import CheckpointError, RunFolder, load_state
from noms_training.learn.data.decisions import COLUMNS, TARGETS, Decisions, ExportError, from_records
from noms_training.learn.data.shards import ALLOWED, read_shards, write_shards
from noms_training.learn.expert_iteration import read_result
from noms_training.learn.imitation import RecordedDecisions
from noms_training.learn.log import read_log
from noms_training.play.deal_text import deal_lines
from noms_training.publish.runs import RunError, read_trained
from tests.fuzz import fuzzed, is_refused
from tests.training.test_distillation import RULES, SOURCE, policy_decisions
from tests.training.test_publish_runs import make_run
from tests.training.test_shards import write_shard

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


def spoil(draw: Callable[[Any], Any], value: Any) -> None:
    """Change, remove or exchange something somewhere inside a list or an object."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    if not keys:
        return
    key, kind = draw(st.sampled_from(keys)), draw(st.integers(0, 9))
    if isinstance(value[key], dict | list) and kind < 7:
        spoil(draw, value[key])
    elif kind == 7:
        del value[key]
    elif kind == 8:
        other = draw(st.sampled_from(keys))
        value[key], value[other] = value[other], value[key]
    else:
        value[key] = draw(JSON_VALUES)


def damaged(draw: Callable[[Any], Any], content: bytes) -> bytes:
    """Flip a bit, cut out a part, or insert bytes."""
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


def replace_file(path: Path, content: bytes) -> None:
    """Write a new file, since ext4 syncs a truncated file to the disk."""
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
def test_damaged_records_are_refused(folder: Path, data: st.DataObject) -> None:
    draw = data.draw
    records: list[Any] = json.loads(RECORDS[draw(st.sampled_from(VARIANTS))])
    for _ in range(draw(st.integers(0, 2))):
        spoil(draw, records)
    content = "\n".join(map(json.dumps, records)).encode()
    if content and draw(st.booleans()):
        content = damaged(draw, content)
    path = folder / "games.jsonl"
    replace_file(path, content)
    lines = list(read_records(path))
    for disagreement in check_records(lines):
        assert "\n" not in str(disagreement)
    for _, record in lines:
        if isinstance(record, dict):
            is_refused(partial(exhaust, replay, record), RecordError)
            is_refused(partial(exhaust, deal_lines, record), RecordError)
    is_refused(partial(exhaust, from_records, lines), ExportError)


def exhaust(function: Callable[[Any], Iterator[Any]], argument: Any) -> None:
    for _ in function(argument):
        pass


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A run; the encoding of its tables, the slowest step, is computed once."""
    with patch("noms_env.policy.file.make_encoding", cache(make_encoding)):
        folder = make_run(tmp_path_factory.mktemp("fuzz") / "run")
        log = folder / "log.csv"
        log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:100]))
        yield folder


READERS: dict[str, tuple[Callable[[Path], object], type[Exception]]] = {
    "config.json": (lambda run: RunFolder(run).config(), CheckpointError),
    "log.csv": (read_log, ValueError),
    "policy.safetensors": (load_policy, PolicyFileError),
}


@fuzzed(150, 10_000)
def test_damaged_files_of_a_run_are_refused(run: Path, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(READERS)))
    file = run / name
    whole = file.read_bytes()
    changed = damaged(data.draw, whole)
    replace_file(file, changed)
    read, kind = READERS[name]
    try:
        assert is_refused(partial(read, run), kind) or name != "policy.safetensors" or changed == whole
        is_refused(partial(read_trained, run), RunError, PolicyFileError, ValueError)
    finally:
        replace_file(file, whole)


@pytest.fixture(scope="module")
def state(folder: Path) -> Path:
    """The file of a training state."""
    with RunFolder.create(folder / "states", {}) as run:
        run.write_state(1, {"weights": torch.arange(6.0), "standing": {"best": None, "past": ["000012"], 7: (1, 2.5, True)}})
        return next((run.path / "state").iterdir())


@fuzzed(150, 15_000)
def test_a_damaged_training_state_is_refused(state: Path, data: st.DataObject) -> None:
    whole = state.read_bytes()
    line, _, content = whole.partition(b"\n")
    fits = data.draw(st.booleans())
    changed = damaged(data.draw, content if fits else whole)
    if fits:
        changed = b"%s %s\n%s" % (line.split()[0], hashlib.sha256(changed).hexdigest().encode(), changed)
    replace_file(state, changed)
    try:
        assert is_refused(partial(load_state, state), CheckpointError) or fits or changed == whole
        is_refused(RunFolder(state.parent.parent, warn=lambda line: None).latest_state, CheckpointError)
    finally:
        replace_file(state, whole)


def changed_json(draw: Callable[[Any], Any], document: Any) -> bytes:
    """A JSON document with odd values, or with damage to its text."""
    changed = json.loads(json.dumps(document))
    for _ in range(draw(st.integers(0, 2))):
        spoil(draw, changed)
    content = json.dumps(changed).encode()
    return damaged(draw, content) if draw(st.booleans()) else content


DONE = {"policy": "a/run", "before": "noms", "gains": {"noms_4": {"mean": 0.5, "low": 0.25, "high": 0.75}}, "kept": "a/run"}


@fuzzed(40, 5_000)
def test_a_damaged_result_of_a_round_is_refused(folder: Path, data: st.DataObject) -> None:
    replace_file(folder / "result.json", changed_json(data.draw, DONE))
    result: dict[str, Any] = {}
    if not is_refused(lambda: result.update(read_result(folder, "noms")), RefusedError):
        assert result["kept"] in ("noms", str(folder / "run"))
        assert summary(result).isprintable()


PLAN = Plan(("thumb", "random"), make_rules(game("down_up"), 3, {"ranks": 4}), 4)
BLOCK = {"alone": [0.5, 1.0, -2.0, 0.0], "against": [0.5] * 4, "lost": [{"tables": 0, "why": []}, {"tables": 1, "why": ["x"]}]}


@fuzzed(40, 5_000)
def test_damaged_tournament_files_are_refused_or_ignored(folder: Path, data: st.DataObject) -> None:
    tournament, pair = Folder(folder / "tournament"), (0, 1)
    block = tournament.file_of(pair, 0)
    block.parent.mkdir(parents=True, exist_ok=True)
    replace_file(block, changed_json(data.draw, BLOCK))
    replace_file(tournament.path / "plan.json", changed_json(data.draw, PLAN.as_json()))
    blocks = Blocks[Saved](4, 4)
    tournament.load(pair, blocks)
    assert all(saved.points.shape == (2, 4) and len(saved.lost) == 2 for saved in blocks.results.values())
    is_refused(lambda: tournament.go_on(PLAN), TournamentError)


Shards = dict[str, tuple[dict[str, Any], Decisions, bytes]]


@pytest.fixture(scope="module")
def shards(folder: Path) -> Shards:
    """By format: the description, rows and bytes of a good shard."""
    shards: Shards = {}
    for name in ("npz", "parquet"):
        write_shards(policy_decisions(folder), folder / name, SOURCE, name, 30, COLUMNS + TARGETS)
        content = (folder / name / f"decisions-00000.{name}").read_bytes()
        description, rows = next(read_shards(folder / name, tuple(ALLOWED)))
        shards[name] = description, rows, content
        for file in sorted((folder / name).glob("decisions-*"))[1:]:
            file.unlink()
    return shards


def spoilt_rows(draw: Callable[[Any], Any], rows: Decisions) -> Decisions:
    """Rows with one column missing, or with other values, length, width or type."""
    name = draw(st.sampled_from(sorted(rows)))
    values = rows[name].copy()
    match draw(st.integers(0, 5)):
        case 0:
            return {other: column for other, column in rows.items() if other != name}
        case 1:
            values = values[: draw(st.integers(0, len(values)))]
        case 2:
            with np.errstate(all="ignore"), contextlib.suppress(ValueError):  # NaN and words as numbers
                values = values.astype(
                    draw(st.sampled_from(["u1", "i1", ">i2", "f4", "f8", "U3"])), casting="unsafe", copy=False
                )
        case 3:
            values = values[..., np.newaxis] if values.ndim == 1 else values[:, : draw(st.integers(0, values.shape[1]))]
        case _:
            flat = values.reshape(-1)
            odd = draw(st.sampled_from([0, 1, 2, -1, 100, 127])) if values.dtype.kind != "U" else "odd"
            if values.dtype.kind == "f":
                odd = draw(st.sampled_from([np.nan, np.inf, -1.0, 0.5, 2.0]))
            flat[draw(st.integers(0, flat.size - 1))] = odd if values.dtype.kind != "u" else abs(int(odd))
    return {**rows, name: values}


@fuzzed(40, 6_000)
def test_damaged_shards_are_refused(
    folder: Path, shards: dict[str, tuple[dict[str, Any], Decisions, bytes]], data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(sorted(shards)))
    description, rows, content = shards[name]
    file = folder / name / f"decisions-00000.{name}"
    file.unlink(missing_ok=True)
    if data.draw(st.booleans()):
        replace_file(file, damaged(data.draw, content))
    else:
        text = (
            changed_json(data.draw, description).decode(errors="replace")
            if data.draw(st.booleans())
            else json.dumps(description)
        )
        with contextlib.suppress(ValueError, pyarrow.ArrowException):  # such a table cannot be written
            write_shard(file, text, spoilt_rows(data.draw, rows))
    if file.exists():
        columns = data.draw(st.sampled_from([("observation", "action_mask", "policy"), tuple(ALLOWED), ()]))
        is_refused(lambda: list(read_shards(folder / name, columns)), ValueError)
        is_refused(lambda: RecordedDecisions([str(folder / name)], ENCODING, [RULES]), ValueError)


ENCODING = make_encoding((RULES,), card_features=True, trick_features=True)


@pytest.fixture(scope="module")
def solved(folder: Path) -> tuple[Tree, bytes, bytes]:
    """A small game, its solution, and an intermediate state of a solver."""
    tree = build_tree(micro_game("down-up-1").setup())
    solve(tree, folder / "solution", iterations=2, share=0)
    solver = Solver(tree)
    solver.iterate()
    _save(solver, folder / "solution.state.npz", "points", 16, 1.0)
    return tree, (folder / "solution").read_bytes(), (folder / "solution.state.npz").read_bytes()


@fuzzed(40, 5_000)
def test_a_damaged_solution_is_refused(folder: Path, solved: tuple[Tree, bytes, bytes], data: st.DataObject) -> None:
    _, content, _ = solved
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    if data.draw(st.booleans()):
        content = damaged(data.draw, content)
    else:
        text = changed_json(data.draw, json.loads(header["__metadata__"]["noms-solution"])).decode(errors="replace")
        start = json.dumps({**header, "__metadata__": {"noms-solution": text}}).encode()
        content = len(start).to_bytes(8, "little") + start + content[8 + length :]
    replace_file(folder / "solution", content)
    is_refused(lambda: agent_spec(f"solved:{folder / 'solution'}").check(RULES), ValueError)


@fuzzed(40, 5_000)
def test_a_damaged_state_of_a_solver_is_refused(folder: Path, solved: tuple[Tree, bytes, bytes], data: st.DataObject) -> None:
    tree, _, content = solved
    state = folder / "solution.state.npz"
    if data.draw(st.booleans()):
        replace_file(state, damaged(data.draw, content))
    else:
        with np.load(io.BytesIO(content)) as file:
            arrays = dict(file)
        name = data.draw(st.sampled_from(sorted(arrays)))
        values = arrays[name].copy()
        if values.dtype.kind == "U" or data.draw(st.integers(0, 3)) == 0:
            arrays[name] = data.draw(st.sampled_from([values[..., np.newaxis], values.astype("U8"), values.reshape(-1)[:1]]))
        else:
            values.reshape(-1)[data.draw(st.integers(0, values.size - 1))] = data.draw(st.sampled_from([-1, 0, 1, 10**18]))
            if values.dtype.kind == "f":
                values.reshape(-1)[0] = data.draw(st.sampled_from([np.nan, np.inf, 0.5, 1e308]))
            arrays[name] = values
        state.unlink(missing_ok=True)
        np.savez(state, **arrays)
    solver = Solver(tree)
    if not is_refused(lambda: _restore(solver, state, "points"), StateError):
        assert np.isfinite(solver.average()).all()
    else:
        assert solver.iterations == 0
        assert not solver.regrets.any()
