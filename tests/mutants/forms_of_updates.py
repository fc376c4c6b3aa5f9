"""Forms of rules of updates: every place written beside every other, in zeros, read again, added to others."""

from __future__ import annotations

import itertools

import numpy as np

import tg
from tests.mutants.forms_of_matrices import of
from tests.mutants.forms_of_slices import INDEX, KNOWN, READS, UNKNOWN, both, some
from tg.graph.nodes import Constant
from tg.ops.creation import zeros_like
from tg.ops.elementwise.arithmetic import gate
from tg.ops.indexing import Scatter, SliceUpdate
from tg.ops.reduction import Reduce

# --- updates ---------------------------------------------------------------------------------------------------------

PLACES = (
    lambda k: slice(0, 2),
    lambda k: slice(2, 4),
    lambda k: slice(1, 3),
    lambda k: slice(None, None, 2),
    lambda k: slice(1, None, 2),
    lambda k: slice(None, None, -1),
    lambda k: slice(4, 1, -1),
    lambda k: slice(3, 3),
    lambda k: slice(None),
    lambda k: (slice(None), slice(1, 3)),
    lambda k: (slice(0, 2), slice(1, 3)),
    lambda k: (slice(1, 2), slice(0, 2)),
    lambda k: (slice(None), slice(2, None)),
    lambda k: slice(k, k + 2),
    lambda k: (slice(None), slice(None, -1)),
    lambda k: slice(1, None),
    lambda k: slice(None, -1),
    lambda k: (0, slice(None)),
    lambda k: (k, slice(None)),
    lambda k: (-1, 1),
)
WAYS = ("set", "add", "multiply", "max")


def written(x, at, way, values):
    """An array with some of its values, or a number, written at a place."""
    there = getattr(x.at[at], way, None)
    return there(values) if there is not None else x


def writes(at, way, change=lambda v: -v):
    return lambda x, k: written(x, at(k), way, change(x[at(k)]))


def zeros(x):
    return zeros_like(x)


def write_into(base, at, way):
    return lambda x, k: written(base(x), at(k), way, x[at(k)] * 3)


