"""Loops that follow one another are run tile by tile; what comes out is NumPy's, whatever the lengths."""

import re

import numpy as np
import pytest

import tg
from tg.link.schedule import Run, schedule
from tg.types.lengths import same
from tg_native.loops.costs import MOST_TILE, TILE
from tg_native.plan.shapes import shapes_of
from tg_native.plan.tiles import Tiles, in_tiles

pytestmark = pytest.mark.sampled(2)

LENGTHS = (0, 1, 2, 63, 64, 65, 129, 4095, 4096, 4097, 9000)
RUNS = "fuse_loops"  # what makes one loop of several ops: without it each op is a loop, and all of them a chain


def compiled(inputs, outputs, backend, **options):
    return tg.function(inputs, outputs, backend=backend, exclude=RUNS, **options)


def heap(f):
    """How often memory is taken, as the text says."""
    return len(re.findall(r"tg_take\(|call ptr @tg\.take\(", f.source()))


def assert_close(found, right, **tolerance):
    for y, z in zip(found, right, strict=True):
        assert np.shape(y) == np.shape(z)
        np.testing.assert_allclose(y, z, **tolerance)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "complex128"])
def test_a_chain_of_any_length(backend, dtype):
    x = tg.vector("x", dtype)
    kind = np.dtype(dtype).type
    y = (x * kind(3) + kind(1)) * x
    z = y * y - x
    f = compiled([x], [z, tg.sum(y), y + z], backend)
    rng = np.random.default_rng(0)
    for n in LENGTHS:
        a = rng.integers(-2, 3, n).astype(dtype)
        b = (a * kind(3) + kind(1)) * a
        c = b * b - a
        assert_close(f(a), [c, b.sum(), b + c])


def test_rows_of_no_elements(backend):
    """What is handed on from loop to loop has no bytes."""
    x = tg.tensor("x", "float64", (2, 0, 0))
    y = tg.exp(x) * 2.0
    f = compiled([x], [y + x, tg.sum(y)], backend)
    assert_close(f(np.zeros((2, 0, 0))), [np.zeros((2, 0, 0)), 0.0])


@pytest.mark.long
def test_gradients_of_many_steps(backend):
    """More steps than one loop takes; a total is in the middle of them."""
    x = tg.vector("x")
    y = x
    for k in range(150):
        y = tg.sin(y) + x * float(k % 7)
    loss = tg.sum(y)
    f = tg.function([x], [loss, tg.max(y), tg.grad(loss, x)], backend=backend)
    for n in (1, 64, 65, 1000, 5003):
        a = np.random.default_rng(n).uniform(-2, 2, n)
        b, slope = a, np.ones(n)
        for k in range(150):
            slope = np.cos(b) * slope + k % 7
            b = np.sin(b) + a * (k % 7)
        assert_close(f(a), [b.sum(), b.max(), slope], rtol=1e-12, atol=1e-13)


def test_rows_and_columns_and_numbers_beside(backend):
    """What is repeated along an axis is not moved from tile to tile, or only along the first one."""
    x, row, column, s = (
        tg.matrix("x", shape=(None, 5)),
        tg.vector("row", shape=(5,)),
        tg.vector("column"),
        tg.scalar("s"),
    )
    y = tg.exp(-(x * row)) + column[:, None]
    z = (y * s - x) * y
    f = compiled([x, row, column, s], [z, tg.sum(y * z)], backend)
    rng = np.random.default_rng(1)
    for n in (0, 1, 13, 700, 6001):
        a, b, c = rng.uniform(-1, 1, (n, 5)), rng.uniform(-1, 1, 5), rng.uniform(-1, 1, n)
        u = np.exp(-(a * b)) + c[:, None]
        v = (u * 1.5 - a) * u
        assert_close(f(a, b, c, np.float64(1.5)), [v, (u * v).sum()], rtol=1e-12, atol=1e-14)


