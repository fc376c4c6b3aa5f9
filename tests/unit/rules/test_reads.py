"""What is computed where values are read in part: how often, and of how many elements."""

from __future__ import annotations

import numpy as np
import pytest

import tg
from tests.unit.rules.test_indexing import ALL, both, ops_of, rewritten
from tg.graph.interpret import interpret
from tg.graph.nodes import Constant
from tg.ops.elementwise.record import Elementwise
from tg.ops.indexing import Gather, Nonzero, Scatter, Slice, SliceUpdate, WrapIndex
from tg.ops.shape import AxisLength, Concatenate
from tg.plugin.records import Rewrites
from tg.rules import indexing


def count_of(found, fn):
    """How many times a program computes an elementwise function."""
    return sum(op.fn is fn for op in ops_of(found, Elementwise))


def agree(inputs, outputs, arrays):
    """The rewritten program, which gives what the program says."""
    before, after = both(inputs, outputs)
    for old, new in zip(*(interpret(f, arrays) for f in (before, after)), strict=True):
        np.testing.assert_array_equal(new, old)
    return after


X = tg.tensor("x", shape=(8,))


A = np.linspace(-1.0, 1.0, 8)


def test_a_slice_that_is_needed_beside_its_one_element_is_computed_once():
    y = tg.exp(X)[1:2]
    assert count_of(agree([X], [y, tg.squeeze(y, 0)], [A]), tg.exp) == 1
    assert count_of(agree([X], [tg.squeeze(y, 0), tg.squeeze(y, 0)[None] * 2], [A]), tg.exp) == 1


def test_a_value_under_a_sum_is_not_computed_again_for_what_is_read_of_it():
    w = tg.tensor("w", shape=(6,))
    z = tg.exp(w)
    after = agree([X, w], [(tg.sin(X) * tg.sum(z))[1:3], z[:2]], [A, A[:6]])
    assert count_of(after, tg.exp) == 1
    assert count_of(after, tg.sin) == 1


@pytest.mark.parametrize(
    ("reads", "often"),
    [
        (((0, 2), (4, 6)), 2),  # half of it
        (((0, 2), (4, 7)), 1),
        (((0, 1), (2, 3), (4, 5), (6, 7)), 4),
        (((0, 1), (1, 2), (4, 5), (6, 7), (7, 8)), 1),
        (((0, 7),), 1),
        (((0, 8), (0, 1)), 1),
    ],
)
def test_parts_are_computed_apart_where_they_are_half_of_a_value_at_most(reads, often):
    y = tg.exp(X)
    assert count_of(agree([X], [y[a:b] * 2 for a, b in reads], [A]), tg.exp) == often


@pytest.mark.parametrize(("rows", "often"), [(((0, 1), (3, 4)), 2), (((0, 2), (3, 5)), 1), (((0, 1), (1, 2)), 2)])
def test_rows_are_computed_apart_where_they_are_half_of_a_table_at_most(rows, often):
    t = tg.tensor("t", shape=(6, 4))
    y = tg.exp(t)
    after = agree([t], [y[a:b] * 2 for a, b in rows], [np.arange(24.0).reshape(6, 4) / 9])
    assert count_of(after, tg.exp) == often


@pytest.mark.parametrize(("count", "often"), [(4, 4), (5, 1)])
def test_few_parts_of_a_long_value_are_computed_apart(count, often):
    x = tg.tensor("x", shape=(100,))
    y = tg.exp(x)
    assert (
        count_of(agree([x], [y[9 * k : 9 * k + 2] * 2 for k in range(count)], [np.arange(100.0) / 50]), tg.exp) == often
    )


def test_a_value_that_a_decomposition_needs_is_computed_once():
    t = tg.tensor("t", shape=(3, 3))
    y = tg.exp(t)
    q, r = tg.wrap(lambda m: tuple(np.linalg.qr(m)), infer=lambda m: (m, m))(y)
    array = np.array([[0.1, 0.2, -0.3], [1.0, 0.5, 0.2], [-0.4, 0.3, 0.9]])
    for made in (q, r):
        assert count_of(agree([t], [y[1:2] * 2, made], [array]), tg.exp) == 1


SIZES = [  # what is read of a function of t, and of how many elements it is computed
    (lambda y: Gather((-2,))(y, Constant(np.array([2, 0])))[:, 1:2], 2),
    (lambda y: tg.squeeze(y[:, 1:2], 1)[2:4], 2),
    (lambda y: tg.squeeze(tg.squeeze(y[:, 1:2], 1)[2:3], 0), 1),
    (lambda y: tg.squeeze(y[1:2], 0)[1:3] * 2, 2),
]


