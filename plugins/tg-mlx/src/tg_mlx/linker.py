"""The linker of the MLX backend: core's FuncifyLinker, lazily evaluated or with `mx.compile`.

Lazy evaluation is the default: every call builds MLX's graph anew, for shapes met before from a recording, and no
compiler is needed. On processors `mx.compile` starts a C++ compiler for every new fused kernel. A program with loops is
run node by node in Python, loops too: what is recorded or compiled are the functions of their steps. MLX's default
device, streams and random state stay as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

import ml_dtypes
import mlx.core as mx
import numpy as np

from tg import NoRuleError
from tg.backend import (
    FuncifyLinker,
    Linker,
    Reduce,
    arithmetic,
    cast,
    indexing,
    message,
    refusal,
    shape,
    sharding,
    takes_graphs,
)
from tg_mlx.arrays import copy, from_numpy
from tg_mlx.known import GatherWithin, SliceAt
from tg_mlx.program import Program
from tg_mlx.recorded import Recorded
from tg_mlx.spread import OwnPart, need_processes, spread
from tg_mlx.streams import Shared, stream

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from tg.backend import Executable, FrozenGraph, Request, Unit
    from tg_mlx import Options

VIEWS: Final = frozenset(
    {
        shape.Reshape,
        shape.BroadcastTo,
        shape.Transpose,
        shape.ExpandDims,
        shape.Squeeze,
        shape.Concatenate,
        indexing.WrapIndex,
        indexing.Slice,
        indexing.Gather,
        SliceAt,
        GatherWithin,
        cast.Cast,
        sharding.Placement,
        OwnPart,
        Reduce,
        arithmetic.absolute,
    }
)


def scope(options: Options) -> AbstractContextManager[Any]:
    """A new context for one trace or call."""
    return Shared(options.device)


def _argument(value: Any) -> Any:
    return from_numpy(value) if isinstance(value, np.ndarray) else value


def _to_numpy(array: Any) -> np.ndarray[Any, Any]:
    if isinstance(array, np.ndarray):
        return array
    if array.dtype != mx.bfloat16:
        return np.asarray(array)
    with Shared("cpu"):  # NumPy's protocols know no bfloat16: its bits are handed over
        return np.asarray(array.view(mx.uint16)).view(ml_dtypes.bfloat16)


def _ready(outputs: Sequence[Any]) -> Sequence[Any]:
    mx.eval(outputs)
    return outputs


def _owned(array: Any) -> np.ndarray[Any, Any]:
    return np.array(array) if array.dtype != mx.bfloat16 else np.array(_to_numpy(array))


def _record(function: Callable[..., Any], unit: Unit) -> Callable[..., Any]:
    return Recorded(function, unit.options.device)


def _jit(function: Callable[..., Any], unit: Unit) -> Callable[..., Any]:
    return mx.compile(function)


def _barrier(*arrays: Any) -> Any:
    """The arrays, each when all of them are there: MLX evaluates what is ready, and merges what is equal."""
    return mx.depends([*arrays], [*arrays])


def _linker(jit: Callable[..., Any] | None, inner: Callable[..., Any] | None = None) -> FuncifyLinker:
    return FuncifyLinker(
        to_native=from_numpy,
        to_numpy=_to_numpy,
        copy=copy,
        argument=_argument,
        jit=jit,
        inner=inner,
        scope=scope,
        ready=_ready,
        owned=_owned,
        views=VIEWS,
        barrier=_barrier,
    )


LAZY: Final = _linker(None)
RECORDED: Final = _linker(_record)
COMPILED: Final = _linker(_jit)
RECORDED_STEPS: Final = _linker(None, _record)
COMPILED_STEPS: Final = _linker(None, _jit)


@final
class MlxLinker(Linker):
    """Refuses what a device or `mx.compile` cannot run, then links lazily or compiled."""

    def compile(self, graph: FrozenGraph, request: Request) -> Executable:
        """The graph as an executable.

        Raises:
            NoRuleError: a dtype that the GPU lacks, or a length that depends on values under `compile`.
            OptionError: a device that MLX does not have here, or a mesh of other processes than there are.
        """
        options: Options = request.options
        stream(options.device)
        if options.device == "gpu":
            _refuse_double(graph, request)
        if options.compile:
            _refuse_lengths(graph, request)
        if options.mesh is not None:
            need_processes(options.mesh, is_compiled=options.compile)
            graph = spread(graph, options.mesh.size)
        return Program(graph, request, _linker_of(graph, request), LAZY)


def _linker_of(graph: FrozenGraph, request: Request) -> FuncifyLinker:
    has_steps = takes_graphs(graph)
    if request.options.compile:
        return COMPILED_STEPS if has_steps else COMPILED
    if _needs_values(graph, request) or request.options.mesh is not None:
        return LAZY
    return RECORDED_STEPS if has_steps else RECORDED


def _refuse_double(graph: FrozenGraph, request: Request) -> None:
    if any(t.dtype == "float64" for t in graph.types):
        hint = 'tg.backend("mlx", device="cpu") has float64; float32 runs on both'
        raise NoRuleError(message(f"backend 'mlx' does not run {request.name} on the GPU: no dtype float64", hint=hint))
    for node in graph.nodes:
        for inner in node.op.inner_graphs():
            _refuse_double(inner, request)


def _refuse_lengths(graph: FrozenGraph, request: Request) -> None:
    for number, node in enumerate(graph.nodes):
        if isinstance(node.op, indexing.Nonzero):
            hint = 'tg.backend("mlx", compile=False) evaluates the mask first'
            text = f"backend 'mlx' does not compile {request.name}: the length of nonzero depends on values"
            raise refusal(text, graph, number, hint=hint)
        for inner in node.op.inner_graphs():
            _refuse_lengths(inner, request)


def _needs_values(graph: FrozenGraph, request: Request) -> bool:
    """Whether a program looks at values when it builds MLX's graph: for lengths, to call Python, or for the host."""
    return any(
        isinstance(node.op, indexing.Nonzero)
        or node.op.calls_python
        or request.on_host(node.op, graph, k)
        or any(_needs_values(inner, request) for inner in node.op.inner_graphs())
        for k, node in enumerate(graph.nodes)
    )


LINKER: Final = MlxLinker()
