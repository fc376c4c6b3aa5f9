"""Draws of all distributions: SciPy's distribution functions with fixed keys, ends of parameters, derivatives."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy import special, stats

import tg

KEY = np.array([2718281828, 3141592653], np.uint32)
LEAST = 1e-5  # the level of each test of a distribution: with fixed keys they fail for a wrong sampler only
COUNT = 4000
INF = np.inf

REAL = {
    "standard_normal": [((), stats.norm())],
    "lognormal": [((0.5, 0.7), stats.lognorm(0.7, scale=np.exp(0.5)))],
    "halfnormal": [((1.0, 2.0), stats.halfnorm(1, 2))],
    "truncnorm": [
        ((-1.0, 2.0), stats.truncnorm(-1, 2)),
        ((0.5, INF, 1.0, 3.0), stats.truncnorm(0.5, INF, 1, 3)),
        ((30.0, 31.0), stats.truncnorm(30, 31)),
        ((-INF, -8.0), stats.truncnorm(-INF, -8)),
    ],
    "truncexpon": [((2.0, 1.0, 3.0), stats.truncexpon(2, 1, 3)), ((50.0,), stats.truncexpon(50))],
    "halfcauchy": [((1.0, 2.0), stats.halfcauchy(1, 2))],
    "rayleigh": [((2.5,), stats.rayleigh(scale=2.5))],
    "weibull": [((0.6, 2.0), stats.weibull_min(0.6, scale=2)), ((5.0,), stats.weibull_min(5))],
    "pareto": [((3.0, 2.0), stats.pareto(3, scale=2)), ((0.5,), stats.pareto(0.5))],
    "power": [((0.3,), stats.powerlaw(0.3)), ((4.0,), stats.powerlaw(4))],
    "triangular": [
        ((-1.0, 0.5, 2.0), stats.triang(0.5, -1, 3)),
        ((0.0, 0.0, 1.0), stats.triang(0, 0, 1)),
        ((0.0, 1.0, 1.0), stats.triang(1, 0, 1)),
    ],
    "wald": [
        ((1.0, 2.0), stats.invgauss(0.5, scale=2)),
        ((300.0, 0.1), stats.invgauss(3000, scale=0.1)),
        ((2.0, 1e6), stats.invgauss(2e-6, scale=1e6)),
    ],
    "vonmises": [
        ((0.5, 0.01), stats.vonmises(0.01)),
        ((0.0, 1.0), stats.vonmises(1)),
        ((0.0, 50.0), stats.vonmises(50)),
        ((0.0, 4e6), stats.norm(0, 5e-4)),
    ],
    "gamma": [
        ((2.5, 2.0), stats.gamma(2.5, scale=2)),
        ((1.0,), stats.gamma(1)),
        ((0.3,), stats.gamma(0.3)),
        ((1e6,), stats.gamma(1e6)),
    ],
    "invgamma": [((3.0, 2.0), stats.invgamma(3, scale=2)), ((0.5,), stats.invgamma(0.5))],
    "gengamma": [((2.0, 1.5, 3.0), stats.gengamma(2, 1.5, scale=3)), ((0.2, -2.0), stats.gengamma(0.2, -2))],
    "beta": [
        ((2.0, 3.0), stats.beta(2, 3)),
        ((0.3, 0.2), stats.beta(0.3, 0.2)),
        ((1e5, 2e5), stats.beta(1e5, 2e5)),
    ],
    "chisquare": [((3.0,), stats.chi2(3)), ((0.5,), stats.chi2(0.5))],
    "t": [
        ((4.0, 1.0, 2.0), stats.t(4, 1, 2)),
        ((1.0,), stats.cauchy()),
        ((1e6,), stats.norm()),
        ((INF, 1.0, 2.0), stats.norm(1, 2)),
    ],
    "f": [((3.0, 7.0), stats.f(3, 7))],
}
WHOLE = {
    "poisson": [((m,), stats.poisson(m)) for m in (0.02, 4.0, 9.99, 10.0, 35.0, 1e6)],
    "binomial": [
        ((n, p), stats.binom(n, p))
        for n, p in (
            (1, 0.5),
            (20, 0.3),
            (20, 0.97),
            (40, 0.25),
            (40, 0.75),
            (1000, 0.5),
            (10**9, 1e-9),
            (10**6, 0.999),
        )
    ],
    "betabinom": [((30, 2.0, 3.0), stats.betabinom(30, 2, 3)), ((8, 0.3, 0.3), stats.betabinom(8, 0.3, 0.3))],
    "nbinom": [((2.5, 0.3), stats.nbinom(2.5, 0.3)), ((40, 0.5), stats.nbinom(40, 0.5))],
    "nbinom2": [
        ((mu, alpha), stats.nbinom(alpha, alpha / (alpha + mu))) for mu, alpha in ((3.0, 2.5), (40.0, 0.3), (5.0, 1e4))
    ]
    + [((5.0, alpha), stats.poisson(5.0)) for alpha in (1e18, np.inf)],
    "geometric": [((p,), stats.geom(p)) for p in (0.9, 0.5, 0.02)],
    "hypergeometric": [
        ((good, bad, chosen), stats.hypergeom(good + bad, good, chosen))
        for good, bad, chosen in (
            (5, 7, 4),
            (7, 5, 9),
            (3, 400, 200),
            (60, 40, 30),
            (40, 60, 70),
            (50, 50, 50),
            (10**5, 3 * 10**5, 2000),
            (12, 1000, 500),
        )
    ],
}


def drawn(name, arguments, **options):
    return getattr(tg.random, name)(KEY, *arguments, **{"shape": (COUNT,), **options}).eval()


def cases(table):
    return [pytest.param(name, *case, id=f"{name}{case[0]}") for name, each in table.items() for case in each]


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("name", "arguments", "exact"), cases(REAL))
def test_real_numbers_have_the_distribution(name, arguments, exact):
    found = drawn(name, arguments)
    assert found.dtype == "float64"
    assert np.isfinite(found).all()
    if name == "vonmises":
        assert np.abs(found).max() <= np.pi
        found = np.mod(found - arguments[0] + np.pi, 2 * np.pi) - np.pi
    assert stats.kstest(found, exact.cdf).pvalue > LEAST


def goodness(found, exact):
    """The p-value of chi-square's test, of classes that are expected five times at least."""
    edges = np.unique(exact.ppf(np.linspace(0, 1, 41)[1:-1]))
    chances = np.diff(np.concatenate([[0], exact.cdf(edges), [1]]))
    counts = np.bincount(np.searchsorted(edges, found), minlength=len(edges) + 1)
    joined = chances * len(found) >= 5
    if not joined.all():
        chances, counts = (np.append(v[joined], v[~joined].sum()) for v in (chances, counts))
    kept = chances > 0
    if kept.sum() < 2:
        return 1.0
    assert counts[~kept].sum() == 0
    return stats.chisquare(counts[kept], chances[kept] / chances[kept].sum() * counts.sum()).pvalue


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("name", "arguments", "exact"), cases(WHOLE))
def test_counts_have_the_distribution(name, arguments, exact):
    found = drawn(name, arguments)
    assert found.dtype == "int64"
    low, high = exact.support()
    assert low <= found.min()
    assert found.max() <= high
    assert goodness(found, exact) > LEAST


