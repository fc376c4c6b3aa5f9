"""Reductions at the edges, beside the conformance cases."""

import warnings

import numpy as np
import pytest

import tg


@pytest.mark.parametrize("z", [complex(np.inf, -0.0), complex(-0.0, -np.inf), complex(np.inf, np.nan), 2 - 1j])
@pytest.mark.parametrize("mode", ["default", "off"])
def test_the_product_of_one_complex_number_is_that_of_numpy(z, mode):
    """NumPy starts from 1, and 1 * z has a NaN where z is infinite."""
    x = tg.tensor("x", "complex128", (2, 1))
    found = tg.function([x], tg.prod(x, 1), backend="perform", mode=mode)(np.full((2, 1), z))
    with warnings.catch_warnings(action="ignore"):
        np.testing.assert_array_equal(found, np.prod(np.full((2, 1), z), 1))
