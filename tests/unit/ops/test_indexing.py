"""Indexing: what is refused, what an index of an unusual dtype or length does."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tg


def test_an_index_that_int64_cannot_hold_is_out_of_bounds():
    x, i = tg.vector("x"), tg.vector("i", dtype="uint64")
    with pytest.raises(tg.BoundsError):
        tg.function([x, i], x[i], backend="perform")(np.arange(3.0), np.array([1, 2**63 + 5], np.uint64))


@pytest.mark.parametrize("dtype", ["uint8", "uint64", "int8"])
def test_no_index_at_all_is_inside_an_axis_of_length_0(dtype):
    x, i = tg.vector("x"), tg.vector("i", dtype=dtype)
    assert x[i].eval({x: [], i: []}).shape == (0,)
    assert x.at[i].add(1.0).eval({x: [], i: []}).shape == (0,)
    with pytest.raises(tg.BoundsError):
        x[i].eval({x: [], i: np.array([0], dtype)})


def test_a_scalar_is_updated_at_the_empty_index():
    s, v = tg.scalar("s"), tg.vector("v")
    assert float(s.at[()].add(tg.sum(v)).eval({s: 1.0, v: [1.0, 2.0]})) == 4.0
    assert float(s.at[...].set(5.0).eval({s: 1.0})) == 5.0


def test_an_update_of_everything_is_the_value():
    x = tg.vector("x")
    assert x.at[:].set(3.0).eval({x: [1.0, 2.0]}).tolist() == [3.0, 3.0]
    assert x.at[:].add(3.0).eval({x: [1.0, 2.0]}).tolist() == [4.0, 5.0]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda x, s: x[..., ...], "more than once"),
        (lambda x, s: x[s:], "needed an integer scalar"),
        (lambda x, s: x[: tg.cast(x, "int64")], "needed an integer scalar"),
        (lambda x, s: tg.concatenate(x), "needed a list of arrays"),
        (lambda x, s: tg.stack(x), "needed a list of arrays"),
        (lambda x, s: np.mean(x, out=x), "out"),
        (lambda x, s: tg.constant(np.ma.array([1.0], mask=[True])), "masked array"),
    ],
)
def test_what_numpy_refuses_or_means_otherwise_is_refused(make, text):
    with pytest.raises(tg.InputError, match=text):
        make(tg.vector("x"), tg.scalar("s"))


def test_axes_of_a_result_are_counted_in_the_result():
    with pytest.raises(tg.ShapeError, match="axis 3 is out of range: the result has 2 axes"):
        tg.expand_dims(tg.vector("x"), 3)
    with pytest.raises(tg.ShapeError, match=r"stack: ranks differ: found float64\[\?\], float64\[\?, \?\]"):
        tg.stack([tg.vector("x"), tg.matrix("A")])


def test_lengths_of_inputs_that_differ_come_without_a_hint_about_computed_ones():
    x, y = tg.matrix("x"), tg.matrix("y")
    with pytest.raises(tg.ShapeError, match="inner axis: lengths differ: 3 and 2") as caught:
        (x @ y).eval({x: np.ones((2, 3)), y: np.ones((2, 3))})
    assert "computed at run time" not in str(caught.value)
    with pytest.raises(tg.ShapeError, match="hint: a length of 1 that is computed"):
        (x[:, 1:] + y).eval({x: np.ones((2, 2)), y: np.ones((2, 3))})


def test_set_and_inc_of_an_indexed_variable_change_the_place_it_is_from():
    x, i = tg.vector("x"), tg.vector("i", dtype="int64")
    given = {x: [1.0, 2.0, 3.0], i: [0, 0]}
    assert x[1:].set(0.0).eval(given).tolist() == [1.0, 0.0, 0.0]
    assert x[i].inc(1.0).eval(given).tolist() == [3.0, 2.0, 3.0]
    assert x[x > 1.5].set(9.0).eval(given).tolist() == [1.0, 9.0, 9.0]
    with pytest.raises(tg.InputError, match=r"set: .* is not x\[index\]"):
        (x[1:] + 1).set(0.0)


FAR = (-(2**63), -(2**61), -9, -3, 0, 2, 9, 2**61, 2**63 - 1)


@pytest.mark.parametrize("step", [1, 2, -1, -3])
@pytest.mark.parametrize("mode", ["off", "default"])
def test_bounds_of_slices_that_come_with_the_call_may_be_any_integers(step, mode):
    x, start, stop = tg.vector("x"), tg.scalar("start", "int64"), tg.scalar("stop", "int64")
    f = tg.function([x, start, stop], x[start:stop:step], backend="perform", mode=mode)
    values = np.arange(7.0)
    for a, b in itertools.product(FAR, FAR):
        np.testing.assert_array_equal(f(values, a, b), values[a:b:step])
