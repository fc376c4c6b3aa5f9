"""The weights of modules: paths, draws, sharing, replacing, files."""

from __future__ import annotations

import dataclasses
import pickle
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest

import tg
from tg.errors import DtypeError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KEY = tg.random.key(7)


class Branches(tg.nn.Module):
    """Weights in lists, dicts and modules."""

    def __init__(self) -> None:
        self.stem = tg.nn.Dense(3, 4)
        self.heads = {"mean": tg.nn.Dense(4, 1), "spread": tg.nn.Dense(4, 1, bias=False)}
        self.blocks = [tg.nn.Residual(tg.nn.Dense(4, 4)) for _ in range(2)]
        self.norm = tg.nn.BatchNorm(4)
        self.scale = tg.nn.parameter((), tg.nn.init.ones)
        self.steps = 3

    def __call__(self, x: Any, *, training: bool) -> Any:
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        x = self.norm(x, training=training)
        return {name: head(x) * self.scale for name, head in self.heads.items()}


class Tied(tg.nn.Module):
    """A weight in two places."""

    def __init__(self) -> None:
        self.embedding = tg.nn.Embedding(5, 3)
        self.head = tg.nn.replaced(tg.nn.Dense(3, 5, bias=False), {})

    def __call__(self, tokens: Any) -> Any:
        return self.head(self.embedding(tokens))


class Pair(tg.nn.Module):
    """A module without an `__init__` is a dataclass."""

    first: tg.nn.Dense
    second: tg.nn.Dense
    slope: float = 0.5

    def __call__(self, x: Any) -> Any:
        return self.slope * self.second(self.first(x))


def refused(make: Callable[[], Any], text: str, error: type[Exception] = InputError) -> None:
    with pytest.raises(error) as found:
        make()
    assert text in str(found.value)


def test_paths_go_through_lists_and_dicts() -> None:
    model = tg.nn.randomized(Branches(), KEY)
    assert list(tg.nn.params(model)) == [
        "stem.weight",
        "stem.bias",
        "heads.mean.weight",
        "heads.mean.bias",
        "heads.spread.weight",
        "blocks.0.body.weight",
        "blocks.0.body.bias",
        "blocks.1.body.weight",
        "blocks.1.body.bias",
        "norm.weight",
        "norm.bias",
        "scale",
    ]
    assert list(tg.nn.state(model)) == ["norm.running_mean", "norm.running_var"]
    assert tg.nn.count(model) == tg.nn.count(Branches()) == 16 + 5 + 4 + 40 + 8 + 1
    assert model.stem.weight.name == "stem.weight"
    assert model.steps == 3


def test_draws_hang_on_paths_and_keys_alone() -> None:
    model, again = tg.nn.randomized(Branches(), KEY), tg.nn.randomized(Branches(), KEY)
    other = tg.nn.randomized(Branches(), tg.random.key(8))
    for path, w in tg.nn.params(model).items():
        np.testing.assert_array_equal(w.get_value(), tg.nn.params(again)[path].get_value())
        if "bias" not in path and path.startswith(("stem", "heads", "blocks")):
            assert not np.array_equal(w.get_value(), tg.nn.params(other)[path].get_value())
    one, two = (tg.nn.params(model)[f"blocks.{k}.body.weight"].get_value() for k in (0, 1))
    assert not np.array_equal(one, two)
    wide = tg.nn.randomized(Branches(), KEY, "float64")
    assert {w.type.dtype for w in tg.nn.params(wide).values()} == {"float64"}


def test_a_model_is_drawn_once_and_what_has_values_stays() -> None:
    refused(lambda: tg.nn.randomized(tg.nn.randomized(Branches(), KEY), KEY), "found no weight without a value")
    pretrained = tg.nn.randomized(tg.nn.Dense(3, 4), KEY)
    model = tg.nn.randomized(tg.nn.Sequential(pretrained, tg.nn.Dense(4, 2)), KEY)
    assert model[0].weight is pretrained.weight
    assert isinstance(model[1].weight, tg.Shared)


def test_modules_without_init_are_dataclasses_and_all_are_frozen() -> None:
    pair = Pair(tg.nn.Dense(2, 3), second=tg.nn.Dense(3, 1))
    assert pair.slope == 0.5
    assert list(tg.nn.params(tg.nn.randomized(pair, KEY)))[2:] == ["second.weight", "second.bias"]
    for change in (lambda: setattr(pair, "slope", 1.0), lambda: delattr(pair, "slope")):
        with pytest.raises(dataclasses.FrozenInstanceError, match="Pair is frozen: slope stays"):
            change()


