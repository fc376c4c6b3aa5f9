"""What becomes of matrix products."""

import functools
import itertools
import math
import operator

import numpy as np
import pytest

import tg
from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.graph.nodes import Constant
from tg.graph.view import View
from tg.ops.contraction import MatMul
from tg.ops.creation import iota
from tg.ops.indexing import Gather, Scatter
from tg.plugin.records import Rewrites
from tg.rewrite.driver import rewrite
from tg.rules.catalog import PASSES, RULES
from tg.rules.contraction import chains

CORE = Rewrites(RULES, PASSES)


def rewritten(inputs, *outputs, mode="default", exclude=()):
    graph = FunctionGraph.of(inputs, list(outputs))
    return rewrite(graph, [CORE], supported=lambda op, types: True, mode=mode, exclude=frozenset(exclude))


def agree(inputs, outputs, arrays, **options):
    """The rewritten program, which gives what the program gives."""
    frozen = rewritten(inputs, *outputs, **options)
    before = FunctionGraph.of(inputs, list(outputs)).freeze()
    for old, new in zip(interpret(before, arrays), interpret(frozen, arrays), strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-9, atol=1e-9)
    return frozen


def normal(*shape):
    return np.random.default_rng(math.prod(shape)).normal(size=shape)


def products(frozen):
    """The types of the operands of all matrix products."""
    return [tuple(frozen.types[i].shape for i in n.inputs) for n in frozen.nodes if n.op.name == "MatMul"]


def largest_rank(frozen):
    return max(len(t.shape) for t in frozen.types)


A, B, C = (tg.matrix(name) for name in "ABC")
U, V = tg.vector("u"), tg.vector("v")
T = tg.tensor("t", shape=(None, None, None))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((A @ B) @ V, A @ (B @ V)),
        (U @ (A @ (B @ C)), ((U @ A) @ B) @ C),
        ((A.T @ B.T).T, B @ A),
        ((A.T @ B).T, B.T @ A),
        ((-A) @ (-B), A @ B),
        ((A * 2) @ (B * 3), (A @ B) * 6),
        (tg.sum(A[:, :, None] * B[None], axis=1), A @ B),
        (tg.sum(A[:, None, :] * B[None], axis=2), A @ B.T),
        (tg.trace(A @ B), tg.sum(tg.diagonal(A @ B))),
    ],
)
def test_a_product_becomes_its_better_form(before, after):
    inputs = [A, B, C, U, V]
    found, wanted = rewritten(inputs, before), rewritten(inputs, after)
    assert term(found, found.outputs[0]) == term(wanted, wanted.outputs[0])


def term(frozen, k):
    """How a value is computed, whatever else is checked."""
    made = {node.outputs[0]: node for node in frozen.nodes}
    return (str(made[k].op), *(term(frozen, i) for i in made[k].inputs)) if k in made else f"{k} {frozen.types[k]}"


def test_the_gradient_of_a_product_with_a_transpose_has_no_transposed_result():
    frozen = rewritten([A, B], *tg.grad(tg.sum(tg.square(A @ B.T)), [A, B]))
    results = {n.outputs[0] for n in frozen.nodes if n.op.name == "MatMul"}
    assert len(results) == 3
    assert not [n for n in frozen.nodes if n.op.name == "Transpose" and n.inputs[0] in results]


def test_the_gradient_of_weights_that_several_examples_share_has_no_transposed_result():
    frozen = rewritten([T, A], tg.grad(tg.sum(tg.square(T @ A.T)), A))
    results = {n.outputs[0] for n in frozen.nodes if n.op.name == "MatMul"}
    assert results
    assert not [n for n in frozen.nodes if n.op.name == "Transpose" and n.inputs[0] in results]


