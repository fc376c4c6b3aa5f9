"""What becomes of reductions, running results and sorts."""

import numpy as np
import pytest

import tg
from tests.unit.rules.examine import One, admitted
from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.ops.elementwise.arithmetic import gate, maximum
from tg.ops.reduction import Reduce
from tg.ops.shape import Transpose
from tg.plugin.records import Rewrites
from tg.rewrite.driver import rewrite
from tg.rules.catalog import PASSES, RULES
from tg.types.dtypes import numpy_dtype

CORE = Rewrites(RULES, PASSES)
(ANY_FACTOR,) = (one for one in RULES if one.name == "sum_of_factor")


def rewritten(inputs, output, rules=CORE, mode="default"):
    return rewrite(FunctionGraph.of(inputs, [output]), [rules], supported=lambda op, types: True, mode=mode)


def count(frozen, name):
    return sum(node.op.name == name for node in frozen.nodes)


@pytest.mark.parametrize("shape", [(3, 4), (3, 3)])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (lambda x: tg.sum(x.T, axis=0), lambda x: tg.sum(x, axis=1)),
        (lambda x: tg.max(x.T, axis=0), lambda x: tg.max(x, axis=1)),
        (lambda x: tg.sum(x.T), tg.sum),
        (lambda x: tg.sum(tg.expand_dims(x, 0), axis=2), lambda x: tg.expand_dims(tg.sum(x, axis=1), 0)),
        (lambda x: tg.sum(tg.squeeze(tg.expand_dims(x, 0), 0), axis=0), lambda x: tg.sum(x, axis=0)),
        (lambda x: tg.sum(tg.ravel(x)), tg.sum),
        (lambda x: tg.max(tg.ravel(x)), tg.max),
        (lambda x: tg.sum(x, axis=0, keepdims=True).sum(axis=1), lambda x: tg.expand_dims(tg.sum(x), 0)),
        (lambda x: tg.any(tg.any(x > 0, axis=1)), lambda x: tg.any(x > 0)),
        (lambda x: tg.prod(tg.prod(x, axis=1)), tg.prod),
        (lambda x: tg.all(tg.logical_not(x > 0), axis=0), lambda x: tg.logical_not(tg.any(x > 0, axis=0))),
        (lambda x: tg.max(-x, axis=0), lambda x: -tg.min(x, axis=0)),
        (lambda x: tg.argmax(-x, axis=0), lambda x: tg.argmin(x, axis=0)),
        (lambda x: tg.argmax(x.T, axis=0), lambda x: tg.argmax(x, axis=1)),
        (lambda x: tg.max(tg.sort(x, axis=1), axis=1), lambda x: tg.max(x, axis=1)),
        (lambda x: tg.sum(tg.sort(x, axis=1)), tg.sum),
        (lambda x: tg.sum(tg.concatenate([x, -x], axis=0)), lambda x: tg.sum(x) - tg.sum(x)),
        (lambda x: tg.sum(tg.stack([x, x * x, x]), axis=0), lambda x: x + x * x + x),
        (lambda x: tg.cumsum(-x, axis=0), lambda x: -tg.cumsum(x, axis=0)),
        (lambda x: tg.cumsum(tg.zeros_like(x), axis=0), tg.zeros_like),
        (lambda x: tg.max(tg.broadcast_to(x, (5, *x.shape)), axis=0), lambda x: x),
        (lambda x: tg.sum(tg.broadcast_to(x, (5, *x.shape)), axis=0), lambda x: x * 5),
    ],
)
def test_a_reduction_becomes_its_better_form(before, after, shape):
    x = tg.tensor("x", shape=shape)
    assert rewritten([x], before(x)) == rewritten([x], after(x))


