"""Running results of loops, computed at once: against loops of Python, and held to the promise of their class."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import tg
from tests.unit.rules.examine import Examination
from tests.unit.rules.test_indexing import Plugin, rewritten
from tg import plugin
from tg.graph.interpret import interpret
from tg.ops.loops import Scan
from tg.rules.catalog import PASSES, RULES
from tg.rules.loops.running import RUNNING_RESULTS
from tg.types.dtypes import INTEGERS

X, A = tg.vector("x"), tg.scalar("a")
LENGTHS = (0, 1, 2, 7, 2500)


def after(inputs, outputs):
    """The program rewritten for a backend whose loops are Python's."""
    return rewritten(inputs, list(outputs), Plugin((*RULES, RUNNING_RESULTS), PASSES))


def loops(frozen):
    return [node.op for node in frozen.nodes if isinstance(node.op, Scan)]


def stepped(step, start, x, *, reverse=False):
    """The last carry and what each step gave, by a loop of Python."""
    carry, found = start, [None] * len(x)
    for t in reversed(range(len(x))) if reverse else range(len(x)):
        carry, found[t] = step(carry, x[t])
    return carry, np.array(found, np.float64).reshape(len(x))


def over(x):
    """An array of slices like x, of more steps than are written out."""
    return tg.stack([x, x * 2, x + 1] * 3)


def numbers(x):
    return tg.reshape(x, (-1,))


def most_and_least(c, v):
    return (tg.maximum(c[0], v), tg.minimum(v, c[1])), c[0] - c[1] if v.dtype != "bool" else c[0]


EXAMPLES = {
    "sums_of_sums": RUNNING_RESULTS.example,
    "differences_from_the_end": lambda x: tg.scan(lambda c, v: (c - v, c), x, over(x), reverse=True)[1],
    "products": lambda x, y: tg.scan(lambda c, v: (c * v, c), y, over(x))[1],
    "extremes": lambda x, y: tg.scan(most_and_least, (y, x), over(x))[1],
    "totals": lambda x, y: tg.scan(lambda c, v: (c + v * 2, None), x, over(y))[0],
    "decay": lambda x: tg.scan(lambda c, v: ((c + v) * 0.75,) * 2, tg.zeros((), dtype=x.dtype), numbers(x))[1],
    "growth": lambda x: tg.scan(lambda c, v: (v - c * 1.25,) * 2, x[0, 0], numbers(x))[1],
}  # fmt: skip


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.sampled(7)
def test_the_promise_is_kept_at_hostile_points(example):
    one = copy.copy(RUNNING_RESULTS)
    one.example = EXAMPLES[example]
    Examination(one).conduct()


