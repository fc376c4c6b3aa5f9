"""Mistakes in calls: arguments that do not fit, and values that a program cannot work with."""

from __future__ import annotations

import contextlib
import decimal

import numpy as np
import pytest

import tg
from tg.ops.indexing import Nonzero
from tg.plugin import registry
from tg.types.dtypes import DTYPES

pytestmark = pytest.mark.sampled(2)  # of the backends
ONES = np.ones(3)


# --- arguments


def test_an_argument_of_another_dtype(mistake, fine):
    x = tg.vector("x", dtype="int64")
    f = tg.function([x], x + 1)
    fine(f, np.arange(3), gives=[1, 2, 3])
    value = np.array([0.5, 1.5])
    with mistake(tg.DtypeError, "input 'x'", "found dtype float64, needed int64", "astype('int64')"):
        f(value)


def test_an_argument_of_another_rank(mistake, fine):
    x = tg.matrix("x")
    f = tg.function([x], x * 2)
    fine(f, np.ones((2, 3)), gives=np.full((2, 3), 2.0))
    with mistake(tg.ShapeError, "input 'x'", "1 axis (shape (3,)), needed 2", "value[None] adds an axis"):
        f(np.ones(3))


def test_an_argument_of_another_fixed_length(mistake, fine):
    x = tg.matrix("x", shape=(None, 3))
    f = tg.function([x], x * 2)
    fine(f, np.ones((2, 3)), gives=np.full((2, 3), 2.0))
    with mistake(tg.ShapeError, "input 'x'", "axis 1 has length 4, needed 3", "shape=(None, …)"):
        f(np.ones((2, 4)))


def test_an_argument_missing(mistake, fine):
    x, y = tg.vector("x"), tg.vector("y")
    f = tg.function([x, y], x + y)
    fine(f, ONES, ONES, gives=[2, 2, 2])
    with mistake(tg.InputError, "input 'y' is missing", "x: float64[?], y: float64[?]", "hint:"):
        f(ONES)


def test_an_argument_too_many(mistake, fine):
    x, y = tg.vector("x"), tg.vector("y")
    f = tg.function([x, y], x + y)
    fine(f, ONES, ONES, gives=[2, 2, 2])
    with mistake(tg.InputError, "found 3 arguments, needed 2", "x: float64[?], y: float64[?]", "hint:"):
        f(ONES, ONES, ONES)


def test_an_argument_of_an_unknown_name(mistake, fine):
    x = tg.vector("rate")
    f = tg.function([x], x + 1, name="growth")
    fine(f, ONES, gives=[2, 2, 2])
    with mistake(tg.InputError, "growth: no input is named 'rates'", "hint: rate exists"):
        f(rates=ONES)


def test_an_argument_given_twice(mistake, fine):
    x, y = tg.vector("x"), tg.vector("y")
    f = tg.function([x, y], x + y)
    fine(f, ONES, ONES, gives=[2, 2, 2])
    with mistake(tg.InputError, "input 'x' is given by position and by name"):
        f(ONES, x=ONES)


def test_an_argument_that_is_no_array(mistake, fine):
    x = tg.vector("x")
    f = tg.function([x], x + 1)
    fine(f, ONES, gives=[2, 2, 2])
    value = np.array([decimal.Decimal(1), None], dtype=object)
    with mistake(tg.InputError, "input 'x'", "Decimal", "needed an array of float64[?]", "hint:"):
        f(value)


def test_an_argument_with_ragged_rows(mistake, fine):
    x = tg.matrix("x")
    f = tg.function([x], x + 1)
    fine(f, np.ones((2, 2)), gives=np.full((2, 2), 2.0))
    with mistake(tg.InputError, "input 'x'", "found [[1.0], [2.0, 3.0]]", "hint: rows of one length"):
        f([[1.0], [2.0, 3.0]])


def test_an_argument_that_is_a_variable(mistake, fine):
    x = tg.vector("x")
    f = tg.function([x], x + 1)
    fine(f, ONES, gives=[2, 2, 2])
    with mistake(tg.InputError, "input 'x'", "the variable <x : float64[?]>, needed a value", "tg.function"):
        f(x)


def test_an_integer_that_the_dtype_cannot_hold(mistake, fine):
    x = tg.vector("x", dtype="int8")
    f = tg.function([x], x + 1)
    fine(f, [1, 2], gives=[2, 3])
    with mistake(tg.RangeError, "input 'x'", "found 300, needed an integer in [-128, 127]"):
        f([1, 300])


