"""`tg.config(dtype=…)`: what is made where no dtype is said, and `tg.config(promotion=…)`: who is told of float64."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest

import tg
from tg.errors import DtypeError, OptionError

KEY = [0, 1]

MADE = {
    "scalar": tg.scalar,
    "vector": tg.vector,
    "matrix": tg.matrix,
    "tensor": tg.tensor,
    "zeros": lambda: tg.zeros(3),
    "ones": lambda: tg.ones(3),
    "empty": lambda: tg.empty(3),
    "full": lambda: tg.full((3,), 0.5),
    "arange": lambda: tg.arange(0.0, 1.0, 0.25),
    "linspace": lambda: tg.linspace(0, 1, 3),
    "logspace": lambda: tg.logspace(0, 1, 3),
    "geomspace": lambda: tg.geomspace(1, 2, 3),
    "eye": lambda: tg.eye(2),
    "identity": lambda: tg.identity(2),
    "tri": lambda: tg.tri(2),
    "one_hot": lambda: tg.one_hot(tg.arange(2), 3),
    "constant": lambda: tg.constant([[1, 2.5]]),
    "shared": lambda: tg.shared(0.5),
    "uniform": lambda: tg.random.uniform(tg.random.key(0), shape=(2,)),
    "normal": lambda: tg.random.normal(tg.random.key(0), shape=(2,)),
    "gamma": lambda: tg.random.gamma(tg.random.key(0), 2.0),
    "stream": lambda: tg.random.RandomStream(0).random(2),
    "stream_normal": lambda: tg.random.RandomStream(0).standard_normal(2),
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("name", MADE)
def test_what_is_made_has_the_configured_dtype(name, dtype):
    assert MADE[name]().type.dtype == "float64"
    with tg.config(dtype=dtype):
        assert MADE[name]().type.dtype == dtype


def test_initial_weights_are_float32_unless_a_dtype_is_configured():
    def weights():
        return tg.nn.randomized(tg.nn.Dense(3, 2), tg.random.key(0)).weight.type.dtype, tg.nn.init.ones(None, 2).dtype

    assert weights() == ("float32", "float32")
    with tg.config(dtype="float64"):
        assert weights() == ("float64", "float64")


def test_what_has_a_dtype_keeps_it():
    array = np.ones(2)
    with tg.config(dtype="float32"):
        made = [
            tg.constant(array),
            tg.shared(array),
            tg.vector("x", "float64"),
            tg.zeros(2, "float64"),
            tg.array(array),
        ]
        assert {v.type.dtype for v in made} == {"float64"}
        assert tg.constant([1, 2]).type.dtype == tg.shared(1).type.dtype == tg.full(2, 3).type.dtype == "int64"
        assert tg.constant([True]).type.dtype == "bool"
        assert tg.constant(1j).type.dtype == "complex64"


def test_values_are_those_of_numpy_in_the_dtype():
    with tg.config(dtype="float32"):
        values = [tg.linspace(0.0, 1.0, 7), tg.constant([0.1, 0.2]), tg.arange(0.0, 1.0, 0.1)]
    wanted = [np.linspace(0, 1, 7, dtype="float32"), np.float32([0.1, 0.2]), np.arange(0, 1, 0.1).astype("float32")]
    for value, one in zip(values, wanted, strict=True):
        np.testing.assert_allclose(value.eval(), one, rtol=2 * np.finfo("float32").eps)


def test_the_environment_sets_it(monkeypatch):
    monkeypatch.setenv("TG_DTYPE", "float32")
    monkeypatch.setenv("TG_PROMOTION", "strict")
    assert tg.vector("x").type.dtype == "float32"
    with pytest.raises(DtypeError):
        tg.vector("x") * tg.vector("y", "float64")
    monkeypatch.setenv("TG_DTYPE", "float128")
    with pytest.raises(OptionError, match="config: dtype: found 'float128'"):
        tg.vector("x")


@pytest.mark.parametrize("changes", [{"dtype": "float128"}, {"dtype": np.float32}, {"promotion": "jax"}])
def test_values_that_there_are_not_are_refused(changes):
    (name,) = changes
    with pytest.raises(OptionError, match=f"config: {name}: found .*, needed one of"):
        tg.config(**changes)


# --- promotion -------------------------------------------------------------------------------------------------------

PROMOTING = {
    "add": lambda a, b, n: a + b,
    "radd": lambda a, b, n: b + a,
    "multiply": lambda a, b, n: a * n,
    "compare": lambda a, b, n: a < b,
    "where": lambda a, b, n: tg.where(a > 0, a, b),
    "arctan2": lambda a, b, n: tg.arctan2(b, a),
    "matmul": lambda a, b, n: a @ b,
    "concatenate": lambda a, b, n: tg.concatenate([a, b]),
    "array": lambda a, b, n: a * np.array([0.5, 1.5]),
    "half": lambda a, b, n: a.astype("float16") - b,
    "complex": lambda a, b, n: a.astype("complex64") * b,
}
SILENT = {
    "float": lambda a, b, n: 2.5 * a,
    "int": lambda a, b, n: a**2 + 1,
    "cast": lambda a, b, n: a.astype("float64") + b,
    "half": lambda a, b, n: a.astype("float16") + a,
    "wide": lambda a, b, n: b * n,
    "mean": lambda a, b, n: tg.mean(n) + tg.mean(b),
    "length": lambda a, b, n: tg.sum(a) / a.shape[0],
    "gradient": lambda a, b, n: tg.grad(tg.sum(tg.exp(a).astype("float64") * b), a),
    "loop": lambda a, b, n: tg.scan(lambda c, x: (c * x, c), tg.sum(a), a)[1],
    "network": lambda a, b, n: tg.nn.layer_norm(tg.nn.gelu(a)),
}


def operands():
    return tg.vector("a", "float32", shape=2), tg.vector("b", shape=2), tg.vector("n", "int64", shape=2)


@pytest.mark.parametrize("name", PROMOTING)
def test_promotions_to_float64_are_told_at_the_line(name):
    build, (a, b, n) = PROMOTING[name], operands()
    line = inspect.getsourcelines(build)[1]
    with (
        tg.config(promotion="warn"),
        pytest.warns(UserWarning, match="which promote to (float64|complex128)") as record,
    ):
        build(a, b, n)
    assert {(one.filename, one.lineno) for one in record} == {(__file__, line)}
    with tg.config(promotion="strict"), pytest.raises(DtypeError, match=r"found .* and .*, which promote") as error:
        build(a, b, n)
    assert f"test_default_dtypes.py:{line}" in "".join(error.value.__notes__)
    build(a, b, n)


@pytest.mark.parametrize("name", SILENT)
def test_nothing_is_told_of_python_numbers_casts_and_what_tg_builds(name):
    with warnings.catch_warnings(), tg.config(promotion="strict"):
        warnings.simplefilter("error")
        SILENT[name](*operands())


def test_functions_of_mixed_programs_compile_where_promotion_is_strict():
    a, b, _ = operands()
    loss = tg.sum(tg.softmax(tg.exp(a)) * b)
    with tg.config(promotion="strict"):
        f = tg.function([a, b], [loss, tg.grad(loss, a)], backend="perform")
    assert f(np.float32([1, 1]), [1.0, 3.0])[0] == pytest.approx(2, rel=1e-6)


def test_a_network_trains_in_float32_where_promotion_is_strict():
    with tg.config(promotion="strict", dtype="float32"):
        net = tg.nn.randomized(tg.nn.Sequential(tg.nn.Dense(3, 4), tg.relu, tg.nn.Dense(4, 2)), tg.random.key(0))
        x, y = tg.matrix("x"), tg.vector("y", "int64")
        loss = tg.nn.cross_entropy(net(x), y)
        for optimizer in (
            tg.optimize.sgd,
            tg.optimize.adam,
            tg.optimize.adamw,
            tg.optimize.rmsprop,
            tg.optimize.adagrad,
        ):
            updates = optimizer(loss, tg.nn.params(net), learning_rate=0.1)
            assert {v.type.dtype for v in updates} <= {"float32", "int64"}