@pytest.mark.parametrize("name", ["gamma", "beta", "t", "chisquare", "wald"])
def test_float32_is_computed_in_float64(name):
    arguments = REAL[name][0][0]
    single = drawn(name, arguments, dtype="float32")
    np.testing.assert_array_equal(single, drawn(name, arguments).astype("float32"), strict=True)
    assert getattr(tg.random, name)(KEY, *map(np.float32, arguments)).type.dtype == "float32"


def test_shapes_at_the_ends():
    a = np.array([0.0, 1e-3, 1e-300, -1.0, np.nan, INF])
    found = tg.random.gamma(KEY, a, shape=(500, 6)).eval()
    assert (found[:, 0] == 0).all()
    assert (found[:, 2] == 0).all()
    assert np.isnan(found[:, 3:5]).all()
    assert (found[:, 5] == INF).all()
    # the logarithm of a small one is -e / a but for the last digits: it is no number where e > 0.745
    zeros = np.mean(tg.random.gamma(KEY, 1e-3, shape=(COUNT,)).eval() == 0)
    assert stats.binomtest(int(zeros * COUNT), COUNT, special.gammainc(1e-3, 5e-324)).pvalue > LEAST
    small = tg.random.beta(KEY, 1e-3, 1e-3, shape=(COUNT,)).eval()
    assert stats.binomtest(int((small < 0.5).sum()), COUNT, 0.5).pvalue > LEAST
    assert np.isfinite(tg.random.dirichlet(KEY, np.full(3, 1e-3), shape=(50,)).eval()).all()
    for name, arguments in {"beta": (-1.0, 2.0), "t": (-1.0,), "wald": (-1.0, 1.0), "vonmises": (0.0, -1.0)}.items():
        assert np.isnan(drawn(name, arguments)).all()
    for name, arguments in {"weibull": (-1.0,), "truncnorm": (2.0, 1.0), "triangular": (0.0, 2.0, 1.0)}.items():
        assert np.isnan(drawn(name, arguments)).all()


