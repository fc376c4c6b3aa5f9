"""Programs of tg written into graphs of ONNX: patterns first, then rules, then expansions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from tg import NoRuleError
from tg.backend import Variable, bitwise, freeze, message, node_lines
from tg_onnx.writing.patterns import find
from tg_onnx.writing.reader import Reader
from tg_onnx.writing.rules import RULES
from tg_onnx.writing.rules.indexing import READERS
from tg_onnx.writing.scope import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.backend import FrozenGraph, Node, Op, TensorType
    from tg_onnx.writing.reader import Match
    from tg_onnx.writing.scope import Scope

BITS: Final = frozenset({bitwise.bitwise_and, bitwise.bitwise_or, bitwise.bitwise_xor})


def supported(op: Op, types: tuple[TensorType, ...]) -> bool:
    """Whether an op is kept whole while a program is rewritten."""
    return op.rule_key in RULES


def write_graph(graph: FrozenGraph, w: Scope, operands: Sequence[Value]) -> tuple[Value, ...]:
    """The outputs of a program over values of a scope, into which its nodes are written.

    Raises:
        NoRuleError: ONNX has no way to say an op.
    """
    outer = w.results, w.used, w.stem, w.is_index_only
    types = graph.symbolic
    values: dict[int, Value] = {k: replace(v, shape=types[k].shape) for k, v in enumerate(operands)}
    for k, constant in enumerate(graph.constants, graph.arity):
        values[k] = w.constant(constant.data)
    reader = Reader(graph)
    matches, live = _plan(graph, reader, w.opset)
    positions = _positions(graph, live)
    for number, node in enumerate(graph.nodes):
        wanted = [k for k in node.outputs if k in live]
        if not wanted:
            continue
        w.results = tuple(Value("", types[k].dtype, types[k].shape) for k in node.outputs)
        w.used = tuple(k in live for k in node.outputs)
        w.stem = next((graph.names[k] for k in wanted if k in graph.names), "")
        w.is_index_only = positions.issuperset(wanted)
        match = matches.get(number)
        if match is not None:
            results: Any = match.write(w, *(values[k] for k in match.operands))
        else:
            results = _written(graph, number, node, w, [values[k] for k in node.inputs])
        if not isinstance(results, tuple):
            results = (results,)
        for k, v in zip(node.outputs, results, strict=False):
            if v is not None:
                values[k] = replace(v, shape=types[k].shape)
    w.results, w.used, w.stem, w.is_index_only = outer
    return tuple(values[k] for k in graph.outputs)


def _plan(graph: FrozenGraph, reader: Reader, opset: int) -> tuple[dict[int, Match], set[int]]:
    """The patterns that are found, by the number of their last node, and the values that have to be written."""
    live = set(graph.outputs)
    matches: dict[int, Match] = {}
    for number in reversed(range(len(graph.nodes))):
        node = graph.nodes[number]
        if live.isdisjoint(node.outputs):
            continue
        match = find(reader, node, opset)
        if match is not None:
            matches[number] = match
        live.update(node.inputs if match is None else match.operands)
    return matches, live


def _positions(graph: FrozenGraph, live: set[int]) -> set[int]:
    """The values that are read as positions alone, by ops that count from the end themselves."""
    positions: set[int] = set()
    others = set(graph.outputs)
    for node in graph.nodes:
        if live.isdisjoint(node.outputs):
            continue
        first = READERS.get(type(node.op))
        for k, value in enumerate(node.inputs):
            (positions if first is not None and k >= first else others).add(value)
    return positions - others


def _written(graph: FrozenGraph, number: int, node: Node, w: Scope, operands: Sequence[Value]) -> Any:
    """The results of an op by its rule, else by its expansion.

    Raises:
        NoRuleError: it has neither.
    """
    is_complex = any(v.dtype.startswith("complex") for v in (*operands, *w.results))
    rule = None if is_complex else RULES.get(node.op.rule_key)
    results = NotImplemented if rule is None else rule(node.op, w, *operands)
    if results is not NotImplemented:
        return results
    if is_complex or not node.op.expands:
        raise NoRuleError(message(_reason(node.op, (*operands, *w.results)), *node_lines(graph, number)))
    inputs = tuple(Variable(graph.types[k]) for k in node.inputs)
    outputs: Any = node.op.expansion(*inputs)
    expanded = freeze(inputs, (outputs,) if isinstance(outputs, Variable) else outputs)
    return write_graph(expanded, w, operands)


def _reason(op: Op, values: Sequence[Value]) -> str:
    """The reason why an op cannot be written, which has these operands and results."""
    if any(v.dtype.startswith("complex") for v in values):
        return f"onnx: {op.spelled}: ONNX has no operators for complex numbers"
    if op.rule_key in BITS and all(v.is_integer for v in values):
        return f"onnx: {op.spelled}: ONNX has operators for bits of integers since opset 18"
    return f"onnx: {op.spelled} of {values[0].dtype}: ONNX has no operator for it, and it has no expansion"