def test_a_weight_in_two_places_is_one() -> None:
    embedding = tg.nn.Embedding(5, 3)
    net = tg.nn.replaced(tg.nn.Sequential(embedding, tg.nn.Dense(3, 5, bias=False)), {"1": tg.nn.Embedding(5, 3)})
    assert type(net[1]) is tg.nn.Embedding
    twice = tg.nn.randomized(tg.nn.Sequential(embedding, embedding), KEY)
    assert twice[0].weight is twice[1].weight
    assert list(tg.nn.params(twice)) == ["0.weight"]
    assert tg.nn.count(twice) == 15
    model = tg.nn.randomized(Tied(), KEY)
    tied = tg.nn.replaced(model, {"head.weight": tg.nn.params(model)["embedding.weight"]})
    assert list(tg.nn.params(tied)) == ["embedding.weight"]
    tokens = tg.vector("tokens", "int64")
    table = model.embedding.weight.get_value()
    np.testing.assert_allclose(tied(tokens).eval({tokens: [1, 4]}), table[[1, 4]] @ table.T, rtol=1e-6)
    assert "head.weight" in tg.nn.params(model)  # the first model is as it was


def test_a_model_is_a_function_of_what_takes_the_place_of_its_weights() -> None:
    net, x = tg.nn.Dense(3, 2), tg.matrix("x", "float32")
    w, b = tg.matrix("w", "float32", shape=(2, 3)), tg.vector("b", "float32")
    f = tg.function([x, w, b], tg.nn.replaced(net, {"weight": w, "bias": b})(x))
    given = np.ones((1, 3), "float32"), np.full((2, 3), 2.0, "float32"), np.array([0.0, 1.0], "float32")
    np.testing.assert_array_equal(f(*given), [[6.0, 7.0]])
    refused(lambda: tg.nn.replaced(net, {"weigth": w}), "the model has no weigth\n  hint: weight exists")
    refused(lambda: tg.nn.replaced(net, {"weight": np.ones((3, 2))}), "needed the shape [2, 3]")
    refused(lambda: tg.nn.params(net), "weight: found float[2, 3], needed a shared variable")
    refused(lambda: tg.nn.params(3), "params: found 3, needed a module")


def test_training_moves_what_the_optimizer_is_given() -> None:
    model = tg.nn.randomized(Branches(), KEY, "float64")
    x = tg.matrix("x")
    y = model(x, training=True)
    loss = tg.mean((y["mean"] - 1) ** 2) + tg.mean(y["spread"] ** 2)
    heads = {path: w for path, w in tg.nn.params(model).items() if path.startswith("heads.")}
    before = {path: w.get_value() for path, w in tg.nn.params(model).items()}
    step = tg.function([x], loss, updates=tg.optimize.adam(loss, heads, learning_rate=0.1))
    given = np.random.default_rng(0).normal(size=(8, 3))
    losses = [float(step(given)) for _ in range(20)]
    assert losses[-1] < 0.5 * losses[0]
    for path, w in tg.nn.params(model).items():
        assert np.array_equal(w.get_value(), before[path]) == (path not in heads), path


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_files_give_values_bit_for_bit(tmp_path: Path, dtype: str) -> None:
    model = tg.nn.randomized(Branches(), KEY, dtype)
    file = tmp_path / "model.safetensors"
    tg.nn.save(model, file, {"about": "a test"})
    again = tg.nn.load(Branches(), file)
    for path, w in {**tg.nn.params(model), **tg.nn.state(model)}.items():
        other = {**tg.nn.params(again), **tg.nn.state(again)}[path]
        assert other.type == w.type
        assert other.get_value().tobytes() == w.get_value().tobytes()
    assert [p.name for p in tmp_path.iterdir()] == ["model.safetensors"]
    (tmp_path / "other").touch()
    assert file.stat().st_mode == (tmp_path / "other").stat().st_mode
    theirs = pytest.importorskip("safetensors.torch").load_file(file)  # another reader finds the same
    found = theirs["stem.weight"].double().numpy()
    np.testing.assert_array_equal(found, tg.nn.params(model)["stem.weight"].get_value().astype("float64"))


