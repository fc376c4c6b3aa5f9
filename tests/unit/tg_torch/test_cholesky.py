"""Cholesky factors: what is read where all are there is no more than what there is to read."""

import numpy as np
import pytest

import tg
from tg.ops.linalg.cholesky import Cholesky

A = tg.tensor("a", shape=(None, None, None))
FACTORS = [tg.function([A], list(Cholesky(raises=False)(A)), backend=name) for name in ("perform", "torch")]


@pytest.mark.parametrize("value", [np.nan, -1.0, 0.5])
@pytest.mark.parametrize("place", [(i, j) for i in range(3) for j in range(3)])
def test_a_number_at_each_place_is_seen_as_the_reference_sees_it(value, place):
    good = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -0.5], [0.5, -0.5, 2.0]])
    given = np.stack([good, good])
    given[(1, *place)] = value
    (factor, info), (own, own_info) = (f(given) for f in FACTORS)
    np.testing.assert_allclose(own, factor, rtol=1e-14)
    np.testing.assert_array_equal(own_info, info)
    np.testing.assert_allclose(own[0], np.linalg.cholesky(good), rtol=1e-14)


def test_no_matrices_and_matrices_without_elements_have_factors():
    for shape in ((0, 3, 3), (2, 0, 0)):
        factor, info = FACTORS[1](np.zeros(shape))
        assert (factor.shape, info.shape) == (shape, shape[:1])