WRITES = tuple((p, w) for p in PLACES for w in WAYS)
ONE_WRITE = (
    *(f for p, w in WRITES for f in both(writes(p, w), INDEX)),
    *(of(KNOWN)(lambda x, s=s: SliceUpdate(s[0], s[1])(x, x[: s[2], : s[3]])) for s in (
        ((0, 0), (1, 1), 6, 5), ((0,), (1,), 6, 3), ((0, 0), (1, 1), 2, 5), ((3, 0), (1, 1), 5, 5),
        ((1, 1), (2, -1), 1, 1),
    )),
)  # fmt: skip
INTO_ZEROS = (
    *(f for p, w in WRITES for f in both(write_into(zeros, p, w), INDEX)),
    *(of(KNOWN, INDEX)(write_into(lambda x: x * 0 + 1, p, "add")) for p in PLACES[:4]),
    *(
        of(KNOWN, INDEX)(
            lambda x, k, p=p, q=q, w=w: written(written(zeros(x), p(k), w, x[p(k)]), q(k), "add", x[q(k)] * 2)
        )
        for (p, q), w in itertools.product(some(itertools.product(PLACES, PLACES), 40, 1), ("set", "add"))
    ),
)
TWO_WRITES = tuple(
    f
    for k, ((p, v), (q, w)) in enumerate(
        (
            *(((p, v), (p, w)) for p in PLACES for v in WAYS[:3] for w in WAYS[:3]),
            *some(itertools.product(WRITES, WRITES), 80, 3),
        )
    )
    for f in both(lambda x, k, p=p, q=q, v=v, w=w: written(written(x, p(k), v, -x[p(k)]), q(k), w, x[q(k)] * 2), INDEX)[
        : 1 + k % 2
    ]
)
READ_WRITTEN = tuple(
    f
    for n, ((p, w), r) in enumerate(some(itertools.product(WRITES, READS), 160, 4))
    for f in both(lambda x, k, p=p, w=w, r=r: r(written(x, p(k), w, -x[p(k)]), k), INDEX)[: 1 + n % 2]
)
JOINED = (
    *(
        of(KNOWN)(lambda x, cuts=cuts, order=order, base=base: pieces_written(base(x), x, cuts, order))
        for cuts, order, base in (
            ((0, 3, 6), (0, 1), zeros), ((0, 3, 6), (1, 0), zeros), ((0, 2, 4, 6), (2, 0, 1), lambda x: x),
            ((0, 2, 4, 6), (0, 1), zeros), ((0, 2, 4, 5), (0, 1, 2), zeros), ((1, 3, 6), (0, 1), zeros),
            ((0, 2, 4, 6), (0, 1, 2, 1), zeros), ((0, 2, 4, 6), (0, 2, 1, 0), zeros), ((0, 6), (0,), zeros),
            ((0, 3, 3, 6), (0, 1, 2), zeros), ((0, 1, 2, 3, 4, 5, 6), (5, 3, 1, 0, 2, 4), zeros),
        )
    ),
    of(KNOWN)(lambda x: zeros(x).at[0:3].set(x[:3]).at[3:6].add(x[3:])),
    of(KNOWN)(lambda x: zeros(x).at[0:3].add(x[:3]).at[3:6].set(x[3:])),
    of(KNOWN)(lambda x: zeros(x).at[0:4].set(x[:4]).at[3:6].set(x[3:])),
    of(KNOWN)(lambda x: zeros(x).at[0:4].set(x[:4]).at[4:6].set(x[4:]).at[1:3].set(-x[1:3])),
    of(KNOWN)(lambda x: zeros(x).at[1:3].set(-x[1:3]).at[0:4].set(x[:4]).at[4:6].set(x[4:])),
    of(KNOWN)(lambda x: zeros(x).at[:, 0:3].set(x[:, :3]).at[:, 3:5].set(x[:, 3:])),
    of(KNOWN)(lambda x: zeros(x).at[0:3].set(x[:3]).at[:, 3:5].set(x[:, 3:])),
    of(KNOWN)(lambda x: zeros(x).at[0:3, 0:2].set(x[:3, :2]).at[3:6].set(x[3:])),
    of(KNOWN)(lambda x: zeros(x).at[0:3:2].set(x[:2]).at[3:6].set(x[3:])),
    of(KNOWN)(lambda x: zeros(x).at[2::-1].set(x[:3]).at[3:6].set(x[3:])),
    of(KNOWN)(lambda x: two_of(zeros(x).at[0:3].set(x[:3]), x)),
    of(UNKNOWN)(lambda x: zeros(x).at[:, :1].set(x[:, :1]).at[:, 1:].set(x[:, 1:])),
    of(UNKNOWN, INDEX)(lambda x, k: zeros(x).at[:k].set(x[:k]).at[k:].set(x[k:])),
    of((2, 6, 5))(lambda x: zeros(x).at[:, 0:3].set(x[:, :3]).at[:, 3:6].set(x[:, 3:])),
)  # fmt: skip


def two_of(y, x):
    return [y.at[3:6].set(x[3:]), y]


def pieces_written(base, x, cuts, order):
    for n, k in enumerate(order):
        base = base.at[cuts[k] : cuts[k + 1]].set(x[cuts[k] : cuts[k + 1]] * (n + 2))
    return base


# --- zeros in which something was written ----------------------------------------------------------------------------


def gradient_like(p, w):
    return lambda x, k: written(zeros(x), p(k), w, x[p(k)] * 3)


AT = (
    Constant(np.array([2, 0, 3])), Constant(np.array([2, 2, 3])), Constant(np.array([1])),
    Constant(np.array([3, 2, 1])),
)  # fmt: skip


def scattered(i, fn=None, base=zeros, values=lambda x, n: x[:n] * 3):
    return lambda x, *_: Scatter((-2,), fn)(base(x), values(x, AT[i].data.size), AT[i])