def test_loading_into_values_reaches_compiled_functions(tmp_path: Path) -> None:
    net, x = tg.nn.Dense(3, 2), tg.matrix("x", "float32")
    model, other = tg.nn.randomized(net, KEY), tg.nn.randomized(net, tg.random.key(8))
    f, given = tg.function([x], model(x)), np.ones((1, 3), "float32")
    tg.nn.save(other, tmp_path / "other.safetensors")
    assert tg.nn.load(model, tmp_path / "other.safetensors") is model
    np.testing.assert_array_equal(f(given), other(x).eval({x: given}))


def test_names_of_another_library_and_what_does_not_fit(tmp_path: Path) -> None:
    arrays = {
        "net.0.w": np.arange(6.0).reshape(3, 2),
        "net.0.b": np.ones(2),
        "extra": np.zeros(1),
        "x.num_batches_tracked": np.int64(3),
    }
    names = [(r"net\.0\.w", "weight", np.transpose), (r"net\.0\.b", "bias"), ("extra", None)]
    model = tg.nn.load(tg.nn.Dense(3, 2), arrays, names, dtype="float32")
    np.testing.assert_array_equal(model.weight.get_value(), np.arange(6.0, dtype="float32").reshape(3, 2).T)
    refused(lambda: tg.nn.load(tg.nn.Dense(3, 2), arrays, names[:2]), "load: the model has no extra\n  the model has")
    refused(
        lambda: tg.nn.load(tg.nn.Dense(3, 2), arrays, [("net.0.w", "weight"), *names[1:]]), "needed the shape [2, 3]"
    )
    wide = tg.nn.randomized(tg.nn.Dense(3, 2), KEY)
    before = wide.bias.get_value()
    refused(lambda: tg.nn.load(wide, arrays, names), "found float64, needed float32", DtypeError)
    refused(lambda: tg.nn.load(wide, {"bias": np.zeros(2, "float32")}), "the source lacks weight")
    np.testing.assert_array_equal(wide.bias.get_value(), before)
    tg.nn.load(wide, {"bias": np.zeros(2, "float32")}, partial=True)
    np.testing.assert_array_equal(wide.bias.get_value(), 0)
    refused(lambda: tg.nn.load(wide, tmp_path / "no.safetensors"), "No such file")
    (tmp_path / "bad.safetensors").write_bytes(b"12345678 no header")
    refused(lambda: tg.nn.load(wide, tmp_path / "bad.safetensors"), "found no file of safetensors")
    refused(lambda: tg.nn.load(wide, 3), "needed a path or arrays by name")
    refused(lambda: tg.nn.save(tg.nn.Dense(3, 2), tmp_path / "x"), "needed a shared variable")
    halves = {"weight": np.ones((2, 3), ml_dtypes.bfloat16), "bias": np.ones(2, ml_dtypes.bfloat16)}
    assert tg.nn.load(tg.nn.Dense(3, 2), halves).weight.type.dtype == "bfloat16"


def test_tables_of_names() -> None:
    """What a newcomer tried: batch norms under other names, dicts for tables, two names for one path."""
    theirs = {"features.0.weight": np.ones(4, "float32"), "features.0.bias": np.zeros(4, "float32")}
    theirs |= {"features.0.running_mean": np.zeros(4, "float32"), "features.0.running_var": np.ones(4, "float32")}
    net = tg.nn.Sequential(tg.nn.BatchNorm(4))
    table = [(r"features\.(.*)", r"\1")]
    model = tg.nn.load(net, theirs | {"features.0.num_batches_tracked": np.int64(7)}, table)
    assert list(tg.nn.state(model)) == ["0.running_mean", "0.running_var"]
    refused(lambda: tg.nn.load(net, theirs), "load: the model has no features.0.weight, features.0.bias")
    refused(lambda: tg.nn.load(net, theirs, {"features": "body"}), "names: found {'features': 'body'}, needed (pattern")  # type: ignore[arg-type]
    refused(lambda: tg.nn.load(net, theirs, table[0]), "names: found 'features")  # type: ignore[arg-type]
    refused(
        lambda: tg.nn.load(tg.nn.Dense(1, 1), {"a": [[1.0]], "b": [[2.0]]}, [("a|b", "weight")]), "found a and b for"
    )
    layer = tg.nn.Dense(2, 2, bias=False)
    twice = tg.nn.Sequential(layer, layer)
    same = {"0.weight": np.eye(2), "1.weight": np.eye(2)}
    np.testing.assert_array_equal(tg.nn.load(twice, same)[1].weight.get_value(), np.eye(2))
    refused(lambda: tg.nn.load(twice, same | {"1.weight": np.ones((2, 2))}), "than in another place of this weight")
    refused(lambda: tg.nn.load(net, {"0": theirs}), "load: the model has no 0.features.0.weight")
    refused(lambda: tg.nn.load(net, pytest.importorskip("torch").nn.Linear(1, 1)), "model.state_dict()")


