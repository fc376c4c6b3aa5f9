"""`tg.wrap`: declared types, gradients, batches, errors with the user's line, and what backends make of it."""

from __future__ import annotations

import numpy as np
import pytest

import tg
from tg.link.funcify import FuncifyLinker
from tg.link.linker import Request
from tg.ops.elementwise import arithmetic

X = tg.TensorType("float64", (None,))


def cosine(x):
    return np.cos(x)


WRAPPED = tg.wrap(cosine, infer=lambda x: x, grad=lambda xs, ys, dys: (-dys[0] * tg.sin(xs[0]),))


def test_types_are_declared_by_type_example_or_function():
    x = tg.tensor("x", "float64", (3,))
    assert WRAPPED(x).type == x.type
    assert tg.wrap(cosine, outputs=X)(x).type == X
    assert tg.wrap(cosine, outputs=np.zeros(3))(x).type == x.type
    assert tg.wrap(cosine, outputs=x)(x).type == x.type
    several = tg.wrap(lambda x: (x, 1), outputs=(X, "int64"))(x)
    assert [v.type for v in several] == [X, tg.TensorType("int64")]
    assert isinstance(tg.wrap(cosine, outputs=[X])(x), tuple)
    v = tg.vector("v")
    assert WRAPPED(v).shape == v.shape


def test_values_gradients_and_second_derivatives():
    x = tg.vector("x")
    value = np.array([0.3, -1.0])
    y = tg.sum(WRAPPED(x) * x)
    np.testing.assert_array_equal(WRAPPED(x).eval({x: value}), np.cos(value))
    np.testing.assert_allclose(tg.grad(y, x).eval({x: value}), np.cos(value) - value * np.sin(value), rtol=1e-15)
    want = np.diag(-2 * np.sin(value) - value * np.cos(value))
    np.testing.assert_allclose(tg.hessian(y, x).eval({x: value}), want, rtol=1e-15)
    np.testing.assert_allclose(tg.jvp(WRAPPED(x), x, [2.0, 1.0]).eval({x: value}), -np.sin(value) * [2.0, 1.0])


def test_a_gradient_may_be_a_wrapped_function_and_is_batched_by_calls():
    slope = tg.wrap(lambda x, dy: -dy * np.sin(x), infer=lambda x, dy: x)
    f = tg.wrap(cosine, infer=lambda x: x, grad=lambda xs, ys, dys: slope(xs[0], dys[0]))
    x = tg.vector("x")
    value = np.array([0.3, -1.0, 2.0])
    np.testing.assert_allclose(tg.jacobian(f(x), x).eval({x: value}), np.diag(-np.sin(value)), rtol=1e-15)


def test_a_batch_has_the_gradient_of_its_elements():
    scale = tg.wrap(
        lambda x, s: x * s,
        infer=lambda x, s: x,
        grad=lambda xs, ys, dys: (dys[0] * xs[1], tg.sum(dys[0] * xs[0])),
    )
    x, s = tg.vector("x"), tg.scalar("s")
    rows = tg.jacobian(scale(x, s) ** 2, x)
    total = tg.sum(rows)  # 2 * s**2 * sum(x)
    got = tg.grad(total, [x, s])
    assert got[0].eval({x: [1.0, 2.0], s: 3.0}).tolist() == [18.0, 18.0]
    assert float(got[1].eval({x: [1.0, 2.0], s: 3.0})) == 36.0


def test_several_results_of_which_one_has_a_cotangent():
    f = tg.wrap(
        lambda x: (x * 2, x * 3, 1),
        infer=lambda x: (x, x, "int64"),
        grad=lambda xs, ys, dys: [dys[0] * 2 + dys[1] * 3],
    )
    x = tg.vector("x")
    assert tg.grad(tg.sum(f(x)[1]), x).eval({x: [1.0, 2.0]}).tolist() == [3.0, 3.0]


def test_operands_cannot_be_written_and_results_are_copies():
    kept = np.array([1.0, 2.0])

    def writing(x):
        x[0] = 5.0
        return x

    with pytest.raises(ValueError, match="read-only"):
        tg.wrap(writing, infer=lambda x: x)(tg.constant([1.0])).eval()
    x = tg.vector("x")
    got = tg.wrap(lambda x: kept, infer=lambda x: x)(x).eval({x: [0.0, 0.0]})
    got[0] = 9.0
    assert kept.tolist() == [1.0, 2.0]


