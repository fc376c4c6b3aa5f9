"""Conditions of derivatives: scalars stay outside of masks, however many parts a disjunction has."""

import itertools

import numpy as np
import pytest

import tg
from tg.gradient.conditions import any_along, any_over, both, either, has_axes, implies, opposite
from tg.gradient.reading import EVERYWHERE
from tg.gradient.selection import Supports
from tg.graph.function_graph import freeze
from tg.graph.interpret import interpret
from tg.graph.nodes import Constant
from tg.graph.traversal import sorted_applies
from tg.ops.elementwise.comparison import greater, logical_and, logical_or
from tg.ops.indexing import SliceUpdate

U, V, W = (tg.scalar(n, dtype="bool") for n in "uvw")
FIRST, LAST = (Constant(np.array(bits)) for bits in ([True, False], [False, True]))
CHOICES = [*itertools.product((False, True), repeat=3)]


def truths(condition):
    """What a condition is for each choice of the scalars."""
    frozen = freeze([U, V, W], [condition])
    return [
        interpret(frozen, [np.array(b) for b in bits])[0].tolist()
        for bits in itertools.product((False, True), repeat=3)
    ]


def size_of(condition):
    """The number of operations in a condition."""
    return len(sorted_applies([condition]))


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (lambda: either(both(U, V), both(opposite(U), V)), V),
        (lambda: either(either(both(U, V), W), both(V, opposite(U))), lambda: either(W, V)),
        (lambda: either(both(U, opposite(V)), both(U, V)), U),
        (lambda: either(U, opposite(U)), True),
        (lambda: both(both(U, V), both(W, opposite(U))), False),
        (lambda: both(both(U, V), either(both(V, U), W)), lambda: both(U, V)),
        (lambda: either(either(U, V), both(V, W)), lambda: either(U, V)),
    ],
)
def test_conditions_of_branches_meet_where_these_do(made, expected):
    found, wanted = made(), expected() if callable(expected) else expected
    assert found is wanted if isinstance(wanted, bool) else size_of(found) == size_of(wanted)
    assert isinstance(wanted, bool) or truths(found) == truths(wanted)


@pytest.mark.parametrize("seed", range(12))
def test_laws_of_conditions_keep_what_they_say(seed):
    rng = np.random.default_rng(seed)
    mask = tg.tensor("m", "bool", shape=(2,))
    made = [(v, v) for v in (U, V, W, mask)]
    for _ in range(14):
        (a, x), (b, y) = (made[k] for k in rng.integers(len(made), size=2))
        kind = rng.integers(5)
        if kind == 0:
            made.append((opposite(a), tg.logical_not(x)))
        elif kind < 3:
            made.append((both(a, b), tg.logical_and(x, y)))
        else:
            made.append((either(a, b), tg.logical_or(x, y)))
    conditions = [tg.constant(s) if isinstance(s, bool) else s for s, _ in made]
    f = tg.function([U, V, W, mask], [*conditions, *(x for _, x in made)], backend="perform", on_unused_input="ignore")
    for scalars in CHOICES:
        for values in itertools.product((False, True), repeat=2):
            found = f(*scalars, np.array(values))
            for s, x in zip(found[: len(made)], found[len(made) :], strict=True):
                np.testing.assert_array_equal(np.broadcast_to(s, 2), np.broadcast_to(x, 2))


def test_a_cotangent_from_both_branches_of_a_choice_flows_everywhere_around_it():
    x, c, d = tg.vector("x"), tg.vector("c", "bool"), tg.vector("d", "bool")
    first, second = (tg.where(c, inner, 0.0) for inner in (tg.where(d, x, 0.0), tg.where(d, 0.0, 2.0 * x)))
    assert Supports().of(first + second).selected is c
    assert Supports().of(tg.where(d, x, 0.0) + tg.where(d, 0.0, 2.0 * x)) is EVERYWHERE


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([both(U, FIRST), V, both(U, LAST)], lambda u, v, w: u or v),
        ([both(U, FIRST), both(V, FIRST), W, both(V, LAST), both(U, LAST)], lambda u, v, w: u or v or w),
        ([both(U, FIRST), both(V, LAST), both(U, LAST)], lambda u, v, w: [u, u or v]),
        ([both(U, FIRST), both(V, LAST), both(U, FIRST)], lambda u, v, w: [u, v]),
    ],
)
def test_masks_of_one_scalar_are_joined_wherever_they_stand(parts, expected):
    total = False
    for part in parts:
        total = either(total, part)
    wanted = [expected(*bits) for bits in CHOICES]
    is_list = [isinstance(a, list) for a in truths(total)]
    assert [np.broadcast_to(a, 2).tolist() for a in truths(total)] == [np.broadcast_to(a, 2).tolist() for a in wanted]
    assert any(is_list) is any(isinstance(a, list) for a in wanted)


