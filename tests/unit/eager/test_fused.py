"""Blocks of ops that are computed together, and functions of `tg.jit` called with eager arrays."""

from __future__ import annotations

import contextlib
import gc

import numpy as np
import pytest

import tg
from tg.eager.fused import Pending

X = np.array([1.0, 2.0, 3.0])


def softmax(xp, x):
    y = xp.exp(x - xp.max(x))
    return y / xp.sum(y)


def is_pending(x):
    return type(x._value) is Pending


def test_a_block_is_one_program_that_is_kept(xp):
    x = xp.asarray(X)
    for _ in range(2):
        with xp.fused():
            y = softmax(xp, x)
            assert is_pending(y)
            assert (y.dtype, y.ndim) == (np.float64, 1)
        np.testing.assert_allclose(np.asarray(y), softmax(np, X), rtol=1e-14)
    before = xp.programs
    with xp.fused():
        y = softmax(xp, xp.asarray(X[:2]))
    np.testing.assert_allclose(np.asarray(y), softmax(np, X[:2]), rtol=1e-14)
    assert xp.programs == before


def test_results_that_nobody_has_are_not_computed(reference):
    x = reference.asarray(X)
    with reference.fused():
        y = x * 2
        z = reference.sin(y)
        del y
        gc.collect()
    program = next(p for key, p in reversed(reference._programs.items()) if key[0][0] == "fused")
    assert len(program._results) == 1
    np.testing.assert_allclose(z, np.sin(2 * X), rtol=1e-15)


def test_a_value_that_is_asked_for_is_computed_there(reference):
    x = reference.asarray(X)
    with reference.fused():
        y = x + 1
        if reference.sum(y) > 5:
            y = y * 2
        rows = reference.unstack(reference.reshape(y, (3, 1)))  # which needs lengths
        z = y[1:]
        z += 1
        assert is_pending(z)
    np.testing.assert_array_equal(y, [4.0, 6.0, 8.0])
    np.testing.assert_array_equal(z, [7.0, 9.0])
    assert [float(r[0]) for r in rows] == [4.0, 6.0, 8.0]


def test_items_in_a_block_are_new_values(reference):
    x = reference.asarray(X)
    with reference.fused():
        y = x * 1
        kept = y + 0
        y[0] = 9.0
        y[1:] += 1
    np.testing.assert_array_equal(y, [9.0, 3.0, 4.0])
    np.testing.assert_array_equal(kept, X)
    np.testing.assert_array_equal(x, X)


def test_lengths_that_turn_out_to_be_one_broadcast(reference):
    x = reference.asarray(X)
    with reference.fused():
        y = x[2:] + x  # no program knows that the left side has one element
    np.testing.assert_array_equal(y, X[2:] + X)


def test_a_mistake_is_told_of_its_op(reference):
    with pytest.raises(tg.ShapeError, match="add"), reference.fused():
        kept = [reference.sin(reference.asarray(X)) + reference.ones(4)]
    assert len(kept) == 1
    assert reference._quick is reference._entries


def test_a_block_that_is_left_by_an_exception_computes_what_is_asked_for(reference):
    with contextlib.suppress(ZeroDivisionError), reference.fused():
        y = reference.asarray(X) + 1
        1 / 0  # noqa: B018
    assert is_pending(y)
    np.testing.assert_array_equal(y, X + 1)


def test_a_function_of_jit_has_eager_results(xp):
    @tg.jit
    def f(p, q):
        return {"sum": tg.sum(p * q), "slope": tg.grad(tg.sum(tg.sin(p) * q), p)}

    for q in (xp.ones(3), np.ones(3)):
        result = f(xp.asarray(X), q)
        assert result["sum"].__array_namespace__() is xp
        assert float(result["sum"]) == 6.0
        np.testing.assert_allclose(np.asarray(result["slope"]), np.cos(X), rtol=1e-14)
    assert type(f(X, X)["sum"]) is np.ndarray


def test_functions_of_a_namespace_take_variables(reference):
    x = tg.vector("x")
    y = reference.exp(x) + reference.add(x, reference.asarray([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(y.eval({x: X}), np.exp(X) + 2 * X, rtol=1e-15)
