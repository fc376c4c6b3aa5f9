"""Joining: pieces that are nothing, neighbours that are one, and what all pieces share."""

import numpy as np
import pytest

import tg
from tests.unit.rules.examine import One
from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.ops.shape import Concatenate, ExpandDims, Transpose
from tg.plugin.records import Rewrites
from tg.rewrite.driver import rewrite
from tg.rules.catalog import PASSES, RULES

CORE = Rewrites(RULES, PASSES)
PASSES_OF_JOINING = [one for one in PASSES if one.name == "elementwise_of_pieces"]
X, V, W = tg.matrix("x"), tg.vector("v"), tg.vector("w")
S, T = tg.tensor("s", shape=(3, 4)), tg.tensor("t", shape=(3, 4))
A, B, C = (tg.scalar(name) for name in "abc")
N = tg.scalar("n", dtype="int64")


def rewritten(inputs, *outputs):
    return rewrite(FunctionGraph.of(inputs, outputs), [CORE], supported=lambda op, types: True)


def plain(inputs, *outputs):
    return FunctionGraph.of(inputs, outputs).freeze()


def ops(frozen):
    return [node.op.name for node in frozen.nodes]


@pytest.mark.parametrize(
    ("inputs", "before", "after"),
    [
        ([V], tg.concatenate([V]), V),
        ([V], tg.concatenate([V[:0], V, np.zeros(0)]), V),
        ([V], tg.pad(V, (0, 0)), V),
        ([V], tg.roll(V, 0), V),
        ([V], tg.flip(tg.flip(V)), V),
        ([V], tg.concatenate([V[:3], V[3:]]), V),
        ([V], tg.concatenate([V[:-2], V[-2:]]), V),
        ([V], tg.concatenate([V[:2], V[2:5], V[5:]]), V),
        ([V, N], tg.concatenate([V[:N], V[N:]]), V),
        ([S], tg.concatenate([S[:, :1], S[:, 1:3], S[:, 3:]], 1), S),
        ([S], tg.concatenate([S[1:2], S[2:3]]), S[1:3]),
        ([S], tg.concatenate(tg.split(S, [1, 2]), 0), S),
        ([S], tg.concatenate(tg.split(S, 2, 1), 1), S),
        ([V, W], tg.concatenate([V, tg.concatenate([W, V]), W]), tg.concatenate([V, W, V, W])),
        ([V], tg.concatenate([V, np.ones(2), np.zeros(1)]), tg.concatenate([V, np.array([1.0, 1.0, 0.0])])),
        ([A, B], tg.array([A, 1.0, 2.0, B]), tg.concatenate([A[None], np.array([1.0, 2.0]), B[None]])),
        ([V], tg.concatenate([V, tg.zeros(2000), tg.zeros(3000)]), tg.concatenate([V, tg.zeros(5000)])),
        ([S, T], tg.concatenate([S.T, T.T], 1), Transpose((-1, -2))(Concatenate(-2)(S, T))),
        ([S, T], tg.concatenate([S[:, None], T[:, None]], 2), ExpandDims((-2,))(Concatenate(-1)(S, T))),
    ],
)
def test_pieces_are_joined_in_the_simplest_way(inputs, before, after):
    assert rewritten(inputs, before) == plain(inputs, after)


@pytest.mark.parametrize(
    "output",
    [
        tg.concatenate([V[:3], V[4:]]),
        tg.concatenate([V[3:], V[:3]]),
        tg.concatenate([V[:3], V[2:]]),
        tg.concatenate([V[::2], V[1::2]]),
        tg.concatenate([S[:1, :2], S[:1, 3:]], 1),
        tg.stack([V, V]),
    ],
)
def test_what_only_looks_like_neighbours_stays(output):
    assert "Concatenate" in ops(rewritten([V, S], output))


def test_arrays_cut_alike_are_joined_once():
    found = rewritten([A, B, C], tg.stack([A, B, C]) * tg.stack([C, A, B]))
    assert ops(found).count("Concatenate") == 1
    used = tg.stack([A, B, C])
    found = rewritten([A, B, C], used * tg.stack([C, A, B]), used)
    assert ops(found).count("Concatenate") == 2


P = [tg.tensor(n, shape=(8,)) for n in "pqr"]
M = [tg.tensor(n, shape=(2, 4)) for n in "mno"]  # two beside one another are square
CUTS = {  # not cut alike, though all pieces but some are, or no function of elements
    "other places": tg.concatenate([P[0][:1], P[0][1:3], P[0][4:7]]) * tg.concatenate([P[1][:1], P[1][2:5], P[1][5:7]]),
    "fewer pieces": tg.concatenate([P[0][:1], P[1][:1], P[2][:1]]) * tg.concatenate([P[1][:1], P[0][:2]]),
    "a piece of nothing": tg.concatenate([P[0][:1], P[1][:2], P[2][:0]]) * tg.concatenate([P[1][:1], P[2][:2]]),
    "nothing beside": tg.concatenate([P[0][:1], P[1][:2]]) * tg.concatenate([P[1][:1], P[2][:2], P[2][:0]]),
    "a product of matrices": tg.concatenate(M[:2]) @ tg.concatenate(M[1:]),
}


@pytest.mark.parametrize("name", CUTS)
def test_arrays_cut_otherwise_are_joined_each(name):
    (one,) = PASSES_OF_JOINING
    inputs = M if name == "a product of matrices" else P
    found = rewrite(FunctionGraph.of(inputs, [CUTS[name]]), [One(one)], supported=lambda op, types: True)
    assert found == plain(inputs, CUTS[name])


def test_a_long_chain_of_joins_stays_a_chain():
    x = y = V
    for _ in range(200):
        y = tg.concatenate([y, x])
    found = rewritten([V], y)
    assert max(len(node.inputs) for node in found.nodes if node.op.name == "Concatenate") <= 64
    assert interpret(found, [np.ones(2)])[0].shape == (402,)


@pytest.mark.parametrize("k", [-7, -2, 0, 1, 3, 9])
def test_parts_at_a_position_known_at_run_time_make_the_whole(k):
    value = np.arange(4.0)
    found = rewritten([V, N], tg.concatenate([V[:N], V[N:]]))
    np.testing.assert_array_equal(interpret(found, [value, np.int64(k)])[0], np.concatenate([value[:k], value[k:]]))


def test_one_piece_that_was_moved_is_moved_after_it_is_joined():
    (one,) = (one for one in RULES if one.name == "concatenate_moved")
    graph = FunctionGraph.of([S], [Concatenate(-1)(S.T)])
    found = rewrite(graph, [One(one)], supported=lambda op, types: True)
    assert ops(found) == ["Concatenate", "Transpose"]
    np.testing.assert_array_equal(interpret(found, [np.arange(12.0).reshape(3, 4)])[0], np.arange(12.0).reshape(3, 4).T)