def test_a_chain_with_known_lengths_is_multiplied_in_the_cheapest_order():
    sizes = (40, 2, 30, 3, 50, 7, 20)
    inputs = [tg.tensor(f"x{k}", shape=pair) for k, pair in enumerate(itertools.pairwise(sizes))]
    left = right = None
    for x in inputs:
        left = x if left is None else left @ x
    for x in reversed(inputs):
        right = x if right is None else x @ right
    arrays = [normal(*x.type.shape) for x in inputs]
    found = [agree(inputs, [y], arrays) for y in (left, right)]
    assert found[0] == found[1]
    cost = sum(a[0] * a[1] * b[1] for a, b in products(found[0]))
    assert cost == best_cost(sizes)


@pytest.mark.parametrize("shapes", [((40, 2), (None, 30), (None, 3)), ((40, None), (2, None), (30, 3))])
def test_a_length_that_one_of_two_matrices_knows_is_known(shapes):
    inputs = [tg.tensor(f"x{k}", shape=shape) for k, shape in enumerate(shapes)]
    frozen = agree(inputs, [(inputs[0] @ inputs[1]) @ inputs[2]], [normal(40, 2), normal(2, 30), normal(30, 3)])
    assert [b[-1] for _, b in products(frozen)] == [3, 3]


def best_cost(sizes):
    if len(sizes) <= 2:
        return 0
    return min(
        best_cost(sizes[: k + 1]) + best_cost(sizes[k:]) + sizes[0] * sizes[k] * sizes[-1]
        for k in range(1, len(sizes) - 1)
    )


def test_a_product_that_something_else_reads_is_not_computed_twice():
    y = A @ B
    assert len(products(rewritten([A, B, V], y @ V, y))) == 2
    assert len(products(rewritten([A, B], tg.sum(y), y))) == 1
    assert len(products(rewritten([A, B], tg.diagonal(y), y))) == 1
    assert len(products(rewritten([A, B], (A.T @ B).T, A.T @ B))) == 1


def test_a_chain_of_unknown_lengths_without_vectors_stays():
    frozen = rewritten([A, B, C], (A @ B) @ C)
    assert frozen == FunctionGraph.of([A, B, C], [(A @ B) @ C]).freeze()


def test_a_chain_is_ordered_once_and_not_part_by_part():
    sizes = (40, 2, 30, 3, 50, 7, 20)
    inputs = [tg.tensor(f"x{k}", shape=pair) for k, pair in enumerate(itertools.pairwise(sizes))]
    graph = FunctionGraph.of(inputs, [functools.reduce(operator.matmul, inputs)])
    assert len(chains._matmul_in_order.run(View(graph))) == 1


def test_a_long_chain_with_a_vector_is_ordered_in_linear_time():
    y = A
    for _ in range(2000):
        y = y @ A
    frozen = rewritten([A, V], y @ V)
    assert all(b[1] == 1 for _, b in products(frozen))


@pytest.mark.parametrize("lengths", [(5, 4, 3, 1), (1, 4, 3, 5), (5, 4, 1, 3, 6), (2, 1, 3, 1, 4)])
def test_vectors_decide_the_order_that_costs_least(lengths):
    steps = chains._by_vectors(lengths)
    assert chains._cost(lengths, steps) == chains._cost(lengths, chains._best(lengths))


@pytest.mark.parametrize("axes", [0, 1, None])
def test_the_sum_of_a_product_makes_no_matrix(axes):
    frozen = agree([A, B], [tg.sum(A @ B, axis=axes)], [normal(4, 5), normal(5, 3)])
    assert all(1 in (a[0], b[1]) for a, b in products(frozen))


def test_the_sum_of_a_product_of_three_makes_no_matrix():
    frozen = agree([A, B, C], [tg.sum(A @ B @ C, axis=0)], [normal(4, 5), normal(5, 3), normal(3, 6)])
    assert all(a[0] == 1 for a, _ in products(frozen))


@pytest.mark.parametrize("rows", [0, 3])
def test_the_sum_over_no_rows_is_zero_whatever_the_other_factor_is(rows):
    frozen = rewritten([A, B], tg.sum(A @ B, axis=0))
    (total,) = interpret(frozen, [np.ones((rows, 2)), np.array([[np.nan, 1.0], [1.0, np.inf]])])
    np.testing.assert_array_equal(total, [np.nan, np.inf] if rows else [0, 0])


