"""The bootstrap: each regression beside NumPy's of the same rows, and errors beside the sandwich of residuals."""

from __future__ import annotations

import bootstrap
import numpy as np
import pytest

import tg

DATA = bootstrap.rows()


def test_each_regression_is_that_of_the_rows_its_key_draws():
    found = bootstrap.compiled("c", DATA, 5)(3)
    n = len(DATA.y)
    keys = tg.random.split(tg.random.key(3), 5)
    for k in range(5):
        which = tg.random.integers(keys[k], n, shape=(n,)).eval(backend="perform")
        needed, *_ = np.linalg.lstsq(DATA.x[which], DATA.y[which])
        np.testing.assert_allclose(found[k], needed, rtol=1e-9)


@pytest.mark.parametrize("over", [pytest.param(tg.vmap, marks=pytest.mark.long), tg.map], ids=["vmap", "map"])
def test_errors_are_those_of_the_sandwich(over):
    found = bootstrap.compiled("c", DATA, 2000, over)(bootstrap.SEED)
    inverse = np.linalg.inv(DATA.x.T @ DATA.x)
    b = inverse @ DATA.x.T @ DATA.y
    off = DATA.y - DATA.x @ b
    errors = np.sqrt(np.diag(inverse @ (DATA.x.T * off**2) @ DATA.x @ inverse))  # White's, of 1980
    np.testing.assert_allclose(np.std(found, axis=0), errors, rtol=0.07)  # 4 standard errors of 2,000 draws
    np.testing.assert_allclose(np.mean(found, axis=0), b, atol=0.1 * np.max(errors))
