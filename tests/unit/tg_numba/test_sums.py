"""Sums that share what is summed: against the reference, at the ends of the range, and how exact they are."""

import math

import numpy as np
import pytest

import tg
from tg_native.loops.costs import CHUNK

LENGTHS = (0, 1, 8, 31, 32, 511, 2048, 2049, 5000)


def density():
    """A normal log-density with its gradient, whose three sums are sums of x - mu and of its square."""
    x, mu, scale, level = tg.vector("x"), tg.scalar("mu"), tg.scalar("scale"), tg.scalar("level")
    z = (x - mu) / scale
    return [x, mu, scale, level], [tg.sum(-0.5 * z * z - level), tg.sum(z / scale), tg.sum(z * (z / scale))]


def pair(inputs, outputs):
    return [tg.function(inputs, outputs, backend=one, on_unused_input="ignore") for one in ("numba", "perform")]


@pytest.fixture(scope="module")
def densities():
    return pair(*density())


def agree(functions, *arrays):
    with np.errstate(all="ignore"):
        for found, wanted in zip(*(f(*arrays) for f in functions), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-300)


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def fused_sums(inputs, outputs):
    """How many products are added to sums in a full round."""
    source = tg.function(inputs, outputs, backend="numba").source()
    return source.count("@llvm.fma.") - source.count("declare")


def test_sums_that_differ_by_factors_and_terms_are_one():
    x, c = tg.vector("x"), tg.scalar("c")
    inputs, outputs = density()
    assert fused_sums(inputs, outputs) == fused_sums([x], [tg.sum(x * x)]) == 1
    assert fused_sums([x, c], [tg.sum(x * x - c)]) == 0
    assert fused_sums([x, c], [tg.sum(x - c), tg.sum(x)]) == 0
    assert fused_sums([x, c], [tg.sum(x * x - c), tg.sum(x * x)]) == 1


@pytest.mark.parametrize("n", LENGTHS)
def test_they_agree_with_the_reference(n, densities):
    agree(densities, normal(n), np.array(0.3), np.array(1.7), np.array(0.4))


def test_signs_terms_and_products_of_all_kinds():
    x, y, a, b = tg.vector("x"), tg.vector("y"), tg.scalar("a"), tg.scalar("b")
    p = (x * a) * (y / b)
    outputs = [tg.sum(v) for v in (p, b - p, a + -p, (p - a) * b, (p + a) / b - b, -(x / b), y * a, x * x * b - y)]
    agree(pair([x, y, a, b], outputs), normal(1000), normal(1000, seed=1), np.array(0.7), np.array(-1.3))


def test_rows():
    x, s = tg.matrix("x"), tg.scalar("s")
    z = x / s
    functions = pair([x, s], [tg.sum(z * z - s, axis=-1), tg.sum(z * z, axis=-1), tg.sum(z * s)])
    for shape in ((3, 700), (700, 3), (40, 3000), (0, 5), (5, 0)):
        agree(functions, 3 + normal(*shape), np.array(1.4))


@pytest.mark.parametrize("scale", [0.0, 5e-324, 1e-300, 1e-80, 1.0, 1e80, 1e200, 1e300, np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("level", [0.0, 1e300, -np.inf, np.nan])
def test_nothing_overflows_vanishes_or_hides_that_does_not_as_written(scale, level, densities):
    for size in (0.0, 1e-320, 1e-200, 1.0, 1e200, 1e306):
        for special in (0.0, np.nan, np.inf, -np.inf):
            x = size * normal(5000)
            x[700] = special
            agree(densities, x, np.array(0.0), np.array(scale), np.array(level))


@pytest.mark.parametrize("kind", ["ordinary", "alike", "whole"])
@pytest.mark.parametrize("n", [2048, 100_000])
def test_terms_that_cancel_keep_the_digits_that_they_have_as_written(kind, n):
    rng = np.random.default_rng(3)
    a = {
        "ordinary": rng.normal(size=n),
        "alike": 1.1 + 1e-9 * rng.normal(size=n),
        "whole": rng.integers(-1000, 1000, n).astype(float),
    }[kind]
    x, c = tg.vector("x"), tg.scalar("c")
    f = tg.function([x, c], [tg.sum(x * x - c), tg.sum(x * x)], backend="numba")
    squares = a.astype(np.longdouble) ** 2
    for part in (0.0, 0.5, 0.9, 0.99, 1.0):
        level = part * float(squares.sum()) / n
        error = abs(float((squares - level).sum() - f(a, level)[0]))
        bound = (CHUNK + math.log2(n)) * float(np.abs(squares - level).sum()) + 0.5 * float(squares.sum())
        assert error <= bound * np.finfo(np.float64).eps  # 0.5: the squares are rounded
