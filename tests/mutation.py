"""Mutation test: the share of random one-line errors in the sources that the tests catch.

A fixed seed draws 150 mutations, 30 in each of five rooms: first one of eight kinds, then a line. A mutation replaces a
comparison, `+` or `-`, a number, `and` or `or`, or `min` or `max`, negates a condition, sets a return value to 0, or deletes an
assignment. The tests of the room run in a copy of the repository until one fails, most of them with the compiler off, since an
edit of compiled code invalidates its cache.

The result is a CSV with one row per mutation: `caught`, `survived`, or `timeout` (out of processor time; counts as caught). A
second run resumes it. `--like OLD.csv` reuses the mutations of an older result whose lines are still in the room, in any file,
and draws the others. The standard error of the share is 3 percentage points. Read the survivors: some mutations have no effect.
"""

import argparse
import ast
import csv
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

COPIED = ("noms_env", "training", "noms_training", "tests", "examples", "checkpoints", "pyproject.toml")
LIMIT = 400
"""Processor seconds of a run of pytest."""
MARKED = {"quick": "uncompiled and not soak", "all": "not soak"}
RECORDS = "tests/test_record.py tests/test_record_check.py tests/test_record_decks.py"
PLAYED = f"off quick tests/test_agreement.py tests/core {RECORDS} tests/test_show.py tests/envs/test_same_bytes.py"
RULES = "off all tests/variants --ignore=tests/variants/test_counts.py"
COUNTS = "off all tests/variants/test_counts.py"
LAYOUTS = "on all tests/belief/test_layouts.py"
SEARCHES = "tests/search/test_pimc.py tests/search/test_endgame.py"
SEEN = "off all tests/envs/test_positions.py tests/observation/test_layout.py tests/envs/test_rewards.py"
FEATURES = "on all tests/observation tests/envs/test_features.py tests/policy/test_encoding.py"
STATES = "on all tests/envs/test_copies.py tests/envs/test_refusals.py"
LARGE = ("rows_do_not_depend_on_their_number", "step_with_observe")  # the beginnings of names
BATCH = "tests/envs/test_batch.py"
BATCHES = " ".join(["off all", BATCH, *(f"--deselect={BATCH}::test_{name}" for name in LARGE)])
SPIEL = (
    "tests/interop/test_open_spiel.py tests/interop/test_micro.py tests/interop/test_oh_hell.py tests/interop/test_cleanrl.py"
)
NAMES = "statistics deal_sets block_store figures probes matches cross_play mistakes comparison tournament evaluate_command"
EVALUATION = " ".join(["on all", *(f"tests/training/test_{name}.py" for name in NAMES.split())])
# Per room the globs of its sources, and the runs of pytest, fastest first: compiler off or on, marked tests, files.
ROOMS: dict[str, tuple[str, ...]] = {
    "rules": ("variants/**/*.py core/*.py", RULES, PLAYED, LAYOUTS, COUNTS),
    "engine": ("engine/*.py observation/*.py table/*.py", PLAYED, RULES, FEATURES, STATES, SEEN, BATCHES),
    "envs": ("envs/**/*.py interop/open_spiel.py", f"on all tests/envs {SPIEL}"),
    "belief": ("belief/*.py", f"off quick tests/belief {SEARCHES}", "on all tests/belief tests/search/test_memory.py"),
    "evaluation": ("../training/evaluation/*.py", EVALUATION),
}
SWAPS: dict[type, str] = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="}
SWAPS |= {ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is"}
SWAPS |= {ast.And: "or", ast.Or: "and", ast.Add: "-", ast.Sub: "+"}
EXTREMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}


class Mutation(NamedTuple):
    """A line to replace; `line` and `replacement` are without indentation."""

    room: str
    file: str
    function: str
    kind: str
    line: str
    replacement: str


def nodes(node: ast.AST, function: str = "") -> Iterator[tuple[str, str, Any]]:
    """Yield function name, field and node of everything below that may mutate: no annotations, errors or decorators."""
    function = node.name if isinstance(node, ast.FunctionDef) else function
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            left_out = field in ("annotation", "returns", "decorator_list") or isinstance(child, ast.Raise | ast.JoinedStr)
            if isinstance(child, ast.AST) and not left_out:
                yield function, field, child
                yield from nodes(child, function)


def edits(field: str, node: Any, line: str) -> Iterator[tuple[str, int, int, str]]:
    """Yield kind, first and last column, and new text of each mutation of a node."""
    start, stop = int(node.col_offset), int(node.end_col_offset)
    text, word = line[start:stop], line[start:stop].rsplit(".", 1)[-1]
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    if field == "test":
        yield "negation", start, stop, f"not ({text})"
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield "comparison", node.left.end_col_offset or 0, node.comparators[0].col_offset, f" {SWAPS[type(node.ops[0])]} "
    elif isinstance(node, ast.BinOp) and type(node.op) in SWAPS:
        yield "arithmetic", node.left.end_col_offset or 0, node.right.col_offset, f" {SWAPS[type(node.op)]} "
    elif isinstance(node, ast.BoolOp):
        yield "boolean", node.values[0].end_col_offset or 0, node.values[1].col_offset, f" {SWAPS[type(node.op)]} "
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield "number", start, stop, str(node.value + 1)
    elif isinstance(node, ast.Return) and node.value:
        yield "return", start, stop, "return 1" if text == "return 0" else "return 0"
    elif isinstance(node, ast.AugAssign) or isinstance(target, ast.Attribute | ast.Subscript):
        yield "assignment", start, stop, "pass"
    elif isinstance(node, ast.Name | ast.Attribute) and word in EXTREMES:
        yield "extreme", stop - len(word), stop, EXTREMES[word]


