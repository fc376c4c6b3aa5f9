"""Values that are zeros but for a part that was written: where functions of them are computed, and where they stay."""

from __future__ import annotations

import numpy as np
import pytest

import tg
from tests.unit.rules.test_indexing import both, ops_of
from tg.graph.interpret import interpret
from tg.graph.nodes import Constant
from tg.ops.elementwise.record import Elementwise
from tg.ops.indexing import Scatter, SliceUpdate
from tg.ops.reduction import Reduce
from tg.ops.shape import Concatenate
from tg.plugin.records import Rewrites
from tg.rules.catalog import RULES

X, U, S = tg.tensor("x", shape=(8,)), tg.tensor("u", shape=(2,)), tg.scalar("s")
I = tg.tensor("i", shape=(2,), dtype="int64")
K, W = tg.tensor("k", shape=(8,), dtype="int64"), tg.tensor("w", shape=(2,), dtype="int64")
M, B = tg.tensor("m", shape=(8,), dtype="bool"), tg.tensor("b", shape=(2,), dtype="bool")
INPUTS = [X, U, S, I, K, W, M, B]
ARRAYS = [
    np.array([-0.0, 1.5, -2.0, np.nan, 0.0, np.inf, -0.0, 3.0]),
    np.array([2.0, -0.5]),
    np.array(3.0),
    np.array([7, 7]),
    np.arange(-3, 5),
    np.array([7, -7]),
    np.array([True, False] * 4),
    np.array([True, False]),
]
ZEROS, NEGATIVE, WHOLE = tg.zeros((8,)), tg.full((8,), -0.0), tg.zeros((8,), dtype="int64")
PLACES = Constant(np.array([5, 2]))


def nodes_of(found, *functions):
    return [op for op in ops_of(found, Elementwise) if op.fn in functions]


WRITTEN = [  # what is computed of the part alone, and the functions that no longer see the whole
    (X + ZEROS.at[1:3].set(U), (tg.add,)),
    (ZEROS.at[1:3].set(U) + X, (tg.add,)),
    (X + ZEROS.at[1:3].add(U), (tg.add,)),
    (X + ZEROS.at[I].add(U), (tg.add,)),
    (ZEROS.at[I].add(U) + X, (tg.add,)),
    (X + ZEROS.at[PLACES].set(U), (tg.add,)),
    (X + NEGATIVE.at[1:3].set(U), (tg.add,)),
    (tg.where(M, ZEROS.at[1:3].set(U), 0.0), ()),
    (tg.where(M, 0.0, ZEROS.at[1:3].set(U)), ()),
    (tg.cast(ZEROS.at[1:3].set(U), "float32"), ()),
    (tg.cast(ZEROS.at[PLACES].set(U), "int64"), ()),
    (-ZEROS.at[1:3].set(U), ()),
    (-ZEROS.at[I].add(U), ()),
    (ZEROS.at[1:3].set(U) * 3.0, ()),
    (3.0 * ZEROS.at[1:3].set(U), ()),
    (ZEROS.at[1:3].set(U) / 3.0, ()),
    (ZEROS.at[PLACES].add(U) * 3.0, ()),
    (WHOLE.at[I].add(W) * 3, ()),
]


@pytest.mark.parametrize("number", range(len(WRITTEN)))
def test_only_what_was_written_is_computed(number):
    made, gone = WRITTEN[number]
    before, after = both(INPUTS, [made])
    np.testing.assert_array_equal(interpret(after, ARRAYS)[0], interpret(before, ARRAYS)[0])
    assert not nodes_of(after, *gone)
    sizes = [after.types[n.outputs[0]].shape for n in after.nodes if type(n.op).__name__ in ("Elementwise", "Cast")]
    assert (8,) not in sizes


