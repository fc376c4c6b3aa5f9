"""Programs of little loops, which XLA compiles as one function: which these are, and that their numbers are NumPy's."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import tg
from tg_jax import little, settings

MARK = "xla_cpu_small_call"


def marks(f, *arrays):
    """How many calls bear the mark; the compiled program gives what the function gives."""
    with jax.enable_x64(True):
        lowered = jax.jit(little.as_one(f)).lower(*arrays)
        compiled = lowered.compile(compiler_options=settings.IN_LOOPS)
        for found, expected in zip(compiled(*arrays), jax.jit(f)(*arrays), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-13)
        return lowered.as_text().count(MARK)


def running(x):
    """A loop over the elements."""
    return lax.scan(lambda c, v: (0.5 * c + v, jnp.tanh(c)), jnp.zeros(()), x)


@pytest.mark.parametrize(
    ("f", "arrays"),
    [
        (running, [np.arange(7.0)]),
        (lambda x: (lax.while_loop(lambda c: c < 99, lambda c: 2 * c + 1, x),), [np.array(3)]),
        (lambda w, x: lax.scan(lambda h, v: (jnp.tanh(w @ h + v), h), x[0], x), [np.eye(9), np.ones((50, 9))]),
        (lambda k, x: (lax.cond(k > 0, lambda: jnp.sum(x), lambda: x[0]), x), [np.array(1), np.ones(3)]),
        (lambda x: (x + np.arange(3.0), x[np.array([2, 0])]), [np.ones(3)]),  # with constants
        (lambda x, y: (lax.fori_loop(0, 0, lambda _, c: c + y[0], x),), [np.ones(3), np.ones(2)]),  # y is not read
        (lambda x: (x[::-1], x), [np.arange(3.0)]),  # an output that is an argument is none of the call's
    ],
)
def test_what_is_little_is_one_function(f, arrays):
    assert marks(f, *arrays) == 1


@pytest.mark.parametrize(
    ("f", "arrays"),
    [
        (lambda x: (jnp.sort(x), *running(x)), [np.arange(7.0)]),  # a library's
        (running, [np.zeros(0)]),  # without elements
        (lambda x: (jnp.zeros(3), jnp.sum(x[:0])), [np.ones(3)]),
        (lambda x: running(jnp.ones(x.shape)), [np.ones(3)]),  # of constants alone
        (lambda x: (x + np.zeros((0, 1)),), [np.ones(3)]),  # with a constant that has no elements
        (lambda x: (x,), [np.ones(3)]),  # nothing to compute
        (lambda x: (2 * x,), [np.ones(little.AROUND + 1)]),  # with threads
        (lambda x: lax.scan(lambda c, v: (c + v, None), x[0], x)[:1], [np.ones((3, little.IN_A_STEP + 1))]),
        (lambda x: (x @ x,), [np.ones((64, 64))]),
    ],
)
def test_what_is_not_little_is_compiled_as_ever(f, arrays):
    assert marks(f, *arrays) == 0


def test_of_a_step_less_is_little_than_of_what_surrounds_loops():
    x = np.ones((3, 600))
    assert marks(lambda x: (jnp.tanh(x),), x) == 1
    assert marks(lambda x: (lax.map(jnp.tanh, x),), x) == 0
    square = np.ones((16, 16))
    assert marks(lambda x: (x @ x,), square) == 1
    assert marks(lambda x: (lax.fori_loop(0, 3, lambda _, c: c @ x, x),), square) == 0
    assert marks(lambda x: (lax.fori_loop(0, 3, lambda _, c: c @ x, x[0]),), square) == 1


@pytest.fixture
def marked(monkeypatch):
    """What is marked, from now on."""
    found, mark = [], little._marked
    monkeypatch.setattr(little, "_marked", lambda results, given: found.append(results) or mark(results, given))
    return found


def recurrence():
    """A gradient through a loop of run-time length."""
    a, x = tg.scalar("a"), tg.vector("x")
    cost = tg.sum(tg.square(tg.scan(lambda c, v: (tg.tanh(a * c + v),) * 2, 0.0, x)[1]))
    return tg.function([a, x], [cost, *tg.grad(cost, [a, x])], backend=tg.backend("jax", little_loops=True))


def by_hand(a, x):
    """The same on floats, forwards and backwards."""
    h = np.zeros(len(x) + 1)
    for t, v in enumerate(x):
        h[t + 1] = np.tanh(a * h[t] + v)
    da, dx, dh = 0.0, np.zeros(len(x)), 0.0
    for t in reversed(range(len(x))):
        dz = (dh + 2 * h[t + 1]) * (1 - h[t + 1] ** 2)
        da, dx[t], dh = da + dz * h[t], dz, dz * a
    return np.sum(h**2), da, dx


def test_a_gradient_through_a_loop_is_one_function(marked):
    f = recurrence()
    for n in (0, 1, 2, 200, 70_000):
        x = np.linspace(-1, 1, n)
        for mine, expected in zip(f(0.7, x), by_hand(0.7, x), strict=True):
            np.testing.assert_allclose(mine, expected, rtol=1e-12, atol=1e-300)
    assert len(marked) == 2  # of 2 and 200 steps: one step is no loop


def test_programs_without_loops_and_other_versions_are_compiled_as_ever(marked, monkeypatch):
    x = tg.vector("x")
    tg.function([x], tg.exp(x), backend=tg.backend("jax", little_loops=True))(np.ones(3))
    tg.function([x], tg.scan(lambda c, v: (c + v, None), 0.0, x)[0], backend="jax")(np.ones(3))  # nobody asked for it
    monkeypatch.setattr(little, "KNOWN", ((0, 1), (0, 2)))
    recurrence()(0.7, np.ones(5))
    assert not marked


def test_a_step_that_fails_is_told_of():
    x, i = tg.vector("x"), tg.vector("i", dtype="int64")
    f = tg.function(
        [x, i], tg.scan(lambda c, k: (c + x[k], None), 0.0, i)[0], backend=tg.backend("jax", little_loops=True)
    )
    assert f(np.arange(3.0), [0, 2]) == 2.0
    assert f(np.arange(3.0), np.zeros(0, np.int64)) == 0.0
    with pytest.raises(tg.errors.BoundsError):
        f(np.arange(3.0), [0, 7])