def test_counts_of_parameters_at_the_ends():
    r = tg.random
    means = np.array([0.0, -1.0, np.nan, INF, 1e300])
    found = r.poisson(KEY, means, shape=(200, 5)).eval()
    np.testing.assert_array_equal(found, np.broadcast_to([0, -1, -1, -1, -1], (200, 5)))
    n, p = [0, 5, 5, 5, 5, -1, 5, 10**6], [0.3, 0.0, 1.0, 1.5, np.nan, 0.5, -0.1, 1.0]
    found = r.binomial(KEY, n, p, shape=(200, 8)).eval()
    np.testing.assert_array_equal(found, np.broadcast_to([0, 0, 5, -1, -1, -1, -1, 10**6], (200, 8)))
    found = r.geometric(KEY, [1.0, 0.0, -1.0, np.nan, 2.0], shape=(200, 5)).eval()
    np.testing.assert_array_equal(found, np.broadcast_to([1, -1, -1, -1, -1], (200, 5)))
    found = r.nbinom(KEY, [3.0, 3.0, 0.0, -1.0], [1.0, 0.0, 0.5, 0.5], shape=(200, 4)).eval()
    np.testing.assert_array_equal(found, np.broadcast_to([0, -1, 0, -1], (200, 4)))
    found = r.hypergeometric(KEY, [3, 0, 5, 3, 3], [4, 9, 0, 4, -1], [7, 4, 3, 8, 1], shape=(200, 5)).eval()
    np.testing.assert_array_equal(found, np.broadcast_to([3, 0, 3, -1, -1], (200, 5)))
    assert r.poisson(KEY, 3.0, dtype="int16").eval().dtype == "int16"
    with pytest.raises(tg.DtypeError, match="poisson: dtype: found uint8, needed a signed integer"):
        r.poisson(KEY, 3.0, dtype="uint8")


def test_vectors_have_the_distribution():
    r = tg.random
    alpha = np.array([0.5, 2.0, 4.0])
    found = r.dirichlet(KEY, alpha, shape=(COUNT,)).eval()
    np.testing.assert_allclose(found.sum(-1), 1, rtol=1e-14)
    for k in range(3):
        assert stats.kstest(found[:, k], stats.beta(alpha[k], alpha.sum() - alpha[k]).cdf).pvalue > LEAST
    assert r.dirichlet(KEY, [1, 2, 3], shape=(2,)).eval().shape == (2, 3)  # integers too
    p = np.array([0.1, 0.0, 0.6, 0.3])
    counts = r.multinomial(KEY, 20, p, shape=(COUNT,)).eval()
    assert (counts.sum(-1) == 20).all()
    for k in range(4):
        assert goodness(counts[:, k], stats.binom(20, p[k])) > LEAST
    assert stats.chisquare(counts.sum(0)[p > 0], 20 * COUNT * p[p > 0]).pvalue > LEAST
    wrong = r.multinomial(KEY, [3, 3, 0], [[0.5, -0.1, 0.6], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]).eval()
    np.testing.assert_array_equal(wrong, [[-1] * 3, [-1] * 3, [0] * 3])


