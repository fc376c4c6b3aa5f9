"""What leaves the steps of a loop, and what must not: against loops of NumPy, of no step too."""

from __future__ import annotations

import numpy as np
import pytest

import tg
from tests.unit.rules.test_indexing import Plugin, rewritten
from tg.errors import BoundsError, ShapeError, TgError
from tg.graph.checks import Descriptor
from tg.graph.frozen import FrozenGraph
from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.graph.nodes import apply
from tg.ops.assumptions import required
from tg.ops.elementwise.record import Elementwise
from tg.ops.loops import Cond, Scan, While
from tg.rules.catalog import PASSES, RULES
from tg.rules.loops.dear import STEPS_AHEAD
from tg.rules.loops.siblings import CHAINS
from tg.rules.loops.siblings import PASSES as SIBLINGS

A, B, N = tg.scalar("a"), tg.scalar("b"), tg.scalar("n", dtype="int64")
X, Y = tg.vector("x"), tg.vector("y")
LENGTHS = (0, 1, 7)


def after(inputs, outputs):
    """The program rewritten by all rules of core."""
    return rewritten(inputs, outputs if isinstance(outputs, list) else list(outputs))


def in_step(inputs, outputs):
    """The program rewritten for backends that write loops."""
    return rewritten(inputs, list(outputs), Plugin(RULES, (*PASSES, CHAINS)))


def scans(frozen):
    """The loops of a program."""
    return [node.op for node in frozen.nodes if isinstance(node.op, Scan)]


def functions(frozen):
    """The names of the elementwise functions that a graph has, without those of graphs inside it."""
    return sorted(node.op.name for node in frozen.nodes if isinstance(node.op, Elementwise))


def numbers(n, seed=0):
    return np.random.default_rng(seed).uniform(0.5, 1.5, n)


def stepped(step, start, *sequences, reverse=False):
    """The last carry and what each step gave, by a loop of Python."""
    carry, found = start, [None] * len(sequences[0])
    places = range(len(sequences[0]))
    for t in reversed(places) if reverse else places:
        carry, found[t] = step(carry, *(x[t] for x in sequences))
    return np.float64(carry), np.array(found, np.float64)


def guarded(x, condition, text):
    """x, with a check of its own."""
    return required(x, condition, (), Descriptor("DomainError", text))


def agrees(frozen, arrays, wanted):
    for found, each in zip(interpret(frozen, arrays), wanted, strict=True):
        assert np.shape(found) == np.shape(each)
        np.testing.assert_allclose(found, each, rtol=1e-13)


# --- constants and repeated slices -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", LENGTHS)
def test_a_step_knows_the_numbers_that_it_captures(n):
    one = tg.constant(1.0)
    frozen = after([X], tg.scan(lambda c, v: (c * one + v, c), 0.5, X))
    (op,) = scans(frozen)
    assert functions(op.body) == ["add"]
    assert op.body.arity == 2
    x = numbers(n)
    agrees(frozen, [x], stepped(lambda c, v: (c + v, c), 0.5, x))


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("repeat", [lambda: tg.broadcast_to(A, X.shape), lambda: tg.broadcast_to(A[None], X.shape)])
def test_what_a_sequence_has_in_all_places_is_captured(n, repeat):
    frozen = after([A, X], tg.scan(lambda c, vw: (c + vw[0] * vw[1], c), 0.5, (X, repeat())))
    (op,) = scans(frozen)
    assert op.sequences == 1
    x = numbers(n)
    agrees(frozen, [np.float64(0.7), x], stepped(lambda c, v: (c + v * 0.7, c), 0.5, x))


def test_equal_rows_of_a_constant_are_captured_and_others_are_not():
    rows = np.tile([1.0, 2.0], (20, 1))

    def step(c, v):
        return (c * A + v, None)

    start = np.zeros(2)
    same = after([A], [tg.scan(step, tg.constant(start), tg.constant(rows))[0]])
    assert scans(same)[0].sequences == 0
    agrees(same, [np.float64(0.5)], [np.array([1.0, 2.0]) * (2 - 0.5**19)])
    rows[1, 1] = 3.0
    assert scans(after([A], [tg.scan(step, tg.constant(start), tg.constant(rows))[0]]))[0].sequences == 1


def test_zeros_of_both_signs_are_no_equal_slices():
    x = tg.constant(np.array([0.0, -0.0, 0.0]))
    frozen = after([A], [tg.scan(lambda c, v: (c * A, 1 / (v * A)), 1.0, x)[1]])
    np.testing.assert_array_equal(interpret(frozen, [np.float64(2.0)])[0], [np.inf, -np.inf, np.inf])


def test_the_cotangent_of_a_sum_is_no_sequence():
    _, ys = tg.scan(lambda c, v: (tg.sin(c) * v, c * c), A, X)
    frozen = after([A, X], [tg.grad(tg.sum(ys), A)])
    assert not any(node.op.name == "BroadcastTo" for node in frozen.nodes)


# --- what is known where a loop stands -------------------------------------------------------------------------------


@pytest.mark.parametrize("n", LENGTHS)
def test_lengths_that_the_program_compares_are_not_compared_in_each_step(n):
    w, u, s, xs = tg.matrix("w"), tg.matrix("u"), tg.vector("s"), tg.matrix("xs")
    h, hs = tg.scan(lambda h, x: (tg.tanh(w @ h + u @ x),) * 2, s, xs)
    loss = tg.sum(hs * hs) + tg.sum(h)
    frozen = after([w, u, s, xs], [h, *tg.grad(loss, [w, u])])
    forward, backward = scans(frozen)
    assert (len(forward.body.checks), len(backward.body.checks)) == (0, 0)
    assert backward.carries == 1  # as where the lengths are known
    assert "tanh" not in functions(backward.body)
    given = [numbers((3, 3)) - 1, numbers((3, 2), 1) - 1, numbers(3, 2), numbers((n, 2), 3)]

    def by_hand(w, u):
        h, total = given[2], 0.0
        for x in given[3]:
            h = np.tanh(w @ h + u @ x)
            total += np.sum(h * h)
        return h, total + np.sum(h)

    found = interpret(frozen, given)
    np.testing.assert_allclose(found[0], by_hand(*given[:2])[0], rtol=1e-13)
    for k, d in enumerate(found[1:]):
        for place in np.ndindex(d.shape):
            moved = [a.astype(complex) for a in given[:2]]
            moved[k][place] += 1e-20j
            np.testing.assert_allclose(d[place], by_hand(*moved)[1].imag / 1e-20, rtol=1e-11, atol=1e-13)
    with pytest.raises(ShapeError, match="matmul: inner axis: lengths differ: 2 and 3"):
        interpret(frozen, [numbers((3, 2)), *given[1:]])


