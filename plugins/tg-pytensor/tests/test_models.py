"""Models of PyMC by tg: densities and gradients beside PyTensor's own, and what a model keeps and does."""

import functools

import numpy as np
import pymc as pm
import pytest
import scipy.stats
from models28 import MODELS
from pymc.blocking import DictToArrayBijection
from pymc.logprob.utils import CheckParameterValue, ParameterValueError

import tg
import tg_pytensor

BACKENDS = ("perform", "c", "numba")
QUICK = ("eight_schools_centred", "radon", "ordinal")  # of the usual run
FAR = ("hidden_markov", "negative_binomial", "mixture_regression")
ILL_CONDITIONED = {"lkj": 1, "truncated": 3, "gaussian_process": 10}  # from where on both lose digits
INEXACT = {"truncated": 1e3}  # PyTensor's derivative of gammainc by its first argument, a series cut off at 1e-10


def points_of(model):
    """The initial point, and four beside it."""
    rng, first = np.random.default_rng(5), model.initial_point(0)
    beside = [{n: v + 0.3 * rng.normal(size=np.shape(v)) for n, v in first.items()} for _ in range(4)]
    return [first, *beside]


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.long) for n in MODELS])
def test_densities_and_gradients_are_those_of_pytensor(name):
    model = MODELS[name]()
    points = points_of(model)
    mode = "FAST_RUN" if name == "kalman" else "FAST_COMPILE"
    value, slope = model.compile_logp(mode=mode), model.compile_dlogp(mode=mode)
    wanted = [(value(p), slope(p)) for p in points]
    close = 1e-12 * INEXACT.get(name, 1.0)
    converted = tg_pytensor.from_pymc(model)
    for backend in BACKENDS:
        f = converted.value_and_grad(backend)
        for point, (v, d) in zip(points, wanted, strict=True):
            got_value, got_slope = f(point)
            np.testing.assert_allclose(got_value, v, rtol=close, err_msg=backend)
            np.testing.assert_allclose(got_slope, d, rtol=0, atol=close * np.abs(d).max(), err_msg=backend)


@pytest.mark.parametrize("name", [n if n in FAR else pytest.param(n, marks=pytest.mark.long) for n in MODELS])
def test_far_from_the_bulk_densities_are_as_stable_as_after_pytensors_rewriting(name):
    model = MODELS[name]()
    first = DictToArrayBijection.map({v.name: model.initial_point(0)[v.name] for v in model.continuous_value_vars})
    rewritten = model.logp_dlogp_function(ravel_inputs=True, mode=tg_pytensor.mode("c"))
    rewritten.set_extra_values({})
    f = tg_pytensor.from_pymc(model).value_and_grad("c", flat=True)
    rng = np.random.default_rng(1)
    for scale in (1, 3, 10, 30):
        for _ in range(4):
            point = first.data + scale * rng.normal(size=first.data.shape)
            with np.errstate(all="ignore"):
                wanted, found = (
                    np.concatenate([np.ravel(v) for v in g(point)]) for g in (rewritten._pytensor_function, f)
                )
            if not np.isfinite(wanted[0]):  # the gradient of a check that does not hold is another
                np.testing.assert_array_equal(found[0], wanted[0])
                continue
            finite = np.isfinite(wanted)
            if scale > ILL_CONDITIONED.get(name, 30):
                assert np.isfinite(found[finite]).all()
                continue
            largest = np.abs(wanted[finite]).max(initial=0)
            np.testing.assert_allclose(
                found[finite], wanted[finite], rtol=1e-7, atol=1e-9 * largest, err_msg=str(scale)
            )


def test_a_negative_binomial_distribution_of_a_small_mean_beside_forty_digits():
    """PyMC makes the mean of a probability that is 1 but for it."""
    mpmath = pytest.importorskip("mpmath")
    y = np.array([0, 1, 7])
    with pm.Model() as model:
        pm.NegativeBinomial("y", mu=pm.math.exp(pm.Flat("log_mu")), alpha=2.5, observed=y)
    f = tg_pytensor.from_pymc(model).value_and_grad("c")
    with mpmath.workdps(40):
        for t in (-60.0, -25.0, -3.0, 1.0):
            n = mpmath.mpf(2.5)

            def logp(t, n=n):
                mu = mpmath.e**t
                logs = [mpmath.log(mu / (mu + n)) * int(v) + n * mpmath.log(n / (mu + n)) for v in y]
                return mpmath.fsum(logs) + sum(
                    mpmath.loggamma(v + n) - mpmath.loggamma(v + 1) - mpmath.loggamma(n) for v in map(int, y)
                )

            value, slope = f({"log_mu": np.array(t)})
            np.testing.assert_allclose(value, float(logp(mpmath.mpf(t))), rtol=1e-13)
            np.testing.assert_allclose(slope, float(mpmath.diff(logp, t)), rtol=1e-10)


