"""Random programs that update variables: one function gives the same bits whether it overwrites them or not."""

import numpy as np
import pytest

import tg
from tg.functions import lending

N = 21  # no multiple of the lanes of a vector
PROGRAMS = 24
SEEDS = range(100, 100 + PROGRAMS)

MOVED = (
    lambda v: v[::-1],
    lambda v: tg.concatenate([v[1:], v[:1]]),
    lambda v: v[tg.arange(N) * 5 % N],
    lambda v: tg.cumsum(v, 0),
    lambda v: v.at[2:].set(v[:-2]),
    lambda v: v.at[tg.arange(N)[::-2]].add(v[:11]),
    lambda v: v.at[3].set(v[4]),
    lambda v: tg.sort(v, axis=0),
)
SAME = (
    lambda v: tg.tanh(v),
    lambda v: v - tg.max(v, axis=0),
    lambda v: tg.softmax(v, axis=-1),
    lambda v: v * tg.sum(v * v) / 100.0,
    lambda v: tg.where(v > 0, v, -0.5 * v),
    lambda v: tg.reshape(tg.reshape(v, (-1,)) * 1.5, v.shape),
)
MIXED = (lambda v, w: v + w, lambda v, w: v * w - v, lambda v, w: tg.maximum(v, w))
SQUARE = (
    lambda m, v: m.T,
    lambda m, v: m + v,
    lambda m, v: m - v[:, None],
    lambda m, v: m * tg.max(m, axis=1)[:, None],
    lambda m, v: tg.matmul(m, m) / 10.0,
    lambda m, v: m.at[1:, :].add(m[:-1, :]),
    lambda m, v: m.at[5].set(v),
    lambda m, v: tg.outer(v, v) + m,
)
TO_VECTOR = (
    lambda m: tg.sum(m, axis=0) / 5.0,
    lambda m: tg.max(m, axis=1),
    lambda m: tg.diagonal(m),
    lambda m: m[3],
    lambda m: m[:, 2],
    lambda m: tg.matmul(m, m[0]) / 5.0,
)


@pytest.fixture(autouse=True)
def lend_small_values(monkeypatch):
    monkeypatch.setattr(lending, "WORTH", 0)


def program(rng, vectors, squares):
    """Vectors and matrices computed of one another, the variables first."""

    def one(options):
        return options[int(rng.integers(len(options)))]

    for _ in range(int(rng.integers(2, 9))):
        kind = int(rng.integers(6))
        if kind == 0:
            vectors.append(one(MOVED)(one(vectors)))
        elif kind == 1:
            vectors.append(one(SAME)(one(vectors)))
        elif kind == 2:
            vectors.append(one(MIXED)(one(vectors), one(vectors)))
        elif kind == 3:
            vectors.append(one(TO_VECTOR)(one(squares)))
        elif kind == 4:
            squares.append(one(SQUARE)(one(squares), one(vectors)))
        else:
            squares.append(one(SAME)(one(squares)))
    return vectors, squares


def function(seed, backend="c"):
    """Variables, and a function that updates them with values that are drawn."""
    rng = np.random.default_rng(seed)
    lengths = N if rng.integers(2) else None
    variables = [tg.shared(np.zeros(N), shape=(lengths,)) for _ in range(2)]
    variables.append(tg.shared(np.zeros((N, N)), shape=(lengths, lengths)))
    vectors, squares = program(rng, variables[:2], variables[2:])

    def late(values):
        return values[-1 - int(min(rng.integers(4), rng.integers(4), len(values) - 1))]

    updates = {v: late(vectors) for v in variables[:2] if rng.integers(4)}
    updates[variables[2]] = late(squares)
    outputs = [late(one) for one in (vectors, squares) if rng.integers(3) == 0]
    return variables, tg.function([], outputs, updates=updates, backend=backend)


def bits(arrays):
    return [np.ascontiguousarray(a).tobytes() for a in arrays]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", SEEDS)
def test_overwriting_changes_no_bit(seed):
    variables, f = function(seed)
    rng = np.random.default_rng(seed)
    for _ in range(2):
        values = [rng.standard_normal(v.get_value().shape) for v in variables]
        for v, value in zip(variables, values, strict=True):
            v.set_value(value)
        held = [v.snapshot for v in variables]
        apart = bits(f()) + bits(v.get_value() for v in variables)
        assert bits(h.numpy for h in held) == bits(values)
        del held
        for v, value in zip(variables, values, strict=True):
            v.set_value(value)
        assert bits(f()) + bits(v.get_value() for v in variables) == apart


@pytest.mark.long
def test_many_of_these_programs_overwrite_something():
    assert sum(bool(function(seed)[1].programs.main.executable.reuses) for seed in SEEDS) > PROGRAMS / 4
