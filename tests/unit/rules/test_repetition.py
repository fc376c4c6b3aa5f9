"""Several loops that read the traces of one: what any of them would compute again is computed once."""

import numpy as np
import pytest

import tg
from tests.unit.rules.test_indexing import Plugin, rewritten
from tg.graph.interpret import interpret
from tg.ops.elementwise.record import Elementwise
from tg.ops.loops import Scan
from tg.rules.catalog import PASSES, RULES
from tg.rules.loops.repetition import EXPANSIONS

X, A = tg.vector("x"), tg.tensor("a", shape=(3, 3))
LENGTHS = (0, 1, 7)


def functions(frozen):
    """The names of the functions in the steps of all loops."""
    bodies = [node.op.body for node in frozen.nodes if isinstance(node.op, Scan)]
    return [one.op.name for body in bodies for one in body.nodes if isinstance(one.op, Elementwise)]


@pytest.mark.parametrize("n", LENGTHS)
def test_each_of_three_loops_computes_what_the_others_do_not(n):
    _, first = tg.scan(lambda c, v: (tg.exp(-c) * v, c), 0.5, X)
    _, second = tg.scan(lambda c, v: (c * 0.5 + tg.sin(c) * tg.exp(-v), c), 0.25, first)
    last, third = tg.scan(lambda c, v: (c * tg.exp(-v[0]) + tg.sin(v[1]), tg.exp(-v[0]) + c), 0.75, (first, second))
    frozen = rewritten([X], [last, third, tg.sum(first), tg.sum(second)])
    found = functions(frozen)
    assert (found.count("exp"), found.count("sin")) == (1, 1)
    x = np.random.default_rng(n).uniform(0.5, 1.5, n)
    a, b, c, traced, sums = 0.5, 0.25, 0.75, [], [0.0, 0.0]
    for v in x:
        sums = [sums[0] + a, sums[1] + b]
        traced.append(np.exp(-a) + c)
        a, b, c = np.exp(-a) * v, b * 0.5 + np.sin(b) * np.exp(-a), c * np.exp(-a) + np.sin(b)
    for one, wanted in zip(interpret(frozen, [x]), [c, traced, *sums], strict=True):
        np.testing.assert_allclose(one, wanted, rtol=1e-13)


@pytest.mark.parametrize("n", LENGTHS)
def test_a_loop_and_its_reverse_take_exponentials_of_a_row_once(n):
    def step(c, v):
        return tg.logsumexp(c[:, None] + A, axis=0) + v, None

    last = tg.logsumexp(tg.scan(step, np.zeros(3), X)[0])
    outputs = [last, *tg.grad(last, [A, X])]
    frozen = rewritten([A, X], outputs, Plugin(RULES, (*PASSES, EXPANSIONS)))
    assert functions(frozen).count("exp") == 1
    x, a = np.random.default_rng(n).normal(size=n), np.random.default_rng(5).normal(size=(3, 3))
    value, by_a, by_x = interpret(frozen, [a, x])
    p = np.exp(a)
    total = np.ones(3) @ np.linalg.matrix_power(p, n) @ np.ones(3)
    np.testing.assert_allclose(value, np.log(total) + x.sum(), rtol=1e-13)
    np.testing.assert_allclose(by_x, np.ones(n), rtol=1e-13)
    rows = [np.ones(3) @ np.linalg.matrix_power(p, k) for k in range(n)]
    columns = [np.linalg.matrix_power(p, n - 1 - k) @ np.ones(3) for k in range(n)]
    wanted = sum((np.outer(r, c) * p / total for r, c in zip(rows, columns, strict=True)), np.zeros((3, 3)))
    np.testing.assert_allclose(by_a, wanted, rtol=1e-12, atol=1e-15)
