"""What users write out of exponentials has the values and the gradients of the stable functions at any size."""

import mpmath as mp
import numpy as np
import pytest

import tg
from tests.unit.rules.examine import One
from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.graph.text.printer import to_text
from tg.plugin.records import Rewrites
from tg.rewrite.driver import rewrite
from tg.rules.catalog import PASSES, RULES

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


@pytest.mark.parametrize("name", ["cross entropy", "cross entropy of written softmax", "softmax"])
def test_the_gradient_of_a_formula_of_rows_has_no_exponential_left(name):
    x, y, w = (tg.matrix(n) for n in "xyw")
    graph = rewritten([x, y, w], with_gradients([x], OF_ROWS[name][0](x, y, w)))
    assert "divide" not in ops_of(graph), to_text(graph)
    assert "log" not in ops_of(graph), to_text(graph)


def test_the_shares_of_a_logsumexp_are_made_of_its_own_exponentials():
    x = tg.matrix("x")
    graph = rewritten([x], tg.grad(tg.sum(tg.logsumexp(x, axis=-1)), [x]))
    assert sum(node.op.name == "exp" for node in graph.nodes) == 1
    assert "log" not in ops_of(graph)
    assert "LogSumExp" not in ops_of(graph)


def test_a_nan_is_kept_where_factors_cancel():
    x, y = tg.matrix("x"), tg.matrix("y")
    output = -tg.sum(y * tg.log(row_softmax(x)))
    graph = rewritten([x, y], tg.grad(output, [x]))
    found = interpret(graph, [np.array([[1, np.nan, 2], [1, 2, 3.0]]), np.array([[1, 0, 0], [0, 1, 0.0]])])[0]
    assert np.isnan(found[0]).all()
    assert np.isfinite(found[1]).all()


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


def both(inputs, expression, *arrays):
    """What an expression gives rewritten, and as written."""
    with np.errstate(all="ignore"):
        return [tg.function(inputs, expression, mode=mode, backend="perform")(*arrays) for mode in ("default", "off")]


VECTORS = np.array([0.3, 0.4, 1.0]), np.array([0.1, 0.2, 0.5])


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        (lambda s: 1 / tg.exp(s), lambda s: np.exp(-s)),
        (lambda s: -tg.exp(s), lambda s: -np.exp(s)),
        (lambda s: -1 / tg.exp(s), lambda s: -np.exp(-s)),
        (lambda s: 1 / (1 + tg.exp(s)), lambda s: 1 / (1 + np.exp(s))),
        (lambda s: 1 + tg.exp(s), lambda s: 1 + np.exp(s)),
        (lambda s: tg.exp(s) ** -2, lambda s: np.exp(-2 * s)),
        (lambda s: 1 / tg.cosh(s), lambda s: 1 / np.cosh(s)),
        (lambda s: -tg.expm1(s) / tg.exp(s), lambda s: -np.expm1(s) / np.exp(s)),
    ],
)
def test_a_factor_that_is_moved_keeps_its_sign_and_its_power(inner, expected):
    s, x = tg.vector("s"), tg.vector("x")
    a, b = VECTORS
    for move, moved in (
        (lambda v: v[None], lambda v: v[None]),
        (lambda v: tg.broadcast_to(v, (3, 3)), lambda v: np.broadcast_to(v, (3, 3))),
        (lambda v: v[:, None].T, lambda v: v[None]),
    ):
        wanted = moved(expected(a))
        product = move(inner(s)) * tg.exp(x)[:, None] / tg.exp(x)[:, None]
        found = both([s, x], product, a, b)[0]
        np.testing.assert_allclose(found, np.broadcast_to(wanted, (3, 3)), rtol=1e-12)
        share = tg.exp(x) / tg.sum(tg.exp(x), keepdims=True)
        found = both([s, x], move(inner(s)) * share, a, b)[0]
        np.testing.assert_allclose(found, wanted * np.exp(b) / np.exp(b).sum(), rtol=1e-12)


