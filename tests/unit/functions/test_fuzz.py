"""Random programs: NumPy computes them while they are drawn; tg must agree, rewritten or not, and so must gradients.

`TG_FUZZ=20000 pytest tests/unit/functions/test_fuzz.py` runs as many.
"""

from __future__ import annotations

import math
import os
import warnings
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tg

EXAMPLES = int(os.environ.get("TG_FUZZ", "150"))
LENGTHS = (0, 1, 1, 2, 3, 4)
DTYPES = ("float64", "float64", "float64", "int64", "int8", "uint8", "bool")
SMOOTH = ("sin", "tanh", "sigmoid", "softplus", "exp", "square", "sinc")
EXACT = ("add", "subtract", "multiply", "maximum", "minimum")
COMPARISONS = ("less", "less_equal", "greater", "equal", "not_equal", "logical_and", "logical_or")
KINKS = frozenset({"maximum", "minimum", "max", "min", "clip", "cast", "absolute", "std"})
DISCRETE = frozenset({*COMPARISONS, "cast", "absolute", "argmax", "argmin", "any", "all"})
LARGEST = 1e3


class NumPy:
    """NumPy under the names of tg, with tg's declared results."""

    def __getattr__(self, name):
        return getattr(np, name)

    sigmoid = staticmethod(lambda x: np.exp(-np.logaddexp(0, -x)))
    softplus = staticmethod(lambda x: np.logaddexp(0, x))
    softmax = staticmethod(lambda x, axis: np.exp(x - np.logaddexp.reduce(x, axis, keepdims=True)))
    logsumexp = staticmethod(lambda x, axis: np.asarray(np.logaddexp.reduce(x, axis)))

    @staticmethod
    def cast(x, dtype):
        if x.dtype.kind == "f" and np.dtype(dtype).kind in "iu":
            limits = np.iinfo(dtype)
            return np.clip(np.trunc(x), limits.min, limits.max).astype(dtype)
        return x.astype(dtype)

    @staticmethod
    def get(x, index):
        return np.asarray(x[index])

    @staticmethod
    def set(x, index, value):
        y = x.copy()
        y[index] = value
        return y

    @staticmethod
    def increase(x, index, value):
        y = x.copy()
        np.add.at(y, index, np.broadcast_to(value, y[index].shape))  # NumPy misreads a value that it has to broadcast
        return y


class Symbolic:
    """tg under the same names."""

    def __getattr__(self, name):
        return getattr(tg, name)

    get = staticmethod(lambda x, index: x[index])
    set = staticmethod(lambda x, index, value: x.at[index].set(value))
    increase = staticmethod(lambda x, index, value: x.at[index].add(value))


class Step(NamedTuple):
    """One operation on earlier values: a function of the namespace and the operands."""

    name: str
    apply: object
    operands: tuple[int, ...]
    text: str = ""


class Draw:
    """The program so far: inputs, steps and NumPy's values; floats are `exact` where rounding cannot differ."""

    def __init__(self, pick):
        self.pick = pick
        self.inputs, self.steps, self.values, self.exact = [], [], [], []

    def choose(self, options):
        return options[self.pick(len(options))]

    def operand(self, test=lambda v: True, *, exact=False):
        found = [k for k, v in enumerate(self.values) if test(v) and (self.exact[k] or not exact)]
        return self.choose(found[-3:] if self.pick(2) else found) if found else None

    def add_input(self):
        dtype = self.choose(DTYPES)
        shape = tuple(self.choose(LENGTHS) for _ in range(self.pick(4)))
        numbers = [self.pick(9) for _ in range(math.prod(shape))]
        value = np.array(numbers, np.int64).reshape(shape)
        value = value % 2 == 1 if dtype == "bool" else value if dtype == "uint8" else value - 4
        value = value / 4 if dtype == "float64" else value.astype(dtype)
        self.inputs.append(tg.tensor(f"x{len(self.inputs)}", dtype, [n if self.pick(2) else None for n in shape]))
        self.values.append(value)
        self.exact.append(True)

    def add_step(self):
        step = self.choose(MAKERS)(self)
        if step is None or None in step.operands:
            return
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                value = np.asarray(step.apply(NUMPY, *(self.values[k] for k in step.operands)))
        except (ValueError, IndexError, TypeError, OverflowError):
            return
        if value.size > 300 or value.dtype.name not in ("bool", "int8", "uint8", "int64", "float64"):
            return
        if value.dtype.kind == "f" and not (np.abs(value) < LARGEST).all():
            return
        self.steps.append(step)
        self.values.append(value)
        keeps = step.name not in (*SMOOTH, "divide", "softmax", "logsumexp", "matmul", "mean", "std", "prod")
        self.exact.append(keeps and all(self.exact[k] for k in step.operands))

    def run(self, names, inputs):
        found = list(inputs)
        for step in self.steps:
            found.append(step.apply(names, *(found[k] for k in step.operands)))
        return found

    def __repr__(self):
        count = len(self.inputs)
        lines = [f"{k}: {v.type} = {self.values[k].tolist()}" for k, v in enumerate(self.inputs)]
        lines += [f"{count + k}: {s.name} {s.text} of {s.operands}" for k, s in enumerate(self.steps)]
        return "\n".join(["program", *lines])


