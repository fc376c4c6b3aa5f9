"""What is scattered to positions in runs, in any order, beside what needs wrapping; of whole numbers sums are exact."""

import numpy as np
import pytest

import tg

N, PLACES = 3000, 7
BACKENDS = ("numba", "perform")


def orders(rng):
    """Positions that are alike for long, for short, for blocks here and there, and never."""
    several = rng.integers(0, PLACES, N)
    blocks = np.repeat(rng.integers(0, PLACES, N // 8), 8)
    mixed = np.where(np.repeat(rng.random(N // 40) < 0.5, 40), np.repeat(several[: N // 40], 40), several)
    return {"equal": np.full(N, 3), "sorted": np.sort(several), "blocks": blocks, "mixed": mixed, "random": several}


def whole(rng, dtype, *shape):
    return rng.integers(-4, 5, shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("order", ["equal", "sorted", "blocks", "mixed", "random"])
def test_sums_at_positions(order, dtype):
    a, b, x = (tg.tensor(name, dtype, (None,)) for name in "abx")
    i = tg.tensor("i", "int64", (None,))
    z = x - (a[i] * x + b[i])
    f, reference = (
        tg.function([a, b, x, i], [tg.sum(z), *tg.grad(tg.sum(z * z), [a, b])], backend=k) for k in BACKENDS
    )
    rng = np.random.default_rng(5)
    index = orders(rng)[order]
    given = [whole(rng, dtype, n) for n in (PLACES, PLACES, N)]
    for positions in (index, index - PLACES, np.where(rng.random(N) < 0.01, index - PLACES, index), index[: N - 5]):
        arrays = [*given[:2], given[2][: positions.size], positions]
        for found, wanted in zip(f(*arrays), reference(*arrays), strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("order", ["sorted", "mixed"])
def test_positions_along_two_axes(order):
    b, x = tg.matrix("b"), tg.vector("x")
    i, j = tg.tensor("i", "int32", (None,)), tg.tensor("j", "uint64", (None,))
    outputs = [tg.sum(b[i, j] * x), tg.grad(tg.sum(b[i, j] * x), b)]
    f, reference = (tg.function([b, x, i, j], outputs, backend=k) for k in BACKENDS)
    rng = np.random.default_rng(6)
    index = orders(rng)[order]
    arrays = [whole(rng, "float64", PLACES, 4), whole(rng, "float64", N), index.astype("int32")]
    for other in (np.full(N, 2), index // 2, rng.integers(0, 4, N)):
        given = [*arrays, other.astype("uint64")]
        for found, wanted in zip(f(*given), reference(*given), strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_what_is_not_finite_stays_at_its_position():
    x, i = tg.vector("x"), tg.tensor("i", "int64", (None,))
    f = tg.function([x, i], tg.zeros(PLACES).at[i].add(x * 2.0), backend="numba")
    index, a = np.repeat(np.arange(PLACES), 100), np.ones(100 * PLACES)
    a[250], a[350], a[351] = np.nan, np.inf, -np.inf
    found = f(a, index)
    np.testing.assert_array_equal(np.isnan(found), [k in (2, 3) for k in range(PLACES)])
    np.testing.assert_array_equal(found[[0, 1, 4, 5, 6]], 200)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_positions_that_follow_from_signs(dtype):
    x, y = tg.tensor("x", dtype, (None,)), tg.vector("y")
    sign = tg.signbit(tg.real(x) if dtype == "complex128" else x)
    f, reference = (tg.function([x, y], tg.zeros(2).at[tg.cast(sign, "int64")].add(y), backend=k) for k in BACKENDS)
    arrays = np.where(np.arange(N) % 3, 0.0, -0.0).astype(dtype), whole(np.random.default_rng(7), "float64", N)
    np.testing.assert_array_equal(f(*arrays), reference(*arrays))
