"""The step that an error of a check in a loop names, on every backend, beside the same loop in Python."""

import itertools
import pickle
import re

import numpy as np
import pytest

import tg
from tg import plugin
from tg.graph.checks import Descriptor
from tg.graph.function_graph import freeze
from tg.graph.text.parser import parse
from tg.graph.text.printer import to_text
from tg.ops.catalog import FAMILIES

BACKENDS = [s.name for s in plugin.registry().backends() if s.is_available]
OPS = {one.name if hasattr(one, "op") else one.__name__: one for f in FAMILIES for one in (*f.elementwise, *f.ops)}
LIMIT = 3.0
UP = np.linspace(0.0, 6.0, 9)
ROWS = np.linspace(0.0, 4.0, 12).reshape(4, 3)
x, m, s, k = tg.vector("x"), tg.matrix("m"), tg.scalar("s"), tg.vector("k", dtype="int64")


def below(v):
    """The value, if it is below the limit; all four numbers that a message may show are of it."""
    n = tg.cast(v, "int64")
    return tg.assert_(v, v < LIMIT, "found {0}, {1}, {2} and {3}", n, n + 1, n + 2, n + 3)  # noqa: PT009


def summed(carry, v):
    return carry * v + below(v), carry


def first(values):
    """The place of the first value that is not below the limit, and the value."""
    return next((place, v) for place, v in enumerate(values) if not v < LIMIT)


def a_scan():
    return [x], tg.scan(summed, 0.0, x), [UP], first(UP)


def a_scan_in_reverse():
    place, v = first(UP)
    return [x], tg.scan(summed, 0.0, x, reverse=True), [UP[::-1].copy()], (len(UP) - 1 - place, v)


def a_scan_of_counted_steps():
    n = tg.scalar("n", dtype="int64")
    total = tg.scan(lambda c, _: (below(c) + 0.5, None), s, length=n)[0]
    return [s, n], total, [np.float64(1), np.int64(9)], first(1 + 0.5 * np.arange(9))


def a_loop_in_a_loop():
    rows = tg.map(lambda row: tg.scan(summed, 0.0, row)[1], m)
    place, v = first(ROWS.ravel())
    return [m], rows, [ROWS], (f"{place % 3} of the loop in step {place // 3}", v)


def three_loops():
    y = tg.scan(
        lambda c, row: tg.scan(lambda d, v: (tg.fori_loop(0, 3, lambda i, e: below(e + v), d), v), c, row), s, m
    )
    found, total = "", 0.0
    for i, row in enumerate(ROWS):
        for j, v in enumerate(row):
            for n in range(3):
                if not found and not total + v < LIMIT:
                    found, at = f"{n} of the loop in step {j} of the loop in step {i}", total + v
                total += v
    return [s, m], y[0], [np.float64(0), ROWS], (found, at)


def a_loop_with_a_condition():
    return [s], tg.while_loop(lambda c: c < 9, lambda c: below(c) + 0.5, s), [np.float64(1)], (4, 3.0)


def a_condition_that_fails():
    return [s], tg.while_loop(lambda c: below(c) < 9, lambda c: c + 0.5, s), [np.float64(1)], (4, 3.0)


def a_branch_in_a_loop():
    y = tg.scan(lambda c, v: (tg.cond(v > 1, below, lambda v: -v, v), c), 0.0, x)
    return [x], y, [UP], first(UP)


def a_scan_in_segments():
    return [x], tg.scan(summed, 0.0, x, checkpoint=3), [UP / 1.3], first(UP / 1.3)


def what_is_left_of_segments():
    v = tg.vector("v", shape=(9,))
    return [v], tg.scan(summed, 0.0, v, checkpoint=4), [UP * 0.51], first(UP * 0.51)


def segments_of_one_step():
    return [x], tg.scan(summed, 0.0, x, checkpoint=1), [UP], first(UP)


def a_gradient():
    return [x], tg.grad(tg.scan(summed, 1.0, x)[0], x), [UP], first(UP)


