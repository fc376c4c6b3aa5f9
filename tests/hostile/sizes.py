"""Sizes, starts, counts and positions that come with a call: around 0, around what 32 and 64 bits hold, and products.

Most of the arrays that these ask for cannot be: what is asked is that all backends say so, and alike.
"""

from __future__ import annotations

import numpy as np

import tg
from tests.hostile.case import LEAST, MOST, Case, numbers, whole

LONGEST = 2**62
ONE = (
    *(0, 1, -1, 2, 3, 7, 8, -2),
    *(2**31 - 1, 2**31, 2**32, 2**32 + 1, 2**48, 2**59, 2**60, -(2**31), -(2**32)),
    *(LONGEST - 1, LONGEST, LONGEST + 1, -LONGEST, -LONGEST - 1, MOST - 1, MOST, LEAST, LEAST + 1),
)
TWO = (0, 1, -1, 4, 7, 2**31, 2**32, 2**33, LONGEST - 1, LONGEST, LONGEST + 1, MOST, LEAST)

SIZES = {
    "zeros": lambda v, k: tg.zeros((k,)),
    "zeros of two axes": lambda v, k: tg.zeros((k, 2), dtype="int8"),
    "rows of nothing": lambda v, k: tg.zeros((k, 0), dtype="int8"),
    "no rows": lambda v, k: tg.zeros((0, k), dtype="bool"),
    "a length": lambda v, k: tg.zeros((k,)) * v[0],
    "a sum of zeros": lambda v, k: tg.sum(tg.cumsum(tg.zeros((k, 3)), 1), 1),
    "rows joined": lambda v, k: tg.concatenate([tg.zeros((k, 0)), tg.ones((k, 0)), tg.zeros((k, 0))]),
    "broadcast": lambda v, k: tg.broadcast_to(v, (k, v.shape[0])),
    "row of a broadcast": lambda v, k: tg.broadcast_to(v, (k, v.shape[0]))[k - 1],
    "range": lambda v, k: tg.arange(k),
    "range to twice": lambda v, k: tg.arange(k * 2),
    "range down": lambda v, k: tg.arange(k, 0, -1),
    "range by three": lambda v, k: tg.arange(2, k, 3),
    "range by large steps": lambda v, k: tg.arange(k, MOST, 2**61),
    "linspace": lambda v, k: tg.linspace(0.0, 1.0, k),
    "eye": lambda v, k: tg.eye(k),
    "flat eye": lambda v, k: tg.eye(1, k),
    "tril": lambda v, k: tg.tril(tg.ones((k, k))),
    "indices": lambda v, k: tg.indices((k, 2)),
    "vander": lambda v, k: tg.vander(v, k),
    "tile": lambda v, k: tg.tile(v, k),
    "tile twice": lambda v, k: tg.tile(v, (k, 2)),
    "repeat": lambda v, k: tg.repeat(v, k),
    "roll": lambda v, k: tg.roll(v, k),
    "one hot": lambda v, k: tg.one_hot(tg.cast(v, "int64"), k),
    "bincount": lambda v, k: tg.bincount(tg.cast(v, "int64"), minlength=k),
    "places": lambda v, k: tg.unravel_index(tg.cast(v, "int64") % 2, (k, 3))[0],
    "place": lambda v, k: tg.ravel_multi_index((tg.cast(v, "int64") % 2, tg.cast(v, "int64") % 2), (2, k)),
    "nonzero": lambda v, k: tg.nonzero(v > 3, size=k)[0],
    "unique": lambda v, k: tg.unique(v, size=k),
    "to": lambda v, k: v[:k],
    "from": lambda v, k: v[k:],
    "from to": lambda v, k: v[k : k + 2],
    "from the end": lambda v, k: v[::-2][k:],
    "every third from": lambda v, k: v[k::3],
    "of a matrix": lambda v, k: tg.outer(v, v)[k:, :k],
    "set from": lambda v, k: v.at[k:].set(1.5),
    "add to": lambda v, k: v.at[:k].add(1.5),
    "set at": lambda v, k: v.at[k].set(1.5),
    "add at many": lambda v, k: v.at[tg.stack([k, k])].add(1.5),
    "at": lambda v, k: v[k],
    "take": lambda v, k: [tg.take(v, k, mode=mode) for mode in ("clip", "wrap", "fill")],
    "take many": lambda v, k: tg.take(v, tg.stack([k, k - 1, k + 1])),
    "split": lambda v, k: tg.split(v, [k]),
    "reshape": lambda v, k: tg.reshape(v, (k, -1)),
    "reshape to twice": lambda v, k: tg.reshape(v, (k, 2)),
    "reshape to a product": lambda v, k: tg.reshape(v, (k * 2,)),
    "reshape of a product": lambda v, k: tg.reshape(tg.arange(k * 4), (k, 4))[k - 1, 0],
    "reshape of quotients": lambda v, k: tg.reshape(v, (k * 2 // 2,)),
    "stated": lambda v, k: tg.reshape(tg.specify_shape(v, (k * 8,)), (k, 8)),
}
PAIRS = {
    "zeros": lambda v, k, m: tg.zeros((k, m), dtype="int8"),
    "an element of zeros": lambda v, k, m: tg.zeros((k, m))[0, 0],
    "mean of a broadcast": lambda v, k, m: tg.mean(tg.broadcast_to(v[0], (k, m))),
    "rows of a broadcast": lambda v, k, m: tg.broadcast_to(v[0], (k, m))[:2, :2],
    "ravel of a broadcast": lambda v, k, m: tg.ravel(tg.broadcast_to(v[0], (k, m))),
    "range": lambda v, k, m: tg.arange(k, m),
    "range of a product": lambda v, k, m: tg.arange(k * m),
    "range of a sum": lambda v, k, m: tg.arange(k + m),
    "an element of a reshape": lambda v, k, m: tg.reshape(v, (k, m))[m, 0],
    "the end of a reshape": lambda v, k, m: tg.reshape(v, (k, m))[-1:, -1:],
    "write to a reshape": lambda v, k, m: tg.reshape(v, (k, m)).at[k - 1, m - 1].set(1.5),
    "reshape to products": lambda v, k, m: tg.reshape(tg.arange(k * m * 4), (k, m, 4))[0, m - 1],
    "three axes": lambda v, k, m: tg.reshape(v, (k, m, k))[0],
    "window": lambda v, k, m: v[k:m],
    "window of windows": lambda v, k, m: v[k:][:m][::-1],
    "write to a window": lambda v, k, m: v.at[k:m].set(1.5),
    "tile": lambda v, k, m: tg.tile(v, (k, m)),
    "joined": lambda v, k, m: tg.concatenate([tg.zeros((k,)), v[:m]]),
    "rows of nothing joined": lambda v, k, m: tg.concatenate([tg.zeros((k, 0)), tg.zeros((m, 0))]).T,
}


def sizes():
    """Every function that takes a size, a start, a count or a position, for one and for two of them."""
    for name, make in SIZES.items():
        calls = tuple((v, whole(k)) for v in (numbers(8), numbers(0)) for k in ONE)
        yield Case(f"{name} of one size", ("float64", "int64"), (1, 0), listed(make), calls, every_layout=False)
    for name, make in PAIRS.items():
        calls = tuple((v, whole(k), whole(m)) for v in (numbers(4), numbers(0)) for k in TWO for m in TWO)
        yield Case(
            f"{name} of two sizes", ("float64", "int64", "int64"), (1, 0, 0), listed(make), calls, every_layout=False
        )


def listed(make):
    """The outputs as a list."""

    def outputs(*variables):
        found = make(*variables)
        return list(found) if isinstance(found, list | tuple) else [found]

    return outputs


def bools():
    """Bytes of bool that are neither 0 nor 1, as another view writes them: all are true."""
    masks = tuple(
        (numbers(n), (np.arange(n) % 5 * 51 + k).astype(np.uint8).view(bool))
        for n in (0, 1, 3, 64, 131)
        for k in (0, 2)
    )
    yield Case("odd bools", ("float64", "bool"), (1, 1), masked, masks)
    yield Case("an odd bool", ("float64", "bool"), (1, 0), lambda x, m: [tg.where(m, x, -x), ~m], tuple(
        (numbers(3), np.array(b, np.uint8).view(bool)) for b in (0, 1, 2, 255)
    ))  # fmt: skip


def masked(x, m):
    """What chooses, counts, compares and sorts."""
    return [
        *(tg.where(m, x, -x), tg.sum(m), tg.cumsum(m), tg.max(tg.cast(m, "int8")), ~m, m == (x > 3), m | (x > 3)),
        *(tg.all(m), tg.any(m), tg.sort(m), tg.argsort(m), tg.nonzero(m)[0], x[m], x.at[m].set(0.5), m * x, m[::-1]),
    ]


def inputs_of_no_memory():
    """Axes that only arrays without elements, or of one that is repeated, can have."""
    far = tuple((np.zeros(s, np.int8),) for s in ((2**20, 0), (0, 2**20), (2**48 + 1, 0), (0, MOST), (LONGEST, 0)))
    yield Case("empty", ("int8",), (2,), lambda x: [x.T, tg.ravel(x)], far, every_layout=False)
    alike = tuple((np.broadcast_to(np.int8(1), s),) for s in ((2**40, 1), (LONGEST, 1), (2**31, 2**28)))
    yield Case(
        "repeated", ("int8",), (2,), lambda x: [x[:2, :1] + 1, tg.concatenate([x, x])[:1]], alike, every_layout=False
    )
