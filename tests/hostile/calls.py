"""Calls whose shapes, strides, indices and values are as bad as a caller can make them."""

from __future__ import annotations

import numpy as np

import tg
from tests.hostile.case import LEAST, MOST, Case, numbers, whole
from tests.hostile.sizes import bools, inputs_of_no_memory, sizes

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
INDICES = (
    *([], [0], [4], [-5], [0, 4, -1, -5, 2], [5], [-6], [1, 5], [LEAST], [MOST], [0, LEAST + 1], [2**32], [-(2**32)]),
    *([2**31], [MOST - 3], [LEAST + 5]),
)
FAR = (0, 1, 4, 5, 6, -1, -5, -6, 2**32, -(2**59), 2**59)
STARTS = (0, 1, 4, 5, 6, -1, -5, -6, LEAST, LEAST + 1, MOST, MOST - 1, 2**32)
LENGTHS = (0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65)


def indexing():
    """Positions anywhere in the range of their dtype."""
    taken = tuple((numbers(5), whole(i)) for i in INDICES)
    nothing = ((numbers(0), whole([])), (numbers(0), whole([0])), (numbers(0), whole([LEAST])))
    yield Case("gather", ("float64", "int64"), (1, 1), lambda x, i: [x[i] * 2], (*taken, *nothing))
    for mode in ("clip", "wrap"):
        yield Case(
            f"take {mode}",
            ("int16", "int64"),
            (1, 1),
            lambda x, i, m=mode: [tg.take(x, i, mode=m)],
            tuple((x.astype("int16"), i) for x, i in taken),
        )
    yield Case(
        *("gather at uint64", ("float32", "uint64"), (1, 1), lambda x, i: [x[i]]),
        tuple(
            (numbers(5, dtype="float32"), whole(i, "uint64")) for i in ([0, 4], [5], [2**64 - 1], [2**63], [2**63 + 1])
        ),
    )
    yield Case(
        *("gather at int8", ("uint8", "int8"), (1, 1), lambda x, i: [x[i]]),
        tuple((numbers(n, dtype="uint8"), whole(i, "int8")) for n in (5, 300) for i in ([127], [-128], [0, -1])),
    )
    pairs = tuple(
        (numbers(5, 3), whole(i), whole(i)[::-1].copy()) for i in ([], [0, 2], [2, -3], [3], [-5], [LEAST], [MOST])
    )
    yield Case(
        "gather on two axes", ("float64", "int64", "int64"), (2, 1, 1), lambda x, i, j: [x[i, j], x[:, i]], pairs
    )
    empty = tuple(
        (numbers(*s), whole(i), whole(j)) for s in ((0, 3), (3, 0)) for i in ([], [0], [2]) for j in ([0], [2])
    )
    yield Case("fused on two axes", ("float64", "int64", "int64"), (2, 1, 1), likelihood, (*pairs, *empty))
    for name in ("set", "add"):
        yield Case(
            *(f"scatter {name}", ("float64", "int64"), (1, 1)),
            lambda x, i, name=name: [getattr(x.at[i], name)(tg.cast(i, "float64"))],
            (*taken, *nothing),
        )
    yield Case(
        "scalar position",
        ("float64", "int64"),
        (2, 0),
        lambda x, i: [x[i], x[:, i], x.at[i].set(1.5)],
        tuple((numbers(5, 5), whole(i)) for i in STARTS),
    )
    masks = tuple((numbers(n), numbers(n) > k) for n in LENGTHS for k in (0, 5, 50))
    yield Case("mask", ("float64", "bool"), (1, 1), lambda x, m: [x[m], tg.nonzero(m)[0], x.at[m].set(0.5)], masks)


def likelihood(x, i, j):
    """A sum over what is gathered, and its gradient, which is scattered."""
    value = tg.sum(tg.exp(-x[i, j]))
    return [value, tg.grad(value, x)]


def slices():
    """Starts, ends and steps anywhere in int64."""
    far = tuple((numbers(n), whole(a), whole(b)) for n in (0, 1, 5) for a in FAR for b in FAR[::2])
    yield Case("slice", ("float64", "int64", "int64"), (1, 0, 0), cut, far)
    written = tuple((numbers(5), whole(a)) for a in FAR)
    yield Case("written slice", ("float64", "int64"), (1, 0), overwritten, written)


def cut(x, a, b):
    """Forwards, backwards, and to the ends."""
    return [x[a:b] * 2, x[a:], x[:b], x[a:b:3], x[b:a:-2], x[a::-1]]


def overwritten(x, a):
    """From a position on, and up to it."""
    return [x.at[a:].set(7.5), x.at[:a:2].add(1.5)]


