"""Nested lists, tuples and dicts of variables: taken apart for compiling, put together again around the results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.graph.nodes import Variable
from tg.variables.conversion import as_variable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def flatten(structure: Any) -> tuple[list[Variable], Callable[[Iterator[Any]], Any]]:
    """The variables of a structure in order, and a function that puts results into the same structure."""
    leaves: list[Variable] = []

    def visit(part: Any) -> Callable[[Iterator[Any]], Any]:
        if isinstance(part, dict):
            inner = [(k, visit(v)) for k, v in part.items()]
            return lambda results: {k: build(results) for k, build in inner}
        if isinstance(part, list | tuple) and not hasattr(part, "_fields"):
            kind, parts = type(part), [visit(v) for v in part]
            return lambda results: kind([build(results) for build in parts])
        if isinstance(part, tuple):
            named, parts = type(part), [visit(v) for v in part]
            return lambda results: named(*[build(results) for build in parts])
        if part is None:
            return lambda results: None
        leaves.append(part if isinstance(part, Variable) else as_variable(part))
        return next

    return leaves, visit(structure)
