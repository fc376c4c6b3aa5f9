"""`tg.print`, `tg.to_text` and `tg.parse`: programs as text for people, and back."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TextIO

from tg.errors import InputError, OptionError, message
from tg.graph.frozen import FrozenGraph
from tg.graph.function_graph import FunctionGraph
from tg.graph.nodes import Variable
from tg.graph.text.parser import parse as parse_with
from tg.graph.text.printer import to_text as graph_text
from tg.graph.text.tree import DEPTH, to_tree
from tg.graph.traversal import inputs_of
from tg.plugin.registry import registry

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from tg.types.choices import TextStyle


def print(
    value: Any,
    *,
    style: TextStyle = "text",
    provenance: bool = True,
    depth: int | None = DEPTH,
    file: TextIO | None = None,
) -> None:
    """Print an expression or a compiled function, as `to_text` writes it, to `file` or the standard output.

    Example:
        >>> import tg
        >>> x = tg.vector("x")
        >>> tg.print(tg.exp(x) + 1, provenance=False)
        tg 1
        graph(%0 x: float64[?]) {
          %1 = const float64[] 1.0
          %2 = exp(%0) : float64[?]
          %3 = add(%2, %1) : float64[?]
          return %3
        }
        >>> tg.print(tg.exp(x) + 1, style="tree", provenance=False)
        %3 = add : float64[?]
        ├─ %2 = exp : float64[?]
        │  └─ %0 x : float64[?]
        └─ %1 = 1.0 : float64[]
    """
    (file or sys.stdout).write(to_text(value, style=style, provenance=provenance, depth=depth))


def to_text(value: Any, *, style: TextStyle = "text", provenance: bool = True, depth: int | None = DEPTH) -> str:
    """The text of an expression (a variable, or a list of them), a compiled function or a frozen graph.

    An expression appears as written, its checks explicit; a function as it was rewritten. Constants of more than 64
    elements appear as a digest.

    Args:
        style: "text", which `parse` reads, or "tree", a tree for each output in which shared values appear once.
        provenance: end lines with comments that name the user's lines and the rewrite rules.
        depth: how many levels a tree shows, None for all.
    Raises:
        InputError: the value is none of these.
        OptionError: there is no such style.
    """
    graph = _graph_of(value)
    if style == "text":
        return graph_text(graph, provenance=provenance)
    if style == "tree":
        return to_tree(graph, depth=depth, provenance=provenance)
    raise OptionError(message(f"print: found style {style!r}, needed 'text' or 'tree'"))


def _graph_of(value: Any) -> FrozenGraph:
    if isinstance(value, FrozenGraph):
        return value
    outputs = [value] if isinstance(value, Variable) else value
    if isinstance(outputs, list | tuple) and all(isinstance(v, Variable) for v in outputs):
        return FunctionGraph.of(inputs_of(outputs), outputs).freeze()
    graph = getattr(value, "graph", None)
    if isinstance(graph, FrozenGraph):
        return graph
    raise InputError(message(f"print: found {value!r}, needed a variable, a list of variables or a compiled function"))


def parse(source: str, constants: Mapping[str, np.ndarray[Any, Any]] | None = None) -> FrozenGraph:
    """The graph of a text, with the ops of core and of every plugin that is installed.

    Args:
        constants: the large constants by digest, as `tg.graph.text.to_text_with_constants` gives them.
    Raises:
        TextError: the text is not a program: the line, the column, what was found and what was needed.
    Example:
        >>> import tg
        >>> x = tg.vector("x")
        >>> tg.parse(tg.to_text(tg.exp(x)))
        <graph of 1 inputs, 1 nodes, 1 outputs>
    """
    return parse_with(source, known_ops(), constants)


def known_ops() -> dict[str, object]:
    """The elementwise functions and op classes of every family, by the names that texts use."""
    families = registry().families()
    named: dict[str, object] = {fn.name: fn for family in families for fn in family.elementwise}
    named.update({op.__name__: op for family in families for op in family.ops})
    return named