def mutations(root: Path, room: str) -> list[Mutation]:
    """Return every mutation of a room once."""
    distinct: dict[Mutation, None] = {}
    for path in sorted({path.resolve() for glob in ROOMS[room][0].split() for path in (root / "noms_env").glob(glob)}):
        lines, name = path.read_text().splitlines(), str(path.relative_to(root.resolve()))
        for function, field, node in nodes(ast.parse(path.read_text())):
            number = getattr(node, "lineno", 0)
            if number and node.end_lineno == number and (line := lines[number - 1]).isascii():
                for kind, start, stop, text in edits(field, node, line):
                    replacement = (line[:start] + text + line[stop:]).strip()
                    distinct[Mutation(room, name, function, kind, line.strip(), replacement)] = None
    return list(distinct)


def draw(root: Path, room: str, former: list[Mutation]) -> list[Mutation]:
    """Draw 30 mutations of a room, one per line: the former ones that still exist, then random ones."""
    rng, everything, selected = random.Random(f"0 {room}"), mutations(root, room), []
    for old in former:
        same = [new for new in everything if (new.line, new.replacement) == (old.line, old.replacement)]
        same.sort(key=lambda new: (new.function != old.function, Path(new.file).name != Path(old.file).name))
        selected += same[:1]
    print(f"{room}: {len(everything)} mutations; of {len(former)} former ones {len(selected)} are still there", flush=True)
    while len(selected) < 30:
        kind = rng.choice(sorted({mutation.kind for mutation in everything}))
        chosen = rng.choice([mutation for mutation in everything if mutation.kind == kind])
        if chosen.line not in {mutation.line for mutation in selected}:
            selected.append(chosen)
    return selected


def run_tests(root: Path, room: str) -> str:
    """Return the outcome of the tests of a room in a copy of the repository."""
    for run in ROOMS[room][1:]:
        compiler, marked, *files = run.split()
        environment = os.environ | {
            "PYTHONPATH": str(root),
            "OMP_NUM_THREADS": "1",
            "NUMBA_DISABLE_JIT": str(int(compiler == "off")),
        }
        command = ["prlimit", f"--cpu={LIMIT}", sys.executable, "-m", "pytest", "-x", "-q", "-m", MARKED[marked], *files]
        result = subprocess.run(command, cwd=root, env=environment, capture_output=True, check=False)
        if result.returncode:
            return "timeout" if result.returncode < 0 else "caught"
    return "survived"


def measure(root: Path, mutation: Mutation) -> tuple[str, int]:
    """Return outcome and seconds of the tests of a mutation, and restore the file."""
    path, began = root / mutation.file, time.monotonic()
    before = path.read_text()
    lines = before.splitlines(keepends=True)
    numbers = [getattr(node, "lineno", 0) for name, _, node in nodes(ast.parse(before)) if name == mutation.function]
    number = next(number for number in numbers if number and lines[number - 1].strip() == mutation.line)
    lines[number - 1] = lines[number - 1].replace(mutation.line, mutation.replacement)
    path.write_text("".join(lines))
    try:
        return run_tests(root, mutation.room), round(time.monotonic() - began)
    finally:
        path.write_text(before)


def read(path: Path | None) -> list[tuple[str, ...]]:
    """Return the rows of a result without its header, none if there is no file."""
    return [tuple(row) for row in csv.reader(path.open())][1:] if path and path.exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("build/mutations.csv"), help="the result; rows that it has are kept")
    parser.add_argument("--like", type=Path, help="take the mutations of this result where their lines are still there")
    parser.add_argument("--rooms", nargs="+", choices=ROOMS, default=list(ROOMS))
    arguments = parser.parse_args()
    if not arguments.out.exists():
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(",".join([*Mutation._fields, "outcome", "seconds"]) + "\n")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name in COPIED:
            if Path(name).is_dir() and not Path(name).is_symlink():
                shutil.copytree(name, root / name)
            else:  # noms_training stays a link to training, so that imports find the mutations
                shutil.copy(name, root / name, follow_symlinks=False)
        for room in arguments.rooms:
            former = [Mutation(*row[:6]) for row in read(arguments.like) if row[0] == room]
            measured = {row[:6] for row in read(arguments.out)}
            remaining = [mutation for mutation in draw(root, room, former) if mutation not in measured]
            if remaining and run_tests(root, room) != "survived":
                sys.exit(f"{room}: the tests do not pass on the sources as they are")
            for mutation in remaining:
                row = [*mutation, *measure(root, mutation)]
                with arguments.out.open("a", newline="") as file:
                    csv.writer(file).writerow(row)
            print(f"{room}: {dict(Counter(row[6] for row in read(arguments.out) if row[0] == room))}", flush=True)


if __name__ == "__main__":
    main()