KEPT = [  # what has to see the whole
    S + ZEROS.at[1:3].set(U),
    X + tg.zeros((1,)).at[:1].set(U[:1]),
    X + ZEROS.at[1:3].multiply(U),
    X + ZEROS.at[1:3].max(U),
    X + ZEROS.at[1:3].min(U),
    X + ZEROS.at[I].max(U),
    X + ZEROS.at[I].set(U),
    X + tg.ones((8,)).at[1:3].set(U),
    X + Constant(np.array([0.0] * 7 + [1.0])).at[1:3].set(U),
    X - tg.ones((8,)).at[1:3].set(U),
    ZEROS.at[1:3].set(U) - X,
    tg.where(M, ZEROS.at[1:3].set(U), 1.0),
    tg.where(M, 1.0, ZEROS.at[1:3].set(U)),
    tg.where(M, ZEROS.at[1:3].set(U), NEGATIVE),
    tg.cast(ZEROS.at[I].add(U), "float32"),
    tg.cast(tg.ones((8,)).at[1:3].set(U), "float32"),
    tg.cast(ZEROS.at[1:3].set(U), "bool"),
    ZEROS.at[1:3].set(U) * np.inf,
    ZEROS.at[1:3].set(U) * np.nan,
    ZEROS.at[1:3].set(U) / 0.0,
    3.0 / ZEROS.at[1:3].set(U),
    ZEROS.at[1:3].set(U) / np.inf,
    ZEROS.at[1:3].set(U) * X,
    ZEROS.at[1:3].set(U) / X,
    ZEROS.at[1:3].set(U) * S,
    ZEROS.at[I].add(U) * 0.1,
    ZEROS.at[1:3].set(U) * np.array([1.0, 2.0] * 4),
    tg.zeros((1,)).at[:1].set(U[:1]) * np.full((8,), 3.0),
    tg.gate(X, ZEROS.at[1:3].set(U)),
    tg.gate(ZEROS.at[1:3].set(U), X),
    tg.gate(ZEROS.at[1:3].set(U), 1 / X),
    tg.gate(ZEROS.at[1:3].set(U), S),
    tg.gate(ZEROS.at[1:3].max(U), X),
    tg.logical_xor(M, tg.zeros((8,), dtype="bool").at[1:3].set(B)),
    ZEROS.at[1:3].set(U) * np.full((1, 1), 3.0),
    ZEROS.at[1:3].set(U) * 0.0,
    tg.cast(ZEROS.at[I].add(tg.absolute(U) * 1.3), "int64"),
    X + (X * 2).at[1:3].set(U).at[2:4].set(U * 3),
    X + (X * 2).at[1:3].add(U).at[2:4].set(U * 3),
    X + (X * 2).at[I].add(U).at[I].max(U * 3),
    X + (X * 2).at[I].max(U).at[I].set(U * 3),
]


@pytest.mark.parametrize("number", range(len(KEPT)))
def test_what_does_not_keep_zeros_says_the_same(number):
    before, after = both(INPUTS, [KEPT[number]])
    np.testing.assert_array_equal(interpret(after, ARRAYS)[0], interpret(before, ARRAYS)[0])


SIGNED = [  # zeros around what was written that keep their signs
    tg.cast(NEGATIVE.at[1:3].set(U), "float32"),
    tg.cast(tg.zeros((8,)).at[1:3].set(U), "float32"),
    tg.where(M, NEGATIVE.at[1:3].set(U), 0.0),
    tg.where(M, ZEROS.at[1:3].set(U), NEGATIVE),
    tg.where(M, NEGATIVE, ZEROS.at[1:3].set(U)),
    tg.gate(NEGATIVE.at[1:3].set(U), X),
]


@pytest.mark.parametrize("number", range(len(SIGNED)))
def test_zeros_around_what_was_written_keep_their_signs(number):
    before, after = both(INPUTS, [SIGNED[number]])
    (old,), (new,) = (interpret(f, ARRAYS) for f in (before, after))
    np.testing.assert_array_equal(new, old)
    np.testing.assert_array_equal(np.signbit(new), np.signbit(old))


EXACT = [
    X - NEGATIVE.at[1:3].set(U),
    X - ZEROS.at[1:3].set(U),
    X - ZEROS.at[1:3].add(-U * 0),
    X - tg.zeros((8,)).at[1:3].set(-U * 0),
    tg.where(M, NEGATIVE, X),
    tg.sin(-ZEROS.at[1:3].set(U)),
    K - WHOLE.at[1:3].set(W),
    K - WHOLE.at[1:3].add(W),
]


@pytest.mark.parametrize("number", range(len(EXACT)))
def test_where_every_bit_counts_zeros_keep_their_signs(number):
    before, after = both(INPUTS, [EXACT[number]], mode="strict")
    old, new = (interpret(f, ARRAYS)[0] for f in (before, after))
    np.testing.assert_array_equal(new, old)
    np.testing.assert_array_equal(np.signbit(new), np.signbit(old))


