"""Trees of products and of sums, drawn from seeds that are numbers, and powers of powers with exponents of every kind.

Leaves are values that may be infinite and one that is not, some of them repeated along an axis, and constants; a tree
joins two of what it has until one is left.
"""

from __future__ import annotations

import itertools
import random

import numpy as np

import tg
from tg.ops.elementwise.arithmetic import gate

COUNT = 40
CONSTANTS = (2, 3, -1, -2, 0.5, 0.25, 1 / 3, 7, 2.0**20, 2.0**-20)
WHOLE = (2, 3, -1, -2, 5, 100, 7, 2**40)
EXPONENTS = (-3, -2, -1, -0.5, 0.5, 1, 1.5, 2, 2.5, 3, 4, 6)
PRODUCTS = (
    lambda a, b, c: a * b,
    lambda a, b, c: a * b,
    lambda a, b, c: a * b,
    lambda a, b, c: -a * b,
    lambda a, b, c: a * b * c,
    lambda a, b, c: tg.square(a) * b,
    lambda a, b, c: tg.square(a * c) * b,
    lambda a, b, c: (a * c) ** 3 * b,
    lambda a, b, c: (a * c) ** 18 * (b * 2),
    lambda a, b, c: (-a) ** 18 * (b * 2),
)
QUOTIENTS = (
    lambda a, b, c: a / b,
    lambda a, b, c: a / b,
    lambda a, b, c: a / b * c,
    lambda a, b, c: c / b * a,
    lambda a, b, c: 1 / a * b,
    lambda a, b, c: gate(a, b),
    lambda a, b, c: gate(a * c, -b),
    lambda a, b, c: gate(a, b[:1] * c),
    lambda a, b, c: a[:1] * c / b,
    lambda a, b, c: gate(a[:1] / c, b),
    lambda a, b, c: a * (b[:1] * c),
)
SUMS = (
    lambda a, b, c: a + b,
    lambda a, b, c: a + b,
    lambda a, b, c: a - b,
    lambda a, b, c: a - b,
    lambda a, b, c: a + b * c,
    lambda a, b, c: a - b * c,
    lambda a, b, c: (a - b) * c,
    lambda a, b, c: -(a + b),
    lambda a, b, c: a + b + c,
    lambda a, b, c: c - a - b,
)
SHARES = (lambda a, b, c: a / c + b, lambda a, b, c: a / c - b / c, lambda a, b, c: (a + b) / c)


def grown(values, joins, constants, rng):
    """One value of several, joined two by two."""
    while len(values) > 1:
        a, b = (values.pop(rng.randrange(len(values))) for _ in range(2))
        values.append(rng.choice(joins)(a, b, rng.choice(constants)))
    return values[0]


def tree(number, joins, constants, dtype=None):
    """The function of two values and a third one, finite and not 0, that a number stands for."""

    def form(x, y, z):
        rng = random.Random(f"tree {number}")
        x, y = (v if dtype is None else tg.cast(v, dtype) for v in (x, y))
        finite = tg.assume(z, finite=True, nonzero=True) if dtype is None else y
        leaves = (x, x, y, finite, finite, x[:1], y[:1] * rng.choice(constants), -y, tg.absolute(x))
        few = rng.sample(leaves, rng.choice((2, 3, 3, 4)))
        return grown([rng.choice(few) for _ in range(rng.choice((3, 4, 5, 6)))], joins, constants, rng)

    return form


def trees(joins, constants, dtypes=(None,)):
    return tuple(tree(n, joins, constants, dtypes[n % len(dtypes)]) for n in range(COUNT))


INTEGERS = ("int32", "uint8", "int64")
KNOWN = (lambda x: x, lambda x: tg.assume(x, nonnegative=True), lambda x: tg.assume(x, positive=True))


def powers(build, bases=KNOWN, count=1):
    """What is built of a base and of so many exponents."""
    return tuple(
        (lambda x, base=base, given=given: build(base(x), *given))
        for base in bases
        for given in itertools.product(EXPONENTS, repeat=count)
    )


SETTLED = (  # with one constant, where it belongs
    lambda x, y: x * y * 3,
    lambda x, y: x / y * 3,
    lambda x, y: -(x * y),
    lambda x, y: 3 / (x * y),
    lambda x, y: gate(x, y) * 2,
    lambda x, y: x * (y[:1] * 3),
    lambda x, y: x + y + 1,
    lambda x, y: x * 2 + y,
    lambda x, y: x - y / 3,
)

DIVISORS = (3, 0, (1, 2, 3, 4, 5), (0, 2, 0, 3, 7))
OVERFLOWING = (  # sums with parts that are infinite where nothing that was written is
    lambda x: x + tg.rint(x) + (n := tg.absolute(x)) + n + n,
    lambda x: (n := tg.absolute(x)) + tg.ceil(n) + (p := tg.minimum(-tg.floor(n), 0)) + p + p,
    lambda x: x / 4 + tg.absolute(x) / 4 - tg.rint(x) / 3 - tg.trunc(x) / 3,
    lambda x: x - (x - x),
)
FORMS_OF_TREES = {
    "canonical_products": trees((*PRODUCTS, *QUOTIENTS), CONSTANTS) + SETTLED,
    "cancelled_factors": trees((*PRODUCTS, *QUOTIENTS), CONSTANTS),
    "canonical_sums": trees((*SUMS, *SHARES), CONSTANTS) + SETTLED + OVERFLOWING,
    "divide_by_power_of_two": tuple(
        (lambda x, c=c: x / c) for c in (4, 0.25, -8, 3, 2.0**100, 2.0**-100, 2.0**1000, 0.75, 1e-310, 2.0**-1022)
    ),
    "cancelled_terms": trees((*SUMS, *SHARES), CONSTANTS),
    "canonical_integer_sums": trees(SUMS, WHOLE, INTEGERS),
    "power_of_power": (
        *powers(lambda x, m, n: (x**m) ** n, KNOWN[:2], 2)[::5],
        *((lambda x, m=m, n=n: (tg.cast(x, "int8") ** m) ** n) for m in (-2, 0, 2) for n in (-1, 0, 3)),
    ),
    "quotient_and_remainder": tuple(
        (lambda x, c=c: x // (y := tg.constant(np.array(c, x.dtype))) * y + x % y) for c in DIVISORS
    ),
    "remainder_from_quotient": tuple(
        (lambda x, c=c: x - x // (y := tg.constant(np.array(c, x.dtype))) * y) for c in DIVISORS
    ),
    "root_of_power": powers(lambda x, n: tg.sqrt(x**n)),
    "power_of_root": powers(lambda x, n: tg.sqrt(x) ** n),
    "power_of_signed": powers(lambda x, n: (-x) ** n) + powers(lambda x, n: tg.absolute(x) ** n),
    "small_power": powers(lambda x, n: x ** (3 * n)) + powers(lambda x, n: x**n),
}
