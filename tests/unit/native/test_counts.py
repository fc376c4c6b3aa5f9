"""Counts without memory: which they are, and that their readers find the numbers that memory would hold."""

import numpy as np
import pytest

import tg
from tg.graph.function_graph import freeze
from tg_native.fusion.fused import fuse
from tg_native.fusion.fusion import Choices
from tg_native.plan.counts import counts_of

KEY = tg.tensor("key", "uint32", (2,))
N, X, V = tg.scalar("n", "int64"), tg.matrix("x"), tg.vector("v")
VALUES = {KEY: np.array([3, 17], np.uint32), N: 9, X: np.linspace(-1, 2, 24).reshape(6, 4), V: np.arange(4.0)}


def counted(*outputs):
    """How many counts have no memory, of how many."""
    frozen = fuse(freeze([KEY, N, X, V], outputs), Choices(gathers=True))
    return len(counts_of(frozen)), sum(node.op.name == "Arange" for node in frozen.nodes)


def test_the_counters_of_a_draw_have_no_memory():
    assert counted(tg.random.uniform(KEY, shape=(9,))) == (1, 1)
    assert counted(tg.random.normal(KEY, V, shape=(3, 4))) == (1, 1)
    assert counted(tg.expand_dims(tg.arange(N), 1) * V) == (1, 1)


def test_what_is_stored_gathered_by_or_read_by_no_loop_has_memory():
    assert counted(tg.arange(N)) == (0, 1)
    assert counted(tg.arange(N), tg.arange(N) * 2.5) == (0, 1)
    assert counted(V[tg.arange(4)] * 2) == (0, 1)
    assert counted(tg.cumsum(tg.arange(N))) == (0, 1)
    assert counted(tg.reshape(tg.arange(N), (3, 3)).T) == (0, 1)


PROGRAMS = {
    "a draw": tg.random.uniform(KEY, shape=(7, 13)),
    "a column and a row": tg.expand_dims(tg.arange(N), 1) * V,
    "transposed": tg.transpose(tg.reshape(tg.arange(12), (3, 4))) * X[:4, :3],
    "sums of rows": tg.sum(tg.random.uniform(KEY, shape=(40, 30)), axis=1),
    "sums of columns": tg.sum(tg.random.uniform(KEY, shape=(N, 30)), axis=0),
    "in tiles": tg.random.normal(KEY, tg.vmap(lambda k: tg.random.normal(k))(tg.random.split(KEY, N))),
    "by position": tg.arange(3, N)[N - 5] + tg.argmax(X * tg.arange(4), axis=1),
}


@pytest.mark.long
@pytest.mark.parametrize("backend", ["c", "numba"])
def test_numbers_are_those_of_the_reference(backend):
    outputs, inputs = [*PROGRAMS.values()], [*VALUES]
    found = tg.function(inputs, outputs, backend=backend)(*VALUES.values())
    needed = tg.function(inputs, outputs, backend="perform")(*VALUES.values())
    for name, a, b in zip(PROGRAMS, found, needed, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, err_msg=name)


@pytest.mark.long
def test_a_draw_that_is_reduced_takes_no_memory_for_its_numbers():
    f = tg.function([KEY], tg.mean(tg.random.normal(KEY, shape=(200_000,))), backend="c")
    assert abs(f(VALUES[KEY])) < 5 / np.sqrt(2e5)
    assert f.profile(VALUES[KEY], calls=1).peak < 1e5
