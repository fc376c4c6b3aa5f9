"""Rules of arithmetic: neutral elements, signs, powers, constants that combine, and gates that need not be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.graph.nodes import Constant
from tg.ops.elementwise.arithmetic import (
    absolute,
    add,
    divide,
    gate,
    maximum,
    minimum,
    multiply,
    negative,
    power,
    reciprocal,
    sign,
    sqrt,
    square,
    subtract,
)
from tg.ops.elementwise.cast import Cast
from tg.ops.elementwise.comparison import equal, where
from tg.ops.elementwise.exponential import exp, softplus
from tg.ops.elementwise.record import Elementwise
from tg.ops.elementwise.trigonometric import cos, sin, tanh
from tg.ops.shape import BroadcastTo, ExpandDims, Reshape, Squeeze, Transpose
from tg.rewrite.phases import CANONICALIZE, EXACT, NAN_UNSAFE, REASSOCIATES, SIGNED_ZERO, SPECIALIZE
from tg.rewrite.rule import FLOATING, INTEGER, node_rule, rule
from tg.types.dtypes import is_float, is_integer, numpy_dtype

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable

REAL: Final = FLOATING | INTEGER
SIGNED: Final = FLOATING | {"int8", "int16", "int32", "int64"}
DEPTH: Final = 8  # how far an analysis looks below a value, so that it costs the same in graphs of any depth

KEEPS_FINITE: Final = frozenset((sin, cos, tanh, negative, absolute, sign, maximum, minimum))  # of finite operands
NOT_NEGATIVE: Final = frozenset((square, absolute, exp, softplus))
MOVES: Final = (BroadcastTo, ExpandDims, Reshape, Squeeze, Transpose)  # the elements of the first operand, elsewhere


def is_finite(v: Variable, depth: int = DEPTH) -> bool:
    """Whether no element can be infinite or NaN, whatever the inputs of the graph are.

    A bounded function is not enough: its value for NaN is NaN.
    """
    if v.type.dtype == "bool" or is_integer(v.type.dtype):
        return True
    if isinstance(v, Constant):
        return bool(np.isfinite(v.data).all())
    node = v.apply
    if node is None or depth == 0:
        return False
    op = node.op
    if isinstance(op, Elementwise):
        operands = node.inputs[1:] if op.fn is where else node.inputs
        return (op.fn is where or op.fn.finite or op.fn in KEEPS_FINITE) and all(
            is_finite(u, depth - 1) for u in operands
        )
    if isinstance(op, Cast):
        return _cast_is_finite(node.inputs[0], op.dtype, depth)
    return isinstance(op, MOVES) and is_finite(node.inputs[0], depth - 1)


def _cast_is_finite(x: Variable, dtype: str, depth: int) -> bool:
    source = x.type.dtype
    if source == "bool" or (is_integer(source) and (dtype != "float16" or numpy_dtype(source).itemsize == 1)):
        return True
    widens = is_float(source) and is_float(dtype) and numpy_dtype(dtype).itemsize > numpy_dtype(source).itemsize
    return widens and is_finite(x, depth - 1)


def is_not_negative(v: Variable) -> bool:
    """Whether no element can be below 0 (NaN may occur); -0.0 does not occur either."""
    op = v.op
    return isinstance(op, Elementwise) and op.fn in NOT_NEGATIVE and is_float(v.type.dtype)


def is_scalar_constant(v: Variable) -> bool:
    """Whether a value is a constant of one element, which combines with others at no cost."""
    return isinstance(v, Constant) and v.data.size == 1


def _add_minus_zero(node: Apply, outputs: Any) -> Variable | None:
    for v, zero in (node.inputs, node.inputs[::-1]):
        if _is_zero(zero, negative=True):
            return v
    return None


def _subtract_zero(node: Apply, outputs: Any) -> Variable | None:
    x, zero = node.inputs
    return x if _is_zero(zero, negative=False) else None


def _is_zero(v: Variable, *, negative: bool) -> bool:
    return (
        isinstance(v, Constant)
        and is_float(v.type.dtype)
        and bool((v.data == 0).all() and (np.signbit(v.data) == negative).all())
    )


def _scaled_negative(node: Apply, outputs: Any) -> Variable | None:
    """-x * c and c * -x: the sign goes into the constant."""
    if node.inputs[0].type.dtype not in SIGNED:
        return None
    for x, c in (node.inputs, node.inputs[::-1]):
        if is_scalar_constant(c) and _is(x, negative):
            return multiply(x.inputs[0], _negated(c))
    return None


def _negative_scaled(node: Apply, outputs: Any) -> Variable | None:
    """-(x * c): the sign goes into the constant."""
    (y,) = node.inputs
    if y.type.dtype not in SIGNED or not _is(y, multiply):
        return None
    for x, c in (y.inputs, y.inputs[::-1]):
        if is_scalar_constant(c):
            return multiply(x, _negated(c))
    return None


def _negated(c: Any) -> Constant:
    return Constant(np.asarray(-c.data))


def _is(v: Variable, fn: Any) -> bool:
    return v.apply is not None and v.apply.op is fn.op


def _gate_of_constant(node: Apply, outputs: Any) -> Any:
    dy, d = node.inputs
    if not isinstance(dy, Constant) or not dy.data.size:
        return None
    if not dy.data.any():
        return 0
    return multiply(dy, d) if dy.data.all() else None


def _gate_of_finite(node: Apply, outputs: Any) -> Variable | None:
    dy, d = node.inputs
    return multiply(dy, d) if is_finite(d) else None


def _combined(fn: Any) -> Any:
    """(x fn c1) fn c2 as x fn (c1 fn c2), where the constant neither overflows nor vanishes."""

    def apply(node: Apply, outputs: Any) -> Variable | None:
        for inner, c in (node.inputs, node.inputs[::-1]):
            if not (is_scalar_constant(c) and _is(inner, fn)):
                continue
            for x, b in (inner.inputs, inner.inputs[::-1]):
                if is_scalar_constant(b) and c.type.dtype in REAL and len(b.shape) == len(c.shape):
                    both = _value(fn, b, c)
                    return fn(x, both) if both is not None else None
        return None

    return apply


def _value(fn: Any, b: Any, c: Any) -> Constant | None:
    with np.errstate(all="ignore"):
        (value,) = fn.op.perform(b.data, c.data)
    if is_float(c.type.dtype):
        least = np.finfo(value.dtype).tiny if value.dtype.kind == "f" else 1e-37
        size = abs(float(value.reshape(())))
        if not np.isfinite(size) or (size < least and (fn is multiply or size > 0)):
            return None
    return Constant(value)


def _small_power(node: Apply, outputs: Any) -> Any:
    x, n = node.inputs
    if not is_scalar_constant(n) or x.type.dtype not in REAL:
        return None
    value = float(n.data.reshape(()))  # type: ignore[attr-defined]
    if value in (3.0, 4.0):
        return multiply(x, square(x)) if value == 3.0 else square(square(x))
    if value in (-1.0, -2.0) and is_float(x.type.dtype):
        return divide(1, x if value == -1.0 else square(x))
    return None


def _reciprocal_factor(node: Apply, outputs: Any) -> Variable | None:
    """The product x * (1 / c) for x / c, where c is a power of two whose reciprocal is a normal number."""
    x, c = node.inputs
    if not is_scalar_constant(c) or x.type.dtype not in ("float32", "float64"):
        return None
    value = c.data  # type: ignore[attr-defined]
    mantissa, exponent = np.frexp(value)
    if np.abs(mantissa) != 0.5 or np.abs(exponent) > 100:
        return None
    return multiply(x, Constant(np.asarray(1 / value, value.dtype)))


def _exact_power_half(x: Any) -> Variable:
    """sqrt(x), except that x**0.5 is inf at -inf."""
    kind = numpy_dtype(x.type.dtype).type
    return where(equal(x, kind(-np.inf)), kind(np.inf), sqrt(x))


def _constant_last(node: Apply, outputs: Any) -> Any:
    c, x = node.inputs
    return node.op(x, c) if isinstance(c, Constant) and not isinstance(x, Constant) else None


RULES = (
    node_rule(
        "constant_last",
        keys=(add, multiply),
        apply=_constant_last,
        phase=CANONICALIZE,
        kind=EXACT,
        why="2 * x and x * 2 are one value.",
        example=lambda x: 2 * x,
    ),
    rule(
        "multiply_by_one",
        match=lambda x: x * 1,
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=REAL,
        why="1 is neutral. Not for complex numbers, whose product with 1 has NaN where x has an infinity.",
    ),
    rule(
        "divide_by_one",
        match=lambda x: x / 1,
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=EXACT,
        why="1 is neutral.",
    ),
    rule(
        "floor_divide_by_one",
        match=lambda x: x // 1,
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=INTEGER,
        why="1 is neutral; lengths are divided so.",
    ),
    rule(
        "remainder_by_one",
        match=lambda x: x % 1,
        replace=lambda x: 0,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=INTEGER,
        why="Every integer is a multiple of 1.",
    ),
    rule(
        "add_zero_integer",
        match=lambda x: x + 0,
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=INTEGER,
        why="0 is neutral.",
    ),
    rule(
        "subtract_zero_integer",
        match=lambda x: x - 0,
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=INTEGER,
        why="0 is neutral.",
    ),
    node_rule(
        "add_minus_zero",
        keys=(add,),
        apply=_add_minus_zero,
        phase=CANONICALIZE,
        kind=EXACT,
        why="-0.0 is the neutral element of floating addition.",
        example=lambda x: x + -0.0,
    ),
    node_rule(
        "subtract_zero",
        keys=(subtract,),
        apply=_subtract_zero,
        phase=CANONICALIZE,
        kind=EXACT,
        why="x - 0.0 is x, -0.0 included.",
        example=lambda x: x - 0.0,
    ),
    rule(
        "add_zero",
        match=lambda x: x + 0,
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=SIGNED_ZERO,
        why="-0.0 + 0.0 is 0.0; every other x stays.",
    ),
    rule(
        "zero_minus",
        match=lambda x: 0 - x,
        replace=lambda x: -x,
        phase=CANONICALIZE,
        kind=SIGNED_ZERO,
        why="0.0 - 0.0 is 0.0, and -0.0 after.",
    ),
    rule(
        "multiply_by_zero_integer",
        match=lambda x: x * 0,
        replace=lambda x: 0,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=INTEGER,
        why="Integers have no NaN.",
    ),
    rule(
        "multiply_by_zero",
        match=lambda x: x * 0,
        replace=lambda x: 0,
        phase=CANONICALIZE,
        kind=NAN_UNSAFE,
        why="NaN where x is NaN or infinite.",
    ),
    rule(
        "subtract_itself_integer",
        match=lambda x: x - x,
        replace=lambda x: 0,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=INTEGER,
        why="Integers have no NaN.",
    ),
    rule(
        "subtract_itself",
        match=lambda x: x - x,
        replace=lambda x: 0,
        phase=CANONICALIZE,
        kind=NAN_UNSAFE,
        why="NaN where x is NaN or infinite.",
    ),
    rule(
        "divide_by_itself",
        match=lambda x: x / x,
        replace=lambda x: 1,
        phase=CANONICALIZE,
        kind=NAN_UNSAFE,
        why="NaN where x is 0, NaN or infinite.",
    ),
    rule(
        "multiply_by_minus_one",
        match=lambda x: x * -1,
        replace=lambda x: -x,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=SIGNED,
        why="Changing the sign is cheaper than a product, and has one form.",
    ),
    rule(
        "divide_by_minus_one",
        match=lambda x: x / -1,
        replace=lambda x: -x,
        phase=CANONICALIZE,
        kind=EXACT,
        why="Changing the sign is cheaper than a quotient, and has one form.",
    ),
    rule(
        "double_negative",
        match=lambda x: -negative(x),
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=REAL,
        why="Two changes of sign cancel.",
    ),
    rule(
        "subtract_negative",
        match=lambda x, y: x - (-y),
        replace=lambda x, y: x + y,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=REAL,
        why="x - (-y) is x + y, bit for bit.",
    ),
    rule(
        "add_negative",
        match=lambda x, y: x + (-y),
        replace=lambda x, y: x - y,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=REAL,
        why="x + (-y) is x - y, bit for bit.",
    ),
    rule(
        "negative_of_difference",
        match=lambda x, y: -(x - y),
        replace=lambda x, y: y - x,
        phase=CANONICALIZE,
        kind=SIGNED_ZERO,
        why="-(x - x) is -0.0, x - x is 0.0.",
    ),
    rule(
        "product_of_negatives",
        match=lambda x, y: -x * -y,
        replace=lambda x, y: x * y,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=REAL,
        why="The signs cancel.",
    ),
    rule(
        "quotient_of_negatives",
        match=lambda x, y: -x / -y,
        replace=lambda x, y: x / y,
        phase=CANONICALIZE,
        kind=EXACT,
        why="The signs cancel.",
    ),
    node_rule(
        "negative_times_constant",
        keys=(multiply,),
        apply=_scaled_negative,
        phase=CANONICALIZE,
        kind=EXACT,
        why="The sign costs nothing inside the constant.",
        example=lambda x: -x * 3,
    ),
    node_rule(
        "negative_of_multiple",
        keys=(negative,),
        apply=_negative_scaled,
        phase=CANONICALIZE,
        kind=EXACT,
        why="The sign costs nothing inside the constant.",
        example=lambda x: -(x * 3),
    ),
    rule(
        "negative_product",
        match=lambda x, y: -x * y,
        replace=lambda x, y: -(x * y),
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=REAL,
        why="Signs move outwards, where they meet sums and other signs.",
    ),
    rule(
        "negative_quotient",
        match=lambda x, y: -x / y,
        replace=lambda x, y: -(x / y),
        phase=CANONICALIZE,
        kind=EXACT,
        why="Signs move outwards, where they meet sums and other signs.",
    ),
    node_rule(
        "combine_factors",
        keys=(multiply,),
        apply=_combined(multiply),
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        why="(x * 2) * 0.5 is one product; gradients are full of them.",
        example=lambda x: x * 3 * 0.25,
    ),
    node_rule(
        "combine_terms",
        keys=(add,),
        apply=_combined(add),
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        why="(x + 1) + 2 is one sum.",
        example=lambda x: x + 3 + 0.25,
    ),
    rule(
        "reciprocal_as_quotient",
        match=reciprocal,
        replace=lambda x: 1 / x,
        phase=CANONICALIZE,
        kind=EXACT,
        why="One form for what other rules look for.",
    ),
    rule(
        "power_zero",
        match=lambda x: x**0,
        replace=lambda x: 1,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=REAL,
        why="x**0 is 1 for every x, NaN included.",
    ),
    rule(
        "power_one",
        match=lambda x: x**1,
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=REAL,
        why="x**1 is x.",
    ),
    rule(
        "integer_power_two",
        match=lambda x: x**2,
        replace=square,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=INTEGER,
        why="One product, modulo the width as the power is.",
    ),
    rule(
        "power_two",
        match=lambda x: x**2,
        replace=square,
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        why="One product, correctly rounded; a power is not everywhere.",
    ),
    rule(
        "product_with_itself",
        match=lambda x: x * x,
        replace=square,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=REAL,
        why="One form for what other rules look for.",
    ),
    rule(
        "power_half_of_positive",
        match=lambda x: x**0.5,
        replace=sqrt,
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        when=is_not_negative,
        why="A root is faster and correctly rounded; -0.0 and -inf, where they differ, do not occur.",
    ),
    rule(
        "power_half",
        match=lambda x: x**0.5,
        replace=_exact_power_half,
        phase=SPECIALIZE,
        kind=REASSOCIATES,
        why="A root is faster and correctly rounded; x**0.5 is inf at -inf, which is kept. At -0.0 the sign differs.",
    ),
    node_rule(
        "small_power",
        keys=(power,),
        apply=_small_power,
        phase=SPECIALIZE,
        kind=REASSOCIATES,
        why="Two products are faster than a power.",
        example=lambda x: x**3,
    ),
    node_rule(
        "divide_by_power_of_two",
        keys=(divide,),
        apply=_reciprocal_factor,
        phase=SPECIALIZE,
        kind=EXACT,
        why="The reciprocal of a power of two is exact, and a product is faster than a quotient.",
        example=lambda x: x / 4,
    ),
    rule(
        "square_of_negative",
        match=lambda x: square(-x),
        replace=square,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=REAL,
        why="A square has no sign.",
    ),
    rule(
        "square_of_absolute",
        match=lambda x: square(absolute(x)),
        replace=square,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=REAL,
        why="A square has no sign.",
    ),
    rule(
        "absolute_of_negative",
        match=lambda x: absolute(-x),
        replace=absolute,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=SIGNED,
        why="An absolute value has no sign.",
    ),
    rule(
        "absolute_of_absolute",
        match=lambda x: absolute(absolute(x)),
        replace=absolute,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=REAL,
        why="An absolute value has no sign.",
    ),
    rule(
        "absolute_of_square",
        match=lambda x: absolute(square(x)),
        replace=square,
        phase=CANONICALIZE,
        kind=EXACT,
        why="A floating square has no sign.",
    ),
    rule(
        "root_of_square",
        match=lambda x: sqrt(square(x)),
        replace=absolute,
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        why="|x|, without overflow of the square.",
    ),
    rule(
        "square_of_root",
        match=lambda x: square(sqrt(x)),
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=NAN_UNSAFE,
        why="NaN where x is below 0.",
    ),
    rule(
        "maximum_with_itself",
        match=lambda x: maximum(x, x),
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=REAL,
        why="The larger of x and x is x.",
    ),
    rule(
        "minimum_with_itself",
        match=lambda x: minimum(x, x),
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=REAL,
        why="The smaller of x and x is x.",
    ),
    node_rule(
        "gate_of_constant",
        keys=(gate,),
        apply=_gate_of_constant,
        phase=CANONICALIZE,
        kind=EXACT,
        why="A gate is closed where the cotangent is 0 and a product where it is not.",
        example=lambda x: gate(Constant(np.asarray(2, x.type.numpy_dtype)), x),
    ),
    rule(
        "gate_of_negative",
        match=lambda x, d: gate(-x, d),
        replace=lambda x, d: -gate(x, d),
        phase=CANONICALIZE,
        kind=SIGNED_ZERO,
        why="A sign moves out of a gate, so that what it hides meets its partner.",
    ),
    node_rule(
        "gate_of_finite",
        keys=(gate,),
        apply=_gate_of_finite,
        phase=CANONICALIZE,
        kind=SIGNED_ZERO,
        why="0 times a finite derivative is 0, up to its sign.",
        example=lambda x: gate(x, Constant(np.asarray(2, x.type.numpy_dtype))),
    ),
)
