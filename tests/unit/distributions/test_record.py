"""What holds of all distributions: parameters, dtypes, shapes, values outside of the support, mistakes."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import stats

import tg
from tests.unit.distributions.laws import LAWS, asked

d = tg.distributions
NAMES = [name for name in d.__all__ if name != "Distribution"]
METHODS = ("logpdf", "logpmf", "pdf", "pmf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf")
MOMENTS = ("entropy", "mean", "variance", "std")
WRONG = {
    "> 0": (0.0, -1.0),
    "≥ 0": (-1.0,),
    "not 0": (0.0,),
    "in [0, 1]": (-0.1, 1.1),
    "in (0, 1]": (0.0, 1.1),
    "an integer ≥ 0": (-1.0, 2.5, np.inf),
    "an integer": (0.5, np.inf),
}
BETWEEN = {  # each is what it has to be, but not beside the others
    "uniform": [(1.0, 1.0), (2.0, 1.0)],
    "integers": [(3, 3), (4, 3)],
    "triangular": [(0.0, 2.0, 1.0), (1.0, 1.0, 1.0), (0.5, 0.2, 1.0)],
    "hypergeometric": [(2, 3, 6)],
}


def wrong_rows(name):
    """Rows of parameters, one of which is NaN or not what it has to be."""
    law, row = getattr(d, name), [float(v) for v in LAWS[name][1][0]]
    rows = [(*row[:k], v, *row[k + 1 :]) for k, p in enumerate(law.parameters)
            for v in (np.nan, *WRONG.get(p.constraint.text, ()))]  # fmt: skip
    return [*rows, *BETWEEN.get(name, [])]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", LAWS)
def test_a_parameter_that_is_not_what_it_has_to_be_makes_nan(name):
    columns = [np.array(column, float) for column in zip(*wrong_rows(name), strict=True)]
    law = getattr(d, name)
    x = LAWS[name][0](*LAWS[name][1][0]).ppf(0.4)
    quantiles = ("ppf", "isf")
    values = [getattr(law, method)(0.4 if method in quantiles else x, *columns) for method in asked(name, METHODS)]
    values += [getattr(law, method)(*columns) for method in asked(name, MOMENTS)]
    for found in tg.function([], values, backend="perform")():
        assert np.isnan(found).all()
        assert found.shape == columns[0].shape


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", LAWS)
def test_derivatives_outside_of_the_support_are_0(name):
    """And where one element is outside, those of the others are what they are."""
    make, table = LAWS[name]
    law, inside = getattr(d, name), float(make(*table[0]).ppf(0.4))
    low, high = make(*table[0]).support()
    outside = [v + by for v, by in ((low, -1.0), (high, 1.0)) if np.isfinite(v)]
    x = np.array([inside, *outside, *([inside + 0.5] if law.support.whole else [])])
    v, given = tg.vector("v"), [tg.scalar(p.name) for p in law.parameters]
    y = law.logpmf(v, *given) if law.support.whole else law.logpdf(v, *given)
    slopes = tg.grad(tg.sum(tg.where(tg.isfinite(y), y, 0.0)), [v, *given])
    whole = tg.function([v, *given], [y, tg.grad(tg.sum(y), [v, *given]), slopes], backend="perform")
    parameters = [float(p) for p in table[0]]
    found, each, known = whole(x, *parameters)
    assert np.isneginf(found[1:]).all()
    alone = whole(x[:1], *parameters)[1]
    for all_of_them, finite, first in zip(each, known, alone, strict=True):
        np.testing.assert_allclose(finite, all_of_them, rtol=4 * np.finfo(float).eps)  # sums may be taken otherwise
        np.testing.assert_allclose(np.sum(all_of_them), np.sum(first), rtol=1e-12)
    assert not np.any(each[0][1:])


@pytest.mark.parametrize("name", NAMES)
def test_every_record_says_what_it_is(name):
    law = getattr(d, name)
    assert law.name == name
    assert law.doc.endswith(".")
    assert repr(law).startswith(f"tg.distributions.{name}(")
    assert all(v.constraint.text for v in law.parameters)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", LAWS)
def test_draws_are_distributed_as_the_record_says(name):
    """By the shares of draws up to SciPy's quantiles, which differ from the probabilities by 5.5 deviations at most."""
    make, table = LAWS[name]
    law, row, count = getattr(d, name), table[0], 2000
    draws = law.sample(tg.random.key(11), *row, shape=(count,)).eval()
    right = make(*row)
    for q in (0.1, 0.3, 0.5, 0.7, 0.9):
        place = right.ppf(q)
        p = right.cdf(place)
        assert abs(np.mean(draws <= place) - p) <= 5.5 * np.sqrt(p * (1 - p) / count)


