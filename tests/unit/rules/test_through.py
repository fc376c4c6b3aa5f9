"""Reads of results as reads of operands, op by op: by the passes alone, so that no rule of slices comes before them."""

from __future__ import annotations

import numpy as np
import pytest

import tg
from tests.unit.rules.test_indexing import both, ops_of
from tg.graph.interpret import interpret
from tg.graph.nodes import Constant
from tg.ops.indexing import Scatter, Slice, SliceUpdate
from tg.ops.shape import AxisLength, Concatenate, ExpandDims, Reshape
from tg.plugin.records import Rewrites
from tg.rules import indexing
from tg.rules.indexing.through import UNUSED, through
from tg.rules.indexing.windows import Window

PASSES = Rewrites((), indexing.PASSES)
RULES = Rewrites(indexing.RULES, ())
N, X, T, U = tg.vector("n"), tg.tensor("x", shape=(8,)), tg.tensor("t", shape=(6, 4)), tg.tensor("u", shape=(4,))
K = tg.scalar("k", dtype="int64")
INPUTS = [N, X, T, U, K]
PLACES = Constant(np.array([2, 1]))
ARRAYS = [np.arange(5.0) + 50, np.arange(8.0), np.arange(24.0).reshape(6, 4), np.arange(4.0) + 100, np.array(1)]


def last_of(made, plugin):
    """The last node of a rewritten program, which gives what the program says, and its program."""
    before, after = both(INPUTS, [made], plugin)
    np.testing.assert_array_equal(interpret(after, ARRAYS)[0], interpret(before, ARRAYS)[0])
    return after.nodes[-1].op, after


def cat(*parts):
    return Concatenate(-1)(*parts)


@pytest.mark.parametrize(
    "made",
    [
        tg.reshape(T, (3, 2, 4))[::-1],
        tg.reshape(T, (3, 2, 4))[::2],
        tg.reshape(T, (3, 2, 4))[1:],
        tg.reshape(T, (6, 2, 2))[:, ::-1],
        tg.reshape(T, (6, 2, 2))[1:3, 1:],
        cat(X, U)[7:9],
        cat(X, U)[6:9],
        cat(X, U)[7:10],
        cat(X, U)[8:6:-1],
        cat(X, U)[::7],
        cat(X[:1], U[:2], X)[::3],
        cat(X[:1], U[:2], X)[3::-3],
        Slice((None,), (2,), (1,))(cat(N, U[:2]), AxisLength(-1)(N) + 1),  # its start is clamped
        Slice((None,), (1,), (1,))(cat(N, U[:2]), AxisLength(-1)(N) + 2),
        cat(N, U)[N.shape[0] - 1 : N.shape[0] + 1],
        cat(N[:K], X[K:5])[1:3],
        X.at[1:5].set(U)[2:4],
        X.at[1:5].add(U)[2:4],
        X.at[2:4].set(U[:2])[1:5],
        X.at[1:5].set(U)[0:2],
        T.at[1:3, 1:3].set(U[:2])[1:3],
        tg.exp(T + U)[2],
        tg.exp(T + U)[2, 1],
        tg.exp(T * U[:1])[2, 1],
        Scatter((-2, -1))(tg.exp(T), U[:2], PLACES, PLACES)[1:3],
        Scatter((-2, -1), tg.add)(tg.exp(T), U[:2], PLACES, PLACES)[:, 1:3],
        Scatter((-2,), tg.add)(tg.exp(T), T[:2], PLACES)[:, 1:3],
        T.at[1:3, 1:3].add(U[:2])[1:3, 2:3],
    ],
    ids=str,
)
@pytest.mark.parametrize("plugin", [PASSES, RULES])
def test_a_read_of_a_result_reads_the_same_of_the_operands(made, plugin):
    last_of(made, plugin)


def test_an_axis_of_which_nothing_may_be_read_is_not_dropped():
    y = tg.exp(ExpandDims((-2, -1))(X))
    for made in (y[:, :K], y[:, :, :K], y[:, :K, :K]):
        for plugin in (PASSES, RULES):
            before, after = both(INPUTS, [made], plugin)
            for k in (0, 1):
                arrays = [*ARRAYS[:-1], np.array(k)]
                np.testing.assert_array_equal(interpret(after, arrays)[0], interpret(before, arrays)[0])


def test_a_reshape_whose_numbers_of_elements_only_a_check_makes_equal_is_not_read_through():
    op, after = last_of(tg.reshape(N, (K + 4, 1))[: K + 1], RULES)
    assert isinstance(op, Slice)
    assert len(ops_of(after, Reshape)) == 1


def test_pieces_of_unknown_lengths_that_are_read_across_stay_joined_by_the_rules():
    op, after = last_of(cat(U, N)[2 : N.shape[0] + 4], RULES)
    assert isinstance(op, Slice)
    assert len(ops_of(after, Concatenate)) == 1


def test_a_piece_that_steps_leave_out_is_not_read():
    joined = cat(X[:1], U[:2], X)
    found = through(joined.apply, joined, (Window(0, 3, 3),))
    assert [r is UNUSED for r in found.reads] == [False, True, False]


@pytest.mark.parametrize(
    ("made", "length"),
    [(X.at[1:5].set(U)[2:4], None), (X.at[1:5].add(U)[2:4], None), (X.at[2:4].set(U[:2])[1:5], 4)],
)
def test_what_is_written_is_written_into_what_is_read(made, length):
    _, after = last_of(made, PASSES)
    written = [after.types[node.outputs[0]].shape for node in after.nodes if type(node.op) is SliceUpdate]
    assert written == ([] if length is None else [(length,)])
