"""Elementwise functions: comparison with what a dtype cannot hold, their texts, constants of NumPy's scalars."""

from __future__ import annotations

import numpy as np
import pytest

import tg

COMPARISONS = (tg.equal, tg.not_equal, tg.less, tg.less_equal, tg.greater, tg.greater_equal)


@pytest.mark.parametrize("compare", COMPARISONS)
@pytest.mark.parametrize("number", [-1, 300, 2**70])
def test_an_array_compares_with_an_integer_that_its_dtype_cannot_hold(compare, number):
    x = tg.vector("x", dtype="uint8")
    value = np.array([0, 255], np.uint8)
    np.testing.assert_array_equal(compare(x, number).eval({x: value}), compare.numpy(value, number))
    np.testing.assert_array_equal(compare(number, x).eval({x: value}), compare.numpy(number, value))


def test_arithmetic_with_such_an_integer_is_refused():
    with pytest.raises(tg.RangeError):
        tg.vector("x", dtype="uint8") + 300


def test_help_on_a_function_shows_its_own_sentence():
    assert tg.exp.__doc__ == "e to the power x."
    assert type(tg.exp).__doc__.startswith("A function of single elements")


def test_dir_lists_what_users_call_and_nothing_else():
    names = [name for name in dir(tg) if not name.startswith("__")]
    assert {"exp", "function", "grad", "ShapeError", "sum"} <= set(names)
    assert not {"sys", "importlib", "Any", "annotations", "bind"} & set(names)
    assert all(hasattr(tg, name) for name in names)


def test_a_constant_may_be_made_of_a_numpy_scalar():
    c = tg.constant(2.0)
    assert tg.Constant(-c.data).data.tolist() == -2.0
