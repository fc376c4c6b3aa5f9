"""Derivatives of distributions by values and parameters, in both modes, against differences of SciPy's functions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tg
from tests.unit.distributions.laws import CONTINUOUS, LAWS

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
LEVELS = np.array([0.15, 0.4, 0.8])
FIXED = {  # integers, which are not moved
    "betabinom": ("n",), "binomial": ("n",), "hypergeometric": ("ngood", "nbad", "nsample"),
    "integers": ("low", "high"),
}  # fmt: skip
MOVED = {  # rows of the table that are inside, where the first two are not
    "bernoulli": [0], "binomial": [0, 4], "geometric": [0, 2], "poisson": [0, 3], "t": [0, 2], "triangular": [0],
}  # fmt: skip


def cases(name):
    """Points and parameters, of those that are not at an end of what they may be."""
    make, table = LAWS[name]
    for p in [table[k] for k in MOVED.get(name, range(len(table))) if k < len(table)][:2]:
        middle = np.array([p[0] - 2.0, p[0] + 0.1, p[0] + 1.5]) if name == "vonmises" else make(*p).ppf(LEVELS)
        yield middle, [float(v) for v in p]


def slope(f, at):
    """The derivative of a function of a number, by Richardson's extrapolation of central differences."""
    step = 2e-3 * max(abs(at), 0.1)
    once = [(f(at + h) - f(at - h)) / (2 * h) for h in (step, step / 2, step / 4)]
    twice = [(4 * b - a) / 3 for a, b in itertools.pairwise(once)]
    return (16 * twice[1] - twice[0]) / 15


def differences(name, method, x, parameters, moved):
    """The derivatives by the value, where it moves, and by the parameters, of SciPy's function at each point."""
    make, law = LAWS[name][0], getattr(tg.distributions, name)

    def theirs(x, *p):
        return getattr(make(*p), method)(x)

    found = [np.array([slope(lambda v: theirs(v, *parameters), each) for each in x])] if moved else []
    for k, p in enumerate(law.parameters):
        if p.name not in FIXED.get(name, ()):
            found.append(slope(lambda v, k=k: theirs(x, *parameters[:k], v, *parameters[k + 1 :]), parameters[k]))
    return found


def derivatives(name, method, moved):
    """The gradient of each element, and its tangent along all that is moved."""
    law = getattr(tg.distributions, name)
    x, given = tg.vector("x"), [tg.vector(p.name) for p in law.parameters]
    y = getattr(law, method)(x, *given)
    wrt = [x] * moved + [v for v in given if v.name not in FIXED.get(name, ())]
    if not wrt:
        return None
    tangent = tg.jvp(y, wrt, [tg.ones_like(v) for v in wrt])
    return tg.function([x, *given], [tg.grad(tg.sum(y), wrt), tangent], backend="perform", on_unused_input="ignore")


def check(name, method, moved):
    f = derivatives(name, method, moved)
    if f is None:
        return
    for x, parameters in cases(name):
        reverse, forward = f(x, *(np.full(x.shape, v) for v in parameters))
        wanted = differences(name, method, x, parameters, moved)
        for found, right in zip(reverse, wanted, strict=True):
            np.testing.assert_allclose(found, right, rtol=1e-7, atol=1e-8, err_msg=f"{method} {parameters}")
        np.testing.assert_allclose(forward, np.sum(reverse, 0), rtol=1e-11, atol=1e-11)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", LAWS)
def test_the_log_density(name):
    moved = name in CONTINUOUS
    check(name, "logpdf" if moved else "logpmf", moved)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", [n for n in LAWS if n not in ("hypergeometric", "integers")])
def test_the_distribution_function(name):
    check(name, "cdf", name in CONTINUOUS)


@pytest.mark.sampled(13)
@pytest.mark.parametrize("name", [n for n in CONTINUOUS if getattr(tg.distributions, n).has("ppf")])
def test_the_quantile(name):
    law = getattr(tg.distributions, name)
    q, given = tg.vector("q"), [tg.vector(p.name) for p in law.parameters]
    f = tg.function([q, *given], tg.grad(tg.sum(law.ppf(q, *given)), [q, *given]), backend="perform")
    for _, parameters in cases(name):
        found = f(LEVELS, *(np.full(LEVELS.shape, v) for v in parameters))
        right = differences(name, "ppf", LEVELS, parameters, True)
        for one, wanted in zip(found, right, strict=True):
            np.testing.assert_allclose(one, wanted, rtol=1e-7, atol=1e-7, err_msg=str(parameters))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["poisson", "betabinom"])
def test_an_entropy_that_is_a_sum(name):
    law, (make, table) = getattr(tg.distributions, name), LAWS[name]
    values = [float(v) for v in table[0]]
    given = [tg.scalar(p.name) for p in law.parameters]
    moved = [k for k, p in enumerate(law.parameters) if p.name not in FIXED.get(name, ())]
    y = law.entropy(*given)
    tangents = [tg.jvp(y, given[k], tg.ones_like(given[k])) for k in moved]
    f = tg.function(given, [tg.grad(y, [given[k] for k in moved]), tangents], backend="perform")
    reverse, forward = f(*values)
    wanted = [slope(lambda v, k=k: make(*values[:k], v, *values[k + 1 :]).entropy(), values[k]) for k in moved]
    np.testing.assert_allclose(reverse, wanted, rtol=1e-7)
    np.testing.assert_allclose(forward, wanted, rtol=1e-7)