def test_arrays_in_place_of_weights_are_their_values_and_constants_stay(tmp_path: Path) -> None:
    model = tg.nn.randomized(tg.nn.Dense(3, 2), KEY)
    other = tg.nn.replaced(model, {"bias": np.zeros(2)})
    assert isinstance(other.bias, tg.Shared)
    assert other.bias.type.dtype == "float32"
    assert list(tg.nn.params(other)) == ["weight", "bias"]
    fixed = tg.nn.replaced(model, {"bias": tg.constant(np.zeros(2, "float32"))})
    assert list(tg.nn.params(fixed)) == ["weight"]
    tg.nn.save(fixed, tmp_path / "fixed.safetensors")
    of_input = tg.nn.replaced(model, {"bias": tg.vector("b", "float32")})
    refused(lambda: tg.nn.params(of_input), "the model is a function of this variable")


def test_what_modules_of_other_libraries_have() -> None:
    model = tg.nn.Dense(3, 2)
    for name, hint in [("train", "(x, training=False)"), ("parameters", "tg.nn.params(model)")]:
        with pytest.raises(AttributeError) as found:
            getattr(model, name)
        assert hint in str(found.value)
    with pytest.raises(AttributeError, match="object has no attribute 'haed'"):
        _ = model.haed  # type: ignore[attr-defined]
    refused(lambda: type("Net", (tg.nn.Module,), {"forward": lambda self, x: x}), "Net: found forward, needed __call__")


def test_what_draws_a_weight_is_a_function() -> None:
    for draw in (np.zeros(3), 0.0, "zeros", None, tg.nn.Dense, tg.nn.init.ones(KEY, (3,))):
        refused(lambda draw=draw: tg.nn.parameter((3,), draw), "needed a function\n  hint: tg.nn.init.zeros is one")
    for shape in ("abc", 2.0, (3, None), (-1,), tg.nn.init.zeros):
        refused(lambda shape=shape: tg.nn.parameter(shape, tg.nn.init.ones), "needed lengths, such as (3, 2)")
    assert tg.nn.parameter(3, tg.nn.init.ones).shape == (3,)

    class Scale(tg.nn.Module):
        def __init__(self, draw: Any) -> None:
            self.weight = tg.nn.parameter((2,), draw)

    drawn = tg.nn.randomized(Scale(lambda key, shape, dtype: tg.constant([1.0, 3.0], dtype)), KEY)
    assert drawn.weight.get_value().tolist() == [1.0, 3.0]
    refused(lambda: tg.nn.randomized(Scale(lambda *_: 0.0), KEY), "weight: found a draw float64[], needed float32[2]")
    refused(lambda: tg.nn.randomized(Scale(lambda *_: np.ones(2)), KEY), "a draw float64[2], needed float32[2]")


def test_keys_that_are_none_and_models_that_are_no_arrays() -> None:
    model, x = tg.nn.randomized(tg.nn.Sequential(*[tg.nn.Dense(8, 8) for _ in range(9)]), KEY), tg.matrix("x")
    for key, hint in (
        (tg.random.RandomStream(0), "rng.key() gives a key"),
        (np.random.default_rng(0), "tg.random.key(seed) makes a key"),
    ):
        refused(lambda key=key: tg.nn.randomized(tg.nn.Dense(2, 2), key), f"needed uint32[2]\n  hint: {hint}")
        refused(lambda key=key: tg.random.normal(key, shape=(3,)), f"needed uint32[2]\n  hint: {hint}")
    random = pytest.importorskip("jax").random
    refused(lambda: tg.random.split(random.key(0)), "jax.random.key_data(key) has its words", DtypeError)
    drawn = tg.random.normal(random.key_data(random.key(7)), shape=(3,)).eval()
    np.testing.assert_array_equal(drawn, tg.random.normal(KEY, shape=(3,)).eval())
    for make in (lambda: tg.matmul(model, x), lambda: tg.function([x], model), lambda: tg.shared(model)):
        refused(make, "hint: tg.nn.params(model) has its weights by path")
        with pytest.raises(InputError) as found:
            make()
        assert len(str(found.value)) < 300


