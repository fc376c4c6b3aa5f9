"""What is put in for JAX: products of transposed matrices, extrema of integers in one pass, windows written."""

from __future__ import annotations

import numpy as np
import pytest

import tg
from tg_jax.extrema import Extrema
from tg_jax.products import Product


def ops(f):
    return [type(node.op) for node in f.graph.nodes]


def agree(inputs, outputs, arrays) -> object:
    f = tg.function(inputs, outputs, backend="jax")
    want = tg.function(inputs, outputs, backend="perform")(*arrays)
    for a, b in zip(f(*arrays), want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)
        assert a.dtype == b.dtype
        assert a.shape == b.shape
    return f


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int32"])
def test_transposed_matrices_are_multiplied_as_they_are(dtype) -> None:
    x, y, u, v = tg.matrix("x", dtype), tg.matrix("y", dtype), tg.vector("u", dtype), tg.vector("v", dtype)
    outputs = [x.T @ y, y @ x.T, x.T @ y.T, x.T @ u, v @ x.T, x @ v]
    rng = np.random.default_rng(0)
    square, a, b = (rng.integers(-5, 6, shape).astype(dtype) for shape in ((4, 4), 4, 4))
    f = agree([x, y, u, v], outputs, [square, square + 1, a, b])
    assert ops(f).count(Product) == 5


def test_the_lengths_of_transposed_matrices() -> None:
    x, y = tg.matrix("x"), tg.matrix("y")
    a = np.arange(12.0).reshape(3, 4)
    agree([x, y], [x.T @ y], [a, np.ones((3, 2))])
    agree([x, y], [x @ y.T], [a, np.ones((5, 4))])
    agree([x, y], [x.T @ y.T], [a, np.ones((7, 3))])
    with pytest.raises(tg.errors.ShapeError):
        tg.function([x, y], x.T @ y, backend="jax")(a, np.ones((4, 2)))


def test_batches_and_booleans_stay_products() -> None:
    x, b = tg.tensor("x", "float64", (None, None, None)), tg.matrix("b", dtype="bool")
    rng = np.random.default_rng(0)
    swapped = tg.transpose(x, (0, 2, 1))
    f = agree([x, b], [swapped @ x, b.T @ b], [rng.normal(size=(2, 3, 4)), rng.normal(size=(3, 5)) > 0])
    assert Product not in ops(f)


def test_indices_are_looked_at_once() -> None:
    x, i = tg.vector("x"), tg.vector("i", dtype="int64")
    f = agree([x, i], [x[i]], [np.arange(5.0), np.array([0, -5, 4])])
    assert ops(f).count(Extrema) == 1
    for wrong in (5, -6):
        with pytest.raises(tg.errors.BoundsError, match=str(wrong)):
            f(np.arange(5.0), np.array([1, wrong, 2]))


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8", "uint64"])
@pytest.mark.parametrize("axis", [-1, (0, 1), 0])
def test_extrema_of_integers(dtype, axis) -> None:
    x = tg.matrix("x", dtype)
    limits = np.iinfo(dtype)
    a = np.random.default_rng(1).integers(limits.min, limits.max, (40, 70), dtype=dtype, endpoint=True)
    f = agree([x], [tg.min(x, axis), tg.max(x, axis)], [a])
    assert (Extrema in ops(f)) == (axis != 0)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("n", [7, 5000])
@pytest.mark.parametrize("window", [slice(1, 4), slice(4, 1, -1), slice(None, None, 3), slice(0, 1), slice(2, 2)])
def test_windows_are_written_wherever_they_are(n, window) -> None:
    x, k = tg.vector("x"), tg.scalar("k", dtype="int64")
    a = np.where(np.arange(n) % 2, np.nan, np.arange(n) * 1.0)
    known = x.at[window].add(1.0)
    moving = x.at[k : k + 3].set(x[k : k + 3] * 2)
    agree([x, k], [known, known.at[1:3].set(x[2:4]), moving], [a, np.int64(3)])


def test_windows_of_matrices_are_written() -> None:
    x = tg.matrix("x")
    a = np.arange(30.0).reshape(5, 6)
    agree([x], [x.at[1:3, ::-2].set(x[:2, :3]), x.at[:, 2].set(x[:, 0])], [a])
    g = tg.grad(tg.sum(x[1:4, 2] * x[0, 1:4] * x[4, 5]), x)
    agree([x], [g], [a])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_decays_of_what_is_not_positive(dtype) -> None:
    x = tg.vector("x", dtype)
    z = -abs(x)
    a = np.array([0.0, -0.0, 0.3, -2, 5, 40, 800, np.inf, -np.inf, np.nan], dtype)
    f = tg.function([x], [tg.softplus(z), tg.sigmoid(z), tg.softplus(-x)], backend="jax")
    want = tg.function([x], [tg.softplus(z), tg.sigmoid(z), tg.softplus(-x)], backend="perform")(a)
    for got, expected in zip(f(a), want, strict=True):
        np.testing.assert_allclose(got, expected, rtol=4 * np.finfo(dtype).eps)
    names = [node.op.name for node in f.graph.nodes]
    assert {"low_softplus", "low_sigmoid", "softplus"} <= {*names}
    assert names.count("softplus") == 1
