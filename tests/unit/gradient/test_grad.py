"""Gradients: against known values at the points where conventions matter; conformance compares the rest."""

from __future__ import annotations

import numpy as np
import pytest

import tg


def gradient(build, value, **options):  # type: ignore[no-untyped-def]
    x = tg.tensor("x", shape=np.shape(value))
    return tg.grad(tg.sum(build(x)), x, **options).eval({x: value})


@pytest.mark.parametrize(
    ("build", "at", "want"),
    [
        (tg.absolute, [0.0, -2.0], [0.0, -1.0]),
        (lambda x: tg.maximum(x, 1.0), [0.0, 1.0, 2.0], [0.0, 0.5, 1.0]),
        (lambda x: tg.maximum(x, x), [3.0], [1.0]),
        (lambda x: tg.clip(x, 0.0, 1.0), [-1.0, 0.0, 0.5, 1.0, 2.0], [0.0, 1.0, 1.0, 1.0, 0.0]),
        (tg.max, [1.0, 3.0, 3.0], [0.0, 0.5, 0.5]),
        (tg.prod, [2.0, 0.0, 3.0], [0.0, 6.0, 0.0]),
        (tg.prod, [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]),
        (lambda x: tg.where(x > 0, tg.log(x), 0.0), [0.0, 2.0], [0.0, 0.5]),
        (lambda x: x**0, [0.0, 2.0], [0.0, 0.0]),
        (lambda x: x**2, [0.0, 3.0], [0.0, 6.0]),
        (tg.logsumexp, [-np.inf, -np.inf], [0.0, 0.0]),
        (lambda x: x[[0, 0, 1]], [1.0, 2.0], [2.0, 1.0]),
        (lambda x: tg.zeros(3).at[[0, 0]].set(x), [1.0, 2.0], [0.0, 1.0]),
    ],
)
@pytest.mark.parametrize("mode", ["default", "off"])
def test_the_gradient_follows_the_conventions(build, at, want, mode) -> None:  # type: ignore[no-untyped-def]
    x = tg.vector("x")
    f = tg.function([x], tg.grad(tg.sum(build(x)), x), mode=mode, backend="perform")
    np.testing.assert_array_equal(f(at), want)


def test_the_gradient_of_a_power_at_the_origin_is_zero() -> None:
    x, y = tg.scalar("x"), tg.scalar("y")
    f = tg.function([x, y], tg.grad(x**y, [x, y]), backend="perform")
    assert [float(v) for v in f(0.0, 0.0)] == [0.0, 0.0]


def test_second_derivatives_go_through_gates() -> None:
    x = tg.vector("x")
    hessian = tg.jacobian(tg.grad(tg.sum(tg.where(x > 0, x**3, 0.0)), x), x)
    np.testing.assert_array_equal(hessian.eval({x: [-1.0, 2.0]}), [[0.0, 0.0], [0.0, 12.0]])


def test_the_hessian_of_a_product_with_a_zero_is_right() -> None:
    x = tg.vector("x")
    hessian = tg.jacobian(tg.grad(tg.prod(x), x), x).eval({x: [2.0, 0.0, 3.0]})
    np.testing.assert_array_equal(hessian, [[0.0, 3.0, 0.0], [3.0, 0.0, 2.0], [0.0, 2.0, 0.0]])


def test_wrt_may_be_an_intermediate_variable_and_a_structure() -> None:
    x = tg.scalar("x")
    y = x * 2
    got = tg.grad(y**2 + x, {"x": x, "y": y})
    assert float(got["x"].eval({x: 3.0})) == 25.0
    assert float(got["y"].eval({x: 3.0})) == 12.0


def test_consider_constant_and_stop_gradient_cut_the_flow() -> None:
    x = tg.scalar("x")
    y = x * x
    assert float(tg.grad(y * x, x, consider_constant=[y]).eval({x: 3.0})) == 9.0
    assert float(tg.grad(tg.stop_gradient(y) * x, x).eval({x: 3.0})) == 9.0


def test_disconnected_inputs_raise_or_give_zeros_or_warn() -> None:
    x, y = tg.scalar("x"), tg.vector("y")
    with pytest.raises(tg.InputError, match="does not depend on"):
        tg.grad(x * 2, y)
    assert tg.grad(x * 2, y, disconnected="zero").eval({y: [1.0, 2.0]}).tolist() == [0.0, 0.0]
    with pytest.warns(UserWarning, match="does not depend on"):
        tg.grad(x * 2, y, disconnected="warn")


def test_integers_have_no_gradient() -> None:
    k = tg.scalar("k", dtype="int64")
    with pytest.raises(tg.NotDifferentiable, match="floating"):
        tg.grad(tg.cast(k, "float64") * 2.0, k)