def is_float(v):
    return v.dtype.kind == "f"


def has_axes(v):
    return v.ndim > 0


def smooth(d):
    name = d.choose(SMOOTH)
    return Step(name, lambda m, x: getattr(m, name)(x), (d.operand(is_float),))


def arithmetic(d):
    name = d.choose(EXACT)
    return Step(name, lambda m, x, y: getattr(m, name)(x, y), (d.operand(), d.operand()))


def with_a_number(d):
    number, name = d.choose((2, 0.5, -1, 0, 3.0)), d.choose(EXACT)
    return Step(name, lambda m, x: getattr(m, name)(number, x), (d.operand(),), str(number))


def quotient(d):
    return Step("divide", lambda m, x, y: m.divide(x, 1.5 + m.square(y)), (d.operand(is_float), d.operand(is_float)))


def comparison(d):
    name = d.choose(COMPARISONS)
    pair = d.operand(exact=True), d.operand(exact=True)
    return Step(name, lambda m, x, y: getattr(m, name)(x, y), pair)


def choice(d):
    operands = (d.operand(lambda v: v.dtype == bool), d.operand(), d.operand())
    return Step("where", lambda m, c, x, y: m.where(c, x, y), operands)


def reduction(d):
    name, k = d.choose(("sum", "sum", "max", "min", "prod", "mean", "std", "any", "all")), d.operand()
    value = d.values[k]
    if (name in ("any", "all") and not d.exact[k]) or (name in ("mean", "std") and not value.size):
        return None
    axes = tuple(a - value.ndim * d.pick(2) for a in range(value.ndim) if d.pick(2)) if d.pick(4) else None
    keep = bool(d.pick(2))
    if name == "std":
        return Step(name, lambda m, x: m.sqrt(0.5 + m.var(x, axis=axes, keepdims=keep)), (k,), f"{axes} {keep}")
    return Step(name, lambda m, x: getattr(m, name)(x, axis=axes, keepdims=keep), (k,), f"{axes} {keep}")


def along_an_axis(d):
    name, k = d.choose(("cumsum", "softmax", "logsumexp", "argmax", "argmin")), d.operand(has_axes)
    if k is None or (name.startswith("arg") and not d.exact[k]):
        return None
    axis = d.pick(d.values[k].ndim)
    if name in ("softmax", "logsumexp") and not (is_float(d.values[k]) and d.values[k].shape[axis]):
        return None
    return Step(name, lambda m, x: getattr(m, name)(x, axis=axis), (k,), str(axis))


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
    kind = d.pick(6)
    if kind == 0:
        return Step("reshape", lambda m, x: m.reshape(x, (-1,)), (k,), "flat")
    if kind == 1 and ndim > 1:
        return Step("reshape", lambda m, x: m.reshape(x, (x.shape[0] * x.shape[1], *x.shape[2:])), (k,), "merged")
    if kind == 2 and size:
        n = d.choose([n for n in range(1, size + 1) if size % n == 0])
        return Step("reshape", lambda m, x: m.reshape(x, (-1, n)), (k,), f"(-1, {n})")
    if kind == 3:
        axis = d.pick(ndim + 1)
        return Step("expand_dims", lambda m, x: m.expand_dims(x, axis), (k,), str(axis))
    if kind == 4 and 1 in d.values[k].shape:
        axis = d.values[k].shape.index(1)
        return Step("squeeze", lambda m, x: m.squeeze(x, axis), (k,), str(axis))
    return Step("broadcast_to", lambda m, x, y: m.broadcast_to(x, y.shape), (k, d.operand()))


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
    return Step("get", lambda m, x: m.get(x, index), (k,), repr(index))


def part_at_run_time(d):
    k, i = d.operand(has_axes), d.operand(lambda v: v.dtype.kind in "iu" and v.ndim < 3)
    return Step("get", lambda m, x, j: m.get(x, j), (k, i), "at run time")


def window(d):
    k, i = d.operand(has_axes), d.operand(lambda v: v.dtype.kind in "iu" and v.ndim == 0)
    width = d.choose((None, 1, 2))
    return Step("get", lambda m, x, a: m.get(x, slice(a, None if width is None else a + width)), (k, i), f"+{width}")


def update(d):
    k = d.operand(has_axes)
    if k is None:
        return None
    value = d.values[k]
    index = (integer_index if d.pick(2) else basic_index)(d, value)
    ndim = value[index].ndim
    name = d.choose(("set", "increase")) if value.dtype != bool else "set"
    v = d.operand(lambda u: u.dtype == value.dtype and u.ndim <= ndim)
    return Step(name, lambda m, x, u: getattr(m, name)(x, index, u), (k, v), repr(index))


