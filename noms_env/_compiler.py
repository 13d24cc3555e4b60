"""A faster compiler than numba's own, for the first start. `_jit` falls back to numba's if this one does not fit its version.

Numba makes every function callable from Python, with two wrappers, machine code and a cache file. Most functions of the engine
are only called by compiled code. They are compiled as *parts*, without all this; the inlined code is identical.

A first start spends most of its time in numba's own Python code. So a part is compiled once per integer type, not per
constant, and is linked only into functions that Python calls. Functions that allocate no arrays use a reduced list of passes.
A built-in function is typed once per tuple of argument types, not per call.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from llvmlite.binding import Linkage
from numba.core import typed_passes, types, untyped_passes
from numba.core.codegen import CPUCodeLibrary, JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, PassManager
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.registry import CPUDispatcher, cpu_target


class _PartLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Code that is linked into other libraries and optimised there; it cannot run by itself."""

    codegen = SimpleNamespace(set_env=lambda _name, _environment: None)
    _shared_module: Any

    def finalize(self) -> None:
        """Link nothing yet, since parts of parts would be copied many times."""
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        """Return the code with all parts that it needs, to be linked into a function that is no part."""
        if self._shared_module is None:
            libraries: dict[CPUCodeLibrary, None] = {}
            queue: list[CPUCodeLibrary] = [self]
            while queue:
                if (library := queue.pop()) not in libraries:
                    libraries[library] = None
                    queue += library._linking_libraries if isinstance(library, _PartLibrary) else []
            module = self._final_module.clone()
            for library in list(libraries)[1:]:
                is_part = isinstance(library, _PartLibrary)
                module.link_in(library._final_module if is_part else library._get_module_for_linking(), preserve=True)
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
"""Numba's passes without those for closures, contexts, exceptions, literals, new arrays, threads and annotations."""


class _Typing:
    """Numba's typing context with a cache for the signatures of built-in functions."""

    def __init__(self, context: Any) -> None:
        self.context = context
        self.signatures: dict[Any, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.context, name)

    def resolve_function_type(self, function: Any, arguments: Any, keywords: Any) -> Any:
        if keywords or type(function) is not types.Function:
            return self.context.resolve_function_type(function, arguments, keywords)
        key = function, arguments
        if key not in self.signatures:
            self.signatures[key] = self.context.resolve_function_type(function, arguments, keywords)
        return self.signatures[key]


_TYPING = _Typing(cpu_target.typing_context)


class _Passes(PassManager):  # type: ignore[misc]
    """A list of passes that runs without numba's timing events."""

    def _runPass(self, _index: int, compiler_pass: Any, state: Any) -> None:
        compiler_pass.analysis = self._analysis
        compiler_pass.run_initialization(state)
        compiler_pass.run_pass(state)
        compiler_pass.run_finalizer(state)


class _Compiler(CompilerBase):  # type: ignore[misc]
    def define_pipelines(self) -> list[Any]:
        if self.state.flags.nrt:
            return [DefaultPassBuilder.define_nopython_pipeline(self.state)]
        self.state.typingctx = _TYPING
        passes = _Passes("nopython")
        for compiler_pass in PASSES:
            passes.add_pass(compiler_pass, compiler_pass.__name__)
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
        general = [types.unliteral(kind) if isinstance(kind, types.IntegerLiteral) else kind for kind in args]
        return super().get_call_template(general, kws)


class FastCompiled(CPUDispatcher):  # type: ignore[misc]
    """A function compiled for Python; compiled functions link in its `part`."""

    def __init__(self, py_func: Callable[..., Any], **arguments: Any) -> None:
        options = arguments["targetoptions"] | {"no_cfunc_wrapper": True}
        super().__init__(py_func, targetoptions=options, pipeline_class=_Compiler)
        self.part = _Part(py_func, targetoptions=options | {"no_cpython_wrapper": True}, pipeline_class=_PartCompiler)

    @property
    def _numba_type_(self) -> Any:
        return types.Dispatcher(self.part)


def check() -> None:
    """Test the compiler on a function that calls parts with constants, arrays, tuples and defaults.

    Raises:
        Exception: of any type, if numba's internals have changed; RuntimeError if the result is wrong.
    """
    options = {"nopython": True, "boundscheck": None, "nogil": True, "error_model": "numpy", "_nrt": False}

    def sum_row(row, factors, more=None):  # type: ignore[no-untyped-def]  # compiled functions have no annotations
        total = np.int64(0)
        for k in range(len(row)):
            total += row[k] * factors[k % 2]
        return total if more is None else total + more

    def sum_rows(rows, out):  # type: ignore[no-untyped-def]
        for i in range(len(rows)):
            out[i] = inner(rows[i], (1, 3)) + inner(rows[i], (i, 2), 5) - inner(rows[i], (7, 2), 6)

    inner: Any = FastCompiled(sum_row, targetoptions=options | {"forceinline": True})
    rows, expected, out = np.arange(12).reshape(3, 4), np.zeros(3, np.int64), np.zeros(3, np.int64)
    FastCompiled(sum_rows, targetoptions=options)(rows, out)
    inner = sum_row
    sum_rows(rows, expected)  # type: ignore[no-untyped-call]
    if not np.array_equal(out, expected):
        raise RuntimeError("a compiled sum is wrong")
