"""The ends of rows: as many elements as do not fill a vector, or some of those that go abreast, wherever they lie."""

import ml_dtypes
import numpy as np
import pytest

import tg

DTYPES = ("bool", "int8", "uint16", "float16", "bfloat16", "float32", "float64", "complex64", "complex128")
LENGTHS = (*range(36), 63, 64, 65, 127, 129, 260)


def elements(shape, dtype, seed=0):
    """Small numbers, whose sums are exact in every dtype."""
    found = np.random.default_rng(seed).integers(0, 2, shape)
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    return (found * (1 + 1j) if dtype.startswith("complex") else found).astype(kind)


def exact(x, dtype):
    """An array whose elements NumPy adds up without rounding."""
    return x.astype("complex128" if dtype.startswith("complex") else "float64")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_element_of_a_row_and_none_beside_it(dtype, backend):
    """Guard elements around the row would change a sum, a copy or a product that touched them."""
    x = tg.vector("x", dtype)
    wide = tg.cast(x, "complex128" if dtype.startswith("complex") else "float64")
    f = tg.function(
        [x], [x[::-1], tg.sum(wide), tg.sum(wide[::2]), tg.sum(wide * wide), tg.prod(wide + 1)], backend=backend
    )
    for n in LENGTHS:
        room = np.full(n + 2, 77).astype(elements((0,), dtype).dtype)
        room[1 : n + 1] = elements((n,), dtype, n)
        a = room[1 : n + 1]
        back, total, second, squares, product = f(a)
        want = exact(a, dtype)
        np.testing.assert_array_equal(exact(back, dtype), want[::-1])
        np.testing.assert_array_equal([total, second, squares], [want.sum(), want[::2].sum(), (want * want).sum()])
        np.testing.assert_allclose(product, np.prod(want + 1), rtol=1e-13)
        np.testing.assert_array_equal(exact(room, dtype)[[0, -1]], exact(np.full(2, 77).astype(room.dtype), dtype))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", DTYPES)
def test_columns_and_rows_of_every_length(dtype, backend):
    x = tg.matrix("x", dtype)
    wide = tg.cast(x, "complex128" if dtype.startswith("complex") else "float64")
    outputs = [tg.sum(wide, 0), tg.sum(wide, 1), tg.sum(wide.T * wide.T, 0), tg.cumsum(wide, 0), tg.cumsum(wide, 1)]
    f = tg.function([x], outputs, backend=backend)
    for shape in ((0, 3), (3, 0), (1, 1), (7, 5), (70, 3), (3, 70), (130, 33)):
        a = elements(shape, dtype, sum(shape))
        want = exact(a, dtype)
        wanted = [want.sum(0), want.sum(1), (want.T * want.T).sum(0), want.cumsum(0), want.cumsum(1)]
        for found, right in zip(f(a), wanted, strict=True):
            np.testing.assert_array_equal(found, right)