def test_the_diagonal_of_a_product_makes_no_matrix():
    x, y = tg.tensor("x", shape=(4, 5)), tg.tensor("y", shape=(5, 4))
    for formula in (tg.diagonal(x @ y), tg.trace(x @ y), tg.diagonal(x @ y, 1), tg.diagonal(x @ y, -2)):
        assert not products(agree([x, y], [formula], [normal(4, 5), normal(5, 4)]))
    for shapes in (((4, 5), (5, 3)), ((2, 5), (5, 3))):
        assert not products(agree([A, B], [tg.diagonal(A @ B)], [normal(*s) for s in shapes]))


def test_the_diagonals_of_many_products():
    y = tg.tensor("y", shape=(None, None, None))
    frozen = agree([T, y], [tg.diagonal(T @ y, 0, 1, 2)], [normal(2, 4, 5), normal(2, 5, 4)])
    assert not products(frozen)


def test_the_gradient_of_a_sum_of_a_product_has_no_product():
    assert not products(agree([A, B], tg.grad(tg.sum(A @ B), [A, B]), [normal(4, 5), normal(5, 3)]))


def test_many_matrices_times_one_are_one_product():
    frozen = agree([T, B], [T @ B], [normal(2, 3, 4), normal(4, 5)])
    assert [len(a) for a, _ in products(frozen)] == [2]


def test_a_matrix_times_many_vectors_is_one_product():
    x = tg.tensor("x", shape=(None, None, None, 1))
    frozen = agree([A, x], [A @ x], [normal(3, 4), normal(2, 5, 4, 1)])
    assert [len(a) for a, _ in products(frozen)] == [2]


def test_the_gradient_of_a_batched_layer_sums_within_the_product():
    frozen = agree([T, B], tg.grad(tg.sum(tg.square(T @ B)), [T, B]), [normal(2, 3, 4), normal(4, 5)])
    assert [len(a) for a, _ in products(frozen)] == [2, 2, 2]


def test_the_sum_of_many_products_is_one():
    y = tg.tensor("y", shape=(None, None, None))
    frozen = agree([T, y], [tg.sum(T @ y, axis=0)], [normal(2, 3, 4), normal(2, 4, 5)])
    assert [len(a) for a, _ in products(frozen)] == [2]
    frozen = agree([T, y], [tg.sum(T @ y, axis=(0, 2))], [normal(2, 3, 4), normal(2, 4, 5)])
    assert [len(a) for a, _ in products(frozen)] == [2]


def test_rows_times_columns_are_a_sum_of_products():
    frozen = agree([A, B], [tg.einsum("ij,ij->i", A, B)], [normal(3, 4), normal(3, 4)])
    assert not products(frozen)


@pytest.mark.parametrize("text", ["ij,jk->ik", "ij,kj->ik", "ji,jk->ik", "ji,kj->ik"])
def test_an_einsum_of_two_matrices_is_a_product_without_movements(text):
    frozen = agree([A, B], [tg.einsum(text, A, B)], [normal(4, 4), normal(4, 4)])
    assert not {n.op.name for n in frozen.nodes} & {"Reshape", "Squeeze", "ExpandDims"}


def test_tables_of_products_with_batch_axes_are_products_of_matrices():
    y = tg.tensor("y", shape=(None, None, None))
    table = T[:, :, :, None] * y[:, None]
    frozen = agree([T, y], [tg.sum(table, axis=2)], [normal(2, 3, 4), normal(2, 4, 5)])
    assert [len(a) for a, _ in products(frozen)] == [3]
    assert largest_rank(frozen) == 3


def test_a_diagonal_scales_what_is_known_to_be_finite():
    known = tg.assume(A, finite=True)
    frozen = rewritten([U, A], tg.diag(U) @ known)
    assert not products(frozen)
    assert products(rewritten([U, A], tg.diag(U) @ A))
    assert products(rewritten([A], tg.eye(A.shape[0]) @ A))
    assert not products(rewritten([A], tg.eye(A.shape[0]) @ known))