@pytest.mark.parametrize("number", range(len(SIZES)))
def test_of_what_was_read_before_only_what_is_read_is_computed(number):
    make, size = SIZES[number]
    t = tg.tensor("t", shape=(6, 4))
    for plugin in (ALL, Rewrites((), indexing.PASSES)):
        before, after = both([t], [make(tg.sin(t))], plugin)
        array = np.arange(24.0).reshape(6, 4)
        np.testing.assert_array_equal(interpret(after, [array])[0], interpret(before, [array])[0])
        found = [node for node in after.nodes if type(node.op) in (Elementwise, Gather)]
        assert sum(node.op == tg.sin.op for node in found) == 1
        assert {int(np.prod(after.types[node.outputs[0]].shape)) for node in found} == {size}


def test_what_is_no_longer_needed_is_not_counted_among_what_is_read():
    t = tg.tensor("t", shape=(100, 4))
    y = tg.exp(t)
    rows = [tg.squeeze(y[k : k + 1], 0) for k in (0, 9, 27, 50, 70)]
    before, after = both([t], [tg.concatenate(rows)[:16]], Rewrites((), indexing.PASSES))
    array = np.arange(400.0).reshape(100, 4) / 400
    np.testing.assert_array_equal(interpret(after, [array])[0], interpret(before, [array])[0])
    assert count_of(after, tg.exp) == 4


def test_one_element_that_is_read_is_computed_as_a_scalar():
    before, after = both([X], [tg.exp(X)[2]], Rewrites((), indexing.PASSES))
    np.testing.assert_array_equal(interpret(after, [A])[0], interpret(before, [A])[0])
    assert getattr(after.nodes[-1].op, "fn", None) is tg.exp


def test_a_value_of_which_one_read_needs_the_whole_is_computed_once():
    y = tg.cumsum(tg.exp(X))
    after = agree([X], [y[:2] * 2, y[3:4] * 3], [A])
    assert count_of(after, tg.exp) == 1
    assert count_of(agree([X], [y[:2] * 2, y[:1] * 3], [A]), tg.exp) == 2


@pytest.mark.parametrize(("columns", "often"), [(2, 4), (3, 1)])
def test_of_a_value_of_unknown_length_few_elements_are_computed_apart(columns, often):
    x = tg.tensor("x", shape=(None, columns))
    y = tg.exp(x)
    after = agree([x], [y[k] * 2 for k in range(4)], [np.arange(5.0 * columns).reshape(5, columns)])
    assert count_of(after, tg.exp) == often


@pytest.mark.parametrize(("count", "often"), [(8, 1), (9, 0)])
def test_a_few_pieces_that_are_read_apart_are_not_joined(count, often):
    rows = [tg.tensor(f"x{k}", shape=(2,)) for k in range(count)]
    y = tg.exp(tg.stack(rows))
    after = agree(rows, [y[k] * (k + 2) for k in range(count)], [A[:2] + k for k in range(count)])
    assert bool(ops_of(after, Concatenate)) is not bool(often)


def test_pieces_of_which_parts_are_read_twice_are_joined():
    y = tg.exp(tg.concatenate([X, -X]))
    assert len(ops_of(agree([X], [y[:9] * 2, y[9:] * 3], [A]), Concatenate)) == 1
    assert len(ops_of(agree([X], [y[:9] * 2, y[8:] * 3], [A]), Concatenate)) == 1
    assert len(ops_of(agree([X], [y[:10] * 2, y[7:] * 3], [A]), Concatenate)) == 1
    assert len(ops_of(agree([X], [y[:10] * 2, y[7:12] * 3, y[13:] * 4], [A]), Concatenate)) == 1
    assert type(agree([X], [y[::-1]], [A]).nodes[-1].op) is Slice


CHOICES = [  # what is read of exp(x), and whether only that is computed
    (lambda y, m: tg.take(y, [3, 0, 1, 7]), True),
    (lambda y, m: tg.take(y, [3, 0, 1, 7, 2]), False),
    (lambda y, m: y[m], True),
]


