"""What users write out of tails has its value, its gradient and its second derivative where the tails have vanished."""

import math

import mpmath as mp
import numpy as np
import pytest

import tg
from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.plugin.records import Rewrites
from tg.rewrite.driver import rewrite
from tg.rules.catalog import PASSES, RULES

CORE = Rewrites(RULES, PASSES)
ROOT_2 = math.sqrt(2)
ROOT_2_PI = math.sqrt(2 * math.pi)
OUT = (-900.0, -60.0, -40.0, -9.0, -1.5, 0.25, 1.0, 7.0, 40.0)


def ndtr(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def log_ndtr(x):
    return mp.log(ndtr(x)) if x < 0 else mp.log1p(-ndtr(-x))


def log_erfc(x):
    return mp.log(2) + log_ndtr(-x * mp.sqrt(2))


FORMS = {
    "log of ndtr": (lambda x: tg.log(tg.ndtr(x)), log_ndtr),
    "log of the other tail": (lambda x: tg.log(1 - tg.ndtr(x)), lambda x: log_ndtr(-x)),
    "log1p of minus ndtr": (lambda x: tg.log1p(-tg.ndtr(x)), lambda x: log_ndtr(-x)),
    "log of ndtr by erf": (lambda x: tg.log(0.5 * (1 + tg.erf(x / ROOT_2))), log_ndtr),
    "log of ndtr by erfc": (lambda x: tg.log(tg.erfc(-x / ROOT_2) / 2), log_ndtr),
    "log of erfc": (lambda x: tg.log(tg.erfc(-x)), lambda x: log_erfc(-x)),
    "log of 1 - erf": (lambda x: tg.log(1 - tg.erf(-x)), lambda x: log_erfc(-x)),
    "log1p of erf": (lambda x: tg.log1p(tg.erf(x)), lambda x: log_erfc(-x)),
    "hazard": (
        lambda x: tg.exp(-0.5 * x**2) / ROOT_2_PI / tg.ndtr(x),
        lambda x: mp.npdf(x) / ndtr(x),
    ),
    "hazard by erfc": (lambda x: tg.exp(-x * x / 2) / tg.erfc(-x / ROOT_2), lambda x: mp.exp(-x * x / 2) / ndtr(x) / 2),
    "ratio of Mills": (lambda x: tg.ndtr(x) * tg.exp(x * x / 2), lambda x: ndtr(x) * mp.exp(x * x / 2)),
    "erfcx": (lambda x: tg.exp(x * x) * tg.erfc(-x), lambda x: mp.erfc(-x) * mp.exp(x * x)),
    "erfcx by a quotient": (lambda x: tg.erfc(-x) / tg.exp(-x * x), lambda x: mp.erfc(-x) * mp.exp(x * x)),
}


def rewritten(x, outputs):
    return rewrite(FunctionGraph.of([x], outputs), [CORE], supported=lambda op, types: True)


def slopes(x, y, order):
    """A value and its derivatives up to an order."""
    found = [y]
    for _ in range(order):
        found.append(tg.grad(tg.sum(found[-1]), x))
    return found


@pytest.mark.parametrize("form", FORMS)
def test_a_form_of_tails_has_its_value_and_its_derivatives_far_out(form):
    build, exactly = FORMS[form]
    order = 2 if "log" in form else 1
    x = tg.vector("x")
    found = interpret(rewritten(x, slopes(x, build(x), order)), [np.array(OUT)])
    with mp.workdps(40):
        for k, value in enumerate(found):
            for place, got in zip(OUT, value, strict=True):
                wanted = mp.diff(exactly, mp.mpf(place), k)
                if abs(wanted) > mp.mpf(10) ** 308 or abs(wanted) < mp.mpf(10) ** -300:
                    continue  # out of the range of a number
                # a square of x that is rounded costs as many digits, and so do terms of the last derivative that cancel
                lost = 60 + place**2 * (place > 0)
                slack = 1e-15 * lost * (max(1.0, place**2) if k == order else 1.0)
                assert abs(got - wanted) <= slack * abs(wanted), (k, place, got, wanted)


@pytest.mark.parametrize(
    ("form", "function"),
    [
        (lambda x: tg.log(0.5 * (1 + tg.erf(x / ROOT_2))), tg.log_ndtr),
        (lambda x: tg.log(0.5 * tg.erfc(-x / ROOT_2)), tg.log_ndtr),
        (lambda x: tg.log(0.5 * tg.erfc(x * math.sqrt(0.5))), lambda x: tg.log_ndtr(-x)),
        (lambda x: tg.exp(-(x**2)) / tg.erfc(x), lambda x: 1 / tg.erfcx(x)),
        (lambda x: tg.ndtri(tg.exp(x)), tg.ndtri_exp),
        (lambda x: 1 - tg.gammainc(x, 2.0), lambda x: tg.gammaincc(x, 2.0)),
        (lambda x: tg.log(tg.gamma(tg.exp(x) + 1)), lambda x: tg.gammaln(tg.exp(x) + 1)),
        (lambda x: tg.log(tg.beta(tg.exp(x), tg.softplus(x))), lambda x: tg.betaln(tg.exp(x), tg.softplus(x))),
        (lambda x: tg.grad(tg.sum(tg.log(tg.gamma(x))), x), tg.digamma),
    ],
)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_form_becomes_the_function_that_it_is(form, function, dtype):
    x = tg.vector("x", dtype)
    assert rewritten(x, [form(x)]) == rewritten(x, [function(x)])


@pytest.mark.parametrize(
    "form",
    [
        lambda x: tg.exp(x * x * 1.001) * tg.erfc(x),
        lambda x: tg.exp(x * x) * tg.ndtr(x),
        lambda x: tg.exp(x * x) * tg.erfc(x * 1.001),
        lambda x: tg.exp(x * x) / tg.erfc(x),
        lambda x: tg.log(tg.beta(x, x + 1)),
        lambda x: tg.log(tg.erfc(x) * -0.5),
    ],
)
def test_a_form_that_only_looks_like_one_stays(form):
    x = tg.vector("x")
    kept = {node.op.name for node in FunctionGraph.of([x], [form(x)]).freeze().nodes}
    assert kept & {"erfc", "ndtr", "beta"} <= {node.op.name for node in rewritten(x, [form(x)]).nodes}


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_the_logarithm_of_a_gamma_function_below_0_is_nan_as_written(dtype):
    x = tg.vector("x", dtype)
    places = np.array([0.0, -0.0, -0.5, -1.0, -1.5, -2.5, -3.5, 0.5, 2.0, 3.0, np.inf, -np.inf, np.nan], dtype)
    for form in (
        lambda x: tg.log(tg.gamma(x)),
        lambda x: tg.log(tg.absolute(tg.gamma(x))),
        lambda x: tg.log(tg.factorial(x)),
    ):
        written = FunctionGraph.of([x], [form(x)]).freeze()
        (wanted,), (found,) = (interpret(f, [places]) for f in (written, rewritten(x, [form(x)])))
        eps = float(np.finfo(dtype).eps)
        np.testing.assert_allclose(found.astype("f8"), wanted.astype("f8"), rtol=8 * eps, atol=8 * eps)


def test_derivatives_of_logarithms_of_gamma_functions_do_not_overflow():
    x = tg.vector("x")
    places = np.array([0.3, 2.0, 50.0, 200.0, 1e6])
    for form, shift in ((tg.gamma, 0), (tg.factorial, 1)):
        found = interpret(rewritten(x, slopes(x, tg.log(form(x)), 2)), [places])
        for k, value in enumerate(found):
            wanted = [mp.loggamma(p + shift) if k == 0 else mp.polygamma(k - 1, p + shift) for p in places]
            np.testing.assert_allclose(value, np.array(wanted, float), rtol=1e-13, atol=1e-13)
    below = interpret(rewritten(x, slopes(x, tg.log(tg.factorial(x)), 2)), [np.array([-0.5, -1.0, -3.0])])
    assert [list(value) for value in below] == [[-np.inf] * 3, [0.0] * 3, [0.0] * 3]