# --- lengths


def test_lengths_that_differ(mistake, fine):
    x, y = tg.vector("x"), tg.vector("y")
    f = tg.function([x, y], x * y)  # here
    fine(f, ONES, ONES, gives=ONES)
    a, b = np.ones(2), np.ones(3)
    with mistake(tg.ShapeError, "multiply", "lengths differ: 2 and 3", "x: float64[2], y: float64[3]", "hint:"):
        f(a, b)


def test_a_computed_length_of_one(mistake, fine):
    x, y = tg.vector("x"), tg.vector("y")
    total = x[1:] + y  # here
    f = tg.function([x, y], total)
    fine(f, np.ones(4), ONES, gives=[2, 2, 2])
    with mistake(tg.ShapeError, "add", "lengths differ: 1 and 3", "x: float64[2], y: float64[3]", "hint:"):
        f(np.ones(2), ONES)


def test_inner_lengths_of_a_product(mistake, fine):
    a, b = tg.matrix("a"), tg.matrix("b")
    f = tg.function([a, b], a @ b)  # here
    fine(f, np.ones((2, 3)), np.ones((3, 2)), gives=np.full((2, 2), 3.0))
    with mistake(tg.ShapeError, "matmul", "3 and 4", "a: float64[2, 3], b: float64[4, 2]"):
        f(np.ones((2, 3)), np.ones((4, 2)))


def test_a_new_shape_of_another_size(mistake, fine):
    x, k = tg.vector("x"), tg.scalar("k", dtype="int64")
    table = tg.reshape(x, (k, 2))  # here
    f = tg.function([x, k], table)
    fine(f, np.ones(4), 2, gives=np.ones((2, 2)))
    with mistake(tg.ShapeError, "reshape", "the array has 3, the new shape has 4", "x: float64[3], k: int64[]"):
        f(ONES, 2)


def test_parts_that_do_not_join(mistake, fine):
    a, b = tg.matrix("a"), tg.matrix("b")
    f = tg.function([a, b], tg.concatenate([a, b], axis=0))  # here
    fine(f, np.ones((1, 3)), np.ones((2, 3)), gives=np.ones((3, 3)))
    with mistake(tg.ShapeError, "concatenate: axis 1", "3 and 4", "a: float64[2, 3], b: float64[2, 4]"):
        f(np.ones((2, 3)), np.ones((2, 4)))


def test_a_negative_length(mistake, fine):
    k, v = tg.scalar("k", dtype="int64"), tg.scalar("v")
    filled = tg.full((k,), v)  # here
    f = tg.function([k, v], filled)
    fine(f, 2, 3.0, gives=[3.0, 3.0])
    with mistake(tg.ShapeError, "full", "length -2", "k: int64[]"):
        f(-2, 3.0)


def test_a_broadcast_to_another_length(mistake, fine):
    x, k = tg.vector("x"), tg.scalar("k", dtype="int64")
    wide = tg.broadcast_to(x, (k,))  # here
    f = tg.function([x, k], wide)
    fine(f, ONES, 3, gives=ONES)
    with mistake(tg.ShapeError, "broadcast_to", "3 and 4", "x: float64[3]"):
        f(ONES, 4)


def test_a_mask_of_another_length(mistake, fine):
    x, m = tg.vector("x"), tg.vector("m", dtype="bool")
    changed = x.at[m].set(0.0)  # here
    f = tg.function([x, m], changed)
    fine(f, ONES, np.array([True, False, True]), gives=[0.0, 1.0, 0.0])
    with mistake(tg.BoundsError, "a mask of another shape", "2 and 3", "x: float64[3], m: bool[2]"):
        f(ONES, np.array([True, False]))


def test_a_condition_of_another_length(mistake, fine):
    x, m = tg.vector("x"), tg.vector("m", dtype="bool")
    f = tg.function([x, m], tg.sum(tg.where(m, x, 0.0)))  # here
    fine(f, ONES, np.array([True, False, True]), gives=2.0)
    with mistake(tg.ShapeError, "where", "lengths differ", "x: float64[3], m: bool[2]"):
        f(ONES, np.array([True, False]))