def test_draws_are_those_of_tg_random():
    key = tg.random.key(7)
    found = d.normal(2.0).sample(key, scale=3.0, shape=(4,))
    np.testing.assert_array_equal(found.eval(), tg.random.normal(key, 2.0, 3.0, shape=(4,)).eval())
    assert d.normal.sample(key, dtype="float32").type.dtype == "float32"
    np.testing.assert_array_equal(d.integers.sample(key, 1, 7).eval(), tg.random.integers(key, 1, 7).eval())


def test_parameters_are_given_at_the_call_or_before():
    x = np.array([0.5, 2.0])
    wanted = d.gamma.logpdf(x, 2.5, 3.0).eval()
    prior = d.gamma(scale=3.0)
    for found in (
        d.gamma.logpdf(x, scale=3.0, a=2.5), d.gamma(2.5, 3.0).logpdf(x), prior.logpdf(x, 2.5), prior(2.5).logpdf(x)
    ):  # fmt: skip
        np.testing.assert_array_equal(found.eval(), wanted)
    assert repr(prior(2.5)) == "tg.distributions.gamma(a=2.5, scale=3.0)"
    assert repr(d.t) == "tg.distributions.t(df, loc=0.0, scale=1.0)"


MISTAKES = {
    "missing": (lambda: d.gamma.mean(), "gamma: a: found nothing, needed a, scale=1.0"),
    "unknown": (lambda: d.gamma.mean(1.0, shape=2), "gamma: found the parameter shape, which it does not have, needed"),
    "twice": (lambda: d.gamma.mean(1.0, a=2), "gamma: found the parameter a, again, needed a, scale=1.0"),
    "bound": (lambda: d.gamma(1.0).mean(a=2), "gamma: found the parameter a, again, needed a, scale=1.0"),
    "many": (lambda: d.gamma.mean(1.0, 2.0, 3.0), "gamma: found 3 parameters, needed a, scale=1.0"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_what_is_no_parameter(name):
    mistake, text = MISTAKES[name]
    with pytest.raises(tg.InputError, match=text):
        mistake()


def test_what_is_not_known_is_refused():
    with pytest.raises(
        tg.NoRuleError, match=r"poisson: logpdf: found a discrete d.*\n  hint: tg.distributions.poisson.lo"
    ):
        d.poisson.logpdf(1)
    with pytest.raises(
        tg.NoRuleError, match=r"normal: pmf: found a continuous d.*\n  hint: tg.distributions.normal.pdf"
    ):
        d.normal.pmf(1)
    with pytest.raises(tg.NoRuleError, match="wald: ppf: found no formula that is exact"):
        d.wald.ppf(0.5, 1.0, 1.0)
    with pytest.raises(tg.DtypeError, match="normal: cdf: found complex128, needed real numbers"):
        d.normal.cdf(1j)
    with pytest.raises(AttributeError, match=r"'norm'.*\n  hint: tg.distributions.normal is that of SciPy"):
        _ = d.norm


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_the_dtype_is_that_of_the_operands(dtype):
    x = tg.vector("x", dtype)
    outputs = [d.normal.logpdf(x), d.gamma.cdf(x, 2.0), d.poisson.ppf(x, 3.0), d.normal(x).mean(), d.gamma.entropy(x)]
    assert {y.type.dtype for y in outputs} == {dtype}
    for found in tg.function([x], outputs, backend="perform")(
        np.array([0.25, 0.5]).astype(tg.constant(0.0, dtype).data.dtype)
    ):
        assert np.isfinite(found.astype(float)).all()
    assert d.binomial.logpmf(tg.vector("k", "int64"), 5, 0.5).type.dtype == "float64"


def test_moments_have_the_shape_of_all_parameters():
    loc = tg.matrix("loc")
    scale = tg.vector("scale")
    found = tg.function([loc, scale], [d.normal.entropy(loc, scale), d.cauchy.mean(loc, scale)], backend="perform")
    entropy, mean = found(np.zeros((2, 3)), np.ones(3))
    assert entropy.shape == mean.shape == (2, 3)
    assert np.isnan(mean).all()
    assert d.normal.logpdf(0.0, loc, scale).type.ndim == 2


def test_second_derivatives():
    """Of log-densities by two parameters, against differences of the first ones in mpmath."""
    import mpmath as mp

    values = (1.3, 2.5, 0.7)
    x, a, b = (tg.scalar(name) for name in "xab")
    f = tg.function([x, a, b], [tg.hessian(d.gamma.logpdf(x, a, b), v) for v in (x, a, b)], backend="perform")
    g = tg.function([x, a, b], tg.grad(tg.grad(d.t.logpdf(x, a, 0.0, b), a), b), backend="perform")

    def gamma(x, a, s):
        return (a - 1) * mp.log(x) - x / s - mp.loggamma(a) - a * mp.log(s)

    def student(x, df, s):
        z = x / s
        return (
            mp.log(mp.gamma((df + 1) / 2) / mp.gamma(df / 2) / mp.sqrt(df * mp.pi))
            - (df + 1) / 2 * mp.log1p(z * z / df)
            - mp.log(s)
        )

    with mp.workdps(30):
        wanted = [mp.diff(gamma, values, tuple(2 * (k == j) for j in range(3))) for k in range(3)]
        mixed = mp.diff(student, values, (0, 1, 1))
    np.testing.assert_allclose(f(*values), np.array(wanted, float), rtol=1e-12)
    np.testing.assert_allclose(g(*values), float(mixed), rtol=1e-11)


@pytest.mark.parametrize("name", ["gamma", "weibull"])
def test_derivatives_at_the_end_of_the_support_are_the_limits(name):
    x, a, scale = (tg.scalar(v) for v in ("x", "a", "scale"))
    f = tg.function([x, a, scale], tg.grad(getattr(d, name).logpdf(x, a, scale), [x, a, scale]), backend="perform")
    np.testing.assert_allclose(f(0.0, 2.0, 4.0), [np.inf, -np.inf, -0.5], rtol=1e-14)
    by_x, _, by_scale = f(0.0, 1.0, 4.0)
    np.testing.assert_allclose([by_x, by_scale], [-0.25, -0.25], rtol=1e-14)


@pytest.mark.parametrize("name", [n for n in tg.distributions.__all__ if n != "Distribution"])
def test_a_distribution_survives_pickling_with_its_parameters(name):
    open_ = getattr(tg.distributions, name)
    assert pickle.loads(pickle.dumps(open_)).formulas is open_.formulas
    first = open_.parameters[0].name
    loaded = pickle.loads(pickle.dumps(open_(**{first: 0.5})))
    assert loaded.given == ((first, 0.5),)
    assert repr(loaded) == repr(open_(**{first: 0.5}))


def test_a_distribution_and_a_variable_that_is_its_parameter_are_pickled_as_one():
    mu = tg.scalar("mu")
    prior, loaded = pickle.loads(pickle.dumps((tg.distributions.normal(mu, 2.0), mu)))
    f = tg.function([loaded], prior.logpdf(1.0), backend="perform")
    np.testing.assert_allclose(f(0.5), stats.norm.logpdf(1.0, 0.5, 2.0), rtol=1e-14)
