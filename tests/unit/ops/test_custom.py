"""Derivatives of users' own, and functions that are computed again backwards."""

from __future__ import annotations

import numpy as np
import pytest

import tg
from tg.ops.control import Call

BACKENDS = ("perform", "c", "numba")


def scaled(factor: float) -> tg.custom_vjp:
    """sin(x) * a, whose gradient in x is said to be factor * x * dy."""

    @tg.custom_vjp
    def f(x, a):
        return {"y": tg.sin(x) * a}

    f.defvjp(lambda x, a: (f.f(x, a), x), lambda x, dy: (dy["y"] * factor * x, None))
    return f


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_pullback_of_ones_own_is_taken_in_place_of_the_derivative(backend):
    x, a = tg.vector("x"), tg.scalar("a")
    y = scaled(10.0)(x, a)["y"]
    f = tg.function([x, a], [y, tg.grad(tg.sum(y), x)], backend=backend)
    value, gradient = f([1.0, 2.0], 3.0)
    np.testing.assert_allclose(value, 3 * np.sin([1.0, 2.0]), rtol=1e-15)
    np.testing.assert_array_equal(gradient, [10.0, 20.0])


def test_it_is_taken_for_each_element_of_a_batch():
    x, a = tg.vector("x"), tg.scalar("a")
    found = tg.jacobian(scaled(10.0)(x, a)["y"], x).eval({x: [1.0, 2.0], a: 3.0})
    np.testing.assert_array_equal(found, [[10.0, 0.0], [0.0, 20.0]])
    over = tg.map(lambda v: scaled(10.0)(v, a)["y"], x)
    np.testing.assert_array_equal(tg.grad(tg.sum(over), x).eval({x: [1.0, 2.0], a: 3.0}), [10.0, 20.0])


def test_what_is_said_to_have_no_gradient_has_none():
    x, a = tg.vector("x"), tg.scalar("a")
    y = tg.sum(scaled(1.0)(x, a)["y"])
    assert float(tg.grad(y, a, disconnected="zero").eval({x: [1.0], a: 3.0})) == 0.0


def test_the_second_derivative_is_that_of_the_pullback():
    x, a = tg.scalar("x"), tg.scalar("a")
    y = scaled(5.0)(x, a)["y"]
    first = tg.grad(y, x)
    assert float(tg.grad(first, x).eval({x: 2.0, a: 1.0})) == 5.0  # of 5 * x


def test_the_straight_through_estimator():
    @tg.custom_vjp
    def rounded(x):
        return tg.round(x)

    rounded.defvjp(lambda x: (tg.round(x), None), lambda _, dy: (dy,))
    x = tg.vector("x")
    assert tg.grad(tg.sum(rounded(x) * x), x).eval({x: [1.4, 2.6]}).tolist() == [1.0 + 1.4, 3.0 + 2.6]


def test_forward_and_backward_may_call_the_function_they_are_of():
    @tg.custom_vjp
    def root(x):
        return tg.sqrt(x)

    root.defvjp(lambda x: (root(x), x), lambda x, dy: (3 * dy * root(x),))
    x = tg.scalar("x")
    slope = tg.grad(root(x), x)
    assert float(slope.eval({x: 4.0})) == 6.0
    assert float(tg.grad(slope, x).eval({x: 4.0})) == 0.75  # there it is the plain square root: 3 / (2 sqrt(x))


def test_complex_gradients_have_the_convention_that_users_see():
    @tg.custom_vjp
    def twice(z):
        return 2 * z

    twice.defvjp(lambda z: (2 * z, None), lambda _, dy: (2 * dy,))
    z = tg.scalar("z", dtype="complex128")
    cost = lambda v: tg.real(v * tg.conjugate(v)) + tg.imag(v)  # noqa: E731
    own = tg.grad(cost(twice(z)), z).eval({z: 1 + 2j})
    plain = tg.grad(cost(2 * z), z).eval({z: 1 + 2j})
    assert complex(own) == complex(plain)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_pushforward_of_ones_own_serves_both_modes(backend):
    @tg.custom_jvp
    def root(x):
        return tg.sqrt(x)

    root.defjvp(lambda primals, tangents: (root(*primals), 7 * tangents[0] * root(*primals)))
    x = tg.scalar("x")
    f = tg.function([x], [root(x), tg.grad(root(x), x), tg.jvp(root(x), x, tg.constant(2.0))], backend=backend)
    assert [float(v) for v in f(4.0)] == [2.0, 14.0, 28.0]


def test_forward_mode_of_a_function_whose_pullback_alone_is_known_is_refused():
    x, a = tg.scalar("x"), tg.scalar("a")
    with pytest.raises(tg.NotDifferentiable, match="whose pullback alone is known") as caught:
        tg.jvp(scaled(1.0)(x, a)["y"], x, tg.constant(1.0))
    assert "tg.custom_jvp serves both modes" in str(caught.value)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_a_derivative_of_ones_own_asserts_holds_in_both_modes(backend):
    """It was dropped: the op that says it is removed where a graph is made of the derivative."""
    s = tg.scalar("s")

    @tg.custom_vjp
    def backwards(v):
        return 2 * v

    @tg.custom_jvp
    def forwards(v):
        return 2 * v

    def below(v):
        return tg.assert_(v, v < 3, "found a large one")  # noqa: PT009

    backwards.defvjp(lambda v: (2 * v, v), lambda v, dy: (dy * below(v),))
    forwards.defjvp(lambda points, tangents: (2 * points[0], tangents[0] * below(points[0])))
    slopes = [
        tg.grad(tg.sin(backwards(s)), s),
        tg.grad(tg.sin(forwards(s)), s),
        tg.jvp(tg.sin(forwards(s)), s, tg.constant(1.0)),
    ]
    for slope in slopes:
        f = tg.function([s], slope, backend=backend)
        assert f(1.5) == pytest.approx(1.5 * np.cos(3.0), rel=1e-14)
        with pytest.raises(tg.errors.AssertionFailed, match="found a large one"):
            f(3.0)