def test_vjp_weights_the_rows_of_the_jacobian() -> None:
    x = tg.vector("x")
    y, v = x**2, tg.vector("v")
    value, weight = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    assert tg.vjp(y, x, v).eval({x: value, v: weight}).tolist() == (2 * value * weight).tolist()
    jacobian = tg.jacobian(y, x).eval({x: value})
    assert (weight @ jacobian).tolist() == (2 * value * weight).tolist()


def test_the_jacobian_has_the_shape_of_both() -> None:
    x = tg.tensor("x", shape=(2, 3))
    y = tg.sum(x, 0) * 2.0
    assert tg.jacobian(y, x).type.shape == (3, 2, 3)


def test_a_call_of_an_inner_graph_differentiates_twice() -> None:
    x = tg.vector("x")
    total, product = tg.call(lambda v: (tg.sum(v * v), tg.prod(v)), x)
    direct = tg.sum(x * x) * tg.prod(x)
    value = np.array([2.0, 1.0, 3.0])
    for a, b in ((total * product, direct),):
        np.testing.assert_array_equal(tg.grad(a, x).eval({x: value}), tg.grad(b, x).eval({x: value}))
        np.testing.assert_array_equal(
            tg.jacobian(tg.grad(a, x), x).eval({x: value}), tg.jacobian(tg.grad(b, x), x).eval({x: value})
        )


@pytest.mark.long
def test_a_deep_chain_differentiates_without_recursion() -> None:
    x = tg.scalar("x")
    y = x
    for _ in range(20_000):
        y = y * 0.9999
    g = tg.grad(y, x)
    assert float(g.eval({x: 1.0})) == pytest.approx(0.9999**20_000, rel=1e-9)


def test_known_gradients_replace_what_would_flow() -> None:
    x = tg.vector("x")
    y = x**2
    value = np.array([1.0, 2.0])
    alone = tg.grad(None, x, known_grads={y: [1.0, 10.0]})
    assert alone.eval({x: value}).tolist() == [2.0, 40.0]
    beside = tg.grad(tg.sum(y) + tg.sum(x), x, known_grads={y: [1.0, 10.0]})
    assert beside.eval({x: value}).tolist() == [3.0, 41.0]


def test_a_scaled_gradient_is_scaled_in_both_modes_and_leaves_no_trace() -> None:
    x = tg.vector("x")
    y = tg.grad_scale(x, -0.5) ** 2
    assert tg.grad(tg.sum(y), x).eval({x: [1.0, 3.0]}).tolist() == [-1.0, -3.0]
    assert tg.jvp(y, x, [1.0, 1.0]).eval({x: [1.0, 3.0]}).tolist() == [-1.0, -3.0]
    assert "GradScale" not in tg.to_text(y)


def test_a_clipped_gradient_is_limited_and_forward_mode_sees_the_identity() -> None:
    x = tg.vector("x")
    y = tg.grad_clip(x, -1, 2) ** 2
    assert tg.grad(tg.sum(y), x).eval({x: [-3.0, 0.25, 3.0]}).tolist() == [-1.0, 0.5, 2.0]
    assert tg.jvp(y, x, [1.0, 1.0, 1.0]).eval({x: [-3.0, 0.25, 3.0]}).tolist() == [-6.0, 0.5, 6.0]
    assert "GradClip" not in tg.to_text(y)


def test_vjp_takes_nested_outputs() -> None:
    x = tg.scalar("x")
    got = tg.vjp({"a": x * 2, "b": (x**2,)}, x, {"a": 1.0, "b": (10.0,)})
    assert float(got.eval({x: 3.0})) == 62.0
    with pytest.raises(tg.InputError, match="vjp: cotangents"):
        tg.vjp([x, x], x, [1.0])


@pytest.mark.parametrize("several", [False, True])
def test_what_an_inner_graph_takes_and_does_not_use_for_a_result_is_disconnected(several):
    a, b = tg.vector("a"), tg.vector("b")
    used, other = tg.call(lambda u, v: (tg.sum(u * u), tg.sum(v)), a, b)
    cost = used if several else tg.call(lambda u, v: tg.sum(u * u) + 0 * tg.cast(v.shape[0], "float64"), a, b)
    with pytest.raises(tg.InputError, match="does not depend on <b"):
        tg.grad(cost, [a, b])
    np.testing.assert_array_equal(tg.grad(used + other, b).eval({a: [1.0], b: [2.0, 3.0]}), [1.0, 1.0])
    flat = tg.call(lambda u: tg.sum(tg.floor(u)), a)
    np.testing.assert_array_equal(tg.grad(flat, a).eval({a: [1.5, 2.0]}), [0.0, 0.0])