def test_operands_that_lie_otherwise(backend):
    """Views go through their tiles as they lie: backwards, at a distance, along the other axis."""
    x, m = tg.vector("x"), tg.matrix("m", shape=(7, None))
    y = x[::-1] * x + x[::2][: x.shape[0] // 2].sum()
    z = y * y + x
    t = m.T * 2.0
    u = t * t - m.T
    f = compiled([x, m], [z, u], backend)
    for n in (1, 2, 66, 5000):
        a, b = np.random.default_rng(n).uniform(-1, 1, n), np.random.default_rng(n).uniform(-1, 1, (7, n))
        v = a[::-1] * a + a[::2][: n // 2].sum()
        w = b.T * 2
        assert_close(f(a, b), [v * v + a, w * w - b.T], rtol=1e-12)


def test_what_is_in_tiles_has_memory_for_one_of_them(backend):
    """A chain takes memory once, for tiles, and not for each of its values."""
    x = tg.vector("x")
    y = x
    for k in range(40):
        y = y * x + float(k)
    f = compiled([x], y, backend)
    assert heap(f) <= 1
    a = np.linspace(-1, 1, 10_001)
    b = a
    for k in range(40):
        b = b * a + k
    np.testing.assert_allclose(f(a), b, rtol=1e-12)


def test_a_failed_check_between_two_steps_is_told(backend):
    x, n = tg.vector("x"), tg.scalar("n", "int64")
    y = x * 2.0 + x
    z = (y * y)[:n] + 1.0
    f = compiled([x, n], z * z, backend)
    a = np.arange(200.0)
    np.testing.assert_allclose(f(a, np.int64(100)), (9 * a[:100] ** 2 + 1) ** 2)
    picked = compiled([x, n], y * y[n] + x, backend)
    np.testing.assert_allclose(picked(a, np.int64(7)), 64 * a)
    with pytest.raises(IndexError, match="200"):
        picked(a, np.int64(200))


def test_shared_variables_that_are_overwritten(backend):
    """Outputs that may lie in the memory of inputs are written when all else is done, in whole loops."""
    w = tg.shared(np.arange(5000.0), name="w")
    step = (w * 0.5 + 1.0) * w
    f = tg.function([], [tg.sum(step)], updates={w: step - w}, backend=backend, exclude=RUNS)
    before = np.arange(5000.0)
    new = (before * 0.5 + 1) * before
    np.testing.assert_allclose(f()[0], new.sum())
    np.testing.assert_allclose(w.get_value(), new - before)


def test_a_profile_counts_what_is_in_tiles(backend):
    x = tg.vector("x")
    y = (tg.exp(x) * x + 1.0) * x
    f = compiled([x], y, backend)
    a = np.linspace(0, 1, 3 * MOST_TILE + 1)
    np.testing.assert_allclose(f(a), (np.exp(a) * a + 1) * a)
    assert "exp" in str(f.profile(a))


# --- which steps, in which order -------------------------------------------------------------------------------------


def planned(inputs, outputs):
    """The steps of a function in which every op is a loop, and the graph."""
    graph = tg.function(inputs, outputs, backend="perform").graph
    makers = {n: k for k, node in enumerate(graph.nodes) for n in node.outputs}
    types = shapes_of(graph).types
    return list(in_tiles(schedule(graph, makers), graph, types)), graph, types


def test_every_step_runs_after_what_it_reads():
    x, y = tg.vector("x"), tg.vector("y")
    a = tg.exp(x) + 1.0
    total = tg.sum(a)
    b = a * a + y.sum()
    c = b / total
    steps, graph, _ = planned([x, y], [c, tg.sort(b), a * 2.0])
    known = set(range(graph.arity + len(graph.constants)))
    nodes = []
    for step in steps:
        for run in step.steps if isinstance(step, Tiles) else (step,):
            if isinstance(run, Run):
                assert known.issuperset(graph.nodes[run.node].inputs)
                known.update(graph.nodes[run.node].outputs)
                nodes.append(run.node)
    assert sorted(nodes) == list(range(len(graph.nodes)))
    assert any(isinstance(step, Tiles) for step in steps)


def test_places_are_taken_over_and_fit_into_the_cache():
    x = tg.vector("x")
    y = x
    for k in range(30):
        y = tg.exp(y) * float(k + 2)
    (tiles,) = [step for step in planned([x], y)[0] if isinstance(step, Tiles)]
    assert tiles.sizes == {("float64", 1): 2}
    assert tiles.rows == MOST_TILE
    live = [tg.exp(x * float(k + 2)) for k in range(300)]
    total = live[0]
    for one in live[::-1]:
        total = total * one + x
    (tiles,) = [step for step in planned([x], total)[0] if isinstance(step, Tiles)]
    assert sum(count * 8 for count in tiles.sizes.values()) * tiles.rows <= TILE


def test_lengths_that_differ_are_chains_of_their_own():
    x, y = tg.vector("x"), tg.vector("y")
    steps, _, _ = planned([x, y], [tg.exp(x) * x + x, tg.exp(y) * y + y])
    found = [step for step in steps if isinstance(step, Tiles)]
    assert len(found) == 2
    assert not same(found[0].length, found[1].length)


def test_what_reads_an_array_of_a_chain_is_not_put_off():
    """In another order all arrays would be alive at once that are sorted one after the other."""
    x = tg.vector("x")
    found = [tg.sort(tg.sin(x * float(k + 2)))[3] for k in range(20)]
    steps, graph, _ = planned([x], found)
    alive, most = set(), 0
    for step in steps:
        for run in step.steps if isinstance(step, Tiles) else (step,):
            if isinstance(run, Run):
                inside = step.inside if isinstance(step, Tiles) else ()
                alive.update(n for n in graph.nodes[run.node].outputs if graph.types[n].ndim and n not in inside)
                most = max(most, len(alive))
                alive.difference_update(run.dying)
    assert most <= 3
