"""Programs of one process made programs of several: computed side by side by NumPy, and by two processes of MLX."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tg
from tg.backend import Placement
from tg.graph.function_graph import FunctionGraph
from tg.rewrite.driver import rewrite

pytest.importorskip("mlx.core")
from tg_mlx.spread import Joined, OwnPart, SummedOver, spread

PARTS = 2
MESH = tg.Mesh({"data": PARTS})
OURS = {
    OwnPart: lambda op, parts: [np.split(x, PARTS, op.axis)[k] for k, x in enumerate(parts)],
    Joined: lambda op, parts: [np.concatenate(parts, op.axis)] * PARTS,
    SummedOver: lambda op, parts: [sum(parts)] * PARTS,
}


def of_parts(inputs, *outputs):
    """The program of each process, its expansions inlined."""
    graph = rewrite(FunctionGraph.of(inputs, outputs, mesh=MESH), [], supported=is_whole, mode="off")
    return spread(graph, PARTS)


def is_whole(op, types):
    return isinstance(op, Placement) or type(op).perform is not tg.Op.perform


def side_by_side(graph, arrays):
    """The outputs of all processes, whose nodes are computed in step; values have the declared types."""
    values = [[a] * PARTS for a in (*arrays, *(c.data for c in graph.constants))]
    for node in graph.nodes:
        operands = [values[k] for k in node.inputs]
        rule = OURS.get(type(node.op))
        if rule is not None:
            results = [rule(node.op, operands[0])]
        else:
            results = list(zip(*(node.op.perform(*own) for own in zip(*operands, strict=True)), strict=True))
        for k, result in zip(node.outputs, results, strict=True):
            shape = graph.types[k].shape
            assert all(n in (None, m) for n, m in zip(shape, np.shape(result[0]), strict=True)), (node.op, shape)
        values += [list(r) for r in results]
    return [values[k] for k in graph.outputs]


def kinds(graph):
    return [type(node.op) for node in graph.nodes if type(node.op) in OURS]


def draws(*shapes):
    rng = np.random.default_rng(5)
    return [rng.standard_normal(shape) for shape in shapes]


def perceptron(rows):
    x, v, b, w = (tg.tensor(n, shape=s) for n, s in (("x", (rows, 5)), ("v", (5, 6)), ("b", (6,)), ("w", (6, 3))))
    y = tg.tanh(tg.shard(x, "data", None) @ v + b) @ w
    loss = tg.mean(y * y)
    return [x, v, b, w], [loss, *tg.grad(loss, [v, b, w])]


@pytest.mark.parametrize("rows", [8, None])
def test_data_parallel_sends_sums_alone(rows):
    inputs, outputs = perceptron(rows)
    graph = of_parts(inputs, *outputs)
    x, v, b, w = arrays = draws((8, 5), (5, 6), (6,), (6, 3))
    h = np.tanh(x @ v + b)
    y = h @ w
    dh = (2 * y / y.size) @ w.T * (1 - h * h)
    expected = [np.mean(y * y), x.T @ dh, dh.sum(0), h.T @ (2 * y / y.size)]
    for ours, e in zip(side_by_side(graph, arrays), expected, strict=True):
        for own in ours:
            np.testing.assert_allclose(own, e, rtol=1e-12, atol=1e-14)
    assert kinds(graph).count(SummedOver) == len(expected)
    assert Joined not in kinds(graph)


X = tg.tensor("x", shape=(4, 6))
S, T = tg.shard(X, "data", None), tg.shard(X, None, "data")
ROWS = np.arange(24.0).reshape(4, 6) % 7 - 3


@pytest.mark.parametrize(
    ("y", "expected", "sent"),
    [
        (S.T, ROWS.T, [Joined]),
        (S[None, :, None], ROWS[None, :, None], [Joined]),
        (tg.sum(S, axis=1), ROWS.sum(1), [Joined]),
        (tg.sum(S[:, None], axis=(0, 1)), ROWS.sum(0), [SummedOver]),
        (tg.sum(T, axis=1), ROWS.sum(1), [SummedOver]),
        (tg.max(S, axis=0), ROWS.max(0), [Joined]),
        (S + T, 2 * ROWS, [OwnPart, Joined, OwnPart, Joined]),
        (S + X[:1], ROWS + ROWS[:1], [Joined]),
        (S + X, 2 * ROWS, [Joined]),
        (S * X[0, 0], ROWS * ROWS[0, 0], [Joined]),
        (S.T @ S, ROWS.T @ ROWS, [SummedOver]),
        (S @ X.T, ROWS @ ROWS.T, [Joined]),
        (X.T @ T, ROWS.T @ ROWS, [Joined]),
        (T @ X.T, ROWS @ ROWS.T, [OwnPart, SummedOver]),
        (X.T @ S, ROWS.T @ ROWS, [OwnPart, SummedOver]),
        (S[:, None] @ X[:, :, None], (ROWS * ROWS).sum(1)[:, None, None], [OwnPart, Joined]),
        (tg.shard(S, None, None), ROWS, [Joined]),
        (tg.shard(tg.shard(S * 2, "data", None) * 3, "data", None), 6 * ROWS, [Joined]),
        (tg.sort(S, axis=0), np.sort(ROWS, axis=0), [Joined]),
        (tg.reshape(S, (4, 3, 2)), ROWS.reshape(4, 3, 2), [Joined]),
        (tg.reshape(S, (2, 12)), ROWS.reshape(2, 12), [Joined]),
        (tg.squeeze(S[:, None], 1), ROWS, [Joined]),
    ],
)
def test_values_are_brought_together_where_they_have_to_be(y, expected, sent):
    graph = of_parts([X], y)
    for own in side_by_side(graph, [ROWS])[0]:
        np.testing.assert_allclose(own, expected, rtol=1e-14)
    assert kinds(graph) == [OwnPart, *sent]


def test_images_are_convolved_by_themselves_and_gradients_of_kernels_summed():
    x, w = tg.tensor("x", shape=(4, 2, 5, 5)), tg.tensor("w", shape=(3, 2, 3, 3))
    y = tg.nn.conv2d(tg.shard(x, "data", None, None, None), w)
    graph = of_parts([x, w], tg.grad(tg.sum(y * y), w))
    arrays = draws((4, 2, 5, 5), (3, 2, 3, 3))
    windows = np.lib.stride_tricks.sliding_window_view(arrays[0], (3, 3), axis=(2, 3))
    dy = 2 * np.einsum("nchwij,ocij->nohw", windows, arrays[1])
    for own in side_by_side(graph, arrays)[0]:
        np.testing.assert_allclose(own, np.einsum("nchwij,nohw->ocij", windows, dy), rtol=1e-12)
    assert Joined not in kinds(graph)


def test_a_table_is_looked_up_by_each_for_its_own_places():
    table, places = tg.tensor("table", shape=(5, 3)), tg.tensor("places", "int64", (4,))
    graph = of_parts([table, places], tg.sum(tg.nn.embedding(tg.shard(places, "data"), table), axis=0))
    a, k = np.arange(15.0).reshape(5, 3), np.array([4, 0, 2, 2])
    for own in side_by_side(graph, [a, k])[0]:
        np.testing.assert_array_equal(own, a[k].sum(0))


@pytest.mark.parametrize("axes", [{"data": 3}, {"data": 1, "model": 1}])
def test_a_mesh_of_other_processes_than_there_are_is_refused(axes):
    x = tg.matrix("x")
    mesh = tg.Mesh(axes)
    with pytest.raises(tg.OptionError) as caught:
        tg.function([x], tg.sum(tg.shard(x, "data", None)), backend=tg.backend("mlx", mesh=mesh))
    assert f"found {mesh}, needed one axis of 1, the processes that there are" in str(caught.value)
    assert ("hint: mlx.launch -n 3 starts a script in 3 processes" in str(caught.value)) == (mesh.size == 3)


def test_one_process_is_a_mesh_that_nothing_is_compiled_for():
    with pytest.raises(tg.OptionError, match=r"option compile: found True beside Mesh\(.*needed False"):
        tg.function([X], S, backend=tg.backend("mlx", mesh=tg.Mesh({"data": 1}), compile=True))
    alone = tg.function([X], S.T @ S, backend=tg.backend("mlx", mesh=tg.Mesh({"data": 1})))
    np.testing.assert_allclose(alone(ROWS), ROWS.T @ ROWS)


PROCESSES = """
import numpy as np
import tg