def test_what_is_infinite_where_a_gate_is_closed_stays_behind_it():
    x, y = tg.vector("x"), tg.vector("y")
    at = np.array([0.0, -1000.0, 1000.0, 0.5])
    for product in (
        tg.gate(y * tg.exp(x), 1 / tg.expm1(x)),
        tg.gate(y * tg.expm1(x), tg.exp(-x)),
        tg.gate(y, tg.exp(x)) * tg.expm1(-x),
        tg.gate(y, tg.expm1(x)) * tg.exp(-x),
        tg.gate(y / (1 + tg.exp(x)), tg.exp(x) / tg.expm1(x)),
    ):
        new, old = both([x, y], product, at, np.zeros(4))
        np.testing.assert_array_equal(new, old)
        new, old = both([x, y], product, np.array([0.5, -2.0]), np.array([1.5, -3.0]))
        np.testing.assert_allclose(new, old, rtol=1e-14)


@pytest.mark.parametrize(
    "product",
    [
        lambda a, u: tg.gate(a * tg.exp(u), 1 / tg.exp(u)),
        lambda a, u: tg.gate(tg.gate(a, tg.exp(u)), tg.exp(-u)),
        lambda a, u: tg.gate(a * tg.sigmoid(u), tg.exp(-u)),
        lambda a, u: tg.gate(a * tg.sigmoid(u), 1 / tg.sigmoid(u)),
        lambda a, u: tg.gate(a * tg.exp(u), tg.expm1(-u)),
        lambda a, u: tg.gate(a / tg.expm1(-u), tg.exp(-u)),
        lambda a, u: tg.gate(a / tg.cosh(u), tg.sinh(u)),
        lambda a, u: tg.gate(a * tg.softmax(u), 1 / tg.softmax(u)),
        lambda a, u: tg.gate(a * tg.exp(u), 1 / tg.sum(tg.exp(u[:1]), -1, keepdims=True)),
        lambda a, u: tg.gate(a[:1] * tg.exp(u[:1]), 1 / tg.sum(tg.exp(u[:1]), -1, keepdims=True)),
        lambda a, u: tg.gate(a / tg.sum(tg.exp(-u), -1, keepdims=True), tg.exp(-u)),
        lambda a, u: tg.gate(a / (tg.exp(-u) + tg.exp(a)), tg.exp(-u)),
        lambda a, u: tg.gate(a * tg.exp(u) - tg.exp(u), 1 / tg.exp(u)),
    ],
)
def test_a_zero_of_an_exponential_that_is_infinite_on_the_way_closes_its_gate(product):
    a, z = (tg.tensor(name, shape=(3,)) for name in "az")
    for u in (tg.log(z), -1 / (z * z), tg.where(z > 0, z, -np.inf), 0.5 - tg.maximum(1 / tg.sqrt(z), 0)):
        new, old = both([a, z], product(a, u), np.array([2.0, 3.0, 0.0]), np.array([0.0, 2.0, 0.0]))
        np.testing.assert_allclose(new, old, rtol=1e-14)


@pytest.mark.parametrize(
    "product",
    [
        lambda a, u: tg.gate(tg.gate(1 / tg.sum(tg.exp(u), -1, keepdims=True), tg.log(a)), tg.exp(u)),
        lambda a, u: tg.gate(1 / tg.sum(tg.exp(u), -1, keepdims=True), tg.log(a)) * tg.exp(u),
        lambda a, u: tg.gate(tg.sigmoid(-u), tg.log(a)) * tg.exp(u),
        lambda a, u: tg.gate(tg.gate(a * tg.sigmoid(-u), tg.log(a)), tg.exp(u)),
    ],
)
def test_a_zero_of_an_exponential_does_not_hide_what_is_no_number_behind_another_gate(product):
    a, z = (tg.tensor(name, shape=(3,)) for name in "az")
    new, old = both([a, z], product(a, tg.where(z > 0, z, -np.inf)), np.array([2.0, 3.0, -1.0]), np.array([1.0, 2, -1]))
    np.testing.assert_allclose(new, old, rtol=1e-14)
    assert np.isnan(old[..., -1]).all()


def test_a_zero_beside_a_gate_does_not_close_it():
    a, x, d = (tg.vector(name) for name in "axd")
    product = a * tg.gate(tg.sigmoid(x), d * tg.exp(-x))  # the 0 of a meets the NaN that d has
    new, old = both([a, x, d], product, np.zeros(3), np.ones(3), np.array([np.nan, 1, np.inf]))
    np.testing.assert_array_equal(new, old)


def test_the_terms_of_a_sum_that_vanishes_stay_behind_their_gate():
    a, x, d = (tg.vector(name) for name in "axd")
    product = tg.gate(a * tg.exp(-x) - tg.exp(-x), tg.exp(x) / d)
    new, old = both([a, x, d], product, np.ones(2), np.ones(2), np.array([0.0, 2.0]))
    np.testing.assert_array_equal(new, old)


