"""How numba compiles a function: in full where Python calls it, and as a part where only compiled code does.

Numba makes every function fit for a call from Python: two wrappers, machine code, and a file in the cache. Most functions of
the engine are only ever linked into those that call them, and then optimised with them. A part is compiled without all this.
What it becomes in its caller is the same code.

Most of the time of a first start is numba's own Python. So a part is compiled once for all integers of one type, where numba
would compile it anew for each constant; it is linked only where a whole function wants it; functions that make no arrays
go through those passes of numba's alone that do anything to them; a built-in function is typed once for each types of its
arguments, not at each call; and Python does not look for garbage meanwhile.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Mapping
from types import CodeType, ModuleType, SimpleNamespace
from typing import Any

from llvmlite.binding import Linkage
from numba.core import event, typed_passes, types, untyped_passes
from numba.core.codegen import CPUCodeLibrary, JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, PassManager
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.registry import CPUDispatcher, cpu_target

MANY = 20
"""So many functions take more than a second, and are announced."""


class _PartLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Code that is linked into others, and optimised there; there is none to be run by itself."""

    codegen = SimpleNamespace(set_env=lambda _name, _environment: None)
    _shared_module: Any

    def finalize(self) -> None:
        """Link nothing yet: whoever links a part of a part would copy it again and again."""
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        """The code with that of all parts which it needs, for a function that is none."""
        if self._shared_module is None:
            found: dict[CPUCodeLibrary, None] = {}
            left: list[CPUCodeLibrary] = [self]
            while left:
                if (one := left.pop()) not in found:
                    found[one] = None
                    left += one._linking_libraries if isinstance(one, _PartLibrary) else []
            module = self._final_module.clone()
            for one in list(found)[1:]:
                other = one._final_module if isinstance(one, _PartLibrary) else one._get_module_for_linking()
                module.link_in(other, preserve=True)
            for function in module.functions:
                if not function.is_declaration and function.linkage == Linkage.external:
                    function.linkage = "linkonce_odr"
            self._shared_module = module
        return self._shared_module

    def get_pointer_to_function(self, _name: str) -> int:
        return 0


@register_pass(mutates_CFG=False, analysis_only=True)
class _IntoPart(LoweringPass):  # type: ignore[misc]
    _name = "into_part"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return False


PASSES = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    untyped_passes.IRProcessing,
    untyped_passes.RewriteSemanticConstants,
    untyped_passes.DeadBranchPrune,
    untyped_passes.GenericRewrites,
    untyped_passes.ReconstructSSA,
    untyped_passes.DeadBranchPrune,
    typed_passes.NopythonTypeInference,
    typed_passes.PreLowerStripPhis,
    typed_passes.IRLegalization,
    typed_passes.NativeLowering,
    typed_passes.NoPythonBackend,
)
"""Numba's passes but for those about closures, contexts, exceptions, literals, new arrays, threads and annotations."""


class _Typing:
    """Numba's typing context, which remembers the signature of a built-in function for types of arguments."""

    def __init__(self, context: Any) -> None:
        self.context = context
        self.found: dict[Any, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.context, name)

    def resolve_function_type(self, function: Any, arguments: Any, named: Any) -> Any:
        if named or type(function) is not types.Function:
            return self.context.resolve_function_type(function, arguments, named)
        key = function, arguments
        if key not in self.found:
            self.found[key] = self.context.resolve_function_type(function, arguments, named)
        return self.found[key]


_TYPING = _Typing(cpu_target.typing_context)


class _Passes(PassManager):  # type: ignore[misc]
    """A list of passes, run without numba's reports on each of them."""

    def _runPass(self, _index: int, one: Any, state: Any) -> None:
        one.analysis = self._analysis
        one.run_initialization(state)
        one.run_pass(state)
        one.run_finalizer(state)


class _Compiler(CompilerBase):  # type: ignore[misc]
    def define_pipelines(self) -> list[Any]:
        if self.state.flags.nrt:
            return [DefaultPassBuilder.define_nopython_pipeline(self.state)]
        self.state.typingctx = _TYPING
        passes = _Passes("nopython")
        for one in PASSES:
            passes.add_pass(one, one.__name__)
        passes.finalize()
        return [passes]


class _PartCompiler(_Compiler):
    def define_pipelines(self) -> list[Any]:
        [passes] = super().define_pipelines()
        passes.add_pass_after(_IntoPart, typed_passes.IRLegalization)
        passes.finalize()
        return [passes]


class _Part(CPUDispatcher):  # type: ignore[misc]
    def get_call_template(self, args: Any, kws: Any) -> Any:
        general = [types.unliteral(one) if isinstance(one, types.IntegerLiteral) else one for one in args]
        return super().get_call_template(general, kws)


class Compiled(CPUDispatcher):  # type: ignore[misc]
    """A compiled function; compiled code that calls it gets a part."""

    def __init__(self, py_func: Callable[..., Any], **arguments: Any) -> None:
        options = arguments["targetoptions"] | {"no_cfunc_wrapper": True}
        super().__init__(py_func, targetoptions=options, pipeline_class=_Compiler)
        self.part = _Part(py_func, targetoptions=options | {"no_cpython_wrapper": True}, pipeline_class=_PartCompiler)

    @property
    def _numba_type_(self) -> Any:
        return types.Dispatcher(self.part)

    def compile(self, sig: Any) -> Any:
        """Compile without looking for garbage in between: there is hardly any."""
        was_on = gc.isenabled()
        gc.disable()
        try:
            return super().compile(sig)
        finally:
            if was_on:
                gc.enable()


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
        self.what, self.part, self.width = "a part of the engine for its first use", "", 0  # width of the line that is shown

    def use(self, parts: Mapping[str, Callable[[], object]]) -> int:
        """Use all that compiled code is needed for, part after part; the sentence and the line name the parts.

        Returns:
            How many functions were compiled.
        """
        before, usual = len(self.compiled), self.what
        self.what = f"{', '.join(parts)} for the first use, which takes a minute or two at most"
        try:
            for number, (name, use) in enumerate(parts.items(), 1):
                self.part = f"{name} ({number} of {len(parts)}), "
                use()
        finally:
            self.what, self.part = usual, ""
        return len(self.compiled) - before

    def on_start(self, event: Any) -> None:
        """A function begins; the first one is the one that Python calls."""
        function = event.data["dispatcher"]
        if self.depth == 0 and isinstance(function, Compiled):
            self.left = {one.py_func for one in called(function)} - self.compiled
            if len(self.left) >= MANY and not self.is_said:
                self.is_said = True
                print(f"noms_env: compiling {self.what}; {self.kept}", file=sys.stderr, flush=True)
        self.depth += 1

    def on_end(self, event: Any) -> None:
        """A function is compiled."""
        self.depth -= 1
        function = event.data["dispatcher"].py_func
        self.compiled.add(function)
        self.left.discard(function)
        if self.is_said and sys.stderr is not None and sys.stderr.isatty():
            line = f"  {self.part}functions left: {len(self.left)}" if self.left else ""
            print(f"\r{line:{self.width}}\r", end="", file=sys.stderr, flush=True)
            self.width = len(line)
