"""Re-typing: an expression with float64 and complex128 replaced, as the option `dtype` of a backend asks for it.

The expression is built anew over variables of the new types. Where it had float64 it has the new dtype, whether an
input, a constant, a promotion or an op's own rule made it so. There are two exceptions. A cast that a user has written
stays (`Cast.origin`), and what is computed of its result is of 64 bits with it, as NumPy promotes. And an op that has
no loop in the new dtype works in the next wider one that it has, float64 at last; its results are rounded.

Inner graphs are re-typed for the dtypes of their operands: a carry stays in the dtype in which it begins.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.errors import DtypeError, InputError
from tg.graph import loc as locs
from tg.graph.checks import Check
from tg.graph.dims import named_type
from tg.graph.function_graph import freeze
from tg.graph.nodes import Constant, Variable, apply
from tg.graph.operators import NAMESPACE
from tg.graph.traversal import key_of, sorted_applies
from tg.ops.control import Call
from tg.ops.elementwise.cast import Cast, cast_variable
from tg.ops.loops import Cond, Scan, While
from tg.ops.updating import Updating
from tg.types.dtypes import COMPLEX, WIDE, float_limits, in_float32, numpy_dtype
from tg.types.requirements import Requirements
from tg.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tg.graph.frozen import FrozenGraph
    from tg.graph.op import Op

FOLLOWS: Final = (Scan, While, Cond, Call)  # ops whose inner graphs take operands in whatever dtypes these have


def stand_in(v: Variable, dtypes: Mapping[str, str]) -> Variable:
    """The variable for an input or a shared variable in a re-typed program; itself where its dtype stays."""
    dtype = dtypes.get(v.type.dtype)
    if dtype is None:
        return v
    new = Variable(TensorType(dtype, named_type(v).shape), name=v.name)
    new.loc = v.loc
    return new


def retyped(
    old: Sequence[Variable],
    new: Sequence[Variable],
    outputs: Sequence[Variable],
    dtypes: Mapping[str, str],
    places: dict[int, Variable] | None = None,
) -> list[Variable]:
    """The outputs over the new variables, which stand for the old ones.

    Args:
        places: where to leave what each variable of the expression, by its id, has become.
    """
    retyping = _Retyping(dtypes)
    done: dict[int | tuple[int, int], Variable] = {id(a): b for a, b in zip(old, new, strict=True)}

    def value(v: Variable) -> Variable:
        entry = done.get(id(v) if v.apply is None or id(v) in done else key_of(v))
        if entry is None:
            entry = done[id(v)] = retyping.constant(v) if isinstance(v, Constant) else v
        return entry

    with locs.at(None):
        for node, results in sorted_applies(outputs, boundary=old):
            locs.fix(node.loc)
            operands = [value(v) for v in node.inputs]
            fresh = retyping.node(node.op, operands, [v.type.dtype for v in node.inputs], node.types)
            for k, (before, after) in enumerate(zip(results, fresh, strict=True)):
                done[id(node), k + 1] = after
                if before is not None:
                    done[id(before)] = after
                    if after.apply is not None:
                        after.name = after.name or before.name
        new_outputs = [value(v) for v in outputs]
    if places is not None:
        places.update({key: v for key, v in done.items() if isinstance(key, int)})
    return new_outputs


@final
class _Retyping:
    """The re-typing of one expression: nodes and inner graphs, operands first."""

    def __init__(self, dtypes: Mapping[str, str]) -> None:
        self._dtypes = dtypes
        self._written: dict[int, tuple[Variable, Constant]] = {}  # by id: a constant, and as it was written
        self._graphs: dict[tuple[object, ...], FrozenGraph] = {}

    def _new(self, dtype: str) -> str:
        return self._dtypes.get(dtype, dtype)

    def constant(self, v: Constant) -> Constant:
        """A constant in the new dtype."""
        dtype = self._dtypes.get(v.type.dtype)
        if dtype is None:
            return v
        new = Constant(_rounded(v.data, dtype), v.name)
        self._written[id(new)] = new, v
        return new

    def node(
        self, op: Op, operands: list[Variable], before: Sequence[str], types: Sequence[TensorType]
    ) -> Sequence[Variable]:
        """The results of an op on operands that have new dtypes, of which they and the results had others before."""
        if type(op) is Updating:  # the new value is a result of the function by now
            return operands[:1]
        if type(op) is Cast:
            return [self._cast(op, operands[0], before[0])]
        if type(op).graph_fields:
            return self._with_graphs(op, operands, before)
        if any(v.type.dtype == dtype in WIDE for v, dtype in zip(operands, before, strict=True)):
            return apply(op, self._widened(operands, before))
        if not op.calls_python:
            for attempt in self._in_place(op, operands, before):
                return self._rounded(attempt, types)
        return self._rounded(apply(op, self._widened(operands, before)), types)

    def _in_place(self, op: Op, operands: list[Variable], before: Sequence[str]) -> Any:
        """The results of an op in the new dtype, or of halves in float32; nothing where it has neither."""
        kinds = [self._dtypes.get(dtype) for dtype in before]
        for dtypes in (kinds, [None if kind is None else in_float32(kind) for kind in kinds]):
            casts = [v if t is None else cast_variable(v, t) for v, t in zip(operands, dtypes, strict=True)]
            try:
                yield apply(op.retyped(self._dtypes), casts)
            except (DtypeError, InputError):
                continue

    def _cast(self, op: Cast, v: Variable, before: str) -> Variable:
        is_kept = v.type.dtype == before in WIDE and op.origin != "back"
        if op.origin == "stated" or is_kept:
            return cast_variable(self._as_written(v), op.dtype)
        return cast_variable(v, self._new(op.dtype))

    def _as_written(self, v: Variable) -> Variable:
        entry = self._written.get(id(v))
        return v if entry is None else entry[1]

    def _widened(self, operands: Sequence[Variable], before: Sequence[str]) -> list[Variable]:
        """The operands in the dtypes that they had, constants with all their digits."""
        return [
            cast_variable(self._as_written(v), dtype) if dtype in WIDE else v
            for v, dtype in zip(operands, before, strict=True)
        ]

    def _rounded(self, results: Sequence[Variable], types: Sequence[TensorType]) -> list[Variable]:
        return [cast_variable(v, self._new(t.dtype)) for v, t in zip(results, types, strict=True)]

    # --- inner graphs ------------------------------------------------------------------------------------------------

    def _with_graphs(self, op: Op, operands: list[Variable], before: Sequence[str]) -> Sequence[Variable]:
        graphs = op.inner_graphs()
        if type(op) not in FOLLOWS:
            inner = [self._graph(graph, [self._new(t.dtype) for t in graph.input_types]) for graph in graphs]
            casts = [cast_variable(v, self._new(dtype)) for v, dtype in zip(operands, before, strict=True)]
            return apply(op.with_inner_graphs(inner), casts)
        kinds = [[operands[i.operand].type.dtype for i in each] for each in op.inner_inputs(len(operands))]
        carried = op.carries if isinstance(op, Scan | While) else 0
        inner = [self._graph(g, own, own[:carried]) for g, own in zip(graphs, kinds, strict=True)]
        if isinstance(op, While):  # of which the first graph is the condition
            inner[0] = self._graph(graphs[0], kinds[0], ())
        if isinstance(op, Cond):
            columns = zip(*(graph.output_types for graph in inner), strict=True)
            common = [next((t.dtype for t in column if t.dtype in WIDE), column[0].dtype) for column in columns]
            inner = [self._graph(g, own, common) for g, own in zip(graphs, kinds, strict=True)]
        return apply(op.with_inner_graphs(inner), operands)

    def _graph(self, graph: FrozenGraph, inputs: Sequence[str], outputs: Sequence[str] | None = None) -> FrozenGraph:
        """A graph for inputs of these dtypes.

        Args:
            outputs: the dtypes of its first outputs; others come as they are. None: all are re-typed.
        """
        key = (graph, tuple(inputs), None if outputs is None else tuple(outputs))
        result = self._graphs.get(key)
        if result is None:
            result = self._graphs[key] = self._made(graph, inputs, outputs)
        return result

    def _made(self, graph: FrozenGraph, inputs: Sequence[str], outputs: Sequence[str] | None) -> FrozenGraph:
        own = [
            Variable(TensorType(dtype, t.shape), name=graph.names.get(k))
            for k, (dtype, t) in enumerate(zip(inputs, graph.input_types, strict=True))
        ]
        values: list[Variable] = [_promised(graph, k, v) for k, v in enumerate(own)]
        values += map(self.constant, graph.constants)
        with Requirements(), locs.at(None):  # requirements are found again where it is frozen
            for k, node in enumerate(graph.nodes):
                origin = graph.origins.get(k)
                locs.fix(origin.locs[0] if origin is not None and origin.locs else None)
                before = [graph.types[i].dtype for i in node.inputs]
                types = [graph.types[i] for i in node.outputs]
                results = self.node(node.op, [values[i] for i in node.inputs], before, types)
                values += map(_promised, itertools.repeat(graph), node.outputs, results)
            results = [values[k] for k in graph.outputs]
            kinds = [self._new(t.dtype) for t in graph.output_types] if outputs is None else outputs
            results[: len(kinds)] = [cast_variable(v, d) for v, d in zip(results, kinds, strict=False)]
            checks = [
                Check(values[c.condition], tuple(values[k] for k in c.values), c.descriptor)
                for c in graph.checks
                if c.descriptor.stated
            ]
        return freeze(own, results, checks)


def _promised(graph: FrozenGraph, number: int, v: Variable) -> Variable:
    """A value with what is assumed of it."""
    names = graph.assumed.get(number)
    return v if names is None else NAMESPACE.assume_facts(v, names)


def _rounded(array: np.ndarray[Any, Any], dtype: str) -> np.ndarray[Any, Any]:
    """An array in a dtype of less range: what is finite stays so, and what is not 0 stays that.

    So a limit stays one: the largest number, or the least that a divisor may be.
    """
    if dtype in COMPLEX:
        parts = [_rounded(part, "float32") for part in (array.real, array.imag)]
        return np.asarray(parts[0] + 1j * parts[1]).astype(dtype)
    limits, kind = float_limits(dtype), numpy_dtype(dtype)
    with np.errstate(all="ignore"):
        new = array.astype(kind)
        largest, least = (np.copysign(float(n), array).astype(kind) for n in (limits.max, limits.smallest_normal))
        new = np.where(np.isfinite(array) & ~np.isfinite(new.astype(np.float64)), largest, new)
        return np.asarray(np.where((array != 0) & (new == 0), least, new))
