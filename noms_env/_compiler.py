"""How numba compiles a function: in full where Python calls it, and as a part where only compiled code does.

Numba makes every function fit for a call from Python: two wrappers, machine code, and a file in the cache. Most functions of
the engine are only ever linked into those that call them, and then optimised with them. A part is compiled without all this,
which halves the time of a first start. What a part becomes in its caller is the same code.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, ModuleType, SimpleNamespace
from typing import Any

from numba.core import event, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import AnnotateTypes

MANY = 20
"""So many functions take more than a second, and are announced."""


class _PartLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Code that is linked into others, and optimised there; there is none to be run by itself."""

    codegen = SimpleNamespace(set_env=lambda _name, _environment: None)

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, _name: str) -> int:
        self._ensure_finalized()
        return 0


@register_pass(mutates_CFG=False, analysis_only=True)
class _IntoPart(LoweringPass):  # type: ignore[misc]
    _name = "into_part"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return False


class _PartCompiler(CompilerBase):  # type: ignore[misc]
    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_IntoPart, AnnotateTypes)
        passes.finalize()
        return [passes]


class Compiled(CPUDispatcher):  # type: ignore[misc]
    """A compiled function; compiled code that calls it gets a part."""

    def __init__(self, py_func: Callable[..., Any], **arguments: Any) -> None:
        super().__init__(py_func, **arguments)
        options = arguments["targetoptions"] | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        self.part = CPUDispatcher(py_func, targetoptions=options, pipeline_class=_PartCompiler)

    @property
    def _numba_type_(self) -> Any:
        return types.Dispatcher(self.part)


def called(function: Compiled) -> set[Compiled]:
    """The functions that a function calls, it itself, and those that they call in their turn."""
    found, left = set(), [function]
    while left:
        if (one := left.pop()) not in found:
            found.add(one)
            left += _called_by(one.py_func.__code__, one.py_func.__globals__)
    return found


def _called_by(code: CodeType, names: dict[str, Any]) -> list[Compiled]:
    own = [names.get(name) for name in code.co_names]
    of_modules = [getattr(one, name, None) for one in own if isinstance(one, ModuleType) for name in code.co_names]
    return [one for one in own + of_modules if isinstance(one, Compiled)]


class Progress(event.Listener):  # type: ignore[misc]
    """Says on standard error that functions are compiled, and how many are left.

    On a terminal a line counts; elsewhere one sentence is written in a process.
    """

    def __init__(self, kept: bool) -> None:
        """Listen to nothing yet; `kept`: whether the result is kept for the next time."""
        self.kept = "the result is kept for the next time" if kept else "no folder can be written to keep the result in"
        self.depth = 0
        self.left: set[Any] = set()
        self.compiled: set[Any] = set()
        self.is_said = False

    def on_start(self, event: Any) -> None:
        """A function begins; the first one is the one that Python calls."""
        function = event.data["dispatcher"]
        if self.depth == 0 and isinstance(function, Compiled):
            self.left = {one.py_func for one in called(function)} - self.compiled
            if len(self.left) >= MANY and not self.is_said:
                self.is_said = True
                print(f"noms_env: compiling the engine for its first use; {self.kept}", file=sys.stderr, flush=True)
        self.depth += 1

    def on_end(self, event: Any) -> None:
        """A function is compiled."""
        self.depth -= 1
        function = event.data["dispatcher"].py_func
        self.compiled.add(function)
        self.left.discard(function)
        if self.is_said and sys.stderr is not None and sys.stderr.isatty():
            line = f"  functions left: {len(self.left)}" if self.left else ""
            print(f"\r{line:24}\r", end="", file=sys.stderr, flush=True)
