"""Draws by tg have the distributions of PyTensor's and PyMC's own."""

import functools
import inspect

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pymc.distributions import continuous, discrete, multivariate
from pytensor.tensor import random as ptr
from pytensor.tensor.random.op import RandomVariable, default_rng
from scipy import stats

import tg
import tg_pytensor

COUNT = 4000
LEVEL = 1e-4  # of a test that is made once, at fixed keys: no chance of a failure that comes and goes
COVARIANCE = np.array([[1.0, 0.6], [0.6, 2.0]])
ROOT = np.linalg.cholesky(COVARIANCE)
GRID = np.linspace(0.0, 2.0, 5)
DENSITY = np.array([0.1, 0.6, 0.4, 0.8, 0.2])
DENSITY = DENSITY / np.trapezoid(DENSITY, GRID)
BELOW = np.concatenate([[0.0], np.cumsum((DENSITY[1:] + DENSITY[:-1]) / 2 * 0.5)])

# Draws of a distribution: a random variable's function, and its parameters.
DRAWS = {
    "uniform": (ptr.uniform, -1.0, 2.0),
    "triangular": (ptr.triangular, -1.0, 0.5, 2.0),
    "beta": (ptr.beta, 0.7, 2.0),
    "normal": (ptr.normal, 1.0, 2.0),
    "halfnormal": (ptr.halfnormal, 0.5, 2.0),
    "lognormal": (ptr.lognormal, 0.3, 0.8),
    "gamma": (functools.partial(ptr.gamma, scale=3.0), 0.6),
    "pareto": (ptr.pareto, 3.0, 2.0),
    "gumbel": (ptr.gumbel, 1.0, 2.0),
    "exponential": (ptr.exponential, 2.5),
    "weibull": (ptr.weibull, 1.7),
    "logistic": (ptr.logistic, 1.0, 2.0),
    "vonmises": (ptr.vonmises, 0.5, 3.0),
    "cauchy": (ptr.cauchy, 1.0, 2.0),
    "halfcauchy": (ptr.halfcauchy, 1.0, 2.0),
    "invgamma": (ptr.invgamma, 3.0, 2.0),
    "wald": (ptr.wald, 1.5, 2.0),
    "truncexpon": (ptr.truncexpon, 1.5, 0.5, 2.0),
    "t": (ptr.t, 4.0, 1.0, 2.0),
    "laplace": (ptr.laplace, 1.0, 2.0),
    "gengamma": (ptr.gengamma, 2.0, 1.5, 3.0),
    "poisson": (ptr.poisson, 3.5),
    "geometric": (ptr.geometric, 0.3),
    "hypergeometric": (ptr.hypergeometric, 12, 8, 7),
    "bernoulli": (ptr.bernoulli, 0.3),
    "binomial": (ptr.binomial, 9, 0.4),
    "nbinom": (ptr.nbinom, 3.5, 0.4),
    "betabinom": (ptr.betabinom, 9, 2.0, 3.0),
    "integers": (ptr.integers, 2, 9),
    "categorical": (ptr.categorical, [0.1, 0.5, 0.4]),
    "permutation": (ptr.permutation, 4),
    "permutation of an array": (ptr.permutation, np.array([3.0, 1.0, 7.0])),
    "choice": (functools.partial(ptr.choice, replace=False), 5),
    "multivariate_normal": (ptr.multivariate_normal, [1.0, -1.0], COVARIANCE),
    "dirichlet": (ptr.dirichlet, [0.5, 2.0, 3.0]),
    "multinomial": (ptr.multinomial, 12, [0.2, 0.3, 0.5]),
    "clipped beta": (continuous.beta, 0.7, 2.0),
    "wald of PyMC": (continuous.wald, 1.5, 2.0, 0.5),
    "truncated_normal": (continuous.truncated_normal, 0.5, 1.5, -1.0, np.inf),
    "skewnormal": (continuous.skewnormal, 0.5, 1.5, 3.0),
    "skewstudentt": (continuous.skewstudentt, 3.0, 5.0, 0.5, 1.5),
    "rice": (continuous.rice, 1.5, 2.0),
    "moyal": (continuous.moyal, 0.5, 1.5),
    "interpolated": (continuous.interpolated, GRID, DENSITY, BELOW),
    "discrete_uniform": (discrete.discrete_uniform, 2, 5),
    "stick_breaking_weights": (multivariate.stickbreakingweights, 2.0, 3),
    "matrixnormal": (multivariate.matrixnormal, np.ones((2, 2)), ROOT, 2 * ROOT.T @ ROOT),
}


