"""Complex numbers in C where NumPy's arithmetic is not that of C: infinities, division by zero, order, parts."""

import numpy as np
import pytest

import tg
from tg.types.tensor_type import TensorType

DTYPES = ("complex64", "complex128")
PARTS = (0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan)


def pairs(dtype):
    values = np.array([complex(a, b) for a in PARTS for b in PARTS], dtype)
    values.real, values.imag = (g.ravel() for g in np.meshgrid(PARTS, PARTS, indexing="ij"))
    return [g.ravel().copy() for g in np.meshgrid(values, values)]


def same_parts(found, wanted):
    np.testing.assert_array_equal(found.real, wanted.real)
    np.testing.assert_array_equal(found.imag, wanted.imag)


def vectors(dtype, count=2):
    return [tg.Variable(TensorType(dtype, (None,)), name="xyz"[k]) for k in range(count)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "maximum", "minimum"])
def test_arithmetic_on_infinities_and_nan_is_that_of_numpy(name, dtype, compiled, frozen_of):
    a, b = pairs(dtype)
    x, y = vectors(dtype)
    (found,), _ = compiled(frozen_of([x, y], [getattr(tg, name)(x, y)])).run([a, b])
    with np.errstate(all="ignore"):
        same_parts(found, getattr(np, name)(a, b))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["less", "less_equal", "greater", "greater_equal", "equal", "not_equal"])
def test_order_is_that_of_the_real_parts_then_of_the_imaginary_ones(name, dtype, compiled, frozen_of):
    a, b = pairs(dtype)
    x, y = vectors(dtype)
    (found,), _ = compiled(frozen_of([x, y], [getattr(tg, name)(x, y)])).run([a, b])
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(found, getattr(np, name)(a, b))


@pytest.mark.parametrize("dtype", DTYPES)
def test_absolute_neither_overflows_nor_loses_an_infinity(dtype, compiled, frozen_of):
    top = np.finfo(dtype).max / 4
    a = np.array([complex(top, top), complex(np.inf, np.nan), complex(np.nan, -np.inf), 3 - 4j], dtype)
    (x,) = vectors(dtype, 1)
    (found,), _ = compiled(frozen_of([x], [abs(x)])).run([a])
    assert found.dtype == a.real.dtype
    np.testing.assert_allclose(found, np.abs(a), rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("axis", [0, 1, (0, 1), (0, 2), None])
def test_sums_are_pairwise_in_both_parts(axis, compiled, frozen_of):
    a = np.full((1000, 30, 20), 0.1 - 0.3j, np.complex64)
    x = tg.Variable(TensorType("complex64", (None, None, None)), name="x")
    (found,), _ = compiled(frozen_of([x], [tg.sum(x, axis)])).run([a])
    np.testing.assert_allclose(found, a.astype(np.complex128).sum(axis).astype(np.complex64), rtol=2e-7)


def test_constants_keep_the_signs_of_zeros(compiled, frozen_of):
    table = np.array([complex(0.0, -0.0), complex(-0.0, 0.0), complex(np.nan, 1), complex(1, -np.inf)])
    (x,) = vectors("complex128", 1)
    large = np.arange(600) * (1 - 2j)
    found, _ = compiled(frozen_of([x], [tg.constant(table), tg.constant(table[:2]), tg.constant(large)])).run([table])
    assert [y.tobytes() for y in found] == [table.tobytes(), table[:2].tobytes(), large.tobytes()]
