"""Random windows of lengths that are not known, for all small lengths against what NumPy reads."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

import tg
from tg.graph.nodes import size_value
from tg.ops.indexing import window
from tg.rules.indexing.windows import Window, are_apart, canonical, composed, is_inside, within
from tg.types import lengths, substitution

X, Y, K = tg.vector("x"), tg.vector("y"), tg.tensor("k", shape=(), dtype="int64")
C = tg.clip(K, 0, 3)
N, M, k, c = X.shape[0], Y.shape[0], size_value(K), size_value(C)
ATOMS = (0, 1, 2, 3, -1, N, N, M, k, c)
OPERATIONS = (
    lengths.add, lengths.subtract, lengths.minimum, lengths.maximum, lengths.minimum, lengths.maximum,
    lambda a, b: lengths.floor_divide(a, 2), lambda a, b: lengths.multiply(2, a),
)  # fmt: skip
GIVEN = [  # what n, m and k are, and so c
    {id(X): n, id(Y): m, id(K): i, id(C): min(max(i, 0), 3)}
    for n, m, i in itertools.product(range(6), (0, 1, 3), (-7, -1, 0, 1, 2, 5))
]


def length(rng, depth):
    if not depth or rng.random() < 0.3:
        return rng.choice(ATOMS)
    return rng.choice(OPERATIONS)(length(rng, depth - 1), length(rng, depth - 1))


def some_window(rng):
    size = rng.choice((1, 1, 2, 3, N, c, lengths.subtract(N, 1), lengths.maximum(length(rng, 1), 0)))
    return Window(length(rng, 3), size, rng.choice((1, 1, 1, -1, 2, -2)))


def at(value, given):
    return substitution.evaluate(value, lambda atom: given.get(id(getattr(atom, "owner", None))))


def positions(w, n, given):
    """What a slice reads of an axis of length n; None where so many positions do not lie in it."""
    if w is None:
        return list(range(n))
    start, size = at(w.start, given), at(w.size, given)
    if size > 0 and (size - 1) * abs(w.step) >= n:
        return None
    return np.arange(n)[window((n,), (start,), (size,), (w.step,))].tolist()


def found_by(function, *given):
    """What a function of windows finds, and whether it does."""
    try:
        return function(*given), True
    except LookupError:
        return None, False


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(12))
def test_what_is_found_of_random_windows_is_what_slices_read(seed):
    rng = random.Random(seed)
    for _ in range(40):
        axis, w, v = rng.choice((N, N, 5, lengths.add(N, 1), lengths.add(N, M))), some_window(rng), some_window(rng)
        form, inside, apart = canonical(w, axis), is_inside(w, axis), are_apart(w, v, axis)
        held, is_held = found_by(within, w, v, axis)
        both, are_one = found_by(composed, v, w, axis)
        for given in GIVEN:
            n = at(axis, given)
            read, other = positions(w, n, given), positions(v, n, given)
            if read is None:
                continue
            assert positions(form, n, given) == read
            assert not (inside and read) or read == [at(w.start, given) + i * w.step for i in range(len(read))]
            if other is not None:
                assert not apart or not set(read) & set(other)
                assert not (is_held and read) or [other[i] for i in positions(held, len(other), given)] == read
            of_read = positions(v, len(read), given)
            if are_one and of_read is not None:
                assert positions(both, n, given) == [read[i] for i in of_read]
