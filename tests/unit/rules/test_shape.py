"""Movements, repetition and lengths: what is merged, what goes outwards, what is known, and what has to stay."""

import itertools

import numpy as np
import pytest

import tg
from tests.unit.rules.examine import One, admitted
from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.graph.nodes import Constant, as_size_variable
from tg.ops.shape import BroadcastTo, ExpandDims, Reshape, SpecifyShape, Squeeze, Transpose
from tg.plugin.records import Rewrites
from tg.rewrite.driver import rewrite
from tg.rules.catalog import PASSES, RULES
from tg.rules.shape.terms import steps

CORE = Rewrites(RULES, PASSES)
X, Y, V, W = tg.matrix("x"), tg.matrix("y"), tg.vector("v"), tg.vector("w")
S, T, U = tg.tensor("s", shape=(3, 4)), tg.tensor("t", shape=(3, 4)), tg.tensor("u", shape=(4,))
ONE = tg.tensor("one", shape=(1, None))
CUBE = tg.tensor("cube", shape=(None, None, None))


def rewritten(inputs, *outputs):
    return rewrite(FunctionGraph.of(inputs, outputs), [CORE], supported=lambda op, types: True)


def repeated(field, x, *lengths):
    return BroadcastTo(field)(x, *map(as_size_variable, lengths))


def plain(inputs, *outputs):
    return FunctionGraph.of(inputs, outputs).freeze()


def ops(frozen):
    return [node.op.name for node in frozen.nodes]


@pytest.mark.parametrize(
    ("inputs", "before", "after"),
    [
        ([X], X.T.T, X),
        ([X], tg.exp(X.T).T, tg.exp(X)),
        ([X], tg.squeeze(tg.expand_dims(X.T, 1), 1), X.T),
        ([CUBE], tg.transpose(CUBE, (1, 2, 0)).transpose((1, 2, 0)).transpose((1, 2, 0)), CUBE),
        ([X], tg.expand_dims(X.T, 0), ExpandDims((-3,))(Transpose((-1, -2))(X))),
        ([X], tg.transpose(tg.expand_dims(X, 0), (2, 0, 1)), ExpandDims((-2,))(Transpose((-1, -2))(X))),
        ([ONE], ONE.T, ExpandDims((-1,))(Squeeze((-2,))(ONE))),
        ([ONE], ONE.T.T, ONE),
        ([ONE], tg.expand_dims(tg.squeeze(ONE), 0), ONE),
        ([ONE], tg.reshape(ONE, (-1,)), Squeeze((-2,))(ONE)),
        ([V], tg.reshape(V, (1, -1, 1)), ExpandDims((-3, -1))(V)),
        ([V], tg.reshape(tg.reshape(V, (1, -1)), (-1, 1))[:, 0], V),
        ([X], tg.reshape(tg.reshape(X, (-1,)), X.shape), X),
        ([X], tg.reshape(X, (X.shape[0], -1)), X),
        ([X], tg.reshape(tg.exp(tg.reshape(X, (-1,))), X.shape), tg.exp(X)),
    ],
)
def test_movements_are_merged_in_one_order(inputs, before, after):
    assert rewritten(inputs, before) == plain(inputs, after)


@pytest.mark.parametrize("seed", range(40))
def test_any_chain_of_movements_is_at_most_one_of_each(seed):
    rng = np.random.default_rng(seed)
    x = tg.tensor("x", shape=(None, 1, None, 3))
    y = x
    for _ in range(8):
        n = y.type.ndim
        ones = [k for k in range(n) if y.type.shape[k] == 1]
        kind = rng.integers(3)
        if kind == 0 and n < 6:
            y = tg.expand_dims(y, int(rng.integers(n + 1)))
        elif kind == 1 and ones:
            y = tg.squeeze(y, ones[rng.integers(len(ones))])
        else:
            y = tg.transpose(y, [int(k) for k in rng.permutation(n)])
    found = rewritten([x], y)
    order = ["Squeeze", "Transpose", "ExpandDims"]
    places = [order.index(name) for name in ops(found)]
    assert places == sorted(set(places))
    value = rng.normal(size=(2, 1, 4, 3))
    np.testing.assert_array_equal(interpret(found, [value])[0], interpret(plain([x], y), [value])[0])
    again = rewrite(FunctionGraph.thaw(found), [CORE], supported=lambda op, types: True)
    assert again == found