@pytest.mark.parametrize("n", LENGTHS)
def test_what_else_a_step_checks_is_told_as_before(n):
    """The check of an index is the second of the step, and the only one that is left."""
    table = tg.tensor("t", shape=(4,))
    j = tg.tensor("j", "int64", (None,))
    frozen = after([X, Y, table, j], tg.scan(lambda c, k: (c * Y + table[k], c), X, j))
    (op,) = scans(frozen)
    assert [check.descriptor.error for check in op.body.checks] == ["BoundsError"]
    x, y, t, places = numbers(3), numbers(3, 1), numbers(4, 2), np.arange(n) % 4
    carry, traced = x, np.empty((n, 3))
    for at, k in enumerate(places):
        traced[at] = carry
        carry = carry * y + t[k]
    agrees(frozen, [x, y, t, places], [carry, traced])
    with pytest.raises(BoundsError, match="9"):
        interpret(frozen, [x, y, t, np.array([0, 9])])
    with pytest.raises(ShapeError, match="lengths differ"):
        interpret(frozen, [x, y[:2], t, places])


def test_a_check_within_two_loops_keeps_its_text():
    table = tg.tensor("t", shape=(4,))
    j = tg.tensor("j", "int64", (None,))

    def step(c, k):
        inner = tg.scan(lambda d, v: (d * Y + table[k + 1] * v, None), c, tg.constant([0.5, 2.0]))[0]
        return inner + X, None

    frozen = after([X, Y, table, j], [tg.scan(step, X, j)[0]])
    (op,) = scans(frozen)
    assert [c.descriptor.error for inner in scans(op.body) for c in inner.body.checks] == ["BoundsError"]
    assert len(op.body.checks) == 1
    x, y, t = numbers(3), numbers(3, 1), numbers(4, 2)
    carry = x
    for k in (0, 2, 1):
        for v in (0.5, 2.0):
            carry = carry * y + t[k + 1] * v
        carry = carry + x
    agrees(frozen, [x, y, t, np.array([0, 2, 1])], [carry])
    with pytest.raises(BoundsError, match="index 4"):
        interpret(frozen, [x, y, t, np.array([0, 3])])


def test_branches_compare_lengths_that_nothing_else_says_are_equal():
    e, p = tg.exp(X), tg.scalar("p", "bool")
    frozen = after([p, X, Y], [tg.cond(p, lambda: X * e + tg.sum(X), lambda: X), tg.cond(p, lambda: X * Y, lambda: X)])
    counts = [len(node.op.inner_descriptors) for node in frozen.nodes if isinstance(node.op, Cond)]
    assert sorted(counts) == [0, 1]
    x = numbers(3)
    agrees(frozen, [np.bool_(True), x, x], [x * np.exp(x) + np.sum(x), x * x])
    agrees(frozen, [np.bool_(False), x, x[:2]], [x, x])
    with pytest.raises(ShapeError):
        interpret(frozen, [np.bool_(True), x, x[:2]])


def test_a_while_loop_compares_lengths_that_nothing_else_says_are_equal():
    e = tg.exp(X)
    a = tg.while_loop(lambda c: tg.sum(c) < 9, lambda c: c + e, X)
    b = tg.while_loop(lambda c: tg.sum(c) < 9, lambda c: c + Y, X)
    frozen = after([X, Y], [a, b])
    counts = [len(node.op.inner_descriptors) for node in frozen.nodes if isinstance(node.op, While)]
    assert sorted(counts) == [0, 1]
    x, y = numbers(3), numbers(2)
    wanted = x
    while np.sum(wanted) < 9:
        wanted = wanted + np.exp(x)
    np.testing.assert_allclose(interpret(frozen, [x, x])[0], wanted, rtol=1e-13)
    with pytest.raises(ShapeError):
        interpret(frozen, [x, y])
    np.testing.assert_array_equal(interpret(frozen, [10 * x, y])[1], 10 * x)  # no step is made


def test_an_assertion_about_lengths_stays():
    def step(c, v):
        return guarded(c, tg.equal(tg.as_variable(X.shape[0]), Y.shape[0]), "of two lengths") * v, None

    frozen = after([X, Y], [tg.scan(step, 0.5, X)[0], X + Y])
    (op,) = scans(frozen)
    assert len(op.body.checks) == 1


# --- steps that hand nothing on --------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", LENGTHS)
def test_a_map_of_elements_is_no_loop(n):
    found = tg.map(lambda v: (tg.exp(v[0]) * A + v[1], tg.cast(v[1], "float32")), (X, 2 * X))
    frozen = after([A, X], list(found))
    assert not scans(frozen)
    x = numbers(n)
    agrees(frozen, [np.float64(0.7), x], [np.exp(x) * 0.7 + 2 * x, (2 * x).astype("float32")])


@pytest.mark.parametrize("n", LENGTHS)
def test_a_map_of_elements_of_rows_is_no_loop(n):
    rows = tg.matrix("rows")
    frozen = after([A, rows], [tg.map(lambda row: tg.sin(row) * A, rows)])
    assert not scans(frozen)
    x = numbers((n, 3))
    agrees(frozen, [np.float64(0.7), x], [np.sin(x) * 0.7])


@pytest.mark.parametrize(
    ("f", "plain"),
    [
        (lambda row: tg.sum(tg.sin(row)), lambda row: np.sum(np.sin(row))),
        (lambda row: row * S, lambda row: row * [0.5, 1.5, 2.5]),
        (lambda row: (row + 1, A * A)[1] + tg.sum(row[:0]), lambda row: np.float64(0.49)),
        (lambda row: row[tg.cast(A, "int64")], lambda row: row[0]),
    ],
)
def test_a_map_of_more_than_elements_is_a_loop(f, plain):
    rows = tg.tensor("rows", shape=(None, 3))
    frozen = after([A, S, rows], [tg.map(f, rows)])
    assert len(scans(frozen)) == 1
    x = numbers((4, 3))
    agrees(frozen, [np.float64(0.7), np.array([0.5, 1.5, 2.5]), x], [np.array([plain(row) for row in x])])


# --- what is the same in all steps -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", LENGTHS)
def test_what_depends_on_captured_values_alone_leaves_the_loop(n):
    frozen = after([A, B, X], tg.scan(lambda c, v: (c * tg.exp(A * B) + v, c), 0.5, X))
    assert functions(scans(frozen)[0].body) == ["add", "multiply"]
    assert functions(frozen) == ["exp", "multiply"]
    x = numbers(n)
    wanted = stepped(lambda c, v: (c * np.exp(0.7 * 0.3) + v, c), 0.5, x)
    agrees(frozen, [np.float64(0.7), np.float64(0.3), x], wanted)


