"""A program's graphs as records of a page: nodes, operands, the user's lines, rules and times.

Every text stands once in a table of texts, and equal graphs, which many phases and loops share, are one record.
"""

from __future__ import annotations

import linecache
from typing import TYPE_CHECKING, Any, Final, final

from tg.functions.formula import constant_text, op_text
from tg.link.timed import names_at, text_of
from tg.ops.control import Call

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tg.graph.frozen import FrozenGraph, Node
    from tg.graph.loc import Loc
    from tg.graph.op import Op

AROUND: Final = 2  # lines of the user's shown before and after one
KINDS: Final[Mapping[str, str]] = {
    "elementwise": "elements",
    "reduction": "reductions",
    "reductions": "reductions",
    "cumulative": "reductions",
    "contraction": "products",
    "linalg": "products",
    "nn": "products",
    "signal": "products",
    "shape": "movements",
    "shape_ops": "movements",
    "sized_ops": "movements",
    "indexing": "movements",
    "creation": "movements",
    "loops": "control",
    "control": "control",
    "random": "random",
}
OTHER: Final = "others"
FUSED: Final = "fused loops"


def kind_of(op: Op) -> str:
    """The kind by which a node is coloured: of the module that its op is from."""
    if op.element_programs:
        return FUSED
    if op.inner_graphs() or isinstance(op, Call):
        return "control"
    parts = type(op).__module__.split(".")
    return next((KINDS[part] for part in parts if part in KINDS), OTHER)


@final
class Records:
    """The tables of a page: texts, places of the user's, and graphs.

    Args:
        seconds: of nodes, by graph and number.
    """

    def __init__(self, seconds: Mapping[tuple[FrozenGraph, int], float]) -> None:
        self._seconds: dict[FrozenGraph, dict[int, float]] = {}
        for (graph, k), spent in seconds.items():
            self._seconds.setdefault(graph, {})[k] = spent
        self.texts: dict[str, int] = {}
        self.places: dict[str, tuple[int, dict[str, Any]]] = {}
        self.graphs: list[dict[str, Any]] = []
        self._numbers: dict[FrozenGraph, list[tuple[FrozenGraph, int]]] = {}
        self._ops: dict[int, tuple[Op, list[int], list[int]]] = {}

    def text(self, text: str) -> int:
        """The number of a text."""
        return self.texts.setdefault(text, len(self.texts))

    def place(self, loc: Loc) -> int:
        """The number of a place of the user's, with the lines around it."""
        key = str(loc)
        entry = self.places.get(key)
        if entry is None:
            first = max(loc.line - AROUND, 1)
            lines = [linecache.getline(loc.file, k).rstrip("\n") for k in range(first, loc.line + AROUND + 1)]
            record = {"place": key, "line": loc.line, "first": first, "lines": lines}
            entry = self.places[key] = (len(self.places), record)
        return entry[0]

    def graph(self, graph: FrozenGraph) -> int:
        """The number of a graph, with all graphs inside it; origins count too, as nodes are told by them."""
        for other, number in self._numbers.get(graph, ()):
            if other is graph or other.origins == graph.origins:
                return number
        record: dict[str, Any] = {}
        number = len(self.graphs)
        self.graphs.append(record)
        self._numbers.setdefault(graph, []).append((graph, number))
        makers = {k: n for n, node in enumerate(graph.nodes) for k in node.outputs}
        record["inputs"] = [
            [self.text(graph.names.get(k, f"%{k}")), self.text(str(graph.types[k]))] for k in range(graph.arity)
        ]
        seconds = self._seconds.get(graph, {})
        record["nodes"] = [[*self._node(graph, k, node, makers), seconds.get(k)] for k, node in enumerate(graph.nodes)]
        record["outputs"] = [makers.get(k, -1 - k if k < graph.arity else None) for k in graph.outputs]
        return number

    def _node(self, graph: FrozenGraph, k: int, node: Node, makers: Mapping[int, int]) -> list[Any]:
        """A node: label, op, types, operands, names, places, rules, inner graphs, kind; its seconds follow.

        An operand is the number of a node, -1 - k for input k, or the text of a constant.
        """
        _, (label, full, kind), inner = self._op(node.op)
        origin = graph.origins.get(k)
        operands: list[int | str] = []
        for value in node.inputs:
            constant = graph.constant(value)
            operands.append(constant_text(constant) if constant is not None else makers.get(value, -1 - value))
        types = self.text(", ".join(str(graph.types[v]) for v in node.outputs))
        names = ", ".join(names_at(graph, k)) if origin is not None or graph.names else ""
        places = list(dict.fromkeys(self.place(loc) for loc in origin.locs)) if origin is not None else []
        rules = [self.text(rule) for rule in origin.rules] if origin is not None else []
        return [label, full, types, operands, self.text(names), places, rules, inner, kind]

    def _op(self, op: Op) -> tuple[Op, list[int], list[int]]:
        """An op with its texts and inner graphs by their numbers, once for each object."""
        entry = self._ops.get(id(op))
        if entry is None:
            inner = [self.graph(g) for g in op.element_programs or op.inner_graphs()]
            kind = kind_of(op)
            full = f"loop of {', '.join(op.element_steps)}" if kind == FUSED else op_text(op)
            said = [self.text(text_of(op)), self.text(full), self.text(kind)]
            entry = self._ops[id(op)] = (op, said, inner)  # which lives as long as its number
        return entry
