"""Every command that opens files or folders survives damaged and hostile ones.

No program in them runs, nothing ends in a traceback or a signal, memory and time stay bounded, and none of their control
characters reaches the terminal.
"""

import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
MAX_SECONDS, FIRST_SECONDS = 60, 600  # the first time, when code is compiled
MAX_BYTES = 3 << 30

RUNNER = """
import json, os, resource, signal, sys, time, traceback
from noms_training.cli import COMMANDS, load, main
import torch, noms_env
for name in COMMANDS:
    load(name, ["run"])
torch.set_num_threads(1)
for line in sys.stdin:
    folder, words, limit = json.loads(line)
    started, child = time.monotonic(), os.fork()
    if child == 0:
        os.chdir(folder)
        sys.path.insert(0, folder)
        for stream, name in ((0, os.devnull), (1, "stdout"), (2, "stderr")):
            os.dup2(os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC), stream)
        sys.stdin = open(0, closefd=False)
        signal.alarm(limit)
        try:
            status = main(words)
        except BaseException:
            traceback.print_exc()
            status = 99
        sys.stdout.flush(); sys.stderr.flush()
        os._exit(status)
    _, status, used = os.wait4(child, 0)
    result = os.waitstatus_to_exitcode(status), used.ru_maxrss * 1024, time.monotonic() - started
    print(json.dumps(result), flush=True)
"""
"""Runs `noms` with words from standard input, each time in a fork of a process that has imported everything."""


class End(NamedTuple):
    """Status of a command (negative for a signal), peak memory in bytes, seconds, and output."""

    status: int
    memory: int
    seconds: float
    text: str


Noms = Callable[..., End]


@pytest.fixture(scope="module")
def noms() -> Iterator[Noms]:
    """A function that runs `noms` in a folder with some words."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "100", "PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", RUNNER], stdin=pipe, stdout=pipe, text=True, env=environment) as runner:
        results = runner.stdout
        assert results is not None
        assert runner.stdin is not None

        def run(folder: Path, *words: object, limit: int = MAX_SECONDS) -> End:
            print(json.dumps([str(folder), [str(word) for word in words], limit]), file=runner.stdin, flush=True)
            status, memory, seconds = json.loads(results.readline())
            text = b"".join((folder / name).read_bytes() for name in ("stdout", "stderr"))
            return End(status, memory, seconds, text.decode(errors="replace"))

        yield run
        runner.stdin.close()


# ------------------------------------------------------------------------------------------------ good files

EXPORT = ("export", "--variant", "small_ships", "--player", "search:small_ships,worlds=2", "--targets")
TRAIN = ("train", "small_ships", "--preset", "smoke", "--decisions", 2000, "--out", "run")
MAKERS: dict[str, tuple[Any, ...]] = {
    "games.jsonl": ("record", "down_up", "--out", "games.jsonl"),
    "npz": (*EXPORT, "--format", "npz", "--out", "npz"),
    "parquet": (*EXPORT, "--out", "parquet"),
    "run": TRAIN,
    "run/policy.safetensors": TRAIN,
    "solution.safetensors": ("solve", "down-up-1", "--percent", 5, "--out", "solution.safetensors"),
    "tournament": ("tournament", "random", "greedy", "--variant", "down_up", "--deals", 4, "--out", "tournament"),
}
"""The command that makes a good file or folder of each kind."""

TABLE = ("--variant", "small_ships", "--deals", 2, "--threads", 1)
LEARN = ("train", "small_ships", "--preset", "smoke", "--decisions", 500, "--out", "learnt")
OPENERS: dict[str, list[tuple[Any, ...]]] = {
    "games.jsonl": [
        ("check", "games.jsonl"),
        ("replay", "games.jsonl"),
        ("replay", "games.jsonl", "--html", "page.html"),
        ("replay", "games.jsonl", "--deal", 0, "--picture", "deal.svg"),
        ("export", "games.jsonl", "--out", "exported"),
        ("analyse", "games.jsonl", "--worlds", 8, "--deal", 9),
    ],
    "npz": [(*LEARN, "--curriculum.shards", "npz")],
    "parquet": [(*LEARN, "--curriculum.shards", "parquet")],
    "run": [
        ("train", "--resume", "--out", "run", "--decisions", 9000),
        ("plot", "run"),
        ("evaluate", "run", "random", *TABLE),
        ("watch", "small_ships", "run", "random", "random", "random", "--deals", 1),
        ("publish", "run", "--name", "mine", "--out", "published"),
        (*LEARN, "--initial-policy", "run"),
    ],
    "run/policy.safetensors": [
        ("evaluate", "run/policy.safetensors", "random", *TABLE),
        ("evaluate", "search:run/policy.safetensors,worlds=2", "random", *TABLE),
        (*LEARN, "--initial-policy", "run/policy.safetensors"),
    ],
    "solution.safetensors": [
        ("exploit", "solved:solution.safetensors", "--micro", "down-up-1", "--threads", 1),
        ("solve", "down-up-1", "--percent", 4, "--iterations", 20, "--out", "solution.safetensors"),
    ],
    "tournament": [("tournament", "random", "greedy", "--variant", "down_up", "--deals", 6, "--out", "tournament", "--resume")],
    "entry": [
        ("benchmark", "check", "entry", "--cells", 0),
        ("benchmark", "report", "entry", "--out", "report"),
        ("benchmark", "score", "entry", "--tracks", "core", "--deals", 2, "--threads", 1),
    ],
}
"""The commands that open each kind."""


@pytest.fixture(scope="module")
def good(noms: Noms, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A function that makes, once, a folder with a good file or folder of a kind."""

    @cache
    def make(kind: str) -> Path:
        folder = tmp_path_factory.mktemp("good")
        if kind == "entry":
            shutil.copytree(ROOT / "benchmarks/entries/1/random", folder / "entry")
        else:
            end = noms(folder, *MAKERS[kind], limit=FIRST_SECONDS)
            assert end.status == 0, end.text
        return folder

    return make


