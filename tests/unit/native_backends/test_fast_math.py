"""The option `fast_math`: a product and a sum rounded once, which is nearer to the truth; all else as ever."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import tg

COUNT = 200
x, y, z = (tg.vector(name) for name in "xyz")


@pytest.fixture
def arrays():
    x, y = np.random.default_rng(3).standard_normal((2, COUNT))
    return x, y, -x * y * (1 + 2.0**-52)  # so that what is left of the sum is the product's rounding


def results(backend, outputs, arrays, *, fast_math):
    return tg.function([x, y, z], outputs, backend=tg.backend(backend, fast_math=fast_math))(*arrays)


def error(values, arrays):
    exact = [Fraction(a) * Fraction(b) + Fraction(c) for a, b, c in zip(*arrays, strict=True)]
    return float(max(abs(Fraction(float(v)) - e) for v, e in zip(values, exact, strict=True)))


def test_a_product_and_a_sum_are_rounded_once(backend, arrays):
    usual, fast = (results(backend, x * y + z, arrays, fast_math=which) for which in (False, True))
    np.testing.assert_array_equal(usual, arrays[0] * arrays[1] + arrays[2])
    assert error(fast, arrays) < 1e-30
    assert error(usual, arrays) > 1e-18


def test_nan_infinities_and_the_sign_of_zero_are_as_ever(backend):
    arrays = [np.array(v) for v in ([np.nan, np.inf, -np.inf, -0.0, 0.0], [1.0, 0.0, 2.0, 3.0, -3.0], [0.0] * 5)]
    found = results(backend, [x * y + z, tg.exp(x), tg.maximum(x, z)], arrays, fast_math=True)
    with np.errstate(invalid="ignore"):
        wanted = [arrays[0] * arrays[1] + arrays[2], np.exp(arrays[0]), np.maximum(arrays[0], arrays[2])]
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(np.signbit(found[0][3:]), np.signbit(wanted[0][3:]))


@pytest.mark.parametrize(
    ("build", "reference"), [(tg.exp, np.exp), (tg.sin, np.sin), (tg.log1p, np.log1p), (tg.tanh, np.tanh)]
)
def test_mathematics_is_as_near_as_ever(backend, build, reference, arrays):
    found = results(backend, build(abs(x)) + 0 * (y + z), arrays, fast_math=True)
    np.testing.assert_array_max_ulp(found, reference(np.abs(arrays[0])), maxulp=4)
