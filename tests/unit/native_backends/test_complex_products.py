"""Each product of complex numbers is rounded before it is added, wherever it is computed: against NumPy's scalars."""

import numpy as np
import pytest

import tg
from tg.ops.elementwise.arithmetic import multiply
from tg.ops.indexing import Scatter, SliceUpdate, wrap_index

N = 200
pytestmark = [pytest.mark.parametrize("dtype", ["complex64", "complex128"]), pytest.mark.sampled(3)]


def numbers(dtype, *shape):
    rng = np.random.default_rng(1)
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)


def products(x, y):
    """By the definition, of which NumPy rounds every step of scalars."""
    found = np.empty_like(x)
    for k, ((a, b), (c, d)) in enumerate(zip(parts(x), parts(y), strict=True)):
        found.real[k], found.imag[k] = a * c - b * d, a * d + b * c
    return found


def parts(x):
    return zip(x.real, x.imag, strict=True)


@pytest.mark.parametrize("step", [1, 3, -2])
def test_of_a_window(backend, dtype, step):
    x, v = tg.vector("x", dtype=dtype), tg.vector("v", dtype=dtype)
    start = 0 if step > 0 else N * 3 - 1
    run = tg.function([x, v], SliceUpdate((start,), (step,), multiply)(x, v), backend=backend)
    given, by = numbers(dtype, 3 * N), numbers(dtype, N)[::-1]
    window = slice(start, None, step)
    assert np.array_equal(run(given, by)[window][:N], products(given[window][:N], by))


def test_at_positions(backend, dtype):
    x, v, i = tg.vector("x", dtype=dtype), tg.vector("v", dtype=dtype), tg.vector("i", dtype="int64")
    run = tg.function([x, v, i], Scatter((-1,), multiply)(x, v, wrap_index(i, x.shape[0])), backend=backend)
    given, by = numbers(dtype, 2, N)
    assert np.array_equal(run(given, by, np.arange(N)), products(given, by))


def test_along_an_axis(backend, dtype):
    x, given = tg.matrix("x", dtype=dtype), numbers(dtype, 50, 3)
    found = tg.function([x], tg.cumprod(x, axis=1), backend=backend)(given)
    for k in (1, 2):
        assert np.array_equal(found[:, k], products(found[:, k - 1], given[:, k]))


def test_of_two_scalars(backend, dtype):
    x, y = tg.scalar("x", dtype=dtype), tg.scalar("y", dtype=dtype)
    run = tg.function([x, y], x * y, backend=backend)
    given, by = numbers(dtype, 2, 50)
    assert np.array_equal([run(a, b) for a, b in zip(given, by, strict=True)], products(given, by))
