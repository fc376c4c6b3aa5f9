"""Sums of complex numbers: as they lie in memory, the parts of neighbours beside one another until the end."""

import numpy as np
import pytest

import tg

DTYPES = ("complex64", "complex128")
LENGTHS = (0, 1, 2, 7, 8, 9, 511, 512, 513, 1024 * 64 + 5)


def numbers(shape, dtype):
    """Whole numbers, so that every order of adding them gives the same, and what they are in integers."""
    real, imag = np.random.default_rng(sum(shape)).integers(-99, 100, (2, *shape))
    return (real + 1j * imag).astype(dtype), real, imag


def same(found, real, imag):
    assert (found.real.tolist(), found.imag.tolist()) == (real.tolist(), imag.tolist())


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_element_is_in_its_part(dtype, backend):
    x = tg.vector("x", dtype)
    f = tg.function([x], [tg.sum(x), tg.sum(x[::2]), tg.sum(x[::-1]), tg.sum(x) + tg.sum(x * x)], backend=backend)
    for n in LENGTHS:
        a, real, imag = numbers((n,), dtype)
        total, second, backwards, both = f(a)
        same(total, real.sum(), imag.sum())
        same(second, real[::2].sum(), imag[::2].sum())
        same(backwards, real.sum(), imag.sum())
        same(both, (real + real * real - imag * imag).sum(), (imag + 2 * real * imag).sum())


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_of_parts_of_matrices(dtype, backend):
    x = tg.matrix("x", dtype)
    f = tg.function([x], [tg.sum(v, axis) for v in (x, x[1:, 1:], x.T) for axis in (0, 1, (0, 1))], backend=backend)
    for shape in ((1, 1), (2, 9), (9, 2), (70, 33), (3, 1025)):
        a, real, imag = numbers(shape, dtype)
        parts = [(r, i) for r, i in ((real, imag), (real[1:, 1:], imag[1:, 1:]), (real.T, imag.T))]
        wanted = [(r.sum(axis), i.sum(axis)) for r, i in parts for axis in (0, 1, (0, 1))]
        for found, (r, i) in zip(f(a), wanted, strict=True):
            same(found, r, i)


def test_lengths_that_are_known(backend):
    lengths = (1, 2, 3, 5, 8, 64, 65, 4097)
    inputs = [tg.tensor(f"x{n}", "complex128", (3, n)) for n in lengths]
    f = tg.function(inputs, [tg.sum(x, axis) for x in inputs for axis in (None, 1)], backend=backend)
    every = [numbers((3, n), "complex128") for n in lengths]
    found = f(*(a for a, _, _ in every))
    for k, (_, real, imag) in enumerate(every):
        same(found[2 * k], real.sum(), imag.sum())
        same(found[2 * k + 1], real.sum(1), imag.sum(1))


def test_a_part_says_nothing_of_the_other(backend):
    x = tg.vector("x", "complex128")
    f = tg.function([x], tg.sum(x), backend=backend)
    for values in ((np.inf, -np.inf), (np.inf, np.inf), (np.nan, 1.0), (-0.0, -0.0)):
        a = np.ones(300, "complex128")
        a.imag[[3, 299]] = values
        with np.errstate(invalid="ignore"):
            wanted = a.imag.sum()
        found = f(a)
        assert found.real == 300
        np.testing.assert_array_equal(found.imag, wanted)


@pytest.mark.parametrize("dtype", DTYPES)
def test_nothing_takes_parts_from_one_another(dtype, backend):
    """The loop is that of real numbers: a sum of parts that are apart takes twice as much text, and twice the time."""
    z, x = tg.vector("z", dtype), tg.vector("x", {"complex64": "float32", "complex128": "float64"}[dtype])
    of_pairs, of_numbers = (len(tg.function([v], tg.sum(v), backend=backend).source()) for v in (z, x))
    assert of_pairs < 1.3 * of_numbers
