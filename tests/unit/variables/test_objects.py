"""Arrays, series and frames of other libraries in expressions, as constants and as arguments of calls."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import ml_dtypes
import mlx.core as mx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
import xarray as xr

import tg
from tg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

VALUES = [1.0, -2.0, 4.0]


def of_polars(dtype: str) -> Any:
    polars = pytest.importorskip("polars")
    return polars.Series(np.array(VALUES, dtype))


MAKERS: dict[str, Callable[[str], Any]] = {
    "pandas": lambda dtype: pd.Series(np.array(VALUES, dtype)),
    "pandas index": lambda dtype: pd.Index(np.array(VALUES, dtype)),
    "polars": of_polars,
    "xarray": lambda dtype: xr.DataArray(np.array(VALUES, dtype), dims="t"),
    "torch": lambda dtype: torch.tensor(VALUES, dtype=getattr(torch, dtype)),
    "mlx": lambda dtype: mx.array(VALUES, getattr(mx, dtype)),
    "jax": lambda dtype: jnp.asarray(VALUES, dtype),
}
DTYPES = [
    (library, dtype)
    for library in MAKERS
    for dtype in ("float32", "float64", "int32", "int16", "bfloat16", "float16")
    if not (dtype == "bfloat16" and library in ("pandas", "pandas index", "polars", "xarray"))
    and not (dtype == "float64" and library in ("jax", "mlx"))  # JAX has none unless it is told to, MLX none here
    and not (dtype == "float16" and library in ("polars", "pandas index"))
]


@pytest.mark.parametrize(("library", "dtype"), DTYPES)
def test_an_array_keeps_its_dtype_as_constant_argument_and_operand(library: str, dtype: str) -> None:
    value, expected = MAKERS[library](dtype), np.array(VALUES, ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    x = tg.vector("x", dtype)
    f = tg.function([x], x + x, backend="perform")
    for result in (
        tg.constant(value).eval(),
        tg.shared(value).get_value(),
        (x + value).eval({x: np.zeros(3, expected.dtype)}),
        f(value) - expected,
        tg.jit(lambda v: v + 0, backend="perform")(value),
    ):
        assert result.dtype == expected.dtype
        assert result.tolist() == expected.tolist()


@pytest.mark.parametrize("library", ["pandas", "xarray", "torch"])
def test_an_array_on_the_left_gives_an_expression(library: str) -> None:
    value, x = MAKERS[library]("float32"), tg.vector("x", "float32")
    result = value - x
    result = getattr(result, "data", result) if library == "xarray" else result  # a DataArray around the variable
    assert isinstance(result, tg.Variable)
    assert result.eval({x: np.ones(3, "float32")}).tolist() == [0, -3, 3]


def test_a_frame_is_a_matrix() -> None:
    frame = pd.DataFrame({"a": np.array([1, 2], "float32"), "b": np.array([3, 4], "float32")})
    m, w = tg.matrix("m", "float32"), tg.vector("w", "float32")
    f = tg.function([m, w], m @ w, backend="perform")
    assert f(frame, frame["a"]).tolist() == (frame.to_numpy() @ frame["a"].to_numpy()).tolist()
    assert tg.constant(frame).type == tg.TensorType("float32", (2, 2))


def test_missing_values_of_a_column_of_integers_are_nan() -> None:
    column = pd.Series([1, 2, None], dtype="Int64")
    assert tg.constant(column).eval().tolist()[:2] == [1, 2]
    assert np.isnan(tg.constant(column).eval()[2])


# what is refused, and what the hint says: code that gives an array that is taken
REFUSED: list[tuple[str, Callable[[], Any], str]] = [
    ("categories", lambda: pd.Series(["a", "b"], dtype="category"), "value.cat.codes"),
    ("frame", lambda: pd.DataFrame({"a": [1.0], "b": ["x"]}), "value.select_dtypes('number')"),
    (
        "missing numbers",
        lambda: pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": [1.0, 2.0]}),
        "value.to_numpy('float64', na_value=np.nan)",
    ),
    ("missing truth", lambda: pd.Series([True, None], dtype="boolean"), "value.to_numpy('float64', na_value=np.nan)"),
    ("key", lambda: jax.random.key(0), "jax.random.key_data(value)"),
    ("times", lambda: pd.Series(pd.date_range("2020", periods=2)), "(value - value[0]) / np.timedelta64(1, 's')"),
    ("numpy times", lambda: np.array(["2020-01-01"], "M8[D]"), "(value - value[0]) / np.timedelta64(1, 's')"),
    ("dataset", lambda: xr.Dataset({"a": ("t", [1.0])}), "value.to_dataarray()"),
    ("gradient", lambda: torch.ones(2, requires_grad=True), "value.detach()"),
    ("sparse tensor", lambda: torch.eye(2).to_sparse(), "value.to_dense()"),
    ("conjugate", lambda: torch.tensor([1j]).conj(), "value.resolve_conj()"),
    ("meta", lambda: torch.empty(2, device="meta"), "torch.zeros(value.shape)"),
    ("sparse matrix", lambda: scipy.sparse.csr_array(np.eye(2)), "value.toarray()"),
    ("masked", lambda: np.ma.masked_array([1.0, 2.0], [0, 1]), "value.filled(…)"),
]


@pytest.mark.parametrize(("make", "code"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_no_array_of_numbers_is_refused_with_code_that_makes_one(make: Callable[[], Any], code: str) -> None:
    value = make()
    result = eval(code.replace("…", "0"), {"value": value, "np": np, "torch": torch, "jax": jax})
    x = tg.tensor("x", "complex128", shape=(None,) * np.ndim(result))
    f = tg.function([x], x * 1, backend="perform")
    for use in (tg.constant, f, lambda v: x + v):
        with pytest.raises(InputError) as caught:
            use(value)
        assert code in str(caught.value).partition("hint: ")[2]
    assert tg.constant(result).type.ndim == np.ndim(result)
    assert pickle.loads(pickle.dumps(caught.value)).args == caught.value.args
