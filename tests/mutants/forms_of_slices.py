"""Forms of rules of slices: every way to read beside every other, of what is moved, joined and computed."""

from __future__ import annotations

import itertools
import random

import numpy as np

import tg
from tests.mutants.forms_of_matrices import of
from tg.graph.nodes import Constant
from tg.ops.creation import iota
from tg.ops.cumulative import Accumulate
from tg.ops.indexing import Gather, Nonzero, Scatter, Slice, WrapIndex
from tg.ops.reduction import ArgReduce, Reduce
from tg.ops.shape import AxisLength, Concatenate, ExpandDims, Squeeze, Transpose, broadcast_to
from tg.ops.softmax import LogSumExp, Softmax
from tg.ops.sorting import ArgSort, Sort

KNOWN, UNKNOWN, SINGLE = (6, 5), (None, None), (6, 1)
INDEX = ("int64", ())


def some(pairs, count, seed=0):
    """So many of all pairs, the same each time."""
    pairs = list(pairs)
    return random.Random(seed).sample(pairs, min(count, len(pairs)))


def both(form, *more, shapes=(KNOWN, UNKNOWN)):
    """A form for an array of known lengths, and of lengths that are not known."""
    return tuple(of(shape, *more)(form) for shape in shapes)


# --- slices ----------------------------------------------------------------------------------------------------------

