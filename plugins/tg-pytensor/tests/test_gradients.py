"""Derivatives by tg of what changes them, beside those that PyTensor makes."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from differential import PERFORM
from pytensor.compile.builders import OpFromGraph
from pytensor.gradient import disconnected_grad, grad_clip, grad_scale, undefined_grad, zero_grad

import tg
import tg_pytensor

VALUES = np.array([0.5, -1.0, 2.0, 0.0])


def slopes(x: Any, y: Any, values: Any) -> tuple[Any, Any]:
    """The derivative of a sum, by PyTensor and by tg."""
    theirs = pytensor.function([x], pt.grad(y.sum(), x), mode=PERFORM)(values)
    (x_,), (y_,), _ = tg_pytensor.from_pytensor([x], [y.sum()])
    return theirs, tg.grad(y_, x_).eval({x_: values})


@pytest.mark.parametrize(
    "change",
    [
        lambda v: grad_clip(v, -0.7, 0.5), lambda v: grad_scale(v, -3.0), zero_grad, lambda v: v + zero_grad(v * 2),
        lambda v: v * disconnected_grad(v), lambda v: grad_scale(grad_clip(v, -1, 1), 2.0) * v,
    ],
)  # fmt: skip
def test_changed_derivatives_are_those_of_pytensor(change: Any) -> None:
    x = pt.vector("x")
    theirs, ours = slopes(x, change(x) ** 3, VALUES)
    np.testing.assert_allclose(ours, theirs, rtol=1e-14, atol=0)


def test_a_derivative_of_zero_stays_zero_beside_nan() -> None:
    x = pt.vector("x")
    theirs, ours = slopes(x, pt.log(zero_grad(x) - 9) + x, VALUES)  # whose own derivative is that of NaN
    np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(ours, np.ones(4))


def test_derivatives_that_are_undefined_are_refused() -> None:
    x = pt.vector("x")
    (x_,), (y_,), _ = tg_pytensor.from_pytensor([x], [undefined_grad(x).sum()])
    assert float(y_.eval({x_: VALUES})) == VALUES.sum()
    with pytest.raises(tg.NotDifferentiable, match="undefined_grad"):
        tg.grad(y_, x_)


def test_a_graph_keeps_the_derivative_that_was_given_with_it() -> None:
    p, q, x = pt.vector("p"), pt.vector("q"), pt.vector("x")
    names = inspect.signature(OpFromGraph.__init__).parameters
    given = {"pullback" if "pullback" in names else "lop_overrides": lambda xs, ys, dys: [7 * dys[0] * xs[1], ys[0]]}
    op = OpFromGraph([p, q], [p * pt.exp(q)], **given)
    theirs, ours = slopes(x, op(x, pt.sin(x)) ** 2, VALUES)
    np.testing.assert_allclose(ours, theirs, rtol=1e-13)
    plain = OpFromGraph([p, q], [p * pt.exp(q)])
    theirs, ours = slopes(x, plain(x, pt.sin(x)) ** 2, VALUES)
    np.testing.assert_allclose(ours, theirs, rtol=1e-13)


def test_the_derivative_of_sylvesters_equation() -> None:
    x = pt.matrix("x")
    draws = np.random.default_rng(3).normal(size=(3, 3))
    fixed = pt.constant(draws + 4 * np.eye(3))
    theirs, ours = slopes(x, pt.linalg.solve_sylvester(x, fixed, pt.exp(x)), draws.T + 3 * np.eye(3))
    np.testing.assert_allclose(ours, theirs, rtol=1e-11)
