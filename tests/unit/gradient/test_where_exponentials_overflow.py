"""Gradients of formulas with exponentials, where these overflow: rewriting has to keep them as right as the values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

import tg

X = np.array([-800.0, -40.0, -1.0, 0.0, 1.0, 40.0, 800.0])
W = np.array([1.0, 2.0, -3.0, 0.5, 1.5, -1.0, 2.0])
FORMULAS = {
    "log(1 + exp(x))": (lambda x: tg.log(1 + tg.exp(x)), expit(X)),
    "log1p(exp(x))": (lambda x: tg.log1p(tg.exp(x)), expit(X)),
    "-log(1 + exp(-x))": (lambda x: -tg.log(1 + tg.exp(-x)), expit(-X)),
}


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_gradient_is_right_at_both_ends(formula, weighted) -> None:
    build, slope = FORMULAS[formula]
    x, w = tg.vector("x"), tg.vector("w")
    cost = tg.sum((w if weighted else 1.0) * build(x))
    f = tg.function([x, w], tg.grad(cost, x), backend="perform", on_unused_input="ignore")
    np.testing.assert_allclose(f(X, W), slope * (W if weighted else 1.0), rtol=1e-12, atol=1e-300)