@pytest.mark.parametrize(
    ("inputs", "before", "after"),
    [
        ([X], -X.T, Transpose((-1, -2))(-X)),
        ([S, T], S.T * T.T, Transpose((-1, -2))(S * T)),
        ([S, U], S.T + U[:, None], Transpose((-1, -2))(S + ExpandDims((-2,))(U))),
        ([S], S.T * np.arange(12.0).reshape(4, 3), Transpose((-1, -2))(S * np.arange(12.0).reshape(4, 3).T)),
        ([V, W], V[None, :] * W[None, :], ExpandDims((-2,))(V * W)),
        ([V, W], V[None, :, None] + W[None, None, :], ExpandDims((-3,))(V[:, None] + W[None, :])),
        ([ONE], tg.exp(tg.squeeze(ONE, 0)), Squeeze((-2,))(tg.exp(ONE))),
        ([X], tg.cast(X.T, "float32"), Transpose((-1, -2))(tg.cast(X, "float32"))),
    ],
)
def test_movements_go_outwards_through_elementwise_functions(inputs, before, after):
    assert rewritten(inputs, before) == plain(inputs, after)


def test_a_movement_of_one_of_several_operands_stays():
    before = plain([X, Y], X.T * Y)
    assert rewritten([X, Y], X.T * Y) == before


def test_a_movement_between_elementwise_functions_is_inside_in_the_end():
    found = rewritten([X, Y], tg.tanh(X.T) * Y)
    assert ops(found).index("Transpose") < ops(found).index("tanh")


def test_movements_in_a_row_between_elementwise_functions_are_inside_in_the_end():
    x = tg.tensor("x", shape=(3, 1, 4))
    y = tg.tensor("y", shape=(4, 3))
    assert ops(rewritten([x, y], tg.squeeze(tg.tanh(x), 1).T * y)) == ["Squeeze", "Transpose", "tanh", "multiply"]


def test_movements_in_a_row_of_which_another_is_read_stay_where_they_are():
    """Were tanh computed of both movements, it would be computed twice."""
    x = tg.tensor("x", shape=(3, 1, 4))
    middle = tg.squeeze(tg.tanh(x), 1)
    assert ops(rewritten([x, Y], middle.T * Y, tg.cumsum(middle, 0))).count("tanh") == 1


def test_a_movement_that_no_elementwise_function_reads_stays_where_it_is():
    """A running sum makes no loop with tanh: inside, nothing would be gained by the movement."""
    found = rewritten([X], tg.cumsum(tg.tanh(X).T, 0))
    assert ops(found).index("tanh") < ops(found).index("Transpose")


def test_what_is_read_elsewhere_too_is_not_computed_again():
    y = tg.tanh(X)
    assert ops(rewritten([X, Y], y.T * Y, y)).count("tanh") == 1


def test_one_element_of_an_array_is_computed_as_a_scalar():
    x = tg.tensor("x", shape=(1, 1))
    found = rewritten([x], tg.squeeze(tg.sin(x) * 2 + tg.cos(x)))
    assert ops(found)[0] == "Squeeze"
    assert all(found.types[k].shape == () for node in found.nodes for k in node.outputs)


@pytest.mark.parametrize(
    ("inputs", "before", "after"),
    [
        (
            [V],
            tg.transpose(tg.broadcast_to(V, (3, *V.shape))),
            repeated((None, 3), ExpandDims((-1,))(V), V.shape[0]),
        ),
        ([V], tg.broadcast_to(V[None], (2, *V.shape)), repeated((2, None), V, V.shape[0])),
        ([V], tg.exp(tg.broadcast_to(V, (3, *V.shape))), repeated((3, None), tg.exp(V), V.shape[0])),
        ([U], tg.cast(tg.broadcast_to(U, (3, 4)), "int8"), repeated((3, 4), tg.cast(U, "int8"))),
        ([], tg.reshape(tg.zeros((3, 4)), (2, 6)), repeated((2, 6), Constant(np.array(0.0)))),
        ([], tg.zeros((3, 4)).T[None], repeated((1, 4, 3), Constant(np.array(0.0)))),
        ([X], X * np.full((1, 1), 2.0), X * 2.0),
        ([ONE], ONE * np.full((3, 1), 2.0), repeated((3, None), ONE * 2.0, ONE.shape[-1])),
    ],
)
def test_repetition_goes_outermost(inputs, before, after):
    assert rewritten(inputs, before) == plain(inputs, after)


