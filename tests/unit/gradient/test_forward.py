"""Forward mode, Hessians and their products: against formulas and reverse mode, nested, and with wrong arguments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import tg


def logistic(x, features, labels):
    return tg.sum(tg.log1p(tg.exp(-labels * (features @ x))))


def drawn(seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=3), rng.normal(size=(5, 3)), rng.choice([-1.0, 1.0], 5)


def hessian_by_hand(x, features, labels):
    p = 1 / (1 + np.exp(-(features @ x) * labels))
    return features.T @ (features * (p * (1 - p))[:, None])


@pytest.mark.parametrize("mode", ["default", "off"])
def test_the_hessian_of_the_logistic_loss_is_the_known_one(mode):
    x, a, b = tg.vector("x"), tg.matrix("a"), tg.vector("b")
    values = drawn()
    f = tg.function([x, a, b], tg.hessian(logistic(x, a, b), x), mode=mode, backend="perform")
    np.testing.assert_allclose(f(*values), hessian_by_hand(*values), rtol=1e-12)


def test_the_product_with_the_hessian_is_that_of_the_matrix():
    x, a, b, v = tg.vector("x"), tg.matrix("a"), tg.vector("b"), tg.vector("v")
    values, vector = drawn(1), np.array([1.0, -2.0, 0.5])
    f = tg.function([x, a, b, v], tg.hvp(logistic(x, a, b), x, v), backend="perform")
    np.testing.assert_allclose(f(*values, vector), hessian_by_hand(*values) @ vector, rtol=1e-12)


def test_the_tangent_of_a_product_of_matrices_follows_the_product_rule():
    a, b = tg.matrix("a"), tg.matrix("b")
    da, db = tg.matrix("da"), tg.matrix("db")
    rng = np.random.default_rng(2)
    values = [rng.normal(size=s) for s in ((2, 3), (3, 4), (2, 3), (3, 4))]
    got = tg.jvp(a @ b, [a, b], [da, db]).eval(dict(zip((a, b, da, db), values, strict=True)))
    np.testing.assert_allclose(got, values[2] @ values[1] + values[0] @ values[3], rtol=1e-12)


def test_an_operand_given_twice_has_both_derivatives():
    x = tg.matrix("x")
    value = np.array([[1.0, 2.0], [3.0, 4.0]])
    got = tg.jvp(x @ x, x, np.eye(2)).eval({x: value})
    np.testing.assert_array_equal(got, 2 * value)


def test_tangents_spread_where_operands_broadcast():
    x, y = tg.vector("x"), tg.matrix("y")
    got = tg.jvp(x + y, x, [1.0, 2.0]).eval({x: [0.0, 0.0], y: np.zeros((3, 2))})
    assert got.tolist() == [[1.0, 2.0]] * 3
    s = tg.scalar("s")
    assert tg.jvp(s * y, s, 1.0).eval({s: 2.0, y: [[3.0, 4.0]]}).tolist() == [[3.0, 4.0]]


def test_tangents_of_a_length_that_turns_out_to_be_one():
    x, y = tg.vector("x"), tg.vector("y")
    f = tg.function([x, y], tg.jvp(x * y, [x, y], [x, y]), backend="perform")
    assert f([2.0], [3.0, 5.0]).tolist() == [12.0, 20.0]


def test_a_branch_not_taken_leaks_nothing_forward():
    x = tg.vector("x")
    y = tg.where(x > 0, tg.log(x), 0.0)
    assert tg.jvp(y, x, [1.0, 1.0]).eval({x: [0.0, 2.0]}).tolist() == [0.0, 0.5]


def test_forward_and_reverse_jacobians_agree():
    x = tg.vector("x")
    y = tg.cumsum(tg.exp(x)) * tg.max(x)
    value = np.array([0.3, -1.0, 2.0])
    forward = tg.jacobian(y, x, direction="forward").eval({x: value})
    reverse = tg.jacobian(y, x, direction="reverse").eval({x: value})
    np.testing.assert_allclose(forward, reverse, rtol=1e-14)


def test_the_direction_is_chosen_by_size():
    x = tg.tensor("x", shape=(2,))
    tall = tg.outer(x, tg.constant(np.arange(10.0)))
    text = tg.to_text(tg.jacobian(tall, x), provenance=False)
    assert text == tg.to_text(tg.jacobian(tall, x, direction="forward"), provenance=False)
    assert text != tg.to_text(tg.jacobian(tall, x, direction="reverse"), provenance=False)
    assert tg.jacobian(tall, x).type.shape == (2, 10, 2)


def test_third_derivatives_by_nesting_both_modes():
    x, v = tg.scalar("x"), tg.scalar("v")
    third = tg.jvp(tg.hvp(tg.sin(x), x, v), x, v)
    assert float(third.eval({x: 0.7, v: 2.0})) == pytest.approx(-4 * np.cos(0.7), rel=1e-14)
    reverse = tg.grad(tg.jvp(tg.jvp(tg.exp(2 * x), x, 1.0), x, 1.0), x)
    assert float(reverse.eval({x: 0.5})) == pytest.approx(8 * np.exp(1.0), rel=1e-14)


def test_a_call_of_an_inner_graph_goes_forward_twice():
    x = tg.vector("x")
    total, product = tg.call(lambda v: (tg.sum(v * v), tg.prod(v)), x)
    direct = tg.sum(x * x) * tg.prod(x)
    value, vector = np.array([2.0, 1.0, 3.0]), np.array([1.0, 0.5, -1.0])
    np.testing.assert_allclose(
        tg.hvp(total * product, x, vector).eval({x: value}), tg.hvp(direct, x, vector).eval({x: value}), rtol=1e-14
    )


def test_structures_go_through():
    x, y = tg.vector("x"), tg.scalar("y")
    wrt = {"x": x, "rest": (y,)}
    tangents = {"x": [1.0, 1.0], "rest": (2.0,)}
    got = tg.jvp({"sum": tg.sum(x) * y, "list": [x * y]}, wrt, tangents)
    assert float(got["sum"].eval({x: [1.0, 2.0], y: 3.0})) == 2 * 3 + 3 * 2
    assert got["list"][0].eval({x: [1.0, 2.0], y: 3.0}).tolist() == [5.0, 7.0]
    h = tg.hessian(tg.sum(x**2) * y, wrt)
    assert h["x"]["rest"][0].eval({x: [1.0, 2.0], y: 3.0}).tolist() == [2.0, 4.0]
    assert float(h["rest"][0]["rest"][0].eval({y: 3.0, x: [1.0]})) == 0.0


@dataclass(frozen=True)
class Model:
    weight: object
    bias: object


def test_a_dataclass_is_a_structure():
    model = Model(tg.vector("w"), tg.scalar("b"))
    g = tg.grad(tg.sum(model.weight * model.bias), model)
    assert type(g) is Model
    assert float(g.bias.eval({model.weight: [1.0, 2.0]})) == 3.0


def test_an_intermediate_variable_has_its_own_tangent_too():
    x = tg.scalar("x")
    y = x * x
    got = tg.jvp(y + x, [x, y], [1.0, 10.0])
    assert float(got.eval({x: 3.0})) == 6.0 + 10.0 + 1.0


def test_consider_constant_cuts_forward_mode():
    x = tg.scalar("x")
    y = x * x
    assert float(tg.jvp(y * x, x, 1.0, consider_constant=[y]).eval({x: 3.0})) == 9.0


def test_what_does_not_depend_raises_or_is_zero():
    x, y = tg.vector("x"), tg.vector("y")
    with pytest.raises(tg.InputError, match=r"jvp: .* does not depend on wrt"):
        tg.jvp(y * 2, x, [1.0])
    got = tg.jvp([x * 1, y * 2], x, [1.0, 1.0], disconnected="zero")
    assert got[1].eval({y: [1.0, 2.0]}).tolist() == [0.0, 0.0]
    assert tg.jvp(tg.floor(x), x, [1.0, 1.0]).eval({x: [0.5, 1.5]}).tolist() == [0.0, 0.0]
    assert tg.hvp(tg.sum(x), x, [1.0, 1.0]).eval({x: [0.5, 1.5]}).tolist() == [0.0, 0.0]


def test_complex_tangents_follow_analytic_and_other_functions():
    z = tg.vector("z", dtype="complex128")
    value, t = np.array([1 + 2j, -0.5 + 1j]), np.array([0.3 - 1j, 2j])
    np.testing.assert_allclose(tg.jvp(tg.exp(z), z, t).eval({z: value}), np.exp(value) * t, rtol=1e-14)
    want = np.real(np.conj(value) * t) / np.abs(value)
    np.testing.assert_allclose(tg.jvp(tg.absolute(z), z, t).eval({z: value}), want, rtol=1e-14)
    np.testing.assert_array_equal(tg.jvp(tg.conjugate(z), z, t).eval({z: value}), np.conj(t))


@pytest.mark.parametrize(
    ("wrong", "error", "text"),
    [
        (lambda x: tg.jvp(x, x, [[1.0]]), tg.InputError, "needed its shape"),
        (lambda x: tg.jvp(x, [x], [1.0, 2.0]), tg.InputError, r"jvp: tangents: found \[1.0, 2.0\], needed \[\*\]"),
        (lambda x: tg.jvp(x, {"a": x}, {"b": 1.0}), tg.InputError, "jvp: tangents"),
        (lambda x: tg.jvp(x, 3.0, 1.0), tg.InputError, "jvp: wrt: found 3.0, needed a variable"),
        (lambda x: tg.jvp(x > 0, x, [1.0]), tg.NotDifferentiable, "needed a floating dtype"),
        (lambda x: tg.jvp(x, tg.cast(x, "int64"), [1]), tg.NotDifferentiable, "needed a floating dtype"),
        (lambda x: tg.jvp(x, x, [1j]), tg.InputError, "needed a real one"),
        (lambda x: tg.jvp(x, x, [1.0], disconnected="maybe"), tg.OptionError, "jvp: disconnected: found 'maybe'"),
        (lambda x: tg.hessian(x, x), tg.NotDifferentiable, "hessian: found a cost float64"),
        (lambda x: tg.jacobian(x, x, direction="up"), tg.OptionError, "direction: found 'up'"),
        (lambda x: tg.grad(None, x), tg.InputError, "neither a cost nor known gradients"),
        (lambda x: tg.grad(tg.sum(x), x, consider_constant=[1.0]), tg.InputError, "consider_constant: found 1.0"),
        (lambda x: tg.grad_clip(x, 1, -1), tg.DomainError, "needed lower <= upper"),
        (lambda x: tg.grad_scale(x, "2"), tg.InputError, "grad_scale: factor: found '2', needed a number"),
    ],
)
def test_wrong_uses_are_refused(wrong, error, text):
    with pytest.raises(error, match=text):
        wrong(tg.vector("x"))


def test_an_op_without_a_derivative_is_named_with_its_line():
    @tg.wrap(infer=lambda x: x)
    def opaque(x):
        return x

    x = tg.vector("x")
    with pytest.raises(tg.NotDifferentiable, match="opaque: the wrapped function has no gradient") as caught:
        tg.jvp(opaque(x), x, [1.0])
    assert any("test_forward.py" in note for note in caught.value.__notes__)
