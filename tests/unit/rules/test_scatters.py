"""What is read of scatters, by every function: at the same places and at others, repeated and not."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tg
from tests.unit.rules.test_indexing import ALL, both
from tg.graph.interpret import interpret
from tg.graph.nodes import Constant
from tg.ops.indexing import Gather, Scatter
from tg.plugin.records import Rewrites
from tg.rules import indexing

X, U = tg.tensor("x", shape=(6,)), tg.tensor("u", shape=(3,))
ARRAYS = [np.array([4.0, -1.0, 2.0, 0.5, 3.0, -6.0]), np.array([2.0, -3.0, 5.0])]
FUNCTIONS = (None, tg.add, tg.multiply, tg.maximum, tg.minimum)
UNIQUE, REPEATED, OTHER = (Constant(np.array(places)) for places in ([4, 1, 2], [4, 1, 4], [1, 4, 2]))


def agree(made):
    """Check that the programs that all rules and those of indexing alone make give what it says."""
    for plugin in (ALL, Rewrites(indexing.RULES, ())):
        before, after = both([X, U], [made], plugin)
        np.testing.assert_array_equal(interpret(after, ARRAYS)[0], interpret(before, ARRAYS)[0])


@pytest.mark.parametrize("fn", FUNCTIONS)
def test_what_was_written_is_read_at_known_places(fn):
    for places, read in itertools.product((UNIQUE, REPEATED, OTHER), repeat=2):
        agree(Gather((-1,))(Scatter((-1,), fn)(X, U, places), read))
        agree(Gather((-1,))(Scatter((-1,), fn)(X, U, places), Constant(np.array([1, 4, 1, 4]))))
        agree(Gather((-1,))(Scatter((-1,), fn)(X, U, places), Constant(np.array([5, 0, 3]))))