def test_a_reshape_that_keeps_repeated_axes_apart_is_made_before_repeating():
    found = rewritten([X], tg.reshape(tg.broadcast_to(X, (5, *X.shape)), (5, -1)))
    assert ops(found)[-2:] == ["Reshape", "BroadcastTo"]
    mixed = rewritten([V], tg.repeat(V, 3))
    assert [name for name in ops(mixed) if name in ("Reshape", "BroadcastTo")] == ["BroadcastTo", "Reshape"]


@pytest.mark.parametrize("bits", [np.nan, -0.0, np.inf])
def test_a_constant_of_one_value_is_a_scalar_with_the_same_bits(bits):
    found = rewritten([V], V * np.full(3, bits))
    (c,) = (c for c in found.constants if c.data.dtype == np.float64)
    assert c.data.shape == ()
    assert c.data.tobytes() == np.float64(bits).tobytes()


def test_zeros_of_both_signs_are_not_one_value():
    found = rewritten([V], tg.arctan2(np.array([0.0, -0.0]), V))
    assert any(c.data.shape == (2,) for c in found.constants)


# --- lengths ----------------------------------------------------------------------------------------------------------


N = tg.scalar("n", dtype="int64")


@pytest.mark.parametrize(
    ("inputs", "output"),
    [
        ([V], V[1:] - V[:-1]),
        ([V], V[2:] + V[1:-1] + V[:-2]),
        ([V, W], tg.concatenate([V, W])[: V.shape[0]] + V),
        ([X], tg.reshape(tg.reshape(X, (-1,)), (X.shape[0], -1)) + X),
        ([V, N], tg.concatenate([V[:N], V[N:]]) * V),
        ([V, W], tg.meshgrid(V, W)[0] * tg.meshgrid(V, W)[1]),
        ([V], tg.repeat(V, 2) + tg.tile(V, 2)),
        ([V], tg.pad(V, (1, 1))[1:-1] + V),
        ([X], tg.flip(X, 0) + X),
        ([X], tg.reshape(X, (-1, X.shape[-1])) - X),
        ([V], tg.grad(tg.sum(tg.square(V[1:] - V[:-1])), V)),
        ([V, W], tg.grad(tg.sum(tg.concatenate([V, W]) ** 2), V)),
        ([X], tg.grad(tg.sum(tg.exp(tg.reshape(X, (-1,)))), X)),
    ],
)
def test_lengths_that_are_provably_equal_need_no_check(inputs, output):
    assert not rewritten(inputs, output).checks


@pytest.mark.parametrize(
    ("inputs", "output"),
    [
        ([V, W], V + W),
        ([V], V + np.arange(3.0)),
        ([V], V[1:] + V[:2]),
        ([V], tg.reshape(V, (3, 4))),
        ([X], X @ X),
        ([V, N], tg.reshape(V, (N, 2))),
    ],
)
def test_lengths_that_may_differ_keep_their_check(inputs, output):
    assert rewritten(inputs, output).checks


def test_a_length_is_known_without_the_value():
    y = tg.exp(X @ Y).T
    found = rewritten([X, Y], *map(as_size_variable, y.shape))
    assert not {"exp", "MatMul"} & set(ops(found))


@pytest.mark.parametrize(("a", "b"), list(itertools.product((0, 1, 2, 5), repeat=2)))
def test_parts_cut_anywhere_are_what_numpy_says(a, b):
    value = np.arange(float(a))
    output = [tg.concatenate([V[:b], V[b:]]), V[b:] - V[: V.shape[0] - tg.minimum(b, V.shape[0])]]
    found = interpret(rewritten([V], *output), [value])
    np.testing.assert_array_equal(found[0], value)
    np.testing.assert_array_equal(found[1], value[b:] - value[: len(value[b:])])


# --- shapes that users state ------------------------------------------------------------------------------------------


def test_a_length_over_itself_is_not_1_where_it_may_be_0():
    n = tg.constant(0) + V.shape[0] // V.shape[0]
    found = rewritten([V], n)
    assert [int(interpret(found, [np.ones(count)])[0]) for count in (0, 1, 5)] == [0, 1, 1]