# ------------------------------------------------------------------------------------------------------- attacks

PROGRAM = "cmd:touch was-run"
MODULE = "hostile_module:act"
WORDS = [
    *(PROGRAM, MODULE, f"search:{PROGRAM}", "hostile_module.py", "../../etc/passwd", "thumb", "noms", "", "x" * 100_000),
    *("\x1b[2J\x1b]0;title\x07", "\u202eevil\u2066", "\ud800", "a\nb", "<script>alert(1)</script>"),
]
NUMBERS = [
    *("NaN", "Infinity", "1e999", "9" * 400, "9" * 5000, "-1", "0", "0.5", "1e300", str(2**63)),
    *('"x"', "null", "[]", "true"),
]
LITERAL = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|\b(?:true|false|null)\b')


def replace_literal(content: bytes, new: bytes, draw: random.Random) -> bytes:
    """Replace a word or number of JSON, or of the header of a tensor file."""
    places = list(LITERAL.finditer(content[: 1 << 20]))
    if not places:
        return content
    place = draw.choice(places)
    return content[: place.start()] + new + content[place.end() :]


def change_literal(content: bytes, draw: random.Random) -> bytes:
    new = json.dumps(draw.choice(WORDS)) if draw.random() < 0.5 else draw.choice(NUMBERS)
    return replace_literal(content, new.encode(), draw)


def change_all_words(content: bytes, draw: random.Random) -> bytes:
    """Replace every string value by the name of a program."""
    word = json.dumps(draw.choice([PROGRAM, MODULE])).encode()
    return re.sub(rb'(?<=[:\[,] )"(?:[^"\\]|\\.)*"(?!\s*:)', lambda _: word, content)


