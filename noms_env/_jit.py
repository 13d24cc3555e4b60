"""The compile decorators, their disk cache, and machine instructions that Python lacks.

Numba's disk cache notices an edit in the file of a function, but not in the files of the functions that it calls. So the cache
is in a folder named by the hash of all sources that can affect compiled code: an edit in any of them, or another version of
numba, starts a new folder. The folder is in the package's `__pycache__`, or in the user's cache directory if the package is
read-only; `NUMBA_CACHE_DIR` overrides both. The two most recently used folders of other versions stay. A damaged file is
recompiled. If the cache cannot be written, a notice on standard error says so.

With `NUMBA_DISABLE_JIT=1` every decorated function is the plain Python function, with identical results.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, TypeVar

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import event
from numba.core.caching import CompileResultCacheImpl, FunctionCache, InTreeCacheLocator
from numba.core.registry import CPUDispatcher
from numba.extending import intrinsic

Function = TypeVar("Function", bound=Callable[..., Any])

PACKAGE = Path(__file__).parent
MAX_OLD_CACHES = 2
CACHE_NAME = re.compile("numba-[0-9a-f]{16}")
IN_USE, CHECKED = "in-use", "checked"
"""Files in each cache: `IN_USE` has the time of the last use; `CHECKED` exists if `_compiler` has passed its check."""
NEVER_COMPILED = ("__init__.py", "_files.py", "_json.py", "_npz.py", "version.py", "table", "record", "show", "envs", "interop")
"""Top-level modules that are neither compiled nor used by compiled code."""
COMPILED = not numba.config.DISABLE_JIT
KNOWN_VERSIONS = ("0.62", "0.63", "0.64", "0.65", "0.66", "0.67", "0.68")
"""The numba versions that `_compiler` is known to fit; with any other version it is checked once."""
NOTICE_THRESHOLD = 20
"""Number of functions from which a notice is printed: compiling them takes more than a second."""


def source_hash() -> str:
    """Return a hash of numba's version and of the sources that can affect compiled code, 16 hexadecimal digits."""
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE)
        if place.parts[0] not in NEVER_COMPILED:
            digest.update(str(place).encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _candidates() -> list[Path]:
    """Return the folders that may hold the caches, in order of preference."""
    if numba.config.CACHE_DIR:
        return [Path(numba.config.CACHE_DIR)]
    folders = [PACKAGE / "__pycache__"]
    with suppress(RuntimeError):  # no home directory
        folders.append(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "noms_env")
    return folders


def _cache_folder() -> str:
    """Create and return the cache folder of the current sources; "" if no folder can be written."""
    name = f"numba-{source_hash()}"
    for folder in [parent / name for parent in _candidates()]:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / IN_USE).touch()
        except OSError:
            if any(folder.rglob("*.nbi")):  # a readable cache is enough
                return str(folder)
            continue
        with suppress(OSError):  # another process may remove them, too
            _remove_old(folder.parent, keep=folder)
        return str(folder)
    return ""


def _remove_old(parent: Path, keep: Path) -> None:
    """Remove our caches of other sources, except the most recently used."""
    ours = [used for used in parent.glob(f"numba-*/{IN_USE}") if CACHE_NAME.fullmatch(used.parent.name) and used.parent != keep]
    for used in sorted(ours, key=lambda used: used.stat().st_mtime, reverse=True)[MAX_OLD_CACHES:]:
        shutil.rmtree(used.parent, ignore_errors=True)


CACHE_FOLDER = _cache_folder() if COMPILED else ""


class PlainCompiled(CPUDispatcher):  # type: ignore[misc]
    """A function compiled by numba's own compiler, which is slower than `_compiler`."""


def choose_compiler(version: str = numba.__version__) -> type[CPUDispatcher]:
    """Return the faster compiler if it works with this version of numba, else numba's own."""
    checked = Path(CACHE_FOLDER, CHECKED) if CACHE_FOLDER else None
    try:
        from noms_env import _compiler

        if version.rpartition(".")[0] not in KNOWN_VERSIONS and not (checked and checked.exists()):
            _compiler.check()
            if checked:
                with suppress(OSError):
                    checked.touch()
    except Exception as error:  # other versions of numba can raise anything
        _print_once(f"functions are compiled more slowly with numba {version} ({type(error).__name__}: {error})")
        return PlainCompiled
    return _compiler.FastCompiled


@lru_cache
def _print_once(sentence: str) -> None:
    print(f"noms_env: {sentence}", file=sys.stderr, flush=True)


