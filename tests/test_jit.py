"""The disk cache of compiled code, the choice of the compiler, and the compiled instructions."""

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
from tests.uncompiled import run_python

PACKAGE = Path(_jit.__file__).parent


def test_modules_outside_the_hash_compile_nothing() -> None:
    for name in _jit.NEVER_COMPILED:
        place = PACKAGE / name
        for file in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            assert not [word for word in ("import jit", "@jit", "numba") if word in file.read_text()], file


def run_in(folder: Path, code: str, **variables: str) -> str:
    """Run Python code in a folder, by default with the usual cache, and return its output."""
    return run_python("-c", code, cwd=folder, **{"NUMBA_CACHE_DIR": ""} | variables).strip()


PRINT_FOLDER = "from noms_env import _jit; print(_jit.CACHE_FOLDER)"


def test_an_edit_of_compiled_modules_starts_a_new_folder(tmp_path: Path) -> None:
    package = tmp_path / "noms_env"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))

    def edit(name: str) -> Path:
        with (package / name).open("a") as file:
            file.write(f"# {name}\n")
        return Path(run_in(tmp_path, PRINT_FOLDER))

    first = Path(run_in(tmp_path, PRINT_FOLDER))
    assert first == Path(run_in(tmp_path, PRINT_FOLDER))
    assert first.parent == package / "__pycache__"
    for name in ("core/tricks.py", "variants/match.py", "engine/step.py"):
        last = edit(name)
        assert last.is_dir()
    folders = {*first.parent.glob("numba-*")}
    assert len(folders) == 1 + _jit.MAX_OLD_CACHES
    assert first not in folders
    assert edit("envs/aec.py") == last, "a module above the compiled ones"


def test_the_users_folder_comes_first_and_other_caches_stay_there(tmp_path: Path) -> None:
    others = [tmp_path / name for name in ("numba-cache", "numba-0.60", "numba-mine", "numba-0123456789abcdef")]
    for folder in others:
        folder.mkdir()
    assert Path(run_in(Path.cwd(), PRINT_FOLDER, NUMBA_CACHE_DIR=str(tmp_path))).parent == tmp_path
    assert all(folder.is_dir() for folder in others)


ADD_ONE = """
from noms_env._jit import jit

@jit
def add_one(number):
    return number + 1
"""


def compile_in(folder: Path, before: str = "") -> tuple[str, str]:
    """Compile a function with the cache in a folder; return standard output and standard error."""
    (folder / "adding.py").write_text(ADD_ONE)
    code = f"import noms_env._jit, resource\n{before}\nfrom adding import add_one\nprint(add_one(1))"
    variables = os.environ | {"NUMBA_CACHE_DIR": str(folder / "kept"), "PYTHONPATH": f"{Path.cwd()}:{folder}"}
    result = subprocess.run([sys.executable, "-c", code], env=variables, check=True, capture_output=True, text=True)
    return result.stdout.strip(), result.stderr


@pytest.mark.parametrize(
    ("kind", "length"),
    [
        *(("nbi", 0), ("nbc", 7)),
        *(pytest.param(*case, marks=pytest.mark.soak) for case in (("nbi", 7), ("nbi", 100), ("nbc", 0), ("nbc", 100))),
    ],
)
def test_a_damaged_cache_file_is_compiled_again_once(kind: str, length: int, tmp_path: Path) -> None:
    assert compile_in(tmp_path) == ("2", "")
    [file] = (tmp_path / "kept").rglob(f"adding*.{kind}")
    file.write_bytes(file.read_bytes()[:length])
    out, err = compile_in(tmp_path)
    assert out == "2"
    assert err.startswith("noms_env: compiled code in ")
    assert err.count("\n") == 1
    assert len(file.read_bytes()) > length
    assert compile_in(tmp_path) == ("2", "")


WITHOUT_FAST = "import sys; sys.modules['noms_env._compiler'] = None"


def test_numbas_compiler_replaces_a_missing_fast_one(tmp_path: Path) -> None:
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


def test_an_untried_version_of_numba_is_checked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[bool] = []
    monkeypatch.setattr(_jit, "CACHE_FOLDER", str(tmp_path))
    monkeypatch.setattr(_compiler, "check", lambda: calls.append(True))
    assert _jit.choose_compiler("0.99.0") is _jit.choose_compiler("0.99.0") is _compiler.FastCompiled
    assert len(calls) == 1


def test_numbas_compiler_replaces_one_that_fails_its_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _compiler.check()
    monkeypatch.setattr(_jit, "CACHE_FOLDER", str(tmp_path))
    monkeypatch.setattr(_compiler, "_Part", lambda *_, **__: None)  # as if numba created its dispatchers in another way
    assert _jit.choose_compiler("0.99.1") is _jit.PlainCompiled
    assert "compiled more slowly with numba 0.99.1" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_full_disk_gives_one_warning(tmp_path: Path) -> None:
    full = "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))"
    out, err = compile_in(tmp_path, full)
    assert out == "2"
    assert err.startswith("noms_env: compiled code cannot be cached in ")
    assert err.count("\n") == 1
    assert compile_in(tmp_path) == ("2", "")
    assert compile_in(tmp_path, full) == ("2", "")


