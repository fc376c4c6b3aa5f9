"""Lengths that depend on values: which are equal, which checks there are, and where a backend cannot hold them."""

from __future__ import annotations

import numpy as np
import pytest

import tg
from tg.graph.function_graph import freeze
from tg.ops.indexing import Gather, Nonzero, Scatter


def ops_of(graph: tg.FrozenGraph) -> list[str]:
    return [node.op.name for node in graph.nodes]


def test_equal_masks_give_one_length_and_need_no_check() -> None:
    x, y, m = tg.vector("x"), tg.vector("y"), tg.vector("m", dtype="bool")
    graph = freeze([x, m], [x[m] + tg.exp(x[m])])
    assert ops_of(graph).count("Nonzero") == 1
    assert len(graph.checks) == 1  # that the mask is as long as x
    two = freeze([x, y, m], [x[m] + y[m]])
    assert ops_of(two).count("Nonzero") <= 2
    assert "lengths differ" in two.checks[0].descriptor.text


def test_lengths_of_different_masks_are_checked() -> None:
    x, m = tg.vector("x", shape=(4,)), tg.vector("m", dtype="bool", shape=(4,))
    graph = freeze([x, m], [x[m] + x[~m]])
    assert [c.descriptor.error for c in graph.checks] == ["ShapeError"]
    assert x[m].eval({x: np.arange(4.0), m: [True, False, True, False]}).tolist() == [0.0, 2.0]
    with pytest.raises(tg.ShapeError, match="lengths differ: 3 and 1"):
        (x[m] + x[~m]).eval({x: np.arange(4.0), m: [True, True, True, False]})


def test_a_data_dependent_length_counts_as_different_from_1() -> None:
    x, m = tg.vector("x", shape=(3,)), tg.vector("m", dtype="bool", shape=(3,))
    with pytest.raises(tg.ShapeError, match="lengths differ"):
        (x[m] + x).eval({x: np.arange(3.0), m: [True, False, False]})


def test_a_known_mask_has_a_known_length() -> None:
    x = tg.vector("x", shape=(3,))
    assert x[np.array([True, False, True])].type.shape == (2,)
    assert x[[True, True, False]].type.shape == (2,)


def test_an_update_of_one_value_at_a_mask_asks_for_no_positions() -> None:
    x, m = tg.matrix("x"), tg.matrix("m", dtype="bool")
    assert "Nonzero" not in ops_of(freeze([x, m], [x.at[m].set(0.0), x.at[m].add(1.0)]))


def test_positions_of_a_stated_size_need_no_data_dependent_length() -> None:
    x = tg.vector("x")
    found = tg.nonzero(x, size=3, fill_value=-1)[0]
    assert found.type.shape == (3,)
    assert "Nonzero" not in ops_of(freeze([x], [found]))


def test_text_of_a_mask_is_read_again() -> None:
    x, m = tg.vector("x"), tg.vector("m", dtype="bool")
    graph = freeze([x, m], [tg.sum(x[m])])
    assert tg.parse(tg.to_text(graph)) == graph


def test_symbolic_lengths_of_equal_positions_are_equal() -> None:
    x, m = tg.vector("x"), tg.vector("m", dtype="bool")
    graph = freeze([x, m], [x[m], tg.exp(x[m])])
    first, second = (graph.symbolic[k].shape[0] for k in graph.outputs)
    assert first == second


def test_positions_need_a_vector_of_bool() -> None:
    with pytest.raises(tg.DtypeError, match="needed a vector of bool"):
        Nonzero()(tg.vector("x"))


def test_scatter_refuses_a_function_that_it_cannot_combine_with() -> None:
    x, i = tg.vector("x"), tg.vector("i", dtype="int64")
    with pytest.raises(tg.InputError, match="found subtract"):
        Scatter((-1,), tg.subtract)(x, Gather((-1,))(x, i), i)


def test_masks_too_many_and_of_another_shape_are_refused() -> None:
    x = tg.matrix("x", shape=(2, 3))
    with pytest.raises(tg.BoundsError, match="found 3 indices"):
        x[tg.matrix("m", dtype="bool"), 0]
    with pytest.raises(tg.BoundsError, match="axis 1: found length 2, needed 3"):
        x[np.ones((2, 2), bool)]
    with pytest.raises(tg.InputError, match="needed one of raise, clip, wrap, promise, fill"):
        x.at[0].get(mode="drop")
