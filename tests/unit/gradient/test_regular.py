"""Values that are finite wherever the operands are, by their formulas: no choice is made beside them."""

import numpy as np
import pytest

import tg
from tg.gradient.regular import Regularity
from tg.gradient.regular_ops import REGULAR
from tg.graph.traversal import sorted_applies
from tg.ops.elementwise.arithmetic import masked_product

S, T = tg.scalar("s"), tg.scalar("t")
X, A = tg.vector("x"), tg.matrix("a")
INF = tg.constant(-np.inf)


def walk(step, trace=False):
    end, traces = tg.scan(step, S, X)
    return traces if trace else end


IS = {
    "sums and products": S * T + S - T**3,
    "an inverse of a square and a number above 0": 1 / (1 + S**2),
    "an inverse of an exponential": S / tg.exp(T),
    "a root of a sum of squares and 1": 1 / tg.sqrt(1 + tg.sum(X**2)),
    "a power of a positive number": tg.softplus(S) ** T,
    "logarithms of what is positive": tg.log(tg.exp(S) + tg.exp(T)) + tg.gammaln(tg.exp(S)) + tg.digamma(1 + tg.exp(T)),
    "1 less a probability": tg.log(1 - tg.sigmoid(S)) + tg.log1p(-tg.sigmoid(T)) + tg.log1p(0.5 * tg.tanh(S)),
    "what is beyond a ratio": 1 / (1 - 0.5 * tg.tanh(S)),
    "shares": tg.log(tg.softmax(X)),
    "exponentials of what a program leaves out": tg.sum(tg.exp(tg.where(X > 0, X, INF))),
    "a product of matrices": 1 / (1 + tg.sum((A @ A.T) ** 2)),
    "a larger one": 1 / tg.maximum(S, 1.0),
    "a value that a guard keeps from 0": tg.where(S > 0, T, tg.exp(T)),
    "a loop": walk(lambda c, v: (tg.tanh(c + v), None)),
    "traces of a loop": 1 / walk(lambda c, v: (c * v, tg.exp(c)), trace=True),
    "a branch": tg.cond(S > 0, lambda: tg.exp(S), lambda: 1 + S**2) ** -1.5,
}  # fmt: skip
IS_NOT = {
    "an inverse": 1 / S,
    "a logarithm": tg.log(S),
    "a root": tg.sqrt(S),
    "a power with a negative exponent": X**-2,
    "a difference that may be 0": 1 / (1 - tg.exp(S)),
    "a product with what may be 0": 1 / (tg.exp(S) * T),
    "a share that may be 0": 1 / tg.softmax(tg.where(X > 0, X, INF)),
    "a sum with a written infinity": tg.where(S > 0, T, INF) * T,
    "what two left out differ by": tg.where(S > 0, S, INF) - tg.where(T > 0, T, INF),
    "a pole": tg.gammaln(S),
    "an inverse of an integer part": 1 / tg.cast(tg.cast(tg.sigmoid(S), "int64"), "float64"),
    "1 plus what may be -1": 1 / (1 + tg.sin(S)),
    "1 less many probabilities": tg.log1p(-tg.sum(tg.sigmoid(X))),
    "1 less a product of matrices of them": tg.log1p(-tg.sigmoid(A) @ tg.sigmoid(X)),
    "1 less what grows from a fraction": tg.log1p(-tg.sinh(tg.sigmoid(S))),
    "an inverse of a matrix": tg.linalg.inv(A),
    "a loop with a pole": walk(lambda c, v: (1 / (c + v), None)),
    "a branch with a pole": tg.cond(S > 0, lambda: tg.exp(S), lambda: S) ** -1.5,
}
POINTS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 3.0, -20.0, 20.0]


@pytest.mark.parametrize("name", IS)
def test_a_regular_value_is_finite_at_the_hard_points(name):
    value = IS[name]
    assert Regularity().of(value) & REGULAR == REGULAR
    f = tg.function([S, T, X, A], value, backend="perform", mode="off", on_unused_input="ignore")
    for s in POINTS:
        for t in POINTS:
            for v in ([s, t], [t, t], [1.0, s]):
                assert np.isfinite(f(s, t, v, [v, [s, s]])).all()


@pytest.mark.parametrize("name", IS_NOT)
def test_a_value_that_may_be_infinite_is_not_regular(name):
    assert Regularity().of(IS_NOT[name]) & REGULAR != REGULAR


def masks(*outputs):
    return sum(node.key is masked_product for node, _ in sorted_applies(outputs))


def test_second_derivatives_of_a_density_need_no_masks():
    scale = tg.exp(S)
    density = tg.sum(tg.distributions.normal.logpdf(X, T, scale)) + tg.distributions.gamma.logpdf(scale, 2.0, 1.0)
    along = tg.jvp(tg.grad(density, [S, T, X]), [S, T, X], [tg.scalar(), tg.scalar(), tg.vector()])
    assert masks(*along) == 0


def test_what_is_not_asked_for_stays_0_beside_an_infinite_slope():
    along = tg.jvp(tg.grad(tg.sum(tg.sqrt(X)), X), X, [1.0, 0.0])
    assert masks(along) > 0
    np.testing.assert_array_equal(along.eval({X: [4.0, 0.0]}), [-1 / 32, 0])


def test_loops_within_loops_are_asked_about_once(monkeypatch):
    a = tg.scalar("a")
    asked, of = [], Regularity.of
    monkeypatch.setattr(Regularity, "of", lambda self, v: asked.append(v) or of(self, v))

    def nested(c, depth):
        if not depth:
            return tg.sin(c) * a
        return tg.scan(lambda c, _: (nested(c * c - a, depth - 1), None), c, np.ones(3))[0]

    counts = []
    for depth in (1, 2, 4):
        asked.clear()
        tg.hessian(tg.optimize.root(lambda x, d=depth: nested(x, d) - 1, 1.0).x, a)
        counts.append(len(asked))
    assert counts[2] - counts[1] < 3 * (counts[1] - counts[0])  # with each level as many more, not times as many
