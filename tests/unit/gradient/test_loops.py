"""Derivatives of loops and branches: against JAX's of the same programs, and against differences."""

import numpy as np
import pytest

import tg

jax = pytest.importorskip("jax")
LENGTHS = (0, 1, 7)


@pytest.fixture(autouse=True)
def wide():
    """64 bits, as tg has them, whatever JAX's flag is."""
    with jax.enable_x64(True):
        yield


class Jax:
    """The functions of tg under their names in JAX."""

    sin, tanh, sum, where, abs = jax.numpy.sin, jax.numpy.tanh, jax.numpy.sum, jax.numpy.where, jax.numpy.abs
    scan, cond, switch, fori_loop, map = jax.lax.scan, jax.lax.cond, jax.lax.switch, jax.lax.fori_loop, jax.lax.map

    @staticmethod
    def while_loop(cond, body, init, max_steps):
        """As a scan: JAX has no reverse mode of loops until a condition."""

        def step(c, _):
            return jax.lax.cond(cond(c), body, lambda v: v, c), None

        return jax.lax.scan(step, init, None, max_steps)[0]


def recurrence(np_, x, w, s):
    """A scalar carry, a captured scalar."""
    return np_.scan(lambda c, v: (np_.tanh(c * s + v), c * v), 0.5 * s, x)


def network(np_, x, w, s):
    """Arrays as carries, products with a captured matrix, in reverse."""
    c, ys = np_.scan(lambda c, v: (np_.tanh(w @ c + v), np_.sum(c * c)), w[0], x[:, None] * w[1], reverse=True)
    return np_.sum(c * c) * s, ys


def forgotten(np_, x, w, s):
    """A carry that no step reads; the slices are read by another only."""
    (a, b), ys = np_.scan(lambda c, v: ((v * s, c[0] * c[1] + np_.sin(v)), c[1]), (s, s * s), x)
    return a + 2.0 * b, ys


def of_branches(np_, x, w, s):
    """Branches in a loop, one of which has no derivative of one of the operands."""

    def step(c, v):
        return np_.cond(v > 0, lambda a, b: a * b + s, lambda a, b: np_.sin(a), c, v), c

    return np_.scan(step, s, x)


def of_several(np_, x, w, s):
    """A switch by the number of the step."""

    def step(c, v):
        after = np_.switch(c[1], [lambda u: u * v, lambda u: u + v * v, lambda u: np_.sin(u)], c[0])
        return (after, c[1] + 1), after

    return np_.scan(step, (s, 0), x)[1], s


def in_one_another(np_, x, w, s):
    """A loop in a loop: the inner one captures what the outer one carries."""

    def outer(c, v):
        inner = np_.scan(lambda d, u: (np_.sin(d * u + c), d), v, x)
        return np_.tanh(c + inner[0]), np_.sum(inner[1])

    return np_.scan(outer, s, x)


def until(np_, x, w, s):
    """A loop with a limit that a condition ends."""
    found = np_.while_loop(
        lambda c: c[0] < 4, lambda c: (c[0] + 1, c[1] * s + np_.sum(x), c[2] + w @ c[2]), (0, s, w[0]), 6
    )
    return found[1], found[2]


PROGRAMS = (recurrence, network, forgotten, of_branches, of_several, in_one_another, until)


def total(np_, program, x, w, s):
    """One number of what a program gives."""
    return sum((np_.sum(np_.sin(v)) for v in program(np_, x, w, s)), 0.0 * s)


def arrays(n):
    rng = np.random.default_rng(n)
    return rng.uniform(-1, 1, n), rng.uniform(-0.5, 0.5, (3, 3)), rng.uniform(0.3, 0.8)


@pytest.mark.long
@pytest.mark.sampled(8)
@pytest.mark.parametrize("program", PROGRAMS)
def test_first_and_second_derivatives_are_those_of_jax(program):
    variables = tg.vector("x"), tg.matrix("w"), tg.scalar("s")
    directions = tg.vector("dx"), tg.matrix("dw"), tg.scalar("ds")
    cost = total(tg, program, *variables)
    gradient = tg.grad(cost, variables, disconnected="zero")
    forward = tg.jvp(cost, list(variables), list(directions), disconnected="zero")
    along = sum(tg.sum(g * d) for g, d in zip(gradient, directions, strict=True))
    second = tg.grad(along, variables, disconnected="zero")
    f = tg.function(
        [*variables, *directions], [cost, forward, *gradient, *second], backend="perform", on_unused_input="ignore"
    )

    def value(*given):
        return total(Jax, program, *given)

    for n in LENGTHS:
        given, along = arrays(n), [v + 0.5 for v in arrays(n)]
        slopes = jax.grad(value, (0, 1, 2))
        whole, forward = jax.jvp(value, given, tuple(map(jax.numpy.asarray, along)))
        second = jax.jvp(slopes, given, tuple(map(jax.numpy.asarray, along)))[1]
        for found, right in zip(f(*given, *along), [whole, forward, *slopes(*given), *second], strict=True):
            np.testing.assert_allclose(found, right, rtol=1e-9, atol=1e-10)


