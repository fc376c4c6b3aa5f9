"""Arithmetic on elements: of float32 ggml's own, of integers and extrema NumPy's.

ggml repeats its second operand alone; the first is repeated by an operation of its own where that is the smaller one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import ggml as g
import numpy as np

from tg.backend import Hosted
from tg.backend import arithmetic as t
from tg_ggml.host import hosted
from tg_ggml.tensors import AXES, Tensor, constant, current, expand, patterns

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.backend import Rule

ONE: Final = np.ones((), np.float32)


def binary(function: Callable[..., Any], of_integers: Callable[..., Any] | None, *, commutes: bool) -> Rule:
    """The rule of a function of ggml for two tensors, and of NumPy for integers."""

    def rule(x: Tensor, y: Tensor) -> Any:
        shape = np.broadcast_shapes(x.shape, y.shape)
        if x.dtype != np.float32:
            return NotImplemented if of_integers is None else hosted(of_integers, [x, y], shape, x.dtype.name)
        if 0 in shape:
            return Tensor(shape)
        if commutes and x.shape != shape and y.shape == shape:
            x, y = y, x
        x = expand(x, shape)
        ctx = current().ctx
        if y.shape == shape:
            return Tensor(shape, node=function(ctx, x.rows(), y.rows()))
        runs = patterns([(1,) * (len(shape) - y.ndim) + y.shape], shape)
        if len(runs) > AXES:
            return Tensor(shape, node=function(ctx, x.rows(), expand(y, shape).rows()))
        own = y.dims([n if full else 1 for n, (full,) in runs])
        return Tensor(shape, node=function(ctx, x.dims([n for n, _ in runs]), own))

    return rule


def unary(function: Callable[..., Any]) -> Rule:
    """The rule of a function of ggml for one tensor of float32."""

    def rule(x: Tensor) -> Any:
        if x.dtype != np.float32:
            return NotImplemented
        return Tensor(x.shape, node=function(current().ctx, x.rows())) if x.size else Tensor(x.shape)

    return rule


def of_numpy(function: Callable[..., Any]) -> Rule:
    """The rule of a NumPy function whose result has the dtype of its operands."""

    def rule(*operands: Tensor) -> Any:
        shape = np.broadcast_shapes(*(x.shape for x in operands))
        return hosted(function, operands, shape, operands[0].dtype.name)

    return Hosted(rule)


def either(function: Callable[..., Any], of_integers: Callable[..., Any]) -> Rule:
    """The rule of a function of ggml for float32, and of NumPy for integers."""
    own, other = unary(function), of_numpy(of_integers)

    def rule(x: Tensor) -> Any:
        return own(x) if x.dtype == np.float32 else other(x)

    return rule


add = binary(g.ggml_add, np.add, commutes=True)
subtract = binary(g.ggml_sub, np.subtract, commutes=False)
multiply = binary(g.ggml_mul, np.multiply, commutes=True)
divide = binary(g.ggml_div, None, commutes=False)


def reciprocal(x: Tensor) -> Any:
    """One divided by x."""
    return divide(constant(ONE), x) if x.dtype == np.float32 else NotImplemented


def gate(dy: Tensor, d: Tensor) -> Any:
    """0 where dy is 0, else the product."""
    shape = np.broadcast_shapes(dy.shape, d.shape)
    return hosted(lambda a, b: np.where(a == 0, a.dtype.type(0), a * b), [dy, d], shape, dy.dtype.name)


def of_counts(function: Callable[..., Any]) -> Rule:
    """The rule of a NumPy function of integers, by which lengths are divided."""
    rule = of_numpy(function)
    return Hosted(lambda x, y: NotImplemented if x.dtype == np.float32 else rule(x, y))


RULES: Final[dict[object, Rule]] = {
    t.add: add,
    t.subtract: subtract,
    t.multiply: multiply,
    t.divide: divide,
    t.floor_divide: of_counts(np.floor_divide),
    t.remainder: of_counts(np.remainder),
    t.negative: either(g.ggml_neg, np.negative),
    t.absolute: either(g.ggml_abs, np.absolute),
    t.sign: of_numpy(np.sign),
    t.square: either(g.ggml_sqr, np.square),
    t.sqrt: unary(g.ggml_sqrt),
    t.reciprocal: reciprocal,
    t.maximum: of_numpy(np.maximum),
    t.minimum: of_numpy(np.minimum),
    t.clip: of_numpy(lambda x, low, high: np.minimum(np.maximum(x, low), high)),
    t.gate: Hosted(gate),
}
