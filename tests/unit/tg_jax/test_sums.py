"""Sums that XLA's library for processors computes, and the programs that it would get wrong."""

from __future__ import annotations

import numpy as np
import pytest

import tg
from tg_jax import linker

ROWS = 16_385  # one more than the library takes at a time


@pytest.fixture
def asked(monkeypatch):
    """What has been asked of XLA, program by program: whether its library computes sums."""
    flags = []
    options = linker.compiler_options
    monkeypatch.setattr(
        linker,
        "compiler_options",
        lambda *args, has_sums, **rest: flags.append(has_sums) or options(*args, has_sums=has_sums, **rest),
    )
    return flags


def made(inputs, outputs):
    return tg.function(inputs, outputs, backend="jax")


def test_the_library_computes_sums_of_what_is_computed_elementwise(asked):
    x = tg.matrix("x")
    given = np.random.default_rng(0).normal(size=(ROWS, 3))
    got = made([x], [tg.sum(x * x), tg.sum(tg.exp(x), axis=0), tg.sum(tg.sum(x, axis=1) ** 2)])(given)
    assert asked == [True]
    for one, expected in zip(got, [(given**2).sum(), np.exp(given).sum(0), (given.sum(1) ** 2).sum()], strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-13)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_of_a_sum_of_a_product_are_right_to_the_last(asked, dtype):
    x, w = tg.matrix("x", dtype), tg.matrix("w", dtype)
    rows = 2 * ROWS
    given = np.stack([np.arange(rows), np.zeros(rows), np.zeros(rows)], axis=1).astype(dtype)
    got = made([x, w], tg.sum((w @ x.T) ** 2, axis=0))(given, np.eye(3, dtype=dtype))
    assert asked == [False]
    np.testing.assert_array_equal(got, given[:, 0] ** 2)


def test_arrays_of_many_axes_do_not_end_the_process(asked):
    lengths = (3, 1, 2, 2, 8, 8, 8)
    x, y = (tg.tensor(name, "float32", (None,) * 7) for name in "xy")
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=lengths).astype("float32"), rng.normal(size=lengths).astype("float32")
    got = made([x, y], tg.sum(x * y, axis=3))(a, b)
    assert not any(asked)  # of the general program and that of these lengths
    np.testing.assert_allclose(got, (a * b).sum(3), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_extrema_beside_sums_keep_nan(asked, name, dtype):
    x = tg.tensor("x", dtype, (None, None, None, None))
    given = np.random.default_rng(2).normal(size=(8, 100, 16, 31)).astype(dtype)
    given[3, 50, 7, 11] = np.nan
    of_all, of_rows, total = made([x], [getattr(tg, name)(x), getattr(tg, name)(x, axis=(1, 3)), tg.sum(x * 0)])(given)
    assert asked == [True]
    np.testing.assert_array_equal(of_all, np.nan)
    np.testing.assert_array_equal(of_rows, getattr(np, name)(given, axis=(1, 3)))
    np.testing.assert_array_equal(total, np.nan)


def test_sums_of_many_numbers_lose_no_digits():
    x = tg.vector("x", "float32")
    given = np.random.default_rng(3).uniform(size=1_000_000).astype("float32")
    exact = given.astype("float64").sum()
    assert abs(made([x], tg.sum(x))(given) - exact) <= 4 * np.finfo("float32").eps * exact
