"""Loops that are written once: programs of equal blocks are the same text as if each loop had been written anew."""

import numpy as np
import pytest

import tg
from tg_native.graphs.unit import Unit
from tg_native.loops.nest import LoopNest

BLOCKS = 3


class Forgetful(dict):
    """Loops that are written, of which none is found again."""

    def get(self, form, default=None):
        return default


def normalized(x, k, dtype):
    """The block of a network: rows less their means, over their deviations, scaled and cut off."""
    scale, shift = tg.vector(f"scale{k}", dtype), tg.vector(f"shift{k}", dtype)
    centred = x - tg.mean(x, axis=1, keepdims=True)
    spread = tg.sqrt(tg.mean(centred * centred, axis=1, keepdims=True) + 1e-3)
    return [scale, shift], tg.maximum(centred / spread * scale + shift, 0.0)


def network(dtype):
    """A chain of equal blocks with its gradient: sums along both axes, quotients, choices."""
    x = y = tg.matrix("x", dtype)
    weights = []
    for k in range(BLOCKS):
        own, y = normalized(y, k, dtype)
        weights += own
    return [x, *weights], [y, *tg.grad(tg.sum(y * y), weights)]


def numbers(dtype):
    """One formula with other numbers in each place, of scalars and literals."""
    x, a, b = tg.matrix("x", dtype), tg.scalar("a", dtype), tg.scalar("b", dtype)
    places = [(a, b, 2.0), (b, a, 2.0), (a, a, 2.0), (0.5, 3.0, a), (a, 7.0, b), (b, 0.25, a)]
    formulas = [tg.exp(x * p + q) * r for p, q, r in places]
    formulas += [tg.exp(x - tg.constant(np.full((6, 5), v, dtype))) for v in (0.5, 1.5)]
    return [x, a, b], [f for one in formulas for f in (one, tg.sum(one))]


def aliases(dtype):
    """Functions of two arrays, and of one and itself; of arrays that lie otherwise."""
    x, y = tg.matrix("x", dtype), tg.matrix("y", dtype)
    pairs = [(x, y), (y, x), (x, x), (y, y), (x.T, y.T), (x[::2], y[::2]), (y[::2], x[::2]), (x, y[0]), (y, x[0])]
    return [x, y], [f for a, b in pairs for f in (tg.sin(a) * b, tg.sum(tg.sin(a) * b, axis=0))]


def positions(dtype):
    """Loops that read and write at positions, of arrays of different lengths."""
    u, v, at = tg.vector("u", dtype), tg.vector("v", dtype), tg.vector("at", "int64")
    return [u, v, at], [tg.exp(u[at]) * 2, tg.exp(v[at]) * 2, u.at[at].add(1.0), v.at[at].add(1.0)]


ARRAYS = {
    "x": np.linspace(-1, 1, 30).reshape(6, 5),
    "y": np.linspace(0.5, 2, 30).reshape(6, 5),
    "a": np.float64(0.25),
    "b": np.float64(-1.5),
    "u": np.linspace(-1, 1, 7),
    "v": np.linspace(0, 3, 9),
    "at": np.array([0, 3, 1]),
}
PROGRAMS = {"network": network, "numbers": numbers, "aliases": aliases, "positions": positions}


def given(inputs):
    """Values of inputs, by their names."""
    arrays = [ARRAYS.get(v.name, np.linspace(0.5, 1.5, 5) + len(v.name)) for v in inputs]
    return [a.astype(v.type.dtype) for a, v in zip(arrays, inputs, strict=True)]


@pytest.mark.parametrize("program", PROGRAMS)
def test_text_is_the_same_as_if_each_loop_were_written(backend, program, monkeypatch):
    dtype = "float32"
    inputs, outputs = PROGRAMS[program](dtype)
    f, begin = tg.function(inputs, outputs, backend=backend), Unit.__init__

    def begin_without(self, *args, **kwargs):
        begin(self, *args, **kwargs)
        self.forms = Forgetful()

    monkeypatch.setattr(Unit, "__init__", begin_without)
    assert tg.function(inputs, outputs, backend=backend).source(full=True) == f.source(full=True)
    values, unit = given(inputs), np.finfo(dtype).eps
    for got, wanted in zip(f(*values), tg.function(inputs, outputs, backend="perform")(*values), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=256 * unit, atol=256 * unit)


def test_equal_blocks_are_written_once(backend, monkeypatch):
    written, plain = [], LoopNest._write

    def write(self):
        written.append(self)
        plain(self)

    monkeypatch.setattr(LoopNest, "_write", write)
    x = y = tg.tensor("x", "float32", (None, 6))
    weights, sums = [], []
    for k in range(BLOCKS):
        weights.append(tg.tensor(f"w{k}", "float32", (6, 6)))
        y = tg.tanh(y @ weights[k])
        sums.append(tg.sum(y, axis=0))
    f = tg.function([x, *weights], [y, *sums], backend=backend)
    assert [node.op.name for node in f.graph.nodes].count("Loop") == BLOCKS
    assert len(written) == 1
