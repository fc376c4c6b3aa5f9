"""Loops of several stages fetch the next row while they work on one, where caches hold both."""

import numpy as np
import pytest
import scipy.special

import tg


def fetches(f):
    """How often the code of a function has a line fetched."""
    text = f.source(full=True)
    return text.count("__builtin_prefetch(") + text.count("call void @llvm.prefetch")


def of_rows(backend, make, shape, dtype="float64"):
    x = tg.tensor("x", dtype, shape)
    return tg.function([x], make(x), backend=backend)


def softmax(x):
    return tg.softmax(x, axis=-1)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(softmax, id="softmax"),
        pytest.param(lambda x: tg.logsumexp(x, axis=-1), id="logsumexp"),
        pytest.param(lambda x: x - tg.mean(x, axis=-1, keepdims=True), id="deviations"),
    ],
)
@pytest.mark.parametrize("shape", [(None, None), (50, 1000)])
def test_a_later_stage_fetches_what_the_first_one_reads(backend, make, shape):
    assert fetches(of_rows(backend, make, shape))


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        pytest.param(lambda x: tg.max(x, axis=-1), (None, None), id="one stage"),
        pytest.param(softmax, (None,), id="one row"),
        pytest.param(softmax, (50, 2**13 + 1), id="more than is fetched"),
        pytest.param(lambda x: softmax(x.T), (None, None), id="elements apart"),
        pytest.param(
            lambda x: tg.logsumexp(tg.broadcast_to(x[0], x.shape), axis=-1), (None, None), id="the same row again"
        ),
    ],
)
def test_what_is_not_next_is_not_fetched(backend, make, shape):
    assert not fetches(of_rows(backend, make, shape))


@pytest.mark.parametrize("n", [1, 3, 1000, 2**13, 2**13 + 1, 2**14 + 3])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rows_of_every_length_are_right(backend, dtype, n):
    x = np.random.default_rng(n).normal(size=(3, n)).astype(dtype)
    found = of_rows(backend, softmax, (None, None), dtype)(x)
    exact = scipy.special.softmax(x.astype("float64"), axis=-1)
    np.testing.assert_allclose(found, exact, 16 * np.finfo(dtype).eps)