def test_sums_at_one_place_are_added_up_before_they_are_multiplied():
    (one,) = (one for one in RULES if one.name == "multiple_of_slice_in_zeros")
    for values, factor in (([0.1, 0.7], 3.0), ([0.1, 0.2], 10.0)):
        assert sum(values) * factor != sum(v * factor for v in values)
        before, after = both([U, I], [ZEROS.at[I].add(U) * factor], Rewrites((one,), ()))
        arrays = [np.array(values), np.array([5, 5])]
        np.testing.assert_array_equal(*(interpret(f, arrays)[0] for f in (before, after)))


T, V = tg.tensor("t", shape=(4, 6)), tg.tensor("v", shape=(2, 3))
TABLE = tg.zeros((4, 6)).at[1:3, 2:5].set(V)
SUMS = [
    (tg.sum(TABLE), None),
    (tg.sum(TABLE, axis=0), (3,)),
    (tg.sum(TABLE, axis=1), (2,)),
    (tg.sum(tg.zeros((4, 6)).at[1:3].set(T[:2]), axis=0), (6,)),
    (tg.sum(tg.zeros((4, 6)).at[1:3].add(T[:2]), axis=1), (2,)),
    (tg.sum(tg.zeros((4, 6)).at[::2, ::-1].set(T[:2]), axis=0), (6,)),
]


@pytest.mark.parametrize("number", range(len(SUMS)))
def test_of_zeros_only_what_was_written_is_added_up(number):
    made, shape = SUMS[number]
    before, after = both([T, V], [made])
    arrays = [np.arange(24.0).reshape(4, 6), np.arange(6.0).reshape(2, 3)]
    np.testing.assert_array_equal(interpret(after, arrays)[0], interpret(before, arrays)[0])
    (node,) = (node for node in after.nodes if isinstance(node.op, Reduce))
    assert after.types[node.outputs[0]].shape == (shape or ())


def test_what_is_left_of_several_axes_is_written_where_it_was():
    for axis, shape in ((2, (2, 4)), (1, (2, 3)), (0, (4, 3))):
        made = tg.sum(tg.zeros((2, 4, 3)).at[:, 1:3].set(V[:, None] * 2), axis=axis)
        before, after = both([V], [made])
        found = [interpret(f, [np.arange(6.0).reshape(2, 3)])[0] for f in (before, after)]
        np.testing.assert_array_equal(*found)
        assert found[1].shape == shape


def test_pieces_that_end_before_a_length_that_is_not_known_are_not_all_of_it():
    z, a, b = tg.vector("z"), tg.tensor("a", shape=(2,)), tg.tensor("b", shape=(1,))
    before, after = both([z, a, b], [z.at[:2].set(a).at[2:3].set(b)])
    arrays = [np.zeros(5), np.ones(2), np.full(1, 2.0)]
    np.testing.assert_array_equal(*(interpret(f, arrays)[0] for f in (before, after)))


def test_a_sum_by_its_own_rule_is_written_along_the_axes_that_are_left():
    (one,) = (one for one in RULES if one.name == "sum_of_slice_in_zeros")
    values = tg.tensor("c", shape=(None, None, None))
    made = tg.sum(tg.zeros((values.shape[0], 4, 3)).at[:, 1:3].set(values), axis=2)
    before, after = both([values], [made], Rewrites((one,), ()))
    arrays = [np.arange(12.0).reshape(2, 2, 3)]
    np.testing.assert_array_equal(*(interpret(f, arrays)[0] for f in (before, after)))
    assert type(after.nodes[-1].op) is SliceUpdate


def test_multiples_by_their_own_rule_are_those_of_what_was_written():
    (one,) = (one for one in RULES if one.name == "multiple_of_slice_in_zeros")
    for made, fires in (
        (ZEROS.at[1:3].add(U) * 0.1, True),
        (ZEROS.at[1:3].set(U) / 4.0, True),
        (-ZEROS.at[I].add(U), True),
        (ZEROS.at[PLACES].add(U) * 3.0, True),
        (ZEROS.at[I].add(U) * 0.1, False),
        (WHOLE.at[I].add(W) * 3, True),
    ):
        before, after = both(INPUTS, [made], Rewrites((one,), ()))
        np.testing.assert_array_equal(interpret(after, ARRAYS)[0], interpret(before, ARRAYS)[0])
        assert isinstance(after.nodes[-1].op, SliceUpdate | Scatter) is fires