SCATTERED = tuple(scattered(i, fn) for i in range(4) for fn in (None, tg.add, tg.maximum))
SPARSE = (*(gradient_like(p, w) for p in PLACES[:18] for w in WAYS[:3]), *SCATTERED)
ONES = tuple(write_into(lambda x: zeros(x) + 1, p, "set") for p in PLACES[:3])
NEGATIVE_ZEROS = tuple(
    (lambda x, k, p=p, w=w: written(tg.full(KNOWN, -0.0, dtype=x.dtype), p(k), w, x[p(k)] * 3))
    for p in PLACES[:4]
    for w in WAYS[:2]
)
MANY = (*SPARSE, *ONES, *NEGATIVE_ZEROS)


def with_sparse(*changes, made=MANY):
    return tuple(
        of(KNOWN, KNOWN, INDEX)(lambda x, y, k, s=s, c=c: c(s(x, k), y))
        for n, s in enumerate(made)
        for j, c in enumerate(changes)
        if (n + j) % max(1, len(changes) // 3) == 0 or len(changes) < 4
    )


SUMS = with_sparse(
    lambda s, y: s + y,
    lambda s, y: y + s,
    lambda s, y: s + y[:1],
    lambda s, y: s + y[0, 0],
    lambda s, y: s[None] + y,
)
CHAINS = tuple(
    of(KNOWN, KNOWN, INDEX)(form)
    for form in (
        lambda x, y, k: y + Scatter((-2,), tg.add)(Scatter((-2,), tg.add)(x, x[:3], AT[0]), -x[:3], AT[1]),
        lambda x, y, k: y + Scatter((-2,), tg.add)(x.at[1:3].add(x[:2]), -x[:3], AT[1]),
        lambda x, y, k: y + Scatter((-2,), tg.add)(x, -x[:3], AT[1]),
        lambda x, y, k: Scatter((-2,), tg.add)(x.at[1:3].set(x[:2]), -x[:3], AT[1]) + y,
        lambda x, y, k: x.at[1:3].add(x[:2]).at[2:4].add(x[:2]) + y,
        lambda x, y, k: x.at[1:3].set(x[:2]).at[2:4].set(x[:2]) + y,
        lambda x, y, k: x.at[1:3].set(x[:2]).at[2:4].add(x[:2]) + y,
        lambda x, y, k: y + x.at[1:3].add(x[:2]).at[2:4].add(x[:2]),
    )
)
KEEPS = with_sparse(
    gate,
    lambda s, y: gate(s, y[:1]),
    lambda s, y: gate(y, s),
    lambda s, y: tg.cast(s, "float32"),
    lambda s, y: tg.cast(s, "int64"),
    lambda s, y: tg.where(y > 0, s, 0),
    lambda s, y: tg.where(y > 0, 0, s),
    lambda s, y: tg.where(y > 0, s, -0.0),
    lambda s, y: tg.where(y > 0, s, 1),
    lambda s, y: tg.where(y[:1] > 0, s, 0),
    lambda s, y: tg.where(y[0, 0] > 0, 0, s),
    lambda s, y: tg.where(s > 0, s, 0),
    lambda s, y: tg.where(tg.cast(s, "bool"), y, 0),
)
MULTIPLES = with_sparse(
    lambda s, y: -s,
    lambda s, y: s * 3,
    lambda s, y: -2 * s,
    lambda s, y: s / 4,
    lambda s, y: 4 / s,
    lambda s, y: s / 0,
    lambda s, y: s * np.inf,
    lambda s, y: s * np.nan,
    lambda s, y: s * 0,
    lambda s, y: s * np.full((1, 1), 2.0),
    lambda s, y: s * np.full((6, 5), 2.0),
    lambda s, y: s * np.arange(5.0),
    lambda s, y: s[0] * np.full((6, 1), 2.0),
    lambda s, y: s * y,
)
TOTALS = with_sparse(
    lambda s, y: Reduce(tg.add, (-1,))(s),
    lambda s, y: Reduce(tg.add, (-2,))(s),
    lambda s, y: Reduce(tg.add, (-2, -1))(s),
    lambda s, y: Reduce(tg.maximum, (-1,))(s),
    lambda s, y: Reduce(tg.multiply, (-1,))(s),
)