@pytest.mark.parametrize("method", ["cholesky", "eigh", "svd"])
def test_normal_vectors_have_their_covariance(method):
    mean, cov = np.array([1.0, -2.0, 0.5]), np.array([[2.0, 0.6, 0.1], [0.6, 1.0, -0.4], [0.1, -0.4, 0.5]])
    found = tg.random.multivariate_normal(KEY, mean, cov, shape=(COUNT,), method=method).eval()
    whitened = np.linalg.solve(np.linalg.cholesky(cov), (found - mean).T)
    for k in range(3):
        assert stats.kstest(whitened[k], stats.norm.cdf).pvalue > LEAST
    assert stats.pearsonr(whitened[0], whitened[1]).pvalue > LEAST
    means, covs = np.stack([mean, -mean]), np.stack([cov, 4 * cov])
    both = tg.random.multivariate_normal(KEY, means, covs, method=method).eval()
    z = tg.random.multivariate_normal(KEY, np.zeros(3), cov, shape=(2,), method=method).eval()
    np.testing.assert_allclose(both, means + z * [[1], [2]], rtol=1e-12, atol=1e-12)


def test_multivariate_normal_takes_known_methods():
    with pytest.raises(tg.OptionError, match="method: found 'qr', needed one of cholesky, eigh, svd"):
        tg.random.multivariate_normal(KEY, np.zeros(2), np.eye(2), method="qr")


def test_categories_are_those_of_jax(jax):
    theirs, logits = jax.random.wrap_key_data(KEY), np.array([[0.1, -1.0, 2.0], [0.0, -INF, 0.0]])
    found = tg.random.categorical(KEY, logits=logits, shape=(50, 2)).eval()
    np.testing.assert_array_equal(found, jax.random.categorical(theirs, logits, shape=(50, 2)))
    p = np.array([0.2, 0.0, 3.0])
    drawn = tg.random.categorical(KEY, p, shape=(COUNT,)).eval()
    assert stats.chisquare(np.bincount(drawn)[[0, 2]], COUNT * p[[0, 2]] / 3.2).pvalue > LEAST
    assert not (drawn == 1).any()
    np.testing.assert_array_equal(tg.random.categorical(KEY, [[0.5, -1.0], [np.nan, 1.0]]).eval(), [-1, -1])
    with pytest.raises(tg.InputError, match="categorical: found both or neither of p and logits"):
        tg.random.categorical(KEY)


@pytest.mark.long
def test_weighted_choices_are_those_of_jax(jax):
    theirs, p = jax.random.wrap_key_data(KEY), np.array([0.1, 0.0, 0.4, 0.2, 0.3])
    x = np.arange(15.0).reshape(3, 5)
    for replace, shape in ((True, (3, 40)), (False, (4,))):
        wanted = jax.random.choice(theirs, 5, shape, p=p, replace=replace)
        np.testing.assert_array_equal(tg.random.choice(KEY, 5, shape, p=p, replace=replace).eval(), wanted)
        found = tg.random.choice(KEY, x, shape, p=p, replace=replace, axis=1).eval()
        np.testing.assert_array_equal(found, x[:, wanted])
    with pytest.raises(tg.ShapeError, match="choice: p"):
        tg.random.choice(KEY, 4, (2,), p=p)


def test_a_shuffled_array_is_its_permutation():
    x = np.arange(12).reshape(4, 3)
    for axis in (0, 1):
        np.testing.assert_array_equal(
            tg.random.shuffle(KEY, x, axis).eval(), tg.random.permutation(KEY, x, axis).eval()
        )
    with pytest.raises(tg.ShapeError, match=r"shuffle: found int64\[\], needed an array\n  hint: tg.random.perm"):
        tg.random.shuffle(KEY, 4)


# --- derivatives -----------------------------------------------------------------------------------------------------


def test_gamma_draws_move_with_their_shape_as_quantiles_do():
    a = np.repeat([1e-3, 0.1, 0.7, 1.0, 3.0, 25.0, 400.0, 1e5], 20)
    shape = tg.vector("shape", shape=(160,))
    y = tg.random.gamma(KEY, shape)
    found, slope = tg.evaluate([y, tg.grad(tg.sum(y), shape)], {shape: a})
    assert np.isfinite(slope).all()
    kept = found > 1e-250
    a, found, slope = a[kept], found[kept], slope[kept]
    h = 1e-4 * a
    below = special.gammainc(a, found)

    def quantile(b):
        lower, upper = special.gammaincinv(b, below), special.gammainccinv(b, special.gammaincc(a, found))
        return np.where(below < 0.5, lower, upper)

    differences = (quantile(a - 2 * h) - 8 * quantile(a - h) + 8 * quantile(a + h) - quantile(a + 2 * h)) / (12 * h)
    np.testing.assert_allclose(slope, differences, rtol=2e-5, atol=1e-300)