def test_other_reductions_see_the_zeros():
    before, after = both([T, V], [tg.max(TABLE, axis=1), tg.prod(TABLE + 1, axis=0), tg.sum(TABLE.at[0].max(1.0))])
    arrays = [np.zeros((4, 6)), -np.ones((2, 3))]
    for old, new in zip(*(interpret(f, arrays) for f in (before, after)), strict=True):
        np.testing.assert_array_equal(new, old)


def test_a_choice_between_rows_reads_of_its_other_operands_what_was_written():
    c = tg.tensor("c", shape=(6,), dtype="bool")
    made = tg.where(c, TABLE, 0.0) + tg.where(T[:, :1] > 8, 0.0, TABLE)
    before, after = both([T, V, c], [made])
    arrays = [np.arange(24.0).reshape(4, 6), np.arange(6.0).reshape(2, 3), np.array([True, False] * 3)]
    for old, new in zip(*(interpret(f, arrays) for f in (before, after)), strict=True):
        np.testing.assert_array_equal(new, old)
    assert not any(after.types[k].shape == (4, 6) for n in after.nodes for k in n.outputs if type(n.op) is Elementwise)


# pieces that are written one after another


JOINED = [
    (lambda z, a, b: z.at[:2].set(a).at[2:].set(b), True),
    (lambda z, a, b: z.at[2:].set(b).at[:2].set(a), True),
    (lambda z, a, b: z.at[:2].set(a).at[2:].add(b), False),
    (lambda z, a, b: z.at[:2].set(a).at[2:3].set(b[:1]), False),
    (lambda z, a, b: z.at[1:2].set(a[:1]).at[2:].set(b), False),
    (lambda z, a, b: z.at[:2].add(a).at[2:].set(b), False),
    (lambda z, a, b: z.at[1::-1].set(a).at[2:].set(b), False),
    (lambda z, a, b: z.at[::2].set(a).at[1::2].set(b), False),
    (lambda z, a, b: z.at[:2].set(a).at[1:3].set(b), False),
    (lambda z, a, b: z.at[1:3].set(a).at[:2].set(b).at[2:].set(a), True),
    (lambda z, a, b: z.at[:2].set(a).at[:2].set(b).at[2:].set(a), True),
    (lambda z, a, b: z.at[:1].set(a[:1]).at[1:3].set(b).at[3:].set(a[1:]), True),
    (lambda z, a, b: z.at[:2, :3].set(a[:, :3]).at[2:].set(b), False),
]


@pytest.mark.parametrize("number", range(len(JOINED)))
def test_pieces_that_cover_an_axis_are_joined(number):
    make, joined = JOINED[number]
    z, a, b = tg.tensor("z", shape=(4, 6)), tg.tensor("a", shape=(2, 6)), tg.tensor("b", shape=(2, 6))
    made = make(z, a, b)
    before, after = both([z, a, b], [made])
    arrays = [np.zeros((4, 6)), np.arange(12.0).reshape(2, 6), -np.arange(12.0).reshape(2, 6)]
    np.testing.assert_array_equal(interpret(after, arrays)[0], interpret(before, arrays)[0])
    assert bool(ops_of(after, Concatenate)) is joined
    assert bool(ops_of(after, SliceUpdate, Scatter)) is not joined


def test_pieces_that_are_joined_may_be_written_over_and_read():
    z, a, b = tg.tensor("z", shape=(4,)), tg.tensor("a", shape=(2,)), tg.tensor("b", shape=(2,))
    y = z.at[:2].set(a).at[2:].set(b)
    before, after = both([z, a, b], [tg.sin(y), y.at[1:3].set(a * 2), y.at[3:3].set(a[:0])])
    arrays = [np.zeros(4), np.arange(2.0), -np.arange(2.0)]
    for old, new in zip(*(interpret(f, arrays) for f in (before, after)), strict=True):
        np.testing.assert_array_equal(new, old)
    assert len(ops_of(after, Concatenate)) == 1
    assert len(ops_of(after, SliceUpdate)) == 1


def test_pieces_whose_first_write_is_read_elsewhere_are_joined_all_the_same_or_not():
    z, a, b = tg.tensor("z", shape=(4,)), tg.tensor("a", shape=(2,)), tg.tensor("b", shape=(2,))
    first = z.at[:2].set(a)
    before, after = both([z, a, b], [first.at[2:].set(b), tg.sin(first)])
    arrays = [np.zeros(4), np.arange(2.0), -np.arange(2.0)]
    for old, new in zip(*(interpret(f, arrays) for f in (before, after)), strict=True):
        np.testing.assert_array_equal(new, old)