@pytest.mark.parametrize(
    "formula",
    [
        lambda x: tg.argmax(tg.exp(x), axis=1),  # what overflows or rounds to a tie has another first place
        lambda x: tg.sum(tg.sort(x, axis=0), axis=1),
        lambda x: tg.max(tg.sum(x, axis=0)),
        lambda x: tg.sum(tg.max(x, axis=0)),
    ],
)
def test_a_reduction_that_has_no_better_form_stays(formula):
    x = tg.tensor("x", shape=(3, 4))
    before = FunctionGraph.of([x], [formula(x)]).freeze()
    after = rewritten([x], formula(x))
    assert [n.op.name for n in after.nodes if n.op.name in SEEN] == [
        n.op.name for n in before.nodes if n.op.name in SEEN
    ]


SEEN = {"Reduce", "ArgReduce", "log", "sin", "exp", "Sort"}


def test_what_no_row_is_repeated_for_sums_to_zero():
    x, y = tg.vector("x"), tg.vector("y")
    frozen = rewritten([x, y], tg.sum(tg.broadcast_to(x, (y.shape[0], x.shape[0])), axis=0))
    assert count(frozen, "Reduce") == 0
    (total,) = interpret(frozen, [np.array([np.nan, np.inf, 2.0]), np.empty(0)])
    np.testing.assert_array_equal(total, [0, 0, 0])


def test_complex_infinities_that_repeat_are_added_up_as_they_stand():
    z = tg.tensor("z", "complex128", (None,))
    table = tg.broadcast_to(z[:, None], (2, 3))
    at = np.array([np.inf + 0j, 1 + 2j])
    rows = np.repeat(at[:, None], 3, 1)
    for y, expected in ((tg.cumsum(table, axis=1), np.cumsum(rows, 1)), (tg.sum(table, axis=1), np.sum(rows, 1))):
        np.testing.assert_array_equal(tg.function([z], y, backend="perform")(at), expected)


def test_whether_any_of_no_repeats_holds():
    x, y = tg.vector("x", dtype="bool"), tg.vector("y")
    table = tg.broadcast_to(x, (y.shape[0], x.shape[0]))
    for reduction, of_none in ((tg.any, False), (tg.all, True)):
        frozen = rewritten([x, y], reduction(table, axis=0))
        assert count(frozen, "Reduce") == 0
        for n in (0, 3):
            (found,) = interpret(frozen, [np.array([True, False]), np.ones(n)])
            np.testing.assert_array_equal(found, [True, False] if n else [of_none] * 2)


def test_a_half_sum_of_many_repeats_does_not_overflow_before_it_must():
    x = tg.tensor("x", dtype="float16", shape=(2,))
    frozen = rewritten([x], tg.sum(tg.broadcast_to(x, (100_000, 2)), axis=0))
    (total,) = interpret(frozen, [np.array([0.0, 0.25], np.float16)])
    np.testing.assert_array_equal(total, np.array([0, 25_000], np.float16))


def test_a_factor_that_keeps_a_half_sum_small_stays_in_it():
    x = tg.tensor("x", dtype="float16", shape=(1000,))
    for y, value in ((x * 0.001, 600), (x * 0.25, 200), (x / 1.5, 80)):
        (total,) = interpret(rewritten([x], tg.sum(y)), [np.full(1000, value, np.float16)])
        assert np.isfinite(total)


def test_a_factor_leaves_a_sum_where_that_hides_nothing():
    x, y = tg.vector("x"), tg.vector("y")
    kept = rewritten([x, y], tg.sum(x[:, None] * y[None], axis=0))
    assert (None, None) in [t.shape for t in kept.types]
    known = tg.assume(y, finite=True, nonzero=True)
    for table in (x[:, None] * known[None], x[:, None] / known[None], gate(known[None], x[:, None])):
        frozen = rewritten([x, y], tg.sum(table, axis=0))
        assert (None, None) not in [t.shape for t in frozen.types]
        (total,) = interpret(frozen, [np.arange(3.0), np.array([1.0, 2.0])])
        (wanted,) = interpret(
            FunctionGraph.of([x, y], [tg.sum(table, axis=0)]).freeze(), [np.arange(3.0), np.array([1.0, 2.0])]
        )
        np.testing.assert_array_equal(total, wanted)


