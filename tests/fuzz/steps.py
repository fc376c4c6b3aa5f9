"""The operations of random programs: each maker draws one, as a function of a namespace and earlier values.

A maker is given the program so far and returns a `Step`, or None where the program has no operands for it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

ANYWHERE = (
    "exp", "expm1", "exp2", "sin", "cos", "tanh", "sigmoid", "softplus", "square", "arctan", "arcsinh", "sinh", "cosh",
    "sinc", "cbrt",
)  # fmt: skip
SOMEWHERE = (
    "log", "log1p", "log2", "log10", "sqrt", "reciprocal", "arcsin", "arccos", "arccosh", "arctanh", "tan",
    "log_sigmoid",
)  # fmt: skip
OF_FLOATS = ("floor", "ceil", "trunc", "rint", "isnan", "isinf", "isfinite", "signbit")
OF_NUMBERS = ("negative", "absolute", "sign", "square")
EXACT = ("add", "subtract", "multiply", "maximum", "minimum")
COMPARISONS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
LOGICAL = ("logical_and", "logical_or", "logical_xor")
BITS = ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift")
NUMBERS = (2, 0.5, -1, 0, 3.0, 1, 1.0, -0.0, 4, -2.0, 0.1, 10)

# Formulas that rules look for, of one floating operand.
FORMULAS = (
    ("log(1 + exp(x))", lambda m, x: m.log(1 + m.exp(x))),
    ("log(exp(x) + 1)", lambda m, x: m.log(m.exp(x) + 1)),
    ("log(1 + x)", lambda m, x: m.log(1 + m.absolute(x))),
    ("exp(x) - 1", lambda m, x: m.exp(x) - 1),
    ("1 / (1 + exp(-x))", lambda m, x: 1 / (1 + m.exp(-x))),
    ("exp(x) / (1 + exp(x))", lambda m, x: m.exp(x) / (1 + m.exp(x))),
    ("log(sigmoid(x))", lambda m, x: m.log(m.sigmoid(x))),
    ("log(1 - sigmoid(x))", lambda m, x: m.log(1 - m.sigmoid(x))),
    ("1 - sigmoid(x)", lambda m, x: 1 - m.sigmoid(x)),
    ("sqrt(x**2)", lambda m, x: m.sqrt(x**2)),
    ("x**2", lambda m, x: x**2),
    ("x**3", lambda m, x: x**3),
    ("x**-1", lambda m, x: (1 + m.absolute(x)) ** -1),
    ("x**0.5", lambda m, x: m.absolute(x) ** 0.5),
    ("x*x*x", lambda m, x: x * x * x),
    ("x + x", lambda m, x: x + x),
    ("2x + 3x", lambda m, x: 2 * x + x * 3),
    ("(x + 1) - 1", lambda m, x: (x + 1) - 1),
    ("(x * 2) / 4", lambda m, x: (x * 2) / 4),
    ("-(-x * 2)", lambda m, x: -(-x * 2)),
    ("x - (-x)", lambda m, x: x - (-x)),
    ("1 - (1 - x)", lambda m, x: 1 - (1 - x)),
    ("exp(x) * exp(x)", lambda m, x: m.exp(x) * m.exp(x)),
    ("exp(-x) * exp(x)", lambda m, x: m.exp(-x) * m.exp(x)),
    ("log(x * x)", lambda m, x: m.log(x * x)),
    ("log(sqrt|x|)", lambda m, x: m.log(m.sqrt(m.absolute(x)))),
    ("where(x > 0, x, 0)", lambda m, x: m.where(x > 0, x, 0)),
    ("where(x < 0, -x, x)", lambda m, x: m.where(x < 0, -x, x)),
    ("maximum(x, 0)", lambda m, x: m.maximum(x, 0)),
    ("minimum(maximum(x, -1), 1)", lambda m, x: m.minimum(m.maximum(x, -1), 1)),
    ("x * (x > 0)", lambda m, x: x * (x > 0)),
    ("huber", lambda m, x: m.where(m.absolute(x) < 1, 0.5 * x**2, m.absolute(x) - 0.5)),
    ("x * sign(x)", lambda m, x: x * m.sign(x)),
    ("sin**2 + cos**2", lambda m, x: m.sin(x) ** 2 + m.cos(x) ** 2),
    ("x / sqrt(1 + x**2)", lambda m, x: x / m.sqrt(1 + x**2)),
    ("tanh from exps", lambda m, x: (m.exp(x) - m.exp(-x)) / (m.exp(x) + m.exp(-x))),
    ("x / 3 / 7", lambda m, x: x / 3 / 7),
    ("x + zeros_like(x)", lambda m, x: x + m.zeros_like(x)),
    ("x * ones_like(x)", lambda m, x: x * m.ones_like(x)),
    ("exp(log(|x| + 1))", lambda m, x: m.exp(m.log(m.absolute(x) + 1))),
)
# Of one floating operand with axes, along its last.
ROW_FORMULAS = (
    ("log(sum(exp(x)))", lambda m, x: m.log(m.sum(m.exp(x), axis=-1))),
    ("exp(x) / sum(exp(x))", lambda m, x: m.exp(x) / m.sum(m.exp(x), axis=-1, keepdims=True)),
    ("log(softmax(x))", lambda m, x: m.log(m.exp(x) / m.sum(m.exp(x), axis=-1, keepdims=True))),
    ("x - mean(x)", lambda m, x: x - m.mean(x, axis=-1, keepdims=True)),
    ("norm", lambda m, x: m.sqrt(m.sum(x**2, axis=-1) + 0.5)),
    ("standardised", lambda m, x: (x - m.mean(x, -1, keepdims=True)) / m.sqrt(0.5 + m.var(x, -1, keepdims=True))),
    ("sum(2 * x)", lambda m, x: m.sum(2 * x, axis=-1)),
    ("sum(-x)", lambda m, x: m.sum(-x, axis=-1, keepdims=True)),
    ("x[1:] - x[:-1]", lambda m, x: x[..., 1:] - x[..., :-1]),
    ("x[0] * x[-1]", lambda m, x: x[..., 0] * x[..., -1]),
    ("(2x + 1)[0]", lambda m, x: (x * 2 + 1)[..., 0]),
    ("exp(x)[::-1][:2]", lambda m, x: m.exp(x)[..., ::-1][..., :2]),
    ("max(exp(x))", lambda m, x: m.max(m.exp(x), axis=-1)),
    ("max(x + 1)", lambda m, x: m.max(x + 1, axis=-1)),
    ("mean of squares", lambda m, x: m.mean(m.square(x))),
    ("sum of sums", lambda m, x: m.sum(m.sum(x, axis=-1))),
    ("sum(x * row)", lambda m, x: m.sum(x * m.expand_dims(m.sum(x, axis=-1), -1))),
    ("concatenated, then sliced", lambda m, x: m.concatenate([x, 2 * x], axis=-1)[..., :2]),
    ("reversed twice", lambda m, x: x[..., ::-1][..., ::-1]),
    ("stack of rows", lambda m, x: m.stack([x[..., 0], x[..., -1]], axis=-1)),
)
# Of two floating operands that broadcast.
PAIR_FORMULAS = (
    ("x / (1 + y**2)", lambda m, x, y: x / (1 + m.square(y))),
    ("log density", lambda m, x, y: -0.5 * ((x - y) / 1.5) ** 2 - math.log(1.5)),
    ("x*y + x", lambda m, x, y: x * y + x),
    ("x + y - x", lambda m, x, y: x + y - x),
    ("x * y / y", lambda m, x, y: x * (1 + y * y) / (1 + y * y)),
    ("-x * -y", lambda m, x, y: -x * -y),
    ("where(x > y, x, y)", lambda m, x, y: m.where(x > y, x, y)),
    ("where(not x < y, x, -y)", lambda m, x, y: m.where(m.logical_not(x < y), x, -y)),
    ("log(exp(x) + exp(y))", lambda m, x, y: m.log(m.exp(x) + m.exp(y))),
    ("exp(x) / exp(y)", lambda m, x, y: m.exp(x) / m.exp(y)),
    ("cross entropy", lambda m, x, y: -(y * m.log(m.sigmoid(x)) + (1 - y) * m.log(1 - m.sigmoid(x)))),
    ("2 * x + 2 * y", lambda m, x, y: 2 * x + 2 * y),
    ("(x - y) ** 2", lambda m, x, y: (x - y) ** 2),
    ("|x| ** y", lambda m, x, y: (m.absolute(x) + 0.5) ** y),
    ("where(x > 0, log(x), y)", lambda m, x, y: m.where(x > 0, m.log(x), y)),
    ("where(x > 0, log(where(x > 0, x, 1)), y)", lambda m, x, y: m.where(x > 0, m.log(m.where(x > 0, x, 1)), y)),
)


class Step(NamedTuple):
    """One operation on earlier values: a function of the namespace and the operands."""

    name: str
    apply: object
    operands: tuple
    text: str = ""


def is_float(v):
    return v.dtype.kind == "f"


def is_integer(v):
    return v.dtype.kind in "iu"


def is_bool(v):
    return v.dtype.kind == "b"


def is_inexact(v):
    return v.dtype.kind in "fc"


def has_known_signs(v):
    """Whether no sign is that of a NaN, which is not defined."""
    return is_float(v) and not np.isnan(v).any()


def has_axes(v):
    return v.ndim > 0


def named(name, *operands):
    return Step(name, lambda m, *x: getattr(m, name)(*x), operands)


def anywhere(d):
    return named(d.choose(ANYWHERE), d.operand(is_float))


def somewhere(d):
    name, k = d.choose(SOMEWHERE), d.operand(is_float)
    if d.pick(2):
        return Step(name, lambda m, x: getattr(m, name)(m.absolute(x) + 0.5), (k,), "|x| + 0.5")
    return named(name, k)


def of_complex(d):
    k = d.operand(lambda v: v.dtype.kind == "c")
    return named(d.choose(("real", "imag", "conj", "absolute", "exp", "square", "sin", "negative", "sqrt")), k)


def complex_pair(d):
    test = lambda v: v.dtype == np.float64  # noqa: E731
    return named("complex", d.operand(test), d.operand(test))


def of_floats(d):
    name = d.choose(OF_FLOATS)
    return named(name, d.operand(has_known_signs if name == "signbit" else is_float))


def of_numbers(d):
    return named(d.choose(OF_NUMBERS), d.operand(lambda v: v.dtype.kind in "iuf"))


def arithmetic(d):
    return named(d.choose(EXACT), d.operand(), d.operand())


def with_a_number(d):
    number, name, k = d.choose(NUMBERS), d.choose(EXACT), d.operand()
    if d.pick(2):
        return Step(name, lambda m, x: getattr(m, name)(x, number), (k,), f"x, {number}")
    return Step(name, lambda m, x: getattr(m, name)(number, x), (k,), f"{number}, x")


def quotient(d):
    k, number = d.operand(is_inexact), d.choose((2, 3.0, -0.5, 10))
    return Step("divide", lambda m, x: m.divide(x, number), (k,), f"by {number}")


def division(d):
    name = d.choose(("divide", "floor_divide", "remainder", "power", "arctan2", "hypot", "logaddexp", "copysign"))
    return named(name, d.operand(), d.operand(has_known_signs) if name == "copysign" else d.operand())


def division_of_integers(d):
    name, number = d.choose(("floor_divide", "remainder", "power")), d.choose((2, 3, 4, 1, 7, 8))
    return Step(name, lambda m, x: getattr(m, name)(x, number), (d.operand(is_integer),), str(number))


def formula(d):
    name, apply = d.choose(FORMULAS)
    return Step(name, apply, (d.operand(is_float),))


def row_formula(d):
    name, apply = d.choose(ROW_FORMULAS)
    return Step(name, apply, (d.operand(lambda v: is_float(v) and v.ndim > 0),))


def pair_formula(d):
    name, apply = d.choose(PAIR_FORMULAS)
    return Step(name, apply, (d.operand(is_float), d.operand(is_float)))


def comparison(d):
    if d.pick(3) == 0:
        name, number = d.choose(COMPARISONS), d.choose((0, 1, -1, 0.5))
        return Step(name, lambda m, x: getattr(m, name)(x, number), (d.operand(),), str(number))
    return named(d.choose(COMPARISONS), d.operand(), d.operand())


def logic(d):
    if d.pick(3) == 0:
        return named("logical_not", d.operand(is_bool))
    return named(d.choose(LOGICAL), d.operand(is_bool), d.operand(is_bool))


def bits(d):
    if d.pick(4) == 0:
        return named("bitwise_invert", d.operand(lambda v: v.dtype.kind in "iub"))
    return named(d.choose(BITS), d.operand(is_integer), d.operand(is_integer))


def choice(d):
    c, x = d.operand(is_bool), d.operand()
    if d.pick(3) == 0:
        number = d.choose((0, 1, -1.0, np.inf))
        return Step("where", lambda m, c, x: m.where(c, x, number), (c, x), f"else {number}")
    return named("where", c, x, d.operand())


def clipped(d):
    low, high = d.choose((-1, 0, -0.5)), d.choose((1, 2, 0.5))
    return Step("clip", lambda m, x: m.call(lambda v: _tg().clip(v, low, high), x), (d.operand(),), f"{low}, {high}")


def _tg():
    import tg

    return tg


def reduction(d):
    names = ("sum", "sum", "sum", "max", "min", "prod", "mean", "var", "any", "all", "count_nonzero")
    name, k = d.choose(names), d.operand()
    ndim = d.values[k].ndim
    axes = tuple(a - ndim * d.pick(2) for a in range(ndim) if d.pick(2)) if d.pick(4) else None
    keep = bool(d.pick(2))
    if name in ("mean", "var") and not d.values[k].size:
        return None
    return Step(name, lambda m, x: getattr(m, name)(x, axis=axes, keepdims=keep), (k,), f"{axes} {keep}")


def along_an_axis(d):
    names = ("cumsum", "cumprod", "softmax", "log_softmax", "logsumexp", "argmax", "argmin", "sort", "argsort", "flip")
    name, k = d.choose((*names, "cummax")), d.operand(has_axes)
    if k is None:
        return None
    value = d.values[k]
    axis = d.pick(value.ndim) - value.ndim * d.pick(2)
    if ("soft" in name or name == "logsumexp") and not (is_float(value) and value.shape[axis]):
        return None
    if name in ("sort", "argsort", "argmax", "argmin") and value.dtype.kind == "c":
        return None
    options = {"stable": True} if name == "argsort" else {}
    return Step(name, lambda m, x: getattr(m, name)(x, axis=axis, **options), (k,), str(axis))


def permutation(d):
    k = d.operand()
    axes = list(range(d.values[k].ndim))
    for a in reversed(range(1, len(axes))):
        b = d.pick(a + 1)
        axes[a], axes[b] = axes[b], axes[a]
    return Step("transpose", lambda m, x: m.transpose(x, tuple(axes)), (k,), str(axes))


def other_shape(d):
    k = d.operand()
    ndim, size = d.values[k].ndim, d.values[k].size
    kind = d.pick(7)
    if kind == 0:
        return Step("reshape", lambda m, x: m.reshape(x, (-1,)), (k,), "flat")
    if kind == 1 and ndim > 1:
        return Step("reshape", lambda m, x: m.reshape(x, (x.shape[0] * x.shape[1], *x.shape[2:])), (k,), "merged")
    if kind == 2 and size:
        n = d.choose([n for n in range(1, size + 1) if size % n == 0])
        return Step("reshape", lambda m, x: m.reshape(x, (-1, n)), (k,), f"(-1, {n})")
    if kind == 3 and ndim < 4:
        axis = d.pick(ndim + 1)
        return Step("expand_dims", lambda m, x: m.expand_dims(x, axis), (k,), str(axis))
    if kind == 4 and 1 in d.values[k].shape:
        axis = d.values[k].shape.index(1)
        return Step("squeeze", lambda m, x: m.squeeze(x, axis), (k,), str(axis))
    if kind == 5 and ndim < 3:
        n = 1 + d.pick(3)
        return Step("broadcast_to", lambda m, x: m.broadcast_to(x, (n, *x.shape)), (k,), f"({n}, ...)")
    return Step("broadcast_to", lambda m, x, y: m.broadcast_to(x, y.shape), (k, d.operand()))


def arrangement(d):
    k = d.operand(has_axes)
    if k is None:
        return None
    axis, n = d.pick(d.values[k].ndim), d.pick(4)
    found = d.choose(
        (
            ("roll", lambda m, x: m.roll(x, n - 1, axis), f"{n - 1} {axis}"),
            ("tile", lambda m, x: m.tile(x, (n,)), str(n)),
            ("repeat", lambda m, x: m.repeat(x, n, axis), f"{n} {axis}"),
            ("pad", lambda m, x: m.pad(x, 1), ""),
            ("diff", lambda m, x: m.diff(x, axis=axis), str(axis)),
        )
    )
    return Step(found[0], found[1], (k,), found[2])


def of_matrices(d):
    k = d.operand(lambda v: v.ndim == 2)
    n = d.pick(3) - 1
    name = d.choose(("tril", "triu", "diagonal", "trace", "diag"))
    return Step(name, lambda m, x: getattr(m, name)(x, n), (k,), str(n))


def of_vectors(d):
    k = d.operand(lambda v: v.ndim == 1)
    name = d.choose(("diag", "outer"))
    if name == "outer":
        return named(name, k, d.operand(lambda v: v.ndim == 1))
    return named(name, k)


def created(d):
    k = d.operand(has_axes)
    if k is None:
        return None
    dtype = d.choose(("float64", "int64", "float32"))
    return d.choose(
        (
            Step("arange", lambda m, x: m.call(lambda v: _tg().cast(_tg().arange(v.shape[-1]), dtype), x), (k,), dtype),
            Step("eye", lambda m, x: m.call(lambda v: _tg().eye(v.shape[-1], dtype=dtype), x), (k,), dtype),
            Step("zeros", lambda m, x: m.call(lambda v: _tg().zeros(v.shape, dtype=dtype), x), (k,), dtype),
            Step("full", lambda m, x: m.call(lambda v: _tg().full(v.shape, 2, dtype=dtype), x), (k,), dtype),
            Step("length", lambda m, x: m.call(lambda v: _tg().constant(0) + v.shape[-1], x), (k,), "x.shape[-1]"),
        )
    )


def basic_index(d, value):
    bounds = (None, 0, 1, 2, -1, -2, 7, -7)
    index = []
    for n in value.shape:
        kind = d.pick(5)
        if kind == 0 and n:
            index.append(d.pick(2 * n) - n)
        elif kind < 3:
            index.append(slice(d.choose(bounds), d.choose(bounds), d.choose((None, 1, 2, -1, -2))))
        else:
            index.extend([None, slice(None)] if kind == 3 and not d.pick(3) else [slice(None)])
    return tuple(index)


def integer_index(d, value):
    axis = d.pick(value.ndim)
    n = value.shape[axis]
    shape = (d.pick(4),) if d.pick(3) else (2, d.pick(3))
    numbers = [d.pick(2 * n) - n for _ in range(math.prod(shape))] if n else []
    positions = np.array(numbers, d.choose(("int64", "int8"))).reshape(shape if n else (0,))
    return (slice(None),) * axis + (positions,)


def part(d):
    k = d.operand(has_axes)
    if k is None:
        return None
    index = (integer_index if d.pick(3) == 0 else basic_index)(d, d.values[k])
    return Step("get", lambda m, x: x[index], (k,), repr(index))


def part_at_run_time(d):
    k, i = d.operand(has_axes), d.operand(lambda v: is_integer(v) and v.ndim < 3)
    return Step("get", lambda m, x, j: x[j], (k, i), "at run time")


def part_by_mask(d):
    k = d.operand(has_axes)
    shape = d.values[k].shape if k is not None else ()
    c = d.operand(lambda v: is_bool(v) and v.ndim > 0 and v.shape == shape[: v.ndim])
    return Step("get", lambda m, x, j: x[j], (k, c), "by a mask")


def window(d):
    k, i = d.operand(has_axes), d.operand(lambda v: is_integer(v) and v.ndim == 0)
    width = d.choose((None, 1, 2))
    if i is not None and abs(int(d.values[i])) > 1000:
        return None
    return Step("get", lambda m, x, a: x[slice(a, None if width is None else a + width)], (k, i), f"+{width}")


def update(d):
    k = d.operand(has_axes)
    if k is None:
        return None
    value = d.values[k]
    index = (integer_index if d.pick(3) == 0 else basic_index)(d, value)
    ndim = value[index].ndim
    name = d.choose(("set", "increase")) if value.dtype != bool else "set"
    if d.pick(4) == 0:
        zero = value.dtype.type(0)
        return Step(name, lambda m, x: getattr(m, name)(x, index, zero), (k,), f"{index!r} 0")
    v = d.operand(lambda u: u.dtype == value.dtype and u.ndim <= ndim)
    return Step(name, lambda m, x, u: getattr(m, name)(x, index, u), (k, v), repr(index))


def update_of_zeros(d):
    k = d.operand(lambda v: has_axes(v) and v.dtype.kind in "iuf")
    if k is None:
        return None
    index = basic_index(d, d.values[k])
    return Step("increase", lambda m, x: m.increase(m.zeros_like(x), index, x[index]), (k,), f"zeros {index!r}")


def updates_in_a_row(d):
    k = d.operand(has_axes)
    if k is None:
        return None
    one, two = (basic_index(d, d.values[k]) for _ in range(2))
    first, second = (d.choose(("set", "increase")) if d.values[k].dtype != bool else "set" for _ in range(2))
    read = d.pick(2)

    def apply(m, x):
        y = getattr(m, second)(getattr(m, first)(x, one, x[one]), two, x[two])
        return y[one] if read else y

    return Step(f"{first}, {second}", apply, (k,), f"{one!r}, {two!r}{', read' * read}")


def product(d):
    pair = d.operand(lambda v: v.ndim and v.dtype != bool), d.operand(lambda v: v.ndim and v.dtype != bool)
    if d.pick(2):
        return Step("matmul", lambda m, x, y: m.matmul(x, y), pair)
    return Step("matmul", lambda m, x, y: m.matmul(x, m.swapaxes(y, -1, -2) if y.ndim > 1 else y), pair, "transposed")


def gram(d):
    k, c = d.operand(lambda v: v.ndim > 1 and is_float(v)), d.choose((1, 2.0, -1))
    return Step("gram", lambda m, x: m.matmul(c * m.swapaxes(x, -1, -2), x), (k,), str(c))


def joined(d):
    k = d.operand(has_axes)
    if k is None:
        return None
    axis, name = d.pick(d.values[k].ndim), d.choose(("concatenate", "concatenate", "stack"))
    return Step(name, lambda m, x, y: getattr(m, name)([x, y, x], axis), (k, d.operand(has_axes)), str(axis))


def conversion(d):
    dtype = d.choose(("float64", "int64", "int32", "uint8", "bool", "float32", "complex128"))
    return Step("cast", lambda m, x: m.cast(x, dtype), (d.operand(lambda v: v.dtype.kind != "c"),), dtype)


MAKERS = (
    anywhere, anywhere, somewhere, of_complex, complex_pair, of_floats, of_numbers, arithmetic, arithmetic, arithmetic,
    with_a_number, with_a_number, quotient, division, division_of_integers, formula, formula, formula, row_formula,
    row_formula, pair_formula, pair_formula, comparison, comparison, logic, bits, choice, choice, clipped, reduction,
    reduction, reduction, along_an_axis, permutation, other_shape, other_shape, arrangement, of_matrices, of_vectors,
    created, part, part, part_at_run_time, part_by_mask, window, update, update, update_of_zeros, updates_in_a_row,
    product, product, gram, joined, conversion, conversion,
)  # fmt: skip