def test_a_hessian_is_that_of_jax():
    x, s = tg.vector("x"), tg.scalar("s")

    def cost(np_, x, s):
        return np_.scan(lambda c, v: (np_.sin(c * v) + s, None), s, x)[0]

    f = tg.function([x, s], tg.hessian(cost(tg, x, s), x), backend="perform")
    a = np.array([0.5, -0.25, 1.5, 0.75])
    np.testing.assert_allclose(f(a, 0.4), jax.hessian(lambda v: cost(Jax, v, 0.4))(a), rtol=1e-10, atol=1e-12)


def test_a_hessian_of_several_variables_is_that_of_jax():
    """Rows and columns stand where they belong, of what the gradient does not depend on as well."""
    variables = tg.vector("x"), tg.matrix("w"), tg.scalar("s")
    parts = tg.hessian(total(tg, recurrence, *variables), variables, disconnected="zero")
    f = tg.function(variables, [v for row in parts for v in row], backend="perform", on_unused_input="ignore")
    given = arrays(3)
    wanted = jax.hessian(lambda *v: total(Jax, recurrence, *v), (0, 1, 2))(*given)
    for found, right in zip(f(*given), (v for row in wanted for v in row), strict=True):
        assert found.shape == right.shape
        np.testing.assert_allclose(found, right, rtol=1e-10, atol=1e-12)


def test_a_hessian_of_a_loop_has_no_loop_through_its_gradient_and_back():
    """Tangents go with the values and with the gradient: one loop forwards, one backwards."""
    x, s = tg.vector("x", shape=(5,)), tg.scalar("s")
    cost = tg.scan(lambda c, v: (tg.sin(c * v) + s, None), s, x)[0]
    f = tg.function([x, s], tg.hessian(cost, x), backend="perform")
    assert [node.op.reverse for node in f.graph.nodes if type(node.op).__name__ == "Scan"] == [False, True]


def test_a_jacobian_of_traces_is_that_of_jax():
    x = tg.vector("x")

    def traces(np_, x):
        return np_.scan(lambda c, v: (c * 0.5 + np_.sin(v), c * v), 0.25, x)[1]

    f = tg.function([x], tg.jacobian(traces(tg, x), x), backend="perform")
    for n in LENGTHS[1:]:
        a = arrays(n)[0]
        np.testing.assert_allclose(f(a), jax.jacobian(lambda v: traces(Jax, v))(a), rtol=1e-10, atol=1e-12)


def test_forward_mode_needs_no_limit():
    x = tg.scalar("x")
    root = tg.while_loop(lambda c: tg.abs(c * c - x) > 1e-13, lambda c: 0.5 * (c + x / c), 1.0)
    f = tg.function([x], tg.jvp(root, x, tg.constant(1.0)), backend="perform")
    for v in (0.25, 2.0, 9.0):
        assert abs(f(v) - 0.5 / np.sqrt(v)) < 1e-12


def test_a_limit_that_cuts_a_loop_short():
    """The derivative is that of the steps that were made."""
    x = tg.scalar("x")
    for most in (0, 1, 3):
        y = tg.while_loop(lambda c: c < 1e9, lambda c: c * x, x, max_steps=most)
        found, slope = tg.function([x], [y, tg.grad(y, x)], backend="perform")(1.5)
        np.testing.assert_allclose([found, slope], [1.5 ** (most + 1), (most + 1) * 1.5**most], rtol=1e-14)


def of_vectors(np_, x, y):
    """A carry as long as one vector, in a loop over that of another length."""

    def inside(c):
        d = np_.while_loop(lambda d: np_.sum(d) < 2.0, lambda d: d * 1.5 + np_.sum(c) * y, y, 3)
        return c + x * np_.sum(d * d)

    return np_.sum(np_.while_loop(lambda c: np_.sum(c) < 9.0, inside, x, 4))


