"""Making variables of Python and NumPy values, and NumPy's promotion."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tg
from tg.types.dtypes import DTYPES, numpy_dtype
from tg.variables.conversion import promote

PLAIN = [d for d in DTYPES if d != "bfloat16"]


@pytest.mark.parametrize(("a", "b"), [*itertools.combinations_with_replacement(PLAIN, 2)])
def test_arrays_promote_as_numpy_has_it(a: str, b: str) -> None:
    assert promote(a, b) == np.promote_types(a, b).name


@pytest.mark.parametrize("dtype", PLAIN)
@pytest.mark.parametrize("value", [True, 1, 1.0, 1j])
def test_python_scalars_are_weak_as_numpy_has_it(dtype: str, value: complex) -> None:
    assert promote(dtype, type(value)) == np.result_type(np.ones(1, dtype), value).name


@pytest.mark.parametrize("other", DTYPES)
def test_bfloat16_promotes_by_its_table(other: str) -> None:
    found = promote("bfloat16", other)
    assert promote(other, "bfloat16") == found
    if other != "bfloat16" and other in ("bool", "int8", "uint8"):
        assert found == "bfloat16"


@pytest.mark.parametrize("dtype", PLAIN)
@pytest.mark.parametrize("value", [True, 2, 0.5])
def test_an_operation_with_a_scalar_has_numpys_dtype(dtype: str, value: float) -> None:
    if dtype == "bool" and value is True:
        pytest.skip("covered by the table of add on bool")
    x = tg.tensor("x", dtype=dtype, shape=(2,))
    assert (x + value).type.dtype == (np.ones(2, dtype) + value).dtype.name


def test_an_integer_that_does_not_fit_is_refused() -> None:
    x = tg.vector("x", dtype="uint8")
    with pytest.raises(tg.RangeError, match=r"found 300, needed an integer in \[0, 255\]"):
        x + 300


def test_numpy_scalars_are_strong() -> None:
    x = tg.vector("x", dtype="float32")
    assert (x * np.float64(2)).type.dtype == "float64"
    assert (x * 2.0).type.dtype == "float32"


def test_a_constant_owns_its_value() -> None:
    value = np.ones(2)
    c = tg.constant(value)
    value[0] = 5
    assert c.data.tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="read-only"):
        c.data[0] = 3


@pytest.mark.parametrize("value", ["text", object(), [1, "a"], None])
def test_what_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(tg.InputError):
        tg.constant(value)


def test_nested_lists_may_hold_variables_and_lengths() -> None:
    x, v = tg.scalar("x"), tg.vector("v")
    assert tg.array([[x, 1.0], [2, x]]).type == tg.TensorType("float64", (2, 2))
    assert tg.array([v.shape[0], 2]).eval({v: np.ones(7)}).tolist() == [7, 2]
    with pytest.raises(tg.ShapeError, match="ragged"):
        tg.array([[x, 1.0], x])


def test_a_negative_zero_is_another_constant_than_zero() -> None:
    x = tg.scalar("x")
    assert np.signbit((x * 0 + -0.0).eval({x: -1.0}))
    one, other = (-0.0 * tg.constant(np.ones(1))).eval(), (0.0 * tg.constant(np.ones(1))).eval()
    assert np.signbit(one[0]) != np.signbit(other[0])


def test_unknown_dtypes_are_refused_with_the_known_ones() -> None:
    with pytest.raises(tg.DtypeError, match="float64"):
        tg.vector("x", dtype="float80")
    with pytest.raises(tg.DtypeError):
        tg.vector("x", dtype="datetime64[s]")


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_flows_through_the_reference(dtype: str) -> None:
    x = tg.vector("x", dtype=dtype)
    value = np.array([0, 1, 1]).astype(numpy_dtype(dtype))
    found = tg.function([x], x[::-1], backend="perform")(value)
    assert found.dtype == value.dtype
    assert found.tolist() == value[::-1].tolist()