x, labels = tg.matrix("x"), tg.vector("labels", dtype="int64")
rng = np.random.default_rng(0)
start = [rng.normal(size=s) for s in ((5, 6), (6,), (6, 3))]
a, k = rng.normal(size=(8, 5)), rng.integers(0, 3, 8)

def trained(backend):
    v, b, w = map(tg.shared, start)
    h = tg.relu(tg.shard(x, "data", None) @ v + b)
    loss = tg.nn.cross_entropy(h @ w, tg.shard(labels, "data"))
    updates = tg.optimize.adam(loss, {"v": v, "b": b, "w": w})
    step = tg.function([x, labels], [loss, tg.softmax(h), tg.cumsum(h, axis=0)], updates=updates, backend=backend)
    results = [step(a, k) for _ in range(5)]
    if backend != "perform":
        try:
            step(a[:7], k[:7])
        except tg.ShapeError as error:
            assert "found the length 7, needed a multiple of 2" in str(error)
    return [*results[-1], *(s.get_value() for s in (v, b, w))]

ours, one = trained(tg.backend("mlx", mesh=tg.Mesh({"data": 2}))), trained("perform")
print("error", max(float(np.abs(p - q).max()) for p, q in zip(ours, one)), flush=True)
"""


@pytest.mark.long
def test_two_processes_train_as_one_does(tmp_path):
    launch = shutil.which("mlx.launch") or str(Path(sys.executable).with_name("mlx.launch"))
    script = tmp_path / "train.py"
    script.write_text(PROCESSES)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = [launch, "--backend", "ring", "-n", "2", "-p", port, "--python", sys.executable, str(script)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    errors = [float(line.split()[-1]) for line in done.stdout.splitlines() if "error" in line]
    assert len(errors) == 2, done
    assert max(errors) < 1e-12