def test_whether_any_of_a_disjunction_holds_is_asked_of_scalars():
    x = tg.tensor("x", shape=(2,))
    total = either(either(both(U, FIRST), both(V, LAST)), W)
    found = any_along(total, x, -1)
    assert not has_axes(found)
    assert truths(found) == [any(bits) for bits in CHOICES]


def test_a_zero_of_which_nothing_is_read_selects_nothing():
    x, c, d = tg.vector("x"), tg.vector("c", "bool"), tg.vector("d", "bool")
    inner, supports = tg.where(d, x, 0.0), Supports()
    assert supports.of(tg.where(c, inner, tg.stop_gradient(tg.constant(0.0)))) == supports.of(inner)
    assert supports.of(tg.where(c, tg.stop_gradient(tg.constant(0.0)), x)) is EVERYWHERE
    assert implies(supports.of(tg.where(c, inner, 0.0)).selected, c)


def test_which_share_is_the_largest_masks_no_curvature():
    m, chosen, direction = tg.matrix("m"), tg.matrix("chosen", "bool"), tg.matrix("direction")
    cost = tg.sum(tg.where(tg.any(chosen, axis=-1), tg.logsumexp(tg.where(chosen, 2.0 * m, 0.0), axis=-1), 0.0))
    frozen = freeze([m, chosen, direction], [tg.grad(tg.sum(tg.grad(cost, m) * direction), m)])
    largest = {n for node in frozen.nodes if node.op.rule_key is greater for n in node.outputs}
    joined = [node for node in frozen.nodes if node.op.rule_key in (logical_and, logical_or)]
    assert largest
    assert not [node for node in joined if largest.intersection(node.inputs)]


def test_a_condition_is_within_that_of_its_rows():
    x, s = tg.matrix("x"), tg.matrix("s", "bool")
    rows = any_along(s, x, -1)
    assert either(s, rows) is either(rows, s) is rows
    assert both(s, rows) is both(rows, s) is s
    others = any_along(tg.matrix("t", "bool"), x, -1)
    assert not any(either(s, others) is one for one in (s, others))


def written(value, *, around):
    """A column of conditions written into the second of two, beside a constant."""
    return SliceUpdate((1,), (1,))(Constant(np.full((3, 2), around)), value)


def column(name):
    return tg.tensor(name, "bool", shape=(3, 1))


@pytest.mark.parametrize("around", [*itertools.product((False, True), repeat=2)])
def test_conditions_written_into_one_place_are_joined_there(around):
    a, b = column("a"), column("b")
    first, second = written(a, around=around[0]), written(b, around=around[1])
    joined = both(first, second)
    assert type(joined.op) is SliceUpdate
    bits = np.array([[[True], [True], [False]], [[True], [False], [True]]])
    want = logical_and(first, second).eval({a: bits[0], b: bits[1]})
    np.testing.assert_array_equal(joined.eval({a: bits[0], b: bits[1]}), want)


def test_whether_any_holds_is_asked_of_what_was_written_where_nothing_else_holds():
    a = column("a")
    bits = np.array([[True], [False], [True]])
    total = any_over(both(U, written(a, around=False)), (-1,))
    shapes = {v.type.shape for node, _ in sorted_applies([total]) for v in node.inputs}
    assert (3, 2) not in shapes
    np.testing.assert_array_equal(total.eval({U: True, a: bits}), bits[:, 0])
    by_columns = any_over(written(a, around=False), (-2,))
    np.testing.assert_array_equal(by_columns.eval({a: bits}), [False, True])
    with_others = any_over(written(a, around=True), (-1,))
    np.testing.assert_array_equal(with_others.eval({a: bits}), True)
