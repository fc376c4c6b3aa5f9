"""Loops on JAX: what is compiled how often, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import tg


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


def test_a_loop_in_a_loop_of_segments() -> None:
    """Small loops as functions of their own, as XLA makes them of some, ended the process here."""
    x, a = tg.vector("x"), tg.scalar("a")
    c, ys = tg.scan(lambda c, v: (tg.sin(c * a) + v, c * c), 0.3, x, checkpoint=2)
    values = (np.arange(1.0, 8.0), 0.5)
    found = tg.function([x, a], tg.grad(c + tg.sum(ys), [x, a]), backend="jax")(*values)
    needed = tg.function([x, a], tg.grad(c + tg.sum(ys), [x, a]), backend="perform")(*values)
    for one, other in zip(found, needed, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_loops_that_share_nothing_stay_apart() -> None:
    """XLA makes one function of a loop only where its steps are small: two in one took ten times as long."""
    x = tg.vector("x")
    a = tg.scan(lambda c, v: (c * 0.5 + v, None), 0.5, x)[0]
    b = tg.scan(lambda c, v: (tg.tanh(c * v), None), 0.25, x)[0]
    f = tg.function([x], [a, b], backend="jax")
    assert not {"scan_chains", "scan_siblings"} & tg.explain(f).counts.keys()
    np.testing.assert_allclose(f([1.0, 2.0]), [2.625, np.tanh(2 * np.tanh(0.25))], rtol=1e-15)