@pytest.mark.parametrize("number", range(len(CHOICES)))
def test_what_a_gather_chooses_is_computed_alone_where_it_is_less(number):
    make, alone = CHOICES[number]
    m = tg.tensor("m", shape=(8,), dtype="bool")
    after = agree([X, m], [make(tg.exp(X), m)], [A, np.array([True, False] * 4)])
    order = [node.op for node in after.nodes if isinstance(node.op, Gather) or getattr(node.op, "fn", None) is tg.exp]
    assert isinstance(order[-1], Gather) is not alone
    after = agree([X, m], [make(tg.exp(X), m), tg.sum(tg.exp(X))], [A, np.array([True, False] * 4)])
    assert count_of(after, tg.exp) == 1


def gathers_first(inputs, made, arrays):
    """Whether what a gather reads is computed, and not all."""
    after = agree(inputs, [made], arrays)
    return type(after.nodes[-1].op) is not Gather and len(ops_of(after, Gather)) == 1


def test_a_gather_of_which_one_index_is_evenly_spaced_reads_less_than_there_is():
    y, j = tg.matrix("y"), tg.tensor("j", shape=(None,), dtype="int64")
    arrays = [np.arange(20.0).reshape(5, 4) / 9, np.array([3, 0, 1, 1, 2])]
    made = [Gather((-2, -1))(tg.exp(y), tg.arange(j.shape[0]), j), Gather((-2, -1))(tg.exp(y), j, j)]
    assert [gathers_first([y, j], m, arrays) for m in made] == [True, False]
    m = tg.tensor("m", shape=(None,), dtype="bool")
    mask, arrays = Nonzero()(m), [arrays[0], np.array([3, 0]), np.array([True, False, True, False])]
    made = [Gather((-2, -1))(tg.exp(y), mask, k) for k in (mask, j)]
    assert [gathers_first([y, j, m], found, arrays) for found in made] == [True, False]
    n = tg.vector("n")
    assert not gathers_first([n], Gather((-1,))(tg.exp(n), tg.arange(5)), [A])


def test_a_mask_chooses_before_a_function_of_one_array_and_numbers():
    m, mask = tg.tensor("m", shape=(8,), dtype="bool"), np.array([True, False] * 4)
    assert gathers_first([X, m], tg.exp(X * 3.0)[m], [A, mask])
    wide = tg.tensor("wide", shape=(16,), dtype="bool")
    agree([X, wide], [tg.concatenate([X, tg.exp(X)])[wide]], [A, np.array([True, False, False, True] * 4)])


@pytest.mark.parametrize("shape", [(1,), (1, 1)])
def test_one_element_is_taken_as_often_as_a_mask_says(shape):
    x, m = tg.tensor("x", shape=shape), tg.tensor("m", shape=shape, dtype="bool")
    y = tg.exp(x)[m]
    passes = Rewrites((), indexing.PASSES)
    for given in (False, True):
        arrays = [np.ones(shape), np.full(shape, given)]
        for plugin in (ALL, passes):
            before, after = both([x, m], [y], plugin)
            np.testing.assert_array_equal(interpret(after, arrays)[0], interpret(before, arrays)[0])
            assert interpret(after, arrays)[0].shape == (int(given),)


def test_a_mask_chooses_of_one_array_and_not_of_two():
    y, m = tg.tensor("y", shape=(8,)), tg.tensor("m", shape=(8,), dtype="bool")
    arrays = [A, A[::-1], np.array([True, False] * 4)]
    assert len(ops_of(agree([X, y, m], [tg.exp(X * y)[m]], arrays), Gather)) == 1
    assert len(ops_of(agree([X, y, m], [tg.exp(X * tg.sum(y))[m]], arrays), Gather)) == 1
    assert len(ops_of(agree([X, y, m], [tg.take(tg.exp(X * y), [3, 0, 4])], arrays), Gather)) == 2
    square = [tg.tensor(name, shape=(3, 3)) for name in "ab"]
    after = agree(
        square, [tg.diagonal(tg.exp(square[0] * square[1]))], [np.arange(9.0).reshape(3, 3) / k for k in (5, 9)]
    )
    assert len(ops_of(after, Gather)) == 2
    c, given = tg.tensor("c", shape=(3,), dtype="bool"), [np.arange(9.0).reshape(3, 3) / k for k in (5, 9)]
    chosen = Gather((-2, -1))(tg.exp(square[0] * square[1]), Nonzero()(c), Nonzero()(c))
    after = agree([*square, c], [chosen], [*given, np.array([True, False, True])])
    assert len(ops_of(after, Gather)) == 2
    assert count_of(after, tg.exp) == 1


