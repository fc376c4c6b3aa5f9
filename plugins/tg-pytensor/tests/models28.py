"""Models of PyMC of many kinds, with small data made from fixed seeds: `MODELS` by name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt

Build = Callable[[np.random.Generator], None]
MODELS: dict[str, Callable[[], pm.Model]] = {}


def model(build: Build) -> Build:
    """Keep a model, by the name of the function that makes its variables."""

    def made() -> pm.Model:
        with pm.Model() as found:
            build(np.random.default_rng(len(build.__name__)))
        return found

    MODELS[build.__name__] = made
    return build


# --- hierarchies and regressions -------------------------------------------------------------------------------------

EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


@model
def eight_schools_centred(rng: np.random.Generator) -> None:
    mu, tau = pm.Normal("mu", 0.0, 5.0), pm.HalfCauchy("tau", 5.0)
    theta = pm.Normal("theta", mu, tau, shape=8)
    pm.Normal("y", theta, ERRORS, observed=EFFECTS)


@model
def eight_schools(rng: np.random.Generator) -> None:
    mu, tau = pm.Normal("mu", 0.0, 5.0), pm.HalfCauchy("tau", 5.0)
    eta = pm.Normal("eta", shape=8)
    theta = pm.Deterministic("theta", mu + tau * eta)
    pm.Normal("y", theta, ERRORS, observed=EFFECTS)


@model
def radon(rng: np.random.Generator) -> None:
    counties, homes = 85, 919
    county = rng.integers(counties, size=homes)
    floor = rng.integers(2, size=homes).astype(float)
    level = rng.normal(1.4, 0.8, homes)
    model = pm.modelcontext(None)
    model.add_coords({"county": np.arange(counties), "home": np.arange(homes)})
    floor = pm.Data("floor", floor, dims="home")
    mu_a, sigma_a = pm.Normal("mu_a", 0.0, 10.0), pm.Exponential("sigma_a", 1.0)
    mu_b, sigma_b = pm.Normal("mu_b", 0.0, 10.0), pm.Exponential("sigma_b", 1.0)
    a = mu_a + sigma_a * pm.Normal("z_a", dims="county")
    b = mu_b + sigma_b * pm.Normal("z_b", dims="county")
    pm.Normal("level", a[county] + b[county] * floor, pm.Exponential("sigma", 1.0), observed=level, dims="home")


@model
def logistic(rng: np.random.Generator) -> None:
    x = rng.normal(size=(200, 5))
    y = rng.random(200) < 1 / (1 + np.exp(-x @ np.array([1.0, -1.0, 0.5, 0.0, 2.0])))
    slopes = pm.Normal("slopes", 0.0, 2.0, shape=5)
    pm.Bernoulli("y", logit_p=pm.Normal("intercept") + pt.dot(x, slopes), observed=y.astype(int))


@model
def poisson(rng: np.random.Generator) -> None:
    x = rng.normal(size=(150, 3))
    slopes = pm.Normal("slopes", shape=3)
    pm.Poisson("y", pt.exp(0.5 + x @ slopes), observed=rng.poisson(np.exp(0.5 + x @ [0.3, -0.2, 0.1])))


@model
def negative_binomial(rng: np.random.Generator) -> None:
    x = rng.normal(size=150)
    mu = pt.exp(pm.Normal("a") + pm.Normal("b") * x)
    pm.NegativeBinomial("y", mu=mu, alpha=pm.Exponential("alpha", 0.5), observed=rng.negative_binomial(3, 0.4, 150))


@model
def zero_inflated_poisson(rng: np.random.Generator) -> None:
    counts = rng.poisson(3.0, 120) * (rng.random(120) < 0.7)
    pm.ZeroInflatedPoisson("y", pm.Beta("psi", 2.0, 2.0), pm.Gamma("mu", 2.0, 1.0), observed=counts)


@model
def hurdle_gamma(rng: np.random.Generator) -> None:
    amounts = rng.gamma(2.0, 1.5, 100) * (rng.random(100) < 0.6)
    alpha, beta = pm.HalfNormal("alpha", 3.0), pm.HalfNormal("beta", 3.0)
    pm.HurdleGamma("y", pm.Beta("psi", 2.0, 2.0), alpha=alpha, beta=beta, observed=amounts)


@model
def robust(rng: np.random.Generator) -> None:
    x = rng.normal(size=100)
    y = 1 + 2 * x + rng.standard_t(3, 100)
    nu = pm.Gamma("nu", 2.0, 0.1)
    pm.StudentT("y", nu, mu=pm.Normal("a") + pm.Normal("b") * x, sigma=pm.HalfNormal("sigma"), observed=y)


@model
def mixture_regression(rng: np.random.Generator) -> None:
    x = rng.normal(size=200)
    y = np.where(rng.random(200) < 0.4, 1 + 2 * x, -1 - x) + 0.3 * rng.normal(size=200)
    weights = pm.Dirichlet("weights", np.ones(2))
    a, b = pm.Normal("a", [-1.0, 1.0], 1.0, shape=2), pm.Normal("b", shape=2)
    pm.NormalMixture("y", weights, a + b * x[:, None], pm.HalfNormal("sigma", shape=2), observed=y)


@model
def normal_mixture(rng: np.random.Generator) -> None:
    y = np.concatenate([rng.normal(-2, 0.5, 100), rng.normal(1, 1.0, 100), rng.normal(4, 0.7, 100)])
    mu = pm.Normal("mu", 0.0, 5.0, shape=3, transform=pm.distributions.transforms.ordered, initval=[-1.0, 0.0, 1.0])
    parts = pm.Normal.dist(mu, pm.HalfNormal("sigma", shape=3), shape=3)
    pm.Mixture("y", pm.Dirichlet("weights", np.ones(3)), parts, observed=y)


@model
def ordinal(rng: np.random.Generator) -> None:
    x = rng.normal(size=120)
    y = np.digitize(0.8 * x + rng.logistic(size=120), [-1.0, 0.5, 2.0])
    cuts = pm.Normal(
        "cuts", 0.0, 3.0, shape=3, transform=pm.distributions.transforms.ordered, initval=np.array([-1.0, 0.0, 1.0])
    )
    pm.OrderedLogistic("y", eta=pm.Normal("slope") * x, cutpoints=cuts, observed=y, compute_p=False)


@model
def item_response(rng: np.random.Generator) -> None:
    people, items = 60, 12
    ability = pm.Normal("ability", shape=people)
    difficulty = pm.Normal("difficulty", shape=items)
    discrimination = pm.LogNormal("discrimination", 0.0, 0.5, shape=items)
    answers = rng.random((people, items)) < 1 / (1 + np.exp(rng.normal(size=(1, items)) - rng.normal(size=(people, 1))))
    logits = discrimination * (ability[:, None] - difficulty)
    pm.Bernoulli("y", logit_p=logits, observed=answers.astype(int))


# --- cut-off observations, counts and custom densities ----------------------------------------------------------------


@model
def survival(rng: np.random.Generator) -> None:
    x = rng.normal(size=100)
    times = rng.weibull(1.5, 100) * np.exp(0.5 * x)
    beta = pt.exp(pm.Normal("a") + pm.Normal("b") * x)
    lives = pm.Weibull.dist(pm.HalfNormal("alpha", 2.0), beta)
    pm.Censored("times", lives, lower=None, upper=2.0, observed=np.minimum(times, 2.0))


@model
def censored(rng: np.random.Generator) -> None:
    y = np.clip(rng.normal(0.5, 2.0, 100), -1.0, 2.0)
    raw = pm.Normal.dist(pm.Normal("mu"), pm.HalfNormal("sigma"))
    pm.Censored("y", raw, lower=-1.0, upper=2.0, observed=y)


@model
def truncated(rng: np.random.Generator) -> None:
    y = np.abs(rng.normal(0.5, 2.0, 100))
    raw = pm.Gamma.dist(pm.HalfNormal("alpha", 3.0), pm.HalfNormal("beta", 3.0))
    pm.Truncated("z", raw, lower=0.1, upper=8.0, observed=np.clip(y, 0.1, 8.0))
    pm.TruncatedNormal("y", pm.Normal("mu"), pm.HalfNormal("sigma"), lower=0.0, observed=y)


@model
def dirichlet_multinomial(rng: np.random.Generator) -> None:
    counts = rng.multinomial(50, rng.dirichlet([4.0, 2.0, 1.0, 1.0], 20))
    shares = pm.Dirichlet("shares", np.ones(4))
    concentration = pm.LogNormal("concentration", 1.0, 1.0)
    pm.DirichletMultinomial("y", n=50, a=shares * concentration, observed=counts)


@model
def bayesian_network(rng: np.random.Generator) -> None:
    """Rain and a sprinkler that nobody has seen, marginalised by hand, of grass that is wet or not."""
    rain, sprinkler = pm.Beta("rain", 1.0, 4.0), pm.Beta("sprinkler", 2.0, 2.0, shape=2)
    wet = pm.Beta("wet", 2.0, 2.0, shape=(2, 2))
    days = rng.integers(2, size=60)
    logs = [
        pt.log([1 - rain, rain][r])
        + pt.log([1 - sprinkler[r], sprinkler[r]][s])
        + pm.logp(pm.Bernoulli.dist(wet[r, s]), days)
        for r in range(2)
        for s in range(2)
    ]
    pm.Potential("days", pm.math.logsumexp(pt.stack(logs), axis=0).sum())
    pm.Categorical("season", pm.Dirichlet("seasons", np.ones(4)), observed=rng.integers(4, size=30))


@model
def custom(rng: np.random.Generator) -> None:
    """A density written by hand, and a penalty."""

    def logp(value: pt.TensorVariable, mu: pt.TensorVariable, b: pt.TensorVariable) -> pt.TensorVariable:
        return -pt.log(2 * b) - pt.abs(value - mu) / b

    mu, b = pm.Normal("mu", shape=3), pm.HalfNormal("b", shape=3)
    pm.CustomDist("y", mu, b, logp=logp, observed=rng.laplace(1.0, 2.0, (40, 3)))
    pm.Potential("near", -0.5 * pt.sqr(mu[1:] - mu[:-1]).sum() / 0.1**2)


# --- time ------------------------------------------------------------------------------------------------------------


@model
def autoregression(rng: np.random.Generator) -> None:
    rho = pm.Normal("rho", 0.0, 0.5, shape=3)
    start = pm.Normal.dist(0.0, 10.0, shape=2)
    y = rng.normal(size=80).cumsum() * 0.3
    pm.AR("y", rho, pm.HalfNormal("sigma"), constant=True, init_dist=start, observed=y)


@model
def garch(rng: np.random.Generator) -> None:
    omega, alpha, beta = pm.HalfNormal("omega"), pm.Beta("alpha", 2.0, 5.0), pm.Beta("beta", 2.0, 2.0)
    pm.GARCH11("y", omega, alpha, beta, initial_vol=pm.HalfNormal("first"), observed=rng.normal(size=60))


@model
def random_walk(rng: np.random.Generator) -> None:
    level = pm.GaussianRandomWalk(
        "level", sigma=pm.Exponential("sigma", 2.0), init_dist=pm.Normal.dist(0.0, 2.0), shape=100
    )
    pm.Normal("y", level, pm.HalfNormal("noise"), observed=rng.normal(size=100).cumsum() * 0.2)


@model
def stochastic_volatility(rng: np.random.Generator) -> None:
    step = pm.Exponential("step", 10.0)
    volatility = pm.GaussianRandomWalk("volatility", sigma=step, init_dist=pm.Normal.dist(0.0, 1.0), shape=200)
    returns = rng.standard_t(5, 200) * 0.5
    pm.StudentT("returns", pm.Exponential("nu", 0.1) + 2, lam=pt.exp(-2 * volatility), observed=returns)


@model
def hidden_markov(rng: np.random.Generator) -> None:
    y = rng.normal(np.repeat([0.0, 2.0, 0.0], 20), 1.0)
    rows = pm.Dirichlet("rows", np.full((2, 2), 2.0), shape=(2, 2))
    mu = pm.Normal("mu", [0.0, 2.0], 1.0, shape=2)
    emitted = pm.logp(pm.Normal.dist(mu, 1.0), y[:, None])

    def forward(now: pt.TensorVariable, before: pt.TensorVariable, log_rows: pt.TensorVariable) -> pt.TensorVariable:
        return now + pm.math.logsumexp(before[:, None] + log_rows, axis=0)[0]

    states = pytensor.scan(
        forward,
        sequences=[emitted[1:]],
        outputs_info=[emitted[0] - np.log(2)],
        non_sequences=[pt.log(rows)],
        return_updates=False,
    )
    pm.Potential("y", pm.math.logsumexp(states[-1]).sum())


@model
def epidemic(rng: np.random.Generator) -> None:
    beta, gamma = pm.LogNormal("beta", np.log(0.5), 0.3), pm.LogNormal("gamma", np.log(0.2), 0.3)
    infected = pm.Beta("infected", 1.0, 50.0)

    def day(s: pt.TensorVariable, i: pt.TensorVariable, b: pt.TensorVariable, g: pt.TensorVariable) -> list:
        new, gone = b * s * i, g * i
        return [s - new, i + new - gone]

    _, sick = pytensor.scan(
        day, outputs_info=[1 - infected, infected], non_sequences=[beta, gamma], n_steps=40, return_updates=False
    )
    pm.NegativeBinomial("cases", mu=1000 * sick + 1e-3, alpha=10.0, observed=rng.poisson(np.linspace(5, 80, 40)))


@model
def kalman(rng: np.random.Generator) -> None:
    """A level with a slope, observed with noise, whose states are integrated out."""
    step = np.array([[1.0, 1.0], [0.0, 1.0]])
    noise = pt.diag(pt.stack([pm.HalfNormal("level", 0.5), pm.HalfNormal("slope", 0.1)]) ** 2)
    sigma = pm.HalfNormal("sigma")
    y = rng.normal(size=50).cumsum()

    def update(
        now: pt.TensorVariable,
        m: pt.TensorVariable,
        p: pt.TensorVariable,
        noise: pt.TensorVariable,
        sigma: pt.TensorVariable,
    ) -> list:
        m, p = step @ m, step @ p @ step.T + noise
        error, spread = now - m[0], p[0, 0] + sigma**2
        gain = p[:, 0] / spread
        return [m + gain * error, p - pt.outer(gain, p[0]), pm.logp(pm.Normal.dist(0.0, pt.sqrt(spread)), error)]

    *_, logs = pytensor.scan(
        update,
        sequences=[pt.constant(y)],
        outputs_info=[pt.zeros(2), pt.eye(2) * 10.0, None],
        non_sequences=[noise, sigma],
        return_updates=False,
    )
    pm.Potential("y", logs.sum())


# --- matrices --------------------------------------------------------------------------------------------------------


@model
def gaussian_process(rng: np.random.Generator) -> None:
    x = np.linspace(0, 5, 40)[:, None]
    kernel = pm.HalfNormal("eta") ** 2 * pm.gp.cov.ExpQuad(1, ls=pm.InverseGamma("length", 5.0, 5.0))
    y = np.sin(x[:, 0]) + 0.1 * rng.normal(size=40)
    pm.gp.Marginal(cov_func=kernel).marginal_likelihood("y", X=x, y=y, sigma=pm.HalfNormal("sigma"))


@model
def hilbert_process(rng: np.random.Generator) -> None:
    x = np.linspace(-3, 3, 80)[:, None]
    kernel = pm.HalfNormal("eta") ** 2 * pm.gp.cov.Matern52(1, ls=pm.InverseGamma("length", 5.0, 5.0))
    f = pm.gp.HSGP(m=[15], c=1.5, cov_func=kernel).prior("f", X=x)
    pm.Normal("y", f, pm.HalfNormal("sigma"), observed=np.sin(2 * x[:, 0]) + 0.2 * rng.normal(size=80))


@model
def lkj(rng: np.random.Generator) -> None:
    y = rng.multivariate_normal(np.zeros(3), [[1.0, 0.5, 0.1], [0.5, 2.0, 0.3], [0.1, 0.3, 0.5]], 50)
    chol, _, _ = pm.LKJCholeskyCov("chol", n=3, eta=2.0, sd_dist=pm.Exponential.dist(1.0, shape=3))
    pm.MvNormal("y", pm.Normal("mu", shape=3), chol=chol, observed=y)


@model
def multivariate_normal(rng: np.random.Generator) -> None:
    distance = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))
    rho = pm.Uniform("rho", 0.1, 0.9)
    cov = rho**distance * pm.HalfNormal("scale") ** 2 + 0.1 * pt.eye(6)
    pm.MvNormal("y", pm.Normal("mu", shape=6), cov, observed=rng.normal(size=(30, 6)))
