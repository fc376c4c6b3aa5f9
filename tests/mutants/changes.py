"""Changes of programs at random: other operands, functions, fields and constants, and what is made of the result."""

from __future__ import annotations

import numpy as np

import tg
from tests.fuzz.noise import limits
from tests.unit.rules.examine import hostile, moderate
from tg.graph.nodes import Constant, apply
from tg.graph.traversal import sorted_applies
from tg.ops.elementwise.arithmetic import gate
from tg.ops.elementwise.record import Elementwise
from tg.ops.reduction import Reduce
from tg.ops.shape import ExpandDims, Transpose
from tg.types.dtypes import DTYPES, is_integer, numpy_dtype

LAST = 5  # the length of the last axis in most trials


# --- operands --------------------------------------------------------------------------------------------------------


def numbers(dtype):
    """Constants at which rules go wrong."""
    more = []
    if is_integer(dtype):
        bits = numpy_dtype(dtype).itemsize * 8  # by which one shifts
        more = np.array([bits - 1, bits // 2, bits // 2 + 1, bits // 2 - 1], dtype)
    return [*moderate(dtype), *hostile(dtype), *more]


def number(dtype, rng):
    """One of them; often one of a few, so that two constants are alike."""
    if rng.random() < 0.6:
        return rng.choice(numbers(dtype))
    if is_integer(dtype) or dtype == "bool":
        return rng.choice((0, 1, 2, *([] if dtype == "bool" else (np.iinfo(dtype).max, np.iinfo(dtype).min))))
    info = limits(numpy_dtype(dtype))
    return rng.choice((0.0, 1.0, -1.0, np.inf, np.nan, info.largest, 2 / info.eps))


def constant(like, rng):
    """A constant of the dtype and rank of a value: one number, or several."""
    kind = numpy_dtype(like.type.dtype)
    choice = number(like.type.dtype, rng)
    form = rng.random()
    shape = (1,) * like.type.ndim if form < 0.5 else lengths_of_constant(like) if form < 0.8 else ()
    data = np.full(shape, choice, kind)
    if data.size > 1 and rng.random() < 0.5:
        data.flat[rng.randrange(data.size)] = number(like.type.dtype, rng)
    return Constant(data)


def lengths_of_constant(like):
    """Lengths with which a constant stands beside a value: those that are known, and the last in most trials."""
    unknown = [1] * (like.type.ndim - 1) + [LAST]
    return [m if n is None else n for n, m in zip(like.type.shape, unknown, strict=False)]


def several(like, dtype, rng):
    """A constant of several numbers to stand beside a value."""
    count = int(np.prod(lengths := lengths_of_constant(like)))
    return np.array([number(dtype, rng) for _ in range(count)], numpy_dtype(dtype)).reshape(lengths)


WRAPPINGS = (
    lambda x, y, rng: -x,
    lambda x, y, rng: 1 / x,
    lambda x, y, rng: tg.square(x),
    lambda x, y, rng: x * np.asarray(number(x.dtype, rng), numpy_dtype(x.dtype)),
    lambda x, y, rng: x / np.asarray(number(x.dtype, rng), numpy_dtype(x.dtype)),
    lambda x, y, rng: x + np.asarray(number(x.dtype, rng), numpy_dtype(x.dtype)),
    lambda x, y, rng: np.asarray(number(x.dtype, rng), numpy_dtype(x.dtype)) - x,
    lambda x, y, rng: tg.absolute(x),
    lambda x, y, rng: tg.exp(x),
    lambda x, y, rng: gate(x, y),
    lambda x, y, rng: gate(y, x),
    lambda x, y, rng: x * y,
    lambda x, y, rng: x + y,
    lambda x, y, rng: x / y,
    lambda x, y, rng: tg.maximum(x, y),
    lambda x, y, rng: tg.where(x > y, x, y),
    lambda x, y, rng: tg.cast(tg.cast(x, rng.choice(("float32", "int64", "int8", "bool", "uint8"))), x.dtype),
    lambda x, y, rng: tg.swapaxes(x, -1, -2),
    lambda x, y, rng: tg.flip(x, -1),
    lambda x, y, rng: tg.roll(x, 1, -1),
    lambda x, y, rng: tg.broadcast_to(x[..., :1], x.shape),
    lambda x, y, rng: x[..., :1],
    lambda x, y, rng: x[:1],
    lambda x, y, rng: x[..., 1:],
    lambda x, y, rng: x[0],
    lambda x, y, rng: x[..., None, :],
    lambda x, y, rng: tg.concatenate([x, y], -1),
    lambda x, y, rng: tg.sum(x, -1, keepdims=True),
    lambda x, y, rng: tg.max(x, 0, keepdims=True),
    lambda x, y, rng: tg.sum(x),
    lambda x, y, rng: tg.reshape(x, (-1,)),
    lambda x, y, rng: tg.assume(x, finite=True),
    lambda x, y, rng: tg.assume(x, finite=True, nonzero=True),
    lambda x, y, rng: tg.assume(x, nonnegative=True),
)


def operand(v, inputs, rng):
    """Another value in the place of v: made of it, a constant, or another of the inputs."""
    form = rng.random()
    others = [x for x in inputs if x.type == v.type]
    if form < 0.2:
        return constant(v, rng)
    if form < 0.35 and others:
        return rng.choice(others)
    return rng.choice(WRAPPINGS)(v, rng.choice(others) if others else v, rng)


# --- changes of an expression ----------------------------------------------------------------------------------------

UNARY = (
    tg.negative, tg.reciprocal, tg.square, tg.exp, tg.log, tg.absolute, tg.sqrt, tg.sign, tg.expm1, tg.log1p, tg.exp2,
    tg.tanh, tg.sigmoid, tg.floor, tg.sin, tg.cos, tg.logical_not, tg.invert, tg.softplus, tg.conj, tg.isnan, tg.ceil,
)  # fmt: skip
BINARY = (
    tg.add, tg.subtract, tg.multiply, tg.divide, tg.maximum, tg.minimum, tg.power, tg.floor_divide, tg.remainder, gate,
    tg.less, tg.less_equal, tg.greater, tg.equal, tg.not_equal, tg.logical_and, tg.logical_or, tg.bitwise_and,
    tg.bitwise_or, tg.bitwise_xor, tg.left_shift, tg.right_shift, tg.logaddexp, tg.arctan2,
)  # fmt: skip


def edited(outputs, inputs, rng):
    """The outputs with one change at a random place of what computes them."""
    applies = sorted_applies(outputs, boundary=inputs)
    applies = [(node, tuple(results)) for node, results in applies]
    if not applies:
        return outputs
    place, change = rng.randrange(len(applies)), rng.choice(CHANGES)
    new = {}
    for k, (node, results) in enumerate(applies):
        operands = [new.get(id(v), v) for v in node.inputs]
        made = change(node, operands, inputs, rng) if k == place else None
        made = again(node.op, operands) if made is None else made
        for old, v in zip(results, made, strict=False):
            if old is not None:
                new[id(old)] = v
    return [new.get(id(v), v) for v in outputs]


def again(op, operands):
    """An op on other operands, elementwise ones cast and broadcast anew."""
    return (op.fn(*operands),) if isinstance(op, Elementwise) else apply(op, operands)


def another_operand(node, operands, inputs, rng):
    if not operands:
        return None
    k = rng.randrange(len(operands))
    operands[k] = operand(operands[k], inputs, rng)
    return again(node.op, operands)


def another_function(node, operands, inputs, rng):
    if isinstance(node.op, Elementwise):
        table = UNARY if len(operands) == 1 else BINARY if len(operands) == 2 else None
        return (rng.choice(table)(*operands),) if table else None
    fn = getattr(node.op, "fn", None)
    if fn is None or "fn" not in node.op.fields:
        return None
    known = [tg.add, tg.multiply, tg.maximum, tg.minimum]
    if operands[0].type.dtype == "bool":
        known = [tg.logical_and, tg.logical_or]
    op = with_field(node.op, "fn", rng.choice(known))
    return again(op, operands) if is_meant(op, operands) else None


def swapped(node, operands, inputs, rng):
    return again(node.op, rng.sample(operands, len(operands)))


def around(node, operands, inputs, rng):
    """The result, used in another way before it is used."""
    made = again(node.op, operands)
    others = [x for x in inputs if x.type == made[0].type]
    return (rng.choice(WRAPPINGS)(made[0], rng.choice(others) if others else made[0], rng), *made[1:])


def another_field(node, operands, inputs, rng):
    if isinstance(node.op, Elementwise):
        return another_constant(node, operands, inputs, rng)
    names = [n for n in node.op.fields if n != "fn" and n not in node.op.graph_fields]
    if not names:
        return None
    name = rng.choice(names)
    op = with_field(node.op, name, other(getattr(node.op, name), rng))
    return again(op, operands) if is_meant(op, operands) else None


def is_meant(op, operands):
    """Whether the axes of an op are such as functions give it: each once, of those that there are, in order."""
    ndim = operands[0].type.ndim if operands else 0
    if isinstance(op, Reduce) and op.total and op.fn not in (tg.maximum, tg.minimum):
        return False
    axes = getattr(op, "axes", None)
    if isinstance(axes, tuple):
        ndim += len(axes) if isinstance(op, ExpandDims) else 0
        known = list(range(-ndim, 0))
        if isinstance(op, Transpose):
            return sorted(axes) == known[-len(axes) :]
        return list(axes) == [k for k in known if k in axes]
    axis = getattr(op, "axis", -1)
    return not isinstance(axis, int) or -ndim <= axis < 0


def another_constant(node, operands, inputs, rng):
    found = [k for k, v in enumerate(operands) if isinstance(v, Constant)]
    if not found:
        return another_operand(node, operands, inputs, rng)
    k = rng.choice(found)
    data = operands[k].data
    if data.dtype.kind in "iu" and rng.random() < 0.6:
        changed = data + np.asarray(rng.choice((1, -1, 2)), data.dtype)
    elif data.size == 1 and rng.random() < 0.3:
        changed = several(again(node.op, operands)[0], operands[k].type.dtype, rng)
    elif data.size and data.ndim:
        changed = data.copy()
        changed.flat[rng.randrange(data.size)] = number(operands[k].type.dtype, rng)
    else:
        changed = np.full(data.shape, number(operands[k].type.dtype, rng), data.dtype)
    operands[k] = Constant(np.asarray(changed, data.dtype))
    return again(node.op, operands)


CHANGES = (another_operand, another_operand, another_function, swapped, around, another_field, another_field)


def with_field(op, name, value):
    return type(op)(**{n: value if n == name else getattr(op, n) for n in op.fields})


def other(value, rng):
    """Another value of a field: as near as can be."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice((value + 1, value - 1, -value, 2 * value))
    if isinstance(value, float):
        return rng.choice((-value, value + 1, 0.0))
    if isinstance(value, tuple) and value:
        k = rng.randrange(len(value))
        changed = (*value[:k], other(value[k], rng), *value[k + 1 :])
        return rng.choice((changed, changed, tuple(rng.sample(value, len(value))), value[:k] + value[k + 1 :]))
    if value in DTYPES:
        return rng.choice(DTYPES)
    return rng.choice(MODES) if value in MODES else value


MODES = ("raise", "clip", "fill", "promise", "set", "add", "max", "min", "multiply", "left", "right")


# --- surroundings ----------------------------------------------------------------------------------------------------


def in_context(outputs, inputs, rng):
    """The result used further: as an operand, under a reduction, twice, beside what it is made of."""
    y, rest = outputs[0], outputs[1:]
    x = rng.choice(inputs) if inputs else y
    form = rng.randrange(8)
    if form == 0:
        return [-y, *rest]
    if form == 1:
        return [y * y, *rest]
    if form == 2:
        return [y + x, *rest]
    if form == 3:
        return [tg.sum(y, -1), *rest]
    if form == 4:
        inner = [v for _, results in sorted_applies(outputs, boundary=inputs) for v in results if v is not None]
        return [y, rng.choice(inner), *rest] if inner else outputs
    if form == 5:
        return [y, tg.exp(y), *rest]
    if form == 6:
        return [y * x, y, *rest]
    return [y, *edited(outputs, inputs, rng)]
