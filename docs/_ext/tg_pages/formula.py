"""Small expressions as a person writes them: the partial derivatives of a record as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tg
from tg.graph.nodes import Constant
from tg.graph.traversal import sorted_applies

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Variable
    from tg.ops.elementwise.record import ElementwiseFunction

LONGEST = 72
MOST = 24  # ops of an expression that could fit in a line
FEW = ("x", "y", "z", "w")
INFIX = {  # the sign, and how tightly it binds
    "add": ("+", 1), "subtract": ("-", 1), "multiply": ("*", 2), "divide": ("/", 2), "power": ("**", 4),
    "less": ("<", 0), "less_equal": ("<=", 0), "greater": (">", 0), "greater_equal": (">=", 0),
    "equal": ("==", 0), "not_equal": ("!=", 0),
}  # fmt: skip
HIDDEN = ("Cast", "ExpandDims")


def operand_names(arity: int) -> tuple[str, ...]:
    """The names of so many operands."""
    return FEW[:arity] if arity <= len(FEW) else tuple(f"x{k + 1}" for k in range(arity))


def derivatives(fn: ElementwiseFunction) -> list[tuple[str, str]]:
    """The partial derivatives that exist and fit in a line, each with the name of its operand."""
    found = []
    for name, d in zip(operand_names(fn.arity), fn.d or (), strict=False):
        text = None if d is None else text_of(fn, d)
        if text is not None and len(text) <= LONGEST:
            found.append((name, text))
    return found


def text_of(fn: ElementwiseFunction, d: object) -> str | None:
    """One partial derivative for real operands; None where the function takes others only."""
    try:
        dtypes, _ = fn.loop(("float64",) * fn.arity)
        operands = [tg.scalar(name, dtype=t) for name, t in zip(operand_names(fn.arity), dtypes, strict=True)]
        result = fn.op(*operands)
        result.name = fn.name
        value = d(*operands, result)
        if isinstance(value, tg.Variable) and len(list(sorted_applies([value], boundary=[*operands, result]))) > MOST:
            return None
        return text(value, result, operands)
    except tg.TgError:
        return None


def text(value: object, result: Variable, operands: Sequence[Variable], binding: int = 0) -> str:
    """An expression, in parentheses where what is around it binds more tightly."""
    if not isinstance(value, tg.Variable):
        return f"{value:g}" if isinstance(value, float) else str(value)
    if value is result and result.name not in INFIX:
        return f"{result.name}({', '.join(v.name or '' for v in operands)})"
    if isinstance(value, Constant):
        return f"{value.data.item():g}" if value.data.dtype.kind in "iuf" else str(value.data)
    if value.op is None:
        return value.name or "?"
    return applied(value, result, operands, binding)


def applied(value: Variable, result: Variable, operands: Sequence[Variable], binding: int) -> str:
    """An op on operands."""
    assert value.op is not None
    name, inputs = value.op.name, value.inputs
    if name in HIDDEN:
        return text(inputs[0], result, operands, binding)
    if name == "negative":
        shown = f"-{text(inputs[0], result, operands, 3)}"
        return f"({shown})" if binding > 2 else shown
    if name in INFIX:
        sign, own = INFIX[name]
        lhs, rhs = (text(v, result, operands, own + k) for k, v in enumerate(inputs))
        return f"({lhs} {sign} {rhs})" if own < binding else f"{lhs} {sign} {rhs}"
    return f"{name}({', '.join(text(v, result, operands) for v in inputs)})"
