"""Meshes and what is said of how values lie on them, where there is one device: an identity, and words that help."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import tg
from tg.backend import Placement, placements
from tg.graph.function_graph import FunctionGraph

MESH = tg.Mesh({"data": 2, "model": 4})
X = tg.matrix("x")


def on_mesh(inputs, *outputs, mesh=MESH):
    return FunctionGraph.of(inputs, outputs, mesh=mesh).freeze()


def test_a_mesh_is_a_value():
    assert tg.Mesh({"data": 2, "model": 4}) == MESH != tg.Mesh({"model": 4, "data": 2})
    assert len({MESH, pickle.loads(pickle.dumps(MESH))}) == 1
    assert (MESH.size, MESH.parts("model"), MESH.parts(("data", "model")), MESH.parts(None)) == (8, 4, 8, 1)
    assert eval(repr(MESH), {"Mesh": tg.Mesh}) == MESH


@pytest.mark.parametrize("mode", ["default", "off", "debug"])
def test_without_a_mesh_nothing_is_left_of_it(mode):
    y = tg.shard(tg.exp(tg.shard(X, "data", None)), None, ("data", "model"))
    total, _ = tg.scan(lambda c, v: (tg.shard(c + v, "data"), None), tg.shard(X[0], "data"), X)
    f = tg.function([X], [y, total], mode=mode, backend="perform")
    a = np.arange(6.0).reshape(2, 3)
    for value, expected in zip(f(a), (np.exp(a), a[0] + a.sum(0)), strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-15)
    assert "Shard" not in tg.to_text(f.graph)
    assert "Placement" not in tg.to_text(f.graph)


def test_derivatives_are_those_of_the_identity():
    y = tg.sum(tg.shard(X, "data", None) ** 3)
    dx = tg.grad(y, X)
    a = np.array([[1.0, -2.0]])
    np.testing.assert_array_equal(dx.eval({X: a}), 3 * a**2)
    np.testing.assert_array_equal(tg.jvp(y, X, tg.ones_like(X)).eval({X: a}), (3 * a**2).sum())
    np.testing.assert_array_equal(tg.vmap(lambda v: tg.shard(v, "data") * 2)(X).eval({X: a}), 2 * a)


def test_on_a_mesh_the_gradient_lies_as_its_value_does():
    w = tg.matrix("w", shape=(8, 4))
    dw = tg.grad(tg.sum(tg.tanh(tg.shard(w, None, "model"))), w)
    last = on_mesh([w], dw).nodes[-1].op
    assert last == Placement((None, "model"), (1, 4))


def test_loops_have_placements_inside():
    total, _ = tg.scan(lambda c, v: (tg.shard(c + v, "data"), None), X[0], X)
    (loop,) = (node.op for node in on_mesh([X], total).nodes if node.op.inner_graphs())
    assert any(node.op == Placement(("data",), (2,)) for node in loop.inner_graphs()[0].nodes)


def test_what_lies_at_the_border_is_told():
    table = tg.constant(np.ones((4, 8)))
    y = tg.shard(X, "data", None) @ tg.shard(table, None, "model") + tg.sum(tg.shard(X, None, None))
    graph = on_mesh([X], y)
    assert placements(graph)[0].names == ("data", None)
    assert Placement((None, "model"), (1, 4)) in placements(graph).values()


def test_texts_of_placements_are_read():
    graph = on_mesh([X], tg.shard(X, ("data", "model"), None))
    assert tg.parse(tg.to_text(graph)) == graph


def test_lengths_that_are_not_known_are_checked():
    graph = on_mesh([X], tg.shard(X * 2, "data", "model"))
    assert len(graph.checks) == 2
    known = tg.matrix("known", shape=(8, 4))
    assert not on_mesh([known], tg.shard(known, "data", "model")).checks
    even = tg.concatenate([known, known])[:, :2]
    with pytest.raises(tg.ShapeError, match="axis 1: found the length 2, needed a multiple of 4"):
        on_mesh([known], tg.shard(even, "data", "model"))


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (
            lambda: tg.shard(X, "data"),
            tg.ShapeError,
            r"shard: found 1 names for float64\[\?, \?\], needed",
        ),
        (
            lambda: tg.shard(X, "data", "data"),
            tg.InputError,
            "shard: axis 'data' of the mesh: found twice, needed",
        ),
        (lambda: tg.shard(X, 3, None), tg.InputError, "shard: found 3, needed a name of an axis of the mesh, several"),
        (lambda: tg.shard(X, (), None), tg.InputError, r"shard: found \(\), needed a name"),
        (lambda: tg.Mesh({}), tg.InputError, "Mesh: found {}, needed a number of devices for each name"),
        (lambda: tg.Mesh([2]), tg.InputError, r"Mesh: found \[2\], needed a number of devices for each name"),
        (lambda: tg.Mesh({"data": 0}), tg.InputError, "Mesh: axis 'data': found 0, needed an int of at least 1"),
        (lambda: tg.Mesh({3: 2}), tg.InputError, "Mesh: found the axis 3, needed an identifier"),
        (
            lambda: on_mesh([X], tg.shard(X, "dat", None)),
            tg.InputError,
            r"shard: found 'dat', needed an axis of Mesh",
        ),
        (lambda: tg.backend("perform", mesh=MESH), tg.OptionError, "backend 'perform': unknown option 'mesh'"),
    ],
)
def test_mistakes_are_refused_with_words_that_help(make, kind, text):
    with pytest.raises(kind, match=text) as caught:
        make()
    assert any("test_mesh.py" in note for note in caught.value.__notes__)


def test_who_has_the_option_is_told_to_those_who_have_it_not():
    pytest.importorskip("tg_jax")
    with pytest.raises(tg.OptionError, match=r"(?s)backend 'perform': unknown option 'mesh'.*backends with it +.*jax"):
        tg.backend("perform", mesh=MESH)


def test_a_mesh_larger_than_the_machine_is_refused_with_the_devices_there_are():
    pytest.importorskip("tg_jax")
    mesh = tg.Mesh({"data": 4096})
    with pytest.raises(tg.OptionError, match=r"(?s)found Mesh\(.*needed one of at most \d+ devices: .*:0"):
        tg.function([X], tg.sum(tg.shard(X, "data", None)), backend=tg.backend("jax", mesh=mesh))
    with pytest.raises(tg.OptionError, match=r"option mesh: found 4, needed Mesh \| None"):
        tg.backend("jax", mesh=4)