def test_any_factor_leaves_a_sum_where_rewrites_may_hide_nan():
    x, y = tg.vector("x"), tg.vector("y")
    for table in (x[:, None] * y[None], x[:, None] / y[None]):
        graph = FunctionGraph.of([x, y], [tg.sum(table, axis=0)])
        frozen = rewrite(graph, [One(admitted(ANY_FACTOR))], supported=lambda op, types: True)
        assert (None, None) not in [t.shape for t in frozen.types]
        (total,) = interpret(frozen, [np.empty(0), np.array([np.nan, np.inf, 2.0, 0.0])])
        np.testing.assert_array_equal(total, [0, 0, 0, 0])


def test_the_rows_of_a_one_hot_table_are_not_made():
    i = tg.vector("i", dtype="int64")
    for n in (7, i.shape[0]):
        frozen = rewritten([i], tg.sum(tg.one_hot(i, n), axis=-1))
        assert count(frozen, "Reduce") == 0
        (rows,) = interpret(frozen, [np.array([0, 6, 3, -1, 7, 2, 1])])
        np.testing.assert_array_equal(rows, [1, 1, 1, 0, 0, 1, 1])


def test_the_sum_of_the_identity_is_its_length():
    x = tg.vector("x")
    frozen = rewritten([x], tg.sum(tg.eye(x.shape[0])))
    assert max(len(t.shape) for t in frozen.types) == 1
    assert interpret(frozen, [np.ones(5)])[0] == 5


def test_the_sum_of_a_range_follows_from_its_length():
    x = tg.vector("x")
    frozen = rewritten([x], tg.sum(tg.arange(x.shape[0])))
    assert count(frozen, "Reduce") == 0
    assert [int(interpret(frozen, [np.ones(n)])[0]) for n in (0, 1, 2, 7)] == [0, 0, 1, 21]


@pytest.mark.parametrize(
    ("old", "new", "axes"),
    [
        ((2, 3, 4), (6, 4), (0,)), ((2, 3, 4), (6, 4), (1,)), ((2, 3, 4), (24,), (0,)), ((2, 3, 4), (2, 12), (1,)),
        ((2, 3, 4), (2, 3, 2, 2), (2, 3)), ((2, 3, 4), (2, 3, 2, 2), (2,)), ((6, 4), (2, 3, 4), (0,)),
        ((6, 4), (2, 3, 4), (0, 1)), ((3, 1), (3,), (0,)), ((1, 3), (3, 1), (0,)), ((0, 3), (3, 0), (0,)),
        ((0, 3), (0, 3, 1), (1,)), ((2, 3, 4), (4, 3, 2), (1,)),
    ],
)  # fmt: skip
def test_a_sum_below_a_reshape_is_the_sum_above_it(old, new, axes):
    x = tg.tensor("x", dtype="int64", shape=old)
    value = np.arange(int(np.prod(old))).reshape(old)
    (found,) = interpret(rewritten([x], tg.sum(tg.reshape(x, new), axis=axes)), [value])
    np.testing.assert_array_equal(found, value.reshape(new).sum(axis=axes))


@pytest.mark.parametrize("dtype", tg.types.dtypes.DTYPES)
def test_a_reduction_of_nothing_is_what_it_starts_from(dtype):
    x = tg.tensor("x", dtype=dtype, shape=(3, 0))
    for name in ("add", "multiply", "maximum", "minimum"):
        y = Reduce(getattr(tg.ops.elementwise.arithmetic, name), (-1,), total=True)(x)
        frozen = rewritten([x], y)
        assert count(frozen, "Reduce") == 0
        value = np.empty((3, 0), tg.types.dtypes.numpy_dtype(dtype))
        np.testing.assert_array_equal(interpret(frozen, [value])[0], y.apply.op.perform(value)[0])


def test_a_maximum_over_no_elements_stays_an_error():
    x = tg.tensor("x", shape=(3, None))
    frozen = rewritten([x], tg.max(tg.max(x, axis=1), axis=0))
    assert frozen.checks
    with pytest.raises(tg.errors.DomainError):
        interpret(frozen, [np.empty((3, 0))])