@pytest.mark.long
def test_a_truncated_gamma_distribution_beside_forty_digits():
    """The gradient that PyTensor is too inexact to be compared with."""
    mpmath = pytest.importorskip("mpmath")
    y = np.array([0.3, 1.5, 4.0])
    with pm.Model() as model:
        pm.Truncated("y", pm.Gamma.dist(pm.HalfNormal("a", 3.0), 0.7), lower=0.1, upper=8.0, observed=y)

    def logp(t):
        a, b = mpmath.e**t, mpmath.mpf(0.7)
        inside = mpmath.log(mpmath.gammainc(a, mpmath.mpf(0.1) * b, 8 * b, regularized=True))
        logs = [a * mpmath.log(b) - mpmath.loggamma(a) + (a - 1) * mpmath.log(v) - b * v - inside for v in y]
        return mpmath.fsum(logs) - a**2 / 18 + t

    f = tg_pytensor.from_pymc(model).value_and_grad("c")
    with mpmath.workdps(40):
        for t in (-1.0, 0.3, 1.2):
            np.testing.assert_allclose(f(a_log__=t)[1], [float(mpmath.diff(logp, t))], rtol=1e-12)


@functools.cache
def radon():
    return MODELS["radon"]()


def test_one_vector_in_the_order_of_pymc():
    model = radon()
    point = points_of(model)[1]
    converted = tg_pytensor.from_pymc(model)
    flat = DictToArrayBijection.map(point)
    value, slope = converted.value_and_grad("c", flat=True)(flat.data)
    want_value, want_slope = converted.value_and_grad("c")(point)
    assert float(value) == pytest.approx(float(want_value), rel=1e-14)
    np.testing.assert_allclose(slope, want_slope, rtol=1e-12)
    assert [x.name for x in converted.inputs] == [v.name for v in model.value_vars]
    backwards = DictToArrayBijection.rmap(flat)
    assert converted.logp_fn("c")(backwards) == pytest.approx(float(want_value), rel=1e-14)


def test_the_density_of_many_points_in_a_program_of_tg():
    converted = tg_pytensor.from_pymc(MODELS["eight_schools"]())
    flat = converted.value_and_grad("c", flat=True)
    points = tg.matrix("points")

    def both(point):
        value = converted.density(point)
        return value, tg.grad(value, point)

    values, slopes = tg.vmap(both)(points)
    some = np.random.default_rng(0).normal(size=(4, converted.size))
    got = tg.function([points], [values, slopes], backend="c")(some)
    for k, point in enumerate(some):
        value, slope = flat(point)
        assert got[0][k] == pytest.approx(float(value), rel=1e-13)
        np.testing.assert_allclose(got[1][k], slope, rtol=1e-12, atol=1e-12)


def test_the_model_of_a_with_block_is_the_default():
    with pm.Model() as model:
        pm.Normal("mu")
        inside = tg_pytensor.from_pymc().logp_fn("perform")
    assert inside(mu=0.5) == tg_pytensor.from_pymc(model).logp_fn("perform")(mu=0.5)
    with pytest.raises(tg.InputError, match=r"from_pymc: found no model, needed one\n.*inside of `with model:`"):
        tg_pytensor.from_pymc()


def test_a_point_by_keywords_and_what_it_lacks():
    with pm.Model() as model:
        pm.Normal("x", 1.0, 2.0)
        pm.Exponential("rate", 1.0)
    f = tg_pytensor.from_pymc(model).logp_fn("c")
    assert f(x=1.0, rate_log__=0.0) == f({"x": 1.0, "rate_log__": 0.0}) == f({"x": 1.0}, rate_log__=0.0)
    with pytest.raises(
        tg.InputError, match=r"point: found no value of rate_log__, needed one of each of x, rate_log__"
    ):
        f(x=1.0)
    wrong = (
        r"found a value of rate, which is unknown, and no value of rate_log__, .*\n  hint: rate_log__ is rate as PyMC"
    )
    with pytest.raises(tg.InputError, match=wrong):
        f(x=1.0, rate=1.0)
    with pytest.raises(tg.InputError, match=r"a value of rate_log_, which is unknown.*\n  hint: rate_log__ exists"):
        f(x=1.0, rate_log__=0.0, rate_log_=0.0)
    assert f({"x": 1.0, "rate_log__": 0.0, "rate": 1.0}) == f(x=1.0, rate_log__=0.0), "points of a trace have more"


def test_a_normal_distribution_by_factors_of_its_covariance():
    """KroneckerNormal makes matrices of vectors by lengths, one of which is free."""
    rng = np.random.default_rng(6)
    factors = [x @ x.T + 2 * np.eye(len(x)) for x in (rng.normal(size=(3, 3)), rng.normal(size=(2, 2)))]
    y = rng.normal(size=6)
    with pm.Model() as model:
        sigma = pm.HalfNormal("sigma")
        pm.KroneckerNormal("y", mu=np.zeros(6), covs=factors, sigma=sigma, observed=y)

    def density(t):
        covariance = np.kron(*factors) + np.exp(2 * t) * np.eye(6)
        return (
            scipy.stats.multivariate_normal.logpdf(y, np.zeros(6), covariance)
            + scipy.stats.halfnorm.logpdf(np.exp(t))
            + t
        )

    for backend in ("perform", "c"):
        value, slope = tg_pytensor.from_pymc(model).value_and_grad(backend)(sigma_log__=0.3)
        assert value == pytest.approx(density(0.3), rel=1e-12)
        assert slope == pytest.approx([(density(0.3 + 1e-5) - density(0.3 - 1e-5)) / 2e-5], rel=1e-7)