def test_a_product_of_captured_matrices_leaves_the_loop():
    w, start = tg.tensor("w", shape=(3, 3)), tg.tensor("s", shape=(3,))
    frozen = after([w, start, X], [tg.scan(lambda c, v: (tg.matmul(tg.matmul(w, w), c) * v, None), start, X)[0]])
    (op,) = scans(frozen)
    assert sum(node.op.name == "Matmul" for node in op.body.nodes) <= 1
    m, s, x = numbers((3, 3)), numbers(3, 1), numbers(5, 2)
    wanted = s
    for v in x:
        wanted = m @ m @ wanted * v
    agrees(frozen, [m, s, x], [wanted])


def test_no_array_is_made_of_a_number_that_is_repeated():
    start = tg.tensor("s", shape=(100,))
    frozen = after([A, start, X], [tg.scan(lambda c, v: (c * v + tg.broadcast_to(A, (100,)), None), start, X)[0]])
    assert not any(node.op.name == "BroadcastTo" for node in frozen.nodes)


def test_steps_of_a_batch_do_not_ask_for_lengths_that_the_batch_has():
    """Neither do those of the gradient, which would trace what they ask."""
    rates, starts = tg.vector("rates"), tg.vector("starts")

    def total(rate, start):
        ys = tg.scan(lambda c, v: (tg.tanh(rate * c + v), c), start, X)[1]
        return tg.sum(ys * ys)

    def both(rate, start):
        value = total(rate, start)
        return value, tg.grad(value, rate)

    frozen = after([rates, starts, X], list(tg.vmap(both, in_axes=(0, 0))(rates, starts)))
    assert len(scans(frozen)) == 2
    assert not any(op.body.checks for op in scans(frozen))
    x, r, s = numbers(4), numbers(3, 1), numbers(3, 2)
    c, dc, value, slope = s, 0 * s, 0 * s, 0 * s
    for v in x:
        value, slope = value + c * c, slope + 2 * c * dc
        after_step = np.tanh(r * c + v)
        dc, c = (1 - after_step**2) * (c + r * dc), after_step
    agrees(frozen, [r, s, x], [value, slope])
    with pytest.raises(tg.ShapeError, match="axis 0 of argument 0 and axis 0 of argument 1"):
        interpret(frozen, [r, s[:2], x])


def test_a_length_that_a_step_may_change_is_asked_for():
    c, y = tg.vector("c"), tg.vector("y")
    frozen = after([c, y, X], [tg.scan(lambda c, v: (tg.concatenate([c[1:], y * v]), None), c, X)[0]])
    x = numbers(3)
    agrees(frozen, [np.arange(4.0), np.ones(1), x], [np.array([3.0, *x])])
    with pytest.raises(tg.ShapeError, match="lengths differ: 5 and 4"):
        interpret(frozen, [np.arange(4.0), np.ones(2), x])


def test_two_carries_keep_a_length_in_common_only_together():
    """After a step the second is as long as the captured array, not as the first."""
    a, b, y = tg.vector("a"), tg.vector("b"), tg.vector("y")
    same = tg.specify_shape(b, a.shape)
    frozen = after([a, b, y, X], [tg.scan(lambda c, v: ((c[0] * c[1] + v, y + 0 * v), None), (a, same), X)[0][0]])
    x, one = numbers(3), np.ones(2)
    agrees(frozen, [one, one, one, x], [one + x.sum()])
    with pytest.raises(tg.ShapeError, match="lengths differ"):
        interpret(frozen, [one, one, np.ones(3), x])


def test_what_has_the_length_of_what_is_captured_leaves_the_loop():
    """That y and its exponential are of one length is known where the loop stands."""
    frozen = after([X, Y], [tg.scan(lambda c, v: (c * tg.exp(Y) + Y * v, None), tg.zeros_like(Y), X)[0]])
    (op,) = scans(frozen)
    assert functions(op.body) == ["add", "multiply", "multiply"]
    assert functions(frozen) == ["exp"]
    x, y = numbers(4), numbers(3, 1)
    wanted = np.zeros(3)
    for v in x:
        wanted = wanted * np.exp(y) + y * v
    agrees(frozen, [x, y], [wanted])


def test_a_length_that_is_computed_inside_stays_inside():
    frozen = after([N, X], [tg.scan(lambda c, v: (c + v, tg.arange(N * 2 + 1) * v), 0.5, X)[1]])
    x = numbers(3)
    agrees(frozen, [np.int64(2), x], [np.arange(5) * x[:, None]])


def test_an_outer_sum_of_captured_vectors_is_not_kept():
    a, b, start = tg.tensor("a", shape=(40,)), tg.tensor("b", shape=(40,)), tg.tensor("s", shape=(40, 40))
    frozen = after([a, b, start, X], [tg.scan(lambda c, v: (c * v + (a[:, None] + b), None), start, X)[0]])
    assert functions(frozen) == []
    arrays = [numbers(40), numbers(40, 1), numbers((40, 40), 2), numbers(2, 3)]
    wanted = arrays[2]
    for v in arrays[3]:
        wanted = wanted * v + (arrays[0][:, None] + arrays[1])
    agrees(frozen, arrays, [wanted])


def test_a_read_that_a_check_guards_stays_behind_it():
    table = tg.tensor("t", shape=(4,))
    frozen = after([table, N, X], [tg.scan(lambda c, v: (c * v + table[N], None), 0.5, X)[0]])
    given = [np.arange(4.0), np.int64(9)]
    np.testing.assert_array_equal(interpret(frozen, [*given, np.zeros(0)])[0], 0.5)
    with pytest.raises(TgError):
        interpret(frozen, [*given, np.ones(2)])
    np.testing.assert_array_equal(interpret(frozen, [given[0], np.int64(2), np.ones(2)])[0], 4.5)


def test_a_stated_check_of_what_has_left_fails_with_the_first_step_only():
    def step(c, v):
        return c * guarded(tg.exp(A), tg.exp(A) < 2, "too large") + v, None

    frozen = after([A, X], [tg.scan(step, 0.5, X)[0]])
    np.testing.assert_array_equal(interpret(frozen, [np.float64(1.0), np.zeros(0)])[0], 0.5)
    with pytest.raises(TgError, match="too large"):
        interpret(frozen, [np.float64(1.0), np.ones(1)])
    np.testing.assert_array_equal(interpret(frozen, [np.float64(0.0), np.ones(1)])[0], 1.5)


# --- all steps at once -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", LENGTHS)
def test_a_dear_function_of_sequences_is_computed_ahead(n, reverse):
    def step(c, vw):
        return (c * 0.5 + tg.exp(vw[0] * A) / vw[1], c)

    frozen = after([A, X, Y], tg.scan(step, 0.5, (X, Y), reverse=reverse))
    (op,) = scans(frozen)
    assert op.sequences == 1
    assert "exp" not in functions(op.body)
    x, y = numbers(n), numbers(n, 1)
    wanted = stepped(lambda c, v, w: (c * 0.5 + np.exp(v * 0.7) / w, c), 0.5, x, y, reverse=reverse)
    agrees(frozen, [np.float64(0.7), x, y], wanted)


