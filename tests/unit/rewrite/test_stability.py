"""What users write out of exponentials has the values and the gradients of the stable functions at any size."""

import numpy as np
import pytest

import tg
from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.graph.text import to_text
from tg.plugin.records import Rewrites
from tg.rewrite.driver import rewrite
from tg.rewrite.rules.catalog import PASSES, RULES

CORE = Rewrites(RULES, PASSES)
SIZES = {
    "float64": (-1e4, -800.0, -40.0, -3.0, -1.0, 0.0, 0.5, 1.0, 3.0, 40.0, 800.0, 1e4),
    "float32": (-1e4, -100.0, -20.0, -3.0, -1.0, 0.0, 0.5, 1.0, 3.0, 20.0, 100.0, 1e4),
}


def rewritten(inputs, outputs):
    return rewrite(FunctionGraph.of(inputs, outputs), [CORE], supported=lambda op, types: True)


def with_gradients(inputs, output):
    """The output, and the gradients of a sum in which every element counts differently."""
    return [output, *tg.grad(tg.sum(output * 1.5), inputs, disconnected="zero")]


def ops_of(frozen):
    return {node.op.name for node in frozen.nodes}


def cross_entropy(p):
    return -(0.3 * tg.log(p) + 0.7 * tg.log(1 - p))


def logistic(x):
    return 1 / (1 + tg.exp(-x))


ONE_OPERAND = {
    "softplus": (lambda x: tg.log(1 + tg.exp(x)), tg.softplus),
    "softplus by log1p": (lambda x: tg.log1p(tg.exp(x)), tg.softplus),
    "softplus of a multiple": (lambda x: tg.log(1 + tg.exp(-2 * x)), lambda x: tg.softplus(-2 * x)),
    "softplus of a difference": (lambda x: tg.log(1 + tg.exp(x - 1)), lambda x: tg.softplus(x - 1)),
    "softplus by the maximum": (
        lambda x: tg.maximum(x, 0) + tg.log1p(tg.exp(-tg.absolute(x))),
        lambda x: tg.where(x == 0, 0.0, 1.0) * tg.softplus(x) + tg.where(x == 0, tg.softplus(x), 0.0),
    ),
    "logistic": (logistic, tg.sigmoid),
    "logistic by two exponentials": (lambda x: tg.exp(x) / (1 + tg.exp(x)), tg.sigmoid),
    "logistic squared": (lambda x: logistic(x) ** 2, lambda x: tg.sigmoid(x) ** 2),
    "logistic density": (lambda x: tg.exp(-x) / (1 + tg.exp(-x)) ** 2, lambda x: tg.sigmoid(x) * tg.sigmoid(-x)),
    "log of sigmoid": (lambda x: tg.log(tg.sigmoid(x)), lambda x: -tg.softplus(-x)),
    "log of logistic": (lambda x: tg.log(logistic(x)), lambda x: -tg.softplus(-x)),
    "log of logistic by two exponentials": (
        lambda x: tg.log(tg.exp(x) / (1 + tg.exp(x))),
        lambda x: -tg.softplus(-x),
    ),
    "log of the complement": (lambda x: tg.log(1 - tg.sigmoid(x)), lambda x: -tg.softplus(x)),
    "cross entropy of sigmoid": (
        lambda x: cross_entropy(tg.sigmoid(x)),
        lambda x: 0.3 * tg.softplus(-x) + 0.7 * tg.softplus(x),
    ),
    "cross entropy of logistic": (
        lambda x: cross_entropy(logistic(x)),
        lambda x: 0.3 * tg.softplus(-x) + 0.7 * tg.softplus(x),
    ),
    "log of a sum with a number": (lambda x: tg.log(3 + tg.exp(x)), lambda x: tg.logaddexp(x, np.log(3))),
    "log of three": (
        lambda x: tg.log(tg.exp(x) + tg.exp(-x) + tg.exp(2 * x)),
        lambda x: tg.logaddexp(tg.logaddexp(x, -x), 2 * x),
    ),
    "log of cosh": (lambda x: tg.log(tg.cosh(x)), lambda x: x + tg.softplus(-2 * x) - np.log(2)),
    "tanh by exponentials": (lambda x: (tg.exp(2 * x) - 1) / (tg.exp(2 * x) + 1), tg.tanh),
    "tanh by falling exponentials": (lambda x: (1 - tg.exp(-2 * x)) / (1 + tg.exp(-2 * x)), tg.tanh),
    "tanh by four exponentials": (
        lambda x: (tg.exp(x) - tg.exp(-x)) / (tg.exp(x) + tg.exp(-x)),
        tg.tanh,
    ),
    "tanh by hyperbolic functions": (lambda x: tg.sinh(x) / tg.cosh(x), tg.tanh),
    "silu": (lambda x: x / (1 + tg.exp(-x)), lambda x: x * tg.sigmoid(x)),
}


