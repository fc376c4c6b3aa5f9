"""Extremes, running results, masks and products at every length around a block: against NumPy and the reference."""

import numpy as np
import pytest

import tg
from tg.types.dtypes import is_complex, is_float

pytestmark = pytest.mark.sampled(2)
LENGTHS = (1, 2, 7, 8, 9, 31, 32, 33, 100)
DTYPES = ("bool", "int8", "uint16", "int64", "uint64", "float16", "float32", "float64", "complex64", "complex128")


def elements(dtype, shape, seed=0):
    """Few different numbers, so that many are equal."""
    found = np.random.default_rng(seed).integers(0, 4, shape)
    if is_complex(dtype):
        return (found + 1j * np.random.default_rng(seed + 1).integers(0, 3, shape)).astype(dtype)
    return found.astype(dtype)


def agrees(inputs, outputs, *given):
    f, wanted = (tg.function(inputs, outputs, backend=name) for name in ("numba", "perform"))
    for arrays in given:
        for a, b in zip(f(*arrays), wanted(*arrays), strict=True):
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            np.testing.assert_array_equal(a, b)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_first_extreme_is_found_along_rows_and_columns(dtype):
    x, m = tg.tensor("x", dtype, (None,)), tg.tensor("m", dtype, (None, None))
    outputs = [fn(v) for fn in (tg.argmax, tg.argmin) for v in (x, x[::-1])]
    outputs += [fn(v, axis=k) for fn in (tg.argmax, tg.argmin) for v in (m, m[:, ::-1], m.T) for k in (0, 1)]
    agrees([x, m], outputs, *((elements(dtype, n, n), elements(dtype, (3, n), n)) for n in LENGTHS))


@pytest.mark.parametrize("dtype", [d for d in DTYPES if is_float(d) or is_complex(d)])
def test_the_first_nan_is_the_extreme_wherever_it_is(dtype):
    x = tg.tensor("x", dtype, (None,))
    worst = [np.full(9, sign * np.inf, dtype) for sign in (1, -1)]
    given = [elements(dtype, 40) for _ in range(40)]
    for k, a in enumerate(given):
        a[[k, -1]] = np.nan
    agrees([x], [tg.argmax(x), tg.argmin(x)], *([a] for a in (*given, *worst)))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", DTYPES)
def test_running_results_along_each_axis(dtype):
    m = tg.tensor("m", dtype, (None, None, None))
    outputs = [fn(v, axis=k) for fn in (tg.cumsum, tg.cumprod) for v in (m, m[:, ::-1]) for k in range(3)]
    shapes = ((3, 2, 33), (1, 9, 1), (2, 0, 3), (4, 5, 0), (2, 3, 8))
    agrees([m], outputs, *([elements(dtype, shape)] for shape in shapes))


def test_the_places_of_true_elements():
    x = tg.tensor("x", "bool", (None,))
    rng = np.random.default_rng(3)
    masks = [rng.random(n) < share for n in (0, *LENGTHS) for share in (0, 0.5, 1)]
    agrees([x], [*tg.nonzero(x), *tg.nonzero(x[::-2])], *([mask] for mask in masks))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", DTYPES)
def test_products_of_matrices_however_they_lie(dtype):
    x, y = (tg.tensor(name, dtype, (None, None)) for name in "xy")
    b = tg.tensor("b", dtype, (None, None, None))
    outputs = [x @ y, x.T @ y.T, x[::-1] @ y[:, ::-1], b @ y, y.T @ tg.transpose(b, (0, 2, 1))]
    for n in (1, 2, 3, 9, 33):
        arrays = (elements(dtype, (n, n)), elements(dtype, (n, n), 2), elements(dtype, (2, 5, n), 4))
        agrees([x, y, b], outputs, arrays)
    lengths = ((0, 3, 2), (2, 0, 3), (1, 70, 1), (1, 9, 40))
    agrees([x, y], [x @ y], *((elements(dtype, (m, k)), elements(dtype, (k, n))) for m, k, n in lengths))


@pytest.mark.parametrize("dtype", DTYPES)
def test_scalars_of_every_dtype_go_in_and_out_of_inner_graphs(dtype):
    s, x = tg.tensor("s", dtype, ()), tg.tensor("x", dtype, (None,))

    def inner(s, x):
        return s == x[0], tg.where(x[0] == s, x[1], s), tg.where(x == s, s, x)

    agrees([s, x], [*tg.call(inner, s, x), *tg.call(inner, x[2], x)], (elements(dtype, ()), elements(dtype, 5)))
