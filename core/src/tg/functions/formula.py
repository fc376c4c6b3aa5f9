"""Expressions and nodes as one line of text, for people: explanations, and messages about a single node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.graph.frozen import FrozenGraph
from tg.graph.nodes import Constant
from tg.graph.text import literals
from tg.graph.text.printer import Printer, is_elementwise, stated_fields, value_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tg.graph.nodes import Variable
    from tg.graph.op import Op

DEPTH: Final = 4  # how deep an expression is written out
NAMED: Final = 1  # the level below which values are shown by their numbers, where they have any
SHOWN: Final = 4  # elements of a constant that are written out
_PRINTER: Final = Printer(FrozenGraph(0, (), (), (), ()))


def formula(v: Variable, names: Mapping[int, str], depth: int = DEPTH) -> str:
    """A value as the ops that make it, of operands with names or written out in turn.

    Args:
        names: of values that are shown by a name, by id.
    """
    name = names.get(id(v)) if depth <= NAMED or v.apply is None else None
    if name is not None:
        return name
    if isinstance(v, Constant):
        return constant_text(v)
    if v.apply is None:
        return v.name or "input"
    if not depth:
        return "…"
    operands = ", ".join(formula(u, names, depth - 1) for u in v.apply.inputs)
    return f"{op_text(v.apply.op)}({operands})" + (f"[{v.index}]" if len(v.apply.types) > 1 else "")


def formulas(values: Sequence[Variable], names: Mapping[int, str]) -> str:
    """The results of one node, or what replaces them."""
    first = values[0]
    of_one_node = len(values) > 1 and all(v.apply is first.apply is not None for v in values)
    return formula(first, names).removesuffix("[0]") if of_one_node else ", ".join(formula(v, names) for v in values)


def constant_text(v: Constant) -> str:
    """A constant: its elements, if they are few."""
    if v.data.size > SHOWN or 0 in v.data.shape:
        return f"constant {v.type}"
    return literals.array_text(v.data)


def op_text(op: Op) -> str:
    """An op with its fields; inner graphs are left out."""
    if is_elementwise(op.rule_key):
        return op.name
    fields = [(name, value) for name, value in stated_fields(op) if name not in type(op).graph_fields]
    shown = ", ".join(f"{name}={_PRINTER.field_text(value)}" for name, value in fields if not _holds_graph(value))
    return type(op).__name__ + (f"{{{shown}}}" if shown else "")


def _holds_graph(value: object) -> bool:
    graphs = getattr(value, "inner_graphs", None)
    if type(value) is tuple:
        return any(map(_holds_graph, value))
    return isinstance(value, FrozenGraph) or (graphs is not None and bool(graphs()))


def node_text(graph: FrozenGraph, number: int) -> str:
    """A node of a program: the numbers of its results, its op, its operands and its types."""
    node = graph.nodes[number]
    results = ", ".join(value_text(graph, k) for k in node.outputs)
    operands = ", ".join(operand_text(graph, k) for k in node.inputs)
    return f"{results} = {op_text(node.op)}({operands}) : {', '.join(str(graph.types[k]) for k in node.outputs)}"


def operand_text(graph: FrozenGraph, number: int) -> str:
    """A value where it is read: a constant itself, an input by its name, else the number."""
    constant = graph.constant(number)
    if constant is not None:
        return constant_text(constant)
    return graph.names.get(number, f"%{number}") if number < graph.arity else f"%{number}"
