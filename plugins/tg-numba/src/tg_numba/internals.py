"""All that is taken of Numba's internals, from a Python function to the object file of its code, with a test of it.

Nothing else here imports more of Numba than its public names, and where this does not import, or `check` fails, nests
are compiled by `numba.cfunc` (`tg_numba.front`). Why internals: the code of a function never comes near Numba's own
engine, which keeps what it has got until the process ends; object files are kept on disk; and a third of the passes are
enough.

What a function calls by name is declared in its module, and found when object files are loaded together.
"""

from __future__ import annotations

import ctypes
import weakref
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
from llvmlite.binding.newpassmanagers import NewPassManager
from numba.core import cgutils, compiler, types
from numba.core.codegen import AOTCodeLibrary, JITCPUCodegen
from numba.core.compiler import CompilerBase
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager
from numba.core.imputils import user_function
from numba.core.registry import cpu_target
from numba.core.typed_passes import (
    AnnotateTypes,
    IRLegalization,
    NativeLowering,
    NoPythonBackend,
    NopythonTypeInference,
    PreLowerStripPhis,
)
from numba.core.typing.templates import make_intrinsic_template
from numba.core.untyped_passes import FixupArgs, IRProcessing, ReconstructSSA, TranslateByteCode
from numba.extending import models, register_model

from tg.turns import exclusive
from tg_numba import engine, meanings
from tg_numba.engine import code_of_module
from tg_numba.machine import imag, lesser, real, shift
from tg_numba.native import COMPILING, Callee, Nest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tg_numba.engine import Code

_types: Any = types  # what Numba's annotations leave out is there too
STEPS: Final = (
    TranslateByteCode,
    FixupArgs,
    IRProcessing,
    ReconstructSSA,
    NopythonTypeInference,
    PreLowerStripPhis,
    IRLegalization,
    AnnotateTypes,
    NativeLowering,
    NoPythonBackend,
)
"""The passes that straight-line code with loops needs; Numba's usual pipeline has three times as many."""
OPTIONS: Final = {
    "nopython": True,
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
    "no_cpython_wrapper": True,
}


class Pipeline(CompilerBase):  # type: ignore[misc]
    """Compiles functions of scalars and pointers, as far as LLVM's language."""

    def define_pipelines(self) -> list[Any]:
        """One pipeline of the passes that are needed."""
        found = PassManager("tg")
        for step in STEPS:
            found.add_pass(step, step.__name__)
        found.finalize()
        return [found]


@final
class Library(AOTCodeLibrary):  # type: ignore[misc]
    """The code of a function in the making, optimised when it is whole."""

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        """Simplify loops, then all passes: without the first, loops of the second find less."""
        simple, full = self._codegen.builders
        passes = simple.getModulePassManager()
        passes.add_loop_rotate_pass()
        passes.add_instruction_combine_pass()
        passes.add_jump_threading_pass()
        for builder, some in ((simple, passes), (full, full.getModulePassManager())):
            some.run(self._final_module, builder)
            NewPassManager._dispose(some)  # which it does not do itself


@final
class Codegen(JITCPUCodegen):  # type: ignore[misc]
    """Numba's options for code of this machine, without an engine that would keep it."""

    _library_class = Library

    @cached_property
    def builders(self) -> tuple[Any, Any]:
        """What makes passes: few, and all."""
        return self._pass_builder(opt=0, loop_vectorize=False, slp_vectorize=False), self._pass_builder()

    def _add_module(self, module: Any) -> None:
        return


TARGET: Final = cpu_target.target_context.subtarget(_internal_codegen=Codegen("tg"))


# --- types -----------------------------------------------------------------------------------------------------------


@final
class CalleeType(types.Callable, types.Dummy):
    """The type of a function that others call: each has its own."""

    def __init__(self, callee: Callee) -> None:
        self.callee = callee
        super().__init__(f"callee({id(callee)})")

    def get_call_type(self, context: Any, arguments: Any, keywords: Any) -> Any:
        """The signature for arguments of these types."""
        return overload_of(self.callee, tuple(map(_types.unliteral, arguments))).signature

    def get_call_signatures(self) -> tuple[list[Any], bool]:
        """Those that are known."""
        return [found.signature for found in self.callee.overloads.values()], True

    def get_impl_key(self, signature: Any) -> object:
        """What stands for the code of a call."""
        return overload_of(self.callee, signature.args).key


register_model(CalleeType)(models.OpaqueModel)


def callee_type(callee: Callee) -> CalleeType:
    """The type that a function is in compiled code."""
    return CalleeType(callee)


