"""Samplers: JAX's bits where they are few operations away, distributions of SciPy's for all, with fixed keys."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import tg
from tg.types.dtypes import INTEGERS

KEY = np.array([2718281828, 3141592653], np.uint32)
FLOATS = ("float64", "float32", "float16", "bfloat16")


@pytest.fixture
def theirs(jax):
    """The key as JAX holds it."""
    return jax.random.wrap_key_data(KEY)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform_numbers_are_those_of_jax(jax, theirs, dtype):
    found = tg.random.uniform(KEY, shape=(3, 700), dtype=dtype).eval()
    np.testing.assert_array_equal(found, jax.random.uniform(theirs, (3, 700), dtype), strict=True)
    assert found.min() >= 0
    assert found.max() < 1


def limits():
    for dtype in INTEGERS:
        least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        ends = [(0, 10), (7, 7), (100, -100), (least, most), (least, most + 1), (most, most + 1), (most - 2, most)]
        yield from ((dtype, low, high) for low, high in ends if low >= -(1 << 63) and high < 1 << 63)
    yield from (("int64", 0, 3 << 40), ("uint32", 5, 1 << 32), ("int16", -70_000, 70_000), ("uint64", -3, 9))


@pytest.mark.sampled(16)
@pytest.mark.parametrize(("dtype", "low", "high"), list(limits()))
def test_integers_are_those_of_jax(jax, theirs, dtype, low, high):
    found = tg.random.integers(KEY, low, high, shape=(40,), dtype=dtype).eval()
    least, most = np.int64(low), np.int64(high)  # JAX would take Python's integers in int32
    np.testing.assert_array_equal(found, jax.random.randint(theirs, (40,), least, most, dtype), strict=True)
    a, b = tg.scalar("a", "int64"), tg.scalar("b", "int64")
    drawn = tg.random.integers(KEY, a, b, shape=(40,), dtype=dtype)
    np.testing.assert_array_equal(drawn.eval({a: low, b: high}), found, strict=True)


def test_all_of_uint64_is_drawn(jax):
    """Its limit is an integer that no dtype holds; the low half of two draws is left."""
    found = tg.random.integers(KEY, 0, 1 << 64, shape=(9,), dtype="uint64").eval()
    own = tg.random.split(KEY)[1]
    np.testing.assert_array_equal(found, tg.random.bits(own, (9,)).eval(), strict=True)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("n", [0, 1, 2, 40, 1625, 1626])
def test_orders_are_those_of_jax(jax, theirs, n):
    wanted = jax.random.permutation(theirs, n)
    count = tg.scalar("count", "int64")
    np.testing.assert_array_equal(tg.random.permutation(KEY, n).eval(), wanted, strict=True)
    np.testing.assert_array_equal(tg.random.permutation(KEY, count).eval({count: n}), wanted, strict=True)


@pytest.mark.long
def test_arrays_in_an_order_and_choices_are_those_of_jax(jax, theirs):
    x = np.arange(24.0).reshape(4, 6)
    r = tg.random
    for axis in (0, 1):
        np.testing.assert_array_equal(r.permutation(KEY, x, axis).eval(), jax.random.permutation(theirs, x, axis))
    for replace in (True, False):
        wanted = jax.random.choice(theirs, x, (2, 2), replace=replace, axis=1)
        np.testing.assert_array_equal(r.choice(KEY, x, (2, 2), replace=replace, axis=1).eval(), wanted)


@pytest.mark.long
def test_normal_numbers_are_near_those_of_jax(jax, theirs):
    for dtype, ulps in (("float64", 128), ("float32", 66)):
        found = tg.random.normal(KEY, shape=(2000,), dtype=dtype).eval()
        wanted = np.asarray(jax.random.normal(theirs, (2000,), dtype))
        assert (np.abs(found - wanted) <= ulps * np.spacing(np.abs(wanted))).all()


LOCATED = {
    "normal": scipy.stats.norm,
    "laplace": scipy.stats.laplace,
    "logistic": scipy.stats.logistic,
    "gumbel": scipy.stats.gumbel_r,
    "cauchy": scipy.stats.cauchy,
}
LEAST = 1e-5  # the level of each test of a distribution: with fixed keys they fail for a wrong sampler only


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", LOCATED)
def test_draws_have_the_distribution(name, dtype):
    loc, scale = np.array([-2.0, 0.0, 30.0], dtype), np.array([0.3, 1.0, 7.0], dtype)
    found = getattr(tg.random, name)(KEY, loc, scale, shape=(8000, 3), dtype=dtype).eval()
    assert found.dtype == dtype
    assert np.isfinite(found).all()
    for k in range(3):
        exact = LOCATED[name](float(loc[k]), float(scale[k]))
        assert scipy.stats.kstest(found[:, k], exact.cdf).pvalue > LEAST


def test_exponential_and_uniform_draws_have_the_distribution():
    drawn = tg.random.exponential(KEY, 2.5, shape=(20_000,)).eval()
    assert scipy.stats.kstest(drawn, scipy.stats.expon(scale=2.5).cdf).pvalue > LEAST
    assert (drawn >= 0).all()
    drawn = tg.random.uniform(KEY, -3.0, 1.5, shape=(20_000,)).eval()
    assert scipy.stats.kstest(drawn, scipy.stats.uniform(-3, 4.5).cdf).pvalue > LEAST
    assert drawn.min() >= -3
    assert drawn.max() <= 1.5


@pytest.mark.parametrize("name", LOCATED)
def test_halves_are_near_the_distribution(name):
    """A uniform half has 10 or 7 bits: the steps of the distribution function are no smaller."""
    for dtype, places in (("float16", 10), ("bfloat16", 7)):
        drawn = getattr(tg.random, name)(KEY, shape=(8000,), dtype=dtype).eval().astype(np.float64)
        distance = scipy.stats.kstest(drawn, LOCATED[name].cdf).statistic
        assert distance < 2.0**-places + scipy.stats.kstwo.isf(LEAST, 8000)


def test_integers_bools_and_orders_are_equally_likely():
    drawn = tg.random.integers(KEY, -3, 4, shape=(14_000,)).eval()
    assert scipy.stats.chisquare(np.bincount(drawn + 3)).pvalue > LEAST
    p = np.array([0.1, 0.5, 0.9])
    count = tg.random.bernoulli(KEY, p, shape=(9000, 3)).eval().sum(0)
    assert all(scipy.stats.binomtest(int(c), 9000, q).pvalue > LEAST for c, q in zip(count, p, strict=True))
    keys = tg.random.split(KEY, 6000)
    orders = tg.vmap(lambda key: tg.random.permutation(key, 3))(keys).eval()
    assert scipy.stats.chisquare(np.unique(orders, axis=0, return_counts=True)[1]).pvalue > LEAST


def test_draws_of_keys_that_were_split_have_nothing_in_common():
    a, b = (tg.random.normal(key, shape=(20_000,)).eval() for key in tg.unstack(tg.random.split(KEY)))
    assert scipy.stats.pearsonr(a, b).pvalue > LEAST
    assert scipy.stats.pearsonr(a[1:], a[:-1]).pvalue > LEAST


def test_the_dtype_is_that_of_the_parameters():
    r = tg.random
    assert r.normal(KEY, np.float32(1), shape=(2,)).type.dtype == "float32"
    assert r.normal(KEY, tg.vector("m", "int32")).type.dtype == "float64"
    assert r.normal(KEY, np.zeros(2), dtype="float32").type.dtype == "float32"
    assert r.exponential(KEY).type.dtype == "float64"


def test_the_shape_is_what_the_parameters_broadcast_to():
    r, m = tg.random, tg.matrix("m")
    assert r.normal(KEY, np.zeros((4, 1)), np.ones(3)).type.shape == (4, 3)
    assert r.uniform(KEY, shape=5).type.shape == (5,)
    found = r.normal(KEY, m, shape=m.shape).eval({m: np.zeros((2, 3))})
    np.testing.assert_array_equal(found, r.normal(KEY, shape=(2, 3)).eval())


def test_parameters_that_do_not_fit():
    r = tg.random
    with pytest.raises(tg.InputError, match=r"normal: loc: found the tuple \(3,\), .*\n  hint: shape=\(3,\) is"):
        r.normal(KEY, (3,))
    with pytest.raises(tg.ShapeError, match=r"normal: found parameters of shape \(3,\), .* broadcasts to \(2,\)"):
        r.normal(KEY, np.zeros(3), shape=(2,))
    with pytest.raises(tg.ShapeError, match=r"normal: found parameters of shape \(2, 3\), .* broadcasts to \(3,\)"):
        r.normal(KEY, np.zeros((2, 3)), shape=(3,))
    with pytest.raises(tg.DtypeError, match="uniform: dtype: found int8, needed a real floating one"):
        r.uniform(KEY, dtype="int8")
    with pytest.raises(tg.DtypeError, match=r"integers: low: found float64\[\], needed integers"):
        r.integers(KEY, 0.5, 3)
    with pytest.raises(tg.ShapeError, match="choice: found 3 elements, needed at least 4"):
        r.choice(KEY, 3, (4,), replace=False)


def test_a_gradient_by_the_parameters_of_a_draw():
    loc, scale = tg.vector("loc", shape=(3,)), tg.vector("scale", shape=(3,))
    values = {loc: [0.5, -2.0, 3.0], scale: [1.0, 2.0, 0.25]}
    for name in LOCATED:
        drawn = getattr(tg.random, name)(KEY, loc, scale)
        z = getattr(tg.random, name)(KEY, shape=(3,)).eval()
        by_loc, by_scale = tg.evaluate(tg.grad(tg.sum(drawn), [loc, scale]), values)
        np.testing.assert_array_equal(by_loc, np.ones(3))
        np.testing.assert_allclose(by_scale, z, rtol=1e-15)
    low, high = loc, scale
    by_low, by_high = tg.evaluate(tg.grad(tg.sum(tg.random.uniform(KEY, low, high)), [low, high]), values)
    u = tg.random.uniform(KEY, shape=(3,)).eval()
    np.testing.assert_allclose(by_low, 1 - u, rtol=1e-15)
    np.testing.assert_allclose(by_high, u, rtol=1e-15)


@pytest.mark.long
def test_a_uniform_number_between_limits_is_rounded_twice_on_every_backend():
    """low + u * width as NumPy computes it: no compiler makes one rounding of the two."""
    from tg import plugin

    low, high = tg.scalar("low", "float32"), tg.scalar("high", "float32")
    drawn = tg.random.uniform(KEY, low, high, shape=(300,))
    u = tg.random.uniform(KEY, shape=(300,), dtype="float32").eval()
    for name in (s.name for s in plugin.registry().backends() if s.is_available):
        f = tg.function([low, high], drawn, backend=name)
        for a, b in ((np.float32(0.1), np.float32(3.7)), (np.float32(5.3), np.float32(-1.9))):
            np.testing.assert_array_equal(f(a, b), a + u * (b - a), name, strict=True)
