"""Loops on JAX: what is compiled how often, and which are one function of machine code."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import tg
from tg.graph.function_graph import freeze
from tg.ops.loops import Scan
from tg_jax.small import in_one, is_small


def executable(f):
    return f._main.executable


def test_another_number_of_steps_compiles_nothing_where_nothing_is_as_long() -> None:
    n, x = tg.scalar("n", dtype="int64"), tg.vector("x")
    f = tg.function([n, x], tg.fori_loop(0, n, lambda i, c: c * 0.5 + i, x), backend="jax")
    for k in (0, 3, 7):
        wanted = np.ones(2)
        for i in range(k):
            wanted = wanted * 0.5 + i
        np.testing.assert_allclose(f(k, np.ones(2)), wanted, rtol=1e-15)
    assert executable(f).compiles == 1


def test_a_length_that_changes_from_step_to_step_is_refused_at_the_line() -> None:
    w, k = tg.vector("w"), tg.scalar("k", dtype="int64")
    sums = tg.scan(lambda c, _: (c + 1, tg.sum(w[:c])), k, None, 3)[1]
    with pytest.raises(tg.NoRuleError, match="does not run Scan: a length inside changes") as caught:
        tg.function([w, k], sums, backend="jax")
    assert "tg.sum(w[:c])" in str(caught.value)


def body_of(outputs):
    graph = freeze([v for v in outputs[1:] if v.apply is None], outputs[:1])
    (op,) = (node.op for node in graph.nodes if isinstance(node.op, Scan))
    return op.lowered


def test_what_is_small() -> None:
    x, m, i, w = tg.vector("x"), tg.matrix("m"), tg.vector("i", dtype="int64"), tg.vector("w")
    four = tg.constant(np.zeros(4))
    assert is_small(body_of([tg.scan(lambda c, v: (tg.sin(c) * v, None), 0.0, x)[0], x]))
    assert is_small(body_of([tg.scan(lambda c, v: (tg.sin(c) * v, None), four, x)[0], x]))
    assert not is_small(body_of([tg.scan(lambda c, v: (c * v, None), tg.zeros(100), x)[0], x]))
    assert not is_small(body_of([tg.scan(lambda c, row: (c + tg.sum(row), None), 0.0, m)[0], m]))
    assert not is_small(body_of([tg.scan(lambda c, k: (c + w[k], None), 0.0, i)[0], i, w]))


def test_a_small_loop_is_not_taken_apart_by_xla() -> None:
    def loop(c, x):
        return jax.lax.scan(lambda c, v: (c * v, None), c, x)[0]

    text = jax.jit(lambda c, x: in_one(loop, c, x)).lower(1.0, np.ones(3, np.float32)).as_text()
    assert 'inlineable = "false"' in text
    assert 'xla_cpu_small_call = "true"' in text


@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_small_loops_of_few_steps(n) -> None:
    x = tg.vector("x")
    (a, b), kept = tg.scan(lambda c, v: ((c[0] * v, c[0]), c[1]), (1.0, 1.0), x)
    f = tg.function([x], [a, b, kept], backend="jax")
    u, w, rows = 1.0, 1.0, []
    for v in np.linspace(1, 2, n):
        rows.append(w)
        u, w = u * v, u
    for found, wanted in zip(f(np.linspace(1, 2, n)), (u, w, rows), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-15)
