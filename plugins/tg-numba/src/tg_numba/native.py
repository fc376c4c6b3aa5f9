"""How Numba compiles generated functions, and how they call one another.

Numba's cost grows faster than the length of a function, and what a function calls is compiled again as part of it. So
each loop nest is a function of its own that others call by its address, and a nest that has been compiled serves all
programs of the process that need it. Only functions of single elements become part of the nests that call them.
"""

from __future__ import annotations

import inspect
import threading
import weakref
from typing import TYPE_CHECKING, Any, Final, final

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import PassManager
from numba.core.typed_passes import (
    AnnotateTypes,
    IRLegalization,
    NativeLowering,
    NoPythonBackend,
    NopythonTypeInference,
    PreLowerStripPhis,
)
from numba.core.untyped_passes import FixupArgs, IRProcessing, ReconstructSSA, TranslateByteCode
from numba.extending import _Intrinsic, intrinsic

if TYPE_CHECKING:
    from collections.abc import Callable

_types: Any = types  # what Numba's annotations leave out is there too
LOCK: Final = threading.RLock()  # of everything that compiles
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


class Pipeline(CompilerBase):  # type: ignore[misc]
    """Compiles functions of scalars and pointers."""

    apart = False  # whether no two pointers among the arguments reach one place

    def define_pipelines(self) -> list[Any]:
        """One pipeline of the passes that are needed."""
        self.state.flags.noalias = self.apart
        found = PassManager("tg")
        for step in STEPS:
            found.add_pass(step, step.__name__)
        found.finalize()
        return [found]


@final
class NestPipeline(Pipeline):
    """Compiles loop nests."""

    apart = True


PLAIN: Final = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, "pipeline_class": Pipeline}


def compiled(function: Callable[..., Any]) -> Any:
    """A function that becomes part of those that call it."""
    return numba.njit(**PLAIN, no_cpython_wrapper=True)(function)


def entry(function: Callable[..., Any], kinds: list[Any]) -> tuple[Callable[..., int], int]:
    """The function for arguments of these types, as Python calls it: without a look at what they are; its address."""
    made = numba.njit(types.int64(*kinds), **PLAIN)(function)
    (result,) = made.overloads.values()
    return result.entry_point, result.library.get_pointer_to_function(result.fndesc.llvm_func_name)


def apart(function: Callable[..., Any], *, nest: bool = False) -> Any:
    """A function that others call by its address, compiled when it is first needed for some types.

    Args:
        nest: no two pointers among its arguments reach one place that it writes.
    """
    options = {**PLAIN, "pipeline_class": NestPipeline} if nest else PLAIN
    return by_address(numba.njit(**options, no_cpython_wrapper=True)(function))


def by_address(made: Any) -> Any:
    """What Numba has compiled, called by its address."""

    def typed(typing: Any, *arguments: Any) -> Any:
        kinds = tuple(map(_types.unliteral, arguments))
        made.compile(kinds)
        result = made.overloads[kinds]
        back = result.signature.return_type
        place = result.library.get_pointer_to_function(result.fndesc.llvm_func_name)

        def write(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            convention = context.call_conv
            callee = builder.inttoptr(ir.IntType(64)(place), convention.get_function_type(back, kinds).as_pointer())
            found = cgutils.alloca_once(builder, convention.get_return_type(back).pointee)
            failure = cgutils.alloca_once(builder, callee.type.pointee.args[1].pointee)
            given = context.get_arg_packer(kinds).as_arguments(builder, values)
            builder.call(callee, [found, failure, *given])
            return context.get_returned_value(builder, back, builder.load(found))

        return back(*kinds), write

    typed.__name__ = made.py_func.__name__
    return intrinsic(with_arguments(typed, made.py_func.__code__.co_argcount))


def with_arguments(typed: Any, count: int) -> Any:
    """A function of any arguments as one of a certain number: an intrinsic takes them one by one."""
    names = ("typing", *(f"a{k}" for k in range(count)))
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    typed.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in names])
    return typed


# --- what the process has compiled -----------------------------------------------------------------------------------

_functions: Final[dict[Callable[..., Any], tuple[Any, Any]]] = {}
_nests: Final[weakref.WeakValueDictionary[object, Any]] = weakref.WeakValueDictionary()


def both(function: Callable[..., Any]) -> tuple[Any, Any]:
    """A Python function of a rule, as what calls it includes it and as it is called by its address."""
    if isinstance(function, _Intrinsic):
        return function, function
    with LOCK:
        found = _functions.get(function)
        if found is None:
            made = function if hasattr(function, "py_func") else compiled(function)
            found = _functions[function] = (made, by_address(made))
        return found


def nest(text: str, scope: dict[str, Any]) -> Any:
    """The function of a loop nest, called by its address: one for equal texts that use the same functions."""
    key = (text, frozenset((name, id(value)) for name, value in scope.items()))
    with LOCK:
        found = _nests.get(key)
        if found is None:
            names = dict(scope)
            exec(compile(text, "<tg-numba nest>", "exec"), names)
            found = apart(names["loop"], nest=True)
            _nests[key] = found
        return found
