"""Indices that the host has looked at: no checks in MLX, the same errors, and nothing is read outside of arrays."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest

import tg
from tg.errors import BoundsError
from tg.ops.indexing import Gather, WrapIndex
from tg.ops.shape import AxisLength

pytestmark = pytest.mark.sampled(2)

MODES = pytest.mark.parametrize(
    "backend", [tg.backend("mlx"), tg.backend("mlx", compile=True)], ids=["lazy", "compiled"]
)
DTYPES = ("int8", "int32", "int64", "uint8", "uint64")


def program(f):
    return f.programs.main.executable


@pytest.mark.parametrize("dtype", DTYPES)
def test_indices_in_range_need_no_check_in_mlx(dtype) -> None:
    x, i, v = tg.vector("x"), tg.vector("i", dtype), tg.vector("v")
    y = tg.sum(tg.exp(x)[i] * v)
    f = tg.function([x, i, v], [y, tg.grad(y, x)], backend="mlx")
    reference = tg.function([x, i, v], [y, tg.grad(y, x)], backend="perform")
    data, weights = np.linspace(-1, 1, 7), np.linspace(1, 2, 5)
    low = 0 if dtype.startswith("u") else -7
    for places in ([0, 6, 3, 3, 1], [low, 6, low + 1, 2, low]):
        for _ in range(3):  # as it is, recorded, replayed
            found = f(data, np.array(places, dtype), weights)
            for a, b in zip(found, reference(data, np.array(places, dtype), weights), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-14)
    assert "GatherWithin" in program(f).source()
    assert program(f)._general is None


@pytest.mark.sampled(6)
@MODES
@pytest.mark.parametrize("dtype", DTYPES)
def test_an_index_out_of_range_is_named_after_any_number_of_good_calls(backend, dtype) -> None:
    x, i = tg.vector("x"), tg.vector("i", dtype)
    f = tg.function([x, i], x[i] + 1, backend=backend)
    good = np.array([0, 2, 1], dtype)
    for bad in (3, 100, -4) if not dtype.startswith("u") else (3, 100):
        for _ in range(3):
            assert f(np.arange(3.0), good).tolist() == [1.0, 3.0, 2.0]
        with pytest.raises(BoundsError, match=f"index {bad} is out of bounds for an axis of length 3"):
            f(np.arange(3.0), np.array([0, bad, 1], dtype))
    assert f(np.arange(2.0), np.zeros(0, dtype)).tolist() == []


@MODES
def test_the_bounds_are_those_of_the_lengths_of_the_call(backend) -> None:
    x, i = tg.vector("x"), tg.vector("i", "int64")
    f = tg.function([x, i], [x[2:][i], x[i]], backend=backend)
    places = np.array([4, -3])
    for n in (9, 7, 9):
        a = np.arange(float(n))
        for found, want in zip(f(a, places), (a[2:][places], a[places]), strict=True):
            assert found.tolist() == want.tolist()
    with pytest.raises(BoundsError, match="index 4 is out of bounds for an axis of length 3"):
        f(np.arange(5.0), places)


def test_promised_indices_are_clamped_where_the_promise_is_broken() -> None:
    x, i = tg.vector("x"), tg.vector("i", "int64")
    j = WrapIndex("promise")(i, AxisLength(-1)(x))
    f = tg.function([x, i], Gather((-1,))(x, j), backend="mlx")
    assert f(np.arange(3.0), np.array([1, -1])).tolist() == [1.0, 2.0]
    assert f(np.arange(3.0), np.array([10**9, -(10**9)])).tolist() == [2.0, 0.0]


def test_indices_meant_for_another_length_stay_within_the_array() -> None:
    x, y, i = tg.vector("x"), tg.vector("y"), tg.vector("i", "int64")
    j = WrapIndex("raise")(i, AxisLength(-1)(y))
    f = tg.function([x, y, i], Gather((-1,))(x, j), backend="mlx")
    for _ in range(3):
        assert f(np.arange(3.0), np.zeros(50), np.array([49, -50, 1])).tolist() == [2.0, 0.0, 1.0]


def test_native_indices_are_looked_at_where_they_are() -> None:
    x, i = tg.vector("x"), tg.vector("i", "int64")
    s = tg.shared(np.array([2, 0]), name="s")
    f = tg.function([x, i], [x[i], x[s]], backend="mlx", output="native")
    for _ in range(3):
        found = f(np.arange(3.0), mx.array([1, -1], mx.int64))
        assert [a.tolist() for a in found] == [[1.0, 2.0], [2.0, 0.0]]
    with pytest.raises(BoundsError):
        f(np.arange(2.0), mx.array([1, -1], mx.int64))


def test_a_check_of_something_else_stays() -> None:
    x, i, n = tg.vector("x"), tg.vector("i", "int64"), tg.scalar("n", "int64")
    f = tg.function([x, i, n], x[i] + x[n * n], backend="mlx")
    for _ in range(3):
        assert f(np.arange(5.0), np.array([1, 2]), 2).tolist() == [5.0, 6.0]
    with pytest.raises(BoundsError, match="index 9"):
        f(np.arange(5.0), np.array([1, 2]), 3)
    with pytest.raises(BoundsError, match="index 7"):
        f(np.arange(5.0), np.array([1, 7]), 1)
