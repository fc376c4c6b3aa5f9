"""Pickled functions and copies with other shared variables."""

from __future__ import annotations

import collections
import gc
import pickle
import weakref

import numpy as np
import pytest

import tg
from tg.functions import pickled, programs


def step_function():
    x, y = tg.vector("x"), tg.matrix("y")
    w = tg.shared(np.arange(3.0), "w")
    table = tg.constant(np.linspace(0, 1, 100))
    loss = tg.sum((x + y) * w) + tg.sum(table) + tg.sum(tg.call(lambda v: v * 2, tg.stop_gradient(x)))
    outputs = {"loss": loss, "gradient": [tg.grad(loss, x)]}
    f = tg.function([x, y], outputs, updates={w: w + 1}, backend="perform", defaults={y: np.ones((2, 3))}, name="step")
    return f, w


@pytest.fixture(params=["here", "elsewhere"])
def again(request, monkeypatch):
    """What a pickle gives, where the function is, and where nobody has it."""

    def loaded(value):
        data = pickle.dumps(value)
        if request.param == "elsewhere":
            monkeypatch.setattr(pickled, "_functions", weakref.WeakValueDictionary())
        return pickle.loads(data)

    return loaded


def same(a, b):
    assert a.keys() == b.keys()
    np.testing.assert_array_equal(a["loss"], b["loss"])
    np.testing.assert_array_equal(a["gradient"][0], b["gradient"][0])


def test_a_function_survives_pickling_with_all_it_has(again):
    f, w = step_function()
    f(np.ones(3))
    g = again(f)
    w.set_value([1.0, 2.0, 3.0])
    assert repr(g) == repr(f)
    same(g(np.ones(3)), f(np.ones(3)))
    same(g(x=np.ones(3), y=np.zeros((1, 3))), f(np.ones(3), np.zeros((1, 3))))  # another pattern of ones
    with pytest.raises(tg.InputError, match="no input is named 'z'"):
        g(z=1.0)


def test_a_length_that_has_to_be_another_is_looked_at_behind_a_pickle_too(again):
    x, w = tg.matrix("x"), tg.shared(np.ones((8, 2)), "w", shape=(8, 2))
    f = tg.function([x], x @ w, backend="perform")
    np.testing.assert_array_equal(again(f)(np.ones((3, 8))), np.full((3, 2), 8.0))
    with pytest.raises(tg.ShapeError, match="7 and 8"):
        again(f)(np.ones((3, 7)))


def test_the_copy_in_a_pickle_has_values_of_its_own(again):
    f, w = step_function()
    g = again(f)
    g(np.ones(3))
    assert w.get_value().tolist() == [0.0, 1.0, 2.0]


def test_functions_of_one_pickle_keep_their_shared_variables_in_common(again):
    w = tg.shared(1.0)
    read = tg.function([], w, backend="perform")
    write = tg.function([], None, updates={w: w * 2}, backend="perform")
    read2, write2 = again((read, write))
    write2()
    assert (float(read2()), float(read())) == (2.0, 1.0)


def test_shared_variables_of_one_type_keep_their_places(again):
    a, b, c = (tg.shared(np.full(2, float(k)), name) for k, name in enumerate("abc"))
    f = tg.function([], a + 10.0 * b, updates={b: b + 1.0, c: a + b}, backend="perform")
    g, read = again((f, tg.function([], [b, c], backend="perform")))
    assert g().tolist() == [10.0, 10.0]
    assert [v.tolist() for v in read()] == [[2.0, 2.0], [1.0, 1.0]]


def test_options_survive(again):
    x = tg.vector("x")
    f = tg.function([x], tg.exp(x) + tg.log(tg.exp(x)), backend="perform", mode="off")
    assert again(f).graph == f.graph


def test_a_checked_index_still_raises(again):
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


def refuse(*_args, **_options):
    pytest.fail("compiled again")


def test_a_process_that_has_a_function_finds_it(monkeypatch):
    x = tg.vector("x")
    f = tg.function([x], tg.exp(x), backend="perform")
    assert pickle.loads(pickle.dumps(f)) is f
    data = pickle.dumps(f)
    monkeypatch.setattr(pickled, "_functions", weakref.WeakValueDictionary())
    g = pickle.loads(data)
    monkeypatch.setattr(programs, "compile_expression", refuse)
    assert g is not f
    assert pickle.loads(data) is g


def test_a_function_with_shared_variables_takes_over_what_is_compiled(monkeypatch):
    x, w = tg.vector("x"), tg.shared(np.zeros((2, 2)), "w")
    f = tg.function([x], tg.sum(w), updates={w: w + x}, backend="perform")
    f([1.0, 2.0])
    f([3.0])  # another pattern
    monkeypatch.setattr(programs, "compile_expression", refuse)
    g = pickle.loads(pickle.dumps(f))
    assert float(g([1.0, 1.0])) == 18.0
    assert float(g([1.0])) == 22.0
    assert float(g([0.0, 0.0])) == 26.0
    assert w.get_value().tolist() == [[4.0, 5.0], [4.0, 5.0]]


def test_functions_that_differ_are_not_taken_for_one_another():
    x = tg.vector("x")
    tables = [np.linspace(0, 1, 1000), np.linspace(0, 2, 1000), np.linspace(0, 1, 1000, dtype="float32")]
    functions = [tg.function([x], tg.sum(x) + tg.sum(tg.constant(t)), backend="perform") for t in tables]
    functions += [tg.function([x], tg.sum(x) + tg.sum(tg.constant(tables[0])), backend="perform", mode="off")]
    functions += [tg.function([x], tg.sum(x) + tg.sum(tg.constant(tables[0])), backend="perform", defaults={x: [1.0]})]
    data = [pickle.dumps(f) for f in functions]
    assert [pickle.loads(one) for one in data] == functions
    assert len({pickled.text_of(f.request).digest for f in functions}) == len(functions)


def test_few_of_many_functions_that_are_loaded_are_kept(monkeypatch):
    x = tg.vector("x")
    data = [pickle.dumps(tg.function([x], x * k, backend="perform")) for k in range(3)]
    monkeypatch.setattr(pickled, "_functions", weakref.WeakValueDictionary())
    monkeypatch.setattr(pickled, "_recent", collections.deque(maxlen=2))
    for one in data:
        pickle.loads(one)
    gc.collect()
    assert len(pickled._functions) == 2
