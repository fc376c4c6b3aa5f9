"""Programs of tg in graphs of PyTensor: values, derivatives, lengths, refusals, and inside a PyMC model."""

from __future__ import annotations

import pickle

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.gradient import verify_grad

import tg
import tg_pytensor

A = np.array([0.5, -1.0, 2.0])
BACKENDS = ("perform", "c")


def ours(x, w):
    """A function of both libraries' variables: this one of tg."""
    return tg.tanh(x @ w) * 2, tg.sum(w**2)


def theirs(x, w):
    """The same of PyTensor."""
    return pt.tanh(x @ w) * 2, pt.sum(w**2)


@pytest.mark.parametrize("backend", BACKENDS)
def test_values_and_derivatives_are_those_of_pytensor(backend):
    x, w = pt.matrix("x"), pt.vector("w")
    values = np.arange(6.0).reshape(2, 3) / 9, A
    results = []
    for made in (tg_pytensor.to_pytensor(ours, backend=backend)(x, w), theirs(x, w)):
        cost = (made[0] ** 2).sum() * made[1]
        results.append(pytensor.function([x, w], [*made, *pt.grad(cost, [x, w])], mode="FAST_COMPILE")(*values))
    for found, expected in zip(*results, strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_derivatives_are_those_of_finite_differences():
    made = tg_pytensor.to_pytensor(lambda x: tg.sum(tg.exp(-(x**2)) * x), backend="perform")
    verify_grad(made, [A], rng=np.random.default_rng(3), mode="FAST_COMPILE")
    # the second derivative: of the op that the first one made
    verify_grad(lambda x: pt.grad(made(x), x), [A], rng=np.random.default_rng(4), mode="FAST_COMPILE")


def test_the_derivative_of_one_output_of_several():
    x, w = pt.matrix("x"), pt.vector("w")
    _, total = tg_pytensor.to_pytensor(ours, backend="perform")(x, w)
    np.testing.assert_allclose(pt.grad(total, w).eval({w: A, x: np.ones((1, 3))}, on_unused_input="ignore"), 2 * A)
    with pytest.raises(pytensor.gradient.DisconnectedInputError):
        pt.grad(total, x)


def test_integers_have_no_derivative():
    x, k = pt.vector("x"), pt.lscalar("k")
    made = tg_pytensor.to_pytensor(lambda x, k: tg.sum(x) * k, backend="perform")(x, k)
    assert pt.grad(made, x).eval({x: A, k: 3}).tolist() == [3.0, 3.0, 3.0]
    with pytest.raises(pytensor.gradient.DisconnectedInputError):
        pt.grad(made, k)


def test_variables_of_tg_and_lengths_that_are_known():
    x = tg.tensor("x", "float64", (3,))
    op = tg_pytensor.to_pytensor([x], [tg.stack([x, 2 * x]), x[:0]], backend="perform")
    given = pt.vector("x", shape=(3,))
    first, empty = op(given)
    assert first.type.shape == (2, 3)
    assert empty.type.shape == (0,)
    assert pt.shape(first).eval({given: A}, on_unused_input="ignore").tolist() == [2, 3]


def test_a_length_that_is_not_known_is_that_of_the_output(caplog):
    x = pt.vector("x")
    y = tg_pytensor.to_pytensor(lambda v: tg.nonzero(v)[0], backend="perform")(x)
    f = pytensor.function([x], [y.shape[0] + 1, y], mode="FAST_RUN")
    assert f(np.array([0.0, 3.0, 0.0, 5.0]))[0] == 3
    assert f(A)[0] == 4
    assert not caplog.records, "PyTensor logs the errors of its rewriting"


def test_other_operands_are_refused():
    op = tg_pytensor.to_pytensor([tg.vector("x")], tg.vector("x"))
    with pytest.raises(tg.DtypeError, match="operand 0: found int64, needed float64"):
        op(pt.lvector("k"))
    with pytest.raises(tg.ShapeError, match=r"operand 0: found .*, needed float64"):
        op(pt.matrix("m"))
    with pytest.raises(tg.InputError, match="found 2 operands, needed 1"):
        op(pt.vector("x"), pt.vector("y"))
    with pytest.raises(tg.BackendUnavailable, match="backend='numba' exists"):
        tg_pytensor.to_pytensor(ours, backend="numab")


def test_functions_with_a_program_inside_are_pickled():
    x = pt.vector("x")
    y = tg_pytensor.to_pytensor(lambda x: tg.sum(tg.exp(x[1:])), backend="perform")(x)
    f = pytensor.function([x], [y, pt.grad(y, x)], mode="FAST_COMPILE")
    for found, expected in zip(pickle.loads(pickle.dumps(f))(A), f(A), strict=True):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(f(A)[1], [0, *np.exp(A[1:])], rtol=1e-15)


def test_a_potential_of_a_model_is_differentiated():
    data = np.array([0.3, 1.0, -0.2])
    found = []
    for logp in (
        tg_pytensor.to_pytensor(lambda mu, y: -0.5 * tg.sum((y - mu) ** 2), backend="perform"),
        lambda mu, y: -0.5 * pt.sum((y - mu) ** 2),
    ):
        with pm.Model() as model:
            mu = pm.Normal("mu")
            pm.Potential("y", logp(mu, data))
        f = model.logp_dlogp_function(mode="FAST_COMPILE", ravel_inputs=True)
        f.set_extra_values({})
        found.append(f(np.array([0.7])))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-14)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-14)
