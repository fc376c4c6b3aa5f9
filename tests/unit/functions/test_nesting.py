"""Inputs in structures: a call gives values in the same nesting, in any of the ways that a function is called."""

from __future__ import annotations

import dataclasses
import inspect
import pickle

import numpy as np
import pytest

import tg
from tg.errors import InputError, ShapeError

BACKENDS = ("perform", tg.backend("auto").name)
X, W, B, C = tg.vector("x"), tg.matrix("w"), tg.scalar("b"), tg.scalar("c")
VALUE = tg.sum(W @ X) + B * C
ARRAYS = np.array([1.0, 2.0]), np.array([[1.0, 0.0], [3.0, 1.0]])


@dataclasses.dataclass
class Layer:
    w: object
    b: object


def made(**options):
    return tg.function([X, {"w": W, "b": [B, C]}], VALUE, **options)


def wanted(x, p):
    return (np.asarray(p["w"]) @ np.asarray(x)).sum() + p["b"][0] * p["b"][1]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_call_gives_the_same_structure(backend):
    x, w = ARRAYS
    p, q = {"w": w, "b": [2.0, 3.0]}, {"b": [5.0, 7.0], "w": 2 * w}  # keys may come in another order
    f = made(backend=backend)
    for call in (f, f.copy(), pickle.loads(pickle.dumps(f))):
        for parameters in (p, q):
            assert call(x, parameters) == wanted(x, parameters)
        assert call(x.tolist(), {"w": w.tolist(), "b": [2, 3]}) == wanted(x, p)
        assert call(x, w=w, b=2.0, c=3.0) == wanted(x, p)
        assert call([1.0], {"w": w[:, :1], "b": [2.0, 3.0]}) == wanted([1.0], {"w": w[:, :1], "b": [2.0, 3.0]})


def test_the_inputs_of_a_function_are_as_they_were_given():
    x, parameters = made().inputs
    assert x is X
    assert list(parameters) == ["w", "b"]
    assert parameters["w"] is W
    assert parameters["b"][0] is B
    assert tg.function([X], X * 2).inputs == [X]
    assert str(inspect.signature(made())) == "(*args, **kwargs)"


def test_what_looks_at_calls_takes_structures():
    x, w = ARRAYS
    f = made(backend="perform")
    assert f.profile(x, {"w": w, "b": [2.0, 3.0]}, calls=1).calls == 1
    assert "input 'w'" in str(f.find_nonfinite(x, {"w": w * np.nan, "b": [2.0, 3.0]}))


def test_dataclasses_defaults_updates_and_donations():
    x, w = ARRAYS
    total = tg.shared(1.0)
    f = tg.function([Layer(W, (B, C)), [X]], {"y": VALUE * total}, updates={total: total + 1}, donate=[X])
    assert f(Layer(w, (2.0, 3.0)), [x.copy()]) == {"y": 12.0}
    assert f(Layer(w, (2.0, 3.0)), [x.copy()]) == {"y": 24.0}
    g = tg.function([X, {"w": W}, [B, C]], VALUE, defaults={B: 2.0, C: 3.0})
    assert g(x, {"w": w}) == 12.0


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ((1, {"w": 2}), r"f: argument 1: found {'w': 2}, needed {'w': \*, 'b': \[\*, \*\]}"),
        ((1, {"w": 2, "b": [3]}), r"f: argument 1: found \[3\], needed \[\*, \*\]"),
        ((1, [2, [3, 4]]), r"f: argument 1: found \[2, \[3, 4\]\], needed {'w'"),
        ((1, 2, 3, 4), r"f: found 4 arguments, needed 2\n  arguments  \(\*, {'w': \*, 'b': \[\*, \*\]}\)"),
        ((1,), r"f: input 'w' is missing"),
    ],
)
def test_another_structure_is_an_error(args, text):
    with pytest.raises(InputError, match=text):
        made(name="f", backend="perform")(*args)


def test_inputs_are_told_by_their_place():
    unnamed = tg.vector()
    f = tg.function([{"a": [unnamed]}], unnamed * 2, backend="perform")
    with pytest.raises(ShapeError, match=r"input 0\['a'\]\[0\]: found 0 axes"):
        f({"a": [1.0]})
    large = {"w": np.zeros((100, 100)), "b": [np.zeros(1000)]}
    with pytest.raises(InputError, match=r"function: input 1\['w'\]: found array") as caught:
        tg.function([X, large], X)
    assert len(str(caught.value)) < 200
    with pytest.raises(InputError, match=r"inputs 0 and 1\['b'\]\[1\] are the same variable"):
        tg.function([X, {"b": [B, X]}], X * B)
    with pytest.raises(InputError, match=r"inputs: found {'x': <x.*needed a list"):
        tg.function({"x": X}, X * 2)
    with pytest.raises(InputError, match=r"input 1\['b'\]\[0\], <b.*, is not used"):
        tg.function([X, {"b": [B]}], X * 2)
