"""Pickled functions and copies with other shared variables."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import tg


def step_function():
    x, y = tg.vector("x"), tg.matrix("y")
    w = tg.shared(np.arange(3.0), "w")
    table = tg.constant(np.linspace(0, 1, 100))
    loss = tg.sum((x + y) * w) + tg.sum(table) + tg.sum(tg.call(lambda v: v * 2, tg.stop_gradient(x)))
    outputs = {"loss": loss, "gradient": [tg.grad(loss, x)]}
    f = tg.function([x, y], outputs, updates={w: w + 1}, backend="perform", defaults={y: np.ones((2, 3))}, name="step")
    return f, w


def again(value):
    return pickle.loads(pickle.dumps(value))


def same(a, b):
    assert a.keys() == b.keys()
    np.testing.assert_array_equal(a["loss"], b["loss"])
    np.testing.assert_array_equal(a["gradient"][0], b["gradient"][0])


def test_a_function_survives_pickling_with_all_it_has():
    f, w = step_function()
    f(np.ones(3))
    g = again(f)
    w.set_value([1.0, 2.0, 3.0])
    assert repr(g) == repr(f)
    same(g(np.ones(3)), f(np.ones(3)))
    same(g(x=np.ones(3), y=np.zeros((1, 3))), f(np.ones(3), np.zeros((1, 3))))  # another pattern of ones
    with pytest.raises(tg.InputError, match="no input is named 'z'"):
        g(z=1.0)


def test_the_copy_in_a_pickle_has_values_of_its_own():
    f, w = step_function()
    g = again(f)
    g(np.ones(3))
    assert w.get_value().tolist() == [0.0, 1.0, 2.0]


def test_functions_of_one_pickle_keep_their_shared_variables_in_common():
    w = tg.shared(1.0)
    read = tg.function([], w, backend="perform")
    write = tg.function([], None, updates={w: w * 2}, backend="perform")
    read2, write2 = again((read, write))
    write2()
    assert (float(read2()), float(read())) == (2.0, 1.0)


def test_options_survive():
    x = tg.vector("x")
    f = tg.function([x], tg.exp(x) + tg.log(tg.exp(x)), backend="perform", mode="off")
    assert again(f).graph == f.graph


def test_a_checked_index_still_raises():
    x, i = tg.vector("x"), tg.scalar("i", dtype="int64")
    g = again(tg.function([x, i], x[i], backend="perform"))
    assert float(g([1.0, 2.0], -1)) == 2.0
    with pytest.raises(tg.BoundsError):
        g([1.0, 2.0], 5)


@pytest.mark.parametrize("inside", [False, True])
def test_wrapped_functions_cannot_be_pickled(inside):
    wrapped = tg.wrap(np.cos, outputs="float64", name="cosine")
    x = tg.scalar("x")
    y = tg.call(wrapped, x) if inside else wrapped(x)
    f = tg.function([x], y, backend="perform", name="f")
    with pytest.raises(tg.InputError, match="pickle: f: cosine is opaque"):
        pickle.dumps(f)


def test_a_copy_has_other_shared_variables():
    f, w = step_function()
    other = tg.shared(np.zeros(3), "other")
    g = f.copy(swap={w: other}, name="copied")
    g(np.ones(3))
    assert other.get_value().tolist() == [1.0, 1.0, 1.0]
    assert w.get_value().tolist() == [0.0, 1.0, 2.0]
    assert repr(g) == "<copied(x, y) on perform>"


@pytest.mark.parametrize(
    ("swap", "text"),
    [
        (lambda w: {tg.shared(1.0): w}, "needed a shared variable of the function"),
        (lambda w: {w: tg.shared(1.0)}, "needed a shared variable, float64 with 1 axes"),
        (lambda w: {w: tg.vector("v")}, "needed a shared variable, float64 with 1 axes"),
        (lambda w: 3, "copy: swap: found 3"),
    ],
)
def test_wrong_swaps_are_refused(swap, text):
    f, w = step_function()
    with pytest.raises(tg.InputError, match=text):
        f.copy(swap=swap(w))


def test_an_unused_input_may_be_a_warning():
    x, y = tg.vector("x"), tg.vector("y")
    with pytest.warns(UserWarning, match="input 1, <y") as seen:
        f = tg.function([x, y], x, backend="perform", on_unused_input="warn")
    assert [w.filename for w in seen] == [__file__]
    assert f([1.0], [2.0]).tolist() == [1.0]
