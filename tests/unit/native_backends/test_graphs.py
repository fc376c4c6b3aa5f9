"""Whole graphs on the backends that generate code: checks, inner graphs, run-time lengths, memory, source."""

import itertools
import re
import threading
from pathlib import Path

import numpy as np
import pytest

import tg
from tests.enumerate.shrink import read
from tg.errors import BoundsError, NoRuleError, ShapeError
from tg.graph.function_graph import freeze
from tg.graph.nodes import Variable
from tg.ops.indexing import Slice, SliceUpdate
from tg.types.tensor_type import TensorType

pytestmark = pytest.mark.sampled(2)  # of the backends
FOUND = Path(__file__).parents[2] / "enumerate" / "found"


def vector(name, dtype="float64", n=None):
    return tg.Variable(TensorType(dtype, (n,)), name=name)


def test_lengths_that_differ_are_reported(agrees):
    x, y = vector("x"), vector("y")
    agrees([x, y], [x + y, tg.exp(x * y)], [np.ones(3), np.ones(3)])
    agrees([x, y], [x + y, tg.exp(x * y)], [np.ones(3), np.ones(4)])
    agrees([x, y], [tg.sum(x) + x[0], x @ y], [np.ones(3), np.ones(4)])


def test_the_first_check_that_fails_is_the_one_reported(agrees):
    x, y = vector("x"), vector("y")
    agrees([x, y], [tg.max(y), x[10], y[3]], [np.ones(3), np.ones(0)])
    agrees([x, y], [tg.max(y), x[10], y[3]], [np.ones(3), np.ones(2)])
    agrees([x, y], [tg.max(y), x[2], y[3]], [np.ones(3), np.ones(2)])


def test_reshaping_to_another_number_of_elements_is_reported(agrees):
    x, n = vector("x"), tg.scalar("n", dtype="int64")
    for size in (6, 5):
        agrees([x, n], [tg.reshape(x, (n, 2))], [np.arange(12.0), np.asarray(size)])


@pytest.mark.parametrize("step", [1, 2, -1, -3, 2**40])
def test_a_window_begins_inside_from_whatever_start(backend, step):
    x, start, size = vector("x"), tg.scalar("start", dtype="int64"), tg.scalar("size", dtype="int64")
    window = Slice((None,), (None,), (step,))(x, start, size)
    run = tg.function([x, start, size], [window, SliceUpdate((None,), (step,))(x, -window, start)], backend=backend)
    for n, count, first in itertools.product((0, 1, 7), (0, 1, 3), (-(2**63), -2, 0, 3, 5, 2**63 - 1)):
        data, span = np.arange(float(n)), (count - 1) * abs(step)
        if count and span >= n:
            with pytest.raises(BoundsError):
                run(data, first, count)
            continue
        low, high = (0, n - 1 - span) if step > 0 else (span, n - 1)
        places = [max(low, min(first, high)) + k * step for k in range(count)]
        written = data.copy()
        written[places] = -data[places]
        found, updated = run(data, first, count)
        assert np.array_equal(found, data[places])
        assert np.array_equal(updated, written)


def test_lengths_that_depend_on_values(agrees):
    x, n = vector("x"), tg.scalar("n", dtype="int32")
    last = tg.cast(tg.sum(x), "int64")
    outputs = [tg.arange(n), tg.broadcast_to(tg.max(x), (2, n)), tg.arange(last), x[:last] * 2.0, tg.exp(x)]
    agrees([x, n], outputs, [np.array([1.0, 2.0, 0.5]), np.asarray(4, np.int32)])
    agrees([x, n], outputs[1:], [np.array([1.0, -1.0, 0.0]), np.asarray(0, np.int32)])


def test_a_negative_length_is_reported(agrees):
    n = tg.scalar("n", dtype="int64")
    for size in (3, 0, -3):
        agrees([n], [tg.sum(tg.broadcast_to(1.5, (n, n)))], [np.asarray(size)])
        agrees([n], [tg.broadcast_to(1.5, (n, n))], [np.asarray(size)])


def test_memory_that_is_not_there_is_an_error(compiled, frozen_of):
    n = tg.scalar("n", dtype="int64")
    run = compiled(frozen_of([n], [tg.sum(tg.exp(tg.cast(tg.arange(n), "float64"))[::2])])).run
    assert run([np.asarray(1)])[0][0] == 1
    with pytest.raises(MemoryError):
        run([np.asarray(2**50)])
    with pytest.raises(tg.ShapeError, match="needed lengths, and fewer than 2"):
        run([np.asarray(2**61)])


@pytest.mark.parametrize("shape", [(None, None), (0, 2**48), (2**48, 0)])
def test_no_loop_goes_over_a_long_axis_of_an_argument_without_elements(backend, shape):
    x = tg.tensor("x", shape=shape, dtype="int8")
    f = tg.function([x], [x.T, tg.sort(x, 0), -x, tg.cumsum(x, 0)], backend=backend)
    for given in (shape,) if None not in shape else ((0, 2**48), (2**48, 0)):
        assert [y.shape for y in f(np.zeros(given, np.int8))] == [given[::-1], given, given, given]


