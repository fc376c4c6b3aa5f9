"""Products of 8-bit integers by pairs of terms: every layout, more rows and terms than a block has, and batches."""

import numpy as np
import pytest

import tg

PAIRS = [("int8", "int8"), ("uint8", "int8"), ("int8", "uint8"), ("uint8", "uint8")]
LAYOUTS = [
    lambda x, y: (x, y),
    lambda x, y: (x, y.T[::-1].T),
    lambda x, y: (x[:, ::2], y[::2]),
    lambda x, y: (x[::-1], y[:, ::3]),
]
SIZES = [
    (1, 1, 1),
    (2, 3, 4),
    (1, 70, 1),
    (1, 9, 70),
    (70, 9, 1),
    (19, 33, 37),
    (0, 3, 4),
    (4, 0, 5),
    (4, 5, 0),
    (100, 7, 16),
]
LONG = [(7, 2051, 18), (200, 33, 20), (97, 2100, 17)]  # more pairs than a panel has, more rows than a block, both


def whole(rng, shape, dtype):
    """Integers of the whole range."""
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def product(x, y):
    """The product in int64, which is what int32 holds of it."""
    return (x.astype(np.int64) @ y.astype(np.int64)).astype(np.int32)


def agrees(actual, x, y):
    expected = product(x, y)
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_products_of_every_layout_whose_sizes_are_not_known(backend, left, right):
    x, y = tg.tensor("x", left, (None, None)), tg.tensor("y", right, (None, None))
    pairs = [both for layout in LAYOUTS for both in (layout(x, y), layout(y.T, x.T))]
    f, rng = (
        tg.function([x, y], [tg.integer_matmul(*both) for both in pairs], backend=backend),
        np.random.default_rng(1),
    )
    for m, k, n in SIZES:
        a, b = whole(rng, (m, k), left), whole(rng, (k, n), right)
        given = [both for layout in LAYOUTS for both in (layout(a, b), layout(b.T, a.T))]
        for actual, both in zip(f(a, b), given, strict=True):
            agrees(actual, *both)


def test_products_of_more_rows_and_terms_than_are_packed_at_once(backend):
    x, y, z = (tg.tensor(name, dtype, (None, None)) for name, dtype in (("x", "uint8"), ("y", "int8"), ("z", "int8")))
    outputs = [tg.integer_matmul(x, y), tg.integer_matmul(x, z.T)]
    f, rng = tg.function([x, y, z], outputs, backend=backend), np.random.default_rng(2)
    for m, k, n in LONG:
        a, b = whole(rng, (m, k), "uint8"), whole(rng, (k, n), "int8")
        for actual in f(a, b, np.ascontiguousarray(b.T)):
            agrees(actual, a, b)


def test_products_of_lengths_that_are_known(backend):
    rng = np.random.default_rng(3)
    for m, k, n in [(3, 2051, 40), (64, 96, 33), (5, 1, 3), (1, 64, 64), (64, 64, 1)]:
        a, b = whole(rng, (m, k), "int8"), whole(rng, (k, n), "uint8")
        x, y = tg.tensor("x", "int8", (m, k)), tg.tensor("y", "uint8", (k, n))
        agrees(tg.function([x, y], tg.integer_matmul(x, y), backend=backend)(a, b), a, b)


def test_sums_that_int32_does_not_hold_wrap(backend):
    a, b = np.full((2, 40000), 255, np.uint8), np.full((40000, 3), 255, np.uint8)
    x, y = tg.tensor("x", "uint8", (None, None)), tg.tensor("y", "uint8", (None, None))
    agrees(tg.function([x, y], tg.integer_matmul(x, y), backend=backend)(a, b), a, b)


def test_batches_of_products_whose_leading_axes_are_repeated(backend):
    rng = np.random.default_rng(4)
    a, b = whole(rng, (3, 1, 5, 19), "int8"), whole(rng, (2, 19, 21), "int8")
    x, y = tg.tensor("x", "int8", (None, 1, None, None)), tg.tensor("y", "int8", (None, None, None))
    agrees(tg.function([x, y], tg.integer_matmul(x, y), backend=backend)(a, b), a, b)
