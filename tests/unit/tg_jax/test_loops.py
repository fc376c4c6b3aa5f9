"""Loops on JAX: what is compiled how often, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import tg


def executable(f):
    return f.programs.main.executable


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
    with pytest.raises(tg.NoRuleError, match=r"does not run tg\.scan: a length inside changes") as caught:
        tg.function([w, k], sums, backend="jax")
    assert "tg.sum(w[:c])" in str(caught.value)


def test_branches_of_other_lengths_where_each_may_run() -> None:
    """XLA gives one shape: that of the first, where a check refuses to run the other with such lengths."""
    x, y, p = tg.vector("x"), tg.vector("y"), tg.scalar("p", dtype="bool")
    f = tg.function([x, y, p], tg.cond(p, lambda: x * 2, lambda: y), backend="jax")
    assert f([1.0, 2.0], [3.0, 4.0], True).tolist() == [2.0, 4.0]
    assert f([1.0, 2.0], [3.0], False).tolist() == [3.0]
    with pytest.raises(tg.ShapeError, match="cond: a result of a branch: axis 0: lengths differ: 2 and 1"):
        f([1.0, 2.0], [3.0], True)


def test_branches_that_compute_their_lengths_are_told() -> None:
    x, k, p = tg.vector("x"), tg.scalar("k", dtype="int64"), tg.scalar("p", dtype="bool")
    f = tg.function([x, k, p], tg.cond(p, lambda: x, lambda: x[:k]), backend="jax")
    assert f([1.0, 2.0], 2, True).tolist() == [1.0, 2.0]
    with pytest.raises(tg.ShapeError, match=r"cond: result 0: found \[1\] and \[2\], needed one shape for XLA"):
        f([1.0, 2.0], 1, True)


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


@pytest.mark.long
def test_a_hundred_thousand_steps() -> None:
    count, rate = 10**5, 0.9999
    x, a, i = tg.vector("x"), tg.scalar("a"), tg.vector("i", dtype="int64")
    c, _ = tg.scan(lambda c, vk: (a * c + vk[0] + x[vk[1]], None), 0.0, (x, i))
    f = tg.function([x, a, i], [c, tg.grad(c, a)], backend="jax")
    given, places = np.cos(np.arange(count)) / 2, np.arange(count)
    terms, powers = 2 * given, np.arange(count)[::-1]
    value, slope = f(given, rate, places)
    np.testing.assert_allclose(value, np.sum(terms * rate**powers), rtol=1e-9)
    np.testing.assert_allclose(slope, np.sum(terms * powers * rate ** (powers - 1.0)), rtol=1e-9)
    places[-1] = count
    with pytest.raises(tg.BoundsError, match=f"index {count} is out of bounds"):
        f(given, rate, places)


def test_loops_that_share_nothing_stay_apart() -> None:
    """XLA makes one function of a loop only where its steps are small: two in one took ten times as long."""
    x = tg.vector("x")
    a = tg.scan(lambda c, v: (c * 0.5 + v, None), 0.5, x)[0]
    b = tg.scan(lambda c, v: (tg.tanh(c * v), None), 0.25, x)[0]
    f = tg.function([x], [a, b], backend="jax")
    assert not {"scan_chains", "scan_siblings"} & tg.explain(f).counts.keys()
    np.testing.assert_allclose(f([1.0, 2.0]), [2.625, np.tanh(2 * np.tanh(0.25))], rtol=1e-15)


def test_barriers_in_little_loops_beside_a_call() -> None:
    """XLA makes one function of a little loop; a barrier in one, of a call or of halves, ended the process."""
    x = tg.vector("x", dtype="float16")

    def step(c, v):
        return tg.call(lambda p, q: p * 0.5 + q, c, tg.cast(v, "float32")), c

    total, rows = tg.call(lambda y: tg.scan(step, np.float32(1), y), x)
    f = tg.function([x], [total, rows], backend="jax")
    given = np.arange(5, dtype=np.float16)
    wanted = np.float32(1)
    for v in given:
        wanted = wanted * np.float32(0.5) + np.float32(v)
    assert f(given)[0] == wanted