def test_an_output_that_differs_by_axes_of_length_1_is_made_where_it_belongs(backend):
    x = tg.matrix("x")
    f = tg.function([x], [tg.exp(x)[None], tg.sum(x, axis=1, keepdims=True)], backend=backend)
    a = np.arange(6.0).reshape(2, 3)
    y, z = f(a)
    np.testing.assert_allclose(y, np.exp(a)[None], rtol=1e-15)
    assert z.tolist() == [[3.0], [12.0]]
    assert set(re.findall(r"\bloop\d+", f.source())) == {"loop0"}  # nothing is copied


def inner(x, y):
    return tg.sum(x) * y, tg.max(x), x[1:] - tg.max(y)


def test_inner_graphs(agrees):
    x, y = vector("x"), vector("y")
    outputs = [*tg.call(inner, x, y), *tg.call(inner, y, x)]
    agrees([x, y], outputs, [np.arange(3.0), np.arange(1.0, 5)])


@pytest.mark.parametrize("lengths", [(0, 3), (3, 0), (1, 1), (0, 0)])
def test_checks_of_inner_graphs_reach_the_caller(lengths, agrees):
    x, y = vector("x"), vector("y")
    agrees([x, y], [*tg.call(inner, x, y), y[0]], [np.arange(float(n)) for n in lengths])


def test_an_inner_graph_gives_lengths_that_only_it_knows(agrees):
    def head(x, n):
        return x[:n], tg.arange(n)

    x, n = vector("x"), tg.scalar("n", dtype="int64")
    a, b = tg.call(head, x, n)
    for size in (2, 0, 7):
        agrees([x, n], [a * 2, tg.sum(b), a, a[::-1]], [np.arange(5.0), np.asarray(size)])


def test_outputs_that_are_inputs_constants_and_views_are_copies(agrees):
    x = vector("x")
    c = tg.constant(np.arange(4.0))
    big = tg.constant(np.arange(4000.0))
    agrees([x], [x, x, c, big, x[::-1], tg.reshape(x, (2, -1)), tg.sum(x), tg.constant(2.5)], [np.arange(6.0)])


def test_large_constants_of_inner_graphs(agrees):
    big = tg.constant(np.arange(3000.0))
    x = vector("x")
    agrees([x], [tg.call(lambda v: tg.sum(big * tg.sum(v)), x), tg.sum(big) * x], [np.arange(3.0)])


def test_constants_of_every_dtype_are_exact(agrees):
    values = [np.array([0.1, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1e308]), np.array([0.1, 1e-45, 3e38], np.float32)]
    limits = map(np.iinfo, ("int8", "int64", "uint64", "int32", "uint8"))
    values += [np.array([limit.min, limit.max, 1], limit.dtype) for limit in limits]
    values.append(np.array([True, False]))
    scalars = [v.reshape(-1)[k].reshape(()) for v in values for k in range(v.size)]
    agrees([], [tg.constant(v.copy()) for v in (*values, *map(np.asarray, scalars))], [])


def test_a_long_chain(agrees):
    x = vector("x")
    y = x
    for _ in range(300):
        y = y + 1.5
    agrees([x], [y], [np.arange(3.0)])


def test_eight_threads_share_a_function(compiled, frozen_of):
    x = vector("x")
    run = compiled(frozen_of([x], [tg.exp(x)[::-1] + tg.sum(x)])).run
    wrong = []

    def work(seed):
        a = np.random.default_rng(seed).normal(size=1000 + seed)
        wanted = np.exp(a)[::-1] + a.sum()
        for _ in range(100):
            (y,), _ = run([a])
            if not np.allclose(y, wanted):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_an_op_without_a_rule_is_named(compiled):
    x = vector("x")
    with pytest.raises(NoRuleError, match="Softmax"):
        compiled(freeze([x], [tg.softmax(x)]))


def test_the_source_shows_names_and_lines(compiled, frozen_of):
    x = vector("speed")
    executable = compiled(frozen_of([x], [tg.named(tg.sum(x * 2.0), "energy") + 1.0]))
    for text, name in ((executable.source(), "{}"), (executable.full_source(), "{}_")):
        assert name.format("speed") in text
        assert name.format("energy") in text
        assert "test_graphs.py:" in text