def function_of(outputs, backend="c"):
    """A compiled function without arguments, of a graph of PyTensor."""
    return tg.function([], list(tg_pytensor.from_pytensor([], outputs).outputs), backend=backend)


@pytest.mark.parametrize("name", DRAWS)
def test_draws_have_the_distribution_of_pytensors(name):
    function, *parameters = DRAWS[name]
    alone = name in ("permutation", "choice")  # of a number: its size is that of one draw, or must not be given
    size = {} if alone and name == "permutation" else {"size": (3,) if alone else COUNT}
    node = function(*parameters, **size, rng=pytensor.shared(np.random.default_rng(1))).owner
    want = own_draws(node)
    draw = function_of([node.outputs[1]])
    got = np.stack([draw()[0] for _ in range(COUNT)]) if alone else draw()[0]
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    for theirs, ours in zip(columns(want), columns(got), strict=True):
        same_distribution(theirs, ours)


def own_draws(node):
    """What the op itself draws, again and again if it has no size."""
    values = [v.eval() for v in node.inputs[2:]]
    size = None if not hasattr(node.inputs[1].type, "dtype") else tuple(node.inputs[1].eval())
    rng = np.random.default_rng(20)
    if size is None:
        drawn = np.stack([node.op.rng_fn(rng, *values, None) for _ in range(COUNT)])
    else:
        drawn = node.op.rng_fn(rng, *values, size)
    return np.asarray(drawn, dtype=node.outputs[1].type.dtype)


def columns(draws):
    """Each element of a draw by itself, and the sum of two of each draw: what depends on how they go together."""
    flat = draws.reshape(len(draws), -1).astype(float)
    return [*flat.T, flat[:, 0] + 2 * flat[:, -1]] if flat.shape[1] > 1 else [flat[:, 0]]


def same_distribution(theirs, ours):
    """A chi-square test of values that are few, else that of Kolmogorov and Smirnov."""
    values = np.unique(np.concatenate([theirs, ours]))
    if len(values) == 1:
        return
    if len(values) > 60:
        assert stats.ks_2samp(theirs, ours).pvalue > LEVEL
        return
    table = np.array([[np.sum(x == v) for v in values] for x in (theirs, ours)])
    rare = table.sum(0) < 20
    table = np.column_stack([table[:, ~rare], table[:, rare].sum(1)])
    assert stats.chi2_contingency(table[:, table.sum(0) > 0]).pvalue > LEVEL


def test_parameters_broadcast_to_the_size():
    mean = pt.dmatrix("mean")
    draw = ptr.normal(mean, [[1e-9], [2e-9], [3e-9]], size=(5, 3, 2), rng=pytensor.shared(np.random.default_rng(1)))
    inputs, outputs, _ = tg_pytensor.from_pytensor([mean], [draw])
    (got,) = tg.function(list(inputs), list(outputs), backend="c")([[1.0, 2.0]])
    assert got.shape == (5, 3, 2)
    np.testing.assert_allclose(got, np.broadcast_to([1.0, 2.0], got.shape), atol=1e-7)
    assert len(np.unique(got)) == got.size


def test_a_batch_of_permutations_and_of_choices():
    rows = np.arange(12.0).reshape(3, 4)
    rng, x = pytensor.shared(np.random.default_rng(1)), pt.vector("x", shape=(4,))
    one = [pt.random.permutation(x, rng=rng), pt.random.choice(x, size=(2,), replace=False, rng=rng)]
    shuffled, taken = function_of(pytensor.graph.vectorize_graph(one, {x: pt.as_tensor(rows)}))()
    np.testing.assert_array_equal(np.sort(shuffled, axis=1), rows)
    assert len({tuple(row % 4) for row in shuffled}) > 1
    assert all(a != b and {a, b} <= set(row) for (a, b), row in zip(taken, rows, strict=True))