READS = (
    lambda x, k: x[1:],
    lambda x, k: x[:2],
    lambda x, k: x[::-1],
    lambda x, k: x[::2],
    lambda x, k: x[1::3],
    lambda x, k: x[4:1:-1],
    lambda x, k: x[4::-2],
    lambda x, k: x[-3:],
    lambda x, k: x[:-2],
    lambda x, k: x[1:4],
    lambda x, k: x[1:2],
    lambda x, k: x[3:3],
    lambda x, k: x[:, 1:],
    lambda x, k: x[:, :2],
    lambda x, k: x[:, ::-1],
    lambda x, k: x[1:, :3],
    lambda x, k: x[2:3, 1:2],
    lambda x, k: x[:, 4:],
    lambda x, k: x[k : k + 2],
    lambda x, k: x[:k],
    lambda x, k: x[k:],
    lambda x, k: x[:, k : k + 1],
    lambda x, k: x[: x.shape[0] // 2],
    lambda x, k: x[x.shape[0] // 2 :],
    lambda x, k: x[: x.shape[0] - 1],
    lambda x, k: Slice((0, 0), (2, 2), (1, 1))(x),
    lambda x, k: Slice((2, 0), (2, 1), (-1, 1))(x),
    lambda x, k: Slice((7,), (2,), (1,))(x),
    lambda x, k: Slice((None,), (1,), (1,))(x, k),
    lambda x, k: Slice((None, 0), (1, 2), (1, 1))(x, WrapIndex("raise")(k, AxisLength(-2)(x))),
    lambda x, k: Slice((None, 0), (1, 2), (1, 1))(x, WrapIndex("raise")(Constant(np.array(1)), AxisLength(-2)(x))),
)
SCALARS = (lambda x, k: x[1], lambda x, k: x[-1], lambda x, k: x[k], lambda x, k: x[:, 0], lambda x, k: x[2, 1])
MOVES = (
    lambda x: Transpose((-1, -2))(x),
    lambda x: x[None],
    lambda x: x[:, None],
    lambda x: x[:, :, None],
    lambda x: Squeeze((-3,))(x[None]),
    lambda x: Squeeze((-2,))(ExpandDims((-2,))(x)),
    lambda x: broadcast_to(x, (3, *x.shape)),
    lambda x: broadcast_to(x[:1], x.shape),
    lambda x: broadcast_to(x[:, :1], x.shape),
    lambda x: broadcast_to(x[0, 0], x.shape),
    lambda x: tg.reshape(x, (-1,)),
    lambda x: tg.reshape(x, (x.shape[0], x.shape[1], 1)),
    lambda x: tg.reshape(x, (1, x.shape[0], x.shape[1])),
    lambda x: tg.reshape(tg.reshape(x, (-1,)), (x.shape[0], x.shape[1])),
    lambda x: tg.reshape(x, x.shape),
)
KNOWN_MOVES = (
    lambda x: tg.reshape(x, (3, 2, 5)),
    lambda x: tg.reshape(x, (2, 3, 5)),
    lambda x: tg.reshape(x, (5, 6)),
    lambda x: tg.reshape(x, (30,)),
    lambda x: tg.reshape(tg.reshape(x, (30,)), (6, 5)),
    lambda x: tg.reshape(tg.reshape(x, (30,)), (3, 2, 5)),
    lambda x: tg.reshape(x, (6, 1, 5)),
    lambda x: tg.reshape(x, (1, 6, 5)),
    lambda x: tg.reshape(x, (3, 10)),
)


def read_of(change, read):
    return lambda x, k: read(change(x), k)


def read_twice(inner, outer):
    return lambda x, k: outer(inner(x, k), k)


OF_SLICES = tuple(
    f
    for a, b in some(itertools.product(READS, READS), 70)
    for f in both(read_twice(a, b), INDEX, shapes=(KNOWN, UNKNOWN, SINGLE)[: 2 + (a is READS[0])])
)
OF_MOVEMENTS = (
    *(f for m, r in some(itertools.product(MOVES, READS), 90) for f in both(read_of(m, r), INDEX)),
    *(of(KNOWN, INDEX)(read_of(m, r)) for m, r in some(itertools.product(KNOWN_MOVES, READS), 60)),
)
ONE_FORM = tuple(f for r in READS for f in both(lambda x, k, r=r: r(x, k), INDEX, shapes=(KNOWN, UNKNOWN, (1, 5))))
PIECES = (
    lambda x: Concatenate(-2)(x, -x),
    lambda x: Concatenate(-1)(x, -x),
    lambda x: Concatenate(-2)(x[:1], -x, x[:2]),
    lambda x: Concatenate(-2)(x[:2], -x[:3]),
    lambda x: Concatenate(-2)(-x, x[3:3], x),
)
OF_PIECES = tuple(f for p, r in itertools.product(PIECES, READS) for f in both(read_of(p, r), INDEX))
OF_INTEGERS = tuple(
    of((None,), INDEX)(lambda x, k, r=r, n=n: r(iota(n(x)), k) + tg.cast(k, "int64") * 0)
    for n in (lambda x: x.shape[0] + 3, lambda x: 9, lambda x: x.shape[0])
    for r in (r for r in READS[:24] if "x[:, " not in str(r.__code__.co_consts))
)


# --- what is computed only where it is read --------------------------------------------------------------------------

COMPUTED = (
    lambda x: tg.exp(x) * 2 + 1,
    lambda x: x * x[0] + x[:, :1],
    lambda x: tg.cast(x * 2, "float32"),
    lambda x: tg.cast(tg.exp(x), "int64"),
    lambda x: Concatenate(-2)(x, -x) * 2,
    lambda x: Concatenate(-1)(x, -x) * Concatenate(-1)(tg.exp(x), x),
    lambda x: ArgReduce(tg.maximum, -1)(broadcast_to(x, (6, *x.shape))),
    lambda x: Sort(-1)(x),
    lambda x: Sort(-2)(x),
    lambda x: ArgSort(-1)(x),
    lambda x: Reduce(tg.maximum, (-3,))(tg.broadcast_to(x, (3, *x.shape)) * 2),
    lambda x: Reduce(tg.maximum, (-1,))(x[:, :, None] * x[:, None, :]),
    lambda x: Accumulate(tg.maximum, -1)(x),
    lambda x: Accumulate(tg.maximum, -2)(x),
    lambda x: Gather((-2,))(tg.exp(x), Constant(np.array([2, 0, 3, 1, 4]))),
    lambda x: Gather((-1,))(tg.exp(x), Constant(np.array([2, 0, 3, 1]))),
    lambda x: Gather((-2, -1))(tg.exp(x)[None] * x, Constant(np.array([2, 0, 3, 1])), Constant(np.array([1, 0, 1, 2]))),
    lambda x: Scatter((-2,))(tg.exp(x), x[:3] * 2, Constant(np.array([2, 0, 3]))),
    lambda x: Scatter((-1,), tg.add)(tg.exp(x), tg.swapaxes(x, 0, 1)[:3] * 2, Constant(np.array([2, 0, 3]))),
    lambda x: tg.exp(x).at[1:3].set(-x[:2]),
    lambda x: tg.exp(x).at[2:4, 1:3].add(-x[:2, :2]),
    lambda x: tg.swapaxes(tg.exp(x), 0, 1) * 2,
    lambda x: tg.reshape(tg.exp(x), (-1, 1)),
    lambda x: tg.broadcast_to(tg.exp(x[:1]), x.shape) + x,
    lambda x: tg.exp(x)[1:] * 2,
)
SUMMED = (
    lambda x: x @ tg.swapaxes(x, 0, 1),
    lambda x: (x[None] * tg.ones((3, 1, 1), dtype=x.dtype)) @ tg.swapaxes(x, 0, 1)[None],
    lambda x: Reduce(tg.add, (-1,))(x[:, :, None] * x[:, None, :]),
    lambda x: Reduce(tg.multiply, (-2,))(x[:, :, None] * x[:, None, :]),
    lambda x: Accumulate(tg.add, -1)(x),
    lambda x: Accumulate(tg.multiply, -2)(x),
    lambda x: Softmax(-1)(x * 2),
    lambda x: Softmax(-2)(x * 2),
    lambda x: LogSumExp((-1,))(x[:, :, None] * x[:, None, :]),
)
SEVERAL = (
    lambda y, k: [y[0], y[1]],
    lambda y, k: [y[:1], y[-1:]],
    lambda y, k: [y[0] * 2, y[2:3], y[4]],
    lambda y, k: [y[:2], y[2:4]],
    lambda y, k: [y[:2], y],
    lambda y, k: [y[:3], y[3:]],
    lambda y, k: [y[:3], y[2:]],
    lambda y, k: [y[0], y[1], y[2], y[3], y[4]],
    lambda y, k: [y[0], y[1], y[2], y[3], y[0] * 2],
    lambda y, k: [y[1:], y[k]],
    lambda y, k: [y[:, 0], y[:, 1]],
    lambda y, k: [y[1:], tg.sum(y)],
    lambda y, k: Gather((-2,))(y, Constant(np.array([2, 0]))),
    lambda y, k: Gather((-2,))(y, Constant(np.array([2, 0] * 4))),
    lambda y, k: Gather((-2, -1))(y, iota(4), iota(4)),
    lambda y, k: Gather((-1,))(y, Nonzero()(y[0] > 0)),
    lambda y, k: [Gather((-2,))(y, Constant(np.array([2, 0]))), y[1:]],
    lambda y, k: Gather((-2,))(y, Nonzero()(y[:, 0] > k)),
)


def reads_of(computed, shapes, count, seed):
    ways = (*READS, *SCALARS, *SEVERAL)
    return tuple(
        of(shape, INDEX)(lambda x, k, c=c, r=r: r(c(x), k))
        for n, (c, r) in enumerate(some(itertools.product(computed, ways), count, seed))
        for shape in shapes[: 1 + n % 2]
    )


BEFORE_COMPUTING = reads_of(COMPUTED, (KNOWN, UNKNOWN), 240, 5)
BEFORE_SUMMING = reads_of(SUMMED, (KNOWN, UNKNOWN), 130, 6)


# --- indices that are known to lie inside ----------------------------------------------------------------------------

INSIDE = (
    lambda n, k: iota(n),
    lambda n, k: iota(n) - 1,
    lambda n, k: iota(n) + 1,
    lambda n, k: n - 1 - iota(n),
    lambda n, k: tg.clip(k, 0, n - 1),
    lambda n, k: tg.minimum(tg.maximum(k, 0), n - 1),
    lambda n, k: k % n,
    lambda n, k: k % (n + 1),
    lambda n, k: k % (n + 1) - 1,
    lambda n, k: iota(n) // 2,
    lambda n, k: tg.where(k > 0, iota(n), 0),
    lambda n, k: tg.concatenate([iota(n), iota(n)]),
    lambda n, k: WrapIndex("clip")(k, n if not isinstance(n, int) else Constant(np.array(n))),
    lambda n, k: k,
)
UNWRAPPED = tuple(
    of(shape, INDEX)(
        lambda x, k, i=i, m=m: Gather((-1,))(x, WrapIndex(m)(tg.cast(i(x.shape[-1], k), "int64"), AxisLength(-1)(x)))
    )
    for shape in ((5,), (None,))
    for i in INSIDE
    for m in ("raise", "clip", "promise")
)
AT_CONSTANT = (
    *(
        of(shape)(lambda x, c=c, m=m, s=s, a=a: Slice(*s)(x, WrapIndex(m)(Constant(np.array(c)), AxisLength(a)(x))))
        for shape in (KNOWN, UNKNOWN)
        for c in (0, 1, -1, -3, 4, 2**62 - 1, 2**62, -(2**62), 1 - 2**62)
        for m in ("raise", "clip", "promise")
        for s, a in (
            (((None, 0), (1, 2), (1, 1)), -2),
            (((1, None), (2, 1), (1, 1)), -1),
            (((None,), (1,), (1,)), -1),
            (((None, 0), (2, 2), (1, 1)), -2),
            (((None, 0), (1, 2), (1, 1)), -1),
        )[: 5 if c in (1, -1) else 2]
    ),
    of(KNOWN, INDEX)(
        lambda x, k: Slice((None, None), (1, 1), (1, 1))(
            x, k, WrapIndex("raise")(Constant(np.array(-2)), AxisLength(-1)(x))
        )
    ),
    of(UNKNOWN, INDEX)(
        lambda x, k: Slice((None, None), (1, None), (1, 1))(
            x, WrapIndex("raise")(Constant(np.array(1)), AxisLength(-2)(x)), k, tg.maximum(k, 0) * 0 + 2
        )
    ),
)