def word_type(word: object, meaning: Callable[..., Any]) -> Any:
    """The type of a word that writes instructions.

    Args:
        meaning: from the types of arguments to a signature, and what writes instructions for it.
    """
    return types.Function(make_intrinsic_template(word, meaning, meaning.__name__))


# --- functions -------------------------------------------------------------------------------------------------------


@final
class Overload:
    """A function compiled for arguments of some types; its object file is made when it is needed."""

    __slots__ = ("__weakref__", "_code", "_library", "key", "name", "signature")

    def __init__(self, callee: Callee, kinds: Sequence[Any]) -> None:
        flags = compiler.Flags()
        cpu_target.options.parse_as_flags(flags, dict(OPTIONS))
        flags.no_compile = True
        flags.noalias = callee.noalias
        with global_compiler_lock:
            made = compiler.compile_extra(
                cpu_target.typing_context, TARGET, callee.function, kinds, None, flags, {}, pipeline_class=Pipeline
            )
        self.signature, self.name, self.key = made.signature, made.fndesc.llvm_func_name, object()
        self._library: Any = made.library
        self._code: Code | None = None
        call = _call(self.name, self.signature) if callee.apart else user_function(made.fndesc, [made.library])
        TARGET.insert_func_defn([(call, self.key, self.signature.args)])
        weakref.finalize(self, TARGET.remove_user_function, self.key)

    @property
    def code(self) -> Code:
        """The object file, with what it needs."""
        found = self._code
        if found is None:
            with global_compiler_lock:
                data = self._library.emit_native_object()
            found = self._code = code_of_module(self._library._final_module, data)
            self._library = None
        return found


_by_name: Final[weakref.WeakValueDictionary[str, Overload]] = weakref.WeakValueDictionary()


@exclusive(COMPILING)
def overload_of(callee: Callee, kinds: tuple[Any, ...]) -> Overload:
    """A function for arguments of these types."""
    found: Overload | None = callee.overloads.get(kinds)
    if found is None:
        found = callee.overloads[kinds] = Overload(callee, kinds)
        _by_name[found.name] = found
    return found


def _call(name: str, signature: Any) -> Callable[..., Any]:
    """What writes a call of a function by its name; none of ours raises, so its status is not looked at."""

    def write(context: Any, builder: Any, given: Any, values: Any) -> Any:
        convention, back = context.call_conv, signature.return_type
        kind = convention.get_function_type(back, signature.args)
        callee = cgutils.get_or_insert_function(builder.module, kind, name)
        found = cgutils.alloca_once(builder, convention.get_return_type(back).pointee)
        failure = cgutils.alloca_once(builder, kind.args[1].pointee)
        packed = context.get_arg_packer(signature.args).as_arguments(builder, values)
        builder.call(callee, [found, failure, *packed])
        return context.get_returned_value(builder, back, builder.load(found))

    return write


def with_callees(first: Sequence[Overload]) -> Iterator[Overload]:
    """Functions and all that they call by name, each once."""
    waiting, seen = list(first), set[str]()
    while waiting:
        found = waiting.pop()
        if found.name not in seen:
            seen.add(found.name)
            yield found
            waiting += (_by_name[name] for name in found.code.needs if name in _by_name)


# --- the test --------------------------------------------------------------------------------------------------------

TESTED: Final = """\
def loop(values, parts, n):
    total = 0.0
    for k in range(lesser(n, 3)):
        total += halved(shift(values, 1)[k])
    parts[0] = real(parts[1]) + imag(parts[1]) * 1j
    values[0] = total
    return n + 1
"""


def _halved(x: Any) -> Any:
    return x / 2


def check() -> None:
    """Compile a nest with all that nests use, load it beside what it calls, and run it.

    Raises:
        Exception: an internal is missing, or does something else than what this was written for.
    """
    scope = {"lesser": lesser, "shift": shift, "real": real, "imag": imag, "halved": Callee(_halved, apart=True)}
    nest = Nest(TESTED, scope)
    entry = overload_of(nest, tuple(map(meanings.argument, ("f64", "c128", "n"))))
    caller = engine.assembled(engine.nest_caller("tested", entry.name, ("ptr", "ptr", "i64")).replace("internal ", ""))
    codes = [caller, *(found.code for found in with_callees([entry]))]
    loaded = engine.loaded(engine.bundle(codes, {"tested": "tested"}), {})
    run = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(loaded.address("tested"))
    values, parts = np.array([0.0, 1.0, 2.0, 4.0, 8.0]), np.array([0, 3 - 4j])
    found = run(values.ctypes.data, parts.ctypes.data, 5), float(values[0]), complex(parts[0])
    if found != (6, 3.5, 3 - 4j):
        raise RuntimeError(f"a nest gives {found}, needed (6, 3.5, (3-4j))")
