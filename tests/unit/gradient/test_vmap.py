"""`tg.vmap`, against loops over elements in NumPy and Python, and against `jax.vmap`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

import tg
from tg.graph.checks import Descriptor
from tg.graph.function_graph import FunctionGraph
from tg.ops.assumptions import required
from tg.ops.loops import Scan

RNG = np.random.default_rng(20)
X = RNG.normal(size=(4, 5))
M = RNG.normal(size=(4, 5, 3))
W = RNG.normal(size=(4, 3, 3)) / 2
V = RNG.normal(size=4)
K = np.array([0, 3, 1, 4])
P = np.array([[0, 4, 2], [1, 1, 3], [-1, 0, 0], [2, -5, 2]])


def inputs_for(arrays, *, known):
    return [
        tg.tensor(f"a{k}", a.dtype.name, a.shape if known else (None,) * a.ndim)
        for k, a in enumerate(map(np.asarray, arrays))
    ]


def leaves(value):
    return list(value) if isinstance(value, tuple | list) else [value]


def mapped(f, arrays, in_axes=0, *, known=False, **options):
    inputs = inputs_for(arrays, known=known)
    outputs = leaves(tg.vmap(f, in_axes, **options)(*inputs))
    return tg.function(inputs, outputs, backend="perform", on_unused_input="ignore")(*arrays)


def one_by_one(f, arrays, in_axes=0):
    """What a NumPy function gives for each element, stacked."""
    axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(arrays)
    count = next(a.shape[axis] for a, axis in zip(arrays, axes, strict=True) if axis is not None)
    rows = [
        leaves(f(*(a if axis is None else np.take(a, k, axis) for a, axis in zip(arrays, axes, strict=True))))
        for k in range(count)
    ]
    return [np.stack(column) for column in zip(*rows, strict=True)]


def same(found, wanted, rtol=1e-12):
    assert len(found) == len(wanted)
    for y, w in zip(found, wanted, strict=True):
        assert y.dtype == w.dtype
        np.testing.assert_allclose(y, w, rtol=rtol, atol=1e-13)


# --- arrays ----------------------------------------------------------------------------------------------------------


def replaced(x, index, value, at=None):
    y = x.copy()
    if at is None:
        y[index] = value
    else:
        at(y, index, value)
    return y


def permuted_back(order):
    y = np.empty_like(order)
    y[order] = np.arange(len(order))
    return y


ARRAYS = {
    "an element": (lambda x, k: x[k], lambda x, k: x[k], (X, K)),
    "an element of what all share": (lambda x, k: x[k], lambda x, k: x[k], (X[0], K), (None, 0)),
    "a row of what all share": (lambda m, k: m[k], lambda m, k: m[k], (M, K - 4), (None, 0)),
    "an inner element": (lambda m, k: m[:, k - 2], lambda m, k: m[:, k - 2], (M, K)),
    "two elements": (lambda m, k, p: m[k, p - 2], lambda m, k, p: m[k, p - 2], (M, K, K[::-1])),
    "positions": (lambda x, p: x[p], lambda x, p: x[p], (X, P)),
    "positions of all in each": (lambda x, p: x[p], lambda x, p: x[p], (X, P), (0, None)),
    "positions in each of what all share": (lambda x, p: x[p], lambda x, p: x[p], (M[0], P), (None, 0)),
    "pairs of positions": (
        lambda m, p, k: m[p, k - 2],
        lambda m, p, k: m[p, k - 2],
        (M, P, K),
    ),
    "positions apart": (lambda m, p, k: m[p, :, k][None], lambda m, p, k: m[p, :, k][None], (M[:, :, None], P, K % 3)),
    "clipped": (lambda x, p: tg.take(x, p * 3, mode="clip"), lambda x, p: np.take(x, p * 3, mode="clip"), (X, P)),
    "counted on": (lambda x, p: tg.take(x, p * 3, mode="wrap"), lambda x, p: np.take(x, p * 3, mode="wrap"), (X, P)),
    "filled": (
        lambda x, p: tg.take(x, p * 2, mode="fill", fill_value=7.0),
        lambda x, p: np.array([x[2 * i] if -5 <= 2 * i < 5 else 7.0 for i in p]),
        (X, P),
    ),
    "along an axis": (
        lambda m, p: tg.take_along_axis(m, p[:, None], 0),
        lambda m, p: np.take_along_axis(m, np.broadcast_to(p[:, None], (3, 3)), 0),
        (M, P),
    ),
    "a window": (
        lambda x, k: tg.vmap(lambda j: x[k + j])(tg.arange(2)),
        lambda x, k: x[[k, k + 1]],
        (X, K % 4),
    ),
    "set": (lambda x, k: x.at[k].set(9.0), lambda x, k: replaced(x, k, 9.0), (X, K)),
    "set to values": (lambda x, k, v: x.at[k].set(v), replaced, (X, K, V)),
    "set in what all share": (lambda x, k, v: x.at[k].set(v), replaced, (X[0], K, V), (None, 0, 0)),
    "set at one place": (lambda x, v: x.at[1].set(v), lambda x, v: replaced(x, 1, v), (X, V)),
    "set to one value": (lambda x, k: x.at[k].set(tg.constant(2.5)), lambda x, k: replaced(x, k, 2.5), (X, K)),
    "set a row": (lambda m, k, x: m.at[k].set(x), replaced, (M, K, X[:, :3])),
    "set a column": (lambda m, k, x: m.at[:, k - 2].set(x), lambda m, k, x: replaced(m, np.s_[:, k - 2], x), (M, K, X)),
    "add to a column": (
        lambda m, k, x: m.at[::2, k - 2].add(x[:3]),
        lambda m, k, x: replaced(m, np.s_[::2, k - 2], x[:3], np.add.at),
        (M, K, X),
    ),
    "multiply a column": (
        lambda m, k, x: m.at[::-2, k - 2].multiply(x[:3]),
        lambda m, k, x: replaced(m, np.s_[::-2, k - 2], x[:3], np.multiply.at),
        (M, K, X),
    ),
    "add at positions": (
        lambda x, p, y: x.at[p].add(y[:3]),
        lambda x, p, y: replaced(x, p, y[:3], np.add.at),
        (X, P, X * 2),
    ),
    "max at positions": (
        lambda x, p, y: x.at[p].max(y[:3]),
        lambda x, p, y: replaced(x, p, y[:3], np.maximum.at),
        (X, P, X * 2),
    ),
    "set at repeated positions": (
        lambda x, p, y: x.at[p].set(y[:3]),
        lambda x, p, y: replaced(x, p, y[:3]),
        (X, P, X * 2),
    ),
    "add at positions all share": (
        lambda x, p: x.at[p].add(1.0),
        lambda x, p: replaced(x, p, 1.0, np.add.at),
        (X, P[0]),
        (0, None),
    ),
    "set where a mask holds": (lambda x, y: x.at[y > 0].set(0.0), lambda x, y: np.where(y > 0, 0.0, x), (X, X[::-1])),
    "argsort": (lambda x: tg.argsort(x), lambda x: np.argsort(x), (X,)),
    "argsort of an inner axis": (lambda m: tg.argsort(m, axis=0), lambda m: np.argsort(m, 0, kind="stable"), (M,)),
    "sorted": (lambda m: tg.sort(m, axis=0), lambda m: np.sort(m, 0), (M,)),
    "the inverse of a permutation": (
        lambda x: tg.zeros(5, dtype="int64").at[tg.argsort(x)].set(tg.arange(5)),
        lambda x: permuted_back(np.argsort(x)),
        (X,),
    ),
    "searched": (lambda x, y: tg.searchsorted(x, y), np.searchsorted, (np.sort(X), M)),
    "searched from the right": (
        lambda x, y: tg.searchsorted(x, y, side="right"),
        lambda x, y: np.searchsorted(x, y, "right"),
        (np.sort(P), P),
    ),
    "searched for what all share": (lambda x, y: tg.searchsorted(x, y), np.searchsorted, (np.sort(X), X[0]), (0, None)),
    "searched in what all share": (lambda x, y: tg.searchsorted(x, y), np.searchsorted, (np.sort(X[0]), M), (None, 0)),
    "running sums": (lambda m: tg.cumsum(m, axis=0), lambda m: np.cumsum(m, 0), (M,)),
    "all in a row": (lambda m: tg.cumsum(m.reshape((-1,))), lambda m: np.cumsum(m), (M,)),
    "the largest": (lambda m: (tg.max(m), tg.argmax(m, axis=0)), lambda m: (np.max(m), np.argmax(m, 0)), (M,)),
    "the deviation": (lambda m: tg.std(m, axis=0), lambda m: np.std(m, 0), (M,)),
    "quantiles": (
        lambda x, v: tg.quantile(x, tg.sigmoid(v)),
        lambda x, v: np.quantile(x, 1 / (1 + np.exp(-v))),
        (X, V),
    ),
    "a product": (lambda m, w: m @ w, np.matmul, (M, W)),
    "a product with what all share": (lambda m, w: m @ w, np.matmul, (M, W[0]), (0, None)),
    "a product of what all share": (lambda m, w: m @ w, np.matmul, (M[0], W), (None, 0)),
    "a product of stacks": (lambda m, w: m @ w, np.matmul, (M[0][None] * V[:, None, None], W), (None, 0)),
    "a product with a vector": (lambda m, x: tg.dot(x, m), lambda m, x: x @ m, (M, X)),
    "an outer product": (lambda x, y: tg.outer(x, y), np.outer, (X, X[0]), (0, None)),
    "einsum": (
        lambda m, w, v: tg.einsum("ij,jk,->ki", m, w, v),
        lambda m, w, v: np.einsum("ij,jk,->ki", m, w, v),
        (M, W, V),
    ),
    "einsum with what all share": (
        lambda m, w: tg.einsum("ij,jj->i", m, w),
        lambda m, w: np.einsum("ij,jj->i", m, w),
        (M, W[0]),
        (0, None),
    ),
    "joined": (
        lambda x, v, y: tg.concatenate([x, tg.stack([v, 1.0]), y]),
        lambda x, v, y: np.concatenate([x, [v, 1.0], y]),
        (X, V, X[0]),
        (0, 0, None),
    ),
    "chosen": (
        lambda x, v, y: tg.where(v > 0, x, y),
        lambda x, v, y: np.where(v > 0, x, y),
        (X, V, X[0]),
        (0, 0, None),
    ),
    "a cast": (lambda x: tg.cast(x * 9, "int32"), lambda x: (x * 9).astype("int32"), (X,)),
    "a mask counted": (lambda x: tg.sum(x > 0), lambda x: np.sum(x > 0), (X,)),
    "positions of one number": (
        lambda x: tg.nonzero(x > 0, size=5, fill_value=-1)[0],
        lambda x: np.append(np.flatnonzero(x > 0), [-1] * 5)[:5],
        (X,),
    ),
    "a length": (lambda m, v: m.shape[0] * v + tg.size(m), lambda m, v: m.shape[0] * v + m.size, (M, V)),
    "a shape": (lambda m: m.reshape((m.shape[1], m.shape[0])).T, lambda m: m.reshape(3, 5).T, (M,)),
    "repeated": (lambda v, x: tg.broadcast_to(v, x.shape), lambda v, x: np.broadcast_to(v, x.shape), (V, X)),
    "a constant": (lambda x: tg.constant([1.0, 2.0]), lambda x: np.array([1.0, 2.0]), (X,)),
    "the diagonal": (lambda w: tg.diagonal(w), np.diagonal, (W,)),
    "padded": (lambda x: tg.pad(x, 2, mode="reflect"), lambda x: np.pad(x, 2, mode="reflect"), (X,)),
    "rolled": (lambda x, k: tg.roll(x, k), lambda x, k: np.roll(x, k), (X, K)),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("name", ARRAYS)
def test_elements_are_what_numpy_gives_one_by_one(name, known):
    f, reference, arrays, *in_axes = ARRAYS[name]
    axes = in_axes[0] if in_axes else 0
    same(mapped(f, arrays, axes, known=known), one_by_one(reference, arrays, axes))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.parametrize("name", ARRAYS)
def test_few_elements(name, size):
    f, reference, arrays, *in_axes = ARRAYS[name]
    axes = in_axes[0] if in_axes else (0,) * len(arrays)
    few = [a if axis is None else a[:size] for a, axis in zip(arrays, axes, strict=True)]
    whole = one_by_one(reference, arrays, axes)
    same(mapped(f, few, axes), [w[:size] for w in whole])


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "uint64", "float16", "float32", "complex64"])
def test_dtypes_stay(dtype):
    x = RNG.integers(0, 2 if dtype == "bool" else 9, (4, 5)).astype(dtype)

    def f(x, k):
        return x[k], x.at[k].set(x[0]), tg.where(k > 1, x, x[::-1]), tg.scan(lambda c, y: (y, c), x[0], x)[1]

    def reference(x, k):
        return x[k], replaced(x, k, x[0]), x if k > 1 else x[::-1], np.array([x[0], *x[:-1]])

    same(mapped(f, (x, K)), one_by_one(reference, (x, K)))


@pytest.mark.parametrize("backend", ["c", "numba", "jax"])
def test_other_backends_do_the_same(backend):
    x, k = tg.matrix("x"), tg.vector("k", "int64")

    def f(row, j):
        total = tg.cond(j > 1, lambda r: tg.sum(r), lambda r: r[0] * r[0], row)
        return row.at[j].add(total), row[j]

    if backend == "jax":

        def f(row, j):
            return row.at[j].add(tg.sum(row)), row[j]

    found = tg.function([x, k], list(tg.vmap(f)(x, k)), backend=backend)(X, K)
    totals = [X[b].sum() if K[b] > 1 or backend == "jax" else X[b, 0] ** 2 for b in range(4)]
    wanted = X.copy()
    wanted[np.arange(4), K] += totals
    np.testing.assert_allclose(found[0], wanted, rtol=1e-13)
    np.testing.assert_array_equal(found[1], X[np.arange(4), K])


# --- loops -----------------------------------------------------------------------------------------------------------


def recurrent(m, w):
    return tg.scan(lambda c, x: (tg.tanh(c @ w + x), tg.sum(c)), tg.zeros(3), m)


def recurrent_by_hand(m, w):
    c, sums = np.zeros(3), []
    for x in m:
        sums.append(c.sum())
        c = np.tanh(c @ w + x)
    return c, np.array(sums)


def rotated(x, s):
    a, b, c = 0.0, 1.0, 2.0
    seen = []
    for _ in x:
        seen.append(a)
        a, b, c = b, c, a + s
    return a, b, c, np.array(seen)


def counted(n, x, grow=1.5):
    c = 1.0
    for k in range(n):
        c = c * grow + x[k]
    return c


def grown(v):
    c, steps = v, 0
    while c < 10:
        c, steps = c + abs(v) + 0.5, steps + 1
    return c, steps


def walked(x, k):
    total, at = 0.0, 0
    while at < k:
        total, at = total + x[at], at + 1
    return total, at


def grown_rows(x):
    while x.sum() < 10:
        x = x * x + 1
    return x


def chosen_scan(x, k):
    c, seen = 1.0, []
    for y in x:
        seen.append(c)
        c = c * k if y > 0 else c - 1
    return c, np.array(seen)


def inner_while(x):
    c = 1.0
    for y in x:
        while c < 3:
            c = c + y * y + 0.1
        c -= 2
    return c


def nested(m):
    c = 0.5
    for row in m:
        d = 1.0
        for y in row:
            d = d * y + c
        c = d
    return c


def backwards(x):
    c, seen = 0.0, np.empty_like(x)
    for t in reversed(range(len(x))):
        seen[t] = c
        c = c * x[t] + 1
    return c, seen


LOOPS = {
    "a recurrence": (recurrent, recurrent_by_hand, (M, W)),
    "a recurrence over what all share": (recurrent, recurrent_by_hand, (M[0], W), (None, 0)),
    "a recurrence with what all share": (recurrent, recurrent_by_hand, (M, W[0]), (0, None)),
    "carries that the batch reaches one after another": (
        lambda x, s: [
            v for part in tg.scan(lambda c, _: ((c[1], c[2], c[0] + s), c[0]), (0.0, 1.0, 2.0), x) for v in leaves(part)
        ],
        rotated,
        (X[0], V),
        (None, 0),
    ),
    "backwards": (lambda x: tg.scan(lambda c, y: (c * y + 1, c), 0.0, x, reverse=True), backwards, (X,)),
    "a loop in a loop": (
        lambda m: tg.scan(lambda c, row: (tg.scan(lambda d, y: (d * y + c, None), 1.0, row)[0], None), 0.5, m)[0],
        nested,
        (M,),
    ),
    "each its number of steps": (lambda n, x: tg.fori_loop(0, n, lambda k, c: c * 1.5 + x[k], 1.0), counted, (K, X)),
    "until a condition of each": (
        lambda v: tg.while_loop(lambda c: c[0] < 10, lambda c: (c[0] + tg.abs(v) + 0.5, c[1] + 1), (v, 0)),
        grown,
        (V,),
    ),
    "until a condition of each, with a check": (
        lambda x, k: tg.while_loop(lambda c: c[1] < k, lambda c: (c[0] + x[c[1]], c[1] + 1), (0.0, 0)),
        walked,
        (X, K),
    ),
    "until a condition of all, with a check": (
        lambda x, k: tg.while_loop(lambda c: c[1] < k, lambda c: (c[0] + x[c[1]], c[1] + 1), (0.0, 0)),
        walked,
        (X, np.array(3)),
        (0, None),
    ),
    "until the rows are large": (
        lambda x: tg.while_loop(lambda c: tg.sum(c) < 10, lambda c: c * c + 1, x),
        grown_rows,
        (X,),
    ),
    "a branch for each": (
        lambda x, k: tg.cond(k > 2, lambda u: (u * 2, tg.sum(u)), lambda u: (-u, u[0]), x),
        lambda x, k: (x * 2, x.sum()) if k > 2 else (-x, x[0]),
        (X, K),
    ),
    "a branch for each, of what all share": (
        lambda x, k: tg.cond(k > 2, lambda u: (u * 2, tg.sum(u)), lambda u: (-u, u[0]), x),
        lambda x, k: (x * 2, x.sum()) if k > 2 else (-x, x[0]),
        (X[0], K),
        (None, 0),
    ),
    "a branch for all": (
        lambda x, k: tg.cond(k > 2, lambda u: (u * 2, 1.0), lambda u: (-u, 2.0), x),
        lambda x, k: (x * 2, 1.0) if k > 2 else (-x, 2.0),
        (X, np.array(3)),
        (0, None),
    ),
    "branches that cannot fail where they are not taken": (
        lambda x, k: tg.cond(k < 4, lambda u: u[k + 1], lambda u: u[0], x),
        lambda x, k: x[k + 1] if k < 4 else x[0],
        (X, K),
    ),
    "one of three": (
        lambda x, k: tg.switch(k - 1, [lambda u: u, lambda u: u * u, lambda u: tg.exp(u)], x),
        lambda x, k: [x, x * x, np.exp(x)][np.clip(k - 1, 0, 2)],
        (X, K),
    ),
    "branches in a loop": (
        lambda x, k: tg.scan(lambda c, y: (tg.cond(y > 0, lambda u: u * k, lambda u: u - 1, c), c), 1.0, x),
        chosen_scan,
        (X, V),
    ),
    "a condition in a loop": (
        lambda x: tg.scan(
            lambda c, y: (tg.while_loop(lambda u: u < 3, lambda u: u + y * y + 0.1, c) - 2, None), 1.0, x
        )[0],
        inner_while,
        (X,),
    ),
    "a call": (
        lambda x, k: tg.call(lambda u, j: (u[j], tg.sum(u), j * 2), x, k),
        lambda x, k: (x[k], x.sum(), k * 2),
        (X, K),
    ),
    "a call of which one operand differs": (
        lambda x, k: tg.call(lambda u, j: (u * 2, j + 1), x, k),
        lambda x, k: (x * 2, k + 1),
        (X, K[1]),
        (0, None),
    ),
}


def flat(f):
    def flattened(*args):
        found = f(*args)
        return [v for part in leaves(found) for v in leaves(part)]

    return flattened


@pytest.mark.sampled(2)
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("name", LOOPS)
def test_loops_are_what_python_gives_one_by_one(name, known):
    f, reference, arrays, *in_axes = LOOPS[name]
    axes = in_axes[0] if in_axes else 0
    same(mapped(flat(f), arrays, axes, known=known), one_by_one(reference, arrays, axes))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.parametrize("name", LOOPS)
def test_loops_over_few_elements(name, size):
    f, reference, arrays, *in_axes = LOOPS[name]
    axes = in_axes[0] if in_axes else (0,) * len(arrays)
    few = [a if axis is None else a[:size] for a, axis in zip(arrays, axes, strict=True)]
    same(mapped(flat(f), few, axes), [w[:size] for w in one_by_one(reference, arrays, axes)])


def test_elements_that_have_ended_keep_what_they_had_on_other_backends():
    n = tg.vector("n", "int64")
    y = tg.vmap(lambda k: tg.while_loop(lambda c: c[0] < k, lambda c: (c[0] + 1, c[1] * 3), (0, 1))[1])(n)
    for backend in ("c", "numba"):
        np.testing.assert_array_equal(tg.function([n], y, backend=backend)(np.array([0, 5, 2])), [1, 243, 9])


def test_batched_steps_are_one_loop():
    x = tg.matrix("x")
    y = tg.vmap(lambda row: tg.scan(lambda c, v: (c * v, None), 1.0, row)[0])(x)
    graph = FunctionGraph.of([x], [y]).freeze()
    (loop,) = [node.op for node in graph.nodes if type(node.op) is Scan]
    assert loop.body.output_types[0].ndim == 1


# --- derivatives -----------------------------------------------------------------------------------------------------

DERIVATIVES = {
    "an element": (lambda x, k: x[k] ** 3, lambda x, k: replaced(0 * x, k, 3 * x[k] ** 2), (X, K)),
    "a replaced element": (
        lambda x, k: tg.sum(x.at[k].set(x[0] * 2) ** 2),
        lambda x, k: replaced(replaced(2 * x, k, 0.0), 0, 8 * x[0] + (2 * x[0] if k else 0.0)),
        (X, K),
    ),
    "a product": (lambda x: tg.prod(x), lambda x: np.prod(x) / x, (X,)),
    "branches": (
        lambda x, k: tg.cond(k > 1, lambda u: tg.sum(u**2), lambda u: u[k] * 3, x),
        lambda x, k: 2 * x if k > 1 else replaced(0 * x, k, 3.0),
        (X, K),
    ),
    "a branch that is infinite where it is not taken": (
        lambda v: tg.cond(v > 0, lambda u: tg.log(u), lambda u: u * u, v),
        lambda v: 1 / v if v > 0 else 2 * v,
        (V,),
    ),
    "powers by steps": (
        lambda v: tg.while_loop(lambda c: c[0] < 4, lambda c: (c[0] + 1, c[1] * v), (0, 1.0), max_steps=6)[1],
        lambda v: 4 * v**3,
        (V,),
    ),
    "powers by steps of each": (
        lambda v, k: tg.while_loop(lambda c: c[0] < k, lambda c: (c[0] + 1, c[1] * v), (0, 1.0), max_steps=6)[1],
        lambda v, k: k * v ** (k - 1.0) if k else 0.0 * v,
        (V, K),
    ),
    "powers by as many steps as each asks for": (
        lambda v, k: tg.fori_loop(0, k, lambda _, c: c * v, 1.0),
        lambda v, k: k * v ** (k - 1.0) if k else 0.0 * v,
        (V, K),
    ),
    "elements in as many steps as each asks for": (
        lambda x, k: tg.fori_loop(0, k, lambda j, c: c * x[j] + c, 1.0),
        lambda x, k: replaced(0 * x, np.s_[:k], np.prod(1 + x[:k]) / (1 + x[:k])),
        (X, K),
    ),
    "powers by a scan": (
        lambda v: tg.scan(lambda c, _: (c * v, None), 1.0, None, 4)[0],
        lambda v: 4 * v**3,
        (V,),
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("name", DERIVATIVES)
def test_gradients_of_elements_and_of_the_whole_are_the_same(name, known):
    f, reference, arrays = DERIVATIVES[name]
    wanted = one_by_one(reference, arrays)
    same(mapped(lambda x, *rest: tg.grad(f(x, *rest), x), arrays, known=known), wanted)
    inputs = inputs_for(arrays, known=known)
    y = tg.vmap(f)(*inputs)
    same(tg.function(inputs, [tg.grad(tg.sum(y), inputs[0])], backend="perform")(*arrays), wanted)
    tangent = RNG.normal(size=arrays[0].shape)
    pushed = tg.function(inputs, tg.jvp(y, inputs[0], tangent), backend="perform")(*arrays)
    np.testing.assert_allclose(pushed, (wanted[0] * tangent).reshape(4, -1).sum(1), rtol=1e-11, atol=1e-13)


def test_matrices_of_derivatives_of_elements():
    f, g = (lambda x: tg.sum(x**3) + x[0] * x[1]), (lambda x, k: x.at[k].set(x[0] ** 2))
    cross = np.zeros((5, 5))
    cross[0, 1] = cross[1, 0] = 1.0
    same(mapped(lambda x: tg.hessian(f(x), x), (X,)), one_by_one(lambda x: np.diag(6 * x) + cross, (X,)))

    def rows(x, k):
        found = np.eye(5)
        found[k] = 0
        found[k, 0] = 2 * x[0]
        return found

    for direction in ("forward", "reverse"):
        found = mapped(lambda x, k, d=direction: tg.jacobian(g(x, k), x, direction=d), (X, K))
        same(found, one_by_one(rows, (X, K)))


def test_second_derivatives_of_as_many_steps_as_each_asks_for():
    found = mapped(lambda v, k: tg.hessian(tg.fori_loop(0, k, lambda _, c: c * v, 1.0), v), (V, K))
    same(found, one_by_one(lambda v, k: k * (k - 1) * v ** max(k - 2.0, 0), (V, K)))


def test_hessians_of_as_many_steps_as_each_asks_for_where_lengths_are_unknown():
    """What a step traces has lengths that broadcast: those of its inputs, found by inferring the types again."""
    jax = pytest.importorskip("jax")
    x, k = tg.matrix("x"), tg.vector("k", dtype="int64")

    def total(v, n):
        return tg.sum(tg.fori_loop(0, n, lambda _, c: c * v * tg.sum(v), v))

    f = tg.function([x, k], tg.vmap(lambda v, n: tg.hessian(total(v, n), v))(x, k), backend="perform")

    def by_jax(v, n):
        def of(u):
            c = u
            for _ in range(n):
                c = c * u * jax.numpy.sum(u)
            return jax.numpy.sum(c)

        with jax.enable_x64(True):
            return np.asarray(jax.hessian(of)(v))

    for n in (3, 1):
        values, steps = np.linspace(0.5, 1.5, 2 * n).reshape(2, n), np.array([2, 0])
        wanted = [by_jax(v, s) for v, s in zip(values, steps, strict=True)]
        np.testing.assert_allclose(f(values, steps), wanted, rtol=1e-10)


def test_a_jacobian_of_what_is_mapped():
    x = tg.matrix("x")
    y = tg.jacobian(tg.vmap(lambda row: tg.prod(row))(x), x)
    wanted = np.zeros((4, 4, 5))
    wanted[np.arange(4), np.arange(4)] = X.prod(1)[:, None] / X
    np.testing.assert_allclose(y.eval({x: X}), wanted, rtol=1e-12)


# --- axes and structures ---------------------------------------------------------------------------------------------


class Pair(NamedTuple):
    left: object
    right: object


@dataclass
class Model:
    weights: object
    bias: object


@pytest.mark.sampled(4)
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
@pytest.mark.parametrize("out", [0, 1, -1, -2])
def test_axes_from_both_ends(axis, out):
    (found,) = mapped(lambda m: m[0], (M,), axis, out_axes=out)
    np.testing.assert_array_equal(found, np.moveaxis(np.moveaxis(M, axis, 0)[:, 0], 0, out))


def test_axes_for_the_parts_of_arguments_and_results():
    def f(model, x, unused):
        assert unused is None
        y = x @ model["w"] + model["b"][0]
        return {"y": y, "sum": (tg.sum(y), model["b"][1])}

    w, b, c, x = tg.tensor("w", shape=(3, 4, 3)), tg.vector("b"), tg.scalar("c"), tg.tensor("x", shape=(4, 3))
    in_axes = ({"b": [0, None], "w": 1}, 0, None)
    found = tg.vmap(f, in_axes, {"y": 1, "sum": (0, None)})({"w": w, "b": [b, c]}, x, None)
    assert found["sum"][1] is c
    values = {w: np.moveaxis(W, 0, 1), b: V, c: 2.0, x: X[:, :3]}
    y = np.einsum("bi,bij->bj", X[:, :3], W) + V[:, None]
    np.testing.assert_allclose(found["y"].eval({k: v for k, v in values.items() if k is not c}), y.T, rtol=1e-12)
    np.testing.assert_allclose(found["sum"][0].eval({w: values[w], b: V, x: values[x]}), y.sum(1), rtol=1e-12)


def test_named_tuples_and_dataclasses_are_structures():
    x, y = tg.matrix("x"), tg.vector("y")
    found = tg.vmap(lambda p, m: Model(p.left * m.bias, p.right), (Pair(0, 0), Model(None, None)))(
        Pair(x, y), Model(1.0, 2.0)
    )
    assert isinstance(found, Model)
    np.testing.assert_array_equal(found.weights.eval({x: X}), 2 * X)
    np.testing.assert_array_equal(found.bias.eval({x: X, y: V}), V)


def test_what_is_not_mapped_is_given_as_it_is():
    x = tg.matrix("x")
    y = tg.vmap(lambda row, n, power: sum(row[k] ** power for k in range(n)), (0, None, None))(x, 3, 2)
    np.testing.assert_allclose(y.eval({x: X}), (X[:, :3] ** 2).sum(1), rtol=1e-13)


def test_arrays_are_mapped_as_they_are():
    y = tg.vmap(lambda a, b: tg.sum(a) * b)(X, np.array([1, 2, 3, 4]))
    np.testing.assert_allclose(y.eval(), X.sum(1) * [1, 2, 3, 4], rtol=1e-13)


def test_nothing_follows_but_what_depends_on_the_element():
    x, w = tg.matrix("x"), tg.matrix("w")
    y = tg.vmap(lambda row: row * tg.sum(tg.exp(w)))(x)
    graph = FunctionGraph.of([x, w], [y]).freeze()
    shapes = [graph.types[k].ndim for node in graph.nodes for k in node.outputs if "exp" in str(node.op)]
    assert shapes == [2]


def test_vmap_in_vmap():
    indices = np.abs(P) % 3
    found = mapped(lambda m, p: tg.vmap(lambda k: m[:, k])(p), (M, indices))
    same(found, one_by_one(lambda m, p: np.stack([m[:, k] for k in p]), (M, indices)))
    found = mapped(lambda m: tg.vmap(lambda c: c * tg.sum(m) + c[::-1], in_axes=1, out_axes=1)(m), (M,))
    same(found, one_by_one(lambda m: m * m.sum() + m[::-1], (M,)))
    found = mapped(lambda m, k: tg.vmap(lambda r: tg.vmap(lambda v: v + r[k % 3])(r))(m), (M, K))
    same(found, one_by_one(lambda m, k: m + m[:, k % 3, None], (M, K)))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("how", ["as it is", "in a call"])
@pytest.mark.parametrize("name", [*ARRAYS, *LOOPS])
def test_maps_of_maps(name, how):
    f, reference, arrays, *in_axes = {**ARRAYS, **LOOPS}[name]
    axes = in_axes[0] if in_axes else (0,) * len(arrays)
    whole = [np.stack([a, a * 1.5 if np.asarray(a).dtype.kind == "f" else a]) for a in arrays]
    inner = flat(f) if how == "as it is" else lambda *args: tg.call(lambda *own: tuple(flat(f)(*own)), *args)
    found = mapped(tg.vmap(inner, axes), whole)
    both = [one_by_one(reference, [a[k] for a in whole], axes) for k in range(2)]
    same(found, [np.stack(pair) for pair in zip(*both, strict=True)], rtol=1e-11)


def test_loops_of_each_step_in_loops_of_all():
    def f(m):
        def step(c, rows):
            return c + tg.sum(tg.vmap(lambda y: tg.scan(lambda d, _: (d * y + c, None), y, None, 3)[0])(rows)), None

        return tg.scan(step, 0.0, m)[0]

    def reference(m):
        c = 0.0
        for row in m:
            made = row.copy()
            for _ in range(3):
                made = made * row + c
            c += made.sum()
        return c

    same(mapped(f, (M / 3,)), one_by_one(reference, (M / 3,)))


def test_the_name_and_the_text_of_the_function_stay():
    def area(x):
        """The area."""

    assert tg.vmap(area).__name__ == "area"
    assert tg.vmap(area).__doc__ == "The area."


# --- what must hold --------------------------------------------------------------------------------------------------

BOUNDS = {
    "read": lambda x, k: x[k],
    "write": lambda x, k: x.at[k].set(0.0),
    "read in a call": lambda x, k: tg.call(lambda u, j: u[j], x, k),
    "read in a loop": lambda x, k: tg.scan(lambda c, v: (c + v * x[k], None), 0.0, x)[0],
    "read in a branch": lambda x, k: tg.cond(x[0] < 9, lambda u: u[k], lambda u: u[0], x),
}


@pytest.mark.parametrize("backend", ["perform", "c"])
@pytest.mark.parametrize("name", BOUNDS)
def test_an_index_of_one_element_that_is_outside_is_an_error(name, backend):
    x, k = tg.matrix("x"), tg.vector("k", "int64")
    f = tg.function([x, k], tg.vmap(BOUNDS[name])(x, k), backend=backend)
    f(X, K)
    with pytest.raises(tg.BoundsError, match="index 7 is out of bounds for an axis of length 5"):
        f(X, np.array([0, 7, 1, 2]))


FAILURE = Descriptor("DomainError", "found {0} beside {1}, needed more")


def demand(x, k, n):
    return required(x, k >= 0, (k, n), FAILURE)


STATED = {
    "alone": lambda x, k, n: demand(x, k, n) * 2,
    "of what all share": lambda x, k, n: tg.sum(demand(tg.constant([1.0, 1.0]), k, n)) * x,
    "in a call": lambda x, k, n: tg.call(lambda x, k, n: demand(x, k, n) * 2, x, k, n),
    "in a call in a call": lambda x, k, n: tg.call(
        lambda x, k, n: tg.call(lambda x, k, n: demand(x, k, n) * 2, x, k, n), x, k, n
    ),
    "in a scan": lambda x, k, n: tg.scan(lambda c, v: (demand(c, k, n) * 1.0, demand(v * 2, k, n)), 0.0, x)[1],
    "in a while": lambda x, k, n: tg.while_loop(
        lambda c: c[1] < 1, lambda c: (demand(c[0], k, n) * 2, c[1] + 1), (x, 0)
    )[0],
    "in a while of each": lambda x, k, n: tg.while_loop(
        lambda c: c[1] < 1 - n * 0, lambda c: (demand(c[0], k, n) * 2, c[1] + 1), (x, 0)
    )[0],
    "in a branch": lambda x, k, n: tg.cond(tg.constant(True), lambda x: demand(x, k, n) * 2, lambda x: x, x),
    "in a branch of each": lambda x, k, n: tg.cond(n > 0, lambda x: demand(x, k, n) * 2, lambda x: x, x),
    "in a vmap": lambda x, k, n: tg.vmap(lambda v: demand(v, k, n) * 2)(x),
    "of each in a vmap": lambda x, k, n: tg.vmap(lambda v, j: demand(v, k - j, n) * 2)(x, tg.zeros(5, dtype="int64")),
    "in a gradient": lambda x, k, n: tg.grad(tg.sum(tg.call(lambda x, k, n: demand(x, k, n) ** 2, x, k, n)), x),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("backend", ["perform", "c"])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("name", STATED)
def test_what_is_required_of_an_element_is_required_of_all(name, shared, backend):
    x, n = tg.matrix("x"), tg.vector("n", "int64")
    k = tg.scalar("k", "int64") if shared else tg.vector("k", "int64")
    y = tg.vmap(STATED[name], (0, None if shared else 0, 0))(x, k, n)
    f = tg.function([x, k, n], y, backend=backend)
    numbers = np.array([10, 20, 30, 40])
    fine = np.array(1) if shared else np.array([5, 0, 1, 2])
    np.testing.assert_allclose(f(X, fine, numbers), 2 * X, rtol=1e-14)
    failing = np.array(-2) if shared else np.array([5, -3, 1, -2])
    text = "found -2 beside 10, needed more" if shared else "found -3 beside 20, needed more"
    with pytest.raises(tg.DomainError, match=text):
        f(X, failing, numbers)


def test_nothing_is_required_of_no_elements():
    (found,) = mapped(STATED["in a call"], (X[:0], K[:0], K[:0]))
    assert found.shape == (0, 5)


@pytest.mark.parametrize("backend", ["perform", "c"])
def test_what_an_element_does_not_do_cannot_fail(backend):
    x, k, n = tg.matrix("x"), tg.vector("k", "int64"), tg.vector("n", "int64")
    branch = tg.vmap(lambda x, k, n: tg.cond(n > 0, lambda x: demand(x, k, n) * 2, lambda x: x, x))(x, k, n)
    loop = tg.vmap(
        lambda x, k, n: tg.while_loop(lambda c: c[1] < n, lambda c: (demand(c[0], k, n) * 2, c[1] + 1), (x, 0))[0]
    )(x, k, n)
    for y in (branch, loop):
        f = tg.function([x, k, n], y, backend=backend)
        np.testing.assert_allclose(f(X, np.array([5, -3, 1, -2]), np.array([1, 0, 0, 0])), X * [[2], [1], [1], [1]])
        with pytest.raises(tg.DomainError, match="found -2 beside 1, needed more"):
            f(X, np.array([5, -3, 1, -2]), np.array([1, 0, 0, 1]))


@pytest.mark.parametrize("backend", ["perform", "c"])
def test_lengths_of_mapped_axes_agree_when_it_runs(backend):
    x, y = tg.matrix("x"), tg.matrix("y")
    f = tg.function([x, y], tg.vmap(lambda a, b: a[0] + b[0], (0, 1))(x, y), backend=backend)
    np.testing.assert_allclose(f(X, X.T), 2 * X[:, 0], rtol=1e-14)
    for one, other in ((X, X[:1].T), (X[:1], X.T), (X, X[:3].T)):
        with pytest.raises(tg.ShapeError, match="axis 0 of argument 0 and axis 1 of argument 1"):
            f(one, other)


def test_a_negative_number_of_steps_is_an_error():
    with pytest.raises(tg.ShapeError, match="found the length -3"):
        mapped(lambda n: tg.scan(lambda c, _: (c * 2, None), 1.0, None, n)[0], (np.array([2, -3, 1]),))


x, k = tg.matrix("x"), tg.vector("k", "int64")
REFUSED = {
    "a length of each": (
        tg.InputError,
        "Arange: found a length that depends on the element",
        lambda: tg.vmap(tg.arange)(k),
    ),
    "a shape of each": (tg.InputError, "found a length that depends", lambda: tg.vmap(lambda n: tg.zeros(n))(k)),
    "a slice of each": (tg.InputError, "found a length that depends", lambda: tg.vmap(lambda r, n: r[:n])(x, k)),
    "true elements": (tg.InputError, "number of true elements that depends", lambda: tg.vmap(lambda r: r[r > 0])(x)),
    "traces of each": (
        tg.InputError,
        "found a length that depends",
        lambda: tg.vmap(lambda n: tg.scan(lambda c, _: (c, c), 0.0, None, n)[1])(k),
    ),
    "a length in a call": (
        tg.InputError,
        "found a length that depends",
        lambda: tg.vmap(lambda n: tg.call(lambda m: tg.sum(tg.arange(m)), n))(k),
    ),
    "no function": (tg.InputError, "found 3, needed a function", lambda: tg.vmap(3)),
    "nothing mapped": (tg.InputError, "found no mapped argument", lambda: tg.vmap(lambda r: r, None)(x)),
    "no argument": (tg.InputError, "found no mapped argument", lambda: tg.vmap(lambda: 1.0)()),
    "axes for fewer arguments": (
        tg.InputError,
        "in_axes: found 1, needed 2",
        lambda: tg.vmap(lambda a, b: a, (0,))(x, x),
    ),
    "axes nested otherwise": (
        tg.InputError,
        "vmap: in_axes: found",
        lambda: tg.vmap(lambda a: a["w"], ([0],))({"w": x}),
    ),
    "an axis that is no integer": (tg.InputError, "in_axes: found 0.5", lambda: tg.vmap(lambda a: a, 0.5)(x)),
    "an axis that is True": (tg.InputError, "in_axes: found True", lambda: tg.vmap(lambda a: a, True)(x)),
    "an axis that is not there": (
        tg.ShapeError,
        "vmap: argument 0: axis 2 is out of range",
        lambda: tg.vmap(lambda a: a, 2)(x),
    ),
    "an axis of a scalar": (
        tg.ShapeError,
        "vmap: argument 1: axis 0 is out of range",
        lambda: tg.vmap(lambda a, b: a)(x, 2.0),
    ),
    "lengths that differ": (
        tg.ShapeError,
        r"axis 0 of argument 0 has 3, axis 1 of argument 1\['w'\]\[0\] has 4",
        lambda: tg.vmap(lambda a, b: a, (0, 1))(np.ones(3), {"w": [np.ones((3, 4))]}),
    ),
    "a result of each": (
        tg.InputError,
        "out_axes: found None for result",
        lambda: tg.vmap(lambda a: a, out_axes=None)(x),
    ),
    "an axis that the result does not have": (
        tg.ShapeError,
        r"vmap: result\[1\]: axis 1 is out of range",
        lambda: tg.vmap(lambda a: (a, a[0]), out_axes=1)(x),
    ),
    "results nested otherwise": (
        tg.InputError,
        "vmap: out_axes: found",
        lambda: tg.vmap(lambda a: a, out_axes=(0, 0))(x),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_refused_at_once_and_in_words(name):
    kind, text, f = REFUSED[name]
    with pytest.raises(kind, match=text) as caught:
        f()
    shown = [str(caught.value), *getattr(caught.value, "__notes__", ())]
    assert any("test_vmap.py" in line for line in shown)


# --- jax -------------------------------------------------------------------------------------------------------------


@cache
def libraries():
    jax = pytest.importorskip("jax")
    lax = jax.lax
    return {
        "a recurrence": (
            lambda m, w: tg.scan(lambda c, r: (tg.tanh(c @ w + r), c[0]), m[0] * 0, m),
            lambda m, w: lax.scan(lambda c, r: (jax.numpy.tanh(c @ w + r), c[0]), m[0] * 0, m),
            (M, W),
            (0, 0),
            (1, -1),
        ),
        "branches": (
            lambda x, k: tg.switch(k, [lambda u: u, lambda u: u * u, lambda u: u.at[k - 3].set(0.0)], x),
            lambda x, k: lax.switch(k, [lambda u: u, lambda u: u * u, lambda u: u.at[k - 3].set(0.0)], x),
            (X.T, K),
            (1, 0),
            1,
        ),
        "a loop until": (
            lambda v, y: tg.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + y * y + 0.1, c[1] + 1), (v, 0)),
            lambda v, y: lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + y * y + 0.1, c[1] + 1), (v, 0)),
            (V, 0.7),
            (0, None),
            0,
        ),
        "steps of each": (
            lambda n, v: tg.fori_loop(1, n, lambda j, c: c * v + j, v),
            lambda n, v: lax.fori_loop(1, n, lambda j, c: c * v + j, v),
            (K, V),
            (0, 0),
            0,
        ),
        "places": (
            lambda x, p: (x[p], x.at[p].add(x[0]), x.at[p].multiply(2.0)),
            lambda x, p: (x[p], x.at[p].add(x[0]), x.at[p].multiply(2.0)),
            (X, P),
            (0, 0),
            (0, 1, -1),
        ),
        "a map in a map": (
            lambda m, x: tg.vmap(lambda c, y: c * y, (0, None), 1)(m, x[:3]),
            lambda m, x: jax.vmap(lambda c, y: c * y, (0, None), 1)(m, x[:3]),
            (M, X),
            (0, 0),
            2,
        ),
    }


LIKE_JAX = ("a recurrence", "branches", "a loop until", "steps of each", "places", "a map in a map")


@pytest.mark.parametrize("name", LIKE_JAX)
def test_jax_gives_the_same(name):
    jax = pytest.importorskip("jax")
    f, g, arrays, in_axes, out_axes = libraries()[name]
    inputs = inputs_for(arrays, known=False)
    found = tg.function(inputs, leaves(tg.vmap(f, in_axes, out_axes)(*inputs)), backend="perform")(*arrays)
    with jax.enable_x64(True):
        wanted = [np.asarray(v) for v in leaves(jax.vmap(g, in_axes, out_axes)(*map(jax.numpy.asarray, arrays)))]
    for y, w in zip(found, wanted, strict=True):
        assert y.shape == w.shape
        np.testing.assert_allclose(y, w, rtol=1e-12, atol=1e-13)
