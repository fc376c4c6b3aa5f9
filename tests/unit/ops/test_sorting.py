"""Sorting: what becomes of shapes and dtypes, which ops are used, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import tg
from tg.errors import DtypeError, InputError, ShapeError
from tg.graph.traversal import sorted_applies
from tg.ops.cumulative import Accumulate
from tg.ops.sorting import ArgSort, SearchSorted, Sort


def ops(*outputs):
    return {type(node.op) for node, _ in sorted_applies(outputs)}


def test_positions_are_int64_and_values_keep_their_dtype():
    x = tg.tensor("x", "int8", (3, None))
    assert str(tg.argsort(x).type) == "int64[3, ?]"
    assert str(tg.sort(x, 0).type) == "int8[3, ?]"
    assert [str(v.type) for v in tg.topk(x, 2)] == ["int8[3, 2]", "int64[3, 2]"]


def test_axes_are_stored_from_the_end():
    x = tg.matrix("x")
    assert tg.sort(x, 0).apply.op == Sort(-2)
    assert tg.argsort(x, 1).apply.op == ArgSort(-1)
    assert tg.sort(x, None).apply.op == Sort(-1)


def test_a_descending_sort_is_a_sort_that_is_turned():
    assert Sort in ops(tg.sort(tg.vector("x"), descending=True))


def test_the_expansion_of_sort_needs_positions_only():
    x = tg.matrix("x")
    assert Sort not in ops(Sort(-2).expansion(x))
    assert ArgSort in ops(Sort(-2).expansion(x))


def test_the_expansion_of_searchsorted_agrees_with_numpy():
    a, v = np.array([-1.0, 0.0, 0.0, 2.0, np.nan]), np.array([[0.0, 3.0], [np.nan, -5.0]])
    x, y = tg.vector("x"), tg.matrix("y")
    for side in ("left", "right"):
        found = SearchSorted(side).expansion(x, y).eval({x: a, y: v})
        assert found.tolist() == np.searchsorted(a, v, side).tolist()


def test_the_expansion_of_sort_agrees_with_numpy():
    a = np.array([[3.0, np.nan, 1.0], [2.0, 0.0, -0.0]])
    x = tg.matrix("x")
    np.testing.assert_array_equal(Sort(-1).expansion(x).eval({x: a}), np.sort(a))
    np.testing.assert_array_equal(Sort(-2).expansion(x).eval({x: a}), np.sort(a, 0))


def test_a_side_that_is_none_is_refused():
    x = tg.vector("x")
    with pytest.raises(InputError, match="searchsorted: side: found 'middle', needed one of left, right"):
        tg.searchsorted(x, 1.0, "middle")


def test_searchsorted_needs_a_vector():
    with pytest.raises(ShapeError, match=r"searchsorted: found .*, needed a sorted vector"):
        tg.searchsorted(tg.matrix("x"), 1.0)


def test_an_order_of_fields_is_refused():
    with pytest.raises(InputError, match="sort: order: found 'a', needed None"):
        tg.sort(tg.vector("x"), order="a")


def test_a_running_result_of_another_function_is_refused():
    with pytest.raises(DtypeError, match="accumulate: divide has no running result"):
        Accumulate(tg.divide, -1)(tg.vector("x"))
