"""Drawn programs of array operations, beside NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import tg

UNARY = ("negative", "abs", "sin", "cos", "tanh", "exp", "floor", "square", "sign", "ceil")
BINARY = ("add", "subtract", "multiply", "maximum", "minimum", "hypot", "less", "not_equal", "atan2")
REDUCTIONS = ("sum", "mean", "max", "min", "std", "argmax", "any", "count_nonzero")
STEPS = 12


def drawn(draw, values):
    """The next operation as a function of a namespace and its arrays."""
    x = int(draw.integers(len(values)))
    shape = values[x].shape
    kind = draw.choice(["unary", "binary", "number", "reduction", "item", "shape", "join", "where"])
    if kind == "unary":
        name = str(draw.choice(UNARY))
        return lambda xp, a: getattr(xp, name)(xp.clip(a[x], -3.0, 3.0))
    if kind == "binary":
        name, y = str(draw.choice(BINARY)), int(draw.integers(len(values)))
        if not can_meet(shape, values[y].shape):
            y = x
        return lambda xp, a: getattr(xp, name)(a[x], a[y])
    if kind == "number":
        number = float(draw.integers(-3, 4)) / 2
        return lambda xp, a: number - a[x] * 2 if draw_is_even(number) else a[x] / 3 + number
    if kind == "reduction" and shape and 0 not in shape:
        name, axis, keepdims = str(draw.choice(REDUCTIONS)), int(draw.integers(len(shape))), bool(draw.integers(2))
        return lambda xp, a: getattr(xp, name)(a[x], axis=axis, keepdims=keepdims)
    if kind == "item" and shape and shape[0] > 1:
        start, step = int(draw.integers(-shape[0], shape[0])), int(draw.choice([-2, -1, 1, 2]))
        return lambda xp, a: a[x][start::step]
    if kind == "join" and shape:
        return lambda xp, a: xp.concat([a[x], xp.flip(a[x], axis=0)], axis=0)
    if kind == "where":
        return lambda xp, a: xp.where(a[x] > 0, a[x], 0.5)
    return lambda xp, a: xp.permute_dims(xp.expand_dims(a[x], axis=0), (*range(1, len(shape) + 1), 0))


def draw_is_even(number):
    return number % 1 == 0


def can_meet(a, b):
    try:
        return np.prod(np.broadcast_shapes(a, b), dtype=int) < 400
    except ValueError:
        return False


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(16))
def test_drawn_programs_have_numpys_values(xp, seed):
    draw = np.random.default_rng(seed)
    shapes = [(3, 4), (1, 4), (2,), (), (5, 1, 4)]
    ours = [xp.asarray(draw.normal(size=shapes[k])) for k in draw.integers(len(shapes), size=3)]
    theirs = [np.array(a) for a in ours]
    for _ in range(STEPS):
        step = drawn(draw, theirs)
        with np.errstate(all="ignore"):
            wanted = np.asarray(step(np, theirs))
        if wanted.size > 400:
            continue
        found = step(xp, ours)
        assert found.shape == wanted.shape
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-11, atol=1e-11)
        if wanted.dtype == "float64":
            ours.append(xp.asarray(wanted))  # rounding does not add up
            theirs.append(wanted)


def test_a_program_of_integers_has_numpys_values():
    xp = tg.eager("perform")
    a = np.arange(12, dtype=np.int32).reshape(3, 4)
    x = xp.asarray(a)
    for f in (lambda np, v: np.cumsum(v * 3 - 2, axis=1), lambda np, v: np.sort(v % 5, axis=0)):
        np.testing.assert_array_equal(f(xp, x), f(np, a))
