"""Mixtures: densities and EM beside SciPy and scikit-learn, the chain beside the sum over all sequences of states."""

from __future__ import annotations

import itertools

import mixtures
import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm

import tg

POINTS, HEARD = mixtures.points(300), mixtures.heard(300)


def by_scipy(p, x):
    """The log-likelihood of a mixture."""
    each = zip(*p, strict=True)
    return np.sum(logsumexp([np.log(w) + multivariate_normal(m, c).logpdf(x) for w, m, c in each], axis=0))


@pytest.fixture(scope="module")
def em():
    return mixtures.run_em("c", POINTS)


def test_em_ends_where_the_likelihood_is_highest(em):
    np.testing.assert_allclose(em.log_likelihood, by_scipy(em.p, POINTS.x), rtol=1e-7)
    assert em.log_likelihood > by_scipy(mixtures.COMPONENTS, POINTS.x)
    for k, move in itertools.product(range(3), 1e-3 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])):
        moved = em.p.means.copy()
        moved[k] += move
        assert by_scipy(em.p._replace(means=moved), POINTS.x) < em.log_likelihood + 1e-6
    order = np.argsort(em.p.shares)[::-1]
    np.testing.assert_allclose(em.p.means[order], mixtures.COMPONENTS.means, atol=0.4)


@pytest.mark.long
def test_each_step_of_em_is_no_step_down():
    p, values = mixtures.Mixture(*map(tg.constant, mixtures.first_guess(POINTS.x))), []
    for _ in range(10):
        after, _ = mixtures.improved(p, tg.constant(POINTS.x))
        p = mixtures.Mixture(*map(tg.constant, tg.function([], [*after], backend="c")()))
        values.append(by_scipy([v.eval() for v in p], POINTS.x))
    assert np.all(np.diff(values) > -1e-9)


@pytest.mark.long
def test_em_is_that_of_scikit_learn(em):
    pytest.importorskip("sklearn")
    peer = mixtures.run_sklearn(POINTS)
    np.testing.assert_allclose(em.log_likelihood, peer.log_likelihood, rtol=1e-6)
    np.testing.assert_allclose(em.p.means, peer.p.means, atol=1e-2)


def sequences(theta, y):
    """Of each sequence of states the logarithm of its density with the points, and the sequences."""
    logits = np.zeros((3, 3))
    logits[mixtures.ELSEWHERE] = theta[:6]
    log_a = logits - logsumexp(logits, axis=1, keepdims=True)
    told = norm(theta[6:9], np.exp(theta[9:])).logpdf(y[:, None])
    found = list(itertools.product(range(3), repeat=len(y)))
    terms = [
        -np.log(3)
        + sum(told[t, s] for t, s in enumerate(states))
        + sum(log_a[a, b] for a, b in itertools.pairwise(states))
        for states in found
    ]
    return np.array(terms), np.array(found)


@pytest.mark.parametrize("theta", [mixtures.START, mixtures.TRUTH])
def test_the_chain_is_the_sum_over_all_sequences(theta):
    data = mixtures.Points(HEARD.x[:7], HEARD.label[:7])
    value, gradient = mixtures.compiled_chain("c", data)(theta)
    np.testing.assert_allclose(value, logsumexp(sequences(theta, data.x)[0]), rtol=1e-12)
    np.testing.assert_allclose(value, mixtures.by_hand(theta, data.x), rtol=1e-12)

    def of(move):
        return mixtures.by_hand(theta + move, data.x)

    moves = 1e-3 * np.eye(12)
    needed = [(8 * (of(m) - of(-m)) - of(2 * m) + of(-2 * m)) / 12e-3 for m in moves]
    np.testing.assert_allclose(gradient, needed, rtol=1e-7, atol=1e-9)


def test_probabilities_of_states_are_shares_of_sequences():
    y, theta = HEARD.x[:6], tg.vector("theta", shape=12)
    f = tg.function([theta], mixtures.probabilities(theta, tg.constant(y)), backend="c")
    terms, states = sequences(mixtures.TRUTH, y)
    share = np.exp(terms - logsumexp(terms))
    needed = [[np.sum(share[states[:, t] == k]) for k in range(3)] for t in range(6)]
    np.testing.assert_allclose(f(mixtures.TRUTH), needed, rtol=1e-9, atol=1e-12)


@pytest.mark.long
def test_the_fit_of_the_chain_is_near_what_made_it():
    data = mixtures.heard()
    r = mixtures.run_chain("c", data)
    assert np.all(np.abs(r.theta - mixtures.TRUTH) < 4 * r.errors)
    assert np.mean(np.argmax(r.states, axis=1) == data.label) > 0.85