@pytest.mark.parametrize("name", ONE_OPERAND)
@pytest.mark.parametrize("dtype", SIZES)
def test_a_formula_has_values_and_gradients_at_any_size(name, dtype):
    formula, stable = ONE_OPERAND[name]
    x = tg.vector("x", dtype=dtype)
    array = np.array(SIZES[dtype], dtype)
    with np.errstate(all="ignore"):
        found = interpret(rewritten([x], with_gradients([x], formula(x))), [array])
        wanted = interpret(FunctionGraph.of([x], with_gradients([x], stable(x))).freeze(), [array])
    eps = np.finfo(dtype).eps
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=64 * eps, atol=64 * eps)


@pytest.mark.parametrize("dtype", SIZES)
def test_the_inverse_of_softplus_and_its_gradient(dtype):
    x = tg.vector("x", dtype=dtype)
    array = np.array([1e-6, 0.1, 0.5, 1.0, 2.0, 30.0, 100.0, 800.0, 1e4], dtype)
    with np.errstate(all="ignore"):
        value, slope = interpret(rewritten([x], with_gradients([x], tg.log(tg.exp(x) - 1))), [array])
    wide = array.astype(np.float64)
    rtol = 64 * np.finfo(dtype).eps
    np.testing.assert_allclose(value, wide + np.log(-np.expm1(-wide)), rtol=rtol, atol=rtol)
    np.testing.assert_allclose(slope, -1.5 / np.expm1(-wide), rtol=rtol)


def row_sum(x, **kept):
    return tg.sum(x, axis=1, **kept)


def row_softmax(x):
    return tg.exp(x) / row_sum(tg.exp(x), keepdims=True)


def shifted(x):
    return x - tg.max(x, axis=1, keepdims=True)


OF_ROWS = {  # x, non-negative weights y, any weights w
    "softmax": (lambda x, y, w: w * row_softmax(x), lambda x, y, w: w * tg.softmax(x)),
    "softmax of shifted": (lambda x, y, w: w * row_softmax(shifted(x)), lambda x, y, w: w * tg.softmax(x)),
    "softmax over all": (
        lambda x, y, w: w * (tg.exp(x) / tg.sum(tg.exp(x))),
        lambda x, y, w: w * tg.exp(x - tg.logsumexp(x)),
    ),
    "logsumexp": (
        lambda x, y, w: tg.log(row_sum(tg.exp(x))),
        lambda x, y, w: tg.logsumexp(x, axis=1),
    ),
    "logsumexp of all": (lambda x, y, w: tg.log(tg.sum(tg.exp(x))), lambda x, y, w: tg.logsumexp(x)),
    "logsumexp of columns": (
        lambda x, y, w: w * tg.log(tg.sum(tg.exp(x), axis=0, keepdims=True)),
        lambda x, y, w: w * tg.logsumexp(x, axis=0, keepdims=True),
    ),
    "logsumexp with the maximum taken out": (
        lambda x, y, w: tg.log(row_sum(tg.exp(shifted(x)), keepdims=True)) + tg.max(x, axis=1, keepdims=True),
        lambda x, y, w: tg.logsumexp(x, axis=1, keepdims=True),
    ),
    "log of the mean": (
        lambda x, y, w: tg.log(tg.mean(tg.exp(x), axis=1)),
        lambda x, y, w: tg.logsumexp(x, axis=1) - np.log(3),
    ),
    "log of one and a sum": (
        lambda x, y, w: tg.log(1 + row_sum(tg.exp(x))),
        lambda x, y, w: tg.softplus(tg.logsumexp(x, axis=1)),
    ),
    "log of softmax": (lambda x, y, w: w * tg.log(tg.softmax(x)), lambda x, y, w: w * tg.log_softmax(x)),
    "log of written softmax": (lambda x, y, w: w * tg.log(row_softmax(x)), lambda x, y, w: w * tg.log_softmax(x)),
    "cross entropy": (
        lambda x, y, w: -row_sum(y * tg.log(tg.softmax(x))),
        lambda x, y, w: -row_sum(y * tg.log_softmax(x)),
    ),
    "cross entropy of written softmax": (
        lambda x, y, w: -row_sum(y * tg.log(row_softmax(x))),
        lambda x, y, w: -row_sum(y * tg.log_softmax(x)),
    ),
    "weighted mean": (
        lambda x, y, w: row_sum(w * tg.exp(x)) / row_sum(tg.exp(x)),
        lambda x, y, w: row_sum(w * tg.softmax(x)),
    ),
}
ROWS = np.array([[1, 2, -3], [800, -800, 3], [1e4, 1e4, -1e4], [0, 0, 0]], float)
LABELS = np.array([[0, 1, 0], [0, 1, 0], [0.25, 0.25, 0.5], [1, 0, 0]])
WEIGHTS = np.array([[0.5, -1, 2], [1, 1.5, -0.25], [0.75, 1, -2], [3, 0.1, -1]])


