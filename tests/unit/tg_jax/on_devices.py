"""Checks for eight devices, run by `test_mesh.py` in a process of its own: JAX counts devices when it starts.

`python on_devices.py NAME…` prints, for each name, a line of JSON: the name, and the traceback of what failed or null.
"""

from __future__ import annotations

import json
import pickle
import re
import sys
import traceback

import jax
import numpy as np
import pytest

import tg

WIDE, DEEP = tg.Mesh({"data": 4, "model": 2}), tg.Mesh({"data": 2, "model": 4})
LIMITS = {"float32": 1e-6, "float64": 1e-12}
COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")


def draws(*shapes, dtype="float64"):
    rng = np.random.default_rng(7)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def near(actual, expected, dtype):
    for a, e in zip(actual, expected, strict=True):
        error = np.abs(np.asarray(a) - e).max() / max(1.0, np.abs(e).max())
        assert error <= LIMITS[dtype], (a.shape, error)


def specs(arrays):
    return [v.sharding.spec for v in arrays]


def collectives(f, *arrays):
    """How many of each kind of collective the compiled program has."""
    text = jax.jit(f.traceable()).lower(*arrays).compile().as_text()
    counts = {name: len(re.findall(rf" {name}(?:-start)?\(", text)) for name in COLLECTIVES}
    return {name: n for name, n in counts.items() if n}


def perceptron(dtype, x_names=("data", None), up=(None, "model"), down=("model", None)):
    x, v, w = (tg.tensor(n, dtype, s) for n, s in (("x", (8, 16)), ("v", (16, 32)), ("w", (32, 4))))
    y = tg.tanh(tg.shard(x, *x_names) @ tg.shard(v, *up)) @ tg.shard(w, *down)
    loss = tg.mean(y * y)
    return [x, v, w], [loss, *tg.grad(loss, [v, w])]


def by_numpy(x, v, w):
    """The loss and its gradients, with the chain rule by hand."""
    h = np.tanh(x @ v)
    y = h @ w
    dy = 2 * y / y.size
    return np.mean(y * y), x.T @ ((dy @ w.T) * (1 - h * h)), h.T @ dy


