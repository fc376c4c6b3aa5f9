"""The modes: which classes each applies, where they are chosen, and what mode "finite" takes for granted."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import tg
from tg import configuration
from tg.rewrite.phases import KINDS, MODES

NAN, INF = np.nan, np.inf
HIDDEN = {  # an expression, what it is of values that are not finite on the way, by default and in mode "finite"
    "a product with 0": (lambda x: x * 0, [NAN, INF, 2.0], [NAN, NAN, 0.0], [0.0, 0.0, 0.0]),
    "a quotient by itself": (lambda x: x / x, [0.0, INF, 2.0], [NAN, NAN, 1.0], [1.0, 1.0, 1.0]),
    "a difference from itself": (lambda x: x - x, [NAN, INF, 2.0], [NAN, NAN, 0.0], [0.0, 0.0, 0.0]),
    "exp of log": (lambda x: tg.exp(tg.log(x)), [-1.0, 0.0, 2.0], [NAN, 0.0, 2.0], [-1.0, 0.0, 2.0]),
    "log of exp": (lambda x: tg.log(tg.exp(x)), [1000.0, -1000.0, 2.0], [INF, -INF, 2.0], [1000.0, -1000.0, 2.0]),
    "a factor of a sum": (lambda x: tg.sum(x * tg.sqrt(x[0])), [-1.0, 1.0], NAN, NAN),
    "terms": (lambda x: tg.sin(x) + (2 * x - tg.sin(x)), [INF, 2.0], [NAN, 4.0], [INF, 4.0]),
    "factors": (lambda x: x**3 * tg.cos(x) / x, [0.0, INF, 1.0], [NAN, NAN, np.cos(1.0)], [0.0, NAN, np.cos(1.0)]),
}
FINITE = {
    "a mean less itself": (lambda x, y: x - x.mean() + y - x, lambda x, y: x - x.mean() + y - x),
    "a scale and back": (lambda x, y: x * tg.exp(y) / tg.exp(y) / x, lambda x, y: x * np.exp(y) / np.exp(y) / x),
    "roots": (lambda x, y: tg.sqrt(x) ** 2 / tg.sqrt(x) * y, lambda x, y: np.sqrt(x) ** 2 / np.sqrt(x) * y),
    "logarithms": (lambda x, y: tg.log(tg.exp(y)) * tg.exp(tg.log(x)), lambda x, y: x * y),
    "angles": (lambda x, y: tg.sin(y) ** 2 + tg.cos(y) ** 2 + x, lambda x, y: np.sin(y) ** 2 + np.cos(y) ** 2 + x),
    "a choice": (lambda x, y: tg.where(x > y, x * 0, y / y), lambda x, y: np.where(x > y, x * 0, y / y)),
    "a table": (lambda x, y: tg.sum(x[:, None] * y[None] * x[:, None], 0), lambda x, y: np.outer(x * x, y).sum(0)),
    "matrices": (lambda x, y: tg.diag(x) @ y + tg.eye(5) @ x, lambda x, y: np.diag(x) @ y + x),
}  # fmt: skip


def test_the_modes_are_those_of_rewriting_and_debugging():
    assert (*MODES, "debug") == configuration.MODES
    assert MODES["finite"] == frozenset(KINDS)


@pytest.mark.parametrize("name", HIDDEN)
def test_mode_finite_may_hide_what_is_not_finite(name):
    formula, at, by_default, wanted = HIDDEN[name]
    x = tg.vector("x")
    for mode, value in (("default", by_default), ("finite", wanted)):
        f = tg.function([x], formula(x), backend="perform", mode=mode)
        np.testing.assert_allclose(f(at), value, rtol=1e-15, err_msg=mode)


@pytest.mark.parametrize("name", FINITE)
def test_mode_finite_agrees_where_all_values_are_finite(name):
    formula, wanted = FINITE[name]
    x, y = tg.vector("x"), tg.vector("y")
    f = tg.function([x, y], formula(x, y), backend="perform", mode="finite")
    a, b = np.linspace(0.3, 2.5, 5), np.array([-0.7, 1.5, 2.0, -3.0, 0.1])
    np.testing.assert_allclose(f(a, b), wanted(a, b), rtol=1e-13)


def test_mode_finite_is_chosen_as_the_others_are():
    x = tg.vector("x")
    with tg.config(mode="finite"):
        f = tg.function([x], x / x, backend="perform")
    g = tg.jit(lambda v: v / v, backend="perform", mode="finite")
    for one in (f, pickle.loads(pickle.dumps(f)), f.copy(), g):
        np.testing.assert_array_equal(one(np.array([0.0, 2.0])), [1.0, 1.0])
    assert 'mode "finite"' in repr(tg.explain(f))
    assert "divide_by_itself" in tg.explain(x / x, backend="perform", mode="finite").counts
    excluding = tg.function([x], x / x, backend="perform", mode="finite", exclude="nan_unsafe")
    assert np.isnan(excluding([0.0])).all()


def test_mode_finite_is_chosen_by_the_environment():
    code = "import tg; x = tg.scalar('x'); print(tg.function([x], x / x, backend='perform')(0.0))"
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "TG_MODE": "finite"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == "1.0"
