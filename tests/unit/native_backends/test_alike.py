"""Many steps of one kind share functions, which numbers and places in memory are handed to; by NumPy."""

import re

import numpy as np
import pytest

import tg

STEPS = 200
CALL = re.compile(r"^ *(?:call void @)?(loop\w+)\((.*)\);?$", re.MULTILINE)  # in the function of a graph


def numbers(k):
    """Two factors and a term of step k, of which some are equal."""
    return 1 / (k % 11 + 2), k / 512 + 0.25, 0.25 * (k % 3 + 1)


def steps(x, kind=float):
    y = x
    for k in range(STEPS):
        factor, other, term = map(kind, numbers(k))
        y = tg.sin(y) * factor + x * other - term
    return y


def by_numpy(a):
    """The value, and its derivative."""
    y, slope = a, np.ones_like(a)
    for k in range(STEPS):
        factor, other, term = numbers(k)
        slope = np.cos(y) * slope * factor + other
        y = np.sin(y) * factor + a * other - term
    return y, slope


@pytest.mark.long
def test_steps_and_their_gradient(backend):
    """Most calls are of one of two functions: one for values, one for slopes."""
    x = tg.vector("x")
    y = steps(x)
    f = tg.function([x], [y, tg.grad(tg.sum(y), x)], backend=backend)
    for n in (0, 1, 7, 64, 1001, 9000):
        a = np.random.default_rng(n).uniform(-1, 1, n)
        for found, right in zip(f(a), by_numpy(a), strict=True):
            np.testing.assert_allclose(found, right, rtol=1e-12, atol=1e-13)
    calls = CALL.findall(f.source())
    assert len(calls) > 10
    assert len({name for name, _ in calls}) <= 7
    assert max(given.count(",") for _, given in calls) < 20


def test_steps_in_float32_over_rows(backend):
    """Of float32 the error of one step is that of the last place, and shrinks in the next one."""
    x = tg.matrix("x", "float32")
    f = tg.function([x], steps(x, np.float32), backend=backend)
    a = np.random.default_rng(0).uniform(-1, 1, (67, 31)).astype(np.float32)
    np.testing.assert_allclose(f(a), by_numpy(a.astype(np.float64))[0], rtol=2e-5, atol=2e-6)


def test_numbers_of_any_kind(backend):
    """Infinite ones, NaN, zeros of both signs and the least of all go through tables bit by bit."""
    odd = [np.inf, -np.inf, np.nan, 0.0, -0.0, 5e-324, -1.7e308, 1.5, -2.5]
    x = tg.vector("x")
    y = x
    for k in range(200):
        t = tg.sin(y) * odd[k % 9] + odd[k * k % 7]
        y = tg.where(tg.abs(t) < 1e300, t, x - y * (k + 2.0))
    f = tg.function([x], [y, 1.0 / (y * 0.0)], backend=backend)
    a = np.random.default_rng(5).uniform(-1, 1, 77)
    b = a
    with np.errstate(all="ignore"):
        for k in range(200):
            t = np.sin(b) * odd[k % 9] + odd[k * k % 7]
            b = np.where(np.abs(t) < 1e300, t, a - b * (k + 2.0))
        signs = 1.0 / (b * 0.0)
    found = f(a)
    np.testing.assert_allclose(found[0], b, rtol=1e-10)
    np.testing.assert_array_equal(found[1], signs)


def test_updates_of_all_parameters_are_one_function(backend):
    """Of lengths below, at and beside those of vectors."""
    shapes = [(3, 5), (64,), (16, 16, 3, 3), (129,), (7, 7), (1000, 3)]
    draws = np.random.default_rng(0)
    starts = [draws.normal(size=shape) for shape in shapes]
    weights = [tg.shared(a.copy(), shape=a.shape) for a in starts]
    rate = tg.scalar("rate")
    step = tg.function([rate], [], updates={w: w - rate * (w * w - 0.5 * w) for w in weights}, backend=backend)
    for _ in range(2):
        step(0.1)
    for w, a in zip(weights, starts, strict=True):
        once = a - 0.1 * (a * a - 0.5 * a)
        np.testing.assert_allclose(w.get_value(), once - 0.1 * (once * once - 0.5 * once), rtol=1e-14)
    assert len({name for name, _ in CALL.findall(step.source())}) == 1