def test_an_axis_of_1_is_repeated_also_where_another_length_contradicts_itself():
    """Of no rows n - 7 rows are read, and one column becomes n; no other n fits both."""
    x = tg.tensor("x", shape=(None, 1))
    found = rewritten([x], tg.logical_not(tg.broadcast_to(x < 1, (x @ x.T)[7:].shape)))
    assert interpret(found, [np.ones((0, 1))])[0].shape == (0, 0)


def test_functions_meet_across_a_stated_shape():
    found = rewritten([X], tg.log(1 + tg.specify_shape(X, (3, None))))
    assert ops(found)[-1] == "log1p"
    assert found.output_types[0].shape == (3, None)
    assert len(found.checks) == 1


def test_a_stated_length_of_1_repeats():
    found = rewritten([X, Y], tg.specify_shape(X, (1, None)) + Y)
    x, y = np.ones((1, 4)), np.ones((3, 4))
    np.testing.assert_array_equal(interpret(found, [x, y])[0], x + y)


def test_reshape_has_no_lengths_of_1_and_stands_on_no_other_movement():
    x = tg.tensor("x", shape=(None, 1, None))
    found = rewritten([x], tg.reshape(x, (1, -1, 1)))
    assert ops(found)[-2:] == ["Reshape", "ExpandDims"]
    assert found.nodes[-2].op == Reshape((None,))