@pytest.mark.parametrize("shape", [(3, 1), (1, 1), (3, 4)])
def test_what_is_repeated_by_a_divisor_is_repeated_when_it_is_summed_alone(shape):
    x, w = tg.matrix("x"), tg.tensor("w", shape=shape)
    at = np.arange(12.0).reshape(3, 4) / 10
    below = tg.broadcast_to(tg.sum(tg.exp(x), -1, keepdims=True), x.shape)
    total = tg.exp(x) * tg.sum(w / below, -1, keepdims=True)
    weights = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
    rows = np.exp(at) / np.exp(at).sum(1, keepdims=True)
    expected = rows * np.broadcast_to(weights, (3, 4)).sum(1, keepdims=True)
    for exclude in ((), ("exact",)):
        found = tg.function([x, w], total, exclude=exclude, backend="perform")(at, weights)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("c", [-2.0, -0.0, 0.0, 2.0, np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("known", [False, True])
def test_the_logarithm_of_a_multiple_of_a_sum_of_exponentials(c, known):
    x, s = tg.matrix("x"), tg.scalar("s")
    k = c if known else s
    for formula in (tg.log(tg.sum(tg.exp(x), 1) * k), tg.log(tg.sum(tg.exp(x), 1, keepdims=True) / k)):
        for rows in (np.zeros((2, 0)), np.array([[-np.inf, -np.inf], [0.0, 0.0], [np.nan, 1.0]])):
            new, old = both([x] if known else [x, s], formula, rows, *(() if known else (np.array(c),)))
            np.testing.assert_allclose(new, old, rtol=1e-15)
        if c == 2:
            large = both([x] if known else [x, s], formula, np.full((2, 2), 1e4), *(() if known else (np.array(c),)))[0]
            np.testing.assert_allclose(large, 1e4, rtol=1e-3)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_the_logarithm_of_a_multiple_that_may_be_negative_keeps_its_dtype(dtype):
    x, s = tg.tensor("x", dtype=dtype, shape=(4,)), tg.tensor("s", dtype=dtype, shape=())
    f = tg.function([x, s], [tg.log(tg.sum(tg.exp(x)) * s), tg.log(tg.sum(tg.exp(x)) / s)], backend="perform")
    for y in f(np.full(4, 8, dtype), np.array(2, dtype)):
        assert y.dtype == dtype
    assert all(map(np.isnan, f(np.full(4, 8, dtype), np.array(-2, dtype))))


def test_the_logarithm_of_a_reciprocal_is_nan_of_a_negative_zero():
    x = tg.vector("x")
    for y in (tg.log(1 / x), tg.log2(x**-3), tg.log10(x**-1)):
        with np.errstate(all="ignore"):
            found = tg.function([x], y, backend="perform")(np.array([-0.0, 0.0, 4.0]))
        assert np.isnan(found[0])
        assert found[1] == np.inf
    assert "divide" not in str(tg.function([x], tg.log(1 / tg.exp(x)), backend="perform").graph)


@pytest.mark.parametrize("shape", [(2, 0), (2, None)])
def test_the_mean_of_nothing_is_nan_whatever_its_weights(shape):
    w, x = tg.tensor("w", "float64", shape), tg.tensor("x", "float64", shape)
    mean = tg.function([w, x], tg.sum(w * tg.exp(x), -1) / tg.sum(tg.exp(x), -1), backend="perform")
    with np.errstate(all="ignore"):
        assert np.isnan(mean(np.zeros((2, 0)), np.zeros((2, 0)))).all()
    if None in shape:
        np.testing.assert_allclose(mean([[1.0, 3.0]] * 2, [[800.0, 800.0]] * 2), 2.0)


def test_exponentials_are_joined_where_neither_is_repeated_or_used_elsewhere():
    x, y = tg.matrix("x"), tg.tensor("y", shape=(1, None))
    for stays in (tg.exp(x) * tg.exp(y), tg.exp(y) * tg.exp(x), tg.exp(x) / tg.exp(y[0])):
        assert sum(node.op.name == "exp" for node in rewritten([x, y], [stays]).nodes) == 2
    z = tg.tensor("z", shape=(3, 4))
    w = tg.tensor("w", shape=(3, 4))
    assert sum(node.op.name == "exp" for node in rewritten([z, w], [tg.exp(z) * tg.exp(w)]).nodes) == 1
    for used in (z, w):
        both_used = rewritten([z, w], [tg.exp(z) * tg.exp(w), tg.sin(tg.exp(used))])
        assert sum(node.op.name == "exp" for node in both_used.nodes) == 2


def test_a_masked_softmax_by_hand_asks_for_no_infinity_that_its_maximum_excludes():
    s, m = tg.matrix("s"), tg.matrix("m", dtype="bool")
    z = tg.where(m, s, -np.inf)
    e = tg.exp(z - tg.max(z, axis=1, keepdims=True))
    f = tg.function([s, m], tg.grad(tg.sum((e / tg.sum(e, axis=1, keepdims=True)) ** 2), s), backend="perform")
    value, mask = np.array([[1.0, 2.0, 3.0]]), np.array([[True, False, True]])
    p = np.where(mask, np.exp(value - 3), 0) / np.exp(value - 3)[mask].sum()
    np.testing.assert_allclose(f(value, mask), 2 * p * (p - (p * p).sum()), rtol=1e-14)
    assert "const float64[] inf" not in f.source()


def test_a_maximum_put_back_after_a_logsumexp_is_the_one_that_was_subtracted():
    (one,) = (one for one in RULES if one.name == "logsumexp_shifted_back")
    x, row = tg.tensor("x", shape=(4, 4)), tg.tensor("row", shape=(1, 4))
    m, top = tg.max(x, axis=1), tg.max(x)
    shifted = x - tg.broadcast_to(m[:, None], (4, 4))
    repeated = row - tg.broadcast_to(tg.max(row), (3, 4))  # each element stands in it three times
    at, row_at = np.arange(16.0).reshape(4, 4) % 5, np.array([[0.5, 2.0, -1.0, 0.0]])
    own, whole = np.log(np.sum(np.exp(at), 1)), np.log(np.sum(np.exp(at)))
    for given, value, output, expected, stays in (
        (x, at, tg.logsumexp(shifted, axis=1) + m, own, False),
        (x, at, tg.logsumexp(shifted, axis=1, keepdims=True) + m[:, None], own[:, None], False),
        (x, at, tg.logsumexp(x - top) + top, whole, False),
        (x, at, tg.logsumexp(x - top, keepdims=True) + top, [[whole]], False),
        (x, at, tg.logsumexp(x - top[None, None]) + top[None, None], [[whole]], True),
        (x, at, tg.logsumexp(shifted, axis=1, keepdims=True) + m, own[:, None] - at.max(1)[:, None] + at.max(1), True),
        (row, row_at, tg.logsumexp(repeated) + tg.max(row), np.log(3 * np.sum(np.exp(row_at))), True),
    ):
        frozen = rewrite(FunctionGraph.of([given], [output]), [One(one)], supported=lambda op, types: True)
        np.testing.assert_allclose(interpret(frozen, [value])[0], expected, rtol=1e-14)
        assert ("Reduce" in ops_of(frozen)) is stays


@pytest.mark.parametrize("is_written_out", [False, True])
@pytest.mark.parametrize("shape", [(3, 3), (3, 1), (1, 3), (2, 2, 2), (2, 1, 2)])
def test_a_maximum_put_back_on_another_axis_than_the_one_it_was_taken_over_is_added_there(shape, is_written_out):
    x, at = tg.tensor("x", shape=shape), np.cumsum(np.cos(np.arange(float(np.prod(shape))))).reshape(shape)
    for axis in range(-len(shape), 0):
        top, own_top = tg.max(x, axis=axis, keepdims=True), at.max(axis, keepdims=True)
        shifted = x - top
        total = tg.log(tg.sum(tg.exp(shifted), axis=axis)) if is_written_out else tg.logsumexp(shifted, axis=axis)
        own = np.log(np.sum(np.exp(at - own_top), axis))
        outputs, expected = [], []
        for place in range(-len(shape), 0):
            outputs += [tg.expand_dims(total, place) + top, top + tg.expand_dims(total, place)]
            expected += [np.expand_dims(own, place) + own_top] * 2
        f = tg.function([x], outputs, backend="perform")
        for value, wanted in zip(f(at), expected, strict=True):
            np.testing.assert_allclose(value, wanted, rtol=1e-14)


@pytest.mark.parametrize("by", [[2.0, 3.0], [2.0, 0.0], [2.0, -3.0]])
def test_multiples_of_a_sum_of_exponentials_have_a_logarithm_each(by):
    x, by = tg.matrix("x"), np.array(by)
    small, large = np.array([[1.0, 2.0], [3.0, -1.0]]), np.array([[1000.0, 0.0], [-1000.0, 0.0]])
    for keepdims in (False, True):
        sums = tg.sum(tg.exp(x), 1, keepdims=keepdims)
        with np.errstate(divide="ignore"):
            log_by = np.log(np.maximum(by, 0))
        for y, log_of in ((tg.log(sums * by), log_by), (tg.log(sums / by), -log_by)):
            frozen = rewritten([x], [y])
            with np.errstate(all="ignore"):
                exact = np.log(np.sum(np.exp(small), 1, keepdims=keepdims)) + np.where(by < 0, np.nan, log_of)
                np.testing.assert_allclose(interpret(frozen, [small])[0], exact, rtol=1e-14)
                if (by >= 0).all():
                    high = np.array([1000.0, 0.0])
                    exact = (high[:, None] if keepdims else high) + log_of
                    np.testing.assert_allclose(interpret(frozen, [large])[0], exact, rtol=1e-14)


def chance(t):
    return mp.erfc(-t / mp.sqrt(2)) / 2


def logistic_chance(t):
    return 1 / (1 + mp.exp(-t))


DIFFERENCES = {  # the function, what mpmath has for it and its derivative, and whether f(-t) is 1 - f(t)
    "exp": (tg.exp, mp.exp, mp.exp, False),
    "ndtr": (tg.special.ndtr, chance, mp.npdf, True),
    "sigmoid": (tg.sigmoid, logistic_chance, lambda t: logistic_chance(t) * logistic_chance(-t), True),
}
UPPER = np.array([1.0, 50.0, 800.0, -800.0, 2.0, 9.5, np.inf, 0.25])
LOWER = np.array([0.5, 49.0, 799.0, -801.0, -3.0, 9.0, 0.5, -np.inf])


@pytest.mark.parametrize("name", DIFFERENCES)
def test_the_logarithm_of_a_difference_has_its_digits_in_the_tails(name):
    """Of exponentials and of the chances of an ordinal outcome, whose cutpoints may be infinite, to second order."""
    fn, whole, slope, is_odd = DIFFERENCES[name]
    keep = np.isfinite(UPPER) if name == "exp" else np.ones(len(UPPER), bool)
    upper, lower = UPPER[keep], LOWER[keep]
    a, b = (tg.tensor(v, "float64", (len(upper),)) for v in "ab")
    y = tg.log(fn(a) - fn(b))
    first, second = tg.grad(tg.sum(y), [a, b])
    f = tg.function([a, b], [y, first, second, tg.grad(tg.sum(first), b)], backend="perform")
    wanted = []
    with mp.workdps(60):
        for p, q in zip(map(mp.mpf, upper), map(mp.mpf, lower), strict=True):
            at = [0 if mp.isinf(t) else slope(t) for t in (p, q)]
            ends = (-q, -p) if is_odd and q > 0 else (p, q)
            d = mp.fsub(*(whole(t) if not mp.isinf(t) else mp.mpf(t > 0) for t in ends))
            wanted.append([float(v) for v in (mp.log(d), at[0] / d, -at[1] / d, at[0] * at[1] / d**2)])
    for result, right in zip(f(upper, lower), np.transpose(wanted), strict=True):
        np.testing.assert_allclose(result, right, rtol=1e-12, atol=0)


@pytest.mark.parametrize("order", [0, 1])
def test_the_logarithm_of_a_bessel_function_does_not_overflow(order):
    fn = (tg.special.i0, tg.special.i1)[order]
    x = tg.vector("x")
    y = tg.log(fn(x))
    first = tg.grad(tg.sum(y), x)
    f = tg.function([x], [y, first, tg.grad(tg.sum(first), x)], backend="perform")
    values = np.array([1e-8, 0.25, 1.0, 2.0, 50.0, 720.0, 1e4])
    wanted = []
    with mp.workdps(40):
        for v in map(mp.mpf, values):
            value, one, two = (mp.besseli(order, v, derivative=k) for k in range(3))
            wanted.append([float(u) for u in (mp.log(value), one / value, two / value - (one / value) ** 2)])
    for result, right in zip(f(values), np.transpose(wanted), strict=True):
        np.testing.assert_allclose(result, right, rtol=1e-11, atol=1e-15)