@pytest.mark.parametrize("k", [0, 1])
def test_an_identity_too_large_to_be_folded_is_one_whose_numbers_were(k):
    x = tg.tensor("x", shape=(300, 2))
    frozen = rewritten([x], tg.eye(300, k=k) @ tg.assume(x, finite=True))
    assert bool(products(frozen)) == bool(k)
    np.testing.assert_array_equal(interpret(frozen, [normal(300, 2)])[0], np.eye(300, k=k) @ normal(300, 2))


def test_the_product_with_zeros_is_kept_where_it_may_show_a_nan():
    zeros = tg.zeros((3, A.shape[0]))
    (found,) = interpret(rewritten([A], zeros @ A), [np.array([[np.nan, 1.0]])])
    np.testing.assert_array_equal(found, [[np.nan, 0]] * 3)
    frozen = rewritten([A], zeros @ tg.assume(A, finite=True))
    assert not {n.op.name for n in frozen.nodes} & {"MatMul", "Reduce"}


def test_repeated_rows_are_multiplied_once():
    x = tg.broadcast_to(U, (5, U.shape[0]))
    frozen = agree([U, A], [x @ A], [normal(4), normal(4, 3)])
    assert [a[0] for a, _ in products(frozen)] == [1]


def test_a_strict_rewrite_leaves_products():
    for formula in ((A @ B) @ V, tg.sum(A @ B), tg.diagonal(A @ B), (A * 2) @ (B * 3)):
        frozen = rewritten([A, B, V], formula, mode="strict")
        assert products(frozen) == products(FunctionGraph.of([A, B, V], [formula]).freeze())


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "complex64"])
def test_products_of_other_dtypes_agree(dtype):
    rng = np.random.default_rng(0)
    x, y, v = (tg.tensor(n, dtype=dtype, shape=s) for n, s in (("x", (3, 3)), ("y", (3, 3)), ("v", (3,))))
    arrays = [rng.integers(0, 3, size=u.type.shape).astype(dtype) for u in (x, y, v)]
    outputs = [(x @ y) @ v, tg.diagonal(x @ y), (x.T @ y.T).T]
    if dtype != "bool":
        outputs += [tg.sum(x @ y, axis=0, dtype=dtype), (x * 2) @ (y * 3)]
    frozen = rewritten([x, y, v], *outputs)
    for old, new in zip(
        interpret(FunctionGraph.of([x, y, v], outputs).freeze(), arrays), interpret(frozen, arrays), strict=True
    ):
        np.testing.assert_array_equal(old, new)


def test_products_of_truth_values_agree():
    rng = np.random.default_rng(0)
    shapes = {"x": (3, 3), "column": (3, 1), "row": (1, 3), "many": (2, 3, 3)}
    x, column, row, many = (tg.tensor(n, dtype="bool", shape=s) for n, s in shapes.items())
    zeros, d = tg.zeros((3, 3), dtype="bool"), tg.diagonal(x)
    eye = tg.eye(3, dtype="bool")
    outputs = [column @ row, many @ x, x @ many[..., :1], zeros @ x, x @ eye, eye @ x, (x @ x) @ column]
    outputs += [Scatter((-2, -1), fn)(zeros, d, iota(3), iota(3)) @ x for fn in (None, tg.add)]
    outputs += [(x & True) @ (x & True), (x * True) @ column, tg.broadcast_to(row, (3, 3)) @ x]
    outputs += [tg.broadcast_to(column, (3, 3)) @ x, tg.sum(x @ x, 0), tg.diagonal(x @ x)]
    arrays = [rng.random(s) < 0.4 for s in shapes.values()]
    frozen = rewritten([x, column, row, many], *outputs)
    before = FunctionGraph.of([x, column, row, many], outputs).freeze()
    for old, new in zip(interpret(before, arrays), interpret(frozen, arrays), strict=True):
        assert old.dtype == new.dtype
        np.testing.assert_array_equal(old, new)