def test_deterministics_and_parameters_as_they_were_before_they_were_transformed():
    with pm.Model() as model:
        sigma = pm.Exponential("sigma", 1.0)
        pm.Deterministic("variance", sigma**2)
    found = tg_pytensor.from_pymc(model)
    values = tg.function(list(found.inputs), found.deterministics, backend="c")(np.log(3.0))
    assert set(values) == {"sigma", "variance"}
    np.testing.assert_allclose([values["sigma"], values["variance"]], [3.0, 9.0], rtol=1e-14)


def test_data_are_read_again_and_set():
    with pm.Model() as model:
        x = pm.Data("x", [1.0, 2.0])
        y = pm.Data("y", [0.5, 1.5])
        pm.Normal("z", pm.Normal("slope") * x, 1.0, observed=y, shape=x.shape)
    converted = tg_pytensor.from_pymc(model)
    f, theirs = converted.logp_fn("c"), model.compile_logp(mode="FAST_COMPILE")
    assert float(f(slope=0.7)) == pytest.approx(float(theirs({"slope": 0.7})), rel=1e-14)
    with model:
        pm.set_data({"x": [1.0, 2.0, 5.0], "y": [3.0, 4.0, 6.0]})
    before = float(f(slope=0.7))
    converted.refresh()
    after = float(f(slope=0.7))
    assert after != before
    assert after == pytest.approx(float(theirs({"slope": 0.7})), rel=1e-14)
    converted.shared["y"].set_value([0.0, 0.0, 0.0])
    assert float(f(slope=0.7)) != after


def test_a_minibatch_draws_other_rows_at_each_call():
    data = np.random.default_rng(0).uniform(0.0, 1000.0, 1000)  # of whole numbers, two sums are equal now and then
    with pm.Model() as model:
        batch = pm.Minibatch(data, batch_size=10)
        pm.Normal("y", pm.Normal("mu"), 1.0, observed=batch, total_size=1000)
    f = tg_pytensor.from_pymc(model).logp_fn("c")
    values = [float(f(mu=500.0)) for _ in range(200)]
    assert len(set(values)) == 200
    whole = np.sum(-0.5 * (data - 500.0) ** 2)  # of which each is an estimate, but for constants
    assert np.mean(values) == pytest.approx(whole, rel=0.1)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_parameter_out_of_bounds_has_no_density(backend):
    with pm.Model() as model:
        scale = pm.Normal("scale")
        pm.Normal("y", 0.0, scale, observed=[1.0, 2.0])
    f = tg_pytensor.from_pymc(model).value_and_grad(backend)
    value, slope = f(scale=-1.0)
    assert value == -np.inf
    np.testing.assert_allclose(slope, [1.0])  # the prior's: what has no density has no slope


def test_without_checks_of_bounds_there_is_none():
    with pm.Model(check_bounds=False) as model:
        pm.Normal("y", 0.0, pm.Normal("scale"), observed=[1.0, 2.0])
    with model:
        theirs = model.compile_logp(mode="FAST_COMPILE")
    value = tg_pytensor.from_pymc(model).logp_fn("c")(scale=-1.0)
    np.testing.assert_allclose(value, theirs({"scale": np.array(-1.0)}), equal_nan=True)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_check_that_pymc_raises_is_raised(backend):
    with pm.Model() as model:
        p = pm.Normal("p")
        pm.Potential("checked", CheckParameterValue("p > 0")(p, p > 0))
    f = tg_pytensor.from_pymc(model).logp_fn(backend)
    assert np.isfinite(f(p=1.0))
    with pytest.raises(ParameterValueError, match="p > 0"):
        f(p=-1.0)


def test_integers_are_given_and_have_no_gradient():
    with pm.Model() as model:
        k = pm.Poisson("k", 3.0)
        pm.Normal("y", k * pm.Normal("mu"), 1.0, observed=2.0)
    converted = tg_pytensor.from_pymc(model)
    value, slope = converted.value_and_grad("c")(k=2, mu=0.5)
    want = model.compile_logp(mode="FAST_COMPILE")({"k": np.array(2), "mu": np.array(0.5)})
    assert float(value) == pytest.approx(float(want), rel=1e-14)
    np.testing.assert_allclose(slope, [-0.5 + (2 - 1.0) * 2], rtol=1e-14)
    with pytest.raises(tg.InputError, match="found parameters that are integers, k, needed floats alone"):
        converted.density(tg.vector("x"))
    value, slope = converted.value_and_grad("c", flat=True)([0.5], 2)
    assert float(value) == pytest.approx(float(want), rel=1e-14)
