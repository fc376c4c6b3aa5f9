"""More of what rewrites of gates, comparisons and choices are for, by their names, as in `tests.mutants.forms`."""

from __future__ import annotations

import itertools

import numpy as np

import tg
from tg.ops.elementwise.arithmetic import gate
from tg.types.dtypes import numpy_dtype

ORDERINGS = (tg.less, tg.less_equal, tg.greater, tg.greater_equal)
COMPARISONS = (*ORDERINGS, tg.equal, tg.not_equal)
FACTS = ("positive", "nonnegative", "negative", "nonpositive", "nonzero", "finite", "not_nan")


def known(*names):
    return lambda x: tg.assume(x, **dict.fromkeys(names, True))


def as_dtype(dtype, wide=None):
    return lambda x: tg.cast(tg.cast(x, dtype), wide or dtype)


def number(value, like):
    """A constant of the dtype of a value, whatever the dtype has in its place."""
    with np.errstate(invalid="ignore"):
        return np.array(value).astype(numpy_dtype(like.type.dtype))


def compared(fn, made, value):
    return lambda x: fn(v := made(x), number(value, v))


def between(fn, made, value):
    return lambda x: fn(number(value, v := made(x)), v)


def gated(cotangent, slope):
    return lambda x, y: gate(cotangent(x, y), slope(x, y))


def bounds(join, fn, p, q):
    return lambda x: join(fn(x, number(p, x)), fn(x, number(q, x)))


def chosen(first, second):
    return lambda x, y: tg.where(x < y, first(x, y), second(x, y))


VALUES = (
    tg.absolute,
    tg.exp,
    lambda x: -tg.absolute(x),
    lambda x: tg.square(x) + 1,
    *map(known, FACTS),
    known("positive", "not_nan"),
    known("finite", "nonnegative"),
    *map(as_dtype, ("int8", "uint8", "bool", "int64")),
    as_dtype("int8", "float64"),
    as_dtype("uint8", "int16"),
    as_dtype("bool", "float32"),
    as_dtype("int64", "float32"),
)
NUMBERS = (0, -0.0, 1, -1, 127, -128, 255, np.inf, -np.inf, np.nan)
DIVISORS = (
    lambda x, y: x,
    lambda x, y: tg.square(x),
    lambda x, y: x + y,
    lambda x, y: tg.sqrt(tg.square(x) + 1),
    lambda x, y: tg.absolute(x) * 2,
    lambda x, y: tg.sum(x),
    lambda x, y: tg.exp(x),
    lambda x, y: tg.assume(x, finite=True),
)


def limit(fn, value):
    """A value limited by a number, or by the least or the largest of its dtype."""

    def form(x):
        kind = numpy_dtype(x.type.dtype)
        bounds = (np.iinfo(kind).min, np.iinfo(kind).max) if kind.kind in "iu" else (-np.inf, np.inf)
        return fn(x, number(bounds[value == "largest"] if isinstance(value, str) else value, x))

    return form


def limited_twice(inner, outer, p, q):
    return lambda x: limit(outer, q)(limit(inner, p)(x))


def clipped_twice(p, q):
    return lambda x: tg.clip(tg.clip(x, *(number(v, x) for v in p)), *(number(v, x) for v in q))


def complementary(first, second, negated):
    return lambda x, y: first(c := x < y, x) + second(tg.logical_not(c) if negated else c, y)


LIMITS = (0, -0.0, 2, 5, "least", "largest", np.nan)
SIDES = (lambda c, v: tg.where(c, v, 0.0), lambda c, v: tg.where(c, 0.0, v), lambda c, v: tg.where(c, -0.0, v))

FORMS_OF_CHOICES = {
    "limits_of_dtype": tuple(limit(fn, value) for fn in (tg.maximum, tg.minimum) for value in LIMITS)
    + tuple(
        (lambda x, p=p, q=q: tg.clip(x, limit(lambda x, c: c, p)(x), limit(lambda x, c: c, q)(x)))
        for p, q in itertools.product(("least", "largest", 0, 2), repeat=2)
    ),
    "limits_of_nonnegative": tuple(
        (lambda x, fn=fn, value=value: limit(fn, value)(tg.absolute(x)))
        for fn in (tg.maximum, tg.minimum)
        for value in (0, -0.0, 2, -1, np.inf)
    ),
    **{
        name: tuple(
            limited_twice(*functions, p, q)
            for functions in itertools.product((tg.maximum, tg.minimum), repeat=2)
            for p, q in ((2, 5), (5, 2), (2, 2), (0, -0.0), (-0.0, 0), (np.nan, 2), (2, np.nan))
        )
        + tuple(
            clipped_twice(p, q)
            for p, q in (((0, 5), (2, 7)), ((2, 7), (0, 5)), ((5, 0), (2, 7)), ((0, 2), (5, 7)), ((5, 7), (3, 1)))
        )
        for name in ("limits_within_limits", "integer_limits_within_limits")
    },
    "complementary_choices": tuple(
        complementary(first, second, negated) for first in SIDES for second in SIDES for negated in (False, True)
    ),
    "comparison_beyond_limits": tuple(itertools.starmap(compared, itertools.product(COMPARISONS, VALUES, NUMBERS)))[
        ::13
    ],
    "comparison_of_truth": tuple(
        compared(fn, made, value)
        for fn in COMPARISONS
        for made in (as_dtype("bool"), as_dtype("bool", "float32"), as_dtype("bool", "int8"))
        for value in (0, 1, 2)
    ),
    "comparison_of_converted": tuple(
        compared(fn, as_dtype(*dtypes), value)
        for fn in (tg.less, tg.greater_equal, tg.equal, tg.not_equal)
        for dtypes in (("int8", "float64"), ("float32", "float64"), ("uint8", "int16"), ("int64", "float32"))
        for value in (0.5, 3, 300, np.nan)
    ),
    "comparison_with_constant_second": tuple(
        between(fn, known("finite"), value) for fn in COMPARISONS for value in (0, 1)
    ),
    "comparison_of_negative": tuple(
        compared(fn, lambda x: -x, value) for fn in COMPARISONS for value in (0, 2, -1, np.inf, np.nan)
    ),
    "one_bound": tuple(
        bounds(join, fn, p, q)
        for join in (tg.logical_and, tg.logical_or)
        for fn in COMPARISONS
        for p, q in ((2, 3), (3, 2), (2, 2), (np.nan, 1), (1, np.nan))
    ),
    "where_of_truth": tuple(
        chosen(lambda x, y, a=a: a, lambda x, y, b=b: b)
        for a, b in itertools.permutations((True, False, np.array([True, False, True, False, True])), 2)
    )
    + tuple(
        chosen(*sides)
        for value in (True, False)
        for sides in (
            (lambda x, y, c=value: c, lambda x, y: x > 1),
            (lambda x, y: x > 1, lambda x, y, c=value: c),
        )
    ),
    "where_one_or_zero": tuple(
        (lambda x, y, a=a, b=b: tg.where(x < y, number(a, x), number(b, x)))
        for a, b in ((1, 0), (0, 1), (1, -0.0), (-0.0, 1), (1, 1), (2, 0))
    ),
    "where_known": tuple(
        (lambda x, y, c=c: tg.where(c, x, y))
        for c in (True, False, np.array([True, False, True, True, False]), np.ones(5, bool), np.zeros(5, bool))
    ),
}