def test_a_strict_rewrite_leaves_the_order_of_sums():
    x = tg.tensor("x", shape=(2, 3, 4))
    for formula in (tg.sum(tg.sum(x, axis=2), axis=0), tg.sum(tg.concatenate([x, x])), tg.sum(x.reshape(6, 4))):
        before = FunctionGraph.of([x], [formula]).freeze()
        assert rewritten([x], formula, mode="strict") == before


def test_a_join_of_many_pieces_is_reduced_as_one():
    x = tg.vector("x")
    frozen = rewritten([x], tg.max(tg.concatenate([x * k for k in range(2, 40)])))
    assert sum(getattr(node.op, "fn", None) is maximum for node in frozen.nodes if node.op.name == "Reduce") == 1


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "float16", "bfloat16", "float32", "float64"])
def test_a_one_hot_row_counts_what_equals_a_place_and_nothing_between_or_beyond(dtype):
    kind = numpy_dtype(dtype)
    if dtype[0] in "iu":
        limits = np.iinfo(kind)
        values = [limits.min, 0, 1, 2, 100, limits.max - 1, limits.max]
    else:
        values = [-np.inf, -1, -0.5, -0.0, 0.5, 1, 1.5, 2, 2.5, 1e4, np.inf, np.nan] if dtype != "bool" else [0, 1]
    array = np.array(values).astype(kind)
    longest = {"bool": 2, "int8": 128, "uint8": 256, "bfloat16": 256}.get(dtype, 300)
    x = tg.vector("x", dtype=dtype)
    for n in (0, 1, 2, longest):
        places = np.arange(n).astype(kind)
        frozen = rewritten([x], tg.sum(tg.equal(x[:, None], places), axis=1), mode="strict")
        (found,) = interpret(frozen, [array])
        np.testing.assert_array_equal(found, [sum(bool(v == p) for p in places) for v in array])
    assert dtype == "bool" or count(frozen, "Reduce") == 0


def test_the_sum_of_a_range_wraps_where_the_sum_itself_does():
    n = tg.scalar("n", dtype="int64")
    frozen = rewritten([n], tg.sum(tg.arange(n)))
    for k in (0, 1, 2, 7, 2**32 - 1, 2**32, 2**32 + 1, 2**40 + 3):
        (found,) = interpret(frozen, [np.array(k)])
        exact = k * (k - 1) // 2
        assert int(found) == (exact + 2**63) % 2**64 - 2**63


def test_a_product_of_what_is_reversed_meets_no_zero_beyond_its_range():
    x = tg.tensor("x", "float64", (3,))
    f = tg.function([x], [tg.prod(x[::-1]), tg.prod(tg.sort(x)), tg.sum(x[::-1])], backend="perform")
    assert f(np.array([1e200, 1e200, 0.0])) == [0.0, 0.0, 2e200]


# --- guards, each by what it declines --------------------------------------------------------------------------------


def by_itself(name, inputs, output, values):
    """What one rewrite alone makes of a program, computed."""
    (one,) = (one for one in (*RULES, *PASSES) if one.name == name)
    graph = FunctionGraph.of(inputs, [output])
    frozen = rewrite(graph, [One(admitted(one))], supported=lambda op, types: True)
    with np.errstate(all="ignore"):
        return interpret(frozen, values)[0]


def test_a_reduction_of_no_elements_may_be_of_some_that_are_reduced():
    x = tg.matrix("x")
    inner = Reduce(maximum, (-1,), total=True)(x)
    assert by_itself("extreme_of_reduction", [x], Reduce(maximum, (-1,))(inner), [np.empty((3, 0))]) == -np.inf
    outer = Reduce(maximum, (-1,), total=True)(Reduce(maximum, (-1,))(x))
    assert by_itself("extreme_of_reduction", [x], outer, [np.empty((0, 3))]) == -np.inf
    for y in (Reduce(maximum, (-1,))(inner), outer):  # no check is left that there are elements
        assert [node.op.total for node in rewritten([x], y).nodes if node.op.name == "Reduce"] == [True]