def product(d):
    pair = d.operand(lambda v: v.ndim and v.dtype != bool), d.operand(lambda v: v.ndim and v.dtype != bool)
    if d.pick(2):
        return Step("matmul", lambda m, x, y: m.matmul(x, y), pair)
    return Step("matmul", lambda m, x, y: m.matmul(x, m.swapaxes(y, -1, -2) if y.ndim > 1 else y), pair, "transposed")


def joined(d):
    k = d.operand(has_axes)
    if k is None:
        return None
    axis, name = d.pick(d.values[k].ndim), d.choose(("concatenate", "stack"))
    return Step(name, lambda m, x, y: getattr(m, name)([x, y, x], axis), (k, d.operand(has_axes)), str(axis))


def conversion(d):
    dtype = d.choose(("float64", "int64", "int8", "uint8", "bool"))
    return Step("cast", lambda m, x: m.cast(x, dtype), (d.operand(exact=True),), dtype)


def magnitude(d):
    return Step("absolute", lambda m, x: m.absolute(x), (d.operand(exact=True),))


NUMPY, TG = NumPy(), Symbolic()
MAKERS = (
    smooth, arithmetic, arithmetic, with_a_number, quotient, comparison, choice, reduction, reduction, along_an_axis,
    permutation, other_shape, part, part, part_at_run_time, window, update, product, joined, conversion, magnitude,
)  # fmt: skip


def drawn(pick):
    program = Draw(pick)
    for _ in range(1 + pick(3)):
        program.add_input()
    for _ in range(1 + pick(12)):
        program.add_step()
    return program


def same(got, want, scale, what):
    assert (got.dtype, got.shape) == (want.dtype, want.shape), what
    if is_float(want):
        np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-8 * scale, err_msg=what)
    else:
        np.testing.assert_array_equal(got, want, err_msg=what)


def has_a_computed_one(symbols, program):
    """Whether a length that is computed is 1: it does not broadcast, and what NumPy computes may be refused."""
    pairs = zip(symbols, program.values, strict=True)
    return any((n, m) == (None, 1) for s, v in pairs if s.apply for n, m in zip(s.type.shape, v.shape, strict=True))


def slope(program, place, inputs, direction):
    """The derivative of sum(tanh(value)) along a direction by central differences; None where they do not settle."""

    def cost(h):
        with np.errstate(all="ignore"):
            moved = [v + h * d if d is not None else v for v, d in zip(inputs, direction, strict=True)]
            return float(np.sum(np.tanh(program.run(NUMPY, moved)[place])))

    wide, narrow = ((cost(h) - cost(-h)) / (2 * h) for h in (1e-4, 1e-5))
    return narrow if abs(wide - narrow) < 1e-4 * (0.01 + abs(narrow)) else None


@settings(max_examples=EXAMPLES, deadline=None, derandomize="TG_FUZZ" not in os.environ,
          suppress_health_check=list(HealthCheck))  # fmt: skip
@given(st.randoms(use_true_random=False))
def test_random_programs_agree_with_numpy_rewritten_or_not(random):
    program = drawn(lambda n: random.randrange(n))
    inputs = program.values[: len(program.inputs)]
    symbols = program.run(TG, program.inputs)
    for symbol, value in zip(symbols, program.values, strict=True):
        assert (symbol.dtype, symbol.ndim) == (value.dtype.name, value.ndim), program
        assert all(n in (None, m) for n, m in zip(symbol.type.shape, value.shape, strict=True)), program
    outputs = list(symbols)
    floats = [k for k, s in enumerate(symbols) if s.dtype == "float64"]
    wanted = [k for k in floats if k < len(inputs)]
    if floats and wanted:
        outputs += tg.grad(tg.sum(tg.tanh(symbols[floats[-1]])), [symbols[k] for k in wanted], disconnected="zero")
    results = []
    for mode in ("off", "default"):
        try:
            results.append(tg.function(program.inputs, outputs, backend="perform", mode=mode)(*inputs))
        except tg.ShapeError as error:
            if has_a_computed_one(symbols, program):
                return
            error.add_note(repr(program))
            raise
    scale = max([1.0, *(float(np.abs(v).max(initial=0)) for v in program.values if is_float(v))])
    for found in results:
        for got, want in zip(found, program.values, strict=False):
            same(got, want, scale, repr(program))
    count = len(program.values)
    largest = max([1.0, *(float(np.abs(g).max(initial=0)) for g in results[0][count:])])
    for plain, rewritten in zip(*(found[count:] for found in results), strict=True):
        same(rewritten, plain, largest * scale, f"gradients of {program!r}")
    if wanted and not any(step.name in KINKS or step.name in DISCRETE for step in program.steps):
        rng = np.random.default_rng(0)
        direction = [rng.normal(size=v.shape) if k in wanted else None for k, v in enumerate(inputs)]
        expected = slope(program, floats[-1], inputs, direction)
        if expected is not None:
            mine = sum(float(np.sum(g * direction[k])) for g, k in zip(results[0][count:], wanted, strict=True))
            assert mine == pytest.approx(expected, rel=1e-3, abs=1e-5), program
