"""Results of functions as the array API standard has them, beside NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import tg

REPEATED = np.array([[3, 1, 3], [2, 1, 3]])
MATRICES = np.array([[[3.0, 1.0], [1.0, 2.0]]] * 3)


@pytest.mark.parametrize("name", ["unique_all", "unique_counts", "unique_inverse"])
def test_parts_of_unique_have_the_names_of_numpy(xp, name):
    result, wanted = getattr(xp, name)(xp.asarray(REPEATED)), getattr(np, name)(REPEATED)
    assert result._fields == wanted._fields
    for field in wanted._fields:
        np.testing.assert_array_equal(np.asarray(getattr(result, field)), getattr(wanted, field))


def test_relative_limits_of_singular_values_are_arrays_too(xp):
    limits = np.array([0.1, 0.5, 0.9])
    for rtol in (limits, limits[:1], limits[1], 0.5):
        given = xp.asarray(rtol) if isinstance(rtol, np.ndarray) else rtol
        inverse = xp.linalg.pinv(xp.asarray(MATRICES), rtol=given)
        np.testing.assert_allclose(np.asarray(inverse), np.linalg.pinv(MATRICES, rtol=rtol), rtol=1e-12, atol=1e-15)
        ranks = xp.linalg.matrix_rank(xp.asarray(MATRICES), rtol=given)
        np.testing.assert_array_equal(np.asarray(ranks), np.linalg.matrix_rank(MATRICES, rtol=rtol))


def test_limits_are_one_for_each_matrix(reference):
    a = reference.asarray(MATRICES)
    with pytest.raises(tg.ShapeError, match="broadcast_to"):
        reference.linalg.pinv(a, rtol=reference.asarray(np.ones(2)))
    with pytest.raises(tg.DtypeError, match=r"rcond: found .*complex128.*, needed real numbers"):
        reference.linalg.pinv(a, rtol=reference.asarray(1j))


@pytest.mark.parametrize("call", [lambda xp, x: xp.expand_dims(x, axis=4), lambda xp, x: xp.sum(x, axis=-3)])
def test_an_axis_out_of_range_is_the_error_of_numpy(reference, call):
    for namespace, kind in ((np, np.exceptions.AxisError), (reference, np.exceptions.AxisError)):
        with pytest.raises(kind) as raised:
            call(namespace, namespace.asarray(MATRICES[0]))
        assert isinstance(raised.value, IndexError)


@pytest.mark.parametrize("name", ["floor_divide", "remainder"])
def test_quotients_and_remainders_have_the_signs_of_numpy(xp, name):
    for dtype in ("float64", "float32"):
        x = np.array([0.0, -0.0, -0.0, 0.0, 5.0, -5.0, 7.0, -6.0], dtype)
        y = np.array([3.0, -3.0, 3.0, -3.0, np.inf, -np.inf, -2.0, 3.0], dtype)
        result = np.asarray(getattr(xp, name)(xp.asarray(x), xp.asarray(y)))
        wanted = getattr(np, name)(x, y)
        np.testing.assert_array_equal(result, wanted)
        np.testing.assert_array_equal(np.signbit(result), np.signbit(wanted))


def test_inner_products_conjugate_the_first_operand(xp):
    x, y = np.array([1 + 2j, 3 - 1j], "complex64"), np.array([2 - 1j, 1j], "complex64")
    for namespace in (xp, xp.linalg):
        np.testing.assert_allclose(np.asarray(namespace.vecdot(xp.asarray(x), xp.asarray(y))), np.vecdot(x, y))


def test_a_result_of_a_dtype_that_the_backend_lacks_is_told(xp):
    if "complex128" in xp.__array_namespace_info__().dtypes():
        result = xp.fft.rfft(xp.asarray([1.0, 2.0, 4.0]))
        np.testing.assert_allclose(np.asarray(result), np.fft.rfft([1.0, 2.0, 4.0]), rtol=1e-14, atol=1e-15)
        return
    with pytest.raises(tg.DtypeError, match="found dtype complex128, needed one that it has"):
        xp.fft.rfft(xp.asarray([1.0, 2.0, 4.0]))


def test_complex_numbers_of_python_keep_their_parts(xp):
    values = [1j, 2.0 - 3j, 4]
    if not xp.__array_namespace_info__().dtypes(kind="complex floating"):
        pytest.skip("no complex dtype")
    np.testing.assert_array_equal(np.asarray(xp.asarray(values)), np.asarray(values))
