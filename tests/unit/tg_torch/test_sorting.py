"""Orders of many unsigned integers, for which PyTorch has no sort on several threads."""

import numpy as np
import pytest

import tg


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
def test_many_unsigned_integers_are_sorted(dtype):
    limits, v = np.iinfo(dtype), tg.vector("v", dtype)
    x = np.random.default_rng(0).integers(0, limits.max, 50_000, dtype=dtype, endpoint=True)
    found, order = tg.function([v], [tg.sort(v), tg.argsort(v)], backend="torch")(x)
    np.testing.assert_array_equal(found, np.sort(x), strict=True)
    np.testing.assert_array_equal(order, np.argsort(x, kind="stable"))


def test_a_permutation_of_many_is_that_of_the_reference():
    draw = tg.random.permutation(tg.random.key(3), 50_000)
    np.testing.assert_array_equal(draw.eval(backend="torch"), draw.eval(backend="perform"))