def test_what_is_repeated_no_times_has_no_sum_though_it_is_repeated_along_another_axis():
    x = tg.tensor("x", shape=(1, 1))
    y = Reduce(tg.add, (-2, -1))(tg.broadcast_to(x, (0, 3)))
    assert by_itself("sum_of_repeated", [x], y, [np.ones((1, 1))]) == 0


def test_a_one_hot_table_is_told_whichever_way_it_compares():
    x, n = tg.vector("x", dtype="int64"), tg.scalar("n", dtype="int64")
    places = tg.arange(n)[None]
    for table in (tg.equal(x[:, None], places), tg.equal(places, x[:, None])):
        frozen = rewritten([x, n], tg.sum(table, axis=1))
        assert count(frozen, "Reduce") == 0
        np.testing.assert_array_equal(interpret(frozen, [np.array([-1, 0, 2, 3]), np.int64(3)])[0], [0, 1, 1, 0])


@pytest.mark.parametrize("shape", [(None, None), (2, 2), (3, 2)])
def test_of_an_outer_product_that_is_summed_no_table_is_made(shape):
    x, y = (tg.tensor(name, shape=(n,)) for name, n in zip("xy", shape, strict=True))
    a, b = (tg.assume(v, finite=True, nonzero=True) for v in (x, y))
    frozen = rewritten([x, y], tg.sum(a[:, None] * b[None]))
    assert max(np.prod([2 if n is None else n for n in t.shape]) for t in frozen.types) < 4
    assert count(frozen, "gate") == 0  # which a factor that may be 0 needs
    at = np.arange(1.0, 1 + (shape[0] or 3)), np.arange(2.0, 2 + (shape[1] or 2))
    assert interpret(frozen, list(at))[0] == np.sum(np.outer(*at))


def test_a_factor_leaves_no_sum_that_overflows_without_it():
    x, y = tg.vector("x"), tg.vector("y")
    a = tg.assume(x, finite=True, nonzero=True)
    large = np.array([1.5e308, 1.5e308])
    product = tg.sum(a[:, None] * y[None])  # y is 0 where nothing says that it is not
    assert interpret(rewritten([x, y], product), [large, np.zeros(1)])[0] == 0
    tiny = np.array([1e-300, 2e-300])  # so small that sums have no room for what it keeps small
    found = interpret(rewritten([x], tg.sum(a[:, None] * tiny[None])), [large])[0]
    np.testing.assert_allclose(found, np.sum(np.outer(large, tiny)), rtol=1e-14)


def test_a_half_factor_stays_in_a_sum():
    x, y = (tg.tensor(name, dtype="float16", shape=(None,)) for name in "xy")
    known = tg.assume(y, finite=True, nonzero=True)
    at = np.full(1000, 600, np.float16), np.full(2, 0.001, np.float16)
    (found,) = interpret(rewritten([x, y], tg.sum(x[:, None] * known[None], axis=0)), list(at))
    np.testing.assert_allclose(found.astype(float), 600, rtol=0.01)


def test_a_complex_factor_stays_in_a_sum():
    z = tg.vector("z", dtype="complex128")
    at = np.array([1.5e308 + 0j, 1.5e308 + 0j])
    assert interpret(rewritten([z], tg.sum(z * 0.5)), [at])[0] == np.sum(at * 0.5)


def test_a_factor_of_zero_is_zero_beside_a_sum_that_overflows():
    x, y = tg.vector("x"), tg.vector("y")
    zero, large = np.array([0.0, -0.0]), np.array([1.5e308, 1.5e308])
    for product, given in (
        (tg.sum(x[:, None] * y[None], axis=1), [zero, large]),
        (tg.sum(x[:, None] * y[None], axis=0), [large, zero]),
        (tg.sum(x[:, None] * y[None]), [zero, large]),
        (tg.sum(x[:, None] * y[None]), [large, zero]),
    ):
        assert not by_itself("sum_of_factor", [x, y], product, given).any()
        assert not interpret(rewritten([x, y], product, mode="finite"), given)[0].any()