def test_products_of_truth_values_become_no_sums_as_these_would_count():
    x, row, many = (tg.tensor(n, "bool", s) for n, s in (("x", (3, 3)), ("row", (1, 1)), ("many", (2, 1, 3))))
    for y in (tg.diagonal(x @ x), tg.broadcast_to(row, (3, 3)) @ x, many @ tg.swapaxes(many, -1, -2)):
        frozen = rewritten([x, row, many], y)
        assert len(products(frozen)) == 1
        assert not [node for node in frozen.nodes if node.op.name == "Reduce"]


def test_complex_products_of_a_column_and_a_row_stay_as_they_round():
    x, y = tg.tensor("x", "complex128", (3, 1)), tg.tensor("y", "complex128", (1, 3))
    assert len(products(rewritten([x, y], x @ y))) == 1


@pytest.mark.parametrize("fn", [None, tg.add, tg.multiply, tg.minimum, tg.maximum])
def test_a_diagonal_that_was_combined_with_zeros_is_what_that_gives(fn):
    d, b = tg.vector("d"), tg.matrix("b")
    n = d.shape[0]
    matrix = Scatter((-2, -1), fn)(tg.zeros((n, n)), d, iota(n), iota(n))
    frozen = rewritten([d, b], MatMul()(matrix, tg.where(b > 0, 1.0, -2.0)))
    values = np.array([-1.0, 2.0, 3.0])
    (found,) = interpret(frozen, [values, np.ones((3, 2))])
    combined = values if fn is None else fn.numpy(0.0, values)
    np.testing.assert_array_equal(found, np.diag(combined) @ np.ones((3, 2)))


def test_repeats_along_new_axes_of_length_1_too_are_a_multiple():
    x = tg.scalar("x")
    for reduction, expected in ((tg.sum, 15.0), (tg.max, 3.0)):
        frozen = rewritten(
            [x], reduction(tg.broadcast_to(x, (1, 5))), exclude=frozenset({"sum_one_element", "reduce_one_element"})
        )
        assert not [node for node in frozen.nodes if node.op.name == "Reduce"]
        assert interpret(frozen, [np.array(3.0)])[0] == expected


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("factor", [2.0**200, 2.0**-200])
def test_factors_that_bring_products_into_range_stay_in_front_of_them(dtype, factor):
    x, y = (tg.tensor(name, dtype, (1, 1)) for name in "xy")
    frozen = rewritten([x, y], tg.sum(MatMul()(x * factor, y * factor)))
    small = np.full((1, 1), factor**-3, dtype)
    assert interpret(frozen, [small, small])[0] == factor**-4


@pytest.mark.parametrize("a", [2.0**500, 2.0**-500, 2.0**500 * 1j])
def test_complex_factors_that_are_far_from_1_stay(a):
    x, y = (tg.tensor(name, "complex128", (2, 2)) for name in "xy")
    (operands,) = (n.inputs for n in rewritten([x, y], MatMul()(x * a, y * 2)).nodes if n.op.name == "MatMul")
    assert not {0, 1} & set(operands)


def test_a_factor_stays_in_the_loop_that_makes_an_operand_and_where_the_product_is_no_smaller():
    for n, inner, last in ((3, 40, "multiply"), (3, 3, "MatMul")):
        x, y = tg.tensor("x", shape=(n, inner)), tg.tensor("y", shape=(inner, n))
        frozen = rewritten([x, y], MatMul()(x * 2, y))
        assert [node.op.name for node in frozen.nodes if node.op.name in ("MatMul", "multiply")][-1] == last
        frozen = rewritten([x, y], MatMul()(tg.exp(x) * 2, y))
        assert frozen.nodes[-1].op.name == "MatMul"


def test_a_number_times_an_array_of_one_element_is_no_matrix_without_it():
    s, y = tg.scalar("s"), tg.tensor("y", shape=(1, 5))
    z = MatMul()(s * Constant(np.full((1, 1), 2.0)), y * 3)
    frozen = rewritten([s, y], z, exclude=("constant_of_one_value", "matmul_over_one", "matmul_of_repeated"))
    np.testing.assert_array_equal(interpret(frozen, [np.array(3.0), np.ones((1, 5))])[0], np.full((1, 5), 18.0))