def test_more_values_than_places(mistake, fine):
    x, rows, v = tg.vector("x"), tg.vector("rows", dtype="int64"), tg.vector("v")
    changed = x.at[rows].add(v)  # here
    f = tg.function([x, rows, v], changed)
    fine(f, ONES, np.array([0, 2]), np.ones(2), gives=[2, 1, 2])
    with mistake(tg.ShapeError, "lengths differ: 3 and 2", "rows: int64[2], v: float64[3]"):
        f(ONES, np.array([0, 2]), ONES)


def test_a_length_that_is_not_one_to_squeeze(mistake, fine):
    x = tg.matrix("x")
    flat = tg.squeeze(x, axis=0)  # here
    f = tg.function([x], flat)
    fine(f, np.ones((1, 3)), gives=ONES)
    with mistake(tg.ShapeError, "squeeze", "2 and 1", "x: float64[2, 3]"):
        f(np.ones((2, 3)))


# --- values


def test_an_index_outside_its_axis(mistake, fine):
    x, k = tg.vector("x"), tg.scalar("k", dtype="int64")
    chosen = x[k]  # here
    f = tg.function([x, k], chosen)
    fine(f, np.arange(3.0), 2, gives=2.0)
    with mistake(tg.BoundsError, "index 3 is out of bounds for an axis of length 3", "x: float64[3]", "hint:"):
        f(ONES, 3)


def test_a_negative_index_outside_its_axis(mistake, fine):
    x, k = tg.vector("x"), tg.scalar("k", dtype="int64")
    chosen = x[k]  # here
    f = tg.function([x, k], chosen)
    fine(f, np.arange(3.0), -3, gives=0.0)
    with mistake(tg.BoundsError, "index -4 is out of bounds for an axis of length 3", "x: float64[3]", "hint:"):
        f(ONES, -4)


def test_gathered_positions_outside_their_axis(mistake, fine):
    x, rows = tg.matrix("x"), tg.vector("rows", dtype="int64")
    chosen = x[rows]  # here
    f = tg.function([x, rows], chosen)
    fine(f, np.eye(3), np.array([2, 0]), gives=np.eye(3)[[2, 0]])
    with mistake(tg.BoundsError, "index 7 is out of bounds for an axis of length 3", "rows: int64[2]"):
        f(np.eye(3), np.array([0, 7]))


def test_updated_positions_outside_their_axis(mistake, fine):
    x, k = tg.vector("x"), tg.scalar("k", dtype="int64")
    count = tg.shared(0, "count")
    changed = x.at[k].set(0.0)  # here
    f = tg.function([x, k], changed, updates={count: count + 1})
    value = np.ones(3)
    with mistake(tg.BoundsError, "index 5 is out of bounds for an axis of length 3", "x: float64[3]"):
        f(value, 5)
    assert f(value, 1).tolist() == [1.0, 0.0, 1.0]
    assert int(count.get_value()) == 1


def test_a_negative_power_of_integers(mistake, fine):
    x, k = tg.vector("x", dtype="int64"), tg.scalar("k", dtype="int64")
    raised = x**k  # here
    f = tg.function([x, k], raised)
    fine(f, np.array([2, 3]), 2, gives=[4, 9])
    with mistake(tg.DomainError, "power", "exponent -1", "x: int64[2], k: int64[]", "hint:"):
        f(np.array([2, 3]), -1)


def test_the_maximum_of_nothing(mistake, fine):
    x = tg.vector("x")
    largest = tg.max(x)  # here
    f = tg.function([x], largest)
    fine(f, np.arange(3.0), gives=2.0)
    with mistake(tg.DomainError, "max: found an array of no elements", "x: float64[0]", "hint:"):
        f(np.ones(0))


def test_a_matrix_of_a_batch_that_is_not_positive_definite(mistake, fine):
    a = tg.tensor("a", shape=(None, 2, 2))
    factor = tg.linalg.cholesky(a)  # here
    f = tg.function([a], factor)
    fine(f, 4 * np.eye(2)[None], gives=2 * np.eye(2)[None])
    text = "cholesky: matrix [1] of the batch is not positive definite: its leading minor of order 2 is not positive"
    with mistake(tg.LinAlgError, text, "a: float64[2, 2, 2]", "hint:", 'on_error="nan"'):
        f(np.array([np.eye(2), [[1.0, 2.0], [2.0, 1.0]]]))