def test_weights_that_would_be_lost_are_refused(tmp_path: Path) -> None:
    twins = {"a.b": tg.nn.randomized(tg.nn.Dense(2, 1), KEY), "a": {"b": tg.nn.randomized(tg.nn.Dense(2, 1), KEY)}}
    refused(lambda: tg.nn.params(twins), "two weights of one path")
    refused(lambda: tg.nn.save(twins, tmp_path / "twins"), "two weights of one path")
    for source in ({"weight": np.ones((1, 2), "int64")}, {"weight": np.ones((1, 2), "complex128")}):
        refused(lambda source=source: tg.nn.load(tg.nn.Dense(2, 1, bias=False), source), "needed real", DtypeError)
    whole = {"weight": np.full((1, 2), 0.5)}
    refused(lambda: tg.nn.load(tg.nn.Dense(2, 1, bias=False), whole, dtype="int32"), "found int32", DtypeError)
    refused(lambda: tg.nn.randomized(tg.nn.Dense(2, 1), KEY, "int32"), "needed a real floating one", DtypeError)
    refused(lambda: tg.nn.save(5, tmp_path / "five"), "save: found 5, needed a module")
    refused(lambda: tg.nn.load(5, {}), "load: found 5, needed a module")
    layer = tg.nn.Dense(2, 2)
    refused(
        lambda: tg.nn.replaced(tg.nn.Sequential(layer, layer), {"1.weight": np.eye(2)}), "is the weight of 0.weight"
    )
    assert tg.nn.count({"w": tg.shared(np.ones(3))}) == 3

    class Hidden(tg.nn.Module):
        def __init__(self) -> None:
            self._w = tg.nn.parameter((2,), tg.nn.init.ones)

    refused(Hidden, "Hidden._w: found a parameter under a private name")


def test_models_can_be_pickled() -> None:
    model = tg.nn.randomized(Branches(), KEY)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.stem.weight.get_value(), model.stem.weight.get_value())
    with pytest.raises(dataclasses.FrozenInstanceError):
        again.steps = 4


def test_a_summary_has_a_call_of_the_base_class_once() -> None:
    class Base(tg.nn.Module):
        def __init__(self) -> None:
            self.layer = tg.nn.Dense(3, 3)

        def __call__(self, x: Any) -> Any:
            return self.layer(x)

    class Twice(Base):
        def __call__(self, x: Any) -> Any:
            return super().__call__(super().__call__(x))

    rows = tg.nn.summary(Twice(), tg.tensor("x", "float32", (2, 3))).rows
    assert [(row.path, row.kind) for row in rows] == [("", "Twice"), ("layer", "Dense"), ("layer", "Dense")]


def test_a_summary_has_each_call_with_its_weights_and_operations() -> None:
    x = tg.tensor("x", "float32", (2, 3))
    found = tg.nn.summary(Branches(), x, training=False)
    rows = {row.path: row for row in found.rows}
    assert list(rows)[:3] == ["", "stem", "blocks.0"]
    assert rows[""].weights == tg.nn.count(Branches())
    products = 2 * 2 * (3 * 4 + 2 * 4 * 4 + 2 * 4)  # two rows; a product and its sum are two operations
    assert rows[""].operations == products
    assert rows["stem"].operations == 2 * 2 * 3 * 4
    assert str(rows["heads.mean"].results[0]) == "float32[2, 1]"
    text, page = str(found), found._repr_html_()
    assert all(row.path in text and row.path in page for row in found.rows)
    assert f"{products:,}" in text
    many = tg.nn.summary(tg.nn.randomized(Branches(), KEY), tg.matrix("x", "float32"), training=True)
    assert many.rows[0].operations is None
    assert "?" in str(many)
    tokens = tg.tensor("tokens", "int64", (2, 5))
    language = tg.nn.Sequential(tg.nn.Embedding(7, 4), tg.nn.BatchNorm(5), tg.nn.Dense(4, 7))
    row = tg.nn.summary(language, tokens, training=True).rows[0]
    assert str(row.results[0]) == "float32[2, 5, 7]"
    recurrent = tg.nn.summary(tg.nn.LSTM(3, 5), tg.tensor("x", "float32", (7, 2, 3)))
    assert recurrent.rows[0].operations is None  # how often a loop runs is not looked at
    inside = tg.nn.summary(tg.nn.Attention(8, 2), tg.tensor("x", "float32", (1, 5, 8))).rows
    assert inside[0].operations == 2 * (4 * 5 * 8 * 8 + 2 * 5 * 5 * 8)