def a_batch_of_loops():
    y = tg.vmap(lambda row: tg.scan(summed, 0.0, row)[1])(m)
    columns = [column[~(column < LIMIT)] for column in ROWS.T]
    step = next(n for n, bad in enumerate(columns) if bad.size)
    return [m], y, [ROWS], (step, columns[step][0])


def a_batch_of_loops_with_conditions():
    """Each element has a loop of its own, around which the one over the batch is none of the user's."""
    y = tg.vmap(lambda v: tg.while_loop(lambda c: c < 9, lambda c: below(c) + 0.5, v))(x)
    return [x], y, [np.array([9.0, 2.0, 1.0])], (2, 3.0)


def a_batch_of_branches():
    y = tg.vmap(lambda n, v: tg.cond(n > 0, below, lambda v: v * 2, v))(k, x)
    return [k, x], y, [np.array([0, 1, 1, 1]), UP[::2][:4].copy()], (None, 3.0)


PROGRAMS = [
    a_scan,
    a_scan_in_reverse,
    a_scan_of_counted_steps,
    a_loop_in_a_loop,
    three_loops,
    a_loop_with_a_condition,
    a_condition_that_fails,
    a_branch_in_a_loop,
    a_scan_in_segments,
    what_is_left_of_segments,
    segments_of_one_step,
    a_gradient,
    a_batch_of_loops,
    a_batch_of_loops_with_conditions,
    a_batch_of_branches,
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("program", "backend"), [*itertools.product(PROGRAMS, BACKENDS)])
def test_the_error_of_a_check_in_a_loop_names_its_step(program, backend):
    inputs, output, arrays, (step, v) = program()
    f = tg.function(inputs, output, backend=backend)
    for _ in range(2):  # the first call may be watched
        with pytest.raises(tg.AssertionFailed) as caught:
            f(*arrays)
        summary, *lines = str(caught.value).split("\n")
        n = int(v)
        assert summary == f"found {n}, {n + 1}, {n + 2} and {n + 3}"
        told = [line.split("step", 1)[1].strip() for line in lines if line.startswith("  step ")]
        assert told == ([] if step is None else [str(step)])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_check_that_only_the_derivative_has_names_the_place_in_the_sequence(backend):
    """Its loop goes backwards, so that it is the last of two bad elements that is told."""

    @tg.custom_vjp
    def passed(v):
        return v * 1.0

    passed.defvjp(lambda v: (v * 1.0, v), lambda v, dy: (dy * tg.constant([1.0, 2.0])[tg.cast(v, "int64")],))
    total = tg.scan(lambda c, v: (c + tg.sin(passed(v)), None), 0.0, x)[0]
    f = tg.function([x], tg.grad(total, x), backend=backend)
    np.testing.assert_allclose(f([0.0, 1.0]), [1, 2 * np.cos(1)], rtol=1e-6)
    with pytest.raises(tg.BoundsError, match=r"index 4 is out of bounds(.|\n)*step  4") as caught:
        f([0.0, 3.0, 1.0, 0.0, 4.0, 1.0])
    assert "of the loop" not in str(caught.value)


def test_steps_deeper_than_three_loops_are_not_told():
    def deep(levels, v):
        return below(v) + 1.0 if not levels else tg.fori_loop(0, 2, lambda i, c: deep(levels - 1, c), v)

    f = tg.function([s], deep(4, s), backend="perform")
    with pytest.raises(tg.AssertionFailed) as caught:
        f(-2.0)
    (step,) = re.findall(r"step  .*", str(caught.value))
    assert step == "step  0 of the loop in step 1 of the loop in step 0"  # the fourth: 1


def test_what_loops_tell_of_steps_is_kept_in_texts_and_pickles():
    graph = freeze([x], tg.scan(summed, 0.0, x, checkpoint=2)[:1])
    assert parse(to_text(graph), OPS) == graph
    with pytest.raises(tg.TextError, match="needed a stride and a start"):
        parse(to_text(graph).replace("told (2, 0)", "told (2,)"), OPS)
    descriptor = graph.checks[-1].descriptor
    assert pickle.loads(pickle.dumps(descriptor)) == descriptor
    assert descriptor != Descriptor(descriptor.error, descriptor.text, inner=descriptor.inner)
