"""What programs of the backend dask do, whatever they compute."""

import numpy as np
import pytest

import tg
from tg.backend import Nonzero
from tg_dask.gaps import GAPS

X = np.arange(6.0).reshape(2, 3) / 4


def both(inputs, outputs, *values):
    """The results of a program on the backend and on the reference."""
    names = ("dask", "perform")
    return [tg.function(inputs, outputs, backend=name)(*values) for name in names]


def test_a_cost_and_its_gradient_agree_with_the_reference():
    x = tg.matrix("x")
    cost = tg.sum(tg.tanh(x @ x.T) ** 2)
    found, wanted = both([x], [cost, tg.grad(cost, x)], X)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_results_belong_to_the_caller():
    x = tg.matrix("x")
    results = tg.function([x], [x, x.T, x[1:], x.T], backend="dask")(X)
    for result in results:
        result[...] = -1
    assert X[1, 2] == 1.25
    assert not any(np.shares_memory(a, b) for k, a in enumerate(results) for b in results[k + 1 :])


def test_a_failing_check_raises_what_the_reference_raises():
    x, k = tg.vector("x"), tg.scalar("k", dtype="int64")
    f = tg.function([x, k], x[k], backend="dask")
    assert f([1.0, 2.0], -1) == 2.0
    with pytest.raises(tg.BoundsError, match="index 2 is out of bounds for an axis of length 2"):
        f([1.0, 2.0], 2)


def test_a_length_that_depends_on_values():
    x = tg.vector("x")
    positive = x[x > 0]
    if any(gap.op is Nonzero for gap in GAPS):
        with pytest.raises(tg.NoRuleError):
            tg.function([x], positive, backend="dask")
    else:
        np.testing.assert_array_equal(tg.function([x], positive, backend="dask")([1.0, -2.0, 3.0]), [1.0, 3.0])
