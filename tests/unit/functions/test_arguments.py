"""What a compiled function takes and refuses, and programs whose shapes fit for some patterns of ones only."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import tg
from tg.functions.compiled import Function


def test_a_program_whose_shapes_fit_only_for_length_1_runs_for_length_1():
    x = tg.vector("x")
    f = tg.function([x], [x + np.ones(3), x + np.ones(4)], backend="perform")
    assert [v.tolist() for v in f([2.0])] == [[3.0] * 3, [3.0] * 4]
    with pytest.raises(tg.ShapeError, match="3 and 4"):
        f([1.0, 2.0, 3.0])


def test_only_the_axis_that_has_to_be_1_is_taken_to_be_1():
    x, y = tg.matrix("x"), tg.tensor("y", shape=(5, None))
    f = tg.function([x, y], [tg.squeeze(x, 0), x + y, tg.reshape(x, (-1, 3))], backend="perform")
    assert f(np.ones((1, 3)), np.ones((5, 3)))[1].shape == (5, 3)


def test_a_program_whose_shapes_never_fit_is_refused_when_it_is_made():
    x = tg.vector("x")
    with pytest.raises(tg.ShapeError):
        tg.function([x], [x + np.ones(3), tg.concatenate([x, x]) + np.ones(5)], backend="perform")


def test_an_expansion_may_know_a_length_only_through_an_equality():
    x = tg.tensor("x", shape=(4, None, None))
    y = tg.reshape(x, tuple(reversed(x.shape))) - x  # the last length is 4, or 1
    f = tg.function([x], [y, tg.logsumexp(x, 0)], backend="perform")
    assert f(np.zeros((4, 2, 1)))[1].shape == (2, 1)
    assert f(np.zeros((4, 2, 4)))[1].shape == (2, 4)


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (np.ma.array([1.0, 2.0], mask=[False, True]), tg.InputError, "masked array"),
        (np.ones(2, np.longdouble), tg.DtypeError, "input 'x': found dtype"),
        ([None], tg.InputError, "input 'x': found"),
    ],
)
def test_an_argument_that_would_lose_something_is_refused_by_the_inputs_name(value, error, text):
    x = tg.vector("x")
    with pytest.raises(error, match=text):
        tg.function([x], x, backend="perform")(value)


def test_a_python_integer_of_any_size_is_a_float():
    x, k = tg.scalar("x"), tg.scalar("k", dtype="int64")
    assert float(tg.function([x], x, backend="perform")(2**70)) == 2.0**70
    with pytest.raises(tg.RangeError, match=str(2**70)):
        tg.function([k], k, backend="perform")(2**70)


def test_a_name_that_several_inputs_have_does_not_bind():
    a, b = tg.scalar("q"), tg.scalar("q")
    f = tg.function([a, b], a - b, backend="perform")
    assert float(f(3.0, 1.0)) == 2.0
    with pytest.raises(tg.InputError, match="several inputs are named 'q'"):
        f(3.0, q=1.0)


def test_givens_and_defaults_name_what_is_no_variable():
    x = tg.scalar("x")
    with pytest.raises(tg.InputError, match="givens: found 3"):
        tg.function([x], x, givens={3: x}, backend="perform")
    with pytest.raises(tg.InputError, match="defaults: found 'x'"):
        tg.function([x], x, defaults={"x": 1.0}, backend="perform")


def test_an_update_of_another_length_is_refused_with_its_line_and_changes_nothing():
    s, n = tg.shared(np.ones(3), "s", shape=(3,)), tg.scalar("n", dtype="int64")
    f = tg.function([n], [], updates={s: tg.full((n,), 2.0)}, backend="perform")
    with pytest.raises(tg.ShapeError, match=r"(?s)found shape \(4,\).*test_arguments.py"):
        f(4)
    assert s.get_value().tolist() == [1.0, 1.0, 1.0]
    f(3)
    assert s.get_value().tolist() == [2.0, 2.0, 2.0]


def test_a_signature_names_the_inputs():
    x, y = tg.scalar("x"), tg.scalar("y")
    f = tg.function([x, y], x + y, defaults={y: 2.0}, backend="perform")
    assert str(inspect.signature(f)) == "(x, y=array(2.))"
    inspect.signature(f).bind(1, y=2)


@pytest.mark.parametrize("names", [("x", None), ("x", "x"), ("x", "a b"), ("x", "class")])
def test_names_that_make_no_signature_are_left_out(names):
    a, b = map(tg.scalar, names)
    assert str(inspect.signature(tg.function([a, b], a + b, backend="perform"))) == "(*args, **kwargs)"


def test_the_class_has_a_signature_of_its_own():
    assert "request" in inspect.signature(Function).parameters


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_wide_integers_go_where_floats_hold_them_and_nowhere_else(dtype):
    x, z = tg.vector("x"), tg.vector("z", dtype="complex128")
    f = tg.function([x, z], [x, z], backend="perform")
    limit = int(np.iinfo(dtype).max)
    kept = np.array([0, 2**53, 2**53 + 2, 2**62, limit // 2 + 1], dtype)
    for found in f(kept, kept):
        assert [int(v.real) for v in found] == [int(v) for v in kept]
    for value in (2**53 + 1, limit, limit - 1, 2**62 + 1):
        for place in (0, 1):
            given = [kept, kept]
            given[place] = np.array([1, value], dtype)
            with pytest.raises(tg.DtypeError, match=f"input '{'xz'[place]}': found {value}, needed integers that"):
                f(*given)
    assert f([2**53 + 1], [0])[0].tolist() == [float(2**53)]  # Python's numbers are weak: they take the input's dtype


def test_values_are_given_by_name():
    x, y = tg.vector("x"), tg.scalar("rate")
    out = x * y
    assert out.eval({"x": [1.0, 2.0], "rate": 3.0}).tolist() == [3.0, 6.0]
    assert out.eval({x: [1.0, 2.0], "rate": 3.0}).tolist() == [3.0, 6.0]
    with pytest.raises(
        tg.InputError, match=r"eval: found 0 inputs named 'rates', needed one\n(.*\n)*  hint: rate exists"
    ):
        out.eval({x: [1.0], "rates": 3.0})
    both = x + tg.vector("x")
    with pytest.raises(tg.InputError, match="eval: found 2 inputs named 'x'"):
        both.eval({"x": [1.0]})


class Differentiated:
    """What a tensor of PyTorch is that requires a gradient: NumPy gets a RuntimeError of it."""

    requires_grad = True

    def __array__(self, *args, **kwargs):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad")

    def __repr__(self):
        return "tensor([1.], requires_grad=True)"


def test_a_tensor_that_requires_a_gradient_is_refused_with_what_would_do():
    x = tg.vector("x")
    f = tg.function([x], x, backend="perform")
    for call in (
        lambda: f(Differentiated()),
        lambda: tg.constant(Differentiated()),
        lambda: tg.jit(tg.exp)(Differentiated()),
    ):
        with pytest.raises(tg.InputError, match=r"requires_grad=True\), needed an array(.|\n)*hint: value.detach\(\)"):
            call()
