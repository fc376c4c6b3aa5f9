"""Initial weights against JAX under the same key, PyTorch's fans, and what is refused."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import tg
from tg.errors import DtypeError, InputError, OptionError, ShapeError
from tg.ops.catalog import MODULES

init = tg.nn.init
SHAPE = (3, 40, 50)
OF_TORCH = {"in_axis": 1, "out_axis": 0}
UNIFORM = ["uniform", "lecun_uniform", "glorot_uniform", "he_uniform"]
NORMAL = ["normal", "truncated_normal", "lecun_normal", "glorot_normal", "he_normal"]


def of_jax(make: Any, dtype: str, shape: tuple[int, ...] = SHAPE) -> Any:
    jax = pytest.importorskip("jax")
    with jax.enable_x64(dtype == "float64"):
        return np.asarray(make(jax.nn.initializers)(jax.random.key(42), shape, dtype))


def of_tg(name: str, dtype: str, shape: tuple[int, ...] = SHAPE, **options: Any) -> Any:
    return np.asarray(getattr(init, name)(tg.random.key(42), shape, dtype=dtype, **options).eval())


def units(found: Any, want: Any) -> float:
    """The worst difference, in units of the last place of the greatest number."""
    return float(np.max(np.abs(found - want)) / np.spacing(np.max(np.abs(want))))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", UNIFORM)
def test_uniform_weights_are_those_of_jax_bit_for_bit(name: str, dtype: str) -> None:
    want = of_jax(lambda other: getattr(other, name)(), dtype)
    np.testing.assert_array_equal(of_tg(name, dtype), want)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", NORMAL)
def test_normal_weights_are_those_of_jax_to_rounding(name: str, dtype: str) -> None:
    want = of_jax(lambda other: getattr(other, name)(), dtype)
    found = of_tg(name, dtype)
    assert found.dtype == want.dtype
    assert units(found, want) <= 64  # JAX's erfinv is off by up to 90 units in float32, 550 in float64; here by 3


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (2, 4, 3)])
@pytest.mark.parametrize("column", [-1, 0])
def test_orthogonal_weights_are_those_of_jax(shape: tuple[int, ...], column: int) -> None:
    want = of_jax(lambda other: other.orthogonal(1.5, column), "float64", shape)
    found = of_tg("orthogonal", "float64", shape, scale=1.5, column_axis=column)
    np.testing.assert_allclose(found, want, rtol=0, atol=4e-15)


def test_axes_and_modes_are_those_of_jax() -> None:
    options = {"in_axis": 1, "out_axis": (0,), "batch_axis": 2}
    for mode in ("fan_in", "fan_out", "fan_avg", "fan_geo_avg"):
        want = of_jax(lambda other, mode=mode: other.variance_scaling(0.7, mode, "uniform", **options), "float32")
        found = init.variance_scaling(tg.random.key(42), SHAPE, 0.7, mode, "uniform", **options)
        np.testing.assert_array_equal(found.eval(), want)


def test_fans_of_a_weight_of_pytorch_are_those_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    shape = (16, 8, 3, 3)
    fan_in, fan_out = torch.nn.init._calculate_fan_in_and_fan_out(torch.empty(shape))
    y = np.asarray(init.kaiming_uniform(tg.random.key(0), shape, **OF_TORCH).eval())
    assert np.max(np.abs(y)) == pytest.approx((6 / fan_in) ** 0.5, rel=2e-2)
    y = np.asarray(init.xavier_uniform(tg.random.key(0), shape, **OF_TORCH).eval())
    assert np.max(np.abs(y)) == pytest.approx((6 / (fan_in + fan_out)) ** 0.5, rel=2e-2)


def test_names_are_those_of_the_family() -> None:
    assert all(inspect.unwrap(getattr(init, name)) is fn for name, fn in MODULES["nn.init"].items())
    assert set(MODULES["nn.init"]) <= set(init.__all__)


def test_numbers_without_draws() -> None:
    assert init.zeros(None, (2,)).type == init.ones(None, 2).type == init.constant(None, (2,), 3).type
    assert init.constant(None, 2, 3).eval().tolist() == [3.0, 3.0]
    assert of_tg("orthogonal", "float32", (0, 3)).shape == of_tg("he_normal", "float16", (0, 3)).shape == (0, 3)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda key: init.he_normal(key, 3), ShapeError, "he_normal: shape: found (3,), needed at least two axes"),
        (lambda key: init.he_normal(key, (3, 2), "int32"), DtypeError, "he_normal: dtype: found int32, needed a real"),
        (
            lambda key: init.he_normal(key, (3, tg.scalar(dtype="int64"))),
            InputError,
            "needed lengths that are known, integers from 0 on",
        ),
        (
            lambda key: init.variance_scaling(key, (3, 2), 1.0, "fan", "normal"),
            OptionError,
            "variance_scaling: mode: found 'fan', needed one of fan_in, fan_out, fan_avg, fan_geo_avg",
        ),
        (
            lambda key: init.variance_scaling(key, (3, 2), 1.0, "fan_in", "cauchy"),
            OptionError,
            "variance_scaling: distribution: found 'cauchy', needed one of truncated_normal, normal, uniform",
        ),
        (lambda key: init.glorot_normal(key, (3, 2), in_axis=4), ShapeError, "glorot_normal: axis 4 is out of range"),
        (lambda key: init.orthogonal(key, 3), ShapeError, "orthogonal: shape: found (3,), needed at least two axes"),
    ],
)
def test_what_is_refused(make: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        make(tg.random.key(0))
    assert text in str(caught.value)