@pytest.mark.parametrize("n", LENGTHS)
def test_little_functions_of_sequences_are_computed_ahead_where_that_pays(n):
    def step(c, v):
        return (c * 0.5 + ((v - A) * v + 2) * (v - 3), None)

    last = tg.scan(step, 0.5, X)[0]
    x = numbers(n)
    wanted = stepped(lambda c, v: (c * 0.5 + ((v - 0.7) * v + 2) * (v - 3), c), 0.5, x)[0]
    for passes, inside in (((), True), ((STEPS_AHEAD,), False)):
        frozen = rewritten([A, X], [last], Plugin(RULES, (*PASSES, *passes)))
        (op,) = scans(frozen)
        assert ("subtract" in functions(op.body)) is inside
        agrees(frozen, [np.float64(0.7), x], [wanted])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", LENGTHS)
def test_a_dear_function_that_no_step_needs_is_computed_behind(n, reverse):
    def step(c, v):
        return (c * A + v, tg.log(c * v + 2) * c)

    frozen = after([A, X], tg.scan(step, 0.5, X, reverse=reverse))
    (op,) = scans(frozen)
    assert functions(op.body) == ["add", "multiply"]
    assert op.traces == 1
    x = numbers(n)
    wanted = stepped(lambda c, v: (c * 0.7 + v, np.log(c * v + 2) * c), 0.5, x, reverse=reverse)
    agrees(frozen, [np.float64(0.7), x], wanted)


@pytest.mark.parametrize("n", LENGTHS)
def test_what_both_traces_and_steps_need_stays(n):
    def step(c, v):
        e = tg.exp(-c)
        return e + v, e * v

    frozen = after([X], tg.scan(step, 0.5, X))
    (op,) = scans(frozen)
    assert "exp" in functions(op.body)
    assert "exp" not in functions(frozen)
    x = numbers(n)
    agrees(frozen, [x], stepped(lambda c, v: (np.exp(-c) + v, np.exp(-c) * v), 0.5, x))


@pytest.mark.parametrize("n", LENGTHS)
def test_a_trace_that_is_the_same_in_all_steps_has_a_place_for_each(n):
    last, (e, one, s) = tg.scan(lambda c, v: (c + v, (tg.exp(tg.log(A) * 0.5), 1.0, tg.exp(v - c))), 0.5, X)
    x = numbers(n)
    total, changing = stepped(lambda c, v: (c + v, np.exp(v - c)), 0.5, x)
    wanted = [total, np.full(n, np.exp(np.log(0.7) * 0.5)), np.ones(n), changing]
    agrees(after([A, X], [last, e, one, s]), [np.float64(0.7), x], wanted)


def test_cheap_functions_stay():
    frozen = after([X], tg.scan(lambda c, v: (c * 0.5 + (v + 1), c), 0.5, X))
    assert functions(frozen) == []


def test_a_function_of_more_than_what_it_gives_stays():
    """Three arrays in place of one are written and read for nothing."""

    def step(c, v):
        a, b, d = c
        return (a + v, b * v, d - v), tg.exp(a) * tg.exp(b) * tg.exp(d)

    start = (tg.constant(0.1), tg.constant(0.2), tg.constant(0.3))
    frozen = after([X], [tg.scan(step, start, X)[1]])
    assert scans(frozen)[0].traces == 1


def test_functions_of_arrays_stay():
    """A step computes several elements at a time already."""
    start, m = tg.tensor("s", shape=(4,)), tg.tensor("m", shape=(None, 4))
    frozen = after([start, m], tg.scan(lambda c, v: (c + tg.exp(v), tg.log(c)), start, m))
    assert functions(frozen) == []
    given = [numbers(4), numbers((3, 4), 1)]
    carry, traced = given[0], []
    for v in given[1]:
        traced.append(np.log(carry))
        carry = carry + np.exp(v)
    agrees(frozen, given, [carry, np.array(traced)])


def test_what_traces_of_a_failing_loop_are_is_not_read():
    def step(c, v):
        return c * guarded(v, v > 0, "not positive"), tg.exp(c)

    frozen = after([X], tg.scan(step, 0.5, X))
    with pytest.raises(TgError, match="not positive"):
        interpret(frozen, [np.array([1.0, -1.0, 1.0])])
    x = numbers(3)
    agrees(frozen, [x], stepped(lambda c, v: (c * v, np.exp(c)), 0.5, x))


def test_a_likelihood_and_its_gradient_take_one_logarithm_of_all_steps():
    def step(c, v):
        rate = c * A + 0.1
        return rate, v * tg.log(rate) - rate

    _, terms = tg.scan(step, B, X)
    value = tg.sum(terms)
    frozen = after([A, B, X], [value, *tg.grad(value, [A, B])])
    assert len(scans(frozen)) == 2
    assert not any("log" in functions(op.body) for op in scans(frozen))
    assert functions(frozen).count("log") == 1

    def by_hand(a, b, x):
        total, c = 0.0, b
        for v in x:
            c = c * a + 0.1
            total += v * np.log(c) - c
        return total

    x, a, b, h = numbers(9), 0.7, 0.4, 1e-20
    total, by_a, by_b = interpret(frozen, [np.float64(a), np.float64(b), x])
    np.testing.assert_allclose(total, by_hand(a, b, x), rtol=1e-13)
    np.testing.assert_allclose(by_a, by_hand(a + 1j * h, b, x).imag / h, rtol=1e-12)
    np.testing.assert_allclose(by_b, by_hand(a, b + 1j * h, x).imag / h, rtol=1e-12)


# --- what another loop has computed, and sums ------------------------------------------------------------------------

W, U, S = tg.tensor("w", shape=(3, 3)), tg.tensor("u", shape=(3, 2)), tg.tensor("s", shape=(3,))
ROWS = tg.tensor("rows", shape=(None, 2))


def network(start):
    """The loss of a recurrent network, as an expression or a number of a library with these names."""
    xp = tg if isinstance(start, tg.Variable) else np

    def step(h, x, w, u):
        return xp.tanh(xp.matmul(w, h) + xp.matmul(u, x))

    return step


