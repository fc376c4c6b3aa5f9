"""Extremes of increasing functions: the function of the extreme.

A pass, because only a function that nothing else reads is worth its while, and because the derivative of an extreme
compares it with the values it was taken of, which an elementwise function computed elsewhere might miss by a digit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops.elementwise.arithmetic import add, cbrt, divide, maximum, minimum, multiply, sqrt, subtract
from tg.ops.elementwise.cast import Cast, cast_variable
from tg.ops.elementwise.exponential import exp, exp2, expm1, log, log1p, log2, log10, sigmoid, softplus
from tg.ops.elementwise.record import Elementwise
from tg.ops.elementwise.rounding import ceil, floor, rint, trunc
from tg.ops.elementwise.trigonometric import arcsinh, arctan, sinh, tanh
from tg.ops.reduction import Reduce, max
from tg.ops.reductions import REDUCTIONS
from tg.ops.shape import Squeeze
from tg.rewrite.phases import CANONICALIZE, REASSOCIATES
from tg.rewrite.rule import Pass
from tg.rules.elementwise.arithmetic import is_finite, is_scalar_constant
from tg.rules.reduction.factors import is_plain
from tg.types.dtypes import can_cast_safely, is_complex, is_float
from tg.types.lengths import product

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.function_graph import View
    from tg.graph.nodes import Apply, Variable

    Step = tuple[Variable, bool, Callable[[Variable], Variable]]  # operand, whether it decreases, what to do after

INCREASING: Final = frozenset((
    exp, exp2, expm1, sigmoid, softplus, tanh, arctan, sinh, arcsinh, cbrt, floor, ceil, trunc, rint,
))  # fmt: skip
INCREASING_FROM_BELOW: Final = frozenset((log, log2, log10, log1p, sqrt))  # NaN below their domain: minima show it


def _extremes(view: View) -> dict[int, Variable]:
    found: dict[int, Variable] = {}
    for node in view.applies:
        op: Any = node.op
        if type(op) is Reduce and op.reduction.is_extreme and not is_complex(node.inputs[0].type.dtype):
            new = _pulled(node, view)
            if new is not None:
                found[id(view.results(node)[0])] = new
    return found


def _pulled(node: Apply, view: View) -> Variable | None:
    """The extreme of what is below all increasing functions, with these applied to it."""
    op: Any = node.op
    (x,) = node.inputs
    fn, after = op.fn, []
    while view.uses(x) == 1:
        step = _below(x, fn, op)
        if step is None:
            break
        x, decreases, then = step
        after.append(then)
        if decreases:
            fn = REDUCTIONS[fn].dual
    if not after:
        return None
    y: Variable = Reduce(fn, op.axes, op.total)(x)
    for then in reversed(after):
        y = then(y)
    return y


def _below(y: Variable, fn: Any, op: Any) -> Step | None:
    """One function that increases or decreases, taken off."""
    if y.apply is None or (op.total and not _has_elements(y, op.axes)):
        return None
    made: Any = y.apply.op
    if type(made) is Cast:
        return _below_cast(y)
    if type(made) is not Elementwise:
        return None
    if made.fn in INCREASING or (made.fn in INCREASING_FROM_BELOW and REDUCTIONS[fn].sign < 0):
        return (y.inputs[0], False, made.fn) if is_float(y.type.dtype) else None
    return _below_binary(y, made.fn, op) if made.fn.arity == 2 else None


def _below_cast(y: Variable) -> Step | None:
    """Casts to wider numbers, which keep the order; what several become one is rounded alike."""
    (x,) = y.inputs
    source, target = x.type.dtype, y.type.dtype
    if not can_cast_safely(source, target):
        return None
    return x, False, lambda v: cast_variable(v, target)


def _below_binary(y: Variable, fn: Any, op: Any) -> Step | None:
    """A function of x and of what is the same for all that is compared."""
    for k, (x, c) in enumerate((y.inputs, y.inputs[::-1])):
        if x.type.ndim != y.type.ndim or not _is_one_for_all(c, y, op.axes):
            continue
        falls = _falls(fn, c, second=k == 0)
        if falls is None:
            continue
        other = _of_result(c, op.axes)
        return x, falls, (lambda v: fn(v, other)) if k == 0 else (lambda v: fn(other, v))  # noqa: B023
    return None


def _falls(fn: Any, c: Variable, *, second: bool) -> bool | None:
    """Whether fn decreases where the other operand is c; None where that is not known for all values."""
    if fn in (maximum, minimum):
        return False
    if not is_float(c.type.dtype):
        return None
    if fn in (add, subtract):
        return (fn is subtract and not second) if is_finite(c) else None
    if fn is multiply or (fn is divide and second):
        return bool(c.data.flat[0] < 0) if is_scalar_constant(c) and is_plain(c) else None  # type: ignore[attr-defined]
    return None


def _is_one_for_all(c: Variable, y: Variable, axes: tuple[int, ...]) -> bool:
    """Whether an operand is the same along axes."""
    return c.type.ndim == 0 or (c.type.ndim == y.type.ndim and all(c.type.shape[k] == 1 for k in axes))


def _of_result(c: Variable, axes: tuple[int, ...]) -> Variable:
    """The operand as it meets the result, which has lost the axes."""
    if c.type.ndim == 0:
        return c
    return Squeeze(axes)(c)  # type: ignore[no-any-return]


def _has_elements(y: Variable, axes: tuple[int, ...]) -> bool:
    count = product(tuple(y.shape[k] for k in axes))
    return isinstance(count, int) and count > 0


PASSES = (
    Pass(
        "extreme_of_increasing",
        phase=CANONICALIZE,
        keys=(Reduce,),
        kind=REASSOCIATES,
        why="An increasing function of the largest element is the largest of the function: it is computed once.",
        run=_extremes,
        example=lambda x: max(tanh(x * 2) + 1, -1),
    ),
)
