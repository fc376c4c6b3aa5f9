"""The linker of the JAX backend: core's FuncifyLinker with `jax.jit`.

64 bits are switched on by JAX's thread-local context, around each trace and each call: the user's own flag, and the
dtypes of the user's own arrays, stay as they are. Nothing else of JAX's configuration is read or set.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final, final

import jax
import jax.numpy as jnp
import numpy as np

from tg.backend import FuncifyLinker, Linker, Reduce, arithmetic, cast, complex, control, indexing, loops, shape
from tg_jax.little import BARRIER, as_one
from tg_jax.memory import compiled_memory, eager_memory
from tg_jax.pipeline import pipeline
from tg_jax.place import find_device, lay_out
from tg_jax.settings import check, compiler_options, is_one, takes_sums
from tg_jax.sums import has_sums, in_library
from tg_jax.traced import SYMBOLS, traceable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from types import UnionType

    from tg.backend import Executable, FrozenGraph, Request, Stages, Traceable, Unit
    from tg_jax import Options

    Array = np.ndarray[Any, Any]

LARGE: Final = 1 << 16  # bytes: copying fewer takes no longer than doing without

VIEWS: Final = frozenset(
    {
        arithmetic.absolute,
        cast.Cast,
        complex.real,
        indexing.Gather,
        indexing.Slice,
        indexing.WrapIndex,
        Reduce,
        shape.BroadcastTo,
        shape.Concatenate,
        shape.ExpandDims,
        shape.Reshape,
        shape.Squeeze,
        shape.Transpose,
    }
)
"""Of which JAX gives the operand itself where there is nothing to do, operation by operation."""


@final
class _Wide:
    """64 bits for the calling thread: what JAX's own context does, without the half microsecond of making it."""

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = jax.enable_x64.swap_local(True)

    def __exit__(self, *exc: object) -> None:
        jax.enable_x64.set_local(self._before)


def _wide_context() -> Callable[[], AbstractContextManager[Any]]:
    """Maker of contexts of 64 bits; JAX's own where it does more than to set its flag for the thread."""
    flag: Any = jax.enable_x64
    plain = hasattr(flag, "swap_local") and getattr(flag, "_update_thread_local_hook", flag) is None
    return _Wide if plain else lambda: flag(True)


WIDE: Final = _wide_context()


def switch(options: Options) -> tuple[Callable[[], Any], Callable[[Any], None]] | None:
    """The same by two functions; None where there is more to do around a call."""
    if WIDE is not _Wide or options.device is not None:
        return None
    flag: Any = jax.enable_x64
    return functools.partial(flag.swap_local, True), flag.set_local


class _OnDevice:
    """64 bits, and a device for what is made inside."""

    __slots__ = ("_device", "_wide")

    def __init__(self, device: Any) -> None:
        self._wide: Any = WIDE()
        self._device = jax.default_device(device)

    def __enter__(self) -> None:
        self._wide.__enter__()
        self._device.__enter__()

    def __exit__(self, *exc: object) -> None:
        self._device.__exit__(*exc)
        self._wide.__exit__(*exc)


def scope(options: Options) -> AbstractContextManager[Any]:
    """A new context for one trace or call."""
    if options.device is None or options.mesh is not None:
        return WIDE()
    return _OnDevice(find_device(options.device))


def _jit(function: Callable[..., Any], unit: Unit) -> Callable[..., Any]:
    """The function compiled; on a processor as it is written. Compilers of other devices need the pass themselves."""
    has_loops = _has(unit.graph, loops.Scan | loops.While)
    has_calls = any(isinstance(node.op, control.Call) for node in unit.graph.nodes)  # in loops nothing equal is outside
    one = is_one(unit.options, has_loops=has_loops)
    sums = takes_sums(unit.options) and has_sums(unit.graph)
    told = compiler_options(unit.options, has_loops=has_loops, has_calls=has_calls, has_sums=sums)
    return jax.jit(as_one(function) if one else in_library(function) if sums else function, compiler_options=told)