@pytest.mark.parametrize(
    ("fn", "adds"),
    [
        (lambda y: tg.logsumexp(y, axis=1), True),
        (lambda y: tg.softmax(y, axis=1), True),
        (lambda y: tg.sum(y, axis=1), True),
        (lambda y: tg.prod(y, axis=1), True),
        (lambda y: tg.cumsum(y, axis=1), True),
        (lambda y: tg.cumprod(y, axis=1), True),
        (lambda y: y @ tg.swapaxes(y, 0, 1), True),
        (lambda y: tg.max(y, axis=1), False),
        (lambda y: tg.sort(y, axis=1), False),
        (lambda y: tg.cumsum(tg.cast(tg.floor(y), "int64"), axis=1), False),
        (lambda y: tg.sum(tg.cast(tg.floor(y), "int64"), axis=1), False),
    ],
)
def test_where_roundings_count_sums_are_computed_whole(fn, adds):
    x = tg.tensor("x", shape=(6, 4))
    made = fn(tg.sin(x))[1:3]
    strict = rewritten([x], [made], mode="strict")
    assert (strict.nodes[-1].op.name == "Slice") is adds
    assert rewritten([x], [made]).nodes[-1].op.name != "Slice"


def test_parts_of_sizes_that_are_not_known_are_not_computed_apart():
    x, k = tg.tensor("x", shape=(8, 8)), tg.scalar("k", dtype="int64")
    y = tg.exp(x)
    after = agree([x, k], [y[:k, 0] * 2, y[:k, 1] * 3], [np.arange(64.0).reshape(8, 8) / 50, np.array(3)])
    assert count_of(after, tg.exp) == 1


def test_indices_that_were_transposed_choose_of_an_array_that_was_not():
    i = tg.tensor("i", shape=(2, 3), dtype="int64")
    agree([X, i], [Gather((-1,))(X, i.T)], [A, np.arange(6).reshape(2, 3)])
    agree([i], [tg.arange(8)[i.T]], [np.arange(6).reshape(2, 3)])


def test_a_gather_of_a_gather_looks_up_what_is_chosen():
    i, m = tg.tensor("i", shape=(5,), dtype="int64"), tg.tensor("m", shape=(5,), dtype="bool")
    arrays = [A, np.array([3, 1, 7, 0, 2]), np.array([True, False, True, True, False])]
    after = agree([X, i, m], [X[i][m]], arrays)
    chosen, looked_up = (node for node in after.nodes if isinstance(node.op, Gather))
    assert after.types[chosen.inputs[0]].dtype == "int64"
    assert looked_up.inputs[0] == 0
    rows = tg.tensor("rows", shape=(8, 3))
    after = agree([rows, i, m], [rows[i][m], rows[:, i % 3][:, m]], [np.arange(24.0).reshape(8, 3), *arrays[1:]])
    j = tg.tensor("j", shape=(5, 2), dtype="int64")
    agree([X, j, m], [X[j][m]], [A, np.arange(10).reshape(5, 2) % 8, arrays[2]])
    pairs = tg.tensor("pairs", shape=(2,), dtype="bool")
    for v, array in ((X, A), (rows, np.arange(24.0).reshape(8, 3))):
        along = -v.type.ndim
        made = [Gather((along,))(Gather((along,))(v, j), Nonzero()(pairs)), Gather((along,))(v[j], tg.arange(2)[pairs])]
        agree([v, j, pairs], made, [array, np.arange(10).reshape(5, 2) % 8, np.array([False, True])])
    table = tg.tensor("table", shape=(8, 8))
    agree([table, i, m], [table[i, i % 3][m]], [np.arange(64.0).reshape(8, 8), *arrays[1:]])
    both_axes = Gather((-2,))(Gather((-2, -1))(table, j, j), Nonzero()(m))
    agree([table, j, m], [both_axes], [np.arange(64.0).reshape(8, 8), np.arange(10).reshape(5, 2) % 8, arrays[2]])