def test_logarithms_of_gamma_draws_move_by_their_first_term_far_below():
    a = tg.vector("a", shape=(50,))
    bits = tg.random.bits(KEY, (50,))
    y = tg.log_gamma_draw(a, bits)
    given = np.full(50, 1e-3)
    found, slope = tg.evaluate([y, tg.grad(tg.sum(y), a)], {a: given})
    far = found < -100
    assert far.any()
    np.testing.assert_allclose(slope[far], (special.digamma(1.001) - found[far]) / 1e-3, rtol=1e-12)


MEANS = {
    # the mean of a function of draws, which is known, and its derivative by each parameter
    "gamma": ((2.5, 2.0), lambda y: tg.log(y), (special.polygamma(1, 2.5), 0.5)),
    "invgamma": ((4.0, 3.0), lambda y: y, (-3 / 9, 1 / 3)),
    "gengamma": ((2.0, 3.0), lambda y: tg.log(y), (special.polygamma(1, 2) / 3, -special.digamma(2) / 9)),
    "beta": ((0.6, 1.7), lambda y: y, (1.7 / 2.3**2, -0.6 / 2.3**2)),
    "chisquare": ((3.0,), lambda y: y, (1.0,)),
    "t": ((9.0, 0.5, 2.0), lambda y: y * y, (4 * (1 / 7 - 9 / 49), 1.0, 4 * 9 / 7)),
    "f": ((4.0, 12.0), lambda y: y, (0.0, 1 / 10 - 12 / 100)),
    "wald": ((1.5, 2.0), lambda y: y * y, (3.0 + 3 * 1.5**2 / 2, -(1.5**3) / 4)),
    "truncnorm": ((-0.5, 1.5), lambda y: y, None),
    "triangular": ((0.0, 1.0, 4.0), lambda y: y, (1 / 3, 1 / 3, 1 / 3)),
    "weibull": ((1.5, 2.0), lambda y: tg.log(y), (0.5772156649015329 / 1.5**2, 0.5)),
    "pareto": ((3.0, 2.0), lambda y: tg.log(y), (-1 / 9, 0.5)),
    "lognormal": ((0.1, 0.4), lambda y: y, (np.exp(0.18), 0.4 * np.exp(0.18))),
}


def slope_of_truncnorm():
    def mean(a, b):
        return stats.truncnorm(a, b).mean()

    h = 1e-5
    return tuple((mean(-0.5 + x, 1.5 + y) - mean(-0.5 - x, 1.5 - y)) / (2 * h) for x, y in ((h, 0), (0, h)))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", MEANS)
def test_the_mean_of_derivatives_is_the_derivative_of_the_mean(name):
    values, function, wanted = MEANS[name]
    parameters = [tg.vector(f"p{k}", shape=(COUNT,)) for k in range(len(values))]
    slopes = tg.grad(tg.sum(function(getattr(tg.random, name)(KEY, *parameters))), parameters)
    found = tg.evaluate(slopes, {v: np.full(COUNT, x) for v, x in zip(parameters, values, strict=True)})
    for each, exact in zip(found, wanted or slope_of_truncnorm(), strict=True):
        error = each.std() / np.sqrt(COUNT)
        assert abs(each.mean() - exact) < 4.5 * error + 1e-12