def _has(graph: FrozenGraph, kinds: type | UnionType) -> bool:
    """Whether there is an op of a class in it, or in a graph inside."""
    ops = [node.op for node in graph.nodes]
    return any(isinstance(op, kinds) or any(_has(inner, kinds) for inner in op.inner_graphs()) for op in ops)


def _copy(array: Any) -> Any:
    with jax.ensure_compile_time_eval():  # a program of the user's may be traced meanwhile
        return jnp.array(array, copy=True)  # device_put would share the caller's memory


def _constant(array: Array) -> Any:
    """A constant of a program: a scalar stays NumPy's, which is a literal, and known to rules while tracing."""
    return jnp.asarray(array) if array.ndim else array


def _ready(outputs: Sequence[Any]) -> Sequence[Any]:
    for array in outputs:  # JAX reads the caller's arrays after the call has returned
        array.block_until_ready()
    return outputs


def owned(output: Any) -> Array:
    """An output that nobody else is given, as an array that is writable: a copy, or large ones in its memory."""
    array: Array = np.asarray(output)
    if array.nbytes < LARGE:
        return array.copy()
    is_named = array.dtype.isbuiltin == 1  # bfloat16 has no name in the interface below
    return np.asarray(_Memory(array)) if is_named else array.copy()


@final
class _Memory:
    """The memory of an array that is read-only, to be written; it lives as long as what is made of it."""

    __slots__ = ("__array_interface__", "_array")

    def __init__(self, array: Array) -> None:
        described = array.__array_interface__
        described["data"] = (described["data"][0], False)
        self.__array_interface__, self._array = described, array


def _is_spread(value: object, options: Options) -> bool:
    """Whether it is an array on several devices; one device that the options name has everything."""
    if options.device is not None and options.mesh is None:
        return False
    if not isinstance(value, jax.Array) or isinstance(value, jax.core.Tracer):
        return False
    return len(value.sharding.device_set) > 1


def _barrier(*arrays: Any) -> Any:
    """The arrays, which XLA takes for others than those outside: it merges equal expressions."""
    return BARRIER(arrays)


def _linker(*, is_compiled: bool) -> FuncifyLinker:
    return FuncifyLinker(
        to_native=_copy,
        to_numpy=np.asarray,
        constant=_constant,
        copy=jnp.copy,
        argument=None if is_compiled else _argument,
        jit=_jit if is_compiled else None,
        scope=scope,
        switch=switch,
        ready=_ready,
        owned=owned,
        waits=True,
        views=frozenset() if is_compiled else VIEWS,
        is_spread=_is_spread,
        lay_out=lay_out,
        memory=compiled_memory if is_compiled else eager_memory,
        barrier=_barrier if is_compiled else None,
        traceable=functools.partial(traceable, scope=WIDE),
        symbols=SYMBOLS,
    )


def _argument(value: Any) -> Any:
    """An input as JAX's array: outside of programs rules take no others."""
    return value if isinstance(value, jax.Array) else _copy(value)


COMPILED: Final = _linker(is_compiled=True)
EAGER: Final = _linker(is_compiled=False)


@final
class JaxLinker(Linker):
    """Core's linker, compiled by JAX or run operation by operation, once the options can be honoured."""

    def compile(self, graph: FrozenGraph, request: Request) -> Executable:
        """The executable of a graph.

        Raises:
            OptionError: what JAX, XLA or the device does not have, or what is set for the process otherwise.
        """
        check(request.options)
        return (COMPILED if request.options.compile else EAGER).compile(graph, request)

    def traceable(self, function: Traceable) -> Callable[..., Sequence[Any]] | None:
        """The function for programs of the user's own."""
        return COMPILED.traceable(function)

    def pipeline(self, stages: Stages) -> Callable[[Sequence[Array]], tuple[Any, Sequence[Any]]]:
        """The function of stages on devices."""
        check(stages.options)
        return pipeline(stages, scope=WIDE)


LINKER: Final = JaxLinker()
