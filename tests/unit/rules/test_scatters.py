"""Scatters over scatters: every function over every other, at the same places and at others, repeated and not."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tg
from tests.unit.rules.test_indexing import ALL, both, ops_of
from tg.graph.interpret import interpret
from tg.graph.nodes import Constant
from tg.ops.indexing import Gather, Scatter
from tg.plugin.records import Rewrites
from tg.rules import indexing

X, U, V = tg.tensor("x", shape=(6,)), tg.tensor("u", shape=(3,)), tg.tensor("v", shape=(3,))
T = tg.tensor("t", shape=(4, 5))
ARRAYS = [
    np.array([4.0, -1.0, 2.0, 0.5, 3.0, -6.0]),
    np.array([2.0, -3.0, 5.0]),
    np.array([0.5, 7.0, -2.0]),
    np.arange(20.0).reshape(4, 5),
]
FUNCTIONS = (None, tg.add, tg.multiply, tg.maximum, tg.minimum)
UNIQUE, REPEATED, OTHER = (Constant(np.array(places)) for places in ([4, 1, 2], [4, 1, 4], [1, 4, 2]))


def agree(made):
    """The programs that all rules and those of indexing alone make, which give what it says."""
    found = []
    for plugin in (ALL, Rewrites(indexing.RULES, ())):
        before, after = both([X, U, V, T], [made], plugin)
        np.testing.assert_array_equal(interpret(after, ARRAYS)[0], interpret(before, ARRAYS)[0])
        found.append(after)
    return found


@pytest.mark.parametrize("first", FUNCTIONS)
@pytest.mark.parametrize("second", FUNCTIONS)
def test_two_scatters_say_the_same_as_one_where_they_are_one(first, second):
    for a, b in itertools.product((UNIQUE, REPEATED, OTHER), repeat=2):
        after = agree(Scatter((-1,), second)(Scatter((-1,), first)(X, U, a), V, b))[1]
        at_one = a is b and (second is None or (first is None and a is not REPEATED) or first is second is tg.add)
        assert len(ops_of(after, Scatter)) == (1 if at_one else 2)


@pytest.mark.parametrize("first", FUNCTIONS)
@pytest.mark.parametrize("second", FUNCTIONS)
def test_two_scatters_at_places_that_agree_along_one_axis(first, second):
    rows = Constant(np.array([3, 1, 2]))
    for columns in (UNIQUE, OTHER):
        below = Scatter((-2, -1), first)(T, U, rows, UNIQUE)
        agree(Scatter((-2, -1), second)(below, V, rows, columns))
    agree(Scatter((-1,), second)(Scatter((-2,), first)(T, T[:3], OTHER % 4), T[:, :3].T, OTHER % 4))


def test_nothing_is_written_into_no_elements():
    t, j = tg.tensor("t", shape=(3, 0)), tg.tensor("j", shape=(2,), dtype="int64")
    _, after = both([t, j], [Scatter((-2,))(t, t[:2], j)], Rewrites(indexing.RULES, ()))
    assert not ops_of(after, Scatter)
    assert interpret(after, [np.zeros((3, 0)), np.array([2, 0])])[0].shape == (3, 0)


@pytest.mark.parametrize("fn", FUNCTIONS)
def test_what_was_written_is_read_at_known_places(fn):
    for places, read in itertools.product((UNIQUE, REPEATED, OTHER), repeat=2):
        agree(Gather((-1,))(Scatter((-1,), fn)(X, U, places), read))
        agree(Gather((-1,))(Scatter((-1,), fn)(X, U, places), Constant(np.array([1, 4, 1, 4]))))
        agree(Gather((-1,))(Scatter((-1,), fn)(X, U, places), Constant(np.array([5, 0, 3]))))