Compiled = choose_compiler() if COMPILED else PlainCompiled
"""The class of compiled functions."""


class _Locator(InTreeCacheLocator):  # type: ignore[misc]
    """Numba's locator with our cache folder, which may be read-only."""

    def get_cache_path(self) -> str:
        return str(Path(CACHE_FOLDER, self.get_suitable_cache_subpath(self._py_file)))

    def ensure_cache_path(self) -> None:
        with suppress(OSError):
            Path(self.get_cache_path()).mkdir(parents=True, exist_ok=True)


class _Compiled(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_Locator,)


class _Cache(FunctionCache):  # type: ignore[misc]
    """Numba's cache of a function, without errors: an unreadable file is recompiled, and a failed write is skipped."""

    _impl_class = _Compiled

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # a damaged file can raise anything
            _print_once(f"compiled code in {CACHE_FOLDER} is damaged ({type(error).__name__}); it is recompiled")
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception as error:
            _print_once(f"compiled code cannot be cached in {CACHE_FOLDER} ({error}), so every start compiles it again")


def jit(function: Function) -> Function:
    """Compile a function on its first call for each tuple of argument types, and cache the result on disk.

    The function cannot allocate arrays. So references to arrays are not counted, which would take locked instructions in
    every row, on counters shared by all threads.
    """
    return _compile(function, _nrt=False)


def jit_inline(function: Function) -> Function:
    """Compile like `jit`, and inline into callers: for functions on arrays that are called for every row.

    A call that is not inlined passes each array as seven numbers.
    """
    return _compile(function, _nrt=False, forceinline=True)


def jit_allocating(function: Function) -> Function:
    """Compile like `jit`, with reference counts, for functions that allocate arrays."""
    return _compile(function, _nrt=True)


def jit_sums(function: Function) -> Function:
    """Compile like `jit_inline`, and allow sums to be vectorised; the order of the terms is the same in every row."""
    return _compile(function, _nrt=False, forceinline=True, fastmath={"reassoc", "contract"})


def _compile(function: Function, **flags: Any) -> Function:
    if not COMPILED:
        return function
    options = {"nopython": True, "boundscheck": None, "nogil": True, "error_model": "numpy"}
    compiled: Any = Compiled(function, targetoptions=options | flags)
    if CACHE_FOLDER:
        compiled._cache = _Cache(function)
    return compiled  # type: ignore[no-any-return]


def collect_callees(function: Any) -> set[Any]:
    """Return a function and all compiled functions that it calls, directly or indirectly."""
    functions, queue = set(), [function]
    while queue:
        if (callee := queue.pop()) not in functions:
            functions.add(callee)
            queue += _direct_callees(callee.py_func.__code__, callee.py_func.__globals__)
    return functions


def _direct_callees(code: CodeType, names: dict[str, Any]) -> list[Any]:
    values = [names.get(name) for name in code.co_names]
    values += [getattr(module, name, None) for module in values if isinstance(module, ModuleType) for name in code.co_names]
    return [value for value in values if isinstance(value, Compiled)]


class Progress(event.Listener):  # type: ignore[misc]
    """Reports compilation on standard error: one notice per process, and on a terminal a line with the functions left."""

    def __init__(self, is_cached: bool) -> None:
        """Create the listener; `is_cached`: whether the compiled code is cached for the next start."""
        self.cache_notice = f"the result is {'' if is_cached else 'not '}cached for the next start"
        self.depth = 0
        self.remaining: set[Any] = set()
        self.compiled: set[Any] = set()
        self.has_printed = False
        self.subject, self.part, self.width = "a part of the engine for its first use", "", 0  # width: of the current line

    def use(self, parts: Mapping[str, Callable[[], object]]) -> int:
        """Call the functions in `parts`, so that all they need is compiled; the reports show their names.

        Returns:
            The number of functions compiled.
        """
        n_before, usual_subject = len(self.compiled), self.subject
        self.subject = f"{', '.join(parts)} for the first use, which takes a minute or two at most"
        try:
            for number, (name, use) in enumerate(parts.items(), 1):
                self.part = f"{name} ({number} of {len(parts)}), "
                use()
        finally:
            self.subject, self.part = usual_subject, ""
        return len(self.compiled) - n_before

    def on_start(self, event: Any) -> None:
        """Start compiling a function; the outermost one is called from Python."""
        function = event.data["dispatcher"]
        if self.depth == 0 and isinstance(function, Compiled):
            self.remaining = {callee.py_func for callee in collect_callees(function)} - self.compiled
            if len(self.remaining) >= NOTICE_THRESHOLD and not self.has_printed:
                self.has_printed = True
                print(f"noms_env: compiling {self.subject}; {self.cache_notice}", file=sys.stderr, flush=True)
        self.depth += 1

    def on_end(self, event: Any) -> None:
        """Finish compiling a function."""
        self.depth -= 1
        function = event.data["dispatcher"].py_func
        self.compiled.add(function)
        self.remaining.discard(function)
        if self.has_printed and sys.stderr is not None and sys.stderr.isatty():
            line = f"  {self.part}functions left: {len(self.remaining)}" if self.remaining else ""
            print(f"\r{line:{self.width}}\r", end="", file=sys.stderr, flush=True)
            self.width = len(line)