@pytest.mark.parametrize("name", OF_ROWS)
@pytest.mark.parametrize("shape", [(None, None), (4, 3)])
@pytest.mark.parametrize("dtype", SIZES)
def test_a_formula_of_rows_has_values_and_gradients_at_any_size(name, shape, dtype):
    formula, stable = OF_ROWS[name]
    x, y, w = (tg.tensor(n, dtype=dtype, shape=shape) for n in "xyw")
    arrays = [a.astype(dtype) for a in (ROWS, LABELS, WEIGHTS)]
    with np.errstate(all="ignore"):
        found = interpret(rewritten([x, y, w], with_gradients([x], formula(x, y, w))), arrays)
        wanted = interpret(FunctionGraph.of([x, y, w], with_gradients([x], stable(x, y, w))).freeze(), arrays)
    eps = np.finfo(dtype).eps
    for got, want in zip(found, wanted, strict=True):  # differences of what is as large as x have its rounding
        np.testing.assert_allclose(got, want, rtol=64 * eps, atol=4 * eps * np.abs(ROWS).max())


@pytest.mark.parametrize("name", ["cross entropy", "cross entropy of written softmax", "softmax", "logsumexp"])
def test_the_gradient_of_a_formula_of_rows_has_no_exponential_left(name):
    x, y, w = (tg.matrix(n) for n in "xyw")
    graph = rewritten([x, y, w], with_gradients([x], OF_ROWS[name][0](x, y, w)))
    assert "divide" not in ops_of(graph), to_text(graph)
    assert "log" not in ops_of(graph), to_text(graph)


def test_a_nan_is_kept_where_factors_cancel():
    x, y = tg.matrix("x"), tg.matrix("y")
    output = -tg.sum(y * tg.log(row_softmax(x)))
    graph = rewritten([x, y], tg.grad(output, [x]))
    found = interpret(graph, [np.array([[1, np.nan, 2], [1, 2, 3.0]]), np.array([[1, 0, 0], [0, 1, 0.0]])])[0]
    assert np.isnan(found[0]).all()
    assert np.isfinite(found[1]).all()


def test_a_closed_gate_stays_closed():
    g, x = (tg.tensor(n, shape=(4,)) for n in "gx")
    gate = tg.ops.elementwise.arithmetic.gate
    graph = rewritten([g, x], [gate(gate(g, tg.sigmoid(-x)), tg.exp(x))])
    assert ops_of(graph) == {"sigmoid", "gate"}
    found = interpret(graph, [np.array([0.0, 0.0, 2.0, 2.0]), np.array([np.nan, 1.0, np.nan, 800.0])])[0]
    np.testing.assert_array_equal(found, [0.0, 0.0, np.nan, 2.0])


def test_nothing_is_joined_of_different_operands():
    g, x, y = (tg.vector(n) for n in "gxy")
    output = g * tg.sigmoid(-x) * tg.exp(y)
    assert "exp" in ops_of(rewritten([g, x, y], [output]))


def test_the_gradient_of_logistic_regression_is_that_of_its_logits():
    rows, labels, weights = tg.matrix("rows"), tg.vector("labels"), tg.vector("weights")
    p = tg.sigmoid(rows @ weights)
    cost = -tg.sum(labels * tg.log(p) + (1 - labels) * tg.log(1 - p))
    graph = rewritten([rows, labels, weights], [cost, *tg.grad(cost, [weights])])
    assert not ops_of(graph) & {"divide", "log", "isnan", "exp"}, to_text(graph)
    x = np.array([[1e3, 0.0], [-1e3, 1.0], [0.0, 2.0], [1e3, 0.5]])
    y = np.array([0.0, 1.0, 1.0, 1.0])
    _, slope = interpret(graph, [x, y, np.ones(2)])
    z = x @ np.ones(2)
    np.testing.assert_allclose(slope, x.T @ (np.where(z > 0, 1, np.exp(np.minimum(z, 0))) / (1 + np.exp(-abs(z))) - y))


def test_the_gradient_of_the_cross_entropy_of_a_softmax_is_their_difference():
    x, y = tg.matrix("x"), tg.matrix("y")
    cost = -tg.mean(tg.sum(y * tg.log(tg.softmax(x)), axis=1))
    graph = rewritten([x, y], tg.grad(cost, [x]))
    assert not ops_of(graph) & {"log", "isnan", "exp", "gate"}, to_text(graph)
