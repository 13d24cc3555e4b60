"""The disk cache of compiled code: one folder for each state of the sources, and none left behind for ever."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
import torch
from numba import types
from numba.extending import intrinsic

from noms_env import _compiler, _jit
from noms_env.engine.row_kernels import kernel_view
from noms_env.variants.table_record import new_tables

PACKAGE = Path(_jit.__file__).parent


def test_nothing_is_compiled_in_the_modules_that_the_hash_leaves_out() -> None:
    for name in _jit.NEVER_COMPILED:
        place = PACKAGE / name
        files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
        for file in files:
            text = file.read_text()
            assert "import jit" not in text, file
            assert "@jit" not in text, file
            assert "numba" not in text, file


def copy_of_package(folder: Path) -> Path:
    shutil.copytree(PACKAGE, folder / "noms_env", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def run_in(folder: Path, code: str, **environment: str) -> str:
    """Output of Python code that imports the copy of the package."""
    variables = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"} | environment
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=folder, env=variables, check=True, capture_output=True, text=True).stdout.strip()


def append(file: Path, text: str) -> None:
    file.write_text(file.read_text() + text)


ASK = "from noms_env import _jit; print(_jit.CACHE_FOLDER)"


def test_an_edit_anywhere_below_starts_a_new_folder(tmp_path: Path) -> None:
    folder = copy_of_package(tmp_path)
    first = run_in(folder, ASK)
    assert first == run_in(folder, ASK)
    assert Path(first).parent == folder / "noms_env" / "__pycache__"
    for number, name in enumerate(["core/tricks.py", "variants/match.py", "engine/step.py"]):
        append(folder / "noms_env" / name, f"# {number}\n")
        assert Path(run_in(folder, ASK)).is_dir()
    left = {path.name for path in Path(first).parent.glob("numba-*")}
    assert len(left) == 1 + _jit.MAX_OLD_CACHES
    assert Path(first).name not in left
    append(folder / "noms_env" / "envs" / "aec.py", "# above the compiled floors\n")
    assert {path.name for path in Path(first).parent.glob("numba-*")} == left


def test_the_users_choice_of_folder_comes_first_and_what_others_have_there_stays(tmp_path: Path) -> None:
    others = ["numba-cache", "numba-0.60", "numba-mine", "numba-0123456789abcdef"]
    for name in others:
        (tmp_path / "mine" / name).mkdir(parents=True)
    assert Path(run_in(Path.cwd(), ASK, NUMBA_CACHE_DIR=str(tmp_path / "mine"))).parent == tmp_path / "mine"
    assert all((tmp_path / "mine" / name).is_dir() for name in others)


ADD_ONE = """
from noms_env._jit import jit

@jit
def add_one(number):
    return number + 1
"""


def compile_in(folder: Path, before: str = "") -> tuple[str, str]:
    """What is printed where a function is compiled whose code is kept in a folder: on standard output and standard error."""
    (folder / "adding.py").write_text(ADD_ONE)
    code = f"import noms_env._jit, resource\n{before}\nfrom adding import add_one\nprint(add_one(1))"
    variables = os.environ | {"NUMBA_CACHE_DIR": str(folder / "kept"), "PYTHONPATH": f"{Path.cwd()}:{folder}"}
    done = subprocess.run([sys.executable, "-c", code], env=variables, check=True, capture_output=True, text=True)
    return done.stdout.strip(), done.stderr


@pytest.mark.parametrize(
    ("kind", "length"),
    [
        *(("nbi", 0), ("nbc", 7)),
        *(pytest.param(*one, marks=pytest.mark.soak) for one in (("nbi", 7), ("nbi", 100), ("nbc", 0), ("nbc", 100))),
    ],
)
def test_a_damaged_file_is_compiled_anew_once(kind: str, length: int, tmp_path: Path) -> None:
    assert compile_in(tmp_path) == ("2", "")
    [file] = (tmp_path / "kept").rglob(f"adding*.{kind}")
    whole = file.read_bytes()
    file.write_bytes(whole[:length])
    printed, said = compile_in(tmp_path)
    assert printed == "2"
    assert said.startswith("noms_env: compiled code in ")
    assert said.count("\n") == 1
    assert len(file.read_bytes()) > length
    assert compile_in(tmp_path) == ("2", "")


WITHOUT_FAST = "import sys; sys.modules['noms_env._compiler'] = None"


def test_without_the_faster_compiler_numbas_own_is_used(tmp_path: Path) -> None:
    (tmp_path / "adding.py").write_text(ADD_ONE.replace("number + 1", "number + int(max(number, 0) > -1)"))
    code = f"{WITHOUT_FAST}\nfrom noms_env import _jit\nfrom adding import add_one\nprint(add_one(1), _jit.Compiled.__name__)"
    variables = {"NUMBA_CACHE_DIR": str(tmp_path / "kept"), "PYTHONPATH": f"{Path.cwd()}:{tmp_path}"}
    for _ in range(2):
        assert run_in(tmp_path, code, **variables) == "2 PlainCompiled"
    assert len(list((tmp_path / "kept").rglob("adding*.nbi"))) == 1


@pytest.mark.soak
def test_both_compilers_give_the_same_bytes(tmp_path: Path) -> None:
    code = """
