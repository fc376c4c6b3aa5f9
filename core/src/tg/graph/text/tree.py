"""A frozen graph as trees: each output over its operands, a value that several use shown once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.graph.frozen import Origin
from tg.graph.text.printer import Printer, origin_text, type_text, value_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tg.graph.frozen import FrozenGraph, Node

DEPTH: Final = 16  # levels shown unless told otherwise


def to_tree(graph: FrozenGraph, *, depth: int | None = DEPTH, provenance: bool = False) -> str:
    """The outputs of a graph, and of the graphs inside it, as trees; checks are left out.

    Args:
        depth: how many levels are shown, None for all.
        provenance: end the line of a node with the user's lines and the rules that made it.
    """
    printer = Printer(graph)
    lines: list[str] = []
    for each, label in printer.labels.items():
        inputs = ", ".join(f"{value_text(each, k)}: {type_text(each, k)}" for k in range(each.arity))
        lines += [f"{label}({inputs})"] if label else []
        lines += _Trees(each, printer, depth, provenance=provenance).lines()
    return "\n".join(lines) + "\n"


class _Trees:
    def __init__(self, graph: FrozenGraph, printer: Printer, depth: int | None, *, provenance: bool) -> None:
        self.graph, self.printer, self.depth, self.provenance = graph, printer, depth, provenance
        self.makers: dict[int, tuple[int, Node]] = {
            out: (k, node) for k, node in enumerate(graph.nodes) for out in node.outputs
        }
        self.shown: set[int] = set()  # numbers of nodes whose operands stand above

    def lines(self) -> Iterator[str]:
        stack = [(number, "", "", 0) for number in reversed(self.graph.outputs)]
        while stack:
            number, branch, indent, level = stack.pop()
            k, node = self.makers.get(number, (-1, None))
            text = branch + self._text(number, node)
            if node is None or not node.inputs:
                yield text + self._comment(k)
            elif k in self.shown:
                yield f"{text}  (above)"
            elif level + 1 == self.depth:
                yield f"{text}  …"
            else:
                yield text + self._comment(k)
                self.shown.add(k)
                last = len(node.inputs) - 1
                below = [
                    (v, indent + ("└─ " if j == last else "├─ "), indent + ("   " if j == last else "│  "), level + 1)
                    for j, v in enumerate(node.inputs)
                ]
                stack.extend(reversed(below))

    def _text(self, number: int, node: Node | None) -> str:
        what = value_text(self.graph, number)
        if node is not None:
            what += f" = {self.printer.op_text(node.op)}"
            if len(node.outputs) > 1:
                what += f".{node.outputs.index(number)}"
        elif number >= self.graph.arity:
            what += f" = {self.printer.constant_text(self.graph, number)}"
        return f"{what} : {type_text(self.graph, number)}"

    def _comment(self, k: int) -> str:
        comment = origin_text(self.graph.origins.get(k, Origin())) if self.provenance else ""
        return comment and f"  # {comment}"
