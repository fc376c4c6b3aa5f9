"""Loops with a condition do the same by all printers, and what Python's do."""

import math

import numpy as np
import pytest

from tests.kernels.printed import Case, in_c, in_llvm, in_numpy, run
from tg_native.kernels.index import Condition, Index, index


def divisor(x, y):
    """The greatest common divisor."""
    return x.body.while_loop([x, y], lambda _, b: Condition(b != 0), lambda a, b: [b, a % b])[0]


def fibonacci(n, _):
    """Of which each value becomes another: they change at once."""
    first = [n, n.like(0), n.like(1)]
    return n.body.while_loop(first, lambda left, *_: Condition(left > 0), lambda left, a, b: [left - 1, b, a + b])[1]


def halvings(n, _):
    """The steps until 3 n + 1, or a half, is 1: with a branch inside."""

    def step(x, count):
        is_odd = Condition((x & 1) == 1)
        return [x.body.either(is_odd, lambda: [x * 3 + 1], lambda: [x >> 1])[0], count + 1]

    return n.body.while_loop([n, n.like(0)], lambda x, _: Condition(x > 1), step)[1]


def triangles(n, m):
    """How many pairs i < j < n have a sum below m: a loop in a loop, whose condition has several parts."""
    body, end = n.body, Index(n)

    def count(i, total):
        def holds(j, _):
            return (Index(j) < end) & (Index(i) + Index(j) < Index(m))

        found = body.while_loop([(Index(i) + 1).value, total], holds, lambda j, so_far: [j + 1, so_far + 1])[1]
        return [i + 1, found]

    return body.while_loop([index(body, 0).value] * 2, lambda i, _: Index(i) < end, count)[1]


def collatz(n):
    count = 0
    while n > 1:
        n, count = (3 * n + 1 if n % 2 else n // 2), count + 1
    return count


def fib(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


RIGHT = {
    divisor: math.gcd,
    fibonacci: lambda n, _: fib(n),
    halvings: lambda n, _: collatz(n),
    triangles: lambda n, m: sum(i + j < m for i in range(n) for j in range(i + 1, n)),
}


@pytest.mark.parametrize("write", RIGHT, ids=lambda write: write.__name__)
def test_a_loop_with_a_condition(write):
    numbers = np.random.default_rng(3).integers(0, 60, (2, 100))
    numbers[:, :4] = [[0, 0, 1, 59], [0, 59, 1, 0]]
    case = Case(write, ("int64", "int64"), "int64")
    right = [RIGHT[write](int(x), int(y)) for x, y in zip(*numbers, strict=True)]
    for compile_all in (in_c, in_llvm, in_numpy):
        (function,) = compile_all([case], single=True)
        assert run(function, case, [*numbers]).tolist() == right