@pytest.mark.long
@pytest.mark.parametrize("backend", ["perform", "c", "numba"])
def test_a_bounded_loop_in_another_over_two_unknown_lengths(backend):
    x, y = tg.vector("x"), tg.vector("y")
    value = of_vectors(tg, x, y)
    f = tg.function([x, y], [value, *tg.grad(value, [x, y])], backend=backend)

    def plain(x, y):
        return of_vectors(Jax, x, y)

    for n, m in ((3, 4), (5, 1)):
        given = np.linspace(0.1, 0.3, n), np.linspace(0.3, 0.05, m)
        wanted = [plain(*given), *jax.grad(plain, (0, 1))(*given)]
        for a, b in zip(f(*given), wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def test_no_derivative_of_integers_and_none_of_what_is_not_read():
    x, j = tg.vector("x"), tg.vector("j", "int64")
    count, _ = tg.scan(lambda c, v: (c + (v > 0), None), 0, x)
    assert tg.grad(tg.sum(x) * count, x).eval({x: [1.0, -1.0]}).tolist() == [1.0, 1.0]
    total, _ = tg.scan(lambda c, k: (c + x[k], None), 0.0, j)
    assert tg.grad(total, x).eval({x: [1.0, 2.0, 3.0], j: [2, 0, 2]}).tolist() == [1.0, 0.0, 2.0]


def test_complex_carries():
    """The squared magnitude of a product: twice each factor's other part."""
    z = tg.vector("z", "complex128")
    c = tg.reduce(lambda c, v: c * v, z, 1.0 + 0j)
    cost = tg.real(c) ** 2 + tg.imag(c) ** 2
    f = tg.function([z], tg.grad(cost, z), backend="perform")
    a = np.array([1 + 2j, 0.5 - 1j, -1.5 + 0.25j])
    rest = np.array([a[1] * a[2], a[0] * a[2], a[0] * a[1]])
    magnitude = 2 * abs(rest) ** 2
    found = f(a)
    assert np.allclose(found, magnitude * a) or np.allclose(found, magnitude * a.conj())
    h = 1e-6
    moved = [
        (abs(np.prod(a + h * np.eye(3)[k])) ** 2 - abs(np.prod(a - h * np.eye(3)[k])) ** 2) / (2 * h) for k in range(3)
    ]
    np.testing.assert_allclose(found.real, moved, rtol=1e-7)


def test_a_check_in_a_branch_that_did_not_run_has_no_say_in_its_derivative():
    x, k = tg.vector("x"), tg.scalar("k", "int64")
    y = tg.cond(k < 3, lambda: x[k] ** 2, lambda: tg.sum(x))
    f = tg.function([x, k], [tg.grad(y, x), tg.jvp(y, x, x)], backend="perform")
    assert f([1.0, 2.0, 3.0], 1)[0].tolist() == [0.0, 4.0, 0.0]
    gradient, forward = f([1.0, 2.0, 3.0], 7)
    assert (gradient.tolist(), forward) == ([1.0, 1.0, 1.0], 6.0)


def test_several_derivatives_read_what_a_loop_keeps():
    """Each asks for the carries before each step, which nobody had asked for when the loop was made."""
    x, s = tg.vector("x"), tg.scalar("s")
    c, ys = tg.scan(lambda c, v: (tg.tanh(c * s + v), c * v), 0.5, x)
    cost = c + tg.sum(ys)
    first, second, jacobian = tg.grad(cost, [x, s]), tg.hessian(cost, s), tg.jacobian(ys, s)
    f = tg.function([x, s], [*first, second, jacobian], backend="perform")

    def value(x, s):
        c, ys = jax.lax.scan(lambda c, v: (jax.numpy.tanh(c * s + v), c * v), 0.5, x)
        return c + ys.sum(), ys

    a = np.array([0.3, -0.7, 0.9, 0.1])
    right = [*jax.grad(lambda *v: value(*v)[0], (0, 1))(a, 0.6), jax.hessian(lambda *v: value(*v)[0], 1)(a, 0.6)]
    right.append(jax.jacobian(lambda *v: value(*v)[1], 1)(a, 0.6))
    for found, wanted in zip(f(a, 0.6), right, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12)
    for put in ({s: s * 2}, {x: x + s}):  # the same with other expressions in their place
        g = tg.function([x, s], [*first, second, jacobian], backend="perform", givens=put)
        given = (a, 1.2) if s in put else (a + 0.6, 0.6)
        for found, wanted in zip(g(a, 0.6), f(*given), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12)
