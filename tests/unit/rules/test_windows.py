"""Windows into an axis, one beside another: all small ones against NumPy, and those of lengths that are not known."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tg
from tg.graph.nodes import Constant, size_value
from tg.ops.indexing import Slice, WrapIndex
from tg.ops.shape import AxisLength
from tg.rules.indexing.through import _part
from tg.rules.indexing.windows import (
    Window,
    are_apart,
    canonical,
    composed,
    is_inside,
    window_of_index,
    within,
)
from tg.types import lengths, substitution

STEPS = (-3, -2, -1, 1, 2, 3)


def positions(w, n):
    """What a window that lies inside an axis reads."""
    return list(range(n)) if w is None else [w.start + k * w.step for k in range(w.size)]


def inside(n):
    """All windows of at least one position that lie inside an axis."""
    for start, size, step in itertools.product(range(n), range(1, n + 1), STEPS):
        if 0 <= start + (size - 1) * step < n and (size > 1 or step == 1):
            yield Window(start, size, step)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_one_form_of_a_window_reads_what_a_slice_reads(n):
    numbers = np.arange(n)
    for start, size, step in itertools.product(range(-2, n + 3), range(n + 1), STEPS):
        if size and (size - 1) * abs(step) >= n:
            continue
        (wanted,) = Slice((start,), (size,), (step,)).perform(numbers)
        found = canonical(Window(start, size, step), n)
        assert positions(found, n) == wanted.tolist()
        assert (found is None) == (wanted.tolist() == numbers.tolist())
        if found is not None and found.size <= 1:
            assert found == Window(found.start, found.size, 1)
        if found is not None and not found.size:
            assert found.start == 0


@pytest.mark.parametrize("n", [0, 3])
def test_a_window_of_nothing_is_one(n):
    wanted = None if not n else Window(0, 0, 1)
    assert canonical(Window(2, 0, -1), n) == wanted
    assert canonical(Window(0, -1, 2), n) == wanted


@pytest.mark.parametrize("n", [1, 4, 5])
def test_windows_inside_of_windows_are_found_wherever_there_are_any(n):
    known = list(inside(n))
    for r, w in itertools.product(known, known):
        read, held = positions(r, n), positions(w, n)
        if not set(read) <= set(held):
            with pytest.raises(LookupError):
                within(r, w, n)
            continue
        found = within(r, w, n)
        assert [held[k] for k in positions(found, w.size)] == read
        assert found is None or found.size < w.size or found.step != 1
    for w in known:
        if w.size < n:
            with pytest.raises(LookupError):
                within(None, w, n)
        assert within(w, None, n) == w
        assert within(w, w, n) is None


@pytest.mark.parametrize("n", [1, 4, 6])
def test_windows_apart_have_no_position_in_common(n):
    known = list(inside(n))
    for a, b in itertools.product(known, known):
        first, second = set(positions(a, n)), set(positions(b, n))
        apart = are_apart(a, b, n)
        assert not apart or not first & second
        if max(first) < min(second) or max(second) < min(first) or abs(a.step) == abs(b.step) == 2:
            assert apart == (not first & second)
    assert not are_apart(None, None, n)
    assert not are_apart(known[0], None, n)
    assert not are_apart(Window(n, 1, 1), Window(0, 1, 1), n)
    assert not are_apart(Window(0, 1, 1), Window(-1, 1, 1), n)


@pytest.mark.parametrize("n", [3, 5])
def test_a_window_of_a_window_is_one(n):
    for inner in inside(n):
        held = positions(inner, n)
        for outer in inside(inner.size):
            found = composed(outer, inner, n)
            assert positions(found, n) == [held[k] for k in positions(outer, inner.size)]
        for outer in (Window(inner.size, 1, 1), Window(-1, 1, 1), Window(0, inner.size + 1, 1)):
            with pytest.raises(LookupError):
                composed(outer, inner, n)
        assert composed(None, inner, n) == inner
        assert composed(inner, None, n) == inner
        assert composed(Window(0, 1, 1), Window(0, 1, 1), n) == canonical(Window(0, 1, 1), n)
    for inner in (Window(n, 1, 1), Window(-1, 1, 1), Window(0, n + 1, 1)):
        with pytest.raises(LookupError):
            composed(Window(0, 1, 1), inner, n)


@pytest.mark.parametrize("n", [1, 5])
def test_a_window_lies_inside_if_its_ends_do(n):
    for start, size, step in itertools.product(range(-2, n + 2), range(1, n + 1), STEPS):
        ends = start, start + (size - 1) * step
        w = Window(start, size, step)
        assert w.last == ends[1]
        assert w.ends == (min(ends), max(ends))
        assert is_inside(w, n) == all(0 <= p < n for p in ends)


# lengths that are not known


X, Y = tg.vector("x"), tg.vector("y")
N, M = X.shape[0], Y.shape[0]
K = tg.tensor("k", shape=(), dtype="int64")
k = size_value(K)


def plus(a, b):
    return lengths.add(a, b)


def least(a, b):
    return lengths.minimum(a, b)


def most(a, b):
    return lengths.maximum(a, b)


FORMS = [  # a window into an axis of N, and its one form
    (Window(0, N, 1), None),
    (Window(k, N, 1), None),
    (Window(0, N, -1), Window(plus(N, -1), N, -1)),
    (Window(0, N, 2), Window(0, N, 2)),
    (Window(k, 2, 1), Window(k, 2, 1)),
    (Window(k, 1, 3), Window(k, 1, 1)),
    (Window(k, 0, 3), Window(0, 0, 1)),
    (Window(least(k, N), 2, 1), Window(k, 2, 1)),
    (Window(least(k, plus(N, -1)), 2, 1), Window(k, 2, 1)),
    (Window(most(k, 0), 2, 1), Window(k, 2, 1)),
    (Window(most(k, -1), 2, 1), Window(k, 2, 1)),
    (Window(most(k, 1), 2, 1), Window(most(k, 1), 2, 1)),
    (Window(least(k, plus(N, -2)), 2, 1), Window(least(k, plus(N, -2)), 2, 1)),
    (Window(least(1, N), 2, 1), Window(1, 2, 1)),
    (Window(least(0, N), 2, 1), Window(0, 2, 1)),
    (Window(plus(least(1, N), 1), 2, 1), Window(2, 2, 1)),
    (Window(least(2, N), 2, 1), Window(2, 2, 1)),
    (Window(least(1, M), 2, 1), Window(least(1, M), 2, 1)),
    (Window(plus(N, -1), 1, 1), Window(plus(N, -1), 1, 1)),
]


def same(a, b):
    return a is b is None or (
        None not in (a, b) and lengths.same(a.start, b.start) and lengths.same(a.size, b.size) and a.step == b.step
    )


@pytest.mark.parametrize("number", range(len(FORMS)))
def test_the_one_form_of_a_window_of_lengths(number):
    given, wanted = FORMS[number]
    found = canonical(given, N)
    assert same(found, wanted), found


CHECKED = tuple(
    Window(size_value(WrapIndex("raise")(Constant(np.array(i)), AxisLength(-1)(X))), 1, 1) for i in (0, 2, -1, -2)
)
half = lengths.floor_divide(N, 2)
APART = [
    (Window(0, half, 1), Window(half, plus(N, lengths.multiply(-1, half)), 1), True),
    (Window(0, half, 1), Window(0, 1, 1), False),
    (Window(0, 1, 1), Window(plus(N, -1), 1, 1), False),
    (CHECKED[0], CHECKED[1], True),
    (CHECKED[1], CHECKED[1], False),
    (CHECKED[2], CHECKED[3], True),
    (CHECKED[0], CHECKED[2], False),
    (Window(k, 1, 1), Window(plus(k, 1), 1, 1), False),
    (Window(0, half, 2), Window(plus(N, lengths.multiply(-2, half)), half, 2), False),
]


@pytest.mark.parametrize("number", range(len(APART)))
def test_windows_of_lengths_that_are_apart(number):
    a, b, wanted = APART[number]
    assert are_apart(a, b, N) is wanted
    assert are_apart(b, a, N) is wanted


def test_windows_of_lengths_inside_of_others():
    rows = Window(half, plus(N, lengths.multiply(-1, half)), 1)
    whole = Window(0, N, 1)
    assert same(within(rows, None, N), rows)
    assert same(within(rows, whole, N), rows)
    assert within(None, whole, N) is None
    assert same(within(Window(plus(N, -1), N, -1), whole, N), Window(plus(N, -1), N, -1))
    assert same(
        within(rows, Window(plus(N, -1), N, -1), N),
        Window(plus(N, plus(-1, lengths.multiply(-1, half))), rows.size, -1),
    )
    for r, w in (
        (Window(k, 1, 1), rows),
        (whole, rows),
        (rows, Window(k, 2, 1)),
        (Window(half, 1, 2), Window(0, 2, 2)),
        (Window(plus(N, lengths.multiply(-2, half)), half, 2), Window(0, half, 2)),
    ):
        with pytest.raises(LookupError):
            within(r, w, N)


def test_the_last_position_is_that_of_a_window_that_is_not_empty():
    for size, wanted in (
        (most(2, N), plus(most(2, N), -1)),
        (most(0, N), plus(N, -1)),
        (most(N, M), plus(most(N, M), -1)),
    ):
        assert lengths.same(Window(0, size, 1).last, wanted)


N1 = plus(N, 1)
PARTS = [  # a window, where a piece begins and ends, and what of it lies in the piece, counted from its begin
    (Window(1, N1, 1), 0, N1, Window(1, N, 1)),
    (Window(1, N1, 1), N1, plus(N1, M), None),  # of which M may be 0
    (Window(1, N1, 1), N1, plus(N1, 2), Window(0, 1, 1)),
    (Window(0, N1, 1), 0, 1, Window(0, 1, 1)),
    (Window(0, N1, 1), 1, plus(N, 3), Window(0, N, 1)),
    (Window(N, 3, 1), 0, N1, Window(N, 1, 1)),
    (Window(N, 3, 1), N1, plus(N, 2), Window(0, 1, 1)),
    (Window(N, 3, 1), plus(N, 2), plus(N, 9), Window(0, 1, 1)),
    (Window(0, N, 1), 0, M, None),
    (Window(M, 2, 1), N, plus(N, 3), None),
    (Window(0, N1, 2), 0, plus(N, 9), None),
    (Window(0, N1, 2), 0, plus(N1, plus(N, 9)), None),
    (Window(1, 2, 1), N, 5, None),
    (Window(0, N, 1), 3, plus(N, 3), None),  # where N may be less than 3
    (Window(N, M, 1), M, plus(N, M), None),
    (Window(N, N1, -1), 0, plus(N, 9), None),
    (Window(6, 3, -2), 1, 5, Window(3, 2, -2)),
    (Window(6, 3, -2), 3, 4, Window(0, 0, -2)),
    (Window(1, 3, 3), 2, 8, Window(2, 2, 3)),
]


@pytest.mark.parametrize("number", range(len(PARTS)))
def test_the_part_of_a_window_that_lies_in_a_piece(number):
    w, begin, end, wanted = PARTS[number]
    found = _part(w, begin, end)
    assert same(found, wanted), found
    for n in range(5) if found is not None else ():
        (start, size, first, last), part = ((at(v, n) for v in vs) for vs in ((w.start, w.size, begin, end), found[:2]))
        inside = [p - first for p in (start + k * w.step for k in range(size)) if first <= p < last]
        place, count = part
        assert inside == [place + k * w.step for k in range(count)]


def at(length, n):
    return substitution.evaluate(length, lambda atom: n if atom.owner is X else None)


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (lambda: tg.arange(3), Window(0, 3, 1)),
        (lambda: tg.arange(3) * 2 + 1, Window(1, 3, 2)),
        (lambda: 5 - tg.arange(3), Window(5, 3, -1)),
        (lambda: tg.arange(3) + 4, None),
        (lambda: tg.arange(3) - 1, None),
        (lambda: Constant(np.array([3, 1, 2])), None),
    ],
)
def test_evenly_spaced_indices_that_lie_inside_are_a_window(make, wanted):
    assert window_of_index(make(), 6) == wanted
