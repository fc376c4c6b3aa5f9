"""Pickling a compiled function: its program as written, as text, with its constants, shared variables and options.

What is restored compiles itself again, on the machine where it is. Shared variables that several functions of one
pickle have in common stay common.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.errors import InputError, message
from tg.functions.compiled import Function
from tg.functions.show import parse
from tg.graph.dims import named_type
from tg.graph.frozen import FrozenGraph, Node
from tg.graph.nodes import Constant, Variable
from tg.graph.text import to_text_with_constants
from tg.graph.text.printer import is_opaque
from tg.graph.timing import recorded
from tg.graph.traversal import sorted_applies

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tg.functions.shared import Shared
    from tg.types.tensor_type import TensorType


def reduced(f: Function) -> tuple[object, ...]:
    """What `Function.__reduce__` gives.

    Raises:
        InputError: an op is opaque, as wrapped Python functions are.
    """
    graph = table((*f._inputs, *f._sources), f._results)
    _need_text(graph, f.name)
    text, constants = to_text_with_constants(graph)
    inputs = [(named_type(v), v.name) for v in f._inputs]
    options = {
        "choice": f._choice,
        "mode": f._mode,
        "exclude": f._exclude,
        "nan_guard": f._nan_guard,
        "name": f.name,
        "defaults": f._defaults,
        "native": f._native,
        "limit": f._limit,
        "compile": "now" if f._background is None else "background",
        "donated": f._donated,
    }
    return (restored, (text, constants, inputs, f._sources, f._targets, f._build, options))


def _need_text(graph: FrozenGraph, name: str) -> None:
    for node in graph.nodes:
        if is_opaque(node.op):
            raise InputError(message(f"pickle: {name}: {node.op.name} is opaque, needed ops that a text can hold"))
        for inner in node.op.inner_graphs():
            _need_text(inner, name)


@recorded("unpickle")
def restored(
    text: str,
    constants: Mapping[str, Any],
    inputs: Sequence[tuple[TensorType, str | None]],
    sources: Sequence[Shared],
    targets: Sequence[Shared],
    structure: Any,
    options: Mapping[str, Any],
) -> Function:
    """The function, compiled here."""
    variables = [Variable(t, name=name) for t, name in inputs]
    results = parse(text, constants).instantiate([*variables, *sources])
    return Function(variables, sources, results, targets, structure, **options)


def table(inputs: Sequence[Variable], outputs: Sequence[Variable]) -> FrozenGraph:
    """An expression as a numbered program just as it was written: no specialisation, no checks."""
    applies = sorted_applies(outputs, known=inputs)
    used = [u for node, _ in applies for u in node.inputs]
    constants = list({id(v): v for v in (*used, *outputs) if isinstance(v, Constant)}.values())
    number = {id(v): k for k, v in enumerate((*inputs, *constants))}
    types = [v.type for v in (*inputs, *constants)]
    places: dict[int, int] = {}  # of applies, by id: the number of the first result
    nodes = []

    def place(v: Variable) -> int:
        return number[id(v)] if id(v) in number else places[id(v.apply)] + v.index

    for node, _ in applies:
        operands = tuple(map(place, node.inputs))
        first = places[id(node)] = len(types)
        types.extend(t.static for t in node.types)
        nodes.append(Node(node.op, operands, tuple(range(first, len(types)))))
    names = {k: v.name for k, v in enumerate(inputs) if v.name}
    return FrozenGraph(len(inputs), types, constants, nodes, [place(v) for v in outputs], (), names)
