"""Loops on every backend that wraps an array library, against loops of Python over NumPy."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tg
from tg.types.dtypes import numpy_dtype

pytestmark = pytest.mark.sampled(2)

STEPS = (0, 1, 2, 250)  # of which some libraries evaluate a hundred at once


def plain(step, carries, sequences, *, length=None, reverse=False):
    """The carries after all steps, and what each step gives, as lists of arrays."""
    length = len(sequences[0]) if length is None else length
    rows = [None] * length
    for k in reversed(range(length)) if reverse else range(length):
        carries, rows[k] = step(carries, *(x[k] for x in sequences))
    return carries, [*map(np.array, zip(*rows, strict=True))]


@pytest.fixture
def check(link):
    def agrees(inputs, outputs, cases, *, rtol=1e-13):
        _, executable = link(inputs, outputs)
        for arrays, wanted in cases:
            for _ in range(2):  # in the first run rules are watched, in the second steps may be compiled
                found, status = executable.run(arrays)
                assert status == ()
                for y, w in zip(found, wanted, strict=True):
                    value = executable.to_numpy(y)
                    assert value.dtype == np.asarray(w).dtype
                    assert value.shape == np.shape(w)
                    np.testing.assert_allclose(value.astype(complex), np.asarray(w).astype(complex), rtol=rtol)

    return agrees


@pytest.mark.parametrize("reverse", [False, True])
def test_integers_and_truth_values_go_from_step_to_step(check, reverse) -> None:
    x = tg.vector("x", dtype="int32")
    start = tg.constant(np.int32(3)), tg.constant(True)
    (total, even), ys = tg.scan(lambda c, v: ((c[0] + v, ~c[1]), (c[0] * 2, c[1])), start, x, reverse=reverse)
    cases = []
    for n in STEPS:
        given = np.arange(n, dtype=np.int32)
        (a, b), rows = plain(
            lambda c, v: ((c[0] + v, ~c[1]), (c[0] * np.int32(2), c[1])),
            (np.int32(3), np.bool_(True)),
            [given],
            reverse=reverse,
        )
        cases.append(([given], [a, b, *(rows or [np.empty(0, np.int32), np.empty(0, bool)])]))
    check([x], [total, even, *ys], cases)


def test_a_number_of_steps_that_nothing_has_as_a_length(check) -> None:
    n, start = tg.scalar("n", dtype="int64"), tg.vector("start")
    found = tg.fori_loop(2, n, lambda i, c: c * 0.5 + i, start)
    cases = []
    for k in (-3, 2, 3, 120):
        c = np.arange(3.0)
        for i in range(2, k):
            c = c * 0.5 + i
        cases.append(([np.array(k), np.arange(3.0)], [c]))
    check([n, start], [found], cases)


def test_a_number_of_steps_that_is_the_length_of_what_they_give(check) -> None:
    n, start = tg.scalar("n", dtype="int64"), tg.vector("start")
    last, rows = tg.scan(lambda c, _: (c * 0.5, tg.concatenate([c, c + 1])), start, None, n)
    cases = []
    for k in STEPS:
        c, kept = np.arange(3.0), np.empty((k, 6))
        for row in kept:
            row[:] = np.concatenate([c, c + 1])
            c = c * 0.5
        cases.append(([np.array(k), np.arange(3.0)], [c, kept]))
    check([n, start], [last, rows], cases)


def test_carries_that_change_places_and_results_that_are_what_was_captured(check) -> None:
    x, m = tg.vector("x"), tg.matrix("m")
    (a, b), (xs, ys, zs) = tg.scan(lambda c, _: ((c[1], c[0]), (x, c[0], m.T)), (x, x * 2), None, 3)
    u, v = np.arange(3.0), np.arange(6.0).reshape(2, 3)
    check([x, m], [a, b, xs, ys, zs], [([u, v], [u * 2, u, [u] * 3, [u, u * 2, u], [v.T] * 3])])


def test_outputs_share_no_memory_though_steps_give_what_they_get(link) -> None:
    x, n = tg.vector("x"), tg.scalar("n", dtype="int64")
    (a, b), _ = tg.scan(lambda c, _: ((c[0], c[0]), None), (x, x * 2), None, n)
    _, executable = link([x, n], [a, b])
    given = np.arange(3.0)
    for k in (0, 1, 3, 3):
        found = [executable.to_numpy(y) for y in executable.run([given, np.array(k)])[0]]
        np.testing.assert_array_equal(found, [given, given if k else given * 2])
        assert not np.may_share_memory(found[0], found[1])
        assert not np.may_share_memory(found[0], given)


def test_loops_in_loops_and_in_calls_and_calls_in_loops(check) -> None:
    x = tg.matrix("x")

    def outer(c, row):
        last, kept = tg.scan(lambda d, v: (tg.call(lambda p, q: p * 0.5 + q, d, v), d), c, row)
        return last, kept

    total, rows = tg.call(lambda y: tg.scan(outer, 1.0, y), x)
    cases = []
    for shape in ((0, 3), (3, 0), (4, 5)):
        given, d = np.random.default_rng(2).normal(size=shape), 1.0
        kept = np.empty(shape)
        for i, j in np.ndindex(shape):
            kept[i, j], d = d, d * 0.5 + given[i, j]
        cases.append(([given], [np.float64(d), kept]))
    check([x], [total, rows], cases)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "uint8", "uint16", "uint64", "complex64"])
def test_carries_of_all_dtypes(check, backend, dtype) -> None:
    x = tg.vector("x", dtype=dtype)
    last, kept = tg.scan(lambda c, v: (v + c, c), x[0], x, reverse=True)
    given = (np.arange(1, 7) * 8).astype(numpy_dtype(dtype))
    c, rows = plain(lambda c, v: (v + c, (c,)), given[0], [given], reverse=True)
    check([x], [last, kept], [([given], [c, rows[0]])])


def test_lengths_in_a_step_that_an_operand_decides(check) -> None:
    x, w, n = tg.vector("x"), tg.vector("w"), tg.scalar("n", dtype="int64")
    total, rows = tg.scan(lambda c, v: (c + v * tg.sum(w[:n]), tg.arange(n) * v), 0.0, x)
    w0, x0, empty = np.arange(1.0, 6.0), np.array([2.0, 3.0]), np.empty(0)
    check(
        [x, w, n],
        [total, rows],
        [
            ([x0, w0, np.array(2)], [np.float64(15), [[0, 2], [0, 3.0]]]),
            ([x0, w0, np.array(0)], [np.float64(0), np.empty((2, 0))]),
            ([empty, w0, np.array(3)], [np.float64(0), np.empty((0, 3))]),
        ],
    )


@pytest.mark.parametrize("reverse", [False, True])
def test_the_first_step_that_fails_is_told(link, reverse) -> None:
    w, i = tg.vector("w"), tg.vector("i", dtype="int64")
    _, executable = link([w, i], [tg.scan(lambda c, k: (c + w[k], c), 0.0, i, reverse=reverse)[1]])
    for bad in ({3: 7, 5: 9}, {170: 7, 240: 9}, {0: 7, 249: 9}):
        given = np.ones(250, np.int64)
        for place, value in bad.items():
            given[place] = value
        places = [*bad.values()]
        for _ in range(2):
            status = executable.run([np.arange(5.0), given])[1]
            assert status != ()
            assert places[reverse and -1] in status
    for _ in range(2):
        assert executable.run([np.arange(5.0), np.ones(250, np.int64)])[1] == ()


def test_the_error_of_a_step_is_that_of_the_reference(backend) -> None:
    w, i = tg.vector("w"), tg.vector("i", dtype="int64")
    total = tg.scan(lambda c, k: (c + w[k], None), 0.0, i)[0]
    f = tg.function([w, i], total, backend=backend)
    assert f(np.arange(5.0), [1, 4, -1]) == 9
    with pytest.raises(tg.BoundsError, match=r"index 8 is out of bounds") as caught:
        f(np.arange(5.0), [1, 8, 4])
    assert "w[k]" in str(caught.value)


def test_value_and_gradient_of_a_recurrence(check) -> None:
    x, a = tg.vector("x"), tg.scalar("a")
    c, _ = tg.scan(lambda c, v: (a * c + v, None), 0.0, x)
    cases = []
    for n in (1, 5, 120):
        given = np.cos(np.arange(n))
        powers = 0.9 ** np.arange(n)[::-1]
        slopes = np.arange(n)[::-1] * 0.9 ** (np.arange(n)[::-1] - 1.0)
        cases.append(([given, np.array(0.9)], [np.sum(given * powers), powers, np.sum(given * slopes)]))
    check([x, a], [c, *tg.grad(c, [x, a])], cases, rtol=1e-11)


def test_a_gradient_of_an_element_where_there_is_neither_a_step_nor_an_element(check) -> None:
    """A step is traced that would read, and write, one element of none."""
    x, i = tg.vector("x"), tg.vector("i", dtype="int64")
    c, _ = tg.scan(lambda c, k: (tg.tanh(c + x[k]), None), 0.5, i)
    slope = 1 - np.tanh(0.5 + 2.0) ** 2
    none, one = [np.zeros(0), np.zeros(0, np.int64)], [np.array([1.0, 2.0]), np.array([1])]
    check([x, i], [c, tg.grad(c, x)], [(none, [0.5, np.zeros(0)]), (one, [np.tanh(2.5), np.array([0.0, slope])])])


def test_at_most_no_step(check) -> None:
    """Reverse mode keeps as many steps as there may be: none."""
    x = tg.scalar("x")
    y = tg.while_loop(lambda c: c < 100, lambda c: c * c, x, max_steps=0)
    check([x], [y, tg.grad(y, x)], [([np.array(3.0)], [3.0, 1.0])])


def test_a_branch_and_a_step_that_cannot_run_with_such_lengths(backend) -> None:
    x, y, p = tg.vector("x"), tg.vector("y"), tg.scalar("p", dtype="bool")
    branch = tg.cond(p, lambda: tg.sum(x + y) + x @ y, lambda: tg.sum(x))
    steps = tg.while_loop(lambda c: p & (c < 9), lambda c: c + tg.sum(x * y), 1.0)
    f = tg.function([x, y, p], [branch, steps], backend=backend)
    found = f([1.0, 2.0], [3.0, 4.0], True)
    assert [float(v) for v in found] == [21.0, 12.0]
    for other in ([3.0], [3.0, 4.0, 5.0]):
        assert [float(v) for v in f([1.0, 2.0], other, False)] == [3.0, 1.0]
    for outputs, text in ((branch, "add: axis -1: lengths differ: 2 and 3"), (steps, "lengths differ: 2 and 3")):
        with pytest.raises(tg.ShapeError, match=text) as caught:
            tg.function([x, y, p], outputs, backend=backend)([1.0, 2.0], [3.0, 4.0, 5.0], True)
        assert "lambda" in str(caught.value)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_arguments_that_are_given_away(backend, count) -> None:
    """A carry and a sequence whose memory the loop may take."""
    x, h = tg.matrix("x"), tg.vector("h")
    c, rows = tg.scan(lambda c, v: (c * 0.5 + v, c), h, x)
    f = tg.function([x, h], [c, rows], backend=backend, donate=[x, h])
    given, start = np.arange(3.0 * count).reshape(count, 3), np.arange(3.0)
    last, kept = start, np.empty((count, 3))
    for t in range(count):
        kept[t] = last
        last = last * 0.5 + given[t]
    for _ in range(3):
        found = f(given.copy(), start.copy())
        np.testing.assert_allclose(found[0], last, rtol=1e-14)
        np.testing.assert_allclose(found[1], kept, rtol=1e-14)


def test_callers_side_by_side(backend) -> None:
    """One function in four threads, with other numbers of steps, some of which fail."""
    w, i = tg.vector("w"), tg.vector("i", dtype="int64")
    total, seen = tg.scan(lambda c, k: (c + w[k], c), 0.0, i)
    doubled = tg.while_loop(lambda c: c < 40, lambda c: c * 2, total + 1)
    f = tg.function([w, i], [total, seen, doubled], backend=backend)
    values, faults = np.arange(1.0, 6.0), []

    def calls(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(12):
            given = rng.integers(0, 5, rng.choice([0, 2, 3]))
            sums = np.cumsum([0.0, *values[given]])
            size = sums[-1] + 1
            while size < 40:
                size *= 2
            try:
                found = f(values, given)
                np.testing.assert_allclose(found[0], sums[-1])
                np.testing.assert_allclose(found[1], sums[:-1])
                np.testing.assert_allclose(found[2], size)
                with pytest.raises(tg.BoundsError, match=f"index {seed + 5} is out of bounds"):
                    f(values, [0, seed + 5])
            except BaseException as error:  # noqa: BLE001 (told below)
                faults.append(error)

    threads = [threading.Thread(target=calls, args=(seed,)) for seed in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not faults