def test_a_function_on_the_backend(backend):
    x = tg.vector("x")
    f = tg.function([x], [tg.softmax(x), tg.logsumexp(x), tg.grad(tg.sum(tg.exp(x) * tg.sin(x)), x)], backend=backend)
    a = np.linspace(-2, 2, 7)
    p, s, g = f(a)
    np.testing.assert_allclose(p, np.exp(a) / np.exp(a).sum(), rtol=1e-14)
    np.testing.assert_allclose(s, np.log(np.exp(a).sum()), rtol=1e-14)
    np.testing.assert_allclose(g, np.exp(a) * (np.sin(a) + np.cos(a)), rtol=1e-14)
    k = tg.scalar("k", dtype="int64")
    g = tg.function([x, k], x[k], backend=backend)
    with pytest.raises(BoundsError):
        g(a, 7)


def test_lengths_of_results_are_asked_for_before_a_check_fails(backend):
    x, y, i = tg.vector("x"), tg.vector("y"), tg.tensor("i", "int64", (None,))
    f = tg.function([x, y, i], [tg.nonzero(x)[0], tg.maximum(x, y[i]) + 1], backend=backend)
    with pytest.raises(ShapeError, match="lengths differ: 7 and 2"):
        f(np.ones(7), np.ones(3), [0, 1])
    with pytest.raises(BoundsError, match="index 5 is out of bounds"):
        f(np.ones(7), np.ones(3), [0, 1, 2, 0, 1, 2, 5])


def test_a_check_of_an_inner_graph_is_told_as_what_it_is_where_loops_make_others_with_them(backend):
    x, z = tg.vector("x"), tg.vector("z")
    i, p = tg.vector("i", dtype="int64"), tg.vector("p", dtype="int64")

    def parts(x, i, z, p):
        return tg.sum(x[i] * 2), tg.max(z), tg.sum(tg.power(p, i))

    f = tg.function([x, i, z, p], list(tg.call(parts, x, i, z, p)), backend=backend)
    ones = np.ones(300, np.int64)
    for indices, of, error, text in (
        (7 * ones, 3, tg.BoundsError, "index 7 is out of bounds for an axis of length 3"),
        (ones, 0, tg.DomainError, "max: found an array of no elements"),
        (-ones, 2, tg.DomainError, "power: found the negative exponent -1"),
    ):
        with pytest.raises(error, match=text):
            f(np.ones(3), indices, np.ones(of), 2 * ones)
    assert [float(v) for v in f(np.ones(3), ones, np.ones(2), 2 * ones)] == [600.0, 1.0, 600.0]


def without_first_rows(x):
    """What is left of an array without its first rows along all axes: its strides are products of n - min(n, 1)."""
    return x[(slice(1, None),) * x.ndim]


def test_code_grows_with_the_number_of_axes_and_not_as_their_products(backend):
    sizes = []
    for axes in (6, 11, 16):
        x = tg.tensor("x", "float64", (None,) * axes)
        sizes.append(len(str(tg.function([x], tg.sum(without_first_rows(x) * 2, (0, -1)), backend=backend).source())))
    assert sizes[2] - sizes[1] < 2 * (sizes[1] - sizes[0])


def cut(x, y, joined, steps):
    """Vectors whose lengths are made of that of the step before three times over."""
    for k in range(steps):
        n = x.shape[0]
        x = joined([x, y])[n // 3 : (n * n + y.shape[0]) // (n + k % 3 + 1) + 2]
    return x


@pytest.mark.long
def test_lengths_in_lengths_grow_with_the_program_and_not_as_its_powers(backend):
    x, y = vector("x"), vector("y")
    found = cut(x, y, tg.concatenate, 14)  # written out the last length has 3**14 words
    program = tg.function([x, y], [found, found.shape[0]], backend=backend)
    for n, m in ((12, 5), (0, 5), (40, 1), (1, 0)):
        a, b = np.arange(float(n)), np.arange(100.0, 100 + m)
        value, length = program(a, b)
        np.testing.assert_array_equal(value, cut(a, b, np.concatenate, 14))
        assert length == len(value)
    assert len(str(program.source())) < 200_000


def test_arrays_of_many_axes_without_their_first_rows(agrees):
    x = tg.tensor("x", "float64", (None,) * 7)
    y = without_first_rows(x)
    outputs = [y, tg.sum(y * 2, (0, 4, -1)), tg.exp(tg.transpose(y)) + 1, tg.cumsum(y, 3), tg.sort(y, 2) * y, y[0]]
    for lengths in ((3, 2, 4, 3, 2, 3, 2), (2, 2, 3, 1, 2, 2, 2)):
        agrees([x], outputs, [np.random.default_rng(0).random(lengths)])


def test_row_loops_are_not_joined_to_loops_that_need_one_another(backend):
    """Two joins, each right alone: a stage of one needed a stage of the other, both ways round."""
    case, *_ = read((FOUND / "loops_that_need_one_another.tg").read_text())
    inputs = [Variable(t) for t in case.frozen.input_types]
    outputs = case.frozen.instantiate(inputs)
    found = tg.function(inputs, outputs, backend=backend)(*case.arrays)
    wanted = tg.function(inputs, outputs, backend="perform", mode="off")(*case.arrays)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-5)