def test_the_running_sum_of_a_half_that_repeats_has_no_number_for_its_count():
    x = tg.tensor("x", dtype="float16", shape=(2,))
    frozen = rewritten([x], tg.cumsum(tg.broadcast_to(x[:, None], (2, 70_000)), axis=1))
    (found,) = interpret(frozen, [np.array([0, -0.0], np.float16)])
    assert not found.any()


def test_the_product_of_one_complex_number_starts_from_one():
    z = tg.tensor("z", dtype="complex128", shape=(3, 1))
    at = np.array([[np.inf + 0j], [1 + 2j], [0j]])
    with np.errstate(invalid="ignore"):
        found, expected = by_itself("reduce_one_element", [z], tg.prod(z, axis=1), [at]), np.prod(at, 1)
    np.testing.assert_array_equal(found, expected)
    x = tg.tensor("x", shape=(3, 1))
    assert count(rewritten([x], tg.prod(x, axis=1)), "Reduce") == 0


def test_a_reduction_over_one_axis_of_no_elements_and_another_is_of_nothing():
    x = tg.tensor("x", shape=(0, 3))
    assert count(rewritten([x], tg.sum(x)), "Reduce") == 0
    assert interpret(rewritten([x], tg.sum(x)), [np.empty((0, 3))])[0] == 0


ONE_HOT = Rewrites(tuple(one for one in RULES if one.name == "sum_of_one_hot"), ())


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float64"])
@pytest.mark.parametrize("n", [0, 1, 3])
def test_no_number_is_among_none(dtype, n):
    x = tg.tensor("x", shape=(4,), dtype=dtype)
    for places in (tg.constant(np.arange(n).astype(dtype)), tg.constant(np.arange(n)[::-1].astype(dtype))):
        made = tg.sum(tg.cast(tg.equal(x[:, None], places), "int64"), axis=1)
        data = np.array([0, 1, 2, 255], dtype)
        found = interpret(rewritten([x], made, ONE_HOT), [data])[0]
        np.testing.assert_array_equal(found, (data[:, None] == np.arange(n)).sum(1))


def test_a_strict_rewrite_leaves_the_order_in_which_a_transposed_array_is_summed():
    x = tg.tensor("x", shape=(3, 4))
    graph = FunctionGraph.of([x], [Reduce(tg.add, (-2, -1))(Transpose((-1, -2))(x))])
    frozen = rewrite(graph, [CORE], supported=lambda op, types: True, mode="strict")
    assert frozen.nodes[0].op.name == "Transpose"


def sums(x, c, at, of):
    """Sums over rows of a function of x and constants, rewritten, and as NumPy has them."""
    frozen = rewritten([x], tg.sum(c(x, tg.constant(of)), 0))
    with np.errstate(all="ignore"):
        return interpret(frozen, [at])[0], np.sum(c(at, of), 0)


def test_a_constant_without_elements_leaves_a_sum():
    x = tg.tensor("x", shape=(None, 0))
    found, expected = sums(x, lambda x, c: x * c, np.ones((3, 0)), np.ones((1, 0)))
    np.testing.assert_array_equal(found, expected)


def test_a_divisor_that_is_large_and_below_0_keeps_a_sum_from_overflowing():
    x = tg.tensor("x", shape=(None, 2))
    at, of = np.array([[1e308, 1.0], [1e308, 2.0], [1e308, 3.0]]), np.array([[-1e300, 0.5]])
    found, expected = sums(x, lambda x, c: x / c, at, of)
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    assert found[0] == pytest.approx(-3e8)


def test_a_sum_of_no_quotients_by_0_is_0():
    x, c = tg.tensor("x", shape=(None, 2)), tg.tensor("c", shape=(1, 2))
    made = tg.sum(x / tg.assume(c, finite=True), 0)
    frozen = rewritten([x, c], made, One(admitted(ANY_FACTOR)))
    assert count(frozen, "Reduce") == 2
    np.testing.assert_array_equal(interpret(frozen, [np.ones((0, 2)), np.array([[0.0, 2.0]])])[0], [0, 0])