def test_many_vectors_times_matrices_that_are_repeated_along_one_leading_axis_only():
    x, y = tg.tensor("x", shape=(2, 1, 3, 4)), tg.tensor("y", shape=(1, 3, 4, 1))
    agree([x, y], [MatMul()(x, y)], [normal(2, 1, 3, 4), normal(1, 3, 4, 1)])


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("count", [0, 2])
def test_a_repeated_nan_multiplies_nothing_where_nothing_is_summed(left, count):
    y, one = tg.tensor("y", shape=(None, None, None)), tg.tensor("one", shape=(None, 1, 1))
    if left:
        z = MatMul()(tg.broadcast_to(one, (y.shape[0], 3, y.shape[1])), y)
    else:
        z = MatMul()(y, tg.broadcast_to(one, (y.shape[0], y.shape[2], 3)))
    arrays = [np.ones((2, count, 5) if left else (2, 5, count)), np.full((2, 1, 1), np.nan)]
    frozen = rewritten([y, one], z)
    assert not products(frozen)
    expected = np.full((2, 3, 5) if left else (2, 5, 3), np.nan if count else 0.0)
    np.testing.assert_array_equal(interpret(frozen, arrays)[0], expected)


def test_only_a_vector_on_the_diagonal_of_one_matrix_of_zeros_is_a_diagonal():
    x, d, many = tg.matrix("x"), tg.tensor("d", shape=(3,)), tg.tensor("many", shape=(3, 3))
    finite = tg.where(x > 0, 2.0, 3.0)
    zeros, k, order = tg.zeros((3, 3)), iota(3), Constant(np.array([1, 2, 0]))
    stack = Scatter((-2, -1), None)(tg.zeros((3, 3, 3)), many, k, k)
    written = [
        Scatter((-2, -1), None)(zeros, d, k, order),
        Scatter((-2,), None)(zeros, many, k),
        Scatter((-2,), None)(zeros, many, order),
    ]
    outputs = [v for w in written for v in (w @ finite, finite @ w)]
    outputs += [stack @ finite[None], finite[None] @ stack]
    wide = Scatter((-2, -1), None)(tg.zeros((3, 5)), d, k, k)
    outputs += [wide @ tg.concatenate([finite, finite])[:5], finite @ wide]
    agree([x, d, many], outputs, [normal(3, 3), normal(3), normal(9).reshape(3, 3)])


def test_many_identities_repeat_what_they_are_multiplied_by():
    x, y = tg.tensor("x", shape=(3, 2, 2)), tg.tensor("y", shape=(1, 2, 4))
    known = tg.assume(x, diagonal=True, unit_diagonal=True)
    outputs = [MatMul()(known, tg.assume(y, finite=True)), MatMul()(known * 2, tg.assume(y, finite=True))]
    agree([x, y], outputs, [np.broadcast_to(np.eye(2), (3, 2, 2)).copy(), normal(1, 2, 4)])


def test_a_diagonal_matrix_of_unknown_lengths_scales_rows():
    frozen = agree(
        [A, B],
        [tg.assume(A, diagonal=True) @ tg.assume(B, finite=True)],
        [np.diag([2.0, 3.0]), normal(2, 5)],
    )
    assert not products(frozen)


def test_elements_of_a_product_are_computed_alone_where_they_are_fewer():
    x, y = tg.tensor("x", shape=(2, 2, 3)), tg.tensor("y", shape=(2, 3, 2))

    def at(i):
        return len(products(rewritten([x, y, A, B], i)))

    few, many = (Constant(np.array(places)) for places in ([0, 1, 1], [0, 1, 1, 0, 1]))
    assert at(Gather((-2, -1))(MatMul()(x, y), few, few)) == 0
    assert at(Gather((-2, -1))(MatMul()(x, y), many, many)) == 1
    assert at(tg.diagonal(A @ B, 1)) == 0