def flip_bits(content: bytes, draw: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(draw.randint(1, 8)):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def cut_off(content: bytes, draw: random.Random) -> bytes:
    return content[: draw.randrange(len(content))]


def nest(content: bytes, draw: random.Random) -> bytes:
    """Put a deeply nested value in place of the content or of a literal."""
    deep = draw.choice([b"[", b'{"a":']) * draw.choice([1000, 100_000])
    return deep if draw.random() < 0.5 else replace_literal(content, deep, draw)


def replace_all(_: bytes, draw: random.Random) -> bytes:
    """Return nothing, other JSON, a pickled object for NumPy, an archive that grows, or a huge header."""
    pickled, bomb = io.BytesIO(), io.BytesIO()
    np.save(pickled, np.array([Harm()], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("observation.npy", bytes(1 << 28))
    header = (1 << 60).to_bytes(8, "little") + b"{}"
    return draw.choice([b"", b"[]", b"{}", b"null", b'"x"', b"\xef\xbb\xbf{}", pickled.getvalue(), bomb.getvalue(), header])


class Harm:
    """Leaves a mark when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch was-run",)


CHANGES = [change_literal, change_literal, change_literal, change_all_words, flip_bits, cut_off, nest, replace_all]


def make_huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


SUBSTITUTES: list[Callable[[Path], object]] = [
    lambda path: path.symlink_to("/etc/passwd"),
    lambda path: path.symlink_to("/dev/zero"),
    lambda path: path.symlink_to(path.name),
    Path.mkdir,
    make_huge,
    os.mkfifo,
]
"""Each makes a link, a folder, a huge file or a pipe in place of a file."""


def attack(target: Path, draw: random.Random) -> str:
    """Change the file, or one file of the folder, and return a description."""
    files = sorted(path for path in target.rglob("*") if path.is_file()) if target.is_dir() else [target]
    path = draw.choice([file for file in files if "tensorboard" not in file.parts and file.stat().st_size > 0])
    if draw.random() < 0.15:
        path.unlink()
        draw.choice(SUBSTITUTES[: 5 if path.suffix == ".jsonl" else 6])(path)  # records may come from a pipe
        return f"{path.name}: {path.lstat()}"
    change = draw.choice(CHANGES)
    path.write_bytes(change(path.read_bytes(), draw))
    return f"{path.name}: {change.__name__}"


@pytest.mark.soak
@pytest.mark.parametrize(("kind", "number"), [(kind, number) for kind in OPENERS for number in range(len(OPENERS[kind]))])
def test_hostile_content_does_no_harm(noms: Noms, good: Callable[[str], Path], tmp_path: Path, kind: str, number: int) -> None:
    words, attacks = OPENERS[kind][number], int(os.environ.get("ATTACKS", "60"))
    shutil.copytree(good(kind), tmp_path / "whole", symlinks=True)
    whole = noms(tmp_path / "whole", *words, limit=FIRST_SECONDS)
    assert whole.status == 0, whole.text
    failures = []
    for seed in range(attacks):
        draw = random.Random(f"{kind} {number} {seed}")
        folder = tmp_path / str(seed)
        shutil.copytree(good(kind), folder, symlinks=True)
        (folder / "hostile_module.py").write_text("open('was-run', 'w')\ndef act(*_): return 0\n")
        change = attack(folder / kind, draw)
        end = noms(folder, *words)
        harm = harm_done(folder, end)
        if harm:
            failures.append(f"seed {seed}, {change}: {harm}\n{end.text[-600:]}")
        shutil.rmtree(folder)
    assert not failures, f"{len(failures)} of {attacks}\n" + "\n\n".join(failures)


def harm_done(folder: Path, end: End) -> str:
    """Return a description of the harm that a command did, "" for none."""
    if (folder / "was-run").exists():
        return "a program ran"
    if end.status not in (0, 1, 2) or "Traceback" in end.text:
        return f"it ended with status {end.status} after {end.seconds:.0f} s"
    if end.memory > MAX_BYTES:
        return f"it took {end.memory >> 20} MB"
    if re.search("[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\u202a-\u202e\u2066-\u2069]|\x1b(?!\\[[0-9;]*[mK])", end.text):
        return "it printed control characters"
    return ""
