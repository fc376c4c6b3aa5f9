"""Each product of complex numbers is rounded before it is added, wherever it is computed: against Python's floats."""

import numpy as np
import pytest

import tg
from tg.ops.elementwise.arithmetic import multiply
from tg.ops.indexing import Scatter, SliceUpdate, wrap_index

N = 200


def numbers(rng, *shape):
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def product(x, y):
    """By the definition, of which Python rounds every step."""
    a, b, c, d = (float(v) for v in (x.real, x.imag, y.real, y.imag))
    return complex(a * c - b * d, a * d + b * c)


def products(x, y):
    return [product(a, b) for a, b in zip(x, y, strict=True)]


@pytest.mark.parametrize("step", [1, 3, -2])
def test_of_a_window(backend, step):
    x, v = tg.vector("x", dtype="complex128"), tg.vector("v", dtype="complex128")
    start = 0 if step > 0 else N * 3 - 1
    run = tg.function([x, v], SliceUpdate((start,), (step,), multiply)(x, v), backend=backend)
    rng = np.random.default_rng(1)
    given, by = numbers(rng, 3 * N), numbers(rng, N)
    assert run(given, by)[start::step][:N].tolist() == products(given[start::step][:N], by)


def test_at_positions(backend):
    x, v, i = (tg.vector(n, dtype=d) for n, d in (("x", "complex128"), ("v", "complex128"), ("i", "int64")))
    run = tg.function([x, v, i], Scatter((-1,), multiply)(x, v, wrap_index(i, x.shape[0])), backend=backend)
    rng = np.random.default_rng(2)
    given, by = numbers(rng, N), numbers(rng, N)
    assert run(given, by, np.arange(N)).tolist() == products(given, by)


def test_along_an_axis(backend):
    x, given = tg.matrix("x", dtype="complex128"), numbers(np.random.default_rng(3), 50, 3)
    found = tg.function([x], tg.cumprod(x, axis=1), backend=backend)(given)
    first = products(given[:, 0], given[:, 1])
    assert found[:, 1].tolist() == first
    assert found[:, 2].tolist() == products(np.array(first), given[:, 2])


def test_of_two_scalars(backend):
    x, y = tg.scalar("x", dtype="complex128"), tg.scalar("y", dtype="complex128")
    run = tg.function([x, y], x * y, backend=backend)
    given = numbers(np.random.default_rng(4), 2, 50)
    assert [complex(run(a, b)) for a, b in given.T] == products(*given)
