"""Sums that share what is summed: against the reference, at the ends of the range, and how exact they are."""

import functools
import math

import numpy as np
import pytest

import tg
from tg_native.loops import stages, sums
from tg_native.loops.costs import CHUNK

LENGTHS = (0, 1, 8, 31, 32, 511, 512, 513, 2048, 2049, 5000)


def density():
    """A normal log-density with its gradient, whose three sums are sums of x - mu and of its square."""
    x, mu, scale, level = tg.vector("x"), tg.scalar("mu"), tg.scalar("scale"), tg.scalar("level")
    z = (x - mu) / scale
    return [x, mu, scale, level], [tg.sum(-0.5 * z * z - level), tg.sum(z / scale), tg.sum(z * (z / scale))]


def pair(inputs, outputs, backend):
    return [tg.function(inputs, outputs, backend=one, on_unused_input="ignore") for one in (backend, "perform")]


@functools.cache
def densities(backend):
    return pair(*density(), backend)


def agree(functions, *arrays):
    with np.errstate(all="ignore"):
        for found, wanted in zip(*(f(*arrays) for f in functions), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-300)


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def watch_shared(monkeypatch):
    """What sums share, for each stage of what is compiled from here on that shares something."""
    found = []

    def sums_of(way):
        made = sums.sums_of(way)
        found.extend([made.shared] if made is not None else [])
        return made

    monkeypatch.setattr(stages, "sums_of", sums_of)
    return found


@pytest.fixture
def shared(monkeypatch):
    return watch_shared(monkeypatch)


def test_sums_that_differ_by_factors_and_terms_are_one(backend, shared):
    inputs, outputs = density()
    tg.function(inputs, outputs, backend=backend)
    (one,) = shared
    assert len(one.forms) == 3
    assert len(one.summed) == 2
    assert not any(node.op.rule_key is tg.divide for node in one.nodes)


def test_a_term_leaves_a_sum_only_where_two_sums_become_one(backend, shared):
    x, c = tg.vector("x"), tg.scalar("c")
    for outputs, leaves in (
        ([tg.sum(x * x - c)], False),
        ([tg.sum(x - c), tg.sum(x)], False),
        ([tg.sum(x * x - c), tg.sum(x * x)], True),
    ):
        shared.clear()
        tg.function([x, c], outputs, backend=backend)
        assert any(form.shift is not None for one in shared for form in one.forms) == leaves


@pytest.mark.sampled(4)
@pytest.mark.parametrize("n", LENGTHS)
def test_they_agree_with_the_reference(n, backend):
    agree(densities(backend), normal(n), np.array(0.3), np.array(1.7), np.array(0.4))


def test_signs_terms_and_products_of_all_kinds(backend):
    x, y, a, b = tg.vector("x"), tg.vector("y"), tg.scalar("a"), tg.scalar("b")
    p = (x * a) * (y / b)
    outputs = [tg.sum(v) for v in (p, b - p, a + -p, (p - a) * b, (p + a) / b - b, -(x / b), y * a, x * x * b - y)]
    agree(pair([x, y, a, b], outputs, backend), normal(1000), normal(1000, seed=1), np.array(0.7), np.array(-1.3))


def of_rows(backend):
    """Sums of rows, and of all, of one matrix by a number."""
    x, s = tg.matrix("x"), tg.scalar("s")
    z = x / s
    return pair([x, s], [tg.sum(z * z - s, axis=-1), tg.sum(z * z, axis=-1), tg.sum(z * s)], backend)


def test_rows(backend):
    functions = of_rows(backend)
    for shape in ((3, 700), (700, 3), (40, 3000), (0, 5), (5, 0)):
        agree(functions, 3 + normal(*shape), np.array(1.4))


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "scale", [0.0, 5e-324, 1e-300, 1e-200, 1e-80, 1.0, 1e80, 1e200, 1e300, np.inf, -np.inf, np.nan]
)
@pytest.mark.parametrize("level", [0.0, 1.0, 1e300, -np.inf, np.nan])
def test_nothing_overflows_vanishes_or_hides_that_does_not_as_written(scale, level, backend):
    for size in (0.0, 1e-320, 1e-200, 1.0, 1e200, 1e306):
        for special in (0.0, np.nan, np.inf, -np.inf):
            x = size * normal(5000)
            x[700] = special
            agree(densities(backend), x, np.array(0.0), np.array(scale), np.array(level))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("scale", [0.0, 1e-320, 1e-300, 1e300, np.inf, np.nan])
def test_factors_that_are_not_of_ordinary_size_stay_in_their_sums(scale, backend):
    x, s, t = tg.vector("x"), tg.scalar("s"), tg.scalar("t")
    for outputs in ([tg.sum(x / s)], [tg.sum(x * s)], [tg.sum((x * s) / t)], [tg.sum(x * x - s), tg.sum(x * x)]):
        functions = pair([x, s, t], outputs, backend)
        for size in (1e-305, 1.0, 1e305):
            agree(functions, size * normal(600), np.array(scale), np.array(scale))


HOSTILE = {
    "ordinary": lambda r, n: r.normal(size=n),
    "alike": lambda r, n: 1.1 + 1e-9 * r.normal(size=n),
    "equal": lambda r, n: np.full(n, 1.3),
    "far from 0": lambda r, n: np.sqrt(2 * r.random(n) + 1e3),
    "whole": lambda r, n: r.integers(-1000, 1000, n).astype(float),
}


@functools.cache
def squares(backend):
    x, c = tg.vector("x"), tg.scalar("c")
    return tg.function([x, c], [tg.sum(x * x - c), tg.sum(x * x)], backend=backend)


def squared(a):
    """Rounded squares, and what they lack."""
    rounded, high = a * a, a * (2.0**27 + 1)
    high = high - (high - a)
    low = a - high
    return rounded, ((high * high - rounded) + 2 * high * low) + low * low


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("n", [512, 2048, 100_000])
def test_terms_that_cancel_keep_the_digits_that_they_have_as_written(kind, n, backend):
    a = HOSTILE[kind](np.random.default_rng(3), n)
    rounded, rest = squared(a)
    size = math.fsum(rounded)
    for part in (0.0, 0.5, 0.9, 0.99, 1.0):
        level = part * size / n
        error = math.fsum((*-rounded, *-rest, *[level] * n, squares(backend)(a, level)[0]))
        bound = (CHUNK + math.log2(n)) * np.sum(np.abs(rounded - level)) + 0.5 * size  # 0.5: the squares are rounded
        assert abs(error) <= bound * np.finfo(np.float64).eps