STEPS = {
    "sum": (lambda c, v: (c + v, c + v), 0.0),
    "sum_before": (lambda c, v: (c + v, c * v), -1.5),
    "difference": (lambda c, v: (c - 2 * v, c), 0.5),
    "product": (lambda c, v: (c * v, c), 0.25),
    "decay": (lambda c, v: (0.9 * c + v, c), 3.0),
    "smoothed": (lambda c, v: (c + 0.125 * (v - c), v - c), 0.0),
    "alternating": (lambda c, v: (v - c, c), 1.0),
    "growth": (lambda c, v: (1.0625 * c + v, c), 1.0),
    "fast_decay": (lambda c, v: (1e-5 * c + v, c), 1.0),
}


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("step", STEPS)
def test_running_results_need_no_loop_over_single_steps(step, reverse):
    f, start = STEPS[step]
    frozen = after([X], tg.scan(f, start, X, reverse=reverse))
    assert all(op.body.types[0].ndim for op in loops(frozen))  # what is left hands blocks on
    for n in LENGTHS:
        x = 1 + np.random.default_rng(n).uniform(-1, 1, n) / 64
        with np.errstate(over="ignore", invalid="ignore"):
            last, wanted = stepped(f, start, x, reverse=reverse)
            found = interpret(frozen, [x])
        np.testing.assert_allclose(found[1], wanted, rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(found[0], last, rtol=1e-11, atol=1e-12)


def test_extremes_and_whole_numbers_have_the_same_bits():
    i = tg.vector("i", dtype="int64")
    most = tg.scan(lambda c, v: (tg.maximum(c, v),) * 2, -np.inf, X)[1]
    counted = tg.scan(lambda c, v: ((c[0] + 1, c[1] + c[0] * v), c[1]), (0, 0), i)
    frozen = after([X, i], [most, *counted[0], counted[1]])
    assert not loops(frozen)
    x, j = np.array([0.5, -0.0, np.nan, 3.0]), np.array([2**62, 5, -7, 2**62])
    found = interpret(frozen, [x, j])
    np.testing.assert_array_equal(found[0], np.maximum.accumulate(x))
    with np.errstate(over="ignore"):
        sums = np.cumsum(np.arange(4) * j)
    np.testing.assert_array_equal(found[2], sums[-1])
    np.testing.assert_array_equal(found[3], [0, *sums[:-1]])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", [*INTEGERS, "float16", "float32", "complex64", "complex128"])
def test_the_carry_is_subtracted_in_every_dtype(dtype, reverse):
    """Integers wrap; a flag that toggles is 1 less the one before."""
    one, x = np.dtype(dtype).type(1), tg.vector("x", dtype)
    steps = (lambda c, v: (v - c, c), lambda c, v: (one - c, c + v), lambda c, v: (v - c - one, v - c))
    scans = [tg.scan(step, tg.constant(one), x, reverse=reverse) for step in steps]
    frozen = after([x], [v for pair in scans for v in pair])
    assert all(op.body.types[0].ndim for op in loops(frozen))
    for n in LENGTHS:
        values = np.arange(n).astype(dtype) if dtype in INTEGERS else (np.arange(n) % 3).astype(dtype)
        results = iter(interpret(frozen, [values]))
        for step in steps:
            carry, rows = one, np.empty(n, dtype)
            with np.errstate(over="ignore"):
                for t in range(n)[:: -1 if reverse else 1]:
                    carry, rows[t] = step(carry, values[t])
            for wanted in (carry, rows):
                result = next(results)
                assert result.dtype == dtype
                np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_stays_where_it_is(bad):
    """A decaying sum is infinite from an infinite element on, long after the power of its factor has vanished."""
    frozen = after([X], tg.scan(lambda c, v: (0.5 * c + v,) * 2, 0.0, X))
    x = np.ones(5000)
    x[1700] = bad
    found = interpret(frozen, [x])[1]
    assert np.isfinite(found[:1700]).all()
    np.testing.assert_array_equal(found[1700:], bad)


def test_a_gradient_of_smoothing_takes_blocks_in_both_directions():
    levels = tg.scan(lambda c, v: (0.875 * c + 0.125 * v,) * 2, 0.0, X)[1]
    frozen = after([X], [tg.grad(tg.sum(levels**2), X)])
    assert all(op.body.types[0].ndim for op in loops(frozen))
    n = 2100
    table = np.tril(0.125 * 0.875 ** np.clip(np.subtract.outer(np.arange(n), np.arange(n)), 0, None))
    x = np.random.default_rng(0).normal(size=n)
    np.testing.assert_allclose(interpret(frozen, [x])[0], 2 * table.T @ (table @ x), rtol=1e-9, atol=1e-12)


OTHERS = {
    "a_factor_that_is_given": lambda c, v: A * c + v,
    "a_function_of_the_carry": lambda c, v: tg.sin(c) + v,
    "a_carry_twice": lambda c, v: c + c * v,
    "what_is_checked": lambda c, v: c + tg.assert_(v, v > 0, "found {0}", 1),  # noqa: PT009
    "a_factor_of_no_power": lambda c, v: 1e-200 * c + v,
    "another_rank": lambda c, v: c + tg.sum(X * v),
}


@pytest.mark.parametrize("step", OTHERS)
def test_other_steps_are_made_one_by_one(step):
    frozen = after([X, A], [tg.scan(lambda c, v: (OTHERS[step](c, v), c), 0.0, X)[1]])
    (op,) = loops(frozen)
    assert not op.body.types[0].ndim


def test_carries_that_need_one_another_stay():
    def step(c, v):
        return (c[0] + c[1], c[1] + c[0] * v), c[0]

    assert len(loops(after([X], [tg.scan(step, (0.0, 1.0), X)[1]]))) == 1


def test_a_number_of_steps_that_only_counts_stays_an_ordinary_operand():
    n = tg.scalar("n", dtype="int64")
    (op,) = loops(after([n, A], [tg.scan(lambda c, _: (c + A, None), 0.0, None, n)[0]]))
    assert op.counts_only


def test_it_is_for_backends_whose_loops_are_pythons():
    registry = plugin.registry()
    assert RUNNING_RESULTS in registry.rewrites("perform").rules
    assert RUNNING_RESULTS not in registry.rewrites(None).rules
