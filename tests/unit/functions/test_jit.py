"""`tg.jit`: structures, signatures, static arguments, gradients through it, threads, wrong uses."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
import pytest

import tg


@tg.jit(backend="perform")
def layer(params, x, *rest, k=2):
    h = np.tanh(x @ params["w"] + params["b"])
    return {"h": h, "more": (np.sum(h) * k, [r + 1 for r in rest])}


def test_structures_go_in_and_out():
    params = {"w": np.full((3, 2), 0.5), "b": np.array([1.0, -1.0])}
    x = np.arange(6.0).reshape(2, 3)
    got = layer(params, x, 1, 2.5, k=3.0)
    h = np.tanh(x @ params["w"] + params["b"])
    np.testing.assert_allclose(got["h"], h, rtol=1e-15)
    assert float(got["more"][0]) == pytest.approx(h.sum() * 3, rel=1e-15)
    assert [v.tolist() for v in got["more"][1]] == [2, 3.5]
    assert [v.dtype.name for v in got["more"][1]] == ["int64", "float64"]


def test_one_compilation_for_each_kind_of_arguments_and_none_for_other_lengths():
    traced = []

    @tg.jit(backend="perform")
    def f(x, y):
        traced.append(1)
        return x * y

    for n in (2, 3, 7):
        assert f(np.ones(n), np.full(n, 2.0)).tolist() == [2.0] * n
    assert len(traced) == 1
    assert f(np.ones(1), np.array([2.0, 3.0])).tolist() == [2.0, 3.0]  # a pattern of ones: compiled, not traced
    f(np.ones((2, 2)), np.ones(2))
    f(np.ones(2, np.float32), np.ones(2))
    f(y=np.ones(2), x=np.ones(2))
    assert len(traced) == 3
    assert len(f.functions) == 3


def test_nesting_is_part_of_the_kind():
    @tg.jit(backend="perform")
    def first(x):
        return x[0] if isinstance(x, list) else x

    a = np.array([1.0, 2.0])
    assert first([a]).tolist() == [1.0, 2.0]
    assert first(a).tolist() == [1.0, 2.0]
    assert first([a, a]).tolist() == [1.0, 2.0]
    assert len(first.functions) == 3


def test_static_arguments_are_python_values():
    @tg.jit(backend="perform", static_argnames="n", static_argnums=-1)
    def power(x, n, kind):
        for _ in range(n):
            x = x * x
        return x if kind == "plain" else -x

    assert float(power(2.0, 3, "plain")) == 256.0
    assert float(power(2.0, n=2, kind="other")) == -16.0
    assert len(power.functions) == 2
    assert float(power(2.0, True, "plain")) == 4.0
    assert len(power.functions) == 3  # True and 1 are two values
    with pytest.raises(tg.InputError, match="unhashable"):
        power(2.0, [3], "plain")


def test_known_lengths_can_be_looped_over():
    @tg.jit(backend="perform", static_shapes=True)
    def total(x):
        return sum(row * k for k, row in enumerate(x))

    assert total(np.ones((3, 2))).tolist() == [3.0, 3.0]
    assert total(np.ones((2, 2))).tolist() == [1.0, 1.0]


def test_variables_inline_so_that_gradients_go_through():
    @tg.jit
    def normalized(x):
        return x / np.sqrt(np.sum(x * x))

    @tg.jit(backend="perform")
    def outer(x):
        return normalized(x)[0] * 2

    x = tg.vector("x")
    assert tg.grad(normalized(x)[0], x).eval({x: [0.0, 2.0]}).tolist() == [0.5, 0.0]
    assert float(outer(np.array([3.0, 4.0]))) == pytest.approx(1.2, rel=1e-15)
    assert normalized.functions == ()
    mixed = tg.jit(lambda a, b: a + b)(x, np.array([1.0, 2.0]))
    assert mixed.eval({x: [1.0, 1.0]}).tolist() == [2.0, 3.0]


@dataclass(frozen=True)
class State:
    position: object
    speed: object


def test_dataclasses_and_none_are_structures():
    @tg.jit(backend="perform")
    def step(state, dt):
        return State(state.position + state.speed * dt, state.speed), None

    state, nothing = step(State(np.zeros(2), np.ones(2)), 0.5)
    assert state.position.tolist() == [0.5, 0.5]
    assert nothing is None


def test_methods_can_be_jitted():
    class Model:
        @tg.jit(backend="perform", static_argnums=0)
        def double(self, x):
            """Twice."""
            return x * 2

    assert float(Model().double(3.0)) == 6.0
    assert Model.double.__doc__ == "Twice."


def test_shared_variables_are_read_at_every_call():
    rate = tg.shared(2.0)
    f = tg.jit(lambda x: x * rate, backend="perform")
    assert float(f(3.0)) == 6.0
    rate.set_value(5.0)
    assert float(f(3.0)) == 15.0


def test_the_configuration_is_part_of_the_kind():
    f = tg.jit(lambda x: x + 1)
    with tg.config(backend="perform"):
        f(np.ones(2))
        assert f.functions[0].backend == "perform"
    with tg.config(backend="perform", mode="off"):
        f(np.ones(2))
    assert len(f.functions) == 2


def test_many_threads_trace_once():
    traced = []

    @tg.jit(backend="perform")
    def f(x):
        traced.append(1)
        return tg.cumsum(x) * 2

    wrong = []

    def work(k):
        for n in range(1, 20):
            x = np.full(n + 1, float(k))
            if not np.array_equal(f(x), np.cumsum(x) * 2):
                wrong.append((k, n))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []
    assert len(traced) == 1


def test_the_oldest_kinds_are_forgotten(monkeypatch):
    monkeypatch.setattr("tg.functions.jit.KEPT", 3)
    f = tg.jit(lambda x, n: x * n, backend="perform", static_argnames="n")
    assert [float(f(1.0, n)) for n in range(5)] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert len(f.functions) == 3


def test_asking_for_a_value_says_what_to_do():
    @tg.jit(backend="perform")
    def relu(x):
        return x if x > 0 else 0.0 * x

    @tg.jit(backend="perform")
    def repeat(x, n):
        for _ in range(n):
            x = x * 2
        return x

    with pytest.raises(tg.SymbolicError, match=r"tg\.where") as caught:
        relu(1.0)
    assert any("while tracing relu(x: float64[])" in note for note in caught.value.__notes__)
    with pytest.raises(tg.SymbolicError) as caught:
        repeat(1.0, 2)
    assert any("static_argnames" in note for note in caught.value.__notes__)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda f: f("a"), tg.InputError, "argument x: found 'a', needed an array or a number"),
        (lambda f: f(np.array([object()])), tg.InputError, "argument x"),
        (lambda f: f(1.0, 2.0), tg.InputError, "too many positional arguments"),
        (lambda f: f(), tg.InputError, "missing a required argument: 'x'"),
        (lambda f: tg.jit(3), tg.InputError, "jit: found 3, needed a function"),
        (lambda f: tg.jit(lambda x: x, static_argnames="y"), tg.OptionError, "found 'y', needed one of x"),
        (lambda f: tg.jit(lambda x: x, static_argnums=1), tg.OptionError, "static_argnums: found 1"),
    ],
)
def test_wrong_uses_are_refused(call, error, text):
    with pytest.raises(error, match=text):
        call(tg.jit(lambda x: x * 2, backend="perform"))


def test_lower_gives_the_compiled_function():
    f = tg.jit(lambda pair: pair[0] + pair[1], backend="perform")
    g = f.lower((1.0, 2.0))
    assert float(g(3.0, 4.0)) == 7.0
    assert g is f.functions[0]
    assert "pair[0]" in repr(g)


def test_dicts_filled_in_another_order_are_one_kind():
    @tg.jit
    def difference(p, *, q):
        return {"p": p["a"] - p["b"], "q": [q["y"], q["x"]["d"]]}

    first = difference({"a": 5.0, "b": 2.0}, q={"x": {"c": 1.0, "d": 2.0}, "y": 3.0})
    second = difference({"b": 2.0, "a": 5.0}, q={"y": 3.0, "x": {"d": 2.0, "c": 1.0}})
    assert first == second == {"p": 3.0, "q": [3.0, 2.0]}
    assert difference.compiles == 1
    difference({1: 2.0, "a": 5.0, "b": 2.0}, q={"y": 3.0, "x": {"d": 2.0}})
    assert difference.compiles == 2