def test_it_is_never_called_while_compiling():
    calls = []

    def noted(x):
        calls.append(1)
        return x

    f = tg.function([], tg.wrap(noted, infer=lambda x: x)(tg.constant([1.0])), backend="perform")
    assert calls == []
    f()
    f()
    assert len(calls) == 2


def test_an_exception_keeps_its_class_and_has_the_line():
    def failing(x):
        raise KeyError("missing")

    y = tg.wrap(failing, infer=lambda x: x)(tg.vector("x")) + 1
    with pytest.raises(KeyError, match="missing") as caught:
        y.eval({y.inputs[0].inputs[0]: [1.0, 2.0]})
    assert any("failing(float64[?])" in note and "test_wrapped.py" in note for note in caught.value.__notes__)


@pytest.mark.parametrize(
    ("fn", "error", "text"),
    [
        (lambda x: x.astype(np.float32), tg.DtypeError, r"result 0: found float32\[2\], declared float64\[2\]"),
        (lambda x: x[None], tg.ShapeError, r"found float64\[1, 2\], declared float64\[2\]"),
        (lambda x: x[:1], tg.ShapeError, r"found float64\[1\], declared float64\[2\]"),
        (lambda x: (x, x), tg.InputError, "found 2 results, declared 1"),
        (lambda x: None, tg.DtypeError, "found object"),
    ],
)
def test_results_of_another_type_are_refused(fn, error, text):
    x = tg.vector("x")
    with pytest.raises(error, match=text):
        tg.wrap(fn, infer=lambda x: x, name="f")(x).eval({x: [1.0, 2.0]})


@pytest.mark.parametrize(
    ("wrong", "error", "text"),
    [
        (lambda: tg.wrap(3, outputs=X), tg.InputError, "wrap: found 3, needed a function"),
        (lambda: tg.wrap(cosine), tg.InputError, "wrap: cosine: found neither outputs nor infer"),
        (lambda: tg.wrap(cosine, outputs=X, infer=len), tg.InputError, "found both outputs and infer"),
        (lambda: tg.wrap(cosine, outputs=3), tg.InputError, "outputs: found 3, needed types"),
        (lambda: tg.wrap(cosine, outputs=X, grad=3), tg.InputError, "grad: found 3, needed a function"),
        (lambda: WRAPPED(1.0, 2.0), tg.InputError, "cosine: too many positional arguments"),
        (lambda: tg.wrap(cosine, infer=lambda x: 3)(1.0), tg.InputError, "cosine: infer: found 3, needed types"),
    ],
)
def test_wrong_uses_are_refused(wrong, error, text):
    with pytest.raises(error, match=text):
        wrong()


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        (lambda xs, ys, dys: (), tg.InputError, "grad: found 0 cotangents, needed 1"),
        (lambda xs, ys, dys: tg.sum(dys[0]), tg.ShapeError, r"cotangent 0: found float64\[\], needed float64\[\?\]"),
    ],
)
def test_a_gradient_of_another_form_is_refused(given, error, text):
    x = tg.vector("x")
    with pytest.raises(error, match=text):
        tg.grad(tg.sum(tg.wrap(cosine, infer=lambda x: x, grad=given)(x)), x)


def test_it_is_printed_and_not_parsed():
    text = tg.to_text(WRAPPED(tg.vector("x")))
    assert "opaque Wrapped{" in text
    assert "cosine" in text
    with pytest.raises(tg.TextError):
        tg.parse(text)


def programs(jit):
    """A program with a wrapped function in it, by a linker of an array library that is NumPy."""
    linker = FuncifyLinker(to_native=np.array, to_numpy=np.asarray, jit=jit)
    x = tg.vector("x")
    graph = tg.function([x], WRAPPED(x + 1) * 2, backend="perform", mode="off").graph
    rules = {arithmetic.add: np.add, arithmetic.multiply: np.multiply}
    return linker.compile(graph, Request("mine", None, rules.get))


def test_a_backend_that_runs_node_by_node_calls_it():
    (got,), status = programs(None).run([np.array([0.0, 1.0])])
    assert status == ()
    np.testing.assert_allclose(got, 2 * np.cos([1.0, 2.0]), rtol=1e-15)


def test_a_backend_that_compiles_refuses_it_with_the_reason():
    with pytest.raises(tg.NoRuleError, match="'mine' does not run cosine: a compiled program cannot call") as caught:
        programs(lambda function, options: function)
    assert "test_wrapped.py" in str(caught.value)
