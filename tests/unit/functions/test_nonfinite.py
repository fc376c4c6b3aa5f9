"""The NaN guard: the node that first makes a NaN or an infinity is found, on every backend, in a few partial runs."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

import tg

pytestmark = pytest.mark.sampled(2)

BACKENDS = [one.name for one in tg.backends() if one.is_available]


def guarded(inputs, outputs, backend="perform", **options):
    return tg.function(inputs, outputs, backend=backend, nan_guard=True, on_unused_input="ignore", **options)


def found(f, *arrays):
    with pytest.raises(tg.NonFiniteError) as caught:
        f(*arrays)
    return caught.value.found


def long_program(length, dtype="float64"):
    """A program of about 2 * length nodes, of which one divides by y - 3."""
    x, y = tg.vector("x", dtype=dtype), tg.vector("y", dtype=dtype)
    v = x
    for k in range(length):
        v = tg.sin(v) + y if k % 2 else tg.exp(v) * 0.5
        if k == length * 7 // 10:
            v = v / (y - 3.0)
    return x, y, v


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_node_its_line_and_its_operands_are_told(backend):
    dtype = "float32" if backend == "mlx" else "float64"
    x, y = tg.vector("x", dtype=dtype), tg.vector("y", dtype=dtype)
    root = tg.sqrt(x - 2.0)
    f = guarded([x, y], tg.sum(tg.exp(root) * y), backend)
    assert np.isfinite(f(np.array([3, 4], dtype), np.array([1, 2], dtype)))
    error = found(f, np.array([3, 1.5, 4], dtype), np.array([1, 2, 3], dtype))
    assert "sqrt(" in error.node
    assert error.loc.source == "root = tg.sqrt(x - 2.0)"
    assert error.place == (1,)
    assert math.isnan(error.value)
    assert "from -0.5 to 2.0; -0.5 at [1]" in error.operands[0]


@pytest.mark.parametrize("backend", ["perform", pytest.param("c", marks=pytest.mark.long)])
def test_five_hundred_nodes_take_a_few_partial_runs(backend):
    x, y, v = long_program(250)
    f = guarded([x, y], v, backend)
    ones = np.linspace(0, 1, 9)
    assert f.find_nonfinite(ones, ones) is None
    y_given = np.where(np.arange(9) == 4, 3.0, ones)
    error = f.find_nonfinite(ones, y_given)
    assert error.node.partition(" = ")[2].startswith("divide(")
    assert error.place == (4,)
    assert error.runs <= math.log2(500)


@pytest.mark.parametrize("backend", [b for b in BACKENDS if b not in ("perform", "c")])
def test_a_small_program_takes_as_few_on_every_backend(backend):
    x, y, v = long_program(8, "float32" if backend == "mlx" else "float64")
    f = guarded([x, y], v, backend)
    ones = np.linspace(0, 1, 9).astype(x.dtype)
    error = found(f, ones, np.where(np.arange(9) == 4, 3, ones).astype(x.dtype))
    assert "divide(" in error.node
    assert error.runs <= 4


def test_where_an_infinity_becomes_nan_both_are_told():
    x = tg.vector("x")
    f = guarded([x], tg.exp(x) / tg.sum(tg.exp(x)), mode="off")
    error = found(f, [1.0, 1000.0])
    assert "exp(x)" in error.node
    assert error.place == (1,)
    assert len(error.spread) == 1
    assert "divide(" in error.spread[0]


def test_an_infinity_that_does_no_harm_is_not_blamed():
    x, y = tg.vector("x"), tg.vector("y")
    harmless = tg.exp(tg.log(x))  # exp(-inf) is 0
    f = guarded([x, y], harmless + y / y, mode="off")
    assert list(f([0.0], [2.0])) == [1.0]
    assert "divide(" in found(f, [0.0, 1.0], [0.0, 1.0]).node


def test_a_masked_infinity_is_not_blamed_for_another_nan():
    x, y = tg.vector("x"), tg.vector("y")
    masked = tg.where(x > 0, x, -np.inf)
    f = guarded([x, y], tg.maximum(masked, 0.0) + y / y, mode="off")
    assert "divide(" in found(f, [-1.0, 1.0], [0.0, 1.0]).node


def test_nan_made_beside_an_infinity_is_put_down_to_the_node_that_made_it():
    x, y = tg.vector("x"), tg.vector("y")
    f = guarded([x, y], tg.exp(x) / y * 1.0, mode="off")
    error = found(f, [1000.0, -1000.0], [1.0, 0.0])
    assert "divide(" in error.node
    assert error.place == (1,)


def test_inputs_and_constants_are_named_where_they_are_the_source():
    x = tg.vector("x")
    f = guarded([x], x * 2.0)
    error = found(f, [1.0, np.nan])
    assert "which input 'x' has" in str(error)
    assert error.place == (1,)
    g = guarded([x], x + tg.constant(np.array([1.0, np.inf])))
    assert "which a constant has" in str(found(g, [0.0, 0.0]))


@pytest.mark.parametrize("backend", ["perform", "c"])
def test_a_node_inside_a_called_graph_is_found(backend):
    x = tg.vector("x")
    y = tg.call(lambda v: tg.call(lambda u: tg.log(u) * 2, v - 1), tg.exp(x))
    error = found(guarded([x], tg.sum(y), backend), [1.0, 0.0])
    assert "log(" in error.node
    assert error.loc.source.startswith("y = tg.call(lambda v")
    assert error.value == -np.inf
    assert error.place == (1,)


@pytest.mark.parametrize("backend", ["perform", "c"])
def test_a_node_in_a_step_of_a_loop_is_found(backend):
    x = tg.vector("x")
    y, _ = tg.scan(lambda c, v: (c + tg.log(v), None), 0.0, x)
    error = found(guarded([x], y, backend), [1.0, 2.0, 0.0, 3.0])
    assert "log(" in error.node
    assert error.loc.source.startswith("y, _ = tg.scan(lambda c, v")
    assert error.value == -np.inf
    guarded([x], y, backend)([1.0, 2.0])


def test_rules_that_made_the_node_are_named():
    x = tg.vector("x")
    error = found(guarded([x], tg.log(1 + x)), [-2.0])
    assert "log1p(x)" in error.node
    assert "log_of_one_plus" in error.rules
    assert "made by" in str(error)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64", "complex128"])
def test_every_floating_dtype_is_guarded(dtype):
    x = tg.vector("x", dtype=dtype)
    f = guarded([x], x / (x - x))
    array = np.array([1, 2], dtype) if dtype != "bfloat16" else np.array([1, 2], x.type.numpy_dtype)
    assert "divide(" in found(f, array).node or "subtract(" in found(f, array).node


def test_integers_empty_arrays_and_scalars_are_finite():
    x, n, s = tg.matrix("x"), tg.vector("n", dtype="int64"), tg.scalar("s")
    f = guarded([x, n, s], [tg.exp(x), n // 1, 1 / s])
    f(np.zeros((0, 3)), [1, 2], 2.0)
    error = found(f, np.zeros((0, 3)), [1, 2], 0.0)
    assert error.place == ()
    assert error.value == np.inf


def test_a_length_of_one_is_guarded_in_its_own_program():
    x, y = tg.vector("x"), tg.vector("y")
    f = guarded([x, y], tg.log(x) * y)
    assert found(f, [0.0], [1.0, 2.0]).place == (0,)
    assert found(f, [1.0, 0.0], [1.0, 2.0]).place == (1,)


def test_nothing_is_updated_where_the_new_value_is_not_finite():
    s, x = tg.shared(np.array([1.0])), tg.vector("x")
    f = tg.function([x], [], updates={s: s / x}, backend="perform", nan_guard=True)
    f([2.0])
    found(f, [0.0])
    assert s.get_value() == [0.5]
    assert f.find_nonfinite([4.0]) is None
    assert s.get_value() == [0.5]


def test_the_search_needs_no_guard():
    x = tg.vector("x")
    f = tg.function([x], tg.log(x), backend="perform")
    assert list(f([0.0])) == [-np.inf]
    assert "log(x)" in f.find_nonfinite([0.0]).node
    assert f.find_nonfinite([1.0]) is None
    assert "log(x)" in f.find_nonfinite(x=[0.0]).node


def test_configuration_copies_pickles_and_jit_take_the_guard():
    x = tg.vector("x")
    with tg.config(nan_guard=True):
        f = tg.function([x], tg.log(x), backend="perform")
    for g in (f, f.copy(), pickle.loads(pickle.dumps(f)), tg.jit(tg.log, nan_guard=True, backend="perform")):
        with pytest.raises(tg.NonFiniteError):
            g(np.array([0.0]))
    with tg.config(nan_guard=True):
        assert tg.function([x], tg.log(x), backend="perform", nan_guard=False)([0.0]) == [-np.inf]


def test_native_outputs_are_guarded():
    x = tg.vector("x")
    found(guarded([x], tg.log(x), output="native"), [0.0])


def test_the_guard_is_a_floating_point_error():
    assert issubclass(tg.NonFiniteError, FloatingPointError)