@pytest.mark.parametrize("value", [0, 3, -3, 2**31, 2**62, -(2**62) - 1, 2**63 - 1, -(2**63)])
def test_integers_that_wrap_around_are_compared_as_they_are(value):
    k = tg.scalar("k", dtype="int64")
    with np.errstate(over="ignore"):
        n = np.int64(value)
        pairs = [
            (tg.equal(k * 2 // 2, k), n * 2 // 2 == n),
            (tg.less((k + 1) // 2 * 2, (k + 1) // 2 + (k + 1) // 2), False),
            (tg.greater_equal(tg.maximum(k + 1, k), k + 1), max(n + 1, n) >= n + 1),
            (tg.not_equal(tg.minimum(k * 4, k * 4 + 1), k * 4), min(n * 4, n * 4 + 1) != n * 4),
            (tg.equal(k * 4 % 4, 0), n * 4 % 4 == 0),
            (tg.equal((k + 1) * 3 - k * 3, 3), (n + 1) * 3 - n * 3 == 3),
        ]
        found = interpret(rewritten([k], *(a for a, _ in pairs)), [np.array(value)])
    assert [bool(y) for y in found] == [bool(b) for _, b in pairs]


def test_a_diagonal_further_off_than_integers_reach_is_where_these_come_round():
    for k in (2, 2**52, 2**63 - 1, -(2**63) + 1):
        found = rewritten([X], tg.logical_and(tg.tri(3, 3, k, "bool"), tg.tri(3, 3, 1, "bool")) & (X > 0))
        with np.errstate(over="ignore"):
            rows, columns = np.arange(3)[:, None], np.arange(3)
            wanted = (rows + k >= columns) & (rows + 1 >= columns)
        np.testing.assert_array_equal(interpret(found, [np.ones((3, 3))])[0], wanted)


def test_a_computed_length_of_1_is_repeated_neither_in_a_value_nor_in_its_gradient():
    a, y = tg.vector("a"), tg.tensor("y", shape=(3,))
    cost = tg.sum(tg.broadcast_to(a[:1], (3,)) * y)
    for output in (cost, tg.grad(cost, a)):
        for mode in ("default", "off"):
            f = tg.function([a, y], output, mode=mode, backend="perform", on_unused_input="ignore")
            with pytest.raises(tg.errors.ShapeError, match="lengths differ: 3 and 1"):
                f(np.arange(3.0), np.array([-9.0, -3.0, -3.0]))


def agree(inputs, outputs, arrays):
    """The rewritten program, which gives what the program says."""
    found = rewritten(inputs, *outputs)
    for new, old in zip(interpret(found, arrays), interpret(plain(inputs, *outputs), arrays), strict=True):
        np.testing.assert_array_equal(new, old)
    return found


def test_a_value_that_two_movements_read_is_moved_by_each_as_it_says():
    cube = np.arange(24.0).reshape(2, 3, 4) / 10
    y = tg.exp(CUBE)
    a, b = tg.tensor("a", shape=(None, None, None)), tg.tensor("b", shape=(None, None, None))
    inputs, moves = [CUBE, a, b], ((1, 0, 2), (0, 2, 1))
    arrays = [cube, *(np.ones(cube.transpose(move).shape) for move in moves)]
    outputs = [tg.sin(y.transpose(moves[0])) * a, tg.cos(y.transpose(moves[1])) * b]
    assert ops(agree(inputs, outputs, arrays)).count("exp") == 1
    arrays = [cube, arrays[1], arrays[1]]
    outputs = [tg.sin(y.transpose(moves[0])) * a, tg.cos(y.transpose(moves[0])) * b]
    found = ops(agree(inputs, outputs, arrays))
    assert found.count("Transpose") == found.count("exp") == 1
    assert found.index("Transpose") < found.index("exp")


def test_a_value_that_is_reshaped_in_two_ways_is_reshaped_as_each_says():
    n, m = tg.scalar("n", dtype="int64"), tg.scalar("m", dtype="int64")
    a, b = tg.matrix("a"), tg.matrix("b")
    y = tg.exp(V)
    outputs = [tg.sin(tg.reshape(y, (n, m))) * a, tg.cos(tg.reshape(y, (m, n))) * b]
    arrays = [np.arange(6.0), np.array(2), np.array(3), np.ones((2, 3)), np.ones((3, 2))]
    assert ops(agree([V, n, m, a, b], outputs, arrays)).count("exp") == 1


def test_what_is_moved_and_read_as_it_is_stays_where_it_is():
    y = tg.exp(X)
    found = agree([X, Y], [tg.sin(y.T) * Y, y * 2], [np.ones((2, 3)), np.ones((3, 2))])
    assert ops(found).count("exp") == 1
    assert ops(found).index("exp") < ops(found).index("Transpose")


def test_constants_are_moved_when_the_program_is_rewritten():
    c = np.arange(12.0).reshape(4, 3)
    found = agree([S], [tg.exp(S.T) + c, tg.exp(S[None] * c.T[None]), tg.sin(S[:, None]) * c.T[:, None, :1]], [c.T])
    assert ops(found).count("Transpose") == 1
    found = agree([ONE], [tg.exp(tg.squeeze(ONE, 0)) * np.arange(3.0)], [np.ones((1, 3))])
    assert ops(found)[-1] == "Squeeze"
    found = agree([U], [tg.exp(tg.reshape(U, (2, 2))) * c[:2, :2]], [c[0, [0, 1, 2, 1]]])
    assert ops(found)[-1] == "Reshape"
    found = agree([V], [tg.exp(tg.reshape(V, (2, 2))) * c[:2, :2]], [c[0, [0, 1, 2, 1]]])
    assert "Reshape" in ops(found)


def test_arrays_of_one_value_are_scalars_whatever_stands_beside_them():
    three, one = np.full((3, 4), 3.0), np.full((1, 1), 2.0)
    found = agree(
        [S], [tg.where(three < S, S, one), tg.arctan2(three, S), three + np.zeros((0, 3, 4)).sum(0) * S], [three]
    )
    assert all(c.data.ndim == 0 for c in found.constants)
    assert agree([], [tg.constant(three) + 1.0], []).output_types[0].shape == (3, 4)
    for kept in (np.array([1.0, 1.0, 2.0, 1.0]), np.array([2.0, 1.0, 1.0, 1.0]), np.array([1.0, 1.0, 1.0, 2.0])):
        found = agree([U], [U * kept], [np.arange(4.0)])
        assert [c.data.shape for c in found.constants] == [(4,)]


@pytest.mark.parametrize(
    ("shape", "places", "expected"),
    [
        ((1, 1, 4), [1, 2], [Squeeze((-3,))]),
        ((1, 1, 4), [0, 2], [Squeeze((-2,))]),
        ((1, 4), [None, None, 1], [ExpandDims((-2,))]),
        ((1, 4), [1, None], [Squeeze((-2,)), ExpandDims((-1,))]),
        ((1, 1, 4), [None, None, 2], []),
        ((3, 4), [1, 0], [Transpose((-1, -2))]),
    ],
)
def test_axes_of_length_1_that_are_dropped_serve_once_as_new_ones_and_others_stay(shape, places, expected):
    assert steps(tg.tensor("x", shape=shape), places) == expected


@pytest.mark.parametrize("places", [(0, 3), (0, 1, 4), (1, 3), (0, 2)])
def test_an_axis_that_was_dropped_before_a_transpose_serves_once(places):
    x, at = tg.tensor("x", shape=(2, 1, 3)), np.arange(6.0).reshape(2, 1, 3)
    f = tg.function([x], tg.expand_dims(tg.squeeze(x, 1).T, places), backend="perform")
    np.testing.assert_array_equal(f(at), np.expand_dims(np.squeeze(at, 1).T, places))


def test_a_transpose_leaves_a_function_that_takes_new_axes_too_wherever_these_stand():
    for y in (tg.exp(V[:, None] - X.T), tg.exp(X.T - V[:, None])):
        (*_, last) = ops(rewritten([X, V], y))
        assert last == "Transpose"


def test_a_function_of_one_element_is_a_function_of_a_number():
    x, only = tg.tensor("x", shape=(1,)), frozenset({"scalars_as_scalars"})
    graph = FunctionGraph.of([x], [tg.exp(Squeeze((-1,))(x))])
    frozen = rewrite(graph, [CORE], supported=lambda op, types: True, exclude=only)
    assert ops(frozen) == ["Squeeze", "exp"]


def test_a_stated_shape_of_a_stated_size_is_one_statement():
    n = tg.scalar("n", dtype="int64")
    graph = FunctionGraph.of([V, n], [SpecifyShape((None,))(V, SpecifyShape(())(n))])
    frozen = rewrite(graph, [CORE], supported=lambda op, types: True, exclude=frozenset({"specify_shape_known"}))
    assert interpret(frozen, [np.ones(3), np.array(3)])[0].shape == (3,)


@pytest.mark.parametrize(("inner", "shape", "new"), [((3, 1), (3, 0), (3, 0, 7)), ((1, 2, 0), (4, 2, 0), (4, 0))])
def test_what_is_repeated_no_times_is_reshaped_as_it_is(inner, shape, new):
    x = tg.tensor("x", shape=inner)
    frozen = rewritten([x], tg.exp(tg.reshape(tg.broadcast_to(x, shape), new)))
    assert interpret(frozen, [np.ones(inner)])[0].shape == new


@pytest.mark.parametrize("count", [0, 1])
def test_a_reshape_that_fits_for_no_repeats_only_repeats_nothing_else(count):
    k = tg.scalar("k", dtype="int64")
    y = tg.reshape(tg.broadcast_to(U, (k, 4)), (k, k * 4))
    frozen = rewritten([U, k], y)
    (found,) = interpret(frozen, [np.ones(4), np.array(count)])
    np.testing.assert_array_equal(found, np.ones((count, 4 * count)))


# --- one rule by itself ----------------------------------------------------------------------------------------------


def by_itself(name, inputs, output):
    """What one rule alone makes of a value, and whether it fired."""
    (one,) = (one for one in RULES if one.name == name)
    graph = FunctionGraph.of(inputs, [output])
    frozen = rewrite(graph, [One(admitted(one))], supported=lambda op, types: True)
    return frozen, bool(graph.fired.get(name))


@pytest.mark.parametrize(
    ("old", "new", "other"), [((2, 2), (1, 4), (4, 1)), ((2, 6), (3, 4), (1, 4)), ((4,), (2, 2), (2, 2))]
)
def test_a_constant_goes_below_a_reshape_where_it_has_its_shape(old, new, other):
    x, c = tg.tensor("x", shape=old), np.arange(np.prod(other), dtype=np.float64).reshape(other)
    frozen, fired = by_itself("elementwise_of_movement", [x], Reshape(new)(x) + tg.constant(c))
    at = np.linspace(1, 2, np.prod(old)).reshape(old)
    np.testing.assert_array_equal(interpret(frozen, [at])[0], at.reshape(new) + c)
    assert fired is (new == other)


def test_an_axis_of_length_1_that_is_repeated_no_further_is_dropped_before_repeating():
    x, n = tg.vector("x"), tg.scalar("n", dtype="int64")
    frozen = rewritten([x, n], Squeeze((-1,))(tg.broadcast_to(x, (n,))))
    assert "BroadcastTo" not in ops(frozen)
    assert interpret(frozen, [np.array([5.0]), np.array(1)])[0] == 5.0