def lengths():
    """Lengths that are computed."""
    sizes = tuple((whole(n),) for n in (0, 1, 3, -1, LEAST))
    yield Case(
        "range",
        ("int64",),
        (0,),
        lambda n: [tg.arange(n), tg.broadcast_to(1.5, (n, 2)), tg.sum(tg.arange(n) * 2)],
        sizes,
    )
    shaped = tuple((numbers(n), whole(k)) for n in (0, 6) for k in (0, 1, 2, 4, 6, -3, LEAST, MOST, 2**62))
    yield Case("reshaped", ("float64", "int64"), (1, 0), lambda x, k: [tg.reshape(x, (k, 2))], shaped)
    times = tuple((numbers(3), whole(k)) for k in ([1, 0, 2], [0, 0, 0], [1, -1, 1], [LEAST, 0, 0]))
    yield Case("repeated", ("float64", "int64"), (1, 1), lambda x, k: [tg.repeat(x, k)], times)


def whole_arrays():
    """Arrays of every small length: the ends of vectors, and empty ones."""
    for dtype in ("float64", "float32", "int8"):
        given = tuple((numbers(n, dtype=dtype),) for n in LENGTHS)
        yield Case(f"elements of {dtype}", (dtype,), (1,), elements, given)
        yield Case(f"reductions of {dtype}", (dtype,), (1,), reductions, given)
    shapes = ((0, 3), (3, 0), (1, 1), (2, 3), (5, 17), (17, 5), (9, 8))
    yield Case("matrices", ("float64",), (2,), matrices, tuple((numbers(*s),) for s in shapes))
    pairs = tuple((numbers(a, b), numbers(b, c)) for a, b, c in ((0, 3, 2), (2, 0, 3), (3, 4, 0), (1, 1, 1), (5, 7, 3)))
    yield Case("products", ("float64", "float64"), (2, 2), lambda x, y: [x @ y, tg.exp(x) @ y, x[0:1] @ y], pairs)
    unequal = tuple((numbers(a), numbers(b)) for a in (0, 1, 3) for b in (0, 1, 3, 4))
    yield Case(
        "unequal", ("float64", "float64"), (1, 1), lambda x, y: [x + y, tg.concatenate([x, y]), tg.sum(x * y)], unequal
    )


def elements(x):
    """Chains, shifted against one another, and a constant."""
    y = x * 2 + x
    return [
        y,
        x[1:] + x[:-1],
        tg.where(x > 3, x, y),
        *([tg.exp(-x) * tg.sin(x)] if x.dtype.startswith("float") else []),
    ]


def reductions(x):
    """Over everything, and running."""
    return [tg.sum(x), tg.cumsum(x), tg.sort(x), tg.argsort(x), tg.flip(x), tg.all(x > 0), tg.prod(x * 0 + 1)]


def matrices(x):
    """Over either axis, softmax, turned, repeated."""
    return [
        tg.sum(x, axis=0),
        tg.sum(x, axis=1),
        tg.softmax(x, axis=-1),
        tg.exp(x).T * 2,
        tg.cumsum(x, axis=0),
        x[::-1, ::-2],
    ]


def division():
    """What a processor answers with a signal."""
    for dtype in INTEGERS:
        limits = np.iinfo(dtype)
        values = (limits.min, limits.min + 1, -3, -1, 0, 1, 2, limits.max)
        values = sorted({v for v in values if v >= limits.min})
        x, y = (a.ravel() for a in np.meshgrid(whole(values, dtype), whole(values, dtype)))
        yield Case(
            f"division of {dtype}",
            (dtype, dtype),
            (1, 1),
            lambda x, y, d=dtype: divisions(x, y, d),
            ((x, y), (x[:1], y[:1]), (x[:0], y[:0])),
        )
        scalars = tuple(
            (whole(a, dtype), whole(b, dtype)) for a in (limits.min, limits.max, 0) for b in (0, values[1], values[0])
        )
        yield Case(
            f"division of scalar {dtype}", (dtype, dtype), (0, 0), lambda x, y, d=dtype: divisions(x, y, d), scalars
        )


def divisions(x, y, dtype):
    """With both operands given, either a constant, and both."""
    limits = np.iinfo(dtype)
    least, none = np.asarray(limits.min, dtype)[()], np.asarray(0, dtype)[()]
    minus = np.asarray(-1 if limits.min else limits.max, dtype)[()]
    found = [x // y, x % y, x // none, x % none, x // minus, x % minus, least // y, least % y, *tg.divmod(x, y)]
    constants = tg.constant(least) // tg.constant(minus), tg.constant(least) % tg.constant(none)
    return [*found, *constants, x ** tg.constant(np.asarray(2, dtype)[()]), tg.where(y == 0, y, x // y)]


CASES = (
    *(*indexing(), *slices(), *lengths(), *whole_arrays(), *division()),
    *(*bools(), *inputs_of_no_memory(), *sizes()),
)
