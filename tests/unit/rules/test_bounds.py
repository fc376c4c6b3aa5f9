"""Bounds of integers, order of lengths and evenly spaced positions: against NumPy, and as narrow as can be."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tg
from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.graph.nodes import Constant, size_value
from tg.ops.indexing import Nonzero, WrapIndex
from tg.ops.reduction import Reduce
from tg.ops.shape import AxisLength
from tg.rules.indexing.bounds import (
    LARGE,
    VERY_MANY,
    at_most,
    checked_value,
    interval,
    is_unique,
    steps_of,
)
from tg.types import lengths, substitution
from tg.types.atoms import AxisLength as AxisAtom

TOP = np.iinfo(np.int64).max
HOSTILE = (0, 1, -1, 2, 3, 5, 7, -2, -8, 127, -128, 255, 300, 2**31, -(2**31), TOP, -TOP, -TOP - 1, 2**53, 2**62)


def const(*values, dtype="int64"):
    return Constant(np.array(values, dtype))


def scalar(value, dtype="int64"):
    return Constant(np.array(value, dtype))


def chain(i, count):
    """Absolute bounds below so many casts that change nothing."""
    v = tg.clip(i, 0, 3)
    for _ in range(count):
        v = v[None]
    return v


INT = (None, None)  # nothing is known of int64
BOUNDS = [  # of a vector i of int64 and b of bool, f of float64
    (lambda i, b, f: i, INT),
    (lambda i, b, f: b, (0, 1)),
    (lambda i, b, f: f, INT),
    (lambda i, b, f: const(3, -2, 5), (-2, 5)),
    (lambda i, b, f: const(), (0, -1)),
    (lambda i, b, f: const(1 - LARGE, LARGE - 1), (1 - LARGE, LARGE - 1)),
    (lambda i, b, f: const(1, LARGE), INT),
    (lambda i, b, f: const(1, -LARGE), INT),
    (lambda i, b, f: tg.cast(i, "int8"), (-128, 127)),
    (lambda i, b, f: tg.cast(i, "uint32"), (0, 2**32 - 1)),
    (lambda i, b, f: tg.cast(i, "uint64"), INT),
    (lambda i, b, f: i % 7 + 3, (3, 9)),
    (lambda i, b, f: i % 7 + i % 3, (0, 8)),
    (lambda i, b, f: 3 - i % 7, (-3, 3)),
    (lambda i, b, f: i % 7 - i % 3, (-2, 6)),
    (lambda i, b, f: i % 7 - i, INT),
    (lambda i, b, f: i + i % 7, INT),
    (lambda i, b, f: (i % 7) * (i % 3), (0, 12)),
    (lambda i, b, f: (i % 7 + 1) * (i % 3 + 2), (2, 28)),
    (lambda i, b, f: (i % 7 - 2) * 3, (-6, 12)),
    (lambda i, b, f: (i % 7 - 2) * -3, (-12, 6)),
    (lambda i, b, f: -2 * (i % 7 - 2), (-8, 4)),
    (lambda i, b, f: (i % 7 - 2) * 0, (0, 0)),
    (lambda i, b, f: (i % 7 - 2) * 1, (-2, 4)),
    (lambda i, b, f: (i % 7 - 2) * (i % 3), INT),
    (lambda i, b, f: (i % 3) * (i % 7 - 2), INT),
    (lambda i, b, f: (i % 7) * (2 - i % 3), (0, 12)),
    (lambda i, b, f: (i % 7) // 2, (0, 3)),
    (lambda i, b, f: (i % 7 - 5) // 2, (-3, 0)),
    (lambda i, b, f: (i % 7) // 1, (0, 6)),
    (lambda i, b, f: (i % 7) // -2, INT),
    (lambda i, b, f: (i % 7) // 0, (0, 0)),
    (lambda i, b, f: (i % 7) // (i % 3 + 1), INT),
    (lambda i, b, f: -(i % 7 + 1), (-7, -1)),
    (lambda i, b, f: -i, INT),
    (lambda i, b, f: tg.clip(i, -2, 4), (-2, 4)),
    (lambda i, b, f: tg.clip(i, i % 4, 9), (0, 9)),
    (lambda i, b, f: tg.clip(i, 5, i % 4), (0, 3)),
    (lambda i, b, f: tg.clip(i, i, 4), INT),
    (lambda i, b, f: tg.clip(i, 4, i), INT),
    (lambda i, b, f: tg.minimum(i, 4), (None, 4)),
    (lambda i, b, f: tg.minimum(4, i), (None, 4)),
    (lambda i, b, f: tg.minimum(i % 7 + 2, i % 3 + 4), (2, 6)),
    (lambda i, b, f: tg.minimum(i % 7 + 4, i % 3 + 2), (2, 4)),
    (lambda i, b, f: tg.minimum(i, -4), (None, -4)),
    (lambda i, b, f: tg.minimum(-4, i), (None, -4)),
    (lambda i, b, f: tg.maximum(i, -4), (-4, None)),
    (lambda i, b, f: tg.maximum(-4, i), (-4, None)),
    (lambda i, b, f: tg.maximum(i, 4), (4, None)),
    (lambda i, b, f: tg.maximum(4, i), (4, None)),
    (lambda i, b, f: tg.maximum(i % 7 + 2, i % 3 + 4), (4, 8)),
    (lambda i, b, f: tg.maximum(i % 7 + 4, i % 3 + 2), (4, 10)),
    (lambda i, b, f: tg.maximum(i, 4) + 1, INT),
    (lambda i, b, f: -tg.maximum(i, 4), INT),
    (lambda i, b, f: i % tg.minimum(i, 4), INT),
    (lambda i, b, f: i % tg.maximum(i, 4), INT),
    (lambda i, b, f: i % (i % 3), INT),
    (lambda i, b, f: i % (i % 3 + 1), (0, 2)),
    (lambda i, b, f: i % -3, INT),
    (lambda i, b, f: i % 1, (0, 0)),
    (lambda i, b, f: tg.where(b, i % 3, 5), (0, 5)),
    (lambda i, b, f: tg.where(b, i, 5), INT),
    (lambda i, b, f: tg.where(b, 5, i), INT),
    (lambda i, b, f: tg.cast(b, "int64") * 3 - 1, (-1, 2)),
    (lambda i, b, f: tg.cast(f, "int64"), INT),
    (lambda i, b, f: tg.cast(i % 7, "int32"), (0, 6)),
    (lambda i, b, f: tg.cast(i % 2**32, "int32"), (-(2**31), 2**31 - 1)),
    (lambda i, b, f: tg.cast(tg.minimum(i, 4), "int32"), (-(2**31), 2**31 - 1)),
    (lambda i, b, f: tg.cast(tg.maximum(i, 4), "int32"), (-(2**31), 2**31 - 1)),
    (lambda i, b, f: tg.cast(tg.minimum(i, 4), "uint64"), INT),
    (lambda i, b, f: tg.cast(tg.maximum(tg.cast(i, "uint64"), scalar(4, "uint64")), "int64"), INT),
    (lambda i, b, f: tg.cast(tg.cast(i, "int8"), "int16"), (-128, 127)),
    (lambda i, b, f: tg.cast(tg.cast(i, "uint8"), "int16"), (0, 255)),
    (lambda i, b, f: tg.cast(tg.cast(i, "int8"), "uint8"), (0, 255)),
    (lambda i, b, f: tg.cast(tg.cast(i, "uint8"), "int8"), (-128, 127)),
    (lambda i, b, f: tg.cast(tg.cast(i, "int8"), "int64") + 1, (-127, 128)),
    (lambda i, b, f: tg.cast(i, "int8") + scalar(1, "int8"), (-128, 127)),
    (lambda i, b, f: tg.cast(i, "uint8") % scalar(5, "uint8") + scalar(1, "uint8"), (1, 5)),
    (lambda i, b, f: tg.cast(i, "uint8") % scalar(5, "uint8") + scalar(252, "uint8"), (0, 255)),
    (lambda i, b, f: tg.cast(i, "uint8") % scalar(5, "uint8") + scalar(251, "uint8"), (251, 255)),
    (lambda i, b, f: tg.cast(i, "uint8") % scalar(5, "uint8") - scalar(1, "uint8"), (0, 255)),
    (lambda i, b, f: tg.arange(4), (0, 3)),
    (lambda i, b, f: tg.argsort(i), (0, 3)),
    (lambda i, b, f: tg.argsort(i[None]), (0, 3)),
    (lambda i, b, f: tg.argsort(i[None], axis=0), (0, 0)),
    (lambda i, b, f: tg.argmax(i), (0, 3)),
    (lambda i, b, f: tg.argmin(tg.broadcast_to(i, (6, 4)), axis=0), (0, 5)),
    (lambda i, b, f: Nonzero()(b), (0, 3)),
    (lambda i, b, f: tg.searchsorted(tg.sort(i), i), (0, 4)),
    (lambda i, b, f: WrapIndex("raise")(i % 6, scalar(6)), (0, 5)),
    (lambda i, b, f: WrapIndex("promise")(i, scalar(6)), (0, 5)),
    (lambda i, b, f: tg.max(i % 7), (0, 6)),
    (lambda i, b, f: tg.min(i % 7), (0, 6)),
    (lambda i, b, f: tg.sum(i % 7), INT),
    (lambda i, b, f: Reduce(tg.maximum, (-1,), total=True)(i % 7), (None, 6)),
    (lambda i, b, f: Reduce(tg.minimum, (-1,), total=True)(i % 7), (0, None)),
    (lambda i, b, f: tg.concatenate([i % 3, i % 7 - 1]), (-1, 5)),
    (lambda i, b, f: tg.concatenate([i % 7 - 1, i % 3]), (-1, 5)),
    (lambda i, b, f: tg.concatenate([i % 3, i]), INT),
    (lambda i, b, f: tg.concatenate([i, i % 3]), INT),
    (lambda i, b, f: tg.concatenate([i % 3, i % 3, i % 3, i % 9]), (0, 8)),
    (lambda i, b, f: tg.broadcast_to(i % 3, (2, 4)), (0, 2)),
    (lambda i, b, f: tg.reshape(i % 3, (2, 2)), (0, 2)),
    (lambda i, b, f: (i % 3)[None], (0, 2)),
    (lambda i, b, f: tg.squeeze((i % 3)[None], 0), (0, 2)),
    (lambda i, b, f: tg.swapaxes(tg.reshape(i % 3, (2, 2)), 0, 1), (0, 2)),
    (lambda i, b, f: (i % 3)[1:], (0, 2)),
    (lambda i, b, f: tg.absolute(i), INT),
    (lambda i, b, f: chain(i, 3), (0, 3)),
]


def computed(inputs, v, arrays):
    (found,) = interpret(FunctionGraph.of(inputs, [v]).freeze(), arrays)
    return found


@pytest.mark.parametrize("number", range(len(BOUNDS)))
def test_elements_lie_between_the_bounds_that_are_said(number):
    make, wanted = BOUNDS[number]
    i, b, f = (tg.tensor(n, shape=(4,), dtype=d) for n, d in (("i", "int64"), ("b", "bool"), ("f", "float64")))
    v = make(i, b, f)
    low, high = interval(v)
    assert (low, high) == wanted
    rng = np.random.default_rng(number)
    for _ in range(3):
        arrays = [rng.choice(HOSTILE, 4), rng.choice([True, False], 4), rng.choice([-1.5, 0.0, 3.7], 4)]
        found = np.asarray(computed([i, b, f], v, arrays))
        if found.dtype.kind != "f":
            assert low is None or not found.size or int(found.min()) >= low
            assert high is None or not found.size or int(found.max()) <= high


def n_of(x):
    return AxisLength(-1)(x)


def plus(a, b):
    return lengths.add(a, b)


def times(k, a):
    return lengths.multiply(k, a)


def repeated(v):
    return tg.broadcast_to(v, (4,))


OF_LENGTHS = [  # of a vector of n and a matrix of p by m
    (lambda x, y: n_of(x), lambda n, p, m: (n, n)),
    (lambda x, y: n_of(x) + 2, lambda n, p, m: (plus(n, 2), plus(n, 2))),
    (lambda x, y: n_of(x) * 3 - 1, lambda n, p, m: (plus(times(3, n), -1), plus(times(3, n), -1))),
    (lambda x, y: tg.minimum(n_of(x), 4), lambda n, p, m: (lengths.minimum(n, 4), lengths.minimum(n, 4))),
    (lambda x, y: tg.minimum(n_of(x) * LARGE, 4), lambda n, p, m: (None, 4)),
    (lambda x, y: n_of(x) * 2**14, lambda n, p, m: (times(2**14, n), times(2**14, n))),
    (lambda x, y: n_of(x) * (2**15 - 1), lambda n, p, m: (times(2**15 - 1, n), times(2**15 - 1, n))),
    (lambda x, y: n_of(x) * 2**15, lambda n, p, m: INT),
    (lambda x, y: n_of(x) * -(2**15), lambda n, p, m: INT),
    (lambda x, y: tg.arange(x.shape[0]) * 2**14 * 2, lambda n, p, m: INT),
    (lambda x, y: tg.arange(x.shape[0]) * -(2**14) * 2, lambda n, p, m: INT),
    (lambda x, y: tg.arange(x.shape[0]), lambda n, p, m: (0, plus(n, -1))),
    (lambda x, y: tg.arange(x.shape[0]) + n_of(x), lambda n, p, m: (n, plus(times(2, n), -1))),
    (lambda x, y: n_of(x) - tg.arange(x.shape[0]), lambda n, p, m: (1, n)),
    (lambda x, y: tg.arange(x.shape[0]) * 2, lambda n, p, m: (0, plus(times(2, n), -2))),
    (lambda x, y: tg.arange(x.shape[0]) * -2, lambda n, p, m: (plus(2, times(-2, n)), 0)),
    (lambda x, y: (tg.arange(x.shape[0]) - 1) * n_of(y), lambda n, p, m: INT),
    (lambda x, y: tg.arange(x.shape[0]) * n_of(y), lambda n, p, m: INT),  # 2 ** 32 each
    (lambda x, y: tg.arange(y.shape[0]) * n_of(y), lambda n, p, m: (0, plus(times(p, m), times(-1, m)))),
    (lambda x, y: (tg.arange(y.shape[0]) + 1) * n_of(y), lambda n, p, m: (m, times(p, m))),
    (lambda x, y: tg.argsort(x), lambda n, p, m: (0, plus(n, -1))),
    (lambda x, y: tg.argmax(y, axis=0), lambda n, p, m: (0, plus(p, -1))),
    (lambda x, y: tg.argmax(y, axis=1), lambda n, p, m: (0, plus(m, -1))),
    (lambda x, y: tg.searchsorted(x, x), lambda n, p, m: (0, n)),
    (lambda x, y: WrapIndex("clip")(const(1, 2), n_of(x)), lambda n, p, m: (0, plus(n, -1))),
    (lambda x, y: WrapIndex("promise")(const(1, 2), n_of(x)), lambda n, p, m: INT),
    (lambda x, y: WrapIndex("promise")(const(1, 2), n_of(x) + 1), lambda n, p, m: (0, n)),
    (lambda x, y: const(5, 6) % n_of(x), lambda n, p, m: INT),
    (lambda x, y: const(5, 6) % (n_of(x) + 1), lambda n, p, m: (0, n)),
    (lambda x, y: tg.maximum(tg.arange(x.shape[0]), 2), lambda n, p, m: (2, lengths.maximum(plus(n, -1), 2))),
    (lambda x, y: tg.minimum(tg.arange(x.shape[0]), 2), lambda n, p, m: (0, lengths.minimum(plus(n, -1), 2))),
    (lambda x, y: tg.arange(x.shape[0]) // 2, lambda n, p, m: (0, lengths.floor_divide(plus(n, -1), 2))),
    (lambda x, y: tg.cast(tg.arange(x.shape[0]), "int32"), lambda n, p, m: (-(2**31), 2**31 - 1)),
    (lambda x, y: repeated(n_of(x)) // repeated(n_of(y)), lambda n, p, m: INT),
    (lambda x, y: repeated(n_of(x) - 3) * repeated(n_of(y) - 3), lambda n, p, m: INT),
]


@pytest.mark.parametrize("number", range(len(OF_LENGTHS)))
def test_positions_lie_between_lengths(number):
    make, wanted = OF_LENGTHS[number]
    x, y = tg.vector("x"), tg.matrix("y")
    v = make(x, y)
    found = interval(v)
    for bound, expected in zip(found, wanted(x.shape[0], *y.shape), strict=True):
        assert (bound is None) == (expected is None), found
        assert bound is None or lengths.same(bound, expected), found
    for n, p, m in itertools.product((1, 2, 5), repeat=3):
        values = np.asarray(computed([x, y], v, [np.arange(float(n)), np.zeros((p, m))]))
        low, high = (at(bound, {(x, -1): n, (y, -2): p, (y, -1): m}) for bound in found)
        assert low is None or low <= values.min()
        assert high is None or high >= values.max()


def at(length, known):
    """A length for lengths of axes that are known."""
    by_owner = {(id(v), axis): n for (v, axis), n in known.items()}

    def value_of(atom):
        return by_owner.get((id(atom.owner), atom.axis)) if type(atom) is AxisAtom else None

    return None if length is None else substitution.evaluate(length, value_of)


# the order of lengths

half = lengths.floor_divide
ORDERS = [  # of lengths n and m, a scalar k in [2, 5], one of which nothing is known, and what a check makes sure of
    (lambda n, m, k, u, c: (0, n), True),
    (lambda n, m, k, u, c: (1, n), False),
    (lambda n, m, k, u, c: (n, n), True),
    (lambda n, m, k, u, c: (n, plus(n, 1)), True),
    (lambda n, m, k, u, c: (plus(n, 1), n), False),
    (lambda n, m, k, u, c: (n, plus(n, m)), True),
    (lambda n, m, k, u, c: (n, m), False),
    (lambda n, m, k, u, c: (0, times(n, m)), True),
    (lambda n, m, k, u, c: (times(2, n), times(3, n)), True),
    (lambda n, m, k, u, c: (times(3, n), times(2, n)), False),
    (lambda n, m, k, u, c: (2, k), True),
    (lambda n, m, k, u, c: (3, k), False),
    (lambda n, m, k, u, c: (k, 5), True),
    (lambda n, m, k, u, c: (k, 4), False),
    (lambda n, m, k, u, c: (4, times(2, k)), True),
    (lambda n, m, k, u, c: (times(2, k), 10), True),
    (lambda n, m, k, u, c: (times(2, k), 9), False),
    (lambda n, m, k, u, c: (k, plus(n, 5)), True),
    (lambda n, m, k, u, c: (plus(k, n), plus(n, 5)), True),
    (lambda n, m, k, u, c: (0, u), False),
    (lambda n, m, k, u, c: (u, 0), False),
    (lambda n, m, k, u, c: (u, plus(u, 1)), True),
    (lambda n, m, k, u, c: (times(u, n), 0), False),
    (lambda n, m, k, u, c: (c, plus(n, -1)), True),
    (lambda n, m, k, u, c: (plus(n, -2), c), True),
    (lambda n, m, k, u, c: (plus(n, -1), c), False),
    (lambda n, m, k, u, c: (c, plus(n, -3)), False),
    (lambda n, m, k, u, c: (lengths.minimum(n, 3), n), True),
    (lambda n, m, k, u, c: (lengths.minimum(n, 3), 3), True),
    (lambda n, m, k, u, c: (lengths.minimum(n, m), plus(n, m)), True),
    (lambda n, m, k, u, c: (n, lengths.minimum(n, 3)), False),
    (lambda n, m, k, u, c: (0, lengths.minimum(n, m)), True),
    (lambda n, m, k, u, c: (0, lengths.minimum(k, m)), True),
    (lambda n, m, k, u, c: (0, lengths.minimum(u, m)), False),
    (lambda n, m, k, u, c: (lengths.minimum(u, k), 5), True),
    (lambda n, m, k, u, c: (2, lengths.minimum(plus(m, 2), k)), True),
    (lambda n, m, k, u, c: (3, lengths.minimum(plus(m, 2), k)), False),
    (lambda n, m, k, u, c: (lengths.maximum(n, m), plus(n, m)), True),
    (lambda n, m, k, u, c: (lengths.maximum(n, k), plus(n, 5)), True),
    (lambda n, m, k, u, c: (lengths.maximum(n, k), plus(n, 4)), False),
    (lambda n, m, k, u, c: (lengths.maximum(n, m), n), False),
    (lambda n, m, k, u, c: (2, lengths.maximum(u, k)), True),
    (lambda n, m, k, u, c: (n, lengths.maximum(u, n)), True),
    (lambda n, m, k, u, c: (plus(n, -4), lengths.maximum(plus(n, -4), 0)), True),
    (lambda n, m, k, u, c: (times(2, lengths.minimum(n, m)), plus(n, m)), False),
    (lambda n, m, k, u, c: (times(2, half(n, 2)), n), True),
    (lambda n, m, k, u, c: (plus(half(n, m), 1), n), False),
    (lambda n, m, k, u, c: (times(2, half(u, plus(m, 1))), u), False),
    (lambda n, m, k, u, c: (n, plus(times(2, half(n, 2)), 1)), True),
    (lambda n, m, k, u, c: (n, times(2, half(n, 2))), False),
    (lambda n, m, k, u, c: (times(4, half(n, 2)), times(2, n)), True),
    (lambda n, m, k, u, c: (times(2, n), plus(times(4, half(n, 2)), 2)), True),
    (lambda n, m, k, u, c: (times(2, n), plus(times(4, half(n, 2)), 1)), False),
    (lambda n, m, k, u, c: (times(3, half(plus(n, 1), 3)), plus(n, 1)), True),
    (lambda n, m, k, u, c: (times(3, half(plus(n, 1), 3)), n), False),
    (lambda n, m, k, u, c: (half(n, 2), n), True),
    (lambda n, m, k, u, c: (0, half(n, 2)), True),
    (lambda n, m, k, u, c: (0, half(u, 2)), False),
    (lambda n, m, k, u, c: (times(2, half(k, 2)), 5), True),
    (lambda n, m, k, u, c: (0, lengths.remainder(u, 3)), True),
    (lambda n, m, k, u, c: (lengths.remainder(n, 3), 2), True),
    (lambda n, m, k, u, c: (lengths.remainder(n, 3), 1), False),
    (lambda n, m, k, u, c: (times(2, lengths.remainder(n, 3)), 4), True),
    (lambda n, m, k, u, c: (times(2, lengths.remainder(n, 3)), 3), False),
    (lambda n, m, k, u, c: (1, lengths.remainder(n, 3)), False),
    (lambda n, m, k, u, c: (0, lengths.remainder(u, 3)), True),
    (lambda n, m, k, u, c: (1, lengths.remainder(u, 3)), False),
    (lambda n, m, k, u, c: (lengths.remainder(u, 3), 2), True),
    (lambda n, m, k, u, c: (lengths.remainder(u, 3), 1), False),
    (lambda n, m, k, u, c: (0, lengths.remainder(u, -3)), False),
    (lambda n, m, k, u, c: (plus(1, lengths.remainder(u, 0)), 0), False),
    (lambda n, m, k, u, c: (times(-2, half(u, -2)), u), False),
    (lambda n, m, k, u, c: (half(u, 0), plus(u, 7)), False),
    (lambda n, m, k, u, c: (plus(u, -2), times(3, lengths.remainder(u, 3))), False),
    (lambda n, m, k, u, c: (lengths.remainder(n, k), 5), False),
]


@pytest.mark.parametrize("number", range(len(ORDERS)))
def test_an_order_of_lengths_that_is_shown_holds(number):
    make, wanted = ORDERS[number]
    x, y, i = tg.vector("x"), tg.vector("y"), tg.tensor("i", shape=(), dtype="int64")
    n, m = x.shape[0], y.shape[0]
    k, c = tg.clip(i, 2, 5), WrapIndex("raise")(scalar(-2), n_of(x))
    a, b = make(n, m, *map(size_value, (k, i, c)))
    assert at_most(a, b) is wanted
    if wanted:
        for first, second, free in itertools.product(range(2, 7), range(7), (-(2**40), -7, 0, 2, 5, 9)):
            known = ((x, first), (y, second), (k, min(max(free, 2), 5)), (i, free), (c, first - 2))
            value_of = owned_by({id(v): value for v, value in known})
            assert substitution.evaluate(a, value_of) <= substitution.evaluate(b, value_of)


def owned_by(known):
    return lambda atom: known.get(id(getattr(atom, "owner", None)))


def test_numbers_are_in_order_as_they_are():
    assert [at_most(a, b) for a, b in ((1, 2), (2, 2), (3, 2))] == [True, True, False]


CHECKED = [
    (lambda n: WrapIndex("raise")(scalar(0), n), lambda n: 0),
    (lambda n: WrapIndex("raise")(scalar(3), n), lambda n: 3),
    (lambda n: WrapIndex("raise")(const(3), n), lambda n: 3),
    (lambda n: WrapIndex("raise")(scalar(-1), n), lambda n: plus(n, -1)),
    (lambda n: WrapIndex("raise")(scalar(-4, "int8"), n), lambda n: plus(n, -4)),
    (lambda n: WrapIndex("clip")(scalar(3), n), None),
    (lambda n: WrapIndex("promise")(scalar(3), n), None),
    (lambda n: WrapIndex("raise")(const(3, 4), n), None),
    (lambda n: WrapIndex("raise")(tg.tensor("i", shape=(), dtype="int64"), n), None),
    (lambda n: tg.clip(scalar(3), 0, n), None),
    (lambda n: tg.tensor("i", shape=(), dtype="int64"), None),
]


@pytest.mark.parametrize("number", range(len(CHECKED)))
def test_a_checked_index_is_where_it_is_counted_from(number):
    make, wanted = CHECKED[number]
    x = tg.vector("x")
    found = checked_value(make(n_of(x)))
    assert (found is None) == (wanted is None)
    assert wanted is None or lengths.same(found, wanted(x.shape[0]))


# evenly spaced positions

STEPS = [  # of a vector of n, a scalar k of int64 and one of int32
    (lambda x, k, w: tg.arange(5), (0, 5, 1)),
    (lambda x, k, w: tg.arange(x.shape[0]), ("n", "n")),
    (lambda x, k, w: tg.arange(5) + 3, (3, 5, 1)),
    (lambda x, k, w: 3 + tg.arange(5), (3, 5, 1)),
    (lambda x, k, w: tg.arange(5) - 3, (-3, 5, 1)),
    (lambda x, k, w: 3 - tg.arange(5), (3, 5, -1)),
    (lambda x, k, w: -tg.arange(5), (0, 5, -1)),
    (lambda x, k, w: -(tg.arange(5) + 2), (-2, 5, -1)),
    (lambda x, k, w: tg.arange(5) * 3, (0, 5, 3)),
    (lambda x, k, w: -2 * (tg.arange(5) + 1), (-2, 5, -2)),
    (lambda x, k, w: (tg.arange(5) * 2 + 1) * -3, (-3, 5, -6)),
    (lambda x, k, w: tg.arange(5) * 0, None),
    (lambda x, k, w: tg.arange(5) * k, None),
    (lambda x, k, w: tg.arange(5) * tg.arange(5), None),
    (lambda x, k, w: tg.arange(5) + tg.arange(5), None),
    (lambda x, k, w: tg.arange(5) // 2, None),
    (lambda x, k, w: tg.arange(5) * LARGE, None),
    (lambda x, k, w: tg.arange(5) * -LARGE, None),
    (lambda x, k, w: tg.arange(5) * (LARGE - 1), (0, 5, LARGE - 1)),
    (lambda x, k, w: tg.arange(5) * (LARGE // 2) * 2, None),
    (lambda x, k, w: tg.cast(tg.arange(5), "int32"), None),
    (lambda x, k, w: tg.arange(5)[:, None], None),
    (lambda x, k, w: const(2, 5, 8), (2, 3, 3)),
    (lambda x, k, w: const(8, 5, 2) + 1, (9, 3, -3)),
    (lambda x, k, w: const(2, 5, 9), None),
    (lambda x, k, w: const(2, 2), None),
    (lambda x, k, w: const(2, 2, 2), None),
    (lambda x, k, w: const(2, 4), (2, 2, 2)),
    (lambda x, k, w: const(4), (4, 1, 1)),
    (lambda x, k, w: const(0, 1, 3, 4), None),
    (lambda x, k, w: const(0, 1, 2, 4), None),
    (lambda x, k, w: const(), None),
    (lambda x, k, w: const(2, 5, dtype="int32"), None),
    (lambda x, k, w: const(2, 5) + const(1), (3, 2, 3)),
    (lambda x, k, w: const(2) + const(1, 5), (3, 2, 4)),
    (lambda x, k, w: x, None),
    (lambda x, k, w: tg.argsort(x), None),
]


@pytest.mark.parametrize("number", range(len(STEPS)))
def test_vectors_that_are_evenly_spaced(number):
    make, wanted = STEPS[number]
    x, k, w = tg.vector("x"), tg.tensor("k", shape=(), dtype="int64"), tg.tensor("w", shape=(), dtype="int32")
    v = make(x, k, w)
    found = steps_of(v)
    if wanted is None:
        assert found is None
    elif "n" in wanted:
        assert lengths.same(found.size, x.shape[0])
        assert (found.start, found.step) == (0, 1)
    else:
        assert found == wanted
        values = computed([x, k, w], v, [np.zeros(3), np.int64(4), np.int32(4)])
        np.testing.assert_array_equal(values, found.start + found.step * np.arange(found.size))


def test_steps_move_by_scalars_that_are_not_known():
    k = tg.tensor("k", shape=(), dtype="int64")
    start = size_value(k)
    for v, wanted in (
        (tg.arange(5) + k, (start, 1)),
        (k + tg.arange(5), (start, 1)),
        (tg.arange(5) * 2 - k, (times(-1, start), 2)),
        (k - tg.arange(5), (start, -1)),
        ((tg.arange(5) + k) * 2, (times(2, start), 2)),
    ):
        found = steps_of(v)
        assert lengths.same(found.start, wanted[0])
        assert (found.size, found.step) == (5, wanted[1])
    assert steps_of(tg.arange(5) * k) is None
    assert steps_of(tg.arange(1) + tg.tensor("i", shape=(3,), dtype="int64")) is None
    assert steps_of(tg.arange(5) + tg.tensor("i", shape=(1,), dtype="int64")) is None


def test_a_long_chain_is_followed_a_few_steps():
    v = tg.arange(5)
    for _ in range(3000):
        v = tg.maximum(v + 1, 0)
    assert interval(v) == (0, None)
    for _ in range(3000):
        v = v + 1
    assert steps_of(v) is None


UNIQUE = [
    ((tg.tensor("i", shape=(None,), dtype="int64"), tg.tensor("j", shape=(1,), dtype="int64")), True),
    ((tg.tensor("i", shape=(1, 2), dtype="int64"),), False),
    ((const(3),), True),
    ((const(3), const(3)), True),
    ((scalar(3),), True),
    ((tg.arange(5) * 2,), True),
    ((tg.arange(5) * 2, const(1, 1, 1, 1, 1)), True),
    ((const(1, 1, 1, 1, 1), tg.arange(5)), True),
    ((const(3, 1, 2),), True),
    ((), True),
    ((const(3, 1, 3),), False),
    ((const(3, 1, 3), const(0, 0, 1)), True),
    ((const(3, 1, 3), const(1, 0, 1)), False),
    ((Constant(np.array([[3, 1], [2, 0]])),), True),
    ((Constant(np.array([[3, 1], [3, 0]])),), False),
    ((Constant(np.array([[3, 3]])),), False),
    ((tg.tensor("i", shape=(3,), dtype="int64"),), False),
    ((const(3, 1, 2), tg.tensor("i", shape=(3,), dtype="int64")), False),
    ((tg.tensor("i", shape=(1,), dtype="int64"),), True),
    ((tg.tensor("i", shape=(None,), dtype="int64"),), False),
    ((Constant(np.tile(np.arange(VERY_MANY // 2), 2)),), False),
    ((Constant(np.roll(np.arange(VERY_MANY), 1)),), True),
]


@pytest.mark.parametrize("number", range(len(UNIQUE)))
def test_positions_of_which_none_repeats(number):
    indices, wanted = UNIQUE[number]
    assert is_unique(indices) is wanted
