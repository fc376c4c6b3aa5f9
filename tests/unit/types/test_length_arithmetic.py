"""Lengths among numbers and arrays: a length behaves as a Python int wherever its value need not be known."""

from __future__ import annotations

import numpy as np
import pytest

import tg
from tg.errors import ShapeError
from tg.types import signs
from tg.types.tensor_type import TensorType

VALUE = np.array([1.0, 2.0, 4.0])


@pytest.mark.parametrize(
    ("build", "want"),
    [
        (lambda n: 1 / n, 1 / 3),
        (lambda n: n / 2, 1.5),
        (lambda n: n + 0.5, 3.5),
        (lambda n: 0.5 * n, 1.5),
        (lambda n: n**2, 9),
        (lambda n: 2**n, 8),
        (lambda n: n // 2.0, 1.0),
        (lambda n: n * np.ones(2), [3.0, 3.0]),
        (lambda n: np.ones(2) * n, [3.0, 3.0]),
        (lambda n: np.int64(2) + n, 5),
        (lambda n: np.sqrt(n), np.sqrt(3.0)),
        (lambda n: tg.zeros((n + np.int64(1),)), [0.0] * 4),
    ],
)
def test_a_length_takes_part_in_arithmetic_as_an_int_does(build, want):
    x = tg.vector("x")
    np.testing.assert_array_equal(tg.as_variable(build(x.shape[0])).eval({x: VALUE}), want)


def test_a_length_compares_with_a_variable_and_not_with_a_number():
    x = tg.vector("x")
    n = x.shape[0]
    assert (n > x).eval({x: VALUE}).tolist() == [True, True, False]
    for compare in (lambda: n < 2.5, lambda: n == 3.0, lambda: n == 3):
        with pytest.raises(tg.LengthError, match=r"tg\.equal"):
            compare()
    assert bool(tg.equal(n, 3).eval({x: VALUE}))


def test_a_length_that_one_specialisation_shows_to_be_1_still_broadcasts():
    x = tg.matrix("x")
    y = x[:, 2:7] + tg.argmax(x[1:-2:-1], 1)  # where x has one row, both of the sum's operands have
    f = tg.function([x], [y, tg.var(y)], backend="perform")
    value = np.array([[0.0, 1.0, 5.0, 2.0]])
    want = value[:, 2:7] + np.argmax(value[1:-2:-1], 1)
    got, variance = f(value)
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(variance, np.var(want))


def test_a_type_has_no_length_below_0():
    for n in (-1, np.int64(-3)):
        with pytest.raises(ShapeError, match="needed one of at least 0"):
            TensorType("float64", (2, n))
    assert TensorType("float64", (np.int64(0), None)).shape == (0, None)


def test_no_bound_is_tried_of_what_one_look_refutes(monkeypatch):
    """A chain of slices of what was joined before asks for signs of lengths that grow: most are negative at 0."""
    tried: list[object] = []
    original = signs._is_bounded_with
    monkeypatch.setattr(signs, "_is_bounded_with", lambda *args: tried.append(args) or original(*args))
    y = tg.vector("x")
    for _ in range(40):
        y = tg.concatenate([y, y[:2]])
    assert len(tried) <= 40


def test_a_product_reads_alike_whatever_was_made_before():
    """Or a program has another key in a process that has made other variables, and is compiled again."""

    def text(others):
        for _ in range(others):
            tg.vector("other")
        n, m = tg.tensor("x", shape=(None, None)).shape
        k = tg.tensor("y", shape=(None,)).shape[0]
        return repr((n // 2) * (m // 2) * ((k + 1) // 2) * ((k + 3) // 2))

    assert len({text(others) for others in range(20)}) == 1