def test_wald_draws_move_as_quantiles_do():
    mean, scale = tg.scalar("mean"), tg.scalar("scale")
    y = tg.random.wald(KEY, mean, scale, shape=(40,))
    by_each = tg.jacobian(y, [mean, scale])
    found, by_mean, by_scale = tg.evaluate([y, *by_each], {mean: 1.5, scale: 2.0})

    def cdf(m, s, x):
        return stats.invgauss(m / s, scale=s).cdf(x)

    h = 1e-5
    density = stats.invgauss(0.75, scale=2.0).pdf(found)
    in_mean = (cdf(1.5 + h, 2.0, found) - cdf(1.5 - h, 2.0, found)) / (2 * h)
    in_scale = (cdf(1.5, 2.0 + h, found) - cdf(1.5, 2.0 - h, found)) / (2 * h)
    np.testing.assert_allclose(by_mean, -in_mean / density, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(by_scale, -in_scale / density, rtol=1e-6, atol=1e-8)


def test_dirichlet_draws_move_with_alpha():
    alpha = tg.vector("alpha", shape=(3,))
    mean = tg.mean(tg.random.dirichlet(KEY, alpha, shape=(COUNT,)), 0)
    found = tg.jacobian(mean, alpha).eval({alpha: [0.5, 2.0, 4.0]})
    given = np.array([0.5, 2.0, 4.0])
    wanted = (np.eye(3) * given.sum() - given[:, None]) / given.sum() ** 2
    np.testing.assert_allclose(found, wanted, atol=0.012)


def test_counts_have_no_slope_and_vonmises_none_in_kappa():
    lam = tg.scalar("lam")
    for y in (tg.poisson_draw(lam, tg.random.bits(KEY)), tg.random.poisson(KEY, lam).astype("float64")):
        assert tg.grad(y, lam, disconnected="zero").eval({lam: 3.0}) == 0
    with pytest.raises(tg.NotDifferentiable, match="vonmises: has no derivative with respect to kappa"):
        tg.grad(tg.random.vonmises(KEY, 0.0, lam), lam)
    assert tg.grad(tg.random.vonmises(KEY, lam, 3.0), lam).eval({lam: 0.5}) == 1


# --- what all samplers share ------------------------------------------------------------------------------------------


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", [*REAL, *WHOLE])
def test_a_draw_of_each_lane_and_a_slice_of_draws(name):
    arguments = (REAL.get(name) or WHOLE[name])[0][0]
    sampler = getattr(tg.random, name)
    keys = tg.random.split(KEY, 3)
    lanes = tg.vmap(lambda key: sampler(key, *arguments, shape=(4,)))(keys).eval()
    for k in range(3):
        np.testing.assert_array_equal(lanes[k], sampler(keys[k], *arguments, shape=(4,)).eval())
    whole = sampler(KEY, *arguments, shape=(30, 2))
    np.testing.assert_array_equal(whole[7:9, 1].eval(), whole.eval()[7:9, 1])


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", [*REAL, *WHOLE, "uniform", "normal", "integers"])
def test_a_shape_by_position_is_pointed_to(name):
    import inspect

    kinds = [p.kind for p in inspect.signature(getattr(tg.random, name)).parameters.values()]
    most = kinds.count(inspect.Parameter.POSITIONAL_OR_KEYWORD)
    text = rf"{name}: found {most + 1} arguments by position, needed at most {most}\n  hint: shape=\(3,\) is the shape"
    with pytest.raises(tg.InputError, match=text):
        getattr(tg.random, name)(KEY, *[0.5] * (most - 1), (3,))


def test_a_name_that_is_near_is_one_of_the_module():
    with pytest.raises(AttributeError, match=r"no attribute 'choise'\n  hint: tg.random.choice exists"):
        tg.random.choise  # noqa: B018
    with pytest.raises(
        AttributeError, match=r"'default_rng'\n  hint: `tg.random.RandomStream\(0\)` has NumPy's methods"
    ):
        tg.random.default_rng  # noqa: B018


SCALED = {  # what goes before the scale
    **dict.fromkeys(
        ("cauchy", "gumbel", "halfcauchy", "halfnormal", "laplace", "logistic", "lognormal", "normal"), (0.0,)
    ),
    **dict.fromkeys(("exponential", "rayleigh"), ()),
    **dict.fromkeys(("gamma", "invgamma", "pareto", "weibull"), (1.5,)),
    "gengamma": (1.5, 2.0),
    "t": (3.0, 0.0),
    "truncexpon": (2.0, 0.0),
    "truncnorm": (-1.0, 2.0, 0.0),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", SCALED)
def test_a_scale_below_0_is_none_and_mirrors_no_draw(name):
    sampler, scale = functools.partial(getattr(tg.random, name), KEY, *SCALED[name]), tg.vector("scale")
    draw = tg.function([scale], sampler(scale), backend="perform")
    found = draw(np.array([2.0, -2.0, 0.0, np.nan]))
    np.testing.assert_array_equal(np.isnan(found), [False, True, False, True])
    assert np.isnan(sampler(-1.0).eval())
    assert found[0] == sampler(2.0, shape=(4,)).eval()[0]