def test_the_inverse_of_a_singular_matrix(mistake, fine):
    a = tg.matrix("a")
    inverse = tg.linalg.inv(a)  # here
    f = tg.function([a], inverse)
    fine(f, 4 * np.eye(2), gives=np.eye(2) / 4)
    with mistake(tg.LinAlgError, "inv: the matrix is singular: its LU factorisation has 0 as pivot 2", "hint:"):
        f(np.array([[1.0, 2.0], [0.0, 0.0]]))


def test_a_mistake_inside_a_called_function(mistake, fine):
    x, k = tg.vector("x"), tg.scalar("k", dtype="int64")
    inner = tg.call(lambda v, i: v[i], x, k)  # here
    f = tg.function([x, k], inner)
    fine(f, np.arange(3.0), 1, gives=1.0)
    with mistake(tg.BoundsError, "index 4 is out of bounds for an axis of length 3", "x: float64[3]"):
        f(ONES, 4)


# --- what a backend lacks


def test_a_length_that_depends_on_values(mistake, fine, backend):
    x, m = tg.vector("x"), tg.vector("m", dtype="bool")
    chosen = x[m]  # here
    if any(gap.op is Nonzero for gap in registry().gaps(backend)):
        with mistake(tg.NoRuleError, f"backend {backend!r} does not run", "bool[?]", "size=", "hint:"):
            tg.function([x, m], chosen)
    else:
        fine(tg.function([x, m], chosen), ONES, np.array([True, False, True]), gives=[1.0, 1.0])


def test_a_dtype_that_the_backend_lacks(mistake, fine, backend):
    dtypes, y = registry().backend(backend).dtypes, tg.vector("y")
    fine(tg.function([y], y + 1), ONES, gives=[2, 2, 2])
    for dtype in sorted(set(DTYPES) - dtypes) if dtypes else ():
        x = tg.vector("x", dtype=dtype)
        with mistake(tg.NoRuleError, f"backend {backend!r} has no dtype {dtype}", f"Slice({dtype}[?]", "hint:"):
            tg.function([x], tg.maximum(x, x[::-1]))


def test_a_python_function_where_none_can_be_called(mistake, fine, backend):
    x = tg.vector("x", shape=(3,))
    double = tg.wrap(lambda a: a * 2, infer=lambda a: a, name="double")
    y = double(x)  # here
    with contextlib.suppress(tg.NoRuleError):
        fine(tg.function([x], y), ONES, gives=ONES * 2)
    if not fine.calls:
        with mistake(tg.NoRuleError, f"backend {backend!r} does not run double", 'hint: backend="perform" runs it'):
            tg.function([x], y)


def test_an_exception_of_a_python_function(mistake, backend):
    def careful(a):
        if a[0] < 0:
            raise ArithmeticError("a[0] is negative")
        return a

    x = tg.vector("x", shape=(3,))
    f = tg.function([x], tg.wrap(careful, infer=lambda a: a)(x), backend="perform")
    with mistake(ArithmeticError, "a[0] is negative", "careful", "test_calling.py", "x: float64[3]"):
        f(-ONES)


# --- shared variables


def test_a_shared_value_of_another_dtype(mistake, fine):
    count = tg.shared(np.array([1, 2]), "count")
    f = tg.function([], count + 1)
    fine(f, gives=[2, 3])
    with mistake(tg.DtypeError, "count", "found dtype float64, needed int64", "astype('int64')"):
        count.set_value(np.array([0.5]))


def test_a_shared_value_of_another_rank(mistake, fine):
    weights = tg.shared(np.ones((2, 2)), "weights")
    f = tg.function([], weights + 1)
    fine(f, gives=np.full((2, 2), 2.0))
    with mistake(tg.ShapeError, "weights", "1 axis (shape (3,)), needed 2"):
        weights.set_value(ONES)


def test_an_update_to_another_fixed_length(mistake, fine):
    x = tg.vector("x")
    state = tg.shared(np.zeros(3), "state", shape=(3,))
    new = x * 2  # here
    step = tg.function([x], [], updates={state: new})
    with mistake(tg.ShapeError, "update of <shared state", "found shape (4,), needed float64[3]"):
        step(np.ones(4))
    step(np.ones(3))
    assert state.get_value().tolist() == [2.0, 2.0, 2.0]
