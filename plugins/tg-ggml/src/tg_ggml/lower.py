"""Rewrites for ggml: to the norms, activations and windows that it has whole.

Those of what core would write out, in float64 or with places that nobody reads, come before expansions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg import add, divide, erfc, maximum, multiply, nn, relu, sigmoid, sqrt, square, subtract
from tg.backend import (
    BACKEND,
    REASSOCIATES,
    SIGNED_ZERO,
    SPECIALIZE,
    Constant,
    ExpandDims,
    Pass,
    Reduce,
    Rewrites,
    comparison,
    node_rule,
    pooling,
)
from tg_ggml.own import AXES, ROOT_OF_HALF, Gelu, Largest, Relu, RootMeanSquare, Silu, Standardized

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tg.backend import Apply, Variable, View

CLOSE: Final = 1e-6  # of two numbers in float32 that are written alike


def _made_by(v: Variable, fn: object) -> tuple[Variable, ...] | None:
    """The operands of a value that a function or an op makes; None where another one does."""
    node = v.apply
    return None if node is None or node.op.rule_key is not fn else tuple(node.inputs)


def _number(v: Variable) -> float | None:
    return float(v.data.reshape(-1)[0]) if isinstance(v, Constant) and v.data.size == 1 else None


def _split(v: Variable, fn: object) -> tuple[Variable, float] | None:
    """The other operand of a function of two, and the number that one of them is."""
    for x, c in _either_way(_made_by(v, fn) or ()):
        number = _number(c)
        if number is not None:
            return x, number
    return None


def _either_way(pair: tuple[Variable, ...]) -> tuple[tuple[Variable, Variable], ...]:
    return ((pair[0], pair[1]), (pair[1], pair[0])) if len(pair) == 2 else ()


def _mean(v: Variable) -> Variable | None:
    """The array of which a value is the mean over the last axis, that axis being kept."""
    scaled = None
    for _ in range(2):  # the axis comes back before the scale, or behind it
        below = _made_by(v, ExpandDims)
        if below is not None and v.apply is not None and v.apply.op.axes == (-1,):  # type: ignore[attr-defined]
            v = below[0]
        elif scaled is None:
            scaled = _split(v, multiply)
            v = v if scaled is None else scaled[0]
    below = _made_by(v, ExpandDims)
    v = v if below is None else below[0]
    sums = _made_by(v, Reduce)
    if sums is None or scaled is None or v.apply is None:
        return None
    op: Any = v.apply.op
    n = sums[0].type.shape[-1] if sums[0].type.ndim else None
    fits = type(n) is int and n > 0 and abs(scaled[1] * n - 1) < CLOSE
    return sums[0] if fits and op.fn is add and op.axes == (-1,) else None


def _squared(v: Variable) -> Variable | None:
    """The value of which another one is the square."""
    below = _made_by(v, square)
    if below is not None:
        return below[0]
    product = _made_by(v, multiply)
    return product[0] if product is not None and product[0] is product[1] else None


def _norm(node: Apply, outputs: Any) -> Variable | None:
    """The norm that a quotient is: of deviations from the mean, or of elements, by the root of their mean square."""
    x, root = node.inputs
    below = _made_by(root, sqrt)
    shifted = None if below is None else _split(below[0], add)
    powers = None if shifted is None else _mean(shifted[0])
    if shifted is None or powers is None or _squared(powers) is not x or x.type.dtype != "float32":
        return None
    eps = shifted[1]
    if not eps >= 0:
        return None
    difference = _made_by(x, subtract)
    if difference is not None and _mean(difference[1]) is difference[0]:
        value: Variable = Standardized(eps)(difference[0])
        return value
    norm: Variable = RootMeanSquare(eps)(x)
    return norm


def _relu(node: Apply, outputs: Any) -> Variable | None:
    condition, zero, x = node.inputs
    below = _made_by(condition, comparison.less_equal)
    if below is None or below[0] is not x or _number(below[1]) != 0 or _number(zero) != 0:
        return None
    value: Variable = Relu()(x)
    return value if x.type.dtype == "float32" else None


def _relu_of_maximum(node: Apply, outputs: Any) -> Variable | None:
    for x, zero in _either_way(tuple(node.inputs)):
        if _number(zero) == 0 and x.type.dtype == "float32" and x.type.ndim == outputs[0].type.ndim:
            value: Variable = Relu()(x)
            return value
    return None


def _activation(node: Apply, outputs: Any) -> Variable | None:
    """The product with a share of itself: `silu`, or `gelu` in either order of its factors."""
    for x, share in _either_way(tuple(node.inputs)):
        if x.type.dtype != "float32":
            return None
        below = _made_by(share, sigmoid)
        if below is not None and below[0] is x:
            value: Variable = Silu()(x)
            return value
        if _number(share) == 0.5:
            inner = _made_by(x, multiply) or ()
            for u, v in _either_way(inner):
                if _is_tail(v, u):
                    return _gelu(u)
        half = _split(share, multiply)
        if half is not None and half[1] == 0.5 and _is_tail(half[0], x):
            return _gelu(x)
    return None


def _gelu(x: Variable) -> Variable:
    value: Variable = Gelu()(x)
    return value


def _is_tail(v: Variable, x: Variable) -> bool:
    """Whether a value is erfc(-x / sqrt(2))."""
    below = _made_by(v, erfc)
    scaled = None if below is None else _split(below[0], multiply)
    return scaled is not None and scaled[0] is x and abs(scaled[1] + ROOT_OF_HALF) < CLOSE


def largest(view: View) -> Mapping[int, Variable]:
    """The windows whose places nobody reads, where ggml has as many of them."""
    replaced: dict[int, Variable] = {}
    for node in view.applies:
        op: Any = node.op
        if type(op) is not pooling.MaxPool or len(node.inputs) != 1 or len(op.window) != AXES:
            continue
        y, places = view.results(node)
        (x,) = node.inputs
        if not view.uses(places) and x.type.dtype == "float32" and _is_pooled(op, x.type.shape[-AXES:]):
            value: Variable = Largest(*(tuple(f) for f in (op.window, op.strides, op.before, op.sizes)))(x)  # type: ignore[arg-type]
            replaced[id(y)] = value
    return replaced


def _is_pooled(op: Any, lengths: Any) -> bool:
    """Whether ggml has the windows: as many zeros behind as before, none of a window in them as a whole."""
    rows = zip(lengths, op.window, op.strides, op.before, op.sizes, op.dilations, strict=True)
    return all(
        type(n) is int and type(m) is int and d == 1 and 0 <= b < k and (n + 2 * b - k) // s + 1 == m
        for n, k, s, b, m, d in rows
    )


REWRITES: Final = Rewrites(
    rules=(
        node_rule(
            "ggml_norm",
            keys=(divide,),
            below=(sqrt,),
            apply=_norm,
            phase=BACKEND,
            kind=REASSOCIATES,
            why="ggml has norms of rows in one operation in place of eight.",
            example=lambda x: nn.layer_norm(x[:2, :2]),
        ),
        node_rule(
            "ggml_relu",
            keys=(comparison.where,),
            below=(comparison.less_equal,),
            apply=_relu,
            phase=BACKEND,
            kind=SIGNED_ZERO,
            why="One operation of ggml's own; comparisons and choices are NumPy's.",
            example=lambda x: relu(x),  # noqa: PLW0108 (of one argument, as examples are counted)
        ),
        node_rule(
            "ggml_relu_of_maximum",
            keys=(maximum,),
            below=(Constant,),
            apply=_relu_of_maximum,
            phase=BACKEND,
            kind=SIGNED_ZERO,
            why="One operation of ggml's own; extrema are NumPy's.",
            example=lambda x: maximum(x, np.asarray(0, x.type.numpy_dtype)),
        ),
        node_rule(
            "ggml_activation",
            keys=(multiply,),
            apply=_activation,
            phase=SPECIALIZE,
            kind=REASSOCIATES,
            why="One operation in place of two for silu, and of four for gelu, whose erfc ggml has not by itself.",
            example=lambda x: nn.silu(x),  # noqa: PLW0108 (of one argument, as examples are counted)
        ),
    ),
    passes=(
        Pass(
            "ggml_largest_of_windows",
            phase=SPECIALIZE,
            kind=SIGNED_ZERO,
            why="ggml's pooling gives no places, which inference does not read.",
            run=largest,
            keys=(pooling.MaxPool,),
        ),
    ),
)
