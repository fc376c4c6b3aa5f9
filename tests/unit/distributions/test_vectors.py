"""Distributions of vectors and of categories: values, moments and derivatives against `scipy.stats`."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as st

import tg

d = tg.distributions
ALPHA = np.array([[1.5, 1.0, 3.0], [0.5, 20.0, 70.0]])
SHARES = np.array([[0.2, 0.3, 0.5], [0.1, 0.6, 0.3]])
PVALS = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])
COUNTS = np.array([[1, 2, 3], [4, 0, 0]])
MEAN = np.array([[0.5, -1.0, 2.0], [0.0, 0.0, 1.0]])
COV = np.array([np.diag([1.0, 4.0, 0.25]), [[2.0, 0.5, 0.1], [0.5, 1.0, -0.3], [0.1, -0.3, 0.7]]])
WEIGHTS = np.array([0.1, 0.0, 0.4, 0.5])


def agree(found, wanted, rtol=1e-12):
    np.testing.assert_allclose(found.eval(), wanted, rtol=rtol, atol=1e-14)


def each(make, name, *batches):
    return np.array([getattr(make(*row), name)() for row in zip(*batches, strict=True)])


def test_the_dirichlet_distribution():
    agree(d.dirichlet.logpdf(SHARES, ALPHA), [st.dirichlet(a).logpdf(x) for a, x in zip(ALPHA, SHARES, strict=True)])
    for name, theirs in (("entropy", "entropy"), ("mean", "mean"), ("variance", "var")):
        agree(getattr(d.dirichlet, name)(ALPHA), each(st.dirichlet, theirs, ALPHA), rtol=1e-11)
    off = np.array([[0.5, 0.6, -0.1], [0.5, 0.5, 0.1], [0.5, 0.5, np.nan], [1.0, 0.0, 0.0]])
    agree(d.dirichlet.logpdf(off, [2.0, 1.0, 1.0]), [-np.inf, -np.inf, np.nan, np.log(6)])
    agree(d.dirichlet.logpdf(SHARES[0], [[1.0, -1.0, 2.0], [1.0, 2.0, np.nan]]), [np.nan, np.nan])
    agree(d.dirichlet.mean([1.0, 0.0]), [np.nan, np.nan])


def test_the_multivariate_normal_distribution():
    law = st.multivariate_normal
    x = MEAN + np.array([0.3, -0.2, 1.0])
    wanted = [law(m, c).logpdf(v) for m, c, v in zip(MEAN, COV, x, strict=True)]
    agree(d.multivariate_normal.logpdf(x, MEAN, COV), wanted)
    agree(d.multivariate_normal.logpdf(x, 0.0, COV[1]), law(np.zeros(3), COV[1]).logpdf(x))
    agree(d.multivariate_normal.entropy(MEAN, COV), [law(m, c).entropy() for m, c in zip(MEAN, COV, strict=True)])
    agree(d.multivariate_normal.mean(MEAN, COV), MEAN)
    agree(d.multivariate_normal.variance(MEAN, COV), np.diagonal(COV, 0, 1, 2))
    agree(d.multivariate_normal.logpdf(x[0], MEAN[0], -COV[0]), np.nan)


def test_the_gradient_of_a_multivariate_normal_density():
    x, mean, cov = tg.vector("x"), tg.vector("mean"), tg.matrix("cov")
    found = tg.grad(d.multivariate_normal.logpdf(x, mean, cov), [x, mean])
    values = {x: np.array([1.0, 2.0, 3.0]), mean: MEAN[1], cov: COV[1]}
    slope = np.linalg.solve(COV[1], values[x] - MEAN[1])
    np.testing.assert_allclose(found[0].eval(values), -slope, rtol=1e-12)
    np.testing.assert_allclose(found[1].eval(values), slope, rtol=1e-12)


def test_the_multinomial_distribution():
    n = COUNTS.sum(-1)
    wanted = [st.multinomial(k, p).logpmf(x) for k, p, x in zip(n, PVALS, COUNTS, strict=True)]
    agree(d.multinomial.logpmf(COUNTS, n, PVALS), wanted)
    agree(d.multinomial.mean(n, PVALS), n[:, None] * PVALS)
    agree(
        d.multinomial.variance(n, PVALS), [np.diag(st.multinomial(k, p).cov()) for k, p in zip(n, PVALS, strict=True)]
    )
    wrong = np.array([[1, 2, 2], [7, -1, 0], [1.5, 1.5, 3], [2, 2, np.nan]])
    agree(d.multinomial.logpmf(wrong, 6, PVALS[0]), [-np.inf, -np.inf, -np.inf, np.nan])
    agree(d.multinomial.logpmf(COUNTS[0], 6, [[0.5, 0.4, 0.2], [0.5, -0.5, 1.0]]), [np.nan, np.nan])


def test_the_categorical_distribution():
    theirs = st.rv_discrete(values=(np.arange(4), WEIGHTS))
    x = np.array([-1, 0, 1, 2, 3, 4, 1.5, np.nan])
    with np.errstate(all="ignore"):
        agree(d.categorical.logpmf(x, WEIGHTS), np.where(np.isnan(x), np.nan, theirs.logpmf(x)))
    agree(d.categorical.cdf(x, WEIGHTS), np.where(np.isnan(x), np.nan, theirs.cdf(x)))
    q = np.array([0.0, 0.05, 0.1, 0.11, 0.5, 0.6, 1.0])
    agree(d.categorical.ppf(q, WEIGHTS), [-1, 0, 0, 2, 2, 3, 3])
    agree(d.categorical.isf(1 - q, WEIGHTS), [-1, 0, 0, 2, 2, 3, 3])
    for name, wanted in (("entropy", theirs.entropy()), ("mean", theirs.mean()), ("variance", theirs.var())):
        agree(getattr(d.categorical, name)(WEIGHTS), wanted)
    batch, nan = [[0.5, 0.5], [0.1, 0.9], [0.5, 0.6]], np.nan
    agree(d.categorical.logpmf([[0], [1]], batch), np.log([[0.5, 0.1, nan], [0.5, 0.9, nan]]))


def test_lanes_of_a_map_are_a_batch():
    alpha, x = tg.constant(ALPHA), tg.constant(SHARES)
    agree(tg.vmap(d.dirichlet.logpdf)(x, alpha), d.dirichlet.logpdf(x, alpha).eval())
    rates, q = tg.constant([0.5, 30.0, 1e4]), tg.constant([0.9, 0.1, 0.5])
    agree(tg.vmap(d.poisson.ppf)(q, rates), st.poisson.ppf([0.9, 0.1, 0.5], [0.5, 30.0, 1e4]))
    p = tg.constant(SHARES)
    agree(tg.vmap(lambda row: d.categorical.logpmf([0, 1], row))(p), np.log(SHARES[:, :2]))


@pytest.mark.parametrize("name", ["dirichlet", "multivariate_normal", "multinomial"])
def test_vectors_have_no_distribution_function(name):
    with pytest.raises(tg.NoRuleError, match=f"{name}: cdf: found no formula that is exact"):
        getattr(d, name).cdf(0.5, *[1.0] * len(getattr(d, name).parameters))