def test_a_function_draws_anew_at_each_call():
    rng = pytensor.shared(np.random.default_rng(1))
    following, first = ptr.normal(rng=rng).owner.outputs
    second = ptr.normal(rng=following)
    draw = function_of([first, second])
    assert len({float(x) for _ in range(3) for x in draw()}) == 6


def test_a_generator_has_the_update_that_its_user_gave_it():
    rng = pytensor.shared(np.random.default_rng(1))
    rng.default_update = rng  # the same again
    draw = function_of([ptr.normal(size=3, rng=rng)])
    np.testing.assert_array_equal(draw()[0], draw()[0])


def test_a_count_that_a_shared_variable_keeps():
    count = pytensor.shared(3, "count")
    count.default_update = count + 2
    step = function_of([count * 10])
    assert [int(step()[0]) for _ in range(3)] == [30, 50, 70]


def test_draws_inside_of_a_loop_differ():
    rng = pytensor.shared(np.random.default_rng(1))

    def step(before, key):
        after, z = ptr.normal(rng=key).owner.outputs
        return [before + z, after]

    walk, _ = pytensor.scan(step, outputs_info=[pt.zeros(()), rng], n_steps=5, return_updates=False)
    draw = function_of([walk])
    (first,), (second,) = draw(), draw()
    assert len(np.unique(np.diff(np.concatenate([[0.0], first, second])))) == 10


def test_the_generator_of_a_seed_draws_the_same_again():
    draw = function_of([ptr.normal(size=3, rng=default_rng(7))])
    np.testing.assert_array_equal(draw()[0], draw()[0])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_draws_have_the_declared_dtype(dtype):
    rng = pytensor.shared(np.random.default_rng(1))
    drawn = [ptr.normal(size=2, rng=rng, dtype=dtype), ptr.dirichlet([1.0, 2.0], rng=rng, dtype=dtype)]
    assert [x.dtype for x in function_of(drawn)()] == [dtype, dtype]


def test_every_random_variable_of_pytensor_has_a_rule():
    lacking = {
        "SimulatorRV", "CustomDistRV",  # functions of Python
        "FlatRV", "HalfFlatRV", "ICARRV",  # nothing can be drawn from them
        "WishartRV", "CARRV", "PolyaGammaRV",
    }  # fmt: skip
    found = {
        kind.__name__
        for kind in subclasses(RandomVariable) - {RandomVariable}
        if kind.__module__.startswith(("pytensor.", "pymc.")) and not inspect.isabstract(kind) and not has_rule(kind)
    }
    assert found <= lacking


def subclasses(kind):
    return {kind}.union(*(subclasses(under) for under in kind.__subclasses__()))


def has_rule(kind):
    return tg_pytensor.convert.rule(kind.__new__(kind)) is not None


def test_the_prior_of_a_model_is_drawn():
    with pm.Model() as model:
        mu = pm.Normal("mu", 3.0, 0.5)
        pm.Deterministic("twice", 2 * mu)
        pm.Poisson("y", pt.exp(mu), observed=np.zeros(4, dtype=int))
    draw = tg_pytensor.from_pymc(model).prior_predictive("c")
    draws = [draw() for _ in range(2000)]
    mu = np.array([d["mu"] for d in draws])
    assert stats.kstest(mu, stats.norm(3.0, 0.5).cdf).pvalue > LEVEL
    np.testing.assert_allclose([d["twice"] for d in draws], 2 * mu, rtol=1e-15)
    y = np.array([d["y"][0] for d in draws])
    want = np.random.default_rng(0).poisson(np.exp(np.random.default_rng(1).normal(3.0, 0.5, 2000)))
    same_distribution(want.astype(float), y.astype(float))


def test_observations_are_drawn_for_parameters():
    with pm.Model() as model:
        mu, sigma = pm.Normal("mu"), pm.HalfNormal("sigma")
        pm.Normal("y", mu, sigma, observed=np.zeros(500))
    draw = tg_pytensor.from_pymc(model).posterior_predictive("c")
    first, second = draw(mu=5.0, sigma=0.1)["y"], draw({"mu": 5.0, "sigma": 0.1})["y"]
    assert stats.kstest(np.concatenate([first, second]), stats.norm(5.0, 0.1).cdf).pvalue > LEVEL