import hashlib, noms_env
env, digest = noms_env.BatchEnv("nonesuch", 16), hashlib.sha256()
env.reset(seed=1)
env.observe()
for _ in range(200):
    env.step(env.mask.argmax(1), observe=True)
    digest.update(env.observation.tobytes() + env.points.tobytes())
print(digest.hexdigest())
"""
    slow = run_in(Path.cwd(), WITHOUT_FAST + code, NUMBA_CACHE_DIR=str(tmp_path))
    assert slow == run_in(Path.cwd(), code, NUMBA_CACHE_DIR=os.environ.get("NUMBA_CACHE_DIR", ""))


def test_a_strange_version_of_numba_is_checked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[bool] = []
    monkeypatch.setattr(_jit, "CACHE_FOLDER", str(tmp_path))
    monkeypatch.setattr(_compiler, "check", lambda: calls.append(True))
    assert _jit.choose_compiler("0.99.0") is _jit.choose_compiler("0.99.0") is _compiler.FastCompiled
    assert len(calls) == 1


def test_where_the_check_fails_numbas_own_compiler_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_jit, "CACHE_FOLDER", str(tmp_path))
    monkeypatch.setattr(_compiler, "_Part", lambda *_, **__: None)  # as if numba's dispatchers were made in another way
    assert _jit.choose_compiler("0.99.1") is _jit.PlainCompiled
    assert "compiled more slowly with numba 0.99.1" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_check_finds_nothing_with_this_version_of_numba() -> None:
    _compiler.check()


def test_a_full_disk_costs_a_sentence(tmp_path: Path) -> None:
    full = "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))"
    printed, said = compile_in(tmp_path, full)
    assert printed == "2"
    assert said.startswith("noms_env: compiled code cannot be cached in ")
    assert said.count("\n") == 1
    assert compile_in(tmp_path) == ("2", "")
    assert compile_in(tmp_path, full) == ("2", "")


def test_compiled_code_is_used_where_nothing_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(30, "Read-only file system")

    read_only, writable = tmp_path / "read_only", tmp_path / "writable"
    folder = read_only / f"numba-{_jit.source_hash()}"
    monkeypatch.setattr(_jit, "_candidates", lambda: [read_only, writable])
    folder.mkdir(parents=True)
    monkeypatch.setattr(Path, "touch", refuse)
    assert _jit._cache_folder() == ""
    (folder / "step.nbi").write_bytes(b"")
    assert _jit._cache_folder() == str(folder)


def test_where_no_folder_can_be_written_nothing_is_cached(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    assert run_in(Path.cwd(), ASK, NUMBA_CACHE_DIR=str(blocked)) == ""
    code = "from noms_env.core.cards import bit; print(bit(3))"
    assert run_in(Path.cwd(), code, NUMBA_CACHE_DIR=str(blocked)) == "8"


@_jit.jit
def instructions(members):  # type: ignore[no-untyped-def]  # compiled functions have no annotations
    """The three instructions, called from compiled code, the only place where they can be called when compiled."""
    return _jit.size(members), _jit.lowest(members), _jit.highest(members)


@pytest.mark.uncompiled
@pytest.mark.parametrize("members", [0, 1, 2, 0b101100, (1 << 62) | 1, (1 << 52) - 1])
def test_the_three_instructions(members: int) -> None:
    found = [number for number in range(63) if members >> number & 1]
    assert instructions(members) == (  # type: ignore[no-untyped-call]  # as said above
        len(found),
        min(found, default=64),
        max(found, default=-1),
    )


@_jit.jit
def written(members, out, field):  # type: ignore[no-untyped-def]  # compiled functions have no annotations
    _jit.spread(out, 1, members)
    _jit.copy(out, 8, field[0].trick_of)


@pytest.mark.uncompiled
@pytest.mark.parametrize("members", [0, 1, 0b101100, (1 << 62) | 1, (1 << 52) - 1, 1 << 55, 1 << 24, 1 << 31, 1 << 32])
def test_the_instructions_that_write_words(members: int) -> None:
    tables = new_tables(1)
    tables.trick_of = np.arange(7) + 100
    out = np.full(16, -1, np.int64)
    written(members, out, kernel_view(tables))  # type: ignore[no-untyped-call]  # as said above
    assert out[1:8].view(np.uint8).tolist() == [members >> place & 1 for place in range(56)]
    assert out[8:].tolist() == [*range(100, 107), -1]
    assert out[0] == -1


def test_the_instruction_that_writes_words_is_the_same_on_a_gpu() -> None:
    """What kernels of a GPU have in place of vectors of bytes, compiled for the processor."""

    @intrinsic  # type: ignore[untyped-decorator]
    def spread_by_words(_context: Any, out: Any, start: Any, bits: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            _jit._spread_by_words(builder, data, *arguments[1:])
            return context.get_dummy_value()

        return types.none(out, types.intp, types.int64), codegen

    @numba.njit
    def spread_both(members, one, other):  # type: ignore[no-untyped-def]
        _jit.spread(one, 1, members)
        spread_by_words(other, 1, members)

    for members in [0, 1, -1, 1 << 55, (1 << 56) - 1, *np.random.default_rng(0).integers(0, 1 << 56, 100)]:
        one, other = np.full((2, 9), 7)
        spread_both(members, one, other)
        assert one.tolist() == other.tolist(), members


def test_the_instruction_that_finds_bytes_is_the_same_on_a_gpu() -> None:
    """The same of reading."""

    @intrinsic  # type: ignore[untyped-decorator]
    def nonzero_by_words(_context: Any, data: Any, start: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            bytes_ = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            return _jit._nonzero_by_words(builder, builder.gep(bytes_, [arguments[1]]))

        return types.int64(data, types.intp), codegen

    @numba.njit
    def find_both(data, start):  # type: ignore[no-untyped-def]
        return _jit.nonzero(data, start), nonzero_by_words(data, start)

    rng = np.random.default_rng(0)
    for share in (0, 0.1, 0.5, 1):
        data = np.where(rng.random(128) < share, rng.choice(np.array([1, 2, 127, 128, 129, 255]), 128), 0).astype(np.uint8)
        for start in range(0, 65, 8):
            expected, found = find_both(data, start)
            assert found == expected, (share, start)
        assert (found != 0) == (share > 0)


@_jit.jit
def found_nonzero(data, out):  # type: ignore[no-untyped-def]  # compiled functions have no annotations
    for start in range(len(out)):
        out[start] = _jit.nonzero(data, start)


@pytest.mark.uncompiled
def test_the_instruction_that_finds_bytes() -> None:
    data = np.random.default_rng(0).integers(0, 3, 60, np.uint8)
    data[10] = 255
    out = np.full(5, -1, np.int64)
    found_nonzero(data, out)  # type: ignore[no-untyped-call]  # as said above
    for start, members in enumerate(out.tolist()):
        assert members == sum(1 << place for place in range(56) if data[start + place] != 0)


def test_only_functions_that_say_so_make_arrays() -> None:
    with pytest.raises(numba.core.errors.TypingError, match="NRT required"):
        _jit.jit(lambda: np.zeros(1)[0])()
    assert _jit.jit_allocating(lambda: np.zeros(1)[0])() == 0


@_jit.jit
def converted(numbers, halves, back):  # type: ignore[no-untyped-def]  # compiled functions have no annotations
    for i in range(len(numbers)):
        halves[i] = _jit.narrow(numbers[i], halves[i])
        back[i] = _jit.widen(halves[i])


@pytest.mark.uncompiled
def test_bfloat16_is_rounded_as_torch_rounds_it() -> None:
    bits = np.random.default_rng(1).integers(0, 1 << 32, 2000, np.uint32)
    bits[:6] = 0, 1 << 31, 0x3F808000, 0x3F818000, 0x3F808001, 0x7F800000  # zeros, ties to even, over a tie, infinity
    numbers = bits.view(np.float32)
    numbers = numbers[~np.isnan(numbers)]
    halves, back = np.empty(len(numbers), np.uint16), np.empty(len(numbers), np.float32)
    converted(numbers, halves, back)  # type: ignore[no-untyped-call]  # as said above
    rounded = torch.from_numpy(numbers).bfloat16()
    assert halves.tolist() == rounded.view(torch.int16).numpy().view(np.uint16).tolist()
    assert back.tolist() == rounded.float().tolist()
