"""QR factors by loops, where there is no LAPACK, beside NumPy's."""

import importlib

import numpy as np
import pytest

import tg
from tg_native.calls.blas import NO_BLAS

SHAPES = [(1, 1, 1), (2, 3, 3), (2, 5, 2), (1, 2, 5), (1, 40, 40), (2, 33, 70), (1, 70, 33), (2, 0, 3), (2, 3, 0)]
MODES = ("reduced", "complete")


@pytest.fixture
def without_lapack(backend, monkeypatch):
    """The backend, as it is where the process has no BLAS."""
    monkeypatch.setattr(importlib.import_module(f"tg_{backend}.function"), "blas", lambda: NO_BLAS)
    return backend


def factors(backend, dtype, shape=(None, None, None)):
    a = tg.tensor("a", dtype, shape)
    f = tg.function([a], [x for mode in MODES for x in tg.linalg.qr(a, mode)], backend=backend)
    assert "gelqf" not in f.source(full=True)
    return f


def close(x, y, dtype, scale=1.0):
    np.testing.assert_allclose(x, y, rtol=0, atol=1000 * np.finfo(dtype).eps * scale)


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex64", "complex128"])
def test_factors_are_numpys_but_for_signs(without_lapack, dtype):
    """The columns that complete a basis too: the reflections are those of LAPACK."""
    f = factors(without_lapack, dtype)
    rng = np.random.default_rng(0)
    for shape in SHAPES:
        a = rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype.startswith("complex") else 0)
        a = a.astype(dtype)
        made = f(a)
        for mode, q, r in zip(MODES, made[::2], made[1::2], strict=True):
            assert q.dtype == r.dtype == dtype
            wide = a.astype(np.result_type(dtype, "float64"))
            q_right, r_right = np.linalg.qr(wide, mode)
            few = min(shape[1:])
            signs = np.where(np.diagonal(r_right, axis1=1, axis2=2).real < 0, -1, 1)
            q_right[..., :few] *= signs[:, None, :]
            r_right[:, :few] *= signs[..., None]
            close(q, q_right, dtype)
            close(r, r_right, dtype)
            np.testing.assert_array_equal(r, np.triu(r))
            np.testing.assert_array_equal(np.diagonal(r, axis1=1, axis2=2).real >= 0, True)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_squares_of_elements_neither_overflow_nor_vanish(without_lapack, scale):
    a = np.array([[[1.0, 2, 0], [2, -1, 0], [0, 3, 0], [-2, 1, 0]]])  # the last column is 0
    q, r, whole, _ = factors(without_lapack, "float64", (1, 4, 3))(a * scale)
    close(q @ r / scale, a, "float64")
    close(q[0].T @ q[0], np.eye(3), "float64")
    close(whole[0].T @ whole[0], np.eye(4), "float64")
    assert r[0, 2, 2] == 0


def test_a_factor_of_nan_is_nan(without_lapack):
    a = np.ones((2, 3, 3)) + np.eye(3)
    a[0, 1, 0] = np.nan
    q, r, *_ = factors(without_lapack, "float64")(a)
    assert np.isnan(q[0]).any()
    assert np.isnan(r[0, 0, 0])
    close(q[1] @ r[1], a[1], "float64")