PROGRESS = Progress(is_cached=bool(CACHE_FOLDER))
event.register("numba:compile", PROGRESS)

MOVE_SIZE = 32
"""Number of bytes that `move` copies."""

if COMPILED:

    @intrinsic
    def size(_context: Any, cards: Any) -> Any:
        """Return the number of members of a 64-bit set."""

        def codegen(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.ctpop(arguments[0])

        return types.int64(types.int64), codegen

    @intrinsic
    def lowest(_context: Any, cards: Any) -> Any:
        """Return the smallest member of a 64-bit set, 64 for the empty set."""

        def codegen(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.cttz(arguments[0], _false())

        return types.int64(types.int64), codegen

    @intrinsic
    def highest(_context: Any, cards: Any) -> Any:
        """Return the largest member of a 64-bit set, -1 for the empty set."""

        def codegen(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.sub(context.get_constant(types.int64, 63), builder.ctlz(arguments[0], _false()))

        return types.int64(types.int64), codegen

    @intrinsic
    def widen(_context: Any, number: Any) -> Any:
        """Convert the 16 bits of a bfloat16 number to float32; return a float32 number unchanged."""

        def codegen(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            if number == types.float32:
                return arguments[0]
            return builder.bitcast(builder.shl(builder.zext(arguments[0], ir.IntType(32)), ir.IntType(32)(16)), ir.FloatType())

        return types.float32(number), codegen

    @intrinsic
    def narrow(_context: Any, number: Any, like: Any) -> Any:
        """Convert a float32 number to the type of `like`: float32, or the bits of a bfloat16 (ties to even, no NaN)."""

        def codegen(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            if like == types.float32:
                return arguments[0]
            word = ir.IntType(32)
            bits = builder.bitcast(arguments[0], word)
            odd = builder.and_(builder.lshr(bits, word(16)), word(1))
            rounded = builder.add(builder.add(bits, word(0x7FFF)), odd)
            return builder.trunc(builder.lshr(rounded, word(16)), ir.IntType(16))

        return like(number, like), codegen

    @intrinsic
    def spread(_context: Any, out: Any, start: Any, bits: Any) -> Any:
        """Write the lower 56 bits of a set as bytes 0 or 1 into the seven words of `out` from word `start` on."""

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array, start, bits = arguments
            data = context.make_array(signature.args[0])(context, builder, array).data
            if builder.module.triple.startswith("nvptx"):
                _spread_by_words(builder, data, start, bits)
                return context.get_dummy_value()
            for first in (0, 3):  # two stores of four words; the middle word is written twice
                half = builder.trunc(builder.lshr(bits, ir.Constant(bits.type, 8 * first)), ir.IntType(32))
                flags = builder.bitcast(half, ir.VectorType(ir.IntType(1), 32))
                piece = builder.zext(flags, ir.VectorType(ir.IntType(8), 32))
                place = builder.gep(data, [builder.add(start, ir.Constant(start.type, first))])
                builder.store(piece, builder.bitcast(place, piece.type.as_pointer()), align=8)
            return context.get_dummy_value()

        return types.void(out, types.intp, types.int64), codegen

    @intrinsic
    def nonzero(_context: Any, data: Any, start: Any) -> Any:
        """Return the set of the nonzero bytes among the 56 from byte `start` on; on a GPU, `start` must be word-aligned."""

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array, start = arguments
            bytes_ = context.make_array(signature.args[0])(context, builder, array).data
            if builder.module.triple.startswith("nvptx"):
                return _nonzero_by_words(builder, builder.gep(bytes_, [start]))
            piece, word = ir.VectorType(ir.IntType(8), 32), ir.IntType(64)
            halves = []
            for first in (0, 24):  # two loads; the middle eight bytes are read twice
                place = builder.gep(bytes_, [builder.add(start, ir.Constant(start.type, first))])
                loaded = builder.load(builder.bitcast(place, piece.as_pointer()), align=1)
                flags = builder.icmp_unsigned("!=", loaded, ir.Constant(piece, None))
                bits = builder.zext(builder.bitcast(flags, ir.IntType(32)), word)
                halves.append(builder.shl(bits, word(first)))
            return builder.or_(*halves)

        return types.int64(data, types.intp), codegen

    @intrinsic
    def copy(_context: Any, out: Any, start: Any, words: Any) -> Any:
        """Copy a field of words into `out` from word `start` on."""
        piece = ir.VectorType(ir.IntType(64), words.nitems)  # a GPU would do a `memcpy` byte by byte

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array, start, field = arguments
            data = context.make_array(signature.args[0])(context, builder, array).data
            source = context.make_array(signature.args[2])(context, builder, field).data
            loaded = builder.load(builder.bitcast(source, piece.as_pointer()), align=8)
            builder.store(loaded, builder.bitcast(builder.gep(data, [start]), piece.as_pointer()), align=8)
            return context.get_dummy_value()

        return types.void(out, types.intp, words), codegen

    @intrinsic
    def move(_context: Any, out: Any, to: Any, words: Any, at: Any) -> Any:
        """Copy `MOVE_SIZE` bytes between arrays of words, from byte `at` of `words` to byte `to` of `out`."""
        piece = ir.VectorType(ir.IntType(8), MOVE_SIZE)

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            source = _byte_address(context, builder, signature.args[2], arguments[2], arguments[3])
            target = _byte_address(context, builder, signature.args[0], arguments[0], arguments[1])
            loaded = builder.load(builder.bitcast(source, piece.as_pointer()), align=1)
            builder.store(loaded, builder.bitcast(target, piece.as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(out, types.intp, words, types.intp), codegen

    @intrinsic
    def put_word(_context: Any, out: Any, to: Any, word: Any) -> Any:
        """Write a word into an array of words at byte `to`."""

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            target = _byte_address(context, builder, signature.args[0], arguments[0], arguments[1])
            builder.store(arguments[2], builder.bitcast(target, arguments[2].type.as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(out, types.intp, types.int64), codegen

    @intrinsic
    def put_one_hot(_context: Any, out: Any, to: Any, place: Any) -> Any:
        """Write a one-hot vector of `MOVE_SIZE` bytes at byte `to`: 1 at `place` (0..255; all zeros if it is outside)."""
        byte = ir.IntType(8)
        piece = ir.VectorType(byte, MOVE_SIZE)
        order = ir.Constant(ir.VectorType(ir.IntType(32), MOVE_SIZE), [0] * MOVE_SIZE)

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            target = _byte_address(context, builder, signature.args[0], arguments[0], arguments[1])
            first = builder.insert_element(ir.Constant(piece, None), builder.trunc(arguments[2], byte), ir.IntType(32)(0))
            places = builder.shuffle_vector(first, first, order)
            ones = builder.zext(builder.icmp_unsigned("==", places, ir.Constant(piece, list(range(MOVE_SIZE)))), piece)
            builder.store(ones, builder.bitcast(target, piece.as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(out, types.intp, types.int64), codegen

    @intrinsic
    def transpose(_context: Any, out: Any, to: Any, words: Any, at: Any) -> Any:
        """Copy 8 x 8 bytes between arrays of words, from byte `at` of `words` to byte `to` of `out`, transposed."""
        piece = ir.VectorType(ir.IntType(8), 64)
        order = ir.Constant(ir.VectorType(ir.IntType(32), 64), [8 * (k % 8) + k // 8 for k in range(64)])

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            source = _byte_address(context, builder, signature.args[2], arguments[2], arguments[3])
            target = _byte_address(context, builder, signature.args[0], arguments[0], arguments[1])
            loaded = builder.load(builder.bitcast(source, piece.as_pointer()), align=1)
            columns = builder.shuffle_vector(loaded, loaded, order)
            builder.store(columns, builder.bitcast(target, piece.as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(out, types.intp, words, types.intp), codegen

    def _byte_address(context: Any, builder: Any, kind: Any, array: Any, byte: Any) -> Any:
        data = context.make_array(kind)(context, builder, array).data
        return builder.gep(builder.bitcast(data, ir.IntType(8).as_pointer()), [byte])

    def _spread_by_words(builder: Any, data: Any, start: Any, bits: Any) -> None:
        """Do `spread` on machines without byte vectors: move the halves of each byte apart, then their halves."""
        for k in range(7):
            word = builder.and_(builder.lshr(bits, bits.type(8 * k)), bits.type(255))
            for shift, mask in ((28, 0x0000000F0000000F), (14, 0x0003000300030003), (7, 0x0101010101010101)):
                word = builder.and_(builder.or_(word, builder.shl(word, bits.type(shift))), bits.type(mask))
            builder.store(word, builder.gep(data, [builder.add(start, start.type(k))]), align=8)

    def _nonzero_by_words(builder: Any, bytes_: Any) -> Any:
        """Do `nonzero` on machines without byte vectors: set the top bit of each nonzero byte, and gather these bits."""
        word = ir.IntType(64)
        words, lower, upper = builder.bitcast(bytes_, word.as_pointer()), word(0x7F7F7F7F7F7F7F7F), word(0x0101010101010101)
        members = word(0)
        for k in range(7):
            bits = builder.load(builder.gep(words, [word(k)]), align=8)
            tops = builder.or_(builder.add(builder.and_(bits, lower), lower), bits)
            flags = builder.and_(builder.lshr(tops, word(7)), upper)
            row = builder.lshr(builder.mul(flags, word(0x0102040810204080)), word(56))
            members = builder.or_(members, builder.shl(row, word(8 * k)))
        return members

    def _false() -> Any:
        return ir.Constant(ir.IntType(1), 0)

else:

    def size(cards: Any) -> int:
        """Return the number of members of a 64-bit set."""
        return int(cards).bit_count()

    def lowest(cards: Any) -> int:
        """Return the smallest member of a 64-bit set, 64 for the empty set."""
        number = int(cards)
        return (number & -number).bit_length() - 1 if number else 64

    def widen(number: Any) -> np.float32:
        """Convert the 16 bits of a bfloat16 number to float32; return a float32 number unchanged."""
        return number if isinstance(number, np.float32) else np.uint32(int(number) << 16).view(np.float32)

    def narrow(number: Any, like: Any) -> Any:
        """Convert a float32 number to the type of `like`: float32, or the bits of a bfloat16 (ties to even, no NaN)."""
        bits = int(np.float32(number).view(np.uint32))
        return np.float32(number) if isinstance(like, np.float32) else np.uint16((bits + 0x7FFF + (bits >> 16 & 1)) >> 16)

    def spread(out: Any, start: Any, bits: Any) -> None:
        """Write the lower 56 bits of a set as bytes 0 or 1 into the seven words of `out` from word `start` on."""
        for word in range(7):
            byte = (int(bits) >> (8 * word)) & 255
            out[start + word] = sum(1 << (8 * place) for place in range(8) if byte >> place & 1)

    def nonzero(data: Any, start: Any) -> int:
        """Return the set of the nonzero bytes among the 56 from byte `start` on."""
        return sum(1 << place for place in range(56) if data[start + place])

    def copy(out: Any, start: Any, words: Any) -> None:
        """Copy a field of words into `out` from word `start` on."""
        out[start : start + len(words)] = words

    def move(out: Any, to: Any, words: Any, at: Any) -> None:
        """Copy `MOVE_SIZE` bytes between arrays of words, from byte `at` of `words` to byte `to` of `out`."""
        out.view(np.uint8)[to : to + MOVE_SIZE] = words.view(np.uint8)[at : at + MOVE_SIZE]

    def put_word(out: Any, to: Any, word: Any) -> None:
        """Write a word into an array of words at byte `to`."""
        out.view(np.uint8)[to : to + 8] = np.array([word], np.int64).view(np.uint8)

    def put_one_hot(out: Any, to: Any, place: Any) -> None:
        """Write a one-hot vector of `MOVE_SIZE` bytes at byte `to`: 1 at `place` (0..255; all zeros if it is outside)."""
        out.view(np.uint8)[to : to + MOVE_SIZE] = np.arange(MOVE_SIZE) == int(place) % 256

    def transpose(out: Any, to: Any, words: Any, at: Any) -> None:
        """Copy 8 x 8 bytes between arrays of words, from byte `at` of `words` to byte `to` of `out`, transposed."""
        out.view(np.uint8)[to : to + 64] = words.view(np.uint8)[at : at + 64].reshape(8, 8).T.ravel()

    def highest(cards: Any) -> int:
        """Return the largest member of a 64-bit set, -1 for the empty set."""
        return int(cards).bit_length() - 1
