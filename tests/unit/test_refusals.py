"""Errors of Python and NumPy that an argument causes inside tg: told with the argument, and all others left alone."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tblib.pickling_support import pickle_exception

import tg
from tg.errors import AxisError, InputError, TgError

if TYPE_CHECKING:
    from collections.abc import Callable

X = tg.vector("x")


@pytest.mark.parametrize(
    ("call", "text", "kinds"),
    [
        (lambda: tg.roll(X, 1.5), "roll: shift: found 1.5, needed an int", (InputError, TypeError)),
        (lambda: tg.roll(X, (None,)), "roll: shift: found (None,), needed an int", (InputError,)),
        (lambda: tg.select(1.5, [1.0]), "select: condlist: found 1.5, needed a sequence", (InputError,)),
        (lambda: tg.einsum(None, X), "einsum: subscripts: found None, needed a string", (InputError,)),
        (lambda: tg.histogram([1.0], range=[]), "histogram: range: found [], needed ", (tg.BoundsError, IndexError)),
        (
            lambda: tg.signal.windows.gaussian(5, "text"),
            "std: found 'text', needed the standard",
            (TypeError,),
        ),
        (lambda: tg.signal.correlation_lags("text", 3), "in1_len: found 'text', needed the lengths", (ValueError,)),
    ],
)
def test_the_argument_is_told(call: Callable[[], Any], text: str, kinds: tuple[type[Exception], ...]) -> None:
    with pytest.raises(kinds[0]) as raised:
        call()
    assert isinstance(raised.value, (TgError, *kinds))
    assert text in str(raised.value).splitlines()[0]
    assert any(" at  test_refusals.py:" in note for note in raised.value.__notes__)
    assert raised.value.__cause__ is None


def test_errors_of_functions_of_the_user_stay() -> None:
    def step(carry: Any, x: Any) -> Any:
        return carry + len(5), x  # type: ignore[arg-type]

    with pytest.raises(TypeError, match="has no len") as raised:
        tg.scan(step, 0.0, X)
    assert not isinstance(raised.value, TgError)


def test_full_tracebacks_keep_the_cause() -> None:
    with tg.config(tracebacks="full"), pytest.raises(InputError) as raised:
        tg.roll(X, 1.5)
    assert isinstance(raised.value.__cause__, TypeError)


def test_an_axis_error_has_the_axis_and_the_number_of_axes() -> None:
    with pytest.raises(AxisError) as ours:
        tg.sum(X, axis=3)
    with pytest.raises(np.exceptions.AxisError) as numpys:
        np.sum(np.ones(2), axis=3)
    assert (ours.value.axis, ours.value.ndim) == (numpys.value.axis, numpys.value.ndim) == (3, 1)
    of_dask, arguments, *_ = pickle_exception(ours.value)  # as workers of Dask send it
    for again in (pickle.loads(pickle.dumps(ours.value)), of_dask(*arguments)):
        assert (again.axis, again.ndim, str(again)) == (3, 1, str(ours.value))
    assert str(ours.value).startswith("sum: axis 3 is out of range")


@pytest.mark.parametrize("window", ["hann", "blackman", "tukey"])
def test_a_window_of_negative_length_has_the_line_of_the_user(window: str) -> None:
    with pytest.raises(tg.ShapeError, match="found the length -1") as raised:
        getattr(tg.signal.windows, window)(-1)
    assert "test_refusals.py:" in raised.value.__notes__[0]


def test_a_derivative_of_many_orders_of_a_short_polynomial_ends() -> None:
    assert tg.polyder([1.0, 2.0], 2**70).eval().shape == tg.diff([1.0, 2.0], 2**70).eval().shape == (0,)
    assert tg.polyder(np.zeros(0, "int8"), 1).type.dtype == np.polyder(np.zeros(0, "int8"), 1).dtype


def test_lengths_that_are_not_known_have_differences_and_derivatives() -> None:
    values = np.array([1.0, 4.0, 9.0, 16.0])
    np.testing.assert_array_equal(tg.diff(X, 2).eval({X: values}), np.diff(values, 2))
    np.testing.assert_array_equal(tg.polyder(X, 2).eval({X: values}), np.polyder(values, 2))
