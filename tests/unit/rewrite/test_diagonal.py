"""Conditions of two triangles against NumPy: which is one of them, or all, or nothing."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tg
from tests.unit.rewrite.test_indexing import both, ops_of
from tg.graph.interpret import interpret
from tg.ops.creation import iota
from tg.ops.elementwise.comparison import greater_equal, less_equal, logical_and, logical_not, logical_or
from tg.ops.elementwise.record import Elementwise
from tg.plugin.records import Rewrites
from tg.rules import diagonal

OWN = Rewrites(diagonal.RULES, ())
X = tg.matrix("x")
ROWS, COLUMNS = (iota(X.shape[k]) for k in (0, 1))


def below(k, rows=ROWS, columns=COLUMNS, turned=False):
    """Row + k >= column, which is said in two ways."""
    row = (rows + k if k > 0 else rows - -k if k < 0 else rows)[:, None]
    return less_equal(columns[None], row) if turned else greater_equal(row, columns[None])


@pytest.mark.parametrize("fn", [logical_and, logical_or])
@pytest.mark.parametrize("nots", [(False, False), (True, True), (False, True), (True, False)])
def test_of_two_triangles_one_contains_the_other(fn, nots):
    for a, b, turned in itertools.product((-2, 0, 1, 3), (-2, -1, 0, 1), (False, True)):
        given = [logical_not(t) if n else t for t, n in zip((below(a), below(b, turned=turned)), nots, strict=True)]
        before, after = both([X], [fn(*given)], OWN)
        for shape in ((4, 5), (5, 3), (1, 1), (0, 2)):
            found = [interpret(f, [np.zeros(shape)])[0] for f in (before, after)]
            wanted = [np.tri(*shape, k, dtype=bool) ^ n for k, n in zip((a, b), nots, strict=True)]
            np.testing.assert_array_equal(found[0], fn.reference(*wanted))
            np.testing.assert_array_equal(found[1], found[0])
        inside, outside = (b, a) if nots[0] else (a, b)
        known = nots[0] is nots[1] or (inside >= outside if fn is logical_or else inside <= outside)
        left = [op for op in ops_of(after, Elementwise) if op.fn in (logical_and, logical_or)]
        assert bool(left) is not known


def test_rows_that_are_no_range_are_compared_as_well():
    r = tg.tensor("r", shape=(4,), dtype="int64")
    rows, given = r[:, None], np.array([0, 3, -(2**63), 2**63 - 1])
    a, b = (greater_equal(rows, (COLUMNS + k)[None]) for k in (0, 2))
    wanted = [given[:, None] >= (np.arange(5) + k)[None] for k in (0, 2)]
    for fn in (logical_and, logical_or):
        _, after = both([X, r], [fn(a, b), fn(a, logical_not(b))], OWN)
        found = interpret(after, [np.zeros((4, 5)), given])
        np.testing.assert_array_equal(found[0], fn.reference(*wanted))
        np.testing.assert_array_equal(found[1], fn.reference(wanted[0], ~wanted[1]))


@pytest.mark.parametrize("k", [2**53, -(2**53), 2**63 - 1, -(2**63)])
def test_numbers_that_wrap_around_are_no_triangles(k):
    for rows in (ROWS + k, ROWS - k, k - ROWS):
        a, b = greater_equal(rows[:, None], COLUMNS[None]), below(0)
        before, after = both([X], [logical_and(a, b), logical_or(a, b), logical_and(b, logical_not(a))], OWN)
        for old, new in zip(*(interpret(f, [np.zeros((4, 5))]) for f in (before, after)), strict=True):
            np.testing.assert_array_equal(new, old)


def test_triangles_of_other_rows_or_columns_are_not_compared():
    one, doubled = iota(1), iota(X.shape[1]) * 2
    for a, b in itertools.product((-1, 0, 2), repeat=2):
        for rows, columns in ((one, COLUMNS), (ROWS, one), (one, one), (ROWS, doubled)):
            second = below(b, rows, columns)
            for made in (logical_and(below(a), second), logical_or(second, below(a))):
                before, after = both([X], [made], OWN)
                for shape in ((4, 5), (1, 3)):
                    np.testing.assert_array_equal(*(interpret(f, [np.zeros(shape)])[0] for f in (before, after)))
