"""Rows of every length sorted and searched, against NumPy's stable sort: equal elements, NaN, both zeros, in order."""

import numpy as np
import pytest

import tg
from tg.types.dtypes import numpy_dtype
from tg.types.tensor_type import TensorType

SHAPES = [(0, 3), (1, 1), (2, 5), (16, 17), (33, 3), (3, 100), (1, 1000)]
NAN, INF = float("nan"), float("inf")


def few(rng, shape, dtype):
    """A few values that are met again and again, special ones among them."""
    found = rng.integers(0 if dtype[0] in "ub" else -6, 7, shape).astype(complex)
    if dtype[0] in "fc":
        found.real = np.where(
            rng.integers(0, 4, shape) == 0, rng.choice([NAN, INF, -INF, -0.0, 0.0], shape), found.real
        )
    if dtype[0] == "c":
        found.imag = rng.choice([NAN, -INF, -1.0, -0.0, 0.0, 2.0], shape)
    return (found if dtype[0] == "c" else found.real).astype(numpy_dtype(dtype))


def matrix(name, dtype, ndim):
    return tg.Variable(TensorType(dtype, (None,) * ndim), name=name)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "complex128", "int64", "uint8", "bool"])
def test_sorting(backend, dtype):
    x = matrix("x", dtype, 2)
    outputs = [order(x, axis=axis) for order in (tg.sort, tg.argsort) for axis in (0, 1)]
    run, rng = tg.function([x], outputs, backend=backend), np.random.default_rng(4)
    for shape in SHAPES:
        rows = few(rng, shape, dtype)
        for data in (rows, np.sort(rows, axis=1), np.sort(rows, axis=1)[:, ::-1]):
            right = [order(data, axis=axis, kind="stable") for order in (np.sort, np.argsort) for axis in (0, 1)]
            for found, wanted in zip(run(data), right, strict=True):
                assert np.array_equal(found, wanted, equal_nan=dtype[0] in "fc"), shape


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["float64", "float16", "complex64", "int32", "bool"])
def test_searching(backend, dtype):
    edges, x, one = matrix("edges", dtype, 1), matrix("x", dtype, 2), matrix("one", dtype, 0)
    sides = ("left", "right")
    outputs = [tg.searchsorted(e, v, side=side) for side in sides for e in (edges, edges[::2]) for v in (x, one)]
    run, rng = tg.function([edges, x, one], outputs, backend=backend), np.random.default_rng(5)
    for n in (0, 1, 2, 3, 31, 64, 1000):
        places, data = np.sort(few(rng, (n,), dtype)), few(rng, (4, 50), dtype)
        first = data[0, 0]
        right = [
            np.searchsorted(e, v, side=side) for side in sides for e in (places, places[::2]) for v in (data, first)
        ]
        for found, wanted in zip(run(places, data, first), right, strict=True):
            assert np.array_equal(found, wanted), n