@pytest.mark.parametrize("n", LENGTHS)
def test_a_gradient_of_a_network_computes_no_layer_again_and_multiplies_matrices_once(n):
    step = network(S)
    h, hs = tg.scan(lambda h, x: (step(h, x, W, U),) * 2, S, ROWS)
    loss = tg.sum(hs * hs) + tg.sum(h)
    frozen = after([W, U, S, ROWS], [loss, *tg.grad(loss, [W, U, S])])
    forward, backward = scans(frozen)
    assert "tanh" in functions(forward.body)
    assert "tanh" not in functions(backward.body)
    assert backward.carries == 1
    assert {k for node in backward.body.nodes for k in node.inputs} >= set(range(backward.body.arity))
    assert sum(node.op.name == "MatMul" for node in backward.body.nodes) == 1
    assert sum(node.op.name == "MatMul" for node in frozen.nodes) == 2

    def by_hand(w, u, start):
        own, total, h = network(None), 0.0, start
        for x in given[3]:
            h = own(h, x, w, u)
            total += np.sum(h * h)
        return total + np.sum(h)

    given = [numbers((3, 3)) - 1, numbers((3, 2), 1) - 1, numbers(3, 2), numbers((n, 2), 3)]
    found = interpret(frozen, given)
    np.testing.assert_allclose(found[0], by_hand(*given[:3]), rtol=1e-13)
    for k, d in enumerate(found[1:]):
        for place in np.ndindex(d.shape):
            moved = [a.astype(complex) for a in given[:3]]
            moved[k][place] += 1e-20j
            np.testing.assert_allclose(d[place], by_hand(*moved).imag / 1e-20, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("n", LENGTHS)
def test_lengths_are_computed_again_and_not_traced(n):
    """What a reverse loop traces has a length that follows from that of the weights."""
    w, xs = tg.matrix("w"), tg.matrix("xs")

    def step(h, x, w):
        xp = tg if isinstance(w, tg.Variable) else np
        g = xp.matmul(h, w)
        return xp.tanh(x[:2] + g[:2]) * g[2:]

    loss = tg.sum(tg.scan(lambda h, x: (step(h, x, w), None), tg.constant([0.3, 0.7]), xs)[0])
    frozen = after([w, xs], [loss, *tg.grad(loss, [w, xs])])
    assert not {t.dtype for op in scans(frozen) for t in op.body.output_types} - {"float64", "bool"}  # of supports

    def by_hand(w, xs):
        h = np.array([0.3, 0.7])
        for x in xs:
            h = step(h, x, w)
        return np.sum(h)

    given = [numbers((2, 4)) - 1, numbers((n, 2), 1)]
    found = interpret(frozen, given)
    np.testing.assert_allclose(found[0], by_hand(*given), rtol=1e-13)
    for k, d in enumerate(found[1:]):
        for place in np.ndindex(d.shape):
            moved = [a.astype(complex) for a in given]
            moved[k][place] += 1e-20j
            np.testing.assert_allclose(d[place], by_hand(*moved).imag / 1e-20, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("n", LENGTHS)
def test_what_a_loop_traces_is_not_computed_again_by_one_of_its_traces(n):
    _, states = tg.scan(lambda c, v: (tg.exp(-c) * v, c), 0.5, X)
    total, again = tg.scan(lambda c, v: (c * 0.5 + tg.exp(-v), tg.cos(c)), 0.5, states)
    frozen = after([X], [total, again])
    first, second = scans(frozen)
    assert "exp" in functions(first.body)
    assert "exp" not in functions(second.body)
    x = numbers(n)
    _, before = stepped(lambda c, v: (np.exp(-c) * v, c), 0.5, x)
    agrees(frozen, [x], stepped(lambda c, v: (c * 0.5 + np.exp(-v), np.cos(c)), 0.5, before))


def test_a_loop_in_the_other_direction_finds_the_same_place():
    _, states = tg.scan(lambda c, v: (tg.matmul(W, c) * v, c), S, X)
    last = tg.scan(lambda c, sv: (c * 0.5 + tg.matmul(W, sv[0]) * sv[1], None), S, (states, X), reverse=True)[0]
    frozen = after([W, S, X], [last])
    assert sum(node.op.name == "MatMul" for op in scans(frozen) for node in op.body.nodes) == 1
    w, s, x = numbers((3, 3)), numbers(3, 1), numbers(4, 2)
    before, c = [], s
    for v in x:
        before.append(c)
        c = w @ c * v
    wanted = s
    for b, v in zip(before[::-1], x[::-1], strict=True):
        wanted = wanted * 0.5 + w @ b * v
    agrees(frozen, [w, s, x], [wanted])


@pytest.mark.parametrize("n", LENGTHS)
def test_a_length_of_a_slice_is_asked_again(n):
    """The gradient of an element of a row is as long as the row, in every step; no slice of a trace says so."""
    rows, k = tg.matrix("rows"), tg.scalar("k", dtype="int64")
    last, _ = tg.scan(lambda c, row: (tg.tanh(c * row[k]), None), 0.5, rows)
    frozen = after([rows, k], [last, tg.grad(last, rows)])
    assert len(scans(frozen)) == 2

    def by_hand(rows):
        c = 0.5
        for row in rows:
            c = np.tanh(c * row[1])
        return c

    x = numbers((n, 3))
    slope = np.zeros((n, 3))
    for t in range(n):
        moved = x.astype(complex)
        moved[t, 1] += 1e-20j
        slope[t, 1] = by_hand(moved).imag / 1e-20
    agrees(frozen, [x, np.int64(1)], [by_hand(x), slope])


def test_other_values_at_the_same_places_are_computed_again():
    v2 = tg.tensor("v2", shape=(3, 3))
    _, states = tg.scan(lambda c, v: (tg.matmul(W, c) * v, c), S, X)
    last = tg.scan(lambda c, b: (c * 0.5 + tg.matmul(v2, b), None), S, states)[0]
    frozen = after([W, v2, S, X], [last])
    assert sum(node.op.name == "MatMul" for op in scans(frozen) for node in op.body.nodes) == 2
    w, other, s, x = numbers((3, 3)), numbers((3, 3), 4), numbers(3, 1), numbers(4, 2)
    c = wanted = s
    for v in x:
        wanted = wanted * 0.5 + other @ c
        c = w @ c * v
    agrees(frozen, [w, other, s, x], [wanted])


@pytest.mark.parametrize("n", LENGTHS)
def test_a_sum_of_a_sequence_is_no_carry_and_others_are(n):
    (total, last), _ = tg.scan(lambda c, v: ((c[0] + v, c[1] * 0.5 + v), None), (0.0, 0.0), X)
    frozen = after([X], [total, last])
    assert scans(frozen)[0].carries == 1
    x = numbers(n)
    agrees(frozen, [x], [np.sum(x), stepped(lambda c, v: (c * 0.5 + v, 0), 0.0, x)[0]])


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("start", [0.0, 1.5])
def test_a_sum_over_elements_is_added_up_element_by_element(n, start):
    """So that steps work on each element by itself; taken from a carry as well as added to it."""
    y = tg.vector("y")

    def step(c, v):
        return (tg.tanh(c[0] * A + v), c[1] + tg.sum(c[0] * v), c[2] - tg.sum(c[0])), None

    (last, total, less), _ = tg.scan(step, (y, start, start), X)
    frozen = after([A, y, X], [last, total, less])
    (op,) = scans(frozen)
    assert not any(node.op.name == "Reduce" for node in op.body.nodes)
    assert [t.ndim for t in op.body.input_types[:3]] == [1, 1, 1]
    x, c = numbers(n), numbers(5, 1)
    wanted = [c, start, start]
    for v in x:
        wanted = [np.tanh(wanted[0] * 0.7 + v), wanted[1] + np.sum(wanted[0] * v), wanted[2] - np.sum(wanted[0])]
    agrees(frozen, [np.float64(0.7), c, x], wanted)


def test_the_gradient_of_a_batch_by_what_all_share_is_of_elements():
    starts = tg.vector("starts")
    total = tg.sum(tg.vmap(lambda s: tg.scan(lambda c, v: (tg.tanh(A * c + v), None), s, X)[0])(starts))
    frozen = after([A, starts, X], [tg.grad(total, A)])
    assert not any(node.op.name == "Reduce" for op in scans(frozen) for node in op.body.nodes)
    x, c, slope = numbers(4), numbers(3, 1), np.zeros(3)
    given = [np.float64(0.7), c, x]
    for v in x:
        following = np.tanh(0.7 * c + v)
        slope, c = (1 - following**2) * (c + 0.7 * slope), following
    agrees(frozen, given, [slope.sum()])


@pytest.mark.parametrize(
    "step",
    [
        lambda xp, c, v: (c[0] * v, xp.sum(c[0]) - c[1]),  # from which the carry is taken
        lambda xp, c, v: (c[0] * v, c[1] * v + xp.sum(c[0])),
        lambda xp, c, v: (c[0] * v + c[1], c[1] + xp.sum(c[0])),  # read besides
        lambda xp, c, v: (xp.cumsum(c[0]) * v, c[1] + xp.sum(c[0])),  # no step of elements
        lambda xp, c, v: (c[0] * v, c[1] + xp.max(c[0])),
    ],
)
def test_other_sums_over_elements_are_computed_in_each_step(step):
    y = tg.vector("y")
    (last, total), _ = tg.scan(lambda c, v: (step(tg, c, v), None), (y, 0.5), X)
    frozen = after([y, X], [last, total])
    (op,) = scans(frozen)
    assert any(node.op.name == "Reduce" for node in op.body.nodes)
    assert [t.ndim for t in op.body.input_types[:2]] == [1, 0]
    x, c = numbers(4), numbers(5, 1)
    wanted = (c, 0.5)
    for v in x:
        wanted = step(np, wanted, v)
    agrees(frozen, [c, x], wanted)


@pytest.mark.parametrize(
    "step",
    [
        lambda c, v: (c[0] + v, c[1] + c[0] * v),  # read besides
        lambda c, v: (c[0] + c[0], c[1] + v * 0.5),
    ],
)
def test_what_is_read_in_between_is_added_up_step_by_step(step):
    (a, b), _ = tg.scan(lambda c, v: (step(c, v), None), (0.0, 0.0), X)
    x = numbers(5)
    first, second = 0.0, 0.0
    for v in x:
        first, second = step((first, second), v)
    agrees(after([X], [a, b]), [x], [np.float64(first), np.float64(second)])


# --- loops beside one another ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", LENGTHS)
def test_two_chains_of_one_length_are_one_loop(n, reverse):
    def first(c, v):
        return (c * A + v, c - v)

    def second(c, v):
        return (c * v + 0.5, c * c)

    one, ones = tg.scan(first, 0.5, X, reverse=reverse)
    two, twos = tg.scan(second, 0.25, X, reverse=reverse)
    frozen = in_step([A, X], [one, ones, two, twos])
    (op,) = scans(frozen)
    assert (op.carries, op.sequences) == (2, 1)
    x = numbers(n)
    wanted = stepped(lambda c, v: (c * 0.7 + v, c - v), 0.5, x, reverse=reverse)
    agrees(
        frozen, [np.float64(0.7), x], [*wanted, *stepped(lambda c, v: (c * v + 0.5, c * c), 0.25, x, reverse=reverse)]
    )


@pytest.mark.parametrize("n", LENGTHS)
def test_of_a_loop_and_its_tangents_the_carries_are_computed_once(n):
    def step(c, v):
        return tg.tanh(c * A + v), c

    last, ys = tg.scan(step, 0.5, X)
    tangent = tg.jvp(last + tg.sum(ys), A, tg.constant(1.0))
    frozen = after([A, X], [last, tangent])
    (op,) = scans(frozen)
    assert [t.dtype for t in op.body.input_types[: op.carries]].count("float64") == 2  # and whether a step was made
    assert functions(op.body).count("tanh") == 1
    x = numbers(n)

    def by_hand(a):
        c, total = 0.5, 0.0
        for v in x:
            total, c = total + c, np.tanh(c * a + v)
        return c, total + c

    found = interpret(frozen, [np.float64(0.7), x])
    np.testing.assert_allclose(found[0], by_hand(0.7)[0], rtol=1e-13)
    np.testing.assert_allclose(found[1], np.imag(by_hand(0.7 + 1e-20j)[1]) / 1e-20, rtol=1e-12, atol=1e-15)


def test_equal_starts_are_no_equal_carries():
    """Of four carries that begin with 0 two are equal after each step."""

    def one(c, v):
        return (c[0] + v, c[1] - v * c[0]), None

    def two(c, v):
        return (c[0] * v + c[1], c[1] + v), None

    (a, b), _ = tg.scan(one, (0.0, 0.0), X)
    (c, d), _ = tg.scan(two, (0.0, 0.0), X)
    frozen = in_step([X], [a, b, c, d])
    (op,) = scans(frozen)
    assert op.carries == 3
    x, wanted = numbers(6), [0.0, 0.0, 0.0, 0.0]
    for v in x:
        a, b, c, d = wanted
        wanted = [a + v, b - v * a, c * v + d, d + v]
    agrees(frozen, [x], [np.float64(v) for v in wanted])


def test_loops_one_behind_the_other_stay_apart():
    """The second needs the first, the third could stand beside either: two loops are left, and nothing is circular."""
    _, ys = tg.scan(lambda c, v: (c * 0.5 + v, c * v), 0.5, X)
    _, zs = tg.scan(lambda c, v: (c * v + 1, c - v), 0.25, ys)
    _, us = tg.scan(lambda c, v: (c - v * v, c * v), 0.125, X)
    frozen = in_step([X], [zs, us])
    assert len(scans(frozen)) == 2
    x = numbers(5)
    _, y = stepped(lambda c, v: (c * 0.5 + v, c * v), 0.5, x)
    agrees(
        frozen,
        [x],
        [
            stepped(lambda c, v: (c * v + 1, c - v), 0.25, y)[1],
            stepped(lambda c, v: (c - v * v, c * v), 0.125, x)[1],
        ],
    )


def test_loops_that_are_not_known_to_be_of_one_length_stay_apart():
    count = tg.scalar("count", dtype="int64")
    a = tg.scan(lambda c, v: (c * 0.5 + v, None), 0.5, X)[0]
    b = tg.scan(lambda c, v: (c * 0.5 - v, None), 0.5, Y)[0]
    c = tg.scan(lambda c, _: (c * 0.5 - 1, None), 0.5, None, count)[0]
    frozen = in_step([X, Y, count], [a, b, c])
    assert len(scans(frozen)) == 3
    assert len(scans(in_step([X, Y], [a + tg.sum(X * Y), b]))) == 1
    x, y = numbers(2), numbers(3)
    wanted = [stepped(lambda c, v: (c * 0.5 + v, 0), 0.5, x)[0], stepped(lambda c, v: (c * 0.5 - v, 0), 0.5, y)[0]]
    agrees(frozen, [x, y, np.int64(1)], [*wanted, np.float64(-0.75)])


@pytest.mark.parametrize("checked", [(True, False), (False, True), (True, True)])
def test_of_two_loops_that_can_fail_the_first_is_told(checked):
    """What is reported is what the loops as they were written report: where both can fail they stay two."""

    def stepping(text, limit, is_checked):
        def step(c, v):
            return (guarded(c, c < limit, text) if is_checked else c) * 2 + v, c

        return step

    first = tg.scan(stepping("first too large", 7.0, checked[0]), 0.5, X)
    second = tg.scan(stepping("second too large", 3.0, checked[1]), 0.25, X)
    outputs = [*first, *second]
    frozen, plain = in_step([X], outputs), FunctionGraph.of([X], outputs).freeze()
    assert len(scans(frozen)) == 1 + all(checked)
    for x in (numbers(1), np.array([1.0, 1.0, -9.0]), np.full(5, 2.0), np.full(3, 30.0)):
        try:
            wanted = interpret(plain, [x])
        except TgError as error:
            with pytest.raises(type(error), match=str(error).partition("\n")[0]):
                interpret(frozen, [x])
        else:
            agrees(frozen, [x], wanted)


def test_a_loop_that_prints_stays_alone():
    def step(c, v):
        return c * 0.5 + tg.debug_print(v), None

    outputs = [tg.scan(step, 0.5, X)[0], tg.scan(lambda c, v: (c - v, None), 0.5, X)[0]]
    assert len(scans(in_step([X], outputs))) == 2


def test_loops_over_large_arrays_are_joined_only_if_they_share_work():
    start, m = tg.tensor("s", shape=(40,)), tg.tensor("m", shape=(None, 40))
    one = tg.scan(lambda c, v: (tg.tanh(c + tg.sin(v)), None), start, m)[0]
    two = tg.scan(lambda c, v: (c * v, None), start, m)[0]
    three = tg.scan(lambda c, v: (c * tg.sin(v), None), start, m)[0]
    assert len(scans(after([start, m], [one, two]))) == 2
    frozen = after([start, m], [one, three])
    (op,) = scans(frozen)
    assert functions(op.body).count("sin") == 1
    s, rows = numbers(40), numbers((3, 40), 1)
    a = b = s
    for row in rows:
        a, b = np.tanh(a + np.sin(row)), b * np.sin(row)
    agrees(frozen, [s, rows], [a, b])


def test_two_pairs_of_loops_keep_what_each_has_computed():
    start = tg.tensor("s", shape=(20,))
    outputs = []
    for k, f in enumerate((tg.exp, tg.tanh)):
        last = tg.scan(lambda c, v, f=f: (f(-c) * v, None), start, X)[0]
        outputs += [last, *tg.grad(tg.sum(last) * (k + 1), [start, X])]
    frozen = after([start, X], outputs)
    loops = scans(frozen)
    assert len(loops) == 4
    counts = {name: sum(functions(op.body).count(name) for op in loops) for name in ("exp", "tanh")}
    assert counts == {"exp": 1, "tanh": 1}
    s, x = numbers(20), numbers(4, 1)
    found = interpret(frozen, [s, x])
    for k, f in enumerate((np.exp, np.tanh)):

        def by_hand(s, x, f=f):
            for v in x:
                s = f(-s) * v
            return s

        np.testing.assert_allclose(found[3 * k], by_hand(s, x), rtol=1e-13)
        for place in range(4):
            moved = x.astype(complex)
            moved[place] += 1e-20j
            wanted = (k + 1) * np.sum(by_hand(s.astype(complex), moved).imag) / 1e-20
            np.testing.assert_allclose(found[3 * k + 2][place], wanted, rtol=1e-11)


def test_a_node_of_which_one_loop_knows_more_lengths_is_no_node_of_both():
    """Of the results of a node that two loops have, each is in the one that takes their place, or none."""

    def step(c, v):
        total, parts = tg.scan(lambda a, b: (tg.tanh(a + b), a * b), v, Y)
        return c * total, (parts, c)

    first, second = (tg.scan(step, start, X) for start in (0.5, 0.25))
    op, operands = second[0].apply.op, second[0].apply.inputs
    (inner,) = [one for one in op.body.nodes if isinstance(one.op, Scan)]
    types = list(op.body.types)
    types[inner.outputs[1]] = types[inner.outputs[1]].with_shape((3,))
    body = op.body
    known = FrozenGraph(body.arity, types, body.constants, body.nodes, body.outputs, body.checks, origins=body.origins)
    made = apply(op.with_body(known), operands)
    frozen = rewritten([X, Y], [first[0], made[0], first[1][0], made[1]], Plugin((), SIBLINGS))
    x, y = numbers(4), numbers(3, 1)
    rows, totals = [], []
    for v in x:
        a, row = v, []
        for b in y:
            row.append(a * b)
            a = np.tanh(a + b)
        rows.append(row)
        totals.append(a)
    agrees(frozen, [x, y], [0.5 * np.prod(totals), 0.25 * np.prod(totals), np.array(rows), np.array(rows)])


# --- what is the same in all steps of `While` ------------------------------------------------------------------------


def whiles(frozen):
    """The loops of a program that ask whether to go on."""
    return [node.op for node in frozen.nodes if isinstance(node.op, While)]


@pytest.mark.parametrize("most", [None, 0, 3])
@pytest.mark.parametrize("start", [0.5, 100.0])
def test_what_depends_on_captured_values_alone_leaves_a_loop_that_asks(start, most):
    c = tg.while_loop(lambda c: c < tg.exp(A) * 9, lambda c: c * tg.exp(B) + tg.exp(A), tg.constant(start), most)
    frozen = after([A, B], [c])
    (op,) = whiles(frozen)
    assert functions(op.condition) == ["less"]
    assert functions(op.body) == ["add", "multiply"]
    assert functions(frozen) == ["exp", "exp", "multiply"]
    wanted, steps = start, 0
    while wanted < np.exp(0.7) * 9 and (most is None or steps < most):
        wanted, steps = wanted * np.exp(0.3) + np.exp(0.7), steps + 1
    agrees(frozen, [np.float64(0.7), np.float64(0.3)], [np.float64(wanted)])


def test_a_product_of_captured_matrices_leaves_a_loop_that_asks_with_what_it_traces():
    w, start = tg.tensor("w", shape=(3, 3)), tg.tensor("s", shape=(3, 3))
    c = tg.while_loop(lambda c: tg.sum(c) < 50, lambda c: tg.tanh(c) * c + tg.matmul(w, w), start, max_steps=9)
    frozen = after([w, start], [c, tg.grad(tg.sum(c), start)])
    assert not any(one.op.name == "MatMul" for op in whiles(frozen) for one in op.body.nodes)
    m, s = numbers((3, 3)), numbers((3, 3), 1)

    def by_hand(c):
        for _ in range(9):
            if not np.sum(c).real < 50:
                break
            c = np.tanh(c) * c + m @ m
        return c

    found = interpret(frozen, [m, s])
    np.testing.assert_allclose(found[0], by_hand(s), rtol=1e-13)
    for place in np.ndindex(3, 3):
        moved = s.astype(complex)
        moved[place] += 1e-20j
        np.testing.assert_allclose(found[1][place], np.sum(by_hand(moved).imag) / 1e-20, rtol=1e-12)


def test_what_can_fail_stays_in_a_loop_that_asks():
    table = tg.tensor("t", shape=(4,))
    c = tg.while_loop(lambda c: c < 9, lambda c: c + table[N] * tg.exp(A), tg.constant(0.5))
    frozen = after([A, table, N], [c])
    assert functions(frozen).count("exp") == 1
    given = [np.float64(0.0), np.arange(4.0)]
    np.testing.assert_array_equal(interpret(frozen, [*given, np.int64(3)])[0], 9.5)
    with pytest.raises(BoundsError):
        interpret(frozen, [*given, np.int64(4)])
    started = tg.while_loop(lambda c: c < 9, lambda c: c + table[N], tg.constant(10.0))
    np.testing.assert_array_equal(interpret(after([table, N], [started]), [np.arange(4.0), np.int64(9)])[0], 10.0)


def test_lengths_that_only_a_step_compares_are_not_compared_before_it():
    c = tg.while_loop(lambda c: tg.sum(c) < 9, lambda c: c + tg.max(tg.cos(X) * tg.tanh(Y)), tg.constant(np.ones(2)))
    frozen = after([X, Y], [c])
    (op,) = whiles(frozen)
    assert "multiply" in functions(op.body)
    assert {"cos", "tanh"} <= set(functions(frozen))
    x, y = numbers(3), numbers(3, 1)
    wanted = np.ones(2)
    while np.sum(wanted) < 9:
        wanted = wanted + np.max(np.cos(x) * np.tanh(y))
    agrees(frozen, [x, y], [wanted])
    with pytest.raises(ShapeError):
        interpret(frozen, [x, y[:2]])
    never = tg.while_loop(lambda c: tg.sum(c) < 0, lambda c: c + tg.sum(X * Y), tg.constant(np.ones(2)))
    np.testing.assert_array_equal(interpret(after([X, Y], [never]), [x, y[:2]])[0], np.ones(2))


# --- few steps -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", [0, 1, 3])
def test_few_steps_are_written_out(n, reverse):
    xs = tg.tensor("xs", shape=(n,))
    frozen = after([A, xs], tg.scan(lambda c, v: (c * A + v, c - v), 0.5, xs, reverse=reverse))
    assert not scans(frozen)
    x = numbers(n)
    wanted = stepped(lambda c, v: (c * 0.7 + v, c - v), 0.5, x, reverse=reverse)
    agrees(frozen, [np.float64(0.7), x], wanted)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_steps_over_arrays_are_written_out_in_loops_too(n):
    """Of the inner loop the traces have a length that is not known before the program runs."""

    def step(c, v):
        d, ys = tg.scan(lambda d, _: (d * v + Y, d - v), c, length=n)
        return d, tg.sum(ys, 0)

    start = tg.zeros_like(Y)
    frozen = after([X, Y], tg.scan(step, start, X))
    (op,) = scans(frozen)
    assert not scans(op.body)
    x, y = numbers(5), numbers(3, 1)
    c, traced = np.zeros(3), np.zeros((5, 3))
    for t, v in enumerate(x):
        for _ in range(n):
            traced[t] += c - v
            c = c * v + y
    agrees(frozen, [x, y], [c, traced])


@pytest.mark.parametrize("n", [1, 3])
def test_gradients_of_few_steps_have_no_loop(n):
    xs = tg.tensor("xs", shape=(n,))
    c, ys = tg.scan(lambda c, v: (tg.sin(c) * v, c * c), A, xs)
    value = c + tg.sum(ys)
    frozen = after([A, xs], [value, tg.grad(value, A), tg.grad(tg.grad(value, A), A)])
    assert not scans(frozen)

    def by_hand(a):
        total = 0.0
        for v in x:
            total, a = total + a * a, np.sin(a) * v
        return a + total

    x, h = numbers(n), 1e-4
    found = interpret(frozen, [np.float64(0.4), x])
    np.testing.assert_allclose(found[0], by_hand(0.4), rtol=1e-13)
    np.testing.assert_allclose(found[1], by_hand(0.4 + 1e-20j).imag / 1e-20, rtol=1e-12)
    second = (by_hand(0.4 + h + 1e-20j).imag - by_hand(0.4 - h + 1e-20j).imag) / (2 * h * 1e-20)
    np.testing.assert_allclose(found[2], second, rtol=1e-6)


def test_many_steps_long_ones_and_those_that_are_counted_stay_a_loop():
    def power(c, k):
        for _ in range(k):
            c = tg.sin(c) * A
        return c

    many = tg.scan(lambda c, _: (c * A + 1, None), 0.5, None, 9)[0]
    long = tg.scan(lambda c, _: (power(c, 20), None), 0.5, None, 3)[0]
    counted = tg.scan(lambda c, _: (c * A + 1, None), 0.5, None, N)[0]
    frozen = after([A, N], [many, long, counted])
    assert sorted(op.length or 0 for op in scans(frozen)) == [0, 3, 9]
    a = b = c = np.float64(0.5)
    for _ in range(9):
        a = a * 0.7 + 1
    for _ in range(60):
        b = np.sin(b) * 0.7
    c = c * 0.7 + 1
    agrees(frozen, [np.float64(0.7), np.int64(1)], [a, b, c])


def test_steps_that_can_fail_or_print_stay_a_loop():
    xs = tg.tensor("xs", shape=(2,))
    checked = tg.scan(lambda c, v: (c * guarded(v, v > 0, "not positive"), None), 0.5, xs)[0]
    frozen = after([xs], [checked])
    assert len(scans(frozen)) == 1
    with pytest.raises(TgError, match="not positive"):
        interpret(frozen, [np.array([1.0, -1.0])])
    assert len(scans(after([xs], [tg.scan(lambda c, v: (c + tg.debug_print(v), None), 0.5, xs)[0]]))) == 1
