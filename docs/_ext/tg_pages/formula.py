"""Partial derivatives of records as graphs, by operands that have the names of the function's formula."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tg
from tg.graph.traversal import sorted_applies
from tg_pages import mathml

if TYPE_CHECKING:
    from tg.ops.elementwise.record import ElementwiseFunction

FEW = ("x", "y", "z", "w")


def operand_names(arity: int) -> tuple[str, ...]:
    """The names of so many operands."""
    return FEW[:arity] if arity <= len(FEW) else tuple(f"x{k + 1}" for k in range(arity))


def operands_of(fn: ElementwiseFunction) -> tuple[str, ...]:
    """The names of the operands of a function: those that its formula has, or x, y and so on."""
    names = mathml.table()["operands"].get(fn.name)
    return tuple(names.split()) if names else operand_names(fn.arity)


def partial(fn: ElementwiseFunction, d: object) -> tuple[object, int] | None:
    """A partial derivative and how many ops it has; None where the function does not take real operands."""
    try:
        dtypes, _ = fn.loop(("float64",) * fn.arity)
        operands = [tg.scalar(name, dtype=t) for name, t in zip(operands_of(fn), dtypes, strict=True)]
        result = fn.op(*operands)
        result.name = fn.name
        value = d(*operands, result)
        is_graph = isinstance(value, tg.Variable)
        count = len(list(sorted_applies([value], boundary=[*operands, result]))) if is_graph else 0
        return value, count
    except tg.TgError:
        return None
