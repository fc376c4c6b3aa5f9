"""Conditions beside cotangents that flow through loops: what they cost, and that infinite slopes still meet them."""

import numpy as np
import pytest

import tg

LENGTHS = (0, 1, 2, 7)


def conditions_of(graph):
    """The shapes of the truth values that the loops of a program carry from step to step."""
    scans = [node for node in graph.nodes if type(node.op).__name__ == "Scan"]
    assert scans
    return [t.shape for node in scans for t in node.op.body.input_types[: node.op.carries] if t.dtype == "bool"]


def unread(steps, x, y):
    """Traces of a matrix; what the last step makes of it, a root, nobody reads."""

    def step(c, v):
        return tg.sqrt(c * x - v), tg.sum(c)

    return tg.sum(tg.scan(step, y, steps)[1])


@pytest.mark.parametrize("length", LENGTHS)
def test_zeros_of_a_whole_carry_are_one_condition(length):
    """The last root is one of 0, with an infinite slope; PyTorch's, which differentiates no further, is the oracle."""
    torch = pytest.importorskip("torch")
    x, y, steps = tg.matrix("x"), tg.matrix("y"), tg.vector("steps")
    f = tg.function([steps, x, y], tg.grad(unread(steps, x, y), [x, y]), backend="perform")
    assert conditions_of(f.graph) == [()]
    a, b = np.full((2, 3), 2.0), np.arange(4.0, 10.0).reshape(2, 3)
    given, c = np.zeros(length), b
    for k in range(length):
        given[k] = (2.0 * c).min() if k == length - 1 else 0.25  # one root of the last step is 0
        c = np.sqrt(np.maximum(c * a - given[k], 0.0))
    p, q = (torch.tensor(v, requires_grad=True) for v in (a, b))
    total, c = (p + q).sum() * 0.0, q
    for k in range(length):
        total = total + c.sum()
        if k < length - 1:
            c = torch.sqrt(c * p - float(given[k]))
    total.backward()
    for found, wanted in zip(f(given, a, b), (p, q), strict=True):
        np.testing.assert_allclose(found, wanted.grad.numpy(), rtol=1e-13)


def test_elements_that_are_never_read_have_conditions_of_their_own():
    """One element of the carry is read; the others are roots of 0 in every step."""
    x, steps = tg.vector("x"), tg.vector("steps")
    cost = tg.sum(tg.scan(lambda c, v: (tg.sqrt(c) * v, c[0]), x, steps)[1])
    f = tg.function([steps, x], tg.grad(cost, x), backend="perform")
    assert conditions_of(f.graph) == [(None,)]
    found = f(np.array([1.0, 2.0, 3.0]), np.array([4.0, 0.0, 0.0]))
    # 4, then 2, then 2 * sqrt(2): slopes 1, 1/4, and 1/4 * 2 / (2 * sqrt(2))
    np.testing.assert_allclose(found, [1 + 1 / 4 + 1 / (4 * np.sqrt(2)), 0, 0], rtol=1e-14)


def test_a_sum_over_steps_keeps_a_condition_that_is_the_same_in_each():
    """Of a captured vector each step reads one element; the others, logarithms of 0, are not asked for."""
    z, steps = tg.tensor("z", shape=(3,)), tg.vector("steps")
    w = tg.log(z)
    cost = tg.scan(lambda c, v: (c + v * w[1], None), 0.0, steps)[0]
    f = tg.function([steps, z], tg.grad(cost, z), backend="perform")
    assert conditions_of(f.graph) == []
    np.testing.assert_array_equal(f(np.array([1.0, 2.0]), np.array([0.0, 4.0, 0.0])), [0.0, 0.75, 0.0])


def test_a_tangent_that_is_given_to_a_loop_as_a_scalar():
    """One condition goes in for all elements that a captured scalar multiplies."""
    x, s, t, steps = tg.vector("x"), tg.scalar("s"), tg.scalar("t"), tg.vector("steps")
    cost = tg.sum(tg.scan(lambda c, v: (tg.sqrt(c * s + v), c), x, steps)[1])
    f = tg.function([steps, x, s, t], tg.jvp(cost, s, t), backend="perform")
    assert set(conditions_of(f.graph)) == {()}
    given, start = np.array([1.0, 0.5, 2.0]), np.array([1.0, 2.0, 3.0])
    assert f(given, start, 0.7, 0.0) == 0.0

    def value(s):
        c, total = start, 0.0
        for v in given:
            total, c = total + c.sum(), np.sqrt(c * s + v)
        return total

    step = 1e-6
    wanted = (value(0.7 + step) - value(0.7 - step)) / (2 * step)
    np.testing.assert_allclose(f(given, start, 0.7, 2.0), 2 * wanted, rtol=1e-8)