def test_mistakes_are_told():
    x = tg.vector("x")

    @tg.custom_vjp
    def f(v):
        return v * 2

    with pytest.raises(tg.InputError, match=r"custom_vjp: found no pullback"):
        f(x)
    f.defvjp(lambda v: (v * 2, None), lambda _, dy: dy)
    with pytest.raises(tg.InputError, match="needed a tuple of 1 gradients"):
        f(x)
    f.defvjp(lambda v: (v * 2, None), lambda _, dy: (tg.sum(dy),))
    with pytest.raises(tg.ShapeError, match=r"gradient 0: found float64\[\], needed float64\[\?\]"):
        f(x)
    f.defvjp(lambda v: v * 2, lambda _, dy: (dy,))
    with pytest.raises(tg.InputError, match="needed a pair: the result and residuals"):
        f(x)
    other = tg.scalar("other")
    g = tg.custom_jvp(lambda v: v * other)
    g.defjvp(lambda primals, tangents: (primals[0], tangents[0]))
    with pytest.raises(tg.InputError, match="which is none of its arguments"):
        g(x)


@pytest.mark.parametrize(
    ("parts", "where", "hint"),
    [
        ("010", "custom_vjp: forward: found <w : .*>", "pass it as an argument, whose gradient may be None"),
        ("001", "custom_vjp: backward: found <w : .*>", "forward gives it as a residual"),
        ("100", "custom_vjp: found <w : .*>", "pass it as an argument, whose gradient may be None"),
    ],
)
def test_what_a_function_captures_is_named_with_what_to_do(parts, where, hint):
    x, w = tg.vector("x"), tg.vector("w")
    plain, ahead, behind = (w if part == "1" else 1.0 for part in parts)
    f = tg.custom_vjp(lambda v: v * plain)
    f.defvjp(lambda v: (v * ahead, None), lambda _, dy: (dy * behind,))
    with pytest.raises(tg.InputError, match=f"^{where} used inside, which is none of its arguments") as caught:
        f(x)
    assert f"hint: {hint}" in str(caught.value)


def test_a_captured_value_as_an_argument_and_a_residual():
    """As the hints say: no gradient for one of the arguments, and the other's from what forward keeps."""
    x, w = tg.vector("x"), tg.vector("w")
    f = tg.custom_vjp(lambda v, w: v * w)
    f.defvjp(lambda v, w: (v * w, w), lambda w, dy: (dy * w, None))
    found = tg.function([x, w], tg.grad(tg.sum(f(x, w)), [x, w], disconnected="zero"))([1.0, 2.0], [3.0, 4.0])
    assert [v.tolist() for v in found] == [[3.0, 4.0], [0.0, 0.0]]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_checkpoint_changes_no_gradient(backend):
    x, a = tg.vector("x"), tg.scalar("a")
    y = tg.sum(tg.checkpoint(lambda v: {"y": tg.exp(tg.sin(v) * a)})(x)["y"])
    found = tg.function([x, a], tg.grad(y, [x, a]), backend=backend)([1.0, 2.0], 3.0)
    v = np.array([1.0, 2.0])
    e = np.exp(3 * np.sin(v))
    np.testing.assert_allclose(found[0], e * 3 * np.cos(v), rtol=1e-14)
    np.testing.assert_allclose(found[1], np.sum(e * np.sin(v)), rtol=1e-14)


def test_a_checkpoint_keeps_nothing_but_its_operands():
    x = tg.vector("x")
    y = tg.sum(tg.checkpoint(lambda v: tg.exp(tg.sin(v)))(x))
    graph = tg.function([x], tg.grad(y, x), backend="perform").graph
    (call,) = [node for node in graph.nodes if isinstance(node.op, Call)]
    assert all(k < graph.arity or graph.constant(k) is not None or graph.types[k].shape != () for k in call.inputs)
    assert any(node.op.name == "sin" for node in call.op.graph.nodes), "sin is computed again inside"


def through(kind: str, f, x):
    """f(x) inside of another graph."""
    if kind == "call":
        return tg.call(f, x)
    if kind == "scan":
        return tg.scan(lambda c, _: (c + f(x), None), 0.0, None, 1)[0]
    if kind == "while":
        return tg.while_loop(lambda c: c[1] < 1, lambda c: (c[0] + f(x), c[1] + 1), (0.0, 0), max_steps=3)[0]
    if kind == "nested":
        return tg.call(lambda v: tg.cond(v > 0, lambda: tg.call(f, v), lambda: v), x)
    return tg.cond(x > 0, f, lambda v: v, x)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", ["call", "scan", "while", "cond", "nested"])
@pytest.mark.parametrize(
    ("f", "needed"),
    [
        (lambda v: tg.stop_gradient(v) * v, 3.0),
        (lambda v: 2 * tg.grad_scale(v, 10.0), 20.0),
        (lambda v: tg.grad_clip(v, -0.5, 0.5) ** 2, 0.5),
    ],
)
def test_what_is_said_of_gradients_holds_inside_of_other_graphs(kind, f, needed, backend):
    x = tg.scalar("x")
    gradient = tg.function([x], tg.grad(through(kind, f, x), x), backend=backend, on_unused_input="ignore")
    assert float(gradient(3.0)) == needed
    for node in gradient.graph.nodes:
        assert not node.op.only_derives
        assert not any(each.op.only_derives for graph in node.op.inner_graphs() for each in graph.nodes)
