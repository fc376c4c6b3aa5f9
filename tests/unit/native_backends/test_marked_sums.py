"""Places that nothing was added to are told from sums of 0, whatever is added and by however many threads."""

import numpy as np
import pytest

import tg

NAME = "marks_of_scattered_sums"
DTYPES = ("float32", "float64")


def gradient(backend, dtype):
    """By the elements that are gathered of weighted ones, for given cotangents."""
    x, w, at = tg.vector("x", dtype), tg.vector("w", dtype), tg.vector("at", "int64")
    weights = tg.vector("weights", dtype)
    f = tg.function([x, w, at, weights], tg.grad(tg.sum((w * x)[at] * weights), x), backend=backend)
    assert NAME in tg.explain(f).counts
    return f


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_not_gathered_has_no_derivative_whatever_its_slope(backend, dtype):
    w = np.array([np.inf, 2, np.nan, 3, -np.inf], dtype)
    weights = np.array([1, -2, 4, 0.5], dtype)
    found = gradient(backend, dtype)(np.ones(5, dtype), w, np.array([1, 3, 1, 3]), weights)
    np.testing.assert_array_equal(found, np.array([0, 2 * 5, 0, 3 * -1.5, 0], dtype))
    assert found.dtype == dtype


ZEROS = {
    "0": [0.0],
    "-0": [-0.0],
    "zeros of both signs": [-0.0, 0.0],
    "many of -0": [-0.0] * 9,
    "what cancels": [1.5, -1.5],
    "what cancels, from below": [-1.5, 1.5, -0.0],
    "the least there is": [-5e-324, 5e-324],
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("added", ZEROS.values(), ids=ZEROS)
def test_a_sum_of_0_times_infinity_is_nan(backend, added, dtype):
    f, n = gradient(backend, dtype), len(added)
    w, weights = np.full(40, np.inf, dtype), np.array(added, dtype)
    for place in (0, 7, 39):
        found = f(np.ones(40, dtype), w, np.full(n, place), weights)
        assert np.flatnonzero(np.isnan(found)).tolist() == [place]
        assert not np.signbit(found[np.arange(40) != place]).any()


@pytest.mark.parametrize("order", [np.asarray, np.sort])
@pytest.mark.parametrize("n", [0, 1, 200_000])
def test_several_threads_find_the_same_places_in_runs_too(n, order):
    x, w, at, weights = tg.vector("x"), tg.vector("w"), tg.vector("at", "int64"), tg.vector("weights")
    cotangent = tg.grad(tg.sum(tg.exp((w * x)[at] * weights)), x)
    draw = np.random.default_rng(n)
    places = order(draw.integers(0, 50, n) * 2)
    given = (draw.normal(size=100), np.where(np.arange(100) % 2, np.inf, 0.5), places, draw.normal(size=n))
    found = [tg.function([x, w, at, weights], cotangent, backend=tg.backend("c", threads=k))(*given) for k in (1, 2, 3)]
    wanted = np.bincount(places, np.exp(0.5 * given[0][places] * given[3]) * given[3], 100) * 0.5
    for one in found:
        np.testing.assert_allclose(one, wanted, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("begun", [0.0, -0.0, 1.0])
def test_sums_at_other_places_or_onto_numbers_have_masks_of_their_own(backend, begun):
    x, i, j = tg.vector("x"), tg.vector("i", "int64"), tg.vector("j", "int64")
    mask = tg.zeros(4, dtype="bool").at[i].set(True)
    sums = tg.full(4, begun).at[i if begun or np.signbit(begun) else j].add(x)
    f = tg.function([x, i, j], [tg.where(mask, sums, 9.0), j], backend=backend)
    assert NAME not in tg.explain(f).counts
    given, marked, other = np.array([1.0, 2.0, -3.0]), np.array([0, 2, 2]), np.array([1, 1, 0])
    wanted = np.full(4, begun)
    np.add.at(wanted, marked if begun or np.signbit(begun) else other, given)
    wanted[[1, 3]] = 9
    np.testing.assert_array_equal(f(given, marked, other)[0], wanted)
