"""Dropout against JAX bit for bit, its mean and variance, and keys that are missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tg
from tg.errors import InputError, ShapeError

DRAWS = np.random.default_rng(5)


@pytest.mark.parametrize(("dtype", "x64"), [("float64", True), ("float32", False)])
@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout_is_that_of_flax_bit_for_bit(dtype: str, x64: bool, p: float) -> None:
    jax = pytest.importorskip("jax")
    x = DRAWS.normal(size=(50, 7)).astype(dtype)
    with jax.enable_x64(x64):
        mask = jax.random.bernoulli(jax.random.key(42), 1.0 - p, x.shape)
        want = np.asarray(jax.lax.select(mask, jax.numpy.asarray(x) / (1.0 - p), jax.numpy.zeros_like(x)))
    v = tg.matrix(dtype=dtype)
    y = tg.nn.dropout(v, p, tg.random.key(42))
    found = tg.function([v], y)(x)
    assert found.dtype == want.dtype
    np.testing.assert_array_equal(found, want)  # XLA multiplies by the reciprocal, as PyTorch does


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    x = DRAWS.normal(size=200_000)
    y = np.asarray(tg.nn.alpha_dropout(x, 0.3, tg.random.key(1)).eval())
    assert abs(y.mean()) < 0.01
    assert abs(y.var() - 1) < 0.02


def test_alpha_dropout_has_the_values_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    of_torch = set(torch.nn.functional.alpha_dropout(torch.ones(1000, dtype=torch.float64), 0.3, True).tolist())
    of_tg = set(np.asarray(tg.nn.alpha_dropout(np.ones(1000), 0.3, tg.random.key(0)).eval()).tolist())
    np.testing.assert_allclose(sorted(of_tg), sorted(of_torch), rtol=1e-15)


def test_nothing_is_drawn_without_training() -> None:
    x = tg.vector("x")
    assert tg.nn.dropout(x, 0.5, training=False) is x
    assert tg.nn.dropout(x, 0.0) is x


@pytest.mark.parametrize("name", ["dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout"])
def test_a_missing_key_is_an_error_that_names_the_function(name: str) -> None:
    x = tg.tensor(shape=(2,) * int(name[7]) + (3, 4)[:1] if name[-1] == "d" else (2,))
    with pytest.raises(InputError, match=f"{name}: key: found None, needed a key to draw by"):
        getattr(tg.nn, name)(x, 0.5)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (
            lambda x, key: tg.nn.dropout(x, 1.5, key),
            InputError,
            "dropout: p: found 1.5, needed a probability in [0, 1]",
        ),
        (
            lambda x, key: tg.nn.dropout(x, 0.5, key, training=x),
            InputError,
            "dropout: training: found",
        ),
        (lambda x, key: tg.nn.dropout(x, x, key), ShapeError, "dropout: p: found float64[2, 3], needed a scalar"),
        (
            lambda x, key: tg.nn.dropout1d(x, 0.5, key, layout="NLC"),
            InputError,
            "dropout1d: layout: found 'NLC', needed 'NCW' or 'NWC'",
        ),
        (
            lambda x, key: tg.nn.dropout2d(x, 0.5, key),
            ShapeError,
            "dropout2d: x: found float64[2, 3], needed 4 axes, or 3 of one image",
        ),
        (lambda x, key: tg.nn.alpha_dropout(x, x, key), InputError, "alpha_dropout: p: found"),
    ],
)
def test_what_is_refused(make: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        make(tg.tensor(shape=(2, 3)), tg.random.key(0))
    assert text in str(caught.value)
