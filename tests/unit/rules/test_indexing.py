"""Slices, gathers and updates after rewriting: what is left of them, and that they say the same."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tg
from tg.errors import BoundsError
from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.ops.indexing import Scatter, Slice, SliceUpdate, WrapIndex
from tg.ops.shape import AxisLength, Concatenate
from tg.rewrite.driver import rewrite
from tg.rules import indexing
from tg.rules.catalog import PASSES, RULES
from tg.rules.indexing.bounds import at_most, interval, steps_of
from tg.rules.indexing.windows import Window, are_apart, composed, within
from tg.types import lengths


class Plugin:
    """The rewrites of one plugin."""

    def __init__(self, rules, passes):
        self.rules, self.passes = tuple(rules), tuple(passes)


ALL = Plugin(RULES, PASSES)
OWN = Plugin(indexing.RULES, indexing.PASSES)


def rewritten(inputs, outputs, plugin=ALL, **options):
    graph = FunctionGraph.of(inputs, outputs)
    return rewrite(graph, [plugin], supported=lambda op, types: True, **options)


def both(inputs, outputs, plugin=ALL, **options):
    return FunctionGraph.of(inputs, outputs).freeze(), rewritten(inputs, outputs, plugin, **options)


def ops_of(frozen, *kinds):
    """The ops of these classes that a program computes, apart from those that checks need."""
    return [node.op for node in frozen.nodes if isinstance(node.op, kinds)]


def same_as(found, wanted, inputs):
    return found == rewritten(inputs, [wanted])


X = tg.vector("x")

TABLE = tg.tensor("table", shape=(6, 4))


# windows and bounds


@pytest.mark.parametrize("step", [-3, -2, -1, 1, 2, 3])
@pytest.mark.parametrize("second", [-2, -1, 1, 2])
def test_two_windows_are_one(step, second):
    n = 12
    whole = np.arange(n)
    for start in range(n):
        for size in range(1, n):
            inner = Window(start, size, step)
            if not 0 <= start + (size - 1) * step < n:
                continue
            first = whole[start::step][:size]
            for begin in range(size):
                for count in range(1, size + 1):
                    if not 0 <= begin + (count - 1) * second < size:
                        continue
                    w = composed(Window(begin, count, second), inner, n) or Window(0, n, 1)
                    wanted = first[begin::second][:count]
                    np.testing.assert_array_equal(w.start + w.step * np.arange(w.size), wanted)


@given(st.data())
@settings(max_examples=300)
def test_windows_meet_where_their_positions_do(data):
    n = data.draw(st.integers(1, 10))
    a, b = data.draw(windows(n)), data.draw(windows(n))
    places, others = (w.start + w.step * np.arange(w.size) for w in (a, b))
    assert not are_apart(a, b, n) or not set(places) & set(others)
    try:
        found = within(a, b, n)
    except LookupError:
        return
    inner = found or Window(0, b.size, 1)
    np.testing.assert_array_equal(others[inner.start + inner.step * np.arange(inner.size)], places)


@st.composite
def windows(draw, n):
    start = draw(st.integers(0, n - 1))
    step = draw(st.sampled_from([-3, -2, -1, 1, 2, 3]))
    most = (n - 1 - start) // step if step > 0 else start // -step
    return Window(start, draw(st.integers(1, most + 1)), step)


def test_lengths_are_compared_by_the_bounds_of_their_atoms():
    n = X.shape[0]
    half = lengths.floor_divide(lengths.add(n, 1), 2)
    assert at_most(lengths.minimum(n, 3), n)
    assert at_most(lengths.multiply(2, lengths.subtract(half, 1)), lengths.subtract(n, 1)) is True
    assert not at_most(1, n)
    assert not at_most(half, lengths.subtract(n, 1))
    assert not at_most(n, lengths.minimum(n, 3))
    assert at_most(lengths.maximum(lengths.subtract(n, 4), 0), n)


@pytest.mark.parametrize(
    ("make", "low", "high"),
    [
        (lambda i: i % 5, 0, 4),
        (lambda i: tg.clip(i, 0, 3), 0, 3),
        (lambda i: tg.minimum(tg.maximum(i, 2), 9) * -2 + 1, -17, -3),
        (lambda i: tg.cast(i > 0, "int64"), 0, 1),
        (lambda i: tg.cast(tg.cast(i, "uint8"), "int64"), 0, 255),
        (lambda i: tg.where(i > 0, 3, tg.arange(4)), 0, 3),
        (lambda i: tg.argsort(i), 0, 3),
        (lambda i: tg.concatenate([i % 3, -(i % 7)]), -6, 2),
    ],
)
def test_the_elements_of_integers_lie_between_their_bounds(make, low, high):
    i = tg.tensor("i", shape=(4,), dtype="int64")
    assert interval(make(i)) == (low, high)


def test_nothing_is_said_of_integers_that_may_wrap_around():
    i = tg.tensor("i", shape=(4,), dtype="int64")
    assert interval(tg.maximum(i, 0) + tg.maximum(i, 0)) == (None, None)
    assert interval(tg.cast(tg.cast(i, "uint64"), "int64")) == (None, None)
    assert interval(-tg.cast(i, "uint8")) == (0, 255)
    assert interval(tg.cast(i, "int8") + tg.cast(i, "int8")) == (-128, 127)
    wide = tg.cast(tg.cast(i, "int32"), "int64")
    assert interval(wide * wide * wide) == (None, None)


def test_nothing_is_said_of_lengths_that_wrap_around_where_they_are_computed_with():
    i, least = tg.vector("i", dtype="int64"), tg.constant(np.array(-(2**63)))
    made = [i.shape[0] * least + 0, tg.minimum(-(least + 0), i.shape[0] * 1), i.shape[0] * 2**61 * 2]
    for n in (1, 2, 3, 4):
        with np.errstate(over="ignore"):
            low = np.int64(-(2**63))
            wanted = [np.int64(n) * low, min(-low, np.int64(n)), np.int64(n) * 2**61 * 2]
        found = [tg.less(y, 0) for y in made]
        array = [np.zeros(n, np.int64)]
        assert [bool(y) for y in interpret(rewritten([i], found), array)] == [bool(w < 0) for w in wanted]


@pytest.mark.parametrize(("factor", "n"), [(2**53 - 1, 1025), (2**31, 2**40), (2**15, 2**48), (2**14, 2**48)])
def test_lengths_times_numbers_wrap_around_as_integers(factor, n):
    x = tg.vector("x")
    m = AxisLength(-1)(x) * factor
    made = [m < 0, m > 0, tg.minimum(m, 4) < 0, tg.maximum(m, x.shape[0]), tg.clip(m, 0, 5) > 0]
    with np.errstate(over="ignore"):
        value = np.int64(n) * np.int64(factor)
    wanted = [value < 0, value > 0, min(value, 4) < 0, max(value, n), min(max(value, 0), 5) > 0]
    assert [y.item() for y in interpret(rewritten([x], made), [np.broadcast_to(0.0, (n,))])] == wanted


def test_evenly_spaced_integers_are_found():
    n = tg.vector("x").shape[0]
    assert steps_of(tg.arange(3, 11, 2)) == (3, 4, 2)
    assert steps_of(4 - tg.arange(3)) == (4, 3, -1)
    assert steps_of(tg.constant(np.array([5, 3, 1]))) == (5, 3, -2)
    assert steps_of(tg.constant(np.array([5, 3, 2]))) is None
    assert steps_of(tg.constant(np.array([5, 5]))) is None
    found = steps_of(tg.arange(n) * 2 + 1)
    assert found is not None
    assert lengths.same(found.size, n)


# slices


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (lambda x: x[:], lambda x: x),
        (lambda x: x[::-1][::-1], lambda x: x),
        (lambda x: x[1:][1:], lambda x: x[2:]),
        (lambda x: x[::2][::-1][1:], lambda x: x[2::-2]),
        (lambda x: x.T[1], lambda x: x[:, 1]),
        (lambda x: x[:, None, :][1:, 0], lambda x: x[1:]),
        (lambda x: tg.broadcast_to(x, (3, 6, 4))[1, 2], lambda x: x[2]),
        (lambda x: x.reshape(2, 3, 4)[1], lambda x: x[3:]),
        (lambda x: x.reshape(6, 2, 2)[1:3], lambda x: x[1:3].reshape(2, 2, 2)),
        (lambda x: tg.concatenate([x, x * 2])[7:9], lambda x: (x * 2)[1:3]),
        (lambda x: tg.concatenate([x, -x])[4:9], lambda x: tg.concatenate([x[4:], -x[:3]])),
        (lambda x: tg.concatenate([x, -x])[8:3:-1], lambda x: tg.concatenate([(-x)[2::-1], x[:3:-1]])),
        (lambda x: tg.stack([x, -x, 2 * x])[2, 1], lambda x: 2 * x[1]),
        (lambda x: (x * 2 + 1)[3, 1], lambda x: x[3, 1] * 2 + 1),
        (lambda x: tg.exp(x + x[0])[1:3], lambda x: tg.exp(x[1:3] + x[0])),
        (lambda x: tg.max(tg.exp(x), axis=1)[2], lambda x: tg.max(tg.exp(x[2:3]), axis=1)[0]),
        (lambda x: tg.sort(tg.exp(x), axis=1)[2:4], lambda x: tg.sort(tg.exp(x[2:4]), axis=1)),
        (lambda x: tg.sum(tg.exp(x), axis=0)[1:3], lambda x: tg.sum(tg.exp(x[:, 1:3]), axis=0)),
        (lambda x: (tg.exp(x) @ x.T)[1:3, 2:], lambda x: tg.exp(x[1:3]) @ x.T[:, 2:]),
        (lambda x: tg.softmax(tg.exp(x), axis=1)[2:4], lambda x: tg.softmax(tg.exp(x[2:4]), axis=1)),
        (lambda x: tg.cumsum(tg.exp(x), axis=0)[:2], lambda x: tg.cumsum(tg.exp(x[:2]), axis=0)),
        (lambda x: tg.arange(10)[x.shape[0] :], lambda x: tg.arange(6, 10)),
        (lambda x: tg.eye(6)[2, 1:3], lambda x: tg.constant(np.array([0.0, 1.0]))),
    ],
)
def test_only_what_is_read_is_computed(before, after):
    assert same_as(rewritten([TABLE], [before(TABLE)]), after(TABLE), [TABLE])


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x[1:][2:][::-1],
        lambda x: x[1:][:-1][0:4],
        lambda x: x[::2][::-1][1:],
        lambda x: x[2:][::3],
        lambda x: x[:-1][1:],
        lambda x: x[-5:][:3],
    ],
)
def test_slices_of_an_unknown_length_are_one(make):
    before, after = both([X], [make(X)])
    assert len(ops_of(after, Slice)) == 1
    for n in (0, 2, 3, 4, 5, 6, 9):
        np.testing.assert_array_equal(*(interpret(f, [np.arange(float(n))])[0] for f in (before, after)))


def test_a_value_that_is_needed_whole_is_not_computed_twice():
    y = tg.exp(TABLE)
    found = rewritten([TABLE], [y[1:], tg.sum(y)])
    assert found == rewritten([TABLE], [y[1:], tg.sum(y)], exclude=frozenset({"slice_before_computing"}))


def test_windows_that_overlap_leave_a_value_whole():
    y = tg.exp(TABLE)
    assert ops_of(rewritten([TABLE], [y[1:] - y[:-1]]), type(tg.exp.op) if hasattr(tg.exp, "op") else object)
    found = rewritten([TABLE], [y[1:] - y[:-1]])
    assert sum("exp" in str(node.op) for node in found.nodes) == 1


def test_few_elements_of_a_long_value_are_computed_apart():
    x = tg.tensor("x", shape=(1000,))
    y = tg.exp(x * 2)
    found = rewritten([x], [y[3] * y[7]])
    assert max(int(np.prod(t.shape)) for k, t in enumerate(found.types) if k >= found.arity) <= 1


def test_pieces_that_are_read_apart_are_not_joined():
    rows = tg.stack([X[:3], X[1:4], X[2:5]]) * 2
    assert not ops_of(rewritten([X], [rows[0], rows[1], rows[2]]), Concatenate)
    assert len(ops_of(rewritten([X], [rows[0], rows[1:]]), Concatenate)) == 1


@pytest.mark.parametrize(
    ("make", "array"),
    [
        (lambda x, v: tg.exp(tg.stack([x, v]))[1], lambda x, v: np.exp(v)),
        (lambda x, v: (tg.stack([x, v]) * 2)[1:], lambda x, v: v[None] * 2),
        (lambda x, v: tg.pad(tg.stack([x, v]), [(1, 0), (0, 0)], "edge")[2], lambda x, v: v),
        (lambda x, v: tg.stack([tg.exp(tg.stack([x, v])), tg.stack([v, x])])[0, 1], lambda x, v: np.exp(v)),
    ],
)
@pytest.mark.parametrize("mode", ["strict", "default"])
def test_a_value_whose_length_only_a_check_knows_is_read_all_the_same(make, array, mode):
    x, w = tg.tensor("x", shape=(4,)), tg.vector("w")
    k = tg.scalar("k", dtype="int64")
    found = rewritten([x, w, k], [make(x, tg.concatenate([x[:k], w[k:]]))], mode=mode)
    a, b = np.arange(4.0), -np.arange(5.0)[:4]
    for start in (0, 1, 4):
        arrays = [a, b, np.array(start)]
        wanted = array(a, np.concatenate([a[:start], b[start:]]))
        np.testing.assert_allclose(interpret(found, arrays)[0], wanted, rtol=1e-15, atol=0)
    with pytest.raises(tg.errors.ShapeError):
        interpret(found, [a, np.arange(7.0), np.array(2)])


def test_a_row_of_as_many_elements_as_a_table_is_read_all_the_same():
    x, y, k = tg.tensor("x", shape=(6,)), tg.tensor("y", shape=(4,)), tg.scalar("k", dtype="int64")
    row = tg.reshape(y[:k, None] * y[None, : 5 - k], (-1,))  # a product of lengths is 6
    found = rewritten([x, y, k], [tg.exp(tg.stack([x, row]))[1]])
    a, b = np.arange(6.0), np.arange(4.0)
    for n in (2, 3):
        wanted = np.exp((b[:n, None] * b[: 5 - n]).ravel())
        np.testing.assert_allclose(interpret(found, [a, b, np.array(n)])[0], wanted, rtol=1e-15, atol=0)


def test_a_long_chain_is_pushed_through_without_recursion():
    y = X
    for _ in range(3000):
        y = tg.sin(y)
    found = rewritten([X], [y[:2]])
    assert isinstance(next(n.op for n in found.nodes if isinstance(n.op, Slice)), Slice)
    assert isinstance(found.nodes[-1].op, type(found.nodes[-2].op))


# updates


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (lambda x: x.at[1:3].set(7.0)[2], lambda x: tg.broadcast_to(7.0, (4,))),
        (lambda x: x.at[2:5].set(x[:3])[3], lambda x: x[1]),
        (lambda x: x.at[1:3].set(7.0)[3:], lambda x: x[3:]),
        (lambda x: x.at[::2].set(7.0)[1::2], lambda x: x[1::2]),
        (lambda x: x.at[1].add(7.0)[1], lambda x: x[1] + 7.0),
        (lambda x: x.at[:, 1].set(7.0)[2:4], lambda x: x[2:4].at[:, 1].set(7.0)),
        (lambda x: x.at[:].set(7.0), lambda x: tg.broadcast_to(7.0, (6, 4))),
        (lambda x: x.at[::-1].set(tg.sin(x)), lambda x: tg.sin(x)[::-1]),
        (lambda x: x.at[:, ::-1].add(tg.sin(x)), lambda x: x + tg.sin(x)[:, ::-1]),
        (lambda x: tg.zeros_like(x).at[::-1, ::-1].add(tg.sin(x)), lambda x: tg.sin(x)[::-1, ::-1]),
        (lambda x: x.at[1:3].set(7.0).at[0:4].set(5.0), lambda x: x.at[0:4].set(5.0)),
        (lambda x: x.at[1:3].add(7.0).at[1:3].set(5.0), lambda x: x.at[1:3].set(5.0)),
        (lambda x: x.at[1:3].set(x[:2]).at[1:3].add(5.0), lambda x: x.at[1:3].set(x[:2] + 5.0)),
        (lambda x: x.at[2:2].set(7.0), lambda x: x),
        (lambda x: x.at[tg.arange(3)].set(7.0), lambda x: x.at[:3].set(7.0)),
        (lambda x: x.at[np.array([4, 2])].multiply(x[:2]), lambda x: x.at[4:1:-2].set(x[4:1:-2] * x[:2])),
        (lambda x: x + tg.zeros_like(x).at[1:3].set(x[:2]), lambda x: x.at[1:3].add(x[:2])),
    ],
)
def test_what_is_written_is_read_or_written_once(before, after):
    assert same_as(rewritten([TABLE], [before(TABLE)]), after(TABLE), [TABLE])


@pytest.mark.parametrize(
    ("make", "most"),
    [
        (lambda x: tg.sum((x[1:] - x[:-1]) ** 2), {Slice: 2, SliceUpdate: 2}),
        (lambda x: x[0] * x[1] * x[2], {Slice: 3, SliceUpdate: 3}),
        (lambda x: tg.exp(x)[3], {Slice: 1, SliceUpdate: 1}),
        (lambda x: tg.sum(tg.tanh(x)[2:5] ** 2), {Slice: 1, SliceUpdate: 1}),
        (lambda x: tg.sum(tg.sin(x[::2]) * 2), {Slice: 1, SliceUpdate: 1}),
    ],
)
def test_gradients_of_slices_are_small(make, most):
    before, after = both([X], [tg.grad(make(X), X)])
    for kind, count in most.items():
        assert len(ops_of(after, kind)) <= count
    for n in (5, 8):
        array = np.linspace(-1, 2, n)
        np.testing.assert_allclose(*(interpret(f, [array])[0] for f in (before, after)), rtol=1e-13, atol=0)


def test_pieces_of_which_one_was_written_over_in_part_are_written_in_their_order():
    x = tg.tensor("x", shape=(4,))
    start = np.array([-1.0, -2.0, -3.0, -4.0])
    made, wanted, places = [], [], []
    for cut, begin, place, turned in itertools.product((1, 2, 3), range(4), range(3), (False, True)):
        for end in range(begin + 1, 5):
            windows = [(0, cut), (cut, 4)][:: -1 if turned else 1]
            windows.insert(place, (begin, end))
            y, array = x, start.copy()
            for k, (a, b) in enumerate(windows):
                value = 3.0 * len(made) + k
                y = y.at[a:b].set(value)
                array[a:b] = value
            made.append(y)
            wanted.append(array)
            places.append(place)
    found = rewritten([x], made)
    np.testing.assert_array_equal(np.stack(interpret(found, [start])), np.stack(wanted))
    first = [y for y, place in zip(made, places, strict=True) if place == 0]
    assert not ops_of(rewritten([x], first), SliceUpdate)  # what was written before is written over


def test_a_zero_that_was_added_to_zeros_keeps_its_sign_where_that_is_subtracted():
    zero, v = np.array([-0.0, -0.0, -0.0, 0.0]), tg.vector("v")
    for mode in ("strict", "off"):
        found = rewritten([X, v], [X - tg.zeros_like(X).at[1:3].add(v)], mode=mode)
        (y,) = interpret(found, [zero, zero[:2]])
        wanted = zero - np.array([0.0, 0.0 + zero[0], 0.0 + zero[1], 0.0])
        np.testing.assert_array_equal(np.signbit(y), np.signbit(wanted))


def test_steps_that_come_round_to_the_first_number_repeat_it():
    i = tg.arange(3) * 2**32 * 2**32
    assert steps_of(i) is None
    y = tg.zeros((4,)).at[i].add(X)
    places = np.arange(3) * 2**32 * 2**32
    wanted = np.zeros(4)
    np.add.at(wanted, places, np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(interpret(rewritten([X], [y]), [np.array([1.0, 2.0, 3.0])])[0], wanted)


def test_the_gradient_of_all_elements_is_joined():
    x = tg.tensor("x", shape=(3,))
    found = rewritten([x], [tg.grad(x[0] * x[1] * x[2], x)])
    assert not ops_of(found, SliceUpdate)
    assert len(ops_of(found, Concatenate)) == 1


def test_gradients_of_gathers_are_added_in_place():
    i, j = tg.vector("i", dtype="int64"), tg.vector("j", dtype="int64")
    found = rewritten([X, i, j], [tg.grad(tg.sum(X[i] ** 2) + tg.sum(tg.exp(X[j])), X)])
    assert len(ops_of(found, Scatter)) == 2
    assert sum("BroadcastTo" in str(n.op) for n in found.nodes) == 1


def test_values_in_zeros_that_repeat_are_added_to_all():
    x, y = tg.tensor("x", shape=(1,)), tg.tensor("y", shape=(3,))
    i = tg.scalar("i", dtype="int64")
    for made in (tg.zeros((1, 1)).at[0].set(x), tg.zeros((1, 1)).at[tg.stack([i])].add(x)):
        before, after = both([x, y, i], [made + y[:, None], y[:, None] - made])
        arrays = [np.array([2.0]), np.arange(3.0), np.array(0)]
        for old, new in zip(*(interpret(f, arrays) for f in (before, after)), strict=True):
            np.testing.assert_array_equal(old, new)


# gathers


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (lambda x: x[[4, 2, 0]], lambda x: x[4::-2]),
        (lambda x: x[:, [1, 2]], lambda x: x[:, 1:3]),
        (lambda x: x[tg.arange(3) + 2], lambda x: x[2:5]),
        (lambda x: tg.take(x, tg.argsort(x[:, 0])[1], axis=0), lambda x: x[tg.argsort(x[:, 0])[1]]),
        (lambda x: tg.diagonal(x.T), tg.diagonal),
        (lambda x: tg.diagonal(tg.diag(x[:, 0])), lambda x: x[:, 0]),
        (lambda x: tg.diagonal(tg.broadcast_to(x[0], (4, 4))), lambda x: x[0]),
        (lambda x: tg.diagonal(tg.exp(x) * 2), lambda x: tg.exp(tg.diagonal(x)) * 2),
        (lambda x: tg.diagonal(x[:4] + x[0]), lambda x: tg.diagonal(x[:4]) + x[0]),
        (lambda x: tg.diagonal(x[:4] + x[:4, :1]), lambda x: tg.diagonal(x[:4]) + x[:4, 0]),
        (lambda x: x.at[[3, 0, 1]].set(x[:3] * 2)[[3, 0, 1]], lambda x: x[:3] * 2),
        (lambda x: x.at[[3, 0, 1]].set(x[:3])[[1, 3, 0]], lambda x: x[:3][np.array([2, 0, 1])]),
        (lambda x: x.at[[3, 0, 3]].set(x[:3])[[0, 3, 0, 3, 3]], lambda x: x[:3][np.array([1, 2, 1, 2, 2])]),
        (lambda x: x.at[[3, 0, 1]].add(x[:3])[[5, 2, 4]], lambda x: x[np.array([5, 2, 4])]),
        (lambda x: x[:, 0][tg.zeros((3,), dtype="int64")], lambda x: tg.broadcast_to(x[:1, 0], (3,))),
    ],
)
def test_gathers_become_slices_and_go_towards_the_inputs(before, after):
    assert same_as(rewritten([TABLE], [before(TABLE)]), after(TABLE), [TABLE])


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x[tg.arange(x.shape[0])],
        lambda x: x[tg.argsort(x)],
        lambda x: x[tg.nonzero(x > 0)[0]],
        lambda x: tg.concatenate([x, x])[tg.arange(x.shape[0]) + x.shape[0]],
        lambda x: tg.concatenate([x, tg.zeros(3)])[tg.cast(x > 0, "int64") + 1],
        lambda x: tg.concatenate([x, tg.zeros(3)])[-3:][tg.cast(x, "int64") % 3],
    ],
)
def test_indices_that_are_known_to_lie_inside_are_not_checked(make):
    before, after = both([X], [make(X)])
    assert not after.checks
    assert not ops_of(after, WrapIndex)
    for n in (0, 2, 5):
        array = np.linspace(-1.5, 2.0, n)
        np.testing.assert_array_equal(*(interpret(f, [array])[0] for f in (before, after)))


@pytest.mark.parametrize(
    ("make", "n"),
    [
        (lambda x: tg.exp(x)[3], 3),
        (lambda x: x[-4] * 2, 3),
        (lambda x: x.at[3].set(1.0)[3], 3),
        (lambda x: x[1:][3], 4),
        (lambda x: x[tg.arange(3) + 1], 3),
        (lambda x: tg.concatenate([x, x])[[5, 0]], 2),
        (lambda x: x[[0, 1, 2]][[1]], 2),
        (lambda x: tg.sum(x.at[[0, 4]].add(1.0)), 4),
        (lambda x: tg.take(x, tg.argmax(x) + 1), 2),
    ],
)
def test_an_index_outside_stays_an_error(make, n):
    after = rewritten([X], [make(X)])
    interpret(after, [np.arange(n + 1.0)[::-1]])
    with pytest.raises(BoundsError):
        interpret(after, [np.arange(float(n))])


def test_positions_that_repeat_are_not_taken_for_unique():
    i = tg.vector("i", dtype="int64")
    before, after = both([X, i], [X.at[i].set(tg.arange(3.0))[i], X.at[i].add(1.0)[i]])
    arrays = [np.zeros(4), np.array([1, 2, 1])]
    for old, new in zip(*(interpret(f, arrays) for f in (before, after)), strict=True):
        np.testing.assert_array_equal(old, new)


def test_rewriting_again_changes_nothing():
    i = tg.scalar("i", dtype="int64")
    y = (tg.exp(TABLE) @ TABLE.T)[1:3, i] + tg.concatenate([X, X * 2])[i : i + 2].at[0].add(1.0)
    outputs = [y, *tg.grad(tg.sum(y), [TABLE, X])]
    found = rewritten([TABLE, X, i], outputs)
    graph = FunctionGraph.thaw(found)
    assert rewrite(graph, [ALL], supported=lambda op, types: True) == found


# random programs


@st.composite
def programs(draw):
    """A chain of reads, writes and movements of integers (kept in floats, so that every order of sums is exact)."""
    shape = tuple(draw(st.lists(st.sampled_from((4, 3, 5, 6, 2, 1, 0)), min_size=1, max_size=3)))
    known = [n if draw(st.booleans()) else None for n in shape]
    ones = [(0, k) for k, n in enumerate(shape) if n == 1 and known[k] is None]
    x = tg.tensor("x", shape=tuple(known))
    values, sizes = [x], [shape]
    for _ in range(draw(st.integers(4, 10))):
        k = draw(st.integers(max(0, len(values) - 2), len(values) - 1))
        try:
            y = draw(steps(values[k], sizes[k]))
        except tg.errors.TgError:
            continue
        if y is not None:
            try:
                frozen = FunctionGraph.of([x], [y], ones).freeze()
                found = interpret(frozen, [np.zeros(shape)])[0]
            except tg.errors.TgError:
                continue
            if found.size <= 400:
                values.append(y)
                sizes.append(found.shape)
    return x, shape, ones, values[-1:]


def some_slice(draw, n):
    bound = st.one_of(st.none(), st.integers(0, max(n - 1, 0)), st.integers(-n - 1, n + 1))
    return slice(draw(bound), draw(bound), draw(st.sampled_from([None, 1, 2, -1, -2])))


@st.composite
def steps(draw, v, shape):
    kind = draw(st.sampled_from(KINDS))
    rank = len(shape)
    axis = draw(st.integers(0, rank - 1)) if rank else None
    if kind == "scale":
        return v * 2 + 1
    if kind == "where":
        return tg.where(v > 1, v, -v)
    if kind == "self":
        return v + v[::-1] if rank else v + v
    if kind == "broadcast":
        return v[None] + tg.arange(3.0).reshape(3, *(1 for _ in range(rank)))
    if axis is None:
        return tg.stack([v, v * 2])
    if kind == "slice":
        return v[tuple(some_slice(draw, n) for n in shape[: draw(st.integers(1, rank))])]
    if kind == "index":
        n = shape[axis]
        return v[(slice(None),) * axis + (draw(st.integers(-n, n - 1)),)] if n else None
    if kind in ("set", "add"):
        place = tuple(some_slice(draw, n) for n in shape[: axis + 1])
        value = draw(st.sampled_from([3.0, "own"]))
        if value == "own":
            value = v[place] * 2 if draw(st.booleans()) else v[place][::-1]
        return getattr(v.at[place], kind)(value)
    if kind in ("gather", "scatter"):
        n = shape[axis]
        if not n:
            return None
        picks = np.array(draw(st.lists(st.integers(-n, n - 1), min_size=0, max_size=4)), np.int64)
        if kind == "gather":
            return tg.take(v, picks, axis=axis)
        return getattr(v.at[(slice(None),) * axis + (picks,)], draw(st.sampled_from(["set", "add"])))(2.0)
    if kind == "arange":
        return tg.take(v, tg.arange(v.shape[axis])[:: draw(st.sampled_from([1, 2, -1]))], axis=axis)
    if kind == "concat":
        return tg.concatenate([v, v * 2, -v] if draw(st.booleans()) else [v, tg.zeros_like(v)], axis=axis)
    if kind == "transpose":
        return tg.transpose(v)
    if kind == "ravel":
        return v.reshape(-1)
    if kind == "sum":
        return tg.sum(v, axis=axis)
    if kind == "cumsum":
        return tg.cumsum(v, axis=axis)
    if kind == "matmul":
        return v @ tg.swapaxes(v, -1, -2) if rank >= 2 else None
    if kind == "diagonal":
        return tg.diagonal(v) if rank >= 2 else tg.diag(v)
    if kind == "expand":
        return tg.expand_dims(v, axis)
    return tg.sort(v, axis=axis)


KINDS = [
    "scale", "where", "self", "broadcast", "slice", "slice", "slice", "index", "set", "set", "add", "gather", "scatter",
    "arange", "concat", "transpose", "ravel", "sum", "cumsum", "matmul", "diagonal", "expand", "sort",
]  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("plugin", [OWN, ALL], ids=["own", "all"])
@given(programs())
@settings(max_examples=60)
def test_random_programs_say_the_same(plugin, program):
    x, shape, ones, outputs = program
    outputs = [*outputs, tg.grad(tg.sum(outputs[-1] * 3), x, disconnected="zero")]
    before = FunctionGraph.of([x], outputs, ones).freeze()
    graph = FunctionGraph.of([x], outputs, ones)
    after = rewrite(graph, [plugin], supported=lambda op, types: True)
    array = np.arange(float(np.prod(shape))).reshape(shape) % 7 - 3
    for old, new in zip(interpret(before, [array]), interpret(after, [array]), strict=True):
        np.testing.assert_array_equal(old, new)
