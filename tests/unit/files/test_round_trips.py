"""What `tg.save` writes `tg.load` reads: types, names, structures, options, arrays, state, on every backend."""

import json
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import safetensors
import safetensors.numpy

import tg
from tg.files.archive import Archive
from tg.types.dtypes import DTYPES, numpy_dtype


@pytest.fixture
def again(tmp_path):
    """A function as it comes back from a file."""

    def loaded(f, backend="perform", *, example=None, model=None, **options):
        tg.save(f, tmp_path / "f.tg", example=example, model=model)
        return tg.load(tmp_path / "f.tg", backend, **options)

    return loaded


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_of_every_dtype_keep_their_bits(again, dtype):
    values = np.arange(-3, 4).astype(numpy_dtype(dtype)) * (1j if dtype.startswith("complex") else 1)
    values = values.astype(numpy_dtype(dtype))
    x, w = tg.vector("x", dtype), tg.shared(values, "w")
    f = again(tg.function([x], [tg.where(tg.equal(x, x), w[0], x), w], backend="perform"))
    np.testing.assert_array_equal(f.shared["w"].get_value().view(np.uint8), values.view(np.uint8))
    assert f.shared["w"].type.dtype == dtype
    np.testing.assert_array_equal(f(values)[1], values)


def test_names_types_and_structures_come_back(again):
    n = tg.dim("n")
    x, y = tg.matrix("x", shape=(n, 2 * n + 1)), tg.vector("y", shape=(n // 2,))
    outputs = OrderedDict(b=[tg.sum(x), None], a=(y, {3: y + 1}))
    f = tg.function([[x], {"y": y}], outputs, name="parts", backend="perform")
    g = again(f, example=[[np.ones((4, 9))], {"y": [1.0, 2.0]}])
    assert g.name == "parts"
    assert str(g.request.inputs[0].lengths) == "(n, 2*n + 1)"
    assert str(g.request.inputs[1].lengths) == "((n // 2),)"
    result = g([np.ones((2, 5))], {"y": [5.0]})
    assert type(result) is OrderedDict
    assert list(result) == ["b", "a"]
    assert result["b"] == [10.0, None]
    assert type(result["a"]) is tuple
    assert result["a"][1][3].tolist() == [6.0]
    with pytest.raises(tg.ShapeError, match=r"dim 2\*n \+ 1"):
        g([np.ones((2, 6))], {"y": [5.0]})


class Pair(NamedTuple):
    """Two values."""

    first: object
    second: object


def test_records_come_back_as_tuples_and_dicts(again):
    x = tg.scalar("x")
    result = again(tg.function([x], Pair(x, x + 1), backend="perform"))(1.0)
    assert type(result) is tuple
    assert result == (1.0, 2.0)


def test_options_and_defaults_come_back(again):
    x, y = tg.vector("x"), tg.scalar("y")
    options = {"mode": "strict", "exclude": "nan_unsafe", "nan_guard": True, "checkpointing": "sqrt", "donate": [x]}
    f = tg.function([x, y], x * y, defaults={y: 3.0}, backend="perform", **options)
    g = again(f)
    assert g.request.options == f.request.options
    assert g.request.donated == f.request.donated
    assert g([1.0, 2.0]).tolist() == [3.0, 6.0]


def test_the_dtype_of_a_backend_comes_back_with_the_exact_weights(again):
    x, w = tg.vector("x"), tg.shared([1 / 3], "w")
    f = tg.function([x], x * w, backend=tg.backend("perform", dtype="float32"))
    g = again(f, "c")
    assert g.programs.choice.general.dtype == "float32"
    assert g(np.ones(1, "float32")).dtype == np.float32
    assert g.shared["w"].get_value()[0] == 1 / 3
    assert again(f, "c", dtype="float64")([1.0]).dtype == np.float64


def test_snapshots_stay_snapshots(again):
    x, w = tg.vector("x"), tg.shared(np.arange(3.0), "w")
    f = tg.function([x], tg.sum(x * w), backend="perform").inference()
    w.set_value(np.zeros(3))
    g = again(f, "c")
    assert g([1.0, 1.0, 1.0]) == 3.0
    with pytest.raises(tg.InputError, match="needed a variable that is no snapshot"):
        g.shared["w"].set_value([1.0])


def test_functions_of_one_file_have_their_variables_in_common(again):
    x, w = tg.scalar("x"), tg.shared(1.0, "w")
    step = tg.function([x], w * x, updates={w: w + x}, backend="perform")
    value = tg.function([], w, backend="perform")
    g = again({"step": step, "value": value}, example={"step": [2.0]})
    assert list(g) == ["step", "value"]
    g["step"](3.0)
    assert g["value"]() == 4.0
    assert w.get_value() == 1.0


def test_a_function_that_was_unpickled_can_be_saved(again):
    import pickle

    x, w = tg.vector("x"), tg.shared([2.0], "w")
    f = pickle.loads(pickle.dumps(tg.function([x], x * w, backend="perform")))
    assert again(f)([3.0]).tolist() == [6.0]
    assert again(again(f))([3.0]).tolist() == [6.0]


def test_loops_and_draws_come_back(again):
    x, stream = tg.vector("x"), tg.random.RandomStream(7)
    total = tg.scan(lambda s, v: (s * 0.5 + v, s), tg.constant(0.0), x)[0]
    f = tg.function([x], [total, tg.random.normal(stream.key(), shape=(3,))], backend="perform")
    g = again(f, "c")
    for _ in range(2):
        for a, b in zip(g([1.0, 2.0, 3.0]), f([1.0, 2.0, 3.0]), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-14)


@pytest.mark.parametrize("backend", ["c", "numba", "jax", "torch", "mlx", "perform"])
def test_a_file_of_c_loads_on_every_backend(again, backend):
    x, w = tg.matrix("x"), tg.shared(np.linspace(-1, 1, 12).reshape(4, 3), "w")
    loss = tg.sum(tg.exp(-((x @ w) ** 2)))
    f = tg.function([x], [loss, tg.grad(loss, x)], backend="c")
    value = np.linspace(0, 1, 8).reshape(2, 4)
    for a, b in zip(again(f, backend)(value), f(value), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10 if backend != "mlx" else 1e-4)


def step_of_training(backend):
    """A step that has everything: batch norm, dropout, a schedule, an optimizer that keeps moments."""
    body = tg.nn.Sequential(tg.nn.Dense(3, 8), tg.nn.BatchNorm(8), tg.relu, tg.nn.Dropout(0.2), tg.nn.Dense(8, 2))
    model = tg.nn.randomized(body, tg.random.key(0))
    x, labels = tg.matrix("x", "float32"), tg.vector("labels", "int64")
    loss = tg.nn.cross_entropy(model(x, training=True, key=tg.random.RandomStream(1).key()), labels)
    rate = tg.optimize.cosine_decay_schedule(0.05, decay_steps=20)
    updates = tg.optimize.adamw(loss, tg.nn.params(model), learning_rate=rate)
    return tg.function([x, labels], loss, updates=updates, backend=backend), model


@pytest.mark.parametrize("backend", ["perform", "c", "numba"])
def test_training_goes_on_bit_for_bit(tmp_path, backend):
    rng = np.random.default_rng(0)
    batches = [(rng.normal(size=(16, 3)).astype("float32"), rng.integers(0, 2, 16)) for _ in range(6)]
    whole, _ = step_of_training(backend)
    losses = [whole(*batch) for batch in batches]
    first, model = step_of_training(backend)
    assert [first(*batch) for batch in batches[:3]] == losses[:3]
    tg.save(first, tmp_path / "step.tg", model=model)
    second = tg.load(tmp_path / "step.tg", backend)
    assert [second(*batch) for batch in batches[3:]] == losses[3:]
    values = [[s.get_value().tobytes() for s in f.request.targets] for f in (whole, second)]
    assert values[0] == values[1]


def test_paths_of_a_model_are_the_names_of_its_weights(tmp_path):
    step, model = step_of_training("perform")
    tg.save(step, tmp_path / "step.tg", model=model)
    loaded = tg.load(tmp_path / "step.tg", "perform")
    paths = {**tg.nn.params(model), **tg.nn.state(model)}
    assert paths.keys() <= loaded.shared.keys()
    values = {name: loaded.shared[name] for name in paths}
    other = tg.nn.Sequential(tg.nn.Dense(3, 8), tg.nn.BatchNorm(8), tg.relu, tg.nn.Dropout(0.2), tg.nn.Dense(8, 2))
    new = tg.nn.load(other, values)
    for name, weight in tg.nn.params(new).items():
        np.testing.assert_array_equal(weight.get_value(), paths[name].get_value())


def test_arrays_lie_at_64_bytes_and_are_mapped(tmp_path):
    w, x = tg.shared(np.arange(20_001.0), "w"), tg.scalar("x")
    large = np.arange(10_001.0)
    f = tg.function([x], tg.sum(w) * x + tg.sum(tg.constant(large) * x), backend="perform")
    tg.save(f, tmp_path / "f.tg")
    for member in Archive(tmp_path / "f.tg").members.values():
        assert member.offset % 64 == 0
    g = tg.load(tmp_path / "f.tg", "perform")
    array = g.request.sources[0].snapshot.numpy
    assert not array.flags.owndata
    assert not array.flags.writeable
    assert array.ctypes.data % 64 == 0
    assert array.__array_interface__["data"][0] == g.request.sources[0].snapshot.numpy.__array_interface__["data"][0]
    g.shared["w"].set_value(np.zeros(20_001))
    assert tg.load(tmp_path / "f.tg", "perform")(1.0) == f(1.0)


def test_updates_leave_the_file_as_it_is(tmp_path):
    w = tg.shared(np.zeros(1 << 16), "w")
    tg.save(tg.function([], tg.sum(w), updates={w: w + 1}, backend="c"), tmp_path / "f.tg")
    content = (tmp_path / "f.tg").read_bytes()
    g = tg.load(tmp_path / "f.tg", "c")
    assert [float(g()) for _ in range(3)] == [0.0, 65536.0, 131072.0]
    assert (tmp_path / "f.tg").read_bytes() == content


def test_other_programs_read_the_file(tmp_path):
    w, x = tg.shared(np.arange(3.0), "w"), tg.vector("x")
    z = tg.shared(np.array([1 + 2j]), "z")
    tg.save(tg.function([x], [x * w, z], backend="perform"), tmp_path / "f.tg")
    with zipfile.ZipFile(tmp_path / "f.tg") as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["manifest.json", "functions/0.tg", "golden.safetensors", "weights.safetensors"]
        arrays = safetensors.numpy.load(archive.read("weights.safetensors"))
        manifest = json.loads(archive.read("manifest.json"))
        graph = tg.parse(archive.read("functions/0.tg").decode())
    assert arrays["w"].tolist() == [0.0, 1.0, 2.0]
    assert arrays["z"].tolist() == [[1.0, 2.0]]
    assert manifest["version"] == 1
    assert graph.arity == 3


def test_the_same_function_makes_the_same_file(tmp_path):
    for name in "ab":
        x = tg.vector("x")
        tg.save(tg.function([x], tg.exp(x), backend="perform"), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


TYPES = {"weight": "float64[3]", "momentum": "float64[?]", "random_state": "uint32[2]"}


def test_a_file_of_version_1_is_read_on():
    f = tg.load(Path(__file__).parent / "version1.tg", "perform")
    assert [type(v) for v in f.inputs] == [dict, tg.Variable]
    assert {name: str(s.type) for name, s in f.shared.items()} == TYPES
    first = f({"x": np.ones((2, 3)), "y": [0.5, 0.5]})
    assert list(first) == ["loss", "noise"]
    assert first["loss"] == 0.25
    assert f({"x": np.ones((2, 3)), "y": [0.5, 0.5]}, 0.0)["loss"] < 0.25