def test_a_read_only_cache_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_nothing_is_cached_if_no_folder_can_be_written(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    code = f"{PRINT_FOLDER}; from noms_env.core.cards import bit; print(bit(3))"
    assert run_in(Path.cwd(), code, NUMBA_CACHE_DIR=str(blocked)) == "8"


# Compiled functions have no annotations. They call the instructions, which Python cannot call once compiled.


@_jit.jit
def count_and_ends(members):  # type: ignore[no-untyped-def]
    return _jit.size(members), _jit.lowest(members), _jit.highest(members)


@pytest.mark.uncompiled
@pytest.mark.parametrize("members", [0, 1, 2, 0b101100, (1 << 62) | 1, (1 << 52) - 1])
def test_size_lowest_and_highest_of_a_set(members: int) -> None:
    numbers = [number for number in range(63) if members >> number & 1]
    expected = len(numbers), min(numbers, default=64), max(numbers, default=-1)
    assert count_and_ends(members) == expected  # type: ignore[no-untyped-call]


@_jit.jit
def spread_and_copy(members, out, field):  # type: ignore[no-untyped-def]
    _jit.spread(out, 1, members)
    _jit.copy(out, 8, field[0].trick_of)


@pytest.mark.uncompiled
@pytest.mark.parametrize("members", [0, 1, 0b101100, (1 << 62) | 1, (1 << 52) - 1, 1 << 55, 1 << 24, 1 << 31, 1 << 32])
def test_spread_and_copy_write_whole_words(members: int) -> None:
    tables = new_tables(1)
    tables.trick_of = np.arange(7) + 100
    out = np.full(16, -1, np.int64)
    spread_and_copy(members, out, kernel_view(tables))  # type: ignore[no-untyped-call]
    assert out[1:8].view(np.uint8).tolist() == [members >> place & 1 for place in range(56)]
    assert out[8:].tolist() == [*range(100, 107), -1]
    assert out[0] == -1


def test_spread_is_the_same_with_the_words_of_a_gpu() -> None:
    """GPU kernels use words in place of byte vectors; here they are compiled for the processor."""

    @intrinsic  # type: ignore[untyped-decorator]
    def spread_by_words(_context: Any, out: Any, start: Any, bits: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            _jit._spread_by_words(builder, data, *arguments[1:])
            return context.get_dummy_value()

        return types.none(out, types.intp, types.int64), codegen

    @numba.njit
    def spread_both(members, by_vectors, by_words):  # type: ignore[no-untyped-def]
        _jit.spread(by_vectors, 1, members)
        spread_by_words(by_words, 1, members)

    for members in [0, 1, -1, 1 << 55, (1 << 56) - 1, *np.random.default_rng(0).integers(0, 1 << 56, 100)]:
        by_vectors, by_words = np.full((2, 9), 7)
        spread_both(members, by_vectors, by_words)
        assert by_vectors.tolist() == by_words.tolist(), members


def test_nonzero_is_the_same_with_the_words_of_a_gpu() -> None:
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
            by_vectors, by_words = find_both(data, start)
            assert by_words == by_vectors, (share, start)
        assert (by_words != 0) == (share > 0)


@_jit.jit
def find_nonzero(data, out):  # type: ignore[no-untyped-def]
    for start in range(len(out)):
        out[start] = _jit.nonzero(data, start)


@pytest.mark.uncompiled
def test_nonzero_is_the_set_of_nonzero_bytes() -> None:
    data = np.random.default_rng(0).integers(0, 3, 60, np.uint8)
    data[10] = 255
    out = np.full(5, -1, np.int64)
    find_nonzero(data, out)  # type: ignore[no-untyped-call]
    for start, members in enumerate(out.tolist()):
        assert members == sum(1 << place for place in range(56) if data[start + place] != 0)


def test_only_jit_allocating_permits_new_arrays() -> None:
    with pytest.raises(numba.core.errors.TypingError, match="NRT required"):
        _jit.jit(lambda: np.zeros(1)[0])()
    assert _jit.jit_allocating(lambda: np.zeros(1)[0])() == 0


@_jit.jit
def convert(numbers, halves, back):  # type: ignore[no-untyped-def]
    for i in range(len(numbers)):
        halves[i] = _jit.narrow(numbers[i], halves[i])
        back[i] = _jit.widen(halves[i])


@pytest.mark.uncompiled
def test_bfloat16_rounds_like_torch() -> None:
    bits = np.random.default_rng(1).integers(0, 1 << 32, 2000, np.uint32)
    bits[:6] = 0, 1 << 31, 0x3F808000, 0x3F818000, 0x3F808001, 0x7F800000  # zeros, ties to even, over a tie, infinity
    numbers = bits.view(np.float32)
    numbers = numbers[~np.isnan(numbers)]
    halves, back = np.empty(len(numbers), np.uint16), np.empty(len(numbers), np.float32)
    convert(numbers, halves, back)  # type: ignore[no-untyped-call]
    rounded = torch.from_numpy(numbers).bfloat16()
    assert halves.tolist() == rounded.view(torch.int16).numpy().view(np.uint16).tolist()
    assert back.tolist() == rounded.float().tolist()
