"""Products with weights that are packed by group: read as they lie where rows are few, unpacked where they are many."""

import numpy as np
import pytest

import tg
from tg import plugin
from tg.ops.groups import DequantizeGroups, MatMulGroups

WIDTH = 96


def packed(name, n=13):
    w = np.random.default_rng(0).normal(size=(n, WIDTH)).astype("float32")
    q = tg.quantize_groups(w, name)
    return q, tg.dequantize_groups(q, name).eval().astype("float64")


def product(backend, name, q, shape):
    x = tg.tensor("x", "float32", shape)
    return tg.function([x], MatMulGroups(name)(x, tg.shared(q, shape=q.shape)), backend=backend)


def rows_of(*shape):
    return np.random.default_rng(1).normal(size=(*shape, WIDTH)).astype("float32")


def check(f, q, x, values):
    np.testing.assert_allclose(f(x), x @ values.T, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["q8_0", "q4_0"])
def test_few_rows_are_multiplied_by_packed_weights(backend, name):
    q, values = packed(name)
    f = product(backend, name, q, (None, WIDTH))
    assert any(isinstance(node.op, MatMulGroups) for node in f.graph.nodes)
    for m in (1, 2, 4, 7, 9):
        check(f, q, rows_of(m), values)
    check(f, q, np.asfortranarray(rows_of(5)), values)
    check(f, q, rows_of(10)[::2], values)
    assert f(rows_of(0)).shape == (0, 13)


@pytest.mark.parametrize(("name", "rows"), [("q8_0", 65), ("q4_1", 1)])
def test_others_are_unpacked(backend, name, rows):
    q, values = packed(name)
    f = product(backend, name, q, (rows, WIDTH))
    assert not any(isinstance(node.op, MatMulGroups | DequantizeGroups) for node in f.graph.nodes)
    check(f, q, rows_of(rows), values)


def test_leading_axes_are_multiplied_each(backend):
    q, values = packed("q4_0")
    f = product(backend, "q4_0", q, (2, None, WIDTH))
    check(f, q, rows_of(2, 3), values)


def test_scales_that_are_no_numbers_stay_what_they_are(backend):
    q, _ = packed("q8_0", 3)
    q[0, 1], q[1, 1] = 0x7E, 0x7C  # NaN, and infinity or NaN, of the first group
    x = rows_of(1)
    y = product(backend, "q8_0", q, (1, WIDTH))(x)
    with np.errstate(all="ignore"):
        expected = x @ tg.dequantize_groups(q, "q8_0").eval().T
    np.testing.assert_array_equal(np.isfinite(y), np.isfinite(expected))
    assert np.isnan(y[0, 0])


def test_threads_share_the_sums(backend):
    if "threads" in plugin.registry().backend(backend).refuses:
        pytest.skip("its loops are written for one thread")
    w = np.random.default_rng(0).normal(size=(3001, 1024)).astype("float32")
    x, q = tg.tensor("x", "float32", (1, 1024)), tg.quantize_groups(w, "q8_0")
    y, ones = MatMulGroups("q8_0")(x, tg.shared(q, shape=q.shape)), np.ones((1, 1024), "float32")
    one, two = (tg.function([x], y, backend=tg.backend(backend, threads=n))(ones) for n in (1, 2))
    np.testing.assert_array_equal(one, two)