def values():
    for dtype in LIMITS:
        inputs, outputs = perceptron(dtype)
        arrays = draws((8, 16), (16, 32), (32, 4), dtype=dtype)
        expected = by_numpy(*(a.astype("float64") for a in arrays))
        for mesh in (WIDE, DEEP):
            backend = tg.backend("jax", mesh=mesh)
            near(tg.function(inputs, outputs, backend=backend)(*arrays), expected, dtype)
            loss, dv, dw = tg.function(inputs, outputs, backend=backend, output="native")(*arrays)
            assert specs([loss, dv, dw]) == [jax.P(), jax.P(None, "model"), jax.P("model")], specs([loss, dv, dw])
            assert len(dv.sharding.device_set) == 8
            assert dv.addressable_shards[0].data.shape == (16, 32 // mesh.parts("model"))


def counts():
    whole = (None, None)
    arrays = draws((8, 16), (16, 32), (32, 4), dtype="float32")
    data = tg.function(*perceptron("float32", up=whole, down=whole), backend=tg.backend("jax", mesh=WIDE))
    assert collectives(data, *arrays) == DATA_PARALLEL, collectives(data, *arrays)
    both = tg.function(*perceptron("float32"), backend=tg.backend("jax", mesh=WIDE))
    assert collectives(both, *arrays) == TENSOR_PARALLEL, collectives(both, *arrays)


def steps():
    x, v, w = draws((8, 16), (16, 32), (32, 4))
    shared_v, shared_w = tg.shared(v, "v"), tg.shared(w, "w")
    batch = tg.matrix("x")
    y = tg.tanh(tg.shard(batch, "data", None) @ tg.shard(shared_v, None, "model")) @ tg.shard(shared_w, "model", None)
    loss = tg.mean(y * y)
    gradients = tg.grad(loss, [shared_v, shared_w])
    updates = {s: s - 0.5 * g for s, g in zip((shared_v, shared_w), gradients, strict=True)}
    step = tg.function([batch], loss, updates=updates, backend=tg.backend("jax", mesh=WIDE))
    for _ in range(4):
        expected, dv, dw = by_numpy(x, v, w)
        near([step(x)], [expected], "float64")
        v, w = v - 0.5 * dv, w - 0.5 * dw
        natives = [s.snapshot.natives["jax"] for s in (shared_v, shared_w)]
        assert [a.addressable_shards[0].data.shape for a in natives] == [(16, 16), (16, 4)]
        near(natives, [v, w], "float64")
    assert step.compiles == 1
    reader = tg.function([], tg.sum(tg.shard(shared_v, None, "model")), backend=tg.backend("jax", mesh=WIDE))
    before = shared_v.snapshot.natives["jax"]
    near([reader()], [v.sum()], "float64")
    assert shared_v.snapshot.natives["jax"] is before
    assert pickle.loads(pickle.dumps(reader))() == reader()


def borders():
    """Constants and shared variables lie split before the first call; arrays that come split stay so."""
    table = np.arange(8192.0).reshape(64, 128)
    x = tg.matrix("x")
    f = tg.function([x], x @ tg.shard(tg.constant(table), None, "model"), backend=tg.backend("jax", mesh=WIDE))
    near([f(np.ones((4, 64)))], [np.ones((4, 64)) @ table], "float64")
    (constant,) = f.programs.main.executable._constants
    assert constant.addressable_shards[0].data.shape == (64, 64)
    jax.config.update("jax_enable_x64", True)
    split = jax.device_put(np.ones((8, 8)), jax.NamedSharding(jax.make_mesh((8,), ("all",), AUTO), jax.P("all")))
    twice = tg.function([x], x * 2, backend="jax", output="native")
    later = twice.copy(backend="jax")
    jitted = tg.jit(lambda x: x * 2, backend="jax", output="native")
    total = tg.shared(np.zeros((8, 8)), "total")
    add = tg.function([x], [], updates={total: total + x}, backend="jax")
    add(split)
    for result in (twice(split), later(split), jitted(split), total.snapshot.natives["jax"]):
        assert result.sharding.is_equivalent_to(split.sharding, 2), result.sharding
    strided = np.ones((16, 16))[::2, ::-2]
    placed = tg.function([x], tg.shard(x, "data", None), backend=tg.backend("jax", mesh=WIDE), output="native")
    assert placed(strided).addressable_shards[0].data.shape == (2, 8)
    assert placed(jax.numpy.ones((8, 8))).addressable_shards[0].data.shape == (2, 8)
    jax.config.update("jax_enable_x64", False)


def loops():
    x = tg.matrix("x")
    last, _ = tg.scan(lambda c, v: (tg.shard(c + v, "data"), None), tg.zeros(8), x)
    f = tg.function([x], tg.vmap(lambda v: tg.shard(v * 2, "model"))(x) + last, backend=tg.backend("jax", mesh=WIDE))
    a = np.arange(24.0).reshape(3, 8)
    near([f(a)], [2 * a + a.sum(0)], "float64")


def refusals():
    backend, x = tg.backend("jax", mesh=WIDE), tg.matrix("x")
    by_rows = tg.function([x], tg.sum(tg.shard(x, "data", None)), backend=backend)
    two = tg.backend("jax", mesh=tg.Mesh({"data": 2}))
    on_two = tg.function([x], tg.shard(x, "data", None) * 1.5, output="native", backend=two)
    many, first = tg.backend("jax", mesh=tg.Mesh({"data": 16})), tg.backend("jax", mesh=WIDE, device="cpu:0")
    assert by_rows(np.ones((8, 3))) == 24
    refused(
        tg.ShapeError,
        lambda: by_rows(np.ones((6, 3))),
        "shard: axis 0: found the length 6, needed a multiple of 4, the devices along 'data'",
    )
    refused(
        tg.OptionError,
        lambda: tg.function([x], tg.sum(x), backend=many),
        "option mesh: found Mesh({'data': 16}), needed one of at most 8 devices: cpu:0, cpu:1, cpu:2",
        "hint: XLA_FLAGS=--xla_force_host_platform_device_count=16, set before JAX starts,",
    )
    refused(
        tg.InputError,
        lambda: by_rows(on_two(np.ones((8, 3)))),
        "found an array on 2 devices of another mesh, needed one on the 8 of Mesh({'data': 4, 'model': 2})",
    )
    refused(
        tg.OptionError, lambda: tg.function([x], x, backend=first), "found 'cpu:0' beside Mesh(", "a kind of device"
    )
    kind = tg.backend("jax", mesh=WIDE, device="cpu")
    assert tg.function([x], tg.sum(tg.shard(x, "data", None)), backend=kind)(np.ones((8, 3))) == 24


def refused(kind, run, *texts):
    with pytest.raises(kind) as caught:
        run()
    for text in texts:
        assert text in str(caught.value), caught.value


def gpt_network():
    """A transformer in tensor parallel: heads, and the columns and rows of the two linear layers."""
    from networks import gpt

    kind = gpt.Kind(tokens=16, positions=8, layers=2, heads=4, width=16)
    weights = gpt.random_weights(kind, "float64")
    p = {name: tg.tensor(name, shape=w.shape) for name, w in weights.items()}
    layout = {"c_attn.weight": (None, "model"), "c_fc.weight": (None, "model"), "mlp.c_proj.weight": ("model", None)}
    split = {n: next((tg.shard(v, *s) for end, s in layout.items() if n.endswith(end)), v) for n, v in p.items()}
    tokens = tg.matrix("tokens", "int64")
    logits = gpt.gpt(tg.shard(tokens, "data", None), split, kind)
    loss = tg.nn.cross_entropy(tg.swapaxes(logits, 1, 2), tokens)
    outputs = [loss, *tg.grad(loss, list(p.values()))]
    arrays = [np.random.default_rng(1).integers(0, 16, (8, 8)), *weights.values()]
    alike([tokens, *p.values()], outputs, arrays)


def staged(stages):
    """The inputs, loss, weights, batch and arrays of a transformer whose layers are shared out among stages."""
    from networks import gpt

    kind = gpt.Kind(tokens=16, positions=8, layers=2, heads=4, width=16)
    weights = gpt.random_weights(kind, "float64")
    p = {name: tg.tensor(name, shape=w.shape) for name, w in weights.items()}
    layout = {"c_attn.weight": (None, "model"), "c_fc.weight": (None, "model"), "mlp.c_proj.weight": ("model", None)}
    split = {n: next((tg.shard(v, *s) for end, s in layout.items() if n.endswith(end)), v) for n, v in p.items()}
    tokens = tg.matrix("tokens", "int64")
    logits = gpt.gpt(tg.shard(tokens, "data", None), split, kind, stages)
    loss = tg.nn.cross_entropy(tg.swapaxes(logits, 1, 2), tokens)
    arrays = [np.random.default_rng(1).integers(0, 16, (8, 8)), *weights.values()]
    return [tokens, *p.values()], loss, [*p.values()], [tokens], arrays


def gpt_pipeline():
    """A transformer in pipeline, data and tensor parallel; two stages read its embedding."""
    inputs, loss, wrt, batch, arrays = staged(2)
    expected = tg.function(inputs, [loss, *tg.grad(loss, wrt)], backend="perform")(*arrays)
    backend = tg.backend("jax", mesh=tg.Mesh({"stage": 2, "data": 2, "model": 2}))
    f = tg.pipeline(inputs, loss, wrt, batch=batch, microbatches=4, backend=backend)
    value, slopes = f(*arrays)
    near([value, *slopes], expected, "float64")


def pipelines():
    """Stages with skips over one, several values handed on, weights of two stages, and lengths as calls give them."""
    x, labels = tg.matrix("x"), tg.vector("labels", "int64")
    ws = [tg.matrix(f"w{k}") for k in range(4)]
    first = tg.tanh(x @ ws[0])
    second = tg.stage(1, tg.sin(first)) @ ws[1]
    third = tg.tanh(tg.stage(2, second) @ ws[2]) + first
    loss = tg.nn.cross_entropy(tg.stage(3, third * tg.mean(second, axis=1, keepdims=True)) @ ws[3] @ ws[0].T, labels)
    oracle = tg.function([x, labels, *ws], [loss, *tg.grad(loss, ws[::-1])], backend="perform")
    weights = draws(*[(5, 5)] * 4)
    for microbatches, rows in ((1, 3), (2, 8), (6, 12)):
        arrays = [draws((rows, 5))[0], np.arange(rows) % 5, *weights]
        for schedule in ("gpipe", "1f1b"):
            f = tg.pipeline(
                [x, labels, *ws],
                loss,
                ws[::-1],
                batch=[x, labels],
                microbatches=microbatches,
                schedule=schedule,
                backend=tg.backend("jax", mesh=tg.Mesh({"stage": 4})),
            )
            value, slopes = f(*arrays)
            near([value, *slopes], oracle(*arrays), "float64")
    value, slopes = f(arrays[0], np.full(rows, 5), *weights)  # a label that is none
    assert np.isnan(value)
    assert np.isnan(slopes[0]).all()


def places():
    """Each stage has its own devices."""
    mesh = tg.Mesh({"model": 2, "stage": 4})
    slices = [mesh.slice("stage", k) for k in range(4)]
    assert [s.numbers for s in slices] == [(0, 4), (1, 5), (2, 6), (3, 7)]
    assert pickle.loads(pickle.dumps(slices[1])) == slices[1] != slices[2]
    x = tg.matrix("x")
    y = tg.function([x], tg.shard(x, "model", None), backend=tg.backend("jax", mesh=slices[1]), output="native")
    assert sorted(d.id for d in y(np.ones((4, 3))).sharding.device_set) == [1, 5]


def resnet_network():
    """A residual network in data parallel, normalized by the whole batch."""
    from networks import resnet

    kind = resnet.Kind((1, 1, 1, 1), is_bottleneck=False)
    weights = {n: a for n, a in resnet.random_weights(kind, 8, "float64").items() if "running" not in n}
    p = {name: tg.tensor(name, shape=w.shape) for name, w in weights.items()}
    images, labels = tg.tensor("images", shape=(8, 3, 16, 16)), tg.tensor("labels", "int64", (8,))
    logits = resnet.resnet(tg.shard(images, "data", None, None, None), p, kind, training=True)
    loss = tg.nn.cross_entropy(tg.shard(logits, "data", None), tg.shard(labels, "data"))
    some = [p["conv1.weight"], p["layer2.0.conv1.weight"], p["fc.weight"]]
    draw = np.random.default_rng(1)
    arrays = [draw.standard_normal((8, 3, 16, 16)), draw.integers(0, 8, 8), *weights.values()]
    alike([images, labels, *p.values()], [loss, *tg.grad(loss, some)], arrays)


def alike(inputs, outputs, arrays):
    expected = tg.function(inputs, outputs, backend="perform")(*arrays)
    for mesh in (WIDE, DEEP):
        near(tg.function(inputs, outputs, backend=tg.backend("jax", mesh=mesh))(*arrays), expected, "float64")


AUTO = (jax.sharding.AxisType.Auto,)
DATA_PARALLEL = {"all-reduce": 1}
TENSOR_PARALLEL = {"all-reduce": 2}


def main(names):
    for name in names:
        failure = None
        try:
            globals()[name]()
        except Exception:  # noqa: BLE001 (it is told)
            failure = traceback.format_exc()
        sys.stdout.write(json.dumps([name, failure]) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