def test_a_gather_is_told_by_what_it_reads_of_and_not_by_its_indices():
    m, n, t = tg.tensor("m", shape=(8,), dtype="bool"), tg.vector("n"), tg.tensor("t", shape=(3, 8))
    k = tg.scalar("k", dtype="int64")
    inputs, table = [X, m, n, t, k], np.arange(24.0).reshape(3, 8)
    arrays = [A, np.array([True, False, True, True] * 2), A[:5], table, np.array(3)]
    places, chosen = Nonzero()(m), tg.where(m, 2, 1)
    index = tg.zeros((8,), dtype="int64").at[k[None]].set(2)
    for made in (
        Gather((-1,))(X, chosen),
        Gather((-1,))(tg.sort(X), index),
        Gather((-1,))(X, index),
        Gather((-2, -1))(t, Gather((-1,))(chosen, places), places),
        Gather((-2, -1))(t, places % 3, Gather((-1,))(chosen, places)),
        Gather((-2, -1))(tg.broadcast_to(m, (8, 8)), places, tg.where(X[places] > 0, 2, 1)),
        Gather((-2, -1))(t @ t.T, tg.minimum(places, 2), tg.where(X[places] > 0, 2, 1)),
        Gather((-1,))(tg.where(m, t, t * 2), places),
        Gather((-1,))(tg.where(m, X, X * 2), places),
    ):
        for plugin in (ALL, Rewrites(indexing.RULES, ())):
            before, after = both(inputs, [made], plugin)
            np.testing.assert_array_equal(interpret(after, arrays)[0], interpret(before, arrays)[0])


def test_the_nearest_element_is_a_slice():
    n, k = tg.vector("n"), tg.scalar("k", dtype="int64")
    for position in (-9, 0, 3, 9):
        after = agree([n, k], [tg.take(n, k, mode="clip")], [A, np.array(position)])
        assert not ops_of(after, Gather)


# places


@pytest.mark.parametrize("k", [0, 5, -1, -8, 2**62, -(2**62), 2**62 + 1, -(2**62) - 1, -(2**63)])
def test_a_constant_index_of_whatever_size_is_where_a_check_says(k):
    y = tg.vector("y")
    index = WrapIndex("raise")(Constant(np.array(k)), AxisLength(-1)(y))
    after = rewritten([y], [Slice((None,), (1,), (1,))(y, index)])
    known = [node.op.starts for node in after.nodes if isinstance(node.op, Slice)]
    assert known == [(k,) if 0 <= k <= 2**62 else (None,)]
    if -8 <= k < 8:
        np.testing.assert_array_equal(interpret(after, [A])[0], A[k : k + 1 or None])
    else:
        with pytest.raises(tg.errors.BoundsError):
            interpret(after, [A])


def test_one_position_that_repeats_is_one_slice_however_often():
    for count in (1, 3):
        i = tg.broadcast_to(Constant(np.array(2)), (count,))
        after = agree([X], [Gather((-1,))(X, i)], [A])
        assert not ops_of(after, Gather)
    k = tg.scalar("k", dtype="int64")
    pair = Gather((-2, -1))(tg.reshape(X, (2, 4)), Constant(np.array(1)), k)
    agree([X, k], [pair], [A, np.array(3)])


# writes


def test_elements_added_to_chains_of_zeros_are_added_there():
    i, j = (tg.tensor(name, shape=(2,), dtype="int64") for name in "ij")
    u, zeros = tg.tensor("u", shape=(2,)), tg.zeros((8,))
    arrays = [A, np.array([1, 5]), np.array([5, 5]), np.array([2.0, 0.5])]
    for chain in (
        zeros.at[i].add(u).at[j].add(u),
        zeros.at[i].add(u).at[2:4].add(u),
        zeros.at[2:4].add(u).at[i].add(u),
        zeros.at[1:3].add(u).at[2:4].add(u),
    ):
        for made in (chain + X, X + chain):
            after = agree([X, i, j, u], [made], arrays)
            assert len(ops_of(after, Scatter, SliceUpdate)) == 2
            assert not count_of(after, tg.add)


def test_a_start_that_was_moved_says_nothing_of_what_is_read():
    i = tg.tensor("i", shape=(1,), dtype="int64")
    for v in (X, tg.sort(X), tg.exp(X)):
        made = [Slice((None,), (2,), (1,))(v, start) for start in (tg.reshape(i, ()), tg.squeeze(i, 0), i[0])]
        agree([X, i], made, [A, np.array([3])])


def test_pieces_along_different_axes_are_not_joined():
    y = tg.tensor("y", shape=(4, 4))
    a, b = y[:, :2] * 2, y[2:] * 3
    made = [tg.zeros((4, 4)).at[:, :2].set(a).at[2:].set(b), tg.zeros((4, 4)).at[2:].set(b).at[:, :2].set(a)]
    after = agree([y], made, [np.arange(16.0).reshape(4, 4)])
    assert not ops_of(after, Concatenate)
